//! What the entries come to: the packets that are kept, where each is, and which numbers are taken.

use super::{Change, Entry};
use crate::gateway::Records;
use std::collections::{BTreeMap, BTreeSet};
use trunkline_wire::Address;

/// A request to a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub gateway: Address,
    pub serial: u64,
}

impl Place {
    /// The number in its header.
    pub fn number(self) -> u16 {
        self.serial as u16
    }

    pub fn key(self) -> (Address, u16) {
        (self.gateway, self.number())
    }
}

/// Where a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// On its way, to nobody else before.
    Sending(Place),
    /// The first one may have it; on its way to the second one, to be held apart there.
    Copying { origin: Place, copy: Place },
    /// The second one holds it apart; the first one is to be asked.
    Copied { origin: Place, copy: Place },
    /// The second one is to pass it to billing, or to forget it.
    Settling { copy: Place, settlement: Place, release: bool },
}

impl Phase {
    /// Requests whose numbers no other may have: those that may be answered, and that of a packet that is held apart.
    fn places(&self) -> [Option<Place>; 2] {
        match *self {
            Phase::Sending(place) => [Some(place), None],
            Phase::Copying { origin, copy } | Phase::Copied { origin, copy } => [Some(origin), Some(copy)],
            Phase::Settling { copy, settlement, .. } => [Some(copy), Some(settlement)],
        }
    }

    /// Requests that may still be sent: their gateways have to remember them.
    fn open(&self) -> [Option<Place>; 2] {
        match *self {
            Phase::Sending(place) => [Some(place), None],
            Phase::Copying { origin, copy } => [Some(origin), Some(copy)],
            Phase::Copied { origin, .. } => [Some(origin), None],
            Phase::Settling { settlement, .. } => [Some(settlement), None],
        }
    }
}

/// A packet that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Packet {
    pub records: Records,
    pub phase: Phase,
    /// The cause with which it was refused.
    pub refused: Option<u8>,
    /// The entry that says so: durable before its request leaves.
    pub after: u64,
}

/// The fold of all entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    pub(super) sequence: u64,
    pub(super) packets: BTreeMap<u64, Packet>,
    /// The serial after the last one, of each gateway.
    pub(super) next: BTreeMap<Address, u64>,
    numbers: BTreeMap<(Address, u16), u64>,
    open: BTreeSet<(Address, u64)>,
}

impl State {
    /// The newest entry.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Packets that are kept, by the entries that queued them.
    pub fn packets(&self) -> impl Iterator<Item = (u64, &Records)> {
        self.packets.iter().map(|(packet, kept)| (*packet, &kept.records))
    }

    /// How many those are.
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// Whether there is none: all that was queued is where it belongs.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Packets that a gateway refused, with the cause.
    pub fn refused(&self) -> impl Iterator<Item = (u64, u8)> {
        self.packets.iter().filter_map(|(packet, kept)| Some((*packet, kept.refused?)))
    }

    pub(super) fn packet(&self, packet: u64) -> Option<&Packet> {
        self.packets.get(&packet)
    }

    pub(super) fn ids(&self) -> Vec<u64> {
        self.packets.keys().copied().collect()
    }

    /// Gateways that packets were ever sent to.
    pub(super) fn gateways(&self) -> impl Iterator<Item = Address> {
        self.next.keys().copied()
    }

    /// Whose request has this number.
    pub(super) fn of_number(&self, gateway: Address, number: u16) -> Option<u64> {
        self.numbers.get(&(gateway, number)).copied()
    }

    /// The next request to a gateway. Numbers that are taken are left out.
    pub(super) fn place(&self, gateway: Address) -> Place {
        let mut serial = self.next.get(&gateway).copied().unwrap_or(0);
        while self.numbers.contains_key(&(gateway, serial as u16)) {
            serial += 1;
        }
        Place { gateway, serial }
    }

    /// How far the next request is from the oldest one that may still be sent.
    pub(super) fn span(&self, next: Place) -> u64 {
        let oldest = self.open.range((next.gateway, 0)..).next().filter(|(gateway, _)| *gateway == next.gateway);
        oldest.map_or(0, |(_, oldest)| next.serial.saturating_sub(*oldest))
    }

    /// Does what an entry says. One that is not the next one, or names a packet that is not there, changes nothing.
    pub fn fold(&mut self, entry: &Entry) {
        if entry.sequence != self.sequence + 1 {
            return;
        }
        self.sequence += 1;
        match &entry.change {
            Change::Queued { gateway, serial, records } => {
                let phase = Phase::Sending(Place { gateway: *gateway, serial: *serial });
                let records = records.clone();
                self.put(entry.sequence, Packet { records, phase, refused: None, after: entry.sequence });
            }
            Change::Moved { packet, gateway, serial, doubtful } => {
                let to = Place { gateway: *gateway, serial: *serial };
                if let Some(kept) = self.take(*packet) {
                    let (phase, refused) = match kept.phase {
                        Phase::Sending(origin) if *doubtful => (Phase::Copying { origin, copy: to }, kept.refused),
                        Phase::Sending(_) => (Phase::Sending(to), None),
                        other => (other, kept.refused),
                    };
                    self.put(*packet, Packet { phase, refused, after: self.sequence, ..kept });
                }
            }
            Change::Copied { packet } => self.change(*packet, |phase| match phase {
                Phase::Copying { origin, copy } => Phase::Copied { origin, copy },
                other => other,
            }),
            Change::Settling { packet, serial, release } => self.change(*packet, |phase| match phase {
                Phase::Copying { copy, .. } | Phase::Copied { copy, .. } => {
                    let settlement = Place { gateway: copy.gateway, serial: *serial };
                    Phase::Settling { copy, settlement, release: *release }
                }
                other => other,
            }),
            Change::Done { packet } => drop(self.take(*packet)),
            Change::Refused { packet, cause } => {
                if let Some(kept) = self.take(*packet) {
                    self.put(*packet, Packet { refused: Some(*cause), ..kept });
                }
            }
        }
    }

    fn change(&mut self, packet: u64, next: impl FnOnce(Phase) -> Phase) {
        if let Some(kept) = self.take(packet) {
            let phase = next(kept.phase);
            self.put(packet, Packet { phase, after: self.sequence, ..kept });
        }
    }

    pub(super) fn put(&mut self, packet: u64, kept: Packet) {
        for place in kept.phase.places().into_iter().flatten() {
            self.numbers.insert(place.key(), packet);
            let next = self.next.entry(place.gateway).or_insert(0);
            *next = (*next).max(place.serial.saturating_add(1));
        }
        let open = kept.phase.open().into_iter().flatten().filter(|_| kept.refused.is_none());
        self.open.extend(open.map(|place| (place.gateway, place.serial)));
        self.packets.insert(packet, kept);
    }

    fn take(&mut self, packet: u64) -> Option<Packet> {
        let kept = self.packets.remove(&packet)?;
        for place in kept.phase.places().into_iter().flatten() {
            self.numbers.remove(&place.key());
        }
        for place in kept.phase.open().into_iter().flatten() {
            self.open.remove(&(place.gateway, place.serial));
        }
        Some(kept)
    }
}
