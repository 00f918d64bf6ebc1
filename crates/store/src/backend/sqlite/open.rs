//! Opening the file of a day: whose it is, which version, how it is tuned.

use super::{ddl, gists, slices, sums};
use crate::error::StoreError;
use crate::store::Access;
use crate::time::Day;
use crate::{key, schema};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::fs::File;
use std::path::Path;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;
use trunkline_kit::Id;

/// Octets of a page. A row of a call is about 450; larger pages cost less CPU a row, smaller ones less a lookup.
const PAGE_OCTETS: i64 = 16_384;
/// The same of a day that was loaded at once and has hardly more than the first page of each table.
const PAGE_OCTETS_FEW: i64 = 4096;
/// Pages of such a day.
const PAGES_FEW: i64 = 24;
/// Most memory for the pages of a day that is written, KiB.
const WRITE_CACHE_KIB: i64 = 16 * 1024;
/// Most memory for the pages of a day that is read, KiB: enough for the calls of the last minutes at 500 a second,
/// among which a search in order of start jumps.
const READ_CACHE_KIB: i64 = 8 * 1024;
/// The log is put into the file when it has so many pages.
const CHECKPOINT_PAGES: i64 = if cfg!(test) { 16 } else { 2048 };
/// Octets of a log above which the writer waits for readers, so that it can begin the log anew: many readers that
/// overlap would let it grow forever.
pub const LOG_OCTETS_MAX: u64 = 4 * CHECKPOINT_PAGES as u64 * PAGE_OCTETS as u64;
/// How long it waits for them.
const BUSY_LOG: Duration = Duration::from_millis(250);
/// How long to wait for another writer of the same day.
const BUSY: Duration = Duration::from_secs(10);

/// How long, where readers may hold up a commit: longer than the longest question.
const BUSY_LOADING: Duration = Duration::from_secs(60);

#[cfg(test)]
thread_local! {
    /// Days that this thread opened for reading: what a question costs.
    pub static OPENED: core::cell::Cell<u64> = const { core::cell::Cell::new(0) };
}

/// Held for reading while a file is opened to be read, for writing while a day is dropped.
///
/// SQLite opens file, log and the log's shared memory one after the other, each by its name. A day that is dropped and
/// made again in between would be read with the memory of another file: of two files of one process that share it,
/// whose locks do not keep out each other, one cuts it off under the other (SIGBUS).
static NAMES: RwLock<()> = RwLock::new(());

/// The lock of a writer on a day, for who removes its file; none if there is nothing that one could be had of.
pub fn lock(path: &Path) -> Result<Option<Connection>, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let lock = || {
        let conn = Connection::open_with_flags(path, flags)?;
        conn.busy_timeout(BUSY)?;
        conn.execute_batch("BEGIN IMMEDIATE")?;
        Ok(conn)
    };
    match lock().map_err(|e| error(path, e)) {
        Ok(conn) => Ok(Some(conn)),
        Err(e @ StoreError::Busy { .. }) => Err(e),
        Err(_) => Ok(None),
    }
}

/// Nobody in this process opens a day meanwhile.
pub fn names_change() -> RwLockWriteGuard<'static, ()> {
    NAMES.write().unwrap_or_else(PoisonError::into_inner)
}

/// No day is dropped by this process meanwhile. Not to be held twice by one thread.
pub fn names_stay() -> RwLockReadGuard<'static, ()> {
    NAMES.read().unwrap_or_else(PoisonError::into_inner)
}

/// Opens a day for writing and makes its tables if it is new.
pub fn to_write(path: &Path, access: Access) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let is_new = !path.exists();
    let conn = Connection::open_with_flags(path, flags).map_err(|e| error(path, e))?;
    prepare(&conn, path, access).map_err(|e| error(path, e))??;
    if is_new {
        // The file itself is synced by SQLite; its name in the folder is ours to make durable.
        let folder = path.parent().unwrap_or(Path::new("."));
        let synced = File::open(folder).and_then(|f| f.sync_all());
        synced.map_err(|e| StoreError::Disk { path: folder.into(), cause: e.to_string() })?;
    }
    Ok(conn)
}

