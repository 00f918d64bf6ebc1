//! What the entries come to: which numbers of which peer came before, and what is held apart.

use super::{Change, Entry};
use crate::gateway::Records;
use hashbrown::HashMap;
use std::collections::{BTreeMap, VecDeque};
use trunkline_wire::Address;

/// Requests of a peer that are remembered, the newest. A sender must not send one again after so many others.
pub const REMEMBERED_MAX: usize = 16_384;

/// What became of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Its records passed to billing.
    Stored,
    /// Its records are held apart.
    Apart,
    /// They were held apart, and then passed to billing.
    Released,
    /// They were held apart, and then forgotten.
    Cancelled,
    /// An empty packet asked for it, and it never came.
    Tested,
    /// It is that of a release or a cancel.
    Settlement,
}

impl Fate {
    /// Whether records had this number, and were taken.
    pub fn is_of_records(self) -> bool {
        !matches!(self, Fate::Tested | Fate::Settlement)
    }
}

/// A number that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub fate: Fate,
    /// Of the request's elements; none of an empty packet.
    pub fingerprint: Option<u64>,
    /// Which of the peer's lives it belongs to.
    pub life: u32,
    /// The entry that says so.
    pub entry: u64,
}

/// A packet that is held apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Held {
    pub fingerprint: u64,
    pub records: Records,
}

/// What is known of a peer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Peer {
    pub counter: Option<u8>,
    /// How often its counter has changed.
    pub life: u32,
    pub seen: HashMap<u16, Seen>,
    /// Numbers with their entries, the oldest first. Those whose entry is not that of `seen` came again.
    pub order: VecDeque<(u16, u64)>,
    /// By number and life.
    pub held: BTreeMap<(u16, u32), Held>,
    /// Packets of records of it that were stored or held apart.
    pub stores: u64,
    /// The newest entry that is of it.
    pub last: u64,
}

/// The fold of all entries.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    pub(super) sequence: u64,
    pub(super) peers: BTreeMap<Address, Peer>,
    pub(super) held: usize,
    pub(super) held_octets: usize,
}

impl State {
    /// The newest entry.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Packets that are held apart, and their octets.
    pub fn held(&self) -> (usize, usize) {
        (self.held, self.held_octets)
    }

    /// Peers that are known.
    pub fn peers(&self) -> usize {
        self.peers.len()
    }

    pub(super) fn peer(&self, address: &Address) -> Option<&Peer> {
        self.peers.get(address)
    }

    /// Does what an entry says; the packets that pass to billing by it, in order. An entry that is not the next one is
    /// left out.
    pub fn fold(&mut self, entry: &Entry) -> Vec<Records> {
        if entry.sequence != self.sequence + 1 {
            return Vec::new();
        }
        self.sequence += 1;
        match &entry.change {
            Change::Instead { forgotten, change } => {
                self.forget(forgotten);
                self.change(&change.0)
            }
            change => self.change(change),
        }
    }

    fn change(&mut self, change: &Change) -> Vec<Records> {
        match change {
            Change::Stored { peer, number, fingerprint, apart: true, records } => {
                self.hold(*peer, *number, *fingerprint, records);
                Vec::new()
            }
            Change::Stored { peer, number, fingerprint, records, .. } => {
                self.see(*peer, *number, Fate::Stored, Some(*fingerprint));
                vec![records.clone()]
            }
            Change::Tested { peer, number } => {
                self.see(*peer, *number, Fate::Tested, None);
                Vec::new()
            }
            Change::Settled { peer, number, fingerprint, release, packets } => {
                let passed = packets.iter().filter_map(|packet| self.settle(*peer, *packet, *release)).collect();
                self.see(*peer, *number, Fate::Settlement, Some(*fingerprint));
                passed
            }
            Change::Counter { peer, counter } => {
                let last = self.sequence;
                let peer = self.peers.entry(*peer).or_default();
                peer.life += u32::from(peer.counter.is_some_and(|before| before != *counter));
                (peer.counter, peer.last) = (Some(*counter), last);
                Vec::new()
            }
            // It is never within itself.
            Change::Instead { .. } => Vec::new(),
        }
    }

    fn see(&mut self, peer: Address, number: u16, fate: Fate, fingerprint: Option<u64>) {
        let entry = self.sequence;
        let peer = self.peers.entry(peer).or_default();
        let life = peer.life;
        // What is settled was counted when it came.
        let came = matches!(fate, Fate::Stored | Fate::Apart);
        (peer.stores, peer.last) = (peer.stores.saturating_add(u64::from(came)), entry);
        peer.see(number, Seen { fate, fingerprint, life, entry });
    }

    /// All that is known of a peer is forgotten, and what was held apart of it.
    fn forget(&mut self, address: &Address) {
        let held = self.peers.remove(address).map(|peer| peer.held).unwrap_or_default();
        held.into_values().for_each(|held| drop(self.let_go(Some(held))));
    }

    fn hold(&mut self, peer: Address, number: u16, fingerprint: u64, records: &Records) {
        self.see(peer, number, Fate::Apart, Some(fingerprint));
        let peer = self.peers.entry(peer).or_default();
        let held = Held { fingerprint, records: records.clone() };
        let before = peer.held.insert((number, peer.life), held);
        self.held += 1;
        self.held_octets += records.octets().len();
        self.let_go(before);
    }

    /// The packet, if it passes to billing.
    fn settle(&mut self, address: Address, number: u16, release: bool) -> Option<Records> {
        let peer = self.peers.get_mut(&address)?;
        let life = peer.life_of(number)?;
        let held = peer.held.remove(&(number, life));
        let fate = if release { Fate::Released } else { Fate::Cancelled };
        let fingerprint = held.as_ref().map(|held| held.fingerprint);
        // The number may have come again in a later life.
        if peer.seen.get(&number).is_none_or(|seen| seen.life == life) {
            peer.see(number, Seen { fate, fingerprint, life, entry: self.sequence });
        }
        self.let_go(held).filter(|_| release)
    }

    fn let_go(&mut self, held: Option<Held>) -> Option<Records> {
        let records = held?.records;
        self.held -= 1;
        self.held_octets -= records.octets().len();
        Some(records)
    }
}

impl Peer {
    /// What is known of a number: what is held is known for as long as it is, other numbers while they are remembered.
    pub fn find(&self, number: u16) -> Option<Seen> {
        self.seen.get(&number).copied().or_else(|| {
            let life = self.life_of(number)?;
            let held = self.held.get(&(number, life))?;
            Some(Seen { fate: Fate::Apart, fingerprint: Some(held.fingerprint), life, entry: 0 })
        })
    }

    /// Whether a packet of this number is held.
    pub fn holds(&self, number: u16) -> bool {
        self.life_of(number).is_some()
    }

    /// The newest life in which a packet of this number is held.
    fn life_of(&self, number: u16) -> Option<u32> {
        self.held.range((number, 0)..=(number, u32::MAX)).next_back().map(|((_, life), _)| *life)
    }

    fn see(&mut self, number: u16, seen: Seen) {
        self.order.push_back((number, seen.entry));
        self.seen.insert(number, seen);
        if self.order.len() > REMEMBERED_MAX {
            self.forget();
        }
    }

    fn forget(&mut self) {
        let Some((number, entry)) = self.order.pop_front() else { return };
        if self.seen.get(&number).is_some_and(|seen| seen.entry == entry) {
            self.seen.remove(&number);
        }
    }
}
