//! What a thread has for itself: segments that it fills, cas numbers, counters.

use super::counts::{Count, Counters};
use super::evicted::Told;
use super::item::{Head, mark};
use super::memory::Memory;
use super::noted::Noted;
use super::pool::Pool;
use super::seen::Seen;
use super::segment::{ABOUT_WORDS, About, Geometry, Queue};
use super::shared::Store;
use super::sync::atomic::{AtomicU64, Ordering::Relaxed, Ordering::Release, fence};
use std::sync::Arc;

/// Seconds to live up to which items lie together, so that a segment's items expire together; longer ones, and those
/// that never expire, lie in the last class and the first.
const CLASS_SECONDS: [u32; 6] = [60, 300, 1800, 10_800, 86_400, u32::MAX];
/// Classes of time to live: no expiry first.
pub const CLASSES: usize = CLASS_SECONDS.len() + 1;
/// Segments of a store for each segment that a thread may have open.
const SEGMENTS_PER_OPEN: u64 = 64;
/// A segment's time begins so many seconds before it is opened, so that the births of items carried on fit.
const BIRTH_BEFORE_S: u32 = 48_000;

/// A segment that a thread fills.
#[derive(Debug)]
pub struct Open {
    segment: u32,
    memory: Memory,
    at: usize,
}

/// What a thread has for itself.
#[derive(Debug)]
pub struct Hand {
    open: [[Option<Open>; CLASSES]; 2],
    /// What it counts.
    pub counters: Arc<Counters>,
    /// Items that came, less those that went, and were not yet told to the store.
    pub items_untold: i64,
    /// Large values taken from items, to be taken off the shelf when no bucket is locked.
    pub dropped: Vec<u64>,
    /// What was evicted, while somebody watches that.
    pub evicted: Told,
    /// What keys are copied into.
    pub key: Vec<u8>,
    /// What closures build values in.
    pub built: Vec<u8>,
    /// Where changed keys are noted, while they are.
    pub noted: Option<Arc<Noted>>,
    cas: (u64, u64),
}

/// Where an item is to lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Berth {
    /// The queue.
    pub queue: Queue,
    /// The class of its time to live.
    pub class: usize,
    /// The words that it takes.
    pub words: usize,
}

impl Hand {
    /// An empty hand.
    pub fn new(counters: Arc<Counters>, noted: Option<Arc<Noted>>) -> Self {
        Hand {
            noted,
            open: Default::default(),
            counters,
            items_untold: 0,
            dropped: Vec::new(),
            evicted: Told::default(),
            key: Vec::new(),
            built: Vec::new(),
            cas: (0, 0),
        }
    }

    /// Where an item goes.
    pub fn berth(&self, store: &Store, queue: Queue, expiry: u32, now: u32, words: usize) -> Berth {
        Berth { queue, class: class_of(store, expiry, now), words }
    }

    /// The memory of an open segment that has room; [`None`] if one must be opened.
    pub fn room(&self, store: &Store, berth: Berth, now: u32) -> Option<&Memory> {
        let open = self.open[berth.queue as usize][berth.class].as_ref()?;
        let about = About::of(&open.memory);
        let is_current = about.epoch() == store.epoch() && now.saturating_sub(about.opened()) < u32::from(u16::MAX);
        (is_current && open.at + berth.words <= open.memory.len()).then_some(&open.memory)
    }

    /// Takes an empty segment to fill, in place of the one that has no room.
    pub fn set_open(&mut self, store: &Store, berth: Berth, now: u32, (segment, memory): (u32, Memory)) {
        About::of(&memory).open(now.saturating_sub(BIRTH_BEFORE_S), store.epoch(), berth.queue);
        let open = Open { segment, memory, at: ABOUT_WORDS };
        let before = self.open[berth.queue as usize][berth.class].replace(open);
        before.into_iter().for_each(|open| open.seal(&store.pool, berth.queue));
    }

    /// Gives up all segments that it fills.
    pub fn seal_all(&mut self, pool: &Pool) {
        for (line, queue) in self.open.iter_mut().zip([Queue::Small, Queue::Main]) {
            line.iter_mut().filter_map(Option::take).for_each(|open| open.seal(pool, queue));
        }
    }

    /// Gives up the segments whose items have all expired, or were flushed, so that they are taken back.
    pub fn seal_dead(&mut self, store: &Store, now: u32) {
        let is_dead = |open: &mut Open| {
            let about = About::of(&open.memory);
            open.at > ABOUT_WORDS && (about.epoch() != store.epoch() || about.is_expired(now))
        };
        for (line, queue) in self.open.iter_mut().zip([Queue::Small, Queue::Main]) {
            line.iter_mut().filter_map(|open| open.take_if(is_dead)).for_each(|open| open.seal(&store.pool, queue));
        }
    }

