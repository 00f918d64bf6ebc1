//! From a CCR to what the core is asked.

use crate::account::{Identity, IdentityKind, Place, ServiceKey};
use crate::session::{
    Asked, FACTS_OCTETS_MAX, IDENTITIES_MAX, Kind, Request, SERVICES_MAX, Side, TEXT_OCTETS_MAX, USED_MAX, Used,
};
use crate::tariff::Plmn;
use crate::units::Amounts;
use trunkline_wire::diameter::credit::{
    CreditControlRequest, MultipleServices, PsInformation, RequestedServiceUnit, SubscriptionId, UsedServiceUnit,
};
use trunkline_wire::diameter::dictionary::avp::{
    ADDRESS_DATA, AUTH_APPLICATION_ID, CALLED_PARTY_ADDRESS, CC_CORRELATION_ID, MULTIPLE_SERVICES_CREDIT_CONTROL,
    ORIGIN_HOST, ORIGIN_REALM, PS_INFORMATION, RECIPIENT_ADDRESS, RECIPIENT_INFO, REQUESTED_ACTION,
    SERVICE_INFORMATION, SESSION_ID, SUBSCRIPTION_ID, USED_SERVICE_UNIT,
};
use trunkline_wire::diameter::enumerated::{RequestType, RequestedAction, SubscriptionIdType, TariffChangeUsage};
use trunkline_wire::diameter::{Avps, Failure, Header, Key, Message, Value, Writer, application, result_code};

/// What a CCR asks.
///
/// # Errors
/// The result code and the Failed-AVP of the answer that it deserves: another application, an event without its
/// action, a list or a text beyond its limit.
pub fn ask<'a>(message: &Message<'a>, ccr: &CreditControlRequest<'a>) -> Result<Request, Failure<'a>> {
    let offends = |result, key: Key| {
        message.avps().find(key).map_or_else(|| Failure::of_message(result), |avp| Failure::of_avp(result, &avp))
    };
    if ccr.auth_application_id != application::CREDIT_CONTROL {
        return Err(offends(result_code::INVALID_AVP_VALUE, AUTH_APPLICATION_ID));
    }
    let kind = kind(ccr).ok_or_else(|| Failure::missing(REQUESTED_ACTION))?;
    let request = Request {
        session: ccr.session_id.into(),
        origin: ccr.origin_host.into(),
        end_to_end: message.header.end_to_end,
        number: ccr.request_number,
        kind,
        identities: identities(ccr),
        place: place(ccr),
        services: services(ccr),
        correlation: ccr.correlation_id.unwrap_or_default().into(),
        facts: if kind == Kind::Initial || kind.is_event() { facts(ccr) } else { Box::default() },
    };
    let invalid = result_code::INVALID_AVP_VALUE;
    let many = result_code::AVP_OCCURS_TOO_MANY_TIMES;
    match () {
        () if request.session.is_empty() || request.session.len() > TEXT_OCTETS_MAX => {
            Err(offends(invalid, SESSION_ID))
        }
        () if request.origin.len() > TEXT_OCTETS_MAX => Err(offends(invalid, ORIGIN_HOST)),
        () if request.correlation.len() > TEXT_OCTETS_MAX => Err(offends(invalid, CC_CORRELATION_ID)),
        () if ccr.origin_realm.len() > TEXT_OCTETS_MAX => Err(offends(invalid, ORIGIN_REALM)),
        () if request.services.len() > SERVICES_MAX => Err(offends(many, MULTIPLE_SERVICES_CREDIT_CONTROL)),
        () if request.services.iter().any(|asked| asked.used.len() > USED_MAX) => Err(offends(many, USED_SERVICE_UNIT)),
        () if place_octets(&request) > TEXT_OCTETS_MAX => Err(offends(invalid, SERVICE_INFORMATION)),
        () if request.identities.iter().any(|i| i.text.len() > TEXT_OCTETS_MAX) => {
            Err(offends(invalid, SUBSCRIPTION_ID))
        }
        () => Ok(request),
    }
}

