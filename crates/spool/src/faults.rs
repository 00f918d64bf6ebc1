//! Faults that a test injects between the spool and its disk.

use std::io;
use std::sync::Mutex;
use std::time::Duration;

/// What can be made to go wrong on a volume, while the spool is running.
#[derive(Debug, Default)]
pub struct Faults {
    now: Mutex<Fault>,
}

/// What goes wrong now; [`Fault::default`] is nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fault {
    /// Each write takes this long at least.
    pub write_delay: Duration,
    /// Writes after so many octets from now find no space; 0 is none at all.
    pub space: Option<u64>,
    /// Writes fail with EIO.
    pub write_error: bool,
    /// Synchronisations fail with EIO.
    pub sync_error: bool,
    /// Nothing can be created or written (EROFS).
    pub read_only: bool,
    /// Files cannot be opened with `O_DIRECT`.
    pub no_direct: bool,
}
