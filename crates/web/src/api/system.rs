//! The system: the capture as it stands, the last ten minutes, the days of the store, the build.

use crate::auth::Permission;
use crate::guard::Who;
use crate::live::{HISTORY_EVERY_S, Moment, Status};
use crate::problem::Problem;
use crate::server::Mode;
use crate::sources::{ClockSteps, NotAnalysed};
use crate::state::Web;
use axum::Json;
use axum::extract::State;
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// The system.
#[derive(Serialize, ToSchema)]
pub struct System {
    /// The capture as it stands; null if nothing runs.
    pub live: Option<Status>,
    /// The last ten minutes, oldest first.
    pub history: Vec<Moment>,
    /// Seconds between two moments of the history.
    pub history_every_s: i64,
    /// Protocols that are not analysed, of the captures that were read since the program began.
    pub read_not_analysed: Vec<NotAnalysed>,
    /// Steps of the clocks of these captures.
    pub read_clock: ClockSteps,
    /// Days that the store has, oldest first.
    pub days: Vec<StoreDay>,
    /// The program.
    pub build: Build,
}

/// A day of the store.
#[derive(Serialize, ToSchema)]
pub struct StoreDay {
    /// Which, UTC.
    #[schema(format = Date)]
    pub day: String,
    /// Octets on disk.
    pub octets: u64,
}

/// The program.
#[derive(Serialize, ToSchema)]
pub struct Build {
    /// Version.
    pub version: String,
    /// In which of its lives it is.
    pub mode: Mode,
    /// Whether it was built with its pages.
    pub pages: bool,
}

/// The system as it stands.
#[utoipa::path(get, path = "/system", tag = "live", responses((status = 200, body = System)))]
pub async fn show(State(web): State<Arc<Web>>, who: Who) -> Result<Json<System>, Problem> {
    who.need(Permission::CallsRead)?;
    let folder = web.sources.store_folder.clone();
    let days = web.stores.ask(move |store| {
        let octets = |name: String| std::fs::metadata(folder.join(name)).map_or(0, |file| file.len());
        let size = |day: &str| octets(format!("{day}.sqlite")) + octets(format!("{day}.sqlite-wal"));
        let days = store.days()?.into_iter().map(|day| day.to_string());
        Ok(days.map(|day| StoreDay { octets: size(&day), day }).collect())
    });
    let build = Build { version: web.options.version.clone(), mode: web.options.mode, pages: web.pages.are_built() };
    let days = days.await?;
    let live = web.feed.last(who.viewer.graphs.as_deref());
    let live = if who.masked() { live.map(Status::masked) } else { live };
    let reader = web.sources.reader.as_ref();
    let read_not_analysed = reader.map(|reader| reader.not_analysed()).unwrap_or_default();
    let mut read_clock = reader.map(|reader| reader.clock()).unwrap_or_default();
    if who.masked() {
        // A name that a user gave may hold a number.
        read_clock.newest.iter_mut().for_each(|step| step.files.clear());
    }
    let history = web.feed.history();
    Ok(Json(System { live, history, history_every_s: HISTORY_EVERY_S, read_not_analysed, read_clock, days, build }))
}
