//! The section of charging, and its types.

use super::cache::Door;
use super::web::Network;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;
use trunkline_charge::peer::{ADDRESSES_MAX, NAME_OCTETS_MAX};
use trunkline_kit::config::{Raw, Value, quoted};

/// Clients of a failover set.
const TOGETHER_MAX: usize = 64;

trunkline_kit::section! {
    /// Online charging by Diameter Gy, served beside the rest: it runs where `listen` names an address, or `connect` a
    /// peer. docs/manual/charging.md says how it is operated; `trunkline charge serve` serves it without the rest.
    pub struct Charge {
        /// Where it listens for Diameter: `ADDRESS:PORT` by TCP (3868), `tls:ADDRESS:PORT` (5868). Empty to listen
        /// nowhere.
        listen: Vec<Door> = Vec::new() => Restart;
        /// Our name to clients (Origin-Host); needed where it listens.
        host: String = String::new() => Restart;
        /// Our realm (Origin-Realm); needed where it listens.
        realm: String = String::new() => Restart;
        /// Realms that are served besides it.
        realms: Vec<String> = Vec::new() => Restart;
        /// What clients are told as our addresses (Host-IP-Address); empty for those that are listened on.
        addresses: Vec<Ip> = Vec::new() => Restart;
        /// The clients that may connect, by their Origin-Host; empty for all.
        peers: Vec<String> = Vec::new() => Restart;
        /// The agents (relays, proxies, DRAs) that bring requests of other Origin-Hosts, by their own; empty for each
        /// peer that offers the Relay application, or whose requests have a Route-Record.
        agents: Vec<String> = Vec::new() => Restart;
        /// Clients that go on with each other's sessions after one of them has failed: the Origin-Hosts of a set, with
        /// spaces between them, such as `"pgw1.example.org pgw2.example.org"`.
        failover: Vec<Together> = Vec::new() => Restart;
        /// The clients that may give back what they, or others of their set, debited (REFUND_ACCOUNT), by their
        /// Origin-Host; empty for none. Over an agent only where `agents` names it.
        refund_peers: Vec<String> = Vec::new() => Restart;
        /// Peers that this node connects to by itself, relays among them: the peer's Origin-Host and its addresses, the
        /// best first, such as `"dra.example.org 10.0.0.1:3868 tls:10.0.1.1:5868"`. They may connect, too.
        connect: Vec<Called> = Vec::new() => Restart;
        /// After how long one that is down is tried again (Tc), and up to a quarter longer.
        reconnect: Duration = Duration::from_secs(30) => Restart, Duration::from_secs(1) => Duration::from_secs(3600);
        /// The certificates of those whose signature the certificate of a peer has to have that is connected to by TLS,
        /// PEM; it has to be for the peer's Origin-Host.
        issuers: Option<PathBuf> = None => Restart;
        /// The networks that may connect; empty for all.
        allow: Vec<Network> = Vec::new() => Restart;
        /// The certificate with its chain, PEM, that `tls:` addresses show.
        certificate: Option<PathBuf> = None => Restart;
        /// Its key, PEM.
        key: Option<PathBuf> = None => Restart;
        /// The certificates of those whose signature a client's certificate has to have, PEM; `none` asks for none.
        client_issuers: Option<PathBuf> = None => Restart;
        /// Whether the certificate that a client shows has to be for its Origin-Host.
        client_names: bool = true => Restart;
        /// After how long without a word a client is asked whether it is there (Tw of RFC 3539).
        watchdog: Duration = Duration::from_secs(30) => Restart, Duration::from_secs(6) => Duration::from_secs(3600);
        /// What clients do when no server answers (Credit-Control-Failure-Handling).
        failure_handling: FailureHandling = FailureHandling::Terminate => Restart;
        /// Sessions at a time, those among them whose answers are kept after their end; one more is told that we are
        /// too busy.
        sessions: u32 = 4_000_000 => Restart, 1 => trunkline_charge::account::SLOTS_MAX;
        /// For how long answers are kept after a session: longer than any client repeats a request.
        keep_answers: Duration = Duration::from_secs(300) => Restart,
            Duration::from_secs(30) => Duration::from_secs(86_400);
        /// Threads for connections; 0 for one a processor.
        threads: u16 = 0 => Restart, 0 => 256;
        /// Connections at a time; one address has half of them at most.
        connections: u32 = 10_000 => Restart, 1 => 1_000_000;
    }
}

