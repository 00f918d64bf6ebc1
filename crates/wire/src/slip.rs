//! SLIP as BSD captures it: direction and the compressed header (16 octets together), then the packet (RFC 1055, RFC
//! 1144).

use crate::walk::{Walk, malformed};
use crate::{Decoded, Layer, transport};

const HEADER: usize = 16;

pub(crate) fn frame(walk: Walk, at: usize) -> Decoded {
    match walk.array::<HEADER>(at) {
        // The packet stands there with its header restored.
        Some(_) => transport::by_version(walk, at + HEADER),
        None => malformed(Layer::Link),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::decode;

    #[test]
    fn ip_behind_the_header() {
        let ip = [
            0x45, 0, 0, 30, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x13, 0xc4, 0x13, 0xce, 0, 10, 0, 0, 1,
            2,
        ];
        assert!(matches!(decode(8, &[&[0; 16][..], &ip].concat()), Decoded::Udp(d) if d.payload_captured == 2));
        assert_eq!(decode(8, &[0; 15]), malformed(Layer::Link));
    }
}
