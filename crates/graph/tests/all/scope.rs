//! Who may see a part is told that part and nothing else: what is answered is the plain filter of what is answered to
//! who sees everything, by rules that are read here once more, slowly and one by one.

use crate::house;
use house::House;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::OnceLock;
use trunkline_graph::answer::{Unanswered, View};
use trunkline_graph::inventory::order::Order;
use trunkline_graph::inventory::{Filter, GroupBy, Node, NodeKind, Search, Site, Tree};
use trunkline_graph::scope::Seen;

const NOW_S: i64 = 1_790_035_200;

struct World {
    house: House,
    search: Search,
}

/// Six devices on two sites, an aggregate over two of them, and trees of all kinds of places.
fn world() -> &'static World {
    static WORLD: OnceLock<World> = OnceLock::new();
    WORLD.get_or_init(|| {
        let mut house = House::new(Path::new("nowhere: nothing is read"));
        for name in ["ams-edge-1", "ams-edge-2", "ams-core", "lon-edge-1", "lon-core", "spare"] {
            house.device(name, 2);
        }
        for name in ["Amsterdam", "London", "Nowhere"] {
            house.order(Order::Site(None, Site { name: name.into(), ..Site::default() }));
        }
        for (device, site) in [(1, 1), (2, 1), (3, 1), (4, 2), (5, 2)] {
            let mut known = house.inventory.devices().get(device).unwrap().clone();
            known.site = Some(site);
            known.behind = if device == 1 { vec![3, 5] } else { Vec::new() };
            house.order(Order::Device(Some(device), known));
        }
        let sources = [house.source(1, "interface-traffic", 0), house.source(4, "interface-traffic", 0)];
        let (template, title) = ("interface-bits".into(), Some("Both |device|".into()));
        house.order(Order::Graph { id: None, template, title, sources: sources.to_vec() });
        for name in ["All", "Customers", "Empty"] {
            house.order(Order::Tree(None, Tree { name: name.into(), order: 0 }));
        }
        let mut node = |tree, parent, kind| house.order(Order::Node(None, Node { tree, parent, order: 0, kind }));
        let folder_of = |name: &str| NodeKind::Folder { name: name.into() };
        let rule = |name: &str, device: &str, site| NodeKind::Rule {
            name: name.into(),
            filter: Filter { device: device.into(), site, ..Filter::default() },
            group: GroupBy::Device,
        };
        node(1, None, folder_of("Amsterdam's"));
        node(1, Some(1), NodeKind::Site { site: 1 });
        node(1, Some(1), folder_of("Deep"));
        node(1, Some(3), NodeKind::Device { device: 2, group: GroupBy::Row });
        node(1, None, folder_of("Nothing in it"));
        node(1, None, NodeKind::Site { site: 3 });
        node(2, None, rule("Cores", "*-core", None));
        node(2, None, rule("None of these", "no-*", None));
        node(2, None, NodeKind::Graph { graph: 1 });
        node(2, None, rule("Lon", "", Some(2)));
        let search = Search::of(&house.inventory, &house.library);
        World { house, search }
    })
}

impl World {
    fn ask(&self, seen: Option<&Seen>, question: &Value) -> Result<Value, Unanswered> {
        let (House { inventory, library, .. }, search) = (&self.house, &self.search);
        let (files, polled) = (&self.house, &|_| None);
        let view = View { inventory, library, search, files, polled, now_s: NOW_S, seen, scope: None };
        house::ask(&view, question)
    }

    fn seen(&self, scope: &Value) -> Seen {
        Seen::of(&house::scope(scope), &self.house.inventory, &self.house.library, &self.search)
    }

    /// Everything of a list, part by part.
    fn all(&self, seen: Option<&Seen>, mut question: Value, list: &str) -> Vec<Value> {
        let mut all = Vec::new();
        for offset in (0..).step_by(7) {
            (question["offset"], question["limit"]) = (offset.into(), 7.into());
            let part = self.ask(seen, &question).unwrap();
            let things = part[list].as_array().unwrap();
            all.extend(things.iter().cloned());
            if things.is_empty() {
                assert_eq!(part["total"], all.len(), "{question}");
                return all;
            }
        }
        unreachable!()
    }
}

fn ids(things: &[Value]) -> BTreeSet<u32> {
    things.iter().map(id).collect()
}

