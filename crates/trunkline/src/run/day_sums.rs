//! Gives days of the store that are over their checksums, beside the run and at the lowest priority.

use super::rows::Writing;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;
use trunkline_store::backend::sqlite::sums::seal_days;

/// How often it is looked whether a day is over.
const EVERY: Duration = Duration::from_secs(600);
/// How often it is looked whether the run is.
const NAP: Duration = Duration::from_secs(1);
/// The lowest priority at the processor (setpriority(2)).
const NICEST: i32 = 19;

/// Starts the thread; it ends with the rows' way to the store.
///
/// # Errors
/// The thread could not be started.
pub fn start(folder: PathBuf, writing: &Arc<Writing>) -> std::io::Result<()> {
    let writing = Arc::downgrade(writing);
    std::thread::Builder::new().name("day-sums".to_owned()).spawn(move || run(&folder, &writing)).map(drop)
}

fn run(folder: &Path, writing: &Weak<Writing>) {
    trunkline_spool::idle();
    // Where it is refused, the priority at the disk remains.
    let _ = rustix::process::setpriority_process(None, NICEST);
    while writing.strong_count() > 0 {
        look(folder);
        for _ in 0..EVERY.as_secs() / NAP.as_secs() {
            if writing.strong_count() == 0 {
                return;
            }
            std::thread::park_timeout(NAP);
        }
    }
}

fn look(folder: &Path) {
    match seal_days(folder, super::now_ns()) {
        Ok((sealed, faults)) => {
            if sealed > 0 {
                tracing::info!("{}: {sealed} past days have checksums now", folder.display());
            }
            faults.iter().for_each(|fault| tracing::warn!("no checksums: {fault}"));
        }
        Err(error) => tracing::warn!("no checksums of days: {}: {error}", folder.display()),
    }
}
