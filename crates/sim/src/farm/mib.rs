//! What a device has to tell: the system group, its interfaces, who is next to it, what it forwards to.

use super::ber::{self, tag};
use super::fate::Numbering;
use super::{Counter, Farm, Fault, State};
use std::net::IpAddr;

/// What stands under one name. Instances of tables are told by the numbers behind their columns.
enum Group {
    Scalars(&'static [u32], &'static [u32]),
    Table(&'static [u32], &'static [u32], Rows),
}

#[derive(Clone, Copy)]
enum Rows {
    Interfaces,
    Lldp,
    Management,
    Addresses,
    AnyAddresses,
    Arp,
    Physical,
    BridgePorts,
    Forwarded,
    ForwardedOfVlan,
}

const SYSTEM: &[u32] = &[1, 3, 6, 1, 2, 1, 1];
const IF_NUMBER: &[u32] = &[1, 3, 6, 1, 2, 1, 2];
const IF_ENTRY: &[u32] = &[1, 3, 6, 1, 2, 1, 2, 2, 1];
const ADDRESS_ENTRY: &[u32] = &[1, 3, 6, 1, 2, 1, 4, 20, 1];
const ARP_ENTRY: &[u32] = &[1, 3, 6, 1, 2, 1, 4, 22, 1];
const PREFIX_ORIGIN: &[u32] = &[1, 3, 6, 1, 2, 1, 4, 32, 1, 5];
const ANY_ADDRESS_ENTRY: &[u32] = &[1, 3, 6, 1, 2, 1, 4, 34, 1];
const PHYSICAL_ENTRY: &[u32] = &[1, 3, 6, 1, 2, 1, 4, 35, 1];
/// `dot1dBasePortEntry`, `dot1dTpFdbEntry` (RFC 4188), `dot1qTpFdbEntry` (RFC 4363).
const BRIDGE_PORT_ENTRY: &[u32] = &[1, 3, 6, 1, 2, 1, 17, 1, 4, 1];
const FORWARDED_ENTRY: &[u32] = &[1, 3, 6, 1, 2, 1, 17, 4, 3, 1];
const FORWARDED_OF_VLAN_ENTRY: &[u32] = &[1, 3, 6, 1, 2, 1, 17, 7, 1, 2, 2, 1];
const IF_X_ENTRY: &[u32] = &[1, 3, 6, 1, 2, 1, 31, 1, 1, 1];
/// `lldpLocalSystemData`, `lldpLocPortTable`, `lldpRemTable` and `lldpRemManAddrTable` of IEEE 802.1AB.
const LLDP_LOCAL: &[u32] = &[1, 0, 8802, 1, 1, 2, 1, 3];
const LLDP_PORT_ENTRY: &[u32] = &[1, 0, 8802, 1, 1, 2, 1, 3, 7, 1];
const LLDP_ENTRY: &[u32] = &[1, 0, 8802, 1, 1, 2, 1, 4, 1, 1];
const LLDP_MANAGEMENT_ENTRY: &[u32] = &[1, 0, 8802, 1, 1, 2, 1, 4, 2, 1];

/// In the order of their names.
const GROUPS: &[Group] = &[
    Group::Scalars(LLDP_LOCAL, &[1, 2, 3, 4]),
    Group::Table(LLDP_PORT_ENTRY, &[2, 3, 4], Rows::Interfaces),
    Group::Table(LLDP_ENTRY, &[4, 5, 6, 7, 8, 9], Rows::Lldp),
    Group::Table(LLDP_MANAGEMENT_ENTRY, &[3, 4, 5], Rows::Management),
    Group::Scalars(SYSTEM, &[1, 2, 3, 4, 5, 6, 7]),
    Group::Scalars(IF_NUMBER, &[1]),
    Group::Table(IF_ENTRY, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 16, 17, 19, 20], Rows::Interfaces),
    Group::Table(ADDRESS_ENTRY, &[1, 2, 3], Rows::Addresses),
    Group::Table(ARP_ENTRY, &[1, 2, 3, 4], Rows::Arp),
    Group::Table(ANY_ADDRESS_ENTRY, &[3, 4, 5], Rows::AnyAddresses),
    Group::Table(PHYSICAL_ENTRY, &[4, 6, 7], Rows::Physical),
    Group::Table(BRIDGE_PORT_ENTRY, &[1, 2], Rows::BridgePorts),
    Group::Table(FORWARDED_ENTRY, &[1, 2, 3], Rows::Forwarded),
    Group::Table(FORWARDED_OF_VLAN_ENTRY, &[2, 3], Rows::ForwardedOfVlan),
    Group::Table(IF_X_ENTRY, &[1, 6, 7, 10, 11, 15, 18, 19], Rows::Interfaces),
];
/// The same without counters of 64 bits.
const NARROW: &[u32] = &[1, 15, 18, 19];
/// The VLAN of all stations.
const VLAN: u32 = 1;

