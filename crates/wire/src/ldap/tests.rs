use super::*;
use crate::cdr::ber::BerError;
use crate::frames::Framed;
use proptest::prelude::*;

fn written(id: u32, request: Request<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    request.write(id, &mut out);
    out
}

fn search(filter: Filter, attributes: &[&str]) -> Search {
    Search {
        base: "dc=a".to_owned(),
        scope: Scope::Subtree,
        size_limit: 2,
        time_limit_seconds: 200,
        filter,
        attributes: attributes.iter().map(|name| (*name).to_owned()).collect(),
    }
}

#[test]
fn requests_are_written_octet_by_octet() {
    let bind = written(1, Request::Bind { name: "cn=a", password: b"pw" });
    assert_eq!(bind, b"\x30\x12\x02\x01\x01\x60\x0d\x02\x01\x03\x04\x04cn=a\x80\x02pw");
    assert_eq!(written(2, Request::Unbind), b"\x30\x05\x02\x01\x02\x42\x00");
    assert_eq!(written(128, Request::Abandon(127)), b"\x30\x07\x02\x02\x00\x80\x50\x01\x7f");
    let tls = b"\x30\x1d\x02\x01\x01\x77\x18\x80\x161.3.6.1.4.1.1466.20037";
    assert_eq!(written(1, Request::StartTls), tls);
    let password = written(3, Request::PasswordModify { user: Some("u"), old: None, new: Some(b"n") });
    let expected = b"\x30\x28\x02\x01\x03\x77\x23\x80\x171.3.6.1.4.1.4203.1.11.1\x81\x08\x30\x06\x80\x01u\x82\x01n";
    assert_eq!(password, expected);
}

#[test]
fn a_search_is_written_octet_by_octet() {
    let filter = Filter::Equal("n".to_owned(), b"1".to_vec());
    let octets = written(5, Request::Search(&search(filter, &["p"])));
    let expected: &[u8] = b"\x30\x28\x02\x01\x05\x63\x23\x04\x04dc=a\x0a\x01\x02\x0a\x01\x00\x02\x01\x02\
        \x02\x02\x00\xc8\x01\x01\x00\xa3\x06\x04\x01n\x04\x011\x30\x03\x04\x01p";
    assert_eq!(octets, expected);
}

#[test]
fn a_change_is_written_octet_by_octet() {
    let change = |modification, values: &[&[u8]]| Change {
        modification,
        attribute: "a".to_owned(),
        values: values.iter().map(|value| value.to_vec()).collect(),
    };
    let changes = [change(Modification::Replace, &[b"x", b"y"]), change(Modification::Delete, &[])];
    let octets = written(1, Request::Modify { entry: "e", changes: &changes });
    let expected: &[u8] = b"\x30\x28\x02\x01\x01\x66\x23\x04\x01e\x30\x1e\
        \x30\x10\x0a\x01\x02\x30\x0b\x04\x01a\x31\x06\x04\x01x\x04\x01y\
        \x30\x0a\x0a\x01\x01\x30\x05\x04\x01a\x31\x00";
    assert_eq!(octets, expected);
}

#[test]
fn responses_are_read() {
    let entry = b"\x30\x1a\x02\x01\x07\x64\x15\x04\x04cn=a\x30\x0d\x30\x0b\x04\x01P\x31\x06\x04\x01x\x04\x01y";
    let message = Message::new(entry).expect("an entry");
    let Response::Entry(found) = &message.response else { panic!("{message:?}") };
    assert_eq!((message.id, found.name, found.values("p")), (7, "cn=a", [b"x".as_slice(), b"y"].as_slice()));
    assert!(found.values("q").is_empty());
    let done = b"\x30\x14\x02\x01\x07\x65\x0f\x0a\x01\x0a\x04\x00\x04\x00\xa3\x06\x04\x04ldap";
    let Response::Done(outcome) = Message::new(done).expect("done").response else { panic!() };
    assert_eq!((outcome.code, outcome.referrals), (code::REFERRAL, vec!["ldap"]));
    let extended = b"\x30\x15\x02\x01\x00\x78\x10\x0a\x01\x34\x04\x00\x04\x00\x8a\x031.2\x8b\x02vv";
    let Response::Extended { outcome, name, value } = Message::new(extended).expect("extended").response else {
        panic!()
    };
    assert_eq!((outcome.code, name, value), (code::UNAVAILABLE, Some("1.2"), Some(b"vv".as_slice())));
    assert_eq!((name_of(outcome.code), name_of(9)), ("unavailable", "other"));
}

