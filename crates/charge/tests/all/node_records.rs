//! A node whose record files cannot be written: the ledger keeps everything, and in the end no session begins.
//!
//! Test group: waits: for files of records to be closed.

use crate::eventually::awaited;
use crate::served;
use serde_json::json;
use served::disk::Failing;
use served::{Ccr, Client, PLAN, imsi, local};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use trunkline_charge::cdr::{Cuts, Node, table};
use trunkline_charge::gy::Terms;
use trunkline_charge::job::records::{Form, Settings, Setup};
use trunkline_charge::job::{Opened, Peering, Setup as NodeSetup};
use trunkline_charge::session::Limits;
use trunkline_charge::trust::Trust;
use trunkline_commit::{Folder, Options};
use trunkline_net::Listen;
use trunkline_wire::cdr::file::{Closure, Lost, Records};
use trunkline_wire::diameter::enumerated::{FailureHandling, RequestType};

fn start(folder: &Path, disk: &Arc<Failing>) -> served::World {
    let local = local();
    let (host, realm) = (local.host.clone(), local.realm.clone());
    let terms = Terms { host, realm, session_failover: false, failure_handling: FailureHandling::Terminate };
    let listens = vec![
        Listen::Tcp { address: "127.0.0.1:0".parse().unwrap(), tls: None },
        Listen::Unix { path: folder.join("control.sock"), mode: 0o600 },
    ];
    let options = trunkline_net::Options { threads: 1, ..trunkline_net::Options::default() };
    let opened =
        Opened::new(NodeSetup { local, terms, listens, options, peering: Peering::default(), trust: Trust::default() })
            .unwrap();
    let settings = Settings {
        node: Node::new("ocs", "192.0.2.1".parse().unwrap()),
        forms: vec![Form::Ber, Form::Csv],
        octets: 1 << 20,
        records: 1000,
        seconds: 900,
        flush_s: 1,
        keep_s: None,
        table_head: table::head(),
        private: None,
    };
    let records = Setup { disk: Arc::clone(disk), settings, cuts: Cuts::default(), behind_max: 8 };
    let log = Options { segment_octets: 4 << 20, ..Options::default() };
    let ledger = Arc::new(Folder::open(&folder.join("ledger")).unwrap());
    let (core, written) = trunkline_charge::ledger::open(ledger, log, Limits::default()).unwrap();
    let node = opened.start_with(core, written, log, None, Some(records)).unwrap();
    let address = node.addresses()[0].unwrap();
    served::World { node, folder: folder.to_path_buf(), address, gtpp: None }
}

fn ccr<'a>(session: &'a str, number: u32, kind: RequestType, imsi: &'a str) -> Ccr<'a> {
    let used = (kind != RequestType::Initial).then_some(1024);
    Ccr { session, number, kind, imsi, used, asks: kind != RequestType::Termination }
}

/// Looks at the status until it is as it should be.
fn wait(world: &served::World, what: &str, mut is: impl FnMut(&serde_json::Value) -> bool) {
    awaited(what, || {
        let records = world.order(&json!({ "do": "status" }))["records"].clone();
        if is(&records) { Ok(()) } else { Err(records) }
    });
}

#[test]
fn sessions_begin_only_while_records_can_follow() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Failing::open(&folder.path().join("cdr"));
    disk.fills.store(true, Ordering::SeqCst);
    let mut world = start(folder.path(), &disk);
    world.order(&json!({ "do": "plan", "text": PLAN }));
    world.fill(1, 1_000_000);
    let (mut client, imsi) = (Client::new(world.address, "pgw.example.org"), imsi(1));
    assert_eq!(client.charge(&ccr("s;1", 0, RequestType::Initial, &imsi)).0, 2001);
    assert_eq!(client.charge(&ccr("s;0", 0, RequestType::Initial, &imsi)).0, 2001);
    assert_eq!(client.charge(&ccr("s;9", 0, RequestType::Initial, &imsi)).0, 2001);
    assert_eq!(client.charge(&ccr("s;0", 1, RequestType::Termination, &imsi)).0, 2001);
    wait(&world, "it is written", |records| records["records"] == 1 && records["behind"] == 0);
    disk.full.store(true, Ordering::SeqCst);
    // What waits for the disk from now on.
    assert_eq!(client.charge(&ccr("s;9", 1, RequestType::Termination, &imsi)).0, 2001);
    let mut number = 1;
    wait(&world, "it holds", |records| {
        let holds = records["holds"] == true;
        if !holds {
            assert_eq!(client.charge(&ccr("s;1", number, RequestType::Update, &imsi)).0, 2001, "what is open goes on");
            number += 1;
        }
        holds
    });
    assert_eq!(client.charge(&ccr("s;2", 0, RequestType::Initial, &imsi)).0, 3004, "nothing new begins");
    assert_eq!(client.charge(&ccr("s;1", number, RequestType::Termination, &imsi)).0, 2001);
    wait(&world, "it says why", |records| records["failure"].as_str().is_some_and(|why| why.contains("space")));
    disk.full.store(false, Ordering::SeqCst);
    wait(&world, "it has caught up", |records| records["holds"] == false && records["failure"].is_null());
    assert_eq!(client.charge(&ccr("s;2", 0, RequestType::Initial, &imsi)).0, 2001);
    assert_eq!(client.charge(&ccr("s;2", 1, RequestType::Termination, &imsi)).0, 2001);
    wait(&world, "it goes on", |records| records["records"] == 4 && records["behind"] == 0);
    world.node.stop().unwrap();
    drop((world, disk));
    let (mut octets, mut closures) = (0, Vec::new());
    for entry in std::fs::read_dir(folder.path().join("cdr")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "ber") {
            let file = std::fs::read(path).unwrap();
            let header = Records::check(&file).unwrap();
            assert_eq!(header.lost, Lost::None);
            closures.push(header.closure);
            for record in Records::new(&file, &header) {
                let (up, down) = trunkline_wire::cdr::PgwRecord::read(record.unwrap().1).unwrap().octets();
                octets += up + down;
            }
        }
    }
    assert_eq!(octets, 1024 * (u64::from(number) + 3));
    assert!(closures.contains(&Closure::FileSystemFull), "the file that could not be written tells: {closures:?}");
}

#[test]
fn a_node_whose_records_thread_panics_ends() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Failing::open(&folder.path().join("cdr"));
    disk.fills.store(true, Ordering::SeqCst);
    let mut world = start(folder.path(), &disk);
    assert_eq!((world.node.failure(), world.node.troubles()), (None, vec![]));
    world.order(&json!({ "do": "plan", "text": PLAN }));
    world.fill(1, 1_000_000);
    disk.panics.store(true, Ordering::SeqCst);
    let (mut client, imsi) = (Client::new(world.address, "pgw.example.org"), imsi(1));
    assert_eq!(client.charge(&ccr("s;1", 0, RequestType::Initial, &imsi)).0, 2001);
    assert_eq!(client.charge(&ccr("s;1", 1, RequestType::Termination, &imsi)).0, 2001);
    let why = awaited("it is noticed", || world.node.failure().ok_or("it goes on"));
    assert_eq!(why, "a thread of the node has failed");
    world.node.stop().unwrap();
}
