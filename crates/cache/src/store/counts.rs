//! Numbers of a store: counted by each thread for itself, added up when somebody asks.

use super::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What threads count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// Items ever stored.
    Stored,
    /// Items ever gone.
    Gone,
    /// Octets of keys and values ever stored.
    OctetsStored,
    /// Octets of keys and values ever gone.
    OctetsGone,
    /// Items evicted for memory.
    Evicted,
    /// Of these, never fetched.
    EvictedUnfetched,
    /// Of these, with an expiry.
    EvictedExpiring,
    /// Items evicted for a place in a chain.
    EvictedByCollision,
    /// Items expired and taken back.
    Expired,
    /// Of these, never fetched.
    ExpiredUnfetched,
    /// Items that were asked for or written when they had expired, and taken away then.
    FoundExpired,
    /// The same of items that had been flushed.
    FoundFlushed,
    /// Items flushed and taken back.
    Flushed,
    /// Items carried on.
    Carried,
    /// Segments reclaimed.
    Reclaimed,
    /// Changes refused for want of memory.
    Refused,
    /// Reads that were begun again because a writer interfered.
    Retried,
}

const KINDS: usize = Count::Retried as usize + 1;

/// What one thread counts; on cache lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Counters {
    cells: [AtomicU64; KINDS],
}

impl Counters {
    /// Counts: for the owning thread only.
    pub fn add(&self, count: Count, amount: u64) {
        let cell = &self.cells[count as usize];
        cell.store(cell.load(Relaxed).wrapping_add(amount), Relaxed);
    }

    /// What was counted.
    pub fn get(&self, count: Count) -> u64 {
        self.cells[count as usize].load(Relaxed)
    }

    /// Adds what another thread counted.
    pub fn merge(&self, other: &Counters) {
        for (mine, theirs) in self.cells.iter().zip(&other.cells) {
            mine.store(mine.load(Relaxed).wrapping_add(theirs.load(Relaxed)), Relaxed);
        }
    }
}

/// The numbers of a store. What counts up begins at 0 when the store is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Items that are there, with those that have expired and were not yet taken back.
    pub items: u64,
    /// Items ever stored.
    pub items_stored: u64,
    /// Octets of keys and values that are there.
    pub item_octets: u64,
    /// Octets that count against the limit, of all kinds.
    pub used_octets: u64,
    /// Of these, octets of segments.
    pub segment_octets: u64,
    /// Of these, octets of the table, and of the memory of what was evicted.
    pub table_octets: u64,
    /// Of these, octets of large values and of drafts.
    pub large_octets: u64,
    /// Of these, octets charged from outside.
    pub charged_octets: u64,
    /// Octets of large values that readers hold.
    pub held_octets: u64,
    /// Large values.
    pub large_values: u64,
    /// Octets of a segment.
    pub octets_per_segment: u64,
    /// Segments that there are.
    pub segments: u64,
    /// Of these, segments that are free.
    pub segments_free: u64,
    /// Of these, segments full of new items.
    pub segments_small: u64,
    /// Of these, segments full of items that were used again.
    pub segments_main: u64,
    /// Items evicted for memory.
    pub evicted: u64,
    /// Of these, items that were never fetched.
    pub evicted_unfetched: u64,
    /// Of these, items that would have expired some day.
    pub evicted_expiring: u64,
    /// Seconds since the last use of what was evicted last.
    pub evicted_age_s: u64,
    /// Items evicted because too many keys met in one chain of buckets.
    pub evicted_by_collision: u64,
    /// Items that expired, and whose memory was taken back.
    pub expired: u64,
    /// Of these, items that were never fetched.
    pub expired_unfetched: u64,
    /// Items that were asked for or written when they had expired.
    pub found_expired: u64,
    /// Items that were asked for or written when they had been flushed.
    pub found_flushed: u64,
    /// Items that were flushed, and whose memory was taken back.
    pub flushed: u64,
    /// Items carried on from a segment that was reclaimed.
    pub carried: u64,
    /// Segments reclaimed.
    pub segments_reclaimed: u64,
    /// Changes refused because there was no memory.
    pub refused: u64,
    /// Reads that were begun again because a writer interfered.
    pub retried: u64,
    /// Buckets of the table.
    pub buckets: u64,
    /// Buckets in chains behind those, because theirs were full.
    pub buckets_overflow: u64,
}

impl Counts {
    /// Adds what threads counted.
    pub fn set_counted(&mut self, counters: &Counters) {
        let get = |count| counters.get(count);
        self.items = rest(get(Count::Stored), get(Count::Gone));
        self.item_octets = rest(get(Count::OctetsStored), get(Count::OctetsGone));
        self.items_stored = get(Count::Stored);
        self.evicted = get(Count::Evicted);
        self.evicted_unfetched = get(Count::EvictedUnfetched);
        self.evicted_expiring = get(Count::EvictedExpiring);
        self.evicted_by_collision = get(Count::EvictedByCollision);
        self.expired = get(Count::Expired);
        self.expired_unfetched = get(Count::ExpiredUnfetched);
        self.found_expired = get(Count::FoundExpired);
        self.found_flushed = get(Count::FoundFlushed);
        self.flushed = get(Count::Flushed);
        self.carried = get(Count::Carried);
        self.segments_reclaimed = get(Count::Reclaimed);
        self.refused = get(Count::Refused);
        self.retried = get(Count::Retried);
    }
}

/// What came less what went; nothing where more went than came: threads are added up one after the other, and what one
/// stored after its turn another may have taken away before its own.
fn rest(came: u64, went: u64) -> u64 {
    u64::try_from(came.wrapping_sub(went) as i64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_threads_count_adds_up() {
        let (one, two, all) = (Counters::default(), Counters::default(), Counters::default());
        one.add(Count::Stored, 3);
        two.add(Count::Gone, 1);
        [&one, &two].into_iter().for_each(|counters| all.merge(counters));
        let mut counts = Counts::default();
        counts.set_counted(&all);
        assert_eq!((counts.items, counts.items_stored), (2, 3));
    }
    #[test]
    fn more_that_went_than_came_is_nothing() {
        let counters = Counters::default();
        counters.add(Count::Gone, 1);
        counters.add(Count::OctetsGone, 10);
        let mut counts = Counts::default();
        counts.set_counted(&counters);
        assert_eq!((counts.items, counts.item_octets), (0, 0));
    }
}
