//! The desk: the file of users, sessions, links, tokens, aliases, filters and of who did what.
//!
//! One SQLite file (mode 0600) with one connection that writes and one that looks up, so that nobody who only shows a
//! cookie waits for a disk. Everything is synchronous; time comes from the caller. Other processes (`trunkline user
//! link`) may open the same file.

use super::audit::AuditState;
use super::password::Hashing;
use super::refusal::Refusal;
use super::role::Role;
use super::throttle::Throttle;
use super::{masked_probe::Probes, schema};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::collections::HashSet;
use std::fs::{DirBuilder, OpenOptions, Permissions};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Where the desk's file lies below the data folder.
pub const DESK_FILE: &str = "web/desk.sqlite";
/// Where the desk of `open` and `demo` lies below the data folder: whoever may look at captures on this machine is an
/// administrator there, and must not be one where people sign in.
pub const OPEN_DESK_FILE: &str = "web/open.sqlite";
/// How long one process waits for another that writes.
const BUSY_WAIT: Duration = Duration::from_secs(5);

/// What the house decides about sign-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuthOptions {
    /// Roles below this one see masked numbers.
    pub mask_below: Role,
    /// A session without a request for this long is over, seconds.
    pub session_idle_s: u64,
    /// A session older than this is over, seconds.
    pub session_max_s: u64,
    /// Audit entries of users that are kept; of those who did not sign in a tenth of it.
    pub audit_entries_max: u64,
    /// Audit entries older than this go, seconds; none for as long as there are not too many.
    pub audit_age_max_s: Option<u64>,
    /// Audit entries of users that are not older stay, whatever their number, seconds.
    pub audit_keep_at_least_s: u64,
    /// What a password costs.
    pub hash_cost: HashCost,
}

impl Default for AuthOptions {
    fn default() -> Self {
        AuthOptions {
            mask_below: Role::Support,
            session_idle_s: 12 * 3600,
            session_max_s: 7 * 86_400,
            audit_entries_max: 1_000_000,
            audit_age_max_s: Some(400 * 86_400),
            audit_keep_at_least_s: 0,
            hash_cost: HashCost::Ordinary,
        }
    }
}

/// What checking a password costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HashCost {
    /// argon2id, 19 MiB, two passes, one lane: OWASP's Password Storage Cheat Sheet.
    #[default]
    Ordinary,
    /// Next to nothing: for tests alone.
    Tests,
}

trunkline_kit::counters! {
    /// What the desk counts.
    pub struct DeskCounts {
        /// sign-ins by password, link or identity provider
        signed_in: "trunkline_web_sign_ins_total",
        /// sign-ins with a wrong name, password or link
        wrong: "trunkline_web_wrong_sign_ins_total",
        /// sign-ins refused without looking at the password, because of earlier failures
        held_off: "trunkline_web_held_off_sign_ins_total",
        /// sign-ins refused because too many passwords were being checked
        busy: "trunkline_web_busy_sign_ins_total",
        /// addresses forgotten by the limiter because its table was full
        addresses_forgotten: "trunkline_web_forgotten_addresses_total",
        /// audit entries of people who did not sign in that were not written, because there were too many
        audit_not_written: "trunkline_web_unwritten_audit_entries_total",
        /// sign-outs that could not be written: the session ended in memory alone
        ends_not_written: "trunkline_web_unwritten_sign_outs_total",
        /// audit entries removed because of their number or age
        audit_removed: "trunkline_web_removed_audit_entries_total",
    }
}

/// The desk.
#[derive(Debug)]
pub struct Desk {
    pub(crate) options: AuthOptions,
    pub(crate) hashing: Hashing,
    pub(crate) throttle: Mutex<Throttle>,
    pub(crate) probes: Mutex<Probes>,
    pub(crate) audit_state: Mutex<AuditState>,
    pub(crate) counts: Mutex<DeskCounts>,
    /// Digests of sessions that ended while that could not be written.
    pub(crate) ended: Mutex<HashSet<[u8; 32]>>,
    writer: Mutex<Connection>,
    reader: Mutex<Connection>,
}

