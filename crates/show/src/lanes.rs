//! Where the hosts of a ladder stand, and how one line of it is drawn.

use super::text::{Keep, Line, Style, clean, fit};
use crate::terminal::Terminal;
use trunkline_store::row::{Call, Direction, Stream};
use trunkline_wire::Endpoint;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The narrowest distance of two lanes that an arrow with its label needs, columns.
pub const DISTANCE_MIN: usize = 14;
/// Lanes further apart than this are harder to follow than near ones.
const DISTANCE_MAX: usize = 40;
/// From this distance on, notes may stand on the right of the lanes and not below the arrows.
const DISTANCE_FOR_NOTES: usize = 26;
/// The narrowest column of notes on the right.
const NOTES_MIN: usize = 24;

/// One vertical line: a host, or one of its ports where messages pass between ports of one address.
#[derive(Clone, Debug, PartialEq)]
pub struct Lane {
    /// Its address.
    pub address: String,
    /// Its ports, as they appeared: `:5060 :5080`.
    pub ports: String,
}

/// Which lane stands for which host of the call.
#[derive(Clone, Debug, Default)]
pub struct Lanes {
    /// From left to right.
    pub lanes: Vec<Lane>,
    of_host: Vec<usize>,
    caller: Option<usize>,
    callee: Option<usize>,
    endpoints: Vec<(Endpoint, usize)>,
}

impl Lanes {
    /// The lanes of a call's signalling, then of media hosts that do not signal as long as there are at most `max`.
    pub fn of(call: &Call, max: usize) -> Self {
        let hosts = &call.ladder.hosts;
        let mut lanes = Lanes::default();
        for (i, host) in hosts.iter().enumerate() {
            let split = talks_beside_itself(call, *host);
            let known = lanes.endpoints.iter().position(|(e, _)| e == host || (!split && e.address == host.address));
            let lane = known.and_then(|at| lanes.endpoints.get(at)).map(|(_, lane)| *lane);
            let lane = lane.unwrap_or_else(|| lanes.add(*host));
            lanes.name(lane, *host);
            lanes.of_host.push(lane);
            debug_assert_eq!(lanes.of_host.len(), i + 1);
        }
        lanes.caller = lanes.by_address(call.src);
        lanes.callee = lanes.by_address(call.dst);
        for end in call.streams.iter().flat_map(|s| [s.src, s.dst]) {
            if lanes.by_address(end).is_none() && lanes.lanes.len() < max {
                let lane = lanes.add(end);
                lanes.endpoints.push((end, lane));
            }
        }
        lanes
    }

    /// The lane of a host of the ladder.
    pub fn host(&self, index: u8) -> Option<usize> {
        self.of_host.get(usize::from(index)).copied()
    }

    /// The lanes that a stream goes from and to. Media ports are not signalling ports, so addresses decide; where one
    /// address has several lanes, the direction does.
    pub fn stream(&self, stream: &Stream) -> (Option<usize>, Option<usize>) {
        let (from, to) = match stream.direction {
            Direction::Callee => (self.callee, self.caller),
            _ => (self.caller, self.callee),
        };
        (self.media(stream.src, from), self.media(stream.dst, to))
    }

    fn media(&self, end: Endpoint, party: Option<usize>) -> Option<usize> {
        let same = |lane: &usize| self.endpoints.iter().any(|(e, l)| l == lane && e.address == end.address);
        party.filter(same).or_else(|| self.by_address(end))
    }

    fn by_address(&self, end: Endpoint) -> Option<usize> {
        let exact = self.endpoints.iter().find(|(e, _)| *e == end);
        exact.or_else(|| self.endpoints.iter().find(|(e, _)| e.address == end.address)).map(|(_, lane)| *lane)
    }

    fn add(&mut self, host: Endpoint) -> usize {
        self.lanes.push(Lane { address: host.address.to_string(), ports: String::new() });
        self.lanes.len() - 1
    }

