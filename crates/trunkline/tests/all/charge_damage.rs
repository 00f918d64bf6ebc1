//! A ledger that is damaged, as an operator meets it: who reads it says what is gone and ends with 3, a node does not
//! serve it, `run` goes on without charging, and a repair has all of that work again.
//!
//! Test group: waits: for nodes that serve and end.

use crate::eventually::eventually;
use crate::gy;
use crate::wire;
use gy::{Client, Node};
use serde_json::Value;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use trunkline_charge::account::{Effect, Entry, Place};
use trunkline_commit::{Folder, Group, Log, Options};
use wire::{PROGRAM, Wire, text};

const CDR: [&str; 4] = ["--cdr-file-records", "40", "--cdr-flush", "1"];
const ACCOUNTS: u64 = 12;

/// Runs a command of charging on a data folder.
fn charge(data: &Path, words: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(PROGRAM);
    let done = command.arg("charge").args(words).args(["--data", text(data)]).stdin(Stdio::null()).output();
    let Output { status, stdout, stderr } = done.expect("the program");
    let text = |octets| String::from_utf8(octets).expect("text");
    (status.code(), text(stdout), text(stderr))
}

/// A node that is to refuse: what it says.
fn refused(data: &Path) -> String {
    let words = ["serve", "--host", "ocs.demo", "--realm", "demo", "--listen", "127.0.0.1:0"];
    let (code, _, said) = charge(data, &words);
    assert_eq!(code, Some(1), "{said}");
    said
}

/// A data folder with a ledger of sessions that began, went on and ended, of a node that was killed or ended.
fn served(kill: bool) -> tempfile::TempDir {
    served_for(30, kill)
}

/// The same of so many rounds.
fn served_for(rounds: u32, kill: bool) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut node = Node::start_with(folder.path(), &CDR);
    node.fill(ACCOUNTS, 900_000_000);
    let mut client = Client::new(node.address, 0, 1..ACCOUNTS + 1);
    (0..rounds).for_each(|_| client.round());
    client.finish();
    if kill {
        node.kill()
    } else {
        node.stop()
    }
    folder
}

fn segment(data: &Path) -> PathBuf {
    data.join("charge/ledger/00000000000000000001.log")
}

/// Where the blocks of the segment begin, and their first entries.
fn blocks(data: &Path) -> Vec<(u64, u64)> {
    let (octets, mut at, mut blocks) = (std::fs::read(segment(data)).unwrap(), 32, Vec::new());
    while octets[at..at + 4] == *b"TLBK" {
        let word = |at: usize| u32::from_le_bytes(octets[at..at + 4].try_into().unwrap());
        blocks.push((at as u64, u64::from(word(at + 8))));
        at = (at + 24 + word(at + 4) as usize).next_multiple_of(8);
    }
    blocks
}

fn spoil(data: &Path, at: u64) {
    let file = std::fs::OpenOptions::new().read(true).write(true).open(segment(data)).unwrap();
    let mut octet = [0];
    file.read_exact_at(&mut octet, at).unwrap();
    file.write_all_at(&[octet[0] ^ 1], at).unwrap();
}

/// Commands that want the ledger only for who pays, on a store without calls: they end with 3, and say what is gone.
fn told_of_calls(data: &Path, place: &str) {
    std::fs::create_dir_all(data.join("store")).unwrap();
    for words in [["rate-calls", "--from", "2026-11-01"], ["compare", "--from", "2026-11-01"]] {
        for more in [&[][..], &["--json"], &["--csv"]] {
            let (code, out, said) = charge(data, &[&words[..], more].concat());
            assert_eq!(code, Some(3), "{words:?} {more:?}: {out}{said}");
            assert!(said.contains(place) && said.contains("trunkline charge repair --data "), "{words:?}: {said}");
            assert_eq!(out, "", "nothing is told of calls");
        }
    }
}

fn last(data: &Path) -> u64 {
    let (code, out, said) = charge(data, &["audit", "--json"]);
    assert_eq!(code, Some(0), "{said}");
    serde_json::from_str::<Value>(&out).unwrap()["last"].as_u64().unwrap()
}

