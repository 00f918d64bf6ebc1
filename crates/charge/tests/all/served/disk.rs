//! A folder that does what a disk may do.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use trunkline_commit::{Disk, Folder};

/// A folder that has no room, or whose writes fail, when it is told to.
pub struct Failing {
    folder: Folder,
    /// No new file has room; where [`Failing::fills`] says so, nothing is written into those that are there either.
    pub full: AtomicBool,
    /// Whether `full` holds for files that are there: those of a log have their room from the beginning.
    pub fills: AtomicBool,
    /// Writes fail.
    pub broken: AtomicBool,
    /// Whoever writes panics.
    pub panics: AtomicBool,
}

impl Failing {
    /// A folder that is sound.
    pub fn open(path: &Path) -> Arc<Failing> {
        let folder = Folder::open(path).expect("a folder");
        let [full, fills, broken, panics] = core::array::from_fn(|_| AtomicBool::new(false));
        Arc::new(Failing { folder, full, fills, broken, panics })
    }

    fn has_room(&self) -> io::Result<()> {
        assert!(!self.panics.load(Ordering::SeqCst), "a defect of this program");
        if self.full.load(Ordering::SeqCst) { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }
}

impl Disk for Failing {
    type File = File;

    fn list(&self) -> io::Result<Vec<String>> {
        self.folder.list()
    }

    fn make(&self, name: &str, octets: u64) -> io::Result<File> {
        self.has_room()?;
        self.folder.make(name, octets)
    }

    fn open(&self, name: &str) -> io::Result<File> {
        self.folder.open(name)
    }

    fn read(&self, file: &File, at: u64, into: &mut [u8]) -> io::Result<usize> {
        self.folder.read(file, at, into)
    }

    fn write(&self, file: &File, at: u64, octets: &[u8]) -> io::Result<()> {
        if self.fills.load(Ordering::SeqCst) {
            self.has_room()?;
        }
        match self.broken.load(Ordering::SeqCst) {
            true => Err(io::Error::other("the disk is gone")),
            false => self.folder.write(file, at, octets),
        }
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        self.folder.sync(file)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.folder.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.folder.remove(name)
    }

    fn salt(&self) -> u64 {
        self.folder.salt()
    }
}
