//! What programs that show alerts are answered: the shape of it is checked in, and the web is tested with it.
//!
//! Test group: waits: for rules that are evaluated each second.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use trunkline_alert::job::{Alerts, Control, Seen};
use trunkline_alert::rule::{Known, Rules, read};

const RULES: &str = r#"[rule.uplink]
title = "|device| |index|: |value| of |limit| bit/s"
template = "traffic"
device = "edge-*"
value = "octets_in,8,*"
limit = 900
clear = 800
severity = "critical"
depends = "uplink"

[rule.failed]
title = "|value| % of calls to |callee| fail"
rows = "calls"
measure = "share"
of = "code>=500"
group = "callee"
limit = 30

[rule.ring]
metric = "trunkline_capture_ring_fill"
limit = 0.5
for = "1 h"
severity = "info"

[maintenance.sundays]
when = "site = south"
weekly = "Sun 02:00-04:00"

[route.all]
channels = "noc"
group = ["rule", "subject"]
wait = "0 s"

[route.worst]
when = "severity = critical"
channels = "pager"
wait = "0 s"

[channel.noc]
kind = "command"
command = "/bin/true"

[channel.pager]
kind = "command"
command = ["/bin/sh", "-c", "exit 3"]
"#;
const PATIENCE: Duration = Duration::from_secs(60);

struct World {
    /// Ends before its folder does.
    _control: Control,
    alerts: Arc<Alerts>,
    folder: tempfile::TempDir,
}

fn rules(text: &str) -> Result<Rules, String> {
    let told = |mistakes: Vec<trunkline_kit::config::Mistake>| {
        let lines: Vec<String> = mistakes.iter().map(|mistake| format!("\n  {mistake}")).collect();
        format!("rules have mistakes:{}", lines.concat())
    };
    read(&[("noc.toml", text)], &Known::default()).map_err(told)
}

impl World {
    fn new() -> World {
        World::of(RULES)
    }

    fn of(text: &str) -> World {
        let folder = tempfile::tempdir().unwrap();
        let alerts = Arc::new(Alerts::start(&folder.path().join("alert"), rules(text).unwrap()).unwrap());
        let path = folder.path().join("control.sock");
        let file = folder.path().join("noc.toml");
        std::fs::write(&file, text).unwrap();
        let again = move || rules(&std::fs::read_to_string(&file).unwrap());
        let _control = Control::serve(Arc::clone(&alerts), again, &path).unwrap();
        World { _control, alerts, folder }
    }

    fn ask(&self, question: &Value) -> Value {
        let stream = UnixStream::connect(self.folder.path().join("control.sock")).unwrap();
        writeln!(&stream, "{question}").unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn see(&self, rule: &str, subject: &str, device: &str, fields: &[(&str, &str)], at_s: i64, value: f64) {
        let fields = fields.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        let (rule, subject, device) = (rule.to_owned(), subject.to_owned(), device.to_owned());
        let seen = Seen { rule, subject, device, fields, at_s, value: Some(value), samples: 1 };
        self.alerts.observe(vec![seen]).unwrap();
    }
}

fn now_s() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64
}

/// Values and identifiers are the moment's; what members there are, and of what kind, is not.
fn differs(known: &Value, told: &Value, at: &str) -> Option<String> {
    match (known, told) {
        (Value::Object(known), Value::Object(told)) => {
            let names = |object: &serde_json::Map<String, Value>| object.keys().cloned().collect::<Vec<_>>();
            if names(known) != names(told) {
                return Some(format!("{at}: {:?}, told {:?}", names(known), names(told)));
            }
            known.iter().find_map(|(name, known)| differs(known, &told[name], &format!("{at}.{name}")))
        }
        (Value::Array(known), Value::Array(told)) if known.len() == told.len() => {
            known.iter().zip(told).find_map(|(known, told)| differs(known, told, &format!("{at}[]")))
        }
        (Value::Array(_), Value::Array(_)) => Some(format!("{at}: {known}, told {told}")),
        _ => (std::mem::discriminant(known) != std::mem::discriminant(told)).then(|| format!("{at}: {known}: {told}")),
    }
}

