//! What is watched in real time, as threads share it: pages say what is looked at, lanes and probes read it.

use crate::poller::Now;
use crate::realtime::{NotWatched, OfDevice, Realtime, Wanted};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use trunkline_rrd::Value;

/// Set in the number by which a lane or the probes know a device that is read in real time, beside the same device as
/// it is always read: the inventory has no numbers so high.
pub(super) const ASIDE: u32 = 1 << 31;

trunkline_kit::counters! {
    /// What was read in real time.
    pub struct RealtimeCounters {
        /// samples of data sources that somebody watched
        samples: "trunkline_graph_realtime_samples_total",
        /// times that a graph was not read in real time, as too many data sources were
        refused: "trunkline_graph_realtime_refused_total",
    }
}

/// See the module.
#[derive(Debug)]
pub(super) struct Watchers {
    held: Mutex<Realtime>,
    /// Of `held`, so that who has nothing to do need not ask.
    version: AtomicU64,
    count: AtomicUsize,
    samples: AtomicU64,
    refused: AtomicU64,
    started: Instant,
}

impl Default for Watchers {
    fn default() -> Watchers {
        Watchers {
            held: Mutex::default(),
            version: AtomicU64::new(0),
            count: AtomicUsize::new(0),
            samples: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            started: Instant::now(),
        }
    }
}

impl Watchers {
    fn held(&self) -> MutexGuard<'_, Realtime> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now_ns(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn show(&self, held: &Realtime) {
        self.version.store(held.version(), Ordering::Release);
        self.count.store(held.len(), Ordering::Release);
    }

    /// Has data sources watched for as long as somebody asks again and again.
    ///
    /// # Errors
    /// [`NotWatched`].
    pub fn watch(&self, wanted: Vec<Wanted>) -> Result<(), NotWatched> {
        let now = Now { steady_ns: self.now_ns(), unix_ms: super::clock::unix_ms() };
        let mut held = self.held();
        let done = held.watch(wanted, now);
        if matches!(done, Err(NotWatched::Full { .. })) {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
        self.show(&held);
        done
    }

    /// What came. Who gives samples may hold the devices of its thread and waits for this: `see` waits for nobody.
    pub fn with<T>(&self, see: impl FnOnce(&Realtime) -> T) -> T {
        see(&self.held())
    }

    /// What is to be read of which device, if that is other than when `seen` was.
    pub fn changed(&self, seen: &mut u64) -> Option<BTreeMap<u32, OfDevice>> {
        if self.count.load(Ordering::Acquire) == 0 && self.version.load(Ordering::Acquire) == *seen {
            return None;
        }
        let mut held = self.held();
        held.lapse(self.now_ns());
        self.show(&held);
        if held.version() == *seen {
            return None;
        }
        *seen = held.version();
        Some(held.devices())
    }

    /// Takes a sample, and what is to stand just before it.
    pub fn take(&self, source: u32, unix_ms: i64, before: Option<&[Value<'static>]>, values: &[Value<'static>]) {
        let mut held = self.held();
        if let Some(before) = before {
            held.take(source, unix_ms - 1, before);
        }
        if held.take(source, unix_ms, values) {
            self.samples.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many data sources are watched.
    pub fn len(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    pub fn counters(&self) -> RealtimeCounters {
        RealtimeCounters {
            samples: self.samples.load(Ordering::Relaxed),
            refused: self.refused.load(Ordering::Relaxed),
        }
    }
}
