//! Records of a charging node as others see them: a decoder with the genuine ASN.1, the store, the command line.
//!
//! Test group: waits: for files of records to be closed.

use crate::gy;
use gy::{Client, Node, Recorded, imsi};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use trunkline_store::{Access, Query, Store};

const ACCOUNTS: u64 = 12;

/// A node that served a client and was stopped; its data folder, and what the client reported.
fn served() -> (tempfile::TempDir, Client) {
    let folder = tempfile::tempdir().unwrap();
    let options = ["--cdr-cut-volume", "5 MiB", "--cdr-file-records", "40", "--cdr-flush", "1", "--cdr-node", "ocs1"];
    let mut node = Node::start_with(folder.path(), &options);
    node.fill(ACCOUNTS, 900_000_000);
    let mut client = Client::new(node.address, 1, 1..ACCOUNTS + 1);
    for _ in 0..60 {
        client.round();
    }
    client.finish();
    let status = node.json(&["status"]);
    assert_eq!((&status["records"]["failure"], &status["records"]["holds"]), (&Value::Null, &Value::Bool(false)));
    node.stop();
    (folder, client)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder.join("charge/cdr")).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries.filter(|path| path.extension().is_some_and(|ending| ending == "ber")).collect();
    files.sort();
    files
}

/// JSON objects, a line each.
fn objects(text: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(text).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn records(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trunkline"));
    command.args(["charge", "records"]).args(words).arg("--data").arg(folder).output().unwrap()
}

#[test]
fn another_decoder_the_store_and_the_command_line_tell_the_same() {
    let (folder, client) = served();
    let recorded = Recorded::read(&folder.path().join("charge/cdr"));
    recorded.check();
    assert_eq!(recorded.octets(), (client.octets(), client.octets()));
    let told = records(folder.path(), &["--json"]);
    assert!(told.status.success());
    let told = objects(&told.stdout);
    assert_eq!(told.len() as u64, recorded.records());
    rows(folder.path(), &recorded);
    decoded(folder.path(), &told);
}

/// A row for each record, and their money is what accounts paid.
fn rows(folder: &Path, recorded: &Recorded) {
    let store = Store::open(&folder.join("store"), Access::Read).unwrap();
    let page = store.charges(&Query { limit: 10_000, ..Query::default() }).unwrap();
    let mut money = BTreeMap::new();
    for row in &page.rows {
        *money.entry(row.account).or_default() += row.money;
        assert!(row.rated && row.file.starts_with("ocs1_-_") && row.imsi == imsi(row.account), "{row:?}");
        let services: Value = serde_json::from_str(&row.services).unwrap();
        let octets: u64 = services.as_array().unwrap().iter().map(|s| s["octets"].as_u64().unwrap()).sum();
        assert_eq!(octets, row.octets);
    }
    money.retain(|_, money| *money != 0);
    assert_eq!(money, recorded.money());
    let numbers: BTreeSet<u32> = page.rows.iter().map(|row| row.number).collect();
    assert!(numbers.iter().copied().eq(1..=recorded.records() as u32) && numbers.len() == page.rows.len());
    let waits = std::fs::read_dir(folder.join("charge/cdr")).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(waits.filter(|name| name.to_string_lossy().ends_with(".rows")).count(), 0, "the store has all rows");
}

/// What a decoder of the genuine ASN.1 reads.
fn decoded(folder: &Path, told: &[Value]) {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/charge_records/decode.py");
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/python/bin/python3");
    let has = Command::new(&python).args(["-c", "import pycrate_asn1dir"]).output();
    if !has.is_ok_and(|has| has.status.success()) {
        println!("SKIPPED: no pycrate; scripts/setup test installs it");
        return;
    }
    let done = Command::new(python).arg(tests).args(files(folder)).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let by = |value: &Value, name: &str| value[name].as_u64().unwrap();
    let decoded: BTreeMap<u64, Value> =
        objects(&done.stdout).into_iter().map(|record| (by(&record, "localSequenceNumber"), record)).collect();
    assert_eq!(decoded.len(), told.len());
    for one in told {
        let other = &decoded[&by(one, "number")];
        assert_eq!((by(other, "recordType"), &other["nodeID"]), (85, &one["node"]));
        assert_eq!((&other["causeForRecClosing"], &other["duration"]), (&one["cause"], &one["duration_s"]));
        assert_eq!(other["recordSequenceNumber"], one["record"]);
        assert_eq!(tbcd(&other["servedIMSI"]), one["imsi"].as_str().unwrap());
        assert_eq!(other["accessPointNameNI"], one["apn"]);
        let mandatory = ["p-GWAddress", "chargingID", "servingNodeAddress", "recordOpeningTime", "servingNodeType"];
        assert!(mandatory.iter().all(|name| !other[name].is_null()), "{other}");
        assert_eq!(other["chargingCharacteristics"], "0800");
        let services = one["services"].as_array().unwrap();
        let containers = other["listOfServiceData"].as_array().map_or(&[][..], Vec::as_slice);
        assert_eq!(containers.len(), services.len());
        for (container, service) in containers.iter().zip(services) {
            assert_eq!(container["ratingGroup"], service["rating_group"]);
            assert_eq!(container["datavolumeFBCDownlink"], service["downlink"]);
            assert_eq!(container["datavolumeFBCUplink"], service["uplink"]);
            assert_eq!(container["resultCode"], service["result"]);
        }
    }
}

/// Digits out of hexadecimal octets, the lower half first.
fn tbcd(octets: &Value) -> String {
    let text = octets.as_str().expect("octets");
    let pairs = text.as_bytes().chunks(2).flat_map(|pair| [char::from(pair[1]), char::from(pair[0])]);
    pairs.filter(char::is_ascii_digit).collect()
}

#[test]
fn files_are_listed_and_what_is_not_sound_is_told_with_its_octet() {
    let (folder, _) = served();
    let listed = records(folder.path(), &[]);
    let text = String::from_utf8(listed.stdout).unwrap();
    let names: Vec<_> = files(folder.path());
    assert!(listed.status.success() && names.len() > 1, "{text}");
    assert!(names.iter().all(|path| text.contains(path.file_name().unwrap().to_str().unwrap())), "{text}");
    let csv = String::from_utf8(records(folder.path(), &["--csv"]).stdout).unwrap();
    let columns = csv.lines().next().unwrap().split(',').count();
    assert!(csv.lines().count() > 2 && csv.lines().all(|line| line.split(',').count() == columns), "{csv}");
    let octets = std::fs::read(&names[0]).unwrap();
    let broken = folder.path().join("broken.ber");
    for (cut, why) in [(20, "octet 0"), (octets.len() - 3, "the record at octet"), (octets.len(), "")] {
        std::fs::write(&broken, &octets[..cut]).unwrap();
        let said = records(folder.path(), &[broken.to_str().unwrap()]);
        let error = String::from_utf8(said.stderr).unwrap();
        assert_eq!(said.status.code(), Some(if why.is_empty() { 0 } else { 3 }), "{error}");
        assert!(error.contains(why) && (why.is_empty() || error.contains("broken.ber")), "{error}");
    }
}

#[test]
fn entries_are_given_up_beside_a_node_that_serves() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path());
    node.fill(3, 1000);
    let done = node.json(&["retain", "--before", "2"]);
    // Closed segments alone can go, and there is none.
    assert_eq!(done["first"], 1, "{done}");
    assert!(done["needed_by_records"].as_u64().is_some_and(|needed| needed > 1), "{done}");
    let done = node.json(&["retain", "--before", "2030-01-01"]);
    assert_eq!(done["first"], 1, "{done}");
}
