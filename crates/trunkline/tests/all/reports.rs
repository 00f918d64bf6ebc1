//! Reports in the program: graphs of polled devices with a day of known traffic and calls of a store, mailed to a
//! server that is not ours, read by Python, their figures compared with rrdtool's; each once, over `kill -9`.
//!
//! Test group: waits: for a schedule.

use crate::eventually::{PATIENCE, eventually};
use crate::ports::free_port;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;
use trunkline_alert::Entry;
use trunkline_alert::report::Reported;
use trunkline_commit::{Folder, Group, Log, Options};
use trunkline_kit::Id;
use trunkline_store::row::{Call, CallState, Loss, Rows};
use trunkline_store::{Access, Store};

const PROGRAM: &str = env!("CARGO_BIN_EXE_trunkline");
const SECOND_NS: i64 = 1_000_000_000;

/// A program that does not outlive the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        let _ended = self.0.wait();
    }
}

impl Running {
    /// Ends it as a service is ended: what was polled is in its files.
    fn end(mut self) {
        let pid = self.0.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        assert!(self.0.wait().unwrap().success());
    }
}

/// A mail server, and the mails that it is given.
struct Letters {
    _child: Running,
    lines: Receiver<Value>,
    port: u16,
}

impl Letters {
    /// None, said loudly, if Python or what it needs is not there.
    fn new() -> Option<Letters> {
        let port = free_port();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../alert/tests/receivers.py");
        let mut command = Command::new("/usr/bin/python3");
        let child = command.args([script, "raw", &port.to_string()]).stdout(Stdio::piped()).spawn();
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
        if lines.recv_timeout(PATIENCE).is_err() {
            println!("SKIPPED: the mail server has ended: is python3-aiosmtpd installed?");
            return None;
        }
        Some(Letters { _child: Running(child), lines, port })
    }

    /// What Python says of the next mail.
    fn next(&self) -> Value {
        read(&self.lines.recv_timeout(PATIENCE).expect("a mail comes"))
    }
}

/// A mail as Python's packages read it.
fn read(letter: &Value) -> Value {
    use base64::Engine as _;
    let octets = letter["octets"].as_str().unwrap();
    let octets = base64::engine::general_purpose::STANDARD.decode(octets).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../alert/tests/report.py");
    let mut command = Command::new("/usr/bin/python3");
    let mut child = command
        .args([script, "mail"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it was there before");
    child.stdin.take().unwrap().write_all(&octets).unwrap();
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success());
    serde_json::from_slice(&done.stdout).unwrap()
}

struct World {
    folder: TempDir,
}

impl World {
    fn new(rules: &str) -> World {
        let world = World { folder: tempfile::tempdir().unwrap() };
        let path = world.path("alert/rules/test.toml");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, rules).unwrap();
        std::fs::write(
            world.path("test.toml"),
            "[alert]\nenabled = true\nevery = \"1 s\"\n[graph]\nown-device = false\n",
        )
        .unwrap();
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self, words: &[&str]) -> Output {
        let data = self.folder.path().to_str().unwrap();
        Command::new(PROGRAM).args(words).args(["--data", data]).output().unwrap()
    }

    fn json(&self, words: &[&str]) -> Value {
        let done = self.run(&[words, &["--json"]].concat());
        serde_json::from_slice(&done.stdout)
            .unwrap_or_else(|_| panic!("{words:?}: {}", String::from_utf8_lossy(&done.stderr)))
    }

    /// Starts it; it is not waited for.
    fn start(&self) -> Running {
        let (data, config) = (self.folder.path().to_str().unwrap(), self.path("test.toml"));
        let words = ["graph", "serve", "--data", data, "--config", config.to_str().unwrap()];
        Running(Command::new(PROGRAM).args(words).stderr(Stdio::null()).spawn().unwrap())
    }

    fn serve(&self) -> Running {
        let running = self.start();
        eventually("it serves", || self.run(&["alert", "status"]).status.success());
        running
    }

    /// The log says that times of a schedule before this one are dealt with, as if it had been there then.
    fn was_there(&self, report: &str, schedule: &str, until_s: i64) {
        let options = Options { segment_octets: 8 << 20, waiting_octets: 8 << 20 };
        let folder = Folder::open(&self.path("alert")).unwrap();
        let mut log = Log::open(Arc::new(folder), options, |_| Ok(()), |_, _| Ok(())).unwrap();
        let (report, schedule) = (report.to_owned(), schedule.to_owned());
        let known = Reported { report, schedule, until_s, missed: 0, missed_s: None, last: None };
        let mut group = Group::new(&options);
        group.put(&Entry::encode(&[Entry::Reported(known)])).unwrap();
        log.commit(&mut group).unwrap();
    }
}

