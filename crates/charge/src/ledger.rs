//! The ledger on disk.

use crate::account::Entry;
use crate::session::{Core, Limits};
use std::sync::Arc;
use trunkline_commit::{Disk, Fault, Log, Options};

/// Opens a ledger, or begins one: the core that all of it comes to, and the log that goes on with it.
///
/// # Errors
/// It is damaged, or cannot be read.
pub fn open<D: Disk>(disk: Arc<D>, options: Options, limits: Limits) -> Result<(Core, Log<D>), Fault> {
    let mut core = Core::new(limits);
    let fold = |_, record: &[u8]| {
        let entry = Entry::decode(record).map_err(|broken| broken.to_string())?;
        core.apply(&entry).map_err(|fault| fault.to_string())
    };
    let log = Log::open(disk, options, |_| Ok(()), fold)?;
    Ok((core, log))
}
