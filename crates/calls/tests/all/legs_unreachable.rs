//! ICMP about one leg of a back-to-back user agent alone (reported of Kamailio #2377, OpenSIPS #686): the verdict names
//! that leg, and the other leg has none for it.

use crate::tape::{Side, Tape, audio, end, icmp, kind, rtp, says, udp};
use trunkline_store::row::Call;
use trunkline_wire::Endpoint;

const INVITE: &str = "INVITE sip:b@x SIP/2.0";
const ANSWER_MS: i64 = 2_000;
const END_MS: i64 = 16_000;

/// Who is there, the agent once for each leg: where it signals, its media and its tags.
struct Scene {
    caller: Side,
    agent: [Side; 2],
    callee: Side,
    media: [Endpoint; 4],
}

impl Scene {
    fn new(v6: bool, one_port: bool) -> Scene {
        let texts = match v6 {
            false => ["192.0.2.1:4000", "203.0.113.5:7000", "203.0.113.5:7002", "198.51.100.2:5000"],
            true => ["[2001:db8::1]:4000", "[2001:db8:5::5]:7000", "[2001:db8:5::5]:7002", "[2001:db8:2::2]:5000"],
        };
        let mut media = texts.map(end);
        if one_port {
            media[2] = media[1];
        }
        let side = |at: usize, port: u16, tag| Side {
            signals: Endpoint::new(media[at].address, port),
            tag,
            sdp: audio(media[at]),
        };
        let (caller, callee) = (side(0, 5060, "a"), side(3, 5060, "d"));
        Scene { caller, agent: [side(1, 5060, "b"), side(2, 5080, "c")], callee, media }
    }
}

/// ICMP of who should have got a packet.
fn refuses(packet: &[u8], from: Endpoint, to: Endpoint) -> Vec<u8> {
    let code = if to.address.is_v4() { (3, 3) } else { (1, 4) };
    icmp(Endpoint::new(to.address, 0), code, packet, 100, from)
}

/// Both legs, and a verdict for each Call-ID.
fn told(tape: Tape) -> Vec<(String, String, String)> {
    let (rows, _) = tape.read();
    let one = |c: &Call| (c.sip_call_id.clone(), kind(c).to_owned(), says(c).to_owned());
    let mut all: Vec<_> = rows.calls.iter().map(one).collect();
    all.sort();
    all
}

/// A talk over both legs; ICMP about what goes on this leg, to the callee's side or to the caller's.
fn talk(scene: &Scene, ids: [&str; 2], refused: Option<(usize, bool)>) -> Tape {
    let mut tape = Tape::default();
    let legs = [[&scene.caller, &scene.agent[0]], [&scene.agent[1], &scene.callee]];
    for (leg, [a, b]) in legs.into_iter().enumerate() {
        let (id, at_ms) = (ids[leg], 10 * leg as i64);
        let (dialog, cseq) = ([a.tag, b.tag], "1 INVITE");
        tape.sip(at_ms, [a, b], INVITE, (id, [a.tag, ""]), cseq, &a.sdp);
        // The far leg is answered first.
        let answer_ms = ANSWER_MS - at_ms;
        tape.sip(100 - at_ms, [b, a], "SIP/2.0 180 Ringing", (id, dialog), cseq, "");
        tape.sip(answer_ms, [b, a], "SIP/2.0 200 OK", (id, dialog), cseq, &b.sdp);
        tape.sip(answer_ms + 5, [a, b], "ACK sip:b@x SIP/2.0", (id, dialog), "1 ACK", "");
        tape.sip(END_MS + at_ms, [a, b], "BYE sip:b@x SIP/2.0", (id, dialog), "2 BYE", "");
        tape.sip(END_MS + at_ms + 4, [b, a], "SIP/2.0 200 OK", (id, dialog), "2 BYE", "");
        let media = [scene.media[2 * leg], scene.media[2 * leg + 1]];
        for up in [true, false] {
            let [from, to] = if up { media } else { [media[1], media[0]] };
            let ssrc = if up { 1 } else { 2 };
            // Who does not listen does not speak.
            let is_refused = refused == Some((leg, up));
            if refused != Some((leg, !up)) {
                tape.media((ANSWER_MS + 40 + at_ms, END_MS), ssrc, |o| udp(from, to, o));
            }
            for second in (0..13).filter(|_| is_refused) {
                let packet = udp(from, to, &rtp(ssrc, second * 50));
                tape.push(ANSWER_MS + 60 + i64::from(second) * 1_000, refuses(&packet, from, to));
            }
        }
    }
    tape
}

