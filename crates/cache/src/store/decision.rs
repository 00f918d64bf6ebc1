//! What a change of an item is made of: the value handed in, what is decided about it, and what came of it.

use super::Draft;

/// The value that a change brings.
#[derive(Debug, Default)]
pub enum Value<'a> {
    /// None: the change deletes, marks, or builds one from the old.
    #[default]
    None,
    /// Octets that are all there already.
    Octets(&'a [u8]),
    /// Octets that came bit by bit.
    Draft(Draft),
}

/// What is to become of the item under a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It stays as it is (or stays away).
    Keep,
    /// It goes.
    Delete,
    /// The value handed in takes its place.
    Put(Put),
    /// The old value with the one handed in behind it takes its place; without an old one it is a [`Decision::Put`].
    Append(Put),
    /// The old value with the one handed in before it takes its place; without an old one it is a [`Decision::Put`].
    Prepend(Put),
    /// What the closure wrote into its buffer takes its place: numbers above all. A value as long as the old one is
    /// written over it.
    Built(Put),
    /// The value stays, and its marks are set; without an item nothing happens.
    Mark(Marks),
}

/// What stands beside a value that is put.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Put {
    /// The client's flags.
    pub flags: u32,
    /// The second from which on the item is gone; 0 is never.
    pub expiry: u32,
    /// The cas number: a fresh one, unless the client gave one (meta's `E`).
    pub cas: Cas,
    /// Whether the item is marked as stale (meta's `I`).
    pub stale: bool,
    /// Whether somebody was told to make the value anew (meta's `W`).
    pub won: bool,
    /// Whether the key came as base64, so that meta tells it so (meta's `b`).
    pub binary_key: bool,
}

/// The marks of an item that are changed where they stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// Marks as stale, or no longer.
    pub stale: Option<bool>,
    /// Marks that somebody was told to make the value anew, or no longer.
    pub won: Option<bool>,
    /// A new second of expiry.
    pub expiry: Option<u32>,
    /// A new cas number; [`None`] leaves the old one.
    pub cas: Option<Cas>,
    /// Whether it counts as a use: the item is fetched now.
    pub touch: bool,
}

/// Where a cas number comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cas {
    /// The next one: unique in the store, and larger than what the key had before.
    #[default]
    Fresh,
    /// The client's.
    Given(u64),
}

/// What came of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed<T> {
    /// What the closure told, when it ran last.
    pub told: T,
    /// The cas number of the item as it is now; 0 if there is none.
    pub cas: u64,
}

/// Whether a read counts as a use: it makes the item stay longer, and sets when it was last fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// It does.
    Yes,
    /// It leaves no trace (memcached's `me`, meta's answers without a bump).
    No,
}
