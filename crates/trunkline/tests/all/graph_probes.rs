//! The program probes devices without SNMP: a port, a page, a document, metrics, a program, echo, and itself. What
//! rrdtool reads in the files is what was there; what was told is there after kill -9; templates are read anew.
//!
//! Test group: waits: polls each second.

use crate::eventually::eventually;
use crate::wire;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;
use wire::{PROGRAM, text};

/// All is read each second, the program's own metrics, too.
const TEMPLATES: &str = r#"
[profile.minute]
step = "1 s"
heartbeat = "5 s"
functions = ["average", "max"]
archives = ["1 s for 1 day"]

[data.port]
source = "tcp"
port = "|argument.port|"
[[data.port.series]]
name = "up"
read = ["up"]

[data.page]
source = "http"
url = "http://|host|:|argument.web|/"
[[data.page.series]]
name = "octets"
read = ["octets"]

[data.document]
source = "json"
url = "http://|host|:|argument.web|/load.json"
[[data.document.series]]
name = "load"
read = ["/load/1"]

[data.metrics]
source = "prometheus"
url = "http://|host|:|argument.web|/metrics"
[[data.metrics.series]]
name = "level"
read = ["level{of=\"tank\"}"]

[data.counted]
source = "prometheus"
url = "http://|host|:|argument.web|/metrics"
[[data.counted.series]]
name = "requests"
kind = "dcounter"
read = ["requests_total"]
min = 0

[data.absent]
source = "prometheus"
url = "http://|host|:|argument.web|/metrics"
[[data.absent.series]]
name = "nothing"
read = ["there_is_no_such_metric"]

[data.program-run]
source = "script"
command = ["/bin/sh", "|argument.script|"]
[[data.program-run.series]]
name = "used"
read = ["used"]

[data.echo]
source = "icmp"
count = 1
[[data.echo.series]]
name = "loss"
read = ["loss"]

[graph.load]
title = "|device| - load"
[graph.load.series]
load = "document.load"
[[graph.load.item]]
value = "load"
color = "3fa34d"

[graph.nothing]
title = "|device| - nothing"
[graph.nothing.series]
nothing = "absent.nothing"
[[graph.nothing.item]]
value = "nothing"
color = "3fa34d"

[device.everything]
title = "All that is read otherwise than by SNMP"
data = ["port", "page", "metrics", "counted", "program-run", "echo"]
graphs = ["load", "nothing"]

[device.scripted]
title = "A program alone"
data = ["program-run"]
"#;
const MORE: &str = r#"
[graph.level]
title = "|device| - level"
[graph.level.series]
level = "metrics.level"
[[graph.level.item]]
value = "level"
color = "3fa34d"
"#;

/// A program that does not outlive the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        let _ended = self.0.wait();
    }
}

struct World {
    folder: TempDir,
}

impl World {
    fn new() -> World {
        let world = World { folder: tempfile::tempdir().unwrap() };
        std::fs::create_dir_all(world.templates().parent().unwrap()).unwrap();
        std::fs::write(world.templates(), TEMPLATES).unwrap();
        world
    }

    fn templates(&self) -> PathBuf {
        self.folder.path().join("graphs/templates/test.toml")
    }

    fn serve(&self) -> Running {
        let mut command = Command::new(PROGRAM);
        command.args(["graph", "serve", "--data", text(self.folder.path())]).stderr(Stdio::null());
        let running = Running(command.spawn().unwrap());
        eventually("it serves", || self.order(&["status"]).status.code() != Some(1));
        running
    }

    fn order(&self, words: &[&str]) -> Output {
        let mut command = Command::new(PROGRAM);
        command.arg("graph").args(words).args(["--data", text(self.folder.path())]).output().unwrap()
    }

