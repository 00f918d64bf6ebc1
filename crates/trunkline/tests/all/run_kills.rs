//! `trunkline run` is killed while calls are up: the next start makes their rows out of the packet log.
//!
//! [`random`] kills at random moments, [`set_back`] has the clock set back between two runs, [`hour`] says how long it
//! takes after an hour of a thousand calls. Needs root and iproute2; without, it says so and is skipped.
//!
//! Test group: waits: replays captures at their own pace.

mod hour;
mod random;
mod set_back;

use crate::wire;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use wire::{PROGRAM, Running, Wire, text, trunkline};

const RECOVERED: &str = "recovered from the packet log after a restart";

fn config(wire: &Wire, more: &str) -> String {
    format!(
        "[capture]\nlanes = 2\n[record]\nmemory = \"32 MiB\"\nflush = \"100 ms\"\nsegment-time = \"5 s\"\n\
         [calls]\ncheckpoint-every = \"1 s\"\n{more}[metrics]\nlisten = \"unix:{}\"\n",
        text(&wire.path("metrics"))
    )
}

/// Replays beside the test.
fn replay(wire: &Wire, world: &Path, pace: &str) -> Child {
    let words = [PROGRAM, "replay", text(world), "-i", "out", "--pace", pace, "--json"];
    wire.within(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Packets that a run has captured.
fn captured(wire: &Wire) -> f64 {
    (0..2).map(|lane| wire.metric(&format!("trunkline_capture_ring_packets_total{{lane=\"{lane}\"}}"))).sum()
}

fn kill(mut running: Running) {
    running.child.kill().unwrap();
    running.child.wait().unwrap();
}

/// All files of a packet log whose names end so.
fn log_files(data: &Path, extension: &str) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![data.join("packets")]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == extension) {
                found.push(path);
            }
        }
    }
    found
}

/// All segments of a packet log.
fn segments(data: &Path) -> Vec<PathBuf> {
    log_files(data, "pcapng")
}

/// Writes the packets of captures as one capture of another time, those of before a moment.
fn shifted(files: &[PathBuf], to: &Path, by_ns: i64, until_ns: i64) {
    let mut source = trunkline_capture::FileSource::open(files);
    let mut batch = trunkline_capture::Batch::default();
    let mut out = BufWriter::new(std::fs::File::create(to).unwrap());
    let mut write = |words: &[u32], octets: &[u8]| {
        words.iter().for_each(|word| out.write_all(&word.to_le_bytes()).unwrap());
        out.write_all(octets).unwrap();
    };
    // Classic pcap with nanoseconds, little-endian, Ethernet.
    write(&[0xA1B2_3C4D, 0x0004_0002, 0, 0, 262_144, 1], &[]);
    while source.fill(&mut batch) {
        for packet in batch.packets.iter().filter(|packet| packet.at_ns + by_ns < until_ns) {
            let (at_ns, octets) = (packet.at_ns + by_ns, batch.octets_of(packet));
            let (seconds, rest) = (at_ns.div_euclid(1_000_000_000), at_ns.rem_euclid(1_000_000_000));
            write(&[seconds as u32, rest as u32, octets.len() as u32, packet.wire], octets);
        }
    }
    out.flush().unwrap();
}

/// All rows of each Call-ID.
fn by_call_id(lines: &str) -> Calls {
    let mut calls = Calls::new();
    for line in lines.lines() {
        let call: Value = serde_json::from_str(line).unwrap();
        if let Some(id) = call.get("sip_call_id").and_then(Value::as_str) {
            calls.entry(id.to_owned()).or_default().push(call.clone());
        }
    }
    calls
}

/// What reading the log by hand gives.
fn by_hand(data: &Path) -> Calls {
    let files = segments(data);
    let mut words = vec!["read", "--json", "--no-store"];
    words.extend(files.iter().map(|path| text(path)));
    by_call_id(&trunkline(&words))
}

fn stored(data: &Path) -> Calls {
    by_call_id(&trunkline(&["calls", "--data", text(data), "--json", "--limit", "10000"]))
}

