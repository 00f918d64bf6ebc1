//! `trunkline open` and `trunkline demo` as somebody with a browser meets them.

use crate::browser;
use crate::eventually::eventually;
use browser::Shown;
use serde_json::Value;
use std::collections::BTreeSet;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

fn trunkline(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trunkline"));
    command.args(args).current_dir(folder).env("TZ", "UTC").env("NO_COLOR", "1").env("TMPDIR", folder.join("tmp"));
    command
}

/// A folder with another for temporary files.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("tmp")).unwrap();
    folder
}

fn run(folder: &Path, args: &[&str]) -> Output {
    let output = trunkline(folder, args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

fn temporary(folder: &Path) -> usize {
    std::fs::read_dir(folder.join("tmp")).unwrap().count()
}

fn ids(calls: &[Value]) -> BTreeSet<String> {
    calls.iter().map(|call| call["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_capture_is_opened_and_another_one_dropped_onto_it() {
    let folder = folder();
    let here = folder.path();
    run(here, &["sim", "--calls", "30", "--seed", "7", "-w", "one.pcap"]);
    run(here, &["sim", "--calls", "12", "--seed", "8", "-w", "two.pcap"]);
    let listed = |file: &str, data: &str| {
        let output = run(here, &["read", file, "--data", data, "--json"]);
        let lines = String::from_utf8(output.stdout).unwrap();
        let calls: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        ids(&calls[..calls.len() - 1])
    };
    let (first, second) = (listed("one.pcap", "a"), listed("two.pcap", "b"));

    let mut shown = Shown::start(trunkline(here, &["open", "one.pcap", "--listen", "127.0.0.1:0"]));
    let mut browser = shown.browser();
    assert!(shown.said.iter().any(|line| line.contains("30 calls")), "{:?}", shown.said);
    assert_eq!(temporary(here), 1);
    assert_eq!(ids(&browser.calls("")), first);

    let id = first.first().unwrap();
    let messages = browser.json(&format!("/calls/{id}/messages"));
    let ladder = browser.json(&format!("/calls/{id}"))["ladder"]["messages"].as_array().unwrap().len();
    assert_eq!(messages["messages"].as_array().unwrap().len(), ladder);
    assert!(messages["messages"][0]["text"].as_str().unwrap().starts_with("INVITE "), "{messages}");
    let pcap = browser.get(&format!("/calls/{id}/pcap")).body;
    std::fs::write(here.join("call.pcapng"), pcap).unwrap();
    assert_eq!(listed("call.pcapng", "c"), BTreeSet::from([id.clone()]));

    let two = std::fs::read(here.join("two.pcap")).unwrap();
    let taken = browser.ask("POST", "/api/v1/captures?name=two.pcap", &two);
    assert_eq!(taken.status, 202, "{}", String::from_utf8_lossy(&taken.body));
    let upload = taken.json()["id"].as_str().unwrap().to_owned();
    let read = browser
        .until(&format!("/captures/{upload}"), "it is read", |c| c["state"] != "running" && c["state"] != "waiting");
    assert_eq!((read["state"].as_str(), read["calls"].as_u64()), (Some("done"), Some(12)), "{read}");
    assert_eq!(ids(&browser.calls("")), first.union(&second).cloned().collect());
    let id = second.first().unwrap();
    let messages = browser.json(&format!("/calls/{id}/messages"));
    assert!(messages["messages"][0]["text"].is_string(), "the dropped capture is still there: {messages}");
    assert_eq!(browser.ask("DELETE", &format!("/api/v1/captures/{upload}"), b"").status, 204);
    assert_ne!(browser.get(&format!("/calls/{id}/messages")).status, 200, "it went with its file");
    assert_eq!(ids(&browser.calls("")), first, "its calls went with it, and no others");
    let broken = browser.ask("POST", "/api/v1/captures?name=x.txt", b"this is no capture at all");
    let upload = broken.json()["id"].as_str().unwrap().to_owned();
    let refused = browser.until(&format!("/captures/{upload}"), "it is refused", |c| c["state"] == "failed");
    assert!(refused["error"].as_str().unwrap().contains("x.txt"), "{refused}");

    let (status, said) = shown.end();
    assert_eq!(status.code(), Some(0), "{said:?}");
    assert_eq!(temporary(here), 0, "its folder is removed");
}

#[test]
fn a_capture_that_was_brought_is_there_after_a_restart_and_goes_with_its_rows() {
    let folder = folder();
    let here = folder.path();
    run(here, &["sim", "--calls", "9", "--seed", "7", "-w", "one.pcap"]);
    run(here, &["sim", "--calls", "6", "--seed", "8", "-w", "two.pcap"]);
    let start = || Shown::start(trunkline(here, &["open", "one.pcap", "--data", "kept", "--listen", "127.0.0.1:0"]));
    let mut shown = start();
    let mut browser = shown.browser();
    let first = ids(&browser.calls(""));
    let mut bring = |name: &str| {
        let two = std::fs::read(here.join("two.pcap")).unwrap();
        let taken = browser.ask("POST", &format!("/api/v1/captures?name={name}"), &two);
        let upload = taken.json()["id"].as_str().unwrap().to_owned();
        browser.until(&format!("/captures/{upload}"), "it is read", |c| c["state"] == "done");
        upload
    };
    let upload = bring("two.pcap");
    let captures = here.join("kept/captures");
    std::fs::write(captures.join("nobodys.pcap"), "left by an earlier version").unwrap();
    assert_eq!(shown.end().0.code(), Some(0));
    let names = || {
        let mut names: Vec<_> = std::fs::read_dir(&captures).unwrap().map(|f| f.unwrap().file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(names(), [".two.pcap.noted", "nobodys.pcap", "two.pcap"]);

    let mut shown = start();
    let mut browser = shown.browser();
    let listed = browser.json("/captures")["captures"].clone();
    assert_eq!(listed.as_array().unwrap().len(), 1, "what nobody brought is nobody's: {listed}");
    assert_eq!((listed[0]["id"].as_str(), listed[0]["calls"].as_u64()), (Some(&*upload), Some(6)), "{listed}");
    assert!(ids(&browser.calls("")).len() == first.len() + 6);
    assert_eq!(browser.ask("DELETE", &format!("/api/v1/captures/{upload}"), b"").status, 204);
    assert_eq!(ids(&browser.calls("")), first, "its calls went with it, and no others");
    assert_eq!(names(), ["nobodys.pcap"]);
    assert_eq!(shown.end().0.code(), Some(0));
}

#[test]
fn a_small_file_of_which_much_comes_is_not_read_to_its_end() {
    let folder = folder();
    let here = folder.path();
    // pcap, little-endian, Ethernet; packets of nothing but zeros, 100 MB of them.
    let head = [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 65_535, 1].map(u32::to_le_bytes).concat();
    let record = [[1_795_132_800u32, 0, 65_000, 65_000].map(u32::to_le_bytes).concat(), vec![0; 65_000]].concat();
    std::fs::write(here.join("bomb.pcap"), [head, record.repeat(1540)].concat()).unwrap();
    assert!(Command::new("gzip").arg("-9").arg(here.join("bomb.pcap")).status().unwrap().success());
    let bomb = std::fs::read(here.join("bomb.pcap.gz")).unwrap();
    assert!(bomb.len() < 200_000, "{}", bomb.len());
    run(here, &["sim", "--calls", "3", "--seed", "7", "-w", "one.pcap"]);
    let mut shown = Shown::start(trunkline(here, &["open", "one.pcap", "--listen", "127.0.0.1:0"]));
    let mut browser = shown.browser();
    let taken = browser.ask("POST", "/api/v1/captures?name=bomb.pcap.gz", &bomb);
    let upload = taken.json()["id"].as_str().unwrap().to_owned();
    let refused = browser.until(&format!("/captures/{upload}"), "it is over", |c| c["state"] != "running");
    let error = refused["error"].as_str().unwrap_or_default();
    assert!(refused["state"] == "failed" && error.contains("bomb.pcap.gz: more comes out"), "{refused}");
    let kept = std::fs::read_dir(here.join("tmp")).unwrap().next().unwrap().unwrap().path().join("captures");
    assert_eq!(std::fs::read_dir(kept).unwrap().count(), 0, "it is not kept");
    let (status, said) = shown.end();
    assert_eq!(status.code(), Some(0), "{said:?}");
}

#[test]
fn what_cannot_be_opened_is_said() {
    let folder = folder();
    let here = folder.path();
    std::fs::write(here.join("empty.pcap"), "").unwrap();
    for (args, code, part) in [
        (&["open"][..], 2, "<FILE>"),
        (&["open", "missing.pcap"], 1, "missing.pcap: cannot be read"),
        (&["open", "tmp"], 1, "is a folder"),
        (&["open", "-"], 2, "standard input"),
        (&["open", "empty.pcap", "--listen", "127.0.0.1:0"], 1, "no packet"),
        (&["open", "empty.pcap", "--listen", "192.0.2.1:80"], 1, "no address of this machine"),
        (&["demo", "--history", "9999"], 2, "720"),
        (&["web", "--data", "missing"], 1, "the data folder missing does not exist"),
    ] {
        let output = trunkline(here, args).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {error}");
        assert!(error.contains(part), "{args:?}: no '{part}' in {error}");
    }
    assert_eq!(temporary(here), 0);
}

#[test]
fn the_demonstration_shows_what_was_planted_and_goes_on() {
    let folder = folder();
    let here = folder.path();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().to_string();
    let mut shown = Shown::start(trunkline(here, &["demo", "--history", "15", "--seed", "3", "--listen", &port]));
    shown.hear("is in use");
    let mut browser = shown.browser();
    assert_eq!(temporary(here), 1);

    let calls = browser.calls("");
    let kinds: BTreeSet<&str> = calls.iter().filter_map(|call| call["verdict_kind"].as_str()).collect();
    assert!(calls.len() > 200 && kinds.len() >= 12, "{} calls, {kinds:?}", calls.len());
    let losses = browser.json("/losses")["losses"].to_string();
    assert!(losses.contains("mirror") && losses.contains("ring"), "{losses}");
    for list in ["registrations", "events"] {
        let rows = browser.json(&format!("/{list}"));
        assert!(!rows[list].as_array().unwrap().is_empty(), "{rows}");
    }
    let call = browser.calls("state:completed and mos>1").swap_remove(0);
    let pcap = browser.get(&format!("/calls/{}/pcap", call["id"].as_str().unwrap())).body;
    assert!(pcap.len() > 10_000, "{} octets for {call}", pcap.len());
    let retention = browser.json("/packets/timeline?from=now-15m")["retention"].clone();
    assert!(retention.as_array().unwrap().iter().all(|class| class["stored_octets"].as_u64() > Some(0)), "{retention}");

    // Devices have a year of past from the first minute on, and are polled.
    let graphs = browser.json("/graphs?text=%22core-0%20-%20Gi1%22%20traffic");
    assert_eq!(graphs["total"], 5, "{graphs}");
    let id = &graphs["graphs"][0]["id"];
    for from in ["now-1d", "now-7d", "now-365d"] {
        let seen = browser.json(&format!("/graphs/pictures?ids={id}&from={from}&width=100"));
        let values = seen["pictures"][0]["picture"]["series"][0]["values"].as_array().unwrap();
        let known = values.iter().filter(|value| value.as_f64() > Some(0.0)).count();
        // Rows are as long as an archive has them; the last one goes on.
        assert!(values.len() >= 60 && known + 2 >= values.len(), "{from}: {known} of {}", values.len());
    }
    browser.until("/graphs/devices?state=up&limit=50", "devices answer", |up| up["total"].as_u64() >= Some(15));
    let nodes = browser.json("/graphs/trees")["trees"][0]["nodes"].clone();
    assert_eq!(nodes[0]["name"], "Core and routers", "{nodes}");
    let data = std::fs::read_dir(here.join("tmp")).unwrap().next().unwrap().unwrap().path();
    let rules = run(here, &["alert", "rules", "--json", "--data", data.to_str().unwrap()]);
    assert!(String::from_utf8_lossy(&rules.stdout).contains("router-down"), "{rules:?}");

    let before = browser.json("/system")["live"].clone();
    assert_eq!((before["source"].as_str(), before["lanes"].as_array().map(Vec::len)), (Some("demo"), Some(2)));
    let packets = |live: &Value| live["packets_total"]["rtp"].as_u64().unwrap();
    let after = browser.until("/system", "it goes on", |now| packets(&now["live"]) > packets(&before) + 1000);
    assert!(after["live"]["calls_up"].as_u64().unwrap() > 3, "{after}");
    let ended = calls.len();
    eventually("a call ends", || browser.calls("").len() > ended);

    let (status, said) = shown.end();
    assert_eq!(status.code(), Some(0), "{said:?}");
    assert_eq!(temporary(here), 0, "its folder is removed");
}
