//! The classic text commands, a line each (protocol.txt; where it is silent, `proto_text.c` of 1.6.18).

use super::meta;
use super::number;
use super::words::{Words, next};

/// Octets of a key.
// Limit: length of a key
// Beyond: the command is refused
// Seen in: the reply `CLIENT_ERROR`
pub const KEY_OCTETS_MAX: usize = 250;
/// Octets of a line that are looked through at a glance: a key and some flags.
const GLANCE_OCTETS: usize = 320;
/// Octets of a value that a command line may announce (`INT_MAX - 2`); the store refuses far earlier.
pub const VALUE_OCTETS_MAX: i32 = i32::MAX - 2;
/// Octets of a line without an end, beyond which the connection is closed unless it is a get of many keys.
// Limit: length of a command line without an end
// Beyond: the connection is closed, unless it is a get
// Seen in: `trunkline_net_closed_service_connections_total`
pub const LINE_OCTETS_MAX: usize = 2048;

/// The word is not known, or its words are too few or too many.
pub const ERROR: &[u8] = b"ERROR";
/// A number, a key or a length cannot be read.
pub const BAD_FORMAT: &[u8] = b"CLIENT_ERROR bad command line format";
const BAD_EXPIRY: &[u8] = b"CLIENT_ERROR invalid exptime argument";
const BAD_DELTA: &[u8] = b"CLIENT_ERROR invalid numeric delta argument";
const DELETE_USAGE: &[u8] = b"CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]";

/// How a value is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Whatever is there.
    Set,
    /// If the key holds nothing.
    Add,
    /// If the key holds something.
    Replace,
    /// Behind what is there.
    Append,
    /// Before what is there.
    Prepend,
    /// If what is there has the number that is named.
    Cas,
}

/// A command that is followed by a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Set<'a> {
    /// How it is stored.
    pub mode: Mode,
    /// Up to [`KEY_OCTETS_MAX`].
    pub key: &'a [u8],
    /// The client's own.
    pub flags: u32,
    /// As written: see [`super::Now::expires`].
    pub expiry: i32,
    /// Octets of the value, without the line's end behind it.
    pub octets: u32,
    /// What `cas` compares with; 0 matches nothing.
    pub cas: u64,
    /// Whether there is no answer.
    pub quiet: bool,
}

/// A command line.
#[expect(clippy::large_enum_variant, reason = "it is looked at where it is made, and never kept")]
#[derive(Clone, Copy, Debug)]
pub enum Command<'a> {
    /// `get`, `gets`, `gat`, `gats`.
    Get(Get<'a>),
    /// `set`, `add`, `replace`, `append`, `prepend`, `cas`.
    Set(Set<'a>),
    /// `incr` and `decr`.
    Delta {
        /// Whose number.
        key: &'a [u8],
        /// By how much.
        delta: u64,
        /// Up or down.
        up: bool,
        /// Whether there is no answer.
        quiet: bool,
    },
    /// `delete`.
    Delete {
        /// What goes.
        key: &'a [u8],
        /// Whether there is no answer.
        quiet: bool,
    },
    /// `touch`.
    Touch {
        /// What lives on.
        key: &'a [u8],
        /// As written.
        expiry: i32,
        /// Whether there is no answer.
        quiet: bool,
    },
    /// `flush_all`.
    Flush {
        /// Seconds until then; at once where it is not above 0.
        delay: i32,
        /// Whether there is no answer.
        quiet: bool,
    },
    /// Two letters, the first an `m`.
    Meta(meta::Command<'a>),
    /// All that is rare: its first word decides.
    Rare(Words<'a>),
}

/// A get of one key or of many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Get<'a> {
    /// Parted by blanks.
    pub keys: &'a [u8],
    /// Whether the number for `cas` is told.
    pub cas: bool,
    /// The new time to live of `gat`, as written.
    pub expiry: Option<i32>,
}

/// Why a line is not carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The answer, without its line's end.
    pub text: &'static [u8],
    /// Whether it is not told.
    pub quiet: bool,
    /// Octets behind the line that are passed over.
    pub swallow: u64,
}

impl Refused {
    /// Refused aloud, with nothing to pass over.
    pub const fn new(text: &'static [u8]) -> Self {
        Refused { text, quiet: false, swallow: 0 }
    }

    const fn quietly(text: &'static [u8], quiet: bool) -> Self {
        Refused { text, quiet, swallow: 0 }
    }
}

/// What stands before the end of a line: without a carriage return, and nothing from a NUL on (C's strings end there).
///
/// A line of nothing but `\r` keeps it: both are the same error.
#[inline]
pub fn line(octets: &[u8]) -> &[u8] {
    let line = match octets {
        [head @ .., b'\r'] if !head.is_empty() => head,
        whole => whole,
    };
    &line[..memchr::memchr(0, line).unwrap_or(line.len())]
}

/// Reads one line (see [`line`]).
///
/// # Errors
/// What memcached would answer.
#[inline]
pub fn parse(line: &[u8]) -> Result<Command<'_>, Refused> {
    let Some((word, rest)) = next(line) else { return Err(Refused::new(ERROR)) };
    match word {
        b"get" | b"bget" => get(rest, false),
        b"gets" => get(rest, true),
        b"gat" => get_and_touch(rest, false),
        b"gats" => get_and_touch(rest, true),
        [b'm', kind] => meta::parse(*kind, Words::of(line)),
        _ if word.len() < 2 => Err(Refused::new(ERROR)),
        _ => other(word, Words::of(line)),
    }
}

