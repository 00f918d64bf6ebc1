//! One-time links: the first administrator, a password to be set, signing in at once (demo, open).
//!
//! 256 bits, stored as their SHA-256, used once: whoever removes the row has used the link, and SQLite lets one remove
//! it. A link whose use fails (a password that will not do) stays.

use super::desk::{Desk, held};
use super::password;
use super::refusal::Refusal;
use super::role::Role;
use super::secret::{Secret, digest};
use super::sessions::{self, From, SignedIn};
use super::users::{canonical, find, find_by_id, has_administrator, insert};
use rusqlite::{Connection, OptionalExtension as _, params};

/// How long the link of the first administrator holds, seconds.
pub const FIRST_LINK_S: i64 = 24 * 3600;
/// How long a link to set a password holds, seconds.
pub const PASSWORD_LINK_S: i64 = 72 * 3600;
/// How long a link that signs in holds, seconds.
pub const SIGN_IN_LINK_S: i64 = 24 * 3600;
/// Links of one user and kind; the soonest to end goes for a new one.
// Limit: invitation or password links of one user
// Beyond: the link that expires first is replaced
// Seen in: the old link does not work
pub const LINKS_PER_USER_MAX: i64 = 5;

/// What a link is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkKind {
    /// Makes an administrator of a name and password to be chosen. A new one ends those before.
    FirstAdministrator,
    /// Sets the password of this user.
    SetPassword(String),
    /// Signs this user in at once.
    SignIn(String),
}

impl Desk {
    /// Makes a link; the secret is shown this once.
    ///
    /// # Errors
    /// [`Refusal::NotFound`] for a user that does not exist, [`Refusal::Conflict`] where a password is to be set of a
    /// user of the identity provider, [`Refusal::Failed`].
    pub fn make_link(&self, kind: &LinkKind, now_ns: i64) -> Result<Secret, Refusal> {
        let secret = Secret::fresh();
        let (word, name, holds_s) = match kind {
            LinkKind::FirstAdministrator => (FIRST, None, FIRST_LINK_S),
            LinkKind::SetPassword(name) => (PASSWORD, Some(canonical(name)?), PASSWORD_LINK_S),
            LinkKind::SignIn(name) => (SIGN_IN, Some(canonical(name)?), SIGN_IN_LINK_S),
        };
        self.write(|t| {
            let user = match name {
                Some(name) => Some(find(t, &name)?),
                None => None,
            };
            if word == PASSWORD && user.as_ref().is_some_and(|u| u.oidc) {
                return Err(Refusal::Conflict("this user signs in through the identity provider".to_owned()));
            }
            let user = user.map(|u| u.id);
            let kept = if word == FIRST { 0 } else { LINKS_PER_USER_MAX - 1 };
            t.execute(
                "DELETE FROM links WHERE digest IN (SELECT digest FROM links WHERE kind = ?1 AND user IS ?2 \
                 ORDER BY expires_ns DESC, digest LIMIT -1 OFFSET ?3)",
                params![word, user, kept],
            )?;
            t.execute(
                "INSERT INTO links (digest, kind, user, expires_ns) VALUES (?1, ?2, ?3, ?4)",
                params![digest(secret.expose()), word, user, now_ns.saturating_add(holds_s * 1_000_000_000)],
            )?;
            Ok(secret)
        })
    }

    /// What a link is for, without using it.
    ///
    /// # Errors
    /// [`Refusal::BadLink`], [`Refusal::Failed`].
    pub fn look_at_link(&self, secret: &str, now_ns: i64) -> Result<LinkKind, Refusal> {
        self.read(|c| {
            let found = look(c, secret, now_ns)?;
            if found.0 == FIRST && has_administrator(c, now_ns)? {
                return Err(Refusal::BadLink);
            }
            let name = |c, user: Option<i64>| Ok::<_, Refusal>(find_by_id(c, user.unwrap_or_default())?.name);
            match found.0.as_str() {
                FIRST => Ok(LinkKind::FirstAdministrator),
                PASSWORD => Ok(LinkKind::SetPassword(name(c, found.1)?)),
                _ => Ok(LinkKind::SignIn(name(c, found.1)?)),
            }
        })
    }

