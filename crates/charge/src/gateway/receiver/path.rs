//! The way to a peer: whether it began anew, where it shall send to, and which peer makes room for another one.
//!
//! # Who makes room
//!
//! The first of these that there is, and among those the one of which fewest packets of records were taken: so whoever
//! sends under invented addresses takes the places of others of his own, and not those of a gateway that has sent for
//! long. Of several, in 3 and 4 it is the newest for the same reason, else the one that was heard longest ago:
//!
//! 1. a peer from a network that is not allowed any more, of which nothing is held apart,
//! 2. one that never sent records that were stored,
//! 3. one that did, and never answered an Echo Request, of which nothing is held apart,
//! 4. such a one of which something is held apart: that is forgotten with it, and counted,
//! 5. one that has answered, has nothing held apart, and has said nothing for [`SILENT`].
//!
//! For a request that stores nothing, as the empty packet, only the first two do.

use super::state::Peer;
use super::{Change, ECHO_LEAST, Outcome, PEERS_MAX, Receiver};
use crate::gateway::outbox::message;
use core::time::Duration;
use hashbrown::HashMap;
use std::collections::VecDeque;
use trunkline_wire::gtpp::{Header, Version, Writer, element, message_type};
use trunkline_wire::{Address, Endpoint};

/// Those that have spoken since this start and are no peers yet; with one more the first of them is forgotten.
pub const STRANGERS_MAX: usize = 256;
/// How long a peer that has proved where it is has to be silent until it makes room for another one.
pub const SILENT: Duration = Duration::from_secs(86_400);
/// Answers to an Echo Request by a wrong number, after which none is taken any more until the next question.
pub const GUESSES_MAX: u8 = 3;

/// What is open with a peer. It is known since this start, not by entries.
#[derive(Clone, Debug)]
pub(super) struct Path {
    /// Where it spoke from last.
    endpoint: Endpoint,
    /// When that was.
    heard: Duration,
    /// When it was asked for its restart counter.
    asked: Option<Duration>,
    /// The number of that question, while it is open, and how often another one was answered.
    echo: Option<(u16, u8)>,
    redirection: Option<Redirection>,
}

/// Those of all peers, and of the newest strangers.
#[derive(Clone, Debug, Default)]
pub(super) struct Paths {
    known: HashMap<Address, Path>,
    /// Those that were no peers when they spoke first, the oldest first.
    strangers: VecDeque<Address>,
    /// When the first message came.
    begun: Option<Duration>,
}

impl Paths {
    /// Something came from there.
    pub fn hear(&mut self, from: Address, now: Duration) {
        self.begun.get_or_insert(now);
        if let Some(path) = self.known.get_mut(&from) {
            path.heard = now;
        }
    }

    pub fn forget(&mut self, address: &Address) {
        self.known.remove(address);
    }

    /// Whether nothing came from there for [`SILENT`]; who has not spoken since the start was silent since then.
    fn is_silent(&self, address: &Address, now: Duration) -> bool {
        let heard = self.known.get(address).map(|path| path.heard).or(self.begun).unwrap_or(now);
        now.saturating_sub(heard) >= SILENT
    }
}

/// A Redirection Request that waits for its answer.
#[derive(Clone, Debug)]
struct Redirection {
    number: u16,
    octets: Vec<u8>,
    tries: u32,
    due: Duration,
}

impl Receiver {
    /// A peer has spoken. At first it is asked for its restart counter.
    pub(super) fn meet(&mut self, from: Endpoint, now: Duration) {
        let peer = self.state.peer(&from.address);
        let (is_peer, is_proved) = (peer.is_some(), peer.is_some_and(|peer| peer.counter.is_some()));
        if let Some(path) = self.paths.known.get_mut(&from.address) {
            path.endpoint = from;
            // The first question, or its answer, may be lost.
            return if is_peer && !is_proved {
                self.ask(from, now)
            };
        }
        if !is_peer {
            self.paths.strangers.push_back(from.address);
            self.shift_strangers();
        }
        let path = Path { endpoint: from, heard: now, asked: None, echo: None, redirection: None };
        self.paths.known.insert(from.address, path);
        self.ask(from, now);
    }

    /// Forgets the first of the strangers beyond [`STRANGERS_MAX`], unless it is a peer by now.
    fn shift_strangers(&mut self) {
        if self.paths.strangers.len() <= STRANGERS_MAX {
            return;
        }
        let oldest = self.paths.strangers.pop_front().filter(|oldest| self.state.peer(oldest).is_none());
        oldest.into_iter().for_each(|oldest| self.paths.forget(&oldest));
    }

    /// The peer that makes room for another one, which stores records or not; none: all are there.
    pub(super) fn makes_room(&self, stores: bool, now: Duration) -> Option<Address> {
        let most = if stores { u8::MAX } else { 2 };
        let ranked = self.state.peers.iter().filter_map(|(address, peer)| {
            let rank = self.rank(address, peer, now).filter(|rank| *rank <= most)?;
            let order = if matches!(rank, 3 | 4) { u64::MAX - peer.last } else { peer.last };
            Some((rank, if rank == 5 { 0 } else { peer.stores }, order, *address))
        });
        ranked.min().map(|(.., address)| address)
    }

