//! How fast segments go to a disk: `throughput FOLDER [MiB] [auto|uring|pwrite] [direct|cached] [depth] [block KiB]`.
//!
//! One writer appends records of 246 octets (a G.711 packet in pcapng) as fast as the memory takes them. To compare:
//! `fio --name=x --directory=FOLDER --rw=write --bs=1M --size=4G --direct=1 --ioengine=io_uring --iodepth=4
//! --fallocate=none`.

use std::path::Path;
use std::time::{Duration, Instant};

use trunkline_spool::{Direct, Engine, Options, Priority, Spool, Volume};

const RECORD: usize = 246;
const SEGMENT_OCTETS: u64 = 512 << 20;
const PATIENCE: Duration = Duration::from_secs(600);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |i: usize, default: &str| arguments.get(i).cloned().unwrap_or_else(|| default.to_owned());
    let folder = arguments.first().ok_or("throughput FOLDER [MiB] [engine] [direct|cached] [depth] [block KiB]")?;
    let octets = argument(1, "4096").parse::<u64>()? << 20;
    let mut options = Options::new(vec![Volume::new(folder)]);
    options.engine = match argument(2, "auto").as_str() {
        "pwrite" => Engine::Pwrite,
        "uring" => Engine::Uring,
        _ => Engine::Auto,
    };
    options.direct = if argument(3, "direct") == "cached" { Direct::Off } else { Direct::Auto };
    options.depth = argument(4, "4").parse()?;
    options.block = argument(5, "1024").parse::<usize>()? << 10;
    options.pack_above_percent = 100;
    let (spool, opened) = Spool::open(options)?;
    opened.notes.iter().for_each(|note| println!("{note}"));
    let began = Instant::now();
    let refused = write(&spool, octets);
    spool.settle(PATIENCE);
    let took = began.elapsed().as_secs_f64();
    let stats = spool.close(PATIENCE).stats;
    let volume = &stats.volumes[0];
    println!("{:.0} MiB/s, {} direct {}", octets as f64 / took / f64::from(1 << 20), volume.engine, volume.direct);
    println!(
        "waited for memory {refused} times; written {} lost {}",
        stats.counts.written_octets, stats.counts.lost_octets
    );
    for (what, waits) in [("writes", &volume.writes), ("waits", &volume.waits), ("syncs", &volume.syncs)] {
        let mean = waits.sum_us / waits.count.max(1);
        println!(
            "{what}: {} mean {mean} us, 99 % {} us, max {} us",
            waits.count,
            waits.quantile_us(0.99),
            waits.max_us
        );
    }
    Ok(())
}

/// Writes so many octets; how often there was no memory.
fn write(spool: &Spool, octets: u64) -> u64 {
    let mut writer = spool.writer(Priority::Highest, 0);
    let (head, body) = ([1u8; 28], [0xd5u8; RECORD - 28]);
    let (mut written, mut refused) = (0, 0);
    while written < octets {
        if !writer.is_open() && writer.begin(Path::new("throughput/segment.seg")).is_err() {
            std::thread::park_timeout(Duration::from_millis(100));
            continue;
        }
        match writer.append(0, &[&head, &body]) {
            Ok(_) => written += RECORD as u64,
            Err(_) => {
                refused += 1;
                std::thread::park_timeout(Duration::from_micros(200));
            }
        }
        if writer.position() >= SEGMENT_OCTETS {
            writer.seal(Vec::new());
        }
    }
    writer.seal(Vec::new());
    refused
}
