//! One call: its row, raw messages, intervals of its streams, and packets.

use super::ask::Text;
use super::schema;
use crate::auth::{Permission, action, mask};
use crate::guard::Who;
use crate::problem::{Kind, Problem};
use crate::server::pipe::{self, Ends};
use crate::sources::{Cancel, Packets};
use crate::state::Web;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::json;
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;
use trunkline_store::json::Object;
use trunkline_store::row::Call;
use trunkline_store::time::rfc3339;
use trunkline_store::{Found, delay, json as rows};
use utoipa::ToSchema;

/// Longest name of a call that is looked up, octets.
pub const NAME_OCTETS_MAX: usize = 512;

/// A call by the beginning of its identifier or its whole Call-ID, with its signalling.
#[utoipa::path(
    get, path = "/calls/{id}", tag = "call",
    params(("id" = String, Path, description = "identifier, at least its first four digits, or the whole Call-ID")),
    responses(
        (status = 200, body = schema::CallWithLadder),
        (status = 300, body = schema::Problem, description = "several are called that: `candidates`"),
        (status = "4XX", body = schema::Problem)
    )
)]
pub async fn show(State(web): State<Arc<Web>>, who: Who, Path(id): Path<String>) -> Result<Text, Problem> {
    who.need(Permission::CallsRead)?;
    let mut call = find(&web, &id).await?;
    who.audit(&web, action::CALL_SEE, &call.id.to_string()).await?;
    let masked = who.masked();
    let told = tokio::task::spawn_blocking(move || {
        web.paths.call(&mut call);
        if masked {
            mask::call(&mut call);
        }
        let mut text = String::new();
        rows::call_with_ladder(&mut text, &call);
        Text::json(text)
    });
    told.await.map_err(Problem::failed)
}

/// The call of a name.
///
/// # Errors
/// None or several are called that.
pub async fn find(web: &Web, name: &str) -> Result<Box<Call>, Problem> {
    let none = || Problem::new(Kind::NotFound, "The call does not exist, or retention has deleted it.");
    if name.len() > NAME_OCTETS_MAX {
        return Err(none());
    }
    let asked = name.to_owned();
    match web.stores.ask(move |store| store.call(&asked)).await? {
        Found::One(call) => Ok(call),
        Found::None => Err(none()),
        Found::Many(many) => {
            let candidates: Vec<_> =
                many.iter().map(|(id, start)| json!({"id": id.to_string(), "start": rfc3339(*start)})).collect();
            let text = format!("{} calls are called that; name one of the candidates.", candidates.len());
            Err(Problem::new(Kind::Ambiguous, text).with("candidates", candidates))
        }
    }
}

/// Raw messages of a call.
#[derive(Serialize, ToSchema)]
pub struct Messages {
    /// In the order of the ladder.
    pub messages: Vec<RawMessage>,
}

/// A raw message.
#[derive(Serialize, ToSchema)]
pub struct RawMessage {
    /// Index in `messages` of the ladder.
    pub index: usize,
    /// Its text, octets that are not UTF-8 replaced; null where it could not be put together again.
    pub text: Option<String>,
}

/// The raw SIP messages of a call.
#[utoipa::path(
    get, path = "/calls/{id}/messages", tag = "call", params(("id" = String, Path)),
    responses((status = 200, body = Messages), (status = "4XX", body = schema::Problem))
)]
pub async fn messages(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(id): Path<String>,
) -> Result<Json<Messages>, Problem> {
    who.need(Permission::MessagesRead)?;
    let packets = packets(&web)?;
    let call = find(&web, &id).await?;
    let turn = download(&web)?;
    who.audit(&web, action::CALL_MESSAGES, &call.id.to_string()).await?;
    // The turn goes with the work, which ends soon after who asked has gone.
    let cancel = Cancel::default();
    let ends = Ends(cancel.clone());
    let read = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        packets.messages(&call, &cancel).map_err(|error| web.named(error, &call.files))
    });
    let read = read.await.map_err(Problem::failed)??;
    drop(ends);
    let text = |octets: Vec<u8>| String::from_utf8_lossy(&octets).into_owned();
    let messages = read.into_iter().enumerate();
    let messages = messages.map(|(index, octets)| RawMessage { index, text: octets.map(text) }).collect();
    Ok(Json(Messages { messages }))
}

/// The packet log.
///
/// # Errors
/// There is none.
pub fn packets(web: &Web) -> Result<Arc<dyn Packets>, Problem> {
    let none = || Problem::new(Kind::NotFound, "There are no packets: only the store is available.");
    web.sources.packets.clone().ok_or_else(none)
}

/// A turn to read packets.
///
/// # Errors
/// [`Kind::Busy`].
fn download(web: &Web) -> Result<OwnedSemaphorePermit, Problem> {
    let busy = |_| Problem::new(Kind::Busy, "Too many downloads are running.").retry_after(5);
    Arc::clone(&web.downloads).try_acquire_owned().map_err(busy)
}

