//! Orders: what people and programs want, as changes that the state takes, or a refusal that says what is wrong.

use super::entry::Change;
use super::shape::{Graph, Kind, Row, Source, Template};
use super::{Credential, Device, DeviceState, Inventory, NAMES_MAX, Node, ROWS_MAX, Site, Tree};
use crate::template::{DataTemplate, Library};
use std::collections::HashMap;

pub use super::fold::Refusal;

/// What is wanted. A thing without a number is made.
#[derive(Clone, Debug, PartialEq)]
pub enum Order {
    /// A credential is made or changed.
    Credential(Option<u32>, Credential),
    /// It goes.
    RemoveCredential(u32),
    /// A site is made or changed.
    Site(Option<u32>, Site),
    /// It goes.
    RemoveSite(u32),
    /// A device is made or changed.
    Device(Option<u32>, Device),
    /// A device is made, with the device template of that name.
    AddDevice(Device, String),
    /// Devices go, with all that is of them.
    RemoveDevices(Vec<u32>),
    /// Devices are polled, are quiet, or are not polled.
    SetState(Vec<u32>, DeviceState),
    /// Devices, each once, are reached through others from now on, or by themselves: while those are down, they do not
    /// alarm.
    SetBehind(Vec<(u32, Vec<u32>)>),
    /// A device gets the data sources and graphs of its template, for the rows that it has at present; what is there
    /// already stays.
    ApplyTemplate(u32),
    /// A device gets the data sources and graphs of one graph template, for one row or for all that it is for.
    AddGraphs {
        /// The device.
        device: u32,
        /// The graph template.
        template: String,
        /// The row; none is all.
        row: Option<u32>,
    },
    /// A graph of data sources that are there, also of several devices (an aggregate).
    Graph {
        /// Its number; none makes one.
        id: Option<u32>,
        /// The graph template.
        template: String,
        /// Its own title.
        title: Option<String>,
        /// Its data sources.
        sources: Vec<u32>,
    },
    /// Graphs go; their data sources stay.
    RemoveGraphs(Vec<u32>),
    /// Data sources go, with their files.
    RemoveSources(Vec<u32>),
    /// Data sources are read, or not.
    SetActive(Vec<u32>, bool),
    /// What a data source says itself, for `|argument.NAME|` of its template: names and values.
    SetArguments(u32, Vec<(Box<str>, Box<str>)>),
    /// A row is forgotten, with its data sources.
    RemoveRows(Vec<u32>),
    /// A tree is made or changed.
    Tree(Option<u32>, Tree),
    /// It goes, with its nodes.
    RemoveTree(u32),
    /// A node is made, changed or moved.
    Node(Option<u32>, Node),
    /// A node stands elsewhere in its tree.
    MoveNode {
        /// The node.
        id: u32,
        /// The folder that it is to be in; none is the tree itself.
        parent: Option<u32>,
        /// The neighbour that it is to stand before; none is behind all.
        before: Option<u32>,
    },
    /// It goes, with those in it.
    RemoveNode(u32),
}

