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
    /// Whose side it is of.
    pub side: Side,
    /// It is not read until answers have left.
    pub holds: bool,
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
