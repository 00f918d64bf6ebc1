//! The real disk: a folder of a file system.

use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags};

use crate::disk::Disk;

/// Octets that are written at once where a file is made, so that others have the disk in between.
const PIECE: usize = 1 << 20;
const LOCK: &str = "lock";
/// What others may do with the files: nothing.
const MODE: u32 = 0o600;

/// A folder that one process at a time has.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// For its sync.
    folder: File,
    /// Held as long as the value lives; without it nothing is written.
    lock: Option<File>,
    /// What others may do with files that are made.
    mode: u32,
}

impl Folder {
    /// Opens a folder, which is made if it is not there.
    ///
    /// # Errors
    /// The system's; ResourceBusy if another process has it, which is named as far as it is known.
    pub fn open(path: &Path) -> io::Result<Folder> {
        std::fs::create_dir_all(path)?;
        let mut to_lock = OpenOptions::new();
        to_lock.create(true).truncate(false).read(true).write(true).mode(MODE);
        let lock = file(&mut to_lock, &path.join(LOCK))?;
        match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(io::Error::new(io::ErrorKind::ResourceBusy, held_by(&lock)));
            }
            locked => locked?,
        }
        let folder = File::open(path)?;
        folder.sync_all()?;
        Ok(Folder { path: path.to_path_buf(), folder, lock: Some(lock), mode: MODE })
    }

    /// Opens a folder to read it, beside the process that has it, if one does: nothing can be written.
    ///
    /// # Errors
    /// The system's; NotFound if it is not there.
    pub fn beside(path: &Path) -> io::Result<Folder> {
        Ok(Folder { path: path.to_path_buf(), folder: File::open(path)?, lock: None, mode: MODE })
    }

    /// The same with another mode of files that are made from now on (chmod(2)), so that others may read them.
    #[must_use]
    pub fn with_mode(self, mode: u32) -> Folder {
        Folder { mode, ..self }
    }

    fn may_write(&self) -> io::Result<()> {
        let refused = || io::Error::new(io::ErrorKind::ReadOnlyFilesystem, "the folder was opened to be read");
        self.lock.as_ref().map(drop).ok_or_else(refused)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Who has a lock: the process of which the kernel says so (`/proc/locks`, proc(5)), if it does.
fn held_by(lock: &File) -> String {
    let table = std::fs::read_to_string("/proc/locks").unwrap_or_default();
    let pid = lock.metadata().ok().and_then(|about| {
        let (major, minor) = (rustix::fs::major(about.dev()), rustix::fs::minor(about.dev()));
        holder(&table, &format!("{major:02x}:{minor:02x}:{}", about.ino()))
    });
    let who = pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"));
    format!("{who} holds the file `{LOCK}` in it")
}

/// The process that has a file, named by device and number, in a table of the kernel's; none that is of another
/// container.
fn holder(table: &str, file: &str) -> Option<u32> {
    table.lines().find_map(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let (kind, pid) = (fields.next()?, fields.nth(2)?);
        let is_it = kind == "FLOCK" && fields.next()? == file;
        pid.parse().ok().filter(|pid| is_it && *pid > 0)
    })
}

/// Opens a file; a pipe that somebody put there, which would hold who opens it, is none.
fn file(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let file = options.custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file")),
    }
}

impl Disk for Folder {
    type File = File;

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.path)? {
            names.extend(entry?.file_name().into_string());
        }
        Ok(names)
    }

    fn make(&self, name: &str, octets: u64) -> io::Result<File> {
        self.may_write()?;
        let mut to_make = OpenOptions::new();
        to_make.read(true).write(true).create(true).truncate(true).mode(self.mode);
        let file = file(&mut to_make, &self.path.join(name))?;
        let zeros = vec![0; PIECE];
        let mut at = 0;
        while at < octets {
            let piece = usize::try_from(octets - at).unwrap_or(PIECE).min(PIECE);
            file.write_all_at(&zeros[..piece], at)?;
            file.sync_data()?;
            at += piece as u64;
        }
        file.sync_all()?;
        self.folder.sync_all()?;
        Ok(file)
    }

    fn open(&self, name: &str) -> io::Result<File> {
        file(OpenOptions::new().read(true).write(self.lock.is_some()), &self.path.join(name))
    }

    fn read(&self, file: &File, at: u64, into: &mut [u8]) -> io::Result<usize> {
        file.read_at(into, at)
    }

    fn write(&self, file: &File, at: u64, octets: &[u8]) -> io::Result<()> {
        file.write_all_at(octets, at)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_data()
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.may_write()?;
        std::fs::rename(self.path.join(from), self.path.join(to))?;
        self.folder.sync_all()
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.may_write()?;
        std::fs::remove_file(self.path.join(name))
    }

    /// The keys of [`RandomState`] come from the system's random numbers.
    fn salt(&self) -> u64 {
        RandomState::new().hash_one(std::process::id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    #[test]
    fn the_kernel_says_who_has_a_lock() {
        let table = "1: POSIX  ADVISORY  WRITE 71 fe:00:42 0 EOF\n2: FLOCK  ADVISORY  WRITE 72 fe:00:42 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 73 fe:00:43 0 EOF\n3: FLOCK  ADVISORY  WRITE 0 fe:00:44 0 EOF\n\
                     broken\n";
        assert_eq!(holder(table, "fe:00:42"), Some(72));
        for of_nobody in ["fe:00:4", "fe:00:43", "fe:00:44", "fe:00:45", ""] {
            assert_eq!(holder(table, of_nobody), None, "{of_nobody}");
        }
    }

    #[test]
    fn a_pipe_holds_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = |name: &str| {
            mknodat(CWD, folder.path().join(name), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        };
        pipe("durable");
        let told = |opened: io::Result<File>| opened.unwrap_err().to_string();
        assert_eq!(told(Folder::beside(folder.path()).unwrap().open("durable")), "it is not a file");
        let held = Folder::open(folder.path()).unwrap();
        assert_eq!(told(held.open("durable")), "it is not a file");
        assert_eq!(told(held.make("durable", 0)), "it is not a file");
        drop(held);
        std::fs::remove_file(folder.path().join(LOCK)).unwrap();
        pipe(LOCK);
        assert_eq!(Folder::open(folder.path()).unwrap_err().to_string(), "it is not a file");
    }
}
