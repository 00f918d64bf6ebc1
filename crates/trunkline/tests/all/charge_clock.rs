//! A charging node whose system's clock leaps while clients charge, by libfaketime: no session ends by it, nothing is
//! priced by another time, the ledger keeps its time, and is the sum of the answers.
//!
//! Test group: waits: for reservations to expire.

use crate::eventually::awaited;
use crate::gy;
use gy::{Client, Node};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};
use trunkline_charge::account::Entry;
use trunkline_commit::Folder;

const CLIENTS: u64 = 3;
/// Accounts of a client, one subscriber each.
const ACCOUNTS: u64 = 20;
const BALANCE: i64 = 900_000_000;
/// How far it leaps, in seconds.
const LEAPS: [i64; 6] = [31_536_000, -31_536_000, 3600, -3600, 120, -120];
/// Where Debian has it.
const LIBRARIES: [&str; 2] = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"];

fn library() -> Option<String> {
    let there = LIBRARIES.map(|folder| format!("{folder}/faketime/libfaketime.so.1"));
    there.into_iter().find(|path| Path::new(path).exists())
}

/// Sets the system's clock of a process, at once.
fn set(at: &Path, by: i64) {
    let new = at.with_extension("new");
    std::fs::write(&new, format!("{by:+}\n")).unwrap();
    std::fs::rename(new, at).unwrap();
}

fn seconds() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64
}

fn start(folder: &Path, library: &str, offset: &Path) -> Node {
    let environment = [
        ("LD_PRELOAD", library),
        ("FAKETIME_TIMESTAMP_FILE", offset.to_str().unwrap()),
        ("FAKETIME_NO_CACHE", "1"),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
    ];
    Node::start_as(folder, &[], "operated over", &environment)
}

fn troubles(node: &Node) -> String {
    node.status().map(|status| status["troubles"].to_string()).unwrap_or_default()
}

/// Waits until its troubles are so.
fn tells(node: &Node, what: &str, is_so: impl Fn(&str) -> bool) {
    awaited(what, || Some(troubles(node)).filter(|troubles| is_so(troubles)).ok_or_else(|| troubles(node)));
}

#[test]
fn leaps_of_the_clock_end_nothing_and_price_nothing() {
    let Some(library) = library() else {
        eprintln!("SKIPPED: no libfaketime here; scripts/setup test");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let offset = folder.path().join("offset");
    set(&offset, 0);
    let (begun, ends) = (seconds(), AtomicBool::new(false));
    let mut node = start(folder.path(), &library, &offset);
    node.fill(CLIENTS * ACCOUNTS, BALANCE);
    let address = node.address;
    let clients: Vec<Client> = std::thread::scope(|scope| {
        let client = |number: u64| {
            let ends = &ends;
            scope.spawn(move || {
                let mut client = Client::new(address, number, number * ACCOUNTS + 1..(number + 1) * ACCOUNTS + 1);
                while !ends.load(Ordering::Relaxed) {
                    client.round();
                }
                client.finish();
                client
            })
        };
        let clients: Vec<_> = (0..CLIENTS).map(client).collect();
        for by in LEAPS {
            set(&offset, by);
            tells(&node, &format!("a leap by {by}"), |troubles| troubles.contains("the system's clock leapt"));
            set(&offset, 0);
            tells(&node, &format!("no trouble after a leap by {by}"), |troubles| troubles == "[]");
        }
        ends.store(true, Ordering::Relaxed);
        clients.into_iter().map(|client| client.join().expect("a client")).collect()
    });
    for (account, spent) in clients.iter().flat_map(Client::spent) {
        let shown = node.json(&["show", &account.to_string()]);
        assert_eq!(
            (&shown["balance"], &shown["reserved"]),
            (&(BALANCE - spent).into(), &0.into()),
            "account {account}"
        );
    }
    assert_eq!(node.charged_octets(), clients.iter().map(Client::octets).sum::<u64>());
    node.stop();
    let (ended, mut entries) = (seconds(), 0);
    let disk = Folder::beside(&folder.path().join("charge/ledger")).unwrap();
    let see = |entry: Entry| {
        assert!((begun..=ended + 1).contains(&entry.at), "entry {} is of {}, not {begun}", entry.sequence, entry.at);
        entries += 1;
        std::ops::ControlFlow::Continue(())
    };
    trunkline_charge::ledger::read(&disk, 1, see).unwrap();
    assert!(entries > 1000, "{entries} entries");
    println!("{entries} entries, all of their time");

    // It begins with a clock that is an hour late.
    set(&offset, -3600);
    let mut node = start(folder.path(), &library, &offset);
    assert!(troubles(&node).contains("ahead of the system's clock"), "{}", troubles(&node));
    let mut client = Client::new(node.address, CLIENTS, 1..2);
    client.round();
    client.finish();
    assert_eq!(node.json(&["audit"])["differences"].as_array().map(Vec::len), Some(0));
    node.stop();
}
