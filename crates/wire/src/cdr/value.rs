//! Values in records: digits, times, addresses, lists.

use super::ber::{Backward, BerError, CONTEXT, Element, Elements, UNIVERSAL, universal};
use crate::calendar::{DAY_SECONDS, date, days};
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Digits of an IMSI, IMEISV or number: TBCD, two in an octet, the first one in the lower half (TS 29.002).
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Digits {
    octets: [u8; Digits::OCTETS_MAX],
    len: u8,
}

impl Digits {
    const OCTETS_MAX: usize = 10;
    /// Digits of the longest one.
    pub const DIGITS_MAX: usize = 2 * Digits::OCTETS_MAX;

    /// Of a text of digits; none if something else is in it, or too many.
    pub fn new(text: &str) -> Option<Digits> {
        if text.len() > Digits::DIGITS_MAX || !text.bytes().all(|c| c.is_ascii_digit()) {
            return None;
        }
        // The last half of an odd number of digits is filled.
        let mut digits = Digits { octets: [0xff; Digits::OCTETS_MAX], len: text.len() as u8 };
        for (n, digit) in text.bytes().map(|c| c - b'0').enumerate() {
            let octet = &mut digits.octets[n / 2];
            *octet = if n % 2 == 0 { 0xf0 | digit } else { digit << 4 | *octet & 0x0f };
        }
        Some(digits)
    }

    /// Of octets; none if there are too many, or what is no digit stands before the end.
    pub fn from_octets(octets: &[u8]) -> Option<Digits> {
        let mut text = [0u8; Digits::DIGITS_MAX];
        let mut len = 0;
        let halves = octets.iter().flat_map(|octet| [octet & 0x0f, octet >> 4]);
        for (n, half) in halves.enumerate() {
            if half < 10 {
                *text.get_mut(n).filter(|_| n == len)? = b'0' + half;
                len = n + 1;
            } else if half != 15 {
                return None;
            }
        }
        Digits::new(core::str::from_utf8(&text[..len]).ok()?)
    }

    /// The octets.
    pub fn octets(&self) -> &[u8] {
        &self.octets[..usize::from(self.len).div_ceil(2)]
    }
}

impl fmt::Display for Digits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let halves = self.octets.iter().flat_map(|octet| [octet & 0x0f, octet >> 4]);
        halves.take(self.len.into()).try_for_each(|digit| write!(f, "{digit}"))
    }
}

impl fmt::Debug for Digits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A TimeStamp (TS 32.298 clause 5.1): local time to the second and its distance from UTC, in nine octets. Years are
/// those of 2000 to 2099.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RecordTime {
    /// Seconds since 1970, UTC.
    pub unix_seconds: i64,
    /// Minutes that local time is ahead of UTC.
    pub offset_minutes: i16,
}

impl RecordTime {
    /// At UTC.
    pub const fn utc(unix_seconds: i64) -> RecordTime {
        RecordTime { unix_seconds, offset_minutes: 0 }
    }

    /// Year, month, day, and seconds since midnight, local.
    pub(super) fn local(&self) -> ((i64, i64, i64), i64) {
        let local = self.unix_seconds + 60 * i64::from(self.offset_minutes);
        (date(local.div_euclid(DAY_SECONDS)), local.rem_euclid(DAY_SECONDS))
    }

    /// YYMMDDhhmmss in binary coded decimals, `+` or `-`, hhmm.
    pub fn octets(&self) -> [u8; 9] {
        let ((year, month, day), second) = self.local();
        let decimal = |number: i64| (16 * (number / 10 % 10) + number % 10) as u8;
        let ahead = i64::from(self.offset_minutes.unsigned_abs());
        [
            decimal(year.rem_euclid(100)),
            decimal(month),
            decimal(day),
            decimal(second / 3600),
            decimal(second / 60 % 60),
            decimal(second % 60),
            if self.offset_minutes < 0 { b'-' } else { b'+' },
            decimal(ahead / 60),
            decimal(ahead % 60),
        ]
    }

    /// Of the nine octets; none if they are no time.
    pub fn from_octets(octets: [u8; 9]) -> Option<RecordTime> {
        let decimal = |at: usize, below: i64| {
            let (tens, ones) = (i64::from(octets[at] >> 4), i64::from(octets[at] & 0x0f));
            Some(10 * tens + ones).filter(|number| tens < 10 && ones < 10 && *number < below)
        };
        let day = days(2000 + decimal(0, 100)?, decimal(1, 13)?, decimal(2, 32)?)?;
        let second = 3600 * decimal(3, 24)? + 60 * decimal(4, 60)? + decimal(5, 60)?;
        let ahead = 60 * decimal(7, 24)? + decimal(8, 60)?;
        let offset = match octets[6] {
            b'+' => ahead,
            b'-' => -ahead,
            _ => return None,
        };
        Some(RecordTime { unix_seconds: DAY_SECONDS * day + second - 60 * offset, offset_minutes: offset as i16 })
    }
}

