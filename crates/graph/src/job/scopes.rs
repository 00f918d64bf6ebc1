//! What scopes show, found out once for each inventory: many pages are asked for by few kinds of people.

use crate::inventory::{Inventory, Search};
use crate::scope::{Scope, Seen};
use crate::template::Library;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Scopes of which it is kept what they show; the one that was not asked for longest goes.
// Limit: different sets of rules about graphs prepared in memory
// Beyond: the one unused longest is prepared again when needed
// Seen in: `trunkline_graph_scopes_overflow_total`
const SCOPES_MAX: usize = 64;

trunkline_kit::counters! {
    /// What scopes count.
    pub struct ScopeCounters {
        /// scopes of which it was found out what they show: for each scope once an inventory has changed
        compiled: "trunkline_graph_scopes_compiled_total",
        /// scopes that were forgotten, as others are asked for more lately
        forgotten: "trunkline_graph_scopes_overflow_total",
    }
}

/// What scopes show.
#[derive(Debug, Default)]
pub(super) struct Scopes {
    kept: Mutex<(Vec<Kept>, ScopeCounters)>,
}

/// A scope and what it shows of an inventory with templates.
#[derive(Debug)]
struct Kept {
    scope: Scope,
    sequence: u64,
    library: Arc<Library>,
    /// Found out by who asks first.
    seen: Arc<OnceLock<Arc<Seen>>>,
}

impl Scopes {
    /// What happened since.
    pub fn counters(&self) -> ScopeCounters {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).1
    }

    /// What a scope shows of an inventory. `search` has its titles.
    pub fn shown(
        &self,
        scope: &Scope,
        inventory: &Inventory,
        library: &Arc<Library>,
        search: impl FnOnce() -> Arc<Search>,
    ) -> Arc<Seen> {
        let seen = self.place(scope, inventory.sequence(), library);
        // Others that ask for the same wait here, those that ask for another scope do not.
        let seen = seen.get_or_init(|| {
            let search = if scope.is_about_titles() { search() } else { Arc::default() };
            Arc::new(Seen::of(scope, inventory, library, &search))
        });
        Arc::clone(seen)
    }

    fn place(&self, scope: &Scope, sequence: u64, library: &Arc<Library>) -> Arc<OnceLock<Arc<Seen>>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let (all, counters) = &mut *kept;
        let known = all.iter().position(|kept| kept.scope == *scope).map(|at| all.remove(at));
        let is_new = |kept: &Kept| kept.sequence == sequence && Arc::ptr_eq(&kept.library, library);
        let place = known.filter(is_new).unwrap_or_else(|| {
            counters.compiled += 1;
            Kept { scope: scope.clone(), sequence, library: Arc::clone(library), seen: Arc::default() }
        });
        let seen = Arc::clone(&place.seen);
        all.push(place);
        if all.len() > SCOPES_MAX {
            all.remove(0);
            counters.forgotten += 1;
        }
        seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::{Change, Device, Entry};
    use crate::scope::{Rule, What};

    #[test]
    fn a_scope_is_looked_at_again_when_the_inventory_is_another_one_and_few_are_kept() {
        let (scopes, library, mut inventory) = (Scopes::default(), Arc::default(), Inventory::default());
        let scope = |name: &str| {
            let what = What::read("device-name", name).unwrap();
            Scope { everything: false, levels: vec![vec![Rule { allow: true, what }]] }
        };
        let devices = |name: &str, inventory: &Inventory| {
            scopes.shown(&scope(name), inventory, &library, Arc::default).devices().count()
        };
        assert_eq!((devices("a*", &inventory), devices("a*", &inventory)), (0, 0));
        assert_eq!(scopes.counters().compiled, 1);
        let device = Box::new(Device::new("ams-1", "192.0.2.1"));
        let changes = vec![Change::Device { id: 1, device }];
        inventory.apply(&Entry { sequence: 1, at_ms: 0, by: "test".into(), changes }).unwrap();
        assert_eq!((devices("a*", &inventory), devices("b*", &inventory)), (1, 0));
        let all: Vec<String> = (0..SCOPES_MAX).map(|number| format!("c{number}")).collect();
        all.iter().for_each(|name| assert_eq!(devices(name, &inventory), 0));
        let counters = scopes.counters();
        assert_eq!((counters.compiled, counters.forgotten), (3 + SCOPES_MAX as u64, 2));
        assert_eq!(devices("a*", &inventory), 1);
    }
}
