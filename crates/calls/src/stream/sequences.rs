//! Which packets of a stream arrived: sequence numbers over wraps, copies, late ones, gaps, restarts.
//!
//! The sequence numbers are extended as RFC 3550 A.1 does. What arrived is remembered for [`WINDOW`] numbers below the
//! highest, a bit each, beside a bit for "too late to be played". A number is judged when it leaves the window: only
//! then is it sure that it is lost, and runs of lost packets are exact although packets overtake each other.

/// Sequence numbers below the highest for which it is known whether they arrived.
pub const WINDOW: u32 = 1024;

/// A jump forward of this many numbers or more is suspect (RFC 3550 A.1), unless just the time passed in which the
/// packets between are sent. A shorter one is, too, where no such time passed.
pub const DROPOUT_MAX: u16 = 3000;

/// A packet that is this many numbers behind and old by its timestamp as well is suspect (RFC 3550 A.1).
pub const MISORDER_MAX: u16 = 100;

/// How a packet stands to those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// Next in sequence.
    Next,
    /// After a gap, by so many numbers.
    Ahead(u32),
    /// After a higher number, for the first time.
    Reordered,
    /// A number that arrived before: a copy, whatever the packet carries.
    Copy,
    /// Far from all others: counted as arrived, but neither as expected nor as distinct, until the next one shows
    /// that the sender restarted.
    Stray,
    /// The second in sequence after a jump: the sender restarted, and the counts go on from here.
    Restart,
}

impl Arrival {
    /// By how many numbers the sender counted on since the packet before, if that is known.
    #[inline]
    pub(super) fn numbers(self) -> Option<u32> {
        match self {
            Arrival::Next => Some(1),
            Arrival::Ahead(by) => Some(by),
            // The packet between was a stray then.
            Arrival::Restart => Some(2),
            _ => None,
        }
    }
}

/// What time says of a number that is not the next.
pub(super) trait Clocked {
    /// Asked about a number so far ahead of the highest or, below zero, behind it: whether time speaks against counting
    /// from it, since nothing can be missing, or nothing can be that late.
    fn doubts(&self, by: i32) -> bool;

    /// How many numbers ahead it is, if just the time passed in which so many are sent; `ahead` without wraps.
    fn counts(&self, ahead: u16) -> Option<u32>;
}

#[derive(Clone, Copy, Debug, Default)]
struct Word {
    arrived: u64,
    late: u64,
}

#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Sequences {
    /// Highest extended number.
    highest: u64,
    /// Lowest extended number since the last restart.
    lowest: u64,
    pub(super) distinct: u64,
    /// The number that would show a restart.
    suspect: Option<u16>,
    pub(super) restarts: u32,
    judge: Judge,
    pub(super) copies: u64,
    pub(super) reordered: u64,
    pub(super) strays: u64,
    pub(super) late: u64,
    expected_before: u64,
    window: [Word; WINDOW as usize / 64],
}

/// Runs of lost packets among those that were judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Judge {
    /// Numbers in a row that never arrived.
    run: u32,
    /// Whether the last one was lost or late.
    bad: bool,
    /// Runs of 1 to 9 numbers that never arrived, and longer ones.
    pub(super) runs: [u32; 10],
    /// Runs of numbers that never arrived or came too late.
    pub(super) bursts: u32,
    /// Numbers that never arrived or came too late.
    pub(super) lost: u32,
}

impl Judge {
    fn number(&mut self, arrived: bool, late: bool) {
        if arrived {
            self.end_run();
        } else {
            self.run = self.run.saturating_add(1);
        }
        let bad = !arrived || late;
        self.bursts = self.bursts.saturating_add(u32::from(bad && !self.bad));
        self.lost = self.lost.saturating_add(u32::from(bad));
        self.bad = bad;
    }

    fn end_run(&mut self) {
        if self.run > 0 {
            self.runs[(self.run as usize).min(10) - 1] += 1;
            self.run = 0;
        }
    }

    fn missing(&mut self, numbers: u64) {
        if numbers > 0 {
            self.number(false, false);
            let others = u32::try_from(numbers - 1).unwrap_or(u32::MAX);
            self.run = self.run.saturating_add(others);
            self.lost = self.lost.saturating_add(others);
        }
    }
}

impl Sequences {
    pub(super) fn new(first: u16) -> Sequences {
        // One cycle up, so that numbers before the first have room.
        let first = (1 << 16) + u64::from(first);
        Sequences {
            highest: first - 1,
            lowest: first,
            distinct: 0,
            copies: 0,
            reordered: 0,
            strays: 0,
            restarts: 0,
            late: 0,
            judge: Judge::default(),
            suspect: None,
            expected_before: 0,
            window: [Word::default(); WINDOW as usize / 64],
        }
    }