/// A repair, said first and then done; and all that works after it.
fn mended(data: &Path, from: u64, to: u64) -> Value {
    let json = |words: &[&str], wanted: i32| -> Value {
        let (code, out, said) = charge(data, words);
        assert_eq!(code, Some(wanted), "{out}{said}");
        serde_json::from_str(&out).unwrap()
    };
    let (code, out, _) = charge(data, &["repair", "--dry-run"]);
    assert_eq!(code, Some(3), "{out}");
    for part in ["to be given up: ", "accounts affected, at most: ", "sessions affected, at most: ", "CDRs affected: "]
    {
        assert!(out.contains(part), "{out}");
    }
    let dry = json(&["repair", "--dry-run", "--json"], 3);
    let done = json(&["repair", "--json"], 0);
    for key in ["gone", "given_up", "accounts", "sessions", "sessions_ended", "cdrs_made", "cdrs_open"] {
        assert_eq!(dry[key], done[key], "{key}");
    }
    assert_eq!(done["given_up"], serde_json::json!([{ "from": from, "to": to }]));
    let next = done["next"].as_u64().unwrap();
    assert!(next > to + 1);
    let (code, out, _) = charge(data, &["repair"]);
    assert_eq!((code, out), (Some(0), format!("nothing is damaged: the next entry is {next}\n")));
    let (code, out, _) = charge(data, &["audit"]);
    let entries = if from == to { format!("entry {from} is lost") } else { format!("entries {from} to {to} are lost") };
    assert!(out.contains(&entries) && out.contains("its stored entries"), "{out}");
    assert_eq!(code, Some(0), "{out}");
    done
}

/// A node serves it, and sessions are charged as before.
fn serves(data: &Path) {
    let mut node = Node::start_with(data, &CDR);
    assert!(node.status().is_some());
    let mut client = Client::new(node.address, 7, 1..ACCOUNTS + 1);
    (0..10).for_each(|_| client.round());
    client.finish();
    node.stop();
    assert!(!node.said().contains("ERROR"), "{}", node.said());
    let (code, out, _) = charge(data, &["audit"]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains(" lost"), "{out}");
}

#[test]
fn a_changed_octet_is_told_by_all_who_read_and_mended() {
    let data = served(true);
    let data = data.path();
    let (last, blocks) = (last(data), blocks(data));
    let (at, first) = blocks[blocks.len() / 2];
    let behind = blocks[blocks.len() / 2 + 1].1;
    spoil(data, at + 30);
    let place = format!("00000000000000000001.log, octet {at}: records {first} to {} are gone", behind - 1);
    let unknown = format!("nothing can be said of entries {first} to {last}");
    let plan = data.join("standard.toml");
    for words in
        [vec!["audit"], vec!["audit", "--json"], vec!["ledger", "1"], vec!["try", text(&plan), "--from", "2020-01-01"]]
    {
        let (code, out, said) = charge(data, &words);
        assert_eq!(code, Some(3), "{words:?}: {out}{said}");
        assert!(said.contains(&place) && said.contains(&unknown), "{words:?}: {said}");
        assert!(!out.contains("every balance"), "{out}");
    }
    told_of_calls(data, &place);
    let said = refused(data);
    assert!(said.contains(&place) && said.contains("trunkline charge repair"), "{said}");
    mended(data, first, behind - 1);
    assert!(segment(data).with_extension("log.damaged").is_file());
    serves(data);
}

/// The last block, which nothing whole follows, and a file that was cut: the log's own mark knows them, however the
/// node ended; and with the mark the cursor of records.
#[test]
fn an_end_that_is_gone_is_told_and_its_numbers_are_not_used_again() {
    for (kill, mark) in [(true, true), (false, false)] {
        let data = served(kill);
        let data = data.path();
        let (last, blocks) = (last(data), blocks(data));
        let (at, first) = blocks[blocks.len() - if mark { 1 } else { 9 }];
        if mark {
            spoil(data, at + 30);
        } else {
            std::fs::OpenOptions::new().write(true).open(segment(data)).unwrap().set_len(at).unwrap();
            std::fs::remove_file(data.join("charge/ledger/durable")).unwrap();
        }
        let who = if mark { "the mark durable" } else { "the cursor of charging records" };
        let place = format!(
            "octet {at}: the log ends: records {first} to {last} are gone: records were durable up to {last} ({who})"
        );
        assert!(refused(data).contains(&place), "{}", refused(data));
        let (code, _, said) = charge(data, &["audit"]);
        assert!(code == Some(3) && said.contains(&place), "{said}");
        told_of_calls(data, &place);
        mended(data, first, last);
        serves(data);
    }
}

