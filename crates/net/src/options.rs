//! What a server listens to, and its limits.

use core::time::Duration;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use ipnet::IpNet;

use crate::error::StartError;
use crate::tls::Tls;

/// Threads of a server.
// Limit: threads of one server (cache, charging)
// Beyond: the setting is refused
// Seen in: the error message
pub const THREADS_MAX: usize = 256;
/// Listeners of a server.
// Limit: addresses on which one server listens
// Beyond: the setting is refused
// Seen in: the error message
pub const LISTENERS_MAX: usize = 256;
/// Octets read from a connection at once; the thread's buffer.
pub const READ_OCTETS: usize = 64 * 1024;
/// Octets of the smallest [`Limits::output_octets`].
pub const OUTPUT_OCTETS_MIN: usize = 4096;
/// Datagrams received or sent by one system call.
pub const BATCH_DATAGRAMS_MAX: usize = 64;

/// Something to listen to.
#[derive(Clone, Debug)]
pub enum Listen {
    /// TCP. Port 0 takes a free one; `[::]` takes IPv6 alone, so that `0.0.0.0` can stand beside it.
    Tcp {
        /// Address and port.
        address: SocketAddr,
        /// Encrypted, with this certificate.
        tls: Option<Tls>,
    },
    /// UDP; as of TCP.
    Udp {
        /// Address and port.
        address: SocketAddr,
    },
    /// A unix-domain stream socket. A socket that nobody listens to any more is replaced.
    Unix {
        /// Its path, removed when the server ends.
        path: PathBuf,
        /// Its permissions, such as 0o700.
        mode: u32,
    },
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Listen::Tcp { address, tls: None } => write!(f, "tcp {address}"),
            Listen::Tcp { address, tls: Some(_) } => write!(f, "tls {address}"),
            Listen::Udp { address } => write!(f, "udp {address}"),
            Listen::Unix { path, .. } => write!(f, "unix {}", path.display()),
        }
    }
}

/// How a server runs.
#[derive(Clone, Debug)]
pub struct Options {
    /// Threads, each with sockets of its own.
    pub threads: usize,
    /// Processors to keep the threads on, in turn; none leaves it to the system.
    pub processors: Vec<usize>,
    /// Threads for handshakes of TLS, started if a listener needs them.
    pub handshake_threads: usize,
    /// From where connections are taken. Those of unix sockets are local and always taken.
    pub tcp_networks: Networks,
    /// From where datagrams are taken.
    pub udp_networks: Networks,
    /// Whether replies of several datagrams are handed to the kernel in one piece (UDP_SEGMENT).
    pub segmentation: bool,
    /// The limits.
    pub limits: Limits,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            threads: std::thread::available_parallelism().map_or(1, |n| n.get().min(THREADS_MAX)),
            processors: Vec::new(),
            handshake_threads: 1,
            tcp_networks: Networks::all(),
            udp_networks: Networks::all(),
            segmentation: true,
            limits: Limits::default(),
        }
    }
}

/// The limits of a server. Beyond each, what was refused or closed is counted with its cause.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Connections at a time that come, of all threads, handshakes included.
    pub connections: usize,
    /// Connections at a time that are made to others, those on their way included; each thread has an equal part. One
    /// more fails ([`crate::Undialled::Full`]).
    pub dialled_connections: usize,
    /// What happens to one more of those that come.
    pub full: Full,
    /// Connections at a time of one client address; one more is refused. Those of unix sockets do not count.
    pub connections_per_address: Option<usize>,
    /// A connection on which nothing came or went for so long is closed.
    pub idle: Option<Duration>,
    /// A peer that takes nothing of what was said to it for so long is closed.
    pub stalled: Duration,
    /// Octets said to a connection that the peer has not taken; with so many, the service is not asked for more.
    pub output_octets: usize,
    /// Octets of a connection that the service could not take yet; with so many, it is closed. Up to [`READ_OCTETS`]
    /// more are held while its output is stuck.
    pub carried_octets: usize,
    /// Octets held for all connections together, by output that is stuck and input that was not taken. Each thread has
    /// an equal part; the connection that would go beyond is closed.
    pub held_octets: usize,
    /// Octets in and out of one connection in a turn, before the others have theirs.
    pub turn_octets: usize,
    /// Handshakes of TLS at a time; one more is refused.
    pub handshakes: usize,
    /// Time for one.
    pub handshake: Duration,
    /// Messages that wait for a thread; one more is given back to the sender.
    pub mails: usize,
    /// Octets of a datagram; a longer one is dropped. Each thread keeps buffers for [`BATCH_DATAGRAMS_MAX`] of them.
    pub datagram_octets: usize,
    /// The kernel's buffers of each UDP socket, for receiving and for sending; the system may allow less.
    pub udp_buffer_octets: usize,
    /// How long a thread waits for room to send datagrams; what finds none then is dropped.
    pub udp_send_wait: Duration,
    /// Connections that wait to be accepted, for each thread and listener; the system may allow less.
    pub backlog: u32,
    /// Time for what was said to go out when the server is stopped.
    pub stop: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections: 10_000,
            dialled_connections: 10_000,
            full: Full::Wait,
            connections_per_address: None,
            idle: None,
            stalled: Duration::from_secs(30),
            output_octets: 256 * 1024,
            carried_octets: 64 * 1024,
            held_octets: 256 * 1024 * 1024,
            turn_octets: 256 * 1024,
            handshakes: 1024,
            handshake: Duration::from_secs(10),
            mails: 65_536,
            datagram_octets: 65_535,
            udp_buffer_octets: 4 * 1024 * 1024,
            udp_send_wait: Duration::from_millis(5),
            backlog: 4096,
            stop: Duration::from_secs(5),
        }
    }
}

