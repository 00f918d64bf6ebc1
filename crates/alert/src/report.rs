//! Reports: what a span of time came to, as a mail with tables and pictures.
//!
//! ```text
//!  [report.NAME] --schedule--> Calendar: what is due, what was sent for which time, what was missed
//!       |
//!       +--> Gather (graphs, store; off the rules' thread) --> Gathered --> document --> html, text --> mime
//!                                                                 +-------> JSON for webhooks
//! ```
//!
//! Rendering does no I/O and asks no clock: the same figures are the same octets. All that comes from outside is
//! escaped, and what would be too long is counted and said.

mod calendar;
mod document;
mod figures;
mod html;
mod incidents;
mod mime;
mod numbers;
mod outages;
mod plain;

pub use calendar::{Calendar, Due, Held, LATE_S_MAX, LastMade, OfReport, Reported, Told as MessageTold};
pub use document::{Block, Cell, Column, Document, PICTURES_MAX, PICTURES_OCTETS_MAX, Section, Table, document};
pub use figures::{
    AlertFigures, AlertShown, CallDay, CallFigures, ChargeFigures, ChargeSum, DestinationShown, DeviceFigures,
    DeviceShown, Figures, Gathered, GraphFigures, GraphShown, LossFigures, LossSum, Ranked, Ranking, RuleSum, Told,
};
pub use html::{HTML_OCTETS_MAX, Pictures, html};
pub use incidents::alerts;
pub use mime::mime;
pub use outages::{DEVICES_MAX, DevicesSeen, Outages};
pub use plain::plain;

use crate::entry::Entry;
use crate::rule::{Part, Zone};
use std::sync::atomic::{AtomicBool, Ordering};

/// A span of which a report tells.
#[derive(Clone, Debug)]
pub struct Asked<'a> {
    /// Its begin, seconds since 1970.
    pub from_s: i64,
    /// Its end.
    pub to_s: i64,
    /// The clocks of the report.
    pub zone: &'a Zone,
    /// Whether nobody waits for it any more.
    pub ends: &'a AtomicBool,
}

impl Asked<'_> {
    /// Whether nobody waits for it any more.
    pub fn is_over(&self) -> bool {
        self.ends.load(Ordering::Relaxed)
    }
}

/// What reports tell of and alerts do not know: graphs, calls, losses, charges.
pub trait Gather: Send + Sync {
    /// The figures of a section.
    ///
    /// # Errors
    /// Why there are none, in a sentence for those who read the report.
    fn gather(&self, part: &Part, asked: &Asked<'_>) -> Result<Figures, String>;
}

/// What is remembered for reports: a fold of entries.
#[derive(Debug, Default)]
pub struct Books {
    /// What is due, and what was sent.
    pub calendar: Calendar,
    /// When devices were up.
    pub outages: Outages,
}

impl Books {
    /// Takes over what an entry says; those of rules say nothing here.
    pub fn apply(&mut self, entry: &Entry) {
        match entry {
            Entry::Reported(reported) => self.calendar.apply(reported),
            Entry::Devices(seen) => self.outages.apply(seen),
            Entry::Outcome(outcome) => self.calendar.came(outcome),
            _ => {}
        }
    }

    /// All that must be known after a restart.
    pub fn snapshot(&self, mut put: impl FnMut(Entry)) {
        self.calendar.snapshot(|reported| put(Entry::Reported(reported)));
        self.outages.snapshot(|seen| put(Entry::Devices(seen)));
    }
}
