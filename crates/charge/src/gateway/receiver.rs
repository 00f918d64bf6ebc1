//! The charging gateway function: takes records of many peers, and keeps what is possibly duplicated apart.
//!
//! The rules are those of [`crate::gateway`]. A peer is an address: its requests may come from any port, and the answer
//! goes there. What is appended to the log and what passes to billing comes out of [`Receiver::handle`]; answers come
//! out of [`Receiver::poll`] when [`Receiver::durable`] has said that their entries are on disk.
//!
//! # Peers that are strangers
//!
//! Over UDP anybody can write any address on a datagram. So a place among the peers is not kept for ever: where all are
//! taken, a new peer whose records are to be stored takes that of another one ([`path`]), and that is an entry of the
//! log, too. What proves that a peer is where it says is its answer to our Echo Request, by a number that nobody else
//! saw.

mod answers;
mod entry;
mod path;
mod snapshot;
mod state;
mod transfer;

pub use answers::{RESPONDED_MAX, WAITING_MAX};
pub use entry::{Change, Entry, Plain};
pub use path::{GUESSES_MAX, SILENT, STRANGERS_MAX};
pub use snapshot::Restoring;
pub use state::{REMEMBERED_MAX, State};

use super::outbox::{Outbox, Sent};
use super::{ECHO_LEAST, Records};
use answers::{Answers, Say};
use core::time::Duration;
use path::Paths;
use trunkline_net::Networks;
use trunkline_wire::Endpoint;
use trunkline_wire::gtpp::{Body, GtppError, Header, Message, Version, cause, message_type};

/// Peers whose requests are taken; one more takes the place of another, or is refused (199).
// Limit: senders of records by GTP'
// Beyond: a new sender takes the place of another one, or is refused (199)
// Seen in: `trunkline_charge_gateway_peers_forgotten_total`, `trunkline_charge_gateway_requests_full_total`
pub const PEERS_MAX: usize = 1000;
/// Packets of all peers that are held apart; one more is refused (199).
// Limit: possibly duplicated packets on hold
// Beyond: a further packet is refused (199)
// Seen in: `trunkline_charge_gateway_requests_full_total`
pub const HELD_MAX: usize = 65_536;
/// Octets of those.
// Limit: memory of possibly duplicated packets on hold
// Beyond: a further packet is refused (199)
// Seen in: `trunkline_charge_gateway_requests_full_total`
pub const HELD_OCTETS_MAX: usize = 256 << 20;

/// How a receiver is set up.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Said in Echo Responses (Recovery): another one than before when the log was begun anew.
    pub restart_counter: u8,
    /// Formats of records that are taken ([`trunkline_wire::gtpp::records::format`], 11 to 50 are an operator's own);
    /// others are refused (177).
    pub formats: Vec<u8>,
    /// How long an answer to a redirection is waited for (T3-RESPONSE).
    pub t3: Duration,
    /// How often one is said at most (N3-REQUESTS).
    pub n3: u32,
    /// From where peers speak; one that is known from elsewhere makes room before all others.
    pub allow: Networks,
    /// What the numbers of our own requests are made of, so that nobody answers one that he did not see; 0 numbers them
    /// one after the other.
    pub secret: u64,
}

impl Default for Settings {
    /// BER; an answer within a second, five times; from everywhere.
    fn default() -> Self {
        let (t3, allow) = (Duration::from_secs(1), Networks::all());
        Settings { restart_counter: 0, formats: vec![1], t3, n3: 5, allow, secret: 0 }
    }
}

trunkline_kit::counters! {
    /// What a receiver counts.
    pub struct Counts {
        /// messages of GTP' that a gateway took
        messages: "trunkline_charge_gateway_messages_total",
        /// packets of records that passed to billing
        stored: "trunkline_charge_gateway_packets_stored_total",
        /// packets that were held apart, as another gateway may have them
        apart: "trunkline_charge_gateway_packets_apart_total",
        /// packets held apart that were released: they passed to billing
        released: "trunkline_charge_gateway_packets_released_total",
        /// packets held apart that were cancelled: they are forgotten
        cancelled: "trunkline_charge_gateway_packets_cancelled_total",
        /// requests that came once more, and changed nothing
        copies: "trunkline_charge_gateway_requests_copied_total",
        /// empty packets: whether a number came
        tested: "trunkline_charge_gateway_requests_tested_total",
        /// packets that came after the empty packet of their number: dropped, as their sender has taken them elsewhere
        late: "trunkline_charge_gateway_packets_late_total",
        /// requests whose number came before with other octets, refused until the peer's restart counter changes
        mismatched: "trunkline_charge_gateway_requests_mismatched_total",
        /// requests that were refused for what they are: broken, of a format or numbers that are not known
        refused: "trunkline_charge_gateway_requests_refused_total",
        /// requests that were refused for want of room
        full: "trunkline_charge_gateway_requests_full_total",
        /// requests or messages that were dropped for want of room
        dropped: "trunkline_charge_gateway_dropped_total",
        /// peers that made room for another one: what came of them before is not known any more
        peers_forgotten: "trunkline_charge_gateway_peers_forgotten_total",
        /// packets held apart that were forgotten with their peer, which never answered an Echo Request
        held_forgotten: "trunkline_charge_gateway_packets_forgotten_total",
        /// answers to an Echo Request that was never sent, or by a number that it did not have
        echoes_wrong: "trunkline_charge_gateway_echoes_wrong_total",
        /// peers that said that they began anew
        restarts: "trunkline_charge_gateway_peer_restarts_total",
        /// messages that nothing can be read of, or that are not for a gateway
        unreadable: "trunkline_charge_gateway_messages_unreadable_total",
        /// redirections that a peer did not answer
        unanswered: "trunkline_charge_gateway_redirections_unanswered_total",
    }
}

