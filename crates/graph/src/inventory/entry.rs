//! The entries of the inventory's log.

use super::around::{Addresses, Hosts, Neighbours, Stations};
use super::credential::Credential;
use super::device::{Device, Observed};
use super::shape::{Graph, Row, Site, Source, Template};
use super::tree::{Node, Tree};
use trunkline_kit::octets::Octets;
use trunkline_kit::{octet_fields, octet_variants};

/// The first octet of an entry. One that differs is refused: what was written is never guessed.
pub const ENTRY_VERSION: u8 = 1;

/// What changed at once.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its number, from 1 on, without gaps.
    pub sequence: u64,
    /// When, milliseconds of Unix time.
    pub at_ms: u64,
    /// Who: a user's name, or the part of the program.
    pub by: Box<str>,
    /// What, in order.
    pub changes: Vec<Change>,
}

/// A change. What a number stands for that is new gets the next number of its kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// A credential is made, or is another.
    Credential {
        /// Its number.
        id: u32,
        /// It.
        credential: Box<Credential>,
    },
    /// A credential is gone; no device may have it.
    CredentialGone {
        /// Its number.
        id: u32,
    },
    /// A site is made, or is another.
    Site {
        /// Its number.
        id: u32,
        /// It.
        site: Box<Site>,
    },
    /// A site is gone; devices of it have none, and its nodes go.
    SiteGone {
        /// Its number.
        id: u32,
    },
    /// A number stands for a name of the library of templates from now on, or for another one: a template was renamed.
    Template {
        /// The number.
        id: u32,
        /// The name.
        template: Template,
    },
    /// A device is made, or is another.
    Device {
        /// Its number.
        id: u32,
        /// It.
        device: Box<Device>,
    },
    /// A device is gone, with its rows, data sources, graphs of them alone, and nodes.
    DeviceGone {
        /// Its number.
        id: u32,
    },
    /// What a device says of itself is this from now on.
    Observed {
        /// The device.
        device: u32,
        /// What.
        observed: Box<Observed>,
    },
    /// A row is made, or what is known about it is different.
    Row {
        /// Its number.
        id: u32,
        /// It.
        row: Box<Row>,
    },
    /// A row is found at another index, or not at all.
    RowMoved {
        /// Its number.
        id: u32,
        /// Where.
        index: Option<Box<[u32]>>,
    },
    /// A row is forgotten, with its data sources, and graphs of them alone.
    RowGone {
        /// Its number.
        id: u32,
    },
    /// A data source is made, or is another.
    Source {
        /// Its number.
        id: u32,
        /// It.
        source: Source,
    },
    /// A data source is gone, with graphs of it alone.
    SourceGone {
        /// Its number.
        id: u32,
    },
    /// A graph is made, or is another.
    Graph {
        /// Its number.
        id: u32,
        /// It.
        graph: Graph,
    },
    /// A graph is gone, with its nodes.
    GraphGone {
        /// Its number.
        id: u32,
    },
    /// A tree is made, or is another.
    Tree {
        /// Its number.
        id: u32,
        /// It.
        tree: Tree,
    },
    /// A tree is gone, with its nodes.
    TreeGone {
        /// Its number.
        id: u32,
    },
    /// A node is made, or is another.
    Node {
        /// Its number.
        id: u32,
        /// It.
        node: Box<Node>,
    },
    /// A node is gone, with those in it.
    NodeGone {
        /// Its number.
        id: u32,
    },
    /// Who is next to a device is this from now on.
    Neighbours {
        /// The device.
        device: u32,
        /// Who.
        neighbours: Box<Neighbours>,
    },
    /// The addresses of a device are these from now on.
    Addresses {
        /// The device.
        device: u32,
        /// Which.
        addresses: Box<Addresses>,
    },
    /// The hosts that a device reaches are these from now on.
    Hosts {
        /// The device.
        device: u32,
        /// Which.
        hosts: Box<Hosts>,
    },
    /// The stations that a device knows by their hardware addresses are these from now on.
    Stations {
        /// The device.
        device: u32,
        /// Which.
        stations: Box<Stations>,
    },
}

octet_fields! { Entry { sequence, at_ms, by, changes } }
octet_variants! {
    Change {
        1 => Credential { id, credential }
        2 => CredentialGone { id }
        3 => Site { id, site }
        4 => SiteGone { id }
        5 => Template { id, template }
        6 => Device { id, device }
        7 => DeviceGone { id }
        8 => Observed { device, observed }
        9 => Row { id, row }
        10 => RowMoved { id, index }
        11 => RowGone { id }
        12 => Source { id, source }
        13 => SourceGone { id }
        14 => Graph { id, graph }
        15 => GraphGone { id }
        16 => Tree { id, tree }
        17 => TreeGone { id }
        18 => Node { id, node }
        19 => NodeGone { id }
        30 => Neighbours { device, neighbours }
        31 => Addresses { device, addresses }
        32 => Hosts { device, hosts }
        33 => Stations { device, stations }
    }
}

/// Octets that are no entry of this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an entry of this version of the inventory")]
pub struct Broken;

impl Entry {
    /// The octets of an entry.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![ENTRY_VERSION];
        self.put(&mut out);
        out
    }

    /// Reads an entry: all octets are its own.
    ///
    /// # Errors
    /// They are not one.
    pub fn decode(octets: &[u8]) -> Result<Entry, Broken> {
        let (version, rest) = octets.split_first().ok_or(Broken)?;
        let entry = (*version == ENTRY_VERSION).then(|| Entry::of_octets(rest)).flatten();
        entry.ok_or(Broken)
    }

    /// Cuts changes into entries that each fit a record of the log, numbered from `sequence` on.
    pub fn of_changes(sequence: u64, at_ms: u64, by: &str, changes: Vec<Change>) -> Vec<Entry> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut room = 0;
        for change in changes {
            let octets = change.octets().len();
            if octets > room || entries.is_empty() {
                let sequence = sequence + entries.len() as u64;
                entries.push(Entry { sequence, at_ms, by: by.into(), changes: Vec::new() });
                room = super::ENTRY_OCTETS_MAX - super::NAME_OCTETS_MAX - 64;
            }
            room = room.saturating_sub(octets);
            if let Some(entry) = entries.last_mut() {
                entry.changes.push(change);
            }
        }
        entries
    }
}
