//! A charging node that serves GTP': quota by the load program, copies and kills among it; records of other nodes,
//! each of which is in a file for billing once, whatever happens.
//!
//! Test group: loads: kills a gateway under load.

use crate::eventually::eventually;
use crate::gtpp;
use crate::gy;
use gtpp::tshark::{self, Relay};
use gtpp::{Cdf, Fate, files, free_udp};
use gy::{Node, PLAN};
use serde_json::Value;
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use trunkline_wire::gtpp::profile::{FIELDS, Field, FieldValue, Profile, ROLES, Role};
use trunkline_wire::gtpp::{Message, cause};

const ACCOUNTS: u64 = 200;
const BALANCE: i64 = 900_000_000_000;

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value}"))
}

fn load(address: &str, file: &Path, options: &[&str]) -> Command {
    let subscribers = format!("{}..{}", gy::imsi(1), gy::imsi(ACCOUNTS));
    let mut command = Command::new(env!("CARGO_BIN_EXE_trunkline"));
    command.args(["charge", "load", address, "--protocol", "gtpp", "--json", "--subscribers", &subscribers]);
    command.args(options).arg("--ledger").arg(file).stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

/// What was answered is what was charged, account by account, and the books are in order.
fn compare(node: &Node, run: &Value, file: &Path) {
    let used = count(&run["units"]["used_acknowledged"]);
    assert_eq!((node.charged_octets(), count(&run["units"]["used_unacknowledged"])), (used, 0), "{run}");
    let text = std::fs::read_to_string(file).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let sums: Vec<Value> = lines.filter(|line| line["total"] == true).collect();
    assert_eq!(sums.iter().map(|sum| count(&sum["acknowledged"])).sum::<u64>(), used);
    let audit = node.json(&["audit"]);
    assert_eq!(audit["differences"].as_array().map(Vec::len), Some(0), "{audit}");
}

#[test]
fn quota_by_gtpp_is_charged_to_the_octet() {
    let folder = tempfile::tempdir().unwrap();
    let address = format!("127.0.0.1:{}", free_udp());
    let node = Node::start_with(folder.path(), &["--gtpp", &address]);
    node.fill(ACCOUNTS, BALANCE);
    let file = folder.path().join("truth.jsonl");
    for pace in
        [&["--closed", "32", "--connections", "8"][..], &["--requests-per-second", "2000", "--interval", "500ms"]]
    {
        let before = node.charged_octets();
        let options = [&["--duration", "3", "--usage", "1-2000000", "--duplicates", "0.3"], pace].concat();
        // A copy within four requests of its session is answered: in closed loop they follow each other at once.
        let options =
            [&options[..], &["--duplicate-delay", if pace[0] == "--closed" { "1ms" } else { "100ms" }]].concat();
        let output = load(&address, &file, &options).output().unwrap();
        let run: Value = serde_json::from_slice(&output.stdout).unwrap();
        let duplicates = &run["duplicates"];
        assert!(count(&duplicates["same"]) > 50 && count(&duplicates["different"]) == 0, "{run}");
        for kind in ["profile", "initial", "update", "termination"] {
            let counts = &run["types"][kind];
            assert_eq!(counts["answered"], counts["sent"], "{kind}: {run}");
            assert!(count(&counts["succeeded"]) > 50 && counts["succeeded"] == counts["answered"], "{kind}: {run}");
        }
        let used = count(&run["units"]["used_acknowledged"]);
        assert!(used > 0);
        assert_eq!(node.charged_octets() - before, used, "{run}");
    }
    let audit = node.json(&["audit"]);
    assert_eq!(audit["differences"].as_array().map(Vec::len), Some(0), "{audit}");
    assert_eq!(node.json(&["show", "1"])["reserved"], 0);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "it is killed at a time that nothing tells of")]
