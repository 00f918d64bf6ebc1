//! What fails without a status code of the first INVITE, over several times, transports, orders and hops.

use super::*;
use crate::verdict::{self, Case};
use proptest::prelude::*;

const PROXY: &str = "192.0.2.9:5060";

fn tagged(text: &str) -> String {
    text.replace("To: <sip:bob@example.com>\n", "To: <sip:bob@example.com>;tag=b\n")
}

fn with(text: &str, header: &str) -> String {
    text.replace("Content-Length", &format!("{header}\nContent-Length"))
}

/// The kind and text of the verdict on the only call, if it has one; the input is seen for so many seconds longer.
fn verdict_of(play: &mut Play, seconds: i64) -> (String, String) {
    let until_ns = play.at_ns + seconds * SECOND_NS;
    let closed = play.only_call();
    let tap = crate::ledger::Tap { until_ns: until_ns.min(closed.deadline_ns), ..Default::default() };
    let case = Case { call: &closed.call, facts: &closed.facts, evidence: &[], media_seen: false, tap: &tap };
    verdict::judge(&case).map_or_else(Default::default, |(_, v)| (v.kind, v.text))
}

fn answered() -> Play {
    let mut play = Play::new();
    play.request("INVITE", 1).response(180, "Ringing", "INVITE", 1).wait(2).response(200, "OK", "INVITE", 1);
    play.send(ALICE, BOB, &tagged(&request("ACK", 1, "a"))).wait(20);
    play
}

fn hang_up(play: &mut Play) -> &mut Play {
    play.send(ALICE, BOB, &tagged(&request("BYE", 99, "a"))).send(BOB, ALICE, &response(200, "OK", "BYE", 99))
}

#[test]
fn nothing_but_100_is_dead_air_after_eight_seconds() {
    for seconds in [1, 5, 7, 9, 32, 40, 180] {
        for ends in [true, false] {
            let mut play = Play::new();
            play.request("INVITE", 1).response(100, "Trying", "INVITE", 1).wait(seconds);
            if ends {
                play.request("CANCEL", 1).response(200, "OK", "CANCEL", 1);
                play.send(BOB, ALICE, &response(487, "Request Terminated", "INVITE", 1));
            } else {
                play.at_ns -= seconds * SECOND_NS;
            }
            let (kind, text) = verdict_of(&mut play, if ends { 0 } else { seconds });
            assert_eq!(kind, if seconds > 8 { "no-progress" } else { "" }, "{seconds} {ends}: {text}");
            assert_eq!(text.contains("the caller gave up"), ends && seconds > 8, "{text}");
        }
    }
    // Ringing, queueing or a refusal is a sign.
    for (status, kind) in [(180, ""), (183, ""), (503, "failure-5xx"), (486, "")] {
        let mut play = Play::new();
        play.request("INVITE", 1).response(100, "Trying", "INVITE", 1).wait(7);
        play.response(status, "x", "INVITE", 1);
        assert_eq!(verdict_of(&mut play, 60).0, kind, "{status}");
    }
}

#[test]
fn dead_air_names_the_hop_that_is_silent() {
    let further = request("INVITE", 1, "a").replace("z9hG4bKINVITE1", "z9hG4bKfurther");
    let mut play = Play::new();
    play.request("INVITE", 1).response(100, "Trying", "INVITE", 1).send(BOB, PROXY, &further).wait(30);
    let (kind, text) = verdict_of(&mut play, 0);
    assert!(kind == "no-progress" && text.contains("192.0.2.9:5060, which does not answer at all"), "{text}");
    let mut play = Play::new();
    let trying = response(100, "Trying", "INVITE", 1).replace("z9hG4bKINVITE1", "z9hG4bKfurther");
    play.request("INVITE", 1).response(100, "Trying", "INVITE", 1).send(BOB, PROXY, &further);
    let (kind, text) = verdict_of(play.send(PROXY, BOB, &trying).wait(30), 0);
    assert!(kind == "no-progress" && text.contains("which said no more either"), "{text}");
}

