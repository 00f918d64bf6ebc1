//! Spikes of a file: told, and made unknown between two writes of it. What the file was before is kept beside it.

use super::{Keeper, path};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use trunkline_rrd::{RrdFile, SpikeSearch, spikes, without};

/// A value that is a spike, or a row with one in it.
#[derive(Clone, Debug, PartialEq)]
pub struct SpikeShown {
    /// The series.
    pub series: String,
    /// How rows of its archive are made: AVERAGE, MAX.
    pub function: &'static str,
    /// Seconds of one.
    pub row_s: u64,
    /// When it ends, seconds since 1970.
    pub end_s: i64,
    /// The value.
    pub value: f64,
    /// What it becomes; NaN is unknown.
    pub becomes: f64,
}

/// What was found, and done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Despiked {
    /// The spikes.
    pub spikes: Vec<SpikeShown>,
    /// The file as it was before; none if nothing was to be done.
    pub backup: Option<PathBuf>,
}

/// Why nothing was done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSpikes {
    /// There is no such data source, or nothing was read of it yet.
    #[error("data source {0} has no file")]
    NoFile(u32),
    /// What is looked for makes no sense, or the file cannot be read or written.
    #[error("{0}")]
    Failed(String),
    /// Nobody keeps files any more.
    #[error("the graph poller has stopped")]
    Over,
}

impl Keeper {
    /// See [`super::ToKeeper::Spikes`].
    pub(super) fn spikes(&mut self, source: u32, search: &SpikeSearch, apply: bool) -> Result<Despiked, NoSpikes> {
        while !self.follow() {}
        let file = path(&self.shared, source.into()).ok_or(NoSpikes::NoFile(source))?;
        let file = self.shared.folder.join(file);
        if self.writer.waits(source.into()) {
            self.flush(Some(source));
        }
        if !file.exists() {
            return Err(NoSpikes::NoFile(source));
        }
        let failed = |why: &dyn std::fmt::Display| NoSpikes::Failed(format!("{}: {why}", file.display()));
        let shared = Arc::clone(&self.shared);
        let _held = shared.files.write().unwrap_or_else(PoisonError::into_inner);
        let octets = std::fs::read(&file).map_err(|e| failed(&e))?;
        let found = spikes(&octets, search).map_err(|e| failed(&e))?;
        let archive = trunkline_rrd::Archive::open(&octets).map_err(|e| failed(&e))?;
        let shape = archive.shape();
        let shown = found.iter().map(|spike| SpikeShown {
            series: shape.sources[spike.source].name.clone(),
            function: shape.rings[spike.ring].consolidation.name(),
            row_s: spike.row_s,
            end_s: spike.end_s,
            value: spike.value,
            becomes: spike.becomes,
        });
        let mut despiked = Despiked { spikes: shown.collect(), backup: None };
        if apply && !found.is_empty() {
            let clean = without(&octets, &found).map_err(|e| failed(&e))?;
            let backup = backup_of(&file);
            RrdFile::replace(&backup, &octets).map_err(|e| failed(&e))?;
            RrdFile::replace(&file, &clean).map_err(|e| failed(&e))?;
            // What it knows of the file's header is another one now.
            self.writer.forget(source.into());
            despiked.backup = Some(backup);
        }
        Ok(despiked)
    }
}

/// Beside the file: what is there from before is never written over.
fn backup_of(file: &Path) -> PathBuf {
    let named = |number: u32| file.with_extension(format!("rrd.before-{number}"));
    (1..).map(named).find(|backup| !backup.exists()).unwrap_or_else(|| named(0))
}

/// They go with the file: what is left of them when one cannot be removed is of no data source any more.
pub(super) fn remove_backups(file: &Path) {
    let named = |number: u32| file.with_extension(format!("rrd.before-{number}"));
    (1..).map(named).take_while(|backup| std::fs::remove_file(backup).is_ok()).for_each(drop);
}
