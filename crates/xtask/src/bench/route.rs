//! The proxy in front of two memcacheds, beside twemproxy in front of the same, and beside one memcached that is asked
//! straight.

mod report;

use super::cache::load::{self, CONNECTIONS, Loaded};
use super::cache::server::{self, How, Server, Who};
use super::{Bench, Outcome, need};

/// Keys that are asked for.
const KEYS: &str = "100000";
/// Octets of a value.
const VALUE_OCTETS: &str = "100";
/// Rounds of each row: straight, ours, twemproxy, and so on.
const ROUNDS: usize = 3;
/// Seconds of each run.
const SECONDS: u32 = 3;
/// Servers behind the proxies.
const BEHIND: usize = 2;

/// What is asked: its name, requests in flight on a connection, keys of a get.
const SHAPES: &[(&str, &str, &str)] =
    &[("1 in flight", "1", "1"), ("16 in flight", "16", "1"), ("gets of 10 keys, 1 in flight", "1", "10")];

/// Who is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// One memcached.
    Straight,
    /// `trunkline cache route`.
    Ours,
    /// twemproxy, whose program is called nutcracker.
    Theirs,
}

/// A shape, and what was measured of each that was asked.
struct Row {
    shape: &'static str,
    runs: Vec<(Way, Loaded)>,
}

/// Everything that was measured.
struct Measured {
    rounds: (usize, u32),
    rows: Vec<Row>,
}

/// Starts them all, loads them in turn, compares.
///
/// # Errors
/// One cannot be started or loaded.
pub fn run(bench: &Bench<'_>) -> Result<Outcome, String> {
    if let Some(why) = server::missing() {
        return Ok(Outcome::Skipped(why));
    }
    let measured = measure(bench)?;
    Ok(Outcome::Measured(report::markdown(&measured), measured.is_well()))
}

fn measure(bench: &Bench<'_>) -> Result<Measured, String> {
    let mut behind = Vec::new();
    for _ in 0..BEHIND {
        behind.push(Server::start(bench, Who::Theirs, How { processors: "1", threads: 1, mebibytes: 256 })?);
    }
    let straight = Server::start(bench, Who::Theirs, How { processors: "0", threads: 1, mebibytes: 256 })?;
    let mut servers = vec![(Way::Straight, straight), (Way::Ours, ours(bench, &behind)?)];
    if need::has("nutcracker") {
        servers.push((Way::Theirs, twemproxy(bench, &behind)?));
    }
    for (_, server) in &servers {
        let fill = ["--fill", "--keys", KEYS, "--value-octets", VALUE_OCTETS, "--sets", "0", "--seconds", "1"];
        load::run(bench, server, "1", &load::words(&fill))?;
    }
    let rounds = if bench.quick { (1, 1) } else { (ROUNDS, SECONDS) };
    let mut rows = Vec::new();
    for (shape, in_flight, keys) in SHAPES {
        let runs = row(bench, &servers, rounds, &words(in_flight, keys, rounds.1))?;
        eprintln!("bench: route: {shape}: {runs:?}");
        rows.push(Row { shape, runs });
    }
    Ok(Measured { rounds, rows })
}

/// All of them in turn, some times; the medians.
fn row(
    bench: &Bench<'_>,
    servers: &[(Way, Server)],
    rounds: (usize, u32),
    words: &[String],
) -> Result<Vec<(Way, Loaded)>, String> {
    let mut runs = vec![Vec::new(); servers.len()];
    for _ in 0..rounds.0 {
        for ((_, server), runs) in servers.iter().zip(&mut runs) {
            runs.push(load::run(bench, server, "1", words)?);
        }
    }
    Ok(servers.iter().zip(&runs).map(|((way, _), runs)| (*way, load::middle(runs))).collect())
}

fn words(in_flight: &str, keys: &str, seconds: u32) -> Vec<String> {
    let mut words = load::words(&["--connections", CONNECTIONS, "--threads", "1", "--keys", KEYS, "--sets", "0.1"]);
    words.extend(load::words(&["--value-octets", VALUE_OCTETS, "--in-flight", in_flight, "--multi-get", keys]));
    words.extend(load::words(&["--seconds", &seconds.to_string()]));
    words
}

fn ours(bench: &Bench<'_>, behind: &[Server]) -> Result<Server, String> {
    let address = server::free()?;
    let program = bench.program.display().to_string();
    let mut words = vec![program];
    words.extend(load::words(&["cache", "route", "-t", "1", "-l", &address.to_string()]));
    words.extend(behind.iter().map(|server| server.address().to_string()));
    Server::launch(bench, "0", &words, address)
}

/// With its defaults but for the servers: one connection to each, ketama.
fn twemproxy(bench: &Bench<'_>, behind: &[Server]) -> Result<Server, String> {
    let (address, statistics) = (server::free()?, server::free()?);
    let path = bench.folder.join("nutcracker.yml");
    let servers: String = behind.iter().map(|server| format!("   - {}:1\n", server.address())).collect();
    let text = format!("all:\n  listen: {address}\n  distribution: ketama\n  servers:\n{servers}");
    std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    let (path, port) = (path.display().to_string(), statistics.port().to_string());
    let words = load::words(&["nutcracker", "-c", &path, "-a", "127.0.0.1", "-s", &port]);
    Server::launch(bench, "0", &words, address)
}

impl Row {
    fn of(&self, way: Way) -> Option<&Loaded> {
        self.runs.iter().find(|(of, _)| *of == way).map(|(_, loaded)| loaded)
    }
}

impl Measured {
    /// Nothing was lost or refused, and everything found, through our proxy.
    fn is_well(&self) -> bool {
        self.rows.iter().filter_map(|row| row.of(Way::Ours)).all(|run| run.failed == 0.0 && run.rate > 0.0)
    }
}
