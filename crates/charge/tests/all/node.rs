//! A node that serves: over TCP and its unix socket, with a ledger on disk.
//!
//! Test group: waits: for connections that are tried again.

use crate::eventually::awaited;
use crate::served;
use serde_json::json;
use served::{Ccr, Client, imsi, read, start};
use std::time::Duration;
use trunkline_wire::diameter::base::{
    AbortSessionRequest, DeviceWatchdogRequest, DisconnectPeerRequest, ReAuthAnswer, ReAuthRequest,
};
use trunkline_wire::diameter::dictionary::avp::{FAILED_AVP, RESULT_CODE};
use trunkline_wire::diameter::enumerated::{DisconnectCause, RequestType};
use trunkline_wire::diameter::{Header, Message, application, command, flag};

fn ccr<'a>(session: &'a str, number: u32, kind: RequestType, imsi: &'a str, used: Option<u64>) -> Ccr<'a> {
    Ccr { session, number, kind, imsi, used, asks: kind != RequestType::Termination }
}

fn result(octets: &[u8]) -> u32 {
    let message = Message::new(octets).expect("a message");
    message.avps().find(RESULT_CODE).and_then(|avp| avp.unsigned32().ok()).expect("a result")
}

#[test]
fn a_session_is_charged_once_whatever_comes_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut world = start(folder.path(), |_| {});
    world.fill(1, 1000);
    let imsi = imsi(1);
    let mut client = Client::new(world.address, "pgw.example.org");
    let begin = client.ccr(&ccr("s;1", 0, RequestType::Initial, &imsi, None));
    let first = client.ask(&begin);
    assert_eq!(read(&first), (2001, Some(100 << 10), Some(2001)));
    assert_eq!(world.balance(1), (1000, 100));
    let update = client.ccr(&ccr("s;1", 1, RequestType::Update, &imsi, Some(50_000)));
    let second = client.ask(&update);
    assert_eq!(read(&second), (2001, Some(100 << 10), Some(2001)));
    // 50,000 octets are 49 steps of a KiB.
    assert_eq!(world.balance(1), (951, 100));
    // The same octets again, over this connection and another one; then after a restart.
    let mut other = Client::new(world.address, "pgw.example.org");
    assert_eq!((client.ask(&update), other.ask(&update), other.ask(&begin)), (second.clone(), second.clone(), first));
    assert_eq!(world.balance(1), (951, 100));
    assert_eq!(world.node.counts().copies, 3);
    world.node.stop().unwrap();
    drop((client, other));
    drop(world);
    let world = start(folder.path(), |local| local.state_id = 2);
    let mut client = Client::new(world.address, "pgw.example.org");
    assert_eq!(client.ask(&update), second);
    assert_eq!(client.charge(&ccr("s;1", 2, RequestType::Termination, &imsi, Some(1024))), (2001, None, Some(2001)));
    // 176 octets of the last step were left.
    assert_eq!(world.balance(1), (950, 0));
    assert_eq!(client.charge(&ccr("s;1", 3, RequestType::Update, &imsi, Some(1))).0, 5002);
}