/// A device at a moment.
pub struct View<'f> {
    pub farm: &'f Farm,
    pub device: usize,
    pub at_ms: i64,
    pub state: State,
    pub fault: Option<Fault>,
    numbering: Numbering,
}

/// What a name leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    Object,
    Instance,
}

impl<'f> View<'f> {
    pub fn new(farm: &'f Farm, device: usize, at_ms: i64) -> View<'f> {
        let fate = farm.fate(device);
        let state = fate.state(at_ms - farm.settings().begin_ms);
        let numbering = fate.numbering(state.boots, farm.settings().interfaces);
        View { farm, device, at_ms, state, fault: fate.fault, numbering }
    }

    /// Appends the value of a name.
    pub fn get(&self, name: &[u32], out: &mut Vec<u8>) -> Result<(), Absent> {
        for group in GROUPS {
            match group {
                Group::Scalars(front, all) => {
                    let Some([object, instance @ ..]) = name.strip_prefix(*front) else { continue };
                    if all.contains(object) {
                        return if instance == [0] { self.scalar(front, *object, out) } else { Err(Absent::Instance) };
                    }
                }
                Group::Table(front, _, rows) => {
                    let Some([column, row @ ..]) = name.strip_prefix(*front) else { continue };
                    if !self.columns(group).contains(column) {
                        return Err(Absent::Object);
                    }
                    if !self.has_row(*rows, row) {
                        return Err(Absent::Instance);
                    }
                    return self.cell(*rows, front, *column, row, out).ok_or(Absent::Instance);
                }
            }
        }
        Err(Absent::Object)
    }

    /// Puts the next name that there is in place of this one; false behind the last.
    pub fn next(&self, name: &mut Vec<u32>) -> bool {
        for group in GROUPS {
            let found = match group {
                Group::Scalars(front, all) => {
                    all.iter().map(|object| [*front, &[*object, 0][..]].concat()).find(|n| n > name)
                }
                Group::Table(front, _, rows) => self.next_cell(front, self.columns(group), *rows, name),
            };
            if let Some(found) = found {
                *name = found;
                return true;
            }
        }
        false
    }

    fn columns(&self, group: &Group) -> &'static [u32] {
        match group {
            Group::Table(front, ..) if *front == IF_X_ENTRY && self.fault == Some(Fault::Narrow) => NARROW,
            Group::Table(_, columns, _) => columns,
            Group::Scalars(_, all) => all,
        }
    }

    fn next_cell(&self, front: &[u32], columns: &[u32], rows: Rows, name: &[u32]) -> Option<Vec<u32>> {
        let (column, row) = match name.strip_prefix(front) {
            Some([column, row @ ..]) => (*column, row),
            Some([]) => (0, &[][..]),
            None if name < front => (0, &[][..]),
            None => return None,
        };
        for known in columns.iter().filter(|known| **known >= column) {
            let after = if *known == column { row } else { &[][..] };
            if let Some(found) = self.next_row(rows, after) {
                return Some([front, &[*known], &found].concat());
            }
        }
        None
    }

