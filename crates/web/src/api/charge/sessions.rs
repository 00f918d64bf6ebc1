//! Sessions of charging, and what happened in them.

use super::{asked, order, read};
use crate::api::ask::{self, Ask};
use crate::api::schema;
use crate::auth::{Permission, Refusal, action, mask};
use crate::guard::Who;
use crate::problem::{Kind, Problem};
use crate::sources::{Cancel, ChargeDone, ChargeEvent, ChargeNode, ChargeSession, Charging, SourceError, Trouble};
use crate::state::Web;
use axum::Json;
use axum::extract::{Path, State};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use utoipa::{IntoParams, ToSchema};

/// How long a page of sessions is looked for: the node is asked for a piece at a time, and goes on between.
const SEARCH_TIME: Duration = Duration::from_secs(1);

/// Which sessions are wanted.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ChargeSessionsAsk {
    /// Part of the Session-Id or of the access point; not for who sees masked numbers.
    pub q: Option<String>,
    /// Who pays.
    pub account: Option<u64>,
    /// The client (Origin-Host).
    pub origin: Option<String>,
    /// `open`, or `ending` for those that were aborted.
    pub state: Option<String>,
    /// Rows of a page, 1 to 1000.
    pub limit: Option<u32>,
    /// `next` of the page before.
    pub cursor: Option<String>,
}

/// A page of sessions.
#[derive(Serialize, ToSchema)]
pub struct ChargeSessionsPage {
    /// Open sessions, in the order of their places in memory.
    pub sessions: Vec<ChargeSession>,
    /// What to hand back as `cursor` for more; null at the end.
    pub next: Option<String>,
    /// Whether the time was over before the page was full: it goes on with `next`.
    pub stopped: bool,
}

#[derive(Default, Deserialize)]
struct Part {
    sessions: Vec<ChargeSession>,
    next: Option<u32>,
}

/// Open sessions.
#[utoipa::path(
    get, path = "/charge/sessions", tag = "charge", params(ChargeSessionsAsk),
    responses((status = 200, body = ChargeSessionsPage), (status = "4XX", body = schema::Problem))
)]
pub async fn list(
    State(web): State<Arc<Web>>,
    who: Who,
    Ask(ask): Ask<ChargeSessionsAsk>,
) -> Result<Json<ChargeSessionsPage>, Problem> {
    who.need(Permission::ChargeRead)?;
    let limit = ask::limit(ask.limit)?;
    let text = ask.q.filter(|text| !text.is_empty());
    if who.masked() && text.is_some() {
        return Err(masked(&who, "search by account or client"));
    }
    let aborting = match ask.state.as_deref() {
        None | Some("") => None,
        Some("open") => Some(false),
        Some("ending") => Some(true),
        Some(_) => return Err(Problem::parameter("state", "The state is open or ending.")),
    };
    let wrong = |_| Problem::parameter("cursor", "The cursor is 'next' of the page before, unchanged.");
    let from = ask.cursor.as_deref().filter(|c| !c.is_empty()).map(|c| c.parse::<u32>().map_err(wrong)).transpose()?;
    let origin = ask.origin.filter(|origin| !origin.is_empty());
    let sought = json!({
        "do": "sessions", "account": ask.account, "text": text, "origin": origin, "aborting": aborting,
    });
    let mut page = asked(&web, move |charging| pieces(charging, sought, from.unwrap_or(0), limit)).await?;
    if who.masked() {
        page.sessions.iter_mut().for_each(mask::charge_session);
    }
    Ok(Json(page))
}

fn masked(who: &Who, how: &str) -> Problem {
    who.refused(Refusal::Forbidden(format!("numbers are masked for you: {how}")))
}

/// Asks piece by piece until the page is full, all were looked at, or it took too long.
fn pieces(
    charging: &dyn Charging,
    mut sought: Value,
    from: u32,
    limit: usize,
) -> Result<ChargeSessionsPage, SourceError> {
    let (end, mut sessions, mut next) = (Instant::now() + SEARCH_TIME, Vec::new(), Some(from));
    while let Some(from) = next.filter(|_| sessions.len() < limit && Instant::now() < end) {
        sought["from"] = from.into();
        sought["limit"] = (limit - sessions.len()).into();
        let part: Part = serde_json::from_value(charging.order(&sought)?)
            .map_err(|error| SourceError::new(Trouble::Failed, error.to_string()))?;
        sessions.extend(part.sessions);
        next = part.next;
    }
    let stopped = next.is_some() && sessions.len() < limit;
    Ok(ChargeSessionsPage { sessions, next: next.map(|next| next.to_string()), stopped })
}

