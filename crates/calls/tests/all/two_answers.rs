//! Two targets of one INVITE that both accept (RFC 3261 section 13.2.2.4). Reported of pjsip (#635: the second one is
//! not hung up; #3234: BYE without ACK) and JsSIP (#113, #114: the second 200 is ignored, and comes again and again).

use crate::tape::{BEGIN_NS, Side, Tape, end, kind, says, sdp, streams, udp};
use trunkline_store::row::{Call, CallState, Hangup};
use trunkline_wire::Endpoint;

/// Which of the two is hung up at once.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Released {
    First,
    Second,
    Nobody,
}

#[derive(Clone, Copy, Debug)]
struct Fork {
    caller: &'static str,
    /// A proxy forks, and both hops are seen; else the targets speak for themselves.
    proxied: bool,
    released: Released,
    /// The second answer comes so long after the first one.
    second_ms: i64,
    /// The one that is not wanted is hung up so long after the second answer.
    after_ms: i64,
    /// The ACK of the one that is not wanted is seen.
    acknowledged: bool,
    /// The INVITE offers nothing.
    late_offer: bool,
    /// The talk lasts so long, from the first answer on.
    talk_ms: i64,
    /// The one who is talked to sends nothing.
    silent: bool,
    /// The BYE of the call is seen.
    ends: bool,
}

const USUAL: Fork = Fork {
    caller: "192.0.2.1:4000",
    proxied: false,
    released: Released::Second,
    second_ms: 120,
    after_ms: 30,
    acknowledged: true,
    late_offer: false,
    talk_ms: 20_000,
    silent: false,
    ends: true,
};

const ANSWER_MS: i64 = 3_000;

/// Who is there.
struct Stage {
    tape: Tape,
    caller: Side,
    proxy: Option<Side>,
    targets: [(Endpoint, Side); 2],
}

impl Stage {
    fn new(caller: &str, proxied: bool) -> Stage {
        let here = end(caller);
        let v4 = here.address.is_v4();
        let [proxy, one, two] = match v4 {
            true => ["203.0.113.9:5060", "198.51.100.2:5000", "198.51.100.3:6000"],
            false => ["[2001:db8:9::9]:5060", "[2001:db8:2::2]:5000", "[2001:db8:2::3]:6000"],
        };
        let signals = |media: Endpoint| Endpoint::new(media.address, 5060);
        let side = |media: Endpoint, codecs: &str, tag| Side {
            signals: signals(media),
            tag,
            sdp: sdp(media, &format!("audio RTP/AVP {codecs}"), &[]),
        };
        // Each takes another codec of those that are offered.
        let targets = [(end(one), side(end(one), "0", "b1")), (end(two), side(end(two), "8", "b2"))];
        let proxy = proxied.then(|| Side { signals: end(proxy), tag: "p", sdp: String::new() });
        Stage { tape: Tape::default(), caller: side(here, "0 8", "a"), proxy, targets }
    }

    /// A message of the caller to a target or back, on each hop.
    fn say(&mut self, at_ms: i64, up: bool, target: usize, first: &str, cseq: &str, body: &str) {
        let (a, b) = (self.caller.clone(), self.targets[target].1.clone());
        let to = if first.starts_with("INVITE") { "" } else { b.tag };
        let dialog = ("fork", ["a", to]);
        let (from, to) = if up { (&a, &b) } else { (&b, &a) };
        match &self.proxy.clone() {
            None => self.tape.sip(at_ms, [from, to], first, dialog, cseq, body),
            Some(proxy) => {
                self.tape.sip(at_ms, [from, proxy], first, dialog, cseq, body);
                self.tape.sip(at_ms + 1, [proxy, to], first, dialog, cseq, body);
            }
        }
    }

    fn bye(&mut self, at_ms: i64, target: usize, cseq: &str) {
        self.say(at_ms, true, target, "BYE sip:b@x SIP/2.0", cseq, "");
        self.say(at_ms + 10, false, target, "SIP/2.0 200 OK", cseq, "");
    }

    fn rtp(&mut self, span_ms: (i64, i64), ssrc: u32, codec: u8, ends: [Endpoint; 2]) {
        self.tape.media(span_ms, ssrc, |o| udp(ends[0], ends[1], &[&[0x80, codec], &o[2..]].concat()));
    }

    /// Both are invited and ring, and the first one accepts.
    fn begin(&mut self, late_offer: bool) {
        let offer = if late_offer { String::new() } else { self.caller.sdp.clone() };
        self.say(0, true, 0, "INVITE sip:b@x SIP/2.0", "1 INVITE", &offer);
        self.say(8, true, 1, "INVITE sip:b@x SIP/2.0", "1 INVITE", &offer);
        for target in 0..2 {
            self.say(200 + 40 * target as i64, false, target, "SIP/2.0 180 Ringing", "1 INVITE", "");
        }
        let body = self.targets[0].1.sdp.clone();
        self.say(ANSWER_MS, false, 0, "SIP/2.0 200 OK", "1 INVITE", &body);
    }

