//! Rules: what is watched, when it is bad, and whom to tell.
//!
//! Files are TOML; all mistakes are told at once, each with its place ([`read()`]). What rules say is in
//! `docs/manual/alerts.md`.

mod measure;
mod pattern;
mod read;
mod report;
mod schedule;
mod settings;
mod sliding;
mod text;
mod value;
mod week;

pub use measure::{Cell, GROUPS_MAX, Grouping, Measured, Tally, columns};
pub use pattern::{LabelTest, Pattern};
pub use read::{Known, RULE_FILE_OCTETS_MAX, RULE_FILES_MAX, read};
pub use report::{Choice, Destination, PARTS_MAX, Part, PartOf, REPORTS_MAX, Report, TIMES_MAX};
pub use schedule::{Length, When, next_after};
pub use settings::{
    Archive, By, ChannelKind, ConditionKind, Function, Measure, Number, SecurityKind, Severity, Side, TITLE, Table,
    Transport,
};
pub use sliding::{Measurement, Sliding};
pub use text::{Piece, Text};
pub use value::Expression;
pub use week::{HOURS_OF_WEEK, Place, Span, Zone};

use crate::rule::measure::ColumnTest;
use std::collections::BTreeMap;
use std::path::PathBuf;
use trunkline_store::filter::Filter;

/// Rules in all files.
// Limit: rules in all files
// Beyond: the files are refused
// Seen in: the error message
pub const RULES_MAX: usize = 10_000;
/// Channels, routes and maintenance windows in all files, each.
// Limit: channels, routes and maintenance windows, each
// Beyond: the files are refused
// Seen in: the error message
pub const SECTIONS_MAX: usize = 1_000;
/// Steps of escalation of a route.
// Limit: escalation steps of one route
// Beyond: the files are refused
// Seen in: the error message
pub const STEPS_MAX: usize = 16;
/// Characters of a name.
pub const NAME_MAX: usize = 64;

/// Labels that say of what a subject is: one of a rule's own does not take their place, as who may see the alert goes
/// by them.
pub const OF_WHAT: [&str; 5] = ["device_id", "graph", "source", "metric", "table"];

/// All that files say, each thing by its name.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// What is watched.
    pub rules: BTreeMap<String, Rule>,
    /// Which alerts go where.
    pub routes: BTreeMap<String, Route>,
    /// How people are told.
    pub channels: BTreeMap<String, Channel>,
    /// When nobody is told.
    pub maintenance: BTreeMap<String, Maintenance>,
    /// What is sent on a schedule.
    pub reports: BTreeMap<String, Report>,
    /// Each rule as its file has it.
    pub texts: BTreeMap<String, String>,
}

impl Rules {
    /// The routes that alerts of a rule take, as far as that is known before there is one: those that it names, or all
    /// whose tests hold for the labels that each alert of it has, and may hold for others.
    pub fn routes_of(&self, name: &str, rule: &Rule) -> Vec<String> {
        if !rule.routes.is_empty() {
            return rule.routes.clone();
        }
        let may = |test: &LabelTest| rule.label(name, &test.label).is_none_or(|known| test.holds(known));
        let all = self.routes.iter().filter(|(_, route)| route.when.iter().all(may));
        all.map(|(name, _)| name.clone()).collect()
    }
}

/// One rule.
#[derive(Clone, Debug)]
pub struct Rule {
    /// One line for people, with fields between bars.
    pub title: Text,
    /// More for people, with fields between bars.
    pub text: Text,
    /// What is watched.
    pub watch: Watch,
    /// When it is bad.
    pub condition: Condition,
    /// How values of a window become one.
    pub function: Function,
    /// Seconds of values that are looked at; 0 is the last value alone.
    pub window_s: i64,
    /// Samples that a window needs; with fewer it says nothing.
    pub minimum: u64,
    /// Seconds that it must be bad before anybody is told.
    pub for_s: i64,
    /// Seconds that it must be good before it is over.
    pub clear_for_s: i64,
    /// Without a value for so many seconds nothing is known.
    pub unknown_after_s: i64,
    /// Alerts within `flap_window_s` that make it flapping; 0 is never.
    pub flaps: u32,
    /// Seconds; one that flaps is over only after it was good for so long.
    pub flap_window_s: i64,
    /// How bad it is.
    pub severity: Severity,
    /// What routes choose by.
    pub labels: BTreeMap<String, String>,
    /// The routes that it takes, whatever they choose; none are those that choose it.
    pub routes: Vec<String>,
    /// Rules of which an alert at the same device, or at those it is reached through, stands for this one.
    pub depends: Vec<String>,
    /// When it holds; none is always.
    pub valid: Vec<Span>,
    /// Where the people are: of `valid`, and of hours of the week.
    pub zone: Zone,
}