#[test]
fn media_that_does_not_arrive_on_one_leg_is_told_of_that_leg() {
    for v6 in [false, true] {
        for one_port in [false, true] {
            let scene = Scene::new(v6, one_port);
            for (leg, up) in [(0, false), (1, true)] {
                // The agent passes on nothing, as nothing comes; what it says on the other leg is a tone.
                let calls = told(talk(&scene, ["one", "two"], Some((leg, up))));
                let told = format!("{v6} {one_port} {leg} {up}: {calls:#?}");
                let (own, other) = (&calls[leg], &calls[1 - leg]);
                assert_eq!((own.1.as_str(), other.1.as_str()), ("one-way-audio", ""), "{told}");
                let deaf = scene.media[3 * leg];
                assert!(own.2.contains(&format!("no program listens on {deaf}")), "{told}");
            }
            let calls = told(talk(&scene, ["one", "two"], None));
            assert!(calls.iter().all(|call| call.1.is_empty()), "{v6} {one_port}: {calls:#?}");
        }
    }
}

#[test]
fn a_back_to_back_user_agent_that_keeps_the_call_id_is_told_by_its_legs() {
    for v6 in [false, true] {
        let scene = Scene::new(v6, false);
        for (leg, up) in [(0, false), (1, true)] {
            let calls = told(talk(&scene, ["one", "one"], Some((leg, up))));
            let told = format!("{v6} {leg} {up}: {calls:#?}");
            assert_eq!((calls.len(), calls[0].1.as_str()), (1, "one-way-audio"), "{told}");
            assert!(calls[0].2.contains(&format!("no program listens on {}", scene.media[3 * leg])), "{told}");
            // Who speaks on that leg is the agent.
            let (listener, speaker) = if leg == 1 { ("callee", "caller") } else { ("caller", "callee") };
            assert!(calls[0].2.contains(&format!("the {listener} heard nothing: what the {speaker} sends")), "{told}");
        }
        let calls = told(talk(&scene, ["one", "one"], None));
        assert!(calls.len() == 1 && calls[0].1.is_empty(), "{v6}: {calls:#?}");
    }
}

/// An INVITE of the second leg that does not arrive, and what the agent makes of it on the first one.
fn set_up(scene: &Scene, ids: [&str; 2], refusal: &str, again_ms: Option<i64>) -> Vec<(String, String, String)> {
    let mut tape = Tape::default();
    let [a, b, c, d] = [&scene.caller, &scene.agent[0], &scene.agent[1], &scene.callee];
    tape.sip(0, [a, b], INVITE, (ids[0], ["a", ""]), "1 INVITE", &a.sdp);
    tape.sip(5, [b, a], "SIP/2.0 100 Trying", (ids[0], ["a", ""]), "1 INVITE", "");
    for at_ms in [10, 510] {
        tape.sip(at_ms, [c, d], INVITE, (ids[1], ["c", ""]), "1 INVITE", &c.sdp);
        let (_, invite) = tape.0.last().unwrap().clone();
        tape.push(at_ms + 1, refuses(&invite, c.signals, d.signals));
    }
    let mut at_ms = 800;
    if let Some(again_ms) = again_ms {
        // Another gateway says that nobody is there.
        let other = Side { signals: end("198.51.100.99:5060"), ..d.clone() };
        tape.sip(at_ms, [c, &other], INVITE, ("three", ["e", ""]), "1 INVITE", &c.sdp);
        tape.sip(at_ms + again_ms, [&other, c], "SIP/2.0 486 Busy Here", ("three", ["e", "f"]), "1 INVITE", "");
        at_ms += again_ms + 5;
    }
    tape.sip(at_ms, [b, a], refusal, (ids[0], ["a", "b"]), "1 INVITE", "");
    tape.sip(at_ms + 5, [a, b], "ACK sip:b@x SIP/2.0", (ids[0], ["a", "b"]), "1 ACK", "");
    tape.udp(90_000, end("192.0.2.77:9"), end("192.0.2.78:9"), b"later");
    told(tape)
}

#[test]
fn an_invite_that_does_not_arrive_is_told_of_its_leg() {
    for v6 in [false, true] {
        let scene = Scene::new(v6, false);
        let callee = scene.callee.signals;
        let says = format!("ICMP from {} says \"port unreachable\": no program listens on {callee}", callee.address);
        let calls = set_up(&scene, ["one", "two"], "SIP/2.0 503 Service Unavailable", None);
        let told = format!("{v6}: {calls:#?}");
        assert_eq!((calls[0].1.as_str(), calls[1].1.as_str()), ("failure-5xx", "no-response"), "{told}");
        assert!(calls[1].2.contains(&says) && !calls[0].2.contains("ICMP"), "{told}");
        let same = set_up(&scene, ["one", "one"], "SIP/2.0 503 Service Unavailable", None);
        let told = format!("{v6}: {same:#?}");
        assert_eq!((same.len(), same[0].1.as_str()), (1, "failure-5xx"), "{told}");
        assert!(same[0].2.contains(&format!("Its INVITE to {callee} did not arrive")), "{told}");
        // Where another one is asked then, the first leg is busy.
        let calls = set_up(&scene, ["one", "two"], "SIP/2.0 486 Busy Here", Some(300));
        let kinds: Vec<_> = calls.iter().map(|call| (call.0.as_str(), call.1.as_str())).collect();
        assert_eq!(kinds, [("one", ""), ("three", ""), ("two", "no-response")], "{v6}: {calls:#?}");
    }
}
