//! Snapshots: what all records up to a number come to, in records of whoever folds them.
//!
//! A file of blocks ([`crate::block`]) behind a head as a segment has, whose "first" is the number of the last record
//! that it stands for. The blocks number the snapshot's own records from 1 on; the last block has none and tells how
//! many there were.

use crate::block::{self, BLOCK_OCTETS_MAX, HEAD_OCTETS, Head, RECORD_OCTETS_MAX};
use crate::disk::Disk;
use crate::fault::Fault;
use crate::identity::{self, LogId, head_of};
use crate::name::{self, Kind};
use crate::read::{SEGMENT_HEAD_OCTETS, salt_of, segments};

/// Octets of a block at which it is written.
const PIECE: usize = 1 << 20;
/// Snapshots that are kept: should the newest be damaged, the one before it is read, with the segments since.
pub const SNAPSHOTS_KEPT: usize = 2;

/// What stays of the segments that a snapshot stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Those since the older of the two snapshots that are kept: the log is there for the next start.
    Needed,
    /// All: the records are a history, which only [`SnapshotWriter::open_with`] cuts.
    All,
}

/// A snapshot that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    name: String,
    /// The number of the last record that it stands for.
    pub last: u64,
}

impl Snapshot {
    /// All snapshots, the newest first.
    ///
    /// # Errors
    /// The folder cannot be listed.
    pub fn all<D: Disk>(disk: &D) -> Result<Vec<Snapshot>, Fault> {
        Snapshot::named(disk, |kind| match kind {
            Kind::Snapshot(last) => Some(last),
            _ => None,
        })
    }

    /// What the records begin with: the newest snapshot for which those before it were given up; none if the first
    /// record of all is there. One of another log is none.
    ///
    /// # Errors
    /// The folder cannot be listed, or a file in it not be read.
    pub fn opening<D: Disk>(disk: &D) -> Result<Option<Snapshot>, Fault> {
        let (all, log) = (openings(disk)?, LogId::of(disk)?);
        for opening in all {
            if opening.is_of(disk, log)? {
                return Ok(Some(opening));
            }
        }
        Ok(None)
    }

    fn named<D: Disk>(disk: &D, last: impl Fn(Kind) -> Option<u64>) -> Result<Vec<Snapshot>, Fault> {
        let names = disk.list().map_err(Fault::io("the folder"))?;
        let named = |name: String| last(name::kind(&name)).map(|last| Snapshot { name, last });
        let mut all: Vec<_> = names.into_iter().filter_map(named).collect();
        all.sort_by_key(|snapshot| core::cmp::Reverse(snapshot.last));
        Ok(all)
    }

    /// Its file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is of a log, as far as both say so.
    pub(crate) fn is_of<D: Disk>(&self, disk: &D, log: Option<LogId>) -> Result<bool, Fault> {
        let Some(log) = log else { return Ok(true) };
        let head = head_of(disk, &self.name)?;
        Ok(head.and_then(|head| LogId::of_snapshot(&head, self.last)).is_none_or(|of| of == log))
    }

    /// Reads all of it without a look at its records.
    ///
    /// # Errors
    /// It is damaged, or cannot be read.
    pub fn check<D: Disk>(&self, disk: &D) -> Result<(), Fault> {
        self.each(disk, |_| Ok(()))
    }

