//! Whether a change can be: names, numbers and limits.

use super::Refusal;
use crate::inventory::around::{ADDRESSES_MAX, HOSTS_MAX, NEIGHBOURS_MAX, STATIONS_MAX};
use crate::inventory::behind::Behind;
use crate::inventory::entry::Change;
use crate::inventory::shape::{Graph, Kind, Row, Site, Source, Template};
use crate::inventory::tree::{Node, NodeKind};
use crate::inventory::{
    DEVICES_MAX, Device, GRAPH_SOURCES_MAX, Inventory, NAME_OCTETS_MAX, NAMES_MAX, NOTE_OCTETS_MAX, ROWS_MAX, Slots,
};
use std::collections::HashSet;

/// Fields of a row, data sources' arguments, devices on the way to one, probes of one.
const LIST_MAX: usize = 1024;
/// Folders in folders.
const DEPTH_MAX: usize = 32;

type Checked = Result<(), Refusal>;

impl Inventory {
    /// Whether a change can be made to this state.
    pub(in crate::inventory) fn check(&self, change: &Change) -> Checked {
        match change {
            Change::Credential { id, credential } => {
                place("credential", *id, &self.credentials, NAMES_MAX)?;
                self.name(Kind::Credential, &credential.name, *id)?;
                if let Some(wrong) = credential.login.wrong() {
                    return Err(Refusal::Wrong(wrong.to_owned()));
                }
                self.fits_devices(*id, credential)
            }
            Change::CredentialGone { id } => self.unused_credential(*id),
            Change::Site { id, site } => self.check_site(*id, site),
            Change::SiteGone { id } => known("site", *id, &self.sites),
            Change::Template { id, template } => self.check_template(*id, template),
            Change::Device { id, device } => self.check_device(*id, device),
            Change::DeviceGone { id } => known("device", *id, &self.devices),
            Change::Observed { device, observed } => {
                known("device", *device, &self.devices)?;
                let texts = [&observed.object, &observed.name, &observed.description, &observed.location];
                texts.into_iter().chain([&observed.contact]).try_for_each(|text| note(text))
            }
            Change::Row { id, row } => self.check_row(*id, row),
            Change::RowMoved { id, index } => {
                known("row", *id, &self.rows)?;
                index.as_deref().map_or(Ok(()), check_index)
            }
            Change::RowGone { id } => known("row", *id, &self.rows),
            Change::Source { id, source } => self.check_source(*id, source),
            Change::SourceGone { id } => known("data source", *id, &self.sources),
            Change::Graph { id, graph } => self.check_graph(*id, graph),
            Change::GraphGone { id } => known("graph", *id, &self.graphs),
            Change::Tree { id, tree } => {
                place("tree", *id, &self.trees, NAMES_MAX)?;
                self.name(Kind::Tree, &tree.name, *id)
            }
            Change::TreeGone { id } => known("tree", *id, &self.trees),
            Change::Node { id, node } => self.check_node(*id, node),
            Change::NodeGone { id } => known("node", *id, &self.nodes),
            Change::Neighbours { device, neighbours } => {
                most("neighbours of a device", neighbours.all.len(), NEIGHBOURS_MAX)?;
                known("device", *device, &self.devices)
            }
            Change::Addresses { device, addresses } => {
                most("addresses of a device", addresses.all.len(), ADDRESSES_MAX)?;
                known("device", *device, &self.devices)
            }
            Change::Hosts { device, hosts } => {
                most("hosts of a device", hosts.count(), HOSTS_MAX)?;
                known("device", *device, &self.devices)
            }
            Change::Stations { device, stations } => {
                most("stations of a device", stations.count(), 2 * STATIONS_MAX)?;
                known("device", *device, &self.devices)
            }
        }
    }

    /// A name that nothing else of its kind has.
    fn name(&self, kind: Kind, name: &str, id: u32) -> Checked {
        check_name(kind.name(), name)?;
        match self.named(kind, name) {
            Some(other) if other != id => Err(Refusal::NameTaken { what: kind.name(), name: name.to_owned() }),
            _ => Ok(()),
        }
    }

