//! What pages are told of an inventory with round-robin files whose values are known.

use crate::house;
use house::House;
use serde_json::{Value, json};
use trunkline_graph::answer::{Polled, SEEN_MAX, Unanswered, View, added, order};
use trunkline_graph::inventory::around::{Address, Addresses, Hosts, HostsOf, Neighbour, Neighbours, OwnAddress};
use trunkline_graph::inventory::order::Order;
use trunkline_graph::inventory::{Change, GroupBy, Node, NodeKind, Search, Tree};
use trunkline_graph::scope::Seen;

const END_S: i64 = 1_790_035_200;

struct Shown {
    house: House,
    search: Search,
    folder: tempfile::TempDir,
}

impl Shown {
    fn new() -> Shown {
        let folder = tempfile::tempdir().unwrap();
        let mut house = House::new(folder.path());
        for name in ["edge-2", "edge-10", "core-1"] {
            house.device(name, 2);
        }
        let source = house.source(1, "interface-traffic", 0);
        // 1000 octets a second in, 2000 out, for three hours.
        let samples = (1..=180).map(|minute| {
            let count = minute * 60_000;
            (END_S - 10_800 + minute as i64 * 60, vec![Some(count), Some(2 * count)])
        });
        house.file(source, END_S - 10_800, samples.collect::<Vec<_>>());
        let search = Search::of(&house.inventory, &house.library);
        Shown { house, search, folder }
    }

    fn ask(&self, question: Value) -> Result<Value, Unanswered> {
        let House { inventory, library, .. } = &self.house;
        let scope = (!question["scope"].is_null()).then(|| house::scope(&question["scope"]));
        let seen = scope.as_ref().map(|scope| Seen::of(scope, inventory, library, &self.search));
        let polled = |id: u32| match id {
            1 => Some(Polled { up: Some(true), since_s: Some(END_S - 60), ..Polled::default() }),
            2 => Some(Polled { up: Some(false), troubles: vec!["no answer".to_owned()], ..Polled::default() }),
            _ => None,
        };
        let view = View {
            inventory,
            library,
            search: &self.search,
            files: &self.house,
            polled: &polled,
            now_s: END_S,
            seen: seen.as_ref(),
            scope: scope.as_ref(),
        };
        house::ask(&view, &question)
    }
}

/// What is around the devices: edge-2 and core-1 see each other, edge-10 sees core-1, which does not tell of it, and
/// core-1 sees somebody else. A phone is behind edge-2, a network behind edge-10, whose interface to the core drops 10
/// packets a second for three minutes, five minutes before the end.
fn look_around(house: &mut House) {
    let row = |house: &House, device: u32, interface: usize| Some(house.inventory.rows_of(device)[interface]);
    let beside = |row: Option<u32>, name: &str, far_port: &str| Neighbour {
        row,
        name: name.into(),
        far_port: far_port.into(),
        ..Neighbour::default()
    };
    let stranger = Neighbour {
        chassis: "00:00:5e:00:53:99".into(),
        addresses: vec![Address("192.0.2.99".parse().unwrap())],
        ..beside(None, "", "port 9")
    };
    let all = [
        (1, vec![beside(row(house, 1, 0), "core-1", "Gi0/1")]),
        (2, vec![beside(row(house, 2, 0), "CORE-1", "Gi0/2")]),
        (3, vec![beside(row(house, 3, 0), "edge-2", "GigabitEthernet0/1"), stranger]),
    ];
    let neighbours = all.map(|(device, all)| Change::Neighbours {
        device,
        neighbours: Box::new(Neighbours { all, ..Neighbours::default() }),
    });
    let (address, phone) = ("10.2.0.1".parse().unwrap(), "10.1.0.7".parse().unwrap());
    let own = OwnAddress { address: Address(address), prefix: Some(24), row: row(house, 2, 1) };
    let hosts = vec![HostsOf { row: row(house, 1, 1), addresses: vec![Address(phone)] }];
    let mut changes = neighbours.to_vec();
    changes.push(Change::Addresses { device: 2, addresses: Box::new(Addresses { all: vec![own], left_out: 0 }) });
    changes.push(Change::Hosts { device: 1, hosts: Box::new(Hosts { all: hosts, left_out: 0 }) });
    house.apply(changes);
    let samples = (1..=60i64).map(|minute| {
        let dropped = (minute - 52).clamp(0, 3) as u64 * 600;
        (END_S - 3600 + minute * 60, vec![Some(0), Some(0), Some(0), Some(dropped)])
    });
    house.file(house.source(2, "interface-errors", 0), END_S - 3600, samples.collect::<Vec<_>>());
}

