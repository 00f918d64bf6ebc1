//! `kill -9` at any time: every sample that was told to be on disk is in its file, once and with its time, also where
//! that was made just then, and every order that was answered holds.
//! `TRUNKLINE_KILLS=300 cargo test -p trunkline-graph --test all kill::` for the long run.

use crate::world;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use trunkline_graph::inventory::order::Order;
use trunkline_graph::inventory::{Access, Change, Device, Kind, Source, Template};
use trunkline_graph::job::{Graphs, Handle, Options};
use trunkline_graph::journal::Records;
use trunkline_rrd::{Consolidation, Question, RrdFile, Value};

const FOLDER: &str = "TRUNKLINE_GRAPH_KILL_FOLDER";
const BEGIN: &str = "TRUNKLINE_GRAPH_KILL_BEGIN";
const KILLS: u32 = 12;
const SOURCES: u32 = 12;
/// When the first sample is: whole seconds, so that each row of a file is one sample.
const FIRST_S: i64 = 1_700_000_000;
/// Each fifth moment a device is ordered with a data source, whose file is made with its only sample.
const ORDER_EVERY: i64 = 5;
const TEMPLATES: &str = r#"
[profile.hour]
step = "1 s"
archives = ["1 s for 3600 s"]

[data.one]
title = "A level"
profile = "hour"

[[data.one.series]]
name = "level"
read = ["1.3.6.1.4.1.99999.3.0"]

[data.two]
title = "A level, and what came"
profile = "second"

[[data.two.series]]
name = "level"
read = ["1.3.6.1.4.1.99999.1.0"]

[[data.two.series]]
name = "came"
kind = "absolute"
read = ["1.3.6.1.4.1.99999.2.0"]
"#;

fn options() -> Options {
    // Files and logs change hands often, so that an end finds them at all stages.
    let writer = trunkline_rrd::Options { together: 4, age_s: 1, redo_octets: 1 << 16, ..Default::default() };
    Options { segment_octets: 1 << 16, writer, ..Options::default() }
}

fn open(folder: &Path) -> Graphs {
    let templates = folder.join("templates");
    std::fs::create_dir_all(&templates).unwrap();
    std::fs::write(templates.join("test.toml"), TEMPLATES).unwrap();
    Graphs::open(folder, &options()).unwrap()
}

/// A device that nobody polls.
fn device(name: &str) -> Device {
    Device { access: Access { version: None, ..Access::default() }, ..Device::new(name, "127.0.0.1") }
}

/// The device and its data sources are there, from 1 on.
fn make(handle: &Handle) {
    if handle.inventory().sources().len() as u32 == SOURCES {
        return;
    }
    let mut changes = vec![Change::Device { id: 1, device: Box::new(device("given")) }];
    for (id, name) in [(1, "two"), (2, "one")] {
        changes.push(Change::Template { id, template: Template { kind: Kind::DataTemplate, name: name.into() } });
    }
    for id in 1..=SOURCES {
        if id > 1 {
            changes.push(Change::Device { id, device: Box::new(device(&format!("given-{id}"))) });
        }
        changes.push(Change::Source { id, source: source(id, 1) });
    }
    handle.change("test", changes).unwrap();
}

fn source(device: u32, template: u32) -> Source {
    Source { device, template, row: None, active: true, arguments: Vec::new() }
}

/// The device, and the data source, that are ordered at a moment.
fn ordered(number: i64) -> u32 {
    SOURCES + (number / ORDER_EVERY) as u32
}

fn level(number: i64, source: u32) -> f64 {
    (number * 1000 + i64::from(source)) as f64 + 0.5
}

