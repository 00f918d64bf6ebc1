//! Calls beside a bill, or beside what was charged online: one comparison at a time, for each reads much of the store.
//! What came of it is kept for a day; beside: its differences by the page.

use super::bills::{self, may_compare};
use super::listed::{Listed, Listing};
use super::{charging, order};
use crate::api::ask::{self, Large};
use crate::api::schema;
use crate::auth::{Refusal, action, mask};
use crate::guard::Who;
use crate::moment::{self, End};
use crate::paths;
use crate::problem::Problem;
use crate::sources::{ChargeCompareAsk, ChargeCompared, ChargeDifference, ChargePlan};
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
use trunkline_store::time::rfc3339;
use utoipa::ToSchema;

/// How comparisons are bounded: one at a time. Their files are lists of differences; in memory each takes some three
/// megabytes at most beside it.
pub const COMPARISONS: Limits = Limits {
    running: 1,
    kept: 64,
    places: Places::OfEach { kept: 8, octets: 512 << 20 },
    waiting_of_one: 1,
    octets: 128 << 20,
    octets_in_all: 4 << 30,
    age_s: Some(AGE_MAX_S),
    lasts: false,
};
/// The longest silence, and the most that clocks may differ, seconds: a day.
const SECONDS_MAX: f64 = 86_400.0;
/// How far begins may be apart at most, seconds: each call is held beside all lines that begin so near.
const BEGIN_MAX: f64 = 300.0;
/// How far lengths may be apart at most, seconds.
const LENGTH_MAX: f64 = 600.0;

/// All of them.
pub type Comparisons = Shelf<Asked, Arc<Outcome>>;

/// What was asked, in both forms.
pub struct Asked {
    told: ChargeComparisonAsk,
    bill_name: Option<String>,
    means: ChargeCompareAsk,
}

/// What came of it.
pub struct Outcome {
    /// The sums.
    pub compared: ChargeCompared,
    /// The differences.
    pub listed: Listed<ChargeDifference>,
}

/// What is to be compared.
#[derive(Clone, Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChargeComparisonAsk {
    /// A bill that was brought: its `id`; left out: what was charged online.
    pub bill: Option<String>,
    /// How numbers and the bill are written (docs/manual/wire-against-bill.md); left out: `+` and plain columns.
    pub profile: Option<String>,
    /// The text of the plan that says what lines should cost.
    pub plan: Option<String>,
    /// A plan of the charging node, in place of a text.
    pub plan_name: Option<String>,
    /// From when on, as 2026-11-20, 2026-11-20T10:00:00Z or -1d; left out with a bill: all days that it touches.
    pub from: Option<String>,
    /// Before then; a day is counted in; left out: now.
    pub to: Option<String>,
    /// The time zone of days and clock times ("Europe/Paris").
    pub tz: Option<String>,
    /// Which calls have to have a line; lines of others are left out.
    pub filter: Option<String>,
    /// How far begins may be apart, seconds, 300 at most; left out: 10.
    pub begin_s: Option<f64>,
    /// How far lengths may be apart, seconds, 600 at most; left out: 2.
    pub length_s: Option<f64>,
    /// How many seconds the bill's clock is ahead; left out: it is measured.
    pub ahead_s: Option<f64>,
    /// Where nothing is seen for so long nothing was captured, seconds, a minute at least; left out: 3600.
    pub silence_s: Option<f64>,
    /// The Rating-Group that calls have in the plan, and in what was charged online.
    pub rating_group: Option<u32>,
}

/// A comparison.
#[derive(Serialize, ToSchema)]
pub struct ChargeComparison {
    /// Its name.
    pub id: String,
    /// How far it is.
    pub state: WorkState,
    /// What is done now, or was last: `bill` (its lines are read), `charges`, `payers` (who pays, by the ledger),
    /// `filter` (the calls that it wants), `calls`, `captured` (what of the time was), `pairs`, `lists`; null before it
    /// begins.
    pub step: Option<String>,
    /// What was read in this step: lines, charges, calls.
    pub read: u64,
    /// When it was asked for.
    #[schema(format = DateTime)]
    pub asked: String,
    /// What was asked.
    pub ask: ChargeComparisonAsk,
    /// What the bill is called; null without one.
    pub bill_name: Option<String>,
    /// What came of it; null before its end.
    pub compared: Option<ChargeCompared>,
    /// Differences that are listed.
    pub listed: u64,
    /// Whether there are more, which only the sums hold.
    pub cut: bool,
    /// Why it failed.
    pub error: Option<String>,
}

