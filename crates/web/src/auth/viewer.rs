//! Who asks: the user behind a session or a token, and what they may do.

use super::refusal::Refusal;
use super::rights::GraphScope;
use super::role::{Permission, Permissions, Role};
use std::sync::Arc;

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Viewer {
    /// The user's row.
    pub user_id: i64,
    /// The user's name.
    pub name: String,
    /// What to call them; empty if they said nothing.
    pub display_name: String,
    /// The user's role.
    pub role: Role,
    /// What may be done: of the role, less what the token's scopes leave out, nothing while the password must change.
    pub permissions: Permissions,
    /// What they see of devices and graphs; none is everything.
    pub graphs: Option<Arc<GraphScope>>,
    /// Whether the password must be changed first.
    pub must_change_password: bool,
    /// Through what they ask.
    pub how: How,
}

/// Through what somebody asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum How {
    /// A cookie.
    Session {
        /// The public name of the session.
        id: String,
        /// What the header `X-CSRF-Token` must hold.
        csrf: String,
    },
    /// `Authorization: Bearer tl_...`
    Token {
        /// Its row.
        id: i64,
        /// What it was called.
        name: String,
    },
}

impl Viewer {
    /// Whether something is allowed.
    pub fn may(&self, permission: Permission) -> bool {
        self.permissions.contains(permission)
    }

    /// Refuses what is not allowed.
    ///
    /// # Errors
    /// [`Refusal::Forbidden`], naming the permission.
    pub fn need(&self, permission: Permission) -> Result<(), Refusal> {
        if self.may(permission) {
            return Ok(());
        }
        if self.must_change_password {
            return Err(Refusal::Forbidden("change your password first".to_owned()));
        }
        let who = match &self.how {
            How::Session { .. } => format!("the role {}", self.role),
            How::Token { name, .. } => format!("the token {name}"),
        };
        Err(Refusal::Forbidden(format!("{who} does not include {permission}")))
    }

    /// Refuses what is of all devices and graphs to somebody from whom some are hidden.
    ///
    /// # Errors
    /// [`Refusal::Forbidden`], with the reason.
    pub fn need_all_graphs(&self) -> Result<(), Refusal> {
        let why = "some devices or graphs are hidden from you: rules and channels of alerts name all";
        self.graphs.as_ref().map_or(Ok(()), |_| Err(Refusal::Forbidden(why.to_owned())))
    }

    /// Whether numbers are masked for them.
    pub fn masked(&self) -> bool {
        !self.may(Permission::NumbersRead)
    }

    /// What the header `X-CSRF-Token` must hold; none for a token, which no browser sends by itself.
    pub fn csrf(&self) -> Option<&str> {
        match &self.how {
            How::Session { csrf, .. } => Some(csrf),
            How::Token { .. } => None,
        }
    }

    /// The session, if it is one.
    pub fn session(&self) -> Option<&str> {
        match &self.how {
            How::Session { id, .. } => Some(id),
            How::Token { .. } => None,
        }
    }
}
