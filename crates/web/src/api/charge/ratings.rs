//! Calls of the store rated by the plans of who made them: one rating at a time, kept for a day; beside: its calls by
//! the page, and as files.

use super::bills::may_compare;
use super::comparisons::span;
use super::listed::{self, Column, Form, Listed, Listing, Row, Wanted};
use super::{charging, order, read};
use crate::api::ask::{self, Ask, Large};
use crate::api::schema;
use crate::auth::{Permission, Refusal, action, mask};
use crate::guard::Who;
use crate::moment;
use crate::paths;
use crate::problem::{Kind, Problem};
use crate::sources::{ChargePlan, ChargeRateAsk, ChargeRated, ChargeRatedCall};
use crate::state::Web;
use crate::work::{AGE_MAX_S, Limits, Places, Shelf, Work, WorkState};
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use trunkline_store::time::rfc3339;
use utoipa::{IntoParams, ToSchema};

/// How ratings are bounded: one at a time. Their files are lists of calls; in memory each takes some four megabytes at
/// most beside it.
pub const RATINGS: Limits = Limits {
    running: 1,
    kept: 64,
    places: Places::OfEach { kept: 8, octets: 512 << 20 },
    waiting_of_one: 1,
    octets: 128 << 20,
    octets_in_all: 4 << 30,
    age_s: Some(AGE_MAX_S),
    lasts: false,
};

/// All of them.
pub type Ratings = Shelf<Asked, Arc<Outcome>>;

/// What was asked, in both forms.
pub struct Asked {
    told: ChargeRatingAsk,
    means: ChargeRateAsk,
}

/// What came of it.
pub struct Outcome {
    rated: ChargeRated,
    listed: Listed<ChargeRatedCall>,
}

/// What is to be rated, and by what.
#[derive(Clone, Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChargeRatingAsk {
    /// From when on, as 2026-11-20, 2026-11-20T10:00:00Z or -1d.
    pub from: Option<String>,
    /// Before then; a day is counted in; left out: now.
    pub to: Option<String>,
    /// The time zone of days and clock times ("Europe/Paris").
    pub tz: Option<String>,
    /// Which calls are told; all are rated, because all use up bundles.
    pub filter: Option<String>,
    /// How numbers are written (`[numbers]` of docs/manual/wire-against-bill.md); left out: only `+` is understood.
    pub profile: Option<String>,
    /// Only calls of accounts under the plan of this name.
    pub plan_name: Option<String>,
    /// A former text of that plan: the entry of the ledger that brought it. It holds in place of the plan.
    pub plan_entry: Option<u64>,
    /// A text that holds in place of the plan of its name; only calls of accounts under that are told.
    pub plan: Option<String>,
    /// The Rating-Group that calls have in the plans.
    pub rating_group: Option<u32>,
    /// The Service-Identifier that calls have in the plans.
    pub service: Option<u32>,
}

/// Calls that were rated, or are.
#[derive(Serialize, ToSchema)]
pub struct ChargeRating {
    /// Its name.
    pub id: String,
    /// How far it is.
    pub state: WorkState,
    /// What is done now, or was last: `payers` (who pays, by the ledger), `filter` (the calls that it wants), `calls`;
    /// null before it begins.
    pub step: Option<String>,
    /// Calls that were read in this step, those before the time among them, as far as bundles reach back.
    pub read: u64,
    /// When it was asked for.
    #[schema(format = DateTime)]
    pub asked: String,
    /// What was asked.
    pub ask: ChargeRatingAsk,
    /// What came of it; null before its end.
    pub rated: Option<ChargeRated>,
    /// Calls that are listed.
    pub listed: u64,
    /// Whether there are more, which only the sums hold.
    pub cut: bool,
    /// Why it failed.
    pub error: Option<String>,
}

/// Your ratings.
#[derive(Serialize, ToSchema)]
pub struct ChargeRatings {
    /// The newest first.
    pub ratings: Vec<ChargeRating>,
}

