//! What is on the way of a call: simulated devices that know the addresses of a simulated call, of which one drops
//! packets while the call goes on, and the page of that call.
//!
//! Test group: waits: polls each second.

use crate::browser;
use crate::eventually::eventually;
use crate::ports::free_port;
use browser::Shown;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};
use trunkline_sim::farm::{Counter, Farm, Settings};

const PROGRAM: &str = env!("CARGO_BIN_EXE_trunkline");
/// Each second, so that a call of seconds is told from the seconds before it.
const TEMPLATES: &str = r#"
[data.drops]
title = "Drops of |name|"
table = "interfaces"
profile = "second"

[[data.drops.series]]
name = "errors_in"
kind = "counter"
read = ["1.3.6.1.2.1.2.2.1.14"]

[[data.drops.series]]
name = "discards_out"
kind = "counter"
read = ["1.3.6.1.2.1.2.2.1.19"]

[graph.drops]
title = "|device| - |name| - Drops"

[graph.drops.series]
out = "drops.discards_out"

[[graph.drops.item]]
value = "out"
color = "c0392b"
label = "Discards out"

[device.net-snmp]
title = "Those of the test"
matches = ["1.3.6.1.4.1.8072.3.2"]
graphs = ["drops"]
"#;
/// The devices: `core-0` with `dist-1` and `dist-2` below it, whose first interface leads up.
const DEVICES: [&str; 3] = ["core-0.farm.example", "dist-1.farm.example", "dist-2.farm.example"];
const INTERFACES: u32 = 4;
/// Packets that an interface drops each second.
const PER_S: f64 = 40.0;

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        let _ended = self.0.wait();
    }
}

fn command(data: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(words).args(["--data", data.to_str().unwrap()]).env("TZ", "UTC").stderr(Stdio::piped());
    command
}

fn run(data: &Path, words: &[&str]) -> Output {
    let done = command(data, words).output().unwrap();
    assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
    done
}

fn told(data: &Path, words: &[&str]) -> Value {
    let done = run(data, &[words, &["--json"]].concat());
    let text = String::from_utf8(done.stdout).unwrap();
    serde_json::from_str(text.lines().next().unwrap()).unwrap()
}

fn now_s() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64
}

fn seconds(time: &Value) -> i64 {
    time.as_str().unwrap().parse::<jiff::Timestamp>().unwrap().as_second()
}

/// The address of `10.0.0.1:5060`.
fn host(endpoint: &Value) -> String {
    endpoint.as_str().unwrap().rsplit_once(':').unwrap().0.to_owned()
}

/// A call of four seconds that begins then, read into a data folder.
fn call_at(folder: &Path, data: &Path, begin_s: i64) -> Value {
    let capture = folder.join("call.pcap");
    let start = format!("start_ns={begin_s}000000000");
    let plain = ["variety=0", "nat=0", "ipv6=0", "proxy=0", "background=0", "answer_ratio=1", "tcp=0", "fragments=0"];
    let times = ["duration.min_s=4", "duration.max_s=4", &start];
    let settings = plain.iter().chain(&times).flat_map(|one| ["--set", *one]);
    let mut sim = Command::new(PROGRAM);
    sim.args(["sim", "--calls", "1", "--rate", "1000", "--faults", "0", "--near-misses", "0", "-w"]).arg(&capture);
    let made = sim.args(settings).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let call = told(data, &["read", capture.to_str().unwrap()]);
    assert_eq!(call["state"], "completed", "{call}");
    call
}

/// A farm in which nothing is broken or dropped by itself: some interfaces of most farms are bad ones.
fn quiet_seed() -> u64 {
    let is_quiet = |seed: &u64| {
        let (devices, interfaces) = (DEVICES.len(), INTERFACES);
        let farm = Farm::new(Settings { seed: *seed, devices, interfaces, faults: false, ..Settings::default() });
        let begin_ms = farm.settings().begin_ms;
        let lost = |device, interface, counter| {
            farm.counter(device, interface, counter, begin_ms + 86_400_000)
                > farm.counter(device, interface, counter, begin_ms)
        };
        let is_bad = |device| {
            (0..interfaces).any(|one| [Counter::InErrors, Counter::OutDiscards].iter().any(|of| lost(device, one, *of)))
        };
        !(0..devices).any(is_bad)
    };
    (1..10_000).find(is_quiet).unwrap()
}

