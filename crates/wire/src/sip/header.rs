//! Header field names: the ones that have a place in a message's table, recognised without regard to case and in their
//! compact form (RFC 3261 section 7.3.3 and the IANA registry).

use crate::swar;

/// Makes the enum and the name table from one list.
macro_rules! headers {
    ($($(#[doc = $doc:literal])* $name:ident $text:literal $compact:literal,)+) => {
        /// A header field that the scanner locates.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Header { $($(#[doc = $doc])* $name,)+ }

        impl Header {
            /// All of them.
            pub const ALL: &'static [Header] = &[$(Header::$name,)+];

            /// Its name as the standards write it.
            pub fn name(self) -> &'static str {
                match self { $(Header::$name => $text,)+ }
            }

            /// The compact form, if there is one.
            pub fn compact(self) -> Option<u8> {
                match self { $(Header::$name => match $compact { b' ' => None, c => Some(c) },)+ }
            }
        }

        const NAMES: &[(Header, &str, u8)] = &[$((Header::$name, $text, $compact),)+];
    };
}

headers! {
    /// RFC 3261 section 20.42.
    Via "Via" b'v',
    /// RFC 3261 section 20.20.
    From "From" b'f',
    /// RFC 3261 section 20.39.
    To "To" b't',
    /// RFC 3261 section 20.8.
    CallId "Call-ID" b'i',
    /// RFC 3261 section 20.16.
    CSeq "CSeq" b' ',
    /// RFC 3261 section 20.10.
    Contact "Contact" b'm',
    /// RFC 3261 section 20.14.
    ContentLength "Content-Length" b'l',
    /// RFC 3261 section 20.15.
    ContentType "Content-Type" b'c',
    /// RFC 3261 section 20.12.
    ContentEncoding "Content-Encoding" b'e',
    /// RFC 3261 section 20.11.
    ContentDisposition "Content-Disposition" b' ',
    /// RFC 3261 section 20.22.
    MaxForwards "Max-Forwards" b' ',
    /// RFC 3261 section 20.19.
    Expires "Expires" b' ',
    /// RFC 3261 section 20.23.
    MinExpires "Min-Expires" b' ',
    /// RFC 3261 section 20.33.
    RetryAfter "Retry-After" b' ',
    /// RFC 3326.
    Reason "Reason" b' ',
    /// RFC 3261 section 20.41.
    UserAgent "User-Agent" b' ',
    /// RFC 3261 section 20.35.
    Server "Server" b' ',
    /// RFC 3262 section 7.2.
    RAck "RAck" b' ',
    /// RFC 3262 section 7.1.
    RSeq "RSeq" b' ',
    /// RFC 3515.
    ReferTo "Refer-To" b'r',
    /// RFC 3892.
    ReferredBy "Referred-By" b'b',
    /// RFC 3891.
    Replaces "Replaces" b' ',
    /// RFC 3261 section 20.34.
    Route "Route" b' ',
    /// RFC 3261 section 20.30.
    RecordRoute "Record-Route" b' ',
    /// RFC 3261 section 20.32.
    Require "Require" b' ',
    /// RFC 3261 section 20.29.
    ProxyRequire "Proxy-Require" b' ',
    /// RFC 3261 section 20.37.
    Supported "Supported" b'k',
    /// RFC 3261 section 20.40.
    Unsupported "Unsupported" b' ',
    /// RFC 3261 section 20.5.
    Allow "Allow" b' ',
    /// RFC 6665 section 8.2.1.
    Event "Event" b'o',
    /// RFC 6665 section 8.2.3.
    SubscriptionState "Subscription-State" b' ',
    /// RFC 3261 section 20.7.
    Authorization "Authorization" b' ',
    /// RFC 3261 section 20.28.
    ProxyAuthorization "Proxy-Authorization" b' ',
    /// RFC 3261 section 20.44.
    WwwAuthenticate "WWW-Authenticate" b' ',
    /// RFC 3261 section 20.27.
    ProxyAuthenticate "Proxy-Authenticate" b' ',
    /// RFC 3261 section 20.17.
    Date "Date" b' ',
    /// RFC 3261 section 20.43.
    Warning "Warning" b' ',
    /// RFC 3261 section 20.1.
    Accept "Accept" b' ',
    /// RFC 3261 section 20.36.
    Subject "Subject" b's',
    /// RFC 4028.
    SessionExpires "Session-Expires" b'x',
    /// RFC 4028.
    MinSe "Min-SE" b' ',
    /// RFC 3325.
    PAssertedIdentity "P-Asserted-Identity" b' ',
    /// RFC 3325.
    PPreferredIdentity "P-Preferred-Identity" b' ',
    /// An expired draft that the field uses.
    RemotePartyId "Remote-Party-ID" b' ',
    /// RFC 3323.
    Privacy "Privacy" b' ',
    /// RFC 5806.
    Diversion "Diversion" b' ',
    /// RFC 7044.
    HistoryInfo "History-Info" b' ',
    /// RFC 7315.
    PChargingVector "P-Charging-Vector" b' ',
    /// RFC 3327.
    Path "Path" b' ',
    /// RFC 8224.
    Identity "Identity" b'y',
    /// RFC 3911.
    Join "Join" b' ',
    /// RFC 7989.
    SessionId "Session-ID" b' ',
}

/// How many header fields have a place in a message's table.
pub const HEADERS: usize = NAMES.len();

impl Header {
    /// Its index, below [`HEADERS`].
    #[inline]
    pub(crate) const fn index(self) -> usize {
        self as usize
    }

    /// Its bit in a set of header fields.
    #[inline]
    pub(crate) const fn bit(self) -> u64 {
        1 << (self as u64)
    }

    /// From a name or compact form; none for a header field that has no place in the table.
    pub fn from_name(name: &[u8]) -> Option<Header> {
        recognise(name, 0, name.len())
    }
}

/// The name of a header field of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderName<'a> {
    /// Which one, if the scanner knows it.
    pub known: Option<Header>,
    /// As written, without white space around it.
    pub text: &'a [u8],
}

