//! Asking a provider: one request on a connection of its own, over TLS with the certificates that the system trusts,
//! with bounds on time and size, and without following redirects.

use super::{OidcError, short};
use axum::body::{Body, to_bytes};
use axum::http::{Method, Request, StatusCode, Uri, header};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

/// How long a provider may take.
pub const ANSWER_TIME: Duration = Duration::from_secs(10);
/// Octets of an answer; a longer one is refused.
pub const ANSWER_OCTETS_MAX: usize = 1 << 20;

/// Asks providers.
pub struct Fetcher(TlsConnector);

impl std::fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Fetcher")
    }
}

/// What was answered.
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// The body.
    pub body: Vec<u8>,
}

impl Fetcher {
    /// With the certificates that the system trusts (or those that `SSL_CERT_FILE` and `SSL_CERT_DIR` name).
    pub fn new() -> Result<Self, OidcError> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|e| OidcError::Unreachable(e.to_string()))?;
        let config = config.with_root_certificates(roots).with_no_client_auth();
        Ok(Fetcher(TlsConnector::from(Arc::new(config))))
    }

    /// The body at an address.
    pub async fn get(&self, address: &str) -> Result<Vec<u8>, OidcError> {
        let request = Request::builder().method(Method::GET).body(Body::empty());
        let answer = self.ask(address, request.map_err(unreachable)?).await?;
        if answer.status != 200 {
            return Err(OidcError::Unreachable(format!("{} answers {}", short(address), answer.status)));
        }
        Ok(answer.body)
    }

    /// The answer to a form, with the client's own name and secret if they go into the header (RFC 6749 section 2.3.1).
    pub async fn post_form(&self, address: &str, form: &str, basic: Option<(&str, &str)>) -> Result<Answer, OidcError> {
        let mut request =
            Request::builder().method(Method::POST).header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        if let Some((name, secret)) = basic {
            let pair = format!("{}:{}", form_encoded(name), form_encoded(secret));
            request = request.header(header::AUTHORIZATION, format!("Basic {}", STANDARD.encode(pair)));
        }
        let request = request.body(Body::from(form.to_owned())).map_err(unreachable)?;
        self.ask(address, request).await
    }

    async fn ask(&self, address: &str, request: Request<Body>) -> Result<Answer, OidcError> {
        let place = check_address(address)?;
        let asked = timeout(ANSWER_TIME, self.ask_at(&place, request));
        let text = |text: String| OidcError::Unreachable(format!("{}: {}", place.host, short(&text)));
        asked.await.map_err(|_| text("no answer in time".to_owned()))?.map_err(|e| text(e.to_string()))
    }

    async fn ask_at(
        &self,
        place: &Place,
        request: Request<Body>,
    ) -> Result<Answer, Box<dyn std::error::Error + Send + Sync>> {
        let host = place.host.trim_start_matches('[').trim_end_matches(']');
        let stream = TcpStream::connect((host, place.port)).await?;
        if place.tls {
            let name = ServerName::try_from(host.to_owned())?;
            exchange(place, self.0.connect(name, stream).await?, request).await
        } else {
            exchange(place, stream, request).await
        }
    }
}

async fn exchange<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    place: &Place,
    stream: S,
    mut request: Request<Body>,
) -> Result<Answer, Box<dyn std::error::Error + Send + Sync>> {
    *request.uri_mut() = place.path.parse()?;
    request.headers_mut().insert(header::HOST, place.authority.parse()?);
    request.headers_mut().insert(header::ACCEPT, "application/json".parse()?);
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // It ends with its only request, or is dropped when this one's time is over.
    let serving = tokio::spawn(connection);
    let response = sender.send_request(request).await;
    let answered = async {
        let response = response?;
        let status = response.status();
        if status.is_redirection() || status == StatusCode::SWITCHING_PROTOCOLS {
            return Err(format!("it sends us elsewhere ({status})").into());
        }
        let body = to_bytes(Body::new(response.into_body()), ANSWER_OCTETS_MAX).await?;
        Ok(Answer { status: status.as_u16(), body: body.to_vec() })
    };
    let answer = answered.await;
    serving.abort();
    answer
}

/// Where an address leads.
pub struct Place {
    tls: bool,
    host: String,
    port: u16,
    authority: String,
    path: String,
}

/// Reads an address that secrets may be sent to: https, or http on loopback.
pub fn check_address(address: &str) -> Result<Place, OidcError> {
    let wrong = |why: &str| OidcError::Unreachable(format!("{}: {why}", short(address)));
    let uri: Uri = address.parse().map_err(|_| wrong("not an address"))?;
    let tls = uri.scheme_str() == Some("https");
    let host = uri.host().ok_or_else(|| wrong("not an address"))?.to_owned();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let loopback = bare == "localhost" || bare.parse::<IpAddr>().is_ok_and(|a| a.is_loopback());
    let is_plain_here = uri.scheme_str() == Some("http") && loopback;
    if !tls && !is_plain_here {
        return Err(wrong("only https protects what is sent there"));
    }
    if uri.authority().is_some_and(|a| a.as_str().contains('@')) {
        return Err(wrong("an address with a user name in it"));
    }
    let port = uri.port_u16().unwrap_or(if tls { 443 } else { 80 });
    let authority = uri.authority().map(ToString::to_string).unwrap_or_default();
    let path = uri.path_and_query().map_or("/", |p| p.as_str()).to_owned();
    Ok(Place { tls, host, port, authority, path })
}

/// `application/x-www-form-urlencoded`.
pub fn encoded(pairs: &[(&str, &str)]) -> String {
    let pairs: Vec<String> = pairs.iter().map(|(n, v)| format!("{}={}", form_encoded(n), form_encoded(v))).collect();
    pairs.join("&")
}

fn form_encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for octet in text.bytes() {
        match octet {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(octet)),
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

fn unreachable(error: axum::http::Error) -> OidcError {
    OidcError::Unreachable(error.to_string())
}
