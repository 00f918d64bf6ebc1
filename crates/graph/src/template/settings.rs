//! The keys of template files, and the types of their values.

use super::archive::{ARCHIVE_ROWS_MAX, Archive};
use super::condition::Condition;
use super::fields::{Piece, Text};
use super::oid::Oid;
use core::fmt;
use std::time::Duration;
use trunkline_kit::config::{self, Raw, Value, quoted};

trunkline_kit::choices! {
    /// What the numbers of a series are, as rrdtool names them.
    pub enum SeriesKind {
        /// A level: kept as it is.
        Gauge = "gauge",
        /// A counter of 32 or 64 bits that wraps: kept as a rate.
        Counter = "counter",
        /// A counter that may go back: kept as a rate, less than zero too.
        Derive = "derive",
        /// What came since it was read last: kept as a rate.
        Absolute = "absolute",
        /// As `counter`, of numbers with a fraction, without wraps.
        Dcounter = "dcounter",
        /// As `derive`, of numbers with a fraction.
        Dderive = "dderive",
    }
}

trunkline_kit::choices! {
    /// How values become one.
    pub enum Function {
        /// Their mean.
        Average = "average",
        /// The least.
        Min = "min",
        /// The greatest.
        Max = "max",
        /// The last.
        Last = "last",
    }
}

trunkline_kit::choices! {
    /// How a data template is read.
    pub enum SourceKind {
        /// SNMP.
        Snmp = "snmp",
        /// A program's answer.
        Script = "script",
        /// A document of JSON over HTTP.
        Json = "json",
        /// Metrics in the format of Prometheus over HTTP.
        Prometheus = "prometheus",
        /// ICMP echo.
        Icmp = "icmp",
        /// A connection to a port.
        Tcp = "tcp",
        /// A datagram to a port.
        Udp = "udp",
        /// A page over HTTP, and how long it takes.
        Http = "http",
        /// The program's own metrics.
        Program = "program",
    }
}

trunkline_kit::choices! {
    /// What an item of a graph is.
    pub enum ItemKind {
        /// A line.
        Line = "line",
        /// A filled area.
        Area = "area",
        /// A number in the legend.
        Print = "print",
        /// A line at a value.
        Hrule = "hrule",
        /// A line at a time.
        Vrule = "vrule",
        /// A mark where a value is not zero.
        Tick = "tick",
        /// A text in the legend.
        Comment = "comment",
    }
}

trunkline_kit::choices! {
    /// A number that the legend of a line or an area has.
    pub enum LegendWord {
        /// The last value.
        Last = "last",
        /// The mean.
        Average = "average",
        /// The least.
        Min = "min",
        /// The greatest.
        Max = "max",
        /// The 95th percentile.
        P95 = "p95",
        /// The sum over time: of octets a second, octets.
        Total = "total",
    }
}

trunkline_kit::choices! {
    /// What a graph of several data sources shows.
    pub enum Aggregate {
        /// It is of one.
        None = "none",
        /// Their sum.
        Sum = "sum",
        /// Their mean.
        Mean = "mean",
        /// The greatest of them.
        Max = "max",
        /// The least of them.
        Min = "min",
        /// Each of them, one on the other.
        Stacked = "stacked",
        /// Each of them, from the bottom.
        Overlaid = "overlaid",
    }
}

trunkline_kit::choices! {
    /// On which side of a threshold it is bad.
    pub enum Side {
        /// What is more is bad.
        Above = "above",
        /// What is less is bad.
        Below = "below",
    }
}

trunkline_kit::choices! {
    /// How bad it is.
    pub enum Severity {
        /// Somebody should look at it.
        Warning = "warning",
        /// Somebody must look at it.
        Critical = "critical",
    }
}

/// A finite number, whole or with a fraction.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Number(pub f64);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl Value for Number {
    fn kind() -> String {
        "a number".to_owned()
    }

    fn of(raw: &Raw) -> Result<Self, String> {
        let number = match raw {
            Raw::Integer(number) => Some(*number as f64),
            Raw::Text(text) | Raw::Word(text) => text.trim().parse().ok(),
            _ => None,
        };
        let number = number.filter(|number: &f64| number.is_finite());
        number.map(Number).ok_or_else(|| format!("expected {}, not {}", Self::kind(), raw.describe()))
    }

    /// Without an exponent, for a number with one is a float to TOML and a text here.
    fn text(&self) -> String {
        quoted(&self.to_string())
    }
}

