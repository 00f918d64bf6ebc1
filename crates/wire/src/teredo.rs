//! Teredo: IPv6 in UDP through NAT (RFC 4380 section 5.1.1).
//!
//! ```text
//! [0x0001 | id length | auth length | id | auth | nonce (8) | confirmation] [0x0000 | port | address] IPv6 packet
//! ```

use crate::walk::Walk;
use crate::{Decoded, ipv6};

const AUTHENTICATION: u16 = 1;
const ORIGIN: u16 = 0;

pub(crate) fn packet(walk: Walk, at: usize) -> Option<Decoded> {
    let mut inner = at;
    if walk.u16(inner)? == AUTHENTICATION {
        let [id, authentication] = walk.array(inner + 2)?;
        inner += 13 + usize::from(id) + usize::from(authentication);
    }
    if walk.u16(inner)? == ORIGIN {
        inner += 8;
    }
    // Bubbles are bare headers: their payload length is 0 and right. Trailers may follow the packet ([MS-TERE]
    // 2.2.1.3): then an address that Teredo gives has to speak for it.
    let is_packet = ipv6::fits(&walk, inner, true) || ipv6::fits(&walk, inner, false) && is_of_teredo(&walk, inner);
    is_packet.then(|| ipv6::packet(walk, inner))
}

/// RFC 4380 section 2.6: the prefix of Teredo is 2001::/32.
fn is_of_teredo(walk: &Walk, at: usize) -> bool {
    const PREFIX: u32 = 0x2001_0000;
    walk.u32(at + 8) == Some(PREFIX) || walk.u32(at + 24) == Some(PREFIX)
}

#[cfg(test)]
mod tests {
    use crate::Decoded;
    use crate::link::decode;

    fn carried_by(header: &[u8]) -> u8 {
        let mut inner = vec![0x60, 0, 0, 0, 0, 10, 17, 64];
        inner.extend_from_slice(&[0xfd; 32]);
        inner.extend_from_slice(&[0x13, 0xc4, 0x13, 0xce, 0, 10, 0, 0, b'h', b'i']);
        let length = (8 + header.len() + inner.len()) as u8;
        let outer = [0x45, 0, 0, 20 + length, 0, 1, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2];
        let udp = [0xc0, 1, 0x0d, 0xd8, 0, length, 0, 0];
        match decode(101, &[&outer[..], &udp, header, &inner].concat()) {
            Decoded::Udp(d) => d.tunnels,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn with_indications() {
        assert_eq!(carried_by(&[]), 1);
        assert_eq!(carried_by(&[0, 0, 0x12, 0x34, 1, 2, 3, 4]), 1);
        let both = [0, 1, 1, 1, b'i', b'a', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x12, 0x34, 1, 2, 3, 4];
        assert_eq!(carried_by(&both), 1);
        assert_eq!(carried_by(&[0, 7]), 0);
    }

    #[test]
    fn a_bubble_with_a_trailer() {
        let bubble = [&[0x60, 0, 0, 0, 0, 0, 59, 64, 0x20, 1, 0, 0][..], &[1; 28], &[4, 4, 0, 0, 0, 9]].concat();
        let mut octets = vec![0x45, 0, 0, 74, 0, 1, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2];
        octets.extend_from_slice(&[0xc0, 1, 0x0d, 0xd8, 0, 54, 0, 0]);
        octets.extend_from_slice(&bubble);
        assert_eq!(decode(101, &octets), Decoded::Other);
    }
}
