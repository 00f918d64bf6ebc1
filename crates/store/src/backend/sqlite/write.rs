//! Writing one day: rows go into an open transaction; the commit makes them durable.

use super::bind::Insert;
use super::calls::{self, Kept, ROWS_AT_ONCE};
use super::{ddl, open, read, sums};
use crate::columns;
use crate::error::StoreError;
use crate::key;
use crate::removal::Chosen;
use crate::row::{Call, Charge, Loss, Registration, SipEvent, Stream, StreamInterval};
use crate::schema;
use crate::store::{Access, Written};
use crate::time::Day;
use rusqlite::{Connection, Result, params};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use trunkline_kit::Id;

/// The rows of one day out of a batch.
#[derive(Default)]
pub struct Batch<'a> {
    pub calls: Vec<&'a Call>,
    pub streams: Vec<&'a Stream>,
    pub intervals: Vec<&'a StreamInterval>,
    pub registrations: Vec<&'a Registration>,
    pub events: Vec<&'a SipEvent>,
    pub losses: Vec<&'a Loss>,
    pub charges: Vec<&'a Charge>,
}

impl Batch<'_> {
    /// Names the rows that have an identifier of their own; streams only where they lie alone.
    pub fn add_to(&self, chosen: &mut Chosen) {
        chosen.calls.extend(self.calls.iter().map(|c| c.id));
        chosen.streams.extend(self.streams.iter().map(|s| s.id));
        chosen.registrations.extend(self.registrations.iter().map(|r| r.id));
        chosen.events.extend(self.events.iter().map(|e| e.id));
    }

    /// Rows in it.
    pub fn rows(&self) -> usize {
        let media = self.streams.len() + self.intervals.len();
        let signalling = self.calls.len() + self.registrations.len() + self.events.len();
        signalling + media + self.losses.len() + self.charges.len()
    }
}

/// A day that is written.
pub struct DayWriter {
    path: PathBuf,
    day: Day,
    conn: Connection,
    /// Its number: another file may have taken its name since.
    file: Option<u64>,
    in_transaction: bool,
    kept: Kept,
    sql: Texts,
    /// The size of the log at which it is to be begun anew.
    log_octets: u64,
    /// When it was used last, for choosing which to close.
    pub used: u64,
    /// Rows since the last commit, which are gone if the day turns out to be damaged.
    pub uncommitted: u64,
    /// When rows were written to it last.
    touched: Instant,
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
    pub fn open(path: &Path, day: Day, access: Access) -> Result<Self, StoreError> {
        Ok(DayWriter {
            path: path.to_owned(),
            day,
            conn: open::to_write(path, access)?,
            file: read::file_number(path),
            in_transaction: false,
            kept: Kept::default(),
            sql: Texts::new(),
            log_octets: open::LOG_OCTETS_MAX,
            used: 0,
            uncommitted: 0,
            touched: Instant::now(),
        })
    }

    /// Whether its name still leads to its file, as far as can be known without the lock.
    pub fn is_current(&self) -> bool {
        self.in_transaction || read::file_number(&self.path) == self.file
    }

    /// Whether nothing was written to it for so long.
    pub fn is_idle(&self, time: Duration) -> bool {
        !self.in_transaction && self.touched.elapsed() >= time
    }

