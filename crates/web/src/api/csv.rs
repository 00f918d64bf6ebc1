//! Calls as comma-separated values, streamed: no list of rows is ever held.

use super::ask::{self, Ask, Span};
use super::call::attachment;
use super::schema;
use crate::auth::{Permission, action, mask};
use crate::guard::Who;
use crate::moment;
use crate::problem::{Kind, Problem};
use crate::state::Web;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use trunkline_kit::untrusted::cell;
use trunkline_store::row::{Call, OtherNumber};
use trunkline_store::time::{Day, rfc3339};
use trunkline_store::{Cursor, Query, json};
use utoipa::IntoParams;

/// Most rows of a file. The answer's header `X-Trunkline-Rows-Max` says how many it may have; where there are more and
/// no limit was asked for, the last line says so.
// Limit: rows of one CSV file
// Beyond: the file ends there
// Seen in: its last line says so
pub const CSV_ROWS_MAX: usize = 1_000_000;
/// Exports at a time; more are refused.
// Limit: CSV exports at once
// Beyond: a further export is refused
// Seen in: the error message
pub const CSV_EXPORTS_MAX: usize = 4;
/// Rows that are read at once.
const PAGE_ROWS: usize = 500;

/// Which calls are wanted, and what of them.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct CsvAsk {
    /// As of /calls.
    pub filter: Option<String>,
    /// As of /calls.
    pub from: Option<String>,
    /// As of /calls.
    pub to: Option<String>,
    /// As of /calls.
    pub order: Option<String>,
    /// As of /calls.
    pub tz: Option<String>,
    /// Columns, in this order, between commas; all if nothing is said.
    pub columns: Option<String>,
    /// Most rows, 1 to 1000000.
    pub limit: Option<u32>,
}

type Column = (&'static str, fn(&Call) -> String);

/// The columns: names as in JSON.
pub const COLUMNS: [Column; 27] = [
    ("id", |c| c.id.to_string()),
    ("sip_call_id", |c| c.sip_call_id.clone()),
    ("state", |c| json::state_name(c.state).to_owned()),
    ("from", |c| c.from.clone()),
    ("to", |c| c.to.clone()),
    ("from_uri", |c| c.from_uri.clone()),
    ("to_uri", |c| c.to_uri.clone()),
    ("numbers", |c| {
        let one = |one: &OtherNumber| format!("{} {}", json::number_role_name(one.role), one.number);
        c.numbers.iter().map(one).collect::<Vec<_>>().join("; ")
    }),
    ("start", |c| rfc3339(c.start_ns)),
    ("ringing", |c| c.ringing_ns.map_or_else(String::new, rfc3339)),
    ("answer", |c| c.answer_ns.map_or_else(String::new, rfc3339)),
    ("end", |c| c.end_ns.map_or_else(String::new, rfc3339)),
    ("pdd_ms", |c| milliseconds(c.ringing_ns.map(|at| at.saturating_sub(c.start_ns)))),
    ("setup_ms", |c| milliseconds(c.answer_ns.map(|at| at.saturating_sub(c.start_ns)))),
    ("duration_ms", |c| milliseconds(json::duration_ns(c))),
    ("code", |c| if c.code > 0 { c.code.to_string() } else { String::new() }),
    ("reason", |c| c.reason.clone()),
    ("hangup", |c| json::HANGUPS.get(c.hangup as usize).copied().unwrap_or_default().to_owned()),
    ("src", |c| c.src.to_string()),
    ("dst", |c| c.dst.to_string()),
    ("user_agent", |c| c.user_agent.clone()),
    ("mos", |c| c.mos.map_or_else(String::new, |mos| format!("{mos:.2}"))),
    ("streams", |c| c.streams.len().to_string()),
    ("lost_at_tap", |c| c.capture.lost_at_tap.to_string()),
    ("lost_before_tap", |c| c.capture.lost_before_tap.to_string()),
    ("verdict_kind", |c| c.verdict.as_ref().map_or_else(String::new, |v| v.kind.clone())),
    ("verdict", |c| c.verdict.as_ref().map_or_else(String::new, |v| v.text.clone())),
];

/// Calls as comma-separated values (RFC 4180) with a line of titles. What a spreadsheet would take for a formula begins
/// with an apostrophe, telephone numbers aside. Days that could not be read, and that there are more rows than a file
/// may have, are told by lines at the end that begin with `# incomplete`.
#[utoipa::path(
    get, path = "/calls.csv", tag = "calls", params(CsvAsk),
    responses((status = 200, content_type = "text/csv", body = String), (status = "4XX", body = schema::Problem))
)]
pub async fn calls(State(web): State<Arc<Web>>, who: Who, Ask(ask): Ask<CsvAsk>) -> Result<Response, Problem> {
    who.need(Permission::CallsExport)?;
    let zone = moment::zone(ask.tz.as_deref())?;
    let span = Span::read(ask.from.as_deref(), ask.to.as_deref(), who.now_ns, &zone)?;
    let filter = ask::filter_of(&web, &who, ask.filter.as_deref(), &zone)?;
    let object = format!("filter '{}' columns '{}'", told(&ask.filter), told(&ask.columns));
    let left = match ask.limit {
        None => CSV_ROWS_MAX,
        Some(limit @ 1..) if limit as usize <= CSV_ROWS_MAX => limit as usize,
        Some(_) => return Err(Problem::parameter("limit", format!("The limit is from 1 to {CSV_ROWS_MAX}."))),
    };
    let order = ask::order(ask.order.as_deref())?;
    let query = Query { filter, from_ns: span.from_ns, to_ns: span.to_ns, order, ..Query::default() };
    let columns = columns(ask.columns.as_deref())?;
    let turn = Arc::clone(&web.exports).try_acquire_owned();
    let turn = turn.map_err(|_| Problem::new(Kind::Busy, "Too many exports are running.").retry_after(30))?;
    who.audit(&web, action::CALLS_EXPORT, &object).await?;
    let titles: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let limited = ask.limit.is_some();
    let (skipped, masked) = (BTreeSet::new(), who.masked());
    let mut export = Export { web, query, columns, left, limited, skipped, masked, _turn: turn };
    // The first page is read before anything is answered: what is wrong with the question is told as a problem.
    let first = export.page().await?;
    let head = Bytes::from(titles.join(",") + "\r\n");
    let pieces = stream::unfold(Next::Head(head, first, export), Next::piece);
    // What compresses asks once more after the end.
    let body = Body::from_stream(pieces.fuse());
    let mut response = attachment(body.into_response(), "text/csv; charset=utf-8", "calls.csv");
    response.headers_mut().insert("x-trunkline-rows-max", (left as u64).into());
    Ok(response)
}

