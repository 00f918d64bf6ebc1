//! Records against tshark, which decodes them inside Data Record Packets: every field, and no complaint.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use trunkline_wire::cdr::*;
use trunkline_wire::gtpp::records::{FormatVersion, format};
use trunkline_wire::gtpp::{self, Header, Version, Writer, message_type};
use trunkline_wire::pcap::emit;

/// A capture of one Data Record Transfer Request for each record.
fn capture(records: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    emit::header(&mut file, 101, 65_535);
    for (n, record) in records.iter().enumerate() {
        let header =
            Header { version: Version::V2, kind: message_type::DATA_RECORD_TRANSFER_REQUEST, sequence: n as u16 };
        let version = FormatVersion { application: 1, release: 10, version: 5 };
        let mut message = Vec::new();
        let writer = Writer::new(&mut message, &header);
        writer.records(false, format::BER, version, [record.as_slice()]).finish().unwrap();
        let mut packet = vec![0x45, 0, 0, 0, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        packet[2..4].copy_from_slice(&((28 + message.len()) as u16).to_be_bytes());
        packet.extend_from_slice(&[0x9c, 0x40]);
        packet.extend_from_slice(&gtpp::PORT.to_be_bytes());
        packet.extend_from_slice(&((8 + message.len()) as u16).to_be_bytes());
        packet.extend_from_slice(&[0, 0]);
        packet.extend_from_slice(&message);
        emit::record(&mut file, 1_700_000_000_000_000_000 + n as i64, packet.len() as u32, &packet);
    }
    file
}

/// The values of fields, of each record a line; none without tshark.
fn tshark(records: &[Vec<u8>], fields: &[&str]) -> Option<Vec<Vec<String>>> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cdr.pcap");
    std::fs::write(&file, capture(records)).unwrap();
    let mut command = Command::new("tshark");
    command.arg("-r").arg(&file).args(["-T", "fields", "-E", "separator=;"]);
    fields.iter().for_each(|field| {
        command.args(["-e", field]);
    });
    let Ok(done) = command.output() else {
        println!("SKIPPED: no tshark");
        return None;
    };
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    Some(text.lines().map(|line| line.split(';').map(str::to_owned).collect()).collect())
}

fn time(unix_seconds: i64) -> RecordTime {
    RecordTime { unix_seconds, offset_minutes: 60 }
}

