//! Alerts, as the web asks for them. What the job tells is read out of its answers as it is; times are seconds since
//! 1970 there and RFC 3339 here.

use super::SourceError;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use trunkline_contract::time::{as_maybe, as_second};
use utoipa::ToSchema;

/// Alerts of a data folder: what is one, who is notified, what is suppressed.
pub trait Alerting: Send + Sync {
    /// Whether somebody looks after alerts.
    fn serves(&self) -> bool;

    /// Answers a question, or has an order done: it is on the disk when this returns
    /// (`trunkline_alert::job::Control` has them). Its `seen`, if it has one, is what whoever asks may see.
    ///
    /// # Errors
    /// There is no such thing, it makes no sense, or it cannot be done.
    fn ask(&self, order: &Value) -> Result<Value, SourceError>;
}

/// What is open, in few words.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AlertSummary {
    /// Another number when anything but a value has changed. That of all alerts grows, and begins anew with the program
    /// that looks after them.
    pub revision: u64,
    /// Alerts that are open and not suppressed.
    pub open: u64,
    /// Of these, those that are critical.
    pub critical: u64,
    /// Those that are warnings.
    pub warning: u64,
    /// Those that are for information.
    pub info: u64,
    /// Acknowledged ones.
    pub acknowledged: u64,
    /// Alerts that are open, and that something suppresses now.
    pub kept_back: u64,
    /// Pending: not for long enough, or suppressed before it fired.
    pub pending: u64,
    /// Rules.
    pub rules: u64,
    /// Channels.
    pub channels: u64,
    /// Why nobody can be told; null if they can.
    pub fault: Option<String>,
    /// The rules with critical alerts, at most 20.
    pub rules_critical: Vec<AlertRuleCritical>,
}

/// A rule with critical alerts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AlertRuleCritical {
    /// Its name.
    pub rule: String,
    /// How many.
    pub alerts: u64,
    /// One of them.
    pub alert: String,
    /// When that one began.
    #[serde(serialize_with = "as_second")]
    #[schema(value_type = String, format = DateTime)]
    pub since: i64,
}

/// An alert.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Alert {
    /// Its identifier, a UUID.
    pub id: String,
    /// The rule that says so.
    pub rule: String,
    /// `info`, `warning`, `critical`.
    pub severity: String,
    /// `firing`, `firing again`, `suppressed`, `unknown`; `resolved` where it is over.
    pub state: String,
    /// How its subject stands now: `firing`, `clearing` (good again, not for long enough), `suppressed`, ..; null where
    /// that is not known.
    pub standing: Option<String>,
    /// What suppresses it now: `maintenance`, `dependency`, `time of the week`.
    pub kept_back_by: Option<String>,
    /// What it is of: an interface, a group of rows.
    pub subject: Option<String>,
    /// The device that it is at; null where it is at none.
    pub device: Option<String>,
    /// The number of the device, where it is polled.
    #[serde(default)]
    pub device_id: Option<u32>,
    /// The number of a graph that shows it.
    #[serde(default)]
    pub graph_id: Option<u32>,
    /// One line for people.
    pub title: String,
    /// More for people; may be empty.
    pub text: String,
    /// When it began.
    #[serde(serialize_with = "as_second")]
    #[schema(value_type = String, format = DateTime)]
    pub began: i64,
    /// When it was over; null while it is not.
    #[serde(serialize_with = "as_maybe")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ended: Option<i64>,
    /// The value now, or the last one that is known.
    pub value: Option<f64>,
    /// The value when it began.
    pub value_began: Option<f64>,
    /// The limit of the rule as it is now; null where it has none, or there is no such rule any more.
    pub limit: Option<f64>,
    /// When it is bad, in words.
    pub condition: Option<String>,
    /// Whether it began so often lately that it is over only after it was good for long.
    pub flapping: bool,
    /// What the rule watches: `series`, `rows`, `metrics`; null where there is no such rule any more.
    pub kind: Option<String>,
    /// The calls that were counted; null where no calls are watched.
    pub calls: Option<AlertCalls>,
    /// Labels: those of the rule, and what is known of the subject.
    pub labels: BTreeMap<String, String>,
    /// The routes that it takes.
    pub routes: Vec<String>,
    /// Those in which it was told.
    pub told: Vec<String>,
    /// Who acknowledged it; null if nobody did.
    pub acknowledged: Option<AlertTaken>,
}

