//! Writing one day: rows go into an open transaction; the commit makes them durable.

use super::{ddl, open};
use crate::columns::{self, Scratch, Value};
use crate::error::StoreError;
use crate::key;
use crate::rollup::{self, Minute};
use crate::row::{Call, Loss, Registration, SipEvent, Stream, StreamInterval};
use crate::schema;
use crate::store::Written;
use crate::time::Day;
use hashbrown::HashMap;
use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, Result, Statement, params};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use trunkline_kit::Id;

/// Words remembered for a day that is written; when there are more, all are forgotten and looked up again.
const WORDS_MAX: usize = 8192;

/// The rows of one day out of a batch.
#[derive(Default)]
pub struct Batch<'a> {
    pub calls: Vec<&'a Call>,
    pub streams: Vec<&'a Stream>,
    pub intervals: Vec<&'a StreamInterval>,
    pub registrations: Vec<&'a Registration>,
    pub events: Vec<&'a SipEvent>,
    pub losses: Vec<&'a Loss>,
}

impl Batch<'_> {
    /// Rows in it.
    pub fn rows(&self) -> usize {
        let media = self.streams.len() + self.intervals.len();
        self.calls.len() + media + self.registrations.len() + self.events.len() + self.losses.len()
    }
}

/// A day that is written.
pub struct DayWriter {
    path: PathBuf,
    day: Day,
    conn: Connection,
    in_transaction: bool,
    scratch: Scratch,
    words: Words,
    minutes: BTreeMap<i64, Minute>,
    sql: Texts,
    /// When it was used last, for choosing which to close.
    pub used: u64,
}

/// A stream that lies in the day of its call, not in that of its own first packet.
pub struct Elsewhere {
    /// The stream.
    pub stream: Id,
    /// The day of its call.
    pub lies_in: Day,
}

impl DayWriter {
    /// Opens the file of a day, or makes it.
    pub fn open(path: &Path, day: Day) -> Result<Self, StoreError> {
        Ok(DayWriter {
            path: path.to_owned(),
            day,
            conn: open::to_write(path)?,
            in_transaction: false,
            scratch: Scratch::default(),
            words: Words::default(),
            minutes: BTreeMap::new(),
            sql: Texts::new(),
            used: 0,
        })
    }

    /// Writes calls with their streams; gives the streams that other days must know of.
    pub fn calls(&mut self, calls: &[&Call], written: &mut Written) -> Result<Vec<Elsewhere>, StoreError> {
        self.guarded(|w| w.write_calls(calls, written))
    }

    /// Writes the other rows of a batch.
    pub fn others(&mut self, batch: &Batch<'_>) -> Result<(), StoreError> {
        self.guarded(|w| w.write_others(batch))
    }

    /// Notes that streams lie with their call in another day, and removes them here.
    pub fn elsewhere(&mut self, streams: &[Elsewhere]) -> Result<(), StoreError> {
        self.guarded(|w| {
            let mut note = w.conn.prepare_cached("INSERT OR REPLACE INTO streams_elsewhere (id, day) VALUES (?, ?)")?;
            let mut remove = w.conn.prepare_cached("DELETE FROM streams WHERE id = ? AND call_key IS NULL")?;
            for s in streams {
                note.execute(params![s.stream.octets(), s.lies_in.number()])?;
                remove.execute(params![s.stream.octets()])?;
            }
            Ok(())
        })
    }

    /// Commits what was written; whether there was anything.
    pub fn commit(&mut self) -> Result<bool, StoreError> {
        if !self.in_transaction {
            return Ok(false);
        }
        self.guarded(|w| {
            w.flush_minutes()?;
            w.conn.execute_batch("COMMIT")?;
            w.in_transaction = false;
            Ok(true)
        })
    }

    /// Runs `work` in the transaction; an error ends the transaction and forgets what was in it.
    fn guarded<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T, StoreError> {
        let run = || {
            if !self.in_transaction {
                self.conn.execute_batch("BEGIN IMMEDIATE")?;
                self.in_transaction = true;
            }
            work(self)
        };
        run().map_err(|e| {
            let _ = self.conn.execute_batch("ROLLBACK");
            self.in_transaction = false;
            self.words.ids.clear();
            self.minutes.clear();
            open::error(&self.path, e)
        })
    }