impl Desk {
    /// Opens the desk's file, and makes it and its folder where there is none.
    ///
    /// # Errors
    /// [`Refusal::Failed`] where it cannot be made, read or written, or comes from a later program.
    pub fn open(path: &Path, options: &AuthOptions) -> Result<Desk, Refusal> {
        let failed = |what: &str, e: String| Refusal::Failed(format!("{}: {what}: {e}", path.display()));
        make_private(path).map_err(|e| failed("cannot be made", e.to_string()))?;
        let mut writer = connect(path).map_err(|e| failed("cannot be opened", e.to_string()))?;
        schema::bring_up_to_date(&mut writer).map_err(|e| failed("cannot be used", e.to_string()))?;
        let reader = connect(path).map_err(|e| failed("cannot be opened", e.to_string()))?;
        Ok(Desk {
            options: *options,
            hashing: Hashing::new(options.hash_cost)?,
            throttle: Mutex::default(),
            probes: Mutex::default(),
            audit_state: Mutex::default(),
            counts: Mutex::default(),
            ended: Mutex::default(),
            writer: Mutex::new(writer),
            reader: Mutex::new(reader),
        })
    }

    /// The options it was opened with.
    pub fn options(&self) -> &AuthOptions {
        &self.options
    }

    /// What was counted.
    pub fn counts(&self) -> DeskCounts {
        *held(&self.counts)
    }

    /// Removes what is over: sessions, links, tokens, old audit entries. To be called now and then (each hour).
    /// `believed_ns` is the time by which entries get old; none while the clock is in doubt.
    ///
    /// # Errors
    /// [`Refusal::Failed`].
    pub fn tidy(&self, now_ns: i64, believed_ns: Option<i64>) -> Result<(), Refusal> {
        self.write_ended()?;
        self.write(|t| {
            super::sessions::remove_over(t, &self.options, now_ns)?;
            t.execute("DELETE FROM links WHERE expires_ns <= ?1", [now_ns])?;
            t.execute("DELETE FROM tokens WHERE expires_ns <= ?1", [now_ns])?;
            Ok(())
        })?;
        self.trim_audit(believed_ns).map(drop)
    }

    /// Does something that is written as a whole or not at all, and safe on the disk when it returns.
    pub(crate) fn write<T>(&self, what: impl FnOnce(&Transaction<'_>) -> Result<T, Refusal>) -> Result<T, Refusal> {
        let mut writer = held(&self.writer);
        let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let done = what(&transaction)?;
        transaction.commit()?;
        Ok(done)
    }

    /// Folds the journal in and empties it, so that nothing is in it that was changed since; not 0 if somebody who
    /// reads keeps it.
    pub(crate) fn empty_journal(&self) -> Result<i64, Refusal> {
        Ok(held(&self.writer).query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?)
    }

    /// Writes something that may as well be left out: not if somebody else writes at this moment.
    pub(crate) fn write_if_idle(&self, what: impl FnOnce(&Connection) -> rusqlite::Result<usize>) {
        if let Ok(writer) = self.writer.try_lock() {
            // A "last seen" that was not written only ends a session sooner.
            let _ = what(&writer);
        }
    }

    /// Looks something up.
    pub(crate) fn read<T>(&self, what: impl FnOnce(&Connection) -> Result<T, Refusal>) -> Result<T, Refusal> {
        what(&held(&self.reader))
    }

    pub(crate) fn count(&self, what: impl FnOnce(&mut DeskCounts)) {
        what(&mut held(&self.counts));
    }
}

/// What a lock holds, also after a thread died with it: each of our locks is whole between two statements.
pub(crate) fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The folder (0700) and the file (0600), before SQLite makes them with wider rights; its journal takes the file's.
fn make_private(path: &Path) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
    if file.metadata()?.permissions().mode() & 0o077 != 0 {
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    Ok(())
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(BUSY_WAIT)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // A used link and an ended session stay so when the power goes.
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", "ON")?;
    connection.pragma_update(None, "trusted_schema", "OFF")?;
    connection.pragma_update(None, "secure_delete", "ON")?;
    Ok(connection)
}
