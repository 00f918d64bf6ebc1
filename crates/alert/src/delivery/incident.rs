//! Alerts as delivery knows them.

use super::course::Course;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What there is to tell of an alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// It began.
    Fired,
    /// It goes on, after something kept it back or nothing was known of it.
    Resumed,
    /// Something keeps it back now.
    Suppressed,
    /// There are no values any more.
    Unknown,
    /// It is over.
    Resolved,
}

impl Kind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Fired => "firing",
            Kind::Resumed => "firing again",
            Kind::Suppressed => "suppressed",
            Kind::Unknown => "unknown",
            Kind::Resolved => "resolved",
        }
    }
}

/// Something to tell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Notice {
    /// The alert.
    pub incident: String,
    /// What is told of it.
    pub kind: Kind,
    /// One line for people.
    pub title: String,
    /// More for people; may be empty.
    pub text: String,
    /// When it was so, seconds since 1970.
    pub at_s: i64,
    /// When the alert began.
    pub began_s: i64,
    /// What was judged.
    pub value: Option<f64>,
    /// The limit of its rule; of a baseline deviations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<f64>,
    /// When it is bad, in words that follow "bad is".
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub condition: String,
    /// Value and limit for people, where its rule has no words of its own.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub figures: String,
    /// Whether it began so often lately that it is over only after it was good for long.
    pub flapping: bool,
    /// The routes that the rule names; none are those that choose it.
    pub routes: Vec<String>,
    /// Labels: `rule`, `severity`, `subject`, `device`, those of the rule, and what else is known.
    pub labels: BTreeMap<String, String>,
}

impl Notice {
    /// One line for people, with value and limit.
    pub fn line(&self) -> String {
        if self.figures.is_empty() { self.title.clone() } else { format!("{}: {}", self.title, self.figures) }
    }

    /// How bad it is.
    pub fn severity(&self) -> &str {
        self.labels.get("severity").map_or("warning", String::as_str)
    }
}

/// An alert that is not over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Incident {
    /// How it began.
    pub notice: Notice,
    /// How it goes on.
    pub state: Kind,
    /// The routes that it takes.
    pub routes: BTreeSet<String>,
    /// Those in which it was told.
    pub told: BTreeSet<String>,
    /// Who takes care of it.
    pub acknowledged: Option<Acknowledged>,
    /// Steps of escalation that were taken, by route.
    pub steps: BTreeMap<String, usize>,
    /// What happened to it.
    #[serde(default)]
    pub course: Course,
}

impl Incident {
    pub(crate) fn new(notice: Notice, routes: BTreeSet<String>) -> Incident {
        let (told, steps, mut course) = (BTreeSet::new(), BTreeMap::new(), Course::default());
        course.stands(notice.at_s, notice.kind.name(), None, notice.value);
        Incident { state: notice.kind, notice, routes, told, acknowledged: None, steps, course }
    }
}

/// An alert that is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Past {
    /// It, as it was last.
    pub incident: Incident,
    /// When it was over, seconds since 1970.
    pub ended_s: i64,
}

/// Somebody takes care of an alert: it is not escalated any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acknowledged {
    /// The alert.
    pub incident: String,
    /// Who.
    pub who: String,
    /// When, seconds since 1970.
    pub at_s: i64,
}

/// A step of escalation was taken for an alert.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Escalated {
    /// The alert.
    pub incident: String,
    /// The route whose step it is.
    pub route: String,
    /// Which, from 0.
    pub step: usize,
    /// When, seconds since 1970.
    pub at_s: i64,
}