/// The greatest value of a series, or an end of the axis of a graph.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub enum Bound {
    /// There is none.
    None,
    /// The speed of the row, in octets a second; of a graph, as its expressions have it: bit/s.
    Speed,
    /// This.
    Number(Number),
}

impl Value for Bound {
    fn kind() -> String {
        "a number, \"speed\" or \"none\"".to_owned()
    }

    fn of(raw: &Raw) -> Result<Self, String> {
        match raw.as_text() {
            Some("none") => Ok(Bound::None),
            Some("speed") => Ok(Bound::Speed),
            _ => match Number::of(raw) {
                Ok(number) => Ok(Bound::Number(number)),
                Err(_) => Err(format!("expected {}, not {}", Self::kind(), raw.describe())),
            },
        }
    }

    fn text(&self) -> String {
        match self {
            Bound::None => quoted("none"),
            Bound::Speed => quoted("speed"),
            Bound::Number(number) => number.text(),
        }
    }
}

/// A port: a number, or a field that holds one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Port(pub String);

impl Value for Port {
    fn kind() -> String {
        "a port such as 443, or a field such as \"|argument.port|\"".to_owned()
    }

    fn of(raw: &Raw) -> Result<Self, String> {
        let text = match raw {
            Raw::Integer(number) => number.to_string(),
            _ => raw.as_text().unwrap_or_default().to_owned(),
        };
        let is_field = matches!(Text::parse(&text).pieces(), [Piece::Field(_)]);
        let is_right = is_field || text.parse::<u16>().is_ok_and(|port| port > 0);
        if is_right { Ok(Port(text)) } else { Err(format!("expected {}, not {}", Self::kind(), raw.describe())) }
    }

    fn text(&self) -> String {
        if self.0.parse::<u16>().is_ok() { self.0.clone() } else { quoted(&self.0) }
    }
}

impl Value for Oid {
    fn kind() -> String {
        "an object identifier such as \"1.3.6.1.2.1.1.3.0\"".to_owned()
    }

    fn of(raw: &Raw) -> Result<Self, String> {
        raw.as_text().and_then(Oid::parse).ok_or_else(|| format!("expected {}, not {}", Self::kind(), raw.describe()))
    }

    fn text(&self) -> String {
        quoted(&self.to_string())
    }
}

impl Value for Condition {
    fn kind() -> String {
        "a condition such as \"ifType = 6, 117\"".to_owned()
    }

    fn of(raw: &Raw) -> Result<Self, String> {
        let text = raw.as_text().ok_or_else(|| format!("expected {}, not {}", Self::kind(), raw.describe()))?;
        Condition::parse(text)
    }

    fn text(&self) -> String {
        quoted(&self.to_string())
    }
}

/// Red, green, blue, and how much it covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Color(pub [u8; 4]);

impl Color {
    /// Reads `00cf00` or `00cf0080`, with or without `#`.
    pub fn parse(text: &str) -> Option<Color> {
        let digits = text.strip_prefix('#').unwrap_or(text);
        let right = matches!(digits.len(), 6 | 8) && digits.bytes().all(|b| b.is_ascii_hexdigit());
        let number = u32::from_str_radix(digits, 16).ok().filter(|_| right)?;
        Some(Color(if digits.len() == 8 { number } else { number << 8 | 0xff }.to_be_bytes()))
    }
}

impl fmt::Display for Color {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [red, green, blue, alpha] = self.0;
        write!(f, "{red:02x}{green:02x}{blue:02x}")?;
        if alpha == 0xff { Ok(()) } else { write!(f, "{alpha:02x}") }
    }
}

impl Value for Color {
    fn kind() -> String {
        "a colour such as \"00cf00\" or \"00cf0080\"".to_owned()
    }

    fn of(raw: &Raw) -> Result<Self, String> {
        raw.as_text().and_then(Color::parse).ok_or_else(|| format!("expected {}, not {}", Self::kind(), raw.describe()))
    }

    fn text(&self) -> String {
        quoted(&self.to_string())
    }
}

impl Value for Archive {
    fn kind() -> String {
        "an archive such as \"5 min for 2 weeks\" or \"6 steps for 700 rows\"".to_owned()
    }

