//! The first look at a packet: is it signalling, media, or neither, and which lane is it for.

use trunkline_wire::{Datagram, Decoded, Endpoint, rtcp, rtp, sip};

/// Places for flows under observation; the lane of a flow follows from its place.
// Limit: places in the table of flows that may be RTP without signalling
// Beyond: in a full place an idle flow gives way, else the new one is not observed
// Seen in: `trunkline_calls_candidates_overflow_total`
pub const CANDIDATE_SLOTS: usize = 1 << 15;

/// What a packet is for, by the first look at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketClass {
    /// For the signalling: SIP in UDP, any TCP, SCTP and fragments.
    Signalling,
    /// RTP: for the lane of its flow.
    Rtp,
    /// RTCP: for every lane.
    Rtcp,
    /// UDP of another kind.
    OtherUdp,
    /// Not UDP, TCP or SCTP.
    Other,
}

/// Looks at a packet.
#[inline]
pub fn classify(decoded: &Decoded, octets: &[u8]) -> PacketClass {
    match decoded {
        Decoded::Udp(datagram) => classify_udp(payload(datagram, octets)),
        Decoded::Tcp(..) | Decoded::Sctp(_) | Decoded::Fragment(_) => PacketClass::Signalling,
        _ => PacketClass::Other,
    }
}

/// Looks at a UDP payload.
#[inline]
pub fn classify_udp(payload: &[u8]) -> PacketClass {
    match payload.first() {
        // Version 2 of RTP and RTCP; RFC 7983 gives 128 to 191 to them where STUN and DTLS share the port.
        Some(128..=191) if rtcp::looks_like_rtcp(payload) => PacketClass::Rtcp,
        Some(128..=191) if rtp::looks_like_rtp(payload) => PacketClass::Rtp,
        Some(b'A'..=b'Z') if begins_as_usual(payload) => PacketClass::Signalling,
        Some(0..=127) if sip::looks_like_sip(payload) => PacketClass::Signalling,
        _ => PacketClass::OtherUdp,
    }
}

/// The beginnings of nearly all SIP: who scans it will read the start line, once is enough.
#[inline]
fn begins_as_usual(payload: &[u8]) -> bool {
    const USUAL: [&[u8; 4]; 9] = [b"SIP/", b"INVI", b"ACK ", b"BYE ", b"REGI", b"OPTI", b"NOTI", b"SUBS", b"CANC"];
    payload.first_chunk::<4>().is_some_and(|begin| USUAL.contains(&begin))
}

/// The captured payload of a datagram.
#[inline]
pub fn payload<'a>(datagram: &Datagram, octets: &'a [u8]) -> &'a [u8] {
    let start = datagram.payload_start as usize;
    octets.get(start..start + datagram.payload_captured as usize).unwrap_or_default()
}

/// The lane of a flow: the same for both directions and for RTCP on the next port.
#[inline]
pub fn lane_of(datagram: &Datagram, lanes: usize) -> usize {
    flow_slot(datagram) / 2 % lanes.max(1)
}

/// Place of a flow in the table of candidates: even and odd for its two directions.
#[inline]
pub fn flow_slot(datagram: &Datagram) -> usize {
    let (from, to) = (datagram.from(), datagram.to());
    let mixed = end_hash(from).wrapping_add(end_hash(to));
    let spread = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40;
    (spread as usize & (CANDIDATE_SLOTS / 2 - 1)) * 2 + usize::from(from > to)
}

/// A hash that is the same on every run; ports in pairs, so that RTP and RTCP meet.
#[inline]
fn end_hash(end: Endpoint) -> u64 {
    let o = end.address.octets();
    let word =
        |i: usize| u64::from_le_bytes([o[i], o[i + 1], o[i + 2], o[i + 3], o[i + 4], o[i + 5], o[i + 6], o[i + 7]]);
    let mixed = (word(0) ^ u64::from(end.port & !1).rotate_left(48)).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ word(8);
    let mixed = (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    mixed ^ mixed >> 32
}