#[test]
fn what_is_wrong_is_told_and_the_rest_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let world = start(folder.path(), |_| {});
    world.fill(1, 1000);
    let imsi = imsi(1);
    let mut client = Client::new(world.address, "pgw.example.org");
    assert_eq!(client.charge(&ccr("s;u", 0, RequestType::Initial, "001019999999999", None)).0, 5030);
    assert_eq!(client.charge(&ccr("s;x", 1, RequestType::Update, &imsi, None)).0, 5002);
    // Another host, realm, application, command; a header that lies; a CCR without an AVP that it needs.
    let good = client.ccr(&ccr("s;1", 0, RequestType::Initial, &imsi, None));
    let swap = |from: &str, to: &str| {
        let at = good.windows(from.len()).rposition(|window| window == from.as_bytes()).expect("it is there");
        let mut octets = good.clone();
        octets[at..at + to.len()].copy_from_slice(to.as_bytes());
        octets
    };
    let realm = client.ask(&swap("example.org\0", "example.net\0"));
    assert_eq!(result(&realm), 3003);
    assert_ne!(realm[4] & flag::ERROR, 0);
    let patched = |at: usize, octet: u8| {
        let mut octets = good.clone();
        octets[at] = octet;
        octets
    };
    assert_eq!(result(&client.ask(&patched(11, 9))), 3007);
    assert_eq!(result(&client.ask(&patched(7, 99))), 3001);
    assert_eq!(result(&client.ask(&patched(4, flag::REQUEST | flag::ERROR))), 3008);
    let mut out = Vec::new();
    let header = Header::request(command::CREDIT_CONTROL, application::CREDIT_CONTROL);
    trunkline_wire::diameter::Writer::new(&mut out, &header).finish().unwrap();
    let answer = client.ask(&out);
    assert_eq!(result(&answer), 5005);
    assert!(Message::new(&answer).unwrap().avps().find(FAILED_AVP).is_some());
    // It is served all the same; what is no Diameter ends its connection alone.
    assert_eq!(client.charge(&ccr("s;1", 0, RequestType::Initial, &imsi, None)).0, 2001);
    let mut stranger = Client::raw(world.address, "x");
    stranger.send(b"GET / HTTP/1.1\r\n\r\n");
    assert_eq!(stranger.receive(), None);
    let mut hasty = Client::raw(world.address, "x");
    hasty.send(&good);
    assert_eq!(hasty.receive(), None);
    let mut long = Client::new(world.address, "long.example.org");
    long.send(&[1, 0xff, 0xff, 0xfc]);
    assert_eq!(long.receive(), None);
    assert_eq!(client.charge(&ccr("s;1", 1, RequestType::Update, &imsi, Some(1))).0, 2001);
    let counts = world.node.counts();
    assert_eq!((counts.streams_broken, counts.peers_refused, counts.peers_opened), (2, 1, 2));
}

#[test]
fn peers_say_who_they_are_and_are_there() {
    let folder = tempfile::tempdir().unwrap();
    let world = start(folder.path(), |local| {
        local.watchdog = Duration::from_secs(3);
        local.peers = vec!["PGW.example.org".to_owned()];
    });
    let mut client = Client::new(world.address, "pgw.example.org");
    let dwr =
        DeviceWatchdogRequest { origin_host: "pgw.example.org", origin_realm: "example.org", origin_state_id: None };
    let mut out = Vec::new();
    dwr.write(&Header::request(command::DEVICE_WATCHDOG, application::BASE), &mut out).unwrap();
    assert_eq!(result(&client.ask(&out)), 2001);
    // Nothing is said: it asks, and asks, then it closes.
    let asked = client.receive().expect("a DWR");
    assert_eq!(Message::new(&asked).unwrap().header.command, command::DEVICE_WATCHDOG);
    assert_eq!(client.receive(), None);
    // One that nobody knows.
    let stranger = std::panic::catch_unwind(|| Client::new(world.address, "mallory.example.org"));
    assert!(stranger.is_err());
    // The end in order: the answer comes, and the connection is the client's to close.
    let mut client = Client::new(world.address, "pgw.example.org");
    let dpr = DisconnectPeerRequest {
        origin_host: "pgw.example.org",
        origin_realm: "example.org",
        disconnect_cause: DisconnectCause::Rebooting,
    };
    let mut out = Vec::new();
    dpr.write(&Header::request(command::DISCONNECT_PEER, application::BASE), &mut out).unwrap();
    assert_eq!(result(&client.ask(&out)), 2001);
    let late = client.ccr(&ccr("s;1", 0, RequestType::Initial, &imsi(1), None));
    assert_eq!(result(&client.ask(&late)), 3002);
    let counts = world.node.counts();
    assert_eq!((counts.peers_suspect, counts.peers_lost, counts.peers_refused), (1, 1, 1));
}

