//! Reports as lines ask for them: when each is due, how one looks, one that is sent now.

use super::{Fault, Served};
use crate::delivery::{Message, Outcomes};
use crate::job::{ReportShown, mail, now_s};
use crate::report::{LastMade, OfReport, Pictures, document, html, mime, plain};
use crate::rule::Way;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

/// How much longer than an attempt may take its outcome is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// How a report is shown.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// As text.
    #[default]
    Text,
    /// As a page, with its pictures in it.
    Html,
    /// As a mail.
    Mail,
    /// As figures.
    Json,
}

pub fn list(served: &Served) -> Value {
    let view = served.alerts.view();
    json!({ "reports": view.reports.iter().map(told).collect::<Vec<_>>() })
}

fn told(report: &ReportShown) -> Value {
    json!({
        "report": report.name,
        "title": report.title,
        "schedule": report.schedule,
        "span": report.span,
        "channels": report.channels,
        "next": report.next_s,
        "last": report.last.as_ref().map(last),
        "missed": report.missed,
        "missed_last": report.missed_s,
        "trouble": report.trouble,
    })
}

fn last(last: &LastMade) -> Value {
    let message = |told: &crate::report::MessageTold| {
        let (at_s, (outcome, why)) = match &told.came {
            Some((at_s, came)) => (Some(*at_s), came.described()),
            None => (None, ("waits", "")),
        };
        json!({ "message": told.message, "channel": told.channel, "at": at_s, "outcome": outcome, "why": why })
    };
    let messages: Vec<Value> = last.messages.iter().map(message).collect();
    json!({ "at": last.at_s, "made": last.made_s, "messages": messages })
}

pub fn show(served: &Served, name: &str, at_s: Option<i64>, form: Form) -> Result<Value, Fault> {
    let at_s = known(served, name, at_s)?;
    let gathered = served.alerts.preview(name, Some(at_s)).map_err(|why| Fault::new("unavailable", why))?;
    let shown = document(&gathered);
    let content = match form {
        Form::Text => plain(&shown).into(),
        Form::Html => html(&shown, Pictures::Inside).into(),
        Form::Mail => {
            let file = format!("{name}-{at_s}-preview");
            let report = OfReport { report: name.to_owned(), subject: gathered.subject(), at_s, file: file.clone() };
            let (from, to, channel) = mailbox(served, name);
            let message = Message::of_report(report, &channel, gathered.made_s);
            format!("{}{}", mail::head(&message, &from, &to), mime(&shown, &format!("{file}@trunkline"))).into()
        }
        Form::Json => gathered.json(),
    };
    Ok(json!({ "report": name, "from": gathered.from_s, "to": gathered.to_s, "content": content }))
}

/// Whose mail it is, where it goes by mail at all.
fn mailbox(served: &Served, name: &str) -> (String, Vec<String>, String) {
    let rules = served.alerts.rules();
    for channel in rules.reports.get(name).into_iter().flat_map(|report| &report.channels) {
        if let Some(Way::Mail { from, to, .. }) = rules.channels.get(channel).map(|channel| &channel.way) {
            return (from.clone(), to.clone(), channel.clone());
        }
    }
    ("trunkline@localhost".to_owned(), vec!["nobody@localhost".to_owned()], String::new())
}

pub fn send(served: &Served, name: &str, at_s: Option<i64>) -> Result<Value, Fault> {
    let at_s = known(served, name, at_s)?;
    let sent = served.alerts.send_report(name, Some(at_s)).map_err(|why| Fault::new("unavailable", why))?;
    let rules = served.alerts.rules();
    let longest_s =
        sent.iter().filter_map(|sending| rules.channels.get(&sending.channel)).map(|channel| channel.timeout_s);
    let patience = Duration::from_secs(longest_s.max().unwrap_or(0).unsigned_abs()) + PATIENCE;
    served.alerts.wait_for(patience, |view| {
        sent.iter().all(|sending| view.told.iter().any(|told| told.message == sending.message))
    });
    let view = served.alerts.view();
    let told = sent.iter().map(|sending| {
        let came: Option<&Outcomes> =
            view.told.iter().rev().find(|told| told.message == sending.message).map(|told| &told.came);
        let (outcome, why) = came.map_or(("waits", ""), Outcomes::described);
        json!({ "channel": sending.channel, "message": sending.message, "outcome": outcome, "why": why })
    });
    Ok(json!({ "report": name, "at": at_s, "messages": told.collect::<Vec<_>>() }))
}

/// The time of a report that there is.
fn known(served: &Served, name: &str, at_s: Option<i64>) -> Result<i64, Fault> {
    if !served.alerts.rules().reports.contains_key(name) {
        return Err(Fault::absent("report", name));
    }
    let (at_s, now_s) = (at_s.unwrap_or_else(now_s), now_s());
    match (0..=now_s).contains(&at_s) {
        true => Ok(at_s),
        false => Err(Fault::new("bad-request", "a report tells of what has been: its time is in the future")),
    }
}
