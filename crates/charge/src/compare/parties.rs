//! Numbers and names in one word each, so that millions of calls fit into memory.

use crate::numbers::Numbers;
use hashbrown::HashMap;

/// Names that are no numbers and can be shown again; further ones are shown as `?`.
pub const NAMES_MAX: usize = 1_000_000;
/// Octets of a name that are kept.
const NAME_OCTETS_MAX: usize = 64;
/// Marks what is no number.
const NAME: u64 = 1 << 63;
/// Marks, of what is no number, digits that no rule covers.
const DIALLED: u64 = 1 << 62;
/// Names of those who do not want to be named, or cannot be (RFC 3323 section 4.1.1.3, TS 24.229; what bills write).
const WITHHELD: [&str; 6] = ["anonymous", "unavailable", "restricted", "private", "withheld", "unknown"];

/// A party of a call: an international number, or a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Party(u64);

impl Party {
    /// Nobody was told.
    pub const NONE: Party = Party(0);

    /// The digits of an international number: a 1 before them keeps zeros at the beginning.
    pub fn number(digits: &str) -> Party {
        let sum = digits.bytes().filter(u8::is_ascii_digit).take(15);
        Party(sum.fold(1, |key, digit| key * 10 + u64::from(digit - b'0')))
    }

    /// The digits, of a number.
    pub fn digits(self) -> Option<String> {
        (self.0 != 0 && self.0 & NAME == 0).then(|| self.0.to_string()[1..].to_owned())
    }

    /// Whether it is digits that no rule for numbers covers: which number they are is not known.
    pub fn is_not_understood(self) -> bool {
        self.0 & NAME != 0 && self.0 & DIALLED != 0
    }
}

/// What parties were called.
#[derive(Clone, Debug, Default)]
pub struct Parties {
    names: HashMap<u64, Box<str>>,
}

impl Parties {
    /// The party that is written so; nobody where the name is withheld.
    pub fn of(&mut self, written: &str, numbers: &Numbers) -> Party {
        let written = written.trim();
        let user = written.split(['@', ';']).next().unwrap_or_default();
        if written.is_empty() || WITHHELD.iter().any(|name| user.eq_ignore_ascii_case(name)) {
            return Party::NONE;
        }
        if let Some(digits) = numbers.international(written) {
            return Party::number(&digits);
        }
        let dialled = if Numbers::is_dialled(written) { DIALLED } else { 0 };
        let key = hash(&written.to_ascii_lowercase()) & !DIALLED | NAME | dialled;
        if self.names.len() < NAMES_MAX {
            self.names.entry(key).or_insert_with(|| written.chars().take(NAME_OCTETS_MAX).collect::<String>().into());
        }
        Party(key)
    }

    /// A party for people: a number with `+`.
    pub fn text(&self, party: Party) -> String {
        match party.digits() {
            Some(digits) => format!("+{digits}"),
            None if party == Party::NONE => String::new(),
            None => self.names.get(&party.0).map_or_else(|| "?".to_owned(), ToString::to_string),
        }
    }

    /// A Call-ID in a word; 0 is none.
    pub fn reference(text: &str) -> u64 {
        let text = text.trim();
        if text.is_empty() { 0 } else { hash(text).max(1) }
    }
}

/// FNV-1a, 64 bits, mixed once more so that near texts are far apart.
fn hash(text: &str) -> u64 {
    let sum =
        text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, octet| (h ^ u64::from(octet)).wrapping_mul(0x100_0000_01b3));
    (sum ^ (sum >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_come_back() {
        let (mut parties, numbers) = (Parties::default(), Numbers::default());
        let shown = |parties: &mut Parties, text: &str| {
            let party = parties.of(text, &numbers);
            parties.text(party)
        };
        for (written, text) in
            [("+33 6-12", "+33612"), ("+0012", "+0012"), ("Alice", "Alice"), ("0612", "0612"), ("", ""), (" ", "")]
        {
            assert_eq!(shown(&mut parties, written), text, "{written}");
        }
        for withheld in ["Anonymous", "anonymous@anonymous.invalid", "UNAVAILABLE"] {
            assert_eq!(parties.of(withheld, &numbers), Party::NONE);
        }
        let vague = |parties: &mut Parties, text: &str| parties.of(text, &numbers).is_not_understood();
        let told = ["0612", "*21#", "112", "alice", "a12", "+33612", ""].map(|text| vague(&mut parties, text));
        assert_eq!(told, [true, true, true, false, false, false, false]);
        assert_eq!(parties.of("ALICE", &numbers), parties.of("alice", &numbers));
        assert_ne!(parties.of("0612", &numbers), parties.of("+0612", &numbers));
        assert_eq!((Parties::reference(""), Parties::reference(" a ")), (0, Parties::reference("a")));
    }
}
