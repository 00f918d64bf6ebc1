//! Sources of packets: capture files, plain or compressed, as one timeline of batches; and their writer.
//!
//! [`FileSource`] reads, [`reread`](reread()) finds packets again by their place, [`PcapWriter`] writes.
//!
//! Unsafe code stands in the modules of [`live`] that talk to the kernel, and nowhere else.
#![deny(unsafe_code)]

pub mod batch;
pub mod error;
#[doc(hidden)]
pub mod exercise;
pub mod input;
pub mod live;
pub mod reread;
pub mod source;
pub mod writer;

mod framer;
mod looks;
mod lz4;
mod reader;
mod stream;

pub use batch::{Batch, CaptureLoss, LossPlace, Packet};
pub use error::{FileError, FileFault};
pub use input::{InputFile, ReadCounters, Secrets};
pub use reread::{reread, reread_range};
pub use source::{FileSource, Source};
pub use writer::PcapWriter;