    fn json(&self, words: &[&str]) -> Value {
        let done = self.order(&[words, &["--json"]].concat());
        assert!(matches!(done.status.code(), Some(0 | 3)), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
        serde_json::from_slice(&done.stdout).unwrap()
    }

    fn health(&self, device: &str) -> String {
        self.json(&["device", device])["health"].as_str().unwrap().to_owned()
    }

    fn graphs(&self, device: &str) -> Vec<String> {
        let told = self.json(&["device", device]);
        let titles = told["graph_list"].as_array().unwrap().iter();
        titles.map(|graph| graph["title"].as_str().unwrap().to_owned()).collect()
    }

    /// The number and file of a data source, by its template.
    fn source(&self, device: &str, template: &str) -> (String, PathBuf) {
        let told = self.json(&["device", device]);
        let all = told["data_sources"].as_array().unwrap();
        let found = all.iter().find(|source| source["template"] == template).unwrap_or_else(|| panic!("{told}"));
        (found["source"].to_string(), PathBuf::from(found["file"].as_str().unwrap()))
    }

    /// The known values of a data source since a time, as the program fetches them.
    fn fetched(&self, source: &str, from_s: i64) -> Vec<(i64, f64)> {
        let done = self.order(&["fetch", source, "--from", &from_s.to_string(), "--json"]);
        let Ok(told) = serde_json::from_slice::<Value>(&done.stdout) else { return Vec::new() };
        let rows = told["rows"].as_array().unwrap().iter();
        rows.filter_map(|row| Some((row[0].as_i64()?, row[1][0].as_f64()?))).collect()
    }
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap()
}

fn now_s() -> i64 {
    now().as_secs() as i64
}

/// Answers pages whose contents are known; its port.
fn web() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || listener.incoming().flatten().for_each(|stream| drop(serve_page(stream))));
    port
}

fn serve_page(mut stream: TcpStream) -> std::io::Result<()> {
    let mut request = [0; 2048];
    let length = stream.read(&mut request)?;
    let path = String::from_utf8_lossy(&request[..length]).split(' ').nth(1).unwrap_or_default().to_owned();
    let body = match path.as_str() {
        "/load.json" => r#"{"load": [7, 42.5]}"#.to_owned(),
        // Ten in a second.
        "/metrics" => {
            format!("level{{of=\"tank\"}} 12.25\nlevel{{of=\"sea\"}} 1\nrequests_total {}\n", now().as_millis() / 100)
        }
        _ => "x".repeat(1234),
    };
    write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}

/// A port that takes connections, or whose queue of them is full: then nothing is answered there.
struct Door {
    port: u16,
    is_open: Arc<AtomicBool>,
}

impl Door {
    fn new() -> Door {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        rustix::net::listen(&listener, 0).unwrap();
        let (port, is_open) = (listener.local_addr().unwrap().port(), Arc::new(AtomicBool::new(true)));
        listener.set_nonblocking(true).unwrap();
        let open = Arc::clone(&is_open);
        std::thread::spawn(move || {
            loop {
                while open.load(Ordering::Relaxed) && listener.accept().is_ok() {}
                std::thread::park_timeout(Duration::from_millis(5));
            }
        });
        Door { port, is_open }
    }
}

/// What rrdtool reads: second and value.
fn rrdtool(file: &Path, from_s: i64, to_s: i64) -> Vec<(i64, f64)> {
    let (from, to) = (from_s.to_string(), to_s.to_string());
    let words = ["fetch", text(file), "AVERAGE", "-r", "1", "-s", &from, "-e", &to];
    let done = Command::new("rrdtool").args(words).env("LC_ALL", "C").output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let row = |line: &str| {
        let (time, value) = line.split_once(": ")?;
        let value: f64 = value.split(' ').next()?.trim_start_matches('-').parse().ok()?;
        Some((time.parse().ok()?, value)).filter(|(_, value)| !value.is_nan())
    };
    String::from_utf8(done.stdout).unwrap().lines().filter_map(row).collect()
}

