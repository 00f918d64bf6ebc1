//! Whether the system's clock was set while the capture runs.
//!
//! The kernel stamps packets with the system's time. Beside it runs a clock that nobody sets (CLOCK_BOOTTIME,
//! clock_gettime(2)): if the difference of both changes at once, the clock was set. Each lane asks when it has taken
//! packets; the first that sees a step numbers it, so that all lanes take off the same.

use super::{Kind, LEAP_NS, LEAPS_MAX, Leap};
use rustix::time::{ClockId, clock_gettime};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// The two clocks are read together if reading them took no longer, nanoseconds.
const TOGETHER_NS: i64 = 1_000_000;
/// How long packets of before a step may still come after it, nanoseconds.
const LATE_NS: i64 = 5_000_000_000;

/// What both clocks said together, nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// The system's time, since 1970.
    pub system_ns: i64,
    /// The time that nobody sets.
    pub steady_ns: i64,
}

impl Reading {
    /// Reads both; none if something came between.
    pub fn now() -> Option<Reading> {
        let steady = || {
            let at = clock_gettime(ClockId::Boottime);
            at.tv_sec.saturating_mul(1_000_000_000).saturating_add(at.tv_nsec)
        };
        let before_ns = steady();
        let system_ns = system_ns();
        let steady_ns = steady();
        (steady_ns - before_ns <= TOGETHER_NS).then_some(Reading { system_ns, steady_ns })
    }

    fn apart_ns(&self) -> i64 {
        self.system_ns.saturating_sub(self.steady_ns)
    }
}

/// The system's time, nanoseconds since 1970.
pub fn system_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// No reading was taken yet.
const UNKNOWN: i64 = i64::MIN;

/// The steps of the system's clock so far, for all lanes.
#[derive(Debug)]
pub struct Steps {
    /// How far the clocks were apart when it was last looked.
    apart_ns: AtomicI64,
    /// The number of the last step.
    known: AtomicU64,
    /// The last [`LEAPS_MAX`].
    leaps: Mutex<Vec<Leap>>,
}

impl Default for Steps {
    fn default() -> Self {
        Steps { apart_ns: AtomicI64::new(UNKNOWN), known: AtomicU64::new(0), leaps: Mutex::default() }
    }
}

impl Steps {
    /// Looks at the clocks.
    pub fn look(&self, read: impl Fn() -> Option<Reading>) -> Option<Reading> {
        let reading = read()?;
        let before_ns = self.apart_ns.load(Ordering::Acquire);
        if before_ns != UNKNOWN && is_near(before_ns, reading.apart_ns()) {
            // A clock that is slewed runs away slowly. Another lane may have seen a step meanwhile: its word counts.
            let (set, get) = (Ordering::AcqRel, Ordering::Relaxed);
            let _ = self.apart_ns.compare_exchange(before_ns, reading.apart_ns(), set, get);
            return Some(reading);
        }
        let mut leaps = lock(&self.leaps);
        // What was read before the lock was taken may be older than a step that is known.
        let reading = read()?;
        let (before_ns, apart_ns) = (self.apart_ns.load(Ordering::Acquire), reading.apart_ns());
        if before_ns != UNKNOWN && !is_near(before_ns, apart_ns) {
            let leap = step(leaps.last(), &reading, apart_ns.saturating_sub(before_ns));
            tracing::warn!("the system's clock {}", leap.what());
            if leaps.len() >= LEAPS_MAX {
                leaps.remove(0);
            }
            leaps.push(leap);
            self.known.store(leap.number, Ordering::Release);
        }
        self.apart_ns.store(apart_ns, Ordering::Release);
        Some(reading)
    }

    /// How many there were, and the last of them, oldest first.
    pub fn all(&self) -> (u64, Vec<Leap>) {
        let leaps = lock(&self.leaps).clone();
        (leaps.last().map_or(0, |leap| leap.number), leaps)
    }

    /// The steps after the one of this number.
    fn since(&self, known: u64) -> Vec<Leap> {
        if self.known.load(Ordering::Acquire) == known {
            return Vec::new();
        }
        lock(&self.leaps).iter().filter(|leap| leap.number > known).copied().collect()
    }
}

fn is_near(one_ns: i64, other_ns: i64) -> bool {
    one_ns.saturating_sub(other_ns).saturating_abs() < LEAP_NS
}

