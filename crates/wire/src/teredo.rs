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
    // Bubbles are bare headers: their payload length is 0 and right.
    ipv6::fits(&walk, inner, true).then(|| ipv6::packet(walk, inner))
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
}
