//! The store as one table behind one lock: right, and slow.

use super::rules::{ITEM_HEAD_OCTETS, ITEM_OCTETS_TOP, KEY_OCTETS_MAX};
use super::{Cas, Changed, Decision, Marks, Put, Refused, Rules, Touch, Value};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Clone, Debug)]
struct Item {
    value: Arc<Vec<u8>>,
    put: Put,
    cas: u64,
    birth: u32,
    last: u32,
    fetched: bool,
    epoch: u32,
}

#[derive(Debug, Default)]
struct Inside {
    items: BTreeMap<Vec<u8>, Item>,
    cas: u64,
    limit: u64,
    used: u64,
    charged: u64,
    epoch: u32,
    flush_at: Option<u32>,
    counts: Counts,
}

/// Items under keys, shared by all threads.
#[derive(Debug)]
pub struct Store {
    rules: Rules,
    inside: Mutex<Inside>,
}

impl Store {
    /// An empty store.
    pub fn new(rules: Rules) -> Arc<Self> {
        let inside = Inside { limit: rules.limit_octets, ..Inside::default() };
        Arc::new(Store { rules, inside: Mutex::new(inside) })
    }

    /// What a thread reads and writes with; each thread takes its own.
    pub fn writer(self: &Arc<Self>) -> Writer {
        Writer { store: Arc::clone(self) }
    }

    /// The rules that it was made with.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The limit, in octets, as it is now.
    pub fn limit(&self) -> u64 {
        self.lock().limit
    }

    /// Sets the limit, in octets. A lower one is reached by what writers do next, and by [`Writer::sweep`].
    pub fn set_limit(&self, octets: u64) {
        self.lock().limit = octets;
    }

    /// Makes everything that is older than second `at` vanish when `at` comes; at once, with all that was stored until
    /// this call, if `at` is not after `now`.
    pub fn flush(&self, at: u32, now: u32) {
        let mut inside = self.lock();
        inside.flush_at = Some(at);
        if at <= now {
            inside.flush_due(now);
        }
    }

    /// Gives back octets that [`Writer::charge`] took.
    pub fn uncharge(&self, octets: u64) {
        let mut inside = self.lock();
        inside.charged = inside.charged.saturating_sub(octets);
    }

