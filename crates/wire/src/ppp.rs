//! PPP (RFC 1661) in HDLC-like framing (RFC 1662), on Ethernet (RFC 2516), bridged (RFC 3518); multilink (RFC 1990).
//!
//! ```text
//! | address 0xff | control 0x03 | protocol (1 or 2) | ...        (address and control may be left out)
//! PPPoE: | version, type | code | session | length | protocol | ...
//! ```

use crate::walk::{Walk, be16, malformed};
use crate::{Decoded, Layer, ether, hdlc, ipv4, ipv6, llc, mpls, transport};

const IPV4: u16 = 0x0021;
const BRIDGED: u16 = 0x0031;
const MULTILINK: u16 = 0x003d;
const IPV6: u16 = 0x0057;
const MPLS: u16 = 0x0281;
const MPLS_MULTICAST: u16 = 0x0283;

/// PPP with or without address and control.
pub(crate) fn frame(walk: Walk, at: usize) -> Decoded {
    match walk.array(at) {
        Some([0xff, 0x03]) => protocol(walk, at + 2),
        _ => protocol(walk, at),
    }
}

/// PPP or Cisco HDLC, as serial links of both kinds are captured with one link type.
pub(crate) fn serial(walk: Walk, at: usize) -> Decoded {
    match walk.array(at) {
        Some([0x0f | 0x8f, 0x00]) => hdlc::frame(walk, at),
        _ => frame(walk, at),
    }
}

/// A PPPoE session packet: what lies behind its length is padding.
pub(crate) fn over_ethernet(walk: Walk, at: usize) -> Decoded {
    let Some(header) = walk.array::<6>(at) else { return malformed(Layer::Shim) };
    match (header[0], header[1]) {
        (0x11, 0) => protocol(walk.narrow(at + 6, usize::from(be16(&header, 4))), at + 6),
        // RFC 2516 section 5: the discovery stage's codes.
        (0x11, _) => Decoded::Other,
        _ => malformed(Layer::Shim),
    }
}

/// From the protocol field on; an odd first octet is the whole field (RFC 1661 section 6.5).
pub(crate) fn protocol(walk: Walk, at: usize) -> Decoded {
    let (Some(walk), Some(first)) = (walk.deeper(), walk.u8(at)) else { return malformed(Layer::Link) };
    let (number, at) = match (first & 1, walk.u16(at)) {
        (1, _) => (u16::from(first), at + 1),
        (_, Some(number)) => (number, at + 2),
        _ => return malformed(Layer::Link),
    };
    match number {
        IPV4 => ipv4::packet(walk, at),
        IPV6 => ipv6::packet(walk, at),
        MPLS | MPLS_MULTICAST => mpls::stack(walk, at),
        MULTILINK => multilink(walk, at),
        BRIDGED => bridged(walk, at),
        // Assigned numbers have an even first and an odd second octet.
        _ if number & 0x0101 == 1 => Decoded::Other,
        _ => Decoded::Unknown(Layer::Link),
    }
}

/// RFC 1990 section 3: only a fragment that both begins and ends a packet is a packet.
fn multilink(walk: Walk, at: usize) -> Decoded {
    match walk.u8(at) {
        Some(flags) if flags & 0xc0 == 0xc0 => protocol(walk, at + 4),
        Some(_) => Decoded::Other,
        None => malformed(Layer::Link),
    }
}

/// RFC 3518 section 4.2: flags, MAC type 1 for Ethernet, a LAN identifier if a flag says so.
fn bridged(walk: Walk, at: usize) -> Decoded {
    match walk.array(at) {
        Some([flags, 1]) => ether::frame(walk, at + 2 + if flags & 0x40 != 0 { 4 } else { 0 }),
        Some(_) => Decoded::Other,
        None => malformed(Layer::Link),
    }
}

/// Network layer protocol identifiers (ISO/IEC TR 9577), on frame relay (RFC 2427) and ATM (RFC 2684).
pub(crate) fn nlpid(walk: Walk, at: usize) -> Decoded {
    match walk.u8(at) {
        Some(0xcc) => ipv4::packet(walk, at + 1),
        Some(0x8e) => ipv6::packet(walk, at + 1),
        Some(0x80) => llc::snap(walk, at + 1),
        Some(0xcf) => frame(walk, at + 1),
        Some(_) => Decoded::Other,
        None => malformed(Layer::Link),
    }
}

/// Whether PPP that carries a packet which fits lies at `at`; what guesses are checked with.
pub(crate) fn fits(walk: &Walk, at: usize) -> bool {
    let at = if walk.array(at) == Some([0xff, 0x03]) { at + 2 } else { at };
    match walk.u16(at) {
        Some(IPV4 | IPV6) => transport::fits(walk, at + 2, false),
        // Control protocols: a code up to 15 and a length that fits.
        Some(0x8021 | 0x8057 | 0xc021 | 0xc023 | 0xc223 | 0x80fd) => {
            walk.array::<4>(at + 2).is_some_and(|h| h[0] <= 15 && usize::from(be16(&h, 2)) <= walk.left(at + 2))
        }
        _ => walk.u8(at) == Some(0x21) && transport::fits(walk, at + 1, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::decode;

    const IP: [u8; 30] = [
        0x45, 0, 0, 30, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x13, 0xc4, 0x13, 0xce, 0, 10, 0, 0, b'h',
        b'i',
    ];

    fn is_the_datagram(link: u16, before: &[u8]) {
        let decoded = decode(link, &[before, &IP].concat());
        assert!(matches!(decoded, Decoded::Udp(d) if d.payload_captured == 2), "{before:x?} {decoded:?}");
    }

    #[test]
    fn framings() {
        for before in [&[0xff, 3, 0, 0x21][..], &[0, 0x21], &[0x21], &[0xff, 3, 0x21], &[0, 0x3d, 0xc0, 0, 0, 1, 0x21]]
        {
            is_the_datagram(9, before);
        }
        is_the_datagram(50, &[0x0f, 0, 8, 0]);
        is_the_datagram(51, &[0x11, 0, 0, 1, 0, 32, 0, 0x21]);
        is_the_datagram(9, &[0, 0x31, 0, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 8, 0]);
        is_the_datagram(9, &[2, 0x81, 0, 1, 1, 64]);
        let session = [&[1; 12][..], &[0x88, 0x64, 0x11, 0, 0, 1, 0, 32, 0, 0x21]].concat();
        is_the_datagram(1, &session);
    }

    #[test]
    fn others() {
        assert_eq!(decode(9, &[0xff, 3, 0xc0, 0x21, 1, 1, 0, 4]), Decoded::Other);
        assert_eq!(decode(9, &[0xff, 3, 0]), Decoded::Malformed(Layer::Link));
        assert_eq!(decode(9, &[0, 0x3d, 0x80, 0, 0, 1, 0x21]), Decoded::Other);
        assert_eq!(decode(51, &[0x21, 0, 0, 1, 0, 32, 0, 0x21]), Decoded::Malformed(Layer::Shim));
    }
}
