//! The scanner: finds the start line, the header fields and the body, and types nothing.

use super::grammar::{Number, is_space, number};
use super::header::{HEADERS, Header, HeaderName, recognise, recognise_to_colon};
use super::{Message, Oddities, Oddity, StartLine, start_line};
use crate::swar;

/// Octets of a message in which header fields are located. What lies behind is passed over with
/// [`Oddity::HeaderBeyondReach`]; the longest message that a UDP datagram holds lies within.
// Limit: part of a SIP message in which header fields are found
// Beyond: later header fields are passed over, and the message counts as odd
// Seen in: `trunkline_calls_sip_odd_total`
pub const REACH_OCTETS_MAX: usize = u16::MAX as usize;

/// Where a trimmed value lies: start and length.
pub(super) type Span = (u16, u16);

/// Locates the parts of a message. None only if it is not SIP at all: see [`super::looks_like_sip`].
///
/// `whole` is false when the capture's snap length or a gap cut the octets; then a last line without an end is not
/// taken for a header field, because its value may have lost its tail.
pub fn scan(octets: &[u8], whole: bool) -> Option<Message<'_>> {
    // The place of the result itself: a message is too large to be copied for nothing.
    let mut scanned = Some(Message::blank());
    if !scanned.as_mut()?.scan(octets, whole) {
        return None;
    }
    scanned
}

impl<'a> Message<'a> {
    /// A place to scan a message into.
    #[inline]
    pub fn blank() -> Self {
        Message {
            octets: &[],
            start: StartLine::Response { status: 0, reason: &[] },
            headers_start: 0,
            headers_end: 0,
            body_start: 0,
            body_end: 0,
            content_length: None,
            seen: 0,
            repeated: 0,
            first: [(0, 0); HEADERS],
            oddities: Oddities::NONE,
        }
    }

    /// What [`scan`] does, in the place of another message. False if this is not SIP at all: then the other one is
    /// still there.
    pub fn scan(&mut self, octets: &'a [u8], whole: bool) -> bool {
        let breaks = start_line::line_breaks(octets);
        let Some(start) = start_line::parse(&octets[breaks..]) else { return false };
        (self.octets, self.start) = (octets, start.line);
        self.headers_start = breaks + start.octets;
        (self.headers_end, self.body_start, self.body_end) = (octets.len(), octets.len(), octets.len());
        // Where header fields lie that were not seen does not matter.
        (self.content_length, self.seen, self.repeated, self.oddities) = (None, 0, 0, start.oddities);
        self.oddities.insert_if(breaks > 0, Oddity::LeadingLineBreaks);
        self.oddities.insert_if(!whole, Oddity::Cut);
        locate_headers(self, whole);
        locate_body(self, whole);
        true
    }
}

#[inline(never)]
fn locate_headers(message: &mut Message<'_>, whole: bool) {
    let octets = message.octets;
    let mut at = message.headers_start;
    let mut bare = false;
    while let Some(&first) = octets.get(at) {
        if first <= b'\r' {
            match &octets[at..] {
                [b'\r', b'\n', ..] => return end_headers(message, at, at + 2, bare),
                [b'\n', ..] => return end_headers(message, at, at + 1, true),
                _ => {}
            }
        }
        if at > REACH_OCTETS_MAX {
            return skip_headers(message, at);
        }
        if let Some(line) = usual_line(octets, at) {
            note_value(message, line.header, line.start, line.len);
            at = line.next;
            continue;
        }
        let line = header_line(octets, at);
        if !line.ended && !whole {
            break;
        }
        bare |= line.bare;
        note_header(message, at, line.end);
        at = line.next;
    }
    message.headers_end = at.min(octets.len());
    message.oddities.insert_if(bare, Oddity::BareLineFeed);
    message.oddities.insert_if(whole, Oddity::HeaderEndMissing);
}

fn end_headers(message: &mut Message<'_>, end: usize, body: usize, bare: bool) {
    message.headers_end = end;
    message.body_start = body;
    message.oddities.insert_if(bare, Oddity::BareLineFeed);
}

