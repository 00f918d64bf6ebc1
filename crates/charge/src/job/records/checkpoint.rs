//! Checkpoints of open records: a start folds from there on, and not from the first entry.

use super::cursor::{checked, read_whole, sealed, write_whole};
use crate::cdr::Fold;
use trunkline_commit::Disk;

/// The checkpoint's file.
pub const NAME: &str = "checkpoint";
const UNFINISHED: &str = "checkpoint.part";
const MARK: &[u8; 8] = b"TKLCDRF1";
/// Octets of the longest that is read: ten million open records and more.
const OCTETS_MAX: usize = 4 << 30;

/// The one of a folder; none if none was written yet.
///
/// # Errors
/// It cannot be read, or is damaged.
pub fn load<D: Disk>(disk: &D) -> Result<Option<Fold>, String> {
    let file = match disk.open(NAME) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(|error| format!("{NAME}: {error}"))?,
    };
    let octets = read_whole(disk, &file, OCTETS_MAX).map_err(|error| format!("{NAME}: {error}"))?;
    let fold = checked(MARK, &octets).and_then(|body| Fold::read(body).ok());
    fold.map(Some).ok_or_else(|| format!("{NAME} is damaged"))
}

/// Puts one in place of the one before.
///
/// # Errors
/// The system's: one of the two is there.
pub fn save<D: Disk>(disk: &D, fold: &Fold) -> std::io::Result<()> {
    let mut body = Vec::new();
    fold.put(|piece| {
        body.extend_from_slice(piece);
        std::io::Result::Ok(())
    })?;
    write_whole(disk, UNFINISHED, &sealed(MARK, &body))?;
    disk.rename(UNFINISHED, NAME)
}
