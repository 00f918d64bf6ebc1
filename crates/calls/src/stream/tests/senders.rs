//! What senders do to timestamps and sequence numbers, as users of such programs reported it, and what networks do: the
//! first is neither jitter nor loss, the second always is.

use super::*;

/// A clock rate with a payload type that has it, and octets of 10 ms.
const CLOCKS: [(u32, u8, u32); 3] = [(8000, 0, 80), (16_000, 97, 320), (48_000, 96, 960)];
const PACKET_MS: [i64; 4] = [10, 20, 30, 60];

/// A sender whose packets pass the tap on time, unless a test says otherwise.
#[derive(Clone)]
struct Sender {
    clock: (u32, u8, u32),
    ms: i64,
    at_us: i64,
    number: i64,
    timestamp: i64,
    marker: bool,
    sent: Vec<(Sent, bool)>,
}

impl Sender {
    fn new(clock: (u32, u8, u32), ms: i64) -> Sender {
        let (number, timestamp) = (65_000, 4_294_960_000);
        Sender { clock, ms, at_us: 0, number, timestamp, marker: true, sent: Vec::new() }
    }

    fn all() -> impl Iterator<Item = Sender> {
        CLOCKS.into_iter().flat_map(|clock| PACKET_MS.map(|ms| Sender::new(clock, ms)))
    }

    fn ticks(&self, ms: i64) -> i64 {
        i64::from(self.clock.0) / 1000 * ms
    }

    /// Packets at their pace for so long.
    fn talk(&mut self, ms: i64) -> &mut Sender {
        for _ in 0..ms / self.ms {
            let sent = Sent { at_us: self.at_us, number: self.number, timestamp: self.timestamp };
            self.sent.push((sent, core::mem::take(&mut self.marker)));
            self.at_us += self.ms * 1000;
            self.number += 1;
            self.timestamp += self.ticks(self.ms);
        }
        self
    }

    /// Nothing is sent, and the timestamps count it or do not.
    fn pause(&mut self, ms: i64, counted: bool, marker: bool) -> &mut Sender {
        self.at_us += ms * 1000;
        self.timestamp += if counted { self.ticks(ms) } else { 0 };
        self.marker = marker;
        self
    }

    fn jump(&mut self, ms: i64, marker: bool) -> &mut Sender {
        self.timestamp += self.ticks(ms);
        self.marker = marker;
        self
    }

    fn renumber(&mut self, by: i64) -> &mut Sender {
        self.number += by;
        self
    }

    /// Packets of twelve seconds, and a network that holds them up: `from` and for how long, milliseconds, and how far
    /// `apart` they come then at most, microseconds.
    fn stalled(mut self, stalls: &[(i64, i64, i64)]) -> Sender {
        self.talk(12_000);
        let mut free_us = 0;
        for (p, _) in &mut self.sent {
            for (from, length, apart) in stalls {
                if (from * 1000..(from + length) * 1000).contains(&p.at_us) {
                    // Each behind the one before, faster than they were sent.
                    p.at_us = ((from + length) * 1000).max(free_us + apart.min(&(self.ms * 600)));
                }
            }
            p.at_us = p.at_us.max(free_us);
            free_us = p.at_us;
        }
        self
    }

    fn report(&mut self) -> Stream {
        self.sent.sort_by_key(|(p, _)| p.at_us);
        self.analyze().report()
    }

    fn analyze(&self) -> Analyzer {
        let mut map = PayloadMap::new(Media::Audio);
        map.map(96, "L16", 48_000);
        map.map(97, "L16", 16_000);
        let map = Arc::new(map);
        let payload = vec![0x78; (self.clock.2 as i64 * self.ms / 10) as usize];
        let header = |(sent, marker): &(Sent, bool)| Header { marker: *marker, ..header(sent, self.clock.1) };
        let at_ns = |sent: &Sent| START_NS + sent.at_us * 1000;
        let mut a = Analyzer::new(at_ns(&self.sent[0].0), map, &header(&self.sent[0]));
        for packet in &self.sent {
            a.packet(at_ns(&packet.0), &header(packet), &payload, payload.len() as u32);
        }
        a
    }

