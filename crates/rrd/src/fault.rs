//! What can go wrong, by what the caller will do about it.

use std::io;

/// A file cannot be read, made or written.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The system failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The disk did not keep what was written (a sync has failed), and the system may have forgotten it: another sync
    /// would say that all is well. Nothing counts as stored any more until the writer is opened anew.
    #[error("what was written may not be on the disk: {0}")]
    Unsynced(io::Error),
    /// Another process holds the lock of the file: rrdtool reads or writes it just now. To be tried again.
    #[error("another process holds the file's lock")]
    Locked,
    /// It is no round-robin file, one of another machine, or damaged; the text says what was found and where.
    #[error("octet {at}: {what}")]
    Format {
        /// Where in the file.
        at: u64,
        /// What was found there.
        what: String,
    },
    /// What was asked for has no sense for this file, or is beyond a limit; the text says which.
    #[error("{0}")]
    Asked(String),
}

impl Fault {
    pub(crate) fn format(at: u64, what: impl Into<String>) -> Fault {
        Fault::Format { at, what: what.into() }
    }

    pub(crate) fn asked(what: impl Into<String>) -> Fault {
        Fault::Asked(what.into())
    }
}

/// A sample that was not taken. Nothing of it is in the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It is not later than the last one, which is at this time (seconds).
    #[error("not later than the last update at {0}")]
    Past(i64),
    /// It has another number of values than the file has data sources.
    #[error("{got} values for {expected} data sources")]
    Values {
        /// What it has.
        got: usize,
        /// What it should have.
        expected: usize,
    },
    /// A value is not of its data source's kind.
    #[error("data source {source_name}: not {expected}: '{text}'")]
    Value {
        /// The data source.
        source_name: String,
        /// What it takes.
        expected: &'static str,
        /// What came.
        text: String,
    },
    /// The file has an archive of this kind (prediction, seasons, failures), whose updates are left to rrdtool.
    #[error("archive {archive} is {kind}: files with it are read, not updated")]
    Kind {
        /// Its number.
        archive: usize,
        /// Its consolidation function.
        kind: &'static str,
    },
}
