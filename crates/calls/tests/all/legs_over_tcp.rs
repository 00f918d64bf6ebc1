//! Two calls of a back-to-back user agent whose audio goes over one TCP connection (RFC 4571): who opens it cannot tell
//! its port (port 9, RFC 4145 section 4.1), and neither leg is silent.

use crate::over_tcp::{Line, side};
use crate::tape::{Side, Tape, end, kind, rtp, says};
use trunkline_store::row::{Call, Rows};
use trunkline_wire::Endpoint;

const SECTION: &str = "audio TCP/RTP/AVP 0";

/// A conversation: its Call-IDs, who waits where, who connects and from which port, whether the caller connects.
struct Talk {
    ids: [&'static str; 2],
    passive: Endpoint,
    active: Endpoint,
    caller_connects: bool,
}

impl Talk {
    fn of(ids: [&'static str; 2], passive: &str, active: &str, caller_connects: bool) -> Talk {
        Talk { ids, passive: end(passive), active: end(active), caller_connects }
    }

    /// What caller and callee say: `a=setup` and port of who connects.
    fn sides(&self, setup: &str, port: u16) -> [Side; 2] {
        let active = Endpoint { port, ..self.active };
        let waits = side(self.passive, "w", SECTION, &["setup:passive", "connection:new"]);
        let connects = side(active, "c", SECTION, &[setup, "connection:new"]);
        if self.caller_connects { [connects, waits] } else { [waits, connects] }
    }

    /// Both legs: the user agent between them writes what the other one said. The first begins first, and is answered
    /// last.
    fn signal(&self, tape: &mut Tape, at_ms: i64, [caller, callee]: &[Side; 2]) {
        let agent = end(if self.passive.address.is_v4() { "192.0.2.200:5060" } else { "[2001:db8:5::5]:5060" });
        let through = |of: &Side| Side { signals: agent, ..of.clone() };
        let (first, second) = ([caller, &through(callee)], [&through(caller), callee]);
        for ([a, b], id, begin_ms, answer_ms) in [(first, self.ids[0], 0, 2_000), (second, self.ids[1], 5, 1_990)] {
            let dialog = (id, [a.tag, b.tag]);
            let invite = (id, [a.tag, ""]);
            tape.sip(at_ms + begin_ms, [a, b], "INVITE sip:b@x SIP/2.0", invite, "1 INVITE", &a.sdp);
            tape.sip(at_ms + begin_ms + 20, [b, a], "SIP/2.0 180 Ringing", dialog, "1 INVITE", "");
            tape.sip(at_ms + answer_ms, [b, a], "SIP/2.0 200 OK", dialog, "1 INVITE", &b.sdp);
            tape.sip(at_ms + answer_ms + 15, [a, b], "ACK sip:b@x SIP/2.0", dialog, "1 ACK", "");
        }
    }

    fn bye(&self, tape: &mut Tape, at_ms: i64, [caller, callee]: &[Side; 2]) {
        tape.bye(at_ms, self.ids[0], [caller, callee]);
        tape.bye(at_ms + 9, self.ids[1], [caller, callee]);
    }

    /// 6 s of audio of those who speak (who waits, who connects), from the answer on; the source of the former.
    fn speak(&self, tape: &mut Tape, answer_ms: i64, [waits, connects]: [bool; 2], ssrc: u32) {
        let mut line = Line::open(tape, answer_ms + 30, [self.active, self.passive]);
        for n in 0..300u16 {
            for (by, speaks) in [(1, waits), (0, connects)] {
                let packet = rtp(ssrc + by as u32, n);
                let octets = [&(packet.len() as u16).to_be_bytes()[..], &packet].concat();
                if speaks {
                    line.send(tape, answer_ms + 40 + 20 * i64::from(n), by, &octets);
                }
            }
        }
    }
}

fn call_of<'a>(rows: &'a Rows, id: &str) -> &'a Call {
    rows.calls.iter().find(|c| c.sip_call_id == id).unwrap()
}

/// Sources of the streams that a call has, or has a part in.
fn sources(rows: &Rows, id: &str) -> Vec<u32> {
    let call = call_of(rows, id);
    let all = rows.calls.iter().flat_map(|c| &c.streams);
    let shared = all.filter(|s| call.shared.iter().any(|part| part.stream == s.id));
    let mut sources: Vec<_> = call.streams.iter().chain(shared).map(|s| s.ssrc).collect();
    sources.sort_unstable();
    sources
}

const ENDS: [[&str; 2]; 2] =
    [["192.0.2.1:9000", "198.51.100.2:51234"], ["[2001:db8::1]:40001", "[2001:db8:2::2]:52000"]];

