//! Rows on their way to the store: a thread of its own, so that a slow disk never holds up a lane.
//!
//! What was written is kept until it is committed: a store that fails forgets the transaction. While it fails, rows go
//! into the [`journal`], and into the store from there when it works again or when the program starts again. Only what
//! the journal cannot take waits in memory. Rows that their giver keeps meanwhile are [`asked`].

mod asked;
pub mod journal;

pub use asked::Asking;

use crate::alert::Tap;
use asked::{Asked, Closing};
use journal::{Journal, Taken};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use trunkline_calls::job::Sink;
use trunkline_store::Store;
use trunkline_store::row::Rows;

trunkline_kit::counters! {
    /// What is counted on the way to the store.
    pub struct WritingCounters {
        /// rows in the store
        written: "trunkline_store_rows_total",
        /// rows lost because the store refused and too many waited
        lost: "trunkline_store_rows_lost_overflow_total",
        /// rows that the store refused for good: days that cannot be written
        refused: "trunkline_store_rows_refused_overflow_total",
        /// times that the store failed
        failures: "trunkline_store_failures_total",
        /// commits
        commits: "trunkline_store_commits_total",
        /// rows that went by way of the journal, because the store failed
        journalled: "trunkline_store_journal_rows_total",
        /// times that the journal could not be written
        journal_failures: "trunkline_store_journal_failures_total",
        /// rows that were damaged in the journal
        damaged: "trunkline_store_journal_damaged_rows_overflow_total",
    }
}

/// Rows that wait for the store in memory. Beyond it the oldest are lost, and counted.
// Limit: rows waiting for the store in memory
// Beyond: the oldest are lost
// Seen in: `trunkline_store_rows_lost_overflow_total`
pub const ROWS_WAITING_MAX: usize = 500_000;
/// Rows that are written before they are committed, though it is not time.
const UNCOMMITTED_MAX: usize = 50_000;
/// What was written is committed after this time at the latest.
const COMMIT_EVERY: Duration = Duration::from_secs(1);
/// How long the store is left alone after it failed.
const RETRY: Duration = Duration::from_secs(1);
/// Records taken from the journal before it is looked whether there is something else to do.
const TAKEN_AT_ONCE: usize = 64;
/// Tries after the capture has ended: what the journal has, keeps until the next start.
const LAST_TRIES: u32 = 3;

/// What is on its way to the store.
#[derive(Default)]
pub struct Writing {
    state: Mutex<State>,
    wake: Condvar,
    /// Who watches rows as they come.
    tap: OnceLock<Tap>,
}

/// How rows get on.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Rows that wait in memory.
    pub waiting: usize,
    /// Rows that wait in the journal.
    pub journal_rows: u64,
    /// Octets of the journal.
    pub journal_octets: u64,
    /// What was counted.
    pub counters: WritingCounters,
    /// Why the store cannot be written, as long as that is so.
    pub error: Option<String>,
    /// Why the journal cannot be written.
    pub journal_error: Option<String>,
    /// Days whose rows the store refused since the start, with their files, and why.
    pub refused: Option<String>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Rows>,
    /// What others wait for.
    asked: VecDeque<Asked>,
    /// Nobody is answered any more.
    closed: bool,
    /// Ends of the way where rows may still be put in.
    outs: usize,
    /// Rows that were put in since the start, and how many of them are in the store, wait on disk, or are lost.
    put: u64,
    gone: u64,
    report: Report,
}

impl State {
    /// Rows leave the memory.
    fn gone(&mut self, rows: usize) {
        self.report.waiting = self.report.waiting.saturating_sub(rows);
        self.gone += rows as u64;
    }
}

impl Writing {
    /// How rows get on.
    pub fn report(&self) -> Report {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).report.clone()
    }

    /// Rows that were put in since the start.
    pub fn put(&self) -> u64 {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).put
    }

    /// Rows that are not in memory any more. They go in the order in which they come.
    pub fn gone(&self) -> u64 {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).gone
    }

    /// Shows rows that come from now on to whoever watches them; once.
    pub fn watch(&self, tap: Tap) {
        // One watches already: the first stays.
        let _ = self.tap.set(tap);
    }

    fn show(&self, rows: &Rows) {
        self.tap.get().into_iter().for_each(|tap| tap.take(rows));
    }

    fn with<R>(&self, how: impl FnOnce(&mut State) -> R) -> R {
        let done = how(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.wake.notify_all();
        done
    }

    /// The next rows, and whether none will follow.
    fn next(&self, patience: Duration) -> (Option<Rows>, bool) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut state, _) = self
            .wake
            .wait_timeout_while(state, patience, |s| s.waiting.is_empty() && s.asked.is_empty() && s.outs > 0)
            .unwrap_or_else(PoisonError::into_inner);
        let rows = state.waiting.pop_front();
        (rows, state.outs == 0)
    }
}