/// By the map edge-2 and edge-10 are behind core-1.
#[test]
fn who_is_behind_whom_is_learnt_from_the_map_and_what_was_told_stays() {
    let mut shown = Shown::new();
    look_around(&mut shown.house);
    let told = |shown: &Shown, replace: bool| -> (Vec<String>, Value) {
        let mut plan = shown.ask(json!({ "do": "behind", "from": [3], "replace": replace })).unwrap();
        let names = |list: &Value| -> String {
            let names = list.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap());
            names.collect::<Vec<_>>().join(" ")
        };
        let one = |one: &Value| {
            let (behind, before) = (names(&one["behind"]), names(&one["before"]));
            format!("{} {} [{behind}] [{before}]", one["name"], one["does"]).replace('"', "")
        };
        let devices = plan["devices"].take();
        (devices.as_array().unwrap().iter().map(one).collect(), plan)
    };
    let counts = |set: u32, same: u32, kept: u32, round: u32, unreached: u32| {
        json!({
            "from": [{ "id": 3, "name": "core-1" }], "devices": null, "set": set, "same": same, "kept": kept,
            "round": round, "unreached": unreached,
        })
    };
    let learn = |shown: &mut Shown, replace: bool| {
        let House { inventory, library, .. } = &shown.house;
        let wanted = json!({ "do": "learn-behind", "from": [3], "replace": replace });
        let wanted = order(inventory, library, &wanted).unwrap();
        shown.house.order(wanted);
    };
    shown.house.device("alone", 1);
    let both = ["edge-2 set [core-1] []".to_owned(), "edge-10 set [core-1] []".to_owned()];
    assert_eq!(told(&shown, false), (both.to_vec(), counts(2, 0, 0, 0, 1)));
    // What was said by somebody stays: edge-10 is behind edge-2, and core-1 behind edge-10, which is on the way to
    // edge-2 then.
    for (device, behind) in [(2, 1), (3, 2)] {
        shown.house.order(Order::SetBehind(vec![(device, vec![behind])]));
    }
    let kept = ["edge-2 round [core-1] []".to_owned(), "edge-10 kept [core-1] [edge-2]".to_owned()];
    assert_eq!(told(&shown, false), (kept.to_vec(), counts(0, 0, 1, 1, 1)));
    let replaced = ["core-1 set [] [edge-10]", "edge-2 set [core-1] []", "edge-10 set [core-1] [edge-2]"];
    assert_eq!(told(&shown, true), (replaced.map(str::to_owned).to_vec(), counts(3, 0, 0, 0, 1)));
    learn(&mut shown, false);
    assert_eq!(told(&shown, false).1, counts(0, 0, 1, 1, 1));
    learn(&mut shown, true);
    assert_eq!(told(&shown, false), (Vec::new(), counts(0, 2, 0, 0, 1)));
    // Of what somebody does not see nothing is told.
    let rule = |name: &str| json!({ "allow": true, "kind": "device-name", "value": name });
    let scope = json!({ "everything": false, "levels": [[rule("edge-2"), rule("core-1")]] });
    let part = shown.ask(json!({ "do": "behind", "from": [3], "scope": scope })).unwrap();
    assert_eq!((&part["same"], &part["unreached"]), (&json!(1), &json!(0)));
    for (wrong, why) in [
        (json!({ "do": "behind", "from": [] }), "\"from\" needs at least one device: the one where polling starts"),
        (json!({ "do": "behind", "from": [99] }), "there is no device 99"),
    ] {
        assert_eq!(shown.ask(wrong).unwrap_err().to_string(), why);
    }
    for (wrong, why) in [
        (json!({ "do": "learn-behind" }), "\"from\" is needed"),
        (json!({ "do": "learn-behind", "from": [3], "replace": 1 }), "\"replace\" is true or false"),
    ] {
        let House { inventory, library, .. } = &shown.house;
        assert_eq!(order(inventory, library, &wrong).unwrap_err().to_string(), why);
    }
}

