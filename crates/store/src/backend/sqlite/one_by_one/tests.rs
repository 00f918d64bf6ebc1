//! Days one by one give what days that are attached give.

use crate::backend::Backend;
use crate::backend::sqlite::{Sqlite, sql};
use crate::error::StoreError;
use crate::row::*;
use crate::store::{Access, SqlDone, SqlLimits, SqlValue};
use crate::time::{DAY_NS, Day, SECOND_NS};
use std::path::PathBuf;
use std::time::Duration;
use trunkline_kit::Id;

const DAY: i64 = 1_795_132_800_000_000_000;
const DAYS: i64 = 7;

/// Rows of all kinds over seven days, one of them without calls; a stream each that lies in the day before its own.
fn rows() -> Rows {
    let mut rows = Rows::default();
    for n in 0..70 {
        let start_ns = DAY + n % DAYS * DAY_NS + DAY_NS - (n + 1) * SECOND_NS;
        let id = |what: &[u8]| Id::derive(start_ns, &[what, &n.to_le_bytes()].concat());
        let (call, name) = (id(b"call"), if n % 2 == 0 { "Alice" } else { "alice" });
        let stream = Stream {
            id: Id::derive(start_ns + 60 * SECOND_NS, &n.to_le_bytes()),
            call: Some(call),
            codec: "PCMA".into(),
            first_ns: start_ns + 60 * SECOND_NS,
            last_ns: start_ns + 90 * SECOND_NS,
            packets: n as u64,
            jitter_mean_ms: n as f64 / 3.0,
            ..Stream::default()
        };
        let interval = StreamInterval { stream: stream.id, start_ns: stream.first_ns, ..StreamInterval::default() };
        rows.intervals.extend((0..3).map(|index| StreamInterval { index, ..interval }));
        if n % DAYS != 3 {
            let (from, to) = (name.to_owned(), format!("{}", n % 9));
            let (user_agent, sip_call_id) = (format!("Phone {}", n % 4), format!("{n}@x"));
            let code = 200 + (n % 3) as u16 * 100;
            let (last_ns, streams) = (start_ns + 90 * SECOND_NS, vec![stream]);
            let answer_ns = (n % 3 == 0).then_some(start_ns + SECOND_NS);
            let call = Call {
                id: call,
                from,
                to,
                user_agent,
                sip_call_id,
                code,
                start_ns,
                answer_ns,
                last_ns,
                ..Call::default()
            };
            rows.calls.push(Call { streams, ..call });
        }
        rows.registrations.push(Registration { id: id(b"r"), start_ns, user: name.into(), ..Registration::default() });
        rows.events.push(SipEvent { id: id(b"e"), start_ns, method: "OPTIONS".into(), ..SipEvent::default() });
        rows.charges.push(Charge { id: id(b"c"), start_ns, money: n, node: "ocs".into(), ..Charge::default() });
        rows.losses.push(CaptureLossOf(n, start_ns).into());
    }
    rows
}

struct CaptureLossOf(i64, i64);

impl From<CaptureLossOf> for Loss {
    fn from(CaptureLossOf(n, since_ns): CaptureLossOf) -> Loss {
        let (place, source) = ("ring".to_owned(), format!("eth{}", n % 2));
        Loss { place, source, since_ns, at_ns: since_ns + SECOND_NS, count: n as u64 }
    }
}

fn stored() -> (tempfile::TempDir, Vec<(Day, PathBuf)>) {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Sqlite::open(folder.path(), Access::Write).unwrap();
    store.write(&rows()).unwrap();
    store.commit().unwrap();
    let days = store.days().unwrap().into_iter().map(|day| (day, store.path(day))).collect();
    (folder, days)
}

type Answer = (Vec<String>, Vec<Vec<SqlValue>>, Result<SqlDone, StoreError>);

