//! Decoding and reassembly with any octets.

use crate::ip_reassembly::{FragmentLimits, Fragments};
use crate::sctp::Chunks;
use crate::sctp_reassembly::{self, SctpReassembly};
use crate::tcp_reassembly::{Connections, TcpLimits, What};
use crate::walk::TUNNELS_MAX;
use crate::{Address, Datagram, Decoded, Fragment, TcpHeader};

/// A packet: two octets of link type, network order, then what was captured.
pub fn decode(octets: &[u8]) {
    let Some((link, packet)) = octets.split_first_chunk::<2>() else { return };
    let decoded = crate::decode(u16::from_be_bytes(*link), packet);
    lies_within(&decoded, packet);
    if let Decoded::Icmp(d) = decoded {
        let octets = &packet[d.payload_start as usize..][..d.payload_captured as usize];
        assert!(crate::icmp::unreachable(&d, octets).is_none_or(|u| u.by == d.src));
    }
}

/// What a result points to is in the packet.
fn lies_within(decoded: &Decoded, packet: &[u8]) {
    let (start, captured, wire, tunnels) = match decoded {
        Decoded::Udp(d) | Decoded::Tcp(d, _) | Decoded::Sctp(d) | Decoded::Icmp(d) => {
            (d.payload_start, d.payload_captured, d.payload_wire, d.tunnels)
        }
        Decoded::Fragment(f) => (f.payload_start, f.payload_captured, f.payload_wire, f.tunnels),
        _ => return,
    };
    assert!(start as usize + captured as usize <= packet.len(), "{decoded:?} in {}", packet.len());
    assert!(captured <= wire && tunnels <= TUNNELS_MAX, "{decoded:?}");
}

/// Fragments of seven octets each: identification and flags, offset (2), length on the wire (2), captured, time. Octets
/// of one datagram agree wherever they come twice, so a datagram must come out as it would have been sent.
pub fn ip_reassembly(octets: &[u8]) {
    let limits = FragmentLimits { datagrams: 4, octets: 1 << 17, timeout_ns: 100 };
    let mut table = Fragments::with_limits(limits);
    let mut at_ns = 0;
    for chunk in octets.chunks_exact(7) {
        let &[kind, o1, o2, w1, w2, cut, time] = chunk else { return };
        let (offset, wire) = (u32::from(u16::from_be_bytes([o1, o2])) & !7, u32::from(u16::from_be_bytes([w1, w2])));
        let captured = wire.saturating_sub(u32::from(cut));
        let identification = u32::from(kind & 7);
        let packet: Vec<u8> = (offset..offset + captured).map(|at| octet_of(identification, at)).collect();
        let fragment = Fragment {
            src: Address::v4([10, 0, 0, 1]),
            dst: Address::v4([10, 0, 0, 2]),
            identification,
            protocol: 17,
            offset,
            more: kind & 8 != 0,
            payload_start: 0,
            payload_captured: captured,
            payload_wire: wire,
            vlan: 0,
            tunnels: 0,
            dscp: 0,
        };
        at_ns += i64::from(time);
        if let Some(whole) = table.push(at_ns, &fragment, &packet) {
            assert!(whole.octets.len() <= whole.wire as usize);
            assert!(whole.octets.iter().zip(0..).all(|(octet, at)| *octet == octet_of(identification, at)));
            lies_within(&whole.decode(), whole.octets);
        }
        assert!(table.incomplete() <= limits.datagrams);
    }
}

fn octet_of(seed: u32, at: u32) -> u8 {
    (seed.wrapping_add(at).wrapping_mul(0x9e37_79b9) >> 24) as u8
}

/// Segments of eight octets each: flags, direction and port, sequence (2), acknowledgement (2), length, cut, time.
/// Sequence numbers are spread so that they pass the wrap and jump.
pub fn tcp_reassembly(octets: &[u8]) {
    let limits = TcpLimits {
        connections: 3,
        octets: 4096,
        direction_octets: 1024,
        direction_segments: 8,
        idle_ns: 1_000_000_000,
        jump: 1 << 15,
        ..TcpLimits::default()
    };
    let mut table = Connections::with_limits(limits);
    let mut at_ns = 0;
    let mut ended = std::collections::HashSet::new();
    for (n, chunk) in octets.chunks_exact(8).enumerate() {
        let &[flags, place, s1, s2, a1, a2, length, time] = chunk else { return };
        let (back, port, cut) = (place & 1 != 0, u16::from(place >> 1 & 7), u32::from(place >> 4));
        let (client, server) = (Address::v4([10, 0, 0, 1]), Address::v4([10, 0, 0, 2]));
        let wire = u32::from(length) + cut;
        let datagram = Datagram {
            src: if back { server } else { client },
            dst: if back { client } else { server },
            src_port: if back { 5060 } else { port },
            dst_port: if back { port } else { 5060 },
            payload_start: 0,
            payload_captured: u32::from(length),
            payload_wire: wire,
            vlan: 0,
            tunnels: 0,
            dscp: 0,
        };
        let near_the_wrap = |high, low| u32::from(u16::from_be_bytes([high, low])).wrapping_sub(1 << 15);
        let header = TcpHeader { seq: near_the_wrap(s1, s2), ack: near_the_wrap(a1, a2), flags: flags & 0x1f };
        at_ns += i64::from(time) << 20;
        let id = table.push(at_ns, n, &datagram, &header, &vec![length; usize::from(length)], &mut |event| {
            assert!(!ended.contains(&event.connection), "an event after the end");
            if let What::End(_) = event.what {
                ended.insert(event.connection);
            }
        });
        if let Some(id) = id.filter(|_| flags & 0xe0 == 0xe0) {
            table.ignore(id);
        }
        assert!(table.len() <= limits.connections && table.waiting_octets() <= limits.octets);
    }
    table.finish(&mut |_| {});
    assert_eq!((table.len(), table.waiting_octets()), (0, 0));
}

/// Packets of chunks: an octet of length in words, then that many words; its top bit chooses the direction.
pub fn sctp(octets: &[u8]) {
    let mut table = SctpReassembly::new();
    let mut rest = octets;
    while let Some((head, after)) = rest.split_first() {
        let (packet, after) = after.split_at(after.len().min(usize::from(head & 0x7f) * 4));
        rest = after;
        let datagram = Datagram {
            src: Address::UNSPECIFIED,
            dst: Address::UNSPECIFIED,
            src_port: u16::from(head >> 7),
            dst_port: u16::from(head >> 7 ^ 1),
            payload_start: 0,
            payload_captured: packet.len() as u32,
            payload_wire: packet.len() as u32,
            vlan: 0,
            tunnels: 0,
            dscp: 0,
        };
        assert!(Chunks::new(packet).all(|chunk| chunk.value.len() <= chunk.wire));
        table.push(0, (), &datagram, packet, &mut |message| assert!(message.octets.len() <= message.wire));
        assert!(table.waiting_octets() <= octets.len().min(sctp_reassembly::OCTETS_MAX));
    }
}
