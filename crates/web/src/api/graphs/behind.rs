//! Who is behind whom: through which devices a device is reached.

use super::orders::done;
use super::{number, question};
use crate::api::ask::{Ask, Told};
use crate::api::schema;
use crate::auth::{Permission, action};
use crate::guard::Who;
use crate::problem::Problem;
use crate::state::Web;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;
use trunkline_contract::graph::{GraphBehind, Question};
use utoipa::{IntoParams, ToSchema};

/// From where devices are reached.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct GraphBehindAsk {
    /// Numbers of devices with commas between: those that we are next to, by which all others are reached.
    pub from: String,
    /// Whether devices of which something else was told before are told anew, too.
    pub replace: Option<bool>,
    /// How many devices are told at most: 1 to 10000, which it is when nothing is said.
    pub limit: Option<u32>,
}

/// Who would be told to be behind whom, as the map has it: a device is behind those that are one step nearer to where
/// polling begins.
#[utoipa::path(
    get, path = "/graphs/behind", tag = "graphs", params(GraphBehindAsk),
    responses((status = 200, body = GraphBehind), (status = "4XX", body = schema::Problem))
)]
pub async fn show(
    State(web): State<Arc<Web>>,
    who: Who,
    Ask(ask): Ask<GraphBehindAsk>,
) -> Result<Json<GraphBehind>, Problem> {
    who.need(Permission::GraphsManage)?;
    let from: Result<Vec<u32>, _> = ask.from.split(',').map(|id| id.trim().parse::<u32>()).collect();
    let from = from.map_err(|_| Problem::parameter("from", "Numbers of devices with commas between."))?;
    let GraphBehindAsk { replace, limit, .. } = ask;
    question(&web, &who, Question::Behind { from, replace, limit }).await.map(Json)
}

/// From where devices are reached, to be told of them.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphBehindOrder {
    /// Those that we are next to.
    pub from: Vec<u32>,
    /// Whether devices of which something else was told before are told anew, too; no when nothing is said.
    pub replace: Option<bool>,
}

/// Sets the upstream devices of all devices from the map: alerts of devices behind a dead one are suppressed.
#[utoipa::path(
    post, path = "/graphs/behind", tag = "graphs", request_body = GraphBehindOrder,
    responses((status = 204), (status = "4XX", body = schema::Problem))
)]
pub async fn learn(
    State(web): State<Arc<Web>>,
    who: Who,
    Told(ask): Told<GraphBehindOrder>,
) -> Result<StatusCode, Problem> {
    who.need(Permission::GraphsManage)?;
    let from: Vec<String> = ask.from.iter().map(u32::to_string).collect();
    let object = format!("upstream devices, from {}", from.join(" "));
    let order = json!({ "do": "learn-behind", "from": ask.from, "replace": ask.replace });
    done(&web, &who, action::GRAPH_DEVICE, &object, order).await
}

/// Those on the way to a device.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphBehindOne {
    /// Their numbers, in place of those before; none is reached by itself.
    pub behind: Vec<u32>,
}

/// Says through which devices one is reached: while all of them are down, it does not alarm.
#[utoipa::path(
    post, path = "/graphs/devices/{id}/behind", tag = "graphs", params(("id" = String, Path)),
    request_body = GraphBehindOne, responses((status = 204), (status = "4XX", body = schema::Problem))
)]
pub async fn set(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(id): Path<String>,
    Told(ask): Told<GraphBehindOne>,
) -> Result<StatusCode, Problem> {
    who.need(Permission::GraphsManage)?;
    let id = number("device", &id)?;
    let order = json!({ "do": "set-behind", "device": id, "behind": ask.behind });
    done(&web, &who, action::GRAPH_DEVICE, &format!("device {id}: upstream devices"), order).await
}
