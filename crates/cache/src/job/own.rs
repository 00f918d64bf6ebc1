//! A cache of the program's own: for other jobs, in this process, on whichever thread they work.
//!
//! Its store is its own. In the store that serves the network, whoever may connect could read or forge what the program
//! keeps there, a subscriber's profile above all, and what clients store could evict it.

use super::Clock;
use crate::store::{Counts, Decision, Put, Refused, Rules, Store, Touch, Value, Writer};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Items that are looked at for having expired, at most once a second of each handle.
const SWEEP_ITEMS: usize = 1_000;

/// A store that no client reaches.
#[derive(Clone, Debug)]
pub struct OwnCache {
    store: Arc<Store>,
    clock: Clock,
}

impl OwnCache {
    /// With room for so many octets in all, at least [`crate::store::LIMIT_OCTETS_MIN`]; what is used least goes when
    /// it is full.
    pub fn new(limit_octets: u64) -> Self {
        let limit_octets = limit_octets.max(crate::store::LIMIT_OCTETS_MIN);
        let item_octets_max = Rules::default().item_octets_max.min(limit_octets);
        let store = Store::new(Rules { limit_octets, item_octets_max, ..Rules::default() });
        OwnCache { store, clock: Clock { started: Instant::now(), second: Clock::FIRST_SECOND } }
    }

    /// What one thread reads and writes with. It costs some memory: a thread keeps its own.
    pub fn handle(&self) -> Handle {
        Handle { writer: self.store.writer(), clock: self.clock, swept: 0 }
    }

    /// What it holds and has counted.
    pub fn counts(&self) -> Counts {
        self.store.counts()
    }
}

/// What one thread reads and writes the program's own cache with.
#[derive(Debug)]
pub struct Handle {
    writer: Writer,
    clock: Clock,
    /// The second in which it swept last.
    swept: u32,
}

impl Handle {
    /// The value under a key, into `value`, which is emptied first. Whether there is one.
    pub fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> bool {
        let now = self.now();
        value.clear();
        let found = self.writer.read(key, now, Touch::Yes, |seen| {
            // It runs again if a writer interferes.
            value.clear();
            seen.copy(value);
        });
        if found.is_none() {
            value.clear();
        }
        found.is_some()
    }

    /// Stores a value, for so long: whole seconds, of which the first may be short; none is for as long as there is
    /// room.
    ///
    /// # Errors
    /// The item is too large, its key is empty or longer than 250 octets, or there is no memory.
    pub fn set(&mut self, key: &[u8], value: &[u8], lives: Option<Duration>) -> Result<(), Refused> {
        let (now, put) = self.put(lives);
        self.writer.change(key, Value::Octets(value), now, |_, _| (Decision::Put(put), ())).map(|_| ())
    }

    /// The same where there is none under the key yet. Whether it was stored.
    ///
    /// # Errors
    /// As [`Handle::set`].
    pub fn add(&mut self, key: &[u8], value: &[u8], lives: Option<Duration>) -> Result<bool, Refused> {
        let (now, put) = self.put(lives);
        let changed = self.writer.change(key, Value::Octets(value), now, |old, _| match old {
            Some(_) => (Decision::Keep, false),
            None => (Decision::Put(put), true),
        });
        changed.map(|changed| changed.told)
    }

    /// Removes what is under a key. Whether there was something.
    pub fn delete(&mut self, key: &[u8]) -> bool {
        let now = self.now();
        let gone = self.writer.change(key, Value::None, now, |old, _| (Decision::Delete, old.is_some()));
        gone.is_ok_and(|gone| gone.told)
    }

    /// Lets go of memory: to be called before a thread waits for long.
    pub fn rest(&mut self) {
        self.writer.rest();
    }

    fn put(&mut self, lives: Option<Duration>) -> (u32, Put) {
        let now = self.now();
        let seconds = |time: Duration| u32::try_from(time.as_secs().max(1)).unwrap_or(u32::MAX);
        let expiry = lives.map_or(0, |time| now.saturating_add(seconds(time)));
        (now, Put { expiry, ..Put::default() })
    }

    /// The store's second. Nobody keeps house in this store: each handle does a little, once a second.
    fn now(&mut self) -> u32 {
        let second = self.clock.now().second;
        if second != self.swept {
            self.swept = second;
            self.writer.sweep(second, SWEEP_ITEMS);
        }
        second
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_share_what_one_of_them_stored() {
        let cache = OwnCache::new(4 << 20);
        let mut value = b"before".to_vec();
        assert!(!cache.handle().get(b"profile:1", &mut value) && value.is_empty());
        let other = cache.clone();
        let stored = std::thread::spawn(move || other.handle().set(b"profile:1", b"gold", None));
        assert_eq!(stored.join().unwrap(), Ok(()));
        let mut handle = cache.handle();
        assert!(handle.get(b"profile:1", &mut value));
        assert_eq!(value, b"gold");
        assert_eq!(
            (handle.add(b"profile:1", b"tin", None), handle.add(b"profile:2", b"tin", None)),
            (Ok(false), Ok(true))
        );
        assert!(handle.delete(b"profile:1") && !handle.delete(b"profile:1"));
        assert_eq!(handle.set(b"", b"x", None), Err(Refused::TooLarge));
    }

    #[test]
    fn what_has_expired_is_gone_and_its_memory_comes_back() {
        // A clock that is a minute ahead of the handle that stores.
        let cache = OwnCache::new(4 << 20);
        let Some(earlier) = Instant::now().checked_sub(Duration::from_secs(60)) else { return };
        let mut handle = cache.handle();
        for number in 0..1000u32 {
            handle.set(&number.to_be_bytes(), &[7; 200], Some(Duration::from_secs(30))).unwrap();
        }
        assert!(handle.get(&5u32.to_be_bytes(), &mut Vec::new()));
        handle.clock = Clock { started: earlier, ..handle.clock };
        assert!(!handle.get(&5u32.to_be_bytes(), &mut Vec::new()));
        assert!(handle.set(b"stays", b"x", None).is_ok());
        assert!(cache.counts().expired > 0, "{:?}", cache.counts());
    }

    #[test]
    fn it_keeps_to_its_room() {
        let cache = OwnCache::new(1 << 20);
        let mut handle = cache.handle();
        for number in 0..20_000u32 {
            handle.set(&number.to_be_bytes(), &[7; 500], None).unwrap();
        }
        let counts = cache.counts();
        assert!(counts.evicted > 0 && counts.used_octets <= 1 << 20, "{counts:?}");
    }
}
