//! A file on disk, under the lock that rrdtool takes: a whole-file `fcntl` lock, to read or to write.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FlockOperation, OFlags, fcntl_lock};

use crate::archive::{Archive, Rows, Time, Value, spread};
use crate::create::{FILE_OCTETS_MAX, Made};
use crate::fault::{Fault, Refused};
use crate::fetch::{Question, Series, Window};
use crate::shape::Shape;
use crate::tune::{Tune, tune};

/// Octets that are read at first: the header of most files.
const FIRST_READ_OCTETS: usize = 8192;

/// An open file. The lock is the process's and ends with any closing of the file in it, as those of `fcntl` do: who
/// writes and who reads in one process need an order of their own.
#[derive(Debug)]
pub struct RrdFile {
    file: File,
    archive: Archive,
}

impl RrdFile {
    /// Opens a file to read it.
    ///
    /// # Errors
    /// [`Fault`]: the system's, it is locked for writing, or it is no such file.
    pub fn open(path: &Path) -> Result<RrdFile, Fault> {
        // A pipe in its place does not hold who reads.
        let at_once = OFlags::NONBLOCK.bits().cast_signed();
        let file = File::options().read(true).custom_flags(at_once).open(path)?;
        RrdFile::begin(file, FlockOperation::NonBlockingLockShared)
    }

    /// Opens a file to update it.
    ///
    /// # Errors
    /// [`Fault`]: the system's, it is locked, it is no such file, or has more than [`FILE_OCTETS_MAX`].
    pub fn open_to_update(path: &Path) -> Result<RrdFile, Fault> {
        let file = File::options().read(true).write(true).open(path)?;
        let file = RrdFile::begin(file, FlockOperation::NonBlockingLockExclusive)?;
        check_size(file.archive.shape().file_octets)?;
        Ok(file)
    }

    /// Makes a file in place of one that has this name: it is whole under its name, or not there.
    ///
    /// # Errors
    /// [`Fault::Io`].
    pub fn create(path: &Path, made: &Made) -> Result<(), Fault> {
        replace(path, &made.octets())
    }

    /// The first half of [`RrdFile::create`], for who makes many files at once: writes the file under another name, and
    /// does not wait for the disk. When what was written is on stable storage (`syncfs` does it for all of them),
    /// [`RrdFile::name`] gives it its own name. Its octets are told.
    ///
    /// # Errors
    /// [`Fault::Io`]: nothing of it is left.
    pub fn draft(path: &Path, made: &Made) -> Result<u64, Fault> {
        let (part, octets) = (part(path), made.octets());
        if let Err(error) = std::fs::write(&part, &octets) {
            let _ = std::fs::remove_file(&part);
            return Err(error.into());
        }
        Ok(octets.len() as u64)
    }

    /// The second half: names a draft. The name is on stable storage after another sync.
    ///
    /// # Errors
    /// The system's; not found if there is no draft.
    pub fn name(path: &Path) -> io::Result<()> {
        std::fs::rename(part(path), path)
    }

    /// Puts a whole file in place of one that has this name, under the lock of the one that is there: it is on stable
    /// storage, or the old one is.
    ///
    /// # Errors
    /// [`Fault`]: the system's, it is locked, or these octets are no such file.
    pub fn replace(path: &Path, octets: &[u8]) -> Result<(), Fault> {
        Archive::open(octets)?;
        let _held = if path.exists() { Some(RrdFile::open_to_update(path)?) } else { None };
        replace(path, octets)
    }

    /// Changes what a file holds, under its lock: afterwards it is another file under the same name, or the old one.
    ///
    /// # Errors
    /// [`Fault`]: the system's, it is locked, it is no such file, or a change cannot be.
    pub fn tune(path: &Path, changes: &[Tune]) -> Result<(), Fault> {
        let file = RrdFile::open_to_update(path)?;
        let mut octets = vec![0; check_size(file.file.metadata()?.len())?];
        file.file.read_exact_at(&mut octets, 0)?;
        replace(path, &tune(&octets, changes)?)
    }

