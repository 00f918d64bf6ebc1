//! One call on one page: what was wrong first, then who, when and how well.

use super::figure;
use super::text::{Line, Style, clean, wrap};
use crate::terminal::Terminal;
use std::collections::BTreeMap;
use trunkline_kit::Id;
use trunkline_store::checked::checked;
use trunkline_store::json;
use trunkline_store::row::{Call, CallState, Direction, Hangup, OtherNumber, Verdict};

/// Columns of the names on the left of the page.
const NAME_WIDTH: usize = 10;
/// Packet numbers of a verdict that are written out.
const EVIDENCE_SHOWN_MAX: usize = 8;

/// The verdict, and the summary of a call.
pub fn summary(call: &Call, terminal: &Terminal) -> Vec<Line> {
    let mut lines = headline(call, terminal);
    lines.extend(checks(call, terminal));
    lines.push(Line::new(terminal));
    let mut fact = |name: &str, text: String, style: Style| lines.extend(named(name, &text, style, terminal));
    fact("Call", call.id.to_string(), Style::Bold);
    fact("Call-ID", call.sip_call_id.clone(), Style::Plain);
    fact("From", party(&call.from, &call.from_uri, &format!("{}", call.src)), Style::Plain);
    fact("To", party(&call.to, &call.to_uri, &format!("{}", call.dst)), Style::Plain);
    for one in &call.numbers {
        fact("", format!("{} ({})", other_number(one), one.sent), Style::Plain);
    }
    if !call.user_agent.is_empty() {
        fact("Agent", call.user_agent.clone(), Style::Plain);
    }
    fact("Ended", ending(call), state_style(call.state));
    fact("Time", times(call, terminal), Style::Plain);
    fact("Quality", quality(call), mos_style(call.mos));
    for (other, streams) in shared(call) {
        let streams = figure::of(streams, "stream", "streams");
        fact("", format!("{streams} of it kept with call {other}, whose SDP names the same endpoints"), Style::Plain);
    }
    let (text, style) = capture(call);
    fact("Capture", text, style);
    fact("Files", if call.files.is_empty() { "not known".to_owned() } else { call.files.join(", ") }, Style::Dim);
    lines
}

/// Calls that have streams of this one, and how many.
fn shared(call: &Call) -> BTreeMap<Id, u64> {
    call.shared.iter().fold(BTreeMap::new(), |mut of, one| {
        *of.entry(one.call).or_default() += 1;
        of
    })
}

/// The verdict as the first lines of a page: a mark, the sentence, the packets that show it.
fn headline(call: &Call, terminal: &Terminal) -> Vec<Line> {
    match &call.verdict {
        Some(verdict) => self::verdict(verdict, terminal, 0),
        None if call.capture.complete => {
            vec![
                Line::new(terminal)
                    .with(Style::Good, &format!("{} Nothing wrong was found.", terminal.glyph("✓", "ok:"))),
            ]
        }
        None => {
            let text = format!("{} Nothing wrong was found in what was captured.", terminal.glyph("✓", "ok:"));
            vec![Line::new(terminal).with(Style::Good, &text)]
        }
    }
}

/// What was checked and what could not be, so that silence promises nothing.
fn checks(call: &Call, terminal: &Terminal) -> Vec<Line> {
    let told = checked(call);
    let mut lines = Vec::new();
    for (what, list, style) in [
        ("Thin evidence: ", &told.thin, Style::Warn),
        ("Checked: ", &told.checked, Style::Plain),
        ("Not checked: ", &told.not_checked, Style::Plain),
    ] {
        if list.is_empty() {
            continue;
        }
        let text = format!("{what}{}.", list.join("; "));
        let text = clean(&text, !terminal.unicode);
        let parts = wrap(&text, terminal.width.saturating_sub(2));
        lines.extend(parts.iter().map(|part| Line::new(terminal).with(Style::Plain, "  ").with(style, part)));
    }
    lines
}

