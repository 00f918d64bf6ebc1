//! Calls as people report them of comparable products, each with its truth: media. The reports are named beside each.

use crate::tape::{Side, Tape, audio, end, icmp, kind, rtp, says, sdp, udp};
use trunkline_store::row::{Call, Direction};
use trunkline_wire::Endpoint;

const A: &str = "192.0.2.10:4000";
const B: &str = "198.51.100.20:6000";

fn side(signals: &str, media: &str, tag: &'static str) -> Side {
    Side { signals: end(signals), tag, sdp: audio(end(media)) }
}

fn sides() -> [Side; 2] {
    [side("192.0.2.10:5060", A, "a"), side("198.51.100.20:5060", B, "b")]
}

/// An offer within the dialog and its answer, with these sections.
fn change(tape: &mut Tape, at_ms: i64, cseq: u32, [a, b]: [&Side; 2], [offer, answer]: [&str; 2]) {
    let (dialog, cseq_of) = (("f1", [a.tag, b.tag]), |method: &str| format!("{cseq} {method}"));
    tape.sip(at_ms, [a, b], "INVITE sip:b@x SIP/2.0", dialog, &cseq_of("INVITE"), offer);
    tape.sip(at_ms + 50, [b, a], "SIP/2.0 200 OK", dialog, &cseq_of("INVITE"), answer);
    tape.sip(at_ms + 80, [a, b], "ACK sip:b@x SIP/2.0", dialog, &cseq_of("ACK"), "");
}

/// Packets of a stream from a number on, one each 20 ms.
fn stream(tape: &mut Tape, span_ms: (i64, i64), ssrc: u32, number: i64, way: [&str; 2]) {
    let [from, to] = way.map(end);
    for (n, at_ms) in (span_ms.0..span_ms.1).step_by(20).enumerate() {
        let number = number + n as i64;
        let mut packet = rtp(ssrc, number as u16);
        packet[4..8].copy_from_slice(&((number * 160) as u32).to_be_bytes());
        tape.udp(at_ms + i64::from(ssrc), from, to, &packet);
    }
}

/// A call through a proxy that asks on with a branch of its own; the answer is at 2 s.
fn through_proxy(tape: &mut Tape, [caller, proxy]: [&Side; 2], [inner, callee]: [&Side; 2]) {
    let (begins, dialog) = (("f1", [caller.tag, ""]), ("f1", [caller.tag, callee.tag]));
    let on = |tape: &mut Tape| {
        let (_, packet) = tape.0.last_mut().unwrap();
        let branch = b"z9hG4bKf1";
        let at = packet.windows(branch.len()).position(|part| part == branch).unwrap();
        packet[at + 7] = b'p';
    };
    let invite = "INVITE sip:b@x SIP/2.0";
    tape.sip(0, [caller, proxy], invite, begins, "1 INVITE", &caller.sdp);
    tape.sip(10, [inner, callee], invite, begins, "1 INVITE", &inner.sdp);
    on(tape);
    for (at_ms, line, body) in [(100, "180 Ringing", false), (2_000, "200 OK", true)] {
        let line = format!("SIP/2.0 {line}");
        tape.sip(at_ms, [callee, inner], &line, dialog, "1 INVITE", if body { &callee.sdp } else { "" });
        on(tape);
        tape.sip(at_ms + 10, [proxy, caller], &line, dialog, "1 INVITE", if body { &proxy.sdp } else { "" });
    }
    tape.sip(2_020, [caller, proxy], "ACK sip:b@x SIP/2.0", dialog, "1 ACK", "");
    tape.sip(2_030, [inner, callee], "ACK sip:b@x SIP/2.0", dialog, "1 ACK", "");
    on(tape);
}

fn told(call: &Call) -> (&str, &str) {
    (kind(call), says(call))
}

