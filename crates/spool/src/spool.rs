//! The spool: volumes with their threads, and the memory in front of them.

use std::time::Duration;

use crate::error::SpoolError;
use crate::event::{Event, Loss};
use crate::options::{Options, Priority};
use crate::stats::Stats;
use crate::writer::Writer;

/// Writes segments of many writers to one or more volumes. One per process.
///
/// Dropping it ends its threads once all that was handed over is written; [`Spool::close`] bounds the time of that.
#[derive(Debug)]
pub struct Spool {
    _options: Options,
}

/// What was found when the spool was opened.
#[derive(Clone, Debug, Default)]
pub struct Opened {
    /// What is not as the options asked, a sentence each: no `O_DIRECT` here, no io_uring.
    pub notes: Vec<String>,
}

impl Spool {
    /// Opens the volumes (their folders are made if they are missing) and starts their threads. A volume that cannot be
    /// written now is left out until it can; that is in [`Spool::events`].
    ///
    /// # Errors
    /// The options have no sense, or no thread can be started.
    pub fn open(options: Options) -> Result<(Spool, Opened), SpoolError> {
        Ok((Spool { _options: options }, Opened::default()))
    }

    /// A writer of this priority; `tag` is the caller's number for it, borne by its losses.
    pub fn writer(&self, priority: Priority, tag: u32) -> Writer {
        let _ = (priority, tag);
        unreachable!("not yet made")
    }

    /// What is counted, as of now.
    pub fn stats(&self) -> Stats {
        Stats::default()
    }

    /// What happened since the last call, oldest first.
    pub fn events(&self) -> Vec<Event> {
        Vec::new()
    }

    /// What was lost, since the last call, after it had been accepted. Refused appends are known to who made them.
    pub fn losses(&self) -> Vec<Loss> {
        Vec::new()
    }

    /// Waits until all that was handed over is written or lost and all sealed segments are committed, at most `patience`.
    /// Whether it came to that.
    pub fn settle(&self, patience: Duration) -> bool {
        let _ = patience;
        true
    }

    /// Settles and ends the threads; what is not written after `patience` is lost and counted. The last statistics.
    pub fn close(self, patience: Duration) -> Stats {
        self.settle(patience);
        self.stats()
    }
}
