//! Drives the parsers with any octets and asserts what must always hold: for fuzzing and for replaying its corpus.

use super::stream::{MESSAGE_OCTETS_MAX, Splitter};
use super::{Header, Uri, looks_like_sip, scan, unfold};
use crate::multipart;
use std::borrow::Cow;

/// One message, whole and cut.
pub fn sip(octets: &[u8]) {
    for whole in [true, false] {
        let Some(m) = scan(octets, whole) else {
            assert!(!looks_like_sip(octets));
            continue;
        };
        assert!(looks_like_sip(octets));
        let within = |part: &[u8]| {
            let (outer, inner) = (octets.as_ptr_range(), part.as_ptr_range());
            part.is_empty() || outer.start <= inner.start && inner.end <= outer.end
        };
        for &header in Header::ALL {
            let first = m.header(header);
            assert!(first.is_none_or(within));
            assert_eq!(m.all(header).next(), first);
            assert_eq!(m.all(header).count() > 1, m.is_repeated(header));
        }
        assert!(
            m.headers().all(|(name, value)| within(name.text) && within(value) && unfold(value).len() <= value.len())
        );
        assert!(within(m.body()) && m.sdp().is_none_or(within));
        let odd = m.validate();
        assert_eq!(odd.union(m.oddities()), odd);
        assert_eq!(odd.into_iter().count(), odd.len());
        let _ = (m.cseq(), m.rack(), m.reason(), m.expires(), m.retry_after(), m.method_name());
        assert!(m.vias().all(|v| within(v.sent_by.host) && v.branch().is_none_or(within)));
        assert!(m.contacts().all(|c| within(c.address.uri) && c.q_thousandths().is_none_or(|q| q <= 1000)));
        for address in [m.from(), m.to(), m.refer_to().unwrap_or_default()] {
            assert!(within(address.uri) && within(address.display) && address.tag().is_none_or(within));
            sip_uri(address.uri);
        }
        if let Some(boundary) = m.content_type().and_then(|t| t.boundary()) {
            assert!(multipart::parts(m.body(), boundary).all(|p| within(p.headers) && within(p.body)));
        }
    }
}

/// A stream, pushed whole and in pieces: the same messages must come out. The first octet says how long the pieces are.
pub fn sip_stream(octets: &[u8]) {
    let Some((&first, stream)) = octets.split_first() else { return };
    let piece = usize::from(first).max(1);
    let from_start = first & 1 == 0;
    let mut splitter = Splitter::new(from_start);
    for (i, part) in stream.chunks(piece).enumerate() {
        splitter.push(i as i64, i, part, &mut |f| {
            assert!(f.begun_ns <= f.at_ns && f.spanned == (f.begun_tag != f.tag));
            assert!(f.message.octets().len() <= MESSAGE_OCTETS_MAX + piece);
        });
        assert!(splitter.held_octets() <= 2 * MESSAGE_OCTETS_MAX + piece);
        if i % 7 == 6 {
            splitter.gap(u64::from(first >> 4), &mut |_| {});
        }
    }
    splitter.finish(&mut |_| {});
    assert_eq!(splitter.held_octets(), 0);
}

/// A URI on its own.
pub fn sip_uri(octets: &[u8]) {
    let uri = Uri::parse(octets);
    let mut odd = super::Oddities::NONE;
    uri.check(&mut odd);
    assert!(uri.core.len() <= octets.len() && uri.user.len() <= octets.len());
    // A number that was read reads the same again.
    let number = uri.number();
    if uri.scheme == super::Scheme::Tel {
        assert_eq!(super::number::plain(Cow::Borrowed(&number), true), number);
    }
    let _ = (
        uri.user_text(),
        uri.number_params().count(),
        uri.host.address(),
        uri.params.count(),
        super::uri::headers(uri.headers).count(),
    );
}

/// WebSocket frames that begin a stream whose handshake was not seen, and the handshake itself.
pub fn websocket(octets: &[u8]) {
    use crate::websocket::{Frame, HEADER_OCTETS_MAX, handshake};
    if let Ok(frame) = Frame::parse(octets) {
        assert!(frame.header_octets <= octets.len().min(HEADER_OCTETS_MAX));
    }
    let _ = handshake(octets);
    let mut splitter = Splitter::new(false);
    for part in octets.chunks(97) {
        splitter.push(0, 0, b"", &mut |_| {});
        splitter.push(0, 0, part, &mut |_| {});
    }
    splitter.finish(&mut |_| {});
    assert_eq!(splitter.held_octets(), 0);
    sip_stream(
        &[&[101, b'G'][..], &b"ET / HTTP/1.1\r\nUpgrade: websocket\r\nSec-WebSocket-Protocol: sip\r\n\r\n"[..], octets]
            .concat(),
    );
}
