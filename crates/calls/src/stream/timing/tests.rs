use super::*;

#[test]
fn jitter_of_rfc_3550() {
    let mut t = Timing::new(8000);
    // Arrivals 0, 30, 40 ms with 20 ms of media between: D is 10, then -10.
    for (ms, timestamp) in [(0i64, 4_294_967_200u32), (30, 64), (40, 224)] {
        t.packet(ms * 1_000_000, timestamp, 0, || Some(20.0));
    }
    let (j1, j2) = (10.0 / 16.0, 10.0 / 16.0 + (10.0 - 10.0 / 16.0) / 16.0);
    assert!((t.jitter_ms().0 - (j1 + j2) / 2.0).abs() < 1e-12 && (t.jitter_ms().1 - j2).abs() < 1e-12);
}

#[test]
fn differences_fall_into_bins() {
    let mut t = Timing::new(8000);
    for ms in [0i64, 49, 119, 120, 420, 20_000] {
        t.packet(ms * 1_000_000, 0, 0, || None);
    }
    assert_eq!(t.histogram(), [0, 1, 0, 0, 0, 0, 1]);
}

#[test]
fn drift_is_told_in_parts_per_million() {
    let mut t = Timing::new(8000);
    for n in 0..6000u32 {
        // The sender is 100 ppm fast: 20 ms of media in 19.998 ms.
        t.packet(i64::from(n) * 19_998_000, n * 160, 0, || Some(20.0));
        if n % 500 == 499 {
            t.end_interval(f64::from(n) * 0.02);
        }
    }
    assert!((t.skew_ppm().unwrap() - 100.0).abs() < 0.5, "{:?}", t.skew_ppm());
    assert_eq!(Timing::new(8000).skew_ppm(), None);
}

/// Packets of 40 ms, of which each comes so long after the one before; those that were told to be too late.
fn late(timing: &mut Timing, apart_ms: impl IntoIterator<Item = i64>) -> Vec<u16> {
    let (mut at_ms, mut late) = (0, Vec::new());
    for (number, apart) in (1u16..).zip(apart_ms) {
        at_ms += apart;
        if timing.packet(at_ms * 1_000_000, u32::from(number) * 320, number, || Some(40.0)) {
            late.extend(timing.take_late(number));
        }
    }
    late.extend(timing.end_rise());
    late
}

#[test]
fn a_pause_that_is_not_counted_may_follow_a_late_packet() {
    let mut timing = Timing::new(8000);
    let apart = [[40; 20].as_slice(), &[144, 1536], &[40; 25]].concat();
    assert_eq!(late(&mut timing, apart), Vec::<u16>::new());
    assert!(timing.jitter_ms().1 < 10.0 && timing.jumps == 1, "{:?} {}", timing.jitter_ms(), timing.jumps);
}

#[test]
fn a_stall_may_follow_a_late_packet() {
    let mut timing = Timing::new(8000);
    // Late by 400 ms, then held for 1.5 s, and all that was held comes at once.
    let apart = [[40; 20].as_slice(), &[440, 1536], &[1; 40], &[40; 20]].concat();
    let late = late(&mut timing, apart);
    assert!(late.starts_with(&[21, 22, 23]) && late.len() > 30, "{late:?}");
    assert!(timing.jitter_ms().1 > 50.0 && timing.jumps == 0, "{:?}", timing.jitter_ms());
}
