//! Changing: under the lock of a chain of buckets.
//!
//! One step looks up the old item, asks what to do, and does it, if everything that it needs is at hand: room in an
//! open segment, a place in the chain, a large value. If not, it says what is missing, the lock is given up, that is
//! provided, and the step runs again.

use super::brought::{Before, Handed, Parts, Source, copied, second_half};
use super::bucket::Slot;
use super::counts::Count;
use super::decision::{Cas, Changed, Decision, Marks, Put, Value};
use super::found::{Ask, Found, count_gone, find, leave, look};
use super::hand::{Berth, Hand, birth, write};
use super::item::{Head, mark};
use super::large::{LargeValue, Shelved};
use super::rules::Refused;
use super::seen::Seen;
use super::segment::{About, Map, Queue};
use super::shared::{Gone, Store};
use super::table::{Chain, Place, Room};
use super::words;
use super::writer::Own;
use std::sync::Arc;

mod restore;

/// Octets of a value that is written over where it lies, at most: readers of its bucket wait meanwhile.
const OVERWRITE_OCTETS_MAX: usize = 64;

/// How a step ended.
enum Step {
    Done(u64),
    Refused(Refused),
    /// Room in a segment is missing.
    Segment(Berth),
    /// An overflow bucket is missing.
    Overflow,
    /// The map is not the last one.
    Stale,
    /// A large value is to be made of these parts, for an old item with this cas number.
    Large(Parts, u64),
}

