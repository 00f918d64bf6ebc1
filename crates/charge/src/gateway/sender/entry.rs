//! Entries of the sender's log.

use crate::account::{fields, variants};
use crate::gateway::{Records, codec};
use serde::{Deserialize, Serialize};
use trunkline_wire::Address;

/// One change of the state, durable before anything that follows from it is sent. Where it is shown as text it is its
/// octets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Box<[u8]>", try_from = "Box<[u8]>")]
pub struct Entry {
    /// 1 for the first, then one more each.
    pub sequence: u64,
    /// What changes.
    pub change: Change,
}

/// What changes. A packet is named by the entry that queued it; a serial is the number of a request without the wrap at
/// 65,535, counted for each gateway from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A packet is to be sent.
    Queued {
        /// Where to.
        gateway: Address,
        /// As which request.
        serial: u64,
        /// The packet.
        records: Records,
    },
    /// It goes to another gateway; where that is not doubtful, one that was refused goes again.
    Moved {
        /// The packet.
        packet: u64,
        /// Where to.
        gateway: Address,
        /// As which request.
        serial: u64,
        /// The gateway before it may have it.
        doubtful: bool,
    },
    /// A doubtful packet is held apart by its second gateway.
    Copied {
        /// The packet.
        packet: u64,
    },
    /// It is known whether the first gateway had it.
    Settling {
        /// The packet.
        packet: u64,
        /// The request that tells the second one.
        serial: u64,
        /// It is to pass to billing there; else to be forgotten.
        release: bool,
    },
    /// A packet is where it belongs, or was discarded.
    Done {
        /// The packet.
        packet: u64,
    },
    /// A gateway refused it: it is kept and sent no more.
    Refused {
        /// The packet.
        packet: u64,
        /// Why ([`trunkline_wire::gtpp::cause`]).
        cause: u8,
    },
}

fields! {
    Entry { sequence, change }
}

variants! {
    Change {
        1 => Queued { gateway, serial, records }
        2 => Moved { packet, gateway, serial, doubtful }
        3 => Copied { packet }
        4 => Settling { packet, serial, release }
        5 => Done { packet }
        6 => Refused { packet, cause }
    }
}

impl Entry {
    /// The octets of an entry.
    pub fn encode(&self) -> Vec<u8> {
        codec::encode(self)
    }

    /// Reads an entry: all octets are its own. None if they are not one of this version.
    pub fn decode(octets: &[u8]) -> Option<Entry> {
        codec::decode(octets)
    }
}

impl From<Entry> for Box<[u8]> {
    fn from(entry: Entry) -> Self {
        entry.encode().into()
    }
}

impl TryFrom<Box<[u8]>> for Entry {
    type Error = &'static str;

    fn try_from(octets: Box<[u8]>) -> Result<Self, Self::Error> {
        Entry::decode(&octets).ok_or("not an entry of a sender of this version")
    }
}
