//! Neighbours, addresses and hosts of a farm whose truth is known: as the job finds them, as net-snmp reads them, and
//! what is answered of them.

use crate::house;
use crate::world;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::process::Command;
use std::sync::atomic::Ordering;
use trunkline_graph::inventory::order::Order;
use trunkline_graph::inventory::{Change, Device, Inventory};
use trunkline_graph::job::{Graphs, Handle, Options, Pages};
use trunkline_graph::network::{How, Node};
use trunkline_sim::farm::{Fault, Gateway, Host, Settings};
use world::{Served, eventually, now_ms};

const INTERFACES: u32 = 26;
/// Of the farm: the core, two of its distribution, two access switches below the first of them and one below the
/// other.
const PLACES: [usize; 6] = [0, 1, 2, 25, 26, 49];

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// Phones behind access switches, media behind the core, and the networks in which they are.
fn settings() -> Settings {
    let host = |text: &str, device, interface| Host { address: address(text), device, interface };
    let gateway = |text: &str, bits, device, interface| Gateway { address: address(text), bits, device, interface };
    Settings {
        devices: 60,
        interfaces: INTERFACES,
        faults: false,
        hosts: vec![
            host("10.1.0.7", 25, 5),
            host("2001:db8:1::7", 25, 5),
            host("10.2.0.9", 49, 6),
            // The distribution above sees it, too, through its link to the access switch.
            host("10.1.0.7", 1, 1),
        ],
        gateways: vec![
            gateway("10.1.0.1", 24, 25, 5),
            gateway("10.0.0.1", 8, 0, 25),
            gateway("10.2.0.1", 16, 49, 6),
            gateway("2001:db8:1::1", 64, 25, 5),
        ],
        ..Settings::default()
    }
}

struct Here {
    served: Served,
    graphs: Graphs,
    folder: tempfile::TempDir,
    /// Our numbers of the farm's devices.
    ids: BTreeMap<usize, u32>,
}

fn options() -> Options {
    let writer = trunkline_rrd::Options { redo_octets: 1 << 20, ..trunkline_rrd::Options::default() };
    Options { segment_octets: 1 << 20, lanes: 2, writer, ..Options::default() }
}

fn add(handle: &Handle, served: &Served, place: usize) -> u32 {
    // Not called as it calls itself: it is known by what it says.
    let mut device = Device::new(&format!("switch-{place}"), &served.farm.address(place).to_string());
    device.access.port = served.port;
    let made = handle.order("test", Order::Device(None, device)).unwrap();
    let [Change::Device { id, .. }] = &made.changes[..] else { panic!("{made:?}") };
    *id
}

impl Here {
    fn start(settings: Settings, places: &[usize]) -> Here {
        let served = Served::start(settings, |_, device| places.contains(&device));
        let folder = tempfile::tempdir().unwrap();
        let graphs = Graphs::open(&folder.path().join("graphs"), &options()).unwrap();
        let handle = graphs.handle().clone();
        let ids: BTreeMap<usize, u32> = places.iter().map(|place| (*place, add(&handle, &served, *place))).collect();
        let is_known = |id: &u32| {
            let inventory = handle.inventory();
            inventory.around(*id).is_some_and(|around| around.hosts.count() + around.stations.count() > 0)
        };
        eventually("all devices told what is around them", || ids.values().all(is_known));
        Here { served, graphs, folder, ids }
    }

    fn handle(&self) -> &Handle {
        self.graphs.handle()
    }

    fn ask(&self, question: Value) -> Value {
        house::ask_pages(self.handle(), &question).unwrap()
    }

    /// The ends of links between devices: farm's device and interface name, the lower one first; whether both tell.
    fn links(&self) -> BTreeSet<(usize, String, usize, String, bool)> {
        let inventory = self.handle().inventory();
        let place = |node: Node| match node {
            Node::Device(id) => self.ids.iter().find(|(_, known)| **known == id).map(|(place, _)| *place),
            Node::Stranger(_) => None,
        };
        let name = |row: Option<u32>| inventory.rows().get(row.unwrap()).unwrap().name.to_string();
        let network = inventory.network();
        let links = network.links().iter().filter_map(|link| {
            let [a, b] = &link.ends;
            let (one, other) = (place(a.node)?, place(b.node)?);
            let (a, b) = if one < other { ((one, a), (other, b)) } else { ((other, b), (one, a)) };
            Some((a.0, name(a.1.row), b.0, name(b.1.row), a.1.tells && b.1.tells))
        });
        links.collect()
    }

