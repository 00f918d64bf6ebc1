//! Registrations.

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

/// Which registrations are wanted.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RegistrationsAsk {
    /// Words that must be found: beginnings of user, address of record, contact, User-Agent, Call-ID; addresses.
    pub q: Option<String>,
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

/// A page of registrations.
#[derive(Serialize, ToSchema)]
pub struct RegistrationsPage {
    /// The registrations.
    pub registrations: Vec<schema::Registration>,
    /// What to hand back as `cursor` for more; null at the end.
    pub next: Option<String>,
    /// Days that could not be read.
    pub skipped: Vec<schema::SkippedDay>,
}

/// Registrations, newest first.
#[utoipa::path(
    get, path = "/registrations", tag = "registrations", params(RegistrationsAsk),
    responses((status = 200, body = RegistrationsPage), (status = "4XX", body = schema::Problem))
)]
pub async fn list(State(web): State<Arc<Web>>, who: Who, Ask(ask): Ask<RegistrationsAsk>) -> Result<Text, Problem> {
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
    let page = web.stores.ask(move |store| store.registrations(&query)).await?;
    Ok(Text::object(|o| {
        o.list("registrations", &page.rows, json::registration);
        ask::page_end(o, page.next, &page.skipped);
    }))
}

/// How many registrations there are.
#[derive(Serialize, ToSchema)]
pub struct RegistrationsSummary {
    /// In all.
    pub total: u64,
    /// With a 2xx.
    pub ok: u64,
    /// With another final response.
    pub failed: u64,
    /// Without one.
    pub unanswered: u64,
    /// Whether all were looked at.
    pub exact: bool,
    /// If not: from then on all were.
    #[schema(format = DateTime)]
    pub seen_from: Option<String>,
}

/// How many registrations there are, by how they ended.
#[utoipa::path(
    get, path = "/registrations/summary", tag = "registrations", params(RegistrationsAsk),
    responses((status = 200, body = RegistrationsSummary), (status = "4XX", body = schema::Problem))
)]
pub async fn summary(State(web): State<Arc<Web>>, who: Who, Ask(ask): Ask<RegistrationsAsk>) -> Result<Text, Problem> {
    who.need(Permission::CallsRead)?;
    let _ = (web, ask);
    Err(Problem::new(crate::problem::Kind::Busy, "Not yet."))
}
