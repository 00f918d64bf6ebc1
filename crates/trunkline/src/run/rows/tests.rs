//! The store's thread with stores that fail.
//!
//! Test group: waits: for a store that comes back.

use super::*;
use crate::eventually::PATIENCE;
use std::sync::atomic::{AtomicBool, Ordering};
use trunkline_kit::Id;
use trunkline_store::row::{Charge, Loss};
use trunkline_store::{Access, Query};

/// A store whose disk is full as long as it is told so. What was not committed when it fails is forgotten.
struct Frail {
    is_full: Arc<AtomicBool>,
    open: Vec<i64>,
    kept: Arc<Mutex<Vec<i64>>>,
}

impl Target for Frail {
    fn write(&mut self, rows: &Rows) -> Result<(), String> {
        self.open.extend(rows.losses.iter().map(|l| l.since_ns));
        Ok(())
    }

    fn commit(&mut self) -> Result<(), String> {
        let open = core::mem::take(&mut self.open);
        if self.is_full.load(Ordering::Relaxed) {
            return Err("disk full".to_owned());
        }
        self.kept.lock().unwrap().extend(open);
        Ok(())
    }

    fn refused(&self) -> u64 {
        0
    }

    fn why_refused(&self) -> String {
        String::new()
    }
}

fn rows(since: core::ops::Range<i64>) -> Rows {
    let losses = since.map(|since_ns| Loss { since_ns, count: 1, ..Loss::default() }).collect();
    Rows { losses, ..Rows::default() }
}

struct Bench {
    folder: tempfile::TempDir,
    is_full: Arc<AtomicBool>,
    kept: Arc<Mutex<Vec<i64>>>,
}

impl Bench {
    fn new() -> Bench {
        Bench { folder: tempfile::tempdir().unwrap(), is_full: Arc::default(), kept: Arc::default() }
    }

    fn journal(&self) -> (Journal, journal::Found) {
        Journal::open(self.folder.path()).unwrap()
    }

    fn writer(&self, journal: Option<Journal>) -> Writer<Frail> {
        let store = Frail { is_full: Arc::clone(&self.is_full), open: Vec::new(), kept: Arc::clone(&self.kept) };
        Writer::new(store, journal, Arc::default())
    }

    fn kept(&self) -> Vec<i64> {
        self.kept.lock().unwrap().clone()
    }
}

/// As a gatherer would: rows come, and time passes.
fn give(writer: &mut Writer<Frail>, rows: Rows) {
    writer.writing.with(|state| state.report.waiting += rows.count());
    writer.take(rows);
}

#[test]
fn what_a_failing_commit_forgets_is_written_again() {
    let bench = Bench::new();
    let mut writer = bench.writer(Some(bench.journal().0));
    give(&mut writer, rows(0..3));
    writer.commit();
    assert_eq!(bench.kept(), [0, 1, 2]);
    bench.is_full.store(true, Ordering::Relaxed);
    give(&mut writer, rows(3..5));
    give(&mut writer, rows(5..6));
    writer.commit();
    give(&mut writer, rows(6..9));
    let report = writer.writing.report();
    assert_eq!((report.waiting, report.journal_rows, report.counters.journalled), (0, 6, 6));
    assert_eq!(report.error.as_deref(), Some("disk full"));
    // Again in vain, and then not.
    writer.take_up();
    assert_eq!((bench.kept().len(), writer.writing.report().journal_rows), (3, 6));
    bench.is_full.store(false, Ordering::Relaxed);
    writer.take_up();
    assert_eq!(bench.kept(), (0..9).collect::<Vec<_>>());
    let report = writer.writing.report();
    assert_eq!((report.journal_rows, report.error, report.counters.written, report.counters.lost), (0, None, 9, 0));
    assert!(!writer.is_behind() && writer.failed.is_none());
}

