use super::*;
use proptest::prelude::*;
use std::collections::HashSet;
use trunkline_store::row::Stream;

mod senders;

const START_NS: i64 = 1_700_000_000_000_000_000;

/// A packet of a test: arrival in microseconds, extended sequence number, timestamp.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at_us: i64,
    number: i64,
    timestamp: i64,
}

fn header(sent: &Sent, payload_type: u8) -> Header {
    let (sequence, timestamp) = (sent.number as u16, sent.timestamp as u32);
    Header { sequence, timestamp, ssrc: 7, payload_type, ..Header::default() }
}

fn analyse(payload_type: u8, octets: u32, packets: &[Sent]) -> (Analyzer, Vec<StreamInterval>) {
    let first = header(&packets[0], payload_type);
    let mut a = Analyzer::new(START_NS + packets[0].at_us * 1000, PayloadMap::standard(), &first);
    let payload = vec![0u8; octets as usize];
    let mut intervals = Vec::new();
    for p in packets {
        let news = a.packet(START_NS + p.at_us * 1000, &header(p, payload_type), &payload, octets);
        intervals.extend(news.and_then(|n| n.interval));
    }
    (a, intervals)
}

/// Packets of G.711, 20 ms each, in order and on time.
fn regular(count: i64) -> Vec<Sent> {
    (0..count).map(|n| Sent { at_us: n * 20_000, number: 60_000 + n, timestamp: 4_294_900_000 + n * 160 }).collect()
}

#[test]
fn the_analyzer_is_small() {
    assert!(size_of::<Analyzer>() <= 1664, "{}", size_of::<Analyzer>());
}

#[test]
fn a_perfect_stream() {
    let (a, intervals) = analyse(8, 160, &regular(6_000));
    let r = a.report();
    assert_eq!((r.packets, r.expected, r.lost, r.missing, r.duplicates, r.reordered), (6000, 6000, 0, 0, 0, 0));
    assert_eq!((r.codec.as_str(), r.clock_rate, r.ptime_ms, r.talkspurts), ("PCMA", 8000, 20.0, 1));
    assert!(r.jitter_max_ms < 1e-9 && r.skew_ppm.unwrap().abs() < 0.01);
    let mos = r.mos;
    assert!((mos.g107.unwrap() - 4.4093).abs() < 0.001);
    assert_eq!((mos.vm_f1, mos.vm_f2, mos.vm_adapt), (Some(4.5), Some(4.5), Some(4.5)));
    assert_eq!(intervals.len(), 11);
    assert!(intervals.iter().enumerate().all(|(n, i)| (i.index, i.packets) == (n as u32, 500)));
    assert_eq!((a.interval().unwrap().index, a.interval().unwrap().packets), (11, 500));
}

#[test]
fn scores_fall_with_loss() {
    // Every hundredth packet: 1 %, one at a time.
    let packets: Vec<Sent> = regular(6_000).into_iter().filter(|p| p.number % 100 != 50).collect();
    let r = analyse(0, 160, &packets).0.report();
    assert_eq!((r.missing, r.loss_runs[0], r.burst_ratio), (60, 60, Some(0.99)));
    assert!((r.mos.g107.unwrap() - 4.328).abs() < 0.001, "{:?}", r.mos);
    // Five of 495 packets in each interval: the score of 1.01 %.
    assert!((r.mos.vm_f1.unwrap() - 4.09).abs() < 0.01, "{:?}", r.mos);
}

#[test]
fn a_long_gap_skips_intervals() {
    let mut packets = regular(1_000);
    for p in &mut packets[500..] {
        p.at_us += 60_000_000;
        p.timestamp += 60 * 8000;
    }
    let (a, intervals) = analyse(0, 160, &packets);
    assert_eq!(intervals.iter().map(|i| (i.index, i.packets)).collect::<Vec<_>>(), [(0, 500)]);
    assert_eq!((a.interval().unwrap().index, a.interval().unwrap().packets), (7, 500));
    let r = a.report();
    assert_eq!((r.talkspurts, r.missing, r.delay_histogram), (2, 0, [0; 7]));
    assert_eq!(r.mos.vm_f2, Some(4.5));
}

#[test]
fn discards_count_as_loss_in_g107() {
    let mut packets = regular(2_000);
    for p in packets.iter_mut().filter(|p| p.number % 50 == 0) {
        p.at_us += 300_000;
    }
    packets.sort_by_key(|p| p.at_us);
    let r = analyse(0, 160, &packets).0.report();
    assert_eq!((r.missing, r.discarded, r.reordered, r.burst_ratio), (0, 40, 40, Some(0.98)));
    assert!((r.mos.g107.unwrap() - 4.235).abs() < 0.001, "2 % as if lost: {:?}", r.mos);
}

