//! Tokens for programs: `Authorization: Bearer tl_...`, with scopes, of a user whose role is their limit.

use super::desk::Desk;
use super::refusal::Refusal;
use super::rights::rights;
use super::role::{Permission, Permissions};
use super::secret::{Secret, digest};
use super::users::find_by_id;
use super::viewer::{How, Viewer};
use rusqlite::{OptionalExtension as _, Row, params};

/// What every token begins with, so that people and scanners of leaked secrets know one.
pub const TOKEN_PREFIX: &str = "tl_";
/// Tokens of one user; more are refused.
// Limit: tokens of one user
// Beyond: a further token is refused
// Seen in: the error message
pub const TOKENS_PER_USER_MAX: i64 = 50;
/// Most characters of a token's name.
pub const TOKEN_NAME_CHARACTERS_MAX: usize = 64;
/// A token's last use is written at most so often.
const USED_EVERY_NS: i64 = 60_000_000_000;

/// A token, without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// The row.
    pub id: i64,
    /// Whose it is.
    pub user: String,
    /// What it is called.
    pub name: String,
    /// What it may do, as far as its user may.
    pub scopes: Permissions,
    /// When it was made.
    pub made_ns: i64,
    /// When it ends; none if never.
    pub expires_ns: Option<i64>,
    /// When it was last used, to the minute.
    pub last_used_ns: Option<i64>,
}

impl Desk {
    /// Makes a token; the secret is shown this once.
    ///
    /// # Errors
    /// [`Refusal::Forbidden`] for a token that asks for tokens, [`Refusal::BadValue`] for scopes that the user does not
    /// have or no token may have, a name that is none or an end that is past, [`Refusal::Conflict`] where there are too
    /// many, [`Refusal::Failed`].
    pub fn make_token(
        &self,
        viewer: &Viewer,
        name: &str,
        scopes: Permissions,
        expires_ns: Option<i64>,
        now_ns: i64,
    ) -> Result<(Secret, Token), Refusal> {
        if viewer.session().is_none() {
            return Err(Refusal::Forbidden("a token cannot make tokens".to_owned()));
        }
        let name = name.trim();
        if name.is_empty() || name.chars().count() > TOKEN_NAME_CHARACTERS_MAX || name.chars().any(char::is_control) {
            let text = format!("a token's name has 1 to {TOKEN_NAME_CHARACTERS_MAX} characters, on one line");
            return Err(Refusal::value("name", text));
        }
        let allowed = viewer.permissions.for_tokens();
        if scopes == Permissions::NONE || !allowed.includes(scopes) || scopes.coherent() != scopes {
            return Err(Refusal::value("scopes", scopes_text(allowed)));
        }
        if expires_ns.is_some_and(|at| at <= now_ns) {
            return Err(Refusal::value("expires", "this time is past"));
        }
        let secret = Secret::with_prefix(TOKEN_PREFIX);
        let id = self.write(|t| {
            let count: i64 =
                t.query_row("SELECT count(*) FROM tokens WHERE user = ?1", [viewer.user_id], |row| row.get(0))?;
            if count >= TOKENS_PER_USER_MAX {
                return Err(Refusal::Conflict(format!("there are {TOKENS_PER_USER_MAX} tokens already: remove one")));
            }
            t.execute(
                "INSERT INTO tokens (digest, user, name, scopes, made_ns, expires_ns) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![digest(secret.expose()), viewer.user_id, name, scopes.names().join(" "), now_ns, expires_ns],
            )?;
            Ok(t.last_insert_rowid())
        })?;
        let token = Token {
            id,
            user: viewer.name.clone(),
            name: name.to_owned(),
            scopes,
            made_ns: now_ns,
            expires_ns,
            last_used_ns: None,
        };
        Ok((secret, token))
    }

