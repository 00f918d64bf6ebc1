//! VXLAN (RFC 7348), with group policy (draft-smith-vxlan-group-policy), and its generic extension
//! (draft-ietf-nvo3-vxlan-gpe).
//!
//! ```text
//! | flags, 0x08 = identifier valid | reserved (3) | network identifier (3) | reserved | frame
//! ```

use crate::walk::Walk;
use crate::{Decoded, ether, nsh, transport};

const HEADER: usize = 8;
const IDENTIFIER_VALID: u8 = 0x08;
const GROUP_POLICY: u8 = 0x80;
const NEXT_PROTOCOL: u8 = 0x04;
const OAM: u8 = 0x01;

pub(crate) fn packet(walk: Walk, at: usize) -> Option<Decoded> {
    let header = walk.array::<HEADER>(at)?;
    let reserved_is_zero = match header[0] {
        IDENTIFIER_VALID => header[1..4] == [0; 3],
        flags if flags == IDENTIFIER_VALID | GROUP_POLICY => header[1] & !0x48 == 0,
        // Field: Linux speaks the generic extension on the plain port as well.
        _ => return generic(walk, at),
    };
    (reserved_is_zero && header[7] == 0).then(|| ether::frame(walk, at + HEADER))
}

pub(crate) fn generic(walk: Walk, at: usize) -> Option<Decoded> {
    let [flags, r1, r2, next, _, _, _, r3] = walk.array::<HEADER>(at)?;
    let required = IDENTIFIER_VALID | NEXT_PROTOCOL;
    if flags & required != required || flags & 0xf2 & !GROUP_POLICY != 0 || [r1, r2, r3] != [0; 3] || flags & OAM != 0 {
        return None;
    }
    let inner = at + HEADER;
    match next {
        1 | 2 => transport::fits(&walk, inner, false).then(|| transport::by_version(walk, inner)),
        3 => Some(ether::frame(walk, inner)),
        4 => Some(nsh::header(walk, inner)),
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

    fn carried_by(port: u16, header: &[u8], inner: &[u8]) -> u8 {
        let [high, low] = port.to_be_bytes();
        let length = (8 + header.len() + inner.len()) as u8;
        let outer = [0x45, 0, 0, 20 + length, 0, 1, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2];
        let udp = [0xc0, 1, high, low, 0, length, 0, 0];
        match decode(101, &[&outer[..], &udp, header, inner].concat()) {
            Decoded::Udp(d) => d.tunnels,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn plain_group_policy_and_generic() {
        assert_eq!(carried_by(4789, &[8, 0, 0, 0, 0, 0, 42, 0], &FRAME), 1);
        assert_eq!(carried_by(8472, &[0x88, 0x08, 0, 7, 0, 0, 42, 0], &FRAME), 1);
        assert_eq!(carried_by(4790, &[0x0c, 0, 0, 1, 0, 0, 42, 0], &FRAME[14..]), 1);
        assert_eq!(carried_by(4790, &[0x0c, 0, 0, 3, 0, 0, 42, 0], &FRAME), 1);
        let nsh = [0, 2, 1, 1, 0, 0, 1, 255];
        assert_eq!(carried_by(4790, &[0x0c, 0, 0, 4, 0, 0, 42, 0], &[&nsh, &FRAME[14..]].concat()), 1);
    }

    #[test]
    fn wrong_guesses_stay_outside() {
        assert_eq!(carried_by(4789, &[8, 0, 1, 0, 0, 0, 42, 0], &FRAME), 0);
        assert_eq!(carried_by(4789, &[8, 0, 0, 0, 0, 0, 42, 9], &FRAME), 0);
        assert_eq!(carried_by(4789, &[8, 0, 0, 0, 0, 0, 42, 0], &FRAME[..20]), 0);
    }
}