/// Not a test of its own: what the parent starts and kills.
#[test]
fn child() {
    let variable = |name| std::env::var(name).ok();
    let (Some(folder), Some(begin)) = (variable(FOLDER), variable(BEGIN)) else { return };
    let graphs = open(Path::new(&folder));
    let handle = graphs.handle();
    make(handle);
    println!("ready");
    let mut records = Records::default();
    for number in begin.parse::<i64>().unwrap().. {
        records.clear();
        for source in 1..=SOURCES {
            let values = [Value::Float(level(number, source)), Value::Unsigned(number as u64 % 7 + 1)];
            records.put(source, (FIRST_S + number) * 1000, &values);
        }
        if number % ORDER_EVERY == 0 {
            let id = ordered(number);
            if handle.inventory().device_named(&format!("ordered-{number}")).is_none() {
                handle.order("test", Order::Device(None, device(&format!("ordered-{number}")))).unwrap();
            }
            if !handle.inventory().sources().has(id) {
                handle.change("test", vec![Change::Source { id, source: source(id, 2) }]).unwrap();
            }
            records.put(id, (FIRST_S + number) * 1000, &[Value::Float(level(number, id))]);
        }
        let last = handle.intake().put(&records).unwrap();
        assert!(handle.intake().wait(last));
        println!("told {number}");
        std::io::stdout().flush().unwrap();
    }
}

/// A child that does not outlive a test that failed.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        let _ended = self.0.wait();
    }
}

#[test]
fn what_was_told_to_be_on_disk_is_in_its_file() {
    let kills = std::env::var("TRUNKLINE_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(KILLS);
    let folder = tempfile::tempdir().unwrap();
    let mut random = trunkline_kit::random::Random::new(5, 0);
    let mut told = 0i64;
    for _ in 0..kills {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child
            .args(["--exact", "kill::child", "--nocapture"])
            .env(FOLDER, folder.path())
            .env(BEGIN, (told + 1).to_string());
        let mut child = Killed(child.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
        let mut lines = BufReader::new(child.0.stdout.take().unwrap()).lines();
        let mut left = 1 + random.below(120);
        while left > 0 {
            let line = lines.next().expect("it lives").unwrap();
            if let Some(number) = line.strip_prefix("told ") {
                told = number.parse().unwrap();
                left -= 1;
            }
        }
        child.0.kill().unwrap();
        child.0.wait().unwrap();
        // What it had said before its end counts, too.
        for line in lines.map_while(Result::ok) {
            told = line.strip_prefix("told ").and_then(|number| number.parse().ok()).unwrap_or(told);
        }
    }
    let graphs = open(folder.path());
    let handle = graphs.handle().clone();
    world::eventually("all is brought into files", || {
        let journal = handle.status().journal;
        handle.read(&(1..=SOURCES).collect::<Vec<_>>(), || ());
        journal.behind_octets == 0
    });
    let status = handle.status();
    assert_eq!((status.journal.dropped, status.files.samples_lost), (0, 0), "{status:?}");
    for number in (1..=told).filter(|number| number % ORDER_EVERY == 0) {
        assert!(handle.inventory().device_named(&format!("ordered-{number}")).is_some(), "order {number} of {told}");
    }
    graphs.stop();
    for source in 1..=SOURCES {
        let file = RrdFile::open(&folder.path().join(format!("{source}/{source}.rrd"))).unwrap();
        let question =
            Question { consolidation: Consolidation::Average, start_s: FIRST_S, end_s: FIRST_S + told, step_s: 1 };
        let series = file.fetch(&question).unwrap();
        assert_eq!(series.step_s, 1);
        for number in 1..=told {
            let row = (FIRST_S + number - series.start_s - 1) as usize;
            let [is, came] = [series.values[row * 2], series.values[row * 2 + 1]];
            assert_eq!(is, level(number, source), "sample {number} of {told}, data source {source}");
            // The first is of nobody knows how long.
            assert!(number == 1 || came == (number % 7 + 1) as f64, "sample {number} came once: {came}");
        }
    }
    for number in (1..=told).filter(|number| number % ORDER_EVERY == 0) {
        let id = ordered(number);
        let file = RrdFile::open(&folder.path().join(format!("{id}/{id}.rrd"))).unwrap();
        let at_s = FIRST_S + number;
        let question = Question { consolidation: Consolidation::Average, start_s: at_s - 1, end_s: at_s, step_s: 1 };
        assert_eq!(file.fetch(&question).unwrap().values[0], level(number, id), "the only sample of {id}");
    }
    println!("{told} samples of {SOURCES} data sources over {kills} kills");
}
