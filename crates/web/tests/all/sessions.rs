//! Where somebody is signed in, an end to it, and cookies that do not get into each other's way.

use crate::client::{Client, text};
use crate::world::{PASSWORD, World};
use serde_json::{Value, json};
use trunkline_web::auth::{DESK_FILE, Role};

/// A user who may sign in by password.
fn bob(world: &World) -> Client {
    let boss = world.signed_in(Role::Administrator);
    boss.post("/users", &json!({"name": "bob", "role": "viewer", "password": "the first of them"})).ok(201);
    let link = boss.ask("POST", "/users/bob/link", None).ok(201);
    world.stranger().post("/session/setup", &json!({"token": link["token"], "password": PASSWORD})).ok(200);
    boss.delete("/users/bob/sessions").ok(204);
    boss
}

fn sign_in(world: &World, agent: &str) -> Client {
    let mut client = world.stranger().with("User-Agent", agent);
    let answer = client.post("/session", &json!({"name": "bob", "password": PASSWORD}));
    client.csrf = answer.ok(200)["csrf"].as_str().map(str::to_owned);
    client.cookie = answer.cookie();
    client
}

fn agents(sessions: &Value) -> Vec<&str> {
    let mut all: Vec<_> =
        sessions["sessions"].as_array().unwrap().iter().map(|s| s["agent"].as_str().unwrap()).collect();
    all.sort_unstable();
    all
}

#[test]
fn people_see_where_they_are_signed_in_and_end_it() {
    let world = World::new();
    let boss = bob(&world);
    let (desk, phone, lost) = (sign_in(&world, "Desk/1"), sign_in(&world, "Phone/1"), sign_in(&world, "Lost/1"));
    let sessions = desk.get("/sessions").ok(200);
    assert_eq!(agents(&sessions), ["Desk/1", "Lost/1", "Phone/1"]);
    let of = |agent: &str| sessions["sessions"].as_array().unwrap().iter().find(|s| s["agent"] == agent).unwrap();
    assert_eq!((&of("Desk/1")["this"], &of("Phone/1")["this"]), (&true.into(), &false.into()));
    assert_eq!(of("Desk/1")["address"], "127.0.0.1");
    for time in ["started", "last_seen", "ends"] {
        assert!(of("Desk/1")[time].as_str().unwrap().ends_with('Z'), "{time}");
    }
    assert!(!text(&desk.get("/sessions").body).contains(lost.cookie.as_deref().unwrap()), "no secret in it");

    let lost_id = of("Lost/1")["id"].as_str().unwrap();
    boss.delete(&format!("/sessions/{lost_id}")).problem(404, "not-found");
    desk.delete(&format!("/sessions/{lost_id}")).ok(204);
    lost.get("/calls").problem(401, "signed-out");
    desk.delete(&format!("/sessions/{lost_id}")).problem(404, "not-found");
    desk.delete("/sessions").ok(204);
    phone.get("/calls").problem(401, "signed-out");
    assert_eq!(agents(&desk.get("/sessions").ok(200)), ["Desk/1"]);

    let phone = sign_in(&world, "Phone/2");
    phone.get("/users/bob/sessions").problem(403, "forbidden");
    let seen = boss.get("/users/bob/sessions").ok(200);
    assert_eq!(agents(&seen), ["Desk/1", "Phone/2"]);
    assert!(seen["sessions"].as_array().unwrap().iter().all(|s| s["this"] == false));
    let id = seen["sessions"].as_array().unwrap().iter().find(|s| s["agent"] == "Phone/2").unwrap()["id"].clone();
    boss.delete(&format!("/users/administrator/sessions/{}", id.as_str().unwrap())).problem(404, "not-found");
    boss.delete(&format!("/users/bob/sessions/{}", id.as_str().unwrap())).ok(204);
    phone.get("/calls").problem(401, "signed-out");
    boss.delete("/users/bob/sessions").ok(204);
    desk.get("/calls").problem(401, "signed-out");
    boss.get("/calls").ok(200);
    boss.get("/users/nobody/sessions").problem(404, "not-found");

    let entries = boss.get("/audit?limit=100").ok(200);
    let entries = entries["entries"].as_array().unwrap();
    let ended: Vec<&str> =
        entries.iter().filter(|e| e["action"] == "session.end").map(|e| e["object"].as_str().unwrap()).collect();
    assert!(ended.contains(&"all others") && ended.contains(&"all of bob") && ended.contains(&lost_id), "{ended:?}");
}

#[test]
fn who_signs_out_is_signed_out_though_the_disk_is_full() {
    let world = World::new();
    let viewer = world.signed_in(Role::Viewer);
    let file = rusqlite::Connection::open(world.folder.path().join(DESK_FILE)).unwrap();
    for table in ["BEFORE DELETE ON sessions", "BEFORE INSERT ON audit"] {
        let name = table.split(' ').next_back().unwrap();
        let full = format!("CREATE TRIGGER full_{name} {table} BEGIN SELECT RAISE(ABORT, 'disk full'); END");
        file.execute_batch(&full).unwrap();
    }
    let answer = viewer.delete("/session");
    let problem = answer.problem(500, "failed");
    assert_eq!(problem["signed_out"], true);
    assert!(problem["detail"].as_str().unwrap().starts_with("You are signed out"), "{problem}");
    let set = answer.header("set-cookie");
    assert!(set.starts_with("trunkline-") && set.contains("=; ") && set.contains("Max-Age=0"), "{set}");
    viewer.get("/calls").problem(401, "signed-out");
    assert_eq!(viewer.get("/session").ok(200)["signed_in"], false);
    let counted = world.handle.metrics();
    let unwritten = counted.iter().find(|s| s.name == "trunkline_web_unwritten_sign_outs_total").unwrap();
    assert_eq!(unwritten.value, trunkline_kit::metrics::Number::Whole(1));
}

/// Browsers keep one jar for all ports of a host.
#[test]
fn two_programs_on_one_machine_keep_their_sessions_apart() {
    let (one, two) = (World::new(), World::new());
    let (a, b) = (one.signed_in(Role::Viewer), two.signed_in(Role::Viewer));
    let jar = format!("{}; {}", field(&a), field(&b));
    for world in [&one, &two] {
        let browser = world.stranger().with("Cookie", &jar);
        assert_eq!(browser.get("/session").ok(200)["signed_in"], true);
        // What the other one was given is nothing here.
        let port = world.handle.address().port();
        let other = if port == a.address.port() { &b } else { &a };
        let taken = format!("trunkline-{port}={}", other.cookie.clone().unwrap());
        assert_eq!(world.stranger().with("Cookie", &taken).get("/session").ok(200)["signed_in"], false);
    }
}

fn field(client: &Client) -> String {
    client.cookie_field().trim_start_matches("Cookie: ").trim_end().to_owned()
}
