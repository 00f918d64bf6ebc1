//! The thread that puts what was received into files, and snapshots beside the log.

use super::Desk;
use super::reading::{present, state_at};
use crate::gateway::Records;
use crate::job::received::Files;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use trunkline_commit::{Fault, Folder, Keep, SnapshotWriter};

/// Entries that are billed and in no file since the cursor was written last.
const CURSOR_ENTRIES: u64 = 10_000;

/// The thread that writes files and snapshots.
pub struct Keeper {
    desk: Arc<Desk>,
    files: Files,
    /// What was taken and is not in the files yet, nor on its way there.
    queue: VecDeque<(u64, Records)>,
    /// The last entry of which all was taken.
    durable: u64,
    disk: Arc<Folder>,
    folded: u64,
    /// What went wrong last was told.
    told: Option<String>,
}

impl Keeper {
    /// It goes on with these files and this log.
    pub fn new(desk: Arc<Desk>, files: Files, disk: Arc<Folder>, folded: u64) -> Keeper {
        Keeper { desk, files, queue: VecDeque::new(), durable: 0, disk, folded, told: None }
    }

    /// Does what is due.
    pub fn look(&mut self) {
        let failed = self.write().err().map(|error| error.to_string());
        if let Some(why) = failed.as_ref().filter(|why| self.told.as_ref() != Some(why)) {
            tracing::error!("charging gateway: records cannot be written to files: {why}");
        }
        self.told = failed;
        if let Err(fault) = self.fold() {
            tracing::error!("charging gateway: no snapshot could be made, a start will take longer: {fault}");
        }
    }

    /// Writes what is durable to files. While they cannot be written nothing more is taken: what waits is bounded, and
    /// then records are refused.
    fn write(&mut self) -> io::Result<()> {
        let free = self.queue.is_empty() && !self.files.waits();
        if free {
            self.durable = self.desk.own().0;
            self.queue.extend(self.desk.lock().take_passed(self.durable));
        }
        let (now, idle) = (present(), free && self.queue.is_empty());
        while let Some((entry, records)) = self.queue.front() {
            if let Some(packet) = records.packet() {
                self.files.append(*entry, &packet, now)?;
            }
            self.queue.pop_front();
        }
        if !idle || self.durable >= self.files.entry() + CURSOR_ENTRIES {
            self.files.commit(self.durable)?;
        }
        self.files.close_due(now)
    }

    /// Makes a snapshot of the closed segments whose records are all in files; segments that no start needs are
    /// removed.
    fn fold(&mut self) -> Result<(), Fault> {
        let (sealed, billed) = (self.desk.own().1, if self.told.is_none() { self.files.entry() } else { 0 });
        if sealed <= self.folded || sealed > billed {
            return Ok(());
        }
        let (state, _) = state_at(&self.disk, sealed, sealed)?;
        let mut writer = SnapshotWriter::begin(&*self.disk, sealed)?;
        state.snapshot(|record| writer.put(record))?;
        writer.finish(Keep::Needed)?;
        self.folded = sealed;
        Ok(())
    }

    /// The last of it.
    pub fn finish(&mut self) {
        let finished = self.write().and_then(|()| self.files.finish(present()));
        if let Err(error) = finished {
            tracing::error!("charging gateway: records wait for the next start: {error}");
        }
    }
}
