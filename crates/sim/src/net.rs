//! Ethernet, VLAN, VXLAN, IPv4, IPv6, UDP and TCP on the wire, with right lengths and checksums.

use crate::settings::Tunnel;
use trunkline_wire::Endpoint;

/// Protocol number of ICMP.
pub(crate) const ICMP: u8 = 1;
/// Protocol number of ICMPv6.
pub(crate) const ICMPV6: u8 = 58;
/// Protocol number of TCP.
pub(crate) const TCP: u8 = 6;
/// Protocol number of UDP.
pub(crate) const UDP: u8 = 17;
/// Octets of an IP packet at most.
const MTU: usize = 1500;

/// The headers of one direction of a flow, made once; lengths, identification and checksums are set for each packet.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    octets: [u8; HEAD_MAX],
    /// Octets up to the end of the UDP or TCP header.
    len: u8,
    /// Where the (inner) network header begins.
    network: u8,
    /// Where the UDP or TCP header begins.
    transport: u8,
    v4: bool,
    vxlan: bool,
    /// Sum of the network header's words without length, identification and checksum (IPv4).
    network_sum: u32,
    /// Sum of the pseudo header and the transport header without lengths and checksum.
    transport_sum: u32,
}

/// VXLAN over IPv4 around Ethernet, IPv6 and TCP: 14 + 20 + 8 + 8 + 14 + 40 + 20.
const HEAD_MAX: usize = 124;

impl Head {
    /// The headers of what `from` sends to `to`. The hosts' MAC addresses follow from their addresses.
    pub fn new(tunnel: Tunnel, from: Endpoint, to: Endpoint, protocol: u8, dscp: u8) -> Self {
        let mut b = Builder { octets: [0; HEAD_MAX], len: 0 };
        if tunnel == Tunnel::Vxlan {
            b.vxlan(from);
        }
        let v4 = from.address.is_v4();
        b.ethernet(from, to, tunnel, v4);
        let network = b.len;
        b.network(from, to, v4, protocol, dscp);
        let transport = b.len;
        b.put(&from.port.to_be_bytes());
        b.put(&to.port.to_be_bytes());
        b.put(&[0; 16][..if protocol == TCP { 16 } else { 4 }]);
        let mut head = Head {
            octets: b.octets,
            len: b.len as u8,
            network: network as u8,
            transport: transport as u8,
            v4,
            vxlan: tunnel == Tunnel::Vxlan,
            network_sum: 0,
            transport_sum: 0,
        };
        head.network_sum = sum(&head.octets[network..network + 20]);
        let addresses = if v4 { network + 12..network + 20 } else { network + 8..network + 40 };
        head.transport_sum =
            sum(&head.octets[addresses]) + u32::from(protocol) + sum(&head.octets[transport..transport + 4]);
        head
    }

    /// Begins a UDP packet in `out` (cleared first): all headers, for a payload of `octets` octets whose words add up
    /// to
    /// `payload_sum`; the payload is to be appended.
    #[inline]
    pub fn udp(&self, out: &mut Vec<u8>, identification: u16, octets: usize, payload_sum: u32) {
        self.begin(out, identification, octets + 8, 0);
        let t = usize::from(self.transport);
        let length = (octets + 8) as u16;
        out[t + 4..t + 6].copy_from_slice(&length.to_be_bytes());
        let total = self.transport_sum + u32::from(length) * 2 + payload_sum;
        // RFC 768: a sum that comes out as zero is sent as all ones.
        let checksum = match !fold(total) {
            0 => 0xffff,
            other => other,
        };
        out[t + 6..t + 8].copy_from_slice(&checksum.to_be_bytes());
    }

    /// A TCP segment with its payload.
    pub fn tcp(&self, out: &mut Vec<u8>, identification: u16, seq: u32, ack: u32, flags: u8, payload: &[u8]) {
        self.begin(out, identification, payload.len() + 20, 0);
        let t = usize::from(self.transport);
        out[t + 4..t + 8].copy_from_slice(&seq.to_be_bytes());
        out[t + 8..t + 12].copy_from_slice(&ack.to_be_bytes());
        out[t + 12] = 5 << 4;
        out[t + 13] = flags;
        out[t + 14..t + 16].copy_from_slice(&0xfaf0u16.to_be_bytes());
        let length = (payload.len() + 20) as u32;
        let total = self.transport_sum + length + sum(&out[t + 4..t + 20]) + sum(payload);
        out[t + 16..t + 18].copy_from_slice(&(!fold(total)).to_be_bytes());
        out.extend_from_slice(payload);
    }

