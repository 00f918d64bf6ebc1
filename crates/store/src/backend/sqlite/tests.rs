//! Readers beside a writer: what only this backend has to show.

use super::{Sqlite, open};
use crate::backend::Backend;
use crate::row::{Call, Rows, Stream};
use crate::store::{Access, Query, SqlLimits};
use crate::summary::SummaryQuery;
use crate::time::{DAY_NS, Day};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::path::Path;
use trunkline_kit::Id;

const DAY: i64 = 1_795_132_800_000_000_000;

fn call(n: i64) -> Call {
    let start_ns = DAY + n % 3 * DAY_NS + n * 10_000_000;
    let id = Id::derive(start_ns, &n.to_le_bytes());
    Call { id, start_ns, last_ns: start_ns, from: n.to_string(), reason: "x".repeat(300), ..Call::default() }
}

fn write(store: &mut Sqlite, calls: impl Iterator<Item = i64>) {
    store.write(&Rows { calls: calls.map(call).collect(), ..Rows::default() }).unwrap();
    store.commit().unwrap();
}

fn log_octets(folder: &Path, day: &str) -> u64 {
    std::fs::metadata(folder.join(format!("{day}.sqlite-wal"))).map_or(0, |m| m.len())
}

/// Tells readers to end, also where the writer fails.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// As the web does: each question opens a store for itself. Days come, grow and go meanwhile.
#[test]
fn short_readers_see_days_come_and_go() {
    let folder = tempfile::tempdir().unwrap();
    let (done, asked) = (AtomicBool::new(false), AtomicU64::new(0));
    let read = || {
        let mut most = 0;
        while !done.load(Ordering::Relaxed) {
            let reader = Sqlite::open(folder.path(), Access::Read).unwrap();
            let page = reader.calls(&Query { limit: 200, ..Query::default() }).unwrap();
            assert_eq!(page.skipped, []);
            assert!(page.rows.is_sorted_by_key(|c| -c.start_ns));
            // The last day only grows.
            let query = SummaryQuery { from_ns: DAY + 2 * DAY_NS, ..SummaryQuery::default() };
            let summary = reader.summary(&query).unwrap();
            assert!(summary.exact && summary.skipped.is_empty() && summary.totals.started >= most);
            most = summary.totals.started;
            asked.fetch_add(1, Ordering::Relaxed);
        }
    };
    std::thread::scope(|threads| {
        for _ in 0..3 {
            threads.spawn(read);
        }
        let ends = Ends(&done);
        let mut writer = Sqlite::open(folder.path(), Access::Write).unwrap();
        let mut first = 0;
        while first < 6000 || asked.load(Ordering::Relaxed) < 30 {
            write(&mut writer, first..first + 60);
            first += 60;
            if first % 600 == 0 {
                writer.drop_day(Day::of(DAY)).unwrap();
            }
            for day in ["2026-11-20", "2026-11-21", "2026-11-22"] {
                assert!(log_octets(folder.path(), day) < 3 * open::LOG_OCTETS_MAX);
            }
        }
        drop(ends);
        writer.drop_day(Day::of(DAY)).unwrap();
    });
    let left = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    let left: Vec<String> = left.filter(|name| name.starts_with("2026-11-20")).collect();
    assert_eq!(left, Vec::<String>::new(), "nothing is left of a day that was dropped");
    let page = Sqlite::open(folder.path(), Access::Read).unwrap().calls(&Query::default()).unwrap();
    assert_eq!((page.skipped.len(), page.rows.len()), (0, 100));
}

/// A reader that stays keeps the log from being begun anew; it grows by what is written meanwhile, and no longer.
#[test]
fn the_log_shrinks_when_a_long_reader_ends() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Sqlite::open(folder.path(), Access::Write).unwrap();
    write(&mut writer, (0..300).map(|n| n * 3));
    let reader = Sqlite::open(folder.path(), Access::Read).unwrap();
    let (mut next, mut rows) = (300, 0);
    reader
        .sql("SELECT id FROM calls", &SqlLimits::default(), &mut |_, _| {
            if rows == 0 {
                while log_octets(folder.path(), "2026-11-20") < 3 * open::LOG_OCTETS_MAX {
                    write(&mut writer, (next..next + 200).map(|n| n * 3));
                    next += 200;
                }
            }
            rows += 1;
            true
        })
        .unwrap();
    assert_eq!(rows, 300, "what was there when it began");
    for _ in 0..200 {
        write(&mut writer, (next..next + 200).map(|n| n * 3));
        next += 200;
    }
    assert!(log_octets(folder.path(), "2026-11-20") < 2 * open::LOG_OCTETS_MAX);
    let summary = reader.summary(&SummaryQuery::default()).unwrap();
    assert_eq!(summary.totals.started, next);
}

