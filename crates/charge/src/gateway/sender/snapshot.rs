//! The state in records, and back: a start need not read all entries.

use super::state::{Packet, Phase, Place, State};
use crate::account::variants;
use crate::gateway::{NoSnapshot, Records, codec};
use trunkline_wire::Address;

/// A record of a snapshot.
enum Piece {
    /// The entry up to which it stands; the last record.
    End { sequence: u64 },
    /// The serial after the last one, of a gateway.
    Next { gateway: Address, serial: u64 },
    /// A packet that is kept. `refused` is its cause; `settles` whether it is released, 1, or cancelled, 0.
    Packet {
        packet: u64,
        after: u64,
        refused: Option<u8>,
        records: Records,
        first: Stop,
        second: Option<Stop>,
        settles: u8,
    },
}

/// A request of a gateway.
type Stop = (Address, u64);

variants! {
    Piece {
        1 => End { sequence }
        2 => Next { gateway, serial }
        3 => Packet { packet, after, refused, records, first, second, settles }
    }
}

/// What `settles` says of a packet that is only sent, copied, or held apart.
const COPYING: u8 = 2;
const COPIED: u8 = 3;

fn stop(place: Place) -> Stop {
    (place.gateway, place.serial)
}

fn place((gateway, serial): Stop) -> Place {
    Place { gateway, serial }
}

fn piece(packet: u64, kept: &Packet) -> Piece {
    let (first, second, settles) = match kept.phase {
        Phase::Sending(place) => (place, None, 0),
        Phase::Copying { origin, copy } => (origin, Some(copy), COPYING),
        Phase::Copied { origin, copy } => (origin, Some(copy), COPIED),
        Phase::Settling { copy, settlement, release } => (copy, Some(settlement), u8::from(release)),
    };
    let (first, second) = (stop(first), second.map(stop));
    Piece::Packet {
        packet,
        after: kept.after,
        refused: kept.refused,
        records: kept.records.clone(),
        first,
        second,
        settles,
    }
}

fn phase(first: Stop, second: Option<Stop>, settles: u8) -> Option<Phase> {
    let first = place(first);
    let Some(second) = second.map(place) else { return Some(Phase::Sending(first)) };
    Some(match settles {
        COPYING => Phase::Copying { origin: first, copy: second },
        COPIED => Phase::Copied { origin: first, copy: second },
        0 | 1 => Phase::Settling { copy: first, settlement: second, release: settles == 1 },
        _ => return None,
    })
}

impl State {
    /// Shows the records of a snapshot.
    ///
    /// # Errors
    /// What `put` says against one.
    pub fn snapshot<E>(&self, mut put: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        for (packet, kept) in &self.packets {
            put(&codec::encode(&piece(*packet, kept)))?;
        }
        for (gateway, serial) in &self.next {
            put(&codec::encode(&Piece::Next { gateway: *gateway, serial: *serial }))?;
        }
        put(&codec::encode(&Piece::End { sequence: self.sequence }))
    }
}

/// A state that is read record by record.
#[derive(Debug, Default)]
pub struct Restoring {
    state: State,
    ended: bool,
}

impl Restoring {
    /// Takes the next record.
    ///
    /// # Errors
    /// It is none.
    pub fn take(&mut self, record: &[u8]) -> Result<(), NoSnapshot> {
        match codec::decode(record).filter(|_| !self.ended).ok_or(NoSnapshot)? {
            Piece::End { sequence } => (self.state.sequence, self.ended) = (sequence, true),
            Piece::Next { gateway, serial } => drop(self.state.next.insert(gateway, serial)),
            Piece::Packet { packet, after, refused, records, first, second, settles } => {
                let phase = phase(first, second, settles).ok_or(NoSnapshot)?;
                self.state.put(packet, Packet { records, phase, refused, after });
            }
        }
        Ok(())
    }

    /// What the records come to.
    ///
    /// # Errors
    /// The last one did not come.
    pub fn state(self) -> Result<State, NoSnapshot> {
        if self.ended { Ok(self.state) } else { Err(NoSnapshot) }
    }
}
