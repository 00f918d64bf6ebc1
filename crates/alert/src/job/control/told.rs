//! What is told, as JSON. Times are seconds since 1970.

use crate::delivery::{Happened, Incident, Past, Step};
use crate::engine::{Silence, Standing, condition, limit};
use crate::job::View;
use crate::rule::{Channel, Maintenance, Measure, Rule, Rules, Table, Watch, Way};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use trunkline_kit::metrics::{Number, Sample};
use trunkline_store::filter::Filter;

pub fn list(view: &View, rules: &Rules) -> Value {
    let now: BTreeMap<(&str, &str), &Standing> =
        view.standings.iter().map(|standing| ((&*standing.rule, &*standing.subject), standing)).collect();
    let told = |incident: &Incident| {
        let label = |name: &str| incident.notice.labels.get(name).map_or("", String::as_str);
        open(incident, rules, now.get(&(label("rule"), label("subject"))).copied())
    };
    let pending = view.standings.iter().filter(|standing| standing.incident.is_none() && standing.state.is_bad());
    json!({
        "alerts": view.incidents.iter().map(told).collect::<Vec<_>>(),
        "pending": pending.map(|standing| pending_told(standing, rules)).collect::<Vec<_>>(),
        "messages_waiting": view.waiting,
        "fault": view.fault,
    })
}

/// An alert that is not over, and how its subject stands now.
pub fn open(incident: &Incident, rules: &Rules, now: Option<&Standing>) -> Value {
    let mut told = alert(incident, rules);
    if let Some(standing) = now {
        told["value"] = json!(standing.value);
        told["standing"] = json!(standing.state.name());
        told["kept_back_by"] = json!(standing.state.kept_back_by());
    }
    told
}

/// One that is over.
pub fn past(past: &Past, rules: &Rules) -> Value {
    let mut told = alert(&past.incident, rules);
    told["state"] = json!("resolved");
    told["ended"] = json!(past.ended_s);
    told
}

/// What happened to an alert, the oldest first.
pub fn course(incident: &Incident) -> Value {
    let step = |step: &Step| match &step.what {
        Happened::Stands { state, kept_back_by, value } => {
            json!({ "at": step.at_s, "what": "state", "state": state, "kept_back_by": kept_back_by, "value": value })
        }
        Happened::Acknowledged { by } => json!({ "at": step.at_s, "what": "acknowledged", "by": by }),
        Happened::Told { message, channel, route, escalation, attempts, outcome, why } => json!({
            "at": step.at_s, "what": "told", "message": message, "channel": channel, "route": route,
            "escalation": escalation, "attempts": attempts, "outcome": outcome, "why": why,
        }),
    };
    incident.course.steps().iter().map(step).collect()
}

/// A subject as it stands, well or not.
pub fn standing(standing: &Standing) -> Value {
    json!({
        "subject": standing.subject,
        "device": standing.device,
        "standing": standing.state.name(),
        "kept_back_by": standing.state.kept_back_by(),
        "since": standing.since_s,
        "value": standing.value,
        "alert": standing.incident,
        "labels": standing.fields,
    })
}

pub fn pending_told(standing: &Standing, rules: &Rules) -> Value {
    let rule = rules.rules.get(&standing.rule);
    json!({
        "rule": standing.rule,
        "severity": rule.map(|rule| rule.severity.name()),
        "subject": standing.subject,
        "device": standing.device,
        "standing": standing.state.name(),
        "kept_back_by": standing.state.kept_back_by(),
        "since": standing.since_s,
        "value": standing.value,
        "limit": rule.and_then(|rule| limit(&rule.condition)),
        "labels": standing.fields,
    })
}

