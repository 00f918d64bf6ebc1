//! Records become a state: those of a snapshot, then entries.

use crate::account::Entry;
use crate::session::{Restoring, State};

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
    pub fn entry(&mut self, number: u64, record: &[u8]) -> Result<Entry, String> {
        let entry = Entry::of_record(number, record)?;
        self.fold(&entry)?;
        Ok(entry)
    }

    /// Takes the next entry.
    pub fn fold(&mut self, entry: &Entry) -> Result<(), String> {
        self.settle()?;
        if entry.sequence != self.state.sequence() + 1 {
            return Err(format!("it comes after entry {}", self.state.sequence()));
        }
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
