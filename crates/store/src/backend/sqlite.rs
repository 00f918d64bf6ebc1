//! SQLite, embedded: a file a UTC day, in WAL mode, one writer and any number of readers.

mod bind;
mod calls;
mod days;
mod ddl;
mod find;
mod functions;
mod gists;
mod leave;
mod one_by_one;
mod open;
mod pages;
mod read;
mod runs;
mod slices;
mod sql;
mod summary;
pub mod sums;
mod write;

#[cfg(test)]
mod tests;

use super::Backend;
use crate::entry::Lookup;
use crate::error::{Skipped, StoreError};
use crate::filter::{Filter, sql as filter_sql};
use crate::key;
use crate::removal::{Chosen, Class, DayHeld, Gone};
use crate::rollup::{Minute, minute_of};
use crate::row::{Call, Charge, Loss, Registration, Rows, SipEvent, Stream, StreamInterval};
use crate::search::{Counts, Search};
use crate::store::{
    Access, Cursor, DAYS_NEW_MAX, FOUND_MAX, Found, OnRow, Order, PAGE_ROWS_MAX, Page, Query, SqlDone, SqlLimits,
    Written,
};
use crate::summary::{Summary, SummaryQuery};
use crate::time::{DAY_NS, Day};
use core::cell::RefCell;
use read::DayReader;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;
use trunkline_kit::Id;
use write::{Batch, DayWriter, Elsewhere};

/// Days that are open for writing at once; the one used longest ago is committed and closed.
pub const DAYS_WRITTEN_MAX: usize = 4;
/// Days that are open for reading at once; the oldest is closed.
pub const DAYS_READ_MAX: usize = 4;

/// A day that was not written for so long is closed, and its log put into its file: a day that is over stays whole on
/// its own, and gets its checksums.
const IDLE: Duration = Duration::from_secs(600);

/// The store in one folder.
pub struct Sqlite {
    folder: PathBuf,
    access: Access,
    writers: BTreeMap<Day, DayWriter>,
    uses: u64,
    days_made: usize,
    days_new_max: usize,
    /// Days that were not made as there would be too many.
    days_beyond: BTreeSet<Day>,
    written: Written,
    /// Rows refused since the last commit that went through: who is given an error hands all of them in again.
    refused: u64,
    skipped: RefCell<BTreeMap<Day, String>>,
    readers: RefCell<Vec<(Day, DayReader)>>,
}

impl Sqlite {
    /// Opens the folder; for writing it is made if it is not there.
    ///
    /// # Errors
    /// [`StoreError::Folder`].
    pub fn open(folder: &Path, access: Access) -> Result<Self, StoreError> {
        if access != Access::Read {
            std::fs::create_dir_all(folder).map_err(|e| folder_error(folder, e))?;
        }
        Ok(Sqlite {
            folder: folder.to_owned(),
            access,
            writers: BTreeMap::new(),
            uses: 0,
            days_made: 0,
            days_new_max: DAYS_NEW_MAX,
            days_beyond: BTreeSet::new(),
            written: Written::default(),
            refused: 0,
            skipped: RefCell::default(),
            readers: RefCell::default(),
        })
    }

    fn path(&self, day: Day) -> PathBuf {
        days::path(&self.folder, day)
    }

    /// The writer of a day; none if the day cannot be written, which is noted.
    fn writer(&mut self, day: Day) -> Result<Option<&mut DayWriter>, StoreError> {
        self.uses += 1;
        // Another process removed the day, and perhaps made it again.
        if self.writers.get(&day).is_some_and(|writer| !writer.is_current()) {
            self.writers.remove(&day);
        }
        if !self.writers.contains_key(&day) {
            if self.skipped.get_mut().contains_key(&day) {
                return Ok(None);
            }
            self.close_oldest_writer()?;
            let path = self.path(day);
            let is_new = !path.exists();
            if is_new && self.days_made >= self.days_new_max {
                self.days_beyond.insert(day);
                return Ok(None);
            }
            match DayWriter::open(&path, day, self.access) {
                Ok(writer) => drop(self.writers.insert(day, writer)),
                Err(e @ StoreError::Day { .. }) => {
                    self.skipped.get_mut().insert(day, e.to_string());
                    return Ok(None);
                }
                Err(e) => return Err(e),
            }
            self.days_made += usize::from(is_new);
        }
        let uses = self.uses;
        let writer = self.writers.get_mut(&day);
        if let Some(writer) = writer {
            writer.used = uses;
            return Ok(Some(writer));
        }
        Ok(None)
    }

