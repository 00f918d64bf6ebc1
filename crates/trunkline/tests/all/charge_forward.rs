//! A charging node that sends its records on to two charging gateways, all three killed again and again while clients
//! charge: at the end each record is with one of the gateways, once.
//!
//! `TRUNKLINE_KILLS=300 cargo test -p trunkline --test all charge_forward::` for the long run.
//!
//! Test group: loads: kills a node and gateways under load.

use crate::eventually::awaited;
use crate::gtpp;
use crate::gy;
use gtpp::tshark::{self, Relay};
use gtpp::{files, free_udp};
use gy::{Client, Node, Recorded};
use serde_json::Value;
use std::net::UdpSocket;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use trunkline_kit::random::Random;

/// Ends of processes, unless the environment says how many.
const KILLS: u64 = 16;
const ACCOUNTS: u64 = 50;
const BALANCE: i64 = 900_000_000;
const PATIENCE: Duration = Duration::from_secs(120);
/// Records are cut and files are closed so often that ends meet them.
const CDR: [&str; 12] = [
    "--cdr-cut-volume",
    "2 MiB",
    "--cdr-file-records",
    "300",
    "--cdr-flush",
    "1",
    "--cdr-send-from",
    "127.0.0.1",
    "--cdr-send-wait",
    "60",
    "--cdr-send-tries",
    "4",
];

fn sender(folder: &Path, to: &[&str]) -> Node {
    let to = to.iter().flat_map(|to| ["--cdr-send", to]);
    Node::start_with(folder, &CDR.into_iter().chain(to).collect::<Vec<_>>())
}

fn gateway(folder: &Path, address: &str) -> Node {
    Node::start_with(folder, &["--gtpp", address])
}

/// Charges until it is told to end.
fn load(node: &Node, ends: &Arc<AtomicBool>) -> std::thread::JoinHandle<()> {
    let (address, ends) = (node.address, Arc::clone(ends));
    std::thread::spawn(move || {
        let mut client = Client::new(address, 0, 1..ACCOUNTS + 1);
        while !ends.load(Ordering::Relaxed) {
            client.round();
        }
        client.finish();
    })
}

/// Waits until all records are where they belong.
#[expect(clippy::disallowed_methods, reason = "a node does not say when it has sent all")]
fn all_sent(node: &Node) -> Value {
    let (until, mut before) = (Instant::now() + PATIENCE, None);
    loop {
        let status = node.status().unwrap_or_default();
        let (records, sent) = (&status["records"], &status["records"]["sent_on"]);
        let made = status["sequence"].as_u64().is_some() && records["entry"] == status["durable"];
        let all = made && sent["packets"] == 0 && sent["waiting_octets"] == 0;
        // What is told of sending is some tenths of a second old: it has to say the same again.
        if all && before.as_ref() == Some(sent) {
            return sent.clone();
        }
        before = all.then(|| sent.clone());
        assert!(Instant::now() < until, "{status}");
        std::thread::sleep(Duration::from_millis(500));
    }
}

/// The records in BER of a folder of closed files, sorted.
fn records(folder: &Path) -> Vec<Vec<u8>> {
    let mut records = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "ber") {
            let file = std::fs::read(&path).unwrap();
            let header = trunkline_wire::cdr::file::Records::check(&file).unwrap();
            let some = trunkline_wire::cdr::file::Records::new(&file, &header);
            records.extend(some.map(|record| record.unwrap().1.to_vec()));
        }
    }
    records.sort();
    records
}