#[test]
fn answers_are_as_they_are_checked_in() {
    let world = World::new();
    let now_s = now_s();
    let edge = [
        ("device_id", "1"),
        ("site", "north"),
        ("template", "traffic"),
        ("source", "7"),
        ("graph", "3"),
        ("index", "Gi0/1"),
    ];
    let callee = [("table", "calls"), ("callee", "+442071234567")];
    for (at_s, value) in [(now_s - 20, 950.0), (now_s - 10, 970.0)] {
        world.see("uplink", "edge-1 Gi0/1", "edge-1", &edge, at_s, value);
        world.see("failed", "+442071234567", "", &callee, at_s, 75.0);
        world.see("ring", "trunkline_capture_ring_fill", "", &[("metric", "trunkline_capture_ring_fill")], at_s, 0.75);
    }
    let all_told = |view: &trunkline_alert::job::View| view.incidents.len() == 2 && view.told.len() >= 3;
    assert!(world.alerts.wait_for(PATIENCE, all_told), "{:?}", world.alerts.view());
    let open = world.ask(&json!({ "do": "alerts" }));
    let id = open["alerts"][0]["id"].as_str().unwrap().to_owned();
    world.ask(&json!({ "do": "acknowledge", "alert": id, "by": "anna" }));
    // One that is over, and one that is kept back.
    world.see("failed", "+442071234567", "", &callee, now_s - 1, 0.0);
    assert!(world.alerts.wait_for(PATIENCE, |view| view.past.len() == 1));
    world.ask(&json!({ "do": "silence", "when": ["device = edge-1"], "for_s": 600, "by": "anna", "why": "works" }));
    let is_kept_back = |view: &trunkline_alert::job::View| {
        view.incidents.iter().any(|incident| incident.state == trunkline_alert::delivery::Kind::Suppressed)
    };
    assert!(world.alerts.wait_for(PATIENCE, is_kept_back));
    let past = world.ask(&json!({ "do": "alerts", "past": true }))["alerts"][0]["id"].clone();
    let asked = [
        json!({ "do": "summary" }),
        json!({ "do": "status" }),
        json!({ "do": "alerts" }),
        json!({ "do": "alerts", "past": true }),
        json!({ "do": "alert", "alert": id }),
        json!({ "do": "alert", "alert": past }),
        json!({ "do": "pending" }),
        json!({ "do": "silences" }),
        json!({ "do": "rules" }),
        json!({ "do": "rule", "rule": "uplink" }),
        json!({ "do": "rule", "rule": "failed" }),
        json!({ "do": "channels" }),
        json!({ "do": "check" }),
    ];
    let answers: Vec<Value> =
        asked.iter().map(|question| json!({ "question": question, "answer": world.ask(question) })).collect();
    for answer in &answers {
        assert!(answer["answer"]["error"].is_null(), "{answer}");
    }
    let course = answers[4]["answer"]["course"].as_array().unwrap();
    let what: Vec<&str> = course.iter().map(|step| step["what"].as_str().unwrap()).collect();
    assert_eq!((what[0], course[0]["state"].as_str()), ("state", Some("firing")), "{course:?}");
    assert!(what.contains(&"told") && what.contains(&"acknowledged"), "{course:?}");
    assert_eq!(course.last().unwrap()["kept_back_by"], "maintenance");
    assert_eq!(answers[4]["answer"]["silences"][0]["why"], "works", "it is told which silence that is");
    let delivered = course.iter().find(|step| step["channel"] == "noc").unwrap();
    let failed = course.iter().find(|step| step["channel"] == "pager").unwrap();
    assert_eq!((delivered["outcome"].as_str(), failed["outcome"].as_str()), (Some("delivered"), Some("failed")));
    assert!(failed["why"].as_str().is_some_and(|why| why.contains('3')), "{failed}");

    check_in(&answers, "tests/answers.json");
}

/// `UPDATE_ANSWERS=1 cargo test -p trunkline-alert --test all answers::` writes the file anew.
fn check_in(answers: &[Value], path: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("UPDATE_ANSWERS").is_some() {
        std::fs::write(&path, serde_json::to_string_pretty(answers).unwrap() + "\n").unwrap();
    }
    let known: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    for (known, told) in known.iter().zip(answers) {
        let told = differs(&known["answer"], &told["answer"], &known["question"].to_string());
        assert!(told.is_none(), "UPDATE_ANSWERS=1 writes them anew: {told:?}");
    }
    assert_eq!(known.len(), answers.len());
}

