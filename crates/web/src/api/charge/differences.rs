//! The differences that a comparison found: by the page, and as files.

use super::bills::may_compare;
use super::comparisons::Outcome;
use super::listed::{self, Column, Form, Row, Wanted};
use crate::api::ask::Ask;
use crate::api::schema;
use crate::auth::{Permission, action, mask};
use crate::guard::Who;
use crate::problem::{Kind, Problem};
use crate::sources::{ChargeDifference, ChargeDifferenceLine};
use crate::state::Web;
use axum::Json;
use axum::extract::{Path, State};
use axum::response::Response;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// Which differences are wanted.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ChargeDifferencesAsk {
    /// Of these kinds, between commas; all if nothing is said.
    pub kind: Option<String>,
    /// `true`: those that are certain; `false`: those that cannot be said.
    pub sure: Option<bool>,
    /// `oldest` (if nothing is said), `newest`, `most` (money in dispute, either way) or `least`.
    pub order: Option<String>,
    /// Rows of a page, 1 to 1000.
    pub limit: Option<u32>,
    /// `next` of the page before.
    pub cursor: Option<String>,
}

/// A page of differences.
#[derive(Serialize, ToSchema)]
pub struct ChargeDifferencesPage {
    /// They.
    pub differences: Vec<ChargeDifference>,
    /// How many there are of those that were asked for.
    pub total: u64,
    /// What to hand back as `cursor` for more; null at the end.
    pub next: Option<String>,
}

impl From<ChargeDifferencesAsk> for Wanted {
    fn from(ask: ChargeDifferencesAsk) -> Wanted {
        let ChargeDifferencesAsk { kind, sure, order, limit, cursor } = ask;
        Wanted { words: [kind, None], sure, order, limit, cursor }
    }
}

impl Row for ChargeDifference {
    const COLUMNS: &'static [Column<Self>] = &[
        ("kind", |d| d.kind.clone()),
        ("at", |d| d.at.clone()),
        ("sure", |d| d.sure.to_string()),
        ("why", |d| d.why.clone().unwrap_or_default()),
        ("call.id", |d| of(d.call.as_ref(), |call| call.id.clone())),
        ("call.caller", |d| of(d.call.as_ref(), |call| call.caller.clone())),
        ("call.called", |d| of(d.call.as_ref(), |call| call.called.clone())),
        ("call.start", |d| of(d.call.as_ref(), |call| call.start.clone())),
        ("call.answer", |d| of(d.call.as_ref(), |call| call.answer.clone().unwrap_or_default())),
        ("call.duration_ms", |d| of(d.call.as_ref(), |call| call.duration_ms.to_string())),
        ("call.seen", |d| of(d.call.as_ref(), |call| call.seen.clone())),
        ("line", |d| line_of(d.line.as_ref())),
        ("line.caller", |d| of(d.line.as_ref(), |line| line.caller.clone())),
        ("line.called", |d| of(d.line.as_ref(), |line| line.called.clone())),
        ("line.begin", |d| of(d.line.as_ref(), |line| line.begin.clone())),
        ("line.duration_ms", |d| of(d.line.as_ref(), |line| line.duration_ms.to_string())),
        ("line.amount_micros", |d| of(d.line.as_ref(), |line| of(line.amount_micros.as_ref(), i64::to_string))),
        ("other", |d| line_of(d.other.as_ref())),
        ("other.begin", |d| of(d.other.as_ref(), |line| line.begin.clone())),
        ("dispute_micros", |d| of(d.dispute_micros.as_ref(), i64::to_string)),
        ("price_micros", |d| of(d.price_micros.as_ref(), i64::to_string)),
    ];
    const NAME: &'static str = "differences";

    fn words(&self) -> [&str; 2] {
        [&self.kind, ""]
    }

    fn is_sure(&self) -> bool {
        self.sure
    }

    fn money(&self) -> i64 {
        self.dispute_micros.unwrap_or(0)
    }

    fn mask(&mut self) {
        mask::charge_difference(self);
    }
}

fn of<T>(value: Option<&T>, text: impl Fn(&T) -> String) -> String {
    value.map_or_else(String::new, text)
}

fn line_of(line: Option<&ChargeDifferenceLine>) -> String {
    of(line, |line| line.line.map(|line| line.to_string()).or_else(|| line.session.clone()).unwrap_or_default())
}

/// The differences of one's comparison that is done.
fn outcome(web: &Web, who: &Who, id: &str) -> Result<Arc<Outcome>, Problem> {
    let not_done = || Problem::new(Kind::Conflict, "It is not finished.");
    web.comparisons.find(id, who.id())?.state().1.ok_or_else(not_done)
}

/// The differences that a comparison found, by the page.
#[utoipa::path(
    get, path = "/charge/comparisons/{id}/differences", tag = "charge",
    params(("id" = String, Path), ChargeDifferencesAsk),
    responses((status = 200, body = ChargeDifferencesPage), (status = "4XX", body = schema::Problem))
)]
pub async fn list(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(id): Path<String>,
    Ask(asked): Ask<ChargeDifferencesAsk>,
) -> Result<Json<ChargeDifferencesPage>, Problem> {
    may_compare(&who)?;
    let (outcome, masked) = (outcome(&web, &who, &id)?, who.masked());
    let page = web.look(&web.charge_reads, move || outcome.listed.page(&asked.into(), masked)).await??;
    Ok(Json(ChargeDifferencesPage { differences: page.rows, total: page.total, next: page.next }))
}

/// The differences as comma-separated values (RFC 4180) with a line of titles; what a spreadsheet would take for a
/// formula begins with an apostrophe. Where not all are listed, the last line begins with `# incomplete`, and the
/// header `x-trunkline-incomplete` has how many are.
#[utoipa::path(
    get, path = "/charge/comparisons/{id}/differences.csv", tag = "charge",
    params(("id" = String, Path), ChargeDifferencesAsk),
    responses((status = 200, content_type = "text/csv", body = String), (status = "4XX", body = schema::Problem))
)]
pub async fn csv(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(id): Path<String>,
    Ask(asked): Ask<ChargeDifferencesAsk>,
) -> Result<Response, Problem> {
    file(&web, &who, &id, asked, Form::Csv).await
}

/// The differences as JSON, one object a line. Where not all are listed, the header `x-trunkline-incomplete` has how
/// many are.
#[utoipa::path(
    get, path = "/charge/comparisons/{id}/differences.jsonl", tag = "charge",
    params(("id" = String, Path), ChargeDifferencesAsk),
    responses(
        (status = 200, content_type = "application/x-ndjson", body = String),
        (status = "4XX", body = schema::Problem)
    )
)]
pub async fn json(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(id): Path<String>,
    Ask(asked): Ask<ChargeDifferencesAsk>,
) -> Result<Response, Problem> {
    file(&web, &who, &id, asked, Form::Json).await
}

async fn file(
    web: &Arc<Web>,
    who: &Who,
    id: &str,
    asked: ChargeDifferencesAsk,
    form: Form,
) -> Result<Response, Problem> {
    may_compare(who)?;
    who.need(Permission::CallsExport)?;
    let outcome = outcome(web, who, id)?;
    listed::download(web, who, &outcome.listed, (&asked.into(), form), (action::CHARGE_DIFFERENCES, id)).await
}
