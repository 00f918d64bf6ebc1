//! How devices hang together: links between them, and where an address of IP is.
//!
//! ```text
//!  LLDP of one side  ---+                                       near(address): its own, in ARP, in a network
//!  LLDP of the other ---+--> links, each told by one or both ---> way(from, to): the shortest ones
//!  addresses, ARP --------> sorted lists
//!  ARP of one, forwarding table of another ---> behind which port an address is
//! ```
//!
//! A neighbour is one of our devices if its chassis identifier, its name or one of its management addresses is that of
//! one device alone; else it is a [`Stranger`], the same for all who see it. All of that follows from the inventory,
//! and is made when somebody asks ([`Inventory::network`]). What somebody may see is asked of `visible` each time.

mod links;
mod ports;
mod reach;
mod way;

pub use links::{End, Link, Node, Stranger};
pub use way::{WAYS_MAX, Ways};

use crate::inventory::{Inventory, Kind};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::IpAddr;

/// Whether somebody may see a device.
pub type Visible<'v> = &'v dyn Fn(u32) -> bool;

/// Places at which one address is told; further ones are counted.
pub const PLACES_MAX: usize = 32;

/// A device, and its interface where that is known.
type Holder = (u32, Option<u32>);

/// Links and addresses of all devices.
#[derive(Clone, Debug, Default)]
pub struct Network {
    links: Vec<Link>,
    strangers: Vec<Stranger>,
    /// Links by what is at their ends.
    of_node: HashMap<Node, Vec<u32>>,
    /// Interfaces behind which a link is.
    linked: HashSet<(u32, u32)>,
    /// Addresses of devices, and of hosts that they reach, in order.
    own: Vec<(IpAddr, u32, Option<u32>)>,
    hosts: Vec<(IpAddr, u32, Option<u32>)>,
    /// Addresses behind ports of switches, in order.
    ports: Vec<ports::Behind>,
    /// Networks by their bits, the longest last; by their first address.
    networks: BTreeMap<(u8, bool), HashMap<IpAddr, Vec<Holder>>>,
}

/// Why an address is near a device: the nearest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    /// It is an address of the device.
    Own,
    /// It is next to the device: its neighbour by LLDP, which is not polled.
    Next,
    /// The device has learned its hardware address behind an interface that leads to no other device that we know, with
    /// so many in all behind it.
    Port(u32),
    /// The device reaches it by itself, behind an interface that leads to no other device that we know.
    Host,
    /// The device reaches it by itself, through others.
    HostBehind,
    /// It is in the network of an interface: so many bits of it.
    Network(u8),
}

/// A place near which an address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Why.
    pub how: How,
    /// The device.
    pub device: u32,
    /// The interface; none where it is not known.
    pub row: Option<u32>,
}

impl Network {
    /// That of all devices of an inventory.
    pub fn of(inventory: &Inventory) -> Network {
        let mut network = Network::default();
        for (device, around) in inventory.surroundings() {
            for own in &around.addresses.all {
                network.own.push((own.address.0, device, own.row));
                if let Some(bits) = own.prefix.filter(|bits| is_network(&own.address.0, *bits)) {
                    let of_bits = network.networks.entry((bits, own.address.0.is_ipv6())).or_default();
                    of_bits.entry(first_of(own.address.0, bits)).or_default().push((device, own.row));
                }
            }
            for of in &around.hosts.all {
                network.hosts.extend(of.addresses.iter().map(|address| (address.0, device, of.row)));
            }
        }
        // Where it is polled is an address of it, too, whether it tells that or not.
        for (id, device) in inventory.devices().iter() {
            let address = device.address.trim_matches(['[', ']']).parse::<IpAddr>().ok();
            if let Some(address) = address.map(|address| address.to_canonical()) {
                network.own.push((address, id, None));
            }
        }
        // Of two entries of a device the one that knows the interface comes last, and stays.
        network.own.sort_unstable();
        let is_same = |a: &(IpAddr, u32, Option<u32>), b: &(IpAddr, u32, Option<u32>)| (a.0, a.1) == (b.0, b.1);
        network.own.reverse();
        network.own.dedup_by(|a, b| is_same(a, b));
        network.own.reverse();
        network.hosts.sort_unstable();
        network.hosts.dedup();
        network.join(inventory);
        network.find_ports(inventory);
        network
    }

