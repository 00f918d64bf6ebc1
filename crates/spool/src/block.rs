//! Aligned memory, one block at a time. The only `unsafe` beside the submission of writes.
#![allow(unsafe_code)] // memory maps are made and viewed here, each with its reason

use std::io;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// Octets of a large page, where blocks begin that can lie in some. A disk's request is a list of pieces of memory, and
/// short: a block of small pages is hundreds of pieces and becomes several requests, one in large pages is one of few.
pub(crate) const LARGE_PAGE: usize = 2 << 20;

/// Octets on pages of their own, zero at first: what `O_DIRECT` can write from. Given back to the system when dropped.
pub(crate) struct Block {
    address: NonNull<u8>,
    octets: usize,
}

// SAFETY: a block owns its pages, and nothing else points there.
unsafe impl Send for Block {}
// SAFETY: shared access is only reading.
unsafe impl Sync for Block {}

impl Block {
    /// A block of `octets`, not zero.
    pub(crate) fn new(octets: usize) -> io::Result<Block> {
        let flags = MapFlags::PRIVATE;
        // SAFETY: a new anonymous map at an address that the system chooses; it cannot overlap memory in use.
        let address =
            unsafe { mmap_anonymous(std::ptr::null_mut(), octets, ProtFlags::READ | ProtFlags::WRITE, flags)? };
        let address = NonNull::new(address.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Block { address, octets })
    }

    /// Blocks of `octets`, not zero, at least one: as many as share a large page, but no more than `count`. The pages
    /// are large only if the system has such to give.
    pub(crate) fn several(octets: usize, count: usize) -> io::Result<Vec<Block>> {
        let count = (LARGE_PAGE / octets).clamp(1, count.max(1));
        let mut rest = if octets * count < LARGE_PAGE {
            Block::new(octets * count)?
        } else {
            Block::in_large_pages(octets * count)?
        };
        let mut blocks = Vec::with_capacity(count);
        for _ in 1..count {
            let (block, behind) = rest.split(octets);
            blocks.push(block);
            rest = behind;
        }
        blocks.push(rest);
        Ok(blocks)
    }

    /// A block that begins where a large page may, on such pages if the system gives them.
    fn in_large_pages(octets: usize) -> io::Result<Block> {
        let block = Block::new(octets + LARGE_PAGE)?;
        let before = block.address.as_ptr().align_offset(LARGE_PAGE);
        let (block, _) = block.split(before).1.split(octets);
        // SAFETY: the range is the block's own map, and the advice changes nothing of what is in it.
        let advised = unsafe { madvise(block.address.as_ptr().cast(), octets, Advice::LinuxHugepage) };
        // A kernel without large pages: small ones do.
        let _ = advised;
        Ok(block)
    }

    /// Two of one, the first with `octets` (a multiple of the page, at most as many as there are): each owns its pages.
    fn split(self, octets: usize) -> (Block, Block) {
        let whole = ManuallyDrop::new(self);
        let octets = octets.min(whole.octets);
        // SAFETY: at most one past the end of the map.
        let behind = unsafe { whole.address.add(octets) };
        (Block { address: whole.address, octets }, Block { address: behind, octets: whole.octets - octets })
    }
}

impl Deref for Block {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `octets` from here on are mapped, initialised (zeros), and stay so as long as self.
        unsafe { std::slice::from_raw_parts(self.address.as_ptr(), self.octets) }
    }
}

impl DerefMut for Block {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`, and self is borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(self.address.as_ptr(), self.octets) }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if self.octets == 0 {
            return;
        }
        // SAFETY: these pages were mapped in `new`, belong to this block alone (`split` gives each to one of the two),
        // and no borrow of them outlives self.
        let unmapped = unsafe { munmap(self.address.as_ptr().cast(), self.octets) };
        debug_assert!(unmapped.is_ok());
    }
}

impl std::fmt::Debug for Block {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Block({})", self.octets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_aligned_zero_and_writable() {
        let mut block = Block::new(1 << 20).unwrap();
        assert_eq!(block.as_ptr() as usize % crate::options::PAGE, 0);
        assert!(block.iter().all(|o| *o == 0));
        block[1_048_575] = 7;
        assert_eq!(block[1_048_575], 7);
    }

    #[test]
    fn blocks_share_a_large_page_and_end_alone() {
        let shared = Block::several(1 << 20, 9).unwrap();
        let addresses: Vec<usize> = shared.iter().map(|b| b.as_ptr() as usize).collect();
        assert_eq!(addresses, [addresses[0], addresses[0] + (1 << 20)]);
        assert_eq!(addresses[0] % LARGE_PAGE, 0);
        let mut shared = shared.into_iter();
        let (first, second) = (shared.next(), shared.next());
        drop(first);
        let mut second = second.unwrap();
        assert!(second.iter().all(|o| *o == 0));
        second.fill(7);
        // More than a page, a part of one, fewer than it holds.
        for (octets, wanted, count) in
            [(LARGE_PAGE + 4096, 3, 1), (12 << 10, 4, 4), (12 << 10, 1000, 170), (4096, 0, 1)]
        {
            let mut blocks = Block::several(octets, wanted).unwrap();
            assert_eq!(blocks.len(), count);
            for (block, n) in blocks.iter_mut().zip(0u8..) {
                assert_eq!((block.len(), block.as_ptr() as usize % crate::options::PAGE), (octets, 0));
                block.fill(n);
            }
            assert!(blocks.iter().zip(0u8..).all(|(block, n)| block.iter().all(|o| *o == n)));
        }
    }
}
