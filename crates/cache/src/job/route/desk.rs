//! What the threads of a proxy know together: each other's counts, and which keys were deleted just now.

use super::{Counts, Figures, ServerFigures, Tally};
use crate::route::config::Config;
use crate::route::{HOLD_OFF, Host};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use trunkline_net::{Gauges, Server, ThreadsFailed};

/// Deleted keys that are remembered; with more, the oldest half is forgotten.
const DELETED_MAX: usize = 100_000;

/// The proxy as its threads see it.
pub struct Desk {
    config: Arc<Config>,
    version: String,
    started: Instant,
    cells: Vec<Mutex<Shown>>,
    deleted: Mutex<HashMap<Vec<u8>, Duration>>,
    server: Mutex<Option<Server<()>>>,
}

/// What a thread shows of itself.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    /// Its counts.
    pub counts: Counts,
    /// Of each server its counts, and whether it is out.
    pub servers: Vec<(Tally, bool)>,
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Desk").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Desk {
    /// Of a proxy with so many threads.
    pub fn new(config: Arc<Config>, threads: usize, version: String) -> Desk {
        Desk {
            config,
            version,
            started: Instant::now(),
            cells: (0..threads).map(|_| Mutex::default()).collect(),
            deleted: Mutex::default(),
            server: Mutex::default(),
        }
    }

    /// The server runs.
    pub fn open(&self, server: Server<()>) {
        *lock(&self.server) = Some(server);
    }

    /// Stops the server and waits for it; nothing if that was done before.
    ///
    /// # Errors
    /// Threads of it failed.
    pub fn close(&self) -> Result<(), ThreadsFailed> {
        let Some(mut server) = lock(&self.server).take() else { return Ok(()) };
        server.stop();
        server.join()
    }

    /// A thread lays down what it has counted.
    pub fn show(&self, thread: u16, show: impl FnOnce(&mut Shown)) {
        if let Some(cell) = self.cells.get(usize::from(thread)) {
            show(&mut lock(cell));
        }
    }

    /// The sums.
    pub fn figures(&self) -> Figures {
        let (net, held) = match &*lock(&self.server) {
            Some(server) => (server.counts(), server.gauges()),
            None => (trunkline_net::Counts::default(), Gauges::default()),
        };
        let servers = self.config.servers.iter().map(|server| ServerFigures {
            pool: server.pool.clone(),
            name: server.name.clone(),
            tally: Tally::default(),
            out: 0,
        });
        let mut figures = Figures { counts: Counts::default(), servers: servers.collect(), net, held };
        for cell in &self.cells {
            let shown = lock(cell);
            figures.counts.add(&shown.counts);
            for (sum, (tally, out)) in figures.servers.iter_mut().zip(&shown.servers) {
                sum.tally.add(tally);
                sum.out += usize::from(*out);
            }
        }
        figures
    }

    /// What `stats` says.
    fn general(&self, figures: &Figures) -> String {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let mut out = String::new();
        let mut say = |name: &str, value: &dyn std::fmt::Display| {
            // Writing to a text does not fail.
            let _ = write!(out, "STAT {name} {value}\r\n");
        };
        say("pid", &std::process::id());
        say("uptime", &self.started.elapsed().as_secs());
        say("time", &unix);
        say("version", &self.version);
        say("curr_connections", &figures.held.connections);
        say("total_connections", &(figures.net.accepted - figures.net.refused()));
        say("rejected_connections", &figures.net.refused());
        say("server_connections", &figures.held.dialled_connections);
        say("threads", &self.cells.len());
        say("pools", &self.config.pools.len());
        say("servers", &self.config.servers.len());
        say("servers_out", &figures.servers.iter().filter(|server| server.out > 0).count());
        say("get_hits", &figures.counts.hits);
        say("get_misses", &figures.counts.misses);
        say("bytes_read", &figures.net.received_octets);
        say("bytes_written", &figures.net.sent_octets);
        out
    }
}

/// The part of a metric's name that says what it is, as `stats` names it.
fn short(metric: &str) -> &str {
    let name = metric.trim_start_matches("trunkline_cache_route_").trim_start_matches("server_");
    name.trim_end_matches("_total")
}

impl Host for Desk {
    fn deleted(&self, key: &[u8], now: Duration) {
        let mut deleted = lock(&self.deleted);
        if deleted.len() >= DELETED_MAX {
            deleted.retain(|_, at| now < *at + HOLD_OFF);
        }
        if deleted.len() >= DELETED_MAX {
            deleted.retain(|_, at| now < *at + HOLD_OFF / 2);
        }
        if deleted.len() < DELETED_MAX {
            deleted.insert(key.to_vec(), now);
        }
    }

    fn is_deleted(&self, key: &[u8], now: Duration) -> bool {
        lock(&self.deleted).get(key).is_some_and(|at| now < *at + HOLD_OFF)
    }

    fn stats(&self, word: &[u8]) -> Option<Vec<u8>> {
        let figures = self.figures();
        let mut out = match word {
            b"" => self.general(&figures),
            b"route" => {
                let lines = figures.counts.list().into_iter();
                lines.map(|counted| format!("STAT {} {}\r\n", short(counted.name), counted.value)).collect()
            }
            b"servers" => {
                let mut out = String::new();
                for (number, server) in figures.servers.iter().enumerate() {
                    let state = if server.out > 0 { "out" } else { "in" };
                    let _ = write!(
                        out,
                        "STAT {number}:name {}\r\nSTAT {number}:pool {}\r\nSTAT {number}:state {state}\r\n",
                        server.name, server.pool
                    );
                    for counted in server.tally.list() {
                        let _ = write!(out, "STAT {number}:{} {}\r\n", short(counted.name), counted.value);
                    }
                }
                out
            }
            // What memcached has and a proxy does not is empty, not an error: programs ask for it.
            b"items" | b"slabs" | b"sizes" | b"settings" | b"conns" => String::new(),
            _ => return None,
        };
        out.push_str("END\r\n");
        Some(out.into_bytes())
    }

    fn version(&self) -> &str {
        &self.version
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
