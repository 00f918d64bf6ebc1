//! The file of an image (`-e`): claimed at the start, read in and taken away before anything is served, written when
//! nothing is served any more.
//!
//! FILE is there only while no cache uses it: taken away (unlinked, the folder synced) before the first request is
//! answered, and made by renaming when it is whole and on disk. So a cache that crashed finds none, and begins cold;
//! no value comes back that a client has changed since. FILE.part is locked by the cache that will write it.

mod check;
mod load;
mod save;

pub use check::{Checked, check};
pub use load::{Recalled, Spoilt};
pub use save::Saved;

use crate::image::{Boot, Moment, Wrong};
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How often progress is told.
const TELL_EVERY: Duration = Duration::from_millis(100);
/// Threads that read or write, at most: some of them fill any disk.
const THREADS_MAX: usize = 8;
/// Tries to lock a file that others rename meanwhile.
const LOCK_TRIES: u32 = 10;

/// Why there is no image, or none is written.
#[derive(Debug, thiserror::Error)]
pub enum ImageFailed {
    /// The system says no.
    #[error("{}: {error}", path.display())]
    System {
        /// What it says so about.
        path: PathBuf,
        /// What it says.
        error: io::Error,
    },
    /// Another process writes its image there.
    #[error("{}: another process uses it", .0.display())]
    Used(PathBuf),
    /// The file is none of ours: nothing is done to it.
    #[error("{}: {wrong}; it stays as it is: take it away, or name another file", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it is.
        wrong: Wrong,
    },
}

impl ImageFailed {
    fn system(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |error| ImageFailed::System { path: path.to_owned(), error }
    }
}

/// Told now and then how far it is: octets, and octets in all.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64);

/// The file of an image, claimed.
#[derive(Debug)]
pub struct ImageFile {
    path: PathBuf,
    part: PathBuf,
    file: File,
    /// Whether the part has become the file.
    done: bool,
}

impl ImageFile {
    /// Claims the place of an image: makes and locks FILE.part, empty, for this user alone, so that it is known at the
    /// start, and not at the end, that it can be written.
    ///
    /// # Errors
    /// It cannot be made, or another process has it.
    pub fn claim(path: &Path) -> Result<Self, ImageFailed> {
        let mut name = path.as_os_str().to_owned();
        name.push(".part");
        let part = PathBuf::from(name);
        for _ in 0..LOCK_TRIES {
            let mut options = OpenOptions::new();
            let file = options.read(true).write(true).create(true).truncate(false).mode(0o600).open(&part);
            let file = file.map_err(ImageFailed::system(&part))?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Err(rustix::io::Errno::WOULDBLOCK) => return Err(ImageFailed::Used(part)),
                other => other.map_err(|e| ImageFailed::system(&part)(e.into()))?,
            }
            // Who had it until now may have renamed it in between.
            if is_at(&file, &part) {
                file.set_len(0).map_err(ImageFailed::system(&part))?;
                return Ok(ImageFile { path: path.to_owned(), part, file, done: false });
            }
        }
        Err(ImageFailed::Used(part))
    }

    /// Where the image is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes the image away, for good: from now on what it has may be changed.
    ///
    /// # Errors
    /// It cannot be taken away: then nothing may be served.
    pub fn take_away(&self) -> Result<(), ImageFailed> {
        match fs::remove_file(&self.path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other.and_then(|()| self.sync_folder()).map_err(ImageFailed::system(&self.path)),
        }
    }

    fn sync_folder(&self) -> io::Result<()> {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
    }

    /// Makes the part, which is whole, the image.
    fn commit(&mut self) -> Result<(), ImageFailed> {
        self.file.sync_all().map_err(ImageFailed::system(&self.part))?;
        fs::rename(&self.part, &self.path).map_err(ImageFailed::system(&self.path))?;
        self.done = true;
        self.sync_folder().map_err(ImageFailed::system(&self.path))
    }
}

impl Drop for ImageFile {
    fn drop(&mut self) {
        if !self.done {
            // Nothing half-made stays; where it cannot be removed, the next start empties it.
            let _ = fs::remove_file(&self.part);
        }
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    let name = |meta: fs::Metadata| (meta.dev(), meta.ino());
    file.metadata().ok().map(name) == fs::metadata(path).ok().map(name)
}

/// The moment that it is.
pub fn moment() -> Moment {
    let unix_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    Moment { unix_s, boot: boot().unwrap_or_default() }
}

/// Which boot it is, and since when (proc(5): `/proc/sys/kernel/random`, `/proc/uptime`).
fn boot() -> Option<Boot> {
    let name = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().replace('-', "");
    let uptime = fs::read_to_string("/proc/uptime").ok()?;
    let seconds = uptime.split('.').next()?.parse().ok()?;
    Some(Boot { name: u128::from_str_radix(&name, 16).ok()?, seconds })
}

/// Threads for the work, of those that serve.
fn threads(wanted: usize) -> usize {
    wanted.clamp(1, THREADS_MAX)
}

/// Tells progress until all threads have let go of the other end.
fn tell_until_done(working: &Receiver<()>, done: &dyn Fn() -> u64, total: u64, progress: Progress<'_>) {
    while let Err(RecvTimeoutError::Timeout) = working.recv_timeout(TELL_EVERY) {
        progress(done(), total);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_claims_a_place_and_leaves_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("image");
        let first = ImageFile::claim(&path).expect("free");
        let part = first.part.clone();
        assert!(part.exists() && matches!(ImageFile::claim(&path), Err(ImageFailed::Used(_))));
        drop(first);
        assert!(!part.exists());
        fs::write(&part, b"what a crash left").expect("written");
        let again = ImageFile::claim(&path).expect("free again");
        assert_eq!(fs::metadata(&part).expect("there").len(), 0);
        assert!(again.take_away().is_ok(), "there is none");
        let nowhere = ImageFile::claim(&folder.path().join("none/image"));
        assert!(matches!(nowhere, Err(ImageFailed::System { .. })));
    }
}