    fn name(&mut self, lane: usize, host: Endpoint) {
        if self.endpoints.iter().any(|(e, _)| *e == host) {
            return;
        }
        self.endpoints.push((host, lane));
        if let Some(lane) = self.lanes.get_mut(lane) {
            let space = if lane.ports.is_empty() { "" } else { " " };
            lane.ports.push_str(&format!("{space}:{}", host.port));
        }
    }
}

/// Whether a message of the call goes from one port of that address to another: then they are two parties.
fn talks_beside_itself(call: &Call, host: Endpoint) -> bool {
    let hosts = &call.ladder.hosts;
    let at = |i: u8| hosts.get(usize::from(i)).filter(|e| e.address == host.address);
    call.ladder.messages.iter().any(|m| matches!((at(m.src), at(m.dst)), (Some(a), Some(b)) if a != b))
}

/// Columns of the lanes within their part of the line.
#[derive(Clone, Debug)]
pub struct Geometry {
    /// Column of each lane.
    pub at: Vec<usize>,
    /// Columns of the lanes' part.
    pub width: usize,
    /// Where notes begin and how wide they may be, on the right; none if they stand below the arrows.
    pub notes: Option<(usize, usize)>,
}

impl Geometry {
    /// How many lanes fit into so many columns.
    pub fn capacity(width: usize) -> usize {
        width.saturating_sub(1) / DISTANCE_MIN + 1
    }

    /// Columns that a label has between two lanes: the head, a column of the stroke on each side and two spaces go off.
    pub fn room(&self, from: usize, to: usize) -> usize {
        let at = |lane: usize| self.at.get(lane).copied().unwrap_or_default();
        at(from).abs_diff(at(to)).saturating_sub(1 + 5)
    }

    /// Places `lanes` lanes in `width` columns: with notes on their right where that leaves the arrows room.
    pub fn place(lanes: usize, width: usize) -> Self {
        let steps = lanes.saturating_sub(1).max(1);
        let inset = if lanes <= 2 { 7 } else { 5 };
        let beside = width.saturating_sub(inset + 3 + NOTES_MIN) / steps;
        if beside >= DISTANCE_FOR_NOTES || lanes < 2 {
            let distance = beside.clamp(DISTANCE_FOR_NOTES, DISTANCE_MAX.min(32));
            let right = inset + (lanes.max(1) - 1) * distance;
            let at = (0..lanes).map(|i| inset + i * distance).collect();
            return Geometry { at, width: right + 1, notes: Some((right + 3, width.saturating_sub(right + 3).max(1))) };
        }
        let alone = |inset: usize| width.saturating_sub(1 + 2 * inset) / steps;
        let inset = if alone(inset) >= DISTANCE_FOR_NOTES - 6 { inset } else { 0 };
        let distance = alone(inset).min(DISTANCE_MAX);
        Geometry { at: (0..lanes).map(|i| inset + i * distance).collect(), width, notes: None }
    }
}

/// What kind of arrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stroke {
    /// A message.
    Signal,
    /// A message that repeats an earlier one.
    Again,
    /// RTP.
    Media,
}

/// One line of the lanes' part while it is drawn: a cell a column; the second column of a wide character is empty.
pub struct Canvas<'a> {
    cells: Vec<Option<(char, Style)>>,
    geometry: &'a Geometry,
    terminal: &'a Terminal,
}

impl<'a> Canvas<'a> {
    /// The lanes alone; those with media under way are drawn double.
    pub fn new(geometry: &'a Geometry, media: &[u32], terminal: &'a Terminal) -> Self {
        let mut canvas = Canvas::empty(geometry, terminal);
        for (lane, x) in geometry.at.iter().enumerate() {
            canvas.bar(*x, media.get(lane).is_some_and(|streams| *streams > 0));
        }
        canvas
    }

    /// Nothing yet.
    pub fn empty(geometry: &'a Geometry, terminal: &'a Terminal) -> Self {
        Canvas { cells: Vec::new(), geometry, terminal }
    }

