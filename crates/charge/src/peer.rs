//! A Diameter peer at the other end of a connection: capabilities, watchdog, disconnection (RFC 6733 section 5, RFC
//! 3539), and what of its requests is for charging.
//!
//! ```text
//!   octets --Frames--> Message --> Peer::take --> answered here: CER, DWR, DPR, what is refused
//!                                            \--> Taken::Opened: its CER, or its CEA to ours ([`Peer::call`])
//!                                            \--> Taken::Charge: a CCR, for gy and session
//!                                            \--> Taken::Answered: RAA, ASA
//! ```
//!
//! It has no clock and no socket: the time comes with each call, and what is to be sent is appended to a buffer.
//!
//! # Rules where the standards are silent
//!
//! - A peer that is connected twice may go on with both: what it asks is one stream of requests by Origin-Host and
//!   End-to-End Identifier, wherever a copy comes in. What we ask it goes to the connection that it used last.
//! - The first message has to be a CER, or the CEA to ours; anything else closes the connection.
//! - Requests of other applications and commands are refused in order (3007, 3001), so is what is for another host or
//!   realm (3002, 3003) and what came through us before (3005).

mod capabilities;
mod disconnection;
mod down;
mod message;
mod pushes;
mod roster;
mod watchdog;

#[cfg(test)]
mod elections;
#[cfg(test)]
mod tests;

pub use capabilities::{Local, NAME_OCTETS_MAX};
pub use down::Down;
pub use message::{Taken, Unreadable};
pub use pushes::{PUSHES_MAX, Pushed};
pub use roster::{ADDRESSES_MAX, Came, NEIGHBOURS_MAX, Neighbour, Place, RECONNECT, Roster, Shown};
pub use watchdog::{Due, WATCHDOG_LEAST_S};

use core::time::Duration;
use pushes::Pushes;
use watchdog::Watchdog;

/// Octets of the longest message that is taken.
// Limit: length of one Diameter message
// Beyond: the connection is closed
// Seen in: `trunkline_charge_streams_broken_total`
pub const MESSAGE_OCTETS_MAX: usize = 64 << 10;

/// What is known of the other end.
#[derive(Debug)]
pub struct Peer {
    phase: Phase,
    host: Box<str>,
    realm: Box<str>,
    watchdog: Watchdog,
    pushes: Pushes,
    next_hop_by_hop: u32,
    /// Who is to answer our CER.
    meant: Box<str>,
    /// Until when the answer to our DPR is waited for.
    parts: Option<Duration>,
    /// Why it is of no use any more, if it said so or we saw it.
    down: Option<Down>,
    /// It offers the Relay application (RFC 6733 section 2.4).
    relays: bool,
}

/// Where the conversation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// A CER is to come.
    New,
    /// The answer to our CER is to come.
    Called,
    /// It may ask.
    Open,
    /// It, or we, have said the end: answers still go.
    Closing,
}

impl Peer {
    /// One that has connected at `now` (any monotonic clock). `seed` is where identifiers begin.
    pub fn new(local: &Local, seed: u32, now: Duration) -> Peer {
        Peer {
            phase: Phase::New,
            host: Box::default(),
            realm: Box::default(),
            watchdog: Watchdog::new(local.watchdog, seed, now),
            pushes: Pushes::default(),
            next_hop_by_hop: seed,
            meant: Box::default(),
            parts: None,
            down: None,
            relays: false,
        }
    }

    /// Its Origin-Host; empty before its CER.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Its Origin-Realm.
    pub fn realm(&self) -> &str {
        &self.realm
    }

    /// Whether it said that it relays requests of others.
    pub fn relays(&self) -> bool {
        self.relays
    }

    /// Whether it may ask, and be asked.
    pub fn is_open(&self) -> bool {
        self.phase == Phase::Open
    }

    /// Whether the end was said.
    pub fn is_closing(&self) -> bool {
        self.phase == Phase::Closing
    }

    /// Where its watchdog is, in a word: `okay`, `asked`, `suspect`; `closing` once the end was said.
    pub fn state(&self) -> &'static str {
        match (self.is_closing(), self.watchdog.state()) {
            (true, _) => "closing",
            (false, state) => state,
        }
    }

    /// Why it is of no use any more, as far as that was said or seen in what it says.
    pub fn down(&self) -> Option<Down> {
        self.down
    }

    /// What it says is not read just now: its silence does not count.
    pub fn excuse(&mut self, now: Duration) {
        self.watchdog.heard(now);
    }

    fn hop_by_hop(&mut self) -> u32 {
        self.next_hop_by_hop = self.next_hop_by_hop.wrapping_add(1);
        self.next_hop_by_hop
    }
}
