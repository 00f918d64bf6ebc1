//! Plans that are tried out against what was used: one at a time, for each reads much of the ledger.

use super::charging;
use crate::api::ask::Large;
use crate::api::schema;
use crate::auth::{Permission, action};
use crate::guard::Who;
use crate::moment::{self, End};
use crate::paths;
use crate::problem::{Kind, Problem};
use crate::sources::{Cancel, ChargeTried, ChargeTryAsk, Progress, SourceError, Trouble};
use crate::state::Web;
use crate::work::{Owner, WorkState};
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use trunkline_store::time::rfc3339;
use utoipa::ToSchema;

/// Those that are kept, the newest; they live in memory.
pub const TRYOUTS_MAX: usize = 16;

/// All of them.
#[derive(Default)]
pub struct Tryouts(Mutex<(u64, VecDeque<Arc<Tryout>>)>);

/// One of them.
struct Tryout {
    id: String,
    owner: Owner,
    asked_ns: i64,
    ask: ChargeTryAsk,
    progress: Progress,
    cancel: Cancel,
    end: Mutex<Option<Result<ChargeTried, SourceError>>>,
}

fn held<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Tryouts {
    /// Takes one up if none is under way.
    fn take(&self, owner: Owner, ask: ChargeTryAsk, now_ns: i64) -> Result<Arc<Tryout>, Problem> {
        let (last, all) = &mut *held(&self.0);
        if all.iter().any(|tryout| held(&tryout.end).is_none()) {
            let text = "Another plan is being tried out: wait for it, or cancel it.";
            return Err(Problem::new(Kind::Busy, text).retry_after(10));
        }
        while all.len() >= TRYOUTS_MAX {
            all.pop_front();
        }
        *last += 1;
        let (id, progress, cancel) = (format!("{now_ns:x}-{last}"), Progress::default(), Cancel::default());
        let tryout = Arc::new(Tryout { id, owner, asked_ns: now_ns, ask, progress, cancel, end: Mutex::default() });
        all.push_back(Arc::clone(&tryout));
        Ok(tryout)
    }

    fn find(&self, id: &str, owner: Owner) -> Result<Arc<Tryout>, Problem> {
        let all = &held(&self.0).1;
        let found = all.iter().find(|tryout| tryout.id == id && tryout.owner == owner);
        found.cloned().ok_or_else(|| Problem::new(Kind::NotFound, "There is no such try-out of yours."))
    }

    fn remove(&self, id: &str) {
        held(&self.0).1.retain(|tryout| tryout.id != id);
    }
}

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

fn shown(tryout: &Tryout) -> ChargeTryout {
    let (state, tried, error) = match &*held(&tryout.end) {
        None => (WorkState::Running, None, None),
        Some(Ok(tried)) => (WorkState::Done, Some(tried.clone()), None),
        Some(Err(error)) if error.trouble == Trouble::Cancelled => (WorkState::Cancelled, None, None),
        Some(Err(error)) => (WorkState::Failed, None, Some(paths::named(&error.text))),
    };
    ChargeTryout {
        id: tryout.id.clone(),
        state,
        read: tryout.progress.packets.load(Ordering::Relaxed),
        total: tryout.progress.total_octets.load(Ordering::Relaxed),
        from: rfc3339(tryout.ask.from.saturating_mul(1_000_000_000)),
        to: rfc3339(tryout.ask.to.saturating_mul(1_000_000_000)),
        asked: rfc3339(tryout.asked_ns),
        tried,
        error,
    }
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
    let second = |ns: i64| ns.div_euclid(1_000_000_000);
    let ask = ChargeTryAsk { text: ask.text, from: second(from), to: second(to) };
    let tryout = web.tryouts.take(who.id(), ask, who.now_ns)?;
    let work = Arc::clone(&tryout);
    tokio::task::spawn_blocking(move || {
        // Whatever happens it ends: one that is under way keeps all others out.
        let tries = || charging.try_out(&work.ask, &work.progress, &work.cancel);
        let tried = std::panic::catch_unwind(std::panic::AssertUnwindSafe(tries));
        let failed = |_| Err(SourceError::new(Trouble::Failed, "it failed; this is a defect of Trunkline"));
        *held(&work.end) = Some(tried.unwrap_or_else(failed));
    });
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
    let tryout = web.tryouts.find(&id, who.id())?;
    tryout.cancel.cancel();
    if held(&tryout.end).is_some() {
        web.tryouts.remove(&id);
    }
    Ok(StatusCode::NO_CONTENT)
}