/// Your comparisons.
#[derive(Serialize, ToSchema)]
pub struct ChargeComparisons {
    /// The newest first.
    pub comparisons: Vec<ChargeComparison>,
}

fn shown(work: &Work<Asked, Arc<Outcome>>, who: &Who) -> ChargeComparison {
    let (state, outcome, error) = work.state();
    let words = |text: String| if who.masked() { mask::words(&text) } else { text };
    let listed = outcome.as_ref().map(|outcome| &outcome.listed);
    let mut ask = work.ask.told.clone();
    ask.filter = ask.filter.map(words);
    ChargeComparison {
        id: work.id.clone(),
        state,
        step: work.progress.step().map(str::to_owned),
        read: work.progress.calls.load(Ordering::Relaxed),
        asked: rfc3339(work.asked_ns),
        ask,
        bill_name: work.ask.bill_name.as_deref().map(|name| bills::named(name, who)),
        listed: listed.map_or(0, |listed| listed.count() as u64),
        cut: listed.is_some_and(Listed::is_cut),
        compared: outcome.map(|outcome| sums(outcome.compared.clone(), who)),
        error: error.map(words),
    }
}

/// Sums as they may see them: what cannot be read of a bill may be a number.
fn sums(mut compared: ChargeCompared, who: &Who) -> ChargeCompared {
    compared.skipped.iter_mut().for_each(|why| *why = paths::named(why));
    if who.masked() {
        compared.unread_lines.iter_mut().for_each(|line| line.what = mask::words(&line.what));
    }
    compared
}

/// Your comparisons, the newest first: they are kept for a day.
#[utoipa::path(
    get, path = "/charge/comparisons", tag = "charge",
    responses((status = 200, body = ChargeComparisons), (status = "4XX", body = schema::Problem))
)]
pub async fn list(State(web): State<Arc<Web>>, who: Who) -> Result<Json<ChargeComparisons>, Problem> {
    may_compare(&who)?;
    let comparisons = web.comparisons.list(who.id()).iter().map(|work| shown(work, &who)).collect();
    Ok(Json(ChargeComparisons { comparisons }))
}

/// Compares calls of the store with a bill that was brought, or with what was charged online; nothing changes.
#[utoipa::path(
    post, path = "/charge/comparisons", tag = "charge", request_body = ChargeComparisonAsk,
    responses((status = 202, body = ChargeComparison), (status = "4XX", body = schema::Problem))
)]
pub async fn begin(
    State(web): State<Arc<Web>>,
    who: Who,
    Large(told): Large<ChargeComparisonAsk>,
) -> Result<(StatusCode, Json<ChargeComparison>), Problem> {
    may_compare(&who)?;
    if who.masked() && brings_numbers(&told) {
        let text = "numbers are masked for you: compare online charges, without a profile or a plan";
        return Err(who.refused(Refusal::Forbidden(text.to_owned())));
    }
    let charging = charging(&web)?;
    let bill = told.bill.as_deref().map(|id| bills::find(&web, &who, id)).transpose()?;
    let bill_name = bill.as_ref().map(|bill| bill.ask.clone());
    let plan = plan(&web, &told).await?;
    let means = ChargeCompareAsk { bill: bill.map(|bill| bill.path.clone()), plan, ..means(&web, &who, &told)? };
    let (checks, checked) = (Arc::clone(&charging), means.clone());
    web.look(&web.charge_looks, move || checks.check_comparison(&checked.profile, checked.plan.as_deref())).await??;
    web.refuse_without_room(0).await?;
    let object = format!("{} {}", bill_name.as_deref().unwrap_or("online"), span_of(&means));
    who.audit(&web, action::CHARGE_COMPARE, &object).await?;
    let work = web.comparisons.take(who.id(), Asked { told, bill_name, means }, who.now_ns)?;
    let writes = Arc::clone(&web);
    web.comparisons.run(&work, move |work, cancel| {
        writes.or_no_room(|| {
            let mut listing = Listing::create(&work.path, COMPARISONS.octets, writes.room.clone())?;
            let compared = charging.compare(&work.ask.means, &mut |one| listing.add(one), &work.progress, cancel);
            let listed = listing.end()?;
            Ok(Arc::new(Outcome { compared: compared?, listed }))
        })
    });
    Ok((StatusCode::ACCEPTED, Json(shown(&work, &who))))
}

