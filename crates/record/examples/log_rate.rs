//! How fast a lane's packets become segments on a disk, and what that costs, without a source or an analysis:
//! `cargo run --release -p trunkline-record --example log_rate -- FOLDER MIB [CALLS] [OCTETS]`.
//!
//! Packets of interleaved G.711 calls (two streams each) are made beforehand, in memory, or frames of so many octets
//! if that is said; a lane takes them over and over, as fast as the disk. The last line is JSON.

use std::path::Path;
use std::time::{Duration, Instant};

use trunkline_capture::Packet;
use trunkline_record::{Class, LaneLog, Recorder, Rules};
use trunkline_sim::{PacketBuf, Preset, Settings, World};
use trunkline_spool::{Options, Volume};
use trunkline_wire::{Decoded, decode};

/// Packets that are made.
const PACKETS: usize = 200_000;
/// Packets between two looks at the memory.
const LOOK: usize = 1024;
/// The part of the memory that may be full, as one in so many: beyond it, blocks would be packed for a disk that lags.
const FULL: usize = 5;
const PATIENCE: Duration = Duration::from_secs(600);

struct Made {
    at_ns: i64,
    octets: Vec<u8>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, rest @ ..] = &arguments[..] else { return Err("log_rate FOLDER MIB [CALLS] [OCTETS]".into()) };
    let number = |i: usize, default: u64| rest.get(i).map_or(Ok(default), |a| a.parse());
    let (limit, calls, octets) = (number(0, 1024)? << 20, number(1, 500)?, number(2, 0)?);
    let packets = made(calls as u32, octets as usize);
    let alone = decode_alone(&packets);
    let options = Options::new(vec![Volume::new(folder)]);
    let (recorder, _) = Recorder::open(options, Rules::default())?;
    let (before, lane_before) = (process_cpu_ns(), thread_cpu_ns());
    let begun = Instant::now();
    let mut log = recorder.lane(0, "made");
    let (count, sum, waited) = write(&recorder, &mut log, &packets, limit);
    log.finish();
    let lane_ns = thread_cpu_ns().saturating_sub(lane_before);
    drop(log);
    let closed = recorder.close(PATIENCE);
    let seconds = begun.elapsed().as_secs_f64();
    let all_ns = process_cpu_ns().saturating_sub(before);
    let (segments, indexes) = sizes(Path::new(folder))?;
    let volume = closed.stats.volumes.first().cloned().unwrap_or_default();
    let lost: u64 = closed.stats.drops.iter().map(|d| d.buffer.records + d.disk.records + d.lost.records).sum();
    let each = |ns: u64| ns as f64 / count as f64;
    println!(
        "{{\"packets\":{count},\"octets\":{sum},\"file_octets\":{segments},\"index_octets\":{indexes},\"lost\":{lost},\
         \"seconds\":{seconds:.4},\"mib_per_second\":{:.1},\"decode_ns\":{:.1},\"lane_ns\":{:.1},\"process_ns\":{:.1},\
         \"waits\":{waited},\"engine\":\"{}\",\"direct\":{}}}",
        segments as f64 / seconds / f64::from(1 << 20),
        each(alone * count / packets.len() as u64),
        each(lane_ns),
        each(all_ns),
        volume.engine,
        volume.direct
    );
    Ok(())
}

/// Packets of calls that are up; with `octets`, frames that were cut or stretched to that.
fn made(calls: u32, octets: usize) -> Vec<Made> {
    let rate = f64::from(calls);
    let settings =
        Settings { calls: calls.into(), calls_per_second: rate, concurrent: calls, ..Settings::preset(Preset::Busy) };
    let mut world = World::new(&settings).expect("settings of a preset");
    let (mut packet, mut packets) = (PacketBuf::new(), Vec::new());
    while let Some(at_ns) = world.next_packet(&mut packet) {
        let mut frame = packet.octets().to_vec();
        if octets > 0 {
            frame.resize(octets, 0xd5);
            // The length of the IPv4 datagram and of its UDP part.
            for (at, length) in [(16, octets - 14), (38, octets - 34)] {
                frame[at..at + 2].copy_from_slice(&(length as u16).to_be_bytes());
            }
        }
        packets.push(Made { at_ns, octets: frame });
        if packets.len() >= PACKETS {
            break;
        }
    }
    packets
}

fn class(decoded: &Decoded) -> Class {
    match decoded {
        Decoded::Udp(d) if d.src_port == 5060 || d.dst_port == 5060 => Class::Sip,
        Decoded::Udp(_) => Class::Rtp,
        _ => Class::Other,
    }
}

/// What decoding all packets costs a thread, nanoseconds.
fn decode_alone(packets: &[Made]) -> u64 {
    /// The clock of threads may have ticks of milliseconds.
    const ROUNDS: u64 = 20;
    let before = thread_cpu_ns();
    for _ in 0..ROUNDS {
        let sum: usize = packets.iter().map(|p| class(&decode(1, &p.octets)) as usize).sum();
        std::hint::black_box(sum);
    }
    thread_cpu_ns().saturating_sub(before) / ROUNDS
}

/// Records packets until their records fill so many octets; packets, their octets, and how often there was no memory.
fn write(recorder: &Recorder, log: &mut LaneLog, packets: &[Made], limit: u64) -> (u64, u64, u64) {
    let (mut count, mut sum, mut records, mut waited, mut shift_ns) = (0u64, 0, 0, 0, 0);
    let span = packets.last().map_or(0, |p| p.at_ns) - packets.first().map_or(0, |p| p.at_ns) + 1_000_000;
    while records < limit {
        for chunk in packets.chunks(LOOK) {
            while is_full(recorder) {
                waited += 1;
                std::thread::park_timeout(Duration::from_micros(200));
            }
            for made in chunk {
                let decoded = decode(1, &made.octets);
                let (at_ns, length) = (made.at_ns + shift_ns, made.octets.len() as u32);
                count += 1;
                let packet = Packet {
                    at_ns,
                    number: count,
                    offset: 0,
                    start: 0,
                    captured: length,
                    wire: length,
                    link: 1,
                    file: 0,
                };
                log.packet(&packet, &made.octets, &decoded, class(&decoded));
                sum += u64::from(length);
                records += u64::from(length.next_multiple_of(4)) + 32;
            }
            log.tick(chunk.last().map_or(0, |p| p.at_ns + shift_ns));
            if records >= limit {
                break;
            }
        }
        shift_ns += span;
    }
    (count, sum, waited)
}

fn is_full(recorder: &Recorder) -> bool {
    let memory = recorder.stats().memory;
    memory.used * FULL > memory.limit
}

/// CPU time of this thread (the first number of /proc/PID/schedstat).
fn thread_cpu_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0)
}

/// CPU time of all threads, those that have ended among them, in ticks of 10 ms (proc(5): utime and stime).
fn process_cpu_ns() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(") ").next().unwrap_or_default().split(' ').skip(11).take(2);
    fields.map(|f| f.parse().unwrap_or(0)).sum::<u64>() * 10_000_000
}

/// Octets of segments and of indexes below a folder.
fn sizes(folder: &Path) -> std::io::Result<(u64, u64)> {
    let (mut folders, mut segments, mut indexes) = (vec![folder.to_path_buf()], 0, 0);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let (path, metadata) = entry.and_then(|e| Ok((e.path(), e.metadata()?)))?;
            match path.extension().and_then(|e| e.to_str()) {
                _ if metadata.is_dir() => folders.push(path),
                Some("pcapng") => segments += metadata.len(),
                Some("idx") => indexes += metadata.len(),
                _ => {}
            }
        }
    }
    Ok((segments, indexes))
}
