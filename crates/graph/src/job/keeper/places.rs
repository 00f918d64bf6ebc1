//! The files that are known: each was looked at once, or made.

use super::super::Shared;
use crate::files::{self, Order};
use crate::targets;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use trunkline_kit::random::mixed;
use trunkline_rrd::{Disk, Fault, Folder, Plan, RrdFile, Time, Value};

/// Files that were made and have no name yet, at most; then the disk is waited for.
const DRAFTS_MAX: usize = 8192;
/// And octets of them.
const DRAFT_OCTETS_MAX: u64 = 256 << 20;

/// How known files take values, and which of them are not on stable storage yet.
#[derive(Debug, Default)]
pub(super) struct Places {
    orders: HashMap<u32, Order>,
    drafts: BTreeMap<u32, Draft>,
    draft_octets: u64,
    /// Files have names that may not be on stable storage.
    is_unsure: bool,
}

/// A file that was made and has no name yet. One sync is for all of them: a network that is added has a hundred
/// thousand files at once, and three syncs for each are minutes.
#[derive(Debug)]
struct Draft {
    path: PathBuf,
    /// Its first sample.
    at: Time,
    /// Whether what was written of it is still to be believed: a sync that fails says nothing of what it has dropped.
    is_written: bool,
}

/// Why there is no file for a data source.
pub(super) enum NoFile {
    /// The disk has no room, or cannot be written at all: to be tried again.
    Blocked(String),
    /// The data source is gone.
    Gone,
    /// It cannot be made, or is one that does not fit.
    Never(String),
}

impl Places {
    pub fn knows(&self, source: u32) -> bool {
        self.orders.contains_key(&source)
    }

    pub fn forget(&mut self, source: u32) {
        self.orders.remove(&source);
    }

    /// The data source is gone.
    pub fn remove(&mut self, source: u32) {
        self.orders.remove(&source);
        self.drafts.remove(&source);
    }

    /// Whether files were made that are not on stable storage under their names yet.
    pub fn has_drafts(&self) -> bool {
        self.is_unsure || !self.drafts.is_empty()
    }

    /// Whether they are so many that they are to be settled.
    pub fn is_full(&self) -> bool {
        self.drafts.len() >= DRAFTS_MAX || self.draft_octets >= DRAFT_OCTETS_MAX
    }

    /// Puts files that were made on stable storage under their names: nothing is written to them before. Those that
    /// could not be named are told, with why; their samples find that there is no file.
    ///
    /// # Errors
    /// The disk does not take them at present, and why: it is to be tried again, and nothing is written meanwhile.
    pub fn settle(&mut self, shared: &Shared) -> Result<Vec<String>, String> {
        if !self.has_drafts() {
            return Ok(Vec::new());
        }
        let failed = |error: io::Error| format!("{}: {error}", shared.folder.display());
        for (source, draft) in self.drafts.iter_mut().filter(|(_, draft)| !draft.is_written) {
            if let Err(NoFile::Blocked(why)) = make(shared, *source, &draft.path, draft.at) {
                return Err(why);
            }
            draft.is_written = true;
        }
        let disk = Folder::open(&shared.folder).map_err(failed)?;
        if let Err(error) = disk.sync_all() {
            self.drafts.values_mut().for_each(|draft| draft.is_written = false);
            return Err(failed(error));
        }
        let mut unnamed = Vec::new();
        self.draft_octets = 0;
        for (source, draft) in core::mem::take(&mut self.drafts) {
            if let Err(error) = RrdFile::name(&draft.path) {
                self.orders.remove(&source);
                unnamed.push(format!("{}: {error}", draft.path.display()));
            }
        }
        self.is_unsure = true;
        disk.sync_all().map_err(failed)?;
        self.is_unsure = false;
        Ok(unnamed)
    }

    /// Puts values into the order of their file; whether they are as many as it takes.
    pub fn order(&self, source: u32, values: &mut Vec<Value<'static>>) -> bool {
        match self.orders.get(&source) {
            Some(Order::Same) => true,
            Some(Order::Other(places)) if places.len() == values.len() => {
                let mut ordered = vec![Value::Unknown; values.len()];
                for (value, place) in values.iter().zip(places) {
                    ordered[usize::from(*place)] = *value;
                }
                *values = ordered;
                true
            }
            _ => false,
        }
    }

    /// Looks at a file, or makes it so that `at` is its first sample; whether it was made. It is there when it was
    /// settled.
    pub fn find(&mut self, shared: &Shared, source: u32, at: Time) -> Result<bool, NoFile> {
        // The inventory is held no longer than this: while it is, the owner cannot go on with that copy of it.
        let library = shared.library();
        let (path, template) = {
            let inventory = shared.inventory();
            let device = inventory.sources().get(source).ok_or(NoFile::Gone)?.device;
            let path = shared.folder.join(files::path(device, source));
            (path, targets::template(&inventory, &library, source))
        };
        let never = |why: String| NoFile::Never(format!("{}: {why}", path.display()));
        let template = template.ok_or_else(|| never("its data template is not there".to_owned()))?;
        let found = match RrdFile::open(&path) {
            Err(Fault::Io(error)) if error.kind() == ErrorKind::NotFound => {
                // Of one that is made again the first sample still waits.
                let at = self.drafts.get(&source).map_or(at, |draft| draft.at);
                self.draft_octets += make(shared, source, &path, at)?;
                self.orders.insert(source, Order::Same);
                self.drafts.insert(source, Draft { path, at, is_written: true });
                return Ok(true);
            }
            found => found.map_err(|fault| why(&path, fault))?,
        };
        let names: Vec<&str> = template.series.iter().map(|series| series.name.as_str()).collect();
        self.orders.insert(source, files::order(found.archive(), &names).map_err(never)?);
        Ok(false)
    }
}

/// What can be had later is waited for.
fn why(path: &Path, fault: Fault) -> NoFile {
    let text = format!("{}: {fault}", path.display());
    match fault {
        Fault::Locked => NoFile::Blocked(text),
        Fault::Io(error) if is_of_disk(&error) => NoFile::Blocked(text),
        _ => NoFile::Never(text),
    }
}

/// Whether the trouble is the disk's, and not that of one file.
fn is_of_disk(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::ReadOnlyFilesystem)
}

/// Makes a file that has no name yet; its octets.
fn make(shared: &Shared, source: u32, path: &Path, at: Time) -> Result<u64, NoFile> {
    let definition = files::definition(&shared.inventory(), &shared.library(), source);
    let missing = || NoFile::Never(format!("{}: its profile is not there", path.display()));
    draft(path, &definition.ok_or_else(missing)?, at, source).map_err(|fault| why(path, fault))
}

fn draft(path: &Path, definition: &files::Definition, at: Time, source: u32) -> Result<u64, Fault> {
    let plan = Plan::read(definition.step_s, definition.lines.iter().map(String::as_str))?;
    // The first sample is of the step before it.
    let start_s = at.seconds - definition.step_s as i64;
    let mut lot = u64::from(source);
    // Files are not to begin their rings anew all at once.
    let made = plan.create(start_s, |rows| {
        lot = mixed(lot.wrapping_add(1));
        lot % rows.max(1)
    })?;
    match RrdFile::draft(path, &made) {
        Err(Fault::Io(error)) if error.kind() == ErrorKind::NotFound => {
            std::fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
            RrdFile::draft(path, &made)
        }
        drafted => drafted,
    }
}
