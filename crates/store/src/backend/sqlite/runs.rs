//! The index of a day's calls by number and Call-ID: sorted runs of entries (`crate::entry`) in rows of a table.
//!
//! A secondary index of SQLite would be searched and changed for each row. Here the entries of a transaction are sorted
//! once, before its commit, and laid down as a run for each slice of the day and kind of entry; a run that is not much
//! larger than the new one is merged into it, so that a slice has few runs. docs/decisions/0014.
//!
//! A row holds a part of a run: up to [`PART_ENTRIES`] entries. A run of several parts ends with a directory: the first
//! entry of each. The number of a row says what it is: slice, kind, run, part.

use super::slices::Slice;
use crate::entry::{self, ENTRY_OCTETS, KINDS, Kind, Lookup};
use crate::key;
use crate::row::Call;
use crate::store::Order;
use rusqlite::{CachedStatement, Connection, Result};
use std::collections::BTreeMap;

/// The table.
pub const TABLE: &str = "CREATE TABLE call_index (part INTEGER PRIMARY KEY, entries BLOB NOT NULL);\n";

/// Most calls whose entries wait for the commit; with more, their runs are laid down before it.
pub const WAITING_MAX: usize = if cfg!(test) { 700 } else { 65_536 };
/// Most entries of a run that is merged: 8 MiB. Above, runs stay beside each other.
pub const RUN_ENTRIES_MAX: usize = if cfg!(test) { 2200 } else { 1 << 19 };
/// Entries of a part: as many as fit a page of 16 KiB.
const PART_ENTRIES: usize = 1000;
/// The number of a run's directory, behind those of its parts.
const DIRECTORY: i64 = (1 << PART_BITS) - 1;
const PART_BITS: u32 = 20;
const RUN_BITS: u32 = 20;
const KIND_BITS: u32 = 2;

/// The first row of a run. Of one run more than there can be, it is behind all those of the kind.
fn first_of(slice: i64, kind: Kind, run: i64) -> i64 {
    (((slice << KIND_BITS | kind as i64) << RUN_BITS) + run) << PART_BITS
}

fn run_of(part: i64) -> i64 {
    part >> PART_BITS & ((1 << RUN_BITS) - 1)
}

fn slice_of(part: i64) -> i64 {
    part >> (PART_BITS + RUN_BITS + KIND_BITS)
}

/// Entries that wait for the commit.
#[derive(Default)]
pub struct Waiting {
    slices: BTreeMap<i64, [Vec<u128>; KINDS.len()]>,
    calls: usize,
}

impl Waiting {
    /// Takes the entries of a call under its key, with the words of From and To.
    pub fn add(&mut self, call: &Call, [caller, callee]: [u64; 2], key: i64) {
        let slice = self.slices.entry(key::slice(key)).or_default();
        for (entries, word) in slice.iter_mut().zip([caller, callee, entry::call_id_word(&call.sip_call_id)]) {
            entries.push(entry::entry(word, key));
        }
        let others = call.numbers.iter().map(|one| entry::entry(entry::number_word(&one.number), key));
        slice[Kind::Other as usize].extend(others);
        self.calls += 1;
    }

    /// Whether they should be laid down.
    pub fn is_full(&self) -> bool {
        self.calls >= WAITING_MAX
    }

    /// Forgets them: their transaction failed.
    pub fn clear(&mut self) {
        *self = Waiting::default();
    }

    /// Lays them down in the transaction.
    pub fn lay_down(&mut self, conn: &Connection) -> Result<()> {
        for (slice, kinds) in core::mem::take(self).slices {
            for (kind, entries) in KINDS.into_iter().zip(kinds).filter(|(_, entries)| !entries.is_empty()) {
                lay_down(conn, slice, kind, entries, Merge::Smaller)?;
            }
        }
        Ok(())
    }

    /// The slices with entries that wait.
    pub fn numbers(&self) -> Vec<i64> {
        self.slices.keys().copied().collect()
    }

    /// The first and the last slice with entries that wait.
    pub fn slices(&self) -> Option<(i64, i64)> {
        let (first, last) = (self.slices.first_key_value()?, self.slices.last_key_value()?);
        Some((*first.0, *last.0))
    }
}

/// Makes one run of those of a slice to which nothing more comes: a search then reads half as much.
pub fn settle(conn: &Connection, slice: i64) -> Result<()> {
    for kind in KINDS {
        let mut index = Index::open(conn)?;
        let first = first_of(slice, kind, 0);
        let last = index.run_before(first, first_of(slice, kind, 1 << RUN_BITS))?.map(|run| run.first);
        let are_many = match last {
            Some(last) => index.run_before(first, last)?.is_some(),
            None => false,
        };
        if are_many {
            lay_down(conn, slice, kind, vec![], Merge::All)?;
        }
    }
    Ok(())
}

