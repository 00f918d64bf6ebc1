//! The packer: while a volume lags, blocks that wait for it are packed, so that the memory holds more of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::packed::Packed;
use crate::queue::Content;
use crate::shared::Shared;
use crate::volume::Volume;

/// Packs until it is told to stop. One thread, so that it never takes more than one core from the lanes.
pub(crate) fn run(shared: &Arc<Shared>, stop: &AtomicBool) {
    let mut scratch = Vec::new();
    loop {
        shared.packer.wait();
        while !stop.load(Ordering::Acquire) && pack_one(shared, &mut scratch) {}
        if stop.load(Ordering::Acquire) {
            return;
        }
    }
}

/// Packs one block of the volume that is furthest behind. False if no volume has much to pack.
fn pack_one(shared: &Shared, scratch: &mut Vec<u8>) -> bool {
    let most = shared.volumes.iter().max_by_key(|v| v.queue.fill().raw);
    let lags = |v: &&Volume| v.queue.fill().raw * shared.options.block > shared.pack_above();
    let Some(volume) = most.filter(lags) else { return false };
    // What is written next would be unpacked at once.
    let Some((number, block, octets)) = volume.queue.take_raw(shared.options.depth) else { return false };
    let Some(packed) = block.get(..octets).and_then(|o| Packed::pack(o, scratch)) else {
        volume.queue.put_back(number, Content::Hard(block));
        return true;
    };
    let (after, before) = packed.octets();
    volume.queue.put_back(number, Content::Packed(packed));
    shared.pool.give_packed(block, after, before);
    let counts = &mut volume.figures().counts;
    counts.packed_blocks += 1;
    counts.packed_in_octets += before as u64;
    counts.packed_out_octets += after as u64;
    true
}
