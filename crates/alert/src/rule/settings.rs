//! The keys of rule files, and the types of their values.

use super::pattern::{LabelTest, Pattern};
use super::report::Destination;
use super::schedule::{Length, When};
use super::text::Text;
use super::week::{Span, Zone};
use core::fmt;
use std::path::PathBuf;
use std::time::Duration;
use trunkline_kit::config::{Raw, Value, quoted};

trunkline_kit::choices! {
    /// When a value is bad.
    pub enum ConditionKind {
        /// Above a limit.
        High = "high",
        /// Below a limit.
        Low = "low",
        /// Rising faster than a limit.
        Rise = "rise",
        /// Falling faster than a limit.
        Fall = "fall",
        /// Far from what is usual at this hour of the week.
        Baseline = "baseline",
        /// No value.
        Down = "down",
        /// Changing too often.
        Flapping = "flapping",
    }
}

trunkline_kit::choices! {
    /// How values of a window become one.
    pub enum Function {
        /// The last.
        Last = "last",
        /// Their mean, each as often as its samples.
        Mean = "mean",
        /// The least.
        Min = "min",
        /// The greatest.
        Max = "max",
        /// Their sum.
        Sum = "sum",
    }
}

trunkline_kit::choices! {
    /// How bad it is.
    pub enum Severity {
        /// To be known.
        Info = "info",
        /// Somebody should look at it.
        Warning = "warning",
        /// Somebody must look at it.
        Critical = "critical",
    }
}

trunkline_kit::choices! {
    /// On which side of the usual it is bad.
    pub enum Side {
        /// On both.
        Both = "both",
        /// What is more.
        Above = "above",
        /// What is less.
        Below = "below",
    }
}

trunkline_kit::choices! {
    /// Tables of the store that can be watched.
    pub enum Table {
        /// Calls.
        Calls = "calls",
        /// RTP streams.
        Streams = "streams",
        /// Ten seconds of a stream each.
        StreamIntervals = "stream_intervals",
        /// Registrations.
        Registrations = "registrations",
        /// Transactions outside of both.
        SipEvents = "sip_events",
        /// Losses of the capture itself.
        Losses = "losses",
        /// Charging data records.
        Charges = "charges",
    }
}

trunkline_kit::choices! {
    /// What is measured in rows.
    pub enum Measure {
        /// How many there are.
        Count = "count",
        /// How many of a hundred count.
        Share = "share",
        /// The sum of a column.
        Sum = "sum",
        /// The mean of a column.
        Mean = "mean",
        /// The least of a column.
        Min = "min",
        /// The greatest of a column.
        Max = "max",
        /// A percentile of a column.
        Percentile = "percentile",
    }
}

trunkline_kit::choices! {
    /// A way to tell people.
    pub enum ChannelKind {
        /// JSON, posted to an address.
        Webhook = "webhook",
        /// Mail by SMTP.
        Mail = "mail",
        /// Syslog (RFC 5424).
        Syslog = "syslog",
        /// A program.
        Command = "command",
    }
}

trunkline_kit::choices! {
    /// How a connection to a mail server is protected.
    pub enum SecurityKind {
        /// TLS after STARTTLS (RFC 3207); a server that has none gets no mail.
        Starttls = "starttls",
        /// TLS from the beginning (RFC 8314).
        Tls = "tls",
        /// Not at all: for a server on the same machine.
        None = "none",
    }
}

trunkline_kit::choices! {
    /// How syslog goes to its server.
    pub enum Transport {
        /// A datagram each (RFC 5426): what is lost is not known.
        Udp = "udp",
        /// Over TCP, octets counted (RFC 6587).
        Tcp = "tcp",
        /// Over TLS (RFC 5425).
        Tls = "tls",
    }
}

trunkline_kit::choices! {
    /// What a section of a report tells of.
    pub enum PartKind {
        /// Pictures of graphs.
        Graphs = "graphs",
        /// Series of graphs by a figure.
        Table = "table",
        /// Alerts.
        Alerts = "alerts",
        /// When devices were up and down.
        Devices = "devices",
        /// Calls.
        Calls = "calls",
        /// What the capture lost.
        Losses = "losses",
        /// What was charged.
        Charges = "charges",
    }
}

trunkline_kit::choices! {
    /// A figure of a series over a span.
    pub enum By {
        /// The 95th percentile.
        P95 = "p95",
        /// The mean.
        Mean = "mean",
        /// The greatest.
        Max = "max",
        /// The sum over time.
        Total = "total",
    }
}

