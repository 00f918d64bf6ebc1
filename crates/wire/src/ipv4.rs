//! IPv4 (RFC 791).
//!
//! ```text
//! | ver ihl | dscp ecn | total length | identification | flags offset | ttl | protocol | checksum | src | dst | options |
//! ```

use crate::walk::{Network, Part, Walk, be16, be32, malformed};
use crate::{Decoded, Layer, transport};

/// Octets of a header without options.
pub const HEADER: usize = 20;

const MORE_FRAGMENTS: u16 = 0x2000;
const OFFSET: u16 = 0x1fff;

/// [`packet_inlined`] for the decoders that are not on the fast path.
#[inline(never)]
pub(crate) fn packet(walk: Walk, at: usize) -> Decoded {
    packet_inlined(walk, at)
}

#[inline(always)]
pub(crate) fn packet_inlined(walk: Walk, at: usize) -> Decoded {
    let (Some(walk), Some(header)) = (walk.deeper(), walk.array::<HEADER>(at)) else {
        return malformed(Layer::Network);
    };
    let length = usize::from(header[0] & 0x0f) * 4;
    let total = usize::from(be16(&header, 2));
    // Field: segmentation offload leaves the total length 0 in packets captured on the sending host.
    let walk = if total == 0 { walk } else { walk.narrow(at, total) };
    if header[0] >> 4 != 4 || length < HEADER || (total != 0 && total < length) || at + length > walk.octets.len() {
        return malformed(Layer::Network);
    }
    let network = Network::v4(be32(&header, 12), be32(&header, 16), header[1] >> 2);
    let flags = be16(&header, 6);
    if flags & (MORE_FRAGMENTS | OFFSET) != 0 {
        return fragment(walk, at + length, &header, &network);
    }
    transport::protocol_inlined(walk, at + length, header[9], &network)
}

#[cold]
fn fragment(walk: Walk, start: usize, header: &[u8; HEADER], network: &Network) -> Decoded {
    let flags = be16(header, 6);
    let part = Part {
        identification: u32::from(be16(header, 4)),
        protocol: header[9],
        offset: u32::from(flags & OFFSET) * 8,
        more: flags & MORE_FRAGMENTS != 0,
    };
    walk.fragment(network, start, part)
}

/// Whether a plausible IPv4 header lies at `at` whose packet fits in what is left there (`exact`: fills it).
/// What guesses are checked with.
pub(crate) fn fits(walk: &Walk, at: usize, exact: bool) -> bool {
    let Some(header) = walk.array::<HEADER>(at) else { return false };
    let length = usize::from(header[0] & 0x0f) * 4;
    let total = usize::from(be16(&header, 2));
    let left = walk.left(at);
    header[0] >> 4 == 4 && length >= HEADER && total >= length && if exact { total == left } else { total <= left }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::decode;

    const RAW: u16 = 101;
    // Identification 0x1234, TTL 64, UDP, 192.0.2.1 -> 192.0.2.2, ports 5060 -> 5070, DSCP 46.
    const UDP: [u8; 32] = [
        0x45, 0xb8, 0, 32, 0x12, 0x34, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2, 0x13, 0xc4, 0x13, 0xce, 0, 12,
        0, 0, b'a', b'b', b'c', b'd',
    ];

    #[test]
    fn udp_with_padding_behind() {
        let mut octets = UDP.to_vec();
        octets.extend_from_slice(&[0; 14]);
        let Decoded::Udp(d) = decode(RAW, &octets) else { panic!() };
        assert_eq!((d.from().to_string(), d.to().to_string()), ("192.0.2.1:5060".into(), "192.0.2.2:5070".into()));
        assert_eq!((d.payload_start, d.payload_captured, d.payload_wire, d.dscp), (28, 4, 4, 46));
    }

    #[test]
    fn the_snap_length_cuts_the_payload() {
        let Decoded::Udp(d) = decode(RAW, &UDP[..30]) else { panic!() };
        assert_eq!((d.payload_captured, d.payload_wire), (2, 4));
        assert_eq!(decode(RAW, &UDP[..26]), Decoded::Malformed(Layer::Transport));
        assert_eq!(decode(RAW, &UDP[..19]), Decoded::Malformed(Layer::Network));
    }

    #[test]
    fn total_length_zero_reaches_to_the_captured_end() {
        let mut octets = UDP;
        octets[3] = 0;
        assert!(matches!(decode(RAW, &octets), Decoded::Udp(d) if d.payload_wire == 4));
    }

    #[test]
    fn lying_lengths() {
        for (place, value) in [(0, 0x44), (0, 0x4f), (3, 19)] {
            let mut octets = UDP;
            octets[place] = value;
            assert_eq!(decode(RAW, &octets), Decoded::Malformed(Layer::Network), "{place} {value}");
        }
    }

    #[test]
    fn a_fragment() {
        let mut octets = UDP;
        octets[6] = 0x20;
        octets[7] = 2;
        let Decoded::Fragment(f) = decode(RAW, &octets) else { panic!() };
        assert_eq!((f.identification, f.protocol, f.offset, f.more), (0x1234, 17, 16, true));
        assert_eq!((f.payload_start, f.payload_captured, f.payload_wire), (20, 12, 12));
    }
}
