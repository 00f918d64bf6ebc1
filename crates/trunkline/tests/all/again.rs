//! Reading a capture again changes nothing; reading a longer version of it completes what was there; a shorter one
//! takes nothing away.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn trunkline(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_trunkline")).args(arguments).env("TZ", "UTC").output().unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

struct Captures {
    folder: tempfile::TempDir,
    whole: PathBuf,
    cut: PathBuf,
}

/// A world and its first half, cut in the midst of a packet as by a full disk.
fn captures() -> Captures {
    let folder = tempfile::tempdir().unwrap();
    let (whole, cut) = (folder.path().join("whole.pcap"), folder.path().join("cut.pcap"));
    let made = trunkline(&["sim", "--seed", "5", "--calls", "80", "-w", text(&whole)]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let octets = std::fs::read(&whole).unwrap();
    std::fs::write(&cut, &octets[..octets.len() * 55 / 100]).unwrap();
    Captures { folder, whole, cut }
}

impl Captures {
    fn store(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

fn read(file: &Path, store: &Path, exit: i32) {
    let done = trunkline(&["read", text(file), "--data", text(store)]);
    assert_eq!(done.status.code(), Some(exit), "{}", String::from_utf8_lossy(&done.stderr));
}

/// All that the store shows of calls, streams, registrations and events. The name of the file a call was read from is
/// not part of it: the two captures have two names.
fn shown(store: &Path) -> Vec<String> {
    let list = |command: &str| {
        let output = trunkline(&[command, "--json", "--data", text(store)]);
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap().replace("cut.pcap", "whole.pcap");
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    ["calls", "streams", "registrations", "events"].into_iter().flat_map(list).collect()
}

fn differences(one: &[String], other: &[String]) -> String {
    let mut out = format!("{} against {} rows\n", one.len(), other.len());
    for (a, b) in one.iter().zip(other).filter(|(a, b)| a != b).take(3) {
        out.push_str(&format!("{a}\n{b}\n\n"));
    }
    out
}

#[test]
fn reading_again_changes_nothing() {
    let captures = captures();
    let store = captures.store("store");
    read(&captures.whole, &store, 0);
    let once = shown(&store);
    assert!(once.len() > 100);
    read(&captures.whole, &store, 0);
    let twice = shown(&store);
    assert!(once == twice, "{}", differences(&once, &twice));
}

#[test]
fn a_longer_version_completes_and_a_shorter_one_takes_nothing_away() {
    let captures = captures();
    let (grown, whole) = (captures.store("grown"), captures.store("whole"));
    read(&captures.whole, &whole, 0);
    let truth = shown(&whole);
    read(&captures.cut, &grown, 3);
    assert!(shown(&grown) != truth);
    read(&captures.whole, &grown, 0);
    let completed = shown(&grown);
    assert!(completed == truth, "{}", differences(&completed, &truth));
    read(&captures.cut, &grown, 3);
    let after = shown(&grown);
    assert!(after == truth, "{}", differences(&after, &truth));
}

#[test]
fn rows_of_a_damaged_day_are_missed_aloud() {
    let captures = captures();
    let store = captures.store("damaged");
    read(&captures.whole, &store, 0);
    for day in std::fs::read_dir(store.join("store")).unwrap() {
        std::fs::write(day.unwrap().path(), "no database").unwrap();
    }
    let done = trunkline(&["read", text(&captures.whole), "--json", "--data", text(&store)]);
    let (told, complaints) = (String::from_utf8(done.stdout).unwrap(), String::from_utf8(done.stderr).unwrap());
    assert_eq!(done.status.code(), Some(3), "{complaints}");
    assert!(complaints.contains("not a SQLite file: its rows are not stored"), "{complaints}");
    assert!(told.lines().last().unwrap().contains("\"degraded\":true"));
    for command in ["calls", "events", "registrations", "streams"] {
        let asked = trunkline(&[command, "--data", text(&store)]);
        assert_eq!(asked.status.code(), Some(3), "{command}: {}", String::from_utf8_lossy(&asked.stderr));
    }
}

/// Packets of all segments of a log.
fn recorded(data: &Path) -> u64 {
    let (mut packets, mut folders) = (0, vec![data.join("packets")]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "pcapng") {
                packets += crate::wire::packets_of(&path);
            }
        }
    }
    packets
}

fn record(file: &Path, data: &Path, exit: i32) -> String {
    let done = trunkline(&["read", "--record", text(file), "--data", text(data)]);
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(exit), "{said}");
    said
}

#[test]
fn recording_a_capture_again_adds_neither_packets_nor_rows() {
    let captures = captures();
    let data = captures.store("recorded");
    record(&captures.whole, &data, 0);
    let (packets, rows) = (recorded(&data), shown(&data));
    assert_eq!(packets, crate::wire::packets_of(&captures.whole));
    let said = record(&captures.whole, &data, 0);
    assert!(said.contains("packets are in the packet log already"), "{said}");
    assert_eq!(recorded(&data), packets);
    assert_eq!(shown(&data), rows, "{}", differences(&shown(&data), &rows));
    // The log's own packets, brought as a capture.
    let out = captures.store("out.pcapng");
    assert!(trunkline(&["extract", "--data", text(&data), "-w", text(&out)]).status.success());
    record(&out, &data, 0);
    assert_eq!(recorded(&data), packets);
}

#[test]
fn a_recording_that_was_interrupted_goes_on_where_it_ended() {
    use std::io::Write;
    let captures = captures();
    let (ended, killed) = (captures.store("ended"), captures.store("killed"));
    let whole = crate::wire::packets_of(&captures.whole);
    // It ended early, with what it had.
    record(&captures.cut, &ended, 3);
    let first = recorded(&ended);
    assert!(0 < first && first < whole, "{first} of {whole}");
    record(&captures.whole, &ended, 0);
    assert_eq!(recorded(&ended), whole);
    // It was killed in the midst of it, with some of it on the disk.
    let words = ["read", "--record", "-", "--data", text(&killed)];
    let mut command = Command::new(env!("CARGO_BIN_EXE_trunkline"));
    let command = command.args(words).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::null());
    let mut child = command.stderr(std::process::Stdio::null()).spawn().unwrap();
    let octets = std::fs::read(&captures.cut).unwrap();
    child.stdin.as_mut().unwrap().write_all(&octets).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    record(&captures.whole, &killed, 0);
    assert_eq!(recorded(&killed), whole);
    let (one, other) = (shown(&ended), shown(&killed));
    assert_eq!(one.len(), other.len(), "{}", differences(&one, &other));
}

