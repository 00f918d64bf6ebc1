//! Content-Type (RFC 3261 section 20.15).

use super::grammar::{Params, split, trim};

/// A media type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentType<'a> {
    /// `application`, `multipart`, ..., as written.
    pub kind: &'a [u8],
    /// `sdp`, `mixed`, ..., as written.
    pub subtype: &'a [u8],
    /// Parameters.
    pub params: Params<'a>,
}

impl<'a> ContentType<'a> {
    /// Splits a value.
    pub fn parse(value: &'a [u8]) -> ContentType<'a> {
        let (name, params) = split(value, memchr::memchr(b';', value).unwrap_or(value.len()));
        let (kind, subtype) = match memchr::memchr(b'/', name) {
            Some(n) => (&name[..n], &name[n + 1..]),
            None => (name, &b""[..]),
        };
        ContentType { kind: trim(kind), subtype: trim(subtype), params: Params::new(params) }
    }

    /// Whether it is `kind/subtype`; case does not matter.
    pub fn is(&self, kind: &str, subtype: &str) -> bool {
        self.kind.eq_ignore_ascii_case(kind.as_bytes()) && self.subtype.eq_ignore_ascii_case(subtype.as_bytes())
    }

    /// Whether the body has parts.
    pub fn is_multipart(&self) -> bool {
        self.kind.eq_ignore_ascii_case(b"multipart")
    }

    /// The boundary between parts.
    pub fn boundary(&self) -> Option<&'a [u8]> {
        self.params.get("boundary").map(|p| p.text()).filter(|b| !b.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_type_and_boundary() {
        let t = ContentType::parse(b"Multipart/Mixed; boundary=\"a;b\"");
        assert!(t.is("multipart", "mixed") && t.is_multipart());
        assert_eq!(t.boundary(), Some(&b"a;b"[..]));
        assert!(ContentType::parse(b"application / sdp").is("application", "sdp"));
    }
}
