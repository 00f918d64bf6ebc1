//! The folder of extractions and uploads: each process has one of its own below `DATA/spool/web`, which no other one
//! touches while it lives. What the dead left is removed by the living.

use crate::work::new_id;
use rustix::fs::FlockOperation;
use rustix::io::Errno;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Where they are, below the data folder.
pub const FOLDER: &str = "spool/web";
/// What a lock is called behind the name of its folder.
const LOCK: &str = "lock";
/// Locks that are tried until one is not taken away by who cleans up at this moment.
const TRIES_MAX: usize = 16;
/// Folders and locks that are looked at, at a start and then now and then; more are left for the next time.
const LOOKED_AT_MAX: usize = 4096;

/// The folder of this process, which goes with it.
#[derive(Debug)]
pub struct Spool {
    folder: PathBuf,
    lock: PathBuf,
    _locked: File,
}

impl Spool {
    /// Makes one, and removes those of processes that are dead.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn make(data: &Path) -> io::Result<Self> {
        let all = data.join(FOLDER);
        std::fs::create_dir_all(&all)?;
        sweep(&all);
        for _ in 0..TRIES_MAX {
            let name = new_id();
            let (folder, lock) = (all.join(&name), all.join(format!("{name}.{LOCK}")));
            // The lock comes first and goes last: a folder without one is nobody's.
            let locked = File::options().read(true).write(true).create_new(true).mode(0o600).open(&lock)?;
            let taken = rustix::fs::flock(&locked, FlockOperation::NonBlockingLockExclusive);
            // Another one may have come upon it before it was locked, and remove it. Where a file system has no locks,
            // nobody gets one, and removes nothing.
            if taken == Err(Errno::WOULDBLOCK) || !is_at(&locked, &lock) {
                continue;
            }
            DirBuilder::new().mode(0o700).create(&folder)?;
            return Ok(Spool { folder, lock, _locked: locked });
        }
        Err(io::Error::other("the locks of spool/web do not hold: the file system is not fit for them"))
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Removes what processes left that died since.
    pub fn sweep(&self) {
        if let Some(all) = self.folder.parent() {
            sweep(all);
        }
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
        let _ = std::fs::remove_file(&self.lock);
    }
}

/// Removes folders whose process is dead: nobody holds their lock, or there is none.
fn sweep(all: &Path) {
    let Ok(entries) = std::fs::read_dir(all) else { return };
    for entry in entries.take(LOOKED_AT_MAX).flatten() {
        let path = entry.path();
        let removed = match entry.file_type() {
            Ok(kind) if kind.is_dir() => remove_dead(&path, &with_lock(&path)),
            Ok(_) if path.extension().is_some_and(|e| e == LOCK) => remove_dead(&path.with_extension(""), &path),
            // Of versions whose processes had no folders of their own.
            Ok(kind) if kind.is_file() && is_of_former(&path) => gone(std::fs::remove_file(&path)),
            _ => Ok(()),
        };
        if let Err(error) = removed {
            tracing::warn!(target: "web", "what another start left cannot be removed: {}: {error}", path.display());
        }
    }
}

fn is_of_former(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.starts_with("extraction-") || name.starts_with("capture-")
}

fn with_lock(folder: &Path) -> PathBuf {
    let mut name = folder.as_os_str().to_owned();
    name.push(".");
    name.push(LOCK);
    name.into()
}

fn remove_dead(folder: &Path, lock: &Path) -> io::Result<()> {
    let held = match File::options().read(true).write(true).open(lock) {
        Ok(file) => match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            // One that another one removes at this moment is not what the name leads to any more.
            Ok(()) if is_at(&file, lock) => Some(file),
            _ => return Ok(()),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        // Another user's process: its own to remove.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(()),
        Err(error) => return Err(error),
    };
    gone(std::fs::remove_dir_all(folder))?;
    if held.is_some() { gone(std::fs::remove_file(lock)) } else { Ok(()) }
}

fn gone(removed: io::Result<()>) -> io::Result<()> {
    removed.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

fn is_at(file: &File, path: &Path) -> bool {
    let of = |m: std::fs::Metadata| (m.dev(), m.ino());
    matches!((file.metadata().map(of), path.symlink_metadata().map(of)), (Ok(open), Ok(named)) if open == named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_dead_left_is_removed() {
        let data = tempfile::tempdir().unwrap();
        let all = data.path().join(FOLDER);
        let living = Spool::make(data.path()).unwrap();
        std::fs::write(living.folder().join("extraction-1"), b"x").unwrap();
        // A process that was killed: folder and lock are there, and nobody holds it.
        std::fs::create_dir_all(all.join("dead")).unwrap();
        std::fs::write(all.join("dead/extraction-2"), b"x").unwrap();
        std::fs::write(all.join("dead.lock"), b"").unwrap();
        // One that was killed while it removed another, and one before it had made its folder.
        std::fs::create_dir_all(all.join("half")).unwrap();
        std::fs::write(all.join("early.lock"), b"").unwrap();
        let other = Spool::make(data.path()).unwrap();
        assert!(living.folder().join("extraction-1").exists() && other.folder() != living.folder());
        let mut left: Vec<_> = std::fs::read_dir(&all).unwrap().map(|e| e.unwrap().path()).collect();
        let mut expected: Vec<_> = [&living, &other].iter().flat_map(|s| [s.folder.clone(), s.lock.clone()]).collect();
        left.sort();
        expected.sort();
        assert_eq!(left, expected);
        drop((living, other));
        assert_eq!(std::fs::read_dir(&all).unwrap().count(), 0);
    }
}
