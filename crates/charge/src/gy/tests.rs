//! CCRs with all that matters, and what answers say, read back by the codec.

use super::{Overload, Said, Terms, ask, tell};
use crate::account::{Identity, IdentityKind, ServiceKey};
use crate::money::Money;
use crate::session::{Action, Answer, Final, Given, Kind, Side, Used};
use crate::tariff::Plmn;
use crate::units::{Amounts, Unit};
use trunkline_wire::diameter::credit::{
    CreditControlAnswer, CreditControlRequest, MultipleServices, PsInformation, RequestedServiceUnit,
    ServiceInformation, SubscriptionId, UsedServiceUnit,
};
use trunkline_wire::diameter::dictionary::avp::{
    ADDRESS_DATA, CALLED_PARTY_ADDRESS, MULTIPLE_SERVICES_CREDIT_CONTROL, RECIPIENT_ADDRESS, RECIPIENT_INFO,
    SUBSCRIPTION_ID,
};
use trunkline_wire::diameter::enumerated::{
    CheckBalanceResult, FailureHandling, FinalUnitAction, RedirectAddressType, RequestType, RequestedAction,
    SessionFailover, SubscriptionIdType, TariffChangeUsage, UnitType,
};
use trunkline_wire::diameter::{Avps, Header, List, Message, Writer, application, command, flag};

fn header() -> Header {
    let header = Header::request(command::CREDIT_CONTROL, application::CREDIT_CONTROL);
    Header { hop_by_hop: 7, end_to_end: 9, ..header }
}

/// The least that a CCR has.
fn least() -> CreditControlRequest<'static> {
    CreditControlRequest {
        session_id: "pgw.example;1;2",
        origin_host: "pgw.example",
        origin_realm: "example",
        destination_realm: "example",
        auth_application_id: 4,
        service_context_id: "32251@3gpp.org",
        request_type: RequestType::Update,
        request_number: 3,
        ..CreditControlRequest::default()
    }
}

/// What the octets of a CCR ask, or why they are refused.
fn asked(ccr: &CreditControlRequest<'_>) -> Result<crate::session::Request, (u32, Vec<u8>)> {
    let mut octets = Vec::new();
    ccr.write(&header(), &mut octets).unwrap();
    let message = Message::new(&octets).unwrap();
    let ccr = CreditControlRequest::read(&message).unwrap();
    ask(&message, &ccr).map_err(|failure| {
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out, &header());
        failure.write(&mut writer);
        writer.finish().unwrap();
        (failure.result, out[Header::OCTETS..].to_vec())
    })
}

fn terms() -> Terms {
    Terms {
        host: "ocs.example".to_owned(),
        realm: "example".to_owned(),
        session_failover: true,
        failure_handling: FailureHandling::Continue,
    }
}

/// The octets of the answer to a CCR.
fn told(ccr: &CreditControlRequest<'_>, answer: &Answer, currency: &str) -> Vec<u8> {
    said(ccr, answer, Said { currency, ..Said::default() })
}

fn said(ccr: &CreditControlRequest<'_>, answer: &Answer, said: Said<'_>) -> Vec<u8> {
    let (mut octets, mut out) = (Vec::new(), Vec::new());
    ccr.write(&header(), &mut octets).unwrap();
    let message = Message::new(&octets).unwrap();
    tell(&message, &CreditControlRequest::read(&message).unwrap(), answer, &terms(), said, &mut out).unwrap();
    out
}

#[test]
fn a_client_that_knows_of_overload_is_told_and_no_other() {
    let knows = |overload_features| CreditControlRequest { overload_features, ..CreditControlRequest::default() };
    let report = Overload::default().report(50, 1_000_000_000);
    assert!(report.is_some());
    for (result, answer) in [(2001, Answer::of(2001)), (3004, Answer::of(3004))] {
        for features in [None, Some(&[][..])] {
            for overload in [None, report] {
                let octets = said(&knows(features), &answer, Said { overload, ..Said::default() });
                let cca = CreditControlAnswer::read_avps(Message::new(&octets).unwrap().avps()).unwrap();
                assert_eq!(cca.result_code, Some(result));
                assert_eq!(cca.overload_features.is_some(), features.is_some());
                assert_eq!(cca.overload_report, overload.filter(|_| features.is_some()));
            }
        }
    }
}