/// What a message leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// What has to be written.
    pub entry: Entry,
    /// What passes to billing when it is: [`State::fold`] of the entry says the same.
    pub passed: Vec<Records>,
}

/// The gateway.
#[derive(Clone, Debug, Default)]
pub struct Receiver {
    settings: Settings,
    state: State,
    paths: Paths,
    answers: Answers,
    outbox: Outbox<Endpoint>,
    next: u16,
    /// How far the numbers are that the secret makes.
    drawn: u64,
    counts: Counts,
}

impl Receiver {
    /// One that goes on from what the entries of its log came to, all of which are durable.
    pub fn new(settings: Settings, state: State) -> Receiver {
        let mut receiver = Receiver { settings, state, ..Receiver::default() };
        receiver.answers.durable(receiver.state.sequence());
        receiver
    }

    /// What the entries say so far.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// What was counted.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Takes a datagram, or a message of a stream, of a peer. What is to be written, if anything is; the state has it
    /// already.
    pub fn handle(&mut self, from: Endpoint, octets: &[u8], now: Duration) -> Option<Outcome> {
        self.counts.messages += 1;
        self.paths.hear(from.address, now);
        match Message::new(octets) {
            Ok(message) => self.take(from, &message, now),
            Err(error) => {
                self.unreadable(from, octets, error);
                None
            }
        }
    }

    fn take(&mut self, from: Endpoint, message: &Message<'_>, now: Duration) -> Option<Outcome> {
        if message.header.kind == message_type::DATA_RECORD_TRANSFER_REQUEST {
            self.meet(from, now);
            return self.transfer(from, message, now);
        }
        let Header { version, sequence, .. } = message.header;
        let answer = |kind| Header { version, kind, sequence };
        match message.body() {
            Ok(Body::EchoRequest) => {
                let counter = self.settings.restart_counter;
                self.say(from, answer(message_type::ECHO_RESPONSE), |w| w.recovery(counter));
            }
            Ok(Body::NodeAliveRequest { .. }) => {
                self.say(from, answer(message_type::NODE_ALIVE_RESPONSE), |w| w);
                self.meet(from, now);
                self.ask(from, now);
            }
            Ok(Body::EchoResponse { restart_counter }) => return self.counter(from, sequence, restart_counter),
            Ok(Body::RedirectionResponse { .. }) => self.redirected(from, sequence),
            // A gateway is not redirected.
            Ok(Body::RedirectionRequest { .. }) => {
                let header = answer(message_type::REDIRECTION_RESPONSE);
                self.say(from, header, |w| w.cause(cause::SERVICE_NOT_SUPPORTED));
            }
            Ok(Body::NodeAliveResponse | Body::VersionNotSupported) => {}
            Ok(_) | Err(_) => self.counts.unreadable += 1,
        }
        None
    }

    /// Says what is wrong with octets that are no message, as far as that can be told.
    fn unreadable(&mut self, from: Endpoint, octets: &[u8], error: GtppError) {
        self.counts.unreadable += 1;
        let Some(&[first, kind, _, _, s1, s2]) = octets.first_chunk() else { return };
        let sequence = u16::from_be_bytes([s1, s2]);
        match error {
            // Two that know no version of each other do not go on for ever.
            GtppError::Version(_) if kind != message_type::VERSION_NOT_SUPPORTED => {
                let header = Header { version: Version::HIGHEST, kind: message_type::VERSION_NOT_SUPPORTED, sequence };
                self.say(from, header, |w| w);
            }
            GtppError::Length { .. } if kind == message_type::DATA_RECORD_TRANSFER_REQUEST => {
                let version = match (first >> 5, first & 1) {
                    (0, 0) => Version::V0Long,
                    (0, _) => Version::V0,
                    (1, _) => Version::V1,
                    _ => Version::V2,
                };
                self.answer(0, Say::new(from, version, error.cause()), sequence);
            }
            _ => {}
        }
    }

    /// The entries up to this one are on disk: their answers may leave.
    pub fn durable(&mut self, sequence: u64) {
        self.answers.durable(sequence);
    }

    /// A message was dropped for want of room before it was looked at.
    pub fn drop_one(&mut self) {
        self.counts.messages += 1;
        self.counts.dropped += 1;
    }

    /// Whether answers wait for the disk.
    pub fn waits(&self) -> bool {
        self.answers.waits()
    }

    /// The next message that leaves, and where to.
    pub fn poll(&mut self) -> Option<Sent<Endpoint>> {
        self.outbox.next().or_else(|| self.answers.next())
    }

    fn answer(&mut self, after: u64, say: Say, number: u16) {
        if self.answers.is_full() {
            self.counts.dropped += 1;
        } else {
            self.answers.put(after, say, number);
        }
    }

    /// Applies a change.
    fn write(&mut self, change: Change) -> Outcome {
        let entry = Entry { sequence: self.state.sequence() + 1, change };
        let passed = self.state.fold(&entry);
        Outcome { entry, passed }
    }
}
