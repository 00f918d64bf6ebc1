//! The reader: line by line, section by section.

use super::{
    CANDIDATES_MAX, Candidate, Connection, Direction, FORMATS_MAX, Format, Kind, MEDIA_MAX, Media, Oddity, Origin,
    Proto, SSRCS_MAX, Security, Session, Setup, static_format,
};
use crate::sip::grammar::number;
use crate::swar;

/// Reads a session description. Whatever it is, something comes out; the oddities tell what was passed over.
pub fn parse(octets: &[u8]) -> Session<'_> {
    let mut session = Session::default();
    let mut first = true;
    let mut rest = octets;
    while !rest.is_empty() {
        let line = next_line(&mut rest, &mut session.oddities);
        if line.is_empty() {
            continue;
        }
        session.oddities.insert_if(first && line != b"v=0", Oddity::VersionMissing);
        first = false;
        match line {
            [b'a', b'=', value @ ..] => read_attribute(&mut session, value),
            [letter, b'=', value @ ..] if letter.is_ascii_alphabetic() => read_line(&mut session, *letter, value),
            _ => session.oddities.insert(Oddity::LineInvalid),
        }
    }
    session.oddities.insert_if(first, Oddity::VersionMissing);
    finish(&mut session);
    session
}

/// Takes the first line off, without its end.
#[inline]
pub(super) fn next_line<'a>(rest: &mut &'a [u8], odd: &mut super::Oddities) -> &'a [u8] {
    let Some((line, behind)) = swar::find(rest, b'\n').and_then(|n| rest.split_at_checked(n)) else {
        return core::mem::take(rest);
    };
    *rest = behind.get(1..).unwrap_or_default();
    match line {
        [line @ .., b'\r'] => line,
        _ => {
            odd.insert(Oddity::BareLineFeed);
            line
        }
    }
}

/// Takes the first word off; words have spaces between them. None at the end.
#[inline]
fn next_word<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    while let [b' ', behind @ ..] = *rest {
        *rest = behind;
    }
    let end = swar::find_soon(rest, b' ').unwrap_or(rest.len());
    let (word, behind) = rest.split_at_checked(end)?;
    *rest = behind;
    (!word.is_empty()).then_some(word)
}

#[inline]
fn read_line<'a>(session: &mut Session<'a>, letter: u8, value: &'a [u8]) {
    match letter {
        b'm' => read_media(session, value),
        b'c' => {
            let connection = connection(value);
            session.oddities.insert_if(connection.is_none(), Oddity::ConnectionInvalid);
            match session.media.last_mut() {
                Some(media) => media.connection = connection.or(media.connection),
                None => session.connection = connection.or(session.connection),
            }
        }
        b'o' => session.origin_text = value,
        b's' => session.name = value,
        _ => {}
    }
}

/// `nettype addrtype address[/ttl[/count]]`
fn connection(value: &[u8]) -> Option<Connection<'_>> {
    if let Some(address) = value.strip_prefix(b"IN IP4 ").and_then(ipv4) {
        return Some(Connection { host: &value[7..], address: Some(address) });
    }
    let mut rest = value;
    let (_net, _family, address) = (next_word(&mut rest)?, next_word(&mut rest)?, next_word(&mut rest)?);
    Some(host(address))
}

/// An address or a name, without multicast TTL and count.
pub(super) fn host(text: &[u8]) -> Connection<'_> {
    match ipv4(text) {
        Some(address) => Connection { host: text, address: Some(address) },
        None => any_host(text),
    }
}

fn any_host(text: &[u8]) -> Connection<'_> {
    // Only numbers after the address are the time to live and the count of multicast (RFC 8866 section 5.7).
    let multicast = |n: &usize| text[n + 1..].iter().all(|o| o.is_ascii_digit() || *o == b'/');
    let end = memchr::memchr(b'/', text).filter(multicast).unwrap_or(text.len());
    let host = &text[..end];
    let address = ipv4(host).or_else(|| core::str::from_utf8(host).ok()?.parse().ok());
    Connection { host, address }
}

/// Four decimal numbers: nearly every address, so they are read without the general parser.
#[inline]
pub(super) fn ipv4(text: &[u8]) -> Option<crate::Address> {
    let mut octets = [0u8; 4];
    let mut rest = text;
    for (i, octet) in octets.iter_mut().enumerate() {
        if i > 0 {
            rest = rest.strip_prefix(b".")?;
        }
        let first = rest.first()?.wrapping_sub(b'0');
        let (mut value, mut digits) = (u32::from(first), 1);
        if first > 9 {
            return None;
        }
        while let Some(digit) = rest.get(digits).map(|o| o.wrapping_sub(b'0')).filter(|d| *d <= 9) {
            // A leading zero could mean octal: left to the general parser, which refuses it.
            if value == 0 || digits > 2 {
                return None;
            }
            value = value * 10 + u32::from(digit);
            digits += 1;
        }
        *octet = u8::try_from(value).ok()?;
        rest = rest.get(digits..)?;
    }
    rest.is_empty().then_some(crate::Address::v4(octets))
}

