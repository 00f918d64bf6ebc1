//! A scanned message: where its parts lie, and their values on demand.

use super::content_type::ContentType;
use super::grammar::{Number, Params, Values, number, split, trim};
use super::header::{HEADERS, Header, HeaderName};
use super::scan::{Headers, Span};
use super::{CSeq, Contact, Method, NameAddr, Oddities, RAck, StartLine, Via, validate};
use crate::multipart;

/// A SIP message. Nothing in it is copied or typed until it is asked for; it borrows the octets it was scanned from.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    pub(super) octets: &'a [u8],
    pub(super) start: StartLine<'a>,
    pub(super) headers_start: usize,
    pub(super) headers_end: usize,
    pub(super) body_start: usize,
    pub(super) body_end: usize,
    pub(super) content_length: Option<u32>,
    /// Header fields that appeared, one bit each.
    pub(super) seen: u64,
    /// Header fields that appeared again.
    pub(super) repeated: u64,
    /// Where the first value of each header field lies.
    pub(super) first: [Span; HEADERS],
    pub(super) oddities: Oddities,
}

impl<'a> Message<'a> {
    /// The octets it was scanned from.
    pub fn octets(&self) -> &'a [u8] {
        self.octets
    }

    /// The same message within `octets`, if its own octets are a part of these: for who knows better than the scanner
    /// for how long they are there.
    pub fn within<'b>(&self, octets: &'b [u8]) -> Option<Message<'b>> {
        let octets = part(octets, self.octets)?;
        let start = match self.start {
            StartLine::Request { method, method_name, uri } => {
                StartLine::Request { method, method_name: part(octets, method_name)?, uri: part(octets, uri)? }
            }
            StartLine::Response { status, reason } => StartLine::Response { status, reason: part(octets, reason)? },
        };
        Some(Message { octets, start, ..*self })
    }

    /// Octets from the start line to the end of the body.
    pub fn len(&self) -> usize {
        self.body_end
    }

    /// Never: a message has a start line.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The start line.
    pub fn start(&self) -> StartLine<'a> {
        self.start
    }

    /// The start line where it lies, for who hands it on: it is large enough that a copy costs.
    #[inline]
    pub fn start_line(&self) -> &StartLine<'a> {
        &self.start
    }

    /// Whether it is a request.
    pub fn is_request(&self) -> bool {
        matches!(self.start, StartLine::Request { .. })
    }

    /// The status code of a response, 0 for a request.
    pub fn status(&self) -> u16 {
        match self.start {
            StartLine::Response { status, .. } => status,
            StartLine::Request { .. } => 0,
        }
    }

    /// The method: of a request its own, of a response that of CSeq.
    pub fn method(&self) -> Method {
        match self.start {
            StartLine::Request { method, .. } => method,
            StartLine::Response { .. } => self.cseq().map_or(Method::Other, |c| c.method),
        }
    }

    /// The method's name as written: of a request its own, of a response that of CSeq.
    pub fn method_name(&self) -> &'a [u8] {
        match self.start {
            StartLine::Request { method_name, .. } => method_name,
            StartLine::Response { .. } => self.cseq().map_or(&[], |c| c.name),
        }
    }

    /// The first value of a header field, without white space around it. Folding is left in place: see
    /// [`super::unfold`]. A list is given whole: see [`super::Values`].
    #[inline]
    pub fn header(&self, header: Header) -> Option<&'a [u8]> {
        if self.seen & header.bit() == 0 {
            return None;
        }
        let (start, len) = self.first[header.index()];
        let start = usize::from(start);
        self.octets.get(start..start + usize::from(len))
    }

    /// Whether a header field appeared more than once.
    #[inline]
    pub fn is_repeated(&self, header: Header) -> bool {
        self.repeated & header.bit() != 0
    }

    /// All header fields, in order.
    pub fn headers(&self) -> impl Iterator<Item = (HeaderName<'a>, &'a [u8])> + use<'a> {
        let (head, _) = split(self.octets, self.headers_end);
        Headers::new(head, self.headers_start)
    }

    /// All values of a header field, in order; lists are given whole.
    pub fn all(&self, header: Header) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let (once, lines) = match self.is_repeated(header) {
            false => (self.header(header), None),
            true => (None, Some(self.headers())),
        };
        let rest =
            lines.into_iter().flatten().filter(move |(name, _)| name.known == Some(header)).map(|(_, value)| value);
        once.into_iter().chain(rest)
    }

    /// All values of a header field, lists taken apart.
    pub fn values(&self, header: Header) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.all(header).flat_map(Values::new)
    }

    /// The first value of a header field by its name, for those that have no place in the table. This walks the header
    /// fields.
    pub fn header_named(&self, name: &str) -> Option<&'a [u8]> {
        self.headers().find(|(n, _)| n.is(name)).map(|(_, value)| value)
    }

    /// Call-ID as written; empty if there is none.
    #[inline]
    pub fn call_id(&self) -> &'a [u8] {
        self.header(Header::CallId).unwrap_or_default()
    }

    /// CSeq; none if it is missing or has no number.
    pub fn cseq(&self) -> Option<CSeq<'a>> {
        CSeq::parse(self.header(Header::CSeq)?)
    }

    /// From; all parts empty if it is missing.
    pub fn from(&self) -> NameAddr<'a> {
        self.address(Header::From)
    }

    /// To; all parts empty if it is missing.
    pub fn to(&self) -> NameAddr<'a> {
        self.address(Header::To)
    }

    fn address(&self, header: Header) -> NameAddr<'a> {
        NameAddr::parse(self.header(header).unwrap_or_default())
    }

    /// The topmost Via value.
    pub fn top_via(&self) -> Option<Via<'a>> {
        self.header(Header::Via).map(Via::parse)
    }

    /// All Via values, topmost first.
    pub fn vias(&self) -> impl Iterator<Item = Via<'a>> + use<'a> {
        self.values(Header::Via).map(Via::parse)
    }

    /// The first Contact value.
    pub fn contact(&self) -> Option<Contact<'a>> {
        let list = self.header(Header::Contact)?;
        Values::new(list).next().map(Contact::parse)
    }

    /// All Contact values.
    pub fn contacts(&self) -> impl Iterator<Item = Contact<'a>> + use<'a> {
        self.values(Header::Contact).map(Contact::parse)
    }

    /// Content-Length; none if it is missing or not a number.
    #[inline]
    pub fn content_length(&self) -> Option<u32> {
        self.content_length
    }

    /// Content-Type; none if it is missing.
    pub fn content_type(&self) -> Option<ContentType<'a>> {
        self.header(Header::ContentType).map(ContentType::parse)
    }

    /// Expires, seconds.
    pub fn expires(&self) -> Option<u32> {
        self.seconds(Header::Expires)
    }

    /// Min-Expires, seconds.
    pub fn min_expires(&self) -> Option<u32> {
        self.seconds(Header::MinExpires)
    }

    /// Retry-After, seconds; a comment or parameters may follow the number.
    pub fn retry_after(&self) -> Option<u32> {
        self.seconds(Header::RetryAfter)
    }

    /// Session-Expires (RFC 4028), seconds.
    pub fn session_expires(&self) -> Option<u32> {
        self.seconds(Header::SessionExpires)
    }

    /// Max-Forwards.
    pub fn max_forwards(&self) -> Option<u32> {
        self.seconds(Header::MaxForwards)
    }

    /// RSeq (RFC 3262).
    pub fn rseq(&self) -> Option<u32> {
        self.seconds(Header::RSeq)
    }

    /// RAck (RFC 3262).
    pub fn rack(&self) -> Option<RAck<'a>> {
        RAck::parse(self.header(Header::RAck)?)
    }

    fn seconds(&self, header: Header) -> Option<u32> {
        leading_number(self.header(header)?).value()
    }

    /// Whether a header field that lists tokens (Supported, Require, Allow, ...) lists this one; case does not matter.
    pub fn lists(&self, header: Header, token: &str) -> bool {
        self.values(header).any(|v| v.eq_ignore_ascii_case(token.as_bytes()))
    }

    /// The first Reason (RFC 3326).
    pub fn reason(&self) -> Option<Reason<'a>> {
        let list = self.header(Header::Reason)?;
        Values::new(list).next().map(Reason::parse)
    }

    /// User-Agent, or Server where that is missing.
    pub fn user_agent(&self) -> Option<&'a [u8]> {
        self.header(Header::UserAgent).or_else(|| self.header(Header::Server))
    }

    /// Refer-To (RFC 3515).
    pub fn refer_to(&self) -> Option<NameAddr<'a>> {
        self.header(Header::ReferTo).map(NameAddr::parse)
    }

    /// The body: as Content-Length counts it, or all that follows the header fields if it does not say.
    #[inline]
    pub fn body(&self) -> &'a [u8] {
        self.octets.get(self.body_start..self.body_end).unwrap_or_default()
    }

    /// The session description in the body, also in a multipart one. A body without Content-Type that begins like one
    /// is taken.
    pub fn sdp(&self) -> Option<&'a [u8]> {
        let body = self.body();
        if body.is_empty() || self.header(Header::ContentEncoding).is_some_and(|e| !e.eq_ignore_ascii_case(b"identity"))
        {
            return None;
        }
        if self.header(Header::ContentType) == Some(b"application/sdp") {
            return Some(body);
        }
        match self.content_type() {
            Some(t) if t.is("application", "sdp") => Some(body),
            Some(t) if t.is_multipart() => multipart::find(body, t, "application", "sdp"),
            Some(_) => None,
            None => body.starts_with(b"v=0").then_some(body),
        }
    }

    /// What the scan found odd: framing, the start line, Content-Length. It costs nothing.
    #[inline]
    pub fn oddities(&self) -> Oddities {
        self.oddities
    }

    /// All that is odd: the header fields are read one by one. It costs about as much as ten scans.
    pub fn validate(&self) -> Oddities {
        validate::check(self)
    }
}

