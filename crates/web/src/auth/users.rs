//! Users: who they are, what role they have, whether they may come in.

use super::desk::{Desk, held};
use super::password;
use super::refusal::Refusal;
use super::role::Role;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

/// Most users.
// Limit: users
// Beyond: a further user is refused
// Seen in: the error message
pub const USERS_MAX: i64 = 4000;
/// Most characters of a name.
pub const NAME_CHARACTERS_MAX: usize = 64;
/// Most characters of what to call somebody.
pub const DISPLAY_NAME_CHARACTERS_MAX: usize = 128;

/// A user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The row.
    pub id: i64,
    /// Lower-case name.
    pub name: String,
    /// What to call them; empty if nobody said.
    pub display_name: String,
    /// The role.
    pub role: Role,
    /// Whether there is a password.
    pub has_password: bool,
    /// Whether the password must be changed before anything else.
    pub must_change_password: bool,
    /// Whether an administrator locked them.
    pub disabled: bool,
    /// Until when wrong passwords from addresses that they never used hold them off, nanoseconds since 1970.
    pub held_off_until_ns: Option<i64>,
    /// Whether they come through the identity provider.
    pub oidc: bool,
    /// When they were made.
    pub made_ns: i64,
    /// When they last signed in.
    pub last_sign_in_ns: Option<i64>,
}

/// A user to be made.
#[derive(Clone, Copy, Debug)]
pub struct NewUser<'a> {
    /// 1 to 64 of a-z, 0-9, `.`, `_`, `@`, `+`, `-`, beginning with a letter or digit; made lower-case.
    pub name: &'a str,
    /// What to call them.
    pub display_name: &'a str,
    /// The role.
    pub role: Role,
    /// The first password, which they must change; without one they need a link.
    pub password: Option<&'a str>,
}

/// What to change of a user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserChange {
    /// What to call them.
    pub display_name: Option<String>,
    /// The role: all their sessions end.
    pub role: Option<Role>,
    /// Whether they are locked: all their sessions end, and their tokens rest.
    pub disabled: Option<bool>,
}

const COLUMNS: &str = "id, name, display_name, role, password IS NOT NULL, must_change_password, disabled, \
                       issuer IS NOT NULL, made_ns, last_sign_in_ns";

impl Desk {
    /// All users, by name.
    ///
    /// # Errors
    /// [`Refusal::Failed`].
    pub fn users(&self, now_ns: i64) -> Result<Vec<User>, Refusal> {
        let mut users = self.read(|c| {
            let mut all = c.prepare_cached(&format!("SELECT {COLUMNS} FROM users ORDER BY name"))?;
            let users = all.query_map([], user_of)?.collect::<rusqlite::Result<Vec<_>>>()?;
            Ok(users)
        })?;
        let throttle = held(&self.throttle);
        for user in &mut users {
            user.held_off_until_ns = throttle.locked_until_ns(user.id, now_ns);
        }
        Ok(users)
    }

    /// One user.
    ///
    /// # Errors
    /// [`Refusal::NotFound`], [`Refusal::Failed`].
    pub fn user(&self, name: &str, now_ns: i64) -> Result<User, Refusal> {
        let name = canonical(name)?;
        let mut user = self.read(|c| find(c, &name))?;
        user.held_off_until_ns = held(&self.throttle).locked_until_ns(user.id, now_ns);
        Ok(user)
    }

    /// Whether there is an administrator who can come in, by a password, the identity provider or a link that holds: if
    /// not, this is the first start.
    ///
    /// # Errors
    /// [`Refusal::Failed`].
    pub fn has_administrator(&self, now_ns: i64) -> Result<bool, Refusal> {
        self.read(|c| Ok(has_administrator(c, now_ns)?))
    }

