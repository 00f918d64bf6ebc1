//! The thread that writes the checkpoint.
//!
//! A checkpoint is written when the rows of all that was closed before it are in the store, or wait for it in the
//! journal. As long as that cannot be, the old one stays, and the next start reads more than it needs.

use super::checkpoint::{Checkpoint, JOINED_MAX};
use super::state::{Phase, Recovery, State};
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
/// A clock that goes back by less is slewed, not set.
const SET_BACK_NS: i64 = 1_000_000_000;
/// How often it is looked whether what was asked for is there.
const TICK: Duration = Duration::from_millis(50);
/// How often it is looked whether the clock was set back: what a checkpoint says is then of no time any more.
const CLOCK_EVERY: Duration = Duration::from_secs(1);
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
            let (mut next, mut latest_ns) = (Instant::now(), now_ns());
            if self.recovery.report().phase == Phase::Idle {
                // From here on, whatever comes.
                self.store(&Checkpoint { at_ns: self.since_ns, from_ns: self.since_ns, ..Checkpoint::default() });
                next += self.every;
            }
            loop {
                let now_ns = now_ns();
                if now_ns < latest_ns.saturating_sub(SET_BACK_NS) {
                    next = Instant::now();
                }
                latest_ns = now_ns;
                let patience = next.saturating_duration_since(Instant::now());
                if patience.is_zero() && self.is_free() {
                    next = Instant::now() + self.every;
                    let _is_written = self.write().is_some();
                } else if self.recovery.wait(patience.min(CLOCK_EVERY).max(TICK)) {
                    return self;
                }
            }
        })
    }

    /// The last one, when all rows are in the store or in the journal.
    pub fn finish(&self) {
        let Some(standing) = self.shared.stands.last().filter(|_| self.is_free()) else { return };
        if self.writing.gone() == self.writing.put() && self.writing.report().counters.lost == 0 {
            self.store(&Checkpoint { ended: true, ..self.of(standing) });
        }
    }

    /// Whether what was before the start is recovered as far as it is known.
    fn is_free(&self) -> bool {
        !matches!(self.recovery.report().phase, Phase::Finding | Phase::Reading)
    }

    /// None if it is to end, or rows do not get on.
    fn write(&self) -> Option<()> {
        self.shared.stands.ask();
        let standing = self.until(|| self.shared.stands.answer())?;
        let checkpoint = self.of(standing);
        let put = self.writing.put();
        self.until(|| (self.writing.gone() >= put).then_some(()))?;
        let synced = Instant::now() + SYNCED;
        self.until(|| (Instant::now() >= synced).then_some(()))?;
        self.store(&checkpoint);
        Some(())
    }

    fn of(&self, standing: Standing) -> Checkpoint {
        checkpoint(standing, &mut self.recovery.lock(), self.since_ns, now_ns())
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

/// What to note of a capture that listens since then: what stands, with what recovery still waits for.
///
/// It is of the time up to which signalling is analysed, not of now: packets wait in rings and lanes, and a call that
/// they show to be joined in mid-call is not among those that stand.
fn checkpoint(standing: Standing, state: &mut State, since_ns: i64, now_ns: i64) -> Checkpoint {
    let Standing { until_ns, mut open, oldest_ns: mut from_ns, mut joined } = standing;
    // A clock that was set back since: when the capture began is of no time any more.
    let since_ns = if since_ns > now_ns { i64::MIN } else { since_ns };
    let at_ns = until_ns.max(since_ns).min(now_ns);
    if state.report.phase == Phase::Following {
        for call in state.pending() {
            open += 1;
            from_ns = Some(from_ns.map_or(call.start_ns, |from_ns| from_ns.min(call.start_ns)));
            joined.extend(call.joined);
        }
    }
    let beyond = joined.len().saturating_sub(JOINED_MAX) as u64;
    state.report.counted.beyond += beyond;
    joined.truncate(JOINED_MAX);
    let short_ns = at_ns.saturating_sub(SHORT_NS);
    let from_ns = from_ns.map_or(short_ns, |from_ns| from_ns.min(short_ns));
    // No packet of before the capture is missing.
    let from_ns = if open == 0 { from_ns.max(since_ns) } else { from_ns };
    Checkpoint { at_ns, from_ns, open, ended: false, joined }
}

#[cfg(test)]
mod tests {
    use super::super::state::Followed;
    use super::*;
    use trunkline_kit::Id;

    const SECOND: i64 = 1_000_000_000;
    const SINCE: i64 = 1_795_181_123 * SECOND;

    fn standing(until_ns: i64, oldest_ns: Option<i64>) -> Standing {
        Standing { until_ns, open: oldest_ns.iter().len() as u64, oldest_ns, joined: Vec::new() }
    }

    /// A call that was captured before the checkpoint and analysed after it, as joined in mid-call, is not named in it,
    /// and must not be taken for one that is read from its middle.
    #[test]
    fn a_checkpoint_is_of_the_time_up_to_which_calls_are_analysed() {
        let (until_ns, now_ns) = (SINCE + 100 * SECOND, SINCE + 101 * SECOND);
        let lags = checkpoint(standing(until_ns, None), &mut State::default(), SINCE, now_ns);
        assert_eq!((lags.at_ns, lags.from_ns), (until_ns, until_ns - SHORT_NS));
        // Packets with stamps of tomorrow say nothing about today's.
        let ahead = checkpoint(standing(now_ns + 86_400 * SECOND, None), &mut State::default(), SINCE, now_ns);
        assert_eq!(ahead.at_ns, now_ns);
        // The clock was set back by an hour since the start: packets of now are not before the capture.
        let early_ns = SINCE - 3_600 * SECOND;
        let back = checkpoint(standing(early_ns, None), &mut State::default(), SINCE, early_ns);
        assert_eq!((back.at_ns, back.from_ns), (early_ns, early_ns - SHORT_NS));
        // Nothing was captured yet.
        let nothing = checkpoint(standing(i64::MIN, None), &mut State::default(), SINCE, now_ns);
        assert_eq!((nothing.at_ns, nothing.from_ns), (SINCE, SINCE));
    }

    #[test]
    fn calls_that_recovery_waits_for_are_in_it_until_they_are_read() {
        let now_ns = SINCE + 100 * SECOND;
        let (old, id) = (SINCE - 5_000 * SECOND, Id::derive(SINCE, b"a call"));
        let call = Followed { start_ns: old, last_ns: SINCE, joined: Some(id), is_up: true, ..Followed::default() };
        let mut state = State::default();
        state.follow("a".to_owned(), call);
        state.report.phase = Phase::Following;
        let of = |state: &mut State| checkpoint(standing(now_ns, Some(SINCE + SECOND)), state, SINCE, now_ns);
        let waits = of(&mut state);
        assert_eq!((waits.from_ns, waits.open, &waits.joined[..]), (old, 2, &[id][..]));
        // It has ended, and is not read as a whole yet.
        state.ended.insert("a".to_owned());
        state.followed.values_mut().for_each(|call| call.is_up = false);
        assert_eq!(of(&mut state), waits);
        state.ended.clear();
        let read = of(&mut state);
        assert_eq!((read.from_ns, read.open, read.joined.len()), (SINCE + SECOND, 1, 0));
    }

    #[test]
    fn names_beyond_the_limit_are_counted() {
        let mut state = State::default();
        let joined = (0..JOINED_MAX as i64 + 7).map(|n| Id::derive(SINCE + n, b"a call")).collect();
        let stands = Standing { joined, ..standing(SINCE, Some(SINCE)) };
        assert_eq!(checkpoint(stands, &mut state, SINCE, SINCE).joined.len(), JOINED_MAX);
        assert_eq!(state.report.counted.beyond, 7);
    }
}
