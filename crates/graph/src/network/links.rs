//! Links: what devices say of each other by LLDP, joined.

use super::Network;
use crate::inventory::Inventory;
use crate::inventory::around::{Address, Neighbour, Rows};
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

/// What is at an end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Node {
    /// A device of ours.
    Device(u32),
    /// Somebody who is seen and not polled, by its place in the list.
    Stranger(u32),
}

/// An end of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// Who.
    pub node: Node,
    /// The interface; none if that is no row.
    pub row: Option<u32>,
    /// What the port is called where it is no row.
    pub port: Box<str>,
    /// Whether this end tells of the other.
    pub tells: bool,
}

/// A link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The lower node first.
    pub ends: [End; 2],
}

impl Link {
    /// The end at a node and the one over there; none if the link is not of it.
    pub fn from(&self, node: Node) -> Option<(&End, &End)> {
        match &self.ends {
            [here, there] if here.node == node => Some((here, there)),
            [there, here] if here.node == node => Some((here, there)),
            _ => None,
        }
    }
}

/// Somebody who is seen and not polled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stranger {
    /// Its name.
    pub name: Box<str>,
    /// Its chassis identifier.
    pub chassis: Box<str>,
    /// Where it is managed.
    pub addresses: Vec<Address>,
}

/// What one device says of one neighbour.
struct Half<'i> {
    near: Node,
    near_row: Option<u32>,
    near_port: &'i str,
    far: Node,
    far_row: Option<u32>,
    far_port: &'i str,
}

impl Network {
    /// Joins what devices say of each other.
    pub(super) fn join(&mut self, inventory: &Inventory) {
        let mut halves = self.halves(inventory);
        let key = |half: &Half<'_>| (half.near.min(half.far), half.near.max(half.far));
        halves.sort_by_key(|half| (key(half), half.near, half.near_row));
        for of_pair in halves.chunk_by(|a, b| key(a) == key(b)) {
            let (low, high) = of_pair.split_at(of_pair.partition_point(|half| half.near == key(half).0));
            self.links.extend(joined(low, high));
        }
        for (at, link) in self.links.iter().enumerate() {
            for end in &link.ends {
                self.of_node.entry(end.node).or_default().push(at as u32);
                if let (Node::Device(device), Some(row)) = (end.node, end.row) {
                    self.linked.insert((device, row));
                }
            }
        }
    }

    fn halves<'i>(&mut self, inventory: &'i Inventory) -> Vec<Half<'i>> {
        let (known, mut strangers) = (Known::of(inventory), HashMap::new());
        let mut rows: HashMap<u32, Rows<'i>> = HashMap::new();
        let mut halves = Vec::new();
        for (device, around) in inventory.surroundings() {
            for neighbour in &around.neighbours.all {
                let far = match known.device(neighbour) {
                    // What is plugged into itself is no link.
                    Some(other) if other == device => continue,
                    Some(other) => Node::Device(other),
                    None => self.stranger_of(&mut strangers, neighbour),
                };
                let far_row = match far {
                    Node::Device(far) => {
                        let rows = rows.entry(far).or_insert_with(|| Rows::of(inventory, far));
                        rows.called(&neighbour.far_port).or_else(|| rows.called(&neighbour.far_description))
                    }
                    Node::Stranger(_) => None,
                };
                let far_port =
                    if neighbour.far_port.is_empty() { &neighbour.far_description } else { &neighbour.far_port };
                // A row that is gone meanwhile is none.
                let near_row = neighbour.row.filter(|row| inventory.rows().has(*row));
                let (near, near_port) = (Node::Device(device), &*neighbour.port);
                halves.push(Half { near, near_row, near_port, far, far_row, far_port });
            }
        }
        halves
    }

    /// The stranger whom a device sees: the same one if another one saw it, too.
    fn stranger_of<'i>(&mut self, known: &mut HashMap<&'i str, u32>, neighbour: &'i Neighbour) -> Node {
        let key = if neighbour.chassis.is_empty() { &*neighbour.name } else { &*neighbour.chassis };
        let next = self.strangers.len() as u32;
        let number = if key.is_empty() { next } else { *known.entry(key).or_insert(next) };
        if number == next {
            self.strangers.push(Stranger::default());
        }
        if let Some(stranger) = self.strangers.get_mut(number as usize) {
            let Neighbour { name, chassis, addresses, .. } = neighbour;
            if stranger.name.is_empty() {
                stranger.name.clone_from(name);
            }
            stranger.chassis.clone_from(chassis);
            stranger.addresses.extend(addresses);
            stranger.addresses.sort_unstable();
            stranger.addresses.dedup();
        }
        Node::Stranger(number)
    }
}