/// Octets of the longer of access point and number.
fn place_octets(request: &Request) -> usize {
    request.place.as_ref().map_or(0, |place| place.apn.len().max(place.destination.len()))
}

/// What a CCR is about; none of an event that does not say.
fn kind(ccr: &CreditControlRequest<'_>) -> Option<Kind> {
    Some(match (ccr.request_type, ccr.requested_action) {
        (RequestType::Initial, _) => Kind::Initial,
        (RequestType::Update, _) => Kind::Update,
        (RequestType::Termination, _) => Kind::Terminate,
        (RequestType::Event, None) => return None,
        (RequestType::Event, Some(RequestedAction::DirectDebiting)) => Kind::DirectDebit,
        (RequestType::Event, Some(RequestedAction::RefundAccount)) => Kind::Refund,
        (RequestType::Event, Some(RequestedAction::CheckBalance)) => Kind::CheckBalance,
        (RequestType::Event, Some(RequestedAction::PriceEnquiry)) => Kind::PriceEnquiry,
    })
}

/// The subscriber's names, where TS 32.299 has them and where RFC 8506 has; the first so many.
fn identities(ccr: &CreditControlRequest<'_>) -> Vec<Identity> {
    let inside = ccr.service_information.iter().flat_map(|information| information.subscription_ids);
    let user = ccr.user_name.map(|name| Identity::new(IdentityKind::Nai, name));
    ccr.subscription_ids.iter().chain(inside).map(identity).chain(user).take(IDENTITIES_MAX).collect()
}

fn identity(id: SubscriptionId<'_>) -> Identity {
    let kind = match id.kind {
        SubscriptionIdType::E164 => IdentityKind::E164,
        SubscriptionIdType::Imsi => IdentityKind::Imsi,
        SubscriptionIdType::SipUri => IdentityKind::Sip,
        SubscriptionIdType::Nai => IdentityKind::Nai,
        SubscriptionIdType::Private => IdentityKind::Private,
    };
    let text = if kind == IdentityKind::E164 { id.name.trim_start_matches('+') } else { id.name };
    Identity::new(kind, text)
}

/// Where the subscriber is and whom it calls; none where nothing is told.
fn place(ccr: &CreditControlRequest<'_>) -> Option<Place> {
    let information = ccr.service_information?;
    let mut place = Place::default();
    if let Some(ps) = &information.ps {
        of_packets(&mut place, ps);
    }
    let called = information.ims.and_then(|ims| text_of(ims, CALLED_PARTY_ADDRESS));
    let recipient = || information.sms.and_then(recipient);
    if let Some(number) = called.or_else(recipient) {
        place.destination = digits(number).into();
    }
    (place != Place::default()).then_some(place)
}

fn of_packets(place: &mut Place, ps: &PsInformation<'_>) {
    place.apn = ps.called_station_id.unwrap_or_default().into();
    place.network = ps.sgsn_mcc_mnc.and_then(Plmn::read);
    place.rat = ps.rat_type.and_then(|octets| octets.first()).map(|octet| u32::from(*octet));
}

/// What records of the session will tell, and rating does not look at: Subscription-Ids and the part of PS-Information
/// that a PGW record has, as AVPs; nothing where that is too long.
fn facts(ccr: &CreditControlRequest<'_>) -> Box<[u8]> {
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out, &Header::default());
    let inside = ccr.service_information.iter().flat_map(|information| information.subscription_ids);
    ccr.subscription_ids.iter().chain(inside).for_each(|id| id.write(SUBSCRIPTION_ID, &mut writer));
    if let Some(ps) = ccr.service_information.and_then(|information| information.ps) {
        let told = PsInformation { user_location_info: None, qos_information: None, ..ps };
        told.write(PS_INFORMATION, &mut writer);
    }
    let avps = out.split_off(Header::OCTETS);
    if avps.len() <= FACTS_OCTETS_MAX { avps.into() } else { Box::default() }
}