    /// See the module.
    fn rank(&self, address: &Address, peer: &Peer, now: Duration) -> Option<u8> {
        let outside = !self.settings.allow.contains(address.to_ip());
        let (empty, proved) = (peer.held.is_empty(), peer.counter.is_some());
        match () {
            () if outside && empty => Some(1),
            () if peer.stores == 0 => Some(2),
            () if !proved && empty => Some(3),
            () if outside || !proved => Some(4),
            () => (empty && self.paths.is_silent(address, now)).then_some(5),
        }
    }

    /// The number of our next request.
    fn number(&mut self) -> u16 {
        self.next = self.next.wrapping_add(1);
        if self.settings.secret == 0 {
            return self.next;
        }
        // SplitMix64 (Steele, Lea and Flood 2014): each number is the first 16 bits of one that only the secret tells.
        self.drawn = self.drawn.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = self.settings.secret.wrapping_add(self.drawn);
        let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) >> 48) as u16
    }

    /// Asks for the restart counter, at most once in [`ECHO_LEAST`].
    pub(super) fn ask(&mut self, to: Endpoint, now: Duration) {
        let was_asked = |path: &Path| path.asked.is_some_and(|asked| now < asked + ECHO_LEAST);
        if self.paths.known.get(&to.address).is_none_or(was_asked) {
            return;
        }
        let sequence = self.number();
        let Some(path) = self.paths.known.get_mut(&to.address) else { return };
        (path.asked, path.echo) = (Some(now), Some((sequence, 0)));
        let header = Header { version: Version::HIGHEST, kind: message_type::ECHO_REQUEST, sequence };
        self.say(to, header, |w| w);
    }

    /// The answer. One that nobody asked for, or that comes twice, says nothing.
    pub(super) fn counter(&mut self, from: Endpoint, number: u16, counter: u8) -> Option<Outcome> {
        let path = self.paths.known.get_mut(&from.address);
        let Some((path, (asked, wrong))) = path.and_then(|path| path.echo.map(|echo| (path, echo))) else {
            self.counts.echoes_wrong += 1;
            return None;
        };
        if asked != number {
            self.counts.echoes_wrong += 1;
            path.echo = Some((asked, wrong + 1)).filter(|(_, wrong)| *wrong < GUESSES_MAX);
            return None;
        }
        path.echo = None;
        let before = self.state.peer(&from.address);
        if before.is_none() && self.state.peers() >= PEERS_MAX {
            return None;
        }
        match before.and_then(|peer| peer.counter) {
            Some(before) if before == counter => return None,
            Some(_) => self.counts.restarts += 1,
            None => {}
        }
        Some(self.write(Change::Counter { peer: from.address, counter }))
    }

    /// Asks all peers that have spoken since this start to send to another gateway from now on: `cause` is 59 to 63.
    pub fn redirect(&mut self, cause: u8, recommended: Option<Address>, alternate: Option<Address>, now: Duration) {
        let all: Vec<Address> = self.paths.known.keys().copied().collect();
        for address in all {
            let number = self.number();
            let Some(path) = self.paths.known.get_mut(&address) else { continue };
            let header =
                Header { version: Version::HIGHEST, kind: message_type::REDIRECTION_REQUEST, sequence: number };
            let told = [recommended, alternate].into_iter().flatten();
            let say = message(header, |w| {
                told.fold(w.cause(cause), |w, address| w.address(element::RECOMMENDED_NODE_ADDRESS, address))
            });
            // A cause and two addresses fit.
            let Ok(octets) = say else { return };
            self.counts.dropped += u64::from(self.outbox.put(path.endpoint, octets.clone()));
            let due = now + self.settings.t3;
            path.redirection = Some(Redirection { number, octets, tries: 1, due });
        }
    }

    /// A peer has answered.
    pub(super) fn redirected(&mut self, from: Endpoint, number: u16) {
        if let Some(path) = self.paths.known.get_mut(&from.address) {
            path.redirection.take_if(|redirection| redirection.number == number);
        }
    }

    /// When [`Receiver::handle_timeout`] is to be called.
    pub fn due(&self) -> Option<Duration> {
        self.paths.known.values().filter_map(|path| path.redirection.as_ref().map(|redirection| redirection.due)).min()
    }

    /// Says again what was not answered.
    pub fn handle_timeout(&mut self, now: Duration) {
        for path in self.paths.known.values_mut() {
            let Some(redirection) = path.redirection.as_mut().filter(|redirection| redirection.due <= now) else {
                continue;
            };
            if redirection.tries >= self.settings.n3 {
                self.counts.unanswered += 1;
                path.redirection = None;
                continue;
            }
            redirection.tries += 1;
            redirection.due = now + self.settings.t3;
            self.counts.dropped += u64::from(self.outbox.put(path.endpoint, redirection.octets.clone()));
        }
    }

    /// Says something that waits for nothing.
    pub(super) fn say(&mut self, to: Endpoint, header: Header, write: impl FnOnce(Writer<'_>) -> Writer<'_>) {
        self.counts.dropped += u64::from(self.outbox.write(to, header, write));
    }
}
