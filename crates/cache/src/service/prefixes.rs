//! `stats detail`: how often keys of each prefix were asked for.

use crate::protocol::number;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Prefixes that are told apart. Those that come later are counted in [`Prefixes::left_out`]: a client that makes up
/// prefixes takes no more memory than that.
// Limit: prefixes of keys counted separately
// Beyond: uses of keys with further prefixes are not counted by prefix
// Seen in: `trunkline_cache_detail_left_out_total`
pub const PREFIXES_MAX: usize = 10_000;

/// What keys were used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Hit,
    Miss,
    Set,
    Delete,
}

/// All prefixes.
#[derive(Debug, Default)]
pub(super) struct Prefixes {
    on: AtomicBool,
    /// Uses of prefixes that found no place.
    pub left_out: AtomicU64,
    list: Mutex<BTreeMap<Vec<u8>, [u64; 4]>>,
}

impl Prefixes {
    #[inline]
    pub fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    pub fn turn(&self, on: bool) {
        self.on.store(on, Ordering::Relaxed);
    }

    /// Counts a use of a key; one without the delimiter is its own prefix to none.
    pub fn count(&self, key: &[u8], delimiter: u8, used: Use) {
        let Some(end) = memchr::memchr(delimiter, key) else { return };
        let mut list = self.lock();
        if list.len() >= PREFIXES_MAX && !list.contains_key(&key[..end]) {
            self.left_out.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let counts = list.entry(key[..end].to_vec()).or_default();
        counts[used as usize] += 1;
    }

    /// Tells all of them.
    pub fn dump(&self, out: &mut Vec<u8>) {
        for (prefix, [hits, misses, sets, deletes]) in &*self.lock() {
            out.extend_from_slice(b"PREFIX ");
            out.extend_from_slice(prefix);
            for (name, count) in [(" get ", hits + misses), (" hit ", *hits), (" set ", *sets), (" del ", *deletes)] {
                out.extend_from_slice(name.as_bytes());
                number::write(out, count);
            }
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(b"END\r\n");
    }

    /// Forgets all of them.
    pub fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Vec<u8>, [u64; 4]>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_counted_up_to_a_limit() {
        let prefixes = Prefixes::default();
        prefixes.count(b"a:1", b':', Use::Hit);
        prefixes.count(b"a:2", b':', Use::Miss);
        prefixes.count(b"a:2", b':', Use::Set);
        prefixes.count(b"none", b':', Use::Set);
        let mut out = Vec::new();
        prefixes.dump(&mut out);
        assert_eq!(out, b"PREFIX a get 2 hit 1 set 1 del 0\r\nEND\r\n");
        (0..PREFIXES_MAX).for_each(|n| prefixes.count(format!("{n}:").as_bytes(), b':', Use::Hit));
        assert_eq!(prefixes.left_out.load(Ordering::Relaxed), 1);
        prefixes.clear();
        out.clear();
        prefixes.dump(&mut out);
        assert_eq!(out, b"END\r\n");
    }
}
