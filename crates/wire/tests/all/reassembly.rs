//! Whatever the network does to fragments, segments and chunks, what was sent comes out.

use proptest::prelude::*;
use trunkline_wire::ip_reassembly::Fragments;
use trunkline_wire::sctp_reassembly::SctpReassembly;
use trunkline_wire::tcp_reassembly::{Connections, Direction, What};
use trunkline_wire::{Address, Datagram, Fragment, TcpHeader};

const FROM: Address = Address::v4([192, 0, 2, 1]);
const TO: Address = Address::v4([192, 0, 2, 2]);

fn datagram(back: bool, octets: usize) -> Datagram {
    Datagram {
        src: if back { TO } else { FROM },
        dst: if back { FROM } else { TO },
        src_port: 5060,
        dst_port: 5060,
        payload_start: 0,
        payload_captured: octets as u32,
        payload_wire: octets as u32,
        vlan: 0,
        tunnels: 0,
        dscp: 0,
    }
}

/// Cuts of a sequence: all of it, with overlaps and copies, in any order.
fn pieces(length: usize, step: usize, random: &[u32]) -> Vec<(usize, usize)> {
    let next = |n: usize| random[n % random.len()] as usize;
    let mut pieces = Vec::new();
    let (mut at, mut n) = (0, 0);
    while at < length {
        let end = (at + step * (1 + next(n) % 40)).min(length);
        // Some begin earlier than they need to.
        let start = if next(n + 1) % 3 == 0 { at.saturating_sub(step * (next(n) % 8)) } else { at };
        pieces.push((start, end));
        if next(n + 2) % 4 == 0 {
            pieces.push((start, end));
        }
        (at, n) = (end, n + 3);
    }
    for i in (1..pieces.len()).rev() {
        pieces.swap(i, next(n + i) % (i + 1));
    }
    pieces
}

proptest! {
    #[test]
    fn ip_fragments(
        payload in prop::collection::vec(any::<u8>(), 1..6000),
        random in prop::collection::vec(any::<u32>(), 64),
    ) {
        let mut table = Fragments::new();
        let mut whole = Vec::new();
        for (start, end) in pieces(payload.len(), 8, &random) {
            let fragment = Fragment {
                src: FROM,
                dst: TO,
                identification: 1,
                protocol: 17,
                offset: start as u32,
                more: end < payload.len(),
                payload_start: 3,
                payload_captured: (end - start) as u32,
                payload_wire: (end - start) as u32,
                vlan: 0,
                tunnels: 0,
                dscp: 0,
            };
            let packet = [b"hdr", &payload[start..end]].concat();
            whole.extend(table.push(0, &fragment, &packet).map(|r| r.octets.to_vec()));
        }
        prop_assert_eq!(whole.first(), Some(&payload));
    }

    #[test]
    fn tcp_segments(
        stream in prop::collection::vec(any::<u8>(), 1..20_000),
        initial in any::<u32>(),
        random in prop::collection::vec(any::<u32>(), 64),
    ) {
        let mut table = Connections::new();
        let mut came = Vec::new();
        let mut odd = 0;
        let mut segments = pieces(stream.len(), 16, &random);
        segments.insert(0, (0, 0));
        for (n, (start, end)) in segments.into_iter().enumerate() {
            let header = if n == 0 {
                TcpHeader { seq: initial, ack: 0, flags: 0x02 }
            } else {
                TcpHeader { seq: initial.wrapping_add(1 + start as u32), ack: 0, flags: 0x10 }
            };
            table.push(n as i64, n, &datagram(false, end - start), &header, &stream[start..end], &mut |event| {
                match event.what {
                    What::Octets { octets, carrier } if event.direction == Direction::Forward && carrier <= n => {
                        came.extend_from_slice(octets);
                    }
                    _ => odd += 1,
                }
            });
        }
        prop_assert_eq!((came == stream, odd), (true, 0));
        prop_assert_eq!(table.waiting_octets(), 0);
    }

    #[test]
    fn tcp_gaps_and_octets_add_up(
        length in 2_000usize..20_000,
        random in prop::collection::vec(any::<u32>(), 64),
        lost in prop::collection::vec(any::<bool>(), 64),
    ) {
        let stream: Vec<u8> = (0..length).map(|n| ((n * 7) >> 3) as u8).collect();
        let mut table = Connections::new();
        let mut came: Vec<Option<u8>> = Vec::new();
        let mut sink = |event: trunkline_wire::tcp_reassembly::Event<usize>| match event.what {
            What::Octets { octets, .. } => came.extend(octets.iter().map(|o| Some(*o))),
            What::Gap(gap) => came.extend(vec![None; gap.octets as usize]),
            What::End(_) => {}
        };
        let segments = pieces(length, 16, &random);
        table.push(0, 0, &datagram(false, 0), &TcpHeader { seq: u32::MAX - 5000, ack: 0, flags: 0x02 }, &[], &mut sink);
        for (n, (start, end)) in segments.into_iter().enumerate() {
            let header = TcpHeader { seq: (u32::MAX - 4999).wrapping_add(start as u32), ack: 0, flags: 0x10 };
            if !lost[n % lost.len()] {
                table.push(0, n, &datagram(false, end - start), &header, &stream[start..end], &mut sink);
            }
        }
        table.finish(&mut sink);
        prop_assert!(came.iter().zip(&stream).all(|(a, b)| a.is_none_or(|a| a == *b)));
        prop_assert!(came.len() <= length && came.last().is_none_or(|last| last.is_some()));
    }

    #[test]
    fn sctp_fragments(
        messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..900), 1..12),
        initial in any::<u32>(),
        random in prop::collection::vec(any::<u32>(), 64),
    ) {
        let mut chunks = Vec::new();
        let mut tsn = initial;
        for (ssn, message) in messages.iter().enumerate() {
            let parts: Vec<&[u8]> = message.chunks(1 + random[ssn] as usize % 300).collect();
            for (n, part) in parts.iter().enumerate() {
                let flags = (u8::from(n == 0) << 1) | u8::from(n + 1 == parts.len());
                let mut chunk = vec![0, flags];
                chunk.extend_from_slice(&(16 + part.len() as u16).to_be_bytes());
                chunk.extend_from_slice(&tsn.to_be_bytes());
                chunk.extend_from_slice(&[0, 0]);
                chunk.extend_from_slice(&(ssn as u16).to_be_bytes());
                chunk.extend_from_slice(&[0, 0, 0, 46]);
                chunk.extend_from_slice(part);
                chunk.resize(chunk.len().next_multiple_of(4), 0);
                chunks.push(chunk);
                tsn = tsn.wrapping_add(1);
            }
        }
        chunks.truncate(512);
        let sent = chunks.len();
        for i in 0..sent / 3 {
            chunks.push(chunks[random[i % 64] as usize % sent].clone());
        }
        for i in (1..chunks.len()).rev() {
            chunks.swap(i, random[(i * 7) % 64] as usize % (i + 1));
        }
        let mut table = SctpReassembly::new();
        let mut came = Vec::new();
        for chunk in &chunks {
            table.push(0, (), &datagram(false, chunk.len()), chunk, &mut |m| came.push(m.octets.to_vec()));
        }
        let (mut came, mut sent) = (came, messages);
        came.sort();
        sent.sort();
        if chunks.len() < 512 {
            prop_assert_eq!(came, sent);
        }
    }
}
