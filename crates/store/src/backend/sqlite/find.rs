//! Finding the calls of a day: by the index of numbers and Call-IDs, by gists, and by looking at rows.

use super::gists;
use super::read::{DayReader, SqliteRow, Trouble, direction};
use super::runs::Index;
use super::slices::{Slice, Slices};
use crate::columns;
use crate::entry::Lookup;
use crate::error::StoreError;
use crate::filter::field::TextField;
use crate::filter::sql::{Condition, Parameter};
use crate::filter::{Filter, Pattern};
use crate::gist::plan::Plan;
use crate::gist::{Column, Columns};
use crate::key;
use crate::row::Call;
use crate::stop::Stop;
use crate::store::Order;
use crate::time::Day;

/// Rows that are looked at between two looks at the clock.
const STEP_ROWS: usize = 500;
/// Of so many calls the rows are asked at once.
pub const FEW: usize = 64;
/// So many parts of the index are read beside the first of each run; of more, gists are asked.
pub const PARTS_FEW: usize = 4;

/// Which calls of a day are wanted.
pub struct Wanted<'a> {
    /// The day.
    pub day: Day,
    /// The filter.
    pub filter: Option<&'a Filter>,
    /// The filter as SQL; empty for all.
    pub condition: &'a Condition,
    /// What is looked up in the index; a call is found by any of them. Empty: the index does not help.
    pub lookups: &'a [Lookup],
    /// First key.
    pub from: i64,
    /// First key that is too late.
    pub to: i64,
    /// Bounds of the start.
    pub from_ns: i64,
    /// First start that is too late.
    pub to_ns: i64,
    /// Order.
    pub order: Order,
    /// At most so many.
    pub limit: usize,
    /// When to give up.
    pub stop: &'a Stop,
}

/// What was found.
#[derive(Default)]
pub struct Found {
    /// Keys and calls, with their streams.
    pub calls: Vec<(i64, Call)>,
    /// If it was stopped: the last key in order that was looked at.
    pub stopped: Option<i64>,
}

/// What reads a day while calls are looked for.
struct Search<'a, 'c> {
    reader: &'c DayReader,
    wanted: &'a Wanted<'a>,
    slices: Slices<'c>,
    index: Index<'c>,
    gists: Option<(gists::Reader<'c>, Plan)>,
    found: Vec<(i64, Call)>,
}

impl DayReader {
    /// The calls of this day that are wanted.
    pub fn calls(&self, wanted: &Wanted<'_>) -> Result<Found, StoreError> {
        self.tell(|| {
            let _snapshot = self.conn.unchecked_transaction()?;
            let mut found = Found::default();
            match wanted.filter {
                None => self.scan(wanted, (wanted.from, wanted.to), &mut found.calls)?,
                Some(filter) => {
                    let mut search = Search::open(self, wanted, filter)?;
                    found.stopped = search.run()?;
                    found.calls = search.found;
                }
            }
            self.add_streams(&mut found.calls)?;
            Ok(found)
        })
    }

    /// A filter as it is asked of the gists of this day.
    pub fn plan(&self, filter: &Filter, day: Day) -> Result<Plan, rusqlite::Error> {
        let words = |field: TextField, pattern: &Pattern| {
            let function = if field == TextField::Codec { "has_codec" } else { "like_pattern" };
            let sql = format!("SELECT id FROM words WHERE {function}(?, text) ORDER BY id");
            let mut select = self.conn.prepare_cached(&sql)?;
            select.query_map([pattern.text()], |row| row.get(0))?.collect()
        };
        Plan::of(filter.node(), day.start_ns(), &words)
    }

    /// Adds the calls under these keys that are wanted.
    fn pick(&self, w: &Wanted<'_>, keys: &[i64], found: &mut Vec<(i64, Call)>) -> Result<(), Trouble> {
        let (sql, parameters) = select_calls("key = ?", w);
        let mut stmt = self.conn.prepare_cached(&sql)?;
        for (i, parameter) in parameters.iter().enumerate() {
            stmt.raw_bind_parameter(i + 2, parameter)?;
        }
        for key in keys {
            stmt.raw_bind_parameter(1, key)?;
            if let Some(row) = stmt.raw_query().next()? {
                found.push(columns::call_of(&SqliteRow::of(row))?);
            }
            if found.len() >= w.limit {
                break;
            }
        }
        Ok(())
    }

