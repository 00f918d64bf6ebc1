//! Sweeping: what has expired, was flushed or is over the limit is taken back without anybody asking for it, in steps
//! of a bounded length.

use super::found::{count_gone, leave, look};
use super::item::Head;
use super::pool::{Due, Fate, Victim};
use super::segment::{ABOUT_WORDS, About};
use super::shared::Store;
use super::words;
use super::writer::Own;
use std::sync::PoisonError;

/// What a sweep did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Items that were looked at.
    pub items_seen: usize,
    /// Segments that were taken back whole.
    pub segments_freed: usize,
    /// Whether nothing was left to do.
    pub done: bool,
}

impl Own {
    /// One step.
    pub fn sweep(&mut self, store: &Store, items_max: usize) -> Swept {
        self.hand.seal_dead(store, self.now);
        let mut swept = Swept { done: items_max > 0, ..Swept::default() };
        let Ok(mut cursor) = store.swept.try_lock().or_else(|error| match error {
            std::sync::TryLockError::Poisoned(poisoned) => Ok::<_, ()>(PoisonError::into_inner(poisoned)),
            std::sync::TryLockError::WouldBlock => Err(()),
        }) else {
            return swept;
        };
        self.shrink(store, items_max, &mut swept);
        while swept.items_seen < items_max {
            let Some(due) = store.pool.due_after(&mut cursor, self.now, store.epoch()) else {
                *cursor = 0;
                return swept;
            };
            self.sweep_segment(store, due, &mut swept);
        }
        swept.done = false;
        swept
    }

    fn sweep_segment(&mut self, store: &Store, due: Due, swept: &mut Swept) {
        if !due.is_dead {
            swept.items_seen += self.crawl(store, due);
        } else if store.pool.claim_sealed(due.segment) {
            swept.items_seen += 1000;
            let victim = Victim { segment: due.segment, fate: Fate::Dead };
            swept.segments_freed += usize::from(self.reclaim(store, victim, 0));
        }
    }

    /// Evicts what is over a limit that was lowered.
    fn shrink(&mut self, store: &Store, items_max: usize, swept: &mut Swept) {
        while store.account.excess() > 0 && swept.items_seen < items_max {
            self.refresh(store);
            store.pool.shed(&store.account, store.account.excess());
            let waits = store.pool.retired_octets() >= store.account.excess();
            swept.items_seen += 1000;
            if waits || !self.evict(store, 0) {
                break;
            }
        }
    }

    /// Takes away the expired items of a segment. It is not claimed: if somebody else reclaims it meanwhile, what is
    /// read here means nothing, and no slot points to it.
    fn crawl(&mut self, store: &Store, due: Due) -> usize {
        self.refresh(store);
        let segment = due.segment;
        let Some(memory) = self.map.get(segment).cloned() else { return 0 };
        let about = About::of(&memory);
        let (mut at, mut seen, mut first) = (ABOUT_WORDS, 0, u64::from(u32::MAX));
        if !about.forget_expiry_first(due.expiry_first) {
            return 0;
        }
        while at < about.filled().min(memory.len()) {
            let head = Head::read(&memory[at..]);
            if head.expiry != 0 && head.expiry <= self.now {
                self.crawl_item(store, store.geometry.join(segment, at), &head);
            } else if head.expiry != 0 {
                first = first.min(u64::from(head.expiry));
            }
            (at, seen) = (at + head.words(), seen + 1);
        }
        about.expires_first(first);
        self.hand.drop_large(store);
        seen
    }

    fn crawl_item(&mut self, store: &Store, location: u64, head: &Head) {
        let Some(words) = self.map.item(store.geometry, location) else { return };
        let mut key = std::mem::take(&mut self.hand.key);
        key.clear();
        words::copy(words, head.key_at(), usize::from(head.key_octets), &mut key);
        let mut chain = store.table.lock(store.hash(&key));
        self.hand.key = key;
        let is_here = |slot: &super::bucket::Slot| !slot.is_empty() && slot.location() == location;
        let Some(place) = chain.places().find(|place| is_here(&place.slot())) else { return };
        if store.pool.generation() != self.generation {
            return;
        }
        let Some(found) = look(store, &self.map, place) else { return };
        if let Some(gone) = store.gone(found.memory, &found.head, self.now) {
            count_gone(&self.hand, gone, found.slot);
            chain.clear(place);
            leave(&mut self.hand, &found.seen(store, self.now), true);
        }
    }
}
