//! Bills that users bring, to be compared with calls: kept on the disk for a day, and nobody else's.

use crate::api::ask::Ask;
use crate::api::captures::{Brought, receive};
use crate::api::schema;
use crate::auth::{Permission, Refusal, action, mask};
use crate::guard::Who;
use crate::problem::{Kind, Problem};
use crate::state::Web;
use crate::work::{AGE_MAX_S, Limits, Places, Shelf, Work, WorkState};
use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use trunkline_store::time::rfc3339;
use utoipa::{IntoParams, ToSchema};

/// How bills are bounded.
pub const BILLS: Limits = Limits {
    running: 1,
    kept: 64,
    places: Places::OfEach { kept: 8, octets: 512 << 20 },
    waiting_of_one: 2,
    octets: 128 << 20,
    octets_in_all: 4 << 30,
    age_s: Some(AGE_MAX_S),
    lasts: false,
};
const BILL: Brought = Brought { what: "bill", elsewhere: "trunkline charge compare" };

/// All bills, by their names.
pub type Bills = Shelf<String, ()>;

/// What the user calls the bill.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ChargeBillAsk {
    /// Its name, for people.
    pub name: String,
}

/// A bill that was brought.
#[derive(Serialize, ToSchema)]
pub struct ChargeBill {
    /// Its name for the API.
    pub id: String,
    /// What the user called it.
    pub name: String,
    /// Octets of it.
    pub octets: u64,
    /// When it was brought.
    #[schema(format = DateTime)]
    pub asked: String,
}

/// Your bills.
#[derive(Serialize, ToSchema)]
pub struct ChargeBills {
    /// The newest first.
    pub bills: Vec<ChargeBill>,
}

/// Whether somebody may have to do with comparisons.
///
/// # Errors
/// They may not see charging, or calls.
pub(super) fn may_compare(who: &Who) -> Result<(), Problem> {
    who.need(Permission::ChargeRead)?;
    who.need(Permission::CallsRead)
}

/// Brings a bill (CSV with a line of titles, as the body) to be compared with calls. It is kept for a day.
#[utoipa::path(
    post, path = "/charge/bills", tag = "charge", params(ChargeBillAsk),
    request_body(content = String, content_type = "text/csv"),
    responses((status = 200, body = ChargeBill), (status = "4XX", body = schema::Problem))
)]
pub async fn bring(
    State(web): State<Arc<Web>>,
    who: Who,
    Ask(ask): Ask<ChargeBillAsk>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<ChargeBill>, Problem> {
    may_compare(&who)?;
    super::charging(&web)?;
    let name = BILL.name(&ask.name)?;
    if who.masked() {
        // Numbers that somebody brings and that are found tell which ones there are.
        let text = "numbers are masked for you: only users who see numbers can compare a bill".to_owned();
        return Err(who.refused(Refusal::Forbidden(text)));
    }
    let octets_max = web.bills.limits().octets;
    web.refuse_without_room(BILL.octets(&headers, octets_max)?).await?;
    who.audit(&web, action::CHARGE_BILL, &name).await?;
    let work = web.bills.take(who.id(), name, who.now_ns)?;
    let mut arriving = Arriving { web: &web, work: Some(Arc::clone(&work)) };
    if let Err(problem) = receive(&web, &work, body, octets_max, &BILL).await {
        web.count(|c| c.rooms_refused += u64::from(problem.kind == Kind::NoRoom));
        return Err(problem);
    }
    arriving.work = None;
    work.finish(Ok(()));
    Ok(Json(shown(&work, &who)))
}

/// What did not come whole is forgotten, whether it was refused or who sent it has gone.
struct Arriving<'a> {
    web: &'a Web,
    work: Option<Arc<Work<String, ()>>>,
}

impl Drop for Arriving<'_> {
    fn drop(&mut self) {
        if let Some(work) = self.work.take() {
            self.web.bills.remove(&work);
        }
    }
}

fn shown(work: &Work<String, ()>, who: &Who) -> ChargeBill {
    ChargeBill {
        id: work.id.clone(),
        name: named(&work.ask, who),
        octets: work.progress.total_octets.load(Ordering::Relaxed),
        asked: rfc3339(work.asked_ns),
    }
}

/// The name of a bill as they may see it.
pub(super) fn named(name: &str, who: &Who) -> String {
    if who.masked() { mask::words(name) } else { name.to_owned() }
}

/// A bill of theirs that came whole.
///
/// # Errors
/// There is none of that name.
pub(super) fn find(web: &Web, who: &Who, id: &str) -> Result<Arc<Work<String, ()>>, Problem> {
    let gone = || Problem::parameter("bill", "The bill was deleted: upload it again.");
    let work = web.bills.find(id, who.id()).map_err(|_| gone())?;
    if matches!(work.state(), (WorkState::Done, ..)) { Ok(work) } else { Err(gone()) }
}

/// Your bills, the newest first.
#[utoipa::path(
    get, path = "/charge/bills", tag = "charge",
    responses((status = 200, body = ChargeBills), (status = "4XX", body = schema::Problem))
)]
pub async fn list(State(web): State<Arc<Web>>, who: Who) -> Result<Json<ChargeBills>, Problem> {
    may_compare(&who)?;
    let all = web.bills.list(who.id());
    let whole = all.iter().filter(|work| matches!(work.state(), (WorkState::Done, ..)));
    Ok(Json(ChargeBills { bills: whole.map(|work| shown(work, &who)).collect() }))
}

/// Removes a bill.
#[utoipa::path(
    delete, path = "/charge/bills/{id}", tag = "charge", params(("id" = String, Path)),
    responses((status = 204), (status = "4XX", body = schema::Problem))
)]
pub async fn remove(State(web): State<Arc<Web>>, who: Who, Path(id): Path<String>) -> Result<StatusCode, Problem> {
    may_compare(&who)?;
    web.bills.remove(&*web.bills.find(&id, who.id())?);
    Ok(StatusCode::NO_CONTENT)
}
