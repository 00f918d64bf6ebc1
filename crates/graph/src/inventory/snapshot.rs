//! The inventory in records, for a start without all entries.
//!
//! ```text
//! record   version u8, piece: its number u8, its fields
//! pieces   next (how far numbers of each kind are given), then all, what is named before what names it, then end
//! ```

use super::around::{Around, Stations};
use super::entry::{Change, ENTRY_VERSION};
use super::{Inventory, Slots};
use trunkline_kit::octet_variants;
use trunkline_kit::octets::Octets;

/// Octets that are no snapshot, or not all of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a whole snapshot of this version of the inventory")]
pub struct NoSnapshot;

enum Piece {
    /// Up to where numbers are given, kind by kind.
    Next { numbers: Vec<u32> },
    /// Something that is there, as the change that made it.
    There { change: Change },
    /// All was told.
    End { sequence: u64 },
}

octet_variants! {
    Piece {
        1 => Next { numbers }
        2 => There { change }
        3 => End { sequence }
    }
}

impl Inventory {
    /// Tells the inventory, a record at a time.
    ///
    /// # Errors
    /// What `put` says, and then nothing more is told.
    pub fn snapshot<E>(&self, mut put: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let mut tell = |piece: Piece| {
            let mut record = vec![ENTRY_VERSION];
            piece.put(&mut record);
            put(&record)
        };
        tell(Piece::Next { numbers: self.numbers() })?;
        let mut there = |change: Change| tell(Piece::There { change });
        for (id, credential) in self.credentials.iter() {
            there(Change::Credential { id, credential: Box::new(credential.clone()) })?;
        }
        for (id, site) in self.sites.iter() {
            there(Change::Site { id, site: Box::new(site.clone()) })?;
        }
        for (id, template) in self.templates.iter() {
            there(Change::Template { id, template: template.clone() })?;
        }
        self.snapshot_devices(&mut there)?;
        for (id, row) in self.rows.iter() {
            there(Change::Row { id, row: Box::new(row.clone()) })?;
        }
        for (id, source) in self.sources.iter() {
            there(Change::Source { id, source: source.clone() })?;
        }
        for (id, graph) in self.graphs.iter() {
            there(Change::Graph { id, graph: graph.clone() })?;
        }
        for (id, tree) in self.trees.iter() {
            there(Change::Tree { id, tree: tree.clone() })?;
        }
        self.snapshot_nodes(&mut there)?;
        self.snapshot_around(&mut there)?;
        tell(Piece::End { sequence: self.sequence })
    }

    /// Devices first without those on the way to them, whose numbers may be higher.
    fn snapshot_devices<E>(&self, there: &mut impl FnMut(Change) -> Result<(), E>) -> Result<(), E> {
        for (id, device) in self.devices.iter() {
            there(Change::Device { id, device: Box::new(super::Device { behind: Vec::new(), ..device.clone() }) })?;
        }
        for (id, device) in self.devices.iter().filter(|(_, device)| !device.behind.is_empty()) {
            there(Change::Device { id, device: Box::new(device.clone()) })?;
        }
        for (device, observed) in &self.observed {
            there(Change::Observed { device: *device, observed: Box::new(observed.clone()) })?;
        }
        Ok(())
    }

    /// What is around devices, where there is anything.
    fn snapshot_around<E>(&self, there: &mut impl FnMut(Change) -> Result<(), E>) -> Result<(), E> {
        for (device, around) in self.surroundings() {
            let Around { neighbours, addresses, hosts, stations } = around.clone();
            there(Change::Neighbours { device, neighbours: Box::new(neighbours) })?;
            there(Change::Addresses { device, addresses: Box::new(addresses) })?;
            there(Change::Hosts { device, hosts: Box::new(hosts) })?;
            if stations != Stations::default() {
                there(Change::Stations { device, stations: Box::new(stations) })?;
            }
        }
        Ok(())
    }

    /// Folders before what is in them.
    fn snapshot_nodes<E>(&self, there: &mut impl FnMut(Change) -> Result<(), E>) -> Result<(), E> {
        for (tree, _) in self.trees.iter() {
            let mut waiting = self.indexes.children(tree, None).to_vec();
            while let Some(id) = waiting.pop() {
                if let Some(node) = self.nodes.get(id) {
                    there(Change::Node { id, node: Box::new(node.clone()) })?;
                    waiting.extend_from_slice(self.indexes.children(tree, Some(id)));
                }
            }
        }
        Ok(())
    }

