//! When packets arrived against when they were due: jitter, differences of transit, late packets, drift of clocks.

use trunkline_audio::playout::Playout;
use trunkline_store::row::Transit;

/// A step of transit of this much between two packets is a new origin of the sender's timestamps, not delay: it enters
/// neither jitter nor histogram. Milliseconds.
pub const STEP_MAX_MS: f64 = 10_000.0;

/// Intervals that the drift of clocks needs.
const DRIFT_INTERVALS_MIN: u32 = 3;

/// Bounds of the histogram of transit differences, milliseconds.
const HISTOGRAM_MS: [f64; 7] = [50.0, 70.0, 90.0, 120.0, 150.0, 200.0, 300.0];

#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Timing {
    last_ns: i64,
    /// Milliseconds of a timestamp tick; 0 while the clock is not known.
    tick_ms: f64,
    jitter: f64,
    jitter_sum: f64,
    interval_max: f64,
    /// Packets that entered `jitter_sum`.
    samples: u64,
    /// Arrival less media time since the origin, milliseconds.
    transit_ms: f64,
    last_timestamp: u32,
    /// Whether `last_ns` and `last_timestamp` are of a packet to compare with.
    anchored: bool,
    /// The packet before was a telephone event.
    after_event: bool,
    playout: Playout,
    span: Span,
    jitter_max: f64,
    interval_samples: u64,
    interval_sum: f64,
    pub(super) histogram: [u32; 7],
    drift: Drift,
}

impl Timing {
    pub(super) fn new(clock_rate: u32) -> Timing {
        let mut timing = Timing {
            last_ns: 0,
            tick_ms: 0.0,
            jitter: 0.0,
            jitter_sum: 0.0,
            jitter_max: 0.0,
            samples: 0,
            transit_ms: 0.0,
            playout: Playout::default(),
            span: Span::default(),
            last_timestamp: 0,
            anchored: false,
            after_event: false,
            interval_samples: 0,
            interval_sum: 0.0,
            interval_max: 0.0,
            histogram: [0; 7],
            drift: Drift::default(),
        };
        timing.set_clock(clock_rate);
        timing
    }

    /// Another clock: the next packet has none to compare with.
    pub(super) fn set_clock(&mut self, clock_rate: u32) {
        let tick_ms = if clock_rate == 0 { 0.0 } else { 1000.0 / f64::from(clock_rate) };
        if tick_ms != self.tick_ms {
            self.tick_ms = tick_ms;
            self.anchored = false;
        }
    }

    #[inline]
    pub(super) fn tick_ms(&self) -> f64 {
        self.tick_ms
    }

    /// How much younger this timestamp is than that of the packet before, milliseconds; negative when older.
    #[inline]
    pub(super) fn age_ms(&self, timestamp: u32) -> f64 {
        f64::from(timestamp.wrapping_sub(self.last_timestamp) as i32) * self.tick_ms
    }

    /// Takes a packet in order of arrival; whether it came too late to be played.
    ///
    /// RFC 3550 A.8 in double precision: D is the difference of arrival (capture time, nanoseconds) less the difference
    /// of timestamps, both against the packet before in arrival order, J += (|D| - J) / 16.
    #[inline]
    pub(super) fn packet(&mut self, at_ns: i64, timestamp: u32) -> bool {
        if self.tick_ms == 0.0 {
            return false;
        }
        let arrival_ms = at_ns.wrapping_sub(self.last_ns) as f64 * 1e-6;
        let step_ms = arrival_ms - self.age_ms(timestamp);
        self.last_ns = at_ns;
        self.last_timestamp = timestamp;
        let apart = step_ms.abs();
        if apart >= STEP_MAX_MS || !self.anchored {
            return self.anchor();
        }
        self.jitter += (apart - self.jitter) / 16.0;
        self.jitter_sum += self.jitter;
        self.samples += 1;
        if self.jitter > self.interval_max {
            self.interval_max = self.jitter;
        }
        if apart >= HISTOGRAM_MS[0] && !self.after_event {
            self.note_step(apart);
        }
        self.after_event = false;
        self.transit_ms += step_ms;
        self.span.add(self.transit_ms);
        self.playout.late(self.transit_ms)
    }

    /// Takes a telephone event's packet in order of arrival: RFC 3550 A.8 makes no exception for it, but all packets of
    /// an event carry the timestamp of its beginning (RFC 4733 section 2.1), so that it says nothing about delay: it
    /// enters neither the histogram, nor the transit that is told, nor the model of a buffer.
    #[cold]
    pub(super) fn event(&mut self, at_ns: i64, timestamp: u32) {
        let (histogram, span, playout) = (self.histogram, self.span, self.playout);
        self.packet(at_ns, timestamp);
        (self.histogram, self.span, self.playout) = (histogram, span, playout);
        self.after_event = true;
    }

    /// A packet with none to compare with: where the timestamps got a new origin, it is taken to have come as fast as
    /// the one before, so that the transits before and after can be compared.
    #[cold]
    fn anchor(&mut self) -> bool {
        self.anchored = true;
        self.playout = Playout::default();
        self.drift = Drift::default();
        self.span.add(self.transit_ms);
        self.playout.late(self.transit_ms)
    }