    /// The piece of a lane.
    pub fn bar(&mut self, x: usize, media: bool) {
        if media {
            self.put(x, self.terminal.glyph("║", ":"), Style::Media);
        } else {
            self.put(x, self.terminal.glyph("│", "|"), Style::Dim);
        }
    }

    /// An arrow with its label; a message to its own lane is a text beside it.
    pub fn arrow(&mut self, from: usize, to: usize, stroke: Stroke, style: Style, label: &str) {
        let (Some(&a), Some(&b)) = (self.geometry.at.get(from), self.geometry.at.get(to)) else { return };
        let (low, high) = (a.min(b), a.max(b));
        if low == high {
            return self.beside_itself(low, style, label);
        }
        let (fill, cross) = match stroke {
            Stroke::Signal => (self.terminal.glyph("─", "-"), self.terminal.glyph("┼", "+")),
            Stroke::Again => (self.terminal.glyph("╌", "."), self.terminal.glyph("┼", "+")),
            Stroke::Media => (self.terminal.glyph("═", "="), self.terminal.glyph("╪", "+")),
        };
        for x in low + 1..high {
            let glyph = if self.geometry.at.contains(&x) { cross } else { fill };
            self.put(x, glyph, style);
        }
        self.put(if b > a { high - 1 } else { low + 1 }, if b > a { ">" } else { "<" }, style);
        self.label(low, high, style, label);
    }

    /// Text over the lanes, from a column on.
    pub fn text(&mut self, mut x: usize, text: &str, style: Style) {
        for c in clean(text, !self.terminal.unicode).chars() {
            let width = c.width().unwrap_or(0);
            if width == 0 {
                continue;
            }
            self.put_char(x, c, style);
            if width == 2 {
                self.reserve(x + 1);
                self.cells[x + 1] = None;
            }
            x += width;
        }
    }

    /// The line.
    pub fn line(&self) -> Line {
        let mut line = Line::new(self.terminal);
        for (c, style) in self.cells.iter().flatten() {
            line.push(*style, c.encode_utf8(&mut [0; 4]));
        }
        line
    }

    /// The label in the middle of the arrow, cut to the room it has.
    fn label(&mut self, low: usize, high: usize, style: Style, label: &str) {
        let ascii = !self.terminal.unicode;
        let room = (high - low).saturating_sub(1 + 5);
        let label = fit(&clean(label, ascii), room, Keep::Start, ascii);
        let spare = (high - low - 1).saturating_sub(label.width() + 2);
        // The half column goes to the side of the head, so that it stays a visible arrow.
        let start = if self.points_left(low) { low + 1 + spare.div_ceil(2) } else { low + 1 + spare / 2 };
        self.text(start, &format!(" {label} "), style);
    }

    fn points_left(&self, low: usize) -> bool {
        matches!(self.cells.get(low + 1), Some(Some(('<', _))))
    }

    fn beside_itself(&mut self, x: usize, style: Style, label: &str) {
        let text = format!("{} {label}", self.terminal.glyph("↺", "(to itself)"));
        let width = clean(&text, !self.terminal.unicode).width();
        let right_end = self.geometry.notes.map_or(self.geometry.width, |(start, room)| start + room);
        let start = if x + 2 + width <= right_end { x + 2 } else { x.saturating_sub(width + 1) };
        self.text(start, &text, style);
    }

    fn put(&mut self, x: usize, glyph: &str, style: Style) {
        if let Some(c) = glyph.chars().next() {
            self.put_char(x, c, style);
        }
    }

    fn put_char(&mut self, x: usize, c: char, style: Style) {
        self.reserve(x);
        self.cells[x] = Some((c, style));
    }

    fn reserve(&mut self, x: usize) {
        if self.cells.len() <= x {
            self.cells.resize(x + 1, Some((' ', Style::Plain)));
        }
    }
}
