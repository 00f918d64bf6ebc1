//! Whoever follows the log beside its writer: what became durable is read once and in order, block by block, and a
//! record can be read again by its place.

use crate::block::{self, ALIGNED, BLOCK_OCTETS_MAX, HEAD_OCTETS, Head};
use crate::disk::Disk;
use crate::fault::Fault;
use crate::name;
use crate::read::{SEGMENT_HEAD_OCTETS, salt_of, segments};

/// Octets before a record in which the head of its block is looked for first.
const LOOK_OCTETS: u64 = 4 << 10;

/// Where a record lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The first record of its segment.
    pub segment: u64,
    /// Where its octets begin in the segment, behind their number.
    pub at: u64,
}

/// A reader that goes along a log; it holds one block in memory.
#[derive(Debug)]
pub struct Follower<D: Disk> {
    next: u64,
    open: Option<Open<D::File>>,
    block: Vec<u8>,
}

/// The segment that it is at.
#[derive(Debug)]
struct Open<F> {
    file: F,
    name: String,
    first: u64,
    salt: u64,
    at: u64,
    /// The number of the first record of the block there.
    next: u64,
}

impl<D: Disk> Follower<D> {
    /// One that begins with this record.
    pub fn new(next: u64) -> Follower<D> {
        Follower { next, open: None, block: Vec::new() }
    }

    /// The next record that it shows.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Shows the records of the next block, if they are `durable`; whether there were any. After an error it goes on
    /// where it was, or is dropped.
    ///
    /// # Errors
    /// What was told to be durable is not there, or `see` refuses a record.
    pub fn poll(
        &mut self,
        disk: &D,
        durable: u64,
        mut see: impl FnMut(u64, Place, &[u8]) -> Result<(), String>,
    ) -> Result<bool, Fault> {
        while self.next <= durable {
            let open = match self.open.take() {
                Some(open) => open,
                None => Open::at(disk, self.next)?,
            };
            let open = self.open.insert(open);
            let Some(head) = open.head(disk)? else {
                // The segment ended: the next one begins with the record that is missing.
                let (name, at, first, next) = (open.name.clone(), open.at, open.first, open.next);
                self.open = None;
                // One that has no record is not the one behind itself.
                if first == next || Open::<D::File>::name_of(disk, next)?.is_none_or(|(first, _)| first != next) {
                    return Err(Fault::damaged(&name, at, format!("record {next} is not there, and was told")));
                }
                continue;
            };
            if head.next() <= self.next {
                open.pass(&head);
                continue;
            }
            let place = Place { segment: open.first, at: open.at };
            open.load(disk, &head, &mut self.block)?;
            let shown = show(&self.block, &head, place, self.next, &open.name, &mut see);
            shown.map_err(|fault| fault.of_file(&open.name))?;
            open.pass(&head);
            self.next = head.next();
            return Ok(true);
        }
        Ok(false)
    }
}

/// Shows the records of a block from a number on.
fn show(
    block: &[u8],
    head: &Head,
    place: Place,
    from: u64,
    name: &str,
    see: &mut impl FnMut(u64, Place, &[u8]) -> Result<(), String>,
) -> Result<(), Fault> {
    if head.gap {
        let place = Place { at: place.at + HEAD_OCTETS as u64, ..place };
        let mut numbers = from.max(head.first)..head.next();
        return numbers.try_for_each(|number| see(number, place, &[]).map_err(|why| Fault::Refused { number, why }));
    }
    let records = &block[HEAD_OCTETS..HEAD_OCTETS + head.octets];
    let (mut number, mut at, mut seen) = (head.first, place.at + HEAD_OCTETS as u64, Ok(()));
    let whole = head.each(records, |record| {
        at += block::record_octets(0) as u64;
        if seen.is_ok() && number >= from {
            let place = Place { at, ..place };
            seen = see(number, place, record).map_err(|why| Fault::Refused { number, why });
        }
        at += record.len() as u64;
        number += 1;
    });
    seen?;
    whole.map_err(|_| Fault::damaged(name, place.at, "the records of a block do not follow each other"))
}

impl<F> Open<F> {
    /// The segment that holds a record, from its beginning.
    fn at<D: Disk<File = F>>(disk: &D, number: u64) -> Result<Open<F>, Fault> {
        let Some((first, name)) = Self::name_of(disk, number)? else {
            return Err(Fault::damaged(&name::segment(number), 0, format!("record {number} is gone")));
        };
        let file = disk.open(&name).map_err(Fault::io(&name))?;
        let mut head = [0; SEGMENT_HEAD_OCTETS];
        fill(disk, &file, 0, &mut head).map_err(Fault::io(&name))?;
        let salt = salt_of(&head, first);
        let salt = salt.ok_or_else(|| Fault::damaged(&name, 0, "the head of the segment is damaged"))?;
        Ok(Open { file, name, first, salt, at: SEGMENT_HEAD_OCTETS as u64, next: first })
    }

