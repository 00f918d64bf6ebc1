//! Caches: what they tell, who sees whole keys, and what is said of one that does not answer.

use crate::eventually::eventually;
use crate::world::World;
use serde_json::Value;
use trunkline_web::auth::Role;

fn first(answer: &Value) -> &Value {
    &answer["caches"][0]
}

#[test]
fn what_a_cache_does_is_told_with_its_hour() {
    let world = World::new();
    let viewer = world.signed_in(Role::Viewer);
    let mut answer = Value::Null;
    eventually("it was looked at twice", || {
        answer = viewer.get("/cache").ok(200);
        !first(&answer)["rates"].is_null()
    });
    let cache = first(&answer);
    assert_eq!((cache["name"].as_str(), cache["rates"]["hit_ratio"].as_f64()), (Some("this run"), Some(0.75)));
    assert!(cache["rates"]["gets_per_s"].as_f64().is_some_and(|rate| rate > 0.0), "{cache}");
    assert!(cache["now"]["evicted_total"].is_null() && cache["now"]["ages"].is_null(), "what is not told is null");
    let history = viewer.get("/cache/history").ok(200);
    assert_eq!((history["name"].as_str(), history["every_s"].as_u64()), (Some("this run"), Some(10)));
    assert!(!history["moments"].as_array().unwrap().is_empty());
    assert_eq!(viewer.get("/cache/history?cache=this%20run").ok(200)["name"], "this run");
    viewer.get("/cache/history?cache=another").problem(404, "not-found");
    viewer.get("/cache/history?of=it").problem(400, "bad-parameter");
    world.stranger().get("/cache").problem(401, "signed-out");
}

#[test]
fn keys_are_masked_as_numbers_are() {
    let world = World::new();
    let (viewer, support) = (world.signed_in(Role::Viewer), world.signed_in(Role::Support));
    eventually("it was looked at", || !viewer.get("/cache").ok(200)["caches"].as_array().unwrap().is_empty());
    let keys = |answer: &Value| {
        let now = &first(answer)["now"];
        [&now["hot_keys"][0]["key"], &now["slow_commands"][0]["key"]].map(|key| key.as_str().unwrap().to_owned())
    };
    assert_eq!(keys(&support.get("/cache").ok(200)), ["profile:+442071000042", "bob@example.com"]);
    let masked = keys(&viewer.get("/cache").ok(200));
    assert!(masked[0].starts_with("profile:") && !masked[0].contains("0042"), "{masked:?}");
    assert!(!masked[1].contains("bob"), "{masked:?}");
}

#[test]
fn one_that_does_not_answer_says_why_and_holds_up_nobody() {
    let world = World::new();
    let viewer = world.signed_in(Role::Viewer);
    let mut answer = Value::Null;
    eventually("both were looked at", || {
        answer = viewer.get("/cache").ok(200);
        answer["caches"].as_array().unwrap().len() == 2
    });
    let gone = &answer["caches"][1];
    assert_eq!(gone["name"], "unix:cache.sock");
    assert_eq!(gone["trouble"], "unix:cache.sock: nobody listens there");
    assert!(gone["now"].is_null() && gone["rates"].is_null());
    assert_eq!(viewer.get("/cache/history?cache=unix:cache.sock").ok(200)["moments"], serde_json::json!([]));
}
