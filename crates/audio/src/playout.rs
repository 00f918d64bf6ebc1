//! The jitter buffer of the standards-conformant score: a fixed one of 200 ms that tells which packets came too late to
//! be played (G.107 counts them with the lost ones).
//!
//! Each packet is played 200 ms after it would have come on the fastest way: the least transit of the last ten to
//! twenty seconds. So neither a late first packet nor the drift between two clocks counts against a stream. A path that
//! becomes longer for good is followed after [`LATE_RUN`] late packets in a row, as a real buffer would.

/// Depth of the buffer, milliseconds.
pub const DEPTH_MS: f64 = 200.0;

/// Late packets in a row after which the buffer starts again from them.
pub const LATE_RUN: u16 = 25;

/// State of the buffer for one stream.
#[derive(Clone, Copy, Debug)]
pub struct Playout {
    limit: f64,
    least: f64,
    least_before: f64,
    late_least: f64,
    late_run: u16,
}

impl Default for Playout {
    fn default() -> Self {
        Playout::NONE
    }
}

impl Playout {
    /// A buffer that no packet came to yet.
    pub const NONE: Playout = {
        let none = f64::INFINITY;
        Playout { limit: none, least: none, least_before: none, late_least: none, late_run: 0 }
    };

    /// Takes a packet whose transit is `transit_ms` (arrival less media time, from any fixed origin); whether it came
    /// too late to be played.
    #[inline]
    pub fn late(&mut self, transit_ms: f64) -> bool {
        if transit_ms < self.least {
            self.least = transit_ms;
            self.limit = self.least.min(self.least_before) + DEPTH_MS;
        }
        if transit_ms <= self.limit {
            self.late_run = 0;
            return false;
        }
        self.count_late(transit_ms)
    }

    /// Forgets what is older than the last call: to be called every ten seconds.
    pub fn roll(&mut self) {
        if self.least.is_finite() {
            self.least_before = self.least;
            self.least = f64::INFINITY;
            self.limit = self.least_before + DEPTH_MS;
        }
    }

    /// The least transit since the last [`Playout::roll`]; none if no packet came.
    pub fn least_ms(&self) -> Option<f64> {
        self.least.is_finite().then_some(self.least)
    }

    #[cold]
    fn count_late(&mut self, transit_ms: f64) -> bool {
        self.late_least = if self.late_run == 0 { transit_ms } else { self.late_least.min(transit_ms) };
        self.late_run += 1;
        if self.late_run >= LATE_RUN {
            *self = Playout { limit: self.late_least + DEPTH_MS, least: self.late_least, ..Playout::default() };
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_is_more_than_the_depth_behind_the_fastest() {
        let mut p = Playout::default();
        assert!(!p.late(500.0), "the first packet sets the pace");
        assert!(!p.late(0.0), "and a faster one sets it anew");
        assert!(!p.late(200.0) && p.late(200.1) && !p.late(10.0));
    }

    #[test]
    fn drift_does_not_make_late() {
        let mut p = Playout::default();
        for i in 0..100_000u32 {
            assert!(!p.late(f64::from(i) * 0.02 * 0.5), "25 ms per second of call, {i}");
            if i % 500 == 499 {
                p.roll();
            }
        }
    }

    #[test]
    fn a_longer_path_is_followed() {
        let mut p = Playout::default();
        p.late(0.0);
        let late = (0..100).filter(|_| p.late(1000.0)).count();
        assert_eq!(late, usize::from(LATE_RUN));
    }
}
