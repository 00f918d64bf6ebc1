//! A start: records are read and decoded here, and folded by a thread beside it.

use super::reading::Reading;
use crate::account::Entry;
use crate::session::State;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Scope, ScopedJoinHandle};

/// Entries that go over together, and so many of such that wait: some megabytes.
const BATCH: usize = 1000;
const BATCHES: usize = 8;

/// What is read, on its way to a state.
pub struct Ahead<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    reading: Reading,
    batch: Vec<Entry>,
    folds: Option<Folds<'scope>>,
}

struct Folds<'scope> {
    to: SyncSender<Vec<Entry>>,
    thread: ScopedJoinHandle<'scope, Result<State, String>>,
}

impl<'scope, 'env> Ahead<'scope, 'env> {
    /// With nothing read.
    pub fn new(scope: &'scope Scope<'scope, 'env>) -> Self {
        Ahead { scope, reading: Reading::default(), batch: Vec::new(), folds: None }
    }

    /// Takes the next record of the snapshot.
    pub fn snapshot(&mut self, record: &[u8]) -> Result<(), String> {
        self.reading.snapshot(record)
    }

    /// Takes the next record of the log.
    pub fn entry(&mut self, number: u64, record: &[u8]) -> Result<(), String> {
        self.batch.push(Entry::of_record(number, record)?);
        if self.batch.len() < BATCH { Ok(()) } else { self.hand_over() }
    }

    /// What all of them come to.
    pub fn state(mut self) -> Result<State, String> {
        if self.folds.is_none() {
            self.batch.iter().try_for_each(|entry| self.reading.fold(entry))?;
            return self.reading.state();
        }
        self.hand_over()?;
        self.folds.take().map_or_else(|| Ok(State::default()), Folds::end)
    }

    fn hand_over(&mut self) -> Result<(), String> {
        let folds = self.folds.get_or_insert_with(|| {
            let (to, from) = sync_channel(BATCHES);
            let reading = core::mem::take(&mut self.reading);
            Folds { to, thread: self.scope.spawn(move || fold(reading, &from)) }
        });
        let batch = core::mem::replace(&mut self.batch, Vec::with_capacity(BATCH));
        match folds.to.send(batch) {
            Ok(()) => Ok(()),
            // It has ended, and says why.
            Err(_) => self.folds.take().map_or(Ok(()), |folds| folds.end().map(drop)),
        }
    }
}

impl Folds<'_> {
    fn end(self) -> Result<State, String> {
        drop(self.to);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

fn fold(mut reading: Reading, from: &Receiver<Vec<Entry>>) -> Result<State, String> {
    for batch in from {
        batch.iter().try_for_each(|entry| reading.fold(entry))?;
    }
    reading.state()
}
