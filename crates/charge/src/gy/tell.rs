//! From what was decided to a CCA.

use super::currency;
use super::overload::FEATURES;
use crate::money::Money;
use crate::session::{Action, Answer, Final, Given};
use crate::units::Unit;
use core::net::{Ipv4Addr, Ipv6Addr};
use trunkline_wire::diameter::base::refuse_with;
use trunkline_wire::diameter::credit::{
    CostInformation, CreditControlAnswer, CreditControlRequest, FinalUnitIndication, GrantedServiceUnit,
    MultipleServices, OverloadReport, PoolReference, RedirectServer, UnitValue,
};
use trunkline_wire::diameter::dictionary::avp::{MULTIPLE_SERVICES_CREDIT_CONTROL, OC_OLR, OC_SUPPORTED_FEATURES};
use trunkline_wire::diameter::enumerated::{
    CheckBalanceResult, FailureHandling, FinalUnitAction, RedirectAddressType, RequestType, SessionFailover, UnitType,
};
use trunkline_wire::diameter::{Failure, List, Message, Time, TooLong, Value, Writer, application, result_code};

/// What stands in each answer, whatever was decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Origin-Host.
    pub host: String,
    /// Origin-Realm.
    pub realm: String,
    /// Whether another server can go on with a session (CC-Session-Failover).
    pub session_failover: bool,
    /// What clients do when no server answers (CCFH), told with the first answer of a session.
    pub failure_handling: FailureHandling,
}

/// What is said beside what was decided.
#[derive(Clone, Copy, Debug, Default)]
pub struct Said<'a> {
    /// The currency of the account's plan.
    pub currency: &'a str,
    /// How much less is to be sent, for clients that know of it.
    pub overload: Option<OverloadReport>,
}

/// Appends the CCA of `ccr`, which is what `message` holds.
///
/// # Errors
/// It does not fit into a message; `out` is as it was.
pub fn tell(
    message: &Message<'_>,
    ccr: &CreditControlRequest<'_>,
    answer: &Answer,
    terms: &Terms,
    said: Said<'_>,
    out: &mut Vec<u8>,
) -> Result<(), TooLong> {
    let features = ccr.overload_features.map(|_| &FEATURES[..]);
    let report = said.overload.filter(|_| features.is_some());
    if result_code::is_protocol_error(answer.code) {
        let failure = Failure::of_message(answer.code);
        let more = |writer: &mut Writer<'_>| {
            features.iter().for_each(|features| writer.octets(OC_SUPPORTED_FEATURES, features));
            report.iter().for_each(|report| report.write(OC_OLR, writer));
        };
        return refuse_with(message, &terms.host, &terms.realm, &failure, more, out);
    }
    let initial = ccr.request_type == RequestType::Initial && answer.code == result_code::SUCCESS;
    let at_command = answer.services.first().filter(|_| ccr.services.is_empty());
    let last = at_command.and_then(|given| given.last.as_ref()).map(indication);
    let failover = if terms.session_failover { SessionFailover::Supported } else { SessionFailover::NotSupported };
    let balance = |enough| if enough { CheckBalanceResult::EnoughCredit } else { CheckBalanceResult::NoCredit };
    let cca = CreditControlAnswer {
        session_id: ccr.session_id,
        result_code: Some(at_command.map_or(answer.code, |given| of_command(answer.code, given))),
        origin_host: &terms.host,
        origin_realm: &terms.realm,
        auth_application_id: application::CREDIT_CONTROL,
        request_type: ccr.request_type,
        request_number: ccr.request_number,
        sub_session_id: ccr.sub_session_id,
        session_failover: initial.then_some(failover),
        failure_handling: initial.then_some(terms.failure_handling),
        granted: at_command.and_then(granted),
        validity_time_s: at_command.and_then(|given| given.validity),
        final_unit_indication: last,
        check_balance_result: answer.enough.map(balance),
        cost_information: answer.cost.and_then(|money| cost(money, said.currency)),
        proxy_infos: ccr.proxy_infos,
        overload_features: features,
        overload_report: report,
        ..CreditControlAnswer::default()
    };
    let mut writer = Writer::new(out, &message.header.answer());
    cca.write_avps(&mut writer);
    for (asked, given) in ccr.services.iter().zip(&answer.services) {
        service(&asked, given, &mut writer);
    }
    writer.finish()
}

