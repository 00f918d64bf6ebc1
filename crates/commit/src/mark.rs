//! The mark: a file beside the segments that says up to which record the log is durable.
//!
//! ```text
//!  0            8      16       24      28    36      40        512
//!  | "TRKLDUR1" | last | serial | crc32 | log | crc32 | zeros   | the same, of the write before or after
//! ```
//!
//! It is written after each fdatasync(2) of the segment, and not synced itself but now and then: what it says was
//! durable before. It outlives the process (the kernel has it), and after a power failure it says less than it could.
//! So a last block that does not fit its checksum is one that a crash cut off only where the mark does not know it.
//!
//! Two slots, each in a sector of its own, take turns: one that was cut off leaves the other. The serial, one more with
//! each write, says which is newer.
//!
//! `log` is that of the segments ([`crate::LogId`]), with a checksum of its own: a mark that came here with another log
//! knows nothing of this one. Earlier versions have zeros there, and are believed.

use crate::disk::Disk;
use crate::fault::{Fault, Witness};
use crate::identity::LogId;

/// Its file.
pub const NAME: &str = "durable";
/// One that is being made.
pub const UNFINISHED: &str = "durable.part";
const MARK: [u8; 8] = *b"TRKLDUR1";
/// Octets of a slot: a sector.
const SLOT: usize = 512;
const SLOTS: u64 = 2;
/// Octets of a slot before it says of which log it is, and with that.
const PLAIN: usize = 28;
const NAMED: usize = 40;
/// Octets of the file.
pub const OCTETS: u64 = SLOTS * SLOT as u64;

/// What a folder's mark says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marked {
    /// There is none.
    Absent,
    /// No slot is whole.
    Damaged,
    /// It is of another log.
    Another,
    /// Records up to `last`, of this log, if it says so.
    At { last: u64, serial: u64, log: Option<LogId> },
}

/// The mark of a log that is written.
#[derive(Debug)]
pub struct Mark<F> {
    file: F,
    serial: u64,
    log: Option<LogId>,
}

impl Marked {
    /// Reads it.
    pub fn load<D: Disk>(disk: &D) -> Result<Marked, Fault> {
        let file = match disk.open(NAME) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Marked::Absent),
            opened => opened.map_err(Fault::io(NAME))?,
        };
        let slot = |at: u64| -> Result<Option<Slot>, Fault> {
            let mut octets = [0; NAMED];
            let read = disk.read(&file, at * SLOT as u64, &mut octets).map_err(Fault::io(NAME))?;
            Ok((read >= PLAIN).then(|| Slot::of(&octets)).flatten())
        };
        let slots = (0..SLOTS).map(slot).collect::<Result<Vec<_>, _>>()?;
        let newest = slots.into_iter().flatten().max_by_key(|slot| (slot.serial, slot.last));
        Ok(newest.map_or(Marked::Damaged, |Slot { last, serial, log }| Marked::At { last, serial, log }))
    }

    /// What it says to a log that knows which it is.
    pub fn of(self, own: Option<LogId>) -> Marked {
        match self {
            Marked::At { log: Some(log), .. } if own.is_some_and(|own| own != log) => Marked::Another,
            marked => marked,
        }
    }

    /// Who says so, if anybody does.
    pub fn witness(self) -> Option<Witness> {
        match self {
            Marked::At { last, .. } => Some(Witness { who: format!("the mark {NAME}"), last }),
            Marked::Absent | Marked::Damaged | Marked::Another => None,
        }
    }
}

impl<F> Mark<F> {
    /// Says in both slots, on stable storage, that records are durable up to `last`: of a folder that has a mark or
    /// none, and of the log that is there.
    pub fn set<D: Disk<File = F>>(disk: &D, last: u64) -> Result<Mark<F>, Fault> {
        let (name, serial) = match Marked::load(disk)? {
            Marked::At { serial, .. } => (NAME, serial),
            Marked::Absent | Marked::Damaged | Marked::Another => (UNFINISHED, 0),
        };
        let opened = if name == NAME { disk.open(name) } else { disk.make(name, OCTETS) };
        let mut mark = Mark { file: opened.map_err(Fault::io(name))?, serial, log: LogId::of(disk)? };
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
        let slot = Slot { last, serial: self.serial, log: self.log };
        disk.write(&self.file, at, &slot.octets()).map_err(Fault::io(NAME))
    }

    /// Says from now on of which log it is.
    pub fn name(&mut self, log: LogId) {
        self.log = Some(log);
    }

    /// Puts it on stable storage.
    pub fn sync<D: Disk<File = F>>(&self, disk: &D) -> Result<(), Fault> {
        disk.sync(&self.file).map_err(Fault::io(NAME))
    }
}

/// What a slot says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slot {
    last: u64,
    serial: u64,
    log: Option<LogId>,
}

impl Slot {
    fn octets(self) -> [u8; NAMED] {
        let mut octets = [0; NAMED];
        octets[..8].copy_from_slice(&MARK);
        octets[8..16].copy_from_slice(&self.last.to_le_bytes());
        octets[16..24].copy_from_slice(&self.serial.to_le_bytes());
        let checksum = crc32fast::hash(&octets[..24]);
        octets[24..PLAIN].copy_from_slice(&checksum.to_le_bytes());
        if let Some(log) = self.log {
            octets[PLAIN..36].copy_from_slice(&log.octets());
            let checksum = crc32fast::hash(&octets[PLAIN..36]);
            octets[36..].copy_from_slice(&checksum.to_le_bytes());
        }
        octets
    }

    /// Reads one, if it is whole. An earlier version, which writes over the beginning alone, leaves the log in it.
    fn of(octets: &[u8; NAMED]) -> Option<Slot> {
        let word = |at: usize| octets[at..at + 8].first_chunk().copied().unwrap_or_default();
        let (last, serial) = (u64::from_le_bytes(word(8)), u64::from_le_bytes(word(16)));
        let log = Some(LogId::of_octets(word(PLAIN)));
        let said = |log: Option<LogId>| Slot { last, serial, log };
        let is_whole = said(None).octets()[..PLAIN] == octets[..PLAIN];
        is_whole.then(|| if said(log).octets() == *octets { said(log) } else { said(None) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_says_its_log_and_one_of_before_is_read() {
        let log = Some(LogId::made(0x0123_4567_89ab_cdef));
        let said = Slot { last: 7, serial: 9, log };
        assert_eq!(Slot::of(&said.octets()), Some(said));
        let none = Slot { log: None, ..said };
        assert_eq!(none.octets()[PLAIN..], [0; NAMED - PLAIN]);
        assert_eq!(Slot::of(&none.octets()), Some(none));
        // An earlier version wrote over the beginning alone.
        let mut over = said.octets();
        over[..PLAIN].copy_from_slice(&Slot { last: 8, serial: 11, log: None }.octets()[..PLAIN]);
        assert_eq!(Slot::of(&over), Some(Slot { last: 8, serial: 11, log }));
        for at in 0..NAMED {
            let mut flipped = said.octets();
            flipped[at] ^= 1;
            assert_eq!(Slot::of(&flipped), (at >= PLAIN).then_some(none), "{at}");
        }
        assert_eq!(Slot::of(&[0; NAMED]), None);
    }
}
