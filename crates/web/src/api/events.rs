//! Transactions outside calls and registrations.

use super::ask::{self, Ask, Span, Text};
use super::schema;
use crate::guard::{Permission, Who};
use crate::problem::Problem;
use crate::state::Web;
use axum::extract::State;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use trunkline_store::{Query, json};
use utoipa::{IntoParams, ToSchema};

/// Which events are wanted.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct EventsAsk {
    /// Words that must be found: beginnings of From, To, Call-ID, method; addresses.
    pub q: Option<String>,
    /// Only this method.
    pub method: Option<String>,
    /// How they ended: ok, failed, unanswered.
    pub state: Option<String>,
    /// Those that start then or later.
    pub from: Option<String>,
    /// Those that start before then.
    pub to: Option<String>,
    /// `newest` (default) or `oldest` first.
    pub order: Option<String>,
    /// Rows of a page, 1 to 1000.
    pub limit: Option<u32>,
    /// `next` of the page before.
    pub cursor: Option<String>,
}

/// A page of events.
#[derive(Serialize, ToSchema)]
pub struct EventsPage {
    /// The events.
    pub events: Vec<schema::SipEvent>,
    /// What to hand back as `cursor` for more; null at the end.
    pub next: Option<String>,
    /// Days that could not be read.
    pub skipped: Vec<schema::SkippedDay>,
}

/// SIP transactions outside calls and registrations, newest first.
#[utoipa::path(
    get, path = "/events", tag = "registrations", params(EventsAsk),
    responses((status = 200, body = EventsPage), (status = "4XX", body = schema::Problem))
)]
pub async fn list(State(web): State<Arc<Web>>, who: Who, Ask(ask): Ask<EventsAsk>) -> Result<Text, Problem> {
    who.need(Permission::CallsRead)?;
    let span = Span::read(ask.from.as_deref(), ask.to.as_deref(), who.now_ns, &TimeZone::UTC)?;
    let query = Query {
        filter: None,
        from_ns: span.from_ns,
        to_ns: span.to_ns,
        order: ask::order(ask.order.as_deref())?,
        limit: ask::limit(ask.limit)?,
        cursor: ask::cursor(ask.cursor.as_deref())?,
    };
    let page = web.stores.ask(move |store| store.events(&query)).await?;
    Ok(Text::object(|o| {
        o.list("events", &page.rows, json::event);
        ask::page_end(o, page.next, &page.skipped);
    }))
}
