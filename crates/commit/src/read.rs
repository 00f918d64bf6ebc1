//! Segments are read: their heads, their blocks one after the other, and where they end.
//!
//! ```text
//!  0           8       16      24      28     32
//!  | "TRKLLOG1" | salt | first | crc32 | mark | blocks ...
//! ```
//!
//! `mark` is "MRKL" in folders that have a mark ([`crate::mark`]) where the salt says of which log the file is
//! ([`crate::LogId`]), "MRKD" where it is chance, and zero in older ones without a mark; the checksum covers it where
//! it is not zero.
//!
//! All that read a log go along its segments with [`crate::walk`], which tells what is gone from what a crash cut off.

use core::ops::ControlFlow;

use crate::block::{ALIGNED, HEAD_OCTETS, Head};
use crate::disk::Disk;
use crate::durable::Durable;
use crate::fault::{Fault, Gone, Witness};
use crate::identity::LogId;
use crate::name::{self, Kind};
use crate::walk::{lost, walk};

/// Octets before the first block.
pub const SEGMENT_HEAD_OCTETS: usize = 32;
const MARK: [u8; 8] = *b"TRKLLOG1";

/// A folder with such segments has a mark.
pub const MARKED: [u8; 4] = *b"MRKD";
/// The same, and the salt says of which log the file is ([`crate::LogId`]).
pub const NAMED: [u8; 4] = *b"MRKL";

/// Whether the end of a head says that the folder has a mark.
fn says_mark(end: &[u8]) -> bool {
    *end == MARKED || *end == NAMED
}

/// A head with such a mark.
pub fn head_with(salt: u64, first: u64, marked: [u8; 4]) -> [u8; SEGMENT_HEAD_OCTETS] {
    let mut head = [0; SEGMENT_HEAD_OCTETS];
    head[..8].copy_from_slice(&MARK);
    head[8..16].copy_from_slice(&salt.to_le_bytes());
    head[16..24].copy_from_slice(&first.to_le_bytes());
    head[28..].copy_from_slice(&marked);
    let mut sum = crc32fast::Hasher::new();
    sum.update(&head[..24]);
    sum.update(if marked == [0; 4] { &[] } else { &marked });
    head[24..28].copy_from_slice(&sum.finalize().to_le_bytes());
    head
}

/// The salt that a segment's head tells, if it is the head of one that begins with this record.
pub fn salt_of(head: &[u8; SEGMENT_HEAD_OCTETS], first: u64) -> Option<u64> {
    let salt = word(head, 8);
    [NAMED, MARKED, [0; 4]].into_iter().any(|marked| head_with(salt, first, marked) == *head).then_some(salt)
}

fn word(head: &[u8; SEGMENT_HEAD_OCTETS], at: usize) -> u64 {
    u64::from_le_bytes(head[at..at + 8].try_into().expect("eight octets"))
}

/// A segment in memory.
pub struct Segment {
    /// Its file.
    pub name: String,
    octets: Vec<u8>,
    /// The salt of its checksums.
    pub salt: u64,
    /// The number of its first record.
    pub first: u64,
}

/// What a segment has.
pub enum Seen<'s> {
    /// A record with its number.
    Record(u64, &'s [u8]),
    /// Records that a repair gave up, up to the one before `next`.
    Gap { name: &'s str, at: End, next: u64 },
}

/// Where the whole blocks of a segment end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// The number of the record that comes next.
    pub next: u64,
    /// Where its block begins.
    pub at: u64,
}

impl Segment {
    /// Reads a whole segment into memory that another one had, if any did.
    pub fn load<D: Disk>(disk: &D, name: &str, memory: Vec<u8>) -> Result<Segment, Fault> {
        let octets = whole(disk, name, memory).map_err(Fault::io(name))?;
        let head = octets.first_chunk::<SEGMENT_HEAD_OCTETS>();
        let known = head.and_then(|head| Some((salt_of(head, word(head, 16))?, word(head, 16))));
        let Some((salt, first)) = known else {
            return Err(Fault::damaged(name, 0, "the head of the segment is damaged"));
        };
        if name::kind(name) != Kind::Segment(first) {
            return Err(Fault::damaged(name, 0, "the head of the segment is not that of its name"));
        }
        Ok(Segment { name: name.to_owned(), octets, salt, first })
    }

