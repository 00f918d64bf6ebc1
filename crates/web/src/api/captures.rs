//! Captures that a user brings: streamed to disk, then read into the store.

use super::ask::Ask;
use super::extractions::Taken;
use super::schema;
use crate::auth::{Permission, action};
use crate::guard::Who;
use crate::paths;
use crate::problem::{Kind, Problem};
use crate::room::{self, LOOK_EVERY_OCTETS};
use crate::sources::{KeptCapture, ReadDone, Reader};
use crate::state::Web;
use crate::work::{AGE_MAX_S, Done, Limits, Places, Shelf, Work, WorkState, new_id};
use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;
use trunkline_store::time::rfc3339;
use utoipa::{IntoParams, ToSchema};

/// How captures are bounded.
pub const CAPTURES: Limits = Limits {
    running: 1,
    kept: 100,
    places: Places::Shared,
    waiting_of_one: 8,
    octets: 4 << 30,
    octets_in_all: 64 << 30,
    age_s: Some(AGE_MAX_S),
    lasts: true,
};
/// How long the next piece of a capture may take to come.
pub const PIECE_TIME: Duration = Duration::from_secs(30);
/// Longest name of a capture, characters.
pub const NAME_CHARS_MAX: usize = 200;

/// All captures.
pub type Captures = Shelf<CaptureAsk, ReadDone>;

/// What the user calls the capture.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct CaptureAsk {
    /// Its name, for people.
    pub name: String,
}

/// A capture that a user brought.
#[derive(Serialize, ToSchema)]
pub struct Capture {
    /// Its name for the API.
    pub id: String,
    /// What the user called it.
    pub name: String,
    /// How far it is.
    pub state: WorkState,
    /// Octets that were read.
    pub read_octets: u64,
    /// Octets to be read.
    pub total_octets: u64,
    /// Packets found.
    pub packets: u64,
    /// Calls found.
    pub calls: u64,
    /// First call or packet.
    #[schema(format = DateTime)]
    pub from: Option<String>,
    /// Last one.
    #[schema(format = DateTime)]
    pub to: Option<String>,
    /// What was odd, a sentence each.
    pub oddities: Vec<String>,
    /// Why it failed.
    pub error: Option<String>,
}

/// Your captures.
#[derive(Serialize, ToSchema)]
pub struct CapturesList {
    /// The newest first.
    pub captures: Vec<Capture>,
}

/// Brings a capture (pcap or pcapng, as the body) to be read into the store.
#[utoipa::path(
    post, path = "/captures", tag = "captures", params(CaptureAsk),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 202, body = Taken), (status = "4XX", body = schema::Problem))
)]
pub async fn bring(
    State(web): State<Arc<Web>>,
    who: Who,
    Ask(ask): Ask<CaptureAsk>,
    headers: HeaderMap,
    body: Body,
) -> Result<(StatusCode, Json<Taken>), Problem> {
    who.need(Permission::CapturesUpload)?;
    let reader = reader(&web)?;
    let (name, octets_max) = (CAPTURE.name(&ask.name)?, web.captures.limits().octets);
    web.refuse_without_room(CAPTURE.octets(&headers, octets_max)?).await?;
    who.audit(&web, action::CAPTURE_UPLOAD, &name).await?;
    let work = web.captures.take(who.id(), CaptureAsk { name: name.clone() }, who.now_ns)?;
    let mut arriving = Arriving { web: &web, work: Some(Arc::clone(&work)) };
    let (reads, limits) = (Arc::clone(&reader), web.captures.limits());
    let kept = tokio::task::spawn_blocking(move || reads.kept_octets()).await.map_err(Problem::failed)?;
    if kept.saturating_add(limits.octets) > limits.octets_in_all {
        let text = "The captures that are kept fill their place: remove some of captures/ in the data folder.";
        return Err(Problem::new(Kind::Busy, text).retry_after(3600));
    }
    if let Err(problem) = receive(&web, &work, body, octets_max, &CAPTURE).await {
        web.count(|c| c.rooms_refused += u64::from(problem.kind == Kind::NoRoom));
        return Err(problem);
    }
    arriving.work = None;
    let writes = Arc::clone(&web);
    web.captures.run(&work, move |work, cancel| {
        let read = || reader.read(&work.path, &work.ask.name, &work.progress, cancel);
        let mut done = writes.or_no_room(|| writes.room.watch(cancel, read))?;
        done.oddities.iter_mut().for_each(|oddity| *oddity = paths::named(oddity));
        if let Some(kept) = done.kept.clone() {
            let name = work.ask.name.clone();
            let (id, owner, asked_ns) = (work.id.clone(), work.owner, work.asked_ns);
            let noted = reader.note(&KeptCapture { id, owner, asked_ns, name, done: done.clone() });
            if let Err(error) = &noted {
                done.oddities.push(format!("after the next start it is nobody's: {}", paths::named(&error.text)));
            }
            work.keep(kept, noted.unwrap_or_default());
        }
        Ok(done)
    });
    Ok((StatusCode::ACCEPTED, Json(Taken { id: work.id.clone() })))
}

