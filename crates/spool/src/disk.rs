//! A volume's files: made, preallocated, synchronised, renamed. Everything blocks; only a volume's threads come here.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{FallocateFlags, FlockOperation, OFlags};

use crate::faults::Faults;
use crate::name;
use crate::options::{PAGE, Volume};

/// The file that tells whether a volume can be written again.
const PROBE: &str = ".trunkline-probe";
/// Numbers tried for a name that is taken.
const NUMBERS_MAX: u32 = 100_000;
/// Octets behind the last write that may still be in the page cache, on their way to the disk.
const CACHED_OCTETS: u64 = 32 << 20;
/// Recorded traffic is for its owner and group.
pub(crate) const FILE_MODE: u32 = 0o640;
pub(crate) const FOLDER_MODE: u32 = 0o750;

/// One volume's file system.
#[derive(Debug)]
pub(crate) struct Disk {
    pub(crate) root: PathBuf,
    faults: Option<Arc<Faults>>,
    direct: AtomicBool,
    preallocates: AtomicBool,
}

/// A new segment.
#[derive(Debug)]
pub(crate) struct NewFile {
    pub(crate) file: File,
    /// Its path while it is written, with `.part`.
    pub(crate) part: PathBuf,
    /// Its path when it is committed.
    pub(crate) committed: PathBuf,
}

/// Octets of a file system.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Space {
    pub(crate) size: u64,
    pub(crate) free: u64,
}

impl Disk {
    pub(crate) fn new(volume: &Volume, direct: bool) -> Disk {
        let (direct, preallocates) = (AtomicBool::new(direct), AtomicBool::new(true));
        Disk { root: volume.path.clone(), faults: volume.faults.clone(), direct, preallocates }
    }

    pub(crate) fn faults(&self) -> Option<&Arc<Faults>> {
        self.faults.as_ref()
    }

    pub(crate) fn is_direct(&self) -> bool {
        self.direct.load(Ordering::Relaxed)
    }

    /// Whether the file system takes `O_DIRECT`; if not, it is not tried any more.
    pub(crate) fn try_direct(&self) -> bool {
        let path = self.root.join(PROBE);
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(FILE_MODE).open(&path);
        let taken = file.and_then(|file| self.set_direct(&file, true)).is_ok();
        // Left behind, it is in nobody's way and is used again.
        let _ = self.remove(&path);
        self.direct.store(taken, Ordering::Relaxed);
        taken
    }