fn shown(work: &Work<Asked, Arc<Outcome>>, who: &Who) -> ChargeRating {
    let (state, outcome, error) = work.state();
    let words = |text: String| if who.masked() { mask::words(&text) } else { text };
    let listed = outcome.as_ref().map(|outcome| &outcome.listed);
    let mut ask = work.ask.told.clone();
    ask.filter = ask.filter.map(words);
    if who.masked() {
        // Of what somebody brought who sees numbers.
        (ask.profile, ask.plan) = (None, None);
    }
    ChargeRating {
        id: work.id.clone(),
        state,
        step: work.progress.step().map(str::to_owned),
        read: work.progress.calls.load(Ordering::Relaxed),
        asked: rfc3339(work.asked_ns),
        ask,
        listed: listed.map_or(0, |listed| listed.count() as u64),
        cut: listed.is_some_and(Listed::is_cut),
        rated: outcome.map(|outcome| sums(outcome.rated.clone(), who)),
        error: error.map(words),
    }
}

/// Sums as they may see them.
fn sums(mut rated: ChargeRated, who: &Who) -> ChargeRated {
    rated.skipped.iter_mut().for_each(|why| *why = paths::named(why));
    if who.masked() {
        mask::charge_rated(&mut rated);
    }
    rated
}

/// Your ratings, the newest first: they are kept for a day.
#[utoipa::path(
    get, path = "/charge/ratings", tag = "charge",
    responses((status = 200, body = ChargeRatings), (status = "4XX", body = schema::Problem))
)]
pub async fn list(State(web): State<Arc<Web>>, who: Who) -> Result<Json<ChargeRatings>, Problem> {
    may_compare(&who)?;
    let ratings = web.ratings.list(who.id()).iter().map(|work| shown(work, &who)).collect();
    Ok(Json(ChargeRatings { ratings }))
}

/// Rates calls of the store by the plans of the accounts that pay for them; nothing is debited or changed.
#[utoipa::path(
    post, path = "/charge/ratings", tag = "charge", request_body = ChargeRatingAsk,
    responses((status = 202, body = ChargeRating), (status = "4XX", body = schema::Problem))
)]
pub async fn begin(
    State(web): State<Arc<Web>>,
    who: Who,
    Large(told): Large<ChargeRatingAsk>,
) -> Result<(StatusCode, Json<ChargeRating>), Problem> {
    may_compare(&who)?;
    if who.masked() && (told.profile.is_some() || told.plan.is_some()) {
        // Tried one after the other, prefixes of one's own tell the digits of a number.
        let text = "numbers are masked for you: rate by the plans that the node has, without a profile";
        return Err(who.refused(Refusal::Forbidden(text.to_owned())));
    }
    let charging = charging(&web)?;
    let means = means(&web, &who, &told).await?;
    let (checks, checked) = (Arc::clone(&charging), means.clone());
    let check = move || checks.check_comparison(&checked.profile, checked.plan.as_ref().map(|(text, _)| text.as_str()));
    web.look(&web.charge_looks, check).await??;
    web.refuse_without_room(0).await?;
    let object = format!("{} to {}", rfc3339(means.span_ns.0), rfc3339(means.span_ns.1));
    who.audit(&web, action::CHARGE_RATE, &object).await?;
    let work = web.ratings.take(who.id(), Asked { told, means }, who.now_ns)?;
    let writes = Arc::clone(&web);
    web.ratings.run(&work, move |work, cancel| {
        writes.or_no_room(|| {
            let mut listing = Listing::create(&work.path, RATINGS.octets, writes.room.clone())?;
            // What is not listed counts in the sums.
            let mut tell = |call: &ChargeRatedCall| {
                listing.add(call);
            };
            let rated = charging.rate_calls(&work.ask.means, &mut tell, &work.progress, cancel);
            let listed = listing.end()?;
            Ok(Arc::new(Outcome { rated: rated?, listed }))
        })
    });
    Ok((StatusCode::ACCEPTED, Json(shown(&work, &who))))
}