    fn write_calls(&mut self, calls: &[&Call], written: &mut Written) -> Result<Vec<Elsewhere>> {
        let mut insert = self.conn.prepare_cached(&self.sql.call_insert)?;
        let mut minutes = core::mem::take(&mut self.minutes);
        let (scratch, words) = (&mut self.scratch, &mut self.words);
        let mut elsewhere = vec![];
        for call in calls {
            let day = Calls { conn: &self.conn, sql: &self.sql, insert: &mut insert, scratch, words };
            let put = day.put(call, &mut minutes)?;
            match put {
                Put::New => written.calls_new += 1,
                Put::Completed => written.calls_completed += 1,
                Put::Known => written.calls_known += 1,
                Put::Refused => written.refused += 1,
            }
            // Also for a call that is known: a crash may have come between the commits of the two days.
            let away = call.streams.iter().filter(|s| key::day_of(s.id) != self.day);
            elsewhere.extend(away.map(|s| Elsewhere { stream: s.id, lies_in: self.day }));
        }
        self.minutes = minutes;
        Ok(elsewhere)
    }

    fn write_others(&mut self, batch: &Batch<'_>) -> Result<()> {
        let DayWriter { conn, scratch, words, sql, .. } = self;
        if !batch.streams.is_empty() {
            let mut known = conn.prepare_cached("SELECT 1 FROM streams_elsewhere WHERE id = ?")?;
            let mut insert = conn.prepare_cached(&sql.stream_alone)?;
            for stream in &batch.streams {
                if !known.exists([stream.id.octets()])? {
                    execute(&mut insert, &columns::stream(stream, None, scratch), conn, words)?;
                }
            }
        }
        each(conn, words, &sql.interval, &batch.intervals, |stmt, i, conn, words| {
            execute(stmt, &columns::interval(i), conn, words)
        })?;
        each(conn, words, &sql.registration, &batch.registrations, |stmt, r, conn, words| {
            execute(stmt, &columns::registration(r, scratch), conn, words)
        })?;
        each(conn, words, &sql.event, &batch.events, |stmt, e, conn, words| {
            execute(stmt, &columns::event(e), conn, words)
        })?;
        each(conn, words, &sql.loss, &batch.losses, |stmt, l, conn, words| {
            execute(stmt, &columns::loss(l), conn, words)
        })
    }

    fn flush_minutes(&mut self) -> Result<()> {
        let mut add = self.conn.prepare_cached(&self.sql.minute)?;
        for (minute, sums) in &self.minutes {
            add.raw_bind_parameter(1, minute)?;
            for (i, sum) in sums.columns().iter().enumerate() {
                add.raw_bind_parameter(i + 2, sum)?;
            }
            add.raw_execute()?;
        }
        self.minutes.clear();
        Ok(())
    }
}

fn add(minutes: &mut BTreeMap<i64, Minute>, call: &Call, times: i64) {
    minutes.entry(rollup::minute_of(call.start_ns)).or_default().add(&rollup::of(call), times);
}

/// What became of the row of a call.
enum Put {
    New,
    Completed,
    Known,
    Refused,
}

/// What putting a call needs.
struct Calls<'a, 's> {
    conn: &'a Connection,
    sql: &'a Texts,
    insert: &'a mut Statement<'s>,
    scratch: &'a mut Scratch,
    words: &'a mut Words,
}

impl Calls<'_, '_> {
    /// Puts a call under the first number that is free or already its own.
    fn put(self, call: &Call, minutes: &mut BTreeMap<i64, Minute>) -> Result<Put> {
        let first = key::of_call(call.id, call.start_ns);
        for key in first..first.saturating_add(key::PROBES_MAX) {
            if execute(self.insert, &columns::call(call, key, self.scratch), self.conn, self.words)? == 1 {
                add(minutes, call, 1);
                self.put_streams(call, key)?;
                return Ok(Put::New);
            }
            let kept = kept(self.conn, key)?;
            if kept.call.id != call.id {
                continue;
            }
            if (call.last_ns, columns::seen(call)) <= (kept.call.last_ns, kept.seen) {
                return Ok(Put::Known);
            }
            let mut replace = self.conn.prepare_cached(&self.sql.call_replace)?;
            execute(&mut replace, &columns::call(call, key, self.scratch), self.conn, self.words)?;
            self.conn.prepare_cached("DELETE FROM streams WHERE call_key = ?")?.execute([key])?;
            add(minutes, &kept.call, -1);
            add(minutes, call, 1);
            self.put_streams(call, key)?;
            return Ok(Put::Completed);
        }
        Ok(Put::Refused)
    }

    fn put_streams(self, call: &Call, key: i64) -> Result<()> {
        if call.streams.is_empty() {
            return Ok(());
        }
        let mut put = self.conn.prepare_cached(&self.sql.stream_put)?;
        for stream in &call.streams {
            execute(&mut put, &columns::stream(stream, Some(key), self.scratch), self.conn, self.words)?;
        }
        Ok(())
    }
}

/// The stored row of a call, as far as it decides which of two rows is kept and what its minute counted.
struct Kept {
    call: Call,
    seen: i64,
}

