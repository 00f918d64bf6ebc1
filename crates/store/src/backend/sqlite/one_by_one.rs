//! Views over any number of days: SQLite attaches 125 files at most, so their rows come day after day, a few hundred at
//! a time, and only the columns that the statement names.
//!
//! A view is a recursive SELECT: `day_row(table, row)` gives the row behind another, packed with the place where it
//! lies, and `day_cell(row, number)` a column of it. Both are functions of what they are given, so that SQLite may look
//! at the rows of a view as often and in whatever order it likes; what is kept between two calls only saves work.
//! `LIMIT -1` keeps a view from being taken apart: it is read once, row by row, or kept by SQLite with an index where a
//! join needs one. docs/decisions/0076.

use super::sql::{self, Attached, Shown};
use super::{functions, open};
use crate::error::{Skipped, StoreError};
use crate::schema::{self, Kind, TABLES, Table};
use crate::store::SqlLimits;
use crate::time::Day;
use rusqlite::functions::FunctionFlags;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::types::Value;
use rusqlite::{Connection, Error, Result, params_from_iter};
use std::collections::{BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Rows that are read at once.
const ROWS_AT_ONCE: usize = if cfg!(test) { 3 } else { 512 };
/// Days that are open at once.
const DAYS_OPEN_MAX: usize = 4;
/// Places at which reading may go on without looking for them: views of a statement that are read in turn.
const PLACES_MAX: usize = 16;

/// What the views read, and what came of it.
pub struct Sweep(Arc<Mutex<Days>>);

impl Sweep {
    /// The days that could not be read, and whether the time was over amid reading.
    pub fn end(self) -> (Vec<Skipped>, bool) {
        let mut days = lock(&self.0);
        (core::mem::take(&mut days.skipped), days.was_late)
    }
}

/// Makes the views of a statement over these days. `ends` is when it has to be done.
pub fn views(
    conn: &Connection,
    days: &[(Day, PathBuf)],
    text: &str,
    limits: &SqlLimits,
    ends: Option<Instant>,
) -> Result<Sweep> {
    let asked = asked(text)?;
    let tables = TABLES.map(|table| Part::of(table, &asked));
    for (number, part) in tables.iter().enumerate() {
        conn.execute_batch(&part.view(number))?;
    }
    let days = Days {
        files: days.to_vec(),
        tables,
        limits: *limits,
        ends,
        open: VecDeque::new(),
        places: VecDeque::new(),
        skipped: vec![],
        was_late: false,
    };
    let days = Arc::new(Mutex::new(days));
    let of_rows = Arc::clone(&days);
    conn.create_scalar_function("day_row", 2, FunctionFlags::SQLITE_UTF8, move |c| {
        let table = usize::try_from(c.get::<i64>(0)?).unwrap_or(usize::MAX);
        lock(&of_rows).behind(table, c.get_raw(1).as_blob().ok())
    })?;
    let pure = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    conn.create_scalar_function("day_cell", 2, pure, |c| {
        let number = usize::try_from(c.get::<i64>(1)?).unwrap_or(usize::MAX);
        Ok(c.get_raw(0).as_blob().ok().and_then(|row| packed::cell(row, number)).unwrap_or(Value::Null))
    })?;
    Ok(Sweep(days))
}

fn lock(days: &Arc<Mutex<Days>>) -> MutexGuard<'_, Days> {
    days.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tables and columns that a statement names. What is wrong with it, its own run says.
fn asked(text: &str) -> Result<BTreeSet<(String, String)>> {
    let conn = Connection::open_in_memory()?;
    functions::register(&conn)?;
    let now = Attached { name: "main".into(), version: schema::VERSION };
    for table in TABLES {
        let names: Vec<String> = sql::shown(table, &now).into_iter().map(|c| c.name).collect();
        conn.execute_batch(&format!("CREATE TEMP TABLE {} ({})", table.name, names.join(", ")))?;
    }
    let asked = Arc::new(Mutex::new(BTreeSet::new()));
    let noted = Arc::clone(&asked);
    conn.authorizer(Some(move |context: AuthContext<'_>| {
        if let AuthAction::Read { table_name, column_name } = context.action {
            let name = |text: &str| text.to_ascii_lowercase();
            noted.lock().unwrap_or_else(PoisonError::into_inner).insert((name(table_name), name(column_name)));
        }
        Authorization::Allow
    }));
    let _ = conn.prepare(text);
    let mut asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(core::mem::take(&mut *asked))
}

