//! What an index costs and how large it becomes, for interleaved G.711 calls, two streams each:
//! `cargo run --release -p trunkline-record --example index_rate -- 500 1000000`.

use std::time::Instant;

use trunkline_record::index::{Builder, FileMark, View};
use trunkline_sim::{PacketBuf, Preset, Settings, World};
use trunkline_wire::decode;

fn main() {
    let arguments: Vec<u32> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let calls = arguments.first().copied().unwrap_or(500);
    let limit = arguments.get(1).copied().unwrap_or(1_000_000) as usize;
    let rounds = arguments.get(2).copied().unwrap_or(3);
    let rate = f64::from(calls);
    let settings =
        Settings { calls: calls.into(), calls_per_second: rate, concurrent: calls, ..Settings::preset(Preset::Busy) };
    let mut world = World::new(&settings).expect("settings of a preset");
    let mut packet = PacketBuf::new();
    let mut packets = Vec::new();
    while let Some(at_ns) = world.next_packet(&mut packet) {
        packets.push((at_ns, packet.octets().to_vec()));
        if packets.len() >= limit {
            break;
        }
    }
    let octets: u64 = packets.iter().map(|p| p.1.len() as u64).sum();
    let decode_only = Instant::now();
    let tunnels: u64 =
        packets.iter().map(|p| u64::from(matches!(decode(1, &p.1), trunkline_wire::Decoded::Udp(_)))).sum();
    let decode_only = decode_only.elapsed();
    let mut builder = Builder::new();
    for _ in 0..rounds {
        let begin = Instant::now();
        let mut offset = 128;
        for (at_ns, octets) in &packets {
            let record = 32 + octets.len().next_multiple_of(4) as u32;
            builder.packet(*at_ns, offset, record, 1, octets, &decode(1, octets));
            offset += u64::from(record);
        }
        let elapsed = begin.elapsed();
        let sealing = Instant::now();
        let index = builder.seal(&FileMark::default());
        let sealed = sealing.elapsed();
        let each = |t: std::time::Duration| t.as_nanos() as f64 / packets.len() as f64;
        let mut flows = 0;
        let view = View::open(index.as_slice()).expect("what was just sealed");
        view.flows(|_, _| flows += 1).expect("what was just sealed");
        println!(
            "{} packets, {flows} flows, {tunnels} datagrams: {:.1} ns a packet with decoding ({:.1} alone), sealed in \
             {:.1} ms; index {} octets, {:.3} % of the packets, {:.3} % of the file",
            packets.len(),
            each(elapsed),
            each(decode_only),
            sealed.as_secs_f64() * 1e3,
            index.len(),
            index.len() as f64 * 100.0 / octets as f64,
            index.len() as f64 * 100.0 / offset as f64,
        );
    }
}
