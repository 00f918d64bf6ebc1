//! Lines of styled text, safe for a terminal: whatever came from a capture is escaped when it enters a line.

use crate::terminal::Terminal;
use std::borrow::Cow;
use std::io;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// How a piece of text is drawn where colours are on. Nothing is said by colour alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Style {
    /// As the terminal draws text.
    #[default]
    Plain,
    /// What the eye should find first.
    Bold,
    /// What is there to be looked up.
    Dim,
    /// Signalling.
    Signal,
    /// Media.
    Media,
    /// In order.
    Good,
    /// Worth a look.
    Warn,
    /// Broken.
    Bad,
}

impl Style {
    /// The parameters of SGR (ECMA-48 section 8.3.117); the eight base colours alone, so that the user's theme holds.
    fn sgr(self) -> &'static str {
        match self {
            Style::Plain => "",
            Style::Bold => "1",
            Style::Dim => "2",
            Style::Signal => "36",
            Style::Media => "35",
            Style::Good => "32",
            Style::Warn => "33",
            Style::Bad => "1;31",
        }
    }
}

/// One line of output: pieces of text, each with its style.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    pieces: Vec<(Style, String)>,
    ascii: bool,
}

impl Line {
    /// An empty line for that terminal.
    pub fn new(terminal: &Terminal) -> Self {
        Line { pieces: Vec::new(), ascii: !terminal.unicode }
    }

    /// Appends text; control characters in it become visible escapes.
    pub fn push(&mut self, style: Style, text: &str) {
        let text = clean(text, self.ascii);
        match self.pieces.last_mut() {
            Some((last, kept)) if *last == style => kept.push_str(&text),
            _ => self.pieces.push((style, text.into_owned())),
        }
    }

    /// [`Line::push`] for chains.
    pub fn with(mut self, style: Style, text: &str) -> Self {
        self.push(style, text);
        self
    }

    /// Appends another line.
    pub fn append(&mut self, other: &Line) {
        for (style, text) in &other.pieces {
            self.pieces.push((*style, text.clone()));
        }
    }

    /// Appends spaces up to that width.
    pub fn pad(&mut self, width: usize) {
        let missing = width.saturating_sub(self.width());
        if missing > 0 {
            self.push(Style::Plain, &" ".repeat(missing));
        }
    }

    /// Columns that the line takes on a terminal.
    pub fn width(&self) -> usize {
        self.pieces.iter().map(|(_, text)| text.width()).sum()
    }

    /// Whether it has no text.
    pub fn is_empty(&self) -> bool {
        self.pieces.iter().all(|(_, text)| text.is_empty())
    }

    /// Cuts the line to `width` columns, an ellipsis in place of what is left out.
    pub fn fit(&mut self, width: usize, keep: Keep) {
        if self.width() <= width {
            return;
        }
        let style = self.pieces.first().map_or(Style::Plain, |piece| piece.0);
        let whole: String = self.pieces.iter().map(|(_, text)| text.as_str()).collect();
        self.pieces = vec![(style, fit(&whole, width, keep, self.ascii))];
    }

    /// The text without styles.
    pub fn text(&self) -> String {
        self.pieces.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// Writes the line and its end; trailing spaces are left out.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, colour: bool, out: &mut dyn io::Write) -> io::Result<()> {
        if !colour {
            return writeln!(out, "{}", self.text().trim_end());
        }
        for (style, text) in &self.pieces {
            match style.sgr() {
                "" => write!(out, "{text}")?,
                sgr => write!(out, "\x1b[{sgr}m{text}\x1b[0m")?,
            }
        }
        writeln!(out)
    }
}

/// Which end of a text that is too long stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The beginning: sentences, names.
    Start,
    /// The end: telephone numbers differ there.
    End,
}

