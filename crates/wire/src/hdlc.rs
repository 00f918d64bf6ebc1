//! Cisco HDLC, and frame relay (ITU-T Q.922, RFC 2427): what serial links carry besides PPP.
//!
//! ```text
//! Cisco HDLC:  | 0x0f or 0x8f | 0 | EtherType | ...
//! Frame relay: | address (2 to 4) | control 0x03 | NLPID | ...     or     | address | EtherType | ...
//! ```

use crate::walk::{Walk, malformed};
use crate::{Decoded, Layer, ether, ppp};

/// Octets that a Q.922 address may have.
const ADDRESS_MAX: usize = 4;
const UNNUMBERED: u8 = 0x03;

pub(crate) fn frame(walk: Walk, at: usize) -> Decoded {
    match (walk.u8(at), walk.u16(at + 2)) {
        // RFC 1662: some routers put PPP on the same link.
        (Some(0xff), Some(_)) => ppp::frame(walk, at),
        (Some(_), Some(kind)) => ether::typed_slowly(walk, at + 4, kind),
        _ => malformed(Layer::Link),
    }
}

pub(crate) fn relay(walk: Walk, at: usize) -> Decoded {
    // Q.922 clause 3.2: the last octet of the address has its lowest bit set.
    let last = (0..ADDRESS_MAX).find(|n| walk.u8(at + n).is_none_or(|o| o & 1 == 1));
    let Some(control) = last.filter(|n| walk.u8(at + n).is_some()).map(|n| at + n + 1) else {
        return malformed(Layer::Link);
    };
    match walk.array(control) {
        // RFC 2427 section 3: a padding octet may align what follows.
        Some([UNNUMBERED, 0]) => ppp::nlpid(walk, control + 2),
        Some([UNNUMBERED, _]) => ppp::nlpid(walk, control + 1),
        Some([high, low]) if high >= 6 => ether::typed_slowly(walk, control + 2, u16::from_be_bytes([high, low])),
        Some(_) => Decoded::Other,
        None => malformed(Layer::Link),
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

    #[test]
    fn framings() {
        let cases: [(u16, &[u8]); 6] = [
            (104, &[0x0f, 0, 8, 0]),
            (104, &[0xff, 3, 0, 0x21]),
            (107, &[0x18, 0x41, 3, 0xcc]),
            (107, &[0x18, 0x41, 3, 0, 0x80, 0, 0, 0, 8, 0]),
            (107, &[0x18, 0x40, 0x40, 0x41, 3, 0xcc]),
            (107, &[0x18, 0x41, 8, 0]),
        ];
        for (link, before) in cases {
            let decoded = decode(link, &[before, &IP].concat());
            assert!(matches!(decoded, Decoded::Udp(d) if d.payload_captured == 2), "{before:x?} {decoded:?}");
        }
    }

    #[test]
    fn others() {
        assert_eq!(decode(107, &[0, 2, 4, 6, 8]), Decoded::Malformed(Layer::Link));
        assert_eq!(decode(107, &[0, 2, 4]), Decoded::Malformed(Layer::Link));
        assert_eq!(decode(107, &[0, 1, 8, 2]), Decoded::Unknown(Layer::Link));
        assert_eq!(decode(104, &[0x0f, 0, 0x80, 0x35]), Decoded::Other);
    }
}
