//! Several targets of one INVITE that ring at once, each with a dialog and early media of its own (RFC 3261 section
//! 12.1, RFC 3960): several 18x with different To tags and descriptions. Reported of pjsip (#657, #1644, #2535) and
//! baresip (#2114): the announcement of one, the answer of another.

use crate::tape::{Side, Tape, audio, end, kind, sdp, streams, udp};
use trunkline_store::row::{Call, CallState, Direction};
use trunkline_wire::Endpoint;

/// Where a target has its media, and the tag of its dialog.
fn target(media: &str, tag: &'static str, signals: &str) -> (Endpoint, Side) {
    let media = end(media);
    (media, Side { signals: end(signals), tag, sdp: audio(media) })
}

/// How the targets are reached, and what they do.
#[derive(Clone, Copy)]
struct Fork {
    caller: &'static str,
    /// Where the responses come from: one proxy, or each target itself.
    direct: bool,
    /// Who answers: the first one, the last one, a third one that never sent 18x.
    answers: usize,
    /// The others' early media goes on for so long after the answer.
    late_ms: i64,
}

const TARGETS: [[&str; 3]; 2] = [
    ["198.51.100.2:5000", "198.51.100.3:5000", "198.51.100.4:5000"],
    ["[2001:db8:2::2]:5000", "[2001:db8:2::3]:5000", "[2001:db8:2::4]:5000"],
];

/// A call whose two first targets send 183 with early media each, and whose answer comes from one of them or a third.
fn call(fork: Fork) -> Call {
    let v6 = usize::from(fork.caller.starts_with('['));
    let host = |media: &str| Endpoint::new(end(media).address, 5060).to_string();
    let proxy = if v6 == 1 { "[2001:db8:9::9]:5060" } else { "203.0.113.9:5060" };
    let signals = |media: &str| if fork.direct { host(media) } else { proxy.to_owned() };
    let all: Vec<(Endpoint, Side)> =
        TARGETS[v6].iter().zip(["b1", "b2", "b3"]).map(|(media, tag)| target(media, tag, &signals(media))).collect();
    let here = end(fork.caller);
    let a = Side { signals: Endpoint::new(here.address, 5060), tag: "a", sdp: audio(here) };
    let invited = Side { signals: end(proxy), ..all[0].1.clone() };
    let mut tape = Tape::default();
    tape.sip(0, [&a, &invited], "INVITE sip:b@x SIP/2.0", ("k", ["a", ""]), "1 INVITE", &a.sdp);
    for (n, (media, side)) in all.iter().enumerate().take(2) {
        let at_ms = 300 + 700 * n as i64;
        tape.sip(at_ms, [side, &a], "SIP/2.0 183 Session Progress", ("k", ["a", side.tag]), "1 INVITE", &side.sdp);
        let until = if n == fork.answers { 14_000 } else { 4_000 + fork.late_ms };
        tape.media((at_ms + 40, until), 10 + n as u32, |o| udp(*media, here, o));
    }
    let (media, side) = &all[fork.answers];
    tape.sip(4_000, [side, &a], "SIP/2.0 200 OK", ("k", ["a", side.tag]), "1 INVITE", &side.sdp);
    tape.sip(4_020, [&a, side], "ACK sip:b@x SIP/2.0", ("k", ["a", side.tag]), "1 ACK", "");
    tape.media((4_040, 14_000), 1, |o| udp(here, *media, o));
    if fork.answers == 2 {
        tape.media((4_040, 14_000), 12, |o| udp(*media, here, o));
    }
    tape.sip(14_000, [&a, side], "BYE sip:b@x SIP/2.0", ("k", ["a", side.tag]), "2 BYE", "");
    tape.sip(14_010, [side, &a], "SIP/2.0 200 OK", ("k", ["a", side.tag]), "2 BYE", "");
    let (call, rows, _) = tape.call_of();
    assert!(rows.streams.is_empty(), "streams without their call");
    call
}

#[test]
fn each_early_dialog_has_its_audio_and_nothing_false_is_said() {
    for caller in ["192.0.2.1:4000", "[2001:db8::1]:40000"] {
        for direct in [false, true] {
            for answers in 0..3 {
                for late_ms in [0, 60, 900] {
                    let call = call(Fork { caller, direct, answers, late_ms });
                    let what = format!("{caller} {direct} {answers} {late_ms}: {:?}", call.verdict);
                    assert_eq!((call.state, kind(&call)), (CallState::Completed, ""), "{what}");
                    assert_eq!(call.answer_ns.map(|at| (at - call.start_ns) / 1_000_000), Some(4_000), "{what}");
                    assert_eq!(call.ringing_ns.map(|at| (at - call.start_ns) / 1_000_000), Some(300), "{what}");
                    let by = |d: Direction| call.streams.iter().filter(|s| s.direction == d).count();
                    let callees = if answers == 2 { 3 } else { 2 };
                    let told = streams(&call);
                    assert_eq!((by(Direction::Caller), by(Direction::Callee)), (1, callees), "{what} {told:?}");
                }
            }
        }
    }
}