fn told(text: &Option<String>) -> &str {
    text.as_deref().unwrap_or_default()
}

fn columns(text: Option<&str>) -> Result<Vec<Column>, Problem> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(COLUMNS.to_vec()) };
    let find = |name: &str| {
        let known = || COLUMNS.map(|(name, _)| name).join(", ");
        let unknown = || Problem::parameter("columns", format!("There is no column '{name}'; there are: {}.", known()));
        COLUMNS.into_iter().find(|(n, _)| *n == name).ok_or_else(unknown)
    };
    text.split(',').take(COLUMNS.len()).map(|name| find(name.trim())).collect()
}

/// An export under way.
struct Export {
    web: Arc<Web>,
    query: Query,
    columns: Vec<Column>,
    left: usize,
    /// Whether who asked said how many rows they want.
    limited: bool,
    /// Days that could not be read.
    skipped: BTreeSet<Day>,
    masked: bool,
    _turn: tokio::sync::OwnedSemaphorePermit,
}

impl Export {
    /// The next rows as text, and where to go on.
    async fn page(&mut self) -> Result<(Bytes, Option<Cursor>), Problem> {
        self.query.limit = PAGE_ROWS.min(self.left);
        let (query, columns, masked) = (self.query.clone(), self.columns.clone(), self.masked);
        let asked = self.web.stores.ask_for_a_while(move |store, stop| {
            let mut page = store.calls(&Query { stop, ..query })?;
            if masked {
                page.rows.iter_mut().for_each(mask::call);
            }
            let mut text = String::new();
            for call in &page.rows {
                let values: Vec<String> = columns.iter().map(|(_, value)| cell(&value(call))).collect();
                text.push_str(&values.join(","));
                text.push_str("\r\n");
            }
            Ok((text, page.rows.len(), page.next, page.skipped))
        });
        let (mut text, rows, next, skipped) = asked.await?;
        self.left = self.left.saturating_sub(rows);
        self.skipped.extend(skipped.into_iter().map(|skipped| skipped.day));
        self.web.count(|c| c.csv_rows += rows as u64);
        let is_cut = next.is_some() && self.left == 0;
        let next = next.filter(|_| !is_cut);
        if next.is_none() {
            text.push_str(&self.last_lines(is_cut && !self.limited));
        }
        Ok((Bytes::from(text), next))
    }

    /// What is not in the file, in lines of as many columns as the others.
    fn last_lines(&self, is_cut: bool) -> String {
        let days = self.skipped.iter().map(|day| format!("# incomplete: {day} could not be read"));
        let cut = is_cut.then(|| format!("# incomplete: there are more than {CSV_ROWS_MAX} calls"));
        let empty = ",".repeat(self.columns.len().saturating_sub(1));
        days.chain(cut).map(|line| format!("{line}{empty}\r\n")).collect()
    }
}

/// What comes next of an export.
enum Next {
    Head(Bytes, (Bytes, Option<Cursor>), Export),
    Rows((Bytes, Option<Cursor>), Export),
    More(Cursor, Export),
    End,
}

impl Next {
    async fn piece(self) -> Option<(io::Result<Bytes>, Next)> {
        let ((text, next), export) = match self {
            Next::Head(head, first, export) => return Some((Ok(head), Next::Rows(first, export))),
            Next::Rows(page, export) => (page, export),
            Next::More(cursor, mut export) => {
                export.query.cursor = Some(cursor);
                match export.page().await {
                    Ok(page) => (page, export),
                    // The connection breaks off: nobody takes a part for the whole.
                    Err(_) => return Some((Err(io::Error::other("the store failed")), Next::End)),
                }
            }
            Next::End => return None,
        };
        Some((Ok(text), next.map_or(Next::End, |cursor| Next::More(cursor, export))))
    }
}

fn milliseconds(ns: Option<i64>) -> String {
    ns.map_or_else(String::new, |ns| format!("{:.3}", ns as f64 / 1e6))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_chosen_by_name() {
        assert_eq!(columns(None).unwrap().len(), COLUMNS.len());
        assert_eq!(columns(Some("mos,id")).unwrap().iter().map(|c| c.0).collect::<Vec<_>>(), ["mos", "id"]);
        assert!(columns(Some("id,password")).is_err());
    }
}