/// The key of the request that begins `input`, if it is a get of one key (`get`, `gets`, `mg`) as far as a glance
/// tells, and the octets of its line: for what can be done ahead of requests.
#[inline]
pub fn sole_key(input: &[u8]) -> Option<(&[u8], usize)> {
    let (word, more) = match input {
        [b'g', b'e', b't', b' ', ..] => (4, false),
        [b'g', b'e', b't', b's', b' ', ..] => (5, false),
        [b'm', b'g', b' ', ..] => (3, true),
        _ => return None,
    };
    let end = memchr::memchr(b'\n', &input[..input.len().min(GLANCE_OCTETS)])?;
    let line = &input[word..end];
    let key = &line[..memchr::memchr2(b' ', b'\r', line).unwrap_or(line.len())];
    let is_sole = more || line.get(key.len()) != Some(&b' ');
    (is_sole && !key.is_empty() && key.len() <= KEY_OCTETS_MAX).then_some((key, end + 1))
}

fn other<'a>(word: &[u8], words: Words<'a>) -> Result<Command<'a>, Refused> {
    match word {
        b"set" => set(Mode::Set, words),
        b"add" => set(Mode::Add, words),
        b"replace" => set(Mode::Replace, words),
        b"append" => set(Mode::Append, words),
        b"prepend" => set(Mode::Prepend, words),
        b"cas" => set(Mode::Cas, words),
        b"incr" => delta(words, true),
        b"decr" => delta(words, false),
        b"delete" => delete(words),
        b"touch" => touch(words),
        b"flush_all" => flush(words),
        _ => Ok(Command::Rare(words)),
    }
}

#[inline]
fn get(keys: &[u8], cas: bool) -> Result<Command<'_>, Refused> {
    match keys.iter().any(|&octet| octet != b' ') {
        true => Ok(Command::Get(Get { keys, cas, expiry: None })),
        false => Err(Refused::new(ERROR)),
    }
}

/// `gat` with a time and no key finds nothing, and says so.
fn get_and_touch(rest: &[u8], cas: bool) -> Result<Command<'_>, Refused> {
    let (word, keys) = next(rest).ok_or(Refused::new(ERROR))?;
    let expiry = number::signed_32(word).ok_or(Refused::new(BAD_EXPIRY))?;
    Ok(Command::Get(Get { keys, cas, expiry: Some(expiry) }))
}

/// Refuses a line that has neither `count` words nor one more.
fn count_or_one_more(words: &Words<'_>, count: usize) -> Result<(), Refused> {
    let right = words.count() == count || words.count() == count + 1;
    right.then_some(()).ok_or(Refused::new(ERROR))
}

fn key<'a>(words: &Words<'a>, quiet: bool) -> Result<&'a [u8], Refused> {
    let key = words.at(1);
    (key.len() <= KEY_OCTETS_MAX).then_some(key).ok_or(Refused::quietly(BAD_FORMAT, quiet))
}

