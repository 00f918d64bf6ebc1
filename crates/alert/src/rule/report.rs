//! What reports are made of.

use super::pattern::Pattern;
use super::schedule::{Length, When, next_after};
use super::settings::{Archive, By};
use super::week::Zone;
use core::fmt;
use trunkline_kit::config::{Raw, Value, quoted};

/// Reports in all files.
// Limit: reports in all files
// Beyond: the files are refused
// Seen in: the error message
pub const REPORTS_MAX: usize = 200;
/// Sections of a report.
// Limit: sections of one report
// Beyond: the files are refused
// Seen in: the error message
pub const PARTS_MAX: usize = 30;
/// Times of a schedule.
pub const TIMES_MAX: usize = 32;

/// A report: what is sent when to whom.
#[derive(Clone, Debug)]
pub struct Report {
    /// Its first line.
    pub title: String,
    /// What stands below it; may be empty.
    pub text: String,
    /// When it is sent.
    pub schedule: Vec<When>,
    /// By which clocks.
    pub zone: Zone,
    /// Of which time it tells.
    pub length: Length,
    /// Channels that get it: mail, and webhooks.
    pub channels: Vec<String>,
    /// Its sections, in order.
    pub parts: Vec<Part>,
}

impl Report {
    /// When it is sent next after a time, seconds since 1970.
    pub fn next_after(&self, at_s: i64) -> Option<i64> {
        next_after(&self.schedule, &self.zone, at_s)
    }

    /// Its schedule in words.
    pub fn schedule_text(&self) -> String {
        let times: Vec<String> = self.schedule.iter().map(ToString::to_string).collect();
        format!("{} {}", times.join(", "), self.zone.name())
    }

    /// When the span begins that it tells of at a time.
    pub fn begin(&self, end_s: i64) -> i64 {
        self.length.begin(&self.schedule, &self.zone, end_s)
    }
}

/// A section of a report.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its heading; empty is that of its kind.
    pub title: String,
    /// What it tells of.
    pub of: PartOf,
    /// What it lists at most.
    pub limit: usize,
}

/// What a section tells of.
#[derive(Clone, Debug)]
pub enum PartOf {
    /// Pictures of graphs.
    Graphs {
        /// Which.
        choice: Choice,
        /// Of which archives everything is taken; none is as their templates say.
        archive: Option<Archive>,
    },
    /// Series of graphs by a figure.
    Table {
        /// Of which graphs.
        choice: Choice,
        /// By which figure.
        by: By,
        /// As of pictures.
        archive: Option<Archive>,
    },
    /// Alerts.
    Alerts,
    /// When devices were up and down.
    Devices {
        /// Which; none is all.
        devices: Vec<Pattern>,
    },
    /// Calls.
    Calls {
        /// What a destination is.
        destination: Destination,
    },
    /// What the capture lost.
    Losses,
    /// What was charged.
    Charges,
}

impl PartOf {
    /// The heading of its kind.
    pub fn heading(&self) -> &'static str {
        match self {
            PartOf::Graphs { .. } => "Graphs",
            PartOf::Table { .. } => "Interfaces and other series",
            PartOf::Alerts => "Alerts",
            PartOf::Devices { .. } => "Availability of devices",
            PartOf::Calls { .. } => "Calls",
            PartOf::Losses => "Losses of the capture",
            PartOf::Charges => "Charges",
        }
    }
}

/// What calls are told apart by: where they go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// The address that they are sent to.
    Host,
    /// So many characters of the number that is called.
    Number(usize),
}

/// Characters of a number that make a destination.
const NUMBER_MAX: usize = 20;

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Destination::Host => f.write_str("host"),
            Destination::Number(characters) => write!(f, "callee/{characters}"),
        }
    }
}

impl Value for Destination {
    fn kind() -> String {
        format!("\"host\", or \"callee/N\" with 1 to {NUMBER_MAX} characters of the number that is called")
    }

    fn of(raw: &Raw) -> Result<Self, String> {
        let wrong = || format!("expected {}, not {}", Self::kind(), raw.describe());
        let text = raw.as_text().ok_or_else(wrong)?;
        let number = text.strip_prefix("callee/").and_then(|number| number.parse().ok());
        match (text, number.filter(|number| (1..=NUMBER_MAX).contains(number))) {
            ("host", _) => Ok(Destination::Host),
            (_, Some(characters)) => Ok(Destination::Number(characters)),
            _ => Err(wrong()),
        }
    }

    fn text(&self) -> String {
        quoted(&self.to_string())
    }
}

/// Which graphs: those that all of it takes; what is empty takes all.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// A place in a tree: names from the tree on.
    pub place: Vec<String>,
    /// Their devices.
    pub devices: Vec<Pattern>,
    /// Their templates.
    pub templates: Vec<Pattern>,
    /// Rows of tables that they are of.
    pub indexes: Vec<Pattern>,
    /// These, by their numbers.
    pub ids: Vec<u32>,
}
