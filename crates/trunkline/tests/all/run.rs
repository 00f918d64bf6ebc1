//! `trunkline run` on a wire of its own: two interfaces in a network namespace, captures replayed on one end.
//!
//! Needs root and iproute2; without, it says so and is skipped.
//!
//! Test group: paced: replays captures at their own pace, and compares each packet.

use crate::wire;
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use wire::{PROGRAM, Wire, calls, recorded_once, text, trunkline};

/// Members that follow from where a packet was captured: two records of the same wire differ in them.
const OF_PLACE: [&str; 5] = ["call", "file", "files", "offset", "packet"];
/// Members that follow from when a packet was captured, too. A replay sends as well as the machine lets it, so that
/// what is on the wire is no copy of the file in this; it is compared with what was recorded of the same wire.
const OF_TIME: [&str; 16] = [
    "discarded",
    "burst_ratio",
    "id",
    "pdd_ms",
    "setup_ms",
    "duration_ms",
    "jitter_mean_ms",
    "jitter_max_ms",
    "delay_histogram",
    "skew_ppm",
    "round_trip_ms",
    "mos",
    "mos_range",
    "verdict",
    "verdict_kind",
    "verdict_packets",
];

/// What differs between two values, by the way to it; of times and what follows from them only if that is asked for.
fn differences(at: &str, one: &Value, other: &Value, times: bool, found: &mut Vec<String>) {
    match (one, other) {
        (Value::Object(a), Value::Object(b)) => {
            for key in a.keys().chain(b.keys().filter(|k| !a.contains_key(*k))) {
                if !OF_PLACE.contains(&key.as_str()) && (times || !OF_TIME.contains(&key.as_str())) {
                    let get = |o: &serde_json::Map<String, Value>| o.get(key).cloned().unwrap_or_default();
                    differences(&format!("{at}.{key}"), &get(a), &get(b), times, found);
                }
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).for_each(|(a, b)| differences(&format!("{at}[]"), a, b, times, found));
        }
        // Times are those of the wire.
        (Value::String(a), Value::String(b)) if !times && a.ends_with('Z') && b.ends_with('Z') => {}
        (a, b) if a != b => found.push(format!("{at}: {a} against {b}")),
        _ => {}
    }
}

/// Short calls of all endings, with faults that do not depend on when a packet comes.
const SHORT: [&str; 6] = ["--set", "duration.min_s=4", "--set", "duration.mean_s=5", "--set", "duration.max_s=8"];

#[test]
fn a_capture_replayed_at_its_own_pace_gives_the_calls_of_its_file() {
    let Some(wire) = Wire::lay("same") else { return };
    let world = wire.path("world.pcap");
    trunkline(&[&["sim", "--seed", "11", "--calls", "40", "--rate", "12", "-w", text(&world)], &SHORT[..]].concat());
    let from_file = calls(&trunkline(&["read", text(&world), "--json", "--no-store"]));
    assert_eq!(from_file.len(), 40);
    // Both listen to the same wire at the same time.
    let running =
        [1, 3].map(|lanes| (lanes, wire.run(&format!("lanes-{lanes}"), &format!("[capture]\nlanes = {lanes}\n"))));
    let sent = wire.replay(&world, "1x");
    for (lanes, running) in running {
        let (code, said) = running.end();
        assert_eq!(code, 0, "{said:#?}");
        let data = wire.path(&format!("lanes-{lanes}"));
        let live = calls(&trunkline(&["calls", "--data", text(&data), "--json", "--limit", "1000"]));
        same(&from_file, &live, lanes == 1, false);
        same(&from_log(&data), &live, lanes == 1, true);
        recorded_once(&data, &sent);
        lost_nothing(&data);
    }
}

/// Nothing is lost in a clean run, neither by cards nor by anyone else.
fn lost_nothing(data: &Path) {
    let losses = trunkline(&["sql", "--data", text(data), "--json", "SELECT place, source, count FROM losses"]);
    assert_eq!(losses, "");
}

