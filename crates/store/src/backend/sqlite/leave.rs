//! Rows that leave a day: a class as a whole, or some rows.
//!
//! Classes go by DELETE, which of a whole table only frees its pages. What is derived of calls (index, gists, slices,
//! minutes) says nothing of single calls that could be taken out, so calls that stay are written anew as they were
//! written first. What was freed leaves the file with VACUUM. docs/decisions/0076.

use super::find::Wanted;
use super::read::DayReader;
use super::write::DayWriter;
use super::{Sqlite, open, sums};
use crate::backend::Backend;
use crate::error::{Skipped, StoreError};
use crate::filter::sql::Condition;
use crate::key;
use crate::removal::{Chosen, Class, DayHeld, Gone, Held};
use crate::row::Call;
use crate::schema::TABLES;
use crate::stop::Stop;
use crate::store::{Access, Order, Written};
use crate::time::Day;
use rusqlite::{Connection, params};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use trunkline_kit::Id;

/// Calls that are read and written anew at once.
const CALLS_AT_ONCE: usize = if cfg!(test) { 10 } else { 1000 };

/// Removes a day at once.
pub fn drop_day(store: &mut Sqlite, day: Day) -> Result<(), StoreError> {
    store.may_change()?;
    store.let_go(day);
    let path = store.path(day);
    // Nobody writes to it meanwhile; a day that is damaged goes without asking.
    let lock = open::lock(&path)?;
    // The log first: a file without its log is whole as of its last checkpoint, a log without its file is nothing.
    // And once more: a reader that opened the file in between makes an empty one.
    let log = ["-journal", "-wal", "-shm"].map(|suffix| open::beside(&path, suffix));
    {
        let _names = open::names_change();
        for path in log.iter().cloned().chain([sums::path(&path), path]) {
            remove_file(path)?;
        }
    }
    drop(lock);
    let _names = open::names_change();
    log.into_iter().try_for_each(remove_file)
}

fn remove_file(path: PathBuf) -> Result<(), StoreError> {
    match std::fs::remove_file(&path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(StoreError::Disk { path, cause: e.to_string() }),
        _ => Ok(()),
    }
}

/// Removes classes from a day.
pub fn remove_classes(store: &mut Sqlite, day: Day, leave: &[Class]) -> Result<Gone, StoreError> {
    store.may_change()?;
    store.let_go(day);
    let (mut gone, is_empty) = classes(&store.path(day), day, leave)?;
    if is_empty {
        drop_day(store, day)?;
        gone.days += 1;
    }
    Ok(gone)
}

/// Removes rows from all days.
pub fn remove_rows(store: &mut Sqlite, chosen: &Chosen) -> Result<Gone, StoreError> {
    store.may_change()?;
    let ids = [&chosen.calls, &chosen.streams, &chosen.registrations, &chosen.events, &chosen.charges];
    let mut days: BTreeSet<Day> = ids.into_iter().flatten().map(|id| key::day_of(*id)).collect();
    let there = store.days()?;
    if !chosen.loss_sources.is_empty() {
        days.extend(&there);
    }
    let (mut gone, mut streams, mut empty) = (Gone::default(), BTreeSet::new(), BTreeSet::new());
    let mut leave = |store: &mut Sqlite, day: Day, chosen: &Chosen, streams: &mut BTreeSet<Id>| {
        if there.contains(&day) {
            store.let_go(day);
            let (some, is_empty) = rows(&store.path(day), day, chosen, streams)?;
            gone.add(&some);
            empty.extend(is_empty.then_some(day));
        }
        Ok::<_, StoreError>(())
    };
    for day in days {
        leave(store, day, chosen, &mut streams)?;
    }
    // Intervals lie in the day of their stream, which may not be that of its call.
    let rest = Chosen { streams, ..Chosen::default() };
    for day in rest.streams.iter().map(|id| key::day_of(*id)).collect::<BTreeSet<Day>>() {
        leave(store, day, &rest, &mut BTreeSet::new())?;
    }
    for day in empty {
        drop_day(store, day)?;
        gone.days += 1;
    }
    // Those of a removal that was ended, too: what it took out is in their log, and before that in their file.
    for path in there.iter().map(|day| store.path(*day)) {
        gone.unsettled += u64::from(!open::fold_log(&path));
    }
    Ok(gone)
}

/// The rows of a number in all days.
pub fn chosen_of(store: &Sqlite, number: &str) -> Result<(Chosen, Vec<Skipped>), StoreError> {
    let mut chosen = Chosen::default();
    let skipped = store.each_day(Order::Oldest, i64::MIN, i64::MAX, |_, reader| {
        reader.add_rows_of(number, &mut chosen)?;
        Ok(true)
    })?;
    Ok((chosen, skipped))
}

/// Octets of a day's files.
pub fn octets(path: &Path) -> u64 {
    let files = [path.to_owned(), open::beside(path, "-wal")];
    files.iter().filter_map(|path| std::fs::metadata(path).ok()).map(|m| m.len()).sum()
}

/// What there is in a day; none if there is nothing to read.
pub fn held(path: &Path, day: Day) -> Result<Option<DayHeld>, StoreError> {
    let Some((conn, version)) = open::to_read(path)? else { return Ok(None) };
    let octets = octets(path);
    let read = || -> rusqlite::Result<DayHeld> {
        let mut held = DayHeld { day, octets, classes: Default::default() };
        for (class, held) in Class::ALL.iter().zip(&mut held.classes) {
            *held = held_of(&conn, version, *class)?;
        }
        Ok(held)
    };
    read().map(Some).map_err(|e| open::error(path, e))
}

