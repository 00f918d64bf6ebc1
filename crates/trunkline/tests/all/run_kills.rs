//! `trunkline run` is killed while calls are up: the next start makes their rows out of the packet log.
//!
//! `cargo test -p trunkline --test all run_kills:: -- --ignored --nocapture` for 500 kills. Needs root and iproute2;
//! without, it says so and is skipped.
//!
//! Test group: waits: replays captures at their own pace.

use crate::wire;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use trunkline_kit::random::Random;
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

/// All segments of a packet log.
fn segments(data: &Path) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![data.join("packets")]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "pcapng") {
                found.push(path);
            }
        }
    }
    found
}

/// All rows of each Call-ID.
fn by_call_id(lines: &str) -> BTreeMap<String, Vec<Value>> {
    let mut calls: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for line in lines.lines() {
        let call: Value = serde_json::from_str(line).unwrap();
        if let Some(id) = call.get("sip_call_id").and_then(Value::as_str) {
            calls.entry(id.to_owned()).or_default().push(call.clone());
        }
    }
    calls
}

/// What reading the log by hand gives.
fn by_hand(data: &Path) -> BTreeMap<String, Vec<Value>> {
    let files = segments(data);
    let mut words = vec!["read", "--json", "--no-store"];
    words.extend(files.iter().map(|path| text(path)));
    by_call_id(&trunkline(&words))
}

fn stored(data: &Path) -> BTreeMap<String, Vec<Value>> {
    by_call_id(&trunkline(&["calls", "--data", text(data), "--json", "--limit", "10000"]))
}

/// Each call of the log has a row, and only one.
fn same_calls(data: &Path) -> usize {
    let (expected, found) = (by_hand(data), stored(data));
    let ids = |calls: &BTreeMap<String, Vec<Value>>| calls.keys().cloned().collect::<BTreeSet<_>>();
    let missing: Vec<_> = ids(&expected).difference(&ids(&found)).cloned().collect();
    let beyond: Vec<_> = ids(&found).difference(&ids(&expected)).cloned().collect();
    let states: Vec<_> = missing.iter().map(|id| (&expected[id][0]["state"], &expected[id][0]["start"])).collect();
    assert_eq!((&missing, beyond), (&vec![], vec![]), "of {} calls in the log: {states:?}", expected.len());
    for (id, rows) in &found {
        assert_eq!(rows.len(), expected[id].len(), "{id}: {rows:#?}");
    }
    expected.len()
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

fn same_rows(data: &Path) {
    let (expected, found) = (by_hand(data), stored(data));
    for (id, rows) in &expected {
        let of = |rows: &[Value]| rows.iter().map(figures).collect::<Vec<_>>();
        assert_eq!(of(&found[id]), of(rows), "{id}");
    }
}

fn until_read(wire: &Wire) {
    wire.until("the log is read", |w| w.get("/metrics").contains("trunkline_recovery_reading 0"));
}

/// Kills at random; what each round was, for the table.
fn kills(name: &str, kills: u64, calls: &str, seed: u64) -> Option<usize> {
    let wire = Wire::lay(name)?;
    let media = ["--set", "duration.min_s=5", "--set", "duration.mean_s=150", "--set", "duration.max_s=1200"];
    let mut worlds = 0;
    let mut world = || {
        worlds += 1;
        let seed = worlds.to_string();
        wire.world("world.pcap", &[&["--calls", calls, "--rate", "0.4", "--seed", &seed], &media[..]].concat())
    };
    let (config, data) = (config(&wire, ""), wire.path("data"));
    let mut random = Random::new(seed, 0);
    let mut sends = replay(&wire, &world(), "20x");
    let mut running = wire.run("data", &config);
    println!("kill   packets");
    for number in 0..kills {
        // Killed in the midst of packets, or when there are no more.
        let packets = 20_000.0 + f64::from(random.below(200_000));
        wire.until("packets are captured", |w| captured(w) >= packets || sends.try_wait().unwrap().is_some());
        kill(running);
        println!("{number:4}  {packets:8}");
        if sends.try_wait().unwrap().is_some() {
            sends = replay(&wire, &world(), "20x");
        }
        running = wire.run("data", &config);
    }
    let _ = sends.kill();
    let _ = sends.wait();
    until_read(&wire);
    let (code, said) = running.end();
    assert_eq!(code, 0, "{said:#?}");
    let calls = same_calls(&data);
    // What was up then is read as a whole by the next start, and is what reading by hand gives.
    let running = wire.run("data", &config);
    until_read(&wire);
    running.end();
    assert_eq!(same_calls(&data), calls);
    same_rows(&data);
    println!("{kills} kills: {calls} calls in the log, each with one row");
    Some(calls)
}

#[test]
fn calls_in_progress_survive_random_kills() {
    if let Some(calls) = kills("kills", 20, "400", 20_261_128) {
        assert!(calls > 20, "{calls} calls");
    }
}

#[test]
#[ignore = "half an hour"]
fn calls_in_progress_survive_five_hundred_random_kills() {
    if let Some(calls) = kills("kills500", 500, "4000", 31) {
        assert!(calls > 500, "{calls} calls");
    }
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
        let rows = |calls: &BTreeMap<String, Vec<Value>>| calls.values().map(Vec::len).sum::<usize>();
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
