//! What was written: for each key the newest version that was sent, and the newest that the server has confirmed.

use super::value::{self, Stamp};
use std::sync::atomic::{AtomicU32, Ordering};

/// What is wrong with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Its checksum or its length does not hold.
    Torn,
    /// It is another key's.
    Foreign,
    /// A version that nobody has sent yet.
    Unknown,
    /// Older than what had been confirmed before the question.
    Stale,
}

/// The versions of all keys, shared by all threads.
#[derive(Debug)]
pub struct Versions {
    run: u32,
    ordered: bool,
    sent: Box<[AtomicU32]>,
    confirmed: Box<[AtomicU32]>,
}

impl Versions {
    /// Of keys that nobody has written. Where requests may overtake each other (UDP) they are not `ordered`, and an old
    /// value is no fault.
    pub fn new(run: u32, keys: u32, ordered: bool) -> Self {
        let none = || (0..keys).map(|_| AtomicU32::new(0)).collect();
        Versions { run, ordered, sent: none(), confirmed: none() }
    }

    /// What to write into a key now.
    pub fn send(&self, key: u32) -> Stamp {
        let version = self.sent[key as usize].fetch_add(1, Ordering::AcqRel) + 1;
        Stamp { run: self.run, key, version }
    }

    /// The server has stored it.
    pub fn confirm(&self, key: u32, version: u32) {
        if self.ordered {
            self.confirmed[key as usize].fetch_max(version, Ordering::AcqRel);
        }
    }

    /// The oldest version that an answer to a question asked now may have.
    pub fn oldest(&self, key: u32) -> u32 {
        self.confirmed[key as usize].load(Ordering::Acquire)
    }

    /// Checks a value that came for a key, when `oldest` was the oldest that it might be.
    pub fn fault(&self, key: u32, oldest: u32, value: &[u8]) -> Option<Fault> {
        let Some(stamp) = value::read(value) else { return Some(Fault::Torn) };
        if stamp.key != key {
            return Some(Fault::Foreign);
        }
        // What an earlier run has left is good until this one has written the key.
        if stamp.run != self.run {
            return (oldest > 0).then_some(Fault::Stale);
        }
        if stamp.version > self.sent[key as usize].load(Ordering::Acquire) || stamp.version == 0 {
            return Some(Fault::Unknown);
        }
        (stamp.version < oldest).then_some(Fault::Stale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_is_told_apart() {
        let versions = Versions::new(5, 10, true);
        let value = |run, key, version| {
            let mut value = Vec::new();
            value::write(&mut value, Stamp { run, key, version }, 40);
            value
        };
        assert_eq!(versions.fault(3, 0, &value(5, 3, 1)), Some(Fault::Unknown));
        assert_eq!(versions.fault(3, 0, &value(4, 3, 9)), None);
        assert_eq!((versions.send(3).version, versions.send(3).version), (1, 2));
        assert_eq!((versions.fault(3, 0, &value(5, 3, 1)), versions.fault(3, 0, &value(5, 3, 2))), (None, None));
        assert_eq!(versions.oldest(3), 0);
        versions.confirm(3, 2);
        versions.confirm(3, 1);
        assert_eq!(versions.oldest(3), 2);
        assert_eq!(versions.fault(3, 2, &value(5, 3, 1)), Some(Fault::Stale));
        assert_eq!(versions.fault(3, 2, &value(4, 3, 9)), Some(Fault::Stale));
        assert_eq!(versions.fault(3, 0, &value(5, 4, 1)), Some(Fault::Foreign));
        assert_eq!(versions.fault(3, 0, &value(5, 3, 1)[..39]), Some(Fault::Torn));
        let unordered = Versions::new(5, 10, false);
        unordered.confirm(1, 7);
        assert_eq!(unordered.oldest(1), 0);
    }
}
