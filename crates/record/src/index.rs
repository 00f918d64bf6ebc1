//! The index of a segment: from addresses, ports and times to the pages in which the records begin.
//!
//! A segment (or any capture file) is cut into pages of [`PAGE_OCTETS`]. Of each flow the index knows the pages in
//! which records of it begin, of each page where its first record begins. Whoever looks for packets reads these pages
//! and tests each record: what the index gives is never too little, and rarely much too much.
//!
//! [`Builder`] makes it while packets are recorded, [`View`] reads it. The format is described in
//! docs/manual/packet-log.md, and why it is so in docs/decisions/0015.

mod builder;
mod codec;
mod flow;
mod format;
pub mod headers;
mod seal;
mod sets;
mod table;
mod view;

pub use builder::{Builder, BuilderCounters};
pub use flow::{Flow, Kind, Layer};
pub use format::{FileMark, IndexError, Span, VERSION};
pub use headers::Headers;
pub use sets::Sets;
pub use view::{Facts, FlowPages, ReadAt, View};

/// Octets of a page: the unit in which the index says where records begin.
pub const PAGE_OCTETS: u64 = 4096;
/// Pages of which one pair of times is kept (256 KiB of file).
pub const SPAN_PAGES: u64 = 64;
/// Flows of one segment. Packets of further flows are not told apart: their pages are read for every query, and they
/// are counted (`trunkline_record_index_unlisted_packets_total`).
// Limit: flows of one segment in the packet index
// Beyond: packets of further flows are read for every query
// Seen in: `trunkline_record_index_unlisted_packets_total`
pub const FLOWS_MAX: usize = 1 << 18;
/// Octets of gaps of one segment in memory. Packets beyond are unlisted, as those of further flows.
// Limit: memory of one segment's index
// Beyond: further packets are read for every query
// Seen in: `trunkline_record_index_unlisted_packets_total`
pub const GAPS_OCTETS_MAX: usize = 64 << 20;
/// Blocks that describe interfaces behind the first packet of a file; with more of them a file is read from its
/// beginning.
pub const DESCRIPTIONS_MAX: usize = 4096;
/// Pages of one file; a longer one (256 GiB) is read from its beginning.
pub const PAGES_MAX: u64 = 1 << 26;
/// Octets of an index file that are believed; a longer one is damaged.
pub const INDEX_OCTETS_MAX: u64 = 4 << 30;

#[cfg(test)]
mod tests;