fn kept(conn: &Connection, key: i64) -> Result<Kept> {
    let mut select = conn.prepare_cached(
        "SELECT id, last_ns, seen, start_ns, ringing_ns, answer_ns, end_ns, state, code, mos FROM calls WHERE key = ?",
    )?;
    select.query_row([key], |r| {
        let call = Call {
            id: Id::from_octets(r.get(0)?),
            last_ns: r.get(1)?,
            start_ns: r.get(3)?,
            ringing_ns: r.get(4)?,
            answer_ns: r.get(5)?,
            end_ns: r.get(6)?,
            state: columns::state_of(r.get(7)?),
            code: r.get::<_, Option<u16>>(8)?.unwrap_or(0),
            mos: r.get::<_, Option<f64>>(9)?.map(|m| m as f32),
            ..Call::default()
        };
        Ok(Kept { call, seen: r.get(2)? })
    })
}

fn each<T>(
    conn: &Connection,
    words: &mut Words,
    sql: &str,
    rows: &[&T],
    mut put: impl FnMut(&mut Statement<'_>, &T, &Connection, &mut Words) -> Result<usize>,
) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let mut stmt = conn.prepare_cached(sql)?;
    for row in rows {
        put(&mut stmt, row, conn, words)?;
    }
    Ok(())
}

fn execute(stmt: &mut Statement<'_>, values: &[Value<'_>], conn: &Connection, words: &mut Words) -> Result<usize> {
    for (i, value) in values.iter().enumerate() {
        let value = match value {
            Value::Word(text) => Value::Whole(words.id(conn, text)?),
            value => *value,
        };
        stmt.raw_bind_parameter(i + 1, Bound(value))?;
    }
    stmt.raw_execute()
}

struct Bound<'a>(Value<'a>);

impl ToSql for Bound<'_> {
    fn to_sql(&self) -> Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match &self.0 {
            Value::Null => ValueRef::Null,
            Value::Whole(value) => ValueRef::Integer(*value),
            Value::Real(value) => ValueRef::Real(*value),
            Value::Text(text) | Value::Word(text) => ValueRef::Text(text.as_bytes()),
            Value::Octets(octets) => ValueRef::Blob(octets),
            Value::Endpoint(octets) => ValueRef::Blob(octets.as_slice()),
        }))
    }
}

/// The dictionary of the day.
#[derive(Default)]
struct Words {
    ids: HashMap<String, i64>,
}

impl Words {
    fn id(&mut self, conn: &Connection, text: &str) -> Result<i64> {
        if let Some(id) = self.ids.get(text) {
            return Ok(*id);
        }
        let mut insert = conn.prepare_cached("INSERT INTO words (text) VALUES (?) ON CONFLICT (text) DO NOTHING")?;
        insert.execute([text])?;
        let mut select = conn.prepare_cached("SELECT id FROM words WHERE text = ?")?;
        let id = select.query_row([text], |r| r.get(0))?;
        if self.ids.len() >= WORDS_MAX {
            self.ids.clear();
        }
        self.ids.insert(text.to_owned(), id);
        Ok(id)
    }
}

/// The statements, made once.
struct Texts {
    call_insert: String,
    call_replace: String,
    stream_put: String,
    stream_alone: String,
    interval: String,
    registration: String,
    event: String,
    loss: String,
    minute: String,
}

impl Texts {
    fn new() -> Self {
        use schema::*;
        let upsert = |table, more: &str| ddl::insert("INSERT", table, &ddl::replace_if(table, more));
        let ended = |table: &str, second: &str| {
            let key = |row: &str| format!("(coalesce({row}.end_ns, -1 << 63), {row}.{second})");
            format!("{} > {}", key("excluded"), key(table))
        };
        let sums: Vec<String> =
            MINUTES.columns.iter().skip(1).map(|c| format!("{0} = minutes.{0} + excluded.{0}", c.name)).collect();
        Texts {
            call_insert: ddl::insert("INSERT", &CALLS, "ON CONFLICT (key) DO NOTHING"),
            call_replace: ddl::insert("INSERT OR REPLACE", &CALLS, ""),
            stream_put: ddl::insert("INSERT OR REPLACE", &STREAMS, ""),
            stream_alone: upsert(
                &STREAMS,
                "streams.call_key IS NULL AND (excluded.last_ns, excluded.packets) > (streams.last_ns, streams.packets)",
            ),
            interval: upsert(&STREAM_INTERVALS, "excluded.packets > stream_intervals.packets"),
            registration: upsert(&REGISTRATIONS, &ended("registrations", "requests")),
            event: upsert(&SIP_EVENTS, &ended("sip_events", "retransmissions")),
            loss: upsert(&LOSSES, "(excluded.at_ns, excluded.count) > (losses.at_ns, losses.count)"),
            minute: ddl::insert("INSERT", &MINUTES, &format!("ON CONFLICT (minute) DO UPDATE SET {}", sums.join(", "))),
        }
    }
}