/// What there is, from the answers to who sees everything.
struct Plain {
    devices: Vec<Value>,
    graphs: Vec<Value>,
    /// Each place with those that it is in, itself first.
    places: Vec<(Value, Vec<u32>)>,
    /// Graphs of places that are rules.
    ruled: BTreeMap<u32, BTreeSet<u32>>,
    /// Devices of graphs.
    devices_of: BTreeMap<u32, BTreeSet<u32>>,
}

/// What a rule is about.
struct About {
    allow: bool,
    devices: BTreeSet<u32>,
    graphs: BTreeSet<u32>,
}

/// `*` at the beginning and the end alone.
fn fits(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.to_lowercase(), text.to_lowercase());
    let core = pattern.trim_matches('*');
    match (pattern.starts_with('*'), pattern.ends_with('*')) {
        (true, true) => text.contains(core),
        (true, false) => text.ends_with(core),
        (false, true) => text.starts_with(core),
        (false, false) => text == core,
    }
}

fn id(thing: &Value) -> u32 {
    thing["id"].as_u64().unwrap() as u32
}

fn below(world: &World, tree: u32, path: &[u32], all: &mut Vec<(Value, Vec<u32>)>) {
    let inside = world.ask(None, &json!({ "do": "nodes", "tree": tree, "parent": path.first() })).unwrap();
    for node in inside["nodes"].as_array().unwrap() {
        let path = [&[id(node)], path].concat();
        all.push((node.clone(), path.clone()));
        below(world, tree, &path, all);
    }
}

impl Plain {
    fn of(world: &World) -> Plain {
        let mut places = Vec::new();
        [1, 2, 3].into_iter().for_each(|tree| below(world, tree, &[], &mut places));
        let rules = places.iter().filter(|(node, _)| node["kind"] == "rule");
        let ruled = rules.map(|(node, _)| {
            (id(node), ids(&world.all(None, json!({ "do": "graphs", "node": node["id"] }), "graphs")))
        });
        let graphs = world.all(None, json!({ "do": "graphs" }), "graphs");
        let devices_of = graphs.iter().map(|graph| {
            let shown = world.ask(None, &json!({ "do": "graph", "id": graph["id"] })).unwrap();
            let sources = shown["sources"].as_array().unwrap().iter();
            (id(graph), sources.map(|source| source["device"].as_u64().unwrap() as u32).collect())
        });
        Plain {
            devices: world.all(None, json!({ "do": "devices" }), "devices"),
            ruled: ruled.collect(),
            devices_of: devices_of.collect(),
            graphs,
            places,
        }
    }

    fn about(&self, rule: &Value) -> About {
        let (kind, value) = (rule["kind"].as_str().unwrap(), rule["value"].as_str().unwrap());
        let places: Vec<&Value> =
            self.places.iter().filter(|(n, path)| is_in(kind, value, n, path)).map(|p| &p.0).collect();
        let of_place = |device: &Value| {
            places.iter().any(|node| match node["kind"].as_str().unwrap() {
                "device" => node["target"] == device["id"],
                "site" => node["name"] == device["site"],
                _ => false,
            })
        };
        let devices = self.devices.iter().filter(|device| match kind {
            "device" => device["id"] == value.parse::<u64>().unwrap(),
            "device-name" => fits(value, device["name"].as_str().unwrap()),
            "site" => device["site"].as_str().is_some_and(|site| fits(value, site)),
            "device-template" => fits(value, "any"),
            _ => of_place(device),
        });
        let in_place = |graph: &Value| {
            places.iter().any(|node| match node["kind"].as_str().unwrap() {
                "graph" => node["target"] == graph["id"],
                "rule" => self.ruled[&id(node)].contains(&id(graph)),
                _ => false,
            })
        };
        let graphs = self.graphs.iter().filter(|graph| match kind {
            "graph" => graph["id"] == value.parse::<u64>().unwrap(),
            "graph-template" => fits(value, graph["template"].as_str().unwrap()),
            "graph-title" => fits(value, graph["title"].as_str().unwrap()),
            _ => in_place(graph),
        });
        About { allow: rule["allow"] == true, devices: devices.map(id).collect(), graphs: graphs.map(id).collect() }
    }

