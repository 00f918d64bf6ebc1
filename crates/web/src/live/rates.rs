//! What happens a second, by the difference of two snapshots, and what ended in the last minute, by the difference of
//! the store's sums.

use super::CallBrief;
use crate::sources::LiveSnapshot;
use crate::state::Web;
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;
use trunkline_store::rollup::Minute;
use trunkline_store::time::{MINUTE_NS, SECOND_NS};
use utoipa::ToSchema;

/// Minutes of the store that are looked at each second: a call that is longer ends unnoticed.
pub const MINUTES_WATCHED: i64 = 180;
/// How long a look at the sums waits for its turn at the store.
const TURN_TIME: Duration = Duration::from_secs(1);
/// Seconds that are added up.
const SECONDS: usize = 60;

/// What happens a second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct Rates {
    /// Calls that begin.
    pub calls_per_s: f64,
    /// Of the calls that ended in the last minute, the share that was answered; null if none ended.
    pub answer_ratio: Option<f64>,
    /// Packets by class.
    pub packets_per_s: ClassRates,
    /// Bits.
    pub bits_per_s: f64,
    /// Packets dropped, by place; places without drops are left out.
    pub drops_per_s: BTreeMap<String, f64>,
    /// Octets written to the disks of the packet log.
    pub written_octets_per_s: f64,
    /// Processor time of the threads.
    pub threads: Vec<ThreadRate>,
}

/// A rate for each class of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct ClassRates {
    /// Signalling.
    pub sip: f64,
    /// Media, with RTCP.
    pub rtp: f64,
    /// The rest.
    pub other: f64,
}

/// How busy a thread is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct ThreadRate {
    /// Its name.
    pub name: String,
    /// Share of one processor, percent.
    pub cpu_percent: f64,
}

/// Calls that ended in the last minute.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct LastMinute {
    /// How many.
    pub calls: u64,
    /// Of these, with a 2xx.
    pub answered: u64,
    /// Of these, with a verdict.
    pub bad: u64,
    /// The lowest scores among them.
    pub worst: Vec<CallBrief>,
}

impl LastMinute {
    /// The share that was answered.
    pub fn answer_ratio(&self) -> Option<f64> {
        (self.calls > 0).then(|| self.answered as f64 / self.calls as f64)
    }
}

/// Sums of calls: how many, answered, with a verdict.
pub type Counts = [i64; 3];

/// What is remembered to take differences.
#[derive(Default)]
pub struct Ratings {
    before: Option<LiveSnapshot>,
    minutes: Option<BTreeMap<i64, Counts>>,
    ended: VecDeque<Counts>,
}

impl Ratings {
    /// What happened a second since the snapshot before.
    pub fn rates(&mut self, now: &LiveSnapshot) -> Rates {
        let rates = self.before.as_ref().map(|before| difference(before, now)).unwrap_or_default();
        self.before = Some(now.clone());
        rates
    }

    /// Looks how the store's sums have grown: a call comes into the store when it is over.
    pub async fn sums(&mut self, web: &Web, now_ns: i64) {
        let from = now_ns.saturating_sub(MINUTES_WATCHED * MINUTE_NS);
        let to = now_ns.saturating_add(MINUTE_NS);
        let asked = web.stores.ask_in_turn(TURN_TIME, move |store| store.minutes(from, to));
        // Without a turn in time the sums stay, and grow by more the next time.
        let Ok(minutes) = asked.await else { return };
        let minutes: BTreeMap<i64, Counts> = minutes.into_iter().map(|(at, sum)| (at, counts(&sum))).collect();
        self.take(minutes);
    }

    fn take(&mut self, minutes: BTreeMap<i64, Counts>) {
        let mut grown = Counts::default();
        if let Some(before) = &self.minutes {
            for (at, sums) in &minutes {
                let known = before.get(at).copied().unwrap_or_default();
                for (sum, (now, before)) in grown.iter_mut().zip(sums.iter().zip(known)) {
                    *sum += now.saturating_sub(before).max(0);
                }
            }
        }
        self.minutes = Some(minutes);
        if self.ended.len() >= SECONDS {
            self.ended.pop_front();
        }
        self.ended.push_back(grown);
    }

    /// What ended in the last minute.
    pub fn last_minute(&self) -> LastMinute {
        let sum = |at: usize| self.ended.iter().map(|counts| counts[at].unsigned_abs()).sum();
        LastMinute { calls: sum(0), answered: sum(1), bad: sum(2), worst: Vec::new() }
    }

