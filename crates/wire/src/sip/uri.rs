//! URIs: sip, sips (RFC 3261 section 19.1, RFC 5118), tel (RFC 3966) and whatever else stands in their place.

use super::grammar::{self, Params, Values, after, escapes_hold, port, trim, unescape};
use super::{Oddities, Oddity};
use crate::Address;
use core::net::Ipv6Addr;
use std::borrow::Cow;

/// The scheme of a URI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// `sip:`
    Sip,
    /// `sips:`
    Sips,
    /// `tel:`
    Tel,
    /// `urn:`, as in emergency calls (RFC 5031).
    Urn,
    /// Another, or none.
    Other,
}

/// A URI, split. Nothing is unescaped: that is done on demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uri<'a> {
    /// Which scheme.
    pub scheme: Scheme,
    /// Scheme to port, without parameters and header fields: what names the party.
    pub core: &'a [u8],
    /// The user part as written; of tel the number; of other schemes all behind the colon. Empty if there is none.
    pub user: &'a [u8],
    /// The password, if there is one.
    pub password: Option<&'a [u8]>,
    /// Host and port.
    pub host: HostPort<'a>,
    /// Parameters.
    pub params: Params<'a>,
    /// Header fields, the text behind `?`; empty if there are none.
    pub headers: &'a [u8],
}

/// A host with its port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct HostPort<'a> {
    /// The name or address, IPv6 references without their brackets.
    pub host: &'a [u8],
    /// The port; none if it is not given or not a number below 65536.
    pub port: Option<u16>,
    /// Whether the host stood in brackets.
    pub bracketed: bool,
    /// Whether something stood where a port must, and was none.
    pub port_invalid: bool,
}

impl<'a> HostPort<'a> {
    /// Reads `host[:port]`, the whole text. White space around the colon is allowed, as Via allows it.
    pub fn parse(text: &'a [u8]) -> HostPort<'a> {
        let text = trim(text);
        if let [b'[', inner @ ..] = text {
            let end = memchr::memchr(b']', inner).unwrap_or(inner.len());
            let (port, port_invalid) = port_part(trim(after(inner, end + 1)));
            return HostPort { host: &inner[..end], port, bracketed: true, port_invalid };
        }
        match memchr::memchr(b':', text) {
            // Field: IPv6 addresses without brackets are seen; two colons cannot be host and port.
            Some(n) if memchr::memchr(b':', &text[n + 1..]).is_some() => HostPort { host: text, ..HostPort::default() },
            Some(n) => {
                let (port, port_invalid) = port_part(&text[n..]);
                HostPort { host: trim(&text[..n]), port, bracketed: false, port_invalid }
            }
            None => HostPort { host: text, ..HostPort::default() },
        }
    }

    /// The address, if the host is one. IPv6 is read with or without brackets.
    pub fn address(&self) -> Option<Address> {
        let text = core::str::from_utf8(self.host).ok()?;
        text.parse().ok()
    }

    /// Whether the host is a name of RFC 3261 (with the underscore that the field uses), an IPv4 address, or an IPv6
    /// address in brackets.
    pub fn is_well_formed(&self) -> bool {
        if self.bracketed {
            return self.ipv6().is_some();
        }
        !self.host.is_empty() && self.host.iter().all(|&o| o.is_ascii_alphanumeric() || matches!(o, b'-' | b'.' | b'_'))
    }

    fn ipv6(&self) -> Option<Ipv6Addr> {
        core::str::from_utf8(self.host).ok()?.parse().ok()
    }

    /// Whether an IPv6 address without port ends in what looks like a port of SIP (RFC 5118 section 4.3).
    fn may_have_swallowed_port(&self) -> bool {
        let last = self.host.rsplit(|&o| o == b':').next().unwrap_or_default();
        self.bracketed && self.port.is_none() && matches!(last, [b'5', b'0', b'6'..=b'9', b'0'..=b'9'])
    }
}

/// Reads `:port` or nothing.
fn port_part(text: &[u8]) -> (Option<u16>, bool) {
    match text {
        [] => (None, false),
        [b':', digits @ ..] => {
            let number = port(trim(digits));
            (number, number.is_none())
        }
        _ => (None, true),
    }
}

impl<'a> Uri<'a> {
    /// Splits a URI; whatever it is, it comes apart somehow.
    pub fn parse(text: &'a [u8]) -> Uri<'a> {
        let text = trim(text);
        let Some(colon) = memchr::memchr(b':', text) else { return Uri::opaque(Scheme::Other, text, text) };
        let (name, rest) = (&text[..colon], &text[colon + 1..]);
        match scheme(name) {
            scheme @ (Scheme::Sip | Scheme::Sips) => sip(scheme, text, rest),
            Scheme::Tel => tel(text, rest),
            other => Uri::opaque(other, text, rest),
        }
    }

    fn opaque(scheme: Scheme, core: &'a [u8], user: &'a [u8]) -> Uri<'a> {
        Uri { scheme, core, user, password: None, host: HostPort::default(), params: Params::default(), headers: &[] }
    }