#[test]
fn a_200_that_comes_again_though_it_was_acknowledged() {
    for (repeats, acked, kind) in [
        (1, true, ""),
        (2, true, ""),
        (5, true, "ack-lost"),
        (10, true, "ack-lost"),
        (1, false, ""),
        (6, false, "missing-ack"),
    ] {
        for hops in [1, 2] {
            let mut play = Play::new();
            play.request("INVITE", 1).response(180, "Ringing", "INVITE", 1).wait(2);
            for _ in 0..=repeats {
                let ok = response(200, "OK", "INVITE", 1);
                let ack = tagged(&request("ACK", 1, "a"));
                if hops == 2 {
                    let second = |text: &str| text.replacen("branch=z9hG4bK", "branch=z9hG4bKp", 1);
                    play.send(PROXY, BOB, &second(&ok)).send(BOB, ALICE, &ok);
                    if acked {
                        play.send(ALICE, BOB, &ack).send(BOB, PROXY, &second(&ack));
                    }
                } else {
                    play.send(BOB, ALICE, &ok);
                    if acked {
                        play.send(ALICE, BOB, &ack);
                    }
                }
                play.wait(3);
            }
            play.send(BOB, ALICE, &request("BYE", 1, "b")).send(ALICE, BOB, &response(200, "OK", "BYE", 1));
            let (told, text) = verdict_of(&mut play, 0);
            let early = told == "early-hangup" && kind.is_empty();
            assert!(told == kind || early, "{repeats} {acked} {hops}: {told} {text}");
        }
    }
    // The repetitions stop, and the call goes on: it was acknowledged past this tap.
    let mut play = Play::new();
    play.request("INVITE", 1).response(200, "OK", "INVITE", 1);
    for _ in 0..3 {
        play.wait(1).response(200, "OK", "INVITE", 1);
    }
    assert_eq!(verdict_of(hang_up(play.wait(30)), 0).0, "");
}

#[test]
fn an_invite_within_the_call_is_refused() {
    let again = |play: &mut Play, cseq, status| {
        play.send(ALICE, BOB, &tagged(&request("INVITE", cseq, "a")));
        play.send(BOB, ALICE, &response(status, "x", "INVITE", cseq));
        play.send(ALICE, BOB, &tagged(&request("ACK", cseq, "a")));
    };
    for (status, kind) in [
        (200, ""),
        (401, ""),
        (422, ""),
        (487, ""),
        (491, ""),
        (481, "reinvite-refused"),
        (488, "reinvite-refused"),
        (408, "reinvite-refused"),
        (500, "reinvite-refused"),
    ] {
        for wait in [1, 900] {
            let mut play = answered();
            again(&mut play, 2, status);
            let (told, text) = verdict_of(hang_up(play.wait(wait)), 0);
            assert_eq!(told, kind, "{status}: {text}");
            assert_eq!(text.contains("The call ended"), !kind.is_empty() && wait == 1, "{text}");
        }
        // One that is accepted makes it good.
        let mut play = answered();
        again(&mut play, 2, status);
        again(&mut play, 3, 200);
        assert_eq!(verdict_of(hang_up(&mut play), 0).0, "", "{status}");
    }
    // The callee asks.
    let mut play = answered();
    play.send(BOB, ALICE, &request("INVITE", 1, "b").replace("bob@example.com>\n", "bob@example.com>;tag=a\n"));
    let refusal = response(488, "Not Acceptable Here", "INVITE", 1).replace("tag=a\n", "tag=c\n");
    let (kind, text) = verdict_of(hang_up(play.send(ALICE, BOB, &refusal)), 0);
    assert!(kind == "reinvite-refused" && text.contains("192.0.2.1:5060 answered 192.0.2.2:5060 with 488"), "{text}");
    // Fax is refused, and the call goes on in sound.
    let mut play = answered();
    let body = "v=0\nc=IN IP4 192.0.2.1\nm=image 4000 udptl t38\n";
    let fax = tagged(&request("INVITE", 2, "a")).replace("Content-Length: 0\n\n", "Content-Type: application/sdp\n\n");
    play.send(ALICE, BOB, &format!("{fax}{body}")).response(488, "Not Acceptable Here", "INVITE", 2);
    assert_eq!(verdict_of(hang_up(&mut play), 0).0, "");
}

#[test]
fn the_reason_of_a_bye_tells_of_the_session_timer() {
    let cases = [
        ("Reason: SIP;cause=408;text=\"Session timer expired\"", "session-expired"),
        ("Reason: SIP ;cause=408 ;text=\"session timeout\"", "session-expired"),
        ("Reason: SIP;cause=408", "session-expired"),
        ("Reason: SIP;cause=200;text=\"Session expired\"", "session-expired"),
        ("Reason: SIP;cause=408;text=\"ACK Timeout\"", ""),
        ("Reason: SIP;cause=408;text=\"Request timeout\"", ""),
        ("Reason: SIP;cause=200;text=\"Call completed elsewhere\"", ""),
        ("Reason: Q.850;cause=16;text=\"Normal call clearing\"", ""),
        ("Subject: session timer expired", ""),
    ];
    for (header, kind) in cases {
        for (src, dst, tag) in [(ALICE, BOB, "a"), (BOB, ALICE, "b")] {
            let mut play = answered();
            play.send(src, dst, &with(&tagged(&request("BYE", 2, tag)), header));
            play.send(dst, src, &response(200, "OK", "BYE", 2));
            assert_eq!(verdict_of(&mut play, 0).0, kind, "{header}");
        }
    }
}

