//! Requests by GTP' before a core: what they are to it, and what is answered.

mod said;

use super::*;
use crate::account::IdentityKind;
use crate::session::{Core, Kind, Limits};
use trunkline_wire::gtpp::profile::{Field, FieldValue, Profile, Role};
use trunkline_wire::gtpp::{Message, cause};

const PLAN: &str = r#"
[plan]
name = "standard"
currency = "EUR"
time-zone = "Europe/Paris"
share = 100
[[version]]
from = "2026-01-01"
[[version.rule]]
name = "data"
rating-groups = [1, 2]
step = "1 KiB"
price = 1
tranche = "100 KiB"
tranche-least = "1 KiB"
validity = "1 h"
[[version.rule]]
name = "calls"
rating-groups = [3]
unit = "seconds"
step = 60
price = 6
tranche = 600
tranche-least = 60
validity = "1 h"
"#;
const NOW: i64 = 1_795_420_800;
const FROM: (core::net::IpAddr, u16) = (core::net::IpAddr::V4(core::net::Ipv4Addr::new(192, 0, 2, 1)), 3386);

struct World {
    core: Core,
    recent: Recent,
    mapping: Mapping,
    now: i64,
}

impl World {
    fn new(balance: i64) -> World {
        let mut core = Core::new(Limits::default());
        core.set_plan(PLAN, NOW).unwrap();
        core.open_account(7, "standard", crate::money::Money(0), crate::money::Money(balance), NOW).unwrap();
        let imsi = crate::account::Identity::new(IdentityKind::Imsi, "001010000000007");
        core.set_subscriber(7, 7, vec![imsi], NOW).unwrap();
        World { core, recent: Recent::new(10), mapping: Mapping::default(), now: NOW }
    }

    fn message(&self, role: Role, sequence: u16, service: &str, used: Option<(u64, u64)>) -> Vec<u8> {
        let mut values = vec![
            (Field::User, FieldValue::Octets(b"001010000000007")),
            (Field::Session, FieldValue::Octets(b"a\0%;1")),
            (Field::Service, FieldValue::Octets(service.as_bytes())),
        ];
        if let Some((units, unit)) = used {
            values.extend([(Field::Used, FieldValue::Number(units)), (Field::Unit, FieldValue::Number(unit))]);
        }
        let mut out = Vec::new();
        self.mapping.profile.write(role, sequence, &values, &mut out).unwrap();
        out
    }

    /// What a request is to the core, the answer's octets, and those of the answer as it is read: cause and grant.
    fn say(&mut self, octets: &[u8]) -> Result<(Kind, Vec<u8>), Late> {
        let message = Message::new(octets).unwrap();
        let profile = self.mapping.profile.clone();
        let quota = profile.read(&message).unwrap();
        let Ok(Ask::Charge(charge)) = ask(&quota, &message, &self.mapping, FROM) else { panic!("{quota}") };
        let request = request(&self.core, &mut self.recent, &charge, self.now)?;
        let outcome = self.core.handle(&request, self.now);
        if outcome.entry.is_some() {
            let standing = self.core.standing(&charge.session, charge.octets).unwrap();
            self.recent.put(standing.slot, charge.octets, self.now);
        }
        let mut out = Vec::new();
        tell(&quota, &outcome.answer, &self.mapping, &mut out).unwrap();
        Ok((request.kind, out))
    }

    fn asks(&mut self, role: Role, sequence: u16, service: &str, used: Option<(u64, u64)>) -> (Kind, u64, Option<u64>) {
        let (kind, answer) = self.say(&self.message(role, sequence, service, used)).unwrap();
        let message = Message::new(&answer).unwrap();
        let profile = Profile::default();
        let quota = profile.read(&message).unwrap();
        assert_eq!((quota.sequence, Some(quota.role)), (sequence, role.response()));
        assert_eq!(quota.octets(Field::Session), Some(&b"a\0%;1"[..]));
        (kind, quota.number(Field::Cause).unwrap().unwrap(), quota.number(Field::Granted).unwrap())
    }

