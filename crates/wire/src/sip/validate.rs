//! The costly checks: each header field is read and measured against the grammar of RFC 3261 and the examples of
//! RFC 4475 and RFC 5118.

use super::grammar::{Number, Values, is_token, number, take_number, trim};
use super::header::Header;
use super::message::leading_number;
use super::name_addr::{Contact, check_single};
use super::scan::check_presence;
use super::{CSeq, Message, Method, NameAddr, Oddities, Oddity, StartLine, Uri, Via};

/// Header fields that are looked at; what follows is passed over.
const HEADERS_MAX: usize = 512;

/// All that is odd about a message, what the scan found included.
pub(super) fn check(message: &Message<'_>) -> Oddities {
    let mut odd = message.oddities();
    check_presence(message, &mut odd);
    check_start(message, &mut odd);
    for (name, value) in message.headers().take(HEADERS_MAX) {
        match name.known {
            Some(header) => check_value(header, value, message, &mut odd),
            None => odd.insert_if(!is_token(name.text), Oddity::HeaderNameInvalid),
        }
    }
    check_top_via(message, &mut odd);
    check_body(message, &mut odd);
    check_request(message, &mut odd);
    odd
}

fn check_start(message: &Message<'_>, odd: &mut Oddities) {
    let StartLine::Request { uri, .. } = message.start() else { return };
    if uri.starts_with(b"<") {
        odd.insert(Oddity::RequestUriBrackets);
        return;
    }
    let parsed = Uri::parse(uri);
    odd.insert_if(!parsed.headers.is_empty(), Oddity::RequestUriHeaders);
    // The space has a name of its own; it would only be named again as a character.
    if !odd.contains(Oddity::RequestUriSpaces) {
        parsed.check(odd);
    }
}

fn check_value(header: Header, value: &[u8], message: &Message<'_>, odd: &mut Oddities) {
    match header {
        Header::From | Header::To => check_single(value, odd),
        Header::Contact => each(value, odd, Contact::check),
        Header::Via => each(value, odd, Via::check),
        Header::Route | Header::RecordRoute | Header::Path | Header::Diversion => each(value, odd, NameAddr::check),
        Header::ReferTo | Header::ReferredBy => NameAddr::check(value, odd),
        Header::CSeq => check_cseq(value, message, odd),
        Header::MaxForwards => match number(value) {
            Number::Value(0) => odd.insert(Oddity::MaxForwardsZero),
            Number::Value(n) => odd.insert_if(n > 255, Oddity::MaxForwardsInvalid),
            _ => odd.insert(Oddity::MaxForwardsInvalid),
        },
        Header::Expires | Header::MinExpires => {
            odd.insert_if(number(value).value().is_none(), Oddity::ExpiresInvalid);
        }
        Header::RetryAfter => odd.insert_if(leading_number(value).value().is_none(), Oddity::RetryAfterInvalid),
        Header::Warning => each(value, odd, check_warning),
        Header::Date => odd.insert_if(!is_sip_date(value), Oddity::DateInvalid),
        Header::Require | Header::ProxyRequire => each(value, odd, check_option_tag),
        Header::Authorization | Header::ProxyAuthorization | Header::WwwAuthenticate | Header::ProxyAuthenticate => {
            let scheme = value.split(|&o| o == b' ').next().unwrap_or_default();
            let known = AUTH_SCHEMES.iter().any(|s| scheme.eq_ignore_ascii_case(s));
            odd.insert_if(!known, Oddity::AuthSchemeUnknown);
        }
        _ => {}
    }
}

/// Checks each value of a list. An empty one is named, but for a list that is empty as a whole.
fn each(list: &[u8], odd: &mut Oddities, check: fn(&[u8], &mut Oddities)) {
    for value in Values::new(list).take(HEADERS_MAX) {
        if value.is_empty() {
            odd.insert(Oddity::ExtraSeparators);
        } else {
            check(value, odd);
        }
    }
}

fn check_cseq(value: &[u8], message: &Message<'_>, odd: &mut Oddities) {
    odd.insert_if(!CSeq::is_well_formed(value), Oddity::CSeqInvalid);
    let Some((cseq, too_large)) = CSeq::parse_noting(value) else { return };
    odd.insert_if(too_large || cseq.number >= 1 << 31, Oddity::CSeqTooLarge);
    if let StartLine::Request { method_name, .. } = message.start() {
        odd.insert_if(cseq.name != method_name, Oddity::CSeqMethodMismatch);
    }
}

fn check_warning(value: &[u8], odd: &mut Oddities) {
    let (_, rest) = take_number(value);
    odd.insert_if(value.len() - rest.len() != 3, Oddity::WarningInvalid);
}

fn check_option_tag(tag: &[u8], odd: &mut Oddities) {
    odd.insert_if(!OPTION_TAGS.iter().any(|t| tag.eq_ignore_ascii_case(t.as_bytes())), Oddity::OptionTagUnknown);
}

/// `Sat, 13 Nov 2010 23:29:00 GMT` (RFC 3261 section 20.17).
fn is_sip_date(value: &[u8]) -> bool {
    const SHAPE: &[u8] = b"aaa, 00 aaa 0000 00:00:00 GMT";
    value.len() == SHAPE.len()
        && value.iter().zip(SHAPE).all(|(&o, &shape)| match shape {
            b'a' => o.is_ascii_alphabetic(),
            b'0' => o.is_ascii_digit(),
            _ => o == shape,
        })
}

