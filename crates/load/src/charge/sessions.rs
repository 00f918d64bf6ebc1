//! The sessions that are held, and what each was granted.

use super::answer::Unit;
use super::kind::Kind;

/// Units that a rating group was granted and has not used yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grant {
    /// How many.
    pub units: u64,
    /// Of what.
    pub unit: Unit,
}

/// Which session: its place, and the number that no other session of the run has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionKey {
    /// Its place in the table.
    pub place: u32,
    /// Its number.
    pub serial: u64,
}

/// A session.
#[derive(Clone, Copy, Debug)]
pub struct Session {
    /// Which one.
    pub key: SessionKey,
    /// Whose.
    pub subscriber: u32,
    /// The client that began it.
    pub client: u32,
    /// CC-Request-Number of its next request.
    pub number: u32,
    /// Updates before it ends.
    pub updates_left: u32,
    /// Whether a request of it waits to be sent or answered.
    pub busy: bool,
    /// When its next request was due, in nanoseconds, while it was still busy.
    pub late_ns: Option<u64>,
    /// Whether its next request ends it.
    pub ending: bool,
    /// Requests before its first one by CC-Request-Type: the subscriber's profile, by GTP'.
    pub before: u32,
    /// Whether the server has asked for a request of it (RAR, ASR) while it was busy.
    pub asked: bool,
}

/// The sessions of a thread.
#[derive(Debug)]
pub struct Sessions {
    places: Vec<Option<Session>>,
    grants: Vec<Grant>,
    free: Vec<u32>,
    groups: usize,
    begun: u64,
    held: usize,
    max: usize,
}

impl Sessions {
    /// At most `max` sessions, each with this many rating groups.
    pub fn new(groups: usize, max: usize) -> Self {
        Sessions { places: Vec::new(), grants: Vec::new(), free: Vec::new(), groups, begun: 0, held: 0, max }
    }

    /// How many are held.
    pub fn held(&self) -> usize {
        self.held
    }

    /// A new one; none where as many are held as may be.
    pub fn begin(&mut self, subscriber: u32, client: u32, updates: u32, before: u32) -> Option<SessionKey> {
        if self.held >= self.max {
            return None;
        }
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.grants.resize(self.places.len() * self.groups, Grant::default());
            self.places.len() as u32 - 1
        });
        self.begun += 1;
        self.held += 1;
        let key = SessionKey { place, serial: self.begun };
        let session = Session {
            key,
            subscriber,
            client,
            number: 0,
            updates_left: updates,
            busy: false,
            late_ns: None,
            ending: false,
            before,
            asked: false,
        };
        self.places[place as usize] = Some(session);
        self.grants_of(place).fill(Grant::default());
        Some(key)
    }

    /// One, if it has not ended.
    pub fn get(&mut self, key: SessionKey) -> Option<&mut Session> {
        self.places.get_mut(key.place as usize)?.as_mut().filter(|session| session.key == key)
    }

    /// What its rating groups were granted, in the order of the plan.
    pub fn grants_of(&mut self, place: u32) -> &mut [Grant] {
        let at = place as usize * self.groups;
        &mut self.grants[at..at + self.groups]
    }

    /// Forgets one.
    pub fn end(&mut self, key: SessionKey) {
        if self.get(key).is_some() {
            self.places[key.place as usize] = None;
            self.free.push(key.place);
            self.held -= 1;
        }
    }

    /// Those whose next request was due while they were busy: what it is about, and when it was due.
    pub fn late(&self) -> impl Iterator<Item = (Kind, u64)> {
        self.places.iter().flatten().filter_map(|session| Some((session.next_kind(), session.late_ns?)))
    }

    /// The first one from a place on that is not busy, and the place behind it.
    pub fn idle_from(&self, place: usize) -> Option<(SessionKey, usize)> {
        let rest = self.places.get(place..)?;
        let at = rest.iter().position(|session| session.as_ref().is_some_and(|session| !session.busy))?;
        rest[at].map(|session| (session.key, place + at + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_used_again_by_another_session() {
        let mut sessions = Sessions::new(2, 2);
        let first = sessions.begin(7, 0, 3, 0).unwrap();
        sessions.grants_of(first.place)[1].units = 9;
        let second = sessions.begin(8, 0, 3, 0).unwrap();
        assert!(sessions.begin(9, 0, 3, 0).is_none() && sessions.held() == 2);
        sessions.end(first);
        sessions.end(first);
        let third = sessions.begin(9, 1, 0, 1).unwrap();
        assert_eq!((third.place, sessions.held()), (first.place, 2));
        assert!(sessions.get(first).is_none() && sessions.get(third).unwrap().subscriber == 9);
        assert_eq!(sessions.grants_of(third.place), [Grant::default(); 2]);
        sessions.get(third).unwrap().busy = true;
        assert_eq!(sessions.idle_from(0), Some((second, 2)));
        assert_eq!(sessions.idle_from(2), None);
    }
}