/// Finds the end of header fields that go on beyond the reach of the table.
#[cold]
fn skip_headers(message: &mut Message<'_>, mut at: usize) {
    message.oddities.insert(Oddity::HeaderBeyondReach);
    let octets = message.octets;
    loop {
        match octets.get(at..) {
            Some([b'\r', b'\n', ..]) => return end_headers(message, at, at + 2, false),
            Some([b'\n', ..]) => return end_headers(message, at, at + 1, true),
            Some([_, ..]) => at = header_line(octets, at).next,
            _ => break,
        }
    }
    message.headers_end = octets.len();
}

/// A header line of the usual kind.
struct UsualLine {
    header: Header,
    /// Where its value begins.
    start: usize,
    /// Octets of its value.
    len: usize,
    /// Where the next line begins.
    next: usize,
}

/// A header field with a place in the table, without white space before the colon, with one space behind it and none
/// behind the value, ended by CRLF and not continued: nearly every line. None tells nothing.
#[inline]
fn usual_line(octets: &[u8], at: usize) -> Option<UsualLine> {
    let (header, colon) = recognise_to_colon(octets, at)?;
    let start = colon + 2;
    let len = swar::find(octets.get(start..)?, b'\n')?.checked_sub(1)?;
    // What stands around the value, in two looks.
    let [b' ', first] = octets.get(colon + 1..)?.first_chunk::<2>()? else { return None };
    let [last, b'\r', b'\n', b'!'..=0xff | b'\r' | b'\n'] = octets.get(colon + 1 + len..)?.first_chunk::<4>()? else {
        return None;
    };
    (*first > b' ' && *last > b' ').then_some(UsualLine { header, start, len, next: start + len + 2 })
}

/// A header line with the lines that continue it.
struct Line {
    /// Behind its last octet, the line break left out.
    end: usize,
    /// Where the next line begins.
    next: usize,
    /// Whether it ended with a line feed.
    ended: bool,
    /// Whether a line feed had no carriage return before it.
    bare: bool,
}

/// The line that `from` stands in, which is not behind its end.
fn header_line(octets: &[u8], mut from: usize) -> Line {
    let mut bare = false;
    loop {
        let Some(feed) = octets.get(from..).and_then(|rest| swar::find(rest, b'\n')).map(|n| from + n) else {
            return Line { end: octets.len(), next: octets.len(), ended: false, bare };
        };
        let crlf = feed > from && octets[feed - 1] == b'\r';
        bare |= !crlf;
        if !matches!(octets.get(feed + 1), Some(b' ' | b'\t')) {
            return Line { end: feed - usize::from(crlf), next: feed + 1, ended: true, bare };
        }
        from = feed + 1;
    }
}

/// The first colon of a line. Names are short: eight octets at a time find most colons in one step.
#[inline]
fn find_colon(octets: &[u8], at: usize, end: usize) -> Option<usize> {
    let mut from = at;
    while let Some(word) = swar::word(octets, from).filter(|_| from < end) {
        let marks = swar::mark(word, b':');
        if marks != 0 {
            let colon = from + swar::before(marks);
            return (colon < end).then_some(colon);
        }
        from += 8;
    }
    let rest = octets.get(from..end)?;
    rest.iter().position(|&o| o == b':').map(|n| from + n)
}

/// Notes any header line.
fn note_header(message: &mut Message<'_>, at: usize, end: usize) {
    let octets = message.octets;
    let Some(colon) = find_colon(octets, at, end) else {
        return message.oddities.insert(Oddity::HeaderWithoutColon);
    };
    if let Some(header) = recognise(octets, at, name_len(octets, at, colon)) {
        let (start, len) = trimmed(octets, colon + 1, end);
        note_value(message, header, start, len);
    }
}

#[inline]
fn note_value(message: &mut Message<'_>, header: Header, start: usize, len: usize) {
    if message.seen & header.bit() != 0 {
        message.repeated |= header.bit();
        return;
    }
    message.seen |= header.bit();
    let fits = (start | len) <= usize::from(u16::MAX);
    message.first[header.index()] = if fits { (start as u16, len as u16) } else { (0, 0) };
}

