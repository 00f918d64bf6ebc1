//! A node that finds its subscribers in OpenLDAP's server: known, barred, unknown, and while the server stands still,
//! is slow or is gone.
//!
//! Test group: waits: for a directory that is slow.

use crate::eventually::{PATIENCE, awaited, eventually};
use crate::served;
use crate::slapd;

use served::{Ccr, Client, World, imsi, read, start_beside};
use slapd::{Server, Tree, is_installed};
use std::fmt::Write as _;
use std::net::UdpSocket;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use trunkline_charge::job::Profiles;
use trunkline_directory::{Bounded, DirectorySection, prepare};
use trunkline_wire::diameter;
use trunkline_wire::diameter::enumerated::RequestType;
use trunkline_wire::gtpp::Message;
use trunkline_wire::gtpp::profile::{Field, FieldValue, Profile, Role};

const TIMEOUT: Duration = Duration::from_millis(300);

/// Subscribers 1 to 400: their accounts have their numbers, a credit of 10.00 and the plan `standard`. Each tenth is
/// barred, and the account of 7 is no number.
fn ldif() -> String {
    let mut out = "dn: dc=example\nobjectClass: domain\ndc: example\n\n".to_owned();
    for number in 1..=400 {
        let status = if number % 10 == 0 { "barred" } else { "active" };
        let account = if number == 7 { "seven".to_owned() } else { number.to_string() };
        write!(
            out,
            "dn: uid=u{number},dc=example\nobjectClass: inetOrgPerson\nuid: u{number}\ncn: u\nsn: u\n\
            mobile: +44{number}\nemployeeNumber: {}\nemployeeType: standard\ndepartmentNumber: 1000\n\
            roomNumber: {account}\ntitle: {status}\n\n",
            imsi(number)
        )
        .expect("a string takes all");
    }
    out
}

fn section(servers: &[&Server], remember: Duration) -> DirectorySection {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    DirectorySection {
        servers: servers.iter().map(|server| server.url()).collect(),
        base: "dc=example".to_owned(),
        filters: texts(&["(employeeNumber={imsi})", "(mobile=+{msisdn})"]),
        attributes: texts(&[
            "account = roomNumber required",
            "plan = employeeType",
            "credit = departmentNumber",
            "status = title",
            "msisdn = mobile",
            "imsi = employeeNumber",
        ]),
        timeout: TIMEOUT,
        connect_timeout: TIMEOUT,
        retry: Duration::from_millis(50),
        retry_max: Duration::from_millis(100),
        remember,
        stale: Duration::ZERO,
        remember_absent: Duration::ZERO,
        ..DirectorySection::default()
    }
}

/// A node with its plan, beside servers that are up.
fn world(folder: &Path, servers: &[&Server], remember: Duration) -> World {
    world_of(folder, section(servers, remember))
}

fn world_of(folder: &Path, section: DirectorySection) -> World {
    let servers = section.servers.len();
    let prepared = prepare(section.options().expect("options")).expect("files");
    let profiles = Profiles::start(prepared, Box::new(Bounded::new(usize::MAX, 1 << 20))).expect("a thread");
    let world = start_beside(folder, profiles);
    world.fill(0, 0);
    is_up(&world, servers);
    world
}

fn is_up(world: &World, count: usize) {
    awaited("the servers are up", || {
        let shown = world.node.directory();
        let up = shown.iter().flat_map(|shown| &shown.servers).filter(|(_, one)| one.is_up).count();
        if up < count { Err(Box::new(shown)) } else { Ok(()) }
    });
}

fn begins<'a>(session: &'a str, imsi: &'a str) -> Ccr<'a> {
    Ccr { session, number: 0, kind: RequestType::Initial, imsi, used: None, asks: true }
}

fn goes_on<'a>(session: &'a str, imsi: &'a str) -> Ccr<'a> {
    Ccr { number: 1, kind: RequestType::Update, used: Some(1024), ..begins(session, imsi) }
}

/// The identifier of a request or an answer of Diameter.
fn hop_by_hop(octets: &[u8]) -> u32 {
    diameter::Message::new(octets).expect("a message").header.hop_by_hop
}

fn begin(client: &mut Client, session: &str, number: u64) -> (u32, Option<u64>) {
    let (result, granted, _) = client.charge(&begins(session, &imsi(number)));
    (result, granted)
}