fn quota_by_gtpp_is_exact_over_kills() {
    let folder = tempfile::tempdir().unwrap();
    let address = format!("127.0.0.1:{}", free_udp());
    let mut node = Node::start_with(folder.path(), &["--gtpp", &address]);
    node.fill(ACCOUNTS, BALANCE);
    let file = folder.path().join("truth.jsonl");
    let options = ["--duration", "6", "--connections", "4", "--usage", "1-2000000", "--requests-per-second", "800"];
    let more =
        ["--interval", "1s", "--duplicate-delay", "100ms", "--duplicates", "0.3", "--tries", "1000", "--tx", "1"];
    let load = load(&address, &file, &[&options[..], &more].concat()).spawn().unwrap();
    let pass = |ms| std::thread::sleep(Duration::from_millis(ms));
    // Once it is gone for longer than an answer is waited for.
    for gone_ms in [0, 1300, 0, 0] {
        pass(900);
        node.kill();
        pass(gone_ms);
        node = Node::start_with(folder.path(), &["--gtpp", &address]);
    }
    let output = load.wait_with_output().unwrap();
    let run: Value = serde_json::from_slice(&output.stdout).unwrap();
    for kind in ["initial", "update", "termination"] {
        let counts = &run["types"][kind];
        assert_eq!((count(&counts["timeouts"]), count(&counts["lost"])), (0, 0), "{kind}: {run}");
        assert!(count(&counts["succeeded"]) > 50, "{kind}: {run}");
    }
    let duplicates = &run["duplicates"];
    assert!(count(&duplicates["same"]) > 50 && count(&run["resent"]) > 0, "{run}");
    assert_eq!(count(&duplicates["different"]), 0, "{run}");
    compare(&node, &run, &file);
}

/// Kills, unless the environment says how many.
const KILLS: u64 = 8;

#[test]
fn each_acknowledged_record_is_billed_once_over_kills() {
    let kills = std::env::var("TRUNKLINE_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(KILLS);
    let folder = tempfile::tempdir().unwrap();
    let address = format!("127.0.0.1:{}", free_udp());
    let start = || Node::start_with(folder.path(), &["--gtpp", &address]);
    let mut node = start();
    let mut cdf = Cdf::new(&address, 7);
    for kill in 0..kills {
        cdf.play(Duration::from_millis(60 + 37 * (kill % 7)));
        if kill % 2 == 1 {
            // The last requests are not answered, however fast it was.
            node.freeze();
            cdf.play(Duration::from_millis(30));
        }
        node.kill();
        node = start();
    }
    cdf.play(Duration::from_millis(200));
    cdf.finish();
    // One that ends in order says so to who sent to it.
    std::thread::scope(|scope| {
        let told = scope.spawn(|| cdf.redirected());
        node.stop();
        assert_eq!(told.join().unwrap(), cause::THIS_NODE_GOES_DOWN);
    });
    let billed = files(&folder.path().join("charge/received"));
    let expected: Vec<&Vec<u8>> = cdf.fates().filter(|(_, fate)| *fate == Fate::Billed).map(|(r, _)| r).collect();
    assert!(expected.len() > 300 && cdf.copies > 20 && cdf.resent > 0, "{} records, {cdf}", expected.len());
    let mut found = billed.clone();
    found.sort();
    let mut expected: Vec<Vec<u8>> = expected.into_iter().cloned().collect();
    expected.sort();
    assert_eq!(found.len(), expected.len(), "{cdf}");
    assert!(found == expected, "each once");
}

/// The log of one gateway and the files of another: what the cursor counts is not of this log.
#[test]
fn a_log_of_another_gateway_is_told_by_verify_and_not_served() {
    let played = |seed: u64, time: u64| {
        let folder = tempfile::tempdir().unwrap();
        let address = format!("127.0.0.1:{}", free_udp());
        let mut node = Node::start_with(folder.path(), &["--gtpp", &address]);
        let mut cdf = Cdf::new(&address, seed);
        cdf.play(Duration::from_millis(time));
        cdf.finish();
        node.stop();
        folder
    };
    let (own, other) = (played(3, 100), played(4, 600));
    let data = own.path();
    let verify =
        || Command::new(env!("CARGO_BIN_EXE_trunkline")).arg("verify").arg("--data").arg(data).output().unwrap();
    let before = verify();
    assert_eq!(before.status.code(), Some(0), "{}", String::from_utf8_lossy(&before.stdout));
    let log = data.join("charge/gateway");
    std::fs::remove_dir_all(&log).unwrap();
    std::fs::create_dir(&log).unwrap();
    for entry in std::fs::read_dir(other.path().join("charge/gateway")).unwrap() {
        let from = entry.unwrap().path();
        std::fs::copy(&from, log.join(from.file_name().unwrap())).unwrap();
    }
    let told = "received records were made of the log of another gateway, by their cursor";
    let after = verify();
    let said = String::from_utf8_lossy(&after.stdout);
    assert!(after.status.code() == Some(3) && said.contains(told), "{said}");
    let address = format!("127.0.0.1:{}", free_udp());
    let mut serve = Command::new(env!("CARGO_BIN_EXE_trunkline"));
    serve.args(["charge", "serve", "--host", "ocs.example", "--realm", "example", "--listen", "127.0.0.1:0"]);
    let served = serve.args(["--gtpp", &address, "--data"]).arg(data).stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&served.stderr);
    assert!(served.status.code() == Some(1) && said.contains(told), "{said}");
    // Both elsewhere: the gateway begins anew.
    ["gateway", "received"].iter().for_each(|name| {
        std::fs::rename(data.join("charge").join(name), data.join(format!("{name}-before"))).unwrap();
    });
    Node::start_with(data, &["--gtpp", &address]).stop();
}