/// rtpengine#1080, livekit/sip#687: a server sends to the private address in a phone's SDP.
#[test]
fn audio_that_goes_to_a_private_address_is_not_heard() {
    let private = "192.168.1.20:11780";
    let call = |server_calls: bool, phone: &str, to_phone: &[(&str, (i64, i64))]| {
        let [phone_side, server] =
            [side("203.0.113.7:5060", private, "a"), side("192.0.2.50:5060", "192.0.2.50:16400", "b")];
        let parties = if server_calls { [&server, &phone_side] } else { [&phone_side, &server] };
        let mut tape = Tape::default();
        tape.call(0, "f1", parties);
        stream(&mut tape, (2_040, 30_000), 1, 0, [phone, "192.0.2.50:16400"]);
        for (to, span) in to_phone {
            stream(&mut tape, *span, 2, span.0 / 20, ["192.0.2.50:16400", to]);
        }
        tape.bye(30_020, "f1", parties);
        tape.call_of().0
    };
    let public = "203.0.113.7:51234";
    for server_calls in [false, true] {
        let found = call(server_calls, public, &[(private, (2_040, 30_000))]);
        let (kind, text) = told(&found);
        assert!(kind == "one-way-audio" && text.contains("NAT that nobody corrected"), "{text}");
        assert!(text.contains(private) && text.contains(public), "{text}");
        assert!(text.contains(if server_calls { "the callee heard nothing" } else { "the caller heard nothing" }));
        // The server learns where the phone is; a tap on the router sees the packet before and behind it; a private
        // network that carries these addresses.
        for (from, to) in [
            (public, &[(private, (2_040, 3_000)), (public, (3_000, 30_000))][..]),
            (public, &[(private, (2_040, 30_000)), (public, (2_041, 30_001))]),
            (private, &[(private, (2_040, 30_000))]),
        ] {
            let good = call(server_calls, from, to);
            assert_eq!(told(&good), ("", ""), "{from}");
        }
    }
}

/// siphon-ai#417, rtpengine: numbers go on while a side is held, and nothing is sent.
#[test]
fn numbers_that_go_by_on_hold_are_not_missing() {
    for (offer, answer, plays) in
        [("inactive", "inactive", false), ("sendonly", "recvonly", true), ("sendonly", "recvonly", false)]
    {
        for held_ms in [6_000, 25_000, 50_000] {
            let [a, b] = &sides();
            let with = |media: &str, way: &str| sdp(end(media), "audio RTP/AVP 0", &[way]);
            let mut tape = Tape::default();
            tape.call(0, "f1", [a, b]);
            let back = 14_000 + held_ms;
            change(&mut tape, 14_000, 2, [a, b], [&with(A, offer), &with(B, answer)]);
            change(&mut tape, back, 3, [a, b], [&a.sdp, &b.sdp]);
            for (ssrc, way) in [(1, [A, B]), (2, [B, A])] {
                let goes_on = plays && ssrc == 1;
                stream(&mut tape, (2_040, if goes_on { back + 60 } else { 14_000 }), ssrc, 0, way);
                stream(&mut tape, (back + 60, back + 20_000), ssrc, (back + 60 - 2_040) / 20, way);
            }
            tape.bye(back + 20_000, "f1", [a, b]);
            let (call, ..) = tape.call_of();
            assert_eq!(told(&call), ("", ""), "{offer} {held_ms}");
            for s in &call.streams {
                assert_eq!((s.missing, s.expected, s.lost), (0, s.packets, 0), "{offer} {held_ms}");
                assert!(s.mos.g107.is_some_and(|mos| mos > 4.3), "{:?}", s.mos);
            }
            assert!(!call.capture.note.contains("saw nothing"), "{}", call.capture.note);
        }
    }
}