    /// Devices and graphs that a scope shows.
    fn expected(&self, scope: &Value) -> (BTreeSet<u32>, BTreeSet<u32>) {
        let everything = scope["everything"] == true;
        let levels = scope["levels"].as_array().unwrap().iter().map(|rules| rules.as_array().unwrap());
        let levels: Vec<Vec<About>> = levels.map(|rules| rules.iter().map(|rule| self.about(rule)).collect()).collect();
        let said = |rules: &[About], allow: bool, device: u32| {
            rules.iter().any(|rule| rule.allow == allow && rule.devices.contains(&device))
        };
        let sees_device = |device: &u32| {
            let speaks = levels.iter().find(|rules| said(rules, true, *device) || said(rules, false, *device));
            speaks.map_or(everything, |rules| !said(rules, false, *device))
        };
        let devices: BTreeSet<u32> = self.devices.iter().map(id).filter(sees_device).collect();
        let sees_graph = |graph: &u32| {
            let of = &self.devices_of[graph];
            for rules in &levels {
                let own = |allow| rules.iter().any(|rule| rule.allow == allow && rule.graphs.contains(graph));
                if own(false) || of.iter().any(|device| said(rules, false, *device)) {
                    return false;
                }
                if own(true) || of.iter().all(|device| said(rules, true, *device)) {
                    return true;
                }
            }
            of.iter().all(|device| devices.contains(device))
        };
        let graphs = self.graphs.iter().map(id).filter(sees_graph).collect();
        (devices, graphs)
    }
}

/// Whether a rule about a tree or a place is about a place.
fn is_in(kind: &str, value: &str, node: &Value, path: &[u32]) -> bool {
    match kind {
        "tree" => {
            let names = [(1, "All"), (2, "Customers"), (3, "Empty")];
            names.iter().any(|(tree, name)| node["tree"] == *tree && fits(value, name))
        }
        "place" => path.iter().any(|place| place.to_string() == value),
        _ => false,
    }
}

fn plain() -> &'static Plain {
    static PLAIN: OnceLock<Plain> = OnceLock::new();
    PLAIN.get_or_init(|| Plain::of(world()))
}

fn rule() -> impl Strategy<Value = Value> {
    let about = prop_oneof![
        (1u32..8).prop_map(|id| ("device", id.to_string())),
        prop::sample::select(vec!["ams-*", "*-core", "LON-edge-1", "*"]).prop_map(|n| ("device-name", n.to_owned())),
        prop::sample::select(vec!["Amsterdam", "lon*", "*where"]).prop_map(|n| ("site", n.to_owned())),
        prop::sample::select(vec!["any", "router*"]).prop_map(|n| ("device-template", n.to_owned())),
        prop::sample::select(vec!["All", "cust*", "Empty", "*"]).prop_map(|n| ("tree", n.to_owned())),
        (1u32..12).prop_map(|id| ("place", id.to_string())),
        (1u32..64).prop_map(|id| ("graph", id.to_string())),
        prop::sample::select(vec!["interface-bits", "interface-*"]).prop_map(|n| ("graph-template", n.to_owned())),
        prop::sample::select(vec!["both*", "*Gi0/1*", "*traffic"]).prop_map(|n| ("graph-title", n.to_owned())),
    ];
    (any::<bool>(), about).prop_map(|(allow, (kind, value))| json!({ "allow": allow, "kind": kind, "value": value }))
}

fn scope() -> impl Strategy<Value = Value> {
    let levels = prop::collection::vec(prop::collection::vec(rule(), 0..4), 0..3);
    (any::<bool>(), levels).prop_map(|(everything, levels)| json!({ "everything": everything, "levels": levels }))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn what_is_told_is_the_plain_filter_of_everything(scope in scope()) {
        let (world, plain) = (world(), plain());
        let seen = &world.seen(&scope);
        let (devices, graphs) = plain.expected(&scope);
        let told = world.all(Some(seen), json!({ "do": "devices" }), "devices");
        prop_assert_eq!(ids(&told), devices.clone());
        let listed = world.all(Some(seen), json!({ "do": "graphs" }), "graphs");
        prop_assert_eq!(ids(&listed), graphs.clone());
        let counts = world.ask(Some(seen), &json!({ "do": "counts" })).unwrap();
        prop_assert_eq!((&counts["devices"], &counts["graphs"]), (&json!(devices.len()), &json!(graphs.len())));
        for question in [
            json!({ "do": "graphs", "text": "gi0/1" }),
            json!({ "do": "graphs", "text": "-traffic" }),
            json!({ "do": "graphs", "text": "both" }),
            json!({ "do": "graphs", "template": "interface-bits" }),
            json!({ "do": "graphs", "template": "interface-bits", "text": "edge" }),
        ] {
            let mut filtered = ids(&world.all(None, question.clone(), "graphs"));
            filtered.retain(|graph| graphs.contains(graph));
            prop_assert_eq!(ids(&world.all(Some(seen), question.clone(), "graphs")), filtered, "{}", question);
        }
        let all: Vec<u32> = (0..64).collect();
        let ask = json!({ "do": "seen", "devices": all, "graphs": all, "sources": all });
        let told = world.ask(Some(seen), &ask).unwrap();
        prop_assert_eq!((&told["devices"], &told["graphs"]), (&json!(devices), &json!(graphs)));
        check_ids(world, seen, &devices, &graphs)?;
        check_places(world, plain, seen, &devices, &graphs)?;
    }
}

