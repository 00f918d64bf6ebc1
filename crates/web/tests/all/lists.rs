//! Lists: every row once, by page, by filter, as comma-separated values.

use crate::world::{CALLS, Made, SCRIPT, SQL, World};
use serde_json::Value;
use std::collections::BTreeSet;
use trunkline_web::auth::Role;

/// All identifiers of a list, page by page; none comes twice.
fn walk(client: &crate::client::Client, path: &str, name: &str) -> BTreeSet<String> {
    let (mut seen, mut next, mut count) = (BTreeSet::new(), String::new(), 0);
    loop {
        let answer = client.get(&format!("{path}{}cursor={next}", if path.contains('?') { '&' } else { '?' })).ok(200);
        for row in answer[name].as_array().unwrap() {
            let id = row["id"].as_str().or(row["name"].as_str()).unwrap();
            assert!(seen.insert(id.to_owned()), "{id} twice");
        }
        count += 1;
        assert!(count < 1000);
        match answer["next"].as_str() {
            Some(cursor) => next = cursor.to_owned(),
            None => return seen,
        }
    }
}

#[test]
fn paging_walks_every_row_once() {
    let world = World::new();
    let client = world.signed_in(Role::Viewer);
    for order in ["newest", "oldest"] {
        assert_eq!(walk(&client, &format!("/calls?limit=7&order={order}"), "calls").len() as i64, CALLS);
    }
    assert_eq!(walk(&client, "/calls?limit=7&filter=code%3A503", "calls").len() as i64, CALLS / 3);
    assert_eq!(walk(&client, "/registrations?limit=4", "registrations").len(), 30);
    assert_eq!(walk(&client, "/registrations?limit=4&state=failed", "registrations").len(), 10);
    assert_eq!(walk(&client, "/events?limit=4&method=OPTIONS", "events").len(), 15);
    assert_eq!(walk(&client, "/streams?limit=4", "streams").len(), 30);
    assert_eq!(walk(&client, "/packets/segments?limit=4", "segments").len(), 30);
    assert_eq!(walk(&client, "/packets/segments?limit=4&class=sip", "segments").len(), 10);
}

#[test]
fn summaries_add_up() {
    let world = World::new();
    let client = world.signed_in(Role::Viewer);
    let all = client.get("/calls/summary?buckets=10").ok(200);
    assert_eq!(all["totals"]["calls"], CALLS);
    assert_eq!(all["totals"]["rejected_5xx"], CALLS / 3);
    assert_eq!(all["totals"]["bad"], CALLS / 5);
    assert_eq!(all["exact"], true);
    let sum: i64 = all["buckets"].as_array().unwrap().iter().map(|b| b["calls"].as_i64().unwrap()).sum();
    assert_eq!(sum, CALLS);
    let some = client.get("/calls/summary?filter=verdict%3A*&from=2026-11-19&to=2026-11-19").ok(200);
    assert_eq!(some["totals"]["calls"], CALLS / 10);
    let registrations = client.get("/registrations/summary").ok(200);
    assert_eq!((&registrations["ok"], &registrations["total"]), (&10.into(), &30.into()));
    let events = client.get("/events/summary").ok(200);
    assert_eq!(events["methods"].as_array().unwrap().len(), 2);
    assert_eq!(client.get("/losses").ok(200)["losses"][0]["count"], 3);
    assert_eq!(client.get("/losses?to=2026-11-18").ok(200)["losses"].as_array().unwrap().len(), 0);
}

#[test]
fn the_timeline_spreads_what_segments_hold() {
    let world = World::new();
    let client = world.signed_in(Role::Viewer);
    let line = client.get("/packets/timeline?buckets=10").ok(200);
    let octets = |b: &Value| ["sip", "rtp", "other"].iter().map(|c| b["octets"][c].as_i64().unwrap()).sum::<i64>();
    let buckets = line["buckets"].as_array().unwrap();
    assert!((buckets.iter().map(octets).sum::<i64>() - 30 * 60_000).abs() <= 30, "{line}");
    assert_eq!(buckets.iter().map(|b| b["packets"].as_i64().unwrap()).sum::<i64>(), 30 * 600);
    assert_eq!(buckets.iter().map(|b| b["lost"].as_i64().unwrap()).sum::<i64>(), 3);
    assert_eq!(line["retention"][0]["days_estimated"], 3.0);
    assert_eq!(line["oldest"], "2026-11-19T00:00:00.000000Z");
    let part = client.get("/packets/timeline?from=2026-11-19T00:05:30Z&to=2026-11-19T00:06:30Z").ok(200);
    let whole: i64 = part["buckets"].as_array().unwrap().iter().map(octets).sum();
    assert!((whole - 60_000).abs() <= 60, "{part}");
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let world = World::new();
    let client = world.signed_in(Role::Viewer);
    let filter = client.get("/calls?filter=mos%3C3.5%20and%20calee%3A1").problem(400, "bad-filter");
    assert_eq!((&filter["column"], &filter["near"]), (&13.into(), &"calee".into()));
    assert!(filter["expected"].as_str().unwrap().contains("callee"), "{filter}");
    for (path, parameter) in [
        ("/calls?limt=3", "limt"),
        ("/calls?limit=0", "limit"),
        ("/calls?limit=1001", "limit"),
        ("/calls?limit=x", "limit"),
        ("/calls?order=worst", "order"),
        ("/calls?from=yesterday", "from"),
        ("/calls?from=2026-11-20&to=2026-11-19T00:00Z", "to"),
        ("/calls?cursor=nonsense", "cursor"),
        ("/calls?tz=Middle/Earth", "tz"),
        ("/calls/summary?buckets=9999", "buckets"),
        ("/registrations?state=maybe", "state"),
        ("/packets/segments?cursor=x", "cursor"),
        ("/packets/timeline?buckets=0", "buckets"),
    ] {
        assert_eq!(client.get(path).problem(400, "bad-parameter")["parameter"], parameter, "{path}");
    }
    client.get("/nothing").problem(404, "not-found");
    assert_eq!(client.post("/calls", &Value::Null).problem(405, "method")["status"], 405);
}

