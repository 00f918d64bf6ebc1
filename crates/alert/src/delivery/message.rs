//! Messages, attempts to deliver them, and what comes of those.

use super::incident::Notice;
use crate::report::OfReport;
use serde::{Deserialize, Serialize};
use trunkline_kit::Id;

/// Alerts that a message lists; further ones are counted in it.
// Limit: alerts listed in one message
// Beyond: further ones are counted
// Seen in: the message
pub const MESSAGE_ALERTS_MAX: usize = 50;
/// Octets of what a message lists, about; further alerts are counted in it.
pub const MESSAGE_OCTETS_MAX: usize = 32 << 10;

/// What one channel is to tell, once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Its name: a UUID that receivers can know copies by.
    pub id: String,
    /// The route that it takes.
    pub route: String,
    /// The values of the labels that make the group.
    pub group: Vec<String>,
    /// Where it goes.
    pub channel: String,
    /// The alerts that it tells of.
    pub alerts: Vec<Notice>,
    /// How many more there are.
    pub more: u64,
    /// When it was made, seconds since 1970.
    pub made_s: i64,
    /// The step of escalation that it is, from 0.
    pub step: Option<usize>,
    /// It is a report: what is sent is in files beside the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<OfReport>,
}

impl Outcomes {
    /// Its name, and why it is so.
    pub fn described(&self) -> (&'static str, &str) {
        match self {
            Outcomes::Delivered => ("delivered", ""),
            Outcomes::Failed(why) => ("failed", why),
            Outcomes::InDoubt(why) => ("in doubt", why),
            Outcomes::GivenUp(why) => ("given up", why),
            Outcomes::LeftInDoubt(why) => ("left in doubt", why),
        }
    }
}

impl Message {
    pub(super) fn new(
        route: &str,
        group: &[String],
        channel: &str,
        notices: &[Notice],
        more: u64,
        made_s: i64,
        step: Option<usize>,
    ) -> Message {
        let mut octets = 0;
        let fits = |notice: &&Notice| {
            octets += octets_of(notice);
            octets <= MESSAGE_OCTETS_MAX
        };
        let alerts: Vec<Notice> = notices.iter().take(MESSAGE_ALERTS_MAX).take_while(fits).cloned().collect();
        let mut name = format!("{route}\0{channel}\0{step:?}");
        let parts = group.iter().chain(notices.iter().map(|notice| &notice.incident));
        parts.for_each(|part| {
            name.push('\0');
            name.push_str(part);
        });
        notices.iter().for_each(|notice| name.push_str(notice.kind.name()));
        let id = Id::derive(made_s.saturating_mul(1_000_000_000), name.as_bytes()).to_string();
        let more = more + (notices.len() - alerts.len()) as u64;
        let (route, group, channel) = (route.to_owned(), group.to_vec(), channel.to_owned());
        Message { id, route, group, channel, alerts, more, made_s, step, report: None }
    }
}

/// The route of reports.
pub const REPORT_ROUTE: &str = "report";

impl Message {
    /// A report for a channel: of the same report and time it has the same name, however often it is made.
    pub fn of_report(report: OfReport, channel: &str, made_s: i64) -> Message {
        let name = format!("{REPORT_ROUTE}\0{}\0{channel}\0{}", report.report, report.file);
        let id = Id::derive(report.at_s.saturating_mul(1_000_000_000), name.as_bytes()).to_string();
        Message {
            id,
            route: REPORT_ROUTE.to_owned(),
            group: Vec::new(),
            channel: channel.to_owned(),
            alerts: Vec::new(),
            more: 0,
            made_s,
            step: None,
            report: Some(report),
        }
    }
}

/// The route of a message that tries out a channel.
pub const TEST_ROUTE: &str = "test";

impl Message {
    /// One that tries out a channel; `number` tells those of the same second apart.
    pub fn test(channel: &str, made_s: i64, number: u64) -> Message {
        let incident = Id::derive(made_s.saturating_mul(1_000_000_000), format!("test\0{number}").as_bytes());
        let labels = [("rule", "test"), ("severity", "info"), ("subject", channel)];
        let notice = Notice {
            incident: incident.to_string(),
            kind: super::Kind::Fired,
            title: format!("Test of the channel '{channel}'"),
            text: "This is a test message. There is no problem.".to_owned(),
            at_s: made_s,
            began_s: made_s,
            value: None,
            limit: None,
            condition: String::new(),
            figures: String::new(),
            flapping: false,
            routes: Vec::new(),
            labels: labels.map(|(name, text)| (name.to_owned(), text.to_owned())).into(),
        };
        Message::new(TEST_ROUTE, &[], channel, &[notice], 0, made_s, None)
    }
}

/// What came of an attempt, to be looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// The message.
    pub message: String,
    /// Where it went.
    pub channel: String,
    /// The title of its first alert.
    pub title: String,
    /// How many alerts it tells of.
    pub alerts: u64,
    /// When, seconds since 1970.
    pub at_s: i64,
    /// What came of it.
    pub came: Outcomes,
}

impl Told {
    pub(super) fn new(message: &Message, outcome: &Outcome) -> Told {
        Told {
            message: message.id.clone(),
            channel: message.channel.clone(),
            title: match &message.report {
                Some(report) => report.subject.clone(),
                None => message.alerts.first().map(|notice| notice.title.clone()).unwrap_or_default(),
            },
            alerts: message.alerts.len() as u64 + message.more,
            at_s: outcome.at_s,
            came: outcome.came.clone(),
        }
    }
}

fn octets_of(notice: &Notice) -> usize {
    let labels: usize = notice.labels.iter().map(|(name, text)| name.len() + text.len()).sum();
    let words = notice.title.len() + notice.text.len() + notice.condition.len() + notice.figures.len();
    words + labels + 200
}

/// An attempt begins: it is on disk before it is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempted {
    /// The message.
    pub message: String,
    /// Which attempt, from 1.
    pub attempt: u32,
    /// When, seconds since 1970.
    pub at_s: i64,
}

/// What came of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// The message.
    pub message: String,
    /// When, seconds since 1970.
    pub at_s: i64,
    /// What.
    pub came: Outcomes,
}

/// What can come of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcomes {
    /// The receiver has it.
    Delivered,
    /// The receiver does not have it; it is tried again.
    Failed(String),
    /// The receiver may have it or not; it is asked again, under the same name.
    InDoubt(String),
    /// It was refused for good, or tried for too long.
    GivenUp(String),
    /// The receiver may have it or not, and could not know a copy: it is not tried again.
    LeftInDoubt(String),
}
