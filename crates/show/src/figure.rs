//! Numbers and times for people: always with their unit.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use trunkline_store::row::MosRange;

/// Nanoseconds of a second.
const SECOND: i64 = 1_000_000_000;

/// `1,234,567`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// [`count`] with a sign: RFC 3550's loss may be negative.
pub fn signed(n: i64) -> String {
    if n < 0 { format!("-{}", count(n.unsigned_abs())) } else { count(n.unsigned_abs()) }
}

/// `1 call`, `1,204 calls`.
pub fn of(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { many })
}

/// A part of a whole: `0 %`, `<0.1 %`, `2.5 %`.
pub fn percent(part: u64, whole: u64) -> String {
    if whole == 0 || part == 0 {
        return "0 %".to_owned();
    }
    let percent = part as f64 * 100.0 / whole as f64;
    if percent < 0.1 { "<0.1 %".to_owned() } else { format!("{percent:.1} %") }
}

/// Octets: `812 B`, `1.2 kB`, `3.4 MB`.
pub fn octets(n: u64) -> String {
    let scaled = |unit: f64| n as f64 / unit;
    match n {
        0..1_000 => format!("{n} B"),
        1_000..1_000_000 => format!("{:.1} kB", scaled(1e3)),
        1_000_000..1_000_000_000 => format!("{:.1} MB", scaled(1e6)),
        _ => format!("{:.1} GB", scaled(1e9)),
    }
}

/// A number with the sign of its thousands and a unit: 12.3 Mbit/s.
pub fn amount(value: f64, unit: &str) -> String {
    const SIGNS: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
    let (mut size, mut at) = (value.abs(), 0);
    while size >= 999.95 && at + 1 < SIGNS.len() {
        (size, at) = (size / 1000.0, at + 1);
    }
    let digits = if size >= 100.0 || size == 0.0 {
        0
    } else if size >= 10.0 {
        1
    } else {
        2
    };
    let sign = if value < 0.0 { "-" } else { "" };
    format!("{sign}{size:.digits$} {}{unit}", SIGNS[at]).trim_end().to_owned()
}

/// Milliseconds with as many digits as matter: `0.12 ms`, `12.3 ms`, `1,234 ms`.
pub fn milliseconds(ms: f64) -> String {
    match ms.abs() {
        m if m < 10.0 => format!("{ms:.2} ms"),
        m if m < 100.0 => format!("{ms:.1} ms"),
        m if m < 1e15 => format!("{} ms", signed(ms.round() as i64)),
        _ => "n/a".to_owned(),
    }
}

/// A duration: `312 ms`, `32.0 s`, `3:12 min`, `1:02:03 h`.
pub fn duration(ns: i64) -> String {
    if ns < 0 {
        return format!("-{}", duration(ns.saturating_neg()));
    }
    let seconds = ns / SECOND;
    match seconds {
        0 => format!("{} ms", ns / 1_000_000),
        1..60 => format!("{}.{} s", seconds, ns % SECOND / 100_000_000),
        60..3600 => format!("{}:{:02} min", seconds / 60, seconds % 60),
        _ => format!("{}:{:02}:{:02} h", seconds / 3600, seconds / 60 % 60, seconds % 60),
    }
}

/// A duration to the millisecond: `312 ms`, `3.120 s`, `3:12.345 min`, `1:02:03.456 h`.
pub fn exact(ns: i64) -> String {
    if ns < 0 {
        return format!("-{}", exact(ns.saturating_neg()));
    }
    let (seconds, ms) = (ns / SECOND, ns % SECOND / 1_000_000);
    match seconds {
        0 => format!("{ms} ms"),
        1..60 => format!("{seconds}.{ms:03} s"),
        60..3600 => format!("{}:{:02}.{ms:03} min", seconds / 60, seconds % 60),
        _ => format!("{}:{:02}:{:02}.{ms:03} h", seconds / 3600, seconds / 60 % 60, seconds % 60),
    }
}

