//! The start line (RFC 3261 section 7.1 and 7.2), and how SIP is told from anything else by it.

use super::grammar::{is_token_octet, trim_end};
use super::{Method, Oddities, Oddity};
use crate::swar;

/// Octets of a method name; a longer one is not SIP. RFC 4475 section 3.1.1.2 has one of 43.
pub const METHOD_OCTETS_MAX: usize = 128;

/// The first line of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartLine<'a> {
    /// A request.
    Request {
        /// Which method.
        method: Method,
        /// Its name as written.
        method_name: &'a [u8],
        /// The Request-URI as written.
        uri: &'a [u8],
    },
    /// A response.
    Response {
        /// The status code; 0 if it is not a number below 1000.
        status: u16,
        /// The reason phrase, which may be empty and of any octets.
        reason: &'a [u8],
    },
}

/// Whether a payload begins like SIP: empty lines, then `METHOD SP uri SP SIP/2.0` or `SIP/2.0 SP status`.
///
/// Odd spaces, other versions and overlarge codes are taken too: [`super::scan`] names them. A start line without an
/// end is taken if its method is known and its URI has a scheme of telephony.
#[inline]
pub fn looks_like_sip(octets: &[u8]) -> bool {
    let line = &octets[line_breaks(octets)..];
    match line.first() {
        Some(&o) if is_token_octet(o) => parse(line).is_some(),
        _ => false,
    }
}

/// How many octets of line breaks stand at the beginning (RFC 3261 section 7.5 says to ignore them).
#[inline]
pub(super) fn line_breaks(octets: &[u8]) -> usize {
    match octets.first() {
        Some(b'\r' | b'\n') => octets.iter().position(|o| !matches!(o, b'\r' | b'\n')).unwrap_or(octets.len()),
        _ => 0,
    }
}

/// A start line that was read.
pub(super) struct Parsed<'a> {
    pub line: StartLine<'a>,
    /// Octets up to and with its line feed.
    pub octets: usize,
    pub oddities: Oddities,
}

/// Reads the start line at the beginning; none if this is not SIP.
#[inline]
pub(super) fn parse(octets: &[u8]) -> Option<Parsed<'_>> {
    const VERSION: u64 = u64::from_le_bytes(*b"SIP/2.0 ");
    let usual = match swar::word(octets, 0) {
        Some(VERSION) => usual_response(octets),
        _ => usual_request(octets),
    };
    usual.or_else(|| any(octets))
}

/// `METHOD SP uri SP SIP/2.0 CRLF` with a known method and nothing odd: nearly every request. None tells nothing.
#[inline]
fn usual_request(octets: &[u8]) -> Option<Parsed<'_>> {
    let (method_name, rest) = octets.split_at_checked(swar::find_blank(octets)?)?;
    let method = Method::from_name(method_name);
    let rest = rest.strip_prefix(b" ").filter(|_| method != Method::Other)?;
    let (uri, rest) = rest.split_at_checked(swar::find_blank(rest)?)?;
    let rest = rest.strip_prefix(b" SIP/2.0\r\n").filter(|_| !uri.is_empty())?;
    let line = StartLine::Request { method, method_name, uri };
    Some(Parsed { line, octets: octets.len() - rest.len(), oddities: Oddities::NONE })
}

/// `SIP/2.0 SP 3DIGIT SP reason CRLF` with a code that there is: nearly every response. None tells nothing.
#[inline]
fn usual_response(octets: &[u8]) -> Option<Parsed<'_>> {
    let (begin, rest) = octets.split_first_chunk::<12>()?;
    let [.., a @ b'1'..=b'6', b @ b'0'..=b'9', c @ b'0'..=b'9', b' '] = begin else { return None };
    let status = u16::from(a - b'0') * 100 + u16::from(b - b'0') * 10 + u16::from(c - b'0');
    let feed = swar::find(rest, b'\n')?;
    let reason = rest[..feed].strip_suffix(b"\r")?;
    let line = StartLine::Response { status, reason };
    Some(Parsed { line, octets: begin.len() + feed + 1, oddities: Oddities::NONE })
}

/// The same as [`parse`], whatever the line is like.
fn any(octets: &[u8]) -> Option<Parsed<'_>> {
    let name_len = octets.iter().take(METHOD_OCTETS_MAX + 1).position(|&o| !is_token_octet(o))?;
    if name_len == 0 {
        return None;
    }
    match octets[name_len] {
        b' ' | b'\t' => request(octets, name_len),
        b'/' if name_len == 3 && octets[..3].eq_ignore_ascii_case(b"SIP") => response(octets),
        _ => None,
    }
}

