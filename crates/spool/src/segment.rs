//! What a writer and its volume's thread both see of a segment.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::options::Priority;

/// A segment from its beginning to its commit.
#[derive(Debug)]
pub(crate) struct Segment {
    /// Distinct in this spool.
    pub(crate) id: u64,
    /// The name that was asked for, below the volume's folder.
    pub(crate) relative: PathBuf,
    pub(crate) volume: usize,
    pub(crate) priority: Priority,
    pub(crate) tag: u32,
    failed: AtomicBool,
    flushing: AtomicBool,
    on_disk: AtomicU64,
}

impl Segment {
    pub(crate) fn new(id: u64, relative: PathBuf, volume: usize, priority: Priority, tag: u32) -> Segment {
        let (failed, flushing) = (AtomicBool::new(false), AtomicBool::new(false));
        Segment { id, relative, volume, priority, tag, failed, flushing, on_disk: AtomicU64::new(0) }
    }

    /// Nothing more can be written to it.
    pub(crate) fn fail(&self) {
        self.failed.store(true, Ordering::Release);
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// A flush is on its way from now on; false if one was already.
    pub(crate) fn begin_flush(&self) -> bool {
        !self.flushing.swap(true, Ordering::AcqRel)
    }

    pub(crate) fn end_flush(&self) {
        self.flushing.store(false, Ordering::Release);
    }

    pub(crate) fn set_on_disk(&self, octets: u64) {
        self.on_disk.store(octets, Ordering::Release);
    }

    /// Octets of whole records that are on disk.
    pub(crate) fn on_disk(&self) -> u64 {
        self.on_disk.load(Ordering::Acquire)
    }
}
