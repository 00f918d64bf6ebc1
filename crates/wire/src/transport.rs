//! What an IP packet carries, by protocol number (IANA "Protocol Numbers"): transports, tunnels, extension headers.

use crate::walk::{Network, Walk, malformed};
use crate::{Decoded, Layer, esp, ether, gre, icmp, ipv4, ipv6, l2tp, mpls, sctp, tcp, udp};

const ICMP: u8 = 1;
pub(crate) const IPV4: u8 = 4;
pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;
pub(crate) const IPV6: u8 = 41;
const GRE: u8 = 47;
const ESP: u8 = 50;
const AH: u8 = 51;
const ICMP_V6: u8 = 58;
const IPIP: u8 = 94;
const ETHERIP: u8 = 97;
const L2TP: u8 = 115;
pub(crate) const SCTP: u8 = 132;
const MPLS: u8 = 137;
const ETHERNET: u8 = 143;

/// [`protocol_inlined`] for the decoders that are not on the fast path.
#[inline(never)]
pub(crate) fn protocol(walk: Walk, at: usize, number: u8, network: &Network) -> Decoded {
    protocol_inlined(walk, at, number, network)
}

#[inline(always)]
pub(crate) fn protocol_inlined(walk: Walk, at: usize, number: u8, network: &Network) -> Decoded {
    match number {
        UDP => udp::datagram(walk, at, network),
        TCP => tcp::segment(walk, at, network),
        _ => tunnel_or_other(walk, at, number, network),
    }
}

#[inline(never)]
fn tunnel_or_other(walk: Walk, at: usize, number: u8, network: &Network) -> Decoded {
    match number {
        SCTP => sctp::packet(walk, at, network),
        ESP => esp::packet(walk, at, network).unwrap_or(Decoded::Other),
        AH => authentication_header(walk, at, network),
        ICMP if network.src().is_v4() => icmp::packet(walk, at, network),
        ICMP_V6 if !network.src().is_v4() => icmp::packet(walk, at, network),
        _ if !network.src().is_v4() && ipv6::is_extension(number) => ipv6::extension(walk, at, number, network),
        IPV4 | IPV6 | GRE | IPIP | ETHERIP | L2TP | MPLS | ETHERNET => match walk.tunnel() {
            Some(walk) => tunnel(walk, at, number),
            None => malformed(Layer::Tunnel),
        },
        // Unassigned, and reserved.
        147..=252 | 255 => Decoded::Unknown(Layer::Network),
        _ => Decoded::Other,
    }
}

fn tunnel(walk: Walk, at: usize, number: u8) -> Decoded {
    match number {
        IPV4 | IPIP => ipv4::packet(walk, at),
        IPV6 => ipv6::packet(walk, at),
        GRE => gre::packet(walk, at),
        L2TP => l2tp::over_ip(walk, at),
        MPLS => mpls::stack(walk, at),
        ETHERNET => ether::frame(walk, at),
        // RFC 3378: version 3 and 12 reserved bits.
        _ => match walk.u16(at) {
            Some(0x3000) => ether::frame(walk, at + 2),
            _ => malformed(Layer::Tunnel),
        },
    }
}

/// RFC 4302: passed over, what it protects is in clear.
fn authentication_header(walk: Walk, at: usize, network: &Network) -> Decoded {
    let (Some(walk), Some(header)) = (walk.deeper(), walk.array::<12>(at)) else {
        return malformed(Layer::Network);
    };
    let end = at + (usize::from(header[1]) + 2) * 4;
    if end < at + 12 || end > walk.octets.len() {
        return malformed(Layer::Network);
    }
    protocol(walk, end, header[0], network)
}

/// IPv4 or IPv6 by the first four bits.
pub(crate) fn by_version(walk: Walk, at: usize) -> Decoded {
    match walk.u8(at).map(|o| o >> 4) {
        Some(4) => ipv4::packet(walk, at),
        Some(6) => ipv6::packet(walk, at),
        _ => malformed(Layer::Network),
    }
}

/// Whether an IP packet lies at `at` that fits in what is left (`exact`: fills it).
pub(crate) fn fits(walk: &Walk, at: usize, exact: bool) -> bool {
    ipv4::fits(walk, at, exact) || ipv6::fits(walk, at, exact)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::decode;

    fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
        let mut octets = vec![0x45, 0, 0, 20 + payload.len() as u8, 0, 1, 0, 0, 64, protocol, 0, 0];
        octets.extend_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        octets.extend_from_slice(payload);
        octets
    }

    const PAYLOAD: [u8; 10] = [0x13, 0xc4, 0x13, 0xce, 0, 10, 0, 0, b'h', b'i'];

    fn tunnels_of(octets: &[u8]) -> u8 {
        let Decoded::Udp(d) = decode(101, octets) else { panic!("{:?}", decode(101, octets)) };
        assert_eq!(d.payload_captured, 2);
        d.tunnels
    }

    #[test]
    fn ip_in_ip_in_ip() {
        let inner = ipv4(17, &PAYLOAD);
        assert_eq!(tunnels_of(&ipv4(4, &inner)), 1);
        assert_eq!(tunnels_of(&ipv4(94, &ipv4(4, &inner))), 2);
        let mut six = vec![0x60, 0, 0, 0, 0, 10, 17, 64];
        six.extend_from_slice(&[0xfd; 32]);
        six.extend_from_slice(&PAYLOAD);
        assert_eq!(tunnels_of(&ipv4(41, &six)), 1);
    }

    #[test]
    fn the_depth_of_tunnels_is_limited() {
        let mut octets = ipv4(17, &PAYLOAD);
        for _ in 0..8 {
            octets = ipv4(4, &octets);
        }
        assert_eq!(tunnels_of(&octets), 8);
        assert_eq!(decode(101, &ipv4(4, &octets)), Decoded::Malformed(Layer::Tunnel));
    }

    #[test]
    fn an_authentication_header_is_passed() {
        let mut payload = vec![17, 4, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        payload.extend_from_slice(&PAYLOAD);
        assert_eq!(tunnels_of(&ipv4(51, &payload)), 0);
    }

    #[test]
    fn etherip_and_ethernet_in_ip() {
        let mut frame = vec![0; 12];
        frame.extend_from_slice(&[8, 0]);
        frame.extend_from_slice(&ipv4(17, &PAYLOAD));
        assert_eq!(tunnels_of(&ipv4(143, &frame)), 1);
        frame.splice(0..0, [0x30, 0]);
        assert_eq!(tunnels_of(&ipv4(97, &frame)), 1);
    }

    #[test]
    fn others() {
        assert_eq!(decode(101, &ipv4(1, &[8, 0])), Decoded::Other);
        assert_eq!(decode(101, &ipv4(200, &[8, 0])), Decoded::Unknown(Layer::Network));
    }
}
