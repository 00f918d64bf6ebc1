//! Servers that name an address which a translator has for them, one for one, as clouds do (reported of captagent,
//! sngrep, baresip): a tap at the server sees its private address, and that of the phone as its translator makes it.

use crate::tape::{Side, Tape, audio, end, kind, rtp, says, udp};
use trunkline_store::row::{Call, Direction};

/// A call between a phone, whose audio comes from `phone`, and a server. Milliseconds of audio of each.
fn call(server_calls: bool, said: [&str; 2], seen: [&str; 2], heard_ms: [i64; 2]) -> Call {
    let phone = Side { signals: end("203.0.113.7:5099"), tag: "a", sdp: audio(end(said[0])) };
    let server = Side { signals: end("10.0.0.5:5060"), tag: "b", sdp: audio(end(said[1])) };
    let mut tape = Tape::default();
    let sides = if server_calls { [&server, &phone] } else { [&phone, &server] };
    tape.call(0, "n1", sides);
    for (n, way) in [(0, [0, 1]), (1, [1, 0])] {
        let [from, to] = way.map(|at: usize| end(seen[at]));
        tape.media((2_040, 2_040 + heard_ms[n]), 1 + n as u32, |o| udp(from, to, o));
    }
    tape.bye(22_040, "n1", sides);
    tape.call_of().0
}

const PHONE: &str = "192.168.1.20:11780";

#[test]
fn media_of_a_server_behind_a_translator_is_that_of_its_call() {
    for server_calls in [false, true] {
        // The phone's translator keeps the port, or not; the server's always does.
        for phone in ["203.0.113.7:11780", "203.0.113.7:51234", "203.0.113.8:7"] {
            for server in ["3.120.7.9:16400", "198.51.100.44:20002"] {
                let here = format!("10.0.0.5:{}", server.rsplit(':').next().unwrap());
                let call = call(server_calls, [PHONE, server], [phone, &here], [20_000; 2]);
                assert_eq!(kind(&call), "", "{}", says(&call));
                let of_phone = if server_calls { Direction::Callee } else { Direction::Caller };
                let mut told: Vec<_> = call.streams.iter().map(|s| (s.ssrc, s.direction == of_phone)).collect();
                told.sort_unstable();
                assert_eq!(told, [(1, true), (2, false)]);
            }
        }
    }
}

#[test]
fn what_is_wrong_with_such_a_call_is_found() {
    let ends = [PHONE, "3.120.7.9:16400"];
    let seen = ["203.0.113.7:51234", "10.0.0.5:16400"];
    let call = |heard_ms| call(false, ends, seen, heard_ms);
    let one_way = call([0, 20_000]);
    assert_eq!(kind(&one_way), "one-way-audio");
    assert!(says(&one_way).contains("only the callee could be heard"), "{}", says(&one_way));
    let stopped = call([20_000, 9_000]);
    assert_eq!(kind(&stopped), "one-way-audio");
    assert!(says(&stopped).contains("callee"), "{}", says(&stopped));
}

