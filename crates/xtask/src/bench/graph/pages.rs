//! Pages of graphs over the API of the running program: sixty previews, five years, a search among 100,000 graphs.

use super::super::web::load::{How as Asks, Load, Loaded};
use super::super::web::server::Server;
use super::super::{Bench, example};
use super::node::{Farm, How, Node, Size, at};
use super::remove;
use serde_json::{Value, json};
use std::ffi::OsString;

/// Graphs of a page of previews.
const PREVIEWS: usize = 60;
/// Graphs of each interface: bits, both kinds of packets, errors.
const GRAPHS_OF_INTERFACE: f64 = 4.0;
const SECONDS: u32 = 5;
/// What is polled is short; sixty files have five years in the profile that comes with the program.
const TEMPLATES: &str = r#"
[profile.minute]
title = "Short"
step = "60 s"
archives = ["1 min for 1 h"]
[device.bench]
title = "All of interfaces"
matches = ["1.3.6.1.4.1.8072.3.2.255"]
graphs = ["interface-bits", "interface-unicast", "interface-packets", "interface-errors"]
"#;

/// A question, and how it was answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub name: &'static str,
    /// The longest that 99 of 100 may take, milliseconds.
    pub budget_ms: f64,
    /// Octets of an answer.
    pub octets: usize,
    pub loaded: Loaded,
}

/// What was measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pages {
    pub graphs: f64,
    /// Octets of a file with five years.
    pub file_octets: f64,
    pub rows: Vec<Row>,
}

impl Pages {
    pub fn is_well(&self) -> bool {
        self.rows.iter().all(|row| row.loaded.p99_ms < row.budget_ms && row.loaded.failed == 0)
    }
}

/// Polls a farm whose devices have that many graphs, gives sixty of them five years, and asks for pages.
pub fn measure(bench: &Bench<'_>) -> Result<Pages, String> {
    let years = example::build(bench, "trunkline-graph", "years")?;
    let size = Size { devices: if bench.quick { 25 } else { 250 }, interfaces: 100, dead_permille: 0 };
    let farm = Farm::start(bench, "1", size, None)?;
    let how = How { processors: "0,1", lanes: "1", configuration: "", templates: TEMPLATES };
    let mut node = Node::start(bench, "pages", &how)?;
    node.add(size, farm.port, 60)?;
    let all = size.interfaces_all();
    node.until("all graphs are there", |status| at(status, "graphs") >= all * GRAPHS_OF_INTERFACE)?;
    node.until("all files are made", |status| at(status, "files/made") >= all * 3.0)?;
    let (graphs, files) = traffic(&node)?;
    node.process.end()?;
    let made = example::run(&years, &files)?;
    node.restart("0,1")?;
    let server = Server::over(bench, &node.data)?;
    let (_, token) = server.sign_in(&["graphs.read"])?;
    let seconds = if bench.quick { 1 } else { SECONDS };
    let script = bench.folder.join("paced.lua");
    let load = Load { base: server.base(), token: &token, connections: 1, seconds, seconds_warm: 1, script: &script };
    let mut rows = Vec::new();
    for (name, budget_ms, path) in questions(&graphs) {
        let octets = server.get(&token, &path)?.body.len();
        load.run(&path, Asks::Plain, load.seconds_warm)?;
        let loaded = load.run(&path, Asks::Plain, load.seconds)?;
        eprintln!("bench: graph: {name}: {loaded:?}");
        rows.push(Row { name, budget_ms, octets, loaded });
    }
    let total = at(&node.status()?, "graphs");
    let data = node.data.clone();
    drop(server);
    drop(node);
    remove(&data)?;
    Ok(Pages { graphs: total, file_octets: example::number(&made, "octets"), rows })
}

/// Graphs of traffic, and the files that they are of.
fn traffic(node: &Node) -> Result<(Vec<String>, Vec<OsString>), String> {
    let told = node.ask(&json!({ "do": "device", "name": "device-0" }))?;
    let list = |name: &str| told[name].as_array().cloned().unwrap_or_default();
    let is_traffic = |source: &&Value| source["template"] == "interface-traffic";
    let file = |source: &Value| Some(OsString::from(source["file"].as_str()?));
    let files: Vec<OsString> = list("data_sources").iter().filter(is_traffic).filter_map(file).take(PREVIEWS).collect();
    let is_of = |graph: &&Value| graph["title"].as_str().is_some_and(|title| title.contains("Traffic"));
    let graphs: Vec<String> =
        list("graph_list").iter().filter(is_of).map(|graph| graph["graph"].to_string()).take(PREVIEWS).collect();
    match (graphs.len(), files.len()) {
        (PREVIEWS, PREVIEWS) => Ok((graphs, files)),
        (graphs, files) => Err(format!("device-0 has {graphs} graphs of traffic and {files} files")),
    }
}

fn questions(graphs: &[String]) -> Vec<(&'static str, f64, String)> {
    let pictures = |ids: &[String], from: &str, width: u32| {
        format!("/graphs/pictures?ids={}&from={from}&width={width}", ids.join(","))
    };
    let search = |text: &str| format!("/graphs?text={text}&limit=60");
    vec![
        ("60 previews of a day", 500.0, pictures(graphs, "now-1d", 240)),
        ("60 previews of five years", 500.0, pictures(graphs, "now-1825d", 240)),
        ("a graph of five years", 200.0, pictures(&graphs[..1], "now-1825d", 900)),
        ("the same, a day of it a year ago", 200.0, pictures(&graphs[..1], "now-366d", 900) + "&to=now-365d"),
        ("search for `traffic`, which a quarter has", 200.0, search("traffic")),
        ("search for `device-217 gi2/31 errors`, which one has", 200.0, search("device-217%20gi2/31%20errors")),
        ("search for `nowhere`, which none has", 200.0, search("nowhere")),
    ]
}
