//! Calls as people report them of comparable products, each with its truth: how they are set up, changed and ended. The
//! reports are named beside each.

use crate::tape::{Side, Tape, audio, end, kind, says, udp};
use trunkline_store::row::{Call, CallState};

const INVITE: &str = "INVITE sip:b@x SIP/2.0";

fn sides() -> [Side; 2] {
    let side =
        |host: &str, tag| Side { signals: end(&format!("{host}:5060")), tag, sdp: audio(end(&format!("{host}:4000"))) };
    [side("192.0.2.10", "a"), side("198.51.100.20", "b")]
}

/// Audio of both sides between these times.
fn talk(tape: &mut Tape, span_ms: (i64, i64)) {
    let ends = ["192.0.2.10:4000", "198.51.100.20:4000"].map(end);
    for (ssrc, [from, to]) in [(1, [0, 1]), (2, [1, 0])] {
        tape.media(span_ms, ssrc, |o| udp(ends[from], ends[to], o));
    }
}

fn told(call: &Call) -> (&str, &str) {
    (kind(call), says(call))
}

/// RFC 3261 section 9.1: who gave up, and whose CANCEL crossed the answer, hangs up.
#[test]
fn a_cancel_that_crosses_the_answer_is_no_early_hangup() {
    let [a, b] = &sides();
    for cancelled in [true, false] {
        let mut tape = Tape::default();
        tape.call(0, "s1", [a, b]);
        if cancelled {
            tape.sip(1_990, [a, b], "CANCEL sip:b@x SIP/2.0", ("s1", [a.tag, ""]), "1 CANCEL", "");
            tape.sip(
                2_005,
                [b, a],
                "SIP/2.0 481 Call/Transaction Does Not Exist",
                ("s1", [a.tag, "b"]),
                "1 CANCEL",
                "",
            );
        }
        tape.bye(2_050, "s1", [a, b]);
        let (call, ..) = tape.call_of();
        assert_eq!(kind(&call), if cancelled { "" } else { "early-hangup" }, "{}", says(&call));
    }
}

/// A queue that plays before it answers (183) is no phone that rings.
#[test]
fn only_ringing_is_long_ringing() {
    let [a, b] = &sides();
    for (line, expected) in [("183 Session Progress", ""), ("180 Ringing", "long-ringing")] {
        let mut tape = Tape::default();
        tape.sip(0, [a, b], INVITE, ("s1", [a.tag, ""]), "1 INVITE", &a.sdp);
        tape.sip(300, [b, a], &format!("SIP/2.0 {line}"), ("s1", [a.tag, "b"]), "1 INVITE", &b.sdp);
        tape.sip(240_000, [b, a], "SIP/2.0 200 OK", ("s1", [a.tag, "b"]), "1 INVITE", &b.sdp);
        tape.sip(240_020, [a, b], "ACK sip:b@x SIP/2.0", ("s1", [a.tag, "b"]), "1 ACK", "");
        talk(&mut tape, (240_040, 260_000));
        tape.bye(260_000, "s1", [a, b]);
        let (call, ..) = tape.call_of();
        assert_eq!(kind(&call), expected, "{}", says(&call));
    }
}

/// Phones without a camera decline video, and the call goes on.
#[test]
fn video_that_is_declined_is_no_refused_invite() {
    let [a, b] = &sides();
    let video = "m=video 4002 RTP/AVP 96\na=rtpmap:96 H264/90000\n";
    let call = |offer: &str, had_video: bool, ends_ms: i64| {
        let mut tape = Tape::default();
        let (mut caller, mut callee) = (a.clone(), b.clone());
        if had_video {
            caller.sdp.push_str(video);
            callee.sdp.push_str(video);
        }
        tape.call(0, "s1", [&caller, &callee]);
        let dialog = ("s1", [a.tag, b.tag]);
        tape.sip(20_000, [a, b], INVITE, dialog, "2 INVITE", offer);
        tape.sip(20_050, [b, a], "SIP/2.0 488 Not Acceptable Here", dialog, "2 INVITE", "");
        tape.sip(20_060, [a, b], "ACK sip:b@x SIP/2.0", dialog, "2 ACK", "");
        talk(&mut tape, (2_040, ends_ms));
        tape.bye(ends_ms, "s1", [a, b]);
        tape.call_of().0
    };
    let offer = a.sdp.clone() + video;
    assert_eq!(told(&call(&offer, false, 60_000)), ("", ""));
    // The call ends over it; video was there before; audio alone is refused.
    for (offer, had_video, ends_ms) in [(&offer, false, 21_000), (&offer, true, 60_000), (&a.sdp, false, 60_000)] {
        assert_eq!(kind(&call(offer, had_video, ends_ms)), "reinvite-refused");
    }
}

