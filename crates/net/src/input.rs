//! Octets that were read and not taken yet.

use crate::options::READ_OCTETS;

/// Input up to this length is copied to the front of the thread's buffer at the next turn; a longer one stays where it
/// is, and what comes is read behind it.
pub(crate) const COPIED_OCTETS_MAX: usize = 4096;
/// Octets of free room at least behind what is carried.
const ROOM_OCTETS_MIN: usize = 32 * 1024;

/// A buffer with something in its middle: taken from the front, filled at the back.
#[derive(Debug, Default)]
pub(crate) struct Input {
    octets: Vec<u8>,
    start: usize,
    end: usize,
}

impl Input {
    /// The buffer of a thread.
    pub(crate) fn of_thread() -> Input {
        Input { octets: vec![0; COPIED_OCTETS_MAX + READ_OCTETS], start: 0, end: 0 }
    }

    /// Exactly these octets.
    pub(crate) fn of(octets: &[u8]) -> Input {
        Input { octets: octets.to_vec(), start: 0, end: octets.len() }
    }

    /// What is there.
    pub(crate) fn unread(&self) -> &[u8] {
        &self.octets[self.start..self.end]
    }

    pub(crate) fn len(&self) -> usize {
        self.end - self.start
    }

    /// Takes octets from the front.
    pub(crate) fn take(&mut self, octets: usize) {
        self.start += octets.min(self.len());
        if self.start == self.end {
            self.clear();
        }
    }

    pub(crate) fn clear(&mut self) {
        (self.start, self.end) = (0, 0);
    }

    /// Free room at the back, at least 32 KiB; what was taken is moved out of the way.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        if self.start > 0 {
            self.octets.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.len());
        }
        if self.octets.len() - self.end < ROOM_OCTETS_MIN {
            self.octets.resize(self.end + READ_OCTETS, 0);
        }
        &mut self.octets[self.end..]
    }

    /// So many octets were put into [`Input::room`].
    pub(crate) fn filled(&mut self, octets: usize) {
        self.end = (self.end + octets).min(self.octets.len());
    }

    /// Puts octets at the back.
    pub(crate) fn put(&mut self, octets: &[u8]) {
        for part in octets.chunks(ROOM_OCTETS_MIN) {
            self.room()[..part.len()].copy_from_slice(part);
            self.filled(part.len());
        }
    }

    pub(crate) fn capacity(&self) -> usize {
        self.octets.capacity()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_a_queue(steps in prop::collection::vec((0usize..90_000, 0usize..90_000), 1..20)) {
            let (mut input, mut expected, mut next) = (Input::default(), Vec::new(), 0u8);
            for (put, take) in steps {
                let octets: Vec<u8> = (0..put).map(|_| { next = next.wrapping_add(37); next }).collect();
                input.put(&octets);
                expected.extend(octets);
                prop_assert_eq!(input.unread(), &expected[..]);
                input.take(take);
                expected.drain(..take.min(expected.len()));
                prop_assert_eq!(input.unread(), &expected[..]);
                prop_assert!(input.room().len() >= ROOM_OCTETS_MIN);
                prop_assert_eq!(Input::of(input.unread()).len(), expected.len());
            }
        }
    }
}
