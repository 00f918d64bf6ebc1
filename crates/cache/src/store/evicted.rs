//! What was evicted, for who watches: noted by the thread that evicts, and only while somebody watches.

use super::seen::Seen;

/// Items that a thread notes between two looks; of more, only their number.
// Limit: evicted items that one thread notes for `watch`
// Beyond: further ones are counted as skipped
// Seen in: a line says how many
pub const EVICTED_MAX: usize = 4096;

/// An item that was evicted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evicted {
    /// Its key.
    pub key: Vec<u8>,
    /// Whether it was fetched since it was stored.
    pub fetched: bool,
    /// Seconds that it would have lived on; none is for ever.
    pub left_s: Option<u32>,
    /// Seconds since it was last stored or fetched.
    pub idle_s: u32,
    /// Octets of its value.
    pub value_octets: u64,
}

/// What a thread has noted.
#[derive(Debug, Default)]
pub struct Told {
    items: Vec<Evicted>,
    untold: u64,
}

impl Told {
    /// Notes an item.
    pub fn note(&mut self, seen: &Seen<'_>) {
        if self.items.len() >= EVICTED_MAX {
            self.untold += 1;
            return;
        }
        let mut key = Vec::new();
        seen.copy_key(&mut key);
        self.items.push(Evicted {
            key,
            fetched: seen.is_fetched(),
            left_s: (seen.expiry() != 0).then(|| seen.expiry().saturating_sub(seen.now)),
            idle_s: seen.now.saturating_sub(seen.last_use()),
            value_octets: seen.value_octets(),
        });
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// All of it, and how many more there were.
    pub fn take(&mut self) -> (Vec<Evicted>, u64) {
        (std::mem::take(&mut self.items), std::mem::take(&mut self.untold))
    }
}
