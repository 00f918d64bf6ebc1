//! What gateways say and are told, field by field.

use super::*;
use crate::account::{Identity, ServiceKey};
use crate::money::Money;
use crate::session::{Action, Answer, Final, Given, Push, code};
use crate::units::Unit;

const UNITS: &str = r#"
[plan]
name = "units"
currency = "EUR"
time-zone = "UTC"
[[version]]
from = "2026-01-01"
[[version.rule]]
name = "down"
rating-groups = [4]
unit = "octets-in"
step = 1
price = 1
tranche = 100
tranche-least = 1
validity = "1 h"
[[version.rule]]
name = "messages"
rating-groups = [5]
unit = "events"
price = 3
tranche = 10
tranche-least = 1
validity = "1 h"
[[version.rule]]
name = "pages"
rating-groups = [6]
unit = "service-units"
price = 7
tranche = 10
tranche-least = 1
validity = "1 h"
"#;

#[test]
fn usage_is_of_the_unit_that_its_number_says_or_that_was_granted() {
    // The service, the unit's number if there is one, what so many units cost.
    for (service, unit, units, cost) in [
        ("3", Some(1), 61, 12),
        // Without a number it is what was granted.
        ("3", None, 61, 12),
        ("4", None, 5, 5),
        ("5", None, 2, 6),
        ("6", None, 2, 14),
        // Octets of one direction are octets.
        ("4", Some(0), 5, 5),
        ("1", Some(0), 1025, 2),
        // Number 2 is what was granted of the two that are counted.
        ("5", Some(2), 2, 6),
        ("6", Some(2), 2, 14),
        // Any other number is of octets.
        ("1", Some(9), 1025, 2),
    ] {
        let mut world = World::new(10_000);
        if matches!(service, "4" | "5" | "6") {
            world.core.set_plan(UNITS, NOW).unwrap();
            world.core.set_account(7, "units", Money(0), NOW).unwrap();
        }
        let (_, cause, granted) = world.asks(Role::AuthorizationRequest, 1, service, None);
        assert_eq!((cause, granted.is_some()), (ACCEPTED, true), "{service}");
        let octets = match unit {
            Some(unit) => world.message(Role::ServiceStopRequest, 2, service, Some((units, unit))),
            None => without_unit(&world, 2, service, units),
        };
        assert_eq!(world.say(&octets).unwrap().0, Kind::Terminate);
        assert_eq!(world.balance(), (10_000 - cost, 0), "service {service}, unit {unit:?}");
    }
}

/// The end of a service whose usage has no unit.
fn without_unit(world: &World, sequence: u16, service: &str, units: u64) -> Vec<u8> {
    let values = [
        (Field::User, FieldValue::Octets(b"001010000000007")),
        (Field::Session, FieldValue::Octets(b"a\0%;1")),
        (Field::Service, FieldValue::Octets(service.as_bytes())),
        (Field::Used, FieldValue::Number(units)),
    ];
    let mut out = Vec::new();
    world.mapping.profile.write(Role::ServiceStopRequest, sequence, &values, &mut out).unwrap();
    out
}

/// What is told of an answer: cause, grant, unit, validity, redirection.
type Told = (u64, Option<u64>, Option<u64>, Option<u64>, Option<String>);

fn told(answer: &Answer) -> Told {
    let world = World::new(0);
    let octets = world.message(Role::ReauthorizationRequest, 3, "1", None);
    let message = Message::new(&octets).unwrap();
    let mut out = Vec::new();
    tell(&world.mapping.profile.read(&message).unwrap(), answer, &world.mapping, &mut out).unwrap();
    let message = Message::new(&out).unwrap();
    let quota = world.mapping.profile.read(&message).unwrap();
    assert_eq!((quota.role, quota.sequence), (Role::ReauthorizationResponse, 3));
    let number = |field| quota.number(field).unwrap();
    let redirect = quota.text(Field::Redirect).unwrap().map(str::to_owned);
    (number(Field::Cause).unwrap(), number(Field::Granted), number(Field::Unit), number(Field::Validity), redirect)
}