fn ask(attached_max: usize, days: &[(Day, PathBuf)], text: &str, limits: &SqlLimits) -> Answer {
    let (mut titles, mut rows) = (vec![], vec![]);
    let conn = rusqlite::Connection::open_in_memory().unwrap();
    let done = sql::run_within(attached_max, conn, days, text, limits, &mut |names, values| {
        titles = names.to_vec();
        rows.push(values.to_vec());
        true
    });
    (titles, rows, done)
}

/// Each has an order of its own.
const STATEMENTS: [&str; 22] = [
    "SELECT * FROM calls ORDER BY id",
    "SELECT * FROM streams ORDER BY id",
    "SELECT * FROM stream_intervals ORDER BY stream, number",
    "SELECT * FROM registrations ORDER BY id",
    "SELECT * FROM sip_events ORDER BY id",
    "SELECT * FROM losses ORDER BY since_ns, source",
    "SELECT * FROM minutes ORDER BY minute",
    "SELECT * FROM charges ORDER BY id",
    "SELECT count(*) FROM calls",
    "SELECT count(*), sum(money), avg(money), min(start), max(start) FROM charges",
    "SELECT code, user_agent, count(*), sum(duration) FROM calls GROUP BY 1, 2 ORDER BY 1, 2",
    "SELECT start, caller FROM calls WHERE caller = 'ALICE' AND code = '200' ORDER BY start_ns DESC LIMIT 7 OFFSET 2",
    "SELECT c.start, s.packets, s.jitter_mean_ms FROM calls c JOIN streams s ON s.call = c.id ORDER BY s.packets",
    "SELECT a.id, b.id FROM calls a JOIN calls b ON b.callee = a.callee AND b.start > a.start ORDER BY 1, 2",
    "SELECT r.id, c.id FROM registrations r LEFT JOIN calls c ON c.start_ns = r.start_ns ORDER BY 1, 2",
    "SELECT id, (SELECT count(*) FROM streams s WHERE s.call = c.id) FROM calls c ORDER BY id",
    "SELECT id, row_number() OVER (PARTITION BY callee ORDER BY start_ns), sum(code) OVER (ORDER BY start_ns) FROM calls \
     ORDER BY id",
    "SELECT DISTINCT caller FROM calls ORDER BY caller COLLATE BINARY",
    "SELECT source, count(*) FROM losses GROUP BY source HAVING count(*) > 3 UNION ALL SELECT node, money FROM charges \
     WHERE money > 66 ORDER BY 1, 2",
    "WITH calls AS (SELECT 7 AS id) SELECT id FROM calls",
    "SELECT id FROM calls WHERE id IN (SELECT call FROM streams WHERE packets > 60) ORDER BY id",
    "SELECT i.number, count(*) FROM stream_intervals i, streams s WHERE s.id = i.stream GROUP BY 1 ORDER BY 1",
];

#[test]
fn they_answer_as_days_that_are_attached() {
    let (_folder, days) = stored();
    assert_eq!(days.len(), DAYS as usize + 1, "intervals of the last streams begin on the next day");
    let (from_ns, to_ns) = (DAY + 2 * DAY_NS - 30 * SECOND_NS, DAY + 5 * DAY_NS - 20 * SECOND_NS);
    let span = SqlLimits { from_ns, to_ns, of_rows: true, ..SqlLimits::default() };
    for limits in [SqlLimits::default(), span] {
        for text in STATEMENTS {
            let (titles, rows, done) = ask(125, &days, text, &limits);
            assert!(!rows.is_empty(), "{text}");
            let one_by_one = ask(1, &days, text, &limits);
            assert_eq!((one_by_one.0, one_by_one.1), (titles, rows), "{text}");
            assert_eq!(one_by_one.2.unwrap(), done.unwrap());
        }
    }
}

