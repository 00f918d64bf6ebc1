//! The thread that writes the checkpoint.
//!
//! A checkpoint is written when the rows of all that was closed before it are in the store, or wait for it in the
//! journal. As long as that cannot be, the old one stays, and the next start reads more than it needs.

use super::checkpoint::{Checkpoint, JOINED_MAX};
use super::state::{Phase, Recovery};
use crate::run::engine::Shared;
use crate::run::now_ns;
use crate::run::rows::Writing;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use trunkline_calls::signalling::Standing;

/// Transactions and streams without a call that last no longer than that are recovered as well.
const SHORT_NS: i64 = 90_000_000_000;
/// How often it is looked whether what was asked for is there.
const TICK: Duration = Duration::from_millis(50);
/// Rows that wait on disk are durable after so long: the journal is synced each second.
const SYNCED: Duration = Duration::from_millis(1500);

/// What it needs.
pub struct Keeper {
    data: PathBuf,
    every: Duration,
    recovery: Arc<Recovery>,
    shared: Arc<Shared>,
    writing: Arc<Writing>,
    /// When the capture began, nanoseconds since 1970.
    since_ns: i64,
}

impl Keeper {
    /// Of the checkpoint of a data folder, for a capture that began then.
    pub fn new(
        data: PathBuf,
        every: Duration,
        recovery: Arc<Recovery>,
        shared: Arc<Shared>,
        writing: Arc<Writing>,
        since_ns: i64,
    ) -> Keeper {
        Keeper { data, every, recovery, shared, writing, since_ns }
    }

    /// Writes one, as soon as there is nothing of before the start that one would forget, and then one each so often.
    ///
    /// # Errors
    /// The thread could not be started.
    pub fn start(self) -> std::io::Result<JoinHandle<Keeper>> {
        std::thread::Builder::new().name("checkpoint".to_owned()).spawn(move || {
            let mut next = Instant::now();
            if self.recovery.report().phase == Phase::Idle {
                // From here on, whatever comes.
                self.store(&Checkpoint { at_ns: self.since_ns, from_ns: self.since_ns, ..Checkpoint::default() });
                next += self.every;
            }
            loop {
                let patience = next.saturating_duration_since(Instant::now());
                if patience.is_zero() && self.is_free() {
                    next = Instant::now() + self.every;
                    let _is_written = self.write().is_some();
                } else if self.recovery.wait(patience.max(TICK)) {
                    return self;
                }
            }
        })
    }

    /// The last one, when all rows are in the store or in the journal.
    pub fn finish(&self) {
        let Some(standing) = self.shared.stands.last().filter(|_| self.is_free()) else { return };
        if self.writing.gone() == self.writing.put() && self.writing.report().counters.lost == 0 {
            self.store(&Checkpoint { ended: true, ..self.of(standing, now_ns()) });
        }
    }

    /// Whether what was before the start is recovered as far as it is known.
    fn is_free(&self) -> bool {
        !matches!(self.recovery.report().phase, Phase::Finding | Phase::Reading)
    }

    /// None if it is to end, or rows do not get on.
    fn write(&self) -> Option<()> {
        let at_ns = now_ns();
        self.shared.stands.ask();
        let standing = self.until(|| self.shared.stands.answer())?;
        let checkpoint = self.of(standing, at_ns);
        let put = self.writing.put();
        self.until(|| (self.writing.gone() >= put).then_some(()))?;
        let synced = Instant::now() + SYNCED;
        self.until(|| (Instant::now() >= synced).then_some(()))?;
        self.store(&checkpoint);
        Some(())
    }

    /// With what recovery still waits for.
    fn of(&self, standing: Standing, at_ns: i64) -> Checkpoint {
        let state = self.recovery.lock();
        let (mut open, mut from_ns, mut joined) = (standing.open, standing.oldest_ns, standing.joined);
        if state.report.phase == Phase::Following {
            for call in state.pending() {
                open += 1;
                from_ns = Some(from_ns.map_or(call.start_ns, |from_ns| from_ns.min(call.start_ns)));
                joined.extend(call.joined);
            }
        }
        drop(state);
        let beyond = joined.len().saturating_sub(JOINED_MAX) as u64;
        if beyond > 0 {
            self.recovery.lock().report.counted.beyond += beyond;
            joined.truncate(JOINED_MAX);
        }
        let short_ns = at_ns.saturating_sub(SHORT_NS);
        let from_ns = from_ns.map_or(short_ns, |from_ns| from_ns.min(short_ns));
        // No packet of before the capture is missing.
        let from_ns = if open == 0 { from_ns.max(self.since_ns) } else { from_ns };
        Checkpoint { at_ns, from_ns, open, ended: false, joined }
    }

    fn store(&self, checkpoint: &Checkpoint) {
        let stored = checkpoint.store(&self.data);
        let mut state = self.recovery.lock();
        match stored {
            Ok(()) => {
                state.report.counted.checkpoints += 1;
                state.report.error = None;
            }
            Err(error) => {
                state.report.counted.failures += 1;
                if state.report.error.is_none() {
                    tracing::error!("the checkpoint of calls cannot be written: {error}");
                }
                state.report.error = Some(error.to_string());
            }
        }
    }

    /// Waits; none if it is to end.
    fn until<T>(&self, mut is_so: impl FnMut() -> Option<T>) -> Option<T> {
        loop {
            if let Some(it) = is_so() {
                return Some(it);
            }
            if self.recovery.wait(TICK) {
                return None;
            }
        }
    }
}
