//! Texts with fields between bars: `|device| - Traffic - |ifName| |label|`.

use core::fmt;
use trunkline_kit::untrusted;

/// Fields that each device has.
/// `host` is the address as it stands in a URL: one of IPv6 in brackets (RFC 3986 section 3.2.2).
pub const DEVICE_FIELDS: [&str; 7] = ["device", "address", "host", "site", "description", "location", "contact"];
/// Fields that each row of a table has, beside its table's own.
pub const ROW_FIELDS: [&str; 4] = ["name", "label", "index", "speed"];

/// Whether devices, or rows of all tables, have a field of that name.
pub fn is_field_of_all(name: &str) -> bool {
    DEVICE_FIELDS.contains(&name) || ROW_FIELDS.contains(&name)
}

/// What a data source itself says is `|argument.NAME|`: an object identifier, a program's argument.
pub const ARGUMENT_PREFIX: &str = "argument.";

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
        while let Some(at) = rest.find('|') {
            let (before, behind) = (&rest[..at], &rest[at + 1..]);
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

    /// Its pieces.
    pub fn pieces(&self) -> &[Piece] {
        &self.0
    }

    /// The names of its fields.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Field(name) => Some(name.as_str()),
            Piece::Plain(_) => None,
        })
    }

    /// The same as [`Text::with`] for an argument of a program: what a field holds, which a device may have said of
    /// itself, is no option of it.
    pub fn argument<'f>(&self, field: impl Fn(&str) -> Option<&'f str>) -> String {
        let text = self.with(field);
        match self.0.first() {
            Some(Piece::Field(_)) => untrusted::argument(text),
            _ => text,
        }
    }

    /// Whether nothing stands in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// With exactly what the fields hold.
    pub fn exactly<'f>(&self, field: impl Fn(&str) -> Option<&'f str>) -> String {
        let text = |piece: &'_ Piece| match piece {
            Piece::Plain(plain) => plain.clone(),
            Piece::Field(name) => field(name).unwrap_or_default().to_owned(),
        };
        self.0.iter().map(text).collect()
    }

    /// With what the fields hold; one that holds nothing leaves nothing, and no blank more than there was.
    pub fn with<'f>(&self, field: impl Fn(&str) -> Option<&'f str>) -> String {
        let (mut out, mut after_nothing) = (String::new(), false);
        for piece in &self.0 {
            let text = match piece {
                Piece::Plain(plain) if after_nothing => plain.trim_start_matches(' '),
                Piece::Plain(plain) => plain,
                Piece::Field(name) => field(name).unwrap_or_default(),
            };
            after_nothing =
                matches!(piece, Piece::Field(_)) && text.is_empty() && (out.is_empty() || out.ends_with(' '));
            out.push_str(text);
        }
        out.truncate(out.trim_end().len());
        out
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for piece in &self.0 {
            match piece {
                Piece::Plain(plain) => f.write_str(plain)?,
                Piece::Field(name) => write!(f, "|{name}|")?,
            }
        }
        Ok(())
    }
}

/// Reads a text and fills in its fields.
pub fn expand<'f>(text: &str, field: impl Fn(&str) -> Option<&'f str>) -> String {
    Text::parse(text).with(field)
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
        let field = |name: &str| match name {
            "device" => Some("edge-1"),
            "name" => Some("Gi0/1"),
            _ => None,
        };
        assert_eq!(expand("|device| - |name| |label|", field), "edge-1 - Gi0/1");
        assert_eq!(expand("|label| |device|", field), "edge-1");
        assert_eq!(expand("|device| |label| (up)", field), "edge-1 (up)");
        assert_eq!(expand("a | b |device|c|", field), "a | b edge-1c|");
        assert_eq!(Text::parse(" |device| |label| \r\n").exactly(field), " edge-1  \r\n");
        // What a field holds is not read again.
        assert_eq!(expand("|x|", |_| Some("|x|")), "|x|");
    }

    proptest::proptest! {
        #[test]
        fn a_text_is_written_as_it_was(text in "[|a b.]{0,40}") {
            proptest::prop_assert_eq!(Text::parse(&text).to_string(), text);
        }
    }
}
