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
    let body = checked(MARK, &octets).ok_or_else(|| format!("{NAME} is damaged"))?;
    Fold::read(body).map(Some).map_err(|why| format!("{NAME} is damaged: {why}"))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::Octets;
    use crate::cdr::Cuts;
    use trunkline_commit::Folder;

    /// Whatever its checksum says: a slot that no session can have would take memory for all before it.
    #[test]
    fn slots_that_cannot_be_are_refused_and_named() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Folder::open(folder.path()).unwrap();
        let told = |entry: u64, slots: u64, slot: u32| {
            let mut body = Vec::new();
            (Cuts::default(), (entry, (1u32, 0u64))).put(&mut body);
            slots.put(&mut body);
            slot.put(&mut body);
            let mut open = Vec::new();
            (None::<(u64, (u64, u64))>, (None::<(u64, (u64, u64))>, 0i64)).put(&mut open);
            (0u32, (false, (0i64, Vec::<u64>::new()))).put(&mut open);
            open.into_boxed_slice().put(&mut body);
            write_whole(&disk, NAME, &sealed(MARK, &body)).unwrap();
            load(&disk).map(|fold| fold.unwrap().open_slots().collect::<Vec<_>>())
        };
        assert_eq!(told(1000, 1000, 999), Ok(vec![(999, None)]));
        let refused = |slots: u64, entry: u64, by: u32| {
            Err(format!(
                "checkpoint is damaged: {slots} slots of sessions at entry {entry}, by which there can be {by}"
            ))
        };
        assert_eq!(told(1000, 1001, 1000), refused(1001, 1000, 1000));
        assert_eq!(told(1000, 1 << 20, (1 << 20) - 1), refused(1 << 20, 1000, 1000));
        assert_eq!(told(u64::MAX, u64::from(u32::MAX), u32::MAX - 1), refused(u32::MAX.into(), u64::MAX, 100_000_000));
    }
}
