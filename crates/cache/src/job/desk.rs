//! What the service asks the job for: the world's facts, the list of connections, certificates read again, the end.

use super::Certificates;
use super::connections::Connections;
use super::warm::{Ending, Progress, Warmed};
use crate::service::{ConnectionFacts, Facts, Host};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use trunkline_net::{Counts, Gauges, Listen, Peer, Server, ThreadsFailed};

/// What other threads tell a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// There may be lines for one that watches.
    Lines,
}

/// The job as the service sees it.
#[derive(Debug)]
pub struct Desk {
    pub(super) connections: Connections,
    certificates: Option<Certificates>,
    certificates_read: Mutex<Instant>,
    listeners: Mutex<Vec<String>>,
    server: Mutex<Option<Running>>,
    /// Whether the end was asked for.
    ended: Mutex<bool>,
    asked: Condvar,
    second: AtomicU32,
    /// Of a warm-up, if there is one.
    warming: OnceLock<Arc<Progress>>,
}

/// The server, hidden from `Debug`.
struct Running(Server<Told>);

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Running")
    }
}

impl Desk {
    /// The desk of a job that listens there.
    pub fn new(certificates: Option<Certificates>, listens: &[Listen]) -> Self {
        let listeners = listens.iter().map(name_of).collect();
        Desk {
            connections: Connections::default(),
            certificates,
            certificates_read: Mutex::new(Instant::now()),
            listeners: Mutex::new(listeners),
            server: Mutex::default(),
            ended: Mutex::default(),
            asked: Condvar::new(),
            second: AtomicU32::new(0),
            warming: OnceLock::new(),
        }
    }

    /// The server runs, at these addresses.
    pub fn open(&self, server: Server<Told>, addresses: &[Option<SocketAddr>]) {
        for (listener, address) in lock(&self.listeners).iter_mut().zip(addresses) {
            if let (Some(address), Some((kind, _))) = (address, listener.clone().split_once(':')) {
                *listener = format!("{kind}:{address}");
            }
        }
        *lock(&self.server) = Some(Running(server));
    }

    /// Stops the server and waits for it; nothing if that was done before.
    ///
    /// # Errors
    /// Threads of it failed.
    pub fn close(&self) -> Result<(), ThreadsFailed> {
        let Some(mut server) = lock(&self.server).take() else { return Ok(()) };
        server.0.stop();
        server.0.join()
    }

    /// The cache warms up, and this is how it goes.
    pub fn warms(&self, progress: Option<Arc<Progress>>) {
        // It is told once.
        progress.into_iter().for_each(|progress| _ = self.warming.set(progress));
    }

    /// How a warm-up goes, if there is one.
    pub fn warmed(&self) -> Option<Warmed> {
        self.warming.get().map(|progress| progress.warmed())
    }

    /// What the engine has counted, and what it holds.
    pub fn net(&self) -> (Counts, Gauges) {
        match &*lock(&self.server) {
            Some(server) => (server.0.counts(), server.0.gauges()),
            None => (Counts::default(), Gauges::default()),
        }
    }

    /// The second of the store that it is, for `stats conns`.
    pub fn tick(&self, second: u32) {
        self.second.store(second, Relaxed);
    }

    /// Waits until the end was asked for, or for `most`. Whether it was.
    pub fn wait(&self, most: Duration) -> bool {
        let until = Instant::now() + most;
        let mut ended = lock(&self.ended);
        while !*ended {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            ended = self.asked.wait_timeout(ended, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        *ended
    }
}

impl Host for Desk {
    fn facts(&self) -> Facts {
        let (net, held) = self.net();
        let (user_us, system_us) = processor_us();
        let open = held.connections as u64;
        Facts {
            pid: std::process::id(),
            user_us,
            system_us,
            connections: open,
            connections_accepted: net.accepted - net.refused(),
            connections_refused: net.refused_full,
            connections_idle: net.closed_idle,
            accepting: true,
            accepting_stopped: net.accept_pauses,
            accepting_stopped_us: 0,
            yields: net.yields,
            buffer_octets: (held.held_octets + held.tls_octets) as u64,
            connections_without_room: net.closed_memory,
            certificates_age_s: lock(&self.certificates_read).elapsed().as_secs(),
            tls_errors: net.closed_handshake + net.closed_handshake_late,
        }
    }

    fn connections(&self, tell: &mut dyn FnMut(&ConnectionFacts)) {
        let listeners = lock(&self.listeners).clone();
        for listener in &listeners {
            let state = if listener.starts_with("udp") { "conn_read" } else { "conn_listening" };
            tell(&ConnectionFacts { peer: listener.clone(), state, ..ConnectionFacts::default() });
        }
        let second = self.second.load(Relaxed);
        self.connections.each(|entry| {
            let local = listeners.get(entry.listener).cloned();
            let peer = match entry.peer {
                Peer::Inet(_) => entry.address(),
                Peer::Unix => local.clone().unwrap_or_else(|| entry.address()),
            };
            let idle_s = u64::from(second.saturating_sub(entry.heard()));
            tell(&ConnectionFacts { name: entry.name, peer, local, state: "conn_read", idle_s });
        });
    }

    fn more_facts(&self, tell: &mut dyn FnMut(&str, &str)) {
        let Some(warmed) = self.warmed() else { return };
        tell("warm_state", warmed.ending.as_ref().map_or("running", Ending::word));
        let numbers = [
            ("warm_items", warmed.items),
            ("warm_bytes", warmed.octets),
            ("warm_skipped_items", warmed.skipped),
            ("warm_milliseconds", warmed.ms),
        ];
        numbers.iter().for_each(|(name, number)| tell(name, &number.to_string()));
    }

    fn refresh_certificates(&self) -> Result<(), String> {
        match &self.certificates {
            Some(certificates) => {
                (certificates.0)()?;
                *lock(&self.certificates_read) = Instant::now();
                Ok(())
            }
            None => Err("Error TLS not enabled".to_owned()),
        }
    }

    fn shut_down(&self, _graceful: bool) {
        // Both end the same way: what came is answered.
        *lock(&self.ended) = true;
        self.asked.notify_all();
    }
}

/// As `stats conns` names it.
fn name_of(listen: &Listen) -> String {
    match listen {
        Listen::Tcp { address, .. } => format!("tcp:{address}"),
        Listen::Udp { address } => format!("udp:{address}"),
        Listen::Unix { path, .. } => format!("unix:{}", path.display()),
    }
}

/// Time on the processor, for itself and for the system, in microseconds, in steps of 10 ms (proc(5), `stat`).
fn processor_us() -> (u64, u64) {
    const US_PER_TICK: u64 = 10_000;
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program may have blanks; it ends with the last parenthesis.
    let mut fields = text.rsplit_once(')').map_or("", |(_, rest)| rest).split_ascii_whitespace().skip(11);
    let mut ticks = || fields.next().and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
    (ticks() * US_PER_TICK, ticks() * US_PER_TICK)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
