//! What entries do to the inventory, and which are refused.

mod check;

use super::entry::{Change, Entry};
use super::shape::{Graph, Kind};
use super::tree::{Node, NodeKind};
use super::{Inventory, Row, Source};

/// Why a change is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no such thing.
    #[error("there is no {what} {id}")]
    Unknown {
        /// What it should be.
        what: &'static str,
        /// Its number.
        id: u32,
    },
    /// Something else has that name.
    #[error("a {what} '{name}' exists already")]
    NameTaken {
        /// What has it.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// There are as many as there can be.
    #[error("more than {max} {what}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many there can be.
        max: u64,
    },
    /// It is needed.
    #[error("{what} is used by {by}")]
    Used {
        /// What.
        what: String,
        /// By what.
        by: String,
    },
    /// Something in it is wrong.
    #[error("{0}")]
    Wrong(String),
    /// An entry that does not follow the last one.
    #[error("entry {found} follows entry {last}")]
    OutOfOrder {
        /// The last entry.
        last: u64,
        /// The one that came.
        found: u64,
    },
}

impl Inventory {
    /// Does what an entry says.
    ///
    /// # Errors
    /// It is not one that was made for this state: from then on the state is that of no log, and not to be used.
    pub fn apply(&mut self, entry: &Entry) -> Result<(), Refusal> {
        if entry.sequence != self.sequence + 1 {
            return Err(Refusal::OutOfOrder { last: self.sequence, found: entry.sequence });
        }
        for change in &entry.changes {
            self.try_change(change)?;
        }
        self.sequence = entry.sequence;
        Ok(())
    }

    /// Entries up to one are gone, which a repair of the log gave up. Those behind are to be
    /// [applied](Self::apply_behind_a_gap) until it is [filled](Self::filled).
    pub fn give_up_to(&mut self, sequence: u64) {
        self.sequence = self.sequence.max(sequence);
        self.gap();
    }

    /// Does what an entry says behind others that are gone: what it says of things that only those knew is left out.
    /// How many of its changes those are.
    ///
    /// # Errors
    /// It is not the next one.
    pub fn apply_behind_a_gap(&mut self, entry: &Entry) -> Result<u64, Refusal> {
        if entry.sequence != self.sequence + 1 {
            return Err(Refusal::OutOfOrder { last: self.sequence, found: entry.sequence });
        }
        self.sequence = entry.sequence;
        Ok(entry.changes.iter().map(|change| u64::from(self.try_change(change).is_err())).sum())
    }

    /// Does one change, if it can be done; else all stays as it is.
    ///
    /// # Errors
    /// It cannot be done, and why.
    pub fn try_change(&mut self, change: &Change) -> Result<(), Refusal> {
        self.check(change)?;
        self.fold(change);
        Ok(())
    }

    /// Does what a change says that was checked.
    pub(super) fn fold(&mut self, change: &Change) {
        self.network.take();
        match change {
            Change::Credential { id, credential } => {
                self.rename(Kind::Credential, self.credentials.get(*id).map(|c| c.name.clone()), &credential.name, *id);
                self.credentials.put(*id, (**credential).clone());
            }
            Change::CredentialGone { id } => {
                if let Some(credential) = self.credentials.remove(*id) {
                    self.indexes.remove_name(Kind::Credential, &credential.name);
                }
            }
            Change::Site { id, site } => {
                self.rename(Kind::Site, self.sites.get(*id).map(|site| site.name.clone()), &site.name, *id);
                self.sites.put(*id, (**site).clone());
            }
            Change::SiteGone { id } => self.remove_site(*id),
            Change::Template { id, template } => {
                self.rename(template.kind, self.templates.get(*id).map(|t| t.name.clone()), &template.name, *id);
                self.templates.put(*id, template.clone());
            }
            Change::Device { id, device } => {
                self.rename(Kind::Device, self.devices.get(*id).map(|device| device.name.clone()), &device.name, *id);
                self.devices.put(*id, (**device).clone());
            }
            Change::DeviceGone { id } => self.remove_device(*id),
            Change::Observed { device, observed } => drop(self.observed.insert(*device, (**observed).clone())),
            Change::Row { id, row } => self.put_row(*id, row),
            Change::RowMoved { id, index } => {
                if let Some(row) = self.rows.get_mut(*id) {
                    row.index.clone_from(index);
                }
            }
            Change::RowGone { id } => self.remove_row(*id),
            Change::Source { id, source } => self.put_source(*id, source),
            Change::SourceGone { id } => self.remove_source(*id),
            Change::Graph { id, graph } => self.put_graph(*id, graph),
            Change::GraphGone { id } => self.remove_graph(*id),
            Change::Tree { id, tree } => {
                self.rename(Kind::Tree, self.trees.get(*id).map(|tree| tree.name.clone()), &tree.name, *id);
                self.trees.put(*id, tree.clone());
            }
            Change::TreeGone { id } => self.remove_tree(*id),
            Change::Node { id, node } => self.put_node(*id, node),
            Change::NodeGone { id } => self.remove_node(*id),
            Change::Neighbours { device, neighbours } => {
                self.around.entry(*device).or_default().neighbours = (**neighbours).clone();
            }
            Change::Addresses { device, addresses } => {
                self.around.entry(*device).or_default().addresses = (**addresses).clone();
            }
            Change::Hosts { device, hosts } => {
                let kept = &mut self.around.entry(*device).or_default().hosts;
                self.hosts = self.hosts - kept.count() + hosts.count();
                *kept = (**hosts).clone();
            }
            Change::Stations { device, stations } => {
                let kept = &mut self.around.entry(*device).or_default().stations;
                self.stations = self.stations - kept.count() + stations.count();
                *kept = (**stations).clone();
            }
        }
    }

