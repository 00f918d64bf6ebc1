//! What there is of each slice of a day, noted in a row of a table: a search reads a page or two to know which slices
//! have calls, which of them cannot have what it looks for, and where the index and the gists of the others lie. Of a
//! slice that it need not look at it reads nothing. docs/decisions/0027.

use super::gists;
use super::read::{DayReader, Trouble};
use super::runs::{Index, RunPlace};
use crate::entry::KINDS;
use crate::gist::Ranges;
use crate::packed::{Damaged, Pack, Unpack};
use crate::store::Order;
use rusqlite::{CachedStatement, Connection, OptionalExtension, Result};

/// The table.
pub const TABLE: &str = "CREATE TABLE slices (slice INTEGER PRIMARY KEY, octets BLOB NOT NULL);\n";

/// Kinds of entries whose runs are noted in front; those of the others follow at the end.
const KINDS_FIRST: usize = 3;

/// A slice that has calls.
pub struct Slice {
    /// Its number in the day.
    pub number: i64,
    /// Whether it has calls without a gist.
    pub is_older: bool,
    /// What is noted of it; none in a day of a version that noted nothing.
    pub noted: Option<Noted>,
}

/// What is noted of a slice.
#[derive(Clone, Debug, PartialEq)]
pub struct Noted {
    /// The runs of the index, by kind.
    pub runs: [Vec<RunPlace>; KINDS.len()],
    /// How many parts its gists have.
    pub parts: usize,
    /// Between which values its calls lie; none if some have no gist.
    pub ranges: Option<Ranges>,
}

impl Slice {
    /// A slice of which only the number is known: what is asked of it is looked for.
    pub fn unknown(number: i64, is_older: bool) -> Self {
        Slice { number, is_older, noted: None }
    }

    /// Between which values its calls lie, where that is known.
    pub fn ranges(&self) -> Option<&Ranges> {
        self.noted.as_ref().and_then(|noted| noted.ranges.as_ref())
    }

    fn read(number: i64, octets: &[u8]) -> Result<Self, Damaged> {
        let mut from = Unpack::new(octets);
        let is_older = from.uint()? != 0;
        let mut runs: [Vec<RunPlace>; KINDS.len()] = Default::default();
        let read = |runs: &mut Vec<RunPlace>, from: &mut Unpack<'_>| {
            for _ in 0..from.count()? {
                runs.push(RunPlace { number: from.small()?, parts: from.small()? });
            }
            Ok(())
        };
        let (first, others) = runs.split_at_mut(KINDS_FIRST);
        first.iter_mut().try_for_each(|runs| read(runs, &mut from))?;
        let parts = from.small()?;
        let ranges = if is_older { None } else { Some(Ranges::read(&mut from)?) };
        // Written only where there are some, and by no version before schema::VERSION_NUMBERS.
        if !from.is_empty() {
            others.iter_mut().try_for_each(|runs| read(runs, &mut from))?;
        }
        Ok(Slice { number, is_older, noted: Some(Noted { runs, parts, ranges }) })
    }
}

impl Noted {
    fn octets(&self) -> Vec<u8> {
        let mut out = vec![];
        out.uint(u64::from(self.ranges.is_none()));
        let write = |runs: &Vec<RunPlace>, out: &mut Vec<u8>| {
            out.uint(runs.len() as u64);
            for run in runs {
                out.uint(run.number.unsigned_abs());
                out.uint(run.parts as u64);
            }
        };
        let (first, others) = self.runs.split_at(KINDS_FIRST);
        first.iter().for_each(|runs| write(runs, &mut out));
        out.uint(self.parts as u64);
        if let Some(ranges) = &self.ranges {
            ranges.write(&mut out);
        }
        if others.iter().any(|runs| !runs.is_empty()) {
            others.iter().for_each(|runs| write(runs, &mut out));
        }
        out
    }

    /// What there is of a slice.
    fn of(conn: &Connection, number: i64) -> Result<Self, Trouble> {
        let (mut index, mut gists) = (Index::open(conn)?, gists::Reader::open(conn)?);
        let mut runs: [Vec<RunPlace>; KINDS.len()] = Default::default();
        for (runs, kind) in runs.iter_mut().zip(KINDS) {
            *runs = index.places(number, kind)?;
        }
        let parts = gists.parts(number, None)?;
        let ranges = if gists.is_older(number)? { None } else { Some(Ranges::of(parts.iter().map(|part| &part.head))) };
        Ok(Noted { runs, parts: parts.len(), ranges })
    }
}

