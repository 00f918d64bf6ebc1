//! What a node answers, over time: how often, how, and how long it took.
//!
//! Threads count into a [`Traffic`] each; once a second the sum of all is taken into [`Series`], which keep the last
//! quarter of an hour by the second and the last day by the minute.

use core::time::Duration;
use std::collections::VecDeque;

/// Types of requests that are told apart: initial, update, termination, event.
pub const KINDS: usize = 4;
/// Results that are told apart: granted, refused for the subscriber's sake, too busy, failed.
pub const RESULTS: usize = 4;
/// Seconds that are kept.
pub const SECONDS_MAX: usize = 900;
/// Minutes that are kept.
pub const MINUTES_MAX: usize = 1440;
/// Buckets of latencies to each doubling: a quantile is at most a fifth too high.
const STEPS: u32 = 4;
/// Buckets: up to a minute or so, in microseconds.
const BUCKETS: usize = 26 * STEPS as usize;
const MINUTE: i64 = 60;

/// Counts since the beginning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// Answers by type of request and result.
    pub answered: [[u64; RESULTS]; KINDS],
    /// Of these, answers to copies.
    pub copies: u64,
    latencies: [u64; BUCKETS],
}

impl Default for Traffic {
    fn default() -> Self {
        Traffic { answered: Default::default(), copies: 0, latencies: [0; BUCKETS] }
    }
}

impl Traffic {
    /// An answer left so long after its request came.
    pub fn left(&mut self, after: Duration) {
        self.latencies[bucket(after)] += 1;
    }

    /// Adds another thread's.
    pub fn add(&mut self, other: &Traffic) {
        let mine = self.answered.iter_mut().flatten().chain(&mut self.latencies);
        let theirs = other.answered.iter().flatten().chain(&other.latencies);
        mine.zip(theirs).for_each(|(mine, theirs)| *mine += theirs);
        self.copies += other.copies;
    }

    /// What came since `before`.
    fn since(&self, before: &Traffic) -> Traffic {
        let mut more = self.clone();
        let mine = more.answered.iter_mut().flatten().chain(&mut more.latencies);
        let theirs = before.answered.iter().flatten().chain(&before.latencies);
        mine.zip(theirs).for_each(|(mine, theirs)| *mine = mine.saturating_sub(*theirs));
        more.copies = more.copies.saturating_sub(before.copies);
        more
    }

    /// The latency that this part of all (0 to 1) does not exceed, microseconds; none where none left.
    pub fn latency_us(&self, part: f64) -> Option<u64> {
        let total: u64 = self.latencies.iter().sum();
        let rank = ((part * total as f64).ceil() as u64).clamp(1, total.max(1));
        let mut before = 0;
        let found = self.latencies.iter().position(|count| {
            before += count;
            before >= rank
        });
        found.map(highest_us)
    }
}

fn bucket(after: Duration) -> usize {
    let us = u64::try_from(after.as_micros()).unwrap_or(u64::MAX).max(1);
    let doubling = us.ilog2();
    let within = if doubling < 2 { (us << (2 - doubling)) & 3 } else { (us >> (doubling - 2)) & 3 };
    ((doubling * STEPS) as usize + within as usize).min(BUCKETS - 1)
}

/// The largest latency of a bucket, microseconds.
fn highest_us(bucket: usize) -> u64 {
    let (doubling, within) = (bucket as u32 / STEPS, bucket as u64 % u64::from(STEPS));
    ((((within + 5) << doubling) + 3) >> 2) - 1
}

/// A second or a minute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Point {
    /// When it ended, seconds since 1970.
    pub at: i64,
    /// Seconds that it is of.
    pub seconds: u32,
    /// Answers in it by type of request and result.
    pub answered: [[u64; RESULTS]; KINDS],
    /// Of these, answers to copies.
    pub copies: u64,
    /// The latency that half of the answers did not exceed, microseconds.
    pub p50_us: Option<u64>,
    /// The same of 99 in 100.
    pub p99_us: Option<u64>,
    /// Sessions that were open at its end.
    pub sessions: u64,
    /// How far the disk was behind at its end, percent of what may wait.
    pub behind: u32,
}

/// The last of both.
#[derive(Clone, Debug, Default)]
pub struct Series {
    seconds: VecDeque<Point>,
    minutes: VecDeque<Point>,
    last: Option<(i64, Traffic)>,
    minute: Option<(i64, Traffic)>,
}

