//! Calls that were there before the capture, and those of which one direction alone was captured.

use super::*;

fn tagged(text: &str) -> String {
    text.replace("To: <sip:bob@example.com>\n", "To: <sip:bob@example.com>;tag=b\n")
}

/// What a first message makes of a call: state, whether it is up, whether its sides are known.
fn joined(text: &str, stream: bool) -> (CallState, bool, bool, Closed) {
    let mut play = Play::new();
    play.over(stream, ALICE, BOB, text);
    let up = play.signalling.calls_up() == 1;
    let counted = (play.signalling.counters.calls, play.signalling.counters.joined);
    let closed = play.only_call();
    assert_eq!(counted, (0, 1), "{text}");
    (closed.call.state, up, closed.facts.sides_known, closed)
}

#[test]
fn whatever_comes_first_the_call_is_no_new_attempt() {
    let cases = [
        (tagged(&request("INVITE", 5, "a")), true, false),
        (tagged(&request("UPDATE", 5, "a")), true, false),
        (tagged(&request("PRACK", 5, "a")), true, false),
        (tagged(&request("ACK", 5, "a")), true, false),
        (tagged(&request("BYE", 5, "a")), false, false),
        (request("CANCEL", 5, "a"), false, true),
        (response(200, "OK", "INVITE", 5), true, false),
        (response(180, "Ringing", "INVITE", 5), true, true),
        (response(100, "Trying", "INVITE", 5).replace(";tag=b", ""), true, true),
        (response(100, "Trying", "INVITE", 5), true, false),
        (response(486, "Busy Here", "INVITE", 5), false, false),
    ];
    for (text, up, sides_known) in cases {
        for stream in [false, true] {
            let (state, was_up, sides, closed) = joined(&text, stream);
            assert_eq!((state, was_up, sides), (CallState::JoinedMidCall, up, sides_known), "{text}");
            let call = &closed.call;
            assert_eq!((call.ringing_ns, call.answer_ns, call.hangup), (None, None, Hangup::None), "{text}");
            assert_eq!(call.end_ns.is_some(), !up, "{text}");
        }
    }
    // What stands alone anyway, and responses to what a call is not made of, join nothing.
    for text in [request("OPTIONS", 1, "a"), request("MESSAGE", 1, "a"), response(200, "OK", "BYE", 2)] {
        let mut play = Play::new();
        play.send(ALICE, BOB, &text);
        assert!(play.end().closed.is_empty(), "{text}");
    }
}

#[test]
fn a_joined_call_stays_up_until_its_bye_whatever_becomes_of_refreshes() {
    for (wait, status) in [(1, 200), (1800, 200), (3600, 488), (7000, 491)] {
        let mut play = Play::new();
        play.send(BOB, ALICE, &tagged(&request("INVITE", 7, "b")).replace("tag=b\nCall", "tag=a\nCall"));
        let turned = |text: String| text.replace("tag=a", "tag=x").replace("tag=b", "tag=a").replace("tag=x", "tag=b");
        play.send(ALICE, BOB, &turned(response(status, "x", "INVITE", 7))).wait(wait);
        let now = play.at_ns;
        play.signalling.tick(now);
        assert_eq!(play.signalling.calls_up(), 1, "{wait} {status}");
        play.send(ALICE, BOB, &tagged(&request("BYE", 9, "a"))).send(BOB, ALICE, &response(200, "OK", "BYE", 9));
        assert_eq!(play.signalling.calls_up(), 0);
        let call = play.only_call().call;
        assert_eq!((call.state, call.code, setup_ns(&call)), (CallState::JoinedMidCall, 0, None), "{wait} {status}");
        assert!(call.end_ns.is_some());
    }
}

fn setup_ns(call: &row::Call) -> Option<i64> {
    call.answer_ns.map(|at| at - call.start_ns)
}

#[test]
fn an_invite_that_is_seen_after_all_makes_it_an_attempt() {
    for first in [response(100, "Trying", "INVITE", 1), response(180, "Ringing", "INVITE", 1)] {
        let mut play = Play::new();
        play.send(BOB, ALICE, &first).request("INVITE", 1).response(200, "OK", "INVITE", 1).request("ACK", 1);
        assert_eq!((play.signalling.counters.calls, play.signalling.counters.joined), (1, 1));
        let call = play.only_call().call;
        assert_eq!((call.state, call.code, call.answer_ns.is_some()), (CallState::Answered, 200, true));
    }
}

