use super::*;

const MS: i64 = 1_000_000;

fn address(n: u8) -> Address {
    Address::v4([10, 0, n, 1])
}

/// A watch that has heard `streams` streams of 20 ms for a while, up to `until` windows.
fn after_quiet(streams: u64, until: i64) -> Watch {
    let mut watch = Watch::default();
    let heard: Vec<_> = (0..until).map(|window| Heard { window, packets: 2 * streams }).collect();
    watch.take(&heard, Vec::new(), start_of(until));
    watch
}

/// One packet missing at `at_ns` between two addresses.
fn hit(at_ns: i64, src: u8, dst: u8) -> Hit {
    let gap = Gap::new(at_ns - 20 * MS, at_ns + 20 * MS, 1);
    Hit { known_ns: at_ns + 400 * MS, src: address(src), dst: address(dst), gap, source: 0 }
}

fn found(watch: &mut Watch, hits: Vec<Hit>, heard: std::ops::Range<i64>) -> Vec<TapLoss> {
    let heard: Vec<_> = heard.map(|window| Heard { window, packets: 200 }).collect();
    watch.take(&heard, hits, i64::MAX);
    watch.poll()
}

#[test]
fn unrelated_streams_that_lose_at_once_are_an_overflow() {
    let at = start_of(1000) + 10 * MS;
    let hits: Vec<_> = (0..5).map(|n| hit(at, n, n + 100)).collect();
    let lost = found(&mut after_quiet(100, 1000), hits.clone(), 1000..1200);
    assert_eq!(lost.len(), 1, "{lost:?}");
    assert_eq!((lost[0].packets, lost[0].kind, lost[0].source), (5, Kind::Mirror, Some(0)));
    assert!(lost[0].since_ns <= at && at < lost[0].at_ns);
    // Spread over seconds it is chance.
    let spread: Vec<_> =
        hits.iter().zip(0..).map(|(h, n)| Hit { gap: hit(at + n * 900 * MS, 0, 0).gap, ..*h }).collect();
    assert_eq!(found(&mut after_quiet(100, 1000), spread, 1000..1200), []);
}

#[test]
fn one_path_that_loses_is_no_overflow() {
    let at = start_of(1000) + 10 * MS;
    // Two addresses; a network that sends; a network that receives.
    let pair = (0..20).map(|n| hit(at + n, 1, 2)).collect();
    assert_eq!(found(&mut after_quiet(100, 1000), pair, 1000..1200), []);
    let from = (0..20).map(|n| hit(at, 1, n + 100)).collect();
    assert_eq!(found(&mut after_quiet(100, 1000), from, 1000..1200), []);
    let to = (0..20).map(|n| hit(at, n + 100, 1)).collect();
    assert_eq!(found(&mut after_quiet(100, 1000), to, 1000..1200), []);
}

#[test]
fn where_much_is_lost_always_it_takes_more() {
    let mut watch = after_quiet(100, 10);
    let each = |window: i64| (0..4).map(move |n| hit(start_of(window) + 10 * MS, n, n + 100));
    let usual: Vec<_> = (10..800).filter(|w| w % 2 == 0).flat_map(each).collect();
    let heard: Vec<_> = (10..800).map(|window| Heard { window, packets: 200 }).collect();
    watch.take(&heard, usual, start_of(800));
    let before = watch.counters.mirror;
    watch.take(&[], each(810).collect(), start_of(900));
    assert_eq!(watch.counters.mirror, before);
    watch.take(
        &[Heard { window: 1000, packets: 200 }],
        (0..40).map(|n| hit(start_of(1000), n, n + 100)).collect(),
        i64::MAX,
    );
    assert!(watch.counters.mirror > before);
}

#[test]
fn silence_of_all_with_numbers_missing_both_ways_is_a_hole() {
    let (from, to) = (start_of(1000), start_of(1050) + 5 * MS);
    let over = |n: u8| [hole(from, to, n, n + 100), hole(from, to, n + 100, n)];
    let all: Vec<_> = (0..3).flat_map(over).collect();
    let mut watch = after_quiet(100, 1000);
    let lost = found(&mut watch, all.clone(), 1050..1200);
    assert_eq!(lost.len(), 1, "{lost:?}");
    assert_eq!((lost[0].kind, lost[0].packets, lost[0].since_ns, lost[0].at_ns), (Kind::Hole, 600, from - 1, to + 1));
    assert_eq!(watch.blind(from, to, i64::MAX).count(), 1);
    assert_eq!(watch.blind(from, to, to).count(), 0, "it was decided later");
    // One direction alone is a network's fault, and a few calls that pause are nobody's.
    let one_way: Vec<_> = all.iter().filter(|h| h.src < h.dst).copied().collect();
    assert_eq!(found(&mut after_quiet(100, 1000), one_way, 1050..1200), []);
    assert_eq!(found(&mut after_quiet(100, 1000), Vec::new(), 1050..1200), []);
}

#[test]
fn both_directions_of_one_call_are_enough_in_a_long_silence() {
    let from = start_of(1000) - 3 * MS;
    let lost = |windows: i64, late_ns: [i64; 2]| {
        let to = start_of(1000 + windows) + 5 * MS;
        let late = hole(from - late_ns[0], to + late_ns[1], 101, 1);
        found(&mut after_quiet(2, 1000), vec![hole(from, to, 1, 101), late], 1000 + windows..1100 + windows).len()
    };
    assert_eq!([20, 24, 25, 200].map(|windows| lost(windows, [0; 2])), [0, 0, 1, 1]);
    // One of them stopped well before, or goes on later.
    assert_eq!((lost(50, [30 * MS, 70 * MS]), lost(50, [150 * MS, 0]), lost(50, [0, 150 * MS])), (1, 0, 0));
}

fn hole(from: i64, to: i64, src: u8, dst: u8) -> Hit {
    let gap = Gap::new(from - 1, to + 1, 100);
    Hit { known_ns: to + 400 * MS, src: address(src), dst: address(dst), gap, source: 0 }
}

#[test]
fn it_does_not_matter_in_which_parts_it_is_told() {
    let at = start_of(1000) + 10 * MS;
    let hits: Vec<_> = (0..30).map(|n| hit(at + i64::from(n) * 7 * MS, n, n + 100)).collect();
    let whole = {
        let mut watch = after_quiet(100, 1000);
        let lost = found(&mut watch, hits.clone(), 1000..1200);
        (lost, watch.blind.clone())
    };
    let mut watch = after_quiet(100, 1000);
    for window in 1000..1200 {
        let now_ns = start_of(window + 1);
        let known = |h: &&Hit| window_of(h.known_ns) == window;
        let some: Vec<_> = hits.iter().rev().filter(known).copied().collect();
        // Half of a window each, as two lanes would tell it.
        watch.take(&[Heard { window, packets: 100 }, Heard { window, packets: 100 }], some, now_ns);
    }
    watch.take(&[], Vec::new(), i64::MAX);
    assert_eq!((watch.poll(), watch.blind.clone()), whole);
}
