//! What happened to volumes and segments, and what was lost after it had been accepted.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::SystemTime;

use crate::error::Place;
use crate::options::Priority;
use crate::stats::State;

/// Events kept until they are asked for; beyond it the oldest is forgotten (and counted).
pub const EVENTS_MAX: usize = 4096;
/// Losses kept until they are asked for; beyond it two neighbours become one that spans both.
pub const LOSSES_MAX: usize = 4096;

/// Something that happened, for the log, alarms and the list of segments.
#[derive(Clone, Debug)]
pub struct Event {
    /// When, by the system's clock.
    pub at: SystemTime,
    /// Number of the volume, in the order of [`crate::Options::volumes`].
    pub volume: usize,
    /// What.
    pub what: What,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// The volume's state changed.
    State(State),
    /// A segment was committed.
    Sealed {
        /// Its path: volume and relative name.
        path: PathBuf,
        /// Its length.
        octets: u64,
        /// Time of its first and last record, nanoseconds since 1970.
        span_ns: (i64, i64),
    },
    /// A segment ended early because its volume failed. It stays as `.part`, cut after the last whole record if the
    /// volume allowed it; [`crate::repair`] commits it.
    Cut {
        /// Its path, with `.part`.
        path: PathBuf,
        /// Octets of whole records on disk.
        octets: u64,
    },
}

/// Records that were accepted and then lost: their volume failed before they were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Where.
    pub place: Place,
    /// Whose.
    pub priority: Priority,
    /// Of which [`crate::Writer`]: its [`crate::Writer::tag`].
    pub tag: u32,
    /// Time of the first and the last of them, nanoseconds since 1970.
    pub span_ns: (i64, i64),
    /// How many.
    pub records: u64,
    /// Their octets.
    pub octets: u64,
}
