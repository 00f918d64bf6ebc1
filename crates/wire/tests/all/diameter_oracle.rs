//! Diameter against tshark: each message that is built decodes there without a complaint and with the same AVPs, and
//! the messages of captures have the AVPs here that they have there.

use std::path::{Path, PathBuf};
use std::process::Command;
use trunkline_wire::diameter::base::*;
use trunkline_wire::diameter::credit::*;
use trunkline_wire::diameter::enumerated::*;
use trunkline_wire::diameter::*;
use trunkline_wire::pcap::emit;

/// An AVP as either side sees it: level of nesting, code, flags, length, vendor.
type Seen = (usize, u32, u8, u32, u32);

fn tshark(file: &Path, options: &[&str]) -> Option<String> {
    let done = Command::new("tshark").arg("-r").arg(file).args(options).output().ok()?;
    done.status.success().then(|| String::from_utf8_lossy(&done.stdout).into_owned())
}

fn attribute<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.split_once(&format!(" {name}=\""))?.1.split('"').next()
}

/// The AVPs of each message in tshark's PDML, and its complaints.
fn seen_by_tshark(pdml: &str) -> (Vec<Vec<Seen>>, Vec<String>) {
    let (mut messages, mut complaints): (Vec<Vec<Seen>>, _) = (Vec::new(), Vec::new());
    // Where the AVPs that are open end.
    let mut open: Vec<usize> = Vec::new();
    for line in pdml.lines().map(str::trim) {
        let number = |name: &str| attribute(line, name).and_then(|text| text.parse::<usize>().ok());
        let shown = || attribute(line, "show").and_then(|text| text.parse::<u32>().ok());
        match attribute(line, "name") {
            Some("diameter") if line.starts_with("<proto") => {
                messages.push(Vec::new());
                open.clear();
            }
            Some("diameter.avp") => {
                let (Some(at), Some(size)) = (number("pos"), number("size")) else { continue };
                open.retain(|end| at < *end);
                messages.last_mut().unwrap().push((open.len(), 0, 0, 0, 0));
                open.push(at + size);
            }
            Some(name @ ("diameter.avp.code" | "diameter.avp.len" | "diameter.avp.vendorId")) => {
                let Some(last) = messages.last_mut().and_then(|m| m.last_mut()) else { continue };
                let value = shown().unwrap_or(0);
                match name {
                    "diameter.avp.code" => last.1 = value,
                    "diameter.avp.len" => last.3 = value,
                    _ => last.4 = value,
                }
            }
            Some("diameter.avp.flags") => {
                let flags =
                    attribute(line, "show").and_then(|t| u8::from_str_radix(t.trim_start_matches("0x"), 16).ok());
                if let Some(last) = messages.last_mut().and_then(|m| m.last_mut()) {
                    last.2 = flags.unwrap_or(0);
                }
            }
            Some("_ws.expert.message" | "_ws.malformed") => {
                complaints.push(attribute(line, "show").unwrap_or_default().to_owned());
            }
            _ => {}
        }
    }
    (messages, complaints)
}

/// The AVPs that we see; a group is what they saw as one.
fn seen_by_us(avps: Avps<'_>, level: usize, theirs: &[Seen], out: &mut Vec<Seen>) {
    for avp in avps.map_while(Result::ok) {
        out.push((level, avp.key.code, avp.flags, avp.octets().len() as u32, avp.key.vendor));
        if theirs.get(out.len()).is_some_and(|next| next.0 > level) {
            seen_by_us(avp.group(), level + 1, theirs, out);
        }
    }
}

