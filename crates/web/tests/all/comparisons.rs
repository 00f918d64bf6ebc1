//! Wire against bill: bills that are brought, comparisons, their differences by the page and as files, masked where
//! numbers are, and what was charged for a call.

use crate::client::{Client, text};
use crate::eventually::eventually;
use crate::world::{HOME, Made, World, call};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;
use trunkline_store::row::{Charge, Rows};
use trunkline_store::{Access, Store};
use trunkline_web::auth::Role;

const BILL: &[u8] = b"A;B;start;sec\n0612;+33;20/11/2026 11:02:04;60\n";

fn bring(client: &Client, name: &str, octets: &[u8]) -> Value {
    client.with("Content-Type", "text/csv").ask("POST", &format!("/charge/bills?name={name}"), Some(octets)).ok(200)
}

/// The path of a comparison that is over.
fn over(client: &Client, ask: &Value) -> String {
    let path = path(&client.post("/charge/comparisons", ask).ok(202));
    eventually("it is over", || client.get(&path).ok(200)["state"] != "running");
    path
}

fn path(of: &Value) -> String {
    format!("/charge/comparisons/{}", of["id"].as_str().unwrap())
}

#[test]
fn a_bill_is_brought_compared_and_told_by_the_page() {
    let world = World::new();
    let support = world.signed_in(Role::Support);
    let bill = bring(&support, "november.csv", BILL);
    assert_eq!((&bill["name"], &bill["octets"]), (&json!("november.csv"), &json!(BILL.len())));
    assert_eq!(support.get("/charge/bills").ok(200)["bills"], json!([bill]));
    let ask = json!({ "bill": bill["id"], "profile": "[bill]", "begin_s": 2.5, "rating_group": 7 });
    let path = over(&support, &ask);
    let told = support.get(&path).ok(200);
    let facts = [&told["state"], &told["listed"], &told["bill_name"], &told["read"], &told["ask"]["begin_s"]];
    assert_eq!(facts.map(Clone::clone), [json!("done"), json!(300), json!("november.csv"), json!(240), json!(2.5)]);
    assert_eq!((&told["compared"]["unread_lines"][0]["line"], &told["cut"]), (&json!(7), &json!(false)));
    assert!(!told.to_string().contains(HOME), "{told}");
    // By the page, in order of time, each once.
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = support.get(&format!("{path}/differences?limit=70{cursor}")).ok(200);
        assert_eq!(page["total"], 300);
        seen.extend(page["differences"].as_array().unwrap().iter().map(|d| d["at"].as_str().unwrap().to_owned()));
        let Some(next) = page["next"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert!(seen.len() == 300 && seen.is_sorted(), "{}", seen.len());
    let of = |query: &str| support.get(&format!("{path}/differences?limit=1000&{query}")).ok(200);
    let twice = of("kind=twice&sure=true");
    assert_eq!((&twice["total"], &twice["differences"][0]["other"]["line"]), (&json!(80), &json!(4)));
    assert_eq!(of("kind=twice,longer")["total"], 200);
    assert_eq!((&of("sure=false")["total"], &of("kind=nothing")["total"]), (&json!(60), &json!(0)));
    let money = |query: &str| of(query)["differences"][0]["dispute_micros"].as_i64().unwrap();
    assert_eq!([money("order=most"), money("order=least"), money("order=newest")], [-99, 0, -99]);
    for wrong in ["order=x", "cursor=x", "limit=0", "of=it"] {
        support.get(&format!("{path}/differences?{wrong}")).problem(400, "bad-parameter");
    }
    // Nobody else's, and gone once it is removed.
    world.signed_in(Role::Administrator).get(&path).problem(404, "not-found");
    support.delete(&path).ok(204);
    support.get(&format!("{path}/differences")).problem(404, "not-found");
    let bill = format!("/charge/bills/{}", bill["id"].as_str().unwrap());
    support.delete(&bill).ok(204);
    support.post("/charge/comparisons", &ask).problem(400, "bad-parameter");
    assert_eq!(std::fs::read_dir(world.handle.spool()).unwrap().count(), 0, "files that stay");
    let log = world.signed_in(Role::Administrator).get("/audit?limit=100").ok(200).to_string();
    assert!(log.contains("charge.bill") && log.contains("charge.compare"), "{log}");
}

#[test]
fn files_have_what_was_asked_for_and_run_nothing() {
    let world = World::new();
    let support = world.signed_in(Role::Support);
    let path = over(&support, &json!({ "from": "-1d" }));
    let csv = support.get(&format!("{path}/differences.csv?kind=longer"));
    let lines: Vec<String> = text(&csv.body).lines().map(str::to_owned).collect();
    assert_eq!((csv.status, lines.len()), (200, 101));
    assert!(lines[0].starts_with("kind,at,sure,why,call.id,") && lines[1].contains(",'=1+1,"), "{}", lines[1]);
    assert!(lines[1].contains("gw;1;2;442071000042"), "{}", lines[1]);
    let json = support.get(&format!("{path}/differences.jsonl?sure=false"));
    let first: Value = serde_json::from_str(text(&json.body).lines().next().unwrap()).unwrap();
    assert_eq!((&first["why"], text(&json.body).lines().count()), (&json!("silent"), 60));
    // Compressed, as browsers ask for it, it comes to its end, too.
    for path in [&format!("{path}/differences.csv"), "/calls.csv"] {
        let packed = support.with("Accept-Encoding", "gzip").get(path);
        assert_eq!((packed.status, packed.header("content-encoding")), (200, "gzip"), "{path}");
        assert!(packed.body.starts_with(&[0x1f, 0x8b]) && packed.body.len() > 1000, "{path}");
    }
    assert!(csv.headers.iter().all(|(name, _)| name != "x-trunkline-incomplete"), "these are all");
    support.get(&format!("{path}/differences.csv?limit=5")).problem(400, "bad-parameter");
    world.signed_in(Role::Viewer).get(&format!("{path}/differences.csv")).problem(403, "forbidden");
}

#[test]
fn what_is_not_listed_is_told_and_what_went_is_gone() {
    let world = World::new();
    world.charging.more_differences.store(200_000, Ordering::SeqCst);
    let support = world.signed_in(Role::Support);
    let path = over(&support, &json!({ "from": "-1d" }));
    assert_eq!(support.get(&path).ok(200)["cut"], true);
    let csv = support.get(&format!("{path}/differences.csv?kind=none"));
    assert_eq!(csv.header("x-trunkline-incomplete"), "200000");
    assert!(text(&csv.body).ends_with(&format!("# incomplete: 200000 differences are listed{}\r\n", ",".repeat(20))));
    let json = support.get(&format!("{path}/differences.jsonl?kind=none"));
    assert_eq!(json.header("x-trunkline-incomplete"), "200000");
    // Another comparison may take its place between the question and the answer.
    for file in std::fs::read_dir(world.handle.spool()).unwrap() {
        std::fs::remove_file(file.unwrap().path()).unwrap();
    }
    for of in ["differences", "differences.csv", "differences.jsonl"] {
        support.get(&format!("{path}/{of}")).problem(404, "not-found");
    }
}

#[test]
fn who_sees_masked_numbers_gets_them_nowhere() {
    let world = World::new();
    let viewer = world.signed_in(Role::Viewer);
    viewer.ask("POST", "/charge/bills?name=b", Some(BILL)).problem(403, "forbidden");
    let path = over(&viewer, &json!({ "from": "-1d", "filter": "caller:+442071000042" }));
    let told = viewer.get(&path).ok(200).to_string();
    let page = viewer.get(&format!("{path}/differences?limit=1000")).ok(200).to_string();
    for number in ["442071000042", "33612345678", "71000042"] {
        assert!(!told.contains(number) && !page.contains(number), "{number}: {told}");
    }
    assert!(page.contains("+4420*****42"), "{page}");
    viewer.post("/charge/comparisons", &json!({ "from": "-1d", "filter": "caller:*1000*" })).problem(403, "forbidden");
    // Prefixes of one's own would tell digits one by one.
    for own in ["profile", "plan", "plan_name", "bill"] {
        viewer.post("/charge/comparisons", &json!({ "from": "-1d", own: "standard" })).problem(403, "forbidden");
    }
    // A token that does not see numbers sees what its user asked for masked, sentences among it.
    let support = world.signed_in(Role::Support);
    let bill = bring(&support, "nothing.csv", b"nothing");
    let failed = over(&support, &json!({ "bill": bill["id"] }));
    let scopes = json!({ "name": "t", "scopes": ["charge.read", "calls.read", "calls.export"] });
    let token = world.stranger().token(support.post("/tokens", &scopes).ok(201)["secret"].as_str().unwrap());
    let error = |client: &Client| client.get(&failed).ok(200)["error"].as_str().unwrap().to_owned();
    assert_eq!(error(&support), "Line 2: no number: '+442071000042'.");
    assert!(!error(&token).contains("442071000042"), "{}", error(&token));
    let path = over(&support, &json!({ "from": "-1d" }));
    for of in ["", "/differences", "/differences.csv", "/differences.jsonl"] {
        let told = text(&token.get(&format!("{path}{of}")).body);
        assert!(!told.contains("442071000042") && !told.contains("33612345678"), "{of}: {told}");
    }
}

#[test]
fn one_at_a_time_and_what_is_wrong_is_told_at_once() {
    let world = World::new();
    let support = world.signed_in(Role::Support);
    for wrong in [
        json!({}),
        json!({ "to": "now" }),
        json!({ "from": "now", "to": "-1d" }),
        json!({ "from": "-1d", "begin_s": -1 }),
        json!({ "from": "-1d", "begin_s": 301 }),
        json!({ "from": "-1d", "length_s": 601 }),
        json!({ "from": "-1d", "ahead_s": 90_000 }),
        json!({ "from": "-1d", "tz": "Mars" }),
        json!({ "from": "-1d", "filter": "mos<<" }),
        json!({ "from": "-1d", "plan": "x", "plan_name": "standard" }),
        json!({ "from": "-1d", "profile": "bad" }),
        json!({ "from": "-1d", "plan": "bad" }),
        json!({ "from": "-1d", "bill": "nothing" }),
        json!({ "from": "-1d", "of": "it" }),
    ] {
        let answer = support.post("/charge/comparisons", &wrong);
        assert_eq!(answer.status, 400, "{wrong}: {}", text(&answer.body));
    }
    support.post("/charge/comparisons", &json!({ "from": "-1d", "plan_name": "other" })).problem(404, "not-found");
    world.charging.hold.store(true, Ordering::SeqCst);
    let begun = support.post("/charge/comparisons", &json!({ "from": "-1d", "plan_name": "standard" })).ok(202);
    support.post("/charge/comparisons", &json!({ "from": "-1d" })).problem(429, "too-many");
    support.get(&format!("{}/differences", path(&begun))).problem(409, "conflict");
    assert_eq!(support.get("/charge/comparisons").ok(200)["comparisons"][0]["id"], begun["id"]);
    support.delete(&path(&begun)).ok(204);
    eventually("nothing is left of it", || std::fs::read_dir(world.handle.spool()).unwrap().count() == 0);
    support.ask("POST", "/charge/bills?name=", Some(BILL)).problem(400, "bad-parameter");
    support.ask("POST", "/charge/bills?name=empty", Some(b"")).problem(400, "bad-parameter");
    let without = World::made(Made { charging: false, ..Made::default() });
    let support = without.signed_in(Role::Support);
    support.post("/charge/comparisons", &json!({ "from": "-1d" })).problem(404, "not-found");
}

#[test]
fn a_call_tells_what_was_charged_for_it() {
    let world = World::new();
    let call = call(1);
    let charge = |number: u32, session: &str, account: u64, money: i64| Charge {
        id: trunkline_kit::Id::derive(call.start_ns, &number.to_le_bytes()),
        node: "ocs".to_owned(),
        number,
        kind: "session".to_owned(),
        session: session.to_owned(),
        origin: "gw.example".to_owned(),
        subscriber: 1,
        account,
        msisdn: call.from.trim_start_matches('+').to_owned(),
        destination: "1001".to_owned(),
        start_ns: call.start_ns,
        end_ns: call.start_ns + 7_000_000_000,
        seconds: 7,
        money,
        rated: true,
        ..Charge::default()
    };
    let named = format!("gw.example;1;2;{}", call.sip_call_id);
    let charges = vec![
        charge(1, &named, 1, 5),
        charge(2, &named, 1, 6),
        charge(3, "gw.example;1;442071000001", 9, 7),
        charge(4, &format!("gw.example;1;4;{}", crate::world::call(2).sip_call_id), 1, 8),
    ];
    let mut store = Store::open(&world.folder.path().join("store"), Access::Write).unwrap();
    store.write(&Rows { charges, ..Rows::default() }).unwrap();
    store.commit().unwrap();
    let (support, viewer) = (world.signed_in(Role::Support), world.signed_in(Role::Viewer));
    let told = support.get(&format!("/calls/{}/charges", call.id)).ok(200);
    let all = told["charges"].as_array().unwrap();
    assert_eq!((all.len(), &told["stopped"]), (2, &json!(false)), "{told}");
    let (first, second) = (&all[0], &all[1]);
    let facts = [&first["by"], &first["money"], &first["records"], &first["seconds"], &first["currency"]];
    assert_eq!(facts.map(Clone::clone), [json!("call-id"), json!(11), json!(2), json!(14), json!("EUR")]);
    assert_eq!((&second["by"], &second["account"], &second["currency"]), (&json!("numbers"), &json!(9), &Value::Null));
    let masked = viewer.get(&format!("/calls/{}/charges", call.id)).ok(200).to_string();
    assert!(!masked.contains("442071000001"), "{masked}");
    let other = support.get(&format!("/calls/{}/charges", crate::world::call(4).id)).ok(200);
    assert_eq!(other["charges"], json!([]));
}
