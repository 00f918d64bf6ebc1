//! ICMP that says why nobody answers or hears (reported of Kamailio "icmp failover", Linphone and pjsip: a phone that
//! does not listen, a filter on the way).

use crate::tape::{Side, Tape, audio, end, icmp, kind, rtp, says, tcp, udp};
use trunkline_store::row::Call;
use trunkline_wire::Endpoint;

const INVITE: &str = "INVITE sip:b@x SIP/2.0";

fn side(signals: &str, media: &str, tag: &'static str) -> Side {
    Side { signals: end(signals), tag, sdp: audio(end(media)) }
}

fn v4() -> [Side; 2] {
    [side("192.0.2.1:5060", "192.0.2.1:4000", "a"), side("198.51.100.2:5080", "198.51.100.2:5000", "b")]
}

fn v6() -> [Side; 2] {
    [side("[2001:db8::1]:5060", "[2001:db8::1]:4000", "a"), side("[2001:db8:2::2]:5060", "[2001:db8:2::2]:5000", "b")]
}

/// Writes an INVITE and, `delay_ms` after it, an ICMP message that quotes so much of it.
fn rejected(tape: &mut Tape, at_ms: i64, [a, b]: [&Side; 2], by: &str, code: (u8, u8), octets: usize, delay_ms: i64) {
    tape.sip(at_ms, [a, b], INVITE, ("u1", [a.tag, ""]), "1 INVITE", &a.sdp);
    let (_, invite) = tape.0.last().unwrap().clone();
    tape.push(at_ms + delay_ms, icmp(end(by), code, &invite, octets, a.signals));
}

#[track_caller]
fn unanswered(call: &Call, says_that: &str) {
    assert_eq!(kind(call), "no-response", "{}", says(call));
    assert!(says(call).contains(says_that), "{}", says(call));
}

#[test]
fn the_cause_of_no_response_is_named() {
    // Who says what, and with how much of the packet.
    for (sides, by, code, octets, text) in [
        (v4(), "198.51.100.2:0", (3, 3), 28, "\"port unreachable\": no program listens on 198.51.100.2:5080"),
        (v4(), "198.51.100.2:0", (3, 3), 548, "\"port unreachable\": no program listens on 198.51.100.2:5080"),
        (v4(), "203.0.113.1:0", (3, 1), 28, "ICMP from 203.0.113.1 says \"host unreachable\": the host 198.51.100.2"),
        (v4(), "203.0.113.1:0", (3, 13), 28, "\"administratively prohibited\": a filter forbids packets to"),
        (v4(), "203.0.113.1:0", (3, 0), 28, "\"network unreachable\": 203.0.113.1 knows no way to 198.51.100.2"),
        (v4(), "203.0.113.1:0", (3, 4), 28, "\"packet too big\""),
        (v6(), "[2001:db8:2::2]:0", (1, 4), 48, "no program listens on [2001:db8:2::2]:5060"),
        (v6(), "[2001:db8:9::9]:0", (1, 1), 1232, "\"administratively prohibited\""),
    ] {
        let [a, b] = &sides;
        // Once, and no more; or again and again.
        for repeats in [1, 4] {
            let mut tape = Tape::default();
            for n in 0..repeats {
                rejected(&mut tape, n * n * 500, [a, b], by, code, octets, 3);
            }
            tape.udp(90_000, end("192.0.2.77:9"), end("192.0.2.78:9"), b"later");
            let (call, ..) = tape.call_of();
            unanswered(&call, text);
            let packets = &call.verdict.as_ref().unwrap().packets;
            assert!(packets.contains(&2), "{packets:?}");
        }
    }
}

#[test]
fn the_caller_who_gives_up_was_not_answered_either() {
    let [a, b] = &v4();
    let mut tape = Tape::default();
    rejected(&mut tape, 0, [a, b], "198.51.100.2:0", (3, 3), 28, 1);
    tape.sip(6_000, [a, b], "CANCEL sip:b@x SIP/2.0", ("u1", [a.tag, ""]), "1 CANCEL", "");
    tape.udp(90_000, end("192.0.2.77:9"), end("192.0.2.78:9"), b"later");
    unanswered(&tape.call_of().0, "no program listens on 198.51.100.2:5080");
}

