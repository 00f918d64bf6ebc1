//! A bucket of the table: one cache line, a head and seven slots; and how readers and writers meet there.
//!
//! ```text
//!  head   | overflow, 28 bits | version, 34 bits | WRITING | LOCK |
//!  slot   | stamp, 15 | fetched, 1 | use, 2 | tag, 10 | location, 36 |      0 is empty
//! ```
//! Who changes slots, or the items that they point to, holds LOCK of the chain's first bucket. A change of one slot is
//! one store; where more changes at once (slots that move, values written over) WRITING stands meanwhile. Every change
//! but the entry into an empty slot raises the version. A reader loads the head, reads what it wants, and loads the
//! head again: if nothing but LOCK differs, no slot of the chain was taken away meanwhile, so no memory that it read
//! was used anew.

use super::sync::atomic::{AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release, fence};
use super::sync::{spin_loop, store_over, yield_now};

/// Slots of a bucket; fewer in models, so that they end.
pub const SLOTS: usize = if cfg!(loom) { 2 } else { 7 };
/// Set while a writer is at work on the chain.
const LOCK: u64 = 1;
/// Set while what readers see is not whole.
const WRITING: u64 = 2;
const VERSION_ONE: u64 = 4;
const VERSION_MASK: u64 = ((1 << 34) - 1) << 2;
const OVERFLOW_SHIFT: u32 = 36;
/// The largest number of an overflow bucket.
pub const OVERFLOW_MAX: u32 = (1 << 28) - 1;
/// Turns of waiting for a lock before the processor is given to others.
const SPINS_MAX: u32 = 64;

/// Head and slots.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct Bucket {
    head: AtomicU64,
    slots: [AtomicU64; SLOTS],
}

/// The head of a chain as it was at one moment, without LOCK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glance(u64);

impl Glance {
    /// Whether what readers see is whole.
    #[inline]
    pub fn is_whole(self) -> bool {
        self.0 & WRITING == 0
    }

    /// The overflow bucket behind this one; 0 is none.
    #[inline]
    pub fn overflow(self) -> u32 {
        (self.0 >> OVERFLOW_SHIFT) as u32
    }
}

impl Bucket {
    /// The head as it is now; everything that was stored before it is seen by what is loaded from now on.
    #[inline]
    pub fn glance(&self) -> Glance {
        Glance(self.head.load(Acquire) & !LOCK)
    }

    /// Whether nothing that a reader loaded since `before` was taken away. The caller has set an acquire fence.
    #[inline]
    pub fn is_still(&self, before: Glance) -> bool {
        self.head.load(Relaxed) & !LOCK == before.0
    }

    /// The slot `index` as it is now.
    #[inline]
    pub fn slot(&self, index: usize) -> Slot {
        Slot(self.slots[index].load(Acquire))
    }

    /// All slots.
    pub fn slots(&self) -> impl Iterator<Item = Slot> + '_ {
        (0..SLOTS).map(|index| self.slot(index))
    }

    /// Sets the slot `index`: for who holds the lock.
    #[inline]
    pub fn set_slot(&self, index: usize, slot: Slot) {
        store_over(&self.slots[index], slot.0, Release);
    }

    /// Marks the slot as used, if it still is what it was. Without the lock: if another item with the same tag came to
    /// lie in the same place meanwhile, it gets the mark, which is a hint and no more.
    #[inline]
    pub fn mark_slot(&self, index: usize, before: Slot, after: Slot) {
        let _lost_to_a_writer = self.slots[index].compare_exchange(before.0, after.0, Relaxed, Relaxed);
    }

    /// Waits for the lock, and takes it.
    #[inline]
    pub fn lock(&self) -> Locked<'_> {
        let mut spins = 0;
        loop {
            let head = self.head.load(Relaxed);
            if head & LOCK == 0 && self.head.compare_exchange_weak(head, head | LOCK, Acquire, Relaxed).is_ok() {
                return Locked { bucket: self, head, changed: false };
            }
            wait(&mut spins);
        }
    }

    /// The overflow bucket behind this one, 0 if none: for who holds the lock of the chain.
    #[inline]
    pub fn next(&self) -> u32 {
        (self.head.load(Relaxed) >> OVERFLOW_SHIFT) as u32
    }

    /// Sets the overflow bucket behind this one, which is not the chain's first.
    pub fn set_next(&self, overflow: u32) {
        let kept = self.head.load(Relaxed) & VERSION_MASK;
        self.head.store(kept | u64::from(overflow) << OVERFLOW_SHIFT, Release);
    }

    /// Empties a bucket that belongs to no chain yet. A reader may still be here on the way through the chain that it
    /// belonged to: who sees that it is empty sees, too, that the version of that chain has risen.
    pub fn clear(&self) {
        self.slots.iter().for_each(|slot| slot.store(0, Release));
        self.set_next(0);
    }
}

