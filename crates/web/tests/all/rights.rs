//! Who may see which devices, trees and graphs: what administrators say, and that nothing else comes out anywhere.
//!
//! Test group: waits: for live events.

use crate::client::{Answer, Client, text};
use crate::live::Feed;
use crate::schema::document;
use crate::sentry::{answer_of_some, silence};
use crate::world::World;
use serde_json::{Value, json};
use std::sync::atomic::Ordering;
use trunkline_web::auth::Role;

/// Viewers see the device edge-2 alone, and this user not all of it: the scope of `answers.json`.
fn narrowed(world: &World) -> (Client, Client) {
    narrowed_as(world, Role::Viewer)
}

fn narrowed_as(world: &World, role: Role) -> (Client, Client) {
    let (boss, user) = (world.signed_in(Role::Administrator), world.signed_in(role));
    let name = role.name();
    assert_eq!(boss.put("/graphs/rights/default", &json!({ "role": name, "default": "nothing" })).status, 204);
    let allow = json!({ "role": name, "allow": true, "kind": "device-name", "value": "edge-2" });
    boss.post("/graphs/rights/rules", &allow).ok(200);
    let deny = json!({ "user": name, "allow": false, "kind": "graph-title", "value": "*Gi0/2*" });
    boss.post("/graphs/rights/rules", &deny).ok(200);
    (boss, user)
}

/// What nobody may find who sees edge-2 without Gi0/2 alone.
const HIDDEN: [&str; 4] = ["edge-10", "core-1", "Gi0/2", "trunkline_graph"];
/// Questions about alerts that are of all devices.
const OF_ALL: [&str; 4] = ["/alerts/rules", "/alerts/rules/{name}", "/alerts/channels", "/alerts/check"];

/// The identifier of an alert of two devices, as who sees everything finds it.
fn alert_of(subject: &str, past: bool) -> String {
    let all = answer_of_some(&json!({ "do": "alerts", "past": past })).unwrap()["alerts"].clone();
    let of = |alert: &&Value| alert["subject"] == subject;
    all.as_array().unwrap().iter().rfind(of).unwrap()["id"].as_str().unwrap().to_owned()
}

