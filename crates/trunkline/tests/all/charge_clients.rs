//! The charging node against programs that are not ours: python-diameter and OTP's diameter as clients, freeDiameter as
//! a relay between, tshark over what was said. What a balance has to be is worked out here, from what clients were
//! granted and told they used.
//!
//! Test group: waits: for clients in other languages.

pub mod driven;
pub mod recorder;
pub mod relay;
mod tshark;

use crate::gy;
use driven::Driven;
use gy::{Node, imsi};
use recorder::{Recorder, Said};
use relay::Relay;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use trunkline_wire::diameter::base::{ReAuthAnswer, ReAuthRequest};
use trunkline_wire::diameter::command::{
    CAPABILITIES_EXCHANGE, CREDIT_CONTROL, DEVICE_WATCHDOG, DISCONNECT_PEER, RE_AUTH,
};
use trunkline_wire::diameter::credit::CreditControlRequest;
use trunkline_wire::diameter::flag;

/// Data by the KiB, time by the second, messages by the piece.
const PLAN: &str = r#"
[plan]
name = "standard"
currency = "EUR"
time-zone = "Europe/Paris"
share = 100
[[version]]
from = "2026-01-01"
rule = [
  { name = "data", rating-groups = [1], step = "1 KiB", price = 1, tranche = "512 KiB", tranche-least = "1 KiB" },
  { name = "time", rating-groups = [2], unit = "seconds", step = 1, price = 2, tranche = 100, tranche-least = 1 },
  { name = "messages", rating-groups = [7], unit = "events", price = 9 },
]
"#;
const KIB: u64 = 1024;