    /// The words for an item, taken from the open segment, which must have room; and their location.
    pub fn take(&mut self, geometry: Geometry, berth: Berth) -> Option<(u64, &[AtomicU64])> {
        let open = self.open[berth.queue as usize][berth.class].as_mut()?;
        let begin = open.at;
        let words = open.memory.get(begin..begin + berth.words)?;
        open.at += berth.words;
        About::of(&open.memory).fill(open.at);
        About::of(&open.memory).come(berth.words);
        // Readers that still have the words' former content at hand must see, when they see the new one, that the
        // version of their bucket has risen since.
        fence(Release);
        Some((geometry.join(open.segment, begin), words))
    }

    /// Copies an item to a berth that has room; returns where.
    pub fn carry(&mut self, geometry: Geometry, berth: Berth, seen: &Seen<'_>) -> Option<u64> {
        let opened = About::of(&self.open[berth.queue as usize][berth.class].as_ref()?.memory).opened();
        let (location, words) = self.take(geometry, berth)?;
        seen.words.iter().zip(words).for_each(|(from, to)| to.store(from.load(Relaxed), Relaxed));
        Head { birth: birth(opened, seen.birth()), ..seen.head }.rewrite_birth(words);
        let about = About::of(&self.open[berth.queue as usize][berth.class].as_ref()?.memory);
        about.expires(seen.head.expiry);
        About::of(seen.memory).go(berth.words);
        self.count(Count::Carried);
        Some(location)
    }

    /// Notes that a key is changed, if that is wanted.
    #[inline]
    pub fn note(&mut self, hash: u64) {
        let Some(noted) = &self.noted else { return };
        noted.note(hash);
        if noted.is_ended() {
            self.noted = None;
        }
    }

    /// The next cas number, larger than `before`.
    pub fn next_cas(&mut self, store: &Store, before: u64) -> u64 {
        if self.cas.0 == self.cas.1 || self.cas.0 <= before {
            self.cas = store.cas_block();
        }
        self.cas.0 += 1;
        self.cas.0 - 1
    }

    /// Notes an item that is evicted, if somebody watches that.
    pub fn tell_evicted(&mut self, store: &Store, seen: &Seen<'_>) {
        if store.tells_evicted() {
            self.evicted.note(seen);
        }
    }

    /// Counts one.
    pub fn count(&self, count: Count) {
        self.counters.add(count, 1);
    }

    /// Counts an item that came.
    pub fn count_stored(&mut self, octets: u64) {
        self.items_untold += 1;
        self.count(Count::Stored);
        self.counters.add(Count::OctetsStored, octets);
    }

    /// Counts an item that went.
    pub fn count_gone(&mut self, octets: u64) {
        self.items_untold -= 1;
        self.count(Count::Gone);
        self.counters.add(Count::OctetsGone, octets);
    }

    /// Takes the large values of items that went off the shelf.
    pub fn drop_large(&mut self, store: &Store) {
        while let Some(number) = self.dropped.pop() {
            drop(store.shelf.remove(number));
        }
    }
}

impl Open {
    fn seal(self, pool: &Pool, queue: Queue) {
        let Open { segment, memory, .. } = self;
        drop(memory);
        pool.seal(segment, queue);
    }
}

/// Writes an item at its berth, born at second `born`.
pub fn write(words: &[AtomicU64], memory_opened: u32, head: Head, key: &[u8], value: [&[u8]; 2], born: u32) {
    Head { birth: birth(memory_opened, born), ..head }.write(words, key, value);
}

/// A birth as it stands in an item.
pub fn birth(opened: u32, second: u32) -> u16 {
    u16::try_from(second.saturating_sub(opened)).unwrap_or(u16::MAX)
}

/// Octets of key and value of an item.
pub fn octets_of(head: &Head, value_octets: u64) -> u64 {
    u64::from(head.key_octets) + if head.is(mark::LARGE) { value_octets } else { u64::from(head.value_octets) }
}

/// The class of an item's time to live. A small store has fewer: each may hold a segment open.
fn class_of(store: &Store, expiry: u32, now: u32) -> usize {
    let segments = store.account.limit() / store.geometry.octets();
    let classes = (segments / SEGMENTS_PER_OPEN).clamp(1, CLASSES as u64) as usize;
    if expiry == 0 || classes == 1 {
        return 0;
    }
    let class = CLASS_SECONDS.iter().position(|&seconds| expiry.saturating_sub(now) <= seconds);
    ((class.unwrap_or(CLASS_SECONDS.len() - 1) + 1) * (classes - 1)).div_ceil(CLASSES - 1)
}
