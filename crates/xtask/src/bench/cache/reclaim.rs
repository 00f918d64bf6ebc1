//! How long a set waits when memory is full and others have to go for it.

use super::super::Bench;
use super::super::example::number;
use super::load::{self, CONNECTIONS, Loaded};
use super::server::{BOTH, How, Server, Who};

/// Full after some three hundred thousand items.
const HOW: How = How { processors: "0", threads: 1, mebibytes: 64 };
/// Keys that are written where nothing has to go, and where nearly each set makes another one go.
const KEYS_FEW: &str = "100000";
const KEYS_MANY: &str = "3000000";
/// Sets a second, in open loop: far below what either can do, so that what waits waits for the server.
pub const RATE: &str = "20000";

/// Sets on a server.
#[derive(Clone, Debug)]
pub struct Sets {
    /// Who.
    pub who: Who,
    /// Whether its memory was full.
    pub full: bool,
    /// The medians.
    pub loaded: Loaded,
    /// Items that had to go for a set.
    pub evictions: f64,
}

/// Sets where there is room, then where there is none, to both in turn.
///
/// # Errors
/// A server cannot be started or loaded.
pub fn measure(bench: &Bench<'_>) -> Result<Vec<Sets>, String> {
    let mut all = Vec::new();
    for (full, keys) in [(false, KEYS_FEW), (true, KEYS_MANY)] {
        let servers = [Server::start(bench, Who::Ours, HOW)?, Server::start(bench, Who::Theirs, HOW)?];
        for server in &servers {
            // Full: in closed loop all keys once, of which the last stay.
            let fill = ["--fill", "--keys", keys, "--sets", "1", "--seconds", "1"];
            match load::run(bench, server, "1", &load::words(&fill)) {
                // memcached refuses some sets in a run of several where all have to make room; it is full all the same.
                Err(why) if full => eprintln!("bench: cache: {why}"),
                filled => drop(filled?),
            }
        }
        let before = [evicted(&servers[0])?, evicted(&servers[1])?];
        let mut runs = [Vec::new(), Vec::new()];
        for round in 0..if bench.quick { 1 } else { 3 } {
            for (server, runs) in servers.iter().zip(&mut runs) {
                runs.push(load::run(bench, server, "1", &words(bench, keys, round))?);
            }
        }
        for (at, runs) in runs.iter().enumerate() {
            let sets: f64 = runs.iter().map(|run| run.rate * seconds(bench)).sum();
            let evictions = (evicted(&servers[at])? - before[at]) / sets.max(1.0);
            all.push(Sets { who: BOTH[at], full, loaded: load::middle(runs), evictions });
        }
    }
    eprintln!("bench: cache: {all:?}");
    Ok(all)
}

fn seconds(bench: &Bench<'_>) -> f64 {
    if bench.quick { 1.0 } else { 5.0 }
}

/// Each round has a seed of its own: with that of the one before it, or of the fill, it would write the same keys
/// again.
fn words(bench: &Bench<'_>, keys: &str, round: u32) -> Vec<String> {
    let mut words = load::words(&["--keys", keys, "--sets", "1", "--rate", RATE, "--connections", CONNECTIONS]);
    words.extend(load::words(&["--value-octets", "100", "--seconds", &seconds(bench).to_string()]));
    words.extend(load::words(&["--seed", &(100 + round).to_string()]));
    words
}

fn evicted(server: &Server) -> Result<f64, String> {
    Ok(number(&server.stats(&[])?, "evictions"))
}