    /// The first record and the name of the segment that a record lies in, or would.
    fn name_of<D: Disk>(disk: &D, number: u64) -> Result<Option<(u64, String)>, Fault> {
        Ok(segments(disk)?.into_iter().rev().find(|(first, _)| *first <= number))
    }

    /// The head of the block that is next; none where the segment ends.
    fn head<D: Disk<File = F>>(&self, disk: &D) -> Result<Option<Head>, Fault> {
        let mut octets = [0; HEAD_OCTETS];
        let read = fill(disk, &self.file, self.at, &mut octets).map_err(Fault::io(&self.name))?;
        let head = (read == HEAD_OCTETS).then(|| Head::of(&octets)).flatten();
        Ok(head.filter(|head| head.first == self.next && (head.count > 0 || head.gap)))
    }

    /// Reads the block and checks it.
    fn load<D: Disk<File = F>>(&self, disk: &D, head: &Head, block: &mut Vec<u8>) -> Result<(), Fault> {
        block.clear();
        block.resize(HEAD_OCTETS + head.octets, 0);
        fill(disk, &self.file, self.at, block).map_err(Fault::io(&self.name))?;
        let whole = head.records(block, self.salt).is_some();
        let what = if whole { head.excess() } else { Some("a block is damaged".to_owned()) };
        what.map_or(Ok(()), |what| Err(Fault::damaged(&self.name, self.at, what)))
    }

    fn pass(&mut self, head: &Head) {
        self.at += head.block_octets() as u64;
        self.next = head.next();
    }
}

/// Reads the octets of a record again, of a block that fits its checksum.
///
/// # Errors
/// The segment is not there any more, or no whole block has a record at that place.
pub fn read_again<D: Disk>(disk: &D, place: Place) -> Result<Vec<u8>, Fault> {
    let name = name::segment(place.segment);
    let file = disk.open(&name).map_err(Fault::io(&name))?;
    let mut head = [0; SEGMENT_HEAD_OCTETS];
    fill(disk, &file, 0, &mut head).map_err(Fault::io(&name))?;
    let salt = salt_of(&head, place.segment);
    let salt = salt.ok_or_else(|| Fault::damaged(&name, 0, "the head of the segment is damaged"))?;
    let record = block_before(disk, &file, place.at, salt).map_err(Fault::io(&name))?;
    record.ok_or_else(|| Fault::damaged(&name, place.at, "no whole record is there"))
}

/// The record at a place, out of the whole block that has it: its head is looked for backwards, as blocks are short.
fn block_before<D: Disk>(disk: &D, file: &D::File, at: u64, salt: u64) -> std::io::Result<Option<Vec<u8>>> {
    let least = at.saturating_sub((BLOCK_OCTETS_MAX + HEAD_OCTETS) as u64).max(SEGMENT_HEAD_OCTETS as u64);
    // Heads begin before this, and have a record's length between them and the place.
    let (mut end, mut octets) = (at / ALIGNED as u64 * ALIGNED as u64, LOOK_OCTETS);
    let mut window = Vec::new();
    while end > least {
        let from = end.saturating_sub(octets).max(least);
        window.resize(usize::try_from(end - from).unwrap_or_default() + HEAD_OCTETS, 0);
        let read = fill(disk, file, from, &mut window)?;
        for begin in (0..=(end - from) as usize / ALIGNED).rev().map(|block| block * ALIGNED) {
            let head = window[..read].get(begin..).and_then(Head::of).filter(|head| !head.gap);
            let covers = |head: &Head| from + (begin + HEAD_OCTETS + head.octets) as u64 >= at;
            let Some(head) = head.filter(covers) else { continue };
            let (mut block, begin) = (vec![0; HEAD_OCTETS + head.octets], from + begin as u64);
            let whole = fill(disk, file, begin, &mut block)? == block.len();
            if let Some(records) = head.records(&block, salt).filter(|_| whole) {
                return Ok(record_at(&head, records, begin + HEAD_OCTETS as u64, at));
            }
        }
        (end, octets) = (from, octets * 4);
    }
    Ok(None)
}

/// The record of a block whose octets begin at a place.
fn record_at(head: &Head, records: &[u8], mut begin: u64, at: u64) -> Option<Vec<u8>> {
    let mut found = None;
    let each = head.each(records, |record| {
        begin += block::record_octets(0) as u64;
        if begin == at {
            found = Some(record.to_vec());
        }
        begin += record.len() as u64;
    });
    found.filter(|_| each.is_ok())
}

/// Reads until all is filled or the file ends; how much it was.
fn fill<D: Disk>(disk: &D, file: &D::File, at: u64, into: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < into.len() {
        match disk.read(file, at + filled as u64, &mut into[filled..])? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}