#[test]
fn the_codec_of_the_one_who_answers_is_the_calls() {
    // The first one takes PCMU alone, the second one PCMA alone; the caller offers both and sends what each accepts.
    let here = end("192.0.2.1:4000");
    let both = sdp(here, "audio RTP/AVP 0 8", &[]);
    let a = Side { signals: end("192.0.2.1:5060"), tag: "a", sdp: both };
    let targets = [("198.51.100.2", "0", "b1"), ("198.51.100.3", "8", "b2")].map(|(host, codec, tag)| {
        let media = end(&format!("{host}:5000"));
        let sdp = sdp(media, &format!("audio RTP/AVP {codec}"), &[]);
        (media, Side { signals: end("203.0.113.9:5060"), tag, sdp })
    });
    let typed = |kind: u8, o: &[u8]| [&[0x80, kind][..], &o[2..]].concat();
    for answers in 0..2 {
        let mut tape = Tape::default();
        tape.sip(0, [&a, &targets[0].1], "INVITE sip:b@x SIP/2.0", ("k", ["a", ""]), "1 INVITE", &a.sdp);
        for (n, (media, side)) in targets.iter().enumerate() {
            let at_ms = 300 + 500 * n as i64;
            tape.sip(at_ms, [side, &a], "SIP/2.0 183 Session Progress", ("k", ["a", side.tag]), "1 INVITE", &side.sdp);
            let until = if n == answers { 12_000 } else { 4_000 };
            let codec = if n == 0 { 0 } else { 8 };
            tape.media((at_ms + 40, until), 10 + n as u32, |o| udp(*media, here, &typed(codec, o)));
        }
        let (media, side) = &targets[answers];
        tape.sip(4_000, [side, &a], "SIP/2.0 200 OK", ("k", ["a", side.tag]), "1 INVITE", &side.sdp);
        tape.sip(4_020, [&a, side], "ACK sip:b@x SIP/2.0", ("k", ["a", side.tag]), "1 ACK", "");
        let codec = if answers == 0 { 0 } else { 8 };
        tape.media((4_040, 12_000), 1, |o| udp(here, *media, &typed(codec, o)));
        tape.sip(12_000, [&a, side], "BYE sip:b@x SIP/2.0", ("k", ["a", side.tag]), "2 BYE", "");
        let (call, ..) = tape.call_of();
        assert_eq!(kind(&call), "", "{:?}", call.verdict);
        assert_eq!(call.streams.len(), 3);
        let codecs: Vec<_> = call.streams.iter().map(|s| (s.ssrc, s.codec.as_str())).collect();
        assert!(codecs.contains(&(10, "PCMU")) && codecs.contains(&(11, "PCMA")), "{codecs:?}");
    }
}

#[test]
fn the_audio_of_a_target_that_did_not_answer_is_not_that_of_the_one_who_did() {
    // The announcement of the first one goes on, and the one who answered is silent.
    for late_ms in [500, 1_500] {
        let (first, side) = target("198.51.100.2:5000", "b1", "203.0.113.9:5060");
        let (second, answering) = target("198.51.100.3:5000", "b2", "203.0.113.9:5060");
        let here = end("192.0.2.1:4000");
        let a = Side { signals: end("192.0.2.1:5060"), tag: "a", sdp: audio(here) };
        let mut tape = Tape::default();
        tape.sip(0, [&a, &side], "INVITE sip:b@x SIP/2.0", ("k", ["a", ""]), "1 INVITE", &a.sdp);
        for (n, side) in [&side, &answering].into_iter().enumerate() {
            let at_ms = 300 + 100 * n as i64;
            tape.sip(at_ms, [side, &a], "SIP/2.0 183 Session Progress", ("k", ["a", side.tag]), "1 INVITE", &side.sdp);
        }
        tape.media((400, 4_000 + late_ms), 10, |o| udp(first, here, o));
        tape.sip(4_000, [&answering, &a], "SIP/2.0 200 OK", ("k", ["a", "b2"]), "1 INVITE", &answering.sdp);
        tape.sip(4_020, [&a, &answering], "ACK sip:b@x SIP/2.0", ("k", ["a", "b2"]), "1 ACK", "");
        tape.media((4_040, 16_000), 1, |o| udp(here, second, o));
        tape.sip(16_000, [&a, &answering], "BYE sip:b@x SIP/2.0", ("k", ["a", "b2"]), "2 BYE", "");
        let (call, ..) = tape.call_of();
        assert_eq!(kind(&call), "one-way-audio", "{late_ms}: {:?}", call.verdict);
    }
}