    /// Makes the file of a segment and locks it. If `relative` is taken on one of the volumes, a number goes in.
    pub(crate) fn create(&self, relative: &Path, roots: &[PathBuf]) -> io::Result<NewFile> {
        self.fault(Faults::name)?;
        let folder = self.root.join(relative).parent().map(Path::to_path_buf).unwrap_or_default();
        for number in 0..NUMBERS_MAX {
            let relative = name::numbered(relative, number);
            let taken = |root: &PathBuf| {
                let path = root.join(&relative);
                path.exists() || name::part(&path).exists() || name::with(&path, name::PACKED).exists()
            };
            if roots.iter().any(taken) {
                continue;
            }
            let committed = self.root.join(&relative);
            let part = name::part(&committed);
            self.make_folder(&folder)?;
            match self.open_new(&part) {
                Ok(file) => return Ok(NewFile { file, part, committed }),
                // NotFound: retention removed the empty folder at this moment.
                Err(error) if matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound) => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Makes a folder with all above it, and their names durable.
    fn make_folder(&self, folder: &Path) -> io::Result<()> {
        if folder.is_dir() {
            return Ok(());
        }
        std::fs::DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(folder)?;
        folder.ancestors().take_while(|f| f.starts_with(&self.root)).try_for_each(|f| File::open(f)?.sync_all())
    }

    fn open_new(&self, part: &Path) -> io::Result<File> {
        let mut how = OpenOptions::new();
        how.read(true).write(true).create_new(true).mode(FILE_MODE);
        let file = how.open(part)?;
        // A file system without locks has no other process that would look at them.
        let _ = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive);
        if self.is_direct() && self.set_direct(&file, true).is_err() {
            self.direct.store(false, Ordering::Relaxed);
        }
        Ok(file)
    }

    /// Turns passing by the page cache on or off for a file.
    fn set_direct(&self, file: &File, on: bool) -> io::Result<()> {
        if on && self.faults.as_ref().is_some_and(|f| f.now().no_direct) {
            return Err(rustix::io::Errno::INVAL.into());
        }
        let mut flags = rustix::fs::fcntl_getfl(file)?;
        flags.set(OFlags::DIRECT, on);
        Ok(rustix::fs::fcntl_setfl(file, flags)?)
    }

    /// The file system took `O_DIRECT` and refuses the writes: goes on without it, for all files of the volume.
    pub(crate) fn give_up_direct(&self, file: &File) -> io::Result<()> {
        self.direct.store(false, Ordering::Relaxed);
        self.set_direct(file, false)
    }

    /// Reserves space from `offset` on without making the file longer, if the file system can.
    pub(crate) fn preallocate(&self, file: &File, offset: u64, octets: u64) -> io::Result<()> {
        if !self.preallocates.load(Ordering::Relaxed) {
            return Ok(());
        }
        match rustix::fs::fallocate(file, FallocateFlags::KEEP_SIZE, offset, octets) {
            Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {
                self.preallocates.store(false, Ordering::Relaxed);
                Ok(())
            }
            done => Ok(done?),
        }
    }

    /// Without direct writes: what was written goes on to the disk now, not all at once when it is synchronised, and
    /// what came before it leaves the page cache.
    pub(crate) fn leave_cache(&self, file: &File, offset: u64, octets: usize) {
        if !self.is_direct() {
            let from = offset.saturating_sub(CACHED_OCTETS);
            let length = std::num::NonZeroU64::new(offset - from + octets as u64);
            let _ = rustix::fs::fadvise(file, from, length, rustix::fs::Advice::DontNeed);
        }
    }

    /// Cuts a file to its length; what was reserved behind it is free again.
    pub(crate) fn truncate(&self, file: &File, octets: u64) -> io::Result<()> {
        self.fault(Faults::name)?;
        file.set_len(octets)
    }

    pub(crate) fn sync(&self, file: &File) -> io::Result<()> {
        self.fault(Faults::sync)?;
        file.sync_data()
    }

    /// Writes a whole small file and commits it.
    pub(crate) fn commit_extra(&self, path: &Path, octets: &[u8]) -> io::Result<()> {
        self.fault(|f| f.write(octets.len() as u64))?;
        self.fault(Faults::sync)?;
        commit_file(path, octets)
    }

    pub(crate) fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.fault(Faults::name)?;
        std::fs::rename(from, to)
    }

    pub(crate) fn remove(&self, path: &Path) -> io::Result<()> {
        self.fault(Faults::name)?;
        std::fs::remove_file(path)
    }

    /// Makes the names in a file's folder durable.
    pub(crate) fn sync_folder_of(&self, path: &Path) -> io::Result<()> {
        self.fault(Faults::sync)?;
        sync_folder_of(path)
    }

    pub(crate) fn space(&self) -> io::Result<Space> {
        space(&self.root, self.faults.as_deref())
    }

    /// Whether the volume can be written: makes a file, writes it, synchronises it and removes it.
    pub(crate) fn probe(&self) -> io::Result<()> {
        self.fault(Faults::name)?;
        self.fault(|f| f.write(PAGE as u64))?;
        std::fs::DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(&self.root)?;
        let path = self.root.join(PROBE);
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(FILE_MODE).open(&path)?;
        let written = file.write_all(&[0; PAGE]).and_then(|()| self.sync(&file));
        let removed = self.remove(&path);
        written.and(removed)
    }

    fn fault(&self, of: impl FnOnce(&Faults) -> io::Result<()>) -> io::Result<()> {
        self.faults.as_deref().map_or(Ok(()), of)
    }
}

/// Writes a whole small file under another name, synchronises it and gives it its own.
pub(crate) fn commit_file(path: &Path, octets: &[u8]) -> io::Result<()> {
    let part = name::part(path);
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(FILE_MODE).open(&part)?;
    file.write_all(octets)?;
    file.sync_data()?;
    std::fs::rename(&part, path)
}

/// Makes the names in a file's folder durable.
pub(crate) fn sync_folder_of(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

/// The space of the file system that holds `path`.
pub(crate) fn space(path: &Path, faults: Option<&Faults>) -> io::Result<Space> {
    let found = rustix::fs::statvfs(path)?;
    let free = match faults.and_then(|f| f.now().space) {
        Some(space) => space,
        None => found.f_bavail.saturating_mul(found.f_frsize),
    };
    Ok(Space { size: found.f_blocks.saturating_mul(found.f_frsize), free })
}
