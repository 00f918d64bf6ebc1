//! Dialogs as they are on the wire, and the calls they become.

mod joined;
mod legs;
mod troubles;

use super::*;
use crate::limits::{LINGER_NS, SECOND_NS};
use trunkline_store::row::{CallState, Hangup, Message as Kept};

const ALICE: &str = "192.0.2.1:5060";
const BOB: &str = "192.0.2.2:5060";

struct Play {
    signalling: Signalling,
    at_ns: i64,
    number: u64,
}

impl Play {
    fn new() -> Self {
        Play { signalling: Signalling::default(), at_ns: 1_000 * SECOND_NS, number: 0 }
    }

    fn send(&mut self, src: &str, dst: &str, text: &str) -> &mut Self {
        self.over(false, src, dst, text)
    }

    /// Over TCP, if `stream` says so.
    fn over(&mut self, stream: bool, src: &str, dst: &str, text: &str) -> &mut Self {
        self.at_ns += SECOND_NS / 100;
        self.number += 1;
        let octets = text.replace('\n', "\r\n");
        self.signalling.handle(&Incoming {
            at_ns: self.at_ns,
            number: self.number,
            offset: self.number * 100,
            file: 0,
            src: src.parse().unwrap(),
            dst: dst.parse().unwrap(),
            stream,
            cut: false,
            octets: octets.as_bytes(),
        });
        self
    }

    fn wait(&mut self, seconds: i64) -> &mut Self {
        self.at_ns += seconds * SECOND_NS;
        self
    }

    fn request(&mut self, method: &str, cseq: u32) -> &mut Self {
        self.send(ALICE, BOB, &request(method, cseq, "a"))
    }

    fn response(&mut self, status: u16, reason: &str, method: &str, cseq: u32) -> &mut Self {
        self.send(BOB, ALICE, &response(status, reason, method, cseq))
    }

    fn end(&mut self) -> Output {
        self.signalling.finish();
        self.signalling.poll()
    }

    fn only_call(&mut self) -> Closed {
        let mut output = self.end();
        assert_eq!(output.closed.len(), 1);
        *output.closed.remove(0)
    }
}

fn request(method: &str, cseq: u32, from_tag: &str) -> String {
    format!(
        "{method} sip:bob@example.com SIP/2.0\nVia: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK{method}{cseq}\n\
         From: Alice <sip:alice@example.com;user=phone>;tag={from_tag}\nTo: <sip:bob@example.com>\nCall-ID: one\n\
         CSeq: {cseq} {method}\nUser-Agent: test\nContent-Length: 0\n\n"
    )
}

fn response(status: u16, reason: &str, method: &str, cseq: u32) -> String {
    format!(
        "SIP/2.0 {status} {reason}\nVia: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK{method}{cseq}\n\
         From: Alice <sip:alice@example.com>;tag=a\nTo: <sip:bob@example.com>;tag=b\nCall-ID: one\n\
         CSeq: {cseq} {method}\nContent-Length: 0\n\n"
    )
}

#[test]
fn a_call_from_invite_to_bye() {
    let mut play = Play::new();
    play.request("INVITE", 1).response(100, "Trying", "INVITE", 1).response(180, "Ringing", "INVITE", 1);
    play.wait(4).response(200, "OK", "INVITE", 1).request("ACK", 1);
    play.wait(60).send(BOB, ALICE, &request("BYE", 1, "b")).send(ALICE, BOB, &response(200, "OK", "BYE", 1));
    let closed = play.only_call();
    let call = closed.call;
    assert_eq!((call.state, call.code, call.reason.as_str()), (CallState::Completed, 200, "OK"));
    assert_eq!((call.from.as_str(), call.from_uri.as_str()), ("alice", "sip:alice@example.com"));
    assert_eq!((call.src.to_string().as_str(), call.hangup), (ALICE, Hangup::Callee));
    assert_eq!(call.answer_ns.unwrap() - call.start_ns, 4 * SECOND_NS + 3 * SECOND_NS / 100);
    assert_eq!(call.ladder.messages.len(), 7);
    assert!(closed.facts.acked && call.user_agent == "test");
}

#[test]
fn retransmissions_are_marked_and_do_not_move_times() {
    let mut play = Play::new();
    play.request("INVITE", 1).wait(1).request("INVITE", 1).wait(2).request("INVITE", 1);
    let closed = play.only_call();
    let marked = closed.call.ladder.messages.iter().filter(|m| m.flags & Kept::RETRANSMISSION != 0).count();
    assert_eq!((marked, closed.facts.request_repeats, closed.facts.responses), (2, 2, 0));
    assert_eq!(closed.call.state, CallState::Attempted);
}