/// The address that a short message goes to first (TS 32.299 clauses 7.2.170 and 7.2.171).
fn recipient(sms: &[u8]) -> Option<&str> {
    let info = Avps::new(sms).find(RECIPIENT_INFO)?;
    let address = info.group().find(RECIPIENT_ADDRESS)?;
    text_of(address.data(), ADDRESS_DATA)
}

fn text_of(group: &[u8], key: Key) -> Option<&str> {
    Avps::new(group).find(key)?.text().ok()
}

/// The digits of `tel:+44-20-7946-0000;phone-context=..`, `sip:+442079460000@example`, or of a bare number; of anything
/// else nothing.
fn digits(address: &str) -> String {
    let scheme = address.split_once(':').filter(|(scheme, _)| matches!(*scheme, "tel" | "sip" | "sips"));
    let number = scheme.map_or(address, |(_, rest)| rest);
    let number = number.split(['@', ';']).next().unwrap_or_default();
    let number = number.strip_prefix('+').unwrap_or(number);
    let digits: String = number.chars().filter(|c| !matches!(c, '-' | '.' | '(' | ')')).collect();
    if digits.bytes().all(|octet| octet.is_ascii_digit()) { digits } else { String::new() }
}

fn services(ccr: &CreditControlRequest<'_>) -> Vec<Asked> {
    let mut services: Vec<Asked> = ccr.services.iter().take(SERVICES_MAX + 1).map(|service| asked(&service)).collect();
    let alone = ccr.requested.is_some() || !ccr.used.is_empty() || ccr.request_type == RequestType::Event;
    if services.is_empty() && alone {
        services.push(Asked {
            key: ServiceKey { rating_group: None, service: ccr.service_identifier },
            requested: ccr.requested.as_ref().map(requested),
            used: ccr.used.iter().take(USED_MAX + 1).filter_map(|unit| used(&unit, None)).collect(),
        });
    }
    services
}

fn asked(service: &MultipleServices<'_>) -> Asked {
    let mut identifiers = service.service_identifiers.iter();
    let only = identifiers.next().filter(|_| identifiers.next().is_none());
    let side = service.tariff_change_usage;
    Asked {
        key: ServiceKey { rating_group: service.rating_group, service: only },
        requested: service.requested.as_ref().map(requested),
        used: service.used.iter().take(USED_MAX + 1).filter_map(|unit| used(&unit, side)).collect(),
    }
}

/// The amounts of a group of units: those that ask and those that report have the same fields.
macro_rules! amounts {
    ($unit:expr) => {
        Amounts {
            octets: $unit.total_octets.unwrap_or(0),
            octets_in: $unit.input_octets.unwrap_or(0),
            octets_out: $unit.output_octets.unwrap_or(0),
            seconds: $unit.time_s.map_or(0, u64::from),
            service_units: $unit.service_specific_units.unwrap_or(0),
        }
    };
}

fn requested(unit: &RequestedServiceUnit<'_>) -> Amounts {
    amounts!(unit)
}

/// A report; none that has no units.
fn used(unit: &UsedServiceUnit<'_>, side: Option<TariffChangeUsage>) -> Option<Used> {
    let amounts = amounts!(unit);
    let side = match unit.tariff_change_usage.or(side) {
        Some(TariffChangeUsage::Before) => Some(Side::Before),
        Some(TariffChangeUsage::After) => Some(Side::After),
        Some(TariffChangeUsage::Indeterminate) | None => None,
    };
    (!amounts.is_nothing()).then_some(Used { amounts, side })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_the_digits_of_what_is_called() {
        let all = [
            ("tel:+44-20-7946.0000;phone-context=example", "442079460000"),
            ("sip:+442079460000@example.org;user=phone", "442079460000"),
            ("sips:112@example.org", "112"),
            ("442079460000", "442079460000"),
            ("sip:alice@example.org", ""),
            ("", ""),
        ];
        for (address, expected) in all {
            assert_eq!(digits(address), expected, "{address}");
        }
    }
}