/// The capture's clock is set while nothing at all passes: the hold seems as long as the step, and its numbers few.
#[test]
fn a_clock_that_is_set_in_a_silent_hold_makes_no_loss() {
    for (way, back, held_ms, set_ms) in [
        ("inactive", "inactive", 6_000, 3_600_000),
        ("sendonly", "recvonly", 20_000, 600_000),
        ("inactive", "inactive", 12_000, 10_000_000),
    ] {
        for lost in [0, 12] {
            let [a, b] = &sides();
            let with = |media: &str, way: &str| sdp(end(media), "audio RTP/AVP 0", &[way]);
            let mut tape = Tape::default();
            tape.call(0, "f1", [a, b]);
            let goes_on_ms = 14_000 + held_ms;
            change(&mut tape, 14_000, 2, [a, b], [&with(A, way), &with(B, back)]);
            change(&mut tape, goes_on_ms, 3, [a, b], [&a.sdp, &b.sdp]);
            for (ssrc, way) in [(1, [A, B]), (2, [B, A])] {
                stream(&mut tape, (2_040, 14_000), ssrc, 0, way);
                stream(&mut tape, (goes_on_ms + 60, goes_on_ms + 20_000), ssrc, (goes_on_ms + 60 - 2_040) / 20, way);
            }
            tape.bye(goes_on_ms + 20_000, "f1", [a, b]);
            let mut sent = 0;
            tape.0.retain(|(_, packet)| {
                sent += usize::from(packet.ends_with(&[0xd5; 160]));
                lost == 0 || !packet.ends_with(&[0xd5; 160]) || sent % lost > 0
            });
            let set = tape.0.iter_mut().filter(|(at_us, _)| *at_us > (14_000 + held_ms / 2) * 1000);
            set.for_each(|(at_us, _)| *at_us += set_ms * 1000);
            let (call, ..) = tape.call_of();
            assert_eq!(told(&call).0, if lost == 0 { "" } else { "loss" }, "{way} {held_ms} {}", told(&call).1);
            assert!(call.streams.iter().all(|s| s.missing <= if lost == 0 { 0 } else { 275 }), "{way} {held_ms}");
        }
    }
}

/// media-core#133, sipsorcery#1303, pjproject#1112: a side that listens says that silence follows, and sends nothing.
#[test]
fn a_silence_that_is_announced_is_no_fault() {
    let judged = |payload_type: u8, last: &[u8]| {
        let [mut a, mut b] = sides();
        for side in [&mut a, &mut b] {
            side.sdp = side.sdp.replace("AVP 0", "AVP 0 18 13");
        }
        let mut tape = Tape::default();
        tape.call(0, "f1", [&a, &b]);
        let (speech, octets) = if payload_type == 13 { (0, 160) } else { (18, 20) };
        for n in 0..500i64 {
            let mut packet = rtp(1, n as u16)[..12 + octets].to_vec();
            packet[1] = speech;
            tape.udp(2_040 + n * 20, end(A), end(B), &packet);
        }
        let mut descriptor = rtp(1, 500)[..12].to_vec();
        descriptor[1] = payload_type;
        descriptor.extend(last);
        tape.udp(12_060, end(A), end(B), &descriptor);
        stream(&mut tape, (2_040, 80_000), 2, 0, [B, A]);
        tape.bye(80_000, "f1", [&a, &b]);
        told(&tape.call_of().0).0.to_owned()
    };
    assert_eq!([judged(13, &[40]), judged(18, &[1, 2]), judged(18, &[1; 12])], ["", "", ""]);
    // One that just stops did not say so.
    assert_eq!(judged(18, &[1; 20]), "one-way-audio");
}

/// sipdroid#414, izpbx#49, rtpengine#1818: a voice mail that records and a menu that waits for digits send nothing. Its
/// program's name tells a server; one that counts more packets than came by did send.
#[test]
fn a_server_that_records_or_waits_is_no_fault() {
    let judged = |server: &str, counts: &[(i64, u32)]| {
        let [a, b] = sides();
        let mut tape = Tape::default();
        let dialog = ("f1", [a.tag, b.tag]);
        tape.sip(0, [&a, &b], "INVITE sip:b@x SIP/2.0", ("f1", [a.tag, ""]), "1 INVITE", &a.sdp);
        tape.sip(2_000, [&b, &a], &format!("SIP/2.0 200 OK{server}"), dialog, "1 INVITE", &b.sdp);
        tape.sip(2_020, [&a, &b], "ACK sip:b@x SIP/2.0", dialog, "1 ACK", "");
        stream(&mut tape, (2_040, 50_000), 1, 0, [A, B]);
        stream(&mut tape, (2_040, 10_000), 2, 0, [B, A]);
        let control = |at: &str| Endpoint { port: end(at).port + 1, ..end(at) };
        for (at_ms, packets) in counts {
            let mut report = vec![0x80, 200, 0, 6, 0, 0, 0, 2];
            report.extend([0u8; 12]);
            report.extend(packets.to_be_bytes());
            report.extend((packets * 160).to_be_bytes());
            tape.udp(*at_ms, control(B), control(A), &report);
        }
        tape.bye(50_000, "f1", [&a, &b]);
        let call = tape.call_of().0;
        (kind(&call).to_owned(), says(&call).to_owned())
    };
    for server in
        ["\nServer: Asterisk PBX 18.16.0", "\nUser-Agent: FreeSWITCH-mod_sofia/1.10", "\nServer: FPBX-16.0.40"]
    {
        assert_eq!(judged(server, &[]).0, "", "{server}");
        assert_eq!(judged(server, &[(8_000, 298), (13_000, 398), (45_000, 398)]).0, "", "{server}");
        assert_eq!(judged(server, &[(8_000, 298), (45_000, 2_148)]).0, "one-way-audio", "{server}");
    }
    // A phone has no cause to be silent; its own count shows that nothing was lost on the way.
    for phone in ["", "\nServer: Yealink SIP-T46S"] {
        let (kind, says) = judged(phone, &[(8_000, 298), (45_000, 398)]);
        assert_eq!(kind, "one-way-audio");
        assert!(says.contains("it sent 398 packets, as many as came by: nothing was lost on the way"), "{says}");
        assert!(!judged(phone, &[(8_000, 298)]).1.contains("nothing was lost"));
    }
}

