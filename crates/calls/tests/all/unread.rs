//! What is seen but not analysed: names on public captures, laid against TShark packet by packet
//! (`unread.tsv` holds what was found where it agreed). Skipped where the shared captures are absent.

use crate::captures::shared;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use trunkline_calls::unread::Unread;
use trunkline_capture::{Batch, FileSource};
use trunkline_lane::class::classify;

/// Packets of each name in a file.
pub fn names(path: &Path) -> BTreeMap<&'static str, u64> {
    let mut found = BTreeMap::new();
    for_each(path, |_, name| *found.entry(name).or_default() += 1);
    found
}

/// Calls `take` for each packet that has a name, with its number.
fn for_each(path: &Path, mut take: impl FnMut(u64, &'static str)) {
    let mut source = FileSource::open(&[path.to_path_buf()]);
    let mut batch = Batch::default();
    while source.fill(&mut batch) {
        for packet in &batch.packets {
            let octets = batch.octets_of(packet);
            let decoded = trunkline_wire::decode(packet.link, octets);
            let mut unread = Unread::default();
            unread.see(packet, classify(&decoded, octets), &decoded, octets);
            if let Some((protocol, _)) = unread.seen().next() {
                take(packet.number, protocol.name());
            }
        }
        batch.clear();
    }
}

fn captures(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            captures(&path, found);
        } else if path.extension().is_some_and(|e| e == "pcap" || e == "pcapng" || e == "cap") {
            found.push(path);
        }
    }
}

#[test]
fn no_name_is_wrong() {
    let Some(shared) = shared() else { return };
    let mut files = Vec::new();
    captures(&shared, &mut files);
    let mut told = String::new();
    for file in &files {
        let name = file.strip_prefix(&shared).unwrap().display();
        for (protocol, packets) in names(file) {
            writeln!(told, "{name}\t{protocol}\t{packets}").unwrap();
        }
    }
    if let Some(list) = std::env::var_os("TRUNKLINE_UNREAD_LIST") {
        let mut all = String::new();
        for file in &files {
            let name = file.strip_prefix(&shared).unwrap().display();
            for_each(file, |number, protocol| writeln!(all, "{name}\t{number}\t{protocol}").unwrap());
        }
        std::fs::write(list, all).unwrap();
    }
    let expected = include_str!("unread.tsv");
    let differ: Vec<&str> = told.lines().filter(|line| !expected.contains(line)).collect();
    assert!(differ.is_empty() && told == expected, "not as TShark has it: {differ:#?}");
}
