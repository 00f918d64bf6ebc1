//! What can go wrong, by what the caller will do about it.

use std::path::PathBuf;

/// The spool cannot be opened, or a folder cannot be repaired.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    /// An option has no sense; the text says which and why.
    #[error("{0}")]
    Option(String),
    /// A folder cannot be made, read or written.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// A thread cannot be started.
    #[error("cannot start a thread: {0}")]
    Thread(std::io::Error),
}

impl SpoolError {
    pub(crate) fn io(path: &std::path::Path, error: impl Into<std::io::Error>) -> SpoolError {
        SpoolError::Io { path: path.to_path_buf(), error: error.into() }
    }
}

/// Where a record was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// No memory was free for its priority: the disks are slower than the traffic.
    Buffer,
    /// No volume could be written, or the write failed: full, read-only, broken.
    Disk,
}

impl Place {
    /// Its name: the label of metrics.
    pub fn name(self) -> &'static str {
        match self {
            Place::Buffer => "buffer",
            Place::Disk => "disk",
        }
    }
}

/// An append that was refused; it is counted already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("dropped at the {}", place.name())]
pub struct Dropped {
    /// Where.
    pub place: Place,
}