/// Rules beside [`RULES`]: alerts that are soon over, those that take an hour, and one over what is polled in all.
const MORE_RULES: &str = r#"
[rule.drops]
template = "errors"
value = "discards_out"
limit = 10

[rule.late]
template = "traffic"
value = "octets_in"
limit = 900
for = "1 h"

[rule.polled]
metric = "trunkline_graph_*"
limit = 5

[rule.polled.labels]
graph = "23"
metric = "own"
"#;

/// Two devices, of which somebody sees the first without its second interface: `crates/graph/tests/answers.json` has
/// the rules. Nothing of what they do not see is in an answer, and the web's tests answer with these.
#[test]
fn who_sees_some_devices_is_told_of_their_alerts_alone() {
    let world = World::of(&format!("{RULES}{MORE_RULES}"));
    let now_s = now_s();
    // Device, row, and the number of the graph and of its data source.
    let places = [("edge-2", "1", "Gi0/1", 0), ("edge-2", "1", "Gi0/2", 1), ("core-1", "3", "Gi0/1", 20)];
    let of = |rule: &str, (device, id, row, offset): (&str, &str, &str, u32), first: u32, at_s: i64, value: f64| {
        let number = (first + offset).to_string();
        let fields = [("device_id", id), ("graph", &number), ("source", &number), ("index", row)];
        world.see(rule, &format!("{device} {row}"), device, &fields, at_s, value);
    };
    // The rule over uplinks depends on itself: of two at one device both would be kept back.
    [places[0], places[2]].into_iter().for_each(|place| of("uplink", place, 3, now_s - 20, 950.0));
    for place in places {
        of("late", place, 3, now_s - 20, 950.0);
        of("drops", place, 5, now_s - 20, 950.0);
    }
    let callee = [("table", "calls"), ("callee", "+442071234567")];
    world.see("failed", "+442071234567", "", &callee, now_s - 20, 75.0);
    let metric = [("metric", "trunkline_graph_polls_total")];
    // Of another second, so that it has its place in lists.
    world.see("polled", "trunkline_graph_polls_total", "", &metric, now_s - 19, 75.0);
    // A number that says nothing.
    world.see("ring", "edge-2", "edge-2", &[("device_id", "none")], now_s - 20, 0.75);
    // Each was told, or tried to be, before one is kept back.
    let settled = |view: &trunkline_alert::job::View| view.incidents.len() == 7 && view.told.len() >= 9;
    assert!(world.alerts.wait_for(PATIENCE, settled), "{:?}", world.alerts.view());
    let silence = ["subject = core-1 Gi0/2, +442071234567"];
    world.ask(&json!({ "do": "silence", "when": silence, "for_s": 600, "by": "anna", "why": "core-1" }));
    for place in [places[0], places[2]] {
        of("drops", place, 5, now_s - 5, 0.0);
    }
    let settled = |view: &trunkline_alert::job::View| {
        let kept_back = |incident: &&trunkline_alert::delivery::Incident| {
            incident.state == trunkline_alert::delivery::Kind::Suppressed
        };
        view.past.len() == 2 && view.incidents.iter().filter(kept_back).count() == 1
    };
    assert!(world.alerts.wait_for(PATIENCE, settled), "{:?}", world.alerts.view());

    let named = world.ask(&json!({ "do": "named" }));
    let numbers = json!([3, 4, 5, 6, 23, 25]);
    assert_eq!(named, json!({ "devices": [1, 3], "graphs": numbers, "sources": numbers }));
    let seen = json!({ "devices": [1], "graphs": [3, 5], "sources": [3, 5] });
    let sees = |mut question: Value| {
        question["seen"] = seen.clone();
        question
    };
    let list = |question: Value| world.ask(&question)["alerts"].as_array().unwrap().clone();
    let id_of = |alerts: &[Value], subject: &str| {
        alerts.iter().find(|alert| alert["subject"] == subject).unwrap()["id"].as_str().unwrap().to_owned()
    };
    let (open, past) = (list(json!({ "do": "alerts" })), list(json!({ "do": "alerts", "past": true })));
    let own = id_of(&open.iter().filter(|a| a["rule"] == "uplink").cloned().collect::<Vec<_>>(), "edge-2 Gi0/1");
    let (rows, over) = (id_of(&open, "+442071234567"), id_of(&past, "edge-2 Gi0/1"));
    let hidden = [id_of(&open, "core-1 Gi0/1"), id_of(&open, "edge-2 Gi0/2"), id_of(&past, "core-1 Gi0/1")];
    assert_eq!(world.ask(&sees(json!({ "do": "acknowledge", "alert": own, "by": "anna" })))["alert"], json!(own));
    // A revision of what is seen stays while nothing of it changes.
    let revision = |question: Value| world.ask(&question)["revision"].clone();
    let before = [revision(json!({ "do": "summary" })), revision(sees(json!({ "do": "summary" })))];
    world.ask(&json!({ "do": "acknowledge", "alert": hidden[0], "by": "anna" }));
    assert_eq!(revision(sees(json!({ "do": "summary" }))), before[1]);
    assert_ne!(revision(json!({ "do": "summary" })), before[0]);

    let questions = [
        json!({ "do": "summary" }),
        json!({ "do": "alerts" }),
        json!({ "do": "alerts", "past": true }),
        json!({ "do": "alert", "alert": own }),
        json!({ "do": "alert", "alert": rows }),
        json!({ "do": "alert", "alert": over }),
        json!({ "do": "pending" }),
    ];
    let asked = questions.iter().cloned().chain(questions.iter().cloned().map(sees));
    let answers: Vec<Value> = [json!({ "do": "named" })]
        .into_iter()
        .chain(asked)
        .chain(hidden.iter().map(|id| json!({ "do": "alert", "alert": id })))
        .map(|question| json!({ "question": question, "answer": world.ask(&question) }))
        .collect();
    let told = |at: usize| &answers[1 + questions.len() + at]["answer"];
    for answer in &answers {
        assert!(answer["answer"]["error"].is_null(), "{answer}");
        let text = answer["answer"].to_string();
        let is_narrow = !answer["question"]["seen"].is_null();
        let names = ["core-1", "Gi0/2", "trunkline_graph"].iter().any(|hidden| text.contains(hidden));
        assert!(!is_narrow || !names, "{answer}");
    }
    let count = |of: &Value, what: &str| of[what].as_u64().unwrap();
    let counts = |of: &Value| ["open", "critical", "warning", "kept_back", "pending"].map(|what| count(of, what));
    assert_eq!((counts(&answers[1]["answer"]), counts(told(0))), ([4, 2, 2, 1, 4], [1, 1, 0, 1, 1]));
    assert_eq!((told(0)["rules_critical"][0]["alerts"].as_u64(), count(told(0), "acknowledged")), (Some(1), 1));
    assert_eq!(["total", "pending"].map(|what| count(told(1), what)), [2, 1]);
    assert_eq!(["total", "pending"].map(|what| count(told(2), what)), [1, 1]);
    assert_eq!((&told(3)["device"], &told(5)["state"]), (&json!("edge-2"), &json!("resolved")));
    // What keeps it back names others, and what a receiver said may.
    assert_eq!((&answers[5]["answer"]["silences"][0]["why"], &told(4)["silences"]), (&json!("core-1"), &json!([])));
    let whys = |of: &Value| of["course"].as_array().unwrap().iter().any(|step| step["why"].as_str() > Some(""));
    assert_eq!((whys(&answers[4]["answer"]), whys(told(3))), (true, false), "{}", answers[4]);
    assert_eq!(count(told(6), "total"), 1);

    for id in &hidden {
        let unknown = |id: &str| json!({ "error": format!("there is no alert '{id}'"), "kind": "not-found" });
        assert!(world.ask(&json!({ "do": "alert", "alert": id }))["error"].is_null());
        assert_eq!(world.ask(&sees(json!({ "do": "alert", "alert": id }))), unknown(id));
        let take = sees(json!({ "do": "acknowledge", "alert": id, "by": "eve" }));
        assert_eq!(world.ask(&take), unknown(id));
    }
    let total = |question: Value| world.ask(&sees(question))["total"].as_u64();
    assert_eq!(total(json!({ "do": "alerts", "device": "core-1" })), Some(0));
    assert_eq!(total(json!({ "do": "alerts", "text": "core" })), Some(0));
    assert_eq!(total(json!({ "do": "alerts", "offset": 1 })), Some(2));
    // Who sees nothing of devices sees what is of none; who forgets a list is told nothing.
    let nothing = json!({ "devices": [], "graphs": [], "sources": [] });
    assert_eq!(world.ask(&json!({ "do": "alerts", "seen": nothing }))["total"], 1);
    let devices_alone = json!({ "devices": [1], "graphs": [], "sources": [] });
    assert_eq!(world.ask(&json!({ "do": "alerts", "seen": devices_alone }))["total"], 1);
    for (name, wrong) in [("devices", json!(null)), ("graphs", json!("all")), ("trees", json!([]))] {
        let mut seen = nothing.clone();
        seen[name] = wrong;
        assert_eq!(world.ask(&json!({ "do": "alerts", "seen": seen }))["kind"], "bad-request");
    }
    assert_eq!(world.ask(&json!({ "do": "rules", "seen": nothing }))["kind"], "bad-request");
    check_in(&answers, "tests/answers-of-some.json");
}

