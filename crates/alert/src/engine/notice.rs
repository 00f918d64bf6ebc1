//! What there is to tell about a subject.

use super::subject::Subject;
use crate::delivery::{Kind, Notice};
use crate::rule::{Condition, OF_WHAT, Rule, TITLE, Text};
use std::collections::BTreeMap;

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
        limit: limit(&rule.condition),
        condition: condition(rule, |number| number.to_string()),
        figures: figures(kind, rule, subject.judged),
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

/// When it is bad, in words that follow "bad is".
pub fn condition(rule: &Rule, number: impl Fn(f64) -> String) -> String {
    match rule.condition {
        Condition::High { limit, .. } => format!("more than {}", number(limit)),
        Condition::Low { limit, .. } => format!("less than {}", number(limit)),
        Condition::Rate { falls, limit, per_s, .. } => {
            let moving = if falls { "falling" } else { "rising" };
            format!("{moving} by more than {} in {per_s} s", number(limit))
        }
        Condition::Baseline { deviations, .. } => {
            format!("farther than {} deviations from what is usual at this hour", number(deviations))
        }
        Condition::Down { after_s } => format!("no value for {after_s} s"),
        Condition::Flapping { limit, .. } => {
            format!("changing more than {} times in {} s", number(limit), rule.window_s)
        }
    }
}

/// Value and limit for people, where the rule has no words of its own.
fn figures(kind: Kind, rule: &Rule, value: Option<f64>) -> String {
    if rule.title != Text::parse(TITLE) || !rule.text.is_empty() {
        return String::new();
    }
    let bad = condition(rule, number);
    match (kind, rule.condition, value) {
        (_, Condition::Down { .. }, _) | (_, _, None) => format!("condition: {bad}"),
        (Kind::Unknown, ..) => format!("no value (condition: {bad})"),
        (_, _, Some(value)) => format!("{} (condition: {bad})", number(value)),
    }
}

/// Prefixes of numbers, each a thousand times the one before it.
const PREFIXES: [&str; 6] = ["", " k", " M", " G", " T", " P"];

/// A number as people read it: four digits that count, large ones with a prefix.
pub fn number(value: f64) -> String {
    // Rounded first: 9999.7 is 10 k.
    let rounded: f64 = format!("{value:.3e}").parse().unwrap_or(value);
    let digits = if rounded == 0.0 { 1 } else { rounded.abs().log10().floor() as i32 + 1 };
    let prefix = if digits <= 4 { 0 } else { (digits - 1) / 3 };
    let Some(name) = usize::try_from(prefix).ok().and_then(|prefix| PREFIXES.get(prefix)) else {
        return format!("{rounded:e}");
    };
    if digits < -5 {
        return format!("{rounded:e}");
    }
    let places = 4 - (digits - 3 * prefix);
    let text = format!("{:.*}", places.clamp(0, 9) as usize, rounded / 1000_f64.powi(prefix));
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_people() {
        let all = [0.0, 1.0, 93.456_789, 22_145_713_975.0, 0.1 + 0.2, -5.25, 9999.0, 9999.7, 900e6, 0.001_234_56];
        let texts = ["0", "1", "93.46", "22.15 G", "0.3", "-5.25", "9999", "10 k", "900 M", "0.001235"];
        assert_eq!(all.map(number), texts);
        assert_eq!([1e21, -2.5e-9, 12_346.0].map(number), ["1e21", "-2.5e-9", "12.35 k"]);
    }
}
