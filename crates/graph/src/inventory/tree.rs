//! Trees: folders of devices and graphs, and rules that fill them.

use super::{Device, Glob, Inventory, Kind};
use trunkline_kit::{octet_fields, octet_variants, octet_words};

/// A tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// Its name, unique.
    pub name: Box<str>,
    /// Its place among trees; the number decides among equals.
    pub order: u32,
}

/// A node of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The tree.
    pub tree: u32,
    /// The folder that it is in; none is the tree itself.
    pub parent: Option<u32>,
    /// Its place among its neighbours; the number decides among equals.
    pub order: u32,
    /// What it is.
    pub kind: NodeKind,
}

/// What a node is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// A folder.
    Folder {
        /// Its name, unique among its neighbours.
        name: Box<str>,
    },
    /// A device with all of its graphs.
    Device {
        /// The device.
        device: u32,
        /// How they stand.
        group: GroupBy,
    },
    /// A site with all of its devices.
    Site {
        /// The site.
        site: u32,
    },
    /// A graph.
    Graph {
        /// The graph.
        graph: u32,
    },
    /// All graphs that a filter takes, now and later.
    Rule {
        /// Its name.
        name: Box<str>,
        /// Which graphs.
        filter: Filter,
        /// How they stand.
        group: GroupBy,
    },
}

/// How graphs of a node stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupBy {
    /// One after the other.
    None,
    /// By graph template.
    Template,
    /// By row.
    Row,
    /// By device.
    Device,
    /// By site.
    Site,
}

/// Which graphs a rule takes: those that all of its parts take; a part that is empty takes all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// The device's name, with `*` and `?`.
    pub device: Box<str>,
    /// The device's site.
    pub site: Option<u32>,
    /// The device's template.
    pub device_template: Option<u32>,
    /// The graph template.
    pub template: Option<u32>,
    /// The row's name or label, with `*` and `?`.
    pub row: Box<str>,
}

impl Filter {
    /// Whether it takes a graph.
    pub fn takes(&self, inventory: &Inventory, graph: u32) -> bool {
        let device = inventory.device_of_graph(graph).and_then(|device| inventory.devices.get(device));
        device.is_some_and(|device| self.takes_device(device)) && self.takes_of_device(inventory, graph)
    }

    /// Whether it may take graphs of a device.
    pub fn takes_device(&self, device: &Device) -> bool {
        let same = |wanted: Option<u32>, there: Option<u32>| wanted.is_none() || wanted == there;
        same(self.site, device.site)
            && same(self.device_template, device.template)
            && (self.device.is_empty() || Glob::new(&self.device).takes(&device.name))
    }

    /// Whether it takes a graph, if it takes its device.
    pub fn takes_of_device(&self, inventory: &Inventory, graph: u32) -> bool {
        let Some(graph) = inventory.graphs.get(graph) else { return false };
        let row = Glob::new(&self.row);
        self.template.is_none_or(|template| template == graph.template)
            && (self.row.is_empty() || graph.sources.iter().any(|source| takes_row(&row, inventory, *source)))
    }

    /// The graphs that it takes, at most so many, in the order of their numbers.
    pub fn graphs(&self, inventory: &Inventory, limit: usize) -> Vec<u32> {
        let all = inventory.graphs.iter().map(|(id, _)| id);
        all.filter(|id| self.takes(inventory, *id)).take(limit).collect()
    }
}

fn takes_row(pattern: &Glob, inventory: &Inventory, source: u32) -> bool {
    let row = inventory.sources.get(source).and_then(|source| inventory.rows.get(source.row?));
    row.is_some_and(|row| pattern.takes(&row.name) || pattern.takes(&row.label))
}

impl Inventory {
    /// The nodes in a tree or a folder of it, in their order.
    pub fn children(&self, tree: u32, parent: Option<u32>) -> Vec<u32> {
        let mut children = self.indexes.children(tree, parent).to_vec();
        children.sort_by_key(|id| (self.nodes.get(*id).map(|node| node.order), *id));
        children
    }

    /// What a node is called: a folder's or rule's name, or that of its device or site; a graph has its title.
    pub fn node_name<'n>(&'n self, node: &'n Node) -> Option<&'n str> {
        match &node.kind {
            NodeKind::Folder { name } | NodeKind::Rule { name, .. } => Some(name),
            NodeKind::Device { device, .. } => self.devices.get(*device).map(|device| &*device.name),
            NodeKind::Site { site } => self.sites.get(*site).map(|site| &*site.name),
            NodeKind::Graph { .. } => None,
        }
    }

    /// The numbers and kinds of names that a filter refers to.
    pub(super) fn of_filter(filter: &Filter) -> [(Kind, Option<u32>); 3] {
        [
            (Kind::Site, filter.site),
            (Kind::DeviceTemplate, filter.device_template),
            (Kind::GraphTemplate, filter.template),
        ]
    }
}

octet_fields! {
    Tree { name, order }
    Node { tree, parent, order, kind }
    Filter { device, site, device_template, template, row }
}
octet_words! {
    GroupBy { 0 => None, 1 => Template, 2 => Row, 3 => Device, 4 => Site }
}
octet_variants! {
    NodeKind {
        1 => Folder { name }
        2 => Device { device, group }
        3 => Site { site }
        4 => Graph { graph }
        5 => Rule { name, filter, group }
    }
}
