//! Graphs: what is told of devices and graphs, numbers and files, what administrators change and what of it is written
//! down.

use crate::client::text;
use crate::world::{Made, World, call};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;
use trunkline_web::auth::Role;

#[test]
fn what_is_polled_is_shown_or_that_there_is_nothing() {
    let world = World::new();
    let viewer = world.signed_in(Role::Viewer);
    let status = viewer.get("/graphs/status").ok(200);
    assert_eq!((&status["serving"], &status["counts"]["up"]), (&json!(true), &json!(1)));
    assert_eq!(status["run"]["samples_per_s"], 12.5);
    // What is wrong is told without the folders of this machine.
    let trouble = status["run"]["troubles"][0].as_str().unwrap();
    assert!(trouble.contains("no space") && !trouble.contains(crate::world::HOME), "{trouble}");
    world.graphing.absent.store(true, Ordering::SeqCst);
    let status = viewer.get("/graphs/status").ok(200);
    assert_eq!((&status["serving"], &status["counts"]), (&json!(false), &Value::Null));
    viewer.get("/graphs").problem(404, "not-found");

    let without = World::made(Made { graphing: false, ..Made::default() });
    let viewer = without.signed_in(Role::Viewer);
    assert_eq!(viewer.get("/graphs/status").ok(200)["serving"], false);
    viewer.get("/graphs/devices").problem(404, "not-found");
}

#[test]
fn devices_graphs_and_trees_are_told() {
    let world = World::new();
    let viewer = world.signed_in(Role::Viewer);
    let devices = viewer.get("/graphs/devices?state=down&text=edge&limit=10").ok(200);
    assert_eq!((&devices["total"], &devices["devices"][1]["state"]), (&json!(3), &json!("down")));
    let asked = world.graphing.asked.lock().unwrap().last().cloned().unwrap();
    assert_eq!((&asked["state"], &asked["text"], &asked["limit"]), (&json!("down"), &json!("edge"), &json!(10)));
    let device = viewer.get("/graphs/devices/1").ok(200);
    assert_eq!((&device["name"], &device["since"]), (&json!("edge-2"), &json!("2026-09-21T23:59:00.000000Z")));
    assert_eq!(device["rows"][0]["name"], "Gi0/1");
    assert_eq!(viewer.get("/graphs?text=traffic").ok(200)["total"], 10);
    let graph = viewer.get("/graphs/3").ok(200);
    assert_eq!(graph["sources"][0]["device_name"], "edge-2");
    assert_eq!(viewer.get("/graphs/trees").ok(200)["trees"][0]["nodes"][0]["opens"], true);
    assert_eq!(viewer.get("/graphs/trees/1/nodes?parent=1").ok(200)["nodes"][0]["kind"], "device");
    for path in ["/graphs/99", "/graphs/devices/99", "/graphs/trees/99/nodes", "/graphs/x", "/graphs?node=99"] {
        viewer.get(path).problem(404, "not-found");
    }
    viewer.get("/graphs/devices?state=odd").problem(400, "bad-parameter");
    viewer.get(&format!("/graphs?text={}", "x".repeat(501))).problem(400, "bad-parameter");
    assert!((400..500).contains(&viewer.get("/graphs?limit=0").status));
}

#[test]
fn numbers_and_files_are_of_a_span() {
    let world = World::new();
    let viewer = world.signed_in(Role::Viewer);
    let span = "from=2026-09-21T20:00:00Z&to=2026-09-22T00:00:00Z";
    let pictures = viewer.get(&format!("/graphs/pictures?ids=3,9999&{span}&width=20&shift=3600")).ok(200);
    let asked = world.graphing.asked.lock().unwrap().last().cloned().unwrap();
    let wanted = json!({
        "do": "pictures", "from": 1_790_020_800, "to": 1_790_035_200, "width": 20, "shift": 3600, "function": null,
        "ids": [3, 9999],
    });
    assert_eq!(asked, wanted);
    let picture = &pictures["pictures"][0]["picture"];
    // A thousand octets a second, and what is not known yet is null, not nothing.
    let values = picture["series"][0]["values"].as_array().unwrap();
    assert_eq!((&values[0], values.last().unwrap()), (&json!(8000.0), &Value::Null));
    assert_eq!(pictures["pictures"][1]["trouble"], "there is no graph 9999");
    for (path, kind, begins) in [
        ("/graphs/3/png", "image/png", &b"\x89PNG"[..]),
        ("/graphs/3/svg", "image/svg+xml", b"<?xml"),
        ("/graphs/3/csv", "text/csv; charset=utf-8", b"time,"),
    ] {
        let answer = viewer.get(&format!("{path}?{span}"));
        assert_eq!((answer.status, answer.header("content-type")), (200, kind));
        assert!(answer.body.starts_with(begins) && answer.header("content-disposition").contains("graph-3."));
    }
    viewer.get("/graphs/99/png").problem(404, "not-found");
    let damaged = viewer.get("/graphs/98/png");
    assert!(damaged.status >= 500 && !text(&damaged.body).contains(crate::world::HOME), "{}", text(&damaged.body));
    for wrong in ["ids=", "ids=a", "ids=1&from=now&to=-1h", "ids=1&from=never", "ids=1&width=x"] {
        let answer = viewer.get(&format!("/graphs/pictures?{wrong}"));
        assert_eq!(answer.status, 400, "{wrong}");
    }
    let many: Vec<String> = (0..61).map(|id| id.to_string()).collect();
    viewer.get(&format!("/graphs/pictures?ids={}", many.join(","))).problem(400, "bad-parameter");
}

