//! A conversation without a socket, by a clock that the test has.

use super::{Due, Local, Peer, Taken};
use crate::session::Push;
use core::time::Duration;
use trunkline_wire::diameter::base::{
    CapabilitiesExchangeAnswer, CapabilitiesExchangeRequest, DeviceWatchdogAnswer, ReAuthAnswer,
};
use trunkline_wire::diameter::dictionary::avp::RESULT_CODE;
use trunkline_wire::diameter::{Header, HostAddress, List, Message, Writer, application, command};

const TW: Duration = Duration::from_secs(30);

fn local() -> Local {
    Local {
        host: "ocs.example".to_owned(),
        realm: "example".to_owned(),
        realms: vec!["other.example".to_owned()],
        addresses: vec!["192.0.2.1".parse().unwrap()],
        state_id: 77,
        peers: Vec::new(),
        watchdog: TW,
    }
}

fn cer(host: &str, applications: &[u32], security: &[u32]) -> Vec<u8> {
    let addresses = [HostAddress::Ip("192.0.2.2".parse().unwrap())];
    let cer = CapabilitiesExchangeRequest {
        origin_host: host,
        origin_realm: "example",
        host_ip_addresses: List::Values(&addresses),
        product_name: "test",
        auth_application_ids: List::Values(applications),
        inband_security_ids: List::Values(security),
        ..CapabilitiesExchangeRequest::default()
    };
    let mut out = Vec::new();
    cer.write(&Header::request(command::CAPABILITIES_EXCHANGE, application::BASE), &mut out).unwrap();
    out
}

/// What a CER is answered, and whether the peer is open then.
fn exchanged(local: &Local, octets: &[u8]) -> (u32, bool) {
    let (mut peer, mut out) = (Peer::new(local, 1, Duration::ZERO), Vec::new());
    let taken = peer.take(local, octets, Duration::ZERO, &mut out).unwrap();
    assert_eq!(matches!(taken, Taken::Opened), peer.is_open());
    let message = Message::new(&out).unwrap();
    (message.avps().find(RESULT_CODE).unwrap().unsigned32().unwrap(), peer.is_open())
}

fn open(local: &Local) -> Peer {
    let (mut peer, mut out) = (Peer::new(local, 1, Duration::ZERO), Vec::new());
    peer.take(local, &cer("pgw.example", &[4], &[]), Duration::ZERO, &mut out).unwrap();
    let message = Message::new(&out).unwrap();
    let cea = CapabilitiesExchangeAnswer::read(&message).unwrap();
    assert_eq!((cea.result_code, cea.origin_host, cea.origin_state_id), (2001, "ocs.example", Some(77)));
    assert_eq!(cea.auth_application_ids.iter().collect::<Vec<_>>(), [4]);
    peer
}

#[test]
fn capabilities_are_taken_or_refused_with_the_reason() {
    let local = local();
    assert_eq!(exchanged(&local, &cer("pgw.example", &[4], &[])), (2001, true));
    assert_eq!(exchanged(&local, &cer("relay.example", &[application::RELAY], &[0])), (2001, true));
    assert_eq!(exchanged(&local, &cer("hss.example", &[16_777_216], &[])), (5010, false));
    assert_eq!(exchanged(&local, &cer("OCS.example", &[4], &[])), (3010, false));
    assert_eq!(exchanged(&local, &cer("pgw.example", &[4], &[1])), (5017, false));
    assert_eq!(exchanged(&local, &cer("", &[4], &[])), (5004, false));
    let mut out = Vec::new();
    let header = Header::request(command::CAPABILITIES_EXCHANGE, application::BASE);
    Writer::new(&mut out, &header).finish().unwrap();
    assert_eq!(exchanged(&local, &out), (5005, false));
}

#[test]
fn a_peer_keeps_its_name() {
    let (local, mut out) = (local(), Vec::new());
    let mut peer = open(&local);
    for (host, result) in [("pgw.example", 2001), ("mallory.example", 3010)] {
        let octets = cer(host, &[4], &[]);
        let taken = peer.take(&local, &octets, Duration::ZERO, &mut out).unwrap();
        assert!(matches!(taken, Taken::Done(code) if code == result), "{taken:?}");
    }
    assert_eq!(peer.host(), "pgw.example");
}