    /// Nothing was lost, late or uneven.
    #[track_caller]
    fn is_clean(&mut self) -> Stream {
        let r = self.report();
        let what = format!("{} Hz, {} ms: {r:?}", self.clock.0, self.ms);
        assert_eq!((r.missing, r.discarded, r.duplicates, r.reordered), (0, 0, 0, 0), "{what}");
        assert_eq!((r.expected, r.packets), (self.sent.len() as u64, self.sent.len() as u64), "{what}");
        assert!(r.jitter_max_ms < 1.0, "{what}");
        assert_eq!(r.delay_histogram, [0; 7], "{what}");
        r
    }
}

/// FreeSWITCH 2361 and 2370: from ringback to media the timestamps fall back by 13,440, then take a third base.
#[test]
fn from_ringback_to_media() {
    for marker in [true, false] {
        for mut s in Sender::all() {
            let r = s.talk(1800).jump(-1680, marker).talk(1200).jump(7001, marker).talk(6000).is_clean();
            assert_eq!((r.timestamp_jumps, r.sequence_jumps), (2, 0));
        }
    }
}

/// FreeSWITCH 146: what is played goes on after 240 ms of nothing as if no time had passed.
#[test]
fn playback_resumes_without_counting_the_pause() {
    for mut s in Sender::all() {
        let r = s.talk(3000).pause(240, false, false).talk(3000).is_clean();
        assert_eq!(r.timestamp_jumps, 1);
    }
}

/// FreeSWITCH 2427: each prompt begins at the same low timestamp.
#[test]
fn each_prompt_begins_anew() {
    for mut s in Sender::all() {
        for _ in 0..20 {
            let begin = s.timestamp;
            s.talk(2100);
            s.timestamp = begin;
            s.marker = true;
        }
        assert_eq!(s.is_clean().timestamp_jumps, 19);
    }
}

/// FreeSWITCH 801: a packet with the timestamp 0 now and then.
#[test]
fn single_odd_timestamps() {
    for mut s in Sender::all() {
        for _ in 0..10 {
            s.talk(1800);
            let (right, ms) = (s.timestamp, s.ms);
            s.timestamp = right - s.ticks(5000);
            s.marker = true;
            s.talk(ms);
            s.timestamp = right + s.ticks(ms);
        }
        assert_eq!(s.talk(600).is_clean().timestamp_jumps, 20);
    }
}

/// Janus 2646: after early media the timestamps are back at 0 while numbers go on.
#[test]
fn back_to_zero_after_early_media() {
    for mut s in Sender::all() {
        s.timestamp = 0;
        s.talk(2940);
        s.timestamp = 0;
        assert_eq!(s.talk(9000).is_clean().timestamp_jumps, 1);
    }
}

/// Asterisk 912 and 1277, Symphony 323: another source after a transfer, forward or back, near or far.
#[test]
fn another_source_on_the_same_ssrc() {
    for by_ms in [-400_000, -9_000, -700, 500, 4_000, 11_000, 400_000] {
        for mut s in Sender::all() {
            let r = s.talk(6000).jump(by_ms, by_ms % 2 == 0).talk(6000).is_clean();
            assert_eq!(r.timestamp_jumps, 1, "{by_ms}");
        }
    }
}

/// discordgo 1695, Cisco and Asterisk: silence is not sent, and its time is not counted.
#[test]
fn silence_that_is_not_counted() {
    for (marker, pause_ms) in [(true, 3000), (false, 3000), (true, 400), (false, 700), (false, 9500)] {
        for mut s in Sender::all() {
            for _ in 0..8 {
                s.talk(1980).pause(pause_ms, false, marker);
            }
            assert_eq!(s.talk(1200).is_clean().timestamp_jumps, 8, "{marker} {pause_ms}");
        }
    }
}