#[test]
fn who_is_behind_whom_is_shown_before_it_is_learnt() {
    let world = World::new();
    let boss = world.signed_in(Role::Administrator);
    let plan = boss.get("/graphs/behind?from=3").ok(200);
    let asked = world.graphing.asked.lock().unwrap().last().cloned().unwrap();
    assert_eq!(asked, json!({ "do": "behind", "from": [3], "replace": null, "limit": null }));
    let first = json!({
        "id": 1, "name": "edge-2", "behind": [{ "id": 3, "name": "core-1" }], "before": [], "does": "set",
    });
    assert_eq!((&plan["set"], &plan["devices"][0]), (&json!(2), &first));
    boss.get("/graphs/behind?from=core-1").problem(400, "bad-parameter");
    boss.get("/graphs/behind?from=3&replace=maybe").problem(400, "bad-parameter");
    assert_eq!(boss.post("/graphs/behind", &json!({ "from": [3], "replace": true })).status, 204);
    assert_eq!(boss.post("/graphs/devices/2/behind", &json!({ "behind": [3] })).status, 204);
    let orders: Vec<Value> = world.graphing.orders.lock().unwrap().iter().map(|(_, order)| order.clone()).collect();
    let learnt = json!({ "do": "learn-behind", "from": [3], "replace": true });
    assert_eq!(orders, [learnt, json!({ "do": "set-behind", "device": 2, "behind": [3] })]);
}

#[test]
fn the_map_and_the_way_of_a_call_are_told() {
    let world = World::new();
    let viewer = world.signed_in(Role::Viewer);
    let map = viewer.get("/graphs/map?device=3&hops=2&limit=50").ok(200);
    let asked = world.graphing.asked.lock().unwrap().last().cloned().unwrap();
    assert_eq!(asked, json!({ "do": "map", "device": 3, "hops": 2, "limit": 50 }));
    assert_eq!((&map["nodes"][0]["name"], &map["strangers_total"]), (&json!("core-1"), &json!(1)));
    assert_eq!((&map["links"][0]["one_sided"], &map["links"][1]["one_sided"]), (&json!(false), &json!(true)));
    assert!(map["links"][0]["ends"][0]["traffic"].is_number());
    viewer.get("/graphs/map?device=99").problem(404, "not-found");
    assert_eq!(viewer.get("/graphs/map?hops=far").status, 400);

    let one = call(1);
    let way = viewer.get(&format!("/calls/{}/way", one.id)).ok(200);
    let asked = world.graphing.asked.lock().unwrap().last().cloned().unwrap();
    // Signalling and media, each address once and each pair once, in the seconds of the call and its media.
    let addresses = json!(["198.51.100.1", "2001:db8::1", "192.0.2.1", "192.0.2.2"]);
    let (begin_s, end_s) = (one.start_ns.div_euclid(1_000_000_000), one.last_ns.div_euclid(1_000_000_000) + 1);
    assert_eq!((&asked["addresses"], &asked["pairs"]), (&addresses, &json!([[0, 1], [2, 3]])), "{asked}");
    assert_eq!((asked["from"].as_i64(), asked["to"].as_i64()), (Some(begin_s), Some(end_s)));
    let parts = way["parts"].as_array().unwrap();
    assert_eq!(parts[0]["of"], json!(["signalling of the caller's side"]));
    assert_eq!(parts[3]["of"], json!(["media of the callee"]));
    // A quarter of an hour around a call of seconds.
    let time = |key: &str| way[key].as_str().unwrap().parse::<jiff::Timestamp>().unwrap().as_second();
    assert_eq!(time("to") - time("from"), 900);
    assert!(time("from") + 300 <= time("begin") && time("end") + 300 <= time("to"));
    let first = &way["near"]["stops"][0];
    assert_eq!((&first["device_name"], &first["losses"][0]["amount"]), (&json!("edge-10"), &json!(1200.0)), "{way}");
    assert!(first["losses"][0]["from"].as_str().unwrap().ends_with('Z'));
    viewer.get("/calls/nothing@nowhere/way").problem(404, "not-found");

    // Where nothing is polled that is said, and nothing is asked.
    let count = || world.graphing.asked.lock().unwrap().len();
    let before = count();
    world.graphing.absent.store(true, Ordering::SeqCst);
    let way = viewer.get(&format!("/calls/{}/way", one.id)).ok(200);
    assert_eq!((&way["polled"], &way["near"]["stops"], count()), (&json!(false), &json!([]), before));
}