#[test]
fn parts_of_lists_are_what_was_asked_for() {
    let world = World::new();
    let now_s = now_s();
    for number in 0..30 {
        let subject = format!("edge-{number} Gi0/1");
        let device = format!("edge-{number}");
        world.see("uplink", &subject, &device, &[("site", "north")], now_s - 30 + number, 950.0);
    }
    world.see("failed", "+442071234567", "", &[("table", "calls"), ("callee", "+442071234567")], now_s, 75.0);
    assert!(world.alerts.wait_for(PATIENCE, |view| view.incidents.len() == 31));
    let list = |more: Value| {
        let mut question = json!({ "do": "alerts" });
        question.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        world.ask(&question)
    };
    let first = list(json!({ "limit": 10 }));
    assert_eq!((first["total"].as_u64(), first["alerts"].as_array().map(Vec::len)), (Some(31), Some(10)));
    // The worst come first, and of them the newest.
    assert_eq!(first["alerts"][0]["device"], "edge-29");
    let last = list(json!({ "offset": 30 }));
    assert_eq!((&last["alerts"][0]["rule"], last["alerts"].as_array().map(Vec::len)), (&json!("failed"), Some(1)));
    let total = |more: Value| list(more)["total"].as_u64();
    assert_eq!(total(json!({ "severity": "warning" })), Some(1));
    assert_eq!(total(json!({ "device": "edge-7" })), Some(1));
    assert_eq!(total(json!({ "rule": "uplink", "text": "EDGE-2 bit/s" })), Some(11));
    assert_eq!(total(json!({ "text": "207123" })), Some(1));
    assert_eq!(total(json!({ "text": "207123", "names_alone": true })), Some(0), "nobody's number is asked for");
    assert_eq!(total(json!({ "acknowledged": true })), Some(0));
    assert_eq!(total(json!({ "to_s": now_s - 20 })), Some(10));
    assert_eq!(list(json!({ "limit": 501 }))["kind"], "bad-request");
    assert_eq!(list(json!({ "limt": 1 }))["kind"], "bad-request");
    assert_eq!(world.ask(&json!({ "do": "alert", "alert": "0192" }))["kind"], "not-found");

    let part = world.ask(&json!({ "do": "rule", "rule": "uplink", "limit": 20 }));
    assert_eq!((part["followed"].as_array().map(Vec::len), &part["subjects"]), (Some(20), &json!(30)));
    let rest = world.ask(&json!({ "do": "rule", "rule": "uplink", "limit": 20, "after": part["next"] }));
    assert_eq!((rest["followed"].as_array().map(Vec::len), &rest["next"]), (Some(10), &Value::Null));
    let summary = world.ask(&json!({ "do": "summary" }));
    assert_eq!((&summary["open"], &summary["critical"], &summary["warning"]), (&json!(31), &json!(30), &json!(1)));
    assert_eq!(summary["rules_critical"][0]["alerts"], 30);

    std::fs::write(world.folder.path().join("noc.toml"), "[rule.x]\nvalu = 3\n[rule.y]\nlimit = 1\n").unwrap();
    let checked = world.ask(&json!({ "do": "check" }));
    let mistakes = checked["mistakes"].as_array().unwrap();
    assert!(mistakes.len() >= 2 && mistakes[0].as_str().unwrap().starts_with("noc.toml:1:"), "{checked}");
    assert_eq!(world.ask(&json!({ "do": "reload" }))["kind"], "conflict");
    let before = summary["revision"].as_u64();
    assert!(world.ask(&json!({ "do": "summary" }))["revision"].as_u64() >= before);
}
