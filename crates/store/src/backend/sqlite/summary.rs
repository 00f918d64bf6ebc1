//! What the calls of the days add up to: from minutes without a filter, from gists with one, from rows where both are
//! silent.

use super::Sqlite;
use super::find;
use super::gists;
use super::read::{DayReader, Trouble};
use super::runs::Index;
use super::slices::{Slice, Slices};
use crate::columns;
use crate::entry::Lookup;
use crate::error::StoreError;
use crate::filter::sql::{Condition, Parameter};
use crate::filter::{Filter, sql as filter_sql};
use crate::gist::plan::{Answers, Plan};
use crate::gist::{Column, Columns, SUMMED, start_ns, told};
use crate::key;
use crate::rollup::{self, Minute, Told, minute_of};
use crate::row::Call;
use crate::stop::Stop;
use crate::store::Order;
use crate::summary::{Buckets, Summary, SummaryQuery};
use crate::time::{Day, MINUTE_NS};
use rusqlite::Row;
use std::collections::HashMap;

/// Rows that are looked at between two looks at the clock.
const STEP_ROWS: usize = 250;

/// Adds up calls, newest first.
pub fn summary(store: &Sqlite, query: &SummaryQuery) -> Result<Summary, StoreError> {
    let (from_ns, to_ns) = span(store, query)?;
    let mut buckets = Buckets::over(from_ns, to_ns, query.buckets);
    let bounds = query.filter.as_ref().map_or((i64::MIN, i64::MAX), Filter::start_bounds);
    let wanted = Wanted {
        filter: query.filter.as_ref(),
        condition: query.filter.as_ref().map(filter_sql::condition).unwrap_or_default(),
        lookups: query.filter.as_ref().map(Lookup::of_filter).unwrap_or_default(),
        from_ns: from_ns.max(bounds.0),
        to_ns: to_ns.min(bounds.1.saturating_add(1)),
        length_ns: buckets.length_ns,
        stop: &query.stop,
    };
    let (mut totals, mut seen_from_ns) = (Minute::default(), None);
    let skipped = store.each_day(Order::Newest, wanted.from_ns, wanted.to_ns, |day, reader| {
        let mut add = |at_ns: i64, sum: &Minute| {
            totals.add(sum, 1);
            buckets.add(at_ns, sum);
        };
        seen_from_ns = reader.sum(day, &wanted, &mut add)?;
        Ok(seen_from_ns.is_none())
    })?;
    let exact = seen_from_ns.is_none();
    let Buckets { length_ns: bucket_ns, all: buckets } = buckets;
    Ok(Summary { from_ns, to_ns, bucket_ns, buckets, totals, exact, seen_from_ns, skipped })
}

/// The span that is asked for; where it is open, that of the minutes with calls.
fn span(store: &Sqlite, query: &SummaryQuery) -> Result<(i64, i64), StoreError> {
    let (mut from_ns, mut to_ns) = (query.from_ns, query.to_ns);
    if from_ns == i64::MIN {
        from_ns = to_ns;
        store.each_day(Order::Oldest, i64::MIN, i64::MAX, |_, reader| {
            let Some((first, _)) = reader.first_and_last_minute()? else { return Ok(true) };
            from_ns = first.saturating_mul(MINUTE_NS).min(to_ns);
            Ok(false)
        })?;
    }
    if to_ns == i64::MAX {
        to_ns = from_ns;
        store.each_day(Order::Newest, i64::MIN, i64::MAX, |_, reader| {
            let Some((_, last)) = reader.first_and_last_minute()? else { return Ok(true) };
            to_ns = last.saturating_add(1).saturating_mul(MINUTE_NS).max(from_ns);
            Ok(false)
        })?;
    }
    // Neither: there are no calls.
    if from_ns == i64::MAX { Ok((0, 0)) } else { Ok((from_ns, to_ns.max(from_ns))) }
}

/// Which calls are summed up.
struct Wanted<'a> {
    filter: Option<&'a Filter>,
    condition: Condition,
    /// What is looked up in the index; empty if it does not help.
    lookups: Vec<Lookup>,
    from_ns: i64,
    to_ns: i64,
    /// Of a bucket; 0 if there are none.
    length_ns: i64,
    stop: &'a Stop,
}

/// Takes sums and a time in whose bucket they belong.
type Add<'a> = &'a mut dyn FnMut(i64, &Minute);

impl DayReader {
    /// Adds up the calls of this day; if it was stopped, since when all were seen.
    fn sum(&self, day: Day, wanted: &Wanted<'_>, add: Add<'_>) -> Result<Option<i64>, StoreError> {
        self.tell(|| {
            let _snapshot = self.conn.unchecked_transaction()?;
            let gists = match self.has_gists() {
                true => Some(gists::Reader::open(&self.conn)?),
                false => None,
            };
            let plan = wanted.filter.map(|filter| self.plan(filter, day)).transpose()?;
            let (slices, index) = (Slices::open(self)?, Index::open(&self.conn)?);
            DaySum { reader: self, day, wanted, slices, index, gists, plan }.run(add)
        })
    }