/// What is asked for by number: as told to who sees everything, or as if it did not exist.
fn check_ids(world: &World, seen: &Seen, devices: &BTreeSet<u32>, graphs: &BTreeSet<u32>) -> Result<(), TestCaseError> {
    for number in 1..8 {
        let told = world.ask(Some(seen), &json!({ "do": "device", "id": number }));
        let of = world.ask(Some(seen), &json!({ "do": "graphs", "device": number }));
        if !devices.contains(&number) {
            let unknown = Err(Unanswered::Unknown(format!("there is no device {number}")));
            prop_assert_eq!((&told, &of), (&unknown, &unknown));
            continue;
        }
        let (told, all) = (told.unwrap(), ids(of.unwrap()["graphs"].as_array().unwrap()));
        prop_assert_eq!(&told["graphs"], &json!(all.len()));
        prop_assert!(all.is_subset(graphs));
        prop_assert!(ids(told["behind"].as_array().unwrap()).is_subset(devices));
    }
    let numbers: Vec<u32> = (1..64).collect();
    for numbers in numbers.chunks(60) {
        let ask = json!({ "do": "pictures", "ids": numbers, "from": NOW_S - 600, "to": NOW_S });
        for one in world.ask(Some(seen), &ask).unwrap()["pictures"].as_array().unwrap() {
            let number = id(one);
            let is_unknown = one["trouble"] == json!(format!("there is no graph {number}"));
            let shown = world.ask(Some(seen), &json!({ "do": "graph", "id": number }));
            prop_assert_eq!((is_unknown, shown.is_ok()), (!graphs.contains(&number), graphs.contains(&number)));
            if let Ok(shown) = shown {
                let named = shown["sources"].as_array().unwrap().iter().filter_map(|source| source["device"].as_u64());
                let named: BTreeSet<u32> = named.chain(shown["device"].as_u64()).map(|device| device as u32).collect();
                prop_assert!(named.is_subset(devices));
            }
        }
    }
    Ok(())
}

/// Places lead to what is seen; each that is seen by name has something in it or nothing to hide.
fn check_places(
    world: &World,
    plain: &Plain,
    seen: &Seen,
    devices: &BTreeSet<u32>,
    graphs: &BTreeSet<u32>,
) -> Result<(), TestCaseError> {
    let trees = world.ask(Some(seen), &json!({ "do": "trees" })).unwrap();
    let trees = ids(trees["trees"].as_array().unwrap());
    for (node, _) in &plain.places {
        let (number, tree) = (id(node), node["tree"].as_u64().unwrap() as u32);
        let is_seen = seen.node(&world.house.inventory, number);
        prop_assert!(!is_seen || trees.contains(&tree));
        let listed = world.ask(Some(seen), &json!({ "do": "graphs", "node": number }));
        let inside = world.ask(Some(seen), &json!({ "do": "nodes", "tree": tree, "parent": number }));
        prop_assert_eq!((listed.is_ok(), inside.is_ok()), (is_seen, is_seen));
        let Ok(listed) = listed else { continue };
        let listed = ids(listed["graphs"].as_array().unwrap());
        prop_assert!(listed.is_subset(graphs));
        let target = node["target"].as_u64().unwrap_or_default() as u32;
        match node["kind"].as_str().unwrap() {
            "device" => prop_assert!(devices.contains(&target)),
            "graph" => prop_assert!(graphs.contains(&target)),
            "rule" => {
                let all = &plain.ruled[&number];
                prop_assert!(all.is_empty() || !listed.is_empty(), "{}", node);
                prop_assert_eq!(listed, all & graphs);
            }
            _ => {}
        }
    }
    Ok(())
}