    fn balance(&self) -> (i64, i64) {
        let account = self.core.state().account(7).unwrap();
        (account.balance.0, account.reserved.0)
    }
}

const ACCEPTED: u64 = cause::REQUEST_ACCEPTED as u64;
const TRANCHE: Option<u64> = Some(100 << 10);

#[test]
fn a_session_of_two_services_ends_with_the_last() {
    let mut world = World::new(10_000);
    assert_eq!(world.asks(Role::AuthorizationRequest, 1, "1", None), (Kind::Initial, ACCEPTED, TRANCHE));
    assert_eq!(world.asks(Role::AuthorizationRequest, 2, "3", None), (Kind::Update, ACCEPTED, Some(600)));
    assert_eq!(world.balance(), (10_000, 160));
    let name = "gtpp;192.0.2.1;a%00%25;1";
    let shown = world.core.session(name).expect("it is named by its gateway and octets");
    assert_eq!((shown.origin, shown.services.len()), ("gtpp:192.0.2.1:3386", 2));
    let more = world.asks(Role::ReauthorizationRequest, 3, "1", Some((2048, 0)));
    assert_eq!(more, (Kind::Update, ACCEPTED, TRANCHE));
    assert_eq!(world.asks(Role::ServiceStopRequest, 4, "1", Some((1024, 0))), (Kind::Update, ACCEPTED, None));
    assert_eq!(world.balance(), (9_997, 60));
    assert_eq!(world.asks(Role::ServiceStopRequest, 5, "3", Some((61, 1))), (Kind::Terminate, ACCEPTED, None));
    assert_eq!((world.balance(), world.core.session(name)), ((9_985, 0), None));
    let refused = u64::from(cause::NOT_FULFILLED);
    assert_eq!(world.asks(Role::ReauthorizationRequest, 6, "1", Some((1, 0))).1, refused, "it is over");
}

#[test]
fn copies_are_answered_the_same_and_late_ones_dropped() {
    let mut world = World::new(10_000);
    let first = world.message(Role::AuthorizationRequest, 65_535, "1", None);
    let (_, answer) = world.say(&first).unwrap();
    let mut said = vec![(first, answer)];
    for round in 0..6u16 {
        // The sequence number goes on after 65,535, and the same usage is another request.
        let octets = world.message(Role::ReauthorizationRequest, round, "1", Some((1024, 0)));
        let (_, answer) = world.say(&octets).unwrap();
        said.push((octets, answer));
    }
    let balance = world.balance();
    assert_eq!(balance.0, 10_000 - 6);
    for (octets, answer) in &said[3..] {
        assert_eq!(world.say(octets).unwrap().1, *answer);
    }
    for (octets, _) in &said[..3] {
        assert_eq!(world.say(octets), Err(Late { full: false }));
    }
    assert_eq!(world.balance(), balance);
    // Much later the same octets are a request of their own.
    world.now += 11;
    assert!(world.say(&said[1].0).is_ok());
    assert_eq!(world.balance().0, balance.0 - 1);
}