impl Own {
    pub fn change<T>(
        &mut self,
        store: &Store,
        key: &[u8],
        value: Value<'_>,
        now: u32,
        mut decide: impl FnMut(Option<&Seen<'_>>, &mut Vec<u8>) -> (Decision, T),
    ) -> Result<Changed<T>, Refused> {
        store.fits(key.len(), 0)?;
        let ask = Ask { key, hash: store.hash(key), now };
        let handed = self.handed(store, key, value)?;
        let mut large = None;
        loop {
            let (step, told) =
                step(store, &self.map, self.generation, &mut self.hand, ask, &handed, &large, &mut decide);
            match (step, told) {
                (Step::Done(cas), Some(told)) => return Ok(Changed { told, cas }),
                (Step::Refused(refused), _) => return Err(refused),
                (Step::Segment(berth), _) => self.open(store, berth)?,
                (Step::Overflow, _) => self.make_overflows(store)?,
                (Step::Stale | Step::Done(_), _) => self.refresh(store),
                (Step::Large(parts, cas), _) => large = Some((cas, self.make_large(store, parts, &handed)?)),
            }
            self.hand.drop_large(store);
        }
    }
}

/// One try of a change. What the closure told is none if it was not asked.
#[expect(clippy::too_many_arguments, reason = "the parts of a writer, borrowed apart")]
fn step<T>(
    store: &Store,
    map: &Map,
    generation: u64,
    hand: &mut Hand,
    ask: Ask<'_>,
    handed: &Handed<'_>,
    large: &Option<(u64, Arc<LargeValue>)>,
    decide: &mut impl FnMut(Option<&Seen<'_>>, &mut Vec<u8>) -> (Decision, T),
) -> (Step, Option<T>) {
    let chain = store.table.lock(ask.hash);
    let Ok(found) = find(store, map, generation, &chain, ask) else { return (Step::Stale, None) };
    hand.note(ask.hash);
    let mut work = Work { store, map, generation, hand, chain, ask, old: found };
    work.take_gone();
    let mut built = std::mem::take(&mut work.hand.built);
    built.clear();
    let (decision, told) = match &work.old {
        Some(old) => decide(Some(&old.seen(store, ask.now)), &mut built),
        None => decide(None, &mut built),
    };
    let step = work.act(decision, handed, large.as_ref(), &mut built);
    work.hand.built = built;
    (step, Some(told))
}

/// A change under the lock.
struct Work<'a, 'h> {
    store: &'a Store,
    map: &'a Map,
    generation: u64,
    hand: &'h mut Hand,
    chain: Chain<'a>,
    ask: Ask<'h>,
    old: Option<Found<'a>>,
}

impl<'a> Work<'a, '_> {
    /// Takes the old item away if it is gone.
    fn take_gone(&mut self) {
        let Some(old) = &self.old else { return };
        let Some(gone) = self.store.gone(old.memory, &old.head, self.ask.now) else { return };
        count_gone(self.hand, gone, old.slot);
        self.hand.count(if gone == Gone::Expired { Count::FoundExpired } else { Count::FoundFlushed });
        self.delete();
    }

    /// Takes the old item away.
    fn delete(&mut self) {
        let Some(old) = self.old.take() else { return };
        self.chain.clear(old.place);
        leave(self.hand, &old.seen(self.store, self.ask.now), true);
    }

    fn act(
        &mut self,
        decision: Decision,
        handed: &Handed<'_>,
        large: Option<&(u64, Arc<LargeValue>)>,
        built: &mut Vec<u8>,
    ) -> Step {
        let ready = large.filter(|(cas, _)| *cas == self.old_cas()).map(|(_, value)| value);
        match decision {
            Decision::Keep => Step::Done(self.old_cas()),
            Decision::Delete => {
                self.delete();
                Step::Done(0)
            }
            Decision::Mark(marks) => self.mark(marks, built),
            Decision::Put(put) => self.put(put, handed.source()),
            Decision::Append(put) => self.join(put, handed, ready, built, false),
            Decision::Prepend(put) => self.join(put, handed, ready, built, true),
            Decision::Built(put) => self.put_built(put, ready, built),
        }
    }

    fn old_cas(&self) -> u64 {
        self.old.as_ref().map_or(0, |old| old.head.cas)
    }

    fn put_built(&mut self, put: Put, ready: Option<&Arc<LargeValue>>, built: &mut Vec<u8>) -> Step {
        if let Err(refused) = self.store.fits(self.ask.key.len(), built.len() as u64) {
            return Step::Refused(refused);
        }
        if built.len() > self.store.geometry.value_octets_max() {
            return match ready {
                Some(value) => self.put(put, Source::Large(value)),
                None => Step::Large(Parts::Built(std::mem::take(built)), self.old_cas()),
            };
        }
        if let Some(cas) = self.overwrite(put, built) {
            return Step::Done(cas);
        }
        self.put(put, Source::Parts([built, &[]]))
    }

    fn join(
        &mut self,
        put: Put,
        handed: &Handed<'_>,
        ready: Option<&Arc<LargeValue>>,
        built: &mut Vec<u8>,
        before: bool,
    ) -> Step {
        let Some(old) = &self.old else { return self.put(put, handed.source()) };
        let seen = old.seen(self.store, self.ask.now);
        let octets = seen.value_octets() + handed.octets();
        if let Err(refused) = self.store.fits(self.ask.key.len(), octets) {
            return Step::Refused(refused);
        }
        let is_small = octets <= self.store.geometry.value_octets_max() as u64;
        if is_small && !seen.is_large() {
            built.clear();
            seen.copy(built);
            let parts = if before { [handed.small(), built] } else { [&built[..], handed.small()] };
            return self.put(put, Source::Parts(parts));
        }
        if let Some(value) = ready {
            return self.put(put, Source::Large(value));
        }
        let old = match seen.is_large() {
            true => seen.shelved().map_or(Before::Small(Vec::new()), |shelved| Before::Large(shelved.value)),
            false => Before::Small(copied(&seen)),
        };
        Step::Large(if before { Parts::Prepend(old) } else { Parts::Append(old) }, self.old_cas())
    }

    /// The next cas number, or the client's; and the mark for it.
    fn cas(&mut self, cas: Cas) -> (u64, u8) {
        match cas {
            Cas::Given(cas) => (cas, mark::GIVEN),
            Cas::Fresh => {
                let before = self.old.as_ref().filter(|old| !old.head.is(mark::GIVEN)).map_or(0, |old| old.head.cas);
                (self.hand.next_cas(self.store, before), 0)
            }
        }
    }

    /// Writes a short value over one of the same length, in an item of the same shape. The cas number, or none if it
    /// cannot be done.
    fn overwrite(&mut self, put: Put, value: &[u8]) -> Option<u64> {
        let old = self.old.as_ref()?;
        let (slot, before) = (old.slot, old.head);
        let about = About::of(old.memory);
        let is_near = self.ask.now.saturating_sub(about.opened()) < u32::from(u16::MAX);
        let fits = value.len() <= OVERWRITE_OCTETS_MAX && usize::from(before.value_octets) == value.len() && is_near;
        if !fits || before.is(mark::LARGE) || put.expiry != before.expiry {
            return None;
        }
        let (words, place, birth) = (old.words, old.place, birth(about.opened(), self.ask.now));
        let (cas, given) = self.cas(put.cas);
        let head = Head { birth, ..before };
        let head = headed(head, put, cas, given).shaped();
        if head.marks & SHAPE != before.marks & SHAPE {
            return None;
        }
        self.chain.locked.begin_writing();
        head.write(words, self.ask.key, [value, &[]]);
        place.set(slot.stored_again());
        self.hand.count(Count::Stored);
        self.hand.count(Count::Gone);
        Some(cas)
    }

    /// Sets marks, where the item stands if its shape allows.
    fn mark(&mut self, marks: Marks, built: &mut Vec<u8>) -> Step {
        let Some(old) = &self.old else { return Step::Done(0) };
        let (before, was_given) = (old.head, old.head.marks & mark::GIVEN);
        let (cas, given) = marks.cas.map_or((before.cas, was_given), |cas| self.cas(cas));
        let put = Put {
            flags: before.flags,
            expiry: marks.expiry.unwrap_or(before.expiry),
            cas: Cas::Given(cas),
            stale: marks.stale.unwrap_or(before.is(mark::STALE)),
            won: marks.won.unwrap_or(before.is(mark::WON)),
            binary_key: before.is(mark::BINARY_KEY),
        };
        let head = headed(before, put, cas, given);
        self.use_old(marks.touch);
        if head.shaped().is(mark::WIDE) != before.is(mark::WIDE) || (head.expiry != 0 && !before.is(mark::EXPIRES)) {
            return self.reshape(put, given, built);
        }
        self.rewrite(head);
        Step::Done(cas)
    }

    /// Notes a use of the old item.
    fn use_old(&mut self, touch: bool) {
        if let Some(old) = self.old.as_mut().filter(|_| touch) {
            old.slot = old.slot.used(self.ask.now);
            old.place.set(old.slot);
        }
    }

    /// Writes what changed of a head, in place.
    fn rewrite(&mut self, head: Head) {
        let Some(old) = &self.old else { return };
        let is_wide = head.is(mark::WIDE) && head.cas != old.head.cas;
        let expires = head.is(mark::EXPIRES) && head.expiry != old.head.expiry;
        let marks = (head.cas, head.marks) != (old.head.cas, old.head.marks);
        if is_wide || (expires && marks) {
            // More than one word changes: who reads between them would see half of it.
            self.chain.locked.begin_writing();
        }
        if is_wide {
            let mut value = Vec::new();
            words::copy(old.words, head.value_at(), usize::from(head.value_octets), &mut value);
            head.write(old.words, self.ask.key, [&value, &[]]);
        }
        head.rewrite_first(old.words);
        if expires {
            head.rewrite_expiry(old.words);
            About::of(old.memory).expires(head.expiry);
        }
        self.chain.locked.change();
    }

    /// Writes the item anew because its head needs another shape.
    fn reshape(&mut self, put: Put, given: u8, built: &mut Vec<u8>) -> Step {
        let Some(old) = &self.old else { return Step::Done(0) };
        built.clear();
        words::copy(old.words, old.head.value_at(), usize::from(old.head.value_octets), built);
        let reference: Result<[u8; 16], _> = built[..].try_into();
        match reference {
            Ok(reference) if old.head.is(mark::LARGE) => self.put_marked(put, Source::Same(reference), given, true),
            _ => self.put_marked(put, Source::Parts([built, &[]]), given, true),
        }
    }

    /// Puts a new item in the place of the old one.
    fn put(&mut self, put: Put, source: Source<'_>) -> Step {
        let given = if matches!(put.cas, Cas::Given(_)) { mark::GIVEN } else { 0 };
        self.put_marked(put, source, given, false)
    }

    fn put_marked(&mut self, put: Put, source: Source<'_>, given: u8, same: bool) -> Step {
        let (head, octets) = self.shape(put, source, given);
        if let Err(refused) = self.store.fits(self.ask.key.len(), octets) {
            return Step::Refused(refused);
        }
        let (place, location) = match self.lay(head, self.queue(), self.ask.now, source) {
            Ok(laid) => laid,
            Err(step) => return step,
        };
        let slot = match &self.old {
            Some(old) if same => old.slot.moved(location),
            old => Slot::new(location, self.ask.hash).with_uses(old.as_ref().map_or(0, |old| old.slot.uses())),
        };
        self.replace(place, slot, matches!(source, Source::Same(_)));
        self.hand.count_stored(self.ask.key.len() as u64 + octets);
        Step::Done(head.cas)
    }

    /// Writes an item that was born at second `born` where there is room for it: a place for its slot, and its
    /// location.
    fn lay(&mut self, head: Head, queue: Queue, born: u32, source: Source<'_>) -> Result<(Place<'a>, u64), Step> {
        let berth = self.hand.berth(self.store, queue, head.expiry, self.ask.now, head.words());
        let memory = self.hand.room(self.store, berth, self.ask.now).ok_or(Step::Segment(berth))?;
        let about = About::of(memory);
        about.expires(head.expiry);
        let opened = about.opened();
        let place = self.place()?;
        let reference = self.reference(source);
        let (location, words) = self.hand.take(self.store.geometry, berth).ok_or(Step::Segment(berth))?;
        let parts = match (&reference, source) {
            (None, Source::Parts(parts)) => parts,
            (reference, _) => [reference.as_ref().map_or(&[][..], |octets| &octets[..]), &[]],
        };
        write(words, opened, head, self.ask.key, parts, born);
        Ok((place, location))
    }

    /// The head of a new item, but for its birth, and the octets of its value.
    fn shape(&mut self, put: Put, source: Source<'_>, given: u8) -> (Head, u64) {
        let (cas, _) = self.cas(put.cas);
        let (lies, octets, large) = match source {
            Source::Parts(parts) => (parts[0].len() + parts[1].len(), 0, 0),
            Source::Large(value) => (16, value.octets(), mark::LARGE),
            Source::Same(reference) => (16, second_half(reference), mark::LARGE),
        };
        let head =
            Head { key_octets: self.ask.key.len() as u8, value_octets: lies as u16, marks: large, ..Head::default() };
        let octets = if large == 0 { lies as u64 } else { octets };
        (headed(head, put, cas, given).shaped(), octets)
    }

    /// The queue of a new item: the old one's, or the main one for what was evicted not long ago.
    fn queue(&self) -> Queue {
        match &self.old {
            Some(old) => About::of(old.memory).queue(),
            None if self.store.ghost.get().is_some_and(|ghost| ghost.has(self.ask.hash)) => Queue::Main,
            None => Queue::Small,
        }
    }

    /// The place for the new slot: the old one's, or an empty one; in a chain that is full, one that another item gives
    /// up.
    fn place(&mut self) -> Result<Place<'a>, Step> {
        if let Some(old) = &self.old {
            return Ok(old.place);
        }
        loop {
            match self.chain.room() {
                Room::Here(place) => return Ok(place),
                Room::NoBucket => return Err(Step::Overflow),
                Room::Full if !self.store.rules.evicts => return Err(Step::Refused(Refused::NoMemory)),
                Room::Full => self.evict_from_chain()?,
            }
        }
    }

