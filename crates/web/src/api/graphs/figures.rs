//! Figures of graphs over a span: how much went where, as a table and as comma-separated values.

use super::pictures::{GraphFileAsk, spanned};
use super::{question, text};
use crate::api::ask::Ask;
use crate::api::call::attachment;
use crate::api::schema;
use crate::auth::Permission;
use crate::guard::Who;
use crate::paths;
use crate::problem::Problem;
use crate::state::Web;
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use std::sync::Arc;
use trunkline_contract::graph::{GraphFiguresList, GraphReport, GraphSpan, GraphsWanted, Question};
use utoipa::IntoParams;

/// Graphs of one part of the table.
const LIMIT: u32 = 100;
/// Graphs of a file.
const FILE_GRAPHS_MAX: u32 = 500;

/// Which graphs, and when.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct GraphFiguresAsk {
    /// Words, or phrases in quotes, that stand in the title, all of them; those with `-` before them must not.
    pub text: Option<String>,
    /// Those of a device.
    pub device: Option<u32>,
    /// Those of a place in a tree.
    pub node: Option<u32>,
    /// Those of a graph template.
    pub template: Option<String>,
    /// From then on: RFC 3339, or `-1h`; a day before the end when nothing is said.
    pub from: Option<String>,
    /// Until then; now when nothing is said.
    pub to: Option<String>,
    /// How many are passed over.
    pub offset: Option<u32>,
    /// How many there are at most: 1 to 500; 100 when nothing is said, of a file 500.
    pub limit: Option<u32>,
}

async fn figures(web: &Arc<Web>, who: &Who, ask: GraphFiguresAsk, csv: bool) -> Result<GraphReport, Problem> {
    who.need(Permission::GraphsRead)?;
    let span = GraphFileAsk { from: ask.from, to: ask.to, ..GraphFileAsk::default() };
    let GraphSpan { from, to, .. } = spanned(who, &span)?;
    let GraphFiguresAsk { device, node, template, offset, .. } = ask;
    let limit = Some(ask.limit.unwrap_or(if csv { FILE_GRAPHS_MAX } else { LIMIT }));
    let graphs = GraphsWanted { text: text(ask.text)?, device, node, template, offset, limit };
    let mut report: GraphReport = question(web, who, Question::Figures { graphs, from, to, csv }).await?;
    for one in &mut report.list.graphs {
        one.trouble.iter_mut().for_each(|trouble| *trouble = paths::named(trouble));
    }
    Ok(report)
}

/// Mean, greatest value, 95th percentile and total of each series of graphs over a span, as fine as files have it.
#[utoipa::path(
    get, path = "/graphs/figures", tag = "graphs", params(GraphFiguresAsk),
    responses((status = 200, body = GraphFiguresList), (status = "4XX", body = schema::Problem))
)]
pub async fn list(
    State(web): State<Arc<Web>>,
    who: Who,
    Ask(ask): Ask<GraphFiguresAsk>,
) -> Result<Json<GraphFiguresList>, Problem> {
    Ok(Json(figures(&web, &who, ask, false).await?.list))
}

/// The same as comma-separated values: a row a series.
#[utoipa::path(
    get, path = "/graphs/figures/csv", tag = "graphs", params(GraphFiguresAsk),
    responses((status = 200, content_type = "text/csv", body = String), (status = "4XX", body = schema::Problem))
)]
pub async fn csv(State(web): State<Arc<Web>>, who: Who, Ask(ask): Ask<GraphFiguresAsk>) -> Result<Response, Problem> {
    let report = figures(&web, &who, ask, true).await?;
    Ok(attachment(report.csv.unwrap_or_default().into_response(), "text/csv; charset=utf-8", "graphs.csv"))
}
