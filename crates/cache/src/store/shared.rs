//! The store as all threads share it.

use super::account::{Account, Kind};
use super::counts::{Counters, Counts};
use super::ghost::Ghost;
use super::item::Head;
use super::large::Shelf;
use super::memory::{self, Memory};
use super::noted::Noted;
use super::pool::Pool;
use super::rules::{Hashing, ITEM_HEAD_OCTETS, ITEM_OCTETS_TOP, KEY_OCTETS_MAX, LIMIT_OCTETS_MIN, Refused, Rules};
use super::segment::{About, Geometry};
use super::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering::Relaxed};
use super::sync::{Mutex, OnceLock};
use super::table::Table;
use super::writer::Writer;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::{Arc, PoisonError};
use trunkline_net::Pages;

/// Cas numbers that a thread takes at once.
const CAS_BLOCK: u64 = 1024;
/// No flush is to come.
const NO_FLUSH: u32 = u32::MAX;

/// Items under keys, shared by all threads.
#[derive(Debug)]
pub struct Store {
    pub(super) rules: Rules,
    pub(super) geometry: Geometry,
    pub(super) account: Arc<Account>,
    pub(super) table: Table,
    pub(super) pool: Pool,
    pub(super) shelf: Shelf,
    /// Where the blocks of large values come from.
    pub(super) blocks: Arc<Pages>,
    pub(super) ghost: OnceLock<Ghost>,
    /// Items, to within some for each thread: for the growth of the table.
    pub(super) items: AtomicI64,
    /// Seconds since the last use of what was evicted last.
    pub(super) evicted_age_s: AtomicU64,
    /// Where sweeping goes on: a segment.
    pub(super) swept: Mutex<u32>,
    random: RandomState,
    cas: AtomicU64,
    epoch: AtomicU32,
    flush_at: AtomicU32,
    /// Whether somebody watches what is evicted.
    tells_evicted: AtomicBool,
    counters: Mutex<Vec<Arc<Counters>>>,
    noted: Mutex<Option<Arc<Noted>>>,
}

impl Store {
    /// An empty store. A limit below [`LIMIT_OCTETS_MIN`] is raised to it.
    pub fn new(rules: Rules) -> Arc<Self> {
        let rules = Rules { limit_octets: rules.limit_octets.max(LIMIT_OCTETS_MIN), ..rules };
        let account = Arc::new(Account::new(rules.limit_octets));
        let geometry = Geometry::for_limit(rules.limit_octets);
        Arc::new(Store {
            rules,
            geometry,
            table: Table::new(&account),
            account,
            pool: Pool::new(geometry),
            shelf: Shelf::default(),
            blocks: memory::blocks(),
            ghost: OnceLock::new(),
            items: 0.into(),
            evicted_age_s: 0.into(),
            swept: Mutex::default(),
            random: RandomState::new(),
            cas: 0.into(),
            epoch: 0.into(),
            flush_at: NO_FLUSH.into(),
            tells_evicted: false.into(),
            counters: Mutex::default(),
            noted: Mutex::default(),
        })
    }

    /// What a thread reads and writes with; each thread takes its own.
    pub fn writer(self: &Arc<Self>) -> Writer {
        let counters = Arc::new(Counters::default());
        let mut all = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        fold_ended(&mut all);
        all.push(Arc::clone(&counters));
        let noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Writer::new(Arc::clone(self), counters, noted)
    }

    /// The rules that it was made with.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The limit, in octets, as it is now.
    pub fn limit(&self) -> u64 {
        self.account.limit()
    }

    /// Sets the limit, in octets, at least [`LIMIT_OCTETS_MIN`]. A lower one is reached by [`Writer::sweep`] and by
    /// what writers do next; until then nothing more is taken.
    pub fn set_limit(&self, octets: u64) {
        self.account.set_limit(octets.max(LIMIT_OCTETS_MIN));
    }

    /// Makes everything that is older than second `at` vanish when `at` comes; at once, with all that was stored until
    /// this call, if `at` is not after `now`. A flush that is still to come is replaced.
    pub fn flush(&self, at: u32, now: u32) {
        self.tick(now);
        if at <= now {
            self.flush_at.store(NO_FLUSH, Relaxed);
            self.epoch.fetch_add(1, Relaxed);
        } else {
            self.flush_at.store(at, Relaxed);
        }
    }

    /// Has writers note what they evict, or no longer: see [`Writer::take_evicted`].
    pub fn tell_evicted(&self, tells: bool) {
        self.tells_evicted.store(tells, Relaxed);
    }

    pub(super) fn tells_evicted(&self) -> bool {
        self.tells_evicted.load(Relaxed)
    }

    /// Gives back octets that [`Writer::charge`] took.
    pub fn uncharge(&self, octets: u64) {
        self.account.uncharge(Kind::Outside, octets);
    }