/// What passed since the line above, in at most nine columns: `+0.000`, `+32.012`, `+17 min`, `+3.5 h`.
pub fn delta(ns: i64) -> String {
    let (sign, ns) = if ns < 0 { ('-', ns.saturating_neg()) } else { ('+', ns) };
    match ns / SECOND {
        seconds @ 0..1000 => format!("{sign}{seconds}.{:03}", ns % SECOND / 1_000_000),
        seconds @ 1000..6000 => format!("{sign}{} min", seconds / 60),
        seconds @ 6000..360_000 => format!("{sign}{}.{} h", seconds / 3600, seconds % 3600 / 360),
        seconds => format!("{sign}{} d", seconds / 86_400),
    }
}

/// A score, or `n/a` where none is published.
pub fn mos(score: Option<f32>) -> String {
    score.map_or_else(|| "n/a".to_owned(), |score| format!("{score:.2}"))
}

/// The scores between which one is: `3.10-4.41`.
pub fn mos_range(range: MosRange) -> String {
    format!("{:.2}-{:.2}", range.low, range.high)
}

/// `2024-05-01`.
pub fn date(ns: i64, zone: &TimeZone) -> String {
    moment(ns, zone, "%Y-%m-%d")
}

/// `10:00:12`.
pub fn clock(ns: i64, zone: &TimeZone) -> String {
    moment(ns, zone, "%H:%M:%S")
}

/// `10:00:12.123`, cut and not rounded, so that no time lies after its packet.
pub fn clock_ms(ns: i64, zone: &TimeZone) -> String {
    moment(ns, zone, "%H:%M:%S%.3f")
}

/// `2024-05-01 10:00:12.123456 +02:00`.
pub fn full(ns: i64, zone: &TimeZone) -> String {
    moment(ns, zone, "%Y-%m-%d %H:%M:%S%.6f %:z")
}

/// `2024-05-01 10:00:12 +02:00`.
pub fn second(ns: i64, zone: &TimeZone) -> String {
    moment(ns, zone, "%Y-%m-%d %H:%M:%S %:z")
}

/// `+02:00`.
pub fn offset(ns: i64, zone: &TimeZone) -> String {
    moment(ns, zone, "%:z")
}

/// 64 bits of nanoseconds are years 1677 to 2262: all of them are times to jiff.
fn moment(ns: i64, zone: &TimeZone, format: &str) -> String {
    match Timestamp::from_nanosecond(i128::from(ns)) {
        Ok(time) => time.to_zoned(zone.clone()).strftime(format).to_string(),
        Err(_) => "no time".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_have_units() {
        assert_eq!([count(0), count(999), count(1_000), count(1_234_567)], ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(signed(-1_500), "-1,500");
        assert_eq!([percent(0, 9), percent(1, 10_000), percent(1, 40)], ["0 %", "<0.1 %", "2.5 %"]);
        assert_eq!([octets(999), octets(1_200), octets(3_400_000)], ["999 B", "1.2 kB", "3.4 MB"]);
        assert_eq!(
            [milliseconds(0.123), milliseconds(12.34), milliseconds(1234.5)],
            ["0.12 ms", "12.3 ms", "1,235 ms"]
        );
        assert_eq!(milliseconds(f64::NAN), "n/a");
    }

    #[test]
    fn durations_grow_their_unit() {
        let s = SECOND;
        assert_eq!(duration(312_000_000), "312 ms");
        assert_eq!([duration(32 * s), duration(192 * s), duration(3723 * s)], ["32.0 s", "3:12 min", "1:02:03 h"]);
        assert_eq!(
            [exact(312_900_000), exact(3_120_000_000), exact(192 * s + 1)],
            ["312 ms", "3.120 s", "3:12.000 min"]
        );
        assert_eq!([delta(312_900), delta(32_012_000_000), delta(1020 * s)], ["+0.000", "+32.012", "+17 min"]);
        assert_eq!([delta(12_600 * s), delta(i64::MIN), delta(-s)], ["+3.5 h", "-106751 d", "-1.000"]);
    }

    #[test]
    fn times_are_cut_and_carry_their_offset() {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        let ns = 1_714_557_612_123_999_999;
        assert_eq!(clock_ms(ns, &zone), "12:00:12.123");
        assert_eq!(full(ns, &zone), "2024-05-01 12:00:12.123999 +02:00");
        assert_eq!(second(i64::MIN, &TimeZone::UTC), "1677-09-21 00:12:43 +00:00");
    }
}
