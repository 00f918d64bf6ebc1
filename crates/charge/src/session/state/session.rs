//! A session as it is kept: small, as there are a million of them.

use super::Aside;
use super::answers::Answers;
use crate::account::{Grant, Octets, Place, ServiceKey};
use crate::calendar::Moment;
use crate::rate::Meter;
use crate::units::Unit;
use hashbrown::{Equivalent, HashSet};
use std::sync::Arc;

/// Request numbers of a session that are told apart, the newest and those before it.
pub const NUMBERS_MAX: u32 = 64;
/// Services of a session: what has no place is granted nothing, and its meter begins anew with each report.
// Limit: services of one session
// Beyond: a further service is granted nothing (5012)
// Seen in: the answer to the client
pub const SESSION_SERVICES_MAX: usize = 256;
/// Clients with places that are shared by their sessions; sessions of more have their own.
const ACCESSES_MAX: usize = 10_000;

/// A session, open or closed.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    pub name: Box<str>,
    pub access: Arc<Access>,
    pub subscriber: u64,
    pub account: u64,
    pub services: Box<[Service]>,
    pub answers: Answers,
    /// The highest request number, and of those before it which ones came, a bit each.
    pub number: u32,
    pub seen: u64,
    pub deadline: Moment,
    pub watched: Aside<Watched>,
    pub phase: Phase,
    /// Whether the client is to ask again.
    pub push: bool,
}

/// When a session is looked at: at its deadline or before it; and its place among those of that moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watched {
    pub at: Moment,
    pub place: u32,
}

/// How a session comes: its client, and where the subscriber is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    pub origin: Box<str>,
    pub place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Phase {
    Open,
    Aborting,
    Closed,
}

/// A service of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct Service {
    pub key: ServiceKey,
    pub meter: Meter,
    /// What the meter counts.
    pub unit: Unit,
    /// Since when what is reported next was used: the last report or grant.
    pub until: Moment,
    /// The octets of its grant, which are a quarter of it; none.
    pub held: Box<[u8]>,
}

impl Session {
    /// A new one.
    pub fn new(name: &str, access: Arc<Access>, (subscriber, account): (u64, u64)) -> Session {
        Session {
            name: name.into(),
            access,
            subscriber,
            account,
            services: Box::default(),
            answers: Answers::default(),
            number: 0,
            seen: 0,
            deadline: Moment::MAX,
            watched: Aside(Watched::NEVER),
            phase: Phase::Open,
            push: false,
        }
    }

    pub fn service(&self, key: ServiceKey) -> Option<&Service> {
        self.services.iter().find(|service| service.key == key)
    }

    /// Whether a service is there, or has a place.
    pub fn has_room(&self, key: ServiceKey) -> bool {
        self.services.len() < SESSION_SERVICES_MAX || self.service(key).is_some()
    }

    /// The service of a key, which begins where there is none; none beyond [`SESSION_SERVICES_MAX`].
    pub fn service_mut(&mut self, key: ServiceKey, unit: Unit, since: Moment) -> Option<&mut Service> {
        if !self.has_room(key) {
            return None;
        }
        let at = self.services.iter().position(|service| service.key == key).unwrap_or_else(|| {
            let mut services = core::mem::take(&mut self.services).into_vec();
            services.reserve_exact(1);
            services.push(Service { key, meter: Meter::default(), unit, until: since, held: Box::default() });
            self.services = services.into();
            self.services.len() - 1
        });
        self.services.get_mut(at)
    }

    /// What its services are granted.
    pub fn grants(&self) -> impl Iterator<Item = Grant> {
        self.services.iter().filter_map(Service::grant)
    }

    /// Whether a request of that number came before; none if it is too old to say.
    pub fn has_seen(&self, number: u32) -> Option<bool> {
        match self.number.checked_sub(number) {
            None => Some(false),
            Some(back) if back < NUMBERS_MAX => Some(self.seen >> back & 1 == 1),
            Some(_) => None,
        }
    }

    pub fn see(&mut self, number: u32) {
        if number > self.number || self.seen == 0 {
            let ahead = number.saturating_sub(self.number);
            self.seen = self.seen.checked_shl(ahead).unwrap_or(0) | 1;
            self.number = number;
        } else if let Some(back) = self.number.checked_sub(number).filter(|back| *back < NUMBERS_MAX) {
            self.seen |= 1 << back;
        }
    }
}

impl Service {
    /// What it is granted.
    pub fn grant(&self) -> Option<Grant> {
        (!self.held.is_empty()).then(|| Grant::take(&mut &*self.held)).flatten()
    }

    /// It is granted this from now on.
    pub fn hold(&mut self, grant: &Grant) {
        let mut octets = Vec::with_capacity(64);
        grant.put(&mut octets);
        self.held = octets.into();
    }

    /// It is granted nothing; what it was.
    pub fn release(&mut self) -> Option<Grant> {
        let grant = self.grant();
        self.held = Box::default();
        grant
    }
}

impl Watched {
    /// Looked at by nobody.
    pub const NEVER: Watched = Watched { at: Moment::MAX, place: 0 };
}

/// Accesses that sessions share.
#[derive(Clone, Debug, Default)]
pub struct Accesses {
    shared: HashSet<Arc<Access>>,
    /// How many found no place since those of no session were forgotten last.
    missed: usize,
}

/// An access as it is looked for.
#[derive(Hash)]
struct Sought<'a> {
    origin: &'a str,
    place: &'a Place,
}

impl Equivalent<Arc<Access>> for Sought<'_> {
    fn equivalent(&self, access: &Arc<Access>) -> bool {
        *self.origin == *access.origin && *self.place == access.place
    }
}

impl Accesses {
    /// The one of a client and a place. Those with a number that is called are nobody else's.
    pub fn of(&mut self, origin: &str, place: &Place) -> Arc<Access> {
        if let Some(known) = self.shared.get(&Sought { origin, place }) {
            return known.clone();
        }
        let access = Arc::new(Access { origin: origin.into(), place: place.clone() });
        if !place.destination.is_empty() {
            return access;
        }
        if self.shared.len() >= ACCESSES_MAX {
            // Those of sessions that are over make room; it is looked for them once in so many.
            self.missed += 1;
            if self.missed % ACCESSES_MAX == 1 {
                self.shared.retain(|access| Arc::strong_count(access) > 1);
            }
        }
        if self.shared.len() < ACCESSES_MAX {
            self.shared.insert(access.clone());
        }
        access
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_of_sessions_that_are_over_make_room() {
        let mut accesses = Accesses::default();
        let of = |accesses: &mut Accesses, origin: &str| accesses.of(origin, &Place::default());
        let kept = of(&mut accesses, "kept");
        for number in 0..3 * ACCESSES_MAX {
            drop(of(&mut accesses, &format!("invented {number}")));
        }
        assert!(accesses.shared.len() <= ACCESSES_MAX);
        assert!(Arc::ptr_eq(&of(&mut accesses, "kept"), &kept));
        let mut is_shared = || {
            let real = of(&mut accesses, "real");
            Arc::ptr_eq(&of(&mut accesses, "real"), &real)
        };
        assert!((0..ACCESSES_MAX).any(|_| is_shared()), "there is room sooner or later");
    }
}
