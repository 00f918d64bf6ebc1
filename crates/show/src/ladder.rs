//! The ladder of a call in the terminal: hosts as columns, messages as arrows, media between them.

mod names;

use super::figure;
use super::lanes::{Canvas, Geometry, Lanes, Stroke};
use super::text::{Line, Style, wrap};
use crate::terminal::Terminal;
use names::letter;
use trunkline_calls::signalling::REMARK_SEPARATOR;
use trunkline_store::row::{Call, Message, Stream};
use unicode_width::UnicodeWidthStr;

/// Streams that get a line at their start and end; the streams table has them all.
pub const STREAMS_DRAWN_MAX: usize = 32;
/// From this width on, each line names its packet.
const WIDTH_FOR_PACKETS: usize = 100;
/// Columns that a note below an arrow has at least.
const NOTE_ROOM_MIN: usize = 26;
/// Lines of notes below an arrow.
const NOTE_LINES_MAX: usize = 4;

/// Draws the ladder of a call, at most `lines_max` messages and stream marks; what is left out is said.
pub fn ladder(call: &Call, terminal: &Terminal, lines_max: usize) -> Vec<Line> {
    let events = events(call);
    if events.is_empty() {
        return vec![Line::new(terminal).with(Style::Dim, "No message of this call was kept.")];
    }
    let gutter = Gutter::of(call, terminal);
    let region = terminal.width.saturating_sub(gutter.width);
    let capacity = Geometry::capacity(region);
    let lanes = Lanes::of(call, capacity);
    let mut page = Page {
        call,
        terminal,
        gutter,
        lanes,
        geometry: Geometry::place(0, region),
        media: Vec::new(),
        evidence_shown: false,
    };
    let mut lines = page.first_line();
    if page.lanes.lanes.len() > capacity {
        lines.extend(page.too_many_hosts(capacity));
        lines.extend(page.rows(&events, lines_max, true));
    } else {
        page.geometry = Geometry::place(page.lanes.lanes.len(), region);
        page.media = vec![0; page.lanes.lanes.len()];
        lines.extend(page.hosts());
        lines.extend(page.rows(&events, lines_max, false));
    }
    lines.extend(page.last_lines(events.len(), lines_max));
    lines
}

/// What a line of the ladder shows.
#[derive(Clone, Copy)]
enum Event<'a> {
    Message(&'a Message),
    Starts(&'a Stream),
    Ends(&'a Stream),
}

impl Event<'_> {
    fn at_ns(&self) -> i64 {
        match self {
            Event::Message(m) => m.at_ns,
            Event::Starts(s) => s.first_ns,
            Event::Ends(s) => s.last_ns,
        }
    }

    fn packet(&self) -> u64 {
        match self {
            Event::Message(m) => m.packet,
            Event::Starts(s) => s.packet_first,
            Event::Ends(s) => s.packet_last,
        }
    }
}

/// Messages and media in time order; at the same instant messages come first.
fn events(call: &Call) -> Vec<Event<'_>> {
    let streams = call.streams.iter().take(STREAMS_DRAWN_MAX);
    let mut events: Vec<Event<'_>> = call.ladder.messages.iter().map(Event::Message).collect();
    events.extend(streams.flat_map(|s| [Event::Starts(s), Event::Ends(s)]));
    events.sort_by_key(Event::at_ns);
    events
}

/// What stands left of the lanes: the mark of evidence, time of day, what passed since the line above, the packet.
struct Gutter {
    packet: usize,
    width: usize,
}

impl Gutter {
    fn of(call: &Call, terminal: &Terminal) -> Self {
        let highest = call.ladder.messages.iter().map(|m| m.packet).chain(call.streams.iter().map(|s| s.packet_last));
        let digits = highest.max().unwrap_or(0).to_string().len();
        let packet = if terminal.width >= WIDTH_FOR_PACKETS { digits + 2 } else { 0 };
        Gutter { packet, width: 2 + 12 + 1 + 8 + packet + 2 }
    }
}

/// An event made ready to be drawn.
struct Row {
    from: Option<usize>,
    to: Option<usize>,
    stroke: Stroke,
    style: Style,
    label: String,
    notes: Vec<(Style, String)>,
}

struct Page<'a> {
    call: &'a Call,
    terminal: &'a Terminal,
    gutter: Gutter,
    lanes: Lanes,
    geometry: Geometry,
    media: Vec<u32>,
    evidence_shown: bool,
}

