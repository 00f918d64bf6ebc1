//! Captures that stand still, and paths that lose for long: a call that is alone, and more packets than RFC 3550 A.1
//! takes for a gap (reported of tcpdump and Wireshark: a capture that was stopped and goes on, a full ring buffer; of
//! mobile networks: half a minute without coverage).

use crate::tape::{Side, Tape, audio, end, kind, rtp, says, udp};
use core::ops::Range;
use trunkline_store::row::{Call, Stream};

/// Audio of a side before and behind what is missing, milliseconds.
const HEARD_MS: i64 = 20_000;
/// The lengths of what is missing, milliseconds: 3000 numbers are a minute, and they begin anew after 1310.7 s.
const HOLES_MS: [i64; 8] = [1_500, 7_000, 30_000, 59_900, 60_100, 100_000, 1_311_000, 4_000_000];

/// The packet with this number, counted on over wraps; and with so many ticks more in its timestamp.
fn packet(ssrc: u32, number: i64, ticks: i64) -> Vec<u8> {
    let mut packet = rtp(ssrc, number as u16);
    packet[4..8].copy_from_slice(&((number * 160 + ticks) as u32).to_be_bytes());
    packet
}

/// A call of two sides of whom each sends but in these milliseconds after the answer. `counts` gives the number of a
/// packet and the ticks that its timestamp is ahead, by the number that it would have without a break.
fn talk(ends_ms: i64, breaks: [Range<i64>; 2], counts: impl Fn(usize, i64) -> (i64, i64)) -> Call {
    let side =
        |host: &str, tag| Side { signals: end(&format!("{host}:5060")), tag, sdp: audio(end(&format!("{host}:4000"))) };
    let sides = [side("192.0.2.1", "a"), side("198.51.100.2", "b")];
    let mut tape = Tape::default();
    tape.call(0, "h1", [&sides[0], &sides[1]]);
    let media = ["192.0.2.1:4000", "198.51.100.2:4000"].map(end);
    for party in 0..2 {
        for number in 0..ends_ms / 20 {
            // The two do not send at the same time.
            let at_ms = number * 20 + party as i64 * 7;
            if !breaks[party].contains(&at_ms) {
                let (number, ticks) = counts(party, number);
                let packet = packet(party as u32 + 1, number, ticks);
                tape.push(2_040 + at_ms, udp(media[party], media[1 - party], &packet));
            }
        }
    }
    tape.bye(2_040 + ends_ms + 20, "h1", [&sides[0], &sides[1]]);
    tape.call_of().0
}

fn stream(call: &Call, ssrc: u32) -> &Stream {
    assert_eq!(call.streams.len(), 2, "{:#?}", call.streams);
    call.streams.iter().find(|s| s.ssrc == ssrc).unwrap()
}

#[test]
fn a_call_alone_is_not_blamed_for_a_capture_that_stood_still() {
    for hole_ms in HOLES_MS {
        let hole = HEARD_MS..HEARD_MS + hole_ms;
        let call = talk(2 * HEARD_MS + hole_ms, [hole.clone(), hole], |_, number| (number, 0));
        assert_eq!(kind(&call), "not-captured", "{hole_ms} ms: {}", says(&call));
        for ssrc in [1, 2] {
            let (s, missing) = (stream(&call, ssrc), hole_ms as u64 / 20);
            assert!(s.missing.abs_diff(missing) <= 1, "{hole_ms} ms: {}", s.missing);
            assert_eq!((s.lost_at_tap, s.lost_at_tap_least), (s.missing, s.missing), "{hole_ms} ms");
        }
    }
}

#[test]
fn what_one_side_loses_for_long_is_missing() {
    for hole_ms in HOLES_MS[..7].iter().copied() {
        let hole = HEARD_MS..HEARD_MS + hole_ms;
        for party in [0, 1] {
            let mut breaks = [0..0, 0..0];
            breaks[party] = hole.clone();
            let call = talk(2 * HEARD_MS + hole_ms, breaks, |_, number| (number, 0));
            assert_eq!(kind(&call), "loss", "{hole_ms} ms: {}", says(&call));
            let lossy = stream(&call, party as u32 + 1);
            assert!(lossy.missing.abs_diff(hole_ms as u64 / 20) <= 1, "{hole_ms} ms: {}", lossy.missing);
            assert_eq!(lossy.lost_at_tap, 0, "{hole_ms} ms");
            assert_eq!(stream(&call, 2 - party as u32).missing, 0);
        }
    }
}

#[test]
fn two_paths_that_lose_at_different_times_are_no_hole() {
    for late_ms in [300, 1_000, 2_000] {
        let breaks = [HEARD_MS..HEARD_MS + 5_000, HEARD_MS + late_ms..HEARD_MS + late_ms + 5_000];
        let call = talk(50_000, breaks, |_, number| (number, 0));
        assert_eq!(kind(&call), "loss", "{late_ms} ms: {}", says(&call));
    }
}

#[test]
fn a_sender_that_pauses_or_begins_anew_lost_nothing() {
    for pause_ms in [30_000, 60_100, 100_000] {
        let pause = HEARD_MS..HEARD_MS + pause_ms;
        let (behind, paused) = ((HEARD_MS + pause_ms) / 20, pause_ms / 20);
        // Numbers go on by one, with the time counted or not; or begin anew far from the old ones.
        let counted = |_: usize, n: i64| if n >= behind { (n - paused, paused * 160) } else { (n, 0) };
        let not_counted = |_: usize, n: i64| if n >= behind { (n - paused, 0) } else { (n, 0) };
        let anew = |_: usize, n: i64| if n >= behind { (n + 9_000, 77_777_777) } else { (n, 0) };
        let stays: [&dyn Fn(usize, i64) -> (i64, i64); 3] = [&counted, &not_counted, &anew];
        for (at, counts) in stays.into_iter().enumerate() {
            let call = talk(2 * HEARD_MS + pause_ms, [pause.clone(), pause.clone()], counts);
            for ssrc in [1, 2] {
                let s = stream(&call, ssrc);
                assert_eq!((s.missing, s.lost_at_tap, s.expected), (0, 0, s.packets), "{pause_ms} ms, {at}");
            }
            assert!(!["loss", "jitter"].contains(&kind(&call)), "{pause_ms} ms, {at}: {}", says(&call));
        }
    }
}
