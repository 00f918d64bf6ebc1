//! Tariff plans: their texts, what is wrong with a new one, and putting it live.

use super::{order, read};
use crate::api::ask::Large;
use crate::api::schema;
use crate::auth::{Permission, action};
use crate::guard::Who;
use crate::problem::{Kind, Problem};
use crate::sources::{ChargeChecked, ChargeDone, ChargeNode, ChargePlan, ChargePlanBrief};
use crate::state::Web;
use axum::Json;
use axum::extract::{Path, State};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;
use trunkline_store::time::rfc3339;
use utoipa::ToSchema;

/// The plans that hold.
#[derive(Serialize, ToSchema)]
pub struct ChargePlans {
    /// By their names in the ledger.
    pub plans: Vec<ChargePlanBrief>,
}

/// The plans that hold.
#[utoipa::path(
    get, path = "/charge/plans", tag = "charge",
    responses((status = 200, body = ChargePlans), (status = "4XX", body = schema::Problem))
)]
pub async fn list(State(web): State<Arc<Web>>, who: Who) -> Result<Json<ChargePlans>, Problem> {
    who.need(Permission::ChargeRead)?;
    let node: ChargeNode = order(&web, json!({ "do": "status" })).await?;
    Ok(Json(ChargePlans { plans: node.plans }))
}

/// A plan with its text, and where its former texts are.
#[utoipa::path(
    get, path = "/charge/plans/{name}", tag = "charge", params(("name" = String, Path)),
    responses((status = 200, body = ChargePlan), (status = "4XX", body = schema::Problem))
)]
pub async fn show(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(name): Path<String>,
) -> Result<Json<ChargePlan>, Problem> {
    who.need(Permission::ChargeRead)?;
    Ok(Json(order(&web, json!({ "do": "plan-text", "name": name })).await?))
}

/// A former text of a plan.
#[derive(Serialize, ToSchema)]
pub struct ChargePlanVersion {
    /// The entry of the ledger that brought it.
    pub entry: u64,
    /// Since when it held.
    #[schema(format = DateTime)]
    pub at: String,
    /// The text.
    pub text: String,
}

/// The text of a plan that an entry of the ledger brought.
#[utoipa::path(
    get, path = "/charge/plans/{name}/versions/{entry}", tag = "charge",
    params(("name" = String, Path), ("entry" = String, Path)),
    responses((status = 200, body = ChargePlanVersion), (status = "4XX", body = schema::Problem))
)]
pub async fn version(
    State(web): State<Arc<Web>>,
    who: Who,
    Path((name, entry)): Path<(String, String)>,
) -> Result<Json<ChargePlanVersion>, Problem> {
    who.need(Permission::ChargeRead)?;
    let plan: ChargePlan = order(&web, json!({ "do": "plan-text", "name": name })).await?;
    let entry = super::sessions::number("version", &entry)?;
    if plan.since != entry && !plan.former.contains(&entry) {
        return Err(Problem::new(Kind::NotFound, "The plan has no such version, or one that is too old."));
    }
    let (text, at) = read(&web, move |charging, _| charging.plan_of_entry(entry)).await?;
    Ok(Json(ChargePlanVersion { entry, at: rfc3339(at.saturating_mul(1_000_000_000)), text }))
}

/// A plan's text.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChargePlanAsk {
    /// The text (docs/manual/tariffs.md).
    pub text: String,
}

/// A plan's text that is to hold.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChargePlanLiveAsk {
    /// The text (docs/manual/tariffs.md).
    pub text: String,
    /// `since` of the text that it is to replace, 0 if there is none yet: another one is not replaced. Where it is not
    /// said, whatever holds is.
    pub instead: Option<u64>,
}

/// Looks at a plan's text: all that is wrong with it. Nothing changes.
#[utoipa::path(
    post, path = "/charge/check", tag = "charge", request_body = ChargePlanAsk,
    responses((status = 200, body = ChargeChecked), (status = "4XX", body = schema::Problem))
)]
pub async fn check(
    State(web): State<Arc<Web>>,
    who: Who,
    Large(ask): Large<ChargePlanAsk>,
) -> Result<Json<ChargeChecked>, Problem> {
    who.need(Permission::ChargeManage)?;
    Ok(Json(order(&web, json!({ "do": "check-plan", "text": ask.text })).await?))
}

/// Puts a plan live: it replaces the plan of that name at once. Clients of open sessions are asked to come
/// again; what was charged stays.
#[utoipa::path(
    post, path = "/charge/plans", tag = "charge", request_body = ChargePlanLiveAsk,
    responses((status = 200, body = ChargeDone), (status = "4XX", body = schema::Problem))
)]
pub async fn put_live(
    State(web): State<Arc<Web>>,
    who: Who,
    Large(ask): Large<ChargePlanLiveAsk>,
) -> Result<Json<ChargeDone>, Problem> {
    who.need(Permission::ChargeManage)?;
    let checked: ChargeChecked = order(&web, json!({ "do": "check-plan", "text": ask.text })).await?;
    let Some(name) = checked.name.filter(|_| checked.mistakes.is_empty()) else {
        let first = checked.mistakes.first().map_or("it is no plan", |mistake| mistake.what.as_str());
        let text = format!("{} mistakes, the first: {first}", checked.mistakes.len());
        return Err(Problem::parameter("text", text));
    };
    let live = order(&web, json!({ "do": "plan", "text": ask.text, "instead": ask.instead }));
    who.audited(&web, action::CHARGE_PLAN, &name, live).await.map(Json)
}