    fn may_change(&self) -> Result<(), StoreError> {
        match self.access {
            Access::Read => Err(StoreError::Question("the store is open for reading only".into())),
            Access::Write | Access::Load => Ok(()),
        }
    }

    /// Closes a day; what was not committed of it is forgotten.
    fn let_go(&mut self, day: Day) {
        self.writers.remove(&day);
        self.readers.get_mut().retain(|(d, _)| *d != day);
        self.skipped.get_mut().remove(&day);
    }

    /// The days that were not made, in one line.
    fn beyond(&self) -> Option<Skipped> {
        let (first, last) = self.days_beyond.first().zip(self.days_beyond.last())?;
        let (days, most, folder) = (self.days_beyond.len(), self.days_new_max, self.folder.display());
        let what = if days == 1 { "1 day".to_owned() } else { format!("{days} days") };
        let why = format!("{folder}: {what}, {first} to {last}, not made: {most} new days are the limit");
        Some(Skipped { day: *first, why })
    }

    fn close_oldest_writer(&mut self) -> Result<(), StoreError> {
        if self.writers.len() < DAYS_WRITTEN_MAX {
            return Ok(());
        }
        let oldest = self.writers.iter().min_by_key(|(_, w)| w.used).map(|(day, _)| *day);
        if let Some(day) = oldest {
            self.commit_day(day)?;
            self.writers.remove(&day);
        }
        Ok(())
    }

    fn commit_day(&mut self, day: Day) -> Result<(), StoreError> {
        match self.writers.get_mut(&day).map(DayWriter::commit) {
            Some(Ok(some)) => self.written.commits += u64::from(some),
            Some(Err(error)) => return self.pass_over(day, error, 0),
            None => {}
        }
        Ok(())
    }

    /// A day that turns out to be damaged while it is written is passed over from now on, so that it holds up no other:
    /// these rows of it are refused, and those that were not committed. Another error is given back.
    fn pass_over(&mut self, day: Day, error: StoreError, rows: u64) -> Result<(), StoreError> {
        if !matches!(error, StoreError::Day { .. }) {
            return Err(error);
        }
        let uncommitted = self.writers.remove(&day).map_or(0, |writer| writer.uncommitted);
        self.skipped.get_mut().insert(day, error.to_string());
        self.refused += rows + uncommitted;
        Ok(())
    }

    fn write_calls(&mut self, day: Day, calls: &[&Call]) -> Result<Vec<Elsewhere>, StoreError> {
        let mut written = Written { refused: 0, ..self.written };
        let Some(writer) = self.writer(day)? else {
            self.refused += calls.len() as u64;
            return Ok(vec![]);
        };
        let elsewhere = match writer.calls(calls, &mut written) {
            Ok(elsewhere) => elsewhere,
            Err(error) => return self.pass_over(day, error, calls.len() as u64).map(|()| vec![]),
        };
        writer.uncommitted += calls.len() as u64;
        self.refused += written.refused;
        self.written = Written { commits: self.written.commits, refused: self.written.refused, ..written };
        Ok(elsewhere)
    }

    fn write_others(&mut self, day: Day, batch: &Batch<'_>) -> Result<(), StoreError> {
        let rows = batch.rows() as u64;
        let Some(writer) = self.writer(day)? else {
            self.refused += rows;
            return Ok(());
        };
        if let Err(error) = writer.others(batch) {
            return self.pass_over(day, error, rows);
        }
        writer.uncommitted += rows;
        self.written.rows_other += rows;
        Ok(())
    }

    fn write_days(&mut self, rows: &Rows) -> Result<(), StoreError> {
        let mut days = by_day(rows);
        let mut elsewhere: BTreeMap<Day, Vec<Elsewhere>> = BTreeMap::new();
        for (day, batch) in &mut days {
            let calls = core::mem::take(&mut batch.calls);
            if calls.is_empty() {
                continue;
            }
            for stream in self.write_calls(*day, &calls)? {
                elsewhere.entry(key::day_of(stream.stream)).or_default().push(stream);
            }
        }
        for (day, streams) in elsewhere {
            if let Some(Err(error)) = self.writer(day)?.map(|writer| writer.elsewhere(&streams)) {
                self.pass_over(day, error, 0)?;
            }
        }
        for (day, batch) in days.iter().filter(|(_, batch)| batch.rows() > 0) {
            self.write_others(*day, batch)?;
        }
        Ok(())
    }

    fn commit_days(&mut self) -> Result<(), StoreError> {
        let mut first_error = None;
        let days: Vec<Day> = self.writers.keys().copied().collect();
        for day in days {
            if let Err(e) = self.commit_day(day) {
                first_error = first_error.or(Some(e));
            }
        }
        if first_error.is_none() {
            self.writers.retain(|_, writer| !writer.is_idle(IDLE) || !writer.close());
        }
        first_error.map_or(Ok(()), Err)
    }

