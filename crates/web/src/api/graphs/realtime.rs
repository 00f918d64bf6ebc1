//! A graph in real time.

use super::{number, question};
use crate::api::ask::Ask;
use crate::api::schema;
use crate::auth::Permission;
use crate::guard::Who;
use crate::problem::Problem;
use crate::state::Web;
use axum::Json;
use axum::extract::{Path, State};
use serde::Deserialize;
use std::sync::Arc;
use trunkline_contract::graph::{GraphRealtime, Question};
use utoipa::IntoParams;

/// How it is read.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct GraphRealtimeAsk {
    /// Seconds from one reading to the next, 1 to 60; 1 when nothing is said. Where somebody else looks at the same at
    /// a shorter step, it is read at that.
    pub step: Option<u32>,
    /// How much is shown, seconds: 300 when nothing is said, at most 900 steps.
    pub span: Option<u32>,
}

/// A graph as it is read now: whoever asks has its devices read at once and at this step, beside what is always read,
/// and sees what came since the first question. It is asked again and again: 15 seconds, or three steps, after the last
/// question nothing is read for it any more, and what came is forgotten.
#[utoipa::path(
    get, path = "/graphs/{id}/realtime", tag = "graphs", params(("id" = String, Path), GraphRealtimeAsk),
    responses(
        (status = 200, body = GraphRealtime),
        (status = "4XX", body = schema::Problem),
        (status = 503, body = schema::Problem, description = "Too much is read in real time already"),
    )
)]
pub async fn show(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(id): Path<String>,
    Ask(ask): Ask<GraphRealtimeAsk>,
) -> Result<Json<GraphRealtime>, Problem> {
    who.need(Permission::GraphsRead)?;
    let graph = number("graph", &id)?;
    question(&web, &who, Question::Realtime { graph, step: ask.step, span: ask.span }).await.map(Json)
}