/// Which calls an alert is of.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AlertCalls {
    /// A filter of calls.
    pub filter: String,
    /// What makes groups of them; the filter has it already.
    #[serde(default, skip_serializing)]
    #[schema(ignore)]
    pub group: Option<String>,
    /// Over which time they are counted, seconds.
    pub over_s: i64,
}

/// A user acknowledged an alert.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AlertTaken {
    /// Who.
    pub by: String,
    /// Since when.
    #[serde(serialize_with = "as_second")]
    #[schema(value_type = String, format = DateTime)]
    pub at: i64,
}

/// A part of the alerts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Alerts {
    /// How many there are in all.
    pub total: u64,
    /// Those that are open: critical ones first, the newest of each first. Resolved ones: the last first.
    pub alerts: Vec<Alert>,
    /// Pending, or suppressed before it fired.
    pub pending: u64,
}

/// An alert, and what happened to it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AlertFull {
    /// It.
    #[serde(flatten)]
    pub alert: Alert,
    /// What happened to it, the oldest first; of a long course the first and the last steps.
    pub course: Vec<AlertStep>,
    /// Silences that suppress it now.
    pub silences: Vec<AlertSilence>,
    /// Maintenance windows of the rules that suppress it now.
    pub windows: Vec<AlertWindow>,
}

/// Something that happened to an alert.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AlertStep {
    /// When.
    #[serde(serialize_with = "as_second")]
    #[schema(value_type = String, format = DateTime)]
    pub at: i64,
    /// `state` (it stands otherwise), `acknowledged`, `told` (a channel was given a message).
    pub what: String,
    /// How it stands from then on.
    pub state: Option<String>,
    /// What suppresses it: `maintenance`, `dependency`, `time of the week`.
    pub kept_back_by: Option<String>,
    /// What was judged.
    pub value: Option<f64>,
    /// Who acknowledged it.
    pub by: Option<String>,
    /// The message that was sent.
    pub message: Option<String>,
    /// Where it went.
    pub channel: Option<String>,
    /// The route that chose it.
    pub route: Option<String>,
    /// Which step of escalation it was, from 1.
    pub escalation: Option<u32>,
    /// Attempts that have ended.
    pub attempts: Option<u32>,
    /// What came of the last one: `delivered`, `failed` (it is tried again), `in doubt`, `given up`, `left in doubt`.
    pub outcome: Option<String>,
    /// Why.
    pub why: Option<String>,
}

/// Pending and suppressed before firing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AlertPending {
    /// The rule.
    pub rule: String,
    /// `info`, `warning`, `critical`.
    pub severity: Option<String>,
    /// What it is of.
    pub subject: String,
    /// The device that it is at; null where it is at none.
    pub device: Option<String>,
    /// `pending`: not for long enough; `suppressed`: something suppresses it.
    pub standing: String,
    /// What suppresses it: `maintenance`, `dependency`, `time of the week`.
    pub kept_back_by: Option<String>,
    /// Since when.
    #[serde(serialize_with = "as_second")]
    #[schema(value_type = String, format = DateTime)]
    pub since: i64,
    /// The value now.
    pub value: Option<f64>,
    /// The limit of the rule.
    pub limit: Option<f64>,
    /// What is known of the subject.
    pub labels: BTreeMap<String, String>,
}

/// A part of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AlertsPending {
    /// How many there are in all.
    pub total: u64,
    /// The newest first.
    pub pending: Vec<AlertPending>,
}

/// Alerts that a user silences.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AlertSilence {
    /// Its identifier, a UUID.
    #[serde(alias = "silence")]
    pub id: String,
    /// Tests of labels that all hold; none is everything.
    pub when: Vec<String>,
    /// From when on.
    #[serde(serialize_with = "as_second")]
    #[schema(value_type = String, format = DateTime)]
    pub from: i64,
    /// Until when.
    #[serde(serialize_with = "as_second")]
    #[schema(value_type = String, format = DateTime)]
    pub until: i64,
    /// Who wants it.
    pub by: String,
    /// Why; may be empty.
    pub why: String,
    /// Whether it holds now.
    pub holds: bool,
}