type Calls = BTreeMap<String, Vec<Value>>;

/// Rows of the store beside the calls of the log.
#[derive(Debug)]
struct Compared {
    /// Call-IDs in the log.
    calls: usize,
    /// Calls of the log without a row.
    missing: Vec<Value>,
    /// Rows of calls that the log does not have.
    beyond: Vec<Value>,
    /// Calls with another number of rows than reading by hand gives, with these.
    twice: Vec<(Vec<Value>, Vec<Value>)>,
}

impl Compared {
    fn of(expected: &Calls, found: &Calls) -> Compared {
        let without = |calls: &Calls, others: &Calls| -> Vec<Value> {
            calls.iter().filter(|(id, _)| !others.contains_key(*id)).flat_map(|(_, rows)| rows.clone()).collect()
        };
        let both = found.iter().filter_map(|(id, rows)| Some((expected.get(id)?, rows)));
        let twice = both.filter(|(expected, rows)| expected.len() != rows.len());
        Compared {
            calls: expected.len(),
            missing: without(expected, found),
            beyond: without(found, expected),
            twice: twice.map(|(expected, rows)| (expected.clone(), rows.clone())).collect(),
        }
    }

    fn is_same(&self) -> bool {
        self.missing.is_empty() && self.beyond.is_empty() && self.twice.is_empty()
    }
}

/// Each call of the log has a row, and only one.
fn same_calls(data: &Path) -> usize {
    let compared = Compared::of(&by_hand(data), &stored(data));
    assert!(compared.is_same(), "{compared:#?}");
    compared.calls
}

/// What does not depend on which reading of the same packets it was.
fn figures(call: &Value) -> Value {
    let mut call = call.clone();
    let members = call.as_object_mut().unwrap();
    let keep = ["id", "sip_call_id", "state", "from", "to", "start", "answer", "end", "code", "reason", "hangup"];
    let streams = members.get("streams").and_then(Value::as_array).cloned().unwrap_or_default();
    members.retain(|key, _| keep.contains(&key.as_str()));
    let of = |stream: &Value| serde_json::json!([stream["id"], stream["packets"], stream["missing"], stream["mos"]]);
    members.insert("streams".to_owned(), streams.iter().map(of).collect());
    call
}

/// Call-IDs whose rows have other figures than those of reading by hand.
fn other_figures(expected: &Calls, found: &Calls) -> Vec<String> {
    let of = |rows: Option<&Vec<Value>>| rows.map(|rows| rows.iter().map(figures).collect::<Vec<_>>());
    expected.keys().filter(|id| of(expected.get(*id)) != of(found.get(*id))).cloned().collect()
}

fn same_rows(data: &Path) {
    let (expected, found) = (by_hand(data), stored(data));
    if let Some(id) = other_figures(&expected, &found).first() {
        panic!("{id}: {:#?} where the log has {:#?}", found.get(id), expected.get(id));
    }
}

fn until_read(wire: &Wire) {
    wire.until("the log is read", |w| w.get("/metrics").contains("trunkline_recovery_reading 0"));
}

/// Packets wait in the rings while the run opens all the rest: what begins then is recovered, though the checkpoint is
/// that of the start.
#[test]
fn calls_that_begin_while_the_run_starts_are_recovered() {
    let Some(wire) = Wire::lay("starts") else { return };
    let world = wire.world("world.pcap", &["--calls", "600", "--rate", "60", "--seed", "9"]);
    let config = config(&wire, "").replace("checkpoint-every = \"1 s\"", "checkpoint-every = \"1 h\"");
    let sent = |w: &Wire| {
        let said = w.within(&["cat", "/sys/class/net/out/statistics/tx_packets"]).output().unwrap();
        String::from_utf8(said.stdout).unwrap().trim().parse::<u64>().unwrap()
    };
    let mut sends = replay(&wire, &world, "1x");
    assert!((0..10_000).any(|_| sent(&wire) > 200), "packets are sent");
    let (running, data) = (wire.run("data", &config), wire.path("data"));
    let listens = captured(&wire);
    wire.until("calls are up", |w| captured(w) >= listens + 2_000.0);
    kill(running);
    sends.kill().unwrap();
    sends.wait().unwrap();
    let running = wire.run("data", &config);
    until_read(&wire);
    assert_eq!(running.end().0, 0);
    let calls = same_calls(&data);
    assert!(calls >= 20, "{calls} calls");
}