/// What is read of a table.
struct Part {
    table: &'static Table,
    /// What orders its rows and tells them apart.
    key: Vec<&'static str>,
    /// All columns of its view, and whether the statement names them.
    columns: Vec<(Shown, bool)>,
}

impl Part {
    fn of(table: &'static Table, asked: &BTreeSet<(String, String)>) -> Part {
        let has_rowid = table.columns.iter().any(|c| c.kind == Kind::Key);
        let key = if has_rowid { vec!["rowid"] } else { table.key.to_vec() };
        let now = Attached { name: "main".into(), version: schema::VERSION };
        let is_asked = |name: &str| asked.contains(&(table.name.to_owned(), name.to_owned()));
        let columns = sql::shown(table, &now).into_iter().map(|c| (is_asked(&c.name), c)).map(|(is, c)| (c, is));
        Part { table, key, columns: columns.collect() }
    }

    /// `CREATE TEMP VIEW`: columns that are not asked for are NULL.
    fn view(&self, number: usize) -> String {
        let mut cells = 0;
        let columns: Vec<String> = (self.columns.iter())
            .map(|(c, is_asked)| {
                let cell = format!("day_cell(row, {cells})");
                cells += usize::from(*is_asked);
                let sql = c.typed.map_or_else(|| cell.clone(), |typed| sql::cast(&cell, typed));
                format!("{} AS {}", if *is_asked { sql.as_str() } else { "NULL" }, c.name)
            })
            .collect();
        format!(
            "CREATE TEMP VIEW {} AS WITH RECURSIVE rows_of_days (row) AS (SELECT day_row({number}, NULL) UNION ALL \
             SELECT day_row({number}, row) FROM rows_of_days WHERE row IS NOT NULL) \
             SELECT {} FROM rows_of_days WHERE row IS NOT NULL LIMIT -1;",
            self.table.name,
            columns.join(", ")
        )
    }

    /// The rows of a day of this version, from the first or behind a key.
    fn select(&self, version: i64, limits: &SqlLimits, is_behind: bool) -> String {
        let day = Attached { name: "main".into(), version };
        let key = self.key.iter().map(|name| format!("t.{name}")).collect::<Vec<_>>().join(", ");
        let cells = sql::shown(self.table, &day).into_iter().zip(&self.columns).filter(|(_, (_, is_asked))| *is_asked);
        let cells: String = cells.map(|(c, _)| format!(", {}", c.sql)).collect();
        let behind = is_behind.then(|| format!("({key}) > ({})", vec!["?"; self.key.len()].join(", ")));
        let conditions: Vec<String> = behind.into_iter().chain(sql::within(self.table, limits)).collect();
        let and = if conditions.is_empty() { String::new() } else { format!("WHERE {}", conditions.join(" AND ")) };
        format!("SELECT {key}{cells} FROM {} AS t {and} ORDER BY {key} LIMIT {ROWS_AT_ONCE}", self.table.name)
    }
}

type Read<T> = core::result::Result<T, StoreError>;

/// Rows that were read ahead.
struct Place {
    table: usize,
    /// The row that was given last, as [`packed::place`] of it.
    at: Vec<u8>,
    /// Those behind it.
    rows: VecDeque<Vec<u8>>,
    /// The day behind them, if these are all of theirs.
    next_day: Option<usize>,
}

/// The days of a statement.
struct Days {
    files: Vec<(Day, PathBuf)>,
    tables: [Part; TABLES.len()],
    limits: SqlLimits,
    ends: Option<Instant>,
    /// Those used last, the newest first: number, connection and version; none if there is nothing to read.
    open: VecDeque<(usize, Option<(Connection, i64)>)>,
    places: VecDeque<Place>,
    skipped: Vec<Skipped>,
    was_late: bool,
}

