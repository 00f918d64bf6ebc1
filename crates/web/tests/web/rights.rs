//! Who may see which devices, trees and graphs: what administrators say, and that nothing else comes out anywhere.

use crate::client::{Client, text};
use crate::live::Feed;
use crate::schema::document;
use crate::world::World;
use serde_json::{Value, json};
use trunkline_web::auth::Role;

/// Viewers see the device edge-2 alone, and this user not all of it: the scope of `answers.json`.
fn narrowed(world: &World) -> (Client, Client) {
    let (boss, viewer) = (world.signed_in(Role::Administrator), world.signed_in(Role::Viewer));
    assert_eq!(boss.put("/graphs/rights/default", &json!({ "role": "viewer", "default": "nothing" })).status, 204);
    let allow = json!({ "role": "viewer", "allow": true, "kind": "device-name", "value": "edge-2" });
    boss.post("/graphs/rights/rules", &allow).ok(200);
    let deny = json!({ "user": "viewer", "allow": false, "kind": "graph-title", "value": "*Gi0/2*" });
    boss.post("/graphs/rights/rules", &deny).ok(200);
    (boss, viewer)
}

/// What nobody may find who sees edge-2 without Gi0/2 alone.
const HIDDEN: [&str; 3] = ["edge-10", "core-1", "Gi0/2"];

#[test]
fn what_is_hidden_comes_out_nowhere() {
    let world = World::new();
    let (boss, viewer) = narrowed(&world);
    let token = viewer.post("/tokens", &json!({ "name": "t", "scopes": ["graphs.read"] })).ok(201);
    let token = world.stranger().token(token["secret"].as_str().unwrap());
    let graphs = shown(&viewer, "/graphs");
    let graph = graphs["graphs"].as_array().unwrap().iter().find(|graph| graph["template"] == "interface-bits");
    let graph = graph.unwrap()["id"].as_u64().unwrap();
    // By the document, so that an endpoint that comes later is asked, too.
    let paths = document()["paths"].as_object().unwrap().clone();
    let own = ["/graphs/rights", "/graphs/credentials"];
    let mut asked = 0;
    for (path, of) in &paths {
        let path = path.trim_start_matches("/api/v1");
        if !path.starts_with("/graphs") || of["get"].is_null() || own.iter().any(|own| path.starts_with(own)) {
            continue;
        }
        let id = if path.starts_with("/graphs/devices") || path.starts_with("/graphs/trees") { 1 } else { graph };
        let path = path.replace("{id}", &id.to_string()).replace("/pictures", &format!("/pictures?ids={graph},9999"));
        for client in [&viewer, &token] {
            world.graphing.asked.lock().unwrap().clear();
            let answer = client.get(&path);
            assert_eq!(answer.status, 200, "{path}: {}", text(&answer.body));
            let body = text(&answer.body);
            assert!(HIDDEN.iter().all(|hidden| !body.contains(hidden)), "{path}: {body}");
            let questions = world.graphing.asked.lock().unwrap().clone();
            assert!(!questions.is_empty(), "{path} asked nothing");
            for question in questions {
                assert_eq!(question["scope"]["everything"], false, "{path}: {question}");
                assert_eq!(question["scope"]["levels"][0][0]["value"], "*Gi0/2*", "{path}: {question}");
                assert_eq!(question["scope"]["levels"][1][0]["value"], "edge-2", "{path}: {question}");
            }
            asked += 1;
        }
    }
    assert!(asked >= 22, "{asked}");
    // The live feed has nothing of graphs; what it may get one day has to pass here.
    let mut feed = Feed::open(&viewer);
    for event in [feed.next("status"), feed.next("calls")] {
        assert!(HIDDEN.iter().all(|hidden| !event.to_string().contains(hidden)), "{event}");
    }
    let all = text(&boss.get("/graphs/devices").body);
    assert!(HIDDEN[..2].iter().all(|hidden| all.contains(hidden)));
}

fn shown(client: &Client, path: &str) -> Value {
    client.get(path).ok(200)
}

#[test]
fn counts_and_totals_tell_a_part_and_hidden_numbers_are_unknown_ones() {
    let world = World::new();
    let (boss, viewer) = narrowed(&world);
    let counts = |client: &Client| shown(client, "/graphs/status")["counts"].clone();
    assert_eq!((&counts(&viewer)["devices"], &counts(&boss)["devices"]), (&json!(1), &json!(3)));
    assert!(counts(&viewer)["graphs"].as_u64().unwrap() < counts(&boss)["graphs"].as_u64().unwrap());
    assert!(counts(&viewer)["sources"].as_u64().unwrap() < counts(&boss)["sources"].as_u64().unwrap());
    let devices = shown(&viewer, "/graphs/devices");
    assert_eq!((&devices["total"], &devices["devices"][0]["name"]), (&json!(1), &json!("edge-2")));
    let of_graphs = |client: &Client| shown(client, "/graphs")["total"].as_u64().unwrap();
    assert_eq!(json!(of_graphs(&viewer)), counts(&viewer)["graphs"]);
    let device = shown(&viewer, "/graphs/devices/1");
    assert_eq!((&device["rows_total"], &device["graphs"]), (&json!(1), &counts(&viewer)["graphs"]));
    // The same words as for what never was.
    let problem = |path: &str| {
        let mut told = viewer.get(path).problem(404, "not-found");
        told["detail"] = told["detail"].as_str().unwrap().replace(|c: char| c.is_ascii_digit(), "").into();
        told
    };
    assert_eq!(problem("/graphs/devices/2"), problem("/graphs/devices/99"));
    assert_eq!(problem("/graphs/29"), problem("/graphs/99"));
    assert_eq!(problem("/graphs?device=2"), problem("/graphs?device=99"));
}