/// wvp-GB28181-pro#410, #1175 (the upper platform connects, or the lower one), MiBeeNvr#443: the platform between both
/// has a dialog with each, and its SDP is that of the other.
#[test]
fn neither_leg_of_audio_over_tcp_is_silent() {
    for [passive, active] in ENDS {
        for caller_connects in [false, true] {
            // Port 9, and a port that it would listen at; with `actpass` it offers to wait, too.
            for (setup, port) in [("setup:active", 9), ("setup:active", 51_000), ("setup:actpass", 51_000)] {
                for (speaks, expected) in
                    [([true; 2], ""), ([true, false], "one-way-audio"), ([false, true], "one-way-audio")]
                {
                    let talk = Talk::of(["one", "two"], passive, active, caller_connects);
                    let sides = talk.sides(setup, port);
                    let mut tape = Tape::default();
                    talk.signal(&mut tape, 10, &sides);
                    talk.speak(&mut tape, 2_010, speaks, 1);
                    talk.bye(&mut tape, 8_500, &sides);
                    let (rows, _) = tape.read();
                    for id in ["one", "two"] {
                        let call = call_of(&rows, id);
                        let told = format!("{id} {active} {caller_connects} {setup} {port} {speaks:?}: {}", says(call));
                        assert_eq!(kind(call), expected, "{told}");
                        let heard = [2, 1].into_iter().zip(speaks).filter(|(_, speaks)| *speaks);
                        let mut heard: Vec<u32> = heard.map(|(ssrc, _)| ssrc).collect();
                        heard.sort_unstable();
                        assert_eq!(sources(&rows, id), heard, "{told}");
                    }
                }
            }
        }
    }
}

/// srs (`listen 9000`, `tcp_enable on`), ZLMediaKit#3321: a media server takes all connections at one port, from many
/// hosts and, through a gateway, from one.
#[test]
fn legs_of_many_conversations_at_one_port_have_their_own() {
    const IDS: [[&str; 2]; 7] =
        [["a1", "a2"], ["b1", "b2"], ["c1", "c2"], ["d1", "d2"], ["e1", "e2"], ["f1", "f2"], ["g1", "g2"]];
    for one_host in [false, true] {
        for caller_connects in [false, true] {
            let mut tape = Tape::default();
            for (n, ids) in IDS.into_iter().enumerate() {
                let host = if one_host { 2 } else { 2 + n };
                let active = format!("198.51.100.{host}:{}", 50_000 + n);
                let talk = Talk::of(ids, "192.0.2.1:9000", &active, caller_connects);
                // From one host they are set up one after the other, while the others are up.
                let begin_ms = if one_host { 2_500 * n as i64 } else { 10 * n as i64 } + 10;
                let sides = talk.sides("setup:active", 9);
                talk.signal(&mut tape, begin_ms, &sides);
                // The last one is silent on one side.
                talk.speak(&mut tape, begin_ms + 2_000, [true, n < 6], 10 * n as u32);
                talk.bye(&mut tape, begin_ms + 30_000, &sides);
            }
            let (rows, _) = tape.read();
            for (n, id) in IDS.into_iter().enumerate().flat_map(|(n, ids)| ids.map(|id| (n as u32, id))) {
                let own: &[u32] = if n < 6 { &[10 * n, 10 * n + 1] } else { &[10 * n + 1] };
                let told = format!("{id} {one_host} {caller_connects}: {}", says(call_of(&rows, id)));
                assert_eq!(sources(&rows, id), own, "{told}");
                let expected = if n < 6 { "audio-stopped" } else { "one-way-audio" };
                assert_eq!(kind(call_of(&rows, id)), expected, "{told}");
            }
        }
    }
}

/// The BYE of both legs was not seen, and the same hosts talk again: what is heard then is no part of the earlier one.
#[test]
fn legs_that_are_set_up_later_have_what_comes_then() {
    for again_ms in [1_000, 20_000] {
        for caller_connects in [false, true] {
            let [passive, active] = ENDS[0];
            let before = Talk::of(["one", "two"], passive, active, caller_connects);
            let again = Talk {
                active: end("198.51.100.2:51300"),
                ..Talk::of(["1st", "2nd"], passive, active, caller_connects)
            };
            let sides = before.sides("setup:active", 9);
            let mut tape = Tape::default();
            before.signal(&mut tape, 10, &sides);
            before.speak(&mut tape, 2_010, [true; 2], 1);
            let begin_ms = 8_100 + again_ms;
            again.signal(&mut tape, begin_ms, &sides);
            again.speak(&mut tape, begin_ms + 2_000, [true, false], 5);
            again.bye(&mut tape, begin_ms + 8_500, &sides);
            let (rows, _) = tape.read();
            for (id, own, expected) in [
                ("one", &[1, 2][..], ""),
                ("two", &[1, 2], ""),
                ("1st", &[6], "one-way-audio"),
                ("2nd", &[6], "one-way-audio"),
            ] {
                let told = format!("{id} {again_ms} {caller_connects}: {}", says(call_of(&rows, id)));
                assert_eq!(sources(&rows, id), own, "{told}");
                assert_eq!(kind(call_of(&rows, id)), expected, "{told}");
            }
        }
    }
}
