//! Two calls of a back-to-back user agent that leaves media alone: both name the same endpoints, and neither is silent,
//! though its streams are kept with one of them. Ports are soon in use again.

use crate::tape::{Side, Tape, audio, end, kind, says, streams, udp};
use trunkline_store::checked::checked;
use trunkline_store::row::Call;
use trunkline_wire::Endpoint;

fn side(media: Endpoint, signals: &str, tag: &'static str) -> Side {
    Side { signals: end(signals), tag, sdp: audio(media) }
}

/// Both legs from 0 to 12 s, and so long after the first BYE another call with the callee's port.
fn read(callers: &str, callees: &str, again_ms: i64) -> Vec<(String, usize, String)> {
    let (caller, callee, third) = (end(callers), end(callees), end("198.51.100.77:4400"));
    let agent = ["192.0.2.5:5060", "192.0.2.5:5070"];
    let first = [side(caller, "192.0.2.10:5060", "a"), side(callee, agent[0], "b")];
    let second = [side(caller, agent[1], "c"), side(callee, "203.0.113.9:5060", "d")];
    let later = [side(third, "198.51.100.77:5060", "e"), side(callee, "203.0.113.9:5060", "f")];
    let mut tape = Tape::default();
    for (at_ms, id, [from, to]) in [(0, "one", &first), (10, "two", &second), (12_000 + again_ms, "three", &later)] {
        tape.call(at_ms, id, [from, to]);
        tape.bye(at_ms + 12_000, id, [from, to]);
    }
    tape.media((2_050, 12_000), 1, |o| udp(caller, callee, o));
    tape.media((2_050, 12_000), 2, |o| udp(callee, caller, o));
    tape.media((14_050 + again_ms, 24_000 + again_ms), 3, |o| udp(third, callee, o));
    tape.media((14_050 + again_ms, 24_000 + again_ms), 4, |o| udp(callee, third, o));
    let (rows, _) = tape.read();
    names_what_it_shares(&rows.calls);
    rows.calls.iter().map(|c| (c.sip_call_id.clone(), streams(c).len(), kind(c).to_owned())).collect()
}

/// The second leg names the first one's streams, each from its own sides, and no other call names any.
fn names_what_it_shares(calls: &[Call]) {
    let named = |id: &str| calls.iter().find(|c| c.sip_call_id == id).unwrap();
    let (one, two) = (named("one"), named("two"));
    let mut streams: Vec<_> = one.streams.iter().map(|s| (one.id, s.id, s.direction)).collect();
    streams.sort_unstable_by_key(|(call, stream, _)| (*call, *stream));
    let shared: Vec<_> = two.shared.iter().map(|s| (s.call, s.stream, s.sender)).collect();
    assert_eq!(shared, streams);
    assert!(one.shared.is_empty() && named("three").shared.is_empty());
    assert!(checked(two).checked.contains(&format!("RTP of both directions (kept with call {})", one.id)));
}

#[test]
fn a_leg_is_not_silent_when_its_ports_are_in_use_again_before_it_is_closed() {
    for (caller, callee) in [("192.0.2.10:4000", "203.0.113.9:5000"), ("[2001:db8:1::1]:4000", "[2001:db8:2::1]:5000")]
    {
        // A call lingers for five seconds after the answer to its BYE.
        for again_ms in [20, 1_000, 3_600, 4_900, 7_000] {
            let mut calls = read(caller, callee, again_ms);
            calls.sort();
            let expected = [("one", 2, ""), ("three", 2, ""), ("two", 0, "")];
            assert_eq!(calls, expected.map(|(id, n, kind)| (id.to_owned(), n, kind.to_owned())), "{caller} {again_ms}");
        }
    }
}

/// Two legs from 0 s to `until_ms`: what each side of the conversation names on its own leg and on the other one, and
/// which leg is ended first.
struct Legs {
    caller: [Endpoint; 2],
    callee: [Endpoint; 2],
    until_ms: i64,
    second_first: bool,
}

impl Legs {
    fn of(caller: &str, callee: &str) -> Legs {
        let (caller, callee) = (end(caller), end(callee));
        Legs { caller: [caller; 2], callee: [callee; 2], until_ms: 14_000, second_first: false }
    }

