//! What a start knows of requests for quota that came a moment ago.

use crate::account::Effect;
use crate::ledger;
use crate::quota::{Mapping, Recent};
use crate::session::Core;
use core::ops::ControlFlow;
use std::io;
use trunkline_commit::{Disk, Snapshot};

/// Entries at the end of the ledger in which requests of a moment ago are looked for.
const TAIL_ENTRIES: u64 = 500_000;

/// Requests by GTP' whose copies may still come, as the newest entries of the ledger have them.
pub fn recent<D: Disk>(core: &Core, disk: &D, mapping: &Mapping) -> io::Result<Recent> {
    let mut recent = Recent::new(u32::try_from(mapping.copies.as_secs()).unwrap_or(u32::MAX));
    let opening = Snapshot::opening(disk).map_err(io::Error::other)?.map_or(0, |opening| opening.last);
    let last = core.state().sequence();
    let first = last.saturating_sub(TAIL_ENTRIES).max(opening) + 1;
    if first > last {
        return Ok(recent);
    }
    let read = ledger::read(disk, first, |entry| {
        for effect in &entry.effects {
            if let Effect::Answered { slot, kept, .. } = effect
                && core.origin_of(*slot).is_some_and(|origin| origin.starts_with("gtpp:"))
            {
                recent.put(*slot, kept.end_to_end, entry.at);
            }
        }
        ControlFlow::Continue(())
    });
    read.map(|_| recent).map_err(io::Error::other)
}
