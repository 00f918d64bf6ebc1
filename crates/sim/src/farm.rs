//! A farm of simulated devices that answer SNMP: what each would say at any moment is known.
//!
//! ```
//! use trunkline_sim::farm::{Counter, Farm, Settings};
//! let farm = Farm::new(Settings { devices: 3, interfaces: 4, ..Settings::default() });
//! let hour = farm.settings().begin_ms + 3_600_000;
//! assert!(farm.counter(1, 2, Counter::InOctets, hour) > farm.counter(1, 2, Counter::InOctets, hour - 60_000));
//! ```
//!
//! All is a function of the seed and the time, in whole numbers: nothing is kept, no order of questions matters, and a
//! simulated year costs no more than a minute. The messages are read and written by this crate's own code
//! (`farm/ber.rs`, and `farm/usm.rs` for version 3), which shares none with what is tested.
//!
//! Devices are a tree, a core with distribution below it and access below that, and say so by LLDP and their ARP
//! tables, where [`Host`]s stand, too; each has an address, and those of [`Gateway`]s. Each twentieth or so has a
//! [`Fault`].

mod agent;
mod ber;
mod curve;
mod fate;
mod mib;
mod secured;
mod usm;

pub use agent::{Answer, COMMUNITY};
pub use fate::Fault;
pub use usm::{AUTHENTICATION_PASSWORD, PRIVACY_PASSWORD};

use crate::random::Random;
use curve::Curve;
use fate::Fate;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

/// Devices of the largest farm: as many as have an address in 127.64.0.0/10, a few left out.
pub const DEVICES_MAX: usize = 1 << 20;
/// Interfaces of a device.
pub const INTERFACES_MAX: u32 = 10_000;

/// What a farm is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The same seed makes the same farm.
    pub seed: u64,
    /// Devices, 1 to [`DEVICES_MAX`].
    pub devices: usize,
    /// Interfaces of each, 1 to [`INTERFACES_MAX`].
    pub interfaces: u32,
    /// When all of them were switched on first, milliseconds since 1970.
    pub begin_ms: i64,
    /// Whether some have faults; else all are sound.
    pub faults: bool,
    /// Of a thousand devices so many never answer, beside those with other faults.
    pub dead_permille: u32,
    /// Of a thousand devices so many speak version 3 alone; all others speak it, too, but those with
    /// [`Fault::VersionOne`].
    pub v3_permille: u32,
    /// How many devices stand below one.
    pub below: usize,
    /// Whether devices are silent, too, while one on the way to them is.
    pub reached_through: bool,
    /// Hosts that devices reach by themselves.
    pub hosts: Vec<Host>,
    /// Hosts behind ports of switches, which forward to them: those that devices reach by themselves, mostly.
    pub stations: Vec<Host>,
    /// Addresses of devices beside those that they are asked at.
    pub gateways: Vec<Gateway>,
    /// Devices that tell nobody who is next to them, and of whom nobody tells that.
    pub without_lldp: Vec<usize>,
    /// Interfaces that drop what they cannot send for a while.
    pub drops: Vec<Drops>,
}

/// A host near a device. One that it reaches by itself stands in its ARP table, or among its neighbours of IPv6; one
/// that it forwards to, in its forwarding table by its hardware address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Host {
    /// Its address.
    pub address: IpAddr,
    /// The device.
    pub device: usize,
    /// The interface behind which it is.
    pub interface: u32,
}

/// An address of a device, with a network behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gateway {
    /// The address.
    pub address: IpAddr,
    /// Bits of its network.
    pub bits: u8,
    /// The device.
    pub device: usize,
    /// The interface that has it.
    pub interface: u32,
}

/// Packets that an interface drops before they go ([`Counter::OutDiscards`]), beside those that it drops in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drops {
    /// The device.
    pub device: usize,
    /// The interface.
    pub interface: u32,
    /// How many a second.
    pub per_s: u32,
    /// From then on, milliseconds since 1970.
    pub from_ms: i64,
    /// Until then.
    pub to_ms: i64,
}

impl Drops {
    /// How many until then.
    fn count(&self, at_ms: i64) -> u64 {
        let ms = at_ms.min(self.to_ms).saturating_sub(self.from_ms).max(0);
        u64::try_from(i128::from(ms) * i128::from(self.per_s) / 1000).unwrap_or_default()
    }
}

