//! The inventory: devices, what stands on them, how it is read and shown.
//!
//! ```text
//!  site <--- device ---> credential            tree
//!              ^                                 ^
//!        +-----+------+                        node: folder, device, site, graph, rule
//!       row        source ---> row               |
//!   (Gi0/1 of      (one file) <------- graph <---+
//!    interfaces)
//! ```
//!
//! The state is the fold of all [`Entry`]s ([`Inventory::apply`]), and [`Inventory::snapshot`] tells it in records for
//! a fast start. Orders of people and programs ([`order`]) are checked and become entries, or are refused with a word
//! that says what is wrong. A walk of a table becomes entries, too ([`remap`]): rows keep their series whatever their
//! index is. [`Search`] finds graphs by what stands in their titles.
//!
//! **Identifiers** are numbers from 1 on, given once and never again. **Names** are unique where people expect it:
//! devices, sites, credentials, trees, folders beside each other, rows of a table.
//!
//! **Secrets** stand in [`Credentials`] alone; nothing prints them.

pub mod around;
mod behind;
mod credential;
mod device;
mod entry;
mod fold;
mod glob;
mod index;
pub mod order;
pub mod remap;
mod search;
mod shape;
mod slots;
mod snapshot;
mod title;
mod tree;

pub use behind::Behind;
pub use credential::{Authentication, Credential, Credentials, Login, Privacy, Secret};
pub use device::{Access, Availability, Device, DeviceState, Observed, PROBES_MAX, Probe, ROUNDS, Version};
pub use entry::{Broken, Change, ENTRY_VERSION, Entry};
pub use glob::Glob;
pub use order::Refusal;
pub use search::{Found, SEARCH_OCTETS_MAX, Search};
pub use shape::{Graph, Identity, Kind, Row, Site, Source, Template};
pub use slots::Slots;
pub use snapshot::{NoSnapshot, Restoring};
pub use title::Fields;
pub use tree::{Filter, GroupBy, Node, NodeKind, Tree};

use crate::network::Network;
use around::Around;
use index::Indexes;
use std::sync::{Arc, OnceLock};

/// Devices.
// Limit: devices
// Beyond: a further device is refused
// Seen in: the error message
pub const DEVICES_MAX: u32 = 1_000_000;
/// Rows of tables, data sources, graphs, and nodes of trees, each.
// Limit: table rows, data sources, graphs and tree nodes, each
// Beyond: a further one is refused
// Seen in: the error message
pub const ROWS_MAX: u32 = 20_000_000;
/// Sites, credentials, trees, names of templates, each.
// Limit: sites, credentials, trees and names of templates, each
// Beyond: a further one is refused
// Seen in: the error message
pub const NAMES_MAX: u32 = 100_000;
/// Octets of a name.
pub const NAME_OCTETS_MAX: usize = 255;
/// Octets of a note, a description, a label.
pub const NOTE_OCTETS_MAX: usize = 64 << 10;
/// Data sources of one graph.
// Limit: data sources of one graph
// Beyond: the graph is refused
// Seen in: the error message
pub const GRAPH_SOURCES_MAX: usize = 10_000;
/// Octets of an entry as it is written: a record of the log.
pub const ENTRY_OCTETS_MAX: usize = 1 << 20;

/// All that is known.
#[derive(Clone, Debug, Default)]
pub struct Inventory {
    sequence: u64,
    credentials: Credentials,
    sites: Slots<Site>,
    templates: Slots<Template>,
    devices: Slots<Device>,
    observed: std::collections::BTreeMap<u32, Observed>,
    around: std::collections::BTreeMap<u32, Around>,
    /// Hosts and stations of all of them.
    hosts: usize,
    stations: usize,
    rows: Slots<Row>,
    sources: Slots<Source>,
    graphs: Slots<Graph>,
    trees: Slots<Tree>,
    nodes: Slots<Node>,
    indexes: Indexes,
    /// What follows from what is around devices, since the last change: made when somebody asks.
    network: OnceLock<Arc<Network>>,
}

