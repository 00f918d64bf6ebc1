//! The memory of an AF_PACKET ring (TPACKET_V3): blocks that the kernel fills and lends.
//!
//! A block's status word says who owns it: 0 the kernel, else the user (Documentation/networking/packet_mmap.rst). The
//! kernel fills the blocks in order and stops (the queue "freezes", and packets are dropped) at one that it does not
//! own. So several may be lent at once, and given back in any order.
#![expect(unsafe_code, reason = "memory shared with the kernel")]

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::Arc;

use super::sys::Mapping;

/// Where the status word lies in a block (`struct tpacket_block_desc`).
const STATUS: usize = 8;
/// The status of a block that the user owns.
const USER: u32 = libc::TP_STATUS_USER;

/// A ring of blocks.
#[derive(Debug)]
pub(crate) struct Ring {
    memory: Mapping,
    block_octets: usize,
    /// Which blocks are lent: each to one [`Lease`].
    lent: Vec<AtomicBool>,
    lent_count: AtomicU32,
}

/// A block that the kernel lent. It goes back when this is dropped.
#[derive(Debug)]
pub(crate) struct Lease {
    ring: Arc<Ring>,
    block: usize,
}

impl Ring {
    /// Of a mapping that holds whole blocks of at least a page. `None` if it does not.
    pub(crate) fn new(memory: Mapping, block_octets: usize) -> Option<Arc<Ring>> {
        let count = memory.length().checked_div(block_octets)?;
        let whole =
            block_octets >= 4096 && block_octets.is_multiple_of(4096) && count * block_octets == memory.length();
        let lent = (0..count).map(|_| AtomicBool::new(false)).collect();
        whole.then(|| Arc::new(Ring { memory, block_octets, lent, lent_count: AtomicU32::new(0) }))
    }

    /// How many blocks there are.
    pub(crate) fn blocks(&self) -> usize {
        self.lent.len()
    }

    /// How many are lent.
    pub(crate) fn lent(&self) -> u32 {
        self.lent_count.load(Ordering::Relaxed)
    }

    /// Whether the kernel has filled a block that is not lent.
    pub(crate) fn is_ready(&self, block: usize) -> bool {
        // That it is not lent is asked first: a lease gives the block to the kernel before it ends.
        let lent = self.lent.get(block).is_none_or(|l| l.load(Ordering::Acquire));
        !lent && self.status(block).load(Ordering::Acquire) & USER != 0
    }

    /// Takes a block that the kernel has filled; none if it has not, or if it is lent already.
    pub(crate) fn take(self: &Arc<Ring>, block: usize) -> Option<Lease> {
        let lent = self.lent.get(block)?;
        if !self.is_ready(block) || lent.swap(true, Ordering::AcqRel) {
            return None;
        }
        self.lent_count.fetch_add(1, Ordering::Relaxed);
        Some(Lease { ring: self.clone(), block })
    }

    /// The status word of a block, which must be one of the ring's.
    fn status(&self, block: usize) -> &AtomicU32 {
        debug_assert!(block < self.blocks());
        let offset = block.min(self.blocks().saturating_sub(1)) * self.block_octets + STATUS;
        // SAFETY: inside the mapping, aligned to a page and 8 octets, and touched by atomic operations only: the kernel
        // and every lease leave it alone but for those.
        unsafe { AtomicU32::from_ptr(self.memory.at().add(offset).as_ptr().cast()) }
    }
}

impl Lease {
    /// What the kernel wrote, from behind the status word to the block's end: [`Lease::BEGIN`] octets of the block are
    /// not in it.
    pub(crate) fn octets(&self) -> &[u8] {
        // SAFETY: inside the mapping, which the ring holds; the kernel writes nothing into a block that the user owns,
        // and writing it needs the lease exclusively.
        unsafe { core::slice::from_raw_parts(self.begin(), self.ring.block_octets - Lease::BEGIN) }
    }

    /// The same, to write: before the block is handed on.
    pub(crate) fn octets_mut(&mut self) -> &mut [u8] {
        // SAFETY: as `octets`; each block has one lease, and this borrows it exclusively.
        unsafe { core::slice::from_raw_parts_mut(self.begin(), self.ring.block_octets - Lease::BEGIN) }
    }

    /// Octets at a block's beginning that are not in [`Lease::octets`].
    pub(crate) const BEGIN: usize = STATUS + size_of::<u32>();

    fn begin(&self) -> *mut u8 {
        let offset = self.block * self.ring.block_octets + Lease::BEGIN;
        // SAFETY: `take` saw to it that the block is one of the ring's.
        unsafe { self.ring.memory.at().add(offset).as_ptr() }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.ring.status(self.block).store(libc::TP_STATUS_KERNEL, Ordering::Release);
        if let Some(lent) = self.ring.lent.get(self.block) {
            lent.store(false, Ordering::Release);
        }
        self.ring.lent_count.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_lent_once_and_comes_back() {
        let ring = Ring::new(Mapping::own(4 * 8192).unwrap(), 8192).unwrap();
        assert_eq!(ring.blocks(), 4);
        assert!(ring.take(1).is_none() && ring.take(4).is_none());
        ring.status(1).store(USER, Ordering::Release);
        let mut lease = ring.take(1).unwrap();
        assert!(ring.take(1).is_none() && !ring.is_ready(1));
        assert_eq!(ring.lent(), 1);
        lease.octets_mut()[0] = 7;
        assert_eq!(lease.octets().len(), 8192 - Lease::BEGIN);
        std::thread::spawn(move || drop(lease)).join().unwrap();
        assert_eq!((ring.lent(), ring.status(1).load(Ordering::Acquire)), (0, libc::TP_STATUS_KERNEL));
        assert!(Ring::new(Mapping::own(8192).unwrap(), 12_288).is_none());
    }
}