/// The end of the way where rows are put in. Dropping the last one lets the store's thread end when all is written.
pub struct RowsOut {
    writing: Arc<Writing>,
}

impl RowsOut {
    fn new(writing: &Arc<Writing>) -> Self {
        writing.with(|state| state.outs += 1);
        RowsOut { writing: Arc::clone(writing) }
    }

    /// Another end of the same way.
    pub fn another(&self) -> Self {
        RowsOut::new(&self.writing)
    }

    /// What is on its way.
    pub fn writing(&self) -> Arc<Writing> {
        Arc::clone(&self.writing)
    }
}

impl Sink for RowsOut {
    fn rows(&mut self, rows: Rows) -> Result<(), String> {
        let count = rows.count();
        if count == 0 {
            return Ok(());
        }
        self.writing.with(|state| {
            state.waiting.push_back(rows);
            state.report.waiting += count;
            state.put += count as u64;
            while state.report.waiting > ROWS_WAITING_MAX {
                let Some(lost) = state.waiting.pop_front() else { break };
                state.gone(lost.count());
                state.report.counters.lost += lost.count() as u64;
            }
        });
        Ok(())
    }
}

impl Drop for RowsOut {
    fn drop(&mut self) {
        self.writing.with(|state| state.outs -= 1);
    }
}

/// Starts the store's thread. Without a store rows are forgotten; without a journal all that wait do so in memory.
///
/// # Errors
/// The thread could not be started.
pub fn start(store: Option<Store>, journal: Option<Journal>) -> std::io::Result<(RowsOut, JoinHandle<()>)> {
    let writing = Arc::new(Writing::default());
    let out = RowsOut::new(&writing);
    let thread = std::thread::Builder::new().name("store".to_owned()).spawn(move || {
        let closing = Closing(Arc::clone(&writing));
        match store {
            Some(store) => Writer::new(store, journal, writing).run(),
            None => {
                drop(closing);
                discard(&writing);
            }
        }
    })?;
    Ok((out, thread))
}

/// Nothing is kept.
fn discard(writing: &Writing) {
    loop {
        let (rows, ended) = writing.next(COMMIT_EVERY);
        match rows {
            Some(rows) => {
                writing.show(&rows);
                writing.with(|state| state.gone(rows.count()));
            }
            None if ended => return,
            None => {}
        }
    }
}

/// What writes rows: a store, or what stands in for it in the program's own tests.
trait Target: Send {
    fn write(&mut self, rows: &Rows) -> Result<(), String>;
    fn commit(&mut self) -> Result<(), String>;
    /// Rows that it refused for good.
    fn refused(&self) -> u64;
    /// Of which days, and why.
    fn why_refused(&self) -> String;
}

impl Target for Store {
    fn write(&mut self, rows: &Rows) -> Result<(), String> {
        Store::write(self, rows).map_err(|e| e.to_string())
    }

    fn commit(&mut self) -> Result<(), String> {
        Store::commit(self).map_err(|e| e.to_string())
    }

    fn refused(&self) -> u64 {
        self.written().refused
    }

    fn why_refused(&self) -> String {
        let days: Vec<String> = self.skipped().into_iter().map(|day| day.why).collect();
        days.join("; ")
    }
}

/// The store's thread.
struct Writer<T> {
    store: T,
    journal: Option<Journal>,
    writing: Arc<Writing>,
    /// Rows that were written and are not committed, from memory and from the journal.
    uncommitted: Vec<Rows>,
    uncommitted_rows: usize,
    taken: u64,
    committed: Instant,
    synced: Instant,
    /// Rows that neither the store nor the journal took.
    held: VecDeque<Rows>,
    /// Rows of those who are answered that the store refused: they are told so.
    refused_of_others: u64,
    /// When the store failed, if it is not known to work again.
    failed: Option<Instant>,
}