impl Page<'_> {
    fn first_line(&self) -> Vec<Line> {
        let zone = &self.terminal.zone;
        let start = self.call.start_ns;
        let text = format!("{}, times {}", figure::date(start, zone), figure::offset(start, zone));
        vec![Line::new(self.terminal).with(Style::Dim, &text)]
    }

    fn too_many_hosts(&self, capacity: usize) -> Vec<Line> {
        let lanes = self.lanes.lanes.len();
        let needed = (lanes - 1) * super::lanes::DISTANCE_MIN + 1 + self.gutter.width;
        let text = format!(
            "{lanes} hosts do not fit into {} columns ({capacity} would; {lanes} take {needed}): one line a message.",
            self.terminal.width
        );
        let mut lines: Vec<Line> = self.wrapped(Style::Warn, &text);
        lines.extend(self.legend());
        lines
    }

    fn rows(&mut self, events: &[Event<'_>], lines_max: usize, listed: bool) -> Vec<Line> {
        let mut lines = Vec::new();
        let mut before = events.first().map_or(0, Event::at_ns);
        for event in events.iter().take(lines_max) {
            let row = match event {
                Event::Message(message) => self.message(message),
                Event::Starts(stream) => self.starts(stream),
                Event::Ends(stream) => self.ends(stream),
            };
            let evidence = self.call.verdict.as_ref().is_some_and(|v| v.packets.contains(&event.packet()));
            self.evidence_shown |= evidence;
            let mut line = self.gutter_of(event, before, evidence);
            let more = if listed { self.list(&row, &mut line) } else { self.draw(&row, event, &mut line) };
            lines.push(line);
            lines.extend(more);
            before = event.at_ns();
        }
        lines
    }

    fn gutter_of(&self, event: &Event<'_>, before: i64, evidence: bool) -> Line {
        let mut line = Line::new(self.terminal);
        line.push(Style::Bad, if evidence { self.terminal.glyph("▶ ", "* ") } else { "  " });
        line.push(Style::Plain, &figure::clock_ms(event.at_ns(), &self.terminal.zone));
        line.push(Style::Dim, &format!(" {:>8}", figure::delta(event.at_ns().saturating_sub(before))));
        if self.gutter.packet > 0 {
            line.push(Style::Dim, &format!("{:>1$}", format!("#{}", event.packet()), self.gutter.packet + 1));
        }
        line.pad(self.gutter.width);
        line
    }

    fn message(&self, message: &Message) -> Row {
        let (first, remarks) = split_text(message, text_of(self.call, message));
        let has = |flag: u8| message.flags & flag != 0;
        let again = has(Message::RETRANSMISSION) || has(Message::COPY);
        let (from, to) = (self.lanes.host(message.src), self.lanes.host(message.dst));
        let label = self.label(labels(message, first), from, to, again);
        let mut notes = Vec::new();
        if message.status >= 300 && !first.is_empty() && !label.contains(first) {
            notes.push((Style::Plain, first.to_owned()));
        }
        // A retransmission says what the first one said: only what is odd about it is news.
        if !remarks.is_empty() && (has(Message::ODD) || !again) {
            let (style, mark) = if has(Message::ODD) { (Style::Warn, "! ") } else { (Style::Dim, "") };
            notes.push((style, format!("{mark}{remarks}")));
        } else if has(Message::SDP) && !again {
            notes.push((Style::Dim, "SDP".to_owned()));
        }
        if has(Message::COPY) {
            notes.push((Style::Dim, "captured twice".to_owned()));
        }
        if has(Message::CUT) {
            notes.push((Style::Warn, "! cut by the snap length".to_owned()));
        }
        let (stroke, style) = if again { (Stroke::Again, Style::Dim) } else { (Stroke::Signal, style_of(message)) };
        Row { from, to, stroke, style, label, notes }
    }

    /// The first of the labels, from long to short, that fits between two lanes.
    fn label(&self, labels: Vec<String>, from: Option<usize>, to: Option<usize>, again: bool) -> String {
        let room = match (from, to) {
            (Some(from), Some(to)) if from != to => self.geometry.room(from, to),
            _ => usize::MAX,
        };
        let width = |label: &str| super::text::clean(label, !self.terminal.unicode).width();
        let suffix = if again { " again" } else { "" };
        let mut labels = labels.into_iter().map(|label| format!("{label}{suffix}"));
        let last = labels.clone().next_back().unwrap_or_default();
        labels.find(|label| width(label) <= room).unwrap_or(last)
    }

    fn starts(&self, stream: &Stream) -> Row {
        let arrow = self.terminal.glyph("→", "->");
        let note = format!("0x{:08x} {} {arrow} {}", stream.ssrc, stream.src, stream.dst);
        self.media_row(stream, "begins", (Style::Dim, note))
    }

    fn ends(&self, stream: &Stream) -> Row {
        let note = format!(
            "{}, {} missing ({}), MOS {}, 0x{:08x}",
            figure::of(stream.packets, "packet", "packets"),
            figure::count(stream.missing),
            figure::percent(stream.missing, stream.expected),
            stream.mos_range.map_or_else(|| figure::mos(stream.mos.g107), figure::mos_range),
            stream.ssrc,
        );
        self.media_row(stream, "ends", (if stream.missing > 0 { Style::Warn } else { Style::Dim }, note))
    }

    fn media_row(&self, stream: &Stream, what: &str, note: (Style, String)) -> Row {
        let (from, to) = self.lanes.stream(stream);
        let codec = stream.codec.split(',').next().unwrap_or_default();
        let labels = vec![format!("RTP {codec} {what}"), format!("RTP {what}"), what.to_owned()];
        let label = self.label(labels, from, to, false);
        Row { from, to, stroke: Stroke::Media, style: Style::Media, label, notes: vec![note] }
    }

    /// Draws a row between the lanes; gives the lines of notes that follow it.
    fn draw(&mut self, row: &Row, event: &Event<'_>, line: &mut Line) -> Vec<Line> {
        if let Event::Ends(_) = event {
            self.count_media(row, false);
        }
        let mut canvas = Canvas::new(&self.geometry, &self.media, self.terminal);
        match (row.from, row.to) {
            (Some(from), Some(to)) => canvas.arrow(from, to, row.stroke, row.style, &row.label),
            _ => canvas.text(2, &row.label, row.style),
        }
        let mut notes = self.notes(row).into_iter();
        if let (Some((at, _)), Some((style, text))) = (self.geometry.notes, notes.as_slice().first()) {
            canvas.text(at, text, *style);
            notes.next();
        }
        line.append(&canvas.line());
        if let Event::Starts(_) = event {
            self.count_media(row, true);
        }
        notes.map(|(style, text)| self.note_line(row, &text, style)).collect()
    }

    fn count_media(&mut self, row: &Row, starts: bool) {
        for lane in [row.from, row.to].into_iter().flatten() {
            if let Some(streams) = self.media.get_mut(lane) {
                *streams = if starts { streams.saturating_add(1) } else { streams.saturating_sub(1) };
            }
        }
    }

    /// On the right, or below the arrow's left end as far as that leaves the text some room.
    fn note_start(&self, row: &Row) -> usize {
        let lane = row.from.into_iter().chain(row.to).min().unwrap_or(0);
        let below =
            || self.geometry.at.get(lane).map_or(2, |x| x + 2).min(self.geometry.width.saturating_sub(NOTE_ROOM_MIN));
        self.geometry.notes.map_or_else(below, |(at, _)| at)
    }

    fn notes(&self, row: &Row) -> Vec<(Style, String)> {
        let room = match self.geometry.notes {
            Some((_, room)) => room,
            None => self.geometry.width.saturating_sub(self.note_start(row)),
        };
        let ascii = !self.terminal.unicode;
        let lines = |(style, text): &(Style, String)| {
            let text = super::text::clean(text, ascii);
            wrap(&text, room).into_iter().map(|line| (*style, line)).collect::<Vec<_>>()
        };
        let mut lines: Vec<(Style, String)> = row.notes.iter().flat_map(lines).take(NOTE_LINES_MAX + 1).collect();
        if lines.len() > NOTE_LINES_MAX {
            lines.truncate(NOTE_LINES_MAX - 1);
            lines.push((Style::Dim, self.terminal.glyph("…", "...").to_owned()));
        }
        lines
    }

    fn note_line(&self, row: &Row, text: &str, style: Style) -> Line {
        let mut canvas = Canvas::new(&self.geometry, &self.media, self.terminal);
        canvas.text(self.note_start(row), text, style);
        let mut line = Line::new(self.terminal);
        line.pad(self.gutter.width);
        line.append(&canvas.line());
        line
    }

    /// A row without lanes: `A -> C  INVITE (1)`.
    fn list(&self, row: &Row, line: &mut Line) -> Vec<Line> {
        let name = |lane: Option<usize>| lane.map_or_else(|| "?".to_owned(), letter);
        let arrow = match row.stroke {
            Stroke::Media => self.terminal.glyph("⇒", "=>"),
            _ => self.terminal.glyph("→", "->"),
        };
        line.push(Style::Bold, &format!("{} {arrow} {}  ", name(row.from), name(row.to)));
        line.push(row.style, &row.label);
        let start = line.width() + 2;
        let below = self.gutter.width + 8;
        let mut lines = Vec::new();
        for (style, text) in &row.notes {
            if lines.is_empty() && start + text.len() <= self.terminal.width {
                line.push(*style, &format!("  {text}"));
                continue;
            }
            let room = self.terminal.width.saturating_sub(below);
            for text in wrap(&super::text::clean(text, !self.terminal.unicode), room) {
                let mut note = Line::new(self.terminal);
                note.pad(below);
                lines.push(note.with(*style, &text));
            }
        }
        lines
    }

    fn last_lines(&self, events: usize, lines_max: usize) -> Vec<Line> {
        let mut lines = Vec::new();
        let mut say = |text: String| lines.extend(self.wrapped(Style::Dim, &text));
        if events > lines_max {
            say(format!(
                "{} more: trunkline call {} --ladder",
                figure::count((events - lines_max) as u64),
                self.call.id
            ));
        }
        if self.call.ladder.not_kept > 0 {
            let n = figure::of(self.call.ladder.not_kept.into(), "message was", "messages were");
            say(format!("{n} seen and counted but not kept: more than a call may hold."));
        }
        let streams = self.call.streams.len();
        if streams > STREAMS_DRAWN_MAX {
            say(format!("{} more RTP streams are not drawn; --json has them all.", streams - STREAMS_DRAWN_MAX));
        }
        if self.evidence_shown {
            say(format!("{} shows what was wrong", self.terminal.glyph("▶", "*")));
        }
        lines
    }

    fn wrapped(&self, style: Style, text: &str) -> Vec<Line> {
        let lines = wrap(&super::text::clean(text, !self.terminal.unicode), self.terminal.width);
        lines.iter().map(|text| Line::new(self.terminal).with(style, text)).collect()
    }
}

