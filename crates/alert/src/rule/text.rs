//! Texts with fields between bars: `|device| |index|: |value| is above |limit|`.

use core::fmt;
use trunkline_kit::config::{Raw, Value, quoted};
use trunkline_kit::untrusted;

/// Characters of a text.
const TEXT_MAX: usize = 4096;

/// A text with fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text(Vec<Piece>);

/// A piece of such a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// As it is.
    Plain(String),
    /// What stands in the field of that name.
    Field(String),
}

impl Text {
    /// Reads a text. A field is a name of letters, digits, `_`, `-` and `.` between two bars; any other bar is itself.
    pub fn parse(text: &str) -> Text {
        let (mut pieces, mut plain, mut rest) = (Vec::new(), String::new(), text);
        while let Some((before, behind)) = rest.split_once('|') {
            plain.push_str(before);
            match behind.split_once('|').filter(|(name, _)| is_field(name)) {
                Some((name, after)) => {
                    if !plain.is_empty() {
                        pieces.push(Piece::Plain(core::mem::take(&mut plain)));
                    }
                    pieces.push(Piece::Field(name.to_owned()));
                    rest = after;
                }
                None => {
                    plain.push('|');
                    rest = behind;
                }
            }
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            pieces.push(Piece::Plain(plain));
        }
        Text(pieces)
    }

    /// The names of its fields.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Field(name) => Some(name.as_str()),
            Piece::Plain(_) => None,
        })
    }

    /// Whether nothing stands in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The same for an argument of a program: what a field holds is no option of it.
    pub fn argument(&self, field: impl Fn(&str) -> Option<String>) -> String {
        let text = self.with(field);
        match self.0.first() {
            Some(Piece::Field(_)) => untrusted::argument(text),
            _ => text,
        }
    }

    /// With what the fields hold; one that nobody knows leaves nothing. What a field holds is not read again.
    pub fn with(&self, field: impl Fn(&str) -> Option<String>) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Plain(plain) => plain.clone(),
            Piece::Field(name) => field(name).unwrap_or_default(),
        };
        self.0.iter().map(piece).collect::<String>().trim_end().to_owned()
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|piece| match piece {
            Piece::Plain(plain) => f.write_str(plain),
            Piece::Field(name) => write!(f, "|{name}|"),
        })
    }
}

impl Value for Text {
    fn kind() -> String {
        "a text, with fields between bars".to_owned()
    }

    fn of(raw: &Raw) -> Result<Self, String> {
        let text = raw.as_text().ok_or_else(|| format!("expected {}, not {}", Self::kind(), raw.describe()))?;
        if text.chars().count() > TEXT_MAX {
            return Err(format!("more than {TEXT_MAX} characters"));
        }
        Ok(Text::parse(text))
    }

    fn text(&self) -> String {
        quoted(&self.to_string())
    }
}

fn is_field(name: &str) -> bool {
    let inside = |b: u8| b.is_ascii_alphanumeric() || b"_-.".contains(&b);
    (1..=64).contains(&name.len()) && name.bytes().all(inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_filled_in() {
        let field = |name: &str| (name == "device").then(|| "|x|".to_owned());
        assert_eq!(Text::parse("a | b |device|c|").with(field), "a | b |x|c|");
        assert_eq!(Text::parse("|none| |device|").with(field), " |x|");
    }

    proptest::proptest! {
        #[test]
        fn a_text_is_written_as_it_was(text in "[|a b.]{0,40}") {
            proptest::prop_assert_eq!(Text::parse(&text).to_string(), text);
        }
    }
}