/// A last block that was cut off by a crash, and that nobody was told of, is no damage.
#[test]
fn a_torn_end_is_no_damage() {
    let data = served(true);
    let data = data.path();
    let (last, blocks) = (last(data), blocks(data));
    let octets = std::fs::read(segment(data)).unwrap();
    let begin = blocks[blocks.len() - 1].0;
    let length = octets[begin as usize + 4..][..4].try_into().unwrap();
    let end = (begin + 24 + u64::from(u32::from_le_bytes(length))).next_multiple_of(8);
    let file = std::fs::OpenOptions::new().write(true).open(segment(data)).unwrap();
    let torn = [b"TLBK\x80\0\0\0".as_slice(), &(last + 1).to_le_bytes(), &[1, 0, 0, 0, 9, 9, 9, 9, 7, 7]].concat();
    file.write_all_at(&torn, end).unwrap();
    assert_eq!(charge(data, &["audit"]).0, Some(0));
    assert_eq!(charge(data, &["repair", "--dry-run"]).0, Some(0));
    let mut node = Node::start_with(data, &CDR);
    node.stop();
    assert_eq!(charge(data, &["audit"]).0, Some(0));
}

/// An entry whose checksum is right and that names a session which no ledger of its length can have had: nobody takes
/// memory for it, who reads the ledger says which entry of which file it is, and a repair gives up that one.
#[test]
fn an_entry_of_a_session_that_cannot_be_is_named_and_given_up_by_a_repair() {
    let data = served(false);
    let data = data.path();
    let next = last(data) + 1;
    let (options, entries) = (Options::default(), Arc::new(Folder::open(&data.join("charge/ledger")).unwrap()));
    let mut log = Log::open(entries, options, |_| Ok(()), |_, _| Ok(())).unwrap();
    assert_eq!(log.next(), next);
    let mut group = Group::new(&options);
    let effects = vec![Effect::Moved { slot: u32::MAX, place: Place::default() }];
    group.put(&Entry { sequence: next, at: 1_900_000_000, effects }.encode()).unwrap();
    log.commit(&mut group).unwrap();
    log.sync_mark().unwrap();
    drop(log);
    let octet = blocks(data).last().unwrap().0;
    let told = format!(
        "record {next}: it names slot 4294967295 of sessions, and no more than {next} can have been used \
         (00000000000000000001.log, octet {octet})"
    );
    for words in [vec!["audit"], vec!["audit", "--json"], vec!["ledger", "1"]] {
        let (code, out, said) = charge(data, &words);
        assert_eq!(code, Some(3), "{words:?}: {out}{said}");
        assert!(said.contains(&told) && said.contains("trunkline charge repair --data "), "{words:?}: {said}");
    }
    told_of_calls(data, &told);
    assert!(refused(data).contains(&told), "{}", refused(data));
    let verified = Command::new(PROGRAM).args(["verify", "--data", text(data)]).output().unwrap();
    let said = String::from_utf8(verified.stdout).unwrap();
    assert!(verified.status.code() == Some(3) && said.contains(&told), "{said}");
    let (_, out, _) = charge(data, &["repair", "--dry-run"]);
    assert!(out.contains(&told) && out.contains("to be given up: 1 entry"), "{out}");
    mended(data, next, next);
    assert!(segment(data).with_extension("log.damaged").is_file());
    serves(data);
    let verified = Command::new(PROGRAM).args(["verify", "--data", text(data)]).output().unwrap();
    assert_eq!(verified.status.code(), Some(0), "{}", String::from_utf8_lossy(&verified.stdout));
}

/// `run` goes on without charging, says so, and is not healthy.
#[test]
fn a_run_goes_on_without_charging() {
    let Some(wire) = Wire::lay("ledger") else { return };
    let data = served(true);
    let (data, blocks) = (data.path(), blocks(data.path()));
    let (at, first) = blocks[blocks.len() / 2];
    spoil(data, at + 30);
    std::fs::create_dir_all(wire.path("data")).unwrap();
    std::fs::rename(data.join("charge"), wire.path("data/charge"))
        .or_else(|_| {
            let copied = Command::new("cp").arg("-r").args([data.join("charge"), wire.path("data")]).status();
            copied.map(|status| assert!(status.success()))
        })
        .unwrap();
    let config = format!(
        "[capture]\nlanes = 1\n[charge]\nlisten = [\"127.0.0.1:13868\"]\nhost = \"ocs.demo\"\nrealm = \"demo\"\n[metrics]\nlisten = \"unix:{}\"\n",
        text(&wire.path("metrics"))
    );
    let world = wire.world("world.pcap", &["--calls", "4"]);
    let running = wire.run("data", &config);
    let answer = wire.get("/healthz");
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    let place = format!("octet {at}: records {first} to ");
    assert!(answer.contains("charging") && answer.contains(&place), "{answer}");
    // The other jobs go on: calls are seen, and are in the store.
    wire.replay(&world, "max");
    wire.until("calls are seen", |w| w.metric("trunkline_calls_open_calls") >= 1.0);
    let (code, said) = running.end();
    assert_eq!(code, 3, "{said:#?}");
    assert!(said.iter().any(|line| line.contains("charging stays stopped") && line.contains(&place)), "{said:#?}");
}

