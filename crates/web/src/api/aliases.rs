//! Names of hosts and networks.

use super::ask::Told;
use super::schema;
use crate::auth::{Desk, Permission, action};
use crate::guard::Who;
use crate::problem::Problem;
use crate::state::Web;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;

/// All aliases.
#[derive(Serialize, ToSchema)]
pub struct AliasesList {
    /// By network; the smallest network that an address lies in names it.
    pub aliases: Vec<Alias>,
}

/// What an address or network is called.
#[derive(Serialize, ToSchema)]
pub struct Alias {
    /// Address or network.
    pub r#match: String,
    /// Its name.
    pub name: String,
}

/// Names of hosts and networks.
#[utoipa::path(
    get, path = "/aliases", tag = "settings",
    responses((status = 200, body = AliasesList), (status = "4XX", body = schema::Problem))
)]
pub async fn list(State(web): State<Arc<Web>>, who: Who) -> Result<Json<AliasesList>, Problem> {
    who.need(Permission::CallsRead)?;
    let all = web.at_desk(Desk::aliases).await?.list();
    Ok(Json(AliasesList { aliases: all.into_iter().map(|(network, name)| Alias { r#match: network, name }).collect() }))
}

/// What to call it.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AliasAsk {
    /// 1 to 64 characters.
    pub name: String,
}

/// Names an address or network; of a network the slash is written as it is or as %2F.
#[utoipa::path(
    put, path = "/aliases/{*match}", tag = "settings", params(("match" = String, Path)), request_body = AliasAsk,
    responses((status = 200, body = Alias), (status = "4XX", body = schema::Problem))
)]
pub async fn set(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(network): Path<String>,
    Told(ask): Told<AliasAsk>,
) -> Result<Json<Alias>, Problem> {
    who.need(Permission::AliasesWrite)?;
    who.audit(&web, action::ALIAS_SET, &format!("{network} {}", ask.name)).await?;
    let name = ask.name.trim().to_owned();
    let network = web.at_desk(move |desk| desk.set_alias(&network, &ask.name)).await?;
    Ok(Json(Alias { r#match: network, name }))
}

/// Forgets an alias.
#[utoipa::path(
    delete, path = "/aliases/{*match}", tag = "settings", params(("match" = String, Path)),
    responses((status = 204), (status = "4XX", body = schema::Problem))
)]
pub async fn remove(State(web): State<Arc<Web>>, who: Who, Path(network): Path<String>) -> Result<StatusCode, Problem> {
    who.need(Permission::AliasesWrite)?;
    who.audit(&web, action::ALIAS_REMOVE, &network).await?;
    web.at_desk(move |desk| desk.remove_alias(&network)).await?;
    Ok(StatusCode::NO_CONTENT)
}
