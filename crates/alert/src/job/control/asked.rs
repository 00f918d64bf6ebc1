//! Questions of programs that show alerts: parts of lists, and one of everything.

use super::sight::Sight;
use super::{Fault, Served, told};
use crate::delivery::{Incident, Kind, Past};
use crate::engine::{Silence, Standing};
use crate::job::{View, now_s};
use crate::rule::{LabelTest, Maintenance, Rules};
use serde::Deserialize;
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Most that one answer lists.
// Limit: alerts listed in one answer
// Beyond: further ones are not listed
// Seen in: the number beside the list
pub const LISTED_MAX: usize = 500;
/// Rules that a summary names.
const RULES_NAMED_MAX: usize = 20;

/// Which alerts are wanted; what is left out does not matter.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Wanted {
    /// Those that are over, the last first; else those that are not, the worst and newest first.
    past: bool,
    /// `firing`, `firing again`, `suppressed`, `unknown`.
    state: Option<String>,
    severity: Option<String>,
    rule: Option<String>,
    device: Option<String>,
    /// Whether somebody takes care of it.
    acknowledged: Option<bool>,
    /// Words that stand in title, text, rule or labels, all of them.
    text: String,
    /// They are looked for in the names of rules and devices alone: what else there is may name people.
    names_alone: bool,
    /// Began before, and not over by then, seconds since 1970.
    from_s: Option<i64>,
    to_s: Option<i64>,
    offset: usize,
    limit: Option<usize>,
    /// What may be seen; none is everything.
    seen: Option<Sight>,
}

/// A part of a list.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Part {
    device: Option<String>,
    offset: usize,
    limit: Option<usize>,
    /// What may be seen; none is everything.
    seen: Option<Sight>,
}

/// Whether an alert may be seen.
pub fn sees(seen: Option<&Sight>, incident: &Incident) -> bool {
    seen.is_none_or(|seen| seen.sees(incident))
}

fn limit(limit: Option<usize>) -> Result<usize, Fault> {
    match limit.unwrap_or(100) {
        limit @ 1..=LISTED_MAX => Ok(limit),
        _ => Err(Fault::new("bad-request", format!("1 to {LISTED_MAX} are listed"))),
    }
}

pub fn alerts(view: &View, rules: &Rules, wanted: &Wanted) -> Result<Value, Fault> {
    let limit = limit(wanted.limit)?;
    let words: Vec<String> = wanted.text.split_whitespace().map(str::to_lowercase).collect();
    let takes = |incident: &Incident, ended_s: Option<i64>| wanted.takes(incident, ended_s, &words);
    let (total, alerts): (usize, Vec<Value>) = if wanted.past {
        let all: Vec<&Past> = view.past.iter().rev().filter(|past| takes(&past.incident, Some(past.ended_s))).collect();
        (all.len(), all.into_iter().skip(wanted.offset).take(limit).map(|past| told::past(past, rules)).collect())
    } else {
        let mut all: Vec<&Incident> = view.incidents.iter().filter(|incident| takes(incident, None)).collect();
        all.sort_by_key(|incident| {
            let notice = &incident.notice;
            (is_kept_back(incident), rank(notice.severity()), Reverse(notice.began_s), notice.incident.clone())
        });
        let now = Now::of(view);
        let shown = all.iter().skip(wanted.offset).take(limit);
        (all.len(), shown.map(|incident| now.told(incident, rules)).collect())
    };
    let pending = pending_seen(view, wanted.seen.as_ref()).count();
    Ok(json!({ "total": total, "alerts": alerts, "pending": pending }))
}

impl Wanted {
    fn takes(&self, incident: &Incident, ended_s: Option<i64>, words: &[String]) -> bool {
        let label = |name: &str| incident.notice.labels.get(name).map_or("", String::as_str);
        let is = |wanted: &Option<String>, name: &str| wanted.as_ref().is_none_or(|wanted| wanted == label(name));
        let state = match ended_s {
            Some(_) => "resolved",
            None => incident.state.name(),
        };
        sees(self.seen.as_ref(), incident)
            && is(&self.rule, "rule")
            && is(&self.device, "device")
            && self.severity.as_ref().is_none_or(|wanted| wanted == incident.notice.severity())
            && self.state.as_ref().is_none_or(|wanted| wanted == state)
            && self.acknowledged.is_none_or(|wanted| wanted == incident.acknowledged.is_some())
            && self.to_s.is_none_or(|to_s| incident.notice.began_s < to_s)
            && self.from_s.is_none_or(|from_s| ended_s.is_none_or(|ended_s| ended_s >= from_s))
            && (words.is_empty() || self.has(incident, words))
    }

