//! Identifiers of calls and streams: UUIDv7 (RFC 9562 section 5.7) made from the capture alone.
//!
//! The 48-bit time is the first packet's millisecond; the 74 "random" bits are a hash of what names the thing (a
//! Call-ID, an SSRC with its addresses) and of the nanosecond. The same capture gives the same identifier on every run.

use crate::hash::{fnv1a, fnv1a_on};
use core::fmt;
use core::str::FromStr;

/// A UUIDv7.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Id([u8; 16]);

impl Id {
    /// The identifier of what began at `at_ns` (nanoseconds since 1970, UTC) and is named by `name`.
    pub fn derive(at_ns: i64, name: &[u8]) -> Self {
        let ms = (at_ns.max(0) / 1_000_000) as u64;
        let mut high = fnv1a(name);
        high = fnv1a_on(high, &at_ns.to_le_bytes());
        let (a, b) = (mix(high), mix(high ^ 0x9e37_79b9_7f4a_7c15));
        let mut o = [0u8; 16];
        o[..6].copy_from_slice(&ms.to_be_bytes()[2..]);
        o[6..8].copy_from_slice(&(a as u16).to_be_bytes());
        o[8..].copy_from_slice(&b.to_be_bytes());
        o[6] = 0x70 | (o[6] & 0x0f);
        o[8] = 0x80 | (o[8] & 0x3f);
        Id(o)
    }

    /// The sixteen octets.
    pub const fn octets(&self) -> &[u8; 16] {
        &self.0
    }

    /// From sixteen octets as [`Id::octets`] gives them.
    pub const fn from_octets(octets: [u8; 16]) -> Self {
        Id(octets)
    }

    /// The millisecond since 1970 that the identifier carries.
    pub fn unix_ms(&self) -> i64 {
        let mut t = [0u8; 8];
        t[2..].copy_from_slice(&self.0[..6]);
        i64::from_be_bytes(t)
    }
}

/// The finaliser of SplitMix64: spreads each input bit over all output bits.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0u8; 36];
        let mut at = 0;
        for (i, o) in self.0.iter().enumerate() {
            if matches!(i, 4 | 6 | 8 | 10) {
                text[at] = b'-';
                at += 1;
            }
            text[at] = b"0123456789abcdef"[usize::from(o >> 4)];
            text[at + 1] = b"0123456789abcdef"[usize::from(o & 15)];
            at += 2;
        }
        f.write_str(core::str::from_utf8(&text).unwrap_or_default())
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text was not 32 hexadecimal digits with or without hyphens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a UUID: expected 32 hexadecimal digits")]
pub struct NotAnId;

impl FromStr for Id {
    type Err = NotAnId;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut o = [0u8; 16];
        let mut n = 0;
        for c in text.chars().filter(|c| *c != '-') {
            let d = c.to_digit(16).ok_or(NotAnId)? as u8;
            let slot = o.get_mut(n / 2).ok_or(NotAnId)?;
            *slot = *slot << 4 | d;
            n += 1;
        }
        if n == 32 { Ok(Id(o)) } else { Err(NotAnId) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_a_version_7_uuid_and_stable() {
        let id = Id::derive(1_700_000_000_123_456_789, b"a84b4c76e66710@pc33.example.com");
        let text = id.to_string();
        assert_eq!(&text[14..15], "7");
        assert!(matches!(&text[19..20], "8" | "9" | "a" | "b"));
        assert_eq!(id.unix_ms(), 1_700_000_000_123);
        assert_eq!(text.parse::<Id>().unwrap(), id);
        assert_eq!(id, Id::derive(1_700_000_000_123_456_789, b"a84b4c76e66710@pc33.example.com"));
    }

    #[test]
    fn one_nanosecond_or_one_octet_makes_another() {
        let id = Id::derive(5, b"x");
        assert_ne!(id, Id::derive(6, b"x"));
        assert_ne!(id, Id::derive(5, b"y"));
    }
}