    /// A packet of a protocol without ports.
    pub fn plain(&self, out: &mut Vec<u8>, identification: u16, payload: &[u8]) {
        self.begin(out, identification, payload.len(), 0);
        out.truncate(usize::from(self.transport));
        out.extend_from_slice(payload);
    }

    /// A UDP datagram as one packet, or as IP fragments where it is larger than the MTU.
    pub fn datagram(&self, identification: u16, payload: &[u8]) -> Vec<Vec<u8>> {
        let mut whole = Vec::with_capacity(payload.len() + HEAD_MAX);
        self.udp(&mut whole, identification, payload.len(), sum(payload));
        whole.extend_from_slice(payload);
        let header = usize::from(self.transport - self.network);
        if whole.len() - usize::from(self.network) <= MTU {
            return vec![whole];
        }
        let transport = &whole[usize::from(self.transport)..];
        let each = (MTU - header - if self.v4 { 0 } else { 8 }) / 8 * 8;
        let last = (transport.len() - 1) / each;
        let pieces = transport.chunks(each).enumerate();
        pieces.map(|(i, piece)| self.fragment(identification, i * each, i < last, piece)).collect()
    }

    /// One fragment (RFC 791 section 3.2, RFC 8200 section 4.5).
    fn fragment(&self, identification: u16, offset: usize, more: bool, piece: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(piece.len() + HEAD_MAX);
        let field = (offset / 8) as u16;
        if self.v4 {
            self.begin(&mut out, identification, piece.len(), field | if more { 0x2000 } else { 0 });
            out.truncate(usize::from(self.transport));
        } else {
            self.begin(&mut out, identification, piece.len() + 8, 0);
            out.truncate(usize::from(self.transport));
            out[usize::from(self.network) + 6] = 44;
            out.extend_from_slice(&[UDP, 0]);
            out.extend_from_slice(&(field << 3 | u16::from(more)).to_be_bytes());
            out.extend_from_slice(&u32::from(identification).to_be_bytes());
        }
        out.extend_from_slice(piece);
        out
    }

    /// The headers with the network layer's lengths, identification and checksum set; `octets` follow the network
    /// header.
    #[inline]
    fn begin(&self, out: &mut Vec<u8>, identification: u16, octets: usize, fragment: u16) {
        out.clear();
        out.extend_from_slice(&self.octets[..usize::from(self.len)]);
        let n = usize::from(self.network);
        if self.v4 {
            let total = (octets + 20) as u16;
            out[n + 2..n + 4].copy_from_slice(&total.to_be_bytes());
            out[n + 4..n + 6].copy_from_slice(&identification.to_be_bytes());
            out[n + 6..n + 8].copy_from_slice(&fragment.to_be_bytes());
            let all = self.network_sum + u32::from(total) + u32::from(identification) + u32::from(fragment);
            out[n + 10..n + 12].copy_from_slice(&(!fold(all)).to_be_bytes());
        } else {
            out[n + 4..n + 6].copy_from_slice(&(octets as u16).to_be_bytes());
        }
        if self.vxlan {
            // The outer layers hold all that follows them; RFC 7348 section 5: the outer UDP checksum should be zero.
            let inner = usize::from(self.transport) - 34 + octets;
            out[16..18].copy_from_slice(&((inner + 20) as u16).to_be_bytes());
            out[18..20].copy_from_slice(&identification.to_be_bytes());
            let checksum = !fold(sum(&out[14..34]));
            out[24..26].copy_from_slice(&checksum.to_be_bytes());
            out[38..40].copy_from_slice(&(inner as u16).to_be_bytes());
        }
    }
}

/// Puts headers one behind the other.
struct Builder {
    octets: [u8; HEAD_MAX],
    len: usize,
}

impl Builder {
    fn put(&mut self, octets: &[u8]) {
        self.octets[self.len..self.len + octets.len()].copy_from_slice(octets);
        self.len += octets.len();
    }

    fn ethernet(&mut self, from: Endpoint, to: Endpoint, tunnel: Tunnel, v4: bool) {
        self.put(&mac(to));
        self.put(&mac(from));
        if tunnel == Tunnel::Vlan {
            self.put(&[0x81, 0x00, 0x00, 100]);
        }
        self.put(if v4 { &[0x08, 0x00] } else { &[0x86, 0xdd] });
    }

