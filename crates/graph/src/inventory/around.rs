//! What is around a device: its neighbours by LLDP (IEEE 802.1AB), its own addresses, those of the hosts that it
//! reaches by itself (ARP and neighbour discovery), and the stations that it forwards to.
//!
//! What was walked says interfaces by their index; what is kept says them by their row, which has the same number
//! whatever the index is. Each of the four becomes a change only where it differs from what is known.

use super::entry::Change;
use super::{Inventory, Kind, NAME_OCTETS_MAX};
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use trunkline_kit::octet_fields;
use trunkline_kit::octets::Octets;

/// Neighbours of a device; further ones are counted.
// Limit: neighbours of one device
// Beyond: further ones are counted
// Seen in: the device's page
pub const NEIGHBOURS_MAX: usize = 512;
/// Management addresses of a neighbour; further ones are left out.
pub const MANAGEMENT_MAX: usize = 16;
/// Addresses of a device; further ones are counted.
pub const ADDRESSES_MAX: usize = 2048;
/// Hosts that a device reaches; further ones are counted.
// Limit: hosts (ARP, ND) of one device
// Beyond: further ones are counted
// Seen in: the device's page
pub const HOSTS_MAX: usize = 8192;
/// Hosts of all devices together; further ones are counted.
pub const HOSTS_TOTAL_MAX: usize = 8_000_000;
/// Stations of which a device tells the hardware address, and such that it forwards to; further ones are counted.
pub const STATIONS_MAX: usize = 8192;
/// Both of all devices together; further ones are counted.
pub const STATIONS_TOTAL_MAX: usize = 8_000_000;
/// Stations behind one interface; behind one with more there are other switches, and it is the place of none.
// Limit: stations behind one interface
// Beyond: the interface is the place of none of them
// Seen in: the search for an address
pub const STATIONS_OF_PORT_MAX: usize = 64;
/// The table whose rows are interfaces.
const INTERFACES: &str = "interfaces";

/// An address of IP, as it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address(pub IpAddr);

impl Octets for Address {
    fn put(&self, out: &mut Vec<u8>) {
        match self.0 {
            IpAddr::V4(address) => {
                out.push(4);
                out.extend_from_slice(&address.octets());
            }
            IpAddr::V6(address) => {
                out.push(6);
                out.extend_from_slice(&address.octets());
            }
        }
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        match u8::take(from)? {
            4 => {
                let (octets, rest) = from.split_first_chunk::<4>()?;
                *from = rest;
                Some(Address(IpAddr::from(*octets)))
            }
            6 => {
                let (octets, rest) = from.split_first_chunk::<16>()?;
                *from = rest;
                Some(Address(IpAddr::from(*octets)))
            }
            _ => None,
        }
    }
}

/// A hardware address (EUI-48).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Hardware(pub [u8; 6]);

impl Octets for Hardware {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        let (octets, rest) = from.split_first_chunk::<6>()?;
        *from = rest;
        Some(Hardware(*octets))
    }
}

impl Hardware {
    /// Whether it is one station's, and not a group's.
    fn is_one(self) -> bool {
        self.0[0] & 1 == 0 && self.0 != [0; 6]
    }
}

/// Stations that a device knows by their hardware addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stations {
    /// Whose hardware address is which: of its ARP table, and its table of neighbours of IPv6. In their order.
    pub known: Vec<Station>,
    /// Where it has learned them: its forwarding tables, by interface.
    pub learned: Vec<StationsOf>,
    /// Stations beyond [`STATIONS_MAX`] or [`STATIONS_TOTAL_MAX`].
    pub left_out: u32,
}

/// A station.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Station {
    /// Its hardware address.
    pub hardware: Hardware,
    /// Its address of IP.
    pub address: Address,
}

/// The stations behind one interface, at most [`STATIONS_OF_PORT_MAX`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StationsOf {
    /// The interface.
    pub row: u32,
    /// In their order.
    pub all: Vec<Hardware>,
}

/// What a device says by LLDP.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Neighbours {
    /// What it calls itself: its chassis identifier, empty if it does not say.
    pub chassis: Box<str>,
    /// And its name.
    pub name: Box<str>,
    /// Who is next to it.
    pub all: Vec<Neighbour>,
    /// Neighbours beyond [`NEIGHBOURS_MAX`].
    pub left_out: u32,
}

