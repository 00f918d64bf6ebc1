//! Graphs in numbers, and as files.

use super::{asked, number, question, scope};
use crate::api::ask::{Ask, Span};
use crate::api::call::attachment;
use crate::api::schema;
use crate::auth::Permission;
use crate::guard::Who;
use crate::moment;
use crate::problem::Problem;
use crate::state::Web;
use axum::Json;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use jiff::tz::TimeZone;
use serde::Deserialize;
use std::sync::Arc;
use trunkline_contract::Refusal;
use trunkline_contract::graph::{Answer, Ask as GraphAsk, GraphForm, GraphPictures, GraphSpan, Question};
use utoipa::IntoParams;

/// Graphs of one question.
const PICTURES_MAX: usize = 60;
/// What is shown when nothing is said: the last day, seconds.
const SPAN_S: i64 = 86_400;

/// Which graphs, and what of them.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct GraphPicturesAsk {
    /// Numbers of graphs with commas between, at most 60.
    pub ids: String,
    /// From then on: RFC 3339, or `-1h`; a day before the end when nothing is said.
    pub from: Option<String>,
    /// Until then; now when nothing is said.
    pub to: Option<String>,
    /// Columns: no series has more rows. 500 when nothing is said.
    pub width: Option<u32>,
    /// What is shown is so many seconds older, and stands at the times of the span.
    pub shift: Option<i64>,
    /// Of which archives it is taken: `average`, `min`, `max`, `last`; as the template says when nothing is said.
    pub function: Option<String>,
}

/// What of a graph.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct GraphFileAsk {
    /// From then on: RFC 3339, or `-1h`; a day before the end when nothing is said.
    pub from: Option<String>,
    /// Until then; now when nothing is said.
    pub to: Option<String>,
    /// Columns. 500 when nothing is said.
    pub width: Option<u32>,
    /// What is shown is so many seconds older.
    pub shift: Option<i64>,
    /// Of which archives it is taken: `average`, `min`, `max`, `last`; as the template says when nothing is said.
    pub function: Option<String>,
    /// The time zone of a drawn picture, a name of the IANA list: UTC when nothing is said. It stands in the picture.
    pub tz: Option<String>,
}

pub(super) fn spanned(who: &Who, ask: &GraphFileAsk) -> Result<GraphSpan, Problem> {
    let span = Span::read(ask.from.as_deref(), ask.to.as_deref(), who.now_ns, &TimeZone::UTC)?;
    let to = (if ask.to.is_some() { span.to_ns } else { who.now_ns }).div_euclid(1_000_000_000);
    let from = if ask.from.is_some() { span.from_ns.div_euclid(1_000_000_000) } else { to - SPAN_S };
    if from >= to {
        return Err(Problem::parameter("to", "The end is not after the beginning."));
    }
    Ok(GraphSpan { from, to, width: ask.width, shift: ask.shift, function: ask.function.clone() })
}

/// Graphs in numbers, each as its template computes it, or why there are none.
#[utoipa::path(
    get, path = "/graphs/pictures", tag = "graphs", params(GraphPicturesAsk),
    responses((status = 200, body = GraphPictures), (status = "4XX", body = schema::Problem))
)]
pub async fn numbers(
    State(web): State<Arc<Web>>,
    who: Who,
    Ask(ask): Ask<GraphPicturesAsk>,
) -> Result<Json<GraphPictures>, Problem> {
    who.need(Permission::GraphsRead)?;
    let ids: Result<Vec<u32>, _> = ask.ids.split(',').map(|id| id.trim().parse::<u32>()).collect();
    let ids = ids.map_err(|_| Problem::parameter("ids", "Numbers of graphs with commas between."))?;
    if ids.len() > PICTURES_MAX {
        return Err(Problem::parameter("ids", format!("At most {PICTURES_MAX} graphs.")));
    }
    let GraphPicturesAsk { from, to, width, shift, function, .. } = ask;
    let span = spanned(&who, &GraphFileAsk { from, to, width, shift, function, tz: None })?;
    let mut pictures: GraphPictures = question(&web, &who, Question::Pictures { ids, span }).await?;
    for one in &mut pictures.pictures {
        one.trouble.iter_mut().for_each(|trouble| *trouble = crate::paths::named(trouble));
    }
    Ok(Json(pictures))
}

/// A graph as a picture.
#[utoipa::path(
    get, path = "/graphs/{id}/png", tag = "graphs", params(("id" = String, Path), GraphFileAsk),
    responses((status = 200, content_type = "image/png", body = [u8]), (status = "4XX", body = schema::Problem))
)]
pub async fn png(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(id): Path<String>,
    Ask(ask): Ask<GraphFileAsk>,
) -> Result<Response, Problem> {
    file(&web, &who, &id, &ask, GraphForm::Png).await
}

/// A graph as a picture of lines.
#[utoipa::path(
    get, path = "/graphs/{id}/svg", tag = "graphs", params(("id" = String, Path), GraphFileAsk),
    responses((status = 200, content_type = "image/svg+xml", body = [u8]), (status = "4XX", body = schema::Problem))
)]
pub async fn svg(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(id): Path<String>,
    Ask(ask): Ask<GraphFileAsk>,
) -> Result<Response, Problem> {
    file(&web, &who, &id, &ask, GraphForm::Svg).await
}

/// The numbers of a graph as comma-separated values: a row a time, a column a series; what is unknown is empty.
#[utoipa::path(
    get, path = "/graphs/{id}/csv", tag = "graphs", params(("id" = String, Path), GraphFileAsk),
    responses((status = 200, content_type = "text/csv", body = String), (status = "4XX", body = schema::Problem))
)]
pub async fn csv(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(id): Path<String>,
    Ask(ask): Ask<GraphFileAsk>,
) -> Result<Response, Problem> {
    file(&web, &who, &id, &ask, GraphForm::Csv).await
}

async fn file(web: &Arc<Web>, who: &Who, id: &str, ask: &GraphFileAsk, form: GraphForm) -> Result<Response, Problem> {
    who.need(Permission::GraphsRead)?;
    let id = number("graph", id)?;
    let (span, zone) = (spanned(who, ask)?, moment::zone(ask.tz.as_deref())?);
    let zone = zone.iana_name().map(str::to_owned);
    let ask = GraphAsk::Picture { scope: scope(who), graph: id, form, span, zone };
    let file = asked(web, move |graphing| match graphing.call(ask)? {
        Answer::File(file) => Ok(file.0),
        _ => Err(Refusal::mismatch().into()),
    });
    let octets = file.await?;
    let (kind, end) = match form {
        GraphForm::Png => ("image/png", "png"),
        GraphForm::Svg => ("image/svg+xml", "svg"),
        GraphForm::Csv => ("text/csv; charset=utf-8", "csv"),
    };
    Ok(attachment(octets.into_response(), kind, &format!("graph-{id}.{end}")))
}
