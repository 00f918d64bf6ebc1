//! What is due, and what was sent for which time: a fold of entries.
//!
//! A time of a schedule is dealt with once: its messages are made in the record that says so, or it is said to be
//! missed. A crash before that record leaves it due, one after it leaves messages that wait.

use crate::delivery::{Outcome, Outcomes};
use crate::rule::{Report, Rules};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A report that is due for longer than so many seconds is missed.
// Limit: time after which a report that was due is not made
// Beyond: the report is missed
// Seen in: `trunkline_alert_reports_missed_total`
pub const LATE_S_MAX: i64 = 86_400;
/// Times that are counted as missed at once; those beyond are not counted.
const MISSED_MAX: u64 = 10_000;

/// A message is a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfReport {
    /// The report's name.
    pub report: String,
    /// The line that stands for it.
    pub subject: String,
    /// The time of the schedule, or when somebody had it sent; seconds since 1970.
    pub at_s: i64,
    /// What the files of what is sent begin with.
    pub file: String,
}

/// How a report stands from an entry on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reported {
    /// The report's name.
    pub report: String,
    /// Its schedule: with another one it begins anew.
    pub schedule: String,
    /// Times of the schedule until then are dealt with, seconds since 1970.
    pub until_s: i64,
    /// Times that were missed, in all.
    pub missed: u64,
    /// The last of these.
    pub missed_s: Option<i64>,
    /// What was sent last.
    pub last: Option<LastMade>,
}

/// What was sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastMade {
    /// For which time of the schedule, or as of which time somebody had it sent.
    pub at_s: i64,
    /// When its messages were made.
    pub made_s: i64,
    /// Its messages.
    pub messages: Vec<Told>,
}

/// A message of a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// Its name.
    pub message: String,
    /// Where it goes.
    pub channel: String,
    /// When, and what came of the last attempt; none if there was none.
    pub came: Option<(i64, Outcomes)>,
}

/// What is to be done about a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Due {
    /// It is to be written how it stands.
    Write(Reported),
    /// It is to be made for a time of its schedule.
    Make(String, i64),
}

/// Reports that could not be made, and when that is tried again.
pub type Held = BTreeMap<String, i64>;

/// All reports.
#[derive(Debug, Default)]
pub struct Calendar {
    known: BTreeMap<String, Reported>,
}

impl Calendar {
    /// How a report stands from now on.
    pub fn apply(&mut self, reported: &Reported) {
        self.known.insert(reported.report.clone(), reported.clone());
    }

    /// What came of a message.
    pub fn came(&mut self, outcome: &Outcome) {
        let all = self.known.values_mut().filter_map(|reported| reported.last.as_mut());
        let messages = all.flat_map(|last| last.messages.iter_mut());
        for told in messages.filter(|told| told.message == outcome.message) {
            told.came = Some((outcome.at_s, outcome.came.clone()));
        }
    }

    /// How a report stands.
    pub fn get(&self, report: &str) -> Option<&Reported> {
        self.known.get(report)
    }

    /// What is to be done now. What is written is [applied](Self::apply) then. One is made at a time, and those that
    /// are held not before their time.
    pub fn due(&self, rules: &Rules, mut is_making: bool, held: &Held, now_s: i64) -> Vec<Due> {
        let mut due = Vec::new();
        let is_held = |name: &String| held.get(name).is_some_and(|until_s| *until_s > now_s);
        for (name, report) in &rules.reports {
            match self.dues(name, report, now_s) {
                Some(Due::Make(..)) if is_making || is_held(name) => {}
                Some(one) => {
                    is_making |= matches!(one, Due::Make(..));
                    due.push(one);
                }
                None => {}
            }
        }
        due
    }

