//! Which days a store's folder has.

use super::folder_error;
use crate::error::StoreError;
use crate::store::Access;
use crate::time::{DAY_NS, Day};
use std::fs::{DirEntry, FileType};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A time of no more days than this has its days looked for by name: a folder of years takes longer to list than a day
/// takes to ask.
const BY_NAME_MAX: i64 = 64;

/// The file of a day.
pub fn path(folder: &Path, day: Day) -> PathBuf {
    folder.join(format!("{day}.sqlite"))
}

/// Whether the rows of a day can be in what has such a name. A pipe that somebody put there would hold who reads it.
fn is_day(kind: FileType) -> bool {
    kind.is_file() || kind.is_symlink()
}

/// The day whose rows a file has, if it is one.
pub fn of(entry: &DirEntry) -> Option<Day> {
    let is_file = entry.file_type().is_ok_and(is_day);
    let name = entry.file_name();
    name.to_str().filter(|_| is_file)?.strip_suffix(".sqlite")?.parse().ok()
}

/// All days, oldest first. A folder that is not there has none for who reads.
///
/// # Errors
/// [`StoreError::Folder`].
pub fn all(folder: &Path, access: Access) -> Result<Vec<Day>, StoreError> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == ErrorKind::NotFound && access == Access::Read => return Ok(vec![]),
        Err(e) => return Err(folder_error(folder, e)),
    };
    let mut days = vec![];
    for entry in entries {
        days.extend(of(&entry.map_err(|e| folder_error(folder, e))?));
    }
    days.sort_unstable();
    Ok(days)
}

/// The days of which a part is between two times, the later one excluded, oldest first.
///
/// # Errors
/// [`StoreError::Folder`].
pub fn between(folder: &Path, access: Access, from_ns: i64, to_ns: i64) -> Result<Vec<Day>, StoreError> {
    let (first, last) = (Day::of(from_ns), Day::of(to_ns.saturating_sub(1)));
    let mut days = vec![];
    if i64::from(last.number()) - i64::from(first.number()) < BY_NAME_MAX {
        for number in first.number()..=last.number() {
            let day = Day::of(i64::from(number).saturating_mul(DAY_NS));
            match std::fs::symlink_metadata(path(folder, day)) {
                Ok(found) => days.extend(is_day(found.file_type()).then_some(day)),
                Err(e) if e.kind() == ErrorKind::NotFound => {}
                Err(e) => return Err(folder_error(folder, e)),
            }
        }
    }
    // Many days; or none, perhaps as the folder is gone: the list tells.
    if days.is_empty() {
        days = all(folder, access)?;
        days.retain(|day| day.end_ns() > from_ns && day.start_ns() < to_ns);
    }
    Ok(days)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether days are listed or looked for, they are the same ones.
    #[test]
    fn days_by_name_are_those_of_the_list() {
        let folder = tempfile::tempdir().unwrap();
        let at = |day: i64| Day::of(day * DAY_NS);
        for day in [-400, -1, 0, 1, 5, 63, 64, 65, 20_000] {
            std::fs::write(path(folder.path(), at(day)), b"").unwrap();
        }
        std::fs::create_dir(path(folder.path(), at(3))).unwrap();
        std::os::unix::fs::symlink("nowhere", path(folder.path(), at(4))).unwrap();
        std::fs::write(folder.path().join("1970-01-03.sqlite-wal"), b"").unwrap();
        let listed = all(folder.path(), Access::Read).unwrap();
        assert_eq!(listed.len(), 10);
        let times = [i64::MIN, -400 * DAY_NS, -1, 0, 1, DAY_NS, 4 * DAY_NS + 1, 64 * DAY_NS, 65 * DAY_NS, i64::MAX];
        for from_ns in times {
            for to_ns in times {
                let expected: Vec<Day> =
                    listed.iter().copied().filter(|day| day.end_ns() > from_ns && day.start_ns() < to_ns).collect();
                let found = between(folder.path(), Access::Read, from_ns, to_ns).unwrap();
                // A time that ends before it begins has nothing, or what lies around it: no caller asks for one.
                if from_ns < to_ns {
                    assert_eq!(found, expected, "{from_ns} to {to_ns}");
                }
            }
        }
    }

    #[test]
    fn a_folder_that_is_gone_is_told_to_who_writes() {
        let folder = tempfile::tempdir().unwrap();
        let gone = folder.path().join("gone");
        assert_eq!(between(&gone, Access::Read, 0, 1).unwrap(), []);
        assert!(between(&gone, Access::Write, 0, 1).is_err());
    }
}
