//! What the log counts.

/// Since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Records that are durable.
    pub records: u64,
    /// Groups that they came in: each a write and an fdatasync.
    pub groups: u64,
    /// Octets written, with heads and padding.
    pub octets: u64,
    /// Segments that were begun.
    pub segments: u64,
}
