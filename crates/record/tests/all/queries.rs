//! What a query says of each packet, against libpcap's compiler and tcpdump; what an index leaves out, against all
//! packets.

use crate::support;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use support::{captures, expressions, inner_expressions, packets};
use trunkline_capture::PcapWriter;
use trunkline_capture::filter::Expression;
use trunkline_record::extract::{Plan, plan};
use trunkline_record::index::{Builder, FileMark, PAGE_OCTETS, Span, View};
use trunkline_record::query::{Matcher, parse};
use trunkline_record::segment::{Read, Segment};

/// Every plain word means to every packet what libpcap makes of it.
#[test]
fn plain_words_are_those_of_libpcap() {
    let (mut compared, mut matched) = (0u64, 0u64);
    for path in captures(400) {
        let Some(packets) = packets(&path) else { continue };
        let links: BTreeSet<u16> = packets.iter().map(|p| p.link).collect();
        for text in expressions(&packets) {
            let query = parse(&text).unwrap_or_else(|e| panic!("{e}"));
            assert!(!query.opaque, "{text}");
            for link in links.iter().filter(|link| matches!(link, 1 | 113 | 276 | 12 | 14 | 101 | 228 | 229)) {
                let theirs = Expression::compile(&text, *link);
                let ours = Matcher::new(&query, *link, &Expression);
                let (Ok(theirs), Ok(ours)) = (theirs, ours) else { continue };
                for packet in packets.iter().filter(|p| p.link == *link) {
                    let found = ours.matches(*link, &packet.octets, packet.wire);
                    let expected = theirs.matches(&packet.octets, packet.wire);
                    assert_eq!(found, expected, "{text}: {} at {}", path.display(), packet.offset);
                    (compared, matched) = (compared + 1, matched + u64::from(found));
                }
            }
        }
    }
    println!("{compared} answers compared, {matched} of them yes");
}

/// The same packets by number as `tcpdump -r`.
#[test]
fn packet_numbers_are_those_of_tcpdump() {
    if Command::new("tcpdump").arg("--version").output().is_err() {
        println!("SKIPPED: no tcpdump");
        return;
    }
    for path in captures(25) {
        let Some(packets) = packets(&path) else { continue };
        let first = packets.first().map_or(1, |p| p.link);
        if packets.iter().any(|p| p.link != first) {
            continue;
        }
        // libpcap cuts packets at the file's snap length, whatever their records say.
        let whole: Vec<Vec<u8>> = packets.iter().map(|p| p.octets.clone()).collect();
        if tcpdump(&path, "").as_ref() != Some(&whole) {
            continue;
        }
        for text in expressions(&packets).iter().step_by(4) {
            let query = parse(text).unwrap();
            let Ok(ours) = Matcher::new(&query, first, &Expression) else { continue };
            let Some(theirs) = tcpdump(&path, text) else { continue };
            let matching = packets.iter().filter(|p| ours.matches(first, &p.octets, p.wire));
            let ours: Vec<Vec<u8>> = matching.map(|p| p.octets.clone()).collect();
            assert!(ours == theirs, "{text}: {}: {} and {}", path.display(), ours.len(), theirs.len());
        }
    }
}

