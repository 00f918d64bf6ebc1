//! Walks: all variables below a name, by GETBULK, or one by one in version 1.

use super::pace::Pace;
use super::{Batch, Counts};
use trunkline_wire::snmp::{Cause, ErrorStatus, Exchange, ObjectId};

/// Walks of a device that wait or go on.
pub const WALKS_MAX: usize = 64;
/// Variables of a walk: then it is ended.
// Limit: variables of one SNMP walk
// Beyond: the walk is ended
// Seen in: the device's page
pub const WALK_VARIABLES_MAX: u32 = 1_000_000;

/// How a walk has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WalkEnd {
    /// All was found: so many variables.
    Done(u32),
    /// No answer came any more.
    Timeout,
    /// The agent's names do not rise: it would never end.
    Looped,
    /// [`WALK_VARIABLES_MAX`].
    TooLong,
    /// The agent could not go on.
    AgentError,
    /// The agent does not let us in.
    Refused(Cause),
}

/// Why a walk was not begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WalkError {
    /// The lane does not have this device.
    #[error("no such device")]
    NoDevice,
    /// [`WALKS_MAX`] of the device wait already.
    #[error("at most {WALKS_MAX} walks of a device")]
    TooMany,
}

#[derive(Debug)]
pub(super) struct Walk {
    pub(super) number: u64,
    root: ObjectId,
    pub(super) last: ObjectId,
    found: u32,
}

impl Walk {
    pub(super) fn new(number: u64, root: ObjectId) -> Walk {
        Walk { number, last: root.clone(), root, found: 0 }
    }

    /// Takes in an answer; how the walk has ended, if it has.
    pub(super) fn take(
        &mut self,
        device: u32,
        answer: &Exchange<'_>,
        pace: &mut Pace,
        batch: &mut Batch,
        counts: &mut Counts,
    ) -> Option<WalkEnd> {
        match answer.status() {
            ErrorStatus::NoError => {}
            // Version 1 says so at the end.
            ErrorStatus::NoSuchName => return Some(WalkEnd::Done(self.found)),
            ErrorStatus::TooBig if pace.repetitions() > 1 => {
                pace.too_far();
                return None;
            }
            _ => return Some(WalkEnd::AgentError),
        }
        let before = self.found;
        for varbind in answer.varbinds {
            let Ok(varbind) = varbind else { return Some(WalkEnd::AgentError) };
            if varbind.value.is_exception() || !varbind.name.is_within(self.root.as_oid()) {
                return Some(WalkEnd::Done(self.found));
            }
            if varbind.name <= self.last.as_oid() {
                counts.walks_looped += 1;
                return Some(WalkEnd::Looped);
            }
            if self.found >= WALK_VARIABLES_MAX {
                return Some(WalkEnd::TooLong);
            }
            batch.walk(device, self.number, varbind.name, &varbind.value);
            self.found += 1;
            counts.walked += 1;
            self.last = varbind.name.to_owned();
        }
        if self.found == before {
            // Nothing at all, and no error: the agent has no end to tell.
            return Some(WalkEnd::AgentError);
        }
        if self.found - before >= pace.repetitions() {
            pace.far_enough();
        }
        None
    }
}
