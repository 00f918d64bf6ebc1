//! Reading from places against reading from the beginning.

use super::*;
use crate::index::{FileMark, PAGE_OCTETS, View};
use trunkline_capture::PcapWriter;
use trunkline_wire::pcapng::emit;

fn octets_of(n: usize) -> Vec<u8> {
    let mut frame = vec![2; 12];
    frame.extend([8, 0, 0x45, 0, 0, 60, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, n as u8, 10, 0, 1, 1]);
    frame.extend([0x13, 0xc4, 0x13, 0xc4, 0, 40, 0, 0]);
    frame.resize(60 + n % 300, n as u8);
    frame
}

/// Packets, their interfaces described when they first come.
fn capture(pcapng: bool, packets: usize) -> Vec<u8> {
    let mut writer = if pcapng { PcapWriter::pcapng(Vec::new()) } else { PcapWriter::pcap(Vec::new()) };
    for n in 0..packets {
        let link = if pcapng && n > 100 && n % 3 == 0 { 228 } else { 1 };
        let octets = if link == 228 { octets_of(n)[14..].to_vec() } else { octets_of(n) };
        writer.write(1_000 * n as i64, link, 400, &octets).unwrap();
    }
    writer.finish().unwrap()
}

/// Time, offset, link type, octets.
type Packet = (i64, u64, u16, Vec<u8>);

fn all(file: &[u8], growing: bool) -> (Vec<Packet>, Option<SegmentFault>) {
    let mut found = Vec::new();
    let mut segment = match Segment::open(file, growing) {
        Ok(segment) => segment,
        Err(fault) => return (found, Some(fault)),
    };
    let region = Region { from: segment.first(), until: u64::MAX };
    let read = segment.read(region, &mut |r: &Read<'_>| {
        found.push((r.at_ns, r.offset, r.link, r.octets.to_vec()));
    });
    (found, read.err())
}

#[test]
fn each_page_gives_the_records_that_begin_in_it() {
    for pcapng in [false, true] {
        let file = capture(pcapng, 2000);
        let (whole, fault) = all(&file, false);
        assert_eq!((whole.len(), fault), (2000, None));
        let mut builder = Builder::new();
        let mut segment = Segment::open(file.as_slice(), false).unwrap();
        assert_eq!(segment.index(&mut builder), Ok(file.len() as u64));
        let index = builder.seal(&FileMark::default());
        let view = View::open(index.as_slice()).unwrap();
        let (facts, descriptions) = (view.facts(), view.descriptions().unwrap());
        assert_eq!((facts.packets, facts.sequential, descriptions.len()), (2000, false, usize::from(pcapng)));
        let mut found = Vec::new();
        for (page, start) in view.starts().unwrap().iter().enumerate().rev() {
            let Some(start) = start else { continue };
            let from = page as u64 * PAGE_OCTETS + u64::from(*start);
            segment.prepare(facts.head_octets, &descriptions, from).unwrap();
            let mut here = Vec::new();
            let region = Region { from, until: (page as u64 + 1) * PAGE_OCTETS };
            let whole = segment.read(region, &mut |r: &Read<'_>| {
                here.push((r.at_ns, r.offset, r.link, r.octets.to_vec()));
            });
            assert_eq!(whole, Ok(()));
            found.splice(0..0, here);
        }
        assert_eq!(found, whole);
    }
}

#[test]
fn a_file_that_grows_ends_with_its_last_whole_record() {
    let file = capture(true, 50);
    for cut in [0, 1, 30, 200, file.len() - 1, file.len()] {
        let (whole, fault) = all(&file[..cut], true);
        assert_eq!(fault, None, "{cut}");
        let padded = [&file[..cut], &[0; 5000]].concat();
        let (again, fault) = all(&padded, true);
        assert!(again.len() >= whole.len(), "{cut} {fault:?}");
        assert!(cut < file.len() || (again == whole && fault.is_none()), "{cut} {fault:?}");
    }
    let (found, fault) = all(&file[..file.len() - 1], false);
    assert!(found.len() == 49 && matches!(fault.unwrap().fault, FileFault::CutInBlock { .. }));
}

#[test]
fn blocks_of_other_kinds_and_sections_are_passed() {
    let mut file = Vec::new();
    emit::section(&mut file, "x");
    emit::interface(&mut file, 1, 0, None);
    emit::packet(&mut file, 0, 5, 60, &octets_of(1), Some("a comment"));
    emit::secrets(&mut file, 1, &[7; 6000]);
    emit::section(&mut file, "y");
    emit::interface(&mut file, 228, 0, Some("eth1"));
    emit::packet(&mut file, 0, 9, 46, &octets_of(2)[14..], None);
    let mut builder = Builder::new();
    let mut segment = Segment::open(file.as_slice(), false).unwrap();
    assert_eq!(segment.index(&mut builder), Ok(file.len() as u64));
    let index = builder.seal(&FileMark::default());
    let view = View::open(index.as_slice()).unwrap();
    let (descriptions, starts) = (view.descriptions().unwrap(), view.starts().unwrap());
    assert_eq!((descriptions.len(), starts.iter().flatten().count()), (2, 2));
    let from = PAGE_OCTETS + u64::from(starts[1].unwrap());
    segment.prepare(view.facts().head_octets, &descriptions, from).unwrap();
    let mut links = Vec::new();
    let read = segment.read(Region { from, until: u64::MAX }, &mut |r: &Read<'_>| {
        links.push(r.link);
    });
    assert_eq!((read, links), (Ok(()), vec![228]));
}

#[test]
fn what_is_no_capture_is_refused() {
    assert!(Segment::open(b"#!/bin/sh".as_slice(), false).is_err());
    assert!(Segment::open(b"".as_slice(), false).is_err());
    assert!(Segment::open(b"".as_slice(), true).is_ok());
}