/// The same with counted time, as RFC 3551 section 4.1 has it.
#[test]
fn silence_that_is_counted_is_nothing_odd() {
    for marker in [true, false] {
        for mut s in Sender::all() {
            for n in 0..20 {
                s.talk(1200).pause(60 * (n + 1), true, marker);
            }
            assert_eq!(s.talk(1200).is_clean().timestamp_jumps, 0);
        }
    }
}

/// rtpproxy 61: the first packet after hold goes on where the phone stopped, the next counts the hold.
#[test]
fn the_first_packet_after_hold_is_old() {
    for mut s in Sender::all() {
        let ms = s.ms;
        s.talk(3000).pause(6000, false, false).talk(ms).jump(6000, false).talk(3000);
        let r = s.report();
        assert_eq!((r.missing, r.discarded), (0, 0), "{r:?}");
        assert!(r.jitter_mean_ms < 3.0, "{r:?}");
    }
}

/// Homer 268 and 430: prompts are injected with numbers of their own.
#[test]
fn injected_prompts() {
    for by in [700, 40, 2900, 9000] {
        for mut s in Sender::all() {
            for _ in 0..3 {
                s.talk(3000).renumber(by).jump(30_000, true).talk(1800).renumber(-by).jump(-30_000, true);
            }
            // A way back of few numbers is not told from packets that come late.
            if by > i64::from(MISORDER_MAX) {
                let r = s.talk(3000).is_clean();
                assert_eq!(r.sequence_jumps, 6, "{by}");
            } else {
                assert_eq!(s.talk(3000).report().missing, 0, "{by}");
            }
        }
    }
}

/// baresip 1431: numbers begin anew after a re-INVITE, timestamps go on.
#[test]
fn numbers_begin_anew() {
    for by in [-20_000, -3000, -700, -200, 10, 700, 20_000] {
        for mut s in Sender::all() {
            let r = s.talk(6000).renumber(by).talk(6000).is_clean();
            assert_eq!((r.sequence_jumps, r.timestamp_jumps), (1, 0), "{by}");
        }
    }
}

/// Linphone 571: after a call was parked the timestamps jump again and again.
#[test]
fn many_jumps_in_a_row() {
    for mut s in Sender::all() {
        for n in 0..30 {
            s.talk(300).jump([-900, 1300, -4000, 2600][n % 4], false);
        }
        assert_eq!(s.talk(3000).is_clean().timestamp_jumps, 30);
    }
}

/// A pause that the timestamps do not count, on a way that is uneven or has packets overtake each other: the first
/// packet behind it is late by itself, or one of the next is overtaken.
#[test]
fn a_pause_that_was_not_counted_on_an_uneven_way() {
    for (uneven, overtaken) in [(true, false), (false, true)] {
        for mut s in Sender::all().filter(|s| s.ms >= 20) {
            s.talk(4000).pause(1150, false, false);
            let first = s.sent.len();
            s.talk(4000);
            if uneven {
                // Every other packet is 22 ms late, and the first one behind the pause 28 ms.
                s.sent[..first - 1].iter_mut().step_by(2).for_each(|(p, _)| p.at_us += 22_000.min(s.ms * 900));
                s.sent[first].0.at_us += 28_000.min(s.ms * 900);
            }
            if overtaken {
                s.sent[first + 2].0.at_us += 2 * s.ms * 1000 + 3000;
            }
            let r = s.report();
            assert_eq!((r.timestamp_jumps, r.discarded, r.missing), (1, 0, 0), "{uneven} {overtaken}: {r:?}");
            assert!(r.jitter_max_ms < 40.0, "{r:?}");
        }
    }
}

/// A packet that was sent before the timestamps got another base, and comes behind one that was sent after: it was as
/// late as its number says, not by the difference of the bases. Within one base a late packet is late.
#[test]
fn a_packet_of_the_base_before_comes_behind_one_of_the_next() {
    for base in [4900, -4900, 0] {
        for mut s in Sender::all() {
            s.talk(3000).jump(base, false);
            let after = s.sent.len();
            s.talk(3000);
            let held_us = 2 * s.ms * 1000 + 1000;
            s.sent[after - 1].0.at_us += held_us;
            let r = s.report();
            assert_eq!((r.reordered, r.missing, r.timestamp_jumps), (1, 0, u32::from(base != 0)), "{base}: {r:?}");
            let most = if base == 0 { 4.0 * held_us as f64 / 16_000.0 } else { 1.0 };
            assert!(r.jitter_max_ms <= most, "{base}: {r:?}");
            assert_eq!(r.jitter_max_ms > 1.0, base == 0, "{base}: {r:?}");
        }
    }
}