/// What is told is the same; how it is found again follows from that.
impl PartialEq for Inventory {
    fn eq(&self, other: &Self) -> bool {
        self.sequence == other.sequence
            && self.credentials == other.credentials
            && self.sites == other.sites
            && self.templates == other.templates
            && self.devices == other.devices
            && self.observed == other.observed
            && self.around == other.around
            && self.rows == other.rows
            && self.sources == other.sources
            && self.graphs == other.graphs
            && self.trees == other.trees
            && self.nodes == other.nodes
    }
}

impl Inventory {
    /// The number of the last entry; 0 before the first.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Credentials, with their secrets.
    pub fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    /// Sites.
    pub fn sites(&self) -> &Slots<Site> {
        &self.sites
    }

    /// Names of templates, tables and fields, by the numbers that stand for them here.
    pub fn templates(&self) -> &Slots<Template> {
        &self.templates
    }

    /// Devices.
    pub fn devices(&self) -> &Slots<Device> {
        &self.devices
    }

    /// What a device said of itself; none until it has answered.
    pub fn observed(&self, device: u32) -> Option<&Observed> {
        self.observed.get(&device)
    }

    /// What is around a device; none until that was walked.
    pub fn around(&self, device: u32) -> Option<&Around> {
        self.around.get(&device)
    }

    /// All devices around which something is known.
    pub fn surroundings(&self) -> impl Iterator<Item = (u32, &Around)> {
        self.around.iter().map(|(device, around)| (*device, around))
    }

    /// Hosts that are known of all devices together.
    pub fn hosts_total(&self) -> usize {
        self.hosts
    }

    /// Stations that are known of all devices together, whose they are and where they were learned.
    pub fn stations_total(&self) -> usize {
        self.stations
    }

    /// Links, addresses and networks of all devices.
    pub fn network(&self) -> Arc<Network> {
        Arc::clone(self.network.get_or_init(|| Arc::new(Network::of(self))))
    }

    /// Rows of tables.
    pub fn rows(&self) -> &Slots<Row> {
        &self.rows
    }

    /// Data sources.
    pub fn sources(&self) -> &Slots<Source> {
        &self.sources
    }

    /// Graphs.
    pub fn graphs(&self) -> &Slots<Graph> {
        &self.graphs
    }

    /// Trees.
    pub fn trees(&self) -> &Slots<Tree> {
        &self.trees
    }

    /// Nodes of trees.
    pub fn nodes(&self) -> &Slots<Node> {
        &self.nodes
    }

    /// The device of that name.
    pub fn device_named(&self, name: &str) -> Option<u32> {
        self.indexes.name(Kind::Device, name)
    }

    /// The site, credential or tree of that name, or the number that stands for a template, a table or a field.
    pub fn named(&self, kind: Kind, name: &str) -> Option<u32> {
        self.indexes.name(kind, name)
    }

    /// The name that stands behind the number of a template, a table or a field.
    pub fn template_name(&self, id: u32) -> Option<&str> {
        self.templates.get(id).map(|template| &*template.name)
    }

    /// The rows of a device, in the order of their numbers.
    pub fn rows_of(&self, device: u32) -> &[u32] {
        self.indexes.of(device).map_or(&[], |of| &of.rows)
    }

    /// The data sources of a device.
    pub fn sources_of(&self, device: u32) -> &[u32] {
        self.indexes.of(device).map_or(&[], |of| &of.sources)
    }

    /// The graphs with a data source of a device.
    pub fn graphs_of(&self, device: u32) -> &[u32] {
        self.indexes.of(device).map_or(&[], |of| &of.graphs)
    }

    /// The row of that name in a table of a device.
    pub fn row_named(&self, device: u32, table: u32, name: &str) -> Option<u32> {
        self.indexes.row(device, table, name)
    }

    /// The data source of a template for a device or a row of it.
    pub fn source_for(&self, device: u32, template: u32, row: Option<u32>) -> Option<u32> {
        self.indexes.source(device, template, row)
    }

    /// The device that a graph is of: that of its first data source.
    pub fn device_of_graph(&self, graph: u32) -> Option<u32> {
        let first = *self.graphs.get(graph)?.sources.first()?;
        Some(self.sources.get(first)?.device)
    }
}

#[cfg(test)]
mod tests;
