//! Orders as lines tell them, and what becomes of them.

use super::asked::{self, Part, Wanted};
use super::sight::{self, Sight};
use super::{Fault, Served, reports, told};
use crate::delivery::Incident;
use crate::engine::{SILENCE_TESTS_MAX, Silence, Unsilenced};
use crate::job::now_s;
use crate::rule::LabelTest;
use serde::Deserialize;
use serde_json::{Value, json};
use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;
use trunkline_kit::Id;
use trunkline_kit::forgotten::Forgotten;

/// How long it may take until an order is on disk.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest silence.
// Limit: length of a silence
// Beyond: the silence is refused
// Seen in: the error message
const SILENCE_S_MAX: i64 = 366 * 86_400;
/// Characters of a name and a reason.
const TEXT_CHARS_MAX: usize = 1_000;

/// What is asked.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Order {
    /// Alerts that are not over.
    List {},
    /// Alerts that are over, the newest first.
    History {
        #[serde(default = "hundred")]
        limit: usize,
    },
    /// Rules, and what each watches.
    Rules {},
    /// Channels, and what came of the last messages.
    Channels {},
    /// Silences and maintenance windows.
    Silences {},
    /// Alerts are kept back for so long.
    Silence {
        when: Vec<String>,
        from_s: Option<i64>,
        for_s: i64,
        by: String,
        #[serde(default)]
        why: String,
    },
    /// They are not any more.
    Unsilence { silence: String, by: String },
    /// Somebody takes care of an alert.
    Acknowledge { alert: String, by: String, seen: Option<Sight> },
    /// A message is sent that tries out a channel.
    Test { channel: String },
    /// Reports: when each is due, and what came of the last.
    Reports {},
    /// A report as of a time, or now, to be looked at.
    Report {
        report: String,
        at_s: Option<i64>,
        #[serde(default)]
        form: reports::Form,
    },
    /// A report is sent as of a time, or now.
    SendReport { report: String, at_s: Option<i64> },
    /// The rules are read again.
    Reload {},
    /// How it goes.
    Status {},
    /// A part of the alerts: those that are open, or over.
    Alerts(Wanted),
    /// One alert with its course.
    Alert { alert: String, seen: Option<Sight> },
    /// What is bad and no alert.
    Pending(Part),
    /// One rule, and subjects that it follows.
    Rule {
        rule: String,
        #[serde(default)]
        after: String,
        limit: Option<usize>,
    },
    /// What is open, in few words.
    Summary { seen: Option<Sight> },
    /// Which devices, graphs and data sources alerts name.
    Named {},
    /// What is wrong with the files of rules.
    Check {},
    /// A number becomes unreadable in all that is kept, or is only looked for.
    ForgetNumber { number: String, write: bool },
}

fn hundred() -> usize {
    100
}

pub(super) fn carry_out(served: &Served, order: Order) -> Result<Value, Fault> {
    let alerts = &served.alerts;
    match order {
        Order::List {} => Ok(told::list(&alerts.view(), &alerts.rules())),
        Order::History { limit } => Ok(told::history(&alerts.view(), &alerts.rules(), limit)),
        Order::Rules {} => Ok(told::rules(&alerts.view(), &alerts.rules())),
        Order::Channels {} => Ok(told::channels(&alerts.view(), &alerts.rules())),
        Order::Silences {} => Ok(told::silences(&alerts.view(), &alerts.rules(), now_s())),
        Order::Silence { when, from_s, for_s, by, why } => silence(served, when, from_s, for_s, &by, &why),
        Order::Unsilence { silence, by } => unsilence(served, &silence, &by),
        Order::Acknowledge { alert, by, seen } => acknowledge(served, &alert, &by, seen.as_ref()),
        Order::Test { channel } => {
            let came = alerts.test(&channel).ok_or_else(|| Fault::absent("channel", &channel))?;
            let (outcome, why) = came.described();
            Ok(json!({ "channel": channel, "outcome": outcome, "why": why }))
        }
        Order::Reports {} => Ok(reports::list(served)),
        Order::Report { report, at_s, form } => reports::show(served, &report, at_s, form),
        Order::SendReport { report, at_s } => reports::send(served, &report, at_s),
        Order::Reload {} => {
            let rules = (served.again)().map_err(|why| Fault::new("conflict", why))?;
            alerts.reload(rules).map_err(|fault| Fault::new("conflict", fault))?;
            Ok(json!({ "rules": alerts.rules().rules.len() }))
        }
        Order::Status {} => Ok(told::status(&alerts.view(), &alerts.rules(), &alerts.samples())),
        Order::Alerts(wanted) => alerts.look(|view| asked::alerts(view, &alerts.rules(), &wanted)),
        Order::Alert { alert, seen } => alerts.look(|view| match seen.as_ref() {
            // Who sees a part names whole ones: what a part of a name fits is not theirs to know.
            Some(seen) => asked::alert(view, &alerts.rules(), &alert, Some(seen)),
            None => {
                let past = view.past.iter().map(|past| id_of(&past.incident));
                let id = only(view.incidents.iter().map(id_of).chain(past), &alert, "alert")?;
                asked::alert(view, &alerts.rules(), id, None)
            }
        }),
        Order::Pending(part) => alerts.look(|view| asked::pending(view, &alerts.rules(), &part)),
        Order::Rule { rule, after, limit } => asked::rule(served, &rule, &after, limit),
        Order::Summary { seen } => Ok(alerts.look(|view| asked::summary(view, &alerts.rules(), seen.as_ref()))),
        Order::Named {} => Ok(alerts.look(sight::named)),
        Order::Check {} => Ok(asked::check(served)),
        Order::ForgetNumber { number, write } => {
            let number = Forgotten::new(&number).ok_or_else(|| Fault::new("bad-request", "it is no number"))?;
            let done = alerts.forget_number(&number, write).map_err(|why| Fault::new("unavailable", why))?;
            Ok(json!({ "records": done.records, "files": done.files, "kept": done.kept }))
        }
    }
}