/// The line without its end, the octets it took, and what was odd about its end.
#[inline]
fn first_line(octets: &[u8]) -> (&[u8], usize, Oddities) {
    let mut oddities = Oddities::NONE;
    match swar::find(octets, b'\n') {
        Some(n) => {
            let crlf = n > 0 && octets[n - 1] == b'\r';
            oddities.insert_if(!crlf, Oddity::BareLineFeed);
            (&octets[..n - usize::from(crlf)], n + 1, oddities)
        }
        None => {
            oddities.insert(Oddity::StartLineCut);
            (octets, octets.len(), oddities)
        }
    }
}

#[inline]
fn request(octets: &[u8], name_len: usize) -> Option<Parsed<'_>> {
    let (method_name, rest) = octets.split_at(name_len);
    let method = Method::from_name(method_name);
    let (rest, taken, mut oddities) = first_line(rest);
    let line = trim_end(rest);
    oddities.insert_if(line.len() != rest.len(), Oddity::StartLineSpaces);
    let uri_start = line.iter().position(|o| !is_blank(*o))?;
    oddities.insert_if(uri_start != 1, Oddity::StartLineSpaces);

    let last = line.iter().rposition(|&o| is_blank(o))?;
    let uri = match version(&line[last + 1..]) {
        Some((version_oddities, n)) if n == line.len() - last - 1 && last > uri_start => {
            oddities = oddities.union(version_oddities);
            let uri = trim_end(&line[uri_start..last]);
            oddities.insert_if(uri_start + uri.len() != last, Oddity::StartLineSpaces);
            uri
        }
        // Cut before its end: only what can hardly be anything else.
        _ if oddities.contains(Oddity::StartLineCut) && method != Method::Other && telephony(&line[uri_start..]) => {
            let uri = &line[uri_start..];
            uri.split(|&o| is_blank(o)).next().unwrap_or(uri)
        }
        _ => return None,
    };
    oddities.insert_if(uri.iter().any(|&o| is_blank(o)), Oddity::RequestUriSpaces);
    if method == Method::Other {
        let capitals = method_name.to_ascii_uppercase();
        oddities.insert_if(Method::from_name(&capitals) != Method::Other, Oddity::MethodCase);
    }
    Some(Parsed { line: StartLine::Request { method, method_name, uri }, octets: name_len + taken, oddities })
}

#[inline]
fn is_blank(o: u8) -> bool {
    o == b' ' || o == b'\t'
}

fn telephony(uri: &[u8]) -> bool {
    [&b"sip:"[..], b"sips:", b"tel:"].iter().any(|s| uri.get(..s.len()).is_some_and(|u| u.eq_ignore_ascii_case(s)))
}

/// Reads `SIP/2.0` at the beginning: what is odd about it and its length.
#[inline]
fn version(text: &[u8]) -> Option<(Oddities, usize)> {
    let mut oddities = Oddities::NONE;
    if text.starts_with(b"SIP/2.0") && !text.get(7).is_some_and(|o| o.is_ascii_digit()) {
        return Some((oddities, 7));
    }
    let name = text.get(..4)?;
    if !name.eq_ignore_ascii_case(b"SIP/") {
        return None;
    }
    let digits = |from: usize| text.get(from..).map_or(0, |t| t.iter().take_while(|o| o.is_ascii_digit()).count());
    let major = digits(4);
    if major == 0 || text.get(4 + major) != Some(&b'.') {
        return None;
    }
    let minor = digits(5 + major);
    if minor == 0 {
        return None;
    }
    let end = 5 + major + minor;
    oddities.insert_if(name != b"SIP/", Oddity::VersionCase);
    oddities.insert_if(&text[4..end] != b"2.0", Oddity::UnknownVersion);
    Some((oddities, end))
}