impl Inventory {
    /// What an order changes; nothing if all is so already. The changes are to be applied to this state.
    ///
    /// # Errors
    /// It cannot be done, and why.
    pub fn order(&self, library: &Library, order: &Order) -> Result<Vec<Change>, Refusal> {
        let mut draft = Draft::new(self);
        match order {
            Order::ApplyTemplate(device) => draft.apply_template(library, *device, &|_| true)?,
            Order::AddGraphs { device, template, row } => {
                draft.add_graphs(library, *device, template, *row, &|_| true)?;
            }
            Order::Graph { id, template, title, sources } => {
                if !library.graphs.contains_key(template) {
                    return Err(unknown(Kind::GraphTemplate, template));
                }
                self.fits(library, template, sources)?;
                self.check_shown(sources, title.as_deref())?;
                if let Some(id) = id.filter(|id| !self.graphs.has(*id)) {
                    return Err(Refusal::Unknown { what: "graph", id });
                }
                let template = draft.named(Kind::GraphTemplate, template);
                let graph = Graph { template, title: title.as_deref().map(Into::into), sources: sources.clone() };
                draft.graph(*id, graph);
            }
            Order::AddDevice(device, template) => {
                if !library.devices.contains_key(template) {
                    return Err(unknown(Kind::DeviceTemplate, template));
                }
                let template = Some(draft.named(Kind::DeviceTemplate, template));
                let device = Box::new(Device { template, ..device.clone() });
                draft.change(Change::Device { id: self.devices.next(), device });
                draft.limits()?;
                // Its template may be new here: what makes the changes looks at the rest.
                return Ok(draft.changes());
            }
            Order::SetBehind(all) => {
                // Each change may be wrong before the one before it was made: all are looked at together.
                self.check_behind(all)?;
                self.change_behind(all).into_iter().for_each(|change| draft.change(change));
                draft.limits()?;
                return Ok(draft.changes());
            }
            other => {
                for change in self.plain(other) {
                    draft.change(change);
                }
            }
        }
        draft.limits()?;
        let changes = draft.changes();
        self.try_out(&changes)?;
        Ok(changes)
    }

    /// What a device is to get of its template: all data sources, and graphs of those that have said something; what
    /// is there already stays.
    ///
    /// # Errors
    /// As [`Order::ApplyTemplate`].
    pub fn furnish(&self, library: &Library, device: u32, said: &dyn Fn(u32) -> bool) -> Result<Vec<Change>, Refusal> {
        let mut draft = Draft::new(self);
        draft.apply_template(library, device, said)?;
        draft.limits()?;
        Ok(draft.changes())
    }

    /// Orders that are changes of things that are there.
    fn plain(&self, order: &Order) -> Vec<Change> {
        let all = |ids: &[u32], change: fn(u32) -> Change| ids.iter().copied().map(change).collect();
        match order {
            Order::Credential(id, credential) => {
                let id = id.unwrap_or(self.credentials.next());
                vec![Change::Credential { id, credential: Box::new(credential.clone()) }]
            }
            Order::RemoveCredential(id) => vec![Change::CredentialGone { id: *id }],
            Order::Site(id, site) => {
                vec![Change::Site { id: id.unwrap_or(self.sites.next()), site: Box::new(site.clone()) }]
            }
            Order::RemoveSite(id) => vec![Change::SiteGone { id: *id }],
            Order::Device(id, device) => {
                vec![Change::Device { id: id.unwrap_or(self.devices.next()), device: Box::new(device.clone()) }]
            }
            Order::RemoveDevices(ids) => all(ids, |id| Change::DeviceGone { id }),
            Order::SetState(ids, state) => self.set_state(ids, *state),
            Order::RemoveGraphs(ids) => all(ids, |id| Change::GraphGone { id }),
            Order::RemoveSources(ids) => all(ids, |id| Change::SourceGone { id }),
            Order::SetActive(ids, active) => self.set_active(ids, *active),
            Order::SetArguments(id, arguments) => match self.sources.get(*id) {
                Some(source) => {
                    vec![Change::Source { id: *id, source: Source { arguments: arguments.clone(), ..source.clone() } }]
                }
                None => vec![Change::SourceGone { id: *id }],
            },
            Order::RemoveRows(ids) => all(ids, |id| Change::RowGone { id }),
            Order::Tree(id, tree) => vec![Change::Tree { id: id.unwrap_or(self.trees.next()), tree: tree.clone() }],
            Order::RemoveTree(id) => vec![Change::TreeGone { id: *id }],
            Order::Node(id, node) => {
                vec![Change::Node { id: id.unwrap_or(self.nodes.next()), node: Box::new(node.clone()) }]
            }
            Order::MoveNode { id, parent, before } => self.moved(*id, *parent, *before),
            Order::RemoveNode(id) => vec![Change::NodeGone { id: *id }],
            Order::AddDevice(..)
            | Order::SetBehind(_)
            | Order::ApplyTemplate(_)
            | Order::AddGraphs { .. }
            | Order::Graph { .. } => Vec::new(),
        }
    }