/// See [`Session::origin`].
pub(super) fn origin(value: &[u8]) -> Option<Origin<'_>> {
    let ([username, session_id, session_version], address) = origin_parts(value)?;
    Some(Origin { username, session_id, session_version, connection: host(address) })
}

/// Whether an `o=` line has all its parts.
pub(super) fn is_origin(value: &[u8]) -> bool {
    // Counted in one octet, which the compiler does for sixteen at a time.
    if value.len() > usize::from(u8::MAX) {
        return origin_parts(value).is_some();
    }
    let (first, behind) = value.split_first().unwrap_or((&b' ', &[]));
    let begins = value.iter().zip(behind).fold(0u8, |n, (o, next)| n + u8::from((*o == b' ') & (*next != b' ')));
    usize::from(begins) + usize::from(*first != b' ') >= ORIGIN_PARTS
}

/// Parts of an `o=` line (RFC 8866 section 5.2).
const ORIGIN_PARTS: usize = 6;

/// The first three parts and the address.
fn origin_parts(value: &[u8]) -> Option<([&[u8]; 3], &[u8])> {
    let mut rest = value;
    let mut next = || next_word(&mut rest);
    let begin = [next()?, next()?, next()?];
    let (_net, _family) = (next()?, next()?);
    Some((begin, next()?))
}

/// `media port[/count] proto fmt ...`
fn read_media<'a>(session: &mut Session<'a>, value: &'a [u8]) {
    if session.media.len() >= MEDIA_MAX {
        session.oddities.insert(Oddity::TooMany);
        return;
    }
    let mut rest = value;
    let kind_text = next_word(&mut rest).unwrap_or_default();
    let port_text = next_word(&mut rest).unwrap_or_default();
    let proto_text = next_word(&mut rest).unwrap_or_default();
    let (port, port_count) = ports(port_text);
    session.oddities.insert_if(port.is_none(), Oddity::PortInvalid);
    let mut media = Media {
        kind: kind(kind_text),
        kind_text,
        port: port.unwrap_or(0),
        port_count,
        proto: proto(proto_text),
        proto_text,
        connection: None,
        formats: Vec::with_capacity(8),
        ptime_ms: None,
        maxptime_ms: None,
        direction: session.direction.unwrap_or_default(),
        rtcp: None,
        rtcp_mux: false,
        candidates: Vec::new(),
        ice_ufrag: session.ice_ufrag,
        security: session.security,
        mid: &[],
        ssrcs: Vec::new(),
    };
    let rtp = matches!(media.proto, Proto::Rtp | Proto::Srtp | Proto::DtlsSrtp);
    while let Some(text) = next_word(&mut rest) {
        if media.formats.len() >= FORMATS_MAX {
            session.oddities.insert(Oddity::TooMany);
            break;
        }
        let payload_type =
            if rtp { digits(text).and_then(|n| u8::try_from(n).ok()).filter(|n| *n < 128) } else { None };
        session.oddities.insert_if(rtp && payload_type.is_none(), Oddity::FormatInvalid);
        media.formats.push(Format { text, payload_type, channels: 1, ..Format::default() });
    }
    session.oddities.insert_if(media.formats.is_empty(), Oddity::MediaInvalid);
    session.media.push(media);
}

fn ports(text: &[u8]) -> (Option<u16>, u16) {
    let (port, count) = match swar::find_soon(text, b'/') {
        Some(n) => (&text[..n], digits(&text[n + 1..])),
        None => (text, None),
    };
    let port = digits(port).and_then(|n| u16::try_from(n).ok());
    (port, count.and_then(|n| u16::try_from(n).ok()).unwrap_or(1))
}

fn kind(text: &[u8]) -> Kind {
    match text {
        b"audio" => Kind::Audio,
        b"video" => Kind::Video,
        b"image" => Kind::Image,
        _ => Kind::Other,
    }
}

