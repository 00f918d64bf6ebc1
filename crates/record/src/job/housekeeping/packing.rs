//! The thread that rewrites finished segments as zstd: one after the other, with the lowest priority at disk and
//! processor, so that lanes and disks' threads never wait for it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::PoisonError;

use trunkline_spool::{Outcome, rewrite};

use super::{News, Shared};
use crate::packed::Packing;

/// Octets that are read at once; between two it is looked whether the recorder ends.
const READ_OCTETS: usize = 256 << 10;
/// The lowest priority at the processor (setpriority(2)).
const NICEST: i32 = 19;
/// Segments that could not be rewritten and are left alone until the next start. Beyond, they are tried again.
pub(super) const UNPACKABLE_MAX: usize = 4096;
/// Segments that are known to wait for room. Beyond, they are tried again, and told and counted again.
pub(super) const ROOMLESS_MAX: usize = 4096;

/// Rewrites what waits until it is told to stop.
pub(super) fn run(shared: &Shared, keep_free: u64) {
    // Where it is refused, the priority at the disk remains.
    let _ = rustix::process::setpriority_process(None, NICEST);
    loop {
        let waiting = shared.wake.wait_while(shared.lock(), |s| s.packs.is_empty() && !s.packing_over);
        let mut state = waiting.unwrap_or_else(PoisonError::into_inner);
        if state.packing_over {
            return;
        }
        let Some(path) = state.packs.pop_front() else { continue };
        drop(state);
        let packed = pack(&path, keep_free, &|| shared.lock().packing_over);
        let mut state = shared.lock();
        let due = state.due.remove(&path);
        match packed {
            Ok((Outcome::Rewritten(rewritten), plain)) => {
                let counters = &mut state.report.counters;
                counters.packed += 1;
                counters.packed_in_octets += plain;
                counters.packed_out_octets += rewritten.octets;
                state.roomless.remove(&path);
                if due {
                    state.errand(rewritten.path.clone());
                }
                state.rewritten.push((path, rewritten));
            }
            // Somebody moves or removes it; or the recorder ends.
            Ok((Outcome::InUse, _)) => {
                state.roomless.remove(&path);
                if due {
                    state.errand(path);
                }
            }
            Ok((Outcome::NoRoom(missing), _)) => {
                if due {
                    state.errand(path.clone());
                }
                if state.no_room(&path) {
                    drop(state);
                    shared.tell(News::NoRoom(path, missing));
                }
            }
            Err(error) => {
                state.report.counters.unpackable += 1;
                if due {
                    state.errand(path.clone());
                }
                if state.unpackable.len() >= UNPACKABLE_MAX {
                    state.unpackable.clear();
                }
                state.unpackable.insert(path.clone());
                state.roomless.remove(&path);
                drop(state);
                shared.tell(News::NotPacked(path, error.to_string()));
            }
        }
        shared.wake.notify_all();
    }
}

/// Rewrites one segment; what became of it, and its octets before. When it was told to stop, nothing did.
fn pack(path: &Path, keep_free: u64, stop: &dyn Fn() -> bool) -> io::Result<(Outcome, u64)> {
    let (mut plain, mut stopped) = (0, false);
    let outcome = rewrite(path, keep_free, &mut |from, to| {
        plain = pack_file(from, to, &mut || {
            stopped |= stop();
            stopped
        })?;
        Ok(())
    });
    match outcome {
        Err(_) if stopped => Ok((Outcome::InUse, 0)),
        outcome => Ok((outcome?, plain)),
    }
}

fn pack_file(mut from: &File, to: &mut File, stop: &mut dyn FnMut() -> bool) -> io::Result<u64> {
    let (mut packing, mut buffer) = (Packing::new()?, vec![0; READ_OCTETS]);
    let mut out = |octets: &[u8]| to.write_all(octets);
    loop {
        if stop() {
            return Err(io::ErrorKind::Other.into());
        }
        match from.read(&mut buffer) {
            Ok(0) => return Ok(packing.finish(&mut out)?),
            Ok(n) => packing.push(buffer.get(..n).unwrap_or_default(), &mut out)?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
