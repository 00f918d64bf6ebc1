//! What is around a device, as it is walked: LLDP-MIB (IEEE 802.1AB), the addresses of IP-MIB (RFC 4293) and of those
//! before it (RFC 1213), ARP and neighbour discovery, the forwarding tables of BRIDGE-MIB (RFC 4188) and Q-BRIDGE-MIB
//! (RFC 4363).

use crate::inventory::around::{Address, FoundAround, FoundNeighbours, FoundStations, Hardware, Neighbour};
use crate::poller::WalkEnd;
use crate::template::Oid;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use trunkline_wire::snmp::Value;

/// Octets of what is found around one device; a column in which there is more is not taken over.
// Limit: memory of what is found around one device
// Beyond: that table stays as it was
// Seen in: the device's page
pub const AROUND_OCTETS_MAX: usize = 16 << 20;

const LLDP: [u32; 7] = [1, 0, 8802, 1, 1, 2, 1];
const IP: [u32; 7] = [1, 3, 6, 1, 2, 1, 4];
const BRIDGE: [u32; 7] = [1, 3, 6, 1, 2, 1, 17];

/// A column that is walked. `lldpRem` is the neighbour, `lldpLoc` the device itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Column {
    LocalChassisKind,
    LocalChassis,
    LocalName,
    LocalPortKind,
    LocalPort,
    LocalPortDescription,
    ChassisKind,
    Chassis,
    PortKind,
    Port,
    PortDescription,
    Name,
    Management,
    AddressIndex,
    AddressMask,
    AnyAddressIndex,
    AnyAddressType,
    AnyAddressPrefix,
    Arp,
    Physical,
    ArpHardware,
    PhysicalHardware,
    BridgePort,
    Forwarded,
    ForwardedOfVlan,
}

use Column as C;

/// The columns, and where each stands below which front.
const COLUMNS: [(Column, [u32; 7], &[u32]); 25] = [
    (C::LocalChassisKind, LLDP, &[3, 1]),              // lldpLocChassisIdSubtype
    (C::LocalChassis, LLDP, &[3, 2]),                  // lldpLocChassisId
    (C::LocalName, LLDP, &[3, 3]),                     // lldpLocSysName
    (C::LocalPortKind, LLDP, &[3, 7, 1, 2]),           // lldpLocPortIdSubtype
    (C::LocalPort, LLDP, &[3, 7, 1, 3]),               // lldpLocPortId
    (C::LocalPortDescription, LLDP, &[3, 7, 1, 4]),    // lldpLocPortDesc
    (C::ChassisKind, LLDP, &[4, 1, 1, 4]),             // lldpRemChassisIdSubtype
    (C::Chassis, LLDP, &[4, 1, 1, 5]),                 // lldpRemChassisId
    (C::PortKind, LLDP, &[4, 1, 1, 6]),                // lldpRemPortIdSubtype
    (C::Port, LLDP, &[4, 1, 1, 7]),                    // lldpRemPortId
    (C::PortDescription, LLDP, &[4, 1, 1, 8]),         // lldpRemPortDesc
    (C::Name, LLDP, &[4, 1, 1, 9]),                    // lldpRemSysName
    (C::Management, LLDP, &[4, 2, 1, 3]),              // lldpRemManAddrIfSubtype
    (C::AddressIndex, IP, &[20, 1, 2]),                // ipAdEntIfIndex
    (C::AddressMask, IP, &[20, 1, 3]),                 // ipAdEntNetMask
    (C::AnyAddressIndex, IP, &[34, 1, 3]),             // ipAddressIfIndex
    (C::AnyAddressType, IP, &[34, 1, 4]),              // ipAddressType
    (C::AnyAddressPrefix, IP, &[34, 1, 5]),            // ipAddressPrefix
    (C::Arp, IP, &[22, 1, 4]),                         // ipNetToMediaType
    (C::Physical, IP, &[35, 1, 6]),                    // ipNetToPhysicalType
    (C::ArpHardware, IP, &[22, 1, 2]),                 // ipNetToMediaPhysAddress
    (C::PhysicalHardware, IP, &[35, 1, 4]),            // ipNetToPhysicalPhysAddress
    (C::BridgePort, BRIDGE, &[1, 4, 1, 2]),            // dot1dBasePortIfIndex
    (C::Forwarded, BRIDGE, &[4, 3, 1, 2]),             // dot1dTpFdbPort
    (C::ForwardedOfVlan, BRIDGE, &[7, 1, 2, 2, 1, 2]), // dot1qTpFdbPort
];

