//! What of an inventory a scope shows: found out once for each scope and inventory, and asked by number then.

use super::bits::Bits;
use super::places::Places;
use super::{Rule, Scope, Taken};
use crate::inventory::{Graph, Inventory, Search};
use crate::template::Library;
use std::sync::OnceLock;

/// What is seen.
#[derive(Debug, Default)]
pub struct Seen {
    everything: bool,
    levels: Vec<Level>,
    devices: Bits,
    graphs: Bits,
    sources: Bits,
    rows: Bits,
    /// Places are found out when somebody asks for them.
    places: OnceLock<Places>,
}

/// What rules of a level are about.
#[derive(Debug, Default)]
pub(super) struct Level {
    pub allow: Taken,
    pub deny: Taken,
}

/// What the first level says that speaks about something.
pub(super) fn said(levels: &[Level], is_about: impl Fn(&Taken) -> bool) -> Option<bool> {
    levels.iter().find_map(|level| match (is_about(&level.deny), is_about(&level.allow)) {
        (true, _) => Some(false),
        (false, true) => Some(true),
        (false, false) => None,
    })
}

impl Seen {
    /// What a scope shows of an inventory, of which `search` knows the titles.
    pub fn of(scope: &Scope, inventory: &Inventory, library: &Library, search: &Search) -> Seen {
        let taken = |rules: &[Rule], allow: bool| {
            let rules = rules.iter().filter(|rule| rule.allow == allow).map(|rule| &rule.what);
            Taken::by(rules, inventory, library, search)
        };
        let level = |rules: &Vec<Rule>| Level { allow: taken(rules, true), deny: taken(rules, false) };
        let levels: Vec<Level> = scope.levels.iter().map(level).collect();
        let mut seen = Seen { everything: scope.everything, levels, ..Seen::default() };
        let is_seen = |id: u32| said(&seen.levels, |taken| taken.devices.has(id)).unwrap_or(scope.everything);
        seen.devices = inventory.devices().iter().map(|(id, _)| id).filter(|id| is_seen(*id)).collect();
        let graphs = inventory.graphs().iter().filter(|(id, graph)| seen.shows(inventory, *id, graph));
        seen.graphs = graphs.map(|(id, _)| id).collect();
        seen.find_sources(inventory);
        seen
    }

    fn shows(&self, inventory: &Inventory, id: u32, graph: &Graph) -> bool {
        let devices = || graph.sources.iter().filter_map(|source| Some(inventory.sources().get(*source)?.device));
        for Level { allow, deny } in &self.levels {
            if deny.graphs.has(id) || devices().any(|device| deny.devices.has(device)) {
                return false;
            }
            let with_devices = devices().next().is_some() && devices().all(|device| allow.devices.has(device));
            if allow.graphs.has(id) || with_devices {
                return true;
            }
        }
        match devices().next() {
            Some(_) => devices().all(|device| self.devices.has(device)),
            None => self.everything,
        }
    }

    /// Data sources and rows of devices that are seen, but for those of which all graphs are hidden.
    fn find_sources(&mut self, inventory: &Inventory) {
        let (mut shown, mut hidden) = (Bits::default(), Bits::default());
        for (id, graph) in inventory.graphs().iter() {
            let bits = if self.graphs.has(id) { &mut shown } else { &mut hidden };
            bits.extend(graph.sources.iter().copied());
        }
        let (mut shown_rows, mut hidden_rows) = (Bits::default(), Bits::default());
        for (id, source) in inventory.sources().iter() {
            match (shown.has(id), hidden.has(id)) {
                (true, _) => shown_rows.extend(source.row),
                (false, true) => hidden_rows.extend(source.row),
                (false, false) => {}
            }
        }
        let is_shown = |row: u32| shown_rows.has(row) || !hidden_rows.has(row);
        let rows = inventory.rows().iter().filter(|(id, row)| self.devices.has(row.device) && is_shown(*id));
        self.rows = rows.map(|(id, _)| id).collect();
        let sources = inventory.sources().iter().filter(|(id, source)| {
            let is_bare = !hidden.has(*id) && source.row.is_none_or(is_shown);
            self.devices.has(source.device) && (shown.has(*id) || is_bare)
        });
        self.sources = sources.map(|(id, _)| id).collect();
    }

    /// Whether a device is.
    pub fn device(&self, id: u32) -> bool {
        self.devices.has(id)
    }

    /// Whether a graph is.
    pub fn graph(&self, id: u32) -> bool {
        self.graphs.has(id)
    }

    /// Whether a data source is, where its device is told.
    pub fn source(&self, id: u32) -> bool {
        self.sources.has(id)
    }

    /// Whether a row is.
    pub fn row(&self, id: u32) -> bool {
        self.rows.has(id)
    }

    /// Whether a place in a tree is, of the inventory that this was made of.
    pub fn node(&self, inventory: &Inventory, id: u32) -> bool {
        self.places(inventory).nodes.has(id)
    }

    /// Whether a tree is, of the inventory that this was made of.
    pub fn tree(&self, inventory: &Inventory, id: u32) -> bool {
        self.places(inventory).trees.has(id)
    }

    fn places(&self, inventory: &Inventory) -> &Places {
        self.places.get_or_init(|| {
            let shown = super::places::Shown {
                inventory,
                everything: self.everything,
                levels: &self.levels,
                devices: &self.devices,
                graphs: &self.graphs,
            };
            shown.places()
        })
    }

    /// The devices, in the order of their numbers.
    pub fn devices(&self) -> impl Iterator<Item = u32> {
        self.devices.iter()
    }

    /// The graphs, in the order of their numbers.
    pub fn graphs(&self) -> impl Iterator<Item = u32> {
        self.graphs.iter()
    }

    /// How many graphs.
    pub fn graphs_len(&self) -> usize {
        self.graphs.len()
    }

    /// How many data sources.
    pub fn sources_len(&self) -> usize {
        self.sources.len()
    }

    /// How many trees, of the inventory that this was made of.
    pub fn trees_len(&self, inventory: &Inventory) -> usize {
        self.places(inventory).trees.len()
    }
}