    fn rename(&mut self, kind: Kind, before: Option<Box<str>>, name: &str, id: u32) {
        if let Some(before) = before {
            self.indexes.remove_name(kind, &before);
        }
        self.indexes.put_name(kind, name, id);
    }

    fn remove_site(&mut self, id: u32) {
        if let Some(site) = self.sites.remove(id) {
            self.indexes.remove_name(Kind::Site, &site.name);
        }
        let of_site: Vec<u32> = self.devices.iter().filter(|(_, d)| d.site == Some(id)).map(|(id, _)| id).collect();
        for device in of_site {
            if let Some(device) = self.devices.get_mut(device) {
                device.site = None;
            }
        }
        for node in self.indexes.nodes_of(Kind::Site, id) {
            self.remove_node(node);
        }
        self.forget_in_rules(|filter| filter.site == Some(id));
    }

    /// Rules that are for what is gone take nothing: they go, too.
    fn forget_in_rules(&mut self, gone: impl Fn(&super::Filter) -> bool) {
        let rule = |node: &Node| matches!(&node.kind, NodeKind::Rule { filter, .. } if gone(filter));
        let rules: Vec<u32> = self.nodes.iter().filter(|(_, node)| rule(node)).map(|(id, _)| id).collect();
        for node in rules {
            self.remove_node(node);
        }
    }

    fn remove_device(&mut self, id: u32) {
        let Some(device) = self.devices.remove(id) else { return };
        self.indexes.remove_name(Kind::Device, &device.name);
        self.observed.remove(&id);
        if let Some(around) = self.around.remove(&id) {
            self.hosts -= around.hosts.count();
            self.stations -= around.stations.count();
        }
        let sources = self.sources_of(id).to_vec();
        let rows = self.rows_of(id).to_vec();
        for source in sources {
            self.remove_source(source);
        }
        for row in rows {
            self.remove_row(row);
        }
        self.indexes.remove_device(id);
        for node in self.indexes.nodes_of(Kind::Device, id) {
            self.remove_node(node);
        }
        let behind: Vec<u32> =
            self.devices.iter().filter(|(_, other)| other.behind.contains(&id)).map(|(id, _)| id).collect();
        for other in behind {
            if let Some(other) = self.devices.get_mut(other) {
                other.behind.retain(|before| *before != id);
            }
        }
    }

    fn put_row(&mut self, id: u32, row: &Row) {
        if let Some(before) = self.rows.put(id, row.clone()) {
            self.indexes.remove_row(id, &before);
        }
        self.indexes.put_row(id, row);
    }

    fn remove_row(&mut self, id: u32) {
        let Some(row) = self.rows.remove(id) else { return };
        self.indexes.remove_row(id, &row);
        let of_row = |source: &u32| self.sources.get(*source).is_some_and(|source| source.row == Some(id));
        let sources: Vec<u32> = self.sources_of(row.device).iter().copied().filter(of_row).collect();
        for source in sources {
            self.remove_source(source);
        }
    }

    fn put_source(&mut self, id: u32, source: &Source) {
        if let Some(before) = self.sources.put(id, source.clone()) {
            self.indexes.remove_source(id, &before);
        }
        self.indexes.put_source(id, source);
    }

    fn remove_source(&mut self, id: u32) {
        let Some(source) = self.sources.get(id) else { return };
        let of_source = |graph: &u32| self.graphs.get(*graph).is_some_and(|graph| graph.sources.contains(&id));
        let graphs: Vec<u32> = self.graphs_of(source.device).iter().copied().filter(of_source).collect();
        for graph in graphs {
            let Some(mut left) = self.graphs.get(graph).cloned() else { continue };
            left.sources.retain(|other| *other != id);
            if left.sources.is_empty() {
                self.remove_graph(graph);
            } else {
                self.put_graph(graph, &left);
            }
        }
        if let Some(source) = self.sources.remove(id) {
            self.indexes.remove_source(id, &source);
        }
    }

    fn put_graph(&mut self, id: u32, graph: &Graph) {
        let device = |source: u32| self.sources.get(source).map(|source| source.device);
        if let Some(before) = self.graphs.put(id, graph.clone()) {
            self.indexes.remove_graph(id, &before, device);
        }
        let device = |source: u32| self.sources.get(source).map(|source| source.device);
        self.indexes.put_graph(id, graph, device);
    }

    fn remove_graph(&mut self, id: u32) {
        if let Some(graph) = self.graphs.remove(id) {
            let device = |source: u32| self.sources.get(source).map(|source| source.device);
            self.indexes.remove_graph(id, &graph, device);
        }
        for node in self.indexes.nodes_of_graph(id) {
            self.remove_node(node);
        }
    }

    fn remove_tree(&mut self, id: u32) {
        if let Some(tree) = self.trees.remove(id) {
            self.indexes.remove_name(Kind::Tree, &tree.name);
        }
        for node in self.indexes.children(id, None).to_vec() {
            self.remove_node(node);
        }
    }

    fn put_node(&mut self, id: u32, node: &Node) {
        if let Some(before) = self.nodes.put(id, node.clone()) {
            self.indexes.remove_node(id, &before);
        }
        self.indexes.put_node(id, node);
    }

    /// With those in it. A folder is never in itself, so that this comes to an end.
    fn remove_node(&mut self, id: u32) {
        let mut waiting = vec![id];
        while let Some(id) = waiting.pop() {
            if let Some(node) = self.nodes.remove(id) {
                self.indexes.remove_node(id, &node);
                waiting.extend_from_slice(self.indexes.children(node.tree, Some(id)));
            }
        }
    }
}