fn check_top_via(message: &Message<'_>, odd: &mut Oddities) {
    if let Some(via) = message.top_via() {
        via.check_branch(odd);
    }
}

fn check_body(message: &Message<'_>, odd: &mut Oddities) {
    if message.body().is_empty() {
        return;
    }
    match message.content_type() {
        None => odd.insert(Oddity::ContentTypeMissing),
        Some(t) => {
            let known = CONTENT_TYPES.iter().any(|(kind, subtype)| t.is(kind, subtype));
            odd.insert_if(!known && !t.is_multipart(), Oddity::ContentTypeUnknown);
        }
    }
}

/// What RFC 3261 asks of requests alone.
fn check_request(message: &Message<'_>, odd: &mut Oddities) {
    let StartLine::Request { method, .. } = message.start() else { return };
    odd.insert_if(message.header(Header::MaxForwards).is_none(), Oddity::MaxForwardsMissing);
    odd.insert_if(message.header(Header::From).is_some() && message.from().tag().is_none(), Oddity::FromTagMissing);
    if method == Method::Invite {
        odd.insert_if(message.header(Header::Contact).is_none(), Oddity::ContactMissing);
        let accepts = |v: &[u8]| {
            let range = trim(v.split(|&o| o == b';').next().unwrap_or_default());
            [&b"application/sdp"[..], b"application/*", b"*/*"].iter().any(|t| range.eq_ignore_ascii_case(t))
        };
        let listed = message.header(Header::Accept).is_some();
        odd.insert_if(listed && !message.values(Header::Accept).any(accepts), Oddity::AcceptWithoutSdp);
    }
}

const AUTH_SCHEMES: &[&[u8]] = &[b"Digest", b"Bearer", b"Basic", b"NTLM", b"Kerberos", b"TLS-DSK"];

/// Option tags of the IANA registry.
const OPTION_TAGS: &[&str] = &[
    "100rel",
    "199",
    "answermode",
    "early-session",
    "eventlist",
    "explicitsub",
    "from-change",
    "geolocation-http",
    "geolocation-sip",
    "gin",
    "gruu",
    "histinfo",
    "ice",
    "join",
    "multiple-refer",
    "norefersub",
    "nosub",
    "outbound",
    "path",
    "policy",
    "precondition",
    "pref",
    "privacy",
    "recipient-list-invite",
    "recipient-list-message",
    "recipient-list-subscribe",
    "record-aware",
    "replaces",
    "resource-priority",
    "sdp-anat",
    "sec-agree",
    "siprec",
    "tdialog",
    "timer",
    "trickle-ice",
    "uui",
];

const CONTENT_TYPES: &[(&str, &str)] = &[
    ("application", "sdp"),
    ("application", "dtmf-relay"),
    ("application", "dtmf"),
    ("application", "pidf+xml"),
    ("application", "pidf-diff+xml"),
    ("application", "xpidf+xml"),
    ("application", "cpim-pidf+xml"),
    ("application", "simple-message-summary"),
    ("application", "dialog-info+xml"),
    ("application", "reginfo+xml"),
    ("application", "rlmi+xml"),
    ("application", "conference-info+xml"),
    ("application", "watcherinfo+xml"),
    ("application", "resource-lists+xml"),
    ("application", "rs-metadata+xml"),
    ("application", "im-iscomposing+xml"),
    ("application", "media_control+xml"),
    ("application", "media-policy-dataset+xml"),
    ("application", "load-control+xml"),
    ("application", "csta+xml"),
    ("application", "kpml-request+xml"),
    ("application", "kpml-response+xml"),
    ("application", "xcap-diff+xml"),
    ("application", "ssml+xml"),
    ("application", "vnd.3gpp.sms"),
    ("application", "vnd.3gpp.ussd+xml"),
    ("application", "vnd.3gpp.ussd"),
    ("application", "3gpp-ims+xml"),
    ("application", "vnd.etsi.mcid+xml"),
    ("application", "vnd.etsi.aoc+xml"),
    ("application", "isup"),
    ("application", "qsig"),
    ("application", "gtd"),
    ("application", "trickle-ice-sdpfrag"),
    ("application", "broadsoft"),
    ("application", "x-broadworks-call-center+xml"),
    ("application", "x-as-feature-event+xml"),
    ("application", "vq-rtcpxr"),
    ("application", "pkcs7-mime"),
    ("application", "pkcs7-signature"),
    ("application", "octet-stream"),
    ("application", "json"),
    ("application", "xml"),
    ("message", "sip"),
    ("message", "sipfrag"),
    ("message", "cpim"),
    ("message", "imdn+xml"),
    ("message", "external-body"),
    ("text", "plain"),
    ("text", "html"),
    ("text", "xml"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_in_gmt() {
        assert!(is_sip_date(b"Sat, 13 Nov 2010 23:29:00 GMT"));
        assert!(!is_sip_date(b"Fri, 01 Jan 2010 16:00:00 EST"));
        assert!(!is_sip_date(b"1 Jan 2010"));
    }
}
