//! Who may see which devices, trees and graphs: what administrators allow and deny, and what comes of it.

use super::asked;
use crate::api::ask::{Ask, Told};
use crate::api::schema;
use crate::auth::{About, Desk, GraphRights, GraphRule, GraphScope, Permission, Refusal, Role, Whose, action};
use crate::guard::Who;
use crate::problem::Problem;
use crate::state::Web;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use trunkline_contract::graph::{self, GraphCounts, GraphTaken, Question, ScopeShown};
use utoipa::{IntoParams, ToSchema};

/// The rules of all roles, and of users that have some.
#[derive(Serialize, ToSchema)]
pub struct GraphRightsList {
    /// Roles, then users by name. Administrators see everything, and are not among them.
    pub rights: Vec<GraphRightsShown>,
}

/// Rules of a role or of a user.
#[derive(Serialize, ToSchema)]
pub struct GraphRightsShown {
    /// The role, if they are of one.
    pub role: Option<Role>,
    /// The user, if they are of one.
    pub user: Option<String>,
    /// What holds where no rule speaks: `everything` or `nothing` is seen; or, of a user, as their `role` has it.
    pub default: String,
    /// The rules, oldest first.
    pub rules: Vec<GraphRuleShown>,
}

/// A rule.
#[derive(Clone, Serialize, ToSchema)]
pub struct GraphRuleShown {
    /// Its number.
    pub id: i64,
    /// Whether it allows or denies.
    pub allow: bool,
    /// What it is about: `device`, `device-name`, `site`, `device-template`, `tree`, `place`, `graph`,
    /// `graph-template`, `graph-title`.
    pub kind: String,
    /// Which: a number of a device, a place or a graph; else a pattern, in which `*` and `?` stand for any characters
    /// and for one.
    pub value: String,
}

impl From<GraphRule> for GraphRuleShown {
    fn from(rule: GraphRule) -> Self {
        GraphRuleShown { id: rule.id, allow: rule.allow, kind: rule.about.name().to_owned(), value: rule.value }
    }
}

impl From<GraphRights> for GraphRightsShown {
    fn from(rights: GraphRights) -> Self {
        let (role, user) = match rights.whose {
            Whose::Role(role) => (Some(role), None),
            Whose::User(name) => (None, Some(name)),
        };
        let default = match rights.everything {
            Some(true) => "everything",
            Some(false) => "nothing",
            None => "role",
        };
        let rules = rights.rules.into_iter().map(GraphRuleShown::from).collect();
        GraphRightsShown { role, user, default: default.to_owned(), rules }
    }
}

/// Who may see what of graphs.
#[utoipa::path(
    get, path = "/graphs/rights", tag = "graphs",
    responses((status = 200, body = GraphRightsList), (status = "4XX", body = schema::Problem))
)]
pub async fn list(State(web): State<Arc<Web>>, who: Who) -> Result<Json<GraphRightsList>, Problem> {
    who.need(Permission::UsersAdmin)?;
    let rights = web.at_desk(Desk::graph_rights).await?;
    Ok(Json(GraphRightsList { rights: rights.into_iter().map(GraphRightsShown::from).collect() }))
}

/// A role or a user.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct GraphWhoseAsk {
    /// A role.
    pub role: Option<Role>,
    /// A user; either of both is said.
    pub user: Option<String>,
}

fn whose(role: Option<Role>, user: Option<String>) -> Result<Whose, Problem> {
    match (role, user) {
        (Some(role), None) => Ok(Whose::Role(role)),
        (None, Some(name)) => Ok(Whose::User(name)),
        _ => Err(Problem::parameter("user", "Either a role or a user.")),
    }
}

fn named(whose: &Whose) -> String {
    match whose {
        Whose::Role(role) => format!("role {role}"),
        Whose::User(name) => format!("user {name}"),
    }
}

fn said(whose: &Whose, allow: bool, kind: &str, value: &str) -> String {
    format!("{}: {} {kind} {value}", named(whose), if allow { "allow" } else { "deny" })
}

/// A rule that is to be.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphRuleAsk {
    /// Whose: of a role,
    pub role: Option<Role>,
    /// or of a user.
    pub user: Option<String>,
    /// Whether it allows or denies.
    pub allow: bool,
    /// What it is about: `device`, `device-name`, `site`, `device-template`, `tree`, `place`, `graph`,
    /// `graph-template`, `graph-title`.
    pub kind: String,
    /// Which: a number of a device, a place or a graph; else a pattern with `*` and `?`.
    pub value: String,
}

/// Makes a rule; one about the same is replaced.
#[utoipa::path(
    post, path = "/graphs/rights/rules", tag = "graphs", request_body = GraphRuleAsk,
    responses((status = 200, body = GraphRuleShown), (status = "4XX", body = schema::Problem))
)]
pub async fn add(
    State(web): State<Arc<Web>>,
    who: Who,
    Told(ask): Told<GraphRuleAsk>,
) -> Result<Json<GraphRuleShown>, Problem> {
    who.need(Permission::UsersAdmin)?;
    let GraphRuleAsk { role, user, allow, kind, value } = ask;
    let whose = whose(role, user)?;
    let object = said(&whose, allow, &kind, &value);
    let made = web.at_desk(move |desk| desk.set_graph_rule(&whose, allow, About::named(&kind)?, &value));
    Ok(Json(who.audited(&web, action::GRAPH_RIGHTS, &object, made).await?.into()))
}

