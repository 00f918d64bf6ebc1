//! Microbursts: milliseconds in which an interface carried more than a given rate, which averages over seconds hide.
//!
//! Each lane counts what it takes, a few instructions a packet ([`Meter`]); the lanes of an interface are added up
//! elsewhere, milliseconds above the limit that follow each other become one burst ([`Merger`]).

pub mod log;

use core::ops::ControlFlow;
use std::collections::BTreeMap;
use trunkline_lane::{LaneJob, SeenPacket};

/// Milliseconds that a lane holds until they are taken. Beyond, they are counted and left out.
// Limit: milliseconds with traffic figures that one lane keeps
// Beyond: further milliseconds are left out
// Seen in: `trunkline_capture_microburst_late_buckets_total`
pub const BUCKETS_MAX: usize = 4096;
/// Milliseconds of an interface that wait for its slower lanes. Beyond, the oldest wait no longer.
pub const WAITING_MAX: usize = 60_000;
/// Bursts of an interface told for each second. More are counted.
// Limit: microbursts of one interface written per second
// Beyond: further bursts are not written
// Seen in: `trunkline_capture_microbursts_left_out_total`
pub const BURSTS_PER_SECOND_MAX: u32 = 20;
/// How far the lanes of an interface may be apart.
const SETTLE_MS: i64 = 2000;
/// What is so much older than what was settled tells of a clock that was set back.
const SET_BACK_MS: i64 = 60_000;
const MS_NS: i64 = 1_000_000;

/// What came in one millisecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bucket {
    /// Milliseconds since 1970.
    pub at_ms: i64,
    /// Octets on the wire.
    pub octets: u64,
    /// Packets.
    pub packets: u32,
}

/// Counts what a lane takes, by the millisecond.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    begins_ns: i64,
    octets: u64,
    packets: u32,
    full: Vec<Bucket>,
    left_out: u64,
}

impl Meter {
    /// Takes in a packet.
    #[inline]
    pub fn see(&mut self, at_ns: i64, wire: u32) {
        if at_ns.wrapping_sub(self.begins_ns) as u64 >= MS_NS as u64 {
            self.turn(at_ns);
        }
        self.octets += u64::from(wire);
        self.packets += 1;
    }

    fn turn(&mut self, at_ns: i64) {
        if self.packets > 0 && self.full.len() < BUCKETS_MAX {
            let at_ms = self.begins_ns.div_euclid(MS_NS);
            self.full.push(Bucket { at_ms, octets: self.octets, packets: self.packets });
        } else if self.packets > 0 {
            self.left_out += 1;
        }
        self.begins_ns = at_ns.saturating_sub(at_ns.rem_euclid(MS_NS));
        (self.octets, self.packets) = (0, 0);
    }

    /// Hands over the milliseconds that are over, and how many were left out.
    pub fn take(&mut self, into: &mut Vec<Bucket>) -> u64 {
        let room = BUCKETS_MAX.saturating_sub(into.len());
        let taken = self.full.len().min(room);
        self.left_out += (self.full.len() - taken) as u64;
        into.extend(self.full.drain(..).take(taken));
        core::mem::take(&mut self.left_out)
    }

    /// The last millisecond is over, too.
    pub fn finish(&mut self) {
        self.turn(self.begins_ns.saturating_add(MS_NS));
    }
}

impl LaneJob for Meter {
    #[inline]
    fn take(&mut self, seen: &mut SeenPacket<'_>) -> ControlFlow<()> {
        self.see(seen.packet.at_ns, seen.packet.wire);
        ControlFlow::Continue(())
    }

    fn finish(&mut self) {
        Meter::finish(self);
    }
}

/// Milliseconds above the limit, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// When it began, milliseconds since 1970.
    pub at_ms: i64,
    /// How long it was, milliseconds.
    pub ms: i64,
    /// Octets of its fullest millisecond.
    pub peak_octets: u64,
    /// All its octets.
    pub octets: u64,
    /// All its packets.
    pub packets: u64,
    /// The lanes that took part, a bit each; those from 63 on share the last.
    pub lanes: u64,
}

