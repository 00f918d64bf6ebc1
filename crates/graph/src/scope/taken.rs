//! What rules are about, in an inventory.

use super::What;
use super::bits::Bits;
use crate::inventory::{Glob, Inventory, Kind, NodeKind, Search};
use crate::template::Library;

/// Devices, graphs and places that rules are about.
#[derive(Clone, Debug, Default)]
pub struct Taken {
    pub(super) devices: Bits,
    /// Those that are meant by themselves or by a place; a device's go with the device.
    pub(super) graphs: Bits,
    pub(super) nodes: Bits,
    pub(super) trees: Bits,
}

impl Taken {
    /// By rules. Titles are known to `search`; those that are not are made.
    pub fn by<'r>(
        rules: impl Iterator<Item = &'r What>,
        inventory: &Inventory,
        library: &Library,
        search: &Search,
    ) -> Taken {
        let (mut taken, mut titles) = (Taken::default(), Vec::new());
        for what in rules {
            match what {
                What::GraphTitle(title) => titles.push(title),
                other => taken.take(other, inventory),
            }
        }
        taken.titles(&titles, inventory, library, search);
        taken
    }

    /// How many devices there are.
    pub fn devices(&self) -> usize {
        self.devices.len()
    }

    /// How many graphs there are, with those of the devices.
    pub fn graphs(&self, inventory: &Inventory) -> usize {
        let mut all = self.graphs.clone();
        all.extend(self.devices.iter().flat_map(|device| inventory.graphs_of(device).iter().copied()));
        all.len()
    }

    /// How many trees and places of them there are.
    pub fn places(&self) -> usize {
        self.trees.len() + self.nodes.len()
    }

    fn take(&mut self, what: &What, inventory: &Inventory) {
        match what {
            What::Device(id) => self.devices.extend(inventory.devices().has(*id).then_some(*id)),
            What::Graph(id) => self.graphs.extend(inventory.graphs().has(*id).then_some(*id)),
            // Titles are looked at together.
            What::GraphTitle(_) => {}
            What::DeviceName(name) => self.take_devices(inventory, |device| name.takes(&device.name)),
            What::Site(name) => {
                let sites: Bits = inventory.sites().iter().filter(|s| name.takes(&s.1.name)).map(|s| s.0).collect();
                self.take_devices(inventory, |device| device.site.is_some_and(|site| sites.has(site)));
            }
            What::DeviceTemplate(name) => {
                let templates = templates(inventory, Kind::DeviceTemplate, name);
                self.take_devices(inventory, |device| device.template.is_some_and(|id| templates.has(id)));
            }
            What::GraphTemplate(name) => {
                let templates = templates(inventory, Kind::GraphTemplate, name);
                let graphs = inventory.graphs().iter().filter(|graph| templates.has(graph.1.template));
                self.graphs.extend(graphs.map(|(id, _)| id));
            }
            What::Tree(name) => {
                for (id, _) in inventory.trees().iter().filter(|tree| name.takes(&tree.1.name)) {
                    self.trees.put(id);
                    self.take_places(inventory, inventory.children(id, None));
                }
            }
            What::Place(id) => self.take_places(inventory, vec![*id]),
        }
    }

    fn take_devices(&mut self, inventory: &Inventory, takes: impl Fn(&crate::inventory::Device) -> bool) {
        self.devices.extend(inventory.devices().iter().filter(|device| takes(device.1)).map(|(id, _)| id));
    }

    /// Places with all that is in them.
    fn take_places(&mut self, inventory: &Inventory, mut waiting: Vec<u32>) {
        while let Some(id) = waiting.pop() {
            let Some(node) = inventory.nodes().get(id).filter(|_| self.nodes.put(id)) else { continue };
            match &node.kind {
                NodeKind::Folder { .. } => waiting.extend(inventory.children(node.tree, Some(id))),
                NodeKind::Device { device, .. } => self.devices.extend([*device]),
                NodeKind::Site { site } => self.take_devices(inventory, |device| device.site == Some(*site)),
                NodeKind::Graph { graph } => self.graphs.extend([*graph]),
                NodeKind::Rule { filter, .. } => self.graphs.extend(filter.graphs(inventory, usize::MAX)),
            }
        }
    }

    fn titles(&mut self, titles: &[&Glob], inventory: &Inventory, library: &Library, search: &Search) {
        if titles.is_empty() {
            return;
        }
        for (id, _) in inventory.graphs().iter() {
            let known = search.whole_title(id);
            let made = || std::borrow::Cow::Owned(inventory.title(library, id));
            let title = known.map_or_else(made, std::borrow::Cow::Borrowed);
            if titles.iter().any(|pattern| pattern.takes(&title)) {
                self.graphs.put(id);
            }
        }
    }
}

/// The numbers that stand for templates of a kind.
fn templates(inventory: &Inventory, kind: Kind, name: &Glob) -> Bits {
    let all = inventory.templates().iter();
    all.filter(|(_, template)| template.kind == kind && name.takes(&template.name)).map(|(id, _)| id).collect()
}
