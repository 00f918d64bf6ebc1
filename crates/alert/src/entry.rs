//! Entries: all that changes what alerts know, so that a log of them is their memory.

use crate::delivery::{Acknowledged, Attempted, Escalated, Kept, Message, Notice, Outcome};
use crate::engine::{HourLearned, Silence, Standing, Unsilenced};
use crate::report::{DevicesSeen, Reported};
use serde::{Deserialize, Serialize};

/// Octets of a record.
pub const RECORD_OCTETS_MAX: usize = 1 << 20;
/// Entries of a record.
const RECORD_ENTRIES_MAX: usize = 10_000;

/// One change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Entry {
    /// How a subject stands now.
    Standing(Standing),
    /// An hour of a subject's baseline.
    Hour(HourLearned),
    /// Something to tell.
    Notice(Notice),
    /// A message was made: it takes over what waited for it.
    Message(Message),
    /// A message is about to be sent.
    Attempted(Attempted),
    /// What came of it.
    Outcome(Outcome),
    /// Somebody takes care of an alert.
    Acknowledged(Acknowledged),
    /// A step of escalation was taken.
    Escalated(Escalated),
    /// Somebody keeps alerts back.
    Silenced(Silence),
    /// Nobody keeps them back any more.
    Unsilenced(Unsilenced),
    /// How a report stands: what was sent for which time.
    Reported(Reported),
    /// What was seen of devices.
    Devices(DevicesSeen),
    /// What delivery knew when a snapshot was taken.
    Kept(Kept),
}

/// A record that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no record of alerts: {0}")]
pub struct Undecodable(String);

impl Entry {
    /// Entries that belong together as one record: a crash leaves all of them or none.
    pub fn encode(entries: &[Entry]) -> Vec<u8> {
        // No type in an entry can fail: keys are texts, and what is no finite number is none.
        serde_json::to_vec(entries).unwrap_or_default()
    }

    /// Reads a record.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn decode(octets: &[u8]) -> Result<Vec<Entry>, Undecodable> {
        if octets.len() > RECORD_OCTETS_MAX {
            return Err(Undecodable(format!("longer than {RECORD_OCTETS_MAX} octets")));
        }
        let entries: Vec<Entry> = serde_json::from_slice(octets).map_err(|error| Undecodable(error.to_string()))?;
        match entries.len() > RECORD_ENTRIES_MAX {
            true => Err(Undecodable(format!("more than {RECORD_ENTRIES_MAX} entries"))),
            false => Ok(entries),
        }
    }
}