#[test]
fn who_the_directory_has_is_served_and_nobody_else() {
    if !is_installed() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let tree = Tree::new(ldif());
    let server = tree.serve();
    let world = world(folder.path(), &[&server], Duration::ZERO);
    let mut client = Client::new(world.address, "gw.example.org");
    assert_eq!(begin(&mut client, "a", 1), (2001, Some(102_400)));
    assert_eq!(world.balance(1), (0, 100));
    let shown = world.order(&serde_json::json!({ "do": "show-subscriber", "identity": "e164:441" }));
    assert_eq!(shown["identities"], serde_json::json!(["e164:441", format!("imsi:{}", imsi(1))]));
    assert_eq!((&shown["account"]["number"], &shown["account"]["credit"]), (&1.into(), &1000.into()));
    assert_eq!(begin(&mut client, "barred", 10).0, 4010);
    assert_eq!(begin(&mut client, "unknown", 401).0, 5030);
    assert_eq!(begin(&mut client, "broken", 7).0, 5012);
    // What is known already is no news.
    let before = world.node.look(|core| core.state().sequence());
    assert_eq!(begin(&mut client, "b", 1).0, 2001);
    assert_eq!(world.node.look(|core| core.state().sequence()), before + 1);
    let counts = world.node.counts();
    let found = (counts.profiles_found, counts.profiles_absent, counts.profiles_failed, counts.profiles_refused);
    assert_eq!(found, (4, 1, 0, 3));
    let status = world.order(&serde_json::json!({ "do": "status" }));
    assert_eq!(status["directory"]["servers"][0]["up"], true, "{status}");
}

/// What is said by GTP' to a request of a subscriber: cause and grant.
fn quota(socket: &UdpSocket, role: Role, sequence: u16, imsi: &str) -> (u64, Option<u64>) {
    let session = format!("s-{imsi}");
    let values = [
        (Field::User, FieldValue::Octets(imsi.as_bytes())),
        (Field::Session, FieldValue::Octets(session.as_bytes())),
        (Field::Service, FieldValue::Octets(b"1")),
    ];
    let (profile, mut octets) = (Profile::default(), Vec::new());
    profile.write(role, sequence, &values, &mut octets).expect("a message");
    socket.send(&octets).expect("sent");
    let mut room = [0; 2048];
    let length = socket.recv(&mut room).expect("an answer");
    let message = Message::new(&room[..length]).expect("a message");
    let quota = profile.read(&message).expect("an answer");
    assert_eq!((Some(quota.role), quota.sequence), (role.response(), sequence));
    let number = |field| quota.number(field).expect("a number");
    (number(Field::Cause).expect("a cause"), number(Field::Granted))
}

#[test]
fn gateways_by_gtpp_are_told_what_the_directory_says() {
    if !is_installed() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let tree = Tree::new(ldif());
    let server = tree.serve();
    let world = world(folder.path(), &[&server], Duration::ZERO);
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.connect(world.gtpp.expect("it serves GTP'")).expect("connected");
    socket.set_read_timeout(Some(PATIENCE)).expect("a time-out");
    let (profile, authorize) = (Role::UserProfileRequest, Role::AuthorizationRequest);
    assert_eq!(quota(&socket, profile, 1, &imsi(1)), (128, None));
    assert_eq!(quota(&socket, authorize, 2, &imsi(1)), (128, Some(102_400)));
    assert_eq!(world.balance(1), (0, 100));
    // Barred, unknown.
    assert_eq!(quota(&socket, authorize, 3, &imsi(10)), (255, None));
    assert_eq!(quota(&socket, profile, 4, &imsi(401)), (255, None));
    assert_eq!(quota(&socket, authorize, 5, &imsi(401)), (255, None));
    // A copy is answered as before, whatever the directory says.
    server.stop();
    assert_eq!(quota(&socket, authorize, 2, &imsi(1)), (128, Some(102_400)));
    server.go_on();
    assert_eq!((world.node.counts().copies, world.balance(1)), (1, (0, 100)));
}

#[test]
fn copies_in_flight_are_one_session() {
    if !is_installed() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let tree = Tree::new(ldif());
    let server = tree.serve();
    let section = DirectorySection { timeout: PATIENCE, ..section(&[&server], Duration::ZERO) };
    let world = world_of(folder.path(), section);
    let mut client = Client::new(world.address, "gw.example.org");
    assert_eq!(begin(&mut client, "known", 3).0, 2001);
    let octets = client.ccr(&begins("a", &imsi(2)));
    server.stop();
    client.send(&[&octets[..], &octets, &octets].concat());
    // Once what comes after them is answered, all of them wait for the directory.
    assert_eq!(client.charge(&goes_on("known", &imsi(3))).0, 2001);
    server.go_on();
    let answers: Vec<Vec<u8>> = (0..3).map(|_| client.receive().expect("an answer")).collect();
    assert_eq!(read(&answers[0]), (2001, Some(102_400), Some(2001)));
    assert!(answers[0] == answers[1] && answers[1] == answers[2]);
    assert_eq!(world.balance(2), (0, 100));
    assert_eq!(world.node.counts().copies, 2);
}