/// A pause that the timestamps do not count, and soon after it another base: no delay, though few packets came between.
/// With two packets between them it is not known.
#[test]
fn another_base_soon_after_a_pause_that_was_not_counted() {
    for packets in [4, 6, 8] {
        for mut s in Sender::all() {
            let ms = s.ms;
            let r = s.talk(4000).pause(3880, false, false).talk(packets * ms).jump(32_600, false).talk(4000).is_clean();
            assert_eq!(r.timestamp_jumps, 2);
        }
    }
}

/// The network holds packets up and lets them go at once: late and uneven, with or without a marker.
#[test]
fn a_stall_is_jitter() {
    for mut s in Sender::all() {
        let until_us = 4_000_000 + 1_200_000;
        s.talk(9000);
        let mut held = 0;
        for (p, marker) in &mut s.sent {
            if (4_000_000..until_us).contains(&p.at_us) {
                *marker = held == 0;
                held += 1;
                p.at_us = until_us - 9000 + held * 50;
            }
        }
        let r = s.report();
        let late = s.sent.iter().filter(|(p, _)| {
            let due_us = (p.number - 65_000) * s.ms * 1000;
            p.at_us - due_us > 200_000
        });
        // A buffer starts again after so many late packets in a row.
        let late = late.count().min(trunkline_audio::playout::LATE_RUN.into()) as u64;
        assert_eq!((r.timestamp_jumps, r.missing, r.discarded), (0, 0, late), "{r:?}");
        let packets: Vec<Sent> = s.sent.iter().map(|(p, _)| *p).collect();
        let (_, mean, most) = brute_force_at(&packets, s.clock.0);
        assert!((r.jitter_mean_ms - mean).abs() < 1e-6 && (r.jitter_max_ms - most).abs() < 1e-6, "{r:?}");
    }
}

/// Another route, longer for good: packets go on at their pace, none is late for long.
#[test]
fn a_longer_route_is_no_jump_of_timestamps() {
    for mut s in Sender::all() {
        s.talk(6000);
        s.at_us += 150_000;
        let r = s.talk(6000).report();
        assert_eq!((r.timestamp_jumps, r.discarded, r.missing), (0, 0, 0), "{r:?}");
    }
}

/// A gap in which time passed is loss, long or short.
#[test]
fn a_gap_that_takes_its_time_is_loss() {
    for lost in [1, 4, 5, 30, 700, 2900] {
        for mut s in Sender::all() {
            s.talk(3000);
            let (from, ms) = (s.number, s.ms);
            s.talk(ms * lost).talk(3000);
            s.sent.retain(|(p, _)| !(from..from + lost).contains(&p.number));
            let r = s.report();
            assert_eq!((r.missing, r.sequence_jumps, r.timestamp_jumps), (lost as u64, 0, 0), "{lost} {r:?}");
            assert!(r.jitter_max_ms < 1.0);
        }
    }
}

/// A queue that was held up drops its tail: what comes after it comes at once, and the gap is loss all the same.
#[test]
fn a_gap_behind_a_stall_is_loss() {
    for mut s in Sender::all() {
        s.talk(12_000);
        let ms = s.ms;
        let first = 65_000 + 3000 / ms;
        let (kept, lost) = (300 / ms, 600 / ms);
        s.sent.retain(|(p, _)| !(first + kept..first + kept + lost).contains(&p.number));
        let until_us = (first + kept + lost - 65_000) * ms * 1000 - 2000;
        for (p, _) in s.sent.iter_mut().filter(|(p, _)| (first..first + kept).contains(&p.number)) {
            p.at_us = until_us + (p.number - first) * 20;
        }
        let r = s.report();
        assert_eq!((r.missing, r.sequence_jumps, r.timestamp_jumps), (lost as u64, 0, 0), "{r:?}");
    }
}

