//! Octets on their way out, which the peer has not taken.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::sync::Arc;

use crate::pages::{Pages, Room};
use crate::service::Cause;

/// Octets of a room. A connection that is stuck holds one at least.
pub(crate) const ROOM_OCTETS: usize = 16 * 1024;
/// Rooms that keep their memory when they are given back: what some connections that are stuck now and then need.
pub(crate) const WARM_ROOMS_MAX: usize = 64;
/// Pieces handed to the system at once.
const PIECES_MAX: usize = 64;

/// A queue of octets in rooms; each room but the last one is full.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    rooms: VecDeque<Room>,
    /// Octets of the first room that are gone.
    start: usize,
    /// Octets from the beginning of the first room on, with those that are gone.
    end: usize,
}

impl Pending {
    /// Puts octets at the back.
    ///
    /// # Errors
    /// There is no room.
    pub(crate) fn put(&mut self, mut octets: &[u8], pages: &Arc<Pages>) -> Result<(), Cause> {
        while !octets.is_empty() {
            let filled = self.end % pages.room_octets();
            if filled == 0 {
                self.rooms.push_back(pages.take().ok_or(Cause::Memory)?);
            }
            let Some(room) = self.rooms.back_mut() else { return Err(Cause::Memory) };
            let fits = octets.len().min(room.len() - filled);
            room[filled..filled + fits].copy_from_slice(&octets[..fits]);
            self.end += fits;
            octets = &octets[fits..];
        }
        Ok(())
    }

    /// What is to be sent next, in order, or the beginning of it.
    pub(crate) fn pieces(&self) -> Vec<IoSlice<'_>> {
        let (mut start, mut left) = (self.start, self.end);
        let mut pieces = Vec::with_capacity(self.rooms.len().min(PIECES_MAX));
        for room in self.rooms.iter().take(PIECES_MAX) {
            pieces.push(IoSlice::new(&room[start..left.min(room.len())]));
            (start, left) = (0, left.saturating_sub(room.len()));
        }
        pieces
    }

    /// So many octets are gone; rooms that are through are given back.
    pub(crate) fn take(&mut self, octets: usize) {
        self.start = (self.start + octets).min(self.end);
        while let Some(room_octets) = self.rooms.front().map(|room| room.len()) {
            if self.start < room_octets && self.start < self.end {
                return;
            }
            self.rooms.pop_front();
            (self.start, self.end) = (self.start.saturating_sub(room_octets), self.end.saturating_sub(room_octets));
        }
    }

    /// Octets that wait.
    pub(crate) fn len(&self) -> usize {
        self.end - self.start
    }

    /// Octets of memory.
    pub(crate) fn capacity(&self) -> usize {
        self.rooms.iter().map(|room| room.len()).sum()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(pending: &Pending) -> Vec<u8> {
        pending.pieces().iter().flat_map(|piece| piece.iter().copied()).collect()
    }

    proptest! {
        #[test]
        fn it_is_a_queue(steps in prop::collection::vec((0usize..70_000, 0usize..70_000), 1..20)) {
            let pages = Pages::new(ROOM_OCTETS, 2);
            let (mut pending, mut expected, mut next) = (Pending::default(), Vec::new(), 0u8);
            for (put, take) in steps {
                let octets: Vec<u8> = (0..put).map(|_| { next = next.wrapping_add(37); next }).collect();
                pending.put(&octets, &pages).expect("room");
                expected.extend(octets);
                prop_assert_eq!(all(&pending), &expected[..]);
                pending.take(take);
                expected.drain(..take.min(expected.len()));
                prop_assert_eq!((all(&pending), pending.len()), (expected.clone(), expected.len()));
                prop_assert!(pending.capacity() <= expected.len() + 2 * ROOM_OCTETS);
                prop_assert!(!expected.is_empty() || pending.capacity() == 0);
            }
        }
    }
}