    fn first_and_last_minute(&self) -> Result<Option<(i64, i64)>, StoreError> {
        self.tell(|| {
            let sql = "SELECT min(minute), max(minute) FROM minutes WHERE started > 0";
            let ends: (Option<i64>, Option<i64>) =
                self.conn.prepare_cached(sql)?.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(ends.0.zip(ends.1))
        })
    }
}

/// What reads a day while its calls are added up.
struct DaySum<'a, 'c> {
    reader: &'c DayReader,
    day: Day,
    wanted: &'a Wanted<'a>,
    slices: Slices<'c>,
    index: Index<'c>,
    gists: Option<gists::Reader<'c>>,
    plan: Option<Plan>,
}

impl DaySum<'_, '_> {
    fn run(&mut self, add: Add<'_>) -> Result<Option<i64>, Trouble> {
        let (from_ns, to_ns) = (self.wanted.from_ns.max(self.day.start_ns()), self.wanted.to_ns.min(self.day.end_ns()));
        let (first, last) = (self.slice_of(from_ns), self.slice_of(to_ns.saturating_sub(1)));
        let by_minutes = self.wanted.filter.is_none() && self.wanted.length_ns % MINUTE_NS == 0;
        let mut next = self.slices.next(last, Order::Newest)?;
        for number in (first..=last).rev() {
            let slice_ns = self.day.start_ns() + number * key::SLICE_NS;
            let starts = (from_ns.max(slice_ns), to_ns.min(slice_ns + key::SLICE_NS));
            if next.as_ref().is_some_and(|slice| slice.number > number) {
                next = self.slices.next(number, Order::Newest)?;
            }
            let stopped = match next.as_ref().filter(|slice| slice.number == number) {
                Some(slice) if slice.is_older => self.rows(number, starts, add)?,
                // Minutes are by start, which may be in another slice than the call.
                slice if by_minutes && self.gists.is_some() => {
                    self.minutes(slice, starts, add)?;
                    None
                }
                Some(slice) => self.slice(slice, starts, add)?,
                None => None,
            };
            let is_due = || number > first && self.wanted.stop.is_due();
            if let Some(seen_from_ns) = stopped.or_else(|| is_due().then_some(slice_ns)) {
                return Ok(Some(seen_from_ns.min(to_ns)));
            }
        }
        Ok(None)
    }

    fn slice_of(&self, at_ns: i64) -> i64 {
        at_ns.saturating_sub(self.day.start_ns()).div_euclid(key::SLICE_NS)
    }

    /// Whole minutes from their sums, what is left at the ends from gists.
    fn minutes(&mut self, slice: Option<&Slice>, starts: (i64, i64), add: Add<'_>) -> Result<(), Trouble> {
        let (first, end) = (minute_of(starts.0.saturating_add(MINUTE_NS - 1)), minute_of(starts.1));
        let mut edges = [starts, (0, 0)];
        if first < end {
            for (minute, sum) in self.reader.minutes_between(first, end)? {
                add(minute.saturating_mul(MINUTE_NS), &sum);
            }
            edges = [(starts.0, first * MINUTE_NS), (end * MINUTE_NS, starts.1)];
        }
        for (slice, edge) in edges.into_iter().filter_map(|edge| slice.zip((edge.0 < edge.1).then_some(edge))) {
            self.slice(slice, edge, add)?;
        }
        Ok(())
    }

    /// The calls of a slice that start in a span, from gists.
    fn slice(&mut self, slice: &Slice, starts: (i64, i64), add: Add<'_>) -> Result<Option<i64>, Trouble> {
        let Some(gists) = &mut self.gists else { return Ok(None) };
        if self.plan.as_ref().zip(slice.ranges()).is_some_and(|(plan, ranges)| !plan.may_pass(ranges)) {
            return Ok(None);
        }
        let slice_ns = self.day.start_ns() + slice.number * key::SLICE_NS;
        let mut sums = Sums::of(self.day, slice_ns, starts, self.wanted.length_ns);
        let mut rows = vec![];
        let few = match self.wanted.lookups.as_slice() {
            [] => None,
            lookups => self.index.keys(slice, lookups, find::PARTS_FEW)?.filter(|(keys, _)| keys.len() <= find::FEW),
        };
        let count = slice.noted.as_ref().map(|noted| noted.parts);
        let parts = if few.is_some() { vec![] } else { gists.parts(slice.number, count)? };
        rows.extend(few.into_iter().flat_map(|(keys, _)| keys));
        let latest = latest(gists, &parts)?;
        for (number, part) in parts.iter().enumerate() {
            let mut columns = gists.columns(part);
            let answers = match &self.plan {
                Some(plan) => plan.ask(&mut columns)?,
                None => Answers::everything(columns.rows()),
            };
            if !answers.is_empty() {
                let is_latest = |key: u64, at: usize| latest.get(&key).is_none_or(|l| *l == (number, at));
                sums.part(&mut columns, &answers, (!latest.is_empty()).then_some(&is_latest), &mut rows)?;
            }
        }
        if !self.those(&rows, starts, &mut sums)? {
            return Ok(Some(slice_ns + key::SLICE_NS));
        }
        sums.hand_out(add);
        Ok(None)
    }

