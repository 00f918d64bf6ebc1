//! A node that connects to peers by itself: relays and clients that accept, another node that does the same.
//!
//! Test group: waits: for connections that are tried again.

use crate::eventually::awaited;
use crate::ports::free_port;
use crate::served;
use serde_json::{Value, json};
use served::{Ccr, Client, World, imsi, read, start_calling};
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;
use trunkline_charge::job::Peering;
use trunkline_charge::peer::{Neighbour, Place};
use trunkline_wire::diameter::base::{
    AbortSessionRequest, CapabilitiesExchangeAnswer, CapabilitiesExchangeRequest, DisconnectPeerRequest,
};
use trunkline_wire::diameter::enumerated::{DisconnectCause, RequestType};
use trunkline_wire::diameter::{Header, HostAddress, List, Message, application, command};

const HOST: &str = "dra.example.org";

/// Somebody who accepts.
struct Acceptor(TcpListener);

impl Acceptor {
    fn new() -> Acceptor {
        Acceptor(TcpListener::bind("127.0.0.1:0").expect("a port"))
    }

    fn place(&self) -> Place {
        Place { address: self.0.local_addr().expect("an address"), tls: false }
    }

    /// The next connection, after its CER was read and answered.
    fn answers(&self, host: &str, result: u32, applications: &[u32]) -> Client {
        let (stream, _) = self.0.accept().expect("a connection");
        let mut client = Client::over(stream, host);
        let octets = client.receive().expect("a CER");
        let message = Message::new(&octets).expect("a message");
        let cer = CapabilitiesExchangeRequest::read(&message).expect("a CER");
        assert_eq!((cer.origin_host, cer.origin_realm), ("ocs.example.org", "example.org"));
        assert_eq!(cer.auth_application_ids.iter().collect::<Vec<_>>(), [application::CREDIT_CONTROL]);
        let hosts = [HostAddress::Ip("127.0.0.1".parse().expect("an address"))];
        let cea = CapabilitiesExchangeAnswer {
            result_code: result,
            origin_host: host,
            origin_realm: "example.org",
            host_ip_addresses: List::Values(&hosts),
            product_name: "test",
            auth_application_ids: List::Values(applications),
            ..CapabilitiesExchangeAnswer::default()
        };
        let mut out = Vec::new();
        cea.write(&message.header.answer(), &mut out).expect("it fits");
        client.send(&out);
        client
    }
}

fn peering(places: Vec<Place>) -> Peering {
    let neighbours = vec![Neighbour { host: HOST.to_owned(), places }];
    Peering { neighbours, again: Duration::from_secs(1), ..Peering::default() }
}

/// How the one peer is.
fn call(world: &World) -> Value {
    world.order(&json!({ "do": "peers" }))["calls"][0].clone()
}

/// Waits until the one peer is in that state.
fn until(world: &World, state: &str) -> Value {
    awaited(state, || Some(call(world)).filter(|call| call["state"] == state).ok_or_else(|| call(world)))
}

fn ccr<'a>(session: &'a str, number: u32, kind: RequestType, imsi: &'a str) -> Ccr<'a> {
    Ccr { session, number, kind, imsi, used: None, asks: kind != RequestType::Termination }
}

#[test]
fn requests_come_and_questions_leave_over_a_connection_that_the_node_began() {
    let folder = tempfile::tempdir().unwrap();
    let relay = Acceptor::new();
    let world = start_calling(folder.path(), peering(vec![relay.place()]), None, |_| {});
    world.fill(1, 5);
    let mut client = relay.answers(HOST, 2001, &[application::RELAY]);
    until(&world, "open");
    let imsi = imsi(1);
    // Half of what the balance is worth.
    assert_eq!(client.charge(&ccr("s;1", 0, RequestType::Initial, &imsi)), (2001, Some(2 << 10), Some(2001)));
    world.order(&json!({ "do": "abort", "session": "s;1" }));
    let asr = client.receive().expect("a question");
    let message = Message::new(&asr).unwrap();
    assert_eq!(AbortSessionRequest::read(&message).unwrap().session_id, "s;1");
    assert_eq!(world.order(&json!({ "do": "peers" }))["peers"][0]["host"], HOST);
    let counts = world.node.counts();
    assert_eq!((counts.calls, counts.calls_failed, counts.peers_opened), (1, 0, 1));
    // It is busy: it is left alone for ten times as long, and shown with the reason.
    let dpr = DisconnectPeerRequest {
        origin_host: HOST,
        origin_realm: "example.org",
        disconnect_cause: DisconnectCause::Busy,
    };
    let mut out = Vec::new();
    dpr.write(&Header::request(command::DISCONNECT_PEER, application::BASE), &mut out).unwrap();
    let answer = client.ask(&out);
    assert_eq!(Message::new(&answer).unwrap().header.command, command::DISCONNECT_PEER);
    drop(client);
    let down = until(&world, "down");
    assert_eq!(down["why"], "it said that it is busy");
    assert!(down["next_s"].as_u64().unwrap() >= 8, "{down}");
}