    /// The user part with escapes resolved; see [`Uri::number`] for what people search for.
    pub fn user_text(&self) -> Cow<'a, str> {
        unescape(self.user)
    }

    /// Names what is odd about it.
    pub fn check(&self, odd: &mut Oddities) {
        match self.scheme {
            Scheme::Sip | Scheme::Sips => self.check_sip(odd),
            Scheme::Tel => odd.insert_if(self.user.is_empty(), Oddity::UriInvalid),
            Scheme::Urn => {}
            Scheme::Other => {
                let has_scheme = memchr::memchr(b':', self.core).is_some_and(|n| n > 0);
                odd.insert(if has_scheme { Oddity::UriSchemeUnknown } else { Oddity::UriInvalid });
            }
        }
    }

    fn check_sip(&self, odd: &mut Oddities) {
        odd.insert_if(self.host.host.is_empty(), Oddity::UriInvalid);
        odd.insert_if(!self.host.is_well_formed(), Oddity::UriHostInvalid);
        odd.insert_if(self.host.port_invalid, Oddity::UriPortInvalid);
        odd.insert_if(self.host.may_have_swallowed_port(), Oddity::UriIpv6Port);
        let user = self.user.iter().all(|&o| is_user_octet(o)) && escapes_hold(self.user);
        let params = self.params.octets().iter().all(|&o| is_param_octet(o)) && escapes_hold(self.params.octets());
        odd.insert_if(!user || !params || !escapes_hold(self.headers), Oddity::UriCharacterInvalid);
        let unknown = |p: grammar::Param<'_>| !PARAMS.iter().any(|name| p.is(name));
        odd.insert_if(self.params.into_iter().any(unknown), Oddity::UriParamUnknown);
    }
}

fn scheme(name: &[u8]) -> Scheme {
    match name {
        b"sip" => Scheme::Sip,
        _ if name.eq_ignore_ascii_case(b"sip") => Scheme::Sip,
        _ if name.eq_ignore_ascii_case(b"sips") => Scheme::Sips,
        _ if name.eq_ignore_ascii_case(b"tel") => Scheme::Tel,
        _ if name.eq_ignore_ascii_case(b"urn") => Scheme::Urn,
        _ => Scheme::Other,
    }
}

/// `rest` is `[user[:password]@]host[:port][;params][?headers]`.
fn sip<'a>(scheme: Scheme, text: &'a [u8], rest: &'a [u8]) -> Uri<'a> {
    let (userinfo, rest) = match at_sign(rest) {
        Some(n) => (Some(&rest[..n]), &rest[n + 1..]),
        None => (None, rest),
    };
    let (user, password) = match userinfo {
        Some(info) => match memchr::memchr(b':', info) {
            Some(n) => (&info[..n], Some(&info[n + 1..])),
            None => (info, None),
        },
        None => (&b""[..], None),
    };
    let host_end = memchr::memchr2(b';', b'?', rest).unwrap_or(rest.len());
    let tail = &rest[host_end..];
    let (params, headers) = match memchr::memchr(b'?', tail) {
        Some(n) => (&tail[..n], &tail[n + 1..]),
        None => (tail, &b""[..]),
    };
    Uri {
        scheme,
        core: &text[..text.len() - tail.len()],
        user,
        password,
        host: HostPort::parse(&rest[..host_end]),
        params: Params::new(params),
        headers,
    }
}

/// The at sign that ends the user part. The user part may have `;?:` unescaped, the rest may not have an at sign.
///
/// Field: `sip:user@domain@host` is seen; a second at sign counts if it comes before parameters.
fn at_sign(text: &[u8]) -> Option<usize> {
    let first = memchr::memchr(b'@', text)?;
    let rest = &text[first + 1..];
    let end = memchr::memchr2(b';', b'?', rest).unwrap_or(rest.len());
    Some(memchr::memrchr(b'@', &rest[..end]).map_or(first, |n| first + 1 + n))
}

fn tel<'a>(text: &'a [u8], rest: &'a [u8]) -> Uri<'a> {
    let end = memchr::memchr(b';', rest).unwrap_or(rest.len());
    let mut uri = Uri::opaque(Scheme::Tel, &text[..text.len() - rest.len() + end], &rest[..end]);
    uri.params = Params::new(&rest[end..]);
    uri
}

fn is_user_octet(o: u8) -> bool {
    is_unreserved(o) || matches!(o, b'%' | b'&' | b'=' | b'+' | b'$' | b',' | b';' | b'?' | b'/' | b'#')
}

fn is_param_octet(o: u8) -> bool {
    is_unreserved(o) || matches!(o, b'%' | b'[' | b']' | b'/' | b':' | b'&' | b'+' | b'$' | b';' | b'=')
}