    /// Shows its records in the order in which they were put.
    ///
    /// # Errors
    /// It is damaged, or cannot be read, or `see` refuses a record.
    pub fn each<D: Disk>(&self, disk: &D, mut see: impl FnMut(&[u8]) -> Result<(), String>) -> Result<(), Fault> {
        let file = disk.open(&self.name).map_err(Fault::io(&self.name))?;
        let mut reading = Reading { disk, file: &file, name: &self.name, at: 0, block: Vec::new() };
        let salt = reading.salt(self.last)?;
        if !self.is_of(disk, LogId::of(disk)?)? {
            let what = "it is a snapshot of another log than the segments beside it";
            return Err(Fault::damaged(&self.name, 0, what));
        }
        let mut next = 1;
        loop {
            let at = reading.at;
            let head = reading.block(next, salt)?;
            if head.count == 0 {
                return Ok(());
            }
            let records = &reading.block[HEAD_OCTETS..HEAD_OCTETS + head.octets];
            let (mut number, mut seen) = (next, Ok(()));
            let whole = head.each(records, |record| {
                if seen.is_ok() {
                    seen = see(record).map_err(|why| Fault::Refused { number, why }.of_file(&self.name));
                }
                number += 1;
            });
            seen?;
            if whole.is_err() {
                return Err(Fault::damaged(&self.name, at, "the records of a block do not follow each other"));
            }
            next = number;
        }
    }
}

struct Reading<'a, D: Disk> {
    disk: &'a D,
    file: &'a D::File,
    name: &'a str,
    at: u64,
    block: Vec<u8>,
}

impl<D: Disk> Reading<'_, D> {
    fn salt(&mut self, last: u64) -> Result<u64, Fault> {
        let name = self.name;
        let head = self.take(SEGMENT_HEAD_OCTETS)?.first_chunk();
        let salt = head.and_then(|head| salt_of(head, last));
        salt.ok_or_else(|| Fault::damaged(name, 0, "the head of the snapshot is damaged"))
    }

    /// Reads the next block; its head. The last one tells how many records there were before it.
    fn block(&mut self, next: u64, salt: u64) -> Result<Head, Fault> {
        let (at, name) = (self.at, self.name);
        let damaged = || Fault::damaged(name, at, "a block of the snapshot is damaged");
        let head = Head::of(self.take(HEAD_OCTETS)?);
        // None of a snapshot's records was ever given up.
        let head = head.filter(|head| head.first == next && !head.gap).ok_or_else(damaged)?;
        self.at = at;
        self.take(head.block_octets())?;
        head.records(&self.block, salt).ok_or_else(damaged)?;
        Ok(head)
    }

    fn take(&mut self, octets: usize) -> Result<&[u8], Fault> {
        self.block.resize(octets, 0);
        let mut filled = 0;
        while filled < octets {
            let read = self.disk.read(self.file, self.at, &mut self.block[filled..]).map_err(Fault::io(self.name))?;
            if read == 0 {
                return Err(Fault::damaged(self.name, self.at, "the snapshot is cut off"));
            }
            filled += read;
            self.at += read as u64;
        }
        Ok(&self.block)
    }
}

/// Writes a snapshot beside the log.
#[derive(Debug)]
pub struct SnapshotWriter<'a, D: Disk> {
    disk: &'a D,
    file: D::File,
    name: String,
    last: u64,
    salt: u64,
    at: u64,
    block: Vec<u8>,
    /// Records in blocks that are written, and in that which is begun.
    written: u64,
    begun: u32,
}

