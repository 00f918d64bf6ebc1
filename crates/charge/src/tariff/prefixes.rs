//! Destinations by the digits that their numbers begin with: the longest that fits decides.

/// Digits of a prefix.
pub const PREFIX_DIGITS_MAX: usize = 15;
/// Prefixes of a plan.
// Limit: prefixes of one plan
// Beyond: the plan is refused
// Seen in: the error message
pub const PREFIXES_MAX: usize = 200_000;

/// Tables of prefixes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prefixes {
    /// Names of the tables.
    names: Vec<String>,
    /// Prefixes with their table, ascending.
    entries: Vec<(u64, u16)>,
}

impl Prefixes {
    /// Tables of prefixes by name.
    ///
    /// # Errors
    /// The index of the table and what is wrong with which of its prefixes.
    pub fn new(tables: Vec<(String, Vec<String>)>) -> Result<Prefixes, Vec<(usize, String)>> {
        let (mut made, mut wrong) = (Prefixes::default(), Vec::new());
        for (at, (name, prefixes)) in tables.into_iter().enumerate() {
            made.names.push(name);
            for prefix in prefixes {
                match key(&prefix) {
                    Some(key) => made.entries.push((key, at as u16)),
                    None => wrong.push((at, format!("'{prefix}': 1 to {PREFIX_DIGITS_MAX} digits, without + or 00"))),
                }
            }
        }
        made.entries.sort_unstable();
        for pair in made.entries.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
            // The first digit of a key is the mark of its length.
            let digits = pair[0].0.to_string()[1..].to_owned();
            wrong.push((usize::from(pair[1].1), format!("'{digits}' stands twice")));
        }
        if made.entries.len() > PREFIXES_MAX {
            wrong.push((0, format!("more than {PREFIXES_MAX} prefixes")));
        }
        if wrong.is_empty() { Ok(made) } else { Err(wrong) }
    }

    /// The tables' names.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The table of the longest prefix that a number begins with; what is no digit ends the number.
    pub fn longest(&self, number: &str) -> Option<u16> {
        self.found(number).map(|(table, _)| table)
    }

    /// The name of that table, and the prefix.
    pub fn named<'a>(&'a self, number: &'a str) -> Option<(&'a str, &'a str)> {
        let (table, digits) = self.found(number)?;
        Some((self.names.get(usize::from(table))?, number.get(..digits)?))
    }

    /// That table, and the digits of the prefix.
    fn found(&self, number: &str) -> Option<(u16, usize)> {
        let digits = number.bytes().take(PREFIX_DIGITS_MAX).take_while(u8::is_ascii_digit);
        let (mut key, mut found) = (1u64, None);
        if self.entries.is_empty() {
            return None;
        }
        for (place, digit) in digits.enumerate() {
            key = key * 10 + u64::from(digit - b'0');
            if let Ok(at) = self.entries.binary_search_by_key(&key, |entry| entry.0) {
                found = Some((self.entries[at].1, place + 1));
            }
        }
        found
    }
}

/// Digits with a 1 before them, so that zeros at the beginning count.
fn key(prefix: &str) -> Option<u64> {
    let whole = (1..=PREFIX_DIGITS_MAX).contains(&prefix.len()) && prefix.bytes().all(|octet| octet.is_ascii_digit());
    whole.then(|| prefix.bytes().fold(1, |key, digit| key * 10 + u64::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_decides() {
        let table =
            |name: &str, prefixes: &[&str]| (name.to_owned(), prefixes.iter().map(|p| (*p).to_owned()).collect());
        let tables = vec![table("france", &["33"]), table("mobile", &["336", "337"]), table("zero", &["0"])];
        let prefixes = Prefixes::new(tables).expect("tables");
        for (number, found) in [("33123", Some(0)), ("33612", Some(1)), ("44", None), ("", None), ("0", Some(2))] {
            assert_eq!(prefixes.longest(number), found, "{number}");
        }
        assert_eq!(prefixes.longest("336@example"), Some(1));
        assert_eq!((prefixes.named("33612"), prefixes.named("44")), (Some(("mobile", "336")), None));
        let wrong = Prefixes::new(vec![table("a", &["33", "x"]), table("b", &["33"])]).expect_err("twice");
        assert_eq!(wrong.len(), 2);
    }
}