/// Calls that are up over two kills, and end while the third run captures, have one row each, that of their whole
/// packets; live capture has no half of them. They ring, talk or have just ended when it is killed.
#[test]
fn a_call_that_goes_on_over_two_kills_is_one_row() {
    let Some(wire) = Wire::lay("goes-on") else { return };
    let short = ["--set", "duration.min_s=8", "--set", "duration.mean_s=10", "--set", "duration.max_s=14"];
    let world = wire.world("world.pcap", &[&["--calls", "12", "--rate", "2", "--seed", "5"], &short[..]].concat());
    let (config, data) = (config(&wire, ""), wire.path("data"));
    let running = wire.run("data", &config);
    let mut sends = replay(&wire, &world, "1x");
    wire.until("calls are up", |w| w.metric("trunkline_calls_open_calls") >= 10.0);
    kill(running);
    let running = wire.run("data", &config);
    until_read(&wire);
    let before = captured(&wire);
    wire.until("calls go on", |w| captured(w) >= before + 1_000.0);
    kill(running);
    let mut running = wire.run("data", &config);
    sends.wait().unwrap();
    // The live capture has seen the end of some of them; those whose BYE nobody captured stay up.
    running.hear("went on over the start, read as a whole");
    assert!(wire.metric("trunkline_recovery_halves_total") > 0.0);
    assert_eq!(wire.metric("trunkline_recovery_overflow_total"), 0.0);
    assert_eq!(running.end().0, 0);
    same_calls(&data);
    // The same over an ordinary end.
    let running = wire.run("data", &config);
    until_read(&wire);
    assert_eq!(running.end().0, 0);
    let calls = same_calls(&data);
    assert!(calls >= 10, "{calls} calls");
    same_rows(&data);
    let recovered = |call: &&Value| call["capture"]["note"].as_str().is_some_and(|note| note.contains(RECOVERED));
    let rows: Vec<Value> = stored(&data).into_values().flatten().collect();
    assert!(rows.iter().filter(recovered).count() > 0, "the note says so");
    let alone = |data: &Path| {
        let words = ["sql", "--data", text(data), "--json", "SELECT count(*) AS n FROM streams WHERE call IS NULL"];
        serde_json::from_str::<Value>(trunkline(&words).trim()).unwrap()["n"].clone()
    };
    let (other, files) = (wire.path("other"), segments(&data));
    let mut words = vec!["read", "--data", text(&other)];
    words.extend(files.iter().map(|path| text(path)));
    trunkline(&words);
    assert_eq!(alone(&data), alone(&other), "second halves of streams");
}

/// The checkpoint's text with other numbers behind a word, and its checksum.
fn altered(data: &Path, word: &str, by_ns: i64) -> String {
    let whole = std::fs::read_to_string(data.join("spool/calls.checkpoint")).unwrap();
    let mut text = String::new();
    for line in whole.lines().filter(|line| !line.starts_with("sum ")) {
        match line.strip_prefix(word).and_then(|number| number.trim().parse::<i64>().ok()) {
            Some(number) => text.push_str(&format!("{word} {}\n", number + by_ns)),
            None => text.push_str(&format!("{line}\n")),
        }
    }
    let sum = trunkline_kit::hash::fnv1a(text.as_bytes());
    format!("{text}sum {sum:016x}\n")
}

