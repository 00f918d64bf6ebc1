//! Alerts: what is told of them and to whom, what people do about them, and what of it is written down.

use crate::client::text;
use crate::sentry::{alert, silence};
use crate::world::{HOME, Made, World};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;
use trunkline_web::auth::Role;

/// Whom calls of the alert that is over went to.
const NUMBER: &str = "442071234567";
const HIDDEN: &str = "+4420*****67";

#[test]
fn how_alerts_stand_or_that_nobody_looks_after_them() {
    let world = World::new();
    let viewer = world.signed_in(Role::Viewer);
    *world.alerting.critical.lock().unwrap() = 2;
    let status = viewer.get("/alerts/status").ok(200);
    assert_eq!((&status["serving"], &status["summary"]["critical"]), (&json!(true), &json!(2)));
    world.alerting.absent.store(true, Ordering::SeqCst);
    let status = viewer.get("/alerts/status").ok(200);
    assert_eq!((&status["serving"], &status["summary"]), (&json!(false), &Value::Null));
    viewer.get("/alerts").problem(404, "not-found");

    let without = World::made(Made { alerting: false, ..Made::default() });
    let viewer = without.signed_in(Role::Viewer);
    assert_eq!(viewer.get("/alerts/status").ok(200)["serving"], false);
    viewer.get("/alerts/rules").problem(404, "not-found");
}

#[test]
fn alerts_are_listed_and_one_is_told_with_its_course() {
    let world = World::new();
    let support = world.signed_in(Role::Support);
    let open = support.get("/alerts?severity=critical&device=edge-1&text=bit&from=-1d&offset=0&limit=10").ok(200);
    assert_eq!((&open["total"], &open["pending"]), (&json!(1), &json!(1)));
    let first = &open["alerts"][0];
    assert_eq!((&first["device_id"], &first["graph_id"], &first["limit"]), (&json!(1), &json!(3), &json!(900.0)));
    assert_eq!((&first["acknowledged"]["by"], &first["kept_back_by"]), (&json!("anna"), &json!("maintenance")));
    assert!(first["began"].as_str().unwrap().ends_with('Z') && first["ended"].is_null());
    let asked = world.alerting.asked.lock().unwrap().last().cloned().unwrap();
    assert_eq!((&asked["severity"], &asked["text"], &asked["limit"]), (&json!("critical"), &json!("bit"), &json!(10)));
    assert_eq!((&asked["names_alone"], &asked["past"]), (&json!(false), &json!(false)));
    assert!(asked["from_s"].is_i64() && asked["to_s"].is_null());

    let past = support.get("/alerts/history").ok(200);
    let over = &past["alerts"][0];
    assert_eq!((&over["state"], &over["subject"]), (&json!("resolved"), &json!(format!("+{NUMBER}"))));
    // Rows of calls are watched: it leads to them.
    assert_eq!(over["calls"]["filter"], format!("(code>=500) and callee:+{NUMBER}"));

    let full = support.get(&format!("/alerts/{}", alert(false))).ok(200);
    let course = full["course"].as_array().unwrap();
    let told = course.iter().find(|step| step["channel"] == "pager").unwrap();
    assert_eq!((&told["outcome"], &told["route"]), (&json!("failed"), &json!("worst")));
    assert!(course.iter().any(|step| step["what"] == "acknowledged" && step["by"] == "anna"));
    assert_eq!((&course[0]["state"], &course[0]["value"]), (&json!("firing"), &json!(950.0)));
    assert_eq!(full["silences"][0]["why"], "works");

    let pending = support.get("/alerts/pending").ok(200);
    assert_eq!((&pending["pending"][0]["rule"], &pending["pending"][0]["device"]), (&json!("ring"), &Value::Null));
    assert_eq!(support.get("/alerts/silences").ok(200)["windows"][0]["weekly"][0], "sun 02:00-04:00");
    let rules = support.get("/alerts/rules").ok(200);
    assert!(rules["rules"][0]["text"].as_str().unwrap().contains("rows = \"calls\""), "{rules}");
    let rule = support.get("/alerts/rules/uplink?limit=5").ok(200);
    assert_eq!((&rule["followed"][0]["subject"], &rule["subjects"]), (&json!("edge-1 Gi0/1"), &json!(1)));
    let channels = support.get("/alerts/channels").ok(200);
    assert_eq!((&channels["channels"][0]["kind"], &channels["channels"][0]["to"]), (&json!("command"), &json!("true")));

    for path in ["/alerts/0192", "/alerts/x", "/alerts/rules/none"] {
        support.get(path).problem(404, "not-found");
    }
    for wrong in ["severity=bad", "state=gone", "from=never", "offset=-1", "colour=red", "acknowledged=maybe"] {
        support.get(&format!("/alerts?{wrong}")).problem(400, "bad-parameter");
    }
    support.get("/alerts/history?state=firing").problem(400, "bad-parameter");
    support.get(&format!("/alerts?text={}", "x".repeat(501))).problem(400, "bad-parameter");
}

