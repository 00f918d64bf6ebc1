//! Reading one day.

use super::find::Wanted;
use super::runs::Index;
use super::slices::Slices;
use super::write::Batch;
use super::{ddl, functions, open};
use crate::columns::{self, Cells, Value};
use crate::entry::Lookup;
use crate::error::StoreError;
use crate::filter::sql::{Condition, Parameter};
use crate::key;
use crate::packed::Damaged;
use crate::removal::Chosen;
use crate::rollup::{COUNTS, Minute};
use crate::row::{Call, Loss, StreamInterval};
use crate::schema::{self, Table};
use crate::stop::Stop;
use crate::store::Order;
use crate::time::Day;
use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection, OptionalExtension, Row, params};
use std::path::{Path, PathBuf};
use trunkline_kit::Id;

/// A day that is read.
pub struct DayReader {
    path: PathBuf,
    /// Its file.
    pub conn: Connection,
    version: i64,
    /// Tells whether the file is still the one that was opened.
    pub file: Option<u64>,
}

/// Which rows of a table whose key is their identifier are wanted.
pub struct WantedById<'a> {
    /// Between these identifiers, both left out.
    pub ids: (Id, Id),
    /// First start, and the first that is too late.
    pub starts: (i64, i64),
    /// A further condition.
    pub and: &'a str,
    /// Order.
    pub order: Order,
    /// At most so many.
    pub limit: usize,
}

impl DayReader {
    /// Opens the file of a day; none if it is empty.
    pub fn open(path: &Path) -> Result<Option<Self>, StoreError> {
        let Some((conn, version)) = open::to_read(path)? else { return Ok(None) };
        functions::register(&conn).map_err(|e| open::error(path, e))?;
        Ok(Some(DayReader { path: path.to_owned(), conn, version, file: file_number(path) }))
    }

    /// Whether its tables have gists.
    pub fn has_gists(&self) -> bool {
        self.version >= schema::VERSION_GISTS
    }

    /// Whether it is noted what there is of each slice.
    pub fn has_slices(&self) -> bool {
        self.version >= schema::VERSION_SLICES
    }

    /// Adds to calls under their keys their streams, by first packet.
    pub fn add_streams(&self, calls: &mut [(i64, Call)]) -> Result<(), Trouble> {
        // Once for all of them: to write the statement down takes as long as to look for the streams of several calls.
        let sql = format!("SELECT {} FROM streams WHERE call_key = ?", ddl::select_list(&schema::STREAMS));
        let mut select = self.conn.prepare_cached(&sql)?;
        for (key, call) in calls {
            call.streams = all(&mut select, params![*key], |row| columns::stream_of(row, Some(call.id)))?;
            call.streams.sort_by_key(|s| (s.first_ns, s.id));
        }
        Ok(())
    }

