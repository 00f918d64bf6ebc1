//! Rows that leave: what stays is what a store has that never had them.

use std::collections::BTreeSet;
use std::path::Path;
use trunkline_kit::Id;
use trunkline_store::removal::{Chosen, Class};
use trunkline_store::row::*;
use trunkline_store::time::{DAY_NS, Day, SECOND_NS};
use trunkline_store::{Access, Filter, Query, SqlLimits, SqlValue, Store, StoreError, SummaryQuery};

const DAY: i64 = 1_795_132_800_000_000_000;
/// Who is to be forgotten.
const NUMBER: &str = "+4420700123";

/// Rows of three days: every seventh names the number, in one place or another; streams lie behind midnight.
fn rows(keep: impl Fn(i64) -> bool) -> Rows {
    let mut rows = Rows::default();
    for n in (0..210).filter(|n| keep(*n)) {
        let start_ns = DAY + n % 3 * DAY_NS + DAY_NS - (211 - n) * 40 * SECOND_NS;
        let id = |what: &[u8]| Id::derive(start_ns, &[what, &n.to_le_bytes()].concat());
        let named =
            |place: i64, other: &str| if n % 28 == place * 7 { NUMBER.to_owned() } else { format!("{other}{n}") };
        let first_ns = start_ns + 60 * SECOND_NS;
        let stream = Stream { id: Id::derive(first_ns, &n.to_le_bytes()), call: Some(id(b"c")), ..Stream::default() };
        let stream = Stream { first_ns, last_ns: first_ns, packets: 50, codec: "PCMA".into(), ..stream };
        rows.intervals.push(StreamInterval { stream: stream.id, start_ns: first_ns, ..StreamInterval::default() });
        let numbers = (n % 28 == 21).then(|| OtherNumber { number: NUMBER.into(), ..OtherNumber::default() });
        rows.calls.push(Call {
            id: id(b"c"),
            from: named(0, "caller"),
            to: named(1, "callee"),
            numbers: numbers.into_iter().collect(),
            sip_call_id: format!("{n}@x"),
            user_agent: format!("Phone {}", n % 4),
            start_ns,
            last_ns: start_ns + SECOND_NS,
            mos: Some(1.0 + (n % 30) as f32 / 10.0),
            streams: vec![stream],
            ..Call::default()
        });
        let user = named(2, "user");
        rows.registrations.push(Registration { id: id(b"r"), start_ns, user, ..Registration::default() });
        let from = named(3, "from");
        rows.events.push(SipEvent { id: id(b"e"), start_ns, from, ..SipEvent::default() });
        rows.losses.push(Loss { since_ns: start_ns, source: format!("eth{}", n % 2), ..Loss::default() });
    }
    rows
}

fn written(folder: &Path, rows: &Rows) -> Store {
    let mut store = Store::open(folder, Access::Write).unwrap();
    store.write(rows).unwrap();
    store.commit().unwrap();
    assert_eq!((store.skipped(), store.written().refused), (vec![], 0));
    store
}

/// What a store says of its rows.
fn told(folder: &Path) -> Vec<String> {
    let store = Store::open(folder, Access::Read).unwrap();
    let mut told = vec![];
    let filters = ["mos<2 and ua:\"Phone 1\"", "caller:caller1*", "number:*00123", "number:+4420700123", "callee:*7"];
    for filter in filters.iter().map(|f| Some(Filter::parse(f).unwrap())).chain([None]) {
        let summary = store.summary(&SummaryQuery { filter: filter.clone(), ..SummaryQuery::default() }).unwrap();
        told.push(format!("{:?}", (summary.totals, summary.buckets, summary.skipped)));
        let calls = store.calls(&Query { filter, limit: 1000, ..Query::default() }).unwrap();
        told.push(format!("{:?}", (calls.rows, calls.skipped)));
    }
    for table in trunkline_store::schema::TABLES {
        let mut rows = vec![];
        let text = format!("SELECT * FROM {}", table.name);
        let mut keep = |_: &[String], values: &[SqlValue]| {
            rows.push(format!("{values:?}"));
            true
        };
        store.sql(&text, &SqlLimits::default(), &mut keep).unwrap();
        rows.sort();
        told.push(format!("{}: {rows:?}", table.name));
    }
    told
}

