//! A simulated world as a file with its truth, and what reading it gives.

use std::fs::File;
use std::path::{Path, PathBuf};
use trunkline_calls::job::{Progress, ReadOptions, Sink, Summary, read};
use trunkline_sim::Settings;
use trunkline_sim::truth::{CallTruth, Truth};
use trunkline_store::row::Rows;

/// Keeps all rows.
#[derive(Default)]
struct Keep(Rows);

impl Sink for Keep {
    fn rows(&mut self, rows: Rows) -> Result<(), String> {
        self.0.calls.extend(rows.calls);
        self.0.streams.extend(rows.streams);
        self.0.intervals.extend(rows.intervals);
        self.0.registrations.extend(rows.registrations);
        self.0.events.extend(rows.events);
        self.0.losses.extend(rows.losses);
        Ok(())
    }
}

pub struct World {
    pub file: PathBuf,
    pub truth: Vec<Truth>,
    _folder: tempfile::TempDir,
}

impl World {
    /// The truth of its calls.
    pub fn calls(&self) -> impl Iterator<Item = &CallTruth> {
        self.truth.iter().filter_map(|truth| if let Truth::Call(call) = truth { Some(&**call) } else { None })
    }
}

/// Makes one.
pub fn world(settings: &Settings) -> World {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("world.pcap");
    let mut lines = Vec::new();
    trunkline_sim::write(settings, File::create(&file).unwrap(), Some(&mut lines), &mut |_, _| {}).unwrap();
    let truth = lines.split(|o| *o == b'\n').filter(|l| !l.is_empty());
    let truth = truth.map(|l| serde_json::from_slice(l).unwrap()).collect();
    World { file, truth, _folder: folder }
}

/// All rows of a file.
pub fn read_rows(file: &Path, threads: usize) -> (Rows, Summary) {
    read_files(&[file.to_owned()], threads)
}

/// All rows of some files.
pub fn read_files(files: &[PathBuf], threads: usize) -> (Rows, Summary) {
    let mut keep = Keep::default();
    let options = ReadOptions { files: files.to_vec(), threads, expansion: None };
    let summary = read(&options, &mut keep, &Progress::default()).unwrap();
    (keep.0, summary)
}
