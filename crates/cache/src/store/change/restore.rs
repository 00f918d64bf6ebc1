//! Putting an item back as it stood: no decision is asked for, and what is here already stays.

use super::super::brought::Source;
use super::super::bucket::Slot;
use super::super::decision::{Cas, Put, Value};
use super::super::found::{Ask, find};
use super::super::hand::Hand;
use super::super::item::mark;
use super::super::rules::Refused;
use super::super::segment::{Map, Queue};
use super::super::shared::Store;
use super::super::standing::Standing;
use super::super::writer::Own;
use super::{Handed, Step, Work};

impl Own {
    /// Puts an item back. False if its key is here, was changed, or has expired.
    pub fn restore(
        &mut self,
        store: &Store,
        key: &[u8],
        value: Value<'_>,
        now: u32,
        standing: &Standing,
    ) -> Result<bool, Refused> {
        store.fits(key.len(), 0)?;
        if standing.expiry != 0 && standing.expiry <= now {
            return Ok(false);
        }
        let ask = Ask { key, hash: store.hash(key), now };
        let handed = self.handed(store, key, value)?;
        loop {
            match step(store, &self.map, self.generation, &mut self.hand, ask, &handed, standing) {
                None => return Ok(false),
                Some(Step::Done(_)) => return Ok(true),
                Some(Step::Refused(refused)) => return Err(refused),
                Some(Step::Segment(berth)) => self.open(store, berth)?,
                Some(Step::Overflow) => self.make_overflows(store)?,
                Some(Step::Stale | Step::Large(..)) => self.refresh(store),
            }
            self.hand.drop_large(store);
        }
    }
}

/// One try; none if there is nothing to be put.
fn step(
    store: &Store,
    map: &Map,
    generation: u64,
    hand: &mut Hand,
    ask: Ask<'_>,
    handed: &Handed<'_>,
    standing: &Standing,
) -> Option<Step> {
    let chain = store.table.lock(ask.hash);
    // Under the lock: who changes this key notes it before he gives the same lock up.
    if hand.noted.as_ref().is_some_and(|noted| noted.has(ask.hash, store.epoch())) {
        return None;
    }
    let Ok(old) = find(store, map, generation, &chain, ask) else { return Some(Step::Stale) };
    let mut work = Work { store, map, generation, hand, chain, ask, old };
    work.take_gone();
    work.old.is_none().then(|| work.put_back(standing, handed.source()))
}

impl Work<'_, '_> {
    fn put_back(&mut self, standing: &Standing, source: Source<'_>) -> Step {
        let &Standing { flags, expiry, cas, stale, won, binary_key, .. } = standing;
        let is_fresh = cas == 0 && !standing.given;
        let put =
            Put { flags, expiry, cas: if is_fresh { Cas::Fresh } else { Cas::Given(cas) }, stale, won, binary_key };
        let (head, octets) = self.shape(put, source, if standing.given { mark::GIVEN } else { 0 });
        if let Err(refused) = self.store.fits(self.ask.key.len(), octets) {
            return Step::Refused(refused);
        }
        let queue = if standing.proven { Queue::Main } else { Queue::Small };
        let (place, location) = match self.lay(head, queue, standing.birth, source) {
            Ok(laid) => laid,
            Err(step) => return step,
        };
        let slot = Slot::new(location, self.ask.hash);
        let slot = standing.fetched.map_or(slot, |last| slot.used(last));
        self.replace(place, slot.with_uses(u64::from(standing.uses)), false);
        self.hand.count_stored(self.ask.key.len() as u64 + octets);
        Step::Done(head.cas)
    }
}
