//! Snapshots of the ledger, so that a start need not read all of it, and what is given up of it: folded beside the
//! log, at the lowest priority and a fifth of the time; as all others and all of the time once a start would take too
//! long.

use super::records::Told;
use super::retain::Retaining;
use crate::ledger::{Fault, Folded, fold_at_ease};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use trunkline_commit::{Disk, Log, sealed};

/// How often it looks.
const PERIOD: Duration = Duration::from_secs(1);
/// Entries in closed segments since the last snapshot for which another one is made: a start reads as many in a second
/// or two.
const ENTRIES: u64 = 1_000_000;
/// Entries in closed segments since the last snapshot beyond which a fold hurries: who loads a node without an end may
/// wait, a start may not.
const HURRY: u64 = 2 * ENTRIES;

/// Records between two looks at the clock: some tenth of a millisecond.
const RECORDS: u32 = 64;
/// Of the time that a fold works, it rests so many times as long.
const RESTS: u32 = 4;

/// Works a fifth of the time, or all of it: on a processor that has nothing else to spare, answers wait for a moment of
/// it at most.
struct Pace<'a> {
    records: u32,
    since: Instant,
    hurries: bool,
    /// Whether somebody waits for its end: then it does not rest.
    ends: &'a AtomicBool,
}

impl Pace<'_> {
    fn rest(&mut self) {
        self.records += 1;
        if !self.hurries && self.records.is_multiple_of(RECORDS) && !self.ends.load(Ordering::Relaxed) {
            std::thread::park_timeout(self.since.elapsed() * RESTS);
            self.since = Instant::now();
        }
    }
}

/// The thread; dropped, it ends after the snapshot that it is at.
pub(super) struct Folds {
    ends: Arc<AtomicBool>,
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
        let ends = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&ends);
        let mut folded = log.found().snapshot;
        let runs = move || {
            while !is_over.load(Ordering::Relaxed) {
                std::thread::park_timeout(PERIOD);
                if !is_over.load(Ordering::Relaxed) {
                    folded = look(&*disk, folded, &is_over);
                    let mut pace = Pace { records: 0, since: Instant::now(), hurries: false, ends: &is_over };
                    retaining.look(&*disk, records.as_ref(), &mut || pace.rest());
                }
            }
        };
        let thread = std::thread::Builder::new().name("charge-folds".to_owned()).spawn(runs)?;
        Ok(Folds { ends, thread: Some(thread) })
    }
}

impl Folds {
    /// Whether it has failed: it ends by itself otherwise never.
    pub fn has_failed(&self) -> bool {
        self.thread.as_ref().is_some_and(JoinHandle::is_finished)
    }
}

impl Drop for Folds {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // A panic of it was told when it happened.
            let _ended = thread.join();
        }
    }
}

/// Makes a snapshot if there is much since the last one; the entry up to which the newest stands.
fn look<D: Disk + Send + Sync>(disk: &D, folded: u64, ends: &AtomicBool) -> u64 {
    let behind = sealed(disk).map_or(0, |sealed| sealed.saturating_sub(folded));
    if behind < ENTRIES {
        return folded;
    }
    let hurries = behind >= HURRY;
    let pace = Pace { records: 0, since: Instant::now(), hurries, ends };
    // A priority that was lowered cannot be raised again: each fold has a thread of its own.
    let made = std::thread::scope(|scope| {
        let fold = std::thread::Builder::new().name("charge-fold".to_owned());
        fold.spawn_scoped(scope, || fold_with(disk, pace)).map(|fold| fold.join())
    });
    match made {
        Ok(Ok(Ok(made))) => {
            tracing::info!(
                "charging: a snapshot of the ledger up to entry {}, {} since the last",
                made.sequence,
                made.entries
            );
            made.sequence
        }
        Ok(Ok(Err(fault))) => {
            tracing::error!("charging: no snapshot of the ledger could be made, a start will take longer: {fault}");
            folded
        }
        // A panic of it was told when it happened.
        Ok(Err(_)) => folded,
        Err(error) => {
            tracing::error!("charging: no snapshot of the ledger could be made, a start will take longer: {error}");
            folded
        }
    }
}

fn fold_with<D: Disk>(disk: &D, mut pace: Pace<'_>) -> Result<Folded, Fault> {
    if !pace.hurries {
        // Where the system does not let it be lower it is as all others.
        let _lower = rustix::process::nice(19);
    }
    fold_at_ease(disk, &mut || pace.rest())
}