    /// Calls that began in the last so many minutes, and in all minutes that are watched: how many, answered, bad.
    pub fn recent(&self, now_ns: i64, minutes: i64) -> (Counts, Counts) {
        let first = now_ns.div_euclid(MINUTE_NS) - minutes;
        let mut sums = (Counts::default(), Counts::default());
        for (at, counts) in self.minutes.iter().flatten() {
            for (slot, count) in sums.1.iter_mut().zip(counts) {
                *slot += count;
            }
            if *at >= first {
                for (slot, count) in sums.0.iter_mut().zip(counts) {
                    *slot += count;
                }
            }
        }
        sums
    }
}

fn counts(minute: &Minute) -> Counts {
    [minute.attempts(), minute.answered, minute.bad]
}

fn difference(before: &LiveSnapshot, now: &LiveSnapshot) -> Rates {
    let elapsed_ns = now.at_ns.saturating_sub(before.at_ns);
    if elapsed_ns <= 0 {
        return Rates::default();
    }
    let seconds = elapsed_ns as f64 / SECOND_NS as f64;
    // A count that is less than before is of a capture that began anew.
    let rate = |now: u64, before: u64| round(now.saturating_sub(before) as f64 / seconds);
    let (p, q) = (&now.packets_total, &before.packets_total);
    let written = |s: &LiveSnapshot| s.volumes.iter().map(|v| v.written_octets_total).sum::<u64>();
    let drops = now.drops_total.iter().filter_map(|(place, count)| {
        let rate = rate(*count, before.drops_total.get(place).copied().unwrap_or(0));
        (rate > 0.0).then(|| (place.clone(), rate))
    });
    let threads = now.threads.iter().filter_map(|thread| {
        let known = before.threads.iter().find(|t| t.name == thread.name)?;
        let share = (thread.cpu_s_total - known.cpu_s_total).max(0.0) / seconds * 100.0;
        Some(ThreadRate { name: thread.name.clone(), cpu_percent: round(share) })
    });
    Rates {
        calls_per_s: rate(now.calls_started_total, before.calls_started_total),
        answer_ratio: None,
        packets_per_s: ClassRates { sip: rate(p.sip, q.sip), rtp: rate(p.rtp, q.rtp), other: rate(p.other, q.other) },
        bits_per_s: rate(now.octets_total.saturating_mul(8), before.octets_total.saturating_mul(8)),
        drops_per_s: drops.collect(),
        written_octets_per_s: rate(written(now), written(before)),
        threads: threads.collect(),
    }
}

/// One decimal: nobody reads more, and frames stay small.
fn round(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::ByClass;

    fn at(seconds: i64, packets: u64, drops: u64) -> LiveSnapshot {
        LiveSnapshot {
            at_ns: seconds * SECOND_NS,
            packets_total: ByClass { sip: packets, ..ByClass::default() },
            octets_total: packets * 100,
            drops_total: BTreeMap::from([("ring".to_owned(), drops), ("disk".to_owned(), 7)]),
            ..LiveSnapshot::default()
        }
    }

    #[test]
    fn rates_are_differences() {
        let mut ratings = Ratings::default();
        assert_eq!(ratings.rates(&at(10, 100, 0)), Rates::default());
        let rates = ratings.rates(&at(12, 300, 5));
        assert_eq!((rates.packets_per_s.sip, rates.bits_per_s), (100.0, 80_000.0));
        assert_eq!(rates.drops_per_s, BTreeMap::from([("ring".to_owned(), 2.5)]));
        let anew = ratings.rates(&at(13, 10, 0));
        assert_eq!(anew.packets_per_s.sip, 0.0);
        assert_eq!(ratings.rates(&at(13, 20, 0)), Rates::default());
    }

    #[test]
    fn what_came_into_the_store_ended() {
        let mut ratings = Ratings::default();
        ratings.take(BTreeMap::from([(5, [10, 5, 1]), (6, [3, 1, 0])]));
        assert_eq!(ratings.last_minute().calls, 0);
        ratings.take(BTreeMap::from([(6, [5, 2, 1]), (7, [1, 1, 0])]));
        let last = ratings.last_minute();
        assert_eq!((last.calls, last.answered, last.bad), (3, 2, 1));
        assert_eq!(last.answer_ratio(), Some(2.0 / 3.0));
        for _ in 0..SECONDS {
            ratings.take(BTreeMap::from([(6, [5, 2, 1]), (7, [1, 1, 0])]));
        }
        assert_eq!(ratings.last_minute().calls, 0);
        assert_eq!(ratings.recent(7 * MINUTE_NS, 0), ([1, 1, 0], [6, 3, 1]));
    }
}
