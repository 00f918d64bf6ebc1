//! Filters: a tree of tests (RFC 4511 section 4.5.1.7), read from text and shown as text (RFC 4515).

use crate::cdr::ber::{Backward, CONTEXT, UNIVERSAL, universal};
use core::fmt;

/// How deep filters may lie in filters when their text is read.
// Limit: filters within filters of an LDAP setting
// Beyond: the filter is refused
// Seen in: the error message
pub const FILTER_DEPTH_MAX: usize = 16;

/// A test of an entry. Values are octets as they are: nothing in them is read as a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filter {
    /// All of them hold; of none, always.
    And(Vec<Filter>),
    /// One of them holds; of none, never.
    Or(Vec<Filter>),
    /// It does not hold.
    Not(Box<Filter>),
    /// The attribute has this value.
    Equal(String, Vec<u8>),
    /// The attribute has a value of this or a greater one.
    AtLeast(String, Vec<u8>),
    /// The attribute has a value of this or a lesser one.
    AtMost(String, Vec<u8>),
    /// The attribute has a value that the server finds near.
    Near(String, Vec<u8>),
    /// The attribute is there.
    Present(String),
    /// The attribute has a value that begins with the first, ends with the last, and has the others between them in
    /// this order; empty ones at the ends are left out.
    Like(String, Vec<Vec<u8>>),
}

impl Filter {
    /// The same filter with each value made anew by `make`; attributes and shape stay.
    pub fn with_values(&self, make: &mut impl FnMut(&[u8]) -> Vec<u8>) -> Filter {
        match self {
            Filter::And(filters) => Filter::And(filters.iter().map(|f| f.with_values(make)).collect()),
            Filter::Or(filters) => Filter::Or(filters.iter().map(|f| f.with_values(make)).collect()),
            Filter::Not(filter) => Filter::Not(Box::new(filter.with_values(make))),
            Filter::Equal(attribute, value) => Filter::Equal(attribute.clone(), make(value)),
            Filter::AtLeast(attribute, value) => Filter::AtLeast(attribute.clone(), make(value)),
            Filter::AtMost(attribute, value) => Filter::AtMost(attribute.clone(), make(value)),
            Filter::Near(attribute, value) => Filter::Near(attribute.clone(), make(value)),
            Filter::Present(attribute) => Filter::Present(attribute.clone()),
            Filter::Like(attribute, parts) => Filter::Like(attribute.clone(), parts.iter().map(|p| make(p)).collect()),
        }
    }

    /// All its values.
    pub fn values(&self) -> Vec<&[u8]> {
        match self {
            Filter::And(filters) | Filter::Or(filters) => filters.iter().flat_map(Filter::values).collect(),
            Filter::Not(filter) => filter.values(),
            Filter::Equal(_, value) | Filter::AtLeast(_, value) | Filter::AtMost(_, value) | Filter::Near(_, value) => {
                vec![value]
            }
            Filter::Present(_) => Vec::new(),
            Filter::Like(_, parts) => parts.iter().map(Vec::as_slice).collect(),
        }
    }

    /// Writes it as it goes in a search.
    pub(super) fn write(&self, out: &mut Backward<'_>) {
        let end = out.end();
        match self {
            Filter::And(filters) => Self::write_set(filters, 0, out),
            Filter::Or(filters) => Self::write_set(filters, 1, out),
            Filter::Not(filter) => {
                filter.write(out);
                out.wrap(CONTEXT, 2, end);
            }
            Filter::Equal(attribute, value) => Self::write_assertion(attribute, value, 3, out),
            Filter::Like(attribute, parts) => Self::write_like(attribute, parts, out),
            Filter::AtLeast(attribute, value) => Self::write_assertion(attribute, value, 5, out),
            Filter::AtMost(attribute, value) => Self::write_assertion(attribute, value, 6, out),
            Filter::Present(attribute) => out.octets(CONTEXT, 7, attribute.as_bytes()),
            Filter::Near(attribute, value) => Self::write_assertion(attribute, value, 8, out),
        }
    }

