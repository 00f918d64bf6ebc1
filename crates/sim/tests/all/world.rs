//! Whole worlds: the same from the same seed, consistent in themselves, and as bad as they say they are.

use std::collections::HashSet;
use trunkline_sim::faults::Variant;
use trunkline_sim::truth::{CallTruth, Moment, State, StreamTruth, Totals, TransactionTruth, Who};
use trunkline_sim::{Kind, PacketBuf, Preset, Settings, Truth, World, faults, write};

/// A world's file and truth.
fn files(settings: &Settings) -> (Vec<u8>, Vec<u8>) {
    let (mut packets, mut truth) = (Vec::new(), Vec::new());
    write(settings, &mut packets, Some(&mut truth), &mut |_, _| {}).unwrap();
    (packets, truth)
}

/// What happened in a world; its packets are let go.
#[derive(Default)]
struct Told {
    calls: Vec<CallTruth>,
    registrations: Vec<TransactionTruth>,
    events: Vec<TransactionTruth>,
    totals: Totals,
}

fn told(settings: &Settings) -> Told {
    let mut world = World::new(settings).unwrap();
    let (mut packet, mut told, mut last) = (PacketBuf::new(), Told::default(), 0);
    while let Some(at_ns) = world.next_packet(&mut packet) {
        assert!(at_ns >= last, "time went back");
        last = at_ns;
    }
    while let Some(truth) = world.next_truth() {
        match truth {
            Truth::Call(call) => told.calls.push(*call),
            Truth::Registration(registration) => told.registrations.push(*registration),
            Truth::Event(event) => told.events.push(*event),
            Truth::World(world) => told.totals = world.totals,
        }
    }
    told
}

fn small(preset: Preset, seed: u64) -> Settings {
    Settings { seed, calls: 40, ..Settings::preset(preset) }
}

#[test]
fn the_same_seed_gives_the_same_octets_and_another_seed_others() {
    for (_, preset) in Preset::ALL {
        let settings = Settings { calls: 12, ..Settings::preset(preset) };
        let (packets, truth) = files(&settings);
        assert!((packets.clone(), truth.clone()) == files(&settings), "{preset:?}");
        let (other_packets, other_truth) = files(&Settings { seed: 2, ..settings });
        assert!(packets != other_packets && truth != other_truth);
    }
}

/// FNV-1a of a file that must never change while the settings' meaning does not: a new version of a library, another
/// machine or another compiler give the same octets.
#[test]
fn a_world_is_the_same_everywhere() {
    let (packets, _) = files(&Settings { calls: 30, ..Settings::preset(Preset::Demo) });
    let hash = packets.iter().fold(0xcbf2_9ce4_8422_2325u64, |h, o| (h ^ u64::from(*o)).wrapping_mul(0x100_0000_01b3));
    assert_eq!(format!("{hash:016x}"), "a648dbbf9a8019b1");
}

#[test]
fn the_truth_agrees_with_itself() {
    for preset in [Preset::Demo, Preset::Impaired] {
        let told = told(&small(preset, 3));
        let streams = || told.calls.iter().flat_map(|c| &c.streams);
        for s in streams() {
            assert_eq!(s.lost, s.expected as i64 - s.packets as i64);
            assert_eq!(s.missing, s.expected - (s.packets - s.duplicates));
            assert!(s.sent >= s.expected && s.jitter_max_ms >= s.jitter_mean_ms);
            assert!(s.first.as_ref().unwrap().ns <= s.last.as_ref().unwrap().ns);
            assert_eq!(s.codec.split(", ").count(), s.payload_types.len());
        }
        let errands = || told.registrations.iter().chain(&told.events);
        let messages: u32 = told.calls.iter().map(|c| c.messages).chain(errands().map(|e| e.messages)).sum();
        assert_eq!(streams().map(|s| s.packets).sum::<u64>(), told.totals.rtp_packets);
        assert_eq!(u64::from(messages), told.totals.sip_messages);
        assert_eq!((told.calls.len() as u64, 40), (told.totals.calls, told.calls.len()));
        let ids: HashSet<_> = told.calls.iter().map(|c| &c.sip_call_id).collect();
        assert_eq!(ids.len(), told.calls.len());
    }
}

