//! Where the log meets the disk: listing segments, opening and making indexes, extracting, verifying.

pub mod extract;
pub mod folder;
pub mod index_file;
pub mod libpcap;
mod source;
pub mod verify;

pub use extract::{Extraction, Found, Selection, Summary, Wanted};
pub use folder::{SegmentFile, Wish, list};
pub use index_file::{FileAt, Loaded};
