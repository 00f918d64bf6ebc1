//! How long reading capture files takes, without decoding: `cargo run --release --example read_rate -- FILE...`.

use std::time::Instant;

use trunkline_capture::{Batch, FileSource};

fn main() {
    let mut arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let batch_octets = arguments.first().and_then(|a| a.to_str()).and_then(|a| a.parse::<usize>().ok());
    if batch_octets.is_some() {
        arguments.remove(0);
    }
    let paths: Vec<_> = arguments.into_iter().map(Into::into).collect();
    let begin = Instant::now();
    let mut source = FileSource::open(&paths);
    if let Some(octets) = batch_octets {
        source = source.with_batch_octets(octets);
    }
    let mut batch = Batch::default();
    let mut sum = 0u64;
    while source.fill(&mut batch) {
        // Touch each packet as a decoder would.
        sum += batch.packets.iter().filter_map(|p| batch.octets_of(p).get(12)).map(|o| u64::from(*o)).sum::<u64>();
    }
    let seconds = begin.elapsed().as_secs_f64();
    for file in source.files() {
        let error = file.error.as_ref().map(|e| e.to_string()).unwrap_or_default();
        eprintln!("{}: {} packets, {} {error}", file.path.display(), file.read.packets, file.format);
    }
    let packets = source.counters().packets;
    println!(
        "{packets} packets in {seconds:.3} s, {:.1} ns each ({sum}, {} merged)",
        seconds * 1e9 / packets.max(1) as f64,
        source.counters().merged
    );
}
