//! Days and times: nanoseconds since 1970 inside, RFC 3339 outside. All UTC; leap seconds as POSIX has them.

use core::fmt;
use core::str::FromStr;
use trunkline_kit::date;

/// Nanoseconds of a second.
pub const SECOND_NS: i64 = 1_000_000_000;
/// Nanoseconds of a minute.
pub const MINUTE_NS: i64 = 60 * SECOND_NS;
/// Nanoseconds of a day.
pub const DAY_NS: i64 = 86_400 * SECOND_NS;

/// A UTC day, counted from 1970-01-01: what one partition of the store holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Day(i32);

impl Day {
    /// The day in which `at_ns` lies.
    pub fn of(at_ns: i64) -> Self {
        Day(at_ns.div_euclid(DAY_NS) as i32)
    }

    /// Its first nanosecond; saturates at the ends of what 64 bits can tell (years 1677 and 2262).
    pub fn start_ns(self) -> i64 {
        i64::from(self.0).saturating_mul(DAY_NS)
    }

    /// The first nanosecond of the next day.
    pub fn end_ns(self) -> i64 {
        self.start_ns().saturating_add(DAY_NS)
    }

    /// Days since 1970-01-01.
    pub fn number(self) -> i32 {
        self.0
    }
}

/// `2026-11-20`.
impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (y, m, d) = date::of_days(i64::from(self.0));
        write!(f, "{y:04}-{m:02}-{d:02}")
    }
}

/// The text was not a day as `2026-11-20`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a day: expected YYYY-MM-DD")]
pub struct NotADay;

impl FromStr for Day {
    type Err = NotADay;
    fn from_str(text: &str) -> Result<Self, NotADay> {
        let span = parse_span(text).ok_or(NotADay)?;
        if text.len() == 10 { Ok(Day::of(span.0)) } else { Err(NotADay) }
    }
}

/// Appends `at_ns` as RFC 3339 with microseconds (cut, not rounded) and `Z`: `2026-01-02T03:04:05.678901Z`.
pub fn push_rfc3339(out: &mut String, at_ns: i64) {
    let (year, month, day) = date::of_days(at_ns.div_euclid(DAY_NS));
    let us = (at_ns.rem_euclid(DAY_NS) / 1000) as u64;
    let (s, us) = (us / 1_000_000, us % 1_000_000);
    let year = year.clamp(0, 9999) as u64;
    for (value, width, after) in [
        (year, 4, "-"),
        (u64::from(month), 2, "-"),
        (u64::from(day), 2, "T"),
        (s / 3600, 2, ":"),
        (s / 60 % 60, 2, ":"),
        (s % 60, 2, "."),
        (us, 6, "Z"),
    ] {
        push_digits(out, value, width);
        out.push_str(after);
    }
}

/// `at_ns` as [`push_rfc3339`] writes it.
pub fn rfc3339(at_ns: i64) -> String {
    let mut out = String::with_capacity(27);
    push_rfc3339(&mut out, at_ns);
    out
}

fn push_digits(out: &mut String, value: u64, width: u32) {
    for place in (0..width).rev() {
        out.push(char::from(b'0' + (value / 10u64.pow(place) % 10) as u8));
    }
}

/// Days since 1970-01-01 of a date that exists.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    let (month, day) = (u32::try_from(month).ok()?, u32::try_from(day).ok()?);
    let number = date::days_of(year, month, day);
    (date::of_days(number) == (year, month, day)).then_some(number)
}

/// Reads `2026-11-20`, `2026-11-20T10:00`, `2026-11-20T10:00:05.25Z`, `...+01:00`: the first nanosecond of the span
/// that is named and the first after it (a day, a minute, a second, a part of one). Without an offset it is UTC.
pub fn parse_span(text: &str) -> Option<(i64, i64)> {
    parse_span_in(text, &|utc_ns| Some(utc_ns))
}

/// What makes of a reading of a local clock, as nanoseconds since 1970 as if it were UTC, the time that it is; none
/// where no such time can be told.
pub type Zone<'z> = &'z dyn Fn(i64) -> Option<i64>;

/// As [`parse_span`]; without an offset it is a time of `zone`.
pub fn parse_span_in(text: &str, zone: Zone<'_>) -> Option<(i64, i64)> {
    let (first, after, is_local) = span(text)?;
    if is_local { Some((zone(first)?, zone(after)?)) } else { Some((first, after)) }
}

/// The first nanosecond of what is named, the first after it, and whether no offset was given.
fn span(text: &str) -> Option<(i64, i64, bool)> {
    let (date, rest) = match text.find(['T', 't', ' ', '_']) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, ""),
    };
    let [y, m, d] = numbers::<3>(date, '-', &[4, 2, 2])?;
    let day = days(y, m, d)?.checked_mul(DAY_NS)?;
    if rest.is_empty() {
        return (date.len() == text.len()).then_some((day, day.checked_add(DAY_NS)?, true));
    }
    let (clock, offset) = split_offset(rest)?;
    let (clock, fraction) = clock.split_once('.').map_or((clock, None), |(c, f)| (c, Some(f)));
    let ([hour, minute, second], unit) = if clock.len() > 5 {
        (numbers::<3>(clock, ':', &[2, 2, 2])?, SECOND_NS)
    } else {
        let [h, m] = numbers::<2>(clock, ':', &[2, 2])?;
        ([h, m, 0], MINUTE_NS)
    };
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let clock_ns = (hour * 3600 + minute * 60 + second) * SECOND_NS;
    let whole = day.checked_add(clock_ns)?.checked_sub(offset.unwrap_or(0))?;
    let (part, unit) = match fraction {
        None => (0, unit),
        Some(_) if unit != SECOND_NS => return None,
        Some(digits) => self::fraction(digits)?,
    };
    let at = whole.checked_add(part)?;
    Some((at, at.checked_add(unit)?, offset.is_none()))
}

