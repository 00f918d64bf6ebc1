//! The index against a list of the packets themselves.

use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use trunkline_wire::decode;

use super::*;

/// Ethernet, perhaps a tag, perhaps a GTP-U tunnel, then IPv4 and UDP.
fn packet(host: (u8, u8), ports: (u16, u16), vlan: Option<u16>, tunnel: Option<u8>, octets: usize) -> Vec<u8> {
    let ip = |src: [u8; 4], dst: [u8; 4], ports: (u16, u16), payload: &[u8]| {
        let total = 28 + payload.len() as u16;
        let mut o = vec![0x45, 0];
        o.extend(total.to_be_bytes());
        o.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
        o.extend(src);
        o.extend(dst);
        o.extend(ports.0.to_be_bytes());
        o.extend(ports.1.to_be_bytes());
        o.extend((total - 20).to_be_bytes());
        o.extend([0, 0]);
        o.extend(payload);
        o
    };
    let mut inner = ip([10, 0, 0, host.0], [10, 0, 0, host.1], ports, &vec![0xd5; octets]);
    if let Some(cell) = tunnel {
        let mut gtp = vec![0x30, 0xff];
        gtp.extend((inner.len() as u16).to_be_bytes());
        gtp.extend([0, 0, 0, 1]);
        gtp.extend(&inner);
        inner = ip([172, 16, 0, cell], [172, 16, 0, 254], (2152, 2152), &gtp);
    }
    let mut frame = vec![2; 12];
    if let Some(vlan) = vlan {
        frame.extend([0x81, 0]);
        frame.extend(vlan.to_be_bytes());
    }
    frame.extend([8, 0]);
    frame.extend(inner);
    frame
}

/// What is recorded: time, octets. Offsets follow from the lengths, as in pcapng.
type Recorded = Vec<(i64, Vec<u8>)>;

const HEAD: u64 = 128;

fn records(packets: &Recorded) -> impl Iterator<Item = (i64, u64, u32, &[u8])> {
    let mut offset = HEAD;
    packets.iter().map(move |(at_ns, octets)| {
        let record = 32 + octets.len().next_multiple_of(4) as u32;
        let here = offset;
        offset += u64::from(record);
        (*at_ns, here, record, octets.as_slice())
    })
}

fn feed(builder: &mut Builder, packets: &Recorded) -> Vec<u8> {
    for (at_ns, offset, record, octets) in records(packets) {
        builder.packet(at_ns, offset, record, 1, octets, &decode(1, octets));
    }
    builder.seal(&FileMark::default())
}

/// Flows and their pages, as a list of the packets gives them.
fn expected(packets: &Recorded) -> BTreeMap<String, (BTreeSet<u32>, u32, u8)> {
    let mut flows: BTreeMap<String, (BTreeSet<u32>, u32, u8)> = BTreeMap::new();
    for (_, offset, _, octets) in records(packets) {
        let outermost = Headers::outermost(1, octets);
        let innermost = Headers::innermost(&decode(1, octets), &outermost);
        let outer = (innermost != outermost).then(|| outermost.layer());
        let vlan = (outermost.vlan != Headers::NO_VLAN).then_some(outermost.vlan);
        let flow = flows.entry(format!("{:?} {outer:?} {vlan:?}", innermost.layer())).or_default();
        flow.0.insert((offset / PAGE_OCTETS) as u32);
        flow.1 += 1;
        flow.2 |= if innermost.is_forward() { Flow::FORWARD } else { Flow::BACKWARD };
    }
    flows
}

fn found(index: &[u8]) -> BTreeMap<String, (BTreeSet<u32>, u32, u8)> {
    let view = View::open(index).unwrap();
    let mut flows = Vec::new();
    view.flows(|flow, pages| flows.push((*flow, pages))).unwrap();
    let mut map = BTreeMap::new();
    for (flow, pages) in flows {
        let mut list = Vec::new();
        view.pages_of(pages, &mut list).unwrap();
        assert!(list.windows(2).all(|w| w[0] < w[1]));
        let name = format!("{:?} {:?} {:?}", flow.inner, flow.outer, flow.vlan);
        let before = map.insert(name, (list.into_iter().collect(), flow.packets, flow.flags));
        assert_eq!(before, None, "a flow twice");
    }
    map
}