#[test]
fn all_that_is_rated_is_asked() {
    let ids = [SubscriptionId { kind: SubscriptionIdType::E164, name: "+33612345678" }];
    let inside = [SubscriptionId { kind: SubscriptionIdType::Imsi, name: "208011234567890" }];
    let used = [
        UsedServiceUnit {
            tariff_change_usage: Some(TariffChangeUsage::Before),
            input_octets: Some(10),
            output_octets: Some(20),
            ..UsedServiceUnit::default()
        },
        UsedServiceUnit { time_s: Some(60), ..UsedServiceUnit::default() },
        // In money alone: no usage.
        UsedServiceUnit::default(),
    ];
    let services = [
        MultipleServices {
            requested: Some(RequestedServiceUnit { total_octets: Some(1 << 20), ..RequestedServiceUnit::default() }),
            used: List::Values(&used),
            tariff_change_usage: Some(TariffChangeUsage::After),
            service_identifiers: List::Values(&[5]),
            rating_group: Some(1),
            ..MultipleServices::default()
        },
        MultipleServices {
            service_identifiers: List::Values(&[5, 6]),
            rating_group: Some(2),
            ..MultipleServices::default()
        },
    ];
    let ps = PsInformation {
        called_station_id: Some("internet"),
        sgsn_mcc_mnc: Some("20801"),
        rat_type: Some(&[6]),
        charging_id: Some(&[0, 0, 0, 9]),
        ..PsInformation::default()
    };
    let information =
        ServiceInformation { subscription_ids: List::Values(&inside), ps: Some(ps), ..ServiceInformation::default() };
    let ccr = CreditControlRequest {
        user_name: Some("anna@example"),
        subscription_ids: List::Values(&ids),
        services: List::Values(&services),
        service_information: Some(information),
        ..least()
    };
    let request = asked(&ccr).unwrap();
    assert_eq!((&*request.session, &*request.origin, request.end_to_end), ("pgw.example;1;2", "pgw.example", 9));
    assert_eq!((request.kind, request.number), (Kind::Update, 3));
    let names = [
        Identity::new(IdentityKind::E164, "33612345678"),
        Identity::new(IdentityKind::Imsi, "208011234567890"),
        Identity::new(IdentityKind::Nai, "anna@example"),
    ];
    assert_eq!(request.identities, names);
    let place = request.place.unwrap();
    assert_eq!((&*place.apn, place.network, place.rat), ("internet", Plmn::read("20801"), Some(6)));
    let [first, second] = &request.services[..] else { panic!("two services") };
    assert_eq!(first.key, ServiceKey { rating_group: Some(1), service: Some(5) });
    assert_eq!(first.requested, Some(Amounts { octets: 1 << 20, ..Amounts::default() }));
    let before = Amounts { octets_in: 10, octets_out: 20, ..Amounts::default() };
    let after = Amounts { seconds: 60, ..Amounts::default() };
    let reports =
        [Used { amounts: before, side: Some(Side::Before) }, Used { amounts: after, side: Some(Side::After) }];
    assert_eq!(first.used, reports);
    assert_eq!((second.key.service, second.requested), (None, None));
    // Facts are for the first request alone: the subscriber's names, and the bearer.
    assert!(request.facts.is_empty());
    let begins = asked(&CreditControlRequest { request_type: RequestType::Initial, ..ccr }).unwrap();
    assert_eq!(Avps::new(&begins.facts).flatten().filter(|avp| avp.key == SUBSCRIPTION_ID).count(), 2);
}