#[test]
fn only_what_is_about_its_own_way_and_time_is_its_cause() {
    let [a, b] = &v4();
    let other = side("198.51.100.2:5060", "198.51.100.2:5000", "c");
    // Another port, the other direction, long before, and after all tries.
    let cases: [(&Side, &Side, i64); 4] = [(a, &other, 0), (b, a, 0), (a, b, -60_000), (a, b, 80_000)];
    for (from, to, delay_ms) in cases {
        let mut tape = Tape::default();
        for at_ms in [100_000, 100_500, 101_500] {
            tape.sip(at_ms, [a, b], INVITE, ("u1", [a.tag, ""]), "1 INVITE", &a.sdp);
        }
        let quoted = udp(from.signals, to.signals, b"OPTIONS sip:b@x SIP/2.0\r\n\r\n");
        tape.push(100_000 + delay_ms, icmp(end("198.51.100.2:0"), (3, 3), &quoted, 28, a.signals));
        tape.udp(190_000, end("192.0.2.77:9"), end("192.0.2.78:9"), b"later");
        let (call, ..) = tape.call_of();
        unanswered(&call, "sent the INVITE 3 times and nothing came back");
        assert!(!says(&call).contains("ICMP"), "{}", says(&call));
    }
}

#[test]
fn another_host_that_answers_leaves_nothing_to_say() {
    let [a, b] = &v4();
    let second = Side { signals: end("198.51.100.3:5060"), ..b.clone() };
    let mut tape = Tape::default();
    rejected(&mut tape, 0, [a, b], "198.51.100.2:0", (3, 3), 28, 1);
    tape.call(20, "u1", [a, &second]);
    for (n, way) in [(1, [0, 1]), (2, [1, 0])] {
        let ends = [end("192.0.2.1:4000"), end("198.51.100.2:5000")];
        tape.media((2_040, 8_000), n, |o| udp(ends[way[0]], ends[way[1]], o));
    }
    tape.bye(8_000, "u1", [a, &second]);
    assert_eq!(tape.call_of().0.verdict, None);
}

#[test]
fn a_proxy_whose_next_hop_is_down_has_its_reason() {
    let [a, b] = &v4();
    let proxy = side("203.0.113.5:5060", "203.0.113.5:4000", "p");
    let mut tape = Tape::default();
    tape.sip(0, [a, &proxy], INVITE, ("u1", [a.tag, ""]), "1 INVITE", &a.sdp);
    tape.sip(10, [&proxy, a], "SIP/2.0 100 Trying", ("u1", [a.tag, ""]), "1 INVITE", "");
    tape.sip(20, [&proxy, b], INVITE, ("u1", [a.tag, ""]), "1 INVITE", &a.sdp);
    let (_, invite) = tape.0.last().unwrap().clone();
    tape.push(21, icmp(end("198.51.100.2:0"), (3, 3), &invite, 28, proxy.signals));
    let dead = tape.clone();
    tape.sip(5_000, [&proxy, a], "SIP/2.0 503 Service Unavailable", ("u1", [a.tag, "p"]), "1 INVITE", "");
    let (call, ..) = tape.call_of();
    assert_eq!(kind(&call), "failure-5xx");
    let text = "Its INVITE to 198.51.100.2:5080 did not arrive: ICMP from 198.51.100.2";
    assert!(says(&call).contains(text), "{}", says(&call));
    // It says nothing more.
    let mut tape = dead;
    tape.sip(30_000, [a, &proxy], "CANCEL sip:b@x SIP/2.0", ("u1", [a.tag, ""]), "1 CANCEL", "");
    let (call, ..) = tape.call_of();
    assert_eq!(kind(&call), "no-progress");
    assert!(says(&call).contains("Its INVITE to 198.51.100.2:5080 did not arrive"), "{}", says(&call));
}

