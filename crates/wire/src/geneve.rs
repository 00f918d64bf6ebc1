//! Geneve (RFC 8926).
//!
//! ```text
//! | version, options length in words | O C reserved | protocol (2) | network identifier (3) | reserved | options | payload
//! ```

use crate::walk::{Walk, be16};
use crate::{Decoded, ether, transport};

const HEADER: usize = 8;

pub(crate) fn packet(walk: Walk, at: usize) -> Option<Decoded> {
    let header = walk.array::<HEADER>(at)?;
    let options = usize::from(header[0] & 0x3f) * 4;
    let inner = at + HEADER + options;
    // Section 3.4: version 0; reserved fields are zero.
    if header[0] >> 6 != 0 || header[1] & 0x3f != 0 || header[7] != 0 || inner > walk.octets.len() {
        return None;
    }
    match be16(&header, 2) {
        0x6558 => Some(ether::frame(walk, inner)),
        kind @ (0x0800 | 0x86dd) => {
            transport::fits(&walk, inner, false).then(|| ether::typed_slowly(walk, inner, kind))
        }
        kind @ (0x8847 | 0x8848 | 0x894f | 0x8100) => Some(ether::typed_slowly(walk, inner, kind)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::Decoded;
    use crate::link::decode;

    const FRAME: [u8; 44] = [
        1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 8, 0, 0x45, 0, 0, 30, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
        0x13, 0xc4, 0x13, 0xce, 0, 10, 0, 0, b'h', b'i',
    ];

    fn carried_by(header: &[u8], inner: &[u8]) -> u8 {
        let length = (8 + header.len() + inner.len()) as u8;
        let outer = [0x45, 0, 0, 20 + length, 0, 1, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2];
        let udp = [0xc0, 1, 0x17, 0xc1, 0, length, 0, 0];
        match decode(101, &[&outer[..], &udp, header, inner].concat()) {
            Decoded::Udp(d) => d.tunnels,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn ethernet_and_ip_behind_options() {
        assert_eq!(carried_by(&[0, 0, 0x65, 0x58, 0, 0, 9, 0], &FRAME), 1);
        assert_eq!(carried_by(&[2, 0x40, 0x65, 0x58, 0, 0, 9, 0, 1, 1, 0x80, 1, 0, 0, 0, 1], &FRAME), 1);
        assert_eq!(carried_by(&[0, 0, 8, 0, 0, 0, 9, 0], &FRAME[14..]), 1);
    }

    #[test]
    fn wrong_guesses_stay_outside() {
        assert_eq!(carried_by(&[0x40, 0, 0x65, 0x58, 0, 0, 9, 0], &FRAME), 0);
        assert_eq!(carried_by(&[0x3f, 0, 0x65, 0x58, 0, 0, 9, 0], &FRAME), 0);
        assert_eq!(carried_by(&[0, 0, 8, 0, 0, 0, 9, 0], &FRAME), 0);
    }
}
