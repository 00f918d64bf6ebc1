//! What is agreed about media before the answer, by reliable responses, PRACK and UPDATE (RFC 3262, RFC 3311, RFC
//! 6337), and what becomes of media of calls that nobody takes. Each case is one that users report, with what is true
//! of it; the reports are named.

use crate::tape::{Side, Tape, audio, end, kind, rtp, says, sdp, udp};
use trunkline_store::row::{Call, CallState, Rows};

const INVITE: &str = "INVITE sip:b@x SIP/2.0";
const A: &str = "192.0.2.10:4000";
const B: &str = "198.51.100.20:6000";
/// Another machine of the callee.
const C: &str = "198.51.100.30:7000";

fn side(media: &str, tag: &'static str) -> Side {
    let media = end(media);
    Side { signals: trunkline_wire::Endpoint::new(media.address, 5060), tag, sdp: audio(media) }
}

/// PCMU, PCMA or both, some way.
fn described(media: &str, types: &str, way: &str) -> String {
    sdp(end(media), &format!("audio RTP/AVP {types}"), &[way])
}

/// INVITE, a reliable 183 at 300 ms, PRACK and its 200, each with its description.
fn reliable(tape: &mut Tape, [a, b]: [&Side; 2], bodies: [&str; 4]) {
    let dialog = ("e1", [a.tag, b.tag]);
    tape.sip(0, [a, b], INVITE, ("e1", [a.tag, ""]), "1 INVITE", bodies[0]);
    provisional(tape, 300, [a, b], 2, [bodies[1], bodies[2], bodies[3]]);
    tape.sip(900, [b, a], "SIP/2.0 180 Ringing", dialog, "1 INVITE", "");
}

fn provisional(tape: &mut Tape, at_ms: i64, [a, b]: [&Side; 2], cseq: u32, bodies: [&str; 3]) {
    let (dialog, prack) = (("e1", [a.tag, b.tag]), format!("{cseq} PRACK"));
    let progress = "SIP/2.0 183 Session Progress\nRequire: 100rel\nRSeq: 1";
    tape.sip(at_ms, [b, a], progress, dialog, "1 INVITE", bodies[0]);
    tape.sip(at_ms + 40, [a, b], "PRACK sip:b@x SIP/2.0\nRAck: 1 1 INVITE", dialog, &prack, bodies[1]);
    tape.sip(at_ms + 60, [b, a], "SIP/2.0 200 OK", dialog, &prack, bodies[2]);
}

/// UPDATE of the first one, and its 200.
fn update(tape: &mut Tape, at_ms: i64, [by, other]: [&Side; 2], [offer, answer]: [&str; 2]) {
    let dialog = ("e1", [by.tag, other.tag]);
    tape.sip(at_ms, [by, other], "UPDATE sip:b@x SIP/2.0", dialog, "7 UPDATE", offer);
    tape.sip(at_ms + 30, [other, by], "SIP/2.0 200 OK", dialog, "7 UPDATE", answer);
}

/// 200 at 2 s, and its ACK.
fn answer(tape: &mut Tape, [a, b]: [&Side; 2], body: &str) {
    let dialog = ("e1", [a.tag, b.tag]);
    tape.sip(2_000, [b, a], "SIP/2.0 200 OK", dialog, "1 INVITE", body);
    tape.sip(2_020, [a, b], "ACK sip:b@x SIP/2.0", dialog, "1 ACK", "");
}

/// Audio of a payload type.
fn talk(tape: &mut Tape, span_ms: (i64, i64), ssrc: u32, payload_type: u8, [from, to]: [&str; 2]) {
    for (n, at_ms) in (span_ms.0..span_ms.1).step_by(20).enumerate() {
        let mut packet = rtp(ssrc, n as u16);
        packet[1] = payload_type;
        tape.udp(at_ms + i64::from(ssrc), end(from), end(to), &packet);
    }
}

fn told(call: &Call) -> (&str, &str) {
    (kind(call), says(call))
}

/// The only call of a tape that ends with a BYE at 30 s.
fn ended(mut tape: Tape, sides: [&Side; 2]) -> Call {
    tape.bye(30_000, "e1", sides);
    let (call, rows, _) = tape.call_of();
    assert!(rows.streams.is_empty(), "streams without their call: {:#?}", rows.streams);
    call
}