#[test]
fn a_proxy_that_sends_on_what_another_named_takes_no_call_its_media() {
    // A relay beside the proxy has the port that a gateway of another call has by chance.
    let [phone, proxy, gateway] = ["203.0.113.7:5060", "10.0.0.5:5060", "198.51.100.9:5060"].map(end);
    let side = |signals, tag, media: &str| Side { signals, tag, sdp: audio(end(media)) };
    for relayed_first in [true, false] {
        let mut tape = Tape::default();
        let relayed = [side(phone, "a", "203.0.113.7:4000"), side(proxy, "b", "10.0.0.5:30000")];
        let direct = [side(phone, "c", "203.0.113.7:4002"), side(proxy, "d", "198.51.100.9:30000")];
        let (first, second) = if relayed_first { (0, 1_000) } else { (1_000, 0) };
        tape.call(first, "relayed", [&relayed[0], &relayed[1]]);
        tape.call(second, "direct", [&direct[0], &direct[1]]);
        let streams = [
            (1, "203.0.113.7:4000", "10.0.0.5:30000"),
            (2, "10.0.0.5:30000", "203.0.113.7:4000"),
            (3, "203.0.113.7:4002", "198.51.100.9:30000"),
            (4, "198.51.100.9:30000", "203.0.113.7:4002"),
        ];
        for (ssrc, from, to) in streams {
            tape.media((3_040, 20_040), ssrc, |o| udp(end(from), end(to), o));
        }
        tape.bye(20_100, "relayed", [&relayed[0], &relayed[1]]);
        tape.bye(20_100, "direct", [&direct[0], &direct[1]]);
        // A message of the gateway itself, which the proxy has no part in.
        tape.udp(21_000, gateway, phone, b"later");
        let (rows, _) = tape.read();
        assert_eq!(rows.streams.len(), 0);
        for (call, ssrcs) in
            rows.calls.iter().map(|call| (call, if call.sip_call_id == "relayed" { [1, 2] } else { [3, 4] }))
        {
            let mut of: Vec<_> = call.streams.iter().map(|s| s.ssrc).collect();
            of.sort_unstable();
            assert_eq!((of, kind(call)), (ssrcs.to_vec(), ""), "{}", call.sip_call_id);
        }
    }
}

/// sippy/rtpproxy#119 ("after 12 - 13 mins the caller changes the source udp port, with no notification"),
/// rtpengine#1354: the phone's translator gives it another port in the middle, and the server does not follow.
#[test]
fn a_server_that_sends_to_a_port_which_the_translator_dropped_is_not_heard() {
    let server_end = end("198.51.100.20:17000");
    // So long after the phone's audio comes from there the server sends to the new port, and whether SDP names the old.
    let judged = |server_calls: bool, held: bool, moved: &str, follows_ms: Option<i64>, said: &str| {
        let phone = Side { signals: end("203.0.113.7:5099"), tag: "a", sdp: audio(end(said)) };
        let server = Side { signals: end("198.51.100.20:5060"), tag: "b", sdp: audio(server_end) };
        let sides = if server_calls { [&server, &phone] } else { [&phone, &server] };
        let (old, new) = (end("203.0.113.7:40001"), end(moved));
        let mut tape = Tape::default();
        tape.call(0, "n4", sides);
        let from_ms = if held { 14_040 } else { 10_040 };
        tape.media((2_040, 10_020), 1, |o| udp(old, server_end, o));
        for at_ms in (from_ms..32_040).step_by(20) {
            tape.udp(at_ms, new, server_end, &rtp(1, (at_ms / 20) as u16));
        }
        let until_ms = follows_ms.map_or(32_040, |after_ms| from_ms + after_ms);
        tape.media((2_040, until_ms), 2, |o| udp(server_end, old, o));
        for at_ms in (until_ms..32_040).step_by(20) {
            tape.udp(at_ms, server_end, new, &rtp(2, (at_ms / 20) as u16));
        }
        tape.bye(32_040, "n4", sides);
        let call = tape.call_of().0;
        (kind(&call).to_owned(), says(&call).to_owned())
    };
    for server_calls in [false, true] {
        for held in [false, true] {
            for moved in ["203.0.113.7:45678", "203.0.113.99:2222"] {
                let (kind, says) = judged(server_calls, held, moved, None, PHONE);
                assert_eq!(kind, "one-way-audio", "{says}");
                let listener = if server_calls { "the callee did not hear" } else { "the caller did not hear" };
                let text = "kept sending to 203.0.113.7:40001, and nothing of the";
                assert!(says.contains(listener) && says.contains(text) && says.contains(moved), "{says}");
                for follows_ms in [40, 3_000] {
                    let (kind, says) = judged(server_calls, held, moved, Some(follows_ms), PHONE);
                    assert_ne!(kind, "one-way-audio", "{follows_ms} {says}");
                }
                // A phone listens where its SDP says, wherever it sends from.
                let (kind, says) = judged(server_calls, held, moved, None, "203.0.113.7:40001");
                assert_ne!(kind, "one-way-audio", "{says}");
            }
        }
    }
}