    fn has_row(&self, rows: Rows, row: &[u32]) -> bool {
        match rows {
            Rows::Interfaces => matches!(row, [index] if self.numbering.interface(*index).is_some()),
            _ => self.rows(rows).any(|known| known == row),
        }
    }

    fn next_row(&self, rows: Rows, after: &[u32]) -> Option<Vec<u32>> {
        match rows {
            Rows::Interfaces => {
                let all = self.numbering.all();
                let next = match after {
                    [] => all.start,
                    [index, ..] => index.saturating_add(1).max(all.start),
                };
                (next < all.end).then(|| vec![next])
            }
            _ => self.rows(rows).find(|known| known.as_slice() > after),
        }
    }

    /// The rows of a table, in their order.
    fn rows(&self, rows: Rows) -> impl Iterator<Item = Vec<u32>> {
        let index = |interface: u32| self.numbering.index(interface);
        let v4 = |address: &IpAddr| address.is_ipv4();
        let mut all: Vec<Vec<u32>> = match rows {
            Rows::Interfaces => self.numbering.all().map(|index| vec![index]).collect(),
            Rows::Lldp => self.neighbours().map(|(port, ..)| vec![0, index(port), 1]).collect(),
            Rows::Management => {
                let address = |device: usize| IpAddr::V4(self.farm.address(device));
                let row = |(port, device, _)| [vec![0, index(port), 1], any(&address(device))].concat();
                self.neighbours().map(row).collect()
            }
            Rows::Addresses => {
                let all = self.farm.addresses(self.device).into_iter();
                all.filter(|(address, ..)| v4(address)).map(|(address, ..)| arcs(&address)).collect()
            }
            Rows::AnyAddresses => {
                self.farm.addresses(self.device).into_iter().map(|(address, ..)| any(&address)).collect()
            }
            Rows::Arp => {
                let all = self.reached().filter(|(_, address)| v4(address));
                all.map(|(port, address)| [vec![index(port)], arcs(&address)].concat()).collect()
            }
            Rows::BridgePorts => {
                let count = if self.forwards().is_empty() { 0 } else { self.farm.settings().interfaces };
                (1..=count).map(|port| vec![port]).collect()
            }
            Rows::Forwarded | Rows::ForwardedOfVlan => {
                let has_vlans = matches!(rows, Rows::ForwardedOfVlan);
                let front = if has_vlans { vec![VLAN] } else { Vec::new() };
                let all = self.forwards().into_iter().filter(|_| has_vlans == self.farm.has_vlans(self.device));
                let name = |(_, hardware): (u32, [u8; 6])| [front.clone(), hardware.map(u32::from).to_vec()].concat();
                all.map(name).collect()
            }
            Rows::Physical => {
                self.reached().map(|(port, address)| [vec![index(port)], any(&address)].concat()).collect()
            }
        };
        all.sort_unstable();
        all.dedup();
        all.into_iter()
    }

    fn neighbours(&self) -> impl Iterator<Item = (u32, usize, u32)> {
        self.farm.neighbours(self.device).into_iter()
    }

    fn reached(&self) -> impl Iterator<Item = (u32, IpAddr)> {
        let interfaces = self.farm.settings().interfaces;
        self.farm.reached(self.device).into_iter().filter(move |(port, _)| *port < interfaces)
    }

    /// Interfaces and the hardware addresses behind them.
    fn forwards(&self) -> Vec<(u32, [u8; 6])> {
        let all = self.farm.forwards(self.device).into_iter();
        all.map(|(interface, address)| (interface, self.hardware_of(&arcs(&address)))).collect()
    }