    fn dues(&self, name: &str, report: &Report, now_s: i64) -> Option<Due> {
        let schedule = report.schedule_text();
        let Some(known) = self.known.get(name).filter(|known| known.schedule == schedule) else {
            // From now on: what was before is nobody's.
            let before = self.known.get(name).cloned();
            let (missed, missed_s, last) = before.map_or((0, None, None), |b| (b.missed, b.missed_s, b.last));
            return Some(Due::Write(Reported {
                report: name.to_owned(),
                schedule,
                until_s: now_s,
                missed,
                missed_s,
                last,
            }));
        };
        let mut next_s = report.next_after(known.until_s).filter(|next_s| *next_s <= now_s)?;
        let mut missed = known.clone();
        while now_s - next_s > LATE_S_MAX {
            missed.missed += 1;
            (missed.missed_s, missed.until_s) = (Some(next_s), next_s);
            if missed.missed - known.missed >= MISSED_MAX {
                missed.until_s = now_s - LATE_S_MAX;
                break;
            }
            match report.next_after(next_s).filter(|next_s| *next_s <= now_s) {
                Some(after_s) => next_s = after_s,
                None => break,
            }
        }
        Some(if missed == *known { Due::Make(name.to_owned(), next_s) } else { Due::Write(missed) })
    }

    /// When something is to be done next, seconds since 1970; while one is made, that is waited for.
    pub fn poll_timeout(&self, rules: &Rules, is_making: bool, held: &Held) -> Option<i64> {
        let next = |(name, report): (&String, &Report)| match self.known.get(name) {
            Some(known) => {
                let next_s = report.next_after(known.until_s).filter(|_| !is_making)?;
                Some(held.get(name).map_or(next_s, |until_s| next_s.max(*until_s)))
            }
            None => Some(0),
        };
        rules.reports.iter().filter_map(next).min()
    }

    /// How a report stands once these messages of it were made.
    pub fn made(&self, report: &str, at_s: i64, made_s: i64, messages: Vec<Told>) -> Option<Reported> {
        let known = self.known.get(report).filter(|known| known.until_s < at_s)?;
        Some(Reported { until_s: at_s, last: Some(LastMade { at_s, made_s, messages }), ..known.clone() })
    }

    /// How a report stands once these messages of it were made as somebody wanted it: its schedule goes on. None if
    /// nothing was due or written yet.
    pub fn sent(&self, report: &str, at_s: i64, made_s: i64, messages: Vec<Told>) -> Option<Reported> {
        let known = self.known.get(report)?;
        Some(Reported { last: Some(LastMade { at_s, made_s, messages }), ..known.clone() })
    }

    /// Goes on after a restart or with other rules: reports that there are not are forgotten.
    pub fn resume(&mut self, rules: &Rules) {
        self.known.retain(|name, _| rules.reports.contains_key(name));
    }