trunkline_kit::counters! {
    /// What is counted of an interface.
    pub struct BurstCounters {
        /// bursts: milliseconds above the limit, one after the other
        bursts: "trunkline_capture_microbursts_total",
        /// bursts that were not written: too many in a second
        left_out: "trunkline_capture_microbursts_left_out_total",
        /// milliseconds of a lane that were left out or came too late to be added up
        late: "trunkline_capture_microburst_late_buckets_total",
    }
}

/// Adds up the lanes of an interface.
#[derive(Clone, Debug)]
pub struct Merger {
    limit_octets: u64,
    waiting: BTreeMap<i64, (Bucket, u64)>,
    settled_ms: i64,
    newest_ms: i64,
    open: Option<Burst>,
    second: i64,
    told: u32,
    counters: BurstCounters,
}

impl Merger {
    /// Bursts are what is faster than this, bit/s.
    pub fn new(bits_per_second: u64) -> Self {
        Merger {
            limit_octets: (bits_per_second / 8 / 1000).max(1),
            waiting: BTreeMap::new(),
            settled_ms: i64::MIN,
            newest_ms: i64::MIN,
            open: None,
            second: i64::MIN,
            told: 0,
            counters: BurstCounters::default(),
        }
    }

    /// Takes in what a lane counted; gives the bursts that are over. `lane` is its number within the interface,
    /// `left_out` what it had no room for.
    pub fn take(&mut self, lane: u16, buckets: &[Bucket], left_out: u64, bursts: &mut Vec<Burst>) {
        self.counters.late += left_out;
        for bucket in buckets {
            if bucket.at_ms < self.settled_ms.saturating_sub(SET_BACK_MS) {
                self.settle(bursts);
                (self.settled_ms, self.newest_ms) = (i64::MIN, i64::MIN);
            }
            if bucket.at_ms < self.settled_ms {
                self.counters.late += 1;
                continue;
            }
            self.newest_ms = self.newest_ms.max(bucket.at_ms);
            let (sum, lanes) = self.waiting.entry(bucket.at_ms).or_default();
            sum.octets += bucket.octets;
            sum.packets = sum.packets.saturating_add(bucket.packets);
            *lanes |= 1 << lane.min(63);
        }
        self.settle_until(self.newest_ms.saturating_sub(SETTLE_MS), bursts);
    }

    /// No lane will tell anything of what was until now: nothing came for some time.
    pub fn settle(&mut self, bursts: &mut Vec<Burst>) {
        self.settle_until(self.newest_ms.saturating_add(1), bursts);
        let over = self.open.take();
        over.into_iter().for_each(|burst| self.tell(burst, bursts));
    }

    /// What was counted.
    pub fn counters(&self) -> BurstCounters {
        self.counters
    }

    fn settle_until(&mut self, until_ms: i64, bursts: &mut Vec<Burst>) {
        while let Some(entry) = self.waiting.first_entry() {
            if *entry.key() >= until_ms && self.waiting.len() <= WAITING_MAX {
                break;
            }
            let Some((at_ms, (bucket, lanes))) = self.waiting.pop_first() else { break };
            self.settled_ms = at_ms + 1;
            self.follow(at_ms, &bucket, lanes, bursts);
        }
        self.settled_ms = self.settled_ms.max(until_ms);
    }

    fn follow(&mut self, at_ms: i64, bucket: &Bucket, lanes: u64, bursts: &mut Vec<Burst>) {
        let is_above = bucket.octets >= self.limit_octets;
        if let Some(open) = self.open.take_if(|open| !is_above || open.at_ms + open.ms != at_ms) {
            self.tell(open, bursts);
        }
        if !is_above {
            return;
        }
        let burst = self.open.get_or_insert(Burst { at_ms, ms: 0, peak_octets: 0, octets: 0, packets: 0, lanes: 0 });
        burst.ms += 1;
        burst.peak_octets = burst.peak_octets.max(bucket.octets);
        burst.octets += bucket.octets;
        burst.packets += u64::from(bucket.packets);
        burst.lanes |= lanes;
    }

