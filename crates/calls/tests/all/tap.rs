//! A tap that loses packets: what it lost is told from what the network lost, and no call is blamed for it.

use crate::world;
use trunkline_sim::codec::Codec;
use trunkline_sim::settings::{Impairments, Weighted};
use trunkline_sim::tap::{Blind, Tap};
use trunkline_sim::truth::{CallTruth, StreamTruth};
use trunkline_sim::{Preset, Settings};
use trunkline_store::row::{Call, Rows};
use world::{World, read_rows, world};

/// Calls of a minute, in a network that loses nothing.
fn sound() -> Settings {
    let codecs = vec![Weighted { codec: Codec::Pcma, weight: 1.0 }];
    Settings { calls: 60, calls_per_second: 3.0, rtcp: false, codecs, ..Settings::preset(Preset::Busy) }
}

fn with(settings: Settings, tap: Tap) -> Settings {
    Settings { tap, ..settings }
}

fn blind(spans: &[(f64, f64, f64)]) -> Tap {
    let blind = spans.iter().map(|(at_s, for_s, share)| Blind { at_s: *at_s, for_s: *for_s, share: *share });
    Tap { blind: blind.collect(), ..Tap::default() }
}

/// Each call with its truth.
fn pairs<'a>(rows: &'a Rows, world: &'a World) -> impl Iterator<Item = (&'a Call, &'a CallTruth)> {
    let of = |c: &&Call, t: &CallTruth| c.sip_call_id == t.sip_call_id;
    world.calls().map(move |t| (rows.calls.iter().find(|c| of(c, t)).unwrap(), t))
}

fn sum(call: &CallTruth, of: impl Fn(&StreamTruth) -> u64) -> u64 {
    call.streams.iter().map(of).sum()
}

/// All that is missing was lost at the tap, and is said to be, to the packet.
fn all_at_tap(settings: &Settings, place: &str) -> Rows {
    let world = world(settings);
    let (found, _) = read_rows(&world.file, 1);
    let mut lost = 0;
    for (call, truth) in pairs(&found, &world) {
        let (at_tap, missing) = (sum(truth, |s| s.lost_at_tap), sum(truth, |s| s.missing));
        assert_eq!(at_tap, missing);
        let ledger = &call.capture;
        assert_eq!((ledger.lost_at_tap, ledger.lost_before_tap), (at_tap, 0), "{}: {}", call.sip_call_id, ledger.note);
        assert_eq!(ledger.complete, ledger.note.is_empty());
        assert!(at_tap == 0 || !ledger.complete);
        assert!(call.verdict.as_ref().is_none_or(|v| v.kind == "not-captured"), "{:?}", call.verdict);
        lost += at_tap;
    }
    assert!(lost > 100);
    let told: u64 = found.losses.iter().filter(|l| l.place == place).map(|l| l.count).sum();
    // Who says how many it dropped counts those before the first and behind the last that came, too; an overflow is
    // told by streams that go on after it.
    let range = if place == "operating-system" { lost..=lost + 20 } else { lost - lost / 20..=lost };
    assert!(range.contains(&told), "{lost}: {:?}", found.losses);
    assert!(found.losses.iter().all(|l| l.place == place && !l.source.is_empty()));
    for threads in [2, 5] {
        assert!(read_rows(&world.file, threads).0 == found, "{threads} threads");
    }
    found
}

#[test]
fn an_overflow_is_told_to_the_packet() {
    let spans = [(20.0, 0.3, 0.5), (30.0, 0.05, 0.9), (41.0, 2.0, 0.4), (50.0, 0.02, 1.0)];
    let found = all_at_tap(&with(sound(), blind(&spans)), "mirror");
    assert_eq!(found.losses.len(), spans.len(), "{:?}", found.losses);
    let start = found.calls.iter().map(|c| c.start_ns).min().unwrap() as f64 / 1e9;
    for (loss, (at_s, for_s, _)) in found.losses.iter().zip(spans) {
        let (since, at) = (loss.since_ns as f64 / 1e9 - start, loss.at_ns as f64 / 1e9 - start);
        assert!((since - at_s).abs() < 0.15 && (at - at_s - for_s).abs() < 0.15, "{since} {at}");
    }
    assert!(found.calls.iter().any(|c| c.capture.note.contains("unrelated calls")));
}

