//! What a message looks like: as a line, as a text, as JSON.

use super::message::Message;
use super::{Kind, Notice};
use core::fmt::Write as _;
use serde_json::{Value, json as value};
use trunkline_kit::untrusted;
use trunkline_store::time::{SECOND_NS, rfc3339};

/// Characters of a line.
const LINE_MAX: usize = 200;

/// A message in one line: `[firing 3, resolved 1] edge-1 Gi0/1 is full`.
pub fn subject_line(message: &Message) -> String {
    if let Some(report) = &message.report {
        return line(&report.subject);
    }
    let kinds = [Kind::Fired, Kind::Resumed, Kind::Unknown, Kind::Resolved];
    let count = |kind: Kind| message.alerts.iter().filter(|alert| alert.kind == kind).count();
    let mut parts: Vec<String> = Vec::new();
    for kind in kinds.into_iter().filter(|kind| count(*kind) > 0) {
        parts.push(match message.alerts.len() {
            1 => kind.name().to_owned(),
            _ => format!("{} {}", kind.name(), count(kind)),
        });
    }
    if message.more > 0 {
        parts.push(format!("{} more", message.more));
    }
    let step = message.step.map_or(String::new(), |step| format!("escalation {}: ", step + 1));
    let title = message.alerts.first().map(Notice::line).unwrap_or_default();
    let others = if message.alerts.len() > 1 { ", .." } else { "" };
    line(&format!("[{step}{}] {title}{others}", parts.join(", ")))
}

/// A message for people, in lines.
pub fn text(message: &Message) -> String {
    let mut out = String::new();
    if let Some(step) = message.step {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "Nobody has acknowledged this (escalation {}).\n", step + 1);
    }
    for alert in &message.alerts {
        let flapping = if alert.flapping { ", flapping" } else { "" };
        let _ = writeln!(
            out,
            "{} ({}{flapping}): {}",
            alert.kind.name().to_uppercase(),
            alert.severity(),
            untrusted::line(&alert.line())
        );
        if !alert.text.is_empty() {
            let _ = writeln!(out, "{}", untrusted::lines(&alert.text));
        }
        let _ = writeln!(out, "since {}, now {}", time(alert.began_s), time(alert.at_s));
        let labels: Vec<String> =
            alert.labels.iter().map(|(name, text)| format!("{name}={}", untrusted::line(text))).collect();
        let _ = writeln!(out, "{}\nalert {}\n", labels.join(" "), alert.incident);
    }
    if message.more > 0 {
        let _ = writeln!(out, "And {} more.\n", message.more);
    }
    let _ = writeln!(out, "message {} by route {}", message.id, message.route);
    out
}

/// A message for programs.
pub fn json(message: &Message) -> Value {
    let alert = |alert: &Notice| {
        value!({
            "id": alert.incident,
            "state": alert.kind.name(),
            "severity": alert.severity(),
            "title": alert.line(),
            "text": alert.text,
            "began": time(alert.began_s),
            "at": time(alert.at_s),
            "value": alert.value,
            "limit": alert.limit,
            "condition": alert.condition,
            "flapping": alert.flapping,
            "labels": alert.labels,
        })
    };
    value!({
        "id": message.id,
        "route": message.route,
        "channel": message.channel,
        "escalation": message.step.map(|step| step + 1),
        "made": time(message.made_s),
        "title": subject_line(message),
        "alerts": message.alerts.iter().map(alert).collect::<Vec<_>>(),
        "more": message.more,
    })
}

/// A field of a message, for the arguments of a command.
pub fn field(message: &Message, name: &str) -> Option<String> {
    let first = message.alerts.first();
    match name {
        "id" => Some(message.id.clone()),
        "title" => Some(subject_line(message)),
        "body" => Some(text(message)),
        "route" => Some(message.route.clone()),
        "channel" => Some(message.channel.clone()),
        "count" => Some((message.alerts.len() as u64 + message.more).to_string()),
        "state" => first.map(|alert| alert.kind.name().to_owned()),
        label => first.and_then(|alert| alert.labels.get(label).cloned()),
    }
}

fn time(at_s: i64) -> String {
    let text = rfc3339(at_s.saturating_mul(SECOND_NS));
    text.replace(".000000Z", "Z")
}

/// Without what would end a line, and not too long.
fn line(text: &str) -> String {
    untrusted::line(text).chars().take(LINE_MAX).collect()
}
