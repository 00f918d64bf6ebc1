//! Snapshots of the ledger, so that a start need not read all of it, and what is given up of it: folded beside the log, at the lowest priority and
//! a fifth of the time.

use super::records::Told;
use super::retain::Retaining;
use crate::ledger::fold_at_ease;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use trunkline_commit::{Disk, Log, sealed};

/// How often it looks.
const PERIOD: Duration = Duration::from_secs(1);
/// Entries in closed segments since the last snapshot for which another one is made: a start reads as many in a second
/// or two.
const ENTRIES: u64 = 1_000_000;

/// Records between two looks at the clock: some tenth of a millisecond.
const RECORDS: u32 = 64;
/// Of the time that a fold works, it rests so many times as long.
const RESTS: u32 = 4;

/// Works a fifth of the time: on a processor that has nothing else to spare, answers wait for a moment of it at most.
struct Pace<'a> {
    records: u32,
    since: Instant,
    /// Who waits for its end: then it does not rest.
    ended: &'a Receiver<()>,
}

impl Pace<'_> {
    fn rest(&mut self) {
        self.records += 1;
        if self.records % RECORDS == 0 && self.ended.try_recv() == Err(TryRecvError::Empty) {
            std::thread::park_timeout(self.since.elapsed() * RESTS);
            self.since = Instant::now();
        }
    }
}

/// The thread; dropped, it ends after the snapshot that it is at.
pub(super) struct Folds {
    ends: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Folds {
    pub fn start<D>(
        disk: Arc<D>,
        log: &Log<D>,
        retaining: Arc<Retaining>,
        records: Option<Arc<Told>>,
    ) -> std::io::Result<Folds>
    where
        D: Disk + Send + Sync + 'static,
    {
        let (ends, ended) = channel();
        let mut folded = log.found().snapshot;
        let runs = move || {
            // Where the system does not let it be lower it is as all others.
            let _lower = rustix::process::nice(19);
            while ended.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                folded = look(&*disk, folded, &ended);
                let mut pace = Pace { records: 0, since: Instant::now(), ended: &ended };
                retaining.look(&*disk, records.as_ref(), &mut || pace.rest());
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
fn look<D: Disk>(disk: &D, folded: u64, ended: &Receiver<()>) -> u64 {
    let due = sealed(disk).is_ok_and(|sealed| sealed >= folded + ENTRIES);
    if !due {
        return folded;
    }
    let mut pace = Pace { records: 0, since: Instant::now(), ended };
    match fold_at_ease(disk, &mut || pace.rest()) {
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
