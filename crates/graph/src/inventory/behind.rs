//! Who is behind whom: through which devices a device is reached.

use super::{Change, Device, Inventory};
use std::collections::{HashMap, HashSet};

/// Who is behind whom, while that becomes another way.
#[derive(Clone, Debug)]
pub struct Behind<'i> {
    inventory: &'i Inventory,
    /// What is told otherwise than in the inventory.
    told: HashMap<u32, Vec<u32>>,
}

impl<'i> Behind<'i> {
    /// As the inventory has it.
    pub fn of(inventory: &'i Inventory) -> Behind<'i> {
        Behind { inventory, told: HashMap::new() }
    }

    /// Through which devices a device is reached; none is by itself.
    pub fn get(&self, device: u32) -> &[u32] {
        match self.told.get(&device) {
            Some(told) => told,
            None => self.inventory.behind(device),
        }
    }

    /// Whether a device would be on the way to itself, were it behind these.
    pub fn is_round(&self, device: u32, behind: &[u32]) -> bool {
        let (mut waiting, mut seen) = (behind.to_vec(), HashSet::new());
        while let Some(before) = waiting.pop() {
            if before == device {
                return true;
            }
            if seen.insert(before) {
                waiting.extend(self.get(before));
            }
        }
        false
    }

    /// Has a device be behind these; whether that was said of it already.
    pub fn set(&mut self, device: u32, behind: Vec<u32>) -> bool {
        self.told.insert(device, behind).is_some()
    }
}

impl Inventory {
    /// Through which devices a device is reached; none is by itself.
    pub fn behind(&self, device: u32) -> &[u32] {
        self.devices().get(device).map_or(&[], |device| &device.behind)
    }

    /// Has devices be behind others. Those that were behind somebody are behind nobody first, so that nobody is on the
    /// way to itself between two changes; devices of that name must be there.
    pub(super) fn change_behind(&self, all: &[(u32, Vec<u32>)]) -> Vec<Change> {
        let changed = all.iter().filter_map(|(id, behind)| {
            let device = self.devices().get(*id)?;
            (device.behind != *behind).then_some((*id, device, behind))
        });
        let put = |id: u32, device: &Device, behind: Vec<u32>| Change::Device {
            id,
            device: Box::new(Device { behind, ..device.clone() }),
        };
        let were_behind = changed.clone().filter(|(_, device, _)| !device.behind.is_empty());
        let first = were_behind.map(|(id, device, _)| put(id, device, Vec::new()));
        let are_behind = changed.filter(|(.., behind)| !behind.is_empty());
        first.chain(are_behind.map(|(id, device, behind)| put(id, device, behind.clone()))).collect()
    }
}