    fn scalar(&self, front: &[u32], object: u32, out: &mut Vec<u8>) -> Result<(), Absent> {
        let text = |out: &mut Vec<u8>, text: &str| ber::put(out, tag::OCTET_STRING, text.as_bytes());
        match (front == SYSTEM, object) {
            (false, 1) if front == LLDP_LOCAL => ber::put_integer(out, tag::INTEGER, 4),
            (false, 2) if front == LLDP_LOCAL => ber::put(out, tag::OCTET_STRING, &hardware(self.device, 0)),
            (false, 3) if front == LLDP_LOCAL => text(out, &self.farm.name(self.device)),
            (false, _) if front == LLDP_LOCAL => text(out, "Farm Switch"),
            (false, _) => ber::put_integer(out, tag::INTEGER, self.farm.settings().interfaces.into()),
            (_, 1) => text(out, "Farm Switch, software 4.2, simulated"),
            (_, 2) => ber::put_name(out, &[1, 3, 6, 1, 4, 1, 8072, 3, 2, 255]),
            (_, 3) => ber::put_unsigned(out, tag::TIME_TICKS, u64::from(self.ticks())),
            (_, 4) => text(out, "noc@farm.example"),
            (_, 5) => text(out, &self.farm.name(self.device)),
            (_, 6) => text(out, &format!("Row {}, rack {}", 1 + self.device / 40, 1 + self.device % 40)),
            _ => ber::put_integer(out, tag::INTEGER, 6),
        }
        Ok(())
    }

    /// `sysUpTime`, which begins again after 497 days.
    pub fn ticks(&self) -> u32 {
        (self.state.uptime_ms / 10) as u32
    }

    fn cell(&self, rows: Rows, front: &[u32], column: u32, row: &[u32], out: &mut Vec<u8>) -> Option<()> {
        match rows {
            Rows::Interfaces => {
                let interface = self.numbering.interface(*row.first()?)?;
                if front == IF_ENTRY {
                    self.interface(interface, column, out)
                } else if front == LLDP_PORT_ENTRY {
                    self.local_port(interface, column, out)
                } else {
                    self.extended(interface, column, out)
                }
            }
            Rows::Lldp => self.lldp(column, row, out)?,
            Rows::Management => management(column, out),
            Rows::Addresses => self.own_address(column, row, out)?,
            Rows::AnyAddresses => self.any_address(column, row, out)?,
            Rows::Arp => self.arp(column, row, out)?,
            Rows::Physical => self.physical(column, row, out)?,
            Rows::BridgePorts => {
                let port = *row.first()?;
                let number = if column == 1 { port } else { self.numbering.index(port - 1) };
                ber::put_integer(out, tag::INTEGER, number.into());
            }
            Rows::Forwarded => self.forwarded(column, row, out)?,
            Rows::ForwardedOfVlan => self.forwarded(column, row.get(1..)?, out)?,
        }
        Some(())
    }

    fn count(&self, interface: u32, counter: Counter) -> u64 {
        self.farm.counter(self.device, interface, counter, self.at_ms)
    }

    /// `ifEntry` (RFC 2863).
    fn interface(&self, interface: u32, column: u32, out: &mut Vec<u8>) {
        let is_up = self.farm.interface_is_up(self.device, interface, self.at_ms);
        let narrow = |out: &mut Vec<u8>, counter| {
            ber::put_unsigned(out, tag::COUNTER32, self.count(interface, counter) & 0xffff_ffff);
        };
        match column {
            1 => ber::put_integer(out, tag::INTEGER, self.numbering.index(interface).into()),
            2 => ber::put(out, tag::OCTET_STRING, self.long_name(interface).as_bytes()),
            3 => ber::put_integer(out, tag::INTEGER, 6),
            4 => ber::put_integer(out, tag::INTEGER, 1500),
            5 => {
                let speed = self.farm.interface_speed(self.device, interface);
                ber::put_unsigned(out, tag::GAUGE32, speed.min(u32::MAX.into()));
            }
            6 => ber::put(out, tag::OCTET_STRING, &hardware(self.device, interface)),
            7 => ber::put_integer(out, tag::INTEGER, 1),
            8 => ber::put_integer(out, tag::INTEGER, if is_up { 1 } else { 2 }),
            9 => ber::put_unsigned(out, tag::TIME_TICKS, 0),
            10 => narrow(out, Counter::InOctets),
            11 => narrow(out, Counter::InPackets),
            13 => narrow(out, Counter::InDiscards),
            14 => narrow(out, Counter::InErrors),
            16 => narrow(out, Counter::OutOctets),
            17 => narrow(out, Counter::OutPackets),
            19 => narrow(out, Counter::OutDiscards),
            _ => narrow(out, Counter::OutErrors),
        }
    }

