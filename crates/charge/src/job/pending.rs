//! Answers of a connection that wait for the disk.

use core::time::Duration;
use std::collections::VecDeque;

/// Octets that answers of all connections hold; with so many, requests are answered 3004.
// Limit: memory of answers waiting for the disk
// Beyond: requests are answered 3004 (too busy)
// Seen in: `trunkline_charge_pending_full_total`
pub const HELD_OCTETS_MAX: usize = 256 << 20;

/// In the order in which they leave.
#[derive(Debug, Default)]
pub(super) struct Pending {
    octets: Vec<u8>,
    /// Octets that have left already, from the front.
    left: usize,
    /// The entry that each waits for, where it ends, and when its request came.
    ends: VecDeque<(u64, usize, Duration)>,
}

impl Pending {
    /// Where an answer is appended, which then is [`Pending::put`].
    pub fn octets(&mut self) -> &mut Vec<u8> {
        &mut self.octets
    }

    /// What was appended leaves after that entry is durable; its request came then. Whether there was anything.
    pub fn put(&mut self, after: u64, came: Duration) -> bool {
        let before = self.ends.back().map_or(self.left, |(_, end, _)| *end);
        let end = self.octets.len();
        if end > before {
            self.ends.push_back((after, end, came));
        }
        end > before
    }

    /// The entry that the first of them waits for.
    pub fn first(&self) -> Option<u64> {
        self.ends.front().map(|(after, ..)| *after)
    }

    /// The entry that the last of them waits for.
    pub fn last(&self) -> Option<u64> {
        self.ends.back().map(|(after, ..)| *after)
    }

    /// Octets of memory that it has.
    pub fn held(&self) -> usize {
        self.octets.capacity()
    }

    /// Octets that wait.
    pub fn len(&self) -> usize {
        self.octets.len() - self.left
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The answers that may leave now, at most so many octets; of one that does not fit a part leaves. `leaves` is
    /// told when the request of each came. Whether some stay for want of room.
    pub fn take(
        &mut self,
        durable: u64,
        room: usize,
        mut leaves: impl FnMut(Duration),
        say: impl FnOnce(&[u8]),
    ) -> bool {
        let (mut end, mut full) = (self.left, false);
        while let Some((after, until, came)) = self.ends.front().copied() {
            if after > durable {
                break;
            }
            if until - self.left > room {
                (end, full) = (self.left + room, true);
                break;
            }
            end = until;
            leaves(came);
            self.ends.pop_front();
        }
        say(&self.octets[self.left..end]);
        self.left = end;
        if self.ends.is_empty() {
            // An idle connection holds nothing.
            *self = Pending::default();
        } else if self.left > self.octets.len() / 2 {
            self.forget();
        }
        full
    }

    fn forget(&mut self) {
        self.octets.drain(..self.left);
        self.ends.iter_mut().for_each(|(_, end, _)| *end -= self.left);
        self.left = 0;
    }
}

/// What answers that wait hold together, of all connections of a thread.
#[derive(Debug)]
pub(super) struct Held {
    octets: usize,
    most: usize,
}

impl Held {
    /// An equal part for each of so many threads.
    pub fn new(threads: usize) -> Held {
        Held { octets: 0, most: HELD_OCTETS_MAX / threads.max(1) }
    }

    /// A connection held `before`, and holds `now`.
    pub fn change(&mut self, before: usize, now: usize) {
        self.octets = (self.octets + now).saturating_sub(before);
    }

    /// Whether requests have to come again later.
    pub fn is_full(&self) -> bool {
        self.octets >= self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(pending: &mut Pending, durable: u64, room: usize) -> (String, bool) {
        let mut said = String::new();
        let full = pending.take(durable, room, |_| {}, |octets| said.push_str(core::str::from_utf8(octets).unwrap()));
        (said, full)
    }

    #[test]
    fn what_all_hold_is_bounded() {
        let (mut held, mut one) = (Held::new(2), Pending::default());
        held.change(0, HELD_OCTETS_MAX / 2 - 1);
        assert!(!held.is_full());
        one.octets().push(b'a');
        held.change(0, one.held());
        assert!(held.is_full());
        let before = one.held();
        one.put(1, Duration::ZERO);
        one.take(1, usize::MAX, |_| {}, |_| {});
        held.change(before, one.held());
        assert!(!held.is_full());
        held.change(HELD_OCTETS_MAX / 2 - 1, 0);
        assert_eq!(held.octets, 0);
    }

    #[test]
    fn answers_leave_in_order_when_they_are_durable() {
        let mut pending = Pending::default();
        for (text, after) in [("aa", 1), ("bbb", 3), ("c", 2), ("dd", 4)] {
            pending.octets().extend_from_slice(text.as_bytes());
            assert!(pending.put(after, Duration::ZERO));
        }
        assert!(!pending.put(9, Duration::ZERO));
        assert_eq!(taken(&mut pending, 2, 100), ("aa".to_owned(), false));
        assert_eq!(taken(&mut pending, 3, 2), ("bb".to_owned(), true));
        assert_eq!((taken(&mut pending, 3, 2), pending.len()), (("bc".to_owned(), false), 2));
        pending.octets().extend_from_slice(b"e");
        assert!(pending.put(5, Duration::from_secs(7)));
        let mut came = Vec::new();
        pending.take(9, 100, |at| came.push(at.as_secs()), |octets| assert_eq!(octets, b"dde"));
        assert_eq!(came, [0, 7]);
        assert!(pending.is_empty());
        assert_eq!(pending.octets().len(), 0);
    }
}
