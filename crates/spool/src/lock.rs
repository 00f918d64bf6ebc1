//! Who uses a segment: the one who writes it alone, readers together, and whoever would remove it asks first.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::FlockOperation;
use trunkline_kit::place;

use crate::name::{PART, without};

/// Opens a segment for reading and keeps it from being deleted or moved by retention as long as the file is open. One
/// that is being written is its writer's, and no lock is asked for, which would wait until it is sealed: retention
/// leaves it alone anyway, and whoever has it open then can read it to its end though its name may go.
///
/// # Errors
/// The segment cannot be opened; NotFound too when it was removed at this moment.
pub fn read_lock(path: &Path) -> io::Result<File> {
    let file = place::open(path)?;
    if without(path, PART).is_some() {
        return Ok(file);
    }
    match rustix::fs::flock(&file, FlockOperation::LockShared) {
        Ok(()) if !is_at(&file, path) => Err(io::ErrorKind::NotFound.into()),
        // A file system without locks: who deletes does not ask either.
        _ => Ok(file),
    }
}

/// Opens a file that nobody writes or reads, for its owner's purposes alone. None when somebody does, or when it has
/// another name by now.
pub(crate) fn lock_alone(path: &Path) -> io::Result<Option<File>> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        _ => Ok(is_at(&file, path).then_some(file)),
    }
}

/// Whether `path` still leads to this file.
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    let of = |m: std::fs::Metadata| (m.dev(), m.ino());
    let (open, named) = (file.metadata().map(of), path.symlink_metadata().map(of));
    matches!((open, named), (Ok(open), Ok(named)) if open == named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_being_written_is_read_without_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.pcapng.part");
        std::fs::write(&path, b"x").unwrap();
        let writer = lock_alone(&path).unwrap();
        assert!(writer.is_some());
        drop(read_lock(&path).unwrap());
        assert!(lock_alone(&path).unwrap().is_none(), "the writer has lost its lock");
    }

    #[test]
    fn readers_keep_the_owner_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.pcapng");
        std::fs::write(&path, b"x").unwrap();
        let reader = read_lock(&path).unwrap();
        let second = read_lock(&path).unwrap();
        assert!(lock_alone(&path).unwrap().is_none());
        drop((reader, second));
        let owner = lock_alone(&path).unwrap();
        assert!(owner.is_some());
        assert!(lock_alone(&path).unwrap().is_none());
    }
}
