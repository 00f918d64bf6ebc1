//! The state in records, and back: a start need not read all entries.

use super::state::{Fate, Held, Peer, Seen, State};
use crate::account::{variants, words};
use crate::gateway::{NoSnapshot, Records, codec};
use trunkline_wire::Address;

/// A record of a snapshot.
enum Piece {
    /// The entry up to which it stands; the last record.
    End { sequence: u64 },
    /// A peer; what follows is its own.
    Peer { address: Address, counter: Option<u8>, life: u32 },
    /// A number that came, in order.
    Seen { number: u16, fate: Fate, fingerprint: Option<u64>, life: u32, entry: u64 },
    /// One that came again since.
    Again { number: u16, entry: u64 },
    /// How many packets of records of a peer were taken, and its newest entry.
    Known { stores: u64, last: u64 },
    /// A packet that is held apart.
    Held { number: u16, life: u32, fingerprint: u64, records: Records },
}

variants! {
    Piece {
        1 => End { sequence }
        2 => Peer { address, counter, life }
        3 => Seen { number, fate, fingerprint, life, entry }
        4 => Again { number, entry }
        5 => Held { number, life, fingerprint, records }
        6 => Known { stores, last }
    }
}

words! {
    Fate { 1 => Stored, 2 => Apart, 3 => Released, 4 => Cancelled, 5 => Tested, 6 => Settlement }
}

impl State {
    /// Shows the records of a snapshot.
    ///
    /// # Errors
    /// What `put` says against one.
    pub fn snapshot<E>(&self, mut put: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        for (address, peer) in &self.peers {
            peer.snapshot(*address, &mut |piece| put(&codec::encode(&piece)))?;
        }
        put(&codec::encode(&Piece::End { sequence: self.sequence }))
    }
}

impl Peer {
    fn snapshot<E>(&self, address: Address, put: &mut impl FnMut(Piece) -> Result<(), E>) -> Result<(), E> {
        put(Piece::Peer { address, counter: self.counter, life: self.life })?;
        put(Piece::Known { stores: self.stores, last: self.last })?;
        for (number, entry) in self.order.iter().copied() {
            put(match self.seen.get(&number).filter(|seen| seen.entry == entry) {
                Some(Seen { fate, fingerprint, life, .. }) => {
                    Piece::Seen { number, fate: *fate, fingerprint: *fingerprint, life: *life, entry }
                }
                None => Piece::Again { number, entry },
            })?;
        }
        for ((number, life), held) in &self.held {
            let (fingerprint, records) = (held.fingerprint, held.records.clone());
            put(Piece::Held { number: *number, life: *life, fingerprint, records })?;
        }
        Ok(())
    }
}

/// A state that is read record by record.
#[derive(Debug, Default)]
pub struct Restoring {
    state: State,
    at: Option<Address>,
    /// What is said of the peer itself: that stands, whatever follows from its numbers.
    known: Option<(u64, u64)>,
    ended: bool,
}

impl Restoring {
    /// Takes the next record.
    ///
    /// # Errors
    /// It is none.
    pub fn take(&mut self, record: &[u8]) -> Result<(), NoSnapshot> {
        let piece = codec::decode(record).filter(|_| !self.ended).ok_or(NoSnapshot)?;
        if matches!(piece, Piece::End { .. } | Piece::Peer { .. }) {
            self.settle();
        }
        match piece {
            Piece::End { sequence } => {
                (self.state.sequence, self.ended) = (sequence, true);
                return Ok(());
            }
            Piece::Peer { address, counter, life } => {
                self.at = Some(address);
                self.state.peers.insert(address, Peer { counter, life, ..Peer::default() });
                return Ok(());
            }
            _ => {}
        }
        let peer = self.at.and_then(|address| self.state.peers.get_mut(&address)).ok_or(NoSnapshot)?;
        match piece {
            Piece::Seen { number, fate, fingerprint, life, entry } => {
                // Snapshots of older versions do not say what is known of the peer itself.
                peer.stores += u64::from(fate.is_of_records());
                peer.last = peer.last.max(entry);
                peer.seen.insert(number, Seen { fate, fingerprint, life, entry });
                peer.order.push_back((number, entry));
            }
            Piece::Again { number, entry } => {
                peer.last = peer.last.max(entry);
                peer.order.push_back((number, entry));
            }
            Piece::Known { stores, last } => self.known = Some((stores, last)),
            Piece::Held { number, life, fingerprint, records } => {
                self.state.held += 1;
                self.state.held_octets += records.octets().len();
                peer.stores = peer.stores.max(1);
                peer.held.insert((number, life), Held { fingerprint, records });
            }
            Piece::End { .. } | Piece::Peer { .. } => {}
        }
        Ok(())
    }

    /// All of a peer was told.
    fn settle(&mut self) {
        let peer = self.at.and_then(|address| self.state.peers.get_mut(&address));
        if let (Some(peer), Some((stores, last))) = (peer, self.known.take()) {
            (peer.stores, peer.last) = (stores, last);
        }
    }

    /// What the records come to.
    ///
    /// # Errors
    /// The last one did not come.
    pub fn state(self) -> Result<State, NoSnapshot> {
        if self.ended { Ok(self.state) } else { Err(NoSnapshot) }
    }
}
