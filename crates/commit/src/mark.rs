//! The mark: a file beside the segments that says up to which record the log is durable.
//!
//! ```text
//!  0            8      16       24      28        512
//!  | "TRKLDUR1" | last | serial | crc32 | zeros   | the same, of the write before or after
//! ```
//!
//! It is written after each fdatasync(2) of the segment, and not synced itself but now and then: what it says was
//! durable before. It outlives the process (the kernel has it), and after a power failure it says less than it could.
//! So a last block that does not fit its checksum is one that a crash cut off only where the mark does not know it.
//!
//! Two slots, each in a sector of its own, take turns: one that was cut off leaves the other. The serial, one more with
//! each write, says which is newer.

use crate::disk::Disk;
use crate::fault::{Fault, Witness};

/// Its file.
pub const NAME: &str = "durable";
/// One that is being made.
pub const UNFINISHED: &str = "durable.part";
const MARK: [u8; 8] = *b"TRKLDUR1";
/// Octets of a slot: a sector.
const SLOT: usize = 512;
const SLOTS: u64 = 2;
/// Octets of the file.
pub const OCTETS: u64 = SLOTS * SLOT as u64;

/// What a folder's mark says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marked {
    /// There is none.
    Absent,
    /// No slot is whole.
    Damaged,
    /// Records up to `last`.
    At { last: u64, serial: u64 },
}

/// The mark of a log that is written.
#[derive(Debug)]
pub struct Mark<F> {
    file: F,
    serial: u64,
}

impl Marked {
    /// Reads it.
    pub fn load<D: Disk>(disk: &D) -> Result<Marked, Fault> {
        let file = match disk.open(NAME) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Marked::Absent),
            opened => opened.map_err(Fault::io(NAME))?,
        };
        let slot = |at: u64| -> Result<Option<(u64, u64)>, Fault> {
            let mut octets = [0; 28];
            let read = disk.read(&file, at * SLOT as u64, &mut octets).map_err(Fault::io(NAME))?;
            Ok((read == octets.len()).then(|| read_slot(&octets)).flatten())
        };
        let newest = (0..SLOTS).map(slot).collect::<Result<Vec<_>, _>>()?.into_iter().flatten().max();
        Ok(newest.map_or(Marked::Damaged, |(serial, last)| Marked::At { last, serial }))
    }

    /// Who says so, if anybody does.
    pub fn witness(self) -> Option<Witness> {
        match self {
            Marked::At { last, .. } => Some(Witness { who: format!("the mark {NAME}"), last }),
            Marked::Absent | Marked::Damaged => None,
        }
    }
}

impl<F> Mark<F> {
    /// Says in both slots, on stable storage, that records are durable up to `last`: of a folder that has a mark or
    /// none.
    pub fn set<D: Disk<File = F>>(disk: &D, last: u64) -> Result<Mark<F>, Fault> {
        let (name, serial) = match Marked::load(disk)? {
            Marked::At { serial, .. } => (NAME, serial),
            Marked::Absent | Marked::Damaged => (UNFINISHED, 0),
        };
        let opened = if name == NAME { disk.open(name) } else { disk.make(name, OCTETS) };
        let mut mark = Mark { file: opened.map_err(Fault::io(name))?, serial };
        for _ in 0..SLOTS {
            mark.say(disk, last)?;
            mark.sync(disk)?;
        }
        if name != NAME {
            disk.rename(name, NAME).map_err(Fault::io(NAME))?;
        }
        Ok(mark)
    }

    /// Says that records are durable up to `last`, once they are.
    pub fn say<D: Disk<File = F>>(&mut self, disk: &D, last: u64) -> Result<(), Fault> {
        self.serial += 1;
        let at = self.serial % SLOTS * SLOT as u64;
        disk.write(&self.file, at, &slot(last, self.serial)).map_err(Fault::io(NAME))
    }

    /// Puts it on stable storage.
    pub fn sync<D: Disk<File = F>>(&self, disk: &D) -> Result<(), Fault> {
        disk.sync(&self.file).map_err(Fault::io(NAME))
    }
}

fn slot(last: u64, serial: u64) -> [u8; 28] {
    let mut slot = [0; 28];
    slot[..8].copy_from_slice(&MARK);
    slot[8..16].copy_from_slice(&last.to_le_bytes());
    slot[16..24].copy_from_slice(&serial.to_le_bytes());
    let checksum = crc32fast::hash(&slot[..24]);
    slot[24..].copy_from_slice(&checksum.to_le_bytes());
    slot
}

/// The serial and the number of a slot, if it is whole.
fn read_slot(octets: &[u8; 28]) -> Option<(u64, u64)> {
    let word = |at: usize| u64::from_le_bytes(octets[at..at + 8].try_into().expect("eight octets"));
    (slot(word(8), word(16)) == *octets).then(|| (word(16), word(8)))
}
