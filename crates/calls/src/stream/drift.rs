//! How much faster the clock of a sender runs than that of the capture.

/// Intervals that it needs.
const DRIFT_INTERVALS_MIN: u32 = 3;

/// Least-squares line through the least transit of each interval.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Drift {
    points: u32,
    first: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
}

impl Drift {
    pub(super) fn point(&mut self, seconds: f64, transit_ms: f64) {
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

    pub(super) fn ppm(&self) -> Option<f32> {
        let n = f64::from(self.points);
        let spread = n * self.xx - self.x * self.x;
        if self.points < DRIFT_INTERVALS_MIN || spread <= 0.0 {
            return None;
        }
        // Transit that falls means that media time runs ahead; a millisecond in a second is 1000 ppm.
        Some((-(n * self.xy - self.x * self.y) / spread * 1000.0) as f32)
    }
}
