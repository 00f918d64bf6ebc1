//! A connection: a client of Diameter, or somebody who operates the node.

use super::parked::Parked;
use super::pending::Pending;
use crate::peer::Peer;
use core::time::Duration;
use trunkline_net::{ConnectionId, Next};

/// Octets of answers that wait for the disk; with so many a connection is not read.
pub const PENDING_OCTETS_MAX: usize = 1 << 20;

/// What is kept of a connection.
pub(super) struct Link {
    pub id: ConnectionId,
    pub speaks: Speaks,
    pub pending: Pending,
    /// Requests that wait for the directory.
    pub parked: Parked,
    /// Clients are asked over it.
    pub routed: bool,
    /// When it is looked at next.
    pub registered: Duration,
    /// The entry for which its thread has it in its queue, or had.
    pub waits: Option<u64>,
    /// It is not read until answers have left.
    pub holds: bool,
}

/// What is spoken.
pub(super) enum Speaks {
    /// Diameter.
    Diameter(Box<Peer>),
    /// Lines of JSON ([`super::control`]).
    Control,
}

impl Link {
    pub fn new(id: ConnectionId, speaks: Speaks) -> Link {
        Link {
            id,
            speaks,
            pending: Pending::default(),
            parked: Parked::default(),
            routed: false,
            registered: Duration::MAX,
            waits: None,
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
            Speaks::Control => None,
        }
    }
}
