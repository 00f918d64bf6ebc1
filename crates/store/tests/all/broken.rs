//! Files that are not what they should be: one line that says so, and the other days go on.

use std::fs;
use std::path::Path;
use trunkline_kit::Id;
use trunkline_store::row::*;
use trunkline_store::{Access, Query, SqlLimits, Store, StoreError};

const DAY: i64 = 1_795_132_800_000_000_000;

fn call(start_ns: i64) -> Call {
    Call { id: Id::derive(start_ns, b""), start_ns, last_ns: start_ns, ..Call::default() }
}

/// A folder with a good day, 2026-11-20, and `octets` as 2026-11-21; what reading, SQL and writing say.
fn lines(make: impl FnOnce(&Path)) -> (Vec<String>, Vec<String>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(folder.path(), Access::Write).unwrap();
    let rows = |calls: Vec<Call>| Rows { calls, ..Rows::default() };
    store.write(&rows(vec![call(DAY)])).unwrap();
    store.commit().unwrap();
    make(&folder.path().join("2026-11-21.sqlite"));
    let page = Store::open(folder.path(), Access::Read).unwrap().calls(&Query::default()).unwrap();
    assert!(page.rows.contains(&call(DAY)), "the good day is read");
    let mut count = vec![];
    let done = store
        .sql("SELECT count(*) FROM calls", &SqlLimits::default(), &mut |_, row| {
            count.push(row[0].clone());
            true
        })
        .unwrap();
    assert_eq!(count.len(), 1);
    store.write(&rows(vec![call(DAY + 86_400_000_000_000), call(DAY + 5)])).unwrap();
    store.commit().unwrap();
    let why = |skipped: Vec<trunkline_store::Skipped>| {
        skipped.into_iter().map(|s| s.why.replace(&*folder.path().to_string_lossy(), "STORE")).collect()
    };
    (why(page.skipped), why(done.skipped), why(store.skipped()))
}

#[test]
fn each_gets_one_line() {
    let told = |text: &str| vec![format!("STORE/2026-11-21.sqlite: {text}")];
    let all = |text: &str| (told(text), told(text), told(text));
    let sql = |path: &Path, text: &str| rusqlite::Connection::open(path).unwrap().execute_batch(text).unwrap();
    assert_eq!(lines(|p| fs::write(p, "no database at all").unwrap()), all("not a SQLite file"));
    assert_eq!(lines(|p| sql(p, "CREATE TABLE x (y)")), all("a SQLite file, but not one of ours"));
    assert_eq!(
        lines(|p| sql(p, "CREATE TABLE x (y); PRAGMA application_id = 0x54524b4c; PRAGMA user_version = 99")),
        all("written by a newer version: tables 99, this program knows 7")
    );
    assert_eq!(
        lines(|p| sql(p, "CREATE TABLE calls (key); PRAGMA application_id = 0x54524b4c; PRAGMA user_version = 1")),
        all("written by an older version: tables 1, this program knows 7")
    );
    assert_eq!(lines(|p| fs::write(p, "").unwrap()), (vec![], vec![], vec![]), "empty: its maker was killed");
}

#[test]
fn a_damaged_day_is_told_and_the_others_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(folder.path(), Access::Write).unwrap();
    let calls = (0..2000).map(|n| call(DAY + n * 86_400_000_000)).collect();
    store.write(&Rows { calls, ..Rows::default() }).unwrap();
    store.commit().unwrap();
    drop(store);
    let path = folder.path().join("2026-11-20.sqlite");
    let mut octets = fs::read(&path).unwrap();
    let half = octets.len() / 2;
    octets[16_384..half].fill(0x5a);
    fs::write(&path, &octets).unwrap();
    let store = Store::open(folder.path(), Access::Read).unwrap();
    let page = store.calls(&Query { limit: 10_000, ..Query::default() }).unwrap();
    assert_eq!(page.rows.len(), 1000);
    assert_eq!(page.skipped.len(), 1);
    assert!(page.skipped[0].why.contains("2026-11-20.sqlite: damaged: "), "{}", page.skipped[0].why);
}

#[test]
fn a_day_that_proves_damaged_while_it_is_written_holds_up_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let calls = |from: i64, count: i64| Rows {
        calls: (from..from + count).map(|n| call(DAY + n * 1_000_000)).collect(),
        ..Rows::default()
    };
    let mut store = Store::open(folder.path(), Access::Write).unwrap();
    store.write(&calls(0, 2000)).unwrap();
    store.commit().unwrap();
    drop(store);
    let path = folder.path().join("2026-11-20.sqlite");
    let mut octets = fs::read(&path).unwrap();
    octets[16_384..].fill(0x5a);
    fs::write(&path, &octets).unwrap();
    for _ in 0..2 {
        let mut store = Store::open(folder.path(), Access::Write).unwrap();
        let other = call(DAY + 86_400_000_000_000);
        store.write(&Rows { calls: vec![other.clone()], ..calls(500, 3) }).unwrap();
        let mixed = Rows { calls: vec![call(DAY), other.clone(), call(DAY + 1)], ..Rows::default() };
        store.write(&mixed).unwrap();
        store.commit().unwrap();
        assert_eq!(store.written().refused, 2, "what the damaged day was to take");
        assert!(store.skipped()[0].why.contains("2026-11-20.sqlite: damaged: "), "{:?}", store.skipped());
        let page = Store::open(folder.path(), Access::Read).unwrap().calls(&Query::default()).unwrap();
        assert_eq!(page.rows, [other]);
    }
}

#[test]
fn what_is_refused_counts_once_though_another_day_fails_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let good = call(DAY + 86_400_000_000_000);
    fs::write(folder.path().join("2026-11-20.sqlite"), "no database at all").unwrap();
    // As a disk does that fails: the day can be opened later.
    let in_the_way = folder.path().join("2026-11-21.sqlite");
    fs::create_dir(&in_the_way).unwrap();
    let mut store = Store::open(folder.path(), Access::Write).unwrap();
    let loss = |since_ns| Loss { since_ns, count: 1, ..Loss::default() };
    let rows = Rows {
        calls: vec![call(DAY), call(DAY + 1_000_000), good.clone()],
        losses: vec![loss(DAY), loss(DAY + 86_400_000_000_000)],
        ..Rows::default()
    };
    assert!(matches!(store.write(&rows), Err(StoreError::Disk { .. })));
    assert_eq!(store.written().refused, 0, "all of them are handed in again");
    fs::remove_dir(&in_the_way).unwrap();
    store.write(&rows).unwrap();
    store.commit().unwrap();
    store.commit().unwrap();
    assert_eq!(store.written().refused, 3);
    assert_eq!(store.losses(&Query::default()).unwrap().rows, [loss(DAY + 86_400_000_000_000)]);
}

#[test]
fn a_store_that_is_not_there_is_empty_to_a_reader() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("none"), Access::Read).unwrap();
    assert_eq!(store.calls(&Query::default()).unwrap().rows, []);
    assert!(!folder.path().join("none").exists());
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(Store::open(&file.join("x"), Access::Write).is_err());
}
