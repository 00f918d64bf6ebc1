//! Profiles: the step of a round-robin file and its archives.

use super::settings::Function;

/// How series are kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// For people.
    pub title: String,
    /// Seconds between two values.
    pub step: u32,
    /// Without a value for so many seconds a series is unknown; none is two steps.
    pub heartbeat: Option<u32>,
    /// The part of a row that may be unknown (xff of rrdtool), 0 to less than 1.
    pub unknown: f64,
    /// How values become a row; each of the archives is there for each of them.
    pub functions: Vec<Function>,
    /// The archives, the finest first.
    pub archives: Vec<Archive>,
}

/// How long rows of a length are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Archive {
    /// By time, whatever the step is.
    Span {
        /// Seconds of a row.
        row_s: u32,
        /// Seconds that are kept.
        span_s: u32,
    },
    /// By steps, as rrdtool counts them.
    Rows {
        /// Steps of a row.
        steps: u32,
        /// Rows that are kept.
        rows: u32,
    },
}

/// Steps of a row, and rows of an archive: ten years of seconds would be 2.6 GB for one series.
pub const ARCHIVE_ROWS_MAX: u32 = 10_000_000;

impl Archive {
    /// Steps of a row and number of rows for a step in seconds. Rows that are shorter than a step become one step,
    /// others are rounded up to whole steps; what is kept is never shorter than was asked for.
    pub fn for_step(self, step: u32) -> (u32, u32) {
        match self {
            Archive::Rows { steps, rows } => (steps, rows),
            Archive::Span { row_s, span_s } => {
                let steps = row_s.div_ceil(step.max(1)).max(1);
                let row = u64::from(steps) * u64::from(step.max(1));
                (steps, u64::from(span_s).div_ceil(row).max(1) as u32)
            }
        }
    }
}

impl Profile {
    /// The archives of a file with this step, seconds: steps of a row and number of rows, the finest first, the longest
    /// of those that have the same row.
    pub fn archives(&self, step: u32) -> Vec<(u32, u32)> {
        let mut archives: Vec<(u32, u32)> = self.archives.iter().map(|archive| archive.for_step(step)).collect();
        archives.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
        archives.dedup_by_key(|archive| archive.0);
        archives
    }

    /// The heartbeat for this step, seconds.
    pub fn heartbeat(&self, step: u32) -> u32 {
        self.heartbeat.filter(|_| step == self.step).unwrap_or_else(|| step.saturating_mul(2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_follow_the_step() {
        let span = |row_s, span_s| Archive::Span { row_s, span_s };
        let profile = Profile {
            title: String::new(),
            step: 60,
            heartbeat: None,
            unknown: 0.5,
            functions: vec![Function::Average],
            archives: vec![span(60, 172_800), span(300, 1_209_600), span(1800, 7_776_000)],
        };
        assert_eq!(profile.archives(60), [(1, 2880), (5, 4032), (30, 4320)]);
        // Two archives become one of the same row: the longer one stays.
        assert_eq!(profile.archives(300), [(1, 4032), (6, 4320)]);
        assert_eq!(profile.archives(1), [(60, 2880), (300, 4032), (1800, 4320)]);
        // 400 s: rows of 800 and 2000 s, and no less time than was asked for.
        assert_eq!(profile.archives(400), [(1, 3024), (5, 3888)]);
        assert_eq!((profile.heartbeat(60), profile.heartbeat(300)), (120, 600));
    }

    #[test]
    fn rows_are_as_they_are_told() {
        assert_eq!(Archive::Rows { steps: 24, rows: 775 }.for_step(300), (24, 775));
        assert_eq!(Archive::Span { row_s: u32::MAX, span_s: u32::MAX }.for_step(0), (u32::MAX, 1));
    }
}
