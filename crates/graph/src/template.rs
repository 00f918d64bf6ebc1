//! Templates: what a data source reads and keeps, and how a graph of it looks.
//!
//! ```text
//!  profile  steps and archives of a round-robin file          table    rows of a device: names, labels, speed, fields
//!     ^                                                          ^
//!     +--------------------- data -----------------------------+      what is read, as which series
//!                              ^
//!                            graph                                     items, expressions, thresholds
//!                              ^
//!                            device                                    which graphs a kind of device gets
//! ```
//!
//! Files are TOML ([`read()`] takes all of them and tells all mistakes, each with its place; [`write()`] makes one that
//! is read as the same). What comes with the program stands in [`built_in`]. A file that says a name again replaces it.
//!
//! **Rows are known by name** ([`Table::names`]), never by their present index: an interface is `Gi0/1`, and its
//! ifIndex is only where it is found today.

mod archive;
pub mod built_in;
mod condition;
mod fields;
mod graph;
mod oid;
mod read;
mod rpn;
mod settings;
mod write;

pub use archive::{ARCHIVE_ROWS_MAX, Archive, Profile};
pub use condition::{Comparison, Condition};
pub use fields::{ARGUMENT_PREFIX, DEVICE_FIELDS, Piece, ROW_FIELDS, Text, expand, is_field_of_all};
pub use graph::{Definition, Expression, GraphTemplate, Item, Legend, Threshold};
pub use oid::{OID_ARCS_MAX, Oid};
pub(crate) use read::read_among;
pub use read::{TEMPLATE_FILE_OCTETS_MAX, TEMPLATE_FILES_MAX, check_format, read};
pub use rpn::{RPN_WORDS_MAX, check_computed, check_value, is_operator};
pub use settings::{
    Aggregate, Bound, Color, Function, ItemKind, LegendWord, Number, SeriesKind, Severity, Side, SourceKind,
};
pub use write::write;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Templates of one kind in all files.
// Limit: templates of one kind
// Beyond: the files are refused
// Seen in: the error message
pub const TEMPLATES_MAX: usize = 10_000;
/// Series of a data template: a round-robin file has as many data sources.
// Limit: series of one data template
// Beyond: the template is refused
// Seen in: the error message
pub const SERIES_MAX: usize = 64;
/// Characters of the name of a series (DS_NAM_SIZE of rrdtool, without the zero).
pub const SERIES_NAME_MAX: usize = 19;
/// Ways to read a series, fields of a table, names and labels of its rows.
pub const READS_MAX: usize = 16;
/// Items, definitions, expressions or thresholds of a graph template, each.
// Limit: items, definitions, expressions or thresholds of one graph template
// Beyond: the template is refused
// Seen in: the error message
pub const ITEMS_MAX: usize = 256;
/// Characters of the name of a template, a table, a definition.
pub const NAME_MAX: usize = 64;
/// The shortest and the longest step, seconds.
pub const STEP_S: core::ops::RangeInclusive<u32> = 1..=86_400;

/// All templates, each by its name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Library {
    /// Profiles.
    pub profiles: BTreeMap<String, Profile>,
    /// Tables.
    pub tables: BTreeMap<String, Table>,
    /// Data templates.
    pub data: BTreeMap<String, DataTemplate>,
    /// Graph templates.
    pub graphs: BTreeMap<String, GraphTemplate>,
    /// Device templates.
    pub devices: BTreeMap<String, DeviceTemplate>,
}

/// A table of a device, whose rows come and go.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// What its rows are, for people.
    pub title: String,
    /// The column whose instances are the rows; none is the first column of `names`.
    pub rows: Option<Oid>,
    /// Where the name of a row is read, the first that there is.
    pub names: Vec<RowName>,
    /// Where what people wrote about a row is read.
    pub labels: Vec<Oid>,
    /// Where the speed of a row is read, and what one of its units is in bit/s (ifHighSpeed: 1,000,000).
    pub speeds: Vec<(Oid, f64)>,
    /// What else is known about a row, and may stand in titles and expressions between bars.
    pub fields: BTreeMap<String, Oid>,
}

impl Table {
    /// The column whose instances are the rows; a table that was read has one.
    pub fn row_column(&self) -> Option<&Oid> {
        self.rows.as_ref().or_else(|| self.names.iter().find_map(RowName::column))
    }

    /// All columns that say something about a row, each once.
    pub fn columns(&self) -> Vec<&Oid> {
        let names = self.names.iter().filter_map(RowName::column);
        let speeds = self.speeds.iter().map(|(oid, _)| oid);
        let all = self.rows.iter().chain(names).chain(&self.labels).chain(speeds).chain(self.fields.values());
        let mut columns: Vec<&Oid> = all.collect();
        columns.sort();
        columns.dedup();
        columns
    }
}

/// Where the name of a row is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowName {
    /// In this column.
    Column(Oid),
    /// The index itself is the name: it is an address or a number that stays (bgpPeerRemoteAddr).
    Index,
}

