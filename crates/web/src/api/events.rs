//! Transactions outside calls and registrations.

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
use trunkline_store::json::{self, Object};
use trunkline_store::row::SipEvent;
use trunkline_store::search::Search;
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

impl EventsAsk {
    /// As the store asks it.
    ///
    /// # Errors
    /// What is wrong with it.
    fn search(self, who: &Who) -> Result<Search, Problem> {
        let span = Span::read(self.from.as_deref(), self.to.as_deref(), who.now_ns, &TimeZone::UTC)?;
        Ok(Search {
            text: ask::search_of(who, self.q)?,
            state: ask::outcome(self.state.as_deref())?,
            method: self.method.unwrap_or_default(),
            from_ns: span.from_ns,
            to_ns: span.to_ns,
            order: ask::order(self.order.as_deref())?,
            limit: ask::limit(self.limit)?,
            cursor: ask::cursor(self.cursor.as_deref())?,
            ..Search::default()
        })
    }
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
    /// Whether the search was given up after some seconds before the page was full: `next` goes on.
    pub stopped: bool,
}

/// SIP transactions outside calls and registrations, newest first.
#[utoipa::path(
    get, path = "/events", tag = "registrations", params(EventsAsk),
    responses((status = 200, body = EventsPage), (status = "4XX", body = schema::Problem))
)]
pub async fn list(State(web): State<Arc<Web>>, who: Who, Ask(ask): Ask<EventsAsk>) -> Result<Text, Problem> {
    who.need(Permission::CallsRead)?;
    let search = ask.search(&who)?;
    let masked = who.masked();
    let asked = web.stores.ask_for_a_while(move |store, stop| {
        let mut page = store.search_events(&Search { stop, ..search })?;
        if masked {
            page.rows.iter_mut().for_each(mask::event);
        }
        Ok(Text::object(|o| {
            o.list("events", &page.rows, json::event);
            ask::page_end(o, page.next, &page.skipped);
            o.bool("stopped", page.stopped);
        }))
    });
    asked.await
}

/// How many events there are.
#[derive(Serialize, ToSchema)]
pub struct EventsSummary {
    /// In all.
    pub total: u64,
    /// With a 2xx.
    pub ok: u64,
    /// With another final response.
    pub failed: u64,
    /// Without one.
    pub unanswered: u64,
    /// By method, by name.
    pub methods: Vec<MethodCount>,
    /// Whether all were looked at.
    pub exact: bool,
    /// If not: from then on all were.
    #[schema(format = DateTime)]
    pub seen_from: Option<String>,
    /// Days that could not be read.
    pub skipped: Vec<schema::SkippedDay>,
}

/// How many events of a method there are.
#[derive(Serialize, ToSchema)]
pub struct MethodCount {
    /// The method.
    pub method: String,
    /// How many.
    pub count: u64,
}

/// How many events there are, by how they ended and by method.
#[utoipa::path(
    get, path = "/events/summary", tag = "registrations", params(EventsAsk),
    responses((status = 200, body = EventsSummary), (status = "4XX", body = schema::Problem))
)]
pub async fn summary(State(web): State<Arc<Web>>, who: Who, Ask(ask): Ask<EventsAsk>) -> Result<Text, Problem> {
    who.need(Permission::CallsRead)?;
    let search = ask.search(&who)?;
    let asked = web.stores.ask_for_a_while(move |store, stop| store.count_events(&Search { stop, ..search }));
    let mut counts = asked.await?;
    if who.masked() {
        // A method is what a stranger wrote in front of a URI.
        for (method, _) in &mut counts.methods {
            let mut event = SipEvent { method: std::mem::take(method), ..SipEvent::default() };
            mask::event(&mut event);
            *method = event.method;
        }
    }
    Ok(Text::object(|o| {
        o.int("total", Some(counts.ok + counts.failed + counts.unanswered)).int("ok", Some(counts.ok));
        o.int("failed", Some(counts.failed)).int("unanswered", Some(counts.unanswered));
        o.list("methods", &counts.methods, |out, (method, count)| {
            let mut o = Object::new(out);
            o.text("method", method).int("count", Some(*count));
            o.end();
        });
        o.bool("exact", counts.exact).time("seen_from", counts.seen_from_ns);
        ask::skipped(o, &counts.skipped);
    }))
}