#[test]
fn what_is_hidden_comes_out_nowhere() {
    let world = World::new();
    world.alerting.of_some.store(true, Ordering::SeqCst);
    let (boss, viewer) = narrowed(&world);
    let token = viewer.post("/tokens", &json!({ "name": "t", "scopes": ["graphs.read", "alerts.read"] })).ok(201);
    let token = world.stranger().token(token["secret"].as_str().unwrap());
    let graphs = shown(&viewer, "/graphs");
    let graph = graphs["graphs"].as_array().unwrap().iter().find(|graph| graph["template"] == "interface-bits");
    let graph = graph.unwrap()["id"].as_u64().unwrap();
    // By the document, so that an endpoint that comes later is asked, too.
    let paths = document()["paths"].as_object().unwrap().clone();
    // Those of administrators, who see everything.
    let own =
        ["/graphs/rights", "/graphs/credentials", "/graphs/templates", "/graphs/graph-templates", "/graphs/behind"];
    let mut asked = 0;
    for (path, of) in &paths {
        let path = path.trim_start_matches("/api/v1");
        let is_about = ["/graphs", "/alerts"].iter().any(|about| path.starts_with(about));
        if !is_about || of["get"].is_null() || own.iter().any(|own| path.starts_with(own)) {
            continue;
        }
        if path.starts_with("/alerts") {
            asked += [&viewer, &token].map(|client| asked_of_alerts(&world, client, path)).len();
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
    assert!(asked >= 44, "{asked}");
    // The live feed has nothing of graphs; what it may get one day has to pass here.
    let mut feed = Feed::open(&viewer);
    for event in [feed.next("alerts"), feed.next("status"), feed.next("calls")] {
        assert!(HIDDEN.iter().all(|hidden| !event.to_string().contains(hidden)), "{event}");
    }
    let all = text(&boss.get("/graphs/devices").body);
    assert!(HIDDEN[..2].iter().all(|hidden| all.contains(hidden)));
    let all = text(&boss.get("/alerts").body) + &text(&boss.get("/alerts/pending").body);
    assert!(HIDDEN[1..].iter().all(|hidden| all.contains(hidden)), "{all}");
}

/// One question about alerts: what is of all devices is refused, the rest is told of what is seen.
fn asked_of_alerts(world: &World, client: &Client, path: &str) {
    world.alerting.asked.lock().unwrap().clear();
    let answer = client.get(&path.replace("{id}", &alert_of("edge-2 Gi0/1", false)).replace("{name}", "uplink"));
    let (body, questions) = (text(&answer.body), world.alerting.asked.lock().unwrap().clone());
    let is_refused = OF_ALL.contains(&path);
    assert_eq!(answer.status, if is_refused { 403 } else { 200 }, "{path}: {body}");
    assert!(HIDDEN.iter().all(|hidden| !body.contains(hidden)), "{path}: {body}");
    // The task of the live feed asks for everything meanwhile.
    let of_all = ["named", "summary", "silences"];
    let asked = questions.iter().filter(|question| !of_all.iter().any(|known| question["do"] == *known));
    for question in asked {
        assert_eq!(question["seen"], json!({ "devices": [1], "graphs": [3, 5], "sources": [3, 5] }), "{path}");
    }
    let seen = world.graphing.asked.lock().unwrap().iter().rfind(|question| question["do"] == "seen").cloned();
    // Of silences their own are told, whatever is seen.
    if !is_refused && path != "/alerts/silences" {
        let named = answer_of_some(&json!({ "do": "named" })).unwrap();
        let seen = seen.unwrap_or_else(|| panic!("{path}: it was not asked what is seen"));
        assert!(["devices", "graphs", "sources"].iter().all(|list| seen[list] == named[list]), "{seen}");
        assert_eq!(seen["scope"]["levels"][1][0]["value"], "edge-2", "{path}");
    }
}

#[test]
fn alerts_are_those_of_what_is_seen_with_their_own_counts() {
    let world = World::new();
    world.alerting.of_some.store(true, Ordering::SeqCst);
    let (boss, support) = narrowed_as(&world, Role::Support);
    let total = |client: &Client, path: &str| shown(client, path)["total"].as_u64().unwrap();
    for (path, all, some) in [("/alerts", 5, 2), ("/alerts/history", 2, 1), ("/alerts/pending", 4, 1)] {
        assert_eq!((total(&boss, path), total(&support, path)), (all, some), "{path}");
    }
    assert_eq!(shown(&support, "/alerts")["pending"], 1);
    let (whole, part) = (shown(&boss, "/alerts/status"), shown(&support, "/alerts/status"));
    let counts = |of: &Value| ["open", "critical", "kept_back", "pending"].map(|what| of[what].as_u64().unwrap());
    assert_eq!((counts(&whole["summary"]), counts(&part["summary"])), ([4, 2, 1, 4], [1, 1, 1, 1]));
    assert_eq!((&part["messages_waiting"], &part["rules_without_subject"]), (&json!(0), &json!([])));
    assert_ne!(whole["summary"]["revision"], part["summary"]["revision"]);

    // One that is not seen is answered in the words for one that never was.
    let own = alert_of("edge-2 Gi0/1", false);
    assert_eq!(shown(&support, &format!("/alerts/{own}"))["silences"], json!([]));
    let never = "00000000-0000-7000-8000-000000000000".to_owned();
    let hidden = [alert_of("core-1 Gi0/1", false), alert_of("edge-2 Gi0/2", false), alert_of("core-1 Gi0/1", true)];
    let words = |mut told: Value, id: &str| {
        told["detail"] = told["detail"].as_str().unwrap().replace(id, "").into();
        told["instance"] = Value::Null;
        told
    };
    for id in &hidden {
        boss.get(&format!("/alerts/{id}")).ok(200);
        let ask = |id: &str| words(support.get(&format!("/alerts/{id}")).problem(404, "not-found"), id);
        let take = |id: &str| {
            let answer = support.post(&format!("/alerts/{id}/acknowledge"), &json!({}));
            words(answer.problem(404, "not-found"), id)
        };
        assert_eq!((ask(id), take(id)), (ask(&never), take(&never)));
    }
    assert_eq!(support.post(&format!("/alerts/{own}/acknowledge"), &json!({})).status, 204);
    let order = world.alerting.orders().pop().unwrap();
    assert_eq!((&order["by"], &order["seen"]["devices"]), (&json!("support"), &json!([1])));

    // What is of all devices says why it is refused, and nothing of it is asked.
    world.alerting.asked.lock().unwrap().clear();
    for answer in [support.get("/alerts/rules"), support.get("/alerts/rules/uplink"), support.get("/alerts/channels")] {
        let told = answer.problem(403, "forbidden");
        assert!(told["detail"].as_str().unwrap().contains("hidden from you"), "{told}");
    }
    let asked = world.alerting.asked.lock().unwrap().clone();
    assert!(asked.iter().all(|one| one["do"] == "summary" || one["do"] == "named"), "{asked:?}");
    assert_eq!(
        (&shown(&support, "/session")["all_graphs"], &shown(&boss, "/session")["all_graphs"]),
        (&json!(false), &json!(true))
    );

    // Where nobody knows of graphs, nothing of devices is seen.
    world.graphing.absent.store(true, Ordering::SeqCst);
    support.get("/alerts");
    let is_list = |question: &&Value| question["do"] == "alerts";
    let last = world.alerting.asked.lock().unwrap().iter().rfind(is_list).cloned().unwrap();
    assert_eq!(last["seen"], json!({ "devices": [], "graphs": [], "sources": [] }));
}

#[test]
fn who_sees_a_part_keeps_back_what_is_of_a_device_of_it_and_ends_what_they_began() {
    let world = World::new();
    let (boss, support) = narrowed_as(&world, Role::Support);
    let silence_of = |tests: &[&str]| json!({ "when": tests, "for_s": 60 });
    let made = support.post("/alerts/silences", &silence_of(&["severity != critical", "device = edge-2"])).ok(201);
    assert_eq!(made["by"], "support");
    support.post("/alerts/maintenance", &json!({ "device": "edge-2", "for_s": 60 })).ok(201);
    assert_eq!(world.alerting.orders().len(), 2);
    // A device that is hidden is answered as one that never was; what may be about several is refused.
    let detail = |answer: Answer| answer.problem(400, "bad-parameter")["detail"].as_str().unwrap().to_owned();
    for name in ["core-1", "never-was"] {
        let ask = json!({ "device": name, "for_s": 60 });
        assert_eq!(detail(support.post("/alerts/maintenance", &ask)), format!("There is no device '{name}'."));
    }
    for tests in [&["device = edge-*"][..], &["device = edge-2, core-1"], &["device != edge-2"], &["rule = uplink"]] {
        let why = detail(support.post("/alerts/silences", &silence_of(tests)));
        assert!(why.contains("one device that you see"), "{why}");
    }
    // That of anna is not there for them, nor what the rules keep back.
    let listed = support.get("/alerts/silences").ok(200);
    assert_eq!((&listed["silences"], &listed["windows"]), (&json!([]), &json!([])));
    support.delete(&format!("/alerts/silences/{}", silence())).problem(404, "not-found");
    assert_eq!(world.alerting.orders().len(), 2, "what was refused was not tried");
    assert_eq!(boss.get("/alerts/silences").ok(200)["silences"][0]["by"], "anna");
    *world.alerting.silenced_by.lock().unwrap() = Some("support".to_owned());
    assert_eq!(support.get("/alerts/silences").ok(200)["silences"][0]["id"], silence());
    assert_eq!(support.delete(&format!("/alerts/silences/{}", silence())).status, 204);
    // Where nobody knows of graphs, no device is seen.
    world.graphing.absent.store(true, Ordering::SeqCst);
    detail(support.post("/alerts/maintenance", &json!({ "device": "edge-2", "for_s": 60 })));
}

#[test]
fn the_live_feed_counts_what_is_seen_and_ends_when_that_is_something_else() {
    let world = World::new();
    world.alerting.of_some.store(true, Ordering::SeqCst);
    let (boss, support) = narrowed_as(&world, Role::Support);
    let (mut whole, mut part, mut again) = (Feed::open(&boss), Feed::open(&support), Feed::open(&support));
    let open = |feed: &mut Feed, open: u64| {
        let told = (0..20).map(|_| feed.next("alerts")).find(|told| told["open"] == open);
        told.unwrap_or_else(|| panic!("never {open} open"))
    };
    let texts = |of: &Value| {
        let all = of["attention"].as_array().unwrap().iter().filter(|one| one["kind"] == "alert");
        all.map(|one| one["text"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let all = open(&mut whole, 4);
    assert_eq!((&all["critical"], texts(&all)), (&json!(2), vec!["2 critical alerts by the rule uplink.".to_owned()]));
    let some = open(&mut part, 1);
    assert_eq!((&some["critical"], texts(&some)), (&json!(1), vec!["A critical alert by the rule uplink.".to_owned()]));
    assert_eq!(some, open(&mut again, 1));
    assert_eq!(some["attention"][0]["link"], format!("/alerts/{}", alert_of("edge-2 Gi0/1", false)));
    let status = part.next("status");
    assert_eq!((texts(&status), texts(&whole.next("status"))), (texts(&some), texts(&all)));
    for (client, texts_seen) in [(&support, texts(&some)), (&boss, texts(&all))] {
        assert_eq!(texts(&client.get("/system").ok(200)["live"]), texts_seen);
    }
    // Whatever many watch of one part, it is asked for once a second at most.
    let asked = |world: &World| {
        let asked = world.alerting.asked.lock().unwrap();
        asked.iter().filter(|one| one["do"] == "summary" && !one["seen"].is_null()).count()
    };
    let before = asked(&world);
    (0..3).for_each(|_| drop((part.next("alerts"), again.next("alerts"))));
    assert!(asked(&world) - before <= 3, "{}", asked(&world) - before);

    let rule = json!({ "user": "support", "allow": false, "kind": "device-name", "value": "edge-2" });
    boss.post("/graphs/rights/rules", &rule).ok(200);
    assert!(part.ends() && again.ends());
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
        "role viewer: default nothing",
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
