//! The audit log: who saw, heard, downloaded and changed what, and what was refused. Appended to, never changed; the
//! oldest entries go when there are too many or they are too old.
//!
//! What people write who did not sign in is bounded apart: a flood of wrong passwords neither fills the log nor pushes
//! out what users did.

use super::desk::{Desk, held};
use super::refusal::Refusal;
use super::viewer::{How, Viewer};
use rusqlite::{Row, params};
use std::collections::HashMap;
use std::net::IpAddr;

/// Most characters of an object; the rest is cut.
pub const AUDIT_OBJECT_CHARACTERS_MAX: usize = 512;
/// Entries a minute of people who did not sign in; further ones are counted, and told in one entry.
// Limit: audit entries per minute of people who are not signed in
// Beyond: further ones are counted in one entry
// Seen in: the audit log
pub const STRANGER_ENTRIES_PER_MINUTE_MAX: u64 = 60;
/// Entries a minute of one user, their tokens included; what would be one more is refused, and so not done: nobody
/// pushes their own traces out of the log within an hour, and nobody takes the disk from the others.
// Limit: audited requests of one user per minute
// Beyond: further requests are refused, and not done
// Seen in: the HTTP status 429
pub const USER_ENTRIES_PER_MINUTE_MAX: u64 = 3000;
/// Most entries of one page.
pub const AUDIT_PAGE_MAX: usize = 1000;
/// After so many entries the log is looked over.
const TRIM_EVERY: u64 = 1000;
const MINUTE_NS: i64 = 60_000_000_000;

/// Names of what is done. Others may be used; these are what the parts of the web use.
#[allow(missing_docs)] // each says itself
pub mod action {
    pub const SIGN_IN: &str = "sign-in";
    pub const SIGN_OUT: &str = "sign-out";
    pub const SESSION_END: &str = "session.end";
    pub const PASSWORD: &str = "password.change";
    pub const LINK_MAKE: &str = "link.make";
    pub const USER_ADD: &str = "user.add";
    pub const USER_CHANGE: &str = "user.change";
    pub const USER_REMOVE: &str = "user.remove";
    pub const TOKEN_ADD: &str = "token.add";
    pub const TOKEN_REMOVE: &str = "token.remove";
    pub const CALL_SEE: &str = "call.see";
    pub const CALL_HEAR: &str = "call.hear";
    pub const CALL_MESSAGES: &str = "call.messages";
    pub const CALL_PACKETS: &str = "call.packets";
    pub const CALLS_EXPORT: &str = "calls.export";
    pub const PACKETS_EXTRACT: &str = "packets.extract";
    pub const PACKETS_DOWNLOAD: &str = "packets.download";
    pub const CAPTURE_UPLOAD: &str = "capture.upload";
    pub const ALIAS_SET: &str = "alias.set";
    pub const ALIAS_REMOVE: &str = "alias.remove";
    pub const FILTER_SHARE: &str = "filter.share";
    pub const AUDIT_READ: &str = "audit.read";
    pub const CHARGE_TOP_UP: &str = "charge.top-up";
    pub const CHARGE_ADJUST: &str = "charge.adjust";
    pub const CHARGE_BUY: &str = "charge.buy";
    pub const CHARGE_ABORT: &str = "charge.abort";
    pub const CHARGE_ACCOUNT: &str = "charge.account";
    pub const CHARGE_SUBSCRIBER: &str = "charge.subscriber";
    pub const CHARGE_SEE: &str = "charge.see";
    pub const CHARGE_PLAN: &str = "charge.plan";
    pub const CHARGE_TRY: &str = "charge.try";
    pub const CHARGE_BILL: &str = "charge.bill";
    pub const CHARGE_COMPARE: &str = "charge.compare";
    pub const CHARGE_DIFFERENCES: &str = "charge.differences";
    pub const CHARGE_RATE: &str = "charge.rate";
    pub const CHARGE_RATED_CALLS: &str = "charge.rated-calls";
    pub const GRAPH_DEVICE: &str = "graph.device";
    pub const GRAPH_CREDENTIAL: &str = "graph.credential";
    pub const ALERT_ACKNOWLEDGE: &str = "alert.acknowledge";
    pub const ALERT_SILENCE: &str = "alert.silence";
    pub const ALERT_UNSILENCE: &str = "alert.unsilence";
    pub const ALERT_TEST: &str = "alert.test";
    pub const ALERT_RELOAD: &str = "alert.reload";
    pub const GRAPH_TREE: &str = "graph.tree";
    pub const GRAPH_GRAPH: &str = "graph.graph";
    pub const GRAPH_RIGHTS: &str = "graph.rights";
    pub const NUMBER_FORGET: &str = "number.forget";
    pub const REFUSED: &str = "refused";
}

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// When, nanoseconds since 1970.
    pub at_ns: i64,
    /// Who; none if nobody was signed in. Of a token: `alice (token backup)`.
    pub user: Option<String>,
    /// From where.
    pub address: Option<IpAddr>,
    /// What was done: one of [`action`].
    pub action: String,
    /// To what: a call's identifier, a user's name, a filter.
    pub object: String,
    /// `ok`, or the kind of problem.
    pub outcome: String,
}

