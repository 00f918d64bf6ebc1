//! Calls as people report them of comparable products, each with its truth: what their descriptions say and leave out.
//! The reports are named beside each.

use crate::tape::{Side, Tape, audio, end, kind, rtp, says, sdp, udp};
use trunkline_store::row::{Call, Direction};
use trunkline_wire::Endpoint;

const INVITE: &str = "INVITE sip:b@x SIP/2.0";
const A: &str = "192.0.2.10:4000";
const B: &str = "198.51.100.20:6000";

fn side(signals: &str, tag: &'static str, sdp: String) -> Side {
    Side { signals: end(signals), tag, sdp }
}

fn sides(answer: String) -> [Side; 2] {
    [side("192.0.2.10:5060", "a", audio(end(A))), side("198.51.100.20:5060", "b", answer)]
}

/// Packets of a payload type, one each 20 ms.
fn typed(tape: &mut Tape, span_ms: (i64, i64), ssrc: u32, kind: u8, [from, to]: [&str; 2]) {
    for at_ms in (span_ms.0..span_ms.1).step_by(20) {
        let mut packet = rtp(ssrc, (at_ms / 20) as u16);
        packet[1] = kind;
        tape.udp(at_ms, end(from), end(to), &packet);
    }
}

/// FreeSWITCH #66 and others: a 200 OK without a session description, or one that refuses all media.
#[test]
fn an_offer_without_an_answer_is_no_audio() {
    let refuses = "v=0\no=- 1 1 IN IP4 198.51.100.20\ns=-\nc=IN IP4 198.51.100.20\nt=0 0\nm=audio 0 RTP/AVP 0\n";
    for (answer, provisional, text) in [
        ("", "", "the 200 of 198.51.100.20:5060 has no session description"),
        (refuses, "", "the answer of 198.51.100.20:5060 refuses all media"),
        // Refused at first, then taken; described before it was answered.
        ("", "sdp", ""),
        ("sdp", refuses, ""),
    ] {
        let full = |text: &str| if text == "sdp" { audio(end(B)) } else { text.to_owned() };
        let [a, b] = &sides(full(answer));
        let mut tape = Tape::default();
        tape.sip(0, [a, b], INVITE, ("d1", [a.tag, ""]), "1 INVITE", &a.sdp);
        let line = "SIP/2.0 183 Session Progress";
        tape.sip(100, [b, a], line, ("d1", [a.tag, "b"]), "1 INVITE", &full(provisional));
        tape.sip(2_000, [b, a], "SIP/2.0 200 OK", ("d1", [a.tag, "b"]), "1 INVITE", &b.sdp);
        tape.sip(2_020, [a, b], "ACK sip:b@x SIP/2.0", ("d1", [a.tag, "b"]), "1 ACK", "");
        if text.is_empty() {
            tape.media((2_040, 20_000), 1, |o| udp(end(A), end(B), o));
        }
        tape.media((2_040, 20_000), 2, |o| udp(end(B), end(A), o));
        // Without a description its audio is heard by chance: without it nothing is.
        if !text.is_empty() {
            tape.0.retain(|(_, packet)| {
                packet.len() < 200 || packet[12..16] != [198, 51, 100, 20] || packet[20..22] != [23, 112]
            });
        }
        tape.bye(20_000, "d1", [a, b]);
        let (call, ..) = tape.call_of();
        assert_eq!(kind(&call), if text.is_empty() { "" } else { "no-audio" }, "{}", says(&call));
        assert!(says(&call).contains(text), "{}", says(&call));
    }
}

#[test]
fn what_is_heard_all_the_same_or_may_have_been_described_is_no_fault() {
    for reliable in [true, false] {
        let [a, b] = &sides(String::new());
        let mut tape = Tape::default();
        tape.call(0, "d1", [a, b]);
        if reliable {
            // The 183 that it is about was not captured.
            tape.sip(500, [a, b], "PRACK sip:b@x SIP/2.0", ("d1", [a.tag, "b"]), "2 PRACK", "");
            tape.sip(520, [b, a], "SIP/2.0 200 OK", ("d1", [a.tag, "b"]), "2 PRACK", "");
        } else {
            tape.media((2_040, 20_000), 2, |o| udp(end(B), end(A), o));
        }
        tape.bye(20_000, "d1", [a, b]);
        let (call, ..) = tape.call_of();
        assert_eq!(kind(&call), "", "{}", says(&call));
    }
}

