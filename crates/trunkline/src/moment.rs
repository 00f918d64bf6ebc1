//! Points in time as people write them: in their own zone, unless they name another.

use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, Zoned};
use trunkline_store::time::{parse_back, parse_span_in};

/// The first nanosecond of what is named, and the first after it: `2026-11-20` is a day, `2026-11-20T10:00` a minute.
/// Without an offset it is a time of `zone`. `03:10` is the last time that the clock showed it, `yesterday` and `today`
/// are days, `-2h` and `now` moments.
///
/// # Errors
/// A text that says what is accepted.
pub fn span(text: &str, zone: &TimeZone) -> Result<(i64, i64), String> {
    span_at(text, &Timestamp::now().to_zoned(zone.clone()))
}

/// The same at a time of a zone.
///
/// # Errors
/// A text that says what is accepted.
pub fn span_at(text: &str, now: &Zoned) -> Result<(i64, i64), String> {
    let text = text.trim();
    let read = parse_span_in(text, &|clock_ns| of_clock(clock_ns, now.time_zone()));
    read.or_else(|| from_now(text, now)).ok_or_else(|| {
        format!(
            "'{text}' is not a time: write 2026-11-20, 2026-11-20T10:00, 2026-11-20T10:00:05.25 or one with Z or +01:00; \
             03:10, yesterday, today, now or -2h"
        )
    })
}

/// What is told by the clock of now.
fn from_now(text: &str, now: &Zoned) -> Option<(i64, i64)> {
    let now_ns = i64::try_from(now.timestamp().as_nanosecond()).ok()?;
    let day = |back: i64| now.date().checked_sub(back.days()).ok();
    let of_date = |date: jiff::civil::Date, clock: &str| {
        parse_span_in(&format!("{date}{clock}"), &|clock_ns| of_clock(clock_ns, now.time_zone()))
    };
    match text.to_ascii_lowercase().as_str() {
        "now" => return Some((now_ns, now_ns)),
        "today" => return of_date(day(0)?, ""),
        "yesterday" => return of_date(day(1)?, ""),
        _ => {}
    }
    if let Some(back_ns) = parse_back(text) {
        let at = now_ns.checked_sub(back_ns)?;
        return Some((at, at));
    }
    let clock = format!("T{text}");
    let today = of_date(day(0)?, &clock)?;
    if today.0 <= now_ns { Some(today) } else { of_date(day(1)?, &clock) }
}

/// The time at which a clock of that zone shows `clock_ns`; the first one where it shows it twice.
pub fn of_clock(clock_ns: i64, zone: &TimeZone) -> Option<i64> {
    let civil = TimeZone::UTC.to_datetime(Timestamp::from_nanosecond(i128::from(clock_ns)).ok()?);
    let zoned = civil.to_zoned(zone.clone()).ok()?;
    i64::try_from(zoned.timestamp().as_nanosecond()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::tz::offset;
    use trunkline_store::time::parse_span;

    #[test]
    fn a_time_without_an_offset_is_local() {
        let zone = TimeZone::fixed(offset(2));
        let utc = parse_span("2026-11-20T08:00Z").unwrap();
        assert_eq!(span("2026-11-20T10:00", &zone), Ok(utc));
        assert_eq!(span("2026-11-20T08:00Z", &zone), Ok(utc));
        assert_eq!(span("2026-11-20T09:00+01:00", &zone), Ok(utc));
        let (first, after) = span("2026-11-20", &zone).unwrap();
        assert_eq!((first, after - first), (utc.0 - 10 * 3_600_000_000_000, 86_400_000_000_000));
        assert!(span("last week", &zone).unwrap_err().contains("2026-11-20T10:00"));
    }

    #[test]
    fn what_people_type_first_is_understood() {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        let at = |text: &str| parse_span(text).unwrap().0;
        // 07:30 in Berlin, the day after clocks were put back.
        let now = Timestamp::from_nanosecond(i128::from(at("2026-10-26T06:30Z"))).unwrap().to_zoned(zone);
        let span = |text: &str| span_at(text, &now).map_err(|_| text.to_owned());
        let (hour, minute) = (3_600_000_000_000, 60_000_000_000);
        for (text, first, after) in [
            ("03:10", "2026-10-26T02:10Z", "2026-10-26T02:11Z"),
            ("07:30", "2026-10-26T06:30Z", "2026-10-26T06:31Z"),
            ("07:31", "2026-10-25T06:31Z", "2026-10-25T06:32Z"),
            ("03:10:05", "2026-10-26T02:10:05Z", "2026-10-26T02:10:06Z"),
            ("today", "2026-10-25T23:00Z", "2026-10-26T23:00Z"),
            ("Yesterday", "2026-10-24T22:00Z", "2026-10-25T23:00Z"),
            ("2026-11-03", "2026-11-02T23:00Z", "2026-11-03T23:00Z"),
            ("now", "2026-10-26T06:30Z", "2026-10-26T06:30Z"),
            (" -2h ", "2026-10-26T04:30Z", "2026-10-26T04:30Z"),
            ("now-90m", "2026-10-26T05:00Z", "2026-10-26T05:00Z"),
            ("-1d", "2026-10-25T06:30Z", "2026-10-25T06:30Z"),
            ("2h ago", "2026-10-26T04:30Z", "2026-10-26T04:30Z"),
        ] {
            assert_eq!(span(text), Ok((at(first), at(after))), "{text}");
        }
        assert_eq!(span("yesterday").map(|(first, after)| after - first), Ok(25 * hour));
        assert_eq!(span("03:10").map(|(first, after)| after - first), Ok(minute));
        for wrong in
            ["", "-", "2h", "-2x", "--2h", "25:00", "3:10", "-999999999999w", "tomorrow", "10", "now-", "T03:10"]
        {
            assert_eq!(span(wrong), Err(wrong.to_owned()));
        }
    }
}
