//! What was gathered for a report. Times are seconds since 1970; what is not known is none.

use crate::rule::Zone;
use serde::Serialize;

/// A report with all its figures.
#[derive(Clone, Debug)]
pub struct Gathered {
    /// The report's name.
    pub report: String,
    /// Its first line.
    pub title: String,
    /// What stands below it.
    pub text: String,
    /// When the span begins.
    pub from_s: i64,
    /// When it ends.
    pub to_s: i64,
    /// When it was gathered.
    pub made_s: i64,
    /// By which clocks times are told.
    pub zone: Zone,
    /// Its sections: headings, and their figures or why there are none.
    pub sections: Vec<Told>,
}

/// A section.
#[derive(Clone, Debug)]
pub struct Told {
    /// Its heading.
    pub title: String,
    /// Its figures, or why there are none.
    pub figures: Result<Figures, String>,
}

/// Figures of a section.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Figures {
    /// Pictures.
    Graphs(GraphFigures),
    /// Series by a figure.
    Table(Ranking),
    /// Alerts.
    Alerts(AlertFigures),
    /// Devices.
    Devices(DeviceFigures),
    /// Calls.
    Calls(CallFigures),
    /// Losses of the capture.
    Losses(LossFigures),
    /// Charges.
    Charges(ChargeFigures),
}

/// Pictures of graphs.
#[derive(Clone, Debug, Default, Serialize)]
pub struct GraphFigures {
    /// They, in order.
    pub graphs: Vec<GraphShown>,
    /// Graphs that were chosen and are not shown.
    pub more: u64,
}

/// A graph.
#[derive(Clone, Debug, Default, Serialize)]
pub struct GraphShown {
    /// Its number.
    pub id: u32,
    /// Its title.
    pub title: String,
    /// The octets of its picture (PNG).
    #[serde(skip)]
    pub png: Vec<u8>,
    /// Why there is no picture.
    pub trouble: Option<String>,
}

/// Series of graphs, by one of their figures.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Ranking {
    /// By which: `p95`, `mean`, `max`, `total`.
    pub by: &'static str,
    /// They, the greatest first.
    pub rows: Vec<Ranked>,
    /// Series that were chosen and are not shown.
    pub more: u64,
    /// Series of which nothing is known in the span.
    pub unknown: u64,
    /// Graphs beyond those that are looked at.
    pub beyond: u64,
}

/// A series of a graph.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Ranked {
    /// The graph.
    pub graph: u32,
    /// Its title.
    pub title: String,
    /// The series, as the legend has it.
    pub series: String,
    /// The unit of its values, such as `bit/s`.
    pub unit: String,
    /// 1000 or 1024: what a `k` is.
    pub base: u32,
    /// The 95th percentile.
    pub p95: Option<f64>,
    /// The mean.
    pub mean: Option<f64>,
    /// The greatest.
    pub max: Option<f64>,
    /// The sum over time: values times seconds.
    pub total: Option<f64>,
}

/// Alerts of the span: those that were open at some time of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AlertFigures {
    /// How many.
    pub count: u64,
    /// Of these, how many are not over at the end of it.
    pub open: u64,
    /// How many of each severity, the worst first.
    pub severities: Vec<(String, u64)>,
    /// By rule, the most first.
    pub rules: Vec<RuleSum>,
    /// Rules beyond those.
    pub more_rules: u64,
    /// The longest of them.
    pub longest: Option<AlertShown>,
    /// They, the newest first.
    pub alerts: Vec<AlertShown>,
    /// Alerts beyond those.
    pub more: u64,
    /// Whether some may have been forgotten, as there were too many.
    pub is_cut: bool,
}

/// What a rule said.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RuleSum {
    /// The rule.
    pub rule: String,
    /// The worst severity of its alerts.
    pub severity: String,
    /// How many.
    pub count: u64,
    /// Seconds of the span in which they were open, added up.
    pub open_s: i64,
    /// Seconds of the longest.
    pub longest_s: i64,
}

/// An alert.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AlertShown {
    /// Its title.
    pub title: String,
    /// Its rule.
    pub rule: String,
    /// How bad it is.
    pub severity: String,
    /// When it began.
    pub began_s: i64,
    /// When it was over; none if it was not at the end of the span.
    pub ended_s: Option<i64>,
    /// Seconds of it in the span.
    pub in_span_s: i64,
}

