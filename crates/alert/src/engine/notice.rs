//! What there is to tell about a subject.

use super::subject::Subject;
use crate::delivery::{Kind, Notice};
use crate::rule::{Condition, Rule};
use std::collections::BTreeMap;

/// What says of what a subject is: a label of the rule does not take its place, as who may see the alert goes by it.
const OF_WHAT: [&str; 5] = ["device_id", "graph", "source", "metric", "table"];

/// A label of a subject: the rule's, what is known of it, and those that each has.
pub fn label<'s>(
    rule_name: &'s str,
    rule: &'s Rule,
    name: &'s str,
    subject: &'s Subject,
    label: &str,
) -> Option<&'s str> {
    match label {
        "rule" => Some(rule_name),
        "severity" => Some(rule.severity.name()),
        "subject" => Some(name),
        "device" => Some(&subject.device),
        label => {
            let (own, known) = (rule.labels.get(label), subject.fields.get(label));
            let first = if OF_WHAT.contains(&label) { known.or(own) } else { own.or(known) };
            first.map(String::as_str)
        }
    }
}

/// What is told of a subject now.
pub fn of(kind: Kind, rule_name: &str, rule: &Rule, name: &str, subject: &Subject, at_s: i64) -> Notice {
    let (incident, began_s) = subject.incident.clone().unwrap_or_default();
    let own = ["rule", "severity", "subject", "device"];
    let known = rule.labels.keys().chain(subject.fields.keys()).map(String::as_str);
    let labels: BTreeMap<String, String> = own
        .into_iter()
        .chain(known)
        .filter_map(|key| Some((key.to_owned(), label(rule_name, rule, name, subject, key)?.to_owned())))
        .filter(|(_, text)| !text.is_empty())
        .collect();
    let field = |field: &str| match field {
        "value" => Some(subject.judged.or(subject.value).map(number).unwrap_or_default()),
        "limit" => limit(&rule.condition).map(number),
        "since" => Some(rule.zone.written(began_s)),
        "at" => Some(rule.zone.written(at_s)),
        "state" => Some(kind.name().to_owned()),
        field => labels.get(field).cloned(),
    };
    Notice {
        incident,
        kind,
        title: rule.title.with(field),
        text: rule.text.with(field),
        at_s,
        began_s,
        value: subject.judged,
        flapping: subject.is_flapping(rule),
        routes: rule.routes.clone(),
        labels,
    }
}

/// The limit of a condition; of a baseline it is deviations.
pub fn limit(condition: &Condition) -> Option<f64> {
    match condition {
        Condition::High { limit, .. }
        | Condition::Low { limit, .. }
        | Condition::Rate { limit, .. }
        | Condition::Flapping { limit, .. } => Some(*limit),
        Condition::Baseline { deviations, .. } => Some(*deviations),
        Condition::Down { .. } => None,
    }
}

/// A number with as many places as people read: six digits.
fn number(value: f64) -> String {
    let places = 5 - value.abs().max(1.0).log10().floor() as i32;
    let text = format!("{value:.*}", places.clamp(0, 5) as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_people() {
        let all = [0.0, 1.0, 93.456_789, 123_456_789.4, 0.1 + 0.2, -5.25, 1e21];
        let texts = ["0", "1", "93.4568", "123456789", "0.3", "-5.25", "1000000000000000000000"];
        assert_eq!(all.map(number), texts);
    }
}