/// A maintenance window of the rules.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AlertWindow {
    /// Its name.
    pub name: String,
    /// Tests of labels that all hold; none is everything.
    pub when: Vec<String>,
    /// When each week: `sun 02:00-04:00`.
    pub weekly: Vec<String>,
    /// From when on; null where it is each week.
    #[serde(serialize_with = "as_maybe")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub from: Option<i64>,
    /// Until when.
    #[serde(serialize_with = "as_maybe")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub until: Option<i64>,
    /// Whether it holds now.
    pub holds: bool,
}

/// Silences and maintenance windows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AlertSilences {
    /// By people, for a time.
    pub silences: Vec<AlertSilence>,
    /// By the rules.
    pub windows: Vec<AlertWindow>,
}

/// A rule.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AlertRule {
    /// Its name.
    pub rule: String,
    /// `info`, `warning`, `critical`.
    pub severity: String,
    /// What it watches: `series`, `rows`, `metrics`.
    pub kind: String,
    /// The same in words.
    pub watches: String,
    /// When it is bad, in words.
    pub condition: String,
    /// The limit; null where it has none.
    pub limit: Option<f64>,
    /// How long it must be bad before it is an alert, seconds.
    pub for_s: i64,
    /// Subjects that it follows.
    pub subjects: u64,
    /// Alerts of it that are open.
    pub alerts: u64,
    /// Pending and suppressed before firing.
    pub pending: u64,
    /// Rules whose alerts stand for its own.
    pub depends: Vec<String>,
    /// Routes that its alerts may take.
    pub routes: Vec<String>,
    /// The rule as its file has it.
    pub text: Option<String>,
}

/// All rules.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AlertRules {
    /// In the order of their names.
    pub rules: Vec<AlertRule>,
}

/// A rule with subjects that it follows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AlertRuleFull {
    /// It.
    #[serde(flatten)]
    pub rule: AlertRule,
    /// Subjects, in the order of their names.
    pub followed: Vec<AlertSubject>,
    /// The cursor of the next part; null where there is none.
    pub next: Option<String>,
}

/// A subject of a rule.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AlertSubject {
    /// Its name.
    pub subject: String,
    /// The device that it is at; null where it is at none.
    pub device: Option<String>,
    /// `ok`, `pending`, `firing`, `clearing`, `suppressed`, `unknown`.
    pub standing: String,
    /// What suppresses it.
    pub kept_back_by: Option<String>,
    /// Since when.
    #[serde(serialize_with = "as_second")]
    #[schema(value_type = String, format = DateTime)]
    pub since: i64,
    /// What was judged last.
    pub value: Option<f64>,
    /// The alert of it that is open.
    pub alert: Option<String>,
    /// What is known of it.
    pub labels: BTreeMap<String, String>,
}

/// A channel, without what lets in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AlertChannel {
    /// Its name.
    pub channel: String,
    /// `webhook`, `mail`, `syslog`, `command`.
    pub kind: String,
    /// Where it goes: a host, addresses of mail, a program.
    pub to: String,
    /// What came of the last message; null where none was sent since the start.
    pub last: Option<AlertSent>,
}

/// What came of an attempt to tell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AlertSent {
    /// When it ended.
    #[serde(serialize_with = "as_second")]
    #[schema(value_type = String, format = DateTime)]
    pub at: i64,
    /// The title of the first alert that it tells of.
    pub title: String,
    /// `delivered`, `failed` (it is tried again), `in doubt`, `given up`, `left in doubt`.
    pub outcome: String,
    /// Why; may be empty.
    pub why: String,
    /// The channel.
    #[serde(default)]
    pub channel: Option<String>,
    /// How many alerts it tells of; null where that is not known.
    #[serde(default)]
    pub alerts: Option<u64>,
}

/// All channels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AlertChannels {
    /// In the order of their names.
    pub channels: Vec<AlertChannel>,
    /// What came of the last attempts since the start, the newest first, at most 200.
    pub sent: Vec<AlertSent>,
    /// Messages that wait.
    pub waiting: u64,
}

/// What came of a message that tries out a channel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AlertTested {
    /// The channel.
    pub channel: String,
    /// `delivered`, or what it came to.
    pub outcome: String,
    /// Why; may be empty.
    pub why: String,
}

/// Files of rules as they are now.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AlertChecked {
    /// How many rules they have; null where there are mistakes.
    pub rules: Option<u64>,
    /// Mistakes, a sentence each, with file, line and column.
    pub mistakes: Vec<String>,
    /// Whether they hold from now on; a check alone takes nothing over.
    #[serde(default)]
    pub taken: bool,
}
