//! A farm of simulated devices for the demonstration's graphs: a core, routers below it and switches below those, on
//! loopback, with faults; in the inventory they have a site, a place in a tree, and a past.
//!
//! A router is away soon after the start, and what stands behind it with it. All is bounded: two dozen devices, a
//! question a minute to each.

use super::past;
use crate::command::graph::farm::Server;
use crate::failure::Failure;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use trunkline_graph::inventory::order::{Draft, Order};
use trunkline_graph::inventory::remap::{Walked, remap};
use trunkline_graph::inventory::{
    Change, Credential, Device, DeviceState, Filter, GroupBy, Inventory, Kind, Login, Node, NodeKind, Secret, Site,
    Tree, Version,
};
use trunkline_graph::job::{Handle, Undone};
use trunkline_sim::farm::{COMMUNITY, Drops, Farm, Fault, Gateway, Settings};

/// Who the inventory names.
const BY: &str = "demo";
/// The device template of all, and those of [`TEMPLATES`].
const TEMPLATE: &str = "demo";
/// What is read of devices, and how long it is kept: less than ordinarily, so that the files are small.
pub const TEMPLATES: &str = include_str!("graphs.toml");
/// A core, four routers, four switches behind each.
const DEVICES: usize = 21;
const BELOW: usize = 4;
const INTERFACES: u32 = 5;
/// How long they have been counting.
const PAST_MS: i64 = 400 * 86_400_000;
/// The router that is away first, and how soon.
const AWAY: usize = 2;
const AWAY_AFTER_MS: i64 = 40_000;
/// The longest time between two absences of a device of a farm.
const PERIOD_MS_MAX: i64 = 120 * 60_000;
/// For how long the switch of the subscribers drops packets, how often, and how often in all.
const DROPS_MS: i64 = 60_000;
const DROPS_EVERY_MS: i64 = 600_000;
const DROPS: i64 = 144;
/// When a farm was switched on, in a data folder that stays.
const BEGIN: &str = "demo-farm";
/// Where devices stand: degrees north and east.
const SITES: [(&str, f64, f64); 4] =
    [("London", 51.51, -0.13), ("Amsterdam", 52.37, 4.90), ("Frankfurt", 50.11, 8.68), ("Paris", 48.86, 2.35)];

/// The farm, and the thread that fills its past; both end when this is dropped.
pub struct Farming {
    over: Arc<AtomicBool>,
    serves: Option<JoinHandle<()>>,
    fills: Option<JoinHandle<Result<(), Failure>>>,
}

impl Farming {
    /// Has devices answer, and brings them to the graphs that run here: with files that have a past, then polled.
    ///
    /// # Errors
    /// No socket can be opened, no thread can be started.
    pub fn start(handle: &Handle, seed: u64, now_ms: i64) -> Result<Farming, Failure> {
        let farm = Farm::new(settings(handle.folder(), seed, now_ms)?);
        let mut server = Server::open(farm.clone(), 0)?;
        let ports: Vec<u16> = (0..DEVICES).map(|device| server.port(device).unwrap_or_default()).collect();
        let over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&over);
        let serves = thread("demo-farm", move || {
            while !seen.load(Ordering::Relaxed) {
                if let Err(why) = server.step() {
                    tracing::warn!("the devices of the demonstration do not answer any more: {why:?}");
                    break;
                }
            }
        })?;
        let (handle, seen) = (handle.clone(), Arc::clone(&over));
        let planting = Planting { handle, farm, ports, now_ms };
        let fills = thread("demo-past", move || planting.plant(&seen))?;
        Ok(Farming { over, serves: Some(serves), fills: Some(fills) })
    }

    /// Waits until all devices are there.
    ///
    /// # Errors
    /// The inventory or a file cannot be written.
    pub fn planted(&mut self) -> Result<(), Failure> {
        let failed = || Err(Failure::Failed("the thread of the demonstration's devices failed".to_owned()));
        self.fills.take().map_or(Ok(()), |fills| fills.join().unwrap_or_else(|_| failed()))
    }
}