impl Series {
    /// The counts as they stand at a second; at most one point comes of each. A clock that was put back begins anew
    /// from there.
    pub fn take(&mut self, at: i64, now: &Traffic, sessions: u64, behind: u32) {
        let level = Point { sessions, behind, ..Point::default() };
        put(&mut self.seconds, SECONDS_MAX, &mut self.last, (at, now), level, 1);
        put(&mut self.minutes, MINUTES_MAX, &mut self.minute, (at, now), level, MINUTE);
    }

    /// The seconds, oldest first; one in which nobody looked is part of the next.
    pub fn seconds(&self) -> impl Iterator<Item = &Point> {
        self.seconds.iter()
    }

    /// The minutes, oldest first.
    pub fn minutes(&self) -> impl Iterator<Item = &Point> {
        self.minutes.iter()
    }
}

fn put(
    points: &mut VecDeque<Point>,
    most: usize,
    last: &mut Option<(i64, Traffic)>,
    (at, now): (i64, &Traffic),
    level: Point,
    each: i64,
) {
    // What was counted before the first look is part of the first point.
    let (before, counts) = last.get_or_insert_with(|| (at, Traffic::default()));
    if at < *before {
        *last = Some((at, now.clone()));
        return;
    }
    // A minute ends where the clock says so, the first one is as long as it is.
    if at.div_euclid(each) == before.div_euclid(each) {
        return;
    }
    let (more, seconds) = (now.since(counts), u32::try_from(at - *before).unwrap_or(u32::MAX));
    if points.len() >= most {
        points.pop_front();
    }
    let (p50_us, p99_us) = (more.latency_us(0.5), more.latency_us(0.99));
    points.push_back(Point { at, seconds, answered: more.answered, copies: more.copies, p50_us, p99_us, ..level });
    *last = Some((at, now.clone()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_have_buckets_that_are_near() {
        for us in [1u64, 2, 3, 5, 7, 8, 100, 999, 1000, 4096, 5_000_000, 60_000_000] {
            let high = highest_us(bucket(Duration::from_micros(us)));
            assert!(high >= us && high - us <= us / 4, "{us}: {high}");
        }
        assert!(bucket(Duration::MAX) < BUCKETS && bucket(Duration::ZERO) == 0);
    }

    #[test]
    fn seconds_and_minutes_are_differences_and_bounded() {
        let (mut series, mut now) = (Series::default(), Traffic::default());
        for second in 0..4000i64 {
            now.answered[1][0] += 10;
            now.answered[0][1] += 1;
            now.left(Duration::from_micros(if second % 100 == 0 { 9000 } else { 200 }));
            series.take(1_000_000 + second, &now, second as u64, 3);
            // A second look in the same second changes nothing.
            series.take(1_000_000 + second, &now, second as u64, 3);
        }
        let seconds: Vec<_> = series.seconds().collect();
        assert_eq!((seconds.len(), seconds[5].answered[1][0], seconds[5].answered[0][1]), (SECONDS_MAX, 10, 1));
        assert_eq!(seconds[899].at, 1_003_999);
        let minutes: Vec<_> = series.minutes().collect();
        assert_eq!((minutes[3].seconds, minutes[3].answered[1][0], minutes[3].at % 60), (60, 600, 0));
        assert!(minutes[3].p50_us.is_some_and(|us| (200..250).contains(&us)) && minutes.len() == 67);
        assert!(minutes.iter().any(|minute| minute.p99_us.is_some_and(|us| us >= 9000)));
    }

    #[test]
    fn a_clock_that_is_put_back_begins_anew() {
        let (mut series, mut now) = (Series::default(), Traffic::default());
        series.take(1000, &now, 0, 0);
        now.copies += 5;
        series.take(900, &now, 0, 0);
        now.copies += 7;
        series.take(901, &now, 0, 0);
        let told: Vec<_> = series.seconds().map(|point| (point.at, point.copies)).collect();
        assert_eq!(told, [(901, 7)]);
    }

    #[test]
    fn threads_are_added_up() {
        let (mut one, mut other) = (Traffic::default(), Traffic::default());
        one.answered[2][3] = 4;
        other.answered[2][3] = 5;
        other.left(Duration::from_millis(2));
        one.add(&other);
        assert_eq!((one.answered[2][3], one.latency_us(1.0).is_some()), (9, true));
        assert_eq!(Traffic::default().latency_us(0.5), None);
    }
}
