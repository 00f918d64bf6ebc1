//! Octets written by hand, and what is written read again.

use super::ber::{Backward, BerError, CONTEXT, Elements};
use super::file::*;
use super::*;
use core::net::IpAddr;
use proptest::prelude::*;

fn time(unix_seconds: i64) -> RecordTime {
    RecordTime { unix_seconds, offset_minutes: 60 }
}

#[test]
fn digits_and_times() {
    let imsi = Digits::new("234150000000001").unwrap();
    assert_eq!(imsi.octets(), [0x32, 0x14, 0x05, 0, 0, 0, 0, 0xf1]);
    assert_eq!((Digits::from_octets(imsi.octets()), imsi.to_string().as_str()), (Some(imsi), "234150000000001"));
    assert_eq!((Digits::new("12a"), Digits::new(&"1".repeat(21))), (None, None));
    assert_eq!(
        (Digits::from_octets(&[0x1f]), Digits::from_octets(&[0x1a]), Digits::from_octets(&[0; 11])),
        (None, None, None)
    );
    let time = RecordTime { unix_seconds: 1_795_395_600, offset_minutes: -210 };
    assert_eq!(time.to_string(), "2026-11-22T21:30:00-03:30");
    assert_eq!(time.octets(), [0x26, 0x11, 0x22, 0x21, 0x30, 0, b'-', 0x03, 0x30]);
    assert_eq!(RecordTime::from_octets(time.octets()), Some(time));
    for (at, octet) in [(0, 0x1a), (1, 0x13), (2, 0x31), (3, 0x24), (6, b'x'), (8, 0x60)] {
        let mut octets = time.octets();
        octets[at] = octet;
        assert_eq!(RecordTime::from_octets(octets), None, "{at}");
    }
}

#[test]
fn elements_backward() {
    let mut out = b"before".to_vec();
    let mut backward = Backward::new(&mut out);
    let outer = backward.end();
    backward.bits(CONTEXT, 8, 1 << 9 | 1);
    backward.bits(CONTEXT, 8, 0);
    backward.unsigned(CONTEXT, 1, u64::MAX);
    backward.unsigned(CONTEXT, 1, 128);
    backward.unsigned(CONTEXT, 1, 0);
    backward.octets(CONTEXT, 35, &[7; 200]);
    backward.wrap(CONTEXT, 79, outer);
    backward.finish();
    let octets = out.strip_prefix(b"before").unwrap();
    assert_eq!(octets[..8], [0xbf, 79, 0x81, 230, 0x9f, 35, 0x81, 200]);
    let tail = [0x81, 1, 0, 0x81, 2, 0, 128, 0x81, 9, 0, 255, 255, 255, 255, 255, 255, 255, 255, 0x88, 1, 0];
    assert_eq!(octets[208..octets.len() - 5], tail);
    assert_eq!(octets[octets.len() - 5..], [0x88, 3, 6, 0x80, 0x40]);
    let element = Elements::new(octets).next().unwrap().unwrap();
    let inner: Vec<_> = element.elements().map(Result::unwrap).collect();
    assert_eq!((element.tag, element.constructed, inner.len()), (79, true, 6));
    assert_eq!((inner[2].unsigned(), inner[3].unsigned()), (Ok(128), Ok(u64::MAX)));
    assert_eq!((inner[4].bits(), inner[5].bits()), (Ok(0), Ok(1 << 9 | 1)));
}

#[test]
fn elements_that_cannot_be() {
    let first = |octets: &[u8]| Elements::new(octets).next().unwrap().map(|e| e.value.len());
    assert_eq!(first(&[0x80, 2, 1]), Err(BerError::Cut));
    assert_eq!(first(&[0xa0, 0x80, 0, 0]), Err(BerError::Length));
    assert_eq!(first(&[0x80, 0x85, 0, 0, 0, 0, 1, 1]), Err(BerError::Length));
    assert_eq!(first(&[0x80, 0x84, 0xff, 0xff, 0xff, 0xff]), Err(BerError::Cut));
    assert_eq!(first(&[0x9f, 0x81, 1, 0]), Err(BerError::Tag));
    assert_eq!(first(&[0x9f]), Err(BerError::Cut));
    let number = |octets: &[u8]| Elements::new(octets).next().unwrap().unwrap().unsigned();
    assert_eq!((number(&[0x80, 0]), number(&[0x80, 1, 0xff])), (Err(BerError::Value(0)), Err(BerError::Value(0))));
    assert_eq!(number(&[0x80, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]), Err(BerError::Value(0)));
}