fn is_unreserved(o: u8) -> bool {
    o.is_ascii_alphanumeric() || matches!(o, b'-' | b'_' | b'.' | b'!' | b'~' | b'*' | b'\'' | b'(' | b')')
}

/// URI parameters of the IANA registry, and those that well-known products add.
const PARAMS: &[&str] = &[
    "transport",
    "user",
    "method",
    "ttl",
    "maddr",
    "lr",
    "ob",
    "gr",
    "comp",
    "sigcomp-id",
    "target",
    "cause",
    "aai",
    "bnc",
    "ccxml",
    "delay",
    "duration",
    "extension",
    "content-type",
    "iotl",
    "locale",
    "maxage",
    "maxstale",
    "m",
    "param",
    "play",
    "postbody",
    "repeat",
    "sg",
    "voicexml",
    "tty",
    "phone-context",
    "ext",
    "isub",
    "rn",
    "npdi",
    "cic",
    "rinstance",
    "line",
    "did",
    "nat",
    "ftag",
    "r2",
    "alias",
    "tgrp",
    "trunk-context",
    "received",
    "orig",
    "reg-id",
    "fs_path",
    "fs_nat",
    "isfocus",
    "vsf",
    "vst",
    "dtg",
    "otg",
    "ds_gid",
    "did_tag",
    "cpc",
    "noa",
    "opaque",
    "epid",
    "ms-opaque",
];

/// The header fields that a URI carries: name and value, as written.
pub fn headers(text: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    text.split(|&o| o == b'&').filter(|h| !h.is_empty()).map(|h| match memchr::memchr(b'=', h) {
        Some(n) => (&h[..n], &h[n + 1..]),
        None => (h, &b""[..]),
    })
}

/// Whether a text is several addresses: a comma outside quotes and brackets.
pub(super) fn is_list(text: &[u8]) -> bool {
    Values::new(text).nth(1).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn odd(text: &str) -> String {
        let mut odd = Oddities::NONE;
        Uri::parse(text.as_bytes()).check(&mut odd);
        odd.to_string()
    }

    #[test]
    fn splits_all_parts() {
        let uri = Uri::parse(
            b"sip:alice:secret@atlanta.example.com:5070;transport=tcp;lr?subject=project%20x&priority=urgent",
        );
        assert_eq!((uri.user, uri.password), (&b"alice"[..], Some(&b"secret"[..])));
        assert_eq!((uri.host.host, uri.host.port), (&b"atlanta.example.com"[..], Some(5070)));
        assert_eq!(uri.core, b"sip:alice:secret@atlanta.example.com:5070");
        assert_eq!(uri.params.get("transport").unwrap().text(), b"tcp");
        assert_eq!(headers(uri.headers).count(), 2);
    }

    #[test]
    fn reads_ipv6_references() {
        let uri = Uri::parse(b"sip:[2001:db8::10]:5070");
        assert_eq!((uri.host.host, uri.host.port), (&b"2001:db8::10"[..], Some(5070)));
        assert_eq!(uri.host.address(), "2001:db8::10".parse().ok());
        for (text, names) in [
            ("sip:[2001:db8::10]", ""),
            ("sip:2001:db8::10", "uri-host-invalid"),
            ("sip:user@[2001:db8:::192.0.2.1]", "uri-host-invalid"),
            ("sip:user@[2001:db8::192.0.2.1]", ""),
            ("sip:[2001:db8::10:5070]", "uri-ipv6-port"),
            ("sip:a@b:99999", "uri-port-invalid"),
            ("sip:a@", "uri-invalid, uri-host-invalid"),
            ("nobodyKnowsThisScheme:opaque", "uri-scheme-unknown"),
            ("nothing", "uri-invalid"),
            ("sip:a%zz@b", "uri-character-invalid"),
        ] {
            assert_eq!(odd(text), names, "{text}");
        }
    }

    #[test]
    fn users_of_the_torture_tests() {
        let uri = Uri::parse(b"sip:1_unusual.URI~(to-be!sure)&isn't+it$/crazy?,/;;*:&it+has=1,weird!*pas$wo~d_too.(doesn't-it)@example.com");
        assert_eq!(uri.user, b"1_unusual.URI~(to-be!sure)&isn't+it$/crazy?,/;;*");
        assert_eq!(uri.host.host, b"example.com");
        assert_eq!(Uri::parse(b"sip:sips%3Auser%40example.com@example.net").user_text(), "sips:user@example.com");
        let uri = Uri::parse(b"sip:user;par=u%40example.net@example.com");
        assert_eq!(uri.user, b"user;par=u%40example.net");
        assert_eq!(Uri::parse(b"sip:user@corp.example@10.0.0.1;lr").host.host, b"10.0.0.1");
    }
}
