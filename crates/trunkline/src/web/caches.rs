//! The caches that the web looks at: the run's own, and those that the configuration names.

use super::live::Here;
use super::remote::There;
use crate::cache::ask::Asker;
use crate::cache::here::Running;
use crate::cache::target::Target;
use crate::run::socket::CACHE;
use std::sync::{Arc, Mutex, PoisonError};
use trunkline_web::sources::{Cache, CacheSnapshot};

/// What the run's own cache is called.
const OWN: &str = "this run";

/// The run's own cache, and the others of a configuration; each once.
pub fn all(own: Option<Arc<dyn Cache>>, others: &[Target]) -> Vec<Arc<dyn Cache>> {
    let mut targets: Vec<&Target> = Vec::new();
    for target in others {
        if !targets.contains(&target) {
            targets.push(target);
        }
    }
    let served = |target: &Target| Arc::new(Served::new(target.clone())) as Arc<dyn Cache>;
    own.into_iter().chain(targets.into_iter().map(served)).collect()
}

/// Any server of memcached's text protocol.
struct Served {
    name: String,
    asker: Mutex<Asker>,
}

impl Served {
    fn new(target: Target) -> Self {
        Served { name: target.to_string(), asker: Mutex::new(Asker::new(target)) }
    }
}

impl Cache for Served {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn look(&self) -> Result<Option<CacheSnapshot>, String> {
        self.asker.lock().unwrap_or_else(PoisonError::into_inner).look().map(Some)
    }
}

impl Cache for Here {
    fn name(&self) -> String {
        OWN.to_owned()
    }

    fn look(&self) -> Result<Option<CacheSnapshot>, String> {
        Ok(self.view().jobs().get::<Running>().map(Running::snapshot))
    }
}

impl Cache for There {
    fn name(&self) -> String {
        OWN.to_owned()
    }

    fn look(&self) -> Result<Option<CacheSnapshot>, String> {
        let looked = self.value::<Option<CacheSnapshot>>(CACHE);
        looked.map(Option::flatten).map_err(|error| self.trouble(&error))
    }
}
