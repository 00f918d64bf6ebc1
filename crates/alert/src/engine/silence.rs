//! Silences: what people keep back for a time, beside the maintenance windows of rules.

use crate::rule::LabelTest;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Silences at a time.
// Limit: silences at once
// Beyond: a further silence is refused
// Seen in: the error message
pub const SILENCES_MAX: usize = 1_000;
/// Tests of one.
pub const SILENCE_TESTS_MAX: usize = 16;

/// Alerts with these labels are kept back for a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Silence {
    /// Its name: a UUID.
    pub id: String,
    /// Tests of labels that all hold, as of a route; none is everything. At most [`SILENCE_TESTS_MAX`].
    pub when: Vec<String>,
    /// From when on, seconds since 1970.
    pub from_s: i64,
    /// Until when.
    pub until_s: i64,
    /// Who wants it.
    pub by: String,
    /// Why; may be empty.
    pub why: String,
}

/// A silence is over before its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unsilenced {
    /// Which.
    pub id: String,
    /// Who says so.
    pub by: String,
    /// When, seconds since 1970.
    pub at_s: i64,
}

/// Those that hold or are to come, and devices that are worked at.
#[derive(Debug, Default)]
pub struct Silences {
    all: BTreeMap<String, (Silence, Vec<LabelTest>)>,
    /// Devices whose inventory says that they do not alarm.
    maintained: BTreeSet<String>,
}

impl Silences {
    /// Takes one over; false if there are too many, or its tests are none.
    pub fn put(&mut self, silence: &Silence) -> bool {
        let is_known = self.all.contains_key(&silence.id);
        let tests: Result<Vec<LabelTest>, String> = silence.when.iter().map(|text| LabelTest::parse(text)).collect();
        match tests {
            Ok(tests) if tests.len() <= SILENCE_TESTS_MAX && (is_known || self.all.len() < SILENCES_MAX) => {
                self.all.insert(silence.id.clone(), (silence.clone(), tests));
                true
            }
            _ => false,
        }
    }

    pub fn remove(&mut self, id: &str) -> bool {
        self.all.remove(id).is_some()
    }

    /// Forgets those that are over; whether there were any.
    pub fn expire(&mut self, now_s: i64) -> bool {
        let before = self.all.len();
        self.all.retain(|_, (silence, _)| silence.until_s > now_s);
        self.all.len() < before
    }

    /// Whether these are other devices than before.
    pub fn set_maintained(&mut self, devices: BTreeSet<String>) -> bool {
        let changed = self.maintained != devices;
        self.maintained = devices;
        changed
    }

    /// The devices that are worked at.
    pub fn maintained(&self) -> &BTreeSet<String> {
        &self.maintained
    }

    /// Whether something of a device is kept back; labels are looked up.
    pub fn hold<'l>(&self, at_s: i64, device: &str, label: impl Fn(&str) -> Option<&'l str>) -> bool {
        let holds = |(silence, tests): &(Silence, Vec<LabelTest>)| {
            (silence.from_s..silence.until_s).contains(&at_s) && tests.iter().all(|test| test.holds(label(&test.label)))
        };
        self.maintained.contains(device) || self.all.values().any(holds)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Silence> {
        self.all.values().map(|(silence, _)| silence)
    }
}
