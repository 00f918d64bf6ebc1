//! What a query says of each packet, against libpcap and tcpdump; what an index leaves out, against all packets.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use support::{captures, expressions, inner_expressions, packets};
use trunkline_record::extract::{Plan, plan};
use trunkline_record::index::{Builder, FileMark, PAGE_OCTETS, Span, View};
use trunkline_record::job::libpcap::Libpcap;
use trunkline_record::query::{Compile, Matcher, parse};
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
                let theirs = Libpcap.compile(&text, *link);
                let ours = Matcher::new(&query, *link, &Libpcap);
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
        println!("skipped: no tcpdump");
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
            let Ok(ours) = Matcher::new(&query, first, &Libpcap) else { continue };
            let Some(theirs) = tcpdump(&path, text) else { continue };
            let matching = packets.iter().filter(|p| ours.matches(first, &p.octets, p.wire));
            let ours: Vec<Vec<u8>> = matching.map(|p| p.octets.clone()).collect();
            assert!(ours == theirs, "{text}: {}: {} and {}", path.display(), ours.len(), theirs.len());
        }
    }
}

/// The packets of a file that tcpdump takes; none if it refuses the expression.
fn tcpdump(path: &Path, text: &str) -> Option<Vec<Vec<u8>>> {
    let out = Command::new("tcpdump").arg("-r").arg(path).args(["-w", "-", text]).output().unwrap();
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
                let matcher = matchers.entry(link).or_insert_with(|| Matcher::new(&query, link, &Libpcap));
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