/// Nanoseconds of the digits behind the point, and what the last of them stands for.
fn fraction(digits: &str) -> Option<(i64, i64)> {
    if digits.is_empty() || digits.len() > 9 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let unit = 10i64.pow(9 - digits.len() as u32);
    Some((digits.parse::<i64>().ok()? * unit, unit))
}

/// Cuts `Z` or `+01:00` off; the offset comes in nanoseconds, none if there is none.
fn split_offset(text: &str) -> Option<(&str, Option<i64>)> {
    if let Some(clock) = text.strip_suffix(['Z', 'z']) {
        return Some((clock, Some(0)));
    }
    let Some(at) = text.rfind(['+', '-']) else { return Some((text, None)) };
    let sign = if text[at..].starts_with('-') { -1 } else { 1 };
    let [h, m] = numbers::<2>(&text[at + 1..], ':', &[2, 2])?;
    (h < 24 && m < 60).then_some((&text[..at], Some(sign * (h * 3600 + m * 60) * SECOND_NS)))
}

/// Reads how long ago something was, nanoseconds: `-2h`, `now-15m`, `2h ago`; s, m, h, d and w are understood.
pub fn parse_back(text: &str) -> Option<i64> {
    let minus = text.strip_prefix("now").unwrap_or(text).strip_prefix('-');
    let amount = minus.or_else(|| text.strip_suffix("ago").map(str::trim_end))?;
    let unit_ns = match amount.chars().next_back()? {
        's' => SECOND_NS,
        'm' => MINUTE_NS,
        'h' => 3600 * SECOND_NS,
        'd' => DAY_NS,
        'w' => 7 * DAY_NS,
        _ => return None,
    };
    let digits = amount.get(..amount.len() - 1)?;
    if digits.is_empty() || digits.len() > 9 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse::<i64>().ok().map(|count| count.saturating_mul(unit_ns))
}

/// Exactly `N` numbers of these widths with `between` between them.
fn numbers<const N: usize>(text: &str, between: char, widths: &[usize; N]) -> Option<[i64; N]> {
    let mut out = [0; N];
    let mut parts = text.split(between);
    for (slot, width) in out.iter_mut().zip(widths) {
        let part = parts.next()?;
        if part.len() != *width || !part.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        *slot = part.parse().ok()?;
    }
    parts.next().is_none().then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_what_the_calendar_says() {
        // RFC 3339 section 5.8, and `date -u -d @... --iso-8601=ns`.
        assert_eq!(rfc3339(482_196_050_520_000_000), "1985-04-12T23:20:50.520000Z");
        assert_eq!(rfc3339(1_767_323_045_678_901_234), "2026-01-02T03:04:05.678901Z");
        assert_eq!(rfc3339(951_782_399_999_999_999), "2000-02-28T23:59:59.999999Z");
        assert_eq!(rfc3339(-1), "1969-12-31T23:59:59.999999Z");
        assert_eq!(Day::of(1_767_323_045_678_901_234).to_string(), "2026-01-02");
        assert_eq!("2026-01-02".parse::<Day>().unwrap().start_ns(), 1_767_312_000_000_000_000);
    }

    #[test]
    fn agrees_with_jiff_over_the_years() {
        for n in 0..2000i64 {
            let at = n * 40 * DAY_NS + n * 12_345_678_901 - 40 * 365 * DAY_NS;
            let theirs = jiff::Timestamp::from_nanosecond(i128::from(at)).unwrap();
            let ours = rfc3339(at);
            assert_eq!(ours, theirs.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string());
            assert_eq!(parse_span(&ours).unwrap().0, at.div_euclid(1000) * 1000);
        }
    }

    #[test]
    fn spans_are_as_long_as_what_is_written() {
        let (a, b) = parse_span("2026-11-20T10:00").unwrap();
        assert_eq!(b - a, MINUTE_NS);
        assert_eq!(parse_span("2026-11-20T11:00+01:00").unwrap().0, a);
        assert_eq!(parse_span("2026-11-20T10:00:00.5Z").unwrap(), (a + 500_000_000, a + 600_000_000));
        assert_eq!(parse_span("2026-11-20").map(|(a, b)| b - a), Some(DAY_NS));
        for bad in ["2026-02-30", "2026-11-20T", "2026-11-20T25:00", "26-1-1", "", "2026-11-20T10:00.5", "9999-01-01"] {
            assert_eq!(parse_span(bad), None, "{bad}");
        }
    }
}