    fn ack(&mut self, at_ms: i64, target: usize, late_offer: bool) {
        let codec = if target == 0 { "0" } else { "8" };
        let media = end_of(&self.caller);
        let body = if late_offer { sdp(media, &format!("audio RTP/AVP {codec}"), &[]) } else { String::new() };
        self.say(at_ms, true, target, "ACK sip:b@x SIP/2.0", "1 ACK", &body);
    }
}

fn end_of(caller: &Side) -> Endpoint {
    Endpoint::new(caller.signals.address, if caller.signals.address.is_v4() { 4000 } else { 40000 })
}

fn call(fork: Fork) -> Call {
    let mut stage = Stage::new(fork.caller, fork.proxied);
    let here = end(fork.caller);
    stage.begin(fork.late_offer);
    let second = ANSWER_MS + fork.second_ms;
    let body = stage.targets[1].1.sdp.clone();
    stage.say(second, false, 1, "SIP/2.0 200 OK", "1 INVITE", &body);
    let stays = usize::from(fork.released == Released::First);
    stage.ack(ANSWER_MS + 20, 0, fork.late_offer);
    if fork.acknowledged || stays == 1 {
        stage.ack(second + 20, 1, fork.late_offer);
    }
    if fork.released != Released::Nobody {
        stage.bye(second + fork.after_ms, 1 - stays, "2 BYE");
    }
    let over = ANSWER_MS + fork.talk_ms;
    let begins = [ANSWER_MS + 40, second + 40];
    let ends = |target: usize| match fork.released {
        Released::Nobody => over,
        _ if target == stays => over,
        _ => second + fork.after_ms + 60,
    };
    for target in 0..2 {
        let (media, codec) = (stage.targets[target].0, [0, 8][target]);
        if target != stays || !fork.silent {
            stage.rtp((begins[target], ends(target)), 10 + target as u32, codec, [media, here]);
        }
        // The caller speaks to the first one, and then to the one with whom it stays.
        let speaks = match target {
            0 => (begins[0], if stays == 1 { ends(0) } else { over }),
            _ if stays == 1 => (second + fork.after_ms + 20, over),
            _ => continue,
        };
        stage.rtp(speaks, 1 + target as u32, codec, [here, media]);
    }
    if fork.ends {
        stage.bye(over, stays, "3 BYE");
        stage.tape.udp(over + 60_000, end("192.0.2.77:9"), end("192.0.2.78:9"), b"later");
    }
    let (call, rows, _) = stage.tape.call_of();
    assert!(rows.streams.is_empty(), "{fork:?}: streams without their call");
    call
}

#[track_caller]
fn is_whole(fork: Fork) {
    let call = call(fork);
    let what = format!("{fork:?}: {:?}", call.verdict);
    let ms = |at_ns: Option<i64>| at_ns.map(|at_ns| (at_ns - BEGIN_NS) / 1_000_000);
    assert_eq!((call.state, kind(&call)), (CallState::Completed, ""), "{what}");
    let end_ms = ms(call.end_ns).unwrap_or_default() - ANSWER_MS;
    // Of two hops the one that is told first counts.
    assert!((0..=1).contains(&(end_ms - fork.talk_ms)), "{what}: {end_ms}");
    assert_eq!((ms(call.answer_ns), call.code, call.hangup), (Some(ANSWER_MS), 200, Hangup::Caller), "{what}");
    assert_eq!(ms(call.ringing_ns), Some(200), "{what}");
    let callees = streams(&call).iter().filter(|s| s.0 == 2).count();
    assert_eq!(callees, 2, "{what} {:?}", streams(&call));
}

#[test]
fn the_answer_of_another_target_that_is_hung_up_at_once_changes_nothing() {
    for caller in ["192.0.2.1:4000", "[2001:db8::1]:40000"] {
        for proxied in [false, true] {
            for released in [Released::Second, Released::First] {
                for (second_ms, after_ms) in [(5, 30), (120, 400), (1_400, 40), (800, 2_500)] {
                    for late_offer in [false, true] {
                        let fork = Fork { caller, proxied, released, second_ms, after_ms, late_offer, ..USUAL };
                        is_whole(fork);
                    }
                }
            }
        }
    }
}

#[test]
fn a_target_that_is_hung_up_without_an_ack_or_late_ends_nothing() {
    for proxied in [false, true] {
        is_whole(Fork { proxied, acknowledged: false, ..USUAL });
        is_whole(Fork { proxied, after_ms: 31_500, talk_ms: 60_000, ..USUAL });
        is_whole(Fork { proxied, after_ms: 45_000, talk_ms: 70_000, ..USUAL });
    }
}