async fn means(web: &Arc<Web>, who: &Who, told: &ChargeRatingAsk) -> Result<ChargeRateAsk, Problem> {
    let zone = moment::zone(told.tz.as_deref())?;
    let span_ns = span(who, told.from.as_deref(), told.to.as_deref(), &zone)?;
    let text = told.plan.clone().filter(|text| !text.trim().is_empty());
    let plan = match (text, told.plan_name.as_deref(), told.plan_entry) {
        (Some(_), Some(_), _) => return Err(Problem::parameter("plan", "The text of a plan, or the name of one.")),
        (Some(text), None, None) => Some((text, 0)),
        (None, Some(name), Some(entry)) => former(web, name, entry).await?,
        (_, None, Some(_)) => return Err(Problem::parameter("plan_entry", "'plan_entry' needs 'plan_name'.")),
        (None, _, None) => None,
    };
    Ok(ChargeRateAsk {
        profile: told.profile.clone().unwrap_or_default(),
        plan,
        plan_name: told.plan_name.clone(),
        span_ns,
        filter: ask::filter_of(web, who, told.filter.as_deref(), &zone)?,
        rating_group: told.rating_group,
        service: told.service,
    })
}

/// A former text of a plan, and its number; none where it is the one that holds.
async fn former(web: &Arc<Web>, name: &str, entry: u64) -> Result<Option<(String, u32)>, Problem> {
    let plan: ChargePlan = order(web, json!({ "do": "plan-text", "name": name })).await?;
    if plan.since == entry {
        return Ok(None);
    }
    // The last of those before it has the number before its own.
    let place = plan.former.iter().rev().position(|known| *known == entry);
    let absent = || Problem::parameter("plan_entry", "The plan has no such version, or one that is too old.");
    let back = u32::try_from(place.ok_or_else(absent)?).unwrap_or(u32::MAX);
    let (text, _) = read(web, move |charging, _| charging.plan_of_entry(entry)).await?;
    Ok(Some((text, plan.version.saturating_sub(back).saturating_sub(1))))
}

/// How far a rating is, and what came of it.
#[utoipa::path(
    get, path = "/charge/ratings/{id}", tag = "charge", params(("id" = String, Path)),
    responses((status = 200, body = ChargeRating), (status = "4XX", body = schema::Problem))
)]
pub async fn show(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(id): Path<String>,
) -> Result<Json<ChargeRating>, Problem> {
    may_compare(&who)?;
    Ok(Json(shown(&*web.ratings.find(&id, who.id())?, &who)))
}

/// Ends a rating, and forgets it.
#[utoipa::path(
    delete, path = "/charge/ratings/{id}", tag = "charge", params(("id" = String, Path)),
    responses((status = 204), (status = "4XX", body = schema::Problem))
)]
pub async fn remove(State(web): State<Arc<Web>>, who: Who, Path(id): Path<String>) -> Result<StatusCode, Problem> {
    may_compare(&who)?;
    web.ratings.remove(&*web.ratings.find(&id, who.id())?);
    Ok(StatusCode::NO_CONTENT)
}

/// Which calls are wanted.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ChargeRatedCallsAsk {
    /// Of these outcomes, between commas; all if nothing is said.
    pub outcome: Option<String>,
    /// To this destination of the plans.
    pub destination: Option<String>,
    /// `oldest` (if nothing is said), `newest`, `most` (money) or `least`.
    pub order: Option<String>,
    /// Rows of a page, 1 to 1000.
    pub limit: Option<u32>,
    /// `next` of the page before.
    pub cursor: Option<String>,
}

impl From<ChargeRatedCallsAsk> for Wanted {
    fn from(ask: ChargeRatedCallsAsk) -> Wanted {
        let ChargeRatedCallsAsk { outcome, destination, order, limit, cursor } = ask;
        Wanted { words: [outcome, destination], sure: None, order, limit, cursor }
    }
}

/// A page of calls.
#[derive(Serialize, ToSchema)]
pub struct ChargeRatedCallsPage {
    /// They.
    pub calls: Vec<ChargeRatedCall>,
    /// How many there are of those that were asked for.
    pub total: u64,
    /// What to hand back as `cursor` for more; null at the end.
    pub next: Option<String>,
}

fn of<T: ToString>(value: Option<&T>) -> String {
    value.map_or_else(String::new, ToString::to_string)
}

