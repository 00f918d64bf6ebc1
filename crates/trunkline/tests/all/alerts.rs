//! Alerts in the program: series of polled devices, calls of a capture, the program's own metrics; told by mail,
//! webhook and syslog to servers that are not ours, once, over `kill -9`.
//!
//! Test group: waits: for rules that are evaluated each second.

use crate::browser;
use crate::eventually::{PATIENCE, awaited, eventually};
use crate::ports::free_port;
use crate::wire;
use browser::Shown;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::net::UdpSocket;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use tempfile::TempDir;
use wire::{PROGRAM, Wire, calls, text, trunkline};

/// Each second, so that a test need not wait.
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

[graph.octets]
title = "|device| - |name|"

[graph.octets.series]
in = "octets.octets_in"

[[graph.octets.item]]
value = "in"
color = "3fa34d"

[device.net-snmp]
title = "Those of the test"
matches = ["1.3.6.1.4.1.8072.3.2"]
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

/// A receiver of messages, and what it is given: a line each.
struct Receives {
    _child: Running,
    lines: Receiver<Value>,
    port: u16,
}

impl Receives {
    /// None, said loudly, if Python or what it needs is not there.
    fn python(arguments: &[&str]) -> Option<Receives> {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../alert/tests/receivers.py");
        let mut command = Command::new("/usr/bin/python3");
        let child = command.arg(script).args(arguments).stdout(Stdio::piped()).spawn();
        let Ok(mut child) = child else {
            println!("SKIPPED: there is no /usr/bin/python3");
            return None;
        };
        let (to, lines) = channel();
        let stdout = child.stdout.take().unwrap();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let _gone = to.send(serde_json::from_str::<Value>(&line).unwrap());
            }
        });
        let Some(port) = lines.recv().ok().and_then(|port: Value| port.as_u64()) else {
            println!("SKIPPED: {arguments:?} has ended: is python3-aiosmtpd installed?");
            return None;
        };
        Some(Receives { _child: Running(child), lines, port: port as u16 })
    }

    fn next(&self) -> Value {
        self.lines.recv_timeout(PATIENCE).expect("it is given something")
    }
}

struct World {
    folder: TempDir,
}

