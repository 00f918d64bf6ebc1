//! Points in time as a query writes them: RFC 3339, `now`, `now-15m`, `-1h`, or a day.

use crate::problem::Problem;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::time::{SystemTime, UNIX_EPOCH};
use trunkline_store::time::{parse_back, parse_span_in};

/// Nanoseconds since 1970.
pub fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// The zone of a name ("Europe/London"); UTC if there is none.
///
/// # Errors
/// There is no such zone.
pub fn zone(name: Option<&str>) -> Result<TimeZone, Problem> {
    match name.filter(|name| !name.is_empty()) {
        None | Some("UTC") => Ok(TimeZone::UTC),
        Some(name) => TimeZone::get(name).map_err(|_| {
            Problem::parameter("tz", "There is no such time zone: write a name of the IANA list, as Europe/London.")
        }),
    }
}

/// Which end of a span of time a text names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Its beginning: a day begins at its first moment.
    From,
    /// Its end: a day ends with its last moment. A clock time is that moment, not the minute or second after it.
    To,
}

/// Reads a time. Without an offset it is of `zone`.
///
/// # Errors
/// The parameter `name` is wrong.
pub fn read(name: &str, text: &str, end: End, now_ns: i64, zone: &TimeZone) -> Result<i64, Problem> {
    let text = text.trim();
    if let Some(at) = relative(text, now_ns) {
        return Ok(at);
    }
    let span = parse_span_in(text, &|clock_ns| of_clock(clock_ns, zone));
    match span {
        Some((_, after)) if end == End::To && text.len() == 10 => Ok(after),
        Some((first, _)) => Ok(first),
        None => {
            Err(Problem::parameter(name, "Not a time: write 2026-11-20T10:00:00Z, 2026-11-20, now, now-15m or -1h."))
        }
    }
}

/// Reads a time if there is one.
///
/// # Errors
/// As [`read`].
pub fn maybe(name: &str, text: Option<&str>, end: End, now_ns: i64, zone: &TimeZone) -> Result<Option<i64>, Problem> {
    text.filter(|t| !t.trim().is_empty()).map(|text| read(name, text, end, now_ns, zone)).transpose()
}

/// `now`, `now-15m`, `-1h`.
fn relative(text: &str, now_ns: i64) -> Option<i64> {
    if text == "now" {
        return Some(now_ns);
    }
    let after = text.strip_prefix("now+").and_then(|amount| parse_back(&format!("-{amount}")));
    let back = text.strip_prefix("now").unwrap_or(text).strip_prefix('-').and_then(|_| parse_back(text));
    match (back, after) {
        (Some(back_ns), _) => Some(now_ns.saturating_sub(back_ns)),
        (_, after) => after.map(|after_ns| now_ns.saturating_add(after_ns)),
    }
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
    use trunkline_store::time::{DAY_NS, SECOND_NS, parse_span};

    fn at(text: &str, end: End) -> Result<i64, Problem> {
        read("from", text, end, 1_000 * DAY_NS, &TimeZone::UTC)
    }

    #[test]
    fn reads_what_people_and_programs_write() {
        let day = parse_span("2026-11-20").unwrap();
        assert_eq!(at("2026-11-20", End::From), Ok(day.0));
        assert_eq!(at("2026-11-20", End::To), Ok(day.1));
        assert_eq!(at("2026-11-20T00:00:00Z", End::To), Ok(day.0));
        assert_eq!(at("now", End::To), Ok(1_000 * DAY_NS));
        assert_eq!(at("now-15m", End::From), Ok(1_000 * DAY_NS - 900 * SECOND_NS));
        assert_eq!(at("-1h", End::From), Ok(1_000 * DAY_NS - 3600 * SECOND_NS));
        assert_eq!(at("now+1d", End::To), Ok(1_001 * DAY_NS));
        for bad in ["", "yesterday", "-", "-h", "--1h", "1h", "-999999999999h", "now-", "-1\u{e9}", "now-1"] {
            assert!(at(bad, End::From).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_clock_time_is_of_the_zone() {
        let zone = zone(Some("Europe/London")).unwrap();
        let summer = read("from", "2026-07-01T10:00", End::From, 0, &zone).unwrap();
        assert_eq!(Some(summer), parse_span("2026-07-01T09:00Z").map(|s| s.0));
        assert!(super::zone(Some("Middle/Earth")).is_err());
        assert!(super::zone(Some("../../etc/passwd")).is_err());
    }
}