/// OpenSIPS#2208, baresip/re#430: the INVITE offers nothing, a reliable response does, and PRACK answers.
#[test]
fn an_offer_in_a_reliable_response_is_answered_by_prack() {
    let [a, b] = &[side(A, "a"), side(B, "b")];
    for silent in [None, Some(0), Some(1)] {
        let mut tape = Tape::default();
        reliable(&mut tape, [a, b], ["", &b.sdp, &a.sdp, ""]);
        answer(&mut tape, [a, b], "");
        for (n, way) in [[A, B], [B, A]].into_iter().enumerate().filter(|(n, _)| Some(*n) != silent) {
            talk(&mut tape, (2_040, 30_000), n as u32 + 1, 0, way);
        }
        let call = ended(tape, [a, b]);
        let (kind, says) = told(&call);
        let Some(silent) = silent else {
            assert_eq!((kind, call.streams.len()), ("", 2), "{says}");
            continue;
        };
        let heard = ["callee", "caller"][silent];
        assert!(kind == "one-way-audio" && says.contains(&format!("only the {heard} could be heard")), "{says}");
    }
}

/// pjproject#2967, asterisk-i#49: PRACK offers again; who does not know that leaves the SDP out of its 200, and the
/// call goes on as it was.
#[test]
fn an_offer_in_prack_holds_once_it_is_answered() {
    let [a, b] = &[side(A, "a"), side(B, "b")];
    let both = |media| described(media, "0 8", "sendrecv");
    let one = |media| described(media, "8", "sendrecv");
    for (answered, sent, right) in
        [(true, [8, 8], ""), (false, [0, 0], ""), (true, [0, 8], "codec-mismatch"), (true, [8, 0], "codec-mismatch")]
    {
        let mut tape = Tape::default();
        let last = if answered { one(B) } else { String::new() };
        reliable(&mut tape, [a, b], [&both(A), &both(B), &one(A), &last]);
        answer(&mut tape, [a, b], "");
        talk(&mut tape, (400, 30_000), 2, sent[1], [B, A]);
        talk(&mut tape, (2_040, 30_000), 1, sent[0], [A, B]);
        let call = ended(tape, [a, b]);
        assert_eq!(kind(&call), right, "{answered} {sent:?} {}", says(&call));
        let why = "sends payload type 0 (PCMU), which an answer 1.6 s before the call was taken (to PRACK or UPDATE)";
        assert_eq!(says(&call).contains(why), !right.is_empty(), "{}", says(&call));
    }
}

/// OpenSIPS#3366: an announcement, then UPDATE names where the callee is, and the 200 says nothing more. A proxy that
/// does not look into the UPDATE lets the caller go on to send to the old place.
#[test]
fn media_that_an_update_moves_before_the_answer_is_followed() {
    let [a, b] = &[side(A, "a"), side(B, "b")];
    for heeds in [true, false] {
        let mut tape = Tape::default();
        reliable(&mut tape, [a, b], [&a.sdp, &audio(end(C)), "", ""]);
        update(&mut tape, 1_200, [b, a], [&b.sdp, &a.sdp]);
        answer(&mut tape, [a, b], "");
        talk(&mut tape, (400, 1_200), 3, 0, [C, A]);
        talk(&mut tape, (2_040, 30_000), 1, 0, [A, if heeds { B } else { C }]);
        talk(&mut tape, (1_300, 30_000), 2, 0, [B, A]);
        let call = ended(tape, [a, b]);
        let (kind, says) = told(&call);
        if heeds {
            assert_eq!((kind, call.streams.len()), ("", 3), "{says}");
        } else {
            let text = format!("kept sending to {C}, which the callee had left");
            assert!(kind == "one-way-audio" && says.contains(&text), "{kind} {says}");
        }
    }
}

/// Preconditions (RFC 3312, as mobile networks have them): nothing flows until UPDATE says that there is a bearer.
#[test]
fn what_preconditions_hold_back_is_to_be_heard_from_the_update_on() {
    let [a, b] = &[side(A, "a"), side(B, "b")];
    let waits = |media| described(media, "0", "inactive");
    for (updated, speaks, right) in
        [(true, true, ""), (true, false, "one-way-audio"), (false, false, ""), (false, true, "")]
    {
        let mut tape = Tape::default();
        reliable(&mut tape, [a, b], [&waits(A), &waits(B), "", ""]);
        if updated {
            update(&mut tape, 1_200, [a, b], [&a.sdp, &b.sdp]);
        }
        answer(&mut tape, [a, b], "");
        talk(&mut tape, (2_040, 30_000), 1, 0, [A, B]);
        if speaks {
            talk(&mut tape, (2_040, 30_000), 2, 0, [B, A]);
        }
        let call = ended(tape, [a, b]);
        assert_eq!(kind(&call), right, "{updated} {speaks} {}", says(&call));
    }
}

