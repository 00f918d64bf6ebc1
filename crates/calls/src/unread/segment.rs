//! What a TCP segment that begins a message may be, and what SCTP carries. Segments from the middle of a message have
//! no name.

use super::media_control::{is_h225, is_megaco_in_tpkt, is_skinny};
use super::{Piece, Protocol, datagram, stun};
use trunkline_wire::rtp;
use trunkline_wire::sctp::{BEGIN, Chunks};

/// The port of SIP over TLS (RFC 3261 section 19.1.2).
const SIPS: u16 = 5061;

/// The protocol of a segment.
pub fn of_tcp(piece: &Piece<'_>) -> Option<Protocol> {
    match *piece.octets.first()? {
        20..=24 if is_tls(piece) => Some(if piece.is_on(SIPS) { Protocol::TlsSip } else { Protocol::Tls }),
        b'H' if datagram::is_hep3(piece) => Some(Protocol::Hep),
        3 if is_h225(piece) => Some(Protocol::H323),
        3 if is_megaco_in_tpkt(piece) => Some(Protocol::Megaco),
        1 if is_diameter(piece) => Some(Protocol::Diameter),
        b'A'..=b'Z' if is_rtsp(piece) => Some(Protocol::Rtsp),
        0x40..=0x4f if piece.is_on(3478) => stun::of_tcp_channel(piece),
        0..=3 if stun_in_stream(piece).is_some() => stun_in_stream(piece),
        _ if is_skinny(piece) => Some(Protocol::Skinny),
        0..=5 if is_framed_rtp(piece) => Some(Protocol::RtpTcp),
        _ => None,
    }
}

/// A record of TLS (RFC 8446 section 5.1, and before it SSL 3): its kind, a version, a length that can be.
fn is_tls(piece: &Piece<'_>) -> bool {
    let (Some([kind, 3, 0..=4]), Some(length)) = (piece.array(0), piece.be16(3)) else { return false };
    let Some(begin) = piece.octets.get(5) else { return false };
    match kind {
        // Change of cipher, alert, handshake, data, heartbeat.
        20 => length == 1 && *begin == 1,
        21 => length == 2 && matches!(begin, 1 | 2) || (18..=256).contains(&length),
        22 => (4..=(1 << 14) + 2048).contains(&length),
        23 => (1..=(1 << 14) + 2048).contains(&length),
        _ => (3..=(1 << 14) + 2048).contains(&length),
    }
}

/// RTP behind its length (RFC 4571 section 2): all of the segment, or a frame and the beginning of the next one.
fn is_framed_rtp(piece: &Piece<'_>) -> bool {
    const LENGTHS: core::ops::RangeInclusive<usize> = rtp::HEADER_OCTETS..=1500;
    if piece.ports.0 < 1024 || piece.ports.1 < 1024 {
        return false;
    }
    let frame = |at: usize| {
        let length = piece.be16(at).filter(|length| LENGTHS.contains(length))?;
        let inside = piece.octets.get(at + 2..)?;
        let header = rtp::Header::new(inside)?;
        let fits = rtp::looks_like_rtp(inside) && rtp::payload_type_in_use(header.payload_type);
        fits.then_some((at + 2 + length, header.ssrc))
    };
    let Some((end, ssrc)) = frame(0) else { return false };
    end == piece.wire || frame(end).is_some_and(|(_, next)| next == ssrc)
}

/// Diameter (RFC 6733 section 3): version, length, flags, a command, and a first AVP whose length fits.
fn is_diameter(piece: &Piece<'_>) -> bool {
    let (Some(first), Some(second), Some(avp)) = (piece.be32(0), piece.be32(4), piece.be32(24)) else { return false };
    let (version, length) = (first >> 24, first & 0xff_ffff);
    let (flags, command) = (second >> 24, second & 0xff_ffff);
    let avp = avp & 0xff_ffff;
    version == 1
        && length % 4 == 0
        && (28..=1 << 20).contains(&length)
        && flags & 0x0f == 0
        && (257..=0xff_ffff).contains(&command)
        && (8..=length - 20).contains(&avp)
}

/// RTSP (RFC 7826 section 20.2.2): a method, an address and the version in the first line, or the version first.
fn is_rtsp(piece: &Piece<'_>) -> bool {
    const METHODS: [&[u8]; 11] = [
        b"OPTIONS",
        b"DESCRIBE",
        b"ANNOUNCE",
        b"SETUP",
        b"PLAY",
        b"PAUSE",
        b"TEARDOWN",
        b"GET_PARAMETER",
        b"SET_PARAMETER",
        b"RECORD",
        b"REDIRECT",
    ];
    let line = piece.line(1024);
    if let Some([b'1' | b'2', b'.', b'0'..=b'9', b' ', ..]) = line.strip_prefix(b"RTSP/") {
        return true;
    }
    let is_version = line.ends_with(b" RTSP/1.0") || line.ends_with(b" RTSP/2.0");
    is_version && METHODS.contains(&line.split(|o| *o == b' ').next().unwrap_or_default())
}

/// STUN or TURN at the beginning of a segment: it may be followed by more, so that only the cookie is proof.
fn stun_in_stream(piece: &Piece<'_>) -> Option<Protocol> {
    let length = piece.be16(2)? + 20;
    if piece.be32(4)? != 0x2112_a442 || length > piece.wire {
        return None;
    }
    stun::of_message(&Piece { wire: length, octets: piece.octets.get(..length).unwrap_or(piece.octets), ..*piece })
}

/// Payload protocol identifiers of SCTP (IANA), in network order.
mod payload {
    pub const M3UA: u32 = 3;
    pub const H248: u32 = 7;
    pub const DIAMETER: u32 = 46;
}

/// The protocol of the first user message that begins in an SCTP packet, by its identifier and what it holds.
pub fn of_sctp(chunks: &[u8]) -> Option<Protocol> {
    let data = Chunks::new(chunks).find_map(|chunk| chunk.data().filter(|data| data.flags & BEGIN != 0))?;
    let piece = Piece { octets: data.octets, wire: data.wire, ports: (0, 0) };
    match data.protocol? {
        payload::M3UA => of_m3ua(&piece),
        payload::H248 => Some(Protocol::Megaco),
        payload::DIAMETER => is_diameter(&piece).then_some(Protocol::Diameter),
        _ => None,
    }
}

/// M3UA (RFC 4666 section 3.1): version 1, a length that agrees; and whether its data is ISUP (section 3.3.1).
fn of_m3ua(piece: &Piece<'_>) -> Option<Protocol> {
    const TRANSFER: [u8; 2] = [1, 1];
    const DATA: usize = 0x0210;
    const ISUP: u8 = 5;
    let [version, reserved, class, kind] = piece.array(0)?;
    let length = piece.be32(4)? as usize;
    if version != 1 || reserved != 0 || length < 8 || length > piece.wire || piece.wire - length > 3 {
        return None;
    }
    let mut at = 8;
    while [class, kind] == TRANSFER && at + 4 <= length {
        let (Some(tag), Some(of)) = (piece.be16(at), piece.be16(at + 2)) else { break };
        if tag == DATA {
            // Point codes of both ends, then the service indicator.
            let is_isup = piece.octets.get(at + 12) == Some(&ISUP);
            return Some(if is_isup { Protocol::Isup } else { Protocol::M3ua });
        }
        if of < 4 {
            break;
        }
        at += of.next_multiple_of(4);
    }
    Some(Protocol::M3ua)
}
