//! Reading: without a lock, and again if a writer interfered.

use super::bucket::{Bucket, Glance, SLOTS, Slot, wait};
use super::counts::Count;
use super::decision::{Decision, Touch, Value};
use super::item::{Head, has_key};
use super::seen::Seen;
use super::segment::ABOUT_WORDS;
use super::shared::Store;
use super::sync::atomic::{AtomicU64, Ordering::Acquire, Ordering::Relaxed, fence};
use super::table::CHAIN_MAX;
use super::writer::Own;
use std::hint::black_box;

/// Tries without a lock: after so many a reader takes the lock, so that writers cannot keep it from an answer.
const TRIES_MAX: u32 = if cfg!(loom) { 1 } else { 200 };
/// Keys whose waits for memory overlap: about as many as a core can wait for at once.
pub const READ_AHEAD: usize = 16;
/// Words of a line of a processor's cache, and those of an item that are waited for together; what is further on the
/// processor itself expects.
const LINE_WORDS: usize = 8;
const ITEM_AHEAD_WORDS: usize = 32 * LINE_WORDS;

/// Keys that will be asked for soon, at most [`READ_AHEAD`], and which of their values will be read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ahead<'a> {
    keys: [&'a [u8]; READ_AHEAD],
    count: usize,
    /// A bit for each key, the first one the lowest.
    reads: u32,
}

const _: () = assert!(READ_AHEAD <= u32::BITS as usize);

impl<'a> Ahead<'a> {
    /// One more; nothing if there are [`READ_AHEAD`]. Of a value that is not read, only where it lies matters.
    #[inline]
    pub fn add(&mut self, key: &'a [u8], reads: bool) {
        if let Some(place) = self.keys.get_mut(self.count) {
            *place = key;
            self.reads |= u32::from(reads) << self.count;
            self.count += 1;
        }
    }

    /// How many there are.
    #[inline]
    pub fn count(&self) -> usize {
        self.count
    }
}

/// What a reader asks for.
#[derive(Clone, Copy)]
struct Question<'a> {
    key: &'a [u8],
    hash: u64,
    now: u32,
}

/// How a try to read ended.
enum Attempt<T> {
    Done(Option<T>),
    /// What is there has expired or was flushed.
    Gone,
    /// A writer interfered.
    Again,
    /// The map is not the last one.
    Stale,
}