/// Somebody next to a device, as the device tells it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Neighbour {
    /// The interface behind which it is; none if that is no row.
    pub row: Option<u32>,
    /// What the device calls that port.
    pub port: Box<str>,
    /// The neighbour's chassis identifier.
    pub chassis: Box<str>,
    /// Its name (sysName).
    pub name: Box<str>,
    /// The port at its side.
    pub far_port: Box<str>,
    /// And what that is described as.
    pub far_description: Box<str>,
    /// Where it is managed.
    pub addresses: Vec<Address>,
}

/// The addresses of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addresses {
    /// In their order.
    pub all: Vec<OwnAddress>,
    /// Addresses beyond [`ADDRESSES_MAX`].
    pub left_out: u32,
}

/// An address of a device, with the network that it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OwnAddress {
    /// The address.
    pub address: Address,
    /// Bits of its network; none if it does not say.
    pub prefix: Option<u8>,
    /// The interface that has it; none if that is no row.
    pub row: Option<u32>,
}

/// The hosts that a device reaches by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hosts {
    /// By interface.
    pub all: Vec<HostsOf>,
    /// Hosts beyond [`HOSTS_MAX`] or [`HOSTS_TOTAL_MAX`].
    pub left_out: u32,
}

/// The hosts behind one interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostsOf {
    /// The interface; none if that is no row.
    pub row: Option<u32>,
    /// In their order.
    pub addresses: Vec<Address>,
}

octet_fields! {
    Neighbours { chassis, name, all, left_out }
    Neighbour { row, port, chassis, name, far_port, far_description, addresses }
    Addresses { all, left_out }
    OwnAddress { address, prefix, row }
    Hosts { all, left_out }
    HostsOf { row, addresses }
    Stations { known, learned, left_out }
    Station { hardware, address }
    StationsOf { row, all }
}

impl Stations {
    /// How many entries there are.
    pub fn count(&self) -> usize {
        self.known.len() + self.learned.iter().map(|of| of.all.len()).sum::<usize>()
    }
}

impl Hosts {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.all.iter().map(|of| of.addresses.len()).sum()
    }
}

/// What is around a device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Around {
    /// What it says by LLDP.
    pub neighbours: Neighbours,
    /// Its addresses.
    pub addresses: Addresses,
    /// The hosts that it reaches.
    pub hosts: Hosts,
    /// The stations that it knows by their hardware addresses.
    pub stations: Stations,
}

/// What was walked; none is what could not be read to its end, and stays as it was.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FoundAround {
    /// By LLDP.
    pub neighbours: Option<FoundNeighbours>,
    /// Own addresses: address, bits of the network, ifIndex.
    pub addresses: Option<Vec<(IpAddr, Option<u8>, u32)>>,
    /// Hosts: ifIndex and address.
    pub hosts: Option<Vec<(u32, IpAddr)>>,
    /// Hardware addresses.
    pub stations: Option<FoundStations>,
}

/// What was walked of hardware addresses.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FoundStations {
    /// Whose is which.
    pub known: Vec<(IpAddr, Hardware)>,
    /// Behind which ifIndex they were learned.
    pub learned: Vec<(u32, Hardware)>,
}

/// What was walked of LLDP.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FoundNeighbours {
    /// Its own chassis identifier.
    pub chassis: String,
    /// Its own name.
    pub name: String,
    /// Its ports by number: identifier and description.
    pub ports: BTreeMap<u32, (String, String)>,
    /// Who is next to it: the number of the own port, and the neighbour without row and port.
    pub all: Vec<(u32, Neighbour)>,
}

/// What a walk means: what becomes of the inventory, and what there was no room for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Surroundings {
    /// What becomes of the inventory.
    pub changes: Vec<Change>,
    /// Neighbours, addresses, hosts and stations that are left out.
    pub left_out: [u32; 4],
}

