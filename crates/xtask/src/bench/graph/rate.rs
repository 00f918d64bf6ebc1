//! Values a second that one processor polls and stores, the devices on the other one.

use super::super::Bench;
use super::node::{Farm, How, Node, Size, at};
use super::process::Disk;
use super::{remove, size};
use serde_json::Value;
use std::time::{Duration, Instant};

/// Seconds from one cycle to the next.
pub const STEP_S: u32 = 3;
/// The least that is to be polled and stored in a second.
pub const BUDGET: f64 = 300_000.0;
/// Samples of a file after which it is written: the default.
const TOGETHER: u32 = 30;
/// What is on its way from the journal to files at any moment.
const BEHIND_OCTETS: f64 = 1e6;
/// As short as a profile can be in which each flush of a file writes all of its archives.
const TEMPLATES: &str = r#"
[profile.minute]
title = "Short"
step = "3 s"
archives = ["3 s for 6 min", "1 min for 1 h"]
[device.bench]
title = "Traffic of interfaces"
matches = ["1.3.6.1.4.1.8072.3.2.255"]
graphs = ["interface-bits"]
"#;
/// Samples of half a million files wait in memory.
const CONFIGURATION: &str = "memory = \"2 GiB\"\n";

/// What was done in a while.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rate {
    /// The farm.
    pub size: Option<Size>,
    /// What it took until all devices were added, looked at and polled and had all their files.
    pub made: Made,
    /// How long was measured.
    pub seconds: f64,
    /// Readings that came.
    pub polled: f64,
    /// Values that went to files.
    pub stored: f64,
    /// Files written, each as often as it was.
    pub files: f64,
    /// Cycles that were left out or cut, readings unknown, samples dropped.
    pub lost: f64,
    /// Octets of the journal that were not brought to files, before and after.
    pub behind: [f64; 2],
    /// Processor time of the program, of the devices.
    pub cpu_s: [f64; 2],
    /// What the disk did meanwhile; none where that is not known.
    pub disk: Option<Disk>,
    /// Resident memory of the program, octets.
    pub resident: f64,
}

/// What it took to make all files.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Made {
    /// How long, seconds.
    pub seconds: f64,
    /// Processor time of the program.
    pub cpu_s: f64,
    /// What the disk did meanwhile; none where that is not known.
    pub disk: Option<Disk>,
}

/// A moment to which what is made is compared.
pub struct Start {
    at: Instant,
    cpu_s: f64,
    disk: Option<Disk>,
}

impl Start {
    /// Now.
    pub fn of(node: &Node) -> Start {
        Start { at: Instant::now(), cpu_s: node.process.cpu_seconds(), disk: Disk::of(&node.data) }
    }

    /// What was taken since.
    pub fn until_now(&self, node: &Node) -> Made {
        Made {
            seconds: self.at.elapsed().as_secs_f64(),
            cpu_s: node.process.cpu_seconds() - self.cpu_s,
            disk: Disk::of(&node.data).zip(self.disk).map(|(after, before)| after.since(before)),
        }
    }
}

impl Rate {
    pub fn polled_per_s(&self) -> f64 {
        self.polled / self.seconds.max(1e-9)
    }

    pub fn stored_per_s(&self) -> f64 {
        self.stored / self.seconds.max(1e-9)
    }

    pub fn is_well(&self) -> bool {
        // Files take what they have in bursts: a flush more or less in the while.
        self.polled_per_s() >= BUDGET && self.stored_per_s() >= BUDGET * 0.98 && self.lost == 0.0
    }
}

/// How often each file is written while it is measured: they are in bursts, as they were made.
const ROUNDS: u32 = 2;

/// Polls until each file was written once and nothing waits, then for as long as each is written twice again.
pub fn measure(bench: &Bench<'_>) -> Result<Rate, String> {
    let size = size(bench);
    let farm = Farm::start(bench, "1", size, None)?;
    let how = How { processors: "0", lanes: "1", configuration: CONFIGURATION, templates: TEMPLATES };
    let mut node = Node::start(bench, "rate", &how)?;
    let begun = Start::of(&node);
    node.add(size, farm.port, STEP_S)?;
    let all = size.interfaces_all();
    node.until("all files are made", |status| at(status, "files/made") >= all)?;
    let making = begun.until_now(&node);
    eprintln!("bench: graph: {all} files: {making:?}");
    let made = at(&node.status()?, "files/files_written");
    node.until("all files are written", |status| at(status, "files/files_written") >= made + all)?;
    node.until("files have what the journal has", |status| at(status, "journal/behind_octets") < BEHIND_OCTETS)?;
    let rate = during(&node, &farm, Duration::from_secs((ROUNDS * TOGETHER * STEP_S).into()))?;
    let rate = Rate { size: Some(size), made: making, ..rate };
    eprintln!("bench: graph: {rate:?}");
    let data = node.data.clone();
    drop(node);
    drop(farm);
    remove(&data)?;
    Ok(rate)
}

/// What is done in a while.
pub fn during(node: &Node, farm: &Farm, long: Duration) -> Result<Rate, String> {
    let look = || -> Result<_, String> { Ok((node.status()?, farm.process.cpu_seconds())) };
    let (start, before) = (Start::of(node), look()?);
    super::super::need::pause(long.as_millis() as u64);
    let (taken, after) = (start.until_now(node), look()?);
    let grown = |path: &str| at(&after.0, path) - at(&before.0, path);
    let polls = |name: &str| grown(&format!("polls/trunkline_graph_{name}_total"));
    let lost = ["cycles_missed", "cycles_cut", "cycles_unasked", "cycles_failed", "unknown_readings"];
    let behind = |status: &Value| at(status, "journal/behind_octets");
    Ok(Rate {
        size: None,
        made: Made::default(),
        seconds: taken.seconds,
        polled: polls("readings"),
        stored: grown("files/values_stored"),
        files: grown("files/files_written"),
        lost: lost.map(polls).iter().sum::<f64>() + grown("journal/dropped") + grown("files/samples_lost"),
        behind: [behind(&before.0), behind(&after.0)],
        cpu_s: [taken.cpu_s, after.1 - before.1],
        disk: taken.disk,
        resident: node.process.resident_octets(),
    })
}