    /// Adds the calls under these keys that pass; false if it was stopped.
    fn those(&self, keys: &[i64], starts: (i64, i64), sums: &mut Sums) -> Result<bool, Trouble> {
        let (sql, parameters) = select_told("key = ?", starts, &self.wanted.condition);
        let mut select = self.reader.conn.prepare_cached(&sql)?;
        for (i, parameter) in parameters.iter().enumerate() {
            select.raw_bind_parameter(i + 2, parameter)?;
        }
        for (n, key) in keys.iter().enumerate() {
            if n % STEP_ROWS == STEP_ROWS - 1 && self.wanted.stop.is_due() {
                return Ok(false);
            }
            select.raw_bind_parameter(1, key)?;
            if let Some(row) = select.raw_query().next()? {
                let (at_ns, told) = told_by(row)?;
                sums.count(at_ns, &told);
            }
        }
        Ok(true)
    }

    /// The calls of a slice that start in a span, from their rows; if it was stopped, since when all were seen.
    fn rows(&self, slice: i64, starts: (i64, i64), add: Add<'_>) -> Result<Option<i64>, Trouble> {
        let (sql, parameters) = select_told("key >= ? AND key < ?", starts, &self.wanted.condition);
        let mut select = self.reader.conn.prepare_cached(&sql)?;
        let slice_ns = self.day.start_ns() + slice * key::SLICE_NS;
        let mut sums = Sums::of(self.day, slice_ns, starts, self.wanted.length_ns);
        let (begin, end) = key::of_slice(slice);
        let mut keys = (begin.max(key::at(starts.0 - self.day.start_ns())), end);
        let mut seen_from_ns = None;
        while let Some(step) = self.reader.next_step(keys, Order::Newest)? {
            let both = [Parameter::Whole(step.0), Parameter::Whole(step.1)];
            let mut rows = select.query(rusqlite::params_from_iter(both.iter().chain(&parameters)))?;
            while let Some(row) = rows.next()? {
                let (at_ns, told) = told_by(row)?;
                sums.count(at_ns, &told);
            }
            keys.1 = step.0;
            if keys.0 < keys.1 && self.wanted.stop.is_due() {
                // Calls of the same nanosecond may lie on both sides.
                seen_from_ns = Some(self.day.start_ns() + (step.0 >> 16) + 1);
                break;
            }
        }
        sums.hand_out(add);
        Ok(seen_from_ns)
    }
}

/// Of each key that has several gists, which is the last: part and place.
fn latest(gists: &mut gists::Reader<'_>, parts: &[gists::Part]) -> Result<HashMap<u64, (usize, usize)>, Trouble> {
    let mut latest = HashMap::new();
    for (number, part) in parts.iter().enumerate() {
        let mut columns = gists.columns(part);
        if columns.range(Column::Again as usize).greatest == 0 {
            continue;
        }
        let again = columns.values(Column::Again as usize)?.to_vec();
        let keys = columns.values(Column::Key as usize)?;
        for (at, (key, _)) in keys.iter().zip(&again).enumerate().filter(|(_, (_, again))| **again != 0) {
            latest.insert(*key, (number, at));
        }
    }
    Ok(latest)
}

/// How long a part of a slice is that lies in one bucket: the whole slice where buckets are longer and none begins
/// within one, or where there are none. Buckets of a quarter of an hour begin in the middle of slices of ten minutes.
fn unit_of(length_ns: i64) -> i64 {
    match length_ns {
        0 => key::SLICE_NS,
        shorter if shorter < key::SLICE_NS => shorter,
        longer => {
            let (mut unit, mut rest) = (key::SLICE_NS, longer % key::SLICE_NS);
            while rest > 0 {
                (unit, rest) = (rest, unit % rest);
            }
            unit
        }
    }
}

/// Sums of a slice by bucket.
struct Sums {
    day: Day,
    starts: (i64, i64),
    /// Whether all that starts in the slice starts in the span.
    is_whole: bool,
    first_ns: i64,
    length_ns: i64,
    all: Vec<Minute>,
}

