//! How a connection is made: TCP, TLS, and who asks.

use crate::address::{Security, ServerAddress};
use crate::engine::StartError;
use crate::operation::told;
use rustls::pki_types::ServerName;
use std::path::Path;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use trunkline_kit::{secret, tls};
use trunkline_wire::ldap::{Frames, Message, Outcome, Request, Response, code};

/// The identifier of the requests that are made one after the other, before any others.
const ID: u32 = 1;
/// Octets of an answer to them.
const ANSWER_OCTETS_MAX: usize = 16 * 1024;

/// Octets both ways, in TLS or not.
pub(crate) trait Octets: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Octets for T {}

/// What it takes to make connections to a server.
pub(crate) struct Dial {
    pub(crate) address: ServerAddress,
    pub(crate) tls: Option<TlsConnector>,
    pub(crate) name: String,
    pub(crate) password: Vec<u8>,
}

impl Dial {
    /// A connection that is ready for requests.
    ///
    /// # Errors
    /// Why there is none, for people.
    pub(crate) async fn open(&self) -> Result<Box<dyn Octets>, String> {
        let place = (self.address.host.as_str(), self.address.port);
        let mut stream = TcpStream::connect(place).await.map_err(|error| error.to_string())?;
        stream.set_nodelay(true).map_err(|error| error.to_string())?;
        let mut stream: Box<dyn Octets> = match self.address.security {
            Security::Plain => Box::new(stream),
            Security::Tls => self.secure(stream).await?,
            Security::StartTls => {
                start_tls(&mut stream).await?;
                self.secure(stream).await?
            }
        };
        self.bind(&mut *stream).await?;
        Ok(stream)
    }

    async fn secure(&self, stream: TcpStream) -> Result<Box<dyn Octets>, String> {
        let connector = self.tls.as_ref().ok_or("TLS is not set up")?;
        let name = ServerName::try_from(self.address.host.clone()).map_err(|_| "no certificate can be for its name")?;
        let stream = connector.connect(name, stream).await.map_err(|error| format!("TLS: {error}"))?;
        Ok(Box::new(stream))
    }

    /// Tells who asks. It is done for nobody, too: the answer shows that the server is there.
    async fn bind(&self, stream: &mut dyn Octets) -> Result<(), String> {
        let octets = exchange(stream, Request::Bind { name: &self.name, password: &self.password }).await?;
        match read(&octets)? {
            Response::Bind(outcome) => succeeded("bind", &outcome),
            _ => Err("bind: a response to something else".to_owned()),
        }
    }
}

/// Whoever sits between could have put answers in front of TLS: what comes with the answer is refused.
async fn start_tls(stream: &mut TcpStream) -> Result<(), String> {
    let octets = exchange(stream, Request::StartTls).await?;
    match read(&octets)? {
        Response::Extended { outcome, .. } => succeeded("StartTLS", &outcome),
        _ => Err("StartTLS: a response to something else".to_owned()),
    }
}

fn succeeded(what: &str, outcome: &Outcome<'_>) -> Result<(), String> {
    if outcome.code == code::SUCCESS { Ok(()) } else { Err(format!("{what}: {}", told(outcome.code, outcome.text))) }
}

fn read(octets: &[u8]) -> Result<Response<'_>, String> {
    let message = Message::new(octets).map_err(|error| error.to_string())?;
    if message.id == ID { Ok(message.response) } else { Err("a response that nobody has asked for".to_owned()) }
}

/// Sends one request and waits for its answer, behind which there is to be nothing.
async fn exchange(stream: &mut dyn Octets, request: Request<'_>) -> Result<Vec<u8>, String> {
    let mut octets = Vec::new();
    request.write(ID, &mut octets);
    stream.write_all(&octets).await.map_err(|error| error.to_string())?;
    stream.flush().await.map_err(|error| error.to_string())?;
    octets.clear();
    loop {
        if stream.read_buf(&mut octets).await.map_err(|error| error.to_string())? == 0 {
            return Err("it closed the connection".to_owned());
        }
        let whole = Frames::new(&octets, ANSWER_OCTETS_MAX).next_message().map_err(|error| error.to_string())?;
        match whole.map(<[u8]>::len) {
            Some(length) if length == octets.len() => return Ok(octets),
            Some(_) => return Err("more came than was asked for".to_owned()),
            None => {}
        }
    }
}

/// Who may vouch for servers: those of the file, or the system's.
///
/// # Errors
/// The file cannot be read, or there is nobody in it.
pub(crate) fn connector(ca_file: Option<&Path>) -> Result<TlsConnector, StartError> {
    let issuers =
        ca_file.map(|path| std::fs::read(path).map_err(|error| wrong(path, error.to_string()))).transpose()?;
    let config = tls::client(issuers.as_deref()).map_err(|what| match ca_file {
        Some(path) => wrong(path, what),
        None => StartError::Tls(what),
    })?;
    Ok(TlsConnector::from(config))
}

/// The first line of a file.
///
/// # Errors
/// It cannot be read, or is empty: that would be nobody's (RFC 4513 section 5.1.2).
pub(crate) fn password(path: &Path) -> Result<Vec<u8>, StartError> {
    let octets = std::fs::read(path).map_err(|error| wrong(path, error.to_string()))?;
    let line = secret::first_line(&octets).ok_or_else(|| wrong(path, "its first line is empty".to_owned()))?;
    Ok(line.to_vec())
}

fn wrong(path: &Path, what: String) -> StartError {
    StartError::File { path: path.to_owned(), what }
}
