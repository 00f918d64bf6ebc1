//! An array of buckets that grows without moving: chunks, in levels that double.

use super::bucket::Bucket;
use super::sync::OnceLock;

/// Buckets of a chunk; one in models.
pub const CHUNK_BUCKETS: usize = if cfg!(loom) { 1 } else { 512 };
/// Octets of a chunk with its place in a level.
pub const CHUNK_OCTETS: u64 = (CHUNK_BUCKETS * size_of::<Bucket>() + size_of::<Chunk>()) as u64;
/// Levels: the last one would hold half of all buckets that numbers of 36 bits can name.
const LEVELS: usize = 28;

type Chunk = OnceLock<Box<[Bucket]>>;

/// Chunks of buckets. Level 0 holds one chunk, level n from 1 on 2^(n-1): a chunk keeps its place for good.
#[derive(Debug)]
pub struct Chunks {
    levels: [OnceLock<Box<[Chunk]>>; LEVELS],
}

impl Chunks {
    /// No bucket.
    pub fn new() -> Self {
        Chunks { levels: std::array::from_fn(|_| OnceLock::new()) }
    }

    /// The bucket `index`; [`None`] if its chunk is not there.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&Bucket> {
        let (level, place) = place_of(index / CHUNK_BUCKETS);
        let chunk = self.levels.get(level)?.get()?.get(place)?.get()?;
        chunk.get(index % CHUNK_BUCKETS)
    }

    /// Makes the chunk that begins with bucket `index`, if it is not there. False if there can be none.
    pub fn make(&self, index: usize) -> bool {
        let (level, place) = place_of(index / CHUNK_BUCKETS);
        let Some(row) = self.levels.get(level) else { return false };
        let row = row.get_or_init(|| (0..(1usize << level).div_ceil(2)).map(|_| OnceLock::new()).collect());
        row[place].get_or_init(|| (0..CHUNK_BUCKETS).map(|_| Bucket::default()).collect());
        true
    }
}

/// The level of a chunk, and its place there.
#[inline]
fn place_of(chunk: usize) -> (usize, usize) {
    let level = (usize::BITS - chunk.leading_zeros()) as usize;
    (level, if level == 0 { 0 } else { chunk - (1 << (level - 1)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_chunk_has_its_own_place() {
        assert_eq!([0, 1, 2, 3, 4, 7, 8].map(place_of), [(0, 0), (1, 0), (2, 0), (2, 1), (3, 0), (3, 3), (4, 0)]);
        let chunks = Chunks::new();
        assert!(chunks.get(0).is_none());
        for chunk in 0..9 {
            assert!(chunks.get(chunk * CHUNK_BUCKETS).is_none());
            assert!(chunks.make(chunk * CHUNK_BUCKETS));
            assert!(chunks.get(chunk * CHUNK_BUCKETS + CHUNK_BUCKETS - 1).is_some());
        }
        assert!(!chunks.make(usize::MAX));
    }
}
