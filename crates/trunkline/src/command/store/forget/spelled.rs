//! A number as people write and copy it, and as it stands in rows.

use trunkline_wire::sip::number::plain;
use trunkline_wire::sip::{NameAddr, Scheme, Uri, unescape};

/// Digits of a number that somebody dials from another country, at least: what is shorter is no number of that plan.
const INTERNATIONAL_DIGITS_MIN: usize = 8;
/// What most networks have dialled in place of `+` (ITU-T E.164 recommends it).
const PREFIX: &str = "00";
/// The prefix within a country, which is not dialled behind its code, as letterheads have it: `+44 (0)20`.
const TRUNK: &str = "(0)";

/// What rows may have of a number that was given, the likeliest first: else what is asked to leave would stay, and the
/// receipt would say that nothing was there.
pub fn forms(given: &str) -> Vec<String> {
    let typed = typed(given);
    let mut forms = as_kept(&typed);
    let is_international = typed.starts_with('+') || typed.starts_with(PREFIX);
    if is_international && typed.contains(TRUNK) {
        // No digit of it: what is dialled has none there.
        forms = as_kept(&typed.replacen(TRUNK, " ", 1));
    }
    let others: Vec<_> = forms.iter().filter_map(|form| with_the_other_prefix(form)).collect();
    forms.extend(others);
    if typed != given.trim() {
        forms.extend(as_kept(given));
    }
    forms
}

/// The same number with `00` in place of `+`, or the other way round; none of what is no such number.
pub fn with_the_other_prefix(number: &str) -> Option<String> {
    let digits = number.strip_prefix('+').unwrap_or(number);
    let is_one = |text: &str| {
        let is_plain = text.bytes().all(|octet| octet.is_ascii_digit()) && !text.starts_with('0');
        is_plain && text.len() >= INTERNATIONAL_DIGITS_MIN
    };
    match digits.strip_prefix(PREFIX) {
        Some(rest) => is_one(rest).then(|| rest.to_owned()),
        None => is_one(digits).then(|| format!("{PREFIX}{digits}")),
    }
}

/// Without what nobody sees, and with digits, `+` and `-` of ASCII: address books put marks of direction around
/// numbers, other scripts have digits of their own.
fn typed(given: &str) -> String {
    const ZEROS: [char; 4] = ['\u{660}', '\u{6F0}', '\u{966}', '\u{FF10}'];
    let plain = |c: char| match c {
        '\u{AD}'
        | '\u{61C}'
        | '\u{200B}'..='\u{200F}'
        | '\u{202A}'..='\u{202E}'
        | '\u{2060}'..='\u{2069}'
        | '\u{FEFF}' => None,
        '\u{FF0B}' => Some('+'),
        '\u{2010}'..='\u{2015}' | '\u{2212}' => Some('-'),
        '\u{A0}' | '\u{2000}'..='\u{200A}' | '\u{202F}' | '\u{3000}' => Some(' '),
        c => {
            let value = ZEROS.iter().filter_map(|zero| u32::from(c).checked_sub(u32::from(*zero)));
            Some(value.filter(|value| *value < 10).find_map(|value| char::from_digit(value, 10)).unwrap_or(c))
        }
    };
    given.trim().chars().filter_map(plain).collect::<String>().trim().to_owned()
}

/// What is kept of what stands in a header: the number alone, without `tel:` and without separators. Of what has a host
/// and no scheme it is the whole, as user parts have an `@` in them at times, or else what is before the host. A host
/// with its port is nobody's.
fn as_kept(given: &str) -> Vec<String> {
    let address = NameAddr::parse(given.trim().as_bytes());
    let uri = address.uri();
    let without_scheme = || uri.scheme == Scheme::Other;
    let cut = |at: u8| Some(uri.core.split_at(uri.core.iter().position(|octet| *octet == at)?));
    if cut(b'@').is_some_and(|(user, _)| without_scheme() && !user.contains(&b':')) {
        let address = [&b"sip:"[..], uri.core].concat();
        let user = plain(Uri::parse(&address).number(), false).into_owned();
        return vec![unescape(uri.core).into_owned(), user];
    }
    match cut(b':').filter(|_| without_scheme()) {
        Some((_, port)) if port[1..].iter().all(u8::is_ascii_digit) => Vec::new(),
        _ => vec![plain(uri.number(), false).into_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trunkline_kit::forgotten::Forgotten;

    #[test]
    fn a_number_is_found_as_people_write_it() {
        for (given, likeliest) in [
            ("+44 (0)20 7946 0702", "+442079460702"),
            ("0044 (0) 20 7946 0702", "00442079460702"),
            ("\u{202A}+442079460702\u{202C}", "+442079460702"),
            ("\u{FF0B}\u{FF14}\u{FF14}2079460702", "+442079460702"),
            ("+\u{664}\u{664}2079460702", "+442079460702"),
            ("+44\u{2011}20\u{A0}7946\u{2013}0702", "+442079460702"),
            ("00442079460702", "00442079460702"),
            ("(0)100", "(0)100"),
            ("020 7946 0702", "02079460702"),
        ] {
            assert_eq!(forms(given)[0], likeliest, "{given}");
        }
        assert_eq!(forms("+442079460702")[1..], ["00442079460702"]);
        assert_eq!(forms("00442079460702")[1..], ["442079460702"]);
        assert_eq!(forms("0044 (0)20 7946 0702")[1..], ["442079460702"]);
        // As it was given, too: rows may have it so.
        assert_eq!(forms("+\u{664}\u{664}2079460702")[2..], ["+\u{664}\u{664}2079460702"]);
        for none in ["100", "0012", "alice", "00alice-and-bob", "000442079460702", "02079460702"] {
            assert_eq!(with_the_other_prefix(none), None, "{none}");
        }
    }

    #[test]
    fn a_number_is_what_is_kept_of_a_header() {
        for (given, kept) in [
            ("+442079460702", "+442079460702"),
            (" 442079460702 ", "442079460702"),
            ("tel:+44-20-7946-0702", "+442079460702"),
            ("TEL:+442079460702;phone-context=x", "+442079460702"),
            ("<sip:+442079460702@pbx.example;user=phone>;tag=1", "+442079460702"),
            ("sip:%2B442079460702@pbx.example", "+442079460702"),
            ("\"Ann\" <sip:ann@pbx.example>", "ann"),
            ("+44 (20) 7946-0702", "+442079460702"),
            ("100", "100"),
            ("a-b.c", "a-b.c"),
        ] {
            assert_eq!(as_kept(given), [kept], "{given}");
        }
        for (given, kept) in [
            ("442079460702@pbx", ["442079460702@pbx", "442079460702"]),
            ("+44-20-7946-0702@pbx:5060;user=phone", ["+44-20-7946-0702@pbx:5060", "+442079460702"]),
            ("<%2B442079460702@[2001:db8::1]>;tag=1", ["+442079460702@[2001:db8::1]", "+442079460702"]),
            ("ann@pbx.example", ["ann@pbx.example", "ann"]),
        ] {
            assert_eq!(as_kept(given), kept, "{given}");
        }
        for no_number in
            ["", "tel:", "sip:pbx.example", "sip:44*@pbx", "44207%", "a b", "im:ann@pbx*", "pbx.example:5060"]
        {
            assert!(as_kept(no_number).iter().all(|name| Forgotten::new(name).is_none()), "{no_number}");
        }
    }
}
