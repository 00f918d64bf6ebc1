//! Sets of numbers that are given one after the other: a bit each.

/// A set of numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Bits {
    words: Vec<u64>,
    len: usize,
}

impl Bits {
    /// Whether a number is in it.
    pub fn has(&self, id: u32) -> bool {
        self.words.get(id as usize / 64).is_some_and(|word| word & (1 << (id % 64)) != 0)
    }

    /// Puts a number in; whether it was not there.
    pub fn put(&mut self, id: u32) -> bool {
        let at = id as usize / 64;
        if self.words.len() <= at {
            self.words.resize(at + 1, 0);
        }
        let is_new = self.words[at] & (1 << (id % 64)) == 0;
        self.words[at] |= 1 << (id % 64);
        self.len += usize::from(is_new);
        is_new
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// All of them, in their order.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        self.words.iter().enumerate().flat_map(|(at, word)| {
            let mut left = *word;
            core::iter::from_fn(move || {
                let bit = left.trailing_zeros();
                left &= left.checked_sub(1)?;
                Some(at as u32 * 64 + bit)
            })
        })
    }
}

impl Extend<u32> for Bits {
    fn extend<I: IntoIterator<Item = u32>>(&mut self, ids: I) {
        for id in ids {
            self.put(id);
        }
    }
}

impl FromIterator<u32> for Bits {
    fn from_iter<I: IntoIterator<Item = u32>>(ids: I) -> Bits {
        let mut bits = Bits::default();
        bits.extend(ids);
        bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn as_a_set_of_the_library(ids in prop::collection::vec(0u32..500, 0..80)) {
            let (bits, set): (Bits, BTreeSet<u32>) = (ids.iter().copied().collect(), ids.iter().copied().collect());
            prop_assert_eq!(bits.len(), set.len());
            prop_assert!(bits.iter().eq(set.iter().copied()));
            prop_assert!((0..600).all(|id| bits.has(id) == set.contains(&id)));
        }
    }
}