#[test]
fn what_is_granted_after_a_top_up_is_pushed_as_far_as_it_is_more() {
    let mut world = World::new(10);
    assert_eq!(world.asks(Role::AuthorizationRequest, 1, "1", None), (Kind::Initial, ACCEPTED, Some(10 << 10)));
    assert_eq!(world.core.poll(), None);
    world.core.add_money(7, crate::account::MoneyReason::TopUp, crate::money::Money(50), "", NOW).unwrap();
    let asked = world.core.poll().expect("its last units were granted");
    let pushes = pushes(&world.core, &asked).unwrap();
    let key = pushes.granted[0];
    assert_eq!((pushes.granted.len(), pushes.returned.len()), (1, 0));
    assert_eq!(replaced(&world.core, &asked.session, key), Some((crate::units::Unit::Octets, 10 << 10)));
    let request = server_request(&world.core, &asked.session, key).unwrap();
    let outcome = world.core.handle(&request, NOW);
    let given = &outcome.answer.services[0];
    assert_eq!((given.granted, world.balance()), (Some((crate::units::Unit::Octets, 60 << 10)), (60, 60)));
    assert!(!world.core.is_asked(&asked.session));
    let mut out = Vec::new();
    push(9, (&asked.session, "001010000000007"), given, 50 << 10, &world.mapping, &mut out).unwrap();
    let message = Message::new(&out).unwrap();
    let quota = world.mapping.profile.read(&message).unwrap();
    let shown = quota.to_string();
    assert_eq!(quota.octets(Field::Session), Some(&b"a\0%;1"[..]), "{shown}");
    assert_eq!((quota.number(Field::Granted), quota.text(Field::Service)), (Ok(Some(50 << 10)), Ok(Some("1"))));
    // To end it, what is left is asked back.
    world.core.abort(&asked.session, NOW).unwrap();
    let asked = world.core.poll().unwrap();
    assert_eq!(super::pushes(&world.core, &asked).unwrap().returned, [key]);
}

#[test]
fn services_and_users_have_the_names_of_a_file() {
    let text = "[messages]\nauthorization-request = 40\n[elements]\nsession = 0xc8\n[services]\nweb = 10\n\
                [users]\nare = [\"e164\", \"nai\"]\n";
    let mapping = read("profile.toml", text).unwrap();
    assert_eq!(mapping.profile.message(Role::AuthorizationRequest), 40);
    assert_eq!(mapping.profile.element(Field::Session), 200);
    assert_eq!(
        (mapping.rating_group("web"), mapping.rating_group("4"), mapping.rating_group("x")),
        (Some(10), Some(4), None)
    );
    assert_eq!((mapping.service(10), mapping.service(4)), ("web".to_owned(), "4".to_owned()));
    assert_eq!(mapping.users, [IdentityKind::E164, IdentityKind::Nai]);
    assert_eq!(read("p", "").unwrap(), Mapping::default());
    let wrong = "[messages]\nauthorisation-request = 40\nuser-profile-request = 300\n[elements]\nsession = 129\n\
                 [services]\na = 1\nb = 1\n[users]\nare = [\"imei\"]\n[more]\n";
    let told: Vec<String> = read("p", wrong).unwrap_err().iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 6, "{told:#?}");
    assert!(told.iter().any(|line| line.contains("p:2:1") && line.contains("authorization-request")), "{told:#?}");
    assert!(told.iter().any(|line| line.contains("129 is given twice")), "{told:#?}");
}

#[test]
fn what_has_a_wrong_length_or_an_unknown_service_is_told_apart() {
    let world = World::new(1);
    let read = |values: &[(Field, FieldValue<'_>)]| {
        let mut out = Vec::new();
        world.mapping.profile.write(Role::ReauthorizationRequest, 1, values, &mut out).unwrap();
        let message = Message::new(&out).unwrap();
        let quota = world.mapping.profile.read(&message).unwrap();
        ask(&quota, &message, &world.mapping, FROM).err()
    };
    let session = (Field::Session, FieldValue::Octets(b"a"));
    let service = |name: &'static [u8]| (Field::Service, FieldValue::Octets(name));
    assert_eq!(read(&[session, service(b"1")]), None);
    assert_eq!(read(&[session, service(b"nobody")]), Some(Unread::Service));
    assert_eq!(read(&[session, service(b"\xff")]), Some(Unread::Length));
    assert_eq!(read(&[(Field::Session, FieldValue::Octets(b"")), service(b"1")]), Some(Unread::Length));
    assert_eq!(read(&[(Field::Session, FieldValue::Octets(&[7; 200])), service(b"1")]), Some(Unread::Length));
    assert_eq!(read(&[session, service(b"1"), (Field::Used, FieldValue::Octets(&[0; 9]))]), Some(Unread::Length));
    let long = (Field::User, FieldValue::Octets(&[b'1'; 300]));
    assert_eq!(read(&[session, service(b"1"), long]), Some(Unread::Length));
}