/// asterisk-i#82: two targets agree by reliable responses, and the 200 of one of them describes nothing: what it agreed
/// before holds, whoever of both spoke last.
#[test]
fn of_two_reliable_early_dialogs_that_of_the_answer_holds() {
    let a = &side(A, "a");
    let proxy = |media: &str, tag| Side { signals: end("203.0.113.9:5060"), ..side(media, tag) };
    let targets = [proxy(B, "b1"), proxy(C, "b2")];
    for answers in 0..2 {
        for to_other in [false, true] {
            let mut tape = Tape::default();
            let [own, other] = [&targets[answers], &targets[1 - answers]];
            let media = |of: &Side| if of.tag == "b1" { B } else { C };
            tape.sip(0, [a, own], INVITE, ("e1", [a.tag, ""]), "1 INVITE", &a.sdp);
            for (n, target) in targets.iter().enumerate() {
                provisional(&mut tape, 300 + 400 * n as i64, [a, target], 2 + n as u32, [&target.sdp, "", ""]);
                talk(&mut tape, (400 + 400 * n as i64, 1_900), 11 + n as u32, 0, [media(target), A]);
            }
            answer(&mut tape, [a, own], "");
            talk(&mut tape, (2_040, 30_000), 1, 0, [A, media(if to_other { other } else { own })]);
            talk(&mut tape, (2_040, 30_000), 2, 0, [media(own), A]);
            let call = ended(tape, [a, own]);
            let right = if to_other { "one-way-audio" } else { "" };
            assert_eq!(kind(&call), right, "{answers} {to_other} {}", says(&call));
        }
    }
}

/// rtpengine#2073: the ringing tone has another codec than the answer.
#[test]
fn the_answer_may_take_another_codec_than_the_response_before_it() {
    let [a, b] = &[side(A, "a"), side(B, "b")];
    for (sent, right) in [(18, ""), (8, "codec-mismatch")] {
        let mut tape = Tape::default();
        let dialog = ("e1", [a.tag, b.tag]);
        tape.sip(0, [a, b], INVITE, ("e1", [a.tag, ""]), "1 INVITE", &described(A, "8 18", "sendrecv"));
        let tone = described(B, "8", "sendrecv");
        tape.sip(300, [b, a], "SIP/2.0 183 Session Progress", dialog, "1 INVITE", &tone);
        answer(&mut tape, [a, b], &described(B, "18", "sendrecv"));
        talk(&mut tape, (400, 1_990), 3, 8, [B, A]);
        talk(&mut tape, (2_040, 30_000), 1, 18, [A, B]);
        talk(&mut tape, (2_040, 30_000), 2, sent, [B, A]);
        let call = ended(tape, [a, b]);
        assert_eq!(kind(&call), right, "{}", says(&call));
    }
}