impl Rule {
    /// A label that each alert of it has: its value, or that it has none; nothing where alerts differ in it.
    fn label<'r>(&'r self, name: &'r str, label: &str) -> Option<Option<&'r str>> {
        match label {
            "rule" => Some(Some(name)),
            "severity" => Some(Some(self.severity.name())),
            "subject" => None,
            "device" => (!matches!(self.watch, Watch::Series(_))).then_some(None),
            label if OF_WHAT.contains(&label) => None,
            label => self.labels.get(label).map(|value| Some(value.as_str())),
        }
    }

    /// Whether what was seen for another rule says the same for this one.
    pub fn sees_as(&self, other: &Rule) -> bool {
        let Rule { watch, condition, function, window_s, minimum, zone, .. } = self;
        (watch, condition, function) == (&other.watch, &other.condition, &other.function)
            && (window_s, minimum, zone) == (&other.window_s, &other.minimum, &other.zone)
    }

    /// For how many seconds values must have been seen until all that it looks at was: then it may find that it is
    /// good. A first measurement of rows is of one `every`.
    pub fn looks_back_s(&self) -> i64 {
        let is_last = matches!(self.function, Function::Last)
            && !matches!(self.condition, Condition::Rate { .. } | Condition::Flapping { .. });
        let window_s = if is_last { 0 } else { self.window_s };
        match &self.watch {
            Watch::Rows(rows) => window_s.saturating_add((rows.over_s - rows.every_s).max(0)),
            Watch::Series(_) | Watch::Metrics(_) => window_s,
        }
    }
}

/// What a rule watches.
#[derive(Clone, Debug, PartialEq)]
pub enum Watch {
    /// Data sources of graphs.
    Series(SeriesWatch),
    /// Rows of the store.
    Rows(RowsWatch),
    /// Metrics of the program itself.
    Metrics(MetricsWatch),
}

/// Which metrics; each value of one, told apart by its labels, is a subject.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricsWatch {
    /// Their names.
    pub names: Vec<Pattern>,
    /// Tests of their labels: all hold.
    pub labels: Vec<LabelTest>,
}

impl MetricsWatch {
    /// Whether a value is watched. Labels are looked up by their name.
    pub fn takes<'l>(&self, name: &str, label: impl Fn(&str) -> Option<&'l str>) -> bool {
        self.names.iter().any(|pattern| pattern.takes(name))
            && self.labels.iter().all(|test| test.holds(label(&test.label)))
    }
}

/// Which data sources, and what is made of them.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesWatch {
    /// Data templates; none is all.
    pub templates: Vec<Pattern>,
    /// Devices; none is all.
    pub devices: Vec<Pattern>,
    /// Rows of tables (`Gi0/1`); none is all.
    pub indexes: Vec<Pattern>,
    /// Tags of devices: all tests hold.
    pub tags: Vec<LabelTest>,
    /// The value, out of the series of a data source.
    pub value: Expression,
}

impl SeriesWatch {
    /// Whether a data source is watched. Tags are looked up by their name.
    pub fn takes<'t>(&self, template: &str, device: &str, index: &str, tag: impl Fn(&str) -> Option<&'t str>) -> bool {
        let any = |patterns: &[Pattern], text: &str| patterns.is_empty() || patterns.iter().any(|p| p.takes(text));
        any(&self.templates, template)
            && any(&self.devices, device)
            && any(&self.indexes, index)
            && self.tags.iter().all(|test| test.holds(tag(&test.label)))
    }
}

/// Which rows, and what is measured in them.
#[derive(Clone, Debug, PartialEq)]
pub struct RowsWatch {
    /// The table.
    pub table: Table,
    /// Of calls: those that pass.
    pub filter: Option<Filter>,
    /// Of any table: tests of columns that all hold.
    pub only: Vec<ColumnTest>,
    /// What is measured.
    pub measure: Measure,
    /// Of a share of calls: those that count.
    pub of: Option<Filter>,
    /// Of a share of any table: tests of those that count.
    pub of_columns: Vec<ColumnTest>,
    /// The column whose numbers are measured.
    pub column: Option<String>,
    /// Which percentile, 0 to 100.
    pub percentile: f64,
    /// What makes groups, each a subject of its own.
    pub group: Option<Grouping>,
    /// Seconds between two measurements.
    pub every_s: i64,
    /// Seconds before a measurement whose rows are counted.
    pub over_s: i64,
}