#[test]
fn what_a_mirror_port_doubles_is_no_retransmission() {
    let mut play = Play::new();
    play.request("INVITE", 1).request("INVITE", 1).response(100, "Trying", "INVITE", 1);
    let closed = play.only_call();
    let flags: Vec<u8> = closed.call.ladder.messages.iter().map(|m| m.flags).collect();
    assert_eq!((flags, closed.facts.request_repeats), (vec![0, Kept::COPY, 0], 0));
}

#[test]
fn the_cause_that_a_refusal_gives_is_in_the_verdict() {
    let mut play = Play::new();
    let refusal = response(503, "Service Unavailable", "INVITE", 1)
        .replace("Content-Length", "Reason: Q.850;cause=34;text=\"No circuit available\"\nContent-Length");
    play.request("INVITE", 1).send(BOB, ALICE, &refusal);
    let closed = play.only_call();
    assert_eq!(closed.call.reason, "Service Unavailable");
    let case = crate::verdict::Case {
        call: &closed.call,
        facts: &closed.facts,
        evidence: &[],
        media_seen: false,
        tap: &Default::default(),
    };
    let (_, verdict) = crate::verdict::judge(&case).unwrap();
    assert!(verdict.text.ends_with("It says: Q.850 cause 34: No circuit available."), "{}", verdict.text);
}

/// Responses to the INVITE, whether it was cancelled, and the state and code that the call must have.
type Case = (&'static [(u16, &'static str)], bool, CallState, u16);

#[test]
fn states_follow_the_contract() {
    let cases: [Case; 8] = [
        (&[(100, "Trying")], false, CallState::Trying, 100),
        (&[(100, "Trying"), (183, "Session Progress")], false, CallState::Ringing, 183),
        (&[(407, "Proxy Authentication Required")], false, CallState::AuthChallenged, 407),
        (&[(302, "Moved")], false, CallState::Redirected, 302),
        (&[(180, "Ringing"), (486, "Busy Here")], false, CallState::Rejected, 486),
        (&[(180, "Ringing"), (487, "Request Terminated")], true, CallState::Cancelled, 487),
        (&[(180, "Ringing")], true, CallState::Cancelled, 180),
        (&[(200, "OK")], false, CallState::Answered, 200),
    ];
    for (responses, cancel, state, code) in cases {
        let mut play = Play::new();
        play.request("INVITE", 1);
        if cancel {
            play.request("CANCEL", 1);
        }
        for (status, reason) in responses {
            play.response(*status, reason, "INVITE", 1);
        }
        let call = play.only_call().call;
        assert_eq!((call.state, call.code), (state, code), "{responses:?}");
    }
}

#[test]
fn a_challenge_and_the_retry_are_one_call() {
    let mut play = Play::new();
    play.request("INVITE", 1).response(407, "Proxy Authentication Required", "INVITE", 1).request("ACK", 1);
    play.request("INVITE", 2).response(200, "OK", "INVITE", 2).request("ACK", 2);
    let call = play.only_call().call;
    assert_eq!((call.state, call.code), (CallState::Answered, 200));
}

#[test]
fn after_its_silence_the_same_call_id_is_another_call() {
    let mut play = Play::new();
    play.request("INVITE", 1).response(486, "Busy Here", "INVITE", 1).request("ACK", 1);
    play.wait(LINGER_NS / SECOND_NS + 1).request("INVITE", 1);
    let closed = play.end().closed;
    assert_eq!(closed.len(), 2);
    assert_ne!(closed[0].call.id, closed[1].call.id);
}

#[test]
fn calls_leave_when_they_are_over() {
    let mut play = Play::new();
    play.request("INVITE", 1).response(486, "Busy Here", "INVITE", 1);
    let over = play.at_ns + LINGER_NS;
    play.signalling.tick(over);
    assert!(play.signalling.poll().closed.is_empty());
    play.signalling.tick(over + 1);
    assert_eq!(play.signalling.poll().closed.len(), 1);
}

#[test]
fn a_bye_brings_the_end_nearer_than_an_answered_call_waits() {
    let mut play = Play::new();
    play.request("INVITE", 1).response(200, "OK", "INVITE", 1).request("ACK", 1);
    let now = play.at_ns;
    play.signalling.tick(now);
    play.wait(5).request("BYE", 2).response(200, "OK", "BYE", 2);
    let now = play.at_ns;
    play.signalling.tick(now);
    play.signalling.tick(now + LINGER_NS + 1);
    assert_eq!(play.signalling.poll().closed.len(), 1);
}

