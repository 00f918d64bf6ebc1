//! The lines of a bill: comma-separated values with a line of titles (RFC 4180), but a value does not span lines.

use super::profile::{AmountUnit, DurationUnit, Profile};
use super::{BillLine, Parties, when};
use crate::money::MONEY_MAX;
use std::borrow::Cow;

/// Octets of a line.
// Limit: length of one line of a bill
// Beyond: the line is not read
// Seen in: the list of lines that cannot be read
pub const LINE_OCTETS_MAX: usize = 8192;
/// The longest length of a call: a month, milliseconds.
const DURATION_MAX: i64 = 31 * 86_400_000;

/// Why a line cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// Which line of the file, from 1 on.
    pub line: u32,
    /// What is wrong with it.
    pub what: String,
}

/// Reads lines one by one.
#[derive(Debug)]
pub struct BillReader<'a> {
    profile: &'a Profile,
    columns: Columns,
    separator: char,
    line: u32,
}

/// Where the columns are.
#[derive(Clone, Copy, Debug)]
struct Columns {
    count: usize,
    caller: usize,
    called: usize,
    begin: usize,
    duration: usize,
    amount: Option<usize>,
    reference: Option<usize>,
}

impl<'a> BillReader<'a> {
    /// Begins with the line of titles.
    ///
    /// # Errors
    /// A column is missing: which, and which there are.
    pub fn new(profile: &'a Profile, titles: &str) -> Result<BillReader<'a>, String> {
        let separator = profile.bill.separator.chars().next().unwrap_or(',');
        let titles = titles.trim_start_matches('\u{feff}').trim_end_matches(['\r', '\n']);
        let titles = values(titles, separator).map_err(str::to_owned)?;
        let find = |title: &str| titles.iter().position(|known| known.trim().eq_ignore_ascii_case(title.trim()));
        let needed = |key: &str, title: &str| {
            find(title).ok_or_else(|| {
                let there = titles.iter().map(|title| format!("\"{}\"", title.trim())).collect::<Vec<_>>().join(", ");
                format!("no column is titled \"{title}\"; there are {there}: a profile says {key} = \"..\" in [bill]")
            })
        };
        let bill = &profile.bill;
        let wanted = |key: &str, title: &str, named: bool| match title.trim() {
            "" => Ok(None),
            _ if named => needed(key, title).map(Some),
            _ => Ok(find(title)),
        };
        let columns = Columns {
            count: titles.len(),
            caller: needed("caller", &bill.caller)?,
            called: needed("called", &bill.called)?,
            begin: needed("begin", &bill.begin)?,
            duration: needed("duration", &bill.duration)?,
            amount: wanted("amount", &bill.amount, profile.names_amount)?,
            reference: wanted("reference", &bill.reference, true)?,
        };
        Ok(BillReader { profile, columns, separator, line: 1 })
    }

    /// Whether the bill says what it asks for.
    pub fn has_amounts(&self) -> bool {
        self.columns.amount.is_some()
    }

    /// Reads the next line; nothing of an empty one.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(&mut self, text: &str, parties: &mut Parties) -> Result<Option<BillLine>, Unread> {
        self.line = self.line.saturating_add(1);
        let text = text.trim_end_matches(['\r', '\n']);
        if text.trim().is_empty() {
            return Ok(None);
        }
        self.line_of(text, parties).map(Some).map_err(|what| Unread { line: self.line, what })
    }

    fn line_of(&self, text: &str, parties: &mut Parties) -> Result<BillLine, String> {
        if text.len() >= LINE_OCTETS_MAX {
            return Err(format!("longer than {LINE_OCTETS_MAX} octets"));
        }
        let values = values(text, self.separator).map_err(str::to_owned)?;
        let Columns { count, caller, called, begin, duration, amount, reference } = self.columns;
        if values.len() != count {
            return Err(format!("{} values for {count} columns", values.len()));
        }
        let (bill, numbers) = (&self.profile.bill, &self.profile.numbers);
        let short = |text: &str| text.chars().take(40).collect::<String>();
        let wrong = |what: &str, at: usize| format!("{what}: '{}'", short(&values[at]));
        let mark = bill.decimal.chars().next();
        let at = when::moment(&values[begin], bill.date_order, &self.profile.zone);
        let amount = match amount.filter(|at| !values[*at].trim().is_empty()) {
            Some(at) => {
                let places = if bill.amount_unit == AmountUnit::Major { bill.minor_digits } else { 0 };
                Some(money(&values[at], places, mark).ok_or_else(|| wrong("no amount", at))?)
            }
            None => None,
        };
        Ok(BillLine {
            line: self.line,
            caller: parties.of(&values[caller], numbers),
            called: parties.of(&values[called], numbers),
            begin: at.ok_or_else(|| wrong("no time of a begin", begin))?,
            duration: length(&values[duration], bill.duration_unit, mark)
                .ok_or_else(|| wrong("no length", duration))?,
            amount,
            reference: reference.map_or(0, |at| Parties::reference(&values[at])),
        })
    }
}

