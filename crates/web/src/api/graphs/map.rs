//! The map: how devices hang together.

use super::question;
use crate::api::ask::Ask;
use crate::api::schema;
use crate::auth::Permission;
use crate::guard::Who;
use crate::problem::Problem;
use crate::state::Web;
use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use std::sync::Arc;
use trunkline_contract::graph::{GraphMap, Question};
use utoipa::IntoParams;

/// Which part of the map.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct GraphMapAsk {
    /// What is around this device; all when nothing is said.
    pub device: Option<u32>,
    /// So many steps around it.
    pub hops: Option<u32>,
    /// How many nodes there are at most: 1 to 1000, which it is when nothing is said.
    pub limit: Option<u32>,
}

/// Devices, those whom they see beside them (LLDP), and the links between them.
#[utoipa::path(
    get, path = "/graphs/map", tag = "graphs", params(GraphMapAsk),
    responses((status = 200, body = GraphMap), (status = "4XX", body = schema::Problem))
)]
pub async fn show(
    State(web): State<Arc<Web>>,
    who: Who,
    Ask(ask): Ask<GraphMapAsk>,
) -> Result<Json<GraphMap>, Problem> {
    who.need(Permission::GraphsRead)?;
    let GraphMapAsk { device, hops, limit } = ask;
    question(&web, &who, Question::Map { device, hops, limit }).await.map(Json)
}