    /// The node in its new place, and those of its neighbours whose numbers are others then.
    fn moved(&self, id: u32, parent: Option<u32>, before: Option<u32>) -> Vec<Change> {
        // That there is none is told by what checks it.
        let Some(node) = self.nodes.get(id) else { return vec![Change::NodeGone { id }] };
        let mut all = self.children(node.tree, parent);
        all.retain(|other| *other != id);
        let place = before.and_then(|before| all.iter().position(|other| *other == before)).unwrap_or(all.len());
        all.insert(place, id);
        let renumbered = all.iter().zip(0u32..).filter_map(|(other, order)| {
            let there = self.nodes.get(*other)?;
            let parent = if *other == id { parent } else { there.parent };
            let is_so = there.order == order && there.parent == parent;
            let node = || Box::new(Node { order, parent, ..there.clone() });
            (!is_so).then(|| Change::Node { id: *other, node: node() })
        });
        renumbered.collect()
    }

    fn set_state(&self, ids: &[u32], state: DeviceState) -> Vec<Change> {
        let changed = |id: &u32| match self.devices.get(*id) {
            Some(device) if device.state == state => None,
            Some(device) => Some(Change::Device { id: *id, device: Box::new(Device { state, ..device.clone() }) }),
            // That there is none is told by what checks it.
            None => Some(Change::DeviceGone { id: *id }),
        };
        ids.iter().filter_map(changed).collect()
    }

    fn set_active(&self, ids: &[u32], active: bool) -> Vec<Change> {
        let changed = |id: &u32| match self.sources.get(*id) {
            Some(source) if source.active == active => None,
            Some(source) => Some(Change::Source { id: *id, source: Source { active, ..source.clone() } }),
            None => Some(Change::SourceGone { id: *id }),
        };
        ids.iter().filter_map(changed).collect()
    }

    /// Data sources that a graph template can show.
    fn fits(&self, library: &Library, template: &str, sources: &[u32]) -> Result<(), Refusal> {
        let shown = library.graphs.get(template).map(|graph| graph.data()).unwrap_or_default();
        for id in sources {
            let source = self.sources.get(*id).ok_or(Refusal::Unknown { what: "data source", id: *id })?;
            let data = self.template_name(source.template).unwrap_or_default();
            if !shown.contains(&data) {
                return Err(Refusal::Wrong(format!("graph template '{template}' does not show '{data}'")));
            }
        }
        Ok(())
    }

    /// Whether changes can be made one after the other. Those that are of things that are there need no copy of the
    /// state; what an order makes anew refers to itself.
    fn try_out(&self, changes: &[Change]) -> Result<(), Refusal> {
        let alone = |change: &Change| {
            !matches!(
                change,
                Change::Template { .. } | Change::Source { .. } | Change::Graph { .. } | Change::Row { .. }
            )
        };
        let mut gone = std::collections::HashSet::new();
        for change in changes {
            if alone(change) || changes.len() == 1 {
                self.check(change)?;
            }
            if let Change::DeviceGone { id }
            | Change::GraphGone { id }
            | Change::SourceGone { id }
            | Change::RowGone { id } = change
                && !gone.insert(*id)
            {
                return Err(Refusal::Wrong(format!("{id} stands there twice")));
            }
        }
        Ok(())
    }
}

fn unknown(kind: Kind, name: &str) -> Refusal {
    Refusal::Wrong(format!("there is no {} '{name}'", kind.name()))
}

/// Changes that are being made, with the numbers that new things get.
pub struct Draft<'i> {
    inventory: &'i Inventory,
    changes: Vec<Change>,
    named: HashMap<(Kind, Box<str>), u32>,
    sources: HashMap<(u32, u32, Option<u32>), u32>,
    next: Next,
}

