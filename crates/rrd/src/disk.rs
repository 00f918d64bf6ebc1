//! What the writer needs of a disk. The real one is [`Folder`]; tests have one that loses power.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, fcntl_lock, syncfs};

/// A folder of files. Paths are within it.
pub trait Disk {
    /// An open file.
    type File;

    /// Opens a file for reading and writing, under rrdtool's lock until it is dropped.
    ///
    /// # Errors
    /// The system's; WouldBlock if another process holds the lock.
    fn open(&self, path: &Path) -> io::Result<Self::File>;

    /// Opens a file for reading and writing, of so many octets: a new one is zeros. It is on stable storage then.
    ///
    /// # Errors
    /// As above.
    fn make(&self, path: &Path, octets: u64) -> io::Result<Self::File>;

    /// What tells a file from others and from itself at another time.
    ///
    /// # Errors
    /// The system's.
    fn mark(&self, file: &Self::File) -> io::Result<Mark>;

    /// Reads what is at a place, as much as `into` takes or there is; how much it was.
    ///
    /// # Errors
    /// The system's.
    fn read(&self, file: &Self::File, at: u64, into: &mut [u8]) -> io::Result<usize>;

    /// Writes all of it at a place. It may be lost until [`Disk::sync`] or [`Disk::sync_all`].
    ///
    /// # Errors
    /// The system's; StorageFull above all.
    fn write(&self, file: &Self::File, at: u64, octets: &[u8]) -> io::Result<()>;

    /// Puts what was written to a file on stable storage.
    ///
    /// # Errors
    /// The system's: what was written since the last one may be lost for good.
    fn sync(&self, file: &Self::File) -> io::Result<()>;

    /// Puts what was written to any file on stable storage.
    ///
    /// # Errors
    /// As above.
    fn sync_all(&self) -> io::Result<()>;
}

/// What tells a file from others and from itself at another time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// Another file has another number.
    pub number: u64,
    /// How long it is.
    pub octets: u64,
    /// When it was written last, nanoseconds of Unix.
    pub written_ns: i128,
}

/// A folder of the system.
#[derive(Debug)]
pub struct Folder {
    root: PathBuf,
    handle: File,
}

impl Folder {
    /// A folder that is there.
    ///
    /// # Errors
    /// The system's.
    pub fn open(root: &Path) -> io::Result<Folder> {
        Ok(Folder { root: root.to_owned(), handle: File::open(root)? })
    }
}

impl Disk for Folder {
    type File = File;

    fn open(&self, path: &Path) -> io::Result<File> {
        let file = File::options().read(true).write(true).open(self.root.join(path))?;
        fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive).map_err(locked)?;
        Ok(file)
    }

    fn make(&self, path: &Path, octets: u64) -> io::Result<File> {
        let path = self.root.join(path);
        let file = File::options().read(true).write(true).create(true).truncate(false).open(path)?;
        fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive).map_err(locked)?;
        let zeros = vec![0; 1 << 20];
        let mut at = file.metadata()?.len();
        // Zeros that are written, not a hole: later writes change no metadata, and a sync is one write of the disk.
        while at < octets {
            let more = (octets - at).min(zeros.len() as u64);
            file.write_all_at(&zeros[..more as usize], at)?;
            at += more;
        }
        file.sync_all()?;
        self.handle.sync_all()?;
        Ok(file)
    }

    fn mark(&self, file: &File) -> io::Result<Mark> {
        let about = file.metadata()?;
        let written_ns = i128::from(about.mtime()) * 1_000_000_000 + i128::from(about.mtime_nsec());
        Ok(Mark { number: about.ino(), octets: about.len(), written_ns })
    }

    fn read(&self, file: &File, at: u64, into: &mut [u8]) -> io::Result<usize> {
        let mut got = 0;
        while got < into.len() {
            match file.read_at(&mut into[got..], at + got as u64) {
                Ok(0) => break,
                Ok(more) => got += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(got)
    }

    fn write(&self, file: &File, at: u64, octets: &[u8]) -> io::Result<()> {
        file.write_all_at(octets, at)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_data()
    }

    fn sync_all(&self) -> io::Result<()> {
        Ok(syncfs(&self.handle)?)
    }
}

/// POSIX lets a system say either.
pub(crate) fn locked(error: rustix::io::Errno) -> io::Error {
    match error {
        rustix::io::Errno::ACCESS | rustix::io::Errno::AGAIN => io::ErrorKind::WouldBlock.into(),
        error => error.into(),
    }
}
