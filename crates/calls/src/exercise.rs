//! What the fuzz targets and the replay of their corpora drive: one function per parser, with its invariants.

use crate::payload::PayloadMap;
use crate::stream::Analyzer;
use std::sync::Arc;
use trunkline_audio::codec::Media;
use trunkline_wire::rtp::Header;

/// A stream of any packets: eight octets tell each one's time, sequence number, timestamp, type and length.
pub fn stream(octets: &[u8]) {
    let mut map = PayloadMap::new(Media::Audio);
    map.map(96, "opus", 48000);
    map.map(97, "telephone-event", 8000);
    map.map(98, "unheard-of", 44100);
    let map = Arc::new(map);
    let mut at_ns = 1_700_000_000_000_000_000i64;
    let mut header = Header::default();
    let mut analyzer: Option<Analyzer> = None;
    let mut intervals = 0;
    for o in octets.chunks_exact(8) {
        step(&mut header, &mut at_ns, o);
        let analyzer = analyzer.get_or_insert_with(|| Analyzer::new(at_ns, PayloadMap::standard(), &header));
        if o[6] == 0x77 {
            analyzer.set_payloads(Arc::clone(&map));
        }
        let ended = analyzer.packet(at_ns, &header, &octets[..octets.len().min(usize::from(o[7]))], u32::from(o[7]));
        intervals += ended.map_or(0, |i| i.packets);
    }
    let Some(analyzer) = analyzer else { return };
    let report = analyzer.report();
    intervals += analyzer.interval().map_or(0, |i| i.packets);
    assert_eq!(u64::from(intervals), report.packets);
    assert_eq!(report.packets, report.expected - report.missing + report.duplicates + analyzer.strays());
    assert_eq!(report.lost, report.expected as i64 - report.packets as i64);
    assert!(report.missing <= report.expected && report.reordered <= report.packets);
    assert!(report.jitter_mean_ms.is_finite() && report.jitter_mean_ms <= report.jitter_max_ms + 1e-9);
    let runs: u64 = report.loss_runs.iter().zip(1..).map(|(&n, length)| u64::from(n) * length).sum();
    assert!(runs <= report.missing, "{runs} lost in runs, {} missing", report.missing);
    for score in [report.mos.g107, report.mos.vm_f1, report.mos.vm_f2, report.mos.vm_adapt] {
        assert!(score.is_none_or(|s| (1.0..=4.5).contains(&s)));
    }
}

/// Small numbers are the usual step, large ones a jump.
fn step(header: &mut Header, at_ns: &mut i64, o: &[u8]) {
    header.sequence = match o[0] {
        n @ 0..=223 => header.sequence.wrapping_add(u16::from(n % 8)).wrapping_sub(1),
        n => u16::from_be_bytes([n, o[1]]),
    };
    header.timestamp = match o[2] {
        n @ 0..=223 => header.timestamp.wrapping_add(u32::from(n % 4) * 80),
        n => u32::from_be_bytes([n, o[3], o[1], o[0]]),
    };
    *at_ns = at_ns.wrapping_add(match o[4] {
        n @ 0..=239 => i64::from(n) * 400_000,
        n => i64::from_be_bytes([0, 0, n, o[5], o[3], o[2], o[1], o[0]]).wrapping_sub(1 << 47),
    });
    header.payload_type = [0, 8, 9, 13, 18, 96, 97, 98, 101][usize::from(o[6]) % 9];
    header.marker = o[5] & 0x10 != 0;
}