/// `2026-11-23T02:20:00+01:00`.
impl fmt::Display for RecordTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ((year, month, day), second) = self.local();
        write!(f, "{year:04}-{month:02}-{day:02}T")?;
        write!(f, "{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60)?;
        let (sign, ahead) = (if self.offset_minutes < 0 { '-' } else { '+' }, self.offset_minutes.unsigned_abs());
        write!(f, "{sign}{:02}:{:02}", ahead / 60, ahead % 60)
    }
}

/// A value that an element holds, and that is written as one.
pub trait Value<'a>: Copy + PartialEq + fmt::Debug {
    /// Reads one in a list.
    ///
    /// # Errors
    /// The element has not its form.
    fn read(element: &Element<'a>) -> Result<Self, BerError>;

    /// Writes it as one in a list.
    fn write(&self, out: &mut Backward<'_>);
}

/// An IPAddress, which is a choice: IPv4 and IPv6 in octets or in text, IPv6 with a prefix length, which is left out.
impl<'a> Value<'a> for IpAddr {
    fn read(element: &Element<'a>) -> Result<Self, BerError> {
        let wrong = BerError::Value(element.tag);
        Ok(match element.context() {
            Some(0) => Ipv4Addr::from(element.array::<4>()?).into(),
            Some(1) => Ipv6Addr::from(element.array::<16>()?).into(),
            Some(2 | 3) => element.text()?.parse().map_err(|_| wrong)?,
            Some(4) => Ipv6Addr::from(element.elements().next().ok_or(wrong)??.array::<16>()?).into(),
            _ => return Err(wrong),
        })
    }

    fn write(&self, out: &mut Backward<'_>) {
        match self {
            IpAddr::V4(ip) => out.octets(CONTEXT, 0, &ip.octets()),
            IpAddr::V6(ip) => out.octets(CONTEXT, 1, &ip.octets()),
        }
    }
}

/// A number of an enumeration.
impl<'a> Value<'a> for u8 {
    fn read(element: &Element<'a>) -> Result<Self, BerError> {
        element.number()
    }

    fn write(&self, out: &mut Backward<'_>) {
        out.unsigned(UNIVERSAL, universal::ENUMERATED, (*self).into());
    }
}

/// The elements of a list: those of a record, read again as they are asked for, or a slice that is to be written. They
/// are equal if their values are.
#[derive(Clone, Copy)]
pub enum List<'a, T> {
    /// From a record. All have been read once, so that reading them again does not fail.
    Read(&'a [u8]),
    /// To be written.
    Values(&'a [T]),
}

impl<'a, T: Value<'a>> List<'a, T> {
    /// Of the contents of an element.
    pub(super) fn read(element: &Element<'a>) -> Result<Self, BerError> {
        element.elements().try_for_each(|element| T::read(&element?).map(|_| ()))?;
        Ok(List::Read(element.value))
    }

    /// The values.
    pub fn iter(&self) -> ListValues<'a, T> {
        match *self {
            List::Read(octets) => ListValues::Read(Elements::new(octets)),
            List::Values(values) => ListValues::Values(values.iter()),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// Writes it as one element. What was read is written as it came.
    pub(super) fn write(&self, tag: u8, out: &mut Backward<'_>) {
        let end = out.end();
        match self {
            List::Read(octets) => out.raw(octets),
            List::Values(values) => values.iter().rev().for_each(|value| value.write(out)),
        }
        out.wrap(CONTEXT, tag, end);
    }
}

impl<T> Default for List<'_, T> {
    fn default() -> Self {
        List::Values(&[])
    }
}

impl<'a, T: Value<'a>> PartialEq for List<'a, T> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<'a, T: Value<'a>> fmt::Debug for List<'a, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// The values of a [`List`].
#[derive(Clone, Debug)]
pub enum ListValues<'a, T> {
    /// From a record.
    Read(Elements<'a>),
    /// From a slice.
    Values(core::slice::Iter<'a, T>),
}

impl<'a, T: Value<'a>> Iterator for ListValues<'a, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        match self {
            ListValues::Read(elements) => T::read(&elements.next()?.ok()?).ok(),
            ListValues::Values(values) => values.next().copied(),
        }
    }
}