#[test]
fn administrators_change_what_is_polled_and_secrets_are_written_nowhere() {
    let world = World::new();
    let boss = world.signed_in(Role::Administrator);
    let secret = "community-that-nobody-sees";
    let credential = json!({ "name": "lab", "kind": "community", "community": secret });
    assert_eq!(boss.post("/graphs/credentials", &credential).status, 204);
    let device = json!({ "name": "edge-9", "address": "192.0.2.9", "credential": "lab" });
    assert_eq!(boss.post("/graphs/devices", &device).status, 204);
    let probed = json!({
        "name": "sip-1", "address": "192.0.2.10", "version": "none", "template": "sip-server",
        "probes": ["icmp", "udp:5060"], "probes_needed": "all", "failures": 3,
    });
    assert_eq!(boss.post("/graphs/devices", &probed).status, 204);
    let templates = boss.get("/graphs/templates").ok(200);
    let templates = templates["templates"].as_array().unwrap();
    let service = templates.iter().find(|one| one["name"] == "tcp-service").unwrap();
    assert_eq!((&service["snmp"], &service["arguments"]), (&json!(false), &json!(["port"])));
    assert_eq!(boss.post("/graphs/devices/state", &json!({ "devices": [1, 2], "state": "disabled" })).status, 204);
    assert_eq!(boss.delete("/graphs/devices/1").status, 204);
    assert_eq!(boss.delete("/graphs/credentials/1").status, 204);
    let orders = world.graphing.orders.lock().unwrap().clone();
    let done: Vec<&str> = orders.iter().map(|(_, order)| order["do"].as_str().unwrap()).collect();
    assert_eq!(
        done,
        ["add-credential", "add-device", "add-device", "set-state", "remove-devices", "remove-credential"]
    );
    assert!(orders.iter().all(|(by, _)| by == "administrator"));
    assert_eq!(orders[0].1["community"], secret);
    assert_eq!((&orders[2].1["probes"], &orders[2].1["template"]), (&probed["probes"], &json!("sip-server")));
    boss.post("/graphs/devices", &json!({ "name": "taken", "address": "a" })).problem(400, "bad-parameter");
    boss.post("/graphs/devices/state", &json!({ "devices": [], "state": "disabled" })).problem(400, "bad-parameter");
    let listed = boss.get("/graphs/credentials");
    assert_eq!(listed.ok(200)["credentials"][0]["kind"], "token");
    assert!(!text(&listed.body).contains("s3cret"));
    let log = text(&boss.get("/audit").body).to_owned();
    assert!(log.contains("graph.credential") && log.contains("credential lab: community"), "{log}");
    assert!(log.contains("device edge-9: 192.0.2.9") && !log.contains(secret));
    for role in [Role::Viewer, Role::Support, Role::Engineer] {
        let other = world.signed_in(role);
        other.post("/graphs/devices", &device).problem(403, "forbidden");
        other.get("/graphs/credentials").problem(403, "forbidden");
    }
}