#[test]
fn events_say_what_is_wanted_and_who_is_called() {
    let event = CreditControlRequest { request_type: RequestType::Event, ..least() };
    // Requested-Action, four zeros.
    assert_eq!(asked(&event), Err((5005, vec![0, 0, 1, 23, 0x40, 0, 0, 20, 0, 0, 1, 180, 0x40, 0, 0, 12, 0, 0, 0, 0])));
    let mut ims = Vec::new();
    let mut writer = Writer::new(&mut ims, &Header::default());
    writer.text(CALLED_PARTY_ADDRESS, "tel:+33-6.12(34)5678");
    writer.finish().unwrap();
    let mut sms = Vec::new();
    let mut writer = Writer::new(&mut sms, &Header::default());
    let info = writer.open(RECIPIENT_INFO);
    let address = writer.open(RECIPIENT_ADDRESS);
    writer.text(ADDRESS_DATA, "33712345678");
    writer.close(address);
    writer.close(info);
    writer.finish().unwrap();
    let with = |information| CreditControlRequest {
        requested_action: Some(RequestedAction::PriceEnquiry),
        service_identifier: Some(5),
        service_information: Some(information),
        ..event
    };
    let ims = ServiceInformation { ims: Some(&ims[Header::OCTETS..]), ..ServiceInformation::default() };
    let call = asked(&with(ims)).unwrap();
    assert_eq!((call.kind, &*call.place.unwrap().destination), (Kind::PriceEnquiry, "33612345678"));
    assert_eq!(call.services[0].key, ServiceKey { rating_group: None, service: Some(5) });
    let sms = ServiceInformation { sms: Some(&sms[Header::OCTETS..]), ..ServiceInformation::default() };
    assert_eq!(&*asked(&with(sms)).unwrap().place.unwrap().destination, "33712345678");
}

#[test]
fn what_is_beyond_a_limit_is_told() {
    let refusal = |ccr: &CreditControlRequest<'_>| asked(ccr).unwrap_err().0;
    let long = "x".repeat(257);
    assert_eq!(refusal(&CreditControlRequest { session_id: &long, ..least() }), 5004);
    assert_eq!(refusal(&CreditControlRequest { session_id: "", ..least() }), 5004);
    assert_eq!(refusal(&CreditControlRequest { origin_host: &long, ..least() }), 5004);
    assert_eq!(refusal(&CreditControlRequest { auth_application_id: 5, ..least() }), 5004);
    let ids = [SubscriptionId { kind: SubscriptionIdType::Nai, name: &long }];
    assert_eq!(refusal(&CreditControlRequest { subscription_ids: List::Values(&ids), ..least() }), 5004);
    let services = [MultipleServices::default(); 65];
    assert_eq!(refusal(&CreditControlRequest { services: List::Values(&services), ..least() }), 5009);
    let used = [UsedServiceUnit { time_s: Some(1), ..UsedServiceUnit::default() }; 9];
    assert_eq!(refusal(&CreditControlRequest { used: List::Values(&used), ..least() }), 5009);
}

