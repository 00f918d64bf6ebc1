//! What is counted: cells of each thread, written by it alone and added up when somebody asks.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is counted, by memcached's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Count {
    /// `get_hits`: keys found.
    Hit,
    /// `get_misses`: keys not found.
    Miss,
    /// `touch_hits`: keys found whose time to live was set.
    TouchHit,
    /// `touch_misses`: keys not found whose time to live was to be set.
    TouchMiss,
    /// `cmd_set`: values that came, stored or not.
    Set,
    /// `cmd_flush`
    Flush,
    /// `cmd_meta`: what `me` was asked.
    Meta,
    /// `delete_hits`
    DeleteHit,
    /// `delete_misses`
    DeleteMiss,
    /// `incr_hits`
    IncrHit,
    /// `incr_misses`
    IncrMiss,
    /// `decr_hits`
    DecrHit,
    /// `decr_misses`
    DecrMiss,
    /// `cas_hits`
    CasHit,
    /// `cas_misses`: there was nothing to compare with.
    CasMiss,
    /// `cas_badval`: it was another number.
    CasBadValue,
    /// `store_too_large`
    TooLarge,
    /// `store_no_memory`
    NoMemory,
    /// Of these, values that were refused because the clients of an address had too many on their way.
    AddressFull,
    /// `auth_cmds`
    Auth,
    /// `auth_errors`
    AuthError,
    /// `bytes_read`: octets taken.
    OctetsRead,
    /// `bytes_written`: octets said.
    OctetsWritten,
    /// Datagrams that were no request.
    DatagramsIgnored,
    /// Datagrams that ended within a command.
    DatagramsCut,
    /// Answers to datagrams that were too large, and told so.
    AnswersTooLarge,
}

/// How many there are.
pub const COUNTS: usize = Count::AnswersTooLarge as usize + 1;

/// The cells of one thread.
#[derive(Debug)]
pub struct Counters {
    cells: [AtomicU64; COUNTS],
}

impl Counters {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Counters { cells: std::array::from_fn(|_| AtomicU64::new(0)) })
    }

    /// Counts; only the thread whose cells they are may.
    #[inline]
    pub(super) fn add(&self, count: Count, more: u64) {
        let cell = &self.cells[count as usize];
        cell.store(cell.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
    }
}

/// The cells of all threads.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    inside: Mutex<Inside>,
}

#[derive(Debug, Default)]
struct Inside {
    threads: Vec<Arc<Counters>>,
    /// What was there at the last `stats reset`.
    before: Sums,
}

/// Sums over all threads.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums([u64; COUNTS]);

impl Sums {
    /// How often.
    pub fn of(&self, count: Count) -> u64 {
        self.0[count as usize]
    }
}

impl Ledger {
    pub(super) fn enter(&self, counters: &Arc<Counters>) {
        self.lock().threads.push(Arc::clone(counters));
    }

    /// Since the start, or the last reset.
    pub(super) fn sums(&self) -> Sums {
        let inside = self.lock();
        let mut sums = inside.now();
        sums.0.iter_mut().zip(inside.before.0).for_each(|(sum, before)| *sum = sum.wrapping_sub(before));
        sums
    }

    /// Since the start.
    pub(super) fn sums_in_all(&self) -> Sums {
        self.lock().now()
    }

    /// Begins at 0 again: the cells go on, and what they hold now is taken off.
    pub(super) fn reset(&self) {
        let mut inside = self.lock();
        inside.before = inside.now();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inside {
    fn now(&self) -> Sums {
        let mut sums = Sums::default();
        for thread in &self.threads {
            sums.0.iter_mut().zip(&thread.cells).for_each(|(sum, cell)| {
                *sum = sum.wrapping_add(cell.load(Ordering::Relaxed));
            });
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_added_up_and_a_reset_begins_at_0() {
        let ledger = Ledger::default();
        let (one, two) = (Counters::new(), Counters::new());
        ledger.enter(&one);
        ledger.enter(&two);
        one.add(Count::Hit, 2);
        two.add(Count::Hit, 3);
        assert_eq!(ledger.sums().of(Count::Hit), 5);
        ledger.reset();
        two.add(Count::Hit, 1);
        assert_eq!((ledger.sums().of(Count::Hit), ledger.sums().of(Count::Miss)), (1, 0));
    }
}
