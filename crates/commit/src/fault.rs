//! What can go wrong, by what the caller will do about it.

use std::io;

/// The log cannot be opened, read or written.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The system failed with a file.
    #[error("{name}: {error}")]
    Io {
        /// The file.
        name: String,
        /// What the system said.
        error: io::Error,
    },
    /// Something is gone that was told to be durable: the disk has lost it, or somebody has changed it. To go on is for
    /// a person to decide.
    #[error("{name}, octet {at}: {what}")]
    Damaged {
        /// The file.
        name: String,
        /// Where in it.
        at: u64,
        /// What is wrong there.
        what: String,
    },
    /// Who reads the records does not understand one.
    #[error("record {number}: {why}")]
    Refused {
        /// The record.
        number: u64,
        /// What the reader says.
        why: String,
    },
    /// The thread that writes has failed: what it was told to do may be half done.
    #[error("the thread that writes the log has failed")]
    Panicked,
    /// An option has no sense; the text says which and why.
    #[error("{0}")]
    Option(String),
}

impl Fault {
    pub(crate) fn io(name: &str) -> impl FnOnce(io::Error) -> Fault {
        move |error| Fault::Io { name: name.to_owned(), error }
    }

    pub(crate) fn damaged(name: &str, at: u64, what: impl Into<String>) -> Fault {
        Fault::Damaged { name: name.to_owned(), at, what: what.into() }
    }
}

/// An append that was refused; nothing of it will be on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// More waits for the disk than may.
    #[error("too much waits for the disk")]
    Waiting,
    /// There is no room on the disk for the next segment; tried again each second.
    #[error("no room on the disk")]
    Room,
    /// A write failed, and the log is closed until the next start.
    #[error("the log could not be written")]
    Closed,
    /// The record is longer than [`crate::RECORD_OCTETS_MAX`].
    #[error("the record is too long")]
    Long,
}