#[test]
fn who_may_not_see_numbers_neither_sees_them_nor_asks_for_them_digit_by_digit() {
    let world = World::new();
    let viewer = world.signed_in(Role::Viewer);
    let paths = [
        "/alerts",
        "/alerts/history",
        "/alerts/pending",
        "/alerts/rules",
        "/alerts/rules/failed",
        "/alerts/silences",
        "/alerts/channels",
        &format!("/alerts/{}", alert(true)),
    ];
    for path in paths {
        let answer = viewer.get(path);
        answer.ok(200);
        assert!(!text(&answer.body).contains(&NUMBER[4..9]), "{path}: {}", text(&answer.body));
    }
    let over = viewer.get("/alerts/history").ok(200)["alerts"][0].clone();
    assert_eq!((&over["subject"], &over["labels"]["callee"]), (&json!(HIDDEN), &json!(HIDDEN)));
    assert!(over["title"].as_str().unwrap().contains(HIDDEN) && over["calls"].is_null(), "{over}");
    // Their order would tell them, and so would a place in it that one may choose.
    let rule = viewer.get("/alerts/rules/failed?cursor=%2B4420712").ok(200);
    assert_eq!((&rule["followed"], &rule["next"], &rule["subjects"]), (&json!([]), &Value::Null, &json!(1)));
    viewer.get("/alerts/history?text=4420712").ok(200);
    assert_eq!(world.alerting.asked.lock().unwrap().last().unwrap()["names_alone"], true);

    let masked =
        World::made(Made { options: Box::new(|options| options.auth.mask_below = Role::Engineer), ..Made::default() });
    let support = masked.signed_in(Role::Support);
    let silence = |test: &str| json!({ "when": [test], "for_s": 60 });
    for test in ["callee = +4420712*", "subject = *7", "src != 10.*", "from = 4*"] {
        support.post("/alerts/silences", &silence(test)).problem(403, "forbidden");
    }
    support.post("/alerts/silences", &silence("device = edge-*")).ok(201);
    assert_eq!(masked.alerting.orders().len(), 1, "what was refused was not tried");
}

#[test]
fn what_people_do_about_alerts_is_done_in_their_name_and_written_down() {
    let world = World::new();
    let support = world.signed_in(Role::Support);
    assert_eq!(support.post(&format!("/alerts/{}/acknowledge", alert(false)), &json!({})).status, 204);
    let asked = json!({ "when": ["device = edge-*", "severity != critical"], "for_s": 7200, "why": "new firmware" });
    let made = support.post("/alerts/silences", &asked).ok(201);
    assert_eq!((&made["by"], &made["why"]), (&json!("support"), &json!("new firmware")));
    let made = support.post("/alerts/maintenance", &json!({ "device": "edge-1", "for_s": 60 })).ok(201);
    assert_eq!(made["when"], json!(["device = edge-1"]));
    assert_eq!(support.delete(&format!("/alerts/silences/{}", silence())).status, 204);
    let orders = world.alerting.orders();
    let done: Vec<&str> = orders.iter().map(|order| order["do"].as_str().unwrap()).collect();
    assert_eq!(done, ["acknowledge", "silence", "silence", "unsilence"]);
    assert!(orders.iter().all(|order| order["by"] == "support"), "{orders:?}");

    for body in [json!({ "when": [], "for_s": 60 }), json!({ "when": ["a = b"], "for_s": 0 }), json!({ "for_s": 1 })] {
        support.post("/alerts/silences", &body).problem(400, "bad-parameter");
    }
    for device in ["", "edge-*", "a, b"] {
        let body = json!({ "device": device, "for_s": 60 });
        support.post("/alerts/maintenance", &body).problem(400, "bad-parameter");
    }
    // Parts of identifiers are for people at a terminal.
    for path in ["/alerts/0/acknowledge", &format!("/alerts/{}/acknowledge", alert(true))] {
        support.post(path, &json!({})).problem(404, "not-found");
    }
    support.delete("/alerts/silences/0").problem(404, "not-found");

    let boss = world.signed_in(Role::Administrator);
    assert_eq!(boss.post("/alerts/channels/noc/test", &json!({})).ok(200)["outcome"], "delivered");
    let failed = boss.post("/alerts/channels/pager/test", &json!({}));
    assert!(failed.ok(200)["outcome"] == "given up" && !text(&failed.body).contains(HOME), "{}", text(&failed.body));
    boss.post("/alerts/channels/none/test", &json!({})).problem(404, "not-found");
    let taken = boss.post("/alerts/reload", &json!({})).ok(200);
    assert_eq!((&taken["taken"], &taken["rules"]), (&json!(true), &json!(3)));
    world.alerting.mistaken.store(true, Ordering::SeqCst);
    for found in [boss.post("/alerts/reload", &json!({})), boss.get("/alerts/check")] {
        let told = found.ok(200);
        assert_eq!((&told["taken"], told["mistakes"].as_array().map(Vec::len)), (&json!(false), Some(2)));
        assert!(told["mistakes"][0].as_str().unwrap().starts_with("noc.toml:2:1:"), "{told}");
    }
    let log = text(&boss.get("/audit").body);
    for part in ["alert.acknowledge", "device = edge-* and severity != critical for 7200 s", "alert.test", "2 mistakes"]
    {
        assert!(log.contains(part), "{part}: {log}");
    }
    for role in [Role::Support, Role::Engineer] {
        world.signed_in(role).post("/alerts/reload", &json!({})).problem(403, "forbidden");
    }
    world.signed_in(Role::Viewer).post("/alerts/silences", &asked).problem(403, "forbidden");
}

#[test]
fn a_scope_is_enough_and_needed() {
    let world = World::new();
    let boss = world.signed_in(Role::Administrator);
    let token = |scopes: &[&str]| {
        let made = boss.post("/tokens", &json!({ "name": scopes.join(" "), "scopes": scopes })).ok(201);
        boss.token(made["secret"].as_str().unwrap())
    };
    let reads = token(&["alerts.read"]);
    reads.get("/alerts").ok(200);
    let acknowledge = format!("/alerts/{}/acknowledge", alert(false));
    reads.post(&acknowledge, &json!({})).problem(403, "forbidden");
    // Without numbers.read a token of an administrator sees none.
    assert!(!text(&reads.get("/alerts/history").body).contains(NUMBER));
    assert_eq!(token(&["alerts.operate"]).post(&acknowledge, &json!({})).status, 204);
    token(&["calls.read"]).get("/alerts").problem(403, "forbidden");
}