#[inline]
fn response(octets: &[u8]) -> Option<Parsed<'_>> {
    let (line, taken, mut oddities) = first_line(octets);
    let (version_oddities, at) = version(line)?;
    oddities = oddities.union(version_oddities);
    let rest = &line[at..];
    let spaces = rest.iter().position(|&o| !is_blank(o))?;
    if spaces == 0 {
        return None;
    }
    oddities.insert_if(spaces != 1, Oddity::StartLineSpaces);
    let rest = &rest[spaces..];
    let digits = rest.iter().position(|o| !o.is_ascii_digit()).unwrap_or(rest.len());
    let (code, rest) = rest.split_at(digits);
    let reason = match rest {
        [] if digits > 0 => rest,
        [b' ' | b'\t', reason @ ..] if digits > 0 => reason,
        _ => return None,
    };
    let status = match code {
        [a, b, c] => u16::from(a - b'0') * 100 + u16::from(b - b'0') * 10 + u16::from(c - b'0'),
        _ => 0,
    };
    oddities.insert_if(!(100..700).contains(&status), Oddity::StatusCodeInvalid);
    Some(Parsed { line: StartLine::Response { status, reason }, octets: taken, oddities })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn odd(line: &str) -> String {
        parse(line.as_bytes()).map_or("not SIP".into(), |p| p.oddities.to_string())
    }

    #[test]
    fn well_formed_lines_are_not_odd() {
        for line in ["INVITE sip:a@b SIP/2.0\r\n", "SIP/2.0 200 OK\r\n", "SIP/2.0 100 \r\n", "X-y tel:+1 SIP/2.0\r\n"] {
            assert_eq!(odd(line), "", "{line}");
        }
    }

    #[test]
    fn the_usual_lines_are_read_as_all_others() {
        for line in [
            &b"INVITE sip:a@b SIP/2.0\r\n"[..],
            b"SUBSCRIBE sip:a@b.example.com;user=phone SIP/2.0\r\nVia: x",
            b"ACK x SIP/2.0\r\n",
            b"BYE \xff\x80 SIP/2.0\r\n\r\n",
            b"SIP/2.0 200 OK\r\nVia",
            b"SIP/2.0 100 \r\n",
            b"SIP/2.0 603  No way\r\r\n",
        ] {
            let usual = usual_request(line).or_else(|| usual_response(line)).expect("usual");
            let any = any(line).expect("SIP");
            assert_eq!((usual.line, usual.octets, usual.oddities), (any.line, any.octets, any.oddities));
        }
        for line in [
            "INVITE  sip:a@b SIP/2.0\r\n",
            "INVITE sip:a@b SIP/2.0\n",
            "INVITE\tsip:a@b SIP/2.0\r\n",
            "INVITE sip:a@b SIP/2.00\r\n",
            "INVITE sip:a@b  SIP/2.0\r\n",
            "INVITE SIP/2.0\r\n",
            "INVITE sip:a@b",
            "invite sip:a@b SIP/2.0\r\n",
            "INVITE sip:a\x01@b SIP/2.0\r\n",
            "SIP/2.0 200\r\n",
            "SIP/2.0 200 OK\n",
            "SIP/2.0 700 x\r\n",
            "SIP/2.0 2000 x\r\n",
            "SIP/2.0  20 x\r\n",
            "",
            " ",
            "INVITE",
            "SIP/2.0 200 \n",
        ] {
            let line = line.as_bytes();
            assert!(usual_request(line).is_none() && usual_response(line).is_none());
        }
    }

    #[test]
    fn odd_lines_are_taken_and_named() {
        for (line, names) in [
            ("INVITE sip:user@example.com; lr SIP/2.0\r\n", "request-uri-spaces"),
            ("INVITE  sip:user@example.com  SIP/2.0\r\n", "start-line-spaces"),
            ("OPTIONS sip:user@example.com SIP/2.0  \r\n", "start-line-spaces"),
            ("OPTIONS sip:t.watson@example.org SIP/7.0\r\n", "unknown-version"),
            ("SIP/2.0 4294967301 better not\r\n", "status-code-invalid"),
            ("SIP/2.0  200 OK\r\n", "start-line-spaces"),
            ("sip/2.0 200 OK\n", "version-case, bare-line-feed"),
            ("invite sip:a@b SIP/2.0\r\n", "method-case"),
            ("INVITE sip:user@exa", "start-line-cut"),
        ] {
            assert_eq!(odd(line), names, "{line}");
        }
    }

    #[test]
    fn other_protocols_are_not_sip() {
        for payload in [
            &b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"[..],
            b"NOTIFY * HTTP/1.1\r\n",
            b"OPTIONS rtsp://a RTSP/1.0\r\n",
            b"AUEP 1500 aaln/1@rgw MGCP 1.0\r\n",
            b"HTTP/1.1 200 OK\r\n",
            b"\x80\x08\x12\x34",
            b"\x00\x01\x00\x08\x21\x12\xa4\x42",
            b"SIP/2.0",
            b"SIP/2.0 OK\r\n",
            b"INVITE SIP/2.0\r\n",
            b"INVITE",
            b" INVITE sip:a@b SIP/2.0\r\n",
            b"\r\n\r\n",
            b"",
            b"jaK",
        ] {
            assert!(!looks_like_sip(payload), "{}", String::from_utf8_lossy(payload));
        }
        assert!(looks_like_sip(b"\r\n\r\nINVITE sip:a@b SIP/2.0\r\n"));
    }

    #[test]
    fn reason_phrases_are_kept_as_they_are() {
        let Some(Parsed { line: StartLine::Response { status, reason }, .. }) = parse(b"SIP/2.0 200 = 2**3 * 5**2\r\n")
        else {
            panic!("not a response")
        };
        assert_eq!((status, reason), (200, &b"= 2**3 * 5**2"[..]));
    }
}