    /// The calls' signalling, with these identifiers.
    fn signal(&self, tape: &mut Tape, at_ms: i64, ids: [&str; 2], ends: bool) {
        let ([caller, to_callee], [callee, to_caller]) = (self.caller, self.callee);
        let at = |e: Endpoint| Endpoint::new(e.address, 5060);
        let side = |media, signals, tag| Side { signals, tag, sdp: audio(media) };
        let agent = end(if caller.address.is_v4() { "192.0.2.5:5060" } else { "[2001:db8:5::5]:5060" });
        // Who signals does so from the address of its audio as it is seen from outside.
        let first = [side(caller, at(to_callee), "a"), side(to_caller, agent, "b")];
        let second = [side(to_callee, agent, "c"), side(callee, at(to_caller), "d")];
        let order = if self.second_first { [30, 0] } else { [0, 30] };
        for ((id, [a, b]), (begin_ms, end_ms)) in
            ids.into_iter().zip([&first, &second]).zip([(0, order[0]), (10, order[1])])
        {
            tape.call(at_ms + begin_ms, id, [a, b]);
            if ends {
                tape.bye(at_ms + self.until_ms + end_ms, id, [a, b]);
            }
        }
    }
}

/// By Call-ID: its verdict's kind and text.
fn told(tape: Tape) -> Vec<(String, String, String)> {
    let (rows, _) = tape.read();
    let mut told: Vec<_> =
        rows.calls.iter().map(|c| (c.sip_call_id.clone(), kind(c).to_owned(), says(c).to_owned())).collect();
    told.sort();
    told
}

fn kinds(told: &[(String, String, String)]) -> Vec<&str> {
    told.iter().map(|(_, kind, _)| kind.as_str()).collect()
}

/// sngrep#146, livekit/sip#624: who looks for the Call-ID of the trunk found a clean call, as the streams are kept with
/// the leg of the phone.
#[test]
fn what_is_wrong_with_common_media_is_said_on_both_legs() {
    for (caller, callee) in [("192.0.2.10:4000", "203.0.113.9:5000"), ("[2001:db8:1::1]:4000", "[2001:db8:2::2]:30000")]
    {
        for second_first in [false, true] {
            for stops_ms in [4_000, 7_500] {
                let mut legs = Legs { second_first, ..Legs::of(caller, callee) };
                for (lost, expected) in [(0, "one-way-audio"), (12, "loss")] {
                    legs.until_ms = 14_000 + stops_ms;
                    let (mut tape, [a, b]) = (Tape::default(), [legs.caller[0], legs.callee[0]]);
                    legs.signal(&mut tape, 0, ["one", "two"], true);
                    let until_ms = if lost == 0 { stops_ms } else { legs.until_ms };
                    tape.media((2_050, legs.until_ms), 1, |o| udp(a, b, o));
                    tape.media((2_060, until_ms), 2, |o| udp(b, a, o));
                    let mut sent = 0;
                    tape.0.retain(|(_, packet)| {
                        sent += usize::from(packet.ends_with(&[0xd5; 160]));
                        lost == 0 || !packet.ends_with(&[0xd5; 160]) || sent % lost > 0
                    });
                    let told = told(tape);
                    assert_eq!(kinds(&told), [expected; 2], "{second_first} {stops_ms} {told:?}");
                    let same =
                        told[0].2.split(" after the answer").last() == told[1].2.split(" after the answer").last();
                    assert!(same, "{told:?}");
                }
            }
        }
    }
}

/// eigger/hass-sip#48, livekit/sip#624: the user agent writes the address of a translator into the other leg, with the
/// port that the phone said, and the translator has another one.
#[test]
fn a_leg_has_its_part_in_media_whose_port_a_translator_changed() {
    let (private, public, seen) = ("192.168.1.20:4000", "203.0.113.7:4000", "203.0.113.7:45000");
    for callee_behind in [false, true] {
        for second_first in [false, true] {
            for silent in [None, Some(0), Some(1)] {
                let mut legs = Legs { second_first, ..Legs::of("192.0.2.10:6000", "198.51.100.20:6000") };
                let named = [private, public].map(end);
                let ends = if callee_behind {
                    legs.callee = named;
                    [legs.caller[0], end(seen)]
                } else {
                    legs.caller = named;
                    [end(seen), legs.callee[0]]
                };
                let mut tape = Tape::default();
                legs.signal(&mut tape, 0, ["one", "two"], true);
                for (party, way) in [(0, [0, 1]), (1, [1, 0])] {
                    let until_ms = if silent == Some(party) { 6_000 } else { 14_000 };
                    tape.media((2_060, until_ms), 1 + party, |o| udp(ends[way[0]], ends[way[1]], o));
                }
                let told = told(tape);
                let expected = if silent.is_some() { "one-way-audio" } else { "" };
                assert_eq!(kinds(&told), [expected; 2], "{callee_behind} {silent:?} {told:?}");
            }
        }
    }
}