impl<T: Target> Writer<T> {
    fn new(store: T, journal: Option<Journal>, writing: Arc<Writing>) -> Self {
        let now = Instant::now();
        let writer = Writer {
            store,
            journal,
            writing,
            uncommitted: Vec::new(),
            uncommitted_rows: 0,
            taken: 0,
            committed: now,
            synced: now,
            held: VecDeque::new(),
            refused_of_others: 0,
            failed: None,
        };
        writer.publish();
        writer
    }

    fn run(mut self) {
        loop {
            let (rows, ended) = self.writing.next(self.patience());
            match rows {
                Some(rows) => {
                    self.writing.show(&rows);
                    self.take(rows);
                }
                None if ended => return self.finish(),
                None => {}
            }
            self.answer();
            self.go_on();
        }
    }

    /// How long nothing need be done.
    fn patience(&self) -> Duration {
        if self.is_behind() && self.failed.is_none() {
            return Duration::ZERO;
        }
        if self.uncommitted_rows > 0 {
            return COMMIT_EVERY.saturating_sub(self.committed.elapsed());
        }
        self.failed.map_or(COMMIT_EVERY, |failed| RETRY.saturating_sub(failed.elapsed()))
    }

    /// Whether rows wait that came before all that come now.
    fn is_behind(&self) -> bool {
        !self.held.is_empty() || self.journal.as_ref().is_some_and(|journal| !journal.is_empty())
    }

    fn take(&mut self, rows: Rows) {
        if self.failed.is_some() || self.is_behind() {
            return self.put_by(rows);
        }
        match self.store.write(&rows) {
            Ok(()) => self.wrote(rows),
            Err(error) => {
                self.fail(error);
                self.put_by(rows);
            }
        }
    }

    fn wrote(&mut self, rows: Rows) {
        if self.uncommitted_rows == 0 {
            self.committed = Instant::now();
        }
        self.uncommitted_rows += rows.count();
        self.uncommitted.push(rows);
    }

    /// Commits and takes up what waits, as it is time.
    fn go_on(&mut self) {
        if self.is_left_alone() {
            return self.sync(COMMIT_EVERY);
        }
        if self.is_behind() {
            self.take_up();
        }
        if self.uncommitted_rows >= UNCOMMITTED_MAX || self.committed.elapsed() >= COMMIT_EVERY {
            self.commit();
        }
        self.sync(COMMIT_EVERY);
    }

    /// Whether the store has failed only now.
    fn is_left_alone(&self) -> bool {
        self.failed.is_some_and(|failed| failed.elapsed() < RETRY)
    }

    /// Writes some of what waits: from the journal, then from memory.
    fn take_up(&mut self) {
        for _ in 0..TAKEN_AT_ONCE {
            let Some(rows) = self.next_of_journal() else { break };
            if let Err(error) = self.store.write(&rows) {
                return self.fail(error);
            }
            self.taken += rows.count() as u64;
            self.failed = None;
        }
        while self.journal.as_ref().is_none_or(Journal::is_empty) {
            let Some(rows) = self.held.pop_front() else { break };
            if let Err(error) = self.store.write(&rows) {
                self.held.push_front(rows);
                return self.fail(error);
            }
            self.failed = None;
            self.wrote(rows);
        }
        // What was taken is believed to be stored only once it is committed; then the journal can be emptied.
        if self.is_taking() {
            self.commit();
        }
    }

    /// Whether something of the journal is on its way into the store.
    fn is_taking(&self) -> bool {
        self.journal.as_ref().is_some_and(Journal::is_taking)
    }

    fn next_of_journal(&mut self) -> Option<Rows> {
        let journal = self.journal.as_mut()?;
        loop {
            match journal.take() {
                Ok(Some(Taken::Rows(rows))) => return Some(rows),
                Ok(Some(Taken::Damaged(rows))) => self.writing.with(|state| state.report.counters.damaged += rows),
                Ok(None) => return None,
                Err(error) => {
                    self.failed = Some(Instant::now());
                    self.writing.with(|state| journal_failed(&mut state.report, &error));
                    return None;
                }
            }
        }
    }

