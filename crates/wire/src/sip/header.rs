//! Header field names: the ones that have a place in a message's table, recognised without regard to case and in their
//! compact form (RFC 3261 section 7.3.3 and the IANA registry).

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
const SLOTS: usize = 128;
const EMPTY: u8 = 0xff;

type Words = [u64; 3];

const WORDS: [Words; HEADERS] = {
    let mut table = [[0u64; 3]; HEADERS];
    let mut i = 0;
    while i < HEADERS {
        table[i] = words_of(NAMES[i].1.as_bytes());
        i += 1;
    }
    table
};

/// Hash of the words -> index in [`NAMES`], with linear probing; made at compile time.
const TABLE: [u8; SLOTS] = {
    let mut table = [EMPTY; SLOTS];
    let mut i = 0;
    while i < HEADERS {
        let mut slot = hash(&WORDS[i]);
        while table[slot] != EMPTY {
            slot = (slot + 1) % SLOTS;
        }
        table[slot] = i as u8;
        i += 1;
    }
    table
};

/// Compact letter -> index in [`NAMES`].
const COMPACT: [u8; 256] = {
    let mut table = [EMPTY; 256];
    let mut i = 0;
    while i < HEADERS {
        let c = NAMES[i].2;
        if c != b' ' {
            table[c as usize] = i as u8;
            table[c.to_ascii_uppercase() as usize] = i as u8;
        }
        i += 1;
    }
    table
};

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

#[inline]
const fn hash(w: &Words) -> usize {
    let mixed = w[0] ^ w[1].rotate_left(23) ^ w[2].rotate_left(41);
    (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 57) as usize
}

/// Recognises the name of `len` octets at `at`. Octets behind the name may be read, but do not matter.
#[inline]
pub(super) fn recognise(octets: &[u8], at: usize, len: usize) -> Option<Header> {
    if len == 1 {
        return entry(COMPACT[usize::from(*octets.get(at)?)]);
    }
    if len == 0 || len > NAME_OCTETS_MAX {
        return None;
    }
    let words = load(octets, at, len);
    let mut slot = hash(&words);
    loop {
        let index = TABLE[slot];
        if WORDS.get(usize::from(index))? == &words {
            return entry(index);
        }
        slot = (slot + 1) % SLOTS;
    }
}

#[inline]
fn entry(index: u8) -> Option<Header> {
    Header::ALL.get(usize::from(index)).copied()
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
}