    fn truth(&self) -> BTreeSet<(usize, String, usize, String, bool)> {
        let farm = &self.served.farm;
        let mut links = BTreeSet::new();
        for place in self.ids.keys() {
            for (port, other, far) in farm.neighbours(*place) {
                if self.ids.contains_key(&other) && *place < other {
                    links.insert((*place, farm.interface_name(port), other, farm.interface_name(far), true));
                }
            }
        }
        links
    }
}

/// What net-snmp reads in a column.
fn walked(here: &Here, place: usize, column: &str) -> Option<BTreeSet<String>> {
    let agent = format!("{}:{}", here.served.farm.address(place), here.served.port);
    let run = Command::new("snmpbulkwalk").args(["-v2c", "-c", "public", "-Onqv", &agent, column]).output().ok()?;
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let text = String::from_utf8(run.stdout).unwrap();
    Some(text.lines().map(|line| line.trim_matches('"').to_owned()).collect())
}

#[test]
fn links_addresses_and_hosts_are_the_farms_and_those_that_net_snmp_reads() {
    let here = Here::start(settings(), &PLACES);
    assert_eq!(here.links(), here.truth());
    assert_eq!(here.links().len(), 5, "{:?}", here.links());
    let inventory = here.handle().inventory();
    for (place, id) in &here.ids {
        let around = inventory.around(*id).unwrap();
        let Some(arp) = walked(&here, *place, ".1.3.6.1.2.1.4.22.1.3") else {
            eprintln!("SKIPPED IN PART: snmp is not installed");
            break;
        };
        let hosts = around.hosts.all.iter().flat_map(|of| &of.addresses).map(|address| address.0);
        assert_eq!(hosts.filter(IpAddr::is_ipv4).map(|a| a.to_string()).collect::<BTreeSet<_>>(), arp, "{place}");
        let own = around.addresses.all.iter().map(|own| own.address.0).filter(IpAddr::is_ipv4);
        let read = walked(&here, *place, ".1.3.6.1.2.1.4.20.1.1").unwrap();
        assert_eq!(own.map(|a| a.to_string()).collect::<BTreeSet<_>>(), read, "{place}");
        let names: BTreeSet<String> = around.neighbours.all.iter().map(|one| one.name.to_string()).collect();
        assert_eq!(names, walked(&here, *place, ".1.0.8802.1.1.2.1.4.1.1.9").unwrap(), "{place}");
    }

    // Another look finds the same, and the log does not grow.
    let before = here.handle().inventory().sequence();
    let core = here.ids[&0];
    let walked = here.handle().status().polls.walked;
    here.handle().explore(core).unwrap();
    eventually("it is looked at again", || here.handle().status().polls.walked > walked);
    eventually("that is over", || !here.handle().device(core).unwrap().is_explored);
    assert_eq!(here.handle().inventory().sequence(), before);

    // What is durable is durable.
    let kept = (*here.handle().inventory()).clone();
    let (folder, graphs) = (here.folder, here.graphs);
    graphs.stop();
    let graphs = Graphs::open(&folder.path().join("graphs"), &options()).unwrap();
    assert!(*graphs.handle().inventory() == kept && kept.hosts_total() > 30);
}

