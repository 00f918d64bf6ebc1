//! Lists of calls, what they add up to, and what can be asked about them.

use super::ask::{self, Ask, Span, Text};
use super::schema;
use crate::auth::{Permission, mask};
use crate::guard::Who;
use crate::moment;
use crate::problem::Problem;
use crate::state::Web;
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Instant;
use trunkline_store::filter::{self, Kind};
use trunkline_store::json::{self, Object};
use trunkline_store::rollup::Minute;
use trunkline_store::summary::{BUCKETS_MAX, SummaryQuery};
use trunkline_store::time::SECOND_NS;
use trunkline_store::{Query, Store};
use utoipa::{IntoParams, ToSchema};

/// Buckets of a summary when nothing is said.
pub const BUCKETS_DEFAULT: usize = 120;

/// Which calls are wanted.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct CallsAsk {
    /// Filter, as `mos<3.5 and caller:+4420*`; what it may ask: /calls/fields.
    pub filter: Option<String>,
    /// Calls that start then or later: RFC 3339, a day, `now`, `now-15m`, `-1h`.
    pub from: Option<String>,
    /// Calls that start before then; a day counts to its end.
    pub to: Option<String>,
    /// `newest` (default) or `oldest` first.
    pub order: Option<String>,
    /// Rows of a page, 1 to 1000; 100 if nothing is said.
    pub limit: Option<u32>,
    /// `next` of the page before.
    pub cursor: Option<String>,
    /// Zone of times without an offset (IANA name); UTC if nothing is said.
    pub tz: Option<String>,
}

impl CallsAsk {
    /// As the store asks it.
    ///
    /// # Errors
    /// What is wrong with it.
    fn query(&self, web: &Web, who: &Who) -> Result<Query, Problem> {
        let zone = moment::zone(self.tz.as_deref())?;
        let span = Span::read(self.from.as_deref(), self.to.as_deref(), who.now_ns, &zone)?;
        let filter = ask::filter_of(web, who, self.filter.as_deref(), &zone)?;
        Ok(Query {
            filter,
            from_ns: span.from_ns,
            to_ns: span.to_ns,
            order: ask::order(self.order.as_deref())?,
            limit: ask::limit(self.limit)?,
            cursor: ask::cursor(self.cursor.as_deref())?,
            ..Query::default()
        })
    }
}

/// A page of calls.
#[derive(Serialize, ToSchema)]
pub struct CallsPage {
    /// The calls, without their ladders.
    pub calls: Vec<schema::Call>,
    /// What to hand back as `cursor` for more; null at the end.
    pub next: Option<String>,
    /// Days that could not be read.
    pub skipped: Vec<schema::SkippedDay>,
    /// Whether the search was given up after some seconds before the page was full: `next` goes on.
    pub stopped: bool,
    /// How long the search took, milliseconds.
    pub took_ms: f64,
}

/// Calls, newest first, page by page.
#[utoipa::path(
    get, path = "/calls", tag = "calls", params(CallsAsk),
    responses((status = 200, body = CallsPage), (status = "4XX", body = schema::Problem))
)]
pub async fn list(State(web): State<Arc<Web>>, who: Who, Ask(ask): Ask<CallsAsk>) -> Result<Text, Problem> {
    who.need(Permission::CallsRead)?;
    let query = ask.query(&web, &who)?;
    let (began, masked) = (Instant::now(), who.masked());
    let paths = web.paths.clone();
    let asked = web.stores.ask_for_a_while(move |store, stop| {
        let mut page = store.calls(&Query { stop, ..query })?;
        page.rows.iter_mut().for_each(|call| paths.call(call));
        if masked {
            page.rows.iter_mut().for_each(mask::call);
        }
        Ok(Text::object(|o| {
            o.list("calls", &page.rows, json::call);
            ask::page_end(o, page.next, &page.skipped);
            o.bool("stopped", page.stopped);
            o.real("took_ms", Some(began.elapsed().as_secs_f64() * 1000.0));
        }))
    });
    asked.await
}

