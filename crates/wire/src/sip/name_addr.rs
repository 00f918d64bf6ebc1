//! Addresses of header fields: From, To, Contact, Refer-To, Route and the like (RFC 3261 section 20.10).

use super::grammar::{Number, Param, Params, after, is_space, is_token_octet, number, quoted_end, trim, unquote};
use super::uri::{Uri, is_list};
use super::{Oddities, Oddity};
use crate::swar;

/// An address with its display name and parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct NameAddr<'a> {
    /// The display name without quotes; escapes stay. Empty if there is none.
    pub display: &'a [u8],
    /// The URI as written.
    pub uri: &'a [u8],
    /// The parameters of the header field, not those of the URI.
    pub params: Params<'a>,
    /// Whether the URI stood in angle brackets.
    pub bracketed: bool,
}

impl<'a> NameAddr<'a> {
    /// Splits one address; whatever it is, it comes apart somehow.
    pub fn parse(value: &'a [u8]) -> NameAddr<'a> {
        let value = trim(value);
        match open_bracket(value) {
            Some(open) => {
                let inner = &value[open + 1..];
                let close = swar::find(inner, b'>').unwrap_or(inner.len());
                NameAddr {
                    display: unquote(trim(&value[..open])),
                    uri: trim(&inner[..close]),
                    params: Params::new(after(inner, close + 1)),
                    bracketed: true,
                }
            }
            // Without brackets, parameters belong to the header field (RFC 3261 section 20).
            None => {
                let end = memchr::memchr(b';', value).unwrap_or(value.len());
                NameAddr {
                    display: &[],
                    uri: trim(&value[..end]),
                    params: Params::new(&value[end..]),
                    bracketed: false,
                }
            }
        }
    }

    /// The URI, split.
    pub fn uri(&self) -> Uri<'a> {
        Uri::parse(self.uri)
    }

    /// The tag parameter of From and To.
    pub fn tag(&self) -> Option<&'a [u8]> {
        self.param("tag").map(|p| p.text())
    }

    /// The first parameter of this name.
    pub fn param(&self, name: &str) -> Option<Param<'a>> {
        self.params.get(name)
    }

    /// Names what is odd about an address, as written in a header field.
    pub(super) fn check(value: &[u8], odd: &mut Oddities) {
        let value = trim(value);
        let address = NameAddr::parse(value);
        match open_bracket(value) {
            Some(open) => {
                check_display(trim(&value[..open]), odd);
                let inner = &value[open + 1..];
                let close = memchr::memchr(b'>', inner);
                odd.insert_if(close.is_none(), Oddity::AngleUnterminated);
                let inner = &inner[..close.unwrap_or(inner.len())];
                odd.insert_if(inner.iter().any(|&o| is_space(o)), Oddity::AddrSpecSpaces);
            }
            None => {
                odd.insert_if(memchr::memchr2(b'?', b',', address.uri).is_some(), Oddity::AddrSpecNeedsBrackets);
                odd.insert_if(address.uri.iter().any(|&o| is_space(o)), Oddity::DisplayNameInvalid);
            }
        }
        odd.insert_if(address.params.has_empty(), Oddity::ExtraSeparators);
        address.uri().check(odd);
    }
}

/// The angle bracket that opens the address; one in a quoted display name does not count.
#[inline]
fn open_bracket(value: &[u8]) -> Option<usize> {
    let start = match value.first() {
        Some(b'"') => quoted_end(value, 0).unwrap_or(0),
        _ => 0,
    };
    swar::find_soon(&value[start..], b'<').map(|n| start + n)
}

/// A display name is a quoted string or tokens with white space between them.
fn check_display(display: &[u8], odd: &mut Oddities) {
    if display.first() == Some(&b'"') {
        match quoted_end(display, 0) {
            Some(n) => odd.insert_if(n != display.len(), Oddity::DisplayNameInvalid),
            None => odd.insert(Oddity::QuoteUnterminated),
        }
    } else {
        // Field: octets of UTF-8 stand unquoted in display names; they harm nobody and are let pass.
        let plain = |&o: &u8| is_token_octet(o) || is_space(o) || o >= 0x80;
        odd.insert_if(!display.iter().all(plain), Oddity::DisplayNameInvalid);
    }
}

/// One value of Contact (RFC 3261 section 20.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contact<'a> {
    /// The address; its URI is `*` when all bindings are meant.
    pub address: NameAddr<'a>,
}

/// Parameters of Contact that standards name.
const CONTACT_PARAMS: &[&str] = &[
    "q",
    "expires",
    "+sip.instance",
    "reg-id",
    "pub-gruu",
    "temp-gruu",
    "audio",
    "video",
    "methods",
    "events",
    "mobility",
    "isfocus",
    "automata",
    "class",
    "duplex",
    "application",
    "control",
    "data",
    "description",
    "extensions",
    "schemes",
    "type",
    "language",
    "priority",
    "text",
    "actor",
    "received",
    "mp",
    "rc",
    "np",
    "ob",
    "temp-gruu-cookie",
];

