//! Steps of a capture's clock are told where people look: in the report of `read`, in its JSON, and on *System*, with
//! their time, their size and their file. Rotated files of one capture (sngrep#323) and times that go back
//! (sngrep#408, pwnagotchi#880: hcxpcapngtool warns of them in its summary).

use crate::browser::Shown;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

const HOUR_S: i64 = 3_600;

fn trunkline(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trunkline"));
    command.args(args).current_dir(folder).env("TZ", "UTC").env("NO_COLOR", "1");
    command
}

fn run(folder: &Path, args: &[&str]) -> String {
    let output = trunkline(folder, args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A capture in this folder: the header of its file, and its records.
fn world(folder: &Path) -> (Vec<u8>, Vec<Vec<u8>>) {
    run(folder, &["sim", "--calls", "20", "--seed", "7", "--set", "calls_per_second=10", "-w", "world.pcap"]);
    let octets = std::fs::read(folder.join("world.pcap")).unwrap();
    let (header, mut rest) = octets.split_at(24);
    assert!(matches!(header[..4], [0xd4, 0xc3, 0xb2, 0xa1] | [0x4d, 0x3c, 0xb2, 0xa1]), "{header:?}");
    let mut records = Vec::new();
    while let Some(length) = rest.get(8..12) {
        let (record, behind) = rest.split_at(16 + u32::from_le_bytes(length.try_into().unwrap()) as usize);
        records.push(record.to_vec());
        rest = behind;
    }
    (header.to_vec(), records)
}

/// Sets the clock of what comes from a record on.
fn set(records: &mut [Vec<u8>], from: usize, by_s: i64) {
    for record in &mut records[from..] {
        let at = i64::from(u32::from_le_bytes(record[..4].try_into().unwrap())) + by_s;
        record[..4].copy_from_slice(&(at as u32).to_le_bytes());
    }
}

fn write(file: &Path, header: &[u8], records: &[Vec<u8>]) {
    std::fs::write(file, [header, &records.concat()].concat()).unwrap();
}

/// The file's name, without its folder.
fn base(path: &Value) -> &str {
    path.as_str().unwrap().rsplit('/').next().unwrap()
}

#[test]
fn each_step_of_the_clock_is_told_with_its_time_its_size_and_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let (header, records) = world(here);
    let middle = records.len() / 2;
    // The clock is set within the second file, or while the first one is exchanged for the second.
    for (from, files, place) in [
        (middle + middle / 2, &["two.pcap"][..], "in two.pcap"),
        (middle, &["one.pcap", "two.pcap"], "behind one.pcap"),
    ] {
        let mut records = records.clone();
        set(&mut records, from, HOUR_S);
        write(&here.join("one.pcap"), &header, &records[..middle]);
        write(&here.join("two.pcap"), &header, &records[middle..]);
        let lines = run(here, &["read", "one.pcap", "two.pcap", "--no-store", "--json"]);
        let last: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
        let (steps, clock) = (&last["summary"]["clock_steps"], &last["summary"]["clock"]);
        assert_eq!((steps.as_u64(), clock.as_array().unwrap().len()), (Some(1), 1), "{clock}");
        assert_eq!(
            (clock[0]["what"].as_str(), clock[0]["packet"].as_u64()),
            (Some("clock-set"), Some(from as u64 + 1))
        );
        assert!((clock[0]["by_ms"].as_f64().unwrap() - 3_600_000.0).abs() < 100.0, "{clock}");
        let told: Vec<&str> = clock[0]["files"].as_array().unwrap().iter().map(base).collect();
        assert_eq!(told, files, "{clock}");
        let report = run(here, &["read", "one.pcap", "two.pcap", "--no-store"]).replace('\n', " ");
        assert!(report.contains("was set forward by 1:00:00 h") && report.contains(place), "{report}");
    }
}

#[test]
fn system_lists_the_steps_of_captures_that_were_read() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let (header, mut records) = world(here);
    let middle = records.len() / 2;
    set(&mut records, middle, -HOUR_S);
    write(&here.join("set back.pcap"), &header, &records);
    let mut shown = Shown::start(trunkline(here, &["open", "set back.pcap", "--listen", "127.0.0.1:0"]));
    let mut browser = shown.browser();
    let clock = browser.json("/system")["read_clock"].clone();
    assert_eq!((clock["total"].as_u64(), clock["newest"].as_array().map(Vec::len)), (Some(1), Some(1)), "{clock}");
    let step = &clock["newest"][0];
    assert_eq!(
        (step["what"].as_str(), step["packet"].as_u64()),
        (Some("clock-set"), Some(middle as u64 + 1)),
        "{step}"
    );
    assert!((step["by_s"].as_f64().unwrap() + 3600.0).abs() < 0.1, "{step}");
    assert_eq!(step["files"].as_array().unwrap().iter().map(base).collect::<Vec<_>>(), ["set back.pcap"], "{step}");
    let before = &records[middle - 1];
    let word = |at: usize| i64::from(u32::from_le_bytes(before[at..at + 4].try_into().unwrap()));
    assert_eq!(step["at_ns"].as_i64().unwrap() / 1_000_000_000, word(0), "{step}");
    assert!(step["text"].as_str().unwrap().contains("set back by 1:00:00 h"), "{step}");
}
