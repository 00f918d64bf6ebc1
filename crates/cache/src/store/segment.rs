//! Segments: pieces of memory of one size, filled from front to back with items; and the map from locations to them.
//!
//! A segment begins with words about itself. The map is shared as it is at a moment: each thread has the last one it
//! took up, and takes up the next when it sees that there is one. So a segment's memory is given back when the last
//! thread has let go of the maps that held it, without a count of references on the way of a read.

use super::bucket::LOCATION_BITS;
use super::memory::Memory;
use super::sync::atomic::{AtomicU64, Ordering::Relaxed, Ordering::Release, fence};
use std::sync::Arc;

/// Words that a segment has about itself; the first item begins behind.
pub const ABOUT_WORDS: usize = 8;
/// Octets that a segment takes beside its words.
pub const SEGMENT_EXTRA_OCTETS: u64 = 64;
/// Octets of the smallest segment; models have room for two items.
const OCTETS_MIN: u64 = if cfg!(loom) { 128 } else { 32 << 10 };
/// Segments of a group of the map.
const GROUP: usize = 64;

/// Whether items have proven to be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// New items: those not used again go first.
    Small,
    /// Items that were used again.
    Main,
}

/// The words of a segment about itself.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    words: &'a [AtomicU64],
}

const ORIGIN: usize = 0;
const LIVE: usize = 1;
const EXPIRY_LAST: usize = 2;
const EXPIRY_FIRST: usize = 3;
const QUEUE: usize = 4;
const FILLED: usize = 5;

impl<'a> About<'a> {
    /// What `memory` says about itself.
    #[inline]
    pub fn of(memory: &'a [AtomicU64]) -> Self {
        About { words: &memory[..ABOUT_WORDS] }
    }

    /// Opens the segment anew at second `now`.
    pub fn open(&self, now: u32, epoch: u32, queue: Queue) {
        // A reader of an item that lay here must not take it for one of the new epoch: when it sees that, it sees that
        // the version of its bucket has risen since.
        fence(Release);
        self.set(ORIGIN, u64::from(now) | u64::from(epoch) << 32);
        self.set(LIVE, 0);
        self.set(EXPIRY_LAST, 0);
        self.set(EXPIRY_FIRST, u64::from(u32::MAX));
        self.set(QUEUE, queue as u64);
        self.set(FILLED, ABOUT_WORDS as u64);
    }

    fn get(&self, word: usize) -> u64 {
        self.words[word].load(Relaxed)
    }

    fn set(&self, word: usize, value: u64) {
        self.words[word].store(value, Relaxed);
    }

    /// The second when it was opened.
    pub fn opened(&self) -> u32 {
        self.get(ORIGIN) as u32
    }

    /// The epoch (between two flushes) when it was opened.
    #[inline]
    pub fn epoch(&self) -> u32 {
        (self.get(ORIGIN) >> 32) as u32
    }

    /// Words of items that are there.
    pub fn live(&self) -> u64 {
        self.get(LIVE)
    }

    /// Notes an item that comes.
    pub fn come(&self, words: usize) {
        self.words[LIVE].fetch_add(words as u64, Relaxed);
    }

    /// Notes an item that goes.
    pub fn go(&self, words: usize) {
        self.words[LIVE].fetch_sub(words as u64, Relaxed);
    }

    /// Notes the expiry of an item, 0 for never.
    pub fn expires(&self, expiry: u32) {
        let last = if expiry == 0 { u64::from(u32::MAX) } else { u64::from(expiry) };
        if last > self.get(EXPIRY_LAST) {
            self.words[EXPIRY_LAST].fetch_max(last, Relaxed);
        }
        if last < self.get(EXPIRY_FIRST) {
            self.words[EXPIRY_FIRST].fetch_min(last, Relaxed);
        }
    }

    /// Whether all its items have expired.
    pub fn is_expired(&self, now: u32) -> bool {
        self.get(EXPIRY_LAST) <= u64::from(now)
    }

    /// The first second at which an item may have expired.
    pub fn expiry_first(&self) -> u64 {
        self.get(EXPIRY_FIRST)
    }

    /// Forgets it, before all items are looked at; false if it is not `second` any more: then another item was noted,
    /// or the segment was opened anew.
    pub fn forget_expiry_first(&self, second: u64) -> bool {
        self.words[EXPIRY_FIRST].compare_exchange(second, u64::from(u32::MAX), Relaxed, Relaxed).is_ok()
    }

    /// Notes the first second again, beside who may have noted others meanwhile. If it is too early, the items are
    /// looked at once more than needed.
    pub fn expires_first(&self, second: u64) {
        self.words[EXPIRY_FIRST].fetch_min(second, Relaxed);
    }

    /// What its items have proven.
    pub fn queue(&self) -> Queue {
        if self.get(QUEUE) == Queue::Small as u64 { Queue::Small } else { Queue::Main }
    }

    /// Words that are filled.
    pub fn filled(&self) -> usize {
        self.get(FILLED) as usize
    }

    /// Notes how far it is filled.
    pub fn fill(&self, words: usize) {
        self.set(FILLED, words as u64);
    }
}