/// Which entries are wanted.
#[derive(Clone, Copy, Debug)]
pub struct AuditAsk<'a> {
    /// At or after.
    pub from_ns: i64,
    /// Before.
    pub to_ns: i64,
    /// Of this user alone.
    pub user: Option<&'a str>,
    /// At most so many, and never more than [`AUDIT_PAGE_MAX`].
    pub limit: usize,
    /// Where the page before ended.
    pub cursor: Option<i64>,
}

/// A page of the log, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditPage {
    /// The entries.
    pub entries: Vec<AuditEntry>,
    /// Where the next page begins; none if there is none.
    pub next: Option<i64>,
}

/// How much was written lately.
#[derive(Debug, Default)]
pub struct AuditState {
    minute: i64,
    strangers: u64,
    /// Entries of this minute by user: no more of them than there are users.
    users: HashMap<String, u64>,
    not_written: u64,
    since_trim: u64,
}

/// Entries of one kind of people that are too old, or too many and old enough. By identifier, so that only the oldest
/// go, whatever clock wrote them.
const TOO_MUCH: &str = "stranger = ?1 AND (\
     id < coalesce((SELECT min(id) FROM audit WHERE stranger = ?1 AND at_ns >= ?2), 9223372036854775807) \
     OR (id < coalesce((SELECT id FROM audit WHERE stranger = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?3), 0) \
         AND at_ns < ?4))";

impl Desk {
    /// Appends an entry.
    ///
    /// # Errors
    /// [`Refusal::Failed`], [`Refusal::TooMany`]: what is not in the log should not be done.
    pub fn audit(&self, entry: &AuditEntry) -> Result<(), Refusal> {
        self.tell_untold(entry.at_ns)?;
        match &entry.user {
            Some(user) => held(&self.audit_state).user_writes(user, entry.at_ns)?,
            None if !held(&self.audit_state).stranger_may_write() => {
                self.count(|c| c.audit_not_written += 1);
                return Ok(());
            }
            None => {}
        }
        self.append(entry)?;
        let mut state = held(&self.audit_state);
        state.since_trim += 1;
        if state.since_trim < TRIM_EVERY {
            return Ok(());
        }
        state.since_trim = 0;
        drop(state);
        self.trim_audit(None).map(drop)
    }

