//! Extractions and captures: begun, looked at, cancelled, bounded.

use crate::client::Client;
use crate::eventually::{awaited, eventually};
use crate::world::{DAY, Made, PCAP, World};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;
use trunkline_web::auth::Role;

/// Looks until it is over.
fn over(client: &Client, path: &str) -> Value {
    awaited("it is over", || Some(client.get(path).ok(200)).filter(|shown| shown["state"] != "running").ok_or(path))
}

fn ask() -> Value {
    json!({"from": "2026-11-19T00:00:00Z", "to": "2026-11-19T00:01:00Z", "filter": "host 10.1.2.3"})
}

#[test]
fn packets_are_extracted_and_downloaded() {
    let world = World::new();
    let engineer = world.signed_in(Role::Engineer);
    let id = engineer.post("/packets/extractions", &ask()).ok(202)["id"].as_str().unwrap().to_owned();
    let path = format!("/packets/extractions/{id}");
    let done = over(&engineer, &path);
    assert_eq!((&done["state"], &done["packets"], &done["octets"]), (&"done".into(), &7.into(), &PCAP.len().into()));
    assert_eq!(world.packets.asked.lock().unwrap()[0].from_ns, DAY);
    let pcap = engineer.get(&format!("{path}/pcap"));
    assert_eq!((pcap.status, pcap.body.as_slice()), (200, PCAP));
    assert!(pcap.header("content-disposition").contains("packets-2026-11-19T000000.pcapng"));
    assert_eq!(engineer.get("/packets/extractions").ok(200)["extractions"].as_array().unwrap().len(), 1);
    let other = world.signed_in(Role::Administrator);
    other.get(&path).problem(404, "not-found");
    other.get(&format!("{path}/pcap")).problem(404, "not-found");
    assert_eq!(other.get("/packets/extractions").ok(200)["extractions"].as_array().unwrap().len(), 0);
    engineer.delete(&path).ok(204);
    engineer.get(&path).problem(404, "not-found");
    assert_eq!(std::fs::read_dir(world.handle.spool()).unwrap().count(), 0);

    let wrong =
        engineer.post("/packets/extractions", &json!({"from": "2026-11-19", "to": "2026-11-20", "filter": "hots x"}));
    assert_eq!(wrong.problem(400, "bad-parameter")["parameter"], "filter");
    engineer
        .post("/packets/extractions", &json!({"from": "2026-11-20", "to": "2026-11-19"}))
        .problem(400, "bad-parameter");
    engineer.post("/packets/extractions", &json!({"from": "2026-11-20"})).problem(400, "bad-parameter");
    world.signed_in(Role::Support).post("/packets/extractions", &ask()).problem(403, "forbidden");
}

#[test]
fn extractions_are_bounded_and_can_be_ended() {
    let world = World::new();
    let engineer = world.signed_in(Role::Engineer);
    world.packets.hold.store(true, Ordering::Relaxed);
    let begun: Vec<_> = (0..5).map(|_| engineer.post("/packets/extractions", &ask())).collect();
    let taken: Vec<_> = begun.iter().filter(|a| a.status == 202).collect();
    assert_eq!(taken.len(), 4);
    begun[4].problem(429, "too-many");
    let first = format!("/packets/extractions/{}", taken[0].json()["id"].as_str().unwrap());
    let running = engineer.get(&first).ok(200);
    assert_eq!(running["state"], "running");
    engineer.get(&format!("{first}/pcap")).problem(409, "conflict");
    for answer in &taken {
        engineer.delete(&format!("/packets/extractions/{}", answer.json()["id"].as_str().unwrap())).ok(204);
    }
    world.packets.hold.store(false, Ordering::Relaxed);
    engineer.post("/packets/extractions", &ask()).ok(202);
}

#[test]
fn a_capture_is_brought_and_read() {
    let world = World::new();
    let engineer = world.signed_in(Role::Engineer).with("Content-Type", "application/octet-stream");
    let mut large = PCAP.to_vec();
    large.resize(300_000, 0);
    let id = engineer.ask("POST", "/captures?name=my%20capture.pcapng", Some(&large)).ok(202)["id"].clone();
    let read = over(&engineer, &format!("/captures/{}", id.as_str().unwrap()));
    assert_eq!(
        (&read["state"], &read["calls"], &read["name"]),
        (&"done".into(), &2.into(), &"my capture.pcapng".into())
    );
    assert_eq!(read["total_octets"], 300_000);
    let id = engineer.ask("POST", "/captures?name=x.txt", Some(b"no capture")).ok(202)["id"].clone();
    let failed = over(&engineer, &format!("/captures/{}", id.as_str().unwrap()));
    assert_eq!((&failed["state"], &failed["error"]), (&"failed".into(), &"x.txt: x.txt is no capture.".into()));
    engineer.ask("POST", "/captures?name=", Some(b"x")).problem(400, "bad-parameter");
    engineer.ask("POST", "/captures", Some(b"x")).problem(400, "bad-parameter");
    engineer.ask("POST", "/captures?name=empty", Some(b"")).problem(400, "bad-parameter");
    assert_eq!(engineer.get("/captures").ok(200)["captures"].as_array().unwrap().len(), 2);
    engineer.delete(&format!("/captures/{}", id.as_str().unwrap())).ok(204);
    world.signed_in(Role::Support).ask("POST", "/captures?name=x", Some(b"x")).problem(403, "forbidden");
}

