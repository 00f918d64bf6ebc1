//! Webhooks: JSON by HTTP. A copy has the same `Idempotency-Key`.

use super::sender::{Handed, Ready};
use crate::delivery::{Message, Outcomes, json};
use crate::rule::Way;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Method, Request, StatusCode, header};
use trunkline_kit::http::{Place, connect, secure, send};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Posts a message.
pub async fn post(ready: &Ready, message: &Message, handed: &Handed) -> Outcomes {
    match status(ready, message, handed).await {
        Err(why) => handed.failed(why),
        Ok(status) if status.is_success() => Outcomes::Delivered,
        Ok(status) if status.is_server_error() || matches!(status.as_u16(), 408 | 425 | 429) => {
            Outcomes::Failed(format!("it answers {status}"))
        }
        Ok(status) => Outcomes::GivenUp(format!("it answers {status}")),
    }
}

async fn status(ready: &Ready, message: &Message, handed: &Handed) -> Result<StatusCode, Failure> {
    let Way::Webhook { url, headers, .. } = &ready.channel.way else { return Err("no webhook".into()) };
    let place = Place::parse(url)?;
    let body = match &message.report {
        None => json(message).to_string(),
        Some(report) => with_id(&message.id, &ready.shelf.json(&report.file)?),
    };
    let request = request(&place, headers, ready.secret.as_deref(), (&message.id, body))?;
    let stream = connect(&place.host, place.port).await?;
    let answer = match place.is_secure {
        true => {
            let stream = secure(ready.tls.as_ref(), &place.host, stream).await?;
            send(stream, request, || handed.over()).await?
        }
        false => send(stream, request, || handed.over()).await?,
    };
    Ok(answer.response.status())
}

fn request(
    place: &Place,
    headers: &[(String, String)],
    secret: Option<&str>,
    (id, body): (&str, String),
) -> Result<Request<Full<Bytes>>, Failure> {
    let mut request = Request::builder()
        .method(Method::POST)
        .uri(&place.path)
        .header(header::HOST, &place.authority)
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::USER_AGENT, concat!("trunkline/", env!("CARGO_PKG_VERSION")))
        .header("idempotency-key", id);
    for (name, value) in headers {
        request = request.header(name, value);
    }
    if let Some(secret) = secret {
        request = request.header(header::AUTHORIZATION, secret);
    }
    Ok(request.body(Full::new(Bytes::from(body)))?)
}

/// An object with an identifier before all else.
fn with_id(id: &str, object: &str) -> String {
    let rest = object.trim_start().strip_prefix('{').unwrap_or(object);
    format!("{{\"id\":\"{id}\",{rest}")
}