fn proto(text: &[u8]) -> Proto {
    // RFC 4571 section 5 and RFC 7850; what goes through TLS is no RTP on the wire.
    let text = text.strip_prefix(b"TCP/").filter(|rest| !rest.starts_with(b"TLS/")).unwrap_or(text);
    match text {
        b"RTP/AVP" | b"RTP/AVPF" => Proto::Rtp,
        b"RTP/SAVP" | b"RTP/SAVPF" => Proto::Srtp,
        b"UDP/TLS/RTP/SAVP" | b"UDP/TLS/RTP/SAVPF" | b"DTLS/RTP/SAVP" | b"DTLS/RTP/SAVPF" => Proto::DtlsSrtp,
        _ if text.eq_ignore_ascii_case(b"udptl") => Proto::Udptl,
        // Field: `rtp/avp` and `RTP/AVP/UDP` are seen.
        _ if text.len() >= 7 && text[..7].eq_ignore_ascii_case(b"RTP/AVP") => Proto::Rtp,
        _ => Proto::Other,
    }
}

/// A decimal number of up to 32 bits.
pub(super) fn digits(text: &[u8]) -> Option<u32> {
    number(text).value()
}

#[inline]
fn read_attribute<'a>(session: &mut Session<'a>, text: &'a [u8]) {
    // Half of all lines.
    if let (Some(media), Some(value)) = (session.media.last_mut(), text.strip_prefix(b"rtpmap:")) {
        return rtpmap(media, &mut session.oddities, trim(value));
    }
    any_attribute(session, text);
}

fn any_attribute<'a>(session: &mut Session<'a>, text: &'a [u8]) {
    let (name, value) = match swar::find_soon(text, b':') {
        Some(n) => (&text[..n], trim(&text[n + 1..])),
        None => (trim(text), &b""[..]),
    };
    if let Some(direction) = direction(name) {
        match session.media.last_mut() {
            Some(media) => media.direction = direction,
            None => session.direction = Some(direction),
        }
        return;
    }
    let Session { media, oddities, .. } = session;
    match media.last_mut() {
        Some(media) => media_attribute(media, oddities, name, value),
        None => session_attribute(session, name, value),
    }
}

fn direction(name: &[u8]) -> Option<Direction> {
    // All four have eight octets.
    match <&[u8; 8]>::try_from(name).ok()? {
        b"sendrecv" => Some(Direction::SendRecv),
        b"sendonly" => Some(Direction::SendOnly),
        b"recvonly" => Some(Direction::RecvOnly),
        b"inactive" => Some(Direction::Inactive),
        _ => None,
    }
}

fn setup(value: &[u8]) -> Option<Setup> {
    [Setup::Active, Setup::Passive, Setup::Actpass, Setup::Holdconn].into_iter().find(|s| s.name().as_bytes() == value)
}

fn session_attribute<'a>(session: &mut Session<'a>, name: &[u8], value: &'a [u8]) {
    match name {
        b"group" => {
            if let Some(mids) = value.strip_prefix(b"BUNDLE") {
                session.bundle = trim(mids);
            }
        }
        b"ice-ufrag" => session.ice_ufrag = value,
        b"ice-lite" => session.ice_lite = true,
        b"crypto" => session.security.crypto = true,
        b"fingerprint" => session.security.fingerprint = true,
        b"setup" => session.security.setup = setup(value),
        _ => {}
    }
}

#[inline]
fn media_attribute<'a>(media: &mut Media<'a>, odd: &mut super::Oddities, name: &[u8], value: &'a [u8]) {
    match name {
        b"rtpmap" => rtpmap(media, odd, value),
        b"fmtp" => fmtp(media, odd, value),
        b"ptime" => media.ptime_ms = milliseconds(value),
        b"maxptime" => media.maxptime_ms = milliseconds(value),
        b"rtcp" => media.rtcp = rtcp(value),
        b"rtcp-mux" => media.rtcp_mux = true,
        b"candidate" => match Candidate::parse(value) {
            Some(candidate) => push_up_to(&mut media.candidates, CANDIDATES_MAX, candidate, odd),
            None => odd.insert(Oddity::CandidateInvalid),
        },
        b"ice-ufrag" => media.ice_ufrag = value,
        b"crypto" => media.security.crypto = true,
        b"fingerprint" => media.security.fingerprint = true,
        b"setup" => media.security.setup = setup(value),
        b"mid" => media.mid = value,
        b"ssrc" => {
            let ssrc = digits(value.split(|&o| o == b' ').next().unwrap_or_default());
            if let Some(ssrc) = ssrc.filter(|s| !media.ssrcs.contains(s)) {
                push_up_to(&mut media.ssrcs, SSRCS_MAX, ssrc, odd);
            }
        }
        _ => {}
    }
}

fn push_up_to<T>(list: &mut Vec<T>, max: usize, item: T, odd: &mut super::Oddities) {
    if list.len() < max { list.push(item) } else { odd.insert(Oddity::TooMany) }
}

