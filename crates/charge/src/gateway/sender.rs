//! What sends records to one of several gateways: each packet is kept until it is known to be where it belongs.
//!
//! The rules are those of [`crate::gateway`]. [`Sender::queue`] takes a packet and gives the entry that keeps it;
//! [`Sender::handle`] and [`Sender::handle_timeout`] give further ones. What leaves comes out of [`Sender::poll`], when
//! [`Sender::durable`] has said that the entries it follows from are on disk.

mod answers;
mod entry;
mod path;
mod refused;
mod route;
mod snapshot;
mod state;

pub use entry::{Change, Entry};
pub use refused::{NotAgain, Refused};
pub use snapshot::Restoring;
pub use state::State;

use super::outbox::{Outbox, Sent, message};
use super::{ECHO_LEAST, Records};
use core::time::Duration;
use path::{Ask, Path};
use state::{Phase, Place};
use std::collections::BTreeSet;
use trunkline_wire::gtpp::{Header, TooLong, TransferCommand, Version, Writer, element, message_type};
use trunkline_wire::{Address, Endpoint};

/// Packets that are kept; one more is not taken.
// Limit: packets of own records kept for gateways
// Beyond: further records wait in their files
// Seen in: `trunkline_charge_sender_packets_full_total`
pub const PACKETS_MAX: usize = 4096;
/// How far a new request may be from the oldest that may be sent again: a gateway remembers more than this.
pub const SPAN_MAX: u64 = 8192;
/// Gateways; those beyond are left out.
pub const GATEWAYS_MAX: usize = 8;
/// Requests that may be on their way to a gateway.
pub const WINDOW_MAX: usize = 256;

/// How a sender is set up.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Its own address, told to gateways when it starts (Node Alive).
    pub address: Address,
    /// Said in Echo Responses (Recovery): another one than before when the log was begun anew.
    pub restart_counter: u8,
    /// The gateways, the first choice first.
    pub gateways: Vec<Endpoint>,
    /// The version of all requests. A gateway that does not know it is as one that is silent.
    pub version: Version,
    /// How long an answer is waited for (T3-RESPONSE).
    pub t3: Duration,
    /// How often a request is sent before its gateway is silent (N3-REQUESTS).
    pub n3: u32,
    /// Requests on their way to a gateway, 1 to [`WINDOW_MAX`].
    pub window: usize,
    /// How often a gateway is asked whether it is there, not more often than [`ECHO_LEAST`].
    pub echo: Duration,
}

impl Default for Settings {
    /// No gateway; an answer within a second, five times; an Echo a minute.
    fn default() -> Self {
        Settings {
            address: Address::UNSPECIFIED,
            restart_counter: 0,
            gateways: Vec::new(),
            version: Version::HIGHEST,
            t3: Duration::from_secs(1),
            n3: 5,
            window: 64,
            echo: ECHO_LEAST,
        }
    }
}

trunkline_kit::counters! {
    /// What a sender counts.
    pub struct Counts {
        /// packets of records that were queued
        queued: "trunkline_charge_sender_packets_queued_total",
        /// packets that are where they belong
        done: "trunkline_charge_sender_packets_done_total",
        /// packets that were not taken for want of room
        full: "trunkline_charge_sender_packets_full_total",
        /// packets that were sent to another gateway as possibly duplicated
        doubtful: "trunkline_charge_sender_packets_doubtful_total",
        /// packets that the second gateway passed to billing, as the first one never had them
        released: "trunkline_charge_sender_packets_released_total",
        /// packets that the second gateway forgot, as the first one had them
        cancelled: "trunkline_charge_sender_packets_cancelled_total",
        /// packets that a gateway refused for what they are: they are kept
        refused: "trunkline_charge_sender_packets_refused_total",
        /// packets that were refused and that somebody had sent anew
        anew: "trunkline_charge_sender_packets_anew_total",
        /// packets that somebody gave up
        discarded: "trunkline_charge_sender_packets_discarded_total",
        /// requests that were sent
        requests: "trunkline_charge_sender_requests_total",
        /// requests that were sent again
        repeated: "trunkline_charge_sender_requests_repeated_total",
        /// answers that the gateway lacks what it needs: as if none had come
        busy: "trunkline_charge_sender_answers_busy_total",
        /// answers to what was settled before, or never asked
        stale: "trunkline_charge_sender_answers_stale_total",
        /// gateways that fell silent
        silent: "trunkline_charge_sender_gateways_silent_total",
        /// gateways that came back
        back: "trunkline_charge_sender_gateways_back_total",
        /// redirections that were followed
        redirected: "trunkline_charge_sender_redirections_total",
        /// redirections to a gateway that is not set up
        strange: "trunkline_charge_sender_redirections_strange_total",
        /// gateways that said that they began anew
        restarts: "trunkline_charge_sender_gateway_restarts_total",
        /// messages that nothing can be read of, or that are of nobody that is known
        unreadable: "trunkline_charge_sender_messages_unreadable_total",
        /// messages that were dropped for want of room
        dropped: "trunkline_charge_sender_messages_dropped_total",
    }
}

