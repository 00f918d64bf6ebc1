//! Faults that a test injects between the spool and its disk.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::io::Errno;

/// What can be made to go wrong on a volume, while the spool is running.
#[derive(Debug, Default)]
pub struct Faults {
    now: Mutex<Fault>,
}

/// What goes wrong now; [`Fault::default`] is nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fault {
    /// Each write takes this long at least, those that are on their way among them: setting less lets them go.
    pub write_delay: Duration,
    /// Octets that can be written from now on; then there is no space (ENOSPC), and the file system says so.
    pub space: Option<u64>,
    /// Writes fail with EIO.
    pub write_error: bool,
    /// Synchronisations fail with EIO.
    pub sync_error: bool,
    /// Nothing can be created, written or renamed (EROFS).
    pub read_only: bool,
    /// Files cannot be opened with `O_DIRECT`.
    pub no_direct: bool,
}

impl Faults {
    /// From now on this goes wrong, and nothing else.
    pub fn set(&self, fault: Fault) {
        *self.lock() = fault;
    }

    /// What goes wrong now.
    pub fn now(&self) -> Fault {
        self.lock().clone()
    }

    /// Before `octets` are written.
    pub(crate) fn write(&self, octets: u64) -> io::Result<()> {
        let mut fault = self.lock();
        if fault.read_only {
            return Err(Errno::ROFS.into());
        }
        if fault.write_error {
            return Err(Errno::IO.into());
        }
        match &mut fault.space {
            Some(space) if *space < octets => Err(Errno::NOSPC.into()),
            Some(space) => {
                *space -= octets;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Before a file is synchronised.
    pub(crate) fn sync(&self) -> io::Result<()> {
        if self.lock().sync_error { Err(Errno::IO.into()) } else { Ok(()) }
    }

    /// Before a name is made, changed or removed.
    pub(crate) fn name(&self) -> io::Result<()> {
        if self.lock().read_only { Err(Errno::ROFS.into()) } else { Ok(()) }
    }

    fn lock(&self) -> MutexGuard<'_, Fault> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