    fn write_set(filters: &[Filter], tag: u8, out: &mut Backward<'_>) {
        let end = out.end();
        filters.iter().rev().for_each(|filter| filter.write(out));
        out.wrap(CONTEXT, tag, end);
    }

    fn write_assertion(attribute: &str, value: &[u8], tag: u8, out: &mut Backward<'_>) {
        let end = out.end();
        out.octets(UNIVERSAL, universal::OCTET_STRING, value);
        out.octets(UNIVERSAL, universal::OCTET_STRING, attribute.as_bytes());
        out.wrap(CONTEXT, tag, end);
    }

    fn write_like(attribute: &str, parts: &[Vec<u8>], out: &mut Backward<'_>) {
        let (whole, end, last) = (out.end(), out.end(), parts.len().saturating_sub(1));
        for (at, part) in parts.iter().enumerate().rev().filter(|(_, part)| !part.is_empty()) {
            let tag = match at {
                0 => 0,
                at if at == last => 2,
                _ => 1,
            };
            out.octets(CONTEXT, tag, part);
        }
        out.wrap(UNIVERSAL, universal::SEQUENCE, end);
        out.octets(UNIVERSAL, universal::OCTET_STRING, attribute.as_bytes());
        out.wrap(CONTEXT, 4, whole);
    }
}

/// As RFC 4515 writes it, with everything escaped that is not plain: what is shown is read as the same filter.
impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let set = |f: &mut fmt::Formatter<'_>, sign, filters: &[Filter]| {
            write!(f, "({sign}")?;
            filters.iter().try_for_each(|filter| filter.fmt(f))?;
            f.write_str(")")
        };
        match self {
            Filter::And(filters) => set(f, '&', filters),
            Filter::Or(filters) => set(f, '|', filters),
            Filter::Not(filter) => write!(f, "(!{filter})"),
            Filter::Equal(attribute, value) => write!(f, "({attribute}={})", Escaped(value)),
            Filter::AtLeast(attribute, value) => write!(f, "({attribute}>={})", Escaped(value)),
            Filter::AtMost(attribute, value) => write!(f, "({attribute}<={})", Escaped(value)),
            Filter::Near(attribute, value) => write!(f, "({attribute}~={})", Escaped(value)),
            Filter::Present(attribute) => write!(f, "({attribute}=*)"),
            Filter::Like(attribute, parts) => {
                let parts: Vec<String> = parts.iter().map(|part| Escaped(part).to_string()).collect();
                write!(f, "({attribute}={})", parts.join("*"))
            }
        }
    }
}

/// A value with all octets escaped that may mean something in a filter (RFC 4515 section 3).
struct Escaped<'a>(&'a [u8]);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|octet| match octet {
            b'(' | b')' | b'*' | b'\\' => write!(f, "\\{octet:02x}"),
            b' '..=b'~' => write!(f, "{}", char::from(*octet)),
            _ => write!(f, "\\{octet:02x}"),
        })
    }
}

/// Where the text of a filter is not one, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilterError {
    /// The octet of the text.
    pub at: usize,
    /// What was expected there.
    pub expected: &'static str,
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {} at character {}", self.expected, self.at + 1)
    }
}

impl core::error::Error for FilterError {}

/// Reads RFC 4515.
///
/// # Errors
/// The place that is not as it should be; extensible matches, and filters deeper than [`FILTER_DEPTH_MAX`].
impl core::str::FromStr for Filter {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Filter, FilterError> {
        let mut reader = Reader { text: text.as_bytes(), at: 0 };
        let filter = reader.filter(0)?;
        if reader.at == text.len() { Ok(filter) } else { Err(reader.wrong("the end")) }
    }
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn filter(&mut self, depth: usize) -> Result<Filter, FilterError> {
        if depth > FILTER_DEPTH_MAX {
            return Err(self.wrong("fewer filters in filters"));
        }
        self.take(b'(', "'('")?;
        let filter = match self.peek() {
            Some(b'&') => Filter::And(self.set(depth)?),
            Some(b'|') => Filter::Or(self.set(depth)?),
            Some(b'!') => {
                self.at += 1;
                Filter::Not(Box::new(self.filter(depth + 1)?))
            }
            _ => self.test()?,
        };
        self.take(b')', "')'")?;
        Ok(filter)
    }