/// `payload-type name/rate[/channels]`
#[inline]
fn rtpmap<'a>(media: &mut Media<'a>, odd: &mut super::Oddities, value: &'a [u8]) {
    let Some((payload_type, encoding)) = format_and_rest(value) else {
        odd.insert(Oddity::RtpmapInvalid);
        return;
    };
    let (name, behind) = split_at_slash(encoding);
    let (rate, behind) = behind.map_or((None, None), |text| {
        let (rate, behind) = split_at_slash(text);
        (if rate == b"8000" { Some(8000) } else { digits(trim(rate)) }, behind)
    });
    let channels = behind.and_then(|text| digits(trim(split_at_slash(text).0))).and_then(|c| u8::try_from(c).ok());
    // RFC 4475 writes `a=rtpmap:31 LPC`, without a rate.
    odd.insert_if(name.is_empty() || rate.is_none(), Oddity::RtpmapInvalid);
    match listed(media, payload_type) {
        Some(format) => {
            format.name = name;
            format.rate = rate.unwrap_or(0);
            format.channels = channels.unwrap_or(1);
            format.mapped = true;
        }
        None => odd.insert(Oddity::RtpmapStray),
    }
}

fn fmtp<'a>(media: &mut Media<'a>, odd: &mut super::Oddities, value: &'a [u8]) {
    let Some((payload_type, parameters)) = format_and_rest(value) else { return };
    match listed(media, payload_type) {
        Some(format) if format.fmtp.is_empty() => format.fmtp = parameters,
        Some(_) => {}
        None => odd.insert(Oddity::RtpmapStray),
    }
}

/// The format that the media line writes so.
#[inline]
fn listed<'a, 'm>(media: &'m mut Media<'a>, text: &[u8]) -> Option<&'m mut Format<'a>> {
    // Octet by octet: a call to compare two or three of them costs more.
    let same = |f: &&mut Format<'a>| f.text.len() == text.len() && f.text.iter().zip(text).all(|(a, b)| a == b);
    media.formats.iter_mut().find(same)
}

/// What stands before the first slash, and what stands behind it if there is one.
#[inline]
fn split_at_slash(text: &[u8]) -> (&[u8], Option<&[u8]>) {
    match swar::find_soon(text, b'/') {
        Some(n) => (&text[..n], Some(&text[n + 1..])),
        None => (text, None),
    }
}

fn format_and_rest(value: &[u8]) -> Option<(&[u8], &[u8])> {
    let space = swar::find_soon(value, b' ')?;
    Some((&value[..space], trim(&value[space + 1..])))
}

/// Milliseconds, of which some senders write fractions (`a=ptime:20.0`).
fn milliseconds(value: &[u8]) -> Option<u16> {
    let whole = value.iter().position(|&o| o == b'.').unwrap_or(value.len());
    digits(&value[..whole]).and_then(|n| u16::try_from(n).ok()).filter(|n| *n > 0)
}

/// `port [nettype addrtype address]` (RFC 3605)
fn rtcp(value: &[u8]) -> Option<(u16, Option<Connection<'_>>)> {
    let end = value.iter().position(|&o| o == b' ').unwrap_or(value.len());
    let port = digits(&value[..end]).and_then(|n| u16::try_from(n).ok())?;
    Some((port, connection(&value[end..])))
}

fn trim(text: &[u8]) -> &[u8] {
    text.trim_ascii()
}

/// Fills in what the session says for all media and what RFC 3551 says for static payload types.
fn finish(session: &mut Session<'_>) {
    let Session { media, oddities, connection, security, .. } = session;
    for m in media.iter_mut() {
        m.connection = m.connection.or(*connection);
        m.security = Security {
            crypto: m.security.crypto || security.crypto,
            fingerprint: m.security.fingerprint || security.fingerprint,
            setup: m.security.setup.or(security.setup),
        };
        oddities.insert_if(m.connection.is_none(), Oddity::ConnectionMissing);
        oddities.insert_if(m.connection.is_some_and(|c| c.address.is_none()), Oddity::ConnectionName);
        for format in m.formats.iter_mut().filter(|f| !f.mapped) {
            let Some(payload_type) = format.payload_type else { continue };
            match static_format(payload_type) {
                Some((name, rate, channels)) => {
                    (format.name, format.rate, format.channels) = (name.as_bytes(), rate, channels);
                }
                None => oddities.insert(Oddity::FormatUnknown),
            }
        }
    }
    session.oddities.insert_if(!is_origin(session.origin_text), Oddity::OriginInvalid);
}
