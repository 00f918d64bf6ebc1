//! A lane's way into the spool: records are copied into blocks, and nothing here waits for a disk.

use std::path::Path;

use crate::error::{Dropped, Place};
use crate::options::Priority;

/// Octets of one append at most; more is refused.
pub const APPEND_OCTETS_MAX: usize = 16 << 20;

/// A file that goes beside a segment and is committed with it: the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extra {
    /// Its extension, which takes the place of the segment's: `idx`.
    pub extension: String,
    /// What is in it.
    pub octets: Vec<u8>,
}

/// Writes one segment after the other; a lane has one for each of its classes.
///
/// ```text
/// begin(name) -> append, append, ... flush (every second) ... seal(index) -> begin(next name) ...
/// ```
/// When the segment's volume fails, the segment ends: [`Writer::is_open`] is false and appends are dropped until
/// [`Writer::begin`] finds a volume again. Dropping a writer leaves its open segment as `.part`, with all that was
/// appended, for [`crate::repair`].
#[derive(Debug)]
pub struct Writer {
    priority: Priority,
    tag: u32,
}

impl Writer {
    /// Begins a segment on the next usable volume. `relative` is its name below the volume's folder, with its
    /// extension; when that name is taken on any volume, `.1`, `.2` and so on go before the extension (the name is told
    /// by [`crate::What::Sealed`]). A segment still open is left as `.part`. Costs no I/O: may be tried at each record.
    ///
    /// # Errors
    /// No volume is usable; nothing is counted.
    pub fn begin(&mut self, relative: &Path) -> Result<(), Dropped> {
        let _ = relative;
        Err(Dropped { place: Place::Disk })
    }

    /// Appends one record of time `at_ns` (nanoseconds since 1970): all parts, or none. Gives the offset in the segment
    /// at which it begins.
    ///
    /// # Errors
    /// There is no memory for this priority, or no segment is open (its volume failed): the record is counted as
    /// dropped there.
    pub fn append(&mut self, at_ns: i64, parts: &[&[u8]]) -> Result<u64, Dropped> {
        let _ = (at_ns, parts);
        Err(Dropped { place: Place::Disk })
    }

    /// Whether a segment is open: it was begun, not sealed, and its volume has not failed.
    pub fn is_open(&self) -> bool {
        false
    }

    /// Octets appended to the open segment: where the next record will begin.
    pub fn position(&self) -> u64 {
        0
    }

    /// Octets of the open segment, up to the end of a record, that are on disk: what `kill -9` would leave.
    pub fn on_disk(&self) -> u64 {
        0
    }

    /// Sends what was appended on its way to the disk, the last page padded with zeros and written again later; to be
    /// called every second. Left out (false) while an earlier flush of this writer is still on its way: the disk lags,
    /// and another would only fill the memory.
    pub fn flush(&mut self) -> bool {
        false
    }

    /// Ends the segment: it is written, cut to its length, synchronised; the extra files are committed beside it, then
    /// the segment itself. All that happens later, on the volume's threads; [`crate::What::Sealed`] tells. Without an
    /// open segment nothing happens.
    pub fn seal(&mut self, extra: Vec<Extra>) {
        let _ = extra;
    }

    /// Its priority.
    pub fn priority(&self) -> Priority {
        self.priority
    }

    /// The number that was given to [`crate::Spool::writer`]; losses bear it.
    pub fn tag(&self) -> u32 {
        self.tag
    }
}
