//! The program polls simulated devices and net-snmp's agent, and is operated as people do: credentials, devices, a
//! search, an import of Cacti; what rrdtool and the program itself read in the files is what devices said.
//!
//! Test group: waits: polls each second.

use crate::eventually::eventually;
use crate::ports::free_port;
use crate::wire;
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;
use wire::{PROGRAM, Wire, text};

/// Each second, so that a test sees many of them.
const TEMPLATES: &str = r#"
[data.what-it-is]
title = "What never changes"
profile = "second"

[[data.what-it-is.series]]
name = "services"
read = ["1.3.6.1.2.1.1.7.0"]

[data.octets]
title = "Octets of |name|"
table = "interfaces"
profile = "second"

[[data.octets.series]]
name = "octets_in"
kind = "counter"
read = ["1.3.6.1.2.1.31.1.1.1.6", "1.3.6.1.2.1.2.2.1.10"]
min = 0

[graph.octets]
title = "|device| - |name|"
unit = "B/s"

[graph.octets.series]
in = "octets.octets_in"

[[graph.octets.item]]
value = "in"
color = "3fa34d"
label = "Octets"

[device.net-snmp]
title = "Those of the test"
matches = ["1.3.6.1.4.1.8072.3.2"]
data = ["what-it-is"]
graphs = ["octets"]
"#;

/// A program that does not outlive the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        let _ended = self.0.wait();
    }
}

impl Running {
    /// Tells it to end; its exit code.
    fn end(mut self) -> Option<i32> {
        let pid = rustix::process::Pid::from_child(&self.0);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        self.0.wait().unwrap().code()
    }
}

struct World {
    folder: TempDir,
}

impl World {
    fn new() -> World {
        let folder = tempfile::tempdir().unwrap();
        let templates = folder.path().join("graphs/templates");
        std::fs::create_dir_all(&templates).unwrap();
        std::fs::write(templates.join("test.toml"), TEMPLATES).unwrap();
        World { folder }
    }

    fn data(&self) -> &str {
        text(self.folder.path())
    }

    fn serve(&self) -> Running {
        let mut command = Command::new(PROGRAM);
        let serve = command.args(["graph", "serve", "--data", self.data()]).stderr(Stdio::null()).spawn().unwrap();
        let running = Running(serve);
        eventually("it serves", || self.order(&["status"]).status.code() != Some(1));
        running
    }

    fn order(&self, words: &[&str]) -> Output {
        self.order_with(words, "")
    }