/// asterisk#1158, rtpengine#330, jambonz#123: a server that sends both phones to each other soon after the answer.
#[test]
fn media_that_leaves_the_tap_soon_is_not_captured() {
    let server = "192.0.2.50:10000";
    for moves_ms in [200, 400, 700, 1_000, 3_000] {
        let [a, b] = [side("192.0.2.10:5060", A, "a"), side("192.0.2.50:5060", server, "b")];
        let mut tape = Tape::default();
        tape.call(0, "f1", [&a, &b]);
        change(&mut tape, 2_040 + moves_ms, 2, [&b, &a], [&audio(end(B)), &a.sdp]);
        for (ssrc, way) in [(1, [A, server]), (2, [server, A])] {
            stream(&mut tape, (2_040, 2_040 + moves_ms), ssrc, 0, way);
        }
        tape.bye(60_000, "f1", [&a, &b]);
        let (call, ..) = tape.call_of();
        let (kind, text) = told(&call);
        assert!(matches!(kind, "" | "media-not-captured"), "{moves_ms}: {text}");
        assert!(moves_ms > 200 || text.contains("left this tap"), "{moves_ms}: {text}");
    }
}

/// pjproject#2659, SIP.js#311: a caller that goes on from another network.
#[test]
fn who_moves_to_another_host_is_followed() {
    let moved = "203.0.113.44:4500";
    let call = |goes_to: &str, held: bool| {
        let [a, b] = &sides();
        let there = side("203.0.113.44:5070", moved, "a");
        let mut tape = Tape::default();
        tape.call(0, "f1", [a, b]);
        change(&mut tape, 23_000, 2, [&there, b], [&there.sdp, &b.sdp]);
        if held {
            let with = |media: &str, way: &str| sdp(end(media), "audio RTP/AVP 0", &[way]);
            change(&mut tape, 40_000, 3, [&there, b], [&with(moved, "sendonly"), &with(B, "recvonly")]);
        }
        stream(&mut tape, (2_040, 20_000), 1, 0, [A, B]);
        stream(&mut tape, (23_200, 80_000), 1, 1_200, [moved, B]);
        let last = if held { 40_000 } else { 80_000 };
        stream(&mut tape, (2_040, 23_100), 2, 0, [B, A]);
        stream(&mut tape, (23_100, last), 2, 1_053, [B, goes_to]);
        tape.bye(80_000, "f1", [&there, b]);
        tape.call_of().0
    };
    assert_eq!(told(&call(moved, false)), ("", ""));
    assert_eq!(told(&call(moved, true)), ("", ""));
    let lost = call(A, false);
    let (kind, text) = told(&lost);
    assert!(kind == "one-way-audio" && text.contains(&format!("kept sending to {A}")), "{text}");
}