fn octets(folder: &Path) -> u64 {
    std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).sum()
}

/// Whether a text stands anywhere in the files, also where nothing points to any more.
fn stands(folder: &Path, text: &str) -> bool {
    let mut files = std::fs::read_dir(folder).unwrap().map(|file| std::fs::read(file.unwrap().path()).unwrap());
    files.any(|file| file.windows(text.len()).any(|part| part == text.as_bytes()))
}

#[test]
fn who_is_forgotten_was_never_there() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut store = written(folder.path(), &rows(|_| true));
    drop(written(other.path(), &rows(|n| n % 7 != 0)));
    assert!(stands(folder.path(), NUMBER));
    let (mut chosen, skipped) = store.chosen_of("4420700123").unwrap();
    assert_eq!(skipped, []);
    let by = |place: i64| (0..210).filter(|n| n % 28 == place * 7).count();
    assert_eq!(
        (chosen.calls.len(), chosen.registrations.len(), chosen.events.len()),
        (by(0) + by(1) + by(3), by(2), by(3))
    );
    // The rest of what belongs to them, so that the other store is the truth of all tables.
    let all = rows(|n| n % 7 == 0);
    chosen.calls.extend(all.calls.iter().map(|c| c.id));
    chosen.registrations.extend(all.registrations.iter().map(|r| r.id));
    chosen.events.extend(all.events.iter().map(|e| e.id));
    let gone = store.remove_rows(&chosen).unwrap();
    assert_eq!((gone.calls, gone.streams, gone.intervals, gone.events), (30, 30, 30, 60));
    drop(store);
    let sans_losses = |folder: &Path| told(folder).into_iter().filter(|t| !t.starts_with("losses")).collect::<Vec<_>>();
    assert_eq!(sans_losses(folder.path()), sans_losses(other.path()));
    assert!(!stands(folder.path(), NUMBER) && !stands(folder.path(), &NUMBER[1..]));
    let mut store = Store::open(folder.path(), Access::Write).unwrap();
    assert!(store.chosen_of(NUMBER).unwrap().0.is_empty());
    // They may come again, and others with them.
    store.write(&rows(|_| true)).unwrap();
    store.commit().unwrap();
    let again = tempfile::tempdir().unwrap();
    drop(written(again.path(), &rows(|_| true)));
    assert_eq!(told(folder.path()), told(again.path()));
}

#[test]
fn a_class_leaves_before_the_others_and_the_file_gets_smaller() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = written(folder.path(), &rows(|_| true));
    let day = Day::of(DAY + DAY_NS);
    let count = |store: &Store, table: &str| {
        let mut rows = -1;
        let (from_ns, to_ns) = (day.start_ns(), day.end_ns());
        let limits = SqlLimits { from_ns, to_ns, ..SqlLimits::default() };
        let text = format!("SELECT count(*) FROM {table}");
        let mut keep = |_: &[String], row: &[SqlValue]| {
            rows = if let SqlValue::Whole(n) = row[0] { n } else { -1 };
            true
        };
        store.sql(&text, &limits, &mut keep).unwrap();
        rows
    };
    let held = store.held(day).unwrap().unwrap();
    for (class, rows) in [(Class::Calls, 70), (Class::Events, 140), (Class::Losses, 70), (Class::Charges, 0)] {
        assert_eq!(held.of(class).rows, rows, "{}", class.name());
        assert!(held.of(class).octets > 0 && held.of(class).octets < held.octets);
    }
    let before = octets(folder.path());
    let gone = store.remove_classes(day, &[Class::Streams, Class::Intervals]).unwrap();
    assert_eq!((gone.streams, gone.calls, gone.days), (held.of(Class::Streams).rows, 0, 0));
    let call = store.calls(&Query { to_ns: day.end_ns(), limit: 1, ..Query::default() }).unwrap().rows.remove(0);
    assert!(call.streams.is_empty() && call.mos.is_some(), "a call keeps its own figures");
    let gone = store.remove_classes(day, &[Class::Calls]).unwrap();
    assert_eq!((gone.calls, count(&store, "calls"), count(&store, "minutes")), (70, 0, 0));
    assert_eq!((count(&store, "registrations"), count(&store, "losses")), (70, 70));
    assert!(octets(folder.path()) < before);
    // The last class takes the day along.
    let gone = store.remove_classes(day, &[Class::Events, Class::Losses]).unwrap();
    assert_eq!((gone.events, gone.losses, gone.days), (140, 70, 1));
    assert_eq!(store.days().unwrap().iter().filter(|d| **d == day).count(), 0);
    assert_eq!(store.summary(&SummaryQuery::default()).unwrap().totals.started, 140);
}

