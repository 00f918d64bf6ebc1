//! `trunkline run` on a wire of its own: two interfaces in a network namespace, captures replayed on one end.
//!
//! Needs root and iproute2; without, it says so and is skipped.

use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

const PROGRAM: &str = env!("CARGO_BIN_EXE_trunkline");

/// A network namespace with the interfaces `out` and `in` at the ends of one wire.
struct Wire {
    name: String,
    folder: tempfile::TempDir,
}

impl Drop for Wire {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.name]).output();
    }
}

impl Wire {
    /// Lays it, or says why not.
    fn lay(name: &str) -> Option<Wire> {
        let name = format!("trunkline-{name}-{}", std::process::id());
        if let Err(why) = ip(&["netns", "add", &name]) {
            println!("skipped: no network namespace: {why}");
            return None;
        }
        let wire = Wire { name, folder: tempfile::tempdir().unwrap() };
        // Else the kernel sends packets of its own.
        let quiet = wire.within(&["sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6"]).status();
        assert!(quiet.is_ok_and(|s| s.success()));
        let link = [
            "-n", &wire.name, "link", "add", "out", "mtu", "9000", "type", "veth", "peer", "name", "in", "mtu", "9000",
        ];
        if let Err(why) = ip(&link) {
            println!("skipped: no veth pair: {why}");
            return None;
        }
        for end in ["out", "in"] {
            ip(&["-n", &wire.name, "link", "set", end, "up"]).unwrap();
        }
        Some(wire)
    }

    /// A command that runs in the namespace.
    fn within(&self, words: &[&str]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name]).args(words).env("TZ", "UTC").env("NO_COLOR", "1");
        command
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Starts `trunkline run` and waits until it listens.
    fn run(&self, data: &str, config: &str) -> Running {
        let file = self.path(&format!("{data}.toml"));
        std::fs::write(&file, config).unwrap();
        let data = self.path(data);
        // `ip netns exec` becomes the program: its process is ours to signal.
        let words = [PROGRAM, "run", "-c", text(&file), "-i", "in", "--data", text(&data)];
        let mut child = self.within(&words).stderr(Stdio::piped()).spawn().unwrap();
        let stderr = child.stderr.take().unwrap();
        let (to, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let _ = to.send(line);
            }
        });
        let mut running = Running { child, lines, said: Vec::new() };
        running.wait_for("running");
        running
    }

    /// Replays a capture onto the wire; what was sent.
    fn replay(&self, file: &Path, pace: &str) -> Value {
        let words = [PROGRAM, "replay", text(file), "-i", "out", "--pace", pace, "--json"];
        let done = self.within(&words).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        serde_json::from_slice(&done.stdout).unwrap()
    }
}

fn ip(words: &[&str]) -> Result<(), String> {
    let done = Command::new("ip").args(words).output().map_err(|e| e.to_string())?;
    if done.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&done.stderr).trim().to_owned()) }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A running program with what it said at standard error.
struct Running {
    child: Child,
    lines: Receiver<String>,
    said: Vec<String>,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    fn wait_for(&mut self, what: &str) {
        while !self.said.last().is_some_and(|line| line.contains(what)) {
            match self.lines.recv_timeout(Duration::from_secs(30)) {
                Ok(line) => self.said.push(line),
                Err(_) => panic!("it never said '{what}': {:#?}", self.said),
            }
        }
    }

    fn signal(&self, signal: &str) {
        let done = Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
        assert!(done.success());
    }

    /// Ends it; its exit code and all it said.
    fn end(mut self) -> (i32, Vec<String>) {
        self.signal("-TERM");
        let status = self.child.wait().unwrap();
        while let Ok(line) = self.lines.recv_timeout(Duration::from_secs(5)) {
            self.said.push(line);
        }
        (status.code().unwrap(), core::mem::take(&mut self.said))
    }
}

