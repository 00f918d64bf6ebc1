//! `trunkline doctor` as people and scripts meet it. What it finds is the machine's; that it tells it rightly is ours.
//!
//! Test group: waits: for a second of counters.

use crate::eventually::eventually;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

fn command(folder: &TempDir, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trunkline"));
    command.args(args).current_dir(folder.path()).stdin(Stdio::null());
    command.env_clear().env("TZ", "UTC").env("LANG", "C.UTF-8").env("COLUMNS", "100");
    command
}

fn run(folder: &TempDir, args: &[&str]) -> Output {
    command(folder, args).output().unwrap()
}

fn findings(output: &Output) -> Vec<serde_json::Value> {
    String::from_utf8_lossy(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).unwrap().next().is_none()
}

#[test]
fn tells_of_the_machine_an_interface_and_the_disk_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(&folder, &["doctor", "-i", "lo", "--seconds", "1", "--json", "--data", "not/there"]);
    let findings = findings(&output);
    let state = |check: &str| findings.iter().find(|f| f["check"] == check).map(|f| f["state"].as_str().unwrap());
    for check in ["capabilities", "kernel", "link", "traffic", "drops", "disk", "retention"] {
        assert!(state(check).is_some(), "no {check} in {findings:#?}");
    }
    assert_eq!(state("kernel"), Some("ok"));
    assert!(
        findings.iter().all(|f| f["state"] == "ok" || f["lost"].is_string() || f["fix"].is_string()),
        "{findings:#?}"
    );
    let bad = findings.iter().any(|f| f["state"] == "bad");
    assert_eq!(output.status.code(), Some(if bad { 3 } else { 0 }));
    assert!(is_empty(folder.path()));
}

#[test]
fn an_interface_that_is_not_there_is_3_and_names_those_that_are() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(&folder, &["doctor", "-i", "no-such", "--seconds", "1", "--no-disk"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(text.contains("there is none of that name; there are ") && text.contains("lo"), "{text}");
    let last = text.lines().last().unwrap();
    assert!(last.starts_with("Packets would be lost: "), "{last}");
    assert_eq!(run(&folder, &["doctor", "-i", "a/b"]).status.code(), Some(2));
    assert_eq!(run(&folder, &["doctor", "-c", "gone.toml"]).status.code(), Some(1));
}

#[test]
fn killed_while_it_measures_it_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["doctor", "-i", "no-such", "--seconds", "1", "--data", "."];
    let mut child = command(&folder, &args).stdout(Stdio::null()).spawn().unwrap();
    // Its descriptors tell when it is at it; should it be done before they do, nothing is left either.
    let descriptors = format!("/proc/{}/fd", child.id());
    let is_at_it = || {
        let links = std::fs::read_dir(&descriptors).into_iter().flatten().flatten();
        links.filter_map(|link| std::fs::read_link(link.path()).ok()).any(|file| file.starts_with(folder.path()))
    };
    eventually("it is at it, or done", || is_at_it() || child.try_wait().unwrap().is_some());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(is_empty(folder.path()));
}

#[test]
fn a_capture_of_half_a_mirror_is_3() {
    let folder = tempfile::tempdir().unwrap();
    assert!(run(&folder, &["sim", "--calls", "10", "--seed", "5", "-w", "whole.pcap"]).status.success());
    let whole = run(&folder, &["doctor", "--packets", "whole.pcap", "--json"]);
    assert_eq!((whole.status.code(), findings(&whole)[0]["state"].as_str()), (Some(0), Some("ok")));
    half(folder.path());
    let half = run(&folder, &["doctor", "--packets", "half.pcap", "--json"]);
    assert_eq!(half.status.code(), Some(3));
    let finding = &findings(&half)[0];
    assert!(finding["seen"].as_str().unwrap().starts_with("one-sided: "), "{finding}");
    assert_eq!(run(&folder, &["doctor", "--packets", "gone.pcap"]).status.code(), Some(1));
}

/// Leaves of each pair of IPv4 addresses the packets that the smaller one sent.
fn half(folder: &Path) {
    let octets = std::fs::read(folder.join("whole.pcap")).unwrap();
    let (mut half, mut at) = (octets[..24].to_vec(), 24);
    while let Some(head) = octets.get(at..at + 16) {
        let end = at + 16 + u32::from_le_bytes(head[8..12].try_into().unwrap()) as usize;
        let packet = &octets[at + 16..end];
        if packet[12..14] == [0x08, 0x00] && packet[26..30] < packet[30..34] {
            half.extend_from_slice(&octets[at..end]);
        }
        at = end;
    }
    std::fs::write(folder.join("half.pcap"), half).unwrap();
}
