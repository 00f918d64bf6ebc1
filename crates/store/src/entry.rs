//! What the index of a day holds of a call: 16 octets each for its caller, its callee, its Call-ID and other numbers.
//!
//! An entry is a word of 64 bits that stands for the text, then the call's key (`crate::key`), so that entries in order
//! have those of one text together, by start. Words of numbers keep what a text begins with: texts with a common
//! beginning lie together, whatever the case of their ASCII letters. A word may stand for several texts, and an entry
//! for a row that has changed since: who finds an entry looks at the row.
//!
//! A number is written in digits of four bits, first digit highest: the digits `0` to `9` and `+`, `*`, `#` take one,
//! `a` to `p` two, any other octet three; 0 ends it. A text of more than 15 keeps 12, then a hash of the whole whose
//! last digit is not 0: that tells it from a text that is there to its end.

use crate::filter::{Filter, Pattern, Test, TextField};
use core::ops::RangeInclusive;

/// Octets of an entry.
pub const ENTRY_OCTETS: usize = 16;
/// Digits of four bits that a word keeps of a text that it holds whole.
const WHOLE_DIGITS: u32 = 15;
/// Digits that a word keeps of the beginning of a longer text.
const KEPT_DIGITS: u32 = 12;

/// What of a call an entry is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// User part of From.
    Caller = 0,
    /// User part of To.
    Callee = 1,
    /// Call-ID.
    CallId = 2,
    /// Numbers beside those of From and To.
    Other = 3,
}

/// All kinds, in the order of their numbers.
pub const KINDS: [Kind; 4] = [Kind::Caller, Kind::Callee, Kind::CallId, Kind::Other];

/// What to look up.
#[derive(Clone, Debug, PartialEq)]
pub struct Lookup {
    /// Among which entries.
    pub kind: Kind,
    /// Between which words.
    pub words: RangeInclusive<u64>,
    /// What the text must match, where the word holds it whole.
    pub pattern: Option<Pattern>,
}

/// The word of a caller, callee or other number.
pub fn number_word(text: &str) -> u64 {
    let (word, digits) = digits(text);
    if digits <= WHOLE_DIGITS {
        return word;
    }
    let hash = hash(text);
    word & !0xffff | (hash >> 20 & 0xfff) << 4 | (hash % 15 + 1)
}

/// The word of a Call-ID: a hash, without the case of ASCII letters, which a filter does not look at.
pub fn call_id_word(text: &str) -> u64 {
    hash(text)
}

/// The entry of a word and a key.
pub fn entry(word: u64, key: i64) -> u128 {
    u128::from(word) << 64 | u128::from(key as u64)
}

/// The word of an entry.
pub fn word(entry: u128) -> u64 {
    (entry >> 64) as u64
}

/// The key of an entry.
pub fn key(entry: u128) -> i64 {
    entry as u64 as i64
}

impl Lookup {
    /// The call or calls with this Call-ID.
    pub fn call_id(text: &str) -> Self {
        let word = call_id_word(text);
        Lookup { kind: Kind::CallId, words: word..=word, pattern: None }
    }

    /// The callers or callees that match.
    pub fn number(kind: Kind, pattern: &Pattern) -> Self {
        Lookup { kind, words: words_of_pattern(pattern), pattern: Some(pattern.clone()) }
    }

    /// What leads to the calls that a filter can pass: an exact Call-ID, else the number that is known furthest; of
    /// several lookups, a call is found by any. Empty where no index helps.
    pub fn of_filter(filter: &Filter) -> Vec<Lookup> {
        let mut best: (usize, Vec<Lookup>) = (0, vec![]);
        for test in filter.required() {
            let Test::Text { field, pattern } = test else { continue };
            let known = 1 + pattern.prefix().len() + usize::from(pattern.as_exact().is_some());
            let lookups: &[Kind] = match field {
                TextField::CallId => match pattern.as_exact() {
                    Some(text) => return vec![Lookup::call_id(text)],
                    None => continue,
                },
                TextField::Caller => &[Kind::Caller],
                TextField::Callee => &[Kind::Callee],
                TextField::Number => &[Kind::Caller, Kind::Callee, Kind::Other],
                TextField::UserAgent | TextField::Verdict | TextField::Codec => continue,
            };
            if known > best.0 {
                best = (known, lookups.iter().map(|kind| Lookup::number(*kind, pattern)).collect());
            }
        }
        best.1
    }

    /// The first and the last entry that there can be of its words.
    pub fn entries(&self) -> (u128, u128) {
        (entry(*self.words.start(), 0), entry(*self.words.end(), i64::MAX))
    }

    /// Whether the row of an entry between the words may be wanted.
    pub fn may_match(&self, word: u64) -> bool {
        self.pattern.as_ref().is_none_or(|pattern| word_matches(word, pattern) != Some(false))
    }
}

/// Between which words those of the numbers lie that match, and some more.
pub fn words_of_pattern(pattern: &Pattern) -> RangeInclusive<u64> {
    match pattern.as_exact() {
        Some(text) => number_word(text)..=number_word(text),
        None => words_from(pattern.prefix()),
    }
}

/// Whether a word lies between those of a pattern exactly if its number matches: of a number that a word holds whole,
/// and of a beginning that all words keep.
pub fn words_are_exact(pattern: &Pattern) -> bool {
    match pattern.as_exact() {
        Some(text) => digits(text).1 <= WHOLE_DIGITS,
        None => pattern.is_prefix() && digits(pattern.prefix()).1 <= KEPT_DIGITS,
    }
}