    /// Takes a packet's number.
    #[inline]
    pub(super) fn arrive(&mut self, sequence: u16, clocked: &impl Clocked) -> Arrival {
        if sequence.wrapping_sub(self.highest as u16) != 1 {
            return self.out_of_sequence(sequence, clocked);
        }
        self.highest += 1;
        let (word, bit) = place(self.highest);
        let before = self.window[word];
        let judged = before.arrived & bit == 0 || before.late & bit != 0 || self.judge.bad;
        if judged && self.highest - self.lowest >= u64::from(WINDOW) {
            self.judge.number(before.arrived & bit != 0, before.late & bit != 0);
        }
        self.window[word].arrived |= bit;
        self.window[word].late &= !bit;
        self.distinct += 1;
        self.suspect = None;
        Arrival::Next
    }

    /// Notes that the packet with this number, which is in the window, came too late to be played.
    #[cold]
    pub(super) fn mark_late(&mut self, sequence: u16) {
        let behind = (self.highest as u16).wrapping_sub(sequence);
        if u32::from(behind) < WINDOW {
            let (word, bit) = place(self.highest.wrapping_sub(u64::from(behind)));
            self.late += u64::from(self.window[word].late & bit == 0);
            self.window[word].late |= bit;
        }
    }

    /// Highest less lowest number and one, added up over restarts.
    pub(super) fn expected(&self) -> u64 {
        self.expected_before + (self.highest + 1 - self.lowest)
    }

    /// Numbers that never arrived.
    pub(super) fn missing(&self) -> u64 {
        self.expected().saturating_sub(self.distinct)
    }

    /// The highest number, extended.
    pub(super) fn highest(&self) -> u64 {
        self.highest
    }

    /// Runs of all numbers so far.
    pub(super) fn judged(&self) -> Judge {
        let mut judge = self.judge;
        self.judge_range(&mut judge, self.highest.saturating_sub(u64::from(WINDOW) - 1));
        judge.end_run();
        judge
    }

    /// Runs of the numbers above `after`, or of as many as the window holds; and how many numbers that are.
    pub(super) fn judged_after(&self, after: u64) -> (Judge, u64) {
        let from = (after + 1).max(self.highest.saturating_sub(u64::from(WINDOW) - 1)).max(self.lowest);
        let mut judge = Judge::default();
        self.judge_range(&mut judge, from);
        (judge, (self.highest + 1).saturating_sub(from))
    }

    fn judge_range(&self, judge: &mut Judge, from: u64) {
        for number in from.max(self.lowest)..=self.highest {
            let (word, bit) = place(number);
            judge.number(self.window[word].arrived & bit != 0, self.window[word].late & bit != 0);
        }
    }

    #[cold]
    fn out_of_sequence(&mut self, sequence: u16, clocked: &impl Clocked) -> Arrival {
        let ahead = sequence.wrapping_sub(self.highest as u16);
        let behind = ahead.wrapping_neg();
        if let Some(ahead) = clocked.counts(ahead) {
            return self.ahead(ahead);
        }
        if ahead > 0 && ahead < DROPOUT_MAX {
            return if clocked.doubts(ahead.into()) { self.stray(sequence) } else { self.ahead(ahead.into()) };
        }
        let near = u32::from(behind) < WINDOW && u64::from(behind) < self.highest;
        if near && (behind <= MISORDER_MAX || !clocked.doubts(-i32::from(behind))) {
            return self.behind(u64::from(behind));
        }
        self.stray(sequence)
    }

    fn ahead(&mut self, ahead: u32) -> Arrival {
        self.skip(ahead.into());
        self.distinct += 1;
        self.suspect = None;
        Arrival::Ahead(ahead)
    }

    fn stray(&mut self, sequence: u16) -> Arrival {
        if self.suspect == Some(sequence) {
            self.restart(sequence);
            return Arrival::Restart;
        }
        self.suspect = Some(sequence.wrapping_add(1));
        self.strays += 1;
        Arrival::Stray
    }

    fn skip(&mut self, ahead: u64) {
        // Every number from here to the window's length above leaves the window.
        for number in self.highest + 1..=self.highest + ahead.min(u64::from(WINDOW)) {
            let (word, bit) = place(number);
            let before = self.window[word];
            if number >= self.lowest + u64::from(WINDOW) {
                self.judge.number(before.arrived & bit != 0, before.late & bit != 0);
            }
            self.window[word].arrived &= !bit;
            self.window[word].late &= !bit;
        }
        // Those that were never in it are missing.
        self.judge.missing(ahead.saturating_sub(u64::from(WINDOW)));
        self.highest += ahead;
        let (word, bit) = place(self.highest);
        self.window[word].arrived |= bit;
    }

    fn behind(&mut self, behind: u64) -> Arrival {
        let number = self.highest - behind;
        let (word, bit) = place(number);
        if number >= self.lowest && self.window[word].arrived & bit != 0 {
            self.copies += 1;
            return Arrival::Copy;
        }
        self.lowest = self.lowest.min(number);
        self.window[word].arrived |= bit;
        self.distinct += 1;
        self.reordered += 1;
        self.suspect = None;
        Arrival::Reordered
    }

