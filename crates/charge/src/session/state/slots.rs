//! Places of sessions in memory, and who is where.

use super::Aside;
use super::session::Session;
use super::shards::Shards;
use core::hash::BuildHasher;
use hashbrown::DefaultHashBuilder;

/// Sessions by their slots and by their names. Slots that are free are used anew, the newest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Slots {
    sessions: Vec<Option<Box<Session>>>,
    free: Vec<u32>,
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
        self.sessions.len() - self.free.len()
    }

    /// Slots that were used so far.
    pub fn used(&self) -> u32 {
        self.sessions.len() as u32
    }

    /// Those that are free, the next one last.
    pub fn free(&self) -> &[u32] {
        &self.free
    }

    /// Where the next session goes.
    pub fn next(&self) -> u32 {
        self.free.last().copied().unwrap_or(self.used())
    }

    /// The sessions in the order of their slots.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Session)> {
        let numbered = self.sessions.iter().enumerate();
        numbered.filter_map(|(slot, session)| Some((slot as u32, session.as_deref()?)))
    }

    pub fn get(&self, slot: u32) -> Option<&Session> {
        self.sessions.get(slot as usize)?.as_deref()
    }

    pub fn get_mut(&mut self, slot: u32) -> Option<&mut Session> {
        self.sessions.get_mut(slot as usize)?.as_deref_mut()
    }

    /// The slot of a session.
    pub fn find(&self, name: &str) -> Option<u32> {
        let is_it = |slot: &u32| self.get(*slot).is_some_and(|session| *session.name == *name);
        self.names.0.slots.find(self.names.0.hasher.hash_one(name), is_it).copied()
    }

    /// The next session goes into this slot, if no session has it; those before it that were never used are free.
    pub fn choose_next(&mut self, slot: u32) {
        while self.used() <= slot {
            self.free.push(self.used());
            self.sessions.push(None);
        }
        if let Some(at) = self.free.iter().rposition(|free| *free == slot) {
            self.free.remove(at);
            self.free.push(slot);
        }
    }

    /// Puts a session into the next slot.
    pub fn open(&mut self, session: Session) {
        let slot = self.next();
        match self.free.pop().and_then(|slot| self.sessions.get_mut(slot as usize)) {
            Some(place) => *place = Some(Box::new(session)),
            None => self.sessions.push(Some(Box::new(session))),
        }
        self.name(slot);
    }

    /// The session of the slot can be found by its name from now on.
    fn name(&mut self, slot: u32) {
        let (sessions, Names { slots, hasher }) = (&self.sessions, &mut self.names.0);
        let hash = |slot: &u32| {
            let session = sessions.get(*slot as usize).and_then(Option::as_deref);
            hasher.hash_one(session.map_or("", |session| &*session.name))
        };
        slots.insert_unique(hash(&slot), slot, hash);
    }

    /// Takes a session out of its slot.
    pub fn take(&mut self, slot: u32) -> Option<Box<Session>> {
        let session = self.sessions.get_mut(slot as usize)?.take()?;
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
    pub fn restore_free(&mut self, free: &[u32]) {
        self.free.extend_from_slice(free);
    }

    /// A session of such a state, behind those with lower slots. None: a slot before it is neither free nor used.
    pub fn restore(&mut self, slot: u32, session: Session) -> Option<()> {
        let at = slot as usize;
        if at < self.sessions.len() || at > self.sessions.len() + self.free.len() || self.find(&session.name).is_some()
        {
            return None;
        }
        self.sessions.resize_with(at, || None);
        self.sessions.push(Some(Box::new(session)));
        self.name(slot);
        Some(())
    }

    /// All sessions of such a state were there, and the highest slots are free. None: some slot is neither or both.
    pub fn restored(&mut self, used: u32) -> Option<()> {
        let at = used as usize;
        if at < self.sessions.len() || at > self.sessions.len() + self.free.len() {
            return None;
        }
        self.sessions.resize_with(at, || None);
        let mut free = self.free.clone();
        free.sort_unstable();
        let empty = self.sessions.iter().enumerate().filter(|(_, session)| session.is_none());
        free.iter().copied().eq(empty.map(|(slot, _)| slot as u32)).then_some(())
    }
}