#[test]
fn results_have_their_causes() {
    for (result, cause) in [
        (code::SUCCESS, cause::REQUEST_ACCEPTED),
        (code::NOT_APPLICABLE, cause::REQUEST_ACCEPTED),
        (code::TOO_BUSY, cause::NO_RESOURCES),
        (code::RATING_FAILED, cause::SERVICE_NOT_SUPPORTED),
        (code::UNABLE_TO_COMPLY, cause::REJECTED_SYSTEM_FAILURE),
        (code::INVALID_VALUE, cause::MANDATORY_INCORRECT),
        (code::UNKNOWN_SESSION, cause::NOT_FULFILLED),
        (code::USER_UNKNOWN, cause::NOT_FULFILLED),
    ] {
        assert_eq!(told(&Answer::of(result)), (u64::from(cause), None, None, None, None), "{result}");
        // What a service is refused is told in place of the command's success, but not of its failure.
        let of = |code| Answer { services: vec![Given { code: result, ..Given::default() }], ..Answer::of(code) };
        assert_eq!(told(&of(code::SUCCESS)).0, u64::from(cause), "{result}");
        assert_eq!(told(&of(code::TOO_BUSY)).0, u64::from(cause::NO_RESOURCES), "{result}");
    }
}

#[test]
fn a_grant_has_its_unit_its_validity_and_where_the_last_one_leads() {
    for (unit, number) in [
        (Unit::Octets, 0),
        (Unit::OctetsIn, 0),
        (Unit::OctetsOut, 0),
        (Unit::Seconds, 1),
        (Unit::ServiceUnits, 2),
        (Unit::Events, 2),
    ] {
        let leads = |redirect: &str| Final { action: Action::Redirect, redirect: redirect.into() };
        let given = |last| Given {
            code: code::SUCCESS,
            granted: Some((unit, 70)),
            validity: Some(60),
            last,
            ..Given::default()
        };
        let answer = |last| Answer { services: vec![given(last)], ..Answer::of(code::SUCCESS) };
        let plain = (ACCEPTED, Some(70), Some(number), Some(60), None);
        assert_eq!(told(&answer(None)), plain, "{unit:?}");
        assert_eq!(told(&answer(Some(leads("")))), plain, "{unit:?}");
        let led = told(&answer(Some(leads("https://top-up.example/"))));
        assert_eq!(led, (ACCEPTED, Some(70), Some(number), Some(60), Some("https://top-up.example/".to_owned())));
    }
}

#[test]
fn what_is_asked_back_and_what_is_refused_name_the_session() {
    let (world, mut out) = (World::new(0), Vec::new());
    let key = ServiceKey { rating_group: Some(3), service: None };
    return_request(8, "gtpp;192.0.2.1;a%00%25;1", key, &world.mapping, &mut out).unwrap();
    let message = Message::new(&out).unwrap();
    let quota = world.mapping.profile.read(&message).unwrap();
    assert_eq!((quota.role, quota.sequence), (Role::QuotaReturnRequest, 8));
    assert_eq!((quota.octets(Field::Session), quota.text(Field::Service)), (Some(&b"a\0%;1"[..]), Ok(Some("3"))));
    let values = [
        (Field::User, FieldValue::Octets(b"001010000000007")),
        (Field::Session, FieldValue::Octets(b"a\0%;1")),
        (Field::Service, FieldValue::Octets(b"1")),
        (Field::Content, FieldValue::Octets(b"http://example.org/")),
    ];
    let mut asked = Vec::new();
    world.mapping.profile.write(Role::ContentAuthorizationRequest, 9, &values, &mut asked).unwrap();
    let (message, mut out) = (Message::new(&asked).unwrap(), Vec::new());
    let quota = world.mapping.profile.read(&message).unwrap();
    assert_eq!(ask(&quota, &message, &world.mapping, FROM), Ok(Ask::Other));
    refuse(&quota, cause::SERVICE_NOT_SUPPORTED, &world.mapping, &mut out).unwrap();
    let message = Message::new(&out).unwrap();
    let quota = world.mapping.profile.read(&message).unwrap();
    assert_eq!((quota.role, quota.sequence), (Role::ContentAuthorizationResponse, 9));
    assert_eq!(quota.octets(Field::Session), Some(&b"a\0%;1"[..]));
    assert_eq!(quota.number(Field::Cause), Ok(Some(u64::from(cause::SERVICE_NOT_SUPPORTED))));
}

