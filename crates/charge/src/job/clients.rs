//! The clients that are connected, as they are shown: each connection counts for itself.

use core::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use trunkline_net::Peer;

/// Clients that are told at once.
pub const TOLD_MAX: usize = 500;

/// What a connection counts, by one thread.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Credit-control requests.
    pub requests: AtomicU64,
    /// Of these, copies.
    pub copies: AtomicU64,
    /// Answers that refused for the subscriber's sake.
    pub refused: AtomicU64,
    /// Answers that the disk was behind.
    pub busy: AtomicU64,
    /// Requests that were wrong, and messages that were refused.
    pub failed: AtomicU64,
    /// When something came last, seconds since 1970.
    pub heard: AtomicU64,
    watch: AtomicU8,
}

/// A client and its connection.
#[derive(Clone, Debug)]
pub(super) struct Client {
    /// Which of all there were, from 1 on.
    pub number: u64,
    pub host: Box<str>,
    pub realm: Box<str>,
    pub from: Peer,
    pub tls: bool,
    /// Since when, seconds since 1970.
    pub since: u64,
    pub tally: Arc<Tally>,
}

/// By their numbers; no more of them than connections.
#[derive(Debug, Default)]
pub(super) struct Clients {
    all: Mutex<(u64, BTreeMap<u64, Client>)>,
}

impl Tally {
    /// One more, or some.
    pub fn more(count: &AtomicU64, by: u64) {
        // One thread writes it.
        count.store(count.load(Relaxed).wrapping_add(by), Relaxed);
    }

    /// Where the watchdog is (RFC 3539).
    pub fn watch(&self, state: &'static str) {
        let at = STATES.iter().position(|known| *known == state).unwrap_or_default();
        self.watch.store(at as u8, Relaxed);
    }

    /// The same, as it is told.
    pub fn state(&self) -> &'static str {
        STATES.get(usize::from(self.watch.load(Relaxed))).copied().unwrap_or_default()
    }
}

const STATES: [&str; 4] = ["okay", "asked", "suspect", "closing"];

impl Clients {
    fn lock(&self) -> MutexGuard<'_, (u64, BTreeMap<u64, Client>)> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One has said who it is; its number.
    pub fn add(&self, client: Client) -> u64 {
        let (last, all) = &mut *self.lock();
        *last += 1;
        all.insert(*last, Client { number: *last, ..client });
        *last
    }

    /// Its connection has ended.
    pub fn remove(&self, number: u64) {
        self.lock().1.remove(&number);
    }

    /// How many there are, and those after a number, in the order in which they came.
    pub fn after(&self, number: u64) -> (usize, Vec<Client>) {
        let all = &self.lock().1;
        let told = all.range(number.saturating_add(1)..).take(TOLD_MAX);
        (all.len(), told.map(|(_, client)| client.clone()).collect())
    }
}
