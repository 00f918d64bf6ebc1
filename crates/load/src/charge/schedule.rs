//! When sessions have to ask next.

use super::sessions::SessionKey;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Sessions by the time of their next request, in nanoseconds of the run. Almost all come in order, since all wait
/// equally long; only those that were late do not.
#[derive(Debug, Default)]
pub struct Schedule {
    in_order: VecDeque<(u64, SessionKey)>,
    others: BinaryHeap<Reverse<(u64, SessionKey)>>,
}

impl Schedule {
    /// Enters a session.
    pub fn push(&mut self, due_ns: u64, key: SessionKey) {
        if self.in_order.back().is_none_or(|(last_ns, _)| *last_ns <= due_ns) {
            self.in_order.push_back((due_ns, key));
        } else {
            self.others.push(Reverse((due_ns, key)));
        }
    }

    /// When the next one is due.
    pub fn next_ns(&self) -> Option<u64> {
        let first = self.in_order.front().map(|(due_ns, _)| *due_ns);
        let other = self.others.peek().map(|Reverse((due_ns, _))| *due_ns);
        first.into_iter().chain(other).min()
    }

    /// The next one, if it is due by then.
    pub fn pop(&mut self, now_ns: u64) -> Option<(u64, SessionKey)> {
        let due_ns = self.next_ns().filter(|due_ns| *due_ns <= now_ns)?;
        if self.in_order.front().is_some_and(|(first_ns, _)| *first_ns == due_ns) {
            return self.in_order.pop_front();
        }
        self.others.pop().map(|Reverse(entry)| entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_comes_first() {
        let mut schedule = Schedule::default();
        let key = |serial| SessionKey { place: 0, serial };
        [(10, 1), (20, 2), (15, 3), (20, 4), (5, 5)].into_iter().for_each(|(due, n)| schedule.push(due, key(n)));
        let mut order = Vec::new();
        while let Some((due_ns, key)) = schedule.pop(15) {
            order.push((due_ns, key.serial));
        }
        assert_eq!((order, schedule.next_ns()), (vec![(5, 5), (10, 1), (15, 3)], Some(20)));
        assert_eq!(schedule.pop(30).map(|(_, key)| key.serial), Some(2));
        assert_eq!(schedule.pop(30).map(|(_, key)| key.serial), Some(4));
        assert_eq!((schedule.pop(30), schedule.next_ns()), (None, None));
    }
}