    fn tell(&mut self, burst: Burst, bursts: &mut Vec<Burst>) {
        self.counters.bursts += 1;
        let second = burst.at_ms.div_euclid(1000);
        if second != self.second {
            (self.second, self.told) = (second, 0);
        }
        if self.told == BURSTS_PER_SECOND_MAX {
            self.counters.left_out += 1;
            return;
        }
        self.told += 1;
        bursts.push(burst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START_MS: i64 = 1_795_181_123_000;

    /// 800 octets a millisecond are the limit.
    fn merger() -> Merger {
        Merger::new(6_400_000)
    }

    fn buckets(meter: &mut Meter) -> Vec<Bucket> {
        let mut out = Vec::new();
        meter.take(&mut out);
        out
    }

    #[test]
    fn lanes_together_make_a_burst() {
        let mut lanes = [Meter::default(), Meter::default()];
        for ms in 0..5000 {
            // Alone neither lane reaches the limit.
            let octets = if (1000..1003).contains(&ms) { 500 } else { 100 };
            for (lane, meter) in lanes.iter_mut().enumerate() {
                let extra = u32::from(ms == 1001 && lane == 1);
                meter.see((START_MS + ms) * MS_NS + 7, octets / 2);
                meter.see((START_MS + ms) * MS_NS + 999_999, octets / 2 + extra);
            }
        }
        let (mut merger, mut bursts) = (merger(), Vec::new());
        for (lane, meter) in lanes.iter_mut().enumerate() {
            meter.finish();
            let mut all = Vec::new();
            assert_eq!(meter.take(&mut all), 5000 - BUCKETS_MAX as u64);
            // The other lane is a second behind.
            merger.take(lane as u16, &all[..2000], 0, &mut bursts);
        }
        merger.settle(&mut bursts);
        let burst = Burst { at_ms: START_MS + 1000, ms: 3, peak_octets: 1001, octets: 3001, packets: 12, lanes: 3 };
        assert_eq!(bursts, [burst]);
        assert_eq!(merger.counters(), BurstCounters { bursts: 1, left_out: 0, late: 0 });
    }

    #[test]
    fn a_burst_that_lasts_is_one_and_a_gap_ends_it() {
        let (mut merger, mut bursts) = (merger(), Vec::new());
        let bucket = |ms| Bucket { at_ms: START_MS + ms, octets: 800, packets: 1 };
        for ms in (0..9000).filter(|ms| *ms != 4000) {
            merger.take(0, &[bucket(ms)], 0, &mut bursts);
        }
        merger.settle(&mut bursts);
        assert_eq!(bursts.iter().map(|b| b.ms).collect::<Vec<_>>(), [4000, 4999]);
        merger.take(0, &[bucket(8000)], 0, &mut bursts);
        assert_eq!(merger.counters().late, 1);
    }

    #[test]
    fn many_bursts_in_a_second_are_counted() {
        let (mut merger, mut bursts) = (merger(), Vec::new());
        for ms in (0..1000).step_by(2) {
            merger.take(0, &[Bucket { at_ms: START_MS + ms, octets: 900, packets: 1 }], 0, &mut bursts);
        }
        merger.settle(&mut bursts);
        assert_eq!(bursts.len(), BURSTS_PER_SECOND_MAX as usize);
        assert_eq!(merger.counters(), BurstCounters { bursts: 500, left_out: 480, late: 0 });
    }

    #[test]
    fn a_clock_that_jumps_stops_nothing() {
        let (mut merger, mut bursts) = (merger(), Vec::new());
        for jump in [0, 400 * 86_400_000, -400 * 86_400_000, i64::MIN / MS_NS / 2, i64::MAX / MS_NS / 2, 0] {
            let mut meter = Meter::default();
            for ms in 0..3 {
                meter.see((START_MS + jump).saturating_add(ms).saturating_mul(MS_NS), 900);
            }
            meter.finish();
            merger.take(0, &buckets(&mut meter), 0, &mut bursts);
        }
        merger.settle(&mut bursts);
        assert_eq!(bursts.iter().map(|b| b.ms).collect::<Vec<_>>(), [3; 6]);
        assert!(merger.waiting.is_empty());
    }
}