#[test]
fn the_map_has_devices_strangers_and_the_middle_at_its_beginning() {
    let here = Here::start(settings(), &PLACES);
    let map = here.ask(json!({ "do": "map" }));
    let nodes = map["nodes"].as_array().unwrap();
    assert_eq!((&nodes[0]["name"], &nodes[0]["depth"]), (&json!("switch-0"), &json!(0)), "{}", nodes[0]);
    let strangers: BTreeSet<&str> =
        nodes.iter().filter(|node| node["kind"] == "stranger").filter_map(|node| node["name"].as_str()).collect();
    // All neighbours in the farm that nobody polls, each once.
    let farm = &here.served.farm;
    let neighbours = PLACES.iter().flat_map(|place| farm.neighbours(*place));
    let unknown: BTreeSet<String> =
        neighbours.filter(|(_, other, _)| !PLACES.contains(other)).map(|(_, other, _)| farm.name(other)).collect();
    assert_eq!(strangers, unknown.iter().map(String::as_str).collect());
    assert_eq!(map["nodes_total"], PLACES.len() + unknown.len());
    let links = map["links"].as_array().unwrap();
    let both = links.iter().filter(|link| link["one_sided"] == false);
    assert_eq!((both.count(), links.len()), (5, 5 + unknown.len()));
    // What is seen from one side has where it is managed, to be added.
    let stranger = nodes.iter().find(|node| node["name"] == farm.name(3)).unwrap();
    assert_eq!(stranger["address"], farm.address(3).to_string());
    // Around an access switch there are its distribution and, a step on, what is below and above that.
    let around = here.ask(json!({ "do": "map", "device": here.ids[&49], "hops": 1 }));
    let names: Vec<&str> = around["nodes"].as_array().unwrap().iter().map(|n| n["name"].as_str().unwrap()).collect();
    assert_eq!(names[..2], ["switch-49", "switch-2"]);
    let few = here.ask(json!({ "do": "map", "limit": 3 }));
    assert_eq!((few["nodes"].as_array().unwrap().len(), &few["nodes_total"]), (3, &map["nodes_total"]));
    let wrong = house::ask_pages(here.handle(), &json!({ "do": "map", "device": 99 }));
    assert!(wrong.is_err());
}

/// Who is behind whom in the farm's tree is learnt from what its devices say of each other.
#[test]
fn who_is_behind_whom_is_the_farms_tree() {
    let here = Here::start(settings(), &PLACES);
    let pages = Pages::new(here.handle().clone());
    let core = here.ids[&0];
    pages.order("test", &json!({ "do": "learn-behind", "from": [core] })).unwrap();
    let inventory = here.handle().inventory();
    let farm = &here.served.farm;
    for (place, id) in &here.ids {
        // Whoever has a lower number is above: the core, then those of distribution.
        let above = farm.neighbours(*place).into_iter().map(|(_, other, _)| other).filter(|other| other < place);
        let above: Vec<u32> = above.filter_map(|other| here.ids.get(&other).copied()).collect();
        assert_eq!(inventory.devices().get(*id).unwrap().behind, above, "{place}");
    }
    let told = here.ask(json!({ "do": "behind", "from": [core] }));
    assert_eq!((&told["set"], &told["same"], &told["unreached"]), (&json!(0), &json!(5), &json!(0)));
}

#[test]
fn addresses_are_found_near_and_the_way_between_them_leads_through_the_middle() {
    let here = Here::start(settings(), &PLACES);
    let question = json!({
        "do": "near", "addresses": ["10.1.0.7", "10.2.0.9", "2001:db8:1::7", "10.77.0.1", "192.0.2.1", "10.0.0.1"],
        "pairs": [[0, 1], [0, 4]],
    });
    let told = here.ask(question);
    let places = |at: usize| -> Vec<(String, String, String)> {
        let places = told["addresses"][at]["places"].as_array().unwrap();
        let text = |place: &Value, key: &str| place[key].as_str().unwrap_or_default().to_owned();
        places.iter().map(|place| (text(place, "name"), text(place, "interface"), text(place, "why"))).collect()
    };
    let place = |name: &str, interface: &str, why: &str| (name.to_owned(), interface.to_owned(), why.to_owned());
    let arp = "10.1.0.7 is in its ARP table";
    let network = "10.1.0.7 is in its network 10.1.0.0/24";
    // The one without a link behind that interface first; then who sees it through a link; then the network.
    assert_eq!(
        places(0),
        [place("switch-25", "Gi1/6", arp), place("switch-1", "Gi1/2", arp), place("switch-25", "Gi1/6", network)]
    );
    assert_eq!(places(2)[0].2, "2001:db8:1::7 is in its table of neighbours");
    assert_eq!(places(3), [place("switch-0", "Gi1/26", "10.77.0.1 is in its network 10.0.0.0/8")]);
    assert_eq!(places(4), []);
    assert_eq!(places(5)[0], place("switch-0", "Gi1/26", "10.0.0.1 is its own address"));

    let names = |way: &Value| -> Vec<String> {
        let step = |step: &Value| step["name"].as_str().unwrap().to_owned();
        way.as_array().unwrap().iter().map(step).collect()
    };
    let way = &told["ways"][0];
    assert_eq!(way["ways_total"], 1);
    assert_eq!(names(&way["ways"][0]), ["switch-25", "switch-1", "switch-0", "switch-2", "switch-49"]);
    assert_eq!((&way["ways"][0][2]["in"], &way["ways"][0][2]["out"]), (&json!(["Gi1/2"]), &json!(["Gi1/3"])));
    assert_eq!(told["ways"][1]["ways"], json!([]), "nobody knows where that is");
    let stops = stops(&told);
    for stop in [("switch-0", "Gi1/2"), ("switch-0", "Gi1/3"), ("switch-25", "Gi1/1"), ("switch-49", "Gi1/7")] {
        assert!(stops.contains(&stop), "{stop:?}: {stops:?}");
    }
    // Who may not see the middle is told of no way through it, and nothing of what is there.
    let network = here.handle().inventory().network();
    let (ends, core) = ([here.ids[&25], here.ids[&49]], here.ids[&0]);
    let ways = |visible: &dyn Fn(u32) -> bool| network.ways(&ends[..1], &ends[1..], visible).total;
    assert_eq!((ways(&|_| true), ways(&|device| device != core)), (1, 0));
    assert_eq!(network.near(address("10.77.0.1"), &|device| device != core).1, 0);
    let (near, total) = network.near(address("::ffff:10.1.0.7"), &|_| true);
    assert_eq!((near[0].how, total), (How::Host, 3));
    for wrong in [
        json!({ "do": "near" }),
        json!({ "do": "near", "addresses": ["nowhere"] }),
        json!({ "do": "near", "addresses": vec!["10.0.0.1"; 65] }),
        json!({ "do": "near", "addresses": ["10.0.0.1"], "pairs": [[0, 1]] }),
        json!({ "do": "near", "addresses": ["10.0.0.1"], "from": 7, "to": 7 }),
    ] {
        assert!(house::ask_pages(here.handle(), &wrong).is_err(), "{wrong}");
    }
}

