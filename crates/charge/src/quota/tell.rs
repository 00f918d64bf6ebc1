//! What a gateway is answered, and asked.

use super::Mapping;
use super::ask::session_octets;
use super::decide::service;
use crate::account::ServiceKey;
use crate::session::{Answer, Given, code};
use crate::units::Unit;
use trunkline_wire::gtpp::profile::{Field, FieldValue, QuotaMessage, Role};
use trunkline_wire::gtpp::{TooLong, cause};

/// The cause of a result code.
fn cause_of(result: u32) -> u8 {
    match result {
        code::SUCCESS | code::NOT_APPLICABLE => cause::REQUEST_ACCEPTED,
        code::TOO_BUSY => cause::NO_RESOURCES,
        code::RATING_FAILED => cause::SERVICE_NOT_SUPPORTED,
        code::UNABLE_TO_COMPLY => cause::REJECTED_SYSTEM_FAILURE,
        code::INVALID_VALUE => cause::MANDATORY_INCORRECT,
        _ => cause::NOT_FULFILLED,
    }
}

/// The number of a unit, as far as elements have one.
fn unit_number(unit: Unit) -> u64 {
    match unit {
        Unit::Octets | Unit::OctetsIn | Unit::OctetsOut => 0,
        Unit::Seconds => 1,
        Unit::ServiceUnits | Unit::Events => 2,
    }
}

fn number(field: Field, number: u64) -> (Field, FieldValue<'static>) {
    (field, FieldValue::Number(number))
}

/// Appends the answer to a request of a session.
///
/// # Errors
/// It does not fit into a message.
pub fn tell(
    quota: &QuotaMessage<'_, '_>,
    answer: &Answer,
    mapping: &Mapping,
    out: &mut Vec<u8>,
) -> Result<(), TooLong> {
    let given = answer.services.first().filter(|_| answer.code == code::SUCCESS);
    let cause = cause_of(given.map_or(answer.code, |given| given.code));
    let mut values = vec![number(Field::Cause, u64::from(cause))];
    if let Some(session) = quota.octets(Field::Session) {
        values.insert(0, (Field::Session, FieldValue::Octets(session)));
    }
    if let Some(given) = given {
        granted(given, &mut values);
    }
    let role = quota.role.response().unwrap_or(quota.role);
    mapping.profile.write(role, quota.sequence, &values, out)
}

fn granted<'a>(given: &'a Given, values: &mut Vec<(Field, FieldValue<'a>)>) {
    if let Some((unit, units)) = given.granted {
        values.push(number(Field::Granted, units));
        values.push(number(Field::Unit, unit_number(unit)));
    }
    values.extend(given.validity.map(|seconds| number(Field::Validity, u64::from(seconds))));
    let redirect = given.last.as_ref().map(|last| &last.redirect).filter(|redirect| !redirect.is_empty());
    values.extend(redirect.map(|redirect| (Field::Redirect, FieldValue::Octets(redirect.as_bytes()))));
}

/// Appends the answer to a request that is refused for what it is.
///
/// # Errors
/// It does not fit into a message.
pub fn refuse(quota: &QuotaMessage<'_, '_>, cause: u8, mapping: &Mapping, out: &mut Vec<u8>) -> Result<(), TooLong> {
    let session = quota.octets(Field::Session).map(|session| (Field::Session, FieldValue::Octets(session)));
    let values: Vec<_> = session.into_iter().chain([number(Field::Cause, u64::from(cause))]).collect();
    let role = quota.role.response().unwrap_or(quota.role);
    mapping.profile.write(role, quota.sequence, &values, out)
}

/// Appends the profile of a subscriber: the name of its plan; none is nobody's.
///
/// # Errors
/// It does not fit into a message.
pub fn tell_profile(
    quota: &QuotaMessage<'_, '_>,
    plan: Option<&str>,
    mapping: &Mapping,
    out: &mut Vec<u8>,
) -> Result<(), TooLong> {
    let cause = if plan.is_some() { cause::REQUEST_ACCEPTED } else { cause::NOT_FULFILLED };
    let user = quota.octets(Field::User).map(|user| (Field::User, FieldValue::Octets(user)));
    let plan = plan.map(|plan| (Field::Plan, FieldValue::Octets(plan.as_bytes())));
    let values: Vec<_> = user.into_iter().chain([number(Field::Cause, u64::from(cause))]).chain(plan).collect();
    mapping.profile.write(Role::UserProfileResponse, quota.sequence, &values, out)
}

/// Appends a push of so many units of what a service was given.
///
/// # Errors
/// It does not fit into a message.
pub fn push(
    sequence: u16,
    (session, user): (&str, &str),
    given: &Given,
    units: u64,
    mapping: &Mapping,
    out: &mut Vec<u8>,
) -> Result<(), TooLong> {
    let (session, service) = (session_octets(session), service(mapping, given.key));
    let unit = given.granted.map_or(0, |(unit, _)| unit_number(unit));
    let mut values = vec![
        (Field::User, FieldValue::Octets(user.as_bytes())),
        (Field::Session, FieldValue::Octets(&session)),
        (Field::Service, FieldValue::Octets(service.as_bytes())),
        number(Field::Granted, units),
        number(Field::Unit, unit),
    ];
    values.extend(given.validity.map(|seconds| number(Field::Validity, u64::from(seconds))));
    mapping.profile.write(Role::QuotaPushRequest, sequence, &values, out)
}

/// Appends what asks for the quota of a service back.
///
/// # Errors
/// It does not fit into a message.
pub fn return_request(
    sequence: u16,
    session: &str,
    key: ServiceKey,
    mapping: &Mapping,
    out: &mut Vec<u8>,
) -> Result<(), TooLong> {
    let (session, service) = (session_octets(session), service(mapping, key));
    let values =
        [(Field::Session, FieldValue::Octets(&session)), (Field::Service, FieldValue::Octets(service.as_bytes()))];
    mapping.profile.write(Role::QuotaReturnRequest, sequence, &values, out)
}