fn set(mode: Mode, words: Words<'_>) -> Result<Command<'_>, Refused> {
    count_or_one_more(&words, if mode == Mode::Cas { 6 } else { 5 })?;
    let quiet = words.quiet();
    let key = key(&words, quiet)?;
    let numbers = || {
        let flags = number::unsigned_32(words.at(2))?;
        let expiry = number::signed_32(words.at(3))?;
        let octets = number::signed_32(words.at(4))?;
        let cas = if mode == Mode::Cas { number::unsigned(words.at(5))? } else { 0 };
        let octets = (0..=VALUE_OCTETS_MAX).contains(&octets).then_some(octets as u32)?;
        Some(Set { mode, key, flags, expiry, octets, cas, quiet })
    };
    numbers().map(Command::Set).ok_or(Refused::quietly(BAD_FORMAT, quiet))
}

fn delta(words: Words<'_>, up: bool) -> Result<Command<'_>, Refused> {
    count_or_one_more(&words, 3)?;
    let quiet = words.quiet();
    let key = key(&words, quiet)?;
    let delta = number::unsigned(words.at(2)).ok_or(Refused::quietly(BAD_DELTA, quiet))?;
    Ok(Command::Delta { key, delta, up, quiet })
}

/// A time of 0 before `noreply` is what old clients write.
fn delete(words: Words<'_>) -> Result<Command<'_>, Refused> {
    let (zero, last_quiet) = (words.at(2) == b"0", words.quiet());
    let quiet = match words.count() {
        2 => false,
        3 if zero || last_quiet => last_quiet,
        4 if zero && last_quiet => true,
        3 | 4 => return Err(Refused::quietly(DELETE_USAGE, last_quiet)),
        _ => return Err(Refused::new(ERROR)),
    };
    Ok(Command::Delete { key: key(&words, quiet)?, quiet })
}

fn touch(words: Words<'_>) -> Result<Command<'_>, Refused> {
    count_or_one_more(&words, 3)?;
    let quiet = words.quiet();
    let key = key(&words, quiet)?;
    let expiry = number::signed_32(words.at(2)).ok_or(Refused::quietly(BAD_EXPIRY, quiet))?;
    Ok(Command::Touch { key, expiry, quiet })
}

fn flush(words: Words<'_>) -> Result<Command<'_>, Refused> {
    if words.count() > 3 {
        return Err(Refused::new(ERROR));
    }
    let quiet = words.quiet();
    let delay = match words.count() == if quiet { 2 } else { 1 } {
        true => 0,
        false => number::signed_32(words.at(1)).ok_or(Refused::quietly(BAD_EXPIRY, quiet))?,
    };
    Ok(Command::Flush { delay, quiet })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(line: &[u8]) -> &'static str {
        let Err(refused) = parse(line) else { panic!("{:?} was taken", String::from_utf8_lossy(line)) };
        std::str::from_utf8(refused.text).unwrap()
    }

    #[test]
    fn the_key_of_a_get_is_seen_at_a_glance() {
        assert_eq!(sole_key(b"get a\r\nget b\r\n"), Some((&b"a"[..], 7)));
        assert_eq!(sole_key(b"gets ab\n"), Some((&b"ab"[..], 8)));
        assert_eq!(sole_key(b"mg abc v t\r\n"), Some((&b"abc"[..], 12)));
        assert_eq!(sole_key(b"mg abc\r\n"), Some((&b"abc"[..], 8)));
        let long = [b"get ", &[b'k'; 251][..], b"\r\n"].concat();
        for none in
            [&b"get a"[..], b"get a b\r\n", b"get  a\r\n", b"get \r\n", b"set a 0 0 1\r\n", b"mga\n", b"", &long]
        {
            assert_eq!(sole_key(none), None, "{none:?}");
        }
    }

    #[test]
    fn the_line_ends_before_its_end() {
        assert_eq!(line(b"get a\r"), b"get a");
        assert_eq!(line(b"get a"), b"get a");
        assert_eq!(line(b"\r"), b"\r");
        assert_eq!(line(b"get a\0b\r"), b"get a");
    }

    #[test]
    fn storage_commands() {
        let Ok(Command::Set(set)) = parse(b"set key 5 -1 10 noreply") else { panic!() };
        let expected = Set { mode: Mode::Set, key: b"key", flags: 5, expiry: -1, octets: 10, cas: 0, quiet: true };
        assert_eq!(set, expected);
        let Ok(Command::Set(cas)) = parse(b"cas key 0 0 1 77") else { panic!() };
        assert_eq!((cas.mode, cas.cas, cas.quiet), (Mode::Cas, 77, false));
        assert_eq!(refusal(b"set key 0 0"), "ERROR");
        assert_eq!(refusal(b"set key a 0 1"), "CLIENT_ERROR bad command line format");
        assert_eq!(refusal(b"set key 0 0 -1"), "CLIENT_ERROR bad command line format");
        assert_eq!(refusal(b"set key 0 0 2147483646"), "CLIENT_ERROR bad command line format");
        let long = [&b"set "[..], &[b'k'; 251], b" 0 0 1 noreply"].concat();
        assert_eq!(parse(&long).err(), Some(Refused::quietly(BAD_FORMAT, true)));
    }

    #[test]
    fn retrieval_commands() {
        let Ok(Command::Get(get)) = parse(b"gats -5 a  b ") else { panic!() };
        assert_eq!(get, Get { keys: b"a  b ", cas: true, expiry: Some(-5) });
        assert_eq!(refusal(b"get"), "ERROR");
        assert_eq!(refusal(b"get  "), "ERROR");
        assert_eq!(refusal(b"gat x a"), "CLIENT_ERROR invalid exptime argument");
        assert!(parse(b"gat 0").is_ok());
    }

    #[test]
    fn the_others() {
        assert!(matches!(parse(b"delete k 0 noreply"), Ok(Command::Delete { key: b"k", quiet: true })));
        assert_eq!(refusal(b"delete k 5"), "CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]");
        assert_eq!(refusal(b"delete k 0 noreply x"), "ERROR");
        assert!(matches!(parse(b"flush_all 10 noreply"), Ok(Command::Flush { delay: 10, quiet: true })));
        assert!(matches!(parse(b"flush_all noreply"), Ok(Command::Flush { delay: 0, quiet: true })));
        assert_eq!(refusal(b"flush_all x"), "CLIENT_ERROR invalid exptime argument");
        assert_eq!(refusal(b"incr k x"), "CLIENT_ERROR invalid numeric delta argument");
        assert_eq!(refusal(b"touch k x"), "CLIENT_ERROR invalid exptime argument");
        assert_eq!(refusal(b"x"), "ERROR");
        assert!(matches!(parse(b"stats items"), Ok(Command::Rare(words)) if words.at(1) == b"items"));
    }
}
