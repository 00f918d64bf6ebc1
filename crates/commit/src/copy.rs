//! A log is copied beside the process that writes it.

use crate::disk::Disk;
use crate::durable::Durable;
use crate::fault::Fault;
use crate::mark::{self, Mark};
use crate::read::{Segment, segments};
use crate::snapshot::Snapshot;
use crate::walk::{own, through};

/// Octets that are read and written at once.
const PIECE: usize = 1 << 20;

/// What a copy holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// The first record of its segments.
    pub first: u64,
    /// The record that comes next.
    pub next: u64,
    /// How many segments.
    pub segments: u64,
    /// Octets of all its files.
    pub octets: u64,
}

/// Copies what is whole of a log: all records that were durable when it began, perhaps some that were written since,
/// what the records begin with, and the newest snapshot that they reach. `told` gets the octets as they are written.
///
/// The copy is as a crash of the writer would have left the folder: [`crate::Log::open`] goes on from it. Until this
/// returns `Ok` it is nothing.
///
/// # Errors
/// There is no record; the log was cut meanwhile, or is damaged, which another try tells apart; a disk fails.
pub fn copy<D: Disk, E: Disk>(from: &D, to: &E, mut told: impl FnMut(u64)) -> Result<Copied, Fault> {
    let durable = Durable::of(from, &[])?;
    let segments = segments(from)?;
    let Some((first, _)) = segments.first() else {
        return Err(Fault::Option("there is no record to copy".to_owned()));
    };
    own(from, &segments)?;
    let (mut copied, mut memory) = (Copied { first: *first, next: *first, segments: 0, octets: 0 }, Vec::new());
    for (first, name) in &segments {
        if *first != copied.next {
            let what = format!("the segment before it ends with record {}", copied.next - 1);
            return Err(Fault::damaged(name, 0, what));
        }
        let (segment, end) = through(from, Segment::load(from, name, memory)?, &mut |_| Ok(()))?;
        copied.next = end.next;
        if copied.segments + 1 == segments.len() as u64 {
            durable.check(name, end)?;
        }
        memory = segment.into_memory();
        // Of a block that is being written some octets may be there, and of the one behind it all.
        memory[usize::try_from(end.at).unwrap_or(usize::MAX)..].fill(0);
        put(to, name, &memory, &mut told)?;
        copied.segments += 1;
        copied.octets += memory.len() as u64;
    }
    let opening = Snapshot::opening(from)?;
    let newest = Snapshot::all(from)?.into_iter().find(|snapshot| snapshot.last < copied.next);
    for snapshot in opening.into_iter().chain(newest) {
        copied.octets += piecewise(from, to, snapshot.name(), &mut told)?;
        snapshot.check(to)?;
    }
    Mark::set(to, copied.next - 1)?;
    copied.octets += mark::OCTETS;
    told(mark::OCTETS);
    Ok(copied)
}

fn put<E: Disk>(to: &E, name: &str, octets: &[u8], told: &mut impl FnMut(u64)) -> Result<(), Fault> {
    let file = to.make(name, 0).map_err(Fault::io(name))?;
    for (at, piece) in (0..).zip(octets.chunks(PIECE)) {
        to.write(&file, at * PIECE as u64, piece).map_err(Fault::io(name))?;
        told(piece.len() as u64);
    }
    to.sync(&file).map_err(Fault::io(name))
}

fn piecewise<D: Disk, E: Disk>(from: &D, to: &E, name: &str, told: &mut impl FnMut(u64)) -> Result<u64, Fault> {
    let (source, file) = (from.open(name).map_err(Fault::io(name))?, to.make(name, 0).map_err(Fault::io(name))?);
    let (mut piece, mut at) = (vec![0; PIECE], 0);
    loop {
        let read = from.read(&source, at, &mut piece).map_err(Fault::io(name))?;
        if read == 0 {
            break;
        }
        to.write(&file, at, &piece[..read]).map_err(Fault::io(name))?;
        at += read as u64;
        told(read as u64);
    }
    to.sync(&file).map_err(Fault::io(name)).map(|()| at)
}