    fn has(&self, incident: &Incident, words: &[String]) -> bool {
        let notice = &incident.notice;
        let names = ["rule", "device"].into_iter().filter_map(|name| notice.labels.get(name));
        let said = [&notice.title, &notice.text].into_iter().chain(notice.labels.values());
        let text: Vec<String> = match self.names_alone {
            true => names.map(|text| text.to_lowercase()).collect(),
            false => said.map(|text| text.to_lowercase()).collect(),
        };
        words.iter().all(|word| text.iter().any(|text| text.contains(word)))
    }
}

/// Critical ones first.
fn rank(severity: &str) -> u8 {
    match severity {
        "critical" => 0,
        "warning" => 1,
        _ => 2,
    }
}

fn is_kept_back(incident: &Incident) -> bool {
    incident.state == Kind::Suppressed
}

/// How subjects stand now, by rule and name.
struct Now<'v>(BTreeMap<(&'v str, &'v str), &'v Standing>);

impl<'v> Now<'v> {
    fn of(view: &'v View) -> Now<'v> {
        Now(view.standings.iter().map(|standing| ((&*standing.rule, &*standing.subject), standing)).collect())
    }

    fn told(&self, incident: &Incident, rules: &Rules) -> Value {
        let label = |name: &str| incident.notice.labels.get(name).map_or("", String::as_str);
        told::open(incident, rules, self.0.get(&(label("rule"), label("subject"))).copied())
    }
}

/// One alert, over or not: its course, and what keeps it back now. Who does not see all devices is not told of silences
/// and windows, which may name others, nor what receivers said of messages, which may have been about others, too.
pub fn alert(view: &View, rules: &Rules, id: &str, seen: Option<&Sight>) -> Result<Value, Fault> {
    let mut told = whole_alert(view, rules, id, seen)?;
    if seen.is_some() {
        (told["silences"], told["windows"]) = (json!([]), json!([]));
        let steps = told["course"].as_array_mut().into_iter().flatten();
        steps.filter(|step| step["what"] == "told").for_each(|step| step["why"] = json!(""));
    }
    Ok(told)
}

fn whole_alert(view: &View, rules: &Rules, id: &str, seen: Option<&Sight>) -> Result<Value, Fault> {
    let is = |incident: &Incident| incident.notice.incident == id && sees(seen, incident);
    if let Some(incident) = view.incidents.iter().find(|incident| is(incident)) {
        let mut told = Now::of(view).told(incident, rules);
        told["course"] = told::course(incident);
        let label = |name: &str| incident.notice.labels.get(name).map(String::as_str);
        let now_s = now_s();
        let silences = view.silences.iter().filter(|silence| holds(silence, now_s, label));
        told["silences"] = silences.map(|silence| told::silence(silence, now_s)).collect();
        let windows = rules.maintenance.iter().filter(|(_, window): &(_, &Maintenance)| window.holds(now_s, label));
        told["windows"] = windows.map(|(name, window)| told::window(name, window, now_s)).collect();
        return Ok(told);
    }
    let past = view.past.iter().rev().find(|past| is(&past.incident)).ok_or_else(|| Fault::absent("alert", id))?;
    let mut told = told::past(past, rules);
    told["course"] = told::course(&past.incident);
    (told["silences"], told["windows"]) = (json!([]), json!([]));
    Ok(told)
}

fn holds<'l>(silence: &Silence, now_s: i64, label: impl Fn(&str) -> Option<&'l str>) -> bool {
    let tests = silence.when.iter().filter_map(|text| LabelTest::parse(text).ok());
    (silence.from_s..silence.until_s).contains(&now_s) && tests.into_iter().all(|test| test.holds(label(&test.label)))
}

