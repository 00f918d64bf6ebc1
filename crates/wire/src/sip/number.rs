//! Numbers as people search for them: of a user part its escapes decoded (RFC 3261 section 19.1.2), its parameters
//! split off (RFC 3966 section 5, RFC 4694 section 5) and, where it is a telephone number, its visual separators
//! removed (RFC 3966 section 5.1.1).

use super::grammar::{Params, split, trim, unescape};
use super::uri::{Scheme, Uri};
use std::borrow::Cow;

/// Digits that a text without `+` has at least to be taken for a number although nothing says so. Shorter ones with
/// separators in them are names of extensions and lines, as `10-20`.
const DIGITS_MIN: usize = 7;

impl<'a> Uri<'a> {
    /// Who is meant, as people search for it: the number of a tel URI or a user part that is one, else the user part.
    ///
    /// Field: `sip:+44...;npdi;rn=+44...@host` is common, with and without `user=phone`, and so are `%2B` for `+` and
    /// separators in user parts. No name has an unescaped `;` in it.
    pub fn number(&self) -> Cow<'a, str> {
        let says_phone = || self.params.get("user").is_some_and(|p| p.text().eq_ignore_ascii_case(b"phone"));
        match self.scheme {
            Scheme::Tel => plain(unescape(trim(self.user)), true),
            Scheme::Sip | Scheme::Sips => plain(unescape(trim(split_user(self.user).0)), says_phone()),
            Scheme::Urn | Scheme::Other => unescape(self.user),
        }
    }

    /// Parameters of the number: of a tel URI its own, of others those within the user part.
    pub fn number_params(&self) -> Params<'a> {
        match self.scheme {
            Scheme::Tel => self.params,
            _ => Params::new(split_user(self.user).1),
        }
    }
}

/// A user part and its parameters. One that begins with a semicolon is a name.
fn split_user(user: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memchr(b';', user) {
        Some(end) if end > 0 => split(user, end),
        _ => (user, &[]),
    }
}

/// A decoded user part as it is searched for: a telephone number without separators, parameters and white space around
/// it, anything else as it is. `is_phone` says that it is known to be a number (`tel:`, `user=phone`). What is plain
/// already comes back as it is.
pub fn plain(text: Cow<'_, str>, is_phone: bool) -> Cow<'_, str> {
    if !text.bytes().any(|o| is_separator(o) || o == b';') {
        return text;
    }
    // Field: senders that escape the semicolon, too.
    let number = text.split(';').next().unwrap_or_default().trim();
    if is_number(number, is_phone) {
        return Cow::Owned(number.chars().filter(|c| !is_separator_char(*c)).collect());
    }
    text
}

/// What somebody looks for: as [`plain`], with `*` for any characters.
pub fn sought(text: &str) -> Cow<'_, str> {
    let digits: String = text.chars().filter(|c| *c != '*').collect();
    if !text.bytes().any(is_separator) || !is_number(digits.trim(), false) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().filter(|c| !is_separator_char(*c)).collect())
}

/// Whether a text is a telephone number (RFC 3966 section 3): known to be one, one with a `+`, or so many digits that
/// it is no address of IPv4.
fn is_number(text: &str, is_phone: bool) -> bool {
    let (plus, rest) = match text.strip_prefix('+') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let digits = rest.bytes().filter(u8::is_ascii_digit).count();
    let more: &[u8] = if is_phone { b"*#ABCDEFabcdef" } else { b"" };
    let fits = |o: u8| o.is_ascii_digit() || is_separator(o) || more.contains(&o);
    digits > 0 && rest.bytes().all(fits) && (plus || is_phone || digits >= DIGITS_MIN && !is_address(text))
}

/// Up to four numbers between dots, as in `10.0.0.1`, and the beginning of such a text.
fn is_address(text: &str) -> bool {
    let is_part = |part: &str| part.is_empty() || part.parse::<u8>().is_ok();
    (2..=4).contains(&text.split('.').count()) && text.split('.').all(is_part)
}

/// Visual separators; RFC 3966 has no blank among them, the field has.
fn is_separator(octet: u8) -> bool {
    matches!(octet, b'-' | b'.' | b'(' | b')' | b' ')
}

