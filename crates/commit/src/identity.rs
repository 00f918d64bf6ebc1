//! Of which log a segment or a snapshot is.
//!
//! A file of another log that comes into a folder, by a backup that is put back in part or by a copy, is whole, and its
//! numbers may fit: names and numbers are all that a reader goes by. So the salts of all files of a log are made of one
//! number that is the log's own and of the file's number: whoever reads two of them sees whether they are of one log.
//! Heads say whether their salt is made so; files of earlier versions say nothing, and are believed as before.

use crate::disk::Disk;
use crate::fault::Fault;
use crate::read::{MARKED, NAMED, SEGMENT_HEAD_OCTETS, head_with, salt_of, segments};
use crate::snapshot::{Snapshot, openings};

/// Octets of a head.
pub type FileHead = [u8; SEGMENT_HEAD_OCTETS];

/// A log, as its files know it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct LogId(u64);

// Whoever makes records is not to know salts: not even a log of the program tells them.
impl core::fmt::Debug for LogId {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("LogId")
    }
}

/// The numbers of snapshots are told apart from those of segments.
const SNAPSHOT: u64 = 1 << 63;

impl LogId {
    /// That of a log that begins, of a number made by chance.
    pub fn made(number: u64) -> LogId {
        LogId(number)
    }

    /// As octets, for who keeps it.
    pub fn octets(self) -> [u8; 8] {
        self.0.to_le_bytes()
    }

    /// Of such octets.
    pub fn of_octets(octets: [u8; 8]) -> LogId {
        LogId(u64::from_le_bytes(octets))
    }

    /// The log in a folder, by its newest segment that says so; where none does, by its newest snapshot.
    ///
    /// # Errors
    /// The disk fails.
    pub fn of<D: Disk>(disk: &D) -> Result<Option<LogId>, Fault> {
        Ok(LogId::said_by(disk)?.map(|(log, _)| log))
    }

    /// The same with the name of the file that says so.
    pub(crate) fn said_by<D: Disk>(disk: &D) -> Result<Option<(LogId, String)>, Fault> {
        for (first, name) in segments(disk)?.into_iter().rev() {
            if let Some(log) = head_of(disk, &name)?.and_then(|head| LogId::of_segment(&head, first)) {
                return Ok(Some((log, name)));
            }
        }
        for snapshot in Snapshot::all(disk)?.into_iter().chain(openings(disk)?) {
            let name = snapshot.name();
            if let Some(log) = head_of(disk, name)?.and_then(|head| LogId::of_snapshot(&head, snapshot.last)) {
                return Ok(Some((log, name.to_owned())));
            }
        }
        Ok(None)
    }

    /// That of a segment.
    pub fn of_segment(head: &FileHead, first: u64) -> Option<LogId> {
        LogId::said(head, first, first)
    }

    /// That of a snapshot.
    pub fn of_snapshot(head: &FileHead, last: u64) -> Option<LogId> {
        LogId::said(head, last, last | SNAPSHOT)
    }

    fn said(head: &FileHead, number: u64, mixed: u64) -> Option<LogId> {
        let salt = salt_of(head, number).filter(|_| head[28..] == NAMED)?;
        Some(LogId(salt ^ mix(mixed)))
    }
}

/// The head of a file, if it has one.
pub fn head_of<D: Disk>(disk: &D, name: &str) -> Result<Option<FileHead>, Fault> {
    let file = disk.open(name).map_err(Fault::io(name))?;
    let mut head = [0; SEGMENT_HEAD_OCTETS];
    let read = disk.read(&file, 0, &mut head).map_err(Fault::io(name))?;
    Ok((read == head.len()).then_some(head))
}

/// The salt and the head of a segment of a log; of one that does not say which it is, with a salt made by chance.
pub fn segment(log: Option<LogId>, first: u64, chance: impl FnOnce() -> u64) -> (u64, FileHead) {
    made(log, first, first, chance)
}

/// The same of a snapshot.
pub fn snapshot(log: Option<LogId>, last: u64, chance: impl FnOnce() -> u64) -> (u64, FileHead) {
    made(log, last, last | SNAPSHOT, chance)
}

fn made(log: Option<LogId>, number: u64, mixed: u64, chance: impl FnOnce() -> u64) -> (u64, FileHead) {
    let (salt, mark) = match log {
        Some(LogId(log)) => (log ^ mix(mixed), NAMED),
        None => (chance(), MARKED),
    };
    (salt, head_with(salt, number, mark))
}

/// A number that looks like chance, the same each time.
fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_files_of_a_log_say_so_and_none_has_the_salt_of_another() {
        let log = LogId::made(0x0123_4567_89ab_cdef);
        let mut salts = std::collections::BTreeSet::new();
        for number in (1..500).chain([u64::from(u32::MAX), u64::MAX >> 1]) {
            let (salt, head) = segment(Some(log), number, || 0);
            assert_eq!((LogId::of_segment(&head, number), salt_of(&head, number)), (Some(log), Some(salt)));
            let (other, head) = snapshot(Some(log), number, || 0);
            assert_eq!(LogId::of_snapshot(&head, number), Some(log));
            assert!(salts.insert(salt) && salts.insert(other));
        }
        let (salt, head) = segment(None, 7, || 9);
        assert_eq!((salt, LogId::of_segment(&head, 7), salt_of(&head, 7)), (9, None, Some(9)));
        let (_, mut head) = segment(Some(log), 7, || 0);
        assert_eq!(LogId::of_segment(&head, 8), None, "of another number");
        head[28] ^= 1;
        assert_eq!(LogId::of_segment(&head, 7), None, "damaged");
        assert_eq!(LogId::of_octets(log.octets()), log);
    }
}