/// Kinds of identifiers (LldpChassisIdSubtype, LldpPortIdSubtype).
const CHASSIS_HARDWARE: u64 = 4;
const CHASSIS_NETWORK: u64 = 5;
const PORT_HARDWARE: u64 = 3;
const PORT_NETWORK: u64 = 4;
/// `invalid` of ipNetToMediaType and ipNetToPhysicalType.
const INVALID: u64 = 2;
/// `unicast` of ipAddressType: broadcast addresses are in that table, too.
const UNICAST: u64 = 1;

/// A value as it came: whether octets are a text is told by another column.
#[derive(Clone, Debug)]
enum Raw {
    Number(u64),
    Octets(Box<[u8]>),
    Name(Box<[u32]>),
}

impl Raw {
    /// What it takes, with its index.
    fn octets(&self, index: &[u32]) -> usize {
        let own = match self {
            Raw::Number(_) => 0,
            Raw::Octets(octets) => octets.len(),
            Raw::Name(arcs) => arcs.len() * 4,
        };
        own + index.len() * 4 + 64
    }
}

type Cells = BTreeMap<Box<[u32]>, Raw>;

/// What was found so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Around {
    columns: BTreeMap<Column, Cells>,
    whole: Vec<Column>,
    octets: usize,
    /// Whether a walk had no answer any more: then it is worth another look.
    pub was_silent: bool,
}

/// What is to be walked.
pub(crate) fn columns() -> Vec<Oid> {
    COLUMNS.iter().filter_map(|(_, front, rest)| Oid::new(&[&front[..], rest].concat())).collect()
}

fn column_of(root: &Oid) -> Option<Column> {
    let is = |(_, front, rest): &&(Column, [u32; 7], &[u32])| {
        root.arcs().strip_prefix(&front[..]).is_some_and(|behind| behind == *rest)
    };
    COLUMNS.iter().find(is).map(|(column, ..)| *column)
}

impl Around {
    pub fn take(&mut self, root: &Oid, index: &[u32], value: &Value<'_>) {
        let Some(column) = column_of(root) else { return };
        let raw = match *value {
            Value::Integer(number) => Raw::Number(u64::try_from(number).unwrap_or_default()),
            Value::Gauge32(number) | Value::Counter32(number) => Raw::Number(number.into()),
            Value::OctetString(octets) => Raw::Octets(octets.into()),
            Value::IpAddress(octets) => Raw::Octets(octets.as_slice().into()),
            Value::ObjectId(oid) => Raw::Name(oid.arcs().collect()),
            _ => return,
        };
        self.octets += raw.octets(index);
        if self.octets <= AROUND_OCTETS_MAX {
            self.columns.entry(column).or_default().insert(index.into(), raw);
        }
    }

    /// A column begins anew.
    pub fn again(&mut self, root: &Oid) {
        let Some(column) = column_of(root) else { return };
        let cells = self.columns.remove(&column).unwrap_or_default();
        let octets: usize = cells.iter().map(|(index, raw)| raw.octets(index)).sum();
        self.octets = self.octets.saturating_sub(octets);
        self.whole.retain(|whole| *whole != column);
    }

    pub fn ended(&mut self, root: &Oid, end: WalkEnd) {
        self.was_silent |= end == WalkEnd::Timeout;
        let is_whole = matches!(end, WalkEnd::Done(_)) && self.octets <= AROUND_OCTETS_MAX;
        self.whole.extend(column_of(root).filter(|_| is_whole));
    }

    /// What was found, and what of it could not be read to its end.
    pub fn found(&self) -> (FoundAround, Vec<&'static str>) {
        let (mut found, mut broken) = (FoundAround::default(), Vec::new());
        let is_whole = |from: Column, to: Column| {
            COLUMNS.iter().all(|(column, ..)| *column < from || *column > to || self.whole.contains(column))
        };
        match is_whole(C::LocalChassisKind, C::Management) {
            true => found.neighbours = Some(self.neighbours()),
            false => broken.push("neighbours (LLDP)"),
        }
        match is_whole(C::AddressIndex, C::AnyAddressPrefix) {
            true => found.addresses = Some(self.addresses()),
            false => broken.push("addresses"),
        }
        match is_whole(C::Arp, C::Physical) {
            true => found.hosts = Some(self.hosts()),
            false => broken.push("hosts (ARP)"),
        }
        match is_whole(C::ArpHardware, C::ForwardedOfVlan) {
            true => found.stations = Some(self.stations()),
            false => broken.push("hardware addresses (ARP, forwarding tables)"),
        }
        (found, broken)
    }

