//! What follows from the inventory and finds things in it.

use super::shape::{Graph, Kind, Row, Source};
use super::tree::{Node, NodeKind};
use std::collections::{BTreeMap, HashMap};

/// Places of things by what they are asked by.
#[derive(Clone, Debug, Default)]
pub(super) struct Indexes {
    names: BTreeMap<Kind, HashMap<Box<str>, u32>>,
    devices: HashMap<u32, OfDevice>,
    rows: HashMap<(u32, u32, Box<str>), u32>,
    sources: HashMap<(u32, u32, Option<u32>), u32>,
    children: HashMap<(u32, Option<u32>), Vec<u32>>,
    targets: HashMap<(Kind, u32), Vec<u32>>,
    graph_nodes: HashMap<u32, Vec<u32>>,
}

/// What is of a device.
#[derive(Clone, Debug, Default)]
pub(super) struct OfDevice {
    pub rows: Vec<u32>,
    pub sources: Vec<u32>,
    pub graphs: Vec<u32>,
}

impl Indexes {
    pub fn name(&self, kind: Kind, name: &str) -> Option<u32> {
        self.names.get(&kind)?.get(name).copied()
    }

    pub fn put_name(&mut self, kind: Kind, name: &str, id: u32) {
        self.names.entry(kind).or_default().insert(name.into(), id);
    }

    pub fn remove_name(&mut self, kind: Kind, name: &str) {
        if let Some(names) = self.names.get_mut(&kind) {
            names.remove(name);
        }
    }

    pub fn of(&self, device: u32) -> Option<&OfDevice> {
        self.devices.get(&device)
    }

    /// Takes away all that is known of a device.
    pub fn remove_device(&mut self, device: u32) -> OfDevice {
        self.devices.remove(&device).unwrap_or_default()
    }

    pub fn source(&self, device: u32, template: u32, row: Option<u32>) -> Option<u32> {
        self.sources.get(&(device, template, row)).copied()
    }

    pub fn row(&self, device: u32, table: u32, name: &str) -> Option<u32> {
        self.rows.get(&(device, table, name.into())).copied()
    }

    pub fn put_row(&mut self, id: u32, row: &Row) {
        self.rows.insert((row.device, row.table, row.name.clone()), id);
        insert(&mut self.devices.entry(row.device).or_default().rows, id);
    }

    pub fn remove_row(&mut self, id: u32, row: &Row) {
        self.rows.remove(&(row.device, row.table, row.name.clone()));
        if let Some(of) = self.devices.get_mut(&row.device) {
            remove(&mut of.rows, id);
        }
    }

    pub fn put_source(&mut self, id: u32, source: &Source) {
        self.sources.insert((source.device, source.template, source.row), id);
        insert(&mut self.devices.entry(source.device).or_default().sources, id);
    }

    pub fn remove_source(&mut self, id: u32, source: &Source) {
        self.sources.remove(&(source.device, source.template, source.row));
        if let Some(of) = self.devices.get_mut(&source.device) {
            remove(&mut of.sources, id);
        }
    }

    /// `device` says of which device a source is.
    pub fn put_graph(&mut self, id: u32, graph: &Graph, device: impl Fn(u32) -> Option<u32>) {
        for device in graph.sources.iter().filter_map(|source| device(*source)) {
            insert(&mut self.devices.entry(device).or_default().graphs, id);
        }
    }

    pub fn remove_graph(&mut self, id: u32, graph: &Graph, device: impl Fn(u32) -> Option<u32>) {
        for device in graph.sources.iter().filter_map(|source| device(*source)) {
            if let Some(of) = self.devices.get_mut(&device) {
                remove(&mut of.graphs, id);
            }
        }
    }

    pub fn children(&self, tree: u32, parent: Option<u32>) -> &[u32] {
        self.children.get(&(tree, parent)).map_or(&[], |children| children)
    }

    /// The nodes that are a device or a site.
    pub fn nodes_of(&self, kind: Kind, id: u32) -> Vec<u32> {
        self.targets.get(&(kind, id)).cloned().unwrap_or_default()
    }

    /// The nodes that are a graph.
    pub fn nodes_of_graph(&self, graph: u32) -> Vec<u32> {
        self.graph_nodes.get(&graph).cloned().unwrap_or_default()
    }

    pub fn put_node(&mut self, id: u32, node: &Node) {
        insert(self.children.entry((node.tree, node.parent)).or_default(), id);
        match &node.kind {
            NodeKind::Device { device, .. } => insert(self.targets.entry((Kind::Device, *device)).or_default(), id),
            NodeKind::Site { site } => insert(self.targets.entry((Kind::Site, *site)).or_default(), id),
            NodeKind::Graph { graph } => insert(self.graph_nodes.entry(*graph).or_default(), id),
            NodeKind::Folder { .. } | NodeKind::Rule { .. } => {}
        }
    }

    pub fn remove_node(&mut self, id: u32, node: &Node) {
        remove_from(&mut self.children, &(node.tree, node.parent), id);
        match &node.kind {
            NodeKind::Device { device, .. } => remove_from(&mut self.targets, &(Kind::Device, *device), id),
            NodeKind::Site { site } => remove_from(&mut self.targets, &(Kind::Site, *site), id),
            NodeKind::Graph { graph } => remove_from(&mut self.graph_nodes, graph, id),
            NodeKind::Folder { .. } | NodeKind::Rule { .. } => {}
        }
    }
}

/// Numbers are given in their order: a new one belongs to the end nearly always.
fn insert(ids: &mut Vec<u32>, id: u32) {
    if let Err(at) = ids.binary_search(&id) {
        ids.insert(at, id);
    }
}

fn remove(ids: &mut Vec<u32>, id: u32) {
    if let Ok(at) = ids.binary_search(&id) {
        ids.remove(at);
    }
}

fn remove_from<K: core::hash::Hash + Eq>(map: &mut HashMap<K, Vec<u32>>, key: &K, id: u32) {
    if let Some(ids) = map.get_mut(key) {
        remove(ids, id);
        if ids.is_empty() {
            map.remove(key);
        }
    }
}