/// rtpengine#1208, rtpproxy#103: a port is in use again while the phone of the call before still sends.
#[test]
fn a_phone_that_goes_on_to_send_is_no_party_of_the_next_call() {
    let [old, server] = [side("192.0.2.10:5060", A, "a"), side("198.51.100.9:5060", "198.51.100.9:16400", "b")];
    let new = Side { tag: "c", ..side("203.0.113.8:5060", "203.0.113.8:5000", "c") };
    let at = "198.51.100.9:16400";
    for speaks in [true, false] {
        let mut tape = Tape::default();
        tape.call(0, "old", [&old, &server]);
        tape.bye(20_000, "old", [&old, &server]);
        stream(&mut tape, (2_040, 23_000), 1, 0, [A, at]);
        stream(&mut tape, (2_040, 20_000), 2, 0, [at, A]);
        tape.call(20_500, "new", [&new, &server]);
        if speaks {
            stream(&mut tape, (22_540, 50_000), 3, 0, ["203.0.113.8:5000", at]);
        }
        stream(&mut tape, (22_540, 50_000), 4, 0, [at, "203.0.113.8:5000"]);
        tape.bye(50_000, "new", [&new, &server]);
        let (rows, _) = tape.read();
        let next = rows.calls.iter().find(|call| call.sip_call_id == "new").unwrap();
        assert!(next.streams.iter().all(|s| s.ssrc > 2), "{:#?}", next.streams);
        assert_eq!(kind(next), if speaks { "" } else { "one-way-audio" }, "{}", says(next));
        assert!(!says(next).contains("stops there"), "{}", says(next));
    }
}

/// rtpengine#750, freeswitch#1717, OpenSIPS#954: a relay that stops, or never sends; proxy and server on one machine.
#[test]
fn a_relay_that_sends_nothing_on_is_named() {
    let call = |callee: &'static str, server: &str, relayed_ms: Option<i64>| {
        let (caller, proxy) = (side("192.0.2.10:5060", A, "a"), side("192.0.2.50:5060", "192.0.2.50:30010", "b"));
        let inner = side("192.0.2.50:5060", "192.0.2.50:30000", "a");
        let callee_side = side(server, callee, "b");
        let mut tape = Tape::default();
        through_proxy(&mut tape, [&caller, &proxy], [&inner, &callee_side]);
        for (ssrc, way) in
            [(1, [A, "192.0.2.50:30010"]), (1, ["192.0.2.50:30000", callee]), (2, [callee, "192.0.2.50:30000"])]
        {
            stream(&mut tape, (2_100, 40_000), ssrc, 0, way);
        }
        if let Some(until_ms) = relayed_ms {
            stream(&mut tape, (2_101, until_ms), 2, 0, ["192.0.2.50:30010", A]);
        }
        tape.bye(40_000, "f1", [&caller, &proxy]);
        tape.bye(40_010, "f1", [&inner, &callee_side]);
        tape.call_of().0
    };
    for (callee, server) in [(B, "198.51.100.20:5060"), ("192.0.2.50:12000", "192.0.2.50:5080")] {
        for (until_ms, text) in [(None, "sends nothing to"), (Some(14_100), "sends nothing more to")] {
            let found = call(callee, server, until_ms);
            let (kind, says) = told(&found);
            let relay = format!("192.0.2.50:30010 {text} {A}");
            assert!(kind == "one-way-audio" && says.contains(&relay), "{callee}: {says}");
        }
        assert_eq!(told(&call(callee, server, Some(40_000))), ("", ""), "{callee}");
    }
}

/// rtpengine#1329, #1517, #1970: a relay that sends nothing on to either side, from the answer on or later.
#[test]
fn a_relay_that_sends_nothing_on_to_either_is_named() {
    for (until_ms, kind_right, text) in [
        (2_000, "no-audio", "No audio: from 0.0 s to"),
        (14_100, "audio-stopped", "Audio of both sides stops: from 12."),
    ] {
        let (caller, proxy) = (side("192.0.2.10:5060", A, "a"), side("192.0.2.50:5060", "192.0.2.50:30010", "b"));
        let (inner, callee) = (side("192.0.2.50:5060", "192.0.2.50:30000", "a"), side("198.51.100.20:5060", B, "b"));
        let mut tape = Tape::default();
        through_proxy(&mut tape, [&caller, &proxy], [&inner, &callee]);
        for (ssrc, way) in [(1, [A, "192.0.2.50:30010"]), (2, [B, "192.0.2.50:30000"])] {
            stream(&mut tape, (2_100, 40_000), ssrc, 0, way);
        }
        for (ssrc, way) in [(1, ["192.0.2.50:30000", B]), (2, ["192.0.2.50:30010", A])] {
            stream(&mut tape, (2_101, until_ms), ssrc, 0, way);
        }
        tape.bye(40_000, "f1", [&caller, &proxy]);
        tape.bye(40_010, "f1", [&inner, &callee]);
        let call = tape.call_of().0;
        let (kind, says) = told(&call);
        assert!(kind == kind_right && says.starts_with(text), "{kind}: {says}");
        assert!(says.ends_with("the relay 192.0.2.50, which sends nothing on to either."), "{says}");
    }
}

