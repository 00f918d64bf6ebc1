//! What is seen of a damaged folder: by `trunkline verify --deep`, by a run on it, and of what was acknowledged.

use super::world::{ALERTS, RULES, World};
use crate::eventually::PATIENCE;
use crate::wire::text;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Instant;

/// Jobs, and the beginning of metrics that only they have.
const JOBS: [(&str, &str); 7] = [
    ("capture", "trunkline_capture_ring_packets_total"),
    ("the packet log", "trunkline_record_rtp_packets_total"),
    ("the store", "trunkline_store_usable 1"),
    ("charging", "trunkline_charge_accounts"),
    ("graphs", "trunkline_graph_devices"),
    ("alerts", "trunkline_alert_observations_total"),
    ("the cache", "trunkline_cache_"),
];

/// What a check said, by path: the outcome, faults, and whether it says that it left something out.
pub type Verified = BTreeMap<String, (String, String, bool)>;

/// What a run showed.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// It said that it runs.
    pub began: bool,
    /// How it ended.
    pub code: i32,
    /// Warnings and errors, with digits taken out, and as they were said.
    pub said: BTreeMap<String, String>,
    /// What was unhealthy.
    pub unhealthy: BTreeMap<String, String>,
    /// Jobs that run.
    pub jobs: BTreeSet<&'static str>,
    /// How much there is of what was acknowledged; none where it cannot be read.
    pub held: BTreeMap<&'static str, Option<u64>>,
}

/// What `trunkline verify --deep` says.
pub fn verify(world: &World) -> Verified {
    let done = world.ask(&["verify", "--deep", "--json"]);
    let (out, said) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(matches!(done.status.code(), Some(0 | 3)) && !said.contains("panicked"), "{out}{said}");
    let folder = world.folder();
    let of = |line: &str| -> Option<(String, (String, String, bool))> {
        let item: Value = serde_json::from_str(line).ok()?;
        let path = Path::new(item["path"].as_str()?).strip_prefix(&folder).ok()?.to_str()?.to_owned();
        let left_out = item["not_checked"].as_array().is_some_and(|why| !why.is_empty());
        Some((path, (item["outcome"].as_str()?.to_owned(), item["faults"].to_string(), left_out)))
    };
    let found: Verified = out.lines().filter_map(of).collect();
    let wrong = found.values().any(|(outcome, ..)| outcome == "damaged" || outcome == "unreadable");
    assert_eq!(done.status.code() == Some(3), wrong, "{out}");
    found
}

/// A run on the folder, with a few packets on the wire.
pub fn run(world: &World) -> Seen {
    let mut running = world.start();
    let mut seen = Seen { began: running.hears("running: "), ..Seen::default() };
    if seen.began {
        // What a run before had counted is over, and what this one captures is an alert of its own: whoever waits for
        // neither has one of them, or both, as it falls.
        looked(world);
        world.wire.replay(&world.few, "max");
        let captured = "trunkline_capture_ring_packets_total{lane=\"0\"}";
        world.wire.until("packets are captured", |wire| wire.metric(captured) > 0.0);
        world.wire.until("the log is read", |wire| wire.get("/metrics").contains("trunkline_recovery_reading 0"));
        looked(world);
        let answer = world.wire.get("/healthz");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        if head.starts_with("HTTP/1.1 503 ") {
            seen.unhealthy = body.lines().map(|line| (plain(line), line.to_owned())).collect();
        }
        let metrics = world.wire.get("/metrics");
        let is_up = |name: &str| metrics.lines().any(|line| line.starts_with(name));
        seen.jobs = JOBS.iter().filter(|(_, name)| is_up(name)).map(|(job, _)| *job).collect();
        seen.held.insert("devices", Some(world.wire.metric("trunkline_graph_devices") as u64));
        seen.held.insert("alerts", alerts(world));
    }
    let begun = Instant::now();
    let (code, said) = if seen.began { running.end() } else { ended(running) };
    assert!(begun.elapsed() < PATIENCE, "it does not end: {said:#?}");
    assert!(!said.iter().any(|line| line.contains("panicked")), "{said:#?}");
    assert!(code == 0 || code == 1 || code == 3, "{code}: {said:#?}");
    seen.code = code;
    // The link for the first administrator is another one each time.
    let bad = |line: &&String| !line.contains(" INFO ") && !line.contains("/link#");
    let folder = text(world.wire.folder.path());
    let here = said.iter().filter(bad).map(|line| line.replace(folder, ""));
    seen.said = here.map(|line| (plain(&line), line)).collect();
    seen.held.extend(held(world));
    seen
}

/// Waits until the rule of the world was looked at anew: the first look that is counted may have begun before. A rule
/// that is damaged, and alerts that are stopped, have none.
fn looked(world: &World) {
    let looks = "trunkline_alert_observations_total";
    let is_whole = std::fs::read(world.data().join(RULES)).is_ok_and(|rules| rules == ALERTS.as_bytes());
    if is_whole && world.wire.get("/metrics").contains(looks) {
        let before = world.wire.metric(looks);
        world.wire.until("the rule is looked at", |wire| wire.metric(looks) >= before + 2.0);
    }
}

fn ended(mut running: crate::wire::Running) -> (i32, Vec<String>) {
    let code = running.child.wait().unwrap().code().unwrap_or(-1);
    (code, core::mem::take(&mut running.said))
}

/// Without what is another at each time.
fn plain(line: &str) -> String {
    let mut plain = String::new();
    for c in line.chars() {
        let c = if c.is_ascii_digit() { '#' } else { c };
        if c != '#' || !plain.ends_with('#') {
            plain.push(c);
        }
    }
    plain
}

/// Alerts of all times.
fn alerts(world: &World) -> Option<u64> {
    let counted = |words: &[&str]| -> Option<u64> {
        let done = world.ask(words);
        let reply: Value = serde_json::from_slice(&done.stdout).ok()?;
        Some(reply["alerts"].as_array()?.len() as u64)
    };
    Some(counted(&["alert", "list", "--json"])? + counted(&["alert", "history", "--json"])?)
}

/// What was acknowledged, counted by who reads it.
fn held(world: &World) -> Vec<(&'static str, Option<u64>)> {
    let lines = |words: &[&str]| -> Option<Vec<Value>> {
        let done = world.ask(words);
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(!said.contains("panicked"), "{words:?}: {said}");
        let whole = done.status.success();
        whole.then(|| String::from_utf8_lossy(&done.stdout).lines().flat_map(serde_json::from_str).collect())
    };
    let sum = |lines: Vec<Value>, key: &str| lines.iter().filter_map(|line| line[key].as_u64()).sum::<u64>();
    let count = |lines: Vec<Value>| lines.len() as u64;
    // The packets of this run are those of a call that the folder has: it may have another row by now.
    let named = |lines: Vec<Value>| {
        let names: BTreeSet<&str> = lines.iter().filter_map(|line| line["sip_call_id"].as_str()).collect();
        names.len() as u64
    };
    vec![
        ("calls", lines(&["calls", "--json", "--limit", "100000"]).map(named)),
        ("packets", lines(&["packets", "ls", "--json"]).map(|found| sum(found, "packets"))),
        ("ledger entries", lines(&["charge", "audit", "--json"]).map(|found| sum(found, "last"))),
        ("charging records", lines(&["charge", "records", "--json"]).map(count)),
        ("users", lines(&["user", "list", "--json"]).map(count)),
    ]
}
