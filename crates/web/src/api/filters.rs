//! Saved filters: everybody's own, and those for all.

use super::ask::{Ask, Told};
use super::schema;
use crate::auth::{Permission, action};
use crate::guard::Who;
use crate::problem::Problem;
use crate::state::Web;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// Saved filters.
#[derive(Serialize, ToSchema)]
pub struct FiltersList {
    /// By name: your own, and those for all.
    pub filters: Vec<SavedFilter>,
}

/// A saved filter.
#[derive(Serialize, ToSchema)]
pub struct SavedFilter {
    /// Its name.
    pub name: String,
    /// Its text.
    pub text: String,
    /// Whether it is for all.
    pub shared: bool,
    /// Who saved it last.
    pub by: String,
}

/// Your saved filters, and those for all.
#[utoipa::path(
    get, path = "/filters", tag = "settings",
    responses((status = 200, body = FiltersList), (status = "4XX", body = schema::Problem))
)]
pub async fn list(State(web): State<Arc<Web>>, who: Who) -> Result<Json<FiltersList>, Problem> {
    who.need(Permission::CallsRead)?;
    let filters = web.at_desk(move |desk| desk.filters(&who.viewer)).await?.into_iter();
    let shown = filters.map(|f| SavedFilter { name: f.name, text: f.text, shared: f.shared, by: f.by });
    Ok(Json(FiltersList { filters: shown.collect() }))
}

/// A filter to be saved.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FilterAsk {
    /// Its text.
    pub text: String,
    /// Whether it is for all.
    #[serde(default)]
    pub shared: bool,
}

/// Saves a filter under a name, over what was there.
#[utoipa::path(
    put, path = "/filters/{name}", tag = "settings", params(("name" = String, Path)), request_body = FilterAsk,
    responses((status = 204), (status = "4XX", body = schema::Problem))
)]
pub async fn save(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(name): Path<String>,
    Told(ask): Told<FilterAsk>,
) -> Result<StatusCode, Problem> {
    who.need(Permission::CallsRead)?;
    if ask.shared {
        who.need(Permission::FiltersShare)?;
        who.audit(&web, action::FILTER_SHARE, &name).await?;
    }
    web.at_desk(move |desk| desk.save_filter(&who.viewer, &name, &ask.text, ask.shared)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Which of two filters of the same name is meant.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct FilterRemoveAsk {
    /// The one for all; else your own.
    #[serde(default)]
    pub shared: bool,
}

/// Forgets a saved filter.
#[utoipa::path(
    delete, path = "/filters/{name}", tag = "settings", params(("name" = String, Path), FilterRemoveAsk),
    responses((status = 204), (status = "4XX", body = schema::Problem))
)]
pub async fn remove(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(name): Path<String>,
    Ask(ask): Ask<FilterRemoveAsk>,
) -> Result<StatusCode, Problem> {
    who.need(Permission::CallsRead)?;
    web.at_desk(move |desk| desk.remove_filter(&who.viewer, &name, ask.shared)).await?;
    Ok(StatusCode::NO_CONTENT)
}
