//! The machine behind the web: its disk keeps room for the capture, and where its files are is told to nobody.

use crate::client::{Client, parse, text};
use crate::eventually::eventually;
use crate::world::{HOME, Made, PCAP, World, call};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use trunkline_web::auth::Role;
use trunkline_web::room::{Disk, Disks};

const MIB: u64 = 1 << 20;
/// Free of a disk of 1000 MiB, of which 50 are the reserve.
const PLENTY: u64 = 900 * MIB;
const TOO_FEW: u64 = 49 * MIB;

fn world() -> (World, Arc<AtomicU64>) {
    let free = Arc::new(AtomicU64::new(PLENTY));
    let seen = Arc::clone(&free);
    let disks = Disks::looked_at_by(move |_| Ok(Disk { size: 1000 * MIB, free: seen.load(Ordering::SeqCst) }));
    (World::made(Made { options: Box::new(|o| o.disks = disks), ..Made::default() }), free)
}

fn files(world: &World) -> usize {
    std::fs::read_dir(world.handle.spool()).unwrap().count()
}

fn refused(world: &World) -> f64 {
    world.metric("trunkline_web_disk_refused_total")
}

fn begin(client: &Client, filter: &str) -> crate::client::Answer {
    let ask = json!({"from": "2026-11-19T00:00:00Z", "to": "2026-11-19T00:01:00Z", "filter": filter});
    client.post("/packets/extractions", &ask)
}

fn ends(client: &Client, path: &str) -> Value {
    let mut shown = Value::Null;
    eventually("it is over", || {
        shown = client.get(path).ok(200);
        shown["state"] != "running"
    });
    shown
}

#[test]
fn an_extraction_leaves_the_capture_its_room() {
    let (world, free) = world();
    let engineer = world.signed_in(Role::Engineer);
    assert_eq!(world.metric("trunkline_web_disk_room_octets"), (850 * MIB) as f64);
    let id = begin(&engineer, "endless").ok(202)["id"].as_str().unwrap().to_owned();
    let path = format!("/packets/extractions/{id}");
    eventually("it writes", || engineer.get(&path).ok(200)["octets"].as_u64() > Some(2 * MIB));
    free.store(TOO_FEW, Ordering::SeqCst);
    let ended = ends(&engineer, &path);
    assert!(ended["state"] == "failed" && ended["error"].as_str().unwrap().contains("disk"), "{ended}");
    assert_eq!((files(&world), refused(&world)), (0, 1.0));
    let problem = begin(&engineer, "").problem(507, "no-room");
    assert!(problem["detail"].as_str().unwrap().contains("web.keep-free"), "{problem}");
    assert_eq!((files(&world), refused(&world)), (0, 2.0));
    free.store(PLENTY, Ordering::SeqCst);
    let id = begin(&engineer, "").ok(202)["id"].as_str().unwrap().to_owned();
    assert_eq!(ends(&engineer, &format!("/packets/extractions/{id}"))["state"], "done");
}