    /// After an error all that was not committed is handed in again: it is counted then.
    fn forget_if_failed(&mut self, done: Result<(), StoreError>) -> Result<(), StoreError> {
        if done.is_err() {
            self.refused = 0;
            self.writers.values_mut().for_each(|writer| writer.uncommitted = 0);
        }
        done
    }

    /// Runs on the reader of each day, in order, until it says false. A day that cannot be read is skipped and told.
    fn each_day(
        &self,
        order: Order,
        from_ns: i64,
        to_ns: i64,
        mut run: impl FnMut(Day, &DayReader) -> Result<bool, StoreError>,
    ) -> Result<Vec<Skipped>, StoreError> {
        let mut days = days::between(&self.folder, self.access, from_ns, to_ns)?;
        if order == Order::Newest {
            days.reverse();
        }
        let mut skipped = vec![];
        for day in days {
            match self.with_reader(day, |reader| run(day, reader)) {
                Ok(Some(true) | None) => {}
                Ok(Some(false)) => break,
                Err(e @ StoreError::Day { .. }) => {
                    self.skipped.borrow_mut().insert(day, e.to_string());
                    skipped.push(Skipped { day, why: e.to_string() });
                }
                Err(e) => return Err(e),
            }
        }
        Ok(skipped)
    }

    /// Runs on the reader of a day; none if there is nothing in the day.
    fn with_reader<T>(
        &self,
        day: Day,
        run: impl FnOnce(&DayReader) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let path = self.path(day);
        let mut readers = self.readers.borrow_mut();
        let file = read::file_number(&path);
        readers.retain(|(d, r)| *d != day || (r.file == file && file.is_some()));
        if file.is_none() {
            return Ok(None);
        }
        let at = match readers.iter().position(|(d, _)| *d == day) {
            Some(at) => at,
            None => {
                let Some(reader) = DayReader::open(&path)? else { return Ok(None) };
                if readers.len() >= DAYS_READ_MAX {
                    readers.remove(0);
                }
                readers.push((day, reader));
                readers.len() - 1
            }
        };
        let done = readers.get(at).map(|(_, reader)| run(reader)).transpose();
        if done.is_err() {
            // A loader may have been killed since: opening takes back what it left.
            readers.remove(at);
        }
        done
    }
}

impl Backend for Sqlite {
    fn write(&mut self, rows: &Rows) -> Result<(), StoreError> {
        self.may_change()?;
        let done = self.write_days(rows);
        self.forget_if_failed(done)
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        let done = self.commit_days();
        self.forget_if_failed(done)?;
        self.written.refused += core::mem::take(&mut self.refused);
        Ok(())
    }

    fn written(&self) -> Written {
        self.written
    }

    fn skipped(&self) -> Vec<Skipped> {
        let skipped = self.skipped.borrow();
        let beyond = self.beyond().into_iter();
        beyond.chain(skipped.iter().map(|(day, why)| Skipped { day: *day, why: why.clone() })).collect()
    }

    fn limit_new_days(&mut self, most: usize) {
        self.days_new_max = most;
    }

    fn days(&self) -> Result<Vec<Day>, StoreError> {
        days::all(&self.folder, self.access)
    }

    fn drop_day(&mut self, day: Day) -> Result<(), StoreError> {
        leave::drop_day(self, day)
    }

    fn octets(&self, day: Day) -> u64 {
        leave::octets(&self.path(day))
    }

    fn held(&self, day: Day) -> Result<Option<DayHeld>, StoreError> {
        leave::held(&self.path(day), day)
    }

    fn remove_classes(&mut self, day: Day, classes: &[Class]) -> Result<Gone, StoreError> {
        leave::remove_classes(self, day, classes)
    }

    fn remove_rows(&mut self, chosen: &Chosen) -> Result<Gone, StoreError> {
        leave::remove_rows(self, chosen)
    }

    fn chosen_of(&self, number: &str) -> Result<(Chosen, Vec<Skipped>), StoreError> {
        leave::chosen_of(self, number)
    }

    fn add_unknown(&self, rows: &Rows, unknown: &mut Chosen) -> Result<(), StoreError> {
        for (day, batch) in by_day(rows) {
            if self.with_reader(day, |reader| reader.add_unknown(&batch, unknown))?.is_none() {
                batch.add_to(unknown);
            }
        }
        Ok(())
    }