/// Whether a command runs and succeeds.
fn works(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// Whether all that a test needs is there; says what is not.
fn there(test: &str, needed: &[(&str, bool)]) -> bool {
    let missing: Vec<&str> = needed.iter().filter(|(_, works)| !works).map(|(name, _)| *name).collect();
    // Who changes something tests what there is; what goes in was tested with all of them.
    let must = std::env::var_os("CI").is_some() && !missing.is_empty();
    assert!(!must, "{test}: {missing:?} missing: scripts/setup test");
    if !missing.is_empty() {
        eprintln!("SKIPPED: {test}: {missing:?} missing");
    }
    missing.is_empty()
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/charge_clients").join(name)
}

/// The Python that has what tests need of PyPI.
fn python() -> Command {
    Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/python/bin/python3"))
}

fn python_diameter() -> (&'static str, bool) {
    ("python-diameter", works(python().args(["-c", "import diameter.node"])))
}

fn erlang() -> (&'static str, bool) {
    ("OTP's diameter with its examples", works(Command::new("escript").arg(script("gy.escript")).arg("check")))
}

fn free_diameter() -> (&'static str, bool) {
    ("freeDiameter", works(Command::new(relay::PROGRAM).arg("--version")))
}

/// python-diameter as `pgw.HOME`, connected to a peer.
fn python_client(home: &str, peer: (&str, &str), port: u16) -> Driven {
    let (host, port) = (format!("pgw.{home}"), port.to_string());
    Driven::start(python().arg(script("gy.py")).args([&host, home, peer.0, peer.1, &port, "example"]))
}

/// What an answer says of a rating group.
fn service(answer: &Value, group: u64) -> &Value {
    let services = answer["services"].as_array().expect("services");
    services.iter().find(|service| service["group"] == group).unwrap_or_else(|| panic!("no group {group}: {answer}"))
}

/// What a rating group was granted; all went well.
fn granted(answer: &Value, group: u64) -> u64 {
    let service = service(answer, group);
    assert_eq!((&answer["result"], &service["result"]), (&json!(2001), &json!(2001)), "{answer}");
    service["granted"].as_u64().unwrap_or_else(|| panic!("nothing is granted: {answer}"))
}

/// Balance and reservations of account 1.
fn account(node: &Node) -> (i64, i64) {
    let shown = node.json(&["show", "1"]);
    let of = |name: &str| shown[name].as_i64().unwrap_or_else(|| panic!("no {name}: {shown}"));
    (of("balance"), of("reserved"))
}

/// A message of a command by one side.
fn one(said: &[Said], command: u32, request: bool, by_client: bool) -> Option<Said> {
    said.iter().find(|said| said.by_client == by_client && said.is(command, request)).cloned()
}

#[test]
fn python_diameter_is_charged_to_the_unit() {
    if !there("python-diameter", &[python_diameter()]) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let node = Node::start_with(folder.path(), &["--watchdog", "6"]);
    node.fill_under(PLAN, 1, 2000);
    let recorder = Recorder::start(node.address);
    let mut client = python_client("example", ("ocs.example", "example"), recorder.address.port());
    let (spent, paid) = session(&node, &mut client);
    assert_eq!(account(&node), (2000 + paid - spent, 0));
    // Each side asks the other one whether it is there.
    assert_eq!(client.ask("watchdog")["there"], true);
    recorder.until("a DWA by the client", |said| one(said, DEVICE_WATCHDOG, false, true));
    assert_eq!(client.ask("end")["ended"], true);
    recorder.until("a DPA", |said| one(said, DISCONNECT_PEER, false, false));
    let audit = node.json(&["audit"]);
    assert_eq!(audit["differences"].as_array().map(Vec::len), Some(0), "{audit}");
    if there("tshark", &[("tshark", works(Command::new("tshark").arg("-v")))]) {
        decoded_by_tshark(&recorder.said());
    }
}

/// A session of two rating groups, until nothing is left; messages meanwhile; a top-up, and the rest. What was spent,
/// and what was paid in.
fn session(node: &Node, client: &mut Driven) -> (i64, i64) {
    let imsi = imsi(1);
    let begun = client.ask(&format!("ccr s;1 1 0 {imsi} - 1:octets:0:- 2:seconds:0:-"));
    let (mut octets, seconds) = (granted(&begun, 1), granted(&begun, 2));
    assert_eq!((octets, seconds), (512 * KIB, 100));
    assert_eq!((&begun["number"], &begun["session"]), (&json!(0), &json!("s;1")));
    assert_eq!(account(node), (2000, 512 + 2 * 100));
    // All of the data and 30 seconds; more data is asked for, and no more time.
    let more = client.ask(&format!("ccr s;1 2 1 {imsi} - 1:octets:0:{octets} 2:seconds:-:30"));
    let mut spent = octets.div_ceil(KIB) as i64 + 2 * 30;
    octets = granted(&more, 1);
    assert_eq!(account(node), (2000 - spent, octets.div_ceil(KIB) as i64));
    // Two messages beside it, at once.
    let event = client.ask(&format!("ccr s;2 4 0 {imsi} - 7:units:2:-"));
    assert_eq!((granted(&event, 7), &event["cost"]), (2, &json!([18, -2, 978])));
    spent += 18;
    let mut number = 2;
    let mut used = |client: &mut Driven, octets: u64| {
        let answer = client.ask(&format!("ccr s;1 2 {number} {imsi} - 1:octets:0:{octets}"));
        number += 1;
        answer
    };
    // Until it is told that this is the last of it, which is what is left.
    let mut answer = more;
    while service(&answer, 1)["final"].is_null() {
        assert!(spent < 2000, "more is granted than there is: {answer}");
        spent += octets.div_ceil(KIB) as i64;
        answer = used(client, octets);
        octets = granted(&answer, 1);
    }
    assert_eq!((octets.div_ceil(KIB) as i64, &service(&answer, 1)["final"]), (2000 - spent, &json!(0)));
    spent = 2000;
    let nothing = used(client, octets);
    assert_eq!((&nothing["result"], &service(&nothing, 1)["result"]), (&json!(2001), &json!(4012)), "{nothing}");
    assert_eq!(account(node), (0, 0));
    node.json(&["top-up", "1", "300"]);
    assert_eq!(client.ask("rar"), json!({ "session": "s;1", "realm": "example" }));
    let again = client.ask(&format!("ccr s;1 2 {number} {imsi} - 1:octets:0:-"));
    assert_eq!(granted(&again, 1), 300 * KIB);
    // A step that has begun is paid.
    let ended = client.ask(&format!("ccr s;1 3 {} {imsi} - 1:octets:-:{}", number + 1, 100 * KIB + 1));
    assert_eq!(ended["result"], 2001, "{ended}");
    (spent + 101, 300)
}

/// Every message is known to the last AVP, and each request has its answer.
fn decoded_by_tshark(said: &[Said]) {
    let decoded = tshark::decoded(said);
    assert_eq!(decoded.len(), said.len());
    for (at, message) in decoded.iter().enumerate() {
        let may = |complaint: &&String| said[at].by_client && **complaint == tshark::EMPTY_GROUP;
        let odd: Vec<&String> = message.complaints.iter().filter(|complaint| !may(complaint)).collect();
        assert!(odd.is_empty(), "message {at}: {odd:?}: {:02x?}", said[at].octets);
        let header = said[at].header();
        assert_eq!((message.command, message.request), (header.command, header.is_request()), "message {at}");
        let partner = message.partner.unwrap_or_else(|| panic!("message {at} has no partner: {message:?}"));
        let other = &decoded[partner - 1];
        assert_eq!((other.command, other.request, other.partner), (message.command, !message.request, Some(at + 1)));
    }
    for command in [CAPABILITIES_EXCHANGE, CREDIT_CONTROL, RE_AUTH, DEVICE_WATCHDOG, DISCONNECT_PEER] {
        assert!(decoded.iter().any(|message| message.command == command), "nothing of {command} was said");
    }
}

#[test]
fn otp_is_answered_the_same_after_a_failover() {
    if !there("gy.escript", &[erlang()]) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let node = Node::start(folder.path());
    node.fill(1, 10_000);
    let recorder = Recorder::start(node.address);
    let port = recorder.address.port().to_string();
    let mut client =
        Driven::start(Command::new("escript").arg(script("gy.escript")).args(["pgw.example", "example", &port]));
    let imsi = imsi(1);
    let begun = client.ask(&format!("ccr s;1 1 0 {imsi} 1 0 -"));
    assert_eq!(granted(&begun, 1), 1024 * KIB);
    // The answer is lost with its connection: OTP asks again over the other one.
    recorder.lose_an_answer();
    let update = client.ask(&format!("ccr s;1 2 1 {imsi} 1 0 {}", 1000 * KIB));
    assert_eq!((granted(&update, 1), account(&node)), (1024 * KIB, (10_000 - 1000, 1024)));
    same_twice(&recorder.said());
    recorder.until("a DWR by the client", |said| one(said, DEVICE_WATCHDOG, true, true));
    recorder.until("a DWA by the node", |said| one(said, DEVICE_WATCHDOG, false, false));
    let ended = client.ask(&format!("ccr s;1 3 2 {imsi} 1 - {}", 24 * KIB));
    assert_eq!((&ended["result"], account(&node)), (&json!(2001), (10_000 - 1024, 0)));
    assert_eq!(client.ask("end")["ended"], true);
    recorder.until("a DPA", |said| one(said, DISCONNECT_PEER, false, false));
}

/// One request came twice, over two connections, and both answers are the same but for what belongs to their way.
fn same_twice(said: &[Said]) {
    let again = said.iter().find(|said| said.by_client && said.header().flags & flag::RETRANSMITTED != 0);
    let again = again.expect("a request that is said again");
    let of = |said: &&Said| said.header().end_to_end == again.header().end_to_end && said.is(CREDIT_CONTROL, false);
    let answers: Vec<&Said> = said.iter().filter(of).collect();
    assert_eq!(answers.len(), 2, "{answers:?}");
    assert_ne!(answers[0].connection, answers[1].connection);
    let essence = |said: &Said| [&said.octets[..12], &said.octets[16..]].concat();
    assert_eq!(essence(answers[0]), essence(answers[1]));
}

#[test]
fn free_diameter_relays_both_ways() {
    if !there("freeDiameter", &[python_diameter(), free_diameter()]) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let node = Node::start(folder.path());
    node.fill(1, 1);
    let recorder = Recorder::start(node.address);
    let port: u16 = gy::free_port().parse().expect("a port");
    let _relay = Relay::start(folder.path(), port, ("ocs.example", recorder.address), "pgw.home.example");
    recorder.until("a CEA to the relay", |said| one(said, CAPABILITIES_EXCHANGE, false, false));
    let mut client = python_client("home.example", (relay::HOST, relay::REALM), port);
    let imsi = imsi(1);
    let begun = client.ask(&format!("ccr s;1 1 0 {imsi} state-17 1:octets:0:-"));
    assert_eq!((granted(&begun, 1), &begun["proxies"]), (KIB, &json!([["proxy.example", "state-17"]])));
    let asked = recorder.until("a CCR", |said| one(said, CREDIT_CONTROL, true, true));
    let ccr = CreditControlRequest::read(&asked.message()).expect("a CCR");
    let way: Vec<&str> = ccr.route_records.iter().collect();
    assert_eq!((ccr.origin_host, way), ("pgw.home.example", vec!["pgw.home.example"]));
    // By the client's realm, which is not the relay's, and back.
    node.json(&["top-up", "1", "5"]);
    assert_eq!(client.ask("rar"), json!({ "session": "s;1", "realm": "home.example" }));
    let rar = recorder.until("a RAR", |said| one(said, RE_AUTH, true, false));
    assert_eq!(ReAuthRequest::read(&rar.message()).map(|rar| rar.destination_host).ok(), Some("pgw.home.example"));
    let raa = recorder.until("a RAA", |said| one(said, RE_AUTH, false, true));
    let raa = ReAuthAnswer::read(&raa.message()).map(|raa| (raa.origin_host.to_owned(), raa.result_code));
    assert_eq!(raa.ok(), Some(("pgw.home.example".to_owned(), Some(2001))));
    let ended = client.ask(&format!("ccr s;1 3 1 {imsi} state-18 1:octets:-:{KIB}"));
    assert_eq!((&ended["result"], &ended["proxies"][0][1]), (&json!(2001), &json!("state-18")));
    assert_eq!(account(&node), (1 + 5 - 1, 0));
}