    /// Adds the calls between two keys that are wanted, in order.
    fn scan(&self, w: &Wanted<'_>, keys: (i64, i64), found: &mut Vec<(i64, Call)>) -> Result<(), Trouble> {
        let (mut sql, mut parameters) = select_calls("key >= ? AND key < ?", w);
        sql.push_str(&format!(" ORDER BY key {} LIMIT ?", direction(w.order)));
        parameters.push(Parameter::Whole(w.limit.saturating_sub(found.len()) as i64));
        let mut stmt = self.conn.prepare_cached(&sql)?;
        let keys = [Parameter::Whole(keys.0), Parameter::Whole(keys.1)];
        let mut rows = stmt.query(rusqlite::params_from_iter(keys.iter().chain(&parameters)))?;
        while let Some(row) = rows.next()? {
            found.push(columns::call_of(&SqliteRow::of(row))?);
        }
        Ok(())
    }

    /// Cuts from a range of keys a part with at most some hundreds of calls, in order; none behind the last.
    pub fn next_step(&self, keys: (i64, i64), order: Order) -> Result<Option<(i64, i64)>, rusqlite::Error> {
        if keys.0 >= keys.1 {
            return Ok(None);
        }
        let sql = format!(
            "SELECT key FROM calls WHERE key >= ? AND key < ? ORDER BY key {} LIMIT 1 OFFSET {STEP_ROWS}",
            direction(order)
        );
        let mut border = self.conn.prepare_cached(&sql)?;
        let border: Option<i64> = border.query([keys.0, keys.1])?.next()?.map(|row| row.get(0)).transpose()?;
        Ok(Some(match (border, order) {
            (None, _) => keys,
            (Some(border), Order::Newest) => (border + 1, keys.1),
            (Some(border), Order::Oldest) => (keys.0, border),
        }))
    }
}

impl<'a, 'c> Search<'a, 'c> {
    fn open(reader: &'c DayReader, wanted: &'a Wanted<'a>, filter: &Filter) -> Result<Self, Trouble> {
        let gists = match reader.has_gists() {
            true => Some((gists::Reader::open(&reader.conn)?, reader.plan(filter, wanted.day)?)),
            false => None,
        };
        let (slices, index) = (Slices::open(reader)?, Index::open(&reader.conn)?);
        Ok(Search { reader, wanted, slices, index, gists, found: vec![] })
    }

    /// Looks for calls, a slice of the day after the other; where it was stopped.
    fn run(&mut self) -> Result<Option<i64>, Trouble> {
        let w = self.wanted;
        let (first, last) = (key::slice(w.from.max(0)), key::slice(w.to.saturating_sub(1).max(0)));
        let newest = w.order == Order::Newest;
        let mut from = if newest { last } else { first };
        while let Some(slice) = self.slices.next(from, w.order)?.filter(|s| (first..=last).contains(&s.number)) {
            let (begin, end) = key::of_slice(slice.number);
            let keys = (begin.max(w.from), end.min(w.to));
            let stopped = match self.candidates(&slice)? {
                Some((candidates, are_most)) => self.some(candidates, are_most, keys)?,
                None => self.all(keys)?,
            };
            if self.found.len() >= w.limit || stopped.is_some() {
                return Ok(stopped);
            }
            if w.stop.is_due() {
                return Ok(Some(if newest { begin } else { end - 1 }));
            }
            from = if newest { slice.number - 1 } else { slice.number + 1 };
        }
        Ok(None)
    }

