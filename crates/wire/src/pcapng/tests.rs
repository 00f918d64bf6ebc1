//! Tests of reading: what [`super::emit`] writes, and blocks made by hand in both byte orders.

use super::*;
use crate::pcap::check::{Frames, List};

/// All that a scan told.
#[derive(Default)]
struct Told {
    frames: Vec<Frame>,
    lost: Vec<Lost>,
    secrets: Vec<(u32, Vec<u8>)>,
    passed: Vec<u32>,
}

impl Sink for Told {
    fn packet(&mut self, frame: Frame) {
        self.frames.push(frame);
    }
    fn lost(&mut self, lost: Lost) {
        self.lost.push(lost);
    }
    fn secrets(&mut self, kind: u32, octets: &[u8]) {
        self.secrets.push((kind, octets.to_vec()));
    }
    fn passed(&mut self, block: u32) {
        self.passed.push(block);
    }
}

fn scan(file: &[u8]) -> (Told, Scanned<PcapngError>) {
    let mut told = Told::default();
    let scanned = Sections::default().scan(file, &mut told);
    (told, scanned)
}

/// Writes blocks in either byte order.
struct Writer {
    big: bool,
    out: Vec<u8>,
}

impl Writer {
    fn new(big: bool, version: (u16, u16)) -> Writer {
        let mut writer = Writer { big, out: Vec::new() };
        let mut body = writer.words(&[0x1a2b_3c4d]);
        body.extend(writer.halves(&[version.0, version.1]));
        body.extend([0xff; 8]);
        writer.block(SECTION, &body);
        writer
    }

    fn words(&self, words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|w| if self.big { w.to_be_bytes() } else { w.to_le_bytes() }).collect()
    }

    fn halves(&self, halves: &[u16]) -> Vec<u8> {
        halves.iter().flat_map(|w| if self.big { w.to_be_bytes() } else { w.to_le_bytes() }).collect()
    }

    fn block(&mut self, kind: u32, body: &[u8]) {
        let mut body = body.to_vec();
        body.resize(body.len().next_multiple_of(4), 0);
        let octets = body.len() as u32 + 12;
        let head = self.words(&[kind, octets]);
        self.out.extend(head);
        self.out.extend(body);
        self.out.extend(self.words(&[octets]));
    }

    fn interface(&mut self, link: u16, snap: u32, options: &[(u16, &[u8])]) {
        let mut body = self.halves(&[link, 0]);
        body.extend(self.words(&[snap]));
        body.extend(self.options(options));
        self.block(INTERFACE, &body);
    }

    fn options(&self, options: &[(u16, &[u8])]) -> Vec<u8> {
        let mut out = Vec::new();
        for (code, value) in options {
            out.extend(self.halves(&[*code, value.len() as u16]));
            out.extend(*value);
            out.resize(out.len().next_multiple_of(4), 0);
        }
        out
    }

    fn packet(&mut self, interface: u32, ticks: u64, octets: &[u8], options: &[(u16, &[u8])]) {
        let n = octets.len() as u32;
        let mut body = self.words(&[interface, (ticks >> 32) as u32, ticks as u32, n, n + 5]);
        body.extend(octets);
        body.resize(body.len().next_multiple_of(4), 0);
        body.extend(self.options(options));
        self.block(PACKET, &body);
    }

    fn u64(&self, n: u64) -> [u8; 8] {
        if self.big { n.to_be_bytes() } else { n.to_le_bytes() }
    }
}

