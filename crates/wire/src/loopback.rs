//! BSD loopback and its kin: a protocol family in front of the packet (LINKTYPE_NULL, LOOP, ENC, PFLOG).
//!
//! The family is in the byte order of the machine that captured (NULL, ENC) or in network order (LOOP); either is
//! taken, as files are moved between machines and families fit in one octet.

use crate::walk::{Walk, malformed};
use crate::{Decoded, Layer, ipv4, ipv6, llc};

/// NULL and LOOP: the family alone.
pub(crate) fn null(walk: Walk, at: usize) -> Decoded {
    match walk.array(at).and_then(family) {
        Some(number) => of_family(walk, at + 4, number),
        None => malformed(Layer::Link),
    }
}

/// OpenBSD's encapsulating interface: family, SPI and flags.
pub(crate) fn encapsulating(walk: Walk, at: usize) -> Decoded {
    match walk.array(at).and_then(family) {
        Some(number) => of_family(walk, at + 12, number),
        None => malformed(Layer::Link),
    }
}

/// The packet filter's log: length, family, and more; the length is padded to four octets.
pub(crate) fn filter_log(walk: Walk, at: usize) -> Decoded {
    match walk.array(at) {
        Some([length, number]) => of_family(walk, at + usize::from(length).next_multiple_of(4), number),
        None => malformed(Layer::Link),
    }
}

fn family(octets: [u8; 4]) -> Option<u8> {
    match octets {
        [low, 0, 0, 0] => Some(low),
        [0, 0, 0, low] => Some(low),
        _ => None,
    }
}

fn of_family(walk: Walk, at: usize, number: u8) -> Decoded {
    match number {
        2 => ipv4::packet(walk, at),
        // NetBSD, OpenBSD; FreeBSD; Darwin; Linux; Windows.
        24 | 28 | 30 | 10 | 23 => ipv6::packet(walk, at),
        // ISO and LLC.
        7 | 26 => llc::header(walk, at),
        _ => Decoded::Unknown(Layer::Link),
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
    fn both_byte_orders() {
        let enc = [0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0];
        let log = [&[61u8, 2][..], &[0; 62]].concat();
        for (link, before) in
            [(0, &[2, 0, 0, 0][..]), (0, &[0, 0, 0, 2]), (108, &[0, 0, 0, 2]), (109, &enc), (117, &log)]
        {
            assert!(matches!(decode(link, &[before, &IP].concat()), Decoded::Udp(d) if d.payload_captured == 2));
        }
        assert_eq!(decode(0, &[1, 2, 3, 4]), malformed(Layer::Link));
        assert_eq!(decode(0, &[99, 0, 0, 0]), Decoded::Unknown(Layer::Link));
    }
}
