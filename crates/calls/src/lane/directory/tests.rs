use super::*;
use crate::limits::SECOND_NS;

fn end(text: &str) -> Endpoint {
    text.parse().unwrap()
}

fn announce(d: &mut Directory, serial: Serial, party: Direction, endpoint: &str) -> Vec<u32> {
    let announcement = announcement(serial, party, endpoint, 0);
    let superseded = d.superseded(&announcement);
    d.announce(&announcement);
    superseded
}

fn announcement(serial: Serial, party: Direction, endpoint: &str, at_ns: i64) -> Announcement {
    Announcement {
        serial,
        id: Id::derive(serial as i64, b"call"),
        party,
        endpoint: end(endpoint),
        guessed: false,
        kind: sdp::Kind::Audio,
        payloads: PayloadMap::standard(),
        at_ns,
        encrypted: false,
    }
}

fn announce_all(d: &mut Directory, all: &[(Serial, Direction, &str)]) {
    for (serial, party, endpoint) in all {
        announce(d, *serial, *party, endpoint);
    }
}

#[test]
fn the_receiver_names_the_sender() {
    let mut d = Directory::default();
    announce(&mut d, 1, Direction::Caller, "10.0.0.1:4000");
    let owner = d.owner(end("10.0.0.9:7000"), end("10.0.0.1:4000"), 5).unwrap();
    assert_eq!((owner.serial, owner.sender), (1, Direction::Callee));
}

#[test]
fn a_translated_receiver_is_found_by_the_sender() {
    let mut d = Directory::default();
    announce(&mut d, 1, Direction::Callee, "198.51.100.2:7000");
    let owner = d.owner(end("198.51.100.2:7000"), end("203.0.113.5:31000"), 5).unwrap();
    assert_eq!((owner.serial, owner.sender), (1, Direction::Callee));
}

#[test]
fn what_is_guessed_yields_to_what_was_said() {
    let mut d = Directory::default();
    let guess = |serial, party, endpoint| Announcement { guessed: true, ..announcement(serial, party, endpoint, 0) };
    announce(&mut d, 1, Direction::Caller, "10.0.0.1:4000");
    d.announce(&guess(2, Direction::Callee, "10.0.0.1:4000"));
    d.announce(&guess(3, Direction::Callee, "10.0.0.1:4002"));
    let owner = |d: &Directory, from, to| d.owner(end(from), end(to), 5).map(|o| (o.serial, o.sender));
    let far = "203.0.113.9:7000";
    assert_eq!(owner(&d, far, "10.0.0.1:4000"), Some((1, Direction::Callee)));
    assert_eq!(owner(&d, "10.0.0.1:4000", far), Some((1, Direction::Caller)));
    assert_eq!(owner(&d, far, "10.0.0.1:4002"), Some((3, Direction::Caller)));
    assert_eq!(owner(&d, "10.0.0.1:4002", far), Some((3, Direction::Callee)));
    // Who has both ends goes before who named one; and what is said later is no guess any more.
    announce(&mut d, 2, Direction::Caller, far);
    assert_eq!(owner(&d, far, "10.0.0.1:4000"), Some((2, Direction::Caller)));
    announce(&mut d, 4, Direction::Callee, "10.0.0.1:4002");
    announce(&mut d, 3, Direction::Callee, "10.0.0.1:4002");
    assert_eq!(owner(&d, far, "10.0.0.1:4002"), Some((3, Direction::Caller)));
}

#[test]
fn payload_types_mean_what_the_receiver_said() {
    let mut d = Directory::default();
    let mut map = PayloadMap::new(trunkline_audio::codec::Media::Audio);
    map.map(111, "opus", 48000);
    announce(&mut d, 1, Direction::Callee, "198.51.100.2:7000");
    d.announce(&Announcement {
        serial: 1,
        id: Id::default(),
        party: Direction::Caller,
        endpoint: end("192.168.0.5:4000"),
        guessed: false,
        kind: sdp::Kind::Audio,
        payloads: Arc::new(map),
        at_ns: 0,
        encrypted: false,
    });
    let owner = d.owner(end("198.51.100.2:7000"), end("203.0.113.5:31000"), 5).unwrap();
    assert_eq!(owner.payloads.clock_rate(111), 48000);
}

#[test]
fn of_two_calls_with_the_same_endpoints_the_first_has_both_streams() {
    let mut d = Directory::default();
    announce_all(
        &mut d,
        &[
            (1, Direction::Caller, "10.0.0.1:4000"),
            (2, Direction::Caller, "10.0.0.1:4000"),
            (2, Direction::Callee, "10.0.0.2:5000"),
            (1, Direction::Callee, "10.0.0.2:5000"),
        ],
    );
    assert_eq!(d.owner(end("10.0.0.1:4000"), end("10.0.0.2:5000"), 5).unwrap().serial, 1);
    assert_eq!(d.owner(end("10.0.0.2:5000"), end("10.0.0.1:4000"), 5).unwrap().serial, 1);
}

