//! Walks over all items, in bounded steps, while the table grows: the classes of hashes that the buckets were when the
//! walk began are met one after the other, each with all buckets that it was split into since. And walks over one
//! segment, for who wants all items in the order in which they would be given up.

use super::bucket::Slot;
use super::found::look;
use super::item::Head;
use super::seen::Seen;
use super::segment::{ABOUT_WORDS, About};
use super::shared::Store;
use super::words;
use super::writer::Own;

/// Where a walk over all items stands. A new one stands before the first.
#[derive(Clone, Debug, Default)]
pub struct Cursor {
    /// Buckets when the walk began; 0 before.
    count: usize,
    next: usize,
}

impl Own {
    /// One step.
    pub fn walk(
        &mut self,
        store: &Store,
        cursor: &mut Cursor,
        now: u32,
        items_max: usize,
        mut meet: impl FnMut(&[u8], &Seen<'_>),
    ) -> bool {
        if cursor.count == 0 {
            cursor.count = store.table.count();
        }
        let mut met = 0;
        while cursor.next < cursor.count && met < items_max {
            let stride = stride(cursor.next, cursor.count);
            // Buckets that a split makes meanwhile come out of these, and behind them.
            let mut bucket = cursor.next;
            while bucket < store.table.count() {
                met += self.walk_bucket(store, bucket, now, &mut meet);
                bucket += stride;
            }
            cursor.next += 1;
            met += 1;
        }
        cursor.next < cursor.count
    }

    /// Meets the items of one segment, in the order in which they lie.
    pub fn meet_segment(&mut self, store: &Store, segment: u32, mut meet: impl FnMut(&[u8], &Seen<'_>)) {
        self.refresh(store);
        let Some(memory) = self.map.get(segment).cloned() else { return };
        let end = About::of(&memory).filled().min(memory.len());
        let mut at = ABOUT_WORDS;
        while at < end {
            let head = Head::read(&memory[at..]);
            self.meet_item(store, store.geometry.join(segment, at), &head, &mut meet);
            at += head.words();
        }
    }

    fn meet_item(&mut self, store: &Store, location: u64, head: &Head, meet: &mut impl FnMut(&[u8], &Seen<'_>)) {
        let Some(words) = self.map.item(store.geometry, location) else { return };
        let mut key = std::mem::take(&mut self.hand.key);
        key.clear();
        words::copy(words, head.key_at(), usize::from(head.key_octets), &mut key);
        let chain = store.table.lock(store.hash(&key));
        let is_here = |slot: Slot| !slot.is_empty() && slot.location() == location;
        let place = chain.places().find(|place| is_here(place.slot()));
        let found = place.filter(|_| store.pool.generation() == self.generation);
        let found = found.and_then(|place| look(store, &self.map, place));
        if let Some(found) = found.filter(|found| store.gone(found.memory, &found.head, self.now).is_none()) {
            meet(&key, &found.seen(store, self.now));
        }
        self.hand.key = key;
    }

    fn walk_bucket(
        &mut self,
        store: &Store,
        bucket: usize,
        now: u32,
        meet: &mut impl FnMut(&[u8], &Seen<'_>),
    ) -> usize {
        let chain = store.table.lock_at(bucket);
        self.refresh(store);
        let mut met = 0;
        for place in chain.places().filter(|place| !place.slot().is_empty()) {
            let Some(found) = look(store, &self.map, place) else { continue };
            if store.gone(found.memory, &found.head, now).is_some() {
                continue;
            }
            let mut key = std::mem::take(&mut self.hand.key);
            key.clear();
            words::copy(found.words, found.head.key_at(), usize::from(found.head.key_octets), &mut key);
            meet(&key, &found.seen(store, now));
            self.hand.key = key;
            met += 1;
        }
        met
    }
}

/// The distance of the buckets that bucket `index` of `count` is split into.
fn stride(index: usize, count: usize) -> usize {
    let bit = 1usize << count.ilog2();
    if index >= bit || index < count - bit { 2 * bit } else { bit }
}

#[cfg(test)]
mod tests {
    use super::super::table::index_of;
    use super::*;

    #[test]
    fn every_bucket_comes_out_of_one_that_was_there() {
        for count in 512..1500 {
            for later in [count, count + 1, count + 700, 3 * count, 5000] {
                let mut met = vec![0; later];
                for index in 0..count {
                    (index..later).step_by(stride(index, count)).for_each(|bucket| met[bucket] += 1);
                }
                assert!(met.iter().all(|&times| times == 1));
            }
        }
        assert!((0..4000u64).all(|hash| index_of(hash, 700) < 700));
    }
}
