//! What one thread reads and writes with.

use super::account::Kind;
use super::counts::{Count, Counters};
use super::decision::{Changed, Decision, Touch, Value};
use super::draft::Draft;
use super::evicted::Evicted;
use super::hand::Hand;
use super::noted::Noted;
use super::read::Ahead;
use super::rules::Refused;
use super::seen::Seen;
use super::segment::Map;
use super::shared::Store;
use super::standing::Standing;
use super::sweep::Swept;
use super::walk::Cursor;
use std::sync::Arc;

/// Changes of the number of items that a thread tells at once.
const ITEMS_UNTOLD_MAX: u64 = if cfg!(loom) { 1 } else { 32 };

/// What one thread reads and writes with.
#[derive(Debug)]
pub struct Writer {
    store: Arc<Store>,
    no_map: Arc<Map>,
    pub(super) own: Own,
}

/// What a writer has beside the store.
#[derive(Debug)]
pub(super) struct Own {
    /// The map that it took up last, and its number.
    pub map: Arc<Map>,
    pub generation: u64,
    pub hand: Hand,
    /// The second of the last call.
    pub now: u32,
}

impl Own {
    /// Takes up the map as it is now.
    pub fn refresh(&mut self, store: &Store) {
        (self.map, self.generation) = store.pool.map();
    }
}

impl Writer {
    pub(super) fn new(store: Arc<Store>, counters: Arc<Counters>, noted: Option<Arc<Noted>>) -> Self {
        Writer {
            store,
            no_map: Arc::default(),
            own: Own { map: Arc::default(), generation: 0, hand: Hand::new(counters, noted), now: 1 },
        }
    }

