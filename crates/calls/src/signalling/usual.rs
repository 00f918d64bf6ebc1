//! What nearly all messages write, read in one go: `1 INVITE`, `Name <sip:user@host>;tag=token`. All else is left to
//! the grammar of [`trunkline_wire::sip`], with the same result.

use super::push_lossy;
use trunkline_wire::sip::{CSeq, Header, Message, Method, NameAddr, Scheme, StartLine, grammar};
use trunkline_wire::swar;

/// Number of CSeq, if it can be read, and the method: of a request its own, of a response that of CSeq.
pub fn cseq_and_method(message: &Message<'_>) -> (Option<u32>, Method) {
    let value = message.header(Header::CSeq).unwrap_or_default();
    let usual = number(value);
    match *message.start_line() {
        StartLine::Request { method, .. } => match usual {
            Some((number, _)) => (Some(number), method),
            None => (CSeq::parse(value).map(|c| c.number), method),
        },
        StartLine::Response { .. } => match usual.map(|(number, name)| (number, Method::from_name(name))) {
            Some((number, method)) if method != Method::Other => (Some(number), method),
            _ => CSeq::parse(value).map_or((None, Method::Other), |c| (Some(c.number), c.method)),
        },
    }
}

/// A number of at most nine digits and what stands behind one space.
#[inline]
fn number(value: &[u8]) -> Option<(u32, &[u8])> {
    let mut number = 0;
    for (at, o) in value.iter().enumerate().take(10) {
        match o {
            b'0'..=b'9' if at < 9 => number = number * 10 + u32::from(o - b'0'),
            b' ' if at > 0 => return Some((number, &value[at + 1..])),
            _ => return None,
        }
    }
    None
}

/// The session description in the body.
pub fn sdp<'a>(message: &Message<'a>) -> Option<&'a [u8]> {
    let body = message.body();
    if body.is_empty() {
        return None;
    }
    let plain = message.header(Header::ContentEncoding).is_none();
    match message.header(Header::ContentType) {
        Some(b"application/sdp") if plain => Some(body),
        _ => message.sdp(),
    }
}

/// The tag of a From or To.
pub fn tag(value: &[u8]) -> Option<&[u8]> {
    let usual = || {
        let behind = bracketed(value)?.1;
        if behind.is_empty() {
            return Some(None);
        }
        let text = behind.strip_prefix(b";tag=")?;
        let tag = match swar::find_either(text, b';', b'"') {
            Some(end) if text[end] == b';' => &text[..end],
            Some(_) => return None,
            None => text,
        };
        let (first, last) = (tag.first()?, tag.last()?);
        (!grammar::is_space(*first) && !grammar::is_space(*last)).then_some(Some(tag))
    };
    usual().unwrap_or_else(|| NameAddr::parse(value).tag())
}

/// The branch of the topmost Via.
pub fn branch<'a>(message: &Message<'a>) -> Option<&'a [u8]> {
    let via = message.header(Header::Via)?;
    let usual = || {
        // Nothing that could hold a name of that kind stands before the first parameter: no quoted text, no other Via.
        let first = swar::find_either(via, b';', b',')?;
        let rest = via[first..].strip_prefix(b";rport").unwrap_or(&via[first..]);
        let text = rest.strip_prefix(b";branch=")?;
        let branch = &text[..swar::find_either(text, b';', b',').unwrap_or(text.len())];
        let is_plain = |octet: &u8| !grammar::is_space(*octet) && *octet != b'"';
        (is_plain(branch.first()?) && is_plain(branch.last()?)).then_some(branch)
    };
    usual().or_else(|| message.vias().next()?.branch())
}

/// The URI of a From or To, of a tel URI with its parameters and of others without, and its number or user part as
/// people search for it.
pub fn uri_and_user(value: &[u8]) -> (String, String) {
    let mut uri = String::new();
    let end = push_uri_and_user(&mut uri, value);
    let user = uri.split_off(end);
    (uri, user)
}

