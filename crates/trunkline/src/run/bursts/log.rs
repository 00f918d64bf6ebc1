//! Where microbursts are written: `packets/bursts/YYYY-MM-DD.jsonl`, one object a line.

use super::{Bucket, Burst, BurstCounters, Merger};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use trunkline_kit::metrics::{Sample, labelled};
use trunkline_store::json::Object;
use trunkline_store::time::Day;

/// Octets of one day's file. What would go beyond is counted and not written.
// Limit: size of one day's file of microbursts
// Beyond: further bursts are not written
// Seen in: `trunkline_capture_microbursts_unwritten_total`
pub const DAY_OCTETS_MAX: u64 = 64 << 20;
/// Days whose files are kept.
// Limit: days of microbursts kept
// Beyond: the oldest day is removed
// Seen in: the file is gone
pub const DAYS_MAX: usize = 90;
/// The folder below a data folder.
const FOLDER: &str = "packets/bursts";
/// After so long without a packet nothing more is waited for.
const QUIET: Duration = Duration::from_secs(2);

trunkline_kit::counters! {
    /// What is counted of writing.
    pub struct WriteCounters {
        /// bursts that were not written: the disk failed, or the day's file was full
        unwritten: "trunkline_capture_microbursts_unwritten_total",
    }
}

/// The microbursts of all interfaces.
#[derive(Debug)]
pub struct BurstLog {
    interfaces: Vec<Interface>,
    folder: PathBuf,
    file: Option<(String, File, u64)>,
    counters: WriteCounters,
    /// What was wrong with writing last, told once.
    trouble: Option<String>,
}

#[derive(Debug)]
struct Interface {
    name: String,
    merger: Merger,
    /// Its first lane.
    first: usize,
    lanes: usize,
    heard: Instant,
}

impl BurstLog {
    /// Of no interface yet; files go below this data folder.
    pub fn new(data: &std::path::Path) -> Self {
        BurstLog {
            interfaces: Vec::new(),
            folder: data.join(FOLDER),
            file: None,
            counters: WriteCounters::default(),
            trouble: None,
        }
    }

    /// Watches an interface whose lanes are numbered from `first`, above this rate, bit/s.
    pub fn watch(&mut self, name: &str, first: usize, lanes: usize, bits_per_second: u64) {
        let merger = Merger::new(bits_per_second);
        self.interfaces.push(Interface { name: name.to_owned(), merger, first, lanes, heard: Instant::now() });
    }

    /// Whether this lane's interface is watched.
    pub fn has(&self, lane: usize) -> bool {
        self.interfaces.iter().any(|i| (i.first..i.first + i.lanes).contains(&lane))
    }

    /// Takes in what lanes counted, and writes bursts that are over. `take` gives a lane's milliseconds and how many it
    /// left out; at the end nothing more is waited for.
    pub fn look(&mut self, mut take: impl FnMut(usize) -> (Vec<Bucket>, u64), is_end: bool) {
        let mut lines: Vec<(i64, String)> = Vec::new();
        for interface in &mut self.interfaces {
            let mut bursts = Vec::new();
            for lane in 0..interface.lanes {
                let (buckets, left_out) = take(interface.first + lane);
                if !buckets.is_empty() {
                    interface.heard = Instant::now();
                }
                interface.merger.take(u16::try_from(lane).unwrap_or(u16::MAX), &buckets, left_out, &mut bursts);
            }
            if is_end || interface.heard.elapsed() >= QUIET {
                interface.merger.settle(&mut bursts);
            }
            lines.extend(bursts.iter().map(|burst| (burst.at_ms, line(&interface.name, interface.first, burst))));
        }
        for (at_ms, line) in lines {
            if let Err(error) = self.write(at_ms, &line) {
                self.counters.unwritten += 1;
                self.file = None;
                self.fail(error.to_string());
            }
        }
    }