fn now_s() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64
}

fn rrdtool(words: &[&str]) -> String {
    let done = Command::new("rrdtool").args(words).env("TZ", "UTC").output().unwrap();
    assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

/// The round-robin files of data sources, by number.
fn files(folder: &Path) -> BTreeMap<u32, PathBuf> {
    let devices = std::fs::read_dir(folder).unwrap().flatten().filter(|entry| entry.path().is_dir());
    let inside = devices.flat_map(|device| std::fs::read_dir(device.path()).unwrap().flatten());
    let number = |path: PathBuf| Some((path.file_stem()?.to_str()?.parse().ok()?, path));
    let rrds = inside.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "rrd"));
    rrds.filter_map(number).collect()
}

/// Puts a day and a half of a counter's two series into a file, made anew by rrdtool as it was.
fn fill(path: &Path, number: u32, end_s: i64) {
    let (template, start_s) = (path.with_extension("old"), end_s - 36 * 3600);
    std::fs::rename(path, &template).unwrap();
    let (path, from) = (path.to_str().unwrap(), start_s.to_string());
    rrdtool(&["create", path, "--start", &from, "--step", "60", "--template", template.to_str().unwrap()]);
    std::fs::remove_file(&template).unwrap();
    let (mut octets_in, mut octets_out, mut updates) = (0_u64, 0_u64, Vec::new());
    for minute in 1..=36 * 60 {
        let wave = (f64::from(minute) / 229.0).sin() + 1.2;
        octets_in += (wave * 60.0 * 1000.0 * f64::from(number + 1)) as u64;
        octets_out += (wave * 60.0 * 700.0 * f64::from(number + 1)) as u64;
        // An hour in which nobody asked.
        if !(600..660).contains(&minute) {
            updates.push(format!("{}:{octets_in}:{octets_out}", start_s + i64::from(minute) * 60));
        }
    }
    for some in updates.chunks(500) {
        let words: Vec<&str> = ["update", path].into_iter().chain(some.iter().map(String::as_str)).collect();
        rrdtool(&words);
    }
}

/// Figures of a series of a file in a span, as `rrdtool graph` prints them: 95th percentile, mean, greatest, total.
fn figures(path: &Path, series: &str, (from_s, to_s): (i64, i64)) -> Vec<f64> {
    let (from, to) = (from_s.to_string(), to_s.to_string());
    let definition = format!("DEF:v={}:{series}:AVERAGE", path.display());
    let mut words =
        vec!["graph", "/dev/null", "--start", &from, "--end", &to, "--width", "4000", &definition, "CDEF:b=v,8,*"];
    let measured = ["VDEF:p=b,95,PERCENTNAN", "VDEF:t=b,TOTAL", "PRINT:p:%.12le", "PRINT:b:AVERAGE:%.12le"];
    let measured = measured.into_iter().chain(["PRINT:b:MAX:%.12le", "PRINT:t:%.12le"]);
    words.extend(measured);
    rrdtool(&words).lines().filter_map(|line| line.trim().parse().ok()).collect()
}

