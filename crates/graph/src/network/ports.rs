//! Ports of switches behind which an address is: by LLDP of who is next to them, and by hardware addresses, which one
//! device has learned behind a port and another one knows an address of.

use super::{How, Network, Node, Place, Visible};
use crate::inventory::Inventory;
use crate::inventory::around::Hardware;
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

/// Addresses of one hardware address; one with more answers for others, and is the place of none.
const ADDRESSES_OF_STATION_MAX: usize = 32;

/// An address behind a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Behind {
    address: IpAddr,
    how: How,
    device: u32,
    row: Option<u32>,
    /// Who knows whose hardware address it is: what somebody may not see does not tell them of another.
    told_by: u32,
}

impl Network {
    /// After links are known.
    pub(super) fn find_ports(&mut self, inventory: &Inventory) {
        let mut ports = self.next_to_ports();
        let polled = self.leads_to_devices();
        let is_edge = |device: u32, row: u32| !polled.contains(&(device, row)) && inventory.rows().has(row);
        let of_switches = || inventory.surroundings().filter(|(_, around)| !around.stations.learned.is_empty());
        let learned =
            of_switches().flat_map(|(device, around)| around.stations.learned.iter().map(move |of| (device, of)));
        let learned: Vec<_> = learned.filter(|(device, of)| is_edge(*device, of.row)).collect();
        let wanted: HashSet<Hardware> = learned.iter().flat_map(|(_, of)| of.all.iter().copied()).collect();
        let mut known: HashMap<Hardware, Vec<(IpAddr, u32)>> = HashMap::new();
        for (device, around) in inventory.surroundings().filter(|_| !wanted.is_empty()) {
            for station in around.stations.known.iter().filter(|station| wanted.contains(&station.hardware)) {
                known.entry(station.hardware).or_default().push((station.address.0, device));
            }
        }
        for (device, of) in learned {
            let (how, row) = (How::Port(of.all.len() as u32), Some(of.row));
            for hardware in &of.all {
                let Some(told) = known.get(hardware) else { continue };
                let addresses: HashSet<IpAddr> = told.iter().map(|(address, _)| *address).collect();
                if addresses.len() <= ADDRESSES_OF_STATION_MAX {
                    let behind = |(address, told_by): &(IpAddr, u32)| Behind {
                        address: *address,
                        how,
                        device,
                        row,
                        told_by: *told_by,
                    };
                    ports.extend(told.iter().map(behind));
                }
            }
        }
        ports.sort_unstable();
        ports.dedup();
        self.ports = ports;
    }

    /// Who is next to a device and is not polled: a phone tells where it is managed, or is called by its address.
    fn next_to_ports(&self) -> Vec<Behind> {
        let mut ports = Vec::new();
        for link in &self.links {
            let [low, high] = &link.ends;
            for (near, far) in [(low, high), (high, low)] {
                let (Node::Device(device), Node::Stranger(stranger)) = (near.node, far.node) else { continue };
                let Some(stranger) = self.stranger(stranger) else { continue };
                let chassis = stranger.chassis.parse::<IpAddr>().ok();
                let addresses = stranger.addresses.iter().map(|address| address.0).chain(chassis);
                ports.extend(addresses.map(|address| Behind {
                    address: address.to_canonical(),
                    how: How::Next,
                    device,
                    row: near.row,
                    told_by: device,
                }));
            }
        }
        ports
    }

    /// Interfaces that lead to a device of ours.
    fn leads_to_devices(&self) -> HashSet<(u32, u32)> {
        let mut leads = HashSet::new();
        for link in &self.links {
            let [low, high] = &link.ends;
            for (near, far) in [(low, high), (high, low)] {
                if let (Node::Device(device), Some(row), Node::Device(_)) = (near.node, near.row, far.node) {
                    leads.insert((device, row));
                }
            }
        }
        leads
    }

    /// The ports behind which an address is, each once.
    pub(super) fn behind_ports(&self, address: IpAddr, visible: Visible<'_>) -> Vec<Place> {
        let from = self.ports.partition_point(|behind| behind.address < address);
        let these = self.ports[from..].iter().take_while(|behind| behind.address == address);
        let seen = these.filter(|behind| visible(behind.device) && visible(behind.told_by));
        let mut places: Vec<Place> =
            seen.map(|behind| Place { how: behind.how, device: behind.device, row: behind.row }).collect();
        places.dedup();
        places
    }
}
