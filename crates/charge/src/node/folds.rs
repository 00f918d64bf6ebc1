//! Snapshots of the ledger, so that a start need not read all of it: folded beside the log, at the lowest priority.

use crate::ledger::fold;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use trunkline_commit::{Disk, Log, sealed};

/// How often it looks.
const PERIOD: Duration = Duration::from_secs(10);
/// Entries in closed segments since the last snapshot for which another one is made: a start reads as many in a second
/// or two.
const ENTRIES: u64 = 1_000_000;

/// The thread; dropped, it ends after the snapshot that it is at.
pub(super) struct Folds {
    ends: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Folds {
    pub fn start<D>(disk: Arc<D>, log: &Log<D>) -> std::io::Result<Folds>
    where
        D: Disk + Send + Sync + 'static,
    {
        let (ends, ended) = channel();
        let mut folded = log.found().snapshot;
        let runs = move || {
            // Where the system does not let it be lower it is as all others.
            let _lower = rustix::process::nice(19);
            while ended.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                folded = look(&*disk, folded);
            }
        };
        let thread = std::thread::Builder::new().name("charge-folds".to_owned()).spawn(runs)?;
        Ok(Folds { ends: Some(ends), thread: Some(thread) })
    }
}

impl Drop for Folds {
    fn drop(&mut self) {
        drop(self.ends.take());
        // A panic of it was told when it happened.
        let _ended = self.thread.take().map(JoinHandle::join);
    }
}

/// Makes a snapshot if there is much since the last one; the entry up to which the newest stands.
fn look<D: Disk>(disk: &D, folded: u64) -> u64 {
    let due = sealed(disk).is_ok_and(|sealed| sealed >= folded + ENTRIES);
    if !due {
        return folded;
    }
    match fold(disk) {
        Ok(made) => {
            tracing::info!(
                "charging: a snapshot of the ledger up to entry {}, {} since the last",
                made.sequence,
                made.entries
            );
            made.sequence
        }
        Err(fault) => {
            tracing::error!("charging: no snapshot of the ledger could be made, a start will take longer: {fault}");
            folded
        }
    }
}