/// Rows without the numbers of packets, which are those of the reading: it counts what both of two captures hold.
fn without_numbers(rows: &[String]) -> Vec<String> {
    fn strip(value: &mut serde_json::Value) {
        match value {
            serde_json::Value::Object(members) => {
                members.retain(|key, _| !["packet_first", "packet_last", "verdict_packets"].contains(&key.as_str()));
                members.values_mut().for_each(strip);
            }
            serde_json::Value::Array(values) => values.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let of = |row: &String| {
        let mut row = serde_json::from_str(row).unwrap();
        strip(&mut row);
        row.to_string()
    };
    rows.iter().map(of).collect()
}

/// What captures of one command have in common is in the log once, and their calls are those of one of them.
#[test]
fn copies_in_one_command_add_neither_packets_nor_rows() {
    let captures = captures();
    let (once, twice) = (captures.store("once"), captures.store("twice"));
    let copy = captures.store("copy.pcap");
    std::fs::copy(&captures.whole, &copy).unwrap();
    let both = |data: &Path| {
        let words = ["read", "--record", "--json", text(&captures.whole), text(&copy), "--data", text(data)];
        let done = trunkline(&words);
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(0), "{said}");
        said
    };
    record(&captures.whole, &once, 0);
    let (packets, rows) = (recorded(&once), without_numbers(&shown(&once)));
    let said = both(&twice);
    assert_eq!(recorded(&twice), packets);
    assert!(said.contains("are in another of these captures as well"), "{said}");
    let after = without_numbers(&shown(&twice));
    assert!(after == rows, "{}", differences(&after, &rows));
    // Both of them, of a log that has the one.
    let said = both(&once);
    assert!(said.contains("in the packet log already") && said.contains("in another of these captures"), "{said}");
    assert_eq!(recorded(&once), packets);
    let after = without_numbers(&shown(&once));
    assert!(after == rows, "{}", differences(&after, &rows));
}

/// A part of a capture that was read: rotated files, a span that was extracted. Calls and streams that it begins in the
/// midst of are in the store as a whole.
#[test]
fn a_part_of_what_is_recorded_adds_nothing() {
    let captures = captures();
    let data = captures.store("parts");
    record(&captures.whole, &data, 0);
    let (packets, rows) = (recorded(&data), shown(&data));
    let part = captures.store("part.pcapng");
    for (from, to) in [("2026-01-01T00:01:00Z", "2026-01-01T00:02:00Z"), ("2026-01-01T00:01:30Z", "2027-01-01")] {
        let words = ["extract", "--data", text(&data), "-w", text(&part), "--from", from, "--to", to];
        let done = trunkline(&words);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let said = record(&part, &data, 0);
        assert!(said.contains("is in the store as a whole already"), "{said}");
        assert_eq!(recorded(&data), packets);
        let after: Vec<_> = shown(&data).iter().map(|row| row.replace("part.pcapng", "whole.pcap")).collect();
        assert!(after.len() == rows.len(), "{}", differences(&after, &rows));
    }
    // The whole of a call of which the store has a part only is no part of it.
    let other = captures.store("other");
    record(&part, &other, 0);
    let halves = shown(&other).len();
    record(&captures.whole, &other, 0);
    assert!(shown(&other).len() > halves);
}

/// As Wireshark and tcpdump write it: microseconds. And two commands at once.
#[test]
fn a_capture_with_coarser_times_and_two_commands_at_once_add_no_packets() {
    let captures = captures();
    let data = captures.store("coarse");
    let begin = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trunkline"));
        let words = ["read", "--record", text(&captures.whole), "--data", text(&data)];
        command.args(words).stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped()).spawn().unwrap()
    };
    let both = [begin(), begin()].map(|child| child.wait_with_output().unwrap());
    for done in &both {
        assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    }
    let packets = recorded(&data);
    assert_eq!(packets, crate::wire::packets_of(&captures.whole));
    let octets = std::fs::read(&captures.whole).unwrap();
    assert_eq!(&octets[..4], &[0x4D, 0x3C, 0xB2, 0xA1], "nanoseconds, little-endian");
    let word = |octets: &[u8], at: usize| u32::from_le_bytes(octets[at..at + 4].try_into().unwrap());
    let (mut coarse, mut at) = (octets.clone(), 24);
    coarse[..4].copy_from_slice(&[0xD4, 0xC3, 0xB2, 0xA1]);
    while at < octets.len() {
        coarse[at + 4..at + 8].copy_from_slice(&(word(&octets, at + 4) / 1000).to_le_bytes());
        at += 16 + word(&octets, at + 8) as usize;
    }
    let file = captures.store("coarse.pcap");
    std::fs::write(&file, coarse).unwrap();
    record(&file, &data, 0);
    assert_eq!(recorded(&data), packets);
}

