//! Whoever follows the log beside its writer: what became durable is read once and in order, block by block, and a
//! record can be read again by its place.

use crate::block::{self, HEAD_OCTETS, Head};
use crate::disk::Disk;
use crate::fault::Fault;
use crate::name;
use crate::read::{SEGMENT_HEAD_OCTETS, salt_of, segments};

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
                let (name, at, next) = (open.name.clone(), open.at, open.next);
                self.open = None;
                if Open::<D::File>::name_of(disk, next)?.is_none_or(|(first, _)| first != next) {
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
            show(&self.block, &head, place, self.next, &open.name, &mut see)?;
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
        whole.then_some(()).ok_or_else(|| Fault::damaged(&self.name, self.at, "a block is damaged"))
    }

    fn pass(&mut self, head: &Head) {
        self.at += head.block_octets() as u64;
        self.next = head.next();
    }
}

/// Reads the octets of a record again, as they lie there: what they mean says whether they are the right ones.
///
/// # Errors
/// The segment is not there any more, or ends before them.
pub fn read_again<D: Disk>(disk: &D, place: Place) -> Result<Vec<u8>, Fault> {
    let name = name::segment(place.segment);
    let file = disk.open(&name).map_err(Fault::io(&name))?;
    let before = block::record_octets(0);
    let mut piece = [0; 512];
    let begin = place.at.checked_sub(before as u64);
    let begin = begin.ok_or_else(|| Fault::damaged(&name, place.at, "no record begins there"))?;
    let read = fill(disk, &file, begin, &mut piece).map_err(Fault::io(&name))?;
    let (octets, rest) = piece[..read].split_first_chunk::<4>().unwrap_or((&[0; 4], &[]));
    let octets = u32::from_le_bytes(*octets) as usize;
    let cut = || Fault::damaged(&name, place.at, "no record is there");
    if octets == 0 || octets > block::RECORD_OCTETS_MAX {
        return Err(cut());
    }
    let mut record = rest[..octets.min(rest.len())].to_vec();
    let have = record.len();
    record.resize(octets, 0);
    let more = fill(disk, &file, place.at + have as u64, &mut record[have..]).map_err(Fault::io(&name))?;
    if have + more == octets { Ok(record) } else { Err(cut()) }
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