#[test]
fn killed_while_the_store_fails_the_next_start_goes_on() {
    let bench = Bench::new();
    let mut writer = bench.writer(Some(bench.journal().0));
    bench.is_full.store(true, Ordering::Relaxed);
    give(&mut writer, rows(0..4));
    writer.commit();
    give(&mut writer, rows(4..5));
    // As kill -9 does it: nothing is finished.
    drop(writer);
    bench.is_full.store(false, Ordering::Relaxed);
    let (journal, found) = bench.journal();
    assert_eq!((found.rows, found.torn_octets), (5, 0));
    let mut writer = bench.writer(Some(journal));
    assert_eq!(writer.writing.report().journal_rows, 5);
    give(&mut writer, rows(5..6));
    writer.finish();
    assert_eq!(bench.kept(), (0..6).collect::<Vec<_>>());
}

#[test]
fn at_the_end_the_journal_keeps_what_the_store_does_not_take() {
    let bench = Bench::new();
    bench.is_full.store(true, Ordering::Relaxed);
    let mut writer = bench.writer(Some(bench.journal().0));
    give(&mut writer, rows(0..4));
    let writing = Arc::clone(&writer.writing);
    writer.finish();
    let report = writing.report();
    assert_eq!((report.journal_rows, report.counters.lost, report.waiting), (4, 0, 0));
    // Without one they are lost, and counted.
    let mut writer = bench.writer(None);
    give(&mut writer, rows(0..4));
    let writing = Arc::clone(&writer.writing);
    writer.finish();
    assert_eq!((writing.report().counters.lost, writing.report().waiting), (4, 0));
}

#[test]
fn memory_is_bounded_where_nothing_can_be_written() {
    let bench = Bench::new();
    bench.is_full.store(true, Ordering::Relaxed);
    let mut writer = bench.writer(None);
    let many = 50_000;
    for at in 0..14 {
        give(&mut writer, rows(at * many..(at + 1) * many));
        writer.commit();
    }
    let report = writer.writing.report();
    assert_eq!((report.waiting, report.counters.lost), (ROWS_WAITING_MAX, 4 * 50_000));
    bench.is_full.store(false, Ordering::Relaxed);
    writer.finish();
    // The oldest are lost.
    assert_eq!((bench.kept().len(), bench.kept()[0]), (ROWS_WAITING_MAX, 4 * many));
}

#[test]
fn rows_written_twice_are_one_in_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("store");
    let journal = || Journal::open(folder.path()).unwrap();
    let (mut first, _) = journal();
    first.append(&rows(0..7)).unwrap();
    // The store committed, and the program ended before the journal knew.
    let mut store = Store::open(&at, Access::Write).unwrap();
    store.write(&rows(0..7)).unwrap();
    store.commit().unwrap();
    drop(first);
    let (again, found) = journal();
    assert_eq!(found.rows, 7);
    Writer::new(store, Some(again), Arc::default()).finish();
    let store = Store::open(&at, Access::Read).unwrap();
    assert_eq!(store.losses(&Query::default()).unwrap().rows.len(), 7);
    assert!(journal().0.is_empty());
}

#[test]
fn what_a_day_refuses_is_not_stored_and_counts_once() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("1970-01-01.sqlite"), "no database at all").unwrap();
    let store = Store::open(folder.path(), Access::Write).unwrap();
    let mut writer = Writer::new(store, None, Arc::default());
    let next_day = 86_400_000_000_000;
    let give = |writer: &mut Writer<Store>, rows: Rows| {
        writer.writing.with(|state| state.report.waiting += rows.count());
        writer.take(rows);
        writer.commit();
        let counters = writer.writing.report().counters;
        (counters.written, counters.refused)
    };
    assert_eq!(give(&mut writer, rows(0..3)), (0, 3));
    let why = writer.writing.report().refused.unwrap();
    assert!(why.contains("1970-01-01.sqlite: "), "{why}");
    assert_eq!(give(&mut writer, rows(next_day..next_day + 4)), (4, 3));
    assert_eq!(give(&mut writer, rows(next_day - 2..next_day + 1)), (5, 5));
}