    fn commit(&mut self) {
        self.committed = Instant::now();
        if self.uncommitted_rows == 0 && !self.is_taking() {
            return;
        }
        if let Err(error) = self.store.commit() {
            return self.fail(error);
        }
        self.works();
        let (rows, taken) = (self.uncommitted_rows, self.taken);
        let refused = self.store.refused().saturating_sub(self.refused_of_others);
        self.uncommitted.clear();
        (self.uncommitted_rows, self.taken) = (0, 0);
        let emptied = self.journal.as_mut().filter(|journal| journal.is_taking()).map_or(Ok(()), Journal::stored);
        self.writing.with(|state| {
            state.gone(rows);
            let report = &mut state.report;
            let refused_now = refused.saturating_sub(report.counters.refused);
            if refused_now > 0 {
                refuse(report, refused_now, self.store.why_refused());
            }
            report.counters.written += (rows as u64 + taken).saturating_sub(refused_now);
            report.counters.refused = refused;
            report.counters.commits += 1;
            if let Err(error) = &emptied {
                journal_failed(report, error);
            }
        });
        self.publish();
    }

    /// The store took what was written.
    fn works(&mut self) {
        self.failed = None;
        if self.writing.with(|state| state.report.error.take()).is_some() {
            tracing::info!("the store can be written again");
        }
    }

    /// The store failed: what it had not committed waits from now on.
    fn fail(&mut self, error: String) {
        self.failed = Some(Instant::now());
        self.taken = 0;
        self.journal.iter_mut().for_each(Journal::again);
        self.writing.with(|state| {
            if state.report.error.is_none() {
                tracing::error!("the store cannot be written, rows wait: {error}");
            }
            state.report.counters.failures += 1;
            state.report.error = Some(error);
        });
        self.uncommitted_rows = 0;
        for rows in core::mem::take(&mut self.uncommitted) {
            self.put_by(rows);
        }
    }

    /// Rows wait: in the journal, or where it cannot be written in memory.
    fn put_by(&mut self, rows: Rows) {
        self.held.push_back(rows);
        let Writer { journal, held, writing, .. } = self;
        while let (Some(journal), Some(rows)) = (journal.as_mut(), held.front()) {
            let (count, appended) = (rows.count(), journal.append(rows));
            let is_done = writing.with(|state| match &appended {
                Ok(()) => {
                    state.gone(count);
                    state.report.counters.journalled += count as u64;
                    state.report.journal_error = None;
                    true
                }
                Err(error) => journal_failed(&mut state.report, error),
            });
            if !is_done {
                break;
            }
            held.pop_front();
        }
        while writing.with(|state| state.report.waiting > ROWS_WAITING_MAX) {
            let Some(lost) = held.pop_front() else { break };
            lose(writing, &lost);
        }
        self.publish();
    }

    fn sync(&mut self, every: Duration) {
        if self.synced.elapsed() < every {
            return;
        }
        self.synced = Instant::now();
        if let Some(Err(error)) = self.journal.as_mut().map(Journal::sync) {
            self.writing.with(|state| journal_failed(&mut state.report, &error));
        }
    }

    /// The last rows: what the store does not take now stays in the journal.
    fn finish(mut self) {
        let mut tries = 0;
        while self.is_behind() || self.uncommitted_rows > 0 {
            self.take_up();
            self.commit();
            if self.failed.is_some() {
                tries += 1;
                if tries == LAST_TRIES {
                    break;
                }
                std::thread::park_timeout(RETRY);
            }
        }
        self.held.iter().for_each(|rows| lose(&self.writing, rows));
        self.sync(Duration::ZERO);
        self.publish();
    }

    fn publish(&self) {
        let Some(journal) = &self.journal else { return };
        self.writing.with(|state| {
            (state.report.journal_rows, state.report.journal_octets) = (journal.rows(), journal.octets());
        });
    }
}

fn lose(writing: &Writing, rows: &Rows) {
    writing.with(|state| {
        state.gone(rows.count());
        state.report.counters.lost += rows.count() as u64;
    });
}

/// Rows were refused: told once for the same days, and until the end no run is healthy that lost them.
fn refuse(report: &mut Report, rows: u64, why: String) {
    if report.refused.as_ref() != Some(&why) {
        tracing::error!(rows, "rows are not stored, because their day cannot be written: {why}");
    }
    report.refused = Some(why);
}

/// False: it was not done.
fn journal_failed(report: &mut Report, error: &std::io::Error) -> bool {
    if report.journal_error.is_none() {
        tracing::error!("the journal of rows cannot be written, they wait in memory: {error}");
    }
    report.counters.journal_failures += 1;
    report.journal_error = Some(error.to_string());
    false
}

#[cfg(test)]
mod tests;