/// A capture of messages, each in a segment of one connection.
fn capture(messages: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    emit::header(&mut file, 101, 65_535);
    let mut sequence = 1u32;
    for (n, message) in messages.iter().enumerate() {
        let length = (40 + message.len()) as u16;
        let mut packet = vec![0x45, 0, 0, 0, 0, 1, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        packet[2..4].copy_from_slice(&length.to_be_bytes());
        packet.extend_from_slice(&[0x9c, 0x40]);
        packet.extend_from_slice(&PORT.to_be_bytes());
        packet.extend_from_slice(&sequence.to_be_bytes());
        packet.extend_from_slice(&[0, 0, 0, 0, 0x50, 0x10, 0xff, 0xff, 0, 0, 0, 0]);
        packet.extend_from_slice(message);
        sequence += message.len() as u32;
        emit::record(&mut file, 1_700_000_000_000_000_000 + n as i64, packet.len() as u32, &packet);
    }
    file
}

fn read_by_tshark(messages: &[Vec<u8>]) -> Option<(Vec<Vec<Seen>>, Vec<String>)> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("diameter.pcap");
    std::fs::write(&file, capture(messages)).unwrap();
    let pdml = tshark(&file, &["-T", "pdml", "-o", "tcp.check_checksum:FALSE"]);
    if pdml.is_none() {
        println!("SKIPPED: no tshark");
    }
    Some(seen_by_tshark(&pdml?))
}

fn written(write: impl FnOnce(&mut Vec<u8>) -> Result<(), TooLong>) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    out
}

const MONEY: Money = Money { value: UnitValue { digits: -1234, exponent: Some(-2) }, currency_code: Some(978) };

fn header(command: u32) -> Header {
    let application = if command::is_of_peers(command) { 0 } else { application::CREDIT_CONTROL };
    Header { hop_by_hop: 0x0102_0304, end_to_end: 0x0506_0708, ..Header::request(command, application) }
}