/// The octets of `inner`, if they lie within `outer`, as a part of that.
fn part<'b>(outer: &'b [u8], inner: &[u8]) -> Option<&'b [u8]> {
    let start = (inner.as_ptr() as usize).checked_sub(outer.as_ptr() as usize)?;
    outer.get(start..start.checked_add(inner.len())?)
}

/// `1*DIGIT` before white space, a comment or parameters.
pub(super) fn leading_number(value: &[u8]) -> Number {
    let end =
        value.iter().position(|&o| matches!(o, b';' | b'(' | b' ' | b'\t' | b'\r' | b'\n')).unwrap_or(value.len());
    number(&value[..end])
}

/// Why a request was sent (RFC 3326): `SIP ;cause=200 ;text="Call completed elsewhere"`, `Q.850;cause=16`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reason<'a> {
    /// `SIP`, `Q.850`, ...
    pub protocol: &'a [u8],
    /// The cause in the protocol's own numbers.
    pub cause: Option<u32>,
    /// The text, without quotes.
    pub text: &'a [u8],
}

impl<'a> Reason<'a> {
    /// Splits one value.
    pub fn parse(value: &'a [u8]) -> Reason<'a> {
        let (protocol, params) = split(value, memchr::memchr(b';', value).unwrap_or(value.len()));
        let params = Params::new(params);
        Reason {
            protocol: trim(protocol),
            cause: params.get("cause").and_then(|p| number(p.text()).value()),
            text: params.get("text").map(|p| p.text()).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sip::scan;

    #[test]
    fn types_on_demand() {
        let m = scan(
            b"BYE sip:a@b SIP/2.0\r\nVia: SIP/2.0/TCP x;branch=z9hG4bK1, SIP/2.0/UDP y\r\nCSeq: 7 BYE\r\n\
              Reason: Q.850;cause=16;text=\"Normal call clearing\", SIP;cause=200\r\nRetry-After: 120 (in a meeting);duration=1\r\n\
              Supported: timer, 100rel\r\nUser-Agent: X\r\nRAck: 1 2 INVITE\r\nContact: <sip:a@b>, <sip:c@d>\r\n\r\n",
            true,
        )
        .unwrap();
        assert_eq!(m.vias().count(), 2);
        assert_eq!(m.reason().unwrap(), Reason { protocol: b"Q.850", cause: Some(16), text: b"Normal call clearing" });
        assert_eq!((m.retry_after(), m.expires()), (Some(120), None));
        assert!(m.lists(Header::Supported, "100REL") && !m.lists(Header::Supported, "path"));
        assert_eq!((m.method(), m.cseq().unwrap().number), (Method::Bye, 7));
        assert_eq!(m.rack().unwrap().cseq.number, 2);
        assert_eq!(m.contacts().count(), 2);
        assert_eq!(m.user_agent(), Some(&b"X"[..]));
        assert_eq!(m.from(), NameAddr::default());
    }

    #[test]
    fn a_message_is_found_again_in_octets_that_hold_it() {
        for text in ["xxBYE sip:a@b SIP/2.0\r\nTo: <sip:a@b>\r\n\r\n", "xxSIP/2.0 486 Busy Here\r\nTo: x\r\n\r\n"] {
            let packet = text.as_bytes();
            let m = scan(&packet[2..], true).unwrap();
            let again = m.within(packet).unwrap();
            assert_eq!((again.start(), again.header(Header::To)), (m.start(), m.header(Header::To)));
            assert_eq!(again.octets().as_ptr(), packet[2..].as_ptr());
            let copy = packet.to_vec();
            assert!(m.within(&copy).is_none() && m.within(&packet[3..]).is_none());
            assert!(m.within(&packet[..packet.len() - 1]).is_none());
        }
    }
}
