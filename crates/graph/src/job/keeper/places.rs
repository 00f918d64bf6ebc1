//! The files that are known: each was looked at once, or made.

use super::super::Shared;
use crate::files::{self, Order};
use crate::targets;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;
use trunkline_kit::random::mixed;
use trunkline_rrd::{Fault, Plan, RrdFile, Time, Value};

/// How known files take values.
#[derive(Debug, Default)]
pub(super) struct Places {
    orders: HashMap<u32, Order>,
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

    /// Looks at a file, or makes it so that `at` is its first sample; whether it was made.
    pub fn find(&mut self, shared: &Shared, source: u32, at: Time) -> Result<bool, NoFile> {
        let (inventory, library) = (shared.inventory(), shared.library());
        let device = inventory.sources().get(source).ok_or(NoFile::Gone)?.device;
        let path = shared.folder.join(files::path(device, source));
        let shown = path.display();
        let never = |why: String| NoFile::Never(format!("{shown}: {why}"));
        let template = targets::template(&inventory, &library, source);
        let template = template.ok_or_else(|| never("its data template is not there".to_owned()))?;
        let names: Vec<&str> = template.series.iter().map(|series| series.name.as_str()).collect();
        let (found, was_made) = match RrdFile::open(&path) {
            Err(Fault::Io(error)) if error.kind() == ErrorKind::NotFound => {
                let definition = files::definition(&inventory, &library, source);
                let definition = definition.ok_or_else(|| never("its profile is not there".to_owned()))?;
                make(&path, &definition, at, source).map_err(|fault| why(&path, fault))?;
                (RrdFile::open(&path), true)
            }
            found => (found, false),
        };
        let found = found.map_err(|fault| why(&path, fault))?;
        let order = files::order(found.archive(), &names).map_err(never)?;
        self.orders.insert(source, order);
        Ok(was_made)
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

/// On stable storage with its name, and the folder with its own: what counts as stored is not to be without its file.
fn make(path: &Path, definition: &files::Definition, at: Time, source: u32) -> Result<(), Fault> {
    let plan = Plan::read(definition.step_s, definition.lines.iter().map(String::as_str))?;
    // The first sample is of the step before it.
    let start_s = at.seconds - definition.step_s as i64;
    let mut lot = u64::from(source);
    // Files are not to begin their rings anew all at once.
    let made = plan.create(start_s, |rows| {
        lot = mixed(lot.wrapping_add(1));
        lot % rows.max(1)
    })?;
    let folder = path.parent().unwrap_or(Path::new("."));
    if !folder.exists() {
        std::fs::create_dir_all(folder)?;
        sync(folder.parent().unwrap_or(Path::new(".")))?;
    }
    RrdFile::create(path, &made)?;
    Ok(sync(folder)?)
}

fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