/// An open session, by its key.
#[utoipa::path(
    get, path = "/charge/sessions/{key}", tag = "charge", params(("key" = String, Path)),
    responses((status = 200, body = ChargeSession), (status = "4XX", body = schema::Problem))
)]
pub async fn show(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(key): Path<String>,
) -> Result<Json<ChargeSession>, Problem> {
    who.need(Permission::ChargeRead)?;
    let mut session: ChargeSession = order(&web, json!({ "do": "show-session", "key": key })).await?;
    who.audit(&web, action::CHARGE_SEE, &session.session).await?;
    if who.masked() {
        mask::charge_session(&mut session);
    }
    Ok(Json(session))
}

/// Which session.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ChargeTimelineAsk {
    /// The key of an open one.
    pub key: Option<String>,
    /// The Session-Id of any; not for who sees masked numbers.
    pub session: Option<String>,
    /// `next` of the part before.
    pub cursor: Option<String>,
}

/// What happened in a session.
#[derive(Serialize, ToSchema)]
pub struct ChargeTimelinePage {
    /// The oldest first.
    pub events: Vec<ChargeEvent>,
    /// What to hand back as `cursor` for what came after; null once the session is over.
    pub next: Option<String>,
}

/// What happened in a session, out of the ledger: requests answered, grants, charges, its end.
#[utoipa::path(
    get, path = "/charge/timeline", tag = "charge", params(ChargeTimelineAsk),
    responses((status = 200, body = ChargeTimelinePage), (status = "4XX", body = schema::Problem))
)]
pub async fn timeline(
    State(web): State<Arc<Web>>,
    who: Who,
    Ask(ask): Ask<ChargeTimelineAsk>,
) -> Result<Json<ChargeTimelinePage>, Problem> {
    who.need(Permission::ChargeRead)?;
    let named = match (ask.key, ask.session) {
        (_, Some(_)) if who.masked() => return Err(masked(&who, "ask by the key of a session")),
        (Some(key), None) => Ok(key),
        (None, Some(session)) => Err(session),
        _ => return Err(Problem::parameter("key", "The key of a session, or its Session-Id.")),
    };
    let object = named.clone().unwrap_or_else(|session| session);
    who.audit(&web, action::CHARGE_SEE, &object).await?;
    let from = ask.cursor.as_deref().filter(|c| !c.is_empty()).map(place).transpose()?;
    let told = read(&web, move |charging, cancel| past(charging, named, from, cancel)).await?;
    let mut events = told.events;
    if who.masked() {
        events.iter_mut().for_each(mask::charge_event);
    }
    let next = told.next.map(|(slot, next)| format!("{slot}.{next}"));
    Ok(Json(ChargeTimelinePage { events, next }))
}

fn place(text: &str) -> Result<(u32, u64), Problem> {
    let read = text.split_once('.').and_then(|(slot, next)| Some((slot.parse().ok()?, next.parse().ok()?)));
    read.ok_or_else(|| Problem::parameter("cursor", "The cursor is 'next' of the part before, unchanged."))
}

fn past(
    charging: &dyn Charging,
    named: Result<String, String>,
    from: Option<(u32, u64)>,
    cancel: &Cancel,
) -> Result<crate::sources::ChargeTimeline, SourceError> {
    let read = |error: serde_json::Error| SourceError::new(Trouble::Failed, error.to_string());
    let session = match named {
        Ok(key) => {
            let reply = charging.order(&json!({ "do": "show-session", "key": key }))?;
            serde_json::from_value::<ChargeSession>(reply).map_err(read)?.session
        }
        Err(session) => session,
    };
    let node: ChargeNode =
        serde_json::from_value(super::leads(charging.order(&json!({ "do": "status" }))?)?).map_err(read)?;
    charging.timeline(&session, from, node.sequence.saturating_add(1), cancel)
}

/// Ends a session: nothing more is granted, and its client is asked to end it (ASR).
#[utoipa::path(
    post, path = "/charge/sessions/{key}/abort", tag = "charge", params(("key" = String, Path)),
    responses((status = 200, body = ChargeDone), (status = "4XX", body = schema::Problem))
)]
pub async fn abort(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(key): Path<String>,
) -> Result<Json<ChargeDone>, Problem> {
    who.need(Permission::ChargeOperate)?;
    let session: ChargeSession = order(&web, json!({ "do": "show-session", "key": key })).await?;
    let end = order::<ChargeDone>(&web, json!({ "do": "abort", "session": session.session }));
    let done = who.audited(&web, action::CHARGE_ABORT, &session.session, end).await?;
    super::accounts::shown(&who, done).map(Json)
}

/// What is no number where one has to be.
pub(super) fn number(name: &str, text: &str) -> Result<u64, Problem> {
    text.parse().map_err(|_| Problem::new(Kind::NotFound, format!("There is no such {name}.")))
}