/// Numbers that jump in a capture without true times say nothing against loss.
#[test]
fn a_replay_at_full_speed_keeps_its_losses() {
    for mut s in Sender::all() {
        s.talk(12_000);
        s.sent.retain(|(p, _)| p.number % 50 >= 10);
        for (p, _) in &mut s.sent {
            p.at_us = (p.number - 65_000) * 30;
        }
        let r = s.report();
        assert_eq!((r.sequence_jumps, r.expected - r.packets), (0, r.missing), "{r:?}");
        assert!(r.missing > 0);
    }
}

/// A clock that runs fast or slow is measured, and no jump.
#[test]
fn drift_is_still_measured() {
    for ppm in [-300.0, 40.0, 300.0] {
        for mut s in Sender::all() {
            s.talk(60_000);
            for (p, _) in &mut s.sent {
                p.at_us = (p.at_us as f64 * (1.0 - ppm * 1e-6)) as i64;
            }
            let r = s.report();
            assert_eq!((r.timestamp_jumps, r.discarded), (0, 0));
            assert!((r.skew_ppm.unwrap() - ppm as f32).abs() < 2.0, "{ppm} {:?}", r.skew_ppm);
        }
    }
}

/// What a sender does next, and what the network does to it.
fn course() -> impl Strategy<Value = Vec<(u8, i64, bool)>> {
    prop::collection::vec((0u8..4, 300i64..9000, any::<bool>()), 1..12)
}

/// While what a stall held comes at once, another one begins: nothing of it is the sender's doing.
#[test]
fn a_stall_within_a_stall() {
    for s in Sender::all() {
        let r = s.stalled(&[(7871, 467, 1429), (7841, 407, 154)]).report();
        assert_eq!((r.timestamp_jumps, r.sequence_jumps, r.missing), (0, 0, 0), "{r:?}");
        assert!(r.jitter_max_ms > 20.0, "{r:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Whatever the sender does to its timestamps: nothing is lost, late or uneven beyond what the network shakes.
    #[test]
    fn a_sender_makes_no_jitter(course in course(), which in 0usize..12, shake in 0i64..4000, seed in any::<u64>()) {
        let mut s = Sender::all().nth(which).unwrap();
        s.talk(1200);
        for (kind, ms, marker) in course {
            match kind {
                0 => s.jump(ms, marker),
                1 => s.jump(-ms, marker),
                2 => s.pause(ms, false, marker),
                _ => s.pause(ms, true, marker),
            };
            s.talk(1200);
        }
        for (n, (p, _)) in s.sent.iter_mut().enumerate() {
            let random = seed.wrapping_add(n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
            p.at_us += random as i64 % (shake + 1);
        }
        let r = s.report();
        prop_assert_eq!((r.missing, r.discarded), (0, 0));
        prop_assert!(r.jitter_max_ms <= 4.0, "{:?}", r);
    }

    /// Whatever the network does to an even sender: jitter is that of RFC 3550 A.8, and no timestamp is blamed.
    #[test]
    fn a_network_makes_no_jump(
        stalls in prop::collection::vec((500i64..9000, 50i64..1500, 0i64..4000), 0..6),
        which in 0usize..12,
    ) {
        let s = &mut Sender::all().nth(which).unwrap().stalled(&stalls);
        let r = s.report();
        let packets: Vec<Sent> = s.sent.iter().map(|(p, _)| *p).collect();
        let (_, mean, most) = brute_force_at(&packets, s.clock.0);
        prop_assert_eq!((r.timestamp_jumps, r.sequence_jumps, r.missing), (0, 0, 0));
        prop_assert!((r.jitter_mean_ms - mean).abs() < 1e-6, "{} {}", r.jitter_mean_ms, mean);
        prop_assert!((r.jitter_max_ms - most).abs() < 1e-6, "{} {}", r.jitter_max_ms, most);
    }
}