/// A checkpoint that is gone, and those of a clock that was set back since, say nothing, which is told: calls are in
/// the log.
#[test]
fn a_checkpoint_that_cannot_be_right_costs_no_call() {
    let Some(wire) = Wire::lay("blind") else { return };
    let world = wire.world("world.pcap", &["--calls", "30", "--rate", "3", "--seed", "12"]);
    let (often, hour) = (config(&wire, "recover = \"1 h\"\n"), 3_600_000_000_000_i64);
    let cases: [(&str, Option<(&str, i64)>); 3] =
        [("gone", None), ("at", Some(("at", 2 * hour))), ("from", Some(("from", 2 * hour)))];
    for (name, change) in cases {
        let (running, data) = (wire.run(name, &often), wire.path(name));
        let mut sends = replay(&wire, &world, "20x");
        wire.until("calls are up", |w| captured(w) >= 3_000.0);
        kill(running);
        let _ = sends.kill();
        sends.wait().unwrap();
        let file = data.join("spool/calls.checkpoint");
        match change {
            None => std::fs::remove_file(&file).unwrap(),
            Some((word, by_ns)) => std::fs::write(&file, altered(&data, word, by_ns)).unwrap(),
        }
        let running = wire.run(name, &often);
        until_read(&wire);
        let (code, said) = running.end();
        assert_eq!(code, 0, "{said:#?}");
        let told =
            said.iter().any(|line| line.contains("ERROR") && line.contains("of the packet log are read instead"));
        assert!(told, "{name}: {said:#?}");
        assert!(same_calls(&data) >= 5, "{name}");
    }
}

/// A run that recovers nothing stores what it sees; the next one that does recover makes no rows of it again.
#[test]
fn a_run_without_recovery_between_two_leaves_no_call_twice() {
    let Some(wire) = Wire::lay("between") else { return };
    let world = wire.world("world.pcap", &["--calls", "60", "--rate", "2", "--seed", "12"]);
    let (with, data) = (config(&wire, ""), wire.path("data"));
    let without =
        [with.replace("[calls]\n", "[calls]\nrecover = \"0 s\"\n"), format!("{with}[web]\nenabled = false\n")];
    let without = [without[0].clone(), without[1].replace("[record]\n", "[record]\nenabled = false\n")];
    for other in without {
        let running = wire.run("data", &with);
        let mut sends = replay(&wire, &world, "20x");
        wire.until("calls are up", |w| captured(w) >= 3_000.0);
        kill(running);
        let running = wire.run("data", &other);
        wire.until("calls go on", |w| captured(w) >= 2_000.0);
        let (code, said) = running.end();
        assert_eq!(code, 0, "{said:#?}");
        assert!(said.iter().any(|line| line.contains("calls of the run before are not recovered")), "{said:#?}");
        let _ = sends.kill();
        sends.wait().unwrap();
        let before = stored(&data);
        let running = wire.run("data", &with);
        wire.until("it is looked for calls", |w| w.get("/metrics").contains("trunkline_recovery_reading 0"));
        assert_eq!(running.end().0, 0);
        let after = stored(&data);
        let rows = |calls: &Calls| calls.values().map(Vec::len).sum::<usize>();
        assert_eq!((after.len(), rows(&after)), (before.len(), rows(&before)));
    }
}

#[test]
fn a_second_run_on_one_data_folder_is_refused_and_harms_nothing() {
    let Some(wire) = Wire::lay("second") else { return };
    let (config, data) = (config(&wire, ""), wire.path("data"));
    let first = wire.run("data", &config);
    let file = wire.path("data.toml");
    let words = [PROGRAM, "run", "-c", text(&file), "-i", "in", "--data", text(&data)];
    let second = wire.within(&words).output().unwrap();
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    assert_eq!(second.status.code(), Some(1), "{said}");
    assert!(said.contains(&format!("process {} runs on this data folder", first.child.id())), "{said}");
    assert!(wire.get("/healthz").starts_with("HTTP/1.1 200 "), "the first goes on: {}", wire.get("/healthz"));
    kill(first);
    // Its number is still in the file, and is nobody's.
    let (code, said) = wire.run("data", &config).end();
    assert_eq!(code, 0, "{said:#?}");
}
