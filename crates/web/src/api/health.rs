//! `/metrics` for Prometheus, and `/healthz`: of the capture that runs here and of the web itself.

use super::ask::Text;
use crate::paths;
use crate::problem::Problem;
use crate::state::Web;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;
use trunkline_kit::metrics::{CONTENT_TYPE, exposition};

/// The metrics of the capture and of the web.
pub async fn metrics(State(web): State<Arc<Web>>) -> Result<Response, Problem> {
    let live = web.sources.live.clone();
    let asked = web.look(&web.probes, move || live.map(|live| live.metrics()).unwrap_or_default());
    let mut text = asked.await?;
    text.push_str(&exposition(&web.metrics()));
    Ok(Text::of(CONTENT_TYPE, text).into_response())
}

/// `ok`, or what is unhealthy, a line each, with status 503.
pub async fn healthz(State(web): State<Arc<Web>>) -> Result<Response, Problem> {
    let live = web.sources.live.clone();
    let unhealthy = web.look(&web.probes, move || live.map(|live| live.health()).unwrap_or_default()).await?;
    if unhealthy.is_empty() {
        return Ok(Text::of("text/plain; charset=utf-8", "ok\n".to_owned()).into_response());
    }
    let unhealthy: Vec<String> = unhealthy.iter().map(|line| paths::named(line)).collect();
    let text = Text::of("text/plain; charset=utf-8", unhealthy.join("\n") + "\n");
    Ok((StatusCode::SERVICE_UNAVAILABLE, text).into_response())
}
