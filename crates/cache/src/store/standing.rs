//! What an item has beside key and value, on its way from one store into another.

/// What an item has beside key and value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// The client's flags.
    pub flags: u32,
    /// The second from which on it is gone; 0 is never.
    pub expiry: u32,
    /// The cas number; 0 that no client gave takes the next one of the store.
    pub cas: u64,
    /// Whether a client gave that number.
    pub given: bool,
    /// Whether it is marked as stale.
    pub stale: bool,
    /// Whether somebody was told to make the value anew.
    pub won: bool,
    /// Whether the key came as base64.
    pub binary_key: bool,
    /// The second when it was stored ([`super::Seen::birth`]).
    pub birth: u32,
    /// The second when it was last fetched, if it was since it was stored.
    pub fetched: Option<u32>,
    /// How often it was used lately: 0 to 3.
    pub uses: u8,
    /// Whether it has proven to be used, and so lies in the main queue.
    pub proven: bool,
}

/// Ranks that [`Standing::rank`] gives.
pub const RANKS: usize = 5;

impl Standing {
    /// How much there is for keeping it, from 0 on: what was used lately before what was not, and of that what has
    /// proven to be used before what is new.
    pub fn rank(&self) -> u8 {
        if self.uses == 0 { u8::from(self.proven) } else { 1 + self.uses.min(3) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn use_counts_most() {
        let rank = |uses, proven| Standing { uses, proven, ..Standing::default() }.rank();
        assert!(rank(0, false) < rank(0, true) && rank(0, true) < rank(1, false) && rank(1, true) < rank(2, false));
        assert_eq!(usize::from(rank(u8::MAX, true)), RANKS - 1);
    }
}
