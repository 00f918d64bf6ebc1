//! What the capture itself lost.

use super::ask::{self, Ask, Span, Text};
use super::schema;
use crate::auth::Permission;
use crate::guard::Who;
use crate::problem::Problem;
use crate::state::Web;
use axum::extract::State;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use trunkline_store::row::Loss;
use trunkline_store::{Query, Skipped, Store, StoreError, json};
use utoipa::{IntoParams, ToSchema};

/// Which losses are wanted.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LossesAsk {
    /// Losses that began then or later.
    pub from: Option<String>,
    /// Losses that began before then.
    pub to: Option<String>,
    /// `next` of the page before.
    pub cursor: Option<String>,
}

/// Losses of the capture.
#[derive(Serialize, ToSchema)]
pub struct Losses {
    /// The newest first, at most 1000.
    pub losses: Vec<schema::Loss>,
    /// What to hand back as `cursor` for more; null at the end.
    pub next: Option<String>,
    /// Days that could not be read.
    pub skipped: Vec<schema::SkippedDay>,
}

/// Packets that the capture lost, by place.
#[utoipa::path(
    get, path = "/losses", tag = "packets", params(LossesAsk),
    responses((status = 200, body = Losses), (status = "4XX", body = schema::Problem))
)]
pub async fn list(State(web): State<Arc<Web>>, who: Who, Ask(ask): Ask<LossesAsk>) -> Result<Text, Problem> {
    who.need(Permission::CallsRead)?;
    let span = Span::read(ask.from.as_deref(), ask.to.as_deref(), who.now_ns, &TimeZone::UTC)?;
    let place = ask.cursor.as_deref().filter(|cursor| !cursor.is_empty()).map(Place::read).transpose()?;
    let asked = web.stores.ask_for_a_while(move |store, _| page(store, span.from_ns, span.to_ns, place));
    let page = asked.await?;
    Ok(Text::object(|o| {
        o.list("losses", &page.rows, json::loss);
        o.maybe_text("next", page.next.map(|next| format!("{}.{}", next.since_ns, next.passed)).as_deref());
        ask::skipped(o, &page.skipped);
    }))
}

/// Where a page of losses ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Since when its last loss is counted.
    since_ns: i64,
    /// How many of that moment are passed.
    passed: usize,
}

impl Place {
    fn read(text: &str) -> Result<Self, Problem> {
        let parts = text.split_once('.').and_then(|(at, passed)| Some((at.parse().ok()?, passed.parse().ok()?)));
        let place = parts.filter(|(_, passed)| *passed <= ask::LIMIT_MAX);
        let wrong = || Problem::parameter("cursor", "The cursor is 'next' of the page before, unchanged.");
        place.map(|(since_ns, passed)| Place { since_ns, passed }).ok_or_else(wrong)
    }
}

/// A page of losses.
pub struct Page {
    /// The newest first.
    pub rows: Vec<Loss>,
    /// Where to go on.
    pub next: Option<Place>,
    /// Days that could not be read.
    pub skipped: Vec<Skipped>,
}

/// The newest losses of a span, from where the page before ended.
///
/// # Errors
/// What the store says.
pub fn page(store: &Store, from_ns: i64, to_ns: i64, place: Option<Place>) -> Result<Page, StoreError> {
    let to_ns = place.map_or(to_ns, |place| place.since_ns.saturating_add(1).min(to_ns));
    let passed = place.map_or(0, |place| place.passed);
    let query = Query { from_ns, to_ns, limit: passed + ask::LIMIT_MAX + 1, ..Query::default() };
    let found = store.losses(&query)?;
    let mut rows: Vec<Loss> = found.rows.into_iter().skip(passed).collect();
    let more = rows.len() > ask::LIMIT_MAX;
    rows.truncate(ask::LIMIT_MAX);
    let next = rows.last().filter(|_| more).map(|last| {
        let same = rows.iter().rev().take_while(|loss| loss.since_ns == last.since_ns).count();
        let before = place.filter(|place| place.since_ns == last.since_ns).map_or(0, |place| place.passed);
        Place { since_ns: last.since_ns, passed: same + before }
    });
    Ok(Page { rows, next, skipped: found.skipped })
}
