//! A connection to a server of NATS: requests with an inbox for their answers, as many on their way as are wanted.

use crate::options::{Options, Security, Server};
use rustls::pki_types::ServerName;
use serde_json::{Value, json};
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use trunkline_kit::tls;
use trunkline_wire::nats::{self, Frames, Message, Said};

/// How long a connection may take until it is ready.
const READY_WITHIN: Duration = Duration::from_secs(2);
/// Octets of a message that comes.
const MESSAGE_OCTETS_MAX: usize = 8 << 20;
const READ_OCTETS: usize = 64 * 1024;
/// The one subscription: that of the inbox.
const INBOX: u64 = 1;

trait Octets: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Octets for T {}

/// An answer to a request.
#[derive(Debug)]
pub(crate) struct Reply {
    /// The number that the request was given.
    pub number: u64,
    /// The status in its head: 404 and 503 are the server's.
    pub status: Option<u16>,
    /// `Nats-Sequence`: the place of a message of a stream.
    pub place: Option<u64>,
    pub payload: Vec<u8>,
}

/// See the module.
pub(crate) struct Connection {
    reads: ReadHalf<Box<dyn Octets>>,
    writes: WriteHalf<Box<dyn Octets>>,
    input: Vec<u8>,
    output: Vec<u8>,
    /// Something was written that the stream below may still hold.
    unflushed: bool,
    inbox: String,
    numbered: u64,
    /// Octets of a message that the server takes.
    pub payload_octets: usize,
}

/// What it takes to make connections.
#[derive(Clone)]
pub(crate) struct Dial {
    tls: TlsConnector,
    user: Option<String>,
    password: Option<String>,
    name: String,
}

impl Dial {
    /// # Errors
    /// The certificates cannot be read, for people.
    pub fn new(options: &Options) -> Result<Dial, String> {
        let wrong = |what: String| format!("certificates of who vouches for the servers: {what}");
        let tls = TlsConnector::from(tls::client(options.issuers.as_deref()).map_err(wrong)?);
        Ok(Dial { tls, user: options.user.clone(), password: options.password.clone(), name: options.node.clone() })
    }

    /// A connection that is ready for requests.
    ///
    /// # Errors
    /// Why there is none, for people.
    pub async fn open(&self, server: &Server) -> Result<Connection, String> {
        let opened = tokio::time::timeout(READY_WITHIN, self.dial(server)).await;
        opened.unwrap_or_else(|_| Err("it was not ready in time".to_owned())).map_err(|why| format!("{server}: {why}"))
    }

    async fn dial(&self, server: &Server) -> Result<Connection, String> {
        let told = |error: std::io::Error| error.to_string();
        let mut stream = TcpStream::connect((server.host.as_str(), server.port)).await.map_err(told)?;
        stream.set_nodelay(true).map_err(told)?;
        let mut input = Vec::new();
        let info = info(&mut stream, &mut input).await?;
        let secure = server.security == Security::Tls || info["tls_required"] == Value::Bool(true);
        if secure && !input.is_empty() {
            // Whoever sits between could have put it in front of TLS.
            return Err("more came than was asked for".to_owned());
        }
        let stream: Box<dyn Octets> = match secure {
            true => Box::new(self.secure(server, stream).await?),
            false => Box::new(stream),
        };
        let (reads, writes) = tokio::io::split(stream);
        let inbox = format!("_INBOX.{:016x}", RandomState::new().hash_one(std::process::id()));
        let payload_octets = info["max_payload"].as_u64().and_then(|most| usize::try_from(most).ok()).unwrap_or(0);
        let output = self.greeting(&inbox);
        let mut connection =
            Connection { reads, writes, input, output, unflushed: false, inbox, numbered: 0, payload_octets };
        connection.is_taken().await?;
        Ok(connection)
    }

    async fn secure(&self, server: &Server, stream: TcpStream) -> Result<impl Octets + use<>, String> {
        let name = ServerName::try_from(server.host.clone()).map_err(|_| "no certificate can be for its name")?;
        self.tls.connect(name, stream).await.map_err(|error| format!("TLS: {error}"))
    }