fn near(from_s: i64, to_s: i64) -> Value {
    let addresses = ["10.1.0.7", "10.2.0.9"];
    json!({ "do": "near", "addresses": addresses, "pairs": [[0, 1]], "from": from_s, "to": to_s })
}

#[test]
fn what_lost_something_in_the_span_is_told_first_and_nothing_of_other_times() {
    let mut shown = Shown::new();
    look_around(&mut shown.house);
    let places = |told: &Value| -> Vec<String> {
        let stop = |stop: &Value| {
            let interface = stop["interface"].as_str().map(|name| format!(" {name}")).unwrap_or_default();
            format!("{}{interface}", stop["device_name"].as_str().unwrap())
        };
        told["stops"].as_array().unwrap().iter().map(stop).collect()
    };
    // Minutes 53 to 55 of the hour dropped 600 packets each; of a call of half a minute in the second of them, that
    // minute counts.
    let told = shown.ask(near(END_S - 370, END_S - 340)).unwrap();
    let first = &told["stops"][0];
    assert_eq!(places(&told)[0], "edge-10 Gi0/1", "{told}");
    let loss = json!({
        "what": "discards out", "amount": 600.0, "unit": "packets", "from": END_S - 420, "to": END_S - 360,
    });
    let whole =
        json!({ "what": "discards out", "amount": 1200.0, "unit": "packets", "from": END_S - 420, "to": END_S - 300 });
    assert_eq!(first["losses"], json!([whole]), "the call lies in two minutes");
    assert_eq!(shown.ask(near(END_S - 400, END_S - 370)).unwrap()["stops"][0]["losses"], json!([loss]));
    assert_eq!(first["whys"], json!(["between 10.1.0.7 and 10.2.0.9"]));
    let shows: Vec<&str> = first["graphs"].as_array().unwrap().iter().map(|g| g["shows"].as_str().unwrap()).collect();
    assert_eq!(shows, ["losses", "traffic"]);
    // Before and behind it the order is that of the way.
    for (from, to) in [(END_S - 1200, END_S - 900), (END_S - 240, END_S)] {
        let told = shown.ask(near(from, to)).unwrap();
        let way = ["edge-2 Gi0/2", "edge-2", "edge-2 Gi0/1", "core-1 Gi0/1", "core-1 Gi0/2", "core-1"];
        assert_eq!(places(&told)[..6], way, "{told}");
        assert!(told["stops"].as_array().unwrap().iter().all(|stop| stop["losses"] == json!([])));
    }
    let map = shown.ask(json!({ "do": "map" })).unwrap();
    let (nodes, links) = (map["nodes"].as_array().unwrap(), map["links"].as_array().unwrap());
    assert_eq!((&nodes[0]["name"], nodes.len(), &map["strangers_total"]), (&json!("core-1"), 4, &json!(1)));
    let sides: Vec<&Value> = links.iter().map(|link| &link["one_sided"]).collect();
    assert_eq!(sides, [&json!(false), &json!(true), &json!(true)]);
    // The side that does not tell is joined by what the other one calls its port.
    assert_eq!((&links[1]["ends"][1]["interface"], &links[1]["ends"][1]["tells"]), (&json!("Gi0/2"), &json!(false)));
    let traffic = links[0]["ends"][0]["traffic"].as_u64().unwrap();
    let title = shown.ask(json!({ "do": "graph", "id": traffic })).unwrap()["title"].clone();
    assert!(title.as_str().unwrap().contains("Traffic"), "{title}");
}

fn titles(answer: &Value) -> Vec<&str> {
    answer["graphs"].as_array().unwrap().iter().map(|graph| graph["title"].as_str().unwrap()).collect()
}

