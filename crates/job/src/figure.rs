//! The part of a job in the status line.

/// One figure of a job: its label and value. Totals count from the start of the job; the line shows what came since the
/// line before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Figure {
    /// A total, shown per second: `gets/s 12,000`.
    PerSecond(&'static str, u64),
    /// A total, shown as what came since the line before: `busy 3`.
    Since(&'static str, u64),
    /// Two totals, shown as the share that the first has of the second since the line before: `hits 93.2 %`.
    Share(&'static str, u64, u64),
    /// How many there are now: `sessions 81,204`.
    Level(&'static str, u64),
    /// How full something is now, from 0 to 1: `memory 33 %`.
    Fill(&'static str, f64),
}