#[test]
fn a_target_of_whose_end_nothing_is_seen_keeps_no_call_up() {
    for proxied in [false, true] {
        for talk_ms in [6_000, 20_000, 31_000, 45_000, 120_000] {
            is_whole(Fork { proxied, released: Released::Nobody, talk_ms, ..USUAL });
        }
    }
}

#[test]
fn who_goes_on_with_the_second_one_is_still_up_where_the_capture_ends() {
    for proxied in [false, true] {
        let call = call(Fork { proxied, released: Released::First, ends: false, ..USUAL });
        assert_eq!((call.state, call.end_ns, kind(&call)), (CallState::Answered, None, ""), "{}", says(&call));
    }
}

#[test]
fn the_silence_of_the_one_who_is_talked_to_is_found() {
    for proxied in [false, true] {
        for released in [Released::First, Released::Second] {
            let call = call(Fork { proxied, released, silent: true, ..USUAL });
            assert_eq!(kind(&call), "one-way-audio", "{proxied} {released:?}: {}", says(&call));
        }
    }
}

/// JsSIP#113, #114: the caller takes no notice of the second answer, whose phone gives up after 32 s.
#[test]
fn an_answer_that_nobody_acknowledges_is_told_of_the_caller() {
    for (proxied, repeats, expected) in
        [(false, 10, "missing-ack"), (true, 10, "missing-ack"), (false, 1, ""), (true, 2, "")]
    {
        let mut stage = Stage::new("192.0.2.1:4000", proxied);
        let here = end("192.0.2.1:4000");
        stage.begin(false);
        stage.ack(ANSWER_MS + 20, 0, false);
        let (mut at_ms, mut distance) = (ANSWER_MS + 100, 500);
        for _ in 0..=repeats {
            let body = stage.targets[1].1.sdp.clone();
            stage.say(at_ms, false, 1, "SIP/2.0 200 OK", "1 INVITE", &body);
            (at_ms, distance) = (at_ms + distance, (2 * distance).min(4_000));
        }
        let [one, two] = stage.targets.clone();
        if repeats < 3 {
            stage.ack(at_ms, 1, false);
            stage.bye(at_ms + 20, 1, "2 BYE");
        } else {
            // The phone gives up; its BYE is of its own dialog.
            let bye = "BYE sip:a@x SIP/2.0";
            let way = stage.proxy.clone().unwrap_or(two.1.clone());
            stage.tape.sip(ANSWER_MS + 32_100, [&way, &stage.caller], bye, ("fork", ["b2", "a"]), "1 BYE", "");
            let ok = "SIP/2.0 200 OK";
            stage.tape.sip(ANSWER_MS + 32_120, [&stage.caller, &way], ok, ("fork", ["b2", "a"]), "1 BYE", "");
        }
        stage.rtp((ANSWER_MS + 40, 53_000), 10, 0, [one.0, here]);
        stage.rtp((ANSWER_MS + 40, 53_000), 1, 0, [here, one.0]);
        stage.bye(53_000, 0, "3 BYE");
        let (call, ..) = stage.tape.call_of();
        let what = format!("{proxied} {repeats}: {}", says(&call));
        assert_eq!((call.state, kind(&call)), (CallState::Completed, expected), "{what}");
        assert_eq!(call.end_ns.map(|at| (at - BEGIN_NS) / 1_000_000), Some(53_000), "{what}");
        if repeats > 3 {
            let by = stage_of(proxied);
            assert!(says(&call).contains(&format!("{by} repeated its 200 OK {repeats} times")), "{what}");
        }
    }
}

fn stage_of(proxied: bool) -> &'static str {
    if proxied { "203.0.113.9:5060" } else { "198.51.100.3:5060" }
}

/// What a proxy has not cancelled yet still sends 183, with a description, when another target has answered.
#[test]
fn a_target_that_still_rings_when_another_one_has_answered_changes_nothing() {
    for proxied in [false, true] {
        for late_ms in [1, 45, 400] {
            let mut stage = Stage::new("192.0.2.1:4000", proxied);
            let here = end("192.0.2.1:4000");
            stage.begin(false);
            stage.ack(ANSWER_MS + 20, 0, false);
            let [one, two] = stage.targets.clone();
            let early = "SIP/2.0 183 Session Progress";
            stage.say(ANSWER_MS + late_ms, false, 1, early, "1 INVITE", &two.1.sdp);
            stage.rtp((ANSWER_MS + 40, 20_000), 10, 0, [one.0, here]);
            stage.rtp((ANSWER_MS + 40, 20_000), 1, 0, [here, one.0]);
            stage.bye(20_000, 0, "2 BYE");
            let (call, ..) = stage.tape.call_of();
            let what = format!("{proxied} {late_ms}: {}", says(&call));
            assert_eq!((call.state, kind(&call)), (CallState::Completed, ""), "{what}");
        }
    }
}
