//! Plans that are tried out against what was used: one at a time, for each reads much of the ledger; others wait.

use super::{charging, order};
use crate::api::ask::Large;
use crate::api::schema;
use crate::auth::{Permission, action};
use crate::guard::Who;
use crate::moment::{self, End};
use crate::problem::Problem;
use crate::sources::{ChargeChecked, ChargeTried, ChargeTryAsk};
use crate::state::Web;
use crate::work::{AGE_MAX_S, Limits, Places, Shelf, Work, WorkState};
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use trunkline_store::time::{SECOND_NS, rfc3339};
use utoipa::ToSchema;

/// Plans that are tried out: one at a time. They live in memory; there are no files.
pub const TRYOUTS: Limits = Limits {
    running: 1,
    kept: 64,
    places: Places::OfEach { kept: 8, octets: 0 },
    waiting_of_one: 1,
    octets: 0,
    octets_in_all: u64::MAX,
    age_s: Some(AGE_MAX_S),
    lasts: false,
};

/// All of them.
pub type Tryouts = Shelf<(ChargeTryAsk, Option<String>), ChargeTried>;

/// A plan that is to be tried out.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChargeTryoutAsk {
    /// Its text.
    pub text: String,
    /// Usage of then or later, as 2026-11-20, 2026-11-20T10:00:00Z or -1d.
    pub from: String,
    /// Usage before then.
    pub to: String,
}

/// A plan that was tried out, or is.
#[derive(Serialize, ToSchema)]
pub struct ChargeTryout {
    /// Its name.
    pub id: String,
    /// The plan that its text is of; null if it is none.
    pub plan: Option<String>,
    /// How far it is.
    pub state: WorkState,
    /// Entries of the ledger that were read.
    pub read: u64,
    /// About how many there are.
    pub total: u64,
    /// Usage of then or later.
    #[schema(format = DateTime)]
    pub from: String,
    /// Usage before then.
    #[schema(format = DateTime)]
    pub to: String,
    /// When it was asked for.
    #[schema(format = DateTime)]
    pub asked: String,
    /// What came of it; null before its end.
    pub tried: Option<ChargeTried>,
    /// Why it failed.
    pub error: Option<String>,
}

/// Your try-outs.
#[derive(Serialize, ToSchema)]
pub struct ChargeTryouts {
    /// The newest first.
    pub tryouts: Vec<ChargeTryout>,
}

fn shown(tryout: &Work<(ChargeTryAsk, Option<String>), ChargeTried>) -> ChargeTryout {
    let (ask, plan) = &tryout.ask;
    let (state, tried, error) = tryout.state();
    ChargeTryout {
        id: tryout.id.clone(),
        plan: plan.clone(),
        state,
        read: tryout.progress.packets.load(Ordering::Relaxed),
        total: tryout.progress.total_octets.load(Ordering::Relaxed),
        from: rfc3339(ask.from.saturating_mul(SECOND_NS)),
        to: rfc3339(ask.to.saturating_mul(SECOND_NS)),
        asked: rfc3339(tryout.asked_ns),
        tried,
        error,
    }
}

/// Your try-outs, the newest first: they are kept for a day, in memory.
#[utoipa::path(
    get, path = "/charge/tryouts", tag = "charge",
    responses((status = 200, body = ChargeTryouts), (status = "4XX", body = schema::Problem))
)]
pub async fn list(State(web): State<Arc<Web>>, who: Who) -> Result<Json<ChargeTryouts>, Problem> {
    who.need(Permission::ChargeManage)?;
    Ok(Json(ChargeTryouts { tryouts: web.tryouts.list(who.id()).iter().map(|tryout| shown(tryout)).collect() }))
}

/// Tries a plan out: what was used in a span is charged anew by its text, beside the node; nothing changes.
#[utoipa::path(
    post, path = "/charge/tryouts", tag = "charge", request_body = ChargeTryoutAsk,
    responses((status = 202, body = ChargeTryout), (status = "4XX", body = schema::Problem))
)]
pub async fn begin(
    State(web): State<Arc<Web>>,
    who: Who,
    Large(ask): Large<ChargeTryoutAsk>,
) -> Result<(StatusCode, Json<ChargeTryout>), Problem> {
    who.need(Permission::ChargeManage)?;
    let charging = charging(&web)?;
    let from = moment::read("from", &ask.from, End::From, who.now_ns, &TimeZone::UTC)?;
    let to = moment::read("to", &ask.to, End::To, who.now_ns, &TimeZone::UTC)?;
    if from >= to {
        return Err(Problem::parameter("to", "'to' must be after 'from'."));
    }
    who.audit(&web, action::CHARGE_TRY, &format!("{} to {}", rfc3339(from), rfc3339(to))).await?;
    let second = |ns: i64| ns.div_euclid(SECOND_NS);
    let ask = ChargeTryAsk { text: ask.text, from: second(from), to: second(to) };
    // A node that does not serve names no plan; its ledger can be read.
    let checked = order::<ChargeChecked>(&web, json!({ "do": "check-plan", "text": ask.text })).await;
    let plan = checked.ok().and_then(|checked| checked.name);
    let tryout = web.tryouts.take(who.id(), (ask, plan), who.now_ns)?;
    web.tryouts.run(&tryout, move |work, cancel| charging.try_out(&work.ask.0, &work.progress, cancel));
    Ok((StatusCode::ACCEPTED, Json(shown(&tryout))))
}

/// How far a try-out is, and what came of it.
#[utoipa::path(
    get, path = "/charge/tryouts/{id}", tag = "charge", params(("id" = String, Path)),
    responses((status = 200, body = ChargeTryout), (status = "4XX", body = schema::Problem))
)]
pub async fn show(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(id): Path<String>,
) -> Result<Json<ChargeTryout>, Problem> {
    who.need(Permission::ChargeManage)?;
    Ok(Json(shown(&*web.tryouts.find(&id, who.id())?)))
}

/// Ends a try-out, and forgets it.
#[utoipa::path(
    delete, path = "/charge/tryouts/{id}", tag = "charge", params(("id" = String, Path)),
    responses((status = 204), (status = "4XX", body = schema::Problem))
)]
pub async fn remove(State(web): State<Arc<Web>>, who: Who, Path(id): Path<String>) -> Result<StatusCode, Problem> {
    who.need(Permission::ChargeManage)?;
    web.tryouts.remove(&*web.tryouts.find(&id, who.id())?);
    Ok(StatusCode::NO_CONTENT)
}
