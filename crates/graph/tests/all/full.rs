//! A disk that is full: samples that have no room are dropped and counted, everything goes on, and when there is room
//! again what was taken is in its file.

use crate::world;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use trunkline_graph::inventory::order::Order;
use trunkline_graph::inventory::{Access, Change, Device, Kind, Source, Template};
use trunkline_graph::job::{Graphs, Handle, Options};
use trunkline_graph::journal::Records;
use trunkline_rrd::{Consolidation, Question, Value};
use world::eventually;

const FOLDER: &str = "TRUNKLINE_GRAPH_FULL_FOLDER";
const FIRST_S: i64 = 1_700_000_000;
const SOURCES: u32 = 4;
const TEMPLATES: &str = r#"
[profile.hour]
step = "1 s"
heartbeat = "3600 s"
archives = ["1 s for 3600 s"]

[data.one]
title = "A level"
profile = "hour"

[[data.one.series]]
name = "level"
read = ["1.3.6.1.4.1.99999.1.0"]
"#;

fn device(name: &str) -> Device {
    Device { access: Access { version: None, ..Access::default() }, ..Device::new(name, "127.0.0.1") }
}

fn make(handle: &Handle) {
    let template = Template { kind: Kind::DataTemplate, name: "one".into() };
    let mut changes = vec![Change::Template { id: 1, template }];
    for id in 1..=SOURCES {
        changes.push(Change::Device { id, device: Box::new(device(&format!("given-{id}"))) });
        let source = Source { device: id, template: 1, row: None, active: true, arguments: Vec::new() };
        changes.push(Change::Source { id, source });
    }
    handle.change("test", changes).unwrap();
}

/// Puts a sample of each; whether it was taken.
fn put(handle: &Handle, number: i64) -> bool {
    let mut records = Records::default();
    for source in 1..=SOURCES {
        let level = number as f64 + f64::from(source) / 10.0;
        // What pads makes the disk full sooner: it is of nobody.
        (0..20).for_each(|_| records.put(1_000_000, 0, &[Value::Unsigned(u64::MAX); 60]));
        records.put(source, (FIRST_S + number) * 1000, &[Value::Float(level)]);
    }
    handle.intake().put(&records).is_ok()
}

/// Not a test of its own: it runs where a small file system is mounted.
#[test]
fn child() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let folder = Path::new(&folder);
    let templates = folder.join("graphs/templates");
    std::fs::create_dir_all(&templates).unwrap();
    std::fs::write(templates.join("test.toml"), TEMPLATES).unwrap();
    let writer = trunkline_rrd::Options { together: 4, age_s: 1, redo_octets: 1 << 16, ..Default::default() };
    let options = Options { segment_octets: 1 << 18, writer, ..Options::default() };
    let graphs = Graphs::open(&folder.join("graphs"), &options).unwrap();
    let handle = graphs.handle();
    make(handle);
    let mut taken = BTreeSet::new();
    for number in 1..=5 {
        assert!(put(handle, number));
        taken.insert(number);
    }
    // All the room that is left goes to something else.
    let filler = folder.join("filler");
    let mut file = File::create(&filler).unwrap();
    while file.write_all(&[1; 4096]).is_ok() {}
    drop(file);
    let mut number = 5;
    eventually("samples are dropped", || {
        number += 1;
        let is_taken = put(handle, number);
        taken.extend(is_taken.then_some(number));
        handle.status().journal.dropped > 0 && !is_taken
    });
    let status = handle.status();
    assert!(!status.troubles.is_empty(), "it is told: {status:?}");
    assert!(handle.failure().is_none(), "it goes on: {:?}", handle.failure());
    std::fs::remove_file(&filler).unwrap();
    let (begun, mut after) = (number, 0);
    eventually("samples are taken again", || {
        number += 1;
        let is_taken = put(handle, number);
        taken.extend(is_taken.then_some(number));
        after += u32::from(is_taken);
        after >= 10
    });
    assert!(number > begun);
    handle.order("test", Order::Device(None, device("after"))).unwrap();
    let all: Vec<u32> = (1..=SOURCES).collect();
    eventually("all is in files", || {
        handle.read(&all, || ());
        handle.status().journal.behind_octets == 0
    });
    for source in all {
        let consolidation = Consolidation::Average;
        let question = Question { consolidation, start_s: FIRST_S, end_s: FIRST_S + number, step_s: 1 };
        let series = handle.fetch(source, &question).unwrap();
        for number in &taken {
            let value = series.values[(FIRST_S + number - series.start_s - 1) as usize];
            // Averages are sums over parts of a step, which are rounded.
            let expected = *number as f64 + f64::from(source) / 10.0;
            assert!((value - expected).abs() < 1e-9, "sample {number} of {taken:?}: {value}, not {expected}");
        }
    }
    let dropped = handle.status().journal.dropped;
    println!("{} taken, {dropped} samples dropped and counted", taken.len());
}

#[test]
fn a_full_disk_costs_what_it_has_no_room_for_and_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let script = "mount -t tmpfs -o size=4m none \"$0\" || exit 77; exec \"$1\" --exact full::child --nocapture";
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", script]).arg(folder.path()).arg(std::env::current_exe().unwrap());
    let done = match command.env(FOLDER, folder.path()).output() {
        Ok(done) => done,
        Err(why) => return println!("SKIPPED: no unshare: {why}"),
    };
    let said = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
    let (out, err) = (said(&done.stdout), said(&done.stderr));
    if done.status.code() == Some(77) || err.contains("unshare failed") {
        return println!("SKIPPED: nothing can be mounted: {err}");
    }
    assert!(done.status.success(), "{out}\n{err}");
    assert!(out.contains("dropped and counted"), "{out}\n{err}");
    println!("{out}");
}