fn prepare(conn: &Connection, path: &Path, access: Access) -> rusqlite::Result<Result<(), StoreError>> {
    conn.busy_timeout(BUSY)?;
    conn.pragma_update(None, "page_size", PAGE_OCTETS)?;
    let version = match check(conn, path)? {
        Ok(version) => version,
        Err(e) => return Ok(Err(e)),
    };
    let fresh = version.is_none();
    if fresh && sums::was_emptied(path) {
        return Ok(Err(emptied(path)));
    }
    // With a log every page is written twice, into the log and into the file; with a journal only those are that were
    // there before, which are few where all is new. Either survives a crash.
    if fresh && access == Access::Load {
        conn.busy_timeout(BUSY_LOADING)?;
        let _: String = conn.query_row("PRAGMA journal_mode = DELETE", [], |r| r.get(0))?;
    } else {
        keep_log(conn)?;
    }
    conn.pragma_update(None, "synchronous", "FULL")?;
    conn.pragma_update(None, "cache_size", -WRITE_CACHE_KIB)?;
    conn.pragma_update(None, "foreign_keys", false)?;
    conn.pragma_update(None, "temp_store", "MEMORY")?;
    let _: i64 = conn.query_row(&format!("PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}"), [], |r| r.get(0))?;
    let limit = CHECKPOINT_PAGES * PAGE_OCTETS * 2;
    let _: i64 = conn.query_row(&format!("PRAGMA journal_size_limit = {limit}"), [], |r| r.get(0))?;
    conn.set_prepared_statement_cache_capacity(64);
    if version == Some(schema::VERSION) {
        return Ok(Ok(()));
    }
    conn.execute_batch("BEGIN IMMEDIATE")?;
    let made = sums::forget(path).map_err(unforgotten).and_then(|()| make(conn, path));
    conn.execute_batch(if made.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
    made.map(Ok)
}

/// Makes the tables, or those of an older day those of now.
fn make(conn: &Connection, path: &Path) -> rusqlite::Result<()> {
    match check(conn, path)? {
        Ok(None) => {
            conn.execute_batch(&ddl::statements())?;
            conn.pragma_update(None, "application_id", ddl::APPLICATION_ID)?;
        }
        Ok(Some(version)) if version < schema::VERSION => {
            conn.execute_batch(&ddl::upgrade(version))?;
            if version < schema::VERSION_GISTS {
                gists::mark_older(conn)?;
            }
            if version < schema::VERSION_SLICES {
                slices::note_all(conn)?;
            }
        }
        // Another process did it in between.
        _ => return Ok(()),
    }
    conn.pragma_update(None, "user_version", schema::VERSION)
}

/// From now on what is written goes into a log first, so that readers and the writer do not wait for each other.
fn keep_log(conn: &Connection) -> rusqlite::Result<String> {
    conn.query_row("PRAGMA journal_mode = WAL", [], |r| r.get(0))
}

/// Ends the writing of a day: what is not committed is forgotten, and the next writer finds a log.
pub fn end_writing(conn: &Connection) {
    if !conn.is_autocommit() {
        let _ = conn.execute_batch("ROLLBACK");
    }
    // A day that was loaded and stayed nearly empty: a capture with wild times makes many.
    let number = |pragma: &str| conn.query_row(&format!("PRAGMA {pragma}"), [], |r| r.get::<_, i64>(0));
    let is_loaded = conn.query_row("PRAGMA journal_mode", [], |r| r.get::<_, String>(0)).is_ok_and(|m| m == "delete");
    if is_loaded && number("page_count").is_ok_and(|pages| pages <= PAGES_FEW) && number("page_size") == Ok(PAGE_OCTETS)
    {
        // If this fails, it is only larger than it need be.
        let _ = conn.execute_batch(&format!("PRAGMA page_size = {PAGE_OCTETS_FEW}; VACUUM"));
    }
    // If this fails, the next writer does it.
    let _ = keep_log(conn);
}

/// Puts all of the log into the file and begins it anew, if readers let go of it in a moment; else it is tried again
/// when the log has grown by as much again. Gives the size of the log at which that is.
pub fn bound_log(conn: &Connection, path: &Path, next: u64) -> u64 {
    let octets = || std::fs::metadata(beside(path, "-wal")).map_or(0, |m| m.len());
    if octets() < next {
        return next;
    }
    let _ = conn.busy_timeout(BUSY_LOG);
    // What it cannot do now, the next one does.
    let _ = conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    let _ = conn.busy_timeout(BUSY);
    octets() + LOG_OCTETS_MAX
}

/// Puts all of a day's log into its file, unless somebody reads at this moment; whether the log has nothing any more.
pub fn fold_log(path: &Path) -> bool {
    let has_log = || std::fs::metadata(beside(path, "-wal")).is_ok_and(|log| log.len() > 0);
    let fold = || {
        let _names = names_stay();
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(path, flags)?;
        conn.busy_timeout(BUSY_LOG)?;
        conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| Ok(row.get::<_, i64>(0)? == 0))
    };
    !has_log() || fold().unwrap_or(false)
}

/// Opens a day for reading, and says of which version it is. None if it is empty (made, and its maker killed before the
/// first commit), or if it has just gone.
pub fn to_read(path: &Path) -> Result<Option<(Connection, i64)>, StoreError> {
    #[cfg(test)]
    OPENED.with(|opened| opened.set(opened.get() + 1));
    let conn = match connect_to_read(path, "ro") {
        Err(_) if !path.exists() => return Ok(None),
        // Its writer was killed while it loaded: one who may write has to take its unfinished commit back.
        Err(e @ StoreError::Disk { .. }) if beside(path, "-journal").exists() => {
            take_back(path).map_err(|_| e)?;
            connect_to_read(path, "ro")?
        }
        // A folder that we may not write to: then nobody changes the file either, if there is no log beside it.
        Err(StoreError::Disk { .. }) if !beside(path, "-wal").exists() => connect_to_read(path, "immutable")?,
        other => other?,
    };
    let version = check(&conn, path).map_err(|e| error(path, e))??;
    if version.is_none() && sums::was_emptied(path) {
        return Err(emptied(path));
    }
    Ok(version.map(|version| (conn, version)))
}