#[test]
fn all_that_is_given_is_told() {
    let services = [
        MultipleServices {
            rating_group: Some(1),
            service_identifiers: List::Values(&[5, 6]),
            ..MultipleServices::default()
        },
        MultipleServices { rating_group: Some(2), ..MultipleServices::default() },
    ];
    let ccr = CreditControlRequest {
        request_type: RequestType::Initial,
        services: List::Values(&services),
        proxy_infos: List::Values(&[&[1, 2, 3, 4]]),
        ..least()
    };
    let given = Given {
        code: 2001,
        granted: Some((Unit::Octets, 5 << 20)),
        validity: Some(3600),
        holding: Some(60),
        threshold: Some(1 << 40),
        change: Some(1_795_514_400),
        last: Some(Final { action: Action::Redirect, redirect: "https://pay.example".into() }),
        pool: Some((3, (25, -1))),
        ..Given::default()
    };
    let refused = Given { code: 4012, ..Given::default() };
    let answer = Answer { services: vec![given, refused], ..Answer::of(2001) };
    let octets = told(&ccr, &answer, "EUR");
    let message = Message::new(&octets).unwrap();
    assert_eq!((message.header.hop_by_hop, message.header.end_to_end, message.header.flags), (7, 9, flag::PROXIABLE));
    let cca = CreditControlAnswer::read_avps(message.avps()).unwrap();
    assert_eq!((cca.session_id, cca.result_code, cca.origin_host), ("pgw.example;1;2", Some(2001), "ocs.example"));
    assert_eq!(
        (cca.session_failover, cca.failure_handling),
        (Some(SessionFailover::Supported), Some(FailureHandling::Continue))
    );
    assert_eq!(cca.proxy_infos.iter().collect::<Vec<_>>(), [[1, 2, 3, 4]]);
    let all: Vec<MultipleServices<'_>> = cca.services.iter().collect();
    assert_eq!(all[0].service_identifiers.iter().collect::<Vec<_>>(), [5, 6]);
    let granted = all[0].granted.unwrap();
    assert_eq!(
        (granted.total_octets, granted.tariff_time_change.unwrap().unix_seconds()),
        (Some(5 << 20), 1_795_514_400)
    );
    assert_eq!((all[0].validity_time_s, all[0].quota_holding_time_s), (Some(3600), Some(60)));
    assert_eq!((all[0].volume_quota_threshold_octets, all[0].time_quota_threshold_s), (Some(u32::MAX), None));
    let last = all[0].final_unit_indication.unwrap();
    let server = last.redirect_server.unwrap();
    assert_eq!((last.action, server.address_type), (FinalUnitAction::Redirect, RedirectAddressType::Url));
    let pool = all[0].pool_references.iter().next().unwrap();
    assert_eq!(
        (pool.identifier, pool.unit_type, pool.value.digits, pool.value.exponent),
        (3, UnitType::TotalOctets, 25, Some(-1))
    );
    assert_eq!((all[1].rating_group, all[1].result_code, all[1].granted), (Some(2), Some(4012), None));
    // An update says nothing of failures.
    let update = told(&CreditControlRequest { request_type: RequestType::Update, ..ccr }, &answer, "EUR");
    let cca = CreditControlAnswer::read_avps(Message::new(&update).unwrap().avps()).unwrap();
    assert_eq!((cca.session_failover, cca.failure_handling), (None, None));
}

#[test]
fn a_service_without_a_group_is_told_with_the_command() {
    let ccr = CreditControlRequest {
        requested: Some(RequestedServiceUnit::default()),
        request_type: RequestType::Initial,
        ..least()
    };
    let given = Given { code: 2001, granted: Some((Unit::Seconds, 60)), validity: Some(60), ..Given::default() };
    let octets = told(&ccr, &Answer { services: vec![given], ..Answer::of(2001) }, "EUR");
    let message = Message::new(&octets).unwrap();
    let cca = CreditControlAnswer::read_avps(message.avps()).unwrap();
    assert_eq!((cca.granted.unwrap().time_s, cca.validity_time_s, cca.result_code), (Some(60), Some(60), Some(2001)));
    assert!(message.avps().find(MULTIPLE_SERVICES_CREDIT_CONTROL).is_none());
    let refused = Given { code: 4012, ..Given::default() };
    let octets = told(&ccr, &Answer { services: vec![refused], ..Answer::of(2001) }, "EUR");
    let cca = CreditControlAnswer::read_avps(Message::new(&octets).unwrap().avps()).unwrap();
    assert_eq!((cca.result_code, cca.granted), (Some(4012), None));
}

#[test]
fn events_are_told_cost_and_balance_in_their_currency() {
    let ccr = CreditControlRequest {
        request_type: RequestType::Event,
        requested_action: Some(RequestedAction::CheckBalance),
        ..least()
    };
    let answer = Answer { enough: Some(false), cost: Some(Money(1234)), ..Answer::of(2001) };
    let cost = |currency: &str| {
        let octets = told(&ccr, &answer, currency);
        let cca = CreditControlAnswer::read_avps(Message::new(&octets).unwrap().avps()).unwrap();
        assert_eq!(cca.check_balance_result, Some(CheckBalanceResult::NoCredit));
        cca.cost_information.map(|cost| (cost.value.digits, cost.value.exponent, cost.currency_code))
    };
    assert_eq!(
        [cost("EUR"), cost("JPY"), cost("XYZ")],
        [Some((1234, Some(-2), 978)), Some((1234, Some(0), 392)), None]
    );
}

#[test]
fn protocol_errors_have_their_bit() {
    let octets = told(&least(), &Answer::of(3004), "EUR");
    assert_eq!(octets[4], flag::PROXIABLE | flag::ERROR);
}
