//! The basic rules of the SIP grammar (RFC 3261 section 25.1) that all value types stand on: tokens, linear white
//! space, quoted strings, lists and parameters. Everything here takes octets as they came and never fails.

use crate::swar;
use std::borrow::Cow;

/// Classes of octets, one bit each.
const TOKEN: u8 = 1;
const SPACE: u8 = 2;
const DIGIT: u8 = 4;
const HEX: u8 = 8;

const CLASS: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut table = [0u8; 256];
    let mut i = 0;
    while i < 256 {
        let o = i as u8;
        if o.is_ascii_alphanumeric()
            || matches!(o, b'-' | b'.' | b'!' | b'%' | b'*' | b'_' | b'+' | b'`' | b'\'' | b'~')
        {
            table[i] |= TOKEN;
        }
        if matches!(o, b' ' | b'\t' | b'\r' | b'\n') {
            table[i] |= SPACE;
        }
        if o.is_ascii_digit() {
            table[i] |= DIGIT;
        }
        if o.is_ascii_hexdigit() {
            table[i] |= HEX;
        }
        i += 1;
    }
    table
}

/// Whether an octet may stand in a `token`.
#[inline]
pub fn is_token_octet(o: u8) -> bool {
    CLASS[usize::from(o)] & TOKEN != 0
}

/// Whether octets are a `token`: at least one octet, all of them token octets.
pub fn is_token(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(|&o| is_token_octet(o))
}

/// Whether an octet is white space; CR and LF count, because inside a value they can only be folding.
#[inline]
pub fn is_space(o: u8) -> bool {
    CLASS[usize::from(o)] & SPACE != 0
}

/// Without white space on either side.
#[inline]
pub fn trim(text: &[u8]) -> &[u8] {
    trim_end(trim_start(text))
}

/// Without white space in front.
#[inline]
pub fn trim_start(mut text: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = text {
        if !is_space(*first) {
            break;
        }
        text = rest;
    }
    text
}

/// Without white space behind.
#[inline]
pub fn trim_end(mut text: &[u8]) -> &[u8] {
    while let [rest @ .., last] = text {
        if !is_space(*last) {
            break;
        }
        text = rest;
    }
    text
}

/// Splits at `at`; an index past the end gives all and nothing.
#[inline]
pub(crate) fn split(text: &[u8], at: usize) -> (&[u8], &[u8]) {
    text.split_at(at.min(text.len()))
}

/// The octets from `at` on; none past the end.
#[inline]
pub(crate) fn after(text: &[u8], at: usize) -> &[u8] {
    text.get(at..).unwrap_or_default()
}

/// The token at the beginning and what follows it.
#[inline]
pub(crate) fn take_token(text: &[u8]) -> (&[u8], &[u8]) {
    let n = text.iter().position(|&o| !is_token_octet(o)).unwrap_or(text.len());
    split(text, n)
}

/// Removes folding (RFC 3261 section 7.3.1): each line break with the white space around it becomes one space.
///
/// Borrows when nothing was folded, which is nearly always.
pub fn unfold(value: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr(b'\n', value).is_none() {
        return Cow::Borrowed(value);
    }
    let mut out = Vec::with_capacity(value.len());
    for (i, line) in value.split(|&o| o == b'\n').enumerate() {
        let line = trim(line);
        if i > 0 && !line.is_empty() && !out.is_empty() {
            out.push(b' ');
        }
        out.extend_from_slice(line);
    }
    Cow::Owned(out)
}

/// A number that header fields carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// In range.
    Value(u32),
    /// Digits, but more than 32 bits hold.
    TooLarge,
    /// No digits, or something beside them.
    Invalid,
}

impl Number {
    /// The value, if there is one.
    pub fn value(self) -> Option<u32> {
        match self {
            Number::Value(n) => Some(n),
            _ => None,
        }
    }
}

/// Reads `1*DIGIT`, the whole text.
#[inline]
pub fn number(text: &[u8]) -> Number {
    if text.is_empty() {
        return Number::Invalid;
    }
    // Nine digits fit in 32 bits whatever they are.
    if text.len() > 9 {
        return long_number(text);
    }
    let mut n: u32 = 0;
    for &o in text {
        let digit = o.wrapping_sub(b'0');
        if digit > 9 {
            return Number::Invalid;
        }
        n = n.wrapping_mul(10).wrapping_add(u32::from(digit));
    }
    Number::Value(n)
}

fn long_number(text: &[u8]) -> Number {
    let mut n: u64 = 0;
    for &o in text {
        if !o.is_ascii_digit() {
            return Number::Invalid;
        }
        n = (n * 10 + u64::from(o - b'0')).min(u64::from(u32::MAX) + 1);
    }
    u32::try_from(n).map_or(Number::TooLarge, Number::Value)
}