impl Sums {
    fn of(day: Day, slice_ns: i64, starts: (i64, i64), length_ns: i64) -> Self {
        let length_ns = unit_of(length_ns);
        let first_ns = starts.0.div_euclid(length_ns) * length_ns;
        let is_whole = starts == (slice_ns, slice_ns + key::SLICE_NS);
        Sums { day, starts, is_whole, first_ns, length_ns, all: vec![] }
    }

    fn at(&mut self, at_ns: i64) -> &mut Minute {
        let number = (at_ns - self.first_ns).div_euclid(self.length_ns).max(0) as usize;
        if number >= self.all.len() {
            self.all.resize(number + 1, Minute::default());
        }
        &mut self.all[number]
    }

    fn count(&mut self, at_ns: i64, told: &Told) {
        if (self.starts.0..self.starts.1).contains(&at_ns) {
            self.at(at_ns).count(told);
        }
    }

    /// Counts the calls of a part that pass; adds the keys of those whose row has to say.
    fn part(
        &mut self,
        columns: &mut gists::PartColumns<'_, '_>,
        answers: &Answers,
        is_latest: Option<&dyn Fn(u64, usize) -> bool>,
        rows: &mut Vec<i64>,
    ) -> Result<(), Trouble> {
        let (mut passing, mut open): (Vec<usize>, Vec<usize>) = (answers.passing().collect(), answers.open().collect());
        if let Some(is_latest) = is_latest {
            let keys = columns.values(Column::Key as usize)?;
            let is_latest = |at: &usize| keys.get(*at).is_some_and(|key| is_latest(*key, *at));
            passing.retain(is_latest);
            open.retain(is_latest);
        }
        self.told(columns, &passing, &mut open)?;
        if !open.is_empty() {
            rows.extend(columns.gather(Column::Key as usize, &open)?.iter().map(|key| *key as i64));
        }
        Ok(())
    }

    /// Counts the calls at these places; those whose row has to say become open.
    fn told(
        &mut self,
        columns: &mut gists::PartColumns<'_, '_>,
        places: &[usize],
        open: &mut Vec<usize>,
    ) -> Result<(), Trouble> {
        if places.is_empty() {
            return Ok(());
        }
        let mut read: [Vec<u64>; SUMMED.len()] = Default::default();
        for (values, column) in read.iter_mut().zip(SUMMED) {
            *values = columns.gather(column as usize, places)?;
        }
        let one_sum = self.is_whole && self.length_ns == key::SLICE_NS;
        let keys = if one_sum { vec![] } else { columns.gather(Column::Key as usize, places)? };
        let mut sum = Minute::default();
        for (n, at) in places.iter().enumerate() {
            let values = core::array::from_fn(|column| read[column].get(n).copied().unwrap_or(0));
            let start = start_ns(self.day, keys.get(n).copied().unwrap_or(0), values[0]);
            match (told(values), start) {
                (Some(told), Some(_)) if one_sum => sum.count(&told),
                (Some(told), Some(at_ns)) => self.count(at_ns, &told),
                _ => open.push(*at),
            }
        }
        if sum.started > 0 {
            let first_ns = self.first_ns;
            self.at(first_ns).add(&sum, 1);
        }
        columns.spare(read.into_iter().chain([keys]));
        Ok(())
    }

    fn hand_out(&self, add: Add<'_>) {
        for (number, sum) in (0..).zip(&self.all).filter(|(_, sum)| sum.started > 0) {
            add((self.first_ns + number * self.length_ns).max(self.starts.0), sum);
        }
    }
}

/// `SELECT` of what calls tell, under some keys.
fn select_told(keys: &str, starts: (i64, i64), condition: &Condition) -> (String, Vec<Parameter>) {
    let sql = format!(
        "SELECT start_ns, ringing_ns, answer_ns, end_ns, last_ns, state, code, mos, verdict_kind IS NOT NULL \
         FROM calls WHERE {keys}"
    );
    find::condition(sql, starts, condition)
}

fn told_by(r: &Row<'_>) -> rusqlite::Result<(i64, Told)> {
    let call = Call {
        start_ns: r.get(0)?,
        ringing_ns: r.get(1)?,
        answer_ns: r.get(2)?,
        end_ns: r.get(3)?,
        last_ns: r.get(4)?,
        state: columns::state_of(r.get(5)?),
        code: r.get::<_, Option<u16>>(6)?.unwrap_or(0),
        mos: r.get::<_, Option<f64>>(7)?.map(|m| m as f32),
        ..Call::default()
    };
    Ok((call.start_ns, Told { bad: r.get(8)?, ..rollup::told(&call) }))
}