    /// The keys of the calls of a slice that may be wanted, in order of keys, and whether that is most of them; none if
    /// all calls have to be looked at.
    fn candidates(&mut self, slice: &Slice) -> Result<Option<(Vec<i64>, bool)>, Trouble> {
        let told = self.gists.as_mut().filter(|_| !slice.is_older);
        if let Some((_, plan)) = &told
            && slice.ranges().is_some_and(|ranges| !plan.may_pass(ranges))
        {
            return Ok(Some((vec![], false)));
        }
        let parts_max = if told.is_some() { PARTS_FEW } else { usize::MAX };
        let indexed = match self.wanted.lookups {
            [] => None,
            lookups => self.index.keys(slice, lookups, parts_max)?,
        };
        let Some((gists, plan)) = told else {
            return Ok(indexed
                .map(|(keys, among)| (keys.len() > FEW.max(among / 2), keys))
                .map(|(most, keys)| (keys, most)));
        };
        if let Some((keys, _)) = indexed.as_ref().filter(|(keys, _)| keys.len() <= FEW) {
            return Ok(Some((keys.clone(), false)));
        }
        let (mut keys, mut among) = (vec![], 0);
        for part in gists.parts(slice.number, slice.noted.as_ref().map(|noted| noted.parts))? {
            let mut columns = gists.columns(&part);
            among += columns.rows();
            let answers = plan.ask(&mut columns)?;
            if !answers.is_empty() {
                let of_part = columns.values(Column::Key as usize)?;
                keys.extend(answers.possible().filter_map(|at| of_part.get(at)).map(|key| *key as i64));
            }
        }
        keys.sort_unstable();
        keys.dedup();
        if let Some((indexed, _)) = indexed {
            keys.retain(|key| indexed.binary_search(key).is_ok());
        }
        let most = keys.len() > among / 2;
        Ok(Some((keys, most)))
    }

    /// Looks at the rows of these calls, as far as they lie in the range.
    fn some(&mut self, mut candidates: Vec<i64>, are_most: bool, keys: (i64, i64)) -> Result<Option<i64>, Trouble> {
        let w = self.wanted;
        candidates.retain(|key| (keys.0..keys.1).contains(key));
        if w.order == Order::Newest {
            candidates.reverse();
        }
        let mut steps = candidates.chunks(STEP_ROWS).peekable();
        while let Some(step) = steps.next() {
            let (Some(first), Some(last)) = (step.first(), step.last()) else { break };
            if are_most && step.len() > FEW {
                self.reader.scan(w, (*first.min(last), first.max(last) + 1), &mut self.found)?;
            } else {
                self.reader.pick(w, step, &mut self.found)?;
            }
            if self.found.len() >= w.limit {
                break;
            }
            if steps.peek().is_some() && w.stop.is_due() {
                return Ok(Some(*last));
            }
        }
        Ok(None)
    }

    /// Looks at all rows of a range.
    fn all(&mut self, mut keys: (i64, i64)) -> Result<Option<i64>, Trouble> {
        let w = self.wanted;
        while let Some(step) = self.reader.next_step(keys, w.order)? {
            self.reader.scan(w, step, &mut self.found)?;
            let last;
            (last, keys) = match w.order {
                Order::Newest => (step.0, (keys.0, step.0)),
                Order::Oldest => (step.1 - 1, (step.1, keys.1)),
            };
            if self.found.len() >= w.limit {
                break;
            }
            if keys.0 < keys.1 && w.stop.is_due() {
                return Ok(Some(last));
            }
        }
        Ok(None)
    }
}

/// `SELECT` of the wanted calls under some keys, and its parameters behind those of the keys.
fn select_calls(keys: &str, w: &Wanted<'_>) -> (String, Vec<Parameter>) {
    let list = super::ddl::select_list(&crate::schema::CALLS);
    condition(format!("SELECT {list} FROM calls WHERE {keys}"), (w.from_ns, w.to_ns), w.condition)
}

/// A statement with the bounds of the start and a condition behind it, and their parameters.
pub fn condition(mut sql: String, starts: (i64, i64), condition: &Condition) -> (String, Vec<Parameter>) {
    sql.push_str(" AND start_ns >= ? AND start_ns < ?");
    let mut parameters = vec![Parameter::Whole(starts.0), Parameter::Whole(starts.1)];
    if !condition.sql.is_empty() {
        sql.push_str(&format!(" AND ({})", condition.sql));
        parameters.extend(condition.parameters.iter().cloned());
    }
    (sql, parameters)
}
