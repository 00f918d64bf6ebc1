//! Which keys were changed since a moment, as far as bits allow: none that was changed is forgotten, some that were not
//! count as changed.

use super::account::{Account, Kind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

/// The part of the limit that noting may take.
const LIMIT_PART: u64 = 64;
/// Words of the smallest and the largest filter: 64 KiB and 32 MiB.
const WORDS_MIN: u64 = 8 << 10;
const WORDS_MAX: u64 = 4 << 20;
/// Bits that a key sets in its word.
const BITS: u32 = 4;
/// Keys for each word, on average, at which a filter is full: a word has a quarter of its bits set then, and one key in
/// some hundred that were not changed counts as changed.
const KEYS_PER_WORD: u64 = 4;

/// Keys that were changed, as a Bloom filter whose bits of one key lie in one word.
#[derive(Debug)]
pub struct Noted {
    words: Box<[AtomicU64]>,
    /// Notes that set a bit.
    keys: AtomicU64,
    /// The epoch in which noting began: a flush changes every key.
    epoch: AtomicU32,
    ended: AtomicBool,
    account: Arc<Account>,
}

impl Noted {
    /// An empty filter, as large as the limit allows; none if there is no memory for it.
    pub fn new(account: &Arc<Account>, epoch: u32) -> Option<Arc<Self>> {
        let words = (account.limit() / LIMIT_PART / 8).clamp(WORDS_MIN, WORDS_MAX).next_power_of_two();
        if !account.charge(Kind::Table, 8 * words, 0) {
            return None;
        }
        Some(Arc::new(Noted {
            words: (0..words).map(|_| AtomicU64::new(0)).collect(),
            keys: 0.into(),
            epoch: epoch.into(),
            ended: false.into(),
            account: Arc::clone(account),
        }))
    }

    /// Notes that a key is changed: for who holds the lock of its chain.
    pub fn note(&self, hash: u64) {
        let (word, bits) = self.place(hash);
        if word.load(Relaxed) & bits != bits {
            word.fetch_or(bits, Relaxed);
            self.keys.fetch_add(1, Relaxed);
        }
    }

    /// Whether a key may have been changed: for who holds the lock of its chain.
    pub fn has(&self, hash: u64, epoch: u32) -> bool {
        let (word, bits) = self.place(hash);
        self.is_over(epoch) || word.load(Relaxed) & bits == bits
    }

    /// Whether so much was noted, or a flush has come, that nothing can be told any more.
    pub fn is_over(&self, epoch: u32) -> bool {
        epoch != self.epoch.load(Relaxed) || self.is_full()
    }

    /// Whether more keys were noted than it can tell apart.
    pub fn is_full(&self) -> bool {
        self.keys.load(Relaxed) > self.words.len() as u64 * KEYS_PER_WORD
    }

    /// Nobody will ask any more.
    pub fn end(&self) {
        self.ended.store(true, Relaxed);
    }

    /// Whether nobody will ask any more.
    pub fn is_ended(&self) -> bool {
        self.ended.load(Relaxed)
    }

    fn place(&self, hash: u64) -> (&AtomicU64, u64) {
        // The low bits choose the bucket, the highest ones are the tag: these here are mixed anew.
        let mixed = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ hash >> 29;
        let word = &self.words[(mixed >> 32) as usize & (self.words.len() - 1)];
        let bits = (0..BITS).fold(0, |bits, turn| bits | 1 << (mixed >> (6 * turn) & 63));
        (word, bits)
    }
}

impl Drop for Noted {
    fn drop(&mut self) {
        self.account.uncharge(Kind::Table, 8 * self.words.len() as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(n: u64) -> u64 {
        (n + 1).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ n << 31
    }

    #[test]
    fn what_was_noted_is_known_and_few_others() {
        let account = Arc::new(Account::new(1 << 20));
        let noted = Noted::new(&account, 3).expect("memory");
        assert_eq!(account.used(), 64 << 10);
        let most = noted.words.len() as u64 * KEYS_PER_WORD * 9 / 10;
        (0..most).for_each(|n| noted.note(hash(n)));
        assert!(!noted.is_full() && (0..most).all(|n| noted.has(hash(n), 3)));
        let wrong = (most..most + 10_000).filter(|&n| noted.has(hash(n), 3)).count();
        assert!(wrong < 500, "{wrong}");
        (most..2 * most).for_each(|n| noted.note(hash(n)));
        assert!(noted.is_over(3) && noted.has(hash(u64::MAX - 1), 3));
        drop(noted);
        assert_eq!(account.used(), 0);
    }

    #[test]
    fn a_flush_changes_every_key() {
        let account = Arc::new(Account::new(1 << 20));
        let noted = Noted::new(&account, 3).expect("memory");
        assert!(!noted.has(hash(1), 3) && noted.has(hash(1), 4));
    }
}