#[test]
fn what_is_written_is_read() {
    let mut file = Vec::new();
    emit::section(&mut file, "trunkline");
    emit::interface(&mut file, 1, 65_535, Some("eth0"));
    emit::secrets(&mut file, 0x544c_534b, b"CLIENT_RANDOM");
    emit::packet(&mut file, 0, 1_700_000_000_123_456_789, 99, b"hello", Some("why"));
    let statistics = emit::Statistics {
        start_ns: 3,
        at_ns: 1_700_000_001_000_000_000,
        received: 10,
        dropped_by_interface: 2,
        dropped_by_system: 3,
        ..Default::default()
    };
    emit::statistics(&mut file, &statistics);
    let (told, scanned) = scan(&file);
    assert_eq!(scanned, Scanned { consumed: file.len(), rest: Rest::Needs(12) });
    let [frame] = told.frames[..] else { panic!("{:?}", told.frames) };
    assert_eq!((frame.at_ns, frame.captured, frame.wire, frame.link), (1_700_000_000_123_456_789, 5, 99, 1));
    assert_eq!(&file[frame.start..][..5], b"hello");
    assert_eq!(told.secrets, [(0x544c_534b, b"CLIENT_RANDOM".to_vec())]);
    let lost = |packets, by_interface| Lost { at_ns: statistics.at_ns, since_ns: 3, packets, by_interface };
    assert_eq!(told.lost, [lost(2, true), lost(3, false)]);
}

#[test]
fn both_byte_orders_and_several_sections() {
    let mut file = Vec::new();
    for big in [true, false, true] {
        let mut writer = Writer::new(big, (1, 0));
        let offset = writer.u64(10);
        writer.interface(113, 0, &[(options::IF_TSRESOL, &[3]), (options::IF_TSOFFSET, &offset)]);
        writer.interface(1, 0, &[]);
        writer.packet(0, 5, b"one", &[]);
        writer.packet(1, 7, b"three", &[]);
        file.extend(writer.out);
    }
    let (told, scanned) = scan(&file);
    assert_eq!(scanned.consumed, file.len());
    let found: Vec<_> = told.frames.iter().map(|f| (f.at_ns, f.captured, f.wire, f.link)).collect();
    assert_eq!(found, [(10_005_000_000, 3, 8, 113), (7_000, 5, 10, 1)].repeat(3));
}

#[test]
fn simple_and_obsolete_packets() {
    let mut writer = Writer::new(true, (1, 2));
    writer.interface(1, 4, &[]);
    let mut old = writer.halves(&[0, 9]);
    old.extend(writer.words(&[0, 6, 3, 60]));
    old.extend(b"old");
    writer.block(OLD_PACKET, &old);
    let mut simple = writer.words(&[60]);
    simple.extend(b"simple..");
    writer.block(SIMPLE_PACKET, &simple);
    let (told, _) = scan(&writer.out);
    let found: Vec<_> = told.frames.iter().map(|f| (f.at_ns, f.captured, f.wire)).collect();
    assert_eq!(found, [(6_000, 3, 60), (6_000, 4, 60)]);
    assert_eq!(&writer.out[told.frames[1].start..][..4], b"simp");
    assert_eq!(told.lost, [Lost { at_ns: 6_000, since_ns: 6_000, packets: 9, by_interface: false }]);
}

/// Statistics are totals; what a packet told already is not told again.
#[test]
fn losses_are_differences() {
    let mut writer = Writer::new(false, (1, 0));
    writer.interface(1, 0, &[]);
    let statistics = |writer: &mut Writer, at: u32, drops: u64, option: u16| {
        let mut body = writer.words(&[0, 0, at]);
        let drops = writer.u64(drops);
        body.extend(writer.options(&[(option, &drops)]));
        writer.block(STATISTICS, &body);
    };
    writer.packet(0, 1, b"", &[]);
    statistics(&mut writer, 2, 4, options::ISB_IFDROP);
    let count = writer.u64(3);
    writer.packet(0, 3, b"", &[(2, &[0; 4]), (options::EPB_DROPCOUNT, &count)]);
    statistics(&mut writer, 4, 5, options::ISB_OSDROP);
    statistics(&mut writer, 5, 4, options::ISB_IFDROP);
    statistics(&mut writer, 6, 1, options::ISB_IFDROP);
    let (told, _) = scan(&writer.out);
    let lost = |at, since, packets, by_interface| Lost { at_ns: at, since_ns: since, packets, by_interface };
    let expected = [
        lost(2_000, 1_000, 4, true),
        lost(3_000, 1_000, 3, false),
        lost(4_000, 2_000, 2, false),
        lost(6_000, 5_000, 1, true),
    ];
    assert_eq!(told.lost, expected);
}