    fn order_with(&self, words: &[&str], input: &str) -> Output {
        let mut command = Command::new(PROGRAM);
        command.arg("graph").args(words).args(["--data", self.data()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // One that reads nothing may have ended.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap()
    }

    /// What is told as JSON.
    fn json(&self, words: &[&str]) -> Value {
        let done = self.order(&[words, &["--json"]].concat());
        assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
        serde_json::from_slice(&done.stdout).unwrap()
    }

    /// The data sources of a device: what they are of, their numbers and files.
    fn sources(&self, device: &str) -> Vec<(String, u64, PathBuf)> {
        let told = self.json(&["device", device]);
        let source = |source: &Value| {
            let of = source["row"].as_str().unwrap_or("device").to_owned();
            (of, source["source"].as_u64().unwrap(), PathBuf::from(source["file"].as_str().unwrap()))
        };
        told["data_sources"].as_array().unwrap().iter().map(source).collect()
    }

    /// The known values of a data source since a time, as the program fetches them.
    fn fetched(&self, source: u64, from_s: i64) -> Vec<(i64, f64)> {
        let done = self.order(&["fetch", &source.to_string(), "--from", &from_s.to_string(), "--json"]);
        let Ok(told) = serde_json::from_slice::<Value>(&done.stdout) else { return Vec::new() };
        let rows = told["rows"].as_array().unwrap().iter();
        rows.filter_map(|row| Some((row[0].as_i64()?, row[1][0].as_f64()?))).collect()
    }
}

fn now_s() -> i64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() as i64
}

fn is_there(program: &str) -> bool {
    let is_there = Path::new(program).exists();
    if !is_there {
        println!("SKIPPED: no {program}");
    }
    is_there
}

fn farm(port: u16) -> Running {
    let mut command = Command::new(PROGRAM);
    command.args(["graph", "farm", "--devices", "3", "--interfaces", "3", "--sound", "--port", &port.to_string()]);
    Running(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
}

/// What rrdtool reads: second and value.
fn rrdtool(file: &Path, from_s: i64, to_s: i64) -> Vec<(i64, f64)> {
    let (from, to) = (from_s.to_string(), to_s.to_string());
    let words = ["fetch", text(file), "AVERAGE", "-r", "1", "-s", &from, "-e", &to];
    let done = Command::new("rrdtool").args(words).env("LC_ALL", "C").output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let row = |line: &str| {
        let (time, value) = line.split_once(": ")?;
        let value: f64 = value.trim_start_matches('-').parse().ok()?;
        Some((time.parse().ok()?, value)).filter(|(_, value)| !value.is_nan())
    };
    String::from_utf8(done.stdout).unwrap().lines().filter_map(row).collect()
}

#[test]
fn devices_are_found_polled_killed_and_operated() {
    if !is_there("/usr/bin/rrdtool") {
        return;
    }
    let (world, port) = (World::new(), free_port());
    let nobody = world.order(&["list"]);
    assert_eq!(nobody.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&nobody.stderr).contains("the poller is not running for"), "{nobody:?}");
    let (_farm, serve, port) = (farm(port), world.serve(), port.to_string());
    assert_eq!(world.order_with(&["credential", "add", "lan"], "").status.code(), Some(1), "no secret");
    assert!(world.order_with(&["credential", "add", "lan"], "public\n").status.success());
    let listed = world.order(&["credential", "list", "--json"]);
    assert!(!String::from_utf8_lossy(&listed.stdout).contains("public"), "secrets are told to nobody");

    let search = ["discover", "127.64.0.1-127.64.0.6", "--credential", "lan", "--port", &port];
    let found = world.json(&search);
    let mut names: Vec<&str> = found["added"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, ["core-0.farm.example", "dist-1.farm.example", "dist-2.farm.example"], "{found}");
    assert_eq!((found["asked"].as_u64(), found["answered"].as_u64()), (Some(6), Some(3)), "{found}");
    let again = world.json(&search);
    assert_eq!((again["known"].as_u64(), again["asked"].as_u64()), (Some(3), Some(3)), "{again}");

    let device = "dist-1.farm.example";
    eventually("its interfaces are found", || world.sources(device).len() == 4);
    let sources = world.sources(device);
    let from_s = now_s();
    let (_, source, file) = &sources.iter().find(|(of, ..)| of == "Gi1/2").unwrap();
    eventually("five seconds are known", || world.fetched(*source, from_s).len() >= 5);
    let told = world.fetched(*source, from_s);
    let (first, last) = (told[0].0, told.last().unwrap().0);
    let read = rrdtool(file, first - 1, last - 1);
    assert_eq!(told.len(), read.len());
    for ((at, ours), (of, theirs)) in told.iter().zip(&read) {
        // rrdtool prints eleven digits.
        assert!(at == of && (ours - theirs).abs() <= theirs.abs() * 1e-9, "{at} {ours}, {of} {theirs}");
    }
    trees_reports_and_spikes(&world, device, *source, file);
    let told = world.fetched(*source, first - 1);
    let status = world.json(&["status"]);
    assert_eq!(
        (status["devices"]["up"].as_u64(), status["journal"]["dropped"].as_u64()),
        // The program itself is one of them.
        (Some(4), Some(0)),
        "{status}"
    );
    assert_eq!(world.order(&["status"]).status.code(), Some(0));

    in_real_time(&world, device);

    // Killed, it goes on where it was.
    drop(serve);
    let serve = world.serve();
    assert_eq!(world.sources(device), sources);
    let still = world.fetched(*source, first - 1);
    assert_eq!(still[..told.len()], told[..], "what was told is there");
    let from_s = now_s();
    eventually("it polls on", || world.fetched(*source, from_s).len() >= 2);

    let health = |device: &str| {
        let list = world.json(&["list"]);
        let found = list["devices"].as_array().unwrap().iter().find(|one| one["name"] == device).cloned();
        found.map(|one| (one["state"].as_str().unwrap().to_owned(), one["health"].as_str().unwrap().to_owned()))
    };
    assert!(world.order(&["disable", device]).status.success());
    eventually("nobody polls it", || health(device) == Some(("disabled".to_owned(), "not polled".to_owned())));
    assert!(world.order(&["enable", device]).status.success());
    eventually("it is polled", || health(device) == Some(("active".to_owned(), "up".to_owned())));
    assert!(world.order(&["remove", device]).status.success());
    assert_eq!(health(device), None);
    eventually("its files are gone", || !file.exists());
    for (words, why) in [
        (&["device", device][..], "there is no device"),
        (&["add", "core-0.farm.example", "127.0.0.1"], "exists already"),
        (&["add", "x", "127.0.0.1", "--credential", "none"], "there is no credential 'none'"),
        (&["credential", "remove", "lan"], "is used by"),
        (&["fetch", "9999"], "there is no data source"),
        (&["discover", "10.0.0.0/8"], "at most"),
    ] {
        let done = world.order(words);
        let told = String::from_utf8_lossy(&done.stderr).into_owned();
        let is_told = told.contains(why) || why == "at most" && told.contains("more than 65536 addresses");
        assert!(done.status.code() == Some(1) && is_told, "{words:?}: {told}");
    }
    assert_eq!(serve.end(), Some(0));
}

/// A graph of a device, watched for a while: a line for each second, and the same as JSON.
fn in_real_time(world: &World, device: &str) {
    let graph = world.json(&["device", device])["graph_list"][0]["graph"].to_string();
    let begun_s = now_s();
    let plain = world.order(&["watch", &graph, "--for", "5s"]);
    let text = String::from_utf8_lossy(&plain.stdout).into_owned();
    assert!(plain.status.success() && now_s() - begun_s >= 4, "{text}");
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains(device) && (4..=9).contains(&lines.len()), "{text}");
    assert!(lines[2..].iter().all(|line| line.contains("B/s") || line.ends_with('-')), "{text}");
    let told = world.order(&["watch", &graph, "--for", "5s", "--json"]);
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    let rows: Vec<serde_json::Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let known = rows.iter().filter(|row| row["values"]["Octets"].as_f64() > Some(0.0)).count();
    assert!(known >= 3 && rows[0]["step"] == 1, "{told}");
    let status = world.json(&["status"]);
    assert!(status["realtime"]["samples"].as_u64() >= Some(6), "{status}");
    for (words, why) in [
        (&["watch", "999999"][..], "there is no graph 999999"),
        (&["watch", &graph, "--step", "61"], "61 is not in 1..=60"),
        (&["watch", &graph, "--for", "long"], "long"),
    ] {
        let done = world.order(words);
        let told = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(!done.status.success() && told.contains(why), "{words:?}: {told}");
    }
}

