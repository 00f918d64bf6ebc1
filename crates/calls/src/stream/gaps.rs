//! Where packets of a stream are missing, and when they would have come.
//!
//! A gap is noted when a packet jumps ahead, and made smaller by what comes late. It is settled when nothing is
//! expected to come late any more; then it can be laid against gaps of other streams ([`crate::tap`]). What is kept for
//! the ledger of the call is bounded: beyond [`GAPS_MAX`] the two nearest become one, which keeps counts exact and
//! makes only their times coarser.

/// Gaps kept of one stream. Beyond it the two that lie nearest to each other are joined.
pub const GAPS_MAX: usize = 48;

/// What has not come this long after its gap was seen is not expected any more.
pub const SETTLED_NS: i64 = 300_000_000;

/// Packets missing between two that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// When the packet before it came, nanoseconds since 1970.
    pub from_ns: i64,
    /// When the packet behind it came.
    pub to_ns: i64,
    /// Packets that never came.
    pub missing: u32,
    /// The first and the last number of it, the low half of the extended ones.
    first: u32,
    last: u32,
    settled: bool,
}

impl Gap {
    /// A gap of `missing` packets, for tests.
    #[doc(hidden)]
    pub fn new(from_ns: i64, to_ns: i64, missing: u32) -> Gap {
        Gap { from_ns, to_ns, missing, first: 0, last: 0, settled: true }
    }

    /// Nanoseconds from one of its packets to the next.
    pub fn step_ns(&self) -> i64 {
        self.to_ns.saturating_sub(self.from_ns).max(0) / (i64::from(self.missing) + 1)
    }

    /// How many of its packets would have come from `since_ns` on and before `until_ns`: they lie at even distances
    /// between those that came.
    pub fn within(&self, since_ns: i64, until_ns: i64) -> u64 {
        self.before(until_ns).saturating_sub(self.before(since_ns))
    }

    /// How many of its packets would have come before a time.
    fn before(&self, at_ns: i64) -> u64 {
        let length = i128::from(self.to_ns.max(self.from_ns)) - i128::from(self.from_ns);
        let passed = i128::from(at_ns) - i128::from(self.from_ns);
        let parts = i128::from(self.missing) + 1;
        match () {
            () if passed <= 0 => 0,
            () if passed > length || length == 0 => self.missing.into(),
            // The k-th of them comes at k parts of the length.
            () => u64::try_from((passed * parts - 1) / length).unwrap_or(0).min(self.missing.into()),
        }
    }
}

/// The gaps of a stream.
#[derive(Clone, Debug, Default)]
pub(super) struct Gaps {
    list: Vec<Gap>,
}

impl Gaps {
    /// The packet with the extended number `number` came at `to_ns`, the one before at `from_ns`; those between are
    /// missing. `number` is at least two above the one before, `before`.
    pub(super) fn open(&mut self, from_ns: i64, to_ns: i64, before: u64, number: u64) {
        if self.list.len() >= GAPS_MAX {
            self.join_nearest();
        }
        let missing = u32::try_from(number.saturating_sub(before + 1)).unwrap_or(u32::MAX);
        let (first, last) = (before.wrapping_add(1) as u32, number.wrapping_sub(1) as u32);
        self.list.push(Gap { from_ns, to_ns, missing, first, last, settled: false });
    }

    /// The packet with this extended number came late.
    pub(super) fn fill(&mut self, number: u64) {
        let number = number as u32;
        let Some(at) = self.list.iter().rposition(|g| (g.first..=g.last).contains(&number)) else { return };
        self.list[at].missing = self.list[at].missing.saturating_sub(1);
        if self.list[at].missing == 0 {
            self.list.remove(at);
        }
    }

    /// Gaps that nothing is expected for any more at `at_ns`, each told once; and when to ask again.
    pub(super) fn settle(&mut self, at_ns: i64) -> (Vec<Gap>, i64) {
        let (mut told, mut next_ns) = (Vec::new(), i64::MAX);
        for gap in self.list.iter_mut().rev().take_while(|g| !g.settled) {
            let due_ns = gap.to_ns.saturating_add(SETTLED_NS);
            if due_ns <= at_ns {
                gap.settled = true;
                told.push(*gap);
            } else {
                next_ns = next_ns.min(due_ns);
            }
        }
        (told, next_ns)
    }

    /// Packets missing above an extended number.
    pub(super) fn missing_above(&self, number: u64) -> u64 {
        self.list
            .iter()
            .rev()
            .take_while(|g| g.first > number as u32 && g.last != 0)
            .map(|g| u64::from(g.missing))
            .sum()
    }

    /// The sender began to number anew: nothing of what is missing comes late.
    pub(super) fn forget_numbers(&mut self) {
        self.list.iter_mut().for_each(|g| (g.first, g.last) = (1, 0));
    }

    /// All of them, by time.
    pub(super) fn list(&self) -> &[Gap] {
        &self.list
    }

    fn join_nearest(&mut self) {
        let span = |pair: &[Gap]| pair[1].to_ns.saturating_sub(pair[0].from_ns);
        let pairs = self.list.windows(2).enumerate().filter(|(_, pair)| pair[1].settled);
        let at = pairs.min_by_key(|(_, pair)| span(pair)).map_or(0, |(at, _)| at);
        if at + 1 < self.list.len() {
            let second = self.list.remove(at + 1);
            let first = &mut self.list[at];
            first.to_ns = second.to_ns.max(first.to_ns);
            first.last = second.last;
            first.missing = first.missing.saturating_add(second.missing);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_lie_evenly_between_those_that_came() {
        let gap = Gap::new(100, 150, 4);
        assert_eq!([100, 110, 111, 140, 141, 150, 1000].map(|at| gap.before(at)), [0, 0, 1, 3, 4, 4, 4]);
        assert_eq!((gap.within(110, 131), gap.within(0, 110), gap.step_ns()), (3, 0, 10));
        assert_eq!(Gap::new(5, 5, 2).within(5, 6), 2);
        assert_eq!(Gap::new(i64::MIN, i64::MAX, u32::MAX).within(i64::MIN, i64::MAX), u64::from(u32::MAX));
    }

    #[test]
    fn what_comes_late_makes_it_smaller() {
        let mut gaps = Gaps::default();
        gaps.open(0, 80, 9, 13);
        gaps.fill(11);
        assert_eq!(gaps.list()[0].missing, 2);
        assert_eq!(gaps.settle(80).0.len(), 0);
        assert_eq!((gaps.settle(80 + SETTLED_NS).0.len(), gaps.settle(80 + SETTLED_NS).0.len()), (1, 0));
        assert_eq!((gaps.missing_above(9), gaps.missing_above(10)), (2, 0));
        gaps.fill(10);
        gaps.fill(12);
        assert!(gaps.list().is_empty());
    }

    #[test]
    fn counts_stay_exact_when_there_are_too_many() {
        let mut gaps = Gaps::default();
        for n in 0..1000 {
            let at = n * SETTLED_NS;
            gaps.open(at, at + 60, n as u64 * 10, n as u64 * 10 + 3);
            gaps.settle(at + SETTLED_NS);
        }
        assert!(gaps.list().len() <= GAPS_MAX);
        assert_eq!(gaps.list().iter().map(|g| g.missing).sum::<u32>(), 2000);
        assert!(gaps.list().windows(2).all(|g| g[0].to_ns <= g[1].from_ns));
    }
}
