//! The meta commands: two letters, a key, flags of one letter with or without a word (protocol.txt, "Meta Commands").
//!
//! A flag is looked at when the line is read, in order: the last mistake in a flag's word is the one that is told, an
//! unknown flag or one that stands twice ends the reading (`_meta_flag_preparse` in `proto_text.c` of 1.6.18).

use super::base64;
use super::number;
use super::text::{self, BAD_FORMAT, ERROR, KEY_OCTETS_MAX, Mode, Refused, VALUE_OCTETS_MAX};
use super::words::Words;

/// Words of a line, the command and the key included (`MFLAG_MAX_OPT_LENGTH` less the one that ends the list).
pub const META_WORDS_MAX: usize = 19;
/// Octets of an opaque, its letter included.
pub const OPAQUE_OCTETS_MAX: usize = 32;
/// The answer to a longer one.
pub const OPAQUE_TOO_LONG: &[u8] = b"CLIENT_ERROR opaque token too long";
const TOO_MANY: &[u8] = b"CLIENT_ERROR options flags too long";
/// `mg` has its own words for it.
const TOO_MANY_GET: &[u8] = b"CLIENT_ERROR options flags are too long";
const BAD_WORD: &[u8] = b"CLIENT_ERROR bad token in command line format";
const INVALID_OR_DUPLICATE: &[u8] = b"CLIENT_ERROR invalid or duplicate flag";

/// A key as it was written, and what it stands for.
#[derive(Clone, Copy, Debug)]
pub struct Key<'a> {
    word: &'a [u8],
    decoded: Option<([u8; base64::DECODED_OCTETS_MAX], usize)>,
}

impl<'a> Key<'a> {
    fn plain(word: &'a [u8]) -> Self {
        Key { word, decoded: None }
    }

    /// The octets under which the value is stored.
    #[inline]
    pub fn octets(&self) -> &[u8] {
        match &self.decoded {
            None => self.word,
            Some((octets, length)) => &octets[..*length],
        }
    }

    /// Whether it came as base64.
    #[inline]
    pub fn is_binary(&self) -> bool {
        self.decoded.is_some()
    }
}

/// The flags of a line; what is only told back stays in the words.
#[derive(Clone, Copy, Debug)]
pub struct Flags {
    /// `N`: a miss makes an empty item with this time to live, as written.
    pub vivify: Option<i32>,
    /// `T`: the new time to live, as written.
    pub expiry: Option<i32>,
    /// `R`: who asks within so many seconds of the end wins.
    pub recache: Option<i32>,
    /// `C`: the number to compare with.
    pub cas: Option<u64>,
    /// `u`: the use is not noted.
    pub unnoted: bool,
    /// `v`: the value is told.
    pub value: bool,
    /// `I`: stale values are welcome (`ms`), or the item is made stale (`md`).
    pub invalidate: bool,
    /// `q`: the answer that was to be expected is not told.
    pub quiet: bool,
    /// `F`: the client's own flags.
    pub client_flags: u32,
    /// `M`, 0 where it is not there.
    pub mode: u8,
    /// `D`.
    pub delta: u64,
    /// `J`.
    pub initial: u64,
}

/// A line with its key and flags.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Whose item.
    pub key: Key<'a>,
    /// What was asked.
    pub flags: Flags,
    words: Words<'a>,
    first_flag: usize,
}

impl<'a> Request<'a> {
    /// The flags as written, in their order.
    #[inline]
    pub fn written(&self) -> &[&'a [u8]] {
        self.words.from(self.first_flag)
    }
}

