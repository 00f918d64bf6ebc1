//! Which connection a client can be asked over: that on which it asked last.

use crate::session::Push;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use trunkline_net::ConnectionId;

/// Clients that are known; one more is not, and is not asked.
pub const ROUTES_MAX: usize = 100_000;

/// Questions that found no way; one more is forgotten, and its session is ended by supervision at the latest.
pub const BACK_MAX: usize = 100_000;

/// By Origin-Host.
#[derive(Debug, Default)]
pub(super) struct Routes {
    routes: Mutex<HashMap<Box<str>, ConnectionId>>,
    back: Mutex<Vec<Push>>,
}

impl Routes {
    fn lock(&self) -> MutexGuard<'_, HashMap<Box<str>, ConnectionId>> {
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

    pub fn set(&self, host: &str, id: ConnectionId) {
        let mut routes = self.lock();
        if let Some(known) = routes.get_mut(host) {
            *known = id;
        } else if routes.len() < ROUTES_MAX {
            routes.insert(host.into(), id);
        }
    }

    pub fn get(&self, host: &str) -> Option<ConnectionId> {
        self.lock().get(host).copied()
    }

    /// A connection is gone.
    pub fn remove(&self, host: &str, id: ConnectionId) {
        let mut routes = self.lock();
        if routes.get(host) == Some(&id) {
            routes.remove(host);
        }
    }
}