/// Trees, a graph of many, a report and spikes, by the command line.
fn trees_reports_and_spikes(world: &World, device: &str, source: u64, file: &Path) {
    for words in [
        &["tree", "add", "Network"][..],
        &["tree", "folder", "Network/London"],
        &["tree", "place", "Network/London", "--device", device, "--group", "row"],
        &["tree", "place", "Network", "--rule", "Ports", "--devices", "dist-*", "--rows", "Gi1/2"],
        &["tree", "move", "Network/Ports", "Network", "--before", "Network/London"],
        &["tree", "rename", "Network/London", "Paris"],
        &["sum", "All of it", "dist-1", "--template", "octets"],
    ] {
        let done = world.order(words);
        assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
    }
    let listed = world.json(&["tree", "list"]);
    let names: Vec<&str> =
        listed["places"].as_array().unwrap().iter().filter_map(|place| place["name"].as_str()).collect();
    assert_eq!(names, ["Network", "Ports", "Paris", device]);
    assert!(world.order(&["tree", "remove", "Network"]).status.success());
    assert_eq!(world.order(&["tree", "rename", "Network", "x"]).status.code(), Some(1), "it is gone");
    let from_s = (now_s() - 600).to_string();
    let report = world.json(&["bandwidth", "dist-1", "Gi1/2", "--from", &from_s]);
    let octets = &report["graphs"][0]["series"][0];
    assert!(octets["p95"].as_f64() <= octets["max"].as_f64() && octets["total"].as_f64() > Some(0.0), "{report}");
    let csv = world.order(&["bandwidth", "All", "--from", &from_s, "--csv"]);
    assert!(String::from_utf8_lossy(&csv.stdout).contains(",All of it,Octets,B/s,"), "{csv:?}");

    let told = world.fetched(source, now_s() - 600);
    let (at, most) = told.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
    let (source, above) = (source.to_string(), (most * 0.999_999).to_string());
    let spikes = ["spikes", "--source", &source, "--above", &above];
    let dry = world.json(&[&spikes[..], &["--dry-run"]].concat());
    let ends = |told: &Value| told["sources"][0]["spikes"].as_array().unwrap().iter().any(|one| one["end"] == at);
    assert!(ends(&dry) && dry["sources"][0]["backup"].is_null(), "{dry}");
    assert!(rrdtool(file, at - 1, at).iter().any(|(end, _)| *end == at), "nothing was changed");
    let done = world.json(&spikes);
    assert!(ends(&done) && Path::new(done["sources"][0]["backup"].as_str().unwrap()).exists(), "{done}");
    let left = rrdtool(file, at - 1, at);
    assert!(left.iter().all(|(end, _)| *end != at), "{left:?}");
    let graph = world.json(&["device", device])["graph_list"][0]["graph"].to_string();
    assert!(world.order(&["spikes", "--graph", &graph, "--above", "1e18"]).status.success());
}

