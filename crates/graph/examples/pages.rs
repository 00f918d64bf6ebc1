//! How long pages of graphs take to be answered: 60 previews of a day, one graph over five years, a search among
//! 100,000 graphs. `cargo run --release -p trunkline-graph --example pages`

#[path = "../tests/all/house/mod.rs"]
mod house;

use house::House;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use trunkline_graph::answer::View;
use trunkline_graph::inventory::Search;
use trunkline_graph::scope::Seen;

/// The last sample of files.
const END_S: i64 = 1_790_035_200;
/// Devices with files, interfaces of each.
const POLLED: (u32, u32) = (10, 6);
/// Graphs in all.
const GRAPHS: usize = 100_000;
/// How often each question is asked.
const ROUNDS: usize = 20;

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut house = House::new(folder.path());
    let began = Instant::now();
    let graphs = polled(&mut house);
    for number in 0.. {
        if house.inventory.graphs().len() >= GRAPHS {
            break;
        }
        house.device(&format!("access-{number}"), 48);
    }
    let search = Search::of(&house.inventory, &house.library);
    let (graphs_total, devices) = (house.inventory.graphs().len(), house.inventory.devices().len());
    println!("{graphs_total} graphs of {devices} devices made in {:.1?}", began.elapsed());
    let House { inventory, library, .. } = &house;
    let view = View {
        inventory,
        library,
        search: &search,
        files: &house,
        polled: &|_| None,
        now_s: END_S,
        seen: None,
        scope: None,
    };
    let ask = |question: Value| house::ask(&view, &question).expect("an answer");
    let day = json!({ "do": "pictures", "ids": graphs, "from": END_S - 86_400, "to": END_S, "width": 240 });
    measure("60 previews of a day, 240 columns", || ask(day.clone()));
    let years = json!({
        "do": "pictures", "ids": [graphs[0]], "from": END_S - 5 * 365 * 86_400, "to": END_S, "width": 900,
    });
    measure("one graph over five years, 900 columns", || ask(years.clone()));
    for text in ["traffic", "access-17 gi0/3 errors", "nowhere", "e"] {
        let question = json!({ "do": "graphs", "text": text, "limit": 60 });
        measure(&format!("search for '{text}'"), || ask(question.clone()));
    }
    measure("devices, the first 200", || ask(json!({ "do": "devices", "limit": 200 })));
    scoped(view);
}

/// The same for people who may see a part: one in ten devices, or all but what titles say.
fn scoped(view: View<'_>) {
    let rule = |allow: bool, kind: &str, value: &str| json!({ "allow": allow, "kind": kind, "value": value });
    let narrow = [rule(true, "device-name", "*-?7*"), rule(false, "graph-title", "*Gi0/13*")];
    let wide = [rule(false, "device-name", "edge-*"), rule(false, "graph-title", "*Gi0/13*errors*")];
    for (name, everything, rules) in [("narrow", false, narrow), ("wide", true, wide)] {
        let scope = house::scope(&json!({ "everything": everything, "levels": [rules] }));
        let began = Instant::now();
        let seen = Seen::of(&scope, view.inventory, view.library, view.search);
        println!("{name} scope: found out in {:.1?}, {} graphs are seen", began.elapsed(), seen.graphs_len());
        let view = View { seen: Some(&seen), scope: Some(&scope), ..view };
        let ask = |question: Value| house::ask(&view, &question).expect("an answer");
        for text in ["traffic", "access-17 gi0/3 errors", "nowhere", "e", ""] {
            let question = json!({ "do": "graphs", "text": text, "limit": 60 });
            measure(&format!("{name} scope, search for '{text}'"), || ask(question.clone()));
        }
        measure(&format!("{name} scope, devices"), || ask(json!({ "do": "devices", "limit": 200 })));
        measure(&format!("{name} scope, counts"), || ask(json!({ "do": "counts" })));
    }
}

/// Devices with files of ten years in day rows and two days in minutes; sixty graphs of them.
fn polled(house: &mut House) -> Vec<u32> {
    let mut graphs = Vec::new();
    for number in 0..POLLED.0 {
        let device = house.device(&format!("edge-{number}"), POLLED.1);
        for interface in 0..POLLED.1 as usize {
            let source = house.source(device, "interface-traffic", interface);
            let (mut count, phase) = (0, f64::from(number * 7) + interface as f64);
            // A sample an hour would be unknown: the years before are read every minute, too, but for few of them.
            let start_s = END_S - if number == 0 && interface == 0 { 5 * 365 * 86_400 } else { 2 * 86_400 };
            let samples = (1..=(END_S - start_s) / 60).map(move |minute| {
                let at_s = start_s + minute * 60;
                let wave = 1.3 + (at_s as f64 / 86_400.0 * std::f64::consts::TAU + phase).sin();
                count += (wave * 3e7) as u64 + (minute as u64 * 7919) % 4_000_000;
                (at_s, vec![Some(count), Some(count / 3)])
            });
            house.file(source, start_s, samples);
            graphs.push(house.graph("interface-bits", source));
        }
    }
    graphs
}

fn measure(what: &str, ask: impl Fn() -> Value) {
    let mut took: Vec<Duration> = Vec::new();
    let mut octets = 0;
    for _ in 0..ROUNDS {
        let began = Instant::now();
        octets = ask().to_string().len();
        took.push(began.elapsed());
    }
    took.sort();
    println!("{what}: median {:.1?}, longest {:.1?}, {octets} octets", took[ROUNDS / 2], took[ROUNDS - 1]);
}