/// When devices were up.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DeviceFigures {
    /// Devices of which something is known.
    pub count: u64,
    /// Of these, those that were up all the time.
    pub always_up: u64,
    /// Devices, those that were up least first.
    pub devices: Vec<DeviceShown>,
    /// Devices beyond those.
    pub more: u64,
}

/// A device.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DeviceShown {
    /// Its name.
    pub device: String,
    /// Percent of the known time in which it was up.
    pub up_percent: f64,
    /// Seconds in which it was down.
    pub down_s: i64,
    /// How often it went down, or was down when the span began.
    pub times_down: u64,
    /// Seconds of the longest time down.
    pub longest_s: i64,
    /// Seconds of the span in which nobody knew.
    pub unknown_s: i64,
}

/// Calls of the span.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CallFigures {
    /// How many began in it.
    pub calls: u64,
    /// Of these, those that were answered.
    pub answered: u64,
    /// Those that were rejected.
    pub failed: u64,
    /// Answered of seizures (ITU-T E.425), percent.
    pub answered_percent: Option<f64>,
    /// Seconds that answered calls took, their mean.
    pub duration_mean_s: Option<f64>,
    /// The mean score.
    pub mos_mean: Option<f64>,
    /// Calls with a score.
    pub mos_count: u64,
    /// Of these, those with less than 3.6; none if it took too long to say.
    pub mos_low: Option<u64>,
    /// By day, as the report's clocks have them.
    pub days: Vec<CallDay>,
    /// What a destination is, in words.
    pub destination: String,
    /// Where most calls failed, the worst first.
    pub destinations: Vec<DestinationShown>,
    /// Of how many of the last failed calls the destinations were looked for; none if of all.
    pub looked_at: Option<u64>,
    /// Days of the store that could not be read.
    pub skipped: u64,
}

/// A day.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CallDay {
    /// `2026-11-23`.
    pub date: String,
    /// Calls that began.
    pub calls: u64,
    /// Of these, answered.
    pub answered: u64,
    /// Answered of seizures, percent.
    pub answered_percent: Option<f64>,
    /// The mean score.
    pub mos_mean: Option<f64>,
}

/// Where calls go.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DestinationShown {
    /// An address, or the beginning of a number.
    pub name: String,
    /// Calls.
    pub calls: u64,
    /// Of these, rejected.
    pub failed: u64,
    /// Answered of seizures, percent.
    pub answered_percent: Option<f64>,
}

/// What the capture lost.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LossFigures {
    /// By place, the most first.
    pub places: Vec<LossSum>,
    /// Places beyond those.
    pub more: u64,
    /// Days of the store that could not be read.
    pub skipped: u64,
}

/// Losses of a place.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LossSum {
    /// The place: `ring`, `interface`, ..
    pub place: String,
    /// The interface or file.
    pub source: String,
    /// Packets, or what the place counts.
    pub count: u64,
    /// How often something was lost.
    pub times: u64,
}

/// What was charged: records that began in the span.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ChargeFigures {
    /// By kind of record.
    pub kinds: Vec<ChargeSum>,
    /// Days of the store that could not be read.
    pub skipped: u64,
}

/// Records of a kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ChargeSum {
    /// `session`, `event`, `stray`.
    pub kind: String,
    /// How many.
    pub records: u64,
    /// Octets of both directions.
    pub octets: u64,
    /// Seconds of use.
    pub seconds: u64,
    /// Units of services.
    pub service_units: u64,
    /// Minor units that were debited.
    pub money: i64,
    /// Minor units that should have been, and were not there.
    pub short: i64,
    /// Records for all of which no tariff had rules.
    pub unrated: u64,
}

impl Gathered {
    /// For programs: what webhooks are posted, without pictures.
    pub fn json(&self) -> serde_json::Value {
        let section = |told: &Told| match &told.figures {
            Ok(figures) => serde_json::json!({ "title": told.title, "figures": figures, "missing": null }),
            Err(why) => serde_json::json!({ "title": told.title, "figures": null, "missing": why }),
        };
        serde_json::json!({
            "report": self.report,
            "title": self.title,
            "text": self.text,
            "from": self.from_s,
            "to": self.to_s,
            "made": self.made_s,
            "zone": self.zone.name(),
            "sections": self.sections.iter().map(section).collect::<Vec<_>>(),
        })
    }

    /// One line: the subject of its mail.
    pub fn subject(&self) -> String {
        let day = |at_s: i64| self.zone.written(at_s)[..16].to_owned();
        format!("{}: {} to {}", self.title, day(self.from_s), day(self.to_s))
    }
}