fn trunkline(words: &[&str]) -> String {
    let done = Command::new(PROGRAM).args(words).env("TZ", "UTC").output().unwrap();
    assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

/// Calls by their Call-ID.
fn calls(lines: &str) -> BTreeMap<String, Value> {
    let calls = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    calls.filter_map(|call| Some((call.get("sip_call_id")?.as_str()?.to_owned(), call))).collect()
}

/// Members that follow from when and where a packet was captured. Durations keep, to what the sender's pace is worth.
const OF_TIME_AND_PLACE: [&str; 16] = [
    "discarded",
    "burst_ratio",
    "id",
    "call",
    "file",
    "files",
    "offset",
    "packet",
    "pdd_ms",
    "setup_ms",
    "duration_ms",
    "jitter_mean_ms",
    "jitter_max_ms",
    "delay_histogram",
    "skew_ppm",
    "round_trip_ms",
];

/// What differs between two values, by the way to it.
fn differences(at: &str, one: &Value, other: &Value, found: &mut Vec<String>) {
    match (one, other) {
        (Value::Object(a), Value::Object(b)) => {
            for key in a.keys().chain(b.keys().filter(|k| !a.contains_key(*k))) {
                if !OF_TIME_AND_PLACE.contains(&key.as_str()) {
                    let get = |o: &serde_json::Map<String, Value>| o.get(key).cloned().unwrap_or_default();
                    differences(&format!("{at}.{key}"), &get(a), &get(b), found);
                }
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).for_each(|(a, b)| differences(&format!("{at}[]"), a, b, found));
        }
        // Times are those of the wire.
        (Value::String(a), Value::String(b)) if a.ends_with('Z') && b.ends_with('Z') => {}
        // A sentence tells its figures.
        (Value::String(a), Value::String(b)) if at == ".verdict" || at.ends_with(".verdict") => {
            let words = |s: &str| s.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
            if words(a) != words(b) {
                found.push(format!("{at}: {a} against {b}"));
            }
        }
        // The jitter buffers' scores follow the times of arrival.
        (Value::Number(a), Value::Number(b))
            if at.contains(".mos") && (a.as_f64().unwrap() - b.as_f64().unwrap()).abs() < 0.6 => {}
        (a, b) if a != b => found.push(format!("{at}: {a} against {b}")),
        _ => {}
    }
}

#[test]
fn a_capture_replayed_at_its_own_pace_gives_the_calls_of_its_file() {
    let Some(wire) = Wire::lay("same") else { return };
    let world = wire.path("world.pcap");
    // Short calls of all endings, with faults that do not depend on when a packet comes.
    let short = ["--set", "duration.min_s=4", "--set", "duration.mean_s=5", "--set", "duration.max_s=8"];
    trunkline(&[&["sim", "--seed", "11", "--calls", "40", "--rate", "12", "-w", text(&world)], &short[..]].concat());
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
        let mut found = Vec::new();
        for (id, expected) in &from_file {
            match live.get(id) {
                Some(call) => differences(id, expected, call, &mut found),
                None => found.push(format!("{id} is missing")),
            }
        }
        // Packets are numbered by lane.
        found.retain(|f| lanes == 1 || !(f.contains(".packet_") || f.contains(".verdict_packets")));
        assert_eq!(live.len(), from_file.len());
        assert!(
            found.is_empty(),
            "{lanes} lanes: {} differences\n{}",
            found.len(),
            found[..found.len().min(20)].join("\n")
        );
        recorded_once(&data, &sent);
    }
}

/// Every packet that was sent is in the packet log, once.
fn recorded_once(data: &Path, sent: &Value) {
    let mut packets = 0;
    let mut folders = vec![data.join("packets")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "pcapng") {
                let mut source = trunkline_capture::FileSource::open(std::slice::from_ref(&path));
                let mut batch = trunkline_capture::Batch::default();
                while source.fill(&mut batch) {
                    packets += batch.packets.len() as u64;
                }
                assert_eq!(source.files()[0].error.as_ref().map(ToString::to_string), None);
            } else {
                assert_ne!(path.extension().and_then(|e| e.to_str()), Some("part"), "{}", path.display());
            }
        }
    }
    assert_eq!(Some(packets), sent["packets"].as_u64());
}

#[test]
fn what_a_ring_too_small_loses_is_counted_to_the_packet() {
    let Some(wire) = Wire::lay("small") else { return };
    let world = wire.path("world.pcap");
    trunkline(&["sim", "--preset", "busy", "--calls", "20", "-w", text(&world)]);
    let running = wire.run("data", "[capture]\nlanes = 1\nring = \"1 MiB\"\nblock-timeout = \"500 ms\"\n");
    // It is stopped for a moment, so that its ring must overflow.
    running.signal("-STOP");
    let sent = wire.replay(&world, "max")["packets"].as_u64().unwrap();
    running.signal("-CONT");
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