impl RowName {
    fn column(&self) -> Option<&Oid> {
        match self {
            RowName::Column(oid) => Some(oid),
            RowName::Index => None,
        }
    }
}

/// What is read together and kept in one round-robin file.
#[derive(Clone, Debug, PartialEq)]
pub struct DataTemplate {
    /// For people, with fields between bars.
    pub title: Text,
    /// How it is read.
    pub source: Source,
    /// The table whose rows have a data source each; none is one data source for the device.
    pub table: Option<String>,
    /// The rows that count: all conditions hold.
    pub only: Vec<Condition>,
    /// The sysObjectIDs it is for, as beginnings; none is all.
    pub matches: Vec<Oid>,
    /// The profile of its files.
    pub profile: String,
    /// Seconds between two readings, where that is not the profile's step.
    pub step: Option<u32>,
    /// What is read.
    pub series: Vec<Series>,
}

impl DataTemplate {
    /// Whether it is for devices of that sysObjectID.
    pub fn is_for(&self, object: &Oid) -> bool {
        is_for(&self.matches, object)
    }

    /// The names of what a data source says itself: `NAME` of `|argument.NAME|`, in how and as what it is read.
    pub fn arguments(&self) -> BTreeSet<String> {
        let names = self.series.iter().flat_map(|series| &series.read).filter_map(|read| match read {
            Reading::Name(name) => Some(Text::parse(name)),
            Reading::Object(_) => None,
        });
        let of = |text: &Text| -> Vec<String> {
            text.fields().filter_map(|field| Some(field.strip_prefix(ARGUMENT_PREFIX)?.to_owned())).collect()
        };
        self.source.texts().into_iter().flat_map(of).chain(names.flat_map(|name| of(&name))).collect()
    }
}

fn is_for(matches: &[Oid], object: &Oid) -> bool {
    matches.is_empty() || matches.iter().any(|prefix| object.starts_with(prefix))
}

/// How a data template is read. URLs and arguments hold fields between bars.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// SNMP: [`Series::read`] are object identifiers, of columns if there is a table; or `|argument.NAME|`, where the
    /// data source says which one.
    Snmp,
    /// A program, its answer a number or `name:number` with blanks between: [`Series::read`] are names.
    Script {
        /// Program and arguments.
        command: Vec<Text>,
        /// How long it may take.
        timeout: Duration,
    },
    /// A document of JSON: [`Series::read`] are pointers (RFC 6901).
    Json {
        /// Where it is.
        url: Text,
        /// How long it may take.
        timeout: Duration,
    },
    /// Metrics in the text format of Prometheus: [`Series::read`] are names with labels, `name{label="value"}`.
    Prometheus {
        /// Where they are.
        url: Text,
        /// How long it may take.
        timeout: Duration,
    },
    /// ICMP echo: [`Series::read`] are [`ICMP_READS`].
    Icmp {
        /// Requests of a round.
        count: u32,
        /// How long the answer to the last one may take.
        timeout: Duration,
    },
    /// A connection to a port, which is let go at once: [`Series::read`] are [`PORT_READS`].
    Tcp {
        /// The port: a number, or a field that holds one.
        port: Text,
        /// How long it may take.
        timeout: Duration,
    },
    /// A datagram to a port, and what is answered: [`Series::read`] are [`PORT_READS`].
    Udp {
        /// The port: a number, or a field that holds one.
        port: Text,
        /// What is sent; nothing is one octet that is zero.
        request: Text,
        /// How long the answer may take.
        timeout: Duration,
    },
    /// A page over HTTP: [`Series::read`] are [`HTTP_READS`].
    Http {
        /// Where it is.
        url: Text,
        /// How long it may take.
        timeout: Duration,
    },
    /// The program's own metrics: [`Series::read`] are their names, with labels as those of Prometheus.
    Program,
}

impl Source {
    /// All that has fields.
    fn texts(&self) -> Vec<&Text> {
        match self {
            Source::Script { command, .. } => command.iter().collect(),
            Source::Json { url, .. } | Source::Prometheus { url, .. } | Source::Http { url, .. } => vec![url],
            Source::Tcp { port, .. } => vec![port],
            Source::Udp { port, request, .. } => vec![port, request],
            Source::Snmp | Source::Icmp { .. } | Source::Program => Vec::new(),
        }
    }

    /// Its name, as templates have it.
    pub fn name(&self) -> &'static str {
        match self {
            Source::Snmp => "snmp",
            Source::Script { .. } => "script",
            Source::Json { .. } => "json",
            Source::Prometheus { .. } => "prometheus",
            Source::Icmp { .. } => "icmp",
            Source::Tcp { .. } => "tcp",
            Source::Udp { .. } => "udp",
            Source::Http { .. } => "http",
            Source::Program => "program",
        }
    }
}