    /// Appends what a viewer did, with how it ended.
    ///
    /// # Errors
    /// As [`Desk::audit`].
    pub fn audit_viewer(
        &self,
        viewer: &Viewer,
        address: IpAddr,
        action: &str,
        object: &str,
        outcome: &str,
        now_ns: i64,
    ) -> Result<(), Refusal> {
        let user = match &viewer.how {
            How::Session { .. } => viewer.name.clone(),
            How::Token { name, .. } => format!("{} (token {name})", viewer.name),
        };
        self.audit(&AuditEntry {
            at_ns: now_ns,
            user: Some(user),
            address: Some(address),
            action: action.to_owned(),
            object: object.to_owned(),
            outcome: outcome.to_owned(),
        })
    }

    pub(crate) fn audit_of<T>(
        &self,
        viewer: &Viewer,
        address: IpAddr,
        action: &str,
        object: &str,
        result: &Result<T, Refusal>,
        now_ns: i64,
    ) {
        if let Err(error) = self.audit_viewer(viewer, address, action, object, &outcome(result), now_ns) {
            tracing::error!("the audit log could not be written: {error}");
        }
    }

    pub(crate) fn audit_or_log(&self, entry: &AuditEntry) {
        if let Err(error) = self.audit(entry) {
            tracing::error!("the audit log could not be written: {error}");
        }
    }

    /// A page of the log, newest first.
    ///
    /// # Errors
    /// [`Refusal::Failed`].
    pub fn audit_page(&self, ask: &AuditAsk<'_>) -> Result<AuditPage, Refusal> {
        let limit = ask.limit.clamp(1, AUDIT_PAGE_MAX);
        self.read(|c| {
            let mut page = c.prepare_cached(
                "SELECT id, at_ns, user, address, action, object, outcome FROM audit \
                 WHERE at_ns >= ?1 AND at_ns < ?2 AND (?3 IS NULL OR user = ?3 OR user LIKE ?4 ESCAPE '\\') \
                 AND id < ?5 ORDER BY id DESC LIMIT ?6",
            )?;
            let tokens = ask
                .user
                .map(|u| format!("{} (token %", u.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_")));
            let before = ask.cursor.unwrap_or(i64::MAX);
            let rows = page
                .query_map(params![ask.from_ns, ask.to_ns, ask.user, tokens, before, limit as i64 + 1], |row| {
                    Ok((row.get::<_, i64>(0)?, entry_of(row)?))
                })?;
            let mut rows = rows.collect::<rusqlite::Result<Vec<_>>>()?;
            let more = rows.len() > limit;
            rows.truncate(limit);
            let next = if more { rows.last().map(|(id, _)| *id) } else { None };
            Ok(AuditPage { entries: rows.into_iter().map(|(_, entry)| entry).collect(), next })
        })
    }

    /// Removes entries that are too old or too many, the oldest first; how many. Without a time that is believed
    /// nothing is too old, and nothing old enough to make room where there is a minimum age.
    ///
    /// # Errors
    /// [`Refusal::Failed`].
    pub fn trim_audit(&self, believed_ns: Option<i64>) -> Result<u64, Refusal> {
        let removed = self.write(|t| {
            let mut removed = 0;
            for of in self.trims(believed_ns) {
                removed += t.execute(&format!("DELETE FROM audit WHERE {TOO_MUCH}"), of)?;
            }
            Ok(removed)
        })? as u64;
        self.count(|c| c.audit_removed += removed);
        Ok(removed)
    }

    /// How many entries [`Desk::trim_audit`] would remove.
    ///
    /// # Errors
    /// [`Refusal::Failed`].
    pub fn audit_to_trim(&self, believed_ns: Option<i64>) -> Result<u64, Refusal> {
        self.read(|c| {
            let mut count = 0u64;
            for of in self.trims(believed_ns) {
                let found: i64 =
                    c.query_row(&format!("SELECT count(*) FROM audit WHERE {TOO_MUCH}"), of, |row| row.get(0))?;
                count += found.unsigned_abs();
            }
            Ok(count)
        })
    }

    /// What [`TOO_MUCH`] is asked with, for users and for those who did not sign in.
    fn trims(&self, believed_ns: Option<i64>) -> [[i64; 4]; 2] {
        let ns = |s: u64| i64::try_from(s).unwrap_or(i64::MAX).saturating_mul(1_000_000_000);
        let before = |age_s: u64| believed_ns.map(|now_ns| now_ns.saturating_sub(ns(age_s)));
        let too_old = self.options.audit_age_max_s.and_then(before).unwrap_or(i64::MIN);
        let least_s = self.options.audit_keep_at_least_s;
        let may_go = if least_s == 0 { i64::MAX } else { before(least_s).unwrap_or(i64::MIN) };
        let most = i64::try_from(self.options.audit_entries_max.max(10)).unwrap_or(i64::MAX);
        [[0, too_old, most.saturating_sub(1), may_go], [1, too_old, (most / 10).saturating_sub(1), i64::MAX]]
    }

    /// Begins a minute, and tells of the one before what of strangers was not written.
    fn tell_untold(&self, now_ns: i64) -> Result<(), Refusal> {
        let untold = held(&self.audit_state).begin_minute(now_ns);
        if untold == 0 {
            return Ok(());
        }
        self.append(&AuditEntry {
            at_ns: now_ns,
            user: None,
            address: None,
            action: action::SIGN_IN.to_owned(),
            object: format!("{untold} more attempts in a minute"),
            outcome: "not-written".to_owned(),
        })
    }

    fn append(&self, entry: &AuditEntry) -> Result<(), Refusal> {
        let one_line = |text: &str| -> String {
            let cut = text.chars().take(AUDIT_OBJECT_CHARACTERS_MAX);
            cut.map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
        };
        let address = entry.address.map(|a| a.to_canonical().to_string());
        self.write(|t| {
            t.execute(
                "INSERT INTO audit (at_ns, stranger, user, address, action, object, outcome) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                params![
                    entry.at_ns,
                    entry.user.is_none(),
                    entry.user.as_deref().map(one_line),
                    address,
                    one_line(&entry.action),
                    one_line(&entry.object),
                    one_line(&entry.outcome),
                ],
            )?;
            Ok(())
        })
    }
}

impl AuditState {
    /// What of the minute before was not written, if another begins.
    fn begin_minute(&mut self, now_ns: i64) -> u64 {
        let minute = now_ns.div_euclid(MINUTE_NS);
        if minute == self.minute {
            return 0;
        }
        (self.minute, self.strangers) = (minute, 0);
        self.users.clear();
        std::mem::take(&mut self.not_written)
    }

