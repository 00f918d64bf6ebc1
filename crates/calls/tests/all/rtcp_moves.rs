//! RTCP about a source that goes on from or to another host with the same SSRC, after a re-INVITE or behind a
//! translator (rtpengine#817, #1236, #1416): what a receiver counts in all is told about the part that it is of.

use crate::tape::{Side, Tape, audio, end, kind, says};
use trunkline_store::row::{Call, Stream};
use trunkline_wire::Endpoint;

const SSRC: u32 = 1;
const MOVES: u32 = 400;
const PACKETS: u32 = 1_600;
const TALK_MS: i64 = 2_040;

/// Who of the two moves.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Moves {
    /// The source, by a re-INVITE.
    Sender,
    /// The source's translator takes another port of another address, and nobody says so.
    Translator,
    /// The receiver, by a re-INVITE, and counts on.
    Receiver,
    /// Another receiver, which counts anew.
    Handover,
}

/// One report block: lost in all, of 256 since the last one, the highest number.
fn report(lost: u32, fraction: u32, highest: u32) -> Vec<u8> {
    let mut octets = vec![0x81, 201, 0, 7, 0, 0, 0, 9];
    octets.extend(SSRC.to_be_bytes());
    octets.extend((fraction << 24 | lost).to_be_bytes());
    octets.extend(highest.to_be_bytes());
    octets.extend([0; 12]);
    octets
}

/// A call whose caller's packets the callee loses behind the tap as `is_lost` says.
fn call(moves: Moves, moves_at: u32, is_lost: impl Fn(u32) -> bool) -> Call {
    let (a, b) = (["192.0.2.1:4000", "192.0.2.77:4400"], ["198.51.100.2:5000", "198.51.100.88:5500"]);
    let side =
        |media: &str, tag| Side { signals: Endpoint::new(end(media).address, 5060), tag, sdp: audio(end(media)) };
    let moved = |at: u32, of: [&str; 2], is: bool| end(of[usize::from(is && at >= moves_at)]);
    let sender = |n: u32| moved(n, a, matches!(moves, Moves::Sender | Moves::Translator));
    let receiver = |n: u32| moved(n, b, matches!(moves, Moves::Receiver | Moves::Handover));
    let mut tape = Tape::default();
    let first = [side(a[0], "a"), side(b[0], "b")];
    tape.call(0, "m", [&first[0], &first[1]]);
    let at_ms = |n: u32| TALK_MS + 20 * i64::from(n);
    match moves {
        Moves::Sender => {
            tape.change(at_ms(moves_at) - 30, "m", [&Side { sdp: audio(end(a[1])), ..first[0].clone() }, &first[1]])
        }
        Moves::Receiver | Moves::Handover => {
            tape.change(at_ms(moves_at) - 30, "m", [&first[0], &Side { sdp: audio(end(b[1])), ..first[1].clone() }]);
        }
        Moves::Translator => {}
    }
    let (mut lost, mut before, mut since) = (0, 0, 0);
    for n in 0..PACKETS {
        tape.udp(at_ms(n), sender(n), receiver(n), &crate::tape::rtp(SSRC, n as u16));
        tape.udp(at_ms(n) + 3, receiver(n), sender(n), &crate::tape::rtp(2, n as u16));
        if moves == Moves::Handover && n == moves_at {
            (lost, before, since) = (0, 0, n);
        }
        lost += u32::from(is_lost(n));
        // Each 5 s, at moments that the move does not know.
        if n % 250 == 130 {
            let next = |end: Endpoint| Endpoint::new(end.address, end.port + 1);
            let fraction = (lost - before) * 256 / (n + 1 - since);
            tape.udp(at_ms(n) + 10, next(receiver(n)), next(sender(n)), &report(lost, fraction, n));
            (before, since) = (lost, n + 1);
        }
    }
    tape.bye(at_ms(PACKETS), "m", [&first[0], &first[1]]);
    tape.call_of().0
}

/// What is said of the source's parts, by time: packets, reports, lost behind the tap.
fn parts(call: &Call) -> Vec<(u64, u32, u64)> {
    let mut own: Vec<&Stream> = call.streams.iter().filter(|s| s.ssrc == SSRC).collect();
    own.sort_by_key(|s| s.first_ns);
    own.iter().map(|s| (s.packets, s.rtcp.receiver_reports, s.rtcp.lost_after_tap)).collect()
}

