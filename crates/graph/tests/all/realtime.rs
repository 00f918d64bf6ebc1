//! Graphs in real time: while somebody asks, a graph of a device that is polled once a minute has each second what the
//! farm has counted in it; nothing of that is kept, and nobody is asked when nobody looks.
//!
//! Test group: waits: reads devices each second.

use crate::house;
use crate::world;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use trunkline_contract::graph::{GraphScope, Question};
use trunkline_graph::inventory::order::Order;
use trunkline_graph::inventory::{Availability, Device, Kind, Probe};
use trunkline_graph::job::{Graphs, Handle, Pages};
use trunkline_graph::realtime::REALTIME_SOURCES_MAX;
use trunkline_sim::farm::{Counter, Fault, Settings};
use world::{Served, add, eventually, folder, now_ms, options};

const TEMPLATES: &str = r#"
[data.octets]
title = "Octets of |name|"
table = "interfaces"
profile = "minute"

[[data.octets.series]]
name = "octets_in"
kind = "counter"
read = ["1.3.6.1.2.1.31.1.1.1.6", "1.3.6.1.2.1.2.2.1.10"]
min = 0
max = "speed"

[graph.octets]
title = "|device| - |name|"

[graph.octets.series]
in = "octets.octets_in"

[graph.octets.cdef]
bits = "in,8,*"

[[graph.octets.item]]
value = "bits"
label = "In"
color = "3fa34d"

[device.net-snmp]
title = "Those of the farm"
matches = ["1.3.6.1.4.1.8072.3.2"]
graphs = ["octets"]
"#;

fn open() -> (TempDir, Graphs) {
    let folder = folder(TEMPLATES);
    let graphs = Graphs::open(&folder.path().join("graphs"), &options()).unwrap();
    (folder, graphs)
}

/// The graph of an interface.
fn graph(handle: &Handle, device: u32, interface: &str) -> Option<u32> {
    let inventory = handle.inventory();
    let row = inventory.row_named(device, inventory.named(Kind::Table, "interfaces")?, interface)?;
    let is_of_row = |graph: &&u32| {
        let source = inventory.graphs().get(**graph)?.sources.first().copied()?;
        inventory.sources().get(source)?.row.filter(|of| *of == row)
    };
    inventory.graphs_of(device).iter().find(|graph| is_of_row(graph).is_some()).copied()
}

/// The seconds of a series that are known, by their ends.
fn known(told: &Value) -> BTreeMap<i64, f64> {
    let (start, step) = (told["picture"]["start"].as_i64().unwrap(), told["picture"]["step"].as_i64().unwrap());
    assert_eq!(step, told["step"].as_i64().unwrap(), "{told}");
    let values = told["picture"]["series"][0]["values"].as_array().unwrap();
    let ends = (1..).map(|row| start + row * step);
    ends.zip(values).filter_map(|(end, value)| Some((end, value.as_f64()?))).collect()
}

fn look(pages: &Pages, graph: u32) -> Value {
    let question = Question::Realtime { graph, step: Some(1), span: Some(60) };
    house::told(&pages.ask(None, &question).unwrap())
}