    /// The store that it belongs to.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    fn tick(&mut self, now: u32) {
        self.own.now = now;
        self.store.tick(now);
    }

    /// Reads the item under `key`, as it is at second `now`. The closure may run several times, if writers interfere:
    /// what it writes it must begin anew each time. It must not touch the store. [`None`] if there is none.
    pub fn read<T>(&mut self, key: &[u8], now: u32, touch: Touch, look: impl FnMut(&Seen<'_>) -> T) -> Option<T> {
        self.tick(now);
        self.own.read(&self.store, self.store.hash(key), key, now, touch, look)
    }

    /// Reads many items, so that the waits for memory overlap. The closure gets the place of the key in `keys`, and
    /// runs for each key in order, more than once in a row if writers interfere.
    pub fn read_many(
        &mut self,
        keys: &[&[u8]],
        now: u32,
        touch: Touch,
        mut look: impl FnMut(usize, Option<&Seen<'_>>),
    ) {
        self.tick(now);
        self.own.read_many(&self.store, keys, now, touch, &mut look);
    }

    /// Has the items of keys that will be asked for soon at hand: the waits for memory overlap.
    pub fn read_ahead(&mut self, ahead: &Ahead<'_>) {
        self.own.read_ahead(&self.store, ahead);
    }

    /// Begins a value of `value_octets` that will come bit by bit, for a key of `key_octets`.
    ///
    /// # Errors
    /// It is too large, or there is no memory.
    pub fn draft(&mut self, key_octets: usize, value_octets: u64) -> Result<Draft, Refused> {
        self.store.fits(key_octets, value_octets)?;
        Draft::new(&self.store, &mut self.own, value_octets)
    }

    /// Changes the item under `key`, in one step that nobody can come between. The closure sees the old item and an
    /// empty buffer, into which it may build a value ([`Decision::Built`]); it may run several times, and only what it
    /// decided last counts. It must not touch the store.
    ///
    /// # Errors
    /// The new item is too large (an empty key is, too), or there is no memory: then the old one stays.
    pub fn change<T>(
        &mut self,
        key: &[u8],
        value: Value<'_>,
        now: u32,
        decide: impl FnMut(Option<&Seen<'_>>, &mut Vec<u8>) -> (Decision, T),
    ) -> Result<Changed<T>, Refused> {
        self.tick(now);
        let changed = self.own.change(&self.store, key, value, now, decide);
        self.own.hand.drop_large(&self.store);
        if self.own.hand.items_untold.unsigned_abs() >= ITEMS_UNTOLD_MAX {
            self.own.tell_items(&self.store);
        }
        if matches!(changed, Err(Refused::NoMemory)) {
            self.own.hand.count(Count::Refused);
        }
        changed
    }

    /// Puts an item that stood in another store, or in this one before the program ended, as it stood. False if the key
    /// is here already, or was changed while changes are noted ([`super::Store::note_changes`]): what a client did last
    /// wins. An item whose second of expiry has come is not put either.
    ///
    /// # Errors
    /// It is too large here, or there is no memory.
    pub fn restore(&mut self, key: &[u8], value: Value<'_>, now: u32, standing: &Standing) -> Result<bool, Refused> {
        self.tick(now);
        let restored = self.own.restore(&self.store, key, value, now, standing);
        self.own.hand.drop_large(&self.store);
        if self.own.hand.items_untold.unsigned_abs() >= ITEMS_UNTOLD_MAX {
            self.own.tell_items(&self.store);
        }
        restored
    }

    /// Makes the table as wide as so many items need, so that it need not grow one bucket at a time: for a store in
    /// which nothing is yet, and that nobody else uses meanwhile.
    pub fn expect(&mut self, items: u64) {
        self.own.expect(&self.store, items);
    }

    /// Meets all items of one of [`super::Store::segments`] that are there at second `now`. The closure must not touch
    /// the store. Items that are changed meanwhile may be missed.
    pub fn meet_segment(&mut self, segment: u32, now: u32, meet: impl FnMut(&[u8], &Seen<'_>)) {
        self.tick(now);
        self.own.meet_segment(&self.store, segment, meet);
    }

    /// Counts octets that live outside (buffers of connections) against the limit; what is in the way is evicted.
    ///
    /// # Errors
    /// There is no memory.
    pub fn charge(&mut self, octets: u64) -> Result<(), Refused> {
        self.own.charge(&self.store, Kind::Outside, octets)
    }

    /// Whether it noted what it evicted, as [`Store::tell_evicted`] asks for.
    #[inline]
    pub fn has_evicted(&self) -> bool {
        !self.own.hand.evicted.is_empty()
    }

    /// What it noted of that: at most [`super::EVICTED_MAX`] items, and how many more there were.
    pub fn take_evicted(&mut self) -> (Vec<Evicted>, u64) {
        self.own.hand.evicted.take()
    }

    /// The store, and what the writer has beside it.
    pub(super) fn parts(&mut self) -> (&Store, &mut Own) {
        (&self.store, &mut self.own)
    }

    /// Takes back what has expired, was flushed, or is over the limit, looking at not much more than `items_max` items:
    /// about once a second, by any thread. Each thread calls it, with 0 if another one does the work, so that the
    /// segments that it fills itself are taken back.
    pub fn sweep(&mut self, now: u32, items_max: usize) -> Swept {
        self.tick(now);
        self.own.sweep(&self.store, items_max)
    }

    /// Lets go of what the thread keeps at hand of the store's memory: to be called before a thread waits for events,
    /// so that memory can be given back meanwhile. Costs next to nothing; the next use takes it up again.
    pub fn rest(&mut self) {
        (self.own.map, self.own.generation) = (Arc::clone(&self.no_map), 0);
    }

    /// Goes on with a walk over all items: over about `items_max` of them. Items that come, go, or change while the
    /// walk goes on may be missed or met; all others are met once. The closure must not touch the store. False at the
    /// end.
    pub fn walk(
        &mut self,
        cursor: &mut Cursor,
        now: u32,
        items_max: usize,
        meet: impl FnMut(&[u8], &Seen<'_>),
    ) -> bool {
        self.tick(now);
        self.own.walk(&self.store, cursor, now, items_max, meet)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.own.hand.seal_all(&self.store.pool);
    }
}
