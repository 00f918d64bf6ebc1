//! Connections to servers, with and without TLS.

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// A connection.
pub trait Stream: AsyncRead + AsyncWrite + Unpin {}
impl<T: AsyncRead + AsyncWrite + Unpin> Stream for T {}

/// The host and the port of `host:port`; brackets of an IPv6 address are left out.
pub fn place(server: &str) -> io::Result<(String, u16)> {
    let wrong = || io::Error::new(io::ErrorKind::InvalidInput, format!("'{server}' is no host:port"));
    let (host, port) = server.rsplit_once(':').ok_or_else(wrong)?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    Ok((host.to_owned(), port.parse().map_err(|_| wrong())?))
}

/// Connects.
pub async fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let stream = TcpStream::connect((host, port)).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// TLS on a connection, with a server of that name.
pub async fn secure<S: Stream>(
    tls: Option<&Arc<ClientConfig>>,
    host: &str,
    stream: S,
) -> io::Result<tokio_rustls::client::TlsStream<S>> {
    let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
    let config = tls.ok_or_else(|| io::Error::other("TLS is not set up"))?;
    TlsConnector::from(Arc::clone(config)).connect(name, stream).await
}
