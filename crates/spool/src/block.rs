//! Aligned memory, one block at a time. The only `unsafe` beside the submission of writes.
#![allow(unsafe_code)] // memory maps are made and viewed here, each with its reason

use std::io;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

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
}

impl Deref for Block {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the map is `octets` long, initialised (zeros), and lives as long as self.
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
        // SAFETY: the map was made in `new` with this length, and no borrow of it outlives self.
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
}