impl Own {
    /// Reads one item.
    pub fn read<T>(
        &mut self,
        store: &Store,
        hash: u64,
        key: &[u8],
        now: u32,
        touch: Touch,
        mut look: impl FnMut(&Seen<'_>) -> T,
    ) -> Option<T> {
        let question = Question { key, hash, now };
        let mut tries = 0;
        loop {
            let guard = (tries > TRIES_MAX).then(|| store.table.lock(hash));
            match self.attempt(store, question, touch, &mut look) {
                Attempt::Done(told) => return told,
                Attempt::Gone => {
                    drop(guard);
                    self.take_gone(store, key, now);
                    return None;
                }
                Attempt::Again => {}
                Attempt::Stale => self.refresh(store),
            }
            drop(guard);
            self.hand.count(Count::Retried);
            wait(&mut tries);
        }
    }

    /// Takes away what is gone, so that it is found so, and counted, once.
    #[cold]
    fn take_gone(&mut self, store: &Store, key: &[u8], now: u32) {
        // Nothing is put, so nothing can be refused.
        let _ = self.change(store, key, Value::None, now, |_, _| (Decision::Keep, ()));
        self.hand.drop_large(store);
    }

    fn attempt<T>(
        &self,
        store: &Store,
        question: Question<'_>,
        touch: Touch,
        look: &mut impl FnMut(&Seen<'_>) -> T,
    ) -> Attempt<T> {
        let (first, index) = store.table.bucket(question.hash);
        let before = first.glance();
        if !before.is_whole() || !store.table.is_home(question.hash, index) {
            return Attempt::Again;
        }
        let found = self.search(store, question, first, before, look);
        fence(Acquire);
        if !first.is_still(before) {
            return Attempt::Again;
        }
        match found {
            Search::Stale => Attempt::Stale,
            Search::None => Attempt::Done(None),
            Search::Gone => Attempt::Gone,
            Search::Found(bucket, place, slot, told) => {
                if touch == Touch::Yes {
                    mark(bucket, place, slot, question.now);
                }
                Attempt::Done(Some(told))
            }
        }
    }

    /// Looks through a chain.
    fn search<'s, T>(
        &self,
        store: &'s Store,
        question: Question<'_>,
        first: &'s Bucket,
        before: Glance,
        look: &mut impl FnMut(&Seen<'_>) -> T,
    ) -> Search<'s, T> {
        let (mut bucket, mut next) = (first, before.overflow());
        for _ in 0..=CHAIN_MAX {
            for place in 0..SLOTS {
                let slot = bucket.slot(place);
                if !slot.may_be(question.hash) {
                    continue;
                }
                if store.pool.generation() != self.generation {
                    return Search::Stale;
                }
                if let Some(told) = self.look_at(store, question, slot, look) {
                    return told.map_or(Search::Gone, |told| Search::Found(bucket, place, slot, told));
                }
            }
            let Some(overflow) = store.table.overflow(next) else { break };
            (bucket, next) = (overflow, overflow.next());
        }
        Search::None
    }

    /// Looks at the item of a slot; [`None`] if it has another key, `Some(None)` if it is gone.
    fn look_at<T>(
        &self,
        store: &Store,
        question: Question<'_>,
        slot: Slot,
        look: &mut impl FnMut(&Seen<'_>) -> T,
    ) -> Option<Option<T>> {
        let memory = self.map.home(store.geometry, slot.location())?;
        let words = memory.get(store.geometry.split(slot.location()).1..)?;
        if !has_key(words, question.key) {
            return None;
        }
        let head = Head::read(words);
        if store.gone(memory, &head, question.now).is_some() {
            return Some(None);
        }
        Some(Some(look(&Seen { store, memory, words, head, slot, now: question.now })))
    }

    /// Reads many items.
    pub fn read_many(
        &mut self,
        store: &Store,
        keys: &[&[u8]],
        now: u32,
        touch: Touch,
        look: &mut impl FnMut(usize, Option<&Seen<'_>>),
    ) {
        let mut hashes = [0; READ_AHEAD];
        for (number, part) in keys.chunks(READ_AHEAD).enumerate() {
            part.iter().zip(&mut hashes).for_each(|(key, hash)| *hash = store.hash(key));
            self.fetch(store, &hashes[..part.len()], u32::MAX);
            for (place, key) in part.iter().enumerate() {
                let index = number * READ_AHEAD + place;
                if self.read(store, hashes[place], key, now, touch, |seen| look(index, Some(seen))).is_none() {
                    look(index, None);
                }
            }
        }
    }

    /// Loads what the items of keys lie in, so that they are at hand when they are asked for.
    pub fn read_ahead(&mut self, store: &Store, ahead: &Ahead<'_>) {
        let mut hashes = [0; READ_AHEAD];
        let keys = &ahead.keys[..ahead.count];
        keys.iter().zip(&mut hashes).for_each(|(key, hash)| *hash = store.hash(key));
        self.fetch(store, &hashes[..keys.len()], ahead.reads);
    }

    /// Loads a word of each bucket, then one of each item, then one of each line of each item whose bit is set in `reads`:
    /// loads that do not wait for each other.
    fn fetch(&mut self, store: &Store, hashes: &[u64], reads: u32) {
        if store.pool.generation() != self.generation {
            self.refresh(store);
        }
        let whole = hashes.iter().filter(|&&hash| store.table.bucket(hash).0.glance().is_whole()).count();
        black_box(whole);
        let mut locations = [ABOUT_WORDS as u64; READ_AHEAD];
        for (hash, location) in hashes.iter().zip(&mut locations) {
            let (bucket, _) = store.table.bucket(*hash);
            *location = bucket.slots().find(|slot| slot.may_be(*hash)).map_or(0, Slot::location);
        }
        let item = |at: &u64| self.map.item(store.geometry, *at);
        let locations = &locations[..hashes.len()];
        let first = locations.iter().filter_map(item).map(|words| words[0].load(Relaxed)).fold(0, u64::wrapping_add);
        let read = locations.iter().enumerate().filter(|(place, _)| reads >> place & 1 == 1);
        let rest = read.filter_map(|(_, at)| item(at)).map(load_lines).fold(first, u64::wrapping_add);
        black_box(rest);
    }
}

/// Loads a word of each line behind the first.
fn load_lines(words: &[AtomicU64]) -> u64 {
    let octets = Head::read(words).words().min(words.len()).min(ITEM_AHEAD_WORDS);
    let lines = words[..octets].iter().skip(LINE_WORDS).step_by(LINE_WORDS);
    lines.map(|word| word.load(Relaxed)).fold(0, u64::wrapping_add)
}

/// What a search through a chain found.
enum Search<'s, T> {
    None,
    Stale,
    Gone,
    Found(&'s Bucket, usize, Slot, T),
}

/// Marks a slot as used, if that makes a difference.
fn mark(bucket: &Bucket, place: usize, slot: Slot, now: u32) {
    let used = slot.used(now);
    if used != slot {
        bucket.mark_slot(place, slot, used);
    }
}
