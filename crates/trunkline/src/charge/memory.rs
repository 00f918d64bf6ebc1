//! Profiles of subscribers, remembered in the program's own cache: what is not asked for goes first, what is past its
//! time frees its memory, and all of it together has a limit.
//!
//! It is a store of its own, not that of `[cache]`: whoever may write there must not say who somebody is.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use trunkline_cache::store::{Decision, Put, Rules, Store, Touch, Value, Writer};
use trunkline_directory::Memory;

/// Items that one sweep looks at.
const SWEPT_ITEMS: usize = 4096;

/// Remembered profiles.
pub struct Remembered {
    store: Arc<Store>,
    writer: Writer,
    /// The second of the last sweep.
    swept: u32,
}

impl Remembered {
    /// With room for so many octets in all.
    pub fn new(octets: u64) -> Remembered {
        let store = Store::new(Rules { limit_octets: octets, ..Rules::default() });
        let writer = store.writer();
        Remembered { store, writer, swept: 0 }
    }

    /// Once a second what has expired is taken back.
    fn sweep(&mut self, now: u32) {
        if self.swept != now {
            self.swept = now;
            self.writer.sweep(now, SWEPT_ITEMS);
        }
    }
}

/// Seconds since 1970: no time of an item is 0, which is never.
fn second() -> u32 {
    let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u32::try_from(unix.as_secs()).unwrap_or(u32::MAX - 1).max(1)
}

impl Memory for Remembered {
    fn get(&mut self, key: &[u8]) -> Option<Vec<u8>> {
        let now = second();
        self.sweep(now);
        self.writer.read(key, now, Touch::Yes, |seen| {
            let mut value = Vec::new();
            seen.copy(&mut value);
            value
        })
    }

    fn set(&mut self, key: &[u8], value: Vec<u8>, time_to_live: Duration) {
        let now = second();
        let seconds = u32::try_from(time_to_live.as_secs().max(1)).unwrap_or(u32::MAX);
        let put = Put { expiry: now.saturating_add(seconds), ..Put::default() };
        let set = self.writer.change(key, Value::Octets(&value), now, |_, _| (Decision::Put(put), ()));
        if set.is_err() {
            // What cannot be remembered is asked for again; what was remembered of it before is not true any more.
            self.remove(key);
        }
    }

    fn remove(&mut self, key: &[u8]) {
        // Without an item, or without memory to note that it goes, there is nothing left to do.
        let _gone = self.writer.change(key, Value::None, second(), |_, _| (Decision::Delete, ()));
    }

    fn held(&self) -> (usize, usize) {
        let counts = self.store.counts();
        (usize::try_from(counts.items).unwrap_or(usize::MAX), usize::try_from(counts.item_octets).unwrap_or(usize::MAX))
    }
}
