//! Numbers as people read them, each with its unit.

/// Prefixes from a thousand on, and from a thousandth on.
const LARGE: [&str; 6] = ["k", "M", "G", "T", "P", "E"];
const SMALL: [&str; 3] = ["m", "\u{b5}", "n"];
/// What a number that is not known is.
pub const UNKNOWN: &str = "unknown";

/// Three digits or four, a prefix, and the unit: `1.23 Gbit/s`. Of base 1024 prefixes are `Ki`, `Mi`.
pub fn scaled(value: Option<f64>, unit: &str, base: u32) -> String {
    let Some(value) = value.filter(|value| value.is_finite()) else { return UNKNOWN.to_owned() };
    let thousand = if base == 1024 { 1024.0 } else { 1000.0 };
    let (mut number, mut prefix) = (value, String::new());
    if !matches!(unit.trim(), "%" | "percent") {
        // 999.95 is written 1000: it has the next prefix.
        for large in LARGE {
            if number.abs() < thousand - 0.05 {
                break;
            }
            number /= thousand;
            prefix = if base == 1024 { format!("{}i", large.to_uppercase()) } else { large.to_owned() };
        }
        if prefix.is_empty() && number != 0.0 {
            for small in SMALL {
                if number.abs() >= 0.0995 {
                    break;
                }
                number *= 1000.0;
                prefix = small.to_owned();
            }
        }
    }
    let digits = match number.abs() {
        number if number >= 99.95 => 1,
        number if number >= 9.995 => 2,
        _ => 3,
    };
    let text = format!("{number:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    let text = if text == "-0" { "0" } else { text };
    format!("{text} {prefix}{}", unit.trim()).trim_end().to_owned()
}

/// The sum of a series over time: of bits or octets a second, octets; else units times seconds.
pub fn total(value: Option<f64>, unit: &str) -> String {
    match unit.trim() {
        "bit/s" | "bits/s" | "bps" => scaled(value.map(|bits| bits / 8.0), "B", 1000),
        "B/s" | "octets/s" | "bytes/s" => scaled(value, "B", 1000),
        "s" => scaled(value, "s\u{b2}", 1000),
        other => match other.strip_suffix("/s") {
            Some(what) => scaled(value, what, 1000),
            None => scaled(value, &format!("{other} s"), 1000),
        },
    }
}

/// `12,345`.
pub fn whole(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `-12,345`.
pub fn signed(number: i64) -> String {
    format!("{}{}", if number < 0 { "-" } else { "" }, whole(number.unsigned_abs()))
}

/// `98.7 %`. What is not quite all, or not quite nothing, is not written as that.
pub fn percent(value: Option<f64>) -> String {
    let Some(value) = value.filter(|value| value.is_finite()) else { return UNKNOWN.to_owned() };
    let rounded = format!("{value:.2}");
    match rounded.as_str() {
        "100.00" if value < 100.0 => "> 99.99 %".to_owned(),
        "0.00" if value > 0.0 => "< 0.01 %".to_owned(),
        text => format!("{} %", text.trim_end_matches('0').trim_end_matches('.')),
    }
}

/// `45 s`, `12 min 05 s`, `3 h 07 min`, `2 d 04 h`.
pub fn duration(seconds: i64) -> String {
    match seconds.max(0) {
        s if s < 60 => format!("{s} s"),
        s if s < 3600 => format!("{} min {:02} s", s / 60, s % 60),
        s if s < 86_400 => format!("{} h {:02} min", s / 3600, s % 3600 / 60),
        s => format!("{} d {:02} h", s / 86_400, s % 86_400 / 3600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_units() {
        for (value, unit, base, text) in [
            (1_234_567_890.0, "bit/s", 1000, "1.235 Gbit/s"),
            (999.96, "B", 1000, "1 kB"),
            (0.0, "bit/s", 1000, "0 bit/s"),
            (-0.0, "bit/s", 1000, "0 bit/s"),
            (-1500.0, "W", 1000, "-1.5 kW"),
            (0.012, "s", 1000, "12 ms"),
            (0.25, "s", 1000, "0.25 s"),
            (2_097_152.0, "B", 1024, "2 MiB"),
            (150.0, "%", 1000, "150 %"),
            (42.0, "", 1000, "42"),
        ] {
            assert_eq!(scaled(Some(value), unit, base), text);
        }
        assert_eq!(scaled(Some(f64::NAN), "B", 1000), "unknown");
        assert_eq!(total(Some(8e9), "bit/s"), "1 GB");
        assert_eq!(total(Some(3600.0), "packets/s"), "3.6 kpackets");
        assert_eq!([whole(0), whole(999), whole(1000), whole(1_234_567)], ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(signed(-1000), "-1,000");
        let shares = [100.0, 99.999, 99.98, 0.001, 0.0].map(|share| percent(Some(share)));
        assert_eq!(shares, ["100 %", "> 99.99 %", "99.98 %", "< 0.01 %", "0 %"]);
        let times = [59, 61, 3600, 90_000].map(duration);
        assert_eq!(times, ["59 s", "1 min 01 s", "1 h 00 min", "1 d 01 h"]);
    }
}
