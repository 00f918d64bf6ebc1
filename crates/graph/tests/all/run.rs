//! The job as a whole: devices are polled, and rrdtool reads in their files what the farm has counted.
//!
//! Test group: waits: polls each second.

use crate::house;
use crate::world;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::Ordering;
use tempfile::TempDir;
use trunkline_graph::answer::Added;
use trunkline_graph::inventory::order::Order;
use trunkline_graph::inventory::{Device, Inventory, Kind};
use trunkline_graph::job::{Graphs, Handle, Sources, cacti};
use trunkline_sim::farm::{Counter, Fault, Settings};
use world::{Served, add, eventually, folder, now_ms, options};

const INTERFACES: u32 = 4;
/// Each second, so that a test sees many of them.
const TEMPLATES: &str = r#"
[data.octets]
title = "Octets of |name|"
table = "interfaces"
profile = "second"

[[data.octets.series]]
name = "octets_in"
kind = "counter"
read = ["1.3.6.1.2.1.31.1.1.1.6", "1.3.6.1.2.1.2.2.1.10"]
min = 0
max = "speed"

[[data.octets.series]]
name = "octets_out"
kind = "counter"
read = ["1.3.6.1.2.1.31.1.1.1.10", "1.3.6.1.2.1.2.2.1.16"]
min = 0
max = "speed"

[graph.octets]
title = "|device| - |name|"

[graph.octets.series]
in = "octets.octets_in"

[[graph.octets.item]]
value = "in"
color = "3fa34d"

[device.net-snmp]
title = "Those of the farm"
matches = ["1.3.6.1.4.1.8072.3.2"]
graphs = ["octets"]
"#;

fn open(folder: &TempDir) -> Graphs {
    Graphs::open(&folder.path().join("graphs"), &options()).unwrap()
}

/// The data sources of a device, by the names of their rows.
fn sources(inventory: &Inventory, device: u32) -> BTreeMap<String, u32> {
    let named = |source: &u32| {
        let row = inventory.sources().get(*source)?.row?;
        Some((inventory.rows().get(row)?.name.to_string(), *source))
    };
    inventory.sources_of(device).iter().filter_map(named).collect()
}

/// The rates of a file by second, as rrdtool tells them: of `octets_in`, of `octets_out`.
fn fetched(file: &Path, from_s: i64, to_s: i64) -> BTreeMap<i64, [f64; 2]> {
    let (from, to) = (from_s.to_string(), to_s.to_string());
    let done = Command::new("rrdtool")
        .args(["fetch", file.to_str().unwrap(), "AVERAGE", "-r", "1", "-s", &from, "-e", &to])
        .env("LC_ALL", "C")
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let text = String::from_utf8(done.stdout).unwrap();
    let row = |line: &str| {
        let (time, values) = line.split_once(": ")?;
        let values: Vec<f64> = values.split(' ').map(|value| value.trim_start_matches('-').parse().unwrap()).collect();
        Some((time.parse().ok()?, values.try_into().ok()?))
    };
    text.lines().filter_map(row).collect()
}

fn has_rrdtool() -> bool {
    let is_there = Path::new("/usr/bin/rrdtool").exists();
    if !is_there {
        println!("SKIPPED: no rrdtool");
    }
    is_there
}

/// Seconds of a file whose rates are known.
fn known(handle: &Handle, source: u32, from_s: i64) -> usize {
    let Some(file) = handle.file(source).filter(|file| file.exists()) else { return 0 };
    if from_s >= now_ms() / 1000 {
        return 0;
    }
    handle
        .read(&[source], || fetched(&file, from_s, now_ms() / 1000))
        .values()
        .filter(|rates| rates.iter().all(|rate| !rate.is_nan()))
        .count()
}

/// That the known rates of a file are those of an interface and of no other.
fn check(served: &Served, place: usize, interface: u32, rates: &BTreeMap<i64, [f64; 2]>, least: usize) {
    let is_known = |rates: &[f64; 2]| rates.iter().all(|rate| !rate.is_nan());
    // rrdtool takes a part of a second that is unknown for one in which nothing went.
    let follows = |s: i64| rates.get(&(s - 1)).is_some_and(is_known);
    let known: Vec<_> = rates.iter().filter(|(s, rates)| is_known(rates) && follows(**s)).collect();
    assert!(known.len() + 1 >= least, "{} seconds are known: {rates:?}", known.len());
    for (at, counter) in [Counter::InOctets, Counter::OutOctets].into_iter().enumerate() {
        let count = |s: i64| served.farm.counter(place, interface, counter, served.time_of(s * 1000)) as f64;
        // Answers take a moment, which shifts a little from one second to the next.
        let truth: f64 = known.iter().map(|(s, _)| count(**s) - count(**s - 1)).sum();
        let told: f64 = known.iter().map(|(_, rates)| rates[at]).sum();
        let each: Vec<_> = known.iter().map(|(s, rates)| (**s, rates[at], count(**s) - count(**s - 1))).collect();
        let close = (told - truth).abs() <= truth * 0.02 + 10.0;
        assert!(close, "{place}/{interface} {counter:?}: {told}, not {truth}: {each:?}");
    }
}

