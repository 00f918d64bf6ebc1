//! The table: where the item of a key lies. Buckets of seven slots, chains of overflow buckets behind full ones, grown
//! by splitting one bucket at a time (linear hashing), so that there is never a pause in which everything moves.

use super::account::{Account, Kind};
use super::bucket::{Bucket, Locked, OVERFLOW_MAX, SLOTS, Slot};
use super::chunks::{CHUNK_BUCKETS, CHUNK_OCTETS, Chunks};
use super::sync::atomic::{AtomicUsize, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use super::sync::{Mutex, MutexGuard};
use std::sync::PoisonError;

/// Items to a bucket, on average, above which buckets are split: the memory of overflow buckets and of empty slots
/// together is least around here, and one item in twelve lies in an overflow bucket.
/// Models grow at once.
pub const ITEMS_PER_BUCKET: usize = if cfg!(loom) { 1 } else { 6 };
/// Overflow buckets of a chain: beyond, items of the chain make room for each other.
// Limit: overflow buckets of one bucket
// Beyond: items of these buckets make room for each other
// Seen in: `trunkline_cache_evicted_items_total`
pub const CHAIN_MAX: usize = 8;

/// Buckets, and how many there are.
#[derive(Debug)]
pub struct Table {
    primary: Chunks,
    overflow: Chunks,
    /// Buckets in use; only [`Growth`]'s owner changes it.
    count: AtomicUsize,
    growth: Mutex<Growth>,
    free: Mutex<Free>,
}

/// Whoever holds it may split.
#[derive(Debug, Default)]
pub struct Growth {
    /// Buckets for which there is memory.
    made: usize,
}

#[derive(Debug, Default)]
struct Free {
    buckets: Vec<u32>,
    /// Overflow buckets for which there is memory; the first has number 1.
    made: u32,
    /// Overflow buckets in chains.
    used: u32,
}

/// A place in a chain: the bucket, and the slot in it.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The bucket: the chain's first or one of its overflow buckets.
    pub bucket: &'a Bucket,
    /// The slot.
    pub index: usize,
}

impl Place<'_> {
    /// What the slot holds.
    pub fn slot(&self) -> Slot {
        self.bucket.slot(self.index)
    }

    /// Sets the slot.
    pub fn set(&self, slot: Slot) {
        self.bucket.set_slot(self.index, slot);
    }
}

/// A chain that is locked.
#[derive(Debug)]
pub struct Chain<'a> {
    /// The lock.
    pub locked: Locked<'a>,
    first: &'a Bucket,
    table: &'a Table,
}

impl Table {
    /// A table of one chunk of buckets and one of overflow buckets, for which the account must have the memory.
    pub fn new(account: &Account) -> Self {
        account.charge(Kind::Table, 2 * CHUNK_OCTETS, 0);
        let table = Table {
            primary: Chunks::new(),
            overflow: Chunks::new(),
            count: AtomicUsize::new(CHUNK_BUCKETS),
            growth: Mutex::new(Growth { made: CHUNK_BUCKETS }),
            free: Mutex::default(),
        };
        table.primary.make(0);
        table.make_overflows();
        table
    }

    /// The buckets that there are.
    #[inline]
    pub fn count(&self) -> usize {
        self.count.load(Acquire)
    }

    /// The overflow buckets that are in chains.
    pub fn overflow_count(&self) -> usize {
        self.free().used as usize
    }

    /// The first bucket of the chain for `hash`, and its number. What the number was made from can have changed when
    /// the bucket is looked at: [`Table::is_home`].
    #[inline]
    pub fn bucket(&self, hash: u64) -> (&Bucket, usize) {
        let index = index_of(hash, self.count());
        (self.at(index), index)
    }

    /// Whether `index` still is the chain for `hash`. Asked after the bucket's head was loaded, it holds as long as
    /// that head stays: a split raises the count before it gives up the lock.
    #[inline]
    pub fn is_home(&self, hash: u64, index: usize) -> bool {
        index_of(hash, self.count.load(Relaxed)) == index
    }

    /// The first bucket of chain `index`.
    ///
    /// # Panics
    /// If there is no such chain.
    #[inline]
    pub fn at(&self, index: usize) -> &Bucket {
        self.primary.get(index).expect("a bucket below the count has its memory")
    }

    /// The overflow bucket `number`; [`None`] for 0.
    #[inline]
    pub fn overflow(&self, number: u32) -> Option<&Bucket> {
        if number == 0 { None } else { self.overflow.get(number as usize - 1) }
    }