/// Waits a moment: spinning at first, then letting others run.
pub fn wait(spins: &mut u32) {
    *spins += 1;
    if (*spins).is_multiple_of(SPINS_MAX) { yield_now() } else { spin_loop() }
}

/// A chain that is locked; unlocked when dropped.
#[derive(Debug)]
pub struct Locked<'a> {
    bucket: &'a Bucket,
    head: u64,
    changed: bool,
}

impl Locked<'_> {
    /// Notes that a slot was taken away or changed: the version rises when the lock is given up.
    #[inline]
    pub fn change(&mut self) {
        self.changed = true;
    }

    /// From here on, what readers see is not whole.
    pub fn begin_writing(&mut self) {
        self.changed = true;
        self.bucket.head.store(self.head | LOCK | WRITING, Relaxed);
        fence(Release);
    }

    /// The overflow bucket behind the first; 0 is none.
    #[inline]
    pub fn next(&self) -> u32 {
        (self.head >> OVERFLOW_SHIFT) as u32
    }

    /// Sets the overflow bucket behind the first.
    pub fn set_next(&mut self, overflow: u32) {
        self.head = self.head & VERSION_MASK | u64::from(overflow) << OVERFLOW_SHIFT;
        self.changed = true;
        let writing = self.bucket.head.load(Relaxed) & WRITING;
        self.bucket.head.store(self.head | LOCK | writing, Release);
    }
}

impl Drop for Locked<'_> {
    #[inline]
    fn drop(&mut self) {
        let version = self.head.wrapping_add(if self.changed { VERSION_ONE } else { 0 }) & VERSION_MASK;
        self.bucket.head.store(self.head & !VERSION_MASK & !LOCK & !WRITING | version, Release);
    }
}

/// What a slot holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slot(u64);

/// Bits of a location: words, counted through all segments.
pub const LOCATION_BITS: u32 = 36;
const TAG_SHIFT: u32 = 36;
const TAG_MASK: u64 = 0x3ff;
const USE_SHIFT: u32 = 46;
/// The highest count of uses.
pub const USE_MAX: u64 = 3;
const FETCHED: u64 = 1 << 48;
const STAMP_SHIFT: u32 = 49;
const STAMP_MASK: u32 = 0x7fff;
/// Seconds by which the time of an item's last use may be told wrong, at most, within the last six days.
pub const LAST_USE_GRAIN_S: u32 = 16;

impl Slot {
    /// An empty slot.
    pub const EMPTY: Slot = Slot(0);

    /// A slot for an item that was not used yet.
    #[inline]
    pub fn new(location: u64, hash: u64) -> Self {
        Slot(location | tag_of(hash) << TAG_SHIFT)
    }

    /// Whether nothing is here.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether it may hold what has this hash.
    #[inline]
    pub fn may_be(self, hash: u64) -> bool {
        self.0 >> TAG_SHIFT & TAG_MASK == tag_of(hash) && self.0 != 0
    }