/// When a value is bad.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Condition {
    /// Above `limit`; good again at `clear` and below.
    High {
        /// What is more is bad.
        limit: f64,
        /// What is not more is good.
        clear: f64,
    },
    /// Below `limit`; good again at `clear` and above.
    Low {
        /// What is less is bad.
        limit: f64,
        /// What is not less is good.
        clear: f64,
    },
    /// It rises (or falls, where `falls`) by more than `limit` in `per_s`.
    Rate {
        /// Whether falling is what is bad.
        falls: bool,
        /// More is bad.
        limit: f64,
        /// What is not more is good.
        clear: f64,
        /// Seconds of the rate.
        per_s: i64,
    },
    /// Farther from what is usual at this hour of the week than `deviations` deviations, and than `floor`.
    Baseline {
        /// On which side.
        side: Side,
        /// More deviations are bad.
        deviations: f64,
        /// Not more are good.
        clear: f64,
        /// A distance that is never bad.
        floor: f64,
        /// Weeks that are remembered.
        weeks: u32,
        /// Weeks that an hour must have been seen before it says anything.
        weeks_min: u32,
    },
    /// No value for `after_s`.
    Down {
        /// Seconds.
        after_s: i64,
    },
    /// The value changed more often than `limit` in the window.
    Flapping {
        /// More is bad.
        limit: f64,
        /// Not more is good.
        clear: f64,
    },
}

/// Which alerts go to which channels.
#[derive(Clone, Debug)]
pub struct Route {
    /// Tests of labels that all hold; `rule`, `severity`, `subject` and `device` are labels, too.
    pub when: Vec<LabelTest>,
    /// Where its messages go.
    pub channels: Vec<String>,
    /// Labels whose values make a group: one message for all alerts of a group that come together.
    pub group: Vec<String>,
    /// Seconds that the first alert of a group waits for others.
    pub wait_s: i64,
    /// Seconds between two messages of a group at least.
    pub interval_s: i64,
    /// Whether it is told when an alert is over.
    pub resolved: bool,
    /// Who is told when nobody has acknowledged.
    pub steps: Vec<Step>,
}

/// A step of escalation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Seconds since the alert began.
    pub after_s: i64,
    /// Where it is told.
    pub channels: Vec<String>,
}

/// A way to tell people.
#[derive(Clone, Debug)]
pub struct Channel {
    /// How.
    pub way: Way,
    /// Seconds of an attempt.
    pub timeout_s: i64,
    /// Seconds that a message is tried.
    pub retry_for_s: i64,
}

impl Channel {
    /// Whether it can be asked to ignore a copy.
    pub fn knows_copies(&self) -> bool {
        !matches!(self.way, Way::Command { .. })
    }
}

/// The ways to tell people.
#[derive(Clone, Debug)]
pub enum Way {
    /// JSON, posted to an address.
    Webhook {
        /// `http://` or `https://`.
        url: String,
        /// Header fields of the request.
        headers: Vec<(String, String)>,
        /// A file with the value of an `Authorization` header field in its first line.
        authorization_file: Option<PathBuf>,
        /// A file with the issuers that are trusted (PEM); none is the system's.
        issuers: Option<PathBuf>,
    },
    /// Mail by SMTP.
    Mail {
        /// `host:port`.
        server: String,
        /// How the connection is protected.
        security: SecurityKind,
        /// Who sends it.
        from: String,
        /// Who gets it.
        to: Vec<String>,
        /// The user of the server, if it asks for one.
        user: Option<String>,
        /// A file with the password in its first line.
        password_file: Option<PathBuf>,
        /// As of a webhook.
        issuers: Option<PathBuf>,
    },
    /// Syslog (RFC 5424).
    Syslog {
        /// `host:port`.
        server: String,
        /// How it goes there.
        transport: Transport,
        /// The facility, 0 to 23.
        facility: u32,
        /// As of a webhook.
        issuers: Option<PathBuf>,
    },
    /// A program.
    Command {
        /// Program and arguments, with the fields of a message between bars.
        command: Vec<Text>,
    },
}

/// When nobody is told.
#[derive(Clone, Debug)]
pub struct Maintenance {
    /// Tests of labels that all hold, as of a route; none is everything.
    pub when: Vec<LabelTest>,
    /// Spans of the week.
    pub weekly: Vec<Span>,
    /// Begin and end, seconds since 1970.
    pub once: Option<(i64, i64)>,
    /// Where the people are.
    pub zone: Zone,
}

impl Maintenance {
    /// Whether it holds at a time, for labels that are looked up.
    pub fn holds<'l>(&self, at_s: i64, label: impl Fn(&str) -> Option<&'l str>) -> bool {
        self.when.iter().all(|test| test.holds(label(&test.label))) && self.is_now(at_s)
    }

    /// Whether it is its time.
    pub fn is_now(&self, at_s: i64) -> bool {
        let once = self.once.is_some_and(|(from, to)| (from..to).contains(&at_s));
        let weekly = || {
            let place = self.zone.place(at_s);
            self.weekly.iter().any(|span| span.holds(place))
        };
        once || weekly()
    }
}

#[cfg(test)]
mod tests;