    /// Devices that have a credential can be asked with what it is now.
    fn fits_devices(&self, id: u32, credential: &crate::inventory::Credential) -> Checked {
        let same = |before: &crate::inventory::Credential| {
            core::mem::discriminant(&before.login) == core::mem::discriminant(&credential.login)
        };
        match self.credentials.get(id) {
            Some(before) if !same(before) => self.unused_credential(id),
            _ => Ok(()),
        }
    }

    fn unused_credential(&self, id: u32) -> Checked {
        known("credential", id, &self.credentials)?;
        match self.devices.iter().find(|(_, device)| device.access.credential == Some(id)) {
            Some((_, device)) => {
                let name = self.credentials.get(id).map(|credential| credential.name.to_string()).unwrap_or_default();
                Err(Refusal::Used { what: format!("credential '{name}'"), by: format!("device '{}'", device.name) })
            }
            None => Ok(()),
        }
    }

    fn check_site(&self, id: u32, site: &Site) -> Checked {
        place("site", id, &self.sites, NAMES_MAX)?;
        self.name(Kind::Site, &site.name, id)?;
        let on_earth = |(north, east): (f64, f64)| (-90.0..=90.0).contains(&north) && (-180.0..=180.0).contains(&east);
        if !site.position.is_none_or(on_earth) {
            return Err(Refusal::Wrong("a position is -90 to 90 degrees north, -180 to 180 degrees east".to_owned()));
        }
        note(&site.address)?;
        note(&site.notes)
    }

    fn check_template(&self, id: u32, template: &Template) -> Checked {
        place("template", id, &self.templates, NAMES_MAX)?;
        if self.templates.get(id).is_some_and(|before| before.kind != template.kind) {
            return Err(Refusal::Wrong(format!("{id} is not a {}", template.kind.name())));
        }
        if matches!(template.kind, Kind::Device | Kind::Site | Kind::Credential | Kind::Tree) {
            return Err(Refusal::Wrong(format!("a {} is no template", template.kind.name())));
        }
        self.name(template.kind, &template.name, id)
    }

    /// The number stands for a name of that kind.
    fn stands_for(&self, id: u32, kind: Kind) -> Checked {
        let right = self.templates.get(id).is_some_and(|template| template.kind == kind);
        if right { Ok(()) } else { Err(Refusal::Unknown { what: kind.name(), id }) }
    }

    fn check_device(&self, id: u32, device: &Device) -> Checked {
        place("device", id, &self.devices, DEVICES_MAX)?;
        self.name(Kind::Device, &device.name, id)?;
        if let Some(site) = device.site {
            known("site", site, &self.sites)?;
        }
        if let Some(credential) = device.access.credential {
            known("credential", credential, &self.credentials)?;
        }
        if let Some(template) = device.template {
            self.stands_for(template, Kind::DeviceTemplate)?;
        }
        if let Some(wrong) = device.wrong(&self.credentials) {
            return Err(Refusal::Wrong(wrong));
        }
        few("devices on the way to one", device.behind.len())?;
        few("probes", device.availability.probes.len())?;
        for before in &device.behind {
            known("device", *before, &self.devices)?;
        }
        if Behind::of(self).is_round(id, &device.behind) {
            return Err(round(&device.name));
        }
        note(&device.notes)
    }

    /// Whether devices can be behind others, all of them at once.
    pub(in crate::inventory) fn check_behind(&self, all: &[(u32, Vec<u32>)]) -> Checked {
        let mut then = Behind::of(self);
        for (id, behind) in all {
            few("devices on the way to one", behind.len())?;
            [id].into_iter().chain(behind).try_for_each(|id| known("device", *id, &self.devices))?;
            if then.set(*id, behind.clone()) {
                return Err(Refusal::Wrong(format!("device {id} stands there twice")));
            }
        }
        for (id, behind) in all {
            if let Some(device) = self.devices.get(*id).filter(|_| then.is_round(*id, behind)) {
                return Err(round(&device.name));
            }
        }
        Ok(())
    }