impl Drop for Farming {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = self.planted();
        let _ = self.serves.take().map(JoinHandle::join);
    }
}

fn thread<T: Send + 'static>(name: &str, runs: impl FnOnce() -> T + Send + 'static) -> Result<JoinHandle<T>, Failure> {
    let started = std::thread::Builder::new().name(name.to_owned()).spawn(runs);
    started.map_err(|e| Failure::Failed(format!("a thread cannot be started: {e}")))
}

/// What the farm is made of. Counters of a folder that stays go on where they were.
fn settings(folder: &Path, seed: u64, now_ms: i64) -> Result<Settings, Failure> {
    let (devices, interfaces, below) = (DEVICES, INTERFACES, BELOW);
    let begun = |begin_ms| {
        let plain =
            Settings { seed, devices, interfaces, below, reached_through: true, begin_ms, ..Settings::default() };
        beside_calls(plain)
    };
    let path = folder.join(BEGIN);
    if let Some(begin_ms) = std::fs::read_to_string(&path).ok().and_then(|text| text.trim().parse().ok()) {
        return Ok(begun(begin_ms));
    }
    let away_at = now_ms + AWAY_AFTER_MS;
    let is_away_then = |settings: &Settings| {
        let farm = Farm::new(settings.clone());
        farm.state(AWAY, away_at - 1000).is_up && !farm.state(AWAY, away_at).is_up
    };
    let starts = (0..PERIOD_MS_MAX / 1000).map(|s| begun(now_ms - PAST_MS - s * 1000));
    let settings = starts.into_iter().find(is_away_then).unwrap_or_else(|| begun(now_ms - PAST_MS));
    let failed = |e: std::io::Error| Failure::Failed(format!("{}: {e}", path.display()));
    std::fs::write(&path, settings.begin_ms.to_string()).map_err(failed)?;
    Ok(settings)
}

/// Where the networks of the demonstration's calls are (`trunkline_sim::scene`): those of other operators at the core,
/// the exchange and its subscribers behind two switches, one of which drops packets for a minute in each ten.
fn beside_calls(plain: Settings) -> Settings {
    let farm = Farm::new(plain.clone());
    let is_sound = |place: &usize| {
        let router = farm.parent(*place);
        farm.fault(*place).is_none()
            && router != Some(AWAY)
            && router.is_some_and(|router| farm.fault(router).is_none())
    };
    let is_reached = |place: &usize| farm.fault(*place) != Some(Fault::Dead) && farm.parent(*place) != Some(AWAY);
    let switches = || (BELOW + 1)..DEVICES;
    let exchange = switches().find(is_sound).or_else(|| switches().find(is_reached)).unwrap_or(BELOW + 1);
    let is_apart = |place: &usize| farm.parent(*place) != farm.parent(exchange);
    let others = || switches().filter(is_apart);
    let subscribers = others().find(is_sound).or_else(|| others().find(is_reached)).unwrap_or(DEVICES - 1);
    let gateway = |address: IpAddr, bits, device, interface| Gateway { address, bits, device, interface };
    let v6 = |subnet| IpAddr::from([0x2001, 0xdb8, subnet, 0, 0, 0, 0xffff, 1]);
    let gateways = vec![
        gateway(IpAddr::from([203, 0, 113, 254]), 24, 0, 0),
        gateway(v6(2), 64, 0, 0),
        gateway(IpAddr::from([192, 0, 2, 254]), 24, exchange, 1),
        gateway(v6(0), 64, exchange, 1),
        gateway(IpAddr::from([198, 18, 0, 1]), 15, subscribers, 2),
        gateway(v6(1), 64, subscribers, 2),
    ];
    let from_ms = |number: i64| plain.begin_ms + PAST_MS + number * DROPS_EVERY_MS;
    let drops = (0..DROPS).map(|number| Drops {
        device: subscribers,
        interface: 2,
        per_s: 40,
        from_ms: from_ms(number),
        to_ms: from_ms(number) + DROPS_MS,
    });
    Settings { gateways, drops: drops.collect(), ..plain }
}