    /// The numbers of the store, added up from all threads.
    pub fn counts(&self) -> Counts {
        let tally = self.pool.tally();
        let mut counts = Counts {
            used_octets: self.account.used(),
            segment_octets: self.account.of(Kind::Segments),
            table_octets: self.account.of(Kind::Table),
            large_octets: self.account.of(Kind::Large),
            charged_octets: self.account.of(Kind::Outside),
            held_octets: self.account.held(),
            large_values: self.shelf.count() as u64,
            octets_per_segment: self.geometry.octets(),
            segments: tally.all as u64,
            segments_free: tally.free as u64,
            segments_small: tally.small as u64,
            segments_main: tally.main as u64,
            evicted_age_s: self.evicted_age_s.load(Relaxed),
            buckets: self.table.count() as u64,
            buckets_overflow: self.table.overflow_count() as u64,
            ..Counts::default()
        };
        let sum = Counters::default();
        let all = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().for_each(|counters| sum.merge(counters));
        counts.set_counted(&sum);
        counts
    }

    /// The hash of a key.
    #[inline]
    pub(super) fn hash(&self, key: &[u8]) -> u64 {
        match self.rules.hashing {
            Hashing::Fixed(hash) => hash(key),
            Hashing::Random => {
                let mut hasher = self.random.build_hasher();
                hasher.write(key);
                hasher.finish()
            }
        }
    }

    /// Whether an item may be so large.
    pub(super) fn fits(&self, key_octets: usize, value_octets: u64) -> Result<(), Refused> {
        let octets = key_octets as u64 + value_octets + ITEM_HEAD_OCTETS;
        let max = self.rules.item_octets_max.min(ITEM_OCTETS_TOP);
        if (1..=KEY_OCTETS_MAX).contains(&key_octets) && octets <= max { Ok(()) } else { Err(Refused::TooLarge) }
    }

    /// A block of cas numbers: the first, and the one behind the last.
    pub(super) fn cas_block(&self) -> (u64, u64) {
        let begin = self.cas.fetch_add(CAS_BLOCK, Relaxed) + 1;
        (begin, begin + CAS_BLOCK)
    }

    /// The highest cas number that any thread may have given.
    pub fn cas_top(&self) -> u64 {
        self.cas.load(Relaxed)
    }

    /// Cas numbers given from now on are higher than `top`: for a store that nobody has written to yet.
    pub fn cas_above(&self, top: u64) {
        self.cas.fetch_max(top, Relaxed);
    }

    /// The second of a flush that is still to come.
    pub fn flush_second(&self) -> Option<u32> {
        Some(self.flush_at.load(Relaxed)).filter(|&at| at != NO_FLUSH)
    }

    /// From now on writers that are made note which keys they change, so that [`Writer::restore`] leaves those alone.
    /// False if there is no memory for that.
    pub fn note_changes(&self) -> bool {
        let noted = Noted::new(&self.account, self.epoch());
        let is_there = noted.is_some();
        *self.noted.lock().unwrap_or_else(PoisonError::into_inner) = noted;
        is_there
    }

    /// Whether noted changes still tell keys apart: not after a flush, nor after so many that they cannot.
    pub fn notes_changes(&self) -> bool {
        let noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        noted.as_ref().is_some_and(|noted| !noted.is_over(self.epoch()))
    }

    /// Changes need not be noted any more; the memory goes with each writer's next change.
    pub fn end_notes(&self) {
        if let Some(noted) = self.noted.lock().unwrap_or_else(PoisonError::into_inner).take() {
            noted.end();
        }
    }

    /// All segments that may hold items, for [`Writer::meet_segment`]: those first that would be given up first.
    pub fn segments(&self) -> Vec<u32> {
        self.pool.in_order()
    }

    /// Flushes when the second has come.
    #[inline]
    pub(super) fn tick(&self, now: u32) {
        let at = self.flush_at.load(Relaxed);
        if now >= at && at != NO_FLUSH && self.flush_at.compare_exchange(at, NO_FLUSH, Relaxed, Relaxed).is_ok() {
            self.epoch.fetch_add(1, Relaxed);
        }
    }

    /// The number of flushes so far: items of segments that were opened before are gone.
    #[inline]
    pub(super) fn epoch(&self) -> u32 {
        self.epoch.load(Relaxed)
    }

    /// Why an item is gone, if it is.
    #[inline]
    pub(super) fn gone(&self, memory: &Memory, head: &Head, now: u32) -> Option<Gone> {
        if head.expiry != 0 && head.expiry <= now {
            return Some(Gone::Expired);
        }
        let epoch = self.epoch();
        (epoch != 0 && About::of(memory).epoch() != epoch).then_some(Gone::Flushed)
    }
}

/// Why an item that has a slot is gone all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gone {
    /// It has expired.
    Expired,
    /// It was there before a flush.
    Flushed,
}

/// Adds the numbers of threads that are no more into one.
fn fold_ended(all: &mut Vec<Arc<Counters>>) {
    let (ended, mut kept): (Vec<_>, Vec<_>) = all.drain(..).partition(|counters| Arc::strong_count(counters) == 1);
    let sum = Counters::default();
    ended.iter().for_each(|counters| sum.merge(counters));
    if !ended.is_empty() {
        kept.push(Arc::new(sum));
    }
    *all = kept;
}