/// Forgets a rule.
#[utoipa::path(
    delete, path = "/graphs/rights/rules/{id}", tag = "graphs", params(("id" = String, Path)),
    responses((status = 204), (status = "4XX", body = schema::Problem))
)]
pub async fn remove(State(web): State<Arc<Web>>, who: Who, Path(id): Path<String>) -> Result<StatusCode, Problem> {
    who.need(Permission::UsersAdmin)?;
    let id: i64 = id.parse().map_err(|_| Problem::from(Refusal::NotFound("rule")))?;
    let (whose, rule) = web.at_desk(move |desk| desk.graph_rule(id)).await?;
    let object = format!("{} is removed", said(&whose, rule.allow, rule.about.name(), &rule.value));
    let removed = web.at_desk(move |desk| desk.remove_graph_rule(id));
    who.audited(&web, action::GRAPH_RIGHTS, &object, removed).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// What is to hold where no rule speaks.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphDefaultAsk {
    /// Whose: of a role,
    pub role: Option<Role>,
    /// or of a user.
    pub user: Option<String>,
    /// `everything` or `nothing` is seen; or, for a user, as their `role` has it.
    pub default: String,
}

/// Says what holds where no rule speaks.
#[utoipa::path(
    put, path = "/graphs/rights/default", tag = "graphs", request_body = GraphDefaultAsk,
    responses((status = 204), (status = "4XX", body = schema::Problem))
)]
pub async fn set_default(
    State(web): State<Arc<Web>>,
    who: Who,
    Told(ask): Told<GraphDefaultAsk>,
) -> Result<StatusCode, Problem> {
    who.need(Permission::UsersAdmin)?;
    let everything = match &*ask.default {
        "everything" => Some(true),
        "nothing" => Some(false),
        "role" => None,
        _ => return Err(Problem::parameter("default", "Everything, nothing, or role: as the user's role has it.")),
    };
    let whose = whose(ask.role, ask.user)?;
    let object = format!(
        "{}: default {}",
        named(&whose),
        match everything {
            Some(true) => "everything",
            Some(false) => "nothing",
            None => "what the role sees",
        }
    );
    let set = web.at_desk(move |desk| desk.set_graph_default(&whose, everything));
    who.audited(&web, action::GRAPH_RIGHTS, &object, set).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// What somebody sees of graphs.
#[derive(Serialize, ToSchema)]
pub struct GraphPreview {
    /// Whether that is all there is, whatever comes.
    pub whole: bool,
    /// How much they see.
    pub seen: GraphCounts,
    /// How much there is.
    pub all: GraphCounts,
    /// The first devices that they see, by name.
    pub devices: Vec<String>,
    /// The first graphs.
    pub graphs: Vec<String>,
    /// The first trees.
    pub trees: Vec<String>,
    /// Rules of the user, which decide before the others.
    pub of_user: Vec<GraphRuleTold>,
    /// Rules of the role.
    pub of_role: Vec<GraphRuleTold>,
}

/// A rule, and what it is about at present.
#[derive(Serialize, ToSchema)]
pub struct GraphRuleTold {
    /// The rule.
    #[serde(flatten)]
    pub rule: GraphRuleShown,
    /// What it is about.
    #[serde(flatten)]
    pub about: GraphTaken,
}

/// What a user, or users of a role without rules of their own, see of graphs.
#[utoipa::path(
    get, path = "/graphs/rights/preview", tag = "graphs", params(GraphWhoseAsk),
    responses((status = 200, body = GraphPreview), (status = "4XX", body = schema::Problem))
)]
pub async fn preview(
    State(web): State<Arc<Web>>,
    who: Who,
    Ask(ask): Ask<GraphWhoseAsk>,
) -> Result<Json<GraphPreview>, Problem> {
    who.need(Permission::UsersAdmin)?;
    let whose = whose(ask.role, ask.user)?;
    let scope = web.at_desk(move |desk| desk.graph_scope_of(&whose)).await?;
    let theirs = scope.as_ref().map(GraphScope::told);
    let told: ScopeShown = asked(&web, |graphing| Ok(graph::ask(graphing, theirs, Question::Rights {})?)).await?;
    let (whole, (of_user, of_role)) =
        (scope.is_none(), scope.map_or_else(Default::default, |scope| (scope.of_user, scope.of_role)));
    let mut levels = told.levels.into_iter();
    let mut level = |rules: Vec<GraphRule>| -> Vec<GraphRuleTold> {
        let about = levels.next().unwrap_or_default();
        rules.into_iter().zip(about).map(|(rule, about)| GraphRuleTold { rule: rule.into(), about }).collect()
    };
    let (of_user, of_role) = (level(of_user), level(of_role));
    let ScopeShown { seen, all, devices, graphs, trees, .. } = told;
    Ok(Json(GraphPreview { whole, seen, all, devices, graphs, trees, of_user, of_role }))
}