/// What brings a farm to an inventory.
struct Planting {
    handle: Handle,
    farm: Farm,
    ports: Vec<u16>,
    now_ms: i64,
}

fn undone(why: Undone) -> Failure {
    Failure::Failed(format!("the devices of the demonstration: {why}"))
}

impl Planting {
    fn plant(&self, over: &AtomicBool) -> Result<(), Failure> {
        // The program itself is a device, too.
        if self.handle.inventory().device_named(&self.name(0)).is_some() {
            return self.find_again();
        }
        let credential = self.login()?;
        let sites = self.sites()?;
        let mut devices = Vec::new();
        for place in 0..DEVICES {
            let parent = self.farm.parent(place).and_then(|parent| devices.get(parent).copied());
            devices.push(self.device(place, credential, sites[Self::site(place)], parent)?);
        }
        self.trees(&sites)?;
        let inventory = self.handle.inventory();
        let past = past::Past { farm: &self.farm, until_ms: self.now_ms };
        for (place, device) in devices.iter().enumerate() {
            if over.load(Ordering::Relaxed) {
                return Ok(());
            }
            past.fill(&self.handle, &inventory, *device, place)?;
        }
        self.order(Order::SetState(devices, DeviceState::Active)).map(|_| ())
    }

    fn order(&self, order: Order) -> Result<Vec<Change>, Failure> {
        self.handle.order(BY, order).map(|done| done.changes).map_err(undone)
    }

    /// A folder that stays has them already: only their ports are others.
    fn find_again(&self) -> Result<(), Failure> {
        let inventory = self.handle.inventory();
        for (place, port) in self.ports.iter().enumerate() {
            let id = inventory.device_named(&self.name(place));
            let Some((id, device)) = id.and_then(|id| Some((id, inventory.devices().get(id)?.clone()))) else {
                continue;
            };
            let access = trunkline_graph::inventory::Access { port: *port, ..device.access.clone() };
            self.order(Order::Device(Some(id), Device { access, ..device }))?;
        }
        Ok(())
    }

    fn login(&self) -> Result<u32, Failure> {
        let login = Login::Community { community: Secret::new(COMMUNITY) };
        self.order(Order::Credential(None, Credential { name: "farm".into(), login }))?;
        let id = self.handle.inventory().named(Kind::Credential, "farm");
        id.ok_or_else(|| Failure::Failed("the credential of the demonstration is not there".to_owned()))
    }

    fn sites(&self) -> Result<Vec<u32>, Failure> {
        for (name, north, east) in SITES {
            let site = Site { name: name.into(), position: Some((north, east)), ..Site::default() };
            self.order(Order::Site(None, site))?;
        }
        let inventory = self.handle.inventory();
        Ok(SITES.iter().filter_map(|(name, ..)| inventory.named(Kind::Site, name)).collect())
    }

    /// The core stands where its first router does; switches stand where theirs does.
    fn site(place: usize) -> usize {
        let router = if place > BELOW { (place - 1) / BELOW } else { place.max(1) };
        (router - 1) % SITES.len()
    }

    /// A short name: what it says of itself has a domain behind it.
    fn name(&self, place: usize) -> String {
        self.farm.name(place).split('.').next().unwrap_or_default().to_owned()
    }

