//! A client and its TURN server over TCP (RFC 8656): ChannelData and indications in one connection, whatever of it was
//! captured. The reports are named.

use crate::over_tcp::{Line, WHOLE, counter, heard, side};
use crate::tape::{Side, Tape, end, kind, rtp, says, streams};
use crate::turn::{address, attribute, channel, message};
use trunkline_calls::unread::Protocol;
use trunkline_wire::Endpoint;

/// A client that reaches its peer through a relay over TCP, and what it says there.
struct Relayed {
    client: Endpoint,
    server: Endpoint,
    relayed: Endpoint,
    peer: Endpoint,
}

impl Relayed {
    fn new(port: u16) -> Relayed {
        let server = Endpoint::new(end("203.0.113.9:1").address, port);
        let (client, peer) = (end("192.0.2.1:51000"), end("198.51.100.7:4000"));
        Relayed { client, server, relayed: end("203.0.113.9:49200"), peer }
    }

    fn sides(&self) -> [Side; 2] {
        [side(self.relayed, "a", "audio RTP/AVP 0", &[]), side(self.peer, "b", "audio RTP/AVP 0", &[])]
    }

    /// The client connects before the call, allocates and binds a channel.
    fn set_up(&self, tape: &mut Tape) -> Line {
        let mut line = Line::open(tape, 0, [self.client, self.server]);
        line.send(tape, 5, 0, &message(0x0003, &[attribute(0x0019, &[17, 0, 0, 0])]));
        line.send(tape, 10, 1, &message(0x0103, &[address(0x0016, self.relayed), address(0x0020, self.client)]));
        let bind = message(0x0009, &[attribute(0x000c, &[0x40, 1, 0, 0]), address(0x0012, self.peer)]);
        line.send(tape, 15, 0, &bind);
        line.send(tape, 20, 1, &message(0x0109, &[]));
        line
    }

    /// The call, each packet as `wrap` puts it on the line.
    fn call(&self, wrap: impl Fn(usize, &[u8]) -> Vec<u8>, together: usize) -> Tape {
        let mut tape = Tape::default();
        let [a, b] = &self.sides();
        let mut line = self.set_up(&mut tape);
        tape.call(500, "t1", [a, b]);
        for n in (0..300u16).step_by(together) {
            for side in [0, 1] {
                // Of a length that is no multiple of four.
                let packet = |n: u16| [&rtp(side as u32 + 1, n)[..], &[0xd5; 3][..usize::from(n % 4)]].concat();
                let octets: Vec<u8> = (n..n + together as u16).flat_map(|n| wrap(side, &packet(n))).collect();
                line.send(&mut tape, 2_560 + 20 * i64::from(n), side, &octets);
            }
        }
        tape.bye(8_800, "t1", [a, b]);
        tape
    }
}

/// turn-rs #175 (padding taken for payload), coturn #1984 and pjproject #4841 (padding that is not zero), aioice #69
/// (no padding at all), pjproject #999 (several messages in a segment).
#[test]
fn channels_over_tcp_carry_the_calls_audio() {
    for port in [3478, 443] {
        for (padding, together) in [(Some(0), 1), (Some(0x41), 1), (Some(0x80), 3), (None, 1), (None, 3)] {
            let relay = Relayed::new(port);
            let wrap = |_: usize, octets: &[u8]| {
                let mut message = channel(0x4001, octets, false);
                if let Some(padding) = padding {
                    message.resize(message.len().next_multiple_of(4), padding);
                }
                message
            };
            let (call, rows, summary) = relay.call(wrap, together).call_of();
            let told = format!("{port} {padding:?} {together}");
            assert_eq!((says(&call), heard(&call)), ("", WHOLE.to_vec()), "{told}");
            let ways: Vec<_> = streams(&call).into_iter().map(|(_, from, to, ..)| (from, to)).collect();
            let (relayed, peer) = (relay.relayed.to_string(), relay.peer.to_string());
            assert_eq!(ways, [(relayed.clone(), peer.clone()), (peer, relayed)], "{told}");
            assert!(rows.streams.is_empty() && summary.unread.row(Protocol::TurnMedia).packets == 0, "{told}");
            assert_eq!(counter(&summary.counters, "tcp_media_unread_octets"), 0, "{told}");
        }
    }
}