    fn check_row(&self, id: u32, row: &Row) -> Checked {
        place("rows", id, &self.rows, ROWS_MAX)?;
        known("device", row.device, &self.devices)?;
        self.stands_for(row.table, Kind::Table)?;
        check_name("row", &row.name)?;
        row.index.as_deref().map_or(Ok(()), check_index)?;
        let stays = |before: &Row| (before.device, before.table) == (row.device, row.table);
        if !self.rows.get(id).is_none_or(stays) {
            return Err(Refusal::Wrong("a row stays in its table".to_owned()));
        }
        let another = self.row_named(row.device, row.table, &row.name).is_some_and(|other| other != id);
        if another {
            return Err(Refusal::NameTaken { what: "row", name: row.name.to_string() });
        }
        few("fields of a row", row.fields.len())?;
        for (field, text) in &row.fields {
            self.stands_for(*field, Kind::Field)?;
            note(text)?;
        }
        [&row.identity.name, &row.identity.second, &row.identity.mark, &row.label].into_iter().try_for_each(|t| note(t))
    }

    fn check_source(&self, id: u32, source: &Source) -> Checked {
        place("data sources", id, &self.sources, ROWS_MAX)?;
        known("device", source.device, &self.devices)?;
        self.stands_for(source.template, Kind::DataTemplate)?;
        if let Some(row) = source.row {
            let of_device = self.rows.get(row).is_some_and(|row| row.device == source.device);
            if !of_device {
                return Err(Refusal::Unknown { what: "row of that device", id: row });
            }
        }
        let stays = |before: &Source| before.device == source.device && before.row == source.row;
        if !self.sources.get(id).is_none_or(stays) {
            return Err(Refusal::Wrong("a data source stays with its device and row: another one is made".to_owned()));
        }
        if self.source_for(source.device, source.template, source.row).is_some_and(|other| other != id) {
            let name = self.template_name(source.template).unwrap_or_default().to_owned();
            return Err(Refusal::NameTaken { what: "data source", name });
        }
        few("arguments", source.arguments.len())?;
        source.arguments.iter().try_for_each(|(name, value)| check_name("argument", name).and_then(|()| note(value)))
    }

    fn check_graph(&self, id: u32, graph: &Graph) -> Checked {
        place("graphs", id, &self.graphs, ROWS_MAX)?;
        self.stands_for(graph.template, Kind::GraphTemplate)?;
        self.check_shown(&graph.sources, graph.title.as_deref())
    }

    /// Whether a graph can be of those data sources and have that title.
    pub(in crate::inventory) fn check_shown(&self, sources: &[u32], title: Option<&str>) -> Checked {
        match sources.len() {
            0 => return Err(Refusal::Wrong("a graph needs a data source".to_owned())),
            1..=GRAPH_SOURCES_MAX => {}
            _ => return Err(Refusal::TooMany { what: "data sources of a graph", max: GRAPH_SOURCES_MAX as u64 }),
        }
        for source in sources {
            known("data source", *source, &self.sources)?;
        }
        if sources.iter().collect::<HashSet<_>>().len() < sources.len() {
            return Err(Refusal::Wrong("a graph has each data source once".to_owned()));
        }
        title.map_or(Ok(()), note)
    }