    /// Who shows this token (what stands behind `Bearer `).
    ///
    /// # Errors
    /// [`Refusal::SignedOut`] if there is no such token, it is over, or its user is locked; [`Refusal::Failed`].
    pub fn viewer_of_token(&self, bearer: &str, now_ns: i64) -> Result<Viewer, Refusal> {
        if !bearer.starts_with(TOKEN_PREFIX) {
            return Err(Refusal::SignedOut);
        }
        let (token, user, may) = self.read(|c| {
            let sql = format!("{TOKENS} WHERE digest = ?1 AND (expires_ns IS NULL OR expires_ns > ?2)");
            let found = c
                .prepare_cached(&sql)?
                .query_row(params![digest(bearer), now_ns], |row| Ok((token_of(row)?, row.get::<_, i64>(7)?)));
            let (token, user) = found.optional()?.ok_or(Refusal::SignedOut)?;
            let user = find_by_id(c, user)?;
            if user.disabled {
                return Err(Refusal::SignedOut);
            }
            let may = rights(c, &user, self.options.mask_below)?;
            Ok((token, user, may))
        })?;
        if now_ns.saturating_sub(token.last_used_ns.unwrap_or(i64::MIN)) >= USED_EVERY_NS {
            self.write_if_idle(|c| {
                c.prepare_cached("UPDATE tokens SET last_used_ns = ?2 WHERE id = ?1")?.execute([token.id, now_ns])
            });
        }
        let (may, graphs) = may;
        let permissions = may.and(token.scopes).for_tokens().coherent();
        Ok(Viewer {
            user_id: user.id,
            name: user.name,
            display_name: user.display_name,
            role: user.role,
            permissions: if user.must_change_password { Permissions::NONE } else { permissions },
            graphs,
            must_change_password: user.must_change_password,
            how: How::Token { id: token.id, name: token.name },
        })
    }

    /// The tokens that a viewer may see: their own, or all with [`Permission::TokensAdmin`].
    ///
    /// # Errors
    /// [`Refusal::Failed`].
    pub fn tokens(&self, viewer: &Viewer) -> Result<Vec<Token>, Refusal> {
        let all = viewer.may(Permission::TokensAdmin);
        self.read(|c| {
            let sql = format!("{TOKENS} WHERE ?1 OR user = ?2 ORDER BY id");
            let mut tokens = c.prepare_cached(&sql)?;
            let rows = tokens.query_map(params![all, viewer.user_id], token_of)?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// Ends a token: one's own, or anybody's with [`Permission::TokensAdmin`].
    ///
    /// # Errors
    /// [`Refusal::NotFound`], also for somebody else's; [`Refusal::Forbidden`] for a token; [`Refusal::Failed`].
    pub fn remove_token(&self, viewer: &Viewer, id: i64) -> Result<(), Refusal> {
        if viewer.session().is_none() {
            return Err(Refusal::Forbidden("a token cannot end tokens".to_owned()));
        }
        let all = viewer.may(Permission::TokensAdmin);
        let removed = self.write(|t| {
            let remove = "DELETE FROM tokens WHERE id = ?1 AND (?2 OR user = ?3)";
            Ok(t.execute(remove, params![id, all, viewer.user_id])?)
        })?;
        if removed == 0 { Err(Refusal::NotFound("token")) } else { Ok(()) }
    }
}

const TOKENS: &str = "SELECT id, (SELECT name FROM users WHERE users.id = tokens.user), name, scopes, made_ns, \
                      expires_ns, last_used_ns, user FROM tokens";

fn token_of(row: &Row<'_>) -> rusqlite::Result<Token> {
    let scopes: String = row.get(3)?;
    Ok(Token {
        id: row.get(0)?,
        user: row.get(1)?,
        name: row.get(2)?,
        scopes: Permissions::parse(scopes.split_whitespace()).unwrap_or(Permissions::NONE),
        made_ns: row.get(4)?,
        expires_ns: row.get(5)?,
        last_used_ns: row.get(6)?,
    })
}

fn scopes_text(allowed: Permissions) -> String {
    format!(
        "scopes are some of: {}; messages.read, packets.download and packets.extract show whole numbers and need \
         numbers.read",
        allowed.names().join(", ")
    )
}
