//! An item as a reader sees it.

use super::bucket::Slot;
use super::item::{Head, mark};
use super::large::{Hold, Shelved};
use super::memory::Memory;
use super::rules::Refused;
use super::segment::{About, Queue};
use super::shared::Store;
use super::standing::Standing;
use super::sync::atomic::AtomicU64;
use super::words;

/// An item as a reader sees it. What it says is right once the read has ended: until then a writer may interfere, and
/// then the closure that looks at it runs again.
#[derive(Debug)]
pub struct Seen<'a> {
    pub(super) store: &'a Store,
    pub(super) memory: &'a Memory,
    pub(super) words: &'a [AtomicU64],
    pub(super) head: Head,
    pub(super) slot: Slot,
    pub(super) now: u32,
}

impl Seen<'_> {
    /// Octets of the value.
    #[inline]
    pub fn value_octets(&self) -> u64 {
        if self.head.is(mark::LARGE) { large_octets(self.words, &self.head) } else { u64::from(self.head.value_octets) }
    }

    /// Octets that the item takes: key, value, and what stands beside them.
    pub fn item_octets(&self) -> u64 {
        8 * self.head.words() as u64 + if self.head.is(mark::LARGE) { self.value_octets() } else { 0 }
    }

    /// The client's flags.
    #[inline]
    pub fn flags(&self) -> u32 {
        self.head.flags
    }

    /// The cas number: another one after each change.
    #[inline]
    pub fn cas(&self) -> u64 {
        self.head.cas
    }

    /// The second from which on it is gone; 0 is never.
    #[inline]
    pub fn expiry(&self) -> u32 {
        self.head.expiry
    }

    /// The second when it was stored, if that was within about the last 13 hours; else one not before.
    pub fn birth(&self) -> u32 {
        About::of(self.memory).opened().saturating_add(u32::from(self.head.birth))
    }

    /// The second when it was last stored or fetched: to within [`super::LAST_USE_GRAIN_S`], if that was within six
    /// days.
    pub fn last_use(&self) -> u32 {
        let birth = self.birth().min(self.now);
        if self.slot.is_fetched() { self.slot.last_use(self.now).max(birth) } else { birth }
    }

    /// Whether it was fetched since it was stored, before this read.
    pub fn is_fetched(&self) -> bool {
        self.slot.is_fetched()
    }

    /// Whether it is marked as stale.
    pub fn is_stale(&self) -> bool {
        self.head.is(mark::STALE)
    }

    /// Whether somebody was told to make the value anew.
    pub fn is_won(&self) -> bool {
        self.head.is(mark::WON)
    }

    /// Whether its key came as base64.
    pub fn is_binary_key(&self) -> bool {
        self.head.is(mark::BINARY_KEY)
    }

    /// Whether the value lies in blocks of its own: then [`Seen::hold`] copies nothing.
    pub fn is_large(&self) -> bool {
        self.head.is(mark::LARGE)
    }

    /// Everything that the item has beside key and value.
    pub fn standing(&self) -> Standing {
        Standing {
            flags: self.flags(),
            expiry: self.expiry(),
            cas: self.cas(),
            given: self.head.is(mark::GIVEN),
            stale: self.is_stale(),
            won: self.is_won(),
            binary_key: self.head.is(mark::BINARY_KEY),
            birth: self.birth(),
            fetched: self.is_fetched().then(|| self.last_use()),
            uses: self.slot.uses() as u8,
            proven: About::of(self.memory).queue() == Queue::Main,
        }
    }

    /// Tells the value piece by piece, as its pieces lie in memory; one that does not lie in blocks is copied.
    pub fn pieces(&self, mut tell: impl FnMut(&[u8])) {
        let Some(shelved) = self.is_large().then(|| self.shelved()).flatten() else {
            let mut octets = Vec::new();
            self.copy(&mut octets);
            return tell(&octets);
        };
        let mut at = 0;
        while !shelved.value.piece(at).is_empty() {
            tell(shelved.value.piece(at));
            at += shelved.value.piece(at).len() as u64;
        }
    }

    /// Adds the value's octets to `output`.
    #[inline]
    pub fn copy(&self, output: &mut Vec<u8>) {
        if !self.is_large() {
            words::copy(self.words, self.head.value_at(), usize::from(self.head.value_octets), output);
        } else if let Some(shelved) = self.shelved() {
            shelved.value.copy(output);
        }
    }

    /// Takes hold of the value, to be read bit by bit after the read has ended. Large values are not copied: they stay
    /// in memory, counted against the limit, until the hold is dropped.
    ///
    /// # Errors
    /// Holds of other values and this one would keep more than a quarter of the limit.
    pub fn hold(&self) -> Result<Hold, Refused> {
        if self.is_large() {
            // None: it was removed meanwhile, and the read begins again.
            return self.shelved().map_or(Ok(Hold::of_copy(Vec::new())), |shelved| Hold::of_large(shelved.value));
        }
        let mut octets = Vec::new();
        self.copy(&mut octets);
        Ok(Hold::of_copy(octets))
    }

    /// Adds the key's octets to `output`.
    pub(super) fn copy_key(&self, output: &mut Vec<u8>) {
        words::copy(self.words, self.head.key_at(), usize::from(self.head.key_octets), output);
    }

    /// The large value.
    pub(super) fn shelved(&self) -> Option<Shelved> {
        self.store.shelf.get(large_number(self.words, &self.head))
    }
}

/// The number of an item's large value.
pub fn large_number(words: &[AtomicU64], head: &Head) -> u64 {
    words::load_at(words, head.value_at())
}

fn large_octets(words: &[AtomicU64], head: &Head) -> u64 {
    words::load_at(words, head.value_at() + 8)
}