#[test]
fn administrators_say_who_sees_what_and_each_change_is_written_down() {
    let world = World::new();
    let (boss, viewer) = narrowed(&world);
    let listed = boss.get("/graphs/rights").ok(200)["rights"].clone();
    let whose: Vec<(&Value, &Value, &Value)> =
        listed.as_array().unwrap().iter().map(|of| (&of["role"], &of["user"], &of["default"])).collect();
    let none = Value::Null;
    assert_eq!(
        whose,
        [
            (&json!("viewer"), &none, &json!("nothing")),
            (&json!("support"), &none, &json!("everything")),
            (&json!("engineer"), &none, &json!("everything")),
            (&none, &json!("viewer"), &json!("role")),
        ]
    );
    let preview = boss.get("/graphs/rights/preview?user=viewer").ok(200);
    assert_eq!((&preview["whole"], &preview["devices"]), (&json!(false), &json!(["edge-2"])));
    assert_eq!((&preview["seen"]["devices"], &preview["all"]["devices"]), (&json!(1), &json!(3)));
    assert_eq!((&preview["of_role"][0]["value"], &preview["of_role"][0]["devices"]), (&json!("edge-2"), &json!(1)));
    assert_eq!(preview["of_user"][0]["allow"], false);
    assert_eq!(boss.get("/graphs/rights/preview?role=administrator").ok(200)["whole"], true);

    // What is said again holds from the next question on, and a rule that went does not.
    let rule = json!({ "role": "viewer", "allow": false, "kind": "device-name", "value": "edge-2" });
    let made = boss.post("/graphs/rights/rules", &rule).ok(200);
    let scope = || world.graphing.asked.lock().unwrap().last().unwrap()["scope"].clone();
    viewer.get("/graphs");
    assert_eq!(scope()["levels"][1], json!([{ "allow": false, "kind": "device-name", "value": "edge-2" }]));
    assert_eq!(boss.delete(&format!("/graphs/rights/rules/{}", made["id"])).status, 204);
    viewer.get("/graphs");
    assert_eq!(scope()["levels"][1], json!([]));
    boss.delete(&format!("/graphs/rights/rules/{}", made["id"])).problem(404, "not-found");
    boss.get("/graphs").ok(200);
    assert_eq!(scope(), Value::Null);

    for (body, status, kind) in [
        (json!({ "role": "viewer", "allow": true, "kind": "planet", "value": "Mars" }), 400, "bad-parameter"),
        (json!({ "role": "viewer", "allow": true, "kind": "device", "value": "edge-1" }), 400, "bad-parameter"),
        (json!({ "allow": true, "kind": "site", "value": "*" }), 400, "bad-parameter"),
        (
            json!({ "role": "viewer", "user": "viewer", "allow": true, "kind": "site", "value": "*" }),
            400,
            "bad-parameter",
        ),
        (json!({ "user": "nobody", "allow": true, "kind": "site", "value": "*" }), 404, "not-found"),
        (json!({ "role": "administrator", "allow": false, "kind": "site", "value": "*" }), 409, "conflict"),
    ] {
        boss.post("/graphs/rights/rules", &body).problem(status, kind);
    }
    boss.put("/graphs/rights/default", &json!({ "role": "viewer", "default": "role" })).problem(400, "bad-parameter");
    boss.put("/graphs/rights/default", &json!({ "role": "viewer", "default": "some" })).problem(400, "bad-parameter");
    boss.get("/graphs/rights/preview").problem(400, "bad-parameter");
    boss.get("/graphs/rights/preview?user=nobody").problem(404, "not-found");

    let log = boss.get("/audit").ok(200);
    let log = log["entries"].as_array().unwrap().iter().filter(|entry| entry["action"] == "graph.rights");
    let told: Vec<(&str, &str)> =
        log.map(|entry| (entry["object"].as_str().unwrap(), entry["outcome"].as_str().unwrap())).collect();
    for object in [
        "role viewer: nothing is seen where no rule speaks",
        "role viewer: allow device-name edge-2",
        "user viewer: deny graph-title *Gi0/2*",
        "role viewer: deny device-name edge-2 is removed",
    ] {
        assert!(told.contains(&(object, "ok")), "{object}: {told:?}");
    }
    assert!(told.contains(&("role viewer: allow planet Mars", "bad-parameter")), "{told:?}");
    for role in [Role::Viewer, Role::Engineer] {
        world.signed_in(role).get("/graphs/rights").problem(403, "forbidden");
    }
}