fn some_packets(count: usize, seed: u64) -> Recorded {
    let mut state = seed | 1;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let packets = (0..count).map(|n| {
        let host = (next(4) as u8, next(4) as u8);
        let ports = (5060 + next(3) as u16, 10_000 + next(40) as u16);
        let vlan = (next(3) == 0).then(|| next(2) as u16 + 1);
        let tunnel = (next(5) == 0).then(|| next(3) as u8);
        (1_000_000 * n as i64 - next(3_000_000) as i64, packet(host, ports, vlan, tunnel, next(1400) as usize))
    });
    packets.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn flows_and_pages_are_those_of_the_packets(count in 0usize..3000, seed: u64) {
        let packets = some_packets(count, seed);
        let mut builder = Builder::new();
        // What was in the builder before leaves no trace.
        feed(&mut builder, &some_packets(50, seed ^ 1));
        let index = feed(&mut builder, &packets);
        prop_assert_eq!(found(&index), expected(&packets));
        let view = View::open(index.as_slice()).unwrap();
        view.check().unwrap();
        let facts = view.facts();
        prop_assert_eq!(facts.packets, count as u64);
        prop_assert_eq!(facts.index_octets, index.len() as u64);
        let times = packets.iter().map(|p| p.0);
        prop_assert_eq!(facts.span.first_ns, times.clone().min().unwrap_or(i64::MAX));
        prop_assert_eq!(facts.span.last_ns, times.max().unwrap_or(i64::MIN));
        let (starts, spans) = (view.starts().unwrap(), view.spans().unwrap());
        let mut seen = BTreeSet::new();
        for (at_ns, offset, ..) in records(&packets) {
            let page = offset / PAGE_OCTETS;
            prop_assert!(spans[(page / SPAN_PAGES) as usize].holds(at_ns));
            if seen.insert(page) {
                prop_assert_eq!(starts[page as usize].map(u64::from), Some(offset % PAGE_OCTETS));
            }
        }
        prop_assert_eq!(starts.iter().flatten().count(), seen.len());
    }

    #[test]
    fn damage_shows_or_does_no_harm(at: prop::sample::Index, bit in 0u8..8, cut: bool) {
        let mut index = feed(&mut Builder::new(), &some_packets(400, 5));
        let whole = found(&index);
        let at = at.index(index.len());
        if cut {
            index.truncate(at);
        } else {
            index[at] ^= 1 << bit;
        }
        let read = View::open(index.as_slice()).and_then(|view| view.check());
        prop_assert!(read.is_err() || (found(&index) == whole && !cut), "octet {}", at);
    }
}

#[test]
fn sets_hold_inner_and_outer_addresses_and_ports() {
    let packets = vec![(5, packet((1, 2), (4000, 4002), Some(7), Some(9), 100))];
    let index = feed(&mut Builder::new(), &packets);
    let view = View::open(index.as_slice()).unwrap();
    let holds = |text: &str| view.sets().holds_address(&text.parse().unwrap(), &text.parse().unwrap());
    assert!(["10.0.0.1", "10.0.0.2", "172.16.0.9", "172.16.0.254"].into_iter().all(holds));
    assert!(!holds("10.0.0.3"));
    assert!([2152, 4000, 4002].iter().all(|p| view.sets().holds_port(*p, *p)) && !view.sets().holds_port(4001, 4001));
}

#[test]
fn what_finds_no_room_is_unlisted_and_counted() {
    let one_flow = (0..2000).map(|n| (n, packet((1, 2), (5060, 5062), None, None, 1300))).collect();
    let cases =
        [(Builder::limited(8, GAPS_OCTETS_MAX), some_packets(2000, 3)), (Builder::limited(FLOWS_MAX, 100), one_flow)];
    for (mut builder, packets) in cases {
        let index = feed(&mut builder, &packets);
        let view = View::open(index.as_slice()).unwrap();
        let mut flows = Vec::new();
        let unlisted = view.flows(|flow, pages| flows.push((*flow, pages))).unwrap();
        let listed: u64 = flows.iter().map(|(flow, _)| u64::from(flow.packets)).sum();
        assert!(!unlisted.is_empty() && builder.counters().unlisted == 2000 - listed);
        // Each packet is in a page of its flow or in an unlisted one.
        let all: BTreeMap<_, _> = found(&index);
        for (name, (pages, ..)) in expected(&packets) {
            let known = all.get(&name).map(|flow| flow.0.clone()).unwrap_or_default();
            assert!(pages.iter().all(|page| known.contains(page) || unlisted.contains(page)), "{name}");
        }
    }
}

#[test]
fn pages_without_a_record_and_long_gaps() {
    let mut builder = Builder::new();
    let octets = packet((1, 2), (1, 2), None, None, 10);
    let decoded = decode(1, &octets);
    let offsets = [128, 3000, 4096 * 200, 4096 * 200 + 4095, 4096 * 70_000, 4096 * 70_001];
    offsets.iter().for_each(|offset| builder.packet(7, *offset, 100, 1, &octets, &decoded));
    builder.description(5000, 28);
    let index = builder.seal(&FileMark::default());
    let view = View::open(index.as_slice()).unwrap();
    let pages: Vec<_> = found(&index).into_values().flat_map(|flow| flow.0).collect();
    assert_eq!(pages, [0, 200, 70_000, 70_001]);
    let starts = view.starts().unwrap();
    assert_eq!((starts[0], starts[1], starts[200], starts[70_000]), (Some(128), None, Some(0), Some(0)));
    assert_eq!(view.spans().unwrap().iter().filter(|s| !s.is_empty()).count(), 3);
    assert_eq!((view.facts().head_octets, view.descriptions().unwrap()), (128, vec![(5000, 28)]));
}

#[test]
fn a_file_beyond_the_last_page_is_sequential() {
    let mut builder = Builder::new();
    let octets = packet((1, 2), (1, 2), None, None, 10);
    builder.packet(7, 128, 100, 1, &octets, &decode(1, &octets));
    let index = builder.seal(&FileMark::default());
    assert!(!View::open(index.as_slice()).unwrap().facts().sequential);
    for _ in 0..=DESCRIPTIONS_MAX {
        builder.description(500, 28);
    }
    let index = builder.seal(&FileMark::default());
    assert!(View::open(index.as_slice()).unwrap().facts().sequential);
}