    /// Evicts the item of the chain that was used least.
    fn evict_from_chain(&mut self) -> Result<(), Step> {
        if self.store.pool.generation() != self.generation {
            return Err(Step::Stale);
        }
        let Some(place) = self.chain.places().min_by_key(|place| place.slot().uses()) else {
            return Err(Step::Overflow);
        };
        let Some(found) = look(self.store, self.map, place) else { return Err(Step::Stale) };
        self.hand.count(Count::EvictedByCollision);
        let seen = found.seen(self.store, self.ask.now);
        self.hand.tell_evicted(self.store, &seen);
        self.chain.clear(place);
        leave(self.hand, &seen, true);
        Ok(())
    }

    /// Enters the new item's slot, and takes leave of the old item.
    fn replace(&mut self, place: Place<'_>, slot: Slot, keeps_large: bool) {
        place.set(slot);
        if let Some(old) = self.old.take() {
            self.chain.locked.change();
            leave(self.hand, &old.seen(self.store, self.ask.now), !keeps_large);
        }
    }

    /// What stands in the item for a large value.
    fn reference(&mut self, source: Source<'_>) -> Option<[u8; 16]> {
        let both = |number: u64, octets: u64| {
            let mut reference = [0; 16];
            reference[..8].copy_from_slice(&number.to_le_bytes());
            reference[8..].copy_from_slice(&octets.to_le_bytes());
            reference
        };
        match source {
            Source::Parts(_) => None,
            Source::Same(reference) => Some(reference),
            Source::Large(value) => {
                let shelved = Shelved { value: Arc::clone(value), hash: self.ask.hash };
                Some(both(self.store.shelf.put(shelved, self.store.pool.next_sequence()), value.octets()))
            }
        }
    }
}

/// Marks that say how an item is laid out.
const SHAPE: u8 = mark::EXPIRES | mark::FLAGGED | mark::WIDE | mark::LARGE;

/// A head with what a change says, in the shape that it had.
fn headed(head: Head, put: Put, cas: u64, given: u8) -> Head {
    let stale = if put.stale { mark::STALE } else { 0 };
    let won = if put.won { mark::WON } else { 0 };
    let binary_key = if put.binary_key { mark::BINARY_KEY } else { 0 };
    Head {
        cas,
        marks: head.marks & SHAPE | stale | won | binary_key | given,
        expiry: put.expiry,
        flags: put.flags,
        ..head
    }
}