#[test]
fn what_is_no_message_is_counted_and_the_node_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (address, metrics) = (format!("127.0.0.1:{}", free_udp()), folder.path().join("metrics"));
    let at = format!("unix:{}", metrics.display());
    let tcp = format!("tcp:{address}");
    let node = Node::start_with(folder.path(), &["--gtpp", &address, "--gtpp", &tcp, "--metrics", &at]);
    node.fill(ACCOUNTS, BALANCE);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let sent = gtpp::hostile(&socket, &address);
    assert!(sent > 200, "{sent}");
    // A request for quota of a version above 0 is told which one it may have.
    let mut room = [0; 2048];
    let drain = |socket: &UdpSocket, room: &mut [u8]| {
        socket.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        while socket.recv(room).is_ok() {}
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    };
    drain(&socket, &mut room);
    socket.send_to(&[0x4e, 18, 0, 0, 0, 9], &address).unwrap();
    let octets = socket.recv(&mut room).unwrap();
    assert_eq!(&room[..octets], [0x0f, 3, 0, 0, 0, 9]);
    // An element that it must have is missing: nothing is said; then it is asked whether it is there.
    socket.send_to(&[0x0f, 18, 0, 0, 0, 10], &address).unwrap();
    for version in [0x0e_u8, 0x0f, 0x2e, 0x4e] {
        let long: &[u8] = if version == 0x0e { &[0; 14] } else { &[] };
        socket.send_to(&[&[version, 1, 0, 0, 1, version], long].concat(), &address).unwrap();
        let octets = socket.recv(&mut room).unwrap();
        assert_eq!((&room[..2], &room[4..6], room[octets - 2]), (&[version, 2][..], &[1, version][..], 14));
    }
    let page = gtpp::metrics(&metrics);
    let counted = |name: &str| {
        let line = page.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}: {page}"));
        line.rsplit(' ').next().unwrap().parse::<f64>().unwrap() as u64
    };
    assert!(counted("trunkline_charge_gtpp_messages_total ") as usize >= sent, "{page}");
    assert!(counted("trunkline_charge_gateway_messages_unreadable_total ") > 0, "{page}");
    assert_eq!(counted("trunkline_charge_quota_versions_total "), 1 + gtpp::QUOTA_VERSIONS, "{page}");
    assert!(counted("trunkline_charge_quota_missing_total ") > 0, "{page}");
    // It goes on: over TCP, too.
    let mut cdf = Cdf::over_tcp(&address);
    cdf.send_one(false);
    cdf.finish();
    let file = folder.path().join("truth.jsonl");
    let options = ["--closed", "4", "--duration", "500ms", "--usage", "1-2000000"];
    let output = load(&address, &file, &options).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
}

/// A gateway of our own at an address of its own.
fn gateway(folder: &Path, address: &str) -> Node {
    Node::start_with(folder, &["--gtpp", address])
}

fn send(folder: &Path, file: &Path, to: [&str; 2]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trunkline"));
    command.args(["charge", "send"]).arg(file).args(["--to", to[0], "--to", to[1], "--from", "127.0.0.1"]);
    command.args(["--t3", "60", "--n3", "4", "--data"]).arg(folder).stdin(Stdio::null()).stderr(Stdio::piped());
    command
}

/// Octets in the files of a gateway.
fn received(folder: &Path) -> u64 {
    let files = std::fs::read_dir(folder.join("charge/received")).unwrap();
    files.map(|file| file.unwrap().metadata().map_or(0, |file| file.len())).sum()
}

/// Waits until more has come to a gateway.
fn grows(folder: &Path) {
    let before = received(folder);
    eventually("more comes", || received(folder) > before + 10_000);
}

