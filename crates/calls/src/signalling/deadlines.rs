//! When what is to be closed: a queue whose far end costs nothing to keep.
//!
//! A heap of all deadlines lies all over the memory, and each step down in it waits for another part. So only those of
//! the next moments are in a heap; all others lie in lists, one for each moment, unsorted until its time has come.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// How long a moment is: some hundred deadlines at a thousand calls a second.
const MOMENT_NS: i64 = 250_000_000;

/// Deadline, what breaks ties, and whose it is.
type Entry<K> = (i64, u64, K);

/// A queue of deadlines, the nearest first, ties in the order of their numbers.
#[derive(Debug)]
pub struct Deadlines<K> {
    near: BinaryHeap<Reverse<Entry<K>>>,
    /// All deadlines before this are in `near`, all others in `far`.
    near_until_ns: i64,
    far: BTreeMap<i64, Vec<Entry<K>>>,
}

impl<K: Ord> Default for Deadlines<K> {
    fn default() -> Self {
        Deadlines { near: BinaryHeap::new(), near_until_ns: i64::MIN, far: BTreeMap::new() }
    }
}

impl<K: Ord> Deadlines<K> {
    /// Puts one in.
    pub fn push(&mut self, at_ns: i64, tie: u64, key: K) {
        if at_ns < self.near_until_ns {
            self.near.push(Reverse((at_ns, tie, key)));
        } else {
            self.far.entry(at_ns.div_euclid(MOMENT_NS)).or_default().push((at_ns, tie, key));
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
            let first = self.far.first_entry()?;
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
