//! Sizes, times and shares as people write them: a number and its unit.

use crate::nearest::suggestion;
use core::fmt;
use std::time::Duration;

/// A size in octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Octets(pub u64);

impl Octets {
    /// So many KiB.
    pub const fn kib(n: u64) -> Self {
        Octets(n.saturating_mul(1 << 10))
    }

    /// So many MiB.
    pub const fn mib(n: u64) -> Self {
        Octets(n.saturating_mul(1 << 20))
    }

    /// So many GiB.
    pub const fn gib(n: u64) -> Self {
        Octets(n.saturating_mul(1 << 30))
    }
}

/// The unit that gives the smallest whole number: `128 MiB`, `1 GB`, `1500 B`.
impl fmt::Display for Octets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = |unit: &&(&str, u64)| self.0 > 0 && self.0.is_multiple_of(unit.1);
        let (name, octets) = SIZES.iter().filter(whole).max_by_key(|unit| unit.1).unwrap_or(&SIZES[0]);
        write!(f, "{} {name}", self.0 / octets)
    }
}

/// A part of something: in percent, or as a size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Share {
    /// Percent, 0 to 100.
    Percent(f64),
    /// A size.
    Octets(Octets),
}

impl Share {
    /// How much that is of `whole` octets, at most all of it.
    pub fn of(self, whole: u64) -> u64 {
        match self {
            Share::Percent(percent) => ((whole as f64 * percent / 100.0) as u64).min(whole),
            Share::Octets(octets) => octets.0.min(whole),
        }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Share::Percent(percent) => write!(f, "{percent} %"),
            Share::Octets(octets) => octets.fmt(f),
        }
    }
}

const SIZES: [(&str, u64); 9] = [
    ("B", 1),
    ("kB", 1_000),
    ("KiB", 1 << 10),
    ("MB", 1_000_000),
    ("MiB", 1 << 20),
    ("GB", 1_000_000_000),
    ("GiB", 1 << 30),
    ("TB", 1_000_000_000_000),
    ("TiB", 1 << 40),
];

/// Units of time in nanoseconds; the first of each length is how it is written.
const TIMES: [(&str, u64); 18] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", SECOND_NS),
    ("second", SECOND_NS),
    ("seconds", SECOND_NS),
    ("min", 60 * SECOND_NS),
    ("minute", 60 * SECOND_NS),
    ("minutes", 60 * SECOND_NS),
    ("h", 3600 * SECOND_NS),
    ("hour", 3600 * SECOND_NS),
    ("hours", 3600 * SECOND_NS),
    ("days", 86_400 * SECOND_NS),
    ("day", 86_400 * SECOND_NS),
    ("d", 86_400 * SECOND_NS),
    ("weeks", 7 * 86_400 * SECOND_NS),
    ("week", 7 * 86_400 * SECOND_NS),
    ("w", 7 * 86_400 * SECOND_NS),
];

const SECOND_NS: u64 = 1_000_000_000;

/// Reads a size.
///
/// # Errors
/// What is wrong with it.
pub fn octets(text: &str) -> Result<u64, String> {
    let text = text.trim();
    // Who writes KB means the same as who writes kB.
    let as_written = if text.ends_with("KB") { text.replace("KB", "kB") } else { text.to_owned() };
    quantity(&as_written, &SIZES, "a size such as \"128 MiB\"")
}

/// Reads a time.
///
/// # Errors
/// What is wrong with it.
pub fn time(text: &str) -> Result<Duration, String> {
    quantity(text, &TIMES, "a time such as \"10 s\" or \"30 days\"").map(Duration::from_nanos)
}

/// Reads a share: percent, or a size.
///
/// # Errors
/// What is wrong with it.
pub fn share(text: &str) -> Result<Share, String> {
    let Some(number) = text.trim().strip_suffix('%') else { return octets(text).map(|n| Share::Octets(Octets(n))) };
    let percent = number.trim().parse::<f64>().ok().filter(|p| (0.0..=100.0).contains(p));
    percent.map(Share::Percent).ok_or_else(|| format!("\"{}\" is not a share from \"0 %\" to \"100 %\"", short(text)))
}

