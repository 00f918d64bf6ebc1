//! A connection: a client of Diameter, or somebody who operates the node.

use super::calls::Side;
use super::clients::Tally;
use super::parked::Parked;
use super::pending::Pending;
use crate::peer::Peer;
use core::time::Duration;
use std::net::SocketAddr;
use std::sync::Arc;
use trunkline_net::{ConnectionId, Next, Peer as From};

/// Octets of answers that wait for the disk; with so many a connection is not read.
// Limit: answers of one connection waiting for the disk
// Beyond: the connection is not read until there is room
// Seen in: the clients wait
pub const PENDING_OCTETS_MAX: usize = 1 << 20;

/// What is kept of a connection.
pub(super) struct Link {
    pub id: ConnectionId,
    pub speaks: Speaks,
    pub pending: Pending,
    /// Where it comes from, and whether it is encrypted.
    pub from: (From, bool),
    pub tally: Arc<Tally>,
    /// Its number among the clients that are shown; none before they have said who they are.
    pub client: Option<u64>,
    /// Requests that wait for the directory.
    pub parked: Parked,
    /// Clients are asked over it.
    pub routed: bool,
    /// When it is looked at next.
    pub registered: Duration,
    /// The entry for which its thread has it in its queue, or had.
    pub waits: Option<u64>,
    /// What its answers were counted with among those of all connections.
    pub counted: usize,
    /// Reports of usage without a session, in a minute.
    pub strays: Strays,
    /// Whose side it is of.
    pub side: Side,
    /// It is not read until answers have left.
    pub holds: bool,
}

/// Reports of usage without a session that a connection may bring in a minute: each is an entry of the ledger.
// Limit: reports of usage without a session, one connection and minute
// Beyond: further ones are answered 3004 (too busy)
// Seen in: `trunkline_charge_strays_refused_total`
pub const STRAYS_MAX: u32 = 6000;

/// Those of a minute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Strays {
    minute: u64,
    count: u32,
}

impl Strays {
    /// Whether no more are taken in this minute.
    pub fn is_over(&self, now: Duration) -> bool {
        self.minute == now.as_secs() / 60 && self.count >= STRAYS_MAX
    }

    /// One more.
    pub fn add(&mut self, now: Duration) {
        let minute = now.as_secs() / 60;
        let before = if minute == self.minute { self.count } else { 0 };
        (self.minute, self.count) = (minute, before.saturating_add(1));
    }
}

/// What is spoken.
pub(super) enum Speaks {
    /// Diameter.
    Diameter(Box<Peer>),
    /// Lines of JSON ([`super::control`]).
    Control,
    /// GTP', with whom; whether it may.
    Gtpp(SocketAddr, bool),
}

impl Link {
    pub fn new(id: ConnectionId, from: (From, bool), speaks: Speaks) -> Link {
        Link {
            id,
            speaks,
            from,
            tally: Arc::default(),
            client: None,
            pending: Pending::default(),
            parked: Parked::default(),
            routed: false,
            registered: Duration::MAX,
            waits: None,
            counted: 0,
            strays: Strays::default(),
            side: Side::default(),
            holds: false,
        }
    }

    /// How it goes on: with input, or with answers that have to leave first.
    pub fn next(&self) -> Next {
        if self.holds { Next::Hold } else { Next::More }
    }

    /// When its watchdog is to be looked at.
    pub fn due(&self) -> Option<Duration> {
        match &self.speaks {
            Speaks::Diameter(peer) => Some(peer.due()),
            Speaks::Control | Speaks::Gtpp(..) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_without_a_session_is_bounded_by_the_minute() {
        let (mut strays, at) = (Strays::default(), Duration::from_secs);
        (0..STRAYS_MAX).for_each(|_| {
            assert!(!strays.is_over(at(130)));
            strays.add(at(130));
        });
        assert!(strays.is_over(at(179)) && !strays.is_over(at(180)));
        strays.add(at(180));
        assert_eq!(strays, Strays { minute: 3, count: 1 });
    }
}