/// The result of the only service stands for the command, where that found nothing wrong.
fn of_command(code: u32, given: &Given) -> u32 {
    if code == result_code::SUCCESS { given.code } else { code }
}

fn service(asked: &MultipleServices<'_>, given: &Given, writer: &mut Writer<'_>) {
    let pools = given.pool.and_then(|(pool, value)| Some((pool, value, given.granted?.0)));
    let pools = pools.map(|(identifier, (digits, exponent), unit)| PoolReference {
        identifier,
        unit_type: unit_type(unit),
        value: UnitValue { digits, exponent: i32::try_from(exponent).ok() },
        classes: List::default(),
    });
    let threshold = |units: &[Unit]| {
        let unit = given.granted.map(|(unit, _)| unit).filter(|unit| units.contains(unit));
        unit.and(given.threshold).map(|least| u32::try_from(least).unwrap_or(u32::MAX))
    };
    let service = MultipleServices {
        granted: granted(given),
        service_identifiers: asked.service_identifiers,
        rating_group: asked.rating_group,
        pool_references: List::Values(pools.as_slice()),
        validity_time_s: given.validity,
        result_code: Some(given.code),
        final_unit_indication: given.last.as_ref().map(indication),
        time_quota_threshold_s: threshold(&[Unit::Seconds]),
        volume_quota_threshold_octets: threshold(&[Unit::Octets, Unit::OctetsIn, Unit::OctetsOut]),
        unit_quota_threshold: threshold(&[Unit::ServiceUnits, Unit::Events]),
        quota_holding_time_s: given.holding,
        ..MultipleServices::default()
    };
    service.write(MULTIPLE_SERVICES_CREDIT_CONTROL, writer);
}

fn granted(given: &Given) -> Option<GrantedServiceUnit<'static>> {
    let (unit, units) = given.granted?;
    let mut granted = GrantedServiceUnit {
        tariff_time_change: given.change.and_then(Time::from_unix),
        ..GrantedServiceUnit::default()
    };
    match unit {
        Unit::Octets => granted.total_octets = Some(units),
        Unit::OctetsIn => granted.input_octets = Some(units),
        Unit::OctetsOut => granted.output_octets = Some(units),
        Unit::Seconds => granted.time_s = Some(u32::try_from(units).unwrap_or(u32::MAX)),
        Unit::ServiceUnits | Unit::Events => granted.service_specific_units = Some(units),
    }
    Some(granted)
}

fn unit_type(unit: Unit) -> UnitType {
    match unit {
        Unit::Octets => UnitType::TotalOctets,
        Unit::OctetsIn => UnitType::InputOctets,
        Unit::OctetsOut => UnitType::OutputOctets,
        Unit::Seconds => UnitType::Time,
        Unit::ServiceUnits | Unit::Events => UnitType::ServiceSpecificUnits,
    }
}

fn indication(last: &Final) -> FinalUnitIndication<'_> {
    let action = match last.action {
        Action::Terminate => FinalUnitAction::Terminate,
        Action::Redirect => FinalUnitAction::Redirect,
        Action::Restrict => FinalUnitAction::RestrictAccess,
    };
    let address_type = || match &*last.redirect {
        ip if ip.parse::<Ipv4Addr>().is_ok() => RedirectAddressType::Ipv4,
        ip if ip.parse::<Ipv6Addr>().is_ok() => RedirectAddressType::Ipv6,
        sip if sip.starts_with("sip:") || sip.starts_with("sips:") => RedirectAddressType::SipUri,
        _ => RedirectAddressType::Url,
    };
    let server = || RedirectServer { address_type: address_type(), address: &last.redirect };
    FinalUnitIndication {
        action,
        redirect_server: (action == FinalUnitAction::Redirect).then(server),
        ..FinalUnitIndication::default()
    }
}

/// A sum of money in a currency; none of one that has no number.
fn cost(money: Money, letters: &str) -> Option<CostInformation<'static>> {
    let value = UnitValue { digits: money.0, exponent: Some(-currency::decimals(letters)) };
    Some(CostInformation { value, currency_code: currency::number(letters)?, unit: None })
}