/// The text of a message; empty where the row's offsets do not hold.
pub fn text_of<'a>(call: &'a Call, message: &Message) -> &'a str {
    let (start, len) = (message.text.0 as usize, usize::from(message.text.1));
    call.ladder.texts.get(start..start.saturating_add(len)).unwrap_or_default()
}

/// A message's text in two: the reason phrase of a response or the name of an unknown method, and all other remarks.
fn split_text<'a>(message: &Message, text: &'a str) -> (&'a str, String) {
    let mut parts = text.split(REMARK_SEPARATOR);
    let named = message.status > 0 || message.method == 0;
    let first = if named { parts.next().unwrap_or_default() } else { "" };
    let remarks: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    (first, remarks.join(", "))
}

/// Labels of an arrow, from long to short: `200 OK (1 INVITE)`, `200 (1 INVITE)`, `200 1 INVITE`, `200 (1)`,
/// `200 INVITE`, `200`.
/// The number and the method behind a status are CSeq's.
fn labels(message: &Message, first: &str) -> Vec<String> {
    let (status, cseq) = (message.status, message.cseq);
    if status == 0 {
        let name = if message.method == 0 && !first.is_empty() { first } else { message.method_name() };
        return vec![format!("{name} ({cseq})"), name.to_owned()];
    }
    let method = message.method_name();
    let mut labels = vec![
        format!("{status} ({cseq} {method})"),
        format!("{status} {cseq} {method}"),
        format!("{status} ({cseq})"),
        format!("{status} {method}"),
        status.to_string(),
    ];
    if !first.is_empty() {
        labels.insert(0, format!("{status} {first} ({cseq} {method})"));
    }
    labels
}

fn style_of(message: &Message) -> Style {
    match message.status {
        0 => Style::Signal,
        100..=199 => Style::Plain,
        200..=299 => Style::Good,
        300..=399 | 401 | 407 => Style::Warn,
        _ => Style::Bad,
    }
}

#[cfg(test)]
mod tests;
