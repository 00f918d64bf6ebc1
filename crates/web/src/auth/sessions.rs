//! Signing in, and the sessions behind cookies.
//!
//! A session's secret is always made here, anew at each sign-in and at each change of password: one that somebody else
//! put into a browser is never taken over (no session fixation). The file holds its SHA-256 alone. A changed role or
//! lock, and a changed password elsewhere, end sessions.

use super::audit::{AuditEntry, action};
use super::desk::{AuthOptions, Desk, held};
use super::oidc::Claimed;
use super::password;
use super::refusal::Refusal;
use super::rights::{GraphScope, rights};
use super::role::Permissions;
use super::secret::{Secret, derived, digest, handle};
use super::throttle::Account;
use super::users::{self, USERS_MAX, User, canonical, find_by_id};
use super::viewer::{How, Viewer};
use rusqlite::{Connection, OptionalExtension as _, params};
use std::net::IpAddr;
use std::sync::Arc;

/// Sessions of one user; the one that was not used for longest ends for a new one.
// Limit: sessions of one user
// Beyond: the session unused longest ends
// Seen in: the user's list of sessions
pub const SESSIONS_PER_USER_MAX: i64 = 20;
/// Addresses of a user that are remembered as familiar.
pub const FAMILIAR_ADDRESSES_MAX: i64 = 8;
/// How long an address stays familiar after a sign-in from it.
pub const FAMILIAR_DAYS: i64 = 60;
/// Characters of a User-Agent that are kept.
pub const AGENT_CHARACTERS_MAX: usize = 200;
/// Sessions that are remembered as ended because that could not be written: as many as there can be.
pub const ENDED_MAX: usize = SESSIONS_PER_USER_MAX as usize * USERS_MAX as usize;
/// A session's last use is written at most so often,
const SEEN_EVERY_NS: i64 = 60 * SECOND_NS;
/// and at least so often while it is used until it would be over.
const SEEN_PER_IDLE: i64 = 10;
const SECOND_NS: i64 = 1_000_000_000;
const DAY_NS: i64 = 86_400 * SECOND_NS;

/// Where a request comes from.
#[derive(Clone, Copy, Debug)]
pub struct From<'a> {
    /// The address, as [`super::networks::TrustedProxies`] tells it.
    pub address: IpAddr,
    /// The User-Agent header, or nothing.
    pub agent: &'a str,
    /// The session cookie that came with the request, if one did: that session ends.
    pub cookie: Option<&'a str>,
}

/// Somebody signed in.
#[derive(Clone, Debug)]
pub struct SignedIn {
    /// For the cookie.
    pub cookie: Secret,
    /// Who it is.
    pub viewer: Viewer,
    /// When the session ends at the latest, nanoseconds since 1970.
    pub expires_ns: i64,
}

/// One session, as its user sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    /// Its public name.
    pub id: String,
    /// When it began.
    pub made_ns: i64,
    /// When it was last used, to the minute.
    pub seen_ns: i64,
    /// When it ends at the latest.
    pub expires_ns: i64,
    /// From where it was opened.
    pub address: String,
    /// By which browser.
    pub agent: String,
}

impl Desk {
    /// Signs in by name and password. Takes as long and says the same whether the name does not exist, the password is
    /// wrong or the user is locked. Written to the audit log, also when refused.
    ///
    /// # Errors
    /// [`Refusal::WrongPassword`], [`Refusal::TooMany`], [`Refusal::Locked`], [`Refusal::Busy`], [`Refusal::Failed`].
    pub fn sign_in(&self, name: &str, password: &str, from: From<'_>, now_ns: i64) -> Result<SignedIn, Refusal> {
        let result = self.try_sign_in(name, password, from, now_ns);
        self.count(|c| match &result {
            Ok(_) => c.signed_in += 1,
            Err(Refusal::WrongPassword) => c.wrong += 1,
            Err(Refusal::TooMany { .. } | Refusal::Locked { .. }) => c.held_off += 1,
            Err(Refusal::Busy) => c.busy += 1,
            Err(_) => {}
        });
        self.audit_sign_in(&result, name, "password", from, now_ns);
        result
    }

