//! Webhooks: JSON by HTTP. A copy has the same `Idempotency-Key`.

use super::sender::{Handed, Ready};
use super::wire::{connect, secure};
use crate::delivery::{Message, Outcomes, json};
use crate::rule::Way;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::{Method, Request, StatusCode, Uri, header};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};

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
    let uri: Uri = url.parse()?;
    let (tls, host) = (uri.scheme_str() == Some("https"), uri.host().unwrap_or_default());
    let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let port = uri.port_u16().unwrap_or(if tls { 443 } else { 80 });
    let request = request(&uri, headers, ready.secret.as_deref(), message)?;
    let stream = connect(&host, port).await?;
    match tls {
        true => exchange(secure(ready.tls.as_ref(), &host, stream).await?, request, handed).await,
        false => exchange(stream, request, handed).await,
    }
}

fn request(
    uri: &Uri,
    headers: &[(String, String)],
    secret: Option<&str>,
    message: &Message,
) -> Result<Request<Full<Bytes>>, Failure> {
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let authority = uri.authority().map(|authority| authority.as_str()).unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let mut request = Request::builder()
        .method(Method::POST)
        .uri(path)
        .header(header::HOST, host)
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::USER_AGENT, concat!("trunkline/", env!("CARGO_PKG_VERSION")))
        .header("idempotency-key", &message.id);
    for (name, value) in headers {
        request = request.header(name, value);
    }
    if let Some(secret) = secret {
        request = request.header(header::AUTHORIZATION, secret);
    }
    Ok(request.body(Full::new(Bytes::from(json(message).to_string())))?)
}

async fn exchange<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    request: Request<Full<Bytes>>,
    handed: &Handed,
) -> Result<StatusCode, Failure> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let serving = tokio::task::spawn_local(async move {
        // What fails is told to who waits for the answer.
        let _ = connection.await;
    });
    handed.over();
    let answer = sender.send_request(request).await;
    serving.abort();
    Ok(answer?.status())
}
