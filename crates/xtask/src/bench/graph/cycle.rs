//! A million interfaces every five minutes on two processors, the devices on the same ones; what they take of memory,
//! and how long a start takes with them.

use super::super::Bench;
use super::node::{Farm, How, Node, Size, at};
use super::rate::{Made, Rate, Start, during};
use super::remove;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Seconds of a cycle.
pub const STEP_S: u32 = 300;
const BOTH: &str = "0,1";
/// Six hours of five minutes and two days of hours: what a million files of ten years take, 760 GB, is not there.
const TEMPLATES: &str = r#"
[profile.minute]
title = "Short"
step = "5 min"
archives = ["5 min for 6 h", "1 h for 2 days"]
[device.bench]
title = "Traffic of interfaces"
matches = ["1.3.6.1.4.1.8072.3.2.255"]
graphs = ["interface-bits"]
"#;
/// Each file is written in each cycle, six times as often as by default: what the disk has to do comes together.
const CONFIGURATION: &str = "write-age = \"5 min\"\nmemory = \"2 GiB\"\n";

/// What was measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cycle {
    pub size: Option<Size>,
    /// Until the last device was added, and until the last file was made.
    pub added: Made,
    pub made: Made,
    /// A cycle, when all of that was done.
    pub cycle: Rate,
    /// Octets of a file.
    pub file_octets: f64,
    /// Resident memory of the program without devices.
    pub empty: f64,
    /// The start after it was killed: until it answers, until all devices are polled.
    pub start_s: [f64; 2],
    /// Resident memory then.
    pub resident_again: f64,
}

impl Cycle {
    /// Everything is polled and stored in each cycle, and nothing is lost.
    pub fn is_well(&self) -> bool {
        let values = 2.0 * self.size.map_or(0.0, Size::interfaces_all) * self.cycle.seconds / f64::from(STEP_S);
        self.cycle.lost == 0.0 && self.cycle.polled >= values * 0.98 && self.cycle.stored >= values * 0.95
    }
}

/// Octets of a file, which all have.
fn file_octets(node: &Node) -> Result<f64, String> {
    let told = node.ask(&json!({ "do": "device", "name": "device-0" }))?;
    let file = told.pointer("/data_sources/0/file").and_then(Value::as_str).ok_or("device-0 has no file")?;
    Ok(std::fs::metadata(file).map_err(|e| format!("{file}: {e}"))?.len() as f64)
}

/// Adds all devices, waits until they have their files, looks on for a cycle; kills it and starts it again.
pub fn measure(bench: &Bench<'_>) -> Result<Cycle, String> {
    let size = Size { devices: if bench.quick { 1000 } else { 10_000 }, interfaces: 100, dead_permille: 0 };
    let farm = Farm::start(bench, BOTH, size, None)?;
    let how = How { processors: BOTH, lanes: "2", configuration: CONFIGURATION, templates: TEMPLATES };
    let mut node = Node::start(bench, "cycle", &how)?;
    let empty = node.process.resident_octets();
    let begun = Start::of(&node);
    node.add(size, farm.port, STEP_S)?;
    let added = begun.until_now(&node);
    let all = size.interfaces_all();
    node.until("all files are made", |status| at(status, "files/made") >= all)?;
    let made = begun.until_now(&node);
    eprintln!("bench: graph: {} devices: {added:?}; {all} files: {made:?}", size.devices);
    node.until("all is in files", |status| at(status, "journal/behind_octets") == 0.0)?;
    let long = if bench.quick { STEP_S / 5 } else { STEP_S };
    let cycle = during(&node, &farm, Duration::from_secs(long.into()))?;
    eprintln!("bench: graph: {cycle:?}");
    let file_octets = file_octets(&node)?;
    node.process.kill();
    let begun = Instant::now();
    let answers_s = node.restart(BOTH)?;
    let devices = size.devices as f64;
    node.until("all devices are polled", |status| {
        at(status, "sources_polled") >= all && at(status, "devices/polled") >= devices
    })?;
    let start_s = [answers_s, begun.elapsed().as_secs_f64()];
    let resident_again = node.process.resident_octets();
    let data = node.data.clone();
    drop(node);
    drop(farm);
    remove(&data)?;
    Ok(Cycle { size: Some(size), added, made, cycle, file_octets, empty, start_s, resident_again })
}