/// How locations are cut: by the size of segments.
#[derive(Clone, Copy, Debug)]
pub struct Geometry {
    /// Words of a segment, as a power of two.
    bits: u32,
}

impl Geometry {
    /// Segments of about a 256th of the limit, between 32 KiB and 1 MiB.
    pub fn for_limit(limit_octets: u64) -> Self {
        Geometry { bits: (limit_octets / 256).clamp(OCTETS_MIN, 1 << 20).ilog2() - 3 }
    }

    /// Words of a segment.
    pub fn words(self) -> usize {
        1 << self.bits
    }

    /// Octets that a segment takes of the account.
    pub fn octets(self) -> u64 {
        8 * self.words() as u64 + SEGMENT_EXTRA_OCTETS
    }

    /// Segments that locations can name.
    pub fn segments_max(self) -> usize {
        1 << (LOCATION_BITS - self.bits)
    }

    /// The segment and the word in it.
    #[inline]
    pub fn split(self, location: u64) -> (u32, usize) {
        ((location >> self.bits) as u32, location as usize & (self.words() - 1))
    }

    /// The location of a word of a segment.
    #[inline]
    pub fn join(self, segment: u32, word: usize) -> u64 {
        u64::from(segment) << self.bits | word as u64
    }

    /// Octets of the largest value that lies in a segment: so that little is lost at its end.
    pub fn value_octets_max(self) -> usize {
        (self.words() / 2).min(super::item::VALUE_OCTETS_MAX)
    }
}

type Group = Arc<Vec<Option<Memory>>>;

/// The memory of all segments at a moment.
#[derive(Clone, Debug, Default)]
pub struct Map {
    groups: Vec<Group>,
}

impl Map {
    /// The memory of a segment; [`None`] if this map does not know it.
    #[inline]
    pub fn get(&self, segment: u32) -> Option<&Memory> {
        let segment = segment as usize;
        self.groups.get(segment / GROUP)?.get(segment % GROUP)?.as_ref()
    }

    /// The words of the item at a location, up to the segment's end.
    #[inline]
    pub fn item(&self, geometry: Geometry, location: u64) -> Option<&[AtomicU64]> {
        let (segment, word) = geometry.split(location);
        self.get(segment)?.get(word..)
    }

    /// The memory of the segment of a location.
    #[inline]
    pub fn home(&self, geometry: Geometry, location: u64) -> Option<&Memory> {
        self.get(geometry.split(location).0)
    }

    /// Sets the memory of a segment, and returns what it was.
    pub fn set(&mut self, segment: u32, memory: Option<Memory>) -> Option<Memory> {
        let (group, place) = (segment as usize / GROUP, segment as usize % GROUP);
        while self.groups.len() <= group {
            self.groups.push(Arc::new(vec![None; GROUP]));
        }
        let mut places = Vec::clone(&self.groups[group]);
        let before = std::mem::replace(&mut places[place], memory);
        self.groups[group] = Arc::new(places);
        before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::Ground;

    fn memory() -> Memory {
        Ground::new(Geometry::for_limit(1 << 20)).memory().expect("memory")
    }

    #[test]
    fn locations_are_cut_and_joined() {
        let geometry = Geometry::for_limit(64 << 20);
        assert_eq!((geometry.words() * 8, geometry.value_octets_max()), (256 << 10, 16 << 10));
        let location = geometry.join(77, 99);
        assert_eq!(geometry.split(location), (77, 99));
        assert_eq!(Geometry::for_limit(1 << 40).value_octets_max(), 60_000);
    }

    #[test]
    fn an_older_map_keeps_what_a_newer_one_has_given_up() {
        let mut map = Map::default();
        map.set(70, Some(memory()));
        let older = map.clone();
        let memory = map.set(70, None).expect("set before");
        assert!(map.get(70).is_none() && map.get(700).is_none());
        assert_eq!(older.get(70).expect("kept").as_ptr(), memory.as_ptr());
        drop(older);
        assert_eq!(memory.holders(), 1);
    }

    #[test]
    fn the_first_expiry_is_forgotten_only_while_it_is_what_was_seen() {
        let memory = memory();
        let about = About::of(&memory);
        about.open(5, 2, Queue::Main);
        about.expires(10);
        about.open(11, 2, Queue::Main);
        about.expires(30);
        assert!(!about.forget_expiry_first(10), "opened anew since");
        assert_eq!(about.expiry_first(), 30);
        assert!(about.forget_expiry_first(30));
        about.expires(40);
        about.expires_first(50);
        assert_eq!(about.expiry_first(), 40);
    }

    #[test]
    fn a_segment_expires_with_its_last_item() {
        let memory = memory();
        let about = About::of(&memory);
        about.open(5, 2, Queue::Main);
        about.expires(10);
        about.expires(20);
        assert!(!about.is_expired(19) && about.is_expired(20));
        about.expires(0);
        assert!(!about.is_expired(u32::MAX - 1));
        assert_eq!((about.expiry_first(), about.opened(), about.epoch(), about.queue()), (10, 5, 2, Queue::Main));
    }
}
