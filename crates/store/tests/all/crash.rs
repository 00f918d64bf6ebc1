//! A writer that is killed at any moment: what it said was committed is there exactly once, and the file can be read
//! and written on.
//!
//! Test group: waits: for a writer that is killed.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use trunkline_kit::Id;
use trunkline_store::row::*;
use trunkline_store::{Access, Filter, Found, Order, Query, Store, SummaryQuery};

const FOLDER: &str = "TRUNKLINE_TEST_CRASH_FOLDER";
const LOADS: &str = "TRUNKLINE_TEST_CRASH_LOADS";
const FIRST: &str = "TRUNKLINE_TEST_CRASH_FIRST";
const DAY: i64 = 1_795_132_800_000_000_000;
/// Calls of one commit; every other day, so that a commit has two files.
const BATCH: u64 = 20;

fn call(n: u64) -> Call {
    let start_ns = DAY + (n % 2) as i64 * 86_400_000_000_000 + n as i64 * 1_000_003;
    let sip_call_id = n.to_string();
    let id = Id::derive(start_ns, sip_call_id.as_bytes());
    let stream = Stream { id: Id::derive(start_ns, b"s"), call: Some(id), first_ns: start_ns, ..Stream::default() };
    let to = "x".repeat((n % 700) as usize);
    let streams = vec![stream];
    Call { id, sip_call_id, start_ns, last_ns: start_ns, from: n.to_string(), to, streams, ..Call::default() }
}

/// Not a test of its own: what the killed process runs. It writes forever and says after each commit how far it is.
#[test]
#[ignore = "run by the test below in a process of its own"]
fn writes_until_it_is_killed() {
    let (Ok(folder), Ok(first)) = (std::env::var(FOLDER), std::env::var(FIRST)) else { return };
    let access = if std::env::var(LOADS).is_ok() { Access::Load } else { Access::Write };
    let mut store = Store::open(Path::new(&folder), access).unwrap();
    for first in (first.parse::<u64>().unwrap()..).step_by(BATCH as usize) {
        for n in first..first + BATCH {
            store.write(&Rows { calls: vec![call(n)], ..Rows::default() }).unwrap();
        }
        store.commit().unwrap();
        println!("committed {}", first + BATCH);
    }
}

/// The index tells the same as the rows: a call by its number and by its Call-ID, the others that begin so.
fn assert_found(store: &Store, calls: &[Call], n: u64) {
    let found = |filter: String| {
        let query = Query { filter: Some(Filter::parse(&filter).unwrap()), limit: 10_000, ..Query::default() };
        let mut numbers: Vec<u64> = store.calls(&query).unwrap().rows.iter().map(|c| c.from.parse().unwrap()).collect();
        numbers.sort_unstable();
        numbers
    };
    let every = SummaryQuery { filter: Some(Filter::parse("caller:*").unwrap()), ..SummaryQuery::default() };
    assert_eq!(store.summary(&every).unwrap().totals.started, calls.len() as i64);
    assert_eq!(found(format!("caller:{n}")), [n]);
    assert_eq!(found(format!("callid:{n}")), [n]);
    let all = calls.iter().filter(|c| c.from.starts_with(&n.to_string())).map(|c| c.from.parse().unwrap());
    assert_eq!(found(format!("caller:{n}*")), all.collect::<Vec<u64>>());
    assert_eq!(store.call(&n.to_string()).unwrap(), Found::One(Box::new(call(n))));
}

/// Writes until it is killed after some milliseconds; gives how many calls it said were committed.
fn write_and_be_killed(folder: &Path, first: u64, loads: bool, milliseconds: u64) -> u64 {
    let mut command = Command::new(std::env::current_exe().unwrap());
    if loads {
        command.env(LOADS, "yes");
    }
    let mut child = command
        .args(["--exact", "crash::writes_until_it_is_killed", "--ignored", "--nocapture"])
        .env(FOLDER, folder)
        .env(FIRST, first.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    let reading = std::thread::spawn(move || {
        let last = |line: String| line.trim().rsplit_once("committed ").and_then(|(_, n)| n.parse::<u64>().ok());
        out.lines().map_while(Result::ok).filter_map(last).max()
    });
    #[expect(clippy::disallowed_methods, reason = "the child is to be killed at a moment that nothing announces")]
    std::thread::sleep(Duration::from_millis(milliseconds));
    child.kill().unwrap();
    child.wait().unwrap();
    reading.join().unwrap().unwrap_or(0)
}

/// What was committed is there, each call once, as it was written, and can be found.
fn assert_whole(folder: &Path, committed: u64) {
    let store = Store::open(folder, Access::Read).unwrap();
    let mut query = Query { order: Order::Oldest, limit: 10_000, ..Query::default() };
    let mut calls = vec![];
    loop {
        let page = store.calls(&query).unwrap();
        assert_eq!(page.skipped, []);
        calls.extend(page.rows);
        query.cursor = page.next;
        if query.cursor.is_none() {
            break;
        }
    }
    calls.sort_by_key(|c| c.from.parse::<u64>().unwrap());
    let numbers: Vec<u64> = calls.iter().map(|c| c.from.parse().unwrap()).collect();
    assert!(numbers.windows(2).all(|w| w[0] < w[1]), "no call is there twice");
    assert!(numbers.iter().take_while(|n| **n < committed).eq(&(0..committed).collect::<Vec<_>>()));
    assert!(calls.iter().zip(&numbers).all(|(c, n)| *c == call(*n)));
    for n in (0..committed).step_by(1 + committed as usize / 16).chain(committed.checked_sub(1)) {
        assert_found(&store, &calls, n);
    }
    let started: i64 = store.minutes(i64::MIN, i64::MAX).unwrap().iter().map(|(_, m)| m.started).sum();
    assert_eq!(started, calls.len() as i64, "the roll-ups are committed with their calls");
}

#[test]
fn kill_at_any_moment_loses_nothing_that_was_committed() {
    let folder = tempfile::tempdir().unwrap();
    let mut committed = 0u64;
    for round in 0..25u64 {
        // Each writer begins a little before the end of the one before, as a capture that is read again does.
        let first = committed.saturating_sub(BATCH * 2);
        let told = write_and_be_killed(folder.path(), first, false, 15 + round * 37 % 230);
        committed = committed.max(told);
        assert_whole(folder.path(), committed);
    }
    assert!(committed > 0);
}

/// The same while days are loaded, which are without a log then; and a writer goes on where the loader was killed.
#[test]
fn nor_does_it_while_days_are_loaded() {
    let mut most = 0;
    for round in 0..12u64 {
        let folder = tempfile::tempdir().unwrap();
        let committed = write_and_be_killed(folder.path(), 0, true, 15 + round * 37 % 230);
        if round % 2 == 0 {
            assert_whole(folder.path(), committed);
        }
        let told = write_and_be_killed(folder.path(), committed.saturating_sub(BATCH), round % 3 == 0, 60);
        assert_whole(folder.path(), committed.max(told));
        most = most.max(committed);
    }
    assert!(most > 0);
}
