//! The gists of a day's calls (`crate::gist`) in rows of a table, by slice of the day.
//!
//! Gists of a transaction are laid down before its commit, behind those of their slice that are there; small parts are
//! merged into what comes behind them, so that a slice has few. A row is the head of a part or one column of it; its
//! number says slice, column and part. docs/decisions/0027.

use super::read::Trouble;
use super::runs::Index;
use crate::gist::{COLUMNS, Column, Columns, GISTS_MAX, Gists, HOSTS, Head, Hosts, Range, Values};
use crate::key;
use crate::row::Call;
use crate::store::Order;
use rusqlite::{CachedStatement, Connection, OptionalExtension, Result};
use std::collections::BTreeMap;

/// The table.
pub const TABLE: &str = "CREATE TABLE call_gists (part INTEGER PRIMARY KEY, octets BLOB NOT NULL);\n";

/// Marks a slice with calls that have no gist: they were written before there were any.
const OLDER: i64 = (1 << COLUMN_BITS) - 1;
const COLUMN_BITS: u32 = 5;
const PART_BITS: u32 = 24;

/// The row of a column of a part; column 0 is the head.
fn row_of(slice: i64, column: i64, part: i64) -> i64 {
    (slice << COLUMN_BITS | column) << PART_BITS | part
}

/// Gists that wait for the commit.
#[derive(Default)]
pub struct Waiting {
    slices: BTreeMap<i64, Gists>,
}

impl Waiting {
    /// Takes the gist of a call; `again` if another of its key may be there.
    pub fn add(&mut self, values: Values, again: bool, call: &Call) {
        let slice = key::slice(values[Column::Key as usize] as i64);
        self.slices.entry(slice).or_default().push(values, again, call);
    }

    /// Forgets them: their transaction failed.
    pub fn clear(&mut self) {
        self.slices.clear();
    }

    /// Lays them down in the transaction.
    pub fn lay_down(&mut self, conn: &Connection) -> Result<()> {
        for (slice, gists) in core::mem::take(&mut self.slices) {
            lay_down(conn, slice, gists)?;
        }
        Ok(())
    }
}

/// Writes gists behind those of their slice, merged with the parts before them that are less than twice as large: then
/// each part is at least twice the next, or full.
fn lay_down(conn: &Connection, slice: i64, gists: Gists) -> Result<()> {
    let mut reader = Reader::open(conn)?;
    let mut parts = reader.parts(slice, None).map_err(unreadable)?;
    let (mut merged, mut rows) = (vec![], gists.len());
    let next = parts.last().map_or(0, |last| last.number + 1);
    while let Some(part) = parts.pop() {
        if part.head.rows >= 2 * rows || part.head.rows + rows > GISTS_MAX {
            break;
        }
        rows += part.head.rows;
        merged.push(part);
    }
    merged.reverse();
    replace(conn, &mut reader, slice, &merged, next, gists)
}

/// Fills the parts of a slice to which nothing more comes.
pub fn settle(conn: &Connection, slice: i64) -> Result<()> {
    let mut reader = Reader::open(conn)?;
    let mut parts = reader.parts(slice, None).map_err(unreadable)?;
    let next = parts.last().map_or(0, |last| last.number + 1);
    // Those that are full, or nearly, stay.
    let full = parts.iter().position(|part| part.head.rows < GISTS_MAX * 7 / 8).unwrap_or(parts.len());
    let loose = parts.split_off(full);
    let rows: usize = loose.iter().map(|part| part.head.rows).sum();
    if loose.len() <= rows.div_ceil(GISTS_MAX) || rows > SETTLED_MAX {
        return Ok(());
    }
    replace(conn, &mut reader, slice, &loose, next, Gists::default())
}

/// Most gists of a slice that are laid down anew when it is settled; more stay as they are.
const SETTLED_MAX: usize = 1 << 19;

/// Writes gists in place of the last parts of a slice, behind what those hold.
fn replace(
    conn: &Connection,
    reader: &mut Reader<'_>,
    slice: i64,
    parts: &[Part],
    next: i64,
    gists: Gists,
) -> Result<()> {
    let mut all = gists;
    if !parts.is_empty() {
        let mut before = Gists::default();
        let mut delete = conn.prepare_cached("DELETE FROM call_gists WHERE part = ?")?;
        for part in parts {
            before.append(&mut reader.columns(part)).map_err(unreadable)?;
            for column in 0..=HOSTS as i64 + 1 {
                delete.execute([row_of(slice, column, part.number)])?;
            }
        }
        before.join(all);
        all = before;
    }
    let next = parts.first().map_or(next, |part| part.number);
    let mut insert = conn.prepare_cached("INSERT INTO call_gists (part, octets) VALUES (?, ?)")?;
    all.write(|part, column, octets| {
        insert.raw_bind_parameter(1, row_of(slice, column as i64, next + part as i64))?;
        insert.raw_bind_parameter(2, octets)?;
        insert.raw_execute().map(|_| ())
    })
}

/// What was found damaged while writing, as SQLite says it: the day is passed over.
pub fn unreadable(trouble: Trouble) -> rusqlite::Error {
    match trouble {
        Trouble::Sqlite(e) => e,
        Trouble::Packed(e) => rusqlite::Error::SqliteFailure(
            rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT),
            Some(e.to_string()),
        ),
    }
}