    fn check_node(&self, id: u32, node: &Node) -> Checked {
        place("nodes", id, &self.nodes, ROWS_MAX)?;
        known("tree", node.tree, &self.trees)?;
        if self.nodes.get(id).is_some_and(|before| before.tree != node.tree) {
            return Err(Refusal::Wrong("a node stays in its tree".to_owned()));
        }
        self.check_parents(id, node)?;
        match &node.kind {
            NodeKind::Folder { name } => {
                check_name("folder", name)?;
                let same = |other: &u32| {
                    let other = (*other != id).then(|| self.nodes.get(*other)).flatten();
                    other.is_some_and(|other| matches!(&other.kind, NodeKind::Folder { name: there } if there == name))
                };
                match self.indexes.children(node.tree, node.parent).iter().any(same) {
                    true => Err(Refusal::NameTaken { what: "folder", name: name.to_string() }),
                    false => Ok(()),
                }
            }
            NodeKind::Device { device, .. } => known("device", *device, &self.devices),
            NodeKind::Site { site } => known("site", *site, &self.sites),
            NodeKind::Graph { graph } => known("graph", *graph, &self.graphs),
            NodeKind::Rule { name, filter, .. } => {
                check_name("rule", name)?;
                note(&filter.device)?;
                note(&filter.row)?;
                for (kind, id) in Inventory::of_filter(filter) {
                    match (kind, id) {
                        (_, None) => {}
                        (Kind::Site, Some(site)) => known("site", site, &self.sites)?,
                        (kind, Some(id)) => self.stands_for(id, kind)?,
                    }
                }
                Ok(())
            }
        }
    }

    /// What a node is in is a folder of its tree, and not itself.
    fn check_parents(&self, id: u32, node: &Node) -> Checked {
        let (mut parent, mut depth) = (node.parent, 0);
        while let Some(above) = parent {
            let folder = self.nodes.get(above).filter(|folder| folder.tree == node.tree);
            let folder = folder.filter(|folder| matches!(folder.kind, NodeKind::Folder { .. }));
            parent = folder.ok_or(Refusal::Unknown { what: "folder of that tree", id: above })?.parent;
            depth += 1;
            if above == id {
                return Err(Refusal::Wrong("a folder cannot be in itself".to_owned()));
            }
            if depth > DEPTH_MAX {
                return Err(Refusal::TooMany { what: "folders in folders", max: DEPTH_MAX as u64 });
            }
        }
        let folder = matches!(node.kind, NodeKind::Folder { .. });
        if !folder && !self.indexes.children(node.tree, Some(id)).is_empty() {
            return Err(Refusal::Wrong("a folder that is not empty stays one".to_owned()));
        }
        Ok(())
    }
}

/// The number is that of something that is there, or the next one.
fn place<T>(what: &'static str, id: u32, slots: &Slots<T>, max: u32) -> Checked {
    match slots.fits(id) {
        true if id > max => Err(Refusal::TooMany { what, max: max.into() }),
        true => Ok(()),
        false => Err(Refusal::Unknown { what, id }),
    }
}

fn known<T>(what: &'static str, id: u32, slots: &Slots<T>) -> Checked {
    if slots.has(id) { Ok(()) } else { Err(Refusal::Unknown { what, id }) }
}

fn check_name(what: &str, name: &str) -> Checked {
    if name.trim().is_empty() || name.len() > NAME_OCTETS_MAX {
        return Err(Refusal::Wrong(format!("the name of a {what} has 1 to {NAME_OCTETS_MAX} octets")));
    }
    if name.chars().any(char::is_control) || name.trim() != name {
        let wrong = "has no control characters, and no blanks at its ends";
        return Err(Refusal::Wrong(format!("the name of a {what} {wrong}")));
    }
    Ok(())
}

fn check_index(index: &[u32]) -> Checked {
    let right = (1..=crate::template::OID_ARCS_MAX).contains(&index.len());
    if right { Ok(()) } else { Err(Refusal::Wrong("an index has 1 to 128 numbers".to_owned())) }
}

fn note(text: &str) -> Checked {
    match text.len() {
        0..=NOTE_OCTETS_MAX => Ok(()),
        _ => Err(Refusal::TooMany { what: "octets of a text", max: NOTE_OCTETS_MAX as u64 }),
    }
}

fn round(device: &str) -> Refusal {
    Refusal::Wrong(format!("'{device}' would depend on itself"))
}

fn few(what: &'static str, count: usize) -> Checked {
    most(what, count, LIST_MAX)
}

fn most(what: &'static str, count: usize, max: usize) -> Checked {
    if count <= max { Ok(()) } else { Err(Refusal::TooMany { what, max: max as u64 }) }
}