    fn network(&mut self, from: Endpoint, to: Endpoint, v4: bool, protocol: u8, dscp: u8) {
        let (src, dst) = (from.address.octets(), to.address.octets());
        if v4 {
            self.put(&[0x45, dscp << 2, 0, 0, 0, 0, 0, 0, 62, protocol, 0, 0]);
            self.put(&src[12..]);
            self.put(&dst[12..]);
        } else {
            self.put(&[0x60 | dscp >> 2, dscp << 6, 0, 0, 0, 0, protocol, 62]);
            self.put(src);
            self.put(dst);
        }
    }

    /// Outer Ethernet, IPv4, UDP to 4789 and the VXLAN header, between two tunnel endpoints of the data centre.
    fn vxlan(&mut self, from: Endpoint) {
        self.put(&[2, 0, 192, 0, 2, 202, 2, 0, 192, 0, 2, 201, 0x08, 0x00]);
        self.put(&[0x45, 0, 0, 0, 0, 0, 0, 0, 64, UDP, 0, 0, 192, 0, 2, 201, 192, 0, 2, 202]);
        // RFC 7348 section 5: the source port is a hash of the inner packet, in the dynamic range.
        self.put(&(0xc000 | from.port & 0x3fff).to_be_bytes());
        self.put(&4789u16.to_be_bytes());
        self.put(&[0; 4]);
        self.put(&[0x08, 0, 0, 0, 0, 0, 42, 0]);
    }
}

/// A locally administered MAC address that follows from the network address.
fn mac(of: Endpoint) -> [u8; 6] {
    let o = of.address.octets();
    [0x02, 0x00, o[12], o[13], o[14], o[15]]
}

/// Sum of the 16-bit words, an odd last octet padded with zero (RFC 1071), not folded.
#[inline]
pub(crate) fn sum(octets: &[u8]) -> u32 {
    let mut words = octets.chunks_exact(2);
    let total: u32 = words.by_ref().map(|w| u32::from(u16::from_be_bytes([w[0], w[1]]))).sum();
    total + words.remainder().first().map_or(0, |&o| u32::from(o) << 8)
}

/// A sum folded to 16 bits in ones' complement.
#[inline]
pub(crate) fn fold(sum: u32) -> u16 {
    let once = (sum >> 16) + (sum & 0xffff);
    ((once >> 16) + (once & 0xffff)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(text: &str) -> Endpoint {
        text.parse().unwrap()
    }

    /// RFC 1071 section 3: the words 0001 f203 f4f5 f6f7 add up to ddf2.
    #[test]
    fn sums_as_rfc_1071() {
        assert_eq!(fold(sum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7])), 0xddf2);
    }

    #[test]
    fn headers_sum_to_all_ones() {
        for (from, to, v4) in
            [("192.0.2.1:5060", "203.0.113.9:5062", true), ("[2001:db8::1]:5060", "[2001:db8::2]:5060", false)]
        {
            for (tunnel, at) in [(Tunnel::None, 14), (Tunnel::Vlan, 18), (Tunnel::Vxlan, 64)] {
                let mut out = Vec::new();
                let head = Head::new(tunnel, endpoint(from), endpoint(to), UDP, 46);
                head.udp(&mut out, 77, 3, sum(b"abc"));
                out.extend_from_slice(b"abc");
                let (addresses, transport) =
                    if v4 { (&out[at + 12..at + 20], at + 20) } else { (&out[at + 8..at + 40], at + 40) };
                let pseudo = sum(addresses) + u32::from(UDP) + (out.len() - transport) as u32;
                assert_eq!(fold(pseudo + sum(&out[transport..])), 0xffff);
                if v4 {
                    assert_eq!(fold(sum(&out[at..at + 20])), 0xffff);
                }
                if tunnel == Tunnel::Vxlan {
                    assert_eq!(fold(sum(&out[14..34])), 0xffff);
                    assert_eq!(usize::from(u16::from_be_bytes([out[16], out[17]])), out.len() - 14);
                }
            }
        }
    }

    #[test]
    fn large_datagrams_become_fragments_that_hold_everything() {
        for (from, to, header) in [("192.0.2.1:1", "192.0.2.2:2", 34), ("[2001:db8::1]:1", "[2001:db8::2]:2", 62)] {
            let payload: Vec<u8> = (0..3200u32).map(|i| i as u8).collect();
            let head = Head::new(Tunnel::None, endpoint(from), endpoint(to), UDP, 0);
            let pieces = head.datagram(9, &payload);
            assert_eq!(pieces.len(), 3);
            let all: Vec<u8> = pieces.iter().flat_map(|p| p[header..].to_vec()).collect();
            assert_eq!(all[8..], payload);
            assert!(pieces.iter().all(|p| p.len() <= 14 + MTU));
        }
    }
}
