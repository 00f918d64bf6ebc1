//! Where the memory of segments and large values comes from: whole pages of the system, which go back to it when they
//! are given back, so that what is not used is not there either.

use super::segment::Geometry;
use std::sync::Arc;
use trunkline_net::Pages;

/// The memory of a segment, shared by those who have a map with it.
#[cfg(not(loom))]
pub use trunkline_net::Words as Memory;

/// Octets of a page. On systems with larger ones the last page of a large value has up to as much more.
const PAGE_OCTETS: u64 = 4096;
/// Octets of the room that a block of a large value has.
pub const BLOCK_OCTETS: usize = 64 << 10;
/// Blocks that keep their memory when they are given back: a value that takes another one's place finds it there.
const WARM_BLOCKS_MAX: usize = 16;

/// Octets in whole pages.
pub fn paged(octets: u64) -> u64 {
    octets.next_multiple_of(PAGE_OCTETS)
}

/// Rooms for blocks of large values.
pub fn blocks() -> Arc<Pages> {
    Pages::new(BLOCK_OCTETS, WARM_BLOCKS_MAX)
}

/// Where the memory of segments comes from.
#[derive(Debug)]
pub struct Ground {
    geometry: Geometry,
    #[cfg(not(loom))]
    pages: Arc<Pages>,
}

#[cfg(not(loom))]
impl Ground {
    /// The ground of segments of one size. None keeps its memory: one that is given up makes room for something else.
    pub fn new(geometry: Geometry) -> Self {
        Ground { geometry, pages: Pages::new(size_of::<u64>() * geometry.words(), 0) }
    }

    /// The memory of a segment; none if the system has no addresses left for the process.
    pub fn memory(&self) -> Option<Memory> {
        Some(self.pages.take()?.into_words(self.geometry.words()))
    }
}

/// The same for models, of words that they follow.
#[cfg(loom)]
mod followed {
    use super::super::sync::atomic::AtomicU64;
    use super::{Geometry, Ground};
    use std::sync::Arc;

    /// The memory of a segment.
    #[derive(Clone, Debug)]
    pub struct Memory(Arc<[AtomicU64]>);

    impl Memory {
        /// How many have it.
        pub fn holders(&self) -> usize {
            Arc::strong_count(&self.0)
        }
    }

    impl std::ops::Deref for Memory {
        type Target = [AtomicU64];

        fn deref(&self) -> &[AtomicU64] {
            &self.0
        }
    }

    impl Ground {
        /// The ground of segments of one size.
        pub fn new(geometry: Geometry) -> Self {
            Ground { geometry }
        }

        /// The memory of a segment.
        pub fn memory(&self) -> Option<Memory> {
            Some(Memory((0..self.geometry.words()).map(|_| AtomicU64::new(0)).collect()))
        }
    }
}
#[cfg(loom)]
pub use followed::Memory;
