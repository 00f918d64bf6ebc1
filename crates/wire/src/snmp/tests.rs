use super::usm::{
    AuthProtocol, BOOTS_MAX, EngineTime, Keys, MasterKey, OpenError, Outgoing, PasswordError, PrivacyProtocol,
    TIME_WINDOW_S, Untimely,
};
use super::*;
use proptest::prelude::*;

fn hexadecimal(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(core::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn name(text: &str) -> ObjectId {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// `sysUpTime.0` asked for, as it was captured of another manager.
const GET: &[u8] = b"\x30\x26\x02\x01\x01\x04\x06public\xa0\x19\x02\x01\x05\x02\x01\x00\x02\x01\x00\
    \x30\x0e\x30\x0c\x06\x08\x2b\x06\x01\x02\x01\x01\x03\x00\x05\x00";

#[test]
fn a_request_is_written_octet_by_octet() {
    let mut varbinds = Vec::new();
    write_varbind(name("1.3.6.1.2.1.1.3.0").as_oid(), &Value::Null, &mut varbinds);
    let mut out = Vec::new();
    let pdu = Pdu::Exchange(Exchange::request(Kind::Get, 5, &varbinds));
    Message::write_community(Version::V2c, b"public", &pdu, &mut out);
    assert_eq!(out, GET);
    let read = Message::new(GET).expect("a request");
    assert_eq!(read.to_string(), "v2c get 5: 1.3.6.1.2.1.1.3.0");
    assert!(matches!(read, Message::Community { community: b"public", .. }));
}

#[test]
fn a_trap_of_version_1_is_read() {
    // RFC 1157 section 4.1.6, linkUp of an agent of enterprise 9.
    let octets = hexadecimal(
        "3041 020100 0406 7075626c6963 a434 06072b060104010901 4004c0000201 020103 020100 430300e975\
         3018 3016 060a 2b060102010202010103 0208 0000000000000005",
    );
    // Field: the value above has more octets than it needs.
    let read = Message::new(&octets).expect("a trap");
    let shown = "v1 trap linkUp 0 of 1.3.6.1.4.1.9.1 at 192.0.2.1 up 59765: 1.3.6.1.2.1.2.2.1.1.3 = 5";
    assert_eq!(read.to_string(), shown);
    let Message::Community { version: Version::V1, community, pdu } = read else { panic!() };
    let mut out = Vec::new();
    Message::write_community(Version::V1, community, &pdu, &mut out);
    assert_eq!(Message::new(&out).expect("a trap").to_string(), shown);
}

#[test]
fn values_are_read_as_the_field_sends_them() {
    let read = |text: &str| {
        let element = hexadecimal(text);
        let octets = [&[0x30, (element.len() + 3) as u8, 6, 1, 0x2b], element.as_slice()].concat();
        Varbinds::new(&octets).next().expect("one").map(|varbind| varbind.value.to_string()).map_err(|e| e.to_string())
    };
    let good = [
        ("0201 80", "-128"),
        ("0205 00ffffffff", "4294967295"),
        ("0281 01 05", "5"),
        ("0284 00000001 05", "5"),
        ("020a ffffffffffffffffff85", "-123"),
        ("4101 7f", "Counter32 127"),
        ("4104 ffffffff", "Counter32 4294967295"),
        ("4105 00ffffffff", "Counter32 4294967295"),
        ("4101 ff", "Counter32 4294967295"),
        ("4207 0000000000002a", "Gauge32 42"),
        ("4702 012c", "Gauge32 300"),
        ("4303 0f4240", "TimeTicks 1000000"),
        ("4608 ffffffffffffffff", "Counter64 18446744073709551615"),
        ("4609 00ffffffffffffffff", "Counter64 18446744073709551615"),
        ("4600", "value at octet 5 has not the form of its type"),
        ("460a 0000ffffffffffffffff", "Counter64 18446744073709551615"),
        ("4004 c0000201", "192.0.2.1"),
        ("4407 9f7804 42f60000", "Float 123"),
        ("440b 9f7908 405ec00000000000", "Double 123"),
        ("4404 9f7a01 85", "Integer64 -123"),
        ("4404 9f7601 05", "Unsigned64 5"),
        ("4402 0500", "Opaque 0x0500"),
        ("0403 414220", "\"AB \""),
        ("0403 00ff41", "0x00ff41"),
        ("0603 2b0601", "1.3.6.1"),
        ("0600", "0.0"),
        ("8000", "noSuchObject"),
        ("8100", "noSuchInstance"),
        ("8200", "endOfMibView"),
    ];
    for (octets, shown) in good {
        assert_eq!(read(octets).unwrap_or_else(|error| error), shown, "{octets}");
    }
    let bad = [
        ("0200", "value at octet 5 has not the form of its type"),
        ("0209 010000000000000000", "value at octet 5 has not the form of its type"),
        ("4105 01ffffffff", "value at octet 5 has not the form of its type"),
        ("4609 01ffffffffffffffff", "value at octet 5 has not the form of its type"),
        ("4003 c00002", "value at octet 5 has not the form of its type"),
        ("0603 2b0681", "value at octet 5 has not the form of its type"),
        ("0604 2b800601", "value at octet 5 has not the form of its type"),
        ("0607 2b 9080808000 01", "value at octet 5 has not the form of its type"),
        ("0180", "variable binding at octet 5 has a length that is not definite or too long"),
        ("1f01 05", "variable binding at octet 5 is of type 0x1f, which does not belong there"),
        ("4903 010203", "value at octet 5 is of type 0x49, which does not belong there"),
        ("0205 01", "variable binding at octet 5 ends too early"),
    ];
    for (octets, error) in bad {
        assert_eq!(read(octets), Err(error.to_owned()), "{octets}");
    }
}

#[test]
fn one_bad_value_costs_one_variable() {
    let mut octets = Vec::new();
    write_varbind(name("1.3.6").as_oid(), &Value::Integer(1), &mut octets);
    octets.extend_from_slice(b"\x30\x06\x06\x02\x2b\x06\x02\x00");
    write_varbind(name("1.3.7").as_oid(), &Value::Integer(2), &mut octets);
    let read: Vec<_> = Varbinds::new(&octets).map(|varbind| varbind.map(|v| v.value).ok()).collect();
    assert_eq!(read, [Some(Value::Integer(1)), None, Some(Value::Integer(2))]);
    // What cannot be located ends it.
    octets[9] = 0x31;
    assert_eq!(Varbinds::new(&octets).map(|varbind| varbind.is_ok()).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn errors_name_octet_and_layer() {
    let told = |octets: &[u8]| Message::new(octets).expect_err("an error").to_string();
    assert_eq!(told(b""), "message at octet 0 ends too early");
    assert_eq!(told(b"GET /"), "message at octet 0 is of type 0x47, which does not belong there");
    assert_eq!(told(&GET[..20]), "message at octet 0 ends too early");
    assert_eq!(told(b"\x30\x80\x02"), "message at octet 0 has a length that is not definite or too long");
    assert_eq!(told(b"\x30\x03\x02\x01\x02"), "message at octet 2 is of version 2");
    assert_eq!(told(b"\x30\x05\x02\x01\x01\x04\x00"), "PDU at octet 7 ends too early");
    assert_eq!(
        told(b"\x30\x07\x02\x01\x01\x04\x00\xaa\x00"),
        "PDU at octet 7 is of type 0xaa, which does not belong there"
    );
    assert_eq!(told(&[0; MESSAGE_OCTETS_MAX + 1]), "message at octet 65535 is too long");
}

#[test]
fn names_have_their_limits() {
    assert_eq!(name("1.3.6.1.4.1.2680.1").as_oid().octets(), b"\x2b\x06\x01\x04\x01\x94\x78\x01");
    assert_eq!(name("2.4294967215").to_string(), "2.4294967215");
    assert_eq!(name(".2.999.4294967295").as_oid().arcs().collect::<Vec<_>>(), [2, 999, u32::MAX]);
    let text = |arcs: usize| format!("1.3{}", ".1".repeat(arcs - 2));
    assert_eq!(name(&text(OID_ARCS_MAX)).as_oid().arcs().count(), OID_ARCS_MAX);
    assert_eq!(text(OID_ARCS_MAX + 1).parse::<ObjectId>(), Err(OidError::TooLong));
    for wrong in ["", "1", "1.", "1..3", "1.3.x", "1.3.+4", "1.3.4294967296", "-1.3"] {
        assert!(wrong.parse::<ObjectId>().is_err(), "{wrong}");
    }
    for wrong in ["3.1", "1.40", "0.40", "2.4294967216"] {
        assert_eq!(wrong.parse::<ObjectId>(), Err(OidError::Root), "{wrong}");
    }
    let too_long = [&[0x2b][..], &[1; OID_ARCS_MAX - 1]].concat();
    assert!(Oid::new(&too_long).is_none() && Oid::new(&too_long[1..]).is_some());
}

#[test]
fn an_index_is_what_follows_a_column() {
    let column = name("1.3.6.1.2.1.2.2.1.10");
    let instance = column.child(&[4, 300]).expect("short");
    assert_eq!(instance.as_oid().after(column.as_oid()).map(Iterator::collect::<Vec<_>>), Some(vec![4, 300]));
    assert!(instance.as_oid().is_within(column.as_oid()) && instance > column);
    assert!(name("1.3.6.1.2.1.2.2.1.100").as_oid().after(column.as_oid()).is_none());
    assert!(name("1.3.127") < name("1.3.128") && name("1.3.16383") < name("1.3.16384"));
}

#[test]
fn keys_are_those_of_the_standard() {
    // RFC 3414 appendix A.3.
    let engine = hexadecimal("000000000000000000000002");
    let md5 = MasterKey::new(AuthProtocol::Md5, b"maplesyrup").expect("long enough");
    assert_eq!(md5.octets(), hexadecimal("9faf3283884e92834ebc9847d8edd963"));
    assert_eq!(md5.localised(&engine), hexadecimal("526f5eed9fcce26f8964c2930787d82b"));
    let sha = MasterKey::new(AuthProtocol::Sha1, b"maplesyrup").expect("long enough");
    assert_eq!(sha.octets(), hexadecimal("9fb5cc0381497b3793528939ff788d5d79145211"));
    assert_eq!(sha.localised(&engine), hexadecimal("6695febc9288e36282235fc7151f128497b38f3f"));
    // draft-reeder-snmpv3-usm-3desede-00 appendix B, as far as keys of 256 bits go.
    let lengthened = hexadecimal("526f5eed9fcce26f8964c2930787d82b79eff44a90650ee0a3a40abfac5acc12");
    assert_eq!(md5.privacy_octets(PrivacyProtocol::Aes256Cisco, &engine), lengthened);
    let lengthened = hexadecimal("6695febc9288e36282235fc7151f128497b38f3f9b8b6d78936ba6e7d19dfd9c");
    assert_eq!(sha.privacy_octets(PrivacyProtocol::Aes256Cisco, &engine), lengthened);
    assert_eq!(MasterKey::new(AuthProtocol::Sha512, b"seven77"), Err(PasswordError));
    let key = md5.privacy(PrivacyProtocol::Des, &engine);
    assert_eq!(format!("{md5:?} {key:?}"), "MasterKey(MD5) PrivacyKey(DES)");
}

#[test]
fn time_is_that_of_the_engine() {
    let mut engine = EngineTime::new(3, 1000, 50);
    assert_eq!((engine.boots(), engine.time(60)), (3, 1010));
    assert_eq!(engine.receive(3, 1005, 60), Ok(()));
    assert_eq!(engine.time(60), 1005);
    assert_eq!(engine.receive(3, 1005 - TIME_WINDOW_S, 60), Ok(()));
    assert_eq!(engine.receive(3, 1004 - TIME_WINDOW_S, 60), Err(Untimely));
    assert_eq!(engine.receive(2, 9000, 60), Err(Untimely));
    // A restart: more boots, and its clock begins anew.
    assert_eq!((engine.receive(4, 7, 61), engine.time(61)), (Ok(()), 7));
    assert_eq!(engine.receive(BOOTS_MAX, 1, 61), Err(Untimely));
}

fn keys(authentication: AuthProtocol, privacy: Option<PrivacyProtocol>, engine: &[u8]) -> Keys {
    // One megabyte is hashed once, not for each case.
    static MASTERS: std::sync::OnceLock<Vec<MasterKey>> = std::sync::OnceLock::new();
    let all = || AuthProtocol::ALL.iter().map(|protocol| MasterKey::new(*protocol, b"maplesyrup").unwrap()).collect();
    let master = &MASTERS.get_or_init(all)[authentication as usize];
    let key = master.authentication(engine);
    match privacy {
        None => Keys::AuthNoPriv(key),
        Some(privacy) => Keys::AuthPriv(key, master.privacy(privacy, engine)),
    }
}

#[test]
fn what_was_sealed_is_opened_by_these_keys_alone() {
    let mut varbinds = Vec::new();
    write_varbind(name("1.3.6.1.2.1.1.3.0").as_oid(), &Value::TimeTicks(1), &mut varbinds);
    let pdu = Pdu::Exchange(Exchange::request(Kind::Response, REQUEST_ID_MIN, &varbinds));
    let engine_id = b"\x80\x00\x1f\x88\x04engine".as_slice();
    let scoped = ScopedPdu { context_engine: engine_id, context_name: b"", pdu };
    let outgoing = Outgoing {
        message_id: REQUEST_ID_MIN,
        size_max: 65_507,
        is_reportable: false,
        engine_id,
        boots: 5,
        time: 70_000,
        user: b"poller",
        salt: 0x0123_4567_89ab_cdef,
        scoped,
    };
    let levels = PrivacyProtocol::ALL.map(Some).into_iter().chain([None]);
    for (authentication, privacy) in levels.flat_map(|p| AuthProtocol::ALL.map(|a| (a, p))) {
        let ours = keys(authentication, privacy, engine_id);
        let mut out = b"before".to_vec();
        outgoing.seal(&ours, &mut out);
        let mut message = out.split_off(6);
        let Ok(Message::V3(read)) = Message::new(&message) else { panic!("{message:02x?}") };
        assert_eq!(matches!(read.data, Contents::Encrypted(_)), privacy.is_some());
        let (sealed, security) = (read.sealed, read.security);
        assert_eq!((security.boots, security.time, security.user), (5, 70_000, b"poller".as_slice()));
        let mut copy = message.clone();
        let theirs = keys(authentication, privacy, b"another engine");
        assert_eq!(sealed.open(&mut copy, &theirs), Err(OpenError::WrongDigest));
        assert_eq!(sealed.open(&mut copy, &Keys::NoAuthNoPriv), Err(OpenError::Level));
        *copy.last_mut().expect("octets") ^= 1;
        assert_eq!(sealed.open(&mut copy, &ours), Err(OpenError::WrongDigest));
        let place = sealed.open(&mut message, &ours).expect("ours");
        assert_eq!(place.is_some(), privacy.is_some());
        if let Some(place) = place {
            assert_eq!(ScopedPdu::new(&message[place.clone()], place.start), Ok(scoped));
        }
    }
}

#[test]
fn reports_tell_their_cause() {
    let mut varbinds = Vec::new();
    write_varbind(Cause::NotInTimeWindow.name().as_oid(), &Value::Counter32(1), &mut varbinds);
    let exchange = Exchange::request(Kind::Report, 0, &varbinds);
    let shown = "report 0 usmStatsNotInTimeWindows: 1.3.6.1.6.3.15.1.1.2.0 = Counter32 1";
    assert_eq!(exchange.to_string(), shown);
    assert_eq!(Cause::from_name(name("1.3.6.1.6.3.12.1.5.0").as_oid()), Some(Cause::UnknownContext));
    assert_eq!(Cause::from_name(name("1.3.6.1.6.3.12.1.6.0").as_oid()), None);
}

#[test]
fn long_strings_are_cut_where_they_are_shown() {
    let shown = Value::OctetString("ä".repeat(40).as_bytes()).to_string();
    assert_eq!(shown, format!("\"{}\"...", "ä".repeat(32)));
}

fn any_arcs() -> impl Strategy<Value = Vec<u32>> {
    let arc = prop_oneof![0..200u32, any::<u32>(), Just(u32::MAX)];
    let root = prop_oneof![(0..2u32, 0..40u32), (Just(2), 0..=u32::MAX - 80)];
    (root, prop::collection::vec(arc, 0..126)).prop_map(|((first, second), rest)| [vec![first, second], rest].concat())
}

/// A value without what borrows, to be made one of.
#[derive(Clone, Debug)]
enum Made {
    Plain(Value<'static>),
    Octets(Vec<u8>),
    Opaque(Vec<u8>),
    Name(Vec<u32>),
}

fn any_value() -> impl Strategy<Value = Made> {
    let octets = || prop::collection::vec(any::<u8>(), 0..300);
    let plain = prop_oneof![
        any::<i64>().prop_map(Value::Integer),
        any::<[u8; 4]>().prop_map(Value::IpAddress),
        any::<u32>().prop_map(Value::Counter32),
        any::<u32>().prop_map(Value::Gauge32),
        any::<u32>().prop_map(Value::TimeTicks),
        any::<u64>().prop_map(Value::Counter64),
        any::<f32>().prop_map(Value::Float),
        any::<f64>().prop_map(Value::Double),
        any::<i64>().prop_map(Value::Integer64),
        any::<u64>().prop_map(Value::Unsigned64),
        Just(Value::Null),
        Just(Value::NoSuchObject),
        Just(Value::NoSuchInstance),
        Just(Value::EndOfMibView),
    ];
    prop_oneof![
        4 => plain.prop_map(Made::Plain),
        1 => octets().prop_map(Made::Octets),
        // A first octet that is no long tag: what begins with one may be what net-snmp puts there.
        1 => octets().prop_map(|octets| Made::Opaque([&[4], octets.as_slice()].concat())),
        1 => any_arcs().prop_map(Made::Name),
    ]
}

proptest! {
    #[test]
    fn variables_read_as_they_were_written(made in prop::collection::vec((any_arcs(), any_value()), 0..20)) {
        let made_of = |arcs: &[u32]| ObjectId::from_arcs(arcs).expect("a name");
        let names: Vec<_> = made.iter().map(|(arcs, value)| {
            let value = if let Made::Name(named) = value { named } else { arcs };
            (made_of(arcs), made_of(value))
        }).collect();
        let mut octets = Vec::new();
        let expected: Vec<_> = made.iter().zip(&names).map(|((_, value), (name, other))| {
            let value = match value {
                Made::Plain(value) => *value,
                Made::Octets(octets) => Value::OctetString(octets),
                Made::Opaque(octets) => Value::Opaque(octets),
                Made::Name(_) => Value::ObjectId(other.as_oid()),
            };
            write_varbind(name.as_oid(), &value, &mut octets);
            Varbind { name: name.as_oid(), value }
        }).collect();
        let mut message = Vec::new();
        let exchange = Exchange::request(Kind::Response, -1, &octets);
        let pdu = Pdu::Exchange(Exchange { error_status: 18, error_index: 7, ..exchange });
        Message::write_community(Version::V2c, b"secret", &pdu, &mut message);
        let read = Message::new(&message).expect("what was written");
        let Message::Community { pdu: Pdu::Exchange(exchange), .. } = read else { panic!("{read}") };
        prop_assert_eq!((exchange.request_id, exchange.error_index), (-1, 7));
        prop_assert_eq!(exchange.status(), ErrorStatus::InconsistentName);
        prop_assert_eq!(exchange.varbinds.collect::<Result<Vec<_>, _>>(), Ok(expected));
    }

    #[test]
    fn names_are_ordered_arc_by_arc(a in any_arcs(), b in any_arcs()) {
        let (one, two) = (ObjectId::from_arcs(&a).expect("a name"), ObjectId::from_arcs(&b).expect("a name"));
        prop_assert_eq!(one.cmp(&two), a.cmp(&b));
        prop_assert_eq!(one.as_oid().arcs().collect::<Vec<_>>(), a);
        prop_assert_eq!(one.to_string().parse(), Ok(one));
    }

    #[test]
    fn no_octets_are_too_strange(octets in prop::collection::vec(any::<u8>(), 0..64)) {
        exercise::snmp(&octets);
    }

    /// Octets that are changed in a few places get further than any.
    #[test]
    fn no_changed_message_is_too_strange(changes in prop::collection::vec((0..GET.len(), any::<u8>()), 0..4)) {
        let mut octets = GET.to_vec();
        changes.iter().for_each(|(at, octet)| octets[*at] = *octet);
        exercise::snmp(&octets);
    }
}