trunkline_kit::choices! {
    /// Archives of round-robin files.
    pub enum Archive {
        /// Means.
        Average = "average",
        /// The least.
        Min = "min",
        /// The greatest.
        Max = "max",
        /// The last.
        Last = "last",
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

    fn text(&self) -> String {
        quoted(&self.to_string())
    }
}

const ZERO: Duration = Duration::ZERO;
const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(86_400);
const WEEK: Duration = Duration::from_secs(7 * 86_400);

/// The title of a rule that has none of its own.
pub const TITLE: &str = "|rule|: |subject|";

trunkline_kit::section! {
    /// A rule.
    pub(super) struct RuleSection {
        /// One line for people, with fields between bars.
        title: Text = Text::parse(TITLE) => Running;
        /// More for people, with fields between bars.
        text: Text = Text::default() => Running;
        /// Of series: data templates; none is all.
        template: Vec<Pattern> = Vec::new() => Running;
        /// Of series: devices; none is all.
        device: Vec<Pattern> = Vec::new() => Running;
        /// Of series: rows of tables, such as interfaces; none is all.
        index: Vec<Pattern> = Vec::new() => Running;
        /// Of series: tests of tags of the device, all of which hold.
        tags: Vec<LabelTest> = Vec::new() => Running;
        /// Of series: the value, a series or an expression such as `traffic_in,8,*`.
        value: String = String::new() => Running;
        /// Metrics of the program itself are watched, by their names, not series.
        metric: Vec<Pattern> = Vec::new() => Running;
        /// Rows of a table of the store are watched, not series.
        rows: Option<Table> = None => Running;
        /// Of calls: those that pass this filter.
        filter: String = String::new() => Running;
        /// Of rows: tests of columns that all hold, such as `place = ring*` or `count >= 10`.
        only: Vec<String> = Vec::new() => Running;
        /// Of rows: what is measured.
        measure: Measure = Measure::Count => Running;
        /// Of a share: those that count, a filter of calls or tests of columns of other tables.
        of: Vec<String> = Vec::new() => Running;
        /// Of rows: the column that is measured.
        column: String = String::new() => Running;
        /// Of a percentile: which.
        percentile: Number = Number(95.0) => Running, Number(0.0) => Number(100.0);
        /// Of rows: the column whose values are a subject each; `callee/4` are its first four characters, `src/host`
        /// is an address without its port.
        group: String = String::new() => Running;
        /// Of rows: the time between two measurements.
        every: Duration = MINUTE => Running, SECOND => DAY;
        /// Of rows: the time before a measurement whose rows are measured.
        over: Duration = Duration::from_secs(300) => Running, SECOND => WEEK;
        /// When it is bad.
        condition: ConditionKind = ConditionKind::High => Running;
        /// What is more (of `low`: less) is bad.
        limit: Option<Number> = None => Running;
        /// Where it is good again; none is the limit.
        clear: Option<Number> = None => Running;
        /// Of `rise` and `fall`: the time of the rate.
        per: Duration = MINUTE => Running, SECOND => WEEK;
        /// Of `baseline`: on which side of the usual it is bad.
        side: Side = Side::Both => Running;
        /// Of `baseline`: a distance that is never bad.
        floor: Number = Number(0.0) => Running;
        /// Of `baseline`: weeks that are remembered.
        weeks: u32 = 4 => Running, 1 => 8;
        /// Of `baseline`: weeks that an hour was seen before it says anything.
        weeks_min: u32 = 2 => Running, 1 => 8;
        /// Of `down`: the time without a value.
        after: Duration = Duration::from_secs(180) => Running, SECOND => WEEK;
        /// How values of the window become one.
        function: Function = Function::Mean => Running;
        /// The values that are looked at; `0 s` is the last one alone.
        window: Duration = ZERO => Running, ZERO => WEEK;
        /// Samples that the window needs.
        minimum: u32 = 1 => Running;
        /// How long it must be bad before it is told.
        r#for: Duration = ZERO => Running, ZERO => WEEK;
        /// How long it must be good before it is over.
        clear_for: Duration = ZERO => Running, ZERO => WEEK;
        /// Without a value for so long, nothing is known.
        unknown_after: Duration = Duration::from_secs(600) => Running, SECOND => WEEK;
        /// So many alerts within `flap-window` are flapping; 0 is never.
        flaps: u32 = 5 => Running, 0 => 16;
        /// One that flaps is over only after it was good for so long.
        flap_window: Duration = Duration::from_secs(3600) => Running, MINUTE => WEEK;
        /// How bad it is.
        severity: Severity = Severity::Warning => Running;
        /// Routes that it takes whatever they choose; none are those that choose it.
        routes: Vec<String> = Vec::new() => Running;
        /// Rules whose alerts at the same device, or on the way to it, stand for this one.
        depends: Vec<String> = Vec::new() => Running;
        /// When it holds; none is always.
        valid: Vec<Span> = Vec::new() => Running;
        /// The time zone of `valid` and of hours of the week.
        zone: Zone = Zone::default() => Running;
    }
}

trunkline_kit::section! {
    /// A route.
    pub(super) struct RouteSection {
        /// Tests of labels that all hold.
        when: Vec<LabelTest> = Vec::new() => Running;
        /// Where messages go.
        channels: Vec<String> = Vec::new() => Running;
        /// Labels whose values make a group.
        group: Vec<String> = vec!["rule".to_owned()] => Running;
        /// How long the first alert of a group waits for others.
        wait: Duration = Duration::from_secs(30) => Running, ZERO => DAY;
        /// The time between two messages of a group at least.
        interval: Duration = Duration::from_secs(300) => Running, ZERO => DAY;
        /// Whether it is told when an alert is over.
        resolved: bool = true => Running;
    }
}

trunkline_kit::section! {
    /// A step of escalation.
    pub(super) struct StepSection {
        /// The time since the alert began, if nobody has acknowledged it.
        after: Duration = Duration::from_secs(900) => Running, SECOND => WEEK;
        /// Where it is told.
        channels: Vec<String> = Vec::new() => Running;
    }
}

trunkline_kit::section! {
    /// A channel.
    pub(super) struct ChannelSection {
        /// How people are told.
        kind: ChannelKind = ChannelKind::Webhook => Running;
        /// Of a webhook: where it is.
        url: String = String::new() => Running;
        /// Of a webhook: header fields, `NAME: VALUE`.
        headers: Vec<String> = Vec::new() => Running;
        /// Of a webhook: a file with the value of the field `Authorization` in its first line.
        authorization_file: Option<PathBuf> = None => Running;
        /// A file with the issuers of servers' certificates that are trusted (PEM); none is the system's.
        issuers: Option<PathBuf> = None => Running;
        /// Of mail and syslog: `host:port`.
        server: String = String::new() => Running;
        /// Of mail: how the connection is protected.
        security: SecurityKind = SecurityKind::Starttls => Running;
        /// Of mail: who sends it.
        from: String = String::new() => Running;
        /// Of mail: who gets it.
        to: Vec<String> = Vec::new() => Running;
        /// Of mail: the user of the server.
        user: Option<String> = None => Running;
        /// Of mail: a file with the user's password in its first line.
        password_file: Option<PathBuf> = None => Running;
        /// Of syslog: how it goes there.
        transport: Transport = Transport::Udp => Running;
        /// Of syslog: the facility; 16 is local0.
        facility: u32 = 16 => Running, 0 => 23;
        /// Of a command: program and arguments, with fields between bars.
        command: Vec<Text> = Vec::new() => Running;
        /// How long an attempt may take.
        timeout: Duration = Duration::from_secs(20) => Running, SECOND => Duration::from_secs(300);
        /// How long a message is tried.
        retry_for: Duration = DAY => Running, ZERO => WEEK;
    }
}

trunkline_kit::section! {
    /// A maintenance window.
    pub(super) struct MaintenanceSection {
        /// Tests of labels that all hold; none is everything.
        when: Vec<LabelTest> = Vec::new() => Running;
        /// Spans of each week.
        weekly: Vec<Span> = Vec::new() => Running;
        /// When it begins, once: `2026-11-23 22:00`.
        from: String = String::new() => Running;
        /// When it ends.
        to: String = String::new() => Running;
        /// The time zone of all these.
        zone: Zone = Zone::default() => Running;
    }
}

trunkline_kit::section! {
    /// A report.
    pub(super) struct ReportSection {
        /// When it is sent: `Mon 07:00`, `daily 06:30`, `1st 06:00`, `last day 06:00`.
        schedule: Vec<When> = Vec::new() => Running;
        /// The time zone of all its times.
        zone: Zone = Zone::default() => Running;
        /// The time that it tells of, which ends when it is sent.
        span: Length = Length::DAY => Running;
        /// Who gets it: channels of mail, and webhooks.
        channels: Vec<String> = Vec::new() => Running;
        /// Its first line, and the subject of mail; none is its name.
        title: String = String::new() => Running;
        /// What stands below it.
        text: String = String::new() => Running;
    }
}

trunkline_kit::section! {
    /// A section of a report.
    pub(super) struct PartSection {
        /// What it tells of.
        kind: PartKind = PartKind::Graphs => Running;
        /// Its heading; none is that of its kind.
        title: String = String::new() => Running;
        /// Of graphs: a place in a tree, as TREE/FOLDER/NAME.
        place: String = String::new() => Running;
        /// Of graphs and devices: devices; none is all.
        device: Vec<Pattern> = Vec::new() => Running;
        /// Of graphs: templates of graphs; none is all.
        template: Vec<Pattern> = Vec::new() => Running;
        /// Of graphs: rows of tables, such as interfaces; none is all.
        index: Vec<Pattern> = Vec::new() => Running;
        /// Of graphs: these, by their numbers.
        ids: Vec<u32> = Vec::new() => Running;
        /// Of graphs: from which archives all is taken; none is as templates say.
        values: Option<Archive> = None => Running;
        /// Of a table: by which figure.
        by: By = By::P95 => Running;
        /// Of calls: what a destination is, `host` or `callee/5`.
        destination: Destination = Destination::Host => Running;
        /// What it lists at most; the rest is counted.
        limit: u32 = 10 => Running, 1 => 200;
    }
}