/// There is no room for another packet: try again when some are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// From which of its ports a sender speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Port {
    /// All else.
    Records,
    /// Empty packets: what is answered here is not about records.
    Questions,
}

/// From where to where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// Which port of ours.
    pub port: Port,
    /// The gateway.
    pub to: Endpoint,
}

/// The sender.
#[derive(Clone, Debug)]
pub struct Sender {
    settings: Settings,
    state: State,
    paths: Vec<Path>,
    /// Where the redirected go, while that one answers.
    preferred: Option<Address>,
    /// Packets that were queued since this start and that nobody can have.
    unsent: BTreeSet<u64>,
    outbox: Outbox<Way>,
    durable: u64,
    next: u16,
    counts: Counts,
}

impl Sender {
    /// One that goes on from what the entries of its log came to, all of which are durable.
    pub fn new(mut settings: Settings, state: State, now: Duration) -> Sender {
        settings.window = settings.window.clamp(1, WINDOW_MAX);
        settings.gateways.truncate(GATEWAYS_MAX);
        let mut paths: Vec<Path> = settings.gateways.iter().map(|gateway| Path::new(*gateway, true, now)).collect();
        // Gateways that packets are at are asked, even if they are not set up any more.
        let gone = state.gateways().filter(|gateway| settings.gateways.iter().all(|set| set.address != *gateway));
        let port = trunkline_wire::gtpp::PORT;
        paths.extend(gone.map(|gateway| Path::new(Endpoint::new(gateway, port), false, now)));
        let durable = state.sequence();
        let mut sender = Sender {
            settings,
            state,
            paths,
            preferred: None,
            unsent: BTreeSet::new(),
            outbox: Outbox::default(),
            durable,
            next: 0,
            counts: Counts::default(),
        };
        sender.say_alive();
        sender.gather();
        sender
    }

    /// What the entries say so far.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// What was counted.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The gateways that are set up or have packets, and whether each answers, as far as that is known.
    pub fn gateways(&self) -> impl Iterator<Item = (Endpoint, bool)> {
        self.paths.iter().map(|path| (path.endpoint, path.up))
    }

    /// Keeps a packet and sends it to the gateway of choice. What is to be written.
    ///
    /// # Errors
    /// There are [`PACKETS_MAX`], or one is [`SPAN_MAX`] requests behind, or no gateway is set up.
    pub fn queue(&mut self, records: Records) -> Result<Entry, Full> {
        let gateway = self.of_choice().filter(|_| self.state.len() < PACKETS_MAX);
        let place = gateway.map(|gateway| self.state.place(gateway)).filter(|at| self.state.span(*at) < SPAN_MAX);
        let Some(Place { gateway, serial }) = place else {
            self.counts.full += 1;
            return Err(Full);
        };
        self.counts.queued += 1;
        let entry = self.write(Change::Queued { gateway, serial, records });
        self.unsent.insert(entry.sequence);
        self.send_on(entry.sequence);
        Ok(entry)
    }

    /// Gives up a packet, such as one that was refused. What is to be written; none if there is no such packet.
    pub fn discard(&mut self, packet: u64) -> Option<Entry> {
        self.state.packet(packet)?;
        self.counts.discarded += 1;
        let entry = self.write(Change::Done { packet });
        self.send_on(packet);
        Some(entry)
    }

    /// The entries up to this one are on disk: what follows from them may leave.
    pub fn durable(&mut self, sequence: u64) {
        self.durable = self.durable.max(sequence);
    }

    /// When [`Sender::handle_timeout`] is to be called.
    pub fn due(&self) -> Option<Duration> {
        self.paths.iter().map(Path::due).min()
    }

    /// Sends again what was not answered, and asks who is there. What is to be written is appended.
    pub fn handle_timeout(&mut self, now: Duration, entries: &mut Vec<Entry>) {
        for at in 0..self.paths.len() {
            let silent = !self.repeat(at, now) | !self.ask(at, now);
            if silent && self.paths[at].up {
                self.counts.silent += 1;
                self.paths[at].close();
                self.reroute(entries);
            }
        }
    }

