//! Places of sessions in memory, and who is where.

use super::Aside;
use super::free::Free;
use super::session::Session;
use super::shards::Shards;
use crate::pages::Pages;
use core::hash::BuildHasher;
use core::ops::RangeInclusive;
use hashbrown::DefaultHashBuilder;

/// Sessions by their slots and by their names. Slots that are free are used anew, the newest first. Memory is taken for
/// sessions, not for the slots below them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Slots {
    sessions: Pages<Box<Session>>,
    used: u32,
    free: Free,
    names: Aside<Names>,
}

/// Slots by the hash of their session's name.
#[derive(Clone, Debug, Default)]
struct Names {
    slots: Shards<u32>,
    hasher: DefaultHashBuilder,
}

impl Slots {
    /// Sessions, open and closed.
    pub fn len(&self) -> usize {
        self.sessions.len()
    }

    /// Slots that were used so far.
    pub fn used(&self) -> u32 {
        self.used
    }

    /// Ranges of those that are free, the next one last.
    pub fn free(&self) -> impl Iterator<Item = RangeInclusive<u32>> {
        self.free.ranges()
    }

    /// Where the next session goes.
    pub fn next(&self) -> u32 {
        self.free.last().unwrap_or(self.used)
    }

    /// The sessions in the order of their slots.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Session)> {
        self.sessions.iter().map(|(slot, session)| (slot, &**session))
    }

    /// The sessions, to be changed.
    pub fn sessions_mut(&mut self) -> impl Iterator<Item = &mut Session> {
        self.sessions.values_mut().map(|session| &mut **session)
    }

    pub fn get(&self, slot: u32) -> Option<&Session> {
        self.sessions.get(slot).map(|session| &**session)
    }

    pub fn get_mut(&mut self, slot: u32) -> Option<&mut Session> {
        self.sessions.get_mut(slot).map(|session| &mut **session)
    }

    /// The slot of a session.
    pub fn find(&self, name: &str) -> Option<u32> {
        let is_it = |slot: &u32| self.get(*slot).is_some_and(|session| *session.name == *name);
        self.names.0.slots.find(self.names.0.hasher.hash_one(name), is_it).copied()
    }

    /// The next session goes into this slot, if no session has it; those before it that were never used are free.
    pub fn choose_next(&mut self, slot: u32) {
        if self.used <= slot {
            self.free.extend(self.used..=slot);
            self.used = slot.saturating_add(1);
        }
        self.free.choose_next(slot);
    }

    /// Puts a session into the next slot.
    pub fn open(&mut self, session: Session) {
        let slot = self.free.pop().unwrap_or(self.used);
        self.used = self.used.max(slot.saturating_add(1));
        self.sessions.put(slot, Box::new(session));
        self.name(slot);
    }

    /// The session of the slot can be found by its name from now on.
    fn name(&mut self, slot: u32) {
        let (sessions, Names { slots, hasher }) = (&self.sessions, &mut self.names.0);
        let hash = |slot: &u32| hasher.hash_one(sessions.get(*slot).map_or("", |session| &*session.name));
        slots.insert_unique(hash(&slot), slot, hash);
    }

    /// Takes a session out of its slot.
    pub fn take(&mut self, slot: u32) -> Option<Box<Session>> {
        let session = self.sessions.take(slot)?;
        let hash = self.names.0.hasher.hash_one(&*session.name);
        if let Some(found) = self.names.0.slots.find_entry(hash, |other| *other == slot) {
            found.remove();
        }
        self.free.push(slot);
        Some(session)
    }

    /// Makes room for so many, before there is any.
    pub fn reserve(&mut self, count: usize) {
        self.sessions.reserve(count);
        self.names.0.slots.reserve(count);
    }

    /// Free slots of a state that is read from its snapshot, before any session is.
    pub fn restore_free(&mut self, free: RangeInclusive<u32>) {
        self.free.extend(free);
    }

    /// A session of such a state, behind those with lower slots. None: there are fewer slots, or it is there.
    pub fn restore(&mut self, slot: u32, used: u32, session: Session) -> Option<()> {
        if slot < self.sessions.end() || slot >= used || self.find(&session.name).is_some() {
            return None;
        }
        self.sessions.put(slot, Box::new(session));
        self.name(slot);
        Some(())
    }

    /// All sessions of such a state were there. None: some slot below `used` is neither free nor has one, or both.
    pub fn restored(&mut self, used: u32) -> Option<()> {
        self.used = used;
        self.free.are_all_but(used, self.sessions.iter().map(|(slot, _)| slot)).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::state::session::Accesses;

    fn session(name: &str) -> Session {
        let access = Accesses::default().of("pgw", &crate::account::Place::default());
        Session::new(name, access, (1, 1))
    }

    /// Behind entries that are gone the slot that an entry names is believed: it costs no memory for those below.
    #[test]
    fn a_high_slot_takes_no_memory_for_those_below() {
        let mut slots = Slots::default();
        slots.open(session("low"));
        slots.choose_next(99_999_999);
        assert_eq!((slots.next(), slots.used(), slots.free().count()), (99_999_999, 100_000_000, 1));
        slots.open(session("high"));
        assert_eq!((slots.find("high"), slots.len(), slots.next()), (Some(99_999_999), 2, 99_999_998));
        slots.choose_next(7);
        slots.open(session("middle"));
        assert_eq!((slots.find("middle"), slots.next()), (Some(7), 99_999_998));
        drop(slots.take(99_999_999));
        assert_eq!((slots.next(), slots.len()), (99_999_999, 2));
    }
}
