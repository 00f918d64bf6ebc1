//! The end of a log is cut off: records that nobody was told of, and that are not to be.

use core::ops::ControlFlow;

use crate::block::{self, Head};
use crate::disk::Disk;
use crate::fault::Fault;
use crate::identity::{self, LogId};
use crate::log::{Group, Options, make};
use crate::mark::Mark;
use crate::name;
use crate::read::{self, End, Segment, segments};
use crate::snapshot::Snapshot;

/// Gives up all records after a number, durably, and the snapshots that stand for any of them: of a log that nobody has
/// open. How many records there were. Whatever ends it in the middle, the log is whole and ends somewhere after that
/// number; done again, it ends there.
///
/// # Errors
/// [`Fault::Option`] if records before the number were given up already; the disk fails.
pub fn cut<D: Disk>(disk: &D, options: Options, after: u64) -> Result<u64, Fault> {
    let segments = segments(disk)?;
    let Some((first, _)) = segments.first() else { return Ok(0) };
    if *first > after + 1 {
        return Err(Fault::Option(format!("the log begins with record {first}: it cannot be cut after {after}")));
    }
    let from = segments.last().map_or(1, |(first, _)| *first);
    let next = read::read(disk, from, |_, _| Ok(ControlFlow::Continue(())))?;
    if next <= after + 1 {
        return Ok(0);
    }
    // Before anything goes: what is there is more than the mark says, whatever ends it in the middle.
    Mark::set(disk, after)?;
    for snapshot in Snapshot::all(disk)?.iter().filter(|snapshot| snapshot.last > after) {
        away(disk, snapshot.name(), &name::unfinished(snapshot.last))?;
    }
    let stays = segments.iter().rposition(|(first, _)| *first <= after.max(1)).unwrap_or_default();
    // From the end: what is there after each step is whole. A name that was only removed could come back behind
    // records that are written later; one that was given to something else does not.
    for (_, segment) in segments[stays + 1..].iter().rev() {
        away(disk, segment, name::NEXT)?;
    }
    let (first, segment) = &segments[stays];
    shorten(disk, options, *first, segment, after)?;
    Ok(next - 1 - after)
}

/// Renames, which is durable, and removes.
fn away<D: Disk>(disk: &D, from: &str, to: &str) -> Result<(), Fault> {
    disk.rename(from, to).and_then(|()| disk.remove(to)).map_err(Fault::io(from))
}

/// Writes a segment anew with its records up to a number, in place of what it was: block by block, so that each record
/// keeps its [`Place`](crate::Place).
fn shorten<D: Disk>(disk: &D, options: Options, first: u64, segment: &str, after: u64) -> Result<(), Fault> {
    let before = Segment::load(disk, segment, Vec::new())?;
    // One that a repair wrote may be longer than those that are made now.
    let options = Options { segment_octets: options.segment_octets.max(before.len()), ..options };
    let file = make(disk, options)?;
    let (salt, named) = identity::segment(LogId::of(disk)?, first, || disk.salt());
    let io = || Fault::io(name::NEXT);
    disk.write(&file, 0, &named).map_err(io())?;
    let mut end = before.begin();
    while let Some((head, records)) = before.block(end)?.filter(|(head, _)| head.first <= after) {
        let block = up_to(&head, records, after, salt, &options)?;
        disk.write(&file, end.at, &block).map_err(io())?;
        end = End { next: head.next(), at: end.at + head.block_octets() as u64 };
    }
    disk.sync(&file).map_err(io())?;
    disk.rename(name::NEXT, segment).map_err(Fault::io(segment))
}

/// A block with those of its records that have numbers up to one.
fn up_to(head: &Head, records: &[u8], after: u64, salt: u64, options: &Options) -> Result<Vec<u8>, Fault> {
    if head.gap {
        let stay = u32::try_from(after + 1 - head.first).unwrap_or(u32::MAX).min(head.count);
        return Ok(block::gap(head.first, stay, head.block_octets(), salt));
    }
    let (mut group, mut number, mut put) = (Group::new(options), head.first, Ok(()));
    // Those of the block fitted into one.
    let whole = head.each(records, |record| {
        if number <= after && put.is_ok() {
            put = group.put(record);
        }
        number += 1;
    });
    put.map_err(|why| Fault::Option(why.to_string()))?;
    whole.map_err(|_| Fault::Option(format!("the records after {} do not follow each other", head.first)))?;
    Ok(group.seal(head.first, salt).to_vec())
}
