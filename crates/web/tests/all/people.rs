//! Signing in, users, tokens, aliases, filters, and the log of who did what.

use crate::client::Client;
use crate::world::{Made, PASSWORD, World};
use serde_json::json;
use trunkline_web::Mode;
use trunkline_web::auth::Role;

fn link_token(link: &str) -> String {
    link.split_once('#').unwrap().1.to_owned()
}

#[test]
fn the_first_link_makes_the_first_administrator() {
    let world = World::new();
    let mut client = world.stranger();
    let session = client.get("/session").ok(200);
    assert_eq!((&session["first_run"], &session["signed_in"]), (&true.into(), &false.into()));
    let link = world.handle.link().unwrap();
    assert!(link.starts_with(&format!("http://{}/link#", world.handle.address())), "{link}");
    let token = link_token(&link);
    assert_eq!(client.post("/session/link", &json!({"token": token})).ok(200)["kind"], "setup");
    client
        .post("/session/setup", &json!({"token": token, "name": "ann", "password": "short"}))
        .problem(400, "bad-parameter");
    let answer = client.post("/session/setup", &json!({"token": token, "name": "Ann", "password": PASSWORD}));
    let session = answer.ok(200);
    assert_eq!((&session["user"]["name"], &session["user"]["role"]), (&"ann".into(), &"administrator".into()));
    let set = answer.header("set-cookie");
    assert!(set.contains("HttpOnly") && set.contains("SameSite=Strict") && set.contains("Path=/"), "{set}");
    client.cookie = answer.cookie();
    client.csrf = session["csrf"].as_str().map(str::to_owned);
    assert_eq!(client.get("/session").ok(200)["first_run"], false);
    client
        .post("/session/setup", &json!({"token": token, "name": "eve", "password": PASSWORD}))
        .problem(400, "bad-link");
    assert_eq!(world.handle.link(), None);

    client.post("/session/password", &json!({"old": "wrong", "new": "another good one"})).problem(403, "bad-password");
    let changed = client.post("/session/password", &json!({"old": PASSWORD, "new": "another good one"}));
    assert_eq!(changed.status, 204);
    client.get("/users").problem(401, "signed-out");
    client.cookie = changed.cookie();
    client.csrf = client.get("/session").ok(200)["csrf"].as_str().map(str::to_owned);
    let out = client.delete("/session");
    assert_eq!((out.status, out.header("set-cookie").contains("Max-Age=0")), (204, true));
    client.get("/users").problem(401, "signed-out");
}

#[test]
fn a_demo_signs_in_by_its_link_once() {
    let world = World::made(Made { options: Box::new(|o| o.mode = Mode::Demo), ..Made::default() });
    let client = world.stranger();
    let token = link_token(&world.handle.link().unwrap());
    let answer = client.post("/session/link", &json!({"token": token}));
    assert_eq!(answer.ok(200)["kind"], "signed-in");
    assert!(answer.cookie().is_some());
    client.post("/session/link", &json!({"token": token})).problem(400, "bad-link");
    assert!(world.handle.link().is_some());
}

/// The data folder of a house may be looked at by `open`: that gives nobody anything there.
#[test]
fn what_a_demo_signs_in_is_nobody_in_the_house() {
    let data = tempfile::tempdir().unwrap();
    let path = data.path().to_owned();
    let at = |mode| {
        let path = path.clone();
        let options = Box::new(move |o: &mut trunkline_web::Options| (o.mode, o.data) = (mode, path));
        World::made(Made { options, ..Made::default() })
    };
    let opened = at(Mode::Open);
    let mut you = opened.stranger();
    let token = link_token(&opened.handle.link().unwrap());
    you.cookie = you.post("/session/link", &json!({"token": token})).cookie();
    let session = you.get("/session").ok(200);
    assert_eq!((&session["signed_in"], &session["first_run"]), (&true.into(), &false.into()));
    drop(opened);

    let house = at(Mode::Run);
    you.address = house.handle.address();
    let session = you.get("/session").ok(200);
    assert_eq!((&session["signed_in"], &session["first_run"]), (&false.into(), &true.into()));
    let link = house.handle.link().expect("nobody can sign in yet");
    assert_eq!(you.post("/session/link", &json!({"token": link_token(&link)})).ok(200)["kind"], "setup");
}

