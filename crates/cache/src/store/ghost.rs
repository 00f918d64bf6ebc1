//! What was evicted not long ago: a key that comes back was evicted too early, and goes to the main queue at once.

use super::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Octets of an entry.
const ENTRY_OCTETS: u64 = 4;
/// Entries at least; models have fewer.
const ENTRIES_MIN: usize = if cfg!(loom) { AGES as usize } else { 1 << 10 };
/// Parts of the memory's reach, for the age of an entry.
const AGES: u64 = 64;
const AGE_BITS: u32 = 10;
const AGE_MASK: u32 = (1 << AGE_BITS) - 1;

/// Marks of evicted keys: one place for each hash, the newest wins.
#[derive(Debug)]
pub struct Ghost {
    entries: Box<[AtomicU32]>,
    /// Keys evicted so far.
    count: AtomicU64,
}

impl Ghost {
    /// Memory of about the last `items` evicted keys.
    pub fn new(items: usize) -> Self {
        let entries = (0..entries(items)).map(|_| AtomicU32::new(0)).collect();
        Ghost { entries, count: AtomicU64::new(0) }
    }

    /// Octets that it takes.
    pub fn octets(items: usize) -> u64 {
        entries(items) as u64 * ENTRY_OCTETS
    }

    /// Notes an evicted key.
    pub fn put(&self, hash: u64) {
        let count = self.count.fetch_add(1, Relaxed);
        self.place(hash).store(fingerprint(hash) | self.age(count), Relaxed);
    }

    /// Whether a key was evicted not long ago.
    pub fn has(&self, hash: u64) -> bool {
        let entry = self.place(hash).load(Relaxed);
        let now = self.age(self.count.load(Relaxed));
        entry & !AGE_MASK == fingerprint(hash) && u64::from(now.wrapping_sub(entry) & AGE_MASK) <= AGES
    }

    fn place(&self, hash: u64) -> &AtomicU32 {
        &self.entries[(hash >> 8) as usize & (self.entries.len() - 1)]
    }

    fn age(&self, count: u64) -> u32 {
        (count / (self.entries.len() as u64 / AGES)) as u32 & AGE_MASK
    }
}

fn entries(items: usize) -> usize {
    items.next_power_of_two().clamp(ENTRIES_MIN, 1 << 28)
}

/// The bits of a hash that stand in an entry, never all 0.
fn fingerprint(hash: u64) -> u32 {
    ((hash >> 42) as u32 | 1 << 21) << AGE_BITS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_remembers_the_last_ones_and_forgets_the_others() {
        let ghost = Ghost::new(1000);
        let hash = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (1..=4000).for_each(|n| ghost.put(hash(n)));
        let known = |from: u64, to: u64| (from..=to).filter(|&n| ghost.has(hash(n))).count();
        assert!(known(3501, 4000) > 350, "{}", known(3501, 4000));
        assert_eq!(known(1, 2900), 0);
        assert!(known(5001, 9000) < 20);
    }
}