/// A tap that loses one packet, the 200: what follows it tells that the call was answered.
#[test]
fn a_lost_answer_leaves_a_completed_call() {
    let [a, b] = &sides();
    let mut tape = Tape::default();
    tape.call(0, "s1", [a, b]);
    tape.0.retain(|(_, packet)| !packet.windows(14).any(|part| part == b"SIP/2.0 200 OK"));
    talk(&mut tape, (2_040, 30_000));
    tape.bye(30_000, "s1", [a, b]);
    let (call, ..) = tape.call_of();
    assert_eq!((call.state, call.code, told(&call)), (CallState::Completed, 0, ("", "")));
    assert!((call.end_ns.unwrap() - call.answer_ns.unwrap() - 27_980_000_000).abs() < 1_000_000_000);
    assert_eq!(call.capture.note, "the answer to its INVITE was not captured");
}

/// kamailio#2405: a proxy tells the caller 500 where the gateway said 503 (RFC 3261 section 16.7 step 6).
#[test]
fn who_refused_first_is_named() {
    let [a, gateway] = &sides();
    let proxy = Side { signals: end("192.0.2.50:5060"), tag: "p", sdp: String::new() };
    let mut tape = Tape::default();
    tape.sip(0, [a, &proxy], INVITE, ("s1", [a.tag, ""]), "1 INVITE", &a.sdp);
    tape.sip(10, [&proxy, gateway], INVITE, ("s1", [a.tag, ""]), "1 INVITE", &a.sdp);
    tape.sip(90, [gateway, &proxy], "SIP/2.0 503 Service Unavailable", ("s1", [a.tag, "g"]), "1 INVITE", "");
    tape.sip(100, [&proxy, a], "SIP/2.0 500 Server Internal Error", ("s1", [a.tag, "p"]), "1 INVITE", "");
    let (call, ..) = tape.call_of();
    let text = "192.0.2.50:5060 refused the call with 500 Server Internal Error, after 198.51.100.20:5060 had refused \
                it with 503";
    assert!(kind(&call) == "failure-5xx" && says(&call).starts_with(text), "{}", says(&call));
}

/// sngrep#356: `port 5060` in a capture filter drops all fragments but the first.
#[test]
fn first_fragments_without_the_others_are_counted() {
    let [a, b] = &sides();
    let mut long = a.clone();
    long.sdp.push_str(&"a=x-filler:0123456789012345678901234567890123456789\n".repeat(40));
    let text = format!(
        "{INVITE}\nVia: SIP/2.0/UDP a;branch=z9hG4bKx\nFrom: <sip:a@x>;tag=a\nTo: <sip:b@x>\nCall-ID: s2\nCSeq: 1 INVITE\n\
         Content-Type: application/sdp\n\n{}",
        long.sdp
    );
    let mut tape = Tape::default();
    let [first, _] = crate::tape::fragments(a.signals, b.signals, 7, text.replace('\n', "\r\n").as_bytes());
    tape.push(0, first);
    tape.udp(1_000, end("192.0.2.77:9"), end("192.0.2.78:9"), b"later");
    let (_, summary) = tape.read();
    assert_eq!(summary.counter("trunkline_calls_ip_fragments_timed_out_total"), 1);
}