    /// All links.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// Somebody who is seen and not polled.
    pub fn stranger(&self, number: u32) -> Option<&Stranger> {
        self.strangers.get(number as usize)
    }

    /// The links of a node.
    pub fn links_of(&self, node: Node) -> impl Iterator<Item = &Link> {
        self.of_node.get(&node).into_iter().flatten().filter_map(|at| self.links.get(*at as usize))
    }

    /// Where an address is, the nearest first, and how many places there are in all. Networks are those with the most
    /// bits alone.
    pub fn near(&self, address: IpAddr, visible: Visible<'_>) -> (Vec<Place>, usize) {
        let address = address.to_canonical();
        let seen = |(_, device, _): &&(IpAddr, u32, Option<u32>)| visible(*device);
        let own = equal(&self.own, address).iter().filter(seen);
        let mut places: Vec<Place> =
            own.map(|(_, device, row)| Place { how: How::Own, device: *device, row: *row }).collect();
        places.extend(equal(&self.hosts, address).iter().filter(seen).map(|(_, device, row)| {
            let is_linked = row.is_some_and(|row| self.linked.contains(&(*device, row)));
            Place { how: if is_linked { How::HostBehind } else { How::Host }, device: *device, row: *row }
        }));
        places.extend(self.behind_ports(address, visible));
        places.extend(self.networks_of(address, visible));
        places.sort_by_key(|place| (place.how, place.device, place.row));
        let total = places.len();
        places.truncate(PLACES_MAX);
        (places, total)
    }

    fn networks_of(&self, address: IpAddr, visible: Visible<'_>) -> Vec<Place> {
        for ((bits, is_v6), of_bits) in self.networks.iter().rev() {
            if *is_v6 != address.is_ipv6() {
                continue;
            }
            let holds = of_bits.get(&first_of(address, *bits)).into_iter().flatten();
            let place = |(device, row): &Holder| Place { how: How::Network(*bits), device: *device, row: *row };
            let places: Vec<Place> = holds.filter(|(device, _)| visible(*device)).map(place).collect();
            if !places.is_empty() {
                return places;
            }
        }
        Vec::new()
    }
}

/// Those of an address in a sorted list.
fn equal(all: &[(IpAddr, u32, Option<u32>)], address: IpAddr) -> &[(IpAddr, u32, Option<u32>)] {
    let from = all.partition_point(|(known, ..)| *known < address);
    let to = all.partition_point(|(known, ..)| *known <= address);
    &all[from..to]
}

/// Whether so many bits are a network with hosts, and not everything.
fn is_network(address: &IpAddr, bits: u8) -> bool {
    bits > 0 && bits < if address.is_ipv4() { 32 } else { 128 }
}

/// The first address of the network of an address.
pub fn first_of(address: IpAddr, bits: u8) -> IpAddr {
    match address {
        IpAddr::V4(v4) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(bits.min(32))).unwrap_or(0);
            IpAddr::V4((u32::from(v4) & mask).into())
        }
        IpAddr::V6(v6) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(bits.min(128))).unwrap_or(0);
            IpAddr::V6((u128::from(v6) & mask).into())
        }
    }
}

/// The interface of a row, for people: its name.
pub fn interface(inventory: &Inventory, row: Option<u32>) -> Option<&str> {
    inventory.rows().get(row?).map(|row| &*row.name)
}

/// Whether a table is that of interfaces.
pub(crate) fn interfaces(inventory: &Inventory) -> Option<u32> {
    inventory.named(Kind::Table, "interfaces")
}

#[cfg(test)]
mod tests;