#[test]
fn an_invite_over_a_connection_that_breaks_has_its_reason() {
    let [a, b] = &v4();
    let mut tape = Tape::default();
    tape.push(0, tcp(a.signals, b.signals, (999, 2), b""));
    tape.push(1, tcp(b.signals, a.signals, (0, 0x12), b""));
    let text = "INVITE sip:b@x SIP/2.0\r\nVia: SIP/2.0/TCP a;branch=z9hG4bKx\r\nFrom: <sip:a@x>;tag=a\r\nTo: <sip:b@x>\r\n\
                Call-ID: u2\r\nCSeq: 1 INVITE\r\nContent-Length: 0\r\n\r\n";
    let segment = tcp(a.signals, b.signals, (1000, 0x18), text.as_bytes());
    tape.push(2, segment.clone());
    tape.push(3_000, icmp(end("203.0.113.1:0"), (3, 1), &segment, 28, a.signals));
    tape.udp(90_000, end("192.0.2.77:9"), end("192.0.2.78:9"), b"later");
    unanswered(&tape.call_of().0, "ICMP from 203.0.113.1 says \"host unreachable\"");
}

/// A call in which both send, and ICMP quotes what goes to these ends in these seconds.
fn talk(sides: [Side; 2], refused: &[(usize, core::ops::Range<i64>)], by: Option<&str>) -> Call {
    let [a, b] = &sides;
    let port = |e: Endpoint, port| Endpoint::new(e.address, port);
    let ends = [port(a.signals, 4000), port(b.signals, 5000)];
    let mut tape = Tape::default();
    tape.call(0, "u3", [a, b]);
    for (n, side) in [(1, 0), (2, 1)] {
        tape.media((2_040, 14_040), n, |o| udp(ends[side], ends[1 - side], o));
    }
    for (to, seconds) in refused {
        let (from, to) = (ends[1 - to], ends[*to]);
        let code = if to.address.is_v4() { (3, 3) } else { (1, 4) };
        let says = by.map_or(Endpoint::new(to.address, 0), end);
        for second in seconds.clone() {
            let quoted = udp(from, to, &rtp(1, second as u16 * 50));
            tape.push(2_050 + second * 1000, icmp(says, code, &quoted, 100, from));
            // RTCP that nobody wants is usual.
            let report = udp(port(from, from.port + 1), port(to, to.port + 1), &[0x80, 200, 0, 0]);
            tape.push(2_055 + second * 1000, icmp(says, code, &report, 100, from));
        }
    }
    tape.bye(14_040, "u3", [a, b]);
    tape.call_of().0
}

#[test]
fn media_that_does_not_arrive_is_not_heard() {
    for sides in [v4(), v6()] {
        let call = talk(sides.clone(), &[(1, 0..12)], None);
        assert_eq!(kind(&call), "one-way-audio", "{}", says(&call));
        assert!(says(&call).contains("the callee heard nothing: what the caller sends does not arrive. ICMP from"));
        assert!(says(&call).contains("no program listens on"), "{}", says(&call));
        let call = talk(sides.clone(), &[(0, 1..11)], None);
        assert!(kind(&call) == "one-way-audio" && says(&call).contains("the caller heard nothing"), "{}", says(&call));
        let call = talk(sides.clone(), &[(0, 0..12), (1, 0..12)], None);
        assert_eq!(kind(&call), "no-audio", "{}", says(&call));
        // The first packets come before the port is open, the last ones when it is closed.
        assert_eq!(talk(sides.clone(), &[(1, 0..3), (0, 10..14)], None).verdict, None);
        assert_eq!(talk(sides, &[], None).verdict, None);
    }
    let call = talk(v4(), &[(1, 0..12)], Some("203.0.113.1:0"));
    let text = "ICMP from 203.0.113.1 says \"port unreachable\": a filter on the way refuses packets to";
    assert!(says(&call).contains(text), "{}", says(&call));
}
