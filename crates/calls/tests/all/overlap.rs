//! Captures of one moment that are read together: rings whose files overlap, two programs that wrote at once, a file
//! and its copy (sngrep#204, sngrep#428: the same messages twice). What is in both is there once.

use crate::world::{self, read_files, world};
use std::path::PathBuf;
use trunkline_sim::{Preset, Settings};
use trunkline_store::checked::{checked, is_repeated};
use trunkline_store::row::{Call, Registration, Rows, Stream, Verdict};

/// A pcap file as its header and its records.
fn records(file: &std::path::Path) -> (Vec<u8>, Vec<Vec<u8>>) {
    let octets = std::fs::read(file).unwrap();
    let (header, mut rest) = octets.split_at(24);
    let mut records = Vec::new();
    while !rest.is_empty() {
        let captured = u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
        let (record, behind) = rest.split_at(16 + captured);
        records.push(record.to_vec());
        rest = behind;
    }
    (header.to_vec(), records)
}

fn write(path: PathBuf, header: &[u8], records: &[Vec<u8>]) -> PathBuf {
    std::fs::write(&path, [header, &records.concat()].concat()).unwrap();
    path
}

/// All that does not say in which file, and as which packet, something is.
fn told(rows: &Rows) -> Vec<String> {
    let stream =
        |s: &Stream| Stream { packet_first: 0, packet_last: 0, offset_first: 0, offset_last: 0, file: 0, ..s.clone() };
    let call = |c: &Call| {
        let streams: Vec<Stream> = c.streams.iter().map(stream).collect();
        let ladder: Vec<_> = c.ladder.messages.iter().map(|m| (m.at_ns, m.status, m.cseq, m.flags)).collect();
        let verdict = c.verdict.as_ref().map(|v| (v.kind.clone(), v.text.clone()));
        format!("{} {:?} {:?} {:?} {verdict:?} {ladder:?} {streams:?}", c.id, c.state, c.answer_ns, c.end_ns)
    };
    let mut all: Vec<String> = rows.calls.iter().map(call).collect();
    all.extend(rows.streams.iter().map(|s| format!("{:?}", stream(s))));
    let registration = |r: &Registration| {
        let verdict = r.verdict.clone().map(|v| Verdict { packets: Vec::new(), ..v });
        format!("{:?}", Registration { verdict, ..r.clone() })
    };
    all.extend(rows.registrations.iter().map(registration));
    all.extend(rows.events.iter().map(|e| format!("{e:?}")));
    all.sort();
    all
}

#[test]
fn what_overlapping_captures_hold_is_what_one_capture_of_all_holds() {
    let settings = Settings { seed: 77, calls: 120, faults: 0.5, near_misses: 0.2, ..Settings::preset(Preset::Mixed) };
    let world = world(&settings);
    let (header, all) = records(&world.file);
    let folder = tempfile::tempdir().unwrap();
    let at = |share: usize| all.len() * share / 100;
    let part = |name: &str, from: usize, to: usize| write(folder.path().join(name), &header, &all[at(from)..at(to)]);
    let (whole, _) = read_files(std::slice::from_ref(&world.file), 1);
    let expected = told(&whole);
    for (parts, copies) in [
        (vec![part("a", 0, 60), part("b", 40, 100)], at(60) - at(40)),
        (vec![part("c", 0, 100), part("d", 0, 100)], all.len()),
        (
            vec![part("e", 0, 50), part("f", 25, 75), part("g", 50, 100), part("h", 70, 71)],
            at(75) - at(25) + at(71) - at(70),
        ),
        (vec![part("i", 0, 50), part("j", 50, 100)], 0),
    ] {
        for threads in [1, 4] {
            let (rows, summary) = read_files(&parts, threads);
            assert_eq!(summary.copies, copies as u64, "{parts:?}");
            let got = told(&rows);
            let differ = got.iter().zip(&expected).find(|(a, b)| a != b);
            assert!(got == expected, "{parts:?}: {} of {}: {differ:#?}", got.len(), expected.len());
            let first = summary.first_copy.zip(summary.files_of_copy());
            assert_eq!(first.is_some(), copies > 0, "{parts:?}");
            if let Some((_, [file, other])) = first {
                assert_eq!([file, other], [parts[1].to_str().unwrap(), parts[0].to_str().unwrap()]);
            }
        }
    }
}

