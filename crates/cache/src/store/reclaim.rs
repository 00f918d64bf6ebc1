//! Room: where it comes from when there is none left. Segments that are dead or sparse are reclaimed first; then, if
//! the rules allow, the oldest segment or large value goes, and what was used in it stays.

use super::account::Kind;
use super::bucket::{Slot, wait};
use super::chunks::CHUNK_OCTETS;
use super::counts::Count;
use super::found::{Found, count_gone, leave, look};
use super::ghost::Ghost;
use super::hand::{Berth, Hand};
use super::item::{Head, mark};
use super::memory::Memory;
use super::pool::{FORSAKEN_PERCENT, Fate, SPARSE_PERCENT, Victim};
use super::rules::Refused;
use super::seen::{Seen, large_number};
use super::segment::{ABOUT_WORDS, About, Queue};
use super::shared::Store;
use super::sync::atomic::{Ordering::Acquire, Ordering::Relaxed, fence};
use super::sync::nap;
use super::table::{Chain, ITEMS_PER_BUCKET};
use super::words;
use super::writer::Own;

/// Times that something is reclaimed for one need; of these, the first ones honour every use.
const ROUNDS_MAX: u32 = 4096;
/// Rounds after which an item must have been used once more to be carried on, so that an end is in sight even if
/// everything was used.
const PATIENCE: u32 = 8;
/// Turns of waiting for other threads to let go of memory that was given up, while there is something else to give up.
const TURNS_MAX: u32 = 2_000;
/// Naps for the same when there is nothing else: a thread that the system put aside runs again within that time.
const NAPS_MAX: u32 = if cfg!(loom) { 2 } else { 1_000 };
/// Segments reclaimed, at most, before one more takes memory.
const FORSAKEN_MAX: u32 = 4;
/// Uses after which an item is taken over from the small queue into the main one.
const PROMOTED_USES: u64 = 1;
/// Buckets split at once.
const SPLITS_MAX: usize = 16;

impl Own {
    /// Opens a segment for a berth that has no room.
    pub fn open(&mut self, store: &Store, berth: Berth) -> Result<(), Refused> {
        self.tidy(store);
        for round in 0..ROUNDS_MAX {
            let before = store.pool.regained();
            if store.account.excess() > 0 {
                store.pool.shed(&store.account, store.account.excess());
            } else if let Some(taken) = store.pool.take(&store.account, false) {
                self.hand.set_open(store, berth, self.now, taken);
                return Ok(());
            }
            if !self.evict(store, round) && !self.await_more(store, before, NAPS_MAX, nap) {
                break;
            }
            if self.hand.room(store, berth, self.now).is_some() {
                // Opened for what was carried on, or was to be.
                return Ok(());
            }
        }
        Err(Refused::NoMemory)
    }

    /// Before a segment more takes memory: reclaims some that hardly anything is left of.
    fn tidy(&mut self, store: &Store) {
        for _ in 0..FORSAKEN_MAX {
            if !store.pool.is_short() {
                return;
            }
            let victim = store.pool.claim_dead_or_sparse(self.now, store.epoch(), FORSAKEN_PERCENT);
            if !victim.is_some_and(|victim| self.reclaim(store, victim, 0)) {
                return;
            }
        }
    }

    /// Charges octets, and makes room for them.
    pub fn charge(&mut self, store: &Store, kind: Kind, octets: u64) -> Result<(), Refused> {
        for round in 0..ROUNDS_MAX {
            if store.account.charge(kind, octets, 0) {
                return Ok(());
            }
            if octets > store.account.limit() || !self.make_octets(store, octets, round) {
                break;
            }
        }
        Err(Refused::NoMemory)
    }

    /// Gives up something, so that `octets` more may fit. False if there is nothing, or nothing may go.
    fn make_octets(&mut self, store: &Store, octets: u64, round: u32) -> bool {
        let missing = (store.account.used() + octets).saturating_sub(store.account.limit());
        if missing == 0 {
            return true;
        }
        let before = store.pool.regained();
        store.pool.shed(&store.account, missing);
        self.refresh(store);
        let gave = if store.pool.retired_octets() < missing {
            self.evict(store, round)
        } else {
            // Enough was given up. If who has it at hand was put aside by the system, more segments would not come back
            // sooner; a large value does.
            let mut turns = 0;
            self.await_more(store, before, TURNS_MAX, || wait(&mut turns))
                || (store.rules.evicts && self.evict_large(store, round))
        };
        gave || self.await_more(store, before, NAPS_MAX, nap)
    }