    fn cells(&self, column: Column) -> impl Iterator<Item = (&[u32], &Raw)> {
        self.columns.get(&column).into_iter().flatten().map(|(index, raw)| (&**index, raw))
    }

    fn number(&self, column: Column, index: &[u32]) -> Option<u64> {
        match self.columns.get(&column)?.get(index)? {
            Raw::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// An ifIndex; none where it is no number of 32 bits.
    fn interface(&self, column: Column, index: &[u32]) -> Option<u32> {
        u32::try_from(self.number(column, index)?).ok()
    }

    fn octets(&self, column: Column, index: &[u32]) -> &[u8] {
        match self.columns.get(&column).and_then(|cells| cells.get(index)) {
            Some(Raw::Octets(octets)) => octets,
            _ => &[],
        }
    }

    fn text(&self, column: Column, index: &[u32]) -> String {
        super::of_octets(self.octets(column, index))
    }

    fn chassis(&self, kind: Column, column: Column, index: &[u32]) -> String {
        let kind = self.number(kind, index).unwrap_or_default();
        identifier(kind == CHASSIS_HARDWARE, kind == CHASSIS_NETWORK, self.octets(column, index))
    }

    fn port(&self, kind: Column, column: Column, index: &[u32]) -> String {
        let kind = self.number(kind, index).unwrap_or_default();
        identifier(kind == PORT_HARDWARE, kind == PORT_NETWORK, self.octets(column, index))
    }

    fn neighbours(&self) -> FoundNeighbours {
        let mut found = FoundNeighbours {
            chassis: self.chassis(C::LocalChassisKind, C::LocalChassis, &[0]),
            name: self.text(C::LocalName, &[0]),
            ..FoundNeighbours::default()
        };
        for (index, _) in self.cells(C::LocalPort) {
            if let [number] = index {
                let port = self.port(C::LocalPortKind, C::LocalPort, index);
                found.ports.insert(*number, (port, self.text(C::LocalPortDescription, index)));
            }
        }
        // The index is a time mark, the number of the port, and one of the neighbour.
        let mut managed: BTreeMap<&[u32], Vec<Address>> = BTreeMap::new();
        for (index, _) in self.cells(C::Management) {
            let Some((of, [family, address @ ..])) = index.split_at_checked(3) else { continue };
            if let Some(address) = of_index(*family, address) {
                managed.entry(of).or_default().push(Address(address.to_canonical()));
            }
        }
        for (index, _) in self.cells(C::Chassis) {
            let [_, port, _] = index else { continue };
            let neighbour = Neighbour {
                chassis: self.chassis(C::ChassisKind, C::Chassis, index).into(),
                name: self.text(C::Name, index).into(),
                far_port: self.port(C::PortKind, C::Port, index).into(),
                far_description: self.text(C::PortDescription, index).into(),
                addresses: managed.remove(index).unwrap_or_default(),
                ..Neighbour::default()
            };
            found.all.push((*port, neighbour));
        }
        found
    }

    fn addresses(&self) -> Vec<(IpAddr, Option<u8>, u32)> {
        let mut all = Vec::new();
        for (index, _) in self.cells(C::AddressIndex) {
            let mask = <[u8; 4]>::try_from(self.octets(C::AddressMask, index)).map(u32::from_be_bytes);
            // A mask with holes tells no network.
            let prefix = mask.ok().filter(|mask| mask.leading_ones() + mask.trailing_zeros() >= 32);
            let prefix = prefix.map(|mask| mask.leading_ones() as u8);
            if let (Some(address), Some(interface)) = (v4(index), self.interface(C::AddressIndex, index)) {
                all.push((address, prefix, interface));
            }
        }
        for (index, _) in self.cells(C::AnyAddressIndex) {
            let is_told = self.number(C::AnyAddressType, index).is_none_or(|kind| kind == UNICAST);
            let [family, address @ ..] = index else { continue };
            // The prefix is the last arc of what it points to; 0.0 is none.
            let prefix = match self.columns.get(&C::AnyAddressPrefix).and_then(|cells| cells.get(index)) {
                Some(Raw::Name(arcs)) if arcs.len() > 2 => arcs.last().and_then(|bits| u8::try_from(*bits).ok()),
                _ => None,
            };
            let interface = self.interface(C::AnyAddressIndex, index).filter(|_| is_told);
            if let (Some(address), Some(interface)) = (of_index(*family, address), interface) {
                all.push((address, prefix, interface));
            }
        }
        all
    }

    fn hosts(&self) -> Vec<(u32, IpAddr)> {
        let is_valid = |raw: &Raw| !matches!(raw, Raw::Number(INVALID));
        let arp = self.cells(C::Arp).filter(|(_, raw)| is_valid(raw));
        let arp = arp.filter_map(|(index, _)| Some((*index.first()?, v4(index.get(1..)?)?)));
        let physical = self.cells(C::Physical).filter(|(_, raw)| is_valid(raw)).filter_map(|(index, _)| {
            let [interface, family, address @ ..] = index else { return None };
            Some((*interface, of_index(*family, address)?))
        });
        arp.chain(physical).collect()
    }

    /// Hardware addresses: whose they are, and behind which interface they were learned.
    fn stations(&self) -> FoundStations {
        let is_valid = |column, index: &[u32]| self.number(column, index) != Some(INVALID);
        let hardware = |raw: &Raw| match raw {
            Raw::Octets(octets) => <[u8; 6]>::try_from(&**octets).ok().map(Hardware),
            _ => None,
        };
        let arp = self.cells(C::ArpHardware).filter(|(index, _)| is_valid(C::Arp, index));
        let arp = arp.filter_map(|(index, raw)| Some((v4(index.get(1..)?)?, hardware(raw)?)));
        let physical = self.cells(C::PhysicalHardware).filter(|(index, _)| is_valid(C::Physical, index));
        let physical = physical.filter_map(|(index, raw)| {
            let [_, family, address @ ..] = index else { return None };
            Some((of_index(*family, address)?, hardware(raw)?))
        });
        let known = arp.chain(physical).collect();

        let has_ports = self.cells(C::BridgePort).next().is_some();
        let interface = |port: u64| {
            let port = u32::try_from(port).ok().filter(|port| *port > 0)?;
            match has_ports {
                true => self.number(C::BridgePort, &[port]).and_then(|index| u32::try_from(index).ok()),
                // Field: small switches have no such table, and number both alike.
                false => Some(port),
            }
        };
        let learned = |index: &[u32], raw: &Raw| {
            let Raw::Number(port) = raw else { return None };
            let address: [u8; 6] = octets_of(index)?.try_into().ok()?;
            Some((interface(*port)?, Hardware(address)))
        };
        let bridge = self.cells(C::Forwarded).filter_map(|(index, raw)| learned(index, raw));
        // The index begins with the number of the VLAN's table.
        let of_vlan = self.cells(C::ForwardedOfVlan).filter_map(|(index, raw)| learned(index.get(1..)?, raw));
        FoundStations { known, learned: bridge.chain(of_vlan).collect() }
    }
}

fn octets_of(arcs: &[u32]) -> Option<Vec<u8>> {
    arcs.iter().map(|arc| u8::try_from(*arc).ok()).collect()
}

fn v4(arcs: &[u32]) -> Option<IpAddr> {
    let octets: [u8; 4] = octets_of(arcs)?.try_into().ok()?;
    Some(Ipv4Addr::from(octets).into())
}

/// An address in an index: its family (1 is version 4, 2 is version 6), its length, its octets.
fn of_index(family: u32, arcs: &[u32]) -> Option<IpAddr> {
    let octets = match arcs {
        [length, octets @ ..] if *length as usize == octets.len() => octets_of(octets)?,
        // Field: some agents leave the length out.
        octets => octets_of(octets)?,
    };
    of_family(family, &octets)
}

fn of_family(family: u32, octets: &[u8]) -> Option<IpAddr> {
    match family {
        1 => <[u8; 4]>::try_from(octets).ok().map(|octets| Ipv4Addr::from(octets).into()),
        2 => <[u8; 16]>::try_from(octets).ok().map(|octets| Ipv6Addr::from(octets).into()),
        _ => None,
    }
}

/// An identifier in a form that is the same wherever it is told: a hardware address, an address of IP, a text.
fn identifier(is_hardware: bool, is_network: bool, octets: &[u8]) -> String {
    let address = octets.split_first().and_then(|(family, octets)| of_family((*family).into(), octets));
    match address.filter(|_| is_network) {
        Some(address) => address.to_string(),
        None if is_hardware => {
            let written = written_hardware(octets);
            let octets = written.as_ref().map_or(octets, |octets| octets);
            octets.iter().map(|octet| format!("{octet:02x}")).collect::<Vec<_>>().join(":")
        }
        None => super::of_octets(octets),
    }
}

/// Field: RouterOS tells a hardware address as a text, "48:A9:8A:BD:B4:7D", where six octets are said.
fn written_hardware(octets: &[u8]) -> Option<[u8; 6]> {
    let text = core::str::from_utf8(octets).ok()?;
    let (mut address, mut parts) = ([0; 6], text.split([':', '-']));
    for octet in &mut address {
        let part = parts.next().filter(|part| part.len() == 2 && part.bytes().all(|c| c.is_ascii_hexdigit()))?;
        *octet = u8::from_str_radix(part, 16).ok()?;
    }
    parts.next().is_none().then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around(cells: &[(Column, &[u32], Value<'_>)]) -> Around {
        let mut around = Around::default();
        for (column, front, rest) in &COLUMNS {
            let root = Oid::new(&[&front[..], rest].concat()).unwrap();
            for (_, index, value) in cells.iter().filter(|(of, ..)| of == column) {
                around.take(&root, index, value);
            }
            around.ended(&root, WalkEnd::Done(1));
        }
        around
    }

    #[test]
    fn hardware_addresses_are_told_as_such_though_their_octets_are_letters() {
        let found = around(&[
            (C::ChassisKind, &[0, 3, 1], Value::Integer(4)),
            (C::Chassis, &[0, 3, 1], Value::OctetString(b"ABCDEF")),
            (C::PortKind, &[0, 3, 1], Value::Integer(5)),
            (C::Port, &[0, 3, 1], Value::OctetString(b"Gi0/1")),
            (C::Management, &[0, 3, 1, 1, 4, 192, 0, 2, 7], Value::Integer(2)),
            // Without its length.
            (C::Management, &[0, 3, 1, 1, 192, 0, 2, 8], Value::Integer(2)),
            (C::ChassisKind, &[0, 4, 1], Value::Integer(5)),
            (C::Chassis, &[0, 4, 1], Value::OctetString(&[1, 192, 0, 2, 9])),
        ]);
        let neighbours = found.found().0.neighbours.unwrap();
        let (port, first) = &neighbours.all[0];
        assert_eq!((*port, &*first.chassis, &*first.far_port), (3, "41:42:43:44:45:46", "Gi0/1"));
        let addresses: Vec<String> = first.addresses.iter().map(|address| address.0.to_string()).collect();
        assert_eq!(addresses, ["192.0.2.7", "192.0.2.8"]);
        assert_eq!(&*neighbours.all[1].1.chassis, "192.0.2.9");
    }

    #[test]
    fn a_hardware_address_is_the_same_as_octets_and_as_a_text() {
        let told = |octets: &[u8]| identifier(true, false, octets);
        for octets in [&b"48:A9:8A:BD:B4:7D"[..], b"48-a9-8a-bd-b4-7d", &[0x48, 0xa9, 0x8a, 0xbd, 0xb4, 0x7d]] {
            assert_eq!(told(octets), "48:a9:8a:bd:b4:7d");
        }
        for (octets, expected) in [
            (&b"48:A9:8A:BD:B4"[..], "34:38:3a:41:39:3a:38:41:3a:42:44:3a:42:34"),
            (b"+1:A9:8A:BD:B4:7D", "2b:31:3a:41:39:3a:38:41:3a:42:44:3a:42:34:3a:37:44"),
            (b"", ""),
        ] {
            assert_eq!(told(octets), expected);
        }
        // A chassis of the kind of networks whose octets are no address, and an index of one arc (old RouterOS).
        assert_eq!(identifier(false, true, &[1, 192, 0, 2]), "01:c0:00:02");
        let short = around(&[(C::Chassis, &[1383], Value::OctetString(b"ABCDEF"))]);
        assert!(short.found().0.neighbours.is_some_and(|found| found.all.is_empty()));
        // An ifIndex of more than 32 bits is none, and not another interface.
        let wide = around(&[(C::AddressIndex, &[10, 0, 0, 1], Value::Integer((1 << 32) + 2))]);
        assert_eq!(wide.addresses(), []);
    }

    #[test]
    fn addresses_come_from_both_tables_without_broadcasts_and_holes() {
        let prefix = "1.3.6.1.2.1.4.32.1.5.2.1.4.10.0.0.0.24".parse::<trunkline_wire::snmp::ObjectId>().unwrap();
        let found = around(&[
            (C::AddressIndex, &[10, 0, 0, 1], Value::Integer(2)),
            (C::AddressMask, &[10, 0, 0, 1], Value::IpAddress([255, 255, 255, 0])),
            (C::AddressIndex, &[10, 9, 0, 1], Value::Integer(3)),
            (C::AddressMask, &[10, 9, 0, 1], Value::IpAddress([255, 0, 255, 0])),
            (C::AnyAddressIndex, &[1, 4, 10, 0, 0, 255], Value::Integer(2)),
            (C::AnyAddressType, &[1, 4, 10, 0, 0, 255], Value::Integer(3)),
            (C::AnyAddressIndex, &[1, 4, 10, 0, 0, 2], Value::Integer(2)),
            (C::AnyAddressType, &[1, 4, 10, 0, 0, 2], Value::Integer(1)),
            (C::AnyAddressPrefix, &[1, 4, 10, 0, 0, 2], Value::ObjectId(prefix.as_oid())),
        ]);
        let told: Vec<String> = found.addresses().iter().map(|(a, p, i)| format!("{a} {p:?} {i}")).collect();
        assert_eq!(told, ["10.0.0.1 Some(24) 2", "10.9.0.1 None 3", "10.0.0.2 Some(24) 2"]);
    }

    #[test]
    fn stations_come_from_arp_and_from_both_forwarding_tables() {
        let phone: &[u32] = &[2, 0x0a, 192, 0, 2, 7];
        let vlan = [&[4094], phone].concat();
        let cells: Vec<(Column, &[u32], Value<'_>)> = vec![
            (C::Arp, &[3, 192, 0, 2, 7], Value::Integer(3)),
            (C::ArpHardware, &[3, 192, 0, 2, 7], Value::OctetString(&[2, 10, 192, 0, 2, 7])),
            // Invalid, and no address of hardware.
            (C::Arp, &[3, 192, 0, 2, 8], Value::Integer(2)),
            (C::ArpHardware, &[3, 192, 0, 2, 8], Value::OctetString(&[2, 10, 192, 0, 2, 8])),
            (C::ArpHardware, &[3, 192, 0, 2, 9], Value::OctetString(&[])),
            (C::PhysicalHardware, &[3, 1, 4, 192, 0, 2, 10], Value::OctetString(&[2, 10, 192, 0, 2, 10])),
            (C::Forwarded, phone, Value::Integer(7)),
            (C::ForwardedOfVlan, &vlan, Value::Integer(8)),
            // Learned nowhere, and an index that is none.
            (C::Forwarded, &[2, 10, 192, 0, 2, 8], Value::Integer(0)),
            (C::Forwarded, &[2, 10, 192, 0, 256, 8], Value::Integer(7)),
        ];
        let found = around(&cells).stations();
        let known: Vec<String> =
            found.known.iter().map(|(address, hardware)| format!("{address} {}", hardware.0[5])).collect();
        assert_eq!(known, ["192.0.2.7 7", "192.0.2.10 10"]);
        let phone = Hardware([2, 10, 192, 0, 2, 7]);
        assert_eq!(found.learned, [(7, phone), (8, phone)], "without a table of ports they are interfaces");
        let ports = [(C::BridgePort, &[7][..], Value::Integer(10_107))];
        assert_eq!(around(&[&cells[..], &ports[..]].concat()).stations().learned, [(10_107, phone)]);
    }

    #[test]
    fn what_broke_off_and_what_is_too_much_stays_as_it_was() {
        let arp = Oid::new(&[&IP[..], &[22, 1, 4]].concat()).unwrap();
        let mut around = around(&[]);
        around.again(&arp);
        around.ended(&arp, WalkEnd::Timeout);
        let (found, broken) = around.found();
        assert!(found.neighbours.is_some() && found.addresses.is_some() && found.hosts.is_none());
        assert_eq!((broken, around.was_silent), (vec!["hosts (ARP)"], true));
        around.again(&arp);
        assert_eq!(around.octets, 0);
        for host in 0..300_000u32 {
            let [_, b, c, d] = host.to_be_bytes();
            around.take(&arp, &[1, 10, b.into(), c.into(), d.into()], &Value::Integer(3));
        }
        around.ended(&arp, WalkEnd::Done(300_000));
        assert!(around.found().0.hosts.is_none() && around.octets > AROUND_OCTETS_MAX);
    }
}
