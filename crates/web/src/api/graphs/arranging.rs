//! What administrators arrange: trees and their places, graphs of many data sources, titles.

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
use serde_json::{Value, json};
use std::sync::Arc;
use trunkline_contract::graph::{GraphTemplateList, Question};
use utoipa::{IntoParams, ToSchema};

/// Graphs that one is made of.
const GRAPHS_MAX: usize = 500;

/// A name.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphNameAsk {
    /// It.
    pub name: String,
}

/// Makes a tree.
#[utoipa::path(
    post, path = "/graphs/trees", tag = "graphs", request_body = GraphNameAsk,
    responses((status = 204), (status = "4XX", body = schema::Problem))
)]
pub async fn add_tree(
    State(web): State<Arc<Web>>,
    who: Who,
    Told(ask): Told<GraphNameAsk>,
) -> Result<StatusCode, Problem> {
    who.need(Permission::GraphsManage)?;
    let order = json!({ "do": "tree", "name": ask.name });
    tree(&web, &who, &format!("tree {} is made", ask.name), order).await
}

/// Gives a tree another name.
#[utoipa::path(
    post, path = "/graphs/trees/{id}", tag = "graphs", params(("id" = String, Path)), request_body = GraphNameAsk,
    responses((status = 204), (status = "4XX", body = schema::Problem))
)]
pub async fn rename_tree(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(id): Path<String>,
    Told(ask): Told<GraphNameAsk>,
) -> Result<StatusCode, Problem> {
    who.need(Permission::GraphsManage)?;
    let order = json!({ "do": "tree", "id": number("tree", &id)?, "name": ask.name });
    tree(&web, &who, &format!("tree {id} is {}", ask.name), order).await
}

/// Removes a tree with its places; devices and graphs stay.
#[utoipa::path(
    delete, path = "/graphs/trees/{id}", tag = "graphs", params(("id" = String, Path)),
    responses((status = 204), (status = "4XX", body = schema::Problem))
)]
pub async fn remove_tree(State(web): State<Arc<Web>>, who: Who, Path(id): Path<String>) -> Result<StatusCode, Problem> {
    who.need(Permission::GraphsManage)?;
    let order = json!({ "do": "remove-tree", "id": number("tree", &id)? });
    tree(&web, &who, &format!("tree {id} is removed"), order).await
}

async fn tree(web: &Arc<Web>, who: &Who, object: &str, order: Value) -> Result<StatusCode, Problem> {
    done(web, who, action::GRAPH_TREE, object, order).await
}

/// What is to stand in a tree.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphPlaceAsk {
    /// The tree.
    pub tree: u32,
    /// The folder that it is to be in; the tree itself when nothing is said.
    pub parent: Option<u32>,
    /// `folder`, `device`, `site`, `graph` or `rule`.
    pub kind: String,
    /// Of a folder or a rule: its name.
    pub name: Option<String>,
    /// Of a device, a site or a graph: its number.
    pub target: Option<u32>,
    /// Of a device or a site: its name, in place of the number.
    pub of: Option<String>,
    /// How graphs of a device or a rule stand: `none` (when nothing is said), `template`, `row`, `device`, `site`.
    pub group: Option<String>,
    /// Of a rule: names of devices, with `*` and `?`.
    pub device: Option<String>,
    /// Of a rule: names or labels of rows, with `*` and `?`.
    pub row: Option<String>,
    /// Of a rule: the site of devices.
    pub site: Option<String>,
    /// Of a rule: a graph template.
    pub template: Option<String>,
}

/// Puts a folder, a device, a site, a graph, or all graphs that a rule takes into a tree, behind what is there.
#[utoipa::path(
    post, path = "/graphs/places", tag = "graphs", request_body = GraphPlaceAsk,
    responses((status = 204), (status = "4XX", body = schema::Problem))
)]
pub async fn add_place(
    State(web): State<Arc<Web>>,
    who: Who,
    Told(ask): Told<GraphPlaceAsk>,
) -> Result<StatusCode, Problem> {
    who.need(Permission::GraphsManage)?;
    let what = ask.name.clone().or(ask.of.clone()).or(ask.target.map(|id| id.to_string())).unwrap_or_default();
    let object = format!("{} {what} in tree {}", ask.kind, ask.tree);
    let order = json!({
        "do": "place", "tree": ask.tree, "parent": ask.parent, "kind": ask.kind, "name": ask.name,
        "target": ask.target, "of": ask.of, "group": ask.group, "device": ask.device, "row": ask.row,
        "site": ask.site, "template": ask.template,
    });
    tree(&web, &who, &object, order).await
}

/// Gives a folder or a rule of a tree another name.
#[utoipa::path(
    post, path = "/graphs/places/{id}", tag = "graphs", params(("id" = String, Path)), request_body = GraphNameAsk,
    responses((status = 204), (status = "4XX", body = schema::Problem))
)]
pub async fn rename_place(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(id): Path<String>,
    Told(ask): Told<GraphNameAsk>,
) -> Result<StatusCode, Problem> {
    who.need(Permission::GraphsManage)?;
    let order = json!({ "do": "rename-place", "id": number("place", &id)?, "name": ask.name });
    tree(&web, &who, &format!("place {id} is {}", ask.name), order).await
}

/// Where a place is to stand.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphMoveAsk {
    /// The folder; the tree itself when nothing is said.
    pub parent: Option<u32>,
    /// The neighbour there that it stands before; behind all when nothing is said.
    pub before: Option<u32>,
}