#[test]
fn administrators_arrange_trees_and_graphs() {
    let world = World::new();
    let boss = world.signed_in(Role::Administrator);
    let place = json!({ "tree": 1, "parent": 2, "kind": "device", "target": 7, "group": "row" });
    for (path, body) in [
        ("/graphs/trees", json!({ "name": "Network" })),
        ("/graphs/trees/1", json!({ "name": "All" })),
        ("/graphs/places", place.clone()),
        ("/graphs/places/2", json!({ "name": "North" })),
        ("/graphs/places/2/move", json!({ "before": 1 })),
        ("/graphs", json!({ "template": "interfaces-sum", "title": "Both", "graphs": [3, 4] })),
        ("/graphs/3", json!({ "title": "" })),
    ] {
        assert_eq!(boss.post(path, &body).status, 204, "{path}");
    }
    for path in ["/graphs/places/2", "/graphs/trees/1", "/graphs/3"] {
        assert_eq!(boss.delete(path).status, 204, "{path}");
    }
    let orders = world.graphing.orders.lock().unwrap().clone();
    let done: Vec<&str> = orders.iter().map(|(_, order)| order["do"].as_str().unwrap()).collect();
    let wanted =
        ["tree", "tree", "place", "rename-place", "move-place", "graph", "graph", "remove-place", "remove-tree"];
    assert_eq!((&done[..9], done[9]), (&wanted[..], "remove-graphs"));
    assert_eq!((&orders[2].1["target"], &orders[4].1["before"]), (&json!(7), &json!(1)));
    boss.post("/graphs", &json!({ "template": "x", "graphs": [] })).problem(400, "bad-parameter");
    boss.post("/graphs/trees/x", &json!({ "name": "y" })).problem(404, "not-found");
    assert_eq!(boss.get("/graphs/graph-templates?graphs=3").ok(200)["templates"][0]["of_many"].as_bool(), Some(false));
    boss.get("/graphs/graph-templates?graphs=x").problem(400, "bad-parameter");
    let log = text(&boss.get("/audit").body).to_owned();
    assert!(log.contains("graph.tree") && log.contains("graph Both of 2 graphs"), "{log}");
    for role in [Role::Viewer, Role::Support, Role::Engineer] {
        let other = world.signed_in(role);
        other.post("/graphs/places", &place).problem(403, "forbidden");
        other.post("/graphs/3", &json!({ "title": "x" })).problem(403, "forbidden");
        other.delete("/graphs/trees/1").problem(403, "forbidden");
        other.get("/graphs/graph-templates").problem(403, "forbidden");
    }
}

#[test]
fn a_graph_is_told_in_real_time() {
    let world = World::new();
    let viewer = world.signed_in(Role::Viewer);
    let told = viewer.get("/graphs/3/realtime?step=2&span=600").ok(200);
    let asked = world.graphing.asked.lock().unwrap().last().cloned().unwrap();
    assert_eq!(asked, json!({ "do": "realtime", "graph": 3, "step": 2, "span": 600 }));
    assert_eq!((&told["heard"], &told["step"]), (&json!("2026-09-21T19:59:59.000000Z"), &json!(2)));
    assert_eq!(told["picture"]["series"][0]["values"][0], 8000.0);
    viewer.get("/graphs/99/realtime").problem(404, "not-found");
    let busy = viewer.get("/graphs/97/realtime");
    assert_eq!(busy.header("retry-after"), "5");
    busy.problem(503, "busy");
    for wrong in ["step=fast", "span=-1", "steps=1"] {
        assert_eq!(viewer.get(&format!("/graphs/3/realtime?{wrong}")).status, 400, "{wrong}");
    }
}

#[test]
fn figures_are_told_as_a_table_and_as_a_file() {
    let world = World::new();
    let viewer = world.signed_in(Role::Viewer);
    let span = "from=2026-09-21T00:00:00Z&to=2026-09-22T00:00:00Z";
    let table = viewer.get(&format!("/graphs/figures?text=traffic&{span}")).ok(200);
    let series = &table["graphs"][0]["series"][0];
    assert_eq!((&series["label"], &series["max"], &table["csv"]), (&json!("In"), &json!(8000.0), &Value::Null));
    let asked = world.graphing.asked.lock().unwrap().last().unwrap().clone();
    assert_eq!((&asked["do"], &asked["limit"], &asked["csv"]), (&json!("figures"), &json!(100), &json!(false)));
    let file = viewer.get(&format!("/graphs/figures/csv?{span}"));
    assert_eq!((file.status, file.header("content-type")), (200, "text/csv; charset=utf-8"));
    assert!(text(&file.body).starts_with("graph,title,series,unit,"), "{}", text(&file.body));
    viewer.get("/graphs/figures?from=2026-09-22T00:00:00Z&to=2026-09-21T00:00:00Z").problem(400, "bad-parameter");
    // A drawn picture is in the zone of whoever looks at it.
    assert_eq!(viewer.get("/graphs/3/png?tz=Europe/Berlin").status, 200);
    assert_eq!(world.graphing.asked.lock().unwrap().last().unwrap()["zone"], "Europe/Berlin");
    viewer.get("/graphs/3/png?tz=Europe/Nowhere").problem(400, "bad-parameter");
}
