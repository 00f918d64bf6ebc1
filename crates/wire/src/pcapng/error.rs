//! What can be wrong with a pcapng file.

use core::fmt;

use super::{BLOCK_OCTETS_MAX, INTERFACES_MAX};

/// What is wrong with a pcapng file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PcapngError {
    /// A section header without the byte-order magic: what stands there.
    ByteOrder(u32),
    /// A section of a version that is not known.
    Version(u16, u16),
    /// A block before any section header: its type.
    NoSection(u32),
    /// A block shorter than its kind can be, or longer than [`BLOCK_OCTETS_MAX`]: type and length.
    BlockLength(u32, u32),
    /// The two lengths of a block differ.
    LengthsDiffer(u32, u32),
    /// A packet that says it is longer than its block or than its link type's limit: what it says, and the limit.
    PacketTooLong(u32, u32),
    /// A packet or statistics of an interface that was not described: its number, and how many were.
    NoInterface(u32, usize),
    /// More than [`INTERFACES_MAX`] interfaces in one section.
    TooManyInterfaces,
}

impl fmt::Display for PcapngError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PcapngError::ByteOrder(magic) => write!(f, "a section header without byte-order magic (0x{magic:08x})"),
            PcapngError::Version(major, minor) => write!(f, "pcapng section version {major}.{minor} is not known"),
            PcapngError::NoSection(kind) => write!(f, "a block of type 0x{kind:08x} before any section header"),
            PcapngError::BlockLength(kind, n) => {
                write!(f, "a block of type 0x{kind:08x} cannot be {n} octets long (limit {BLOCK_OCTETS_MAX})")
            }
            PcapngError::LengthsDiffer(a, b) => write!(f, "the block's two lengths differ: {a} and {b}"),
            PcapngError::PacketTooLong(n, limit) => {
                write!(f, "the packet says {n} octets, more than the limit of {limit}: the length is damaged")
            }
            PcapngError::NoInterface(i, n) => write!(f, "a packet of interface {i}, but {n} were described"),
            PcapngError::TooManyInterfaces => write!(f, "more than {INTERFACES_MAX} interfaces in one section"),
        }
    }
}

impl core::error::Error for PcapngError {}