#[test]
fn reports_tell_what_was_lost() {
    let told = told(&small(Preset::Impaired, 4));
    let long = told.calls.iter().flat_map(|c| &c.streams).filter(|s| s.receiver_reports > 2);
    let mut seen = 0;
    for s in long {
        let reported = f64::from(s.reported_lost.unwrap());
        // The last report comes at most five seconds before the end.
        assert!((reported - s.lost as f64).abs() <= 0.3 * 500.0, "{reported} {}", s.lost);
        seen += 1;
    }
    assert!(seen > 5);
}

#[test]
fn every_fault_takes_effect_and_no_near_miss_does() {
    let mut kinds = HashSet::new();
    for seed in 1..4 {
        let settings = Settings {
            seed,
            calls: 150,
            faults: 0.6,
            near_misses: 0.4,
            background: 1.0,
            ..Settings::preset(Preset::Demo)
        };
        let told = told(&settings);
        for call in &told.calls {
            let planted = call.planted.unwrap();
            kinds.insert((planted.kind, planted.near_miss));
            let expect = if planted.near_miss { vec![] } else { vec![planted.kind] };
            assert_eq!(call.expect, expect, "{planted:?} {}", serde_json::to_string(call).unwrap());
            check_effect(call);
        }
        for registration in &told.registrations {
            let planted = registration.planted.unwrap();
            kinds.insert((planted.kind, planted.near_miss));
            assert_eq!(registration.code == 200, planted.near_miss);
        }
    }
    let all = faults::FAULTS.iter().chain(&faults::NEAR_MISSES).chain(&faults::REGISTRATION_FAULTS);
    assert!(all.chain(&faults::REGISTRATION_NEAR_MISSES).all(|p| kinds.contains(&(p.kind, p.near_miss))));
}

/// The figures of the call show what was planted, by the thresholds of `faults`.
fn check_effect(call: &CallTruth) {
    let planted = call.planted.unwrap();
    let context = serde_json::to_string(call).unwrap();
    let directions: HashSet<_> = call.streams.iter().map(|s| s.direction as u8).collect();
    let is = |effect: bool| assert_eq!(effect, !planted.near_miss, "{context}");
    match planted.kind {
        Kind::EarlyHangup => is(call.duration_ms.is_some_and(|ms| ms < faults::EARLY_HANGUP_S * 1000.0)),
        Kind::SlowSetup => is(call.pdd_ms.unwrap() > faults::SLOW_SETUP_S * 1000.0),
        Kind::RetransmissionStorm => is(call.retransmissions + 1 >= faults::STORM_REQUESTS),
        Kind::NoProgress => is(call.duration_ms.is_none() && long(call)),
        Kind::LongRinging => is(call.pdd_ms.is_some() && rang_ms(call) > 185_000.0),
        Kind::AckLost => is(call.retransmissions >= 20),
        Kind::CredentialsRefused => is(call.state == State::AuthChallenged),
        Kind::NoResponse => is(call.state == State::Attempted),
        Kind::NoAudio => assert!(call.state == State::Completed && directions.is_empty(), "{context}"),
        Kind::OneWayAudio
            if matches!(planted.variant, Variant::Stops | Variant::NotBackAfterHold | Variant::ToneOnly) =>
        {
            is(silent_s(call, true) >= 10.0);
        }
        Kind::AudioStopped => is(silent_s(call, false) >= 10.0),
        Kind::LateAudio => is(late_s(call) >= 3.0),
        Kind::OneWayAudio if planted.variant == Variant::RelayDead => {
            assert!(call.streams.iter().all(|s| !s.in_turn || s.direction == Who::Caller), "{context}");
        }
        Kind::OneWayAudio if planted.variant == Variant::ToPrivateAddress => {
            let is_astray = |s: &StreamTruth| s.dst.starts_with("192.168.");
            assert!(call.streams.iter().all(|s| is_astray(s) == (s.direction == Who::Callee)), "{context}");
        }
        Kind::OneWayAudio if planted.variant == Variant::RelayStops => {
            let last = || call.streams.iter().map(|s| s.last.as_ref().unwrap().ns);
            assert!(last().max().unwrap() - last().min().unwrap() > 10_000_000_000, "{context}");
        }
        Kind::OneWayAudio if planted.variant == Variant::Unreachable => assert_eq!(directions.len(), 2, "{context}"),
        Kind::OneWayAudio if !planted.near_miss => assert_eq!(directions.len(), 1, "{context}"),
        Kind::Failure4xx | Kind::Failure5xx | Kind::Failure6xx if !planted.near_miss => {
            assert_eq!(call.state, State::Rejected);
        }
        _ => {}
    }
}

