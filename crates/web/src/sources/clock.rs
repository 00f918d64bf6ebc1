//! What the clock of a capture did: each step with its time and its size.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Steps of clocks that are told one by one; older ones are counted.
pub const CLOCK_STEPS_MAX: usize = 32;

/// Steps of a clock: how many there were, and the newest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ClockSteps {
    /// How many there were.
    pub total: u64,
    /// The newest, newest first; at most [`CLOCK_STEPS_MAX`].
    pub newest: Vec<ClockStep>,
}

impl ClockSteps {
    /// Takes more, in their order, of so many that there were; the oldest are forgotten.
    pub fn add(&mut self, count: u64, steps: impl IntoIterator<Item = ClockStep>) {
        self.total += count;
        for step in steps {
            self.newest.insert(0, step);
            self.newest.truncate(CLOCK_STEPS_MAX);
        }
    }
}

/// A step of a clock, or a place where the parts of a capture are in the wrong order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ClockStep {
    /// `clock-set`, `wrong-order`, or `not-known` where nothing tells which.
    pub what: String,
    /// What the clock said before it, nanoseconds since 1970.
    pub at_ns: i64,
    /// By how much it was set forward, seconds; below zero: back.
    pub by_s: f64,
    /// What happened, in words.
    pub text: String,
    /// Why, and how sure that is.
    pub why: String,
    /// The file that it is in, or the two that it is between; empty: the capture of this program.
    pub files: Vec<String>,
    /// The number of the first packet behind it, over all files that were read together; null in a running capture.
    pub packet: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_steps_are_kept_and_all_are_counted() {
        let mut steps = ClockSteps::default();
        let step = |n: usize| ClockStep { at_ns: n as i64, ..ClockStep::default() };
        steps.add(3, (0..3).map(step));
        assert_eq!((steps.total, steps.newest.iter().map(|s| s.at_ns).collect::<Vec<_>>()), (3, vec![2, 1, 0]));
        steps.add(900, (3..CLOCK_STEPS_MAX + 5).map(step));
        assert_eq!((steps.total, steps.newest.len()), (903, CLOCK_STEPS_MAX));
        assert_eq!(steps.newest.last().map(|s| s.at_ns), Some(5));
    }
}