#[test]
fn a_transfer_fails_by_its_refusal_or_by_what_is_told_of_it() {
    let notify = |cseq, line: &str| {
        let head = request("NOTIFY", cseq, "b").replace("Content-Length: 0\n\n", "Content-Type: message/sipfrag\n\n");
        format!("{head}{line}\n")
    };
    let told = |refer: u16, lines: &[&str]| {
        let mut play = answered();
        play.send(ALICE, BOB, &tagged(&request("REFER", 2, "a"))).response(refer, "x", "REFER", 2);
        for (cseq, line) in (2..).zip(lines) {
            play.wait(3).send(BOB, ALICE, &notify(cseq, line)).send(ALICE, BOB, &response(200, "OK", "NOTIFY", cseq));
        }
        verdict_of(hang_up(&mut play), 0)
    };
    for (refer, lines, kind) in [
        (202, &["SIP/2.0 100 Trying", "SIP/2.0 200 OK"][..], ""),
        (202, &["SIP/2.0 100 Trying", "SIP/2.0 486 Busy Here"], "transfer-failed"),
        (202, &["SIP/2.0 503 Service Unavailable"], "transfer-failed"),
        (200, &["SIP/2.0 302 Moved", "SIP/2.0 200 OK"], ""),
        (202, &[], ""),
        (202, &["", "no status", "SIP/2.0", "SIP/2.0 9", "SIP/2.0 x86"], ""),
        (401, &[], ""),
        (603, &[], "transfer-failed"),
    ] {
        let (told, text) = told(refer, lines);
        assert_eq!(told, kind, "{refer} {lines:?}: {text}");
    }
    let (_, text) = told(202, &["SIP/2.0 486 Busy Here"]);
    assert!(text.contains("192.0.2.1:5060 asked 192.0.2.2:5060") && text.contains("486 Busy Here"), "{text}");
}

#[test]
fn a_bye_that_nobody_knows() {
    let bye = |answer: u16| {
        let mut play = answered();
        play.send(ALICE, BOB, &tagged(&request("BYE", 2, "a"))).response(answer, "x", "BYE", 2);
        play
    };
    assert_eq!(verdict_of(&mut bye(481), 0).0, "unknown-dialog");
    assert_eq!(verdict_of(&mut bye(200), 0).0, "");
    // On another try, or because both hang up at once.
    assert_eq!(verdict_of(hang_up(&mut bye(481)), 0).0, "");
    let mut play = bye(481);
    play.send(BOB, ALICE, &request("BYE", 7, "b"));
    assert_eq!(verdict_of(&mut play, 0).0, "");
    // Alone, of a call that the capture never saw.
    let mut play = Play::new();
    play.send(ALICE, BOB, &tagged(&request("BYE", 2, "a"))).response(481, "x", "BYE", 2);
    assert_eq!(verdict_of(&mut play, 0).0, "unknown-dialog");
}

#[test]
fn credentials_are_refused_by_who_asked_for_them() {
    let with_credentials =
        |cseq, proxy| with(&request("INVITE", cseq, "a"), &format!("{proxy}Authorization: Digest response=\"1\""));
    let challenge = |status: u16, cseq, more: &str| {
        let name = if status == 407 { "Proxy" } else { "WWW" };
        with(&response(status, "x", "INVITE", cseq), &format!("{name}-Authenticate: Digest nonce=\"{cseq}\"{more}"))
    };
    for (first, second, more, kind) in [
        (407, 407, "", "credentials-refused"),
        (401, 401, ", stale=false", "credentials-refused"),
        (407, 407, ", stale=true", "stale-nonce"),
        (407, 401, "", ""),
    ] {
        for tries in [1, 3] {
            let mut play = Play::new();
            play.request("INVITE", 1).send(BOB, ALICE, &challenge(first, 1, ""));
            for cseq in 2..2 + tries {
                play.wait(1).send(ALICE, BOB, &with_credentials(cseq, if first == 407 { "Proxy-" } else { "" }));
                play.send(BOB, ALICE, &challenge(second, cseq, more));
            }
            // Another server that asks in vain again and again refuses as well.
            let expected = if first != second && tries > 1 { "credentials-refused" } else { kind };
            let (told, text) = verdict_of(&mut play, 0);
            assert_eq!(told, expected, "{first} {second} {tries}: {text}");
        }
    }
    // Nobody came back, or it went well after all.
    let mut play = Play::new();
    play.request("INVITE", 1).send(BOB, ALICE, &challenge(407, 1, ""));
    assert_eq!(verdict_of(&mut play, 0).0, "");
    let mut play = Play::new();
    play.request("INVITE", 1).send(BOB, ALICE, &challenge(407, 1, ""));
    play.send(ALICE, BOB, &with_credentials(2, "Proxy-")).send(BOB, ALICE, &challenge(407, 2, ", stale=true"));
    play.send(ALICE, BOB, &with_credentials(3, "Proxy-")).response(180, "Ringing", "INVITE", 3);
    assert_eq!(verdict_of(&mut play, 0).0, "");
}