impl Default for Settings {
    /// 500 devices with 50 interfaces and faults, switched on at the beginning of 2026.
    fn default() -> Self {
        Settings {
            seed: 1,
            devices: 500,
            interfaces: 50,
            begin_ms: 1_767_225_600_000,
            faults: true,
            dead_permille: 0,
            hosts: Vec::new(),
            stations: Vec::new(),
            without_lldp: Vec::new(),
            gateways: Vec::new(),
            drops: Vec::new(),
            v3_permille: 0,
            below: 24,
            reached_through: false,
        }
    }
}

/// What an interface counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Counter {
    /// Octets that came.
    InOctets,
    /// Octets that went.
    OutOctets,
    /// Unicast packets that came.
    InPackets,
    /// Unicast packets that went.
    OutPackets,
    /// Packets that came and were broken.
    InErrors,
    /// Packets that could not be sent.
    OutErrors,
    /// Packets that came and were dropped.
    InDiscards,
    /// Packets that were dropped before they went.
    OutDiscards,
}

/// How a device is at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// Whether it answers at all.
    pub is_up: bool,
    /// How often it has started, 1 at first.
    pub boots: u32,
    /// Milliseconds since it started.
    pub uptime_ms: i64,
}

/// The farm.
#[derive(Clone, Debug)]
pub struct Farm {
    settings: Settings,
    masters: Arc<usm::Masters>,
}

impl Farm {
    /// The farm of these settings; what is beyond the limits is cut.
    pub fn new(settings: Settings) -> Farm {
        let devices = settings.devices.clamp(1, DEVICES_MAX);
        let interfaces = settings.interfaces.clamp(1, INTERFACES_MAX);
        let below = settings.below.clamp(1, DEVICES_MAX);
        Farm { settings: Settings { devices, interfaces, below, ..settings }, masters: Arc::default() }
    }

    /// What it is made of.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The address of a device, in 127.64.0.0/10.
    pub fn address(&self, device: usize) -> Ipv4Addr {
        Ipv4Addr::from(0x7f40_0000 + device as u32 + 1)
    }

    /// The device of an address.
    pub fn device_of(&self, address: Ipv4Addr) -> Option<usize> {
        let device = u32::from(address).checked_sub(0x7f40_0001)? as usize;
        (device < self.settings.devices).then_some(device)
    }

    /// Its `sysName`.
    pub fn name(&self, device: usize) -> String {
        let sort = match device {
            0 => "core",
            d if d < 1 + self.settings.below => "dist",
            _ => "access",
        };
        format!("{sort}-{device}.farm.example")
    }

    /// The device that it is reached through; none for the core.
    pub fn parent(&self, device: usize) -> Option<usize> {
        (device > 0).then(|| (device - 1) / self.settings.below)
    }

    /// Who is next to it, as LLDP tells it: its own interface, the device there, and the interface at that side. The
    /// uplink is the first interface, the others lead down.
    pub fn neighbours(&self, device: usize) -> Vec<(u32, usize, u32)> {
        let (devices, interfaces, count) = (self.settings.devices, self.settings.interfaces, self.settings.below);
        let first = device * count + 1;
        let below = (1..).zip(first..first + count).map(|(port, below)| (port, below, 0));
        // The one above leads down to this one by its place below it.
        let up = self.parent(device).map(|parent| (0, parent, (device - parent * count) as u32));
        let tells = |device: usize| !self.settings.without_lldp.contains(&device);
        let is_there = |(port, other, far): &(u32, usize, u32)| {
            *other < devices && (*port).max(*far) < interfaces && tells(device) && tells(*other)
        };
        up.into_iter().chain(below).filter(is_there).collect()
    }

    /// The addresses of a device: address, bits of its network, interface.
    pub fn addresses(&self, device: usize) -> Vec<(IpAddr, u8, u32)> {
        let own = (IpAddr::V4(self.address(device)), 32, 0);
        let is_of = |one: &&Gateway| one.device == device && one.interface < self.settings.interfaces;
        let gateways = self.settings.gateways.iter().filter(is_of);
        std::iter::once(own).chain(gateways.map(|one| (one.address, one.bits, one.interface))).collect()
    }

    /// The hosts that a device reaches by itself, its neighbours among them: interface and address.
    pub fn reached(&self, device: usize) -> Vec<(u32, IpAddr)> {
        let next = self.neighbours(device).into_iter().map(|(port, other, _)| (port, IpAddr::V4(self.address(other))));
        let hosts = self.settings.hosts.iter().filter(|host| host.device == device);
        next.chain(hosts.map(|host| (host.interface, host.address))).collect()
    }

    /// The stations that a device forwards to: interface and address.
    pub fn forwards(&self, device: usize) -> Vec<(u32, IpAddr)> {
        let is_of = |one: &&Host| one.device == device && one.interface < self.settings.interfaces;
        self.settings.stations.iter().filter(is_of).map(|one| (one.interface, one.address)).collect()
    }

