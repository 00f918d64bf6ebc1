//! Entries of the receiver's log.

use crate::account::{Octets, fields, variants};
use crate::gateway::{Records, codec};
use serde::{Deserialize, Serialize};
use trunkline_wire::Address;

/// One change of the state, durable before the answer that follows from it. Where it is shown as text it is its octets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Box<[u8]>", try_from = "Box<[u8]>")]
pub struct Entry {
    /// 1 for the first, then one more each.
    pub sequence: u64,
    /// What changes.
    pub change: Change,
}

/// What changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Records came.
    Stored {
        /// Who sent them.
        peer: Address,
        /// The request's number.
        number: u16,
        /// Of the request's elements.
        fingerprint: u64,
        /// Apart, as another gateway may have them, too; else they pass to billing.
        apart: bool,
        /// The packet.
        records: Records,
    },
    /// An empty packet came whose number never came before: records with that number are refused from now on.
    Tested {
        /// Who asked.
        peer: Address,
        /// The number.
        number: u16,
    },
    /// Packets that were held apart are settled.
    Settled {
        /// Whose they are.
        peer: Address,
        /// The request's number.
        number: u16,
        /// Of the request's elements.
        fingerprint: u64,
        /// They pass to billing; else they are forgotten.
        release: bool,
        /// Their numbers, all of them held.
        packets: Vec<u16>,
    },
    /// A peer's restart counter is known, or has changed: then its numbers begin anew.
    Counter {
        /// The peer.
        peer: Address,
        /// The counter.
        counter: u8,
    },
    /// The first change of a new peer, where there was no place for it: another one is forgotten, with all that was
    /// known of its numbers and what was held apart of it.
    Instead {
        /// Who is forgotten.
        forgotten: Address,
        /// What changes then.
        change: Plain,
    },
}

/// A change that is not [`Change::Instead`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plain(pub Box<Change>);

/// The number of [`Change::Instead`] in its octets.
const INSTEAD: u8 = 5;

impl Octets for Plain {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }

    // What stands within itself is read no deeper.
    fn take(from: &mut &[u8]) -> Option<Plain> {
        let plain = from.first().is_some_and(|number| *number != INSTEAD);
        plain.then(|| Change::take(from))?.map(|change| Plain(Box::new(change)))
    }
}

fields! {
    Entry { sequence, change }
}

variants! {
    Change {
        1 => Stored { peer, number, fingerprint, apart, records }
        2 => Tested { peer, number }
        3 => Settled { peer, number, fingerprint, release, packets }
        4 => Counter { peer, counter }
        5 => Instead { forgotten, change }
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
        Entry::decode(&octets).ok_or("not an entry of a charging gateway of this version")
    }
}