/// asterisk#1027, freeswitch#2957, sipsorcery#192: a side on hold that plays nothing, behind a relay: its silence is no
/// blind tap, and what stops soon after the resume is found.
#[test]
fn a_silent_hold_hides_nothing_behind_it() {
    let relay = ["192.0.2.50:30010", "192.0.2.50:30000"];
    let (caller, proxy) = (side("192.0.2.10:5060", A, "a"), side("192.0.2.50:5060", relay[0], "b"));
    let (inner, callee) = (side("192.0.2.50:5060", relay[1], "a"), side("198.51.100.20:5060", B, "b"));
    let held = |sdp: &str, way: &str| format!("{sdp}a={way}\n");
    let mut tape = Tape::default();
    through_proxy(&mut tape, [&caller, &proxy], [&inner, &callee]);
    for (at_ms, cseq, ways) in [(12_000, 2, ["sendonly", "recvonly"]), (22_000, 3, ["sendrecv", "sendrecv"])] {
        let offers = [&caller, &proxy, &inner, &callee].map(|side| [0, 1].map(|n| held(&side.sdp, ways[n])));
        change(&mut tape, at_ms, cseq, [&caller, &proxy], [&offers[0][0], &offers[1][1]]);
        change(&mut tape, at_ms + 5, cseq, [&inner, &callee], [&offers[2][0], &offers[3][1]]);
    }
    let mut number = 0;
    for (from_ms, until_ms) in [(2_100, 12_000), (22_100, 30_000), (30_000, 45_000)] {
        let stops = from_ms == 30_000;
        for (ssrc, way) in [(1, [A, relay[0]]), (1, [relay[1], B]), (2, [B, relay[1]]), (2, [relay[0], A])] {
            if !(stops && way == [relay[0], A]) {
                stream(&mut tape, (from_ms, until_ms), ssrc, number, way);
            }
        }
        number += (until_ms - from_ms) / 20;
    }
    tape.bye(45_000, "f1", [&caller, &proxy]);
    tape.bye(45_010, "f1", [&inner, &callee]);
    let call = tape.call_of().0;
    let (kind, says) = told(&call);
    assert!(kind == "one-way-audio" && says.contains("192.0.2.50:30010 sends nothing more"), "{kind}: {says}");
    assert_eq!(call.capture.note, "");
}

/// Audio that begins late is late although the call is changed, or held, soon after.
#[test]
fn late_audio_is_found_before_a_change() {
    for way in [None, Some(["sendonly", "recvonly"])] {
        let [a, b] = &sides();
        let with = |media: &str, way: &str| sdp(end(media), "audio RTP/AVP 0", &[way]);
        let mut tape = Tape::default();
        tape.call(0, "f1", [a, b]);
        let [offer, answer] = way.map_or([a.sdp.clone(), b.sdp.clone()], |[o, n]| [with(A, o), with(B, n)]);
        change(&mut tape, 7_700, 2, [a, b], [&offer, &answer]);
        change(&mut tape, 12_000, 3, [a, b], [&a.sdp, &b.sdp]);
        stream(&mut tape, (2_040, 30_000), 1, 0, [A, B]);
        stream(&mut tape, (7_000, if way.is_some() { 7_700 } else { 12_000 }), 2, 0, [B, A]);
        stream(&mut tape, (12_060, 30_000), 2, 253, [B, A]);
        tape.bye(30_000, "f1", [a, b]);
        assert_eq!(told(&tape.call_of().0).0, "late-audio", "{way:?}");
    }
}

