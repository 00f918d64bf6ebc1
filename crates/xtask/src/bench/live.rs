//! Capturing from a wire of our own at the highest rate that it carries, everything written to disk.

mod frames;
mod recorder;
mod report;

use super::need;
use super::wire::{Sent, Wire, sent};
use super::{Bench, Outcome};
use recorder::{RING_MIB, Recorded, Recorder};
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Runs of each program at the highest rate; the one that misses most is shown.
const RUNS: u32 = 2;
/// Halvings of the interval in which the highest rate without loss lies.
const STEPS: u32 = 5;
/// How long a run of that search sends, seconds.
const STEP_SECONDS: f64 = 2.0;
/// A ring that is too small, MiB.
const SMALL_RING_MIB: u32 = 1;
/// Frames that are sent to it.
const SMALL_FRAMES: u64 = 500_000;
/// For so long the program with the small ring stands still, and then goes on, milliseconds.
const STOP_MS: u64 = 40;

/// Frames of one size.
pub struct Load {
    octets: usize,
    frames: u64,
}

const LOADS: &[Load] = &[Load { octets: 214, frames: 3_000_000 }, Load { octets: 1514, frames: 1_000_000 }];
const RECORDERS: &[Recorder] = &[
    Recorder::Ours("af-packet", RING_MIB),
    Recorder::Ours("af-xdp", RING_MIB),
    Recorder::Tcpdump,
    Recorder::Dumpcap,
    Recorder::Netsniff,
];

/// One program at one rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// What was sent.
    pub sent: Sent,
    /// What the interfaces of the pair counted as dropped.
    pub dropped_by_pair: u64,
    /// What came of it.
    pub recorded: Recorded,
}

impl Run {
    /// What the pair dropped and the program did not see. AF_XDP's own drops are counted by the interface as well:
    /// those that the program tells are not counted again.
    pub fn before_tap(&self) -> u64 {
        let missing = self.sent.packets.saturating_sub(self.recorded.in_file);
        self.dropped_by_pair.min(missing.saturating_sub(self.recorded.told))
    }

    /// Frames that came to the program and are in no file.
    pub fn lost(&self) -> i64 {
        self.sent.packets as i64 - self.before_tap() as i64 - self.recorded.in_file as i64
    }

    /// Of these, the ones of which the program says nothing; less than none if it says too much.
    pub fn untold(&self) -> i64 {
        self.lost() - self.recorded.told as i64
    }
}

/// A program with what it did.
pub struct Row {
    /// The program.
    pub recorder: Recorder,
    /// Its run at the highest rate that missed most, or why there is none.
    pub run: Result<Run, String>,
    /// The highest rate without loss, frames a second, where it lost.
    pub lossless: Option<f64>,
}

/// Captures with every program.
///
/// # Errors
/// The frames cannot be written.
pub fn run(bench: &Bench<'_>) -> Result<Outcome, String> {
    let needed = [("ip", "iproute2"), ("capinfos", "wireshark-common"), ("taskset", "util-linux")];
    if let Some(why) = need::missing(Some("lay a wire in a network namespace"), &needed) {
        return Ok(Outcome::Skipped(why));
    }
    if let Some(why) = need::no_room(&bench.folder, 8 << 30) {
        return Ok(Outcome::Skipped(why));
    }
    let wire = match Wire::lay() {
        Ok(wire) => wire,
        Err(why) => return Ok(Outcome::Skipped(format!("no network namespace: {why}"))),
    };
    let part = if bench.quick { 10 } else { 1 };
    let mut tables = Vec::new();
    for load in LOADS {
        let load = Load { frames: load.frames / part, ..*load };
        let file = frames_of(bench, &load, load.frames)?;
        let rows: Vec<Row> = RECORDERS.iter().map(|recorder| row(bench, &wire, &load, &file, *recorder)).collect();
        remove(&file)?;
        tables.push((load, rows));
    }
    let small = small(bench, &wire, part)?;
    let well = tables.iter().flat_map(|(_, rows)| rows).filter(|r| r.recorder.is_ours()).all(is_well);
    let exact = small.iter().all(|row| row.run.as_ref().is_ok_and(|run| run.untold() == 0));
    Ok(Outcome::Measured(report::markdown(&tables, &small), well && exact))
}

fn is_well(row: &Row) -> bool {
    row.run.as_ref().is_ok_and(|run| run.lost() == 0)
}

fn frames_of(bench: &Bench<'_>, load: &Load, frames: u64) -> Result<PathBuf, String> {
    eprintln!("bench: writing {frames} frames of {} octets", load.octets);
    let file = bench.folder.join(format!("frames-{}.pcap", load.octets));
    frames::write(&file, frames, load.octets).map_err(|e| format!("{}: {e}", file.display()))?;
    Ok(file)
}

fn remove(file: &Path) -> Result<(), String> {
    std::fs::remove_file(file).map_err(|e| format!("{}: {e}", file.display()))
}

