//! Drives the readers with any octets and asserts what must always hold.

use super::usm::{AuthKey, AuthProtocol, EngineTime, Keys, PrivacyKey, PrivacyProtocol};
use super::{Contents, Message, ObjectId, Oid, Pdu, ScopedPdu, V3, Varbinds, write_varbind};
use core::cmp::Ordering;

/// A message, what is in it, and what is written of it.
pub fn snmp(octets: &[u8]) {
    let read = Message::new(octets);
    let _ = read.map(|message| message.to_string()).map_err(|error| assert!(error.at <= octets.len()));
    match read {
        Ok(Message::Community { version, community, pdu }) => {
            let mut out = Vec::new();
            Message::write_community(version, community, &pdu, &mut out);
            assert_eq!(Message::new(&out), read);
            variables(pdu.varbinds());
        }
        Ok(Message::V3(message)) => secured(octets, &message),
        Err(_) => {}
    }
    variables(Varbinds::new(octets));
    let _ = core::str::from_utf8(octets).map(name_as_text);
}

/// Variables are as many as were counted, their names are ordered, and what was read is written as what reads the same.
fn variables(varbinds: Varbinds<'_>) {
    let mut last: Option<Oid<'_>> = None;
    for varbind in varbinds.flatten() {
        let mut out = Vec::new();
        write_varbind(varbind.name, &varbind.value, &mut out);
        let again = Varbinds::new(&out).next().and_then(Result::ok).expect("what was written is read");
        assert_eq!((again.name, again.value.to_string()), (varbind.name, varbind.value.to_string()));
        if let Some(last) = last {
            let arcs: Ordering = last.arcs().cmp(varbind.name.arcs());
            assert_eq!(last.cmp(&varbind.name), arcs);
        }
        last = Some(varbind.name);
        name_as_text(&varbind.name.to_string());
    }
    assert!(varbinds.count() <= varbinds.octets().len());
}

fn name_as_text(text: &str) {
    if let Ok(name) = text.parse::<ObjectId>() {
        assert_eq!(name.to_string().parse(), Ok(name));
    }
}

/// Opened with keys that cannot be right nothing panics, and nothing but the ciphertext changes.
fn secured(octets: &[u8], message: &V3<'_>) {
    let engine = &message.security;
    let _ = EngineTime::new(1, 1, 0).receive(engine.boots, engine.time, 200);
    if let Contents::Plain(scoped) = &message.data {
        let mut out = Vec::new();
        scoped.write(&mut out);
        assert_eq!(ScopedPdu::new(&out, 0).as_ref(), Ok(scoped));
        variables(scoped.pdu.varbinds());
        let _ = matches!(scoped.pdu, Pdu::TrapV1(_));
    }
    let authentication = AuthKey::new(AuthProtocol::Md5, &[7; 16]);
    for protocol in PrivacyProtocol::ALL {
        let (Some(authentication), Some(privacy)) = (authentication.clone(), PrivacyKey::new(protocol, &[7; 32]))
        else {
            continue;
        };
        let mut copy = octets.to_vec();
        if let Ok(Some(place)) = message.sealed.open(&mut copy, &Keys::AuthPriv(authentication, privacy)) {
            let _ = ScopedPdu::new(&copy[place.clone()], place.start);
        } else {
            assert_eq!(copy, octets);
        }
    }
}