#[test]
fn a_part_of_a_device_hides_its_rows_and_sources_too() {
    let world = world();
    let rule = json!({ "allow": false, "kind": "graph-title", "value": "ams-core - Gi0/1*" });
    let seen = world.seen(&json!({ "everything": true, "levels": [[rule]] }));
    let core = json!({ "do": "device", "id": 3 });
    let (all, told) = (world.ask(None, &core).unwrap(), world.ask(Some(&seen), &core).unwrap());
    assert!(all.to_string().contains("Gi0/1") && !told.to_string().contains("Gi0/1"), "{told}");
    assert!(told.to_string().contains("Gi0/2"));
    assert_eq!((&told["rows_total"], &all["rows_total"]), (&json!(1), &json!(2)));
    let shorter = |key: &str| told[key].as_u64().unwrap() < all[key].as_u64().unwrap();
    assert!(shorter("graphs") && shorter("sources"));
    let counts = |seen| world.ask(seen, &json!({ "do": "counts" })).unwrap()["sources"].as_u64().unwrap();
    assert!(counts(Some(&seen)) < counts(None));
    // Who asks which of them are seen is told as many.
    let sources: Vec<u32> = (1..200).collect();
    let ask = json!({ "do": "seen", "devices": [3, 99], "graphs": [], "sources": sources });
    let told = |seen| world.ask(seen, &ask).unwrap();
    let count = |told: &Value| told["sources"].as_array().unwrap().len() as u64;
    assert_eq!((count(&told(Some(&seen))), count(&told(None))), (counts(Some(&seen)), counts(None)));
    assert_eq!(told(Some(&seen))["devices"], json!([3]));
}

#[test]
fn an_aggregate_needs_all_of_its_devices_or_a_rule_of_its_own() {
    let world = world();
    let both = world.ask(None, &json!({ "do": "graphs", "text": "both" })).unwrap()["graphs"][0]["id"].clone();
    let allow = |kind: &str, value: &str| json!({ "allow": true, "kind": kind, "value": value });
    let deny = |kind: &str, value: &str| json!({ "allow": false, "kind": kind, "value": value });
    let sees = |levels: Value| {
        let seen = world.seen(&json!({ "everything": false, "levels": levels }));
        world.ask(Some(&seen), &json!({ "do": "graph", "id": both }))
    };
    assert!(sees(json!([[allow("device", "1")]])).is_err());
    assert!(sees(json!([[allow("device", "1")], [allow("device", "4")]])).is_ok());
    assert!(sees(json!([[allow("graph", &both.to_string())], [deny("device", "4")]])).is_ok());
    assert!(sees(json!([[allow("graph", &both.to_string()), deny("device", "4")]])).is_err());
    // A graph alone does not tell of which devices it is.
    let alone = sees(json!([[allow("graph", &both.to_string())]])).unwrap();
    let named = [&alone["device"], &alone["device_name"], &alone["sources"][1]["device_name"]];
    assert!(named.iter().all(|name| name.is_null()), "{alone}");
}

#[test]
fn a_scope_is_previewed_with_what_each_rule_is_about() {
    let world = world();
    let allow = |kind: &str, value: &str| json!({ "allow": true, "kind": kind, "value": value });
    let scope = json!({ "everything": false, "levels": [[allow("site", "London"), allow("site", "Paris")], []] });
    let (scope, seen) = (house::scope(&scope), world.seen(&scope));
    let House { inventory, library, .. } = &world.house;
    let view = View {
        inventory,
        library,
        search: &world.search,
        files: &world.house,
        polled: &|_| None,
        now_s: NOW_S,
        seen: Some(&seen),
        scope: Some(&scope),
    };
    let told = house::ask(&view, &json!({ "do": "rights" })).unwrap();
    assert_eq!(told["devices"], json!(["lon-core", "lon-edge-1"]));
    assert_eq!((&told["seen"]["devices"], &told["all"]["devices"]), (&json!(2), &json!(6)));
    assert_eq!(told["levels"][0][0]["devices"], 2);
    assert_eq!(told["levels"][0][1], json!({ "devices": 0, "graphs": 0, "places": 0 }));
    assert_eq!(told["trees"], json!(["Customers"]));
}