/// Marks all slices that have calls as older than gists.
pub fn mark_older(conn: &Connection) -> Result<()> {
    let mut insert = conn.prepare("INSERT INTO call_gists (part, octets) VALUES (?, x'')")?;
    let mut index = Index::open(conn)?;
    let mut from = 0;
    while let Some(slice) = index.next_slice(from, Order::Oldest)? {
        insert.execute([row_of(slice, OLDER, 0)])?;
        from = slice + 1;
    }
    Ok(())
}

/// The gists of a day as they are read. What is found is sure only within one transaction.
pub struct Reader<'c> {
    heads: CachedStatement<'c>,
    one: CachedStatement<'c>,
    /// Memory of columns that were read before.
    spare: Vec<Vec<u64>>,
}

/// A part.
pub struct Part {
    slice: i64,
    number: i64,
    /// What it says first.
    pub head: Head,
    octets: Vec<u8>,
}

impl<'c> Reader<'c> {
    /// Prepares the statements.
    pub fn open(conn: &'c Connection) -> Result<Self> {
        Ok(Reader {
            heads: conn.prepare_cached(
                "SELECT part, octets FROM call_gists WHERE part >= ? AND part < ? ORDER BY part LIMIT ?",
            )?,
            one: conn.prepare_cached("SELECT octets FROM call_gists WHERE part = ?")?,
            spare: vec![],
        })
    }

    /// Whether a slice has calls without a gist.
    pub fn is_older(&mut self, slice: i64) -> Result<bool> {
        self.one.exists([row_of(slice, OLDER, 0)])
    }

    /// The parts of a slice, in the order in which they were written; where it is known how many there are, nothing
    /// behind them is read.
    pub fn parts(&mut self, slice: i64, count: Option<usize>) -> Result<Vec<Part>, Trouble> {
        let count = count.map_or(-1, |count| count as i64);
        let mut rows = self.heads.query([row_of(slice, 0, 0), row_of(slice, 1, 0), count])?;
        let mut parts = vec![];
        while let Some(row) = rows.next()? {
            let octets = row.get_ref(1)?.as_blob().unwrap_or_default();
            let number = row.get::<_, i64>(0)? & ((1 << PART_BITS) - 1);
            parts.push(Part { slice, number, head: Head::read(octets)?, octets: octets.to_vec() });
        }
        Ok(parts)
    }

    /// The columns of a part.
    pub fn columns<'r>(&'r mut self, part: &'r Part) -> PartColumns<'r, 'c> {
        PartColumns { reader: self, part, read: [const { None }; COLUMNS], hosts: None }
    }
}

/// The columns of a part; what was read is kept.
pub struct PartColumns<'r, 'c> {
    reader: &'r mut Reader<'c>,
    part: &'r Part,
    read: [Option<Vec<u64>>; COLUMNS],
    hosts: Option<Hosts>,
}

impl PartColumns<'_, '_> {
    /// The values of a column at some places.
    pub fn gather(&mut self, column: usize, places: &[usize]) -> Result<Vec<u64>, Trouble> {
        let mut out = self.reader.spare.pop().unwrap_or_default();
        match self.read.get(column).and_then(Option::as_ref) {
            Some(read) => {
                out.clear();
                out.extend(places.iter().map(|place| read.get(*place).copied().unwrap_or(0)));
            }
            None => self.with_octets(column, |head, octets| head.gather(column, octets, places, &mut out))?,
        }
        Ok(out)
    }

    /// Memory that is not needed any more.
    pub fn spare(&mut self, values: impl IntoIterator<Item = Vec<u64>>) {
        self.reader.spare.extend(values);
    }

    fn with_octets<T>(
        &mut self,
        column: usize,
        read: impl FnOnce(&Head, &[u8]) -> Result<T, crate::packed::Damaged>,
    ) -> Result<T, Trouble> {
        let Part { slice, number, head, octets } = self.part;
        if !head.is_apart(column) {
            return Ok(read(head, octets)?);
        }
        let row = row_of(*slice, column as i64 + 1, *number);
        let found =
            self.reader.one.query_row([row], |row| Ok(read(head, row.get_ref(0)?.as_blob().unwrap_or_default())));
        match found.optional()? {
            Some(found) => Ok(found?),
            None => Err(crate::packed::Damaged("a column is missing").into()),
        }
    }
}

impl Columns for PartColumns<'_, '_> {
    type Error = Trouble;

    fn rows(&self) -> usize {
        self.part.head.rows
    }

    fn range(&self, column: usize) -> Range {
        self.part.head.range(column)
    }

    fn values(&mut self, column: usize) -> Result<&[u64], Trouble> {
        if self.read.get(column).is_some_and(Option::is_none) {
            let mut values = self.reader.spare.pop().unwrap_or_default();
            self.with_octets(column, |head, octets| head.values(column, octets, &mut values))?;
            if let Some(slot) = self.read.get_mut(column) {
                *slot = Some(values);
            }
        }
        Ok(self.read.get(column).and_then(Option::as_deref).unwrap_or_default())
    }

    fn hosts(&mut self) -> Result<&Hosts, Trouble> {
        if self.hosts.is_none() {
            self.hosts = Some(self.with_octets(HOSTS, |head, octets| head.hosts(octets))?);
        }
        Ok(self.hosts.get_or_insert_default())
    }
}

impl Drop for PartColumns<'_, '_> {
    fn drop(&mut self) {
        self.reader.spare.extend(self.read.iter_mut().filter_map(Option::take));
    }
}
