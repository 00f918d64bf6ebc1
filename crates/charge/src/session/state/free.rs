//! Slots that are free, in the order in which they are used anew.

use core::iter::once;
use core::ops::RangeInclusive;

/// Slots that are free, the next one last. Those that became free one after the other are one range: slots below a high
/// one that were never used take no memory each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Free {
    /// First and last, of which the last is used first.
    ranges: Vec<(u32, u32)>,
}

impl Free {
    /// The next one.
    pub fn last(&self) -> Option<u32> {
        self.ranges.last().map(|(_, last)| *last)
    }

    /// The ranges, the next one last.
    pub fn ranges(&self) -> impl Iterator<Item = RangeInclusive<u32>> {
        self.ranges.iter().map(|(first, last)| *first..=*last)
    }

    /// One more, which is the next one.
    pub fn push(&mut self, slot: u32) {
        self.extend(slot..=slot);
    }

    /// More, of which the last is the next one.
    pub fn extend(&mut self, slots: RangeInclusive<u32>) {
        let (first, last) = slots.into_inner();
        if first > last {
            return;
        }
        match self.ranges.last_mut() {
            Some((_, end)) if end.checked_add(1) == Some(first) => *end = last,
            _ => self.ranges.push((first, last)),
        }
    }

    /// Takes the next one.
    pub fn pop(&mut self) -> Option<u32> {
        let (first, last) = self.ranges.last_mut()?;
        let slot = *last;
        match first < last {
            true => *last -= 1,
            false => drop(self.ranges.pop()),
        }
        Some(slot)
    }

    /// A slot that is free is the next one.
    pub fn choose_next(&mut self, slot: u32) {
        let Some(at) = self.ranges.iter().rposition(|(first, last)| (*first..=*last).contains(&slot)) else { return };
        let (first, last) = self.ranges[at];
        let before = (first < slot).then(|| (first, slot - 1));
        let behind = (slot < last).then(|| (slot + 1, last));
        self.ranges.splice(at..=at, before.into_iter().chain(behind));
        // Two that have come together are one: the same slots in the same order are always the same ranges.
        if let Some([(_, end), next]) = at.checked_sub(1).and_then(|at| self.ranges.get_mut(at..at + 2))
            && end.checked_add(1) == Some(next.0)
        {
            *end = next.1;
            self.ranges.remove(at);
        }
        self.push(slot);
    }

    /// Whether these are all slots below `used` but those, which come in order.
    pub fn are_all_but(&self, used: u32, mut those: impl Iterator<Item = u32>) -> bool {
        let mut ranges = self.ranges.clone();
        ranges.sort_unstable();
        let mut next = 0;
        for (first, last) in ranges.into_iter().chain(once((used, used))) {
            let (first, last) = (u64::from(first), u64::from(last));
            // Between two ranges each slot is one of those.
            if first < next || !(next..first).all(|slot| those.next().map(u64::from) == Some(slot)) {
                return false;
            }
            next = last + 1;
        }
        next == u64::from(used) + 1 && those.next().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The same order as a list of slots has.
        #[test]
        fn they_are_used_in_the_order_of_a_list(steps in prop::collection::vec((0..4_u8, 0..40_u32), 0..200)) {
            let (mut free, mut list) = (Free::default(), Vec::new());
            for (what, slot) in steps {
                match what {
                    0 if !list.contains(&slot) => { free.push(slot); list.push(slot) }
                    1 if !list.iter().any(|other| (slot..slot + 5).contains(other)) => {
                        free.extend(slot..=slot + 4);
                        list.extend(slot..slot + 5);
                    }
                    2 => prop_assert_eq!(free.pop(), list.pop()),
                    _ => {
                        free.choose_next(slot);
                        if let Some(at) = list.iter().position(|other| *other == slot) {
                            list.remove(at);
                            list.push(slot);
                        }
                    }
                }
                prop_assert_eq!(free.last(), list.last().copied());
            }
            prop_assert!(free.ranges().flatten().eq(list.iter().copied()));
            let mut again = Free::default();
            list.iter().for_each(|slot| again.push(*slot));
            prop_assert_eq!(&again, &free);
            let used: Vec<u32> = (0..50).filter(|slot| !list.contains(slot)).collect();
            prop_assert!(free.are_all_but(50, used.iter().copied()));
            prop_assert!(used.is_empty() || !free.are_all_but(50, used[1..].iter().copied()));
            prop_assert!(!free.are_all_but(51, used.iter().copied()));
        }
    }
}