/// A private address as many have it, in the SDP of a call that nobody takes and of one that is answered later: phones
/// behind translators name it as a candidate, and the tap is inside.
fn cancelled_beside(begins_ms: i64, other_speaks: bool) -> Rows {
    let phone = "192.168.1.20:4000";
    let server = "198.51.100.99:5060";
    let candidate = format!("candidate:1 1 udp 2000 {} 4000 typ host", end(phone).address);
    let public = |host: &str| sdp(end(&format!("{host}:40000")), "audio RTP/AVP 0", &["ice-ufrag:x", &candidate]);
    let caller = |host: &str, tag| Side { signals: end(&format!("{host}:5060")), tag, sdp: public(host) };
    let callee = |tag| Side { signals: end(server), tag, sdp: audio(end("198.51.100.99:16400")) };
    let mut tape = Tape::default();
    // It rings until 26 s.
    let [a, b] = &[caller("203.0.113.7", "a"), callee("b")];
    tape.sip(0, [a, b], INVITE, ("up", [a.tag, ""]), "1 INVITE", &a.sdp);
    tape.sip(200, [b, a], "SIP/2.0 180 Ringing", ("up", [a.tag, b.tag]), "1 INVITE", "");
    tape.sip(26_000, [b, a], "SIP/2.0 200 OK", ("up", [a.tag, b.tag]), "1 INVITE", &b.sdp);
    tape.sip(26_020, [a, b], "ACK sip:b@x SIP/2.0", ("up", [a.tag, b.tag]), "1 ACK", "");
    // It is cancelled at 8 s.
    let [c, d] = &[caller("203.0.113.8", "c"), callee("d")];
    tape.sip(5_000, [c, d], INVITE, ("given-up", [c.tag, ""]), "1 INVITE", &c.sdp);
    tape.sip(5_200, [d, c], "SIP/2.0 183 Session Progress", ("given-up", [c.tag, d.tag]), "1 INVITE", &d.sdp);
    tape.sip(8_000, [c, d], "CANCEL sip:b@x SIP/2.0", ("given-up", [c.tag, ""]), "1 CANCEL", "");
    tape.sip(8_010, [d, c], "SIP/2.0 200 OK", ("given-up", [c.tag, d.tag]), "1 CANCEL", "");
    tape.sip(8_020, [d, c], "SIP/2.0 487 Request Terminated", ("given-up", [c.tag, d.tag]), "1 INVITE", "");
    tape.sip(8_030, [c, d], "ACK sip:b@x SIP/2.0", ("given-up", [c.tag, d.tag]), "1 ACK", "");
    let [here, there] = [end(phone), end("198.51.100.99:31000")];
    if other_speaks {
        tape.media((26_050, 40_000), 1, |o| udp(here, end("198.51.100.99:16400"), o));
    }
    tape.media((begins_ms, 40_000), 2, |o| udp(there, here, o));
    tape.bye(40_000, "up", [a, b]);
    tape.read().0
}

/// A stream that begins after a cancelled call's end is none of it, though it names one of its ends; one that was there
/// before goes on as its own.
#[test]
fn a_call_that_was_cancelled_has_no_stream_that_begins_after_its_end() {
    let of = |rows: &Rows, id: &str| {
        let call = rows.calls.iter().find(|call| call.sip_call_id == id).unwrap().clone();
        (call.streams.len(), kind(&call).to_owned(), call.state)
    };
    // Just after the end, seconds later, and near the time when the call is closed.
    for begins_ms in [8_600, 12_000, 26_050, 39_000] {
        let rows = cancelled_beside(begins_ms, true);
        assert_eq!(of(&rows, "given-up"), (0, String::new(), CallState::Cancelled), "{begins_ms}");
        let (streams, ..) = of(&rows, "up");
        assert_eq!((streams, rows.streams.len()), (2, 0), "{begins_ms}");
    }
    assert_eq!(of(&cancelled_beside(26_050, true), "up").1, "");
    // It rang with that stream.
    for begins_ms in [5_300, 7_900, 8_200] {
        let rows = cancelled_beside(begins_ms, false);
        assert_eq!((of(&rows, "given-up").0, of(&rows, "up").0), (1, 0), "{begins_ms}");
    }
}

/// Gateways let the caller through when somebody answers; what it counts on until then is not lost. A gap in the talk
/// is.
#[test]
fn numbers_that_go_by_until_the_answer_are_no_loss() {
    for (opens_ms, expected) in [(2_040, ""), (12_000, "loss")] {
        let [a, b] = &[side(A, "a"), side(B, "b")];
        let mut tape = Tape::default();
        tape.sip(-30_000, [a, b], INVITE, ("e1", [a.tag, ""]), "1 INVITE", &a.sdp);
        tape.sip(-29_500, [b, a], "SIP/2.0 183 Session Progress", ("e1", [a.tag, b.tag]), "1 INVITE", &b.sdp);
        answer(&mut tape, [a, b], &b.sdp);
        talk(&mut tape, (-29_000, 40_000), 1, 0, [A, B]);
        talk(&mut tape, (-29_000, 40_000), 2, 0, [B, A]);
        let caller = end(A).address.octets()[12..].to_vec();
        tape.0.retain(|(at_us, packet)| {
            let is_his = packet.len() > 150 && packet[12..16] == caller[..] && packet[40..].ends_with(&[0xd5; 160]);
            !is_his || *at_us < -28_000_000 || *at_us >= opens_ms * 1000
        });
        tape.bye(40_000, "e1", [a, b]);
        let (call, ..) = tape.call_of();
        assert_eq!(kind(&call), expected, "{}", says(&call));
        let of_caller = call.streams.iter().find(|s| s.direction as u8 == 1).unwrap();
        assert_eq!(of_caller.missing == 0, expected.is_empty(), "{} missing", of_caller.missing);
    }
}
