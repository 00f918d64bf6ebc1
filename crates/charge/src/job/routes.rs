//! Which connection a client can be asked over: that on which it asked last.

use crate::session::Push;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use trunkline_net::ConnectionId;

/// Clients that are known. With one more, the connection that speaks for the most others gives up the half of those
/// that were heard longest ago: whoever invents names forgets his own. A connection's own name is always known.
// Limit: clients whose connection is known
// Beyond: the connection that speaks for the most clients forgets half of them
// Seen in: a question to such a client fails: `trunkline_charge_pushes_lost_total`
pub const ROUTES_MAX: usize = 100_000;

/// Questions that found no way; one more is forgotten, and its session is ended by supervision at the latest.
pub const BACK_MAX: usize = 100_000;

/// The way to a client: a connection of its own, or that of an agent between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Route {
    pub id: ConnectionId,
    /// Its Origin-Realm, by which agents route what is for it.
    pub realm: Box<str>,
    /// The connection is its own, by its CER or CEA.
    own: bool,
    /// When it was heard last, in requests of all clients.
    heard: u64,
}

/// By Origin-Host.
#[derive(Debug, Default)]
pub(super) struct Routes {
    routes: Mutex<Known>,
    back: Mutex<Vec<Push>>,
}

#[derive(Debug, Default)]
struct Known {
    by_host: HashMap<Box<str>, Route>,
    heard: u64,
}

impl Known {
    fn make_room(&mut self) {
        let mut counts = HashMap::<ConnectionId, usize>::new();
        let brought = self.by_host.values().filter(|route| !route.own);
        brought.for_each(|route| *counts.entry(route.id).or_default() += 1);
        let Some((most, _)) = counts.into_iter().max_by_key(|(_, count)| *count) else { return };
        let is_its = |route: &Route| !route.own && route.id == most;
        let mut heard: Vec<u64> =
            self.by_host.values().filter(|route| is_its(route)).map(|route| route.heard).collect();
        let half = heard.len() / 2;
        let (_, middle, _) = heard.select_nth_unstable(half);
        let middle = *middle;
        self.by_host.retain(|_, route| !is_its(route) || route.heard > middle);
    }
}

impl Routes {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.routes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A question did not reach its client: it is tried again.
    pub fn give_back(&self, push: Push) {
        let mut back = self.back.lock().unwrap_or_else(PoisonError::into_inner);
        if back.len() < BACK_MAX {
            back.push(push);
        }
    }

    /// Those that were given back.
    pub fn take_back(&self) -> Vec<Push> {
        core::mem::take(&mut self.back.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A client is reached over that connection from now on: its `own`, or one that speaks for it.
    pub fn set(&self, host: &str, realm: &str, id: ConnectionId, own: bool) {
        let mut known = self.lock();
        known.heard += 1;
        let heard = known.heard;
        if let Some(route) = known.by_host.get_mut(host) {
            (route.id, route.own, route.heard) = (id, own, heard);
            if *route.realm != *realm {
                route.realm = realm.into();
            }
            return;
        }
        if known.by_host.len() >= ROUTES_MAX {
            known.make_room();
        }
        if own || known.by_host.len() < ROUTES_MAX {
            known.by_host.insert(host.into(), Route { id, realm: realm.into(), own, heard });
        }
    }

    pub fn get(&self, host: &str) -> Option<Route> {
        self.lock().by_host.get(host).cloned()
    }

    /// A connection is gone, and with it the way to all clients behind it.
    pub fn remove(&self, id: ConnectionId) {
        self.lock().by_host.retain(|_, route| route.id != id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two that differ.
    fn connections() -> [ConnectionId; 2] {
        let mut other = ConnectionId::NONE;
        other.thread = 0;
        [ConnectionId::NONE, other]
    }

    #[test]
    fn whoever_invents_names_forgets_his_own() {
        let (routes, [evil, good]) = (Routes::default(), connections());
        routes.set("good", "example", good, true);
        routes.set("behind", "example", good, false);
        (0..3 * ROUTES_MAX).for_each(|n| routes.set(&format!("invented {n}"), "example", evil, false));
        assert!(routes.lock().by_host.len() <= ROUTES_MAX);
        assert!(routes.get("good").is_some() && routes.get("behind").is_some());
        // One more finds a place, and so does whoever connects.
        routes.set("late", "example", good, false);
        routes.set("new", "example", good, true);
        assert!(["late", "new"].iter().all(|host| routes.get(host).is_some_and(|route| route.id == good)));
        assert!(
            routes.get("invented 0").is_none() && routes.get(&format!("invented {}", 3 * ROUTES_MAX - 1)).is_some()
        );
    }
}