fn alert(incident: &Incident, rules: &Rules) -> Value {
    let notice = &incident.notice;
    let rule = notice.labels.get("rule").and_then(|name| rules.rules.get(name));
    let acknowledged = incident.acknowledged.as_ref();
    json!({
        "id": notice.incident,
        "rule": notice.labels.get("rule"),
        "severity": notice.severity(),
        "state": incident.state.name(),
        "subject": notice.labels.get("subject"),
        "device": notice.labels.get("device"),
        "title": notice.title,
        "text": notice.text,
        "began": notice.began_s,
        "value": notice.value,
        "value_began": notice.value,
        "limit": rule.and_then(|rule| limit(&rule.condition)),
        "condition": rule.map(|rule| condition(rule, |number| number.to_string())),
        "flapping": notice.flapping,
        "kind": rule.map(|rule| kind(&rule.watch)),
        "calls": rule.map(|rule| calls(&rule.watch)),
        "labels": notice.labels,
        "told": incident.told,
        "routes": incident.routes,
        "acknowledged": acknowledged.map(|by| json!({ "by": by.who, "at": by.at_s })),
    })
}

pub fn history(view: &View, rules: &Rules, limit: usize) -> Value {
    json!({ "alerts": view.past.iter().rev().take(limit).map(|one| past(one, rules)).collect::<Vec<_>>() })
}

pub fn rules(view: &View, rules: &Rules) -> Value {
    json!({ "rules": rules.rules.iter().map(|(name, one)| rule(view, rules, name, one)).collect::<Vec<_>>() })
}

/// One rule.
pub fn rule(view: &View, rules: &Rules, name: &str, rule: &Rule) -> Value {
    let of_rule = |incident: &&Incident| incident.notice.labels.get("rule").is_some_and(|rule| rule == name);
    let pending =
        |standing: &&Standing| standing.rule == name && standing.incident.is_none() && standing.state.is_bad();
    json!({
        "rule": name,
        "severity": rule.severity.name(),
        "kind": kind(&rule.watch),
        "watches": watches(&rule.watch),
        "condition": condition(rule, |number| number.to_string()),
        "limit": limit(&rule.condition),
        "for_s": rule.for_s,
        "subjects": view.watched.get(name).copied().unwrap_or_default(),
        "alerts": view.incidents.iter().filter(of_rule).count(),
        "pending": view.standings.iter().filter(pending).count(),
        "depends": rule.depends,
        "routes": rules.routes_of(name, rule),
        "text": rules.texts.get(name),
    })
}

/// What kind of thing is watched.
fn kind(watch: &Watch) -> &'static str {
    match watch {
        Watch::Series(_) => "series",
        Watch::Rows(_) => "rows",
        Watch::Metrics(_) => "metrics",
    }
}

/// Which rows of calls are counted, as a filter, and what makes groups of them; none where calls are not watched.
fn calls(watch: &Watch) -> Value {
    let Watch::Rows(rows) = watch else { return Value::Null };
    if rows.table != Table::Calls {
        return Value::Null;
    }
    let filters: Vec<&str> = rows.filter.iter().chain(&rows.of).map(Filter::text).collect();
    let filter = match filters.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        all => all.iter().map(|one| format!("({one})")).collect::<Vec<_>>().join(" and "),
    };
    json!({ "filter": filter, "group": rows.group.as_ref().map(ToString::to_string), "over_s": rows.over_s })
}