fn row(bench: &Bench<'_>, wire: &Wire, load: &Load, file: &Path, recorder: Recorder) -> Row {
    if !recorder.is_there() {
        return Row { recorder, run: Err("not installed".to_owned()), lossless: None };
    }
    let mut worst: Result<Run, String> = Err("not run".to_owned());
    for _ in 0..if bench.quick { 1 } else { RUNS } {
        match one(bench, wire, file, recorder, "max") {
            Ok(run) => worst = Ok(worst.ok().filter(|w| w.lost() > run.lost()).unwrap_or(run)),
            Err(why) => return Row { recorder, run: Err(why), lossless: None },
        }
    }
    let lossless = worst.as_ref().ok().filter(|run| run.lost() != 0).map(|run| {
        let rate = run.sent.rate();
        search(bench, wire, load, recorder, rate).unwrap_or(0.0)
    });
    Row { recorder, run: worst, lossless }
}

/// One program, while a file is put onto the wire.
fn one(bench: &Bench<'_>, wire: &Wire, file: &Path, recorder: Recorder, pace: &str) -> Result<Run, String> {
    let before = wire.dropped();
    let recording = recorder.start(wire, &bench.program, &bench.folder)?;
    let sent = wire.send(&bench.program, file, pace)?;
    let recorded = recording.end(&bench.program)?;
    let run = Run { sent, dropped_by_pair: wire.dropped() - before, recorded };
    tell(recorder, pace, &run);
    Ok(run)
}

fn tell(recorder: Recorder, pace: &str, run: &Run) {
    eprintln!(
        "bench: {} at {pace}: {:.0} packets/s, {} of {} in file, {} told, {} by the pair, {:.2} s CPU",
        recorder.name(),
        run.sent.rate(),
        run.recorded.in_file,
        run.sent.packets,
        run.recorded.told,
        run.before_tap(),
        run.recorded.cost.cpu_seconds()
    );
}

/// The highest rate at which a program loses nothing, by halving the interval below one at which it does.
fn search(bench: &Bench<'_>, wire: &Wire, load: &Load, recorder: Recorder, rate: f64) -> Result<f64, String> {
    let (mut low, mut high) = (0.0, rate);
    for _ in 0..if bench.quick { 2 } else { STEPS } {
        let pace = (low + high) / 2.0;
        let frames = ((pace * STEP_SECONDS) as u64).min(load.frames);
        let file = bench.folder.join("step.pcap");
        frames::write(&file, frames, load.octets).map_err(|e| format!("{}: {e}", file.display()))?;
        let run = one(bench, wire, &file, recorder, &format!("{pace:.0}pps"))?;
        remove(&file)?;
        if run.lost() == 0 { low = pace } else { high = pace }
    }
    Ok(low)
}

/// A ring that is too small, and a program that stands still now and then: what is missing must be told.
fn small(bench: &Bench<'_>, wire: &Wire, part: u64) -> Result<Vec<Row>, String> {
    let load = &LOADS[0];
    let file = frames_of(bench, load, SMALL_FRAMES / part)?;
    let sources = ["af-packet", "af-xdp"].map(|source| Recorder::Ours(source, SMALL_RING_MIB));
    let rows =
        sources.map(|recorder| Row { recorder, run: interrupted(bench, wire, &file, recorder), lossless: None }).into();
    remove(&file)?;
    Ok(rows)
}

fn interrupted(bench: &Bench<'_>, wire: &Wire, file: &Path, recorder: Recorder) -> Result<Run, String> {
    let before = wire.dropped();
    let recording = recorder.start(wire, &bench.program, &bench.folder)?;
    let mut sender = wire.sender(&bench.program, file, "max");
    let mut sender = sender.stdout(Stdio::piped()).spawn().map_err(|e| format!("ip: {e}"))?;
    while sender.try_wait().map_err(|e| e.to_string())?.is_none() {
        recording.signal("-STOP");
        need::pause(STOP_MS);
        recording.signal("-CONT");
        need::pause(STOP_MS);
    }
    let output = sender.wait_with_output().map_err(|e| e.to_string())?;
    let sent = sent(&output.stdout).ok_or("trunkline replay failed")?;
    let recorded = recording.end(&bench.program)?;
    let run = Run { sent, dropped_by_pair: wire.dropped() - before, recorded };
    tell(recorder, "max, small ring", &run);
    Ok(run)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::measure::Measured;

    #[test]
    fn what_is_missing_has_one_place() {
        let run = |dropped_by_pair, in_file, told| {
            let cost = Measured { wall_seconds: 0.0, user_seconds: 0.0, system_seconds: 0.0, memory_kib: 0 };
            let sent = Sent { packets: 100, octets: 0, seconds: 1.0 };
            let run = Run { sent, dropped_by_pair, recorded: Recorded { in_file, told, cost } };
            (run.before_tap(), run.lost(), run.untold())
        };
        assert_eq!(run(0, 100, 0), (0, 0, 0));
        assert_eq!(run(0, 60, 30), (0, 40, 10));
        assert_eq!(run(10, 60, 30), (10, 30, 0));
        assert_eq!(run(40, 60, 40), (0, 40, 0));
        assert_eq!(run(0, 100, 5), (0, 0, -5));
    }
}
