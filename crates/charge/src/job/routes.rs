//! Which connection a client can be asked over: that on which it asked last.

use crate::session::Push;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use trunkline_net::ConnectionId;

/// Clients that are known; one more is not, and is not asked.
pub const ROUTES_MAX: usize = 100_000;

/// Questions that found no way; one more is forgotten, and its session is ended by supervision at the latest.
pub const BACK_MAX: usize = 100_000;

/// The way to a client: a connection of its own, or that of an agent between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Route {
    pub id: ConnectionId,
    /// Its Origin-Realm, by which agents route what is for it.
    pub realm: Box<str>,
}

/// By Origin-Host.
#[derive(Debug, Default)]
pub(super) struct Routes {
    routes: Mutex<HashMap<Box<str>, Route>>,
    back: Mutex<Vec<Push>>,
}

impl Routes {
    fn lock(&self) -> MutexGuard<'_, HashMap<Box<str>, Route>> {
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

    pub fn set(&self, host: &str, realm: &str, id: ConnectionId) {
        let mut routes = self.lock();
        if let Some(known) = routes.get_mut(host) {
            known.id = id;
            if *known.realm != *realm {
                known.realm = realm.into();
            }
        } else if routes.len() < ROUTES_MAX {
            routes.insert(host.into(), Route { id, realm: realm.into() });
        }
    }

    pub fn get(&self, host: &str) -> Option<Route> {
        self.lock().get(host).cloned()
    }

    /// A connection is gone, and with it the way to all clients behind it.
    pub fn remove(&self, id: ConnectionId) {
        self.lock().retain(|_, route| route.id != id);
    }
}
