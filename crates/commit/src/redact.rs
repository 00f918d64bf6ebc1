//! Parts of records are made unreadable in a log that stays: records keep their numbers, their lengths and their
//! places, so that all that knows of them does so still.
//!
//! A file with such records is written anew beside the old one, synced, and takes its name. Whatever ends that in the
//! middle, each file is whole, with what it said before or without; done again, it is finished.

use core::ops::ControlFlow;

use crate::block::{HEAD_OCTETS, Head, seal_again};
use crate::disk::Disk;
use crate::fault::Fault;
use crate::name::{self, Kind};
use crate::read::{self, SEGMENT_HEAD_OCTETS, salt_of, whole};
use crate::repair::put;
use crate::snapshot::Snapshot;

/// What was found, and changed unless it was only looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Redacted {
    /// Records; one that a snapshot holds as well counts for both.
    pub records: u64,
    /// Files that have any.
    pub files: u64,
    /// Damaged files that repairs kept: they were not read.
    pub kept: u64,
}

/// What a record becomes; none where it stays.
pub type Change<'c> = dyn FnMut(&[u8]) -> Result<Option<Vec<u8>>, String> + 'c;

/// Has records changed, in all segments and snapshots of a log that nobody has open; or only counts those that would
/// be. `change` gives a record that is as long as it was, or none where it stays.
///
/// # Errors
/// The log is damaged: a repair comes first. [`Fault::Option`] if `change` gives what is longer or shorter, or refuses
/// a record: nothing was changed. The disk fails.
pub fn redact<D: Disk>(disk: &D, write: bool, change: &mut Change<'_>) -> Result<Redacted, Fault> {
    let names = disk.list().map_err(Fault::io("the folder"))?;
    let files: Vec<(String, u64)> = names.iter().filter_map(|name| Some((name.clone(), numbered(name)?))).collect();
    if let Some((first, _)) = read::segments(disk)?.first() {
        read::read(disk, *first, |_, _| Ok(ControlFlow::Continue(())))?;
    }
    for snapshot in Snapshot::all(disk)?.into_iter().chain(Snapshot::opening(disk)?) {
        snapshot.check(disk)?;
    }
    let kept = names.iter().filter(|name| name.contains(".damaged")).count() as u64;
    let mut found = Redacted { kept, ..Redacted::default() };
    // All are looked at before any is written.
    for (name, number) in &files {
        let records = changed(disk, name, *number, change)?.1;
        found.records += records;
        found.files += u64::from(records > 0);
    }
    for (name, number) in files.iter().filter(|_| write && found.records > 0) {
        let (octets, records) = changed(disk, name, *number, change)?;
        if records > 0 {
            put(disk, name, &octets)?;
        }
    }
    Ok(found)
}

/// The number in the head of a file, by its name.
fn numbered(name: &str) -> Option<u64> {
    match name::kind(name) {
        Kind::Segment(number) | Kind::Snapshot(number) | Kind::Opening(number) => Some(number),
        Kind::Found(_) | Kind::Unfinished | Kind::Foreign => None,
    }
}

/// The octets of a file with its records changed, and how many were.
fn changed<D: Disk>(disk: &D, name: &str, number: u64, change: &mut Change<'_>) -> Result<(Vec<u8>, u64), Fault> {
    let mut octets = whole(disk, name, Vec::new()).map_err(Fault::io(name))?;
    let salt = octets.first_chunk::<SEGMENT_HEAD_OCTETS>().and_then(|head| salt_of(head, number));
    let salt = salt.ok_or_else(|| Fault::damaged(name, 0, "the head of the file is damaged"))?;
    let (mut at, mut records) = (SEGMENT_HEAD_OCTETS, 0);
    while let Some(head) = Head::of(&octets[at..]).filter(|head| head.records(&octets[at..], salt).is_some()) {
        let end = at + HEAD_OCTETS + head.octets;
        if !head.gap {
            let changed = in_block(&mut octets[at..end], change);
            let changed = changed.map_err(|why| Fault::Option(format!("{name}, at octet {at}: {why}")))?;
            if changed > 0 {
                seal_again(&mut octets[at..end], salt);
            }
            records += changed;
        }
        at = (at + head.block_octets()).min(octets.len());
    }
    // What a crash cut off was told to nobody, and the next start wipes it out.
    if matches!(name::kind(name), Kind::Segment(_)) {
        octets[at..].fill(0);
    }
    Ok((octets, records))
}

/// Has the records of a whole block changed in it; how many were.
fn in_block(block: &mut [u8], change: &mut Change<'_>) -> Result<u64, String> {
    let (mut at, mut records) = (HEAD_OCTETS, 0);
    while let Some(length) = block.get(at..).and_then(|rest| rest.first_chunk::<4>()) {
        let begin = at + 4;
        let end = begin + u32::from_le_bytes(*length) as usize;
        let record = block.get_mut(begin..end).ok_or("the records do not follow each other")?;
        if let Some(new) = change(record)? {
            if new.len() != record.len() {
                return Err(format!("a record of {} octets would have {}", record.len(), new.len()));
            }
            record.copy_from_slice(&new);
            records += 1;
        }
        at = end;
    }
    Ok(records)
}
