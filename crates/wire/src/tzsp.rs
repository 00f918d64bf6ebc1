//! TZSP: sniffed frames in UDP, from access points and routers.
//!
//! ```text
//! | version 1 | type | encapsulated protocol (2) | tags: type, length, value ... | 1 (end) | frame
//! ```

use crate::walk::{Walk, be16};
use crate::{Decoded, ether, wlan};

const HEADER: usize = 4;
const PADDING: u8 = 0;
const END: u8 = 1;

/// Tagged fields of one packet.
const TAGS_MAX: usize = 64;

pub(crate) fn packet(walk: Walk, at: usize) -> Option<Decoded> {
    let header = walk.array::<HEADER>(at)?;
    // Type 0 is a received frame, 1 one to send.
    if header[0] != 1 || header[1] > 1 {
        return None;
    }
    let frame = after_tags(&walk, at + HEADER)?;
    match be16(&header, 2) {
        1 => Some(ether::frame(walk, frame)),
        18 => Some(wlan::frame(walk, frame, false)),
        119 => Some(wlan::prism(walk, frame)),
        127 => Some(wlan::avs(walk, frame)),
        _ => None,
    }
}

fn after_tags(walk: &Walk, mut at: usize) -> Option<usize> {
    for _ in 0..TAGS_MAX {
        match walk.u8(at)? {
            END => return Some(at + 1),
            PADDING => at += 1,
            _ => at += 2 + usize::from(walk.u8(at + 1)?),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::Decoded;
    use crate::link::decode;

    const FRAME: [u8; 44] = [
        1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 8, 0, 0x45, 0, 0, 30, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
        0x13, 0xc4, 0x13, 0xce, 0, 10, 0, 0, b'h', b'i',
    ];

    fn carried_by(header: &[u8]) -> u8 {
        let length = (8 + header.len() + FRAME.len()) as u8;
        let outer = [0x45, 0, 0, 20 + length, 0, 1, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2];
        let udp = [0xc0, 1, 0x90, 0x90, 0, length, 0, 0];
        match decode(101, &[&outer[..], &udp, header, &FRAME].concat()) {
            Decoded::Udp(d) => d.tunnels,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn tags_are_passed() {
        assert_eq!(carried_by(&[1, 0, 0, 1, 1]), 1);
        assert_eq!(carried_by(&[1, 0, 0, 1, 0, 10, 1, 0xc4, 1]), 1);
        assert_eq!(carried_by(&[2, 0, 0, 1, 1]), 0);
        assert_eq!(carried_by(&[1, 0, 0, 1, 10, 200]), 0);
    }
}