#[test]
fn what_comes_after_the_call_was_closed_joins_nothing() {
    let late = [
        tagged(&request("ACK", 1, "a")),
        tagged(&request("BYE", 2, "a")),
        response(200, "OK", "INVITE", 1),
        response(487, "Request Terminated", "INVITE", 1),
        request("CANCEL", 1, "a"),
    ];
    for text in late {
        let mut play = Play::new();
        play.request("INVITE", 1).response(200, "OK", "INVITE", 1).request("ACK", 1);
        play.request("BYE", 2).response(200, "OK", "BYE", 2).wait(60);
        let now = play.at_ns;
        play.signalling.tick(now);
        play.send(ALICE, BOB, &text);
        assert_eq!((play.end().closed.len(), play.signalling.counters.joined), (1, 0), "{text}");
    }
}

#[test]
fn requests_alone_tell_of_the_answer() {
    for (seconds, hops) in [(1, 1), (3, 2), (50, 1)] {
        let mut play = Play::new();
        let send = |play: &mut Play, text: &str| {
            play.send(ALICE, BOB, text);
            if hops == 2 {
                let further = text.replacen("branch=z9hG4bK", "branch=z9hG4bKp", 1);
                play.send(BOB, "192.0.2.3:5060", &further);
            }
        };
        send(&mut play, &request("INVITE", 1, "a"));
        play.wait(seconds);
        send(&mut play, &tagged(&request("ACK", 1, "a")));
        play.wait(20);
        send(&mut play, &tagged(&request("BYE", 2, "a")));
        let closed = play.only_call();
        let call = &closed.call;
        assert_eq!((call.state, call.code, call.hangup), (CallState::Completed, 0, Hangup::Caller));
        assert!((setup_ns(call).unwrap() - seconds * SECOND_NS).abs() < SECOND_NS / 5 && closed.facts.one_direction);
    }
    // The ACK of a refusal has the branch of its INVITE.
    let mut play = Play::new();
    let ack = tagged(&request("ACK", 1, "a")).replace("z9hG4bKACK1", "z9hG4bKINVITE1");
    play.request("INVITE", 1).send(ALICE, BOB, &ack);
    let closed = play.only_call();
    assert_eq!((closed.call.state, closed.facts.one_direction), (CallState::Attempted, false));
    // Captured out of order: the response counts.
    let mut play = Play::new();
    play.request("INVITE", 1).wait(2).send(ALICE, BOB, &tagged(&request("ACK", 1, "a")));
    play.response(200, "OK", "INVITE", 1);
    let closed = play.only_call();
    assert_eq!((closed.call.code, closed.facts.one_direction), (200, false));
}

#[test]
fn an_answer_that_the_tap_lost_shows_in_what_follows_it() {
    for (rings, by_callee) in [(true, false), (true, true), (false, false)] {
        let mut play = Play::new();
        play.request("INVITE", 1).response(100, "Trying", "INVITE", 1);
        if rings {
            play.response(180, "Ringing", "INVITE", 1);
        }
        play.wait(5).send(ALICE, BOB, &tagged(&request("ACK", 1, "a")));
        play.wait(28);
        let bye = tagged(&request("BYE", 2, "a"));
        if by_callee {
            play.send(BOB, ALICE, &bye.replace("From:", "X:").replace("To:", "From:").replace("X:", "To:"));
        } else {
            play.send(ALICE, BOB, &bye);
        }
        play.response(200, "OK", "BYE", 2);
        let closed = play.only_call();
        let (call, facts) = (&closed.call, &closed.facts);
        assert_eq!((call.state, call.code), (CallState::Completed, 0));
        assert_eq!((facts.answer_unseen, facts.one_direction), (true, false));
        let talked = call.end_ns.unwrap() - call.answer_ns.unwrap();
        assert!((talked - 28 * SECOND_NS).abs() < SECOND_NS / 5, "{talked}");
    }
    // A BYE within an early dialog, and the ACK of a refusal that the tap lost, say nothing of an answer.
    let mut play = Play::new();
    play.request("INVITE", 1).response(180, "Ringing", "INVITE", 1);
    play.wait(5).send(ALICE, BOB, &tagged(&request("BYE", 2, "a")));
    let closed = play.only_call();
    assert!(!closed.facts.answer_unseen && closed.call.state != CallState::Completed, "{:?}", closed.call.state);
    let mut play = Play::new();
    let ack = tagged(&request("ACK", 1, "a")).replace("z9hG4bKACK1", "z9hG4bKINVITE1");
    play.request("INVITE", 1).response(180, "Ringing", "INVITE", 1);
    play.wait(5).send(ALICE, BOB, &ack);
    assert!(!play.only_call().facts.answer_unseen);
}