/// One of several tones after the other within 50 ms, as a proxy sends them on that rings a group (opensips#120, pjsip
/// #2535): 183 with a description, then 180 of others, one of them twice.
#[test]
fn ringing_of_several_targets_at_once_is_one_ringing() {
    let here = end("192.0.2.1:4000");
    let a = Side { signals: end("192.0.2.1:5060"), tag: "a", sdp: audio(here) };
    let targets = ["198.51.100.2:5000", "198.51.100.3:5000", "198.51.100.4:5000"];
    let all: Vec<_> = targets
        .into_iter()
        .zip(["b1", "b2", "b3"])
        .map(|(media, tag)| target(media, tag, "203.0.113.9:5060"))
        .collect();
    // Who sends what, and when: the targets by their places.
    let orders: [&[(i64, usize, u16)]; 4] = [
        &[(300, 0, 183), (310, 1, 180), (322, 1, 180), (330, 2, 180), (345, 0, 180)],
        &[(300, 1, 180), (301, 0, 183), (330, 2, 183), (349, 1, 180), (349, 0, 183)],
        &[(300, 0, 183), (349, 1, 183), (360, 2, 183), (372, 0, 180), (390, 1, 180)],
        &[(300, 2, 180), (304, 2, 180), (309, 2, 180), (320, 0, 183), (340, 1, 183)],
    ];
    for order in orders {
        for answers in 0..3 {
            for describes in [true, false] {
                // Only who described itself may leave it out in the 200.
                let described = order.iter().any(|(_, target, status)| (*target, *status) == (answers, 183));
                if !describes && !described {
                    continue;
                }
                let mut tape = Tape::default();
                tape.sip(0, [&a, &all[0].1], "INVITE sip:b@x SIP/2.0", ("k", ["a", ""]), "1 INVITE", &a.sdp);
                for (at_ms, n, status) in order {
                    let (media, side) = &all[*n];
                    let dialog = ("k", ["a", side.tag]);
                    match status {
                        183 => {
                            tape.sip(*at_ms, [side, &a], "SIP/2.0 183 Session Progress", dialog, "1 INVITE", &side.sdp);
                            let until = if *n == answers { 14_000 } else { 4_030 };
                            tape.media((at_ms + 20, until), 10 + *n as u32, |o| udp(*media, here, o));
                        }
                        _ => tape.sip(*at_ms, [side, &a], "SIP/2.0 180 Ringing", dialog, "1 INVITE", ""),
                    }
                }
                let (media, side) = &all[answers];
                let body = if describes { side.sdp.as_str() } else { "" };
                tape.sip(4_000, [side, &a], "SIP/2.0 200 OK", ("k", ["a", side.tag]), "1 INVITE", body);
                tape.sip(4_020, [&a, side], "ACK sip:b@x SIP/2.0", ("k", ["a", side.tag]), "1 ACK", "");
                if !described {
                    tape.media((4_040, 14_000), 20, |o| udp(*media, here, o));
                }
                tape.media((4_040, 14_000), 1, |o| udp(here, *media, o));
                tape.sip(14_000, [&a, side], "BYE sip:b@x SIP/2.0", ("k", ["a", side.tag]), "2 BYE", "");
                tape.sip(14_010, [side, &a], "SIP/2.0 200 OK", ("k", ["a", side.tag]), "2 BYE", "");
                let (call, rows, _) = tape.call_of();
                let what = format!("{order:?} {answers} {describes}: {:?}", call.verdict);
                let ms = |at: Option<i64>| at.map(|at| (at - call.start_ns) / 1_000_000);
                assert_eq!((call.state, kind(&call)), (CallState::Completed, ""), "{what}");
                assert_eq!((ms(call.ringing_ns), ms(call.answer_ns)), (Some(300), Some(4_000)), "{what}");
                assert_eq!(call.ladder.messages.len(), order.len() + 5, "{what}");
                assert!(rows.streams.is_empty(), "{what}: streams without their call");
                let early = order.iter().filter(|(_, _, status)| *status == 183).map(|(_, target, _)| target);
                let callees: std::collections::BTreeSet<_> = early.copied().chain([answers]).collect();
                let told = streams(&call);
                assert_eq!(told.iter().filter(|s| s.0 == 2).count(), callees.len(), "{what} {told:?}");
            }
        }
    }
}