#[test]
fn a_profile_is_the_plan_of_the_user_or_nobodys() {
    let world = World::new(0);
    let asked = world.message(Role::UserProfileRequest, 4, "1", None);
    let message = Message::new(&asked).unwrap();
    let quota = world.mapping.profile.read(&message).unwrap();
    let user = Identity::new(IdentityKind::Imsi, "001010000000007");
    let Ok(Ask::Profile(names)) = ask(&quota, &message, &world.mapping, FROM) else { panic!("{quota}") };
    assert!(names.contains(&user), "{names:?}");
    for (plan, cause) in [(Some("standard"), cause::REQUEST_ACCEPTED), (None, cause::NOT_FULFILLED)] {
        let mut out = Vec::new();
        tell_profile(&quota, plan, &world.mapping, &mut out).unwrap();
        let message = Message::new(&out).unwrap();
        let told = world.mapping.profile.read(&message).unwrap();
        assert_eq!((told.role, told.sequence), (Role::UserProfileResponse, 4));
        assert_eq!((told.text(Field::Plan), told.text(Field::User)), (Ok(plan), Ok(Some("001010000000007"))));
        assert_eq!(told.number(Field::Cause), Ok(Some(u64::from(cause))));
    }
}

#[test]
fn a_number_comes_before_the_user_without_its_plus() {
    let world = World::new(0);
    let values = [
        (Field::User, FieldValue::Octets(b"001010000000007")),
        (Field::Number, FieldValue::Octets(b"+33612")),
        (Field::Session, FieldValue::Octets(b"a")),
        (Field::Service, FieldValue::Octets(b"1")),
    ];
    let mut out = Vec::new();
    world.mapping.profile.write(Role::AuthorizationRequest, 1, &values, &mut out).unwrap();
    let message = Message::new(&out).unwrap();
    let quota = world.mapping.profile.read(&message).unwrap();
    let Ok(Ask::Charge(charge)) = ask(&quota, &message, &world.mapping, FROM) else { panic!("{quota}") };
    let names = world.mapping.users.iter().map(|kind| Identity::new(*kind, "001010000000007"));
    let number = Identity::new(IdentityKind::E164, "33612");
    assert_eq!(charge.identities, core::iter::once(number).chain(names).collect::<Vec<_>>());
    assert_eq!((charge.what, charge.used), (What::Authorize, None));
}

#[test]
fn what_came_a_moment_ago_is_remembered_so_long_and_no_longer() {
    let mut recent = Recent::new(10);
    recent.put(1, 7, 100);
    recent.put(1, 7, 105);
    recent.put(2, 7, 105);
    assert!(recent.has(1, 7) && recent.has(2, 7) && !recent.has(1, 8) && !recent.has(7, 1));
    assert!(!recent.is_full(110) && recent.has(1, 7), "ten seconds are not over");
    assert!(!recent.is_full(111) && !recent.has(1, 7) && recent.has(2, 7));
    // A clock that is set back far makes nothing stay for ever.
    assert!(!recent.is_full(95) && recent.has(2, 7));
    assert!(!recent.is_full(94) && !recent.has(2, 7));
}

#[test]
fn a_new_plan_asks_quota_back_and_the_end_does_whatever_was_granted() {
    let mut world = World::new(10_000);
    world.asks(Role::AuthorizationRequest, 1, "1", None);
    world.asks(Role::AuthorizationRequest, 2, "3", None);
    let session = "gtpp;192.0.2.1;a%00%25;1";
    let push = |abort| Push { session: session.into(), origin: "gtpp:192.0.2.1:3386".into(), abort };
    let groups = |keys: &[ServiceKey]| keys.iter().filter_map(|key| key.rating_group).collect::<Vec<_>>();
    for abort in [false, true] {
        let asked = pushes(&world.core, &push(abort)).unwrap();
        assert_eq!((groups(&asked.granted), groups(&asked.returned)), (vec![], vec![1, 3]), "there is more to grant");
    }
    world.asks(Role::ServiceStopRequest, 3, "1", Some((0, 0)));
    world.asks(Role::ServiceStopRequest, 4, "3", Some((0, 1)));
    assert_eq!(pushes(&world.core, &push(false)), None, "the session is gone");
    assert_eq!(server_request(&world.core, session, ServiceKey::default()), None);
}