    /// Makes a user.
    ///
    /// # Errors
    /// [`Refusal::BadValue`] for a name or password that is none, [`Refusal::Conflict`] for a name that is taken,
    /// [`Refusal::Busy`], [`Refusal::Failed`].
    pub fn add_user(&self, new: &NewUser<'_>, now_ns: i64) -> Result<User, Refusal> {
        let name = canonical(new.name)?;
        check_display_name(new.display_name)?;
        let hash = match new.password {
            Some(password) => {
                password::check_new(password, &name)?;
                Some(self.hashing.hash(password)?)
            }
            None => None,
        };
        self.write(|t| {
            insert(t, &name, new.display_name, new.role, hash.as_deref(), None, now_ns)?;
            t.execute("UPDATE users SET must_change_password = password IS NOT NULL WHERE name = ?1", [&name])?;
            find(t, &name)
        })
    }

    /// Changes a user. A changed role or lock ends all their sessions: nothing that was opened with other rights goes
    /// on.
    ///
    /// # Errors
    /// [`Refusal::NotFound`], [`Refusal::BadValue`], [`Refusal::Conflict`] where no administrator would be left,
    /// [`Refusal::Failed`].
    pub fn change_user(&self, name: &str, change: &UserChange) -> Result<User, Refusal> {
        let name = canonical(name)?;
        if let Some(display_name) = &change.display_name {
            check_display_name(display_name)?;
        }
        let user = self.write(|t| {
            let before = find(t, &name)?;
            t.execute(
                "UPDATE users SET display_name = coalesce(?2, display_name), role = coalesce(?3, role), \
                 disabled = coalesce(?4, disabled) WHERE id = ?1",
                params![before.id, change.display_name, change.role.map(Role::name), change.disabled],
            )?;
            let after = find(t, &name)?;
            if (after.role, after.disabled) != (before.role, before.disabled) {
                keep_an_administrator(t, &before)?;
                t.execute("DELETE FROM sessions WHERE user = ?1", [before.id])?;
            }
            Ok(after)
        })?;
        if change.disabled == Some(false) {
            held(&self.throttle).forgive(user.id);
        }
        Ok(user)
    }

    /// Sets the password of a user, as somebody at the machine may. It has to be changed before anything else, as
    /// whoever set it knows it; sessions end, links to set one hold no more, wrong passwords are forgiven. Nobody is
    /// signed in by it.
    ///
    /// # Errors
    /// [`Refusal::NotFound`], [`Refusal::BadValue`] for a password that will not do or a user who is locked,
    /// [`Refusal::Busy`], [`Refusal::Failed`].
    pub fn set_password(&self, name: &str, password: &str) -> Result<(), Refusal> {
        let name = canonical(name)?;
        password::check_new(password, &name)?;
        let hash = self.hashing.hash(password)?;
        let id = self.write(|t| {
            let user = find(t, &name)?;
            let set = "UPDATE users SET password = ?2, must_change_password = 1 WHERE id = ?1 AND NOT disabled";
            if t.execute(set, params![user.id, hash])? == 0 {
                return Err(Refusal::value("name", "this user is locked"));
            }
            t.execute("DELETE FROM sessions WHERE user = ?1", [user.id])?;
            t.execute("DELETE FROM links WHERE user = ?1", [user.id])?;
            Ok(user.id)
        })?;
        held(&self.throttle).forgive(id);
        Ok(())
    }

    /// Removes a user with their sessions, links, tokens and own filters; the audit log keeps their name.
    ///
    /// # Errors
    /// [`Refusal::NotFound`], [`Refusal::Conflict`] where no administrator would be left, [`Refusal::Failed`].
    pub fn remove_user(&self, name: &str) -> Result<(), Refusal> {
        let name = canonical(name)?;
        self.write(|t| {
            let user = find(t, &name)?;
            t.execute("DELETE FROM filters WHERE owner = ?1", [user.id])?;
            t.execute("DELETE FROM users WHERE id = ?1", [user.id])?;
            keep_an_administrator(t, &user)
        })
    }
}

/// The form in which a name is kept, so that `Alice` and `alice` are one.
///
/// # Errors
/// [`Refusal::BadValue`] for what is no name.
pub fn canonical(name: &str) -> Result<String, Refusal> {
    let name = name.trim().to_ascii_lowercase();
    let fits = (1..=NAME_CHARACTERS_MAX).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "._@+-".contains(c));
    if fits {
        return Ok(name);
    }
    let text = format!(
        "a name has 1 to {NAME_CHARACTERS_MAX} of a-z, 0-9, '.', '_', '@', '+', '-', and begins with a letter or digit"
    );
    Err(Refusal::value("name", text))
}