fn silence(
    served: &Served,
    when: Vec<String>,
    from_s: Option<i64>,
    for_s: i64,
    by: &str,
    why: &str,
) -> Result<Value, Fault> {
    let now_s = now_s();
    let silence = silence_of(when, (from_s, for_s), (by, why), now_s)?;
    let told = told::silence(&silence, now_s);
    match served.alerts.silence(silence) {
        true => Ok(told),
        false => Err(Fault::new("unavailable", "there are too many silences, or the alert log cannot be written")),
    }
}

/// A silence that begins at a time, or now, and lasts so long; who wants it, and why.
pub(super) fn silence_of(
    when: Vec<String>,
    (from_s, for_s): (Option<i64>, i64),
    (by, why): (&str, &str),
    now_s: i64,
) -> Result<Silence, Fault> {
    let wrong = |why: String| Err(Fault::new("bad-request", why));
    if !(1..=SILENCE_S_MAX).contains(&for_s) {
        return wrong(format!("a silence lasts 1 to {SILENCE_S_MAX} seconds"));
    }
    if when.len() > SILENCE_TESTS_MAX {
        return wrong(format!("more than {SILENCE_TESTS_MAX} tests"));
    }
    if let Some(why) = when.iter().find_map(|text| LabelTest::parse(text).err()) {
        return wrong(why);
    }
    let from_s = from_s.unwrap_or(now_s).clamp(now_s - SILENCE_S_MAX, now_s + SILENCE_S_MAX);
    // Of what it keeps back says nothing: who may not know that may know the identifier.
    let any = RandomState::new().hash_one("silence");
    let id = Id::derive(now_s.saturating_mul(1_000_000_000), &any.to_le_bytes());
    let (by, why) = (cut(by), cut(why));
    Ok(Silence { id: id.to_string(), when, from_s, until_s: from_s + for_s, by, why })
}

fn unsilence(served: &Served, name: &str, by: &str) -> Result<Value, Fault> {
    let silences = served.alerts.view().silences;
    let id = only(silences.iter().map(|silence| silence.id.as_str()), name, "silence")?.to_owned();
    match served.alerts.unsilence(Unsilenced { id: id.clone(), by: cut(by), at_s: now_s() }) {
        true => Ok(json!({ "silence": id })),
        false => Err(Fault::new("unavailable", "the alert log cannot be written")),
    }
}

fn acknowledge(served: &Served, name: &str, by: &str, seen: Option<&Sight>) -> Result<Value, Fault> {
    let view = served.alerts.view();
    let shown = view.incidents.iter().filter(|incident| asked::sees(seen, incident));
    let id = only(shown.map(id_of), name, "alert")?.to_owned();
    served.alerts.acknowledge(&id, &cut(by));
    let is_done = served.alerts.wait_for(PATIENCE, |view| {
        let incident = view.incidents.iter().find(|incident| id_of(incident) == id);
        incident.is_none_or(|incident| incident.acknowledged.is_some())
    });
    match is_done {
        true => Ok(json!({ "alert": id })),
        false => Err(Fault::new("unavailable", "the alert log cannot be written")),
    }
}

pub(super) fn id_of(incident: &Incident) -> &str {
    &incident.notice.incident
}

/// The one that is named, by its whole name, or by its end or beginning where that is one's alone.
pub(super) fn only<'i>(all: impl Iterator<Item = &'i str>, name: &str, what: &str) -> Result<&'i str, Fault> {
    let meant = |id: &&str| !name.is_empty() && (id.starts_with(name) || id.ends_with(name));
    let found: Vec<&str> = all.filter(meant).collect();
    match found.as_slice() {
        [one] => Ok(one),
        [] => Err(Fault::absent(what, name)),
        all if all.contains(&name) => Ok(all[all.iter().position(|id| *id == name).unwrap_or(0)]),
        _ => Err(Fault::new("bad-request", format!("{} of them begin or end with '{name}'", found.len()))),
    }
}

fn cut(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(TEXT_CHARS_MAX).collect()
}