    fn of(raw: &Raw) -> Result<Self, String> {
        let wrong = || format!("expected {}, not {}", Self::kind(), raw.describe());
        let (row, span) = raw.as_text().and_then(|text| text.split_once(" for ")).ok_or_else(wrong)?;
        let count = |text: &str, one: &str, many: &str| {
            let number = text.trim().strip_suffix(many).or_else(|| text.trim().strip_suffix(one))?;
            number.trim().parse::<u32>().ok().filter(|n| (1..=ARCHIVE_ROWS_MAX).contains(n))
        };
        if span.contains("row") || row.contains("step") {
            let both = count(row, "step", "steps").zip(count(span, "row", "rows"));
            return both.map(|(steps, rows)| Archive::Rows { steps, rows }).ok_or_else(wrong);
        }
        let seconds = |text: &str| seconds(config::time(text)?);
        match (seconds(row)?, seconds(span)?) {
            (row_s, span_s) if row_s <= span_s && span_s / row_s <= ARCHIVE_ROWS_MAX => {
                Ok(Archive::Span { row_s, span_s })
            }
            _ => Err(format!("\"{row} for {span}\": from one row to {ARCHIVE_ROWS_MAX}")),
        }
    }

    fn text(&self) -> String {
        let time = |seconds: u32| Duration::from_secs(seconds.into()).text().replace('"', "");
        quoted(&match self {
            Archive::Span { row_s, span_s } => format!("{} for {}", time(*row_s), time(*span_s)),
            Archive::Rows { steps, rows } => format!("{steps} steps for {rows} rows"),
        })
    }
}

/// Whole seconds, at least one.
pub fn seconds(time: Duration) -> Result<u32, String> {
    let whole = u32::try_from(time.as_secs()).ok().filter(|s| *s > 0 && time.subsec_nanos() == 0);
    whole.ok_or_else(|| format!("{} is not whole seconds, one or more", time.text()))
}

const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_secs(86_400);

trunkline_kit::section! {
    /// How series are kept.
    pub(super) struct ProfileSection {
        /// For people.
        title: String = String::new() => Running;
        /// The time between two values.
        step: Duration = Duration::from_secs(60) => Running, SECOND => DAY;
        /// Without a value for so long a series is unknown; none is two steps.
        heartbeat: Option<Duration> = None => Running;
        /// The part of a row that may be unknown, 0 to less than 1.
        unknown: Number = Number(0.5) => Running, Number(0.0) => Number(0.999_999);
        /// How values become a row.
        functions: Vec<Function> = vec![Function::Average, Function::Max] => Running;
        /// The archives: `5 min for 2 weeks`, or `6 steps for 700 rows`.
        archives: Vec<Archive> = Vec::new() => Running;
    }
}

trunkline_kit::section! {
    /// A table of a device.
    pub(super) struct TableSection {
        /// What its rows are.
        title: String = String::new() => Running;
        /// The column whose instances are the rows; none is the first of `names`.
        rows: Option<Oid> = None => Running;
        /// Columns with the name of a row, the first that there is; `index` is the index itself.
        names: Vec<String> = Vec::new() => Running;
        /// Columns with what people wrote about a row, the first that says anything.
        labels: Vec<Oid> = Vec::new() => Running;
        /// Columns with the speed of a row, bit/s, the first that is not zero: `OID`, or `OID * 1000000`.
        speeds: Vec<String> = Vec::new() => Running;
    }
}

trunkline_kit::section! {
    /// What is read together.
    pub(super) struct DataSection {
        /// For people, with fields between bars.
        title: String = String::new() => Running;
        /// How it is read.
        source: SourceKind = SourceKind::Snmp => Running;
        /// The table whose rows have a data source each.
        table: String = String::new() => Running;
        /// The rows that count: `FIELD = VALUE, VALUE` or `FIELD != VALUE`, all of them.
        only: Vec<Condition> = Vec::new() => Running;
        /// The sysObjectIDs it is for, as beginnings; none is all.
        matches: Vec<Oid> = Vec::new() => Running;
        /// The profile of its files.
        profile: String = "minute".to_owned() => Running;
        /// The time between two readings; none is the profile's.
        step: Option<Duration> = None => Running, Some(SECOND) => Some(DAY);
        /// Of a script: program and arguments.
        command: Vec<String> = Vec::new() => Running;
        /// Of a page: where it is.
        url: String = String::new() => Running;
        /// How long an answer may take.
        timeout: Duration = Duration::from_secs(5) => Running, Duration::from_millis(10) => Duration::from_secs(300);
        /// Of ICMP: echo requests of a round.
        count: u32 = 5 => Running, 1 => 100;
        /// Of a connection or a datagram: the port, or a field between bars that holds it.
        port: Port = Port::default() => Running;
        /// Of a datagram: what is sent, with fields between bars; nothing is one octet that is zero.
        request: String = String::new() => Running;
    }
}