/// The sentence of a verdict, wrapped, with the packets that show it.
pub fn verdict(verdict: &Verdict, terminal: &Terminal, indent: usize) -> Vec<Line> {
    let mut text = clean(&verdict.text, !terminal.unicode).into_owned();
    if let Some(packets) = evidence(&verdict.packets) {
        text.push_str(&format!(" ({packets})"));
    }
    let mark = terminal.glyph("✗ ", "! ");
    let room = terminal.width.saturating_sub(indent + 2);
    let line = |(i, part): (usize, String)| {
        let mut line = Line::new(terminal).with(Style::Plain, &" ".repeat(indent));
        line.push(Style::Bad, if i == 0 { mark } else { "  " });
        line.with(if indent == 0 { Style::Bold } else { Style::Plain }, &part)
    };
    wrap(&text, room).into_iter().enumerate().map(line).collect()
}

/// `packet 4`, `packets 4, 8 and 12 more`.
fn evidence(packets: &[u64]) -> Option<String> {
    let shown: Vec<String> = packets.iter().take(EVIDENCE_SHOWN_MAX).map(u64::to_string).collect();
    let more = packets.len().saturating_sub(EVIDENCE_SHOWN_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    match shown.len() {
        0 => None,
        1 => Some(format!("packet {}", shown[0])),
        _ => Some(format!("packets {}{more}", shown.join(", "))),
    }
}

/// A name and its text, wrapped beside it.
pub fn named(name: &str, text: &str, style: Style, terminal: &Terminal) -> Vec<Line> {
    let text = clean(text, !terminal.unicode);
    let parts = wrap(&text, terminal.width.saturating_sub(NAME_WIDTH));
    let line = |(i, part): (usize, &String)| {
        let mut line = Line::new(terminal).with(Style::Dim, if i == 0 { name } else { "" });
        line.pad(NAME_WIDTH);
        line.with(style, part)
    };
    parts.iter().enumerate().map(line).collect()
}

fn party(user: &str, uri: &str, at: &str) -> String {
    match (user.is_empty(), uri.is_empty()) {
        (true, true) => format!("not said, at {at}"),
        (true, false) => format!("<{uri}> at {at}"),
        _ => format!("{user} <{uri}> at {at}"),
    }
}

/// `diverted-from +442079460114`.
pub fn other_number(one: &OtherNumber) -> String {
    format!("{} {}", json::number_role_name(one.role), one.number)
}

/// `completed, 200 OK, the caller hung up`.
fn ending(call: &Call) -> String {
    let mut text = state(call.state).to_owned();
    if call.code > 0 {
        text.push_str(&format!(", {} {}", call.code, call.reason));
    } else if call.state != CallState::JoinedMidCall {
        text.push_str(", no response was seen");
    }
    match call.hangup {
        Hangup::Caller => text.push_str(", the caller hung up"),
        Hangup::Callee => text.push_str(", the callee hung up"),
        Hangup::None if call.state == CallState::Answered => text.push_str(", still up when the capture ended"),
        Hangup::None => {}
    }
    text
}

/// Start, then how long until it rang and was answered, and how long it lasted.
fn times(call: &Call, terminal: &Terminal) -> String {
    let since_start = |ns: i64| figure::exact(ns.saturating_sub(call.start_ns));
    let mut text = figure::full(call.start_ns, &terminal.zone);
    if let Some(ns) = call.ringing_ns {
        text.push_str(&format!(", rang after {}", since_start(ns)));
    }
    if let Some(ns) = call.answer_ns {
        text.push_str(&format!(", answered after {}", since_start(ns)));
    }
    match (call.answer_ns, call.end_ns) {
        (Some(answer), Some(end)) => text.push_str(&format!(", lasted {}", figure::exact(end.saturating_sub(answer)))),
        (Some(answer), None) => {
            text.push_str(&format!(", up for at least {}", figure::duration(call.last_ns.saturating_sub(answer))));
        }
        (None, Some(end)) if call.state == CallState::JoinedMidCall => {
            text.push_str(&format!(", seen for {} until its end", since_start(end)));
        }
        (None, Some(end)) => text.push_str(&format!(", ended after {}", since_start(end))),
        (None, None) => {}
    }
    text
}

fn quality(call: &Call) -> String {
    if let Some(range) = call.capture.mos_range {
        let range = figure::mos_range(range);
        let streams = figure::of(call.streams.len() as u64, "stream", "streams");
        return match call.mos {
            Some(mos) => {
                format!("MOS {range} of 5 ({}), {streams}: {mos:.2} or more, the tap lost packets", scale(call, mos))
            }
            None => format!("MOS withheld: {range} of 5, {streams}; it depends on what the tap lost"),
        };
    }
    match (call.mos, call.streams.len()) {
        (_, 0) => "no RTP of this call was seen".to_owned(),
        (None, _) => "MOS n/a: no score is published for the codec, or too little was seen".to_owned(),
        (Some(mos), 1) => {
            let whose = call.streams.first().map_or("sender not known", |stream| sender(stream.direction));
            format!("MOS {mos:.2} of 5 ({}), 1 stream, {whose}", scale(call, mos))
        }
        (Some(mos), n) => format!("MOS {mos:.2} of 5 ({}), the lowest of {n} streams", scale(call, mos)),
    }
}

/// The recommendation that the call's score was computed with.
fn scale(call: &Call, mos: f32) -> &'static str {
    let wideband = call.streams.iter().any(|s| s.mos.wideband && s.mos.g107 == Some(mos));
    if wideband { "ITU-T G.107.1, wideband" } else { "ITU-T G.107" }
}

