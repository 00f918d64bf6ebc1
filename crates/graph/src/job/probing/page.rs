//! Pages over HTTP.

use crate::poller::Unknown;
use crate::probe::page::{PAGE_OCTETS_MAX, Page, missing};
use crate::probe::{Outcome, PageKind, Reads, certificate};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Request, header};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use trunkline_kit::http::{Answer, Place, connect, secure, send};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Asks for a page. No redirection is followed: that a page is elsewhere is its status.
pub(super) async fn fetch(
    tls: &Arc<rustls::ClientConfig>,
    kind: PageKind,
    url: &str,
    time: Duration,
    reads: &Reads,
) -> Outcome {
    match tokio::time::timeout(time, page(tls, kind, url)).await {
        Ok(Ok(page)) => page.outcome(kind, reads),
        Ok(Err(why)) => missing(kind, reads, Unknown::AgentError, told(&*why)),
        Err(_) => missing(kind, reads, Unknown::Timeout, format!("no whole answer within {} s", time.as_secs_f64())),
    }
}

/// What is wrong, and why that is.
fn told(failure: &dyn std::error::Error) -> String {
    let mut text = failure.to_string();
    let mut cause = failure.source();
    while let Some(inner) = cause {
        let more = inner.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = inner.source();
    }
    text
}

async fn page(tls: &Arc<rustls::ClientConfig>, kind: PageKind, url: &str) -> Result<Page, Failure> {
    let begun = Instant::now();
    let since = || u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let place = Place::parse(url)?;
    let request = request(&place, kind)?;
    let stream = connect(&place.host, place.port).await?;
    let mut page = Page { connected_ns: since(), ..Page::default() };
    let answer: Answer = match place.is_secure {
        true => {
            let stream = secure(Some(tls), &place.host, stream).await?;
            let shown = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
            page.certificate_left_s = shown.and_then(|shown| certificate::not_after(shown)).map(|end| end - now_s());
            send(stream, request, || {}).await?
        }
        false => send(stream, request, || {}).await?,
    };
    page.first_octet_ns = since();
    page.status = answer.response.status().as_u16();
    page.body = answer.body(PAGE_OCTETS_MAX).await?;
    page.total_ns = since();
    Ok(page)
}

fn now_s() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

fn request(place: &Place, kind: PageKind) -> Result<Request<Full<Bytes>>, Failure> {
    let accept = match kind {
        PageKind::Json => "application/json",
        PageKind::Prometheus => "text/plain; version=0.0.4",
        PageKind::Http => "*/*",
    };
    let mut request = Request::get(&place.path)
        .header(header::HOST, &place.authority)
        .header(header::USER_AGENT, concat!("trunkline/", env!("CARGO_PKG_VERSION")))
        .header(header::ACCEPT, accept);
    if let Some(login) = &place.login {
        // RFC 7617; what a URL may not hold stands there as RFC 3986 section 2.1 says.
        request = request.header(header::AUTHORIZATION, format!("Basic {}", STANDARD.encode(unescaped(login))));
    }
    Ok(request.body(Full::default())?)
}

fn unescaped(text: &str) -> Vec<u8> {
    let (octets, mut out, mut at) = (text.as_bytes(), Vec::new(), 0);
    while let Some(&octet) = octets.get(at) {
        let digits = text.get(at + 1..at + 3).filter(|_| octet == b'%');
        let meant = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        out.push(meant.unwrap_or(octet));
        at += if meant.is_some() { 3 } else { 1 };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_of_urls_are_told_as_they_are() {
        assert_eq!(unescaped("a:b%40%3a%zz%"), b"a:b@:%zz%");
    }
}