#[test]
fn clients_are_asked_to_come_again_after_a_top_up() {
    let folder = tempfile::tempdir().unwrap();
    let world = start(folder.path(), |_| {});
    world.fill(1, 10);
    let imsi = imsi(1);
    let mut client = Client::new(world.address, "pgw.example.org");
    // All that is there is granted: 10 KiB, the last ones.
    assert_eq!(client.charge(&ccr("s;1", 0, RequestType::Initial, &imsi, None)).1, Some(5 << 10));
    assert_eq!(client.charge(&ccr("s;1", 1, RequestType::Update, &imsi, Some(5 << 10))).0, 2001);
    let rest = client.charge(&ccr("s;1", 2, RequestType::Update, &imsi, Some(2 << 10)));
    assert_eq!(rest.0, 2001);
    let mut number = 3;
    // Until what is granted is told to be the last.
    while world.balance(1).0 > 0 {
        let (_, reserved) = world.balance(1);
        client.charge(&ccr("s;1", number, RequestType::Update, &imsi, Some(reserved.max(1) as u64 * 1024)));
        number += 1;
    }
    world.order(&json!({ "do": "top-up", "account": 1, "amount": 500 }));
    let asked = client.receive().expect("a RAR");
    let message = Message::new(&asked).unwrap();
    let rar = ReAuthRequest::read(&message).expect("a RAR");
    assert_eq!((rar.session_id, rar.destination_host), ("s;1", "pgw.example.org"));
    let raa = ReAuthAnswer {
        session_id: rar.session_id,
        result_code: Some(2002),
        origin_host: "pgw.example.org",
        origin_realm: "example.org",
        ..ReAuthAnswer::default()
    };
    let mut out = Vec::new();
    raa.write(&message.header.answer(), &mut out).unwrap();
    client.send(&out);
    assert_eq!(client.charge(&ccr("s;1", number, RequestType::Update, &imsi, None)).1, Some(100 << 10));
    let counts = world.node.counts();
    assert_eq!((counts.pushed, counts.pushes_answered), (1, 1));
}

#[test]
fn a_client_behind_an_agent_is_asked_by_its_own_realm() {
    let folder = tempfile::tempdir().unwrap();
    let world = start(folder.path(), |_| {});
    world.fill(1, 1);
    let imsi = imsi(1);
    let mut agent = Client::relay(world.address, "dra.transit.example", "transit.example");
    let begin = ccr("s;1", 0, RequestType::Initial, &imsi, None).octets("pgw.example.org", 7);
    assert_eq!(read(&agent.ask(&begin)), (2001, Some(1 << 10), Some(2001)));
    world.order(&json!({ "do": "top-up", "account": 1, "amount": 500 }));
    let asked = agent.receive().expect("a RAR");
    let rar = ReAuthRequest::read(&Message::new(&asked).unwrap()).expect("a RAR");
    assert_eq!((rar.destination_host, rar.destination_realm), ("pgw.example.org", "example.org"));
    world.order(&json!({ "do": "abort", "session": "s;1" }));
    let asked = agent.receive().expect("an ASR");
    let asr = AbortSessionRequest::read(&Message::new(&asked).unwrap()).expect("an ASR");
    assert_eq!((asr.destination_host, asr.destination_realm), ("pgw.example.org", "example.org"));
}

#[test]
fn operators_are_answered_or_told_why_not() {
    let folder = tempfile::tempdir().unwrap();
    let world = start(folder.path(), |_| {});
    world.fill(2, 100);
    let error = |reply: serde_json::Value| reply["error"].as_str().map(str::to_owned).unwrap_or_default();
    assert_eq!(error(world.order(&json!({ "do": "top-up", "account": 9, "amount": 1 }))), "no such account");
    assert_eq!(
        error(world.order(&json!({ "do": "adjust", "account": 1, "amount": -101 }))),
        "so much is not there, or is reserved"
    );
    assert!(error(world.order(&json!({ "do": "dance" }))).contains("unknown variant `dance`"));
    assert!(error(world.line("{")).contains("EOF"));
    assert!(error(world.order(&json!({ "do": "show-subscriber", "identity": "imsi" }))).contains("an identity is"));
    assert!(error(world.order(&json!({ "do": "plan", "text": "[plan]\nnome = 1\n" }))).contains("nome"));
    let shown = world.order(&json!({ "do": "show-subscriber", "identity": format!("imsi:{}", imsi(2)) }));
    assert_eq!((&shown["subscriber"], &shown["account"]["balance"]), (&json!(2), &json!(100)));
    assert_eq!(world.order(&json!({ "do": "adjust", "account": 1, "amount": -30 }))["account"]["balance"], 70);
    assert_eq!(world.order(&json!({ "do": "status" }))["accounts"], 2);
}

