//! Network service header (RFC 8300).
//!
//! ```text
//! | version O - time to live | length in words, metadata type, next protocol | service path | index | metadata | payload
//! ```

use crate::walk::{Walk, malformed};
use crate::{Decoded, Layer, ether, ipv4, ipv6, mpls};

const BASE_AND_PATH: usize = 8;

pub(crate) fn header(walk: Walk, at: usize) -> Decoded {
    let (Some(walk), Some(base)) = (walk.deeper(), walk.array::<BASE_AND_PATH>(at)) else {
        return malformed(Layer::Tunnel);
    };
    let length = usize::from(base[1] & 0x3f) * 4;
    if base[0] >> 6 != 0 || length < BASE_AND_PATH {
        return malformed(Layer::Tunnel);
    }
    match base[3] {
        1 => ipv4::packet(walk, at + length),
        2 => ipv6::packet(walk, at + length),
        3 => ether::frame(walk, at + length),
        4 => header(walk, at + length),
        5 => mpls::stack(walk, at + length),
        _ => Decoded::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::decode;

    #[test]
    fn metadata_is_passed() {
        let ip = [
            0x45, 0, 0, 30, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x13, 0xc4, 0x13, 0xce, 0, 10, 0, 0, 1,
            2,
        ];
        let ethernet = [&[1; 12][..], &[0x89, 0x4f]].concat();
        let fixed = [&[0x0f, 0xc6, 1, 1, 0, 0, 1, 255][..], &[0; 16]].concat();
        assert!(matches!(decode(1, &[&ethernet[..], &fixed, &ip].concat()), Decoded::Udp(_)));
        let endless = [0, 2, 2, 4, 0, 0, 1, 255].repeat(100);
        assert_eq!(decode(1, &[&ethernet[..], &endless].concat()), malformed(Layer::Tunnel));
        assert_eq!(decode(1, &[&ethernet[..], &[0, 1, 1, 1, 0, 0, 1, 255]].concat()), malformed(Layer::Tunnel));
    }
}
