//! IPv6 (RFC 8200) with its extension headers.
//!
//! ```text
//! | ver class label | payload length | next header | hop limit | src (16) | dst (16) |
//! ```

use crate::walk::{Network, Part, Walk, be16, be32, malformed};
use crate::{Address, Decoded, Layer, transport};

/// Octets of the fixed header.
pub const HEADER: usize = 40;

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const NONE: u8 = 59;
const DESTINATION: u8 = 60;
const MOBILITY: u8 = 135;
const HIP: u8 = 139;
const SHIM6: u8 = 140;

const JUMBO_PAYLOAD: u8 = 0xc2;

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
    if header[0] >> 4 != 6 {
        return malformed(Layer::Network);
    }
    let (mut src, mut dst) = ([0; 16], [0; 16]);
    src.copy_from_slice(&header[8..24]);
    dst.copy_from_slice(&header[24..40]);
    let class = (header[0] << 4) | (header[1] >> 4);
    let network = Network::new(Address::v6(src), Address::v6(dst), class >> 2);
    let length = usize::from(be16(&header, 4));
    let walk = if length == 0 { unsized_payload(walk, at, header[6]) } else { walk.narrow(at, HEADER + length) };
    transport::protocol_inlined(walk, at + HEADER, header[6], &network)
}

/// Payload length 0: a jumbogram (RFC 2675) if a hop-by-hop option says so, nothing if nothing follows, and
/// else the field's offloaded segments, which reach to the captured end.
#[cold]
fn unsized_payload(walk: Walk<'_>, at: usize, next: u8) -> Walk<'_> {
    if next == NONE {
        return walk.narrow(at, HEADER);
    }
    let options = at + HEADER;
    // RFC 2675 section 2: the option is aligned 4n + 2, so it stands first in practice.
    match (walk.array::<8>(options), next) {
        (Some(o), HOP_BY_HOP) if o[2] == JUMBO_PAYLOAD && o[3] == 4 => {
            walk.narrow(at, HEADER.saturating_add(be32(&o, 4) as usize))
        }
        _ => walk,
    }
}

/// Whether this "protocol" number is an IPv6 extension header that [`extension`] passes.
#[inline]
pub(crate) fn is_extension(protocol: u8) -> bool {
    matches!(protocol, HOP_BY_HOP | ROUTING | FRAGMENT | NONE | DESTINATION | MOBILITY | HIP | SHIM6)
}

/// Passes one extension header and goes on with what follows it.
pub(crate) fn extension(walk: Walk, at: usize, kind: u8, network: &Network) -> Decoded {
    if kind == NONE {
        return Decoded::Other;
    }
    let (Some(walk), Some(header)) = (walk.deeper(), walk.array::<8>(at)) else {
        return malformed(Layer::Network);
    };
    let next = header[0];
    if kind == FRAGMENT {
        let place = be16(&header, 2);
        let (offset, more) = (u32::from(place & 0xfff8), place & 1 != 0);
        // RFC 6946: an atomic fragment is a whole packet.
        if offset != 0 || more {
            let part = Part { identification: be32(&header, 4), protocol: next, offset, more };
            return walk.fragment(network, at + 8, part);
        }
        return transport::protocol(walk, at + 8, next, network);
    }
    let end = at + 8 + usize::from(header[1]) * 8;
    if end > walk.octets.len() {
        return malformed(Layer::Network);
    }
    // A mobility, HIP or shim6 header mostly is the message itself.
    if next == NONE { Decoded::Other } else { transport::protocol(walk, end, next, network) }
}

/// Whether a plausible IPv6 header lies at `at` whose packet fits in what is left there (`exact`: fills it).
pub(crate) fn fits(walk: &Walk, at: usize, exact: bool) -> bool {
    let Some(header) = walk.array::<HEADER>(at) else { return false };
    let total = HEADER + usize::from(be16(&header, 4));
    let left = walk.left(at);
    header[0] >> 4 == 6 && if exact { total == left } else { total <= left }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::decode;

    fn packet_of(next: u8, payload: &[u8]) -> Vec<u8> {
        let mut octets = vec![0x6b, 0x80, 0, 0, 0, payload.len() as u8, next, 64];
        octets.extend_from_slice(&[0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        octets.extend_from_slice(&[0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
        octets.extend_from_slice(payload);
        octets
    }

    const UDP: [u8; 10] = [0x13, 0xc4, 0x13, 0xce, 0, 10, 0, 0, b'h', b'i'];

    #[test]
    fn extension_headers_are_passed() {
        let mut payload = vec![60, 0, 1, 4, 0, 0, 0, 0]; // hop-by-hop, then destination options
        payload.extend_from_slice(&[43, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        payload.extend_from_slice(&[44, 0, 4, 0, 0, 0, 0, 0]);
        payload.extend_from_slice(&[17, 0, 0, 0, 0, 0, 0, 9]); // atomic fragment
        payload.extend_from_slice(&UDP);
        let Decoded::Udp(d) = decode(101, &packet_of(0, &payload)) else { panic!() };
        assert_eq!(d.from().to_string(), "[2001:db8::1]:5060");
        assert_eq!((d.payload_start, d.payload_captured, d.dscp), (88, 2, 46));
    }

    #[test]
    fn a_fragment() {
        let mut payload = vec![17, 0, 0, 0x11, 0xde, 0xad, 0xbe, 0xef];
        payload.extend_from_slice(&[1; 16]);
        let Decoded::Fragment(f) = decode(101, &packet_of(44, &payload)) else { panic!() };
        assert_eq!((f.identification, f.protocol, f.offset, f.more), (0xdead_beef, 17, 16, true));
        assert_eq!((f.payload_start, f.payload_wire), (48, 16));
    }

    #[test]
    fn endless_extension_headers_end() {
        let payload = [60u8, 0, 1, 4, 0, 0, 0, 0].repeat(31);
        assert_eq!(decode(101, &packet_of(60, &payload)), Decoded::Malformed(Layer::Network));
    }

    #[test]
    fn no_next_header_and_icmp_are_other() {
        assert_eq!(decode(101, &packet_of(59, &[1, 2, 3])), Decoded::Other);
        assert_eq!(decode(101, &packet_of(58, &[128, 0, 0, 0])), Decoded::Other);
    }

    #[test]
    fn a_jumbogram_and_an_offloaded_segment() {
        let mut payload = vec![17, 0, 0xc2, 4, 0, 0, 0, 18];
        payload.extend_from_slice(&UDP);
        payload.extend_from_slice(&[0; 6]);
        let mut octets = packet_of(0, &payload);
        octets[5] = 0;
        assert!(matches!(decode(101, &octets), Decoded::Udp(d) if d.payload_wire == 2));
        let mut octets = packet_of(17, &UDP);
        octets[5] = 0;
        assert!(matches!(decode(101, &octets), Decoded::Udp(d) if d.payload_wire == 2));
    }
}