#[test]
fn times_are_of_the_zone_that_is_asked() {
    let world = World::new();
    let client = world.signed_in(Role::Viewer);
    let count = |query: &str| client.get(&format!("/calls/summary?{query}")).ok(200)["totals"]["calls"].clone();
    assert_eq!(count("from=2026-11-19T01:00&to=2026-11-19T02:00"), 60);
    assert_eq!(count("from=2026-11-19T02:00&to=2026-11-19T03:00&tz=Europe/Berlin"), 60);
    assert_eq!(count("filter=start%3A2026-11-19T02:30&tz=Europe/Berlin"), 1);
    assert_eq!(count("from=now-1h"), 0);
}

#[test]
fn names_of_strangers_come_back_as_they_are() {
    let world = World::new();
    let client = world.signed_in(Role::Support);
    for name in [SCRIPT, SQL] {
        let filter = format!("caller:\"{name}\"").bytes().map(|b| format!("%{b:02x}")).collect::<String>();
        let found = client.get(&format!("/calls?filter={filter}")).ok(200);
        assert_eq!(found["calls"].as_array().unwrap().len(), 1, "{name}");
        assert_eq!(found["calls"][0]["from"], name);
    }
    assert_eq!(client.get("/calls/summary").ok(200)["totals"]["calls"], CALLS);
    let answer = client.get("/calls?limit=1");
    assert_eq!(answer.header("content-type"), "application/json");
    assert_eq!(answer.header("x-content-type-options"), "nosniff");
}

#[test]
fn a_table_for_spreadsheets_runs_nothing() {
    let world = World::new();
    let client = world.signed_in(Role::Support);
    let answer = client.get("/calls.csv?order=oldest");
    assert_eq!((answer.status, answer.header("content-type")), (200, "text/csv; charset=utf-8"));
    assert!(answer.header("content-disposition").starts_with("attachment"));
    let text = crate::client::text(&answer.body);
    assert_eq!(text.lines().count() as i64, CALLS + 1);
    assert!(text.contains("\"'=HYPERLINK(\"\"http://evil.example\"\")\""), "{text}");
    assert!(text.contains(",+442071000001,"), "a number stays a number");
    let some = client.get("/calls.csv?columns=to,code&filter=code%3A503&limit=2");
    assert_eq!(crate::client::text(&some.body), "to,code\r\n1001,503\r\n1001,503\r\n");
    client.get("/calls.csv?columns=password").problem(400, "bad-parameter");
    client.get("/calls.csv?filter=x").problem(400, "bad-filter");
    world.signed_in(Role::Viewer).get("/calls.csv").problem(403, "forbidden");
    let audit = world.signed_in(Role::Administrator).get("/audit?user=support").ok(200);
    assert!(audit.to_string().contains("calls.export"), "{audit}");
}

#[test]
fn what_a_filter_may_ask_is_listed() {
    let world = World::new();
    let fields = world.signed_in(Role::Viewer).get("/calls/fields").ok(200);
    let state = fields.as_array().unwrap().iter().find(|f| f["name"] == "state").unwrap();
    assert!(state["values"].as_array().unwrap().contains(&"completed".into()));
}

#[test]
fn a_number_behind_from_is_found_and_masked() {
    let ask = "filter=number:%2B4989987654321";
    let world = World::new();
    let client = world.signed_in(Role::Support);
    let found = client.get(&format!("/calls?{ask}")).ok(200);
    let [call] = &found["calls"].as_array().unwrap()[..] else { panic!("{found}") };
    assert_eq!(call["numbers"][0]["number"], "+4989987654321");
    assert!(call["numbers"][0]["sent"].as_str().unwrap().contains("<tel:+49-89-987654321;ext=98765>"), "{call}");
    let table = crate::client::text(&client.get(&format!("/calls.csv?{ask}")).body);
    assert!(table.contains("asserted +4989987654321"), "{table}");
    // Masked for all but the administrator, who may export all the same.
    let options = |o: &mut trunkline_web::Options| o.auth.mask_below = Role::Administrator;
    let world = World::made(Made { options: Box::new(options), ..Made::default() });
    let client = world.signed_in(Role::Support);
    let id = call["id"].as_str().unwrap();
    for path in [format!("/calls?{ask}"), format!("/calls/{id}"), format!("/calls.csv?{ask}")] {
        let text = crate::client::text(&client.get(&path).body);
        assert!(text.contains("+4989*****21") && !text.contains("98765") && !text.contains("Bob"), "{path}: {text}");
    }
    client.get("/calls?filter=number:%2B4989*").problem(403, "forbidden");
    client.get("/calls?filter=not%20number:*21").problem(403, "forbidden");
}