/// Writes them behind a text; gives where the number begins.
pub fn push_uri_and_user(into: &mut String, value: &[u8]) -> usize {
    match bracketed(value).and_then(|(uri, _)| sip_uri(uri)) {
        Some((uri, user)) => {
            into.push_str(uri);
            into.push_str(user);
            into.len() - user.len()
        }
        None => {
            let address = NameAddr::parse(value);
            let uri = address.uri();
            push_lossy(into, if uri.scheme == Scheme::Tel { address.uri } else { uri.core });
            let end = into.len();
            into.push_str(&uri.number());
            end
        }
    }
}

/// What stands in the angle brackets, and what behind them.
#[inline]
fn bracketed(value: &[u8]) -> Option<(&[u8], &[u8])> {
    let named = match value.first()? {
        b'<' => return inside(&value[1..]),
        // A quoted name may hold brackets, and escaped quotes.
        b'"' => match memchr::memchr2(b'"', b'\\', &value[1..value.len().min(grammar::QUOTED_OCTETS_MAX)])? {
            end if value[end + 1] == b'"' => &value[end + 2..],
            _ => return None,
        },
        _ => value,
    };
    inside(&named[swar::find_soon(named, b'<')? + 1..])
}

/// The same, from behind the opening bracket on.
#[inline]
fn inside(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let close = swar::find(text, b'>')?;
    Some((&text[..close], &text[close + 1..]))
}

/// A SIP URI up to its parameters, and its user part, if that is to be read as it stands: it has no password, escapes,
/// parameters and visual separators.
fn sip_uri(uri: &[u8]) -> Option<(&str, &str)> {
    let at = swar::find_soon(uri.strip_prefix(b"sip:")?, b'@')?;
    let (user, host) = (4..4 + at, 4 + at + 1);
    if uri[user.clone()].iter().any(|o| matches!(o, b'%' | b':' | b';' | b'-' | b'.' | b'(' | b')' | b' ')) {
        return None;
    }
    let end = match memchr::memchr3(b'@', b';', b'?', &uri[host..]) {
        Some(end) if uri[host + end] == b'@' => return None,
        Some(end) => host + end,
        // White space at the end is not the URI's.
        None if uri.last().is_some_and(|o| grammar::is_space(*o)) => return None,
        None => uri.len(),
    };
    let core = core::str::from_utf8(&uri[..end]).ok()?;
    Some((core, core.get(user)?))
}

#[cfg(test)]
mod tests {
    use super::super::text;
    use super::*;
    use proptest::prelude::*;
    use trunkline_wire::sip::scan;

    fn same(value: &[u8]) {
        let address = NameAddr::parse(value);
        let uri = address.uri();
        assert_eq!(tag(value), address.tag(), "{:?}", value.escape_ascii().to_string());
        let sent = if uri.scheme == Scheme::Tel { address.uri } else { uri.core };
        let grammar = (text(sent), uri.number().into_owned());
        assert_eq!(uri_and_user(value), grammar, "{:?}", value.escape_ascii().to_string());
    }

    #[test]
    fn the_usual_is_read_as_the_grammar_reads_it() {
        for value in [
            "<sip:+442079460123@example.com>;tag=1c23",
            "\"A. <b> C\" <sip:a.b@192.0.2.1:5060;user=phone>;tag=x;y=z",
            "\"A \\\" <sip:x@y> B\" <sip:a@b>;tag=1",
            "Bob <sip:b%6fb@example.com>;tag=\"q\"",
            "<sip:example.com>;tag=",
            "<sip:a@b@c>;tag=1 ",
            "<sip:a:secret@[2001:db8::1]:5060?x=y>; tag=2",
            "<sip:a@b:50x;p=@>;TAG=2",
            "<sips:a@b>;x=<y>;tag=3",
            "<tel:+123;phone-context=x>;tag=3",
            "<sip:+44-20-7946-0114;npdi;rn=+4420@gw;user=phone>;tag=5",
            "<sip:863-1234@gw;user=phone>;tag=5",
            "<sip:+44 20@gw>;tag=6",
            "sip:a@b;tag=4",
            "<sip:a@b",
            "\"",
            "",
        ] {
            same(value.as_bytes());
        }
    }

