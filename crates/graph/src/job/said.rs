//! Data sources that have said something: those that have a file. The others get none, nor a graph, until they do.

use crate::files;
use crate::inventory::Inventory;
use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

/// Where files go that the inventory knows nothing of.
const ASIDE: &str = "aside";

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Said(RwLock<HashSet<u32>>);

impl Said {
    pub fn read(&self) -> RwLockReadGuard<'_, HashSet<u32>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn add(&self, sources: impl IntoIterator<Item = u32>) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).extend(sources);
    }

    pub fn forget(&self, source: u32) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).remove(&source);
    }
}

/// What was found in the folder at the start.
#[derive(Debug, Default)]
pub(super) struct Swept {
    pub said: HashSet<u32>,
    /// Files of data sources that are gone, which a crash had left.
    pub removed: u64,
    /// Files of data sources that there never were.
    pub aside: u64,
}

/// Looks at the files that are there. Those of data sources that were removed go; those that the inventory never had
/// (an older copy of it, an import that a crash ended) are put aside, as their numbers will be given to others; and
/// where entries of the inventory are gone (`has_gaps`), all those that it has not.
///
/// # Errors
/// The folder cannot be read, or not be changed.
pub(super) fn sweep(folder: &Path, inventory: &Inventory, has_gaps: bool) -> io::Result<Swept> {
    let mut swept = Swept::default();
    for (device, inside) in numbered(folder, "")? {
        for (source, file) in numbered(&inside, ".rrd")?.into_iter().chain(numbered(&inside, ".part")?) {
            let is_part = file.extension().is_some_and(|extension| extension == "part");
            if !is_part && inventory.sources().get(source).is_some_and(|known| known.device == device) {
                swept.said.insert(source);
            } else if is_part || !has_gaps && source < inventory.sources().next() {
                tracing::info!("graphs: {} is of a data source that was removed, and goes", file.display());
                std::fs::remove_file(&file)?;
                swept.removed += 1;
            } else {
                let to = folder.join(ASIDE).join(files::path(device, source));
                tracing::warn!("graphs: the inventory does not have {}: it is now {}", file.display(), to.display());
                std::fs::create_dir_all(to.parent().unwrap_or(folder))?;
                std::fs::rename(&file, &to)?;
                swept.aside += 1;
            }
        }
        if swept.removed + swept.aside > 0 {
            // One that is not empty stays.
            let _ = std::fs::remove_dir(&inside);
        }
    }
    Ok(swept)
}

/// What is in a folder whose names are a number and this ending.
fn numbered(folder: &Path, ending: &str) -> io::Result<Vec<(u32, PathBuf)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_suffix(ending)?.parse::<u32>().ok());
        if let Some(number) = number.filter(|_| ending.is_empty() == entry.file_type().is_ok_and(|kind| kind.is_dir()))
        {
            found.push((number, entry.path()));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::{Change, Device, Entry, Kind, Source, Template};

    fn inventory() -> Inventory {
        let mut inventory = Inventory::default();
        let template = Template { kind: Kind::DataTemplate, name: "icmp".into() };
        let source = |device| Source { device, template: 1, row: None, active: true, arguments: Vec::new() };
        let device = |id: u32| Change::Device { id, device: Box::new(Device::new(&format!("d-{id}"), "192.0.2.1")) };
        let changes = vec![
            device(1),
            device(2),
            Change::Template { id: 1, template },
            Change::Source { id: 1, source: source(1) },
            Change::Source { id: 2, source: source(2) },
            Change::SourceGone { id: 2 },
        ];
        for entry in Entry::of_changes(1, 0, "test", changes) {
            inventory.apply(&entry).unwrap();
        }
        inventory
    }

    #[test]
    fn what_a_crash_has_left_goes_and_what_nobody_knows_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        for device in ["1", "2", "9", "templates"] {
            std::fs::create_dir(at(device)).unwrap();
        }
        let files =
            ["1/1.rrd", "1/2.rrd", "2/2.rrd", "1/3.part", "9/77.rrd", "1/notes.txt", "templates/1.rrd", "5.rrd"];
        files.iter().for_each(|file| std::fs::write(at(file), file).unwrap());
        let swept = sweep(folder.path(), &inventory(), false).unwrap();
        assert_eq!((swept.said, swept.removed, swept.aside), ([1].into(), 3, 1));
        let left = ["1/1.rrd", "1/notes.txt", "templates/1.rrd", "5.rrd", "aside/9/77.rrd"];
        assert!(left.iter().all(|file| at(file).exists()));
        assert!(["1/2.rrd", "2", "1/3.part", "9"].iter().all(|gone| !at(gone).exists()));
        let again = sweep(folder.path(), &inventory(), false).unwrap();
        assert_eq!((again.removed, again.aside), (0, 0));
    }
}
