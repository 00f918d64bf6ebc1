//! A hash for keys of addresses and ports: a multiply per eight octets, seeded per table so that nobody can aim at a
//! bucket.
//!
//! Nothing depends on the order of a table, so the seed does not change any result.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

/// Makes [`Folding`] hashers of one table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seeded(u64);

impl Default for Seeded {
    fn default() -> Self {
        Seeded(RandomState::new().hash_one(0x7472_756e_6b6c_696e_u64))
    }
}

impl BuildHasher for Seeded {
    type Hasher = Folding;

    #[inline]
    fn build_hasher(&self) -> Folding {
        Folding(self.0)
    }
}

/// Folds the 128-bit product of state and word, as wyhash does.
pub(crate) struct Folding(u64);

const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

impl Folding {
    #[inline]
    fn word(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word).wrapping_mul(u128::from(MULTIPLIER ^ self.0.rotate_left(32) | 1));
        self.0 = (product >> 64) as u64 ^ product as u64;
    }
}

impl Hasher for Folding {
    #[inline]
    fn write(&mut self, octets: &[u8]) {
        let mut rest = octets;
        while let Some((word, after)) = rest.split_first_chunk::<8>() {
            self.word(u64::from_ne_bytes(*word));
            rest = after;
        }
        if !rest.is_empty() {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            self.word(u64::from_ne_bytes(last) ^ rest.len() as u64);
        }
    }

    #[inline]
    fn write_u8(&mut self, n: u8) {
        self.word(u64::from(n));
    }

    #[inline]
    fn write_u16(&mut self, n: u16) {
        self.word(u64::from(n));
    }

    #[inline]
    fn write_u32(&mut self, n: u32) {
        self.word(u64::from(n));
    }

    #[inline]
    fn write_u64(&mut self, n: u64) {
        self.word(n);
    }

    #[inline]
    fn write_usize(&mut self, n: usize) {
        self.word(n as u64);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Address, Endpoint};
    use std::collections::HashSet;

    #[test]
    fn neighbours_spread_over_buckets() {
        let seeded = Seeded::default();
        let mut buckets = HashSet::new();
        for host in 0..64 {
            for port in 0..64 {
                buckets.insert(seeded.hash_one(Endpoint::new(Address::v4([10, 0, 0, host]), 5060 + port)) % 4096);
            }
        }
        // 4096 keys in 4096 buckets: about 63 % are hit by chance.
        assert!(buckets.len() > 2300, "{}", buckets.len());
    }
}
