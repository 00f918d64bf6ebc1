//! A number that is to be forgotten, where it stands in texts that stay: its characters become `*`, so that lengths and
//! places of everything else are as they were.

/// A number, or another name of a party, as it was given, without `+`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forgotten {
    name: String,
}

/// Names that are shorter, or have something else than digits, are believed only where a party's name stands: `100` is
/// also a limit, and `alice` a word.
const PLAIN_DIGITS_MIN: usize = 6;
/// What stands for a character.
const MASK: u8 = b'*';

impl Forgotten {
    /// With or without `+` before it; none where there is nothing else, or where it is no name: patterns, control
    /// characters, quotes.
    pub fn new(name: &str) -> Option<Forgotten> {
        let name = name.trim().trim_start_matches('+');
        let fits = |c: char| !c.is_control() && !c.is_whitespace() && !"*?%\"\\<>".contains(c);
        (!name.is_empty() && name.chars().all(fits)).then(|| Forgotten { name: name.to_owned() })
    }

    /// The name, without `+`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A text without the number; none if it does not name it.
    pub fn out_of(&self, text: &str) -> Option<String> {
        let mut octets = text.as_bytes().to_vec();
        // What is replaced are whole characters, by ASCII.
        (self.mask(&mut octets) > 0).then(|| String::from_utf8_lossy(&octets).into_owned())
    }

    /// A text of JSON without the number: only texts in it are looked at, and only their characters change. None if it
    /// is not named.
    pub fn out_of_json(&self, json: &[u8]) -> Option<Vec<u8>> {
        let (mut octets, mut found, mut at) = (json.to_vec(), 0, 0);
        while let Some(begin) = json[at..].iter().position(|octet| *octet == b'"').map(|more| at + more + 1) {
            let end = end_of_text(json, begin);
            at = (end + 1).min(json.len());
            // A key is a word of ours, unless it cannot be one.
            let is_key = json[at..].iter().find(|octet| !octet.is_ascii_whitespace()) == Some(&b':');
            if is_key && !self.is_plain_number() {
                continue;
            }
            // For the sake of what stands before and behind it, an escaped character is a space.
            let mut text = unescaped(&json[begin..end]);
            if self.mask(&mut text) > 0 {
                found += 1;
                let masked = text.iter().zip(&mut octets[begin..end]).filter(|(new, _)| **new == MASK);
                masked.for_each(|(_, old)| *old = MASK);
            }
        }
        (found > 0).then_some(octets)
    }

    /// Replaces it in a text; how often.
    fn mask(&self, text: &mut [u8]) -> usize {
        let name = self.name.as_bytes();
        let (mut found, mut at) = (0, 0);
        while let Some(begin) = text[at..].windows(name.len()).position(|part| part == name).map(|more| at + more) {
            let end = begin + name.len();
            at = begin + 1;
            if self.stands_alone(text, begin, end) {
                text[begin..end].fill(MASK);
                found += 1;
                at = end;
            }
            if at + name.len() > text.len() {
                break;
            }
        }
        found
    }

    fn stands_alone(&self, text: &[u8], begin: usize, end: usize) -> bool {
        let (before, behind) = (&text[..begin], &text[end..]);
        let is_word = |octet: &u8| octet.is_ascii_alphanumeric() || *octet >= 0x80;
        // As it stands in an address of the web.
        let is_plus = before.ends_with(b"%2B") || before.ends_with(b"%2b");
        if !is_plus && before.last().is_some_and(is_word) || behind.first().is_some_and(is_word) {
            return false;
        }
        let is_begun = is_plus || before.last().is_none_or(|octet| b":+<\"'=,;".contains(octet));
        let is_ended = behind.first().is_none_or(|octet| b"@>\"';,&".contains(octet));
        self.is_plain_number() || is_begun && is_ended
    }

    fn is_plain_number(&self) -> bool {
        self.name.len() >= PLAIN_DIGITS_MIN && self.name.bytes().all(|octet| octet.is_ascii_digit())
    }
}