/// Compares what was walked with what is known of a device, whose interfaces are as the inventory has them.
pub fn surroundings(inventory: &Inventory, device: u32, found: &FoundAround) -> Surroundings {
    let (known, rows) = (inventory.around(device), Rows::of(inventory, device));
    let mut told = Surroundings::default();
    if let Some(found) = &found.neighbours {
        let neighbours = Box::new(neighbours(&rows, found));
        told.left_out[0] = neighbours.left_out;
        if neighbours.as_ref() != known.map_or(&Neighbours::default(), |around| &around.neighbours) {
            told.changes.push(Change::Neighbours { device, neighbours });
        }
    }
    if let Some(found) = &found.addresses {
        let addresses = Box::new(addresses(&rows, found));
        told.left_out[1] = addresses.left_out;
        if addresses.as_ref() != known.map_or(&Addresses::default(), |around| &around.addresses) {
            told.changes.push(Change::Addresses { device, addresses });
        }
    }
    if let Some(found) = &found.hosts {
        let before = known.map_or(0, |around| around.hosts.count());
        let room = HOSTS_TOTAL_MAX.saturating_sub(inventory.hosts_total() - before).min(HOSTS_MAX);
        let hosts = Box::new(hosts(&rows, found, room));
        told.left_out[2] = hosts.left_out;
        if hosts.as_ref() != known.map_or(&Hosts::default(), |around| &around.hosts) {
            told.changes.push(Change::Hosts { device, hosts });
        }
    }
    if let Some(found) = &found.stations {
        let before = known.map_or(0, |around| around.stations.count());
        let room = STATIONS_TOTAL_MAX.saturating_sub(inventory.stations_total() - before);
        let stations = Box::new(stations(&rows, found, room));
        told.left_out[3] = stations.left_out;
        if stations.as_ref() != known.map_or(&Stations::default(), |around| &around.stations) {
            told.changes.push(Change::Stations { device, stations });
        }
    }
    told
}

fn stations(rows: &Rows<'_>, found: &FoundStations, room: usize) -> Stations {
    let told = found.known.iter().filter(|(address, hardware)| is_told(&address.to_canonical()) && hardware.is_one());
    let station = |(address, hardware): &(IpAddr, Hardware)| Station {
        hardware: *hardware,
        address: Address(address.to_canonical()),
    };
    let mut known: Vec<Station> = told.map(station).collect();
    known.sort_unstable();
    known.dedup();
    let mut left_out = cut(&mut known, room.min(STATIONS_MAX));

    let told = found.learned.iter().filter(|(_, hardware)| hardware.is_one());
    let mut all: Vec<(u32, Hardware)> =
        told.filter_map(|(index, hardware)| Some((rows.at(*index)?, *hardware))).collect();
    all.sort_unstable();
    all.dedup();
    let mut learned: Vec<StationsOf> = Vec::new();
    let mut count = 0;
    let most = room.saturating_sub(known.len()).min(STATIONS_MAX);
    for of_row in all.chunk_by(|a, b| a.0 == b.0).filter(|of_row| of_row.len() <= STATIONS_OF_PORT_MAX) {
        let Some((row, _)) = of_row.first() else { continue };
        if count + of_row.len() > most {
            left_out = left_out.saturating_add(of_row.len() as u32);
            continue;
        }
        count += of_row.len();
        learned.push(StationsOf { row: *row, all: of_row.iter().map(|(_, hardware)| *hardware).collect() });
    }
    Stations { known, learned, left_out }
}

/// Whether an address tells one host from all others: neither of the device itself (loopback), nor of a link alone.
fn is_told(address: &IpAddr) -> bool {
    match address {
        // Field: 127.0.0.1 is on every device; others of that network may be given to interfaces.
        IpAddr::V4(v4) => !(*v4 == std::net::Ipv4Addr::LOCALHOST || v4.is_link_local() || is_of_none(v4)),
        IpAddr::V6(v6) => !(v6.is_loopback() || v6.is_unspecified() || v6.is_multicast() || v6.is_unicast_link_local()),
    }
}

fn is_of_none(address: &std::net::Ipv4Addr) -> bool {
    address.is_unspecified() || address.is_multicast() || address.is_broadcast()
}

/// How many of a list there is no room for.
fn cut<T>(all: &mut Vec<T>, most: usize) -> u32 {
    let left_out = all.len().saturating_sub(most);
    all.truncate(most);
    u32::try_from(left_out).unwrap_or(u32::MAX)
}