/// Who hangs up at once says why (RFC 3326): the answer does not fit.
#[test]
fn an_early_hangup_says_the_reason_that_was_given() {
    let [a, b] = &sides();
    for (reason, told) in
        [("SIP;cause=488;text=\"Not Acceptable Here\"", "It says: SIP cause 488"), ("Q.850;cause=16", "")]
    {
        let mut tape = Tape::default();
        tape.call(0, "s1", [a, b]);
        let bye = format!("BYE sip:b@x SIP/2.0\nReason: {reason}");
        tape.sip(2_100, [a, b], &bye, ("s1", [a.tag, "b"]), "9 BYE", "");
        tape.sip(2_110, [b, a], "SIP/2.0 200 OK", ("s1", [a.tag, "b"]), "9 BYE", "");
        let (call, ..) = tape.call_of();
        assert_eq!(kind(&call), "early-hangup");
        assert!(says(&call).contains(told) && says(&call).contains("It says") != told.is_empty(), "{}", says(&call));
    }
}

/// RFC 3261 section 21.6.2: somebody declines while it rings. What blocks calls does not ring, or says so (603+).
#[test]
fn a_call_that_is_declined_is_no_failure() {
    let judged = |rings: bool, line: &str| {
        let [a, b] = &sides();
        let mut tape = Tape::default();
        let dialog = ("s1", [a.tag, b.tag]);
        tape.sip(0, [a, b], INVITE, ("s1", [a.tag, ""]), "1 INVITE", &a.sdp);
        if rings {
            tape.sip(100, [b, a], "SIP/2.0 180 Ringing", dialog, "1 INVITE", "");
        }
        tape.sip(4_100, [b, a], &format!("SIP/2.0 {line}"), dialog, "1 INVITE", "");
        tape.sip(4_110, [a, b], "ACK sip:b@x SIP/2.0", dialog, "1 ACK", "");
        kind(&tape.call_of().0).to_owned()
    };
    assert_eq!([judged(true, "603 Decline"), judged(true, "603 Declined")], ["", ""]);
    for line in [(false, "603 Decline"), (true, "603 Network Blocked"), (true, "604 Does Not Exist Anywhere")] {
        assert_eq!(judged(line.0, line.1), "failure-6xx", "{line:?}");
    }
}

/// What counts is what the caller is told: a proxy queues the call while a phone is woken up (182), or a target rings
/// and the proxy keeps that for itself.
#[test]
fn what_the_caller_is_told_is_setup() {
    let judged = |told: &[(i64, bool, &str)]| {
        let [a, b] = &sides();
        let proxy = Side { signals: end("192.0.2.50:5060"), tag: "p", sdp: String::new() };
        let mut tape = Tape::default();
        tape.sip(0, [a, &proxy], INVITE, ("s1", [a.tag, ""]), "1 INVITE", &a.sdp);
        tape.sip(10, [&proxy, b], INVITE, ("s1", [a.tag, ""]), "1 INVITE", &a.sdp);
        for (at_ms, inner, line) in told {
            let way = if *inner { [b, &proxy] } else { [&proxy, a] };
            let body = if line.starts_with("200") { b.sdp.as_str() } else { "" };
            tape.sip(*at_ms, way, &format!("SIP/2.0 {line}"), ("s1", [a.tag, b.tag]), "1 INVITE", body);
        }
        let answer_ms = told.last().unwrap().0;
        for way in [[a, &proxy], [&proxy, b]] {
            tape.sip(answer_ms + 20, way, "ACK sip:b@x SIP/2.0", ("s1", [a.tag, b.tag]), "1 ACK", "");
        }
        talk(&mut tape, (answer_ms + 40, answer_ms + 20_000));
        tape.bye(answer_ms + 20_000, "s1", [a, &proxy]);
        let call = tape.call_of().0;
        (kind(&call).to_owned(), says(&call).to_owned())
    };
    let [ring, ok] = ["180 Ringing", "200 OK"];
    let queued = [
        (120, false, "182 Queued"),
        (9_500, true, ring),
        (9_510, false, ring),
        (12_000, true, ok),
        (12_010, false, ok),
    ];
    assert_eq!(judged(&queued).0, "");
    assert_eq!(judged(&queued[1..]).0, "slow-setup");
    let kept = [(300, true, ring), (9_000, false, ring), (12_000, true, ok), (12_010, false, ok)];
    let (kind, says) = judged(&kept);
    assert!(kind == "slow-setup" && says.contains("took 9.0 s from the INVITE to 180 Ringing"), "{says}");
    let quick = [(300, true, ring), (310, false, ring), (12_000, true, ok), (12_010, false, ok)];
    assert_eq!(judged(&quick).0, "");
}