/// The length of a name without the white space before its colon: `V  : x` is allowed (RFC 3261 section 7.3.1).
#[inline]
fn name_len(octets: &[u8], at: usize, colon: usize) -> usize {
    let mut end = colon;
    while end > at && matches!(octets[end - 1], b' ' | b'\t') {
        end -= 1;
    }
    end - at
}

/// Start and length of the text between two places without the white space around it.
#[inline]
fn trimmed(octets: &[u8], mut start: usize, mut end: usize) -> (usize, usize) {
    while start < end && is_space(octets[start]) {
        start += 1;
    }
    while end > start && is_space(octets[end - 1]) {
        end -= 1;
    }
    (start, end - start)
}

fn locate_body(message: &mut Message<'_>, whole: bool) {
    let available = message.octets.len() - message.body_start;
    let length = message.header(Header::ContentLength).map(number);
    message.oddities.insert_if(message.is_repeated(Header::ContentLength), Oddity::ContentLengthRepeated);
    match length {
        Some(Number::Value(n)) => {
            message.content_length = Some(n);
            let n = n as usize;
            message.oddities.insert_if(n > available && whole, Oddity::ContentLengthTooLong);
            message.oddities.insert_if(n < available, Oddity::OctetsAfterBody);
            message.body_end = message.body_start + n.min(available);
        }
        Some(_) => message.oddities.insert(Oddity::ContentLengthInvalid),
        None => message.oddities.insert_if(available > 0, Oddity::ContentLengthMissing),
    }
}

/// The header fields of a message in order, with trimmed values; folding is left in place. Lines without a colon are
/// passed over.
#[derive(Clone, Debug)]
pub struct Headers<'a> {
    octets: &'a [u8],
    at: usize,
}

impl<'a> Headers<'a> {
    /// Of the lines in `octets[at..]`.
    pub(super) fn new(octets: &'a [u8], at: usize) -> Self {
        Headers { octets, at }
    }
}

impl<'a> Iterator for Headers<'a> {
    type Item = (HeaderName<'a>, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        while self.at < self.octets.len() {
            let at = self.at;
            let line = header_line(self.octets, at);
            self.at = line.next;
            if let Some(colon) = find_colon(self.octets, at, line.end) {
                let text = &self.octets[at..at + name_len(self.octets, at, colon)];
                let known = recognise(self.octets, at, text.len());
                let (start, len) = trimmed(self.octets, colon + 1, line.end);
                return Some((HeaderName { known, text }, &self.octets[start..start + len]));
            }
        }
        None
    }
}

/// Whether octets hold a whole set of header fields: where the body begins, if they do. `from` is a place up to which
/// an earlier call found none.
pub(super) fn end_of_headers(octets: &[u8], from: usize) -> Option<usize> {
    // A line break that began just before `from` may end behind it.
    let mut at = from.saturating_sub(3);
    loop {
        at += memchr::memchr(b'\n', octets.get(at..)?)? + 1;
        match octets.get(at..)? {
            [b'\n', ..] => return Some(at + 1),
            [b'\r', b'\n', ..] => return Some(at + 2),
            _ => {}
        }
    }
}

