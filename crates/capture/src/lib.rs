//! Sources of packets: capture files, plain or compressed, as one timeline of batches, and their writer; network
//! interfaces, live.
//!
//! [`FileSource`] reads, [`reread`](reread()) finds packets again by their place, [`PcapWriter`] writes. [`live`] has
//! the rings that the kernel fills, and [`filter`] the expressions that choose packets.
//!
//! Unsafe code stands in the modules that talk to the kernel and to libpcap, and nowhere else.
#![deny(unsafe_code)]

pub mod ahead;
pub mod batch;
pub mod error;
#[doc(hidden)]
pub mod exercise;
mod expansion;
pub mod filter;
pub mod input;
pub mod live;
pub mod reread;
pub mod source;
pub mod writer;

mod bpf;
mod framer;
mod looks;
mod lz4;
mod octets;
mod reader;
mod stream;

pub use batch::{Batch, CaptureLoss, LossPlace, Packet};
pub use error::{FileError, FileFault};
pub use expansion::Expansion;
pub use filter::{Expression, Filter, FilterError};
pub use input::{InputFile, ReadCounters, Secrets};
pub use live::{Live, LiveError, Next, RingStatistics};
pub use reread::{reread, reread_range, reread_range_until, reread_until};
pub use source::{FileSource, Source};
pub use writer::PcapWriter;