/// Whether it brings numbers or prefixes: tried one after the other, they tell the digits of a number. Who may change
/// plans of the node could bring theirs by name.
fn brings_numbers(told: &ChargeComparisonAsk) -> bool {
    [&told.bill, &told.profile, &told.plan, &told.plan_name].into_iter().any(Option::is_some)
}

fn span_of(means: &ChargeCompareAsk) -> String {
    let told = |(from, to): (i64, i64)| format!("{} to {}", rfc3339(from), rfc3339(to));
    means.span_ns.map_or_else(|| "all its days".to_owned(), told)
}

/// The text of the plan that lines are held against.
async fn plan(web: &Arc<Web>, told: &ChargeComparisonAsk) -> Result<Option<String>, Problem> {
    match (&told.plan, &told.plan_name) {
        (Some(_), Some(_)) => Err(Problem::parameter("plan", "The text of a plan, or the name of one.")),
        (Some(text), None) => Ok(Some(text.clone()).filter(|text| !text.trim().is_empty())),
        (None, Some(name)) => {
            let plan: ChargePlan = order(web, json!({ "do": "plan-text", "name": name })).await?;
            Ok(Some(plan.text))
        }
        (None, None) => Ok(None),
    }
}

fn means(web: &Web, who: &Who, told: &ChargeComparisonAsk) -> Result<ChargeCompareAsk, Problem> {
    let zone = moment::zone(told.tz.as_deref())?;
    let is_whole = told.bill.is_some() && told.from.is_none() && told.to.is_none();
    let span_ns = (!is_whole).then(|| span(who, told.from.as_deref(), told.to.as_deref(), &zone)).transpose()?;
    Ok(ChargeCompareAsk {
        bill: None,
        profile: told.profile.clone().unwrap_or_default(),
        plan: None,
        span_ns,
        filter: ask::filter_of(web, who, told.filter.as_deref(), &zone)?,
        begin_ms: milliseconds("begin_s", told.begin_s, (0.0, BEGIN_MAX))?.unwrap_or(10_000),
        length_ms: milliseconds("length_s", told.length_s, (0.0, LENGTH_MAX))?.unwrap_or(2000),
        ahead_ms: milliseconds("ahead_s", told.ahead_s, (-SECONDS_MAX, SECONDS_MAX))?,
        silence_ms: milliseconds("silence_s", told.silence_s, (60.0, SECONDS_MAX))?.unwrap_or(3_600_000),
        rating_group: told.rating_group,
    })
}

/// From when to when; until now, where that is not said.
pub(super) fn span(who: &Who, from: Option<&str>, to: Option<&str>, zone: &TimeZone) -> Result<(i64, i64), Problem> {
    let from = moment::maybe("from", from, End::From, who.now_ns, zone)?;
    let to = moment::maybe("to", to, End::To, who.now_ns, zone)?.unwrap_or(who.now_ns);
    match from {
        Some(from) if from < to => Ok((from, to)),
        Some(_) => Err(Problem::parameter("to", "'to' must be after 'from'.")),
        None => Err(Problem::parameter("from", "'from' is required.")),
    }
}

fn milliseconds(name: &'static str, seconds: Option<f64>, (least, most): (f64, f64)) -> Result<Option<i64>, Problem> {
    match seconds {
        Some(seconds) if (least..=most).contains(&seconds) => Ok(Some((seconds * 1000.0) as i64)),
        Some(_) => Err(Problem::parameter(name, format!("Seconds, from {least} to {most}."))),
        None => Ok(None),
    }
}

/// How far a comparison is, and what came of it.
#[utoipa::path(
    get, path = "/charge/comparisons/{id}", tag = "charge", params(("id" = String, Path)),
    responses((status = 200, body = ChargeComparison), (status = "4XX", body = schema::Problem))
)]
pub async fn show(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(id): Path<String>,
) -> Result<Json<ChargeComparison>, Problem> {
    may_compare(&who)?;
    Ok(Json(shown(&*web.comparisons.find(&id, who.id())?, &who)))
}

/// Ends a comparison, and forgets it.
#[utoipa::path(
    delete, path = "/charge/comparisons/{id}", tag = "charge", params(("id" = String, Path)),
    responses((status = 204), (status = "4XX", body = schema::Problem))
)]
pub async fn remove(State(web): State<Arc<Web>>, who: Who, Path(id): Path<String>) -> Result<StatusCode, Problem> {
    may_compare(&who)?;
    web.comparisons.remove(&*web.comparisons.find(&id, who.id())?);
    Ok(StatusCode::NO_CONTENT)
}
