//! The answer to `stats` (memcached's doc/protocol.txt, "Statistics"): lines `STAT name value`, then `END`.

use serde_json::{Map, Value};

/// Octets of the longest answer that is read.
// Limit: length of an answer of a watched cache
// Beyond: the answer is not read
// Seen in: the cache is shown with an error
const OCTETS_MAX: usize = 16 << 20;
/// What is said of a group that the server does not know; memcached says it by `ERROR`.
pub const UNKNOWN_GROUP: &str = "does not know this group (ERROR)";
/// Octets of a strange answer that are shown.
const SHOWN_MAX: usize = 60;

/// A figure as the server tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Its name.
    pub name: String,
    /// Its value, which may be empty.
    pub value: String,
}

/// What came of an answer so far.
#[derive(Debug, Default)]
pub struct Answer {
    part: Vec<u8>,
    octets: usize,
    stats: Vec<Stat>,
}

impl Answer {
    /// Takes what came; the figures once they are all there.
    ///
    /// # Errors
    /// An error of the server, or no answer of memcached's protocol, told for a person.
    pub fn push(&mut self, octets: &[u8]) -> Result<Option<Vec<Stat>>, String> {
        self.octets += octets.len();
        if self.octets > OCTETS_MAX {
            return Err("its answer is longer than 16 MiB".to_owned());
        }
        self.part.extend_from_slice(octets);
        let part = std::mem::take(&mut self.part);
        let mut rest = part.as_slice();
        while let Some(end) = rest.iter().position(|octet| *octet == b'\n') {
            if self.line(rest[..end].strip_suffix(b"\r").unwrap_or(&rest[..end]))? {
                return Ok(Some(std::mem::take(&mut self.stats)));
            }
            rest = &rest[end + 1..];
        }
        self.part = rest.to_vec();
        Ok(None)
    }

    /// One line; whether it was the last.
    fn line(&mut self, line: &[u8]) -> Result<bool, String> {
        let line = String::from_utf8_lossy(line);
        let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
        match word {
            "END" => return Ok(true),
            "RESET" | "OK" if rest.is_empty() => {
                self.stats.push(stat(&line));
                return Ok(true);
            }
            "STAT" | "PREFIX" | "ITEM" => self.stats.push(stat(rest)),
            "ERROR" => return Err(UNKNOWN_GROUP.to_owned()),
            "CLIENT_ERROR" | "SERVER_ERROR" => return Err(format!("refuses: {line}")),
            _ => {
                let shown: String = line.chars().take(SHOWN_MAX).collect();
                return Err(format!("does not speak memcached's text protocol: it says '{shown}'"));
            }
        }
        Ok(false)
    }
}

fn stat(text: &str) -> Stat {
    let (name, value) = text.split_once(' ').unwrap_or((text, ""));
    Stat { name: name.to_owned(), value: value.to_owned() }
}

/// One object of JSON: numbers as numbers, everything else as text.
pub fn object(stats: &[Stat]) -> Value {
    Value::Object(stats.iter().map(|stat| (stat.name.clone(), value(&stat.value))).collect::<Map<_, _>>())
}

fn value(text: &str) -> Value {
    if let Ok(number) = text.parse::<u64>() {
        return number.into();
    }
    if let Ok(number) = text.parse::<i64>() {
        return number.into();
    }
    let fraction = text.bytes().all(|octet| octet.is_ascii_digit() || octet == b'.');
    text.parse::<f64>().ok().filter(|_| fraction).map_or_else(|| text.into(), Value::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_in_any_pieces() {
        let whole =
            b"STAT pid 12\r\nSTAT version 1.6.18\r\nSTAT empty \r\nSTAT rusage_user 0.25\r\nSTAT x -1\r\nEND\r\n";
        for cut in 0..whole.len() {
            let mut answer = Answer::default();
            assert_eq!(answer.push(&whole[..cut]), Ok(None));
            let stats = answer.push(&whole[cut..]).unwrap().unwrap();
            let json = r#"{"pid":12,"version":"1.6.18","empty":"","rusage_user":0.25,"x":-1}"#;
            assert_eq!(object(&stats).to_string(), json);
        }
        let reset = Answer::default().push(b"RESET\r\n").unwrap().unwrap();
        assert_eq!(reset, [Stat { name: "RESET".into(), value: String::new() }]);
    }

    #[test]
    fn who_is_no_memcached_is_told() {
        let said = |text: &[u8]| Answer::default().push(text).unwrap_err();
        assert!(said(b"HTTP/1.1 400 Bad Request\r\n").contains("'HTTP/1.1 400 Bad Request'"));
        assert!(said(b"ERROR\r\n").contains("group"));
        assert!(said(b"CLIENT_ERROR unauthenticated\r\n").contains("unauthenticated"));
        assert!(said(&vec![b'x'; OCTETS_MAX + 1]).contains("16 MiB"));
    }
}