/// Joins what the lower node says with what the higher one says: first what is the same at both ends, then what may be.
fn joined(low: &[Half<'_>], high: &[Half<'_>]) -> Vec<Link> {
    let mut taken: HashSet<usize> = HashSet::new();
    let mut of_low: Vec<Option<usize>> = vec![None; low.len()];
    let agrees = |a: Option<u32>, b: Option<u32>| a.is_some() && a == b;
    let may = |a: Option<u32>, b: Option<u32>| a.is_none() || b.is_none() || a == b;
    for is_sure in [true, false] {
        for (at, half) in low.iter().enumerate().filter(|(at, _)| is_sure || of_low[*at].is_none()).collect::<Vec<_>>()
        {
            let fits = |other: &Half<'_>| {
                let (ours, theirs) = ((half.near_row, other.far_row), (half.far_row, other.near_row));
                match is_sure {
                    true => agrees(ours.0, ours.1) && agrees(theirs.0, theirs.1),
                    false => may(ours.0, ours.1) && may(theirs.0, theirs.1),
                }
            };
            let found = (0..high.len()).find(|place| !taken.contains(place) && fits(&high[*place]));
            if let Some(place) = found {
                taken.insert(place);
                of_low[at] = Some(place);
            }
        }
    }
    let one = |low: Option<&Half<'_>>, high: Option<&Half<'_>>| -> Option<Link> {
        let (low_node, high_node) = match (low, high) {
            (Some(low), _) => (low.near, low.far),
            (None, Some(high)) => (high.far, high.near),
            (None, None) => return None,
        };
        let row = |near: Option<&Half<'_>>, far: Option<&Half<'_>>| {
            near.and_then(|half| half.near_row).or_else(|| far.and_then(|half| half.far_row))
        };
        let port = |near: Option<&Half<'_>>, far: Option<&Half<'_>>| -> Box<str> {
            near.map(|half| half.near_port).or_else(|| far.map(|half| half.far_port)).unwrap_or_default().into()
        };
        let lower = End { node: low_node, row: row(low, high), port: port(low, high), tells: low.is_some() };
        let higher = End { node: high_node, row: row(high, low), port: port(high, low), tells: high.is_some() };
        Some(Link { ends: [lower, higher] })
    };
    let of_low = low.iter().zip(&of_low).filter_map(|(half, place)| one(Some(half), place.map(|place| &high[place])));
    let of_high =
        high.iter().enumerate().filter(|(at, _)| !taken.contains(at)).filter_map(|(_, half)| one(None, Some(half)));
    let mut links: Vec<Link> = of_low.chain(of_high).collect();
    links.dedup();
    links
}

/// What devices are known by; what several have tells none of them.
struct Known<'i> {
    chassis: HashMap<&'i str, Option<u32>>,
    names: HashMap<String, Option<u32>>,
    addresses: HashMap<IpAddr, Option<u32>>,
    hardware: HashMap<&'i str, Option<u32>>,
}

fn put<K: core::hash::Hash + Eq>(keys: &mut HashMap<K, Option<u32>>, key: K, device: u32) {
    let other = |known: &mut Option<u32>| *known = known.filter(|known| *known == device);
    keys.entry(key).and_modify(other).or_insert(Some(device));
}

impl<'i> Known<'i> {
    fn of(inventory: &'i Inventory) -> Known<'i> {
        let (chassis, names, addresses) = (HashMap::new(), HashMap::new(), HashMap::new());
        let mut known = Known { chassis, names, addresses, hardware: HashMap::new() };
        for (id, device) in inventory.devices().iter() {
            let around = inventory.around(id);
            if let Some(around) = around.filter(|around| !around.neighbours.chassis.is_empty()) {
                put(&mut known.chassis, &*around.neighbours.chassis, id);
            }
            let said = around.map(|around| &*around.neighbours.name);
            let names = [Some(&*device.name), inventory.observed(id).map(|observed| &*observed.name), said];
            for name in names.into_iter().flatten().filter(|name| !name.is_empty()) {
                put(&mut known.names, name.to_lowercase(), id);
            }
            let polled = device.address.trim_matches(['[', ']']).parse::<IpAddr>().ok();
            let own = around.into_iter().flat_map(|around| &around.addresses.all).map(|own| own.address.0);
            for address in polled.map(|address| address.to_canonical()).into_iter().chain(own) {
                put(&mut known.addresses, address, id);
            }
        }
        known.add_hardware(inventory);
        known
    }

    /// Hardware addresses of interfaces, where somebody is looked for by one: a device may not say what its chassis is.
    fn add_hardware(&mut self, inventory: &'i Inventory) {
        let told = inventory.surroundings().flat_map(|(_, around)| &around.neighbours.all);
        let wanted: HashSet<&str> =
            told.map(|neighbour| &*neighbour.chassis).filter(|chassis| !self.chassis.contains_key(chassis)).collect();
        if wanted.is_empty() {
            return;
        }
        let Some(table) = super::interfaces(inventory) else { return };
        for (_, row) in inventory.rows().iter().filter(|(_, row)| row.table == table) {
            if wanted.contains(&*row.identity.mark) {
                put(&mut self.hardware, &*row.identity.mark, row.device);
            }
        }
    }

    fn device(&self, neighbour: &Neighbour) -> Option<u32> {
        let chassis = self.chassis.get(&*neighbour.chassis).copied().flatten();
        let name = || self.names.get(&neighbour.name.to_lowercase()).copied().flatten();
        let address =
            || neighbour.addresses.iter().find_map(|address| self.addresses.get(&address.0).copied().flatten());
        let hardware = || self.hardware.get(&*neighbour.chassis).copied().flatten();
        chassis.or_else(name).or_else(address).or_else(hardware)
    }
}