#[test]
fn files_are_sent_to_two_gateways_and_each_record_is_billed_once() {
    let folders: Vec<_> = (0..3).map(|_| tempfile::tempdir().unwrap()).collect();
    let to = [format!("127.0.0.2:{}", free_udp()), format!("127.0.0.3:{}", free_udp())];
    let to = [to[0].as_str(), to[1].as_str()];
    let file = folders[2].path().join("ours_-_1.20261123_-_0000+0000.ber");
    let records = gtpp::write_file(&file, 1_200_000);
    let (mut first, mut second) = (gateway(folders[0].path(), to[0]), gateway(folders[1].path(), to[1]));
    let ours = || send(folders[2].path(), &file, to).spawn().unwrap();
    // The first gateway is killed at work, the sender goes to the second one, and is killed itself; then the second
    // one.
    let mut interrupted = 0;
    let mut cut = |mut sender: Child| {
        interrupted += u32::from(sender.try_wait().unwrap().is_none());
        // It may be done.
        let _ = sender.kill();
        sender.wait().unwrap();
    };
    let sender = ours();
    grows(folders[0].path());
    first.kill();
    grows(folders[1].path());
    cut(sender);
    let sender = ours();
    grows(folders[1].path());
    cut(sender);
    second.kill();
    first = gateway(folders[0].path(), to[0]);
    let sender = ours();
    grows(folders[0].path());
    cut(sender);
    second = gateway(folders[1].path(), to[1]);
    let output = send(folders[2].path(), &file, to).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    // The same again sends nothing.
    let output = send(folders[2].path(), &file, to).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    first.stop();
    second.stop();
    for folder in &folders[..2] {
        let names: Vec<_> = std::fs::read_dir(folder.path().join("charge/gateway")).unwrap().collect();
        let names: Vec<_> = names.into_iter().map(|name| name.unwrap().file_name().into_string().unwrap()).collect();
        let logs = names.iter().filter(|name| name.ends_with(".log")).count();
        assert!(logs <= 4, "segments whose records are in files are removed: {names:?}");
    }
    let billed = |at: usize| files(&folders[at].path().join("charge/received"));
    let (one, two) = (billed(0), billed(1));
    assert!(!one.is_empty() && !two.is_empty(), "{} and {}", one.len(), two.len());
    let mut all = [one, two].concat();
    all.sort();
    let mut expected = records;
    expected.sort();
    assert!(all == expected, "{} billed, {} sent", all.len(), expected.len());
    assert!(interrupted >= 1, "{interrupted} of three senders were killed at work");
}