/// rtpengine and other relays that keep numbers: what is lost before the relay is missing behind it.
#[test]
fn loss_is_named_on_the_leg_where_it_is() {
    let [a, b] = &sides();
    let relay = Side { sdp: audio(end("192.0.2.50:30010")), ..side("192.0.2.50:5060", A, "b") };
    for lossy_leg in [1, 2] {
        let inner = Side { sdp: audio(end("192.0.2.50:30000")), ..side("192.0.2.50:5060", A, "a") };
        let mut tape = Tape::default();
        through_proxy(&mut tape, [a, &relay], [&inner, b]);
        for (leg, way) in [(1, [A, "192.0.2.50:30010"]), (2, ["192.0.2.50:30000", B])] {
            let mut all = Tape::default();
            stream(&mut all, (2_100 + leg, 30_000), 1, 0, way);
            let kept = all.0.into_iter().enumerate().filter(|(n, _)| leg < lossy_leg || n % 10 != 7);
            tape.0.extend(kept.map(|(_, packet)| packet));
        }
        for way in [[B, "192.0.2.50:30000"], ["192.0.2.50:30010", A]] {
            stream(&mut tape, (2_100, 30_000), 2, 0, way);
        }
        tape.bye(30_010, "f1", [a, &relay]);
        tape.bye(30_020, "f1", [&inner, b]);
        let (call, ..) = tape.call_of();
        let from = if lossy_leg == 1 { A } else { "192.0.2.50:30000" };
        assert!(kind(&call) == "loss" && says(&call).contains(&format!("({from})")), "{}", says(&call));
    }
}

/// janus#1095: a phone that is gone in mid-call.
#[test]
fn icmp_says_since_when_nothing_arrives() {
    let [a, b] = &sides();
    let mut tape = Tape::default();
    tape.call(0, "f1", [a, b]);
    stream(&mut tape, (2_040, 40_000), 1, 0, [A, B]);
    stream(&mut tape, (2_040, 18_000), 2, 0, [B, A]);
    for n in 0..21 {
        let quoted = udp(end(A), end(B), &rtp(1, 825 + n as u16 * 50));
        tape.push(18_500 + n * 1000, icmp(end("198.51.100.20:0"), (3, 3), &quoted, 28, end(A)));
    }
    tape.bye(40_000, "f1", [a, b]);
    let (call, ..) = tape.call_of();
    let text = "from 16.5 s to 38.0 s after the answer the callee heard nothing";
    assert!(says(&call).contains(text), "{}", says(&call));
}

/// mediamtx#5678, janus#404: pictures in bursts, and what is sent again. baresip#753, freeswitch#2226: timestamps that
/// count at another rate than SDP says.
#[test]
fn no_jitter_is_said_of_what_is_not_sent_evenly() {
    let [mut a, mut b] = sides();
    let video = |port: u16| {
        format!("m=video {port} RTP/AVP 96 97\na=rtpmap:96 VP8/90000\na=rtpmap:97 rtx/90000\na=fmtp:97 apt=96\n")
    };
    a.sdp.push_str(&video(4002));
    b.sdp.push_str(&video(6002));
    let mut tape = Tape::default();
    tape.call(0, "f1", [&a, &b]);
    for (ssrc, way) in [(1, [A, B]), (2, [B, A])] {
        stream(&mut tape, (2_040, 40_000), ssrc, 0, way);
    }
    let [from, to]: [Endpoint; 2] = ["192.0.2.10:4002", "198.51.100.20:6002"].map(end);
    let packet = |ssrc: u32, payload_type: u8, number: u16, ticks: u32| {
        let mut packet = rtp(ssrc, number);
        packet[1] = payload_type;
        packet[4..8].copy_from_slice(&ticks.to_be_bytes());
        packet
    };
    for frame in 0..180u32 {
        for n in 0..40u32 {
            // Forty packets of one timestamp over 160 ms.
            let at_ms = 2_040 + i64::from(frame) * 200 + i64::from(n) * 4;
            tape.udp(at_ms, from, to, &packet(11, 96, (frame * 40 + n) as u16, frame * 18_000));
        }
        let late_ms = 60 + i64::from(frame % 7) * 40;
        let again = packet(12, 97, frame as u16, frame * 18_000);
        tape.udp(2_040 + i64::from(frame) * 200 + late_ms, from, to, &again);
    }
    tape.bye(40_000, "f1", [&a, &b]);
    let (call, ..) = tape.call_of();
    assert_eq!((told(&call), call.streams.len()), (("", ""), 4));

    let rate = |ticks: u32| {
        let [mut a, mut b] = sides();
        for side in [&mut a, &mut b] {
            side.sdp = side.sdp.replace("AVP 0\n", "AVP 111\na=rtpmap:111 opus/48000/2\n");
        }
        let mut tape = Tape::default();
        tape.call(0, "f1", [&a, &b]);
        for (ssrc, [from, to], ticks) in [(1, [A, B], ticks), (2, [B, A], 960)] {
            for n in 0..1800u32 {
                tape.udp(2_040 + i64::from(n) * 20, end(from), end(to), &packet(ssrc, 111, n as u16, n * ticks));
            }
        }
        tape.bye(38_100, "f1", [&a, &b]);
        tape.call_of().0
    };
    for ticks in [160, 320, 480, 960] {
        assert_eq!(told(&rate(ticks)), ("", ""), "{ticks}");
    }
}