/// What a capture brings that is there already is not its own: it stays when the capture is removed.
#[test]
fn only_what_a_capture_brought_goes_with_it() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut store = written(folder.path(), &rows(|n| n % 3 == 0));
    drop(written(other.path(), &rows(|n| n % 3 == 0)));
    let mut own = Chosen { loss_sources: BTreeSet::from(["x.pcap".to_owned()]), ..Chosen::default() };
    let more = Rows { losses: vec![], ..rows(|n| n % 2 == 0) };
    for _ in 0..2 {
        store.add_unknown(&more, &mut own).unwrap();
        store.write(&more).unwrap();
        store.commit().unwrap();
    }
    let loss = Loss { since_ns: DAY, source: "x.pcap".into(), count: 7, ..Loss::default() };
    store.write(&Rows { losses: vec![loss], ..Rows::default() }).unwrap();
    store.commit().unwrap();
    assert_eq!(own.calls.len(), 70);
    let gone = store.remove_rows(&own).unwrap();
    assert_eq!((gone.calls, gone.events, gone.losses), (70, 140, 1));
    assert_eq!(told(folder.path()), told(other.path()));
    assert_eq!(store.remove_rows(&own).unwrap().rows(), 0, "twice is as once");
}

/// A day that goes while another store has it open takes no rows along that come later.
// Test group: waits: for a lock that is held
#[test]
fn rows_of_a_day_that_another_removes_are_not_lost() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = written(folder.path(), &rows(|n| n == 0));
    let mut other = Store::open(folder.path(), Access::Write).unwrap();
    other.drop_day(Day::of(DAY)).unwrap();
    let rows = rows(|n| n == 3);
    writer.write(&rows).unwrap();
    writer.commit().unwrap();
    assert_eq!(other.calls(&Query::default()).unwrap().rows, rows.calls);
    // Whoever writes holds it.
    writer.write(&self::rows(|n| n == 6)).unwrap();
    let busy = std::thread::spawn(move || other.drop_day(Day::of(DAY))).join().unwrap();
    assert!(matches!(busy, Err(StoreError::Busy { .. })), "{busy:?}");
    writer.commit().unwrap();
    assert_eq!(writer.calls(&Query::default()).unwrap().rows.len(), 2);
}

#[test]
fn wild_times_make_few_days_and_small_ones() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(folder.path(), Access::Load).unwrap();
    store.limit_new_days(30);
    let loss = |n: i64| Loss { since_ns: DAY + n * DAY_NS, place: "ring".into(), ..Loss::default() };
    store.write(&Rows { losses: (0..300).map(loss).collect(), ..Rows::default() }).unwrap();
    store.commit().unwrap();
    assert_eq!((store.written().refused, store.days().unwrap().len()), (270, 30));
    let skipped = store.skipped();
    assert!(
        skipped.len() == 1 && skipped[0].why.contains("270 days, 2026-12-20 to 2027-09-15, not made"),
        "{skipped:?}"
    );
    // Days that are there take rows all the same.
    let more = Loss { place: "card".into(), ..loss(3) };
    store.write(&Rows { losses: vec![more], ..Rows::default() }).unwrap();
    store.commit().unwrap();
    assert_eq!(store.written().refused, 270);
    drop(store);
    assert!(octets(folder.path()) < 30 * 100_000, "{}", octets(folder.path()));
    let store = Store::open(folder.path(), Access::Read).unwrap();
    assert_eq!(store.losses(&Query { limit: 100, ..Query::default() }).unwrap().rows.len(), 31);
}
