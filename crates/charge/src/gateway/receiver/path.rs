//! The way to a peer: whether it began anew, and where it shall send to.

use super::{Change, ECHO_LEAST, Outcome, PEERS_MAX, Receiver};
use crate::gateway::outbox::message;
use core::time::Duration;
use trunkline_wire::gtpp::{Header, Version, Writer, element, message_type};
use trunkline_wire::{Address, Endpoint};

/// What is open with a peer. It is known since this start, not by entries.
#[derive(Clone, Debug)]
pub(super) struct Path {
    /// Where it spoke from last.
    endpoint: Endpoint,
    /// When it was asked for its restart counter.
    asked: Option<Duration>,
    /// The number of that question, while it is open.
    echo: Option<u16>,
    redirection: Option<Redirection>,
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
        if let Some(path) = self.paths.get_mut(&from.address) {
            path.endpoint = from;
        } else if self.paths.len() < PEERS_MAX {
            let path = Path { endpoint: from, asked: None, echo: None, redirection: None };
            self.paths.insert(from.address, path);
            self.ask(from, now);
        }
    }

    /// Asks for the restart counter, at most once in [`ECHO_LEAST`].
    pub(super) fn ask(&mut self, to: Endpoint, now: Duration) {
        let Some(path) = self.paths.get_mut(&to.address) else { return };
        if path.asked.is_some_and(|asked| now < asked + ECHO_LEAST) {
            return;
        }
        self.next = self.next.wrapping_add(1);
        (path.asked, path.echo) = (Some(now), Some(self.next));
        let header = Header { version: Version::HIGHEST, kind: message_type::ECHO_REQUEST, sequence: self.next };
        self.say(to, header, |w| w);
    }

    /// The answer. One that nobody asked for, or that comes twice, says nothing.
    pub(super) fn counter(&mut self, from: Endpoint, number: u16, counter: u8) -> Option<Outcome> {
        let path = self.paths.get_mut(&from.address).filter(|path| path.echo == Some(number))?;
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
        for path in self.paths.values_mut() {
            self.next = self.next.wrapping_add(1);
            let number = self.next;
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
        if let Some(path) = self.paths.get_mut(&from.address) {
            path.redirection.take_if(|redirection| redirection.number == number);
        }
    }

    /// When [`Receiver::handle_timeout`] is to be called.
    pub fn due(&self) -> Option<Duration> {
        self.paths.values().filter_map(|path| path.redirection.as_ref().map(|redirection| redirection.due)).min()
    }

    /// Says again what was not answered.
    pub fn handle_timeout(&mut self, now: Duration) {
        for path in self.paths.values_mut() {
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