/// A capture and its copy, read together: each packet counts once, and the report says so.
#[test]
fn captures_that_hold_the_same_packets_are_read_as_one() {
    let captures = captures();
    let copy = captures.folder.path().join("copy.pcap");
    std::fs::copy(&captures.whole, &copy).unwrap();
    let summary = |files: &[&str]| {
        let done = trunkline(&[&["read", "--no-store", "--json"], files].concat());
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let lines = String::from_utf8(done.stdout).unwrap();
        let last: serde_json::Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
        last["summary"].clone()
    };
    let (one, both) = (summary(&[text(&captures.whole)]), summary(&[text(&captures.whole), text(&copy)]));
    assert_eq!(both["copies"], one["packets"]);
    assert_eq!((&one["copies"], &one["first_copy"]), (&0.into(), &serde_json::Value::Null));
    for what in ["packets", "sip_messages", "calls", "streams", "rtp_packets"] {
        assert_eq!(both[what], one[what], "{what}");
    }
    assert_eq!(both["first_copy"]["files"], serde_json::json!([text(&copy), text(&captures.whole)]));
    assert_eq!(both["first_copy"]["packet"], 2);
    let report = trunkline(&["read", "--no-store", text(&captures.whole), text(&copy)]).stdout;
    let report = String::from_utf8(report).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(report.contains("packets are in more than one of these files, and analysed once: the first is packet 2"));
}
