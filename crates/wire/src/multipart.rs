//! Multipart bodies (RFC 2046 section 5.1), as far as SIP uses them (RFC 5621).

use crate::sip::ContentType;
use crate::sip::grammar::{after, trim};

/// How deep multipart bodies in multipart bodies are looked into.
pub const DEPTH_MAX: u32 = 3;
/// Parts of one body that are looked at; what follows is passed over.
// Limit: parts of one multipart body
// Beyond: further ones are left out
// Seen in: not counted
pub const PARTS_MAX: usize = 64;

/// One part of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// Its header lines, without the empty line that ends them.
    pub headers: &'a [u8],
    /// Its body, without the line break that belongs to the boundary.
    pub body: &'a [u8],
}

impl<'a> Part<'a> {
    /// The value of a header field, without white space around it.
    pub fn header(&self, name: &str) -> Option<&'a [u8]> {
        self.headers.split(|&o| o == b'\n').find_map(|line| {
            let colon = memchr::memchr(b':', line)?;
            trim(&line[..colon]).eq_ignore_ascii_case(name.as_bytes()).then(|| trim(&line[colon + 1..]))
        })
    }

    /// Content-Type; `text/plain` is meant where it is missing.
    pub fn content_type(&self) -> Option<ContentType<'a>> {
        self.header("Content-Type").map(ContentType::parse)
    }
}

/// The parts of a body. A body without its closing boundary (cut, or careless) ends its last part where it ends.
pub fn parts<'a>(body: &'a [u8], boundary: &'a [u8]) -> impl Iterator<Item = Part<'a>> {
    Parts { rest: first_part(body, boundary), boundary }.take(PARTS_MAX)
}

/// The first part of a media type, at most [`DEPTH_MAX`] levels down.
pub fn find<'a>(body: &'a [u8], outer: ContentType<'a>, kind: &str, subtype: &str) -> Option<&'a [u8]> {
    find_within(body, outer, kind, subtype, DEPTH_MAX)
}

fn find_within<'a>(body: &'a [u8], outer: ContentType<'a>, kind: &str, subtype: &str, depth: u32) -> Option<&'a [u8]> {
    let boundary = outer.boundary()?;
    parts(body, boundary).find_map(|part| {
        let inner = part.content_type()?;
        if inner.is(kind, subtype) {
            Some(part.body)
        } else if inner.is_multipart() && depth > 1 {
            find_within(part.body, inner, kind, subtype, depth - 1)
        } else {
            None
        }
    })
}

struct Parts<'a> {
    rest: Option<&'a [u8]>,
    boundary: &'a [u8],
}

impl<'a> Iterator for Parts<'a> {
    type Item = Part<'a>;

    fn next(&mut self) -> Option<Part<'a>> {
        let text = self.rest.take()?;
        let (part, rest) = match delimiter(text, self.boundary) {
            Some(d) => (&text[..d.start], (!d.last).then(|| after(text, d.next))),
            None => (text, None),
        };
        self.rest = rest;
        Some(split_part(part))
    }
}

fn first_part<'a>(body: &'a [u8], boundary: &[u8]) -> Option<&'a [u8]> {
    let first = delimiter(body, boundary)?;
    (!first.last).then(|| after(body, first.next))
}

struct Delimiter {
    /// Where the line break before it begins.
    start: usize,
    /// Where the line behind it begins.
    next: usize,
    /// Whether it closes the body.
    last: bool,
}

/// The next `--boundary` at the beginning of a line.
fn delimiter(text: &[u8], boundary: &[u8]) -> Option<Delimiter> {
    let mut line = 0;
    loop {
        if let Some(tail) = after(text, line).strip_prefix(b"--").and_then(|t| t.strip_prefix(boundary)) {
            let last = tail.starts_with(b"--");
            let padding = trim(
                &tail[usize::from(last) * 2
                    ..memchr::memchr(b'\n', tail).unwrap_or(tail.len()).max(usize::from(last) * 2)],
            );
            if padding.is_empty() || last {
                let next = memchr::memchr(b'\n', tail).map_or(text.len(), |n| text.len() - tail.len() + n + 1);
                return Some(Delimiter { start: before_break(text, line), next, last });
            }
        }
        line += memchr::memchr(b'\n', text.get(line..)?)? + 1;
    }
}

/// Where the line break that ends before `line` begins: it belongs to the boundary (RFC 2046 section 5.1.1).
fn before_break(text: &[u8], line: usize) -> usize {
    match &text[..line] {
        [head @ .., b'\r', b'\n'] | [head @ .., b'\n'] => head.len(),
        head => head.len(),
    }
}

fn split_part(part: &[u8]) -> Part<'_> {
    if let Some(body) = part.strip_prefix(b"\r\n").or_else(|| part.strip_prefix(b"\n")) {
        return Part { headers: &[], body };
    }
    let mut at = 0;
    while let Some(n) = memchr::memchr(b'\n', after(part, at)) {
        at += n + 1;
        let rest = after(part, at);
        if let Some(body) = rest.strip_prefix(b"\r\n").or_else(|| rest.strip_prefix(b"\n")) {
            return Part { headers: &part[..at], body };
        }
    }
    Part { headers: part, body: &[] }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &[u8] = b"preamble\r\n--b1\r\nContent-Type: text/plain\r\n\r\nHello\r\n--b1\r\n\r\nno header\r\n\
        --b1 \r\ncontent-type: multipart/mixed;boundary=in\r\n\r\n--in\r\nContent-Type: application/sdp\r\n\r\nv=0\r\n\r\n--in--\r\n--b1--\r\ntail";

    #[test]
    fn finds_parts_and_nested_ones() {
        let list: Vec<_> = parts(BODY, b"b1").collect();
        assert_eq!(list.len(), 3);
        assert_eq!((list[0].body, list[1].body), (&b"Hello"[..], &b"no header"[..]));
        let outer = ContentType::parse(b"multipart/mixed;boundary=b1");
        assert_eq!(find(BODY, outer, "application", "sdp"), Some(&b"v=0\r\n"[..]));
        assert_eq!(find(BODY, outer, "application", "isup"), None);
    }

    #[test]
    fn a_body_without_its_end_gives_what_there_is() {
        let cut: Vec<_> = parts(b"--x\nContent-Type: application/sdp\n\nv=0\ns=", b"x").collect();
        assert_eq!(cut[0].body, b"v=0\ns=");
        assert_eq!(parts(b"nothing here", b"x").count(), 0);
    }
}
