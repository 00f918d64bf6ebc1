//! Rows whose giver keeps them until the store has them, on the same way: so that a process has one writer of the
//! store. Two would take turns by the locks of days, and wait for each other.

use super::{RowsOut, Target, Writer, Writing};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use trunkline_store::row::Rows;

/// Rows, and who waits until they are committed.
pub(super) struct Asked {
    rows: Rows,
    answer: SyncSender<Result<u64, String>>,
}

/// The end of the way for whoever waits for the store. While it is there, the store's thread goes on.
pub struct Asking(RowsOut);

impl Asking {
    /// Another end of the same way.
    pub fn of(out: &RowsOut) -> Asking {
        Asking(out.another())
    }

    /// Has rows committed; how many of them the store refuses, as their day cannot be written.
    ///
    /// # Errors
    /// Why they are not in the store, or may not be: they are to be brought again.
    pub fn put(&self, rows: Rows) -> Result<u64, String> {
        let over = || Err("nobody writes to the store any more".to_owned());
        // What is asked is dropped where the thread ends without an answer.
        ask(&self.0.writing, rows).map_or_else(over, |told| told.recv().unwrap_or_else(|_| over()))
    }
}

/// Puts rows on the way; where their answer comes. None if nobody answers any more.
pub(super) fn ask(writing: &Writing, rows: Rows) -> Option<Receiver<Result<u64, String>>> {
    let (answer, told) = sync_channel(1);
    writing.with(|state| {
        state.asked.extend((!state.closed).then_some(Asked { rows, answer }));
        (!state.closed).then_some(told)
    })
}

/// Dropped, nobody is waited for any more: its thread is over, or has failed.
pub(super) struct Closing(pub Arc<Writing>);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.with(|state| {
            state.closed = true;
            state.asked.clear();
        });
    }
}

impl<T: Target> Writer<T> {
    /// Commits what others wait for. Each waits for its answer before it asks again.
    pub(super) fn answer(&mut self) {
        while let Some(Asked { rows, answer }) = self.writing.with(|state| state.asked.pop_front()) {
            let told = self.put_alone(&rows);
            // Who asked has gone, and brings it again.
            let _gone = answer.send(told);
        }
    }

    /// In a commit of its own: what of it is refused is known, and where it fails it is not put by, as its giver has
    /// it.
    fn put_alone(&mut self, rows: &Rows) -> Result<u64, String> {
        let fails = |writer: &Self| writer.writing.report().error.unwrap_or_else(|| "the store failed".to_owned());
        if self.is_left_alone() {
            return Err(fails(self));
        }
        self.commit();
        if self.is_left_alone() {
            return Err(fails(self));
        }
        let before = self.store.refused();
        if let Err(error) = self.store.write(rows).and_then(|()| self.store.commit()) {
            self.fail(error.clone());
            return Err(error);
        }
        self.works();
        self.writing.show(rows);
        let refused = self.store.refused().saturating_sub(before);
        self.refused_of_others += refused;
        Ok(refused)
    }
}
