//! Alerts without numbers. Those of devices and of the program's own metrics name neither; those of rows are named by
//! what rows are grouped by, which may be whom somebody called.

use super::scrub::{Kind, Scrub};
use super::{names_numbers, number, plain, uri, user, words};
use crate::auth::refusal::Refusal;
use crate::sources::{Alert, AlertPending, AlertRule, AlertSent, AlertSilence, AlertStep, AlertSubject, AlertWindow};
use std::collections::BTreeMap;

/// Labels that a masked viewer may have silences test: they name nobody.
const LABELS: [&str; 12] = [
    "rule",
    "severity",
    "device",
    "site",
    "location",
    "template",
    "device_template",
    "index",
    "label",
    "address",
    "metric",
    "table",
];
/// Labels of rows that hold the number or name of somebody.
const NUMBERS: [&str; 5] = ["caller", "callee", "user", "msisdn", "destination"];
/// Labels of rows that hold an address of somebody.
const ADDRESSES: [&str; 2] = ["aor", "contact"];

/// Masks an alert.
pub fn alert(alert: &mut Alert) {
    let is_of_device = alert.device.as_ref().is_some_and(|device| !device.is_empty());
    if is_of_device {
        return;
    }
    let hidden = Hidden::of(&alert.labels);
    hidden.labels(&mut alert.labels);
    for text in [&mut alert.title, &mut alert.text].into_iter().chain(&mut alert.subject) {
        *text = hidden.text(text);
    }
    let grouped = |group: &String| NUMBERS.iter().chain(&ADDRESSES).any(|name| group.starts_with(name));
    let names =
        |calls: &crate::sources::AlertCalls| names_numbers(&calls.filter) || calls.group.as_ref().is_some_and(grouped);
    if alert.calls.as_ref().is_some_and(names) {
        alert.calls = None;
    }
}

/// Masks what is no alert yet.
pub fn alert_pending(pending: &mut AlertPending) {
    if pending.device.as_ref().is_none_or(|device| device.is_empty()) {
        let hidden = Hidden::of(&pending.labels);
        hidden.labels(&mut pending.labels);
        pending.subject = hidden.text(&pending.subject);
    }
}

/// Masks a subject of a rule.
pub fn alert_subject(subject: &mut AlertSubject) {
    if subject.device.as_ref().is_none_or(|device| device.is_empty()) {
        let hidden = Hidden::of(&subject.labels);
        hidden.labels(&mut subject.labels);
        subject.subject = hidden.text(&subject.subject);
    }
}

/// Masks a rule: what one over rows asks for may be whole numbers.
pub fn alert_rule(rule: &mut AlertRule) {
    if rule.kind != "rows" {
        return;
    }
    rule.watches = words(&rule.watches);
    // Line by line: of a long text only the beginning would be left.
    rule.text.iter_mut().for_each(|text| *text = text.lines().map(words).collect::<Vec<_>>().join("\n"));
}

/// Masks what happened to an alert: what a receiver said may quote what it was told.
pub fn alert_step(step: &mut AlertStep) {
    step.why.iter_mut().for_each(|why| *why = words(why));
}

/// Masks what came of a message.
pub fn alert_sent(sent: &mut AlertSent) {
    (sent.title, sent.why) = (words(&sent.title), words(&sent.why));
}

/// Masks a silence.
pub fn alert_silence(silence: &mut AlertSilence) {
    silence.when.iter_mut().for_each(|test| *test = tested(test));
    silence.why = words(&silence.why);
}

/// Masks a maintenance window.
pub fn alert_window(window: &mut AlertWindow) {
    window.when.iter_mut().for_each(|test| *test = tested(test));
}

/// Whether a masked viewer may keep alerts back by these tests: what is then kept back tells whether they hold, and so
/// a number digit by digit.
///
/// # Errors
/// [`Refusal::Forbidden`].
pub fn check_tests(tests: &[String]) -> Result<(), Refusal> {
    let is_open = |test: &String| LABELS.contains(&label_of(test));
    match tests.iter().find(|test| !is_open(test)) {
        None => Ok(()),
        Some(_) => Err(Refusal::Forbidden(format!(
            "numbers are masked for you: silences can test {} and {}",
            LABELS[..LABELS.len() - 1].join(", "),
            LABELS[LABELS.len() - 1]
        ))),
    }
}

/// The label of `device = edge-*` or `device != edge-*`.
fn label_of(test: &str) -> &str {
    let label = test.split('=').next().unwrap_or_default();
    label.strip_suffix('!').unwrap_or(label).trim()
}

/// A test whose values name nobody; of labels that may, no value is left.
fn tested(test: &str) -> String {
    let label = label_of(test);
    if LABELS.contains(&label) { test.to_owned() } else { format!("{label} = {}", super::HIDDEN) }
}

/// What must not be in the texts of an alert.
struct Hidden(Scrub);

impl Hidden {
    fn of(labels: &BTreeMap<String, String>) -> Hidden {
        let of = |names: &[&str]| -> Vec<&str> {
            names.iter().filter_map(|name| labels.get(*name)).map(String::as_str).collect()
        };
        Hidden(Scrub::of_uris(&of(&NUMBERS), &of(&ADDRESSES)))
    }

    fn labels(&self, labels: &mut BTreeMap<String, String>) {
        for (name, text) in labels {
            *text = match name.as_str() {
                name if NUMBERS.contains(&name) => user(text),
                name if ADDRESSES.contains(&name) => uri(text, &self.0),
                "imsi" => number(text),
                "src" | "dst" => plain(text, &self.0),
                _ => self.text(text),
            };
        }
    }

    fn text(&self, text: &str) -> String {
        self.0.text(Kind::Wire, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_callee(callee: &str) -> Alert {
        let labels = [("rule", "dear"), ("table", "calls"), ("callee", callee), ("subject", callee)];
        Alert {
            subject: Some(callee.to_owned()),
            title: format!("12.5 % of calls to {callee} fail"),
            labels: labels.map(|(name, text)| (name.to_owned(), text.to_owned())).into(),
            ..Alert::default()
        }
    }

    #[test]
    fn whom_calls_are_grouped_by_is_hidden_wherever_it_stands() {
        for (callee, part) in [("+442071234534", "1234"), ("0049", "0049"), ("alice", "alice"), ("112", "112")] {
            let mut shown = of_callee(callee);
            alert(&mut shown);
            let text = format!("{shown:?}");
            assert!(!text.contains(part), "{callee}: {text}");
            assert!(shown.title.starts_with("12.5 % of calls to "), "{}", shown.title);
        }
        let mut shown = Alert { device: Some("edge-100200300".to_owned()), ..of_callee("edge-100200300") };
        alert(&mut shown);
        assert_eq!(shown.title, "12.5 % of calls to edge-100200300 fail", "devices are nobody's numbers");
    }

    #[test]
    fn silences_are_no_questions_about_numbers() {
        let all = |tests: &[&str]| tests.iter().map(|test| (*test).to_owned()).collect::<Vec<_>>();
        assert!(check_tests(&all(&["device = edge-*", "severity != critical", "rule=a"])).is_ok());
        for test in ["callee = 4420*", "subject != 4*", "imsi=001", "nonsense"] {
            assert!(check_tests(&all(&["rule = a", test])).is_err(), "{test}");
        }
        let mut silence = AlertSilence { when: all(&["callee = 442071*", "rule = a"]), ..AlertSilence::default() };
        alert_silence(&mut silence);
        assert_eq!(silence.when, ["callee = *****", "rule = a"]);
    }
}