    /// One of octets whose head does not count.
    pub fn of(name: &str, octets: Vec<u8>, salt: u64, first: u64) -> Segment {
        Segment { name: name.to_owned(), octets, salt, first }
    }

    /// Its memory, for the next one.
    pub fn into_memory(self) -> Vec<u8> {
        self.octets
    }

    /// Whether it was made in a folder that has a mark.
    pub fn is_marked(&self) -> bool {
        self.octets.get(28..SEGMENT_HEAD_OCTETS).is_some_and(says_mark)
    }

    /// Of which log it is, if it says so.
    pub fn log(&self) -> Option<LogId> {
        LogId::of_segment(self.octets.first_chunk()?, self.first)
    }

    /// Where its first block is.
    pub fn begin(&self) -> End {
        End { next: self.first, at: SEGMENT_HEAD_OCTETS as u64 }
    }

    /// Shows the records with their numbers from a block on, up to the first that is not whole.
    pub fn each_from(&self, begin: End, mut see: impl FnMut(Seen<'_>) -> Result<(), Fault>) -> Result<End, Fault> {
        let mut end = begin;
        while let Some((head, records)) = self.block(end)? {
            if head.gap {
                let seen = see(Seen::Gap { name: &self.name, at: end, next: head.next() });
                seen.map_err(|fault| fault.of_block(&self.name, end.at))?;
            }
            let (mut number, mut seen) = (end.next, Ok(()));
            let whole = head.each(records, |record| {
                if seen.is_ok() {
                    seen = see(Seen::Record(number, record)).map_err(|fault| fault.of_block(&self.name, end.at));
                }
                number += 1;
            });
            seen?;
            if whole.is_err() {
                return Err(Fault::damaged(&self.name, end.at, "the records of a block do not follow each other"));
            }
            end = End { next: head.next(), at: end.at + head.block_octets() as u64 };
        }
        Ok(end)
    }

    /// The block at a place, if it is whole and begins with that record.
    ///
    /// # Errors
    /// It is whole, and a gap of more records than one has.
    pub fn block(&self, at: End) -> Result<Option<(Head, &[u8])>, Fault> {
        let Some((head, records)) = self.whole_block(at) else { return Ok(None) };
        match head.excess() {
            None => Ok(Some((head, records))),
            Some(what) => Err(Fault::damaged(&self.name, at.at, what)),
        }
    }

    fn whole_block(&self, at: End) -> Option<(Head, &[u8])> {
        let rest = self.octets.get(usize::try_from(at.at).ok()?..)?;
        let head = Head::of(rest).filter(|head| head.first == at.next && (head.count > 0 || head.gap))?;
        Some((head, head.records(rest, self.salt)?))
    }

    /// The first whole block behind an end, with that record or a later one.
    pub fn resumes(&self, end: End) -> Option<End> {
        let mut at = usize::try_from(end.at).ok()?;
        while let Some(rest) = self.octets.get(at..).filter(|rest| rest.len() >= HEAD_OCTETS) {
            let head = Head::of(rest).filter(|head| head.next() > end.next && (head.count > 0 || head.gap));
            if let Some(head) = head.filter(|head| head.records(rest, self.salt).is_some()) {
                return Some(End { next: head.first, at: at as u64 });
            }
            at += ALIGNED;
        }
        None
    }

    /// That nothing whole comes after the end.
    pub fn ends_at(&self, end: End) -> Result<(), Fault> {
        let Some(resumes) = self.resumes(end) else { return Ok(()) };
        Err(lost(&self.name, end, resumes.next))
    }

    /// Whether there is anything but zeros after the end: what a crash cut off.
    pub fn is_clean_after(&self, end: End) -> bool {
        let rest = usize::try_from(end.at).ok().and_then(|at| self.octets.get(at..)).unwrap_or(&[]);
        rest.iter().all(|octet| *octet == 0)
    }

    /// Its length in octets.
    pub fn len(&self) -> u64 {
        self.octets.len() as u64
    }
}

/// The names of all segments in order, with the numbers of their first records.
pub fn segments<D: Disk>(disk: &D) -> Result<Vec<(u64, String)>, Fault> {
    let names = disk.list().map_err(Fault::io("the folder"))?;
    let named = |name: String| match name::kind(&name) {
        Kind::Segment(first) => Some((first, name)),
        _ => None,
    };
    let mut segments: Vec<_> = names.into_iter().filter_map(named).collect();
    segments.sort();
    Ok(segments)
}

/// Closed segments, for who folds them into a snapshot beside the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// The first record that is wanted.
    pub from: u64,
    /// The last one: that of a segment that is closed ([`crate::Committer::sealed`]).
    pub to: u64,
}