/// Takes up captures of earlier starts of the program.
pub fn restore(captures: &Captures, reader: &dyn Reader) {
    for (capture, beside) in reader.noted() {
        let KeptCapture { id, owner, asked_ns, name, done } = capture;
        let id = if id.is_empty() { new_id() } else { id };
        let kept = done.kept.iter().cloned().chain(beside).collect();
        captures.restore(Done { id, owner, asked_ns, ask: CaptureAsk { name }, done, kept });
    }
}

/// What did not come whole is forgotten, whether it was refused or who sent it has gone.
struct Arriving<'a> {
    web: &'a Web,
    work: Option<Arc<Work<CaptureAsk, ReadDone>>>,
}

impl Drop for Arriving<'_> {
    fn drop(&mut self) {
        if let Some(work) = self.work.take() {
            self.web.captures.remove(&work);
        }
    }
}

/// What is brought, in the words that refusals have.
pub(super) struct Brought {
    /// What it is.
    pub what: &'static str,
    /// What takes larger ones.
    pub elsewhere: &'static str,
}

const CAPTURE: Brought = Brought { what: "capture", elsewhere: "trunkline read" };

/// Writes what comes to the file of its work, as far as there is room.
///
/// # Errors
/// It is empty or too large, does not come in time or whole; the disk is too full.
pub(super) async fn receive<A, D>(
    web: &Arc<Web>,
    work: &Work<A, D>,
    body: Body,
    octets_max: u64,
    brought: &Brought,
) -> Result<(), Problem> {
    let wrong = |how: &str| Problem::new(Kind::BadParameter, format!("The {} {how}.", brought.what));
    let mut options = tokio::fs::OpenOptions::new();
    let file = options.write(true).create_new(true).mode(0o600).open(&work.path).await;
    let mut file = file.map_err(|e| room::not_written(&e))?;
    let mut pieces = body.into_data_stream();
    let (mut octets, mut looked_at) = (0u64, 0u64);
    loop {
        let piece = match timeout(PIECE_TIME, pieces.next()).await {
            Err(_) => return Err(wrong("came too slowly")),
            Ok(None) => break,
            Ok(Some(Err(_))) => return Err(wrong("did not come whole")),
            Ok(Some(Ok(piece))) => piece,
        };
        octets = octets.saturating_add(piece.len() as u64);
        if octets > octets_max {
            return Err(brought.too_large(octets_max));
        }
        if octets - looked_at >= LOOK_EVERY_OCTETS {
            looked_at = octets;
            web.room_for(0).await?;
        }
        file.write_all(&piece).await.map_err(|e| room::not_written(&e))?;
    }
    file.flush().await.map_err(|e| room::not_written(&e))?;
    if octets == 0 {
        return Err(wrong("is empty"));
    }
    work.progress.total_octets.store(octets, Ordering::Relaxed);
    Ok(())
}

