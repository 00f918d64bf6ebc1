//! The web beside a capture on a wire of its own: in the same process, and in one that has no rights. Needs root.
//!
//! Test group: waits: replays captures at their own pace.

use crate::browser;
use crate::eventually::awaited;
use crate::wire;
use browser::Shown;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use wire::{Wire, text};

/// Whom nothing belongs to: nobody, nogroup.
const NOBODY: u32 = 65_534;
const CONFIG: &str = "[capture]\nlanes = 2\nring = \"4 MiB\"\nuser = \"nobody\"\n\
    [record]\nmemory = \"32 MiB\"\nsegment-time = \"2 s\"\n";

/// A wire whose folder and program everybody may reach, with a data folder of nobody.
fn lay(name: &str) -> Option<(Wire, PathBuf)> {
    let wire = Wire::lay(name)?;
    let open = |path: &std::path::Path| std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    open(wire.folder.path());
    std::fs::copy(wire::PROGRAM, wire.path("trunkline")).unwrap();
    open(&wire.path("trunkline"));
    let data = wire.path("data");
    std::fs::create_dir(&data).unwrap();
    std::os::unix::fs::chown(&data, Some(NOBODY), Some(NOBODY)).unwrap();
    Some((wire, data))
}

fn as_nobody(wire: &Wire, args: &[&str]) -> Command {
    let mut command = Command::new("setpriv");
    let id = NOBODY.to_string();
    command.args(["--reuid", &id, "--regid", &id, "--clear-groups"]).arg(wire.path("trunkline")).args(args);
    command.env("TZ", "UTC").env("NO_COLOR", "1").current_dir("/");
    command
}

fn packets(system: &Value) -> u64 {
    system["live"]["packets_total"]["rtp"].as_u64().unwrap_or(0)
}

#[test]
fn a_process_without_rights_shows_a_run_and_outlives_it() {
    let Some((wire, data)) = lay("web") else { return };
    let world = wire.world("world.pcap", &["--calls", "20", "--rate", "10", "--seed", "11"]);
    let run = wire.run("data", CONFIG);
    let mut web = Shown::start(as_nobody(&wire, &["web", "--data", text(&data), "--listen", "127.0.0.1:0"]));
    let mut browser = web.browser();
    let status = std::fs::read_to_string(format!("/proc/{}/status", web.child.id())).unwrap();
    assert!(status.contains("CapEff:\t0000000000000000") && status.contains(&format!("Uid:\t{NOBODY}")), "{status}");

    let before = browser.until("/system", "the run is seen", |now| now["live"]["source"] == "live");
    assert_eq!(before["live"]["lanes"][0]["interface"], "in", "{before}");
    wire.replay(&world, "8x");
    browser.until("/system", "packets are seen", |now| packets(now) > packets(&before) + 1000);
    let (code, _) = run.end();
    assert_eq!(code, 0);
    browser.until("/system", "its end is seen", |now| now["live"].is_null());
    let calls = browser.calls("");
    assert_eq!(calls.len(), 20);
    let call = calls.iter().find(|call| call["state"] == "completed").unwrap()["id"].as_str().unwrap();
    let messages = browser.json(&format!("/calls/{call}/messages"));
    assert!(messages["messages"][0]["text"].as_str().unwrap().starts_with("INVITE "), "{messages}");
    let pcap = browser.get(&format!("/calls/{call}/pcap"));
    assert_eq!((pcap.status, pcap.body.len() > 1000), (200, true));
    let segments = browser.json("/packets/segments?from=now-1h");
    assert!(segments["segments"].as_array().unwrap().iter().any(|s| s["class"] == "rtp"), "{segments}");

    let again = wire.run("data", CONFIG);
    let now = browser.until("/system", "the next run is seen", |now| now["live"]["source"] == "live");
    assert!(packets(&now) < 1000, "its counts begin anew: {now}");
    let (code, said) = web.end();
    assert_eq!(code.code(), Some(0), "{said:?}");
    assert_eq!(again.end().0, 0);
}

#[test]
fn a_run_serves_its_pages_itself() {
    let Some((wire, _)) = lay("webrun") else { return };
    assert!(wire.within(&["ip", "link", "set", "lo", "up"]).status().unwrap().success());
    let run = wire
        .run("data", &format!("{CONFIG}[web]\nenabled = true\nlisten = \"127.0.0.1:443\"\ntls = \"self-signed\"\n"));
    let line = run.said.iter().find(|line| line.contains("/link#")).unwrap_or_else(|| panic!("{:?}", run.said));
    let token = line.trim().rsplit_once('#').unwrap().1.to_owned();
    let curl = |args: &[&str]| {
        let output = wire.within(&[&["curl", "-k", "-s", "-m", "20"], args].concat()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    awaited("it is well", || match curl(&["https://127.0.0.1/healthz"]) {
        told if told.starts_with("ok") => Ok(()),
        told => Err(told),
    });
    let looked = curl(&[
        "-H",
        "Content-Type: application/json",
        "-H",
        "Origin: https://127.0.0.1",
        "-d",
        &format!("{{\"token\":\"{token}\"}}"),
        "https://127.0.0.1/api/v1/session/link",
    ]);
    assert!(looked.contains("setup"), "{looked}");
    assert!(curl(&["https://127.0.0.1/api/v1/calls"]).contains("signed-out"));
    let (code, said) = run.end();
    assert_eq!(code, 0, "{said:?}");
}

#[test]
fn who_has_no_place_to_listen_says_so() {
    let Some((wire, data)) = lay("webtaken") else { return };
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap().to_string();
    let output = as_nobody(&wire, &["web", "--data", text(&data), "--listen", &at]).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), error.contains("is in use by another program")), (Some(1), true), "{error}");
    let first = std::fs::read_to_string("/proc/sys/net/ipv4/ip_unprivileged_port_start").unwrap_or_default();
    if first.trim() == "1024" {
        let output = as_nobody(&wire, &["web", "--data", text(&data), "--listen", "127.0.0.1:80"]).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), error.contains("need root")), (Some(1), true), "{error}");
    }
}