/// Reads `1*DIGIT` at the beginning; what follows it is given back.
#[inline]
pub(crate) fn take_number(text: &[u8]) -> (Number, &[u8]) {
    let n = text.iter().position(|o| !o.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = split(text, n);
    (number(digits), rest)
}

/// Reads a port, 0..=65535.
#[inline]
pub(crate) fn port(text: &[u8]) -> Option<u16> {
    number(text).value().and_then(|n| u16::try_from(n).ok())
}

/// Octets of a quoted string that are looked at for its end. A longer one counts as not closed, so that no message can
/// make the search quadratic.
pub const QUOTED_OCTETS_MAX: usize = 4096;

/// Where a quoted string that begins at `at` (its first quote) ends: the index behind its closing quote, or none when
/// it is not closed. A backslash escapes one octet.
pub(crate) fn quoted_end(text: &[u8], at: usize) -> Option<usize> {
    let text = &text[..text.len().min(at.saturating_add(QUOTED_OCTETS_MAX))];
    let mut i = at + 1;
    loop {
        i += memchr::memchr2(b'"', b'\\', text.get(i..)?)?;
        if text[i] == b'"' {
            return Some(i + 1);
        }
        i += 2;
    }
}

/// Which brackets are given up: one that is not closed is taken as plain text, so that it does not hide the rest, and
/// so are those that follow, so that no message can make the search quadratic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct GivenUp {
    quotes: bool,
    angles: bool,
}

impl GivenUp {
    /// Takes `<...>` as plain text from the beginning.
    pub(crate) const ANGLES: GivenUp = GivenUp { quotes: false, angles: true };
}

/// The index of the first `stop` outside quoted strings and outside `<...>`.
pub(crate) fn find_outside(text: &[u8], stop: u8, given_up: &mut GivenUp) -> Option<usize> {
    let mut i = 0;
    while let Some(&o) = text.get(i) {
        i = match o {
            _ if o == stop => return Some(i),
            b'"' if !given_up.quotes => {
                let end = quoted_end(text, i);
                given_up.quotes = end.is_none();
                end.unwrap_or(i + 1)
            }
            b'<' if !given_up.angles => {
                let end = memchr::memchr(b'>', &text[i..]).map(|n| i + n + 1);
                given_up.angles = end.is_none();
                end.unwrap_or(i + 1)
            }
            _ => i + 1,
        };
    }
    None
}

/// The values of a comma-separated header field, trimmed; commas in quotes and in `<...>` do not separate.
#[derive(Clone, Debug)]
pub struct Values<'a> {
    rest: Option<&'a [u8]>,
    given_up: GivenUp,
}

impl<'a> Values<'a> {
    /// Of one header field's value.
    pub fn new(value: &'a [u8]) -> Self {
        Values { rest: Some(value), given_up: GivenUp::default() }
    }
}

impl<'a> Iterator for Values<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let text = self.rest?;
        let (value, rest) = match find_outside(text, b',', &mut self.given_up) {
            Some(n) => (&text[..n], Some(after(text, n + 1))),
            None => (text, None),
        };
        self.rest = rest;
        Some(trim(value))
    }
}

/// One parameter of a header field or URI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param<'a> {
    /// Its name, as written.
    pub name: &'a [u8],
    /// Its value, as written (quotes kept); none for a flag.
    pub value: Option<&'a [u8]>,
}

impl<'a> Param<'a> {
    /// Whether it has this name; case does not matter (RFC 3261 section 7.3.1).
    #[inline]
    pub fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name.as_bytes())
    }

    /// The value without quotes around it; empty for a flag.
    #[inline]
    pub fn text(&self) -> &'a [u8] {
        unquote(self.value.unwrap_or_default())
    }
}

/// Parameters separated by `;`. Empty ones (`;;`) are passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Params<'a> {
    rest: &'a [u8],
    quotes_given_up: bool,
}

impl<'a> Params<'a> {
    /// Of the text that follows a value; whether it begins with a semicolon does not matter.
    pub fn new(text: &'a [u8]) -> Self {
        Params { rest: text, quotes_given_up: false }
    }

    /// The text as it came.
    pub fn octets(&self) -> &'a [u8] {
        self.rest
    }

    /// The first parameter of this name.
    pub fn get(self, name: &str) -> Option<Param<'a>> {
        self.into_iter().find(|p| p.is(name))
    }
}

impl<'a> Iterator for Params<'a> {
    type Item = Param<'a>;

    fn next(&mut self) -> Option<Param<'a>> {
        loop {
            // What follows a value begins with one.
            while let [b';', rest @ ..] = self.rest {
                self.rest = rest;
            }
            if self.rest.is_empty() {
                return None;
            }
            let one = self.piece();
            if !one.is_empty() {
                return Some(param(one));
            }
        }
    }
}

