//! Why a record of the log is no entry of its ledger.

use super::codec::Broken;

/// A record of the log that is no entry of its ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoEntry {
    /// What it says is not known: another version of the program wrote it.
    Broken(Broken),
    /// It is another entry than that of its number.
    Another(u64),
    /// It comes after that entry.
    After(u64),
    /// It names a session's slot that none can have, of so many that can have been used.
    Slot {
        /// The slot.
        slot: u32,
        /// How many.
        slots: u64,
    },
    /// What was before it is not known: why.
    Before(String),
}

impl NoEntry {
    /// Whether it is understood, and cannot stand where it stands: the ledger is damaged or was forged. Of what is not
    /// understood nobody can say so.
    pub fn is_damage(&self) -> bool {
        matches!(self, NoEntry::Another(_) | NoEntry::After(_) | NoEntry::Slot { .. })
    }
}

impl core::fmt::Display for NoEntry {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            NoEntry::Broken(broken) => broken.fmt(f),
            NoEntry::Another(entry) => write!(f, "it holds entry {entry}"),
            NoEntry::After(entry) => write!(f, "it comes after entry {entry}"),
            NoEntry::Slot { slot, slots } => {
                write!(f, "it names slot {slot} of sessions, and no more than {slots} can have been used")
            }
            NoEntry::Before(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for NoEntry {}

impl From<NoEntry> for String {
    fn from(no: NoEntry) -> String {
        no.to_string()
    }
}
