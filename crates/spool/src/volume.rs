//! A volume as its threads and the writers see it.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;

use crate::disk::Disk;
use crate::event::{Log, What};
use crate::queue::Queue;
use crate::stats::{State, VolumeStats};

/// A volume: its disk, what waits for it, and how it is.
#[derive(Debug)]
pub(crate) struct Volume {
    pub(crate) index: usize,
    pub(crate) disk: Disk,
    pub(crate) queue: Queue,
    usable: AtomicBool,
    lagging: AtomicBool,
    figures: Mutex<VolumeStats>,
}

impl Volume {
    pub(crate) fn new(index: usize, disk: Disk) -> Volume {
        let figures = VolumeStats { path: disk.root.clone(), ..VolumeStats::default() };
        let (usable, lagging) = (AtomicBool::new(true), AtomicBool::new(false));
        Volume { index, disk, queue: Queue::default(), usable, lagging, figures: Mutex::new(figures) }
    }

    /// Whether new segments go there.
    pub(crate) fn is_usable(&self) -> bool {
        self.usable.load(Ordering::Acquire)
    }

    pub(crate) fn is_lagging(&self) -> bool {
        self.lagging.load(Ordering::Relaxed)
    }

    /// Whether the volume is behind; of a volume that fails that is not asked.
    pub(crate) fn set_lagging(&self, lagging: bool, log: &Log) {
        self.lagging.store(lagging, Ordering::Relaxed);
        if self.is_usable() {
            self.set_state(if lagging { State::Lagging } else { State::Fine }, log);
        }
    }

    pub(crate) fn set_state(&self, state: State, log: &Log) {
        let mut figures = self.figures();
        self.usable.store(state.is_usable(), Ordering::Release);
        if figures.state != state {
            figures.state = state.clone();
            log.tell(self.index, What::State(state));
        }
    }

    /// The volume failed with this error.
    pub(crate) fn fail(&self, error: &io::Error, what: &str, log: &Log) {
        let text = format!("{what}: {error}");
        self.figures().last_error = Some(text.clone());
        let state = match error.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::NOSPC | Errno::DQUOT) => State::Full,
            Some(Errno::ROFS) => State::ReadOnly,
            _ => State::Failed(text),
        };
        self.set_state(state, log);
    }

    pub(crate) fn figures(&self) -> MutexGuard<'_, VolumeStats> {
        self.figures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn stats(&self) -> VolumeStats {
        let fill = self.queue.fill();
        let mut stats = self.figures().clone();
        (stats.queued_blocks, stats.queued_octets) = (fill.blocks, fill.octets);
        stats.unwritten = self.queue.unwritten();
        stats.direct = self.disk.is_direct();
        stats
    }
}
