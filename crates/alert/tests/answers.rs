//! What programs that show alerts are answered: the shape of it is checked in, and the web is tested with it.

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
const PATIENCE: Duration = Duration::from_secs(20);

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
        let folder = tempfile::tempdir().unwrap();
        let alerts = Arc::new(Alerts::start(&folder.path().join("alert"), rules(RULES).unwrap()).unwrap());
        let path = folder.path().join("control.sock");
        let file = folder.path().join("noc.toml");
        std::fs::write(&file, RULES).unwrap();
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

    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/answers.json");
    if std::env::var_os("UPDATE_ANSWERS").is_some() {
        std::fs::write(&path, serde_json::to_string_pretty(&answers).unwrap() + "\n").unwrap();
    }
    let known: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    for (known, told) in known.iter().zip(&answers) {
        let told = differs(&known["answer"], &told["answer"], &known["question"].to_string());
        assert!(told.is_none(), "UPDATE_ANSWERS=1 writes them anew: {told:?}");
    }
    assert_eq!(known.len(), answers.len());
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