#[test]
fn users_come_and_go() {
    let world = World::new();
    let boss = world.signed_in(Role::Administrator);
    world.signed_in(Role::Engineer).get("/users").problem(403, "forbidden");
    let bob = json!({"name": "bob", "role": "support", "password": PASSWORD});
    assert_eq!(boss.post("/users", &bob).ok(201)["must_change_password"], true);
    boss.post("/users", &bob).problem(409, "conflict");
    boss.post("/users", &json!({"name": "b b", "role": "support"})).problem(400, "bad-parameter");
    boss.post("/users", &json!({"name": "x", "role": "root"})).problem(400, "bad-parameter");
    let mut client = world.stranger();
    client.post("/session", &json!({"name": "bob", "password": "not that one"})).problem(403, "bad-password");
    let signed_in = client.post("/session", &json!({"name": "bob", "password": PASSWORD}));
    assert_eq!(signed_in.ok(200)["user"]["must_change_password"], true);
    client.cookie = signed_in.cookie();
    client.csrf = signed_in.json()["csrf"].as_str().map(str::to_owned);
    client.get("/calls").problem(403, "forbidden");
    let link = boss.ask("POST", "/users/bob/link", None).ok(201);
    assert_eq!(link["path"], format!("/link#{}", link["token"].as_str().unwrap()));
    let looked = world.stranger().post("/session/link", &json!({"token": link["token"]})).ok(200);
    assert_eq!((&looked["kind"], &looked["name"]), (&"password".into(), &"bob".into()));
    world.stranger().post("/session/setup", &json!({"token": link["token"], "password": "my own password"})).ok(200);
    let locked = boss.ask("PATCH", "/users/bob", Some(br#"{"locked": true, "display_name": "Bob"}"#)).ok(200);
    assert_eq!((&locked["locked"], &locked["display_name"]), (&true.into(), &"Bob".into()));
    world
        .stranger()
        .post("/session", &json!({"name": "bob", "password": "my own password"}))
        .problem(403, "bad-password");
    boss.ask("PATCH", "/users/administrator", Some(br#"{"role": "viewer"}"#)).problem(409, "conflict");
    boss.delete("/users/bob").ok(204);
    boss.get("/users/bob").problem(404, "not-found");
    assert_eq!(boss.get("/users").ok(200)["users"].as_array().unwrap().len(), 2);
    let audit = boss.get("/audit?limit=2").ok(200);
    let next = audit["next"].as_str().unwrap();
    assert_eq!(audit["entries"][0]["action"], "user.remove");
    assert_eq!(boss.get(&format!("/audit?limit=2&cursor={next}")).ok(200)["entries"].as_array().unwrap().len(), 2);
}

#[test]
fn a_token_does_what_its_scopes_say() {
    let world = World::new();
    let support = world.signed_in(Role::Support);
    let made = support.post("/tokens", &json!({"name": "backup", "scopes": ["calls.read"]})).ok(201);
    let program = support.token(made["secret"].as_str().unwrap());
    let calls = program.get("/calls?limit=1").ok(200);
    assert!(calls["calls"][0]["from"].as_str().unwrap().contains('*'), "without numbers.read numbers are masked");
    program.get("/calls.csv").problem(403, "forbidden");
    program.post("/tokens", &json!({"name": "more", "scopes": ["calls.read"]})).problem(403, "forbidden");
    support.post("/tokens", &json!({"name": "x", "scopes": ["users.admin"]})).problem(400, "bad-parameter");
    support.post("/tokens", &json!({"name": "x", "scopes": ["root"]})).problem(400, "bad-parameter");
    assert_eq!(support.get("/tokens").ok(200)["tokens"].as_array().unwrap().len(), 1);
    let id = &made["token"]["id"];
    world.signed_in(Role::Engineer).delete(&format!("/tokens/{id}")).problem(404, "not-found");
    support.delete(&format!("/tokens/{id}")).ok(204);
    program.get("/calls").problem(401, "signed-out");
    world.stranger().token("tl_nonsense").get("/calls").problem(401, "signed-out");
}

#[test]
fn aliases_and_filters_are_kept() {
    let world = World::new();
    let (engineer, viewer) = (world.signed_in(Role::Engineer), world.signed_in(Role::Viewer));
    assert_eq!(engineer.put("/aliases/10.1.2.3/16", &json!({"name": "Core"})).ok(200)["match"], "10.1.0.0/16");
    engineer.put("/aliases/2001%3Adb8%3A%3A%2F32", &json!({"name": "Lab"})).ok(200);
    engineer.put("/aliases/nowhere", &json!({"name": "x"})).problem(400, "bad-parameter");
    viewer.put("/aliases/10.0.0.1", &json!({"name": "x"})).problem(403, "forbidden");
    assert_eq!(viewer.get("/aliases").ok(200)["aliases"].as_array().unwrap().len(), 2);
    engineer.delete("/aliases/10.1.0.0/16").ok(204);
    engineer.delete("/aliases/10.1.0.0/16").problem(404, "not-found");

    viewer.put("/filters/bad%20ones", &json!({"text": "mos<3"})).ok(204);
    viewer.put("/filters/x", &json!({"text": "mos<"})).problem(400, "bad-parameter");
    viewer.put("/filters/all", &json!({"text": "mos<3", "shared": true})).problem(403, "forbidden");
    engineer.put("/filters/all", &json!({"text": "mos<2", "shared": true})).ok(204);
    assert_eq!(viewer.get("/filters").ok(200)["filters"].as_array().unwrap().len(), 2);
    assert_eq!(engineer.get("/filters").ok(200)["filters"].as_array().unwrap().len(), 1);
    viewer.delete("/filters/bad%20ones").ok(204);
    viewer.delete("/filters/all?shared=true").problem(403, "forbidden");
    engineer.delete("/filters/all?shared=true").ok(204);
}

#[test]
fn guessing_is_held_off() {
    let world = World::new();
    let client = world.stranger();
    let guess = |client: &Client| client.post("/session", &json!({"name": "root", "password": "guess guess guess"}));
    let held = (0..40).map(|_| guess(&client)).find(|answer| answer.status == 429).unwrap();
    assert!(held.header("retry-after").parse::<u64>().unwrap() > 0);
    assert!(held.json()["retry_after_s"].as_u64().unwrap() > 0);
}
