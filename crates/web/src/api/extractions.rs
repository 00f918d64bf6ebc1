//! Extractions: packets of the log by time and filter, made by a thread of their own, looked at while they run.

use super::ask::Told;
use super::call::{attachment, packets};
use super::packets::{look, time};
use super::schema;
use crate::auth::{Permission, action};
use crate::guard::Who;
use crate::paths;
use crate::problem::{Kind, Problem};
use crate::room;
use crate::sources::{Cancel, ExtractAsk, Packets, Progress, SourceError, Trouble};
use crate::state::Web;
use crate::work::{AGE_MAX_S, Bounded, Limits, Places, Shelf, Work, WorkState};
use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::io::AsyncReadExt;
use trunkline_store::time::rfc3339;
use utoipa::ToSchema;

/// How extractions are bounded.
pub const EXTRACTIONS: Limits = Limits {
    running: 2,
    kept: 40,
    places: Places::Shared,
    waiting_of_one: 4,
    octets: 4 << 30,
    octets_in_all: 64 << 30,
    age_s: Some(AGE_MAX_S),
    lasts: false,
};
/// Longest filter, octets.
pub const FILTER_OCTETS_MAX: usize = 4096;

/// All extractions.
pub type Extractions = Shelf<ExtractAsk, Made>;

/// What an extraction made.
#[derive(Clone, Debug, Default)]
pub struct Made {
    packets: u64,
    octets: u64,
    faults: Vec<String>,
}

/// Which packets are wanted.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExtractionAsk {
    /// Captured then or later, RFC 3339.
    pub from: String,
    /// Captured before then.
    pub to: String,
    /// pcap-filter expression, as `host 10.1.2.3 and port 5060`; empty for all.
    #[serde(default)]
    pub filter: String,
}

/// What was taken up.
#[derive(Serialize, ToSchema)]
pub struct Taken {
    /// Its name: /packets/extractions/{id}.
    pub id: String,
}

/// An extraction.
#[derive(Serialize, ToSchema)]
pub struct Extraction {
    /// Its name.
    pub id: String,
    /// How far it is.
    pub state: WorkState,
    /// Octets of the log that were read.
    pub read_octets: u64,
    /// Octets of the log to be read; 0 while that is not known.
    pub total_octets: u64,
    /// Packets found.
    pub packets: u64,
    /// Octets of the file.
    pub octets: u64,
    /// Captured then or later.
    #[schema(format = DateTime)]
    pub from: String,
    /// Captured before then.
    #[schema(format = DateTime)]
    pub to: String,
    /// The filter.
    pub filter: String,
    /// When it was asked for.
    #[schema(format = DateTime)]
    pub asked: String,
    /// Parts of the log that could not be read, a sentence each.
    pub faults: Vec<String>,
    /// Why it failed.
    pub error: Option<String>,
}

/// Your extractions.
#[derive(Serialize, ToSchema)]
pub struct ExtractionsList {
    /// The newest first.
    pub extractions: Vec<Extraction>,
}

/// Begins an extraction.
#[utoipa::path(
    post, path = "/packets/extractions", tag = "packets", request_body = ExtractionAsk,
    responses((status = 202, body = Taken), (status = "4XX", body = schema::Problem))
)]
pub async fn begin(
    State(web): State<Arc<Web>>,
    who: Who,
    Told(ask): Told<ExtractionAsk>,
) -> Result<(StatusCode, Json<Taken>), Problem> {
    who.need(Permission::PacketsExtract)?;
    let packets = packets(&web)?;
    let (from_ns, to_ns) = (time("from", &ask.from)?, time("to", &ask.to)?);
    if from_ns >= to_ns {
        return Err(Problem::parameter("to", "'to' must be after 'from'."));
    }
    let filter = ask.filter.trim().to_owned();
    if filter.len() > FILTER_OCTETS_MAX {
        return Err(Problem::parameter("filter", "The filter is too long."));
    }
    let (checks, checked) = (Arc::clone(&packets), filter.clone());
    let wrong = |problem: Problem| problem.with("parameter", "filter");
    look(&web, move || checks.check_filter(&checked)).await.map_err(wrong)?;
    web.refuse_without_room(0).await?;
    let object = format!("{} to {} '{filter}'", rfc3339(from_ns), rfc3339(to_ns));
    who.audit(&web, action::PACKETS_EXTRACT, &object).await?;
    let work = web.extractions.take(who.id(), ExtractAsk { from_ns, to_ns, filter }, who.now_ns)?;
    let writes = Arc::clone(&web);
    web.extractions.run(&work, move |work, cancel| writes.or_no_room(|| extract(&writes, &*packets, work, cancel)));
    Ok((StatusCode::ACCEPTED, Json(Taken { id: work.id.clone() })))
}