impl Days {
    /// The row behind another, the first row of all behind none.
    fn behind(&mut self, table: usize, row: Option<&[u8]>) -> Result<Option<Vec<u8>>> {
        let at = row.map_or(&[][..], packed::place);
        let known = row.and_then(|_| self.places.iter().position(|p| p.table == table && p.at == at));
        let mut place = match known.and_then(|known| self.places.remove(known)) {
            Some(place) => place,
            None => self.look_up(table, at)?,
        };
        while place.rows.is_empty() {
            place = match place.next_day {
                Some(day) if day < self.files.len() => self.read(table, day, None)?,
                Some(_) => return Ok(None),
                None => self.look_up(table, &place.at)?,
            };
        }
        let row = place.rows.pop_front();
        if let Some(row) = &row {
            place.at = packed::place(row).to_vec();
            self.places.push_front(place);
            self.places.truncate(PLACES_MAX);
        }
        Ok(row)
    }

    /// Reads what lies behind a place.
    fn look_up(&mut self, table: usize, place: &[u8]) -> Result<Place> {
        match packed::day_and_key(place) {
            Some((day, key)) => self.read(table, day, Some(&key)),
            None => self.read(table, 0, None),
        }
    }

    /// Reads the next rows of a day. One that cannot be read is noted and has none.
    fn read(&mut self, table: usize, day: usize, key: Option<&[Value]>) -> Result<Place> {
        if self.ends.is_some_and(|ends| Instant::now() > ends) {
            self.was_late = true;
            return Err(Error::UserFunctionError("took too long".into()));
        }
        let rows = match self.rows(table, day, key) {
            Ok(rows) => rows,
            Err(e @ (StoreError::Day { .. } | StoreError::Disk { .. })) => {
                self.open.retain(|(number, _)| *number != day);
                let skipped = self.files.get(day).map(|(day, _)| Skipped { day: *day, why: e.to_string() });
                self.skipped.extend(skipped.filter(|s| self.skipped.iter().all(|told| told.day != s.day)));
                VecDeque::new()
            }
            Err(e) => return Err(Error::UserFunctionError(e.to_string().into())),
        };
        let next_day = (rows.len() < ROWS_AT_ONCE).then_some(day + 1);
        Ok(Place { table, at: vec![], rows, next_day })
    }

    fn rows(&mut self, table: usize, day: usize, key: Option<&[Value]>) -> Read<VecDeque<Vec<u8>>> {
        self.open(day)?;
        let (Some((_, path)), Some((_, Some((conn, version))))) = (self.files.get(day), self.open.front()) else {
            return Ok(VecDeque::new());
        };
        let Some(part) = self.tables.get(table).filter(|part| *version >= part.table.since()) else {
            return Ok(VecDeque::new());
        };
        let read = || {
            let mut select = conn.prepare_cached(&part.select(*version, &self.limits, key.is_some()))?;
            let columns = select.column_count();
            let mut found = select.query(params_from_iter(key.unwrap_or_default()))?;
            let mut rows = VecDeque::new();
            while let Some(row) = found.next()? {
                let mut packed = packed::begin(day);
                for column in 0..columns {
                    if column == part.key.len() {
                        packed::key_ends(&mut packed);
                    }
                    packed::push(&mut packed, row.get_ref(column)?);
                }
                if columns == part.key.len() {
                    packed::key_ends(&mut packed);
                }
                rows.push_back(packed);
            }
            Ok(rows)
        };
        read().map_err(|e| open::error(path, e))
    }

    /// Brings a day to the front. Its rows stay as they are while it is open.
    fn open(&mut self, day: usize) -> Read<()> {
        if let Some(at) = self.open.iter().position(|(number, _)| *number == day) {
            if let Some(found) = self.open.remove(at) {
                self.open.push_front(found);
            }
            return Ok(());
        }
        let Some((_, path)) = self.files.get(day) else { return Ok(()) };
        let opened = open::to_read(path)?;
        if let Some((conn, _)) = &opened {
            let begin = functions::register(conn).and_then(|()| conn.execute_batch("BEGIN"));
            begin.map_err(|e| open::error(path, e))?;
        }
        self.open.push_front((day, opened));
        self.open.truncate(DAYS_OPEN_MAX);
        Ok(())
    }
}