/// Notes what there is of a slice, in the transaction that changed it.
pub fn note(conn: &Connection, number: i64) -> Result<()> {
    let noted = Noted::of(conn, number).map_err(gists::unreadable)?;
    if noted.runs.iter().all(Vec::is_empty) {
        return Ok(());
    }
    let mut insert = conn.prepare_cached("INSERT OR REPLACE INTO slices (slice, octets) VALUES (?, ?)")?;
    insert.execute((number, noted.octets())).map(|_| ())
}

/// Notes all slices of a day.
pub fn note_all(conn: &Connection) -> Result<()> {
    let (mut index, mut from) = (Index::open(conn)?, 0);
    while let Some(number) = index.next_slice(from, Order::Oldest)? {
        note(conn, number)?;
        from = number + 1;
    }
    Ok(())
}

/// The slices of a day as they are read. What is found is sure only within one transaction.
pub enum Slices<'c> {
    /// As they were noted: the statements for the newest first, and for the oldest.
    Noted(CachedStatement<'c>, CachedStatement<'c>),
    /// In a day where nothing is noted: by its index, and by its gists if it has any.
    Sought(Box<Index<'c>>, Option<gists::Reader<'c>>),
}

impl<'c> Slices<'c> {
    /// Prepares the statements.
    pub fn open(reader: &'c DayReader) -> Result<Self> {
        let conn = &reader.conn;
        if reader.has_slices() {
            return Ok(Slices::Noted(
                conn.prepare_cached("SELECT slice, octets FROM slices WHERE slice <= ? ORDER BY slice DESC LIMIT 1")?,
                conn.prepare_cached("SELECT slice, octets FROM slices WHERE slice >= ? ORDER BY slice LIMIT 1")?,
            ));
        }
        let gists = reader.has_gists().then(|| gists::Reader::open(conn)).transpose()?;
        Ok(Slices::Sought(Box::new(Index::open(conn)?), gists))
    }

    /// The next slice that has calls, from this one on.
    pub fn next(&mut self, from: i64, order: Order) -> Result<Option<Slice>, Trouble> {
        match self {
            Slices::Noted(newest, oldest) => {
                let select = if order == Order::Newest { newest } else { oldest };
                let read = |row: &rusqlite::Row<'_>| -> Result<_> {
                    Ok(Slice::read(row.get(0)?, row.get_ref(1)?.as_blob().unwrap_or_default()))
                };
                Ok(select.query_row([from], read).optional()?.transpose()?)
            }
            Slices::Sought(index, gists) => {
                let Some(number) = index.next_slice(from, order)? else { return Ok(None) };
                let is_older = gists.as_mut().map_or(Ok(true), |gists| gists.is_older(number))?;
                Ok(Some(Slice::unknown(number, is_older)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gist::{COLUMNS, Range};

    #[test]
    fn what_is_noted_comes_back_and_damage_is_told() {
        let places = |n| (0..n).map(|number| RunPlace { number, parts: 70 - number as usize }).collect::<Vec<_>>();
        let range = Range { least: 0, greatest: u64::MAX, least_some: 7 };
        for ranges in [None, Some(Ranges([range; COLUMNS])), Some(Ranges::of([].into_iter()))] {
            let noted = |others| Noted {
                runs: [places(3), places(0), places(1), places(others)],
                parts: 17,
                ranges: ranges.clone(),
            };
            // Without other numbers nothing is noted of their runs, as by versions that knew none.
            let before = noted(0).octets().len();
            for others in [0, 2] {
                let octets = noted(others).octets();
                let slice = Slice::read(5, &octets).unwrap();
                assert_eq!((slice.number, slice.is_older, slice.noted), (5, ranges.is_none(), Some(noted(others))));
                for end in (0..octets.len()).filter(|end| *end != before) {
                    assert!(Slice::read(5, &octets[..end]).is_err(), "{end}");
                }
            }
        }
    }
}
