//! The charging node on one processor, its ledger on disk, the load on the other one: how fast it answers, what a
//! session takes, how long a start takes. No other charging system is packaged: what is beside it is the disk itself.

pub mod node;
mod report;

use super::cache::server;
use super::example::{last_json, number};
use super::{Bench, Outcome, need};
use node::Node;
use serde_json::Value;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Accounts with a subscriber each.
const ACCOUNTS: u64 = 100_000;
/// Seconds of each run.
const SECONDS: &str = "10";
/// Sessions that are held for their memory and for the start.
const SESSIONS: &str = "1000000";
/// How long the disk alone is measured.
const DISK: Duration = Duration::from_secs(3);
/// Octets of each write of it: an entry is about as long.
const DISK_OCTETS: usize = 256;

/// What is asked: its name, and options of the load.
const SHAPES: &[(&str, &[&str])] = &[
    ("as many as it can, 1 waits", &["--closed", "1", "--connections", "1"]),
    ("as many as it can, 64 wait", &["--closed", "64", "--connections", "8"]),
    ("as many as it can, 512 wait", &["--closed", "512", "--connections", "8"]),
    ("as many as it can, 2,048 wait", &["--closed", "2048", "--connections", "16"]),
    ("GTP', 64 wait", &["--protocol", "gtpp", "--closed", "64", "--connections", "64"]),
    ("GTP', 512 wait", &["--protocol", "gtpp", "--closed", "512", "--connections", "64"]),
    ("25,000 requests/s", &["--requests-per-second", "25000", "--connections", "8"]),
    ("50,000 requests/s", &["--requests-per-second", "50000", "--connections", "8"]),
    ("GTP', 25,000 requests/s", &["--protocol", "gtpp", "--requests-per-second", "25000", "--connections", "64"]),
];

/// What is asked of a node whose ledger is in memory: what is left of its times then is not the disk's.
const IN_MEMORY: (&str, &[&str]) =
    ("25,000 requests/s, ledger in memory", &["--requests-per-second", "25000", "--connections", "8"]);
/// Where files are in memory.
const MEMORY: &str = "/dev/shm";

/// One run.
#[derive(Clone, Debug, Default, PartialEq)]
struct Loaded {
    rate: f64,
    latency_us: [f64; 4],
    cpu_us: f64,
    /// Refused, timed out, lost.
    failed: f64,
}

/// What many sessions take.
#[derive(Clone, Debug, Default, PartialEq)]
struct Held {
    sessions: f64,
    resident_octets: f64,
    empty_octets: f64,
    entries: f64,
    start_s: f64,
    differences: u64,
}

/// Everything that was measured.
struct Measured {
    rows: Vec<(&'static str, Loaded)>,
    held: Held,
    /// Writes that the disk makes durable in a second, one after the other.
    disk_rate: f64,
    /// What the audit found.
    differences: u64,
}

/// Starts a node, loads it in several ways, holds many sessions, starts it again, and audits.
///
/// # Errors
/// It cannot be started or loaded.
pub fn run(bench: &Bench<'_>) -> Result<Outcome, String> {
    if let Some(why) = need::missing(None, &[("taskset", "util-linux")]) {
        return Ok(Outcome::Skipped(why));
    }
    let disk_rate = disk(&bench.folder)?;
    let node = Node::start(bench, ACCOUNTS)?;
    let mut rows = Vec::new();
    for shape in SHAPES {
        rows.push(run_of(bench, &node, shape)?);
    }
    let mut differences = node.differences()?;
    drop(node);
    let folder = Path::new(MEMORY).join(format!("trunkline-bench-{}", std::process::id()));
    if std::fs::create_dir(&folder).is_ok() {
        let in_memory = in_memory(bench, &folder);
        // What is left of it goes with the machine's next start.
        let _ = std::fs::remove_dir_all(&folder);
        let (row, found) = in_memory?;
        rows.push(row);
        differences += found;
    }
    let held = hold(bench)?;
    let differences = differences + held.differences;
    let measured = Measured { rows, held, disk_rate, differences };
    Ok(Outcome::Measured(report::markdown(&measured), measured.is_well()))
}

/// Loads a node that has its ledger in memory; the differences that its audit finds.
fn in_memory(bench: &Bench<'_>, folder: &Path) -> Result<((&'static str, Loaded), u64), String> {
    let node = Node::start_in(folder, bench, ACCOUNTS)?;
    Ok((run_of(bench, &node, &IN_MEMORY)?, node.differences()?))
}