/// The BYE of both legs was not seen, and the phones talk again: what was before is no part of it.
#[test]
fn translated_media_of_a_later_call_is_not_shared_with_an_earlier_one() {
    for again_ms in [1_000, 20_000] {
        let legs = Legs {
            caller: ["192.168.1.20:4000", "203.0.113.7:4000"].map(end),
            ..Legs::of("192.0.2.1:1", "198.51.100.20:6000")
        };
        let (seen, callee, begin_ms) = (end("203.0.113.7:45000"), legs.callee[0], 14_000 + again_ms);
        let mut tape = Tape::default();
        legs.signal(&mut tape, 0, ["one", "two"], false);
        legs.signal(&mut tape, begin_ms, ["three", "two again"], true);
        tape.media((2_060, 14_000), 1, |o| udp(seen, callee, o));
        tape.media((2_060, 14_000), 2, |o| udp(callee, seen, o));
        tape.media((begin_ms + 2_060, begin_ms + 14_000), 3, |o| udp(seen, callee, o));
        let told = told(tape);
        let of_later: Vec<_> =
            told.iter().filter(|(id, ..)| id.starts_with("three") || id.ends_with("again")).collect();
        assert!(of_later.iter().all(|(_, kind, _)| kind == "one-way-audio"), "{told:?}");
        let of_earlier: Vec<_> = told.iter().filter(|(id, ..)| id == "one" || id == "two").collect();
        assert!(of_earlier.iter().all(|(_, kind, _)| kind.is_empty()), "{told:?}");
    }
}

/// Translators change the ports of both phones: neither leg names an end of what is sent. That passes this tap, and so
/// neither is silent; streams of other hosts and of other times say nothing about these.
#[test]
fn media_whose_ports_both_translators_changed_makes_no_leg_silent() {
    let both = |second_first| Legs {
        caller: ["192.168.1.20:4000", "203.0.113.7:4000"].map(end),
        callee: ["192.168.9.9:6000", "198.51.100.20:6000"].map(end),
        second_first,
        ..Legs::of("192.0.2.1:1", "192.0.2.2:1")
    };
    let read = |second_first, [a, b]: [&str; 2], (from_ms, until_ms), and_back| {
        let (legs, [a, b]) = (both(second_first), [end(a), end(b)]);
        let mut tape = Tape::default();
        legs.signal(&mut tape, 60_000, ["one", "two"], true);
        tape.media((from_ms, until_ms), 1, |o| udp(a, b, o));
        if and_back {
            tape.media((from_ms, until_ms), 2, |o| udp(b, a, o));
        }
        // Their networks pass this tap in any case.
        for (of, from_ms) in [(a, 1_000), (b, 1_040)] {
            tape.media((from_ms, 3_000), 3, |o| udp(Endpoint { port: 30_000, ..of }, end("192.0.2.99:3000"), o));
        }
        told(tape)
    };
    for second_first in [false, true] {
        for ends in [["203.0.113.7:45000", "198.51.100.20:46000"], ["203.0.113.7:1200", "198.51.100.20:65000"]] {
            let told = read(second_first, ends, (62_060, 74_000), true);
            assert_eq!(kinds(&told), ["media-not-captured"; 2], "{told:?}");
            assert!(told[0].2.contains(&format!("from {} to {}", ends[0], ends[1])), "{told:?}");
            // Before the call, after it, and of other hosts of these networks.
            for span_ms in [(20_000, 59_000), (90_000, 99_000)] {
                let told = read(second_first, ends, span_ms, true);
                assert_eq!(kinds(&told), ["no-audio"; 2], "{span_ms:?} {told:?}");
            }
            let other = [ends[0], "198.51.100.21:46000"];
            assert_eq!(kinds(&read(second_first, other, (62_060, 74_000), true)), ["no-audio"; 2]);
        }
    }
}

/// Between servers that no translator hides there are streams of calls whose signalling takes another way: they say
/// nothing of one that is silent.
#[test]
fn streams_of_other_calls_between_the_same_servers_excuse_nobody() {
    for (until_ms, expected) in [([0, 0], "no-audio"), ([14_000, 0], "one-way-audio"), ([14_000, 14_000], "")] {
        let (a, b) = (end("203.0.113.2:34000"), end("198.51.100.10:36000"));
        let [one, other] = [side(a, "203.0.113.2:5060", "a"), side(b, "198.51.100.10:5060", "b")];
        let mut tape = Tape::default();
        tape.call(0, "one", [&one, &other]);
        tape.media((2_050, until_ms[0]), 1, |o| udp(a, b, o));
        tape.media((2_050, until_ms[1]), 2, |o| udp(b, a, o));
        for (ssrc, from, to) in [(3, a, b), (4, b, a)] {
            let at = |e: Endpoint| Endpoint { port: e.port + 2_000, ..e };
            tape.media((3_000, 10_000), ssrc, |o| udp(at(from), at(to), o));
        }
        tape.bye(14_000, "one", [&one, &other]);
        let (call, ..) = tape.call_of();
        assert_eq!(kind(&call), expected, "{until_ms:?} {}", says(&call));
    }
}