/// Microseconds in one file, nanoseconds in the other.
#[test]
fn a_program_that_keeps_no_nanoseconds_has_the_same_packets() {
    let world = world(&Settings { seed: 78, calls: 20, ..Settings::preset(Preset::Mixed) });
    let (header, all) = records(&world.file);
    let folder = tempfile::tempdir().unwrap();
    let mut coarse = header.clone();
    coarse[..4].copy_from_slice(&0xa1b2_c3d4_u32.to_le_bytes());
    let micro: Vec<Vec<u8>> = all
        .iter()
        .map(|record| {
            let ns = u32::from_le_bytes(record[4..8].try_into().unwrap());
            [&record[..4], &(ns / 1000).to_le_bytes(), &record[8..]].concat()
        })
        .collect();
    let files =
        [write(folder.path().join("fine"), &header, &all), write(folder.path().join("coarse"), &coarse, &micro)];
    let (rows, summary) = read_files(&files, 1);
    assert_eq!(summary.copies, all.len() as u64);
    assert_eq!(rows.calls.len(), world::World::calls(&world).count());
    let sums = |rows: &Rows| {
        let streams = || rows.calls.iter().flat_map(|c| &c.streams);
        (streams().map(|s| s.packets).sum::<u64>(), streams().map(|s| s.duplicates).sum::<u64>())
    };
    assert_eq!(sums(&rows), sums(&read_files(&files[..1], 1).0));
}

/// Captures of two places with clocks of their own, and loss between them: no packet has two times that are the same,
/// and what either has is there. That this hides losses is said.
#[test]
fn captures_of_two_places_say_that_losses_between_them_do_not_show() {
    let mut settings = Settings { seed: 79, calls: 60, ..Settings::preset(Preset::Mixed) };
    (settings.faults, settings.near_misses) = (0.0, 0.0);
    let world = world(&settings);
    let (header, all) = records(&world.file);
    let folder = tempfile::tempdir().unwrap();
    // The second one has every packet but each eighth one, 1.3 ms later.
    let later = |record: &Vec<u8>| {
        let word = |at: usize| u64::from(u32::from_le_bytes(record[at..at + 4].try_into().unwrap()));
        let at_ns = word(0) * 1_000_000_000 + word(4) + 1_300_000;
        let time = [(at_ns / 1_000_000_000) as u32, (at_ns % 1_000_000_000) as u32].map(u32::to_le_bytes).concat();
        [&time, &record[8..]].concat()
    };
    let behind: Vec<Vec<u8>> = all.iter().enumerate().filter(|(n, _)| n % 8 > 0).map(|(_, r)| later(r)).collect();
    let files = [write(folder.path().join("near"), &header, &all), write(folder.path().join("far"), &header, &behind)];
    let (rows, summary) = read_files(&files, 1);
    assert_eq!(summary.copies, 0);
    let told =
        |call: &Call| checked(call).not_checked.iter().any(|t| t.starts_with("loss between the places of capture"));
    let long = |call: &&Call| call.streams.iter().any(|s| s.packets > 500);
    let [all, told_of] = [rows.calls.iter().filter(long).count(), rows.calls.iter().filter(|c| told(c)).count()];
    assert!(all > 5 && rows.calls.iter().filter(long).all(told), "{told_of} of {all}");
    let (alone, _) = read_files(&files[..1], 1);
    assert!(!alone.calls.iter().any(told) && !alone.streams.iter().any(is_repeated));
}