#[test]
fn devices_are_listed_searched_and_told_with_what_is_wrong() {
    let shown = Shown::new();
    let all = shown.ask(json!({ "do": "devices" })).unwrap();
    let names: Vec<&str> = all["devices"].as_array().unwrap().iter().map(|d| d["name"].as_str().unwrap()).collect();
    assert_eq!((&all["total"], names), (&json!(3), vec!["core-1", "edge-10", "edge-2"]));
    let down = shown.ask(json!({ "do": "devices", "state": "down" })).unwrap();
    assert_eq!(down["devices"][0]["name"], "edge-10");
    assert_eq!(down["devices"][0]["troubles"], json!(["no answer"]));
    let found = shown.ask(json!({ "do": "devices", "text": "EDGE 192.0.2", "limit": 1, "offset": 1 })).unwrap();
    assert_eq!((&found["total"], &found["devices"][0]["name"]), (&json!(2), &json!("edge-2")));
    let counts = shown.ask(json!({ "do": "counts" })).unwrap();
    assert_eq!((&counts["up"], &counts["down"], &counts["unknown"]), (&json!(1), &json!(1), &json!(1)));

    let one = shown.ask(json!({ "do": "device", "id": 1 })).unwrap();
    assert_eq!((&one["state"], &one["rows"][1]["name"]), (&json!("up"), &json!("Gi0/2")));
    let read = one["read"].as_array().unwrap();
    let with_file: Vec<&Value> = read.iter().filter(|source| source["last"] == END_S).collect();
    assert_eq!((read.len(), with_file.len()), (one["sources"].as_u64().unwrap() as usize, 1));
    assert!(read.iter().all(|source| source["silent"] == false));
    assert!(matches!(shown.ask(json!({ "do": "device", "id": 99 })), Err(Unanswered::Unknown(_))));
}

#[test]
fn graphs_are_found_by_words_devices_and_places() {
    let mut shown = Shown::new();
    let found = shown.ask(json!({ "do": "graphs", "text": "edge-10 traffic" })).unwrap();
    assert_eq!((found["total"].as_u64(), titles(&found).len()), (Some(2), 2));
    assert!(titles(&found).iter().all(|title| title.starts_with("edge-10 - Gi0/") && title.ends_with("Traffic")));
    let all = shown.ask(json!({ "do": "graphs", "limit": 2 })).unwrap();
    assert_eq!((all["total"].as_u64(), titles(&all).len()), (Some(30), 2));
    let of = shown.ask(json!({ "do": "graphs", "device": 3, "text": "traffic" })).unwrap();
    assert_eq!(titles(&of).len(), 2);
    let template = shown.ask(json!({ "do": "graphs", "template": "interface-bits" })).unwrap();
    assert_eq!(template["total"], 6);
    // In the order that people expect.
    assert!(titles(&template)[0].starts_with("core-1") && titles(&template)[2].starts_with("edge-2 "));

    shown.house.order(Order::Tree(None, Tree { name: "All".into(), order: 0 }));
    let node = |parent, kind| Order::Node(None, Node { tree: 1, parent, order: 0, kind });
    shown.house.order(node(None, NodeKind::Folder { name: "Edge".into() }));
    shown.house.order(node(Some(1), NodeKind::Device { device: 1, group: GroupBy::Row }));
    shown.house.order(node(Some(1), NodeKind::Device { device: 2, group: GroupBy::None }));
    let trees = shown.ask(json!({ "do": "trees" })).unwrap();
    assert_eq!(
        (&trees["trees"][0]["nodes"][0]["name"], &trees["trees"][0]["nodes"][0]["opens"]),
        (&json!("Edge"), &json!(true))
    );
    let inside = shown.ask(json!({ "do": "nodes", "tree": 1, "parent": 1 })).unwrap();
    assert_eq!(inside["nodes"][1]["name"], "edge-10");
    assert_eq!(shown.ask(json!({ "do": "graphs", "node": 1 })).unwrap()["total"], 20);
    let grouped = shown.ask(json!({ "do": "graphs", "node": 2 })).unwrap();
    let groups: Vec<&Value> = grouped["graphs"].as_array().unwrap().iter().map(|graph| &graph["group"]).collect();
    assert_eq!((groups[0], groups[9]), (&Value::Null, &json!("Gi0/2")));
    assert!(matches!(shown.ask(json!({ "do": "nodes", "tree": 2 })), Err(Unanswered::Unknown(_))));
    assert!(matches!(shown.ask(json!({ "do": "graphs", "node": 9 })), Err(Unanswered::Unknown(_))));
}