/// What the scanner alone finds odd: the missing and the repeated header fields.
pub(super) fn check_presence(message: &Message<'_>, odd: &mut Oddities) {
    for (header, oddity) in [
        (Header::CallId, Oddity::CallIdMissing),
        (Header::From, Oddity::FromMissing),
        (Header::To, Oddity::ToMissing),
        (Header::CSeq, Oddity::CSeqMissing),
        (Header::Via, Oddity::ViaMissing),
    ] {
        odd.insert_if(message.seen & header.bit() == 0, oddity);
    }
    const SINGLE: u64 = Header::CallId.bit()
        | Header::From.bit()
        | Header::To.bit()
        | Header::CSeq.bit()
        | Header::MaxForwards.bit()
        | Header::ContentType.bit()
        | Header::Expires.bit()
        | Header::Date.bit()
        | Header::Event.bit();
    odd.insert_if(message.repeated & SINGLE != 0, Oddity::SingleRepeated);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sip::Method;

    const INVITE: &[u8] =
        b"INVITE sip:bob@example.com SIP/2.0\r\nv: SIP/2.0/UDP a;branch=z9hG4bK1\r\nVIA : SIP/2.0/UDP b\r\n\
        From: <sip:a@b>;tag=1\r\nSubject: two\r\n lines\r\nX-Other:1\r\nCall-ID:   abc@d  \r\nl: 4\r\n\r\nbodymore";

    #[test]
    fn locates_the_parts() {
        let m = scan(INVITE, true).unwrap();
        assert!(matches!(m.start(), StartLine::Request { method: Method::Invite, uri: b"sip:bob@example.com", .. }));
        assert_eq!(m.header(Header::Via), Some(&b"SIP/2.0/UDP a;branch=z9hG4bK1"[..]));
        assert_eq!(m.all(Header::Via).collect::<Vec<_>>(), [&b"SIP/2.0/UDP a;branch=z9hG4bK1"[..], b"SIP/2.0/UDP b"]);
        assert_eq!(m.header(Header::Subject), Some(&b"two\r\n lines"[..]));
        assert_eq!(m.header(Header::CallId), Some(&b"abc@d"[..]));
        assert_eq!(m.header(Header::To), None);
        assert_eq!(m.headers().count(), 7);
        assert_eq!(m.header_named("x-other"), Some(&b"1"[..]));
        assert_eq!(m.body(), b"body");
        assert!(m.oddities().contains(Oddity::OctetsAfterBody));
    }

    #[test]
    fn a_cut_message_loses_no_whole_header_and_invents_none() {
        for cut in 40..INVITE.len() {
            let Some(m) = scan(&INVITE[..cut], false) else { panic!("not recognised at {cut}") };
            assert!(matches!(m.header(Header::CallId), None | Some(b"abc@d")), "cut at {cut}");
            assert!(m.oddities().contains(Oddity::Cut));
            assert!(!m.oddities().contains(Oddity::ContentLengthTooLong));
        }
    }

    #[test]
    fn line_feeds_alone_will_do() {
        let m = scan(b"SIP/2.0 200 OK\nCall-ID: x\nContent-Length: 3\n\nabc", true).unwrap();
        assert_eq!((m.header(Header::CallId), m.body()), (Some(&b"x"[..]), &b"abc"[..]));
        assert!(m.oddities().contains(Oddity::BareLineFeed));
    }

    #[test]
    fn a_message_takes_the_place_of_another() {
        let text = b"SIP/2.0 200 OK\r\nCall-ID: y\r\n\r\n";
        let mut m = scan(INVITE, true).unwrap();
        assert!(!m.scan(b"no SIP", true) && m.body() == b"body");
        assert!(m.scan(text, true));
        let all = |m: &Message<'_>| Header::ALL.iter().map(|h| m.header(*h).map(<[u8]>::to_vec)).collect::<Vec<_>>();
        let alone = scan(text, true).unwrap();
        assert_eq!((all(&m), m.start(), m.body()), (all(&alone), alone.start(), alone.body()));
        assert_eq!((m.oddities(), m.content_length(), m.len()), (alone.oddities(), None, alone.len()));
        assert!(!m.is_repeated(Header::Via));
    }

    #[test]
    fn is_small_enough_to_hand_around() {
        assert!(core::mem::size_of::<Message<'_>>() <= 512, "{}", core::mem::size_of::<Message<'_>>());
    }

    #[test]
    fn finds_colons_wherever_they_are() {
        for n in 0..40 {
            let mut line = vec![b'x'; 40];
            line[n] = b':';
            assert_eq!(find_colon(&line, 0, 40), Some(n));
            assert_eq!(find_colon(&line, 0, n), None);
        }
    }
}
