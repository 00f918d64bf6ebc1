//! What programs say, as Cacti has it: one number, or `name:number` with blanks between.

use super::Outcome;
use crate::poller::{Reading, Unknown};
use crate::template::SCRIPT_READS;

/// Octets of what a program says; one that says more is ended.
// Limit: output of one program
// Beyond: the program is ended
// Seen in: the device's page
pub const OUTPUT_OCTETS_MAX: usize = 64 << 10;

/// Reads what is wanted: for each reading the first name that was said. One number alone is what a single reading
/// wants, whatever its name.
pub fn read(octets: &[u8], wanted: &[Vec<String>]) -> Vec<Reading> {
    let text = String::from_utf8_lossy(octets);
    let words: Vec<&str> = text.split_whitespace().collect();
    if let ([word], [_]) = (&words[..], wanted)
        && !word.contains(':')
    {
        return vec![number(word)];
    }
    let said: Vec<(&str, &str)> = words.iter().filter_map(|word| word.split_once(':')).collect();
    let find = |name: &String| said.iter().find(|(said, _)| said == name).map(|(_, value)| number(value));
    wanted.iter().map(|ways| ways.iter().find_map(find).unwrap_or(Reading::Unknown(Unknown::Omitted))).collect()
}

/// How a program has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// Its exit code; none if a signal has ended it.
    pub code: Option<i32>,
    /// How long it took.
    pub took_ns: u64,
    /// What it said.
    pub output: Vec<u8>,
    /// What it said of errors.
    pub errors: Vec<u8>,
}

impl Ended {
    /// What was wanted of it. What a program says that has failed is not believed: only its exit code and its time are.
    pub fn outcome(&self, wanted: &[Vec<String>]) -> Outcome {
        let mut readings = read(&self.output, wanted);
        let is_well = self.code == Some(0);
        for (reading, ways) in readings.iter_mut().zip(wanted) {
            match ways.iter().find(|name| SCRIPT_READS.contains(&name.as_str())).map(String::as_str) {
                Some("time-total") => *reading = Reading::Real(self.took_ns as f64 / 1e9),
                Some(_) => {
                    *reading =
                        self.code.map_or(Reading::Unknown(Unknown::NoNumber), |code| Reading::Integer(code.into()));
                }
                None if !is_well => *reading = Reading::Unknown(Unknown::AgentError),
                None => {}
            }
        }
        let fault = (!is_well).then(|| {
            let said = if self.errors.is_empty() { &self.output } else { &self.errors };
            let how = self.code.map_or("a signal has ended it".to_owned(), |code| format!("exit code {code}"));
            format!("{how}: {}", String::from_utf8_lossy(said).trim())
        });
        Outcome::Said { readings, started: None, fault }
    }
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
    fn failures_are_told_and_what_they_said_is_not_believed() {
        let wanted = ["a", "exit-code", "time-total"].map(|name| vec![name.to_owned()]);
        let said = |code, errors: &str| {
            let ended = Ended { code, took_ns: 250_000_000, output: b"a:1".into(), errors: errors.into() };
            match ended.outcome(&wanted) {
                Outcome::Said { readings, fault, .. } => (readings, fault),
                other => panic!("{other:?}"),
            }
        };
        let time = Reading::Real(0.25);
        assert_eq!(said(Some(0), "oh"), (vec![Reading::Integer(1), Reading::Integer(0), time], None));
        let unknown = Reading::Unknown(Unknown::AgentError);
        assert_eq!(
            said(Some(2), "oh\n"),
            (vec![unknown, Reading::Integer(2), time], Some("exit code 2: oh".to_owned()))
        );
        assert_eq!(
            said(None, ""),
            (vec![unknown, Reading::Unknown(Unknown::NoNumber), time], Some("a signal has ended it: a:1".to_owned()))
        );
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
