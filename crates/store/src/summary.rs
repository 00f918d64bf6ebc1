//! What calls add up to: how many, how they ended, and the ratios that operators know, over time.

use crate::error::Skipped;
use crate::filter::Filter;
use crate::rollup::Minute;
use crate::stop::Stop;
use crate::time::{DAY_NS, SECOND_NS};

/// Most buckets of a summary; more are not made.
// Limit: buckets of one summary
// Beyond: the buckets are longer
// Seen in: the buckets as they are shown
pub const BUCKETS_MAX: usize = 2000;

/// Lengths of buckets up to a day, seconds; behind that days double.
const STEPS_S: [i64; 18] =
    [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400];

/// Which calls are summed up.
#[derive(Clone, Debug, PartialEq)]
pub struct SummaryQuery {
    /// Only calls that pass it.
    pub filter: Option<Filter>,
    /// Calls that start at or after this time; `i64::MIN` for the first minute with calls.
    pub from_ns: i64,
    /// Calls that start before this time; `i64::MAX` for the end of the last minute with calls.
    pub to_ns: i64,
    /// At most so many buckets; 0 for the totals alone. Cut to [`BUCKETS_MAX`].
    pub buckets: usize,
    /// When to give up: what was seen until then is told, newest first.
    pub stop: Stop,
}

impl Default for SummaryQuery {
    fn default() -> Self {
        SummaryQuery { filter: None, from_ns: i64::MIN, to_ns: i64::MAX, buckets: 120, stop: Stop::never() }
    }
}

/// What calls add up to.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Summary {
    /// The span that was asked for; where it was open, that of the calls there are.
    pub from_ns: i64,
    /// Its end.
    pub to_ns: i64,
    /// How long a bucket is: one of a few lengths, from a second to days; 0 without buckets.
    pub bucket_ns: i64,
    /// Oldest first, without gaps; each begins at a multiple of its length since 1970 (UTC), so that zooming and
    /// scrolling move no border. The first and the last count only what lies within the span.
    pub buckets: Vec<Bucket>,
    /// All calls of the span; ratios and means are methods of it.
    pub totals: Minute,
    /// Whether every call of the span was looked at.
    pub exact: bool,
    /// If not: from this time on all were, and nothing before is counted (none: nothing was).
    pub seen_from_ns: Option<i64>,
    /// Days that could not be read.
    pub skipped: Vec<Skipped>,
}

/// Calls that started in a span of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Bucket {
    /// When it begins.
    pub at_ns: i64,
    /// Calls.
    pub calls: u64,
    /// Of these, with a 2xx.
    pub answered: u64,
    /// Of these, rejected with 4xx, 5xx or 6xx: those of `state:rejected`.
    pub failed: u64,
    /// Of these, with a verdict.
    pub bad: u64,
}

impl Bucket {
    /// Adds what calls of its span add up to.
    pub fn add(&mut self, more: &Minute) {
        let add = |sum: &mut u64, more: i64| *sum = sum.saturating_add(more.max(0) as u64);
        add(&mut self.calls, more.started);
        add(&mut self.answered, more.answered);
        add(&mut self.failed, more.rejected.iter().sum());
        add(&mut self.bad, more.bad);
    }
}

/// Empty buckets over a span: their length and where they begin.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Buckets {
    /// The length of one; 0 if there are none.
    pub length_ns: i64,
    /// They, oldest first.
    pub all: Vec<Bucket>,
}

impl Buckets {
    /// The shortest that cover a span in at most so many.
    pub fn over(from_ns: i64, to_ns: i64, at_most: usize) -> Self {
        let at_most = at_most.min(BUCKETS_MAX) as i64;
        if at_most == 0 || to_ns <= from_ns {
            return Buckets::default();
        }
        let days = (1..).map(|n| DAY_NS.saturating_mul(1 << n.min(20)));
        let lengths = STEPS_S.iter().map(|s| s * SECOND_NS).chain(days.take(20));
        let number = |length: i64| {
            let (first, last) = (from_ns.div_euclid(length), (to_ns - 1).div_euclid(length));
            last.saturating_sub(first).saturating_add(1)
        };
        // The longest is the last resort: a span of 584 years is all that 64 bits can tell.
        let length_ns = lengths.clone().find(|l| number(*l) <= at_most).or(lengths.last()).unwrap_or(DAY_NS);
        let first = from_ns.div_euclid(length_ns);
        let at = |n: i64| first.saturating_add(n).saturating_mul(length_ns);
        let all = (0..number(length_ns).min(at_most)).map(|n| Bucket { at_ns: at(n), ..Bucket::default() });
        Buckets { length_ns, all: all.collect() }
    }

    /// Adds what calls that started at a time add up to.
    pub fn add(&mut self, at_ns: i64, more: &Minute) {
        let Some(first) = self.all.first().map(|b| b.at_ns).filter(|_| self.length_ns > 0) else { return };
        let number = usize::try_from(at_ns.saturating_sub(first).div_euclid(self.length_ns));
        if let Some(bucket) = number.ok().and_then(|n| self.all.get_mut(n)) {
            bucket.add(more);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::MINUTE_NS;

    #[test]
    fn buckets_have_round_lengths_and_stay_where_they_are() {
        const AT: i64 = 1_795_132_800_000_000_000 + 12_345 * MINUTE_NS + 17;
        for (span, at_most, length_s) in [
            (60 * SECOND_NS, 120, 1),
            (3600 * SECOND_NS, 120, 60),
            (DAY_NS, 120, 900),
            (DAY_NS, 24, 7200),
            (30 * DAY_NS, 121, 21_600),
            (365 * DAY_NS, 100, 4 * 86_400),
        ] {
            let buckets = Buckets::over(AT, AT + span, at_most);
            assert_eq!(buckets.length_ns, length_s * SECOND_NS, "{span} {at_most}");
            let (first, last) = (buckets.all[0].at_ns, buckets.all[buckets.all.len() - 1].at_ns);
            assert!(first <= AT && AT < first + buckets.length_ns);
            assert!(last < AT + span && AT + span <= last + buckets.length_ns && buckets.all.len() <= at_most);
            assert!(buckets.all.iter().all(|b| b.at_ns % buckets.length_ns == 0));
        }
        assert_eq!(Buckets::over(AT, AT, 9), Buckets::default());
        assert_eq!(Buckets::over(AT, AT + 1, 0), Buckets::default());
        assert!(Buckets::over(i64::MIN, i64::MAX, 5).all.len() <= 5);
    }

    #[test]
    fn what_is_added_lies_in_its_bucket() {
        let mut buckets = Buckets::over(0, 100 * SECOND_NS, 10);
        let one = Minute { started: 1, answered: 1, bad: 1, rejected: [0, 1, 0], ..Minute::default() };
        for at in [-1, 0, 14 * SECOND_NS, 15 * SECOND_NS, 99 * SECOND_NS, 105 * SECOND_NS] {
            buckets.add(at, &one);
        }
        let calls: Vec<u64> = buckets.all.iter().map(|b| b.calls).collect();
        assert_eq!(calls, [1, 2, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(buckets.all[1], Bucket { at_ns: 10 * SECOND_NS, calls: 2, answered: 2, failed: 2, bad: 2 });
    }
}
