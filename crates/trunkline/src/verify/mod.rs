//! The files of a data folder, and how each kind is checked.

mod logs;
pub mod packets;
mod single;

use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use trunkline_record::identity::LogId;
use trunkline_record::job::SegmentFile;

/// Octets of a file of which it is looked what it is.
const HEAD_OCTETS: usize = 16;
/// Faults of one file that are told; of more, how many.
const FAULTS_MAX: usize = 20;

/// What came of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All that was checked is whole.
    Whole,
    /// Something is damaged, or gone.
    Damaged,
    /// The system does not let it be read.
    Unreadable,
    /// Nothing could be checked, and that is no fault: the reason is told.
    NotChecked,
}

/// A file that was checked.
#[derive(Clone, Debug)]
pub struct Item {
    /// What kind of file it is.
    pub kind: &'static str,
    /// Where it is; of a log of several files, their folder.
    pub path: PathBuf,
    /// What was checked.
    pub checked: String,
    /// What came of it.
    pub outcome: Outcome,
    /// What is wrong, with its place.
    pub faults: Vec<String>,
    /// What was not checked, and why.
    pub not_checked: Vec<String>,
}

impl Item {
    fn new(kind: &'static str, path: &Path, checked: impl Into<String>) -> Item {
        let (path, checked) = (path.to_path_buf(), checked.into());
        Item { kind, path, checked, outcome: Outcome::Whole, faults: Vec::new(), not_checked: Vec::new() }
    }

    fn fault(mut self, fault: impl Into<String>) -> Item {
        self.outcome = Outcome::Damaged;
        self.faults.push(fault.into());
        if self.faults.len() > FAULTS_MAX {
            self.faults.truncate(FAULTS_MAX);
            self.faults.push("and more".to_owned());
        }
        self
    }

    fn faults(self, faults: impl IntoIterator<Item = String>) -> Item {
        faults.into_iter().fold(self, Item::fault)
    }

    fn unreadable(mut self, why: impl ToString) -> Item {
        self.faults.push(why.to_string());
        Item { outcome: Outcome::Unreadable, ..self }
    }

    fn left_out(mut self, why: impl Into<String>) -> Item {
        self.not_checked.push(why.into());
        if self.checked.is_empty() && self.outcome == Outcome::Whole {
            self.outcome = Outcome::NotChecked;
        }
        self
    }
}

/// A file, or several that belong together.
#[derive(Debug)]
pub struct Found {
    what: What,
    /// Octets that are read of it, about.
    pub octets: u64,
}

#[derive(Debug)]
enum What {
    /// A segment, and which log it is to be of.
    Segment(Box<SegmentFile>, Option<LogId>),
    /// A folder with an append-only log.
    Log(PathBuf),
    Single(PathBuf),
    /// An index whose segment is gone.
    Orphan(PathBuf),
    /// The packet log cannot be listed on all its volumes.
    Unlisted(String),
}

impl Found {
    /// Checks it.
    pub fn check(&self, data: &Path, deep: bool) -> Item {
        match &self.what {
            What::Segment(file, log) => packets::check(file, *log, deep),
            What::Log(folder) => logs::check(data, folder),
            What::Single(path) => single::check(path, deep),
            What::Orphan(path) => packets::orphan(path),
            What::Unlisted(why) => Item::new("packet log", &data.join("packets"), "").unreadable(why),
        }
    }
}

/// All files of a data folder and of the volumes of its packet log.
///
/// # Errors
/// The folder cannot be listed.
pub fn files(data: &Path) -> io::Result<Vec<Found>> {
    let (mut singles, mut logs) = (Vec::new(), Vec::new());
    walk(data, &mut singles, &mut logs)?;
    let mut found = match packets::segments(data) {
        Ok((segments, log)) => {
            segments.into_iter().map(|file| Found::new(What::Segment(Box::new(file), log))).collect()
        }
        Err(e) => vec![Found { what: What::Unlisted(e.to_string()), octets: 0 }],
    };
    found.extend(packets::orphans(data).unwrap_or_default().into_iter().map(|path| Found::new(What::Orphan(path))));
    singles.extend(single::pins_gone(data));
    singles.retain(|path| !packets::is_of_segment(data, path));
    singles.sort();
    logs.sort();
    found.extend(logs.into_iter().map(|folder| Found::new(What::Log(folder))));
    found.extend(singles.into_iter().map(|path| Found::new(What::Single(path))));
    Ok(found)
}

/// Folders in parts of a data folder that have a log.
///
/// # Errors
/// The data folder, or one of them, cannot be listed.
pub fn mendable_logs(data: &Path, parts: &[&str]) -> io::Result<Vec<PathBuf>> {
    std::fs::read_dir(data)?;
    let (mut singles, mut logs) = (Vec::new(), Vec::new());
    for folder in parts.iter().map(|part| data.join(part)).filter(|folder| folder.is_dir()) {
        walk(&folder, &mut singles, &mut logs)?;
    }
    logs.sort();
    Ok(logs)
}

/// Files below a folder, and folders with a log, whose files are not told on their own. Links to folders are not
/// followed; sockets are of those who run.
fn walk(folder: &Path, singles: &mut Vec<PathBuf>, logs: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        if kind.is_dir() {
            walk(&path, singles, logs)?;
            singles.extend(Some(path).filter(|path| single::is_own(path)));
        } else if !kind.is_socket() {
            files.push(path);
        }
    }
    if files.iter().any(|path| logs::is_part(path)) {
        files.retain(|path| !logs::is_of_log(path));
        logs.push(folder.to_path_buf());
    }
    singles.extend(files.into_iter().filter(|path| !single::is_beside(path)));
    Ok(())
}

impl Found {
    fn new(what: What) -> Found {
        let of = |path: &Path| std::fs::metadata(path).map_or(0, |m| m.len());
        let octets = match &what {
            What::Segment(file, _) => of(&file.path),
            What::Single(path) | What::Orphan(path) => of(path),
            What::Log(folder) => std::fs::read_dir(folder)
                .map_or(0, |files| files.flatten().filter_map(|f| f.metadata().ok()).map(|m| m.len()).sum()),
            What::Unlisted(_) => 0,
        };
        Found { what, octets }
    }
}