#[test]
fn what_does_not_come_whole_is_forgotten() {
    let world = World::new();
    let engineer = world.signed_in(Role::Engineer);
    let head = format!(
        "POST /api/v1/captures?name=x HTTP/1.1\r\nHost: {}\r\n{}X-CSRF-Token: {}\r\nContent-Length: 1000\r\n\r\npart",
        engineer.address,
        engineer.cookie_field(),
        engineer.csrf.clone().unwrap()
    );
    let mut stream = std::net::TcpStream::connect(engineer.address).unwrap();
    std::io::Write::write_all(&mut stream, head.as_bytes()).unwrap();
    let files = || std::fs::read_dir(world.handle.spool()).unwrap().count();
    eventually("it comes", || files() == 1);
    drop(stream);
    eventually("it is forgotten", || files() == 0);
    assert_eq!(engineer.get("/captures").ok(200)["captures"].as_array().unwrap().len(), 0);
}

#[test]
fn what_is_made_belongs_to_a_user_and_not_to_a_name() {
    let world = World::new();
    let (boss, engineer) = (world.signed_in(Role::Administrator), world.signed_in(Role::Engineer));
    let made =
        engineer.post("/tokens", &json!({"name": "t", "scopes": ["calls.read", "numbers.read", "packets.extract"]}));
    let program = engineer.token(made.ok(201)["secret"].as_str().unwrap());
    let id = program.post("/packets/extractions", &ask()).ok(202)["id"].as_str().unwrap().to_owned();
    let path = format!("/packets/extractions/{id}");
    assert_eq!(over(&engineer, &path)["state"], "done");
    assert_eq!(program.get("/packets/extractions").ok(200)["extractions"].as_array().unwrap().len(), 1);
    let bring = engineer.with("Content-Type", "application/octet-stream");
    let capture = bring.ask("POST", "/captures?name=x", Some(PCAP)).ok(202)["id"].as_str().unwrap().to_owned();

    boss.delete("/users/engineer").ok(204);
    let namesake = world.signed_in(Role::Engineer);
    for (list, what) in [("/packets/extractions", "extractions"), ("/captures", "captures")] {
        assert_eq!(namesake.get(list).ok(200)[what].as_array().unwrap().len(), 0, "{list}");
    }
    namesake.get(&path).problem(404, "not-found");
    namesake.get(&format!("{path}/pcap")).problem(404, "not-found");
    namesake.delete(&path).problem(404, "not-found");
    namesake.get(&format!("/captures/{capture}")).problem(404, "not-found");
    program.get(&path).problem(401, "signed-out");
}

#[test]
fn another_process_on_the_same_folder_leaves_what_is_not_its_own() {
    let world = World::new();
    let engineer = world.signed_in(Role::Engineer);
    let id = engineer.post("/packets/extractions", &ask()).ok(202)["id"].as_str().unwrap().to_owned();
    let path = format!("/packets/extractions/{id}");
    over(&engineer, &path);
    let all = world.folder.path().join("spool/web");
    std::fs::create_dir(all.join("dead")).unwrap();
    std::fs::write(all.join("dead/extraction-1"), b"x").unwrap();
    let other = world.another();
    assert!(!all.join("dead").exists(), "nobody holds it");
    assert_ne!(other.spool(), world.handle.spool());
    let pcap = engineer.get(&format!("{path}/pcap"));
    assert_eq!((pcap.status, pcap.body.as_slice()), (200, PCAP));
    let others = other.spool().to_owned();
    other.stop();
    assert!(!others.exists(), "it goes with its process");
    assert_eq!(engineer.get(&format!("{path}/pcap")).body, PCAP);
    let ours = world.handle.spool().to_owned();
    world.handle.stop();
    assert!(!ours.exists());
    assert_eq!(std::fs::read_dir(all).unwrap().count(), 0);
}

#[test]
fn captures_are_not_taken_where_that_is_not_allowed() {
    let world = World::made(Made { options: Box::new(|o| o.uploads = false), ..Made::default() });
    let engineer = world.signed_in(Role::Engineer);
    assert_eq!(engineer.get("/session").ok(200)["uploads"], false);
    engineer.ask("POST", "/captures?name=x", Some(b"x")).problem(403, "forbidden");
}