    /// Waits until more segments than `before` were emptied, or given up and came back; false if none is on its way, or
    /// none comes in so many turns.
    fn await_more(&mut self, store: &Store, before: u64, turns_max: u32, mut pause: impl FnMut()) -> bool {
        for _ in 0..turns_max {
            // Others wait for what this thread has at hand, as it does for what they have.
            if store.pool.generation() != self.generation {
                self.refresh(store);
            }
            let is_expected = store.pool.expects();
            store.pool.shed(&store.account, 0);
            if store.pool.regained() != before || !is_expected {
                return store.pool.regained() != before;
            }
            pause();
        }
        false
    }

    /// Makes overflow buckets.
    pub fn make_overflows(&mut self, store: &Store) -> Result<(), Refused> {
        self.charge(store, Kind::Table, CHUNK_OCTETS)?;
        store.table.make_overflows();
        Ok(())
    }

    /// Tells the store how many items came and went; if there are too many for the buckets, splits some.
    pub fn tell_items(&mut self, store: &Store) {
        let untold = std::mem::take(&mut self.hand.items_untold);
        let items = store.items.fetch_add(untold, Relaxed) + untold;
        let wanted = usize::try_from(items).unwrap_or(0) / ITEMS_PER_BUCKET;
        if wanted <= store.table.count() {
            return;
        }
        let Some(mut growth) = store.table.try_growth() else { return };
        for _ in 0..(wanted - store.table.count()).min(SPLITS_MAX) {
            if store.table.needs_chunk(&growth) {
                if self.charge(store, Kind::Table, CHUNK_OCTETS).is_err() {
                    return;
                }
                store.table.make_chunk(&mut growth);
            }
            let split = store.table.split(&growth, |slot| self.hash_at(store, slot.location()));
            match split {
                Some(true) => {}
                Some(false) if self.make_overflows(store).is_err() => return,
                Some(false) => {}
                None => self.refresh(store),
            }
        }
    }

    /// Makes the table as wide as so many items need, while nothing is in it.
    pub fn expect(&mut self, store: &Store, items: u64) {
        let wanted = usize::try_from(items).unwrap_or(usize::MAX) / ITEMS_PER_BUCKET;
        let Some(mut growth) = store.table.try_growth().filter(|_| store.items.load(Relaxed) == 0) else { return };
        while store.table.count() < wanted {
            if store.table.needs_chunk(&growth) {
                if !store.account.charge(Kind::Table, CHUNK_OCTETS, 0) {
                    return;
                }
                store.table.make_chunk(&mut growth);
            }
            store.table.widen(&growth, wanted);
        }
    }

    /// The hash of the item at a location that a locked chain names; none if the map is not the last one.
    fn hash_at(&self, store: &Store, location: u64) -> Option<u64> {
        if store.pool.generation() != self.generation {
            return None;
        }
        let words = self.map.item(store.geometry, location)?;
        let head = Head::read(words);
        let (mut key, octets) = (Vec::with_capacity(256), usize::from(head.key_octets));
        words::copy(words, head.key_at(), octets, &mut key);
        Some(store.hash(&key))
    }

    /// Reclaims something; false if there is nothing, or nothing may go.
    pub fn evict(&mut self, store: &Store, round: u32) -> bool {
        if let Some(victim) = store.pool.claim_dead_or_sparse(self.now, store.epoch(), SPARSE_PERCENT)
            && self.reclaim(store, victim, round)
        {
            return true;
        }
        store.rules.evicts && self.evict_oldest(store, round)
    }