impl Brought {
    /// What its user calls it, as it is shown.
    pub(super) fn name(&self, name: &str) -> Result<String, Problem> {
        let name: String = name.chars().filter(|c| !c.is_control()).take(NAME_CHARS_MAX).collect();
        match name.trim().is_empty() {
            true => Err(Problem::parameter("name", format!("The {} needs a name.", self.what))),
            false => Ok(name),
        }
    }

    /// How long it says that it is; 0 if it does not.
    pub(super) fn octets(&self, headers: &HeaderMap, octets_max: u64) -> Result<u64, Problem> {
        let told = headers.get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<u64>().ok());
        match told {
            Some(octets) if octets > octets_max => Err(self.too_large(octets_max)),
            told => Ok(told.unwrap_or(0)),
        }
    }

    fn too_large(&self, octets_max: u64) -> Problem {
        let Brought { what, elsewhere } = self;
        let text = format!("A {what} may have {} MB here; {elsewhere} takes larger ones.", octets_max / 1_000_000);
        Problem::new(Kind::TooLarge, text)
    }
}

/// What reads captures.
///
/// # Errors
/// Captures are not taken here.
fn reader(web: &Web) -> Result<Arc<dyn Reader>, Problem> {
    let reader = web.sources.reader.clone().filter(|_| web.options.uploads);
    reader.ok_or_else(|| Problem::new(Kind::Forbidden, "Captures are not taken here (web.uploads)."))
}

/// Your captures, the newest first.
#[utoipa::path(
    get, path = "/captures", tag = "captures",
    responses((status = 200, body = CapturesList), (status = "4XX", body = schema::Problem))
)]
pub async fn list(State(web): State<Arc<Web>>, who: Who) -> Result<Json<CapturesList>, Problem> {
    who.need(Permission::CapturesUpload)?;
    let captures = web.captures.list(who.id()).iter().map(|work| shown(work)).collect();
    Ok(Json(CapturesList { captures }))
}

/// How far a capture is.
#[utoipa::path(
    get, path = "/captures/{id}", tag = "captures", params(("id" = String, Path)),
    responses((status = 200, body = Capture), (status = "4XX", body = schema::Problem))
)]
pub async fn show(State(web): State<Arc<Web>>, who: Who, Path(id): Path<String>) -> Result<Json<Capture>, Problem> {
    who.need(Permission::CapturesUpload)?;
    Ok(Json(shown(&*web.captures.find(&id, who.id())?)))
}

fn shown(work: &Work<CaptureAsk, ReadDone>) -> Capture {
    let (state, done, error) = work.state();
    let done = done.unwrap_or_default();
    let (progress, over) = (&work.progress, state == WorkState::Done);
    Capture {
        id: work.id.clone(),
        name: work.ask.name.clone(),
        state,
        read_octets: progress.read_octets.load(Ordering::Relaxed),
        total_octets: progress.total_octets.load(Ordering::Relaxed),
        packets: if over { done.packets } else { progress.packets.load(Ordering::Relaxed) },
        calls: if over { done.calls } else { progress.calls.load(Ordering::Relaxed) },
        from: done.from_ns.map(rfc3339),
        to: done.to_ns.map(rfc3339),
        oddities: done.oddities,
        error,
    }
}

/// Ends the reading of a capture, or removes it with the rows that it brought.
#[utoipa::path(
    delete, path = "/captures/{id}", tag = "captures", params(("id" = String, Path)),
    responses((status = 204), (status = "4XX", body = schema::Problem))
)]
pub async fn remove(State(web): State<Arc<Web>>, who: Who, Path(id): Path<String>) -> Result<StatusCode, Problem> {
    who.need(Permission::CapturesUpload)?;
    let work = web.captures.find(&id, who.id())?;
    if let (Some(kept), Some(reader)) = (work.kept(), web.sources.reader.clone()) {
        // If this fails the capture stays, and can be removed again.
        let forget = tokio::task::spawn_blocking(move || reader.forget(&kept));
        forget.await.map_err(Problem::failed)?.map_err(Problem::from)?;
    }
    web.captures.remove(&work);
    Ok(StatusCode::NO_CONTENT)
}
