//! Who may see what: users, passwords, one-time links, sessions, tokens, roles, masking, networks, the audit log.
//!
//! Nothing here knows HTTP or asks the time. The [`Desk`] keeps what must last; [`networks`] tells who asks, [`csrf`]
//! whether our own page asks, [`mask`] what they may see of numbers. What refuses says so as a [`Refusal`], which knows
//! its problem and status. The order for a request: [`TrustedProxies::client`], [`AllowedNetworks::check`],
//! [`Desk::viewer_of_cookie`] or [`Desk::viewer_of_token`], [`csrf::check`], [`Viewer::need`].

pub mod aliases;
pub mod audit;
pub mod csrf;
pub mod desk;
pub mod forget;
pub mod links;
pub mod mask;
pub mod masked_probe;
pub mod networks;
pub mod oidc;
pub mod password;
pub mod refusal;
pub mod rights;
pub mod role;
pub mod saved;
mod schema;
pub mod secret;
pub mod sessions;
pub mod throttle;
pub mod tokens;
pub mod users;
pub mod viewer;

pub use aliases::Aliases;
pub use audit::{AuditAsk, AuditEntry, AuditPage, action};
pub use desk::{AuthOptions, DESK_FILE, Desk, DeskCounts, HashCost, OPEN_DESK_FILE};
pub use forget::NumberAtDesk;
pub use links::LinkKind;
pub use networks::{AllowedNetworks, Client, Forwarding, TrustedProxies};
pub use oidc::{OidcError, OidcOptions, Provider};
pub use refusal::Refusal;
pub use rights::{About, GraphRights, GraphRule, GraphScope, Whose};
pub use role::{Permission, Permissions, Role};
pub use saved::SavedFilter;
pub use secret::Secret;
pub use sessions::{From, SessionRow, SignedIn};
pub use tokens::Token;
pub use users::{NewUser, User, UserChange};
pub use viewer::{How, Viewer};

#[cfg(test)]
mod tests;