impl<'a> Params<'a> {
    /// What stands before the next semicolon; it may be empty.
    fn piece(&mut self) -> &'a [u8] {
        let text = self.rest;
        // Parameters with quotes are rare, so quotes are looked for only if there is one.
        let end = match swar::find_either(text, b';', b'"') {
            Some(n) if text[n] == b';' => n,
            Some(_) => {
                let mut given_up = GivenUp { quotes: self.quotes_given_up, angles: true };
                let end = find_outside(text, b';', &mut given_up);
                self.quotes_given_up = given_up.quotes;
                end.unwrap_or(text.len())
            }
            None => text.len(),
        };
        self.rest = after(text, end + 1);
        trim(&text[..end])
    }

    /// Whether there is a semicolon with nothing behind it.
    pub(crate) fn has_empty(mut self) -> bool {
        if trim_end(self.rest).ends_with(b";") {
            return true;
        }
        self.piece();
        while !self.rest.is_empty() {
            if self.piece().is_empty() {
                return true;
            }
        }
        false
    }
}

fn param(text: &[u8]) -> Param<'_> {
    match swar::find_soon(text, b'=') {
        Some(n) => Param { name: trim_end(&text[..n]), value: Some(trim_start(&text[n + 1..])) },
        None => Param { name: text, value: None },
    }
}

/// Without the quotes around a quoted string; escapes stay.
#[inline]
pub fn unquote(text: &[u8]) -> &[u8] {
    match text {
        [b'"', inner @ .., b'"'] => inner,
        _ => text,
    }
}

/// Resolves `%xx` (RFC 3261 section 19.1.2); a percent sign that begins no escape stays. Octets that are not UTF-8 are
/// replaced.
pub fn unescape(text: &[u8]) -> Cow<'_, str> {
    if memchr::memchr(b'%', text).is_none() {
        return String::from_utf8_lossy(text);
    }
    let mut out = Vec::with_capacity(text.len());
    let mut i = 0;
    while let Some(&o) = text.get(i) {
        match escape_at(text, i) {
            Some(octet) => {
                out.push(octet);
                i += 3;
            }
            None => {
                out.push(o);
                i += 1;
            }
        }
    }
    Cow::Owned(String::from_utf8_lossy(&out).into_owned())
}

/// The octet that `%xx` at `at` stands for.
pub(crate) fn escape_at(text: &[u8], at: usize) -> Option<u8> {
    match text.get(at..at.checked_add(3)?)? {
        [b'%', high, low] => Some(hex_digit(*high)? << 4 | hex_digit(*low)?),
        _ => None,
    }
}

fn hex_digit(o: u8) -> Option<u8> {
    char::from(o).to_digit(16).map(|d| d as u8)
}

/// Whether each percent sign begins an escape.
pub(crate) fn escapes_hold(text: &[u8]) -> bool {
    memchr::memchr_iter(b'%', text).all(|i| escape_at(text, i).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unfolds_only_what_is_folded() {
        assert!(matches!(unfold(b"plain"), Cow::Borrowed(_)));
        assert_eq!(
            &*unfold(b"newfangled value\r\n continued newfangled value"),
            b"newfangled value continued newfangled value"
        );
        assert_eq!(&*unfold(b"0009\r\n  INVITE"), b"0009 INVITE");
    }

    #[test]
    fn values_keep_commas_in_quotes_and_brackets() {
        let list: Vec<_> = Values::new(b"\"Bell, A\" <sip:a@b;x=1,2>;q=0.5 , <sip:c>,").collect();
        assert_eq!(list, [&b"\"Bell, A\" <sip:a@b;x=1,2>;q=0.5"[..], b"<sip:c>", b""]);
    }

    #[test]
    fn params_allow_white_space_and_quotes() {
        let list: Vec<_> = Params::new(b" ; tag = a ;; lr;x=\"1;2\"").collect();
        assert_eq!(list.len(), 3);
        assert_eq!((list[0].name, list[0].value), (&b"tag"[..], Some(&b"a"[..])));
        assert_eq!((list[1].name, list[1].value), (&b"lr"[..], None));
        assert_eq!(list[2].text(), b"1;2");
    }

    #[test]
    fn empty_parameters_are_seen() {
        for (text, empty) in [(";a;b", false), ("", false), (";;", true), (";a;", true), (";a;;b", true), (";", true)] {
            assert_eq!(Params::new(text.as_bytes()).has_empty(), empty, "{text}");
        }
    }

    #[test]
    fn numbers_say_when_they_do_not_fit() {
        assert_eq!(number(b"0009"), Number::Value(9));
        assert_eq!(number(b"4294967295"), Number::Value(u32::MAX));
        assert_eq!(number(b"4294967296"), Number::TooLarge);
        assert_eq!(number(b"36893488147419103232"), Number::TooLarge);
        assert_eq!(number(b"-1"), Number::Invalid);
        assert_eq!(number(b""), Number::Invalid);
    }

    #[test]
    fn percent_signs_that_escape_nothing_stay() {
        assert_eq!(unescape(b"I%20have%20spaces"), "I have spaces");
        assert_eq!(unescape(b"%Z%45%"), "%ZE%");
        assert_eq!(unescape(b"null-%00-null"), "null-\0-null");
    }
}