/// Moves a place of a tree.
#[utoipa::path(
    post, path = "/graphs/places/{id}/move", tag = "graphs", params(("id" = String, Path)),
    request_body = GraphMoveAsk,
    responses((status = 204), (status = "4XX", body = schema::Problem))
)]
pub async fn move_place(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(id): Path<String>,
    Told(ask): Told<GraphMoveAsk>,
) -> Result<StatusCode, Problem> {
    who.need(Permission::GraphsManage)?;
    let id = number("place", &id)?;
    let order = json!({ "do": "move-place", "id": id, "parent": ask.parent, "before": ask.before });
    tree(&web, &who, &format!("place {id} is moved"), order).await
}

/// Removes a place of a tree with what stands in it; devices and graphs stay.
#[utoipa::path(
    delete, path = "/graphs/places/{id}", tag = "graphs", params(("id" = String, Path)),
    responses((status = 204), (status = "4XX", body = schema::Problem))
)]
pub async fn remove_place(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    who.need(Permission::GraphsManage)?;
    let order = json!({ "do": "remove-place", "id": number("place", &id)? });
    tree(&web, &who, &format!("place {id} is removed"), order).await
}

/// A graph that is to be made of others.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphOfManyAsk {
    /// The graph template, which says how they become one.
    pub template: String,
    /// Its title.
    pub title: Option<String>,
    /// The graphs whose data sources it shows, at most 500.
    pub graphs: Vec<u32>,
}

/// Makes one graph of the data sources of others: their sum, mean, greatest value, or one on the other.
#[utoipa::path(
    post, path = "/graphs", tag = "graphs", request_body = GraphOfManyAsk,
    responses((status = 204), (status = "4XX", body = schema::Problem))
)]
pub async fn make(
    State(web): State<Arc<Web>>,
    who: Who,
    Told(ask): Told<GraphOfManyAsk>,
) -> Result<StatusCode, Problem> {
    who.need(Permission::GraphsManage)?;
    if ask.graphs.is_empty() || ask.graphs.len() > GRAPHS_MAX {
        return Err(Problem::parameter("graphs", format!("1 to {GRAPHS_MAX} graphs.")));
    }
    let object = format!("graph {} of {} graphs", ask.title.as_deref().unwrap_or(&ask.template), ask.graphs.len());
    let order = json!({ "do": "graph", "template": ask.template, "title": ask.title, "graphs": ask.graphs });
    done(&web, &who, action::GRAPH_GRAPH, &object, order).await
}

/// What is to be another one of a graph.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphChangeAsk {
    /// Its title, with fields between bars; an empty one is that of its template again.
    pub title: Option<String>,
    /// Its template, which shows the same data sources.
    pub template: Option<String>,
}

/// Gives a graph another title or template.
#[utoipa::path(
    post, path = "/graphs/{id}", tag = "graphs", params(("id" = String, Path)), request_body = GraphChangeAsk,
    responses((status = 204), (status = "4XX", body = schema::Problem))
)]
pub async fn change(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(id): Path<String>,
    Told(ask): Told<GraphChangeAsk>,
) -> Result<StatusCode, Problem> {
    who.need(Permission::GraphsManage)?;
    let id = number("graph", &id)?;
    let order = json!({ "do": "graph", "id": id, "title": ask.title, "template": ask.template });
    done(&web, &who, action::GRAPH_GRAPH, &format!("graph {id} is changed"), order).await
}

/// Removes a graph; its data sources are read as before.
#[utoipa::path(
    delete, path = "/graphs/{id}", tag = "graphs", params(("id" = String, Path)),
    responses((status = 204), (status = "4XX", body = schema::Problem))
)]
pub async fn remove(State(web): State<Arc<Web>>, who: Who, Path(id): Path<String>) -> Result<StatusCode, Problem> {
    who.need(Permission::GraphsManage)?;
    let id = number("graph", &id)?;
    let order = json!({ "do": "remove-graphs", "graphs": [id] });
    done(&web, &who, action::GRAPH_GRAPH, &format!("graph {id} is removed"), order).await
}

/// Of which graphs.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct GraphTemplatesAsk {
    /// Numbers of graphs with commas between: those that show something of them.
    pub graphs: Option<String>,
}

/// Graph templates: all, or those that show something of some graphs.
#[utoipa::path(
    get, path = "/graphs/graph-templates", tag = "graphs", params(GraphTemplatesAsk),
    responses((status = 200, body = GraphTemplateList), (status = "4XX", body = schema::Problem))
)]
pub async fn templates(
    State(web): State<Arc<Web>>,
    who: Who,
    Ask(ask): Ask<GraphTemplatesAsk>,
) -> Result<Json<GraphTemplateList>, Problem> {
    who.need(Permission::GraphsManage)?;
    let ids = ask.graphs.map(|ids| ids.split(',').map(|id| id.trim().parse::<u32>()).collect::<Result<Vec<u32>, _>>());
    let ids = ids.transpose().map_err(|_| Problem::parameter("graphs", "Numbers of graphs with commas between."))?;
    if ids.as_ref().is_some_and(|ids| ids.len() > GRAPHS_MAX) {
        return Err(Problem::parameter("graphs", format!("At most {GRAPHS_MAX} graphs.")));
    }
    question(&web, &who, Question::GraphTemplates { graphs: ids }).await.map(Json)
}