    fn calls(&self, query: &Query) -> Result<Page<Call>, StoreError> {
        let limit = query.limit.min(PAGE_ROWS_MAX);
        let bounds = query.filter.as_ref().map_or((i64::MIN, i64::MAX), Filter::start_bounds);
        let start = (query.from_ns.max(bounds.0), query.to_ns.min(bounds.1.saturating_add(1)));
        let condition = query.filter.as_ref().map(filter_sql::condition).unwrap_or_default();
        let lookups = query.filter.as_ref().map(Lookup::of_filter).unwrap_or_default();
        let mut rows: Vec<(Day, (i64, Call))> = vec![];
        let mut stopped = None;
        let (from_ns, to_ns) = query.cursor.map_or(start, |cursor| cursor.cut(query.order, start));
        let skipped = self.each_day(query.order, from_ns, to_ns, |day, reader| {
            let mut wanted = find::Wanted {
                day,
                filter: query.filter.as_ref(),
                condition: &condition,
                lookups: &lookups,
                from: key::at(start.0.saturating_sub(day.start_ns())),
                to: key::at(start.1.saturating_sub(day.start_ns())).saturating_add(key::PROBES_MAX),
                from_ns: start.0,
                to_ns: start.1,
                order: query.order,
                limit: limit + 1 - rows.len(),
                stop: &query.stop,
            };
            if let Some(cursor) = query.cursor.filter(|c| c.day == day) {
                let key = i64::from_be_bytes(*cursor.row.first_chunk().unwrap_or(&[0; 8]));
                match query.order {
                    Order::Newest => wanted.to = wanted.to.min(key),
                    Order::Oldest => wanted.from = wanted.from.max(key.saturating_add(1)),
                }
            }
            let found = reader.calls(&wanted)?;
            rows.extend(found.calls.into_iter().map(|row| (day, row)));
            let end = found.stopped.map(|key| cursor_of_key(day, key));
            let behind = || query.stop.is_due().then(|| Cursor::behind(day, query.order));
            stopped = end.or_else(behind).filter(|_| rows.len() <= limit);
            Ok(rows.len() <= limit && stopped.is_none())
        })?;
        let page = page(rows, limit, |(day, (key, _))| cursor_of_key(*day, *key), skipped);
        let rows = page.rows.into_iter().map(|(_, call)| call).collect();
        let (next, stopped) = (stopped.or(page.next), stopped.is_some());
        Ok(Page { rows, next, stopped, skipped: page.skipped })
    }

    fn call(&self, name: &str) -> Result<Found, StoreError> {
        let name = name.trim();
        let mut found: Vec<(Day, (i64, Id, i64))> = vec![];
        if let Some((first, last)) = key::ids_of_prefix(name) {
            let (from_ns, to_ns) = (key::day_of(first).start_ns(), key::day_of(last).end_ns());
            self.each_day(Order::Newest, from_ns, to_ns, |day, reader| {
                let (first, last) = key::within_day(first, last, day);
                let ids = reader.ids_between(first, last, FOUND_MAX - found.len())?;
                found.extend(ids.into_iter().map(|id| (day, id)));
                Ok(found.len() < FOUND_MAX)
            })?;
        }
        if found.is_empty() {
            self.each_day(Order::Newest, i64::MIN, i64::MAX, |day, reader| {
                let ids = reader.with_call_id(name, FOUND_MAX - found.len())?;
                found.extend(ids.into_iter().map(|id| (day, id)));
                Ok(found.len() < FOUND_MAX)
            })?;
        }
        match found.as_slice() {
            [] => Ok(Found::None),
            [(day, (key, ..))] => {
                let call = self.with_reader(*day, |reader| reader.call(*day, *key))?.flatten();
                Ok(call.map_or(Found::None, |call| Found::One(Box::new(call))))
            }
            many => Ok(Found::Many(many.iter().map(|(_, (_, id, start))| (*id, *start)).collect())),
        }
    }

    fn call_by_id(&self, id: Id) -> Result<Option<Box<Call>>, StoreError> {
        let day = key::day_of(id);
        let found = self.with_reader(day, |reader| match reader.ids_between(id, id, 1)?.first() {
            Some((key, ..)) => reader.call(day, *key),
            None => Ok(None),
        })?;
        Ok(found.flatten().map(Box::new))
    }

    fn intervals(&self, stream: Id) -> Result<Vec<StreamInterval>, StoreError> {
        Ok(self.with_reader(key::day_of(stream), |reader| reader.intervals(stream))?.unwrap_or_default())
    }

    fn streams_without_call(&self, query: &Query) -> Result<Page<Stream>, StoreError> {
        pages::streams_without_call(self, query)
    }

    fn registrations(&self, query: &Query) -> Result<Page<Registration>, StoreError> {
        pages::registrations(self, query)
    }