impl<'a, D: Disk> SnapshotWriter<'a, D> {
    /// Begins one that stands for all records up to `last`.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn begin(disk: &'a D, last: u64) -> Result<SnapshotWriter<'a, D>, Fault> {
        let name = name::unfinished(last);
        let file = disk.make(&name, 0).map_err(Fault::io(&name))?;
        let (salt, head) = identity::snapshot(LogId::of(disk)?, last, || disk.salt());
        disk.write(&file, 0, &head).map_err(Fault::io(&name))?;
        let (at, mut block) = (SEGMENT_HEAD_OCTETS as u64, Vec::with_capacity(PIECE));
        block::begin(&mut block);
        Ok(SnapshotWriter { disk, file, name, last, salt, at, block, written: 0, begun: 0 })
    }

    /// Appends a record.
    ///
    /// # Errors
    /// It is longer than [`RECORD_OCTETS_MAX`], or cannot be written.
    pub fn put(&mut self, record: &[u8]) -> Result<(), Fault> {
        const { assert!(PIECE + RECORD_OCTETS_MAX < BLOCK_OCTETS_MAX) };
        if record.len() > RECORD_OCTETS_MAX {
            return Err(Fault::Option(format!("a record of {} octets is too long for a snapshot", record.len())));
        }
        block::put(&mut self.block, record);
        self.begun += 1;
        if self.block.len() < PIECE { Ok(()) } else { self.write() }
    }

    fn write(&mut self) -> Result<(), Fault> {
        block::end(&mut self.block, self.written + 1, self.begun, self.salt);
        self.disk.write(&self.file, self.at, &self.block).map_err(Fault::io(&self.name))?;
        // Piece by piece: the log beside it does not wait for all of it at the end.
        self.disk.sync(&self.file).map_err(Fault::io(&self.name))?;
        self.at += self.block.len() as u64;
        self.written += u64::from(self.begun);
        self.begun = 0;
        self.block.clear();
        block::begin(&mut self.block);
        Ok(())
    }

    /// Puts it on stable storage under its name, and removes the snapshots and segments that are not needed any more;
    /// how many files those were.
    ///
    /// # Errors
    /// It cannot be written. What cannot be removed stays, and is tried again with the next one.
    pub fn finish(self, keep: Keep) -> Result<usize, Fault> {
        let disk = self.disk;
        let name = name::snapshot(self.last);
        self.put_in_place(&name)?;
        prune(disk, keep)
    }

    /// As [`finish`](Self::finish), and the records that it stands for are given up: those after it begin with it. All
    /// of their segments are removed but one that has records after it, too. A log that keeps [`Keep::All`] is cut in
    /// no other way.
    ///
    /// # Errors
    /// It cannot be written, or there is no snapshot, or one that stands for less: a start may need what would go.
    pub fn open_with(self) -> Result<usize, Fault> {
        let disk = self.disk;
        if Snapshot::all(disk)?.last().is_none_or(|oldest| oldest.last < self.last) {
            return Err(Fault::Option(format!("a snapshot stands for less than records up to {}", self.last)));
        }
        let name = name::opening(self.last);
        self.put_in_place(&name)?;
        prune(disk, Keep::All)
    }

    fn put_in_place(mut self, name: &str) -> Result<(), Fault> {
        if self.begun > 0 {
            self.write()?;
        }
        self.write()?;
        self.disk.sync(&self.file).map_err(Fault::io(&self.name))?;
        self.disk.rename(&self.name, name).map_err(Fault::io(&self.name))
    }
}

/// Removes snapshots beyond those kept, and segments that nothing needs; what came back since it was removed, too.
/// Those of another log stand for nothing here, and stay to be told.
fn prune<D: Disk>(disk: &D, keep: Keep) -> Result<usize, Fault> {
    let log = LogId::of(disk)?;
    let own = |mut all: Vec<Snapshot>| {
        all.retain(|snapshot| snapshot.is_of(disk, log).unwrap_or(false));
        all
    };
    let (snapshots, openings) = (own(Snapshot::all(disk)?), own(openings(disk)?));
    let given_up = openings.first().map_or(0, |opening| opening.last);
    let needless = match keep {
        Keep::Needed => snapshots.get(SNAPSHOTS_KEPT - 1).map_or(0, |oldest| oldest.last),
        Keep::All => given_up,
    };
    let segments = segments(disk)?;
    let closed = segments.windows(2).filter(|pair| pair[1].0 <= needless + 1).map(|pair| &pair[0].1);
    let old = snapshots.iter().skip(SNAPSHOTS_KEPT).chain(openings.iter().skip(1)).map(|snapshot| &snapshot.name);
    Ok(old.chain(closed).filter(|name| disk.remove(name).is_ok()).count())
}

/// All snapshots that records were to begin with, the newest first, also those of another log.
pub(crate) fn openings<D: Disk>(disk: &D) -> Result<Vec<Snapshot>, Fault> {
    Snapshot::named(disk, |kind| match kind {
        Kind::Opening(last) => Some(last),
        _ => None,
    })
}