/// Shows records of closed segments, with their numbers.
///
/// # Errors
/// Some are not there, or `see` refuses one.
pub fn read_sealed<D: Disk>(
    disk: &D,
    sealed: Sealed,
    mut see: impl FnMut(u64, &[u8]) -> Result<(), String>,
) -> Result<(), Fault> {
    if sealed.from > sealed.to {
        return Ok(());
    }
    let walked = walk(disk, sealed.from, &mut Durable::default(), |number, record| {
        see(number, record).map_err(|why| Fault::Refused { number, why })?;
        Ok(if number < sealed.to { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    })?;
    let next = walked.next();
    match next > sealed.to {
        true => Ok(()),
        false => {
            let (name, at) = (name::segment(next), 0);
            let (what, from, to, last, resumes, witnesses) = ("", next, sealed.to, sealed.to, None, Vec::new());
            Err(Fault::gone(Gone { name, at, what, from, to, last, resumes, witnesses }))
        }
    }
}

/// The last record of the segments that are closed; 0 if none is. To be asked beside the log that is written.
///
/// # Errors
/// The folder cannot be listed.
pub fn sealed<D: Disk>(disk: &D) -> Result<u64, Fault> {
    Ok(segments(disk)?.last().map_or(0, |(first, _)| first - 1))
}

/// The last record of the closed segments that hold nothing from a number on; 0 if there are none.
///
/// # Errors
/// The folder cannot be listed.
pub fn sealed_before<D: Disk>(disk: &D, number: u64) -> Result<u64, Fault> {
    let segments = segments(disk)?;
    Ok(segments.iter().map(|(first, _)| first - 1).filter(|last| *last < number).max().unwrap_or_default())
}

/// Shows records from a number on, until `see` breaks off or there are none: those of the segment that is being
/// written, too, as far as they are whole, which may be some that are not durable yet. The number after the last that
/// was shown. Records that a repair gave up have no octets.
///
/// # Errors
/// Some are not there ([`Fault::Gone`]: all before them were shown), or `see` refuses one.
pub fn read<D: Disk>(
    disk: &D,
    from: u64,
    see: impl FnMut(u64, &[u8]) -> Result<ControlFlow<()>, String>,
) -> Result<u64, Fault> {
    read_known(disk, from, &[], see)
}

/// As [`read`], beside others who know that records were durable.
///
/// # Errors
/// As [`read`].
pub fn read_known<D: Disk>(
    disk: &D,
    from: u64,
    witnesses: &[Witness],
    mut see: impl FnMut(u64, &[u8]) -> Result<ControlFlow<()>, String>,
) -> Result<u64, Fault> {
    let mut durable = Durable::of(disk, witnesses)?;
    let walked = walk(disk, from, &mut durable, |number, record| {
        see(number, record).map_err(|why| Fault::Refused { number, why })
    })?;
    Ok(walked.next())
}

/// What is wrong with the mark of a log, if anything is: then records at its end may be missing of which nobody knows.
///
/// # Errors
/// The disk fails.
pub fn check_mark<D: Disk>(disk: &D) -> Result<Option<Fault>, Fault> {
    let durable = Durable::of(disk, &[])?;
    let mut head = [0; SEGMENT_HEAD_OCTETS];
    if let Some((_, name)) = segments(disk)?.last() {
        let file = disk.open(name).map_err(Fault::io(name))?;
        disk.read(&file, 0, &mut head).map_err(Fault::io(name))?;
    }
    Ok(durable.no_mark(says_mark(&head[28..])))
}

/// All octets of a file, in memory that another one had, if any did.
pub fn whole<D: Disk>(disk: &D, name: &str, mut octets: Vec<u8>) -> std::io::Result<Vec<u8>> {
    const PIECE: usize = 1 << 20;
    let (file, mut len) = (disk.open(name)?, 0);
    loop {
        octets.resize(octets.len().max(len + PIECE), 0);
        let read = disk.read(&file, len as u64, &mut octets[len..])?;
        len += read;
        if read == 0 {
            octets.truncate(len);
            return Ok(octets);
        }
    }
}
