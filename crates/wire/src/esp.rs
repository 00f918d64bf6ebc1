//! ESP (RFC 4303) with NULL encryption (RFC 2410), as IMS terminals protect SIP (3GPP TS 33.203 clause 6.2 and annex
//! H).
//!
//! ```text
//! | SPI (4) | sequence (4) | payload | padding 1 2 3 ... | pad length | next header | integrity check value |
//! ```
//!
//! Nothing in the packet says that it is not encrypted. It is taken for clear when, with one of the usual lengths of
//! the check value, the trailer is well formed and the transport header inside agrees with it; else it stays opaque.

use crate::walk::{Network, Walk, be16};
use crate::{Decoded, tcp, transport, udp};

const HEADER: usize = 8;
const TRAILER: usize = 2;

/// Lengths of check values: HMAC-MD5-96 and HMAC-SHA-1-96, HMAC-SHA-256-128 and AES-GMAC, none, HMAC-SHA-384-192,
/// HMAC-SHA-512-256.
const CHECKS: [usize; 5] = [12, 16, 0, 24, 32];

/// Padding of a clear packet: it only aligns to four octets (RFC 4303 section 2.4); some senders align to 16.
const PADDING_MAX: usize = 15;

pub(crate) fn packet(walk: Walk, at: usize, network: &Network) -> Option<Decoded> {
    let walk = walk.deeper()?;
    // SPI 0 is not sent (RFC 4303 section 2.1); the trailer must have been captured.
    if walk.u32(at)? == 0 || walk.wire > walk.octets.len() {
        return None;
    }
    CHECKS.into_iter().find_map(|check| clear(walk, at + HEADER, check, network))
}

fn clear(walk: Walk, at: usize, check: usize, network: &Network) -> Option<Decoded> {
    let trailer = walk.octets.len().checked_sub(check + TRAILER).filter(|trailer| *trailer >= at)?;
    let [padding, next] = walk.array(trailer)?;
    let padding = usize::from(padding);
    let end = trailer.checked_sub(padding).filter(|end| *end > at && padding <= PADDING_MAX)?;
    let in_order = walk.octets.get(end..trailer)?.iter().zip(1u8..).all(|(octet, n)| *octet == n);
    if !in_order || !(trailer + TRAILER - at).is_multiple_of(4) {
        return None;
    }
    let inner = walk.narrow(at, end - at);
    let agrees = match next {
        transport::UDP => inner.array::<{ udp::HEADER }>(at).is_some_and(|h| usize::from(be16(&h, 4)) == end - at),
        transport::TCP => is_tcp(&inner, at, padding, network),
        transport::IPV4 | transport::IPV6 => transport::fits(&inner, at, true),
        _ => false,
    };
    agrees.then(|| transport::protocol(inner, at, next, network))
}

/// TCP's header has no length: its offset and reserved bits must be right, and padding or checksum speak for it too.
fn is_tcp(walk: &Walk, at: usize, padding: usize, network: &Network) -> bool {
    let Some(header) = walk.array::<{ tcp::HEADER }>(at) else { return false };
    let length = usize::from(header[12] >> 4) * 4;
    let plausible = length >= tcp::HEADER && length <= walk.left(at) && header[12] & 0x0e == 0;
    plausible && (padding >= 2 || checksum(walk.rest(at), network) == 0)
}

/// The checksum over pseudo-header and segment (RFC 9293 section 3.1), 0 if it is right.
fn checksum(segment: &[u8], network: &Network) -> u16 {
    let words = |octets: &[u8]| -> u64 {
        octets.chunks(2).map(|pair| u64::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u64::from(*low))).sum()
    };
    // The prefix of an IPv4-mapped address does not belong to the sum.
    let mapped = if network.src().is_v4() { 2 * 0xffff } else { 0 };
    let addresses = words(network.src().octets()) + words(network.dst().octets()) - mapped;
    let mut sum = addresses + u64::from(transport::TCP) + segment.len() as u64 + words(segment);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use crate::Decoded;
    use crate::link::decode;

    fn protected(protocol: u8, payload: &[u8]) -> Decoded {
        let total = (20 + payload.len()) as u8;
        let outer = [0x45, 0, 0, total, 0, 1, 0, 0, 64, protocol, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2];
        decode(101, &[&outer[..], payload].concat())
    }

    #[test]
    fn udp_in_clear() {
        let mut esp = vec![0, 0, 0x10, 1, 0, 0, 0, 1, 0x13, 0xc4, 0x13, 0xce, 0, 12, 0, 0, b'a', b'b', b'c', b'd'];
        esp.extend_from_slice(&[1, 2, 2, 17]);
        for check in [0, 12, 16, 24, 32] {
            let whole = [esp.clone(), vec![0xa7; check]].concat();
            let decoded = protected(50, &whole);
            assert!(matches!(decoded, Decoded::Udp(d) if d.payload_captured == 4 && d.src_port == 5060), "{decoded:?}");
        }
        esp[20] = 9;
        assert_eq!(protected(50, &[esp, vec![0xa7; 12]].concat()), Decoded::Other);
    }

    /// A SYN of a registration that an IMS terminal sent, with HMAC-SHA-1-96.
    #[test]
    fn tcp_in_clear() {
        let mut esp = vec![0, 0, 0, 0x65, 0, 0, 0, 1, 0x18, 0x9d, 0x17, 0xd4, 0xac, 0x39, 0xde, 0x11, 0, 0, 0, 0];
        esp.extend_from_slice(&[0x50, 2, 0xff, 0xff, 0, 0, 0, 0, 1, 2, 2, 6]);
        esp.extend_from_slice(&[0xd2, 0x4a, 0x1d, 2, 0xf9, 1, 0x7e, 0x76, 0x95, 0xc8, 0x7f, 0xc0]);
        assert!(matches!(protected(50, &esp), Decoded::Tcp(d, h) if d.dst_port == 6100 && h.flags == 2));
    }

    #[test]
    fn encrypted_stays_opaque() {
        let noise: Vec<u8> = (0..96u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        assert_eq!(protected(50, &noise), Decoded::Other);
    }
}