    fn set(&mut self, depth: usize) -> Result<Vec<Filter>, FilterError> {
        self.at += 1;
        let mut filters = Vec::new();
        while self.peek() == Some(b'(') {
            filters.push(self.filter(depth + 1)?);
        }
        Ok(filters)
    }

    fn test(&mut self) -> Result<Filter, FilterError> {
        let attribute = self.attribute()?;
        match self.peek() {
            Some(b'=') => {
                self.at += 1;
                self.equal(attribute)
            }
            Some(sign @ (b'>' | b'<' | b'~')) => {
                self.at += 1;
                self.take(b'=', "'='")?;
                let value = self.value()?;
                Ok(match sign {
                    b'>' => Filter::AtLeast(attribute, value),
                    b'<' => Filter::AtMost(attribute, value),
                    _ => Filter::Near(attribute, value),
                })
            }
            _ => Err(self.wrong("'=', '>=', '<=' or '~='")),
        }
    }

    /// `=value`, `=*`, `=ab*cd*`: an asterisk parts a value into what it has to look like.
    fn equal(&mut self, attribute: String) -> Result<Filter, FilterError> {
        let mut parts = vec![self.value()?];
        while self.peek() == Some(b'*') {
            self.at += 1;
            parts.push(self.value()?);
        }
        let inner = parts.get(1..parts.len().saturating_sub(1)).unwrap_or_default();
        Ok(match parts.len() {
            1 => Filter::Equal(attribute, parts.swap_remove(0)),
            2 if parts.iter().all(Vec::is_empty) => Filter::Present(attribute),
            _ if inner.iter().any(Vec::is_empty) => return Err(self.wrong("a value between two asterisks")),
            _ => Filter::Like(attribute, parts),
        })
    }

    /// A name or an object identifier with options behind it (RFC 4512 section 2.5).
    fn attribute(&mut self) -> Result<String, FilterError> {
        let rest = &self.text[self.at..];
        let is_part = |octet: &u8| octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'.' | b';');
        let name = &rest[..rest.iter().position(|octet| !is_part(octet)).unwrap_or(rest.len())];
        if !name.first().is_some_and(u8::is_ascii_alphanumeric) {
            return Err(self.wrong("the name of an attribute"));
        }
        self.at += name.len();
        Ok(name.iter().map(|octet| char::from(*octet)).collect())
    }

    fn value(&mut self) -> Result<Vec<u8>, FilterError> {
        let mut value = Vec::new();
        while let Some(octet) = self.peek() {
            match octet {
                b')' | b'*' => break,
                b'(' | 0 => return Err(self.wrong("its escape: '(' is \\28, NUL is \\00")),
                b'\\' => value.push(self.escape()?),
                _ => {
                    value.push(octet);
                    self.at += 1;
                }
            }
        }
        Ok(value)
    }

    fn escape(&mut self) -> Result<u8, FilterError> {
        let digits = self.text.get(self.at + 1..self.at + 3).filter(|d| d.iter().all(u8::is_ascii_hexdigit));
        let digits = digits.and_then(|digits| core::str::from_utf8(digits).ok());
        let octet = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let octet = octet.ok_or_else(|| self.wrong("two hexadecimal digits behind '\\'"))?;
        self.at += 3;
        Ok(octet)
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn take(&mut self, octet: u8, expected: &'static str) -> Result<(), FilterError> {
        if self.peek() != Some(octet) {
            return Err(self.wrong(expected));
        }
        self.at += 1;
        Ok(())
    }

    fn wrong(&self, expected: &'static str) -> FilterError {
        FilterError { at: self.at, expected }
    }
}