    /// Key, identifier and start of calls whose identifier lies between two, in order, at most `limit`.
    pub fn ids_between(&self, first: Id, last: Id, limit: usize) -> Result<Vec<(i64, Id, i64)>, StoreError> {
        let in_day = |id: Id| id.unix_ms().min(i64::MAX / 1_000_000) * 1_000_000;
        let start = key::day_of(last).start_ns();
        let from = key::at((in_day(first) - start).max(0));
        let to = key::at((in_day(last) - start).saturating_add(1_000_000));
        self.tell(|| {
            let mut stmt = self.conn.prepare_cached(
                "SELECT key, id, start_ns FROM calls \
                 WHERE key >= ? AND key < ? AND id >= ? AND id <= ? ORDER BY key DESC LIMIT ?",
            )?;
            // A number may have moved up by probing: look a little further.
            let to = to.saturating_add(key::PROBES_MAX);
            let found = params![from, to, first.octets(), last.octets(), limit as i64];
            Ok(stmt.query_map(found, named)?.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// Key, identifier and start of the calls with this Call-ID, newest first, at most `limit`.
    pub fn with_call_id(&self, sip_call_id: &str, limit: usize) -> Result<Vec<(i64, Id, i64)>, StoreError> {
        self.tell(|| {
            let _snapshot = self.conn.unchecked_transaction()?;
            let (mut index, mut slices) = (Index::open(&self.conn)?, Slices::open(self)?);
            let mut select =
                self.conn.prepare_cached("SELECT key, id, start_ns FROM calls WHERE key = ? AND sip_call_id = ?")?;
            let mut found = vec![];
            let mut from = key::SLICES;
            while let Some(slice) = slices.next(from, Order::Newest)? {
                let keys = index.keys(&slice, &[Lookup::call_id(sip_call_id)], usize::MAX)?;
                for key in keys.into_iter().flat_map(|(keys, _)| keys.into_iter().rev()) {
                    found.extend(select.query_row(params![key, sip_call_id], named).optional()?);
                }
                if found.len() >= limit {
                    break;
                }
                from = slice.number - 1;
            }
            found.truncate(limit);
            Ok(found)
        })
    }

    /// The call under a key, with its streams.
    pub fn call(&self, day: Day, key: i64) -> Result<Option<Call>, StoreError> {
        let (condition, stop) = (Condition::default(), Stop::never());
        let wanted = Wanted {
            day,
            filter: None,
            condition: &condition,
            lookups: &[],
            from: key,
            to: key.saturating_add(1),
            from_ns: i64::MIN,
            to_ns: i64::MAX,
            order: Order::Newest,
            limit: 1,
            stop: &stop,
        };
        Ok(self.calls(&wanted)?.calls.pop().map(|(_, call)| call))
    }

    /// The intervals of a stream.
    pub fn intervals(&self, stream: Id) -> Result<Vec<StreamInterval>, StoreError> {
        let list = ddl::select_list_of(&schema::STREAM_INTERVALS, self.version);
        let sql = format!("SELECT {list} FROM stream_intervals WHERE stream = ? ORDER BY number");
        self.tell(|| {
            all(&mut self.conn.prepare_cached(&sql)?, params![stream.octets()], |row| columns::interval_of(row))
        })
    }

    /// Rows of a table whose key is their identifier.
    pub fn by_id<T>(
        &self,
        table: &Table,
        w: &WantedById<'_>,
        read: impl Fn(&SqliteRow<'_, '_>) -> Result<T, Damaged>,
    ) -> Result<Vec<T>, StoreError> {
        if self.version < table.since() {
            return Ok(Vec::new());
        }
        let start = if table.name == "streams" { "first_ns" } else { "start_ns" };
        let sql = format!(
            "SELECT {} FROM {} WHERE id > ? AND id < ? AND {start} >= ? AND {start} < ? {} ORDER BY id {} LIMIT ?",
            ddl::select_list(table),
            table.name,
            w.and,
            direction(w.order)
        );
        self.tell(|| {
            let wanted = params![w.ids.0.octets(), w.ids.1.octets(), w.starts.0, w.starts.1, w.limit as i64];
            all(&mut self.conn.prepare_cached(&sql)?, wanted, &read)
        })
    }

    /// Losses that began in this span.
    pub fn losses(&self, from_ns: i64, to_ns: i64, order: Order, limit: usize) -> Result<Vec<Loss>, StoreError> {
        let direction = direction(order);
        let sql = format!(
            "SELECT {} FROM losses WHERE since_ns >= ? AND since_ns < ? \
             ORDER BY since_ns {direction}, place, source LIMIT ?",
            ddl::select_list(&schema::LOSSES)
        );
        let wanted = params![from_ns, to_ns, limit as i64];
        self.tell(|| all(&mut self.conn.prepare_cached(&sql)?, wanted, |row| Ok(columns::loss_of(row))))
    }

    /// Minutes with calls, in order, from the first to before the second.
    pub fn minutes(&self, from: i64, to: i64) -> Result<Vec<(i64, Minute)>, StoreError> {
        self.tell(|| self.minutes_between(from, to))
    }

    /// The same, inside of a question.
    pub fn minutes_between(&self, from: i64, to: i64) -> Result<Vec<(i64, Minute)>, Trouble> {
        let sql = format!(
            "SELECT {} FROM minutes WHERE minute >= ? AND minute < ? AND started > 0 ORDER BY minute",
            super::ddl::select_list_of(&schema::MINUTES, self.version)
        );
        let mut stmt = self.conn.prepare_cached(&sql)?;
        let rows = stmt.query_map(params![from, to], |r| {
            let mut sums = [0; COUNTS];
            for (i, sum) in sums.iter_mut().enumerate() {
                *sum = r.get(i + 1)?;
            }
            Ok((r.get(0)?, Minute::from_columns(sums)))
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Adds the rows that name this number, with or without a `+` before it.
    pub fn add_rows_of(&self, number: &str, chosen: &mut Chosen) -> Result<(), StoreError> {
        let bare = number.trim_start_matches('+');
        let names = [bare.to_owned(), format!("+{bare}")];
        let of = |column: &str| format!("({column} COLLATE NOCASE IN (?1, ?2))");
        let calls = format!("{} OR {} OR has_number(?1, detail) OR has_number(?2, detail)", of("caller"), of("callee"));
        let charges = [of("msisdn"), of("imsi"), of("destination")].join(" OR ");
        let tables = [
            ("calls", calls, &mut chosen.calls),
            ("registrations", of("user"), &mut chosen.registrations),
            ("sip_events", format!("{} OR {}", of("caller"), of("callee")), &mut chosen.events),
            ("charges", charges, &mut chosen.charges),
        ];
        self.tell(|| {
            for (table, condition, ids) in tables {
                if table == schema::CHARGES.name && self.version < schema::VERSION_CHARGES {
                    continue;
                }
                let mut select = self.conn.prepare(&format!("SELECT id FROM {table} WHERE {condition}"))?;
                let found = select.query_map([&names[0], &names[1]], |r| Ok(Id::from_octets(r.get(0)?)))?;
                for id in found {
                    ids.insert(id?);
                }
            }
            Ok(())
        })
    }

    /// Adds those rows of a batch that the day does not have.
    pub fn add_unknown(&self, batch: &Batch<'_>, chosen: &mut Chosen) -> Result<(), StoreError> {
        let mut all = Chosen::default();
        batch.add_to(&mut all);
        let has_call = |id: &Id| self.ids_between(*id, *id, 1).map(|found| !found.is_empty());
        for id in all.calls {
            if !has_call(&id)? {
                chosen.calls.insert(id);
            }
        }
        let tables = [
            (&schema::STREAMS, all.streams, &mut chosen.streams),
            (&schema::REGISTRATIONS, all.registrations, &mut chosen.registrations),
            (&schema::SIP_EVENTS, all.events, &mut chosen.events),
        ];
        self.tell(|| {
            for (table, ids, unknown) in tables {
                let mut select = self.conn.prepare_cached(&format!("SELECT 1 FROM {} WHERE id = ?", table.name))?;
                for id in ids {
                    if !select.exists([id.octets()])? {
                        unknown.insert(id);
                    }
                }
            }
            Ok(())
        })
    }

    /// Runs, and says whose fault an error was.
    pub fn tell<T>(&self, run: impl FnOnce() -> Result<T, Trouble>) -> Result<T, StoreError> {
        run().map_err(|trouble| match trouble {
            Trouble::Sqlite(e) => open::error(&self.path, e),
            Trouble::Packed(e) => StoreError::Day { path: self.path.clone(), cause: e.to_string() },
        })
    }
}

/// Either SQLite or a packed column.
pub enum Trouble {
    /// SQLite said so.
    Sqlite(rusqlite::Error),
    /// What is in it is not ours.
    Packed(Damaged),
}

impl From<rusqlite::Error> for Trouble {
    fn from(e: rusqlite::Error) -> Self {
        Trouble::Sqlite(e)
    }
}

impl From<Damaged> for Trouble {
    fn from(e: Damaged) -> Self {
        Trouble::Packed(e)
    }
}

fn all<T>(
    stmt: &mut CachedStatement<'_>,
    parameters: impl rusqlite::Params,
    read: impl Fn(&SqliteRow<'_, '_>) -> Result<T, Damaged>,
) -> Result<Vec<T>, Trouble> {
    let mut rows = stmt.query(parameters)?;
    let mut found = vec![];
    while let Some(row) = rows.next()? {
        found.push(read(&SqliteRow(row))?);
    }
    Ok(found)
}

fn named(r: &Row<'_>) -> rusqlite::Result<(i64, Id, i64)> {
    Ok((r.get(0)?, Id::from_octets(r.get(1)?), r.get(2)?))
}

/// The word of an order.
pub fn direction(order: Order) -> &'static str {
    if order == Order::Newest { "DESC" } else { "ASC" }
}

/// What tells one file from the next of the same name.
pub fn file_number(path: &Path) -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).ok().map(|m| m.ino())
}

/// A row of SQLite as [`Cells`].
pub struct SqliteRow<'a, 's>(&'a Row<'s>);

impl<'a, 's> SqliteRow<'a, 's> {
    /// This row.
    pub fn of(row: &'a Row<'s>) -> Self {
        SqliteRow(row)
    }
}

impl Cells for SqliteRow<'_, '_> {
    fn cell(&self, column: usize) -> Value<'_> {
        match self.0.get_ref(column) {
            Ok(ValueRef::Integer(value)) => Value::Whole(value),
            Ok(ValueRef::Real(value)) => Value::Real(value),
            Ok(ValueRef::Text(text)) => core::str::from_utf8(text).map_or(Value::Null, Value::Text),
            Ok(ValueRef::Blob(octets)) => Value::Octets(octets),
            Ok(ValueRef::Null) | Err(_) => Value::Null,
        }
    }
}

impl ToSql for Parameter {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Parameter::Whole(value) => ValueRef::Integer(*value),
            Parameter::Real(value) => ValueRef::Real(*value),
            Parameter::Text(text) => ValueRef::Text(text.as_bytes()),
            Parameter::Octets(octets) => ValueRef::Blob(octets.as_slice()),
        }))
    }
}
