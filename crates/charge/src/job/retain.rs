//! Entries of the ledger are given up when the operator says so, by the thread that makes snapshots: one of both at a
//! time. What records still need stays, and what a start may need.

use super::records::Told;
use crate::calendar::Moment;
use crate::ledger::{before_time, fold_at_ease, retain};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use trunkline_commit::Disk;

/// How long records have for a checkpoint.
const CHECKPOINT_WAIT: Duration = Duration::from_secs(5);

/// Up to where entries are to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Those before this one.
    Entry(u64),
    /// Those before this moment.
    Time(Moment),
}

/// What is wanted, and what came of it.
#[derive(Debug, Default)]
pub struct Retaining(Mutex<State>);

/// See [`Retaining`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    wanted: Option<Until>,
    /// Whether it is being done.
    pub busy: bool,
    /// How often it was done.
    pub done: u64,
    /// The first entry that is there since.
    pub first: Option<u64>,
    /// The first one that records need: nothing from there on was given up.
    pub needed: Option<u64>,
    /// Why it was not done.
    pub error: Option<String>,
}

impl Retaining {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wants entries to go; false while others do.
    pub fn want(&self, until: Until) -> bool {
        let mut state = self.lock();
        let free = !state.busy && state.wanted.is_none();
        if free {
            state.wanted = Some(until);
        }
        free
    }

    /// How it gets on.
    pub fn state(&self) -> State {
        let state = self.lock().clone();
        State { busy: state.busy || state.wanted.is_some(), ..state }
    }

    /// Does what is wanted, if anything is.
    pub fn look<D: Disk>(&self, disk: &D, records: Option<&Arc<Told>>, rest: &mut dyn FnMut()) {
        let Some(until) = self.begin() else { return };
        let needed = records.map(|told| needed(told, until));
        let done = give_up(disk, until, needed, rest);
        if let Err(why) = &done {
            tracing::error!("charging: no entries of the ledger are given up: {why}");
        }
        let mut state = self.lock();
        (state.busy, state.done, state.needed) = (false, state.done + 1, needed);
        (state.first, state.error) = (done.as_ref().ok().copied(), done.err());
    }

    fn begin(&self) -> Option<Until> {
        let mut state = self.lock();
        let wanted = state.wanted.take();
        state.busy = wanted.is_some();
        wanted
    }
}

/// The first entry that records need, after a checkpoint of them.
fn needed(told: &Told, until: Until) -> u64 {
    told.want_checkpoint();
    let pause = Duration::from_millis(100);
    for _ in 0..CHECKPOINT_WAIT.as_millis() / pause.as_millis() {
        let report = told.report();
        let enough = matches!(until, Until::Entry(before) if report.needed >= before);
        if enough || report.needed > report.entry {
            break;
        }
        std::thread::park_timeout(pause);
    }
    told.report().needed
}

fn give_up<D: Disk>(disk: &D, until: Until, needed: Option<u64>, rest: &mut dyn FnMut()) -> Result<u64, String> {
    let before = match until {
        Until::Entry(before) => before,
        Until::Time(time) => before_time(disk, time).map_err(|fault| fault.to_string())?,
    };
    // Entries go only where snapshots stand for them.
    fold_at_ease(disk, rest).map_err(|fault| fault.to_string())?;
    retain(disk, before.min(needed.unwrap_or(u64::MAX))).map_err(|fault| fault.to_string())
}