    fn try_sign_in(&self, name: &str, password: &str, from: From<'_>, now_ns: i64) -> Result<SignedIn, Refusal> {
        let name = canonical(name).unwrap_or_default();
        let found = self.read(|c| known(c, &name, from.address, now_ns))?;
        let account = match &found {
            Some(known) if known.familiar => Account::Familiar(known.id),
            Some(known) => Account::Strange(known.id),
            None => Account::Unknown(&name),
        };
        let mut forgotten = 0;
        held(&self.throttle).begin(from.address, account, now_ns, &mut forgotten)?;
        self.count(|c| c.addresses_forgotten += forgotten);
        let hash = found.as_ref().and_then(|known| known.hash.as_deref());
        let right = self.hashing.verify(password, hash).inspect_err(|_| {
            held(&self.throttle).withdrawn(from.address, account, now_ns);
        })?;
        let Some(known) = found.as_ref().filter(|known| right && !known.disabled) else {
            return Err(Refusal::WrongPassword);
        };
        let signed_in = self.write(|t| {
            // The password may have changed while it was looked at.
            let still = "SELECT count(*) FROM users WHERE id = ?1 AND password IS ?2 AND NOT disabled";
            let still: i64 = t.query_row(still, params![known.id, known.hash], |row| row.get(0))?;
            if still == 0 {
                return Err(Refusal::WrongPassword);
            }
            open(t, &self.options, known.id, from, now_ns)
        })?;
        held(&self.throttle).succeeded(from.address, account, now_ns);
        Ok(signed_in)
    }

    /// Signs in whom the identity provider names ([`super::oidc::Provider::finish`]): a user is made at the first time,
    /// and the role follows the provider's groups each time. A user who has that name already without the provider is
    /// not taken over. Written to the audit log, also when refused.
    ///
    /// # Errors
    /// [`Refusal::Forbidden`] for a user who is locked, [`Refusal::Conflict`] for a name that is taken,
    /// [`Refusal::Failed`].
    pub fn sign_in_oidc(&self, claimed: &Claimed, from: From<'_>, now_ns: i64) -> Result<SignedIn, Refusal> {
        let result = self.write(|t| {
            let identity = (claimed.issuer.as_str(), claimed.subject.as_str());
            let known = "SELECT id FROM users WHERE issuer = ?1 AND subject = ?2";
            let known: Option<i64> = t.query_row(known, [identity.0, identity.1], |row| row.get(0)).optional()?;
            let user = match known {
                Some(user) => user,
                None => {
                    let (name, display_name) = (&claimed.name, &claimed.display_name);
                    users::insert(t, name, display_name, claimed.role, None, Some(identity), now_ns)?
                }
            };
            let before = find_by_id(t, user)?;
            if before.disabled {
                return Err(Refusal::Forbidden("your account is locked".to_owned()));
            }
            if before.role != claimed.role {
                t.execute("DELETE FROM sessions WHERE user = ?1", [user])?;
            }
            let follow = "UPDATE users SET role = ?2, display_name = ?3 WHERE id = ?1";
            t.execute(follow, params![user, claimed.role.name(), claimed.display_name])?;
            open(t, &self.options, user, from, now_ns)
        });
        self.count(|c| c.signed_in += u64::from(result.is_ok()));
        self.audit_sign_in(&result, &claimed.name, "provider", from, now_ns);
        result
    }

    /// Counts an attempt to come in through the identity provider before the provider is asked; it is taken back by
    /// [`Desk::forgive_oidc`].
    ///
    /// # Errors
    /// [`Refusal::TooMany`].
    pub fn begin_oidc(&self, address: IpAddr, now_ns: i64) -> Result<(), Refusal> {
        let mut forgotten = 0;
        let begun = held(&self.throttle).begin_unnamed(address, now_ns, &mut forgotten);
        self.count(|c| {
            c.addresses_forgotten += forgotten;
            c.held_off += u64::from(begun.is_err());
        });
        begun
    }

