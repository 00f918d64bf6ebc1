//! `trunkline charge load` against a charging node that is killed while it is loaded: what the load program was
//! answered is what the node's ledger has charged, to the octet.
//!
//! Test group: loads: offers load to a node.

use crate::gy;
use gy::Node;
use serde_json::Value;
use std::process::{Command, Stdio};
use std::time::Duration;

const KILLS: u32 = 4;
const ACCOUNTS: u64 = 200;
const BALANCE: i64 = 900_000_000_000;

#[test]
#[expect(clippy::disallowed_methods, reason = "it is killed at a time that nothing tells of")]
fn what_was_answered_is_what_was_charged() {
    let folder = tempfile::tempdir().unwrap();
    let mut node = Node::start(folder.path());
    node.fill(ACCOUNTS, BALANCE);
    let file = folder.path().join("truth.jsonl");
    let subscribers = format!("{}..{}", gy::imsi(1), gy::imsi(ACCOUNTS));
    let mut command = Command::new(env!("CARGO_BIN_EXE_trunkline"));
    command.args(["charge", "load", &node.address.to_string(), "--json", "--duration", "6", "--connections", "3"]);
    command.args(["--subscribers", &subscribers, "--subscription", "imsi", "--usage", "1-2000000"]);
    // The node keeps the last four answers of a session: copies are not further behind than that, even where it takes a
    // second to start.
    command.args(["--requests-per-second", "800", "--interval", "1s", "--duplicate-delay", "100ms"]);
    command.args(["--tries", "1000", "--tx", "60", "--duplicates", "0.3", "--ledger"]).arg(&file);
    let load = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    for _ in 0..KILLS {
        std::thread::sleep(Duration::from_millis(900));
        node.kill();
        node = Node::start(folder.path());
    }
    let output = load.wait_with_output().unwrap();
    let run: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(3), "connections were lost: {run}");
    let count = |value: &Value| value.as_u64().unwrap();
    for kind in ["initial", "update", "termination"] {
        let counts = &run["types"][kind];
        assert_eq!((count(&counts["timeouts"]), count(&counts["lost"])), (0, 0), "{kind}: {run}");
        assert!(count(&counts["succeeded"]) > 50, "{kind}: {run}");
    }
    let duplicates = &run["duplicates"];
    assert!(count(&duplicates["same"]) > 50 && count(&run["resent"]) > 0, "{run}");
    assert_eq!(count(&duplicates["different"]), 0, "{run}");
    let used = count(&run["units"]["used_acknowledged"]);
    assert_eq!((node.charged_octets(), count(&run["units"]["used_unacknowledged"])), (used, 0), "{run}");
    // The sums of the subscribers are what was charged in all.
    let text = std::fs::read_to_string(&file).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let sums: Vec<Value> = lines.filter(|line| line["total"] == true).collect();
    assert_eq!(sums.iter().map(|sum| count(&sum["acknowledged"])).sum::<u64>(), used);
    assert!(sums.len() as u64 == ACCOUNTS || count(&run["sessions"]["begun"]) < ACCOUNTS, "{run}");
    let audit = node.json(&["audit"]);
    assert_eq!(audit["differences"].as_array().map(Vec::len), Some(0), "{audit}");
}