/// The least record, as the standard has it.
const LEAST: &[u8] = &[
    0xbf, 79, 49, // PGWRecord
    0x80, 1, 85, // recordType
    0xa4, 6, 0x80, 4, 192, 0, 2, 1, // p-GWAddress
    0x85, 1, 9, // chargingID
    0xa6, 6, 0x80, 4, 192, 0, 2, 2, // servingNodeAddress
    0x8d, 9, 0x26, 0x11, 0x23, 0x02, 0x30, 0, b'+', 0, 0, // recordOpeningTime
    0x8e, 1, 60, // duration
    0x8f, 1, 0, // causeForRecClosing
    0x97, 2, 8, 0, // chargingCharacteristics
    0xbf, 35, 3, 10, 1, 2, // servingNodeType
];

const SERVING_NODE: [IpAddr; 1] = [IpAddr::V4(core::net::Ipv4Addr::new(192, 0, 2, 2))];

fn least() -> PgwRecord<'static> {
    PgwRecord {
        gateway: "192.0.2.1".parse().unwrap(),
        charging_id: 9,
        serving_nodes: List::Values(&SERVING_NODE),
        opened: RecordTime::utc(1_795_401_000),
        duration_s: 60,
        charging_characteristics: [8, 0],
        serving_node_types: List::Values(&[2]),
        ..Default::default()
    }
}

#[test]
fn the_least_record_written_by_hand() {
    let mut out = Vec::new();
    least().write(&mut out);
    assert_eq!(out, LEAST);
    assert_eq!(PgwRecord::read(LEAST), Ok(least()));
    let shown = "PGWRecord -: 2026-11-23T02:30:00+00:00, 60 s, up 0, down 0, normalRelease";
    assert_eq!(least().to_string(), shown);
}

#[test]
fn records_that_are_none() {
    let without = |from: usize, to: usize| {
        let mut octets = LEAST.to_vec();
        octets.drain(from..to);
        octets[2] -= (to - from) as u8;
        PgwRecord::read(&octets).map(|_| ()).unwrap_err()
    };
    assert_eq!((without(6, 14), without(14, 17)), (BerError::Missing(4), BerError::Missing(5)));
    assert_eq!((without(50, 51), without(46, 52)), (BerError::Cut, BerError::Missing(35)));
    let changed = |at: usize, octet: u8| {
        let mut octets = LEAST.to_vec();
        octets[at] = octet;
        PgwRecord::read(&octets).map(|_| ()).unwrap_err()
    };
    assert_eq!((changed(1, 78), changed(5, 84)), (BerError::Kind, BerError::Kind));
    assert_eq!((changed(8, 0x85), changed(28, 0x13)), (BerError::Value(5), BerError::Value(13)));
    assert_eq!(PgwRecord::read(&[LEAST, &[0]].concat()).map(|_| ()), Err(BerError::Kind));
}

const V9: Edition = Edition { release: 9, version: 5 };
const V17: Edition = Edition { release: 17, version: 2 };

fn header(high: Edition, low: Edition) -> FileHeader<'static> {
    FileHeader {
        file_octets: 0,
        high,
        low,
        opened: FileTime::new(time(1_795_401_000)),
        appended: FileTime::new(RecordTime { unix_seconds: 1_795_401_000, offset_minutes: -90 }),
        count: 2,
        sequence: 42,
        closure: Closure::Size,
        node: "192.0.2.9".parse().unwrap(),
        lost: Lost::Exactly(3),
        routeing_filter: b"",
        private_extension: b"",
    }
}

#[test]
fn the_header_of_a_file_written_by_hand() {
    let mut out = Vec::new();
    FileHeader { file_octets: 0x0102_0304, ..header(V9, V9) }.write(&mut out);
    let expected = [
        &[1, 2, 3, 4, 0, 0, 0, 52, 0xc5, 0xc5][..], // lengths, release 9 version 5 twice
        &(11u32 << 28 | 23 << 23 | 3 << 18 | 30 << 12 | 1 << 11 | 1 << 6).to_be_bytes(), // 23 November, 03:30 +01:00
        &(11u32 << 28 | 23 << 23 | 1 << 18 | 1 << 6 | 30).to_be_bytes(), // 23 November, 01:00 -01:30
        &[0, 0, 0, 2, 0, 0, 0, 42, 1],
        &[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 9],
        &[0x83, 0, 0, 0, 0],
    ];
    assert_eq!(out, expected.concat());
    let mut minutes = out.clone();
    minutes[13] |= 0x3f;
    assert_eq!((FileHeader::read(&minutes), FileHeader::read(&out).is_ok()), (Err(FileError::Header), true));
    assert_eq!(header(V17, V9).octets(), 53);
    assert_eq!(header(V17, V17).octets(), 54);
    assert_eq!(FileTime::new(time(1_795_401_000)).in_year(2026), Some(time(1_795_401_000)));
}

#[test]
fn lost_records_and_closures() {
    for (count, octet) in [(0, 0), (1, 0x81), (126, 0xfe), (127, 0xff), (1 << 40, 0xff)] {
        assert_eq!((Lost::of(count).octet(), Lost::from_octet(octet)), (octet, Lost::of(count)));
    }
    assert_eq!((Lost::from_octet(128), Lost::from_octet(5)), (Lost::AtLeast(1), Lost::AtLeast(5)));
    assert!((0..=255).all(|number| Closure::from_number(number).number() == number));
}

