//! What follows from changes for those that poll and those that keep files.

use crate::inventory::{Change, Device, Inventory};
use std::collections::BTreeSet;

/// What follows from changes, seen before they are made.
#[derive(Default)]
pub(super) struct Follows {
    pub touched: BTreeSet<u32>,
    pub other: BTreeSet<u32>,
    pub gone: Vec<(u32, u32)>,
    pub changed: Vec<u32>,
}

impl Follows {
    pub fn of(inventory: &Inventory, changes: &[Change]) -> Follows {
        let mut follows = Follows::default();
        changes.iter().for_each(|change| follows.add(inventory, change));
        follows
    }

    fn add(&mut self, inventory: &Inventory, change: &Change) {
        let of_row = |row: u32| inventory.rows().get(row).map(|row| row.device);
        let of_source = |source: u32| inventory.sources().get(source).map(|source| source.device);
        match change {
            Change::Credential { id, .. } => {
                let uses = inventory.devices().iter().filter(|(_, device)| device.access.credential == Some(*id));
                self.touched.extend(uses.map(|(device, _)| device));
            }
            Change::Device { id, device } => {
                self.touched.insert(*id);
                let Some(before) = inventory.devices().get(*id) else { return };
                if before.step != device.step {
                    self.changed.extend_from_slice(inventory.sources_of(*id));
                }
                let is = |device: &Device| (device.address.clone(), device.template, device.access.clone());
                self.other.extend((is(before) != is(device)).then_some(*id));
            }
            Change::DeviceGone { id } => {
                self.touched.insert(*id);
                self.gone.extend(inventory.sources_of(*id).iter().map(|source| (*id, *source)));
            }
            Change::Row { id, row } => {
                self.touched.insert(row.device);
                if inventory.rows().get(*id).is_some_and(|before| before.speed != row.speed) {
                    self.changed.extend(sources_of_row(inventory, row.device, *id));
                }
            }
            Change::RowMoved { id, .. } => self.touched.extend(of_row(*id)),
            Change::RowGone { id } => {
                if let Some(device) = of_row(*id) {
                    self.touched.insert(device);
                    self.gone.extend(sources_of_row(inventory, device, *id).map(|source| (device, source)));
                }
            }
            Change::Source { source, .. } => drop(self.touched.insert(source.device)),
            Change::SourceGone { id } => {
                if let Some(device) = of_source(*id) {
                    self.touched.insert(device);
                    self.gone.push((device, *id));
                }
            }
            _ => {}
        }
    }
}

fn sources_of_row(inventory: &Inventory, device: u32, row: u32) -> impl Iterator<Item = u32> {
    let of_row = move |source: &u32| inventory.sources().get(*source).is_some_and(|source| source.row == Some(row));
    inventory.sources_of(device).iter().copied().filter(of_row)
}
