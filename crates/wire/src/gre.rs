//! Generic routing encapsulation: RFC 1701 with its options, RFC 2784, RFC 2890; version 1 of PPTP (RFC 2637); in UDP
//! (RFC 8086).
//!
//! ```text
//! | C R K S s recursion flags version | protocol | checksum, offset | key | sequence | routing ... |
//! ```

use crate::walk::{Walk, malformed, understood};
use crate::{Decoded, Layer, erspan, ether, ppp, transport, wlan};

const CHECKSUM: u16 = 0x8000;
const ROUTING: u16 = 0x4000;
const KEY: u16 = 0x2000;
const SEQUENCE: u16 = 0x1000;
const ACKNOWLEDGEMENT: u16 = 0x0080;
const VERSION: u16 = 0x0007;

/// Source route entries before a header is taken for nonsense.
const ROUTES_MAX: usize = 16;

const ERSPAN: u16 = 0x88be;
const ERSPAN_III: u16 = 0x22eb;
const PPP: u16 = 0x880b;
const WCCP: u16 = 0x883e;

pub(crate) fn packet(walk: Walk, at: usize) -> Decoded {
    let (Some(walk), Some(flags), Some(protocol)) = (walk.deeper(), walk.u16(at), walk.u16(at + 2)) else {
        return malformed(Layer::Tunnel);
    };
    match (flags & VERSION, protocol) {
        (0, _) => match after_options(&walk, at, flags) {
            Some(payload) => carried(walk, payload, protocol, flags),
            None => malformed(Layer::Tunnel),
        },
        (1, PPP) => point_to_point(walk, at, flags),
        _ => malformed(Layer::Tunnel),
    }
}

/// In UDP the packet inside must be IP that fills the datagram, or Ethernet that is understood.
pub(crate) fn over_udp(walk: Walk, at: usize) -> Option<Decoded> {
    let (flags, protocol) = (walk.u16(at)?, walk.u16(at + 2)?);
    if flags & !(CHECKSUM | KEY | SEQUENCE) != 0 {
        return None;
    }
    let payload = after_options(&walk, at, flags)?;
    match protocol {
        0x0800 | 0x86dd => transport::fits(&walk, payload, true).then(|| ether::typed_slowly(walk, payload, protocol)),
        0x6558 => understood(ether::frame(walk, payload)),
        _ => None,
    }
}

fn after_options(walk: &Walk, at: usize, flags: u16) -> Option<usize> {
    let mut end = at + 4;
    for option in [CHECKSUM | ROUTING, KEY, SEQUENCE] {
        end += if flags & option != 0 { 4 } else { 0 };
    }
    if flags & ROUTING != 0 {
        end = after_routes(walk, end)?;
    }
    (end <= walk.octets.len()).then_some(end)
}

/// RFC 1701: entries of family, offset, length; one with length and family 0 ends the list.
fn after_routes(walk: &Walk, mut at: usize) -> Option<usize> {
    for _ in 0..ROUTES_MAX {
        let [f1, f2, _, length] = walk.array(at)?;
        at += 4 + usize::from(length);
        if [f1, f2, length] == [0, 0, 0] {
            return Some(at);
        }
    }
    None
}

fn carried(walk: Walk, at: usize, protocol: u16, flags: u16) -> Decoded {
    match protocol {
        ERSPAN => erspan::type_1_or_2(walk, at, flags & SEQUENCE != 0),
        ERSPAN_III => erspan::type_3(walk, at),
        PPP => ppp::frame(walk, at),
        // Version 2 of the redirect protocol puts four octets before the packet, version 1 none.
        WCCP => transport::by_version(walk, at + if walk.u8(at).is_some_and(|o| o >> 4 == 4) { 0 } else { 4 }),
        // Field: access points of one maker tunnel 802.11 frames under these numbers.
        0x8200..=0x83ff | 0x9000 => wlan::frame(walk, at, false),
        // Keepalives.
        0 => Decoded::Other,
        _ => ether::typed_slowly(walk, at, protocol),
    }
}

/// RFC 2637 section 4.1: key holds payload length and call identifier; the payload is PPP, or absent.
fn point_to_point(walk: Walk, at: usize, flags: u16) -> Decoded {
    let Some(length) = walk.u16(at + 4).filter(|_| flags & KEY != 0) else { return malformed(Layer::Tunnel) };
    let sequence = if flags & SEQUENCE != 0 { 4 } else { 0 };
    let acknowledgement = if flags & ACKNOWLEDGEMENT != 0 { 4 } else { 0 };
    let payload = at + 8 + sequence + acknowledgement;
    if length == 0 || sequence == 0 {
        return Decoded::Other;
    }
    ppp::frame(walk.narrow(payload, usize::from(length)), payload)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::decode;

    const IP: [u8; 30] = [
        0x45, 0, 0, 30, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x13, 0xc4, 0x13, 0xce, 0, 10, 0, 0, b'h',
        b'i',
    ];

    fn carried_by(gre: &[u8]) -> Decoded {
        let total = (50 + gre.len()) as u8;
        let outer = [0x45, 0, 0, total, 0, 1, 0, 0, 64, 47, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2];
        decode(101, &[&outer[..], gre, &IP].concat())
    }

    #[test]
    fn options() {
        for gre in [
            &[0, 0, 8, 0][..],
            &[0x80, 0, 8, 0, 1, 1, 0, 0],
            &[0xb0, 0, 8, 0, 1, 1, 0, 0, 0, 0, 0, 7, 0, 0, 0, 1],
            &[0x40, 0, 8, 0, 0, 0, 0, 0, 8, 0, 0, 4, 1, 2, 3, 4, 0, 0, 0, 0],
            &[0x30, 0x81, 0x88, 0x0b, 0, 34, 0, 9, 0, 0, 0, 1, 0, 0, 0, 2, 0xff, 3, 0, 0x21],
            &[0, 0, 0x65, 0x58, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 8, 0],
            &[0, 0, 0x88, 0x47, 0, 1, 1, 64],
            &[0, 0, 0x88, 0x3e, 0, 0, 0, 0],
        ] {
            let decoded = carried_by(gre);
            assert!(matches!(decoded, Decoded::Udp(d) if d.tunnels == 1), "{gre:x?} {decoded:?}");
        }
    }

    #[test]
    fn nonsense() {
        assert_eq!(carried_by(&[0, 2, 8, 0]), malformed(Layer::Tunnel));
        assert_eq!(carried_by(&[0x40, 0, 8, 0, 0, 0, 0, 0, 8, 0, 0, 255]), malformed(Layer::Tunnel));
        assert_eq!(carried_by(&[0x20, 1, 0x88, 0x0b, 0, 0, 0, 9]), Decoded::Other);
        assert_eq!(carried_by(&[0, 0, 0, 0]), Decoded::Other);
    }
}