    #[cold]
    fn note_step(&mut self, apart: f64) {
        let bin = HISTOGRAM_MS.iter().rposition(|&bound| apart >= bound).unwrap_or(0);
        self.histogram[bin] = self.histogram[bin].saturating_add(1);
    }

    /// Mean and highest jitter so far, milliseconds.
    pub(super) fn jitter_ms(&self) -> (f64, f64) {
        (mean(self.jitter_sum, self.samples), self.jitter_max.max(self.interval_max))
    }

    /// Mean and highest jitter of the interval, milliseconds.
    pub(super) fn interval_jitter_ms(&self) -> (f64, f64) {
        (mean(self.jitter_sum - self.interval_sum, self.samples - self.interval_samples), self.interval_max)
    }

    /// Transit in the interval; none while the clock is not known.
    pub(super) fn interval_transit(&self) -> Option<Transit> {
        self.span.transit()
    }

    /// Ends an interval.
    pub(super) fn end_interval(&mut self, seconds: f64) {
        self.jitter_max = self.jitter_max.max(self.interval_max);
        self.interval_max = 0.0;
        self.interval_sum = self.jitter_sum;
        self.interval_samples = self.samples;
        if let Some(least) = self.playout.least_ms() {
            self.drift.point(seconds, least);
        }
        self.playout.roll();
        self.span = Span::default();
    }

    /// How much faster the sender's clock runs than the capture's, parts per million.
    pub(super) fn skew_ppm(&self) -> Option<f32> {
        self.drift.ppm()
    }
}

/// Transit of the packets of an interval.
#[derive(Clone, Copy, Debug)]
struct Span {
    sum: f64,
    least: f64,
    most: f64,
    packets: u32,
}

impl Default for Span {
    fn default() -> Self {
        Span { sum: 0.0, least: f64::INFINITY, most: f64::NEG_INFINITY, packets: 0 }
    }
}

impl Span {
    #[inline]
    fn add(&mut self, transit_ms: f64) {
        self.sum += transit_ms;
        self.packets = self.packets.wrapping_add(1);
        if transit_ms < self.least {
            self.least = transit_ms;
        }
        if transit_ms > self.most {
            self.most = transit_ms;
        }
    }

    fn transit(&self) -> Option<Transit> {
        (self.packets > 0).then(|| Transit {
            min_ms: self.least as f32,
            mean_ms: (self.sum / f64::from(self.packets)) as f32,
            max_ms: self.most as f32,
        })
    }
}

fn mean(sum: f64, count: u64) -> f64 {
    if count == 0 { 0.0 } else { sum / count as f64 }
}

/// Least-squares line through the least transit of each interval.
#[derive(Clone, Copy, Debug, Default)]
struct Drift {
    points: u32,
    first: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
}

impl Drift {
    fn point(&mut self, seconds: f64, transit_ms: f64) {
        if self.points == 0 {
            self.first = seconds;
        }
        let x = seconds - self.first;
        self.points = self.points.saturating_add(1);
        self.x += x;
        self.y += transit_ms;
        self.xx += x * x;
        self.xy += x * transit_ms;
    }

    fn ppm(&self) -> Option<f32> {
        let n = f64::from(self.points);
        let spread = n * self.xx - self.x * self.x;
        if self.points < DRIFT_INTERVALS_MIN || spread <= 0.0 {
            return None;
        }
        // Transit that falls means that media time runs ahead; a millisecond in a second is 1000 ppm.
        Some((-(n * self.xy - self.x * self.y) / spread * 1000.0) as f32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_of_rfc_3550() {
        let mut t = Timing::new(8000);
        // Arrivals 0, 30, 40 ms with 20 ms of media between: D is 10, then -10.
        for (ms, timestamp) in [(0i64, 4_294_967_200u32), (30, 64), (40, 224)] {
            t.packet(ms * 1_000_000, timestamp);
        }
        let (j1, j2) = (10.0 / 16.0, 10.0 / 16.0 + (10.0 - 10.0 / 16.0) / 16.0);
        assert!((t.jitter_ms().0 - (j1 + j2) / 2.0).abs() < 1e-12 && (t.jitter_ms().1 - j2).abs() < 1e-12);
    }

    #[test]
    fn differences_fall_into_bins() {
        let mut t = Timing::new(8000);
        for ms in [0i64, 49, 119, 120, 420, 20_000] {
            t.packet(ms * 1_000_000, 0);
        }
        assert_eq!(t.histogram, [0, 1, 0, 0, 0, 0, 1]);
    }

    #[test]
    fn drift_is_told_in_parts_per_million() {
        let mut t = Timing::new(8000);
        for n in 0..6000u32 {
            // The sender is 100 ppm fast: 20 ms of media in 19.998 ms.
            t.packet(i64::from(n) * 19_998_000, n * 160);
            if n % 500 == 499 {
                t.end_interval(f64::from(n) * 0.02);
            }
        }
        assert!((t.skew_ppm().unwrap() - 100.0).abs() < 0.5, "{:?}", t.skew_ppm());
        assert_eq!(Timing::new(8000).skew_ppm(), None);
    }
}