#[test]
fn what_rrdtool_reads_is_what_the_farm_has_counted() {
    if !has_rrdtool() {
        return;
    }
    let settings = Settings { devices: 3, interfaces: INTERFACES, faults: false, ..Settings::default() };
    let (served, folder) = (Served::start(settings, |_, _| true), folder(TEMPLATES));
    let graphs = open(&folder);
    let handle = graphs.handle().clone();
    let devices = add(&handle, &served, &[0, 1, 2]);
    let rows = |device: &u32| sources(&handle.inventory(), *device).len() == INTERFACES as usize;
    eventually("all interfaces are found", || devices.iter().all(rows));
    let from_s = now_ms() / 1000;
    let all: Vec<u32> = devices.iter().flat_map(|device| sources(&handle.inventory(), *device).into_values()).collect();
    eventually("eight seconds are known of each", || all.iter().all(|source| known(&handle, *source, from_s) >= 8));
    let inventory = handle.inventory();
    for (place, device) in devices.iter().enumerate() {
        assert_eq!(&*inventory.observed(*device).unwrap().name, served.farm.name(place));
        assert_eq!(inventory.graphs_of(*device).len(), INTERFACES as usize);
        for interface in 0..INTERFACES {
            let source = sources(&inventory, *device)[&served.farm.interface_name(interface)];
            let file = handle.file(source).unwrap();
            check(&served, place, interface, &fetched(&file, from_s, now_ms() / 1000), 8);
        }
    }
    let status = handle.status();
    assert_eq!((status.devices, status.polled, status.up, status.down), (3, 3, 3, 0), "{status:?}");
    assert_eq!((status.journal.dropped, status.files.samples_lost), (0, 0), "{status:?}");
    assert_eq!(status.troubles, Vec::<String>::new());

    // A start finds everything as it was, and goes on.
    let before = (*inventory).clone();
    graphs.stop();
    let graphs = open(&folder);
    assert!(*graphs.handle().inventory() == before);
    let status = graphs.handle().status();
    assert_eq!(status.journal.filed, status.journal.durable, "an ordinary end leaves nothing to be brought");
    let from_s = now_ms() / 1000;
    eventually("it polls on", || known(graphs.handle(), all[0], from_s) >= 3);
}

#[test]
fn interfaces_keep_their_series_when_they_get_other_numbers() {
    if !has_rrdtool() {
        return;
    }
    let settings = Settings { devices: 61, interfaces: INTERFACES, ..Settings::default() };
    let farm = trunkline_sim::farm::Farm::new(settings.clone());
    let place = (0..61).find(|place| farm.fault(*place) == Some(Fault::Renumbers)).unwrap();
    let (served, folder) = (Served::start(settings, |_, device| device == place), folder(TEMPLATES));
    let graphs = open(&folder);
    let handle = graphs.handle().clone();
    let [device] = add(&handle, &served, &[place])[..] else { panic!() };
    let indexes = || -> Vec<u32> {
        let inventory = handle.inventory();
        let index = |interface: u32| {
            let table = inventory.named(Kind::Table, "interfaces")?;
            let row = inventory.row_named(device, table, &served.farm.interface_name(interface))?;
            inventory.rows().get(row)?.index.as_ref()?.first().copied()
        };
        (0..INTERFACES).filter_map(index).collect()
    };
    let truth = || -> Vec<u32> {
        let at_ms = served.time_of(now_ms());
        (0..INTERFACES).map(|interface| served.farm.interface_index(place, interface, at_ms)).collect()
    };
    eventually("all interfaces are found", || indexes() == truth());
    let before = sources(&handle.inventory(), device);
    let all: Vec<u32> = before.values().copied().collect();
    let from_s = now_ms() / 1000;
    eventually("three seconds are known", || all.iter().all(|source| known(&handle, *source, from_s) >= 3));
    // Its clock leaps to behind its next start after which the numbers are others.
    let (old, mut at_ms) = (truth(), served.time_of(now_ms()));
    while (0..INTERFACES).map(|i| served.farm.interface_index(place, i, at_ms)).eq(old.iter().copied())
        || !served.farm.state(place, at_ms).is_up
        || served.farm.state(place, at_ms).uptime_ms > 600_000
    {
        at_ms += 10_000;
    }
    let old_ahead_ms = served.clock.ahead_ms.swap(at_ms - now_ms(), Ordering::SeqCst);
    let leapt_s = now_ms() / 1000;
    eventually("their new numbers are known", || indexes() == truth());
    assert!(truth() != old);
    assert_eq!(sources(&handle.inventory(), device), before, "the series are the same");
    let begun_s = now_ms() / 1000 + 2;
    eventually("five seconds are known", || all.iter().all(|source| known(&handle, *source, begun_s) >= 5));
    for interface in 0..INTERFACES {
        let file = handle.file(before[&served.farm.interface_name(interface)]).unwrap();
        check(&served, place, interface, &fetched(&file, begun_s, now_ms() / 1000), 5);
        // Around the new start nothing is told that the interface could not have carried in truth.
        let around = fetched(&file, leapt_s - 2, begun_s + 1);
        let octets = |at_ms: i64| {
            let count = |at_ms: i64| served.farm.counter(place, interface, Counter::InOctets, at_ms);
            count(at_ms).saturating_sub(count(at_ms - 1000)) as f64
        };
        let second = |s: i64| octets(served.time_of(s * 1000));
        // The hour before the leap is another one than that after it, and so may be what is carried in a second.
        let before = (leapt_s - 3..=leapt_s + 1).map(|s| octets(s * 1000 + old_ahead_ms));
        let most = before.chain((leapt_s..=begun_s + 1).map(second)).fold(0.0, f64::max) * 3.0 + 1e6;
        assert!(around.values().all(|rates| rates[0].is_nan() || rates[0] <= most), "{around:?}, {most}");
        // Nor is what was counted before taken together with what comes after it: where two seconds are known, the
        // second one is its own.
        let follows = |s: i64| s > leapt_s + 1 && around.get(&(s - 1)).is_some_and(|rates| !rates[0].is_nan());
        for (s, rates) in around.iter().filter(|(s, rates)| follows(**s) && !rates[0].is_nan()) {
            let truth = second(*s);
            assert!((rates[0] - truth).abs() <= truth * 0.1 + 10.0, "{} at {s}, not {truth}: {around:?}", rates[0]);
        }
    }
    let shown = handle.device(device).unwrap();
    assert!(shown.restarts >= 1 && !shown.is_stale && handle.status().stale_samples > 0, "{shown:?}");
}

