//! ARCNET (ANSI 878.1) with IP as RFC 1201 and RFC 1051 put it there.
//!
//! ```text
//! | src | dst | [Linux: offset (2)] | protocol | [RFC 1201: split flag | sequence (2)] | packet
//! ```

use crate::walk::{Walk, malformed};
use crate::{Decoded, Layer, ipv4, ipv6};

/// `header`: octets before the protocol, 2 or, on Linux, 4.
pub(crate) fn frame(walk: Walk, at: usize, header: usize) -> Decoded {
    let at = at + header;
    match walk.u8(at) {
        // RFC 1051.
        Some(0xf0) => ipv4::packet(walk, at + 1),
        Some(0xd4) => unsplit(&walk, at).map_or(Decoded::Other, |packet| ipv4::packet(walk, packet)),
        Some(0xc4) => unsplit(&walk, at).map_or(Decoded::Other, |packet| ipv6::packet(walk, packet)),
        Some(_) => Decoded::Other,
        None => malformed(Layer::Link),
    }
}

/// RFC 1201: split flag 0 is a whole packet; 0xff begins an exception frame, whose header is repeated after padding.
fn unsplit(walk: &Walk, at: usize) -> Option<usize> {
    match walk.u8(at + 1)? {
        0 => Some(at + 4),
        0xff if walk.u8(at + 5)? == 0 => Some(at + 8),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::decode;

    #[test]
    fn ip_on_arcnet() {
        let ip = [
            0x45, 0, 0, 30, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x13, 0xc4, 0x13, 0xce, 0, 10, 0, 0, 1,
            2,
        ];
        let exception = [1, 2, 0, 0, 0xd4, 0xff, 0xff, 0xff, 0xd4, 0, 0, 7];
        for (link, before) in [(129, &[1, 2, 0, 0, 0xd4, 0, 0, 7][..]), (129, &exception), (7, &[1, 2, 0xf0])] {
            assert!(matches!(decode(link, &[before, &ip].concat()), Decoded::Udp(d) if d.payload_captured == 2));
        }
        assert_eq!(decode(129, &[1, 2, 0, 0, 0xd4, 3, 0, 7]), Decoded::Other);
        assert_eq!(decode(129, &[1, 2, 0, 0]), malformed(Layer::Link));
    }
}