impl Row for ChargeRatedCall {
    const COLUMNS: &'static [Column<Self>] = &[
        ("call", |c| c.call.clone()),
        ("caller", |c| c.caller.clone()),
        ("called", |c| c.called.clone()),
        ("answer", |c| c.answer.clone()),
        ("seconds", |c| c.seconds.to_string()),
        ("outcome", |c| c.outcome.clone()),
        ("account", |c| of(c.account.as_ref())),
        ("rule", |c| of(c.rule.as_ref())),
        ("money", |c| of(c.money.as_ref())),
        ("plan", |c| of(c.plan.as_ref())),
        ("plan_version", |c| of(c.plan_version.as_ref())),
        ("currency", |c| of(c.currency.as_ref())),
        ("bundle_seconds", |c| of(c.bundle_seconds.as_ref())),
        ("complete", |c| c.complete.to_string()),
        ("destination", |c| of(c.destination.as_ref())),
        ("prefix", |c| of(c.prefix.as_ref())),
        ("not_understood", |c| of(c.not_understood.as_ref())),
    ];
    const NAME: &'static str = "calls";

    fn words(&self) -> [&str; 2] {
        [&self.outcome, self.destination.as_deref().unwrap_or_default()]
    }

    fn money(&self) -> i64 {
        self.money.unwrap_or(0)
    }

    fn mask(&mut self) {
        mask::charge_rated_call(self);
    }
}

/// The calls of one's rating that is done.
fn outcome(web: &Web, who: &Who, id: &str) -> Result<Arc<Outcome>, Problem> {
    let not_done = || Problem::new(Kind::Conflict, "It is not finished.");
    web.ratings.find(id, who.id())?.state().1.ok_or_else(not_done)
}

/// The calls that were rated, by the page.
#[utoipa::path(
    get, path = "/charge/ratings/{id}/calls", tag = "charge",
    params(("id" = String, Path), ChargeRatedCallsAsk),
    responses((status = 200, body = ChargeRatedCallsPage), (status = "4XX", body = schema::Problem))
)]
pub async fn calls(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(id): Path<String>,
    Ask(asked): Ask<ChargeRatedCallsAsk>,
) -> Result<Json<ChargeRatedCallsPage>, Problem> {
    may_compare(&who)?;
    let (outcome, masked) = (outcome(&web, &who, &id)?, who.masked());
    let page = web.look(&web.charge_reads, move || outcome.listed.page(&asked.into(), masked)).await??;
    Ok(Json(ChargeRatedCallsPage { calls: page.rows, total: page.total, next: page.next }))
}

/// The calls as comma-separated values (RFC 4180) with a line of titles; what a spreadsheet would take for a formula
/// begins with an apostrophe. Where not all are listed, the last line begins with `# incomplete`, and the header
/// `x-trunkline-incomplete` has how many are.
#[utoipa::path(
    get, path = "/charge/ratings/{id}/calls.csv", tag = "charge",
    params(("id" = String, Path), ChargeRatedCallsAsk),
    responses((status = 200, content_type = "text/csv", body = String), (status = "4XX", body = schema::Problem))
)]
pub async fn calls_csv(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(id): Path<String>,
    Ask(asked): Ask<ChargeRatedCallsAsk>,
) -> Result<Response, Problem> {
    file(&web, &who, &id, asked, Form::Csv).await
}

/// The calls as JSON, one object a line. Where not all are listed, the header `x-trunkline-incomplete` has how many
/// are.
#[utoipa::path(
    get, path = "/charge/ratings/{id}/calls.jsonl", tag = "charge",
    params(("id" = String, Path), ChargeRatedCallsAsk),
    responses(
        (status = 200, content_type = "application/x-ndjson", body = String),
        (status = "4XX", body = schema::Problem)
    )
)]
pub async fn calls_jsonl(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(id): Path<String>,
    Ask(asked): Ask<ChargeRatedCallsAsk>,
) -> Result<Response, Problem> {
    file(&web, &who, &id, asked, Form::Json).await
}

async fn file(
    web: &Arc<Web>,
    who: &Who,
    id: &str,
    asked: ChargeRatedCallsAsk,
    form: Form,
) -> Result<Response, Problem> {
    may_compare(who)?;
    who.need(Permission::CallsExport)?;
    let outcome = outcome(web, who, id)?;
    listed::download(web, who, &outcome.listed, (&asked.into(), form), (action::CHARGE_RATED_CALLS, id)).await
}