trunkline_kit::section! {
    /// A series.
    pub(super) struct SeriesSection {
        /// Its name: letters, digits and underscores.
        name: String = String::new() => Running;
        /// What it is, for people.
        label: String = String::new() => Running;
        /// What its numbers are.
        kind: SeriesKind = SeriesKind::Gauge => Running;
        /// Where it is read, the first that the device has.
        read: Vec<String> = Vec::new() => Running;
        /// What is less is unknown.
        min: Option<Number> = None => Running;
        /// What is more is unknown: a number, or `speed` of the row.
        max: Bound = Bound::None => Running;
        /// Without a value for so long it is unknown; none is the profile's.
        heartbeat: Option<Duration> = None => Running;
        /// What each number is multiplied with.
        factor: Number = Number(1.0) => Running;
        /// A field of the row with which it is multiplied.
        factor_of: Option<String> = None => Running;
        /// A field of the row that says how many decimals it has (RFC 3433).
        decimals_of: Option<String> = None => Running;
        /// A field of the row that says of which unit it is (RFC 3433).
        scale_of: Option<String> = None => Running;
    }
}

trunkline_kit::section! {
    /// A graph.
    pub(super) struct GraphSection {
        /// For people, with fields between bars.
        title: String = String::new() => Running;
        /// What stands at its axis.
        unit: String = String::new() => Running;
        /// 1000, or 1024 for what is counted in powers of two.
        base: u32 = 1000 => Running;
        /// The lower end of the axis.
        lower: Bound = Bound::None => Running;
        /// The upper end of the axis.
        upper: Bound = Bound::None => Running;
        /// Whether the ends hold for what lies beyond them, too.
        rigid: bool = false => Running;
        /// Whether the axis is logarithmic.
        logarithmic: bool = false => Running;
        /// Columns of a picture.
        width: u32 = 500 => Running, 10 => 10_000;
        /// Rows of a picture.
        height: u32 = 150 => Running, 10 => 10_000;
        /// What a graph of several data sources shows.
        aggregate: Aggregate = Aggregate::None => Running;
    }
}

trunkline_kit::section! {
    /// An item of a graph.
    pub(super) struct ItemSection {
        /// What it is.
        kind: ItemKind = ItemKind::Line => Running;
        /// What is drawn or printed: a name; of a rule, a number or a computed value, or a time in seconds.
        value: String = String::new() => Running;
        /// The colour.
        color: Option<Color> = None => Running;
        /// The width of a line, or the height of a mark as a part of the graph's.
        width: Number = Number(1.0) => Running, Number(0.0) => Number(100.0);
        /// Whether it stands on the item before it.
        stack: bool = false => Running;
        /// Lengths of dashes and gaps, dots of the picture.
        dashes: Vec<u32> = Vec::new() => Running;
        /// Its text in the legend, with fields between bars.
        label: String = String::new() => Running;
        /// Numbers in the legend behind it.
        legend: Vec<LegendWord> = Vec::new() => Running;
        /// Of a print: how values become one.
        function: Function = Function::Average => Running;
        /// Of a print: how it is written, as rrdtool does.
        format: String = DEFAULT_FORMAT.to_owned() => Running;
        /// Whether the legend goes on in a line of its own.
        line_end: bool = false => Running;
    }
}

/// How a number of a legend is written.
pub const DEFAULT_FORMAT: &str = "%8.2lf %s";

trunkline_kit::section! {
    /// A threshold that is drawn.
    pub(super) struct ThresholdSection {
        /// Where: a number, or a number with fields between bars and an expression, `|speed|,0.8,*`.
        value: String = String::new() => Running;
        /// The side that is bad.
        side: Side = Side::Above => Running;
        /// How bad.
        severity: Severity = Severity::Warning => Running;
        /// Its text in the legend.
        label: String = String::new() => Running;
    }
}

trunkline_kit::section! {
    /// What devices of a kind get.
    pub(super) struct DeviceSection {
        /// For people.
        title: String = String::new() => Running;
        /// The sysObjectIDs it is for, as beginnings; none is no device by itself.
        matches: Vec<Oid> = Vec::new() => Running;
        /// Data templates that are read even without a graph.
        data: Vec<String> = Vec::new() => Running;
        /// Graph templates.
        graphs: Vec<String> = Vec::new() => Running;
    }
}