/// Calls over a day and some of the next, in the order of their end, with some that are completed later.
fn write_slices(folder: &Path) {
    let mut writer = Sqlite::open(folder, Access::Write).unwrap();
    let numbered = |n: i64, seen_ns: i64| {
        let start_ns = DAY + n * 47_000_000_000;
        let id = Id::derive(start_ns, &n.to_le_bytes());
        let mos = Some(2.0 + (n % 20) as f32 / 10.0);
        Call { id, start_ns, last_ns: start_ns + seen_ns, from: format!("+44{n:05}"), mos, ..Call::default() }
    };
    for first in (0..2500).step_by(150) {
        let calls =
            (first..first + 150).map(|n| numbered(n, 1)).chain((first - 40..first).step_by(7).map(|n| numbered(n, 2)));
        writer.write(&Rows { calls: calls.filter(|c| c.start_ns >= DAY).collect(), ..Rows::default() }).unwrap();
        writer.commit().unwrap();
    }
}

#[test]
fn what_is_noted_of_slices_is_what_there_is() {
    let folder = tempfile::tempdir().unwrap();
    write_slices(folder.path());
    let mut slices = 0;
    for day in ["2026-11-20", "2026-11-21"] {
        let conn = rusqlite::Connection::open(folder.path().join(format!("{day}.sqlite"))).unwrap();
        let noted = || -> Vec<(i64, Vec<u8>)> {
            let mut select = conn.prepare("SELECT slice, octets FROM slices ORDER BY slice").unwrap();
            select.query_map([], |r| Ok((r.get(0)?, r.get(1)?))).unwrap().collect::<Result<_, _>>().unwrap()
        };
        let before = noted();
        conn.execute_batch("DELETE FROM slices").unwrap();
        super::slices::note_all(&conn).unwrap();
        assert_eq!(before, noted());
        slices += before.len();
    }
    assert!(slices > 144 + 40, "{slices}");
}

/// Where the index and the gists were taken away, a search is wrong only if it looks at them.
#[test]
fn a_search_looks_at_no_slice_that_cannot_have_what_it_looks_for() {
    let folder = tempfile::tempdir().unwrap();
    write_slices(folder.path());
    for day in ["2026-11-20", "2026-11-21"] {
        let conn = rusqlite::Connection::open(folder.path().join(format!("{day}.sqlite"))).unwrap();
        conn.execute_batch("DELETE FROM call_gists; DELETE FROM call_index").unwrap();
    }
    let skipped = |filter: &str| {
        let filter = Some(crate::Filter::parse(filter).unwrap());
        let store = Sqlite::open(folder.path(), Access::Read).unwrap();
        let summary = store.summary(&SummaryQuery { filter: filter.clone(), ..SummaryQuery::default() }).unwrap();
        assert_eq!(summary.totals.started, 0);
        let page = store.calls(&Query { filter, ..Query::default() }).unwrap();
        assert_eq!(page.rows, []);
        page.skipped.len()
    };
    for never in
        ["mos<1.9", "caller:+49*", "code:5xx", "duration>1s", "verdict:*", "mos<3 and number:0*", "caller:+441*"]
    {
        assert_eq!(skipped(never), 0, "{never}");
    }
    assert_eq!(skipped("caller:+4400007"), 1, "the index of the first day is missed; the second has no such number");
}

/// Two captures of two taps: the same media, and the signalling of another leg in each. Reading the second one takes
/// nothing away from the first.
#[test]
fn a_stream_stays_with_the_call_that_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Sqlite::open(folder.path(), Access::Write).unwrap();
    let stream = |packets| Stream { id: Id::derive(DAY, b"s"), first_ns: DAY, packets, ..Stream::default() };
    let leg = |n: i64, packets: u64| Call { streams: vec![stream(packets)], ..call(3 * n) };
    // Known without its call before.
    store.write(&Rows { streams: vec![stream(10)], ..Rows::default() }).unwrap();
    for (n, packets) in [(0, 20), (1, 30), (0, 20)] {
        store.write(&Rows { calls: vec![leg(n, packets)], ..Rows::default() }).unwrap();
        store.commit().unwrap();
        let packets = |n: i64| {
            let found = store.call_by_id(leg(n, 0).id).unwrap();
            found.map(|call| call.streams.iter().map(|s| s.packets).collect::<Vec<_>>())
        };
        assert_eq!(packets(0), Some(vec![20]));
        assert!(packets(1).is_none_or(|streams| streams.is_empty()));
    }
    // More of the same call.
    let more = Call { last_ns: DAY + 99, ..leg(0, 25) };
    store.write(&Rows { calls: vec![more], ..Rows::default() }).unwrap();
    store.commit().unwrap();
    assert_eq!(store.call_by_id(leg(0, 0).id).unwrap().unwrap().streams[0].packets, 25);
}
