//! Templates that were read anew: devices follow.

use super::{Done, Owner, ToKeeper, Undone};
use crate::inventory::Inventory;
use crate::template::Library;
use std::collections::HashSet;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

/// What is another one than before.
struct Other {
    data: HashSet<String>,
    devices: HashSet<String>,
}

impl Owner {
    /// These hold from now on. What is read in another way is read so, files take what is written, and devices whose
    /// templates are others get what these have.
    pub(super) fn reload(&mut self, library: Arc<Library>) -> Result<Done, Undone> {
        let mut held = self.shared.library.write().unwrap_or_else(PoisonError::into_inner);
        let before = core::mem::replace(&mut *held, Arc::clone(&library));
        drop(held);
        let other = Other::of(&before, &library);
        // What this turn has changed follows after it.
        let inventory = self.shared.inventory();
        let devices: Vec<u32> = inventory.devices().iter().map(|(id, _)| id).collect();
        let mut changed = Vec::new();
        for device in devices {
            let sources = inventory.sources_of(device).iter().copied();
            let others: Vec<u32> = sources.filter(|source| other.has_source(&inventory, *source)).collect();
            if !others.is_empty() {
                self.poll(device, None);
                changed.extend(others);
            }
            if other.has_device(&inventory, device) {
                match self.is_polled(&inventory, device) {
                    true => self.exploring.now(device, Instant::now()),
                    false => drop(self.furnish(device)),
                }
            }
        }
        if !changed.is_empty() {
            self.tell_keeper(ToKeeper::Changed(changed));
        }
        Ok(Done { sequence: self.twin.newest().sequence(), changes: Vec::new() })
    }
}

impl Other {
    fn of(before: &Library, after: &Library) -> Other {
        let same_profile = |name: &str| before.profiles.get(name) == after.profiles.get(name);
        let same_table = |name: &String| before.tables.get(name) == after.tables.get(name);
        let mut data = differing(&before.data, &after.data);
        let held = after
            .data
            .iter()
            .filter(|(_, template)| !same_profile(&template.profile) || !template.table.iter().all(same_table));
        data.extend(held.map(|(name, _)| name.clone()));
        let mut graphs = differing(&before.graphs, &after.graphs);
        let shows =
            |graph: &&String| after.graphs.get(*graph).is_some_and(|g| g.data().iter().any(|d| data.contains(*d)));
        let shown: Vec<String> = after.graphs.keys().filter(shows).cloned().collect();
        graphs.extend(shown);
        let mut devices = differing(&before.devices, &after.devices);
        let gets = after.devices.iter().filter(|(_, device)| {
            device.graphs.iter().any(|graph| graphs.contains(graph)) || device.data.iter().any(|one| data.contains(one))
        });
        devices.extend(gets.map(|(name, _)| name.clone()));
        Other { data, devices }
    }

    fn has_source(&self, inventory: &Inventory, source: u32) -> bool {
        let template = inventory.sources().get(source).and_then(|source| inventory.template_name(source.template));
        template.is_some_and(|name| self.data.contains(name))
    }

    fn has_device(&self, inventory: &Inventory, device: u32) -> bool {
        let template = inventory.devices().get(device).and_then(|device| inventory.template_name(device.template?));
        template.is_some_and(|name| self.devices.contains(name))
    }
}

/// Names of what is new, gone or another one.
fn differing<T: PartialEq>(
    before: &std::collections::BTreeMap<String, T>,
    after: &std::collections::BTreeMap<String, T>,
) -> HashSet<String> {
    let all = before.keys().chain(after.keys());
    all.filter(|name| before.get(*name) != after.get(*name)).cloned().collect()
}