fn farm(port: &str, hosts: &[String], drops: &[String]) -> Running {
    let (seed, interfaces) = (quiet_seed().to_string(), INTERFACES.to_string());
    let mut farm = Command::new(PROGRAM);
    farm.args(["graph", "farm", "--devices", "3", "--interfaces", &interfaces, "--seed", &seed, "--sound"]);
    farm.args(["--port", port]);
    farm.args(hosts.iter().flat_map(|host| ["--host", host])).args(drops.iter().flat_map(|one| ["--drops", one]));
    Running(farm.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
}

/// Both devices below are behind the core, by the map; what was told of one by hand stays until that is wanted.
fn behind_the_core(data: &Path, code: impl Fn(&[&str]) -> Option<i32>) {
    let [core, first, second] = DEVICES;
    let learn = ["graph", "behind", "--learn", "--from", core];
    let behind = |device: &str| told(data, &["graph", "device", device])["behind"].clone();
    let text = |more: &[&str]| String::from_utf8(run(data, &[&learn, more].concat()).stdout).unwrap();
    let planned = text(&["--dry-run"]);
    assert!(planned.contains("devices: 2 would be set, 0 already set, 0 unchanged, 1 not"), "{planned}");
    assert_eq!(behind(first), json!([]));
    run(data, &["graph", "behind", second, first]);
    let done = text(&[]);
    assert!(done.contains("devices: 1 are set") && done.contains("not changed: use --replace"), "{done}");
    assert_eq!((behind(first), behind(second)), (json!([core]), json!([first])));
    assert_eq!(told(data, &[&learn[..], &["--replace"]].concat())["set"], 1);
    assert_eq!((behind(core), behind(second)), (json!([]), json!([core])));
    // A device of that name, one to begin at, and not both ways at once.
    assert_eq!(code(&["graph", "behind", "--learn", "--from", "nobody"]), Some(1));
    let wrong = [vec!["graph", "behind", "--learn"], vec!["graph", "behind"], [&learn[..], &[first]].concat()];
    assert!(wrong.iter().all(|words| code(words) == Some(2)));
}

#[test]
fn the_interface_that_drops_packets_while_a_call_goes_on_is_the_first_on_its_page() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    std::fs::create_dir_all(data.join("graphs/templates")).unwrap();
    std::fs::write(data.join("graphs/templates/test.toml"), TEMPLATES).unwrap();

    // The caller's side is behind dist-1, the other one behind dist-2.
    let port = free_port().to_string();
    let elsewhere = folder.path().join("elsewhere");
    let call = call_at(folder.path(), &elsewhere, now_s());
    let (src, dst) = (host(&call["src"]), host(&call["dst"]));
    let mut hosts = vec![format!("{src},1,2"), format!("{dst},2,2")];
    for stream in call["streams"].as_array().unwrap() {
        let (caller, callee) = if stream["direction"] == "caller" { (1, 2) } else { (2, 1) };
        hosts.extend([format!("{},{caller},3", host(&stream["src"])), format!("{},{callee},3", host(&stream["dst"]))]);
    }
    let farm = farm(&port, &hosts, &[]);
    let serve = ["graph", "serve"];
    let _serve = Running(command(&data, &serve).stderr(Stdio::null()).spawn().unwrap());
    let code = |words: &[&str]| command(&data, words).output().unwrap().status.code();
    eventually("graphs are served", || code(&["graph", "status"]) != Some(1));
    let mut login = command(&data, &["graph", "credential", "add", "lan"]).stdin(Stdio::piped()).spawn().unwrap();
    login.stdin.take().unwrap().write_all(b"public\n").unwrap();
    assert!(login.wait().unwrap().success());
    for (at, name) in DEVICES.iter().enumerate() {
        let address = format!("127.64.0.{}", at + 1);
        run(&data, &["graph", "add", name, &address, "--port", &port, "--credential", "lan"]);
    }
    eventually("the call's addresses are known", || {
        let near = told(&data, &["graph", "near", &src, &dst]);
        near["ways"][0]["ways"][0].as_array().is_some_and(|way| way.len() == 3)
    });
    let map = told(&data, &["graph", "map"]);
    assert_eq!((&map["links_total"], &map["strangers_total"]), (&json!(2), &json!(0)), "{map}");
    let text = String::from_utf8(run(&data, &["graph", "near", &src, &dst]).stdout).unwrap();
    assert!(
        text.contains(&format!("{src} is in its ARP table")) && text.contains("  core-0.farm.example  Gi1/2 -> Gi1/3")
    );

    behind_the_core(&data, code);

    // A call begins in a moment. In its time dist-1 drops packets at the interface to the core; before it dist-2 drops
    // many more, and so does an interface that is on no way.
    let call = call_at(folder.path(), &data, now_s() + 5);
    let (from_s, to_s) = (seconds(&call["start"]), seconds(&call["end"]) + 1);
    assert!(to_s - from_s < 12, "{call}");
    let drops = [
        format!("1,0,40,{from_s},{to_s}"),
        format!("2,0,900,{},{}", from_s - 4, from_s - 2),
        format!("1,1,700,{from_s},{to_s}"),
    ];
    drop(farm);
    let _farm = self::farm(&port, &hosts, &drops);

    let mut web = Shown::start(command(&data, &["web", "--listen", "127.0.0.1:0"]));
    let mut browser = web.browser();
    let path = format!("/calls/{}/way", call["id"].as_str().unwrap());
    // What its first seconds have lost is enough.
    let way = browser.until(&path, "what was lost is known", |way| {
        let amount = way["near"]["stops"][0]["losses"][0]["amount"].as_f64();
        amount.is_some_and(|amount| amount > PER_S * 3.0)
    });
    let stops = way["near"]["stops"].as_array().unwrap();
    let named = |stop: &Value| (stop["device_name"].clone(), stop["interface"].clone());
    assert_eq!(named(&stops[0]), (json!(DEVICES[1]), json!("Gi1/1")), "{way}");
    let loss = &stops[0]["losses"][0];
    assert_eq!((&loss["what"], &loss["unit"]), (&json!("discards out"), &json!("packets")));
    // The seconds at the borders count as a whole, and answers take a moment.
    assert!(loss["amount"].as_f64().unwrap() <= PER_S * (to_s - from_s + 2) as f64, "{loss}");
    assert_eq!(stops[0]["whys"][0], format!("between {src} and {dst}"));
    assert_eq!(stops[0]["graphs"][0]["shows"], "losses");
    let others = &stops[1..];
    assert!(others.iter().all(|stop| named(stop) != (json!(DEVICES[1]), json!("Gi1/2"))), "it is on no way: {way}");
    let before = others.iter().find(|stop| named(stop) == (json!(DEVICES[2]), json!("Gi1/1"))).unwrap();
    assert_eq!(before["losses"], json!([]), "what it dropped was before the call");
    assert!(way["parts"].as_array().unwrap().iter().any(|part| part["address"] == src.as_str()), "{way}");
    let (status, said) = web.end();
    assert_eq!(status.code(), Some(0), "{said:?}");
}