/// A file of two records.
fn file(edition: Edition) -> Vec<u8> {
    let kind = RecordHeader { edition, encoding: encoding::BER, specification: specification::PACKET_SWITCHED };
    let mut records = Vec::new();
    assert!(kind.write(LEAST, &mut records) && kind.write(b"", &mut records));
    let mut out = Vec::new();
    let header = header(edition, edition);
    FileHeader { file_octets: (header.octets() + records.len()) as u32, ..header }.write(&mut out);
    [out, records].concat()
}

#[test]
fn files_are_read_as_far_as_they_go() {
    for edition in [V9, V17] {
        let file = file(edition);
        let header = Records::check(&file).unwrap();
        assert_eq!((header.high, header.count, header.lost), (edition, 2, Lost::Exactly(3)));
        let first = Records::new(&file, &header).next().unwrap().unwrap();
        assert_eq!((first.0.edition, first.0.specification, first.1), (edition, 7, LEAST));
        for cut in header.octets()..file.len() {
            let whole = Records::new(&file[..cut], &header).filter(Result::is_ok).count();
            let end = header.octets() + 4 + usize::from(edition == V17) + LEAST.len();
            assert_eq!(whole, usize::from(cut >= end));
            let error = Records::check(&file[..cut]).unwrap_err();
            let between = cut == header.octets() || cut == end;
            assert_eq!(error == FileError::Count, between, "{cut} {error}");
        }
        assert!((0..header.octets()).all(|cut| FileHeader::read(&file[..cut]) == Err(FileError::Header)));
    }
    let kind = RecordHeader { edition: V9, encoding: 1, specification: 7 };
    assert!(!kind.write(&vec![0; RECORD_OCTETS_MAX + 1], &mut Vec::new()));
}

#[test]
fn names_of_files() {
    let name = FileName { node_id: "ocs1", count: 42, time: time(1_795_401_000), private: None, extension: None };
    assert_eq!(name.to_string(), "ocs1_-_42.20261123_-_0330+0100");
    let more = FileName { private: Some("pi"), extension: Some("ber"), ..name };
    assert_eq!(more.to_string(), "ocs1_-_42.20261123_-_0330+0100.pi.ber");
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        numbers: [u32; 4], volumes in prop::collection::vec(any::<(u64, u64, u32)>(), 0..6), flags: u8,
        digits in "[0-9]{0,20}", text in "[a-z.]{0,60}", location in prop::collection::vec(any::<u8>(), 0..300),
        seconds in 946_771_200i64..4_102_358_400, offset in -839i16..840,
    ) {
        let time = RecordTime { unix_seconds: seconds, offset_minutes: offset };
        let address: IpAddr = if flags & 1 == 0 { "192.0.2.1" } else { "2001:db8::1" }.parse().unwrap();
        let traffic: Vec<_> = volumes
            .iter()
            .map(|(up, down, condition)| TrafficVolume {
                uplink: Some(*up), downlink: Some(*down), condition: *condition, time, user_location: Some(&location),
            })
            .collect();
        let usage: Vec<_> = volumes
            .iter()
            .map(|(up, down, group)| ServiceUsage {
                rating_group: *group, uplink: Some(*up), downlink: Some(*down), conditions: *up, reported: time,
                serving_node: Some(address), time_s: Some(numbers[3]), first: Some(time), ..Default::default()
            })
            .collect();
        let record = PgwRecord {
            imsi: Digits::new(&digits),
            gateway: address,
            charging_id: numbers[0],
            subscriber_address: Some(address),
            access_point_name: Some(&text),
            traffic_volumes: List::Values(&traffic),
            opened: time,
            duration_s: numbers[1],
            local_sequence_number: Some(numbers[2]),
            msisdn: Digits::new(&digits),
            rat_type: Some(flags),
            user_location: Some(&location),
            service_usage: List::Values(&usage),
            retransmission: flags & 2 != 0,
            dynamic_address: flags & 4 != 0,
            ..least()
        };
        let mut out = Vec::new();
        record.write(&mut out);
        prop_assert_eq!(PgwRecord::read(&out), Ok(record));
        exercise::cdr(&out);
    }

    #[test]
    fn any_octets_are_taken(octets in prop::collection::vec(any::<u8>(), 0..100), at: usize, octet: u8, later: bool) {
        exercise::cdr(&octets);
        let mut record = LEAST.to_vec();
        record[at % LEAST.len()] = octet;
        exercise::cdr(&record);
        let mut whole = file(if later { V17 } else { V9 });
        let at = at % whole.len();
        whole[at] = octet;
        exercise::cdr(&whole);
    }
}
