//! The values of a subject that are looked at.

use crate::rule::{Condition, Function, Rule};
use std::collections::VecDeque;

/// Values of a window; of more, the oldest leave before their time.
// Limit: values in one rule's window
// Beyond: the oldest leaves early
// Seen in: `trunkline_alert_window_values_overflow_total`
pub const WINDOW_POINTS_MAX: usize = 1024;

/// Values with their times, the newest last.
#[derive(Debug, Default)]
pub struct Window(VecDeque<Point>);

#[derive(Clone, Copy, Debug)]
struct Point {
    at_s: i64,
    value: f64,
    samples: u64,
}

impl Window {
    /// Takes a value; how many had to leave before their time.
    pub fn take(&mut self, at_s: i64, value: f64, samples: u64, window_s: i64) -> u64 {
        self.leave(at_s, window_s);
        self.0.push_back(Point { at_s, value, samples });
        let over = self.0.len().saturating_sub(WINDOW_POINTS_MAX);
        self.0.drain(..over);
        over as u64
    }

    /// The samples in the window that ends now.
    pub fn samples(&mut self, at_s: i64, window_s: i64) -> u64 {
        self.leave(at_s, window_s);
        self.0.iter().map(|point| point.samples).fold(0, u64::saturating_add)
    }

    /// What it comes to for a rule.
    pub fn value(&self, rule: &Rule) -> Option<f64> {
        let (first, last) = (self.0.front()?, self.0.back()?);
        match rule.condition {
            Condition::Rate { falls, per_s, .. } => {
                let time_s = last.at_s - first.at_s;
                let rate = (last.value - first.value) * per_s as f64 / time_s as f64;
                (time_s > 0).then_some(if falls { -rate } else { rate })
            }
            Condition::Flapping { .. } => {
                let pairs = self.0.iter().zip(self.0.iter().skip(1));
                Some(pairs.filter(|(one, next)| one.value != next.value).count() as f64)
            }
            _ => self.function(rule.function).filter(|value| value.is_finite()),
        }
    }

    fn function(&self, function: Function) -> Option<f64> {
        let values = || self.0.iter().map(|point| point.value);
        let weight = |point: &Point| point.samples as f64;
        match function {
            Function::Last => values().next_back(),
            Function::Min => values().reduce(f64::min),
            Function::Max => values().reduce(f64::max),
            Function::Sum => Some(values().sum()),
            Function::Mean => {
                let all: f64 = self.0.iter().map(weight).sum();
                let sum: f64 = self.0.iter().map(|point| point.value * weight(point)).sum();
                (all > 0.0).then(|| sum / all)
            }
        }
    }

    /// Values that are as old as the window leave; where it has no length, all but the newest.
    fn leave(&mut self, at_s: i64, window_s: i64) {
        while self.0.front().is_some_and(|point| at_s - point.at_s >= window_s.max(1)) {
            self.0.pop_front();
        }
    }
}