    /// Whether a switch tells what it forwards to by VLAN (Q-BRIDGE-MIB), or without (BRIDGE-MIB): by turns.
    pub fn has_vlans(&self, device: usize) -> bool {
        device % 2 == 1
    }

    /// What is wrong with it.
    pub fn fault(&self, device: usize) -> Option<Fault> {
        self.fate(device).fault
    }

    /// Whether it speaks version 3 and no other. Users are `open`, those named by how they authenticate themselves
    /// (`md5`, `sha1`, `sha224` to `sha512`), and by how they encrypt (`sha256-aes128`; `des`, `aes128` to `aes256`).
    pub fn speaks_version_three_alone(&self, device: usize) -> bool {
        let mut random = Random::of(self.settings.seed ^ 0x7573_6d33, device as u64);
        let is_chosen = random.below(1000) < u64::from(self.settings.v3_permille);
        is_chosen && self.fault(device) != Some(Fault::VersionOne)
    }

    /// How it is at a moment.
    pub fn state(&self, device: usize, at_ms: i64) -> State {
        self.fate(device).state(at_ms - self.settings.begin_ms)
    }

    /// Whether its answers come through at a moment: it is up and, where that counts, all on the way to it are.
    pub fn is_reached(&self, device: usize, at_ms: i64) -> bool {
        let on_the_way = || self.parent(device).is_none_or(|parent| self.is_reached(parent, at_ms));
        self.state(device, at_ms).is_up && (!self.settings.reached_through || on_the_way())
    }

    /// The name of an interface, which it keeps (`ifName`).
    pub fn interface_name(&self, interface: u32) -> String {
        format!("Gi{}/{}", 1 + interface / 48, 1 + interface % 48)
    }

    /// Where an interface stands in the tables at a moment (`ifIndex`).
    pub fn interface_index(&self, device: usize, interface: u32, at_ms: i64) -> u32 {
        let state = self.state(device, at_ms);
        self.fate(device).numbering(state.boots, self.settings.interfaces).index(interface)
    }

    /// Bits a second that it could carry (`ifHighSpeed` in millions).
    pub fn interface_speed(&self, device: usize, interface: u32) -> u64 {
        self.curve(device, interface).speed
    }

    /// Whether an interface is up at a moment (`ifOperStatus`).
    pub fn interface_is_up(&self, device: usize, interface: u32, at_ms: i64) -> bool {
        self.fate(device).interface_is_up(interface, at_ms - self.settings.begin_ms)
    }

    /// What a counter of 64 bits would say at a moment; those of 32 bits are its lower half.
    pub fn counter(&self, device: usize, interface: u32, counter: Counter, at_ms: i64) -> u64 {
        let (fate, since) = (self.fate(device), at_ms - self.settings.begin_ms);
        let state = fate.state(since);
        let curve = self.curve(device, interface);
        let count = |since: i64| {
            let plain = curve.count(counter, fate.interface_active_ms(interface, since));
            plain.wrapping_add(self.dropped(device, interface, counter, since + self.settings.begin_ms))
        };
        // A start forgets what was counted; the first one was long before the farm begins.
        match state.boots {
            1 => curve.base(counter).wrapping_add(count(since)),
            _ => count(since).wrapping_sub(count(since - state.uptime_ms)),
        }
    }

    /// What an interface counted from one moment to another, however often it was started between.
    pub fn counted(&self, device: usize, interface: u32, counter: Counter, from_ms: i64, to_ms: i64) -> u64 {
        let (fate, curve) = (self.fate(device), self.curve(device, interface));
        let count = |at_ms: i64| {
            let plain = curve.count(counter, fate.interface_active_ms(interface, at_ms - self.settings.begin_ms));
            plain.wrapping_add(self.dropped(device, interface, counter, at_ms))
        };
        count(to_ms).wrapping_sub(count(from_ms))
    }

    /// What was dropped beside that.
    fn dropped(&self, device: usize, interface: u32, counter: Counter, at_ms: i64) -> u64 {
        let is_of = |drops: &&Drops| (drops.device, drops.interface) == (device, interface);
        let drops = self.settings.drops.iter().filter(|drops| counter == Counter::OutDiscards && is_of(drops));
        drops.map(|drops| drops.count(at_ms)).sum()
    }

    fn fate(&self, device: usize) -> Fate {
        Fate::of(&self.settings, device)
    }

    fn curve(&self, device: usize, interface: u32) -> Curve {
        Curve::new(&mut Random::of(self.settings.seed, (device as u64) << 20 | u64::from(interface)))
    }
}