#[test]
fn net_snmps_agent_is_polled_by_version_3() {
    if !is_there("/usr/sbin/snmpd") || !is_there("/usr/bin/rrdtool") {
        return;
    }
    let (world, port) = (World::new(), free_port());
    let configuration = "sysServices 72\nrouser poller priv\n\
        createUser poller SHA-256 \"authentic words\" AES \"private words\"\n";
    let file = world.folder.path().join("agent.conf");
    std::fs::write(&file, configuration).unwrap();
    let mut agent = Command::new("/usr/sbin/snmpd");
    agent.args(["-f", "-C", "-r", "-Ln", "-c", text(&file), &format!("udp:127.0.0.1:{port}")]);
    agent.env("SNMP_PERSISTENT_DIR", world.folder.path()).env("MIBS", "").stdout(Stdio::null()).stderr(Stdio::null());
    let (_agent, serve) = (Running(agent.spawn().unwrap()), world.serve());
    let user = ["credential", "add", "core", "--user", "poller", "--authentication", "sha256", "--privacy", "aes128"];
    assert!(world.order_with(&user, "authentic words\nprivate words\n").status.success());
    let added = world.order(&["add", "host", "localhost", "--credential", "core", "--port", &port.to_string()]);
    assert!(added.status.success(), "{added:?}");
    eventually("it is looked at", || world.sources("host").iter().any(|(of, ..)| of == "lo"));
    let sources = world.sources("host");
    let (_, source, file) = sources.iter().find(|(of, ..)| of == "device").unwrap();
    let from_s = now_s();
    eventually("three seconds are known", || world.fetched(*source, from_s).len() >= 3);
    let read = rrdtool(file, from_s, now_s());
    assert!(read.len() >= 2 && read.iter().all(|(_, value)| *value == 72.0), "{read:?}");
    // Another password: it is told that it rejected the credential, and nothing is known any more.
    assert!(world.order_with(&user, "other words here\nprivate words\n").status.success());
    eventually("it is told", || world.json(&["device", "host"])["health"] != "up");
    assert_eq!(serve.end(), Some(0));
}

