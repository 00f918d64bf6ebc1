//! Packets read again by their place in a file: to show them, or to write them elsewhere.

use core::ops::{ControlFlow, RangeInclusive};
use core::sync::atomic::{AtomicBool, Ordering};
use std::path::Path;

use crate::batch::{Batch, Packet};
use crate::error::{FileError, FileFault};
use crate::reader::Reader;

/// Who reads to the end.
static NEVER: AtomicBool = AtomicBool::new(false);
/// Octets that are read at once.
const READ_OCTETS: usize = 64 << 10;
/// A gap between wanted records that is worth a seek, octets.
const GAP_OCTETS: u64 = 256 << 10;

/// Reads the records that begin at `offsets` (as [`Packet::offset`] gives them, ascending) and hands each to `each`;
/// how many were found. Plain pcap files are read there alone; compressed ones and pcapng from the beginning up to the
/// last. The packets' `number` counts what was read and `file` is 0.
///
/// # Errors
/// The file cannot be read again, or is damaged before the last of the offsets.
pub fn reread(path: &Path, offsets: &[u64], each: impl FnMut(&Packet, &[u8])) -> Result<u64, FileError> {
    reread_until(path, offsets, &NEVER, each)
}

/// As [`reread`], until `stop` is true, which is looked at every 64 KiB.
///
/// # Errors
/// As [`reread`].
pub fn reread_until(
    path: &Path,
    offsets: &[u64],
    stop: &AtomicBool,
    mut each: impl FnMut(&Packet, &[u8]),
) -> Result<u64, FileError> {
    let Some((&first, &last)) = offsets.first().zip(offsets.last()) else { return Ok(0) };
    let mut wanted = offsets.iter().copied().peekable();
    let mut found = 0;
    walk(path, first, stop, |packet, octets| {
        while wanted.next_if(|w| *w < packet.offset).is_some() {}
        if wanted.next_if_eq(&packet.offset).is_some() {
            each(packet, octets);
            found += 1;
        }
        match wanted.peek() {
            Some(next) if packet.offset < last => ControlFlow::Continue(*next),
            _ => ControlFlow::Break(()),
        }
    })?;
    Ok(found)
}

/// Reads all records that begin in a range of offsets, until `each` breaks; how many were handed out.
///
/// # Errors
/// The file cannot be read again, or is damaged before the range's end.
pub fn reread_range(
    path: &Path,
    offsets: RangeInclusive<u64>,
    each: impl FnMut(&Packet, &[u8]) -> ControlFlow<()>,
) -> Result<u64, FileError> {
    reread_range_until(path, offsets, &NEVER, each)
}

/// As [`reread_range`], until `stop` is true, which is looked at every 64 KiB.
///
/// # Errors
/// As [`reread_range`].
pub fn reread_range_until(
    path: &Path,
    offsets: RangeInclusive<u64>,
    stop: &AtomicBool,
    mut each: impl FnMut(&Packet, &[u8]) -> ControlFlow<()>,
) -> Result<u64, FileError> {
    let mut found = 0;
    walk(path, *offsets.start(), stop, |packet, octets| {
        if packet.offset > *offsets.end() {
            return ControlFlow::Break(());
        }
        if offsets.contains(&packet.offset) {
            found += 1;
            if each(packet, octets).is_break() {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(packet.offset)
    })?;
    Ok(found)
}

/// Hands out packets from `first` on; what `each` returns says which offset it waits for, or that it has enough.
fn walk(
    path: &Path,
    first: u64,
    stop: &AtomicBool,
    mut each: impl FnMut(&Packet, &[u8]) -> ControlFlow<(), u64>,
) -> Result<(), FileError> {
    let mut reader = Reader::open(path, 0)?;
    if !reader.is_repeatable() {
        let path = path.to_path_buf();
        return Err(FileError { path, offset: 0, decompressed: false, fault: FileFault::NotRepeatable });
    }
    let mut batch = Batch::default();
    let mut number = 1;
    let mut awaited = first;
    while !stop.load(Ordering::Relaxed) && reader.fill(&mut batch, READ_OCTETS, &mut number) {
        for packet in &batch.packets {
            if packet.offset < awaited {
                continue;
            }
            match each(packet, batch.octets_of(packet)) {
                ControlFlow::Continue(next) => awaited = next,
                ControlFlow::Break(()) => return Ok(()),
            }
        }
        if awaited > reader.position().saturating_add(GAP_OCTETS) {
            reader.seek(awaited);
        }
    }
    reader.error.take().map_or(Ok(()), Err)
}
