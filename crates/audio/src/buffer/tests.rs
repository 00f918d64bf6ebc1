use super::*;
use crate::voipmonitor::BEST;

/// Packets of a stream: (arrival ms, sequence number); timestamps follow the sequence numbers, 20 ms each.
fn run(packets: impl IntoIterator<Item = (i64, u16)>) -> [Interval; 3] {
    let mut buffers = Buffers::default();
    let mut received = 0;
    for (at_ms, sequence) in packets {
        let media_ms = i64::from(sequence) * 20;
        buffers.voice(&Voice { at_ms, media_ms, sequence, packet_ms: 20, marker: false });
        received += 1;
    }
    buffers.take(received)
}

#[test]
fn the_buffers_are_small() {
    assert!(size_of::<Fixed<50, 100>>() <= 132, "{}", size_of::<Fixed<50, 100>>());
    assert!(size_of::<Buffers>() <= 780, "{}", size_of::<Buffers>());
}

#[test]
fn a_regular_stream_loses_nothing() {
    for i in run((0..500).map(|n| (i64::from(n) * 20, n))) {
        assert_eq!((i.lost, i.bursts), (0, 0));
        assert_eq!(i.score(), BEST);
    }
}

#[test]
fn single_losses_are_counted_one_by_one() {
    for i in run((0..500).filter(|n| n % 50 != 25).map(|n| (i64::from(n) * 20, n))) {
        assert_eq!((i.lost, i.bursts), (10, 10));
    }
}

#[test]
fn bursts_are_counted_by_length() {
    let [f1, f2, adaptive] = run((0..500).filter(|n| n % 100 > 4).map(|n| (i64::from(n) * 20, n)));
    // The first packets of the stream are lost before it begins: four bursts of five remain.
    assert_eq!((f1.lost, f1.bursts), (20, 4));
    assert_eq!((f2.lost, f2.bursts), (20, 4));
    assert_eq!(adaptive.bursts, 4);
}

#[test]
fn late_packets_are_lost_to_the_short_buffer_alone() {
    // Every fiftieth packet comes 150 ms late: beyond 50 ms and two packet times, within 200 ms. The short buffer takes
    // each for a jump of timestamps and becomes deeper by it, so that it loses fewer than ten.
    let mut packets: Vec<(i64, u16)> =
        (0..500).map(|n| (i64::from(n) * 20 + if n % 50 == 25 { 150 } else { 0 }, n)).collect();
    packets.sort_unstable();
    let [f1, f2, _] = run(packets);
    assert!((1..10).contains(&f1.lost), "{f1:?}");
    assert_eq!((f2.lost, f2.bursts), (0, 0));
}

#[test]
fn a_pause_without_sequence_gap_is_no_loss() {
    let mut buffers = Buffers::default();
    for n in 0..400u16 {
        let pause = i64::from(n / 100) * 5_000;
        let at_ms = i64::from(n) * 20 + pause;
        let voice = Voice { at_ms, media_ms: at_ms, sequence: n, packet_ms: 20, marker: false };
        buffers.voice(&voice);
    }
    for i in buffers.take(400) {
        assert_eq!(i.lost, 0);
    }
}

#[test]
fn the_adaptive_buffer_grows_with_the_jitter() {
    // Every third packet comes 120 ms late: the adaptive buffer grows once, which counts as loss, and then plays all.
    let mut packets: Vec<(i64, u16)> =
        (0..2000).map(|n| (i64::from(n) * 20 + if n % 3 == 1 { 120 } else { 0 }, n)).collect();
    packets.sort_unstable();
    let [_, f2, adaptive] = run(packets);
    assert_eq!(f2.lost, 0);
    assert!((1..30).contains(&adaptive.lost), "{adaptive:?}");
}

#[test]
fn anything_may_come() {
    let mut seed = 1u64;
    let mut next = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        seed >> 33
    };
    let mut buffers = Buffers::default();
    for _ in 0..200_000 {
        let wild = next() % 50 == 0;
        let at_ms = if wild { next() as i64 - (1 << 30) } else { (next() % 1000) as i64 };
        let media_ms = if next() % 50 == 0 { i64::MAX - next() as i64 } else { (next() % 3000) as i64 };
        let packet_ms = (2 + next() % 120) as u16;
        let (sequence, marker) = (next() as u16, next() % 20 == 0);
        buffers.voice(&Voice { at_ms, media_ms, sequence, packet_ms, marker });
    }
}