#[cfg(test)]
mod tests;

/// A row as octets: where its place ends, its day, the values of its key, those of its cells. A value is its type and,
/// little-endian, the number or the length and the octets.
mod packed {
    use rusqlite::types::{Value, ValueRef};

    /// Octets of the day, and of where the place ends.
    const NUMBER: usize = 4;

    /// A row without values.
    pub fn begin(day: usize) -> Vec<u8> {
        let mut row = vec![0; NUMBER];
        row.extend_from_slice(&(day as u32).to_le_bytes());
        row
    }

    /// Notes that the place ends here.
    pub fn key_ends(row: &mut [u8]) {
        let end = (row.len() as u32).to_le_bytes();
        if let Some(head) = row.first_chunk_mut::<NUMBER>() {
            *head = end;
        }
    }

    /// Appends a value.
    pub fn push(row: &mut Vec<u8>, value: ValueRef<'_>) {
        let mut octets = |kind: u8, octets: &[u8]| {
            row.push(kind);
            row.extend_from_slice(&(octets.len() as u32).to_le_bytes());
            row.extend_from_slice(octets);
        };
        match value {
            ValueRef::Text(text) => octets(3, text),
            ValueRef::Blob(blob) => octets(4, blob),
            ValueRef::Null => row.push(0),
            ValueRef::Integer(number) => {
                row.push(1);
                row.extend_from_slice(&number.to_le_bytes());
            }
            ValueRef::Real(number) => {
                row.push(2);
                row.extend_from_slice(&number.to_le_bytes());
            }
        }
    }

    /// What tells a row from all others.
    pub fn place(row: &[u8]) -> &[u8] {
        let end = row.first_chunk::<NUMBER>().map_or(0, |end| u32::from_le_bytes(*end) as usize);
        row.get(NUMBER..end).unwrap_or_default()
    }

    /// The same, taken apart.
    pub fn day_and_key(place: &[u8]) -> Option<(usize, Vec<Value>)> {
        let (day, mut rest) = place.split_first_chunk::<NUMBER>()?;
        let day = u32::from_le_bytes(*day);
        let mut key = vec![];
        while !rest.is_empty() {
            let (value, after) = value(rest)?;
            key.push(owned(value));
            rest = after;
        }
        Some((day as usize, key))
    }

    /// A cell of a row.
    pub fn cell(row: &[u8], number: usize) -> Option<Value> {
        let mut rest = row.get(NUMBER + place(row).len()..)?;
        for _ in 0..number {
            rest = value(rest)?.1;
        }
        value(rest).map(|(value, _)| owned(value))
    }

    fn value(from: &[u8]) -> Option<(ValueRef<'_>, &[u8])> {
        let (kind, rest) = from.split_first()?;
        let number = || rest.split_first_chunk::<8>();
        let octets = || {
            let (length, rest) = rest.split_first_chunk::<4>()?;
            rest.split_at_checked(u32::from_le_bytes(*length) as usize)
        };
        Some(match kind {
            0 => (ValueRef::Null, rest),
            1 => number().map(|(n, rest)| (ValueRef::Integer(i64::from_le_bytes(*n)), rest))?,
            2 => number().map(|(n, rest)| (ValueRef::Real(f64::from_le_bytes(*n)), rest))?,
            3 => octets().map(|(text, rest)| (ValueRef::Text(text), rest))?,
            4 => octets().map(|(blob, rest)| (ValueRef::Blob(blob), rest))?,
            _ => return None,
        })
    }

    fn owned(value: ValueRef<'_>) -> Value {
        match value {
            ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
            ValueRef::Null => Value::Null,
            ValueRef::Integer(number) => Value::Integer(number),
            ValueRef::Real(number) => Value::Real(number),
            ValueRef::Blob(blob) => Value::Blob(blob.to_vec()),
        }
    }
}
