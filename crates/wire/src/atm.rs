//! ATM: RFC 2684 encapsulation, and SunATM's header before it.
//!
//! ```text
//! SunATM: | direction, traffic type | VPI | VCI (2) | LAN emulation, or LLC, or a signalling message
//! ```

use crate::walk::{Walk, malformed};
use crate::{Decoded, Layer, ether, llc, ppp, transport};

/// LLC, or the bare packet of a circuit that carries one protocol (RFC 2684 section 6); PPP (RFC 2364).
pub(crate) fn rfc_2684(walk: Walk, at: usize) -> Decoded {
    match walk.array(at) {
        Some([0xaa, 0xaa] | [0xfe, 0xfe] | [0x06, 0x06]) => llc::header(walk, at),
        Some([0x45..=0x4f | 0x60..=0x6f, _]) if transport::fits(&walk, at, false) => transport::by_version(walk, at),
        // Section 6.2: two octets of padding, then the frame.
        Some([0, 0]) => ether::frame(walk, at + 2),
        Some(_) if ppp::fits(&walk, at) => ppp::frame(walk, at),
        Some(_) => llc::header(walk, at),
        None => malformed(Layer::Link),
    }
}

pub(crate) fn sun(walk: Walk, at: usize) -> Decoded {
    const LAN_EMULATION: u8 = 1;
    const LLC: u8 = 2;
    match walk.array::<4>(at) {
        Some([kind, ..]) if kind & 0x0f == LLC => rfc_2684(walk, at + 4),
        // ATM Forum LANE: a client identifier, then the frame.
        Some([kind, ..]) if kind & 0x0f == LAN_EMULATION => ether::frame(walk, at + 6),
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
    fn encapsulations() {
        let frame = [&[0, 0][..], &[1; 12], &[8, 0]].concat();
        let lane = [&[1, 0, 0, 5, 0, 1][..], &[1; 12], &[8, 0]].concat();
        let sun = [0x82, 0, 0, 5, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0];
        for (link, before) in [(100, &[][..]), (100, &[0, 0x21]), (100, &frame), (123, &lane), (123, &sun)] {
            assert!(matches!(decode(link, &[before, &IP].concat()), Decoded::Udp(d) if d.payload_captured == 2));
        }
        assert_eq!(decode(123, &[6, 0, 0, 5]), Decoded::Other);
        assert_eq!(decode(123, &[6, 0, 0]), malformed(Layer::Link));
    }
}
