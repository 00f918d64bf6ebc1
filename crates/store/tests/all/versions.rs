//! Days of the version before: read as they are, and made of this version when they are written.

use std::path::Path;
use trunkline_kit::Id;
use trunkline_store::row::*;
use trunkline_store::schema;
use trunkline_store::{Access, Filter, Query, SqlLimits, SqlValue, Store, Summary, SummaryQuery};

const DAY: i64 = 1_795_132_800_000_000_000;

fn call(n: i64) -> Call {
    let start_ns = DAY + n * 7_000_000_000;
    Call {
        id: Id::derive(start_ns, &n.to_le_bytes()),
        from: format!("+44{n:04}"),
        start_ns,
        last_ns: start_ns,
        state: if n % 3 == 0 { CallState::Rejected } else { CallState::Completed },
        code: if n % 3 == 0 { 486 } else { 200 },
        answer_ns: (n % 3 > 0).then_some(start_ns),
        mos: (n % 3 > 0).then_some(1.0 + (n % 30) as f32 / 10.0),
        verdict: (n % 5 == 0).then(|| Verdict { kind: "loss".into(), ..Verdict::default() }),
        ..Call::default()
    }
}

fn write(folder: &Path, calls: impl Iterator<Item = i64>) {
    let mut store = Store::open(folder, Access::Write).unwrap();
    store.write(&Rows { calls: calls.map(call).collect(), ..Rows::default() }).unwrap();
    store.commit().unwrap();
    assert_eq!((store.skipped(), store.written().refused), (vec![], 0));
}

/// Makes of a day one of an older version: 6 knew no other numbers, 5 no charges, 4 noted nothing of slices and did
/// not know the transit of intervals, 3 had no gists and knew less of minutes.
fn make_older(folder: &Path, version: i64) {
    let conn = rusqlite::Connection::open(folder.join("2026-11-20.sqlite")).unwrap();
    if version < schema::VERSION_CHARGES {
        conn.execute_batch("DROP TABLE charges").unwrap();
    }
    for later in schema::LATER.iter().filter(|later| version < later.version) {
        conn.execute_batch(&format!("ALTER TABLE {} DROP COLUMN {}", later.table, later.column)).unwrap();
    }
    if version < schema::VERSION_SLICES {
        conn.execute_batch("DROP TABLE slices").unwrap();
    }
    if version < schema::VERSION_GISTS {
        conn.execute_batch("DROP TABLE call_gists").unwrap();
    }
    conn.pragma_update(None, "user_version", version).unwrap();
}

/// An interval of the stream of call `n`.
fn interval(n: i64, transit: Option<Transit>) -> StreamInterval {
    let stream = Id::derive(DAY + n * 7_000_000_000, b"stream");
    StreamInterval { stream, packets: 500, mos: Some(4.4), transit, ..StreamInterval::default() }
}

#[test]
fn intervals_of_an_older_day_have_no_transit_and_new_ones_do() {
    let transit = Some(Transit { min_ms: 0.5, mean_ms: 2.0, max_ms: 30.0 });
    for older in [3, 4] {
        let folder = tempfile::tempdir().unwrap();
        let intervals = vec![interval(0, transit)];
        let mut store = Store::open(folder.path(), Access::Write).unwrap();
        store.write(&Rows { intervals, calls: vec![call(0)], ..Rows::default() }).unwrap();
        store.commit().unwrap();
        drop(store);
        make_older(folder.path(), older);
        let store = Store::open(folder.path(), Access::Read).unwrap();
        assert_eq!(store.intervals(interval(0, None).stream).unwrap(), [interval(0, None)]);
        let mut values = vec![];
        let sql = "SELECT transit_max_ms, mos FROM stream_intervals";
        let mut keep = |_: &[String], row: &[SqlValue]| {
            values = row.to_vec();
            true
        };
        store.sql(sql, &SqlLimits::default(), &mut keep).unwrap();
        assert!(matches!(values[..], [SqlValue::Null, SqlValue::Real(_)]), "{values:?}");
        drop(store);
        let mut store = Store::open(folder.path(), Access::Write).unwrap();
        store.write(&Rows { intervals: vec![interval(1, transit)], ..Rows::default() }).unwrap();
        store.commit().unwrap();
        drop(store);
        assert_eq!(version(folder.path()), schema::VERSION);
        let store = Store::open(folder.path(), Access::Read).unwrap();
        assert_eq!(store.intervals(interval(0, None).stream).unwrap(), [interval(0, None)]);
        assert_eq!(store.intervals(interval(1, None).stream).unwrap(), [interval(1, transit)]);
    }
}