#[test]
fn those_who_operate_see_clients_sessions_and_what_was_answered() {
    let folder = tempfile::tempdir().unwrap();
    let world = start(folder.path(), |_| {});
    world.fill(3, 1000);
    let mut client = Client::new(world.address, "pgw.example.org");
    for number in 1..=3u64 {
        let (name, imsi) = (format!("s;{number}"), imsi(number));
        client.charge(&ccr(&name, 0, RequestType::Initial, &imsi, None));
    }
    let begin = client.ccr(&ccr("s;1", 0, RequestType::Initial, &imsi(1), None));
    client.ask(&begin);
    client.charge(&ccr("s;9", 0, RequestType::Initial, "001019999999999", None));
    let peers = world.order(&json!({ "do": "peers" }));
    let peer = &peers["peers"][0];
    assert_eq!(
        (&peers["total"], &peer["host"], &peer["watchdog"]),
        (&json!(1), &json!("pgw.example.org"), &json!("okay"))
    );
    assert_eq!((&peer["requests"], &peer["copies"], &peer["refused"]), (&json!(5), &json!(1), &json!(1)));
    assert_eq!(world.order(&json!({ "do": "peers", "after": peer["number"] }))["peers"], json!([]));
    // Sessions by the page, and those that fit.
    let first = world.order(&json!({ "do": "sessions", "limit": 2 }));
    assert_eq!((first["sessions"].as_array().unwrap().len(), &first["next"]), (2, &json!(2)));
    let rest = world.order(&json!({ "do": "sessions", "from": 2 }));
    assert_eq!((rest["sessions"][0]["session"].as_str(), &rest["next"]), (Some("s;3"), &json!(null)));
    let found = |ask: serde_json::Value| world.order(&ask)["sessions"].as_array().unwrap().len();
    assert_eq!(found(json!({ "do": "sessions", "account": 2 })), 1);
    assert_eq!(found(json!({ "do": "sessions", "text": ";3" })), 1);
    assert_eq!(found(json!({ "do": "sessions", "origin": "PGW.example.org", "aborting": false })), 3);
    assert_eq!(found(json!({ "do": "sessions", "aborting": true })), 0);
    let key = first["sessions"][0]["key"].as_str().unwrap();
    assert_eq!(world.order(&json!({ "do": "show-session", "key": key }))["session"], "s;1");
    assert_eq!(world.order(&json!({ "do": "show-session", "key": "0-7" }))["kind"], "not-found");
    assert_eq!(world.order(&json!({ "do": "status" }))["open_sessions"], 3);
    // A second later it is part of what was answered over time.
    let answered = |points: &serde_json::Value| {
        let rows = points["points"].as_array().unwrap().iter().flat_map(|point| point["answered"].as_array().unwrap());
        rows.flat_map(|row| row.as_array().unwrap()).map(|count| count.as_u64().unwrap()).sum::<u64>()
    };
    let told = |order: &str, is: &dyn Fn(&serde_json::Value) -> bool| {
        let reply = world.order(&json!({ "do": order }));
        if is(&reply) { Ok(()) } else { Err(reply) }
    };
    awaited("five are answered", || told("rates", &|rates| answered(rates) == 5));
    drop(client);
    awaited("a client that has left is shown no more", || told("peers", &|peers| peers["total"] == 0));
}

#[test]
fn an_order_with_a_key_is_done_once_also_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let mut world = start(folder.path(), |_| {});
    world.fill(1, 1000);
    let order = json!({ "do": "top-up", "account": 1, "amount": 50, "key": "voucher 4711" });
    let first = world.order(&order);
    assert_eq!((&first["again"], &first["account"]["balance"]), (&json!(false), &json!(1050)));
    world.node.stop().unwrap();
    drop(world);
    let world = start(folder.path(), |local| local.state_id = 2);
    let second = world.order(&order);
    assert_eq!((&second["again"], &second["sequence"]), (&json!(true), &first["sequence"]));
    assert_eq!(world.balance(1), (1050, 0));
    let other = json!({ "do": "top-up", "account": 1, "amount": 51, "key": "voucher 4711" });
    assert_eq!(world.order(&other)["kind"], "conflict");
}
