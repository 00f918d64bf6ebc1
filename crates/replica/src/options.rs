//! Which servers of NATS, and what is wanted of them.

use core::fmt;
use core::str::FromStr;
use core::time::Duration;

/// The port of NATS.
const PORT: u16 = 4222;

/// Whether TLS is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Security {
    /// Only where the server asks for it.
    Plain,
    /// Always.
    Tls,
}

/// A server: `nats://HOST:PORT` or `tls://HOST:PORT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Its name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Whether TLS is spoken.
    pub security: Security,
}

impl FromStr for Server {
    type Err = String;

    fn from_str(text: &str) -> Result<Server, String> {
        let wrong = || format!("a server is nats://HOST:PORT or tls://HOST:PORT, not \"{text}\"");
        let (security, place) = match text.split_once("://") {
            Some(("nats", place)) => (Security::Plain, place),
            Some(("tls", place)) => (Security::Tls, place),
            _ => return Err(wrong()),
        };
        let place = place.trim_end_matches('/');
        // The last colon stands before a port, unless it is within an address of IPv6.
        let (host, port) = match place.rsplit_once(':').filter(|(host, _)| !host.contains(':') || host.ends_with(']')) {
            Some((host, port)) => (host, port.parse().ok().filter(|port| *port > 0).ok_or_else(wrong)?),
            None => (place, PORT),
        };
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        if host.is_empty() || host.contains(['/', '@']) {
            return Err(wrong());
        }
        Ok(Server { host: host.to_owned(), port, security })
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.security == Security::Tls { "tls" } else { "nats" };
        let (open, close) = if self.host.contains(':') { ("[", "]") } else { ("", "") };
        write!(f, "{scheme}://{open}{}{close}:{}", self.host, self.port)
    }
}

/// How a node takes part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Servers of one cluster, tried in turn.
    pub servers: Vec<Server>,
    /// Who asks; none is nobody.
    pub user: Option<String>,
    /// Its password.
    pub password: Option<String>,
    /// Who vouches for servers, certificates in PEM; none leaves it to the system.
    pub issuers: Option<Box<[u8]>>,
    /// The stream's name, and the subject of its messages.
    pub stream: String,
    /// This node's name: no other has it.
    pub node: String,
    /// Servers that keep each message; JetStream takes 1, 3 or 5.
    pub replicas: u8,
    /// Octets that the stream keeps.
    pub stream_octets: u64,
    /// How long nothing is said until a follower tries to lead.
    pub silence: Duration,
}

impl Options {
    /// How often a leader says that it is there.
    pub fn beat(&self) -> Duration {
        self.silence / 5
    }

    /// For how long an acknowledgement shows that nobody else leads: shorter than others wait.
    pub fn lease(&self) -> Duration {
        self.silence * 3 / 5
    }

    /// The subject of what a leader says of itself, and that of records.
    pub(crate) fn subjects(&self) -> [String; 2] {
        ["leader", "records"].map(|what| format!("trunkline.{}.{what}", self.stream))
    }

    /// Whether a name can stand in a subject: letters, digits, `-` and `_`.
    pub fn is_name(name: &str) -> bool {
        let fits = |octet: u8| octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'_');
        !name.is_empty() && name.len() <= crate::message::NAME_OCTETS_MAX && name.bytes().all(fits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers() {
        let shown = |text: &str| text.parse::<Server>().map(|server| server.to_string());
        assert_eq!(shown("nats://a.example").unwrap(), "nats://a.example:4222");
        assert_eq!(shown("tls://192.0.2.1:4333/").unwrap(), "tls://192.0.2.1:4333");
        assert_eq!(shown("nats://[::1]:4222").unwrap(), "nats://[::1]:4222");
        for wrong in ["", "a", "http://a", "nats://", "nats://a:0", "nats://a:x", "nats://u@a"] {
            assert!(shown(wrong).is_err(), "{wrong}");
        }
        assert!(Options::is_name("charge-1_b") && !Options::is_name("a.b") && !Options::is_name(""));
    }
}