#[test]
fn a_registration_with_its_challenge_is_one_row() {
    let mut play = Play::new();
    play.request("REGISTER", 1).response(401, "Unauthorized", "REGISTER", 1);
    let again = request("REGISTER", 2, "a").replace("User-Agent", "Authorization: Digest x=\"y\"\nUser-Agent");
    play.send(ALICE, BOB, &again).response(200, "OK", "REGISTER", 2);
    let rows = play.end().registrations;
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].code, rows[0].requests, rows[0].verdict.is_none()), (200, 2, true));
}

#[test]
fn refused_credentials_are_a_failed_registration() {
    let mut play = Play::new();
    for cseq in 1..4 {
        let text = request("REGISTER", cseq, "a").replace("User-Agent", "Authorization: Digest x=\"y\"\nUser-Agent");
        play.send(ALICE, BOB, &text).response(401, "Unauthorized", "REGISTER", cseq);
    }
    let rows = play.end().registrations;
    assert_eq!(rows[0].verdict.as_ref().unwrap().kind, "registration-failed");
}

fn challenged(status: &str, stale: &str, cseq: u32) -> String {
    response(401, status, "REGISTER", cseq).replace(
        "Content-Length",
        &format!("WWW-Authenticate: Digest realm=\"a, stale=true\", nonce=\"{cseq}\"{stale}\nContent-Length"),
    )
}

fn credentials(cseq: u32) -> String {
    request("REGISTER", cseq, "a").replace("User-Agent", "Authorization: Digest x=\"y\"\nUser-Agent")
}

#[test]
fn a_stale_nonce_is_told_from_a_wrong_password() {
    let cases = [
        ("Unauthorized", "", "registration-failed"),
        ("Unauthorized", ", stale=false", "registration-failed"),
        ("Unauthorized", ",algorithm=MD5, STALE = \"TRUE\"", "stale-nonce"),
        ("Unauthorized", ",stale=true,qop=\"auth\"", "stale-nonce"),
        ("Nonce has changed", ", stale=false", "stale-nonce"),
    ];
    for (reason, stale, kind) in cases {
        let mut play = Play::new();
        play.request("REGISTER", 1).send(BOB, ALICE, &challenged("Unauthorized", "", 1));
        play.wait(17).send(ALICE, BOB, &credentials(2)).send(BOB, ALICE, &challenged(reason, stale, 2));
        let verdict = play.end().registrations.remove(0).verdict.unwrap();
        assert_eq!(verdict.kind, kind, "{reason}{stale}: {}", verdict.text);
        assert_eq!(verdict.text.contains("17.0 s after the challenge"), kind == "stale-nonce", "{}", verdict.text);
    }
}

#[test]
fn a_stale_nonce_that_was_renewed_is_nothing_and_the_last_refusal_counts() {
    let stale = challenged("Unauthorized", ", stale=true", 1);
    let mut play = Play::new();
    play.send(ALICE, BOB, &credentials(1)).send(BOB, ALICE, &stale);
    play.send(ALICE, BOB, &credentials(2)).response(200, "OK", "REGISTER", 2);
    assert_eq!(play.end().registrations[0].verdict, None);
    let mut play = Play::new();
    play.send(ALICE, BOB, &credentials(1)).send(BOB, ALICE, &stale);
    play.send(ALICE, BOB, &credentials(2)).send(BOB, ALICE, &challenged("Unauthorized", "", 2));
    assert_eq!(play.end().registrations[0].verdict.as_ref().unwrap().kind, "registration-failed");
    // Credentials of an earlier registration, a new challenge, and a client that gives up: nobody refused a password.
    let mut play = Play::new();
    play.send(ALICE, BOB, &credentials(1)).send(BOB, ALICE, &stale);
    let verdict = play.end().registrations.remove(0).verdict.unwrap();
    assert_eq!(verdict.kind, "stale-nonce");
    assert!(!verdict.text.contains("after the challenge"), "{}", verdict.text);
}

