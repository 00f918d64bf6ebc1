//! Logical link control (IEEE 802.2) and SNAP (IEEE 802), on Ethernet with a length, 802.11, ATM, token ring, FDDI.
//!
//! ```text
//! | DSAP | SSAP | control (1 or 2) | SNAP: organisation (3) | type (2) |
//! ```

use crate::walk::{Walk, malformed};
use crate::{Decoded, Layer, ether, ipv4, ppp};

const SNAP: u8 = 0xaa;
const IP: u8 = 0x06;
const ROUTED_NLPID: u8 = 0xfe;
const UNNUMBERED: u8 = 0x03;

/// An Ethernet frame whose type field is a length: what lies behind that length is padding.
pub(crate) fn of_length(walk: Walk, at: usize, length: u16) -> Decoded {
    header(walk.narrow(at, usize::from(length)), at)
}

pub(crate) fn header(walk: Walk, at: usize) -> Decoded {
    let (Some(walk), Some([dsap, ssap, control])) = (walk.deeper(), walk.array(at)) else {
        return malformed(Layer::Link);
    };
    match (dsap & 0xfe, ssap & 0xfe, control) {
        (SNAP, SNAP, UNNUMBERED) => snap(walk, at + 3),
        (IP, IP, UNNUMBERED) => ipv4::packet(walk, at + 3),
        // RFC 2684 section 5.1: routed PDUs with an NLPID; RFC 2364 section 5: PPP.
        (ROUTED_NLPID, ROUTED_NLPID, UNNUMBERED) => ppp::nlpid(walk, at + 3),
        _ => Decoded::Other,
    }
}

/// The organisation and its type (IEEE 802 clause 9; bridged frames of RFC 2684 section 5.2).
pub(crate) fn snap(walk: Walk, at: usize) -> Decoded {
    let Some([o1, o2, o3, t1, t2]) = walk.array(at) else { return malformed(Layer::Link) };
    let kind = u16::from_be_bytes([t1, t2]);
    match ([o1, o2, o3], kind) {
        // Encapsulated Ethernet, and the bridge tunnel of 802.1H.
        ([0, 0, 0] | [0, 0, 0xf8], _) => ether::typed_slowly(walk, at + 5, kind),
        // Bridged Ethernet, with the frame check sequence kept or not; two octets of padding on ATM.
        ([0, 0x80, 0xc2], 1 | 7) => match walk.u16(at + 5) {
            Some(0) => ether::frame(walk, at + 7),
            _ => ether::frame(walk, at + 5),
        },
        _ => Decoded::Other,
    }
}

#[cfg(test)]
mod tests {
    use crate::link::decode;
    use crate::{Decoded, Layer};

    const IP: [u8; 30] = [
        0x45, 0, 0, 30, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x13, 0xc4, 0x13, 0xce, 0, 10, 0, 0, b'h',
        b'i',
    ];
    const ATM_RFC1483: u16 = 100;

    #[test]
    fn ways_to_ip() {
        for llc in [
            &[0xaa, 0xaa, 3, 0, 0, 0, 8, 0][..],
            &[0xaa, 0xaa, 3, 0, 0, 0xf8, 8, 0],
            &[6, 6, 3],
            &[0xfe, 0xfe, 3, 0xcc],
            &[0xfe, 0xfe, 3, 0xcf, 0, 0x21],
            &[0xaa, 0xaa, 3, 0, 0x80, 0xc2, 0, 7, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 8, 0],
        ] {
            let decoded = decode(ATM_RFC1483, &[llc, &IP].concat());
            assert!(matches!(decoded, Decoded::Udp(d) if d.payload_captured == 2), "{llc:x?} {decoded:?}");
        }
    }

    #[test]
    fn others() {
        assert_eq!(decode(ATM_RFC1483, &[0x42, 0x42, 3, 0, 0]), Decoded::Other);
        assert_eq!(decode(ATM_RFC1483, &[0x42, 0x42]), Decoded::Malformed(Layer::Link));
        assert_eq!(decode(ATM_RFC1483, &[0xaa, 0xaa, 3, 0]), Decoded::Malformed(Layer::Link));
    }
}