impl<'a> Contact<'a> {
    /// Splits one value.
    pub fn parse(value: &'a [u8]) -> Contact<'a> {
        Contact { address: NameAddr::parse(value) }
    }

    /// Whether it is `*`: all bindings (RFC 3261 section 10.2.2).
    pub fn is_star(&self) -> bool {
        self.address.uri == b"*"
    }

    /// The expires parameter, seconds.
    pub fn expires(&self) -> Option<u32> {
        self.address.param("expires").and_then(|p| number(p.text()).value())
    }

    /// The q parameter in thousandths, 0..=1000.
    pub fn q_thousandths(&self) -> Option<u16> {
        let text = self.address.param("q")?.text();
        let (whole, part) = match memchr::memchr(b'.', text) {
            Some(n) => (&text[..n], &text[n + 1..]),
            None => (text, &b""[..]),
        };
        let mut q = u32::from(number(whole).value()? > 0) * 1000;
        for (digit, weight) in part.iter().zip([100, 10, 1]) {
            q += u32::from(digit.checked_sub(b'0').filter(|d| *d < 10)?) * weight;
        }
        Some(q.min(1000) as u16)
    }

    pub(super) fn check(value: &[u8], odd: &mut Oddities) {
        let contact = Contact::parse(value);
        if contact.is_star() {
            return;
        }
        NameAddr::check(value, odd);
        let expires = contact.address.param("expires").map(|p| number(p.text()));
        odd.insert_if(expires.is_some_and(|n| !matches!(n, Number::Value(_))), Oddity::ContactExpiresInvalid);
        odd.insert_if(!contact.address.uri().headers.is_empty(), Oddity::ContactUriHeaders);
        let unknown = |p: Param<'_>| !p.name.starts_with(b"+") && !CONTACT_PARAMS.iter().any(|name| p.is(name));
        odd.insert_if(contact.address.params.into_iter().any(unknown), Oddity::ContactParamUnknown);
    }
}

/// What is odd about From or To, which hold exactly one address.
pub(super) fn check_single(value: &[u8], odd: &mut Oddities) {
    odd.insert_if(is_list(value) && open_bracket(value).is_none(), Oddity::AddrSpecNeedsBrackets);
    NameAddr::check(value, odd);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn odd(value: &str) -> String {
        let mut odd = Oddities::NONE;
        check_single(value.as_bytes(), &mut odd);
        odd.to_string()
    }

    #[test]
    fn splits_the_usual_forms() {
        let a = NameAddr::parse(b"\"Alice <a>\" <sip:alice@example.com;user=phone>;tag=x1");
        assert_eq!(
            (a.display, a.uri, a.tag()),
            (&b"Alice <a>"[..], &b"sip:alice@example.com;user=phone"[..], Some(&b"x1"[..]))
        );
        let a = NameAddr::parse(b"sip:alice@example.com;tag=x2");
        assert_eq!((a.uri, a.tag()), (&b"sip:alice@example.com"[..], Some(&b"x2"[..])));
        let a = NameAddr::parse(b"caller<sip:caller@example.com>;tag=323");
        assert_eq!((a.display, a.tag()), (&b"caller"[..], Some(&b"323"[..])));
        let a = NameAddr::parse(b"\"J Rosenberg \\\\\\\"\"       <sip:jdrosen@example.com>\r\n  ;\r\n  tag = 98asjd8");
        assert_eq!((a.uri, a.tag()), (&b"sip:jdrosen@example.com"[..], Some(&b"98asjd8"[..])));
    }

    #[test]
    fn names_what_is_odd() {
        for (value, names) in [
            ("<sip:a@b>;tag=1", ""),
            ("token1~` token2'+_ token3*%!.- <sip:mundane@example.com>;tag=1", ""),
            ("\"Mr. J. User <sip:j.user@example.com>", "quote-unterminated"),
            ("Bell, Alexander <sip:a.g.bell@example.com>;tag=43", "display-name-invalid"),
            ("\"Watson, Thomas\" < sip:t.watson@example.org >", "addr-spec-spaces"),
            ("sip:user@example.com?Route=%3Csip:sip.example.com%3E", "addr-spec-needs-brackets"),
            ("<sip:joe@example.org>;;;;", "extra-separators"),
            ("<sip:joe@example.org", "angle-unterminated"),
        ] {
            assert_eq!(odd(value), names, "{value}");
        }
    }

    #[test]
    fn contacts_tell_expires_and_q() {
        let c = Contact::parse(b"<sip:a@b>;q=0.33;expires=3600");
        assert_eq!((c.expires(), c.q_thousandths()), (Some(3600), Some(330)));
        assert!(Contact::parse(b"*").is_star());
    }
}