fn step(last: Option<&Leap>, reading: &Reading, by_ns: i64) -> Leap {
    let offset_ns = last.map_or(0, |leap| leap.offset_ns).saturating_add(by_ns);
    Leap {
        number: last.map_or(0, |leap| leap.number) + 1,
        files: None,
        before_ns: reading.system_ns.saturating_sub(by_ns),
        at_ns: reading.system_ns.saturating_sub(offset_ns),
        by_ns,
        offset_ns,
        kind: Kind::Set,
        senders: 0,
        is_sure: true,
    }
}

/// A lane's way from the times of its packets to steady time.
#[derive(Debug, Default)]
pub struct Steady {
    /// The number of the last step that it knows.
    known: u64,
    offset_ns: i64,
    /// The offset before the last step, while packets of before it may come, and until when in steady time.
    before: Option<(i64, i64)>,
    now_ns: i64,
}

impl Steady {
    /// Learns of steps that are new, and of the time; gives the new ones.
    pub fn learn(&mut self, steps: &Steps, system_ns: i64) -> Vec<Leap> {
        let new = steps.since(self.known);
        for leap in &new {
            self.known = leap.number;
            self.before = Some((self.offset_ns, leap.at_ns.saturating_add(LATE_NS)));
            self.offset_ns = leap.offset_ns;
        }
        self.now_ns = self.of_system(system_ns);
        self.before = self.before.filter(|(_, until_ns)| self.now_ns <= *until_ns);
        new
    }

    /// The steady time of the system's time now.
    pub fn of_system(&self, system_ns: i64) -> i64 {
        system_ns.saturating_sub(self.offset_ns)
    }

    /// The steady time of a packet: where it may be of before the last step, that which is nearer to now.
    #[inline]
    pub fn of(&self, at_ns: i64) -> i64 {
        let after_ns = at_ns.saturating_sub(self.offset_ns);
        let Some((offset_ns, _)) = self.before else { return after_ns };
        let before_ns = at_ns.saturating_sub(offset_ns);
        let age_ns = |ns: i64| self.now_ns.saturating_sub(ns).saturating_abs();
        if age_ns(before_ns) < age_ns(after_ns) { before_ns } else { after_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: i64 = 1_000_000_000;

    fn reading(s: i64, set_s: i64) -> Reading {
        Reading { system_ns: (1_000_000 + s + set_s) * SECOND_NS, steady_ns: s * SECOND_NS }
    }

    #[test]
    fn both_clocks_are_read_together() {
        assert!((0..100).any(|_| Reading::now().is_some_and(|r| r.system_ns > 0 && r.steady_ns > 0)));
    }

    /// Looks at clocks of which one was set forward by so much, after so many seconds; what a lane learns.
    fn look(steps: &Steps, lane: &mut Steady, s: i64, set_s: i64) -> Vec<i64> {
        let now = steps.look(|| Some(reading(s, set_s))).unwrap();
        lane.learn(steps, now.system_ns).iter().map(|leap| leap.by_ns / SECOND_NS).collect()
    }

    #[test]
    fn all_lanes_take_off_the_same() {
        let steps = Steps::default();
        let (mut one, mut other) = (Steady::default(), Steady::default());
        assert!(look(&steps, &mut one, 10, 0).is_empty());
        // A clock that is slewed is not set.
        assert!(look(&steps, &mut one, 11, 1).is_empty());
        assert_eq!(look(&steps, &mut one, 12, 3600), [3599]);
        // Packets of before the step and of after it, in any order.
        let (before, after) = (reading(12, 1).system_ns, reading(12, 3600).system_ns);
        assert_eq!((one.of(before), one.of(after)), (before, before));
        // Another lane has taken nothing for a while, and packets of before the step do not come any more.
        assert_eq!(look(&steps, &mut one, 30, -100), [-3700]);
        assert_eq!(look(&steps, &mut other, 40, -100), [3599, -3700]);
        assert_eq!((other.before, other.of(reading(40, -100).system_ns)), (None, reading(40, 1).system_ns));
        assert!(look(&steps, &mut other, 41, -100).is_empty());
    }

    /// A lane that read the clocks before a step, and comes late, makes no step of it.
    #[test]
    fn an_old_reading_is_no_step() {
        let (steps, mut lane) = (Steps::default(), Steady::default());
        look(&steps, &mut lane, 10, 0);
        let asked = std::cell::Cell::new(0);
        let late = || {
            asked.set(asked.get() + 1);
            if asked.get() == 1 {
                // Meanwhile another one sees the step.
                steps.look(|| Some(reading(11, 60)));
                return Some(reading(11, 0));
            }
            Some(reading(12, 60))
        };
        steps.look(late);
        assert_eq!(look(&steps, &mut lane, 13, 60), [60]);
    }
}
