//! Who saw, heard, downloaded and changed what.

use super::ask::{self, Ask, Span};
use super::schema;
use crate::auth::{self, Permission, mask};
use crate::guard::Who;
use crate::problem::Problem;
use crate::state::Web;
use axum::Json;
use axum::extract::State;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use trunkline_store::time::rfc3339;
use utoipa::{IntoParams, ToSchema};

/// Which entries are wanted.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AuditAsk {
    /// Entries of then or later.
    pub from: Option<String>,
    /// Entries from before then.
    pub to: Option<String>,
    /// Only of this user.
    pub user: Option<String>,
    /// Rows of a page, 1 to 1000.
    pub limit: Option<u32>,
    /// `next` of the page before.
    pub cursor: Option<String>,
}

/// A page of the audit log.
#[derive(Serialize, ToSchema)]
pub struct AuditPage {
    /// The newest first.
    pub entries: Vec<AuditEntry>,
    /// What to hand back as `cursor` for more; null at the end.
    pub next: Option<String>,
}

/// What somebody did.
#[derive(Serialize, ToSchema)]
pub struct AuditEntry {
    /// When.
    #[schema(format = DateTime)]
    pub at: String,
    /// Who; null if nobody was signed in.
    pub user: Option<String>,
    /// From where.
    pub address: Option<String>,
    /// What: sign-in, call.see, calls.export, ...
    pub action: String,
    /// To what.
    pub object: String,
    /// `ok`, or the kind of problem; `begun` for an order of charging, whose end has a line of its own.
    pub outcome: String,
}

/// Who saw, heard, downloaded and changed what, newest first.
#[utoipa::path(
    get, path = "/audit", tag = "users", params(AuditAsk),
    responses((status = 200, body = AuditPage), (status = "4XX", body = schema::Problem))
)]
pub async fn list(State(web): State<Arc<Web>>, who: Who, Ask(ask): Ask<AuditAsk>) -> Result<Json<AuditPage>, Problem> {
    who.need(Permission::AuditRead)?;
    let span = Span::read(ask.from.as_deref(), ask.to.as_deref(), who.now_ns, &TimeZone::UTC)?;
    let limit = ask::limit(ask.limit)?;
    let wrong = |_| Problem::parameter("cursor", "The cursor is 'next' of the page before, unchanged.");
    let cursor =
        ask.cursor.as_deref().filter(|c| !c.is_empty()).map(|c| c.parse::<i64>().map_err(wrong)).transpose()?;
    let page = web.at_desk(move |desk| {
        let user = ask.user.as_deref().filter(|user| !user.is_empty());
        desk.audit_page(&auth::AuditAsk { from_ns: span.from_ns, to_ns: span.to_ns, user, limit, cursor })
    });
    let page = page.await?;
    let object = |object: String| if who.masked() { mask::words(&object) } else { object };
    let entry = |entry: auth::AuditEntry| AuditEntry {
        at: rfc3339(entry.at_ns),
        user: entry.user,
        address: entry.address.map(|address| address.to_string()),
        action: entry.action,
        object: object(entry.object),
        outcome: entry.outcome,
    };
    let next = page.next.map(|next| next.to_string());
    Ok(Json(AuditPage { entries: page.entries.into_iter().map(entry).collect(), next }))
}
