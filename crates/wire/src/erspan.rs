//! ERSPAN: a switch's mirrored frames in GRE (draft-foschiano-erspan-03).
//!
//! ```text
//! Type I: the frame.   Type II: | version 1, VLAN | class, session | index | frame
//! Type III: | version 2, VLAN | class, session | timestamp | group | P FT hardware direction granularity O |
//!           | [subheader (8)] | frame
//! ```

use crate::walk::{Walk, malformed};
use crate::{Decoded, Layer, ether, transport};

const HEADER_II: usize = 8;
const HEADER_III: usize = 12;
const SUBHEADER: usize = 8;

/// Type I has no header and its GRE no sequence number (section 4.1).
pub(crate) fn type_1_or_2(walk: Walk, at: usize, sequence: bool) -> Decoded {
    if !sequence {
        return ether::frame(walk, at);
    }
    match walk.u8(at).map(|o| o >> 4) {
        Some(1) => ether::frame(walk, at + HEADER_II),
        Some(2) => type_3(walk, at),
        // Field: some senders number the frames of type I as well.
        Some(_) => ether::frame(walk, at),
        None => malformed(Layer::Tunnel),
    }
}

pub(crate) fn type_3(walk: Walk, at: usize) -> Decoded {
    let Some(header) = walk.array::<HEADER_III>(at).filter(|h| h[0] >> 4 == 2) else {
        return malformed(Layer::Tunnel);
    };
    let frame = at + HEADER_III + if header[11] & 1 != 0 { SUBHEADER } else { 0 };
    // Section 4.3: frame type 0 is Ethernet, 2 is IP.
    match header[10] >> 2 & 0x1f {
        0 => ether::frame(walk, frame),
        2 => transport::by_version(walk, frame),
        _ => Decoded::Unknown(Layer::Tunnel),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::decode;

    const FRAME: [u8; 44] = [
        1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 8, 0, 0x45, 0, 0, 30, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
        0x13, 0xc4, 0x13, 0xce, 0, 10, 0, 0, b'h', b'i',
    ];

    fn carried_by(gre: &[u8]) -> Decoded {
        let total = (64 + gre.len()) as u8;
        let outer = [0x45, 0, 0, total, 0, 1, 0, 0, 64, 47, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2];
        decode(101, &[&outer[..], gre, &FRAME].concat())
    }

    #[test]
    fn all_types() {
        for gre in [
            &[0, 0, 0x88, 0xbe][..],
            &[0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 0x64, 0, 5, 0, 0, 0, 0],
            &[0x10, 0, 0x22, 0xeb, 0, 0, 0, 1, 0x20, 0x64, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0],
            &[0x10, 0, 0x22, 0xeb, 0, 0, 0, 1, 0x20, 0x64, 0, 5, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8],
        ] {
            let decoded = carried_by(gre);
            assert!(
                matches!(decoded, Decoded::Udp(d) if d.tunnels == 1 && d.payload_captured == 2),
                "{gre:x?} {decoded:?}"
            );
        }
    }

    #[test]
    fn nonsense() {
        assert_eq!(carried_by(&[0x10, 0, 0x22, 0xeb, 0, 0, 0, 1, 0x50]), malformed(Layer::Tunnel));
    }
}
