//! The recorder of a process: the spool with its volumes, what earlier runs left behind, and what lanes write with.

pub mod extract;
pub mod folder;
pub mod follow;
pub mod index_file;
mod source;
pub mod verify;

pub use extract::{Extraction, Found, Selection, Summary, Wanted};
pub use folder::{SegmentFile, Wish, list};
pub use follow::Follow;
pub use index_file::FileAt;

use crate::lane::LaneLog;
use crate::mend::{INDEX, SEGMENT, mend};
use crate::names::Segments;
use crate::rules::Rules;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use trunkline_spool::{Event, Kinds, Loss, Options, Priority, Repaired, Spool, SpoolError, Stats, repair};

/// The files of the packet log.
pub const KINDS: Kinds = Kinds { segment: SEGMENT, beside: &[INDEX] };
/// How long to wait for files that a process which was killed still keeps locked.
const REPAIR_PATIENCE: Duration = Duration::from_secs(2);
/// The file of pins below a data folder.
pub const PINS: &str = "packets/pins";
/// The folder of the packet log below each volume.
pub const FOLDER: &str = "packets";

/// Records the packets of all lanes of a process.
#[derive(Debug)]
pub struct Recorder {
    spool: Spool,
    segments: Arc<Segments>,
    rules: Rules,
}

/// What opening found.
#[derive(Clone, Debug, Default)]
pub struct Opened {
    /// What is not as the options asked, a sentence each.
    pub notes: Vec<String>,
    /// What was repaired on each volume.
    pub repaired: Vec<Repaired>,
}

impl Recorder {
    /// Repairs what earlier runs left behind and opens the volumes.
    ///
    /// # Errors
    /// A volume's folder cannot be made or listed, or the options have no sense.
    pub fn open(options: Options, rules: Rules) -> Result<(Recorder, Opened), SpoolError> {
        let mut opened = Opened::default();
        let mut taken = HashSet::new();
        for volume in &options.volumes {
            let folder = volume.path.join(FOLDER);
            if std::fs::create_dir_all(&folder).is_ok() {
                opened.repaired.push(repair(&folder, KINDS, REPAIR_PATIENCE, &mut |part| Ok(mend(part)))?);
            }
            names(&volume.path, &folder, &mut taken);
        }
        let (spool, found) = Spool::open(options)?;
        opened.notes = found.notes;
        Ok((Recorder { spool, segments: Arc::new(Segments::with_taken(taken)), rules }, opened))
    }

    /// The log of a lane that captures at `interface`.
    pub fn lane(&self, lane: u16, interface: &str) -> LaneLog {
        let tag = u32::from(lane);
        let writers = Priority::ALL.map(|priority| self.spool.writer(priority, tag));
        LaneLog::new(lane, interface, self.rules, Arc::clone(&self.segments), writers)
    }

    /// The names of this run's segments.
    pub fn segments(&self) -> Arc<Segments> {
        Arc::clone(&self.segments)
    }

    /// What is counted, as of now.
    pub fn stats(&self) -> Stats {
        self.spool.stats()
    }

    /// What happened since the last call.
    pub fn events(&self) -> Vec<Event> {
        self.spool.events()
    }

    /// What was lost, since the last call, after it had been recorded.
    pub fn losses(&self) -> Vec<Loss> {
        self.spool.losses()
    }

    /// Writes and commits all that was recorded; what is not written after `patience` is lost and counted.
    pub fn close(self, patience: Duration) -> Stats {
        self.spool.close(patience)
    }
}

/// Repairs a packet log that no living process writes to, or leaves alone what one does.
///
/// # Errors
/// The folder cannot be listed.
pub fn repair_log(folder: &Path, kinds: Kinds) -> Result<Repaired, SpoolError> {
    repair(folder, kinds, REPAIR_PATIENCE, &mut |part| Ok(mend(part)))
}

/// Names of segments below a volume, whatever their state, relative to it.
fn names(volume: &Path, folder: &Path, taken: &mut HashSet<String>) {
    let mut folders: Vec<PathBuf> = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|t| t.is_dir()) {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(volume).unwrap_or(&path).to_string_lossy().into_owned();
            let name = name.strip_suffix(".part").unwrap_or(&name);
            if name.ends_with(SEGMENT) {
                taken.insert(name.to_owned());
            }
        }
    }
}