#[test]
fn a_registration_may_go_on_from_another_port() {
    // As IMS does it: an Authorization without an answer, the challenge, then through IPsec with a port of its own.
    const PROTECTED: &str = "192.0.2.1:6301";
    let with = |cseq, response| {
        let header = format!("Authorization: Digest username=\"a\",nonce=\"\",response=\"{response}\"\nUser-Agent");
        request("REGISTER", cseq, "a").replace("User-Agent", &header)
    };
    let mut play = Play::new();
    play.send(ALICE, BOB, &with(1, "")).response(401, "Unauthorized", "REGISTER", 1);
    assert_eq!(play.end().registrations[0].verdict, None);
    let mut play = Play::new();
    play.send(ALICE, BOB, &with(1, "")).response(401, "Unauthorized", "REGISTER", 1);
    play.send(PROTECTED, BOB, &with(2, "6317")).send(BOB, PROTECTED, &response(200, "OK", "REGISTER", 2));
    let rows = play.end().registrations;
    assert_eq!((rows.len(), rows[0].code, &rows[0].verdict), (1, 200, &None));
}

#[test]
fn single_requests_become_events_with_their_response_time() {
    let mut play = Play::new();
    play.request("OPTIONS", 7).wait(1).response(200, "OK", "OPTIONS", 7);
    let events = play.end().events;
    assert_eq!(events.len(), 1);
    assert_eq!((events[0].method.as_str(), events[0].code), ("OPTIONS", 200));
    assert_eq!(events[0].end_ns.unwrap() - events[0].start_ns, SECOND_NS + SECOND_NS / 100);
}

#[test]
fn sdp_is_announced_once() {
    let sdp = "v=0\no=- 1 1 IN IP4 192.0.2.1\ns=-\nc=IN IP4 192.0.2.1\nt=0 0\nm=audio 4000 RTP/AVP 8 101\n\
               a=rtpmap:101 telephone-event/8000\n";
    let invite = request("INVITE", 1, "a").replace(
        "Content-Length: 0\n\n",
        &format!("Content-Type: application/sdp\nContent-Length: {}\n\n{sdp}", sdp.replace('\n', "\r\n").len()),
    );
    let mut play = Play::new();
    play.send(ALICE, BOB, &invite).send(ALICE, BOB, &invite);
    let output = play.signalling.poll();
    assert_eq!(output.notices.len(), 1);
    let Notice::Announce(a) = &output.notices[0].notice else { panic!("not an announcement") };
    assert_eq!((a.endpoint.to_string().as_str(), a.party), ("192.0.2.1:4000", row::Direction::Caller));
    let call = play.only_call();
    assert_eq!(call.facts.parties[0].payload_types, 1 << 8 | 1 << 101);
    assert!(call.call.ladder.texts.contains("192.0.2.1:4000 PCMA"));
}

#[test]
fn a_bye_before_its_answer_ends_a_call_of_no_length() {
    let mut play = Play::new();
    play.request("INVITE", 1).request("BYE", 2).response(200, "OK", "INVITE", 1);
    let call = play.only_call().call;
    assert_eq!((call.state, call.end_ns), (CallState::Completed, call.answer_ns));
}

/// What one SDP body of a call made known: remark, party and announcements.
fn told(play: &mut Play, call_id: &str, src: &str, body: &str) -> String {
    let invite = request("INVITE", 1, "a").replace("Call-ID: one", &format!("Call-ID: {call_id}"));
    let head = invite.replace("Content-Length: 0\n\n", "Content-Type: application/sdp\n\n");
    play.send(src, BOB, &format!("{head}{body}"));
    let notices: Vec<String> = play.signalling.poll().notices.into_iter().map(|n| announced(&n.notice)).collect();
    let mut calls = play.signalling.slots.iter().filter_map(|slot| slot.call.as_ref());
    let call = calls.find(|c| c.sip_call_id() == call_id).unwrap();
    format!("{} {:?} {notices:?}", play.signalling.remark, call.facts.parties)
}

fn announced(notice: &Notice) -> String {
    match notice {
        Notice::Announce(a) => format!("{:?} {} {:?} {:?} {}", a.party, a.endpoint, a.kind, a.payloads, a.encrypted),
        Notice::Control(c) => format!("{} {}", c.rtcp, c.rtp),
        _ => panic!("{notice:?}"),
    }
}

