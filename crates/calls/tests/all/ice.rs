//! Media between addresses that no description names: both phones are behind translators that give each peer another
//! port, and only the checks of ICE on the flow say whose it is (reported of sipsorcery behind a cloud's translator,
//! rtpengine with mDNS candidates, BigBlueButton with FreeSWITCH).

use crate::tape::{Side, Tape, end, kind, says, sdp, streams, udp};
use trunkline_store::row::Call;
use trunkline_wire::Endpoint;

/// A check of ICE (RFC 8445 section 7.2): whom it asks, and who asks.
fn check(asked: &str, asking: &str) -> Vec<u8> {
    let user = format!("{asked}:{asking}");
    let attribute = |kind: u16, value: &[u8]| {
        let mut octets = [kind.to_be_bytes(), (value.len() as u16).to_be_bytes()].concat();
        octets.extend(value);
        octets.resize(octets.len().next_multiple_of(4), 0);
        octets
    };
    let body = [attribute(6, user.as_bytes()), attribute(0x24, &[0, 0, 0, 1])].concat();
    let mut octets = [0x0001u16.to_be_bytes(), (body.len() as u16).to_be_bytes()].concat();
    octets.extend([0x21, 0x12, 0xa4, 0x42, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    octets.extend(body);
    octets
}

/// What a phone says: its own private address as a candidate, and that of its translator for the STUN server.
fn side(signals: &str, tag: &'static str, said: &str, host: &str, name: &str) -> Side {
    let (name, candidate) = (
        format!("ice-ufrag:{name}"),
        format!("candidate:1 1 udp 2000 {} 4000 typ host generation 0", end(host).address),
    );
    let attributes = [name.as_str(), "ice-pwd:0123456789012345678901", candidate.as_str()];
    Side { signals: end(signals), tag, sdp: sdp(end(said), "audio RTP/AVP 0", &attributes) }
}

/// Both phones send between `ends` from 2.1 s to so many milliseconds; `names` are those of the checks on that flow.
fn call(names: [&str; 2], ends: [Endpoint; 2], until_ms: [i64; 2]) -> (Call, usize) {
    let a = side("203.0.113.7:5060", "a", "203.0.113.7:40000", "192.168.1.10:4000", "Auf1");
    let b = side("198.51.100.99:5060", "b", "198.51.100.99:50000", "192.168.7.7:4000", "Buf1");
    let mut tape = Tape::default();
    tape.call(0, "n1", [&a, &b]);
    for at_ms in (2_060..22_000).step_by(2_000) {
        tape.udp(at_ms, ends[0], ends[1], &check(names[1], names[0]));
        tape.udp(at_ms + 20, ends[1], ends[0], &check(names[0], names[1]));
    }
    for (n, way) in [(0, [ends[0], ends[1]]), (1, [ends[1], ends[0]])] {
        tape.media((2_100, until_ms[n]), 1 + n as u32, |o| udp(way[0], way[1], o));
    }
    tape.bye(22_040, "n1", [&a, &b]);
    let (call, rows, _) = tape.call_of();
    (call, rows.streams.len())
}

const NAMES: [&str; 2] = ["Auf1", "Buf1"];

fn ends() -> [Endpoint; 2] {
    ["203.0.113.7:41111", "198.51.100.99:52222"].map(end)
}

#[test]
fn checks_say_whose_media_it_is() {
    let (call, without_call) = call(NAMES, ends(), [22_000; 2]);
    assert_eq!((kind(&call), without_call), ("", 0), "{}", says(&call));
    let told: Vec<_> = streams(&call).into_iter().map(|(who, from, to, ..)| (who, from, to)).collect();
    let [a, b] = ends().map(|e| e.to_string());
    assert_eq!(told, [(1, a.clone(), b.clone()), (2, b, a)]);
}

#[test]
fn what_is_wrong_with_such_a_call_is_found() {
    let (stopped, _) = call(NAMES, ends(), [22_000, 9_000]);
    assert_eq!(kind(&stopped), "one-way-audio");
    assert!(says(&stopped).contains("the caller did not hear the callee"), "{}", says(&stopped));
}

#[test]
fn checks_with_other_names_say_nothing() {
    // Names of another call, of one side alone, and both of the same side.
    for names in [["Cuf1", "Duf1"], ["Auf1", "Duf1"], ["Auf1", "Auf1"]] {
        let (call, without_call) = call(names, ends(), [22_000; 2]);
        assert_eq!((kind(&call), without_call), ("no-audio", 2), "{names:?}");
    }
}

/// SIP.js#436, sipml5#293, JsSIP#195, pjproject#5102: checks between the very addresses of both descriptions, and none
/// is answered; or all are, and nobody sends.
#[test]
fn checks_without_an_answer_are_the_cause() {
    let addresses = ["203.0.113.7:40000", "198.51.100.99:50000"];
    let judged = |asking: [bool; 2], answered: bool, many: bool| {
        let a = side("203.0.113.7:5060", "a", addresses[0], "192.168.1.10:4000", "Auf1");
        let b = side("198.51.100.99:5060", "b", addresses[1], "192.168.7.7:4000", "Buf1");
        let [from, to] = addresses.map(end);
        let mut tape = Tape::default();
        tape.call(0, "n1", [&a, &b]);
        for at_ms in (2_060..if many { 20_000 } else { 4_000 }).step_by(500) {
            for (n, way) in [[from, to], [to, from]].into_iter().enumerate().filter(|(n, _)| asking[*n]) {
                let mut packet = check(NAMES[1 - n], NAMES[n]);
                tape.udp(at_ms, way[0], way[1], &packet);
                packet[..2].copy_from_slice(&0x0101u16.to_be_bytes());
                if answered {
                    tape.udp(at_ms + 20, way[1], way[0], &packet);
                }
            }
        }
        // Another call's media passes from and to the same networks.
        for (ssrc, way) in
            [(8, ["203.0.113.9:4000", "198.51.100.98:6000"]), (9, ["198.51.100.98:6000", "203.0.113.9:4000"])]
        {
            let [from, to] = way.map(end);
            tape.media((0, 30_000), ssrc, |o| udp(from, to, o));
        }
        tape.bye(22_040, "n1", [&a, &b]);
        let call = tape.call_of().0;
        (kind(&call).to_owned(), says(&call).to_owned())
    };
    for (asking, who) in
        [([true; 2], "both sides asked"), ([true, false], "the caller alone"), ([false, true], "the callee")]
    {
        let (kind, says) = judged(asking, false, true);
        assert!(kind == "no-audio" && says.contains("ICE found no way") && says.contains(who), "{says}");
    }
    for (answered, many) in [(true, true), (false, false)] {
        let (kind, says) = judged([true; 2], answered, many);
        assert!(kind == "no-audio" && !says.contains("ICE"), "{says}");
    }
}

/// rtpengine#1585, WEBRTC-to-SIP#19: ICE is restarted with new names, on the old ports or on new ones, and no check is
/// answered any more.
#[test]
fn a_restart_that_finds_no_way_is_why_audio_stops() {
    let judged = |moves: bool, answered: bool, goes_on: bool| {
        let port = if moves { 1_000 } else { 0 };
        let [old, new] = [0, port].map(|more| {
            [("203.0.113.7", 40_000), ("198.51.100.99", 50_000)]
                .map(|(host, port)| end(&format!("{host}:{}", port + more)))
        });
        let of = |ends: [Endpoint; 2], names: [&str; 2]| {
            let [a, b] = ends.map(|e| e.to_string());
            [
                side("203.0.113.7:5060", "a", &a, "192.168.1.10:4000", names[0]),
                side("198.51.100.99:5060", "b", &b, "192.168.7.7:4000", names[1]),
            ]
        };
        let (first, second) = (of(old, NAMES), of(new, ["Auf2", "Buf2"]));
        let mut tape = Tape::default();
        tape.call(0, "n1", [&first[0], &first[1]]);
        let mut ask = |(from_ms, to_ms), ends: [Endpoint; 2], names: [&str; 2], answered: bool| {
            for at_ms in (from_ms..to_ms).step_by(500) {
                for n in [0, 1] {
                    let mut packet = check(names[1 - n], names[n]);
                    tape.udp(at_ms, ends[n], ends[1 - n], &packet);
                    packet[..2].copy_from_slice(&0x0101u16.to_be_bytes());
                    if answered {
                        tape.udp(at_ms + 20, ends[1 - n], ends[n], &packet);
                    }
                }
            }
        };
        ask((2_060, 12_000), old, NAMES, true);
        ask((12_100, 36_000), new, ["Auf2", "Buf2"], answered);
        tape.change(12_000, "n1", [&second[0], &second[1]]);
        for n in [0, 1] {
            tape.media((2_500, 12_040), 1 + n as u32, |o| udp(old[n], old[1 - n], o));
            if goes_on {
                tape.media((12_040, 36_000), 11 + n as u32, |o| udp(new[n], new[1 - n], o));
            }
        }
        let others = ["203.0.113.9:4000", "198.51.100.98:6000"].map(end);
        tape.media((0, 40_000), 9, |o| udp(others[0], others[1], o));
        tape.bye(36_040, "n1", [&first[0], &first[1]]);
        let call = tape.call_of().0;
        (kind(&call).to_owned(), says(&call).to_owned())
    };
    for moves in [false, true] {
        let (kind, says) = judged(moves, false, false);
        assert!(kind == "audio-stopped" && says.contains("ICE found no way any more: 96 checks on 1 way"), "{says}");
        // All are answered, and nobody sends: that is no fault of ICE; and a way that is not checked may be open.
        let (_, says) = judged(moves, true, false);
        assert!(!says.contains("ICE"), "{moves} {says}");
        for answered in [true, false] {
            assert_eq!(judged(moves, answered, true), (String::new(), String::new()), "{moves} {answered}");
        }
    }
}
