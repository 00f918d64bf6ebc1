//! The names of the lanes, above them.

use super::super::lanes::{Canvas, Lane};
use super::super::text::{Line, Style};
use super::Page;

impl Page<'_> {
    /// The names of the lanes: addresses above ports; letters and a legend where they do not fit.
    pub(super) fn hosts(&self) -> Vec<Line> {
        let addresses: Vec<&str> = self.lanes.lanes.iter().map(|lane| lane.address.as_str()).collect();
        let ports: Vec<&str> = self.lanes.lanes.iter().map(|lane| lane.ports.as_str()).collect();
        if let (Some(above), Some(below)) = (self.titles(&addresses, Style::Bold), self.titles(&ports, Style::Plain)) {
            return vec![above, below];
        }
        if let Some(lines) = self.staggered() {
            return lines;
        }
        let letters: Vec<String> = (0..addresses.len()).map(letter).collect();
        let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
        let mut lines = self.legend();
        lines.extend(self.titles(&letters, Style::Bold));
        lines
    }

    /// Texts centred on their lanes; none if they would touch each other.
    fn titles(&self, texts: &[&str], style: Style) -> Option<Line> {
        let mut line = Line::new(self.terminal);
        line.pad(self.gutter.width);
        let right = self.terminal.width;
        // A name that reaches further than this towards the next lane could be taken for its name.
        let reach = self.geometry.at.windows(2).map(|pair| (pair[1] - pair[0]) * 2 / 3).min().unwrap_or(right);
        for (i, (text, x)) in texts.iter().zip(&self.geometry.at).enumerate() {
            let centred = (self.gutter.width + x).saturating_sub(text.len() / 2).max(self.gutter.width);
            let start = centred.min(right.saturating_sub(text.len()));
            let astray = start + text.len() > self.gutter.width + x + reach || start + text.len() > right;
            if astray || (i > 0 && !texts[..i].join("").is_empty() && start < line.width() + 2) {
                return None;
            }
            line.pad(start);
            line.push(style, text);
        }
        Some(line)
    }

    /// Names in two lines by turns: every second lane has its name one line lower.
    fn staggered(&self) -> Option<Vec<Line>> {
        let names: Vec<String> =
            self.lanes.lanes.iter().map(|lane| format!("{} {}", lane.address, lane.ports)).collect();
        let line = |turn: usize| {
            let mut canvas = Canvas::empty(&self.geometry, self.terminal);
            let lanes = || names.iter().zip(&self.geometry.at).enumerate();
            // Below the names of the upper line their lanes begin, as far as the names of the lower line leave room.
            lanes().filter(|(i, _)| turn == 1 && i % 2 == 0).for_each(|(_, (_, x))| canvas.bar(*x, false));
            let mut free = 0;
            for (_, (name, x)) in lanes().filter(|(i, _)| i % 2 == turn) {
                let start = x.saturating_sub(name.len() / 2).min(self.geometry.width.saturating_sub(name.len()));
                if start < free || start + name.len() > self.geometry.width {
                    return None;
                }
                canvas.text(start, name, Style::Bold);
                free = start + name.len() + 2;
            }
            let mut line = Line::new(self.terminal);
            line.pad(self.gutter.width);
            line.append(&canvas.line());
            Some(line)
        };
        Some(vec![line(0)?, line(1)?])
    }

    pub(super) fn legend(&self) -> Vec<Line> {
        let of = |(i, lane): (usize, &Lane)| {
            let line = Line::new(self.terminal).with(Style::Bold, &format!("{}  ", letter(i)));
            line.with(Style::Plain, &format!("{} {}", lane.address, lane.ports))
        };
        self.lanes.lanes.iter().enumerate().map(of).collect()
    }
}

/// `A`, `B`, ... `Z`, `AA`, ...
pub(super) fn letter(i: usize) -> String {
    let last = char::from(b'A' + (i % 26) as u8);
    if i < 26 { last.to_string() } else { format!("{}{last}", letter(i / 26 - 1)) }
}