#[test]
fn events_raise_the_jitter_and_nothing_else() {
    let mut a: Option<Analyzer> = None;
    for n in 0..200u16 {
        let event = (100..112).contains(&n);
        let timestamp = if event { 100 * 160 } else { u32::from(n) * 160 };
        let payload_type = if event { 101 } else { 0 };
        let h = Header { sequence: n, timestamp, payload_type, marker: n == 100, ..Header::default() };
        let payload: &[u8] = if event { &[5, 10, 0, 160] } else { &[0; 160] };
        let at_ns = START_NS + i64::from(n) * 20_000_000;
        let a = a.get_or_insert_with(|| Analyzer::new(at_ns, PayloadMap::standard(), &h));
        a.packet(at_ns, &h, payload, payload.len() as u32);
    }
    let r = a.unwrap().report();
    assert_eq!((r.dtmf.as_str(), r.codec.as_str()), ("5", "PCMU, telephone-event"));
    // RFC 3550 A.8 as it stands: eleven steps of 20 ms and one back of 220 ms.
    assert!(r.jitter_max_ms > 10.0 && r.jitter_max_ms < 30.0, "{}", r.jitter_max_ms);
    assert_eq!((r.delay_histogram, r.discarded), ([0; 7], 0));
    assert_eq!((r.mos.vm_f1, r.missing), (Some(4.5), 0));
}

#[test]
fn a_codec_change_changes_the_clock() {
    let mut map = PayloadMap::new(Media::Audio);
    map.map(96, "opus", 48000);
    let h = |n: u16| {
        let (payload_type, timestamp) =
            if n < 100 { (0, u32::from(n) * 160) } else { (96, 777_777 + u32::from(n) * 960) };
        Header { sequence: n, timestamp, payload_type, ..Header::default() }
    };
    let mut a = Analyzer::new(START_NS, Arc::new(map), &h(0));
    for n in 0..200u16 {
        a.packet(START_NS + i64::from(n) * 20_000_000, &h(n), &[0x78; 80], if n < 100 { 160 } else { 80 });
    }
    let r = a.report();
    assert_eq!((r.codec.as_str(), r.clock_rate, r.ptime_ms), ("PCMU, opus", 8000, 20.0));
    assert!(r.jitter_max_ms < 1e-6, "{}", r.jitter_max_ms);
    assert_eq!(r.mos.g107, None, "nothing is published for Opus");
    assert_eq!(r.mos.vm_f1, Some(4.5));
}

#[test]
fn late_sdp_starts_the_clock() {
    let packets: Vec<Sent> = (0..300).map(|n| Sent { at_us: n * 20_000, number: n, timestamp: n * 320 }).collect();
    let mut a = Analyzer::new(START_NS, PayloadMap::standard(), &header(&packets[0], 97));
    for (n, p) in packets.iter().enumerate() {
        if n == 100 {
            let mut map = PayloadMap::new(Media::Audio);
            map.map(97, "AMR-WB", 16000);
            a.set_payloads(Arc::new(map));
        }
        a.packet(START_NS + p.at_us * 1000, &header(p, 97), &[0; 33], 33);
    }
    let r = a.report();
    assert_eq!((r.codec.as_str(), r.clock_rate, r.ptime_ms), ("AMR-WB", 16000, 20.0));
    assert!(r.jitter_max_ms < 1e-6 && r.mos.wideband && r.mos.g107.is_some());
}

/// RFC 3550 A.8 and the counts of DESIGN section 4 as plainly as they can be written.
#[derive(Debug, PartialEq, Eq)]
struct Counts {
    expected: u64,
    missing: u64,
    copies: u64,
    reordered: u64,
    runs: [u32; 10],
}

fn brute_force(packets: &[Sent]) -> (Counts, f64, f64) {
    brute_force_at(packets, 8000)
}

