//! The course of an alert: how it stood, who was told of it, who takes care of it. Kept with the alert, so that it is
//! there after a restart, and when the alert is over.

use super::message::{Message, Outcome};
use crate::engine::{Standing, State};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Steps of a course. The first half of them stays, of the others the oldest leaves.
// Limit: steps in the course of one alert
// Beyond: the oldest step of the second half is forgotten
// Seen in: the alert's page
pub const COURSE_STEPS_MAX: usize = 64;
/// Characters of why something was not delivered.
const WHY_CHARS_MAX: usize = 200;

/// What happened at a time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// When, seconds since 1970.
    pub at_s: i64,
    /// What.
    pub what: Happened,
}

/// What can happen to an alert.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Happened {
    /// It stands so from then on.
    Stands {
        /// The name of the state; `resolved` is the end.
        state: String,
        /// What keeps it back, where something does.
        kept_back_by: Option<String>,
        /// What was judged.
        value: Option<f64>,
    },
    /// Somebody takes care of it.
    Acknowledged {
        /// Who.
        by: String,
    },
    /// A channel was given a message that tells of it.
    Told {
        /// The message.
        message: String,
        /// The channel.
        channel: String,
        /// The route by which it was chosen.
        route: String,
        /// Which step of escalation it was, from 1; none if it was none.
        escalation: Option<usize>,
        /// Attempts that have ended.
        attempts: u32,
        /// What came of the last one.
        outcome: String,
        /// Why.
        why: String,
    },
}

/// All that happened, the oldest first. Copies share their memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Vec<Step>", into = "Vec<Step>")]
pub struct Course(Arc<Vec<Step>>);

impl From<Vec<Step>> for Course {
    fn from(steps: Vec<Step>) -> Course {
        Course(Arc::new(steps))
    }
}

impl From<Course> for Vec<Step> {
    fn from(course: Course) -> Vec<Step> {
        Arc::unwrap_or_clone(course.0)
    }
}

impl Course {
    /// The steps.
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// It stands so from then on; nothing if it did before.
    pub(super) fn stands(&mut self, at_s: i64, state: &str, kept_back_by: Option<&str>, value: Option<f64>) {
        let last = self.0.iter().rev().find_map(|step| match &step.what {
            Happened::Stands { state, kept_back_by, .. } => Some((state.as_str(), kept_back_by.as_deref())),
            _ => None,
        });
        if last != Some((state, kept_back_by)) {
            let (state, kept_back_by) = (state.to_owned(), kept_back_by.map(str::to_owned));
            self.push(at_s, Happened::Stands { state, kept_back_by, value });
        }
    }

    /// A subject of which people know the alert stands otherwise.
    pub(super) fn follow(&mut self, standing: &Standing) {
        // That it is over is a notice; that it begins is one, too.
        if standing.state != State::Ok {
            let state = standing.state;
            self.stands(standing.since_s, state.name(), state.kept_back_by(), standing.value);
        }
    }

    pub(super) fn acknowledged(&mut self, at_s: i64, by: &str) {
        self.push(at_s, Happened::Acknowledged { by: by.to_owned() });
    }

    /// An attempt to tell has ended; those of one message are one step.
    pub(super) fn told(&mut self, message: &Message, ended: &Outcome) {
        let (came, because) = ended.came.described();
        let because: String = because.chars().take(WHY_CHARS_MAX).collect();
        let steps = Arc::make_mut(&mut self.0);
        for step in steps.iter_mut().rev() {
            if let Happened::Told { message: known, attempts, outcome, why, .. } = &mut step.what
                && *known == message.id
            {
                (step.at_s, *attempts) = (ended.at_s, *attempts + 1);
                (*outcome, *why) = (came.to_owned(), because);
                return;
            }
        }
        let told = Happened::Told {
            message: message.id.clone(),
            channel: message.channel.clone(),
            route: message.route.clone(),
            escalation: message.step.map(|step| step + 1),
            attempts: 1,
            outcome: came.to_owned(),
            why: because,
        };
        self.push(ended.at_s, told);
    }

    fn push(&mut self, at_s: i64, what: Happened) {
        let steps = Arc::make_mut(&mut self.0);
        if steps.len() >= COURSE_STEPS_MAX {
            steps.remove(COURSE_STEPS_MAX / 2);
        }
        steps.push(Step { at_s, what });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_and_the_end_of_a_long_course_stay() {
        let mut course = Course::default();
        for at_s in 0..200 {
            course.stands(at_s, if at_s % 2 == 0 { "firing" } else { "clearing" }, None, None);
            course.stands(at_s, if at_s % 2 == 0 { "firing" } else { "clearing" }, None, None);
        }
        let times: Vec<i64> = course.steps().iter().map(|step| step.at_s).collect();
        assert_eq!(times.len(), COURSE_STEPS_MAX);
        assert_eq!((times[0], times[31], times[32], times[63]), (0, 31, 168, 199));
        let text = serde_json::to_string(&course).unwrap();
        assert_eq!(serde_json::from_str::<Course>(&text).unwrap(), course);
    }
}
