//! What devices get of their templates: all data sources at once, and graphs as soon as these have said something.

use super::{Done, Owner, Undone};
use crate::inventory::order::Draft;
use crate::inventory::{Access, Availability, Change, Device, DeviceState, Inventory, Kind};
use std::collections::HashSet;
use std::sync::Arc;

/// The device template of the program itself, and how such a device is called.
const OWN_TEMPLATE: &str = "program";
const OWN_NAME: &str = "Trunkline";
/// Who the entry of that names.
const BY: &str = "trunkline";

impl Owner {
    /// Gives a device what its template has for it; whether that could be done.
    pub(super) fn furnish(&mut self, device: u32) -> bool {
        let inventory = self.twin.newest();
        if inventory.devices().get(device).is_none_or(|device| device.template.is_none()) {
            return true;
        }
        let (library, shared) = (self.shared.library(), Arc::clone(&self.shared));
        let changes = {
            let said = shared.said.read();
            inventory.furnish(&library, device, &|source| said.contains(&source))
        };
        match changes {
            Ok(changes) => self.changes(device, changes),
            Err(why) => {
                self.trouble_of(device, &why.to_string());
                false
            }
        }
    }

    /// Gives a device the graphs of data sources that have said something before the program ended without a word.
    pub(super) fn furnish_what_has_said(&mut self, device: u32) {
        let inventory = self.twin.newest();
        let is_active = |device: &Device| device.state != DeviceState::Disabled && device.template.is_some();
        if !inventory.devices().get(device).is_some_and(is_active) {
            return;
        }
        let graphs = inventory.graphs_of(device).iter().filter_map(|id| inventory.graphs().get(*id));
        let drawn: HashSet<u32> = graphs.flat_map(|graph| graph.sources.iter().copied()).collect();
        let said = self.shared.said.read();
        let lacks = inventory.sources_of(device).iter().any(|source| said.contains(source) && !drawn.contains(source));
        drop(said);
        if lacks {
            self.furnish(device);
        }
    }

    /// Makes changes. Devices without SNMP, which are not looked at, get what their templates have at once.
    pub(super) fn change_and_furnish(&mut self, by: &str, changes: Vec<Change>) -> Result<Done, Undone> {
        let inventory = self.twin.newest();
        let devices: Vec<u32> = changes.iter().filter_map(|change| to_furnish(inventory, change)).collect();
        let done = self.change(by, changes)?;
        for device in devices {
            self.furnish(device);
        }
        Ok(done)
    }

    /// The program itself becomes a device, if there is none of its template.
    pub(super) fn own_device(&mut self) -> Result<Done, Undone> {
        let inventory = self.twin.newest();
        let template = inventory.named(Kind::DeviceTemplate, OWN_TEMPLATE);
        let is_own = |device: &Device| template.is_some() && device.template == template;
        if inventory.devices().iter().any(|(_, device)| is_own(device)) {
            return Ok(Done { sequence: inventory.sequence(), changes: Vec::new() });
        }
        let mut names = (1u32..).map(|n| if n == 1 { OWN_NAME.to_owned() } else { format!("{OWN_NAME} ({n})") });
        let name = names.find(|name| inventory.device_named(name).is_none()).unwrap_or_default();
        let mut draft = Draft::new(inventory);
        let device = Device {
            template: Some(draft.named(Kind::DeviceTemplate, OWN_TEMPLATE)),
            access: Access { version: None, ..Access::default() },
            // While it runs it is up.
            availability: Availability { probes: Vec::new(), ..Availability::default() },
            ..Device::new(&name, "127.0.0.1")
        };
        draft.change(Change::Device { id: inventory.devices().next(), device: Box::new(device) });
        let changes = draft.changes();
        self.change_and_furnish(BY, changes)
    }
}

/// The device of a change that has no SNMP and another template than before.
fn to_furnish(inventory: &Inventory, change: &Change) -> Option<u32> {
    let Change::Device { id, device } = change else { return None };
    let before = inventory.devices().get(*id);
    let is_other = before.is_none_or(|before| before.template != device.template || before.access.version.is_some());
    (device.access.version.is_none() && device.template.is_some() && is_other).then_some(*id)
}
