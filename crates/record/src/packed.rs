//! Segments as zstd frames that are read at any place: the seekable format of zstd's contrib/seekable_format.
//!
//! ```text
//! frame | frame | ... | skippable frame: seek table
//! ```
//! A frame holds whole blocks of pcapng, up to [`FRAME_OCTETS`] of them unless one block alone is longer, and is
//! decompressed without those before it. To every other program the file is zstd: frames are one stream, and a
//! skippable frame is passed over (RFC 8878 section 3.1.2). Positions are those of the decompressed stream.

mod frames;
mod packing;
mod seek_table;

pub use frames::Frames;
pub use packing::{Packing, PackingError};
pub use seek_table::{Entry, SeekTable};

/// Octets of a frame before it is packed: what is decompressed for a packet at the least.
pub const FRAME_OCTETS: usize = 1 << 20;
/// Octets of a frame before it was packed, at most, that are decompressed at once; a file with longer ones is read from
/// its beginning.
pub const FRAME_OCTETS_MAX: usize = 64 << 20;
/// Frames of a file at most.
pub const FRAMES_MAX: usize = 1 << 20;
/// Of zstd's levels: its default, which leaves an eighth of SIP.
const LEVEL: i32 = 3;
