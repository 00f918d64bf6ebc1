//! What a run does: the options, as values that need no more checks.

use super::amount::Usage;
use super::kind::Kind;
use super::pace::Pace;
use super::subscribers::Subscribers;
use std::net::SocketAddr;
use std::time::Duration;
use trunkline_wire::diameter::enumerated::SubscriptionIdType;
use trunkline_wire::gtpp::profile::Profile;
use trunkline_wire::{diameter, gtpp};

/// What is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Protocol {
    /// Diameter Gy, over TCP.
    Diameter,
    /// The flow of a quota server by GTP', over UDP.
    Gtpp,
}

impl Protocol {
    /// The types of requests that it has.
    pub fn kinds(self) -> &'static [Kind] {
        match self {
            Protocol::Diameter => &[Kind::Initial, Kind::Update, Kind::Termination, Kind::Event],
            Protocol::Gtpp => &[Kind::Profile, Kind::Initial, Kind::Update, Kind::Termination],
        }
    }

    /// Its port.
    pub fn port(self) -> u16 {
        match self {
            Protocol::Diameter => diameter::PORT,
            Protocol::Gtpp => gtpp::PORT,
        }
    }
}

/// A run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What is spoken.
    pub protocol: Protocol,
    /// Numbers of messages and elements by GTP'.
    pub profile: Profile,
    /// The server, then those that are asked when one fails.
    pub servers: Vec<SocketAddr>,
    /// Connections to a server, each with its own Origin-Host.
    pub clients: u32,
    /// Threads.
    pub threads: usize,
    /// When requests are sent.
    pub pace: Pace,
    /// Updates of a session.
    pub updates: u32,
    /// Events among what begins, 0 to 1.
    pub events: f64,
    /// How long requests are sent.
    pub run: Duration,
    /// Who is charged.
    pub subscribers: Subscribers,
    /// What kind of name they have.
    pub subscription: SubscriptionIdType,
    /// Rating groups of a session, at least one.
    pub groups: Vec<u32>,
    /// Rating group of events.
    pub event_group: u32,
    /// How much of a grant is used.
    pub usage: Usage,
    /// Octets that are asked for; none leaves it to the server.
    pub requested: Option<u64>,
    /// First label of the clients' Origin-Hosts.
    pub origin: String,
    /// Their Origin-Realm.
    pub realm: String,
    /// Destination-Realm; none is that of the server.
    pub destination_realm: Option<String>,
    /// Service-Context-Id.
    pub context: String,
    /// Called-Station-Id.
    pub apn: String,
    /// 3GPP-SGSN-MCC-MNC.
    pub network: Option<String>,
    /// Requests that are sent twice, 0 to 1.
    pub duplicates: f64,
    /// The longest time from a request to its copy.
    pub duplicate_delay: Duration,
    /// How long an answer is waited for (Tx, RFC 8506 section 13).
    pub patience: Duration,
    /// How often a request is sent before it is given up.
    pub tries: u32,
    /// Whether sessions that stand at the end are left alone.
    pub leave: bool,
    /// Where chance begins.
    pub seed: u64,
}

impl Plan {
    /// Whether requests are kept, to be sent again.
    pub fn keeps_requests(&self) -> bool {
        self.duplicates > 0.0 || self.tries > 1
    }

    /// Requests that are due in a second, in open loop.
    pub fn due_per_second(&self) -> Option<f64> {
        match self.pace {
            Pace::Open { begins, .. } => Some(begins.requests_per_second()),
            Pace::Closed { .. } => None,
        }
    }

    /// The Origin-Host of a client.
    pub fn origin_host(&self, client: u32) -> String {
        format!("{}-{client}.{}", self.origin, self.realm)
    }
}
