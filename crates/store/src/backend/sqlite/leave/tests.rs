//! A year of days under retention.

use crate::backend::Backend;
use crate::backend::sqlite::{Sqlite, open};
use crate::removal::{Chosen, Class, DayHeld, Gone};
use crate::retention::{self, Rule, Rules};
use crate::row::*;
use crate::store::{Access, Query, SqlLimits};
use crate::summary::SummaryQuery;
use crate::time::{DAY_NS, Day, SECOND_NS};
use trunkline_kit::Id;

const DAY: i64 = 1_795_132_800_000_000_000;
const DAYS: i64 = 365;
/// A day of these rows has 280 KB.
const OCTETS: u64 = 24 * 280_000;

fn rows(day: i64) -> Rows {
    let mut rows = Rows::default();
    for n in 0..12 {
        let start_ns = DAY + day * DAY_NS + n * 7000 * SECOND_NS;
        let id = Id::derive(start_ns, b"call");
        let stream = Stream { id, call: Some(id), first_ns: start_ns, last_ns: start_ns, ..Stream::default() };
        rows.intervals.push(StreamInterval { stream: id, start_ns, ..StreamInterval::default() });
        rows.calls.push(Call { id, start_ns, last_ns: start_ns, streams: vec![stream], ..Call::default() });
        rows.losses.push(Loss { since_ns: start_ns, ..Loss::default() });
        rows.charges.push(Charge { id, start_ns, ..Charge::default() });
    }
    rows
}

/// What commands over one day's range open: a list, a summary, a statement.
fn opened_for(folder: &std::path::Path, day: i64) -> (u64, usize) {
    let before = open::OPENED.get();
    let store = Sqlite::open(folder, Access::Read).unwrap();
    let (from_ns, to_ns) = (DAY + day * DAY_NS, DAY + (day + 1) * DAY_NS);
    let calls = store.calls(&Query { from_ns, to_ns, ..Query::default() }).unwrap().rows.len();
    let summary = store.summary(&SummaryQuery { from_ns, to_ns, ..SummaryQuery::default() }).unwrap();
    assert_eq!(summary.totals.started, calls as i64);
    let limits = SqlLimits { from_ns, to_ns, of_rows: true, ..SqlLimits::default() };
    store.sql("SELECT count(*) FROM losses", &limits, &mut |_, _| true).unwrap();
    (open::OPENED.get() - before, calls)
}

// Test group: waits: syncs a thousand small files
#[test]
fn a_year_stays_within_its_retention() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Sqlite::open(folder.path(), Access::Write).unwrap();
    let days_ns = |days: i64| Some(days * DAY_NS);
    let rule = |class: &Class| match class {
        Class::Intervals => Rule { keep_age_ns: days_ns(3), ..Rule::default() },
        Class::Charges => Rule { keep_at_least_ns: days_ns(10), keep_age_ns: days_ns(20), ..Rule::default() },
        Class::Calls => Rule { keep_age_ns: days_ns(30), ..Rule::default() },
        _ => Rule::default(),
    };
    let rules = Rules { classes: Class::ALL.each_ref().map(rule), octets: Some(OCTETS) };
    let mut first = None;
    for day in 0..DAYS {
        store.write(&rows(day)).unwrap();
        store.commit().unwrap();
        let now_ns = DAY + (day + 1) * DAY_NS - SECOND_NS;
        let held: Vec<DayHeld> = (store.days().unwrap().into_iter()).filter_map(|d| store.held(d).unwrap()).collect();
        let plan = retention::plan(&held, &rules, retention::Now::believed(now_ns));
        assert_eq!((plan.over_octets, plan.days_ahead), (0, 0));
        for leave in &plan.leave {
            assert!(leave.class != Class::Charges || now_ns - leave.day.end_ns() >= 10 * DAY_NS);
            store.remove_classes(leave.day, &[leave.class]).unwrap();
        }
        let octets: u64 = store.days().unwrap().into_iter().map(|d| store.octets(d)).sum();
        assert!(octets <= OCTETS + 280_000, "{octets} octets on day {day}");
        if day == 1 {
            first = Some(opened_for(folder.path(), day));
        }
    }
    let (opened, calls) = opened_for(folder.path(), DAYS - 1);
    let (opened_first, calls_first) = first.unwrap();
    assert_eq!((calls, calls_first), (12, 12));
    assert!(opened * 10 <= opened_first * 12, "{opened_first} days opened at first, {opened} at last");
    let left = store.days().unwrap();
    assert!(left.len() >= 20 && left.len() <= 30, "{} days", left.len());
    assert!(store.held(Day::of(DAY + 362 * DAY_NS)).unwrap().unwrap().of(Class::Intervals).rows > 0);
    assert_eq!(store.held(Day::of(DAY + 359 * DAY_NS)).unwrap().unwrap().of(Class::Intervals).rows, 0);
}

/// Beside a reader, and after a removal that was ended behind its commit, the file is as it was before: its pages come
/// out of the log later. It is told, and settled by the next removal, though there is no row to be found any more.
// Test group: waits: for readers that do not let go
#[test]
fn what_left_is_told_as_long_as_it_stands_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let name = |n: usize| format!("+4420700{n:04}");
    let mut rows = rows(0);
    rows.calls.iter_mut().enumerate().for_each(|(n, call)| call.from = name(n));
    let mut store = Sqlite::open(folder.path(), Access::Write).unwrap();
    store.write(&rows).unwrap();
    store.commit().unwrap();
    drop(store);
    let path = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path());
    let path = path.into_iter().find(|path| path.extension().is_some_and(|ending| ending == "sqlite")).unwrap();
    let stands = |n: usize| {
        let octets = std::fs::read(&path).unwrap();
        octets.windows(12).any(|part| part == name(n).as_bytes())
    };
    let reader = rusqlite::Connection::open(&path).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    let calls: i64 = reader.query_row("SELECT count(*) FROM calls", [], |row| row.get(0)).unwrap();
    let mut store = Sqlite::open(folder.path(), Access::Write).unwrap();
    let chosen = store.chosen_of(&name(3)).unwrap().0;
    let gone = store.remove_rows(&chosen).unwrap();
    assert_eq!((calls, gone.calls, gone.unsettled), (12, 1, 1));
    assert!(stands(3) && store.chosen_of(&name(3)).unwrap().0.is_empty());
    assert_eq!(store.remove_rows(&Chosen::default()).unwrap().unsettled, 1);
    drop(reader);
    assert_eq!(store.remove_rows(&Chosen::default()).unwrap(), Gone::default());
    assert!(!stands(3) && stands(4));
}