/// Makes text safe for a terminal: control characters, bidirectional overrides and invisible format characters become
/// `\x1b`, `\u{202e}`; where the locale is not UTF-8, so does all that is not ASCII. A capture is written by strangers:
/// no octet of it may move the cursor.
pub fn clean(text: &str, ascii: bool) -> Cow<'_, str> {
    if !text.chars().any(|c| is_unsafe(c, ascii)) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' => safe.push_str("\\n"),
            '\r' => safe.push_str("\\r"),
            '\t' => safe.push_str("\\t"),
            c if !is_unsafe(c, ascii) => safe.push(c),
            c if u32::from(c) < 0x80 => safe.push_str(&format!("\\x{:02x}", u32::from(c))),
            c => safe.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
        }
    }
    Cow::Owned(safe)
}

/// Control characters, format characters (Unicode category Cf as far as they hide or reorder text) and separators.
fn is_unsafe(c: char, ascii: bool) -> bool {
    c.is_control()
        || (ascii && !c.is_ascii())
        || matches!(u32::from(c),
            0xad | 0x61c | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0xfe00..=0xfe0f | 0xfeff
                | 0xfff9..=0xfffb | 0xe0000..=0xe0fff)
}

/// Cuts clean text to `width` columns.
pub fn fit(text: &str, width: usize, keep: Keep, ascii: bool) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let dots = if ascii { "..." } else { "…" };
    let dots = if dots.width() > width { "" } else { dots };
    let room = width - dots.width();
    match keep {
        Keep::Start => format!("{}{dots}", take(text.chars(), room).iter().collect::<String>()),
        Keep::End => format!("{dots}{}", take(text.chars().rev(), room).iter().rev().collect::<String>()),
    }
}

fn take(chars: impl Iterator<Item = char>, room: usize) -> Vec<char> {
    let mut used = 0;
    chars
        .take_while(|c| {
            used += c.width().unwrap_or(0);
            used <= room
        })
        .collect()
}

/// Breaks text at spaces into lines of at most `width` columns; words that are longer are broken where they must be.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        if used > 0 && used + 1 + word.width() > width {
            lines.push(String::new());
            used = 0;
        }
        for (i, c) in word.chars().enumerate() {
            let Some(line) = lines.last_mut() else { break };
            if i == 0 && used > 0 {
                line.push(' ');
                used += 1;
            }
            let columns = c.width().unwrap_or(0);
            if used + columns > width {
                lines.push(c.to_string());
                used = columns;
            } else {
                line.push(c);
                used += columns;
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_what_could_drive_a_terminal() {
        assert_eq!(clean("a\x1b[2Jb\x07\r\n", false), "a\\x1b[2Jb\\x07\\r\\n");
        assert_eq!(clean("\u{202e}evil\u{9b}31m", false), "\\u{202e}evil\\u{9b}31m");
        assert_eq!(clean("Zoë 王", false), "Zoë 王");
        assert_eq!(clean("Zoë", true), "Zo\\u{eb}");
    }

    #[test]
    fn cuts_by_columns_not_by_octets() {
        assert_eq!(fit("+442079460123", 8, Keep::End, false), "…9460123");
        assert_eq!(fit("王小明王小明", 6, Keep::Start, false), "王小…");
        assert_eq!(fit("abcdef", 5, Keep::Start, true), "ab...");
        assert_eq!(fit("abcdef", 2, Keep::Start, true), "ab");
    }

    #[test]
    fn wraps_at_spaces_and_inside_giant_words() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefgh ij", 3), ["abc", "def", "gh", "ij"]);
        assert_eq!(wrap("", 10), [""]);
    }

    #[test]
    fn styles_are_written_only_with_colour() {
        let line = Line::default().with(Style::Bad, "bad").with(Style::Plain, " end ");
        let (mut plain, mut coloured) = (Vec::new(), Vec::new());
        line.write(false, &mut plain).unwrap();
        line.write(true, &mut coloured).unwrap();
        assert_eq!(plain, b"bad end\n");
        assert_eq!(coloured, b"\x1b[1;31mbad\x1b[0m end \n");
    }
}
