//! What a store is told once: its limits, and what it does at them.

/// Octets of a key, as memcached has it.
pub const KEY_OCTETS_MAX: usize = 250;
/// Octets of the smallest limit; models have less.
pub const LIMIT_OCTETS_MIN: u64 = if cfg!(loom) { 1 << 10 } else { 1 << 20 };
/// Octets of the largest value that `item_octets_max` can allow.
pub const ITEM_OCTETS_TOP: u64 = 1 << 30;
/// What memcached counts for each item beside key and value: header, cas, the key's end and the line's.
pub const ITEM_HEAD_OCTETS: u64 = 48 + 8 + 1 + 2;

/// The rules of a store.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Octets that everything together may take: items, table, held values, what is charged from outside. Can be
    /// changed later by [`super::Store::set_limit`].
    pub limit_octets: u64,
    /// Octets of an item: key, value and [`ITEM_HEAD_OCTETS`]; at most [`ITEM_OCTETS_TOP`].
    pub item_octets_max: u64,
    /// Whether items that are not used make room for new ones; if not, new ones are refused (memcached's `-M`).
    pub evicts: bool,
    /// How keys are hashed.
    pub hashing: Hashing,
}

impl Default for Rules {
    fn default() -> Self {
        Rules { limit_octets: 64 << 20, item_octets_max: 1 << 20, evicts: true, hashing: Hashing::Random }
    }
}

/// How keys are hashed.
#[derive(Clone, Copy, Debug)]
pub enum Hashing {
    /// SipHash-1-3 with a key of chance, against clients that choose keys which collide.
    Random,
    /// A given function: for tests that need collisions.
    Fixed(fn(&[u8]) -> u64),
}

/// Why something is not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The item would be larger than `item_octets_max`, or its key longer than [`KEY_OCTETS_MAX`].
    #[error("object too large for cache")]
    TooLarge,
    /// There is no memory and nothing may be, or can be, evicted.
    #[error("out of memory storing object")]
    NoMemory,
}