    fn events(&self, query: &Query) -> Result<Page<SipEvent>, StoreError> {
        pages::events(self, query)
    }

    fn charges(&self, query: &Query) -> Result<Page<Charge>, StoreError> {
        pages::charges(self, query)
    }

    fn search_registrations(&self, search: &Search) -> Result<Page<Registration>, StoreError> {
        pages::search_registrations(self, search)
    }

    fn count_registrations(&self, search: &Search) -> Result<Counts, StoreError> {
        pages::count_registrations(self, search)
    }

    fn search_events(&self, search: &Search) -> Result<Page<SipEvent>, StoreError> {
        pages::search_events(self, search)
    }

    fn count_events(&self, search: &Search) -> Result<Counts, StoreError> {
        pages::count_events(self, search)
    }

    fn summary(&self, query: &SummaryQuery) -> Result<Summary, StoreError> {
        summary::summary(self, query)
    }

    fn losses(&self, query: &Query) -> Result<Page<Loss>, StoreError> {
        no_filter(query, "losses")?;
        let limit = query.limit.min(PAGE_ROWS_MAX);
        let mut rows = vec![];
        let skipped = self.each_day(query.order, query.from_ns, query.to_ns, |_, reader| {
            rows.extend(reader.losses(query.from_ns, query.to_ns, query.order, limit - rows.len())?);
            Ok(rows.len() < limit)
        })?;
        Ok(Page { rows, next: None, stopped: false, skipped })
    }

    fn minutes(&self, from_ns: i64, to_ns: i64) -> Result<Vec<(i64, Minute)>, StoreError> {
        let mut minutes = vec![];
        self.each_day(Order::Oldest, from_ns, to_ns, |_, reader| {
            let end = minute_of(to_ns.saturating_sub(1)).saturating_add(1);
            minutes.extend(reader.minutes(minute_of(from_ns), end)?);
            Ok(true)
        })?;
        Ok(minutes)
    }

    fn sql(&self, text: &str, limits: &SqlLimits, on_row: OnRow<'_>) -> Result<SqlDone, StoreError> {
        // A stream lies in the day of its call, an interval in that of its stream.
        let before = if limits.of_rows { DAY_NS } else { 0 };
        let from_ns = limits.from_ns.saturating_sub(before);
        let days = days::between(&self.folder, self.access, from_ns, limits.to_ns)?;
        let files: Vec<(Day, PathBuf)> = days.into_iter().map(|d| (d, self.path(d))).collect();
        sql::run(&files, text, limits, on_row)
    }
}

fn by_day(rows: &Rows) -> BTreeMap<Day, Batch<'_>> {
    let mut days: BTreeMap<Day, Batch<'_>> = BTreeMap::new();
    rows.calls.iter().for_each(|c| days.entry(key::day_of(c.id)).or_default().calls.push(c));
    rows.streams.iter().for_each(|s| days.entry(key::day_of(s.id)).or_default().streams.push(s));
    rows.intervals.iter().for_each(|i| days.entry(key::day_of(i.stream)).or_default().intervals.push(i));
    rows.registrations.iter().for_each(|r| days.entry(key::day_of(r.id)).or_default().registrations.push(r));
    rows.events.iter().for_each(|e| days.entry(key::day_of(e.id)).or_default().events.push(e));
    rows.charges.iter().for_each(|c| days.entry(key::day_of(c.id)).or_default().charges.push(c));
    rows.losses.iter().for_each(|l| days.entry(Day::of(l.since_ns)).or_default().losses.push(l));
    days
}

fn cursor_of_key(day: Day, key: i64) -> Cursor {
    let mut row = [0; 16];
    row[..8].copy_from_slice(&key.to_be_bytes());
    Cursor { day, row }
}

/// Cuts the one row too many, which only says that there is more.
fn page<T>(
    mut rows: Vec<(Day, T)>,
    limit: usize,
    cursor: impl Fn(&(Day, T)) -> Cursor,
    skipped: Vec<Skipped>,
) -> Page<T> {
    let more = rows.len() > limit;
    rows.truncate(limit);
    let next = if more { rows.last().map(cursor) } else { None };
    Page { rows: rows.into_iter().map(|(_, row)| row).collect(), next, stopped: false, skipped }
}

fn no_filter(query: &Query, what: &str) -> Result<(), StoreError> {
    match query.filter {
        None => Ok(()),
        Some(_) => Err(StoreError::Question(format!("filters are for calls, not for {what}"))),
    }
}

fn folder_error(folder: &Path, e: std::io::Error) -> StoreError {
    StoreError::Folder { path: folder.to_owned(), cause: e.to_string() }
}