    fn stranger_may_write(&mut self) -> bool {
        self.strangers += 1;
        let may = self.strangers <= STRANGER_ENTRIES_PER_MINUTE_MAX;
        self.not_written += u64::from(!may);
        may
    }

    fn user_writes(&mut self, user: &str, now_ns: i64) -> Result<(), Refusal> {
        let name = user.split(" (token ").next().unwrap_or(user);
        let count = self.users.entry(name.to_owned()).or_default();
        *count += 1;
        if *count > USER_ENTRIES_PER_MINUTE_MAX {
            let left_ns = MINUTE_NS - now_ns.rem_euclid(MINUTE_NS);
            return Err(Refusal::TooMany { retry_after_s: (left_ns / 1_000_000_000).unsigned_abs() + 1 });
        }
        Ok(())
    }
}

/// How something ended, for the log.
pub fn outcome<T>(result: &Result<T, Refusal>) -> String {
    match result {
        Ok(_) => "ok".to_owned(),
        Err(Refusal::WrongPassword) => "wrong-password".to_owned(),
        Err(refusal) => refusal.kind().to_owned(),
    }
}

fn entry_of(row: &Row<'_>) -> rusqlite::Result<AuditEntry> {
    let address: Option<String> = row.get(3)?;
    Ok(AuditEntry {
        at_ns: row.get(1)?,
        user: row.get(2)?,
        address: address.and_then(|a| a.parse().ok()),
        action: row.get(4)?,
        object: row.get(5)?,
        outcome: row.get(6)?,
    })
}