/// `less`, `greater` and `len` ask how long a packet was on the wire, however little of it was captured.
#[test]
fn lengths_are_those_of_the_wire() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.pcap");
    let mut writer = PcapWriter::pcap(std::fs::File::create(&path).unwrap());
    for n in 0..200u16 {
        let payload = usize::from(n) * 7;
        let mut frame = vec![2; 12];
        frame.extend([0x08, 0, 0x45, 0]);
        frame.extend((28 + payload as u16).to_be_bytes());
        frame.extend(n.to_be_bytes());
        frame.extend([0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x13, 0xc4, 0x13, 0xc4]);
        frame.extend((8 + payload as u16).to_be_bytes());
        frame.extend([0, 0]);
        frame.resize(frame.len() + payload, n as u8);
        let kept = frame.len().min(if n % 3 == 0 { 60 } else { 2000 });
        writer.write(i64::from(n), 1, frame.len() as u32, &frame[..kept]).unwrap();
    }
    writer.finish().unwrap();
    let all = packets(&path).unwrap();
    assert!(all.iter().any(|p| p.wire > 1000 && p.octets.len() == 60));
    let ours = |text: &str| -> Vec<Vec<u8>> {
        let matcher = Matcher::new(&parse(text).unwrap(), 1, &Expression).unwrap();
        all.iter().filter(|p| matcher.matches(1, &p.octets, p.wire)).map(|p| p.octets.clone()).collect()
    };
    let texts = [
        ("less 400", "inner udp and less 400"),
        ("greater 60", "inner host 10.0.0.1 and greater 60"),
        ("not less 200", "inner port 5060 and not less 200"),
        ("udp and greater 300", "inner udp and greater 300"),
        ("len > 100 and len <= 500", "inner udp and len > 100 and len <= 500"),
        ("port 5060 and (less 99 or greater 1200)", "inner port 5060 and (less 99 or greater 1200)"),
        ("greater 5000", "inner udp and greater 5000"),
    ];
    for (text, mixed) in texts {
        assert_eq!(ours(text), ours(mixed), "{mixed}");
        match tcpdump(&path, text) {
            Some(theirs) => assert_eq!(ours(text), theirs, "{text}"),
            None => println!("SKIPPED IN PART: no tcpdump"),
        }
    }
    let long = all.iter().filter(|p| p.wire >= 300).count();
    assert_eq!(ours("udp and greater 300").len(), long);
}

/// The packets of a file that tcpdump takes; none if it refuses the expression.
fn tcpdump(path: &Path, text: &str) -> Option<Vec<Vec<u8>>> {
    let out = Command::new("tcpdump").arg("-r").arg(path).args(["-w", "-", text]).output().ok()?;
    let folder = tempfile::tempdir().unwrap();
    let written = folder.path().join("out.pcap");
    std::fs::write(&written, out.stdout).unwrap();
    let found = packets(&written)?;
    out.status.success().then(|| found.into_iter().map(|p| p.octets).collect())
}

/// Reading what the index names finds what reading all of it finds.
#[test]
fn nothing_is_missed_by_the_index() {
    let (mut pages_read, mut pages_all) = (0, 0);
    for path in captures(300) {
        let Some(packets) = packets(&path) else { continue };
        let Ok(octets) = std::fs::read(&path) else { continue };
        let Ok(mut segment) = Segment::open(octets.as_slice(), false) else { continue };
        let mut builder = Builder::new();
        segment.index(&mut builder).unwrap_or_else(|e| panic!("{}: {e:?}", path.display()));
        let index = builder.seal(&FileMark::default());
        let view = View::open(index.as_slice()).unwrap();
        view.check().unwrap();
        assert_eq!(view.facts().packets, packets.len() as u64, "{}", path.display());
        let descriptions = view.descriptions().unwrap();
        for text in expressions(&packets).iter().chain(&inner_expressions(&packets)) {
            let query = parse(text).unwrap();
            let mut matchers = BTreeMap::new();
            let mut matches = |link: u16, octets: &[u8], wire| {
                let matcher = matchers.entry(link).or_insert_with(|| Matcher::new(&query, link, &Expression));
                matcher.as_ref().is_ok_and(|m| m.matches(link, octets, wire))
            };
            let expected: Vec<u64> =
                packets.iter().filter(|p| matches(p.link, &p.octets, p.wire)).map(|p| p.offset).collect();
            let mut found = Vec::new();
            match plan(&view, &query, &Span::ALL).unwrap() {
                Plan::Nothing => {}
                Plan::Whole => continue,
                Plan::Regions(regions) => {
                    for region in regions {
                        pages_read += (region.until - region.from).div_ceil(PAGE_OCTETS);
                        segment.prepare(view.facts().head_octets, &descriptions, region.from).unwrap();
                        let read = segment.read(region, &mut |read: &Read<'_>| {
                            if matches(read.link, read.octets, read.wire) {
                                found.push(read.offset);
                            }
                        });
                        read.unwrap_or_else(|e| panic!("{}: {e:?}", path.display()));
                    }
                }
            }
            pages_all += (octets.len() as u64).div_ceil(PAGE_OCTETS);
            assert_eq!(found, expected, "{text}: {}", path.display());
        }
    }
    println!("{pages_read} pages read of {pages_all}");
}
