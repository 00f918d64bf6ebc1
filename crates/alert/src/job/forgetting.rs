//! A number that is to be forgotten: it becomes unreadable in the log of alerts, in what is open, over or waits to be
//! told. What is known is read again from there, as after a restart.

use super::log::{Fault, Memory};
use super::{Alerts, Order, Turning, sender};
use crate::entry::Entry;
use std::path::Path;
use std::sync::Arc;
use trunkline_commit::{Folder, Redacted, redact};
use trunkline_kit::forgotten::Forgotten;

impl Alerts {
    /// Makes a number unreadable in all that alerts keep, or only counts where it stands. Alerts about it alone are
    /// over; what was being sent is in doubt, as after a restart.
    ///
    /// # Errors
    /// Why not; what was done of it stays done.
    pub fn forget_number(&self, number: &Forgotten, write: bool) -> Result<Redacted, String> {
        let ended = || Err("the alert job has stopped".to_owned());
        self.ask(|reply| Order::ForgetNumber(number.clone(), write, reply)).unwrap_or_else(ended)
    }
}

/// The same where nobody runs.
///
/// # Errors
/// [`Fault`]: another process has the folder; the log is damaged, or cannot be written.
pub fn forget_number(path: &Path, number: &Forgotten, write: bool) -> Result<Redacted, Fault> {
    let named = |error| Fault::Folder(path.display().to_string(), error);
    let folder = if write { Folder::open(path) } else { Folder::beside(path) }.map_err(named)?;
    Ok(out_of(&folder, number, write)?)
}

fn out_of(folder: &Folder, number: &Forgotten, write: bool) -> Result<Redacted, trunkline_commit::Fault> {
    redact(folder, write, &mut |record| {
        let Some(without) = number.out_of_json(record) else { return Ok(None) };
        // It is read again, or it is not written.
        Entry::decode(&without).map_err(|error| error.to_string())?;
        Ok(Some(without))
    })
}

impl Turning {
    pub(super) fn forget_number(&mut self, number: &Forgotten, write: bool) -> Result<Redacted, String> {
        if !self.memory.flush() {
            return Err(self.memory.fault.clone().unwrap_or_default());
        }
        let folder = Arc::clone(self.memory.folder());
        if !write {
            return out_of(&folder, number, false).map_err(|fault| fault.to_string());
        }
        // What it has begun is in doubt from now on.
        let sender = sender(&self.rules, &self.reporting.maker.shelf, &self.back).map_err(|fault| fault.to_string())?;
        drop(core::mem::replace(&mut self.sender, sender));
        let done = out_of(&folder, number, true).map_err(|fault| fault.to_string());
        let again = Memory::open_on(folder, &self.rules, super::now_s());
        match again {
            Ok(memory) => self.memory.become_again(memory),
            Err(fault) => self.memory.stay_closed(&format!("it could not be read again: {fault}")),
        }
        done
    }
}