/// Which calls are summed up.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SummaryAsk {
    /// As of /calls.
    pub filter: Option<String>,
    /// As of /calls.
    pub from: Option<String>,
    /// As of /calls.
    pub to: Option<String>,
    /// Most buckets, 0 to 2000; 120 if nothing is said.
    pub buckets: Option<u32>,
    /// As of /calls.
    pub tz: Option<String>,
}

/// What calls add up to.
#[derive(Serialize, ToSchema)]
pub struct CallsSummary {
    /// Beginning of the span.
    #[schema(format = DateTime)]
    pub from: String,
    /// End of the span.
    #[schema(format = DateTime)]
    pub to: String,
    /// Length of a bucket, seconds; 0 without buckets.
    pub bucket_s: u64,
    /// Oldest first, without gaps.
    pub buckets: Vec<CallsBucket>,
    /// Of the whole span.
    pub totals: CallsTotals,
    /// Whether every call of the span was looked at.
    pub exact: bool,
    /// If not: from then on all were, and what is earlier is not counted.
    #[schema(format = DateTime)]
    pub seen_from: Option<String>,
    /// Days that could not be read.
    pub skipped: Vec<schema::SkippedDay>,
    /// How long it took, milliseconds.
    pub took_ms: f64,
}

/// Calls that started in a span of time.
#[derive(Serialize, ToSchema)]
pub struct CallsBucket {
    /// When it begins.
    #[schema(format = DateTime)]
    pub at: String,
    /// Calls.
    pub calls: u64,
    /// Of these, with a 2xx.
    pub answered: u64,
    /// Of these, rejected.
    pub failed: u64,
    /// Of these, with a verdict.
    pub bad: u64,
}

/// What calls add up to in all.
#[derive(Serialize, ToSchema)]
pub struct CallsTotals {
    /// Calls.
    pub calls: u64,
    /// With a 2xx.
    pub answered: u64,
    /// With a 2xx and BYE.
    pub completed: u64,
    /// Cancelled.
    pub cancelled: u64,
    /// Ended with 3xx.
    pub redirected: u64,
    /// Ended with 4xx.
    pub rejected_4xx: u64,
    /// Ended with 5xx.
    pub rejected_5xx: u64,
    /// Ended with 6xx.
    pub rejected_6xx: u64,
    /// With a verdict.
    pub bad: u64,
    /// Joined in mid-call: no new attempts.
    pub joined: u64,
    /// Answer-seizure ratio, 0 to 1.
    pub asr: Option<f64>,
    /// Network effectiveness ratio (ITU-T E.425), 0 to 1.
    pub ner: Option<f64>,
    /// Mean duration of answered calls, seconds.
    pub acd_s: Option<f64>,
    /// Mean post-dial delay, milliseconds.
    pub pdd_ms: Option<f64>,
    /// Mean of the calls' lowest scores.
    pub mos: Option<f64>,
}