    /// A device with its interfaces, data sources and graphs, not polled yet.
    fn device(&self, place: usize, credential: u32, site: u32, parent: Option<u32>) -> Result<u32, Failure> {
        let mut device = Device::new(&self.name(place), &self.farm.address(place).to_string());
        device.access.port = self.ports[place];
        device.access.credential = Some(credential);
        if self.farm.fault(place) == Some(Fault::VersionOne) {
            device.access.version = Some(Version::V1);
        }
        device.site = Some(site);
        // What goes away is told soon.
        device.availability.failures = 1;
        device.behind = parent.into_iter().collect();
        device.state = DeviceState::Disabled;
        // The program itself becomes a device at the same time.
        let made = self.handle.make(BY, move |inventory| {
            let (id, mut draft) = (inventory.devices().next(), Draft::new(inventory));
            device.template = Some(draft.named(Kind::DeviceTemplate, TEMPLATE));
            draft.change(Change::Device { id, device: Box::new(device) });
            draft.changes()
        });
        let of_device = |change: &Change| if let Change::Device { id, .. } = change { Some(*id) } else { None };
        let id = made.map_err(undone)?.changes.iter().find_map(of_device).ok_or_else(|| undone(Undone::Over))?;
        // One that never answers has told nobody what it has.
        if self.farm.fault(place) != Some(Fault::Dead) {
            let walk: Vec<Walked> = (0..INTERFACES).map(|interface| self.walked(place, interface)).collect();
            let rows = self.handle.make(BY, move |inventory| remap(inventory, id, "interfaces", &walk).changes);
            rows.map_err(undone)?;
            self.order(Order::ApplyTemplate(id))?;
        }
        Ok(id)
    }

    /// As a walk of the device would have found it.
    fn walked(&self, place: usize, interface: u32) -> Walked {
        let name = self.farm.interface_name(interface);
        Walked {
            index: vec![self.farm.interface_index(place, interface, self.now_ms)],
            second: name.replace("Gi", "GigabitEthernet"),
            name,
            speed: self.farm.interface_speed(place, interface),
            fields: vec![("ifType".to_owned(), "6".to_owned())],
            ..Walked::default()
        }
    }

    /// Two trees: by where devices stand, and by what is looked for.
    fn trees(&self, sites: &[u32]) -> Result<(), Failure> {
        let inventory = self.handle.inventory();
        let tree = self.tree("Network")?;
        let routers = self.node(tree, None, NodeKind::Folder { name: "Core and routers".into() })?;
        for place in 0..=BELOW {
            if let Some(device) = inventory.device_named(&self.name(place)) {
                self.node(tree, Some(routers), NodeKind::Device { device, group: GroupBy::Template })?;
            }
        }
        for site in sites {
            self.node(tree, None, NodeKind::Site { site: *site })?;
        }
        let tree = self.tree("What to look at")?;
        let template = |name: &str| inventory.named(Kind::GraphTemplate, name);
        for (name, filter) in [
            ("Uplinks", Filter { row: "Gi1/1".into(), template: template("interface-bits"), ..Filter::default() }),
            ("Errors", Filter { template: template("interface-errors"), ..Filter::default() }),
            ("Uptime", Filter { template: template("uptime"), ..Filter::default() }),
        ] {
            self.node(tree, None, NodeKind::Rule { name: name.into(), filter, group: GroupBy::Device })?;
        }
        let sum = self.order(Order::Graph {
            id: None,
            template: "interfaces-sum".to_owned(),
            title: Some("All uplinks together".to_owned()),
            sources: uplinks(&inventory),
        })?;
        for change in sum {
            if let Change::Graph { id: graph, .. } = change {
                self.node(tree, None, NodeKind::Graph { graph })?;
            }
        }
        Ok(())
    }

    fn tree(&self, name: &str) -> Result<u32, Failure> {
        let id = self.handle.inventory().trees().next();
        self.order(Order::Tree(None, Tree { name: name.into(), order: id })).map(|_| id)
    }

    fn node(&self, tree: u32, parent: Option<u32>, kind: NodeKind) -> Result<u32, Failure> {
        let id = self.handle.inventory().nodes().next();
        self.order(Order::Node(None, Node { tree, parent, order: id, kind })).map(|_| id)
    }
}

/// The traffic of the first interface of each device, which leads up.
fn uplinks(inventory: &Inventory) -> Vec<u32> {
    let Some(traffic) = inventory.named(Kind::DataTemplate, "interface-traffic") else { return Vec::new() };
    let first: BTreeMap<u32, u32> = inventory
        .sources()
        .iter()
        .filter(|(_, source)| source.template == traffic)
        .filter(|(_, source)| source.row.and_then(|row| inventory.rows().get(row)).is_some_and(|r| &*r.name == "Gi1/1"))
        .map(|(id, source)| (source.device, id))
        .collect();
    first.into_values().collect()
}
