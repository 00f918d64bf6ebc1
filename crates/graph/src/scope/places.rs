//! Trees and places in them that are seen.

use super::bits::Bits;
use super::seen::{Level, said};
use crate::inventory::{Filter, Inventory, Node, NodeKind};

/// Places that are seen.
#[derive(Debug, Default)]
pub(super) struct Places {
    pub nodes: Bits,
    pub trees: Bits,
}

/// What is known when places are looked for.
pub(super) struct Shown<'s> {
    pub inventory: &'s Inventory,
    pub everything: bool,
    pub levels: &'s [Level],
    pub devices: &'s Bits,
    pub graphs: &'s Bits,
}

impl Shown<'_> {
    /// Those with something in them that is seen, and the way there.
    pub fn places(&self) -> Places {
        let mut places = Places::default();
        for (id, node) in self.inventory.nodes().iter() {
            let said = said(self.levels, |taken| taken.nodes.has(id));
            if said != Some(false) && self.shows(id, node, said.unwrap_or(self.everything)) {
                places.put(self.inventory, id);
            }
        }
        for (id, _) in self.inventory.trees().iter() {
            let is_open = said(self.levels, |taken| taken.trees.has(id)).unwrap_or(self.everything);
            if is_open && self.inventory.children(id, None).is_empty() {
                places.trees.put(id);
            }
        }
        places
    }

    /// Whether there is something in it, or nothing at all and it `is_open`. What is in folders shows them itself.
    fn shows(&self, id: u32, node: &Node, is_open: bool) -> bool {
        match &node.kind {
            NodeKind::Folder { .. } => is_open && self.inventory.children(node.tree, Some(id)).is_empty(),
            NodeKind::Device { device, .. } => self.devices.has(*device),
            NodeKind::Graph { graph } => self.graphs.has(*graph),
            NodeKind::Site { site } => {
                let devices = self.inventory.devices().iter();
                let mut of_site = devices.filter(|(_, device)| device.site == Some(*site)).map(|(id, _)| id).peekable();
                (is_open && of_site.peek().is_none()) || of_site.any(|device| self.devices.has(device))
            }
            NodeKind::Rule { filter, .. } => self.shows_rule(filter, is_open),
        }
    }

    fn shows_rule(&self, filter: &Filter, is_open: bool) -> bool {
        let mut is_empty = true;
        for (id, _) in self.inventory.devices().iter().filter(|device| filter.takes_device(device.1)) {
            for graph in self.inventory.graphs_of(id) {
                let is_taken = self.inventory.device_of_graph(*graph) == Some(id)
                    && filter.takes_of_device(self.inventory, *graph);
                if is_taken && self.graphs.has(*graph) {
                    return true;
                }
                is_empty &= !is_taken;
            }
        }
        is_open && is_empty
    }
}

impl Places {
    /// A place and the folders that it is in.
    fn put(&mut self, inventory: &Inventory, id: u32) {
        let mut at = Some(id);
        while let Some(node) = at.filter(|id| self.nodes.put(*id)).and_then(|id| inventory.nodes().get(id)) {
            self.trees.put(node.tree);
            at = node.parent;
        }
    }
}