/// What calls add up to: answer ratio, duration, quality, over time.
#[utoipa::path(
    get, path = "/calls/summary", tag = "calls", params(SummaryAsk),
    responses((status = 200, body = CallsSummary), (status = "4XX", body = schema::Problem))
)]
pub async fn summary(State(web): State<Arc<Web>>, who: Who, Ask(ask): Ask<SummaryAsk>) -> Result<Text, Problem> {
    who.need(Permission::CallsRead)?;
    let zone = moment::zone(ask.tz.as_deref())?;
    let span = Span::read(ask.from.as_deref(), ask.to.as_deref(), who.now_ns, &zone)?;
    let filter = ask::filter_of(&web, &who, ask.filter.as_deref(), &zone)?;
    let buckets = match ask.buckets {
        None => BUCKETS_DEFAULT,
        Some(n) if n as usize <= BUCKETS_MAX => n as usize,
        Some(_) => return Err(Problem::parameter("buckets", format!("There are 0 to {BUCKETS_MAX} buckets."))),
    };
    let began = Instant::now();
    let (from_ns, to_ns) = (span.from_ns, span.to_ns);
    let asked = move |store: &Store, stop| store.summary(&SummaryQuery { filter, from_ns, to_ns, buckets, stop });
    let summary = web.stores.ask_for_a_while(asked).await?;
    Ok(Text::object(|o| {
        o.time("from", Some(summary.from_ns)).time("to", Some(summary.to_ns));
        o.int("bucket_s", Some((summary.bucket_ns / SECOND_NS).unsigned_abs()));
        o.list("buckets", &summary.buckets, |out, bucket| {
            let mut o = Object::new(out);
            o.time("at", Some(bucket.at_ns)).int("calls", Some(bucket.calls)).int("answered", Some(bucket.answered));
            o.int("failed", Some(bucket.failed)).int("bad", Some(bucket.bad));
            o.end();
        });
        totals(o.object("totals"), &summary.totals);
        o.bool("exact", summary.exact).time("seen_from", summary.seen_from_ns);
        ask::skipped(o, &summary.skipped);
        o.real("took_ms", Some(began.elapsed().as_secs_f64() * 1000.0));
    }))
}

fn totals(mut o: Object<'_>, sum: &Minute) {
    let [four, five, six] = sum.rejected;
    for (name, count) in [
        ("calls", sum.started),
        ("answered", sum.answered),
        ("completed", sum.completed),
        ("cancelled", sum.cancelled),
        ("redirected", sum.redirected),
        ("rejected_4xx", four),
        ("rejected_5xx", five),
        ("rejected_6xx", six),
        ("bad", sum.bad),
        ("joined", sum.joined),
    ] {
        o.int(name, Some(count.max(0).unsigned_abs()));
    }
    for (name, value) in
        [("asr", sum.asr()), ("ner", sum.ner()), ("acd_s", sum.acd_s()), ("pdd_ms", sum.pdd_ms()), ("mos", sum.mos())]
    {
        o.real(name, value);
    }
    o.end();
}

/// A field of the filter language.
#[derive(Serialize, ToSchema)]
pub struct FilterField {
    /// Its name in filters.
    pub name: &'static str,
    /// Other names that are understood.
    pub aliases: Vec<&'static str>,
    /// What it takes: text, name, code, score, seconds, milliseconds, percent, time, address, ssrc.
    pub kind: &'static str,
    /// Whether `<`, `<=`, `>` and `>=` make sense.
    pub ordered: bool,
    /// One line of help.
    pub help: &'static str,
    /// Filters that use it.
    pub examples: Vec<&'static str>,
    /// What it may be, where that is a list; else null.
    pub values: Option<Vec<&'static str>>,
}

/// What a filter may ask, for completion.
#[utoipa::path(get, path = "/calls/fields", tag = "calls", responses((status = 200, body = Vec<FilterField>)))]
pub async fn fields(who: Who) -> Result<Json<Vec<FilterField>>, Problem> {
    who.need(Permission::CallsRead)?;
    let field = |field: &filter::FieldHelp| FilterField {
        name: field.name,
        aliases: field.aliases.to_vec(),
        kind: kind_name(field.kind),
        ordered: field.kind.is_ordered(),
        help: field.help,
        examples: field.examples.to_vec(),
        values: if let Kind::Name(values) = field.kind { Some(values.to_vec()) } else { None },
    };
    Ok(Json(filter::fields().iter().map(field).collect()))
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Text => "text",
        Kind::Name(_) => "name",
        Kind::Code => "code",
        Kind::Score => "score",
        Kind::Seconds => "seconds",
        Kind::Milliseconds => "milliseconds",
        Kind::Percent => "percent",
        Kind::Time => "time",
        Kind::Address => "address",
        Kind::Ssrc => "ssrc",
    }
}