#[test]
fn a_hole_is_told_to_the_packet() {
    let found = all_at_tap(&with(sound(), blind(&[(25.0, 4.0, 1.0), (45.0, 1.0, 1.0)])), "hole");
    assert_eq!(found.losses.len(), 2, "{:?}", found.losses);
    assert!(found.calls.iter().any(|c| c.capture.note.contains("saw nothing at all for 4")));
}

#[test]
fn drops_that_the_ring_reports_are_told_to_the_packet() {
    let found = all_at_tap(&with(sound(), Tap { ring_drops: 0.02, ..Tap::default() }), "operating-system");
    for call in &found.calls {
        assert!(call.capture.note.contains("the capturing side dropped"), "{}", call.capture.note);
        assert_eq!(call.capture.lost_at_tap_least, 0, "it says how many, not whose");
    }
}

#[test]
fn a_score_that_the_tap_leaves_open_is_a_range_or_none() {
    let found = all_at_tap(&with(sound(), blind(&[(12.0, 0.2, 0.5), (66.0, 6.0, 0.9)])), "mirror");
    for call in found.calls.iter().filter(|c| c.capture.lost_at_tap > 0) {
        let range = call.capture.mos_range.unwrap();
        // Nothing else was wrong with them.
        assert!(range.low < range.high && range.high > 4.3, "{range:?}");
        assert_eq!(call.mos.is_some(), range.high - range.low <= 0.5);
        assert!(call.mos.is_none_or(|mos| mos == range.low));
        assert_eq!(call.mos.is_none(), call.capture.note.contains("MOS withheld"));
    }
    assert!(found.calls.iter().any(|c| c.mos.is_none()) && found.calls.iter().any(|c| c.mos.is_some()));
    assert!(found.calls.iter().all(|c| (c.capture.lost_at_tap > 0) == c.capture.mos_range.is_some()));
}

/// The same overflow in a network that loses up to an eighth of its own: what the network lost is its own, but for what
/// it lost in the same moments.
#[test]
fn what_the_network_lost_stays_its_own() {
    let impairments = Impairments { share: 0.5, loss_max: 0.12, jitter_max_ms: 5.0, ..Impairments::default() };
    let settings = Settings { impairments, ..sound() };
    for rtcp in [false, true] {
        let tap = blind(&[(20.0, 0.5, 0.7), (41.0, 1.0, 0.8)]);
        let world = world(&with(Settings { rtcp, ..settings.clone() }, tap));
        let (found, _) = read_rows(&world.file, 1);
        let (mut at_tap, mut truly, mut kept) = (0, 0, 0);
        for (call, truth) in pairs(&found, &world) {
            let (ours, theirs) = (call.capture.lost_at_tap, sum(truth, |s| s.lost_at_tap));
            assert!(ours.abs_diff(theirs) <= 30, "{}: {ours} of {theirs}", call.capture.note);
            assert_eq!(ours + call.capture.lost_before_tap, sum(truth, |s| s.missing));
            (at_tap, truly) = (at_tap + ours, truly + theirs);
            let kinds: Vec<_> = truth.expect.iter().map(|k| serde_json::to_value(k).unwrap()).collect();
            let got = call.verdict.as_ref().map(|v| v.kind.as_str()).unwrap_or_default();
            let network = truth.streams.iter().map(|s| (s.missing - s.lost_at_tap) as f64 / s.expected as f64);
            // At the threshold a packet decides.
            if network.map(|share| (share - 0.03).abs()).fold(1.0, f64::min) > 0.005 {
                assert_eq!(got == "loss", kinds.iter().any(|k| k == "loss"), "{:?}", call.verdict);
                kept += 1;
            }
        }
        println!("{at_tap} of {truly} at the tap, {kept} calls judged");
        assert!(truly > 500 && (at_tap as f64 / truly as f64 - 1.0).abs() < 0.08, "{at_tap} of {truly}");
        assert!(kept > 20);
    }
}

