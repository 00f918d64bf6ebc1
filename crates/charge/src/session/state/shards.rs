//! Tables of hashes that grow a part at a time.
//!
//! A table of a million that grows puts all of them into a larger one, and asks each for its hash, which is a wait for
//! memory: a third of a second in which nobody is answered. Here each of the parts grows by itself, when it is full.

use hashbrown::HashTable;
use hashbrown::hash_table::OccupiedEntry;

/// Parts: one of a table of a million has four thousand entries, and grows within a millisecond.
const SHARDS: usize = 256;

/// A table of hashes in parts.
#[derive(Clone, Debug)]
pub struct Shards<T>(Box<[HashTable<T>]>);

impl<T> Default for Shards<T> {
    fn default() -> Self {
        Shards((0..SHARDS).map(|_| HashTable::new()).collect())
    }
}

/// A part is chosen by bits that a table does not look at: it takes the lowest and the highest.
fn shard(hash: u64) -> usize {
    (hash >> 44) as usize % SHARDS
}

impl<T> Shards<T> {
    /// The entry of that hash for which `is_it` holds.
    pub fn find(&self, hash: u64, is_it: impl FnMut(&T) -> bool) -> Option<&T> {
        self.0.get(shard(hash))?.find(hash, is_it)
    }

    /// The same, to be taken out.
    pub fn find_entry(&mut self, hash: u64, is_it: impl FnMut(&T) -> bool) -> Option<OccupiedEntry<'_, T>> {
        self.0.get_mut(shard(hash))?.find_entry(hash, is_it).ok()
    }

    /// Puts what is not there yet.
    pub fn insert_unique(&mut self, hash: u64, value: T, hasher: impl Fn(&T) -> u64) {
        if let Some(table) = self.0.get_mut(shard(hash)) {
            table.insert_unique(hash, value, hasher);
        }
    }

    /// Makes room for so many, before there is any.
    pub fn reserve(&mut self, count: usize) {
        // Parts are not quite alike: one in eight more.
        let each = (count / SHARDS).saturating_mul(9) / 8;
        self.0.iter_mut().for_each(|table| table.reserve(each, |_| 0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::hash::BuildHasher;
    use hashbrown::DefaultHashBuilder;

    #[test]
    fn what_is_put_is_found_until_it_is_taken_and_parts_are_alike() {
        let (hasher, mut shards) = (DefaultHashBuilder::default(), Shards::default());
        let hash = |value: &u32| hasher.hash_one(value);
        for value in 0..100_000 {
            shards.insert_unique(hash(&value), value, hash);
        }
        assert!((0..100_000).all(|value| shards.find(hash(&value), |other| *other == value) == Some(&value)));
        assert!(shards.find(hash(&100_000), |other| *other == 100_000).is_none());
        let sizes: Vec<usize> = shards.0.iter().map(HashTable::len).collect();
        assert!(sizes.iter().all(|size| (250..550).contains(size)), "{sizes:?}");
        for value in 0..100_000 {
            let found = shards.find_entry(hash(&value), |other| *other == value);
            assert_eq!(found.map(|entry| entry.remove().0), Some(value));
        }
        assert!(shards.0.iter().all(HashTable::is_empty));
    }
}