/// Loads a node in one way.
fn run_of(
    bench: &Bench<'_>,
    node: &Node,
    (shape, words): &(&'static str, &[&str]),
) -> Result<(&'static str, Loaded), String> {
    let seconds = if bench.quick { "1" } else { SECONDS };
    let told = load(bench, node, &[words, &["--duration", seconds][..]].concat())?;
    let loaded = loaded(&told);
    eprintln!("bench: charge: {shape}: {loaded:?}");
    Ok((shape, loaded))
}

impl Measured {
    fn is_well(&self) -> bool {
        self.differences == 0 && self.rows.iter().all(|(_, run)| run.failed == 0.0)
    }
}

/// Loads the node from the other processor.
fn load(bench: &Bench<'_>, node: &Node, words: &[&str]) -> Result<Value, String> {
    let mut command = node::ahead("1", &bench.program);
    command.args(["charge", "load", &node.address(), "--json"]);
    command.args(["--pid", &node.pid().to_string(), "--subscription", "imsi"]);
    command.args(["--subscribers", &node::subscribers(ACCOUNTS)]).args(words).stderr(Stdio::inherit());
    let output = command.output().map_err(|e| format!("setsid: {e}"))?;
    // Code 3 says that some requests failed: those are counted.
    last_json(&output.stdout).ok_or_else(|| format!("the load of {words:?} failed: {}", output.status))
}

fn loaded(told: &Value) -> Loaded {
    let latency = &told["latency_us"];
    let types = told["types"].as_object().into_iter().flatten();
    let failed =
        |kind: &Value| ["failed", "timeouts", "lost", "unsent"].map(|name| number(kind, name)).iter().sum::<f64>();
    Loaded {
        rate: number(told, "answered_per_second"),
        latency_us: ["p50", "p99", "p99_9", "max"].map(|name| number(latency, name)),
        cpu_us: number(told, "server_cpu_us_per_request"),
        failed: types.map(|(_, kind)| failed(kind)).sum(),
    }
}

/// Holds many sessions on a node that had none, and starts it again with them, as after a crash.
fn hold(bench: &Bench<'_>) -> Result<Held, String> {
    let mut node = Node::start(bench, ACCOUNTS)?;
    let empty_octets = node.resident_octets();
    let seconds = if bench.quick { "1" } else { "30" };
    let words = ["--closed", "1024", "--connections", "16", "--concurrent", SESSIONS, "--updates", "1000"];
    load(bench, &node, &[&words[..], &["--duration", seconds, "--leave"]].concat())?;
    let status = node.status()?;
    let resident_octets = node.resident_octets();
    let begun = Instant::now();
    node.restart(bench)?;
    let start_s = begun.elapsed().as_secs_f64();
    let again = node.status()?;
    let of = |status: &Value, name: &str| number(status, name);
    if of(&again, "open_sessions") < of(&status, "open_sessions") {
        return Err(format!("sessions were lost by the start: {status}, {again}"));
    }
    let (sessions, entries) = (of(&status, "open_sessions"), of(&again, "sequence"));
    let differences = node.differences()?;
    Ok(Held { sessions, resident_octets, empty_octets, entries, start_s, differences })
}

/// How often in a second the disk makes a small write durable, as a plain program does it: write, fdatasync.
fn disk(folder: &Path) -> Result<f64, String> {
    let path = folder.join("fdatasync");
    let cannot = |e: std::io::Error| format!("{}: {e}", path.display());
    let mut file = OpenOptions::new().create(true).truncate(true).write(true).open(&path).map_err(cannot)?;
    let (begun, mut count) = (Instant::now(), 0_u32);
    while begun.elapsed() < DISK {
        file.write_all(&[7; DISK_OCTETS]).and_then(|()| file.sync_data()).map_err(cannot)?;
        count += 1;
    }
    let rate = f64::from(count) / begun.elapsed().as_secs_f64();
    // What is left is in the folder that the benchmark may always empty.
    let _gone = std::fs::remove_file(&path);
    Ok(rate)
}

/// An address that is free.
fn free() -> Result<String, String> {
    server::free().map(|address| address.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_the_program_tells() {
        let told = json!({
            "answered_per_second": 50_000.0, "server_cpu_us_per_request": 12.5,
            "latency_us": {"p50": 100.0, "p99": 900.0, "p99_9": 2000.0, "max": 9000.0},
            "types": {"initial": {"failed": 1, "timeouts": 2, "lost": 0, "unsent": 0}, "update": {"failed": 4}},
        });
        let run = loaded(&told);
        assert_eq!((run.rate, run.cpu_us, run.failed), (50_000.0, 12.5, 7.0));
        assert_eq!(run.latency_us, [100.0, 900.0, 2000.0, 9000.0]);
    }
}