    /// Whether somebody at an address may go to the identity provider: not while the address waits.
    ///
    /// # Errors
    /// [`Refusal::TooMany`].
    pub fn may_start_oidc(&self, address: IpAddr, now_ns: i64) -> Result<(), Refusal> {
        let may = held(&self.throttle).check_address(address, now_ns);
        self.count(|c| c.held_off += u64::from(may.is_err()));
        may
    }

    /// An attempt that was counted is none that anybody is held off for: it was right, or the provider is to blame.
    pub fn forgive_oidc(&self, address: IpAddr) {
        held(&self.throttle).address_taken_back(address);
    }

    /// Writes down that somebody was not signed in through the identity provider, with a word for why. Whom the
    /// provider gives no role any more, nothing of theirs goes on: `lost` is issuer and subject.
    ///
    /// # Errors
    /// [`Refusal::Failed`] if their sessions could not be ended.
    pub fn refuse_oidc(
        &self,
        name: &str,
        lost: Option<(&str, &str)>,
        word: &str,
        from: From<'_>,
        now_ns: i64,
    ) -> Result<(), Refusal> {
        self.count(|c| c.wrong += u64::from(matches!(word, "refused" | "no-role" | "not-begun")));
        self.audit_or_log(&AuditEntry {
            at_ns: now_ns,
            user: None,
            address: Some(from.address),
            action: action::SIGN_IN.to_owned(),
            object: format!("provider {}", canonical(name).unwrap_or_default()).trim_end().to_owned(),
            outcome: word.to_owned(),
        });
        let Some((issuer, subject)) = lost else { return Ok(()) };
        self.write(|t| {
            let of = "DELETE FROM sessions WHERE user IN (SELECT id FROM users WHERE issuer = ?1 AND subject = ?2)";
            t.execute(of, [issuer, subject])?;
            Ok(())
        })
    }

    /// Who shows this cookie.
    ///
    /// # Errors
    /// [`Refusal::SignedOut`] if there is no such session or it is over; [`Refusal::Failed`].
    pub fn viewer_of_cookie(&self, cookie: &str, now_ns: i64) -> Result<Viewer, Refusal> {
        let (viewer, seen_ns) = self.look_at_cookie(cookie, now_ns)?;
        let seen_every_ns = SEEN_EVERY_NS.min(idle_ns(&self.options) / SEEN_PER_IDLE);
        if now_ns.saturating_sub(seen_ns) >= seen_every_ns {
            self.write_if_idle(|c| {
                let mut seen =
                    c.prepare_cached("UPDATE sessions SET seen_ns = ?2 WHERE digest = ?1 AND seen_ns < ?2")?;
                seen.execute(params![digest(cookie), now_ns])
            });
        }
        Ok(viewer)
    }

    /// Who shows this cookie, where a page asks by itself: that is no use of the session, and keeps it no longer.
    ///
    /// # Errors
    /// As [`Desk::viewer_of_cookie`].
    pub fn viewer_in_background(&self, cookie: &str, now_ns: i64) -> Result<Viewer, Refusal> {
        Ok(self.look_at_cookie(cookie, now_ns)?.0)
    }

