//! Samples as they are taken, for whoever watches them: a copy of what goes to the journal. Who watches is never waited
//! for: what does not fit is left out, and counted.

use crate::journal::{self, Records};
use crate::poller::Change;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use trunkline_rrd::Value;

/// Octets of samples that wait for one who watches.
// Limit: memory of samples waiting for alert rules
// Beyond: further samples are not counted to rules
// Seen in: `trunkline_alert_left_out_samples_overflow_total`
pub const WATCHED_OCTETS_MAX: usize = 64 << 20;

/// Samples that wait for one who watches. Dropped, nothing is copied any more.
#[derive(Debug)]
pub struct Watching {
    records: Receiver<Vec<u8>>,
    level: Arc<Level>,
}

/// The other end.
#[derive(Debug)]
pub(super) struct Watched {
    records: Sender<Vec<u8>>,
    level: Arc<Level>,
}

#[derive(Debug, Default)]
struct Level {
    octets: AtomicUsize,
    left_out: AtomicU64,
}

/// All that watch.
pub(super) type AllWatched = Mutex<Vec<Watched>>;

/// How a device is, for whoever watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Health {
    /// The device.
    pub device: u32,
    /// Up or down; none before it was asked.
    pub change: Option<Change>,
    /// Since when, milliseconds since 1970.
    pub since_ms: i64,
    /// As [`DeviceShown::reached_ms`](super::DeviceShown::reached_ms).
    pub reached_ms: Option<i64>,
    /// Whether it is up and down by turns.
    pub is_flapping: bool,
}

pub(super) fn pair() -> (Watched, Watching) {
    let (records, comes) = channel();
    let level = Arc::new(Level::default());
    (Watched { records, level: Arc::clone(&level) }, Watching { records: comes, level })
}

/// Shows samples to all that watch.
pub(super) fn show(all: &AllWatched, records: &Records) {
    let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
    all.retain(|watched| watched.take(records));
}

impl Watched {
    /// Whether anybody still watches.
    fn take(&self, records: &Records) -> bool {
        let octets: usize = records.records().map(<[u8]>::len).sum();
        if self.level.octets.load(Ordering::Relaxed) + octets > WATCHED_OCTETS_MAX {
            self.level.left_out.fetch_add(records.samples(), Ordering::Relaxed);
            return Arc::strong_count(&self.level) > 1;
        }
        self.level.octets.fetch_add(octets, Ordering::Relaxed);
        records.records().all(|record| self.records.send(record.to_vec()).is_ok())
    }
}

impl Watching {
    /// Shows the samples that come first: data source, milliseconds since 1970, and a value for each series of its
    /// template. Waits for them at most so long; false if there will be no more.
    pub fn next(&self, at_most: Duration, mut see: impl FnMut(u32, i64, &[Value<'static>])) -> bool {
        let mut record = match self.records.recv_timeout(at_most) {
            Ok(record) => record,
            Err(RecvTimeoutError::Timeout) => return true,
            Err(RecvTimeoutError::Disconnected) => return false,
        };
        loop {
            self.level.octets.fetch_sub(record.len(), Ordering::Relaxed);
            // What we have written ourselves is whole.
            let _whole = journal::each(&record, &mut see);
            match self.records.try_recv() {
                Ok(next) => record = next,
                Err(_) => return true,
            }
        }
    }

    /// Samples that were left out, as too many waited.
    pub fn left_out(&self) -> u64 {
        self.level.left_out.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_counted_and_who_has_gone_is_forgotten() {
        let all = AllWatched::default();
        let (watched, watching) = pair();
        all.lock().unwrap().push(watched);
        let mut records = Records::default();
        (0..500_000).for_each(|source| records.put(source, 7, &[Value::Unsigned(u64::MAX); 8]));
        let octets: usize = records.records().map(<[u8]>::len).sum();
        assert!(octets > WATCHED_OCTETS_MAX / 2 && octets < WATCHED_OCTETS_MAX, "{octets}");
        show(&all, &records);
        show(&all, &records);
        assert_eq!(watching.left_out(), 500_000);
        let mut seen = 0;
        assert!(watching.next(Duration::ZERO, |source, at_ms, values| {
            assert_eq!((source, at_ms, values.len()), (seen, 7, 8));
            seen += 1;
        }));
        assert_eq!(seen, 500_000);
        show(&all, &records);
        assert_eq!(watching.left_out(), 500_000, "there is room again");
        drop(watching);
        show(&all, &records);
        assert!(all.lock().unwrap().is_empty());
    }
}
