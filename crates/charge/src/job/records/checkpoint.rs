//! Checkpoints of open records: a start folds from there on, and not from the first entry.

use super::cursor::{checked, read_whole, sealed, write_whole};
use crate::account::Octets;
use crate::cdr::Fold;
use trunkline_commit::{Disk, Follower};

/// The checkpoint's file.
pub const NAME: &str = "checkpoint";
const UNFINISHED: &str = "checkpoint.part";
const MARK: &[u8; 8] = b"TKLCDRF2";
/// Of an earlier version, which did not say of which ledger it is.
const MARK_BEFORE: &[u8; 8] = b"TKLCDRF1";
/// Octets of the longest that is read: ten million open records and more.
const OCTETS_MAX: usize = 4 << 30;

/// Why records do not go on from a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// It cannot be read: the ledger says again what was open.
    Damaged(String),
    /// Its last entry is not the one that the ledger has: what the cursor counts is of another one, too.
    Another(String),
}

impl core::fmt::Display for Unusable {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let (Unusable::Damaged(why) | Unusable::Another(why)) = self;
        f.write_str(why)
    }
}

/// The one of a folder; none if none was written yet.
///
/// # Errors
/// It cannot be read, or is damaged.
pub fn load<D: Disk>(disk: &D) -> Result<Option<Fold>, String> {
    Ok(read(disk)?.map(|(fold, _)| fold))
}

/// The same, if its last entry is the one that this ledger has; where that is there no more, nobody knows.
///
/// # Errors
/// [`Unusable`].
pub fn load_of<L: Disk, D: Disk>(ledger: &L, disk: &D) -> Result<Option<Fold>, Unusable> {
    match read(disk).map_err(Unusable::Damaged)? {
        Some((fold, Some(check))) if check_of(ledger, fold.entry()).is_some_and(|here| here != check) => {
            let entry = fold.entry();
            Err(Unusable::Another(format!(
                "records were made of another ledger, by the {NAME}: entry {entry} is not the one that it was; bring \
                 back the ledger or its records, or move the folder of records away: all are made anew then"
            )))
        }
        found => Ok(found.map(|(fold, _)| fold)),
    }
}

/// The checksum of an entry, if it is there.
fn check_of<L: Disk>(ledger: &L, entry: u64) -> Option<u32> {
    let mut check = None;
    let mut see = |number: u64, _, record: &[u8]| {
        check = (number == entry).then(|| crc32fast::hash(record)).or(check);
        Ok(())
    };
    Follower::new(entry.max(1)).poll(ledger, entry, &mut see).ok()?;
    check
}

/// What is open, and the checksum of the entry up to which it was folded.
fn read<D: Disk>(disk: &D) -> Result<Option<(Fold, Option<u32>)>, String> {
    let file = match disk.open(NAME) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(|error| format!("{NAME}: {error}"))?,
    };
    let octets = read_whole(disk, &file, OCTETS_MAX).map_err(|error| format!("{NAME}: {error}"))?;
    let damaged = || format!("{NAME} is damaged");
    let (mut body, is_before) = match checked(MARK_BEFORE, &octets) {
        Some(body) => (body, true),
        None => (checked(MARK, &octets).ok_or_else(damaged)?, false),
    };
    let check = if is_before { None } else { Octets::take(&mut body).ok_or_else(damaged)? };
    Fold::read(body).map(|fold| Some((fold, check))).map_err(|why| format!("{NAME} is damaged: {why}"))
}

/// Puts one of this ledger in place of the one before.
///
/// # Errors
/// The system's: one of the two is there.
pub fn save<L: Disk, D: Disk>(ledger: &L, disk: &D, fold: &Fold) -> std::io::Result<()> {
    let mut body = Vec::new();
    check_of(ledger, fold.entry()).put(&mut body);
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
    use crate::cdr::Cuts;
    use trunkline_commit::Folder;

    /// Whatever its checksum says: a slot that no session can have would take memory for all before it.
    #[test]
    fn slots_that_cannot_be_are_refused_and_named() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Folder::open(folder.path()).unwrap();
        let told = |entry: u64, slots: u64, slot: u32| {
            let mut body = Vec::new();
            None::<u32>.put(&mut body);
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
        // As an earlier version wrote it.
        let octets = std::fs::read(folder.path().join(NAME)).unwrap();
        let body = checked(MARK, &octets).unwrap();
        write_whole(&disk, NAME, &sealed(MARK_BEFORE, &body[1..])).unwrap();
        assert_eq!(load(&disk).unwrap().unwrap().entry(), 1000);
        assert_eq!(load_of(&disk, &disk).unwrap().unwrap().entry(), 1000);
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