#[test]
fn what_is_no_response_is_an_error() {
    assert_eq!(Message::new(b""), Err(BerError::Cut.into()));
    assert_eq!(Message::new(b"\x30\x03\x02\x01\x01"), Err(BerError::Missing(1).into()));
    assert_eq!(Message::new(b"\x30\x05\x02\x01\x01\x04\x00"), Err(BerError::Kind.into()));
    assert_eq!(Message::new(b"\x30\x09\x02\x01\x01\x64\x04\x04\x02\xff\xfe"), Err(BerError::Value(4).into()));
    assert_eq!(Stream::whole(b"HTTP", 100), Err(ResponseError::NoMessage(b'H')));
    assert_eq!(Stream::whole(b"\x30\x80", 100), Err(ResponseError::NoMessage(0x80)));
    assert_eq!(Stream::whole(b"\x30\x84\x00\x00\x10\x00", 100), Err(ResponseError::TooLong(4102)));
    assert_eq!(Stream::whole(b"\x30\x82\x01", 1000), Ok(None));
}

#[test]
fn filters_are_read_as_the_standard_shows_them() {
    let same = [
        "(cn=Babs Jensen)",
        "(!(cn=Tim Howes))",
        "(&(objectClass=Person)(|(sn=Jensen)(cn=Babs J*)))",
        "(o=univ*of*mich*)",
        "(seeAlso=)",
        "(cn=*)",
        "(cn=*\\2a*)",
        "(a;lang-de>=5)",
        "(1.2.840.48018.1.2.2~=x)",
        "(b<=\\00\\ff)",
        "(&)",
    ];
    for text in same {
        assert_eq!(text.parse::<Filter>().map(|filter| filter.to_string()).as_deref(), Ok(text));
    }
    assert_eq!("(a=\\28\\2A)".parse(), Ok(Filter::Equal("a".to_owned(), b"(*".to_vec())));
    for wrong in ["", "a=b", "(a=b", "(a=b))", "(=b)", "(a=(b)", "(a=\\2)", "(a=b**c)", "(a:=b)", "(a>b)", "(!)"] {
        assert!(wrong.parse::<Filter>().is_err(), "{wrong}");
    }
    let deep = "(!".repeat(100_000);
    assert!(deep.parse::<Filter>().is_err());
}

#[test]
fn parts_of_a_value_have_their_places() {
    let like = |text: &str| written(1, Request::Search(&search(text.parse().expect(text), &[])));
    let ends_with = |octets: Vec<u8>, tail: &[u8]| assert_eq!(&octets[octets.len() - tail.len()..], tail);
    ends_with(like("(a=x*y*z)"), b"\xa4\x0e\x04\x01a\x30\x09\x80\x01x\x81\x01y\x82\x01z\x30\x00");
    ends_with(like("(a=*y)"), b"\xa4\x08\x04\x01a\x30\x03\x82\x01y\x30\x00");
    ends_with(like("(a=x*)"), b"\xa4\x08\x04\x01a\x30\x03\x80\x01x\x30\x00");
    ends_with(like("(a=*y*)"), b"\xa4\x08\x04\x01a\x30\x03\x81\x01y\x30\x00");
    ends_with(like("(a=*)"), b"\x87\x01a\x30\x00");
}

#[test]
fn passwords_are_not_shown() {
    let request = Request::Bind { name: "cn=a", password: b"secret" };
    assert_eq!(format!("{request:?}"), "Bind");
}

fn any_filter() -> impl Strategy<Value = Filter> {
    let value = || prop::collection::vec(any::<u8>(), 0..8);
    let name = || "[a-z][a-z0-9-]{0,5}";
    let leaf = prop_oneof![
        (name(), value()).prop_map(|(name, value)| Filter::Equal(name, value)),
        (name(), value()).prop_map(|(name, value)| Filter::AtLeast(name, value)),
        (name(), value()).prop_map(|(name, value)| Filter::Near(name, value)),
        name().prop_map(Filter::Present),
    ];
    leaf.prop_recursive(4, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Filter::And),
            prop::collection::vec(inner.clone(), 0..4).prop_map(Filter::Or),
            inner.prop_map(|filter| Filter::Not(Box::new(filter))),
        ]
    })
}

proptest! {
    /// A value never leaves its place, whatever is in it.
    #[test]
    fn what_is_shown_is_read_as_the_same(filter in any_filter()) {
        prop_assert_eq!(filter.to_string().parse(), Ok(filter));
    }

    #[test]
    fn no_octets_are_too_strange(octets in prop::collection::vec(any::<u8>(), 0..64)) {
        exercise::ldap(&octets);
    }
}
