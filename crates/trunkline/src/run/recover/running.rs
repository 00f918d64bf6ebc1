//! Recovery as a part of a run: prepared before the capture begins, ended when all rows are written.

use super::checkpoint::{Checkpoint, Found};
use super::keeper::Keeper;
use super::live::LiveRows;
use super::reader::{Log, Reader};
use super::state::{Phase, Recovery};
use crate::run::config::Settings;
use crate::run::engine::Shared;
use crate::run::rows::RowsOut;
use crate::show::figure;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use trunkline_calls::job::Sink;

/// What a run needs for it, before its lanes begin.
pub struct Prepared {
    recovery: Arc<Recovery>,
    log: Option<Log>,
    data: PathBuf,
    every: Duration,
    since_ns: i64,
}

/// Its threads.
pub struct Running {
    recovery: Arc<Recovery>,
    reader: Option<JoinHandle<()>>,
    keeper: Option<JoinHandle<Keeper>>,
    ended: Option<Keeper>,
}

impl Prepared {
    /// Looks what there is to recover, beside a packet log and a store, for a capture that listens since then,
    /// nanoseconds since 1970. None where the configuration wants none.
    pub fn of(settings: &Settings, since_ns: i64) -> Option<Prepared> {
        if settings.calls.recover.is_zero() {
            return None;
        }
        let data = settings.data.folder.clone();
        let recovery = Arc::new(Recovery::default());
        let log = Log::find(&data, settings.calls.recover, settings.record.flush, since_ns).unwrap_or_else(|gone| {
            recovery.change(|state| state.report.counted.gone += gone);
            None
        });
        if let Some(log) = &log {
            recovery.change(|state| (state.report.phase, state.report.from_ns) = (Phase::Finding, log.begins_ns()));
        }
        Some(Prepared { recovery, log, data, every: settings.calls.checkpoint_every, since_ns })
    }

    /// Notes that a run begins whose calls are not recovered, and why: its rows are none that a later one makes again.
    pub fn none(settings: &Settings, since_ns: i64, why: &str) {
        let data = &settings.data.folder;
        let found = match Checkpoint::load(data) {
            Found::Nothing => Checkpoint { ended: true, ..Checkpoint::default() },
            Found::Whole(found) => found,
            Found::Damaged(_) => Checkpoint::default(),
        };
        if !found.ended || found.open > 0 {
            let open = figure::of(found.open, "call", "calls");
            tracing::warn!("{why}: calls of the run before are not recovered; {open} were up at its last checkpoint");
        }
        let begins = Checkpoint { at_ns: since_ns, from_ns: since_ns, ended: true, ..Checkpoint::default() };
        if let Err(error) = begins.store(data) {
            tracing::error!(
                "the checkpoint of calls cannot be written, and a later start may have calls twice: {error}"
            );
        }
    }

    /// The way of the live capture's rows.
    pub fn rows(&self, out: RowsOut) -> Box<dyn Sink> {
        Box::new(LiveRows::new(out, Arc::clone(&self.recovery), self.since_ns))
    }

    /// What others see of it.
    pub fn recovery(&self) -> Arc<Recovery> {
        Arc::clone(&self.recovery)
    }

    /// Starts its threads.
    ///
    /// # Errors
    /// One could not be started.
    pub fn start(self, shared: &Arc<Shared>, out: RowsOut) -> std::io::Result<Running> {
        let Prepared { recovery, log, data, every, since_ns } = self;
        let (shared, writing) = (Arc::clone(shared), out.writing());
        let keeper = Keeper::new(data, every, Arc::clone(&recovery), Arc::clone(&shared), writing, since_ns).start()?;
        let reader = log.map(|log| Reader::start(log, Arc::clone(&recovery), shared, out)).transpose()?;
        Ok(Running { recovery, reader, keeper: Some(keeper), ended: None })
    }
}

impl Running {
    /// Ends its threads, before the capture ends; whether one of them failed.
    pub fn stop(&mut self) -> bool {
        self.recovery.stop();
        let read = self.reader.take().is_some_and(|reader| reader.join().is_err());
        let kept = self.keeper.take().map(JoinHandle::join);
        let failed = kept.as_ref().is_some_and(Result::is_err);
        self.ended = kept.and_then(Result::ok);
        read || failed
    }

    /// Writes the last checkpoint, when all rows are written.
    pub fn finish(self) {
        self.ended.iter().for_each(Keeper::finish);
    }
}
