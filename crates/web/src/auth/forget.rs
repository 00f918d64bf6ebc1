//! A number that is to be forgotten, at the desk: it becomes unreadable in the audit log, whose entries stay, and saved
//! filters that name it go.

use super::audit::{AuditEntry, action};
use super::desk::Desk;
use super::refusal::Refusal;
use rusqlite::params;
use trunkline_kit::forgotten::Forgotten;

/// What names a number at the desk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NumberAtDesk {
    /// Entries of the audit log.
    pub entries: u64,
    /// Saved filters.
    pub filters: u64,
    /// What was before is still in the journal of the file, as somebody reads at this moment: it leaves when that is
    /// folded in, or when this is done again.
    pub in_journal: bool,
}

impl Desk {
    /// Counts what names a number.
    ///
    /// # Errors
    /// [`Refusal::Failed`].
    pub fn number_at_desk(&self, number: &Forgotten) -> Result<NumberAtDesk, Refusal> {
        self.read(|c| {
            let (entries, filters) = named(c, number)?;
            Ok(NumberAtDesk { entries: entries.len() as u64, filters: filters.len() as u64, in_journal: false })
        })
    }

    /// Makes a number unreadable in the audit log and removes saved filters that name it, in one transaction, with an
    /// entry that says that somebody did so, and not of which number.
    ///
    /// # Errors
    /// [`Refusal::Failed`]: nothing was changed.
    pub fn forget_number(&self, number: &Forgotten, who: &str, now_ns: i64) -> Result<NumberAtDesk, Refusal> {
        let mut done = self.write(|t| {
            let (entries, filters) = named(t, number)?;
            for (id, object) in &entries {
                t.execute("UPDATE audit SET object = ?2 WHERE id = ?1", params![id, object])?;
            }
            for row in &filters {
                t.execute("DELETE FROM filters WHERE owner = ?1 AND name = ?2", params![row.0, row.1])?;
            }
            Ok(NumberAtDesk { entries: entries.len() as u64, filters: filters.len() as u64, in_journal: false })
        })?;
        self.audit(&AuditEntry {
            at_ns: now_ns,
            user: Some(who.to_owned()),
            address: None,
            action: action::NUMBER_FORGET.to_owned(),
            object: format!("{} entries, {} filters", done.entries, done.filters),
            outcome: "ok".to_owned(),
        })?;
        done.in_journal = self.empty_journal()? != 0;
        Ok(done)
    }
}

/// Entries that name it, with what they say without it, and the filters that do.
type Named = (Vec<(i64, String)>, Vec<(i64, String)>);

fn named(c: &rusqlite::Connection, number: &Forgotten) -> Result<Named, Refusal> {
    let mut objects = c.prepare("SELECT id, object FROM audit WHERE instr(object, ?1) > 0")?;
    let rows = objects.query_map([number.name()], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)))?;
    let mut entries = Vec::new();
    for row in rows {
        let (id, object) = row?;
        entries.extend(number.out_of(&object).map(|without| (id, without)));
    }
    let mut texts = c.prepare("SELECT owner, name, text FROM filters WHERE instr(name || ' ' || text, ?1) > 0")?;
    let rows = texts.query_map([number.name()], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?))
    })?;
    let mut filters = Vec::new();
    for row in rows {
        let (owner, name, text) = row?;
        let is_named = number.out_of(&text).is_some() || number.out_of(&name).is_some();
        filters.extend(is_named.then_some((owner, name)));
    }
    Ok((entries, filters))
}