#[test]
fn pictures_have_known_values_and_null_for_what_is_unknown() {
    let shown = Shown::new();
    let source = shown.house.source(1, "interface-traffic", 0);
    let graph = shown.house.graph("interface-bits", source);
    let ask = json!({ "do": "pictures", "ids": [graph, 9999], "from": END_S - 14_400, "to": END_S, "width": 240 });
    let answer = shown.ask(ask).unwrap();
    let picture = &answer["pictures"][0]["picture"];
    assert_eq!((&picture["unit"], &picture["step"]), (&json!("bit/s"), &json!(60)));
    let values = |series: usize| picture["series"][series]["values"].as_array().unwrap();
    assert_eq!((&values(0)[100], &values(1)[100]), (&json!(8000.0), &json!(16000.0)));
    assert_eq!(values(0)[10], Value::Null);
    assert_eq!(picture["series"][0]["figures"]["p95"], 8000.0);
    assert_eq!(picture["series"][0]["legend"], json!(["last", "average", "max", "p95"]));
    assert_eq!(answer["pictures"][1]["trouble"], "there is no graph 9999");
    for wrong in [
        json!({ "do": "pictures", "ids": [1], "from": 5, "to": 4 }),
        json!({ "do": "pictures", "ids": [1], "from": 0, "to": 4, "width": 100_000 }),
        json!({ "do": "pictures", "ids": [1], "from": 0, "to": 4, "function": "mean" }),
        json!({ "do": "pictures", "ids": vec![1; 61], "from": 0, "to": 4 }),
        json!({ "do": "pictures", "ids": "all", "from": 0, "to": 4 }),
        json!({ "do": "dance" }),
        json!([]),
        json!({ "do": "graphs", "limit": 501 }),
        json!({ "do": "seen", "devices": [1], "graphs": [1] }),
        json!({ "do": "seen", "devices": [-1], "graphs": [], "sources": [] }),
        json!({ "do": "seen", "devices": vec![1; SEEN_MAX + 1], "graphs": [], "sources": [] }),
    ] {
        assert!(matches!(shown.ask(wrong.clone()), Err(Unanswered::Asked(_))), "{}", wrong["do"]);
    }
    drop(shown.folder);
}

#[test]
fn a_damaged_file_is_told_and_the_others_are_shown() {
    let shown = Shown::new();
    let source = shown.house.source(2, "interface-traffic", 0);
    std::fs::create_dir_all(shown.folder.path().join("2")).unwrap();
    std::fs::write(shown.folder.path().join(format!("2/{source}.rrd")), b"not a file of rrdtool").unwrap();
    let good = shown.house.graph("interface-bits", shown.house.source(1, "interface-traffic", 0));
    let bad = shown.house.graph("interface-bits", source);
    let ask = json!({ "do": "pictures", "ids": [bad, good], "from": END_S - 3600, "to": END_S });
    let answer = shown.ask(ask).unwrap();
    assert!(
        answer["pictures"][0]["trouble"].as_str().unwrap().contains("round-robin file"),
        "{}",
        answer["pictures"][0]
    );
    assert!(answer["pictures"][1]["picture"].is_object());
}

