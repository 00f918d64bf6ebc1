//! Streams that belong to no call.

use super::ask::{self, Ask, Span, Text};
use super::schema;
use crate::auth::{Permission, mask};
use crate::guard::Who;
use crate::problem::Problem;
use crate::state::Web;
use axum::extract::State;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use trunkline_store::{Query, json};
use utoipa::{IntoParams, ToSchema};

/// Which streams are wanted.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct StreamsAsk {
    /// Streams that start then or later.
    pub from: Option<String>,
    /// Streams that start before then.
    pub to: Option<String>,
    /// `newest` (default) or `oldest` first.
    pub order: Option<String>,
    /// Rows of a page, 1 to 1000.
    pub limit: Option<u32>,
    /// `next` of the page before.
    pub cursor: Option<String>,
}

/// A page of streams.
#[derive(Serialize, ToSchema)]
pub struct StreamsPage {
    /// The streams.
    pub streams: Vec<schema::Stream>,
    /// What to hand back as `cursor` for more; null at the end.
    pub next: Option<String>,
    /// Days that could not be read.
    pub skipped: Vec<schema::SkippedDay>,
}

/// RTP streams that no signalling announced.
#[utoipa::path(
    get, path = "/streams", tag = "calls", params(StreamsAsk),
    responses((status = 200, body = StreamsPage), (status = "4XX", body = schema::Problem))
)]
pub async fn list(State(web): State<Arc<Web>>, who: Who, Ask(ask): Ask<StreamsAsk>) -> Result<Text, Problem> {
    who.need(Permission::CallsRead)?;
    let span = Span::read(ask.from.as_deref(), ask.to.as_deref(), who.now_ns, &TimeZone::UTC)?;
    let query = Query {
        from_ns: span.from_ns,
        to_ns: span.to_ns,
        order: ask::order(ask.order.as_deref())?,
        limit: ask::limit(ask.limit)?,
        cursor: ask::cursor(ask.cursor.as_deref())?,
        ..Query::default()
    };
    let masked = who.masked();
    let asked = web.stores.ask(move |store| {
        let mut page = store.streams_without_call(&query)?;
        if masked {
            page.rows.iter_mut().for_each(mask::stream);
        }
        Ok(Text::object(|o| {
            o.list("streams", &page.rows, json::stream);
            ask::page_end(o, page.next, &page.skipped);
        }))
    });
    asked.await
}