/// Phones behind access switches that know no address of IP: their forwarding tables and the core's ARP table together
/// tell the port. One of the switches tells no LLDP: the way begins where its phones are reached, and it is on it.
#[test]
fn phones_are_found_behind_ports_of_switches() {
    let host = |text: &str, device, interface| Host { address: address(text), device, interface };
    let phones = ["10.1.0.7", "10.1.0.8", "10.1.0.9", "2001:db8:1::7", "10.2.0.9"];
    let settings = Settings {
        // The core is the router of all of them.
        hosts: phones.iter().map(|phone| host(phone, 0, 25)).collect(),
        stations: vec![
            host("10.1.0.7", 25, 5),
            host("2001:db8:1::7", 25, 5),
            host("10.1.0.8", 26, 7),
            host("10.1.0.9", 26, 7),
            host("10.2.0.9", 49, 6),
            // The distribution forwards to them through its links.
            host("10.1.0.7", 1, 1),
            host("10.1.0.8", 1, 2),
            // Nobody knows whose that is.
            host("10.3.0.1", 26, 8),
        ],
        gateways: Vec::new(),
        without_lldp: vec![49],
        ..settings()
    };
    let here = Here::start(settings, &[0, 1, 25, 26, 49]);
    for (place, column, rows) in [(25, ".1.3.6.1.2.1.17.7.1.2.2.1.2", 2), (26, ".1.3.6.1.2.1.17.4.3.1.2", 3)] {
        let around = here.handle().inventory().around(here.ids[&place]).unwrap().clone();
        assert_eq!(around.stations.learned.iter().map(|of| of.all.len()).sum::<usize>(), rows, "{place}");
        let agent = format!("{}:{}", here.served.farm.address(place), here.served.port);
        let run = Command::new("snmpbulkwalk").args(["-v2c", "-c", "public", "-On", &agent, column]).output();
        let Ok(run) = run else { break };
        assert_eq!(String::from_utf8(run.stdout).unwrap().lines().count(), rows, "as net-snmp reads it: {place}");
    }
    let question = json!({ "do": "near", "addresses": phones, "pairs": [[0, 1], [0, 4], [1, 2]] });
    let told = here.ask(question);
    let nearest = |at: usize| {
        let place = &told["addresses"][at]["places"][0];
        ["name", "interface", "how", "why"].map(|key| place[key].as_str().unwrap().to_owned())
    };
    let port = |name: &str, interface: &str, why: String| {
        [
            name.to_owned(),
            interface.to_owned(),
            "port".to_owned(),
            format!("{why} behind that port, by its forwarding table"),
        ]
    };
    assert_eq!(nearest(0), port("switch-25", "Gi1/6", "10.1.0.7 is one of 2".to_owned()));
    assert_eq!(nearest(1), port("switch-26", "Gi1/8", "10.1.0.8 is one of 2".to_owned()));
    assert_eq!(nearest(3), port("switch-25", "Gi1/6", "2001:db8:1::7 is one of 2".to_owned()));
    assert_eq!(nearest(4), port("switch-49", "Gi1/7", "10.2.0.9 is alone".to_owned()));
    let names = |at: usize| -> Vec<&str> {
        let way = told["ways"][at]["ways"][0].as_array().unwrap();
        way.iter().map(|step| step["name"].as_str().unwrap()).collect()
    };
    assert_eq!(names(0), ["switch-25", "switch-1", "switch-26"]);
    assert_eq!(names(1), ["switch-25", "switch-1", "switch-0"], "no link leads to the other switch");
    assert_eq!(names(2), ["switch-26"]);
    let stops = stops(&told);
    for stop in [("switch-49", "Gi1/7"), ("switch-25", "Gi1/6"), ("switch-0", "Gi1/26"), ("switch-26", "Gi1/8")] {
        assert!(stops.contains(&stop), "{stop:?}: {stops:?}");
    }
    // Whose hardware address it is the core alone knows: who may not see that is told nothing by the switch either.
    let network = here.handle().inventory().network();
    let core = here.ids[&0];
    assert_eq!(network.near(address("10.2.0.9"), &|device| device != core).1, 0);
    let switch = here.ids[&49];
    let (places, _) = network.near(address("10.2.0.9"), &|device| device != switch);
    assert!(places.iter().all(|place| place.device == core && place.how != How::Own), "{places:?}");
}