#[test]
fn rows_of_a_span_are_those_that_begin_in_it() {
    let (_folder, days) = stored();
    let (from_ns, to_ns) = (DAY + DAY_NS, DAY + 2 * DAY_NS);
    let span = SqlLimits { from_ns, to_ns, of_rows: true, ..SqlLimits::default() };
    let starts: Vec<i64> = rows().calls.iter().flat_map(|c| &c.streams).map(|s| s.first_ns).collect();
    let truth = starts.iter().filter(|start| (from_ns..to_ns).contains(start)).count() as i64;
    for attached_max in [125, 1] {
        let (_, rows, _) =
            ask(attached_max, &days, "SELECT count(*), min(first_ns), max(first_ns) FROM streams", &span);
        assert!(
            matches!(rows[0][..], [SqlValue::Whole(n), SqlValue::Whole(first), SqlValue::Whole(last)]
            if n == truth && first >= from_ns && last < to_ns),
            "{rows:?}"
        );
    }
}

#[test]
fn what_is_wrong_is_told_and_nothing_can_be_changed() {
    let (_folder, days) = stored();
    for (text, why) in [
        ("SELECT nosuch FROM calls", "no such column: nosuch"),
        ("SELECT 1 FROM nosuch", "no such table: nosuch"),
        ("SELEC", "syntax error"),
        ("DELETE FROM calls", "cannot modify"),
        ("ATTACH 'x.db' AS x", "only SELECT"),
        ("SELECT 1; SELECT 2", "one statement"),
    ] {
        let told = ask(1, &days, text, &SqlLimits::default()).2.map(|_| ()).expect_err(text).to_string();
        assert!(told.contains(why), "{text}: {told}");
    }
    let at_once = SqlLimits { time_max: Duration::ZERO, ..SqlLimits::default() };
    let told = ask(1, &days, "SELECT count(*) FROM calls", &at_once).2.unwrap_err();
    assert!(matches!(&told, StoreError::Limit(text) if text.starts_with("took longer")), "{told}");
}

#[test]
fn a_day_that_cannot_be_read_is_told_once_and_the_others_are_read() {
    let (_folder, days) = stored();
    std::fs::write(&days[2].1, "not a database, but as long as the head of one is ......................").unwrap();
    let of = |text: &str| ask(1, &days, text, &SqlLimits::default());
    let (_, rows, done) =
        of("SELECT count(*) FROM registrations JOIN calls USING (id) UNION ALL SELECT count(*) FROM charges");
    assert_eq!(rows, [[SqlValue::Whole(0)], [SqlValue::Whole(60)]]);
    let skipped = done.unwrap().skipped;
    assert_eq!((skipped.len(), skipped[0].day), (1, days[2].0));
}

/// A few rows of very many days are there at once: what is behind them is not read.
#[test]
fn a_limit_ends_reading() {
    let (_folder, days) = stored();
    for (_, path) in &days[1..] {
        std::fs::write(path, "no day").unwrap();
    }
    let (_, rows, done) = ask(1, &days, "SELECT id FROM registrations LIMIT 5", &SqlLimits::default());
    assert_eq!((rows.len(), done.unwrap().skipped), (5, vec![]));
}

/// The days that once ended every statement: one more than SQLite attaches, and then some.
#[test]
fn there_may_be_any_number_of_days() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Sqlite::open(folder.path(), Access::Load).unwrap();
    let mut sum = 0;
    for days in [125, 126, 140] {
        let loss = |n: i64| Loss::from(CaptureLossOf(n, DAY + n * DAY_NS));
        store.write(&Rows { losses: (0..days).map(loss).collect(), ..Rows::default() }).unwrap();
        store.commit().unwrap();
        sum = (0..days).sum();
        let mut rows = vec![];
        let text = "SELECT count(*), sum(count), min(since), max(since) FROM losses";
        let done = store.sql(text, &SqlLimits::default(), &mut |_, values| {
            rows.push(values[..2].to_vec());
            true
        });
        assert_eq!(done.unwrap().rows, 1);
        assert_eq!(rows, [[SqlValue::Whole(days), SqlValue::Whole(sum)]]);
    }
    assert_eq!(sum, 139 * 70);
}
