//! What `trunkline read` prints: what was read, what went wrong, the rest, what was odd, and what to try next.

mod advice;
mod checked;
mod unread;

use super::call_list::{self, ID_SHOWN, Verdicts};
use super::call_page::{self, callee, caller};
use super::figure::{self, count, of};
use super::ladder::ladder;
use super::table::{Row, Table, number, text};
use super::text::{Keep, Line, Style, clean, wrap};
use crate::selection::{CALLS_WHOLE_MAX, ORPHANS_LISTED_MAX, Selection};
use crate::terminal::Terminal;
use advice::{broken, next, oddities, reasons};
use trunkline_calls::job::{FileSummary, Summary};
use trunkline_kit::Id;
use trunkline_store::json::STATES;
use trunkline_store::row::{Call, Stream};
use unicode_width::UnicodeWidthStr;

/// Files that are listed one by one; broken ones always are.
pub const FILES_LISTED_MAX: usize = 8;
/// Lines of a ladder in the report of a capture with few calls.
// Limit: lines of a ladder in the report of `trunkline read`
// Beyond: the rest is left out
// Seen in: the report names the command that shows it
pub const LADDER_LINES_MAX: usize = 60;

/// Everything about a run.
pub struct Report<'a> {
    /// What was read.
    pub summary: &'a Summary,
    /// What of it was kept to be shown.
    pub selection: &'a Selection,
    /// The option that names the store, `--data DIR `, where it is not the default; none if nothing was stored.
    pub store: Option<String>,
    /// Whether reading was stopped before the end.
    pub stopped: bool,
}

/// The report, as lines.
pub fn report(report: &Report<'_>, terminal: &Terminal) -> Vec<Line> {
    let mut page = Page { report, terminal, lines: Vec::new() };
    page.files();
    page.totals();
    if report.selection.calls == 0 {
        page.no_calls();
    } else {
        page.bad_calls();
        page.other_calls();
        page.few_calls();
    }
    page.registrations();
    page.orphans();
    page.unread();
    page.odd();
    page.next();
    page.lines
}

/// What a capture without calls holds that calls may be inside of, a sentence each.
pub fn why_no_calls(summary: &Summary) -> Vec<String> {
    unread::reasons(summary)
}

struct Page<'a> {
    report: &'a Report<'a>,
    terminal: &'a Terminal,
    lines: Vec<Line>,
}

