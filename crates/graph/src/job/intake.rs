//! Samples go to the journal; what of them is on disk, and what is in files.

use super::keeper::ToKeeper;
use super::watching::{self, AllWatched};
use crate::journal::Records;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use trunkline_commit::{Committer, Progress};

/// Samples were not taken: too much waits for the disk, or it has no room. They are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("dropping samples: the disk is too slow or full")]
pub struct Dropped;

/// How far samples are.
#[derive(Debug)]
pub(super) struct Flow {
    octets_max: u64,
    /// The last record that is on disk.
    pub durable: AtomicU64,
    /// The last record of which all samples are in files.
    pub filed: AtomicU64,
    pub samples: AtomicU64,
    pub dropped: AtomicU64,
    /// Octets of records that the keeper has not read yet.
    pub behind_octets: AtomicU64,
    /// The journal takes nothing any more.
    pub is_closed: AtomicBool,
    /// Why the journal takes nothing at present.
    trouble: Mutex<Option<String>>,
    to_keeper: SyncSender<ToKeeper>,
    is_told: AtomicBool,
    waits: (Mutex<()>, Condvar),
    /// Who watches samples as they come.
    pub watched: AllWatched,
}

impl Flow {
    pub fn new(octets_max: u64, filed: u64, to_keeper: SyncSender<ToKeeper>) -> Arc<Flow> {
        Arc::new(Flow {
            octets_max,
            durable: AtomicU64::new(filed),
            filed: AtomicU64::new(filed),
            samples: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            behind_octets: AtomicU64::new(0),
            is_closed: AtomicBool::new(false),
            trouble: Mutex::new(None),
            to_keeper,
            is_told: AtomicBool::new(false),
            waits: (Mutex::new(()), Condvar::new()),
            watched: AllWatched::default(),
        })
    }

    /// What the thread that writes the journal says.
    pub fn tell(&self, progress: &Progress<'_>) {
        let trouble = match progress {
            Progress::Durable(last) => {
                self.durable.store(*last, Ordering::Release);
                None
            }
            Progress::Room(fault) => Some(format!("the journal of samples has no room: {fault}")),
            Progress::Closed(fault) => {
                self.is_closed.store(true, Ordering::Release);
                Some(format!("the journal of samples cannot be written any more: {fault}"))
            }
        };
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
        let _held = self.waits.0.lock().unwrap_or_else(PoisonError::into_inner);
        self.waits.1.notify_all();
        // One word is enough until it was heard.
        if !self.is_told.swap(true, Ordering::AcqRel) && self.to_keeper.try_send(ToKeeper::More).is_err() {
            self.is_told.store(false, Ordering::Release);
        }
    }

    /// The keeper has heard that there is more.
    pub fn heard(&self) {
        self.is_told.store(false, Ordering::Release);
    }

    pub fn trouble(&self) -> Option<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Where samples are given to. It can be copied, and given to other threads.
#[derive(Clone, Debug)]
pub struct Intake {
    /// Ends with the run: what comes later is dropped.
    journal: Weak<Committer>,
    flow: Arc<Flow>,
}

impl Intake {
    pub(super) fn new(journal: &Arc<Committer>, flow: Arc<Flow>) -> Intake {
        Intake { journal: Arc::downgrade(journal), flow }
    }

    /// Takes samples; the number of the record that has the last of them. They count when that is durable.
    ///
    /// # Errors
    /// [`Dropped`]: none of them is taken, and they are counted.
    pub fn put(&self, records: &Records) -> Result<u64, Dropped> {
        let octets: u64 = records.records().map(|record| record.len() as u64).sum();
        // Counted before: the keeper may have read it before the append is told.
        let before = self.flow.behind_octets.fetch_add(octets, Ordering::Relaxed);
        let journal = self.journal.upgrade().filter(|_| before + octets <= self.flow.octets_max);
        match journal.map(|journal| journal.append(records.records())) {
            Some(Ok(last)) => {
                self.flow.samples.fetch_add(records.samples(), Ordering::Relaxed);
                watching::show(&self.flow.watched, records);
                Ok(last)
            }
            Some(Err(_)) | None => {
                self.flow.behind_octets.fetch_sub(octets, Ordering::Relaxed);
                self.flow.dropped.fetch_add(records.samples(), Ordering::Relaxed);
                Err(Dropped)
            }
        }
    }

    /// The last record that is on disk.
    pub fn durable(&self) -> u64 {
        self.flow.durable.load(Ordering::Acquire)
    }

    /// Waits until a record is on disk; whether it is, and not that the journal has failed.
    pub fn wait(&self, number: u64) -> bool {
        let mut held = self.flow.waits.0.lock().unwrap_or_else(PoisonError::into_inner);
        while self.durable() < number {
            if self.flow.is_closed.load(Ordering::Acquire) {
                return false;
            }
            held = self.flow.waits.1.wait(held).unwrap_or_else(PoisonError::into_inner);
        }
        true
    }
}
