//! The section of the cache, and its types.

use super::SOCKET_PATH_MAX;
use super::web::Network;
use core::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use trunkline_kit::config::{Octets, Raw, Value, quoted};

trunkline_kit::section! {
    /// A cache with memcached's protocols, served beside the rest: it runs where `listen` names an address.
    /// docs/manual/cache.md says what its limits mean; `trunkline cache` serves one without the rest.
    pub struct Cache {
        /// Where it listens: `ADDRESS:PORT` by TCP, `tls:ADDRESS:PORT`, `udp:ADDRESS:PORT`, `unix:PATH`. Empty for no
        /// cache.
        listen: Vec<Door> = Vec::new() => Restart;
        /// The permissions of its unix sockets, octal.
        unix_mode: Mode = Mode(0o700) => Restart;
        /// The networks that may connect; empty for all.
        allow: Vec<Network> = Vec::new() => Restart;
        /// The networks whose datagrams are answered; empty for those of `allow`. Whoever forges a sender has the
        /// answer sent there: name only networks that are trusted. Where neither names one, `flush_all`, `metadump` and
        /// `cachedump` are refused by UDP.
        allow_udp: Vec<Network> = Vec::new() => Restart;
        /// The longest answer to a datagram; a longer one is an error in place of it.
        udp_answer_max: Octets = Octets(256 << 10) => Restart, Octets(1 << 10) => Octets::mib(16);
        /// Memory for everything: items, table, buffers of connections.
        memory: Octets = Octets::mib(64) => Restart, Octets::mib(1) => Octets::gib(4096);
        /// The largest item.
        item_size: Octets = Octets::mib(1) => Restart, Octets(1 << 10) => Octets::gib(1);
        /// Whether items that are not used make room for new ones; otherwise new ones are refused when memory is full.
        evict: bool = true => Restart;
        /// Threads; 0 for one a processor.
        threads: u16 = 0 => Restart, 0 => 1024;
        /// Connections at a time; one more is told so and closed.
        connections: u32 = 1024 => Restart, 1 => 1_000_000;
        /// Connections at a time of one address; `none` for no other limit than `connections`.
        connections_per_address: Option<u32> = None => Restart;
        /// How much of values may be on its way in from one address, unless it is one alone; `none` for a quarter of
        /// `memory`.
        incoming_per_address: Option<Octets> = None => Restart;
        /// After how long without a word a connection is closed; `none` for never.
        idle_timeout: Option<Duration> = None => Restart;
        /// A file of who may sign in, a line each, `user:password`, by the text protocol alone; datagrams are not
        /// answered then. `none` lets everybody in who may connect.
        accounts: Option<PathBuf> = None => Restart;
        /// The certificate with its chain, PEM, that `tls:` addresses show. SIGHUP reads it and its key again.
        certificate: Option<PathBuf> = None => Restart;
        /// Its key, PEM.
        key: Option<PathBuf> = None => Restart;
        /// Whether clients show a certificate: `none`, `request` a good one or none, `require` a good one.
        client_certificates: ClientCertificates = ClientCertificates::None => Restart;
        /// The certificates of those whose signature makes a client's certificate good, PEM.
        client_issuers: Option<PathBuf> = None => Restart;
        /// From how long on a command is kept as slow, to be looked at; `none` keeps none.
        slow_from: Option<Duration> = Some(Duration::from_millis(10)) => Restart;
        /// Whether `flush_all` is carried out.
        flush: bool = true => Restart;
        /// Whether `stats cachedump` and `lru_crawler metadump`, which tell the keys, are carried out.
        dump: bool = true => Restart;
        /// Whether `watch`, which tells what others ask, is carried out.
        watch: bool = true => Restart;
    }
}

trunkline_kit::choices! {
    /// Whether clients show a certificate.
    pub enum ClientCertificates {
        /// They are not asked.
        None = "none",
        /// A good one or none.
        Request = "request",
        /// A good one.
        Require = "require",
    }
}

/// Where the cache listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Door {
    /// By TCP.
    Tcp(SocketAddr),
    /// By TLS over TCP.
    Tls(SocketAddr),
    /// By UDP.
    Udp(SocketAddr),
    /// A unix socket.
    Unix(PathBuf),
}

impl Door {
    /// The path of a unix socket.
    pub fn path(&self) -> Option<&Path> {
        if let Door::Unix(path) = self { Some(path) } else { None }
    }
}

impl fmt::Display for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Door::Tcp(address) => address.fmt(f),
            Door::Tls(address) => write!(f, "tls:{address}"),
            Door::Udp(address) => write!(f, "udp:{address}"),
            Door::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl Value for Door {
    fn kind() -> String {
        "\"ADDRESS:PORT\" such as \"127.0.0.1:11211\", with tls: or udp: before it, or \"unix:PATH\"".to_owned()
    }

    fn of(raw: &Raw) -> Result<Self, String> {
        let wrong = || format!("expected {}, not {}", Self::kind(), raw.describe());
        let text = raw.as_text().ok_or_else(wrong)?.trim();
        let address = |text: &str| text.parse::<SocketAddr>().map_err(|_| wrong());
        if let Some(path) = text.strip_prefix("unix:") {
            return match path.len() {
                0 => Err(wrong()),
                1..=SOCKET_PATH_MAX => Ok(Door::Unix(PathBuf::from(path))),
                n => Err(format!("the path of a socket has at most {SOCKET_PATH_MAX} octets, this one {n}")),
            };
        }
        match text.split_once(':') {
            Some(("tls", rest)) => address(rest).map(Door::Tls),
            Some(("udp", rest)) => address(rest).map(Door::Udp),
            _ => address(text).map(Door::Tcp),
        }
    }

    fn text(&self) -> String {
        quoted(&self.to_string())
    }
}

/// Permissions of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode(pub u32);

impl Value for Mode {
    fn kind() -> String {
        "permissions in octal such as \"770\"".to_owned()
    }

    fn of(raw: &Raw) -> Result<Self, String> {
        let mode = raw.as_text().and_then(|text| u32::from_str_radix(text.trim(), 8).ok());
        let wrong = || format!("expected {}, not {}", Self::kind(), raw.describe());
        mode.filter(|mode| *mode <= 0o777).map(Mode).ok_or_else(wrong)
    }

    fn text(&self) -> String {
        quoted(&format!("{:o}", self.0))
    }
}
