//! What happens now, as server-sent events.

use crate::auth::Permission;
use crate::guard::Who;
use crate::live::{Idle, LiveAlerts, LiveCalls, Status, Watching};
use crate::problem::{Kind, Problem};
use crate::state::Web;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::Serialize;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};
use utoipa::ToSchema;

/// How often it is looked whether who watches still may.
const LOOK_AGAIN: Duration = Duration::from_secs(10);

/// What an event of the feed holds, by its name.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[allow(dead_code, reason = "for the document: events are written by the live task")]
pub enum LiveEvent {
    /// The capture as it stands, each second.
    Status(Box<Status>),
    /// Calls that are up and calls that ended, each second.
    Calls(LiveCalls),
    /// What is open of alerts, each second; while nothing runs, when it has changed.
    Alerts(LiveAlerts),
    /// Nothing runs.
    Idle(Idle),
}

/// What happens now: events `status` and `calls` each second, or `idle` while nothing runs; `alerts` and `heartbeat`.
#[utoipa::path(
    get, path = "/live", tag = "live",
    responses((status = 200, content_type = "text/event-stream", body = LiveEvent))
)]
pub async fn watch(State(web): State<Arc<Web>>, who: Who) -> Result<Response, Problem> {
    who.need(Permission::CallsRead)?;
    let watching = Watching::begin(&web, who.id(), who.masked(), who.viewer.graphs.clone());
    let watching = watching.ok_or_else(|| Problem::new(Kind::Busy, "Too many viewers already.").retry_after(30))?;
    let seen = (watching, who, web, Instant::now());
    let frames = stream::unfold(seen, |(mut watching, who, web, mut looked)| async move {
        let frame = watching.next().await?;
        // Who signed out, or was locked out, or got another role or other rules meanwhile, sees no more.
        if looked.elapsed() >= LOOK_AGAIN {
            looked = Instant::now();
            if !who.is_still(&web).await {
                return None;
            }
        }
        Some((Ok::<_, Infallible>(frame), (watching, who, web, looked)))
    });
    let mut response = Body::from_stream(frames).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    // Proxies that gather before they pass on would make of a feed a heap.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}
