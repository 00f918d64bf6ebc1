//! UDP (RFC 768), and the tunnels that it carries.
//!
//! A tunnel is recognised by its port and by its content: RTP and SIP use any port, so a port alone proves nothing.
//! What does not turn out whole inside stays a plain UDP datagram.

use crate::walk::{Network, Walk, be16, malformed, understood};
use crate::{Decoded, Layer, esp, geneve, gre, gtpu, l2tp, mpls, teredo, tzsp, vxlan};

/// Octets of the header.
pub const HEADER: usize = 8;

#[inline(always)]
pub(crate) fn datagram(walk: Walk, at: usize, network: &Network) -> Decoded {
    let Some(header) = walk.array::<HEADER>(at) else { return malformed(Layer::Transport) };
    let ports = (be16(&header, 0), be16(&header, 2));
    let end = match usize::from(be16(&header, 4)) {
        // RFC 2675 section 4 (jumbograms), and the field's offloaded datagrams.
        0 => walk.wire,
        length if length < HEADER => return malformed(Layer::Transport),
        length => at + length,
    };
    if is_tunnel_port(ports.0) || is_tunnel_port(ports.1) {
        return tunnel_or_plain(walk, at + HEADER, end, ports, *network);
    }
    Decoded::Udp(walk.datagram(network, ports, at + HEADER, end))
}

const L2TP: u16 = 1701;
const GTPU: u16 = 2152;
const GTP_V0: u16 = 3386;
const TEREDO: u16 = 3544;
const ESP: u16 = 4500;
const GRE: u16 = 4754;
const VXLAN: u16 = 4789;
const VXLAN_GPE: u16 = 4790;
const GENEVE: u16 = 6081;
const MPLS: u16 = 6635;
const VXLAN_LINUX: u16 = 8472;
const TZSP: u16 = 37008;

#[inline]
fn is_tunnel_port(port: u16) -> bool {
    // Most ports of media lie above all but one of them.
    (port <= VXLAN_LINUX || port == TZSP)
        && matches!(
            port,
            L2TP | GTPU | GTP_V0 | TEREDO | ESP | GRE | VXLAN | VXLAN_GPE | GENEVE | MPLS | VXLAN_LINUX | TZSP
        )
}

#[cold]
#[inline(never)]
fn tunnel_or_plain(walk: Walk, at: usize, end: usize, ports: (u16, u16), network: Network) -> Decoded {
    tunnel(walk, at, end, ports, &network).unwrap_or_else(|| Decoded::Udp(walk.datagram(&network, ports, at, end)))
}

fn tunnel(walk: Walk, at: usize, end: usize, ports: (u16, u16), network: &Network) -> Option<Decoded> {
    let walk = walk.deeper()?.narrow(at, end.saturating_sub(at));
    let by_port = |port| inside(walk, at, port, network).and_then(understood);
    by_port(ports.1).or_else(|| by_port(ports.0))
}

fn inside(walk: Walk, at: usize, port: u16, network: &Network) -> Option<Decoded> {
    if port == ESP {
        // RFC 3948: SPI 0 marks key exchange, a single octet keeps the NAT's binding; neither is ESP.
        return esp::packet(walk, at, network);
    }
    let walk = walk.tunnel()?;
    match port {
        L2TP => l2tp::over_udp(walk, at),
        GTPU => gtpu::version_1(walk, at),
        GTP_V0 => gtpu::version_0(walk, at),
        TEREDO => teredo::packet(walk, at),
        GRE => gre::over_udp(walk, at),
        VXLAN | VXLAN_LINUX => vxlan::packet(walk, at),
        VXLAN_GPE => vxlan::generic(walk, at),
        GENEVE => geneve::packet(walk, at),
        MPLS => mpls::over_udp(walk, at),
        TZSP => tzsp::packet(walk, at),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::decode;

    fn datagram_of(dst_port: u16, length: u16, payload: &[u8]) -> Vec<u8> {
        let total = 28 + payload.len() as u8;
        let mut octets = vec![0x45, 0, 0, total, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x13, 0xc4];
        octets.extend_from_slice(&dst_port.to_be_bytes());
        octets.extend_from_slice(&length.to_be_bytes());
        octets.extend_from_slice(&[0, 0]);
        octets.extend_from_slice(payload);
        octets
    }

    #[test]
    fn lengths_that_lie() {
        assert!(matches!(decode(101, &datagram_of(9, 10, b"abcd")), Decoded::Udp(d) if d.payload_wire == 2));
        assert!(matches!(decode(101, &datagram_of(9, 0, b"abcd")), Decoded::Udp(d) if d.payload_wire == 4));
        let Decoded::Udp(long) = decode(101, &datagram_of(9, 50, b"abcd")) else { panic!() };
        assert_eq!((long.payload_captured, long.payload_wire), (4, 42));
        assert_eq!(decode(101, &datagram_of(9, 7, b"abcd")), Decoded::Malformed(Layer::Transport));
    }

    #[test]
    fn rtp_and_sip_on_a_tunnels_port_stay_what_they_are() {
        let mut rtp = vec![0x80, 0x00, 0x08, 0x00, 0, 0, 0, 0, 0x45, 0, 0, 40];
        rtp.extend_from_slice(&[0xd5; 80]);
        let sip = b"INVITE sip:bob@example.com SIP/2.0\r\nVia: SIP/2.0/UDP 10.0.0.1\r\n\r\n".as_slice();
        for port in (0..=u16::MAX).filter(|port| is_tunnel_port(*port)) {
            for payload in [rtp.as_slice(), sip, b"\r\n\r\n", b"\0", b""] {
                let octets = datagram_of(port, 8 + payload.len() as u16, payload);
                let Decoded::Udp(d) = decode(101, &octets) else { panic!("{port}") };
                assert_eq!((d.tunnels, d.dst_port, d.payload_captured as usize), (0, port, payload.len()));
            }
        }
    }
}
