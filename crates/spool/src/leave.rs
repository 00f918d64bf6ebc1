//! How a segment leaves: nobody who looks sees half of it, and it is never on no volume.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Advice, FlockOperation};
use trunkline_kit::place;

use crate::disk::{FILE_MODE, FOLDER_MODE, sync_folder_of};
use crate::lock::lock_alone;
use crate::name::{self, GONE, Kinds, MOVE};
use crate::repair::remove_with_beside;

/// Octets copied at once; after each so many they are on disk and out of the page cache, so that a move never fills it.
const COPY: usize = 4 << 20;

/// Deletes a segment and what stands beside it. False if somebody uses it.
pub(crate) fn delete(path: &Path, kinds: Kinds) -> io::Result<bool> {
    let Some(_lock) = lock_alone(path)? else { return Ok(false) };
    let gone = name::with(path, GONE);
    // From here on it is not found; whoever dies now leaves the rest to repair.
    std::fs::rename(path, &gone)?;
    remove_with_beside(&gone, path, kinds);
    if gone.exists() {
        return Err(io::Error::other("renamed, but cannot be removed"));
    }
    remove_empty_folders(path);
    Ok(true)
}

/// Moves a segment and what stands beside it to another file system. False if somebody uses it.
pub(crate) fn move_to(path: &Path, to: &Path, kinds: Kinds) -> io::Result<bool> {
    let Some(lock) = lock_alone(path)? else { return Ok(false) };
    if to.exists() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    if let Some(folder) = to.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(folder)?;
    }
    let mut made = Vec::new();
    let moved = copy_all(path, &lock, to, kinds, &mut made);
    if let Err(error) = moved {
        for path in made {
            let _ = std::fs::remove_file(path);
        }
        return Err(error);
    }
    drop(lock);
    delete(path, kinds)
}

/// Copies what stands beside it and then the segment, which its name commits.
fn copy_all(path: &Path, lock: &File, to: &Path, kinds: Kinds, made: &mut Vec<PathBuf>) -> io::Result<()> {
    // There before all else, and locked: what stands beside it is no orphan meanwhile.
    let target = make(to, made)?;
    for extension in kinds.beside {
        match place::open(&kinds.beside_of(path, extension)) {
            Ok(from) => {
                let to = kinds.beside_of(to, extension);
                copy(&from, &make(&to, made)?)?;
                commit(&to, made)?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    copy(lock, &target)?;
    commit(to, made)?;
    sync_folder_of(to)
}

/// A copy that is being made.
fn make(to: &Path, made: &mut Vec<PathBuf>) -> io::Result<File> {
    let temporary = name::with(to, MOVE);
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(FILE_MODE).open(&temporary)?;
    let _ = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive);
    made.push(temporary);
    Ok(file)
}

fn commit(to: &Path, made: &mut Vec<PathBuf>) -> io::Result<()> {
    std::fs::rename(name::with(to, MOVE), to)?;
    made.push(to.to_path_buf());
    Ok(())
}

fn copy(mut from: &File, mut to: &File) -> io::Result<()> {
    let (mut buffer, mut at) = (vec![0; COPY], 0u64);
    loop {
        let count = from.read(&mut buffer)?;
        if count == 0 {
            // An index may tell by its time that it belongs to it.
            to.set_modified(from.metadata()?.modified()?)?;
            return to.sync_all();
        }
        to.write_all(buffer.get(..count).unwrap_or_default())?;
        to.sync_data()?;
        for file in [from, to] {
            let _ = rustix::fs::fadvise(file, at, std::num::NonZeroU64::new(count as u64), Advice::DontNeed);
        }
        at += count as u64;
    }
}

/// Removes the folders of an hour, day, month and year that have nothing left in them.
fn remove_empty_folders(path: &Path) {
    const FOLDERS: usize = 4;
    for folder in path.ancestors().skip(1).take(FOLDERS) {
        if std::fs::remove_dir(folder).is_err() {
            return;
        }
    }
}
