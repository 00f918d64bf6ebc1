//! After a crash: segments that were not committed are cut after their last whole record and committed, or removed.

use std::io;
use std::path::{Path, PathBuf};

use crate::error::SpoolError;
use crate::writer::Extra;

/// A segment that was never committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartFile {
    /// Its path, with `.part`.
    pub path: PathBuf,
    /// What it will be called.
    pub committed: PathBuf,
    /// Octets of the file as it is: whole records, then perhaps a cut one, then perhaps zeros or holes.
    pub octets: u64,
}

/// What is to become of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mend {
    /// Its first `octets` are whole records: cut behind them and commit, with these files beside it.
    Keep {
        /// Octets to keep.
        octets: u64,
        /// The files beside it, made anew.
        extra: Vec<Extra>,
    },
    /// Nothing in it is whole: remove it.
    Discard,
    /// Leave it as it is.
    Leave,
}

/// What [`repair`] did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repaired {
    /// Committed segments with their octets.
    pub kept: Vec<(PathBuf, u64)>,
    /// Octets behind the last whole record of these that held anything but zeros and holes at the end of the file.
    pub cut_octets: u64,
    /// Parts without one whole record, removed.
    pub discarded: Vec<PathBuf>,
    /// Parts that are being written by a living process.
    pub in_use: Vec<PathBuf>,
    /// Parts left as they are, with the reason.
    pub left: Vec<(PathBuf, String)>,
    /// Files beside a segment (`.idx`) whose segment is gone, and half-written ones, removed.
    pub orphans: Vec<PathBuf>,
}

/// Commits or removes every `.part` below `folder` that no living process writes (each is locked while it is written);
/// `mend` looks into each and decides. Removes files with one of the extensions `beside` whose segment is gone.
/// May run while a spool writes to the same volume, and from another process.
///
/// # Errors
/// The folder cannot be listed. What goes wrong with one file is told in [`Repaired::left`].
pub fn repair(
    folder: &Path,
    beside: &[&str],
    mend: &mut dyn FnMut(&PartFile) -> io::Result<Mend>,
) -> Result<Repaired, SpoolError> {
    let _ = (beside, mend);
    Err(SpoolError::io(folder, io::Error::from(io::ErrorKind::Unsupported)))
}