    fn restart(&mut self, sequence: u16) {
        self.judge = self.judged();
        self.judge.bad = false;
        self.expected_before += self.highest + 1 - self.lowest;
        self.restarts = self.restarts.saturating_add(1);
        // The stray before was the first of the new run.
        self.strays = self.strays.saturating_sub(1);
        self.suspect = None;
        self.window = [Word::default(); WINDOW as usize / 64];
        self.highest = (1 << 16) + u64::from(sequence);
        self.lowest = self.highest - 1;
        for number in [self.lowest, self.highest] {
            let (word, bit) = place(number);
            self.window[word].arrived |= bit;
        }
        self.distinct += 2;
    }
}

#[inline]
fn place(number: u64) -> (usize, u64) {
    let at = number as usize % WINDOW as usize;
    (at / 64, 1 << (at % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Doubts what is behind, or all; and so many numbers passed since the packet before, if that is known.
    struct Told(bool, Option<u32>);

    impl Clocked for Told {
        fn doubts(&self, by: i32) -> bool {
            self.0 || by < 0
        }

        fn counts(&self, ahead: u16) -> Option<u32> {
            self.1.filter(|numbers| *numbers as u16 == ahead)
        }
    }

    fn feed(numbers: &[u16]) -> Sequences {
        let mut s = Sequences::new(numbers[0]);
        for &n in numbers {
            s.arrive(n, &Told(false, None));
        }
        s
    }

    #[test]
    fn a_long_gap_is_one_where_its_time_passed() {
        for (number, passed, missing) in [(7001, 7000, 6999), (65_000, 64_999, 64_998), (51, 131_122, 131_121)] {
            let mut s = feed(&[0, 1]);
            assert_eq!(s.arrive(number, &Told(false, Some(passed))), Arrival::Ahead(passed));
            let judged = s.judged();
            assert_eq!((s.missing(), s.restarts, judged.bursts, judged.runs[9]), (missing, 0, 1, 1));
            assert_eq!(s.arrive(number + 1, &Told(true, None)), Arrival::Next);
        }
    }

    #[test]
    fn counts_over_the_wrap() {
        let s = feed(&[65_533, 65_535, 65_534, 65_534, 0, 3]);
        assert_eq!((s.expected(), s.distinct, s.missing()), (7, 5, 2));
        assert_eq!((s.copies, s.reordered), (1, 1));
        assert_eq!(s.judged().runs[..3], [0, 1, 0]);
    }

    #[test]
    fn a_number_before_the_first_counts() {
        let s = feed(&[0, 65_534, 1]);
        assert_eq!((s.expected(), s.missing(), s.reordered), (4, 1, 1));
        let s = feed(&[5, 4, 4, 6]);
        assert_eq!((s.expected(), s.missing(), s.reordered, s.copies), (3, 0, 1, 1));
    }

    #[test]
    fn a_jump_is_a_restart_only_with_a_second_in_sequence() {
        let s = feed(&[10, 11, 30_000, 12, 13]);
        assert_eq!((s.expected(), s.strays, s.restarts, s.missing()), (4, 1, 0, 0));
        let s = feed(&[10, 11, 30_000, 30_001, 30_003]);
        assert_eq!((s.expected(), s.strays, s.restarts, s.missing()), (6, 0, 1, 1));
    }

    #[test]
    fn a_short_jump_without_time_is_a_restart_too() {
        let mut s = Sequences::new(100);
        let told: Vec<_> =
            [100u16, 101, 801, 802, 803, 102, 103].iter().map(|n| s.arrive(*n, &Told(true, None))).collect();
        assert_eq!(told[2..5], [Arrival::Stray, Arrival::Restart, Arrival::Next]);
        assert_eq!(told[5..], [Arrival::Stray, Arrival::Restart]);
        assert_eq!((s.expected(), s.distinct, s.missing(), s.restarts, s.strays), (7, 7, 0, 2, 0));
    }

    #[test]
    fn runs_longer_than_the_window() {
        let mut numbers: Vec<u16> = (0..2000).collect();
        numbers.extend(4500..7000);
        let s = feed(&numbers);
        let judged = s.judged();
        assert_eq!((s.missing(), judged.lost, judged.bursts, judged.runs[9]), (2500, 2500, 1, 1));
    }

    #[test]
    fn late_ones_are_lost_but_arrived() {
        let mut s = feed(&[1, 2, 3, 4, 5, 7]);
        s.mark_late(5);
        s.mark_late(2);
        let judged = s.judged();
        assert_eq!((judged.lost, judged.bursts, judged.runs[0], s.late), (3, 2, 1, 2));
        let (after, numbers) = s.judged_after((1 << 16) + 3);
        assert_eq!((after.lost, after.bursts, numbers), (2, 1, 4));
    }
}
