//! A charging node that is killed again and again while clients charge, each message doubled by chance: at the end the
//! ledger is the sum of the answers that were given, to the octet, and the record files are the ledger.
//!
//! `TRUNKLINE_KILLS=300 cargo test -p trunkline --test all charge_kills::` for the long run.
//!
//! Test group: loads: kills a node under load.

use crate::gy;
use gy::{Client, Node, Recorded, imsi};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use trunkline_kit::random::Random;

/// Kills, unless the environment says how many.
const KILLS: u64 = 12;
const CLIENTS: u64 = 4;
/// Accounts of a client, one subscriber each.
const ACCOUNTS: u64 = 25;
const BALANCE: i64 = 900_000_000;
/// Records are cut and files are closed so often that kills meet them.
const CDR: [&str; 6] = ["--cdr-cut-volume", "3 MiB", "--cdr-file-records", "300", "--cdr-flush", "1"];

#[test]
#[expect(clippy::disallowed_methods, reason = "it is killed at a time that nothing tells of")]
fn nothing_is_lost_and_nothing_counted_twice() {
    let kills = std::env::var("TRUNKLINE_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(KILLS);
    let folder = tempfile::tempdir().unwrap();
    let mut node = Node::start_with(folder.path(), &CDR);
    node.fill(CLIENTS * ACCOUNTS, BALANCE);
    let (address, ends) = (node.address, Arc::new(AtomicBool::new(false)));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let ends = Arc::clone(&ends);
            std::thread::spawn(move || {
                let accounts = client * ACCOUNTS + 1..(client + 1) * ACCOUNTS + 1;
                let mut client = Client::new(address, client, accounts);
                while !ends.load(Ordering::Relaxed) {
                    client.round();
                }
                client.finish();
                client
            })
        })
        .collect();
    let mut random = Random::new(20_261_123, 0);
    for _ in 0..kills {
        std::thread::sleep(Duration::from_millis(30 + u64::from(random.below(300))));
        node.kill();
        node = Node::start_with(folder.path(), &CDR);
    }
    ends.store(true, Ordering::Relaxed);
    let begun = Instant::now();
    let clients: Vec<Client> = clients.into_iter().map(|client| client.join().expect("a client")).collect();
    assert!(begun.elapsed() < Duration::from_secs(60), "clients end when the node stays");
    let (mut requests, mut copies, mut resent) = (0, 0, 0);
    for client in &clients {
        (requests, copies, resent) = (requests + client.answered, copies + client.copies, resent + client.resent);
        for (account, spent) in client.spent() {
            let shown = node.json(&["show", &account.to_string()]);
            assert_eq!(shown["balance"], BALANCE - spent, "account {account}, whose IMSI is {}", imsi(account));
            assert_eq!(shown["reserved"], 0, "account {account}");
        }
    }
    assert!(copies > 0 && resent > 0, "{requests} requests, {copies} copies, {resent} sent again after a kill");
    let octets: u64 = clients.iter().map(Client::octets).sum();
    assert_eq!(node.charged_octets(), octets, "the ledger has every octet once");
    let audit = node.json(&["audit"]);
    assert_eq!(audit["differences"].as_array().map(Vec::len), Some(0), "{audit}");
    node.stop();
    let recorded = Recorded::read(&folder.path().join("charge/cdr"));
    recorded.check();
    assert_eq!(recorded.octets(), (octets, octets), "records in BER, and in the table, have every octet once");
    let spent = clients.iter().flat_map(Client::spent).filter(|(_, spent)| *spent != 0).collect();
    assert_eq!(recorded.money(), spent, "and what each account paid");
    let begun: u64 = clients.iter().map(Client::begun).sum();
    assert_eq!(recorded.sessions_ended(), begun, "each session ended once");
    let (records, files) = (recorded.records(), recorded.files());
    assert!(records > begun && files > 1, "{records} records of {begun} sessions in {files} files");
    println!("{records} records in {files} files, {begun} sessions");
    println!("{kills} kills: {requests} requests, {copies} copies, {resent} sent again, {octets} octets");
}