/// Every field of a CCR and a CCA.
fn credit_control(messages: &mut Vec<Vec<u8>>) {
    let address = [HostAddress::Ip([192, 0, 2, 1].into()), HostAddress::Ip([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1].into())];
    let subscribers = [
        SubscriptionId { kind: SubscriptionIdType::E164, name: "447700900123" },
        SubscriptionId { kind: SubscriptionIdType::Imsi, name: "234150000000001" },
    ];
    let time = Time::from_unix(1_790_000_000).unwrap();
    let equipment = UserEquipmentInfo { kind: UserEquipmentInfoType::Imeisv, value: &[0x53, 0, 0, 0, 0, 0, 0, 1] };
    let used = [TariffChangeUsage::Before, TariffChangeUsage::After].map(|side| UsedServiceUnit {
        reporting_reason: Some(ReportingReason::QuotaExhausted),
        tariff_change_usage: Some(side),
        time_s: Some(60),
        money: Some(MONEY),
        total_octets: Some(3 << 32),
        input_octets: Some(1 << 32),
        output_octets: Some(2 << 32),
        service_specific_units: Some(5),
        ..Default::default()
    });
    let pools =
        [PoolReference { identifier: 1, unit_type: UnitType::TotalOctets, value: MONEY.value, ..Default::default() }];
    let reasons = [ReportingReason::QuotaHoldingTime];
    let rules = ["permit out ip from any to 192.0.2.0/24"];
    let filters = ["top-up"];
    let final_unit = FinalUnitIndication {
        action: FinalUnitAction::Redirect,
        restriction_filter_rules: List::Values(&rules),
        filter_ids: List::Values(&filters),
        redirect_server: Some(RedirectServer {
            address_type: RedirectAddressType::Url,
            address: "https://topup.example/",
        }),
    };
    let granted = GrantedServiceUnit {
        tariff_time_change: Some(time),
        time_s: Some(600),
        money: Some(MONEY),
        total_octets: Some(1 << 20),
        ..Default::default()
    };
    let services = [
        MultipleServices {
            requested: Some(RequestedServiceUnit::default()),
            used: List::Values(&used),
            service_identifiers: List::Values(&[100, 101]),
            rating_group: Some(10),
            reporting_reasons: List::Values(&reasons),
            trigger: Some(Trigger { types: List::Values(&[2, 4]) }),
            refund_information: Some(b"refund"),
            ..Default::default()
        },
        MultipleServices {
            rating_group: Some(20),
            requested: Some(RequestedServiceUnit { time_s: Some(1), money: Some(MONEY), ..Default::default() }),
            ..Default::default()
        },
    ];
    let ps = PsInformation {
        charging_id: Some(&[0, 0, 0, 9]),
        connection_charging_id: Some(9),
        node_id: Some("pgw"),
        pdp_type: Some(3),
        pdp_addresses: List::Values(&address),
        sgsn_addresses: List::Values(&address[..1]),
        ggsn_addresses: List::Values(&address[..1]),
        charging_gateway: Some(address[1]),
        imsi_mcc_mnc: Some("23415"),
        ggsn_mcc_mnc: Some("23415"),
        nsapi: Some("5"),
        called_station_id: Some("internet"),
        selection_mode: Some("0"),
        charging_characteristics: Some("0800"),
        sgsn_mcc_mnc: Some("23415"),
        ms_timezone: Some(&[0x40, 1]),
        rat_type: Some(&[6]),
        serving_node_types: List::Values(&[2]),
        start_time: Some(time),
        stop_time: Some(time),
        change_conditions: List::Values(&[3]),
        user_equipment_info: Some(equipment),
        ..Default::default()
    };
    let request = CreditControlRequest {
        session_id: "gw.example;1790000000;7;charging",
        origin_host: "gw.example",
        origin_realm: "example",
        destination_realm: "ocs.example",
        auth_application_id: 4,
        service_context_id: "32251@3gpp.org",
        request_type: RequestType::Update,
        request_number: 2,
        destination_host: Some("ocs1.ocs.example"),
        user_name: Some("user@example"),
        sub_session_id: Some(3),
        acct_multi_session_id: Some("multi"),
        origin_state_id: Some(1_790_000_000),
        event_timestamp: Some(time),
        subscription_ids: List::Values(&subscribers),
        service_identifier: Some(1),
        termination_cause: Some(1),
        requested: Some(RequestedServiceUnit { total_octets: Some(1), ..Default::default() }),
        requested_action: Some(RequestedAction::CheckBalance),
        used: List::Values(&used),
        multiple_services_indicator: Some(MultipleServicesIndicator::Supported),
        services: List::Values(&services),
        correlation_id: Some(b"correlation"),
        user_equipment_info: Some(equipment),
        route_records: List::Values(&["relay.example"]),
        service_information: Some(ServiceInformation {
            subscription_ids: List::Values(&subscribers),
            ps: Some(ps),
            ..Default::default()
        }),
        ..Default::default()
    };
    let head = header(command::CREDIT_CONTROL);
    messages.push(written(|out| request.write(&head, out)));
    let results = [
        MultipleServices {
            granted: Some(granted),
            rating_group: Some(10),
            pool_references: List::Values(&pools),
            validity_time_s: Some(3600),
            result_code: Some(2001),
            final_unit_indication: Some(final_unit),
            time_quota_threshold_s: Some(30),
            volume_quota_threshold_octets: Some(1000),
            unit_quota_threshold: Some(1),
            quota_holding_time_s: Some(300),
            quota_consumption_time_s: Some(10),
            time_quota_mechanism: Some(TimeQuotaMechanism {
                quota_type: TimeQuotaType::ContinuousTimePeriod,
                base_time_interval_s: 60,
            }),
            ..Default::default()
        },
        MultipleServices { rating_group: Some(20), result_code: Some(4012), ..Default::default() },
    ];
    let answer = CreditControlAnswer {
        session_id: request.session_id,
        result_code: Some(2001),
        origin_host: "ocs1.ocs.example",
        origin_realm: "ocs.example",
        auth_application_id: 4,
        request_type: RequestType::Update,
        request_number: 2,
        user_name: Some("user@example"),
        session_failover: Some(SessionFailover::Supported),
        sub_session_id: Some(3),
        origin_state_id: Some(1),
        event_timestamp: Some(time),
        granted: Some(granted),
        services: List::Values(&results),
        cost_information: Some(CostInformation { value: MONEY.value, currency_code: 978, unit: Some("minute") }),
        low_balance_indication: Some(1),
        final_unit_indication: Some(final_unit),
        check_balance_result: Some(CheckBalanceResult::NoCredit),
        failure_handling: Some(FailureHandling::RetryAndTerminate),
        direct_debiting_failure_handling: Some(DirectDebitingFailureHandling::Continue),
        validity_time_s: Some(60),
        redirect_hosts: List::Values(&["aaa://ocs2.ocs.example"]),
        redirect_host_usage: Some(1),
        redirect_max_cache_time_s: Some(60),
        error_message: Some("none"),
        overload_report: Some(OverloadReport {
            sequence_number: 1,
            report_type: 0,
            reduction_percent: Some(10),
            validity_s: Some(30),
        }),
        ..Default::default()
    };
    messages.push(written(|out| answer.write(&head.answer(), out)));
}