fn brute_force_at(packets: &[Sent], clock: u32) -> (Counts, f64, f64) {
    let mut seen = HashSet::new();
    let (mut copies, mut reordered, mut highest) = (0, 0, i64::MIN);
    let (mut jitter, mut sum, mut count, mut maximum) = (0.0f64, 0.0, 0, 0.0f64);
    let mut last: Option<Sent> = None;
    for p in packets {
        if !seen.insert(p.number) {
            copies += 1;
            continue;
        }
        reordered += u64::from(p.number < highest);
        highest = highest.max(p.number);
        if let Some(last) = last {
            let arrival = (p.at_us - last.at_us) as f64 / 1000.0;
            let due = (p.timestamp - last.timestamp) as f64 * 1000.0 / f64::from(clock);
            jitter += ((arrival - due).abs() - jitter) / 16.0;
            sum += jitter;
            count += 1;
            maximum = maximum.max(jitter);
        }
        last = Some(*p);
    }
    let lowest = seen.iter().min().copied().unwrap();
    let (mut runs, mut run) = ([0; 10], 0usize);
    for number in lowest..=highest {
        if !seen.contains(&number) {
            run += 1;
        } else if run > 0 {
            runs[run.min(10) - 1] += 1;
            run = 0;
        }
    }
    let expected = (highest - lowest + 1) as u64;
    let missing = expected - seen.len() as u64;
    (Counts { expected, missing, copies, reordered, runs }, sum / f64::from(count.max(1)), maximum)
}

/// Streams with loss in runs, copies, late packets and jitter; some begin just below the wrap of both counters.
fn impaired() -> impl Strategy<Value = Vec<Sent>> {
    let fate = (0u8..100, 0i64..40_000, 0u32..30);
    (prop::collection::vec(fate, 2..1500), 0i64..70_000, 4_294_000_000i64..4_295_000_000).prop_map(
        |(fates, first, first_timestamp)| {
            let mut packets = Vec::new();
            let mut lose = 0;
            for (n, (fate, delay_us, length)) in fates.into_iter().enumerate() {
                let n = n as i64;
                let p = Sent { at_us: n * 20_000 + delay_us, number: first + n, timestamp: first_timestamp + n * 160 };
                lose = if fate < 3 { length } else { lose };
                if lose > 0 {
                    lose -= 1;
                    continue;
                }
                packets.push(p);
                if fate == 50 {
                    packets.push(Sent { at_us: p.at_us + i64::from(length) * 3_000, ..p });
                }
            }
            packets.sort_by_key(|p| p.at_us);
            packets
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn counts_and_jitter_are_those_of_brute_force(packets in impaired().prop_filter("some", |p| !p.is_empty())) {
        let (a, intervals) = analyse(0, 160, &packets);
        let (r, (counts, mean, maximum)) = (a.report(), brute_force(&packets));
        let got = Counts {
            expected: r.expected,
            missing: r.missing,
            copies: r.duplicates,
            reordered: r.reordered,
            runs: r.loss_runs,
        };
        prop_assert_eq!(got, counts);
        prop_assert_eq!(r.packets, packets.len() as u64);
        prop_assert!((r.jitter_mean_ms - mean).abs() < 1e-6, "{} {}", r.jitter_mean_ms, mean);
        prop_assert!((r.jitter_max_ms - maximum).abs() < 1e-6, "{} {}", r.jitter_max_ms, maximum);
        let told: u32 = intervals.iter().chain(a.interval().as_ref()).map(|i| i.packets).sum();
        prop_assert_eq!(told as usize, packets.len());
    }

    #[test]
    fn anything_keeps_the_invariants(octets in prop::collection::vec(any::<u8>(), 0..4096)) {
        crate::exercise::stream(&octets);
    }
}

/// Pauses are those of packets with a payload; keep-alives without one do not end them.
#[test]
fn pauses_and_empty_packets_are_told() {
    let payloads = PayloadMap::standard();
    let header = |n: u32| Header { payload_type: 0, sequence: n as u16, timestamp: n * 160, ..Header::default() };
    let mut analyzer = Analyzer::new(0, payloads, &header(0));
    let ms = |n: i64| n * 1_000_000;
    let octets = [0; 160];
    for n in 0..50 {
        analyzer.packet(ms(20) * i64::from(n), &header(n), &octets, 160);
    }
    for n in 50..60 {
        analyzer.packet(ms(980) + ms(200) * i64::from(n - 49), &header(n), &[], 0);
    }
    for n in 60..70 {
        analyzer.packet(ms(4000) + ms(20) * i64::from(n - 60), &header(n), &octets, 160);
    }
    let sound = analyzer.sound();
    assert_eq!((sound.first_ns, sound.last_ns, sound.empty), (0, ms(4180), 10));
    assert_eq!((sound.pauses, sound.pauses_not_kept), (vec![(ms(980), ms(4000))], 0));
}
