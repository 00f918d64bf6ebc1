//! Charging: what the node tells, who sees whole numbers, what operators do and what of it stands in the audit log.

use crate::eventually::eventually;
use crate::world::{Made, SCRIPT, World};
use serde_json::{Value, json};
use trunkline_web::auth::Role;

#[test]
fn a_node_is_shown_or_that_there_is_none() {
    let world = World::new();
    let viewer = world.signed_in(Role::Viewer);
    let status = viewer.get("/charge").ok(200);
    assert_eq!((&status["serving"], &status["node"]["accounts"]), (&json!(true), &json!(2)));
    assert_eq!(status["node"]["since"], "2026-11-19T00:00:00.000000Z");
    let sent = &status["node"]["records"]["sent_on"];
    let [first, second] = [&sent["gateways"][0], &sent["gateways"][1]];
    assert_eq!(
        (&first["address"], &first["up"], &second["up"]),
        (&json!("192.0.2.3:3386"), &json!(true), &json!(false))
    );
    let counts = ["packets", "done", "doubtful", "refused", "cause", "waiting_octets"].map(|key| sent[key].as_u64());
    assert_eq!(counts, [3, 40, 2, 1, 205, 5000].map(Some), "{sent}");
    assert!(!status.to_string().contains(crate::world::HOME), "{status}");
    let rates = viewer.get("/charge/rates").ok(200);
    assert_eq!(rates["points"][0]["answered"][1][0], 40);
    viewer.get("/charge/rates?every=minute").ok(200);
    viewer.get("/charge/rates?every=hour").problem(400, "bad-parameter");
    assert_eq!(viewer.get("/charge/peers").ok(200)["peers"][0]["watchdog"], "okay");
    world.charging.absent.store(true, std::sync::atomic::Ordering::SeqCst);
    let status = viewer.get("/charge").ok(200);
    assert_eq!((&status["serving"], &status["node"]), (&json!(false), &Value::Null));
    viewer.get("/charge/sessions").problem(404, "not-found");
    let without = World::made(Made { charging: false, ..Made::default() });
    let viewer = without.signed_in(Role::Viewer);
    assert_eq!(viewer.get("/charge").ok(200)["serving"], false);
    viewer.get("/charge/peers").problem(404, "not-found");
    world.stranger().get("/charge").problem(401, "signed-out");
}

