//! A cache that is talked to over its own protocol: `host`, `host:port`, `[v6]:port` or `unix:PATH`.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;
use trunkline_kit::config::{Raw, Value, quoted};
use trunkline_show::failure::Failure;

/// memcached's port.
const PORT_DEFAULT: u16 = 11211;

/// A server, as it was typed and checked; names are not looked up yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Host and port.
    Network(String, u16),
    /// Path of a unix socket.
    Unix(PathBuf),
}

/// A connected stream of either kind.
pub trait Stream: Read + Write + Send {}
impl Stream for TcpStream {}
impl Stream for UnixStream {}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            return if path.is_empty() { Err("unix: and a path".into()) } else { Ok(Target::Unix(path.into())) };
        }
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(Target::Network(address.to_string(), PORT_DEFAULT));
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) => (host, port.parse().map_err(|_| format!("'{port}' is no port"))?),
            None => (text, PORT_DEFAULT),
        };
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        if bare.is_empty() || port == 0 {
            return Err("an address with a port, such as 127.0.0.1:11211, or unix:PATH".to_owned());
        }
        Ok(Target::Network(bare.to_owned(), port))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Network(host, port) if host.contains(':') => write!(f, "[{host}]:{port}"),
            Target::Network(host, port) => write!(f, "{host}:{port}"),
            Target::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl Target {
    /// The first address of its name; none of a unix socket.
    ///
    /// # Errors
    /// Nobody knows the name.
    pub fn address(&self) -> Result<Option<SocketAddr>, Failure> {
        let Target::Network(host, port) = self else { return Ok(None) };
        let found = (host.as_str(), *port).to_socket_addrs().map_err(|e| Failure::Failed(format!("{self}: {e}")))?;
        let missing = || Failure::Failed(format!("{self}: the name has no address"));
        found.into_iter().next().ok_or_else(missing).map(Some)
    }

    /// Connects, and waits at most that long for that and for each answer.
    ///
    /// # Errors
    /// As [`Target::failure`] tells them.
    pub fn connect(&self, patience: Duration) -> Result<Box<dyn Stream>, Failure> {
        let address = self.address()?;
        self.stream(address, patience).map_err(|e| self.failure(&e))
    }

    /// The same, with what the system says; the name is looked up anew each time.
    ///
    /// # Errors
    /// Nobody knows the name, or it cannot be connected to.
    pub fn open(&self, patience: Duration) -> io::Result<Box<dyn Stream>> {
        let address = match self {
            Target::Network(host, port) => (host.as_str(), *port).to_socket_addrs()?.next(),
            Target::Unix(_) => None,
        };
        self.stream(address, patience)
    }

    fn stream(&self, address: Option<SocketAddr>, patience: Duration) -> io::Result<Box<dyn Stream>> {
        match self {
            Target::Unix(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_read_timeout(Some(patience))?;
                stream.set_write_timeout(Some(patience))?;
                Ok(Box::new(stream))
            }
            Target::Network(..) => {
                let address = address.ok_or(io::ErrorKind::AddrNotAvailable)?;
                let stream = TcpStream::connect_timeout(&address, patience)?;
                stream.set_read_timeout(Some(patience))?;
                stream.set_write_timeout(Some(patience))?;
                Ok(Box::new(stream))
            }
        }
    }

    /// What went wrong with it, for a person.
    pub fn failure(&self, error: &io::Error) -> Failure {
        use io::ErrorKind as Kind;
        Failure::Failed(match error.kind() {
            Kind::ConnectionRefused | Kind::NotFound => format!("{self}: nobody listens there ({error})"),
            Kind::TimedOut | Kind::WouldBlock => format!("{self}: no answer in time"),
            Kind::UnexpectedEof | Kind::ConnectionReset => format!("{self}: closed the connection without an answer"),
            _ => format!("{self}: {error}"),
        })
    }
}

/// A server of memcached's protocol.
impl Value for Target {
    fn kind() -> String {
        "a cache such as \"10.0.0.5:11211\" or \"unix:/run/cache.sock\"".to_owned()
    }

    fn of(raw: &Raw) -> Result<Self, String> {
        let text = raw.as_text().ok_or_else(|| format!("expected {}, not {}", Self::kind(), raw.describe()))?;
        text.trim().parse().map_err(|_| format!("expected {}, not {}", Self::kind(), raw.describe()))
    }

    fn text(&self) -> String {
        quoted(&self.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_as_they_are_typed() {
        let said = |text: &str| text.parse::<Target>().map(|target| target.to_string());
        assert_eq!(said("127.0.0.1"), Ok("127.0.0.1:11211".to_owned()));
        assert_eq!(said("cache.example:5"), Ok("cache.example:5".to_owned()));
        assert_eq!([said("::1"), said("[::1]:11211")], [Ok("[::1]:11211".to_owned()), Ok("[::1]:11211".to_owned())]);
        assert_eq!(said("unix:/run/c.sock"), Ok("unix:/run/c.sock".to_owned()));
        assert!(["", "unix:", "a:b", "a:0", ":1", "a:70000"].into_iter().all(|text| said(text).is_err()));
    }
}
