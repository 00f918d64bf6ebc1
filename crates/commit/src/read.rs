//! Segments are read: their heads, their blocks one after the other, and where they end.
//!
//! ```text
//!  0           8       16      24      28     32
//!  | "TRKLLOG1" | salt | first | crc32 | zero | blocks ...
//! ```

use core::ops::ControlFlow;

use crate::block::{self, ALIGNED, HEAD_OCTETS, Head};
use crate::disk::Disk;
use crate::fault::Fault;
use crate::name::{self, Kind};

/// Octets before the first block.
pub const SEGMENT_HEAD_OCTETS: usize = 32;
const MARK: [u8; 8] = *b"TRKLLOG1";

/// The head of a segment.
pub fn segment_head(salt: u64, first: u64) -> [u8; SEGMENT_HEAD_OCTETS] {
    let mut head = [0; SEGMENT_HEAD_OCTETS];
    head[..8].copy_from_slice(&MARK);
    head[8..16].copy_from_slice(&salt.to_le_bytes());
    head[16..24].copy_from_slice(&first.to_le_bytes());
    let checksum = crc32fast::hash(&head[..24]);
    head[24..28].copy_from_slice(&checksum.to_le_bytes());
    head
}

/// The salt that a segment's head tells, if it is the head of one that begins with this record.
pub fn salt_of(head: &[u8; SEGMENT_HEAD_OCTETS], first: u64) -> Option<u64> {
    let salt = u64::from_le_bytes(head[8..16].try_into().expect("eight octets"));
    (segment_head(salt, first) == *head).then_some(salt)
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
        let named = name::kind(name);
        let head = octets.first_chunk::<SEGMENT_HEAD_OCTETS>();
        let Some(head) = head.filter(|head| crc32fast::hash(&head[..24]).to_le_bytes() == head[24..28]) else {
            return Err(Fault::damaged(name, 0, "the head of the segment is damaged"));
        };
        let word = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().expect("eight octets"));
        let (salt, first) = (word(8), word(16));
        if head[..8] != MARK || named != Kind::Segment(first) {
            return Err(Fault::damaged(name, 0, "the head of the segment is not that of its name"));
        }
        Ok(Segment { name: name.to_owned(), octets, salt, first })
    }

    /// Its memory, for the next one.
    pub fn into_memory(self) -> Vec<u8> {
        self.octets
    }

    /// Shows the records with their numbers, up to the first block that is not whole.
    pub fn each(&self, mut see: impl FnMut(u64, &[u8]) -> Result<(), Fault>) -> Result<End, Fault> {
        let mut end = End { next: self.first, at: SEGMENT_HEAD_OCTETS as u64 };
        while let Some((head, records)) = self.block(end) {
            let (mut number, mut seen) = (end.next, Ok(()));
            let whole = block::each(records, |record| {
                if seen.is_ok() {
                    seen = see(number, record);
                }
                number += 1;
            });
            seen?;
            if whole.is_err() || number != end.next + u64::from(head.count) {
                return Err(Fault::damaged(&self.name, end.at, "the records of a block do not follow each other"));
            }
            end = End { next: number, at: end.at + head.block_octets() as u64 };
        }
        Ok(end)
    }

    fn block(&self, end: End) -> Option<(Head, &[u8])> {
        let rest = self.octets.get(usize::try_from(end.at).ok()?..)?;
        let head = Head::of(rest).filter(|head| head.first == end.next && head.count > 0)?;
        Some((head, head.records(rest, self.salt)?))
    }

    /// That nothing whole comes after the end.
    pub fn ends_at(&self, end: End) -> Result<(), Fault> {
        let mut at = usize::try_from(end.at).unwrap_or(usize::MAX);
        while let Some(rest) = self.octets.get(at..).filter(|rest| rest.len() > HEAD_OCTETS) {
            let whole = Head::of(rest).filter(|head| head.first >= end.next && head.records(rest, self.salt).is_some());
            if let Some(head) = whole {
                let what = format!(
                    "records {} to {} are gone, those from {} on are there",
                    end.next,
                    head.first - 1,
                    head.first
                );
                return Err(Fault::damaged(&self.name, end.at, what));
            }
            at += ALIGNED;
        }
        Ok(())
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
    let segments = segments(disk)?;
    let (mut next, mut memory) = (sealed.from, Vec::new());
    for (at, (first, name)) in segments.iter().enumerate() {
        let behind = segments.get(at + 1).is_some_and(|(first, _)| *first <= sealed.from);
        if behind || *first > sealed.to {
            continue;
        }
        missing(name, next, *first)?;
        let segment = Segment::load(disk, name, memory)?;
        let end = segment.each(|number, record| match number >= sealed.from && number <= sealed.to {
            true => see(number, record).map_err(|why| Fault::Refused { number, why }),
            false => Ok(()),
        })?;
        memory = segment.into_memory();
        next = end.next;
    }
    match next > sealed.to {
        true => Ok(()),
        false => Err(Fault::damaged(&name::segment(next), 0, format!("records {next} to {} are gone", sealed.to))),
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
/// was shown.
///
/// # Errors
/// Some are not there, or `see` refuses one.
pub fn read<D: Disk>(
    disk: &D,
    from: u64,
    mut see: impl FnMut(u64, &[u8]) -> Result<ControlFlow<()>, String>,
) -> Result<u64, Fault> {
    let segments = segments(disk)?;
    let (mut next, mut memory) = (from, Vec::new());
    for (at, (first, name)) in segments.iter().enumerate() {
        if segments.get(at + 1).is_some_and(|(first, _)| *first <= from) {
            continue;
        }
        missing(name, next, *first)?;
        let mut shown = ControlFlow::Continue(());
        let segment = Segment::load(disk, name, memory)?;
        segment.each(|number, record| {
            if number < from || shown.is_break() {
                return Ok(());
            }
            shown = see(number, record).map_err(|why| Fault::Refused { number, why })?;
            next = number + 1;
            Ok(())
        })?;
        memory = segment.into_memory();
        if shown.is_break() {
            break;
        }
    }
    Ok(next)
}

/// That no records are missing before a segment.
pub fn missing(name: &str, next: u64, first: u64) -> Result<(), Fault> {
    match first > next {
        true => Err(Fault::damaged(name, 0, format!("records {next} to {} before it are gone", first - 1))),
        false => Ok(()),
    }
}

fn whole<D: Disk>(disk: &D, name: &str, mut octets: Vec<u8>) -> std::io::Result<Vec<u8>> {
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