#[test]
fn a_stream_is_shared_with_each_call_that_names_both_its_ends() {
    let mut d = Directory::default();
    announce_all(
        &mut d,
        &[
            (1, Direction::Caller, "10.0.0.1:4000"),
            (1, Direction::Callee, "10.0.0.2:5000"),
            // The second leg is called from the other side; the third call names one of the ends alone.
            (2, Direction::Callee, "10.0.0.1:4000"),
            (2, Direction::Caller, "10.0.0.2:5000"),
            (3, Direction::Caller, "10.0.0.1:4000"),
        ],
    );
    let (from, to) = (end("10.0.0.1:4000"), end("10.0.0.2:5000"));
    d.own(1, 17);
    assert_eq!(d.others(1, &from, &to)[..], [(2, Direction::Callee)]);
    let key = |at: u32| (at == 17).then_some((from, to));
    assert_eq!(d.shared_by(2, key)[..], [(17, Direction::Callee)]);
    assert!(d.shared_by(3, key).is_empty() && d.shared_by(1, key).is_empty());
    d.release(2);
    assert_eq!(d.others(1, &from, &to).len(), 0);
}

#[test]
fn a_call_that_begins_with_ports_of_one_whose_bye_was_not_seen_claims_them() {
    let (a, b) = (end("10.0.0.1:4000"), end("10.0.0.2:5000"));
    let (caller, callee) = (Direction::Caller, Direction::Callee);
    // The later call begins after, or while the earlier one is set up; its answer comes last.
    for (begins_ns, claims) in [(100, true), (60, true), (50, false), (20, false)] {
        let mut d = Directory::default();
        d.announce(&announcement(1, caller, "10.0.0.1:4000", 0));
        if begins_ns > 50 {
            d.announce(&announcement(1, callee, "10.0.0.2:5000", 50));
        }
        d.own(1, 17);
        let offer = announcement(2, callee, "10.0.0.2:5000", begins_ns);
        d.announce(&offer);
        if begins_ns <= 50 {
            d.announce(&announcement(1, callee, "10.0.0.2:5000", 50));
        }
        assert!(d.claimed(&offer).is_empty() && d.owner(b, a, 200).unwrap().serial == 1);
        // A refresh of the earlier one changes nothing.
        d.announce(&announcement(1, caller, "10.0.0.1:4000", begins_ns + 1));
        let answer = announcement(2, caller, "10.0.0.1:4000", begins_ns + 5);
        d.announce(&answer);
        assert_eq!(d.claimed(&answer).to_vec(), if claims { vec![(1, b)] } else { vec![] }, "{begins_ns}");
        for (from, to, sender) in [(a, b, caller), (b, a, callee)] {
            let owner = d.owner(from, to, 200).unwrap();
            assert_eq!((owner.serial, owner.sender), (if claims { 2 } else { 1 }, sender), "{begins_ns}");
            assert_eq!(d.others(1, &from, &to).len(), usize::from(!claims));
        }
        assert_eq!(d.shared_by(2, |at| (at == 17).then_some((a, b))).len(), usize::from(!claims));
    }
}

#[test]
fn ports_in_use_again_belong_to_the_new_call() {
    let mut d = Directory::default();
    announce(&mut d, 1, Direction::Caller, "10.0.0.1:4000");
    d.own(1, 17);
    d.until(1, 100, false);
    assert_eq!(announce(&mut d, 2, Direction::Caller, "10.0.0.1:4000"), [17]);
    assert_eq!(d.owner(end("10.0.0.9:7000"), end("10.0.0.1:4000"), 50).unwrap().serial, 2);
    d.release(2);
    assert!(d.owner(end("10.0.0.9:7000"), end("10.0.0.1:4000"), 50).is_none());
}

#[test]
fn a_call_that_is_over_owns_nothing_after_its_end() {
    let mut d = Directory::default();
    announce(&mut d, 1, Direction::Caller, "10.0.0.1:4000");
    d.until(1, 100, false);
    assert!(d.owner(end("10.0.0.9:7000"), end("10.0.0.1:4000"), 100).is_some());
    assert!(d.owner(end("10.0.0.9:7000"), end("10.0.0.1:4000"), 101).is_none());
}

#[test]
fn a_call_that_nobody_took_begins_nothing_after_its_end() {
    let (from, to) = (end("10.0.0.9:7000"), end("10.0.0.1:4000"));
    let mut d = Directory::default();
    announce(&mut d, 1, Direction::Caller, "10.0.0.1:4000");
    // It ends at 1 s, and its last message comes at 5 s.
    for end_s in [1, 5] {
        d.until(1, end_s * SECOND_NS + LINGER_NS, true);
        let begins = |at_ns| (d.owner(from, to, at_ns).is_some(), d.is_named(&to, at_ns));
        assert_eq!(
            (begins(SECOND_NS + BEGINS_LATE_NS), begins(SECOND_NS + BEGINS_LATE_NS + 1)),
            ((true, true), (false, false))
        );
    }
    // The caller tries again.
    d.until(1, i64::MAX, false);
    assert!(d.owner(from, to, 9 * SECOND_NS).is_some());
    // One that was up has what begins until it is forgotten.
    d.until(1, 12 * SECOND_NS, false);
    assert!(d.owner(from, to, 12 * SECOND_NS).is_some() && d.is_named(&to, 13 * SECOND_NS));
}
