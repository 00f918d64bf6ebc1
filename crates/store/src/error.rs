//! What can go wrong with a store, by what the caller does about it.

use crate::time::Day;
use std::path::PathBuf;

/// Why the store could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The folder cannot be used at all: tell the user and end.
    #[error("store {}: {cause}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        cause: String,
    },
    /// One day cannot be used; the others can.
    #[error("{}: {cause}", path.display())]
    Day {
        /// Its file.
        path: PathBuf,
        /// Why: damaged, not ours, of a newer version.
        cause: String,
    },
    /// Another process writes to the same day: try again later.
    #[error("{}: another process writes to it", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// There is no room, or the disk failed: what was not committed is gone.
    #[error("{}: {cause}", path.display())]
    Disk {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: String,
    },
    /// The question was wrong: tell the user.
    #[error("{0}")]
    Question(String),
    /// It took longer or needed more than allowed: ask for less.
    #[error("{0}")]
    Limit(String),
}

/// A day that was passed over, and why: one line for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Which.
    pub day: Day,
    /// Its file and what is wrong with it.
    pub why: String,
}