/// The numbers that the next new things get.
struct Next {
    template: u32,
    row: u32,
    source: u32,
    graph: u32,
}

impl<'i> Draft<'i> {
    /// Changes to be made to that state.
    pub fn new(inventory: &'i Inventory) -> Self {
        let next = Next {
            template: inventory.templates.next(),
            row: inventory.rows.next(),
            source: inventory.sources.next(),
            graph: inventory.graphs.next(),
        };
        Draft { inventory, changes: Vec::new(), named: HashMap::new(), sources: HashMap::new(), next }
    }

    /// The changes so far, in their order.
    pub fn changes(self) -> Vec<Change> {
        self.changes
    }

    /// A change of something that is there.
    pub fn change(&mut self, change: Change) {
        self.changes.push(change);
    }

    /// The number that stands for a name; a new one if there is none yet.
    pub fn named(&mut self, kind: Kind, name: &str) -> u32 {
        let known = self.inventory.named(kind, name).or_else(|| self.named.get(&(kind, name.into())).copied());
        known.unwrap_or_else(|| {
            let id = self.next.template;
            self.next.template += 1;
            self.named.insert((kind, name.into()), id);
            self.changes.push(Change::Template { id, template: Template { kind, name: name.into() } });
            id
        })
    }

    /// A new row.
    pub fn row(&mut self, row: Row) -> u32 {
        let id = self.next.row;
        self.next.row += 1;
        self.changes.push(Change::Row { id, row: Box::new(row) });
        id
    }

    /// The data source of a template for a device or a row of it; a new one if there is none yet.
    pub fn source(&mut self, device: u32, template: u32, row: Option<u32>) -> u32 {
        let key = (device, template, row);
        let known = self.inventory.source_for(device, template, row).or_else(|| self.sources.get(&key).copied());
        known.unwrap_or_else(|| self.new_source(Source { device, template, row, active: true, arguments: Vec::new() }))
    }

    /// A new data source.
    pub fn new_source(&mut self, source: Source) -> u32 {
        let id = self.next.source;
        self.next.source += 1;
        self.sources.insert((source.device, source.template, source.row), id);
        self.changes.push(Change::Source { id, source });
        id
    }

    /// A graph; a new one without a number.
    pub fn graph(&mut self, id: Option<u32>, graph: Graph) -> u32 {
        let id = id.unwrap_or_else(|| {
            self.next.graph += 1;
            self.next.graph - 1
        });
        self.changes.push(Change::Graph { id, graph });
        id
    }

    /// Whether there is room for what is new.
    fn limits(&self) -> Result<(), Refusal> {
        for (what, next, max) in [
            ("templates", self.next.template, NAMES_MAX),
            ("rows", self.next.row, ROWS_MAX),
            ("data sources", self.next.source, ROWS_MAX),
            ("graphs", self.next.graph, ROWS_MAX),
        ] {
            if next > max + 1 {
                return Err(Refusal::TooMany { what, max: max.into() });
            }
        }
        Ok(())
    }

    /// Graphs are made where one of their data sources is wanted.
    fn apply_template(&mut self, library: &Library, device: u32, wanted: &dyn Fn(u32) -> bool) -> Result<(), Refusal> {
        let inventory = self.inventory;
        let found = inventory.devices.get(device).ok_or(Refusal::Unknown { what: "device", id: device })?;
        let name = found.template.and_then(|id| inventory.template_name(id));
        let name = name.ok_or_else(|| Refusal::Wrong(format!("device '{}' has no template", found.name)))?;
        let template = library.devices.get(name).ok_or_else(|| unknown(Kind::DeviceTemplate, name))?;
        for data in &template.data {
            for row in self.rows_for(library, device, data) {
                let data = self.named(Kind::DataTemplate, data);
                self.source(device, data, row);
            }
        }
        template.graphs.iter().try_for_each(|graph| self.add_graphs(library, device, graph, None, wanted))
    }

