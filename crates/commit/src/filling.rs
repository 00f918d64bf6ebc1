//! What a repair writes in place of what is gone, or cannot be there.

use core::ops::Range;

use crate::block::{self, BLOCK_OCTETS_MAX, GAP_RECORDS_MAX, HEAD_OCTETS, Head};

/// Puts zeros in place of a record of a whole block.
pub fn clear(octets: &mut [u8], block: u64, record: &Range<u64>, salt: u64) {
    let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
    if let Some(record) = octets.get_mut(place(record.start)..place(record.end)) {
        record.fill(0);
    }
    if let Some(block) = octets.get_mut(place(block)..)
        && let Some(head) = Head::of(block)
        && let Some(whole) = block.get_mut(..HEAD_OCTETS + head.octets)
    {
        block::seal_again(whole, salt);
    }
}

/// Makes gaps of a room between whole blocks, no more of them than it has room for.
pub fn fill(octets: &mut [u8], (at, room, first, count): (u64, u64, u64, u64), salt: u64) {
    let (mut at, mut room) = (usize::try_from(at).unwrap_or(usize::MAX), usize::try_from(room).unwrap_or(0));
    let (mut first, mut left) = (first, count);
    // One is no longer than other blocks may be, and has no more records than they: the last one has the room.
    while room > 0 {
        let most = HEAD_OCTETS + BLOCK_OCTETS_MAX;
        let count = u32::try_from(left).unwrap_or(u32::MAX).min(GAP_RECORDS_MAX);
        left -= u64::from(count);
        let here = match left {
            0 if room > most + HEAD_OCTETS => most,
            0 => room,
            _ => HEAD_OCTETS,
        };
        octets[at..at + here].copy_from_slice(&block::gap(first, count, here, salt));
        (at, room, first) = (at + here, room - here, first + u64::from(count));
    }
}

/// Blocks that stand for records with nothing else.
pub fn gaps(first: u64, last: u64, salt: u64) -> Vec<u8> {
    let (mut octets, mut first) = (Vec::new(), first);
    while first <= last {
        let count = u32::try_from(last - first + 1).unwrap_or(u32::MAX).min(GAP_RECORDS_MAX);
        octets.extend(block::gap(first, count, HEAD_OCTETS, salt));
        first += u64::from(count);
    }
    octets
}
