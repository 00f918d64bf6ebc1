//! Caches: the one of the run, and those that the configuration names.

use super::ask::Ask;
use crate::auth::Permission;
use crate::caches::{CacheMoment, CacheState, HISTORY_EVERY_S};
use crate::guard::Who;
use crate::problem::{Kind, Problem};
use crate::state::Web;
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// All caches.
#[derive(Serialize, ToSchema)]
pub struct CachesPage {
    /// Those that there are, the run's own first; none where the run has no cache and the configuration names none.
    pub caches: Vec<CacheState>,
}

/// Which cache.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct CacheHistoryAsk {
    /// Its name, as the list has it; the first where none is given.
    cache: Option<String>,
}

/// The last hour of a cache.
#[derive(Serialize, ToSchema)]
pub struct CacheHistory {
    /// Its name.
    pub name: String,
    /// Moments, oldest first; what could not be looked at is null.
    pub moments: Vec<CacheMoment>,
    /// Seconds from one to the next.
    pub every_s: i64,
}

/// How caches stand: hit ratio, rates, memory, items by age and size, connections, refusals, hot keys, slow commands.
#[utoipa::path(get, path = "/cache", tag = "cache", responses((status = 200, body = CachesPage)))]
pub async fn list(State(web): State<Arc<Web>>, who: Who) -> Result<Json<CachesPage>, Problem> {
    who.need(Permission::CallsRead)?;
    let masked = who.masked();
    Ok(Json(CachesPage { caches: web.caches.iter().filter_map(|board| board.state(masked)).collect() }))
}

/// The last hour of a cache, a moment each ten seconds.
#[utoipa::path(
    get, path = "/cache/history", tag = "cache", params(CacheHistoryAsk),
    responses((status = 200, body = CacheHistory), (status = "4XX", body = super::schema::Problem))
)]
pub async fn history(
    State(web): State<Arc<Web>>,
    who: Who,
    Ask(ask): Ask<CacheHistoryAsk>,
) -> Result<Json<CacheHistory>, Problem> {
    who.need(Permission::CallsRead)?;
    let is_asked = |name: &str| ask.cache.as_ref().is_none_or(|asked| asked == name);
    let board = web.caches.iter().find(|board| is_asked(&board.name()) && board.state(true).is_some());
    let board = board.ok_or_else(|| Problem::new(Kind::NotFound, "There is no cache of this name."))?;
    Ok(Json(CacheHistory { name: board.name(), moments: board.history(), every_s: HISTORY_EVERY_S }))
}
