//! `trunkline cache load` as it is run here, and what it tells.

use super::super::Bench;
use super::super::example::{last_json, number};
use super::super::log::median;
use super::server::{self, Server};
use serde_json::Value;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Connections of each load.
pub const CONNECTIONS: &str = "8";
/// Octets of a key.
pub const KEY_OCTETS: &str = "32";

/// One run of the load program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Loaded {
    /// Answers a second.
    pub rate: f64,
    /// Latencies that half, 99 %, 99.9 % and 99.99 % of the answers did not exceed, and the longest: microseconds.
    pub latency_us: [f64; 5],
    /// Processor time of the server, microseconds an answer.
    pub cpu_us: f64,
    /// Keys asked for that had a value, 0 to 1; 1 where none was asked for.
    pub hits: f64,
    /// Requests that were lost or refused.
    pub failed: f64,
    /// How much of the time the server's first processor was busy, 0 to 1.
    pub busy: f64,
}

/// Loads a server from these processors; `words` are options of the program.
///
/// # Errors
/// It could not be loaded.
pub fn run(bench: &Bench<'_>, server: &Server, processors: &str, words: &[String]) -> Result<Loaded, String> {
    let mut command = Command::new("taskset");
    command.args(["-c", processors]).arg(&bench.program);
    command.args(["cache", "load", &server.address().to_string(), "--json", "--pid", &server.pid().to_string()]);
    command.args(["--key-octets", KEY_OCTETS]).args(words).stderr(Stdio::inherit());
    let (begun, idle) = (Instant::now(), server::idle_seconds(0));
    let output = command.output().map_err(|e| format!("taskset: {e}"))?;
    let (passed, idle) = (begun.elapsed().as_secs_f64(), server::idle_seconds(0) - idle);
    // Code 3 says that some requests failed: those are counted.
    let told = last_json(&output.stdout).ok_or_else(|| format!("the load of {words:?} failed: {}", output.status))?;
    Ok(Loaded { busy: (1.0 - idle / passed).clamp(0.0, 1.0), ..loaded(&told) })
}

fn loaded(told: &Value) -> Loaded {
    let latency = &told["latency_us"];
    let (hits, misses) = (number(told, "hits"), number(told, "misses"));
    Loaded {
        rate: number(told, "requests_per_second"),
        latency_us: ["p50", "p99", "p99_9", "p99_99", "max"].map(|name| number(latency, name)),
        cpu_us: number(told, "server_cpu_us_per_request"),
        hits: if hits + misses > 0.0 { hits / (hits + misses) } else { 1.0 },
        failed: ["lost", "errors", "closed"].map(|name| number(told, name)).iter().sum(),
        busy: 0.0,
    }
}

/// The medians of several runs, figure by figure; of what failed the sum.
pub fn middle(runs: &[Loaded]) -> Loaded {
    let of = |value: fn(&Loaded) -> f64| median(runs.iter().map(value));
    Loaded {
        rate: of(|run| run.rate),
        latency_us: std::array::from_fn(|at| median(runs.iter().map(|run| run.latency_us[at]))),
        cpu_us: of(|run| run.cpu_us),
        hits: of(|run| run.hits),
        failed: runs.iter().map(|run| run.failed).sum(),
        busy: of(|run| run.busy),
    }
}

/// Words as the program takes them.
pub fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_the_program_tells_and_the_middle_of_it() {
        let told = |rate: f64| {
            loaded(&json!({
                "requests_per_second": rate, "hits": 3, "misses": 1, "lost": 2, "errors": 1, "closed": 0,
                "latency_us": {"p50": 10.0, "p99": 20.0, "p99_9": 30.0, "p99_99": 40.0, "max": rate},
                "server_cpu_us_per_request": 4.5,
            }))
        };
        let run = told(200.0);
        assert_eq!((run.rate, run.hits, run.failed, run.cpu_us), (200.0, 0.75, 3.0, 4.5));
        let middle = middle(&[told(300.0), run, told(100.0)]);
        assert_eq!((middle.rate, middle.failed), (200.0, 9.0));
        assert_eq!(middle.latency_us, [10.0, 20.0, 30.0, 40.0, 200.0]);
        assert_eq!(loaded(&json!({})).hits, 1.0);
    }
}
