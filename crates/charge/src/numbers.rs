//! Telephone numbers as they are written, brought to one form: the digits of the international number (ITU-T E.164).
//!
//! Only a number that begins with `+` says what it is (RFC 3966 section 5.1.4). What all others are depends on who
//! wrote them, so the operator says it: which digits stand for the world, which for the country, and what a number with
//! none of them is. Nothing is guessed: a number that no rule covers is not understood, and told as such.

use crate::tariff::PREFIX_DIGITS_MAX;

/// Digits of a country code.
const COUNTRY_DIGITS_MAX: usize = 3;
/// Prefixes of each kind.
const PREFIXES_MAX: usize = 32;

trunkline_kit::choices! {
    /// What a number without a prefix is.
    pub enum Bare {
        /// It is not understood.
        Unknown = "unknown",
        /// It is international already.
        International = "international",
        /// It is a number of the country.
        National = "national",
    }
}

trunkline_kit::section! {
    /// How numbers are written.
    pub struct Numbers {
        /// The country code of national numbers, such as "33".
        country: String = String::new() => Restart;
        /// What stands before a national number, such as ["0"].
        national: Vec<String> = Vec::new() => Restart;
        /// What stands before an international number, besides +, such as ["00"].
        international: Vec<String> = Vec::new() => Restart;
        /// What a number without any of them is: "unknown", "international" or "national".
        bare: Bare = Bare::Unknown => Restart;
        /// What is taken away first: prefixes of trunks and of carrier selection, the longest that fits, once.
        strip: Vec<String> = Vec::new() => Restart;
    }
}

impl Numbers {
    /// What is wrong with them: keys and what to do.
    pub fn mistakes(&self) -> Vec<(&'static str, String)> {
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|octet| octet.is_ascii_digit());
        let mut wrong = Vec::new();
        if !self.country.is_empty() && (!digits(&self.country) || self.country.len() > COUNTRY_DIGITS_MAX) {
            wrong.push(("country", format!("country: 1 to {COUNTRY_DIGITS_MAX} digits, such as \"33\"")));
        }
        let needs_country = !self.national.is_empty() || self.bare == Bare::National;
        if self.country.is_empty() && needs_country {
            wrong.push(("country", "country: national numbers need the country code".to_owned()));
        }
        for (key, list) in [("national", &self.national), ("international", &self.international)] {
            if let Some(bad) = list.iter().find(|prefix| !digits(prefix)) {
                wrong.push((key, format!("{key}: '{bad}' is not made of digits")));
            }
        }
        if self.strip.iter().any(String::is_empty) {
            wrong.push(("strip", "strip: an empty prefix".to_owned()));
        }
        for (key, list) in
            [("national", &self.national), ("international", &self.international), ("strip", &self.strip)]
        {
            if list.len() > PREFIXES_MAX {
                wrong.push((key, format!("{key}: more than {PREFIXES_MAX} prefixes")));
            }
        }
        wrong
    }

    /// The international digits of a number as SIP or a bill writes it; none where the rules do not say.
    ///
    /// Parameters (`;phone-context=..`), a scheme and a host are left out, and so are the separators of RFC 3966.
    pub fn international(&self, written: &str) -> Option<String> {
        let bare = subscriber(written);
        let bare = self.stripped(&bare);
        if let Some(global) = bare.strip_prefix('+') {
            return whole(global.to_owned());
        }
        if !bare.bytes().all(|octet| octet.is_ascii_digit()) {
            return None;
        }
        // The longest prefix decides: "00" before "0".
        let fits = |list: &[String]| list.iter().filter(|p| bare.starts_with(p.as_str())).map(String::len).max();
        let (abroad, home) = (fits(&self.international), fits(&self.national));
        match (abroad, home) {
            (Some(abroad), home) if home.is_none_or(|home| abroad >= home) => whole(bare[abroad..].to_owned()),
            (_, Some(home)) => whole(format!("{}{}", self.country, &bare[home..])),
            (_, None) => match self.bare {
                Bare::International => whole(bare.to_owned()),
                Bare::National => whole(format!("{}{bare}", self.country)),
                Bare::Unknown => None,
            },
        }
    }

    /// Whether what is written was dialled: digits, `*` and `#`, whatever they mean. A name is not.
    pub fn is_dialled(written: &str) -> bool {
        let bare = subscriber(written);
        let digits = bare.strip_prefix('+').unwrap_or(&bare);
        !digits.is_empty() && digits.bytes().all(|octet| octet.is_ascii_digit() || matches!(octet, b'*' | b'#'))
    }

    fn stripped<'a>(&self, number: &'a str) -> &'a str {
        let fits = self.strip.iter().filter(|prefix| number.starts_with(prefix.as_str())).map(String::len).max();
        fits.map_or(number, |octets| &number[octets..])
    }
}

/// The user part of what is written, without visual separators.
fn subscriber(written: &str) -> String {
    let text = written.trim();
    let scheme = text.split_once(':').filter(|(scheme, _)| matches!(*scheme, "tel" | "sip" | "sips"));
    let user = scheme.map_or(text, |(_, rest)| rest).split(['@', ';']).next().unwrap_or_default();
    user.chars().filter(|c| !matches!(c, '-' | '.' | '(' | ')' | ' ')).collect()
}

/// At most fifteen digits, and some.
fn whole(digits: String) -> Option<String> {
    let sound = (1..=PREFIX_DIGITS_MAX).contains(&digits.len()) && digits.bytes().all(|octet| octet.is_ascii_digit());
    sound.then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn france() -> Numbers {
        let list = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Numbers {
            country: "33".to_owned(),
            national: list(&["0"]),
            international: list(&["00"]),
            bare: Bare::Unknown,
            strip: list(&["9#", "1010"]),
        }
    }

    #[test]
    fn numbers_as_they_are_written_come_to_one_form() {
        let rules = france();
        for (written, digits) in [
            ("+33 1 23-45.67(89)", Some("33123456789")),
            ("tel:+33123456789;phone-context=x", Some("33123456789")),
            ("sip:0033123456789@host", Some("33123456789")),
            ("0123456789", Some("33123456789")),
            ("0044207", Some("44207")),
            ("9#0123456789", Some("33123456789")),
            ("10100123456789", Some("33123456789")),
            ("123456789", None),
            ("alice", None),
            ("", None),
            ("+", None),
            ("+1234567890123456", None),
        ] {
            assert_eq!(rules.international(written).as_deref(), digits, "{written}");
        }
    }

    #[test]
    fn what_no_rule_covers_is_not_guessed() {
        let none = Numbers::default();
        assert_eq!(none.international("0033123456789"), None);
        assert_eq!(none.international("+33123456789").as_deref(), Some("33123456789"));
        let bare = |bare| Numbers { bare, ..france() };
        assert_eq!(bare(Bare::International).international("33612").as_deref(), Some("33612"));
        assert_eq!(bare(Bare::National).international("612").as_deref(), Some("33612"));
    }

    #[test]
    fn rules_that_cannot_be_are_told() {
        let wrong = Numbers { country: "x".to_owned(), ..france() };
        assert_eq!(wrong.mistakes().len(), 1);
        let missing = Numbers { country: String::new(), ..france() };
        assert_eq!(missing.mistakes()[0].1, "country: national numbers need the country code");
        assert!(france().mistakes().is_empty() && Numbers::default().mistakes().is_empty());
        assert_eq!(Numbers { strip: vec![String::new()], ..france() }.mistakes().len(), 1);
    }
}
