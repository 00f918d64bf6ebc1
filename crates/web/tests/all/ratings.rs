//! Calls that are rated by plans: begun, told by the page and as files, masked where numbers are, bounded.

use crate::client::{Client, text};
use crate::eventually::eventually;
use crate::world::{HOME, World};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;
use trunkline_web::auth::Role;

/// The path of a rating that is over.
fn over(client: &Client, ask: &Value) -> String {
    let path = path(&client.post("/charge/ratings", ask).ok(202));
    eventually("it is over", || client.get(&path).ok(200)["state"] != "running");
    path
}

fn path(of: &Value) -> String {
    format!("/charge/ratings/{}", of["id"].as_str().unwrap())
}

#[test]
fn calls_are_rated_and_told_by_the_page() {
    let world = World::new();
    let support = world.signed_in(Role::Support);
    let path = over(&support, &json!({ "from": "-1d", "profile": "[numbers]", "rating_group": 7 }));
    let told = support.get(&path).ok(200);
    let facts = [&told["state"], &told["listed"], &told["cut"], &told["step"], &told["read"]];
    assert_eq!(facts.map(Clone::clone), [json!("done"), json!(350), json!(false), json!("calls"), json!(350)]);
    assert_eq!((&told["rated"]["priced"], &told["ask"]["rating_group"]), (&json!(240), &json!(7)));
    assert!(!told.to_string().contains(HOME), "{told}");
    let of = |query: &str| support.get(&format!("{path}/calls?limit=1000&{query}")).ok(200);
    let count = |query: &str| of(query)["total"].as_u64().unwrap();
    assert_eq!([count(""), count("outcome=no-rule"), count("outcome=nobody-pays")], [350, 50, 60]);
    assert_eq!(
        [count("outcome=no-rule,priced"), count("outcome=nothing"), count("destination=elsewhere")],
        [290, 0, 0]
    );
    assert_eq!(count("destination=near") + count("destination=far"), 290);
    assert_eq!(of("outcome=no-rule&destination=near")["calls"][0]["destination"], "near");
    let money = |query: &str| of(query)["calls"][0]["money"].as_i64();
    assert_eq!([money("order=most"), money("order=newest&outcome=priced")], [Some(99), Some(49)]);
    // By the page, each once.
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = support.get(&format!("{path}/calls?limit=90{cursor}")).ok(200);
        seen.extend(page["calls"].as_array().unwrap().iter().map(|call| call["answer"].as_str().unwrap().to_owned()));
        let Some(next) = page["next"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert!(seen.len() == 350 && seen.is_sorted(), "{}", seen.len());
    for wrong in ["order=x", "cursor=x", "limit=0", "of=it"] {
        support.get(&format!("{path}/calls?{wrong}")).problem(400, "bad-parameter");
    }
    world.signed_in(Role::Administrator).get(&path).problem(404, "not-found");
    assert_eq!(support.get("/charge/ratings").ok(200)["ratings"][0]["id"], told["id"]);
    support.delete(&path).ok(204);
    support.get(&format!("{path}/calls")).problem(404, "not-found");
    assert_eq!(std::fs::read_dir(world.handle.spool()).unwrap().count(), 0, "files that stay");
}

#[test]
fn files_have_what_was_asked_for_and_run_nothing() {
    let world = World::new();
    let support = world.signed_in(Role::Support);
    let path = over(&support, &json!({ "from": "-1d" }));
    let csv = support.get(&format!("{path}/calls.csv?outcome=priced"));
    let lines: Vec<String> = text(&csv.body).lines().map(str::to_owned).collect();
    assert_eq!((csv.status, lines.len()), (200, 241));
    assert!(
        lines[0].starts_with("call,caller,called,answer,seconds,outcome,") && lines[1].contains(",'=1+1,"),
        "{lines:?}"
    );
    let json = support.get(&format!("{path}/calls.jsonl?outcome=no-rule"));
    let first: Value = serde_json::from_str(text(&json.body).lines().next().unwrap()).unwrap();
    assert_eq!((&first["outcome"], text(&json.body).lines().count()), (&json!("no-rule"), 50));
    assert!(csv.headers.iter().all(|(name, _)| name != "x-trunkline-incomplete"), "these are all");
    world.signed_in(Role::Viewer).get(&format!("{path}/calls.csv")).problem(403, "forbidden");
    let log = world.signed_in(Role::Administrator).get("/audit?limit=100").ok(200).to_string();
    assert!(log.contains("charge.rate") && log.contains("charge.rated-calls"), "{log}");
    // What is not listed is told, in the file, too.
    world.charging.more_differences.store(200_000, Ordering::SeqCst);
    let path = over(&support, &json!({ "from": "-1d" }));
    let told = support.get(&path).ok(200);
    assert_eq!((&told["cut"], &told["listed"]), (&json!(true), &json!(200_000)));
    let csv = support.get(&format!("{path}/calls.csv?outcome=none"));
    assert_eq!(csv.header("x-trunkline-incomplete"), "200000");
    assert!(text(&csv.body).contains("# incomplete: 200000 calls are listed,"));
}

#[test]
fn plans_are_chosen_by_name_by_a_former_text_and_by_a_text() {
    let world = World::new();
    let support = world.signed_in(Role::Support);
    let by = |ask: Value| support.get(&over(&support, &ask)).ok(200)["rated"]["sums"][0]["plan"].clone();
    assert_eq!(by(json!({ "from": "-1d", "plan_name": "standard" })), Value::Null);
    // The node has version 2 since entry 5, and version 1 of entry 1.
    assert_eq!(by(json!({ "from": "-1d", "plan_name": "standard", "plan_entry": 1 })), "old 1");
    assert_eq!(by(json!({ "from": "-1d", "plan_name": "standard", "plan_entry": 5 })), Value::Null);
    assert_eq!(by(json!({ "from": "-1d", "plan": "mine" })), "mine 0");
    let failed = over(&support, &json!({ "from": "-1d", "plan_name": "gone" }));
    assert_eq!(support.get(&failed).ok(200)["error"], "No account can have the plan 'gone'.");
    for wrong in [
        json!({}),
        json!({ "to": "now" }),
        json!({ "from": "now", "to": "-1d" }),
        json!({ "from": "-1d", "tz": "Mars" }),
        json!({ "from": "-1d", "filter": "mos<<" }),
        json!({ "from": "-1d", "plan": "x", "plan_name": "standard" }),
        json!({ "from": "-1d", "plan": "bad" }),
        json!({ "from": "-1d", "profile": "bad" }),
        json!({ "from": "-1d", "plan_entry": 1 }),
        json!({ "from": "-1d", "plan_name": "standard", "plan_entry": 4 }),
        json!({ "from": "-1d", "bill": "it" }),
    ] {
        let answer = support.post("/charge/ratings", &wrong);
        assert_eq!(answer.status, 400, "{wrong}: {}", text(&answer.body));
    }
}

#[test]
fn who_sees_masked_numbers_gets_them_nowhere() {
    let world = World::new();
    let viewer = world.signed_in(Role::Viewer);
    for own in ["profile", "plan"] {
        viewer.post("/charge/ratings", &json!({ "from": "-1d", own: "standard" })).problem(403, "forbidden");
    }
    viewer.post("/charge/ratings", &json!({ "from": "-1d", "filter": "caller:*1000*" })).problem(403, "forbidden");
    let path = over(&viewer, &json!({ "from": "-1d", "filter": "caller:+442071000042", "plan_name": "standard" }));
    let told = viewer.get(&path).ok(200);
    assert_eq!(told["rated"]["prefixes"], json!([]), "a prefix of few calls is a part of their numbers");
    let page = viewer.get(&format!("{path}/calls?limit=1000")).ok(200).to_string();
    assert!(page.contains("+4420*****42") && !page.contains("442071"), "{page}");
    assert!(!told.to_string().contains("442071"), "{told}");
    // A token of somebody who sees them, which does not.
    let support = world.signed_in(Role::Support);
    let path = over(&support, &json!({ "from": "-1d", "profile": "[numbers]\nnational = [\"442071\"]" }));
    let scopes = json!({ "name": "t", "scopes": ["charge.read", "calls.read", "calls.export"] });
    let token = world.stranger().token(support.post("/tokens", &scopes).ok(201)["secret"].as_str().unwrap());
    for of in ["", "/calls", "/calls.csv", "/calls.jsonl"] {
        let told = token.get(&format!("{path}{of}"));
        assert!(told.status == 200 && !text(&told.body).contains("442071"), "{of}: {}", text(&told.body));
    }
}

#[test]
fn one_runs_at_a_time_it_can_be_ended_and_nobody_drives_out_anothers() {
    let world = World::new();
    let [support, engineer] = [Role::Support, Role::Engineer].map(|role| world.signed_in(role));
    let others = over(&engineer, &json!({ "from": "-1d" }));
    let own: Vec<String> = (0..9).map(|_| over(&support, &json!({ "from": "-1d" }))).collect();
    support.get(&own[0]).problem(404, "not-found");
    support.get(&own[1]).ok(200);
    engineer.get(&format!("{others}/calls")).ok(200);
    world.charging.hold.store(true, Ordering::SeqCst);
    let begun = support.post("/charge/ratings", &json!({ "from": "-1d" })).ok(202);
    support.post("/charge/ratings", &json!({ "from": "-1d" })).problem(429, "too-many");
    support.get(&format!("{}/calls", path(&begun))).problem(409, "conflict");
    support.delete(&path(&begun)).ok(204);
    world.charging.hold.store(false, Ordering::SeqCst);
    over(&support, &json!({ "from": "-1d" }));
}