/// Whether a text is a party's name that was forgotten.
pub fn is_forgotten(text: &str) -> bool {
    let name = text.rsplit(':').next().unwrap_or_default();
    let name = name.split('@').next().unwrap_or_default().trim_start_matches('+');
    name.len() >= 3 && name.bytes().all(|octet| octet == MASK)
}

/// Where the text ends that begins at a place: at its quote, or with the octets.
fn end_of_text(json: &[u8], begin: usize) -> usize {
    let mut at = begin;
    while let Some(octet) = json.get(at) {
        match octet {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    json.len()
}

/// As long as it was, with spaces in place of escapes.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let (mut plain, mut at) = (text.to_vec(), 0);
    while at < plain.len() {
        let octets = match (plain[at], plain.get(at + 1)) {
            (b'\\', Some(b'u')) => 6,
            (b'\\', _) => 2,
            _ => 0,
        };
        let end = (at + octets).min(plain.len());
        plain[at..end].fill(b' ');
        at = end.max(at + 1);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn out(number: &str, text: &str) -> String {
        Forgotten::new(number).unwrap().out_of(text).unwrap_or_else(|| text.to_owned())
    }

    #[test]
    fn a_number_goes_out_of_a_text_and_nothing_else_does() {
        for (text, without) in [
            ("+44207001234", "+***********"),
            ("sip:44207001234@pbx.example", "sip:***********@pbx.example"),
            ("caller:+44207001234 one-way", "caller:+*********** one-way"),
            ("/calls?q=%2B44207001234&x=1", "/calls?q=%2B***********&x=1"),
            ("44207001234, 44207001234", "***********, ***********"),
            ("ünï +44207001234 ünï", "ünï +*********** ünï"),
            ("442070012345 1442070012 x44207001234", "442070012345 1442070012 x44207001234"),
            ("", ""),
        ] {
            assert_eq!(out("+44207001234", text), without);
            assert_eq!(out(" 44207001234 ", text), without);
        }
    }

    #[test]
    fn a_short_number_and_a_word_are_believed_only_where_a_party_stands() {
        for (text, without) in [
            ("100", "***"),
            ("sip:100@pbx", "sip:***@pbx"),
            ("number:100", "number:***"),
            ("loss above 100 packets", "loss above 100 packets"),
            ("10.0.0.100", "10.0.0.100"),
            ("rtt = 100 ms", "rtt = 100 ms"),
        ] {
            assert_eq!(out("100", text), without);
        }
        assert_eq!(out("alice", "sip:alice@x, malice, alice called"), "sip:*****@x, malice, alice called");
        for no_number in ["", "+", "  ", "44*", "a b", "a\"b", "4\n4"] {
            assert_eq!(Forgotten::new(no_number), None, "{no_number:?}");
        }
    }

    #[test]
    fn json_keeps_its_form_and_its_length() {
        let number = Forgotten::new("+44207001234").unwrap();
        let json = br#"{"at":44207001234,"x":["\n44207001234","a\"44207001234\u0031"],"44207001234": {}, "y":"o"}"#;
        let without = number.out_of_json(json).unwrap();
        let expected = br#"{"at":44207001234,"x":["\n***********","a\"***********\u0031"],"***********": {}, "y":"o"}"#;
        assert_eq!(String::from_utf8_lossy(&without), String::from_utf8_lossy(expected));
        assert_eq!(number.out_of_json(br#"{"x":"y"}"#), None);
        // A word of ours stays what it is.
        let fired = Forgotten::new("fired").unwrap();
        assert_eq!(
            fired.out_of_json(br#"{"fired":[1],"k":"sip:fired@x"}"#).unwrap(),
            br#"{"fired":[1],"k":"sip:*****@x"}"#
        );
        for cut in 0..json.len() {
            let _ = number.out_of_json(&json[..cut]);
        }
    }

    #[test]
    fn what_was_forgotten_is_known_again() {
        for (text, is) in [
            ("+***********", true),
            ("sip:***@x", true),
            ("***", true),
            ("**", false),
            ("*** core ***", false),
            ("+44207001234", false),
            ("", false),
        ] {
            assert_eq!(is_forgotten(text), is, "{text}");
        }
    }
}