/// The values of a line.
fn values(text: &str, separator: char) -> Result<Vec<String>, &'static str> {
    let (mut all, mut value, mut quoted) = (Vec::new(), String::new(), false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                value.push('"');
            }
            '"' if quoted => quoted = false,
            '"' if value.is_empty() => quoted = true,
            c if c == separator && !quoted => all.push(std::mem::take(&mut value)),
            c => value.push(c),
        }
    }
    if quoted {
        return Err("a quoted value does not end in its line");
    }
    all.push(value);
    Ok(all)
}

/// Milliseconds of a length: a number of units with a point or a comma, or a clock.
fn length(text: &str, unit: DurationUnit, mark: Option<char>) -> Option<i64> {
    let text = text.trim();
    let ms = if text.contains(':') {
        let parts: Option<Vec<i64>> = text.split(':').map(|part| whole(part, 6)).collect();
        let parts = parts?;
        let seconds = match parts[..] {
            [minutes, seconds] if seconds < 60 => minutes * 60 + seconds,
            [hours, minutes, seconds] if minutes < 60 && seconds < 60 => hours * 3600 + minutes * 60 + seconds,
            _ => return None,
        };
        seconds * 1000
    } else {
        let micros = decimal(text, 6, mark)?;
        let per_thousand = match unit {
            DurationUnit::Seconds => 1000,
            DurationUnit::Minutes => 60_000,
            DurationUnit::Milliseconds => 1,
        };
        i64::try_from((i128::from(micros) * per_thousand + 500_000) / 1_000_000).ok()?
    };
    (0..=DURATION_MAX).contains(&ms).then_some(ms)
}

/// Millionths of a minor unit, of an amount whose unit has so many places of minor units.
fn money(text: &str, places: u32, mark: Option<char>) -> Option<i64> {
    let text = text.trim();
    let (sign, text) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let micros = decimal(text, 6 + places, mark)?;
    (micros / 1_000_000 <= MONEY_MAX).then_some(sign * micros)
}

/// A decimal number times ten to the power of `places`; further places must be zeros. Where its mark is told, the other
/// one may part thousands.
fn decimal(text: &str, places: u32, mark: Option<char>) -> Option<i64> {
    let (head, tail) = match mark {
        None => text.split_once(['.', ',']),
        Some(mark) => text.split_once(mark),
    }
    .unwrap_or((text, ""));
    let head = match mark {
        None => Cow::Borrowed(head),
        Some(mark) => without_thousands(head, if mark == ',' { '.' } else { ',' })?,
    };
    let places = places as usize;
    if !tail.is_ascii() {
        return None;
    }
    let (kept, rest) = tail.split_at(tail.len().min(places));
    if (head.is_empty() && tail.is_empty()) || !rest.bytes().all(|octet| octet == b'0') {
        return None;
    }
    let head = if head.is_empty() { 0 } else { whole(&head, 15)? };
    let tail = if kept.is_empty() { 0 } else { whole(&format!("{kept:0<places$}"), 15)? };
    head.checked_mul(10i64.checked_pow(places as u32)?)?.checked_add(tail)
}

/// The digits of `1.234.567`.
fn without_thousands(text: &str, parted: char) -> Option<Cow<'_, str>> {
    let mut groups = text.split(parted);
    // 0,123 has a fraction, whatever its mark is said to be.
    let leads = |first: &str| (1..=3).contains(&first.len()) && !first.starts_with('0');
    let sound = groups.next().is_some_and(leads) && groups.all(|group| group.len() == 3);
    match text.contains(parted) {
        false => Some(Cow::Borrowed(text)),
        true => sound.then(|| Cow::Owned(text.replace(parted, ""))),
    }
}

