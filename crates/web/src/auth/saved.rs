//! Saved filters: each user's own, and those for everybody.

use super::desk::Desk;
use super::mask;
use super::refusal::Refusal;
use super::role::Permission;
use super::viewer::Viewer;
use rusqlite::params;
use trunkline_store::filter::{FILTER_OCTETS_MAX, Filter};

/// Filters of one user, and filters for everybody; more are refused.
// Limit: saved filters of one user
// Beyond: a further filter is refused
// Seen in: the error message
pub const FILTERS_PER_OWNER_MAX: i64 = 200;
/// Most characters of a filter's name.
pub const FILTER_NAME_CHARACTERS_MAX: usize = 64;
/// The owner of what is for everybody: no user has this row.
const EVERYBODY: i64 = 0;

/// A saved filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedFilter {
    /// Its name.
    pub name: String,
    /// Its text.
    pub text: String,
    /// Whether it is for everybody.
    pub shared: bool,
    /// Who saved it last.
    pub by: String,
}

impl Desk {
    /// A viewer's own filters and those for everybody, by name. Shared ones that name numbers are left out for a viewer
    /// who may not see them.
    ///
    /// # Errors
    /// [`Refusal::Failed`].
    pub fn filters(&self, viewer: &Viewer) -> Result<Vec<SavedFilter>, Refusal> {
        let mut filters: Vec<SavedFilter> = self.read(|c| {
            let mut all = c.prepare_cached(
                "SELECT name, text, owner = 0, by FROM filters WHERE owner IN (0, ?1) ORDER BY name, owner DESC",
            )?;
            let rows = all.query_map([viewer.user_id], |row| {
                Ok(SavedFilter { name: row.get(0)?, text: row.get(1)?, shared: row.get(2)?, by: row.get(3)? })
            })?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })?;
        if viewer.masked() {
            filters.retain(|f| !f.shared || !mask::names_numbers(&f.text));
        }
        Ok(filters)
    }

    /// Saves a filter under a name, over what was there.
    ///
    /// # Errors
    /// [`Refusal::Forbidden`] for a shared one without [`Permission::FiltersShare`], [`Refusal::BadValue`] for a name
    /// or filter that is none, [`Refusal::Conflict`] where there are too many, [`Refusal::Failed`].
    pub fn save_filter(&self, viewer: &Viewer, name: &str, text: &str, shared: bool) -> Result<(), Refusal> {
        let owner = owner(viewer, shared)?;
        let name = name.trim();
        if name.is_empty() || name.chars().count() > FILTER_NAME_CHARACTERS_MAX || name.chars().any(char::is_control) {
            let text = format!("a filter's name has 1 to {FILTER_NAME_CHARACTERS_MAX} characters, on one line");
            return Err(Refusal::value("name", text));
        }
        if text.len() > FILTER_OCTETS_MAX {
            return Err(Refusal::value("text", format!("a filter has at most {FILTER_OCTETS_MAX} octets")));
        }
        Filter::parse(text).map_err(|e| Refusal::value("text", e.to_string()))?;
        self.write(|t| {
            t.execute(
                "INSERT INTO filters (owner, name, text, by) VALUES (?1, ?2, ?3, ?4) \
                 ON CONFLICT (owner, name) DO UPDATE SET text = excluded.text, by = excluded.by",
                params![owner, name, text, viewer.name],
            )?;
            let count: i64 = t.query_row("SELECT count(*) FROM filters WHERE owner = ?1", [owner], |row| row.get(0))?;
            if count > FILTERS_PER_OWNER_MAX {
                return Err(Refusal::Conflict(format!(
                    "there are {FILTERS_PER_OWNER_MAX} filters already: remove one"
                )));
            }
            Ok(())
        })
    }

    /// Forgets a filter: one's own, or a shared one.
    ///
    /// # Errors
    /// [`Refusal::Forbidden`], [`Refusal::NotFound`], [`Refusal::Failed`].
    pub fn remove_filter(&self, viewer: &Viewer, name: &str, shared: bool) -> Result<(), Refusal> {
        let owner = owner(viewer, shared)?;
        let remove = "DELETE FROM filters WHERE owner = ?1 AND name = ?2";
        let removed = self.write(|t| Ok(t.execute(remove, params![owner, name.trim()])?))?;
        if removed == 0 { Err(Refusal::NotFound("filter")) } else { Ok(()) }
    }
}

fn owner(viewer: &Viewer, shared: bool) -> Result<i64, Refusal> {
    if !shared {
        return Ok(viewer.user_id);
    }
    viewer.need(Permission::FiltersShare)?;
    Ok(EVERYBODY)
}