/// nDPI #2462: inside of a Data attribute there is no further length.
#[test]
fn indications_over_tcp_carry_the_calls_audio() {
    let relay = Relayed::new(3478);
    let wrap = |side: usize, octets: &[u8]| {
        let peer = address(0x0012, relay.peer);
        message(if side == 0 { 0x0016 } else { 0x0017 }, &[peer, attribute(0x0013, octets)])
    };
    let (call, ..) = relay.call(wrap, 2).call_of();
    assert_eq!((says(&call), heard(&call)), ("", WHOLE.to_vec()));
}

/// What the capture lacks of a client's connection to its relay, it lost itself; a channel is known again behind it.
#[test]
fn channels_are_found_again_behind_what_the_capture_lacks() {
    let relay = Relayed::new(3478);
    let mut tape = Tape::default();
    let [a, b] = &relay.sides();
    let mut line = relay.set_up(&mut tape);
    tape.call(500, "t1", [a, b]);
    for n in 0..300u16 {
        for side in [0, 1] {
            let octets = channel(0x4001, &rtp(side as u32 + 1, n), true);
            match side == 1 && (100..140).contains(&n) {
                true => line.lose(side, &octets),
                false => line.send(&mut tape, 2_560 + 20 * i64::from(n), side, &octets),
            }
        }
    }
    tape.bye(8_800, "t1", [a, b]);
    let (call, ..) = tape.call_of();
    assert_eq!(heard(&call), [(1, 1, 300, 0), (2, 2, 260, 40)]);
    assert_eq!((kind(&call), call.capture.lost_at_tap), ("not-captured", 40), "{}", says(&call));
}

/// coturn#286, coturn#1716: an allocation of hours, ChannelData alone, and segments that begin and end anywhere; what
/// goes one way tells the channel of what comes the other way.
#[test]
fn channels_of_a_connection_whose_beginning_was_not_seen_are_read_both_ways() {
    for silent in [None, Some(0), Some(1)] {
        // How many octets of a segment are of the message that began in the one before, and how often one is sent.
        for (shift, together, first) in [(0, 1, 0), (50, 1, 1), (3, 3, 0), (7, 1, 1), (120, 2, 0)] {
            let relay = Relayed::new(3478);
            let related = format!("candidate:1 1 UDP 9 203.0.113.9 49200 typ relay raddr {} rport 51000", "192.0.2.1");
            let [mut a, b] = relay.sides();
            a.sdp.push_str(&format!("a={related}\n"));
            let mut tape = Tape::default();
            tape.call(500, "t1", [&a, &b]);
            let mut line = Line::joined([relay.client, relay.server]);
            let all = |side: usize| (0..300u16).flat_map(move |n| channel(0x4001, &rtp(side as u32 + 1, n), true));
            let said: [Vec<u8>; 2] = [all(0).collect(), all(1).collect()];
            let (size, step_ms) = (together * 176, 20 * together as i64);
            for (n, from) in (shift..said[0].len()).step_by(size).enumerate() {
                for (late_ms, side) in [first, 1 - first].into_iter().enumerate().filter(|(_, s)| silent != Some(*s)) {
                    let octets = &said[side][from..said[side].len().min(from + size)];
                    line.send(&mut tape, 2_560 + n as i64 * step_ms + late_ms as i64, side, octets);
                }
            }
            tape.bye(8_800, "t1", [&a, &b]);
            let (call, ..) = tape.call_of();
            let told = format!("{silent:?} {shift} {together} {first} {:?}", heard(&call));
            let expected = if silent.is_some() { "one-way-audio" } else { "" };
            assert_eq!(kind(&call), expected, "{told} {}", says(&call));
            let whole = |(_, _, packets, missing): &(u8, u32, u64, u64)| *packets >= 295 && *missing == 0;
            assert_eq!(heard(&call).iter().filter(|s| whole(s)).count(), 2 - usize::from(silent.is_some()), "{told}");
        }
    }
}
