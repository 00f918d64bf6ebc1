//! What nearly all messages write, read in one go: `1 INVITE`, `Name <sip:user@host>;tag=token`. All else is left to the
//! grammar of [`sip`], with the same result.

use super::text;
use trunkline_wire::sip::{CSeq, Header, Message, Method, NameAddr, StartLine, grammar};

/// Number of CSeq, if it can be read, and the method: of a request its own, of a response that of CSeq.
pub fn cseq_and_method(message: &Message<'_>) -> (Option<u32>, Method) {
    let value = message.header(Header::CSeq).unwrap_or_default();
    let usual = number(value);
    match message.start() {
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

/// The tag of a From or To.
pub fn tag(value: &[u8]) -> Option<&[u8]> {
    let usual = || {
        let tag = bracketed(value)?.1.strip_prefix(b";tag=")?;
        (!tag.is_empty() && tag.iter().all(|o| grammar::is_token_octet(*o))).then_some(tag)
    };
    usual().or_else(|| NameAddr::parse(value).tag())
}

/// The URI of a From or To without parameters, and its user part.
pub fn uri_and_user(value: &[u8]) -> (String, String) {
    match bracketed(value).and_then(|(uri, _)| sip_uri(uri)) {
        Some((uri, user)) => (uri.to_owned(), user.to_owned()),
        None => {
            let uri = NameAddr::parse(value).uri();
            (text(uri.core), uri.user_text().into_owned())
        }
    }
}

/// What stands in the angle brackets, and what behind them.
#[inline]
fn bracketed(value: &[u8]) -> Option<(&[u8], &[u8])> {
    let named = match value.first()? {
        b'<' => value,
        // A quoted name may hold brackets, and escaped quotes.
        b'"' => match memchr::memchr2(b'"', b'\\', &value[1..value.len().min(grammar::QUOTED_OCTETS_MAX)])? {
            end if value[end + 1] == b'"' => &value[end + 2..],
            _ => return None,
        },
        _ => value,
    };
    let inner = &named[memchr::memchr(b'<', named)? + 1..];
    let close = memchr::memchr(b'>', inner)?;
    Some((&inner[..close], &inner[close + 1..]))
}

/// `sip:user@host:port` up to its parameters, and the user part, if no octet of either has a meaning of its own.
fn sip_uri(uri: &[u8]) -> Option<(&str, &str)> {
    let rest = uri.strip_prefix(b"sip:")?;
    let user_end = rest.iter().position(|o| !grammar::is_token_octet(*o) || *o == b'%')?;
    let host = rest[user_end..].strip_prefix(b"@")?;
    let mut host_end = length(host, |o| o.is_ascii_alphanumeric() || matches!(o, b'.' | b'-'));
    if host.get(host_end) == Some(&b':') {
        host_end += 1 + length(&host[host_end + 1..], |o| o.is_ascii_digit());
    }
    if !matches!(host.get(host_end), None | Some(b';')) {
        return None;
    }
    let core = core::str::from_utf8(&uri[..4 + user_end + 1 + host_end]).ok()?;
    Some((core, &core[4..4 + user_end]))
}

/// How many octets at the beginning are such.
#[inline]
fn length(text: &[u8], such: impl Fn(u8) -> bool) -> usize {
    text.iter().position(|o| !such(*o)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use trunkline_wire::sip::scan;

    fn same(value: &[u8]) {
        let address = NameAddr::parse(value);
        let uri = address.uri();
        assert_eq!(tag(value), address.tag(), "{:?}", value.escape_ascii().to_string());
        let grammar = (text(uri.core), uri.user_text().into_owned());
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
            "sip:a@b;tag=4",
            "<sip:a@b",
            "\"",
            "",
        ] {
            same(value.as_bytes());
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

    proptest! {
        #[test]
        fn any_address_is_read_alike(value in r#"("[a<>\\]*" ?)?[ab ]{0,3}<?(sip:|tel:|)[a%6@:;?.+]{0,9}@?[a1.:;=@]{0,9}>?(;tag=[a1;" ]{0,4})?"#) {
            same(value.trim().as_bytes());
        }

        #[test]
        fn any_cseq_is_read_alike(cseq in "[0-9]{0,12}[ \t]{0,2}(INVITE|BYE|OPTIONS|X)?[ x]{0,2}") {
            response(&cseq, false);
            response(&cseq, true);
        }
    }
}