    /// Evicts from the oldest segment, or the oldest large value, whichever is older.
    fn evict_oldest(&mut self, store: &Store, round: u32) -> bool {
        let segment = store.pool.oldest();
        let large = store.shelf.oldest();
        self.remember(store);
        match (segment, large) {
            (Some((_, sequence)), Some(older)) if older < sequence => self.evict_large(store, round),
            (Some((victim, sequence)), _) => {
                if store.pool.claim(victim.segment, sequence) {
                    self.reclaim(store, victim, round);
                }
                true
            }
            (None, Some(_)) => self.evict_large(store, round),
            (None, None) => false,
        }
    }

    /// Makes the memory of what was evicted, when the first items go.
    fn remember(&mut self, store: &Store) {
        let items = usize::try_from(store.items.load(Relaxed)).unwrap_or(0) / 2;
        if store.ghost.get().is_none() {
            store.pool.shed(&store.account, Ghost::octets(items));
            if store.account.charge(Kind::Table, Ghost::octets(items), 0) && store.ghost.set(Ghost::new(items)).is_err()
            {
                store.account.uncharge(Kind::Table, Ghost::octets(items));
            }
        }
    }

    /// Evicts the oldest large value, or puts it behind the others if it was used.
    fn evict_large(&mut self, store: &Store, round: u32) -> bool {
        let Some((number, hash)) = store.shelf.next() else { return false };
        let mut chain = self.lock_with_map(store, hash);
        let is_it = |found: &Found<'_>| found.head.is(mark::LARGE) && large_number(found.words, &found.head) == number;
        let mut places = chain.places().filter(|place| place.slot().may_be(hash));
        let found = places.find_map(|place| look(store, &self.map, place).filter(is_it));
        match found {
            // Its item went just now, and whoever took it away takes it off the shelf.
            None => drop(chain),
            Some(found) if found.slot.uses() > u64::from(round / PATIENCE) => {
                found.place.set(found.slot.with_uses(found.slot.uses() - 1));
                drop(chain);
                store.shelf.again(number, store.pool.next_sequence());
            }
            Some(found) => {
                let seen = found.seen(store, self.now);
                count_evicted(store, &mut self.hand, &seen);
                chain.clear(found.place);
                leave(&mut self.hand, &seen, true);
                drop(chain);
            }
        }
        self.hand.drop_large(store);
        true
    }

    /// Locks the chain for `hash`, with a map that knows all that its slots point to.
    fn lock_with_map<'s>(&mut self, store: &'s Store, hash: u64) -> Chain<'s> {
        loop {
            let chain = store.table.lock(hash);
            if store.pool.generation() == self.generation {
                return chain;
            }
            drop(chain);
            self.refresh(store);
        }
    }

    /// Empties a segment that was claimed. False if nothing was gained: then it is in its queue again.
    pub fn reclaim(&mut self, store: &Store, victim: Victim, round: u32) -> bool {
        self.refresh(store);
        let Some(memory) = self.map.get(victim.segment).cloned() else { return false };
        let about = About::of(&memory);
        let mut at = ABOUT_WORDS;
        while at < about.filled() {
            let head = Head::read(&memory[at..]);
            if !self.reclaim_item(store, victim, &memory, at, round) {
                store.pool.unclaim(victim.segment, about.queue());
                return false;
            }
            at += head.words();
        }
        drop(memory);
        store.pool.free(victim.segment);
        self.hand.drop_large(store);
        self.hand.count(Count::Reclaimed);
        true
    }

    /// Takes one item out of a segment. False if it must not go and has nowhere else to go.
    fn reclaim_item(&mut self, store: &Store, victim: Victim, memory: &Memory, at: usize, round: u32) -> bool {
        let location = store.geometry.join(victim.segment, at);
        let words = &memory[at..];
        let head = Head::read(words);
        let mut key = std::mem::take(&mut self.hand.key);
        key.clear();
        words::copy(words, head.key_at(), usize::from(head.key_octets), &mut key);
        let hash = store.hash(&key);
        self.hand.key = key;
        if !may_be_there(store, hash, location) {
            return true;
        }
        let queue = if victim.fate == Fate::Evict(Queue::Small) { Queue::Main } else { About::of(memory).queue() };
        let berth = self.hand.berth(store, queue, head.expiry, self.now, head.words());
        let room = self.carry_room(store, berth);
        self.decide_item(store, Taken { fate: victim.fate, location, hash, room }, round)
    }

    /// A berth with room for an item that is carried on.
    fn carry_room(&mut self, store: &Store, berth: Berth) -> Option<Berth> {
        if self.hand.room(store, berth, self.now).is_none() {
            let any = (0..super::hand::CLASSES).map(|class| Berth { class, ..berth });
            match store.pool.take(&store.account, true) {
                Some(taken) => self.hand.set_open(store, berth, self.now, taken),
                None => return any.into_iter().find(|&berth| self.hand.room(store, berth, self.now).is_some()),
            }
        }
        Some(berth)
    }

    /// Carries an item on, or lets it go. False if it may not go and there is no room to carry it.
    fn decide_item(&mut self, store: &Store, taken: Taken, round: u32) -> bool {
        let mut chain = store.table.lock(taken.hash);
        let Some(place) = chain.places().find(|place| is_at(place.slot(), taken.location)) else { return true };
        let Some(found) = look(store, &self.map, place) else { return true };
        let gone = store.gone(found.memory, &found.head, self.now);
        let berth = taken.room.filter(|_| gone.is_none() && keeps(taken.fate, found.slot, round));
        let berth = berth.filter(|berth| self.hand.room(store, *berth, self.now).is_some());
        let seen = found.seen(store, self.now);
        if let Some(location) = berth.and_then(|berth| self.hand.carry(store.geometry, berth, &seen)) {
            place.set(carried(found.slot, taken.fate).moved(location));
            chain.locked.change();
            return true;
        }
        if gone.is_none() && !(store.rules.evicts && matches!(taken.fate, Fate::Evict(_))) {
            return false;
        }
        match gone {
            Some(gone) => count_gone(&self.hand, gone, found.slot),
            None => count_evicted(store, &mut self.hand, &seen),
        }
        if let (Fate::Evict(Queue::Small), Some(ghost), None) = (taken.fate, store.ghost.get(), gone) {
            ghost.put(taken.hash);
        }
        chain.clear(place);
        leave(&mut self.hand, &seen, true);
        true
    }
}