/// Every other command, with every field.
fn base_commands(messages: &mut Vec<Vec<u8>>) {
    let address = [HostAddress::Ip([192, 0, 2, 1].into())];
    let applications =
        [VendorSpecificApplicationId { vendor_id: 10_415, auth_application_id: Some(4), acct_application_id: None }];
    let request = CapabilitiesExchangeRequest {
        origin_host: "gw.example",
        origin_realm: "example",
        host_ip_addresses: List::Values(&address),
        vendor_id: 10_415,
        product_name: "Trunkline",
        origin_state_id: Some(1),
        supported_vendor_ids: List::Values(&[10_415]),
        auth_application_ids: List::Values(&[4]),
        inband_security_ids: List::Values(&[0]),
        acct_application_ids: List::Values(&[3]),
        vendor_specific_application_ids: List::Values(&applications),
        firmware_revision: Some(1),
    };
    let answer = CapabilitiesExchangeAnswer {
        result_code: 2001,
        origin_host: "ocs.example",
        origin_realm: "example",
        host_ip_addresses: List::Values(&address),
        product_name: "Trunkline",
        auth_application_ids: List::Values(&[4]),
        ..Default::default()
    };
    let head = header(command::CAPABILITIES_EXCHANGE);
    messages.push(written(|out| request.write(&head, out)));
    messages.push(written(|out| answer.write(&head.answer(), out)));
    let (origin_host, origin_realm) = ("gw.example", "example");
    let head = header(command::DEVICE_WATCHDOG);
    let watchdog = DeviceWatchdogRequest { origin_host, origin_realm, origin_state_id: Some(1) };
    messages.push(written(|out| watchdog.write(&head, out)));
    let watchdog = DeviceWatchdogAnswer { result_code: 2001, origin_host, origin_realm, ..Default::default() };
    messages.push(written(|out| watchdog.write(&head.answer(), out)));
    let head = header(command::DISCONNECT_PEER);
    let goodbye = DisconnectPeerRequest { origin_host, origin_realm, disconnect_cause: DisconnectCause::Busy };
    messages.push(written(|out| goodbye.write(&head, out)));
    let goodbye = DisconnectPeerAnswer { result_code: 2001, origin_host, origin_realm, ..Default::default() };
    messages.push(written(|out| goodbye.write(&head.answer(), out)));
    session_commands(messages);
}

fn session_commands(messages: &mut Vec<Vec<u8>>) {
    let (session_id, origin_host, origin_realm) = ("gw.example;1;2", "ocs.example", "example");
    let head = header(command::RE_AUTH);
    let again = ReAuthRequest {
        session_id,
        origin_host,
        origin_realm,
        destination_realm: "example",
        destination_host: "gw.example",
        auth_application_id: 4,
        rating_group: Some(10),
        service_identifier: Some(1),
        pool_identifier: Some(1),
        sub_session_id: Some(1),
        ..Default::default()
    };
    messages.push(written(|out| again.write(&head, out)));
    let again = ReAuthAnswer { session_id, result_code: Some(2002), origin_host, origin_realm, ..Default::default() };
    messages.push(written(|out| again.write(&head.answer(), out)));
    let head = header(command::ABORT_SESSION);
    let abort = AbortSessionRequest {
        session_id,
        origin_host,
        origin_realm,
        destination_realm: "example",
        destination_host: "gw.example",
        auth_application_id: 4,
        ..Default::default()
    };
    messages.push(written(|out| abort.write(&head, out)));
    let abort = AbortSessionAnswer {
        session_id,
        experimental_result: Some(ExperimentalResult { vendor_id: 10_415, code: 5031 }),
        origin_host,
        origin_realm,
        ..Default::default()
    };
    messages.push(written(|out| abort.write(&head.answer(), out)));
}

