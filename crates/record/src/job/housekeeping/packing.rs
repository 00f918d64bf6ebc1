//! The thread that rewrites finished segments as zstd: one after the other, with the lowest priority at disk and
//! processor, so that lanes and disks' threads never wait for it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::PoisonError;

use trunkline_spool::{Rewritten, rewrite};

use super::{News, Shared};
use crate::packed::Packing;

/// Octets that are read at once; between two it is looked whether the recorder ends.
const READ_OCTETS: usize = 256 << 10;
/// The lowest priority at the processor (setpriority(2)).
const NICEST: i32 = 19;
/// Segments that could not be rewritten and are left alone until the next start. Beyond, they are tried again.
pub(super) const UNPACKABLE_MAX: usize = 4096;

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
            Ok(Some((rewritten, plain))) => {
                let counters = &mut state.report.counters;
                counters.packed += 1;
                counters.packed_in_octets += plain;
                counters.packed_out_octets += rewritten.octets;
                if due {
                    state.errand(rewritten.path.clone());
                }
                state.rewritten.push((path, rewritten));
            }
            // Somebody moves or removes it, or there is no room; or the recorder ends.
            Ok(None) if due => state.errand(path),
            Ok(None) => {}
            Err(error) => {
                state.report.counters.unpackable += 1;
                if due {
                    state.errand(path.clone());
                }
                if state.unpackable.len() >= UNPACKABLE_MAX {
                    state.unpackable.clear();
                }
                state.unpackable.insert(path.clone());
                drop(state);
                shared.tell(News::NotPacked(path, error.to_string()));
            }
        }
        shared.wake.notify_all();
    }
}

/// Rewrites one segment; what it is now, and its octets before. None as [`rewrite`] says, or when it was told to stop.
fn pack(path: &Path, keep_free: u64, stop: &dyn Fn() -> bool) -> io::Result<Option<(Rewritten, u64)>> {
    let (mut plain, mut stopped) = (0, false);
    let rewritten = rewrite(path, keep_free, &mut |from, to| {
        plain = pack_file(from, to, &mut || {
            stopped |= stop();
            stopped
        })?;
        Ok(())
    });
    match rewritten {
        Err(_) if stopped => Ok(None),
        rewritten => Ok(rewritten?.map(|rewritten| (rewritten, plain))),
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