#[test]
fn the_end_of_a_file_says_whether_something_was_dropped() {
    for big in [false, true] {
        let order = if big { ByteOrder::Big } else { ByteOrder::Little };
        let statistics = |writer: &mut Writer, drops: &[(u16, u64)]| {
            let mut body = writer.words(&[0, 0, 9]);
            let drops: Vec<_> = drops.iter().map(|(code, n)| (*code, writer.u64(*n))).collect();
            let drops: Vec<(u16, &[u8])> = drops.iter().map(|(code, n)| (*code, &n[..])).collect();
            body.extend(writer.options(&drops));
            writer.block(STATISTICS, &body);
        };
        let mut writer = Writer::new(big, (1, 0));
        writer.interface(1, 0, &[]);
        statistics(&mut writer, &[(options::ISB_IFDROP, 100)]);
        writer.packet(0, 1, b"x", &[]);
        assert_eq!(drops_at_end(order, &writer.out), None);
        statistics(&mut writer, &[(options::ISB_IFDROP, 0), (options::ISB_IFRECV, 77)]);
        writer.block(NAMES, b"whatever it is");
        assert_eq!(drops_at_end(order, &writer.out), Some(0));
        let middle = writer.out.len();
        statistics(&mut writer, &[(options::ISB_IFDROP, 2), (options::ISB_OSDROP, 3)]);
        assert_eq!(drops_at_end(order, &writer.out), Some(5));
        // A tail that begins inside a block, and a file that ends inside one.
        assert_eq!(drops_at_end(order, &writer.out[middle - 7..]), Some(5));
        assert_eq!(drops_at_end(order, &writer.out[..writer.out.len() - 4]), None);
    }
}

#[test]
fn other_blocks_are_passed_over_and_told() {
    let mut writer = Writer::new(false, (1, 0));
    writer.interface(1, 0, &[]);
    for kind in [NAMES, JOURNAL, 0xbad, 0x8000_0001] {
        writer.block(kind, b"whatever it is");
    }
    writer.packet(0, 1, b"x", &[]);
    let (told, scanned) = scan(&writer.out);
    assert_eq!((told.passed, told.frames.len()), (vec![NAMES, JOURNAL, 0xbad, 0x8000_0001], 1));
    assert_eq!(scanned.consumed, writer.out.len());
}

#[test]
fn a_long_unknown_block_is_skipped_not_held() {
    let mut writer = Writer::new(false, (1, 0));
    let at = writer.out.len();
    writer.block(0xbad, &[0; 1000]);
    let mut sections = Sections::default();
    let first = Frames::of(&writer.out[..at + 12], |o, s| sections.scan(o, s)).scanned;
    assert_eq!(first, Scanned { consumed: at, rest: Rest::Skip(1008) });
    assert!(!sections.is_between_blocks());
    let then = sections.scan(&writer.out[at + 1008..], &mut List(Vec::new()));
    assert_eq!((then.consumed, sections.is_between_blocks()), (4, true));
}

#[test]
fn damage_is_named() {
    let rest = |writer: &Writer| scan(&writer.out).1.rest;
    assert_eq!(rest(&Writer::new(true, (2, 0))), Rest::Broken(PcapngError::Version(2, 0)));
    let mut writer = Writer::new(false, (1, 0));
    writer.packet(3, 0, b"", &[]);
    assert_eq!(rest(&writer), Rest::Broken(PcapngError::NoInterface(3, 0)));
    let mut writer = Writer::new(false, (1, 0));
    writer.block(INTERFACE, b"");
    assert_eq!(rest(&writer), Rest::Broken(PcapngError::BlockLength(INTERFACE, 12)));
    let mut writer = Writer::new(false, (1, 0));
    let n = writer.out.len();
    writer.out[n - 4] ^= 1;
    assert_eq!(rest(&writer), Rest::Broken(PcapngError::LengthsDiffer(28, 29)));
    let mut writer = Writer::new(true, (1, 0));
    writer.interface(1, 0, &[]);
    let at = writer.out.len();
    writer.packet(0, 0, b"four", &[]);
    writer.out[at + 23] = 9;
    assert_eq!(rest(&writer), Rest::Broken(PcapngError::PacketTooLong(9, 4)));
}