    /// All metrics.
    pub fn samples(&self) -> Vec<Sample> {
        let of = |i: &Interface| labelled(BurstCounters::list(&i.merger.counters()), "interface", &i.name);
        let written = self.counters.list().into_iter().map(Sample::from);
        self.interfaces.iter().flat_map(of).chain(written).collect()
    }

    fn write(&mut self, at_ms: i64, line: &str) -> io::Result<()> {
        let day = Day::of(at_ms.saturating_mul(1_000_000)).to_string();
        if self.file.as_ref().is_none_or(|(of, ..)| *of != day) {
            self.file = Some(self.open(day)?);
        }
        let Some((_, file, octets)) = &mut self.file else { return Ok(()) };
        if *octets + line.len() as u64 > DAY_OCTETS_MAX {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "the day's file is full"));
        }
        file.write_all(line.as_bytes())?;
        *octets += line.len() as u64;
        Ok(())
    }

    fn open(&self, day: String) -> io::Result<(String, File, u64)> {
        std::fs::create_dir_all(&self.folder)?;
        let path = self.folder.join(&day).with_extension("jsonl");
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let octets = file.metadata()?.len();
        self.forget()?;
        Ok((day, file, octets))
    }

    /// Removes the files of the oldest days.
    fn forget(&self) -> io::Result<()> {
        let mut files: Vec<PathBuf> = std::fs::read_dir(&self.folder)?.flatten().map(|e| e.path()).collect();
        files.retain(|f| f.extension().is_some_and(|e| e == "jsonl"));
        files.sort();
        let too_many = files.len().saturating_sub(DAYS_MAX);
        files.iter().take(too_many).try_for_each(std::fs::remove_file)
    }

    fn fail(&mut self, why: String) {
        if self.trouble.as_ref() != Some(&why) {
            tracing::error!("microbursts cannot be written: {why}");
            self.trouble = Some(why);
        }
    }
}

fn line(interface: &str, first: usize, burst: &Burst) -> String {
    let mut out = String::new();
    let mut o = Object::new(&mut out);
    o.time("at", Some(burst.at_ms.saturating_mul(1_000_000))).text("interface", interface);
    o.signed("duration_us", Some(burst.ms.saturating_mul(1000)));
    o.int("peak_bits_per_second", Some(burst.peak_octets.saturating_mul(8000)));
    o.int("octets", Some(burst.octets)).int("packets", Some(burst.packets));
    let lanes: Vec<usize> = (0..64).filter(|lane| burst.lanes >> lane & 1 == 1).map(|lane| first + lane).collect();
    o.list("lanes", &lanes, |out, lane| out.push_str(&lane.to_string()));
    o.end();
    out.push('\n');
    out
}

/// The speed of an interface, bit/s, where its driver tells.
pub fn link_speed(interface: &str) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/sys/class/net/{interface}/speed")).ok()?;
    let megabits: u64 = text.trim().parse().ok().filter(|speed| *speed > 0)?;
    megabits.checked_mul(1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_are_lines_of_their_day() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = BurstLog::new(folder.path());
        log.watch("eth1", 2, 2, 8_000_000);
        let midnight = 1_795_219_200_000;
        let bucket = |at_ms| Bucket { at_ms, octets: 1500, packets: 3 };
        let mut taken = [vec![bucket(midnight - 2), bucket(midnight - 1)], vec![bucket(midnight + 5)]];
        log.look(|lane| (core::mem::take(&mut taken[lane - 2]), 0), true);
        let read = |day: &str| std::fs::read_to_string(folder.path().join(FOLDER).join(day)).unwrap();
        assert_eq!(
            read("2026-11-20.jsonl"),
            "{\"at\":\"2026-11-20T23:59:59.998000Z\",\"interface\":\"eth1\",\"duration_us\":2000,\
             \"peak_bits_per_second\":12000000,\"octets\":3000,\"packets\":6,\"lanes\":[2]}\n"
        );
        assert!(read("2026-11-21.jsonl").contains("\"lanes\":[3]"));
        assert_eq!(log.samples().len(), 4);
    }
}