fn charges(numbers: core::ops::Range<u32>) -> Rows {
    let charge = |number| Charge { id: Id::derive(0, &u64::from(number).to_le_bytes()), number, ..Charge::default() };
    Rows { charges: numbers.map(charge).collect(), ..Rows::default() }
}

#[test]
fn who_keeps_rows_waits_until_they_are_committed_by_the_one_writer() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), Access::Write).unwrap();
    let (mut out, thread) = start(Some(store), None).unwrap();
    let asking = Asking::of(&out);
    // The writer holds the day: what it was given is not committed yet, and need not be for a second.
    out.rows(rows(0..3)).unwrap();
    let asked = Instant::now();
    assert_eq!(asking.put(charges(0..5)), Ok(0));
    assert!(asked.elapsed() < PATIENCE);
    let read = Store::open(folder.path(), Access::Read).unwrap();
    assert_eq!(read.charges(&Query::default()).unwrap().rows.len(), 5);
    // What comes again is there once.
    assert_eq!(asking.put(charges(3..6)), Ok(0));
    assert_eq!(read.charges(&Query::default()).unwrap().rows.len(), 6);
    let writing = out.writing();
    drop(out);
    assert!(!thread.is_finished(), "who asks is waited for");
    drop(asking);
    thread.join().unwrap();
    assert_eq!(read.losses(&Query::default()).unwrap().rows.len(), 3);
    let counters = writing.report().counters;
    assert_eq!((counters.written, counters.refused), (3, 0));
}

#[test]
fn what_the_store_does_not_take_stays_with_its_giver() {
    let bench = Bench::new();
    let mut writer = bench.writer(Some(bench.journal().0));
    let asks = |writer: &mut Writer<Frail>, rows: Rows| {
        let told = asked::ask(&writer.writing, rows).unwrap();
        writer.answer();
        told.recv().unwrap()
    };
    give(&mut writer, rows(0..2));
    assert_eq!(asks(&mut writer, rows(10..12)), Ok(0));
    assert_eq!(bench.kept(), [0, 1, 10, 11], "what came before is committed before");
    bench.is_full.store(true, Ordering::Relaxed);
    give(&mut writer, rows(2..4));
    assert_eq!(asks(&mut writer, rows(12..14)), Err("disk full".to_owned()));
    let report = writer.writing.report();
    assert_eq!((report.journal_rows, report.counters.written), (2, 2), "the journal has its own rows alone");
    bench.is_full.store(false, Ordering::Relaxed);
    assert_eq!(asks(&mut writer, rows(12..14)), Err("disk full".to_owned()), "it is left alone for a moment");
    writer.failed = Some(Instant::now().checked_sub(RETRY).unwrap());
    assert_eq!(asks(&mut writer, rows(12..14)), Ok(0));
    assert!(writer.failed.is_none() && writer.writing.report().error.is_none());
    writer.finish();
    assert_eq!(bench.kept(), [0, 1, 10, 11, 12, 13, 2, 3]);
}

#[test]
fn nobody_waits_for_a_writer_that_is_gone() {
    // Without a store nobody is answered, and everybody is told so.
    let (out, thread) = start(None, None).unwrap();
    let asking = Asking::of(&out);
    while !out.writing.with(|state| state.closed) {
        std::thread::yield_now();
    }
    assert!(asking.put(charges(0..1)).is_err());
    drop((out, asking));
    thread.join().unwrap();
    // What waits when the thread fails is told so, too.
    let writing = Arc::<Writing>::default();
    let asking = Asking::of(&RowsOut::new(&writing));
    let waits = std::thread::spawn(move || asking.put(charges(0..1)));
    while writing.with(|state| state.asked.is_empty()) {
        std::thread::yield_now();
    }
    drop(Closing(Arc::clone(&writing)));
    assert!(waits.join().unwrap().is_err());
}
