//! What the fuzz targets drive.

use crate::image::{BlockHead, End, Entry, HEAD_OCTETS, Pack, Preamble, Record, Records, Scan, plan};
use crate::peer;
use crate::protocol::{Now, binary, meta, text, udp};
use crate::route;
use crate::route::answer::{self, Asked};
use crate::service::{Alone, Connection, Next, Service, Settings, Shared};
use crate::store::{Hashing, Rules, Store, Value};
use std::sync::Arc;

/// Octets up to which an input is told the same however it is cut: a longer line is refused where its end is not seen.
const SAME_OCTETS_MAX: usize = text::LINE_OCTETS_MAX;
const STARTED: u64 = 1_700_000_000;

/// The text protocol: no input does harm, and none is answered otherwise because it came in other pieces.
pub fn text(octets: &[u8]) {
    let line = octets.split(|&o| o == b'\n').next().unwrap_or_default();
    let _ = text::parse(text::line(line));
    // A first octet of the other protocol would make it that.
    if octets.first() != Some(&binary::REQUEST) {
        same_in_pieces(octets);
    }
}

/// The meta commands: each line is one, whatever it begins with.
pub fn meta(octets: &[u8]) {
    let mut script = Vec::new();
    for line in octets.split(|&o| o == b'\n') {
        if let Ok(text::Command::Meta(meta::Command::Get(request))) = text::parse(text::line(line)) {
            assert!(request.key.octets().len() <= text::KEY_OCTETS_MAX);
        }
        let command = [&b"mg k "[..], b"ms k 2 ", b"md k ", b"ma k ", b"me "][line.len() % 5];
        script.extend_from_slice(command);
        script.extend_from_slice(line);
        script.extend_from_slice(b"\r\n12\r\n");
    }
    same_in_pieces(&script);
}

/// The binary protocol.
pub fn binary(octets: &[u8]) {
    let mut script = octets.to_vec();
    if let Some(first) = script.first_mut() {
        *first = binary::REQUEST;
    }
    if let Some(header) = binary::Header::read(&script) {
        assert!(header.value_octets().is_none_or(|value| value <= header.body_octets));
    }
    same_in_pieces(&script);
}

/// Datagrams: what is answered is one message, numbered through.
pub fn udp(octets: &[u8]) {
    let (mut service, mut answer) = (service(), Vec::new());
    assert_eq!(service.ahead([octets; 3].into_iter()), 3);
    let Some(id) = service.datagram(octets, &mut answer, now()) else {
        assert!(answer.is_empty());
        return;
    };
    assert_eq!(id.to_be_bytes(), octets[..2]);
    let mut whole = Vec::new();
    let datagrams = udp::datagrams(id, &answer);
    let count = datagrams.len();
    for (at, (head, piece)) in datagrams.enumerate() {
        assert_eq!(head[2..6], [(at >> 8) as u8, at as u8, (count >> 8) as u8, count as u8]);
        assert!(head.len() + piece.len() <= udp::DATAGRAM_OCTETS_MAX);
        whole.extend_from_slice(piece);
    }
    assert_eq!(whole, answer);
}

/// Answers of servers: each ends where it ends, however much of it is here and whatever follows.
pub fn route_answer(octets: &[u8]) {
    const VALUE_OCTETS_MAX: usize = 1 << 16;
    for asked in [Asked::Get, Asked::Line] {
        let mut rest = octets;
        while let Ok(Some(answer)) = answer::read(rest, asked, VALUE_OCTETS_MAX) {
            assert!(answer.told <= answer.octets && answer.octets > 0 && answer.octets <= rest.len());
            assert_eq!(answer::read(&rest[..answer.octets], asked, VALUE_OCTETS_MAX), Ok(Some(answer)));
            assert_eq!(answer::read(&rest[..answer.octets - 1], asked, VALUE_OCTETS_MAX), Ok(None));
            rest = &rest[answer.octets..];
        }
    }
}

/// What clients say to a proxy: no input does harm, and none goes on otherwise because it came in other pieces.
pub fn route_client(octets: &[u8]) {
    let whole = routed(octets, octets.len().max(1));
    if octets.len() <= SAME_OCTETS_MAX {
        for piece in [1, 7] {
            assert_eq!(routed(octets, piece), whole, "in pieces of {piece}");
        }
    }
}

