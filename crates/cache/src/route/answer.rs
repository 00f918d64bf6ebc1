//! Answers of servers: where each ends, and what it says. What comes from a server is taken as it comes; what is no
//! answer to what was asked ends the connection, as nothing behind it could be matched any more.

use crate::protocol::number;
use crate::protocol::words::{self, Words};

/// Octets of a line of an answer.
pub const LINE_OCTETS_MAX: usize = 4096;

/// What was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// `get`, `gets`, `gat` or `gats`: values, each of which is read as an answer, then `END`.
    Get,
    /// Anything else: a line, and a value behind it where that begins with `VA`.
    Line,
}

/// What it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// A value, or the flags of an item (`VALUE`, `VA`, `HD`).
    Found,
    /// Nothing is there (`EN`), or no more (`END`).
    Missed,
    /// Anything else that is no error.
    Done,
    /// `ERROR`, `CLIENT_ERROR` or `SERVER_ERROR`.
    Refused,
}

/// A whole answer, or a value of a get's, at the front of what came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What it says.
    pub said: Said,
    /// Octets of it.
    pub octets: usize,
    /// Octets of it that are told to a client: not the `END` of a get.
    pub told: usize,
}

/// It is no answer to what was asked, or longer than allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no answer of memcached's protocol")]
pub struct NoAnswer;

/// Reads the answer that `input` begins with; none if more must come.
///
/// # Errors
/// There will be none.
pub fn read(input: &[u8], asked: Asked, value_octets_max: usize) -> Result<Option<Answer>, NoAnswer> {
    let Some(end) = line_end(input)? else { return Ok(None) };
    let line = trimmed(&input[..end - 1]);
    if is_refusal(line) {
        return Ok(Some(Answer { said: Said::Refused, octets: end, told: end }));
    }
    match asked {
        Asked::Get if line == b"END" => Ok(Some(Answer { said: Said::Missed, octets: end, told: 0 })),
        Asked::Get => {
            let octets = length(value_length(Words::of(line))?, value_octets_max)?;
            Ok(value(input, end, octets)?.map(found))
        }
        Asked::Line => match line {
            [b'V', b'A', b' ', ..] => {
                let octets = length(Words::of(line).at(1), value_octets_max)?;
                Ok(value(input, end, octets)?.map(found))
            }
            _ => Ok(Some(Answer { said: said(line), octets: end, told: end })),
        },
    }
}

fn found(octets: usize) -> Answer {
    Answer { said: Said::Found, octets, told: octets }
}

/// The key of a value of a get.
pub fn key(value: &[u8]) -> &[u8] {
    let behind = words::next(value).map_or(&[][..], |(_, behind)| behind);
    words::next(behind).map_or(&[], |(key, _)| key)
}

/// What `VALUE` says of its octets.
fn value_length(words: Words<'_>) -> Result<&[u8], NoAnswer> {
    if words.at(0) == b"VALUE" && (4..=5).contains(&words.count()) { Ok(words.at(3)) } else { Err(NoAnswer) }
}

/// The end of a value of so many octets behind a line; none if it is not here.
fn value(input: &[u8], line_end: usize, octets: usize) -> Result<Option<usize>, NoAnswer> {
    let end = line_end + octets + 2;
    match input.get(line_end + octets..end) {
        None => Ok(None),
        Some(b"\r\n") => Ok(Some(end)),
        Some(_) => Err(NoAnswer),
    }
}

fn length(word: &[u8], most: usize) -> Result<usize, NoAnswer> {
    let octets = number::unsigned(word).and_then(|octets| usize::try_from(octets).ok());
    octets.filter(|octets| *octets <= most).ok_or(NoAnswer)
}

/// Octets up to the end of the first line, that included.
fn line_end(input: &[u8]) -> Result<Option<usize>, NoAnswer> {
    match memchr::memchr(b'\n', &input[..input.len().min(LINE_OCTETS_MAX)]) {
        Some(at) => Ok(Some(at + 1)),
        None if input.len() >= LINE_OCTETS_MAX => Err(NoAnswer),
        None => Ok(None),
    }
}

fn trimmed(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn is_refusal(line: &[u8]) -> bool {
    line == b"ERROR" || [&b"ERROR "[..], b"CLIENT_ERROR", b"SERVER_ERROR"].iter().any(|word| line.starts_with(word))
}

fn said(line: &[u8]) -> Said {
    match line {
        b"EN" => Said::Missed,
        [b'E', b'N', b' ', ..] => Said::Missed,
        [b'H', b'D'] | [b'H', b'D', b' ', ..] => Said::Found,
        _ => Said::Done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(input: &[u8], asked: Asked) -> Answer {
        for cut in 0..input.len() {
            assert_eq!(read(&input[..cut], asked, 1000), Ok(None), "{cut}");
        }
        let behind = [input, b"VALUE"].concat();
        let answer = read(&behind, asked, 1000).expect("an answer").expect("all of it");
        assert_eq!(answer.octets, input.len());
        answer
    }

    #[test]
    fn answers_end_where_they_end() {
        let value = b"VALUE k 5 4\r\nE\r\nD\r\n";
        let found = all(value, Asked::Get);
        assert_eq!((found.said, found.told, key(value)), (Said::Found, 19, &b"k"[..]));
        assert_eq!(all(b"VALUE k 5 0 99\r\n\r\n", Asked::Get).said, Said::Found);
        assert_eq!((all(b"END\r\n", Asked::Get).said, all(b"END\r\n", Asked::Get).told), (Said::Missed, 0));
        assert_eq!(all(b"SERVER_ERROR out of memory\r\n", Asked::Get).said, Said::Refused);
        assert_eq!(all(b"VA 2 f5 W\r\nhi\r\n", Asked::Line).said, Said::Found);
        assert_eq!(all(b"HD t-1\r\n", Asked::Line).said, Said::Found);
        assert_eq!(all(b"EN Oabc\r\n", Asked::Line).said, Said::Missed);
        assert_eq!(all(b"STORED\r\n", Asked::Line).said, Said::Done);
        assert_eq!(all(b"ERROR\r\n", Asked::Line).said, Said::Refused);
    }

    #[test]
    fn what_is_no_answer_is_told() {
        for (input, asked) in [
            (&b"STORED\r\n"[..], Asked::Get),
            (b"VALUE k 0 2\r\nabc\r\nEND\r\n", Asked::Get),
            (b"VALUE k 0 2 7 7\r\nab\r\n", Asked::Get),
            (b"VALUE k 0 1001\r\n", Asked::Get),
            (b"VA x\r\n", Asked::Line),
            (&[b'x'; LINE_OCTETS_MAX], Asked::Line),
        ] {
            assert_eq!(read(input, asked, 1000), Err(NoAnswer), "{:?}", String::from_utf8_lossy(input));
        }
    }
}