    /// `ifXEntry` (RFC 2863).
    fn extended(&self, interface: u32, column: u32, out: &mut Vec<u8>) {
        let wide = |out: &mut Vec<u8>, counter| ber::put_unsigned(out, tag::COUNTER64, self.count(interface, counter));
        match column {
            1 => ber::put(out, tag::OCTET_STRING, self.farm.interface_name(interface).as_bytes()),
            6 => wide(out, Counter::InOctets),
            7 => wide(out, Counter::InPackets),
            10 => wide(out, Counter::OutOctets),
            11 => wide(out, Counter::OutPackets),
            15 => {
                let millions = self.farm.interface_speed(self.device, interface) / 1_000_000;
                ber::put_unsigned(out, tag::GAUGE32, millions);
            }
            18 => {
                let neighbour = self.neighbours().find(|(port, ..)| *port == interface);
                let label = neighbour.map_or(String::new(), |(_, device, _)| format!("to {}", self.farm.name(device)));
                ber::put(out, tag::OCTET_STRING, label.as_bytes());
            }
            _ => ber::put_unsigned(out, tag::TIME_TICKS, 0),
        }
    }

    fn long_name(&self, interface: u32) -> String {
        self.farm.interface_name(interface).replace("Gi", "GigabitEthernet")
    }

    /// `ipNetToMediaEntry` (RFC 1213).
    fn arp(&self, column: u32, row: &[u32], out: &mut Vec<u8>) -> Option<()> {
        let [index, address @ ..] = row else { return None };
        match column {
            1 => ber::put_integer(out, tag::INTEGER, (*index).into()),
            2 => ber::put(out, tag::OCTET_STRING, &self.hardware_of(address)),
            3 => ber::put(out, tag::IP_ADDRESS, &octets(address)),
            _ => ber::put_integer(out, tag::INTEGER, 3),
        }
        Some(())
    }

    /// `ipNetToPhysicalEntry` (RFC 4293): dynamic, reachable.
    fn physical(&self, column: u32, row: &[u32], out: &mut Vec<u8>) -> Option<()> {
        match column {
            4 => ber::put(out, tag::OCTET_STRING, &self.hardware_of(row.get(3..)?)),
            6 => ber::put_integer(out, tag::INTEGER, 3),
            _ => ber::put_integer(out, tag::INTEGER, 1),
        }
        Some(())
    }

    /// `dot1dTpFdbEntry`, `dot1qTpFdbEntry`: ports are numbered from 1 in the order of interfaces; learned.
    fn forwarded(&self, column: u32, row: &[u32], out: &mut Vec<u8>) -> Option<()> {
        let (interface, hardware) = self.forwards().into_iter().find(|(_, hardware)| hardware.map(u32::from) == row)?;
        match column {
            1 => ber::put(out, tag::OCTET_STRING, &hardware),
            2 => ber::put_integer(out, tag::INTEGER, i64::from(interface) + 1),
            _ => ber::put_integer(out, tag::INTEGER, 3),
        }
        Some(())
    }

    /// That of a device, or of a host: from the end of its address.
    fn hardware_of(&self, address: &[u32]) -> [u8; 6] {
        let octets = octets(address);
        let device = <[u8; 4]>::try_from(&*octets).ok().and_then(|octets| self.farm.device_of(octets.into()));
        let end = octets.last_chunk::<4>().copied().unwrap_or_default();
        device.map_or([0x06, 0, end[0], end[1], end[2], end[3]], |device| hardware(device, 0))
    }