#[test]
fn sessions_come_by_the_page_and_masked_where_numbers_are() {
    let world = World::new();
    let (viewer, support) = (world.signed_in(Role::Viewer), world.signed_in(Role::Support));
    let mut seen = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = support.get(&format!("/charge/sessions?limit=7{cursor}")).ok(200);
        seen.extend(page["sessions"].as_array().unwrap().iter().map(|s| s["key"].as_str().unwrap().to_owned()));
        let Some(next) = page["next"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!((seen.len(), seen[0].as_str()), (20, "0-1"));
    let row = |client: &crate::client::Client| client.get("/charge/sessions?limit=1").ok(200)["sessions"][0].clone();
    assert_eq!(row(&support)["session"], "pgw.example;1;001010000000017");
    assert_eq!(row(&support)["destination"], "442071000042");
    let masked = row(&viewer).to_string();
    assert!(!masked.contains("0000000017") && !masked.contains("442071000042"), "{masked}");
    viewer.get("/charge/sessions?q=0010").problem(403, "forbidden");
    assert_eq!(support.get("/charge/sessions?q=nothing").ok(200)["sessions"], json!([]));
    for wrong in ["state=x", "cursor=x", "limit=0", "account=x", "of=it"] {
        support.get(&format!("/charge/sessions?{wrong}")).problem(400, "bad-parameter");
    }
    assert_eq!(viewer.get("/charge/sessions/0-1").ok(200)["key"], "0-1");
    viewer.get("/charge/sessions/99-1").problem(404, "not-found");
    let told = viewer.get("/charge/timeline?key=0-1").ok(200);
    assert_eq!((told["events"][0]["kind"].as_str(), told["next"].as_str()), (Some("opened"), Some("0.9")));
    assert_eq!(
        (&told["events"][0]["place"], &told["events"][0]["called"]),
        (&json!("internet, *****"), &json!("*****"))
    );
    let seen = support.get("/charge/timeline?key=0-1").ok(200);
    assert_eq!((&seen["events"][0]["place"], &seen["events"][0]["called"]), (&json!("internet, 23433"), &json!("112")));
    viewer.get("/charge/timeline?session=pgw.example;1;001010000000017").problem(403, "forbidden");
    support.get("/charge/timeline?session=pgw.example;1;001010000000017").ok(200);
    support.get("/charge/timeline?key=0-1&cursor=0.9").ok(200);
    support.get("/charge/timeline?key=0-1&cursor=x").problem(400, "bad-parameter");
    support.get("/charge/timeline").problem(400, "bad-parameter");
    viewer.post("/charge/sessions/0-1/abort", &json!({})).problem(403, "forbidden");
    support.post("/charge/sessions/0-1/abort", &json!({})).ok(200);
    assert!(world.charging.was_ordered("abort"));
}

#[test]
fn accounts_and_their_ledger() {
    let world = World::new();
    let (viewer, support) = (world.signed_in(Role::Viewer), world.signed_in(Role::Support));
    let account = support.get("/charge/accounts/1").ok(200);
    assert_eq!(
        (&account["balance"], &account["subscribers"][0]["identities"][0]),
        (&json!(500), &json!("imsi:001010000000017"))
    );
    let masked = viewer.get("/charge/accounts/1").ok(200).to_string();
    assert!(!masked.contains("001010000000017") && !masked.contains("bob@"), "{masked}");
    support.get("/charge/accounts/9").problem(404, "not-found");
    support.get("/charge/accounts/x").problem(404, "not-found");
    assert_eq!(support.get("/charge/subscribers?identity=imsi:001010000000017").ok(200)["subscriber"], 1);
    assert_eq!(viewer.get("/charge/subscribers/1").ok(200)["identities"][0], "imsi:0010*****17");
    viewer.get("/charge/subscribers").problem(400, "bad-parameter");
    // A masked viewer does not try numbers one by one.
    for n in 0..trunkline_web::auth::masked_probe::NUMBERS_PER_HOUR_MAX {
        assert_ne!(viewer.get(&format!("/charge/subscribers?identity=imsi:00101{n:010}")).status, 429);
    }
    viewer.get("/charge/subscribers?identity=imsi:001019999999999").problem(429, "too-many");
    let page = support.get("/charge/accounts/1/ledger?limit=2").ok(200);
    assert_eq!((page["lines"].as_array().unwrap().len(), page["lines"][0]["note"].as_str()), (2, Some(SCRIPT)));
    let next = page["next"].as_str().unwrap();
    assert_eq!(support.get(&format!("/charge/accounts/1/ledger?cursor={next}")).ok(200)["next"], Value::Null);
    support.get("/charge/accounts/1/ledger?cursor=7").problem(400, "bad-parameter");
    assert_eq!(viewer.get("/charge/accounts/1/usage").ok(200)["days"][0]["units"], 1024);
    viewer.get("/charge/accounts/1/usage?days=93").problem(400, "bad-parameter");
}

#[test]
fn money_comes_once_by_who_may_and_is_written_down() {
    let world = World::new();
    let [viewer, support, engineer, boss] =
        [Role::Viewer, Role::Support, Role::Engineer, Role::Administrator].map(|role| world.signed_in(role));
    let paid = json!({ "amount": 500, "note": "voucher 4711", "key": "k-1" });
    viewer.post("/charge/accounts/1/top-up", &paid).problem(403, "forbidden");
    assert_eq!(support.post("/charge/accounts/1/top-up", &paid).ok(200)["again"], false);
    assert_eq!(support.post("/charge/accounts/1/top-up", &paid).ok(200)["again"], true);
    assert_eq!(world.charging.ordered("top-up").last().unwrap()["note"], "voucher 4711 (support)");
    for wrong in [
        json!({ "amount": 0, "key": "k" }),
        json!({ "amount": 5 }),
        json!({ "amount": 5, "key": "k", "account": 7 }),
        json!({ "amount": 5, "key": "k", "note": "x".repeat(121) }),
        json!({ "amount": "5", "key": "k" }),
    ] {
        support.post("/charge/accounts/1/top-up", &wrong).problem(400, "bad-parameter");
    }
    let less = json!({ "amount": -100, "note": "mistake", "key": "k-2" });
    support.post("/charge/accounts/1/adjust", &less).problem(403, "forbidden");
    engineer.post("/charge/accounts/1/adjust", &less).ok(200);
    support.post("/charge/accounts/1/buy", &json!({ "allowance": "gift", "key": "k-3" })).ok(200);
    support.post("/charge/accounts/1/buy", &json!({ "allowance": "none", "key": "k-4" })).problem(404, "not-found");
    support.post("/charge/accounts", &json!({ "account": 3, "plan": "standard" })).ok(200);
    support
        .post("/charge/accounts", &json!({ "account": 3, "plan": "standard", "credit": 9 }))
        .problem(403, "forbidden");
    engineer.put("/charge/accounts/3", &json!({ "plan": "standard", "credit": 9 })).ok(200);
    support.put("/charge/subscribers/3", &json!({ "account": 3, "identities": ["imsi:00101"] })).ok(200);
    let entries = boss.get("/audit?limit=1000").ok(200);
    let actions: Vec<&str> =
        entries["entries"].as_array().unwrap().iter().filter_map(|entry| entry["action"].as_str()).collect();
    for action in ["charge.top-up", "charge.adjust", "charge.buy", "charge.account", "charge.subscriber", "refused"] {
        assert!(actions.contains(&action), "{action} is not in {actions:?}");
    }
}

#[test]
fn plans_are_checked_tried_and_put_live() {
    let world = World::new();
    let (viewer, engineer) = (world.signed_in(Role::Viewer), world.signed_in(Role::Engineer));
    assert_eq!(viewer.get("/charge/plans").ok(200)["plans"][0]["name"], "standard");
    assert_eq!(viewer.get("/charge/plans/standard").ok(200)["former"], json!([1]));
    viewer.get("/charge/plans/other").problem(404, "not-found");
    assert_eq!(viewer.get("/charge/plans/standard/versions/1").ok(200)["text"], "old");
    viewer.get("/charge/plans/standard/versions/7").problem(404, "not-found");
    let (good, bad) = (json!({ "text": "good" }), json!({ "text": "bad" }));
    viewer.post("/charge/check", &good).problem(403, "forbidden");
    assert_eq!(engineer.post("/charge/check", &good).ok(200)["mistakes"], json!([]));
    assert_eq!(engineer.post("/charge/check", &bad).ok(200)["mistakes"].as_array().unwrap().len(), 2);
    let refused = engineer.post("/charge/plans", &bad).problem(400, "bad-parameter");
    assert!(refused["detail"].as_str().unwrap().starts_with("2 mistakes, the first: "), "{refused}");
    assert!(!world.charging.was_ordered("plan"));
    engineer.post("/charge/plans", &good).ok(200);
    assert!(world.charging.was_ordered("plan"));
    engineer.post("/charge/plans", &json!({ "text": "good", "instead": 4 })).problem(409, "conflict");
    engineer.post("/charge/plans", &json!({ "text": "good", "instead": 5 })).ok(200);
    let log = world.signed_in(Role::Administrator).get("/audit").ok(200);
    let outcome = |at: usize| log["entries"][at]["outcome"].as_str().unwrap().to_owned();
    assert_eq!([outcome(1), outcome(2), outcome(3), outcome(4)], ["ok", "begun", "conflict", "begun"], "{log}");
    // Texts may be long, and not without end.
    engineer.post("/charge/check", &json!({ "text": "x".repeat(500_000) })).ok(200);
    engineer.post("/charge/check", &json!({ "text": "x".repeat(2_000_000) })).problem(413, "too-large");
    let ask = json!({ "text": "good", "from": "-1d", "to": "now" });
    viewer.post("/charge/tryouts", &ask).problem(403, "forbidden");
    let begun = engineer.post("/charge/tryouts", &ask).ok(202);
    let path = format!("/charge/tryouts/{}", begun["id"].as_str().unwrap());
    let mut told = Value::Null;
    eventually("it is done", || {
        told = engineer.get(&path).ok(200);
        told["state"] == "done"
    });
    assert_eq!((&told["tried"]["all"]["would"], &told["read"]), (&json!(118), &json!(50)));
    // One at a time, and nobody else's.
    world.charging.hold.store(true, std::sync::atomic::Ordering::SeqCst);
    let held = engineer.post("/charge/tryouts", &ask).ok(202);
    engineer.post("/charge/tryouts", &ask).problem(429, "too-many");
    let listed = engineer.get("/charge/tryouts").ok(200);
    assert_eq!((&listed["tryouts"][0]["id"], &held["plan"]), (&held["id"], &json!("standard")));
    assert_eq!((listed["tryouts"].as_array().unwrap().len(), &listed["tryouts"][1]["id"]), (2, &begun["id"]));
    assert_eq!(world.signed_in(Role::Administrator).get("/charge/tryouts").ok(200)["tryouts"], json!([]));
    let held = format!("/charge/tryouts/{}", held["id"].as_str().unwrap());
    world.signed_in(Role::Administrator).get(&held).problem(404, "not-found");
    engineer.delete(&held).ok(204);
    engineer.get(&held).problem(404, "not-found");
    let failed = engineer.post("/charge/tryouts", &json!({ "text": "bad", "from": "-1d", "to": "now" })).ok(202);
    let failed = format!("/charge/tryouts/{}", failed["id"].as_str().unwrap());
    eventually("it failed", || engineer.get(&failed).ok(200)["state"] == "failed");
    engineer.post("/charge/tryouts", &json!({ "text": "x", "from": "now", "to": "-1d" })).problem(400, "bad-parameter");
}