#[test]
fn answers_that_do_not_fit_are_told_and_the_next_address_is_tried() {
    let folder = tempfile::tempdir().unwrap();
    let relay = Acceptor::new();
    let nobody = Acceptor::new().place();
    let world = start_calling(folder.path(), peering(vec![nobody, relay.place()]), None, |_| {});
    let cases: [(&str, u32, &[u32], &str); 3] = [
        ("mallory.example.org", 2001, &[4], "another host answered"),
        (HOST, 2001, &[16_777_216], "it does not speak credit control"),
        (HOST, 3010, &[4], "it refused us: DIAMETER_UNKNOWN_PEER (3010)"),
    ];
    for (host, result, applications, why) in cases {
        // The first address is tried each time before.
        let mut client = relay.answers(host, result, applications);
        assert_eq!(client.receive(), None);
        let down = until(&world, "down");
        assert_eq!((down["why"].as_str(), down["state"].as_str()), (Some(why), Some("down")));
    }
    let client = relay.answers(HOST, 2001, &[4]);
    assert_eq!(until(&world, "open")["address"], relay.place().address.to_string());
    let counts = world.node.counts();
    assert_eq!((counts.calls, counts.calls_failed), (8, 7));
    // It goes without a word, and is dialled again.
    drop(client);
    let again = relay.answers(HOST, 2001, &[4]);
    until(&world, "open");
    drop(again);
}

/// A peer that takes each connection and ends it.
fn unfriendly() -> Neighbour {
    let acceptor = Acceptor::new();
    let places = vec![acceptor.place()];
    std::thread::spawn(move || acceptor.0.incoming().for_each(drop));
    Neighbour { host: "unfriendly.example.org".to_owned(), places }
}

#[test]
fn a_peer_that_connects_itself_is_not_dialled_and_the_greater_name_wins() {
    let folder = tempfile::tempdir().unwrap();
    let relay = Acceptor::new();
    let mut peering = peering(vec![relay.place()]);
    peering.neighbours.push(unfriendly());
    let world = start_calling(folder.path(), peering, None, |_| {});
    // Our CER is out, and unanswered, when the peer's comes: "ocs" is greater than "dra" and wins, so that what
    // "dra" began stays.
    let (stream, _) = relay.0.accept().expect("a connection");
    let mut ours = Client::over(stream, HOST);
    ours.receive().expect("a CER");
    let mut theirs = Client::new(world.address, HOST);
    assert_eq!(ours.receive(), None);
    assert_eq!(until(&world, "came")["why"], Value::Null);
    world.fill(1, 1000);
    let imsi = imsi(1);
    assert_eq!(theirs.charge(&ccr("s;1", 0, RequestType::Initial, &imsi)).0, 2001);
    // While it is connected it is not dialled, however often another one is; when it has gone it is.
    let others = || world.order(&json!({ "do": "peers" }))["calls"][1]["tries"].as_u64();
    let before = others();
    awaited("another one is dialled", || if others() > before.map(|tries| tries + 2) { Ok(()) } else { Err(others()) });
    assert_eq!(call(&world)["tries"], 1);
    drop(theirs);
    drop(relay.answers(HOST, 2001, &[4]));
}

#[test]
fn who_loses_an_election_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let relay = Acceptor::new();
    let world = start_calling(
        folder.path(),
        Peering {
            neighbours: vec![Neighbour { host: "zoe.example.org".to_owned(), places: vec![relay.place()] }],
            ..peering(Vec::new())
        },
        None,
        |_| {},
    );
    let (stream, _) = relay.0.accept().expect("a connection");
    let mut ours = Client::over(stream, "zoe.example.org");
    let cer = ours.receive().expect("a CER");
    let mut theirs = Client::raw(world.address, "zoe.example.org");
    // The peer's CER is ours with its name, which has as many letters.
    let at = cer.windows(15).position(|name| name == b"ocs.example.org").expect("the name");
    let mut octets = cer.clone();
    octets[at..at + 3].copy_from_slice(b"zoe");
    let answer = theirs.ask(&octets);
    let message = Message::new(&answer).unwrap();
    assert_eq!(CapabilitiesExchangeAnswer::read(&message).unwrap().result_code, 4003);
    assert_eq!(theirs.receive(), None);
    assert_eq!(call(&world)["state"], "greeting");
}

/// An address that is free.
fn free() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], free_port()))
}

#[test]
fn two_nodes_that_dial_each_other_have_one_connection() {
    let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (at_a, at_b) = (free(), free());
    let to = |host: &str, address| Peering {
        neighbours: vec![Neighbour { host: host.to_owned(), places: vec![Place { address, tls: false }] }],
        ..peering(Vec::new())
    };
    let first = start_calling(a.path(), to("b.example.org", at_b), Some((at_a, None)), |local| {
        local.host = "a.example.org".to_owned();
    });
    let second = start_calling(b.path(), to("a.example.org", at_a), Some((at_b, None)), |local| {
        local.host = "b.example.org".to_owned();
    });
    let state = |world: &World| call(world)["state"].as_str().unwrap_or_default().to_owned();
    let one = |world: &World| world.order(&json!({ "do": "peers" }))["total"] == 1;
    awaited("they have one connection", || {
        let both = [state(&first), state(&second)];
        let met = both == ["open", "came"] || both == ["came", "open"];
        if met && one(&first) && one(&second) { Ok(()) } else { Err(both) }
    });
    assert_eq!(read(&refused(&second)).0, 5030);
}

/// What a client of a node that knows nobody is answered.
fn refused(world: &World) -> Vec<u8> {
    let mut client = Client::new(world.address, "pgw.example.org");
    let octets = client.ccr(&ccr("s;1", 0, RequestType::Initial, "001010000000001"));
    client.ask(&octets)
}