    /// Locks the chain for `hash`.
    #[inline]
    pub fn lock(&self, hash: u64) -> Chain<'_> {
        loop {
            let (first, index) = self.bucket(hash);
            let chain = Chain { locked: first.lock(), first, table: self };
            if self.is_home(hash, index) {
                return chain;
            }
        }
    }

    /// Locks chain `index`.
    pub fn lock_at(&self, index: usize) -> Chain<'_> {
        let first = self.at(index);
        Chain { locked: first.lock(), first, table: self }
    }

    /// The right to split, if nobody else has it.
    pub fn try_growth(&self) -> Option<MutexGuard<'_, Growth>> {
        self.growth.try_lock().ok()
    }

    /// Whether the next split needs a new chunk.
    pub fn needs_chunk(&self, growth: &Growth) -> bool {
        self.count() == growth.made
    }

    /// Makes the next chunk, for which the account was charged.
    pub fn make_chunk(&self, growth: &mut Growth) {
        if self.primary.make(growth.made) {
            growth.made += CHUNK_BUCKETS;
        }
    }

    /// Takes as many buckets into use as were made, up to `wanted`, without splitting any: for a table in which nothing
    /// is, and that nobody else uses.
    pub fn widen(&self, growth: &Growth, wanted: usize) {
        self.count.store(wanted.min(growth.made).max(self.count()), Release);
    }

    /// Splits the next bucket: `hash_of` tells the hash of what a slot points to. [`None`] means that it could not be
    /// told now, and nothing was changed; so does false: there was no overflow bucket.
    pub fn split(&self, _growth: &Growth, mut hash_of: impl FnMut(Slot) -> Option<u64>) -> Option<bool> {
        let count = self.count();
        let bit = 1usize << count.ilog2();
        let mut chain = self.lock_at(count - bit);
        let (mut stay, mut go) = (Vec::with_capacity(16), Vec::with_capacity(16));
        for place in chain.places() {
            let slot = place.slot();
            if !slot.is_empty() {
                let goes = hash_of(slot)? & bit as u64 != 0;
                if goes { go.push(slot) } else { stay.push(slot) }
            }
        }
        let Some(spare) = self.take_overflows(go.len().saturating_sub(1) / SLOTS) else { return Some(false) };
        self.fill_new(self.at(count), &go, &spare);
        chain.locked.begin_writing();
        chain.refill(&stay);
        self.count.store(count + 1, Release);
        Some(true)
    }

    /// Fills a chain that nobody can reach yet.
    fn fill_new(&self, first: &Bucket, slots: &[Slot], spare: &[u32]) {
        let mut bucket = first;
        for (number, part) in slots.chunks(SLOTS).enumerate() {
            if number > 0 {
                let next = spare[number - 1];
                if number == 1 {
                    bucket.lock().set_next(next)
                } else {
                    bucket.set_next(next)
                }
                bucket = self.overflow(next).unwrap_or(first);
            }
            part.iter().enumerate().for_each(|(index, slot)| bucket.set_slot(index, *slot));
        }
    }

    /// Takes an overflow bucket; [`None`] if memory must be had first.
    fn take_overflow(&self) -> Option<u32> {
        let mut free = self.free();
        let number = free.buckets.pop()?;
        free.used += 1;
        self.overflow(number)?.clear();
        Some(number)
    }

    fn take_overflows(&self, count: usize) -> Option<Vec<u32>> {
        let taken: Vec<u32> = (0..count).map_while(|_| self.take_overflow()).collect();
        if taken.len() == count {
            return Some(taken);
        }
        taken.into_iter().for_each(|number| self.give_overflow(number));
        None
    }

    fn give_overflow(&self, number: u32) {
        let mut free = self.free();
        free.used -= 1;
        free.buckets.push(number);
    }

    /// Makes a chunk of overflow buckets, for which the account was charged.
    pub fn make_overflows(&self) {
        let mut free = self.free();
        if free.made < OVERFLOW_MAX - CHUNK_BUCKETS as u32 && self.overflow.make(free.made as usize) {
            let begin = free.made + 1;
            free.made += CHUNK_BUCKETS as u32;
            let end = free.made;
            free.buckets.extend((begin..=end).rev());
        }
    }

    fn free(&self) -> MutexGuard<'_, Free> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'a> Chain<'a> {
    /// All places of the chain.
    pub fn places(&self) -> impl Iterator<Item = Place<'a>> + use<'a> {
        let table = self.table;
        let mut next = self.locked.next();
        let overflows = std::iter::from_fn(move || {
            let bucket = table.overflow(next)?;
            next = bucket.next();
            Some(bucket)
        });
        let buckets = std::iter::once(self.first).chain(overflows);
        buckets.flat_map(|bucket| (0..SLOTS).map(move |index| Place { bucket, index }))
    }

    /// An empty place; [`Room::NoBucket`] if an overflow bucket is needed and there is none.
    pub fn room(&mut self) -> Room<'a> {
        if let Some(place) = self.places().find(|place| place.slot().is_empty()) {
            return Room::Here(place);
        }
        if self.places().count() >= (CHAIN_MAX + 1) * SLOTS {
            return Room::Full;
        }
        match self.table.take_overflow() {
            None => Room::NoBucket,
            Some(number) => self.put_first(number),
        }
    }

    /// Puts an overflow bucket behind the first one.
    fn put_first(&mut self, number: u32) -> Room<'a> {
        let Some(bucket) = self.table.overflow(number) else { return Room::NoBucket };
        bucket.set_next(self.locked.next());
        self.locked.set_next(number);
        Room::Here(Place { bucket, index: 0 })
    }

    /// Empties a place, and gives overflow buckets back that are not needed any more.
    pub fn clear(&mut self, place: Place<'_>) {
        place.set(Slot::EMPTY);
        self.locked.change();
        if self.locked.next() != 0 {
            self.shrink();
        }
    }

    /// If what is left fits a bucket less, moves it there.
    fn shrink(&mut self) {
        let slots: Vec<Slot> = self.places().map(|place| place.slot()).filter(|slot| !slot.is_empty()).collect();
        let buckets = self.places().count() / SLOTS;
        if slots.len() <= (buckets - 1) * SLOTS {
            self.locked.begin_writing();
            self.refill(&slots);
        }
    }

    /// Fills the chain, while it is being written, with no more slots than it has; buckets left over are given back.
    fn refill(&mut self, slots: &[Slot]) {
        let places: Vec<Place<'_>> = self.places().collect();
        let mut slots = slots.iter().copied();
        places.iter().for_each(|place| place.set(slots.next().unwrap_or(Slot::EMPTY)));
        self.cut();
    }

    /// Gives back the empty buckets at the chain's end.
    fn cut(&mut self) {
        let is_used = |bucket: &Bucket| bucket.slots().any(|slot| !slot.is_empty());
        let mut last: Option<&Bucket> = None;
        let mut next = self.locked.next();
        while let Some(bucket) = self.table.overflow(next).filter(|bucket| is_used(bucket)) {
            (last, next) = (Some(bucket), bucket.next());
        }
        match last {
            Some(bucket) => bucket.set_next(0),
            None => self.locked.set_next(0),
        }
        while let Some(bucket) = self.table.overflow(next) {
            let number = next;
            next = bucket.next();
            self.table.give_overflow(number);
        }
    }
}