/// What one round of ICMP echo gives: percent that were lost, and seconds.
pub const ICMP_READS: [&str; 6] = ["loss", "rtt-min", "rtt-mean", "rtt-max", "rtt-deviation", "answered"];
/// What one try of a port gives: 1 or 0 whether it is open, 1 or 0 whether the device has answered at all (that there
/// is nobody at the port, too), seconds until the connection or the answer was there.
pub const PORT_READS: [&str; 3] = ["up", "reached", "time"];
/// What one run of a program gives beside what it says: its exit code, seconds.
pub const SCRIPT_READS: [&str; 2] = ["exit-code", "time-total"];
/// What one page over HTTP gives: 1 or 0, the status code, seconds, octets, seconds until the certificate ends.
pub const HTTP_READS: [&str; 7] =
    ["up", "status", "time-connect", "time-first-octet", "time-total", "octets", "certificate-left"];

/// A series: one data source of a round-robin file.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name: letters, digits and underscores, at most [`SERIES_NAME_MAX`].
    pub name: String,
    /// What it is, for people.
    pub label: String,
    /// What its numbers are.
    pub kind: SeriesKind,
    /// Where it is read, the first that the device has: a 64-bit counter before that of 32 bits.
    pub read: Vec<Reading>,
    /// What is less is unknown.
    pub min: Option<Number>,
    /// What is more is unknown.
    pub max: Bound,
    /// Without a value for so many seconds it is unknown; none is the profile's.
    pub heartbeat: Option<u32>,
    /// What each number is multiplied with; 1 for counters, whose wraps would be lost.
    pub factor: Number,
    /// A field of the row with which it is multiplied (hrStorageAllocationUnits).
    pub factor_of: Option<String>,
    /// A field of the row that says how many decimals it has (EntitySensorPrecision, RFC 3433).
    pub decimals_of: Option<String>,
    /// A field of the row that says of which unit it is (EntitySensorDataScale, RFC 3433).
    pub scale_of: Option<String>,
}

impl Series {
    /// What a number of a row is multiplied with, given the row's fields; none while a field that it needs is not
    /// there or says nothing.
    pub fn factor<'f>(&self, field: impl Fn(&str) -> Option<&'f str>) -> Option<f64> {
        let number = |name: &String| field(name)?.trim().parse::<f64>().ok().filter(|n| n.is_finite());
        let mut factor = self.factor.0;
        if let Some(name) = &self.factor_of {
            factor *= number(name)?;
        }
        if let Some(name) = &self.decimals_of {
            // RFC 3433 section 4: -8 to 9.
            factor *= 10f64.powi(-(number(name).filter(|n| n.abs() <= 9.0)? as i32));
        }
        if let Some(name) = &self.scale_of {
            // yocto(1), .., units(9), .., yotta(17), a thousand between two.
            let scale = number(name).filter(|n| (1.0..=17.0).contains(n))?;
            factor *= 10f64.powi(3 * (scale as i32 - 9));
        }
        Some(factor)
    }

    /// Whether it counts: what is kept is the difference by time.
    pub fn is_counter(&self) -> bool {
        !matches!(self.kind, SeriesKind::Gauge | SeriesKind::Absolute)
    }
}

/// Where a series is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reading {
    /// An object of SNMP.
    Object(Oid),
    /// A name in what the source gives; of SNMP `|argument.NAME|`, an object identifier that the data source says.
    Name(String),
}

/// What devices of a kind get.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceTemplate {
    /// For people.
    pub title: String,
    /// The sysObjectIDs it is for, as beginnings; none is no device by itself.
    pub matches: Vec<Oid>,
    /// Data templates that are read even without a graph.
    pub data: Vec<String>,
    /// Graph templates.
    pub graphs: Vec<String>,
}

impl Library {
    /// The step of a data template, seconds; none if there is no such template.
    pub fn step(&self, data: &str) -> Option<u32> {
        let template = self.data.get(data)?;
        template.step.or_else(|| Some(self.profiles.get(&template.profile)?.step))
    }

    /// The data templates that devices of a device template get.
    pub fn data_of<'l>(&'l self, device: &'l DeviceTemplate) -> impl Iterator<Item = &'l DataTemplate> {
        let shown = device.graphs.iter().filter_map(move |name| self.graphs.get(name)).flat_map(GraphTemplate::data);
        shown.chain(device.data.iter().map(String::as_str)).filter_map(move |name| self.data.get(name))
    }

    /// The device template for a sysObjectID: the one with the longest beginning, the first by name among equals.
    pub fn device_for(&self, object: &Oid) -> Option<(&str, &DeviceTemplate)> {
        let longest =
            |t: &DeviceTemplate| t.matches.iter().filter(|m| object.starts_with(m)).map(|m| m.arcs().len()).max();
        let found = self.devices.iter().filter_map(|(name, template)| Some((longest(template)?, name, template)));
        let (_, name, template) = found.max_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(a.1)))?;
        Some((name, template))
    }

    /// Takes over all of another library; a name that is there already is replaced.
    pub fn merge(&mut self, other: Library) {
        self.profiles.extend(other.profiles);
        self.tables.extend(other.tables);
        self.data.extend(other.data);
        self.graphs.extend(other.graphs);
        self.devices.extend(other.devices);
    }
}

#[cfg(test)]
mod tests;