impl HeaderName<'_> {
    /// Whether this is the header field of that name, whatever the case. Compact forms are not resolved here: use
    /// [`HeaderName::known`].
    pub fn is(&self, name: &str) -> bool {
        self.text.eq_ignore_ascii_case(name.as_bytes())
    }
}

/// Names are compared as three little-endian words in lower case, so the longest known name has 24 octets.
const NAME_OCTETS_MAX: usize = 24;
const SLOTS: usize = 256;

type Words = [u64; 3];

/// A place of the table of names.
#[derive(Clone, Copy)]
struct Slot {
    words: Words,
    header: Header,
}

/// No text has these words: in lower case, each octet is zero or has the bit 0x20.
const FREE: Slot = Slot { words: [1, 0, 0], header: Header::Via };

/// Names and compact letters by the hash of their words, with linear probing; made at compile time.
static TABLE: [Slot; SLOTS] = {
    let mut table = [FREE; SLOTS];
    let mut i = 0;
    while i < HEADERS {
        let (header, name, compact) = NAMES[i];
        table = with(table, Slot { words: words_of(name.as_bytes()), header });
        if compact != b' ' {
            table = with(table, Slot { words: words_of(&[compact]), header });
        }
        i += 1;
    }
    table
};

const fn with(mut table: [Slot; SLOTS], new: Slot) -> [Slot; SLOTS] {
    let mut slot = hash(&new.words);
    while table[slot].words[0] != FREE.words[0] {
        slot = (slot + 1) % SLOTS;
    }
    table[slot] = new;
    table
}

/// Setting 0x20 makes letters lower case and leaves digits and the hyphen alone.
const LOWER: u64 = 0x2020_2020_2020_2020;

const fn words_of(name: &[u8]) -> Words {
    let mut words = [0u64; 3];
    let mut i = 0;
    while i < name.len() {
        words[i / 8] |= ((name[i] | 0x20) as u64) << (8 * (i % 8));
        i += 1;
    }
    words
}

/// Found by trying: gives each name a slot of its own. A name that is added may share one, at the cost of a step.
const MULTIPLIER: u64 = 0xf581_3b6f_9eb4_8e87;

#[inline]
const fn hash(w: &Words) -> usize {
    let mixed = w[0] ^ w[1].rotate_left(23) ^ w[2].rotate_left(41);
    (mixed.wrapping_mul(MULTIPLIER) >> 56) as usize
}

/// Recognises the name at `at` if a colon follows it at once: with the place of the colon. None tells nothing.
#[inline]
pub(super) fn recognise_to_colon(octets: &[u8], at: usize) -> Option<(Header, usize)> {
    let first = swar::word(octets, at)?;
    let colon = swar::mark(first, b':');
    if colon != 0 {
        let first = name_word(first, colon);
        return Some((find_by(&[first, 0, 0], |slot| slot[0] == first)?, at + swar::before(colon)));
    }
    let second = swar::word(octets, at + 8)?;
    let colon = swar::mark(second, b':');
    if colon != 0 {
        let words = [first | LOWER, name_word(second, colon), 0];
        let header = find_by(&words, |slot| slot[0] == words[0] && slot[1] == words[1])?;
        return Some((header, at + 8 + swar::before(colon)));
    }
    let third = swar::word(octets, at + 16)?;
    let colon = swar::mark(third, b':');
    if colon == 0 {
        return None;
    }
    let words = [first | LOWER, second | LOWER, name_word(third, colon)];
    Some((find(words)?, at + 16 + swar::before(colon)))
}