#[test]
fn each_second_is_what_the_farm_has_counted_and_nothing_of_it_is_kept() {
    let settings = Settings { devices: 2, interfaces: 3, faults: false, ..Settings::default() };
    let served = Served::start(settings, |_, _| true);
    let (_folder, graphs) = open();
    let handle = graphs.handle().clone();
    let pages = Pages::new(handle.clone());
    let devices = add(&handle, &served, &[0, 1]);
    let name = served.farm.interface_name(1);
    eventually("graphs are there", || devices.iter().all(|device| graph(&handle, *device, &name).is_some()));
    eventually("each was read", || handle.status().journal.samples >= 6);
    let looked_at = graph(&handle, devices[1], &name).unwrap();
    let (begun_ms, kept) = (now_ms(), handle.status().journal.samples);
    let mut told = look(&pages, looked_at);
    assert_eq!((&told["heard"], &told["troubles"]), (&Value::Null, &json!([])), "nothing has come yet");
    eventually("ten seconds are known", || {
        told = look(&pages, looked_at);
        known(&told).len() >= 10
    });
    let took_s = (now_ms() - begun_ms) / 1000;
    assert!(told["heard"].as_i64().unwrap() >= begun_ms / 1000, "{told}");
    let seconds = known(&told);
    let (first, last) = (seconds.keys().next().unwrap() + 1, *seconds.keys().last().unwrap());
    let count = |s: i64| served.farm.counter(1, 1, Counter::InOctets, served.time_of(s * 1000)) as f64;
    let truth = (count(last) - count(first)) * 8.0;
    let sum: f64 = seconds.range(first + 1..).map(|(_, bits)| bits).sum();
    // Answers take a moment, which shifts a little from one second to the next.
    assert!((sum - truth).abs() <= truth * 0.02 + 80.0, "{sum}, not {truth}: {seconds:?}");
    let status = handle.status();
    assert_eq!(status.realtime_sources, 1);
    assert!(status.realtime.samples >= 10 && status.realtime.samples <= took_s as u64 + 2, "{status:?}");
    // Both devices may have had their minute meanwhile.
    let minutes = took_s as u64 / 60 + 1;
    assert!(status.journal.samples <= kept + minutes * 6, "{} were kept, {kept} before", status.journal.samples);
    assert_eq!(status.polls.cycles_missed, 0, "{status:?}");
    eventually("nobody looks any more", || handle.status().realtime_sources == 0);
    let asked = handle.status().polls.requests;
    std::thread::park_timeout(Duration::from_secs(2));
    let more = handle.status().polls.requests - asked;
    assert!(more <= 4, "{more} requests though nobody looks");
}

#[test]
fn no_value_is_of_another_interface_when_they_get_other_numbers() {
    let settings = Settings { devices: 61, interfaces: 4, ..Settings::default() };
    let farm = trunkline_sim::farm::Farm::new(settings.clone());
    let place = (0..61).find(|place| farm.fault(*place) == Some(Fault::Renumbers)).unwrap();
    let served = Served::start(settings, |_, device| device == place);
    let (_folder, graphs) = open();
    let handle = graphs.handle().clone();
    let pages = Pages::new(handle.clone());
    let [device] = add(&handle, &served, &[place])[..] else { panic!() };
    let names: Vec<String> = (0..4).map(|interface| served.farm.interface_name(interface)).collect();
    let all = || names.iter().map(|name| graph(&handle, device, name)).collect::<Option<Vec<u32>>>();
    eventually("graphs are there", || all().is_some());
    let all = all().unwrap();
    let many = |least: usize| all.iter().all(|graph| known(&look(&pages, *graph)).len() >= least);
    eventually("three seconds are known", || many(3));
    let index = |at_ms: i64| (0..4).map(|i| served.farm.interface_index(place, i, at_ms)).collect::<Vec<u32>>();
    let mut at_ms = served.time_of(now_ms());
    let old = index(at_ms);
    while index(at_ms) == old || !served.farm.state(place, at_ms).is_up {
        at_ms += 10_000;
    }
    served.clock.ahead_ms.store(at_ms - now_ms(), Ordering::SeqCst);
    let leapt_s = now_ms() / 1000;
    // The minute of ordinary polling is not waited for: what is looked at notices it, and has the device looked at.
    // A second of which a part is unknown is one in which less went, to rrdtool as to us.
    let after = |graph: u32| {
        let seconds = known(&look(&pages, graph));
        let follows = |s: &i64| *s > leapt_s + 2 && seconds.contains_key(&(s - 1));
        seconds.iter().filter(|(s, _)| follows(s)).map(|(s, bits)| (*s, *bits)).collect::<BTreeMap<i64, f64>>()
    };
    eventually("five seconds after it are known", || all.iter().all(|graph| after(*graph).len() >= 5));
    assert!(now_ms() / 1000 - leapt_s < 50, "it took as long as ordinary polling");
    for (interface, graph) in all.iter().enumerate() {
        let count = |s: i64| {
            served.farm.counter(place, interface as u32, Counter::InOctets, served.time_of(s * 1000)) as f64 * 8.0
        };
        let seconds = after(*graph);
        for (s, bits) in &seconds {
            let truth = count(*s) - count(s - 1);
            assert!((bits - truth).abs() <= truth * 0.1 + 80.0, "{interface}: {bits} at {s}, not {truth}: {seconds:?}");
        }
    }
}

