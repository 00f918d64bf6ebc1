//! Where somebody is signed in, and an end to it: one's own sessions, and those of any user for administrators.

use super::schema;
use crate::auth::{Permission, Refusal, SessionRow, action};
use crate::guard::Who;
use crate::problem::Problem;
use crate::state::Web;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::Serialize;
use std::sync::Arc;
use trunkline_store::time::rfc3339;
use utoipa::ToSchema;

/// One session.
#[derive(Serialize, ToSchema)]
pub struct SessionShown {
    /// Its name.
    pub id: String,
    /// When it was opened.
    #[schema(format = DateTime)]
    pub started: String,
    /// When somebody last used it, to the minute.
    #[schema(format = DateTime)]
    pub last_seen: String,
    /// When it ends at the latest.
    #[schema(format = DateTime)]
    pub ends: String,
    /// From where it was opened.
    pub address: String,
    /// By which browser, as that calls itself.
    pub agent: String,
    /// Whether it is the one that asks.
    pub this: bool,
}

/// Sessions.
#[derive(Serialize, ToSchema)]
pub struct SessionsList {
    /// The last used first.
    pub sessions: Vec<SessionShown>,
}

impl SessionsList {
    fn of(rows: Vec<SessionRow>, who: &Who) -> Json<Self> {
        let shown = |row: SessionRow| SessionShown {
            this: who.viewer.session() == Some(&row.id),
            id: row.id,
            started: rfc3339(row.made_ns),
            last_seen: rfc3339(row.seen_ns),
            ends: rfc3339(row.expires_ns),
            address: row.address,
            agent: row.agent,
        };
        Json(SessionsList { sessions: rows.into_iter().map(shown).collect() })
    }
}

/// Refuses tokens: where people are signed in is not for programs.
fn in_a_session(who: &Who) -> Result<(), Problem> {
    match who.viewer.session() {
        Some(_) => Ok(()),
        None => Err(who.refused(Refusal::Forbidden("a token neither sees nor ends sessions".to_owned()))),
    }
}

/// Where you are signed in.
#[utoipa::path(
    get, path = "/sessions", tag = "session",
    responses((status = 200, body = SessionsList), (status = "4XX", body = schema::Problem))
)]
pub async fn list(State(web): State<Arc<Web>>, who: Who) -> Result<Json<SessionsList>, Problem> {
    in_a_session(&who)?;
    let (user, now_ns) = (who.viewer.user_id, who.now_ns);
    let rows = web.at_desk(move |desk| desk.sessions(user, now_ns)).await?;
    Ok(SessionsList::of(rows, &who))
}

/// Signs you out everywhere else.
#[utoipa::path(
    delete, path = "/sessions", tag = "session",
    responses((status = 204), (status = "4XX", body = schema::Problem))
)]
pub async fn end_others(State(web): State<Arc<Web>>, who: Who) -> Result<StatusCode, Problem> {
    in_a_session(&who)?;
    who.audit(&web, action::SESSION_END, "all others").await?;
    let (user, this) = (who.viewer.user_id, who.viewer.session().map(str::to_owned));
    web.at_desk(move |desk| desk.end_sessions(user, this.as_deref())).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Ends one of your sessions.
#[utoipa::path(
    delete, path = "/sessions/{id}", tag = "session", params(("id" = String, Path)),
    responses((status = 204), (status = "4XX", body = schema::Problem))
)]
pub async fn end(State(web): State<Arc<Web>>, who: Who, Path(id): Path<String>) -> Result<StatusCode, Problem> {
    in_a_session(&who)?;
    who.audit(&web, action::SESSION_END, &id).await?;
    let user = who.viewer.user_id;
    web.at_desk(move |desk| desk.end_session(user, &id)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Where a user is signed in.
#[utoipa::path(
    get, path = "/users/{name}/sessions", tag = "users", params(("name" = String, Path)),
    responses((status = 200, body = SessionsList), (status = "4XX", body = schema::Problem))
)]
pub async fn list_of(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(name): Path<String>,
) -> Result<Json<SessionsList>, Problem> {
    who.need(Permission::UsersAdmin)?;
    let now_ns = who.now_ns;
    let rows = web.at_desk(move |desk| desk.sessions(desk.user(&name, now_ns)?.id, now_ns)).await?;
    Ok(SessionsList::of(rows, &who))
}

/// Signs a user out everywhere.
#[utoipa::path(
    delete, path = "/users/{name}/sessions", tag = "users", params(("name" = String, Path)),
    responses((status = 204), (status = "4XX", body = schema::Problem))
)]
pub async fn end_all_of(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(name): Path<String>,
) -> Result<StatusCode, Problem> {
    who.need(Permission::UsersAdmin)?;
    who.audit(&web, action::SESSION_END, &format!("all of {name}")).await?;
    web.at_desk(move |desk| desk.end_sessions(desk.user(&name, who.now_ns)?.id, None)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Ends one of a user's sessions.
#[utoipa::path(
    delete, path = "/users/{name}/sessions/{id}", tag = "users",
    params(("name" = String, Path), ("id" = String, Path)),
    responses((status = 204), (status = "4XX", body = schema::Problem))
)]
pub async fn end_of(
    State(web): State<Arc<Web>>,
    who: Who,
    Path((name, id)): Path<(String, String)>,
) -> Result<StatusCode, Problem> {
    who.need(Permission::UsersAdmin)?;
    who.audit(&web, action::SESSION_END, &format!("{id} of {name}")).await?;
    web.at_desk(move |desk| desk.end_session(desk.user(&name, who.now_ns)?.id, &id)).await?;
    Ok(StatusCode::NO_CONTENT)
}
