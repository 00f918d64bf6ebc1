//! `/metrics` for Prometheus, and `/healthz`: of the capture that runs here and of the web itself.

use super::ask::Text;
use crate::paths::{self, Paths};
use crate::problem::Problem;
use crate::state::Web;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use std::collections::BTreeSet;
use std::sync::Arc;
use trunkline_kit::metrics::{CONTENT_TYPE, exposition};

/// The metrics of the capture and of the web.
pub async fn metrics(State(web): State<Arc<Web>>) -> Result<Response, Problem> {
    let live = web.sources.live.clone();
    let asked = web.look(&web.probes, move || live.map(|live| live.metrics()).unwrap_or_default());
    let mut text = volumes_by_name(asked.await?, &web.paths);
    text.push_str(&exposition(&web.metrics()));
    Ok(Text::of(CONTENT_TYPE, text).into_response())
}

/// Volumes are called by names, as everywhere here: who reads metrics need not know where files are.
fn volumes_by_name(text: String, paths: &Paths) -> String {
    let label = |path: &str| format!("volume=\"{path}\"");
    let of = |line: &str| line.split_once("volume=\"")?.1.split_once('"').map(|(path, _)| path.to_owned());
    let volumes: BTreeSet<String> = text.lines().filter(|line| !line.starts_with('#')).filter_map(of).collect();
    let names = paths.names(volumes.iter().map(String::as_str));
    volumes.iter().zip(names).fold(text, |text, (path, name)| text.replace(&label(path), &label(&name)))
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