/// The caller for a line: the user part of From, else its host, else where the INVITE came from.
pub fn caller(call: &Call) -> String {
    known_as(&call.from, &call.from_uri, &call.src.to_string())
}

/// The callee for a line, as [`caller`].
pub fn callee(call: &Call) -> String {
    known_as(&call.to, &call.to_uri, &call.dst.to_string())
}

fn known_as(user: &str, uri: &str, at: &str) -> String {
    let host = uri.split_once(':').map_or(uri, |(_, rest)| rest).split([';', '?', '>']).next().unwrap_or_default();
    let names = [user, host, at].into_iter().map(str::trim);
    names.filter(|name| !name.is_empty()).map(str::to_owned).next().unwrap_or_default()
}

/// What the capture did to the call: the ledger in a sentence.
fn capture(call: &Call) -> (String, Style) {
    let ledger = &call.capture;
    let mut text = if ledger.complete { "complete: " } else { "incomplete: " }.to_owned();
    text.push_str(&match (ledger.lost_at_tap, ledger.lost_before_tap) {
        (0, 0) => "nothing lost at the tap or before it".to_owned(),
        (at, before) => {
            let most = if at > ledger.lost_at_tap_least { "up to " } else { "" };
            let at = figure::of(at, "packet", "packets");
            format!("{most}{at} lost at the tap, {} lost before it", figure::count(before))
        }
    });
    if !ledger.note.is_empty() {
        text.push_str(&format!("; {}", ledger.note));
    }
    (text, if ledger.complete { Style::Plain } else { Style::Warn })
}

/// The state of a call, a word for people.
pub fn state(state: CallState) -> &'static str {
    match state {
        CallState::JoinedMidCall => "joined in mid-call",
        other => json::STATES[other as usize],
    }
}

/// How a state is drawn.
pub fn state_style(state: CallState) -> Style {
    match state {
        CallState::Completed | CallState::Answered => Style::Good,
        CallState::Rejected => Style::Bad,
        _ => Style::Warn,
    }
}

/// How a score is drawn: ITU-T G.107 Annex B, "many users dissatisfied" below 3.6, "nearly all" below 3.1.
pub fn mos_style(mos: Option<f32>) -> Style {
    match mos {
        None => Style::Dim,
        Some(mos) if mos < 3.1 => Style::Bad,
        Some(mos) if mos < 3.6 => Style::Warn,
        Some(_) => Style::Good,
    }
}

/// Who sent a stream, in words.
pub fn sender(direction: Direction) -> &'static str {
    match direction {
        Direction::Caller => "from the caller",
        Direction::Callee => "from the callee",
        Direction::Unknown => "sender not known",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{self, ascii_terminal, expect, terminal, written};

    #[test]
    fn verdict_comes_first() {
        for (name, call) in [("call-one-way", samples::one_way()), ("call-good", samples::good())] {
            let terminal = terminal(80);
            expect(name, &written(&summary(&call, &terminal), &terminal));
        }
    }

    #[test]
    fn strangers_cannot_reach_the_terminal() {
        let terminal = terminal(80);
        expect("call-hostile", &written(&summary(&samples::hostile(), &terminal), &terminal));
        let terminal = ascii_terminal(60);
        let text = written(&summary(&samples::hostile(), &terminal), &terminal);
        assert!(text.is_ascii(), "{text}");
        expect("call-hostile-ascii", &text);
    }
}