    /// Whether none was sent as often as may be.
    fn repeat(&mut self, at: usize, now: Duration) -> bool {
        let Some(again) = self.paths[at].again(&self.settings, now) else { return false };
        for packet in again {
            let said = self.wish(packet).and_then(|(_, wish)| self.request(packet, wish).ok());
            let Some((port, octets)) = said else { continue };
            self.counts.repeated += 1;
            let way = Way { port, to: self.paths[at].endpoint };
            self.counts.dropped += u64::from(self.outbox.put(way, octets));
        }
        true
    }

    /// Whether it is not known to be silent.
    fn ask(&mut self, at: usize, now: Duration) -> bool {
        let next = self.next.wrapping_add(1);
        match self.paths[at].ask(next, &self.settings, now) {
            Ask::Nothing => true,
            Ask::Silent => false,
            Ask::Now(number) => {
                self.next = next;
                self.say(self.paths[at].endpoint, Port::Records, message_type::ECHO_REQUEST, number, |w| w);
                true
            }
        }
    }

    /// The next message that leaves.
    pub fn poll(&mut self, now: Duration) -> Option<Sent<Way>> {
        self.outbox.next().or_else(|| (0..self.paths.len()).find_map(|at| self.next_request(at, now)))
    }

    fn next_request(&mut self, at: usize, now: Duration) -> Option<Sent<Way>> {
        while self.paths[at].has_room(&self.settings) {
            let packet = *self.paths[at].ready.front()?;
            let wish = self.wish(packet).filter(|(gateway, _)| *gateway == self.paths[at].endpoint.address);
            let after = self.state.packet(packet).map_or(0, |kept| kept.after);
            // Entries become durable in order: none behind it is more so.
            if wish.is_some() && after > self.durable {
                return None;
            }
            self.paths[at].ready.pop_front();
            let said = wish.filter(|_| !self.paths[at].flies(packet)).map(|(_, wish)| self.request(packet, wish));
            let Some(Ok((port, octets))) = said else { continue };
            self.paths[at].fly(packet, &self.settings, now);
            self.unsent.remove(&packet);
            self.counts.requests += 1;
            return Some(Sent { to: Way { port, to: self.paths[at].endpoint }, octets });
        }
        None
    }

    /// The request that a packet wants, the same octets each time.
    fn request(&self, packet: u64, wish: Wish) -> Result<(Port, Vec<u8>), TooLong> {
        let header = |place: Place| Header {
            version: self.settings.version,
            kind: message_type::DATA_RECORD_TRANSFER_REQUEST,
            sequence: place.number(),
        };
        let records = self.state.packet(packet).map_or(&[][..], |kept| kept.records.octets());
        let send = |place, command| {
            message(header(place), |w| w.command(command).element(element::DATA_RECORD_PACKET, records))
        };
        let octets = match wish {
            Wish::Store(place) => send(place, TransferCommand::SEND)?,
            Wish::Hold(place) => send(place, TransferCommand::SEND_POSSIBLY_DUPLICATED)?,
            Wish::Test(place) => {
                return Ok((Port::Questions, message(header(place), |w| w.empty_packet(false))?));
            }
            Wish::Release(place, copy) => message(header(place), |w| {
                w.command(TransferCommand::RELEASE).sequence_numbers(element::RELEASED_PACKETS, &[copy])
            })?,
            Wish::Cancel(place, copy) => message(header(place), |w| {
                w.command(TransferCommand::CANCEL).sequence_numbers(element::CANCELLED_PACKETS, &[copy])
            })?,
        };
        Ok((Port::Records, octets))
    }

    fn say_alive(&mut self) {
        let (address, kind) = (self.settings.address, message_type::NODE_ALIVE_REQUEST);
        for at in 0..self.paths.len() {
            self.next = self.next.wrapping_add(1);
            let (to, number) = (self.paths[at].endpoint, self.next);
            self.say(to, Port::Records, kind, number, |w| w.address(element::NODE_ADDRESS, address));
        }
    }

    fn say(&mut self, to: Endpoint, port: Port, kind: u8, sequence: u16, write: impl FnOnce(Writer<'_>) -> Writer<'_>) {
        let header = Header { version: self.settings.version, kind, sequence };
        self.counts.dropped += u64::from(self.outbox.write(Way { port, to }, header, write));
    }

    /// Applies a change.
    fn write(&mut self, change: Change) -> Entry {
        let entry = Entry { sequence: self.state.sequence() + 1, change };
        self.state.fold(&entry);
        entry
    }
}

/// What is to be asked of a gateway for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    /// To store it.
    Store(Place),
    /// To hold it apart.
    Hold(Place),
    /// Whether it came.
    Test(Place),
    /// To pass on the one of this number.
    Release(Place, u16),
    /// To forget it.
    Cancel(Place, u16),
}
