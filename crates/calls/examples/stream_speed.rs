//! How long one packet of a stream takes: 2,000 interleaved G.711 streams, in order, with a little jitter, packet by
//! packet as a capture gives them. `cargo run --release --example stream_speed -p trunkline-calls [streams] [impaired]`

use std::time::Instant;
use trunkline_calls::payload::PayloadMap;
use trunkline_calls::stream::Analyzer;
use trunkline_wire::rtp::Header;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let streams: usize = arguments.next().and_then(|a| a.parse().ok()).unwrap_or(2_000);
    let impaired = arguments.next().is_some();
    let payload = [0xd5u8; 160];
    let header = |stream: usize, n: u32| Header {
        sequence: n as u16,
        timestamp: n.wrapping_mul(160).wrapping_add(stream as u32),
        ssrc: stream as u32,
        payload_type: 8,
        marker: n == 0,
        ..Header::default()
    };
    let map = PayloadMap::standard();
    let mut analyzers: Vec<Analyzer> = (0..streams).map(|s| Analyzer::new(0, map.clone(), &header(s, 0))).collect();
    let mut seed = 1u32;
    let (rounds, mut packets, mut ended) = (3_000u32, 0u64, 0u64);
    let (start, cpu_start) = (Instant::now(), cpu_ns());
    for n in 0..rounds {
        for (s, analyzer) in analyzers.iter_mut().enumerate() {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let mut jitter_ns = i64::from(seed >> 12);
            if impaired {
                if seed >> 25 == 0 {
                    continue;
                }
                jitter_ns *= 30;
            }
            let at_ns = i64::from(n) * 20_000_000 + s as i64 * 1000 + jitter_ns;
            ended += u64::from(analyzer.packet(at_ns, &header(s, n), &payload, 160).is_some());
            packets += 1;
        }
    }
    let ns = start.elapsed().as_nanos() as f64 / packets as f64;
    let cpu_ns = cpu_ns().saturating_sub(cpu_start) as f64 / packets as f64;
    let missing: u64 = analyzers.iter().map(|a| a.report().missing).sum();
    println!("{streams} streams, {} octets each: {ns:.1} ns a packet, {cpu_ns:.1} of CPU", size_of::<Analyzer>());
    println!("{packets} packets, {ended} intervals, {missing} missing");
}

/// CPU time of this process, nanoseconds; 0 where the system does not tell.
fn cpu_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0)
}
