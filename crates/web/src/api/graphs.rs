//! Graphs: devices that are polled, their graphs, trees of them, numbers and pictures.

pub mod arranging;
pub mod behind;
pub mod figures;
pub mod map;
pub mod orders;
pub mod pictures;
pub mod realtime;
pub mod rights;
pub mod way;

use super::ask::Ask;
use super::schema;
use crate::auth::Permission;
use crate::guard::Who;
use crate::paths;
use crate::problem::{Kind, Problem};
use crate::sources::{Graphing, SourceError};
use crate::state::Web;
use axum::Json;
use axum::extract::{Path, State};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use trunkline_contract::Refusal;
use trunkline_contract::graph::{
    self, GraphCounts, GraphDevice, GraphDevices, GraphList, GraphNodes, GraphRun, GraphScope, GraphShown, GraphTrees,
    GraphsWanted, Question, Told,
};
use utoipa::{IntoParams, ToSchema};

/// Characters of a search.
const TEXT_CHARACTERS_MAX: usize = 500;

/// What there is to ask, or that there is nothing.
fn graphing(web: &Web) -> Result<Arc<Graphing>, Problem> {
    let absent = || Problem::new(Kind::NotFound, "This web server has no graph poller.");
    web.sources.graphing.clone().ok_or_else(absent)
}

/// Asks on a thread that may wait, few at a time. An error that names files of this machine names them as outside.
async fn asked<T: Send + 'static>(
    web: &Arc<Web>,
    ask: impl FnOnce(&Graphing) -> Result<T, SourceError> + Send + 'static,
) -> Result<T, Problem> {
    let graphing = graphing(web)?;
    let asked = web.look(&web.graph_looks, move || ask(&*graphing)).await?;
    Ok(asked.map_err(|error| SourceError { text: paths::named(&error.text), ..error })?)
}

/// What somebody may see.
fn scope(who: &Who) -> Option<GraphScope> {
    who.viewer.graphs.as_ref().map(|scope| scope.told())
}

/// Asks a question of somebody, with what they may see: whatever is asked for people goes through here.
async fn question<T: TryFrom<Told, Error = Refusal> + Send + 'static>(
    web: &Arc<Web>,
    who: &Who,
    question: Question,
) -> Result<T, Problem> {
    let scope = scope(who);
    asked(web, move |graphing| Ok(graph::ask(graphing, scope, question)?)).await
}

/// A number of a path.
fn number(what: &str, text: &str) -> Result<u32, Problem> {
    text.parse().map_err(|_| Problem::new(Kind::NotFound, format!("There is no {what} '{text}'.")))
}

/// How graphs stand.
#[derive(Serialize, ToSchema)]
pub struct GraphStatus {
    /// Whether devices are polled beside these pages.
    pub serving: bool,
    /// Why it cannot be told; null if it can, and where none is polled.
    pub trouble: Option<String>,
    /// How much there is of everything; null where that is not known.
    pub counts: Option<GraphCounts>,
    /// How polling goes; null where that is not known.
    pub run: Option<GraphRun>,
}

/// How graphs stand: how many devices and graphs there are, and how polling goes.
#[utoipa::path(
    get, path = "/graphs/status", tag = "graphs",
    responses((status = 200, body = GraphStatus), (status = "4XX", body = schema::Problem))
)]
pub async fn status(State(web): State<Arc<Web>>, who: Who) -> Result<Json<GraphStatus>, Problem> {
    who.need(Permission::GraphsRead)?;
    let nothing = GraphStatus { serving: false, trouble: None, counts: None, run: None };
    let Some(graphing) = web.sources.graphing.clone() else { return Ok(Json(nothing)) };
    let scope = scope(&who);
    let look = move || graphing.serves().then(|| standing(&*graphing, scope));
    Ok(Json(match web.look(&web.graph_looks, look).await? {
        None => nothing,
        Some(Err(error)) => GraphStatus { serving: true, trouble: Some(paths::named(&error.text)), ..nothing },
        Some(Ok((counts, mut run))) => {
            run.troubles.iter_mut().for_each(|trouble| *trouble = paths::named(trouble));
            GraphStatus { serving: true, trouble: None, counts: Some(counts), run: Some(run) }
        }
    }))
}

fn standing(graphing: &Graphing, scope: Option<GraphScope>) -> Result<(GraphCounts, GraphRun), SourceError> {
    Ok((graph::ask(graphing, scope.clone(), Question::Counts {})?, graph::ask(graphing, scope, Question::Run {})?))
}

/// Which devices.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct GraphDevicesAsk {
    /// Words that stand in name, address, site, description or notes, all of them.
    pub text: Option<String>,
    /// `up`, `down`, `unknown` or `disabled`.
    pub state: Option<String>,
    /// How many are passed over.
    pub offset: Option<u32>,
    /// How many there are at most: 1 to 500, 100 when nothing is said.
    pub limit: Option<u32>,
}