/// The largest unit that gives a whole number of at least one: `10 s`, `30 days`, `1500 ms`.
pub fn time_text(time: Duration) -> String {
    let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let whole = |unit: &&(&str, u64)| ns >= unit.1 && ns % unit.1 == 0 && !unit.0.starts_with('w');
    // Of the names of one length the first is written: the last maximum would be another.
    let (name, length) = TIMES.iter().rev().filter(whole).max_by_key(|unit| unit.1).unwrap_or(&("s", SECOND_NS));
    match ns / length {
        1 if *name == "days" => "1 day".to_owned(),
        n => format!("{n} {name}"),
    }
}

/// A text cut to what a message may hold.
pub fn short(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((at, _)) => format!("{}...", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// A number, perhaps with a fraction, and one of the units.
fn quantity(text: &str, units: &[(&str, u64)], kind: &str) -> Result<u64, String> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let (number, unit) = (number.replace('_', ""), unit.trim());
    let wrong = || format!("expected {kind}, not \"{}\"", short(text));
    if number.is_empty() {
        return Err(wrong());
    }
    if unit.is_empty() && number.bytes().any(|digit| digit != b'0') {
        return Err(format!("\"{}\" has no unit: {kind}", short(text)));
    }
    let names = units.iter().map(|unit| unit.0);
    let unknown = || format!("unknown unit '{}' in \"{}\"{}", short(unit), short(text), suggestion(unit, names));
    let factor = units.iter().find(|(name, _)| *name == unit || unit.is_empty()).ok_or_else(unknown)?.1;
    scaled(&number, factor).ok_or_else(wrong)
}

/// Whole numbers exactly, others to the nearest; none if it does not fit 63 bits (what TOML's integers are).
fn scaled(number: &str, factor: u64) -> Option<u64> {
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(factor).filter(|n| *n <= i64::MAX as u64);
    }
    let value = number.parse::<f64>().ok()? * factor as f64;
    (value < i64::MAX as f64).then_some(value.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes() {
        for (text, n) in
            [("128 MiB", 128 << 20), ("1 GB", 1_000_000_000), ("1500 B", 1500), ("0 B", 0), ("64 KiB", 65536)]
        {
            assert_eq!(octets(text), Ok(n));
            assert_eq!(Octets(n).to_string(), text);
        }
        for text in ["10 s", "500 ms", "30 days", "1 day", "36 h", "90 min", "1500 us", "0 s", "14 days"] {
            assert_eq!(time_text(time(text).unwrap()), text);
        }
        for text in ["80 %", "12.5 %", "500 GiB"] {
            assert_eq!(share(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn reads_as_people_write() {
        assert_eq!([octets("128MiB"), octets(" 1.5 GiB "), octets("10 KB")], [Ok(128 << 20), Ok(3 << 29), Ok(10_000)]);
        assert_eq!([octets("0"), octets("1_000 B")], [Ok(0), Ok(1000)]);
        assert_eq!(time("2 weeks"), time("14d"));
        assert_eq!(time("1.5 h"), Ok(Duration::from_secs(5400)));
        assert_eq!(share("80%"), Ok(Share::Percent(80.0)));
    }

    #[test]
    fn says_what_is_wrong() {
        let wrong = |e: Result<u64, String>| e.unwrap_err();
        assert_eq!(wrong(octets("128")), "\"128\" has no unit: a size such as \"128 MiB\"");
        assert!(wrong(octets("128 Mib")).contains("unknown unit 'Mib' in \"128 Mib\"; did you mean"));
        assert!(wrong(octets("much")).contains("expected a size"));
        assert!(wrong(octets("99999999999 TiB")).contains("expected a size"));
        assert!(wrong(octets("1.2.3 MiB")).contains("expected a size"));
        assert!(time("10 sek").unwrap_err().contains("unknown unit 'sek'"));
        assert!(time("-1 s").unwrap_err().contains("expected a time"));
        assert!(share("101 %").unwrap_err().contains("100 %"));
        assert!(octets(&"9".repeat(10_000)).unwrap_err().len() < 200);
    }

    #[test]
    fn shares_are_of_something() {
        assert_eq!(Share::Percent(80.0).of(1000), 800);
        assert_eq!(Share::Octets(Octets(5000)).of(1000), 1000);
    }
}
