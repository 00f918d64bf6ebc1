//! Rows on their way to the store: a thread of its own, so that a slow disk never holds up a lane.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use trunkline_calls::job::Sink;
use trunkline_store::Store;
use trunkline_store::row::Rows;

trunkline_kit::counters! {
    /// What is counted on the way to the store.
    pub struct WritingCounters {
        /// rows handed to the store
        written: "trunkline_store_rows_total",
        /// rows lost because the store refused and too many waited
        lost: "trunkline_store_rows_lost_overflow_total",
        /// rows that the store refused for good: days that cannot be written
        refused: "trunkline_store_rows_refused_overflow_total",
        /// times that the store failed
        failures: "trunkline_store_failures_total",
        /// commits
        commits: "trunkline_store_commits_total",
    }
}

/// Rows that wait for the store in memory. Beyond it the oldest are lost, and counted.
pub const ROWS_WAITING_MAX: usize = 500_000;
/// What was written is committed after this time at the latest.
const COMMIT_EVERY: Duration = Duration::from_secs(1);
/// How long the store is left alone after it failed.
const RETRY: Duration = Duration::from_secs(1);

/// What is on its way to the store.
#[derive(Default)]
pub struct Writing {
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Rows>,
    rows: usize,
    ended: bool,
    counters: WritingCounters,
    error: Option<String>,
}

impl Writing {
    /// Rows that wait, and what was counted.
    pub fn report(&self) -> (usize, WritingCounters, Option<String>) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        (state.rows, state.counters, state.error.clone())
    }

    fn with<R>(&self, how: impl FnOnce(&mut State) -> R) -> R {
        let done = how(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.wake.notify_all();
        done
    }
}

/// The end of the way where rows are put in. Dropping it lets the store's thread end when all is written.
pub struct RowsOut {
    writing: Arc<Writing>,
}

impl RowsOut {
    /// What is on its way.
    pub fn writing(&self) -> Arc<Writing> {
        Arc::clone(&self.writing)
    }
}

impl Sink for RowsOut {
    fn rows(&mut self, rows: Rows) -> Result<(), String> {
        let count = count(&rows);
        if count == 0 {
            return Ok(());
        }
        self.writing.with(|state| {
            state.waiting.push_back(rows);
            state.rows += count;
            while state.rows > ROWS_WAITING_MAX {
                let Some(lost) = state.waiting.pop_front() else { break };
                let lost = self::count(&lost);
                state.rows -= lost;
                state.counters.lost += lost as u64;
            }
        });
        Ok(())
    }
}

impl Drop for RowsOut {
    fn drop(&mut self) {
        self.writing.with(|state| state.ended = true);
    }
}

fn count(rows: &Rows) -> usize {
    rows.calls.len()
        + rows.streams.len()
        + rows.intervals.len()
        + rows.registrations.len()
        + rows.events.len()
        + rows.losses.len()
}

/// Starts the store's thread. Without a store rows are forgotten.
///
/// # Errors
/// The thread could not be started.
pub fn start(store: Option<Store>) -> std::io::Result<(RowsOut, JoinHandle<()>)> {
    let writing = Arc::new(Writing::default());
    let out = RowsOut { writing: Arc::clone(&writing) };
    let thread = std::thread::Builder::new().name("store".to_owned()).spawn(move || match store {
        Some(store) => write(store, &writing),
        None => discard(&writing),
    })?;
    Ok((out, thread))
}

/// Nothing is kept.
fn discard(writing: &Writing) {
    loop {
        let state = writing.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = writing
            .wake
            .wait_while(state, |s| s.waiting.is_empty() && !s.ended)
            .unwrap_or_else(PoisonError::into_inner);
        state.waiting.clear();
        state.rows = 0;
        if state.ended {
            return;
        }
    }
}

fn write(mut store: Store, writing: &Writing) {
    let mut committed = Instant::now();
    let mut dirty = false;
    loop {
        let (next, ended) =
            next(writing, if dirty { COMMIT_EVERY.saturating_sub(committed.elapsed()) } else { COMMIT_EVERY });
        if let Some(rows) = next {
            write_until_it_works(&mut store, &rows, writing);
            dirty = true;
            let count = count(&rows);
            writing.with(|state| {
                state.rows = state.rows.saturating_sub(count);
                state.counters.written += count as u64;
            });
        } else if ended {
            commit_until_it_works(&mut store, writing);
            return;
        }
        if dirty && committed.elapsed() >= COMMIT_EVERY {
            commit_until_it_works(&mut store, writing);
            committed = Instant::now();
            dirty = false;
        }
    }
}

fn next(writing: &Writing, patience: Duration) -> (Option<Rows>, bool) {
    let state = writing.state.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut state, _) = writing
        .wake
        .wait_timeout_while(state, patience, |s| s.waiting.is_empty() && !s.ended)
        .unwrap_or_else(PoisonError::into_inner);
    let rows = state.waiting.pop_front();
    (rows, state.ended)
}

/// A store that fails (a full disk) is tried again until it works, while rows wait; when the program ends, a few times.
fn write_until_it_works(store: &mut Store, rows: &Rows, writing: &Writing) {
    again(writing, || store.write(rows).map(|_| ()).map_err(|e| e.to_string()));
    let refused = store.written().refused;
    writing.with(|state| state.counters.refused = refused);
}

fn commit_until_it_works(store: &mut Store, writing: &Writing) {
    again(writing, || store.commit().map(|_| ()).map_err(|e| e.to_string()));
    writing.with(|state| state.counters.commits += 1);
}

fn again(writing: &Writing, mut work: impl FnMut() -> Result<(), String>) {
    /// Tries after the capture has ended.
    const LAST_TRIES: u32 = 5;
    let mut last_tries = 0;
    while let Err(error) = work() {
        let ended = writing.with(|state| {
            state.counters.failures += 1;
            state.error = Some(error);
            state.ended
        });
        last_tries += u32::from(ended);
        if last_tries >= LAST_TRIES {
            return;
        }
        std::thread::park_timeout(RETRY);
    }
    writing.with(|state| state.error = None);
}