    /// Entries are gone: things may have been put and removed that nobody knows of.
    pub(super) fn gap(&mut self) {
        self.credentials.gap();
        self.sites.gap();
        self.templates.gap();
        self.devices.gap();
        self.rows.gap();
        self.sources.gap();
        self.graphs.gap();
        self.trees.gap();
        self.nodes.gap();
    }

    /// A snapshot, or entries behind others that are gone, are read to their end.
    pub fn filled(&mut self) {
        self.credentials.filled();
        self.sites.filled();
        self.templates.filled();
        self.devices.filled();
        self.rows.filled();
        self.sources.filled();
        self.graphs.filled();
        self.trees.filled();
        self.nodes.filled();
    }

    fn numbers(&self) -> Vec<u32> {
        vec![
            self.credentials.next(),
            self.sites.next(),
            self.templates.next(),
            self.devices.next(),
            self.rows.next(),
            self.sources.next(),
            self.graphs.next(),
            self.trees.next(),
            self.nodes.next(),
        ]
    }
}

/// An inventory that is being read from the records of a snapshot.
#[derive(Debug, Default)]
pub struct Restoring {
    inventory: Inventory,
    begun: bool,
    ended: bool,
}

impl Restoring {
    /// Takes the next record.
    ///
    /// # Errors
    /// It is none of a snapshot, or does not belong here.
    pub fn take(&mut self, record: &[u8]) -> Result<(), NoSnapshot> {
        let (version, rest) = record.split_first().ok_or(NoSnapshot)?;
        let piece = Piece::of_octets(rest).filter(|_| *version == ENTRY_VERSION && !self.ended);
        match piece.ok_or(NoSnapshot)? {
            Piece::Next { numbers } if !self.begun => {
                self.begun = true;
                self.begin(&numbers)
            }
            Piece::There { change } if self.begun => {
                let gone = matches!(
                    change,
                    Change::CredentialGone { .. }
                        | Change::SiteGone { .. }
                        | Change::DeviceGone { .. }
                        | Change::RowGone { .. }
                        | Change::RowMoved { .. }
                        | Change::SourceGone { .. }
                        | Change::GraphGone { .. }
                        | Change::TreeGone { .. }
                        | Change::NodeGone { .. }
                );
                if gone {
                    return Err(NoSnapshot);
                }
                self.inventory.check(&change).map_err(|_| NoSnapshot)?;
                self.inventory.fold(&change);
                Ok(())
            }
            Piece::End { sequence } if self.begun => {
                self.ended = true;
                self.inventory.sequence = sequence;
                self.inventory.filled();
                Ok(())
            }
            _ => Err(NoSnapshot),
        }
    }

    /// Takes over up to where numbers of each kind are given.
    fn begin(&mut self, numbers: &[u32]) -> Result<(), NoSnapshot> {
        let &[credentials, sites, templates, devices, rows, sources, graphs, trees, nodes] = numbers else {
            return Err(NoSnapshot);
        };
        let inventory = &mut self.inventory;
        fill(&mut inventory.credentials, credentials, super::NAMES_MAX)?;
        fill(&mut inventory.sites, sites, super::NAMES_MAX)?;
        fill(&mut inventory.templates, templates, super::NAMES_MAX)?;
        fill(&mut inventory.devices, devices, super::DEVICES_MAX)?;
        fill(&mut inventory.rows, rows, super::ROWS_MAX)?;
        fill(&mut inventory.sources, sources, super::ROWS_MAX)?;
        fill(&mut inventory.graphs, graphs, super::ROWS_MAX)?;
        fill(&mut inventory.trees, trees, super::NAMES_MAX)?;
        fill(&mut inventory.nodes, nodes, super::ROWS_MAX)
    }

    /// The inventory, if all of it was told.
    ///
    /// # Errors
    /// Something is missing.
    pub fn inventory(self) -> Result<Inventory, NoSnapshot> {
        if self.ended { Ok(self.inventory) } else { Err(NoSnapshot) }
    }
}

fn fill<T>(slots: &mut Slots<T>, next: u32, max: u32) -> Result<(), NoSnapshot> {
    if next == 0 || next > max + 1 {
        return Err(NoSnapshot);
    }
    slots.fill(next);
    Ok(())
}
