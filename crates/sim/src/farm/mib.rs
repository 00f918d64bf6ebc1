//! What a device has to tell: the system group, its interfaces, who is next to it.

use super::ber::{self, tag};
use super::fate::Numbering;
use super::{Counter, Farm, Fault, State};
use std::net::Ipv4Addr;

/// What stands under one name. Instances of tables are told by the numbers behind their columns.
enum Group {
    Scalars(&'static [u32], &'static [u32]),
    Table(&'static [u32], &'static [u32], Rows),
}

#[derive(Clone, Copy)]
enum Rows {
    Interfaces,
    Arp,
    Lldp,
}

const SYSTEM: &[u32] = &[1, 3, 6, 1, 2, 1, 1];
const IF_NUMBER: &[u32] = &[1, 3, 6, 1, 2, 1, 2];
const IF_ENTRY: &[u32] = &[1, 3, 6, 1, 2, 1, 2, 2, 1];
const ARP_ENTRY: &[u32] = &[1, 3, 6, 1, 2, 1, 4, 22, 1];
const IF_X_ENTRY: &[u32] = &[1, 3, 6, 1, 2, 1, 31, 1, 1, 1];
/// `lldpRemTable` of IEEE 802.1AB.
const LLDP_ENTRY: &[u32] = &[1, 0, 8802, 1, 1, 2, 1, 4, 1, 1];

/// In the order of their names.
const GROUPS: &[Group] = &[
    Group::Table(LLDP_ENTRY, &[4, 5, 6, 7, 9], Rows::Lldp),
    Group::Scalars(SYSTEM, &[1, 2, 3, 4, 5, 6, 7]),
    Group::Scalars(IF_NUMBER, &[1]),
    Group::Table(IF_ENTRY, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 16, 17, 19, 20], Rows::Interfaces),
    Group::Table(ARP_ENTRY, &[1, 2, 3, 4], Rows::Arp),
    Group::Table(IF_X_ENTRY, &[1, 6, 7, 10, 11, 15, 18, 19], Rows::Interfaces),
];
/// The same without counters of 64 bits.
const NARROW: &[u32] = &[1, 15, 18, 19];

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
            Rows::Arp | Rows::Lldp => self.neighbour_rows(rows).any(|known| known == row),
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
            Rows::Arp | Rows::Lldp => self.neighbour_rows(rows).find(|known| known.as_slice() > after),
        }
    }

    /// The uplink is the first interface, the others lead down.
    fn neighbours(&self) -> impl Iterator<Item = (u32, usize)> {
        let up = self.farm.parent(self.device).map(|parent| (0, parent));
        let settings = self.farm.settings();
        let first = self.device * settings.below + 1;
        let below = first..first + settings.below;
        let (devices, interfaces) = (settings.devices, settings.interfaces);
        up.into_iter()
            .chain(below.zip(1..).map(|(device, port)| (port, device)))
            .filter(move |(port, device)| *device < devices && *port < interfaces)
    }

    fn neighbour_rows(&self, rows: Rows) -> impl Iterator<Item = Vec<u32>> {
        let mut all: Vec<Vec<u32>> = self
            .neighbours()
            .map(|(port, device)| {
                let index = self.numbering.index(port);
                match rows {
                    Rows::Lldp => vec![0, index, 1],
                    _ => [&[index][..], &self.farm.address(device).octets().map(u32::from)].concat(),
                }
            })
            .collect();
        all.sort_unstable();
        all.into_iter()
    }

    fn scalar(&self, front: &[u32], object: u32, out: &mut Vec<u8>) -> Result<(), Absent> {
        let text = |out: &mut Vec<u8>, text: &str| ber::put(out, tag::OCTET_STRING, text.as_bytes());
        match (front == SYSTEM, object) {
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
                } else {
                    self.extended(interface, column, out)
                }
            }
            Rows::Arp => self.arp(column, row, out)?,
            Rows::Lldp => self.lldp(column, row, out)?,
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
                let neighbour = self.neighbours().find(|(port, _)| *port == interface);
                let label = neighbour.map_or(String::new(), |(_, device)| format!("to {}", self.farm.name(device)));
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
        let address: Vec<u8> = address.iter().map(|arc| *arc as u8).collect();
        let octets: [u8; 4] = address.as_slice().try_into().ok()?;
        match column {
            1 => ber::put_integer(out, tag::INTEGER, (*index).into()),
            2 => ber::put(out, tag::OCTET_STRING, &hardware(self.farm.device_of(Ipv4Addr::from(octets))?, 0)),
            3 => ber::put(out, tag::IP_ADDRESS, &octets),
            _ => ber::put_integer(out, tag::INTEGER, 3),
        }
        Some(())
    }

    /// `lldpRemEntry`: identified by hardware address and interface name.
    fn lldp(&self, column: u32, row: &[u32], out: &mut Vec<u8>) -> Option<()> {
        let port = self.numbering.interface(*row.get(1)?)?;
        let (_, device) = self.neighbours().find(|(own, _)| *own == port)?;
        // A device below has its uplink here; the one above the interface that leads down to this one.
        let below = self.device.checked_sub(device * self.farm.settings().below).map(|port| port as u32);
        let remote = if self.farm.parent(self.device) == Some(device) { below? } else { 0 };
        match column {
            4 => ber::put_integer(out, tag::INTEGER, 4),
            5 => ber::put(out, tag::OCTET_STRING, &hardware(device, 0)),
            6 => ber::put_integer(out, tag::INTEGER, 5),
            7 => ber::put(out, tag::OCTET_STRING, self.farm.interface_name(remote).as_bytes()),
            _ => ber::put(out, tag::OCTET_STRING, self.farm.name(device).as_bytes()),
        }
        Some(())
    }
}

/// An address for documentation's sake: locally administered.
fn hardware(device: usize, interface: u32) -> [u8; 6] {
    let device = (device as u32).to_be_bytes();
    [0x02, device[1], device[2], device[3], (interface >> 8) as u8, interface as u8]
}