    fn via(value: &str) {
        let octets = format!("BYE sip:a@b SIP/2.0\r\nVia: {value}\r\n\r\n");
        let message = scan(octets.as_bytes(), true).unwrap();
        assert_eq!(branch(&message), message.vias().next().and_then(|via| via.branch()), "{octets:?}");
    }

    #[test]
    fn branches_are_the_grammars() {
        let hop = "SIP/2.0/UDP 192.0.2.1:5060";
        for parameters in [
            ";branch=z9hG4bK1;rport",
            ";rport;branch=z9hG4bK2",
            ";rport=5060;received=192.0.2.9;branch=z9hG4bK3",
            ";branch=z9hG4bK4 ;x=y",
            "; branch = z9hG4bK5",
            ";BRANCH=z9hG4bK6",
            ";branch=\"z9hG4bK7\"",
            ";x=\";branch=no\";branch=z9hG4bK8",
            ";branch=",
            ";branch=;branch=z9hG4bK9",
            "",
        ] {
            via(&format!("{hop}{parameters}"));
            via(&format!("{hop}{parameters}, {hop};branch=z9hG4bKsecond"));
        }
    }

    fn response(cseq: &str, request: bool) {
        let start = if request { "INVITE sip:a@b SIP/2.0" } else { "SIP/2.0 200 OK" };
        let octets = format!("{start}\r\nCSeq: {cseq}\r\n\r\n");
        let message = scan(octets.as_bytes(), true).unwrap();
        let grammar = (message.cseq().map(|c| c.number), message.method());
        assert_eq!(cseq_and_method(&message), grammar, "{octets:?}");
    }

    #[test]
    fn numbers_and_methods_are_the_grammars() {
        let cases =
            ["1 INVITE", "000000001 BYE", "4294967296 ACK", "1234567890 BYE", "7  OPTIONS", "7\tBYE", "1INVITE"];
        for cseq in cases.into_iter().chain(["8 BYE x", "8 BYEBYE", "8 invite", "INVITE", "", "9 ", "9"]) {
            response(cseq, false);
            response(cseq, true);
        }
    }

    #[test]
    fn the_description_is_the_grammars() {
        let types =
            ["application/sdp", "Application/SDP", "application/sdp;x=y", "text/plain", "", " application/sdp "];
        for kind in types {
            for rest in ["", "Content-Encoding: gzip\r\n", "Content-Encoding: identity\r\n"] {
                for body in ["", "v=0\r\n", "x"] {
                    let octets = format!("BYE sip:a@b SIP/2.0\r\nContent-Type: {kind}\r\n{rest}\r\n{body}");
                    let message = scan(octets.as_bytes(), true).unwrap();
                    assert_eq!(sdp(&message), message.sdp(), "{octets:?}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn any_address_is_read_alike(value in r#"("[a<>\\]*" ?)?[ab ]{0,3}<?(sip:|tel:|)[a%6@:;?.+ -]{0,9}@?[a1.:;=@]{0,9}(;user=phone)?>?(;tag=[a1;" ]{0,4})?"#) {
            same(value.trim().as_bytes());
        }

        #[test]
        fn any_branch_is_read_alike(value in r#"SIP/2.0/UDP a(;(rport|branch|x)( ?= ?"?[a;, ]{0,3}"?)?){0,3}(, SIP/2.0/TCP b;branch=c)?"#) {
            via(&value);
        }

        #[test]
        fn any_cseq_is_read_alike(cseq in "[0-9]{0,12}[ \t]{0,2}(INVITE|BYE|OPTIONS|X)?[ x]{0,2}") {
            response(&cseq, false);
            response(&cseq, true);
        }
    }
}