impl World {
    fn new(rules: &str) -> World {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in [("graphs/templates/test.toml", TEMPLATES), ("alert/rules/test.toml", rules)] {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let world = World { folder };
        std::fs::write(world.config(), "[alert]\nenabled = true\nevery = \"1 s\"\n").unwrap();
        world
    }

    fn config(&self) -> PathBuf {
        self.folder.path().join("test.toml")
    }

    fn write_rules(&self, rules: &str) {
        std::fs::write(self.folder.path().join("alert/rules/test.toml"), rules).unwrap();
    }

    fn data(&self) -> &str {
        text(self.folder.path())
    }

    fn serve(&self) -> Running {
        let config = self.config();
        let words = ["graph", "serve", "--data", self.data(), "--config", text(&config)];
        let running = Running(Command::new(PROGRAM).args(words).stderr(Stdio::null()).spawn().unwrap());
        eventually("it serves", || self.alert(&["status"]).status.success());
        running
    }

    fn graph(&self, words: &[&str]) {
        let done = Command::new(PROGRAM).arg("graph").args(words).args(["--data", self.data()]).output().unwrap();
        assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
    }

    fn alert(&self, words: &[&str]) -> Output {
        Command::new(PROGRAM).arg("alert").args(words).args(["--data", self.data()]).output().unwrap()
    }

    /// What is told as JSON.
    fn json(&self, words: &[&str]) -> Value {
        let done = self.alert(&[words, &["--json"]].concat());
        serde_json::from_slice(&done.stdout)
            .unwrap_or_else(|_| panic!("{words:?}: {}", String::from_utf8_lossy(&done.stderr)))
    }

    /// Subjects of alerts that are not over.
    fn open(&self) -> BTreeSet<String> {
        let list = self.json(&["list"]);
        let alerts = list["alerts"].as_array().unwrap().iter();
        alerts.map(|alert| alert["subject"].as_str().unwrap().to_owned()).collect()
    }
}

fn farm(port: u16, devices: u16) -> Running {
    let (devices, port) = (devices.to_string(), port.to_string());
    let words = ["graph", "farm", "--devices", &devices, "--interfaces", "3", "--sound", "--port", &port];
    Running(Command::new(PROGRAM).args(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
}

/// A farm's interfaces carry something: each is an alert of its own, told by one mail, whenever the program is killed.
#[test]
fn a_series_beyond_its_limit_is_told_by_one_mail_over_kills() {
    let port = free_port();
    let Some(letters) = Receives::python(&["letters", &port.to_string()]) else { return };
    let world = World::new(&format!(
        "[rule.traffic]\ntitle = \"|device| |index|: |value|\"\ntemplate = \"octets\"\nvalue = \"octets_in,8,*\"\n\
        limit = 1\nunknown-after = \"1 h\"\nflaps = 0\n\
        [route.all]\nchannels = \"noc\"\ngroup = \"subject\"\nwait = \"0 s\"\ninterval = \"0 s\"\n\
        [channel.noc]\nkind = \"mail\"\nserver = \"127.0.0.1:{}\"\nsecurity = \"none\"\n\
        from = \"trunkline@example.org\"\nto = \"noc@example.org\"\n",
        letters.port
    ));
    let port = free_port();
    let _farm = farm(port, 3);
    let mut serve = world.serve();
    let mut told: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut take = |letter: Value| {
        assert_eq!((letter["to"][0].as_str(), letter["defects"].as_u64()), (Some("noc@example.org"), Some(0)));
        let subject = letter["subject"].as_str().unwrap();
        let of = subject.split(": ").find(|part| part.contains("farm.example")).unwrap_or_else(|| panic!("{subject}"));
        let of = of.trim_start_matches("[firing] ").to_owned();
        told.entry(of).or_default().insert(letter["id"].as_str().unwrap().to_owned());
    };
    for device in 1..=3 {
        let address = format!("127.64.0.{device}");
        let name = format!("{}.farm.example", ["core-0", "dist-1", "dist-2"][device - 1]);
        world.graph(&["add", &name, &address, "--port", &port.to_string()]);
        // In the midst of the messages of this device.
        take(letters.next());
        drop(serve);
        serve = world.serve();
    }
    eventually("all are alerts", || world.open().len() == 9);
    eventually("nothing waits", || world.json(&["status"])["messages_waiting"] == 0);
    while let Ok(letter) = letters.lines.try_recv() {
        take(letter);
    }
    assert_eq!(told.keys().cloned().collect::<BTreeSet<_>>(), world.open(), "each alert is told");
    assert!(told.values().all(|ids| ids.len() == 1), "{told:#?}");
    let list = world.json(&["list"]);
    let first = &list["alerts"][0];
    assert!(first["value"].as_f64() > Some(1.0) && first["labels"]["graph"].is_string(), "{first}");
    assert_eq!((first["limit"].as_f64(), first["labels"]["template"].as_str()), (Some(1.0), Some("octets")), "{first}");

    // What people do about them.
    assert_eq!(world.alert(&["list"]).status.code(), Some(3));
    let id = first["id"].as_str().unwrap();
    let end = &id[id.len() - 12..];
    let taken = world.json(&["acknowledge", end, "--by", "anna"]);
    assert_eq!(taken["alert"].as_str(), Some(id));
    let shown = String::from_utf8(world.alert(&["show", end]).stdout).unwrap();
    let first_line = shown.lines().next();
    assert_eq!(first_line, first["title"].as_str());
    for told in ["(limit 1)", "acknowledged by anna", "delivered (1 try)", "noc", "device = "] {
        assert!(shown.contains(told), "{told}: {shown}");
    }
    let nobody = world.alert(&["show", "nothing"]);
    let said = String::from_utf8_lossy(&nobody.stderr).into_owned();
    assert!(nobody.status.code() == Some(1) && said.contains("no alert 'nothing'"), "{said}");
    let silence = world.json(&["silence", "device = core-*", "--for", "1 h", "--why", "new firmware"]);
    let of_core = |alert: &&Value| alert["subject"].as_str().unwrap().starts_with("core-");
    eventually("those of the core are kept back", || {
        let list = world.json(&["list"]);
        let states = list["alerts"].as_array().unwrap().iter().filter(of_core).map(|a| a["state"].clone());
        states.clone().count() == 3 && states.into_iter().all(|state| state == "suppressed")
    });
    drop(serve);
    let serve = world.serve();
    let silences = world.json(&["silences"]);
    assert_eq!(silences["silences"][0]["why"].as_str(), Some("new firmware"), "it is there after a kill: {silences}");
    let by = world.json(&["list"]);
    let by = by["alerts"].as_array().unwrap().iter().find(|alert| alert["id"] == id).cloned().unwrap();
    assert_eq!(by["acknowledged"]["by"].as_str(), Some("anna"));
    world.json(&["unsilence", silence["silence"].as_str().unwrap()]);
    assert_eq!(world.json(&["silences"])["silences"].as_array().map(Vec::len), Some(0));

    // Another limit: all is well, which is told, and is history.
    let rules = std::fs::read_to_string(world.folder.path().join("alert/rules/test.toml")).unwrap();
    world.write_rules(&rules.replace("limit = 1\n", "limit = 1e15\n"));
    assert_eq!(world.json(&["reload"])["rules"].as_u64(), Some(1));
    eventually("all is over", || world.open().is_empty());
    assert_eq!(world.alert(&["list"]).status.code(), Some(0));
    assert_eq!(world.json(&["history"])["alerts"].as_array().map(Vec::len), Some(9));
    assert!(letters.next()["subject"].as_str().unwrap().contains("resolved"));
    // SIGHUP reads them, too.
    world.write_rules(&rules);
    let served = rustix::process::Pid::from_raw(serve.0.id() as i32).unwrap();
    let hang_up = || rustix::process::kill_process(served, rustix::process::Signal::HUP).unwrap();
    hang_up();
    eventually("they are alerts again", || world.open().len() == 9);
    // And templates, whose mistakes are told where somebody looks.
    std::fs::write(world.folder.path().join("graphs/templates/wrong.toml"), "[data.wrong]\ntitel = 3\n").unwrap();
    hang_up();
    let told = || {
        let words = ["graph", "status", "--json", "--data", world.data()];
        String::from_utf8(Command::new(PROGRAM).args(words).output().unwrap().stdout).unwrap()
    };
    eventually("what is wrong is told", || told().contains("templates not reloaded") && told().contains("titel"));
    world.write_rules("[rule.x]\nvalu = 3\n");
    assert_eq!(world.alert(&["reload"]).status.code(), Some(1));
    assert_eq!(world.json(&["status"])["rules"].as_u64(), Some(1), "those before hold");
}

/// What a rule does not watch any more is forgotten: by a reload, over a kill, and where its file was changed while
/// nobody ran. A reload leaves counters as they are.
#[test]
fn what_a_rule_watches_no_more_stays_forgotten() {
    let of = |device: &str| {
        format!("[rule.traffic]\ntemplate = \"octets\"\nvalue = \"octets_in,8,*\"\nlimit = 1\ndevice = \"{device}\"\n")
    };
    let world = World::new(&of("*"));
    let port = free_port();
    let _farm = farm(port, 2);
    let serve = world.serve();
    for (name, address) in [("core", "127.64.0.1"), ("dist", "127.64.0.2")] {
        world.graph(&["add", name, address, "--port", &port.to_string()]);
    }
    let all_of = |device: &str| world.open().iter().filter(|subject| subject.starts_with(device)).count();
    let subjects = || world.json(&["rules"])["rules"][0]["subjects"].as_u64();
    eventually("all are alerts", || all_of("core") > 0 && all_of("core") == all_of("dist") && world.open().len() == 6);
    let fired = || world.json(&["status"])["counters"]["trunkline_alert_fired_alerts_total"].as_u64();
    let list = world.json(&["list"]);
    assert!(world.alert(&["reload"]).status.success());
    assert_eq!((world.open().len(), fired()), (6, Some(6)), "nothing has changed");
    let ids = |list: &Value| -> BTreeSet<String> {
        list["alerts"].as_array().unwrap().iter().map(|alert| alert["id"].to_string()).collect()
    };
    assert_eq!(ids(&world.json(&["list"])), ids(&list));

    world.write_rules(&of("core*"));
    assert!(world.alert(&["reload"]).status.success());
    eventually("the others are forgotten", || all_of("dist") == 0 && subjects() == Some(3));
    drop(serve);
    let serve = world.serve();
    assert_eq!((subjects(), all_of("core")), (Some(3), 3), "they stay forgotten over a kill");
    drop(serve);
    world.write_rules(&of("dist*"));
    let _serve = world.serve();
    eventually("what was watched before is forgotten", || all_of("core") == 0);
    eventually("what is watched now is an alert", || all_of("dist") == 3 && subjects() == Some(3));
}

/// As somebody with a browser meets it: the pages are another process than the one that looks after alerts.
#[test]
fn an_alert_is_taken_care_of_through_the_api_over_a_kill() {
    let world = World::new(
        "[rule.seen]\ntitle = \"|device| says |value|\"\ntemplate = \"device\"\nvalue = \"up\"\ncondition = \"low\"\n\
        limit = 2\nseverity = \"critical\"\nunknown-after = \"1 h\"\n",
    );
    let port = free_port();
    let _farm = farm(port, 1);
    let serve = world.serve();
    world.graph(&["add", "edge-1", "127.64.0.1", "--port", &port.to_string()]);
    let mut command = Command::new(PROGRAM);
    command.args(["web", "--data", world.data(), "--listen", "127.0.0.1:0"]);
    let mut shown = Shown::start(command);
    let mut browser = shown.browser();
    let open = browser.until("/alerts?device=edge-1", "it is an alert", |open| open["total"] == 1);
    let alert = open["alerts"][0].clone();
    assert_eq!((&alert["title"], &alert["severity"]), (&json!("edge-1 says 1"), &json!("critical")));
    let device = browser.json(&format!("/graphs/devices/{}", alert["device_id"]));
    assert_eq!(device["name"], "edge-1", "it leads to its device");
    let id = alert["id"].as_str().unwrap();
    assert_eq!(browser.post(&format!("/alerts/{id}/acknowledge"), &json!({})).status, 204);

    drop(serve);
    assert_eq!(browser.json("/alerts/status")["serving"], false);
    assert_eq!(browser.get("/alerts").status, 404);
    let _serve = world.serve();
    let path = format!("/alerts/{id}");
    let taken = browser.json(&path);
    assert_eq!((&taken["acknowledged"]["by"], &taken["began"]), (&json!("first"), &alert["began"]));
    let what: Vec<&Value> = taken["course"].as_array().unwrap().iter().map(|step| &step["what"]).collect();
    assert_eq!(what, ["state", "acknowledged"]);
    let kept = browser.post("/alerts/maintenance", &json!({ "device": "edge-1", "for_s": 600, "why": "new firmware" }));
    assert_eq!(kept.status, 201, "{}", String::from_utf8_lossy(&kept.body));
    let kept = browser.until(&path, "it is kept back", |alert| alert["kept_back_by"] == "maintenance");
    assert_eq!((&kept["silences"][0]["by"], &kept["silences"][0]["why"]), (&json!("first"), &json!("new firmware")));
    assert_eq!(kept["course"][2]["kept_back_by"], "maintenance");
    let followed = browser.json("/alerts/rules/seen")["followed"].clone();
    assert!(followed.as_array().unwrap().iter().any(|one| one["alert"] == json!(id)), "{followed}");
    world.write_rules("[rule.seen]\nvalu = 3\n");
    let told = browser.post("/alerts/reload", &json!({})).json();
    assert!(told["mistakes"].as_array().unwrap().len() >= 2 && told["taken"] == false, "{told}");
}

/// A device behind one that is down is no alert of its own; a device that is worked at is none either.
#[test]
fn what_is_behind_a_dead_device_is_kept_back() {
    let world = World::new(
        "[rule.down]\ntemplate = \"device\"\nvalue = \"up\"\ncondition = \"low\"\nlimit = 1\ndepends = \"down\"\n\
        for = \"8 s\"\n[rule.polls]\nmetric = \"trunkline_graph_devices_down\"\nlimit = 1\n",
    );
    let _serve = world.serve();
    // Nobody answers there.
    for (device, address) in [("router", "127.0.0.1"), ("switch", "127.0.0.2"), ("worked-at", "127.0.0.3")] {
        // A device is down after two cycles without an answer, each after a time of its own: within what a rule waits
        // it is known of all.
        world.graph(&["add", device, address, "--port", &free_port().to_string(), "--step", "2"]);
    }
    world.graph(&["behind", "switch", "router"]);
    let when = ["maintenance", "worked-at", "--for", "1 h"];
    assert!(world.alert(&when).status.success());
    let metric = "trunkline_graph_devices_down".to_owned();
    let expected = BTreeSet::from(["router".to_owned(), metric]);
    eventually("the router is an alert, and so is how many are down", || world.open() == expected);
    let mut kept = BTreeMap::new();
    eventually("the others are kept back", || {
        let list = world.json(&["list"]);
        let pending = list["pending"].as_array().unwrap().iter();
        let by = |one: &Value| Some((one["subject"].as_str()?.to_owned(), one["kept_back_by"].as_str()?.to_owned()));
        kept = pending.filter_map(by).collect();
        kept.len() == 2
    });
    assert_eq!((kept["switch"].as_str(), kept["worked-at"].as_str()), ("dependency", "maintenance"));
    // Reached by itself, it is one of its own.
    world.graph(&["behind", "switch"]);
    eventually("it is an alert", || world.open().contains("switch"));
    // Gone, it is none any more.
    world.graph(&["remove", "router"]);
    eventually("it is forgotten", || !world.open().contains("router"));
}

/// A switch and its router die together, and the switch is looked at first: nobody is told of it, as the router is
/// asked at once. A switch that dies alone is told of as soon as its router has answered.
#[test]
fn a_device_is_no_alert_before_it_is_known_whether_its_router_is_dead() {
    let world = World::new(
        "[rule.down]\ntemplate = \"device\"\nvalue = \"up\"\ncondition = \"low\"\nlimit = 1\ndepends = \"down\"\n",
    );
    let _serve = world.serve();
    let agent = || {
        let port = free_port();
        (port, farm(port, 1))
    };
    let [router, switch, alone] = [(); 3].map(|()| agent());
    // A switch is asked every other second, a router every ten minutes.
    for (name, agent, step) in [("router", &router, "600"), ("switch", &switch, "2"), ("alone", &alone, "2")] {
        world.graph(&["add", name, "127.64.0.1", "--port", &agent.0.to_string(), "--step", step]);
    }
    world.graph(&["behind", "switch", "router"]);
    world.graph(&["behind", "alone", "router"]);
    let up = |name: &str| {
        let told =
            Command::new(PROGRAM).args(["graph", "device", name, "--json", "--data", world.data()]).output().unwrap();
        serde_json::from_slice::<Value>(&told.stdout).is_ok_and(|told| told["health"] == "up")
    };
    eventually("all are up", || ["router", "switch", "alone"].into_iter().all(up));
    drop(alone);
    eventually("the switch that died alone is an alert", || world.open() == BTreeSet::from(["alone".to_owned()]));
    drop((router, switch));
    let expected = BTreeSet::from(["alone".to_owned(), "router".to_owned()]);
    eventually("the router is an alert", || world.open().contains("router"));
    eventually("what is behind it is kept back", || {
        let list = world.json(&["list"]);
        let pending = list["pending"].as_array().unwrap().iter();
        pending.filter(|one| one["subject"] == "switch" && one["kept_back_by"] == "dependency").count() == 1
    });
    assert!(world.open().is_subset(&expected), "{:?}", world.open());
    let told = world.json(&["history"]);
    assert_eq!(told["alerts"].as_array().map(Vec::len), Some(0), "no alert of the switch was over soon: {told}");
}

#[test]
fn channels_are_tried_out_and_rules_checked() {
    let Some(hook) = Receives::python(&["webhook", "200", "503"]) else { return };
    let syslog = UdpSocket::bind("127.0.0.1:0").unwrap();
    syslog.set_read_timeout(Some(PATIENCE)).unwrap();
    let world = World::new(&format!(
        "[channel.hook]\nkind = \"webhook\"\nurl = \"http://127.0.0.1:{}/secret-path\"\n\
        [channel.log]\nkind = \"syslog\"\nserver = \"{}\"\n",
        hook.port,
        syslog.local_addr().unwrap()
    ));
    let nobody = world.alert(&["list"]);
    assert_eq!(nobody.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&nobody.stderr).contains("the alert job is not running for"), "{nobody:?}");
    let _serve = world.serve();
    assert_eq!(world.alert(&["test", "hook"]).status.code(), Some(0));
    assert!(hook.next()["body"].as_str().unwrap().contains("Test of the channel 'hook'"));
    let failed = world.alert(&["test", "hook"]);
    assert_eq!(failed.status.code(), Some(1), "it is tried once: {failed:?}");
    assert!(String::from_utf8_lossy(&failed.stdout).contains("given up"), "{failed:?}");
    assert_eq!(world.alert(&["test", "log"]).status.code(), Some(0));
    let mut octets = [0; 4096];
    let count = syslog.recv(&mut octets).unwrap();
    let line = String::from_utf8_lossy(&octets[..count]).into_owned();
    assert!(line.starts_with('<') && line.contains("Test of the channel 'log'"), "{line}");
    assert_eq!(world.alert(&["test", "pager"]).status.code(), Some(1));
    let channels = world.json(&["channels"]);
    assert!(!channels.to_string().contains("secret-path"), "{channels}");
    let of_hook = channels["channels"].as_array().unwrap().iter().find(|one| one["channel"] == "hook").unwrap();
    assert_eq!(of_hook["last"]["outcome"].as_str(), Some("given up"));

    let wrong = world.folder.path().join("wrong.toml");
    std::fs::write(&wrong, "[rule.x]\ntemplate = \"octets\"\nvalue = \"octets_inn\"\nlimit = 3\n").unwrap();
    let checked = world.alert(&["check", text(&wrong)]);
    let said = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(checked.status.code() == Some(2) && said.contains(":3:9:") && said.contains("octets_in'"), "{said}");
    std::fs::write(&wrong, "[rule.x]\ntemplate = \"octets\"\nvalue = \"octets_in\"\nlimit = 3\n").unwrap();
    assert_eq!(world.alert(&["check", text(&wrong)]).status.code(), Some(0));
    let device = |value: &str| format!("[rule.x]\ntemplate = \"device\"\nvalue = \"{value}\"\nlimit = 0\n");
    std::fs::write(&wrong, device("flapping")).unwrap();
    assert_eq!(world.alert(&["check", text(&wrong)]).status.code(), Some(0));
    std::fs::write(&wrong, device("flap")).unwrap();
    let checked = world.alert(&["check", text(&wrong)]);
    let said = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(checked.status.code() == Some(2) && said.contains("flapping"), "{said}");
    assert_eq!(world.alert(&["check", "/nowhere.toml"]).status.code(), Some(1));
    assert_eq!(world.alert(&["silence", "device", "--for", "1 h"]).status.code(), Some(1), "no test");
    assert_eq!(world.alert(&["silence", "device = a", "--for", "soon"]).status.code(), Some(2));
}

/// The share of calls that failed is that of the capture, for each address that they came from.
#[test]
fn a_share_of_bad_calls_of_a_replayed_capture() {
    let Some(wire) = Wire::lay("alerts") else { return };
    let world = wire.path("world.pcap");
    let short = ["--set", "duration.min_s=4", "--set", "duration.mean_s=4", "--set", "duration.max_s=5"];
    trunkline(&[&["sim", "--seed", "11", "--calls", "60", "--rate", "12", "-w", text(&world)], &short[..]].concat());
    let mut truth: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for call in calls(&trunkline(&["read", text(&world), "--json", "--no-store"])).values() {
        let from = call["src"].as_str().unwrap().rsplit_once(':').unwrap().0.to_owned();
        let counted = truth.entry(from).or_default();
        counted.0 += 1;
        counted.1 += u64::from(call["code"].as_u64() >= Some(400));
    }
    let bad: BTreeMap<String, f64> = truth
        .iter()
        .filter(|(_, (_, bad))| *bad > 0)
        .map(|(from, (all, bad))| (from.clone(), *bad as f64 * 100.0 / *all as f64))
        .collect();
    assert!(!bad.is_empty(), "{truth:?}");
    let rules = "[rule.failed]\nrows = \"calls\"\nmeasure = \"share\"\nof = \"code>=400\"\ngroup = \"src/host\"\n\
        every = \"1 s\"\nover = \"10 min\"\nlimit = 0\n\
        [rule.seen]\nmetric = \"trunkline_run_*_packets_total\"\ncondition = \"rise\"\nlimit = 1e12\nwindow = \"1 min\"\n";
    let folder = wire.path("rules");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("calls.toml"), rules).unwrap();
    let folder = text(&folder).to_owned();
    let config = format!("[capture]\nlanes = 1\n[alert]\nenabled = true\nevery = \"1 s\"\nrules = [\"{folder}\"]\n");
    let run = wire.run("data", &config);
    let data = wire.path("data");
    let ask = |words: &[&str]| {
        let done = Command::new(PROGRAM).arg("alert").args(words).args(["--data", text(&data), "--json"]).output();
        serde_json::from_slice::<Value>(&done.unwrap().stdout).unwrap_or_default()
    };
    wire.replay(&world, "1x");
    awaited("what is bad is told", || {
        let list = ask(&["list"]);
        let alerts = list["alerts"].as_array().into_iter().flatten();
        let one = |one: &Value| Some((one["subject"].as_str()?.to_owned(), one["value"].as_f64()?));
        let told: BTreeMap<_, _> = alerts.filter_map(one).collect();
        if told == bad { Ok(()) } else { Err((told, bad.clone())) }
    });
    let rules = ask(&["rules"]);
    let seen = rules["rules"].as_array().unwrap().iter().find(|rule| rule["rule"] == "seen").unwrap().clone();
    assert!(seen["subjects"].as_u64() >= Some(3), "each class and lane of the metric: {seen}");
    let (code, said) = run.end();
    assert_eq!(code, 0, "{said:#?}");
    assert!(!data.join("alert/control.sock").exists(), "it ends with the run");
}
