//! Messages a second on one core, of a CCR-U with two rating groups and its CCA:
//! `cargo run --release -p trunkline-wire --example diameter_speed`.

use std::hint::black_box;
use std::time::Instant;
use trunkline_wire::diameter::credit::*;
use trunkline_wire::diameter::enumerated::*;
use trunkline_wire::diameter::{Header, HostAddress, List, Message, Time, application, command};

const HEADER: Header = Header::request(command::CREDIT_CONTROL, application::CREDIT_CONTROL);

/// What a packet gateway sends: subscriber, bearer, and what two rating groups used and want.
fn request(out: &mut Vec<u8>) {
    let time = Time::from_unix(1_790_000_000);
    let subscribers = [
        SubscriptionId { kind: SubscriptionIdType::E164, name: "447700900123" },
        SubscriptionId { kind: SubscriptionIdType::Imsi, name: "234150000000001" },
    ];
    let used = [UsedServiceUnit {
        reporting_reason: Some(ReportingReason::QuotaExhausted),
        time_s: Some(60),
        total_octets: Some(10_000_000),
        input_octets: Some(1_000_000),
        output_octets: Some(9_000_000),
        ..Default::default()
    }];
    let services = [10, 20].map(|rating_group| MultipleServices {
        requested: Some(RequestedServiceUnit::default()),
        used: List::Values(&used),
        rating_group: Some(rating_group),
        ..Default::default()
    });
    let address = [HostAddress::Ip([192, 0, 2, 1].into())];
    let ps = PsInformation {
        charging_id: Some(&[0, 0, 0, 9]),
        pdp_type: Some(0),
        pdp_addresses: List::Values(&address),
        sgsn_addresses: List::Values(&address),
        ggsn_addresses: List::Values(&address),
        imsi_mcc_mnc: Some("23415"),
        ggsn_mcc_mnc: Some("23415"),
        called_station_id: Some("internet"),
        selection_mode: Some("0"),
        charging_characteristics: Some("0800"),
        sgsn_mcc_mnc: Some("23415"),
        user_location_info: Some(&[0x82, 0x32, 0xf4, 0x51, 0, 1, 0x32, 0xf4, 0x51, 0, 0, 1, 1]),
        rat_type: Some(&[6]),
        ..Default::default()
    };
    let request = CreditControlRequest {
        session_id: "pgw1.epc.mnc015.mcc234.3gppnetwork.org;1790000000;7;gy",
        origin_host: "pgw1.epc.mnc015.mcc234.3gppnetwork.org",
        origin_realm: "epc.mnc015.mcc234.3gppnetwork.org",
        destination_realm: "ocs.mnc015.mcc234.3gppnetwork.org",
        auth_application_id: application::CREDIT_CONTROL,
        service_context_id: "32251@3gpp.org",
        request_type: RequestType::Update,
        request_number: 2,
        origin_state_id: Some(1_790_000_000),
        event_timestamp: time,
        subscription_ids: List::Values(&subscribers),
        multiple_services_indicator: Some(MultipleServicesIndicator::Supported),
        services: List::Values(&services),
        service_information: Some(ServiceInformation { ps: Some(ps), ..Default::default() }),
        ..Default::default()
    };
    request.write(&HEADER, out).expect("it fits");
}

fn answer(request: &CreditControlRequest<'_>, header: &Header, out: &mut Vec<u8>) {
    let services = [10, 20].map(|rating_group| MultipleServices {
        granted: Some(GrantedServiceUnit { total_octets: Some(10_000_000), ..Default::default() }),
        rating_group: Some(rating_group),
        validity_time_s: Some(3600),
        result_code: Some(2001),
        volume_quota_threshold_octets: Some(1_000_000),
        quota_holding_time_s: Some(600),
        ..Default::default()
    });
    let answer = CreditControlAnswer {
        session_id: request.session_id,
        result_code: Some(2001),
        origin_host: "ocs1.ocs.mnc015.mcc234.3gppnetwork.org",
        origin_realm: "ocs.mnc015.mcc234.3gppnetwork.org",
        auth_application_id: application::CREDIT_CONTROL,
        request_type: request.request_type,
        request_number: request.request_number,
        session_failover: Some(SessionFailover::Supported),
        services: List::Values(&services),
        failure_handling: Some(FailureHandling::Terminate),
        ..Default::default()
    };
    answer.write(&header.answer(), out).expect("it fits");
}

fn time(what: &str, mut f: impl FnMut()) {
    const ROUNDS: u32 = 100_000;
    let mut best = f64::MAX;
    for _ in 0..20 {
        let start = Instant::now();
        (0..ROUNDS).for_each(|_| f());
        best = best.min(start.elapsed().as_nanos() as f64 / f64::from(ROUNDS));
    }
    println!("{what:<52} {best:>7.0} ns {:>7.2} M/s", 1000.0 / best);
}

fn main() {
    let (mut octets, mut out) = (Vec::new(), Vec::new());
    request(&mut octets);
    let message = Message::new(&octets).expect("well written");
    let value = CreditControlRequest::read(&message).expect("well written");
    answer(&value, &message.header, &mut out);
    println!("CCR-U of {} octets, CCA-U of {} octets", octets.len(), out.len());
    time("view: every AVP of the CCR, groups closed", || {
        black_box(Message::new(black_box(&octets)).unwrap().avps().flatten().count());
    });
    time("read the CCR as a value", || {
        let message = Message::new(black_box(&octets)).unwrap();
        black_box(CreditControlRequest::read(&message).unwrap());
    });
    time("read it, and its rating groups as they are asked for", || {
        let message = Message::new(black_box(&octets)).unwrap();
        let value = CreditControlRequest::read(&message).unwrap();
        black_box(value.services.iter().map(|s| s.used.len() + s.rating_group.unwrap_or(0) as usize).sum::<usize>());
    });
    time("write the CCA", || {
        out.clear();
        answer(black_box(&value), &message.header, &mut out);
    });
}