#[test]
fn one_direction_that_is_not_mirrored_is_no_one_way_audio() {
    let settings = Settings { rtcp: true, ..sound() };
    for one_sided in [false, true] {
        let world = world(&with(settings.clone(), Tap { one_sided, ..Tap::default() }));
        for (call, _) in pairs(&read_rows(&world.file, 1).0, &world) {
            let text = call.verdict.as_ref().map(|v| v.text.as_str()).unwrap_or_default();
            let kind = call.verdict.as_ref().map(|v| v.kind.as_str());
            assert_eq!(kind, one_sided.then_some("not-captured"), "{text}");
            assert_eq!(text.contains("one direction does not pass the tap"), one_sided, "{text}");
            assert_eq!(call.capture.note.contains("the caller reports that it received audio, at least"), one_sided);
            assert_eq!(call.capture.complete, !one_sided, "{}", call.capture.note);
        }
    }
}

/// Planted faults stay what they are when the tap is sound, and when it was blind for a moment.
#[test]
fn a_silent_side_is_the_calls_fault_unless_the_tap_was_blind() {
    let settings = Settings { calls: 150, seed: 5, ..Settings::preset(Preset::Demo) };
    for tap in [Tap::default(), blind(&[(30.0, 0.3, 1.0)])] {
        let world = world(&with(settings.clone(), tap));
        let mut silent = 0;
        for (call, truth) in pairs(&read_rows(&world.file, 1).0, &world) {
            for kind in ["one-way-audio", "no-audio"] {
                let deserved = truth.expect.iter().any(|k| serde_json::to_value(k).unwrap() == kind);
                let got = call.verdict.as_ref().is_some_and(|v| v.kind == kind);
                assert_eq!(got, deserved, "{:?}", call.verdict);
                silent += usize::from(got);
            }
        }
        assert!(silent > 2);
    }
}

#[test]
fn a_call_within_a_hole_is_not_without_audio() {
    let duration = trunkline_sim::settings::Duration { min_s: 5.0, mean_s: 5.0, max_s: 5.0 };
    let mixed = Settings { duration, calls: 120, ..sound() };
    let world = world(&with(mixed, blind(&[(15.0, 12.0, 1.0)])));
    let mut within = 0;
    for (call, truth) in pairs(&read_rows(&world.file, 1).0, &world) {
        let kind = call.verdict.as_ref().map(|v| v.kind.as_str());
        assert!(matches!(kind, None | Some("not-captured")), "{:?}", call.verdict);
        within += usize::from(truth.streams.is_empty() && kind == Some("not-captured"));
    }
    println!("{within} calls within the hole");
}

/// No network that loses by itself, and nothing that is quiet by itself, is taken for a tap that loses.
#[test]
fn no_false_alarms() {
    for preset in [Preset::Clean, Preset::Demo, Preset::Impaired, Preset::Busy] {
        for seed in [1, 2] {
            let calls = if preset == Preset::Impaired { 400 } else { 150 };
            let world = world(&Settings { seed, calls, ..Settings::preset(preset) });
            let (found, summary) = read_rows(&world.file, 1);
            assert_eq!(found.losses, [], "{preset:?} {seed}");
            assert!(!summary.degraded());
            let told: Vec<_> = found.calls.iter().filter(|c| c.capture.lost_at_tap > 0).collect();
            assert!(told.is_empty(), "{preset:?} {seed}: {} calls, {}", told.len(), told[0].capture.note);
        }
    }
}