#[test]
fn a_directory_that_stands_still_holds_up_nobody_who_is_known() {
    if !is_installed() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let tree = Tree::new(ldif());
    let server = tree.serve();
    let world = world(folder.path(), &[&server], Duration::ZERO);
    let mut client = Client::new(world.address, "gw.example.org");
    assert_eq!(begin(&mut client, "a", 3).0, 2001);
    server.stop();
    let known = client.ccr(&begins("b", &imsi(3)));
    let stranger = client.ccr(&begins("c", &imsi(4)));
    // A session that is open goes on meanwhile: it is answered before them.
    let update = client.ccr(&goes_on("a", &imsi(3)));
    client.send(&[&known[..], &stranger, &update].concat());
    let first = client.receive().expect("an answer");
    assert_eq!((hop_by_hop(&first), read(&first).0), (hop_by_hop(&update), 2001));
    let mut results: Vec<u32> = (0..2).map(|_| read(&client.receive().expect("an answer")).0).collect();
    results.sort_unstable();
    assert_eq!(results, [2001, 3004]);
    eventually("one stood in", || world.node.counts().profiles_stood_in == 1);
    // It is known to be down: nobody waits for it, and it is not asked.
    let asked = || world.node.directory().expect("a directory").servers[0].1.counts.operations;
    let before = asked();
    assert_eq!(begin(&mut client, "d", 3).0, 2001);
    assert_eq!(asked(), before);
    server.go_on();
    is_found_again(&mut client, "c", 4);
}

/// The directory is asked again before long.
fn is_found_again(client: &mut Client, session: &str, number: u64) {
    eventually("it is found again", || begin(client, session, number).0 == 2001);
}

/// Stops and goes on, by turns, until it is told to end.
fn hold_up(server: &Server, ends: &AtomicBool) {
    while !ends.load(Ordering::Relaxed) {
        server.stop();
        std::thread::park_timeout(Duration::from_millis(100));
        server.go_on();
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

#[test]
fn a_slow_directory_makes_answers_late_and_none_wrong() {
    if !is_installed() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let tree = Tree::new(ldif());
    let (server, other) = (tree.serve(), tree.serve());
    let world = world(folder.path(), &[&server, &other], Duration::from_secs(60));
    let mut client = Client::new(world.address, "gw.example.org");
    let numbers: Vec<u64> = (101..400).filter(|number| number % 10 != 0).collect();
    let ends = AtomicBool::new(false);
    let answers = std::thread::scope(|scope| {
        scope.spawn(|| hold_up(&server, &ends));
        scope.spawn(|| hold_up(&other, &ends));
        for number in &numbers {
            let octets = client.ccr(&begins(&format!("s{number}"), &imsi(*number)));
            // Each of them twice.
            client.send(&[&octets[..], &octets].concat());
        }
        let answers: Vec<Vec<u8>> = (0..2 * numbers.len()).map(|_| client.receive().expect("an answer")).collect();
        ends.store(true, Ordering::Relaxed);
        answers
    });
    let (served, late): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| read(answer).0 == 2001);
    assert!(late.iter().all(|answer| read(answer).0 == 3004) && !served.is_empty());
    // Who was told to come again comes again, and everybody has one session in the end.
    for number in &numbers {
        is_found_again(&mut client, &format!("s{number}"), *number);
        assert_eq!(world.balance(*number), (0, 100));
    }
}

#[test]
fn without_its_servers_what_is_known_is_served() {
    if !is_installed() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let tree = Tree::new(ldif());
    let mut server = tree.serve();
    let world = world(folder.path(), &[&server], Duration::ZERO);
    let mut client = Client::new(world.address, "gw.example.org");
    assert_eq!(begin(&mut client, "a", 5).0, 2001);
    server.kill();
    assert_eq!(begin(&mut client, "b", 5).0, 2001);
    assert_eq!(begin(&mut client, "c", 6).0, 3004);
    server.restart();
    is_found_again(&mut client, "c", 6);
    let forgotten = world.order(&serde_json::json!({ "do": "forget", "identity": "imsi:00101" }));
    assert_eq!(forgotten["forgotten"], "imsi:00101");
}