/// Seconds from the last packet of a side to the end of the call: of the side that stops first, or of the other one.
fn silent_s(call: &CallTruth, first: bool) -> f64 {
    let end = call.end.as_ref().unwrap().ns;
    let last = |who: Who| call.streams.iter().filter(|s| s.direction == who).map(|s| s.last.as_ref().unwrap().ns).max();
    let [one, other] = [Who::Caller, Who::Callee].map(|who| last(who).unwrap());
    (end - if first { one.min(other) } else { one.max(other) }) as f64 * 1e-9
}

/// Seconds from the answer to the first packet of the side that begins last.
fn late_s(call: &CallTruth) -> f64 {
    let answer = call.answer.as_ref().unwrap().ns;
    let first = call.streams.iter().map(|s| s.first.as_ref().unwrap().ns).max();
    (first.unwrap() - answer) as f64 * 1e-9
}

fn ms_between(from: Option<&Moment>, to: Option<&Moment>) -> f64 {
    from.zip(to).map_or(0.0, |(from, to)| (to.ns - from.ns) as f64 / 1e6)
}

/// The call took longer than a caller waits for a sign.
fn long(call: &CallTruth) -> bool {
    ms_between(call.start.as_ref(), call.end.as_ref()) > faults::SLOW_SETUP_S * 1000.0
}

fn rang_ms(call: &CallTruth) -> f64 {
    ms_between(call.ringing.as_ref(), call.answer.as_ref().or(call.end.as_ref()))
}

#[test]
fn a_clean_world_deserves_no_verdict() {
    for seed in 1..4 {
        let told = told(&Settings { seed, calls: 150, ..Settings::preset(Preset::Clean) });
        let guilty = told.calls.iter().find(|c| !c.expect.is_empty() || c.planted.is_some());
        assert_eq!(guilty, None);
        assert!(told.registrations.iter().all(|r| r.expect.is_empty() && r.code == 200));
        let states: HashSet<_> = told.calls.iter().map(|c| c.state as u8).collect();
        assert!(states.len() >= 5, "{states:?}");
        let too_short = |c: &CallTruth| c.duration_ms.is_some_and(|ms| ms < 4000.0);
        assert!(!told.calls.iter().any(|c| too_short(c) || c.pdd_ms.is_some_and(|ms| ms > 6000.0)));
    }
}

#[test]
fn no_more_calls_at_a_time_than_allowed() {
    let settings = Settings { calls: 60, concurrent: 5, calls_per_second: 50.0, ..Settings::preset(Preset::Demo) };
    let totals = told(&settings).totals;
    assert_eq!((totals.calls, totals.concurrent_max), (60, 5));
}

#[test]
fn a_world_without_calls_is_empty_and_wrong_settings_are_refused() {
    let (packets, truth) = files(&Settings { calls: 0, ..Settings::default() });
    assert_eq!(packets.len(), 24);
    assert_eq!(String::from_utf8(truth).unwrap().lines().count(), 1);
    let wrong = Settings { answer_ratio: 7.0, ..Settings::default() };
    let error = write(&wrong, Vec::new(), None::<Vec<u8>>, &mut |_, _| {}).unwrap_err();
    assert!(error.to_string().contains("answer_ratio is 7"), "{error}");
}
