//! What happened to volumes and segments, and what was lost after it had been accepted.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use crate::error::Place;
use crate::options::Priority;
use crate::stats::State;

/// Events kept until they are asked for; beyond it the oldest is forgotten (and counted).
// Limit: events of the spool that wait to be shown
// Beyond: the oldest is forgotten
// Seen in: `trunkline_spool_events_overflow_total`
pub const EVENTS_MAX: usize = 4096;
/// Losses kept until they are asked for; beyond it those of each writer become one.
// Limit: losses of the spool that wait to be reported
// Beyond: the losses of one writer are joined
// Seen in: the loss covers a longer time
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
    /// volume allowed it; [`crate::repair`] commits it. Only what it will not find is a loss.
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
    /// Time of the first and the last of them, nanoseconds since 1970; zeros if there is none.
    pub span_ns: (i64, i64),
    /// How many. None if these octets are the beginning of a record that is counted with its end.
    pub records: u64,
    /// Their octets.
    pub octets: u64,
}

/// Events and losses until they are asked for.
#[derive(Debug, Default)]
pub(crate) struct Log {
    events: Mutex<(VecDeque<Event>, u64)>,
    losses: Mutex<Vec<Loss>>,
}

impl Log {
    pub(crate) fn tell(&self, volume: usize, what: What) {
        let event = Event { at: SystemTime::now(), volume, what };
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        if events.0.len() >= EVENTS_MAX {
            events.0.pop_front();
            events.1 += 1;
        }
        events.0.push_back(event);
    }

    pub(crate) fn lose(&self, loss: Loss) {
        let mut losses = self.losses.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = losses.iter_mut().rev().find(|l| l.joins(&loss)) {
            return last.join(&loss);
        }
        losses.push(loss);
        if losses.len() > LOSSES_MAX {
            thin(&mut losses);
        }
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).0.drain(..).collect()
    }

    /// Events that were forgotten.
    pub(crate) fn overflow(&self) -> u64 {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).1
    }

    pub(crate) fn losses(&self) -> Vec<Loss> {
        std::mem::take(&mut *self.losses.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Joins all that one writer lost: too many losses for a list that says more.
fn thin(losses: &mut Vec<Loss>) {
    let mut by_writer: Vec<Loss> = Vec::new();
    for loss in losses.drain(..) {
        match by_writer.iter_mut().find(|l| (l.place, l.priority, l.tag) == (loss.place, loss.priority, loss.tag)) {
            Some(sum) => sum.join(&loss),
            None => by_writer.push(loss),
        }
    }
    *losses = by_writer;
}

impl Loss {
    /// Whether this is the same loss going on: of one writer, less than a second apart.
    fn joins(&self, next: &Loss) -> bool {
        const APART_NS_MAX: i64 = 1_000_000_000;
        let is_near = next.span_ns.0.saturating_sub(self.span_ns.1) < APART_NS_MAX
            && self.span_ns.0.saturating_sub(next.span_ns.1) < APART_NS_MAX;
        let same = (self.place, self.priority, self.tag) == (next.place, next.priority, next.tag);
        same && (is_near || self.records == 0 || next.records == 0)
    }

    fn join(&mut self, next: &Loss) {
        self.span_ns = match (self.records, next.records) {
            (_, 0) => self.span_ns,
            (0, _) => next.span_ns,
            _ => (self.span_ns.0.min(next.span_ns.0), self.span_ns.1.max(next.span_ns.1)),
        };
        self.records += next.records;
        self.octets += next.octets;
    }
}