fn held_of(conn: &Connection, version: i64, class: Class) -> rusqlite::Result<Held> {
    let mut held = Held::default();
    let is_there = |name: &&str| TABLES.iter().all(|table| table.name != *name || version >= table.since());
    for (n, table) in class.tables().iter().filter(|name| is_there(name)).enumerate() {
        // Rows of what is derived do not count; both tables of events do.
        if n == 0 || class == Class::Events {
            held.rows += conn.query_row(&format!("SELECT count(*) FROM {table}"), [], |r| r.get::<_, u64>(0))?;
        }
        let sizes = "SELECT coalesce(sum(pgsize), 0) FROM dbstat('main', 1) WHERE name = ? OR name IN \
                     (SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = ?)";
        held.octets += conn.query_row(sizes, [table, table], |r| r.get::<_, u64>(0))?;
    }
    Ok(held)
}

/// Removes classes from a day; whether nothing is left in it.
fn classes(path: &Path, day: Day, classes: &[Class]) -> Result<(Gone, bool), StoreError> {
    let mut writer = DayWriter::open(path, day, Access::Write)?;
    let gone = writer.change(|conn| {
        let mut gone = Gone::default();
        for class in classes {
            for (n, table) in class.tables().iter().enumerate() {
                let rows = conn.execute(&format!("DELETE FROM {table}"), [])? as u64;
                if n == 0 || *class == Class::Events {
                    *gone.of(*class) += rows;
                }
            }
            if *class == Class::Calls {
                gone.streams += conn.execute("DELETE FROM streams WHERE call_key IS NOT NULL", [])? as u64;
            }
        }
        Ok(gone)
    })?;
    let is_empty = writer.shrink()?;
    Ok((gone, is_empty))
}

/// Removes rows from a day. The intervals of streams that lie in other days are added to `streams`.
fn rows(path: &Path, day: Day, chosen: &Chosen, streams: &mut BTreeSet<Id>) -> Result<(Gone, bool), StoreError> {
    let mut writer = DayWriter::open(path, day, Access::Write)?;
    // Whatever ends it before the file is written anew: nothing is left where nothing points to.
    writer.change_on(|conn| conn.query_row("PRAGMA secure_delete = ON", [], |_| Ok(())))?;
    let mut gone = Gone::default();
    let has_calls = chosen.calls.iter().any(|id| key::day_of(*id) == day);
    if has_calls {
        without_calls(&mut writer, path, day, chosen, streams, &mut gone)?;
    }
    writer.change(|conn| {
        let delete = |table: &str, ids: &BTreeSet<Id>| -> rusqlite::Result<u64> {
            let column = if table == "stream_intervals" { "stream" } else { "id" };
            let mut delete = conn.prepare(&format!("DELETE FROM {table} WHERE {column} = ?"))?;
            let own = ids.iter().filter(|id| key::day_of(**id) == day);
            own.map(|id| delete.execute([id.octets()]).map(|rows| rows as u64)).sum()
        };
        gone.intervals += delete("stream_intervals", &chosen.streams)? + delete("stream_intervals", streams)?;
        delete("streams_elsewhere", streams)?;
        gone.streams += delete("streams", &chosen.streams)?;
        gone.events += delete("registrations", &chosen.registrations)? + delete("sip_events", &chosen.events)?;
        gone.charges += delete("charges", &chosen.charges)?;
        for source in &chosen.loss_sources {
            gone.losses += conn.execute("DELETE FROM losses WHERE source = ?", params![source])? as u64;
        }
        Ok(())
    })?;
    let is_empty = if gone.rows() > 0 { writer.shrink()? } else { false };
    Ok((gone, is_empty))
}

/// Writes all calls of a day anew but those that are chosen.
fn without_calls(
    writer: &mut DayWriter,
    path: &Path,
    day: Day,
    chosen: &Chosen,
    streams: &mut BTreeSet<Id>,
    gone: &mut Gone,
) -> Result<(), StoreError> {
    // The lock first: what the reader sees is then all there is until this is committed.
    writer.change_on(|conn| {
        for table in Class::Calls.tables() {
            conn.execute(&format!("DELETE FROM {table}"), [])?;
        }
        conn.execute("DELETE FROM streams WHERE call_key IS NOT NULL", []).map(|_| ())
    })?;
    let Some(reader) = DayReader::open(path)? else { return writer.commit().map(|_| ()) };
    let (condition, stop) = (Condition::default(), Stop::never());
    let mut from = 0;
    loop {
        let wanted = Wanted {
            day,
            filter: None,
            condition: &condition,
            lookups: &[],
            from,
            to: i64::MAX,
            from_ns: i64::MIN,
            to_ns: i64::MAX,
            order: Order::Oldest,
            limit: CALLS_AT_ONCE,
            stop: &stop,
        };
        let found = reader.calls(&wanted)?.calls;
        let Some((last, _)) = found.last() else { break };
        from = last.saturating_add(1);
        let (leave, stay): (Vec<&Call>, Vec<&Call>) =
            found.iter().map(|(_, call)| call).partition(|call| chosen.calls.contains(&call.id));
        gone.calls += leave.len() as u64;
        for stream in leave.iter().flat_map(|call| &call.streams) {
            gone.streams += 1;
            streams.insert(stream.id);
        }
        writer.calls(&stay, &mut Written::default())?;
    }
    drop(reader);
    writer.commit().map(|_| ())
}

#[cfg(test)]
mod tests;
