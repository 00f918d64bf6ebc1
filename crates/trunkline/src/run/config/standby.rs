//! The section of nodes that stand by for each other in charging, and its types.

use std::path::PathBuf;
use std::time::Duration;
use trunkline_kit::config::{Octets, Raw, Value, quoted};
use trunkline_replica::Server;

trunkline_kit::section! {
    /// Charging on several nodes, one of which leads: the ledger goes to a stream of NATS JetStream, the others follow
    /// it, and one takes over. It is on where `servers` names one. docs/manual/standby.md has the whole of it.
    pub struct Standby {
        /// Servers of one cluster of NATS, as `nats://HOST:PORT`, or `tls://HOST:PORT`; empty for a node alone.
        servers: Vec<Nats> = Vec::new() => Restart;
        /// This node's name, which no other has: letters, digits, `-` and `_`.
        node: String = String::new() => Restart;
        /// The stream's name; all nodes of one ledger have the same.
        stream: String = "charge".to_owned() => Restart;
        /// Servers that keep each message before it counts: 3 lose nothing when one is lost; 1 is for trials.
        replicas: u16 = 3 => Restart, 1 => 5;
        /// How long the leader says nothing until another node takes over.
        after: Duration = Duration::from_secs(5) => Restart, Duration::from_secs(1) => Duration::from_secs(300);
        /// What the stream keeps; a node that was away for longer needs a copy of the ledger.
        size: Octets = Octets::gib(4) => Restart, Octets::mib(4) => Octets::gib(4096);
        /// Who asks, where the servers want to know.
        user: Option<String> = None => Restart;
        /// The file whose first line is the password.
        password_file: Option<PathBuf> = None => Restart;
        /// The certificates of those who vouch for the servers, PEM; `none` takes the system's.
        ca_file: Option<PathBuf> = None => Restart;
    }
}

/// A server of NATS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nats(pub Server);

impl Value for Nats {
    fn kind() -> String {
        "a server such as \"nats://192.0.2.1:4222\"".to_owned()
    }

    fn of(raw: &Raw) -> Result<Self, String> {
        let server = raw.as_text().and_then(|text| text.trim().parse().ok());
        server.map(Nats).ok_or_else(|| format!("expected {}, not {}", Self::kind(), raw.describe()))
    }

    fn text(&self) -> String {
        quoted(&self.0.to_string())
    }
}
