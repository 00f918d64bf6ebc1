//! A committed segment in another form: written beside it, committed by rename, then the one before is removed.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;
use trunkline_kit::place;

use crate::disk::{FILE_MODE, space, sync_folder_of};
use crate::lock::{self, is_at};
use crate::name::{self, PACKED};

/// What became of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is in the other form.
    Rewritten(Rewritten),
    /// Nothing has changed: somebody else has it, or it is gone.
    InUse,
    /// Nothing has changed: its file system has no room for both forms; so many octets are free too few.
    NoRoom(u64),
}

/// A segment in its other form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewritten {
    /// Its path now, with [`PACKED`] behind the one before.
    pub path: PathBuf,
    /// Octets that it takes now.
    pub octets: u64,
}

/// Rewrites a segment: `write` gets the one that is there and the file to fill. `kill -9` at any moment leaves one of
/// the two forms, or both, of which [`crate::repair`] removes the first; what stands beside the segment stays.
/// Meanwhile it is locked for readers and nobody removes or moves it. It is not begun where the file system could have
/// less than `keep_free` octets free with both.
///
/// # Errors
/// What `write` says, or the system; the segment is there as before.
pub fn rewrite(
    path: &Path,
    keep_free: u64,
    write: &mut dyn FnMut(&File, &mut File) -> io::Result<()>,
) -> io::Result<Outcome> {
    let Some(from) = lock_shared(path)? else { return Ok(Outcome::InUse) };
    let packed = name::with(path, PACKED);
    if packed.exists() {
        // Committed, and cut off before the end.
        let octets = packed.metadata()?.len();
        return finish(path, &packed).map(|()| Outcome::Rewritten(Rewritten { path: packed, octets }));
    }
    let wanted = keep_free.saturating_add(from.metadata()?.len());
    let missing = wanted.saturating_sub(space(path, None)?.free);
    if missing > 0 {
        return Ok(Outcome::NoRoom(missing));
    }
    let part = name::part(&packed);
    let Some(mut to) = make(&part)? else { return Ok(Outcome::InUse) };
    let written = write(&from, &mut to).and_then(|()| {
        // What stands beside it may tell by its time that it belongs to it.
        to.set_modified(from.metadata()?.modified()?)?;
        to.sync_all()?;
        Ok(to.metadata()?.len())
    });
    // Nobody needs either soon.
    for file in [&from, &to] {
        let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
    }
    // A file system without locks: it may have been removed all the same.
    let committed = match written {
        Ok(_) if !is_at(&from, path) => Ok(None),
        Ok(octets) => std::fs::rename(&part, &packed).map(|()| Some(octets)),
        Err(error) => Err(error),
    };
    match committed {
        Ok(Some(octets)) => finish(path, &packed).map(|()| Outcome::Rewritten(Rewritten { path: packed, octets })),
        left => {
            let _ = std::fs::remove_file(&part);
            left.map(|_| Outcome::InUse)
        }
    }
}

/// The new form is there to stay, then the one before goes.
fn finish(path: &Path, packed: &Path) -> io::Result<()> {
    sync_folder_of(packed)?;
    std::fs::remove_file(path)
}

/// Opens a segment beside its readers; none while somebody removes or moves it, or when it is gone.
fn lock_shared(path: &Path) -> io::Result<Option<File>> {
    let file = match place::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared) {
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        _ => Ok(is_at(&file, path).then_some(file)),
    }
}

/// The file that is filled, empty; none while another process fills it.
fn make(part: &Path) -> io::Result<Option<File>> {
    drop(OpenOptions::new().write(true).create(true).truncate(false).mode(FILE_MODE).open(part)?);
    let Some(file) = lock::lock_alone(part)? else { return Ok(None) };
    file.set_len(0)?;
    Ok(Some(file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};

    fn shout(mut from: &File, to: &mut File) -> io::Result<()> {
        let mut text = String::new();
        from.read_to_string(&mut text)?;
        to.write_all(text.to_uppercase().as_bytes())
    }

    #[test]
    fn one_form_replaces_the_other() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let (path, packed) = (at("a.seg"), at("a.seg.zst"));
        std::fs::write(&path, "quiet").unwrap();
        let modified = path.metadata().unwrap().modified().unwrap();
        // A reader has it open; whoever removes it does not come in between.
        let reader = lock::read_lock(&path).unwrap();
        let made = rewrite(&path, 0, &mut |from, to| {
            assert!(lock::lock_alone(&path).unwrap().is_none());
            shout(from, to)
        });
        assert_eq!(made.unwrap(), Outcome::Rewritten(Rewritten { path: packed.clone(), octets: 5 }));
        assert_eq!(std::fs::read(&packed).unwrap(), b"QUIET");
        assert_eq!(packed.metadata().unwrap().modified().unwrap(), modified);
        assert!(!path.exists() && !at("a.seg.zst.part").exists());
        drop(reader);
        assert_eq!(rewrite(&path, 0, &mut shout).unwrap(), Outcome::InUse, "it is gone");
        // What is committed needs no room to be finished.
        std::fs::write(&path, "quiet").unwrap();
        let made = rewrite(&path, u64::MAX, &mut |_, _| panic!("it is there"));
        assert_eq!(made.unwrap(), Outcome::Rewritten(Rewritten { path: packed, octets: 5 }));
        assert!(!path.exists());
    }

    #[test]
    fn what_fails_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.seg");
        std::fs::write(&path, "quiet").unwrap();
        assert!(rewrite(&path, 0, &mut |_, _| Err(io::ErrorKind::Other.into())).is_err());
        let free = space(&path, None).unwrap().free;
        match rewrite(&path, u64::MAX, &mut shout).unwrap() {
            // Others write there, too.
            Outcome::NoRoom(missing) => assert!(missing.abs_diff(u64::MAX - free) < 1 << 40, "{missing}"),
            other => panic!("{other:?}"),
        }
        let remover = lock::lock_alone(&path).unwrap();
        assert_eq!(rewrite(&path, 0, &mut shout).unwrap(), Outcome::InUse, "it is being removed");
        drop(remover);
        let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names, ["a.seg"]);
    }
}
