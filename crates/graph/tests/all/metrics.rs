//! Prometheus's own client library reads what we read, and writes what we read as it does.

use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Stdio};
use trunkline_graph::probe::prometheus::{Line, Lines};

/// Reads texts, a JSON list of them, and tells for each its metrics, or null where it refuses it.
const READER: &str = r"
import json, math, sys
from prometheus_client.parser import text_string_to_metric_families
def shown(v):
    return 'NaN' if math.isnan(v) else v.hex() if not math.isinf(v) else str(v)
def read(text):
    try:
        return [[s.name, sorted(s.labels.items()), shown(s.value), s.timestamp]
                for f in text_string_to_metric_families(text) for s in f.samples]
    except Exception:
        return None
json.dump([read(t) for t in json.load(sys.stdin)], sys.stdout)
";

/// Makes metrics of all kinds, with all sorts of labels.
const WRITER: &str = r"
from prometheus_client import *
from prometheus_client.core import CollectorRegistry
import sys
r = CollectorRegistry()
c = Counter('requests_total', 'All \\ of\nthem', ['code', 'path'], registry=r)
c.labels('200', '/a b,{}').inc(5)
c.labels('500', 'C:\\x\\new\n\x22q\x22').inc(2.5)
h = Histogram('took_seconds', 'It took', registry=r)
for n in range(100): h.observe(n / 10)
g = Gauge('level', 'Level', ['\u0061\u0062'], registry=r)
g.labels('caf\u00e9 \U0001f600').set(float('nan')); g.labels('b').set(float('-inf')); g.labels('c').set(-1e-300)
s = Summary('size', 'Size', registry=r); s.observe(3)
Info('build', 'Build', registry=r).info({'version': '1.2.3'})
sys.stdout.write(generate_latest(r).decode())
";

fn python(program: &str, input: &str) -> Option<String> {
    use std::io::Write;
    let python = Path::new("/usr/bin/python3");
    if !python.exists() || !Path::new("/usr/share/doc/python3-prometheus-client").exists() {
        eprintln!("SKIPPED: there is no python3-prometheus-client");
        return None;
    }
    let mut command = Command::new(python);
    command.args(["-c", program]).env("PYTHONIOENCODING", "utf-8").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    Some(String::from_utf8(output.stdout).unwrap())
}

/// What it makes of each text.
fn theirs(texts: &[String]) -> Option<Vec<Value>> {
    let read = python(READER, &json!(texts).to_string())?;
    Some(serde_json::from_str::<Vec<Value>>(&read).unwrap())
}

/// As python writes a number: exactly.
fn shown(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "inf".to_owned() } else { "-inf".to_owned() };
    }
    let (bits, sign) = (number.to_bits(), if number.is_sign_negative() { "-" } else { "" });
    let (exponent, fraction) = ((bits >> 52 & 0x7ff) as i64, bits & ((1 << 52) - 1));
    match exponent {
        0 if fraction == 0 => format!("{sign}0x0.0p+0"),
        0 => format!("{sign}0x0.{fraction:013x}p-1022"),
        _ => format!("{sign}0x1.{fraction:013x}p{:+}", exponent - 1023),
    }
}

/// What we make of a text; null where a line is malformed.
fn ours(text: &str) -> Value {
    let mut all = Vec::new();
    for line in Lines::new(text.as_bytes()) {
        match line {
            Ok(Line::Metric(metric)) => {
                let mut labels: Vec<(String, String)> =
                    metric.labels.iter().map(|(name, value)| (name.to_owned(), value.into_owned())).collect();
                labels.sort();
                let time = metric.unix_ms.map(|unix_ms| unix_ms as f64 / 1000.0);
                all.push(json!([metric.name, labels, shown(metric.value.real()), time]));
            }
            Ok(_) => {}
            Err(_) => return Value::Null,
        }
    }
    Value::Array(all)
}

fn sorted(value: &Value) -> Vec<String> {
    let mut lines: Vec<String> = value.as_array().into_iter().flatten().map(Value::to_string).collect();
    lines.sort();
    lines
}

#[test]
fn what_the_client_library_writes_is_read_as_it_reads_it() {
    let Some(text) = python(WRITER, "") else { return };
    let Some(theirs) = theirs(std::slice::from_ref(&text)) else { return };
    assert!(sorted(&theirs[0]).len() >= 25, "{text}");
    assert_eq!(sorted(&ours(&text)), sorted(&theirs[0]), "{text}");
}

/// Texts by chance: right ones, with blanks, escapes, times and comments.
fn text() -> impl proptest::strategy::Strategy<Value = String> {
    use proptest::prelude::*;
    let value = prop_oneof![
        any::<u64>().prop_map(|n| n.to_string()),
        any::<f64>().prop_map(|n| if n.is_nan() { "NaN".to_owned() } else { format!("{n:e}") }),
        Just("+Inf".to_owned()),
        Just("-Inf".to_owned()),
        Just("-1.5".to_owned()),
    ];
    let label = ("[a-zA-Z_][a-zA-Z0-9_]{0,6}", r#"([a-z ,{}=#é]|\\\\|\\"|\\n){0,8}"#);
    let labels = proptest::collection::btree_map(label.0, label.1, 0..4).prop_map(|labels| {
        labels.iter().map(|(name, value)| format!("{name}=\"{value}\"")).collect::<Vec<_>>().join(",")
    });
    let time = proptest::option::of(-4_000_000_000_000i64..4_000_000_000_000);
    let line = ("[a-zA-Z_:][a-zA-Z0-9_:]{0,8}", labels, value, time).prop_map(|(name, labels, value, time)| {
        let labels = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
        let time = time.map_or(String::new(), |time| format!(" {time}"));
        format!("{name}{labels} {value}{time}\n")
    });
    let other = prop_oneof![Just("# a comment\n".to_owned()), Just("\n".to_owned())];
    proptest::collection::vec(prop_oneof![9 => line, 1 => other], 0..8).prop_map(|lines| lines.concat())
}

#[test]
fn texts_by_chance_are_read_as_the_client_library_reads_them() {
    use proptest::strategy::{Strategy, ValueTree};
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let texts: Vec<String> = (0..2000).map(|_| text().new_tree(&mut runner).unwrap().current()).collect();
    let Some(theirs) = theirs(&texts) else { return };
    let mut metrics = 0;
    for (text, theirs) in texts.iter().zip(&theirs) {
        assert!(!theirs.is_null(), "{text}");
        assert_eq!(sorted(&ours(text)), sorted(theirs), "{text}");
        metrics += sorted(theirs).len();
    }
    assert!(metrics > 4000, "{metrics}");
}