fn hexadecimal(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

#[test]
fn tshark_reads_every_field() {
    let opened = time(1_795_401_000);
    let (v4, v6): (IpAddr, IpAddr) = ("192.0.2.1".parse().unwrap(), "2001:db8::1".parse().unwrap());
    let traffic = [
        TrafficVolume { uplink: Some(300), downlink: Some(1 << 30), condition: 1, time: opened, user_location: None },
        TrafficVolume { uplink: Some(0), downlink: Some(127), condition: 2, time: opened, user_location: None },
    ];
    let usage = [10, 20].map(|rating_group| ServiceUsage {
        rating_group,
        charging_rule_base_name: Some("rules"),
        result_code: Some(2001),
        local_sequence_number: Some(rating_group + 1),
        first: Some(opened),
        last: Some(opened),
        time_s: Some(128),
        conditions: service_condition::VOLUME_EXHAUSTED | service_condition::RECORD_CLOSURE,
        serving_node: Some(v4),
        uplink: Some(32_768),
        downlink: Some(65_535),
        reported: opened,
        service_identifier: Some(7),
    });
    let record = PgwRecord {
        imsi: Digits::new("234150000000001"),
        gateway: v4,
        charging_id: u32::MAX,
        serving_nodes: List::Values(&[v4, v6]),
        access_point_name: Some("internet"),
        pdp_type: Some([0xf1, 0x21]),
        subscriber_address: Some(v6),
        dynamic_address: true,
        traffic_volumes: List::Values(&traffic),
        opened,
        duration_s: 3600,
        cause: closing::VOLUME_LIMIT,
        record_sequence_number: Some(2),
        node_id: Some("ocs1"),
        local_sequence_number: Some(4_000_000_000),
        selection_mode: Some(0),
        msisdn: Digits::new("447700900123"),
        charging_characteristics: [8, 0],
        characteristics_mode: Some(3),
        serving_plmn: Some([0x32, 0xf4, 0x51]),
        imeisv: Digits::new("3512345678901234"),
        rat_type: Some(6),
        ms_timezone: Some([0x40, 1]),
        user_location: Some(&[0x08, 0x32, 0xf4, 0x51, 0, 1]),
        service_usage: List::Values(&usage),
        serving_node_types: List::Values(&[2, 5]),
        gateway_plmn: Some([0x32, 0xf4, 0x51]),
        started: Some(opened),
        stopped: Some(opened),
        connection_charging_id: Some(9),
        retransmission: true,
    };
    let mut octets = Vec::new();
    record.write(&mut octets);
    let stamp = hexadecimal(&opened.octets());
    let twice = |text: &str| format!("{text},{text}");
    let expected = [
        ("gprscdr.recordType", "85".to_owned()),
        ("gprscdr.chargingID", "4294967295".to_owned()),
        ("gprscdr.accessPointNameNI", "internet".to_owned()),
        ("e212.imsi", "234150000000001".to_owned()),
        ("e164.msisdn", "447700900123".to_owned()),
        ("gprscdr.recordOpeningTime", stamp.clone()),
        ("gprscdr.duration", "3600".to_owned()),
        ("gprscdr.causeForRecClosing", "16".to_owned()),
        ("gprscdr.nodeID", "ocs1".to_owned()),
        ("gprscdr.localSequenceNumber", "4000000000,11,21".to_owned()),
        ("gprscdr.recordSequenceNumber", "2".to_owned()),
        ("gprscdr.apnSelectionMode", "0".to_owned()),
        ("gprscdr.chargingCharacteristics", "0800".to_owned()),
        ("gprscdr.chChSelectionMode", "3".to_owned()),
        ("gprscdr.rATType", "6".to_owned()),
        ("gprscdr.dataVolumeGPRSUplink", "300,0".to_owned()),
        ("gprscdr.dataVolumeGPRSDownlink", "1073741824,127".to_owned()),
        ("gprscdr.changeCondition", "1,2".to_owned()),
        ("gprscdr.ratingGroup", "10,20".to_owned()),
        ("gprscdr.resultCode", twice("2001")),
        ("gprscdr.chargingRuleBaseName", twice("rules")),
        ("gprscdr.timeOfReport", twice(&stamp)),
        ("gprscdr.timeUsage", twice("128")),
        ("gprscdr.datavolumeFBCUplink", twice("32768")),
        ("gprscdr.datavolumeFBCDownlink", twice("65535")),
        ("gprscdr.serviceIdentifier", twice("7")),
        ("gprscdr.ServiceConditionChange.dCCAVolumeExhausted", twice("1")),
        ("gprscdr.ServiceConditionChange.dCCATimeExhausted", twice("0")),
        ("gprscdr.ServiceConditionChange.recordClosure", twice("1")),
        ("gprscdr.iPBinV4Address", "192.0.2.1,192.0.2.1,192.0.2.1,192.0.2.1".to_owned()),
        ("gprscdr.iPBinV6Address", "2001:db8::1,2001:db8::1".to_owned()),
        ("gprscdr.ServingNodeType", "2,5".to_owned()),
        ("gprscdr.startTime", stamp.clone()),
        ("gprscdr.stopTime", stamp),
        ("gprscdr.pDNConnectionChargingID", "9".to_owned()),
        ("_ws.malformed", String::new()),
        ("_ws.expert.message", String::new()),
    ];
    let fields: Vec<&str> = expected.iter().map(|(field, _)| *field).collect();
    let Some(lines) = tshark(&[octets.clone()], &fields) else { return };
    let theirs: Vec<(&str, String)> = fields.iter().copied().zip(lines[0].clone()).collect();
    assert_eq!(theirs, expected);
    assert_eq!(PgwRecord::read(&octets), Ok(record));
}

/// The record of a public capture is of another kind, but its elements can be told apart.
#[test]
fn a_record_of_another_program_can_be_walked() {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let shared = std::env::var_os("TRUNKLINE_SHARED").map_or_else(beside, PathBuf::from);
    let Ok(entries) = std::fs::read_dir(shared.join("fuzz-seeds/gtp-prime-v0")) else {
        println!("SKIPPED: no shared captures");
        return;
    };
    let mut tags = Vec::new();
    for octets in entries.filter_map(|e| std::fs::read(e.ok()?.path()).ok()) {
        let Ok(message) = gtpp::Message::new(&octets) else { continue };
        let Ok(gtpp::Body::DataRecordTransferRequest(gtpp::TransferCommand::Send { packet: Some(packet), .. })) =
            message.body()
        else {
            continue;
        };
        for record in packet.records() {
            trunkline_wire::exercise::cdr(record);
            assert_eq!(PgwRecord::read(record), Err(ber::BerError::Kind));
            let outer = ber::Elements::new(record).next().unwrap().unwrap();
            assert_eq!(outer.tag, 96);
            tags.extend(outer.elements().map(|element| element.unwrap().tag));
        }
    }
    assert!(tags.starts_with(&[0, 3, 4, 5, 7, 8, 9]), "{tags:?}");
}
