//! The thread that puts what was received into files, and snapshots beside the log.

use super::reading::{present, state_at};
use super::{Desk, Place};
use crate::job::received::Files;
use std::io;
use std::sync::Arc;
use trunkline_commit::{Fault, Folder, Keep, SnapshotWriter};

/// Entries that are billed and in no file since the cursor was written last.
const CURSOR_ENTRIES: u64 = 10_000;

/// The thread that writes files and snapshots.
pub struct Keeper {
    desk: Arc<Desk>,
    place: Place,
    /// None after an error: they are opened anew.
    files: Option<Files>,
    disk: Arc<Folder>,
    folded: u64,
}

impl Keeper {
    /// It goes on with these files and this log.
    pub fn new(desk: Arc<Desk>, place: Place, files: Files, disk: Arc<Folder>, folded: u64) -> Keeper {
        Keeper { desk, place, files: Some(files), disk, folded }
    }

    /// Does what is due.
    pub fn look(&mut self) {
        if let Err(error) = self.write() {
            tracing::error!("charging gateway: {}: {error}", self.place.files.display());
            self.files = None;
        }
        if let Err(fault) = self.fold() {
            tracing::error!("charging gateway: no snapshot could be made, a start will take longer: {fault}");
        }
    }

    /// Writes what is durable to files.
    fn write(&mut self) -> io::Result<()> {
        if self.files.is_none() {
            self.reopen()?;
        }
        let Some(files) = &mut self.files else { return Ok(()) };
        let durable = self.desk.committer.durable();
        let passed = self.desk.lock().take_passed(durable);
        let now = present();
        for (entry, packet) in passed.iter().filter_map(|(entry, records)| Some((*entry, records.packet()?))) {
            files.append(entry, &packet, now)?;
        }
        if passed.is_empty() && durable < files.cursor().entry + CURSOR_ENTRIES {
            return files.close_due(now);
        }
        files.commit(durable, now)
    }

    /// After an error of the files: what they have not goes to them again.
    fn reopen(&mut self) -> io::Result<()> {
        let files = Files::open(&self.place.files, &self.place.node, 0)?;
        let durable = self.desk.committer.durable();
        let (_, passed) = state_at(&self.disk, durable, files.cursor().entry).map_err(io::Error::other)?;
        let mut inner = self.desk.lock();
        inner.passed.retain(|(entry, _)| *entry > durable);
        passed.into_iter().rev().for_each(|one| inner.passed.push_front(one));
        inner.passed_octets = inner.passed.iter().map(|(_, records)| records.octets().len()).sum();
        self.files = Some(files);
        Ok(())
    }

    /// Makes a snapshot of the closed segments whose records are all in files; segments that no start needs are
    /// removed.
    fn fold(&mut self) -> Result<(), Fault> {
        let (sealed, billed) = (self.desk.committer.sealed(), self.files.as_ref().map_or(0, |f| f.cursor().entry));
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
        let finished = self.write().and_then(|()| self.files.as_mut().map_or(Ok(()), |files| files.finish(present())));
        if let Err(error) = finished {
            tracing::error!("charging gateway: {}: {error}", self.place.files.display());
        }
    }
}