    fn greeting(&self, inbox: &str) -> Vec<u8> {
        let mut who = json!({
            "verbose": false, "pedantic": false, "lang": "rust", "version": env!("CARGO_PKG_VERSION"),
            "name": format!("trunkline {}", self.name), "protocol": 1, "headers": true, "no_responders": true,
        });
        for (key, value) in [("user", &self.user), ("pass", &self.password)] {
            if let Some(value) = value {
                who[key] = Value::String(value.clone());
            }
        }
        let mut out = Vec::new();
        nats::connect(&who.to_string(), &mut out);
        nats::subscribe(&format!("{inbox}.*"), INBOX, &mut out);
        nats::ping(&mut out);
        out
    }
}

/// The first thing that a server says, before TLS if there is any.
async fn info(stream: &mut TcpStream, input: &mut Vec<u8>) -> Result<Value, String> {
    loop {
        let mut frames = Frames::new(input, MESSAGE_OCTETS_MAX);
        if let Some(octets) = frames.next_message().map_err(|broken| broken.to_string())? {
            let Ok(Said::Info(json)) = Said::new(octets) else { return Err("it does not say who it is".to_owned()) };
            let info = serde_json::from_slice(json).map_err(|_| "it does not say who it is")?;
            let taken = frames.taken();
            input.drain(..taken);
            return Ok(info);
        }
        if stream.read_buf(input).await.map_err(|error| error.to_string())? == 0 {
            return Err(CLOSED.to_owned());
        }
    }
}

const CLOSED: &str = "it closed the connection";

impl Connection {
    /// Waits until the server has taken who we are.
    async fn is_taken(&mut self) -> Result<(), String> {
        loop {
            if self.turn().await?.pongs > 0 {
                return Ok(());
            }
        }
    }

    /// Puts a request; its number. It leaves with [`Connection::turn`].
    pub fn ask(&mut self, subject: &str, head: &[(&str, &str)], payload: &[u8]) -> u64 {
        self.numbered += 1;
        let reply = format!("{}.{}", self.inbox, self.numbered);
        nats::publish(subject, &reply, head, payload, &mut self.output);
        self.numbered
    }

    /// Octets that wait to leave.
    pub fn waiting(&self) -> usize {
        self.output.len()
    }

    /// Reads and writes what can be; the replies that came, which may be none. May be dropped before it is through:
    /// nothing is lost.
    ///
    /// # Errors
    /// The connection is of no use any more, for people.
    pub async fn turn(&mut self) -> Result<Turn, String> {
        self.input.reserve(READ_OCTETS);
        let writes = !self.output.is_empty() || self.unflushed;
        tokio::select! {
            read = self.reads.read_buf(&mut self.input) => {
                if read.map_err(|error| error.to_string())? == 0 {
                    return Err(CLOSED.to_owned());
                }
            }
            wrote = put(&mut self.writes, &self.output), if writes => {
                let wrote = wrote.map_err(|error| error.to_string())?;
                self.output.drain(..wrote);
                self.unflushed = wrote > 0;
            }
        }
        self.cut()
    }

    /// Takes what came whole.
    fn cut(&mut self) -> Result<Turn, String> {
        let mut turn = Turn::default();
        let input = core::mem::take(&mut self.input);
        let mut frames = Frames::new(&input, MESSAGE_OCTETS_MAX);
        while let Some(octets) = frames.next_message().map_err(|broken| broken.to_string())? {
            match Said::new(octets).map_err(|broken| broken.to_string())? {
                Said::Ping => nats::pong(&mut self.output),
                Said::Pong => turn.pongs += 1,
                Said::Error(what) => return Err(format!("it says: {what}")),
                Said::Info(_) | Said::Ok => {}
                Said::Message(message) => turn.replies.extend(Reply::of(&message)),
            }
        }
        let taken = frames.taken();
        self.input = input;
        self.input.drain(..taken);
        Ok(turn)
    }
}

impl Reply {
    /// The answer that a message is: the last word of its subject is the number of the request.
    pub fn of(message: &Message<'_>) -> Option<Reply> {
        Some(Reply {
            number: message.subject.rsplit('.').next()?.parse().ok()?,
            status: message.status(),
            place: message.value("Nats-Sequence").and_then(|text| text.parse().ok()),
            payload: message.payload.to_vec(),
        })
    }
}

/// Writes what can be at once; nothing is the wish that all of it leaves.
async fn put(stream: &mut WriteHalf<Box<dyn Octets>>, octets: &[u8]) -> std::io::Result<usize> {
    if octets.is_empty() { stream.flush().await.map(|()| 0) } else { stream.write(octets).await }
}

/// What came.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    pub replies: Vec<Reply>,
    pub pongs: usize,
}