/// Each kind of refusal of a CCR.
fn refusals(messages: &mut Vec<Vec<u8>>) {
    let octets = messages[0].clone();
    let request = Message::new(&octets).unwrap();
    let rating_group = dictionary::avp::RATING_GROUP;
    let services = dictionary::avp::MULTIPLE_SERVICES_CREDIT_CONTROL;
    let session = request.avps().find(dictionary::avp::SESSION_ID).unwrap();
    let failures = [
        Failure::of_message(result_code::TOO_BUSY),
        Failure::missing(rating_group).within(services),
        Failure::missing(dictionary::avp::SGSN_ADDRESS),
        Failure::of_avp(result_code::INVALID_AVP_VALUE, &session),
        Failure::of_header(result_code::INVALID_AVP_LENGTH, &[0, 0, 1, 176, 0x40, 0, 0, 99, 1]),
    ];
    messages.extend(failures.iter().map(|f| written(|out| refuse(&request, "ocs.example", "example", f, out))));
}

#[test]
fn tshark_reads_what_is_written() {
    let mut messages = Vec::new();
    credit_control(&mut messages);
    base_commands(&mut messages);
    refusals(&mut messages);
    let Some((theirs, complaints)) = read_by_tshark(&messages) else { return };
    // That is the Requested-Service-Unit which leaves the choice to the server (RFC 8506 section 8.18).
    assert_eq!(complaints, ["Data is empty"]);
    compare(&messages, &theirs);
    messages.iter().for_each(|octets| exercise(octets));
}

fn exercise(octets: &[u8]) {
    trunkline_wire::exercise::diameter(octets);
}

/// Messages of public captures; none where those are absent.
fn captured() -> Vec<Vec<u8>> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let shared = std::env::var_os("TRUNKLINE_SHARED").map_or_else(beside, PathBuf::from);
    let Ok(entries) = std::fs::read_dir(shared.join("fuzz-seeds/diameter")) else {
        println!("SKIPPED: no shared captures");
        return Vec::new();
    };
    entries.filter_map(|e| std::fs::read(e.ok()?.path()).ok()).flat_map(|octets| frames(&octets)).collect()
}

#[test]
fn captures_have_the_avps_that_tshark_sees() {
    let messages = captured();
    messages.iter().for_each(|octets| exercise(octets));
    let Some((theirs, _)) = read_by_tshark(&messages).filter(|_| !messages.is_empty()) else { return };
    let compared = compare(&messages, &theirs);
    println!("{compared} messages of captures compared");
    assert!(compared > 30, "{compared}");
}

fn frames(octets: &[u8]) -> Vec<Vec<u8>> {
    let mut frames = Frames::new(octets, 1 << 20);
    std::iter::from_fn(|| frames.next_message().ok().flatten().map(<[u8]>::to_vec)).collect()
}

fn compare(messages: &[Vec<u8>], theirs: &[Vec<Seen>]) -> usize {
    assert_eq!(messages.len(), theirs.len());
    for (octets, theirs) in messages.iter().zip(theirs) {
        let message = Message::new(octets).unwrap();
        let mut ours = Vec::new();
        seen_by_us(message.avps(), 0, theirs, &mut ours);
        assert_eq!(&ours, theirs, "{message:#}");
    }
    messages.len()
}

/// Messages of the credit control capture are read as values, too.
#[test]
fn the_captured_credit_control_is_read() {
    let mut read = 0;
    let messages = captured();
    for octets in &messages {
        let message = Message::new(octets).unwrap();
        if message.header.command == command::CREDIT_CONTROL && message.header.application == 4 {
            let outcome = if message.header.is_request() {
                CreditControlRequest::read(&message).map(|r| r.request_number)
            } else {
                CreditControlAnswer::read(&message).map(|a| a.request_number)
            };
            println!("{message}: {outcome:?}");
            assert!(outcome.is_ok(), "{message:#}");
            read += 1;
        }
    }
    assert!(messages.is_empty() || read >= 6, "{read}");
}
