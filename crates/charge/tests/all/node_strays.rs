//! Usage of no session, over the wire: each report is an entry of the ledger, so that it is bounded; who has a session
//! is served all the same, and copies are answered as before.

use crate::eventually::{PATIENCE, awaited};
use crate::served;
use served::{Ccr, Client, World, imsi, read, start, start_with_gtpp};
use std::net::UdpSocket;
use trunkline_wire::diameter::enumerated::RequestType;
use trunkline_wire::gtpp::profile::{Field, FieldValue, Profile, Role};
use trunkline_wire::gtpp::{Message, cause};

/// Reports that are taken in a minute.
const STRAYS_MAX: usize = 6000;
/// Requests that a node may decide about at once, which it has counted before it refuses.
const AT_ONCE: usize = 256;
/// Reports that are brought: so many have to be refused whatever is taken at once.
const BROUGHT: usize = STRAYS_MAX + 4 * AT_ONCE;

fn unrated(world: &World) -> usize {
    usize::try_from(world.node.look(|core| core.state().unrated())).expect("a number")
}

/// What is taken and refused adds up, and is bounded.
fn is_bounded(world: &World, taken: usize, refused: usize) {
    assert_eq!(taken + refused, BROUGHT);
    assert!((STRAYS_MAX..=STRAYS_MAX + AT_ONCE).contains(&taken), "{taken}");
    is_counted(world, (taken, refused));
}

/// Threads lay their counts down after they have answered.
fn is_counted(world: &World, expected: (usize, usize)) {
    awaited(&format!("{expected:?} are taken and refused"), || {
        let counted = (unrated(world), world.node.counts().strays_refused as usize);
        if counted == expected { Ok(()) } else { Err(counted) }
    });
}

fn used(session: &str, number: u32, kind: RequestType) -> Ccr<'_> {
    Ccr { session, number, kind, imsi: "001010000000001", used: Some(1024), asks: true }
}

#[test]
fn a_client_of_diameter_brings_so_much_a_minute() {
    let folder = tempfile::tempdir().expect("a folder");
    let world = start(folder.path(), |_| {});
    world.fill(1, 10_000);
    let (mut client, mut other) = (Client::new(world.address, "a"), Client::new(world.address, "b"));
    let first = client.ccr(&Ccr { used: None, ..used("open", 0, RequestType::Initial) });
    assert_eq!(read(&client.ask(&first)).0, 2001);
    let strays: Vec<Vec<u8>> =
        (0..BROUGHT).map(|count| client.ccr(&used(&format!("gone;{count}"), 1, RequestType::Update))).collect();
    let mut results = Vec::new();
    for some in strays.chunks(64) {
        client.send(&some.concat());
        results.extend(some.iter().map(|_| read(&client.receive().expect("an answer")).0));
    }
    let taken = results.iter().filter(|result| **result == 5002).count();
    let refused = results.iter().filter(|result| **result == 3004).count();
    is_bounded(&world, taken, refused);
    assert_eq!(results.iter().position(|result| *result == 3004), Some(taken), "first what is taken");
    // A copy is answered as before, and is no report.
    assert_eq!(read(&client.ask(&strays[taken - 1])).0, 5002);
    // Its own session goes on, and another client has not brought any.
    let (result, granted, _) = client.charge(&used("open", 1, RequestType::Update));
    assert_eq!((result, granted), (2001, Some(102_400)));
    assert_eq!(other.charge(&used("gone", 1, RequestType::Update)).0, 5002);
    is_counted(&world, (taken + 1, refused));
}

fn report(role: Role, sequence: u16, session: &str, used: Option<u64>) -> Vec<u8> {
    let one = imsi(1);
    let mut values = vec![
        (Field::User, FieldValue::Octets(one.as_bytes())),
        (Field::Session, FieldValue::Octets(session.as_bytes())),
        (Field::Service, FieldValue::Octets(b"1")),
    ];
    values.extend(used.map(|used| (Field::Used, FieldValue::Number(used))));
    let mut octets = Vec::new();
    Profile::default().write(role, sequence, &values, &mut octets).expect("a message");
    octets
}

/// Sends, and reads the causes of the answers, which may come in any order.
fn causes(socket: &UdpSocket, asked: &[Vec<u8>]) -> Vec<u64> {
    asked.iter().for_each(|octets| assert_eq!(socket.send(octets).expect("sent"), octets.len()));
    let mut room = [0; 2048];
    let mut cause = || {
        let length = socket.recv(&mut room).expect("an answer");
        let profile = Profile::default();
        let message = Message::new(&room[..length]).expect("a message");
        let quota = profile.read(&message).expect("an answer");
        quota.number(Field::Cause).expect("a number").expect("a cause")
    };
    asked.iter().map(|_| cause()).collect()
}

#[test]
fn gateways_by_gtpp_bring_so_much_a_minute() {
    let folder = tempfile::tempdir().expect("a folder");
    let world = start_with_gtpp(folder.path());
    world.fill(1, 10_000);
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.connect(world.gtpp.expect("it serves GTP'")).expect("connected");
    socket.set_read_timeout(Some(PATIENCE)).expect("a time-out");
    let accepted = u64::from(cause::REQUEST_ACCEPTED);
    let ended = report(Role::ServiceStopRequest, 2, "ended", Some(1024));
    for first in [report(Role::AuthorizationRequest, 1, "ended", None), ended.clone()] {
        assert_eq!(causes(&socket, &[first]), [accepted]);
    }
    assert_eq!(causes(&socket, &[report(Role::AuthorizationRequest, 3, "open", None)]), [accepted]);
    let strays: Vec<Vec<u8>> = (0..BROUGHT)
        .map(|count| report(Role::ReauthorizationRequest, 10 + count as u16, &format!("gone {count}"), Some(1024)))
        .collect();
    let told: Vec<u64> = strays.chunks(32).flat_map(|some| causes(&socket, some)).collect();
    assert!(!told.contains(&accepted));
    let taken = told.iter().filter(|cause| **cause == told[0]).count();
    is_bounded(&world, taken, BROUGHT - taken);
    // Copies are answered as before: of what was told to have no session, and of the end of one that was charged.
    assert_eq!(causes(&socket, &strays[taken - 1..taken]), told[..1]);
    assert_eq!(causes(&socket, &[ended]), [accepted]);
    // Who has a session is served.
    assert_eq!(causes(&socket, &[report(Role::ReauthorizationRequest, 4, "open", Some(1024))]), [accepted]);
    is_counted(&world, (taken, BROUGHT - taken));
}
