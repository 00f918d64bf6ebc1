//! Commands: a program with arguments and an environment, never through a shell. It cannot be asked to ignore a copy:
//! one whose end was not seen is not started again.

use crate::delivery::{Message, Outcomes, field, json, subject_line, text};
use crate::rule::Text;
use std::time::Duration;
use trunkline_kit::program::{self, Fault, Program};

/// Octets of what a program says that are kept.
// Limit: output kept of a command channel
// Beyond: the rest is not kept
// Seen in: the alert's page
pub const OUTPUT_OCTETS_MAX: usize = 4096;
/// Octets of an argument or a variable; Linux takes 128 KiB (MAX_ARG_STRLEN).
const WORD_OCTETS_MAX: usize = 100_000;

/// Runs a program for a message.
pub async fn run(command: &[Text], message: &Message, time: Duration) -> Outcomes {
    let words: Vec<String> = command.iter().map(|word| bounded(word.argument(|name| field(message, name)))).collect();
    let name = words.first().cloned().unwrap_or_default();
    let environment = environment(message).into();
    let program = Program { words, environment, time, octets_max: OUTPUT_OCTETS_MAX, ends_beyond: false };
    match program::run(&program).await {
        // With this message it can never be started: the others need not wait for it.
        Err(fault @ Fault::Start(_)) if fault.is_for_ever() => Outcomes::GivenUp(format!("{name}: {fault}")),
        Err(fault @ Fault::Start(_)) => Outcomes::Failed(format!("{name}: {fault}")),
        Err(fault) => Outcomes::InDoubt(format!("{name} {fault}")),
        Ok(ended) if ended.status.success() => Outcomes::Delivered,
        Ok(ended) if ended.status.code().is_some() => {
            let said = [ended.output, ended.errors].concat();
            Outcomes::Failed(format!("{name}: {}: {}", ended.status, String::from_utf8_lossy(&said).trim()))
        }
        Ok(ended) => Outcomes::InDoubt(format!("{name}: {}", ended.status)),
    }
}

fn environment(message: &Message) -> [(&'static str, String); 6] {
    let first = message.alerts.first();
    [
        ("TRUNKLINE_ALERT_MESSAGE", message.id.clone()),
        ("TRUNKLINE_ALERT_TITLE", subject_line(message)),
        ("TRUNKLINE_ALERT_TEXT", bounded(text(message))),
        ("TRUNKLINE_ALERT_STATE", first.map_or("", |alert| alert.kind.name()).to_owned()),
        ("TRUNKLINE_ALERT_SEVERITY", first.map_or("", |alert| alert.severity()).to_owned()),
        (
            "TRUNKLINE_ALERT_JSON",
            Some(json(message).to_string()).filter(|text| text.len() <= WORD_OCTETS_MAX).unwrap_or_default(),
        ),
    ]
}

/// Not longer than a word may be; its end is cut off.
fn bounded(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(WORD_OCTETS_MAX));
    text
}