    /// Who shows a cookie, and when its session was last used.
    fn look_at_cookie(&self, cookie: &str, now_ns: i64) -> Result<(Viewer, i64), Refusal> {
        let key = digest(cookie);
        if held(&self.ended).contains(&key) {
            return Err(Refusal::SignedOut);
        }
        let (id, seen_ns, user, may) = self.read(|c| {
            let mut one = c.prepare_cached("SELECT id, user, seen_ns, expires_ns FROM sessions WHERE digest = ?1")?;
            let found = one.query_row([key], |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?, row.get::<_, i64>(3)?))
            });
            let (id, user, seen_ns, expires_ns) = found.optional()?.ok_or(Refusal::SignedOut)?;
            if now_ns >= expires_ns || now_ns.saturating_sub(seen_ns) >= idle_ns(&self.options) {
                return Err(Refusal::SignedOut);
            }
            let user = find_by_id(c, user).map_err(signed_out)?;
            if user.disabled {
                return Err(Refusal::SignedOut);
            }
            let may = rights(c, &user, self.options.mask_below)?;
            Ok((id, seen_ns, user, may))
        })?;
        Ok((viewer(&user, may, id, cookie), seen_ns))
    }

    /// Ends the session of a cookie; nothing if there is none. Where that cannot be written, it ends in memory, and is
    /// written when that goes again ([`Desk::tidy`]).
    ///
    /// # Errors
    /// [`Refusal::Failed`] if it was not written: a program that starts anew would know the session again.
    pub fn sign_out(&self, cookie: &str) -> Result<(), Refusal> {
        let key = digest(cookie);
        let ended = self.write(|t| remove_ended(t, &[key]));
        if ended.is_err() {
            let mut unwritten = held(&self.ended);
            if unwritten.len() < ENDED_MAX {
                unwritten.insert(key);
            }
            self.count(|c| c.ends_not_written += 1);
        }
        ended
    }

    /// Writes which sessions ended while that could not be written.
    pub(crate) fn write_ended(&self) -> Result<(), Refusal> {
        let keys: Vec<[u8; 32]> = held(&self.ended).iter().copied().collect();
        if keys.is_empty() {
            return Ok(());
        }
        self.write(|t| remove_ended(t, &keys))?;
        let mut ended = held(&self.ended);
        keys.iter().for_each(|key| _ = ended.remove(key));
        Ok(())
    }

    /// A user's sessions, the last used first.
    ///
    /// # Errors
    /// [`Refusal::Failed`].
    pub fn sessions(&self, user_id: i64, now_ns: i64) -> Result<Vec<SessionRow>, Refusal> {
        let idle_since = now_ns.saturating_sub(idle_ns(&self.options));
        self.read(|c| {
            let mut own = c.prepare_cached(
                "SELECT id, made_ns, seen_ns, expires_ns, address, agent FROM sessions \
                 WHERE user = ?1 AND seen_ns > ?2 AND expires_ns > ?3 ORDER BY seen_ns DESC, id",
            )?;
            let rows = own.query_map([user_id, idle_since, now_ns], |row| {
                Ok(SessionRow {
                    id: row.get(0)?,
                    made_ns: row.get(1)?,
                    seen_ns: row.get(2)?,
                    expires_ns: row.get(3)?,
                    address: row.get(4)?,
                    agent: row.get(5)?,
                })
            })?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// Ends one of a user's sessions.
    ///
    /// # Errors
    /// [`Refusal::NotFound`], also for a session of somebody else; [`Refusal::Failed`].
    pub fn end_session(&self, user_id: i64, id: &str) -> Result<(), Refusal> {
        let ended =
            self.write(|t| Ok(t.execute("DELETE FROM sessions WHERE id = ?1 AND user = ?2", params![id, user_id])?))?;
        if ended == 0 { Err(Refusal::NotFound("session")) } else { Ok(()) }
    }

    /// Ends all sessions of a user but one.
    ///
    /// # Errors
    /// [`Refusal::Failed`].
    pub fn end_sessions(&self, user_id: i64, but: Option<&str>) -> Result<(), Refusal> {
        self.write(|t| {
            t.execute("DELETE FROM sessions WHERE user = ?1 AND id IS NOT ?2", params![user_id, but])?;
            Ok(())
        })
    }

    /// Changes one's own password. All sessions of the user end; the answer is a new one for who asked.
    ///
    /// # Errors
    /// [`Refusal::WrongPassword`] for a wrong old one, [`Refusal::BadValue`] for a new one that will not do,
    /// [`Refusal::TooMany`], [`Refusal::Locked`], [`Refusal::Forbidden`] for a token, [`Refusal::Busy`],
    /// [`Refusal::Failed`].
    pub fn change_password(
        &self,
        viewer: &Viewer,
        old: &str,
        new: &str,
        from: From<'_>,
        now_ns: i64,
    ) -> Result<SignedIn, Refusal> {
        let result = self.try_change_password(viewer, old, new, from, now_ns);
        self.audit_of(viewer, from.address, action::PASSWORD, &viewer.name, &result, now_ns);
        result
    }

    fn try_change_password(
        &self,
        viewer: &Viewer,
        old: &str,
        new: &str,
        from: From<'_>,
        now_ns: i64,
    ) -> Result<SignedIn, Refusal> {
        if viewer.session().is_none() {
            return Err(Refusal::Forbidden("a token cannot change a password".to_owned()));
        }
        password::check_new(new, &viewer.name)?;
        if old == new {
            return Err(Refusal::value("password", "the new password is the old one"));
        }
        let hash = "SELECT password FROM users WHERE id = ?1";
        let hash: Option<String> = self.read(|c| Ok(c.query_row(hash, [viewer.user_id], |row| row.get(0))?))?;
        // A stolen session must not become a place to guess at.
        let account = Account::Familiar(viewer.user_id);
        held(&self.throttle).begin(from.address, account, now_ns, &mut 0)?;
        if !self.hashing.verify(old, hash.as_deref())? {
            return Err(Refusal::WrongPassword);
        }
        held(&self.throttle).succeeded(from.address, account, now_ns);
        let fresh = self.hashing.hash(new)?;
        self.write(|t| {
            let changed = t.execute(
                "UPDATE users SET password = ?2, must_change_password = 0 WHERE id = ?1 AND password IS ?3",
                params![viewer.user_id, fresh, hash],
            )?;
            if changed == 0 {
                return Err(Refusal::WrongPassword);
            }
            t.execute("DELETE FROM sessions WHERE user = ?1", [viewer.user_id])?;
            open(t, &self.options, viewer.user_id, from, now_ns)
        })
    }

    pub(crate) fn audit_sign_in(
        &self,
        result: &Result<SignedIn, Refusal>,
        name: &str,
        how: &str,
        from: From<'_>,
        now_ns: i64,
    ) {
        let (user, object) = match result {
            Ok(signed_in) => (Some(signed_in.viewer.name.clone()), how.to_owned()),
            // What was typed as a name may be a password: only what may be a name is kept.
            Err(_) => (None, format!("{how} {}", canonical(name).unwrap_or_default())),
        };
        let outcome = super::audit::outcome(result);
        let entry = AuditEntry {
            at_ns: now_ns,
            user,
            address: Some(from.address),
            action: action::SIGN_IN.to_owned(),
            object: object.trim_end().to_owned(),
            outcome,
        };
        self.audit_or_log(&entry);
    }
}

/// Opens a session for a user: the one of the request's cookie ends, and the oldest if there are too many.
pub(crate) fn open(
    t: &Connection,
    options: &AuthOptions,
    user: i64,
    from: From<'_>,
    now_ns: i64,
) -> Result<SignedIn, Refusal> {
    remove_over(t, options, now_ns)?;
    if let Some(before) = from.cookie {
        t.execute("DELETE FROM sessions WHERE digest = ?1", [digest(before)])?;
    }
    t.execute(
        "DELETE FROM sessions WHERE digest IN (SELECT digest FROM sessions WHERE user = ?1 \
         ORDER BY seen_ns DESC, digest LIMIT -1 OFFSET ?2)",
        [user, SESSIONS_PER_USER_MAX - 1],
    )?;
    let (cookie, id) = (Secret::fresh(), handle());
    let expires_ns = now_ns.saturating_add(seconds_ns(options.session_max_s));
    let address = from.address.to_canonical().to_string();
    let agent: String = from.agent.chars().filter(|c| !c.is_control()).take(AGENT_CHARACTERS_MAX).collect();
    t.execute(
        "INSERT INTO sessions (digest, id, user, made_ns, seen_ns, expires_ns, address, agent) \
         VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?6, ?7)",
        params![digest(cookie.expose()), id, user, now_ns, expires_ns, address, agent],
    )?;
    t.execute("UPDATE users SET last_sign_in_ns = ?2 WHERE id = ?1", [user, now_ns])?;
    remember(t, user, &address, now_ns)?;
    let user = find_by_id(t, user)?;
    let viewer = viewer(&user, rights(t, &user, options.mask_below)?, id, cookie.expose());
    Ok(SignedIn { cookie, viewer, expires_ns })
}

fn remove_ended(t: &Connection, keys: &[[u8; 32]]) -> Result<(), Refusal> {
    let mut one = t.prepare_cached("DELETE FROM sessions WHERE digest = ?1")?;
    for key in keys {
        one.execute([key])?;
    }
    Ok(())
}

/// Removes sessions that are over.
pub(crate) fn remove_over(t: &Connection, options: &AuthOptions, now_ns: i64) -> rusqlite::Result<()> {
    let idle_since = now_ns.saturating_sub(idle_ns(options));
    t.execute("DELETE FROM sessions WHERE expires_ns <= ?1 OR seen_ns <= ?2", [now_ns, idle_since])?;
    Ok(())
}

/// The user who is behind a session, and what they may do.
fn viewer(user: &User, (may, graphs): (Permissions, Option<Arc<GraphScope>>), id: String, cookie: &str) -> Viewer {
    Viewer {
        user_id: user.id,
        name: user.name.clone(),
        display_name: user.display_name.clone(),
        role: user.role,
        permissions: if user.must_change_password { Permissions::NONE } else { may },
        graphs,
        must_change_password: user.must_change_password,
        how: How::Session { id, csrf: derived("trunkline csrf", cookie) },
    }
}

/// What the sign-in of a name stands on.
struct Known {
    id: i64,
    hash: Option<String>,
    disabled: bool,
    familiar: bool,
}

fn known(c: &Connection, name: &str, address: IpAddr, now_ns: i64) -> Result<Option<Known>, Refusal> {
    let since = now_ns.saturating_sub(FAMILIAR_DAYS * DAY_NS);
    let mut one = c.prepare_cached(
        "SELECT id, password, disabled, EXISTS (SELECT 1 FROM familiar WHERE user = users.id AND address = ?2 \
         AND at_ns > ?3) FROM users WHERE name = ?1",
    )?;
    let found = one.query_row(params![name, address.to_canonical().to_string(), since], |row| {
        Ok(Known { id: row.get(0)?, hash: row.get(1)?, disabled: row.get(2)?, familiar: row.get(3)? })
    });
    Ok(found.optional()?)
}

fn remember(t: &Connection, user: i64, address: &str, now_ns: i64) -> rusqlite::Result<()> {
    t.execute(
        "INSERT INTO familiar (user, address, at_ns) VALUES (?1, ?2, ?3) \
         ON CONFLICT (user, address) DO UPDATE SET at_ns = excluded.at_ns",
        params![user, address, now_ns],
    )?;
    t.execute(
        "DELETE FROM familiar WHERE user = ?1 AND address IN \
         (SELECT address FROM familiar WHERE user = ?1 ORDER BY at_ns DESC, address LIMIT -1 OFFSET ?2)",
        [user, FAMILIAR_ADDRESSES_MAX],
    )?;
    Ok(())
}

fn idle_ns(options: &AuthOptions) -> i64 {
    seconds_ns(options.session_idle_s)
}

fn seconds_ns(seconds: u64) -> i64 {
    i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(SECOND_NS)
}

fn signed_out(refusal: Refusal) -> Refusal {
    if matches!(refusal, Refusal::NotFound(_)) { Refusal::SignedOut } else { refusal }
}
