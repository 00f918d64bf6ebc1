//! How far records of this ledger were sent on to charging gateways.

use crate::account::{Octets, fields};
use crate::gateway::{NoSnapshot, sender};

/// A place in the files of records: what is before it is with the sender, or where it belongs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// The running count of a file.
    pub file: u32,
    /// Octets of it.
    pub octets: u64,
}

fields! {
    Mark { file, octets }
}

/// What entries say of records that are sent on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forwarding {
    /// Up to where they were queued.
    pub at: Mark,
    /// Packets that are not where they belong yet, and whose numbers are taken.
    pub sender: sender::State,
}

impl Forwarding {
    /// Shows the records of a snapshot: the first one is the place, the others are those of the sender.
    pub(super) fn snapshot<E>(&self, mut put: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let mut at = Vec::new();
        self.at.put(&mut at);
        put(&at)?;
        self.sender.snapshot(put)
    }
}

/// One that is read record by record.
#[derive(Debug, Default)]
pub(super) struct Restoring {
    at: Option<Mark>,
    sender: sender::Restoring,
}

impl Restoring {
    /// Takes the next record, all of it; none if it is none.
    pub fn take(&mut self, from: &mut &[u8]) -> Option<()> {
        if self.at.is_none() {
            self.at = Some(Mark::take(from)?);
            return Some(());
        }
        self.sender.take(std::mem::take(from)).ok()
    }

    /// What the records come to.
    pub fn forwarding(self) -> Result<Forwarding, NoSnapshot> {
        Ok(Forwarding { at: self.at.ok_or(NoSnapshot)?, sender: self.sender.state()? })
    }
}
