//! `trunkline charge load` against a server that answers as each test wants: every figure is compared with what that
//! server saw and did.

mod responder;

use responder::{Reply, Responder, Seen};
use serde_json::Value;
use std::process::{Command, Output, Stdio};

fn trunkline(options: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trunkline"));
    command.args(["charge", "load"]).args(options).stdin(Stdio::null());
    command.output().unwrap()
}

/// The JSON of a run that ends with this exit code.
fn load(address: &str, options: &[&str], code: i32) -> Value {
    let output = trunkline(&[&[address, "--json"], options].concat());
    let (out, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{options:?}: {out}{error}");
    serde_json::from_str(&out).unwrap()
}

/// Grants so much to each rating group.
fn grant(units: u64) -> impl FnMut(&Seen) -> Reply + Send {
    move |seen| Reply::Answer(2001, services(seen, units))
}

fn services(seen: &Seen, units: u64) -> Vec<(u32, u32, u64)> {
    let units = if seen.kind == 3 { 0 } else { units };
    seen.services.iter().map(|(group, ..)| (*group, 2001, units)).collect()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

const KINDS: [&str; 4] = ["initial", "update", "termination", "event"];

#[test]
fn closed_loop_plays_whole_sessions() {
    let server = Responder::start(grant(1000));
    let run =
        load(&server.address, &["--duration", "1", "--closed", "20", "--updates", "3", "--rating-groups", "7,8"], 0);
    let (types, sessions) = (&run["types"], &run["sessions"]);
    let stopped = number(&sessions["stopped_at_end"]);
    for (kind, name) in (1..).zip(KINDS) {
        let at_end = if kind == 3 { stopped } else { 0 };
        assert_eq!(number(&types[name]["sent"]) + at_end, server.firsts(kind), "{name}: {run}");
        assert_eq!(types[name]["sent"], types[name]["succeeded"], "{name}: {run}");
    }
    assert!(number(&types["initial"]["sent"]) > 50 && number(&sessions["held_most"]) == 20, "{run}");
    assert_eq!(number(&sessions["begun"]), number(&sessions["completed"]) + stopped, "{run}");
    assert_eq!(number(&sessions["stopped_at_end_well"]), stopped);
    // All that was granted was used, but for what the last update of a session was granted.
    let used: u64 = server.requests().iter().flat_map(|seen| &seen.services).filter_map(|service| service.1).sum();
    assert_eq!((number(&run["units"]["used_acknowledged"]), number(&run["units"]["granted"])), (used, used), "{run}");
    assert_eq!(run["watchdogs"], 2, "{run}");
}
