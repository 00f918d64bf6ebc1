//! One request to a server over HTTP/1.1, with or without TLS. It runs in a `LocalSet` of tokio; how long it may take
//! is for the caller to say.

use core::fmt;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::{Request, Response, Uri};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// A connection.
pub trait Stream: AsyncRead + AsyncWrite + Unpin {}
impl<T: AsyncRead + AsyncWrite + Unpin> Stream for T {}

/// Where a page is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Whether it is asked for with TLS.
    pub is_secure: bool,
    /// The host, without the brackets of an IPv6 address.
    pub host: String,
    /// The port.
    pub port: u16,
    /// What a `Host` header field says (RFC 9112 section 3.2): without user and password.
    pub authority: String,
    /// `user:password`, as the URL has it.
    pub login: Option<String>,
    /// Path and query.
    pub path: String,
}

impl Place {
    /// Of a URL.
    ///
    /// # Errors
    /// It is none of `http:` or `https:`, in words.
    pub fn parse(url: &str) -> Result<Place, String> {
        let uri: Uri = url.parse().map_err(|error| format!("'{url}': {error}"))?;
        let is_secure = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(format!("'{url}' does not begin with http:// or https://")),
        };
        let whole = uri.authority().map(|authority| authority.as_str()).unwrap_or_default();
        let (login, authority) = match whole.rsplit_once('@') {
            Some((login, authority)) => (Some(login.to_owned()), authority),
            None => (None, whole),
        };
        let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']').to_owned();
        let port = match authority.rsplit_once(':').map(|(_, port)| port).filter(|port| !port.ends_with(']')) {
            Some(port) => port.parse().map_err(|_| format!("'{url}': '{port}' is no port"))?,
            None if is_secure => 443,
            None => 80,
        };
        let path = uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
        Ok(Place { is_secure, host, port, authority: authority.to_owned(), login, path })
    }
}

/// Connects.
///
/// # Errors
/// The system's.
pub async fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let stream = TcpStream::connect((host, port)).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// TLS on a connection, with a server of that name.
///
/// # Errors
/// What is wrong with the name or with what the server shows.
pub async fn secure<S: Stream>(tls: Option<&Arc<ClientConfig>>, host: &str, stream: S) -> io::Result<TlsStream<S>> {
    let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
    let config = tls.ok_or_else(|| io::Error::other("TLS is not set up"))?;
    TlsConnector::from(Arc::clone(config)).connect(name, stream).await
}

/// The beginning of an answer; the rest comes while this is kept.
pub struct Answer {
    /// Status and header fields.
    pub response: Response<Incoming>,
    serving: Serving,
}

/// What keeps a connection going, as long as somebody wants it.
struct Serving(JoinHandle<()>);

impl Drop for Serving {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.response.fmt(f)
    }
}

/// Why there is no body.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// It is longer than what is wanted.
    #[error("the answer has more than {0} octets")]
    TooLong(usize),
    /// The connection failed.
    #[error(transparent)]
    Connection(#[from] hyper::Error),
}

/// Sends a request; `over` is called when the server may have it from then on.
///
/// # Errors
/// The connection's.
pub async fn send<S: Stream + Send + 'static>(
    stream: S,
    request: Request<Full<Bytes>>,
    over: impl FnOnce(),
) -> hyper::Result<Answer> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let serving = Serving(tokio::task::spawn_local(async move {
        // What fails is told to who waits for the answer.
        let _ = connection.await;
    }));
    over();
    let response = sender.send_request(request).await?;
    Ok(Answer { response, serving })
}

impl Answer {
    /// The whole body, if it has at most so many octets.
    ///
    /// # Errors
    /// It is longer, or the connection fails.
    pub async fn body(self, octets_max: usize) -> Result<Vec<u8>, BodyError> {
        let Answer { response, serving } = self;
        let (mut body, mut octets) = (response.into_body(), Vec::new());
        while let Some(frame) = body.frame().await {
            let Ok(piece) = frame?.into_data() else { continue };
            if octets.len() + piece.len() > octets_max {
                return Err(BodyError::TooLong(octets_max));
            }
            octets.extend_from_slice(&piece);
        }
        drop(serving);
        Ok(octets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_urls() {
        let place = Place::parse("https://user:a%40b@[2001:db8::1]:8443/m/x?y=1").unwrap();
        assert_eq!((place.host.as_str(), place.port, place.is_secure), ("2001:db8::1", 8443, true));
        assert_eq!((place.authority.as_str(), place.login.as_deref()), ("[2001:db8::1]:8443", Some("user:a%40b")));
        assert_eq!(place.path, "/m/x?y=1");
        let short = Place::parse("http://h").unwrap();
        assert_eq!((short.port, short.path.as_str(), short.login), (80, "/", None));
        assert!(["", "/x", "ftp://h/", "http://h:99999/"].iter().all(|wrong| Place::parse(wrong).is_err()));
    }
}