/// Waits for so many values, and reads them with rrdtool: these are those that the program fetches.
fn stored(world: &World, device: &str, template: &str, from_s: i64, least: usize) -> Vec<(i64, f64)> {
    let (source, file) = world.source(device, template);
    eventually(template, || world.fetched(&source, from_s).len() >= least);
    let told = world.fetched(&source, from_s);
    let read = rrdtool(&file, told[0].0 - 1, told.last().unwrap().0 - 1);
    assert_eq!(told.len(), read.len(), "{template}: {told:?} {read:?}");
    // rrdtool prints eleven digits.
    let same = told.iter().zip(&read).all(|(a, b)| a.0 == b.0 && (a.1 - b.1).abs() <= b.1.abs() * 1e-9);
    assert!(same, "{template}: {told:?} {read:?}");
    read
}

fn lines(file: &Path) -> usize {
    std::fs::read_to_string(file).unwrap_or_default().lines().count()
}

#[test]
fn all_that_is_not_snmp_is_read_and_stored() {
    if !Path::new("/usr/bin/rrdtool").exists() {
        return println!("SKIPPED: no /usr/bin/rrdtool");
    }
    let (world, web, port, door) = (World::new(), web(), TcpListener::bind("127.0.0.1:0").unwrap(), Door::new());
    let open = port.local_addr().unwrap().port();
    let at = |name: &str| world.folder.path().join(name);
    let runs = at("runs");
    for (script, says) in
        [("say.sh", "echo used:17.5 other:3".to_owned()), ("log.sh", format!("echo x >> {}; echo used:1", text(&runs)))]
    {
        std::fs::write(at(script), says).unwrap();
    }
    let (say, log) = (at("say.sh"), at("log.sh"));
    let serve = world.serve();

    // What is wrong with an order is told, and nothing is made.
    let argument = |name: &str, value: &str| format!("{name}={value}");
    let (of_web, of_port, of_door) = (format!("web={web}"), format!("port={open}"), format!("tcp:{}", door.port));
    for (words, why) in [
        (vec!["--template", "nothing"], "there is no device template 'nothing'"),
        (vec!["--template", "everything", "--argument", "colour=red"], "it has port, script, web"),
        (vec!["--probe", "snmp"], "a device without SNMP cannot be probed by it"),
        (vec!["--probe", "tcp:none"], "is none of icmp, snmp, tcp:PORT, udp:PORT"),
    ] {
        let done = world.order(&[&["add", "all", "127.0.0.1", "--no-snmp"][..], &words].concat());
        let told = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.code() == Some(1) && told.contains(why), "{words:?}: {told}");
    }
    let (of_say, of_log) = (argument("script", text(&say)), argument("script", text(&log)));
    let arguments = ["--argument", &of_web, "--argument", &of_port, "--argument", &of_say];
    let all = ["add", "all", "127.0.0.1", "--no-snmp", "--template", "everything"];
    world.json(&[&all[..], &arguments].concat());
    let held =
        ["add", "held", "127.0.0.1", "--no-snmp", "--probe", &of_door, "--template", "scripted", "--argument", &of_log];
    world.json(&held);
    let begun_s = now_s();

    // Levels are what was said, a counter what it counts.
    for (template, truth) in
        [("page", 1234.0), ("document", 42.5), ("metrics", 12.25), ("program-run", 17.5), ("port", 1.0)]
    {
        let read = stored(&world, "all", template, begun_s, 3);
        assert!(read.iter().all(|(_, value)| (value - truth).abs() < 1e-9), "{template}: {read:?}");
    }
    // rrdtool takes a part of a second that is unknown for one in which nothing came.
    let read = &stored(&world, "all", "counted", begun_s, 5)[1..];
    let mean = read.iter().map(|(_, rate)| rate).sum::<f64>() / read.len() as f64;
    assert!((mean - 10.0).abs() < 1.0, "{read:?}");
    // A name that its template does not have is told, with those that it has.
    let (of_port, _) = world.source("all", "port");
    let wrong = world.order(&["argument", &of_port, "colour=red"]);
    let said = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(wrong.status.code() == Some(1) && said.contains("no argument 'colour': it has port"), "{said}");
    let told = world.json(&["device", "all"]);
    let faults = told["faults"].to_string();
    if faults.contains("no right to ICMP echo") {
        println!("SKIPPED IN PART: {faults}");
        let troubles = world.json(&["status"])["troubles"].to_string();
        assert!(troubles.contains("ping_group_range"), "{troubles}");
    } else {
        let read = stored(&world, "all", "echo", begun_s, 3);
        assert!(read.iter().all(|(_, loss)| *loss == 0.0), "{read:?}");
        eventually("it answers echo", || world.health("all") == "up");
    }
    // What has never said anything has neither file nor graph.
    assert_eq!(world.graphs("all"), ["all - load"]);
    let (_, nothing) = world.source("all", "absent");
    assert!(!nothing.exists() && faults.contains("there_is_no_such_metric"), "{faults}");

    // A port that is shut is a reading, the device has answered.
    drop(port);
    let (source, _) = world.source("all", "port");
    eventually("the port is shut", || world.fetched(&source, begun_s).last().is_some_and(|(_, up)| *up == 0.0));

    // One that does not answer takes the device down, and its program is not run.
    eventually("it is up", || world.health("held") == "up" && lines(&runs) > 0);
    door.is_open.store(false, Ordering::Relaxed);
    eventually("it is down", || world.health("held") == "down");
    let before = lines(&runs);
    // Others are read on meanwhile.
    let others = || world.fetched(&source, begun_s).len();
    let read = others();
    eventually("others are read on", || others() >= read + 3);
    assert!(lines(&runs) <= before + 1, "{before} {}", lines(&runs));
    door.is_open.store(true, Ordering::Relaxed);
    eventually("it is up again", || world.health("held") == "up" && lines(&runs) > before + 1);

    // The program itself is a device, with graphs of what it has.
    eventually("it has graphs", || world.graphs("Trunkline").len() >= 4);
    let devices = stored(&world, "Trunkline", "program-graphs", begun_s, 2);
    assert!(!devices.is_empty() && world.health("Trunkline") == "up");

    // All mistakes are told, and what held holds; then devices follow.
    std::fs::write(world.templates(), format!("{TEMPLATES}{MORE}colour = 3\n[data.x]\nsource = \"telepathy\"\n"))
        .unwrap();
    let done = world.order(&["reload"]);
    let told = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.code() == Some(1) && told.contains("telepathy") && told.contains("colour"), "{told}");
    let more = TEMPLATES.replace("\"load\", \"nothing\"", "\"load\", \"nothing\", \"level\"") + MORE;
    std::fs::write(world.templates(), more).unwrap();
    assert_eq!(world.json(&["reload"])["changed"], true);
    assert_eq!(world.graphs("all"), ["all - load", "all - level"]);

    // Killed amid all of it, it has what was told, and goes on.
    let (source, _) = world.source("all", "document");
    let known = world.fetched(&source, begun_s);
    drop(serve);
    let serve = world.serve();
    let still = world.fetched(&source, begun_s);
    assert!(known.iter().all(|row| still.contains(row)), "{known:?} {still:?}");
    let from_s = now_s();
    let read = stored(&world, "all", "document", from_s, 3);
    // Where the start took longer than the heartbeat, a part of the first second is unknown, and round-robin files
    // count that in whole seconds: the value of that row is too low then, as with rrdtool.
    assert!(read[1..].iter().all(|(_, value)| (value - 42.5).abs() < 1e-9), "{read:?}");
    let list = world.json(&["list"]);
    let own = list["devices"].as_array().unwrap().iter().filter(|device| device["template"] == "program").count();
    assert_eq!(own, 1, "{list}");
    let attached = world.json(&["attach", "held", "tcp-port", "--argument", &format!("port={web}")]);
    assert_eq!(attached["data_sources"].as_array().map(Vec::len), Some(1), "{attached}");
    drop(serve);
}