#[test]
fn orders_are_read_and_secrets_stay() {
    let mut shown = Shown::new();
    let secret = "s3cret-community";
    let add = json!({ "do": "add-credential", "name": "lab", "kind": "community", "community": secret });
    let made = order(&shown.house.inventory, &shown.house.library, &add).unwrap();
    assert!(!format!("{made:?}").contains(secret));
    shown.house.order(made);
    let listed = shown.ask(json!({ "do": "credentials" })).unwrap();
    assert_eq!(listed, json!({ "credentials": [{ "id": 1, "name": "lab", "kind": "community", "devices": 0 }] }));
    let add = json!({ "do": "add-device", "name": "new", "address": "192.0.2.9", "credential": "lab" });
    let made = order(&shown.house.inventory, &shown.house.library, &add).unwrap();
    shown.house.order(made);
    let device = shown.ask(json!({ "do": "device", "id": 4 })).unwrap();
    assert_eq!((&device["credential"], &device["version"]), (&json!("lab"), &json!("2c")));
    let probed = json!({
        "do": "add-device", "name": "sip-1", "address": "192.0.2.10", "version": "none", "template": "tcp-service",
        "arguments": { "port": "5060" }, "probes": ["icmp", "tcp:5060"], "probes_needed": "all", "failures": 3,
    });
    let added = added(&shown.house.inventory, &probed).unwrap();
    assert_eq!((added.template.as_deref(), &*added.arguments[0].1), (Some("tcp-service"), "5060"));
    shown.house.order(Order::AddDevice(added.device, added.template.unwrap()));
    let told = shown.ask(json!({ "do": "device", "id": 5 })).unwrap();
    let probes = json!({ "of": ["icmp", "tcp:5060"], "all": true, "failures": 3, "recoveries": 1 });
    assert_eq!((&told["probes"], &told["version"], &told["template"]), (&probes, &Value::Null, &json!("tcp-service")));
    let disable = json!({ "do": "set-state", "devices": [4], "state": "disabled" });
    let disable = order(&shown.house.inventory, &shown.house.library, &disable).unwrap();
    shown.house.order(disable);
    let all = shown.ask(json!({ "do": "devices", "state": "disabled" })).unwrap();
    assert_eq!((&all["total"], all.to_string().contains(secret)), (&json!(1), false));
    for wrong in [
        json!({ "do": "add-device", "name": "x", "address": "a", "credential": "none such" }),
        json!({ "do": "add-device", "name": "x", "address": "a", "version": "4" }),
        json!({ "do": "add-device", "name": "x", "address": "a", "version": "none", "probes": ["snmp"] }),
        json!({ "do": "add-device", "name": "x", "address": "a", "probes": ["tcp:0"] }),
        json!({ "do": "add-device", "name": "x", "address": "a", "probes_needed": "most" }),
        json!({ "do": "add-device", "name": "x", "address": "a", "failures": 0 }),
        json!({ "do": "add-device", "name": "x", "address": "a", "arguments": { "port": 7 } }),
        json!({ "do": "add-credential", "name": "x", "kind": "community", "community": 7 }),
        json!({ "do": "add-credential", "name": "x", "kind": "user", "user": "u", "privacy": "rot13" }),
        json!({ "do": "set-state", "devices": [1], "state": "asleep" }),
    ] {
        assert!(
            matches!(order(&shown.house.inventory, &shown.house.library, &wrong), Err(Unanswered::Asked(_))),
            "{wrong}"
        );
    }
}

