//! Writing the calls of a day with their streams.

use super::bind::{Insert, Words};
use super::gists;
use super::runs::{self, Waiting};
use super::slices;
use super::write::Texts;
use crate::columns::{self, Scratch};
use crate::gist::{self, Column, Values};
use crate::key;
use crate::rollup::{self, Minute};
use crate::row::{Call, Verdict};
use crate::store::Written;
use rusqlite::{Connection, Result};
use std::collections::{BTreeMap, BTreeSet};
use trunkline_kit::Id;

/// Calls that one statement inserts: to begin and end a statement costs as much as a third of a row.
pub const ROWS_AT_ONCE: usize = 16;

/// How many slices behind the last one a slice is settled: an hour later few calls that began in it have not ended.
const SETTLED_BEHIND: i64 = 6;

/// What a day keeps from one batch of calls to the next, until it is committed.
#[derive(Default)]
pub struct Kept {
    /// Memory for packing rows.
    pub scratch: Scratch,
    /// The dictionary.
    pub words: Words,
    /// Roll-ups that wait for the commit.
    pub minutes: BTreeMap<i64, Minute>,
    /// Entries of the index that wait for it.
    pub waiting: Waiting,
    /// Gists that wait for it.
    pub gists: gists::Waiting,
    /// The first slice that was not settled by this writer; none before its first commit.
    unsettled: Option<i64>,
}

impl Kept {
    /// Forgets what belongs to a transaction that failed.
    pub fn clear(&mut self) {
        self.words.clear();
        self.minutes.clear();
        self.waiting.clear();
        self.gists.clear();
    }

    /// Lays down what waits for the commit, and settles the slices that are behind.
    pub fn lay_down(&mut self, conn: &Connection) -> Result<()> {
        let Some((first, last)) = self.waiting.slices() else { return Ok(()) };
        let mut changed: BTreeSet<i64> = self.waiting.numbers().into_iter().collect();
        self.waiting.lay_down(conn)?;
        self.gists.lay_down(conn)?;
        let from = *self.unsettled.get_or_insert(first);
        for slice in from..last - SETTLED_BEHIND {
            runs::settle(conn, slice)?;
            gists::settle(conn, slice)?;
            changed.insert(slice);
            self.unsettled = Some(slice + 1);
        }
        changed.into_iter().try_for_each(|slice| slices::note(conn, slice))
    }
}

/// Writes calls into the open transaction.
pub fn write(conn: &Connection, sql: &Texts, kept: &mut Kept, calls: &[&Call], written: &mut Written) -> Result<()> {
    let one = Insert::prepare(conn, &sql.call_insert)?;
    let mut writer = Calls { conn, sql, one, streams: None, gists: vec![], kept };
    let mut many = None;
    // A capture that is read again holds one known call after the other: trying sixteen at once is then in vain.
    let mut all_new = true;
    for calls in calls.chunks(ROWS_AT_ONCE) {
        if all_new && calls.len() == ROWS_AT_ONCE {
            let many = match &mut many {
                Some(many) => many,
                None => many.insert(Insert::prepare(conn, &sql.calls_insert)?),
            };
            if writer.put_all(many, calls)? {
                written.calls_new += calls.len() as u64;
                continue;
            }
        }
        all_new = true;
        for call in calls {
            let put = writer.put(call)?;
            all_new &= matches!(put, Put::New);
            match put {
                Put::New => written.calls_new += 1,
                Put::Completed => written.calls_completed += 1,
                Put::Known => written.calls_known += 1,
                Put::Refused => written.refused += 1,
            }
        }
    }
    Ok(())
}

/// What became of the row of a call.
enum Put {
    New,
    Completed,
    Known,
    Refused,
}

/// What putting calls needs.
struct Calls<'c, 'k> {
    conn: &'c Connection,
    sql: &'k Texts,
    one: Insert<'c>,
    streams: Option<Insert<'c>>,
    gists: Vec<Values>,
    kept: &'k mut Kept,
}

