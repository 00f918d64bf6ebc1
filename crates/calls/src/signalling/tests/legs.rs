//! Calls of several transactions, dialogs and legs: challenges, forks, hunts, two that answer, agents back to back.

use super::*;

const CAROL: &str = "192.0.2.3:5060";
const DAVE: &str = "192.0.2.4:5060";

/// The same message of another transaction.
fn branched(text: &str, branch: &str) -> String {
    let end = text.find(";branch=").unwrap() + ";branch=".len();
    let behind = text[end..].find('\n').unwrap();
    format!("{}z9hG4bK{branch}{}", &text[..end], &text[end + behind..])
}

fn tagged(text: &str, to_tag: &str) -> String {
    text.replace("To: <sip:bob@example.com>;tag=b", &format!("To: <sip:bob@example.com>;tag={to_tag}"))
        .replace("To: <sip:bob@example.com>\n", &format!("To: <sip:bob@example.com>;tag={to_tag}\n"))
}

#[test]
fn ringing_after_a_challenge_or_a_redirection_is_the_same_call_however_long() {
    for (status, seconds) in [(401, 33), (407, 40), (407, 180), (302, 90), (305, 290)] {
        let mut play = Play::new();
        play.request("INVITE", 1).response(status, "No", "INVITE", 1).request("ACK", 1);
        play.wait(20).request("INVITE", 2).response(100, "Trying", "INVITE", 2);
        assert_eq!(play.signalling.calls_up(), 1);
        play.response(180, "Ringing", "INVITE", 2).wait(seconds);
        assert_eq!(play.signalling.newest_up(1)[0].state, CallState::Ringing, "{status}");
        let (at_ns, up) = (play.at_ns, play.signalling.calls_up());
        play.signalling.tick(at_ns);
        play.response(200, "OK", "INVITE", 2).request("ACK", 2).request("BYE", 3).response(200, "OK", "BYE", 3);
        let call = play.only_call().call;
        assert_eq!((call.state, call.code, up), (CallState::Completed, 200, 1), "{status}");
        let setup_ns = call.answer_ns.unwrap() - call.start_ns;
        assert!(
            setup_ns >= (20 + seconds) * SECOND_NS && call.ringing_ns.unwrap() < call.answer_ns.unwrap(),
            "{status}"
        );
    }
}

#[test]
fn a_refusal_ends_nothing_while_another_target_is_asked() {
    // The proxy's side alone passes the tap: one target after the other.
    let mut play = Play::new();
    let invite = |branch: &str| branched(&request("INVITE", 1, "a"), branch);
    let answer = |status, branch: &str| branched(&response(status, "x", "INVITE", 1), branch);
    play.send(ALICE, BOB, &invite("b1")).send(BOB, ALICE, &answer(180, "b1")).wait(15);
    play.send(ALICE, BOB, &branched(&request("CANCEL", 1, "a"), "b1")).send(BOB, ALICE, &answer(487, "b1"));
    play.send(ALICE, CAROL, &invite("b2")).send(CAROL, ALICE, &answer(503, "b2"));
    play.send(ALICE, DAVE, &invite("b3")).send(DAVE, ALICE, &answer(183, "b3")).wait(120);
    assert_eq!(play.signalling.newest_up(1)[0].state, CallState::Ringing);
    play.send(DAVE, ALICE, &answer(200, "b3")).request("ACK", 1);
    assert_eq!(play.only_call().call.state, CallState::Answered);
    // All at once: what the caller gets is the 6xx, for which the others are cancelled.
    let mut play = Play::new();
    play.send(ALICE, BOB, &invite("b1")).send(ALICE, CAROL, &invite("b2")).send(CAROL, ALICE, &answer(180, "b2"));
    play.send(BOB, ALICE, &answer(603, "b1")).send(ALICE, CAROL, &branched(&request("CANCEL", 1, "a"), "b2"));
    play.send(CAROL, ALICE, &answer(487, "b2"));
    let call = play.only_call().call;
    assert_eq!((call.state, call.code), (CallState::Rejected, 603));
}

#[test]
fn of_two_that_answer_a_fork_one_is_sent_away() {
    let answer = |tag: &str, src: &str, play: &mut Play| {
        play.send(src, ALICE, &tagged(&response(200, "OK", "INVITE", 1), tag));
        play.send(ALICE, src, &tagged(&request("ACK", 1, "a"), tag));
    };
    let bye = |play: &mut Play, cseq, tag: &str| {
        play.send(ALICE, BOB, &tagged(&request("BYE", cseq, "a"), tag));
        play.send(BOB, ALICE, &tagged(&response(200, "OK", "BYE", cseq), tag));
    };
    for first in ["b", "c"] {
        let second = if first == "b" { "c" } else { "b" };
        let mut play = Play::new();
        play.request("INVITE", 1);
        answer("b", BOB, &mut play);
        answer("c", CAROL, &mut play);
        bye(&mut play, 2, first);
        assert_eq!(play.signalling.calls_up(), 1);
        play.wait(60);
        bye(&mut play, 3, second);
        let call = play.only_call().call;
        assert_eq!((call.state, call.hangup), (CallState::Completed, Hangup::Caller));
        assert!(call.end_ns.unwrap() - call.answer_ns.unwrap() >= 60 * SECOND_NS);
    }
}