#[test]
fn what_is_read_otherwise_is_watched_too_and_there_is_an_end_to_it() {
    let listens = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listens.local_addr().unwrap().port();
    let (_folder, graphs) = open();
    let handle = graphs.handle().clone();
    let pages = Pages::new(handle.clone());
    let mut device = Device::new("sip-1", "127.0.0.1");
    device.access.version = None;
    device.availability = Availability { probes: vec![Probe::Tcp { port }], ..device.availability };
    let arguments = vec![("port".into(), port.to_string().into())];
    let added = trunkline_graph::answer::Added { device, template: Some("tcp-service".to_owned()), arguments };
    let (id, _) = handle.add_device("test", added).unwrap();
    let found = || {
        let inventory = handle.inventory();
        let is_it = |graph: &&u32| {
            let template = inventory.graphs().get(**graph).and_then(|graph| inventory.template_name(graph.template));
            template == Some("tcp-port")
        };
        inventory.graphs_of(id).iter().find(is_it).copied()
    };
    eventually("its graph is there", || found().is_some());
    let graph = found().unwrap();
    eventually("five seconds are known", || known(&look(&pages, graph)).len() >= 5);
    assert_eq!(handle.status().probes.counts.missed, 0);
    // Many look at once while samples come: nobody holds what another one waits for.
    let until = Instant::now() + Duration::from_secs(4);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while Instant::now() < until {
                    drop(look(&pages, graph))
                }
            });
        }
    });
    let many_s = now_ms() / 1000 - 2;
    eventually("samples come on", || known(&look(&pages, graph)).range(many_s..).count() >= 1);
    // A service that ends is seen in seconds, not in the minute of ordinary probing.
    drop(listens);
    let ended_s = now_ms() / 1000;
    let last = || known(&look(&pages, graph)).last_key_value().map_or(0, |(end, _)| *end);
    eventually("nothing comes any more", || now_ms() / 1000 - last() > 4);
    assert!((ended_s - 1..=ended_s + 3).contains(&last()), "{} is the last, it ended at {ended_s}", last());
    let ask = |graph: u32, step: u32, span: u32| {
        let question = Question::Realtime { graph, step: Some(step), span: Some(span) };
        pages.ask(None, &question).unwrap_err().to_string()
    };
    assert_eq!(ask(graph, 0, 60), "\"step\" is 1 to 60 s");
    assert_eq!(ask(graph, 2, 3600), "\"span\" is 1 to 1800 s");
    assert!(ask(4_000_000, 1, 60).contains("there is no graph 4000000"));
    // Who may not see it is told the same.
    let (scope, question) = (GraphScope::default(), Question::Realtime { graph, step: None, span: None });
    let hidden = pages.ask(Some(&scope), &question);
    assert_eq!(hidden.unwrap_err().to_string(), format!("there is no graph {graph}"));
    assert!(handle.status().realtime_sources < REALTIME_SOURCES_MAX);
    let disabled = Order::SetState(vec![id], trunkline_graph::inventory::DeviceState::Disabled);
    handle.order("test", disabled).unwrap();
    assert_eq!(look(&pages, graph)["troubles"], json!(["'sip-1' is disabled: nothing is read of it."]));
}
