//! Metrics in Prometheus's text format, version 0.0.4: read line by line where they lie, and chosen by name and labels.
//!
//! A line that cannot be understood is counted, and the others are read.

mod line;
mod selector;

pub use line::{Kind, LABELS_MAX, Labels, Line, Lines, Malformed, Metric};
pub use selector::Selector;

use crate::poller::{Reading, Unknown};
use std::collections::HashMap;

/// When a process began: whoever counts has begun again if this is another one.
const STARTED: &[u8] = b"process_start_time_seconds";

/// What was found of what was wanted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// For each thing that was wanted.
    pub readings: Vec<Reading>,
    /// When the process began, if it says so: seconds since 1970.
    pub started: Option<f64>,
    /// Lines that were understood.
    pub lines: u32,
    /// Lines that were not.
    pub malformed: u32,
}

/// Reads what is wanted: for each reading the first selector that fits anything. What fits the same selector is added
/// up, as a class of answers or the processors of a host are.
pub fn read(octets: &[u8], wanted: &[Vec<Selector>]) -> Found {
    let mut by_name: HashMap<&str, Vec<(usize, usize)>> = HashMap::new();
    for (place, ways) in wanted.iter().enumerate() {
        for (way, selector) in ways.iter().enumerate() {
            by_name.entry(selector.name()).or_default().push((place, way));
        }
    }
    let mut sums: Vec<Vec<Option<Sum>>> = wanted.iter().map(|ways| vec![None; ways.len()]).collect();
    let (mut found, mut family) = (Found::default(), None);
    for line in Lines::new(octets) {
        let Ok(line) = line else {
            found.malformed += 1;
            continue;
        };
        found.lines += 1;
        match line {
            Line::Type { name, kind } => family = Some((name, kind)),
            Line::Metric(metric) => {
                if metric.name.as_bytes() == STARTED {
                    found.started = Some(metric.value.real());
                }
                for &(place, way) in by_name.get(metric.name).into_iter().flatten() {
                    if wanted[place][way].fits(&metric) {
                        let counts = family.is_some_and(|(name, kind)| kind.counts(name, metric.name));
                        sums[place][way] = Some(Sum::with(sums[place][way], metric.value, counts));
                    }
                }
            }
            Line::Help { .. } | Line::Comment => {}
        }
    }
    let first = |ways: Vec<Option<Sum>>| ways.into_iter().flatten().next();
    let reading = |ways| first(ways).map_or(Reading::Unknown(Unknown::Omitted), Sum::reading);
    found.readings = sums.into_iter().map(reading).collect();
    found
}

/// A number as it stands there: counts exactly, as far as they are whole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A whole number without a sign.
    Whole(u64),
    /// Any other, infinite ones and NaN, too.
    Real(f64),
}

impl Number {
    /// With a fraction.
    pub fn real(self) -> f64 {
        match self {
            Number::Whole(number) => number as f64,
            Number::Real(number) => number,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Sum {
    number: Number,
    counts: bool,
}

impl Sum {
    fn with(before: Option<Sum>, number: Number, counts: bool) -> Sum {
        let Some(before) = before else { return Sum { number, counts } };
        let whole = match (before.number, number) {
            (Number::Whole(one), Number::Whole(other)) => one.checked_add(other).map(Number::Whole),
            _ => None,
        };
        let number = whole.unwrap_or_else(|| Number::Real(before.number.real() + number.real()));
        Sum { number, counts: before.counts && counts }
    }

    /// What counts is a counter, as long as it is whole.
    fn reading(self) -> Reading {
        match self.number {
            Number::Whole(number) if self.counts => Reading::Counter64(number),
            Number::Whole(number) => Reading::Gauge(number),
            Number::Real(number) if self.counts && number >= 0.0 && number < 2f64.powi(53) && number.fract() == 0.0 => {
                Reading::Counter64(number as u64)
            }
            Number::Real(number) if number.is_finite() => Reading::Real(number),
            Number::Real(_) => Reading::Unknown(Unknown::NoNumber),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, wanted: &[&[&str]]) -> Vec<Reading> {
        let selector = |text: &&str| Selector::parse(text).unwrap();
        let wanted: Vec<Vec<Selector>> = wanted.iter().map(|ways| ways.iter().map(selector).collect()).collect();
        read(text.as_bytes(), &wanted).readings
    }

    const TEXT: &str = "# HELP http_requests_total All.\n# TYPE http_requests_total counter\n\
        http_requests_total{method=\"post\",code=\"200\"} 1027 1395066363000\n\
        http_requests_total{method=\"post\",code=\"400\"} 3\n\
        http_requests_total{method=\"get\",code=\"200\"} 1.8446744073709551615e3\n\
        big_total 18446744073709551615\n\
        # TYPE took_seconds histogram\ntook_seconds_bucket{le=\"0.05\"} 24054\ntook_seconds_bucket{le=\"1.0\"} 1e5\n\
        took_seconds_bucket{le=\"+Inf\"} 144320\ntook_seconds_sum 53423.5\ntook_seconds_count 144320\n\
        # TYPE load gauge\nload NaN\nload{cpu=\"1\"} +Inf\ntemperature -3.25\nbroken{ 1\n\
        process_start_time_seconds 1.5e9\n";

    #[test]
    fn metrics_are_chosen_by_name_and_labels_and_added_up() {
        let one = |text: &str| found(TEXT, &[&[text]])[0];
        assert_eq!(one("http_requests_total{method=\"post\"}"), Reading::Counter64(1030));
        assert_eq!(one("http_requests_total{code=\"400\",method=\"post\"}"), Reading::Counter64(3));
        assert!(matches!(one("http_requests_total{method=\"get\"}"), Reading::Real(n) if (n - 1844.674).abs() < 0.001));
        assert_eq!(one("http_requests_total{method=\"put\"}"), Reading::Unknown(Unknown::Omitted));
        assert_eq!(one("took_seconds_bucket{le=\"1\"}"), Reading::Counter64(100_000));
        assert_eq!(one("took_seconds_bucket{le=\"+Inf\"}"), Reading::Counter64(144_320));
        assert_eq!(one("took_seconds_sum"), Reading::Real(53_423.5));
        assert_eq!(one("load{cpu=\"1\"}"), Reading::Unknown(Unknown::NoNumber));
        assert_eq!(one("temperature"), Reading::Real(-3.25));
        // Of no family that is told to count.
        assert_eq!(one("big_total"), Reading::Gauge(u64::MAX));
        assert_eq!(found(TEXT, &[&["none", "took_seconds_count"]]), [Reading::Counter64(144_320)]);
        let all = read(TEXT.as_bytes(), &[]);
        assert_eq!((all.started, all.malformed, all.lines), (Some(1.5e9), 1, 17));
    }
}
