//! Calls as a table, a line each, with the verdict below those that have one.

use super::call_page::{self, mos_style, state, state_style};
use super::figure;
use super::table::{Row, Table, number, text};
use super::text::{Keep, Line, Style};
use crate::terminal::Terminal;
use trunkline_store::row::{Call, CallState};

/// Characters of an identifier that are shown: the millisecond and twelve bits more, enough to name the call.
pub const ID_SHOWN: usize = 18;

/// Narrower terminals have no room for a column of verdicts: what was wrong then stands below the call.
const WIDTH_FOR_VERDICTS: usize = 100;

/// How much of a call a list shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdicts {
    /// The sentence, below the call.
    Sentences,
    /// The kind alone, in a column.
    Kinds,
}

/// A table of calls.
pub fn calls<'a>(calls: impl IntoIterator<Item = &'a Call>, verdicts: Verdicts, terminal: &Terminal) -> Vec<Line> {
    let calls: Vec<&Call> = calls.into_iter().collect();
    let days = calls.iter().map(|call| figure::date(call.start_ns, &terminal.zone));
    let one_day = days.collect::<std::collections::BTreeSet<_>>().len() < 2;
    let narrow = terminal.width < WIDTH_FOR_VERDICTS;
    let mut table = Table::new(vec![
        text("ID"),
        text("TIME"),
        text("FROM").cuts(11, Keep::End),
        text("TO").cuts(11, Keep::End),
        text("ENDED"),
        number("DURATION"),
        number("MOS"),
        number("MISSING").drops(2),
        number("JITTER").drops(3),
        text("CODEC").drops(4).cuts(5, Keep::Start),
        text("VERDICT").drops(1).cuts(6, Keep::Start),
    ]);
    for call in calls {
        let kind = match verdicts {
            Verdicts::Kinds if !narrow => call.verdict.as_ref().map_or("", |verdict| verdict.kind.as_str()),
            _ => "",
        };
        let cells = cells(call, one_day, terminal).into_iter().chain([Line::new(terminal).with(Style::Bad, kind)]);
        let below = match (&call.verdict, verdicts) {
            (Some(verdict), Verdicts::Sentences) => call_page::verdict(verdict, terminal, 2),
            (Some(verdict), Verdicts::Kinds) if narrow => vec![kind_below(&verdict.kind, terminal)],
            _ => Vec::new(),
        };
        table.row(Row { cells: cells.collect(), below });
    }
    table.lines(terminal)
}

fn kind_below(kind: &str, terminal: &Terminal) -> Line {
    Line::new(terminal).with(Style::Bad, &format!("  {} {kind}", terminal.glyph("✗", "!")))
}

fn cells(call: &Call, one_day: bool, terminal: &Terminal) -> Vec<Line> {
    let cell = |style: Style, text: &str| Line::new(terminal).with(style, text);
    let id = call.id.to_string();
    let time = figure::clock(call.start_ns, &terminal.zone);
    let time = if one_day { time } else { format!("{} {time}", figure::date(call.start_ns, &terminal.zone)) };
    let worst = call.streams.iter().max_by(|a, b| a.jitter_max_ms.total_cmp(&b.jitter_max_ms));
    vec![
        cell(Style::Bold, id.get(..ID_SHOWN).unwrap_or(&id)),
        cell(Style::Plain, &time),
        cell(Style::Plain, &call_page::caller(call)),
        cell(Style::Plain, &call_page::callee(call)),
        cell(state_style(call.state), &ended(call)),
        cell(Style::Plain, &duration(call)),
        cell(mos_style(call.mos), &mos(call)),
        cell(Style::Plain, &missing(call)),
        cell(Style::Plain, &worst.map_or_else(String::new, |s| figure::milliseconds(s.jitter_max_ms))),
        cell(Style::Plain, call.streams.first().map_or("", |s| s.codec.as_str())),
    ]
}

/// `completed`, `rejected 486`: the code where the state does not tell it.
fn ended(call: &Call) -> String {
    match call.state {
        CallState::Rejected | CallState::Redirected => format!("{} {}", state(call.state), call.code),
        // A short word leaves the numbers their digits; the page of the call and the totals say it in full.
        CallState::AuthChallenged => "challenged".to_owned(),
        CallState::JoinedMidCall => "joined".to_owned(),
        other => state(other).to_owned(),
    }
}

/// From answer to end; a call that was still up has lasted at least so long.
fn duration(call: &Call) -> String {
    match (call.answer_ns, call.end_ns) {
        (Some(answer), Some(end)) => figure::duration(end.saturating_sub(answer)),
        (Some(answer), None) => format!(">{}", figure::duration(call.last_ns.saturating_sub(answer))),
        _ => "-".to_owned(),
    }
}

/// The score, or what the tap left open of it.
fn mos(call: &Call) -> String {
    match call.capture.mos_range {
        _ if call.streams.is_empty() => "-".to_owned(),
        Some(range) if call.mos.is_none() => figure::mos_range(range),
        _ => figure::mos(call.mos),
    }
}

fn missing(call: &Call) -> String {
    let sum = |of: fn(&trunkline_store::row::Stream) -> u64| call.streams.iter().map(of).fold(0, u64::saturating_add);
    if call.streams.is_empty() { String::new() } else { figure::percent(sum(|s| s.missing), sum(|s| s.expected)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{self, expect, terminal, written};

    #[test]
    fn fits_its_terminal() {
        let all =
            [samples::good(), samples::one_way(), samples::retransmissions(), samples::forked(), samples::hostile()];
        for (width, verdicts) in [(80, Verdicts::Sentences), (80, Verdicts::Kinds), (140, Verdicts::Kinds)] {
            let terminal = terminal(width);
            let text = written(&calls(&all, verdicts, &terminal), &terminal);
            assert!(text.lines().all(|line| unicode_width::UnicodeWidthStr::width(line) <= width), "{text}");
            expect(&format!("calls-{width}-{verdicts:?}").to_lowercase(), &text);
        }
    }
}
