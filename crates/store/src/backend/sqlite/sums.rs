//! Checksums of days that are over, in a file beside each (`2026-11-20.sums`), and whether a day's file is whole.
//!
//! SQLite's own checks see its pages and trees, not what is in a row. A day that nobody writes any more gets checksums
//! of its octets. Whoever writes to it all the same removes them first, in the transaction in which it writes
//! ([`forget`]); so where they are, they are those of the file, and a difference is damage.

use super::open;
use crate::error::StoreError;
use crate::time::Day;
use rusqlite::{Connection, OpenFlags};
use std::fs::File;
use std::io::{self};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use trunkline_kit::place;
use trunkline_kit::sums::{Compared, Sums, TRAILER_OCTETS_MAX};

/// How long after its end a day gets its checksums: rows of calls that go on over midnight come late.
pub const AFTER_NS: i64 = 3_600_000_000_000;
/// What SQLite tells of a file at most.
const TOLD_MAX: usize = 100;

/// What is known of the octets of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contents {
    /// They are what they were when the day was over.
    Whole,
    /// They differ there.
    Damaged(Compared),
    /// The checksums themselves are damaged.
    SumsDamaged,
    /// Nothing was compared: why.
    NotChecked(&'static str),
}

/// What verifying a file found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// What SQLite says of its pages and trees; nothing if they are whole.
    pub faults: Vec<String>,
    /// What is known of its octets.
    pub contents: Contents,
}

/// The file with the checksums of a day's file.
pub fn path(day: &Path) -> PathBuf {
    day.with_extension("sums")
}

/// The day is written: its checksums are removed, for good, before the first octet changes. To be called with SQLite's
/// lock for writing held.
pub fn forget(day: &Path) -> io::Result<()> {
    match std::fs::remove_file(path(day)) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(e),
        Ok(()) => File::open(day.parent().unwrap_or(Path::new(".")))?.sync_all(),
    }
}

/// Gives each day of a store's folder that has been over for [`AFTER_NS`] its checksums, if nobody writes it; how many
/// it were, and what could not be done. What somebody writes meanwhile is left alone, until the next call.
///
/// # Errors
/// The folder cannot be listed.
pub fn seal_days(folder: &Path, now_ns: i64) -> io::Result<(usize, Vec<String>)> {
    let (mut sealed, mut faults) = (0, Vec::new());
    for entry in std::fs::read_dir(folder)? {
        let file = entry?.path();
        let name = file.file_name().and_then(|n| n.to_str()).and_then(|n| n.strip_suffix(".sqlite"));
        let Some(day) = name.and_then(|n| n.parse::<Day>().ok()) else { continue };
        if day.end_ns().saturating_add(AFTER_NS) > now_ns || path(&file).exists() {
            continue;
        }
        match seal(&file) {
            Ok(done) => sealed += usize::from(done),
            Err(e) => faults.push(e.to_string()),
        }
    }
    Ok((sealed, faults))
}

/// Gives a day its checksums; false if somebody writes it.
fn seal(file: &Path) -> Result<bool, StoreError> {
    let failed = |e: io::Error| StoreError::Disk { path: file.to_owned(), cause: e.to_string() };
    let before = mark(file).map_err(failed)?;
    if has_log(file) {
        return Ok(false);
    }
    let mut octets = Vec::new();
    Sums::of(File::open(file).map_err(failed)?).map_err(failed)?.emit(&mut octets);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(file, flags).map_err(|e| open::error(file, e))?;
    if conn.execute_batch("BEGIN IMMEDIATE").is_err() {
        return Ok(false);
    }
    // From here on nobody writes.
    let is_same = !has_log(file) && mark(file).map_err(failed)? == before;
    let written = if is_same { place::replace(&path(file), &octets, place::PRIVATE) } else { Ok(()) };
    let _ = conn.execute_batch("ROLLBACK");
    written.map_err(failed).map(|()| is_same)
}

/// Whether there is anything beside the file that belongs into it.
fn has_log(file: &Path) -> bool {
    let octets = |suffix| std::fs::metadata(open::beside(file, suffix)).map_or(0, |m| m.len());
    octets("-wal") > 0 || octets("-journal") > 0
}

fn mark(file: &Path) -> io::Result<(u64, u64, i64, i64)> {
    std::fs::metadata(file).map(|m| (m.ino(), m.len(), m.mtime(), m.mtime_nsec()))
}

/// Whether the file of a day, or another SQLite file of ours, is whole: its pages and trees; `deep`, its indexes beside
/// its tables, and its octets by their checksums if there are any.
///
/// # Errors
/// It cannot be read now: another process has it, or the disk fails.
pub fn verify(file: &Path, deep: bool) -> Result<Verified, StoreError> {
    let contents = if deep { contents(file) } else { Ok(Contents::NotChecked("not read without --deep")) };
    let contents = contents.map_err(|e| StoreError::Disk { path: file.to_owned(), cause: e.to_string() })?;
    match faults(file, deep) {
        Ok(faults) => Ok(Verified { faults, contents }),
        Err(StoreError::Day { cause, .. }) => Ok(Verified { faults: vec![cause], contents }),
        Err(other) => Err(other),
    }
}

/// Whether a day that holds nothing held something when it got its checksums.
pub fn was_emptied(file: &Path) -> bool {
    matches!(contents(file), Ok(Contents::Damaged(_)))
}

fn contents(file: &Path) -> io::Result<Contents> {
    let octets = match place::read(&path(file), TRAILER_OCTETS_MAX) {
        Ok(octets) => octets,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Contents::NotChecked("it has no checksums")),
        Err(e) => return Err(e),
    };
    let Some(sums) = Sums::parse(&octets) else { return Ok(Contents::SumsDamaged) };
    let found = sums.compare(File::open(file)?)?;
    if found.is_whole() {
        return Ok(Contents::Whole);
    }
    // Somebody who began to write meanwhile has removed them.
    if !path(file).exists() || has_log(file) {
        return Ok(Contents::NotChecked("it is being written"));
    }
    Ok(Contents::Damaged(found))
}

fn faults(file: &Path, deep: bool) -> Result<Vec<String>, StoreError> {
    if std::fs::metadata(file).is_ok_and(|m| m.len() == 0) && !has_log(file) {
        // Its maker was killed before it had written anything.
        return Ok(Vec::new());
    }
    let conn = open::connect_to_verify(file)?;
    let check = if deep { "integrity_check" } else { "quick_check" };
    let run = || {
        let mut lines = conn.prepare(&format!("PRAGMA {check}({TOLD_MAX})"))?;
        let lines = lines.query_map([], |row| row.get::<_, String>(0))?;
        lines.collect::<rusqlite::Result<Vec<_>>>()
    };
    let mut lines = run().map_err(|e| open::error(file, e))?;
    lines.retain(|line| line != "ok");
    lines.extend(open::of_another_day(&conn, file));
    Ok(lines)
}
