//! A segment that a crash or a failed disk left behind: how much of it is whole, and its index made anew.

use std::io::{self, Read};
use std::path::Path;

use trunkline_capture::FileFault;
use trunkline_kit::place;
use trunkline_kit::sums::Sums;
use trunkline_spool::{Extra, Mend, PartFile, Whole};

use super::index_file::FileAt;
use crate::index::{Builder, FileMark};
use crate::segment::{Segment, SegmentFault};

/// Extension of segments.
pub const SEGMENT: &str = "pcapng";
/// Extension of indexes.
pub const INDEX: &str = "idx";

/// Looks for the last whole record and makes the index of all up to it. What follows is a record that was cut, or what
/// the disk held there before. A segment without one whole packet is discarded.
///
/// # Errors
/// It cannot be read: then nobody knows how much of it is whole.
pub fn mend(part: &PartFile) -> io::Result<Mend> {
    let (mut index, octets) = scan(&part.path)?;
    if index.packets() == 0 {
        return Ok(Mend::Discard);
    }
    // Nobody has checksums of what was written: those of what is found tell of damage from here on.
    let sums = Sums::of(place::open(&part.path)?.take(octets))?;
    index.summed();
    let mut index = index.seal(&FileMark { octets, modified_ns: 0, head_check: 0 });
    sums.emit(&mut index);
    Ok(Mend::Keep { octets, extra: vec![Extra { extension: INDEX.to_owned(), octets: index }] })
}

/// How much [`mend`] will keep.
///
/// # Errors
/// As [`mend`].
pub fn whole(part: &PartFile) -> io::Result<Whole> {
    let (index, octets) = scan(&part.path)?;
    let records = index.packets();
    Ok(Whole { records, octets: if records == 0 { 0 } else { octets } })
}

/// The index of what is whole, and how many octets that is.
fn scan(path: &Path) -> io::Result<(Builder, u64)> {
    let mut index = Builder::new();
    let mut segment = match Segment::open(FileAt::open(path)?, true) {
        Ok(segment) => segment,
        Err(SegmentFault { fault: FileFault::Unreadable(why), .. }) => return Err(io::Error::other(why)),
        Err(_) => return Ok((index, 0)),
    };
    match segment.index(&mut index) {
        Err(SegmentFault { fault: FileFault::Unreadable(why), .. }) => Err(io::Error::other(why)),
        Err(SegmentFault { offset, .. }) => Ok((index, offset)),
        Ok(octets) => Ok((index, octets)),
    }
}
