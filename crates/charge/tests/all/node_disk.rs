//! A node whose disk is full, and one whose disk fails.
//!
//! Test group: waits: for a disk that is full.

use crate::eventually::PATIENCE;
use crate::served;
use serde_json::json;
use served::disk::Failing;
use served::{Ccr, Client, World, imsi, start, start_on};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;
use trunkline_commit::Options;
use trunkline_wire::diameter::enumerated::RequestType;

const OCTETS: u64 = 10 << 10;

fn ccr<'a>(number: u32, kind: RequestType, imsi: &'a str) -> Ccr<'a> {
    let used = (kind != RequestType::Initial).then_some(OCTETS);
    Ccr { session: "s;1", number, kind, imsi, used, asks: kind != RequestType::Termination }
}

/// A node on such a disk, and a client whose session has begun.
fn begin(folder: &Path, options: Options) -> (World, Arc<Failing>, Client, String) {
    let disk = Failing::open(&folder.join("ledger"));
    let world = start_on(folder, Arc::clone(&disk), options, |_| {});
    world.fill(1, 1_000_000);
    let (mut client, imsi) = (Client::new(world.address, "pgw.example.org"), imsi(1));
    assert_eq!(client.charge(&ccr(0, RequestType::Initial, &imsi)).0, 2001);
    (world, disk, client, imsi)
}

#[test]
fn without_room_nothing_is_granted_and_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { segment_octets: 64 << 10, waiting_octets: 64 << 10 };
    let (mut world, disk, mut client, imsi) = begin(folder.path(), options);
    disk.full.store(true, Ordering::SeqCst);
    // Each request is repeated until it is answered with success: what waits for the disk is not answered at all.
    let (mut number, mut busy, mut charged) = (1, 0, 0);
    let until = Instant::now() + PATIENCE;
    while busy < 20 {
        assert!(Instant::now() < until, "the disk is never full");
        let octets = client.ccr(&ccr(number, RequestType::Update, &imsi));
        client.send(&octets);
        // What is decided before the disk is full waits until there is room; the next one is refused at once.
        let answer = if charged > 0 && busy == 0 && client.is_silent() { break } else { client.receive() };
        match served::read(&answer.expect("an answer")).0 {
            2001 => (number, charged) = (number + 1, charged + 1),
            3004 => busy += 1,
            other => panic!("{other}"),
        }
    }
    let mut other = Client::new(world.address, "other.example.org");
    let refused = Ccr { session: "s;2", ..ccr(0, RequestType::Initial, &imsi) };
    assert_eq!(other.charge(&refused).0, 3004, "nothing new begins");
    let order = world.order(&json!({ "do": "top-up", "account": 1, "amount": 1 }));
    assert!(order["error"].as_str().is_some_and(|why| why.contains("behind or full")), "{order}");
    disk.full.store(false, Ordering::SeqCst);
    // What waited is answered, once there is room.
    let mut other = Client::new(world.address, "pgw.example.org");
    let octets = other.ccr(&ccr(number, RequestType::Update, &imsi));
    while served::read(&other.ask(&octets)).0 != 2001 {
        assert!(Instant::now() < until, "it does not go on");
    }
    charged += 1;
    assert_eq!(world.balance(1).0, 1_000_000 - charged * 10);
    world.node.stop().unwrap();
    drop((world, disk));
    let world = start(folder.path(), |_| {});
    assert_eq!(world.balance(1).0, 1_000_000 - charged * 10);
}

#[test]
fn when_a_write_fails_nothing_more_is_answered() {
    let folder = tempfile::tempdir().unwrap();
    let (mut world, disk, mut client, imsi) = begin(folder.path(), Options::default());
    disk.broken.store(true, Ordering::SeqCst);
    let octets = client.ccr(&ccr(1, RequestType::Update, &imsi));
    client.send(&octets);
    assert!(client.is_silent(), "an answer that no disk has");
    assert!(world.node.failure().is_some_and(|why| why.contains("the disk is gone")));
    let mut other = Client::new(world.address, "other.example.org");
    assert_eq!(other.charge(&Ccr { session: "s;2", ..ccr(0, RequestType::Initial, &imsi) }).0, 3004);
    // It ends though an answer can never be given.
    world.node.stop().unwrap();
    drop((world, disk, client, other));
    // What was told before is there, and what was not is asked again.
    let world = start(folder.path(), |_| {});
    assert_eq!(world.balance(1).0, 1_000_000);
    let mut client = Client::new(world.address, "pgw.example.org");
    assert_eq!(served::read(&client.ask(&octets)).0, 2001);
    assert_eq!(world.balance(1).0, 1_000_000 - 10);
}