#[test]
#[expect(clippy::disallowed_methods, reason = "they are killed at times that nothing tells of")]
fn each_record_is_with_one_gateway_once_over_kills() {
    let kills = std::env::var("TRUNKLINE_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(KILLS);
    let folders: Vec<_> = (0..3).map(|_| tempfile::tempdir().unwrap()).collect();
    let to = [format!("127.0.0.2:{}", free_udp()), format!("127.0.0.3:{}", free_udp())];
    let to = [to[0].as_str(), to[1].as_str()];
    let mut gateways = [0, 1].map(|at| gateway(folders[at].path(), to[at]));
    let mut node = sender(folders[2].path(), &to);
    node.fill(ACCOUNTS, BALANCE);
    let ends = Arc::new(AtomicBool::new(false));
    let clients = load(&node, &ends);
    let mut random = Random::new(20_261_123, 6);
    let (mut doubtful, mut away) = (0, [0_u64; 3]);
    for kill in 0..kills {
        std::thread::sleep(Duration::from_millis(200 + u64::from(random.below(700))));
        let sent = node.status().map(|status| status["records"]["sent_on"].clone()).unwrap_or_default();
        doubtful += sent["doubtful"].as_u64().unwrap_or(0);
        // Each is ended sooner or later; gateways are away for longer than the sender waits.
        let which = if kill < 3 { kill as usize } else { random.below(3) as usize };
        away[which] += 1;
        if which == 2 {
            node.kill();
            node = sender(folders[2].path(), &to);
        } else {
            gateways[which].kill();
            std::thread::sleep(Duration::from_millis(u64::from(random.below(800))));
            gateways[which] = gateway(folders[which].path(), to[which]);
        }
    }
    ends.store(true, Ordering::Relaxed);
    clients.join().unwrap();
    // A gateway that was silent is asked again after a minute, and by a start.
    node.kill();
    node = sender(folders[2].path(), &to);
    let sent = all_sent(&node);
    assert_eq!((&sent["refused"], &sent["gone_files"], &sent["failure"]), (&0.into(), &0.into(), &Value::Null));
    node.stop();
    gateways.iter_mut().for_each(Node::stop);
    let made = Recorded::read(&folders[2].path().join("charge/cdr"));
    made.check();
    let [one, two] = [0, 1].map(|at| files(&folders[at].path().join("charge/received")));
    println!("{away:?} killed, {doubtful} packets in doubt; {} and {} records", one.len(), two.len());
    assert!(doubtful > 0 && !one.is_empty() && !two.is_empty(), "{doubtful}: {} and {}", one.len(), two.len());
    let mut all = [one, two].concat();
    all.sort();
    let expected = records(&folders[2].path().join("charge/cdr"));
    assert!(all == expected, "{} billed, {} made", all.len(), expected.len());
    assert_eq!(made.records(), expected.len() as u64);
}

/// A gateway that is there, and answers nothing else, or refuses all records.
struct Hollow {
    ends: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Hollow {
    fn start(address: &str, refuses: bool) -> Hollow {
        let socket = UdpSocket::bind(address).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let ends = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&ends);
        let runs = move || {
            let mut room = [0; 65_536];
            while !over.load(Ordering::Relaxed) {
                let Ok((_, from)) = socket.recv_from(&mut room) else { continue };
                let [version, kind, _, _, s1, s2] = *room.first_chunk().unwrap();
                if kind == 1 {
                    socket.send_to(&[version, 2, 0, 2, s1, s2, 14, 0], from).unwrap();
                } else if kind == 240 && refuses {
                    socket.send_to(&[version, 241, 0, 7, s1, s2, 1, 177, 253, 0, 2, s1, s2], from).unwrap();
                }
            }
        };
        Hollow { ends, thread: Some(std::thread::spawn(runs)) }
    }
}

impl Drop for Hollow {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        let _ended = self.thread.take().map(std::thread::JoinHandle::join);
    }
}