impl Page<'_> {
    fn files(&mut self) {
        let files = &self.report.summary.files;
        for file in files.iter().take(FILES_LISTED_MAX) {
            if file.packets == 0 && file.error.is_some() {
                continue;
            }
            let (what, when) = file_line(file, self.terminal);
            if what.width() + 2 + when.width() <= self.terminal.width {
                self.say(Style::Dim, &format!("{what}, {when}"));
            } else {
                self.say(Style::Dim, &what);
                self.lines.push(Line::new(self.terminal).with(Style::Dim, &format!("  {when}")));
            }
        }
        if files.len() > FILES_LISTED_MAX {
            let rest = files.len() - FILES_LISTED_MAX;
            let packets = files.iter().skip(FILES_LISTED_MAX).map(|f| f.packets).fold(0, u64::saturating_add);
            self.say(
                Style::Dim,
                &format!("{}, {}", of(rest as u64, "more file", "more files"), of(packets, "packet", "packets")),
            );
        }
        for text in broken(self.report) {
            let mark = self.terminal.glyph("✗", "!");
            self.say(Style::Bad, &format!("{mark} {text}"));
        }
        if self.report.stopped {
            self.say(Style::Warn, "Stopped before the end: what follows is what was read until then.");
        }
    }

    fn totals(&mut self) {
        let (summary, selection) = (self.report.summary, self.report.selection);
        let states = selection.states.iter().zip(STATES).rev().filter(|(n, _)| **n > 0);
        let states: Vec<String> = states.map(|(n, name)| format!("{} {name}", count(*n))).collect();
        let head = of(selection.calls, "call", "calls");
        let text = if states.is_empty() { head.clone() } else { format!("{head}: {}", states.join(", ")) };
        for (i, part) in wrap(&text, self.terminal.width).iter().enumerate() {
            let (bold, plain) = part.split_at(if i == 0 { head.len().min(part.len()) } else { 0 });
            self.lines.push(Line::new(self.terminal).with(Style::Bold, bold).with(Style::Plain, plain));
        }
        let mut facts = vec![of(summary.sip_messages, "SIP message", "SIP messages")];
        facts.push(of(summary.streams, "RTP stream", "RTP streams"));
        if let Some((mos, id)) = selection.worst.filter(|_| selection.calls > 1) {
            facts.push(format!("lowest MOS {mos:.2} in {}", short(id)));
        }
        if selection.registrations.0 > 0 {
            let failed = selection.registrations.1;
            facts.push(format!(
                "{} ({} failed)",
                of(selection.registrations.0, "registration", "registrations"),
                count(failed)
            ));
        }
        if selection.events.0 > 0 {
            let all = of(selection.events.0, "other transaction", "other transactions");
            facts.push(format!("{all} ({} unanswered)", count(selection.events.1)));
        }
        self.say(Style::Plain, &facts.join(", "));
    }

    /// Says what the input holds instead of calls, and what can be done.
    fn no_calls(&mut self) {
        let summary = self.report.summary;
        if summary.packets == 0 && summary.files.iter().any(|file| file.error.is_some()) {
            return;
        }
        self.heading("Why there are no calls", Style::Warn);
        if summary.packets == 0 {
            return self.say(Style::Plain, "The input holds no packet.");
        }
        let packets = summary.packets;
        let by = |name: &str, unit: &'static str| Some((summary.counter(name), unit)).filter(|(n, _)| *n > 0);
        let kinds = [
            by("trunkline_calls_udp_packets_total", "UDP"),
            by("trunkline_calls_tcp_packets_total", "TCP"),
            by("trunkline_calls_sctp_packets_total", "SCTP"),
            by("trunkline_calls_fragments_total", "IP fragments"),
            by("trunkline_calls_other_packets_total", "of other protocols"),
            by("trunkline_calls_unknown_packets_total", "of a link type or protocol that is not known"),
        ];
        let kinds: Vec<String> = kinds.into_iter().flatten().map(|(n, unit)| format!("{} {unit}", count(n))).collect();
        let kinds = if kinds.is_empty() { String::new() } else { format!(": {}", kinds.join(", ")) };
        self.say(Style::Plain, &format!("{} read{kinds}.", of(packets, "packet was", "packets were")));
        for reason in reasons(summary, self.report.selection) {
            self.say(Style::Plain, &reason);
        }
    }

    fn bad_calls(&mut self) {
        let selection = self.report.selection;
        if selection.bad_calls == 0 {
            self.lines.push(Line::new(self.terminal));
            let mark = self.terminal.glyph("✓", "ok:");
            let calls = of(selection.calls, "call", "calls");
            self.say(Style::Good, &format!("{mark} Nothing wrong was found in {calls}."));
            // Silence about what could not be seen would be a promise.
            if self.report.summary.streams == 0 {
                self.say(Style::Plain, "There is no RTP in the capture: whether anything could be heard is not known.");
            }
            for text in checked::lines(selection) {
                self.say(Style::Plain, &text);
            }
            return;
        }
        let title =
            format!("What went wrong: {} of {}", count(selection.bad_calls), of(selection.calls, "call", "calls"));
        self.heading(&title, Style::Bad);
        if selection.bad.len() as u64 == selection.bad_calls {
            self.lines.extend(call_list::calls(by_start(&selection.bad), Verdicts::Sentences, self.terminal));
            return;
        }
        let mut kinds: Vec<_> = selection.kinds.iter().collect();
        kinds.sort_by_key(|(_, (n, _))| std::cmp::Reverse(*n));
        for (kind, (n, example)) in kinds {
            self.kind(kind, *n, example);
        }
    }

    /// `120 x one-way-audio, as in 018f...:` and the example's verdict.
    fn kind(&mut self, kind: &str, n: u64, example: &Call) {
        let mut line = Line::new(self.terminal);
        line.push(Style::Bold, &format!("{:>7} {} {kind}", count(n), self.terminal.glyph("×", "x")));
        let word = if n == 1 { "" } else { "such as " };
        line.push(Style::Dim, &format!("  {word}{}", short(example.id)));
        let time = format!(" at {}", figure::clock(example.start_ns, &self.terminal.zone));
        let parties = format!("  {} {} {}", caller(example), self.terminal.glyph("→", "->"), callee(example));
        // Who is worth more than when: the identifier leads to all of it.
        let room = self.terminal.width.saturating_sub(line.width());
        if time.width() + parties.width() <= room {
            line.push(Style::Dim, &time);
        }
        if parties.width() <= room {
            line.push(Style::Plain, &parties);
        } else {
            line.push(Style::Dim, &time);
        }
        self.lines.push(line);
        if let Some(verdict) = &example.verdict {
            self.lines.extend(call_page::verdict(verdict, self.terminal, 8));
        }
    }

    /// A capture of a few calls is about these calls: their ladders at once.
    fn few_calls(&mut self) {
        let selection = self.report.selection;
        if selection.calls > CALLS_WHOLE_MAX as u64 {
            return;
        }
        let mut calls: Vec<&Call> = selection.whole.iter().collect();
        calls.sort_by_key(|call| (call.verdict.is_none(), call.start_ns, call.id));
        for call in calls {
            let arrow = self.terminal.glyph("→", "->");
            self.heading(&format!("{}  {} {arrow} {}", short(call.id), caller(call), callee(call)), Style::Bold);
            self.lines.extend(ladder(call, self.terminal, LADDER_LINES_MAX));
        }
    }

    fn other_calls(&mut self) {
        let selection = self.report.selection;
        let good = selection.calls - selection.bad_calls;
        if good == 0 {
            return;
        }
        let title = if selection.bad_calls > 0 { "The other" } else { "The" };
        let what = if good == 1 { "call".to_owned() } else { of(good, "call", "calls") };
        self.heading(&format!("{title} {what}"), Style::Bold);
        self.lines.extend(call_list::calls(by_start(&selection.good), Verdicts::Kinds, self.terminal));
        let rest = good - selection.good.len() as u64;
        if rest > 0 {
            let searches = self.report.store.as_ref().map(|data| format!(", `trunkline calls{data}` searches them"));
            let text = format!("{} more: --all lists them here{}.", count(rest), searches.unwrap_or_default());
            self.say(Style::Dim, &text);
        }
    }

    fn registrations(&mut self) {
        let selection = self.report.selection;
        let (all, failed) = selection.registrations;
        if failed == 0 {
            return;
        }
        self.heading(&format!("Registrations that failed: {} of {}", count(failed), count(all)), Style::Bad);
        for registration in &selection.failed {
            let line = format!(
                "{}  {}  {} {} {}",
                figure::clock(registration.start_ns, &self.terminal.zone),
                if registration.user.is_empty() { &registration.aor } else { &registration.user },
                registration.src,
                self.terminal.glyph("→", "->"),
                registration.dst
            );
            self.say(Style::Plain, &line);
            if let Some(verdict) = &registration.verdict {
                self.lines.extend(call_page::verdict(verdict, self.terminal, 2));
            }
        }
        self.and_more(failed, selection.failed.len(), "trunkline registrations");
    }

    fn orphans(&mut self) {
        let selection = self.report.selection;
        if selection.orphans == 0 {
            return;
        }
        self.heading(&format!("RTP streams without signalling: {}", count(selection.orphans)), Style::Bold);
        let shown = &selection.orphan_list[..selection.orphan_list.len().min(ORPHANS_LISTED_MAX)];
        self.lines.extend(stream_table(shown, self.terminal));
        self.and_more(selection.orphans, shown.len(), "trunkline streams");
    }

    /// What was there beside the calls, so that nobody looks for it in them.
    fn unread(&mut self) {
        let lines = unread::lines(self.report.summary, self.report.selection.calls == 0);
        if lines.is_empty() {
            return;
        }
        self.heading("Seen but not analysed", Style::Bold);
        for text in lines {
            self.say(Style::Plain, &text);
        }
    }

    fn and_more(&mut self, all: u64, shown: usize, command: &str) {
        let rest = all.saturating_sub(shown as u64);
        if rest > 0 {
            let stored = self.report.store.as_ref().map_or_else(String::new, |data| format!(": {command}{data}"));
            self.say(Style::Dim, format!("{} more{stored}", count(rest)).trim_end());
        }
    }

    /// What the reader should know before trusting the above.
    fn odd(&mut self) {
        let oddities = oddities(self.report, self.terminal);
        if oddities.is_empty() {
            return;
        }
        self.heading("What was odd", Style::Warn);
        for text in oddities {
            self.say(Style::Plain, &text);
        }
    }

    fn next(&mut self) {
        let commands = next(self.report);
        if commands.is_empty() {
            return;
        }
        self.heading("What to try next", Style::Bold);
        let widest = |of: fn(&(String, &'static str)) -> usize| commands.iter().map(of).max().unwrap_or(0);
        let width = widest(|(command, _)| command.width());
        let beside = 2 + width + 2 + widest(|(_, why)| why.len()) <= self.terminal.width;
        for (command, why) in &commands {
            let mut line = Line::new(self.terminal).with(Style::Signal, &format!("  {command}"));
            if beside {
                line.pad(2 + width);
            }
            if line.width() + 2 + why.len() <= self.terminal.width {
                line.push(Style::Dim, &format!("  {why}"));
            }
            self.lines.push(line);
        }
    }

    fn heading(&mut self, text: &str, style: Style) {
        self.lines.push(Line::new(self.terminal));
        self.lines.push(Line::new(self.terminal).with(style, text));
    }

    fn say(&mut self, style: Style, text: &str) {
        let text = clean(text, !self.terminal.unicode);
        for part in wrap(&text, self.terminal.width) {
            self.lines.push(Line::new(self.terminal).with(style, &part));
        }
    }
}

/// `office.pcap: pcap, microseconds, 1,204 packets` and `2024-05-01 10:00:00 +02:00, 12:11 min`.
fn file_line(file: &FileSummary, terminal: &Terminal) -> (String, String) {
    // Nearly all captures are; the few that are not say so.
    let format = file.format.replace(", little-endian", "");
    let format = if format.is_empty() { String::new() } else { format!(" {format},") };
    let text = format!("{}:{format} {}", name(&file.path), of(file.packets, "packet", "packets"));
    let when = |(first, last): (i64, i64)| {
        format!("{}, {}", figure::second(first, &terminal.zone), figure::duration(last.saturating_sub(first)))
    };
    (text, file.first_ns.zip(file.last_ns).map_or_else(|| "without a time".to_owned(), when))
}

fn name(path: &str) -> &str {
    if path == "-" { "standard input" } else { path }
}

/// Calls are finished in another order than they began.
fn by_start(calls: &[Call]) -> Vec<&Call> {
    let mut calls: Vec<&Call> = calls.iter().collect();
    calls.sort_by_key(|call| (call.start_ns, call.id));
    calls
}

/// Streams as a table.
pub fn stream_table(streams: &[Stream], terminal: &Terminal) -> Vec<Line> {
    let mut table = Table::new(vec![
        text("SSRC"),
        text("TIME").drops(2),
        text("FROM").cuts(15, Keep::End),
        text("TO").cuts(15, Keep::End),
        text("CODEC").cuts(6, Keep::Start),
        number("PACKETS"),
        number("MISSING"),
        number("JITTER").drops(3),
        number("MOS"),
    ]);
    for s in streams {
        let cell = |style: Style, text: &str| Line::new(terminal).with(style, text);
        let cells = vec![
            cell(Style::Bold, &format!("0x{:08x}", s.ssrc)),
            cell(Style::Plain, &figure::clock(s.first_ns, &terminal.zone)),
            cell(Style::Plain, &s.src.to_string()),
            cell(Style::Plain, &s.dst.to_string()),
            cell(Style::Plain, &s.codec),
            cell(Style::Plain, &count(s.packets)),
            cell(Style::Plain, &figure::percent(s.missing, s.expected)),
            cell(Style::Plain, &figure::milliseconds(s.jitter_max_ms)),
            cell(call_page::mos_style(s.mos.g107), &figure::mos(s.mos.g107)),
        ];
        table.row(Row { cells, below: Vec::new() });
    }
    table.lines(terminal)
}

fn short(id: Id) -> String {
    let mut text = id.to_string();
    text.truncate(ID_SHOWN);
    text
}

#[cfg(test)]
mod tests;