impl Calls<'_, '_> {
    /// Puts calls with one statement if all of them are new and each can have the first number it may have; else puts
    /// none of them.
    fn put_all(&mut self, insert: &mut Insert<'_>, calls: &[&Call]) -> Result<bool> {
        self.gists.clear();
        for (n, call) in calls.iter().enumerate() {
            let key = key::of_call(call.id, call.start_ns);
            let row = columns::call(call, key, &mut self.kept.scratch);
            let first = n * row.len();
            insert.bind(first, &row, &mut self.kept.words)?;
            self.gists.push(gist::of(call, key, &row, words_of(insert, first)));
        }
        let put = insert.run()?;
        if put < calls.len() {
            if put > 0 {
                // Rows are numbered in the order in which they come.
                let last = self.conn.last_insert_rowid();
                self.conn.prepare_cached("DELETE FROM calls WHERE rowid > ?")?.execute([last - put as i64])?;
            }
            return Ok(false);
        }
        let gists = core::mem::take(&mut self.gists);
        for (call, gist) in calls.iter().zip(&gists) {
            self.put_rest(call, *gist, false)?;
        }
        self.gists = gists;
        Ok(true)
    }

    /// Puts a call under the first number that is free or already its own.
    fn put(&mut self, call: &Call) -> Result<Put> {
        let first = key::of_call(call.id, call.start_ns);
        for key in first..first.saturating_add(key::PROBES_MAX) {
            let row = columns::call(call, key, &mut self.kept.scratch);
            self.one.bind(0, &row, &mut self.kept.words)?;
            let gist = gist::of(call, key, &row, words_of(&self.one, 0));
            if self.one.run()? == 1 {
                self.put_rest(call, gist, false)?;
                return Ok(Put::New);
            }
            let there = There::under(self.conn, key)?;
            if there.call.id != call.id {
                continue;
            }
            if (call.last_ns, columns::seen(call)) <= (there.call.last_ns, there.seen) {
                return Ok(Put::Known);
            }
            let row = columns::call(call, key, &mut self.kept.scratch);
            Insert::prepare(self.conn, &self.sql.call_replace)?.row(&row, &mut self.kept.words)?;
            self.conn.prepare_cached("DELETE FROM streams WHERE call_key = ?")?.execute([key])?;
            self.count(&there.call, -1);
            self.put_rest(call, gist, true)?;
            return Ok(Put::Completed);
        }
        Ok(Put::Refused)
    }

    /// What belongs to the row of a call.
    fn put_rest(&mut self, call: &Call, gist: Values, again: bool) -> Result<()> {
        let key = gist[Column::Key as usize] as i64;
        self.count(call, 1);
        let numbers = [gist[Column::Caller as usize], gist[Column::Callee as usize]];
        self.kept.waiting.add(call, numbers, key);
        self.kept.gists.add(gist, again, call);
        if call.streams.is_empty() {
            return Ok(());
        }
        let put = match &mut self.streams {
            Some(put) => put,
            None => self.streams.insert(Insert::prepare(self.conn, &self.sql.stream_put)?),
        };
        for stream in &call.streams {
            put.row(&columns::stream(stream, Some(key), &mut self.kept.scratch), &mut self.kept.words)?;
        }
        Ok(())
    }

    fn count(&mut self, call: &Call, times: i64) {
        let minute = self.kept.minutes.entry(rollup::minute_of(call.start_ns)).or_default();
        minute.add(&rollup::of(call), times);
    }
}

/// The numbers of the words of a row that was bound: User-Agent, codecs, verdict.
fn words_of(insert: &Insert<'_>, first: usize) -> [u64; 3] {
    [16, 21, 22].map(|column| insert.word(first + column) as u64)
}

/// The stored row of a call, as far as it decides which of two rows is kept and what its minute counted.
struct There {
    call: Call,
    seen: i64,
}

impl There {
    fn under(conn: &Connection, key: i64) -> Result<Self> {
        let mut select = conn.prepare_cached(
            "SELECT id, last_ns, seen, start_ns, ringing_ns, answer_ns, end_ns, state, code, mos, \
             (SELECT text FROM words WHERE words.id = verdict_kind) FROM calls WHERE key = ?",
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
                verdict: r.get::<_, Option<String>>(10)?.map(|kind| Verdict { kind, ..Verdict::default() }),
                ..Call::default()
            };
            Ok(There { call, seen: r.get(2)? })
        })
    }
}
