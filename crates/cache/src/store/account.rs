//! The account of the memory: everything that the store takes, and what is charged from outside, against one limit.

use super::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What memory is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Segments.
    Segments,
    /// Buckets, and the memory of what was evicted.
    Table,
    /// Large values and drafts.
    Large,
    /// What is charged from outside.
    Outside,
}

const KINDS: usize = 4;

/// Octets taken, by kind, and the limit of all together.
#[derive(Debug)]
pub struct Account {
    limit: AtomicU64,
    used: AtomicU64,
    held: AtomicU64,
    kinds: [AtomicU64; KINDS],
}

impl Account {
    /// An account of nothing.
    pub fn new(limit_octets: u64) -> Self {
        Account { limit: limit_octets.into(), used: 0.into(), held: 0.into(), kinds: Default::default() }
    }

    /// Takes octets, if `spare` more would fit as well. Whether they were taken.
    pub fn charge(&self, kind: Kind, octets: u64, spare: u64) -> bool {
        let limit = self.limit();
        let sum = |used: u64| used.checked_add(octets).filter(|sum| sum.saturating_add(spare) <= limit);
        let taken = self.used.fetch_update(Relaxed, Relaxed, sum).is_ok();
        if taken {
            self.kinds[kind as usize].fetch_add(octets, Relaxed);
        }
        taken
    }

    /// Gives octets back.
    pub fn uncharge(&self, kind: Kind, octets: u64) {
        self.kinds[kind as usize].fetch_sub(octets, Relaxed);
        self.used.fetch_sub(octets, Relaxed);
    }

    /// The limit, in octets.
    pub fn limit(&self) -> u64 {
        self.limit.load(Relaxed)
    }

    /// Sets the limit, in octets.
    pub fn set_limit(&self, octets: u64) {
        self.limit.store(octets, Relaxed);
    }

    /// Octets taken by all.
    pub fn used(&self) -> u64 {
        self.used.load(Relaxed)
    }

    /// Octets over the limit, if it was lowered.
    pub fn excess(&self) -> u64 {
        self.used().saturating_sub(self.limit())
    }

    /// Notes octets of a large value that readers hold.
    pub fn hold(&self, octets: u64) {
        self.held.fetch_add(octets, Relaxed);
    }

    /// Notes that they hold them no more.
    pub fn unhold(&self, octets: u64) {
        self.held.fetch_sub(octets, Relaxed);
    }

    /// Octets of large values that readers hold; they are charged for with the values.
    pub fn held(&self) -> u64 {
        self.held.load(Relaxed)
    }

    /// Octets taken by one kind.
    pub fn of(&self, kind: Kind) -> u64 {
        self.kinds[kind as usize].load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_never_exceeds_the_limit() {
        let account = Account::new(100);
        assert!(account.charge(Kind::Table, 60, 40) && !account.charge(Kind::Large, 41, 0));
        assert!(!account.charge(Kind::Large, 30, 11) && account.charge(Kind::Large, 30, 10));
        assert_eq!((account.used(), account.of(Kind::Table), account.of(Kind::Large)), (90, 60, 30));
        assert!(!account.charge(Kind::Outside, u64::MAX, 0));
        account.set_limit(50);
        assert_eq!(account.excess(), 40);
        account.uncharge(Kind::Table, 60);
        assert_eq!((account.used(), account.excess()), (30, 0));
    }
}