/// The octets of a word that stand before the marked colon, in lower case.
#[inline]
fn name_word(word: u64, colon: u64) -> u64 {
    // The lowest bit that is set is the highest of the colon's octet.
    (word | LOWER) & ((colon ^ (colon - 1)) >> 8)
}

/// Recognises the name of `len` octets at `at`. Octets behind the name may be read, but do not matter.
#[inline]
pub(super) fn recognise(octets: &[u8], at: usize, len: usize) -> Option<Header> {
    if len == 0 || len > NAME_OCTETS_MAX {
        return None;
    }
    find(load(octets, at, len))
}

#[inline]
fn find(words: Words) -> Option<Header> {
    find_by(&words, |slot| slot[0] == words[0] && slot[1] == words[1] && slot[2] == words[2])
}

/// `same` compares what the words of a name say: of a short one the first is enough, because it has the name's end.
#[inline]
fn find_by(words: &Words, same: impl Fn(&Words) -> bool) -> Option<Header> {
    let mut at = hash(words);
    loop {
        let slot = &TABLE[at];
        if same(&slot.words) {
            return Some(slot.header);
        }
        if slot.words[0] == FREE.words[0] {
            return None;
        }
        at = (at + 1) % SLOTS;
    }
}

#[inline]
fn load(octets: &[u8], at: usize, len: usize) -> Words {
    let Some(window) = octets.get(at..at + NAME_OCTETS_MAX) else {
        // Near the end of the message: copy what there is.
        let mut copy = [0u8; NAME_OCTETS_MAX];
        let name = octets.get(at..at + len).unwrap_or_default();
        copy[..name.len()].copy_from_slice(name);
        return [word(&copy, 0, len), word(&copy, 8, len), word(&copy, 16, len)];
    };
    if len <= 8 {
        [word(window, 0, len), 0, 0]
    } else {
        [word(window, 0, len), word(window, 8, len), word(window, 16, len)]
    }
}

/// The word at `at` of a window, in lower case, with zero for what lies behind `len`.
#[inline]
fn word(window: &[u8], at: usize, len: usize) -> u64 {
    let Some(octets) = window.get(at..at + 8).and_then(|o| <[u8; 8]>::try_from(o).ok()) else { return 0 };
    let mask = match len.saturating_sub(at) {
        0 => return 0,
        n if n >= 8 => u64::MAX,
        n => (1u64 << (8 * n)) - 1,
    };
    (u64::from_le_bytes(octets) | LOWER) & mask
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_recognised_in_any_case_and_compact() {
        for &header in Header::ALL {
            for name in [header.name().to_owned(), header.name().to_uppercase(), header.name().to_lowercase()] {
                assert_eq!(Header::from_name(name.as_bytes()), Some(header), "{name}");
            }
            if let Some(c) = header.compact() {
                assert_eq!(Header::from_name(&[c]), Some(header));
                assert_eq!(Header::from_name(&[c.to_ascii_uppercase()]), Some(header));
            }
        }
        const { assert!(HEADERS <= 64) };
    }

    #[test]
    fn others_are_not() {
        for name in ["", "X-Header", "Vi", "Viaa", "C%6Fntact", "z", "Content-Lengthy", "P-Asserted-Identity-And-More-"]
        {
            assert_eq!(Header::from_name(name.as_bytes()), None, "{name}");
        }
    }

    #[test]
    fn what_follows_the_name_does_not_matter() {
        assert_eq!(recognise(b"xxTo: somebody with a long name", 2, 2), Some(Header::To));
        assert_eq!(recognise(b"l:0", 0, 1), Some(Header::ContentLength));
    }

    #[test]
    fn both_ways_to_recognise_agree() {
        let mut names: Vec<Vec<u8>> = Header::ALL.iter().map(|h| h.name().as_bytes().to_vec()).collect();
        names.extend(Header::ALL.iter().filter_map(|h| h.compact()).map(|c| vec![c]));
        names.extend((0..=25).flat_map(|n| [b'x', 0, 1, 0xff, b'\n'].map(|o| vec![o; n])));
        for name in names {
            let line = [&name[..], b": value of it, long enough"].concat();
            let one = recognise(&line, 0, name.len());
            let other = recognise_to_colon(&line, 0);
            assert_eq!(other, one.map(|h| (h, name.len())), "{}", String::from_utf8_lossy(&name));
        }
    }
}
