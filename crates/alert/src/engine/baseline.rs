//! What is usual at an hour of the week: mean and deviation of the values of some weeks.

use crate::rule::{HOURS_OF_WEEK, Place, Side};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Subjects with a baseline: about 40 octets for each hour of the week and week that is remembered.
// Limit: subjects with a baseline
// Beyond: a further subject has none
// Seen in: `trunkline_alert_baselines_overflow_total`
pub const BASELINES_MAX: usize = 50_000;

/// What a subject's values were, by hour of the week.
#[derive(Clone, Debug, Default)]
pub struct Baseline {
    hours: BTreeMap<u16, Vec<Learned>>,
    /// The hour that goes on.
    now: Option<(u16, i64)>,
}

/// The values of an hour of one week.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Learned {
    /// Weeks since Monday, 1969-12-29.
    pub week: i64,
    /// How many values.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// The sum of the squares of their distances from it.
    pub squares: f64,
}

/// An hour of a subject that is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HourLearned {
    /// The rule.
    pub rule: String,
    /// The subject.
    pub subject: String,
    /// The hour of the week, less than 168.
    pub hour: u16,
    /// Its values.
    pub learned: Learned,
}

/// What is usual.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usual {
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub deviation: f64,
}

impl Usual {
    /// How far a value is from it, on the side that counts; less than zero is on the other one.
    pub fn distance(&self, value: f64, side: Side) -> f64 {
        match side {
            Side::Both => (value - self.mean).abs(),
            Side::Above => value - self.mean,
            Side::Below => self.mean - value,
        }
    }
}

impl Learned {
    /// One value more (Welford 1962).
    fn take(&mut self, value: f64) {
        self.count += 1;
        let before = value - self.mean;
        self.mean += before / self.count as f64;
        self.squares += before * (value - self.mean);
    }

    /// The values of both (Chan, Golub, LeVeque 1979).
    fn and(self, other: &Learned) -> Learned {
        let count = self.count + other.count;
        let (a, b) = (self.count as f64, other.count as f64);
        let far = other.mean - self.mean;
        Learned {
            week: other.week,
            count,
            mean: self.mean + far * b / (a + b),
            squares: self.squares + other.squares + far * far * a * b / (a + b),
        }
    }

    /// Whether it can have been learned.
    fn is_sound(&self) -> bool {
        (1..1 << 40).contains(&self.count) && self.mean.is_finite() && self.squares.is_finite() && self.squares >= 0.0
    }
}

impl Baseline {
    /// Takes a value; the hour that is over, if one is.
    pub fn learn(&mut self, place: Place, value: f64, weeks: u32) -> Option<HourLearned> {
        let hour = place.hour() as u16;
        let over = self.now.filter(|now| *now != (hour, place.week)).and_then(|(hour, week)| self.learned(hour, week));
        self.now = Some((hour, place.week));
        let all = self.hours.entry(hour).or_default();
        match all.last_mut().filter(|last| last.week == place.week) {
            Some(last) => last.take(value),
            None => {
                all.push(Learned { week: place.week, count: 1, mean: value, squares: 0.0 });
                // The week that goes on, and those before it.
                all.drain(..all.len().saturating_sub(weeks as usize + 1));
            }
        }
        over
    }

    /// What is usual at a place, by so many weeks before; none until `weeks_min` were seen.
    pub fn usual(&self, place: Place, weeks: u32, weeks_min: u32) -> Option<Usual> {
        let all = self.hours.get(&(place.hour() as u16))?;
        let before = || all.iter().rev().filter(|learned| learned.week < place.week).take(weeks as usize);
        let sum = before().copied().reduce(|sum, learned| sum.and(&learned))?;
        let enough = before().count() >= weeks_min as usize && sum.count >= 2;
        enough.then(|| Usual { mean: sum.mean, deviation: (sum.squares / (sum.count - 1) as f64).sqrt() })
    }

    /// All hours.
    pub fn all(&self) -> impl Iterator<Item = HourLearned> {
        let learned =
            |hour: u16, learned: Learned| HourLearned { rule: String::new(), subject: String::new(), hour, learned };
        self.hours.iter().flat_map(move |(hour, all)| all.iter().map(move |one| learned(*hour, *one)))
    }

    /// Takes over what was learned before.
    pub fn put(&mut self, hour: &HourLearned, weeks: u32) {
        if usize::from(hour.hour) >= HOURS_OF_WEEK || !hour.learned.is_sound() {
            return;
        }
        let all = self.hours.entry(hour.hour).or_default();
        match all.binary_search_by_key(&hour.learned.week, |learned| learned.week) {
            Ok(at) => all[at] = hour.learned,
            Err(at) => all.insert(at, hour.learned),
        }
        all.drain(..all.len().saturating_sub(weeks as usize + 1));
    }

    fn learned(&self, hour: u16, week: i64) -> Option<HourLearned> {
        let learned = self.hours.get(&hour)?.iter().find(|learned| learned.week == week)?;
        Some(HourLearned { rule: String::new(), subject: String::new(), hour, learned: *learned })
    }
}