/// Ten seconds of each stream, for plots.
#[derive(Serialize, ToSchema)]
pub struct Intervals {
    /// A call's streams, in their order.
    pub streams: Vec<StreamIntervals>,
}

/// The intervals of a stream.
#[derive(Serialize, ToSchema)]
pub struct StreamIntervals {
    /// The stream.
    pub stream: String,
    /// Its synchronisation source.
    pub ssrc: String,
    /// Its intervals, in order.
    pub intervals: Vec<Interval>,
}

/// Ten seconds of a stream.
#[derive(Serialize, ToSchema)]
pub struct Interval {
    /// The stream.
    pub stream: String,
    /// Number, from 0.
    pub index: u64,
    /// When it began.
    #[schema(format = DateTime)]
    pub start: String,
    /// Packets that arrived.
    pub packets: u64,
    /// Packets missing.
    pub missing: u64,
    /// Copies.
    pub duplicates: u64,
    /// Packets that came late.
    pub reordered: u64,
    /// Mean jitter, milliseconds.
    pub jitter_mean_ms: Option<f64>,
    /// Highest jitter.
    pub jitter_max_ms: Option<f64>,
    /// Delay of the fastest packet of the interval beyond the fastest one of the stream, milliseconds; the drift of the
    /// clocks taken off. Null while the stream's clock is not known.
    pub delay_min_ms: Option<f64>,
    /// Mean delay beyond that packet.
    pub delay_mean_ms: Option<f64>,
    /// Delay of the slowest packet beyond it.
    pub delay_max_ms: Option<f64>,
    /// Longest round trip from here to the receiver and back that RTCP in the interval tells (RFC 3550 section 6.4.1).
    pub round_trip_ms: Option<f64>,
    /// Scores.
    pub mos: IntervalMos,
}

/// Scores of an interval.
#[derive(Serialize, ToSchema)]
pub struct IntervalMos {
    /// G.107 or G.107.1.
    pub g107: Option<f64>,
    /// VoIPmonitor-compatible, fixed 50 ms buffer.
    pub vm_f1: Option<f64>,
    /// VoIPmonitor-compatible, fixed 200 ms buffer.
    pub vm_f2: Option<f64>,
    /// VoIPmonitor-compatible, adaptive buffer.
    pub vm_adapt: Option<f64>,
}

/// The streams of a call, ten seconds after ten seconds.
#[utoipa::path(
    get, path = "/calls/{id}/intervals", tag = "call", params(("id" = String, Path)),
    responses((status = 200, body = Intervals), (status = "4XX", body = schema::Problem))
)]
pub async fn intervals(State(web): State<Arc<Web>>, who: Who, Path(id): Path<String>) -> Result<Text, Problem> {
    who.need(Permission::CallsRead)?;
    let call = find(&web, &id).await?;
    let ids: Vec<_> = call.streams.iter().map(|stream| stream.id).collect();
    let found = web.stores.ask(move |store| ids.into_iter().map(|id| store.intervals(id)).collect());
    let found: Vec<Vec<_>> = found.await?;
    let streams: Vec<_> = call.streams.iter().zip(&found).collect();
    Ok(Text::object(|o| {
        o.list("streams", &streams, |out, (stream, intervals)| {
            let mut o = Object::new(out);
            o.display("stream", stream.id).text("ssrc", &format!("0x{:08x}", stream.ssrc));
            let with_delay: Vec<_> = intervals.iter().zip(delay::of_intervals(intervals)).collect();
            o.list("intervals", &with_delay, |out, (interval, delay)| rows::interval(out, interval, *delay));
            o.end();
        });
    }))
}

/// All packets of a call, as pcapng.
#[utoipa::path(
    get, path = "/calls/{id}/pcap", tag = "call", params(("id" = String, Path)),
    responses(
        (status = 200, content_type = "application/x-pcapng", body = Vec<u8>),
        (status = "4XX", body = schema::Problem)
    )
)]
pub async fn pcap(State(web): State<Arc<Web>>, who: Who, Path(id): Path<String>) -> Result<Response, Problem> {
    who.need(Permission::PacketsDownload)?;
    let packets = packets(&web)?;
    let call = find(&web, &id).await?;
    let turn = download(&web)?;
    who.audit(&web, action::CALL_PACKETS, &call.id.to_string()).await?;
    let name = format!("call-{}.pcapng", call.id);
    let cancel = Cancel::default();
    let ends = cancel.clone();
    let body = pipe::body(cancel, move |out| {
        let _turn = turn;
        packets.call_pcap(&call, out, &ends).map(|_| ()).map_err(|error| web.named(error, &call.files))
    })
    .await?;
    Ok(attachment(body.into_response(), "application/x-pcapng", &name))
}

/// An answer that browsers save as a file. The name must be plain.
pub fn attachment(mut response: Response, kind: &'static str, name: &str) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    if let Ok(value) = HeaderValue::from_str(&format!("attachment; filename=\"{name}\"")) {
        headers.insert(header::CONTENT_DISPOSITION, value);
    }
    response
}