    /// Puts its log into its file, as far as readers let it; it may then be dropped.
    pub fn close(&self) -> bool {
        open::bound_log(&self.conn, &self.path, 0);
        true
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

    /// Changes what is there in the transaction, which stays open.
    pub fn change_on<T>(&mut self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T, StoreError> {
        self.guarded(|w| work(&w.conn))
    }

    /// Changes what is there, and commits.
    pub fn change<T>(&mut self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T, StoreError> {
        let done = self.change_on(work)?;
        self.commit()?;
        Ok(done)
    }

    /// Takes out of the file what was freed, and empties its log; whether there is no row left.
    pub fn shrink(&mut self) -> Result<bool, StoreError> {
        let shrink = || {
            // Somebody may have made checksums since the rows left.
            sums::forget(&self.path).map_err(open::unforgotten)?;
            self.conn.execute_batch("VACUUM")?;
            open::bound_log(&self.conn, &self.path, 0);
            sums::forget(&self.path).map_err(open::unforgotten)?;
            let mut is_empty = true;
            for table in schema::TABLES {
                is_empty &= !self.conn.prepare(&format!("SELECT 1 FROM {} LIMIT 1", table.name))?.exists([])?;
            }
            Ok(is_empty)
        };
        shrink().map_err(|e| open::error(&self.path, e))
    }

    /// Commits what was written; whether there was anything.
    pub fn commit(&mut self) -> Result<bool, StoreError> {
        if !self.in_transaction {
            return Ok(false);
        }
        self.guarded(|w| {
            w.kept.lay_down(&w.conn)?;
            w.flush_minutes()?;
            w.conn.execute_batch("COMMIT")?;
            w.in_transaction = false;
            w.uncommitted = 0;
            Ok(true)
        })?;
        self.log_octets = open::bound_log(&self.conn, &self.path, self.log_octets);
        Ok(true)
    }

    /// Runs `work` in the transaction; an error ends the transaction and forgets what was in it.
    fn guarded<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T, StoreError> {
        let run = || {
            if !self.in_transaction {
                self.conn.execute_batch("BEGIN IMMEDIATE")?;
                self.in_transaction = true;
                // Who removes a day has its lock: whoever has it and the file has its file.
                if read::file_number(&self.path) != self.file {
                    return Ok(None);
                }
                self.touched = Instant::now();
                sums::forget(&self.path).map_err(open::unforgotten)?;
            }
            work(self).map(Some)
        };
        let done = run();
        if let Ok(Some(done)) = done {
            return Ok(done);
        }
        let _ = self.conn.execute_batch("ROLLBACK");
        self.in_transaction = false;
        self.kept.clear();
        Err(match done {
            Err(e) => open::error(&self.path, e),
            Ok(_) => StoreError::Busy { path: self.path.clone() },
        })
    }

    fn write_calls(&mut self, batch: &[&Call], written: &mut Written) -> Result<Vec<Elsewhere>> {
        calls::write(&self.conn, &self.sql, &mut self.kept, batch, written)?;
        if self.kept.waiting.is_full() {
            self.kept.lay_down(&self.conn)?;
        }
        // Also for a call that is known: a crash may have come between the commits of the two days.
        let streams = batch.iter().flat_map(|call| &call.streams);
        let away = streams.filter(|s| key::day_of(s.id) != self.day);
        Ok(away.map(|s| Elsewhere { stream: s.id, lies_in: self.day }).collect())
    }

    fn write_others(&mut self, batch: &Batch<'_>) -> Result<()> {
        let DayWriter { conn, kept: Kept { scratch, words, .. }, sql, .. } = self;
        if !batch.streams.is_empty() {
            let mut known = conn.prepare_cached("SELECT 1 FROM streams_elsewhere WHERE id = ?")?;
            let mut insert = Insert::prepare(conn, &sql.stream_alone)?;
            for stream in &batch.streams {
                if !known.exists([stream.id.octets()])? {
                    insert.row(&columns::stream(stream, None, scratch), words)?;
                }
            }
        }
        each(conn, &sql.interval, &batch.intervals, |put, i| put.row(&columns::interval(i), words))?;
        each(conn, &sql.registration, &batch.registrations, |put, r| {
            put.row(&columns::registration(r, scratch), words)
        })?;
        each(conn, &sql.event, &batch.events, |put, e| put.row(&columns::event(e), words))?;
        each(conn, &sql.loss, &batch.losses, |put, l| put.row(&columns::loss(l), words))?;
        each(conn, &sql.charge, &batch.charges, |put, c| put.row(&columns::charge(c), words))
    }

    fn flush_minutes(&mut self) -> Result<()> {
        let mut add = self.conn.prepare_cached(&self.sql.minute)?;
        for (minute, sums) in &self.kept.minutes {
            add.raw_bind_parameter(1, minute)?;
            for (i, sum) in sums.columns().iter().enumerate() {
                add.raw_bind_parameter(i + 2, sum)?;
            }
            add.raw_execute()?;
        }
        self.kept.minutes.clear();
        Ok(())
    }
}

impl Drop for DayWriter {
    fn drop(&mut self) {
        open::end_writing(&self.conn);
    }
}

fn each<T>(
    conn: &Connection,
    sql: &str,
    rows: &[&T],
    mut put: impl FnMut(&mut Insert<'_>, &T) -> Result<usize>,
) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let mut insert = Insert::prepare(conn, sql)?;
    for row in rows {
        put(&mut insert, row)?;
    }
    Ok(())
}

/// The statements, made once.
pub struct Texts {
    /// One call, if its key is free.
    pub call_insert: String,
    /// [`ROWS_AT_ONCE`] calls, those whose key is free.
    pub calls_insert: String,
    /// One call in place of what is there.
    pub call_replace: String,
    /// One stream of a call, in place of what is there unless it is another call's: two captures may hold the same
    /// media, each with the signalling of one leg.
    pub stream_put: String,
    stream_alone: String,
    interval: String,
    registration: String,
    event: String,
    loss: String,
    charge: String,
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
            call_insert: ddl::insert("INSERT OR IGNORE", &CALLS, ""),
            calls_insert: ddl::insert_rows("INSERT OR IGNORE", &CALLS, ROWS_AT_ONCE, ""),
            call_replace: ddl::insert("INSERT OR REPLACE", &CALLS, ""),
            stream_put: upsert(&STREAMS, "streams.call_key IS NULL OR streams.call_key = excluded.call_key"),
            stream_alone: upsert(
                &STREAMS,
                "streams.call_key IS NULL AND (excluded.last_ns, excluded.packets) > (streams.last_ns, streams.packets)",
            ),
            interval: upsert(&STREAM_INTERVALS, "excluded.packets > stream_intervals.packets"),
            registration: upsert(&REGISTRATIONS, &ended("registrations", "requests")),
            event: upsert(&SIP_EVENTS, &ended("sip_events", "retransmissions")),
            loss: upsert(&LOSSES, "(excluded.at_ns, excluded.count) > (losses.at_ns, losses.count)"),
            // The same record again is the same row.
            charge: ddl::insert("INSERT OR IGNORE", &CHARGES, ""),
            minute: ddl::insert("INSERT", &MINUTES, &format!("ON CONFLICT (minute) DO UPDATE SET {}", sums.join(", "))),
        }
    }
}
