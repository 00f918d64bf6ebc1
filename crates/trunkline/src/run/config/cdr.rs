//! The section of charging data records.

use super::Ip;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use trunkline_charge::gateway::sender::GATEWAYS_MAX;
use trunkline_kit::config::{Octets, Raw, Value, quoted};
use trunkline_wire::gtpp::PORT;

trunkline_kit::section! {
    /// Charging data records of the charging node, in files under `charge/cdr` of the data folder.
    /// docs/manual/cdr.md says what they hold.
    pub struct Cdr {
        /// The forms that records are written in, beside each other: `ber` (3GPP TS 32.298 in files of TS 32.297),
        /// `csv`. Empty for no records.
        formats: Vec<Format> = vec![Format::Ber, Format::Csv] => Restart;
        /// Whether each record is a row in the store, too (`charges`).
        rows: bool = true => Restart;
        /// The name of this node in records and names of files (NodeID), up to 20 letters, digits, `.`, `-`, `_`; empty
        /// for the beginning of `charge.host`.
        node: String = String::new() => Restart;
        /// After how long what was charged is in a file at the latest.
        flush: Duration = Duration::from_secs(5) => Restart, Duration::from_secs(1) => Duration::from_secs(300);
        /// With how many octets a file is closed.
        file_size: Octets = Octets::mib(16) => Restart, Octets(64 << 10) => Octets::mib(512);
        /// With how many records a file is closed.
        file_records: u32 = 100_000 => Restart, 1 => 10_000_000;
        /// After how long a file is closed.
        file_time: Duration = Duration::from_secs(900) => Restart,
            Duration::from_secs(5) => Duration::from_secs(86_400);
        /// With how much usage the record of a session is cut and another one begins; `none` for never.
        cut_volume: Option<Octets> = None => Restart;
        /// After how long it is.
        cut_time: Duration = Duration::from_secs(86_400) => Restart,
            Duration::from_secs(60) => Duration::from_secs(31 * 86_400);
        /// With how many services it is.
        cut_services: u32 = 100 => Restart, 1 => 256;
        /// How many entries of the ledger may be without their records, before no session begins any more.
        behind: u32 = 5_000_000 => Restart, 1000 => 4_000_000_000;
        /// For how long closed files are kept; `none` for as long as nobody removes them.
        keep: Option<Duration> = None => Restart;
        /// Charging gateways that records are sent on to by GTP' (TS 32.295), each to the first one that answers:
        /// `ADDRESS` or `ADDRESS:PORT` (3386). Empty for none.
        send: Vec<Gateway> = Vec::new() => Restart;
        /// The address that they are sent from, by which gateways know their sender; `none` for what the way there
        /// has. Nodes that stand by for each other need one that goes with the lead.
        send_from: Option<Ip> = None => Restart;
        /// For how long an answer of a gateway is waited (T3-RESPONSE).
        send_wait: Duration = Duration::from_secs(1) => Restart,
            Duration::from_millis(10) => Duration::from_secs(60);
        /// How often a request is sent before its gateway counts as silent (N3-REQUESTS).
        send_tries: u32 = 5 => Restart, 1 => 100;
    }
}

/// A charging gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gateway(pub SocketAddr);

impl Value for Gateway {
    fn kind() -> String {
        format!("a gateway such as \"192.0.2.1\" or \"192.0.2.1:{PORT}\"")
    }

    fn of(raw: &Raw) -> Result<Self, String> {
        let read = |text: &str| {
            let whole = text.trim().parse::<SocketAddr>();
            whole.or_else(|_| text.trim().parse::<IpAddr>().map(|address| SocketAddr::new(address, PORT))).ok()
        };
        let read = raw.as_text().and_then(read).filter(|gateway| gateway.port() > 0 && !gateway.ip().is_unspecified());
        read.map(Gateway).ok_or_else(|| format!("expected {}, not {}", Self::kind(), raw.describe()))
    }

    fn text(&self) -> String {
        quoted(&self.0.to_string())
    }
}

impl Cdr {
    /// What is wrong with how records are sent on, by the key; `several` nodes stand by for each other.
    pub fn wrong_sending(&self, several: bool) -> Vec<(&'static str, String)> {
        let mut wrong = Vec::new();
        let mut unless = |holds: bool, key, why: String| wrong.extend((!holds).then_some((key, why)));
        let first = self.send.first().map(|first| first.0.is_ipv4());
        for (at, Gateway(gateway)) in self.send.iter().enumerate() {
            let again = self.send.iter().take(at).any(|Gateway(other)| other.ip() == gateway.ip());
            unless(!again, "send", format!("two gateways have the address {}", gateway.ip()));
            let alike = Some(gateway.is_ipv4()) == first;
            unless(alike, "send", format!("{gateway} and the first one are not both IPv4, or both IPv6"));
        }
        unless(self.send.len() <= GATEWAYS_MAX, "send", format!("more than {GATEWAYS_MAX} gateways"));
        let ber = self.send.is_empty() || self.formats.contains(&Format::Ber);
        unless(ber, "send", "gateways take records in BER: formats lacks \"ber\"".to_owned());
        let family = self.send_from.is_none_or(|from| first.is_none_or(|ipv4| from.0.is_ipv4() == ipv4));
        unless(family, "send-from", "is not of the gateways' kind of address".to_owned());
        let own = self.send.is_empty() || !several || self.send_from.is_some_and(|from| !from.0.is_unspecified());
        let why = "nodes that stand by for each other send from one address, which goes with the lead: gateways know \
            their sender by it";
        unless(own, "send-from", why.to_owned());
        wrong
    }
}

trunkline_kit::choices! {
    /// A form of records.
    pub enum Format {
        /// Basic encoding rules, as the standard has them.
        Ber = "ber",
        /// Lines of a table.
        Csv = "csv",
    }
}
