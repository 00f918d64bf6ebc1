//! Messages, attempts to deliver them, and what comes of those.

use super::incident::Notice;
use serde::{Deserialize, Serialize};
use trunkline_kit::Id;

/// Alerts that a message lists; further ones are counted in it.
pub const MESSAGE_ALERTS_MAX: usize = 50;
/// Octets of what a message lists, about; further alerts are counted in it.
pub const MESSAGE_OCTETS_MAX: usize = 128 << 10;

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
        Message { id, route, group, channel, alerts, more, made_s, step }
    }
}

fn octets_of(notice: &Notice) -> usize {
    let labels: usize = notice.labels.iter().map(|(name, text)| name.len() + text.len()).sum();
    notice.title.len() + notice.text.len() + labels + 200
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