/// A line that can be carried out.
#[derive(Clone, Copy, Debug)]
pub enum Command<'a> {
    /// `mg`
    Get(Request<'a>),
    /// `ms`, followed by a value.
    Set(Set<'a>),
    /// `md`
    Delete(Request<'a>),
    /// `ma`, and whether it goes up.
    Delta(Request<'a>, bool),
    /// `me`: the key, and whether it came as base64.
    Debug(Key<'a>),
    /// `mn`
    Nothing,
}

/// An `ms` line.
#[derive(Clone, Copy, Debug)]
pub struct Set<'a> {
    /// Key and flags.
    pub request: Request<'a>,
    /// How the value is stored.
    pub mode: Mode,
    /// Octets of the value, without the line's end behind it.
    pub octets: u32,
}

/// Reads the line of `m` and `kind`.
///
/// # Errors
/// What memcached would answer.
pub fn parse(kind: u8, words: Words<'_>) -> Result<text::Command<'_>, Refused> {
    let command = match kind {
        b'n' => Command::Nothing,
        b'e' => Command::Debug(debug_key(&words)?),
        b'g' => Command::Get(request(words, TOO_MANY_GET, None)?),
        b's' => Command::Set(set(words)?),
        b'd' => Command::Delete(request(words, TOO_MANY, Some(INVALID_OR_DUPLICATE))?),
        b'a' => delta(words)?,
        _ => return Err(Refused::new(ERROR)),
    };
    Ok(text::Command::Meta(command))
}

/// `unnamed` is told for any mistake in a flag: `md` and `ma` do not say which one it was.
fn request<'a>(
    words: Words<'a>,
    too_many: &'static [u8],
    unnamed: Option<&'static [u8]>,
) -> Result<Request<'a>, Refused> {
    check(&words, too_many)?;
    let mut key = Key::plain(words.at(1));
    let flags = flags(words.from(2), &mut key).map_err(|text| Refused::new(unnamed.unwrap_or(text)))?;
    Ok(Request { key, flags, words, first_flag: 2 })
}

fn check(words: &Words<'_>, too_many: &'static [u8]) -> Result<(), Refused> {
    let refusal = match words.count() {
        0 | 1 => ERROR,
        _ if words.at(1).len() > KEY_OCTETS_MAX => BAD_FORMAT,
        count if count > META_WORDS_MAX => too_many,
        _ => return Ok(()),
    };
    Err(Refused::new(refusal))
}

fn debug_key<'a>(words: &Words<'a>) -> Result<Key<'a>, Refused> {
    let mut key = Key::plain(words.at(1));
    if words.count() < 2 || key.word.len() > KEY_OCTETS_MAX {
        return Err(Refused::new(BAD_FORMAT));
    }
    if words.at(2) == b"b" {
        key.decoded = Some(base64::decode(key.word).ok_or(Refused::new(BAD_FORMAT))?);
    }
    Ok(key)
}