/// What a proxy tells its client and sends to its server, and what the client waits for, after input in pieces.
fn routed(octets: &[u8], piece: usize) -> (Vec<u8>, Vec<u8>, route::Next) {
    let config = "[route]\nflush = true\nclient-queue = 100000\n[pool.a]\nservers = [\"a:1\"]\n";
    let config = route::config::read("", config).expect("it is right");
    let mut router = route::Router::new(Arc::new(config), Arc::new(Nobody));
    let client = router.accepted();
    let (mut carried, mut told, mut sent) = (Vec::new(), Vec::new(), Vec::new());
    let mut next = route::Next::More;
    for piece in octets.chunks(piece) {
        carried.extend_from_slice(piece);
        let taken = router.octets(client, &carried, route::Moment::default());
        assert!(taken <= carried.len());
        carried.drain(..taken);
        next = router.say(client, usize::MAX, &mut |octets| told.extend_from_slice(octets));
        if next == route::Next::Close {
            break;
        }
    }
    router.servers.say(0, usize::MAX, |octets| sent.extend_from_slice(octets));
    (told, sent, next)
}

/// The process of a router that has none.
struct Nobody;

impl route::Host for Nobody {
    fn deleted(&self, _: &[u8], _: core::time::Duration) {}

    fn is_deleted(&self, _: &[u8], _: core::time::Duration) -> bool {
        false
    }

    fn stats(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn version(&self) -> &str {
        "1"
    }
}

/// Images: no octets do harm, whatever stands for which part; items that read are stored, and written again as they
/// were.
pub fn image(octets: &[u8]) {
    let _ = (Preamble::read(octets), End::read(octets, 0), Record::read(octets));
    let entries: Vec<_> = Entry::read_all(octets).collect();
    let count = entries.len();
    assert!(plan(entries, u64::MAX / 2).entries.len() <= count);
    let (mut scan, mut at) = (Scan::default(), 0);
    while let Some(Ok(head)) = octets.get(at..).map(|rest| BlockHead::read(rest, at as u64)) {
        if !scan.head(at as u64, &head) {
            break;
        }
        at += head.whole_octets() as usize;
    }
    scan.entries();
    let mut writer = Store::new(Rules { limit_octets: 1 << 20, ..Rules::default() }).writer();
    let mut pack = Pack::new(0);
    for record in Records::of(octets).map_while(Result::ok) {
        let _ = writer.restore(record.key, Value::Octets(record.value), 1, &record.standing);
        pack.clear();
        pack.push(record.key, &record.standing, record.value.len() as u64, 0, |output| {
            output.extend_from_slice(record.value);
        });
        let block = pack.seal(crate::image::Kind::Items, 0);
        assert_eq!(Records::of(&block[HEAD_OCTETS..]).next(), Some(Ok(record)));
    }
}

/// What a peer may say: each line is read as either of two answers.
pub fn peer(octets: &[u8]) {
    for line in octets.split(|&octet| octet == b'\n') {
        let _ = peer::told(line);
        if let Ok(peer::Listed::Key(key, _)) = peer::listed(line) {
            let mut question = Vec::new();
            assert!(!key.is_empty() && (!peer::ask(&key, &mut question) || question.ends_with(b"\r\n")));
        }
    }
}

fn now() -> Now {
    Now::new(STARTED, (STARTED + 100) * 1_000_000)
}

fn service() -> Service {
    // Without chance, so that walks over all items go the same way.
    let hashing =
        Hashing::Fixed(|key| key.iter().fold(7, |hash, &o| (hash ^ u64::from(o)).wrapping_mul(0x100_0000_01b3)));
    let store = Store::new(Rules { limit_octets: 16 << 20, hashing, ..Rules::default() });
    Service::new(&Shared::new(store, Settings::default(), Arc::new(Alone), now()))
}

fn same_in_pieces(octets: &[u8]) {
    let whole = answers(octets, octets.len().max(1));
    let told_of_itself = octets.windows(5).any(|w| w == b"stats") || octets.windows(5).any(|w| w == b"watch");
    let is_stat = octets.first() == Some(&binary::REQUEST);
    if octets.len() <= SAME_OCTETS_MAX && !told_of_itself && !is_stat {
        for piece in [1, 7] {
            assert_eq!(answers(octets, piece), whole, "in pieces of {piece}");
        }
    }
}

/// What is answered to `octets` that come in pieces, and whether the connection ends.
fn answers(octets: &[u8], piece: usize) -> (Vec<u8>, bool) {
    let mut service = service();
    let mut connection = service.accepted(1);
    let (mut carried, mut told) = (Vec::new(), Vec::new());
    for piece in octets.chunks(piece) {
        carried.extend_from_slice(piece);
        if take_all(&mut service, &mut connection, &mut carried, &mut told) {
            return (told, true);
        }
    }
    service.closed(connection);
    (told, false)
}

/// Takes what can be taken; whether the connection ends.
fn take_all(service: &mut Service, connection: &mut Connection, carried: &mut Vec<u8>, told: &mut Vec<u8>) -> bool {
    loop {
        let before = (carried.len(), told.len());
        let taken = service.octets(connection, carried, told, now());
        carried.drain(..taken.octets);
        match taken.next {
            Next::More => return false,
            Next::Close => return true,
            Next::Resume | Next::Yield => assert_ne!((carried.len(), told.len()), before, "it goes on"),
        }
    }
}
