//! The tables of the desk's file, and the steps from one version of them to the next.

use super::refusal::Refusal;
use rusqlite::Connection;

/// Each step takes the file from the version of its index to the next; a file of a later version is refused.
const STEPS: [&str; 3] = [FIRST, GRAPH_RIGHTS, FORGOTTEN_NUMBERS];

const FIRST: &str = "
CREATE TABLE users (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    display_name TEXT NOT NULL,
    role TEXT NOT NULL,
    password TEXT,
    must_change_password INTEGER NOT NULL DEFAULT 0,
    disabled INTEGER NOT NULL DEFAULT 0,
    issuer TEXT,
    subject TEXT,
    made_ns INTEGER NOT NULL,
    last_sign_in_ns INTEGER,
    UNIQUE (issuer, subject)
) STRICT;
CREATE TABLE familiar (
    user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    address TEXT NOT NULL,
    at_ns INTEGER NOT NULL,
    PRIMARY KEY (user, address)
) STRICT, WITHOUT ROWID;
CREATE TABLE links (
    digest BLOB PRIMARY KEY,
    kind TEXT NOT NULL,
    user INTEGER REFERENCES users (id) ON DELETE CASCADE,
    expires_ns INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE sessions (
    digest BLOB PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    made_ns INTEGER NOT NULL,
    seen_ns INTEGER NOT NULL,
    expires_ns INTEGER NOT NULL,
    address TEXT NOT NULL,
    agent TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_user ON sessions (user, seen_ns);
CREATE TABLE tokens (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    digest BLOB NOT NULL UNIQUE,
    user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    scopes TEXT NOT NULL,
    made_ns INTEGER NOT NULL,
    expires_ns INTEGER,
    last_used_ns INTEGER
) STRICT;
CREATE INDEX tokens_by_user ON tokens (user);
CREATE TABLE audit (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ns INTEGER NOT NULL,
    stranger INTEGER NOT NULL,
    user TEXT,
    address TEXT,
    action TEXT NOT NULL,
    object TEXT NOT NULL,
    outcome TEXT NOT NULL
) STRICT;
CREATE INDEX audit_by_user ON audit (user, id);
CREATE INDEX audit_by_stranger ON audit (stranger, id);
CREATE TRIGGER audit_never_changes BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit log is only appended to'); END;
CREATE TRIGGER audit_loses_only_its_oldest BEFORE DELETE ON audit
WHEN EXISTS (SELECT 1 FROM audit WHERE stranger = old.stranger AND id < old.id)
BEGIN SELECT RAISE(ABORT, 'the audit log loses only its oldest entries'); END;
CREATE TABLE aliases (
    network TEXT PRIMARY KEY,
    name TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE filters (
    owner INTEGER NOT NULL,
    name TEXT NOT NULL,
    text TEXT NOT NULL,
    by TEXT NOT NULL,
    PRIMARY KEY (owner, name)
) STRICT, WITHOUT ROWID;
";

/// Rules of a role, or of a user, about what is seen of graphs.
const GRAPH_RIGHTS: &str = "
CREATE TABLE graph_rules (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    role TEXT,
    user INTEGER REFERENCES users (id) ON DELETE CASCADE,
    allow INTEGER NOT NULL,
    kind TEXT NOT NULL,
    value TEXT NOT NULL,
    CHECK ((role IS NULL) <> (user IS NULL))
) STRICT;
CREATE INDEX graph_rules_by_role ON graph_rules (role, user);
CREATE INDEX graph_rules_by_user ON graph_rules (user);
CREATE TABLE graph_defaults (
    role TEXT UNIQUE,
    user INTEGER UNIQUE REFERENCES users (id) ON DELETE CASCADE,
    everything INTEGER NOT NULL,
    CHECK ((role IS NULL) <> (user IS NULL))
) STRICT;
";

/// A number that is to be forgotten becomes unreadable in what an entry was about, and nothing else changes of it.
const FORGOTTEN_NUMBERS: &str = "
DROP TRIGGER audit_never_changes;
CREATE TRIGGER audit_never_changes BEFORE UPDATE ON audit
WHEN new.id IS NOT old.id OR new.at_ns IS NOT old.at_ns OR new.stranger IS NOT old.stranger
    OR new.user IS NOT old.user OR new.address IS NOT old.address OR new.action IS NOT old.action
    OR new.outcome IS NOT old.outcome OR length(new.object) IS NOT length(old.object)
    OR instr(new.object, '*') = 0
BEGIN SELECT RAISE(ABORT, 'the audit log is only appended to'); END;
";

/// Brings a file to the version that is known here.
///
/// # Errors
/// [`Refusal::Failed`] where it cannot be written or comes from a later program.
pub fn bring_up_to_date(connection: &mut Connection) -> Result<(), Refusal> {
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let version: usize = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let Some(steps) = STEPS.get(version..) else {
        let text =
            format!("version {version} of it is not known here, up to {} is: use a later trunkline", STEPS.len());
        return Err(Refusal::Failed(text));
    };
    for step in steps {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "user_version", STEPS.len())?;
    Ok(transaction.commit()?)
}
