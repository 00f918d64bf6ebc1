//! Makes a world and says what it cost: `cargo run --release -p trunkline-sim --example world -- busy out.pcap
//! truth.jsonl`.

use std::fs::File;
use std::io;
use std::time::Instant;
use trunkline_sim::{Preset, Settings, write};

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |n: usize| arguments.get(n).map(String::as_str);
    let preset: Preset = argument(0).unwrap_or("demo").parse().map_err(io::Error::other)?;
    let mut settings = Settings::preset(preset);
    if let Some(calls) = argument(3) {
        settings.calls = calls.parse().map_err(io::Error::other)?;
    }
    if let Some(seed) = argument(4) {
        settings.seed = seed.parse().map_err(io::Error::other)?;
    }
    let out: Box<dyn io::Write> = match argument(1) {
        Some(path) => Box::new(File::create(path)?),
        None => Box::new(io::sink()),
    };
    let begin = Instant::now();
    let written = write(&settings, out, argument(2).map(File::create).transpose()?, &mut |_, _| {})?;
    let elapsed = begin.elapsed();
    println!("{written:#?}");
    println!("{:.0} ns a packet", elapsed.as_nanos() as f64 / written.totals.packets.max(1) as f64);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    println!("{}", status.lines().find(|l| l.starts_with("VmHWM")).unwrap_or(""));
    Ok(())
}