/// What happens to a connection beyond [`Limits::connections`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Full {
    /// It is taken, told this, and closed. Over TLS it is not told.
    Refuse(Vec<u8>),
    /// It waits in the kernel's queue until another one ends.
    Wait,
}

/// Networks from which something is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Networks(Option<Vec<IpNet>>);

impl Networks {
    /// From everywhere.
    pub fn all() -> Networks {
        Networks(None)
    }

    /// From these alone; from nowhere if there are none.
    pub fn only(networks: Vec<IpNet>) -> Networks {
        Networks(Some(networks))
    }

    /// Whether the address is in one of them. An IPv4 address that is written as IPv6 counts as IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.as_ref().is_none_or(|networks| networks.iter().any(|n| n.contains(&address)))
    }
}

impl Options {
    /// Whether all this makes sense.
    pub(crate) fn check(&self, listens: &[Listen]) -> Result<(), StartError> {
        let limits = &self.limits;
        let rules = [
            (listens.is_empty() || listens.len() > LISTENERS_MAX, "listeners: 1 to 256"),
            (self.threads == 0 || self.threads > THREADS_MAX, "threads: 1 to 256"),
            (self.handshake_threads == 0 || self.handshake_threads > THREADS_MAX, "handshake_threads: 1 to 256"),
            (limits.connections == 0, "connections: at least 1"),
            (limits.connections_per_address == Some(0), "connections_per_address: at least 1"),
            (limits.output_octets < OUTPUT_OCTETS_MIN, "output_octets: at least 4096"),
            (limits.carried_octets == 0, "carried_octets: at least 1"),
            (limits.turn_octets == 0, "turn_octets: at least 1"),
            (limits.handshakes == 0, "handshakes: at least 1"),
            (limits.mails == 0, "mails: at least 1"),
            (limits.datagram_octets == 0 || limits.datagram_octets > 65_535, "datagram_octets: 1 to 65535"),
        ];
        match rules.iter().find(|(broken, _)| *broken) {
            Some((_, rule)) => Err(StartError::Option((*rule).to_owned())),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_hold_their_addresses() {
        let networks = Networks::only(vec!["10.0.0.0/8".parse().expect("net"), "2001:db8::/32".parse().expect("net")]);
        let holds = |text: &str| networks.contains(text.parse().expect("address"));
        assert!(holds("10.1.2.3") && holds("::ffff:10.1.2.3") && holds("2001:db8::1"));
        assert!(!holds("11.0.0.1") && !holds("::1"));
        assert!(Networks::all().contains("11.0.0.1".parse().expect("address")));
        assert!(!Networks::only(vec![]).contains("11.0.0.1".parse().expect("address")));
    }

    #[test]
    fn options_without_sense_are_refused() {
        let listens = [Listen::Udp { address: "127.0.0.1:0".parse().expect("address") }];
        assert!(Options::default().check(&listens).is_ok());
        assert!(Options::default().check(&[]).is_err());
        let none = Options { threads: 0, ..Options::default() };
        assert_eq!(none.check(&listens).expect_err("no threads").to_string(), "threads: 1 to 256");
    }
}