/// rtpengine#1354: the answer names another port than the response before it, and the caller does not heed it.
#[test]
fn who_heeds_the_first_description_alone_is_named() {
    let [a, b] = &sides();
    let answer = audio(end("198.51.100.20:7000"));
    let mut tape = Tape::default();
    let dialog = ("f1", [a.tag, b.tag]);
    tape.sip(0, [a, b], "INVITE sip:b@x SIP/2.0", ("f1", [a.tag, ""]), "1 INVITE", &a.sdp);
    tape.sip(500, [b, a], "SIP/2.0 183 Session Progress", dialog, "1 INVITE", &b.sdp);
    tape.sip(8_000, [b, a], "SIP/2.0 200 OK", dialog, "1 INVITE", &answer);
    tape.sip(8_020, [a, b], "ACK sip:b@x SIP/2.0", dialog, "1 ACK", "");
    stream(&mut tape, (600, 30_000), 1, 0, [A, B]);
    stream(&mut tape, (8_050, 30_000), 2, 0, ["198.51.100.20:7000", A]);
    tape.bye(30_000, "f1", [a, b]);
    let (call, ..) = tape.call_of();
    let text = format!("kept sending to {B}, which the callee had left");
    assert!(kind(&call) == "one-way-audio" && says(&call).contains(&text), "{}", says(&call));
    assert!(call.streams.iter().any(|s| s.direction == Direction::Caller));
}

/// Optional SRTP, as many phones do it: refused, and offered again without.
#[test]
fn plain_media_after_srtp_was_refused_is_not_encrypted() {
    let [a, b] = &sides();
    let secured = a.sdp.replace("RTP/AVP", "RTP/SAVP")
        + "a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:d0RmdmcmVCspeEc3QGZiNWpVLFJhQX1cfHAwJSoj\n";
    let mut tape = Tape::default();
    tape.sip(0, [a, b], "INVITE sip:b@x SIP/2.0", ("f1", [a.tag, ""]), "1 INVITE", &secured);
    tape.sip(20, [b, a], "SIP/2.0 488 Not Acceptable Here", ("f1", [a.tag, "n"]), "1 INVITE", "");
    tape.sip(40, [a, b], "ACK sip:b@x SIP/2.0", ("f1", [a.tag, "n"]), "1 ACK", "");
    let dialog = ("f1", [a.tag, b.tag]);
    tape.sip(100, [a, b], "INVITE sip:b@x SIP/2.0", ("f1", [a.tag, ""]), "2 INVITE", &a.sdp);
    tape.sip(2_000, [b, a], "SIP/2.0 200 OK", dialog, "2 INVITE", &b.sdp);
    tape.sip(2_020, [a, b], "ACK sip:b@x SIP/2.0", dialog, "2 ACK", "");
    for (ssrc, way) in [(1, [A, B]), (2, [B, A])] {
        stream(&mut tape, (2_040, 20_000), ssrc, 0, way);
    }
    tape.bye(20_000, "f1", [a, b]);
    let (call, ..) = tape.call_of();
    assert!(call.streams.len() == 2 && call.streams.iter().all(|s| !s.encrypted), "{:#?}", call.streams);
    assert_eq!(told(&call), ("", ""));
}
