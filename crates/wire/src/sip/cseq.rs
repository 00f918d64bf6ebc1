//! CSeq and RAck: a sequence number with a method.

use super::Method;
use super::grammar::{Number, is_space, number, take_number, take_token, trim, trim_start};
use crate::swar;

/// CSeq (RFC 3261 section 20.16).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CSeq<'a> {
    /// The sequence number; `u32::MAX` if what was written is larger.
    pub number: u32,
    /// The method.
    pub method: Method,
    /// The method's name as written.
    pub name: &'a [u8],
}

impl<'a> CSeq<'a> {
    /// Reads `number LWS method`; what follows is passed over. None if there is no number.
    pub fn parse(value: &'a [u8]) -> Option<CSeq<'a>> {
        CSeq::parse_noting(value).map(|(cseq, _)| cseq)
    }

    /// The same, with whether the number was too large for 32 bits.
    pub(super) fn parse_noting(value: &'a [u8]) -> Option<(CSeq<'a>, bool)> {
        match CSeq::usual(value) {
            Some(cseq) => Some((cseq, false)),
            None => CSeq::any(value),
        }
    }

    /// `number SP method` with a known method: nearly every one. None tells nothing.
    #[inline]
    fn usual(value: &'a [u8]) -> Option<CSeq<'a>> {
        let (digits, rest) = value.split_at_checked(swar::find_soon(value, b' ')?)?;
        let name = rest.get(1..)?;
        let method = Method::from_name(name);
        let number = number(digits).value().filter(|_| method != Method::Other)?;
        Some(CSeq { number, method, name })
    }

    fn any(value: &'a [u8]) -> Option<(CSeq<'a>, bool)> {
        let (number, rest) = take_number(trim_start(value));
        let number_or_max = match number {
            Number::Value(n) => n,
            Number::TooLarge => u32::MAX,
            Number::Invalid => return None,
        };
        let (name, _) = take_token(trim_start(rest));
        let cseq = CSeq { number: number_or_max, method: Method::from_name(name), name };
        Some((cseq, number == Number::TooLarge))
    }

    /// Whether the whole value is `number LWS method` and nothing else.
    pub(super) fn is_well_formed(value: &[u8]) -> bool {
        let (number, rest) = take_number(trim(value));
        let spaced = rest.first().is_some_and(|&o| is_space(o));
        let (name, tail) = take_token(trim_start(rest));
        number != Number::Invalid && spaced && !name.is_empty() && tail.is_empty()
    }
}

/// RAck (RFC 3262 section 7.2): which provisional response a PRACK acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RAck<'a> {
    /// RSeq of the response.
    pub response_number: u32,
    /// CSeq of the response.
    pub cseq: CSeq<'a>,
}

impl<'a> RAck<'a> {
    /// Reads `response-num LWS CSeq-num LWS method`.
    pub fn parse(value: &'a [u8]) -> Option<RAck<'a>> {
        let (number, rest) = take_number(trim_start(value));
        Some(RAck { response_number: number.value()?, cseq: CSeq::parse(rest)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_folded_and_padded_numbers() {
        let cseq = CSeq::parse(b"0009\r\n  INVITE").unwrap();
        assert_eq!((cseq.number, cseq.method), (9, Method::Invite));
        assert_eq!(CSeq::parse(b"36893488147419103232 REGISTER").unwrap().number, u32::MAX);
        assert_eq!(CSeq::parse(b"8 NEWMETHOD").unwrap().name, b"NEWMETHOD");
        assert_eq!(CSeq::parse(b"INVITE"), None);
        for value in [&b"1 INVITE"[..], b"4294967295 PRACK", b"007 BYE"] {
            assert_eq!(CSeq::usual(value).map(|c| (c, false)), CSeq::any(value));
        }
        for value in [&b"1  INVITE"[..], b"4294967296 BYE", b"1 INVITE ", b" 1 BYE", b"1 NEW", b"BYE", b"x BYE"] {
            assert_eq!(CSeq::usual(value), None);
        }
        assert!(CSeq::is_well_formed(b"8 INVITE") && !CSeq::is_well_formed(b"8INVITE") && !CSeq::is_well_formed(b"8"));
    }

    #[test]
    fn reads_rack() {
        let rack = RAck::parse(b"776656 1 INVITE").unwrap();
        assert_eq!((rack.response_number, rack.cseq.number, rack.cseq.method), (776656, 1, Method::Invite));
    }
}