/// Calls with a known truth: of each hundred ten to a bad place are rejected, nine scores of a hundred are bad.
fn keep_calls(folder: &Path, end_s: i64) {
    let mut store = Store::open(&folder.join("store"), Access::Write).unwrap();
    let mut calls = Vec::new();
    for number in 0..200_i64 {
        let start_ns = (end_s - 3600 - number * 300) * SECOND_NS;
        let (is_bad, is_low) = (number % 10 == 0, number % 11 == 5);
        let dst = if number % 5 == 0 { "192.0.2.66:5060" } else { "192.0.2.10:5060" };
        calls.push(Call {
            id: Id::derive(start_ns, format!("call {number}").as_bytes()),
            sip_call_id: format!("call-{number}@example.org"),
            state: if is_bad { CallState::Rejected } else { CallState::Completed },
            code: if is_bad { 503 } else { 200 },
            start_ns,
            answer_ns: (!is_bad).then_some(start_ns + 2 * SECOND_NS),
            end_ns: Some(start_ns + if is_bad { 1 } else { 92 } * SECOND_NS),
            last_ns: start_ns + 92 * SECOND_NS,
            mos: (!is_bad).then_some(if is_low { 2.5 } else { 4.25 }),
            dst: dst.parse().unwrap(),
            ..Call::default()
        });
    }
    let at_ns = (end_s - 7200) * SECOND_NS;
    let loss = |count: u64| Loss {
        since_ns: at_ns + count as i64,
        at_ns,
        place: "ring".to_owned(),
        source: "eth0".to_owned(),
        count,
    };
    let old = Loss { since_ns: at_ns - 86_400 * SECOND_NS, ..loss(1000) };
    let rows = Rows { calls, losses: vec![loss(7), loss(5), old], ..Rows::default() };
    store.write(&rows).unwrap();
    store.commit().unwrap();
}

const SECTIONS: &str = r#"
[[report.daily.section]]
kind = "graphs"
template = "interface-bits"
limit = 3
[[report.daily.section]]
kind = "table"
template = "interface-bits"
by = "p95"
limit = 5
[[report.daily.section]]
kind = "alerts"
[[report.daily.section]]
kind = "devices"
[[report.daily.section]]
kind = "calls"
[[report.daily.section]]
kind = "losses"
[[report.daily.section]]
kind = "charges"
[[report.daily.section]]
kind = "graphs"
title = "Elsewhere"
place = "No tree/of this name"
"#;

fn mail_channel(port: u16) -> String {
    format!(
        "[channel.noc]\nkind = \"mail\"\nserver = \"127.0.0.1:{port}\"\nsecurity = \"none\"\n\
         from = \"trunkline@example.org\"\nto = \"noc@example.org\"\n"
    )
}