/// What Cacti has is taken over while others make devices, too: each has numbers and files of its own.
#[test]
fn what_is_taken_over_while_others_make_something_has_numbers_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let graphs = open(&folder);
    let handle = graphs.handle().clone();
    let dump = concat!(env!("CARGO_MANIFEST_DIR"), "/src/cacti/tests/old.sql");
    let (others, begun) = (handle.clone(), std::sync::Arc::new(std::sync::Barrier::new(2)));
    let begins = std::sync::Arc::clone(&begun);
    let makes = std::thread::spawn(move || {
        begins.wait();
        for number in 0..200 {
            let mut device = Device::new(&format!("other-{number}"), "127.0.0.1");
            device.access.version = None;
            others
                .add_device("test", Added { device, template: Some("reachable".into()), arguments: Vec::new() })
                .unwrap();
        }
    });
    begun.wait();
    let sources = Sources { dump: Some(dump.into()), ..Sources::default() };
    let imported = cacti(&handle, &sources).unwrap();
    makes.join().unwrap();
    let inventory = handle.inventory();
    assert!(imported.changes > 0 && (0..200).all(|n| inventory.device_named(&format!("other-{n}")).is_some()));
    let of_cacti = inventory.devices().iter().filter(|(_, device)| !device.name.starts_with("other-")).count();
    let alone = tempfile::tempdir().unwrap();
    let graphs = open(&alone);
    cacti(graphs.handle(), &sources).unwrap();
    assert_eq!(of_cacti, graphs.handle().inventory().devices().len());
}

/// `.invalid` is nobody's name (RFC 6761, section 6.4).
#[test]
fn a_device_whose_name_is_not_found_says_so_until_it_has_an_address() {
    let folder = tempfile::tempdir().unwrap();
    let graphs = open(&folder);
    let handle = graphs.handle().clone();
    handle.order("test", Order::Device(None, Device::new("lost", "lost.invalid"))).unwrap();
    let lost = handle.inventory().device_named("lost").unwrap();
    let unfound = || handle.device(lost).and_then(|shown| shown.unfound);
    eventually("its name is not found", || unfound().is_some_and(|why| why.starts_with("lost.invalid: ")));
    assert_eq!(handle.status().nameless, 1);
    let device = house::ask_pages(&handle, &json!({ "do": "device", "id": lost })).unwrap();
    let trouble = device["troubles"][0].as_str().unwrap();
    assert!(trouble.starts_with("Its name is not found: lost.invalid: "), "{device}");
    handle.order("test", Order::Device(Some(lost), Device::new("lost", "127.0.0.1"))).unwrap();
    eventually("it is polled where it is", || unfound().is_none() && handle.device(lost).is_some());
}
