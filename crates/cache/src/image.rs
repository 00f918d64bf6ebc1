//! The image of a store: all its items as octets, so that a cache that ends and begins again begins warm. No I/O, no
//! clock: blocks are made of items, and items of blocks; `job::image` has the file.
//!
//! ```text
//!  octet 0     64                                                      the file's last 32 octets
//!  | preamble | block | block | first piece | next piece | .. | index | end |
//! ```
//! All numbers are little-endian. Every part has a CRC-32 (as of Ethernet, zip and gzip) of its own, which of blocks
//! and of the end also covers the octet at which it lies: one that was written elsewhere is not taken.
//!
//! In octets:
//!
//! - preamble ([`Preamble`]): 8 magic, 4 version, 4 CRC of what follows, 8 second since 1970, 8 second since the boot,
//!   16 name of that boot, 8 highest cas number, 4 second of the store's clock, 4 second of a flush to come, or 2^32 -
//!   1;
//! - head of a block ([`BlockHead`]): 4 magic, 1 kind, 1 rank, 2 zero, 4 items, 4 octets that follow, 8 octets of
//!   memory that its items took, 4 CRC of what follows, 4 CRC of this head and the octet at which it lies;
//! - item ([`Record`]): 1 octets of the key, 1 marks, 4 octets of the value, 4 flags, 4 expiry, 4 birth, 4 last fetch,
//!   8 cas number, the key, the value;
//! - entry of the index ([`Entry`]): 8 octet at which it lies, 8 octets, 4 items, 1 rank, 3 zero, 8 octets of memory;
//! - end ([`End`]): 8 magic, 8 octet of the index, 8 entries, 4 zero, 4 CRC of this and the octet at which it lies.
//!
//! Seconds of items are those of the store's clock, which goes on where it stopped, by as much as passed meanwhile
//! ([`passed`]). A value too large for a block is a first piece, behind its item's head, and next pieces.
//!
//! Items of a block have the same rank ([`crate::store::Standing::rank`]), and lie in the order in which the store
//! would have given them up. Who reads an image into less memory leaves out what would have gone first ([`plan`]), and
//! puts the others in that same order, the ones to keep longest last. An image whose end is missing is read block by
//! block as far as the blocks are whole ([`Scan`]).

mod block;
mod index;
mod pack;
mod preamble;
mod record;

pub use block::{BLOCK_OCTETS_MAX, BlockHead, HEAD_OCTETS, Kind};
pub use index::{END_OCTETS, ENTRIES_MAX, ENTRY_OCTETS, End, Entry, Plan, Scan, plan};
pub use pack::{Pack, large_octets};
pub use preamble::{Boot, MAGIC, Moment, PREAMBLE_OCTETS, Passed, Preamble, VERSION, passed};
pub use record::{LARGE_OCTETS, RECORD_HEAD_OCTETS, Record, Records, cost};

/// Why octets are not what an image would have there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// The file is something else.
    #[error("not an image of a cache")]
    Foreign,
    /// The format is one of the future.
    #[error("made by a later version (format {0}; this one reads up to {VERSION})")]
    Future(u32),
    /// Octets are missing.
    #[error("ends in the midst")]
    Cut,
    /// The octets are not those that were written.
    #[error("not the octets that were written (checksum)")]
    Damaged,
    /// The octets have their checksum, and say what cannot be.
    #[error("says what cannot be")]
    Senseless,
}

/// The number of `N` octets at `at`; the caller knows that they are there.
fn number<const N: usize>(octets: &[u8], at: usize) -> [u8; N] {
    octets.get(at..at + N).and_then(|part| part.try_into().ok()).unwrap_or([0; N])
}

fn u32_at(octets: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(number(octets, at))
}

fn u64_at(octets: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(number(octets, at))
}
