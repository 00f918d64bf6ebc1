//! When what is to be closed: a queue whose far end costs nothing to keep.
//!
//! A heap of all deadlines lies all over the memory, and each step down in it waits for another part. So only those of
//! the next moments are in a heap; all others lie in lists, one for each while, unsorted until its time has come. A
//! while with few deadlines goes into the heap as it is, one with many moment by moment.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// How long a moment is: some hundred deadlines at a thousand calls a second.
const MOMENT_NS: i64 = 250_000_000;
/// How long a while is, so that at a call a second a list is worth its memory.
const WHILE_NS: i64 = 32 * MOMENT_NS;
/// Deadlines of a while that are few; tests see both ways to take one apart.
const FEW: usize = if cfg!(test) { 4 } else { 512 };

/// Deadline, what breaks ties, and whose it is.
type Entry<K> = (i64, u64, K);

/// A queue of deadlines, the nearest first, ties in the order of their numbers.
#[derive(Debug)]
pub struct Deadlines<K> {
    near: BinaryHeap<Reverse<Entry<K>>>,
    /// All deadlines before this are in `near`.
    near_until_ns: i64,
    /// All others before this are in `moments`, and all after that in `whiles`.
    moments_until_ns: i64,
    moments: BTreeMap<i64, Vec<Entry<K>>>,
    whiles: BTreeMap<i64, Vec<Entry<K>>>,
}

impl<K: Ord> Default for Deadlines<K> {
    fn default() -> Self {
        let until_ns = i64::MIN;
        Deadlines {
            near: BinaryHeap::new(),
            near_until_ns: until_ns,
            moments_until_ns: until_ns,
            moments: BTreeMap::new(),
            whiles: BTreeMap::new(),
        }
    }
}

impl<K: Ord> Deadlines<K> {
    /// Puts one in.
    pub fn push(&mut self, at_ns: i64, tie: u64, key: K) {
        let entry = (at_ns, tie, key);
        if at_ns < self.near_until_ns {
            self.near.push(Reverse(entry));
        } else if at_ns < self.moments_until_ns {
            self.moments.entry(at_ns.div_euclid(MOMENT_NS)).or_default().push(entry);
        } else {
            self.whiles.entry(at_ns.div_euclid(WHILE_NS)).or_default().push(entry);
        }
    }

    /// Takes the nearest out, if it is before a time.
    pub fn pop_before(&mut self, now_ns: i64) -> Option<Entry<K>> {
        self.pop_if(|at_ns| at_ns < now_ns, |_| true)
    }

    /// The same; those that do not stand any more may be left out. They are asked for when their moment has come, all
    /// of it at once.
    pub fn pop_standing(&mut self, now_ns: i64, stands: impl Fn(&Entry<K>) -> bool) -> Option<Entry<K>> {
        self.pop_if(|at_ns| at_ns < now_ns, stands)
    }

    /// Takes the nearest out, whenever it is.
    pub fn pop(&mut self) -> Option<Entry<K>> {
        self.pop_if(|_| true, |_| true)
    }

    /// `is_over` holds for all times before one for which it holds.
    fn pop_if(&mut self, is_over: impl Fn(i64) -> bool, stands: impl Fn(&Entry<K>) -> bool) -> Option<Entry<K>> {
        while self.near.is_empty() {
            if self.moments.is_empty() && !self.open_while(&is_over, &stands) {
                return None;
            }
            let Some(first) = self.moments.first_entry() else { continue };
            let begin_ns = first.key().saturating_mul(MOMENT_NS);
            if !is_over(begin_ns) {
                return None;
            }
            self.near_until_ns = begin_ns.saturating_add(MOMENT_NS);
            self.near.extend(first.remove().into_iter().filter(&stands).map(Reverse));
        }
        if !is_over(self.near.peek()?.0.0) {
            return None;
        }
        self.near.pop().map(|Reverse(entry)| entry)
    }

    /// Takes the next while apart; false if there is none whose time has come.
    fn open_while(&mut self, is_over: impl Fn(i64) -> bool, stands: impl Fn(&Entry<K>) -> bool) -> bool {
        let Some(first) = self.whiles.first_entry() else { return false };
        let begin_ns = first.key().saturating_mul(WHILE_NS);
        if !is_over(begin_ns) {
            return false;
        }
        let entries = first.remove();
        self.moments_until_ns = begin_ns.saturating_add(WHILE_NS);
        if entries.len() <= FEW {
            self.near_until_ns = self.moments_until_ns;
            self.near.extend(entries.into_iter().filter(stands).map(Reverse));
        } else {
            for entry in entries {
                self.moments.entry(entry.0.div_euclid(MOMENT_NS)).or_default().push(entry);
            }
        }
        true
    }

    /// Takes all out.
    pub fn clear(&mut self) {
        *self = Deadlines::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a heap of all of them.
        #[test]
        fn they_come_in_the_order_of_a_heap(
            steps in prop::collection::vec((0..4u8, -3_000_000_000..9_000_000_000i64), 1..400)
        ) {
            let mut all = BinaryHeap::new();
            let mut queue = Deadlines::default();
            let (mut standing, mut some) = (BinaryHeap::new(), Deadlines::default());
            for (tie, (what, ns)) in steps.into_iter().enumerate() {
                let tie = tie as u64;
                if what > 0 {
                    queue.push(ns, tie, tie as u32);
                    all.push(Reverse((ns, tie, tie as u32)));
                } else {
                    while all.peek().is_some_and(|Reverse(e)| e.0 < ns) {
                        prop_assert_eq!(queue.pop_before(ns), all.pop().map(|Reverse(e)| e));
                    }
                    prop_assert_eq!(queue.pop_before(ns), None);
                }
                // Half of them stand, in the other queue.
                let stands = |e: &Entry<u32>| e.2.is_multiple_of(2);
                if what > 0 {
                    some.push(ns, tie, tie as u32);
                    standing.extend(stands(&(ns, tie, tie as u32)).then_some(Reverse((ns, tie, tie as u32))));
                } else {
                    let mut popped = core::iter::from_fn(|| some.pop_standing(ns, stands)).filter(stands);
                    while standing.peek().is_some_and(|Reverse(e)| e.0 < ns) {
                        prop_assert_eq!(popped.next(), standing.pop().map(|Reverse(e)| e));
                    }
                    prop_assert_eq!(popped.next(), None);
                }
            }
            while let Some(Reverse(expected)) = all.pop() {
                prop_assert_eq!(queue.pop(), Some(expected));
            }
            prop_assert_eq!(queue.pop(), None);
        }
    }
}