/// Which runs are merged into a new one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Merge {
    /// Those less than twice as large.
    Smaller,
    /// All, as far as one run takes them.
    All,
}

/// Writes a run, merged with those before it that are less than twice as large: then each run is at least twice the
/// next, and an entry is written again only about as often as the entries of its slice double.
fn lay_down(conn: &Connection, slice: i64, kind: Kind, mut entries: Vec<u128>, merge: Merge) -> Result<()> {
    entries.sort_unstable();
    let mut index = Index::open(conn)?;
    let (first, end) = (first_of(slice, kind, 0), first_of(slice, kind, 1 << RUN_BITS));
    let mut from = end;
    let mut number = 0;
    while let Some(run) = index.run_before(first, from)? {
        let size = run.entries_max();
        let is_larger = merge == Merge::Smaller && size >= 2 * entries.len();
        if is_larger || size + entries.len() > RUN_ENTRIES_MAX {
            number = run_of(run.first) + 1;
            break;
        }
        index.each_part(&run, 0, |_, part| {
            entries.extend(part.iter());
            true
        })?;
        from = run.first;
        number = run_of(run.first);
    }
    if from < end {
        conn.prepare_cached("DELETE FROM call_index WHERE part >= ? AND part < ?")?.execute([from, end])?;
        // Stable, because that finds and merges what is sorted already.
        entries.sort();
        entries.dedup();
    }
    write(conn, first_of(slice, kind, number), &entries)
}

fn write(conn: &Connection, first: i64, entries: &[u128]) -> Result<()> {
    let mut insert = conn.prepare_cached("INSERT INTO call_index (part, entries) VALUES (?, ?)")?;
    let mut octets = vec![];
    let mut put = |part: i64, entries: &mut dyn Iterator<Item = u128>| {
        octets.clear();
        entries.for_each(|e| octets.extend_from_slice(&e.to_be_bytes()));
        insert.raw_bind_parameter(1, part)?;
        insert.raw_bind_parameter(2, &octets[..])?;
        insert.raw_execute()
    };
    for (part, entries) in (first..first + DIRECTORY).zip(entries.chunks(PART_ENTRIES)) {
        put(part, &mut entries.iter().copied())?;
    }
    if entries.len() > PART_ENTRIES {
        put(first + DIRECTORY, &mut entries.iter().copied().step_by(PART_ENTRIES))?;
    }
    Ok(())
}

/// The index of a day as it is read. What is found is sure only within one transaction.
pub struct Index<'c> {
    last: CachedStatement<'c>,
    parts: CachedStatement<'c>,
    one: CachedStatement<'c>,
}

/// Where a run of a slice and kind lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunPlace {
    /// Its number.
    pub number: i64,
    /// How many parts it has.
    pub parts: usize,
}

/// A run.
struct Run {
    /// The number of its first row.
    first: i64,
    /// Its only part, or its directory.
    last: Entries,
    parts: usize,
}

impl Run {
    fn entries_max(&self) -> usize {
        if self.parts == 1 { self.last.len() } else { self.parts * PART_ENTRIES }
    }

    /// How many parts beside the first may hold what is looked up.
    fn parts_between(&self, lookup: &Lookup) -> usize {
        let (low, high) = lookup.entries();
        usize::try_from(self.part_of(high) - self.part_of(low)).unwrap_or(0)
    }

    /// The part in which this entry would lie.
    fn part_of(&self, entry: u128) -> i64 {
        if self.parts == 1 { 0 } else { self.last.before(entry + 1).saturating_sub(1) as i64 }
    }
}

/// Entries of a row.
struct Entries(Vec<u8>);

impl Entries {
    fn len(&self) -> usize {
        self.0.len() / ENTRY_OCTETS
    }

    fn get(&self, at: usize) -> u128 {
        let octets = self.0.get(at * ENTRY_OCTETS..).and_then(<[u8]>::first_chunk);
        octets.map_or(u128::MAX, |o| u128::from_be_bytes(*o))
    }

    fn iter(&self) -> impl Iterator<Item = u128> {
        (0..self.len()).map(|at| self.get(at))
    }