/// RFC 3263 section 4.3: a server that says nothing, then the next one, with the same INVITE or another. Who did not
/// answer is named, not the one who rings at once.
#[test]
fn a_server_that_was_asked_in_vain_is_why_the_caller_waited() {
    for (cseq, waits_ms, rings_ms, expected) in [
        (1, 32_000, 500, "The caller waited 32.5 s for 180 Ringing: 198.51.100.20:5060 did not answer the INVITE, and"),
        (2, 32_000, 500, "198.51.100.30:5060 was asked 32.0 s later"),
        (2, 10_000, 12_000, "198.51.100.30:5060 took 12.0 s from the INVITE to 180 Ringing"),
        (1, 4_000, 500, ""),
    ] {
        let [a, b] = &sides();
        let next = Side { signals: end("198.51.100.30:5060"), ..b.clone() };
        let mut tape = Tape::default();
        for at_ms in [0, 500, 1_500, 3_500, 7_500, 15_500, 31_500].into_iter().filter(|at_ms| *at_ms < waits_ms) {
            tape.sip(at_ms, [a, b], INVITE, ("s1", [a.tag, ""]), "1 INVITE", &a.sdp);
        }
        let asked = tape.0.len();
        let (invite, ack) = (format!("{cseq} INVITE"), format!("{cseq} ACK"));
        let dialog = ("s1", [a.tag, b.tag]);
        tape.sip(waits_ms, [a, &next], INVITE, ("s1", [a.tag, ""]), &invite, &a.sdp);
        tape.sip(waits_ms + rings_ms, [&next, a], "SIP/2.0 180 Ringing", dialog, &invite, "");
        let answer_ms = waits_ms + rings_ms + 2_000;
        tape.sip(answer_ms, [&next, a], "SIP/2.0 200 OK", dialog, &invite, &b.sdp);
        // It is another transaction.
        for (_, packet) in &mut tape.0[asked..] {
            let at = packet.windows(9).position(|part| part == b"z9hG4bKs1").unwrap();
            packet[at + 7] = b't';
        }
        tape.sip(answer_ms + 20, [a, &next], "ACK sip:b@x SIP/2.0", dialog, &ack, "");
        talk(&mut tape, (answer_ms + 40, answer_ms + 20_000));
        tape.bye(answer_ms + 20_000, "s1", [a, &next]);
        let (call, ..) = tape.call_of();
        let (kind, says) = told(&call);
        assert_eq!(call.state, CallState::Completed);
        assert_eq!(kind, if expected.is_empty() { "" } else { "slow-setup" }, "{cseq} {waits_ms} {says}");
        assert!(says.contains(expected), "{says}");
    }
}

/// Who gives up sends CANCEL although nothing came back, and nothing comes back to that either.
#[test]
fn a_caller_that_gives_up_unheard_was_not_answered() {
    for (tries, answered, expected) in
        [(4, false, "no-response"), (3, false, "no-response"), (1, false, ""), (4, true, "")]
    {
        let [a, b] = &sides();
        let mut tape = Tape::default();
        for at_ms in [0, 500, 1_500, 3_500].into_iter().take(tries) {
            tape.sip(at_ms, [a, b], INVITE, ("s1", [a.tag, ""]), "1 INVITE", &a.sdp);
        }
        for at_ms in [4_000, 4_500, 5_500] {
            tape.sip(at_ms, [a, b], "CANCEL sip:b@x SIP/2.0", ("s1", [a.tag, ""]), "1 CANCEL", "");
        }
        if answered {
            tape.sip(5_600, [b, a], "SIP/2.0 200 OK", ("s1", [a.tag, b.tag]), "1 CANCEL", "");
            tape.sip(5_610, [b, a], "SIP/2.0 487 Request Terminated", ("s1", [a.tag, b.tag]), "1 INVITE", "");
        }
        tape.udp(90_000, end("192.0.2.77:9"), end("192.0.2.78:9"), b"later");
        let (call, ..) = tape.call_of();
        assert_eq!((call.state, kind(&call)), (CallState::Cancelled, expected), "{tries} {}", says(&call));
        assert!(expected.is_empty() || says(&call).contains(&format!("the INVITE {tries} times")), "{}", says(&call));
    }
}