trunkline_kit::section! {
    /// GTP' of charging: records of other nodes (charging gateway function), and quota servers. It is served where
    /// `listen` names an address; docs/manual/gtpp.md has the whole of it.
    pub struct ChargeGtpp {
        /// Where it listens: `udp:ADDRESS:PORT`, `ADDRESS:PORT` by TCP (3386). Empty for no GTP'.
        listen: Vec<Door> = Vec::new() => Restart;
        /// The networks that may speak GTP'; empty for all. By TCP those of `charge` hold, too.
        allow: Vec<Network> = Vec::new() => Restart;
        /// A file with the numbers of messages and elements of quota servers, and what services are called.
        profile: Option<PathBuf> = None => Restart;
        /// For how long a request for quota is remembered, so that a copy of it is known: longer than any gateway
        /// repeats one.
        copies: Duration = Duration::from_secs(10) => Restart, Duration::from_secs(1) => Duration::from_secs(60);
        /// The gateway that senders of records are told to go to when this one ends; `none` leaves it to them.
        redirect_to: Option<Ip> = None => Restart;
    }
}

trunkline_kit::choices! {
    /// What clients do when no server answers (RFC 8506 section 8.14).
    pub enum FailureHandling {
        /// They end the service.
        Terminate = "terminate",
        /// It goes on without charge.
        Continue = "continue",
        /// They ask another server, then end it.
        RetryAndTerminate = "retry-and-terminate",
    }
}

/// A peer that is connected to: its name, and addresses with whether TLS is spoken there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Called {
    /// Its Origin-Host.
    pub host: String,
    /// Where it is, the best first.
    pub places: Vec<(SocketAddr, bool)>,
}

impl Called {
    fn read(text: &str) -> Option<Called> {
        let mut words = text.split_ascii_whitespace();
        let host = words.next()?.to_owned();
        let place = |word: &str| {
            let (address, tls) = word.strip_prefix("tls:").map_or((word, false), |address| (address, true));
            address.parse().ok().map(|address| (address, tls))
        };
        let places = words.map(place).collect::<Option<Vec<_>>>()?;
        let sized = host.len() <= NAME_OCTETS_MAX && (1..=ADDRESSES_MAX).contains(&places.len());
        sized.then_some(Called { host, places })
    }
}

impl Value for Called {
    fn kind() -> String {
        format!(
            "a peer and 1 to {ADDRESSES_MAX} addresses, such as \"dra.example.org 10.0.0.1:3868 tls:10.0.1.1:5868\""
        )
    }

    fn of(raw: &Raw) -> Result<Self, String> {
        let read = raw.as_text().and_then(Called::read);
        read.ok_or_else(|| format!("expected {}, not {}", Self::kind(), raw.describe()))
    }

    fn text(&self) -> String {
        let place =
            |(address, tls): &(SocketAddr, bool)| if *tls { format!(" tls:{address}") } else { format!(" {address}") };
        quoted(&format!("{}{}", self.host, self.places.iter().map(place).collect::<String>()))
    }
}

/// Clients that are one as far as sessions are concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Together(pub Vec<String>);

impl Together {
    fn read(text: &str) -> Option<Together> {
        let hosts: Vec<String> = text.split_ascii_whitespace().map(str::to_owned).collect();
        let sized = hosts.iter().all(|host| host.len() <= NAME_OCTETS_MAX);
        ((2..=TOGETHER_MAX).contains(&hosts.len()) && sized).then_some(Together(hosts))
    }
}

impl Value for Together {
    fn kind() -> String {
        format!("the Origin-Hosts of 2 to {TOGETHER_MAX} clients, such as \"pgw1.example.org pgw2.example.org\"")
    }

    fn of(raw: &Raw) -> Result<Self, String> {
        let read = raw.as_text().and_then(Together::read);
        read.ok_or_else(|| format!("expected {}, not {}", Self::kind(), raw.describe()))
    }

    fn text(&self) -> String {
        quoted(&self.0.join(" "))
    }
}

/// An address without a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ip(pub IpAddr);

impl Value for Ip {
    fn kind() -> String {
        "an address such as \"192.0.2.1\"".to_owned()
    }

    fn of(raw: &Raw) -> Result<Self, String> {
        let address = raw.as_text().and_then(|text| text.trim().parse().ok());
        address.map(Ip).ok_or_else(|| format!("expected {}, not {}", Self::kind(), raw.describe()))
    }

    fn text(&self) -> String {
        quoted(&self.0.to_string())
    }
}