#[test]
fn the_watchdog_asks_suspects_and_closes() {
    let (local, mut out) = (local(), Vec::new());
    let mut peer = open(&local);
    let first = peer.due();
    assert!(first >= TW - Duration::from_secs(2) && first <= TW + Duration::from_secs(2), "{first:?}");
    assert_eq!(peer.watch(&local, first - Duration::from_millis(1), &mut out), Due::Nothing);
    assert_eq!(peer.watch(&local, first, &mut out), Due::Asked);
    let header = Message::new(&out).unwrap().header;
    assert_eq!((header.command, header.is_request()), (command::DEVICE_WATCHDOG, true));
    let second = peer.due();
    assert_eq!(peer.watch(&local, second, &mut out), Due::Suspect);
    // It answers late: all is well again.
    let dwa = DeviceWatchdogAnswer {
        result_code: 2001,
        origin_host: "pgw.example",
        origin_realm: "example",
        ..DeviceWatchdogAnswer::default()
    };
    let mut answer = Vec::new();
    dwa.write(&header.answer(), &mut answer).unwrap();
    assert!(matches!(peer.take(&local, &answer, second, &mut out), Ok(Taken::Done(0))));
    for expected in [Due::Asked, Due::Suspect, Due::Close] {
        let due = peer.due();
        assert_eq!(peer.watch(&local, due, &mut out), expected);
    }
    // One that never says who it is.
    let mut silent = Peer::new(&local, 1, Duration::ZERO);
    let due = silent.due();
    assert!(due <= Duration::from_secs(10), "{due:?}");
    assert_eq!(silent.watch(&local, due, &mut out), Due::Close);
}

#[test]
fn questions_are_answered_or_come_back() {
    let local = local();
    let mut peer = open(&local);
    let push = |session: &str, abort| Push { session: session.into(), origin: "pgw.example".into(), abort };
    let ask = |peer: &mut Peer, push: Push, at: u64| {
        let mut out = Vec::new();
        peer.push(&local, push, "example", Duration::from_secs(at), &mut out).unwrap();
        out
    };
    let rar = ask(&mut peer, push("s;1", false), 1);
    let asr = ask(&mut peer, push("s;2", true), 2);
    ask(&mut peer, push("s;3", false), 3);
    assert_eq!(Message::new(&asr).unwrap().header.command, command::ABORT_SESSION);
    let raa = ReAuthAnswer {
        session_id: "s;1",
        result_code: Some(5002),
        origin_host: "pgw.example",
        origin_realm: "example",
        ..ReAuthAnswer::default()
    };
    let (mut answer, mut out) = (Vec::new(), Vec::new());
    raa.write(&Message::new(&rar).unwrap().header.answer(), &mut answer).unwrap();
    let Ok(Taken::Pushed(pushed)) = peer.take(&local, &answer, Duration::from_secs(4), &mut out) else {
        panic!("an answer")
    };
    assert!(pushed.is_done() && &*pushed.push.session == "s;1");
    // The same once more answers nothing.
    assert!(matches!(peer.take(&local, &answer, Duration::from_secs(4), &mut out), Ok(Taken::Done(0))));
    assert_eq!(peer.unanswered(Duration::from_secs(11)), None);
    let late = peer.unanswered(Duration::from_secs(12)).unwrap();
    assert!(!late.is_done() && late.push == push("s;2", true));
    assert_eq!(peer.left().map(|left| left.push).collect::<Vec<_>>(), [push("s;3", false)]);
}

#[test]
fn what_has_no_sound_header_is_answered_as_far_as_it_can_be() {
    let (local, mut out) = (local(), Vec::new());
    let mut peer = open(&local);
    let mut octets = cer("pgw.example", &[4], &[]);
    octets.extend_from_slice(&[0; 4]);
    let refused = peer.take(&local, &octets, Duration::ZERO, &mut out).unwrap_err();
    assert_eq!(refused.0, 5015);
    let message = Message::new(&out).unwrap();
    assert_eq!(message.avps().find(RESULT_CODE).unwrap().unsigned32(), Ok(5015));
    // An answer that is broken is answered by nothing.
    octets[4] = 0;
    out.clear();
    assert!(peer.take(&local, &octets, Duration::ZERO, &mut out).is_err());
    assert!(out.is_empty());
}

#[test]
fn realms_and_hosts_know_no_capitals() {
    let local = local();
    assert!(local.serves("EXAMPLE") && local.serves("Other.Example") && !local.serves("example.net"));
}