/// The verdict on a call whose answer at 10 s leaves PCMU alone, while the caller sends PCMA up to `until_ms`.
fn taken_away(until_ms: i64, answer: &str) -> Call {
    let both = |media| sdp(end(media), "audio RTP/AVP 0 8", &[]);
    let [a, b] = &[side("192.0.2.10:5060", "a", both(A)), side("198.51.100.20:5060", "b", both(B))];
    let mut tape = Tape::default();
    tape.call(0, "d1", [a, b]);
    let narrow = |media| sdp(end(media), &format!("audio RTP/AVP {answer}"), &[]);
    let again = [Side { sdp: narrow(A), ..a.clone() }, Side { sdp: narrow(B), ..b.clone() }];
    tape.change(10_000, "d1", [&again[0], &again[1]]);
    typed(&mut tape, (2_040, until_ms), 1, 8, [A, B]);
    typed(&mut tape, (until_ms, 40_000), 1, 0, [A, B]);
    typed(&mut tape, (2_040, 40_000), 2, 0, [B, A]);
    tape.bye(40_000, "d1", [a, b]);
    tape.call_of().0
}

#[test]
fn a_codec_that_an_answer_takes_away_is_a_mismatch_from_then_on() {
    let call = taken_away(40_000, "0");
    assert_eq!(kind(&call), "codec-mismatch");
    let text = "The caller goes on to send payload type 8 (PCMA), which the answer 8.0 s after the first one does not \
                accept any more.";
    assert_eq!(says(&call), text);
    for (until_ms, answer) in [(10_040, "0"), (14_000, "0"), (40_000, "0 8"), (40_000, "8 0")] {
        let call = taken_away(until_ms, answer);
        assert_eq!(kind(&call), "", "{until_ms} {answer}: {}", says(&call));
    }
}

/// livekit/sip#603: the answer is what was offered, with the caller's own address. What comes there is the callee's.
#[test]
fn an_answer_that_repeats_the_offers_address_blames_the_right_side() {
    for (a, b) in [(A, B), ("[2001:db8::1]:4000", "[2001:db8:2::2]:6000")] {
        for caller_heard in [false, true] {
            let signals = |of: &str| Endpoint::new(end(of).address, 5060).to_string();
            let sides = [side(&signals(a), "a", audio(end(a))), side(&signals(b), "b", audio(end(a)))];
            let mut tape = Tape::default();
            tape.call(0, "d1", [&sides[0], &sides[1]]);
            typed(&mut tape, (2_040, 20_000), 2, 0, [b, a]);
            if caller_heard {
                // It follows where the other one's audio comes from.
                typed(&mut tape, (2_100, 20_000), 1, 0, [a, b]);
            }
            tape.bye(20_000, "d1", [&sides[0], &sides[1]]);
            let (call, ..) = tape.call_of();
            let by = |from: &str| call.streams.iter().find(|s| s.src == end(from)).map(|s| s.direction);
            assert_eq!(by(b), Some(Direction::Callee));
            assert_eq!(by(a), caller_heard.then_some(Direction::Caller));
            let expected = if caller_heard { "" } else { "one-way-audio" };
            assert_eq!(kind(&call), expected, "{}", says(&call));
            let told = format!(
                "only the callee could be heard; in 18.0 s the caller sent no packet. The SDP of both sides \
                                asks for audio at {a}"
            );
            assert!(caller_heard || says(&call).contains(&told), "{}", says(&call));
        }
    }
}

/// A relay has one port for all that comes to it, on both its hops: both sides name it.
#[test]
fn a_relay_that_both_sides_name_is_neither_of_them() {
    let relay = "203.0.113.9:5000";
    for silent in [None, Some(0), Some(1)] {
        let [a, b] = sides(audio(end(B)));
        let proxy = |tag| side("203.0.113.9:5060", tag, audio(end(relay)));
        let mut tape = Tape::default();
        // One Call-ID on both hops.
        tape.call(0, "d2", [&a, &proxy("b")]);
        tape.call(5, "d2", [&proxy("a"), &b]);
        for (ssrc, from, to) in [(1, A, B), (2, B, A)] {
            let until_ms = if silent == Some(ssrc - 1) { 8_000 } else { 20_000 };
            typed(&mut tape, (2_040, until_ms), ssrc, 0, [from, relay]);
            typed(&mut tape, (2_042, until_ms), ssrc, 0, [relay, to]);
        }
        tape.bye(20_000, "d2", [&a, &proxy("b")]);
        let (call, ..) = tape.call_of();
        for s in &call.streams {
            assert_eq!(s.direction as u32, s.ssrc, "{} > {}", s.src, s.dst);
        }
        let expected = if silent.is_some() { "one-way-audio" } else { "" };
        assert_eq!(kind(&call), expected, "{silent:?} {}", says(&call));
        let deaf = if silent == Some(0) { "the callee did not hear" } else { "the caller did not hear" };
        assert!(silent.is_none() || says(&call).contains(deaf), "{}", says(&call));
    }
}