fn whole(text: &str, digits_max: usize) -> Option<i64> {
    let sound = (1..=digits_max).contains(&text.len()) && text.bytes().all(|octet| octet.is_ascii_digit());
    sound.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::read_profile;

    #[test]
    fn lines_are_read_or_say_what_is_wrong() {
        let profile = read_profile(
            "p",
            "[numbers]\ncountry = \"33\"\nnational = [\"0\"]\n[bill]\ncaller = \"A\"\ncalled = \"B\"\nbegin = \"when\"\n\
             duration = \"min\"\nduration-unit = \"minutes\"\namount = \"EUR\"\nseparator = \";\"\n\
             reference = \"id\"\n",
        )
        .expect("a profile");
        let (mut parties, titles) = (Parties::default(), "\u{feff}id;A;B;when;min;EUR\r\n");
        let mut reader = BillReader::new(&profile, titles).expect("columns");
        let line = reader.read("\"x;\"\"y\";0612;+44207;2026-11-20 10:00:05;1,5;0.1234\n", &mut parties);
        let line = line.expect("read").expect("a line");
        assert_eq!((line.line, line.duration, line.amount), (2, 90_000, Some(12_340_000)));
        assert_eq!((parties.text(line.caller), parties.text(line.called)), ("+33612".into(), "+44207".into()));
        assert_eq!(line.reference, Parties::reference("x;\"y"));
        assert_eq!(reader.read("\n", &mut parties), Ok(None));
        for (text, what) in [
            ("1;2;3", "3 values for 6 columns"),
            (";1;2;yesterday;1;1", "no time of a begin: 'yesterday'"),
            (";1;2;2026-11-20 10:00;x;1", "no length: 'x'"),
            (";1;2;2026-11-20 10:00;1;1e3", "no amount: '1e3'"),
            ("\"1;2", "a quoted value does not end in its line"),
        ] {
            assert_eq!(reader.read(text, &mut parties).expect_err(text).what, what);
        }
        let missing = BillReader::new(&profile, "A;B;when;EUR").expect_err("a column is missing");
        assert!(missing.contains("\"min\"") && missing.contains("\"when\""), "{missing}");
        for (titles, title) in [("A;B;when;min;EUR", "id"), ("id;A;B;when;min", "EUR")] {
            let missing = BillReader::new(&profile, titles).expect_err("a column that is named is missing");
            assert!(missing.contains(&format!("no column is titled \"{title}\"")), "{missing}");
        }
        let plain = Profile::default();
        let reader = BillReader::new(&plain, "caller,called,begin,duration").expect("nothing is named");
        assert!(!reader.has_amounts());
    }

    #[test]
    fn lengths_and_amounts_as_they_are_written() {
        for (text, unit, ms) in [
            ("61", DurationUnit::Seconds, Some(61_000)),
            ("1:01", DurationUnit::Seconds, Some(61_000)),
            ("1:00:01", DurationUnit::Minutes, Some(3_601_000)),
            ("0.0167", DurationUnit::Minutes, Some(1002)),
            ("1500", DurationUnit::Milliseconds, Some(1500)),
            ("1:61", DurationUnit::Seconds, None),
            ("-1", DurationUnit::Seconds, None),
            ("99999999", DurationUnit::Seconds, None),
            (":", DurationUnit::Seconds, None),
        ] {
            assert_eq!(length(text, unit, None), ms, "{text}");
        }
        for (text, places, micros) in [
            ("1.25", 2, Some(125_000_000)),
            (".5", 0, Some(500_000)),
            ("-3", 2, Some(-300_000_000)),
            ("1.00000000", 2, Some(100_000_000)),
            ("1.000000001", 2, None),
            (".", 2, None),
            ("", 2, None),
            ("999999999999999", 4, None),
            ("1.00000é", 0, None),
        ] {
            assert_eq!(money(text, places, None), micros, "{text}");
        }
        for (text, mark, micros) in [
            ("1.234", ',', Some(1_234_000_000)),
            ("1.234", '.', Some(1_234_000)),
            ("1.234.567,5", ',', Some(1_234_567_500_000)),
            ("-1,234.5", '.', Some(-1_234_500_000)),
            ("12.34", ',', None),
            ("1234.567", ',', None),
            ("1,2,3", ',', None),
            ("0,123", '.', None),
            (",123", '.', None),
            ("0.123", '.', Some(123_000)),
            ("-1,234", '.', Some(-1_234_000_000)),
        ] {
            assert_eq!(money(text, 0, Some(mark)), micros, "{text}");
        }
        assert_eq!(length("1.234,5", DurationUnit::Seconds, Some(',')), Some(1_234_500));
    }
}
