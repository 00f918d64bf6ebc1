//! The socket through which other processes of this machine look at a run: `DATA/spool/run.sock`, HTTP with one GET a
//! connection, as metrics are served. It tells, and takes no order.
//!
//! | path | answer |
//! |---|---|
//! | `/live/snapshot` | [`trunkline_web::sources::LiveSnapshot`] as JSON |
//! | `/live/calls/N` | [`trunkline_web::sources::CallsUp`] as JSON: the newest N |
//! | `/live/cache` | [`trunkline_web::sources::CacheSnapshot`] as JSON: how the run's cache stands; null without one |
//! | `/metrics`, `/healthz` | as elsewhere |

use super::config::Listen;
use super::engine::CALLS_UP_MAX;
use super::metrics::{self, Page, Server};
use super::view::View;
use crate::cache::here::Running;
use serde::Serialize;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The path of the snapshot.
pub const SNAPSHOT: &str = "/live/snapshot";
/// The path of the cache.
pub const CACHE: &str = "/live/cache";
/// What the path of the calls begins with.
pub const CALLS: &str = "/live/calls/";

/// Where the socket of a data folder is.
pub fn path(data: &Path) -> PathBuf {
    data.join("spool").join("run.sock")
}

/// Serves the view until it is dropped; `source` is what snapshots call it.
///
/// # Errors
/// Another run listens there, or the folder cannot be made.
pub fn serve(data: &Path, view: Arc<View>, source: &'static str) -> io::Result<Server> {
    let path = path(data);
    path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
    let bound = metrics::bind(&Listen::Unix(path))?;
    let of_page = Arc::clone(&view);
    let page = move || Page { samples: of_page.samples(), unhealthy: of_page.unhealthy() };
    bound.serve_more(page, move |path| answer(path, &view, source))
}

fn answer(path: &str, view: &View, source: &str) -> Option<String> {
    if path == SNAPSHOT {
        return json(&view.live_snapshot(source));
    }
    if path == CACHE {
        return json(&view.jobs().get::<Running>().map(Running::snapshot));
    }
    let limit: usize = path.strip_prefix(CALLS)?.parse().ok()?;
    json(&view.calls_up(limit.min(CALLS_UP_MAX)))
}

fn json(what: &impl Serialize) -> Option<String> {
    serde_json::to_string(what).ok()
}