    /// Graphs of a template for a device, one for each row that all of its data templates are for.
    fn add_graphs(
        &mut self,
        library: &Library,
        device: u32,
        graph: &str,
        row: Option<u32>,
        wanted: &dyn Fn(u32) -> bool,
    ) -> Result<(), Refusal> {
        let template = library.graphs.get(graph).ok_or_else(|| unknown(Kind::GraphTemplate, graph))?;
        if !self.inventory.devices.has(device) {
            return Err(Refusal::Unknown { what: "device", id: device });
        }
        let data = template.data();
        let mut rows: Option<Vec<Option<u32>>> = None;
        for name in &data {
            let of_table = library.data.get(*name).is_some_and(|data| data.table.is_some());
            let these = self.rows_for(library, device, name);
            rows = match rows {
                None if of_table => Some(these),
                Some(both) if of_table => Some(both.into_iter().filter(|row| these.contains(row)).collect()),
                rows => rows,
            };
        }
        let mut rows = rows.unwrap_or_else(|| vec![None]);
        if row.is_some() {
            rows.retain(|there| *there == row);
            if rows.is_empty() {
                return Err(Refusal::Wrong(format!("graph template '{graph}' is not for that row")));
            }
        }
        if data.iter().any(|name| !self.is_for(library, device, name)) {
            return Ok(());
        }
        for row in rows {
            let sources = self.sources_of_graph(library, device, &data, row);
            if sources.iter().any(|source| wanted(*source)) {
                self.add_graph(device, graph, sources);
            }
        }
        Ok(())
    }

    fn sources_of_graph(&mut self, library: &Library, device: u32, data: &[&str], row: Option<u32>) -> Vec<u32> {
        let mut sources = Vec::new();
        for name in data {
            let of_table = library.data.get(*name).is_some_and(|data| data.table.is_some());
            let template = self.named(Kind::DataTemplate, name);
            sources.push(self.source(device, template, row.filter(|_| of_table)));
        }
        sources
    }

    fn add_graph(&mut self, device: u32, graph: &str, sources: Vec<u32>) {
        let template = self.named(Kind::GraphTemplate, graph);
        let there = self.inventory.graphs_of(device).iter().filter_map(|id| self.inventory.graphs.get(*id));
        if !there.clone().any(|graph| graph.template == template && graph.sources == sources) {
            self.graph(None, Graph { template, title: None, sources });
        }
    }

    /// Whether a data template is for devices of that kind; one that has not told what it is gets all.
    fn is_for(&self, library: &Library, device: u32, data: &str) -> bool {
        let object = self.inventory.observed(device).and_then(|o| crate::template::Oid::parse(&o.object));
        match (library.data.get(data), object) {
            (Some(data), Some(object)) => data.is_for(&object),
            (data, None) => data.is_some(),
            (None, _) => false,
        }
    }

    /// The rows of a device that a data template is for and that are there at present; of one without a table, the
    /// device itself.
    fn rows_for(&self, library: &Library, device: u32, data: &str) -> Vec<Option<u32>> {
        let Some(template) = library.data.get(data) else { return Vec::new() };
        let Some(table) = &template.table else { return vec![None] };
        let Some(table) = self.inventory.named(Kind::Table, table) else { return Vec::new() };
        let rows = self.inventory.rows_of(device).iter().copied();
        rows.filter(|id| self.counts(template, device, table, *id)).map(Some).collect()
    }

    fn counts(&self, template: &DataTemplate, device: u32, table: u32, id: u32) -> bool {
        let of_table = |row: &&Row| row.table == table && row.index.is_some();
        let fields = self.inventory.fields(device, Some(id));
        self.inventory.rows.get(id).filter(of_table).is_some()
            && template.only.iter().all(|condition| condition.holds(fields.get(&condition.field)))
    }
}