fn is_separator_char(c: char) -> bool {
    u8::try_from(c).is_ok_and(is_separator)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sip::NameAddr;
    use proptest::prelude::*;

    fn number(value: &str) -> String {
        NameAddr::parse(value.as_bytes()).uri().number().into_owned()
    }

    /// As seen in the trackers of Kamailio, OpenSIPS, FreeSWITCH, Homer and VoIPmonitor, and in the RFCs.
    #[test]
    fn the_forms_that_are_seen_are_read() {
        for (value, expected) in [
            ("<tel:+44-20-7946-0114;phone-context=example.org>;tag=1", "+442079460114"),
            ("<sip:%2B442079460214;npdi;rn=+442071234567@gw.example.org:5060;user=phone>", "+442079460214"),
            // RFC 3966 section 6.
            ("tel:+1-201-555-0123", "+12015550123"),
            ("<tel:7042;phone-context=example.com>", "7042"),
            ("tel:863-1234;phone-context=+1-914-555", "8631234"),
            ("<TEL:+1.201.555.0123>", "+12015550123"),
            // RFC 4694 section 6.
            ("<tel:+1-800-123-4567;cic=+1-6789>", "+18001234567"),
            ("<tel:+1-202-533-1234;npdi;rn=+1-202-544-0000>", "+12025331234"),
            // RFC 3261 section 19.1.6, which equals it with its tel URI.
            ("<sip:+358-555-1234567;postd=pp22@foo.com;user=phone>", "+3585551234567"),
            ("<sip:+358-555-1234567;phone-context=5;tsp=a.b@foo.com;user=phone>", "+3585551234567"),
            // kamailio#1173
            ("<sip:1234567;phone-context=+52-33@ims.tel.org;user=phone>", "1234567"),
            ("<sip:491234567891;phone-context=ims.tel.org@ims.tel.org;user=phone>", "491234567891"),
            // opensips#1228: no space between the name and the address.
            ("\"84999999999\"<sip:84999999999@10.23.0.5:5060>;reason=unconditional", "84999999999"),
            // freeswitch#2056
            ("<tel:74951667226>;reason=unconditional;counter=1;privacy=off", "74951667226"),
            ("<sip:+1(650)555.1234;isub=2@gw.example>", "+16505551234"),
            ("<sip:%2b44%2020%207946%200114@gw>", "+442079460114"),
            ("<sip:020-7946-0114@gw>", "02079460114"),
            ("<sip:(020)79460114@gw>", "02079460114"),
            ("<sip:+442079460114%3Bnpdi%3Brn=%2B442071234567@gw>", "+442079460114"),
            ("<sip:+442079460114:secret@gw>", "+442079460114"),
            ("<sip:*21*+44-20#@gw;user=phone>", "*21*+44-20#"),
            ("<sip:*97@gw;user=phone>", "*97"),
            ("<sips:1001@[2001:db8::1]:5061>", "1001"),
            // Names stay names.
            ("Anonymous <sip:anonymous@anonymous.invalid>", "anonymous"),
            ("<sip:j.doe@example.com>", "j.doe"),
            ("<sip:j-doe;line=2@example.com>", "j-doe"),
            ("<sip:10-20@pbx>", "10-20"),
            ("<sip:192.168.100.10@pbx>", "192.168.100.10"),
            ("<sip:;odd@pbx>", ";odd"),
            ("<sip:a%3bb@pbx>", "a;b"),
            ("<sip:gw.example.com>", ""),
            ("<urn:service:sos>", "service:sos"),
            ("<tel:>", ""),
            ("", ""),
        ] {
            assert_eq!(number(value), expected, "{value}");
        }
    }

    #[test]
    fn parameters_of_a_number_are_kept_apart() {
        for value in ["<sip:+4420;npdi;rn=+4421@gw;user=phone>", "<tel:+4420;npdi;rn=+4421>"] {
            let params = NameAddr::parse(value.as_bytes()).uri().number_params();
            assert!(params.get("npdi").is_some() && params.get("user").is_none(), "{value}");
            assert_eq!(params.get("rn").map(|p| p.text()), Some(&b"+4421"[..]), "{value}");
        }
    }

    #[test]
    fn what_is_sought_may_have_separators() {
        for (text, expected) in [
            ("+44 20 7946 0114", "+442079460114"),
            ("+44-20-7946*", "+44207946*"),
            ("*-7946-0114", "*79460114"),
            ("020 7946 0114", "02079460114"),
            ("+4420*", "+4420*"),
            ("10-20", "10-20"),
            ("10.0.0.*", "10.0.0.*"),
            ("192.168.100.*", "192.168.100.*"),
            ("192.168.100.10", "192.168.100.10"),
            ("j.doe*", "j.doe*"),
            ("*", "*"),
            ("", ""),
        ] {
            assert_eq!(sought(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_octets_are_read(value in proptest::collection::vec(any::<u8>(), 0..64)) {
            let address = NameAddr::parse(&value);
            let _ = (address.uri().number(), address.uri().number_params().into_iter().count());
        }

        /// What was read reads the same again, also as a number that is sought.
        #[test]
        fn a_number_is_read_once(
            scheme in "(sip|sips|tel|TEL):",
            user in r"[+]?([0-9a-dj*#%().;= -]|%2B|%3B|%20|%2D){0,24}",
            tail in "(@gw)?(;user=phone)?",
        ) {
            let value = format!("<{scheme}{user}{tail}>");
            let address = NameAddr::parse(value.as_bytes());
            let is_phone = !scheme.starts_with("sip") || tail.contains("user=phone");
            let once = address.uri().number().into_owned();
            let twice = plain(Cow::Borrowed(&once), is_phone).into_owned();
            prop_assert_eq!(&plain(Cow::Borrowed(&twice), is_phone), &twice, "{}", value);
            prop_assert_eq!(&once, &twice, "{}", value);
        }

        #[test]
        fn what_is_sought_is_read_once(text in r"[+]?[0-9a-d*().; -]{0,24}") {
            let once = sought(&text).into_owned();
            prop_assert_eq!(sought(&once), once.as_str());
        }
    }
}