    /// How many are less than this one.
    fn before(&self, entry: u128) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            if self.get(middle) < entry {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

impl<'c> Index<'c> {
    /// Prepares the statements.
    pub fn open(conn: &'c Connection) -> Result<Self> {
        Ok(Index {
            last: conn.prepare_cached(
                "SELECT part, entries FROM call_index WHERE part >= ? AND part < ? ORDER BY part DESC LIMIT 1",
            )?,
            parts: conn
                .prepare_cached("SELECT part, entries FROM call_index WHERE part >= ? AND part < ? ORDER BY part")?,
            one: conn.prepare_cached("SELECT entries FROM call_index WHERE part = ?")?,
        })
    }

    /// The keys of the calls of a slice that may match one of the lookups, in order, each once; and among how many.
    /// None if more than so many parts would have to be read beside the first of each run.
    pub fn keys(&mut self, slice: &Slice, lookups: &[Lookup], parts_max: usize) -> Result<Option<(Vec<i64>, usize)>> {
        let mut runs = vec![];
        for lookup in lookups {
            runs.extend(self.runs(slice, lookup.kind)?.into_iter().map(|run| (run, lookup)));
        }
        if runs.iter().map(|(run, lookup)| run.parts_between(lookup)).sum::<usize>() > parts_max {
            return Ok(None);
        }
        let (mut keys, mut among) = (vec![], 0);
        for (run, lookup) in &runs {
            self.keys_of_run(run, lookup, &mut keys)?;
            among += run.entries_max();
        }
        keys.sort_unstable();
        keys.dedup();
        Ok(Some((keys, among / lookups.len().max(1))))
    }

    /// The runs of a slice: those that are noted, each read from one page, or those that there are.
    fn runs(&mut self, slice: &Slice, kind: Kind) -> Result<Vec<Run>> {
        let Some(noted) = &slice.noted else { return self.seek_runs(slice.number, kind) };
        let mut runs = vec![];
        for place in noted.runs.get(kind as usize).into_iter().flatten() {
            let first = first_of(slice.number, kind, place.number);
            let last = if place.parts > 1 { first + DIRECTORY } else { first };
            let read = |row: &rusqlite::Row<'_>| Ok(row.get_ref(0)?.as_blob().unwrap_or_default().to_vec());
            runs.push(Run { first, last: Entries(self.one.query_row([last], read)?), parts: place.parts });
        }
        Ok(runs)
    }

    /// The runs of a slice that there are, the last first.
    fn seek_runs(&mut self, slice: i64, kind: Kind) -> Result<Vec<Run>> {
        let (first, mut from) = (first_of(slice, kind, 0), first_of(slice, kind, 1 << RUN_BITS));
        let mut runs = vec![];
        while let Some(run) = self.run_before(first, from)? {
            from = run.first;
            runs.push(run);
        }
        Ok(runs)
    }

    /// Where the runs of a slice lie.
    pub fn places(&mut self, slice: i64, kind: Kind) -> Result<Vec<RunPlace>> {
        let runs = self.seek_runs(slice, kind)?;
        Ok(runs.iter().map(|run| RunPlace { number: run_of(run.first), parts: run.parts }).collect())
    }

    fn keys_of_run(&mut self, run: &Run, lookup: &Lookup, keys: &mut Vec<i64>) -> Result<()> {
        let (low, high) = lookup.entries();
        let mut take = |_: i64, part: &Entries| {
            let (from, to) = (part.before(low), part.before(high + 1));
            let wanted = (from..to).map(|at| part.get(at)).filter(|e| lookup.may_match(entry::word(*e)));
            keys.extend(wanted.map(entry::key));
            to == part.len()
        };
        if run.parts == 1 {
            take(0, &run.last);
            return Ok(());
        }
        self.each_part(run, run.part_of(low), take)
    }

    /// The next slice that has calls, from this one on.
    pub fn next_slice(&mut self, from: i64, order: Order) -> Result<Option<i64>> {
        let (statement, range) = match order {
            Order::Newest => (&mut self.last, [0, first_of(from + 1, Kind::Caller, 0)]),
            Order::Oldest => (&mut self.parts, [first_of(from, Kind::Caller, 0), i64::MAX]),
        };
        let mut rows = statement.query(range)?;
        rows.next()?.map(|row| row.get(0)).transpose().map(|part: Option<i64>| part.map(slice_of))
    }

    /// The last run between two rows.
    fn run_before(&mut self, from: i64, to: i64) -> Result<Option<Run>> {
        let mut rows = self.last.query([from, to])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        let number: i64 = row.get(0)?;
        let last = Entries(row.get_ref(1)?.as_blob().unwrap_or_default().to_vec());
        let first = number & !DIRECTORY;
        let parts = if number - first == DIRECTORY { last.len() } else { 1 };
        Ok(Some(Run { first, last, parts }))
    }

    /// Hands out the parts of a run, from one on, until it is told to stop.
    fn each_part(&mut self, run: &Run, from: i64, mut each: impl FnMut(i64, &Entries) -> bool) -> Result<()> {
        if run.parts == 1 {
            each(0, &run.last);
            return Ok(());
        }
        let mut rows = self.parts.query([run.first + from, run.first + DIRECTORY])?;
        while let Some(row) = rows.next()? {
            let part = Entries(row.get_ref(1)?.as_blob().unwrap_or_default().to_vec());
            if !each(row.get(0)?, &part) {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(conn: &Connection, slice: i64) -> Vec<usize> {
        let mut index = Index::open(conn).unwrap();
        let (first, mut from) = (first_of(slice, Kind::Callee, 0), first_of(slice, Kind::Callee, 1 << RUN_BITS));
        let mut sizes = vec![];
        while let Some(run) = index.run_before(first, from).unwrap() {
            let mut size = 0;
            index
                .each_part(&run, 0, |_, part| {
                    size += part.len();
                    true
                })
                .unwrap();
            assert!(run.entries_max() >= size && run.entries_max() < size + PART_ENTRIES);
            sizes.push(size);
            from = run.first;
        }
        sizes.reverse();
        sizes
    }

    #[test]
    fn runs_are_merged_until_they_are_large_and_all_is_found() {
        let conn = Connection::open_in_memory().unwrap();
        conn.execute_batch(TABLE).unwrap();
        let mut keys = 0;
        // As many as a part takes, one more, nothing new, and small ones behind each other.
        for size in [1000, 1, 0, 300, 7, 7, 7, 7, 900, 1, 1, 1, 1, 600, 2, 1500, 1, 1] {
            let entries = (0..size).map(|n| entry::entry(((keys + n) as u64 % 7) << 40, keys + n)).collect();
            // The day's last slice and the first kind of the next are its neighbours.
            lay_down(&conn, 144, Kind::Callee, entries, Merge::Smaller).unwrap();
            lay_down(&conn, 144, Kind::CallId, vec![entry::entry(5, keys)], Merge::Smaller).unwrap();
            lay_down(&conn, 0, Kind::Callee, vec![entry::entry(5, keys)], Merge::Smaller).unwrap();
            keys += size;
            let sizes = runs(&conn, 144);
            assert_eq!(sizes.iter().sum::<usize>() as i64, keys, "{sizes:?}");
            assert!(sizes.iter().all(|s| *s <= RUN_ENTRIES_MAX) && sizes.len() <= 12, "{sizes:?}");
            let mut index = Index::open(&conn).unwrap();
            for (first, last) in [(0, 0), (3, 3), (6, 6), (2, 5), (0, 6), (7, 9)] {
                let lookup = Lookup { kind: Kind::Callee, words: first << 40..=last << 40, pattern: None };
                let wanted: Vec<i64> = (0..keys).filter(|k| (first..=last).contains(&(*k as u64 % 7))).collect();
                let (found, among) = index.keys(&Slice::unknown(144, false), &[lookup], usize::MAX).unwrap().unwrap();
                assert!(among as i64 >= keys);
                assert_eq!(found, wanted, "{sizes:?} {first} {last}");
            }
        }
        let many = runs(&conn, 144);
        settle(&conn, 144).unwrap();
        let settled = runs(&conn, 144);
        assert!(settled.len() <= many.len() && settled.iter().sum::<usize>() as i64 == keys, "{many:?} {settled:?}");
        let mut index = Index::open(&conn).unwrap();
        let every = Lookup { kind: Kind::Callee, words: 0..=u64::MAX, pattern: None };
        let (found, _) =
            index.keys(&Slice::unknown(144, false), std::slice::from_ref(&every), usize::MAX).unwrap().unwrap();
        assert_eq!(found, (0..keys).collect::<Vec<_>>());
        assert_eq!(index.keys(&Slice::unknown(144, false), &[every], 1).unwrap(), None, "too many parts");
        for (from, newest, oldest) in [(144, Some(144), Some(144)), (143, Some(0), Some(144)), (-1, None, Some(0))] {
            assert_eq!(index.next_slice(from, Order::Newest).unwrap(), newest);
            assert_eq!(index.next_slice(from, Order::Oldest).unwrap(), oldest);
        }
        assert_eq!(index.next_slice(145, Order::Oldest).unwrap(), None);
    }

    #[test]
    fn a_settled_slice_has_one_run() {
        let conn = Connection::open_in_memory().unwrap();
        conn.execute_batch(TABLE).unwrap();
        for (from, size) in [(0, 900), (900, 400), (1300, 100)] {
            let entries = (from..from + size).map(|n| entry::entry(n as u64 % 9, n)).collect();
            lay_down(&conn, 7, Kind::Callee, entries, Merge::Smaller).unwrap();
        }
        assert_eq!(runs(&conn, 7), [900, 400, 100]);
        for _ in 0..2 {
            settle(&conn, 7).unwrap();
            assert_eq!(runs(&conn, 7), [1400]);
        }
    }

    #[test]
    fn the_same_entry_twice_is_one() {
        let conn = Connection::open_in_memory().unwrap();
        conn.execute_batch(TABLE).unwrap();
        for _ in 0..5 {
            lay_down(&conn, 3, Kind::Callee, vec![entry::entry(1, 9), entry::entry(1, 8)], Merge::Smaller).unwrap();
        }
        assert_eq!(runs(&conn, 3), [2]);
    }
}