const ALL: [Moves; 4] = [Moves::Sender, Moves::Translator, Moves::Receiver, Moves::Handover];

#[test]
fn nothing_is_lost_where_no_part_loses_anything() {
    for moves in ALL {
        for at in [60, MOVES, 700] {
            let call = call(moves, at, |_| false);
            let told = format!("{moves:?} {at}: {}", says(&call));
            assert_eq!(kind(&call), "", "{told}");
            assert!(parts(&call).iter().all(|part| part.2 == 0), "{told} {:?}", parts(&call));
        }
    }
}

#[test]
fn each_report_is_about_the_part_that_it_is_of() {
    for moves in ALL {
        let call = call(moves, MOVES, |_| false);
        let reports: Vec<_> = parts(&call).iter().map(|part| (part.0, part.1)).collect();
        assert_eq!(reports, [(400, 2), (1_200, 4)], "{moves:?}");
    }
}

#[test]
fn what_is_lost_after_the_move_is_lost_by_the_second_part_alone() {
    for moves in ALL {
        let call = call(moves, MOVES, |n| n >= MOVES && n % 8 == 0);
        let (told, parts) = (format!("{moves:?}: {}", says(&call)), parts(&call));
        assert_eq!(kind(&call), "lost-after-tap", "{told}");
        assert_eq!(parts[0].2, 0, "{told} {parts:?}");
        assert!((90..=160).contains(&parts[1].2), "{told} {parts:?}");
    }
}

#[test]
fn what_was_lost_before_the_move_is_not_lost_by_the_second_part() {
    // A short first part, of which half is lost while the translator learns the way.
    for moves in ALL {
        let call = call(moves, 90, |n| n < 90 && n % 2 == 0);
        let (told, parts) = (format!("{moves:?}: {}", says(&call)), parts(&call));
        assert_eq!(kind(&call), "", "{told} {parts:?}");
        assert!(parts[1].2 <= 15, "{told} {parts:?}");
        // A long one, which was reported about.
        let call = self::call(moves, 1_000, |n| n < 1_000 && n % 8 == 0);
        let (told, parts) = (format!("{moves:?}: {}", says(&call)), self::parts(&call));
        assert_eq!(kind(&call), "lost-after-tap", "{told}");
        assert!(parts[0].2 >= 90 && parts[1].2 <= 15, "{told} {parts:?}");
    }
}

/// What is missing on the way to the new host is missing there, whatever was missing to the old one.
#[test]
fn a_source_that_went_on_to_another_host_is_no_relay_of_its_first_part() {
    for moves in [Moves::Receiver, Moves::Handover, Moves::Sender] {
        let (a, b) = (["192.0.2.1:4000", "192.0.2.77:4400"], ["198.51.100.2:5000", "198.51.100.88:5500"]);
        let side =
            |media: &str, tag| Side { signals: Endpoint::new(end(media).address, 5060), tag, sdp: audio(end(media)) };
        let by_sender = moves == Moves::Sender;
        let [first, second] = [side(a[0], "a"), side(b[0], "b")];
        let mut tape = Tape::default();
        tape.call(0, "m", [&first, &second]);
        let moved = match by_sender {
            true => [Side { sdp: audio(end(a[1])), ..first.clone() }, second.clone()],
            false => [first.clone(), Side { sdp: audio(end(b[1])), ..second.clone() }],
        };
        tape.change(TALK_MS + 20 * 1_500 - 30, "m", [&moved[0], &moved[1]]);
        for n in 0..2_500u32 {
            let later = usize::from(n >= 1_500);
            let [from, to] = if by_sender { [end(a[later]), end(b[0])] } else { [end(a[0]), end(b[later])] };
            let at_ms = TALK_MS + 20 * i64::from(n);
            // 2 % of the first part, 4 % of the second one.
            if n % if later == 0 { 50 } else { 25 } != 7 {
                tape.udp(at_ms, from, to, &crate::tape::rtp(SSRC, n as u16));
            }
            tape.udp(at_ms + 3, to, from, &crate::tape::rtp(2, n as u16));
        }
        tape.bye(TALK_MS + 20 * 2_500, "m", [&first, &second]);
        let (call, ..) = tape.call_of();
        assert_eq!(kind(&call), "loss", "{moves:?}: {}", says(&call));
        assert!(says(&call).starts_with("4.0 % of the packets from the caller"), "{moves:?}: {}", says(&call));
    }
}