/// The callee's port is forwarded to it, and what it sends comes from another one: the caller is heard by SDP, and the
/// callee's audio goes between ports that nobody named. Or both begin to send so in the middle.
#[test]
fn audio_from_a_port_that_nobody_named_is_not_missed() {
    let (a, b) = (end("203.0.113.7:45000"), end("198.51.100.20:46000"));
    for (named_ms, stray_ms, expected) in [
        ([14_000, 2_060], Some(2_060), "media-not-captured"),
        ([14_000, 2_060], None, "one-way-audio"),
        ([14_000, 6_000], Some(6_020), ""),
        ([14_000, 6_000], None, "one-way-audio"),
        ([6_000, 6_000], Some(6_020), ""),
    ] {
        let phone = Side { signals: end("203.0.113.7:5060"), tag: "a", sdp: audio(end("192.168.1.20:4000")) };
        let other = Side { signals: end("198.51.100.20:5060"), tag: "b", sdp: audio(end("198.51.100.20:6000")) };
        let mut tape = Tape::default();
        tape.call(0, "one", [&phone, &other]);
        tape.media((2_050, named_ms[0]), 1, |o| udp(a, end("198.51.100.20:6000"), o));
        tape.media((2_050, named_ms[1]), 2, |o| udp(end("198.51.100.20:6000"), a, o));
        for (from, to, ssrc) in [(b, a, 2), (a, b, 1)] {
            let from_ms = stray_ms.filter(|_| ssrc == 2 || named_ms[0] < 14_000).unwrap_or(14_000);
            tape.media((from_ms, 14_000), ssrc, |o| udp(from, to, o));
        }
        tape.bye(14_000, "one", [&phone, &other]);
        let (call, ..) = tape.call_of();
        assert_eq!(kind(&call), expected, "{named_ms:?} {stray_ms:?} {}", says(&call));
    }
}

/// Asterisk#1158: the caller answers the re-INVITE for direct media with another port, and the callee is not told. Both
/// hear of whom it is that hears nothing; on no leg is it the callee.
#[test]
fn who_moves_to_another_port_on_one_leg_is_heard_on_the_other_one() {
    for (first, moved) in [("192.0.2.10:4000", "192.0.2.10:4444"), ("[2001:db8:1::1]:4000", "[2001:db8:1::1]:4010")] {
        let callee = end(if moved.starts_with('[') { "[2001:db8:2::2]:6000" } else { "203.0.113.9:6000" });
        let agent = |port| {
            Endpoint::new(end(if moved.starts_with('[') { "[2001:db8:5::5]:1" } else { "192.0.2.5:1" }).address, port)
        };
        let (first, moved) = (end(first), end(moved));
        let signals = |of: Endpoint| Endpoint::new(of.address, 5060).to_string();
        let one = [side(first, &signals(first), "a"), side(agent(20_000), &signals(agent(1)), "b")];
        let two = [side(agent(20_010), &signals(agent(1)), "c"), side(callee, &signals(callee), "d")];
        let with = |of: &Side, media: Endpoint| Side { sdp: audio(media), ..of.clone() };
        let mut tape = Tape::default();
        for (at_ms, id, [from, to]) in [(0, "one", &one), (5, "two", &two)] {
            tape.call(at_ms, id, [from, to]);
            tape.bye(at_ms + 40_000, id, [from, to]);
        }
        tape.change(5_000, "two", [&with(&two[0], first), &two[1]]);
        // The agent asks the caller.
        let dialog = ("one", ["b", "a"]);
        tape.sip(5_005, [&one[1], &one[0]], "INVITE sip:a@x SIP/2.0", dialog, "3 INVITE", &audio(callee));
        tape.sip(5_020, [&one[0], &one[1]], "SIP/2.0 200 OK", dialog, "3 INVITE", &audio(moved));
        tape.sip(5_040, [&one[1], &one[0]], "ACK sip:a@x SIP/2.0", dialog, "3 ACK", "");
        for (ssrc, from, to) in [(1, first, agent(20_000)), (3, agent(20_010), callee)] {
            tape.media((2_050, 5_000), ssrc, |o| udp(from, to, o));
            tape.media((2_050, 5_000), ssrc + 1, |o| udp(to, from, o));
        }
        tape.media((5_080, 40_000), 5, |o| udp(moved, callee, o));
        tape.media((5_080, 40_000), 6, |o| udp(callee, first, o));
        let told = told(tape);
        assert_eq!(told[0].1, "one-way-audio", "{told:?}");
        assert!(told.iter().all(|(.., text)| text.is_empty() || text.contains("the caller did not hear")), "{told:?}");
    }
}