#[test]
fn trees_are_arranged() {
    let mut shown = Shown::new();
    let mut done = |wanted: Value| {
        let made = order(&shown.house.inventory, &shown.house.library, &wanted).unwrap();
        shown.house.order(made);
    };
    done(json!({ "do": "tree", "name": "Network" }));
    for name in ["North", "South", "West"] {
        done(json!({ "do": "place", "tree": 1, "kind": "folder", "name": name }));
    }
    done(json!({ "do": "place", "tree": 1, "parent": 2, "kind": "device", "of": "edge-10", "group": "row" }));
    let rule = json!({ "do": "place", "tree": 1, "parent": 2, "kind": "rule", "name": "Edges", "device": "edge-*" });
    done(rule);
    done(json!({ "do": "move-place", "id": 3, "before": 1 }));
    done(json!({ "do": "rename-place", "id": 2, "name": "Far south" }));
    done(json!({ "do": "move-place", "id": 4, "parent": 1 }));
    let names = |answer: &Value| {
        let nodes = answer["nodes"].as_array().unwrap();
        nodes.iter().map(|node| node["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let tree = shown.ask(json!({ "do": "trees" })).unwrap();
    assert_eq!(names(&tree["trees"][0]), ["West", "North", "Far south"]);
    assert_eq!(names(&shown.ask(json!({ "do": "nodes", "tree": 1, "parent": 1 })).unwrap()), ["edge-10"]);
    assert_eq!(shown.ask(json!({ "do": "graphs", "node": 2 })).unwrap()["total"], 20);
    for wrong in [
        json!({ "do": "place", "tree": 1, "kind": "device", "of": "nobody" }),
        json!({ "do": "place", "tree": 1, "kind": "house", "name": "x" }),
        json!({ "do": "rename-place", "id": 4, "name": "x" }),
        json!({ "do": "rename-place", "id": 99, "name": "x" }),
        json!({ "do": "tree", "id": 9, "name": "x" }),
    ] {
        assert!(order(&shown.house.inventory, &shown.house.library, &wrong).is_err(), "{wrong}");
    }
    // A folder is not put into itself, and not where there is none.
    for wrong in [json!({ "do": "move-place", "id": 1, "parent": 1 }), json!({ "do": "move-place", "id": 77 })] {
        let moved = order(&shown.house.inventory, &shown.house.library, &wrong).unwrap();
        assert!(shown.house.inventory.order(&shown.house.library, &moved).is_err(), "{wrong}");
    }
    for gone in [json!({ "do": "remove-place", "id": 1 }), json!({ "do": "remove-tree", "id": 1 })] {
        let made = order(&shown.house.inventory, &shown.house.library, &gone).unwrap();
        shown.house.order(made);
    }
    assert_eq!(shown.ask(json!({ "do": "trees" })).unwrap(), json!({ "trees": [] }));
    assert_eq!(shown.ask(json!({ "do": "counts" })).unwrap()["graphs"], 30);
}

#[test]
fn graphs_of_many_are_made_changed_and_reported() {
    let mut shown = Shown::new();
    let second = shown.house.source(1, "interface-traffic", 1);
    let samples = (1..=180).map(|minute: u64| {
        let count = minute * 60_000;
        (END_S - 10_800 + minute as i64 * 60, vec![Some(3 * count), Some(count)])
    });
    shown.house.file(second, END_S - 10_800, samples.collect::<Vec<_>>());
    let graphs = [0, 1].map(|at| shown.house.graph("interface-bits", shown.house.source(1, "interface-traffic", at)));
    let fitting = shown.ask(json!({ "do": "graph-templates", "graphs": graphs })).unwrap();
    let of_many = |name: &str| {
        let all = fitting["templates"].as_array().unwrap();
        all.iter().find(|template| template["name"] == name).map(|template| template["of_many"] == true)
    };
    assert_eq!(
        (of_many("interfaces-sum"), of_many("interface-bits"), of_many("uptime")),
        (Some(true), Some(false), None)
    );
    let make = json!({ "do": "graph", "template": "interfaces-sum", "title": "Both", "graphs": graphs });
    let made = order(&shown.house.inventory, &shown.house.library, &make).unwrap();
    shown.house.order(made);
    shown.search = Search::of(&shown.house.inventory, &shown.house.library);
    let span = (END_S - 3600, END_S);
    let report = json!({ "do": "figures", "text": "both", "from": span.0, "to": span.1, "csv": true });
    let report = shown.ask(report).unwrap();
    let series = &report["graphs"][0]["series"][0];
    // 1000 and 3000 octets a second, in bits.
    assert_eq!((&report["total"], &series["label"], &series["p95"]), (&json!(1), &json!("In"), &json!(32_000.0)));
    let total = series["total"].as_f64().unwrap();
    assert!((total / (32_000.0 * 3600.0) - 1.0).abs() < 0.03, "{total}");
    let csv = report["csv"].as_str().unwrap();
    assert!(csv.starts_with("graph,title,series,unit,step_s,average,max,p95,total\r\n"), "{csv}");
    assert!(csv.contains(",Both,In,bit/s,60,32000,32000,32000,"), "{csv}");

    let id = report["graphs"][0]["id"].clone();
    let title = |shown: &Shown| shown.ask(json!({ "do": "graph", "id": id })).unwrap()["title"].clone();
    for (wanted, now) in [
        (json!({ "do": "graph", "id": id, "title": "Together" }), "Together"),
        (json!({ "do": "graph", "id": id, "template": "interfaces-max" }), "Together"),
        (json!({ "do": "graph", "id": id, "title": "" }), "The busiest of several interfaces"),
    ] {
        let made = order(&shown.house.inventory, &shown.house.library, &wanted).unwrap();
        shown.house.order(made);
        assert_eq!(title(&shown), now);
    }
    for wrong in [
        json!({ "do": "graph", "template": "interfaces-sum" }),
        json!({ "do": "graph", "template": "none-such", "graphs": graphs }),
        json!({ "do": "graph", "template": "uptime", "graphs": graphs }),
        json!({ "do": "graph", "id": 9999, "title": "x" }),
        json!({ "do": "graph", "id": id, "title": "|device| of |colour|" }),
    ] {
        assert!(order(&shown.house.inventory, &shown.house.library, &wrong).is_err(), "{wrong}");
    }
}

/// The web's tests answer with these, so that what the web reads is what is told here.
/// `UPDATE_ANSWERS=1 cargo test -p trunkline-graph --test all answers::` writes the file anew.
#[test]
fn what_the_web_is_tested_with_is_what_is_told() {
    let mut shown = Shown::new();
    shown.house.order(Order::Tree(None, Tree { name: "All".into(), order: 0 }));
    let node = |parent, kind| Order::Node(None, Node { tree: 1, parent, order: 0, kind });
    shown.house.order(node(None, NodeKind::Folder { name: "Edge".into() }));
    shown.house.order(node(Some(1), NodeKind::Device { device: 1, group: GroupBy::Row }));
    let login = json!({ "do": "add-credential", "name": "lab", "kind": "token", "token": "s3cret" });
    shown.house.order(order(&shown.house.inventory, &shown.house.library, &login).unwrap());
    let graph = shown.house.graph("interface-bits", shown.house.source(1, "interface-traffic", 0));
    look_around(&mut shown.house);
    // Of somebody who may see one of the devices, and of it not all.
    let rule = |allow: bool, kind: &str, value: &str| json!({ "allow": allow, "kind": kind, "value": value });
    let own = [rule(false, "graph-title", "*Gi0/2*")];
    let scope = json!({ "everything": false, "levels": [own, [rule(true, "device-name", "edge-2")]] });
    let scoped = |mut question: Value| {
        question["scope"] = scope.clone();
        question
    };
    let told: Vec<Value> = [
        json!({ "do": "counts" }),
        json!({ "do": "devices" }),
        json!({ "do": "device", "id": 1 }),
        json!({ "do": "graphs", "device": 1 }),
        json!({ "do": "graph", "id": graph }),
        json!({ "do": "trees" }),
        json!({ "do": "nodes", "tree": 1, "parent": 1 }),
        json!({ "do": "pictures", "ids": [graph, 9999], "from": END_S - 1200, "to": END_S + 300, "width": 25 }),
        json!({ "do": "credentials" }),
        json!({ "do": "map" }),
        near(END_S - 370, END_S - 340),
        json!({ "do": "templates" }),
        json!({ "do": "figures", "device": 1, "text": "traffic", "from": END_S - 3600, "to": END_S, "csv": true }),
        json!({ "do": "graph-templates", "graphs": [graph] }),
        json!({ "do": "behind", "from": [3] }),
        json!({ "do": "rights" }),
        scoped(json!({ "do": "rights" })),
        // What alerts name in `crates/alert/tests/answers-of-some.json`.
        scoped(json!({ "do": "seen", "devices": [1, 3], "graphs": [3, 4, 5, 23, 25], "sources": [3, 4, 5, 23, 25] })),
        scoped(json!({ "do": "device-named", "name": "edge-2" })),
        scoped(json!({ "do": "counts" })),
        scoped(json!({ "do": "devices" })),
        scoped(json!({ "do": "device", "id": 1 })),
        scoped(json!({ "do": "graphs" })),
        scoped(json!({ "do": "graph", "id": graph })),
        scoped(json!({ "do": "trees" })),
        scoped(json!({ "do": "nodes", "tree": 1, "parent": 1 })),
        scoped(json!({ "do": "figures", "from": END_S - 3600, "to": END_S, "csv": true })),
        scoped(json!({ "do": "pictures", "ids": [graph, 9999], "from": END_S - 1200, "to": END_S + 300, "width": 25 })),
        scoped(json!({ "do": "map" })),
        scoped(near(END_S - 370, END_S - 340)),
    ]
    .into_iter()
    .map(|question| json!({ "question": question.clone(), "answer": shown.ask(question).unwrap() }))
    .collect();
    let text = serde_json::to_string_pretty(&told).unwrap() + "\n";
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/answers.json");
    if std::env::var_os("UPDATE_ANSWERS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    assert!(std::fs::read_to_string(&path).unwrap_or_default() == text, "answers.json is not what is told");
    assert!(!text.contains("s3cret"));
}