fn delta(words: Words<'_>) -> Result<Command<'_>, Refused> {
    let request = request(words, TOO_MANY, Some(INVALID_OR_DUPLICATE))?;
    let up = match request.flags.mode {
        0 | b'I' | b'+' => true,
        b'D' | b'-' => false,
        _ => return Err(Refused::new(b"CLIENT_ERROR invalid mode for ma M token")),
    };
    Ok(Command::Delta(request, up))
}

/// Where the length is known, the value behind a line that is refused is passed over.
fn set(words: Words<'_>) -> Result<Set<'_>, Refused> {
    check(&words, TOO_MANY)?;
    let octets = number::signed_32(words.at(2)).filter(|o| (0..=VALUE_OCTETS_MAX).contains(o));
    let octets = octets.ok_or(Refused::new(BAD_FORMAT))? as u32;
    let refuse = |text| Refused { text, quiet: false, swallow: u64::from(octets) + 2 };
    let mut key = Key::plain(words.at(1));
    let flags = flags(words.from(3), &mut key).map_err(refuse)?;
    let request = Request { key, flags, words, first_flag: 3 };
    let long_opaque = request.written().iter().any(|f| f[0] == b'O' && f.len() > OPAQUE_OCTETS_MAX);
    let mode = match flags.mode {
        0 | b'S' => Mode::Set,
        b'E' => Mode::Add,
        b'A' => Mode::Append,
        b'P' => Mode::Prepend,
        b'R' => Mode::Replace,
        _ => return Err(refuse(b"CLIENT_ERROR invalid mode for ms M token")),
    };
    match mode {
        _ if long_opaque => Err(refuse(OPAQUE_TOO_LONG)),
        // With a number, both are a comparison.
        Mode::Set | Mode::Replace if flags.cas.is_some() => Ok(Set { request, mode: Mode::Cas, octets }),
        mode => Ok(Set { request, mode, octets }),
    }
}

/// Reads the flags; decodes the key where they say so.
fn flags(words: &[&[u8]], key: &mut Key<'_>) -> Result<Flags, &'static [u8]> {
    let mut flags = NONE;
    let mut seen = 0u128;
    let mut wrong = None;
    for word in words {
        let (letter, argument) = (word[0], &word[1..]);
        if letter >= 127 || seen >> letter & 1 == 1 {
            return Err(b"CLIENT_ERROR duplicate flag");
        }
        seen |= 1 << letter;
        match letter {
            b'v' => flags.value = true,
            b'k' | b's' | b't' | b'c' | b'f' | b'h' | b'l' | b'O' | b'P' | b'L' => {}
            b'q' => flags.quiet = true,
            b'u' => flags.unnoted = true,
            b'I' => flags.invalidate = true,
            b'b' => match base64::decode(key.word) {
                Some(decoded) => key.decoded = Some(decoded),
                None => wrong = Some(&b"CLIENT_ERROR error decoding key"[..]),
            },
            _ => match with_argument(&mut flags, letter, argument) {
                Ok(()) => {}
                // A mistake in F leaves the words of the mistake before it, if there was one.
                Err(None) => wrong = wrong.or(Some(BAD_FORMAT)),
                Err(Some(INVALID)) => return Err(INVALID),
                Err(told) => wrong = told,
            },
        }
    }
    wrong.map_or(Ok(flags), Err)
}

const INVALID: &[u8] = b"CLIENT_ERROR invalid flag";
const NONE: Flags = Flags {
    vivify: None,
    expiry: None,
    recache: None,
    cas: None,
    unnoted: false,
    value: false,
    invalidate: false,
    quiet: false,
    client_flags: 0,
    mode: 0,
    delta: 1,
    initial: 0,
};

/// A flag that has a word; the error is what to answer, none for the general words.
fn with_argument(flags: &mut Flags, letter: u8, argument: &[u8]) -> Result<(), Option<&'static [u8]>> {
    let seconds = || number::signed_32(argument).ok_or(Some(BAD_WORD));
    match letter {
        b'N' => flags.vivify = Some(seconds()?),
        b'T' => flags.expiry = Some(seconds()?),
        b'R' => flags.recache = Some(seconds()?),
        b'F' => flags.client_flags = number::unsigned_32(argument).ok_or(None)?,
        b'C' => flags.cas = Some(number::unsigned(argument).ok_or(Some(BAD_WORD))?),
        b'M' => match argument {
            [mode] => flags.mode = *mode,
            _ => return Err(Some(b"CLIENT_ERROR incorrect length for M token")),
        },
        b'J' => {
            flags.initial =
                number::unsigned(argument).ok_or(Some(&b"CLIENT_ERROR invalid numeric initial value"[..]))?
        }
        b'D' => {
            flags.delta = number::unsigned(argument).ok_or(Some(&b"CLIENT_ERROR invalid numeric delta value"[..]))?
        }
        _ => return Err(Some(INVALID)),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(line: &[u8]) -> (&'static str, u64) {
        match text::parse(line) {
            Err(refused) => (std::str::from_utf8(refused.text).unwrap(), refused.swallow),
            Ok(_) => panic!("{:?} was taken", String::from_utf8_lossy(line)),
        }
    }

    fn taken(line: &[u8]) -> Command<'_> {
        match text::parse(line) {
            Ok(text::Command::Meta(command)) => command,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn flags_are_read() {
        let Command::Get(get) = taken(b"mg Zm9v b v t N30 T-1 R5 Oabc k q") else { panic!() };
        assert_eq!((get.key.octets(), get.key.is_binary()), (&b"foo"[..], true));
        assert_eq!((get.flags.vivify, get.flags.expiry, get.flags.recache), (Some(30), Some(-1), Some(5)));
        assert!(get.flags.value && get.flags.quiet && !get.flags.unnoted);
        assert_eq!(get.written().len(), 9);
        let Command::Set(set) = taken(b"ms key 5 C7 F9 MR I") else { panic!() };
        assert_eq!((set.mode, set.octets, set.request.flags.cas), (Mode::Cas, 5, Some(7)));
        assert_eq!(set.request.flags.client_flags, 9);
        let Command::Delta(_, up) = taken(b"ma key MD D5 J7") else { panic!() };
        assert!(!up);
        assert!(matches!(taken(b"mn"), Command::Nothing));
    }

    #[test]
    fn mistakes_are_told_as_memcached_tells_them() {
        assert_eq!(refused(b"mg"), ("ERROR", 0));
        assert_eq!(refused(b"mg k v v"), ("CLIENT_ERROR duplicate flag", 0));
        assert_eq!(refused(b"mg k E1"), ("CLIENT_ERROR invalid flag", 0));
        assert_eq!(refused(b"mg k Tx"), ("CLIENT_ERROR bad token in command line format", 0));
        assert_eq!(refused(b"mg ! b"), ("CLIENT_ERROR error decoding key", 0));
        assert_eq!(refused(b"md k x"), ("CLIENT_ERROR invalid or duplicate flag", 0));
        assert_eq!(refused(b"ma k Fx"), ("CLIENT_ERROR invalid or duplicate flag", 0));
        assert_eq!(refused(b"ms k"), ("CLIENT_ERROR bad command line format", 0));
        assert_eq!(refused(b"ms k S5"), ("CLIENT_ERROR bad command line format", 0));
        assert_eq!(refused(b"ms k 5 S5"), ("CLIENT_ERROR invalid flag", 7));
        assert_eq!(refused(b"ms k 5 Mxx"), ("CLIENT_ERROR incorrect length for M token", 7));
        assert_eq!(refused(b"ms k 5 Mx"), ("CLIENT_ERROR invalid mode for ms M token", 7));
        assert_eq!(refused(&[&b"ms k 5 O"[..], &[b'o'; 32]].concat()), ("CLIENT_ERROR opaque token too long", 7));
        assert_eq!(refused(&[&b"mg k"[..], &b" k".repeat(18)].concat()).0, "CLIENT_ERROR options flags are too long");
        assert_eq!(refused(b"me"), ("CLIENT_ERROR bad command line format", 0));
    }
}