/// What is watched, in words of the rule file.
fn watches(watch: &Watch) -> String {
    let names = |what: &str, patterns: &[crate::rule::Pattern]| {
        let texts: Vec<&str> = patterns.iter().map(crate::rule::Pattern::text).collect();
        (!texts.is_empty()).then(|| format!("{what} {}", texts.join(", ")))
    };
    let tests = |all: &[crate::rule::LabelTest]| {
        all.iter().map(ToString::to_string).reduce(|one, other| format!("{one} and {other}"))
    };
    let parts = match watch {
        Watch::Series(series) => vec![
            Some(format!("series {}", series.value)),
            names("of", &series.templates),
            names("at", &series.devices),
            names("rows", &series.indexes),
            tests(&series.tags),
        ],
        Watch::Metrics(metrics) => vec![names("metric", &metrics.names), tests(&metrics.labels)],
        Watch::Rows(rows) => {
            let column = rows.column.as_ref().map(|column| format!(" of {column}")).unwrap_or_default();
            let percent = if rows.measure == Measure::Percentile { rows.percentile.to_string() } else { String::new() };
            vec![
                Some(format!("{} {}{percent}{column}", rows.table.name(), rows.measure.name())),
                rows.group.as_ref().map(|group| format!("by {group}")),
                Some(format!("over {} s", rows.over_s)),
            ]
        }
    };
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

pub fn channels(view: &View, rules: &Rules) -> Value {
    let told = |(name, channel): (&String, &Channel)| {
        let last = view.told.iter().rev().find(|told| told.channel == *name);
        json!({
            "channel": name,
            "kind": way(&channel.way).0,
            "to": way(&channel.way).1,
            "last": last.map(|last| {
                let (outcome, why) = last.came.described();
                json!({ "at": last.at_s, "title": last.title, "outcome": outcome, "why": why })
            }),
        })
    };
    let sent = view.told.iter().rev().map(|told| {
        let (outcome, why) = told.came.described();
        json!({
            "message": told.message, "channel": told.channel, "title": told.title, "alerts": told.alerts,
            "at": told.at_s, "outcome": outcome, "why": why,
        })
    });
    json!({
        "channels": rules.channels.iter().map(told).collect::<Vec<_>>(),
        "sent": sent.collect::<Vec<_>>(),
        "waiting": view.waiting,
    })
}

/// The kind of a channel, and where it goes without anything that lets in.
fn way(way: &Way) -> (&'static str, String) {
    match way {
        Way::Webhook { url, .. } => ("webhook", host_of(url)),
        Way::Mail { to, .. } => ("mail", to.join(", ")),
        Way::Syslog { server, .. } => ("syslog", server.clone()),
        Way::Command { command } => ("command", command.first().map(ToString::to_string).unwrap_or_default()),
    }
}

/// Paths of webhooks often are the secret.
fn host_of(url: &str) -> String {
    let uri = url.parse::<hyper::Uri>().ok();
    uri.and_then(|uri| uri.authority().map(|authority| authority.host().to_owned())).unwrap_or_default()
}

pub fn silences(view: &View, rules: &Rules, now_s: i64) -> Value {
    let windows = rules.maintenance.iter().map(|(name, one)| window(name, one, now_s));
    json!({
        "silences": view.silences.iter().map(|one| silence(one, now_s)).collect::<Vec<_>>(),
        "windows": windows.collect::<Vec<_>>(),
    })
}

/// A maintenance window of the rules.
pub fn window(name: &str, window: &Maintenance, now_s: i64) -> Value {
    json!({
        "name": name,
        "when": window.when.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "weekly": window.weekly.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "from": window.once.map(|(from_s, _)| from_s),
        "until": window.once.map(|(_, until_s)| until_s),
        "holds": window.is_now(now_s),
    })
}

pub fn silence(silence: &Silence, now_s: i64) -> Value {
    json!({
        "silence": silence.id,
        "when": silence.when,
        "from": silence.from_s,
        "until": silence.until_s,
        "by": silence.by,
        "why": silence.why,
        "holds": (silence.from_s..silence.until_s).contains(&now_s),
    })
}

pub fn status(view: &View, rules: &Rules, samples: &[Sample]) -> Value {
    let counted = |sample: &Sample| {
        let value = match sample.value {
            Number::Whole(number) => json!(number),
            Number::Real(number) => json!(number),
        };
        (sample.name.to_owned(), value)
    };
    let silent: Vec<&String> =
        rules.rules.keys().filter(|name| view.watched.get(*name).is_none_or(|count| *count == 0)).collect();
    json!({
        "alerts": view.incidents.len(),
        "rules": rules.rules.len(),
        "rules_without_subject": silent,
        "channels": rules.channels.len(),
        "messages_waiting": view.waiting,
        "fault": view.fault,
        "counters": samples.iter().map(counted).collect::<Map<String, Value>>(),
    })
}
