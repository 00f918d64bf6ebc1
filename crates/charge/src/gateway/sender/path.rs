//! The way to a gateway: whether it answers, what is on its way there, and what is to go.

use super::{ECHO_LEAST, Settings};
use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};
use trunkline_wire::Endpoint;

/// A request that was sent.
#[derive(Clone, Copy, Debug)]
struct Flight {
    tries: u32,
    due: Duration,
}

/// Whether the gateway is there.
#[derive(Clone, Copy, Debug)]
struct Echo {
    /// When it is asked next.
    next: Duration,
    /// The number of an open question.
    number: Option<u16>,
    tries: u32,
    /// When it is asked again.
    again: Option<Duration>,
}

/// What is due of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ask {
    Nothing,
    /// With this number.
    Now(u16),
    /// It was not answered.
    Silent,
}

/// Of one gateway. It is known since this start, not by entries.
#[derive(Clone, Debug)]
pub(super) struct Path {
    pub endpoint: Endpoint,
    /// Whether new packets may go there: not to one that is not set up any more.
    pub chosen: bool,
    pub up: bool,
    pub counter: Option<u8>,
    /// Packets whose request is to go there.
    pub ready: VecDeque<u64>,
    flights: BTreeMap<u64, Flight>,
    echo: Echo,
}

impl Path {
    pub fn new(endpoint: Endpoint, chosen: bool, now: Duration) -> Path {
        let echo = Echo { next: now, number: None, tries: 0, again: None };
        Path { endpoint, chosen, up: true, counter: None, ready: VecDeque::new(), flights: BTreeMap::new(), echo }
    }

    /// Whether one more may be on its way.
    pub fn has_room(&self, settings: &Settings) -> bool {
        self.up && self.flights.len() < settings.window
    }

    pub fn flies(&self, packet: u64) -> bool {
        self.flights.contains_key(&packet)
    }

    pub fn fly(&mut self, packet: u64, settings: &Settings, now: Duration) {
        self.flights.insert(packet, Flight { tries: 1, due: now + settings.t3 });
    }

    pub fn land(&mut self, packet: u64) {
        self.flights.remove(&packet);
    }

    /// Keeps those that still go there.
    pub fn keep(&mut self, stays: impl Fn(u64) -> bool) {
        self.flights.retain(|packet, _| stays(*packet));
    }

    /// Requests that are to be sent again; none if one was sent as often as may be.
    pub fn again(&mut self, settings: &Settings, now: Duration) -> Option<Vec<u64>> {
        let mut again = Vec::new();
        for (packet, flight) in self.flights.iter_mut().filter(|(_, flight)| flight.due <= now) {
            if flight.tries >= settings.n3 {
                return None;
            }
            *flight = Flight { tries: flight.tries + 1, due: now + settings.t3 };
            again.push(*packet);
        }
        Some(again)
    }

    /// When something is due.
    pub fn due(&self) -> Duration {
        let flights = self.flights.values().map(|flight| flight.due);
        flights.chain(self.echo.again).fold(self.echo.next, Duration::min)
    }

    /// Asks once in a while whether it is there, and again if it was and does not answer.
    pub fn ask(&mut self, number: u16, settings: &Settings, now: Duration) -> Ask {
        if now >= self.echo.next {
            let again = self.up.then_some(now + settings.t3);
            self.echo = Echo { next: now + settings.echo.max(ECHO_LEAST), number: Some(number), tries: 1, again };
            return Ask::Now(number);
        }
        match (self.echo.again.filter(|again| *again <= now), self.echo.number) {
            (Some(_), Some(_)) if self.echo.tries >= settings.n3 => Ask::Silent,
            (Some(_), Some(number)) => {
                self.echo.tries += 1;
                self.echo.again = Some(now + settings.t3);
                Ask::Now(number)
            }
            _ => Ask::Nothing,
        }
    }

    /// Whether this answers the open question.
    pub fn answered(&mut self, number: u16) -> bool {
        let is_open = self.echo.number == Some(number);
        if is_open {
            (self.echo.number, self.echo.again) = (None, None);
        }
        is_open
    }

    /// Nothing more goes there until it answers.
    pub fn close(&mut self) {
        self.up = false;
        self.flights.clear();
        self.echo.again = None;
    }

    /// It asked to be left alone: what it answers to an earlier question does not count.
    pub fn leave(&mut self, now: Duration) {
        self.close();
        self.echo = Echo { next: now + ECHO_LEAST, number: None, tries: 0, again: None };
    }
}