/// Whether the number of a word matches; none if the word does not hold it whole.
pub fn word_matches(word: u64, pattern: &Pattern) -> Option<bool> {
    let mut octets = [0; WHOLE_DIGITS as usize];
    whole_text(word, &mut octets).map(|text| pattern.matches_octets(text))
}

/// The words of all texts that begin so, and some more.
fn words_from(prefix: &str) -> RangeInclusive<u64> {
    let (word, digits) = digits(prefix);
    let open = u64::MAX.checked_shr(4 * digits.min(KEPT_DIGITS)).unwrap_or(0);
    word & !open..=word | open
}

/// The digits of a text, from the highest down, as far as there is room; and how many it has, or more than
/// [`WHOLE_DIGITS`].
fn digits(text: &str) -> (u64, u32) {
    let (mut word, mut count) = (0u64, 0u32);
    for octet in text.bytes() {
        let (code, length) = CODES[usize::from(octet)];
        let end = count + u32::from(length);
        if end > WHOLE_DIGITS {
            // At least 13 are there: one octet takes three at most.
            return (word, end);
        }
        word |= u64::from(code) << (64 - 4 * end);
        count = end;
    }
    (word, count)
}

/// The digits of each octet, and how many.
const CODES: [(u16, u8); 256] = {
    let mut codes = [(0, 0); 256];
    let mut octet = 0;
    while octet < 256 {
        let lower = (octet as u8).to_ascii_lowercase();
        codes[octet] = match lower {
            b'0'..=b'9' => ((lower - b'0') as u16 + 1, 1),
            b'+' => (11, 1),
            b'*' => (12, 1),
            b'#' => (13, 1),
            b'a'..=b'p' => (14 << 4 | (lower - b'a') as u16, 2),
            _ => (15 << 8 | lower as u16, 3),
        };
        octet += 1;
    }
    codes
};

/// The text of a word, in lower case, if the word holds it whole.
fn whole_text(word: u64, octets: &mut [u8; WHOLE_DIGITS as usize]) -> Option<&[u8]> {
    if word & 15 != 0 {
        return None;
    }
    let mut rest = word;
    let mut next = || {
        let digit = (rest >> 60) as u8;
        rest <<= 4;
        digit
    };
    let mut length = 0;
    for slot in octets.iter_mut() {
        *slot = match next() {
            0 => break,
            11 => b'+',
            12 => b'*',
            13 => b'#',
            14 => b'a' + next(),
            15 => next() << 4 | next(),
            digit => b'0' + digit - 1,
        };
        length += 1;
    }
    octets.get(..length)
}

/// FNV-1a, 64 bits, over the octets with ASCII letters in lower case; it is in files and never changes.
fn hash(text: &str) -> u64 {
    let add = |h: u64, o: u8| (h ^ u64::from(o.to_ascii_lowercase())).wrapping_mul(0x0000_0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_are_what_files_hold() {
        for (text, word) in [
            ("", 0),
            ("0", 0x1000_0000_0000_0000),
            ("+442071234567", 0xb553_1823_4567_8000),
            ("*21#", 0xc32d_0000_0000_0000),
            ("Ap", 0xe0ef_0000_0000_0000),
            ("bob-1", 0xe1ee_e1f2_d200_0000),
            ("\u{e9}", 0xfc3f_a900_0000_0000),
            ("\0", 0xf000_0000_0000_0000),
            ("123456789012345", 0x2345_6789_a123_4560),
        ] {
            assert_eq!(number_word(text), word, "{text}");
        }
        // One digit more than are kept whole: the end is a hash.
        let long = number_word("+123456789012345");
        assert_eq!(long >> 16, 0xb234_5678_9a12);
        assert_ne!(long & 15, 0);
        assert_ne!(number_word("+123456789012346"), long);
        // FNV-1a of "foobar", from the vectors of its authors.
        assert_eq!(call_id_word("FooBar"), 0x8594_4171_f739_67e8);
    }

    fn number() -> impl Strategy<Value = String> {
        prop_oneof!["[0-9+*#]{0,20}", "[a-zA-Z.]{0,9}", "\\PC{0,6}", "[0-9]{9,13}\0?[aZ]?", "(12){0,8}[12]{0,3}"]
    }

    proptest! {
        #[test]
        fn what_matches_is_found(text in number(), cut in 0usize..20, tail in "[0-9a*]{0,2}") {
            let word = number_word(&text);
            let prefix: String = text.chars().take(cut).collect();
            let swap = |c: char| if c.is_ascii_uppercase() { c.to_ascii_lowercase() } else { c.to_ascii_uppercase() };
            let swapped: String = text.chars().map(swap).collect();
            prop_assert_eq!(number_word(&swapped), word);
            let escaped = |t: &str| Pattern::exact(t).text();
            let around = format!("{}*{tail}", escaped(&prefix));
            for pattern in [escaped(&text), escaped(&swapped), escaped(&prefix) + "*", "*".into(), around] {
                let pattern = Pattern::parse(&pattern);
                let lookup = Lookup::number(Kind::Caller, &pattern);
                let found = lookup.words.contains(&word) && lookup.may_match(word);
                prop_assert!(found || !pattern.matches(&text), "{:?} {:?} {:016x}", text, pattern, word);
                let within = words_of_pattern(&pattern).contains(&word);
                let agree = within == pattern.matches(&text);
                prop_assert!(!words_are_exact(&pattern) || agree, "{:?} {:?}", text, pattern);
            }
        }

        #[test]
        fn a_word_tells_whether_it_holds_its_text(text in number()) {
            let mut octets = [0; 15];
            match whole_text(number_word(&text), &mut octets) {
                Some(held) => prop_assert!(held == text.to_ascii_lowercase().as_bytes()),
                None => prop_assert!(text.len() > 4),
            }
        }
    }
}