    /// All that must be known after a restart.
    pub fn snapshot(&self, put: impl FnMut(Reported)) {
        self.known.values().cloned().for_each(put);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::{Known, read};

    fn rules(schedule: &str) -> Rules {
        let text = format!(
            "[report.r]\nschedule = {schedule}\nchannels = \"m\"\n[[report.r.section]]\nkind = \"alerts\"\n\
             [channel.m]\nkind = \"webhook\"\nurl = \"http://h/\"\n"
        );
        read(&[("r.toml", &text)], &Known::default()).unwrap_or_else(|wrong| panic!("{wrong:?}"))
    }

    /// Does what is due, as the job does; the times that were made.
    fn run(calendar: &mut Calendar, rules: &Rules, now_s: i64) -> Vec<i64> {
        let mut made = Vec::new();
        for _ in 0..100 {
            let due = calendar.due(rules, false, &Held::new(), now_s);
            if due.is_empty() {
                return made;
            }
            for one in due {
                match one {
                    Due::Write(reported) => calendar.apply(&reported),
                    Due::Make(name, at_s) => {
                        made.push(at_s);
                        let reported = calendar.made(&name, at_s, now_s, Vec::new()).unwrap();
                        calendar.apply(&reported);
                        assert_eq!(calendar.made(&name, at_s, now_s, Vec::new()), None, "never twice");
                    }
                }
            }
        }
        panic!("it does not end")
    }

    const DAY: i64 = 86_400;
    /// 1970-01-05, a Monday.
    const MONDAY: i64 = 4 * DAY;

    #[test]
    fn what_somebody_had_sent_is_the_last_and_the_schedule_goes_on() {
        let daily = rules("\"daily 06:00\"");
        let mut calendar = Calendar::default();
        run(&mut calendar, &daily, MONDAY);
        let told = Told { message: "m1".to_owned(), channel: "m".to_owned(), came: None };
        let sent = calendar.sent("r", MONDAY + 60, MONDAY + 61, vec![told]).unwrap();
        calendar.apply(&sent);
        calendar.came(&Outcome { message: "m1".to_owned(), at_s: MONDAY + 62, came: Outcomes::Delivered });
        let last = calendar.get("r").and_then(|known| known.last.clone()).unwrap();
        assert_eq!((last.at_s, last.messages[0].came.clone()), (MONDAY + 60, Some((MONDAY + 62, Outcomes::Delivered))));
        assert_eq!(run(&mut calendar, &daily, MONDAY + 7 * 3600), [MONDAY + 6 * 3600]);
    }

    #[test]
    fn each_time_is_made_once_or_missed() {
        let twice = rules("[\"daily 06:00\", \"daily 18:00\"]");
        let mut calendar = Calendar::default();
        assert_eq!(calendar.poll_timeout(&twice, false, &Held::new()), Some(0));
        assert!(run(&mut calendar, &twice, MONDAY).is_empty(), "what was before is nobody's");
        assert_eq!(calendar.poll_timeout(&twice, false, &Held::new()), Some(MONDAY + 6 * 3600));
        assert_eq!(calendar.poll_timeout(&twice, true, &Held::new()), None);
        assert!(run(&mut calendar, &twice, MONDAY + 6 * 3600 - 1).is_empty());
        assert_eq!(run(&mut calendar, &twice, MONDAY + 6 * 3600), [MONDAY + 6 * 3600]);
        // Away for three days and a half: those of the last day are made, four are missed.
        let now_s = MONDAY + 3 * DAY + 12 * 3600;
        assert_eq!(run(&mut calendar, &twice, now_s), [MONDAY + 2 * DAY + 18 * 3600, MONDAY + 3 * DAY + 6 * 3600]);
        let known = calendar.get("r").unwrap();
        assert_eq!((known.missed, known.missed_s), (4, Some(MONDAY + 2 * DAY + 6 * 3600)));
        // A year: it ends, and is counted.
        let later_s = MONDAY + 365 * DAY + 12 * 3600;
        assert_eq!(run(&mut calendar, &twice, later_s).len(), 2);
        assert_eq!(calendar.get("r").unwrap().missed, 4 + 1 + 361 + 360);
        // With another schedule it begins anew.
        let other = rules("\"daily 11:00\"");
        assert!(run(&mut calendar, &other, later_s).is_empty());
        assert_eq!(calendar.poll_timeout(&other, false, &Held::new()), Some(MONDAY + 366 * DAY + 11 * 3600));
        let mut again = Calendar::default();
        calendar.snapshot(|reported| again.apply(&reported));
        assert_eq!(again.known, calendar.known);
        again.resume(&Rules::default());
        assert_eq!(again.get("r"), None);
    }

    #[test]
    fn what_came_of_its_messages_is_known() {
        let rules = rules("\"daily 06:00\"");
        let mut calendar = Calendar::default();
        run(&mut calendar, &rules, MONDAY);
        let told = Told { message: "1".to_owned(), channel: "m".to_owned(), came: None };
        let made = calendar.made("r", MONDAY + 6 * 3600, MONDAY + 6 * 3600, vec![told]).unwrap();
        calendar.apply(&made);
        let outcome = |message: &str| Outcome { message: message.to_owned(), at_s: 9, came: Outcomes::Delivered };
        calendar.came(&outcome("2"));
        assert_eq!(calendar.get("r"), Some(&made));
        calendar.came(&outcome("1"));
        let last = calendar.get("r").unwrap().last.clone().unwrap();
        assert_eq!(last.messages[0].came, Some((9, Outcomes::Delivered)));
    }
}
