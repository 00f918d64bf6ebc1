//! Items in a chain that is locked.

use super::bucket::Slot;
use super::counts::Count;
use super::hand::{Hand, octets_of};
use super::item::{Head, has_key, mark};
use super::memory::Memory;
use super::seen::{Seen, large_number};
use super::segment::{About, Map};
use super::shared::{Gone, Store};
use super::sync::atomic::AtomicU64;
use super::table::{Chain, Place};

/// What is asked of a step.
#[derive(Clone, Copy)]
pub struct Ask<'a> {
    pub key: &'a [u8],
    pub hash: u64,
    pub now: u32,
}

/// The old item.
pub struct Found<'a> {
    pub place: Place<'a>,
    pub slot: Slot,
    pub memory: &'a Memory,
    pub words: &'a [AtomicU64],
    pub head: Head,
}

impl Found<'_> {
    pub fn seen<'s>(&'s self, store: &'s Store, now: u32) -> Seen<'s> {
        Seen { store, memory: self.memory, words: self.words, head: self.head, slot: self.slot, now }
    }
}

/// The item under a key, in a chain that is locked; an error if the map is not the last one.
pub fn find<'a>(
    store: &'a Store,
    map: &'a Map,
    generation: u64,
    chain: &Chain<'a>,
    ask: Ask<'_>,
) -> Result<Option<Found<'a>>, ()> {
    for place in chain.places() {
        let slot = place.slot();
        if !slot.may_be(ask.hash) {
            continue;
        }
        if store.pool.generation() != generation {
            return Err(());
        }
        let memory = map.home(store.geometry, slot.location()).ok_or(())?;
        let words = memory.get(store.geometry.split(slot.location()).1..).ok_or(())?;
        if has_key(words, ask.key) {
            return Ok(Some(Found { place, slot, memory, words, head: Head::read(words) }));
        }
    }
    Ok(None)
}

/// What lies at a place of a locked chain; none if the map does not know it.
pub fn look<'a>(store: &Store, map: &'a Map, place: Place<'a>) -> Option<Found<'a>> {
    let slot = place.slot();
    let memory = map.home(store.geometry, slot.location())?;
    let words = memory.get(store.geometry.split(slot.location()).1..)?;
    Some(Found { place, slot, memory, words, head: Head::read(words) })
}

/// Takes leave of an item whose slot was taken away or given to another.
pub fn leave(hand: &mut Hand, seen: &Seen<'_>, drop_large: bool) {
    About::of(seen.memory).go(seen.head.words());
    hand.count_gone(octets_of(&seen.head, seen.value_octets()));
    if seen.head.is(mark::LARGE) && drop_large {
        hand.dropped.push(large_number(seen.words, &seen.head));
    }
}

/// Counts an item that was gone before it was taken away.
pub fn count_gone(hand: &Hand, gone: Gone, slot: Slot) {
    match gone {
        Gone::Flushed => hand.count(Count::Flushed),
        Gone::Expired => {
            hand.count(Count::Expired);
            hand.counters.add(Count::ExpiredUnfetched, u64::from(!slot.is_fetched()));
        }
    }
}