/// An item of a segment that is reclaimed.
struct Taken {
    fate: Fate,
    location: u64,
    hash: u64,
    /// Where it could be carried on.
    room: Option<Berth>,
}

/// Whether an item is carried on.
fn keeps(fate: Fate, slot: Slot, round: u32) -> bool {
    let impatience = u64::from(round / PATIENCE);
    match fate {
        Fate::Dead | Fate::Sparse => true,
        Fate::Evict(Queue::Small) => slot.uses() >= PROMOTED_USES.max(impatience),
        Fate::Evict(Queue::Main) => slot.uses() > impatience,
    }
}

/// The slot of an item that is carried on: in the main queue each round costs a use.
fn carried(slot: Slot, fate: Fate) -> Slot {
    match fate {
        Fate::Dead | Fate::Sparse => slot,
        Fate::Evict(Queue::Small) => slot.with_uses(0),
        Fate::Evict(Queue::Main) => slot.with_uses(slot.uses().saturating_sub(1)),
    }
}

fn is_at(slot: Slot, location: u64) -> bool {
    !slot.is_empty() && slot.location() == location
}

/// Whether some slot of the chain may point to a location: a look without a lock, as a reader's. What is there stays
/// there, as only who reclaims a segment moves its items; what goes meanwhile is noticed under the lock.
fn may_be_there(store: &Store, hash: u64, location: u64) -> bool {
    let (first, index) = store.table.bucket(hash);
    let before = first.glance();
    if !before.is_whole() || before.overflow() != 0 || !store.table.is_home(hash, index) {
        return true;
    }
    let is_there = first.slots().any(|slot| is_at(slot, location));
    fence(Acquire);
    is_there || !first.is_still(before)
}

fn count_evicted(store: &Store, hand: &mut Hand, seen: &Seen<'_>) {
    hand.tell_evicted(store, seen);
    hand.count(Count::Evicted);
    hand.counters.add(Count::EvictedUnfetched, u64::from(!seen.is_fetched()));
    hand.counters.add(Count::EvictedExpiring, u64::from(seen.expiry() != 0));
    store.evicted_age_s.store(u64::from(seen.now.saturating_sub(seen.last_use())), Relaxed);
}
