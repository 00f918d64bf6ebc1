//! A start: the newest snapshot, the entries since, and which of their records are in no file yet.

use super::Place;
use crate::gateway::Records;
use crate::gateway::receiver::{Entry, Restoring, State};
use crate::job::mend::tell_found;
use crate::job::received::Files;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use trunkline_commit::{Fault, Folder, Log, Options, Snapshot, Witness};

/// What was read of it at a start.
pub struct Found {
    pub log: Log<Folder>,
    pub state: State,
    pub passed: VecDeque<(u64, Records)>,
    pub files: Files,
}

/// Seconds since 1970.
pub fn present() -> i64 {
    let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(unix.as_secs()).unwrap_or(i64::MAX)
}

/// What entries come to as they are read.
#[derive(Default)]
struct Reading {
    restoring: Option<Restoring>,
    state: State,
    /// Records of entries after this one are wanted.
    billed: u64,
    passed: VecDeque<(u64, Records)>,
}

impl Reading {
    fn snapshot(&mut self, record: &[u8]) -> Result<(), String> {
        self.restoring.get_or_insert_default().take(record).map_err(|none| none.to_string())
    }

    fn settle(&mut self) -> Result<(), String> {
        if let Some(restoring) = self.restoring.take() {
            self.state = restoring.state().map_err(|none| none.to_string())?;
        }
        Ok(())
    }

    fn entry(&mut self, number: u64, record: &[u8]) -> Result<(), String> {
        self.settle()?;
        let entry = Entry::decode(record).ok_or("not an entry of a charging gateway of this version")?;
        if entry.sequence != number || number != self.state.sequence() + 1 {
            return Err(format!("entry {} comes after {}", entry.sequence, self.state.sequence()));
        }
        let passed = self.state.fold(&entry);
        if number > self.billed {
            self.passed.extend(passed.into_iter().map(|records| (number, records)));
        }
        Ok(())
    }
}

/// Reads all of it.
///
/// # Errors
/// What is damaged or not as it was left, with its place.
pub fn read(place: &Place, options: Options) -> Result<Found, String> {
    let text = |path: &Path, error: &dyn core::fmt::Display| format!("{}: {error}", path.display());
    // Where there is no log, peers are told that their numbers begin anew.
    let restart_counter = present() as u8;
    let mut files = Files::open(&place.files, &place.node, restart_counter).map_err(|e| text(&place.files, &e))?;
    let disk = Folder::open(&place.log).map_err(|e| text(&place.log, &e))?;
    let billed = files.entry();
    let reading = RefCell::new(Reading { billed, ..Reading::default() });
    let known = Witness { who: "the cursor of received records".to_owned(), last: billed };
    let log = Log::open_known(
        Arc::new(disk),
        options,
        &[known],
        |record| reading.borrow_mut().snapshot(record),
        |number, record| reading.borrow_mut().entry(number, record),
    );
    let log = log.map_err(|e| text(&place.log, &e))?;
    files.follow(log.id()).map_err(|why| text(&place.files, &why))?;
    tell_found("charging: the log of received records", log.found());
    let mut reading = reading.into_inner();
    reading.settle()?;
    Ok(Found { log, state: reading.state, passed: reading.passed, files })
}

/// What entries up to one come to, and what passed to billing after another one.
pub fn state_at(disk: &Folder, to: u64, billed: u64) -> Result<(State, VecDeque<(u64, Records)>), Fault> {
    let mut reading = Reading { billed, ..Reading::default() };
    let snapshots = Snapshot::all(disk)?;
    let newest = snapshots.iter().find(|snapshot| snapshot.last <= to.min(billed));
    if let Some(snapshot) = newest {
        snapshot.each(disk, |record| reading.snapshot(record))?;
    }
    let from = newest.map_or(0, |snapshot| snapshot.last) + 1;
    if from <= to {
        trunkline_commit::read(disk, from, |number, record| {
            if number > to {
                return Ok(core::ops::ControlFlow::Break(()));
            }
            reading.entry(number, record).map(core::ops::ControlFlow::Continue)
        })?;
    }
    reading.settle().map_err(|why| Fault::Refused { number: to, why })?;
    Ok((reading.state, reading.passed))
}
