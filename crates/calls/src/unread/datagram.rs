//! What a UDP datagram may be that is neither SIP nor RTP.

use super::media_control::{is_megaco, is_mgcp, is_ras};
use super::{Piece, Protocol, fax, stun};
use trunkline_wire::sip;

/// The protocol of a datagram; none where it is not certain.
pub fn of_udp(piece: &Piece<'_>) -> Option<Protocol> {
    let first = *piece.octets.first()?;
    match first {
        b'H' if is_hep3(piece) => Some(Protocol::Hep),
        1 | 2 if is_old_hep(piece) => Some(Protocol::Hep),
        0x40..=0x7f => gtp_c(piece).or_else(|| stun::of_channel(piece)).or_else(|| with_text(piece)),
        0x80.. => None,
        _ => stun::of_message(piece)
            .or_else(|| is_dtls(piece).then_some(Protocol::Dtls))
            .or_else(|| is_radius(piece).then_some(Protocol::Radius))
            .or_else(|| gtp_c(piece))
            .or_else(|| with_text(piece))
            .or_else(|| is_capwap(piece).then_some(Protocol::Capwap))
            .or_else(|| is_ras(piece).then_some(Protocol::Ras))
            .or_else(|| fax::is_udptl(piece).then_some(Protocol::Udptl)),
    }
}

fn with_text(piece: &Piece<'_>) -> Option<Protocol> {
    if is_mgcp(piece) {
        return Some(Protocol::Mgcp);
    }
    is_megaco(piece).then_some(Protocol::Megaco)
}

/// HEP version 3: `HEP3`, the length of all, then chunks: vendor, type, length.
pub fn is_hep3(piece: &Piece<'_>) -> bool {
    let (Some(length), Some(chunk)) = (piece.be16(4), piece.be16(10)) else { return false };
    // Over TCP a segment may end in the message, or another one begin.
    piece.octets.starts_with(b"HEP3") && length >= 12 && (6..=length - 6).contains(&chunk)
}

/// HEP versions 1 and 2: version, length of the header, address family, protocol, ports, addresses, in version 2 the
/// time; then SIP.
fn is_old_hep(piece: &Piece<'_>) -> bool {
    let Some([version, length, family, protocol]) = piece.array(0) else { return false };
    let header: usize = match family {
        2 => 16,
        10 => 40,
        _ => return false,
    };
    let length = usize::from(length);
    // Field: some senders of version 2 leave the time out of the length.
    let begins: &[usize] = if version == 1 { &[0] } else { &[12, 0, 10] };
    matches!(protocol, 6 | 17 | 132)
        && (length == header || length == header + 12 || length == header + 10)
        && begins.iter().any(|more| piece.octets.get(header + more..).is_some_and(sip::looks_like_sip))
}

/// DTLS (RFC 6347 section 4.1): records that end with the datagram.
pub fn is_dtls(piece: &Piece<'_>) -> bool {
    const HEADER: usize = 13;
    let mut at = 0;
    loop {
        let Some([kind, high, low]) = piece.array::<3>(at) else { return at > 0 && at >= piece.octets.len() };
        let Some(length) = piece.be16(at + 11) else { return false };
        let is_version = matches!((high, low), (0xfe, 0xff | 0xfd) | (1, 0));
        if !(20..=25).contains(&kind) || !is_version || length == 0 || length > (1 << 14) + 2048 {
            return false;
        }
        at += HEADER + length;
        if at == piece.wire {
            return true;
        }
        if at > piece.wire {
            return false;
        }
    }
}

/// Whether a datagram of DTLS begins with something else than data: its handshake, or an alert.
pub fn is_handshake(piece: &Piece<'_>) -> bool {
    matches!(piece.octets.first(), Some(20..=22))
}

/// RADIUS (RFC 2865 section 3): a length that agrees, attributes that fill it.
fn is_radius(piece: &Piece<'_>) -> bool {
    const PORTS: [u16; 5] = [1812, 1813, 1645, 1646, 3799];
    let Some(&[code, _, high, low]) = piece.octets.first_chunk() else { return false };
    let length = usize::from(u16::from_be_bytes([high, low]));
    if !matches!(code, 1..=5 | 11..=13 | 40..=45) || length != piece.wire || !(20..=4096).contains(&length) {
        return false;
    }
    if length == 20 {
        return PORTS.iter().any(|port| piece.is_on(*port));
    }
    let mut at = 20;
    while at < piece.octets.len() {
        let Some([kind, of]) = piece.array(at) else { return at + 1 == piece.octets.len() && at + 1 < length };
        if kind == 0 || of < 2 || at + usize::from(of) > length {
            return false;
        }
        at += usize::from(of);
    }
    at <= length && (at == length || piece.octets.len() < length)
}

/// GTP's control plane on its port: version 1 (3GPP TS 29.060 section 6) or 2 (TS 29.274 section 5.1), a length that
/// agrees.
fn gtp_c(piece: &Piece<'_>) -> Option<Protocol> {
    const PORT: u16 = 2123;
    let [flags, kind] = piece.array(0)?;
    let length = piece.be16(2)?;
    let is_it = match flags >> 5 {
        1 => flags & 0x10 != 0 && flags & 0x08 == 0 && length + 8 == piece.wire,
        // With the piggybacking flag another message follows.
        2 => flags & 0x03 == 0 && (length + 4 == piece.wire || flags & 0x10 != 0 && length + 4 < piece.wire),
        _ => false,
    };
    (is_it && kind != 0 && kind != 255 && piece.is_on(PORT)).then_some(Protocol::GtpC)
}

/// CAPWAP (RFC 5415 section 4.3) on its ports: a preamble of version 0, and behind it DTLS, a control message whose
/// length agrees, or data with a header that can be.
fn is_capwap(piece: &Piece<'_>) -> bool {
    const CONTROL: u16 = 5246;
    const DATA: u16 = 5247;
    if !piece.is_on(CONTROL) && !piece.is_on(DATA) {
        return false;
    }
    match piece.octets.first() {
        Some(1) => piece.from(4).is_some_and(|inner| is_dtls(&inner)),
        Some(0) => {
            let Some([_, lengths, _, _, _, _, _, last]) = piece.array::<8>(0) else { return false };
            let header = usize::from(lengths >> 3) * 4;
            if header < 8 || header > piece.wire || last & 0x07 != 0 {
                return false;
            }
            piece.is_on(DATA) || is_capwap_control(piece, header)
        }
        _ => false,
    }
}

/// Section 4.5.1.1: message type with an enterprise number, sequence number, length from behind it on.
fn is_capwap_control(piece: &Piece<'_>, header: usize) -> bool {
    let (Some(kind), Some(length)) = (piece.be32(header), piece.be16(header + 5)) else { return false };
    let rest = piece.wire.saturating_sub(header + 5);
    // Field: some count the length and the flags, some only what follows them.
    matches!(kind >> 8, 0 | 13277) && (1..=64).contains(&(kind & 0xff)) && (length == rest || length + 3 == rest)
}