#[test]
fn what_cacti_has_is_taken_over_with_its_files() {
    if !is_there("/usr/bin/rrdtool") {
        return;
    }
    let world = World::new();
    let serve = world.serve();
    let rra = world.folder.path().join("rra");
    std::fs::create_dir(&rra).unwrap();
    let begun_s = now_s() / 300 * 300 - 3000;
    let file = rra.join("edge1_traffic_in_1.rrd");
    let (start, sources) = (begun_s.to_string(), ["traffic_out", "traffic_in"]);
    let mut make = Command::new("rrdtool");
    make.args(["create", text(&file), "--step", "300", "--start", &start]);
    make.args(sources.map(|name| format!("DS:{name}:COUNTER:600:0:U"))).arg("RRA:AVERAGE:0.5:1:600");
    assert!(make.status().unwrap().success());
    for at in 1..6i64 {
        let sample = format!("{}:{}:{}", begun_s + at * 300, at * 3000, at * 600);
        assert!(Command::new("rrdtool").args(["update", text(&file), &sample]).status().unwrap().success());
    }
    // Another one is none.
    std::fs::write(rra.join("edge1_traffic_in_2.rrd"), "nothing").unwrap();
    let dump = concat!(env!("CARGO_MANIFEST_DIR"), "/../graph/src/cacti/tests/old.sql");
    let done = world.order(&["import", "cacti", "--dump", dump, "--rra", text(&rra), "--json"]);
    assert_eq!(done.status.code(), Some(3), "files were refused: {}", String::from_utf8_lossy(&done.stderr));
    let told: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(told["files"].as_u64(), Some(1), "{told}");
    let refused = told["files_refused"].to_string();
    assert!(refused.contains("edge1_traffic_in_2.rrd") && refused.contains("edge1_oid_3.rrd"), "{refused}");
    let list = world.json(&["list"]);
    assert!(list["devices"].as_array().unwrap().iter().any(|device| device["name"] == "edge-1"), "{list}");
    let sources = world.sources("edge-1");
    let (_, source, _) = sources.iter().find(|(_, _, file)| file.exists()).expect("a file");
    let known = world.fetched(*source, begun_s);
    assert!(known.len() >= 4 && known[..4].iter().all(|(_, rate)| *rate == 10.0), "{known:?}");
    // The next start reads the templates that were taken over.
    assert!(matches!(serve.end(), Some(0)));
    let serve = world.serve();
    assert_eq!(world.sources("edge-1"), sources);
    assert_eq!(serve.end(), Some(0));
}

#[test]
fn graphs_beside_a_capture_run_are_told_of_and_end_with_it() {
    let Some(wire) = Wire::lay("graphs") else { return };
    let folder = wire.folder.path().display().to_string();
    let config = format!(
        "[capture]\nlanes = 1\nring = \"4 MiB\"\n[record]\nmemory = \"32 MiB\"\n[log]\nstatus-every = \"1 s\"\n\
        [metrics]\nlisten = \"unix:{folder}/metrics\"\n[graph]\nenabled = true\nown-device = false\nredo = \"1 MiB\"\n"
    );
    let mut run = wire.run("data", &config);
    let data = wire.path("data");
    let ask = |words: &[&str]| {
        let done = Command::new(PROGRAM).arg("graph").args(words).args(["--data", text(&data), "--json"]).output();
        serde_json::from_slice::<Value>(&done.unwrap().stdout).unwrap_or_default()
    };
    assert_eq!(ask(&["add", "nobody", "127.0.0.1", "--port", "9"])["device"].as_u64(), Some(1));
    wire.until("metrics tell of it", |wire| wire.metric("trunkline_graph_devices_down") == 1.0);
    run.hear("| graphs samples/s 0 dropped 0 up 0 down 1");
    assert_eq!(ask(&["status"])["devices"]["down"].as_u64(), Some(1));
    assert_eq!(run.end().0, 0);
    assert!(!data.join("graphs/control.sock").exists(), "it ends with the run");
}
