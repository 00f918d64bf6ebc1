//! The end of a log is cut off: records that nobody was told of, and that are not to be.

use core::ops::ControlFlow;

use crate::disk::Disk;
use crate::fault::{Fault, Refused};
use crate::follow::Follower;
use crate::log::{Group, Options, make};
use crate::name;
use crate::read::{self, SEGMENT_HEAD_OCTETS, segment_head, segments};
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
    let file = make(disk, options)?;
    let salt = disk.salt();
    let io = || Fault::io(name::NEXT);
    disk.write(&file, 0, &segment_head(salt, first)).map_err(io())?;
    let (mut at, mut next, mut group) = (SEGMENT_HEAD_OCTETS as u64, first, Group::new(&options));
    let mut put = |group: &mut Group| -> Result<(), Fault> {
        if group.count() > 0 {
            let count = u64::from(group.count());
            let block = group.seal(next, salt);
            disk.write(&file, at, block).map_err(io())?;
            at += block.len() as u64;
            next += count;
            group.clear();
        }
        Ok(())
    };
    let mut follower = Follower::<D>::new(first);
    let mut more = true;
    while more {
        let mut failed = Ok(());
        more = follower.poll(disk, after, |number, _, record| {
            if number <= after && failed.is_ok() {
                failed = match group.put(record) {
                    Err(Refused::Waiting) => {
                        put(&mut group).and_then(|()| group.put(record).map_err(|why| Fault::Option(why.to_string())))
                    }
                    put => put.map_err(|why| Fault::Option(why.to_string())),
                };
            }
            Ok(())
        })?;
        failed?;
        put(&mut group)?;
    }
    disk.sync(&file).map_err(io())?;
    disk.rename(name::NEXT, segment).map_err(Fault::io(segment))
}