    /// Uses a link that signs in. Written to the audit log.
    ///
    /// # Errors
    /// [`Refusal::BadLink`] also for a link of another kind, [`Refusal::Failed`].
    pub fn sign_in_by_link(&self, secret: &str, from: From<'_>, now_ns: i64) -> Result<SignedIn, Refusal> {
        let result = self.write(|t| {
            let user = take(t, secret, SIGN_IN, now_ns)?.ok_or(Refusal::BadLink)?;
            if find_by_id(t, user)?.disabled {
                return Err(Refusal::BadLink);
            }
            sessions::open(t, &self.options, user, from, now_ns)
        });
        self.after_link(&result, from, now_ns);
        result
    }

    /// Uses a link of the first administrator or one to set a password: makes the user or sets the password, ends the
    /// user's sessions, forgives wrong passwords, and signs in. Of a link to set a password `name` may be empty.
    ///
    /// # Errors
    /// [`Refusal::BadLink`] also for a link of another kind, [`Refusal::BadValue`] for a name or password that will not
    /// do and [`Refusal::Conflict`] for a name that is taken (the link holds on), [`Refusal::Busy`],
    /// [`Refusal::Failed`].
    pub fn set_up(
        &self,
        secret: &str,
        name: &str,
        password: &str,
        from: From<'_>,
        now_ns: i64,
    ) -> Result<SignedIn, Refusal> {
        let result = self.try_set_up(secret, name, password, from, now_ns);
        self.after_link(&result, from, now_ns);
        result
    }

    fn try_set_up(
        &self,
        secret: &str,
        name: &str,
        password: &str,
        from: From<'_>,
        now_ns: i64,
    ) -> Result<SignedIn, Refusal> {
        // The link first: nobody without one makes us hash.
        let (word, name) = match self.look_at_link(secret, now_ns)? {
            LinkKind::FirstAdministrator => (FIRST, canonical(name)?),
            LinkKind::SetPassword(of) if name.is_empty() || canonical(name)? == of => (PASSWORD, of),
            LinkKind::SetPassword(_) => return Err(Refusal::value("name", "this link is somebody else's")),
            LinkKind::SignIn(_) => return Err(Refusal::BadLink),
        };
        password::check_new(password, &name)?;
        let hash = self.hashing.hash(password)?;
        let signed_in = self.write(|t| {
            let user = match take(t, secret, word, now_ns)? {
                Some(user) => {
                    let set = "UPDATE users SET password = ?2, must_change_password = 0 WHERE id = ?1 AND NOT disabled";
                    if t.execute(set, params![user, hash])? == 0 {
                        return Err(Refusal::BadLink);
                    }
                    user
                }
                // Somebody may have made one since the link was.
                None if has_administrator(t, now_ns)? => return Err(Refusal::BadLink),
                None => insert(t, &name, "", Role::Administrator, Some(&hash), None, now_ns)?,
            };
            t.execute("DELETE FROM sessions WHERE user = ?1", [user])?;
            t.execute("DELETE FROM links WHERE kind = ?1 AND user IS ?2", params![PASSWORD, user])?;
            sessions::open(t, &self.options, user, from, now_ns)
        })?;
        held(&self.throttle).forgive(signed_in.viewer.user_id);
        Ok(signed_in)
    }

    fn after_link(&self, result: &Result<SignedIn, Refusal>, from: From<'_>, now_ns: i64) {
        self.count(|c| match result {
            Ok(_) => c.signed_in += 1,
            Err(Refusal::BadLink) => c.wrong += 1,
            Err(_) => {}
        });
        self.audit_sign_in(result, "", "link", from, now_ns);
    }
}

const FIRST: &str = "first";
const PASSWORD: &str = "password";
const SIGN_IN: &str = "sign-in";

fn look(c: &Connection, secret: &str, now_ns: i64) -> Result<(String, Option<i64>), Refusal> {
    let found = c
        .prepare_cached("SELECT kind, user FROM links WHERE digest = ?1 AND expires_ns > ?2")?
        .query_row(params![digest(secret), now_ns], |row| Ok((row.get(0)?, row.get(1)?)));
    found.optional()?.ok_or(Refusal::BadLink)
}

/// Uses a link up: its user, none for the first administrator's.
fn take(t: &Connection, secret: &str, kind: &str, now_ns: i64) -> Result<Option<i64>, Refusal> {
    let taken = t.query_row(
        "DELETE FROM links WHERE digest = ?1 AND kind = ?2 AND expires_ns > ?3 RETURNING user",
        params![digest(secret), kind, now_ns],
        |row| row.get(0),
    );
    taken.optional()?.ok_or(Refusal::BadLink)
}
