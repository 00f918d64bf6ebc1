//! Octets written by hand, and what is written read again.

use super::profile::{Field, FieldValue, Profile, ProfileError, Role};
use super::records::{FormatVersion, format};
use super::*;
use crate::Address;
use proptest::prelude::*;

const RELEASE_7: FormatVersion = FormatVersion { application: 1, release: 7, version: 5 };

fn header(kind: u8) -> Header {
    Header { version: Version::V2, kind, sequence: 0x0102 }
}

fn written(header: Header, write: impl FnOnce(Writer<'_>) -> Writer<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    write(Writer::new(&mut out, &header)).finish().unwrap();
    out
}

#[test]
fn headers_of_all_versions() {
    for (version, first, octets) in
        [(Version::V0Long, 0x0e, 20), (Version::V0, 0x0f, 6), (Version::V1, 0x2e, 6), (Version::V2, 0x4e, 6)]
    {
        let echo = Header { version, kind: message_type::ECHO_RESPONSE, sequence: 7 };
        let message = written(echo, |w| w.recovery(9));
        assert_eq!((message[0], &message[1..6], message.len()), (first, &[2, 0, 2, 0, 7][..], octets + 2));
        let read = Message::new(&message).unwrap();
        assert_eq!((read.header, read.body()), (echo, Ok(Body::EchoResponse { restart_counter: 9 })));
    }
    assert_eq!(Message::new(&[0x6e, 1, 0, 0, 0, 0]), Err(GtppError::Version(3)));
    assert_eq!(Message::new(&[0x32, 1, 0, 0, 0, 0]), Err(GtppError::NotPrime));
    assert_eq!(Message::new(&[0x4e, 1, 0]), Err(GtppError::TooShort));
    assert_eq!(Message::new(&[0x0e, 1, 0, 0, 0, 0]), Err(GtppError::TooShort));
    assert_eq!(Message::new(&[0x4e, 1, 0, 5, 0, 0]), Err(GtppError::Length { said: 5, there: 0 }));
}

#[test]
fn records_written_by_hand() {
    let octets = [
        0x4e, 240, 0, 18, 1, 2, // header
        126, 1, // send
        252, 0, 13, 2, 1, 0x17, 5, 0, 3, b'a', b'b', b'c', 0, 2, b'd', b'e', // two records
    ];
    let records = [&b"abc"[..], b"de"];
    let request = header(message_type::DATA_RECORD_TRANSFER_REQUEST);
    assert_eq!(written(request, |w| w.records(false, format::BER, RELEASE_7, records)), octets);
    let message = Message::new(&octets).unwrap();
    let Ok(Body::DataRecordTransferRequest(TransferCommand::Send { possibly_duplicated, packet })) = message.body()
    else {
        panic!("{message}")
    };
    let packet = packet.unwrap();
    assert_eq!((possibly_duplicated, packet.format, packet.version), (false, 1, RELEASE_7));
    assert!(packet.records().eq(records));
    assert_eq!(message.to_string(), "v2 258 Data Record Transfer Request: send 2 records");
    for (at, octet) in [(11, 3), (11, 1), (16, 4), (21, 9)] {
        let mut spoilt = octets;
        spoilt[at] = octet;
        let error = Message::new(&spoilt).unwrap().body().unwrap_err();
        assert_eq!((error, error.cause()), (GtppError::Wrong(252), cause::MANDATORY_INCORRECT), "{at}");
    }
}

#[test]
fn releases_from_16_on_have_an_octet_of_their_own() {
    let version = FormatVersion { application: 1, release: 17, version: 6 };
    let request = header(message_type::DATA_RECORD_TRANSFER_REQUEST);
    let octets = written(request, |w| w.records(true, format::BER, version, [&b"x"[..]]));
    assert_eq!(octets[13..16], [0x10, 6, 17]);
    let Ok(Body::DataRecordTransferRequest(TransferCommand::Send { packet: Some(packet), .. })) =
        Message::new(&octets).unwrap().body()
    else {
        panic!()
    };
    assert_eq!((packet.version, packet.records().next()), (version, Some(&b"x"[..])));
}

#[test]
fn commands_and_their_answers() {
    let request = header(message_type::DATA_RECORD_TRANSFER_REQUEST);
    let shown = |octets: &[u8]| Message::new(octets).unwrap().to_string();
    let empty = written(request, |w| w.empty_packet(true));
    assert_eq!(empty[6..], [126, 2, 252, 0, 0]);
    let expected = "v2 258 Data Record Transfer Request: send the empty packet, possibly duplicated";
    assert_eq!(shown(&empty), expected);
    let cancel = written(request, |w| {
        w.command(TransferCommand::CANCEL).sequence_numbers(element::CANCELLED_PACKETS, &[1, 65_535])
    });
    assert_eq!(shown(&cancel), "v2 258 Data Record Transfer Request: cancel 1 65535");
    let release =
        written(request, |w| w.command(TransferCommand::RELEASE).sequence_numbers(element::RELEASED_PACKETS, &[3]));
    assert_eq!(shown(&release), "v2 258 Data Record Transfer Request: release 3");
    let response = written(header(message_type::DATA_RECORD_TRANSFER_RESPONSE), |w| {
        w.cause(cause::ALREADY_FULFILLED)
            .sequence_numbers(element::REQUESTS_RESPONDED, &(0..20).collect::<Vec<_>>())
            .private_extension(10_415, b"x")
    });
    let expected = "v2 258 Data Record Transfer Response: 253 Request already fulfilled, to \
        0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 and 4 more";
    assert_eq!(shown(&response), expected);
    let message = Message::new(&response).unwrap();
    assert_eq!(message.body().unwrap().accepts(), Some(false));
    let private = message.elements().find(element::PRIVATE_EXTENSION).unwrap().unwrap();
    assert_eq!(private.private_extension(), Ok((10_415, &b"x"[..])));
}

#[test]
fn nodes_and_their_addresses() {
    let (v4, v6) = (Address::v4([192, 0, 2, 1]), "2001:db8::1".parse().unwrap());
    let alive = written(header(message_type::NODE_ALIVE_REQUEST), |w| {
        w.address(element::NODE_ADDRESS, v4).address(element::NODE_ADDRESS, v6)
    });
    assert_eq!(Message::new(&alive).unwrap().body(), Ok(Body::NodeAliveRequest { address: v4, alternate: Some(v6) }));
    let away = written(header(message_type::REDIRECTION_REQUEST), |w| {
        w.cause(cause::THIS_NODE_GOES_DOWN).address(element::RECOMMENDED_NODE_ADDRESS, v6)
    });
    let expected = "v2 258 Redirection Request: 63 This node is about to go down, to 2001:db8::1";
    assert_eq!(Message::new(&away).unwrap().to_string(), expected);
    let nobody = written(header(message_type::NODE_ALIVE_REQUEST), |w| w);
    assert_eq!(Message::new(&nobody).unwrap().body(), Err(GtppError::Missing(element::NODE_ADDRESS)));
    let odd = written(header(message_type::NODE_ALIVE_REQUEST), |w| w.element(element::NODE_ADDRESS, &[1, 2, 3]));
    assert_eq!(Message::new(&odd).unwrap().body(), Err(GtppError::Wrong(element::NODE_ADDRESS)));
    let unknown = [0x4e, 1, 0, 2, 0, 0, 99, 0];
    assert_eq!(Message::new(&unknown).unwrap().body(), Err(GtppError::Element(99)));
}

#[test]
fn a_stream_is_cut_wherever_its_octets_come() {
    let echo = written(header(message_type::ECHO_RESPONSE), |w| w.recovery(1));
    let old = written(Header { version: Version::V0Long, ..header(message_type::ECHO_REQUEST) }, |w| w);
    let stream = [&echo[..], &old, &echo].concat();
    for cut in 0..=stream.len() {
        let mut frames = Frames::new(&stream[..cut], 64);
        let mut whole = Vec::new();
        while let Some(octets) = frames.next_message().unwrap() {
            whole.push(octets.len());
        }
        let expected = &[8, 20, 8][..[8, 28, 36].iter().filter(|end| **end <= cut).count()];
        assert_eq!((whole.as_slice(), frames.taken()), (expected, expected.iter().sum()));
    }
    assert_eq!(Frames::new(&old, 19).next_message(), Err(GtppError::TooLong(20)));
    assert_eq!(Frames::new(b"\xff", 64).next_message(), Err(GtppError::NotPrime));
}

#[test]
fn what_does_not_fit_is_not_written() {
    let mut out = b"kept".to_vec();
    let (records, long) = (vec![&b""[..]; 256], vec![0; 65_536]);
    let request = header(message_type::DATA_RECORD_TRANSFER_REQUEST);
    let writer = Writer::new(&mut out, &request).records(false, format::BER, RELEASE_7, records);
    assert_eq!(writer.finish(), Err(TooLong));
    assert_eq!(Writer::new(&mut out, &request).element(200, &long).finish(), Err(TooLong));
    assert_eq!(Writer::new(&mut out, &request).element(99, &[]).finish(), Err(TooLong));
    assert_eq!(Writer::new(&mut out, &request).sequence_numbers(253, &[0; 32_768]).finish(), Err(TooLong));
    assert_eq!(out, b"kept");
}

#[test]
fn a_profile_maps_roles_and_fields_to_numbers() {
    let profile = Profile::with(&[(Role::AuthorizationRequest, 77)], &[(Field::Service, 200)]).unwrap();
    let values = [
        (Field::Session, FieldValue::Octets(b"s1")),
        (Field::Service, FieldValue::Octets(b"web")),
        (Field::Used, FieldValue::Number(0x0123_4567_89ab)),
    ];
    let mut out = Vec::new();
    profile.write(Role::AuthorizationRequest, 5, &values, &mut out).unwrap();
    assert_eq!(out[..6], [0x0f, 77, 0, 20, 0, 5]);
    assert_eq!(out[6..17], [128, 0, 2, b's', b'1', 200, 0, 3, b'w', b'e', b'b']);
    let message = Message::new(&out).unwrap();
    let read = profile.read(&message).unwrap();
    assert_eq!((read.role.response(), read.sequence), (Some(Role::AuthorizationResponse), 5));
    assert_eq!((read.text(Field::Service), read.number(Field::Used)), (Ok(Some("web")), Ok(Some(0x0123_4567_89ab))));
    assert_eq!((read.number(Field::Granted), read.octets(Field::User)), (Ok(None), None));
    assert_eq!(Profile::default().read(&message), Err(GtppError::Wrong(77)));
    let expected = "authorization-request 5: session s1 service web used \\x01#Eg\\x89\\xab";
    assert_eq!(read.to_string(), expected);
}

#[test]
fn profiles_that_are_none_and_messages_that_lack_something() {
    assert_eq!(Profile::with(&[(Role::QuotaPushRequest, 16)], &[]), Err(ProfileError::Twice(16)));
    assert_eq!(Profile::with(&[(Role::QuotaPushRequest, 240)], &[]), Err(ProfileError::Taken(240)));
    assert_eq!(Profile::with(&[], &[(Field::User, 127)]), Err(ProfileError::WithoutLength(127)));
    assert_eq!(Profile::with(&[], &[(Field::User, 128)]), Err(ProfileError::Twice(128)));
    let profile = Profile::default();
    for (role, _, number) in profile::ROLES {
        let mut out = Vec::new();
        profile.write(*role, 1, &[], &mut out).unwrap();
        let error = profile.read(&Message::new(&out).unwrap()).unwrap_err();
        assert_eq!((error, out[1]), (GtppError::Missing(profile.element(role.needs()[0])), *number));
    }
    let later = written(Header { kind: 16, ..header(0) }, |w| w.element(129, b"user"));
    assert_eq!(profile.read(&Message::new(&later).unwrap()), Err(GtppError::Version(2)));
}

proptest! {
    #[test]
    fn records_come_back(
        records in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..50), 0..20), duplicated: bool,
        release in 1u8..30, sequence: u16,
    ) {
        let version = FormatVersion { application: 1, release, version: 6 };
        let head = Header { version: Version::V1, kind: message_type::DATA_RECORD_TRANSFER_REQUEST, sequence };
        let octets = written(head, |w| w.records(duplicated, format::BER, version, records.iter().map(Vec::as_slice)));
        let message = Message::new(&octets).unwrap();
        let Ok(Body::DataRecordTransferRequest(TransferCommand::Send { possibly_duplicated, packet: Some(packet) })) =
            message.body() else { panic!("{message}") };
        prop_assert_eq!((possibly_duplicated, packet.version, message.header), (duplicated, version, head));
        prop_assert!(packet.records().eq(records.iter().map(Vec::as_slice)));
        exercise::gtpp(&octets);
    }

    #[test]
    fn any_octets_are_taken(mut octets in prop::collection::vec(any::<u8>(), 0..100), kind: u8) {
        exercise::gtpp(&octets);
        octets.splice(..octets.len().min(6), [0x4e, kind, 0, octets.len().saturating_sub(6) as u8, 0, 0]);
        exercise::gtpp(&octets);
        octets[0] = 0x0f;
        exercise::gtpp(&octets);
    }
}