#[test]
fn af_xdp_gives_the_calls_of_the_file() {
    // A frame has to have room for the longest packet.
    let Some(wire) = Wire::lay_for("xdp", 1500) else { return };
    let world = wire.path("world.pcap");
    trunkline(&[&["sim", "--seed", "11", "--calls", "40", "--rate", "12", "-w", text(&world)], &SHORT[..]].concat());
    let from_file = calls(&trunkline(&["read", text(&world), "--json", "--no-store"]));
    let running = wire.run("data", "[capture]\nsource = \"af-xdp\"\n");
    let how =
        running.said.iter().find(|line| line.contains("by AF_XDP")).unwrap_or_else(|| panic!("{:?}", running.said));
    println!("{how}");
    let sent = wire.replay(&world, "1x");
    let (code, said) = running.end();
    assert_eq!(code, 0, "{said:#?}");
    let data = wire.path("data");
    let live = calls(&trunkline(&["calls", "--data", text(&data), "--json", "--limit", "1000"]));
    same(&from_file, &live, true, false);
    same(&from_log(&data), &live, true, true);
    recorded_once(&data, &sent);
    lost_nothing(&data);
}

/// What the record of a run gives when it is read as any capture is. Its times are those that the run saw, however
/// unevenly the packets came: jitter, delays, scores and verdicts are the same to the last digit.
fn from_log(data: &Path) -> BTreeMap<String, Value> {
    let (log, again) = (data.join("log.pcapng"), data.join("again"));
    trunkline(&["extract", "--data", text(data), "-w", text(&log)]);
    trunkline(&["read", text(&log), "--data", text(&again)]);
    calls(&trunkline(&["calls", "--data", text(&again), "--json", "--limit", "1000"]))
}

/// The same calls, with everything about them that does not follow from time and place, or from place alone; packets
/// are numbered by lane.
fn same(expected: &BTreeMap<String, Value>, live: &BTreeMap<String, Value>, one_lane: bool, times: bool) {
    let mut found = Vec::new();
    for (id, expected) in expected {
        match live.get(id) {
            Some(call) => differences(id, expected, call, times, &mut found),
            None => found.push(format!("{id} is missing")),
        }
    }
    found.retain(|f| one_lane || !(f.contains(".packet_") || f.contains(".verdict_packets")));
    assert_eq!(live.len(), expected.len());
    let (count, first) = (found.len(), found.iter().take(20).cloned().collect::<Vec<_>>().join("\n"));
    assert!(found.is_empty(), "{count} differences\n{first}");
}

// Test group: alone: sends as fast as it can
#[test]
fn what_a_ring_too_small_loses_is_counted_to_the_packet() {
    let Some(wire) = Wire::lay("small") else { return };
    let world = wire.path("world.pcap");
    trunkline(&["sim", "--preset", "busy", "--calls", "20", "-w", text(&world)]);
    let running = wire.run("data", "[capture]\nlanes = 1\nring = \"1 MiB\"\nblock-timeout = \"500 ms\"\n");
    // It is stopped for a moment, so that its ring must overflow.
    running.signal(Signal::STOP);
    let sent = wire.replay(&world, "max")["packets"].as_u64().unwrap();
    running.signal(Signal::CONT);
    let (code, said) = running.end();
    assert_eq!(code, 3, "{said:#?}");
    let data = wire.path("data");
    let sql = "SELECT coalesce(sum(count), 0) AS lost FROM losses WHERE place = 'ring'";
    let lost: Value = serde_json::from_str(trunkline(&["sql", "--data", text(&data), "--json", sql]).trim()).unwrap();
    let lost = lost["lost"].as_u64().unwrap();
    assert!(lost > 0 && lost < sent, "{lost} of {sent}");
    recorded_once(&data, &serde_json::json!({ "packets": sent - lost }));
    assert!(said.iter().any(|line| line.contains("lost at the ring")), "{said:#?}");
}

// Test group: waits: starts programs that end at once
#[test]
fn what_is_wrong_is_said_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let run = |words: &[&str]| {
        let done = Command::new(PROGRAM).arg("run").args(["--data", text(&data)]).args(words).output().unwrap();
        (done.status.code().unwrap(), String::from_utf8(done.stderr).unwrap())
    };
    let (code, said) = run(&[]);
    assert!(code == 2 && said.contains("no interface"), "{said}");
    let (code, said) = run(&["-i", "nowhere0"]);
    assert!(code == 1 && said.contains("nowhere0") && said.contains("there are"), "{said}");
    let config = folder.path().join("wrong.toml");
    std::fs::write(&config, "[capture]\nlanse = 3\nring = \"much\"\n").unwrap();
    let (code, said) = run(&["-c", text(&config), "-i", "lo"]);
    assert!(code == 2 && said.contains("lanes") && said.contains("much") && said.contains(":2:"), "{said}");
}