#[test]
fn an_older_day_has_no_charges_and_takes_them() {
    let charge = |n: i64| Charge { id: Id::derive(DAY + n, b"c"), start_ns: DAY + n, number: 7, ..Charge::default() };
    for older in [3, 4, 5] {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), 0..9);
        make_older(folder.path(), older);
        let store = Store::open(folder.path(), Access::Read).unwrap();
        assert_eq!(store.charges(&Query::default()).unwrap().rows, []);
        let mut rows = 0;
        let sql = "SELECT number FROM charges UNION ALL SELECT NULL FROM calls";
        let mut count = |_: &[String], _: &[SqlValue]| {
            rows += 1;
            true
        };
        store.sql(sql, &SqlLimits::default(), &mut count).unwrap();
        assert_eq!(rows, 9);
        drop(store);
        let mut store = Store::open(folder.path(), Access::Write).unwrap();
        for _ in 0..2 {
            store.write(&Rows { charges: vec![charge(1), charge(2)], ..Rows::default() }).unwrap();
            store.commit().unwrap();
        }
        drop(store);
        assert_eq!(version(folder.path()), schema::VERSION);
        let store = Store::open(folder.path(), Access::Read).unwrap();
        assert_eq!(store.charges(&Query::default()).unwrap().rows, [charge(2), charge(1)]);
        assert_eq!(store.calls(&Query::default()).unwrap().rows.len(), 9);
    }
}

fn version(folder: &Path) -> i64 {
    let conn = rusqlite::Connection::open(folder.join("2026-11-20.sqlite")).unwrap();
    conn.query_row("PRAGMA user_version", [], |r| r.get(0)).unwrap()
}

/// What a store answers: summaries, calls by filters, sums by SQL.
fn answers(folder: &Path) -> (Vec<Summary>, Vec<Vec<Id>>, Vec<SqlValue>) {
    let store = Store::open(folder, Access::Read).unwrap();
    let filters = ["mos<2 and not verdict:loss", "state:rejected", "caller:+44001*", "caller:*7", "not has:mos"];
    let filters: Vec<Option<Filter>> = filters.iter().map(|f| Some(Filter::parse(f).unwrap())).chain([None]).collect();
    let mut summaries = vec![];
    let mut found = vec![];
    for filter in filters {
        for (from_ns, to_ns) in [(i64::MIN, i64::MAX), (DAY + 777_777, DAY + 1_234_567_890_123)] {
            let query = SummaryQuery { filter: filter.clone(), from_ns, to_ns, ..SummaryQuery::default() };
            summaries.push(store.summary(&query).unwrap());
            let query = Query { filter: filter.clone(), from_ns, to_ns, limit: 10_000, ..Query::default() };
            found.push(store.calls(&query).unwrap().rows.iter().map(|c| c.id).collect());
        }
    }
    let mut sums = vec![];
    let sql = "SELECT sum(started), sum(answered), sum(coalesce(bad, 0) * 0) FROM minutes";
    store
        .sql(sql, &SqlLimits::default(), &mut |_, row| {
            sums = row.to_vec();
            true
        })
        .unwrap();
    (summaries, found, sums)
}

#[test]
fn an_older_day_answers_the_same_and_takes_new_calls() {
    for older_version in [3, 4, 5, 6] {
        let (older, now) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for folder in [older.path(), now.path()] {
            write(folder, 0..900);
        }
        make_older(older.path(), older_version);
        assert_eq!(answers(older.path()), answers(now.path()));
        assert_eq!(version(older.path()), older_version, "a reader changes nothing");
        // Into slices that are older, into new ones, and a call that is known but saw less before.
        for folder in [older.path(), now.path()] {
            write(folder, (0..900).step_by(9).map(|n| n + 100).chain(900..1300));
        }
        assert_eq!(version(older.path()), schema::VERSION);
        assert_eq!(answers(older.path()), answers(now.path()));
        assert_eq!(answers(older.path()).0[10].totals.started, 1300);
    }
}

#[test]
fn an_older_day_takes_calls_with_other_numbers() {
    let with = |n: i64| {
        let other = OtherNumber {
            role: NumberRole::DivertedFrom,
            number: format!("+3312{n}"),
            sent: format!("Diversion: <tel:+33-12{n}>"),
        };
        Call { numbers: vec![other], ..call(n) }
    };
    for older in [3, 4, 5, 6] {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), 0..900);
        make_older(folder.path(), older);
        let found = |text: &str| {
            let store = Store::open(folder.path(), Access::Read).unwrap();
            let filter = Some(Filter::parse(text).unwrap());
            store.calls(&Query { filter, limit: 10_000, ..Query::default() }).unwrap().rows
        };
        assert_eq!((found("number:+33*").len(), found("number:+440017").len()), (0, 1));
        assert_eq!(version(folder.path()), older, "a reader changes nothing");
        // Into slices that are older, and into new ones.
        let mut store = Store::open(folder.path(), Access::Write).unwrap();
        let calls: Vec<Call> = (0..30).map(|n| with(n * 30 + 903)).collect();
        store.write(&Rows { calls: calls.clone(), ..Rows::default() }).unwrap();
        store.commit().unwrap();
        drop(store);
        assert_eq!(version(folder.path()), schema::VERSION);
        assert_eq!(found("number:+33*").len(), 30);
        assert_eq!(found(&format!("number:{}", calls[3].numbers[0].number)), [calls[3].clone()]);
        assert_eq!(found("number:+440017"), [call(17)]);
        assert_eq!(found("number:*17 and not number:+33*").len(), 9);
    }
}