/// A day that was over and had rows is not begun anew.
fn emptied(path: &Path) -> StoreError {
    StoreError::Day { path: path.to_owned(), cause: "damaged: it is empty, and was not".to_owned() }
}

/// A file of ours for checks of its pages; a day whose version is not known is read, too.
pub fn connect_to_verify(path: &Path) -> Result<Connection, StoreError> {
    match connect_to_read(path, "ro") {
        Err(StoreError::Disk { .. }) if !beside(path, "-wal").exists() => connect_to_read(path, "immutable"),
        opened => opened,
    }
}

/// Checksums that would not be those of what is written cannot be removed: nothing is written.
pub fn unforgotten(e: std::io::Error) -> rusqlite::Error {
    let text = format!("its checksums cannot be removed: {e}");
    rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_IOERR), Some(text))
}

fn take_back(path: &Path) -> rusqlite::Result<()> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    conn.busy_timeout(BUSY)?;
    conn.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
}

fn connect_to_read(path: &Path, mode: &str) -> Result<Connection, StoreError> {
    let open = || {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
        let conn = Connection::open_with_flags(uri(path, mode), flags)?;
        conn.busy_timeout(BUSY)?;
        conn.pragma_update(None, "cache_size", -READ_CACHE_KIB)?;
        conn.set_prepared_statement_cache_capacity(32);
        // Touches the file, so that what is wrong with it comes out here.
        conn.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        Ok(conn)
    };
    let _names = names_stay();
    open().map_err(|e| error(path, e))
}

/// A file as SQLite's URI for reading; `mode` is `ro` or `immutable`.
pub fn uri(path: &Path, mode: &str) -> String {
    let mut uri = String::from("file:");
    for b in path.to_string_lossy().bytes() {
        if b.is_ascii_alphanumeric() || b"/-_.~".contains(&b) {
            uri.push(char::from(b));
        } else {
            uri.push_str(&format!("%{b:02x}"));
        }
    }
    uri + if mode == "immutable" { "?mode=ro&immutable=1" } else { "?mode=ro" }
}

/// `day.sqlite` to `day.sqlite-wal`.
pub fn beside(path: &Path, suffix: &str) -> std::path::PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Whether a file is ours and of a version we know, and which; none if it is empty.
fn check(conn: &Connection, path: &Path) -> rusqlite::Result<Result<Option<i64>, StoreError>> {
    let number = |pragma: &str| conn.query_row(&format!("PRAGMA {pragma}"), [], |r| r.get::<_, i64>(0));
    // The tables first: its writer may just be making the file, and both come with one commit.
    let tables: i64 = conn.query_row("SELECT count(*) FROM sqlite_schema", [], |r| r.get(0))?;
    let (application, version) = (number("application_id")?, number("user_version")?);
    let day = |cause| Ok(Err(StoreError::Day { path: path.into(), cause }));
    if application == 0 && tables == 0 {
        return Ok(Ok(None));
    }
    if application != ddl::APPLICATION_ID {
        return day("a SQLite file, but not one of ours".into());
    }
    if version > schema::VERSION {
        return day(format!("written by a newer version: tables {version}, this program knows {}", schema::VERSION));
    }
    if version < schema::VERSION_READ_MIN {
        return day(format!("written by an older version: tables {version}, this program knows {}", schema::VERSION));
    }
    match of_another_day(conn, path) {
        Some(cause) => day(cause),
        None => Ok(Ok(Some(version))),
    }
}

/// That a file has another day's rows: it was copied or renamed, and they would count twice.
pub fn of_another_day(conn: &Connection, path: &Path) -> Option<String> {
    let own: Day = path.file_stem()?.to_str()?.parse().ok()?;
    let first = |table: &&str| {
        let sql = format!("SELECT id FROM {table} LIMIT 1");
        conn.query_row(&sql, [], |row| row.get::<_, [u8; 16]>(0)).ok()
    };
    let id = ["calls", "streams", "registrations", "events", "charges"].iter().find_map(first)?;
    let of = key::day_of(Id::from_octets(id));
    (of != own).then(|| format!("its rows are of {of}: it is a copy of that day's file, or was renamed"))
}

/// What SQLite says, by what the caller does about it.
pub fn error(path: &Path, e: rusqlite::Error) -> StoreError {
    let path = path.to_owned();
    let text = match &e {
        rusqlite::Error::SqliteFailure(_, Some(text)) => text.clone(),
        e => e.to_string(),
    };
    match e.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy { path },
        Some(ErrorCode::NotADatabase) => StoreError::Day { path, cause: "not a SQLite file".into() },
        Some(ErrorCode::DatabaseCorrupt) => StoreError::Day { path, cause: format!("damaged: {text}") },
        // A table or column that is not there, a type that is not ours: somebody else's hand was in it.
        Some(ErrorCode::Unknown) | None => StoreError::Day { path, cause: text },
        Some(_) => StoreError::Disk { path, cause: text },
    }
}
