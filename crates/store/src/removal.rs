//! Rows that leave: what is told apart, and what went.

use crate::time::Day;
use std::collections::BTreeSet;
use trunkline_kit::Id;

/// A class of rows that can leave a day before the others. docs/decisions/0076.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// Calls, with their streams and the sums of their minutes.
    Calls,
    /// Streams, those of calls that stay as well: a call keeps its own figures.
    Streams,
    /// Ten-second intervals of streams.
    Intervals,
    /// Registrations and other transactions outside calls.
    Events,
    /// Losses of the capture.
    Losses,
    /// Charging data records.
    Charges,
}

impl Class {
    /// All of them, the largest that is needed least first.
    pub const ALL: [Class; 6] =
        [Class::Intervals, Class::Streams, Class::Events, Class::Calls, Class::Losses, Class::Charges];

    /// Its name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Class::Calls => "calls",
            Class::Streams => "streams",
            Class::Intervals => "intervals",
            Class::Events => "events",
            Class::Losses => "losses",
            Class::Charges => "charges",
        }
    }

    /// Its tables: the first has the rows that count.
    pub fn tables(self) -> &'static [&'static str] {
        match self {
            Class::Calls => &["calls", "call_index", "call_gists", "slices", "minutes"],
            Class::Streams => &["streams", "streams_elsewhere"],
            Class::Intervals => &["stream_intervals"],
            Class::Events => &["registrations", "sip_events"],
            Class::Losses => &["losses"],
            Class::Charges => &["charges"],
        }
    }
}

/// What there is of a class in a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Held {
    /// Rows.
    pub rows: u64,
    /// Octets of its tables.
    pub octets: u64,
}

/// What there is in a day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DayHeld {
    /// Which.
    pub day: Day,
    /// Octets of its files.
    pub octets: u64,
    /// Of each class, in the order of [`Class::ALL`].
    pub classes: [Held; Class::ALL.len()],
}

impl DayHeld {
    /// What there is of a class.
    pub fn of(&self, class: Class) -> Held {
        Class::ALL.iter().zip(self.classes).find(|(one, _)| **one == class).map_or(Held::default(), |(_, held)| held)
    }
}

/// Rows by their identifiers.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Chosen {
    /// Calls; their streams and intervals are meant as well.
    pub calls: BTreeSet<Id>,
    /// Streams that belong to no call; their intervals are meant as well.
    pub streams: BTreeSet<Id>,
    /// Registrations.
    pub registrations: BTreeSet<Id>,
    /// Other transactions.
    pub events: BTreeSet<Id>,
    /// Charging data records.
    pub charges: BTreeSet<Id>,
    /// Losses of these files or interfaces.
    pub loss_sources: BTreeSet<String>,
}

impl Chosen {
    /// How many rows are named.
    pub fn len(&self) -> usize {
        let ids = [&self.calls, &self.streams, &self.registrations, &self.events, &self.charges];
        ids.iter().map(|ids| ids.len()).sum()
    }

    /// Whether nothing is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0 && self.loss_sources.is_empty()
    }
}

/// Rows that went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Gone {
    /// Calls.
    pub calls: u64,
    /// Streams, those of calls among them.
    pub streams: u64,
    /// Intervals.
    pub intervals: u64,
    /// Registrations and other transactions.
    pub events: u64,
    /// Losses.
    pub losses: u64,
    /// Charging data records.
    pub charges: u64,
    /// Days that are left without a row, and were removed.
    pub days: u64,
    /// Days in whose file or log is still what was there before, as somebody reads them: who removes again settles it.
    pub unsettled: u64,
}

impl Gone {
    /// Rows in all.
    pub fn rows(&self) -> u64 {
        self.calls + self.streams + self.intervals + self.events + self.losses + self.charges
    }

    /// Adds what went elsewhere.
    pub fn add(&mut self, more: &Gone) {
        self.calls += more.calls;
        self.streams += more.streams;
        self.intervals += more.intervals;
        self.events += more.events;
        self.losses += more.losses;
        self.charges += more.charges;
        self.days += more.days;
        self.unsettled += more.unsettled;
    }

    /// Where rows of a class are counted.
    pub fn of(&mut self, class: Class) -> &mut u64 {
        match class {
            Class::Calls => &mut self.calls,
            Class::Streams => &mut self.streams,
            Class::Intervals => &mut self.intervals,
            Class::Events => &mut self.events,
            Class::Losses => &mut self.losses,
            Class::Charges => &mut self.charges,
        }
    }
}