    /// `ipAddrEntry` (RFC 1213).
    fn own_address(&self, column: u32, row: &[u32], out: &mut Vec<u8>) -> Option<()> {
        let own = self.farm.addresses(self.device).into_iter().find(|(address, ..)| arcs(address) == row);
        let (_, bits, interface) = own?;
        match column {
            1 => ber::put(out, tag::IP_ADDRESS, &octets(row)),
            2 => ber::put_integer(out, tag::INTEGER, self.numbering.index(interface).into()),
            _ => {
                let mask = u32::MAX.checked_shl(32 - u32::from(bits.min(32))).unwrap_or(0);
                ber::put(out, tag::IP_ADDRESS, &mask.to_be_bytes());
            }
        }
        Some(())
    }

    /// `ipAddressEntry` (RFC 4293): unicast; the prefix is a row of `ipAddressPrefixTable`.
    fn any_address(&self, column: u32, row: &[u32], out: &mut Vec<u8>) -> Option<()> {
        let own = self.farm.addresses(self.device).into_iter().find(|(address, ..)| any(address) == row);
        let (address, bits, interface) = own?;
        let index = self.numbering.index(interface);
        match column {
            3 => ber::put_integer(out, tag::INTEGER, index.into()),
            4 => ber::put_integer(out, tag::INTEGER, 1),
            _ => {
                let mut left = u32::from(bits);
                let mut network = any(&address);
                for octet in &mut network[2..] {
                    let keeps = left.min(8);
                    *octet &= 0xff00 >> keeps & 0xff;
                    left -= keeps;
                }
                ber::put_name(out, &[PREFIX_ORIGIN, &[index], &network, &[bits.into()]].concat());
            }
        }
        Some(())
    }

    /// `lldpLocPortEntry`: called by the interface's name.
    fn local_port(&self, interface: u32, column: u32, out: &mut Vec<u8>) {
        match column {
            2 => ber::put_integer(out, tag::INTEGER, 5),
            3 => ber::put(out, tag::OCTET_STRING, self.farm.interface_name(interface).as_bytes()),
            _ => ber::put(out, tag::OCTET_STRING, self.long_name(interface).as_bytes()),
        }
    }

    /// `lldpRemEntry`: identified by hardware address and interface name.
    fn lldp(&self, column: u32, row: &[u32], out: &mut Vec<u8>) -> Option<()> {
        let port = self.numbering.interface(*row.get(1)?)?;
        let (_, device, far) = self.neighbours().find(|(own, ..)| *own == port)?;
        match column {
            4 => ber::put_integer(out, tag::INTEGER, 4),
            5 => ber::put(out, tag::OCTET_STRING, &hardware(device, 0)),
            6 => ber::put_integer(out, tag::INTEGER, 5),
            7 => ber::put(out, tag::OCTET_STRING, self.farm.interface_name(far).as_bytes()),
            8 => ber::put(out, tag::OCTET_STRING, self.long_name(far).as_bytes()),
            _ => ber::put(out, tag::OCTET_STRING, self.farm.name(device).as_bytes()),
        }
        Some(())
    }
}

/// `lldpRemManAddrEntry`: the address is in the index.
fn management(column: u32, out: &mut Vec<u8>) {
    match column {
        3 => ber::put_integer(out, tag::INTEGER, 2),
        4 => ber::put_integer(out, tag::INTEGER, 1),
        _ => ber::put_name(out, &[0, 0]),
    }
}

/// The octets of an address as arcs.
fn arcs(address: &IpAddr) -> Vec<u32> {
    match address {
        IpAddr::V4(v4) => v4.octets().map(u32::from).to_vec(),
        IpAddr::V6(v6) => v6.octets().map(u32::from).to_vec(),
    }
}

/// `InetAddressType`, `InetAddress`: the family, how many octets, the octets.
fn any(address: &IpAddr) -> Vec<u32> {
    let octets = arcs(address);
    [vec![if address.is_ipv4() { 1 } else { 2 }, octets.len() as u32], octets].concat()
}

fn octets(arcs: &[u32]) -> Vec<u8> {
    arcs.iter().map(|arc| *arc as u8).collect()
}

/// An address for documentation's sake: locally administered.
fn hardware(device: usize, interface: u32) -> [u8; 6] {
    let device = (device as u32).to_be_bytes();
    [0x02, device[1], device[2], device[3], (interface >> 8) as u8, interface as u8]
}