/// Ledgers that were found in the field: one octet changed in the middle, and the file cut after half of its entries.
#[test]
fn ledgers_from_the_field_are_refused_with_what_is_gone() {
    let root = std::env::var_os("TRUNKLINE_SHARED").map(PathBuf::from);
    let root = root.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared")).join("cases/ops");
    for (case, told) in [
        ("ledger-mid.tgz", "octet 67984: records 739 to 739 are gone, those from 740 on are there"),
        (
            "ledger-half.tgz",
            "records 739 to 1087 are gone: records were durable up to 1087 (the cursor of charging records)",
        ),
    ] {
        let archive = root.join(case);
        if !archive.exists() {
            println!("SKIPPED: no {case}");
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let status = Command::new("tar").arg("xzf").arg(&archive).arg("-C").arg(folder.path()).status();
        assert!(status.unwrap().success());
        let data = folder.path();
        let (code, out, said) = charge(data, &["audit"]);
        assert_eq!(code, Some(3), "{out}{said}");
        assert!(said.contains(told) && said.contains("nothing can be said of entries 739 to 1087"), "{said}");
        told_of_calls(data, told);
        assert!(refused(data).contains(told));
        let to = if case.contains("mid") { 739 } else { 1087 };
        let done = mended(data, 739, to);
        assert!(done["next"].as_u64().unwrap() > 1088);
        if to == 1087 {
            // What the records know: all sessions had ended.
            assert!(done["sessions_ended"].as_u64().unwrap() >= 100, "{done}");
        }
        assert!(data.join("charge/ledger/durable").exists());
        let mut node = Node::start_with(data, &CDR);
        let status = node.status().unwrap();
        assert_eq!(status["records"]["failure"], Value::Null, "{status}");
        node.stop();
        assert_eq!(charge(data, &["audit"]).0, Some(0));
    }
}

/// The ledger of one folder and the records of another one: none of the entries up to where those were made would ever
/// get a record, without a word.
#[test]
fn records_of_another_ledger_are_told_by_all_and_stop_records_alone() {
    let (here, there) = (served(false), served_for(60, false));
    let data = here.path();
    for entry in std::fs::read_dir(there.path().join("charge/ledger")).unwrap() {
        let from = entry.unwrap().path();
        std::fs::copy(&from, data.join("charge/ledger").join(from.file_name().unwrap())).unwrap();
    }
    let told = "records were made of another ledger, by the checkpoint: entry ";
    let (code, said, _) = charge(data, &["audit"]);
    assert!(code == Some(3) && said.contains(told) && said.contains("every balance is the sum"), "{code:?}: {said}");
    let verified = Command::new(PROGRAM).args(["verify", "--data", text(data)]).output().unwrap();
    let said = String::from_utf8(verified.stdout).unwrap();
    assert!(verified.status.code() == Some(3) && said.contains(told), "{said}");
    let files = || std::fs::read_dir(data.join("charge/cdr")).unwrap().count();
    let before = files();
    let mut node = Node::start_with(data, &CDR);
    let waits = format!("ERROR charging: records cannot be written, the ledger keeps everything: {told}");
    eventually("its log says so", || node.said().contains(&waits));
    let (code, said, _) = charge(data, &["status"]);
    assert!(code == Some(3) && said.contains("records wait"), "{said}");
    let mut client = Client::new(node.address, 1, 1..ACCOUNTS + 1);
    (0..10).for_each(|_| client.round());
    client.finish();
    node.stop();
    assert_eq!(files(), before);
    // All are made anew once those of the other ledger are elsewhere.
    std::fs::rename(data.join("charge/cdr"), data.join("cdr-of-another")).unwrap();
    let mut node = Node::start_with(data, &CDR);
    assert_eq!(node.status().unwrap()["records"]["failure"], Value::Null);
    node.stop();
    assert_eq!(charge(data, &["audit"]).0, Some(0));
}
