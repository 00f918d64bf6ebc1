//! The built program as people and scripts meet it: exit codes, messages, pipes.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// A folder with a simulated capture that was read into a store.
struct Desk {
    folder: TempDir,
}

impl Desk {
    fn empty() -> Self {
        Desk { folder: tempfile::tempdir().unwrap() }
    }

    /// 30 calls of the demo world, read.
    fn with_calls() -> Self {
        let desk = Desk::empty();
        assert_code(
            &desk.run(&["sim", "--calls", "30", "--seed", "7", "-w", "world.pcap", "--truth", "truth.jsonl"]),
            0,
        );
        assert_code(&desk.run(&["read", "world.pcap"]), 0);
        desk
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trunkline"));
        command.args(args).current_dir(self.folder.path()).stdin(Stdio::null());
        command.env_clear().env("TZ", "UTC").env("LANG", "C.UTF-8").env("COLUMNS", "100");
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

fn text(octets: &[u8]) -> String {
    String::from_utf8(octets.to_vec()).unwrap()
}

fn assert_code(output: &Output, code: i32) {
    let (out, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "\n{out}\n{error}");
}

fn fails(desk: &Desk, args: &[&str], code: i32, says: &[&str]) {
    let output = desk.run(args);
    assert_code(&output, code);
    let error = text(&output.stderr);
    for part in says {
        assert!(error.contains(part), "{args:?}: no '{part}' in\n{error}");
    }
}

fn packets_of(path: &Path) -> usize {
    let octets = std::fs::read(path).unwrap();
    let (mut at, mut packets) = (24, 0);
    while let Some(record) = octets.get(at..at + 16) {
        at += 16 + u32::from_le_bytes(record[8..12].try_into().unwrap()) as usize;
        packets += 1;
    }
    packets
}

#[test]
fn wrong_usage_is_2_and_says_what_was_expected() {
    let desk = Desk::empty();
    fails(&desk, &[], 2, &["Usage"]);
    fails(&desk, &["raed", "x.pcap"], 2, &["read"]);
    fails(&desk, &["read"], 2, &["FILE"]);
    fails(&desk, &["calls", "calee:1001"], 2, &["trunkline: ", "\n  calee:1001\n  ^^^^^", "callee"]);
    fails(&desk, &["calls", "--from", "tomorrow"], 2, &["--from", "2026-11-20T10:00"]);
    fails(&desk, &["calls", "--from", "2026-01-02", "--to", "2026-01-01"], 2, &["--from must be before --to"]);
    fails(&desk, &["help", "nothing"], 2, &["filter"]);
    fails(&desk, &["sim", "--set", "impairments.los=1", "-w", "x.pcap"], 2, &["loss_max"]);
    fails(&desk, &["sim", "--faults", "7", "-w", "x.pcap"], 2, &["faults"]);
}

#[test]
fn no_store_is_1_and_says_how_to_make_one() {
    let desk = Desk::empty();
    for command in ["calls", "registrations", "events", "streams"] {
        fails(&desk, &[command], 1, &["no store in ./trunkline-data", "trunkline read FILE"]);
    }
    fails(&desk, &["call", "0199"], 1, &["no store"]);
    fails(&desk, &["sql", "SELECT 1", "--data", "else where"], 1, &["--data 'else where'"]);
    assert!(!desk.path("trunkline-data").exists(), "a question made a folder");
}

#[test]
fn help_man_and_completions_come_from_one_definition() {
    let desk = Desk::empty();
    for args in
        [&["--help"][..], &["help"], &["help", "read"], &["help", "filter"], &["--version"], &["sim", "--settings"]]
    {
        let output = desk.run(args);
        assert_code(&output, 0);
        assert!(!output.stdout.is_empty(), "{args:?}");
    }
    assert_code(&desk.run(&["man", "pages/man1"]), 0);
    for page in ["trunkline.1", "trunkline-read.1", "trunkline-call.1"] {
        assert!(text(&std::fs::read(desk.path("pages/man1").join(page)).unwrap()).contains(".TH"), "{page}");
    }
    for shell in ["bash", "zsh", "fish"] {
        let output = desk.run(&["completions", shell]);
        assert_code(&output, 0);
        assert!(text(&output.stdout).contains("registrations"), "{shell}");
    }
}

#[test]
fn a_file_that_is_not_there_or_broken_is_3_with_one_clear_line() {
    let desk = Desk::empty();
    std::fs::write(desk.path("text.pcap"), "this is no capture, whatever its name says\n").unwrap();
    let output = desk.run(&["read", "--no-store", "text.pcap", "gone.pcap"]);
    assert_code(&output, 3);
    let report = text(&output.stdout);
    for file in ["text.pcap", "gone.pcap"] {
        assert!(
            report
                .lines()
                .any(|line| line.contains(file) && line.contains("not a capture") || line.contains("annot be read")),
            "{report}"
        );
    }
    assert!(!report.contains("Why there are no calls"), "the broken files are the answer\n{report}");
}

#[test]
fn nothing_that_could_be_opened_is_1_and_makes_no_store() {
    let desk = Desk::empty();
    std::fs::create_dir(desk.path("captures")).unwrap();
    fails(&desk, &["read", "gone.pcap"], 1, &["gone.pcap: cannot be read: No such file"]);
    fails(&desk, &["read", "captures"], 1, &["captures: is a folder", "*.pcap"]);
    assert!(!desk.path("trunkline-data").exists());
}

#[test]
fn who_misses_a_name_in_sql_is_told_where_the_names_are() {
    let desk = Desk::with_calls();
    fails(&desk, &["sql", "SELECT mos_min FROM calls"], 2, &["mos_min", "SELECT * FROM calls LIMIT 1"]);
    fails(&desk, &["sql", "SELECT * FROM cdr"], 2, &["cdr", "Tables: calls, streams"]);
}

#[test]
fn reads_searches_and_shows() {
    let desk = Desk::with_calls();
    let table = text(&desk.run(&["calls", "--limit", "100"]).stdout);
    assert!(table.contains("30 calls"), "{table}");
    let lines = text(&desk.run(&["calls", "--json"]).stdout);
    assert_eq!(lines.lines().count(), 30);
    assert_eq!(text(&desk.run(&["calls", "--csv"]).stdout).lines().count(), 31);
    let call: serde_json::Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    let (id, call_id) = (call["id"].as_str().unwrap(), call["sip_call_id"].as_str().unwrap());
    for name in [id, call_id] {
        let page = text(&desk.run(&["call", name]).stdout);
        assert!(page.contains(id) && page.contains("INVITE") && page.contains("│"), "{page}");
    }
    let whole: serde_json::Value = serde_json::from_slice(&desk.run(&["call", id, "--json"]).stdout).unwrap();
    assert!(!whole["ladder"]["messages"].as_array().unwrap().is_empty());
    let messages = text(&desk.run(&["call", id, "--messages"]).stdout);
    assert!(messages.contains(call_id) && !messages.contains("could not be put together"), "{messages}");
    fails(&desk, &["call", "ffffffff"], 1, &["no call 'ffffffff'", "trunkline calls"]);
}

#[test]
fn an_empty_answer_says_why() {
    let desk = Desk::with_calls();
    let says = |args: &[&str], part: &str| {
        let output = desk.run(args);
        assert_code(&output, 0);
        let text = text(&output.stdout);
        assert!(text.contains(part), "{args:?}: {text}");
    };
    says(&["calls", "caller:nobody"], "No calls match the filter");
    says(&["calls", "--to", "1999-12-31"], "No calls between");
    says(&["streams"], "No streams without signalling");
}

#[test]
fn json_is_the_same_whatever_the_threads_and_ends_with_the_summary() {
    let desk = Desk::with_calls();
    let read = |threads: &str| desk.run(&["read", "--json", "--no-store", "--threads", threads, "world.pcap"]);
    let (one, three) = (read("1"), read("3"));
    assert_code(&one, 0);
    let lines = text(&one.stdout);
    let differ =
        lines.lines().zip(text(&three.stdout).lines()).find(|(a, b)| a != b).map(|(a, b)| (a.to_owned(), b.to_owned()));
    assert_eq!(differ, None);
    assert_eq!(one.stdout.len(), three.stdout.len());
    let last: serde_json::Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    assert_eq!(last["summary"]["calls"], 30);
    assert_eq!(last["summary"]["files"][0]["path"], "world.pcap");
    assert_eq!(lines.lines().count(), 31);
}

#[test]
fn packets_of_a_call_are_cut_out_and_read_again_as_the_same_call() {
    let desk = Desk::with_calls();
    let lines = text(&desk.run(&["calls", "--json", "has:streams"]).stdout);
    for line in lines.lines().take(5) {
        let call: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_code(&desk.run(&["call", call["id"].as_str().unwrap(), "--pcap", "cut.pcap"]), 0);
        let again = text(&desk.run(&["read", "--json", "--no-store", "cut.pcap"]).stdout);
        let again: serde_json::Value = serde_json::from_str(again.lines().next().unwrap()).unwrap();
        for name in ["id", "sip_call_id", "state", "start", "end", "messages"] {
            assert_eq!(call[name], again[name], "{name}");
        }
        let counts = |call: &serde_json::Value| {
            let streams = call["streams"].as_array().unwrap();
            streams.iter().map(|s| (s["ssrc"].clone(), s["packets"].clone(), s["missing"].clone())).collect::<Vec<_>>()
        };
        assert_eq!(counts(&call), counts(&again));
        assert!(packets_of(&desk.path("cut.pcap")) < packets_of(&desk.path("world.pcap")));
    }
    let id = text(&desk.run(&["sql", "--csv", "SELECT id FROM calls LIMIT 1"]).stdout);
    let id = id.lines().nth(1).unwrap().to_owned();
    fails(&desk, &["call", &id, "--pcap", "world.pcap"], 2, &["holds the call itself"]);
    std::fs::rename(desk.path("world.pcap"), desk.path("moved.pcap")).unwrap();
    fails(&desk, &["call", &id, "--pcap", "cut.pcap"], 1, &["was moved or deleted"]);
}

#[test]
fn sql_reads_and_cannot_write() {
    let desk = Desk::with_calls();
    let rows = text(&desk.run(&["sql", "SELECT count(*) AS n FROM calls"]).stdout);
    assert!(rows.contains("30") && rows.contains("1 row"), "{rows}");
    let json = text(&desk.run(&["sql", "--json", "SELECT count(*) AS n FROM calls"]).stdout);
    assert_eq!(json, "{\"n\":30}\n");
    fails(&desk, &["sql", "DELETE FROM calls"], 2, &["trunkline: "]);
    fails(&desk, &["sql", "SELECT nothing FROM calls"], 2, &["nothing"]);
}

#[test]
fn a_pipe_that_closes_ends_quietly() {
    let desk = Desk::with_calls();
    for args in [
        &["calls", "--json"][..],
        &["read", "--json", "--no-store", "world.pcap"],
        &["sim", "-w", "-"],
        &["help", "filter"],
    ] {
        let mut child = desk.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(text(&output.stderr), "", "{args:?}");
        assert!(matches!(output.status.code(), Some(0)), "{args:?}: {:?}", output.status);
    }
}

#[test]
fn standard_input_is_a_file_but_its_packets_are_gone() {
    let desk = Desk::with_calls();
    let mut child =
        desk.command(&["read", "--data", "piped", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&std::fs::read(desk.path("world.pcap")).unwrap()).unwrap();
    assert_code(&child.wait_with_output().unwrap(), 0);
    let line = text(&desk.run(&["calls", "--json", "--limit", "1", "--data", "piped"]).stdout);
    let call: serde_json::Value = serde_json::from_str(&line).unwrap();
    fails(
        &desk,
        &["call", call["id"].as_str().unwrap(), "--data", "piped", "--pcap", "x.pcap"],
        1,
        &["standard input"],
    );
    assert!(!desk.path("x.pcap").exists());
}

#[test]
fn colours_only_where_they_are_asked_for() {
    let desk = Desk::with_calls();
    let has_escape = |args: &[&str]| desk.run(args).stdout.contains(&0x1b);
    assert!(!has_escape(&["calls"]));
    assert!(has_escape(&["calls", "--color", "always"]));
    let output = desk.command(&["calls", "--color", "always"]).env("NO_COLOR", "1").output().unwrap();
    assert!(output.stdout.contains(&0x1b), "asked for on the command line");
}

#[test]
fn a_locale_without_utf8_gets_ascii() {
    let desk = Desk::with_calls();
    let id =
        text(&desk.run(&["sql", "--csv", "SELECT id FROM calls LIMIT 1"]).stdout).lines().nth(1).unwrap().to_owned();
    let output = desk.command(&["call", &id]).env("LANG", "C").output().unwrap();
    assert_code(&output, 0);
    assert!(output.stdout.is_ascii(), "{}", text(&output.stdout));
}

#[test]
fn lines_keep_to_the_width() {
    let desk = Desk::with_calls();
    for columns in ["80", "120"] {
        let ids = text(&desk.run(&["sql", "--csv", "SELECT id FROM calls"]).stdout);
        for id in ids.lines().skip(1).take(10) {
            let output = desk.command(&["call", id]).env("COLUMNS", columns).output().unwrap();
            let page = text(&output.stdout);
            let widest = page.lines().map(unicode_width::UnicodeWidthStr::width).max().unwrap_or(0);
            assert!(widest <= columns.parse().unwrap(), "{widest} columns:\n{page}");
        }
    }
}

#[test]
fn a_time_means_the_same_in_a_filter_in_an_option_and_in_a_table() {
    let desk = Desk::with_calls();
    let in_kolkata = |args: &[&str]| {
        let output = desk.command(args).env("TZ", "Asia/Kolkata").output().unwrap();
        assert_code(&output, 0);
        text(&output.stdout)
    };
    let csv = in_kolkata(&["calls", "--sort", "oldest", "--csv"]);
    let column = csv.lines().next().unwrap().split(',').position(|name| name == "start").unwrap();
    let start: jiff::Timestamp = csv.lines().nth(15).unwrap().split(',').nth(column).unwrap().parse().unwrap();
    let clock =
        start.to_zoned(jiff::tz::TimeZone::get("Asia/Kolkata").unwrap()).strftime("%Y-%m-%dT%H:%M:%S").to_string();
    let by_option = in_kolkata(&["calls", "--json", "--from", &clock]);
    let by_filter = in_kolkata(&["calls", "--json", &format!("start>={clock}")]);
    assert_eq!(by_option, by_filter);
    let all = csv.lines().count() - 1;
    assert!((1..all).contains(&by_option.lines().count()), "{all}\n{by_option}");
}