    fn begin(file: File, lock: FlockOperation) -> Result<RrdFile, Fault> {
        if !file.metadata()?.is_file() {
            return Err(Fault::Io(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file")));
        }
        fcntl_lock(&file, lock).map_err(|error| match error {
            rustix::io::Errno::ACCESS | rustix::io::Errno::AGAIN => Fault::Locked,
            error => Fault::Io(error.into()),
        })?;
        let archive = read_archive(|at, into| read_some(&file, at, into))?;
        check_length(&file, archive.shape())?;
        Ok(RrdFile { file, archive })
    }

    /// What it holds, and how far it is.
    #[must_use]
    pub fn archive(&self) -> &Archive {
        &self.archive
    }

    /// Rows of it.
    ///
    /// # Errors
    /// [`Fault`]: what is asked for has no sense, or the system's.
    pub fn fetch(&self, question: &Question) -> Result<Series, Fault> {
        Window::choose(&self.archive, question)?
            .series(&self.archive, |at, into| Ok(self.file.read_exact_at(into, at)?))
    }

    /// Takes samples and writes what they change: rows first, the header last. Samples that are refused are told, and
    /// the others go in.
    ///
    /// # Errors
    /// [`Fault::Io`]: rows may be written, and the header not.
    pub fn update<'v>(
        &mut self,
        samples: impl IntoIterator<Item = (Time, &'v [Value<'v>])>,
        mut refused: impl FnMut(Time, Refused),
    ) -> Result<(), Fault> {
        let mut rows = Rows::default();
        let mut changed = false;
        for (time, values) in samples {
            match self.archive.update(time, values, &mut rows) {
                Ok(()) => changed = true,
                Err(why) => refused(time, why),
            }
        }
        if !changed {
            return Ok(());
        }
        let mut octets = Vec::new();
        for write in rows.writes(self.archive.shape()) {
            octets.clear();
            write.words.iter().for_each(|word| octets.extend_from_slice(&word.to_le_bytes()));
            spread(write.at, &octets, write.times, |at, octets| self.file.write_all_at(octets, at))?;
        }
        octets.clear();
        self.archive.write_live(&mut octets);
        self.file.write_all_at(&octets, self.archive.shape().still_octets as u64)?;
        Ok(())
    }
}

/// On stable storage before it has the name, and so is the name when this is done.
fn replace(path: &Path, octets: &[u8]) -> Result<(), Fault> {
    let part = part(path);
    let replaced = stable(&part, octets).and_then(|()| std::fs::rename(&part, path));
    if let Err(error) = replaced {
        // What is left of it has no use; that it could not be made is what counts.
        let _ = std::fs::remove_file(&part);
        return Err(error.into());
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok(File::open(folder)?.sync_all()?)
}

/// What a file is called until it is whole.
fn part(path: &Path) -> PathBuf {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    part.into()
}

fn stable(path: &Path, octets: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(octets)?;
    file.sync_all()
}

/// A file that is changed is as small as one that we would make: a header alone can claim terabytes of rows, and a file
/// with holes can be that long.
pub(crate) fn check_size(octets: u64) -> Result<usize, Fault> {
    let there = usize::try_from(octets).ok().filter(|_| octets <= FILE_OCTETS_MAX);
    let more = || Fault::asked(format!("a file of {octets} octets: more than {FILE_OCTETS_MAX} are read, not written"));
    there.ok_or_else(more)
}

/// Reads a header with one read, or two where it is long. `read` gives how many octets there were.
pub(crate) fn read_archive(read: impl Fn(u64, &mut [u8]) -> Result<usize, Fault>) -> Result<Archive, Fault> {
    let mut octets = vec![0; FIRST_READ_OCTETS];
    let got = read(0, &mut octets)?;
    octets.truncate(got);
    let header = Shape::header_octets(&octets)?;
    if header > octets.len() && got == FIRST_READ_OCTETS {
        octets.resize(header, 0);
        let more = read(got as u64, &mut octets[got..])?;
        octets.truncate(got + more);
    }
    Archive::open(&octets)
}

fn read_some(file: &File, at: u64, into: &mut [u8]) -> Result<usize, Fault> {
    let mut got = 0;
    while got < into.len() {
        match file.read_at(&mut into[got..], at + got as u64) {
            Ok(0) => break,
            Ok(more) => got += more,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(got)
}

fn check_length(file: &File, shape: &Arc<Shape>) -> Result<(), Fault> {
    let octets = file.metadata()?.len();
    if octets < shape.file_octets {
        let what = format!("the file ends here, and should have {} octets", shape.file_octets);
        return Err(Fault::format(octets, what));
    }
    Ok(())
}