#[test]
fn a_section_that_was_read_before_says_what_it_says_when_it_is_read() {
    let head = "v=0\no=- 1 1 IN IP4 x\ns=-\nc=IN IP4 ADDRESS\nt=0 0\nm=audio PORT ";
    for section in [
        "RTP/AVP 0 8 101\na=rtpmap:101 telephone-event/8000\na=ptime:30\n",
        "RTP/SAVP 0\na=crypto:1 x\na=sendonly\n",
        "RTP/AVP 97 300\na=inactive\nbad\n",
        "udptl t38\n",
        "RTP/AVP 0\nc=IN IP4 198.51.100.1\n",
        "RTP/AVP 0\nm=audio 7000 RTP/AVP 8\n",
        "RTP/AVP 0\na=candidate:1 1 UDP 1 198.51.100.9 5 typ host\n",
        "RTP/AVP 0\na=rtcp:53020\n",
        "RTP/AVP 0\na=rtcp:53020 IN IP4 198.51.100.4\na=rtcp-mux\n",
        "",
    ] {
        let body = |address, port| format!("{head}{section}").replace("ADDRESS", address).replace("PORT", port);
        let mut twice = Play::new();
        told(&mut twice, "first", ALICE, &body("192.0.2.7", "4000"));
        for (i, (address, port)) in
            [("192.0.2.8", "4002"), ("10.0.0.1", "4004"), ("0.0.0.0", "4006"), ("192.0.2.8", "0")].iter().enumerate()
        {
            let (call_id, src) = (format!("call{i}"), if i % 2 == 0 { ALICE } else { "203.0.113.5:5060" });
            let again = told(&mut twice, &call_id, src, &body(address, port));
            assert_eq!(again, told(&mut Play::new(), &call_id, src, &body(address, port)), "{section}");
        }
    }
}

/// A call is begun in the memory of one that was closed: nothing of that shows.
#[test]
fn a_closed_call_leaves_nothing_to_the_next() {
    let second = |play: &mut Play| {
        let output = play.request("INVITE", 7).response(180, "Ringing", "INVITE", 7).end();
        format!("{:?}", output.closed)
    };
    let mut play = Play::new();
    let sdp = "v=0\nc=IN IP4 192.0.2.9\nm=audio 4000 RTP/AVP 0 8\n";
    let invite = request("INVITE", 1, "x").replace("Content-Length: 0\n\n", "Content-Type: application/sdp\n\n");
    play.send(BOB, ALICE, &format!("{invite}{sdp}"));
    for n in 0..40 {
        let host = format!("192.0.2.{}:5060", n + 1);
        play.send(&host, BOB, &response(486, &"Busy ".repeat(20), "INVITE", 1).replace("K", &n.to_string()));
    }
    play.request("CANCEL", 1).request("BYE", 2).response(200, "OK", "BYE", 2).wait(1000);
    play.signalling.tick(play.at_ns);
    assert_eq!((play.signalling.poll().closed.len(), play.signalling.spare.len()), (1, 1));
    let mut fresh = Play::new();
    (fresh.at_ns, fresh.number) = (play.at_ns, play.number);
    let after = second(&mut play).replace("serial: 2", "serial: 1");
    assert_eq!(after, second(&mut fresh));
}

#[test]
fn what_is_up_is_counted_and_the_newest_are_listed() {
    let mut play = Play::new();
    let text = |method: &str, call: usize| request(method, 1, "a").replace("Call-ID: ", &format!("Call-ID: {call}-"));
    for call in 0..5000 {
        play.send(ALICE, BOB, &text("INVITE", call));
    }
    assert_eq!(play.signalling.calls_up(), 5000);
    let newest = play.signalling.newest_up(3);
    assert!(newest[0].sip_call_id.starts_with("4999-") && newest[2].sip_call_id.starts_with("4997-"), "{newest:?}");
    assert_eq!((newest[0].state, newest[0].answer_ns), (CallState::Attempted, None));
    assert!(play.signalling.newest_up(usize::MAX).len() >= crate::limits::BEGUN_KEPT_MAX / 2);
    // A BYE ends a call that was never seen to be answered, a refusal one that was not; the retry takes that back.
    play.send(ALICE, BOB, &text("BYE", 4999));
    let refusal = |status| response(status, "No", "INVITE", 1).replace("Call-ID: ", "Call-ID: 4998-");
    play.send(BOB, ALICE, &refusal(401));
    assert_eq!(play.signalling.calls_up(), 4998);
    assert!(play.signalling.newest_up(1)[0].sip_call_id.starts_with("4997-"));
    let accepted = response(200, "OK", "INVITE", 1).replace("Call-ID: ", "Call-ID: 4998-");
    play.send(BOB, ALICE, &accepted);
    assert_eq!(play.signalling.calls_up(), 4999);
    assert_eq!(play.signalling.newest_up(1)[0].state, CallState::Answered);
    play.signalling.finish();
    assert_eq!((play.signalling.calls_up(), play.signalling.newest_up(9).len()), (0, 0));
}
