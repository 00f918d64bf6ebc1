//! Records become a state: those of a snapshot, then entries.

use super::Fault;
use crate::account::{Entry, NoEntry};
use crate::session::{Restoring, State};
use core::cell::Cell;
use trunkline_commit::Fault as LogFault;

/// A state at its making.
#[derive(Debug, Default)]
pub struct Reading {
    restoring: Option<Restoring>,
    state: State,
}

impl Reading {
    /// Takes the next record of a snapshot.
    pub fn snapshot(&mut self, record: &[u8]) -> Result<(), String> {
        self.restoring.get_or_insert_default().take(record).map_err(|fault| fault.to_string())
    }

    /// Takes the next record of the log; the entry that it is.
    pub fn entry(&mut self, number: u64, record: &[u8]) -> Result<Entry, NoEntry> {
        let entry = Entry::of_record(number, record)?;
        self.fold(&entry)?;
        Ok(entry)
    }

    /// Takes the next entry; one that is refused changes nothing.
    pub fn fold(&mut self, entry: &Entry) -> Result<(), NoEntry> {
        self.settle().map_err(NoEntry::Before)?;
        if entry.sequence != self.state.sequence() + 1 {
            return Err(NoEntry::After(self.state.sequence()));
        }
        self.state.fits(entry)?;
        self.state.fold(entry);
        Ok(())
    }

    /// The snapshot was read.
    fn settle(&mut self) -> Result<(), String> {
        if let Some(restoring) = self.restoring.take() {
            self.state = restoring.state().map_err(|fault| fault.to_string())?;
        }
        Ok(())
    }

    /// What those so far come to.
    pub fn look(&mut self) -> Result<&State, String> {
        self.settle()?;
        Ok(&self.state)
    }

    /// What all of them come to.
    pub fn state(mut self) -> Result<State, String> {
        self.settle()?;
        Ok(self.state)
    }
}

/// Tells an entry that is understood and cannot be there, which is damage, from one that is not understood: the log
/// knows of both only that they were refused.
#[derive(Debug, Default)]
pub struct Sieve(Cell<bool>);

impl Sieve {
    /// What the log is told of an entry.
    pub fn pass<T>(&self, entry: Result<T, NoEntry>) -> Result<T, String> {
        entry.map_err(|no| {
            self.0.set(no.is_damage());
            no.to_string()
        })
    }

    /// The fault that the log then had.
    pub fn fault(&self, fault: LogFault) -> Fault {
        match fault {
            LogFault::Refused { .. } if self.0.get() => Fault::Unfit(fault),
            fault => Fault::Log(fault),
        }
    }
}