/// Whether a chain has an empty place.
#[derive(Debug)]
pub enum Room<'a> {
    /// It has.
    Here(Place<'a>),
    /// It needs an overflow bucket, and there is none.
    NoBucket,
    /// It is as long as a chain may be.
    Full,
}

/// The chain for `hash` among `count` chains.
#[inline]
pub fn index_of(hash: u64, count: usize) -> usize {
    let bit = 1usize << count.ilog2();
    let wide = hash as usize & (2 * bit - 1);
    if wide < count { wide } else { wide - bit }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> (Account, Table) {
        let account = Account::new(1 << 30);
        let table = Table::new(&account);
        (account, table)
    }

    fn enter(table: &Table, hash: u64, location: u64) {
        let mut chain = table.lock(hash);
        match chain.room() {
            Room::Here(place) => place.set(Slot::new(location, hash)),
            other => panic!("{other:?}"),
        }
    }

    fn find(table: &Table, hash: u64, location: u64) -> bool {
        table.lock(hash).places().any(|p| p.slot().may_be(hash) && p.slot().location() == location)
    }

    #[test]
    fn every_hash_has_a_home_that_splits_keep() {
        for count in 512..2100 {
            for hash in 0..4200u64 {
                let (before, after) = (index_of(hash, count), index_of(hash, count + 1));
                assert!(before < count && (before == after || after == count));
            }
        }
    }

    #[test]
    fn what_was_entered_is_found_after_every_split() {
        let (_account, table) = table();
        let hash = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7;
        (1..=6000).for_each(|n| enter(&table, hash(n), n));
        let mut growth = table.try_growth().expect("nobody else");
        for _ in 0..1500 {
            if table.needs_chunk(&growth) {
                table.make_chunk(&mut growth);
            }
            assert_eq!(table.split(&growth, |slot| Some(hash(slot.location()))), Some(true));
        }
        assert_eq!(table.count(), 512 + 1500);
        assert!((1..=6000).all(|n| find(&table, hash(n), n)));
        assert_eq!((0..table.count()).map(|i| live(&table, i)).sum::<usize>(), 6000);
        assert!(table.overflow_count() < 60, "{}", table.overflow_count());
    }

    fn live(table: &Table, index: usize) -> usize {
        table.lock_at(index).places().filter(|p| !p.slot().is_empty()).count()
    }

    #[test]
    fn a_chain_ends_somewhere_and_shrinks_again() {
        let (_account, table) = table();
        let places = ((CHAIN_MAX + 1) * SLOTS) as u64;
        (1..=places).for_each(|n| enter(&table, 5, n));
        assert!(matches!(table.lock(5).room(), Room::Full));
        assert_eq!(table.overflow_count(), CHAIN_MAX);
        for n in 1..=places {
            let mut chain = table.lock(5);
            let place = chain.places().find(|p| p.slot().location() == n).expect("entered above");
            chain.clear(place);
            drop(chain);
            assert!((n + 1..=places).all(|n| find(&table, 5, n)));
        }
        assert_eq!(table.overflow_count(), 0);
    }
}