fn neighbours(rows: &Rows<'_>, found: &FoundNeighbours) -> Neighbours {
    let own = |number: u32, neighbour: &Neighbour| {
        let (port, description) = found.ports.get(&number).cloned().unwrap_or_default();
        let row = rows.called(&port).or_else(|| rows.called(&description)).or_else(|| rows.at(number));
        let port = if port.is_empty() { number.to_string() } else { port };
        let mut addresses: Vec<Address> = neighbour.addresses.iter().filter(|a| is_told(&a.0)).copied().collect();
        addresses.sort_unstable();
        addresses.dedup();
        addresses.truncate(MANAGEMENT_MAX);
        Neighbour {
            row,
            port: short(&port),
            chassis: short(&neighbour.chassis),
            name: short(&neighbour.name),
            far_port: short(&neighbour.far_port),
            far_description: short(&neighbour.far_description),
            addresses,
        }
    };
    let mut all: Vec<Neighbour> = found.all.iter().map(|(number, neighbour)| own(*number, neighbour)).collect();
    all.sort();
    all.dedup();
    let left_out = cut(&mut all, NEIGHBOURS_MAX);
    Neighbours { chassis: short(&found.chassis), name: short(&found.name), all, left_out }
}

fn addresses(rows: &Rows<'_>, found: &[(IpAddr, Option<u8>, u32)]) -> Addresses {
    let told = found.iter().map(|(address, prefix, index)| (address.to_canonical(), *prefix, *index));
    let own = |(address, prefix, index): (IpAddr, Option<u8>, u32)| OwnAddress {
        address: Address(address),
        prefix: prefix.filter(|bits| *bits <= if address.is_ipv4() { 32 } else { 128 }),
        row: rows.at(index),
    };
    // One that two tables tell is kept as the one that knows its network has it.
    let mut by_address: BTreeMap<Address, OwnAddress> = BTreeMap::new();
    for one in told.filter(|(address, ..)| is_told(address)).map(own) {
        let kept = by_address.entry(one.address).or_insert(one);
        if (kept.prefix, kept.row) < (one.prefix, one.row) {
            *kept = one;
        }
    }
    let mut all: Vec<OwnAddress> = by_address.into_values().collect();
    let left_out = cut(&mut all, ADDRESSES_MAX);
    Addresses { all, left_out }
}

fn hosts(rows: &Rows<'_>, found: &[(u32, IpAddr)], room: usize) -> Hosts {
    let told = found.iter().map(|(index, address)| (rows.at(*index), Address(address.to_canonical())));
    let mut all: Vec<(Option<u32>, Address)> = told.filter(|(_, address)| is_told(&address.0)).collect();
    all.sort_unstable();
    all.dedup();
    let left_out = cut(&mut all, room);
    let mut by_row: Vec<HostsOf> = Vec::new();
    for (row, address) in all {
        match by_row.last_mut().filter(|last| last.row == row) {
            Some(last) => last.addresses.push(address),
            None => by_row.push(HostsOf { row, addresses: vec![address] }),
        }
    }
    Hosts { all: by_row, left_out }
}

/// A text as long as names may be, without what cannot be shown.
fn short(text: &str) -> Box<str> {
    let shown: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let shown = shown.trim();
    let end = (0..=NAME_OCTETS_MAX.min(shown.len())).rev().find(|at| shown.is_char_boundary(*at)).unwrap_or(0);
    shown[..end].into()
}

/// The interfaces of a device, by all that they are called.
pub(crate) struct Rows<'i> {
    indexes: HashMap<u32, u32>,
    names: HashMap<&'i str, Option<u32>>,
}

impl<'i> Rows<'i> {
    pub fn of(inventory: &'i Inventory, device: u32) -> Rows<'i> {
        let mut rows = Rows { indexes: HashMap::new(), names: HashMap::new() };
        let Some(table) = inventory.named(Kind::Table, INTERFACES) else { return rows };
        for id in inventory.rows_of(device) {
            let Some(row) = inventory.rows().get(*id).filter(|row| row.table == table) else { continue };
            if let Some([index]) = row.index.as_deref() {
                rows.indexes.insert(*index, *id);
            }
            let mut names = [&*row.name, &row.identity.name, &row.identity.second, &row.label, &row.identity.mark];
            names.sort_unstable();
            let mut before = "";
            for name in names.into_iter().filter(|name| !name.is_empty()) {
                if name != before {
                    // A name that several have tells none of them.
                    rows.names.entry(name).and_modify(|known| *known = None).or_insert(Some(*id));
                }
                before = name;
            }
        }
        rows
    }

    /// The interface at an ifIndex.
    fn at(&self, index: u32) -> Option<u32> {
        self.indexes.get(&index).copied()
    }

    /// The one interface that is called so: ifName, ifDescr, ifAlias, its hardware address.
    pub fn called(&self, name: &str) -> Option<u32> {
        self.names.get(name).copied().flatten()
    }
}
