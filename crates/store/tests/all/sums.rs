//! Days that are over get checksums: what SQLite's own checks do not see is found, and writing goes on.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use trunkline_kit::Id;
use trunkline_store::backend::sqlite::sums::{self, AFTER_NS, Contents, seal_days, verify};
use trunkline_store::row::*;
use trunkline_store::{Access, Query, SqlLimits, SqlValue, Store};

/// 2026-11-20.
const DAY: i64 = 1_795_132_800_000_000_000;
const DAY_NS: i64 = 86_400_000_000_000;

fn call(start_ns: i64) -> Call {
    let sip_call_id = format!("call-of-{:07}@sim", start_ns % 9_999_991);
    Call { id: Id::derive(start_ns, b""), start_ns, last_ns: start_ns, sip_call_id, ..Call::default() }
}

fn write(folder: &Path, access: Access, first: i64, count: i64) {
    let mut store = Store::open(folder, access).unwrap();
    let calls = (0..count).map(|n| call(first + n * 1_000_000_007)).collect();
    store.write(&Rows { calls, ..Rows::default() }).unwrap();
    store.commit().unwrap();
}

/// The file of a day in a store, with checksums.
fn sealed(folder: &Path) -> PathBuf {
    write(folder, Access::Write, DAY, 500);
    assert_eq!(seal_days(folder, DAY + DAY_NS + AFTER_NS - 1).unwrap(), (0, vec![]), "it may still be written");
    assert_eq!(seal_days(folder, DAY + DAY_NS + AFTER_NS).unwrap(), (1, vec![]));
    assert_eq!(seal_days(folder, i64::MAX).unwrap(), (0, vec![]), "it has them");
    folder.join("2026-11-20.sqlite")
}

fn is_whole(file: &Path) -> bool {
    let found = verify(file, true).unwrap();
    assert_eq!(found.faults, [""; 0]);
    found.contents == Contents::Whole
}

/// An octet of a number in a row: SQLite finds nothing.
#[test]
fn a_flip_in_a_row_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let file = sealed(folder.path());
    assert!(is_whole(&file));
    let octets = std::fs::read(&file).unwrap();
    let name = call(DAY + 400 * 1_000_000_007).sip_call_id;
    let at = octets.windows(name.len()).position(|part| part == name.as_bytes()).unwrap() as u64 + 6;
    let day = OpenOptions::new().write(true).open(&file).unwrap();
    day.write_all_at(&[octets[at as usize] ^ 1], at).unwrap();
    let shallow = verify(&file, false).unwrap();
    assert_eq!(shallow.contents, Contents::NotChecked("not read without --deep"));
    let Contents::Damaged(found) = verify(&file, true).unwrap().contents else { panic!() };
    assert!(found.places[0].0 <= at && at <= found.places[0].1);
    day.write_all_at(&[octets[at as usize]], at).unwrap();
    assert!(is_whole(&file));
    // Cut, and the checksums themselves.
    day.set_len(octets.len() as u64 - 4096).unwrap();
    assert!(matches!(verify(&file, true).unwrap().contents, Contents::Damaged(_)));
    day.set_len(0).unwrap();
    assert!(matches!(verify(&file, true).unwrap().contents, Contents::Damaged(_)));
    std::fs::write(sums::path(&file), b"x").unwrap();
    assert_eq!(verify(&file, true).unwrap().contents, Contents::SumsDamaged);
}

/// A day that was emptied is no day without calls, and nobody begins it anew.
#[test]
fn a_day_that_was_emptied_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let file = sealed(folder.path());
    OpenOptions::new().write(true).open(&file).unwrap().set_len(0).unwrap();
    let store = Store::open(folder.path(), Access::Read).unwrap();
    let page = store.calls(&Query::default()).unwrap();
    assert!(page.rows.is_empty() && page.skipped[0].why.contains("it is empty, and was not"), "{:?}", page.skipped);
    let mut store = Store::open(folder.path(), Access::Write).unwrap();
    store.write(&Rows { calls: vec![call(DAY)], ..Rows::default() }).unwrap();
    store.commit().unwrap();
    assert_eq!(store.written().refused, 1);
    assert!(store.skipped()[0].why.contains("2026-11-20.sqlite: damaged: it is empty"), "{:?}", store.skipped());
    assert_eq!(std::fs::metadata(&file).unwrap().len(), 0);
}

/// Rows that come late, by a run or by reading a capture, and an upgrade: the checksums are gone before, and made
/// again.
#[test]
fn who_writes_removes_them() {
    for access in [Access::Write, Access::Load] {
        let folder = tempfile::tempdir().unwrap();
        let file = sealed(folder.path());
        write(folder.path(), access, DAY + 7, 3);
        let found = verify(&file, true).unwrap();
        assert_eq!((found.faults.len(), found.contents), (0, Contents::NotChecked("it has no checksums")));
        assert_eq!(seal_days(folder.path(), i64::MAX).unwrap(), (1, vec![]));
        assert!(is_whole(&file));
    }
}

/// While somebody has rows in its log, a day gets none; reading changes nothing.
#[test]
fn a_day_that_is_written_gets_none() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(folder.path(), Access::Write).unwrap();
    store.write(&Rows { calls: vec![call(DAY)], ..Rows::default() }).unwrap();
    assert_eq!(seal_days(folder.path(), i64::MAX).unwrap(), (0, vec![]));
    store.commit().unwrap();
    assert_eq!(seal_days(folder.path(), i64::MAX).unwrap(), (0, vec![]));
    drop(store);
    assert_eq!(seal_days(folder.path(), i64::MAX).unwrap(), (1, vec![]));
    let store = Store::open(folder.path(), Access::Read).unwrap();
    assert_eq!(store.calls(&trunkline_store::Query::default()).unwrap().rows.len(), 1);
    assert!(is_whole(&folder.path().join("2026-11-20.sqlite")));
    let mut store = Store::open(folder.path(), Access::Write).unwrap();
    store.drop_day("2026-11-20".parse().unwrap()).unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// As of an operator who put a copy beside the file: each call would be there twice.
#[test]
fn a_copy_under_another_days_name_counts_nothing_twice() {
    let folder = tempfile::tempdir().unwrap();
    let file = sealed(folder.path());
    let copy = folder.path().join("2026-11-21.sqlite");
    std::fs::copy(&file, &copy).unwrap();
    assert!(is_whole(&file));
    let told = "its rows are of 2026-11-20: it is a copy of that day's file, or was renamed";
    assert_eq!(verify(&copy, false).unwrap().faults, [told]);
    let store = Store::open(folder.path(), Access::Read).unwrap();
    let page = store.calls(&Query { limit: 1000, ..Query::default() }).unwrap();
    assert_eq!((page.rows.len(), page.skipped.len()), (500, 1));
    assert!(page.skipped[0].why.ends_with(told), "{}", page.skipped[0].why);
    let limits = SqlLimits::default();
    let mut counted = Vec::new();
    let mut see = |_: &[String], values: &[SqlValue]| {
        counted.extend(values.iter().map(|value| format!("{value:?}")));
        true
    };
    store.sql("SELECT count(*), count(DISTINCT id) FROM calls", &limits, &mut see).unwrap();
    assert_eq!(counted, ["Whole(500)", "Whole(500)"]);
}