#[test]
fn ringing_has_an_end() {
    for (seconds, kind) in [(30, ""), (120, ""), (180, ""), (190, "long-ringing"), (290, "long-ringing")] {
        for answers in [true, false] {
            let mut play = Play::new();
            play.request("INVITE", 1).response(180, "Ringing", "INVITE", 1).wait(seconds);
            match answers {
                true => hang_up(play.response(200, "OK", "INVITE", 1).request("ACK", 1).wait(9)),
                false => play.request("CANCEL", 1).response(487, "Request Terminated", "INVITE", 1),
            };
            assert_eq!(verdict_of(&mut play, 0).0, kind, "{seconds} {answers}");
        }
    }
}

/// Over UDP two equal responses at once are a capture that holds one twice; over TCP the proxy passed on two, one of
/// each phone that rings, and what it said in between is not what the call waits at.
#[test]
fn two_phones_ring_over_tcp() {
    for (stream, code) in [(true, 180), (false, 183)] {
        let mut play = Play::new();
        play.request("INVITE", 1);
        for status in [180, 183, 180] {
            play.over(stream, BOB, ALICE, &response(status, "Ringing", "INVITE", 1));
        }
        let call = play.only_call().call;
        assert_eq!((call.state, call.code), (CallState::Ringing, code), "stream {stream}");
    }
}

#[test]
fn an_invite_over_tcp_is_sent_once() {
    for (stream, seconds, kind) in [(true, 31, ""), (true, 33, "no-response"), (false, 60, "")] {
        let mut play = Play::new();
        play.over(stream, ALICE, BOB, &request("INVITE", 1, "a"));
        let (told, text) = verdict_of(&mut play, seconds);
        assert_eq!(told, kind, "{text}");
        assert_eq!(text.contains("one direction alone"), !kind.is_empty(), "{text}");
    }
}

/// A message of a dialog, by two random numbers.
fn any_message(what: usize, number: u32) -> (bool, String) {
    const METHODS: [&str; 8] = ["INVITE", "ACK", "BYE", "CANCEL", "UPDATE", "REFER", "NOTIFY", "PRACK"];
    const STATUSES: [u16; 12] = [100, 180, 183, 200, 202, 302, 401, 407, 481, 487, 491, 603];
    let method = METHODS[what % METHODS.len()];
    let cseq = 1 + number % 3;
    let text = match number / 3 % 3 {
        0 => request(method, cseq, "a"),
        1 => tagged(&request(method, cseq, if number.is_multiple_of(2) { "a" } else { "b" })),
        _ => response(STATUSES[what / METHODS.len() % STATUSES.len()], "x", method, cseq),
    };
    let headers = ["Reason: SIP;cause=408", "Authorization: Digest response=\"1\"", "Reason: SIP cause", "Subject: x"];
    (number.is_multiple_of(5), with(&text, headers[number as usize / 9 % headers.len()]))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    /// Whatever comes in whatever order: a call is an attempt or joined, its times are in order, and a verdict that is
    /// given has a weight and names packets.
    #[test]
    fn any_order_of_messages_is_a_call(
        steps in prop::collection::vec((0..96usize, 0..1000u32, 0..400i64), 1..24),
    ) {
        let mut play = Play::new();
        for (what, number, wait) in steps {
            let (turned, text) = any_message(what, number);
            let (src, dst) = if turned { (BOB, ALICE) } else { (ALICE, BOB) };
            play.wait(wait / 8).send(src, dst, &text);
            let now = play.at_ns;
            play.signalling.tick(now);
        }
        let until_ns = play.at_ns;
        let closed = play.end().closed;
        let counters = &play.signalling.counters;
        prop_assert!(counters.calls + counters.joined >= closed.len() as u64);
        for closed in closed {
            let call = &closed.call;
            let joined = call.state == CallState::JoinedMidCall;
            prop_assert_eq!(joined, closed.facts.joined);
            prop_assert!(!joined || call.ringing_ns.is_none() && call.answer_ns.is_none());
            prop_assert!(call.end_ns.is_none_or(|end| end >= call.start_ns && end <= call.last_ns));
            let tap = crate::ledger::Tap { until_ns: until_ns.min(closed.deadline_ns), ..Default::default() };
            let case = Case { call, facts: &closed.facts, evidence: &[], media_seen: false, tap: &tap };
            if let Some((_, verdict)) = verdict::judge(&case) {
                prop_assert!(verdict::weight_of(&verdict.kind).is_some() && !verdict.packets.is_empty());
                prop_assert!(verdict.text.ends_with('.') && !verdict.text.contains("  "), "{}", verdict.text);
            }
        }
    }
}