fn extract(
    web: &Web,
    packets: &dyn Packets,
    work: &Work<ExtractAsk, Made>,
    cancel: &Cancel,
) -> Result<Made, SourceError> {
    let octets_max = web.extractions.limits().octets;
    let mut out = Bounded::create(&work.path, octets_max, web.room.clone()).map_err(failed)?;
    let extracted = packets.extract(&work.ask, &mut out, &work.progress, cancel);
    let flushed = out.flush();
    if out.is_full() {
        return Err(room::no_room());
    }
    let extracted = extracted?;
    flushed.map_err(failed)?;
    let faults = extracted.faults.iter().map(|fault| paths::named(fault)).collect();
    Ok(Made { packets: extracted.packets, octets: work.octets(), faults })
}

fn failed(error: std::io::Error) -> SourceError {
    if room::is_full(&error) { room::no_room() } else { SourceError::new(Trouble::Failed, error.to_string()) }
}

/// Your extractions, the newest first.
#[utoipa::path(
    get, path = "/packets/extractions", tag = "packets",
    responses((status = 200, body = ExtractionsList), (status = "4XX", body = schema::Problem))
)]
pub async fn list(State(web): State<Arc<Web>>, who: Who) -> Result<Json<ExtractionsList>, Problem> {
    who.need(Permission::PacketsExtract)?;
    let extractions = web.extractions.list(who.id()).iter().map(|work| shown(work)).collect();
    Ok(Json(ExtractionsList { extractions }))
}

/// How far an extraction is.
#[utoipa::path(
    get, path = "/packets/extractions/{id}", tag = "packets", params(("id" = String, Path)),
    responses((status = 200, body = Extraction), (status = "4XX", body = schema::Problem))
)]
pub async fn show(State(web): State<Arc<Web>>, who: Who, Path(id): Path<String>) -> Result<Json<Extraction>, Problem> {
    who.need(Permission::PacketsExtract)?;
    Ok(Json(shown(&*web.extractions.find(&id, who.id())?)))
}

fn shown(work: &Work<ExtractAsk, Made>) -> Extraction {
    let (state, made, error) = work.state();
    let count = |cell: fn(&Progress) -> &std::sync::atomic::AtomicU64| cell(&work.progress).load(Ordering::Relaxed);
    Extraction {
        id: work.id.clone(),
        state,
        read_octets: count(|p| &p.read_octets),
        total_octets: count(|p| &p.total_octets),
        packets: made.as_ref().map_or_else(|| count(|p| &p.packets), |made| made.packets),
        octets: made.as_ref().map_or_else(|| work.octets(), |made| made.octets),
        from: rfc3339(work.ask.from_ns),
        to: rfc3339(work.ask.to_ns),
        filter: work.ask.filter.clone(),
        asked: rfc3339(work.asked_ns),
        faults: made.map(|made| made.faults).unwrap_or_default(),
        error,
    }
}

/// The packets of an extraction that is done, as pcapng.
#[utoipa::path(
    get, path = "/packets/extractions/{id}/pcap", tag = "packets", params(("id" = String, Path)),
    responses(
        (status = 200, content_type = "application/x-pcapng", body = Vec<u8>),
        (status = "4XX", body = schema::Problem)
    )
)]
pub async fn pcap(State(web): State<Arc<Web>>, who: Who, Path(id): Path<String>) -> Result<Response, Problem> {
    who.need(Permission::PacketsExtract)?;
    let work = web.extractions.find(&id, who.id())?;
    let (state, ..) = work.state();
    if state != WorkState::Done {
        return Err(Problem::new(Kind::Conflict, "It is not finished."));
    }
    who.audit(&web, action::PACKETS_DOWNLOAD, &work.id).await?;
    let file = tokio::fs::File::open(&work.path).await.map_err(Problem::failed)?;
    let octets = file.metadata().await.map_err(Problem::failed)?.len();
    let name = format!("packets-{}.pcapng", rfc3339(work.ask.from_ns).get(..19).unwrap_or("log").replace(':', ""));
    let pieces = stream::unfold(file, |mut file| async move {
        let mut piece = Vec::with_capacity(64 * 1024);
        match (&mut file).take(64 * 1024).read_to_end(&mut piece).await {
            Ok(0) => None,
            Ok(_) => Some((Ok(piece), file)),
            Err(error) => Some((Err(error), file)),
        }
    });
    let mut response = attachment(Body::from_stream(pieces).into_response(), "application/x-pcapng", &name);
    response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(octets));
    Ok(response)
}

/// Ends an extraction and removes what it made.
#[utoipa::path(
    delete, path = "/packets/extractions/{id}", tag = "packets", params(("id" = String, Path)),
    responses((status = 204), (status = "4XX", body = schema::Problem))
)]
pub async fn remove(State(web): State<Arc<Web>>, who: Who, Path(id): Path<String>) -> Result<StatusCode, Problem> {
    who.need(Permission::PacketsExtract)?;
    web.extractions.remove(&*web.extractions.find(&id, who.id())?);
    Ok(StatusCode::NO_CONTENT)
}