/// What is on the way: devices and interfaces.
fn stops(told: &Value) -> BTreeSet<(&str, &str)> {
    let stops = told["stops"].as_array().unwrap().iter();
    stops.map(|stop| (stop["device_name"].as_str().unwrap(), stop["interface"].as_str().unwrap_or(""))).collect()
}

fn interfaces_with_hosts(inventory: &Inventory, device: u32) -> BTreeMap<String, usize> {
    let around = inventory.around(device).unwrap();
    let name = |row: Option<u32>| inventory.rows().get(row.unwrap()).unwrap().name.to_string();
    around.hosts.all.iter().map(|of| (name(of.row), of.addresses.len())).collect()
}

#[test]
fn links_stay_where_they_are_when_interfaces_get_other_numbers() {
    let plain = Settings { devices: 61, interfaces: INTERFACES, ..Settings::default() };
    let farm = trunkline_sim::farm::Farm::new(plain.clone());
    let place = (1..61).find(|place| farm.fault(*place) == Some(Fault::Renumbers)).unwrap();
    let hosts = vec![Host { address: address("10.1.0.7"), device: place, interface: 3 }];
    let here = Here::start(Settings { hosts, ..plain }, &[0, place]);
    let id = here.ids[&place];
    let index = |inventory: &Inventory| {
        inventory.rows_of(id).iter().map(|row| inventory.rows().get(*row).unwrap().index.clone()).collect::<Vec<_>>()
    };
    let inventory = here.handle().inventory();
    let (links, hosts, numbers) = (here.links(), interfaces_with_hosts(&inventory, id), index(&inventory));
    assert_eq!((links.len(), hosts.get("Gi1/4")), (1, Some(&1)), "{links:?} {hosts:?}");
    let mut at_ms = here.served.time_of(now_ms());
    let first = |at_ms| farm.interface_index(place, 0, at_ms);
    let now = first(at_ms);
    let state = |at_ms| here.served.farm.state(place, at_ms);
    while first(at_ms) == now || !state(at_ms).is_up || state(at_ms).uptime_ms > 600_000 {
        at_ms += 10_000;
    }
    here.served.clock.ahead_ms.store(at_ms - now_ms(), Ordering::SeqCst);
    here.handle().explore(id).unwrap();
    eventually("its new numbers are known", || index(&here.handle().inventory()) != numbers);
    eventually("it was looked at", || !here.handle().device(id).unwrap().is_explored);
    assert_eq!(here.links(), links);
    assert_eq!(interfaces_with_hosts(&here.handle().inventory(), id), hosts);
}