pub fn pending_of(view: &View) -> impl Iterator<Item = &Standing> {
    view.standings.iter().filter(|standing| standing.incident.is_none() && standing.state.is_bad())
}

fn pending_seen<'v>(view: &'v View, seen: Option<&'v Sight>) -> impl Iterator<Item = &'v Standing> {
    pending_of(view).filter(move |standing| seen.is_none_or(|seen| seen.sees_subject(standing)))
}

/// What is bad and no alert: not for long enough, or something keeps it back.
pub fn pending(view: &View, rules: &Rules, part: &Part) -> Result<Value, Fault> {
    let limit = limit(part.limit)?;
    let of_device = |standing: &&Standing| part.device.as_ref().is_none_or(|device| *device == standing.device);
    let mut all: Vec<&Standing> = pending_seen(view, part.seen.as_ref()).filter(of_device).collect();
    all.sort_by_key(|standing| Reverse(standing.since_s));
    let shown = all.iter().skip(part.offset).take(limit).map(|standing| told::pending_told(standing, rules));
    Ok(json!({ "total": all.len(), "pending": shown.collect::<Vec<_>>() }))
}

/// One rule, and subjects that it follows: those after a name.
pub fn rule(served: &Served, name: &str, after: &str, wanted: Option<usize>) -> Result<Value, Fault> {
    let limit = limit(wanted)?;
    let rules = served.alerts.rules();
    let rule = rules.rules.get(name).ok_or_else(|| Fault::absent("rule", name))?;
    let mut told = served.alerts.look(|view| told::rule(view, &rules, name, rule));
    let followed = served.alerts.followed(name, after, limit);
    let next = followed.last().filter(|_| followed.len() == limit).map(|standing| standing.subject.clone());
    told["followed"] = followed.iter().map(told::standing).collect();
    told["next"] = json!(next);
    Ok(told)
}

/// What is open, in few words: for who looks each second.
pub fn summary(view: &View, rules: &Rules, seen: Option<&Sight>) -> Value {
    let all = || view.incidents.iter().filter(|incident| sees(seen, incident));
    let open = || all().filter(|incident| !is_kept_back(incident));
    let mut severities: BTreeMap<&str, usize> = BTreeMap::new();
    let mut critical: BTreeMap<&str, (usize, &Incident)> = BTreeMap::new();
    for incident in open() {
        let severity = incident.notice.severity();
        *severities.entry(severity).or_default() += 1;
        if severity == "critical" {
            let rule = incident.notice.labels.get("rule").map_or("", String::as_str);
            critical.entry(rule).or_insert((0, incident)).0 += 1;
        }
    }
    let count = |severity: &str| severities.get(severity).copied().unwrap_or_default();
    let named = |(rule, (alerts, first)): (&&str, &(usize, &Incident))| {
        let (alert, began_s) = (&first.notice.incident, first.notice.began_s);
        json!({ "rule": rule, "alerts": alerts, "alert": alert, "since": began_s })
    };
    json!({
        "revision": seen.map_or(view.revision, |seen| seen.revision(view)),
        "open": open().count(),
        "critical": count("critical"),
        "warning": count("warning"),
        "info": count("info"),
        "acknowledged": open().filter(|incident| incident.acknowledged.is_some()).count(),
        "kept_back": all().filter(|incident| is_kept_back(incident)).count(),
        "pending": pending_seen(view, seen).count(),
        "rules": rules.rules.len(),
        "channels": rules.channels.len(),
        "fault": view.fault,
        "rules_critical": critical.iter().take(RULES_NAMED_MAX).map(named).collect::<Vec<_>>(),
    })
}

/// What is wrong with the files of rules as they are now, a sentence each.
pub fn check(served: &Served) -> Value {
    let (rules, mistakes) = match (served.again)() {
        Ok(rules) => (Some(rules.rules.len()), Vec::new()),
        Err(why) => {
            // What several are wrong of stands in a line of its own before them.
            let head = usize::from(why.lines().count() > 1);
            (None, why.lines().skip(head).map(|line| line.trim().to_owned()).collect::<Vec<_>>())
        }
    };
    json!({ "rules": rules, "mistakes": mistakes })
}