/// A day of two devices: pictures, and figures that are rrdtool's; calls that are those of the store.
#[test]
fn a_report_has_the_figures_of_rrdtool_and_of_the_store() {
    if Command::new("rrdtool").arg("--version").output().is_err() {
        println!("SKIPPED: there is no rrdtool");
        return;
    }
    let Some(letters) = Letters::new() else { return };
    let rules = format!(
        "[rule.down]\ntemplate = \"device\"\nvalue = \"up\"\ncondition = \"low\"\nlimit = 1\ntitle = \"|device| is down\"\n\
         [report.daily]\ntitle = \"Network of the day\"\ntext = \"For those who look after it.\"\n\
         schedule = \"daily 06:00\"\nzone = \"Europe/Berlin\"\nchannels = \"noc\"\n{SECTIONS}{}",
        mail_channel(letters.port)
    );
    let world = World::new(&rules);
    let serve = world.serve();
    let port = free_port().to_string();
    let words = ["graph", "farm", "--devices", "2", "--interfaces", "2", "--sound", "--port", &port];
    let _farm = Running(Command::new(PROGRAM).args(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    for (name, address) in [("core", "127.64.0.1"), ("edge", "127.64.0.2"), ("gone", "127.64.0.9")] {
        assert!(world.run(&["graph", "add", name, address, "--port", &port]).status.success());
    }
    eventually("one is down", || world.run(&["alert", "list"]).status.code() == Some(3));
    // A sample of each interface, so that each has a file.
    eventually("samples come", || {
        let status = world.json(&["graph", "status"]);
        let number = |value: &Value| value.as_u64().unwrap_or(0);
        // Traffic and errors of four interfaces, and for how long two devices are up.
        number(&status["devices"]["up"]) == 2 && number(&status["files"]["made"]) >= 10
    });
    serve.end();
    let end_s = now_s() / 60 * 60 - 120;
    let traffic: BTreeMap<u32, PathBuf> = files(&world.path("graphs"))
        .into_iter()
        .filter(|(_, path)| rrdtool(&["info", path.to_str().unwrap()]).contains("ds[traffic_in]"))
        .collect();
    assert_eq!(traffic.len(), 4, "{traffic:?}");
    traffic.iter().for_each(|(number, path)| fill(path, *number, end_s));
    keep_calls(world.folder.path(), end_s);

    let serve = world.serve();
    let at = end_s.to_string();
    let told = world.json(&["alert", "report", "daily", "--at", &at]);
    let of = |number: usize| &told["sections"][number]["figures"];
    assert_eq!((told["from"].as_i64(), told["to"].as_i64()), (Some(end_s - 86_400), Some(end_s)));
    let rows = of(1)["rows"].as_array().unwrap();
    assert_eq!((rows.len(), of(1)["more"].as_u64()), (5, Some(3)));
    let expected: Vec<Vec<f64>> = traffic
        .values()
        .flat_map(|path| ["traffic_in", "traffic_out"].map(|series| figures(path, series, (end_s - 86_400, end_s))))
        .collect();
    for row in rows {
        let figures: Vec<f64> = ["p95", "mean", "max", "total"].iter().map(|key| row[*key].as_f64().unwrap()).collect();
        let same = |expected: &Vec<f64>| expected.iter().zip(&figures).all(|(e, f)| (e - f).abs() <= e.abs() * 1e-9);
        assert!(expected.iter().any(same), "{row} is none of {expected:?}");
    }
    let greatest = |at: usize| rows[at]["p95"].as_f64().unwrap();
    assert!((1..rows.len()).all(|at| greatest(at - 1) >= greatest(at)));
    assert!(expected.iter().all(|e| e[0] <= greatest(0) * (1.0 + 1e-9)), "the greatest of all is first");
    assert_eq!((of(0)["graphs"].as_array().map(Vec::len), of(0)["more"].as_u64()), (Some(3), Some(1)));

    let calls = of(4);
    let count = |key: &str| calls[key].as_u64();
    assert_eq!((count("calls"), count("answered"), count("failed")), (Some(200), Some(180), Some(20)));
    assert_eq!((calls["answered_percent"].as_f64(), calls["duration_mean_s"].as_f64()), (Some(90.0), Some(90.0)));
    assert_eq!(
        (count("mos_count"), count("mos_low")),
        (Some(180), Some((0..200).filter(|n| n % 10 > 0 && n % 11 == 5).count() as u64))
    );
    let worst = &calls["destinations"][0];
    assert_eq!(
        (worst["name"].as_str(), worst["calls"].as_u64(), worst["failed"].as_u64()),
        (Some("192.0.2.66"), Some(40), Some(20))
    );
    let days = calls["days"].as_array().unwrap().iter();
    assert_eq!(days.map(|day| day["calls"].as_u64().unwrap()).sum::<u64>(), 200);
    assert_eq!(of(5)["places"], serde_json::json!([{ "place": "ring", "source": "eth0", "count": 12, "times": 2 }]));
    assert_eq!(of(6)["kinds"], serde_json::json!([]));
    let why = told["sections"][7]["missing"].as_str();
    assert_eq!(why, Some("There is no place 'No tree/of this name' in the trees of graphs."));
    assert_eq!((told["sections"][2]["missing"].as_str(), told["sections"][3]["missing"].as_str()), (None, None));

    // Sent: the same, with pictures.
    let sent = world.run(&["alert", "report", "daily", "--at", &at, "--send"]);
    assert_eq!(sent.status.code(), Some(0), "{sent:?}");
    let reports: Value = serde_json::from_slice(&world.run(&["alert", "reports", "--json"]).stdout).unwrap();
    let last = &reports["reports"].as_array().unwrap().iter().find(|one| one["report"] == "daily").unwrap()["last"];
    let outcome = last["messages"][0]["outcome"].as_str();
    assert_eq!((last["at"].as_i64().map(|at_s| at_s.to_string()), outcome), (Some(at.clone()), Some("delivered")));
    let letter = letters.next();
    assert_eq!((&letter["defects"], &letter["dots"], &letter["bare"]), (&0.into(), &0.into(), &0.into()));
    assert!(letter["subject"].as_str().unwrap().starts_with("Network of the day: "), "{}", letter["subject"]);
    let images = letter["images"].as_array().unwrap();
    assert_eq!(images.len(), 3);
    assert!(images.iter().all(|image| image["is_png"] == true && image["octets"].as_u64() > Some(3000)), "{images:?}");
    for (image, source) in images.iter().zip(letter["page"]["sources"].as_array().unwrap()) {
        let id = image["id"].as_str().unwrap().trim_matches(['<', '>']);
        assert_eq!(source[0], format!("cid:{id}"));
    }
    assert_eq!((&letter["page"]["wrong"], &letter["page"]["active"]), (&serde_json::json!([]), &0.into()));
    for text in [letter["text"].as_str().unwrap(), letter["page"]["text"].as_str().unwrap()] {
        assert!(
            text.contains("192.0.2.66")
                && text.contains("No tree/of this name")
                && (text.contains(" GB") || text.contains(" MB"))
        );
    }

    // As of now: the dead device, and what is told of it.
    let told = world.json(&["alert", "report", "daily"]);
    let alerts = &told["sections"][2]["figures"];
    assert_eq!((alerts["count"].as_u64(), alerts["alerts"][0]["title"].as_str()), (Some(1), Some("gone is down")));
    // For how long it was down is known once it was seen again, within five minutes; the others were up.
    let devices = &told["sections"][3]["figures"];
    assert_eq!((devices["kind"].as_str(), devices["count"].as_u64() >= Some(2)), (Some("devices"), true), "{told}");

    for end in ["html", "eml", "txt", "json"] {
        let path = world.path(&format!("out.{end}"));
        let words = ["alert", "report", "daily", "--at", &at, "-w", path.to_str().unwrap()];
        assert!(world.run(&words).status.success());
        assert!(std::fs::metadata(&path).unwrap().len() > 1000);
    }
    let code = |words: &[&str]| world.run(words).status.code();
    assert_eq!(code(&["alert", "report", "daily", "-w", "out.pdf"]), Some(2));
    assert_eq!(code(&["alert", "report", "dally"]), Some(1));
    assert_eq!(code(&["alert", "report", "daily", "--at", "2099-01-01"]), Some(1));
    assert_eq!(code(&["alert", "reports"]), Some(0));
    serve.end();
}

/// Three times of a schedule are due when it starts, three are too old. It is killed again and again amid it.
#[test]
fn each_time_of_a_schedule_is_one_mail_over_kills() {
    let Some(letters) = Letters::new() else { return };
    let now_s = now_s();
    let clock = |hours: i64| {
        let of_day = (now_s - hours * 3600).rem_euclid(86_400);
        format!("daily {:02}:{:02}", of_day / 3600, of_day % 3600 / 60)
    };
    let times = [clock(1), clock(2), clock(3)];
    let rules = format!(
        "[report.r]\nschedule = [\"{}\", \"{}\", \"{}\"]\nchannels = \"noc\"\n[[report.r.section]]\nkind = \"alerts\"\n{}",
        times[0],
        times[1],
        times[2],
        mail_channel(letters.port)
    );
    let world = World::new(&rules);
    world.was_there("r", &format!("{} UTC", times.join(", ")), now_s - 27 * 3600 - 1800);
    // Subjects are of a time each; a name belongs to one time for ever.
    let mut names: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut copies = 0;
    let mut take = |letter: &Value| {
        let letter = read(letter);
        assert_eq!(letter["defects"], 0);
        let text = |key: &str| letter[key].as_str().unwrap().to_owned();
        names.entry(text("subject")).or_default().insert(text("id"));
        copies += 1;
    };
    for _ in 0..3 {
        let serve = world.start();
        let letter = letters.lines.recv_timeout(PATIENCE).expect("a mail comes");
        // Whether the server's word was heard is chance.
        drop(serve);
        take(&letter);
    }
    let _serve = world.serve();
    let last = || world.json(&["alert", "reports"])["reports"][0].clone();
    eventually("all are sent", || {
        let last = last();
        let is_newest = last["last"]["at"].as_i64().is_some_and(|at_s| now_s - at_s < 2 * 3600);
        is_newest && last["last"]["messages"][0]["outcome"] == "delivered"
    });
    while let Ok(letter) = letters.lines.recv_timeout(Duration::from_millis(500)) {
        take(&letter);
    }
    assert_eq!(names.len(), 3, "one for each time: {names:#?}");
    assert!(names.values().all(|names| names.len() == 1), "a copy has the same name: {names:#?}");
    assert!(copies <= 3 + 3, "a copy for each kill at most");
    // From 27 and a half hours ago on: those of 27, 26 and 25 hours ago are too old.
    assert_eq!(last()["missed"].as_u64(), Some(3), "{}", last());
    let waiting = std::fs::read_dir(world.path("alert/reports")).unwrap().count();
    assert_eq!(waiting, 0, "nothing is kept of what was sent");
}
