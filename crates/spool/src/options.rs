//! How a spool is opened.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::faults::Faults;
use crate::repair::{PartFile, Whole};

/// Number of priorities.
pub const PRIORITIES: usize = 3;
/// Octets that stay free on a volume, unless [`Options::keep_free`] says otherwise.
pub const KEEP_FREE_OCTETS: u64 = 256 << 20;
/// What direct I/O aligns to: offset, length and address of each write.
pub const PAGE: usize = 4096;

/// How a spool is opened. [`Options::new`] gives the defaults.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where segments go, in turn; one that fails is left out until it works again. At least one.
    pub volumes: Vec<Volume>,
    /// Where retention moves segments; names that are taken there are not used again.
    pub slow: Option<PathBuf>,
    /// Octets of memory between the lanes and the disks, all blocks together. Default 256 MiB.
    pub memory: usize,
    /// Octets of a block, a multiple of [`PAGE`]. Default 1 MiB.
    pub block: usize,
    /// Whether to pass by the page cache. Default [`Direct::Auto`].
    pub direct: Direct,
    /// What carries the writes. Default [`Engine::Auto`].
    pub engine: Engine,
    /// Writes in flight per volume. Default 4.
    pub depth: usize,
    /// Octets of memory that writers of each priority leave free for those above them, by [`Priority`]. Default none,
    /// an eighth and a quarter of [`Options::memory`].
    pub reserves: [usize; PRIORITIES],
    /// Percent of the memory that may be queued before queued blocks are packed (lz4); 100 never packs. Default 25.
    pub pack_above_percent: u8,
    /// Octets that stay free on a volume's file system, for whoever else writes there: below it the volume is full.
    /// Default [`KEEP_FREE_OCTETS`], 256 MiB.
    pub keep_free: u64,
    /// Says how much of a segment is whole, exactly as [`crate::repair`] will keep it. Asked where a segment failed and
    /// cannot be cut, as its volume is read-only: what is on the disk behind the cut will be repaired, so it must not
    /// be told as lost. Without it nothing is taken to be there. Default none.
    pub whole: Option<fn(&PartFile) -> io::Result<Whole>>,
    /// The extension of the file beside a segment behind which the checksums of the segment's contents are put
    /// ([`trunkline_kit::sums`]). Default none.
    pub sums: Option<&'static str>,
}

/// A folder on a file system of its own, as a rule.
#[derive(Clone, Debug)]
pub struct Volume {
    /// The folder; names of segments are relative to it.
    pub path: PathBuf,
    /// How much of it segments may fill; retention sees to it.
    pub limit: Limit,
    /// Faults to inject, for tests.
    pub faults: Option<Arc<Faults>>,
}

impl Volume {
    /// A volume at `path` with the default limit of 80 %.
    pub fn new(path: impl Into<PathBuf>) -> Volume {
        Volume { path: path.into(), limit: Limit::Percent(80), faults: None }
    }
}

/// How much of a file system may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Octets of all segments of the volume.
    Octets(u64),
    /// Percent of the file system, whoever uses it; where others use more, segments still have a twentieth of it.
    Percent(u8),
}

/// Whether to pass by the page cache (`O_DIRECT`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direct {
    /// Where the file system can.
    Auto,
    /// The same, and it is said when it cannot.
    On,
    /// Never.
    Off,
}

/// What carries the writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// io_uring where the kernel allows it, else [`Engine::Pwrite`].
    Auto,
    /// io_uring, several writes in flight.
    Uring,
    /// pwrite, one after the other.
    Pwrite,
}

/// Who is given up last when memory is short (DESIGN law 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// Given up last.
    Highest,
    /// Given up before the highest.
    Middle,
    /// Given up first.
    Lowest,
}

impl Priority {
    /// All, the most precious first.
    pub const ALL: [Priority; PRIORITIES] = [Priority::Highest, Priority::Middle, Priority::Lowest];

    /// Its place in [`Priority::ALL`].
    pub fn index(self) -> usize {
        self as usize
    }
}

impl Options {
    /// The defaults, with these volumes.
    pub fn new(volumes: Vec<Volume>) -> Options {
        let memory = 256 << 20;
        Options {
            volumes,
            slow: None,
            memory,
            block: 1 << 20,
            direct: Direct::Auto,
            engine: Engine::Auto,
            depth: 4,
            reserves: [0, memory / 8, memory / 4],
            pack_above_percent: 25,
            keep_free: KEEP_FREE_OCTETS,
            whole: None,
            sums: None,
        }
    }

    /// The same with another bound of the memory, and the reserves that go with it.
    #[must_use]
    pub fn memory(mut self, octets: usize) -> Options {
        self.memory = octets;
        self.reserves = [0, octets / 8, octets / 4];
        self
    }
}
