//! Points in time as people write them: in their own zone, unless they name another.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use trunkline_store::time::parse_span_in;

/// The first nanosecond of what is named, and the first after it: `2026-11-20` is a day, `2026-11-20T10:00` a minute.
/// Without an offset it is a time of `zone`.
///
/// # Errors
/// A text that says what is accepted.
pub fn span(text: &str, zone: &TimeZone) -> Result<(i64, i64), String> {
    let wrong = || {
        format!(
            "'{text}' is not a time: write 2026-11-20, 2026-11-20T10:00, 2026-11-20T10:00:05.25 or one with Z or +01:00"
        )
    };
    parse_span_in(text, &|clock_ns| of_clock(clock_ns, zone)).ok_or_else(wrong)
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
        assert!(span("yesterday", &zone).unwrap_err().contains("2026-11-20T10:00"));
    }
}