    /// The numbers of the store, added up from all threads.
    pub fn counts(&self) -> Counts {
        let inside = self.lock();
        let items = inside.items.len() as u64;
        Counts { items, used_octets: inside.used + inside.charged, charged_octets: inside.charged, ..inside.counts }
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The numbers of a store. What counts up begins at 0 when the store is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Items that are there.
    pub items: u64,
    /// Items ever stored.
    pub items_stored: u64,
    /// Octets of keys and values that are there.
    pub item_octets: u64,
    /// Octets that count against the limit, of all kinds.
    pub used_octets: u64,
    /// Of these, octets of segments.
    pub segment_octets: u64,
    /// Of these, octets of the table.
    pub table_octets: u64,
    /// Of these, octets of large values and of drafts.
    pub large_octets: u64,
    /// Of these, octets charged from outside.
    pub charged_octets: u64,
    /// Segments that there are.
    pub segments: u64,
    /// Of these, segments that are free.
    pub segments_free: u64,
    /// Items evicted for memory.
    pub evicted: u64,
    /// Of these, items that were never fetched.
    pub evicted_unfetched: u64,
    /// Of these, items that would have expired some day.
    pub evicted_expiring: u64,
    /// Seconds since the last use of what was evicted last.
    pub evicted_age_s: u64,
    /// Items evicted because too many keys met in one bucket.
    pub evicted_by_collision: u64,
    /// Items that expired, and whose memory was taken back.
    pub expired: u64,
    /// Of these, items that were never fetched.
    pub expired_unfetched: u64,
    /// Items carried on from a segment that was reclaimed.
    pub carried: u64,
    /// Segments reclaimed.
    pub segments_reclaimed: u64,
    /// Items refused because there was no memory.
    pub refused: u64,
    /// Buckets of the table.
    pub buckets: u64,
    /// Buckets that the table took beside those, because theirs were full.
    pub buckets_overflow: u64,
}

/// What one thread reads and writes with.
#[derive(Debug)]
pub struct Writer {
    store: Arc<Store>,
}

impl Writer {
    /// The store that it belongs to.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// Reads the item under `key`, as it is at second `now`. The closure may run several times, if writers interfere:
    /// what it writes it must begin anew each time. [`None`] if there is none.
    pub fn read<T>(&mut self, key: &[u8], now: u32, touch: Touch, mut look: impl FnMut(&Seen<'_>) -> T) -> Option<T> {
        let mut inside = self.store.lock();
        inside.expire(key, now);
        let item = inside.items.get_mut(key)?;
        let told = look(&Seen { item });
        if touch == Touch::Yes {
            (item.fetched, item.last) = (true, now);
        }
        Some(told)
    }

    /// Reads many items, so that the waits for memory overlap. The closure gets the place of the key in `keys`, and
    /// runs for each key in order, at times more than once in a row.
    pub fn read_many(
        &mut self,
        keys: &[&[u8]],
        now: u32,
        touch: Touch,
        mut look: impl FnMut(usize, Option<&Seen<'_>>),
    ) {
        for (index, key) in keys.iter().enumerate() {
            if self.read(key, now, touch, |seen| look(index, Some(seen))).is_none() {
                look(index, None);
            }
        }
    }

    /// Begins a value of `value_octets` that will come bit by bit, for a key of `key_octets`.
    ///
    /// # Errors
    /// It is too large, or there is no memory.
    pub fn draft(&mut self, key_octets: usize, value_octets: u64) -> Result<Draft, Refused> {
        self.fits(key_octets, value_octets)?;
        Ok(Draft { octets: Vec::new(), whole: value_octets })
    }

    fn fits(&self, key_octets: usize, value_octets: u64) -> Result<(), Refused> {
        let octets = key_octets as u64 + value_octets + ITEM_HEAD_OCTETS;
        let max = self.store.rules.item_octets_max.min(ITEM_OCTETS_TOP);
        if key_octets <= KEY_OCTETS_MAX && octets <= max { Ok(()) } else { Err(Refused::TooLarge) }
    }

    /// Changes the item under `key`, in one step that nobody can come between. The closure sees the old item and an
    /// empty buffer, into which it may build a value ([`Decision::Built`]); it may run several times, and only what it
    /// decided last counts. It must not touch the store.
    ///
    /// # Errors
    /// The new item is too large, or there is no memory: then the old one stays.
    pub fn change<T>(
        &mut self,
        key: &[u8],
        value: Value<'_>,
        now: u32,
        mut decide: impl FnMut(Option<&Seen<'_>>, &mut Vec<u8>) -> (Decision, T),
    ) -> Result<Changed<T>, Refused> {
        let mut built = Vec::new();
        let mut inside = self.store.lock();
        inside.expire(key, now);
        let old = inside.items.get(key).cloned();
        let (decision, told) = decide(old.as_ref().map(|item| Seen { item }).as_ref(), &mut built);
        let before = old.as_ref().map_or(&[][..], |old| &old.value[..]);
        let handed = match &value {
            Value::None => &[][..],
            Value::Octets(octets) => octets,
            Value::Draft(draft) => &draft.octets,
        };
        let (octets, put) = match decision {
            Decision::Keep => return Ok(Changed { told, cas: old.map_or(0, |o| o.cas) }),
            Decision::Delete => {
                inside.remove(key);
                return Ok(Changed { told, cas: 0 });
            }
            Decision::Mark(marks) => return Ok(Changed { told, cas: inside.mark(key, marks, now) }),
            Decision::Put(put) => (handed.to_vec(), put),
            Decision::Append(put) => ([before, handed].concat(), put),
            Decision::Prepend(put) => ([handed, before].concat(), put),
            Decision::Built(put) => (built, put),
        };
        self.fits(key.len(), octets.len() as u64)?;
        let cas = inside.put(key, octets, put, now, self.store.rules.evicts)?;
        Ok(Changed { told, cas })
    }

    /// Counts octets that live outside (buffers of connections) against the limit; what is in the way is evicted.
    ///
    /// # Errors
    /// There is no memory.
    pub fn charge(&mut self, octets: u64) -> Result<(), Refused> {
        let mut inside = self.store.lock();
        inside.room(octets, self.store.rules.evicts)?;
        inside.charged += octets;
        Ok(())
    }

    /// Takes back what has expired and what is over the limit, looking at not much more than `items_max` items. About
    /// once a second, by any one thread.
    pub fn sweep(&mut self, now: u32, items_max: usize) -> Swept {
        let mut inside = self.store.lock();
        let keys: Vec<Vec<u8>> = inside.items.keys().take(items_max).cloned().collect();
        let before = inside.items.len();
        keys.iter().for_each(|key| inside.expire(key, now));
        let room = inside.room(0, true);
        Swept { items_freed: before - inside.items.len(), done: room.is_ok() && before <= items_max }
    }

    /// Lets go of what the thread keeps at hand of the store's memory: to be called before a thread waits for events,
    /// so that memory can be given back meanwhile. Costs next to nothing; the next use takes it up again.
    pub fn rest(&mut self) {}

    /// Goes on with a walk over all items: over about `items_max` of them. Items that come, or change, while the walk
    /// goes on may be missed or met; all others are met once. The closure must not touch the store. False at the end.
    pub fn walk(
        &mut self,
        cursor: &mut Cursor,
        now: u32,
        items_max: usize,
        mut meet: impl FnMut(&[u8], &Seen<'_>),
    ) -> bool {
        let mut inside = self.store.lock();
        let begin = if cursor.begun { Bound::Excluded(cursor.key.clone()) } else { Bound::Unbounded };
        let keys: Vec<_> = inside.items.range((begin, Bound::Unbounded)).take(items_max).map(|e| e.0.clone()).collect();
        for key in &keys {
            inside.expire(key, now);
            if let Some(item) = inside.items.get(key) {
                meet(key, &Seen { item });
            }
        }
        cursor.begun = true;
        let more = keys.len() == items_max;
        cursor.key = keys.into_iter().next_back().unwrap_or_default();
        more
    }
}

impl Inside {
    fn flush_due(&mut self, now: u32) {
        if self.flush_at.is_some_and(|at| at <= now) {
            self.flush_at = None;
            self.epoch += 1;
        }
    }

    fn expire(&mut self, key: &[u8], now: u32) {
        self.flush_due(now);
        let epoch = self.epoch;
        let gone = |item: &Item| item.epoch < epoch || (item.put.expiry != 0 && item.put.expiry <= now);
        if self.items.get(key).is_some_and(gone) {
            self.remove(key);
        }
    }

    fn remove(&mut self, key: &[u8]) {
        if let Some(item) = self.items.remove(key) {
            self.used -= octets(key, &item);
            self.counts.item_octets -= (key.len() + item.value.len()) as u64;
        }
    }

    fn mark(&mut self, key: &[u8], marks: Marks, now: u32) -> u64 {
        let next = self.cas + 1;
        let Some(item) = self.items.get_mut(key) else { return 0 };
        item.put.stale = marks.stale.unwrap_or(item.put.stale);
        item.put.won = marks.won.unwrap_or(item.put.won);
        item.put.expiry = marks.expiry.unwrap_or(item.put.expiry);
        if marks.touch {
            (item.fetched, item.last) = (true, now);
        }
        match marks.cas {
            Some(Cas::Given(cas)) => item.cas = cas,
            Some(Cas::Fresh) => (item.cas, self.cas) = (next, next),
            None => {}
        }
        item.cas
    }

    fn put(&mut self, key: &[u8], value: Vec<u8>, put: Put, now: u32, evicts: bool) -> Result<u64, Refused> {
        self.room((key.len() + value.len()) as u64 + ITEM_HEAD_OCTETS, evicts)?;
        self.remove(key);
        self.cas += 1;
        let cas = if let Cas::Given(cas) = put.cas { cas } else { self.cas };
        let (epoch, value) = (self.epoch, Arc::new(value));
        let item = Item { value, put, cas, birth: now, last: now, fetched: false, epoch };
        self.used += octets(key, &item);
        self.counts.item_octets += (key.len() + item.value.len()) as u64;
        self.counts.items_stored += 1;
        self.items.insert(key.to_vec(), item);
        Ok(cas)
    }

    fn room(&mut self, octets: u64, evicts: bool) -> Result<(), Refused> {
        while self.used + self.charged + octets > self.limit {
            let Some(key) = self.items.keys().next().cloned().filter(|_| evicts) else {
                self.counts.refused += 1;
                return Err(Refused::NoMemory);
            };
            self.remove(&key);
            self.counts.evicted += 1;
        }
        Ok(())
    }
}

fn octets(key: &[u8], item: &Item) -> u64 {
    (key.len() + item.value.len()) as u64 + ITEM_HEAD_OCTETS
}

/// What a sweep did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Items that went.
    pub items_freed: usize,
    /// Whether nothing is left to do for now.
    pub done: bool,
}

/// Where a walk over all items stands.
#[derive(Clone, Debug, Default)]
pub struct Cursor {
    begun: bool,
    key: Vec<u8>,
}

/// An item as a reader sees it. What it says is right once the read has ended: until then a writer may interfere.
#[derive(Debug)]
pub struct Seen<'a> {
    item: &'a Item,
}

impl Seen<'_> {
    /// Octets of the value.
    pub fn value_octets(&self) -> u64 {
        self.item.value.len() as u64
    }

    /// Octets that the item takes: key, value, and what stands beside them.
    pub fn item_octets(&self) -> u64 {
        self.value_octets() + ITEM_HEAD_OCTETS
    }

    /// The client's flags.
    pub fn flags(&self) -> u32 {
        self.item.put.flags
    }

    /// The cas number: another one after each change.
    pub fn cas(&self) -> u64 {
        self.item.cas
    }

    /// The second from which on it is gone; 0 is never.
    pub fn expiry(&self) -> u32 {
        self.item.put.expiry
    }

    /// The second when it was stored.
    pub fn birth(&self) -> u32 {
        self.item.birth
    }

    /// The second when it was last stored or fetched, to within some seconds.
    pub fn last_use(&self) -> u32 {
        self.item.last
    }

    /// Whether it was fetched since it was stored, before this read.
    pub fn is_fetched(&self) -> bool {
        self.item.fetched
    }

    /// Whether it is marked as stale.
    pub fn is_stale(&self) -> bool {
        self.item.put.stale
    }

    /// Whether somebody was told to make the value anew.
    pub fn is_won(&self) -> bool {
        self.item.put.won
    }

    /// Adds the value's octets to `output`.
    pub fn copy(&self, output: &mut Vec<u8>) {
        output.extend_from_slice(&self.item.value);
    }

    /// Takes hold of the value, to be read bit by bit after the read has ended. For large values: they are not
    /// copied, and stay in memory, counted against the limit, until the hold is dropped.
    ///
    /// # Errors
    /// Holds keep too much memory already.
    pub fn hold(&self) -> Result<Hold, Refused> {
        Ok(Hold { value: Arc::clone(&self.item.value) })
    }
}

/// A value that stays readable while it is held, whatever becomes of its item.
#[derive(Clone, Debug)]
pub struct Hold {
    value: Arc<Vec<u8>>,
}

impl Hold {
    /// Octets of the value.
    pub fn octets(&self) -> u64 {
        self.value.len() as u64
    }

    /// The octets from `at` on, as many as lie together; empty at the end.
    pub fn piece(&self, at: u64) -> &[u8] {
        usize::try_from(at).ok().and_then(|at| self.value.get(at..)).unwrap_or_default()
    }
}

/// A value that comes bit by bit. Dropping it frees it.
#[derive(Debug)]
pub struct Draft {
    octets: Vec<u8>,
    whole: u64,
}

impl Draft {
    /// Adds octets; what is more than was announced is left out.
    ///
    /// # Errors
    /// There is no memory for them.
    pub fn append(&mut self, _writer: &mut Writer, octets: &[u8]) -> Result<(), Refused> {
        let fits = octets.len().min(usize::try_from(self.missing()).unwrap_or(usize::MAX));
        self.octets.extend_from_slice(&octets[..fits]);
        Ok(())
    }

    /// Octets that are still to come.
    pub fn missing(&self) -> u64 {
        self.whole - self.octets.len() as u64
    }

    /// Octets that have come.
    pub fn octets(&self) -> u64 {
        self.octets.len() as u64
    }
}