#[test]
fn a_capture_that_is_brought_leaves_it_too() {
    let (world, free) = world();
    let engineer = world.signed_in(Role::Engineer);
    let bring = engineer.with("Content-Type", "application/octet-stream");
    free.store(TOO_FEW, Ordering::SeqCst);
    bring.ask("POST", "/captures?name=x", Some(PCAP)).problem(507, "no-room");
    // What is known to be too large for the room does not begin.
    free.store(52 * MIB, Ordering::SeqCst);
    let head = |octets: u64| {
        let (host, cookie, csrf) = (engineer.address, engineer.cookie_field(), engineer.csrf.clone().unwrap());
        format!(
            "POST /api/v1/captures?name=x HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{cookie}\
             X-CSRF-Token: {csrf}\r\nContent-Length: {octets}\r\n\r\n"
        )
    };
    let answer = crate::client::raw(engineer.address, head(3 * MIB).as_bytes());
    assert_eq!(parse(&answer, false).unwrap().status, 507, "{}", text(&answer));
    // Others take the room while it comes.
    free.store(PLENTY, Ordering::SeqCst);
    let mut stream = TcpStream::connect(engineer.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream.write_all(head(64 * MIB).as_bytes()).unwrap();
    stream.write_all(&vec![0; 3 * MIB as usize]).unwrap();
    eventually("it is written", || files(&world) == 1);
    free.store(TOO_FEW, Ordering::SeqCst);
    let _ = stream.write_all(&vec![0; 3 * MIB as usize]);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert_eq!(parse(&answer, false).unwrap().status, 507, "{}", text(&answer));
    eventually("what came is removed", || files(&world) == 0);
    assert_eq!((refused(&world), engineer.get("/captures").ok(200)["captures"].as_array().unwrap().len()), (3.0, 0));
    // Reading writes rows: it ends as well.
    free.store(PLENTY, Ordering::SeqCst);
    let id = bring.ask("POST", "/captures?name=slow", Some(PCAP)).ok(202)["id"].as_str().unwrap().to_owned();
    let path = format!("/captures/{id}");
    assert_eq!(engineer.get(&path).ok(200)["state"], "running");
    free.store(TOO_FEW, Ordering::SeqCst);
    let ended = ends(&engineer, &path);
    assert!(ended["state"] == "failed" && ended["error"].as_str().unwrap().contains("disk"), "{ended}");
    assert_eq!((files(&world), refused(&world)), (0, 4.0));
}

#[test]
fn nobody_is_told_where_files_are() {
    let (world, _) = world();
    let (id, other, rejected) = (call(1).id, call(8).id, call(3).id);
    let engineer = world.signed_in(Role::Engineer);
    let bring = engineer.with("Content-Type", "application/octet-stream");
    let extraction = begin(&engineer, "").ok(202)["id"].as_str().unwrap().to_owned();
    let extraction = format!("/packets/extractions/{extraction}");
    assert_eq!(ends(&engineer, &extraction)["faults"][0], "x.pcapng: at octet 7: cut short");
    let mut captures = Vec::new();
    for body in [PCAP, &b"no capture"[..]] {
        let id = bring.ask("POST", "/captures?name=x", Some(body)).ok(202)["id"].as_str().unwrap().to_owned();
        captures.push(format!("/captures/{id}"));
        ends(&engineer, &captures[captures.len() - 1]);
    }
    eventually("a second was seen", || !engineer.get("/system").ok(200)["live"].is_null());
    let data = world.folder.path().to_str().unwrap();
    for role in [Role::Viewer, Role::Engineer, Role::Administrator] {
        let client = if role == Role::Engineer { engineer.clone() } else { world.signed_in(role) };
        let mut paths = vec![
            "/calls?limit=1000".to_owned(),
            format!("/calls/{id}"),
            format!("/calls/{other}/messages"),
            format!("/calls/{rejected}/pcap"),
            "/calls.csv".to_owned(),
            "/system".to_owned(),
            "/cache".to_owned(),
            "/charge".to_owned(),
            "/losses".to_owned(),
            "/packets/segments".to_owned(),
            "/packets/timeline".to_owned(),
            "/captures".to_owned(),
            "/packets/extractions".to_owned(),
            "//metrics".to_owned(),
            "//healthz".to_owned(),
            extraction.clone(),
        ];
        paths.extend(captures.clone());
        for path in &paths {
            let body = text(&client.get(path).body);
            for part in [HOME, "my captures", "/srv", data] {
                assert!(!body.contains(part), "{role} {path}: {body}");
            }
        }
        let system = client.get("/system").ok(200);
        assert_eq!(system["live"]["volumes"][0]["path"], "disk1");
        assert_eq!(system["live"]["unhealthy"][0], "disk1 is slow");
        if role != Role::Viewer {
            assert_eq!(client.get(&format!("/calls/{id}")).ok(200)["files"][0], "a.pcap");
            let gone = client.get(&format!("/calls/{other}/messages")).problem(404, "not-found");
            assert_eq!(gone["detail"], "a.pcap is gone");
            let gone = client.get(&format!("/calls/{rejected}/pcap")).problem(404, "not-found");
            assert_eq!(gone["detail"], "'a.pcap' is gone.");
        }
    }
}