    /// Where the item lies.
    #[inline]
    pub fn location(self) -> u64 {
        self.0 & ((1 << LOCATION_BITS) - 1)
    }

    /// The same item in another place.
    #[inline]
    pub fn moved(self, location: u64) -> Self {
        Slot(self.0 & !((1 << LOCATION_BITS) - 1) | location)
    }

    /// How often it was used lately, up to [`USE_MAX`].
    #[inline]
    pub fn uses(self) -> u64 {
        self.0 >> USE_SHIFT & USE_MAX
    }

    /// The same with another count of uses.
    #[inline]
    pub fn with_uses(self, uses: u64) -> Self {
        Slot(self.0 & !(USE_MAX << USE_SHIFT) | uses.min(USE_MAX) << USE_SHIFT)
    }

    /// Whether it was fetched since it was stored.
    #[inline]
    pub fn is_fetched(self) -> bool {
        self.0 & FETCHED != 0
    }

    /// The same after a use at second `now`.
    #[inline]
    pub fn used(self, now: u32) -> Self {
        let stamp = u64::from((now / LAST_USE_GRAIN_S) & STAMP_MASK);
        let kept = self.0 & ((1 << STAMP_SHIFT) - 1) | FETCHED | stamp << STAMP_SHIFT;
        Slot(kept).with_uses(self.uses() + 1)
    }

    /// The same item with a new value: not fetched yet.
    pub fn stored_again(self) -> Self {
        Slot(self.0 & (FETCHED - 1))
    }

    /// The second of the last use, if it was fetched: the latest one up to `now` that fits the stamp.
    pub fn last_use(self, now: u32) -> u32 {
        let stamp = (self.0 >> STAMP_SHIFT) as u32;
        let ago = (now / LAST_USE_GRAIN_S).wrapping_sub(stamp) & STAMP_MASK;
        if ago == 0 { now } else { now.saturating_sub(ago * LAST_USE_GRAIN_S) }
    }
}

#[inline]
fn tag_of(hash: u64) -> u64 {
    hash >> 54
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_tells_what_it_was_given() {
        let slot = Slot::new(0xf_1234_5678, 0xffc0_0000_0000_0001).used(1000);
        assert!(slot.may_be(0xffff_0000_0000_0002) && !slot.may_be(1) && slot.is_fetched());
        assert_eq!((slot.location(), slot.uses(), slot.last_use(1007)), (0xf_1234_5678, 1, 1007));
        assert_eq!(slot.last_use(1060), 1060 - 64);
        let moved = slot.moved(8).used(1000).used(1000).used(1000).with_uses(2);
        assert_eq!((moved.location(), moved.uses()), (8, 2));
        assert!(!Slot::EMPTY.may_be(0));
    }

    #[test]
    fn readers_notice_what_was_taken_away_and_not_what_came() {
        let bucket = Bucket::default();
        let before = bucket.glance();
        drop(bucket.lock());
        assert!(bucket.is_still(before));
        let mut locked = bucket.lock();
        assert!(bucket.is_still(before), "a lock alone changes nothing");
        locked.change();
        drop(locked);
        assert!(!bucket.is_still(before));
        let before = bucket.glance();
        let mut locked = bucket.lock();
        locked.begin_writing();
        assert!(!bucket.glance().is_whole() && !bucket.is_still(before));
        locked.set_next(77);
        assert!(!bucket.glance().is_whole());
        drop(locked);
        assert!(bucket.glance().is_whole());
        assert_eq!(bucket.glance().overflow(), 77);
    }

    #[test]
    fn versions_go_round() {
        let bucket = Bucket::default();
        bucket.head.store(VERSION_MASK | 5 << OVERFLOW_SHIFT, Relaxed);
        bucket.lock().change();
        assert_eq!(bucket.head.load(Relaxed), 5 << OVERFLOW_SHIFT);
    }
}
