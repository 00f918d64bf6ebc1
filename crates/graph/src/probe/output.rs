//! What programs say, as Cacti has it: one number, or `name:number` with blanks between.

use crate::poller::{Reading, Unknown};

/// Octets of what a program says; one that says more is ended.
pub const OUTPUT_OCTETS_MAX: usize = 64 << 10;

/// Reads what is wanted: for each reading the first name that was said. One number alone is what a single reading
/// wants, whatever its name.
pub fn read(octets: &[u8], wanted: &[Vec<String>]) -> Vec<Reading> {
    let text = String::from_utf8_lossy(octets);
    let words: Vec<&str> = text.split_whitespace().collect();
    if let ([word], [_]) = (&words[..], wanted) {
        if !word.contains(':') {
            return vec![number(word)];
        }
    }
    let said: Vec<(&str, &str)> = words.iter().filter_map(|word| word.split_once(':')).collect();
    let find = |name: &String| said.iter().find(|(said, _)| said == name).map(|(_, value)| number(value));
    wanted.iter().map(|ways| ways.iter().find_map(find).unwrap_or(Reading::Unknown(Unknown::Omitted))).collect()
}

/// A number as programs write it; `U` and `NaN` are none.
pub(super) fn number(text: &str) -> Reading {
    if let Ok(whole) = text.parse::<i64>() {
        return Reading::Integer(whole);
    }
    if let Ok(whole) = text.parse::<u64>() {
        return Reading::Gauge(whole);
    }
    let real = text.parse::<f64>().ok().filter(|number| number.is_finite());
    real.map_or(Reading::Unknown(Unknown::NoNumber), Reading::Real)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_one(text: &str, names: &[&str]) -> Vec<Reading> {
        read(text.as_bytes(), &names.iter().map(|name| vec![(*name).to_owned()]).collect::<Vec<_>>())
    }

    #[test]
    fn numbers_alone_and_with_names() {
        assert_eq!(read_one(" 42.5\n", &["any"]), [Reading::Real(42.5)]);
        assert_eq!(read_one("18446744073709551615", &["any"]), [Reading::Gauge(u64::MAX)]);
        let unknown = Reading::Unknown(Unknown::NoNumber);
        assert_eq!(
            read_one("1min:0.25 5min:-7 up:U", &["5min", "1min", "up"])[..2],
            [Reading::Integer(-7), Reading::Real(0.25)]
        );
        assert_eq!(read_one("a:U b:NaN c: d:1e400", &["a", "b", "c", "d"]), [unknown; 4]);
        assert_eq!(read_one("a:1", &["b"]), [Reading::Unknown(Unknown::Omitted)]);
        // Whose number that is cannot be known.
        assert_eq!(read_one("5", &["a", "b"]), [Reading::Unknown(Unknown::Omitted); 2]);
        assert_eq!(read_one("", &["a"]), [Reading::Unknown(Unknown::Omitted)]);
        let ways = [vec!["new".to_owned(), "old".to_owned()]];
        assert_eq!(read(b"old:3", &ways), [Reading::Integer(3)]);
    }
}