#[test]
fn tshark_reads_every_message_about_records() {
    if Command::new("tshark").arg("-v").output().is_err() {
        eprintln!("SKIPPED: tshark is not installed");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let address = format!("127.0.0.1:{}", free_udp());
    let _node = Node::start_with(folder.path(), &["--gtpp", &address]);
    let relay = Relay::new(&address);
    let mut cdf = Cdf::new(&relay.address, 5);
    cdf.play(Duration::from_millis(300));
    cdf.finish();
    let decoded = tshark::decoded(&relay.finish());
    let count = |kind: u8| decoded.iter().filter(|(own, _)| *own == kind).count();
    // The node asks for the restart counter, too.
    assert!(count(1) > 0 && count(240) > 50 && count(241) > 0, "{} messages", decoded.len());
    let wrong: Vec<_> = decoded.iter().filter(|(_, wrong)| !wrong.is_empty()).collect();
    assert!(wrong.is_empty(), "{} of {}: {:?}", wrong.len(), decoded.len(), &wrong[..wrong.len().min(5)]);
}

#[test]
fn quota_goes_under_the_numbers_of_an_operator() {
    let folder = tempfile::tempdir().unwrap();
    let address = format!("127.0.0.1:{}", free_udp());
    let messages = ROLES.iter().map(|(_, name, number)| format!("{name} = {}\n", number + 184));
    let elements = FIELDS.iter().map(|(_, name, number)| format!("{name} = {}\n", number + 60));
    let text = format!("[messages]\n{}[elements]\n{}", messages.collect::<String>(), elements.collect::<String>());
    let profile = folder.path().join("profile.toml");
    std::fs::write(&profile, text).unwrap();
    let profile = ["--gtpp-profile", profile.to_str().unwrap()];
    let node = Node::start_with(folder.path(), &[&["--gtpp", &address], &profile[..]].concat());
    node.fill(ACCOUNTS, BALANCE);
    let file = folder.path().join("truth.jsonl");
    let options = ["--closed", "2", "--connections", "1", "--duration", "300ms", "--usage", "1-2000000"];
    let output = load(&address, &file, &options).args(profile).output().unwrap();
    let run: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{run}");
    compare(&node, &run, &file);
}

/// A gateway that asks for quota, message by message.
struct Ggsn {
    socket: UdpSocket,
    profile: Profile,
}

impl Ggsn {
    fn new(address: &str) -> Ggsn {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(address).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Ggsn { socket, profile: Profile::default() }
    }

    fn say(&self, role: Role, sequence: u16, values: &[(Field, FieldValue<'_>)]) {
        let mut out = Vec::new();
        self.profile.write(role, sequence, values, &mut out).unwrap();
        self.socket.send(&out).unwrap();
    }

    /// The next message: what it is, its sequence number, its numbers.
    fn hear(&self) -> (Role, u16, impl Fn(Field) -> Option<u64>) {
        let mut room = [0; 2048];
        let octets = self.socket.recv(&mut room).unwrap();
        let (octets, profile) = (room[..octets].to_vec(), self.profile.clone());
        let message = Message::new(&octets).unwrap();
        let quota = profile.read(&message).unwrap();
        let numbers: Vec<_> = FIELDS.iter().map(|(field, ..)| (*field, quota.number(*field).ok().flatten())).collect();
        let (role, sequence) = (quota.role, quota.sequence);
        (role, sequence, move |field| numbers.iter().find(|(own, _)| *own == field).and_then(|(_, number)| *number))
    }
}

#[test]
fn quota_is_pushed_after_a_top_up_and_asked_back_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let address = format!("127.0.0.1:{}", free_udp());
    let node = Node::start_with(folder.path(), &["--gtpp", &address]);
    // 10 KiB, all of which the plan lets a session have.
    node.fill_under(&PLAN.replace("[[version]]\n", "share = 100\n[[version]]\n"), 1, 10);
    let (ggsn, imsi) = (Ggsn::new(&address), gy::imsi(1));
    let session = (Field::Session, FieldValue::Octets(b"s1"));
    let service = (Field::Service, FieldValue::Octets(b"1"));
    let user = (Field::User, FieldValue::Octets(imsi.as_bytes()));
    ggsn.say(Role::UserProfileRequest, 1, &[user]);
    let (role, sequence, number) = ggsn.hear();
    assert_eq!((role, sequence, number(Field::Cause)), (Role::UserProfileResponse, 1, Some(128)));
    ggsn.say(Role::AuthorizationRequest, 2, &[session, service, user]);
    let (role, sequence, number) = ggsn.hear();
    assert_eq!((role, sequence), (Role::AuthorizationResponse, 2));
    assert_eq!((number(Field::Cause), number(Field::Granted)), (Some(128), Some(10 << 10)));
    let name = "gtpp;127.0.0.1;s1";
    assert_eq!(node.json(&["show", name])["subscriber"], 1);
    node.json(&["top-up", "1", "50"]);
    let (role, pushed, number) = ggsn.hear();
    assert_eq!((role, number(Field::Granted)), (Role::QuotaPushRequest, Some(50 << 10)));
    // It is pushed until it is answered.
    let (role, again, _) = ggsn.hear();
    assert_eq!((role, again), (Role::QuotaPushRequest, pushed));
    ggsn.say(Role::QuotaPushResponse, pushed, &[(Field::Cause, FieldValue::Number(128))]);
    assert_eq!(node.json(&["show", "1"])["reserved"], 60);
    node.json(&["abort", name]);
    let (role, asked, _) = ggsn.hear();
    assert_eq!(role, Role::QuotaReturnRequest);
    let left = FieldValue::Number(59 << 10);
    ggsn.say(Role::QuotaReturnResponse, asked, &[(Field::Cause, FieldValue::Number(128)), (Field::Returned, left)]);
    let used = [(Field::Used, FieldValue::Number(1 << 10)), (Field::Unit, FieldValue::Number(0))];
    ggsn.say(Role::ReauthorizationRequest, 3, &[&[session, service][..], &used].concat());
    let (_, _, number) = ggsn.hear();
    assert_eq!((number(Field::Cause), number(Field::Granted)), (Some(255), None), "it is to end");
    ggsn.say(Role::ServiceStopRequest, 4, &[session, service, (Field::Used, FieldValue::Number(0))]);
    let (role, _, number) = ggsn.hear();
    assert_eq!((role, number(Field::Cause)), (Role::ServiceStopResponse, Some(128)));
    let shown = node.json(&["show", "1"]);
    assert_eq!((&shown["balance"], &shown["reserved"]), (&Value::from(59), &Value::from(0)));
}
