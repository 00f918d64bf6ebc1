//! One thing that a rule watches.

use super::machine::{Opinion, State, Timing};
use super::window::Window;
use super::{FIELDS_MAX, Observation, cut};
use crate::delivery::Kind;
use crate::engine::baseline::Baseline;
use crate::rule::{Condition, Rule};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use trunkline_kit::Id;

/// Times of alerts that are remembered, to see that one flaps.
pub const FIRED_MAX: usize = 16;

/// A subject, and what it was shown.
#[derive(Debug, Default)]
pub struct Subject {
    pub device: Box<str>,
    pub fields: BTreeMap<String, String>,
    pub state: State,
    pub since_s: i64,
    /// The alert that people know of, and when it began.
    pub incident: Option<(String, i64)>,
    /// When alerts began, the newest last.
    pub fired: VecDeque<i64>,
    pub window: Window,
    /// When there was a value last, and when it was looked at last.
    pub last_s: i64,
    pub looked_s: i64,
    /// From when on all that its rule looks at was seen since a restart; none before the first value after it.
    pub whole_s: Option<i64>,
    pub value: Option<f64>,
    /// What the window came to when it was judged last.
    pub judged: Option<f64>,
    pub opinion: Opinion,
    pub baseline: Option<Box<Baseline>>,
    pub due_s: Option<i64>,
}

/// How a subject stands: what a restart must know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    /// The rule.
    pub rule: String,
    /// The subject.
    pub subject: String,
    /// Its device; empty if it has none.
    pub device: String,
    /// What else is known of it.
    pub fields: BTreeMap<String, String>,
    /// How it stands.
    pub state: State,
    /// Since when, seconds since 1970.
    pub since_s: i64,
    /// The alert that people know of.
    pub incident: Option<String>,
    /// When that began.
    pub began_s: Option<i64>,
    /// When alerts began, at most [`FIRED_MAX`].
    pub fired: Vec<i64>,
    /// What was judged last.
    pub value: Option<f64>,
    /// It is followed no more.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub is_gone: bool,
}

impl Subject {
    pub fn new(at_s: i64) -> Subject {
        Subject { since_s: at_s, last_s: at_s, whole_s: Some(i64::MIN), ..Subject::default() }
    }

    pub fn restored(standing: &Standing) -> Subject {
        let incident = standing.incident.clone().zip(standing.began_s);
        let fields = standing.fields.iter().take(FIELDS_MAX);
        Subject {
            device: cut(&standing.device).into(),
            fields: fields.map(|(name, text)| (cut(name).to_owned(), cut(text).to_owned())).collect(),
            state: standing.state,
            incident,
            fired: standing.fired.iter().rev().take(FIRED_MAX).rev().copied().collect(),
            judged: standing.value,
            // What kept it back may still do so, and what was bad is so until a value says otherwise.
            opinion: if standing.state == State::Ok { Opinion::None } else { Opinion::Between },
            whole_s: None,
            ..Subject::new(standing.since_s)
        }
    }

    /// What is known of it, as it was seen now.
    pub fn describe(&mut self, seen: &Observation<'_>) {
        if *self.device != *seen.device {
            self.device = cut(seen.device).into();
        }
        let fields = || seen.fields.iter().take(FIELDS_MAX);
        let same = self.fields.len() == fields().count()
            && fields().all(|(name, text)| self.fields.get(*name).is_some_and(|known| known == text));
        if !same {
            self.fields = fields().map(|(name, text)| (cut(name).to_owned(), cut(text).to_owned())).collect();
        }
    }

    /// What its values say, as far as they were seen: what was restored as bad is not good before the whole of what its
    /// rule looks at was seen again.
    pub fn as_far_as_seen(&self, opinion: Opinion, rule: &Rule, at_s: i64) -> Opinion {
        let is_whole = rule.looks_back_s() == 0 || self.whole_s.is_some_and(|whole_s| whole_s <= at_s);
        let is_bad = self.state.is_bad() || self.incident.is_some();
        match opinion {
            Opinion::Good | Opinion::None if is_bad && !is_whole => Opinion::Early,
            opinion => opinion,
        }
    }

    /// Whether a restart must know it.
    pub fn is_to_be_kept(&self, rule: &Rule) -> bool {
        let quiet =
            matches!(self.state, State::Ok | State::Unknown) && self.incident.is_none() && self.fired.is_empty();
        !quiet || matches!(rule.condition, Condition::Down { .. })
    }

    pub fn standing(&self, rule: &str, name: &str) -> Standing {
        Standing {
            rule: rule.to_owned(),
            subject: name.to_owned(),
            device: self.device.to_string(),
            fields: self.fields.clone(),
            state: self.state,
            since_s: self.since_s,
            incident: self.incident.as_ref().map(|(id, _)| id.clone()),
            began_s: self.incident.as_ref().map(|(_, began_s)| *began_s),
            fired: self.fired.iter().copied().collect(),
            value: self.judged,
            is_gone: false,
        }
    }

    /// Whether so many alerts began shortly before the last one that it flaps.
    pub fn is_flapping(&self, rule: &Rule) -> bool {
        let Some(last_s) = self.fired.back().filter(|_| rule.flaps > 0 && self.incident.is_some()) else {
            return false;
        };
        self.fired.iter().filter(|fired_s| last_s - **fired_s < rule.flap_window_s).count() >= rule.flaps as usize
    }

    /// The times of its rule; what flaps must be good for longer.
    pub fn timing(&self, rule: &Rule) -> Timing {
        let damped = if self.is_flapping(rule) { rule.flap_window_s } else { 0 };
        Timing { for_s: rule.for_s, clear_for_s: rule.clear_for_s.max(damped) }
    }

    /// When it must be looked at without a value.
    pub fn wanted(&self, rule: &Rule, now_s: i64) -> Option<i64> {
        match (rule.condition, self.state) {
            (Condition::Down { after_s }, State::Ok | State::Clearing | State::Unknown) => Some(self.last_s + after_s),
            // Where its time is over, it waits for what it depends on.
            (Condition::Down { .. }, State::Pending) => Some(self.since_s + rule.for_s).filter(|due_s| *due_s > now_s),
            (Condition::Down { .. }, _) | (_, State::Unknown | State::Suppressed(_)) => None,
            _ => Some(self.last_s + rule.unknown_after_s),
        }
    }

    /// What the alert of it does where the state was another one before; what there is to tell, if there is. `named` is
    /// what a new one is identified by, beside the time.
    pub fn incident_moves(&mut self, rule: &Rule, before: State, at_s: i64, named: &[u8]) -> Option<Kind> {
        match (before, self.state, self.incident.is_some()) {
            (_, State::Firing, false) => {
                let id = Id::derive(at_s.saturating_mul(1_000_000_000), named);
                self.incident = Some((id.to_string(), at_s));
                if rule.flaps > 0 {
                    self.fired.push_back(at_s);
                    self.fired.drain(..self.fired.len().saturating_sub(FIRED_MAX));
                }
                Some(Kind::Fired)
            }
            (State::Pending | State::Unknown | State::Suppressed(_), State::Firing, true) => Some(Kind::Resumed),
            (State::Firing, State::Suppressed(_), true) => Some(Kind::Suppressed),
            (_, State::Unknown, true) => Some(Kind::Unknown),
            (_, State::Ok, true) => Some(Kind::Resolved),
            _ => None,
        }
    }
}
