//! Up to which record a log is known to have been durable, and by whom.

use crate::disk::Disk;
use crate::fault::{Fault, Gone, Witness};
use crate::identity::LogId;
use crate::mark::{self, Marked};
use crate::read::End;
use crate::snapshot::Snapshot;

/// Everybody who knows.
#[derive(Clone, Debug, Default)]
pub struct Durable {
    witnesses: Vec<Witness>,
    /// What the log's own mark said.
    pub marked: Option<Marked>,
    log: Option<LogId>,
}

impl Durable {
    /// The mark and the snapshots of a folder, and others. To be asked before the segments are listed: what is written
    /// meanwhile is more.
    pub fn of<D: Disk>(disk: &D, others: &[Witness]) -> Result<Durable, Fault> {
        let marked = Marked::load(disk)?;
        // What is of another log knows nothing of this one.
        let (log, mut own) = (LogId::of(disk)?, None);
        let marked = marked.of(log);
        for snapshot in Snapshot::all(disk)? {
            if snapshot.is_of(disk, log)? {
                own = Some(snapshot);
                break;
            }
        }
        let snapshots = own.into_iter().chain(Snapshot::opening(disk)?);
        let snapshots = snapshots.map(|snapshot| Witness { who: snapshot.name().to_owned(), last: snapshot.last });
        let witnesses = marked.witness().into_iter().chain(snapshots).chain(others.iter().cloned()).collect();
        Ok(Durable { witnesses, marked: Some(marked), log })
    }

    /// The highest number; 0 if nobody knows.
    pub fn last(&self) -> u64 {
        self.witnesses.iter().map(|witness| witness.last).max().unwrap_or_default()
    }

    /// That a log which ends there ends with no less.
    pub fn check(&self, name: &str, end: End) -> Result<(), Fault> {
        let (from, to) = (end.next, self.last());
        if to < from {
            return Ok(());
        }
        let mut witnesses: Vec<_> = self.witnesses.iter().filter(|witness| witness.last >= from).cloned().collect();
        witnesses.sort_by_key(|witness| core::cmp::Reverse(witness.last));
        let (name, at, what) = (name.to_owned(), end.at, "the log ends");
        Err(Fault::gone(Gone { name, at, what, from, to, last: to, resumes: None, witnesses }))
    }

    /// What is gone, with the last record that is known to have been there.
    pub fn tell(&self, fault: Fault) -> Fault {
        match fault {
            Fault::Gone(gone) => Fault::gone(Gone { last: gone.last.max(self.last()), ..*gone }),
            other => other,
        }
    }

    /// The mark again, which may be lower where the end of the log was given up meanwhile.
    pub fn look_again<D: Disk>(&mut self, disk: &D) -> Result<(), Fault> {
        let now = Marked::load(disk)?.of(self.log);
        if let (Some(before), Some(witness)) = (self.marked.and_then(Marked::witness), now.witness()) {
            self.witnesses.iter_mut().filter(|known| **known == before).for_each(|known| *known = witness.clone());
            self.marked = Some(now);
        }
        Ok(())
    }

    /// What is wrong with the mark of a log whose last segment was made beside one, or not.
    pub fn no_mark(&self, is_marked: bool) -> Option<Fault> {
        let what = match self.marked? {
            Marked::At { .. } => return None,
            Marked::Absent if !is_marked => return None,
            Marked::Absent => "it is gone",
            Marked::Damaged => "it is damaged",
            Marked::Another => "it is of another log than the segments beside it",
        };
        let what = format!("{what}: whether records at the end of the log are missing is not known by it");
        Some(Fault::damaged(mark::NAME, 0, what))
    }
}
