//! What the capture itself lost.

use super::ask::{self, Ask, Span, Text};
use super::schema;
use crate::auth::Permission;
use crate::guard::Who;
use crate::problem::Problem;
use crate::state::Web;
use axum::extract::State;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use trunkline_store::{Query, json};
use utoipa::{IntoParams, ToSchema};

/// Which losses are wanted.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LossesAsk {
    /// Losses that began then or later.
    pub from: Option<String>,
    /// Losses that began before then.
    pub to: Option<String>,
}

/// Losses of the capture.
#[derive(Serialize, ToSchema)]
pub struct Losses {
    /// The newest first, at most 1000.
    pub losses: Vec<schema::Loss>,
    /// Always null: there is one page.
    pub next: Option<String>,
    /// Days that could not be read.
    pub skipped: Vec<schema::SkippedDay>,
}

/// Packets that the capture lost, by place.
#[utoipa::path(
    get, path = "/losses", tag = "packets", params(LossesAsk),
    responses((status = 200, body = Losses), (status = "4XX", body = schema::Problem))
)]
pub async fn list(State(web): State<Arc<Web>>, who: Who, Ask(ask): Ask<LossesAsk>) -> Result<Text, Problem> {
    who.need(Permission::CallsRead)?;
    let span = Span::read(ask.from.as_deref(), ask.to.as_deref(), who.now_ns, &TimeZone::UTC)?;
    let query = Query { from_ns: span.from_ns, to_ns: span.to_ns, limit: ask::LIMIT_MAX, ..Query::default() };
    let page = web.stores.ask(move |store| store.losses(&query)).await?;
    Ok(Text::object(|o| {
        o.list("losses", &page.rows, json::loss);
        ask::page_end(o, None, &page.skipped);
    }))
}