/// Devices, in the order of their names.
#[utoipa::path(
    get, path = "/graphs/devices", tag = "graphs", params(GraphDevicesAsk),
    responses((status = 200, body = GraphDevices), (status = "4XX", body = schema::Problem))
)]
pub async fn devices(
    State(web): State<Arc<Web>>,
    who: Who,
    Ask(ask): Ask<GraphDevicesAsk>,
) -> Result<Json<GraphDevices>, Problem> {
    who.need(Permission::GraphsRead)?;
    if ask.state.as_deref().is_some_and(|state| !["up", "down", "unknown", "disabled"].contains(&state)) {
        return Err(Problem::parameter("state", "A device is up, down, unknown or disabled."));
    }
    let GraphDevicesAsk { state, offset, limit, .. } = ask;
    let ask = Question::Devices { text: text(ask.text)?, state, site: None, offset, limit };
    question(&web, &who, ask).await.map(Json)
}

fn text(text: Option<String>) -> Result<Option<String>, Problem> {
    match text.as_ref().is_some_and(|text| text.chars().count() > TEXT_CHARACTERS_MAX) {
        true => Err(Problem::parameter("text", format!("At most {TEXT_CHARACTERS_MAX} characters."))),
        false => Ok(text),
    }
}

/// A device: what it says of itself, its rows, what is read of it, and what does not answer.
#[utoipa::path(
    get, path = "/graphs/devices/{id}", tag = "graphs", params(("id" = String, Path)),
    responses((status = 200, body = GraphDevice), (status = "4XX", body = schema::Problem))
)]
pub async fn device(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(id): Path<String>,
) -> Result<Json<GraphDevice>, Problem> {
    who.need(Permission::GraphsRead)?;
    question(&web, &who, Question::Device { id: number("device", &id)? }).await.map(Json)
}

/// Which graphs.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct GraphsAsk {
    /// Words, or phrases in quotes, that stand in the title, all of them; those with `-` before them must not.
    pub text: Option<String>,
    /// Those of a device.
    pub device: Option<u32>,
    /// Those of a place in a tree.
    pub node: Option<u32>,
    /// Those of a graph template.
    pub template: Option<String>,
    /// How many are passed over.
    pub offset: Option<u32>,
    /// How many there are at most: 1 to 500, 100 when nothing is said.
    pub limit: Option<u32>,
}

/// Graphs: all, those of a device or of a place in a tree, those whose title has words.
#[utoipa::path(
    get, path = "/graphs", tag = "graphs", params(GraphsAsk),
    responses((status = 200, body = GraphList), (status = "4XX", body = schema::Problem))
)]
pub async fn list(State(web): State<Arc<Web>>, who: Who, Ask(ask): Ask<GraphsAsk>) -> Result<Json<GraphList>, Problem> {
    who.need(Permission::GraphsRead)?;
    let GraphsAsk { device, node, template, offset, limit, .. } = ask;
    let wanted = GraphsWanted { text: text(ask.text)?, device, node, template, offset, limit };
    question(&web, &who, Question::Graphs(wanted)).await.map(Json)
}

/// A graph, with the data sources that it is of.
#[utoipa::path(
    get, path = "/graphs/{id}", tag = "graphs", params(("id" = String, Path)),
    responses((status = 200, body = GraphShown), (status = "4XX", body = schema::Problem))
)]
pub async fn show(State(web): State<Arc<Web>>, who: Who, Path(id): Path<String>) -> Result<Json<GraphShown>, Problem> {
    who.need(Permission::GraphsRead)?;
    question(&web, &who, Question::Graph { id: number("graph", &id)? }).await.map(Json)
}

/// The trees, each with its first level.
#[utoipa::path(
    get, path = "/graphs/trees", tag = "graphs",
    responses((status = 200, body = GraphTrees), (status = "4XX", body = schema::Problem))
)]
pub async fn trees(State(web): State<Arc<Web>>, who: Who) -> Result<Json<GraphTrees>, Problem> {
    who.need(Permission::GraphsRead)?;
    question(&web, &who, Question::Trees {}).await.map(Json)
}

/// Which folder.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct GraphNodesAsk {
    /// The folder; the tree itself when nothing is said.
    pub parent: Option<u32>,
}

/// What is in a tree, or in a folder of it.
#[utoipa::path(
    get, path = "/graphs/trees/{id}/nodes", tag = "graphs", params(("id" = String, Path), GraphNodesAsk),
    responses((status = 200, body = GraphNodes), (status = "4XX", body = schema::Problem))
)]
pub async fn nodes(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(id): Path<String>,
    Ask(ask): Ask<GraphNodesAsk>,
) -> Result<Json<GraphNodes>, Problem> {
    who.need(Permission::GraphsRead)?;
    let ask = Question::Nodes { tree: number("tree", &id)?, parent: ask.parent };
    question(&web, &who, ask).await.map(Json)
}