/// A name in `c=` is the host that the description comes from, if media goes there; or it is another one. Where none is
/// seen, it is not known where it was to go.
#[test]
fn a_name_for_an_address_is_the_host_that_says_it() {
    for (a, b, elsewhere) in
        [(A, B, "198.51.100.77:6000"), ("[2001:db8::1]:4000", "[2001:db8:2::2]:6000", "[2001:db8:2::77]:6000")]
    {
        let named =
            |of: &str, name: &str| audio(end(of)).replace(&format!("{}\nt=", end(of).address), &format!("{name}\nt="));
        let signals = |of: &str| Endpoint::new(end(of).address, 5060).to_string();
        for (both, at, silent, expected) in [
            (false, b, None, ""),
            (true, b, None, ""),
            (false, b, Some(2), "one-way-audio"),
            (false, b, Some(1), "one-way-audio"),
            (true, b, Some(2), "one-way-audio"),
            (false, elsewhere, None, ""),
            (false, elsewhere, Some(2), "one-way-audio"),
            (false, elsewhere, Some(1), "one-way-audio"),
            // Neither is seen: it is not known where it was to go.
            (false, b, Some(3), ""),
            (true, b, Some(3), ""),
        ] {
            let offer = if both { named(a, "phone.example.com") } else { audio(end(a)) };
            assert_eq!(offer.contains("phone.example.com"), both);
            let sides = [side(&signals(a), "a", offer), side(&signals(b), "b", named(b, "media.example.com"))];
            let mut tape = Tape::default();
            tape.call(0, "d3", [&sides[0], &sides[1]]);
            for (ssrc, way) in [(1, [a, at]), (2, [at, a])] {
                if silent.is_none_or(|silent| silent & ssrc == 0) {
                    typed(&mut tape, (2_040, 20_000), ssrc, 0, way);
                }
            }
            // Others of both networks are heard.
            for (of, last) in [(a, 200), (b, 201)] {
                let of = of
                    .replace("10:", "200:")
                    .replace("20:", "200:")
                    .replace("::1]", "::200]")
                    .replace("::2]", "::200]");
                let to = if of.starts_with('[') { "[2001:db8:9::9]:3000" } else { "203.0.113.9:3000" };
                tape.media((1_000, 4_000), last, |o| udp(end(&of), end(to), o));
            }
            tape.bye(20_000, "d3", [&sides[0], &sides[1]]);
            let (call, ..) = tape.call_of();
            assert_eq!(kind(&call), expected, "{both} {at} {silent:?} {}", says(&call));
            assert!(call.streams.iter().all(|s| s.direction as u32 == s.ssrc), "{both} {at} {silent:?}");
        }
    }
}

/// RFC 6263 section 4.6: a keep-alive is a packet without content of a type that nobody named, in the stream or beside
/// it.
#[test]
fn keep_alives_of_an_unknown_type_are_no_codec() {
    for (ssrc, payload_type, octets, expected) in
        [(1, 20, 0, ""), (9, 20, 0, ""), (9, 127, 0, ""), (9, 97, 0, ""), (9, 20, 160, "codec-mismatch")]
    {
        let [a, b] = &sides(audio(end(B)));
        let mut tape = Tape::default();
        tape.call(0, "d1", [a, b]);
        typed(&mut tape, (2_040, 32_000), 1, 0, [A, B]);
        typed(&mut tape, (2_060, 32_000), 2, 0, [B, A]);
        for (n, at_ms) in (3_000..32_000).step_by(500).enumerate() {
            let number = if ssrc == 1 { at_ms / 20 } else { n as i64 };
            let mut packet = rtp(ssrc, number as u16);
            packet[1] = payload_type;
            packet.truncate(12 + octets);
            tape.udp(at_ms + 7, end(A), end(B), &packet);
        }
        tape.bye(32_000, "d1", [a, b]);
        let (call, ..) = tape.call_of();
        assert_eq!(kind(&call), expected, "{ssrc} {payload_type} {}", says(&call));
    }
}