#[test]
fn a_call_id_that_comes_again_after_the_end_is_another_call() {
    let mut play = Play::new();
    let call = |play: &mut Play, tag: &str, cseq: u32| {
        let of = |text: String| branched(&text.replace("tag=a", &format!("tag={tag}")), &format!("{tag}{cseq}"));
        play.send(ALICE, BOB, &of(request("INVITE", cseq, "a")));
        play.send(BOB, ALICE, &of(response(200, "OK", "INVITE", cseq)));
        play.send(ALICE, BOB, &of(request("ACK", cseq, "a")));
        play.wait(10).send(ALICE, BOB, &of(request("BYE", cseq + 1, "a")));
        play.send(BOB, ALICE, &of(response(200, "OK", "BYE", cseq + 1)));
    };
    call(&mut play, "first", 1);
    call(&mut play, "second", 1);
    // The same tag, but an INVITE outside of the dialog that has ended.
    call(&mut play, "second", 7);
    let closed = play.end().closed;
    assert_eq!(closed.iter().map(|c| c.call.state).collect::<Vec<_>>(), [CallState::Completed; 3]);
    assert!(closed.iter().all(|c| c.call.ladder.messages.len() == 5));
}

#[test]
fn sides_are_told_by_dialogs_on_each_leg() {
    // A back-to-back user agent, CAROL, keeps the Call-ID and has tags of its own on the second leg.
    let with = |text: String, host: &str| {
        let sdp = format!("v=0\nc=IN IP4 {host}\nm=audio 4000 RTP/AVP 0\n");
        text.replace("Content-Length: 0\n\n", "Content-Type: application/sdp\n\n") + &sdp
    };
    let second = |text: String| branched(&text.replace("tag=a", "tag=p").replace("tag=b", "tag=q"), "leg2");
    let mut play = Play::new();
    play.send(ALICE, CAROL, &with(request("INVITE", 1, "a"), "192.0.2.1"));
    play.send(CAROL, BOB, &second(with(request("INVITE", 1, "a"), "192.0.2.33")));
    play.send(BOB, CAROL, &second(with(response(200, "OK", "INVITE", 1), "192.0.2.2")));
    play.send(CAROL, ALICE, &with(response(200, "OK", "INVITE", 1), "192.0.2.34"));
    let notices = play.signalling.poll().notices;
    let told: Vec<_> =
        notices.iter().filter_map(|n| if let Notice::Announce(a) = &n.notice { Some(a) } else { None }).collect();
    let side = |address: &str| told.iter().find(|a| a.endpoint.to_string() == format!("{address}:4000")).unwrap().party;
    use row::Direction::{Callee, Caller};
    assert_eq!(["192.0.2.1", "192.0.2.33", "192.0.2.2", "192.0.2.34"].map(side), [Caller, Caller, Callee, Callee]);
    // Who hangs up is told alike: the callee, on the second leg.
    play.send(BOB, CAROL, &second(request("BYE", 9, "b")));
    assert_eq!(play.only_call().call.hangup, Hangup::Callee);
}

mod mixtures {
    use super::*;
    use proptest::prelude::*;

    /// What a target of a proxy does: provisional responses, then a refusal, or nothing.
    fn target() -> impl Strategy<Value = Vec<u16>> {
        let provisional = prop::collection::vec(prop_oneof![Just(100u16), Just(180), Just(183)], 0..3);
        (provisional, prop::option::of(prop_oneof![Just(486u16), Just(503), Just(408), Just(487), Just(404)]))
            .prop_map(|(all, last)| all.into_iter().chain(last).collect())
    }

    proptest! {
        /// Whatever a proxy is told by its targets, and however long they ring, the call is one, and ends as the caller
        /// is told.
        #[test]
        fn what_the_caller_is_told_counts(
            challenges in 0..3u32,
            targets in prop::collection::vec(target(), 1..5),
            order in prop::collection::vec((0..5usize, 0..100i64), 20),
            result in prop_oneof![Just(200u16), Just(486), Just(408), Just(487), Just(603), Just(503), Just(0)],
        ) {
            let mut play = Play::new();
            for n in 1..=challenges {
                play.send(ALICE, CAROL, &request("INVITE", n, "a"));
                play.send(CAROL, ALICE, &response(407, "No", "INVITE", n)).send(ALICE, CAROL, &request("ACK", n, "a"));
                play.wait(25);
            }
            let cseq = challenges + 1;
            play.send(ALICE, CAROL, &request("INVITE", cseq, "a"));
            play.send(CAROL, ALICE, &response(100, "Trying", "INVITE", cseq));
            let mut left = targets.clone();
            let of = |text: String, n: usize| branched(&text, &format!("target{n}"));
            for (n, _) in targets.iter().enumerate() {
                play.send(CAROL, BOB, &of(request("INVITE", cseq, "a"), n));
            }
            for (n, seconds) in order {
                let Some(status) = left.get_mut(n).filter(|l| !l.is_empty()).map(|l| l.remove(0)) else { continue };
                play.wait(seconds).send(BOB, CAROL, &of(response(status, "x", "INVITE", cseq), n));
                if status == 180 {
                    play.send(CAROL, ALICE, &response(180, "Ringing", "INVITE", cseq));
                }
            }
            prop_assert_eq!(play.signalling.calls_up(), 1);
            if result > 0 {
                play.wait(30).send(CAROL, ALICE, &response(result, "x", "INVITE", cseq));
            }
            let call = play.only_call().call;
            let state = match result {
                0 if call.ringing_ns.is_some() && call.code == 180 => CallState::Ringing,
                0 => CallState::Trying,
                200 => CallState::Answered,
                487 => CallState::Cancelled,
                _ => CallState::Rejected,
            };
            prop_assert_eq!(call.state, state);
            prop_assert!(result == 0 || call.code == result);
        }
    }
}