/// Inserts a user whose name is canonical.
pub(crate) fn insert(
    c: &Connection,
    name: &str,
    display_name: &str,
    role: Role,
    hash: Option<&str>,
    identity: Option<(&str, &str)>,
    now_ns: i64,
) -> Result<i64, Refusal> {
    let count: i64 = c.query_row("SELECT count(*) FROM users", [], |row| row.get(0))?;
    if count >= USERS_MAX {
        return Err(Refusal::Conflict(format!("there are {USERS_MAX} users already")));
    }
    let made = c.execute(
        "INSERT INTO users (name, display_name, role, password, issuer, subject, made_ns) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (name) DO NOTHING",
        params![name, display_name, role.name(), hash, identity.map(|i| i.0), identity.map(|i| i.1), now_ns],
    )?;
    if made == 0 {
        return Err(Refusal::Conflict(format!("there is a user {name} already")));
    }
    Ok(c.last_insert_rowid())
}

/// A user by canonical name.
pub(crate) fn find(c: &Connection, name: &str) -> Result<User, Refusal> {
    let mut one = c.prepare_cached(&format!("SELECT {COLUMNS} FROM users WHERE name = ?1"))?;
    one.query_row([name], user_of).optional()?.ok_or(Refusal::NotFound("user"))
}

/// A user by row.
pub(crate) fn find_by_id(c: &Connection, id: i64) -> Result<User, Refusal> {
    let mut one = c.prepare_cached(&format!("SELECT {COLUMNS} FROM users WHERE id = ?1"))?;
    one.query_row([id], user_of).optional()?.ok_or(Refusal::NotFound("user"))
}

pub(crate) fn check_display_name(text: &str) -> Result<(), Refusal> {
    if text.chars().count() > DISPLAY_NAME_CHARACTERS_MAX || text.chars().any(char::is_control) {
        let text = format!("a display name has at most {DISPLAY_NAME_CHARACTERS_MAX} characters, on one line");
        return Err(Refusal::value("display_name", text));
    }
    Ok(())
}

/// A role as it is stored; a word that is none gives the least.
pub(crate) fn role_of(text: &str) -> Role {
    text.parse().unwrap_or(Role::Viewer)
}

/// Whether an administrator can sign in; one without a password whose links are over cannot.
pub(crate) fn has_administrator(c: &Connection, now_ns: i64) -> rusqlite::Result<bool> {
    c.query_row(
        "SELECT EXISTS (SELECT 1 FROM users WHERE role = 'administrator' AND NOT disabled AND (password IS NOT NULL \
         OR issuer IS NOT NULL OR EXISTS (SELECT 1 FROM links WHERE user = users.id AND expires_ns > ?1)))",
        [now_ns],
        |row| row.get(0),
    )
}

fn administrators(c: &Connection) -> rusqlite::Result<i64> {
    c.query_row("SELECT count(*) FROM users WHERE role = 'administrator' AND NOT disabled", [], |row| row.get(0))
}

/// Refuses what took the last administrator away; `before` is the user as they were.
fn keep_an_administrator(c: &Connection, before: &User) -> Result<(), Refusal> {
    if before.role != Role::Administrator || before.disabled {
        return Ok(());
    }
    // Links that are over are removed now and then, so that a link which is there is taken for one that holds.
    let left = if before.has_password || before.oidc { has_administrator(c, 0)? } else { administrators(c)? > 0 };
    if !left {
        return Err(Refusal::Conflict("the last administrator cannot be removed: create another first".to_owned()));
    }
    Ok(())
}

fn user_of(row: &Row<'_>) -> rusqlite::Result<User> {
    Ok(User {
        id: row.get(0)?,
        name: row.get(1)?,
        display_name: row.get(2)?,
        role: role_of(&row.get::<_, String>(3)?),
        has_password: row.get(4)?,
        must_change_password: row.get(5)?,
        disabled: row.get(6)?,
        held_off_until_ns: None,
        oidc: row.get(7)?,
        made_ns: row.get(8)?,
        last_sign_in_ns: row.get(9)?,
    })
}
