//! Who the subscribers are: numbers from one to another, or names made by a pattern.

use std::fmt::Write;
use std::str::FromStr;

/// Subscribers of a run.
pub const SUBSCRIBERS_MAX: u64 = 100_000_000;
/// Octets of a name.
const NAME_OCTETS_MAX: usize = 128;

/// The subscribers, numbered from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscribers {
    before: String,
    after: String,
    /// Digits at least, filled up with zeros.
    digits: usize,
    first: u64,
    count: u32,
}

/// `FROM..TO` (both included, as long as they are typed), or `PATTERN:COUNT` with one `%d` or `%09d` in it, from 0 on.
impl FromStr for Subscribers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.bytes().any(|octet| !octet.is_ascii_graphic() || matches!(octet, b'"' | b'\\')) {
            return Err("names are of visible ASCII, without quotes and backslashes".to_owned());
        }
        let parsed = match text.split_once("..") {
            Some((from, to)) => range(from, to)?,
            None => pattern(text)?,
        };
        if parsed.name(parsed.count - 1).len() > NAME_OCTETS_MAX {
            return Err(format!("a name has at most {NAME_OCTETS_MAX} octets"));
        }
        Ok(parsed)
    }
}

fn range(from: &str, to: &str) -> Result<Subscribers, String> {
    let number = |text: &str| match text.bytes().all(|octet| octet.is_ascii_digit()) {
        true => text.parse::<u64>().map_err(|_| format!("'{text}' is no number of 1 to 19 digits")),
        false => Err(format!("'{text}' is no number")),
    };
    let (first, last) = (number(from)?, number(to)?);
    let count = last.checked_sub(first).and_then(|over| over.checked_add(1));
    let count = count.ok_or("FROM..TO: FROM is at most TO")?;
    Ok(Subscribers { before: String::new(), after: String::new(), digits: from.len(), first, count: within(count)? })
}

fn pattern(text: &str) -> Result<Subscribers, String> {
    let wrong = || "FROM..TO, or a pattern with a count, such as 49170%07d:100000".to_owned();
    let (pattern, count) = text.rsplit_once(':').ok_or_else(wrong)?;
    let count = count.parse().map_err(|_| wrong())?;
    let (before, rest) = pattern.split_once('%').ok_or_else(wrong)?;
    let (width, after) = rest.split_once('d').ok_or_else(wrong)?;
    let digits = match width.strip_prefix('0') {
        Some(width) => width.parse().ok().filter(|digits| *digits <= 20).ok_or_else(wrong)?,
        None if width.is_empty() => 1,
        None => return Err(wrong()),
    };
    if after.contains('%') {
        return Err(wrong());
    }
    Ok(Subscribers { before: before.to_owned(), after: after.to_owned(), digits, first: 0, count: within(count)? })
}

fn within(count: u64) -> Result<u32, String> {
    let fits = (1..=SUBSCRIBERS_MAX).contains(&count);
    if fits { Ok(count as u32) } else { Err(format!("from 1 to {SUBSCRIBERS_MAX} subscribers")) }
}

impl Subscribers {
    /// How many there are.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The name of one.
    pub fn name(&self, number: u32) -> String {
        let mut name = String::new();
        self.push(number, &mut name);
        name
    }

    /// Appends the name of one.
    pub fn push(&self, number: u32, out: &mut String) {
        let number = self.first + u64::from(number);
        // A string takes everything.
        let _ = write!(out, "{}{number:0digits$}{}", self.before, self.after, digits = self.digits);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_patterns() {
        let names = |text: &str| {
            let all = text.parse::<Subscribers>().unwrap();
            (all.count(), all.name(0), all.name(all.count() - 1))
        };
        let of = |count, first: &str, last: &str| (count, first.to_owned(), last.to_owned());
        assert_eq!(names("491700000000..491700000099"), of(100, "491700000000", "491700000099"));
        assert_eq!(names("007..010"), of(4, "007", "010"));
        assert_eq!(names("26201%010d:5"), of(5, "262010000000000", "262010000000004"));
        assert_eq!(names("user%d@example.net:11"), of(11, "user0@example.net", "user10@example.net"));
        for bad in [
            "",
            "1..0",
            "a..b",
            "1..",
            "x:5",
            "%d:0",
            "%d",
            "%5d:1",
            "%d%d:3",
            "%021d:1",
            "a b%d:1",
            "\"%d:1",
            "0..18446744073709551615",
        ] {
            assert!(bad.parse::<Subscribers>().is_err(), "{bad}");
        }
    }
}