#[test]
fn a_gateway_that_is_away_stops_nothing_and_tshark_reads_what_is_said() {
    if Command::new("tshark").arg("-v").output().is_err() {
        eprintln!("SKIPPED: tshark is not installed");
        return;
    }
    let folders: Vec<_> = (0..3).map(|_| tempfile::tempdir().unwrap()).collect();
    let to = [format!("127.0.0.2:{}", free_udp()), format!("127.0.0.1:{}", free_udp())];
    let mut second = gateway(folders[1].path(), &to[1]);
    let hollow = Hollow::start(&to[0], false);
    let relay = Relay::new(&to[1]);
    let to = [to[0].as_str(), relay.address.as_str()];
    let mut node = sender(folders[2].path(), &to);
    node.fill(ACCOUNTS, BALANCE);
    let mut client = Client::new(node.address, 0, 1..ACCOUNTS + 1);
    (0..20).for_each(|_| client.round());
    client.finish();
    // The first one takes nothing: what was sent to it is held apart by the second one.
    awaited("some are doubtful", || {
        let status = node.status().unwrap_or_default();
        if status["records"]["sent_on"]["doubtful"].as_u64() > Some(0) { Ok(()) } else { Err(status) }
    });
    // It was asked, and never had them: they are released.
    drop(hollow);
    let mut first = gateway(folders[0].path(), to[0]);
    node.kill();
    node = sender(folders[2].path(), &to);
    all_sent(&node);
    node.stop();
    [&mut first, &mut second].into_iter().for_each(Node::stop);
    let decoded = tshark::decoded(&relay.finish());
    let wrong: Vec<_> = decoded.iter().filter(|(_, wrong)| !wrong.is_empty()).collect();
    assert!(wrong.is_empty(), "{} of {}: {:?}", wrong.len(), decoded.len(), &wrong[..wrong.len().min(5)]);
    let count = |kind: u8| decoded.iter().filter(|(own, _)| *own == kind).count();
    assert!(count(240) > 1 && count(241) > 1 && count(4) > 0, "{} messages", decoded.len());
    let mut all = [0, 1].map(|at| files(&folders[at].path().join("charge/received"))).concat();
    all.sort();
    assert!(all == records(&folders[2].path().join("charge/cdr")), "{} records", all.len());
}

/// What `charge refused` prints, and its exit code.
fn refused(folder: &Path, arguments: &[&str]) -> (Value, Option<i32>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trunkline"));
    command.args(["charge", "refused", "--json", "--data"]).arg(folder).args(arguments);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let told = serde_json::from_slice(&output.stdout).unwrap_or_else(|why| panic!("{why}: {text}"));
    (told, output.status.code())
}

/// Once a gateway takes what it refused, an order has it sent again, or gives it up: over a crash, too.
#[test]
fn what_a_gateway_refused_goes_again_by_order() {
    let folders: Vec<_> = (0..2).map(|_| tempfile::tempdir().unwrap()).collect();
    let (to, folder) = (format!("127.0.0.2:{}", free_udp()), folders[1].path());
    let hollow = Hollow::start(&to, true);
    let mut node = sender(folder, &[&to]);
    node.fill(ACCOUNTS, BALANCE);
    let mut client = Client::new(node.address, 0, 1..ACCOUNTS + 1);
    (0..20).for_each(|_| client.round());
    client.finish();
    // Until all that was made is refused.
    let records = |packets: &[Value]| packets.iter().map(|one| one["records"].as_u64().unwrap()).sum::<u64>();
    let packets = awaited("all that was made is refused", || {
        let made = node.status().unwrap_or_default()["records"]["records"].as_u64().unwrap_or(0);
        let (told, code) = refused(folder, &[]);
        let packets = told["refused"].as_array().cloned().unwrap_or_default();
        if packets.len() > 1 && records(&packets) == made {
            assert_eq!((&packets[0]["cause"], code), (&177.into(), Some(3)));
            return Ok(packets);
        }
        Err((made, told))
    });
    // One is given up; then a crash; the others go again to a gateway that takes them.
    let first = packets[0]["packet"].to_string();
    let (told, _) = refused(folder, &["--drop", &first]);
    assert_eq!(told["settled"]["dropped"], 1, "{told}");
    node.kill();
    drop(hollow);
    let mut taker = gateway(folders[0].path(), &to);
    node = sender(folder, &[&to]);
    assert_eq!(refused(folder, &[]).0["refused"].as_array().map(Vec::len), Some(packets.len() - 1));
    let (told, code) = refused(folder, &["--again"]);
    assert_eq!((&told["settled"]["anew"], code), (&(packets.len() - 1).into(), Some(0)), "{told}");
    assert_eq!(all_sent(&node)["refused"], 0);
    node.stop();
    taker.stop();
    let billed = files(&folders[0].path().join("charge/received")).len() as u64;
    assert_eq!(billed, records(&packets[1..]));
}
