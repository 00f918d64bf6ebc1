//! What the thread of records asks of its node: how far the ledger may be read, and that a file of records ends.

use super::Shared;
use super::house::present;
use crate::calendar::Moment;
use crate::clock::Clock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use trunkline_wire::cdr::file::Closure;

/// Whose records are made.
pub(super) trait Owner: Send {
    /// The last entry that may be read.
    fn durable(&self) -> u64;

    /// The time that charging goes by.
    fn now(&self) -> Moment;

    /// Has the ledger say that a file ends; the entry. None where others say it, or it cannot be now.
    fn ends(&self, file: u32, closure: Closure) -> Option<u64>;
}

/// A node by itself: its files end as it likes.
pub(super) struct Alone(pub Arc<Shared>);

impl Owner for Alone {
    fn durable(&self) -> u64 {
        self.0.book.durable()
    }

    fn now(&self) -> Moment {
        self.0.book.desk().now(present())
    }

    fn ends(&self, _: u32, _: Closure) -> Option<u64> {
        None
    }
}

/// One of several: it follows, then it leads.
#[derive(Default)]
pub(super) struct Post {
    /// What it has and the stream, too.
    followed: AtomicU64,
    leads: Mutex<Option<Arc<Shared>>>,
    /// The time while it follows.
    clock: Mutex<Option<Clock>>,
}

impl Post {
    /// It has followed up to an entry.
    pub fn follow(&self, entry: u64) {
        self.followed.fetch_max(entry, Ordering::Release);
    }

    /// It leads from now on.
    pub fn lead(&self, shared: Arc<Shared>) {
        *self.leads.lock().unwrap_or_else(PoisonError::into_inner) = Some(shared);
    }

    /// Has the ledger say what time it is, if this node leads.
    pub fn tick(&self) {
        if let Some(shared) = self.leader() {
            shared.book.desk().tick(present());
            shared.book.flush();
        }
    }

    /// The time that charging goes by: that of the ledger where it leads.
    pub fn now(&self) -> Moment {
        if let Some(shared) = self.leader() {
            return shared.book.desk().now(present());
        }
        let (wall, now) = super::both_clocks();
        let mut clock = self.clock.lock().unwrap_or_else(PoisonError::into_inner);
        let clock = clock.get_or_insert_with(|| Clock::new(wall, 0, now));
        clock.look(wall, now);
        clock.now(super::moment(wall))
    }

    fn leader(&self) -> Option<Arc<Shared>> {
        self.leads.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Owner for Arc<Post> {
    fn durable(&self) -> u64 {
        let leads = self.leader().map_or(0, |shared| shared.book.durable());
        leads.max(self.followed.load(Ordering::Acquire))
    }

    fn now(&self) -> Moment {
        Post::now(self)
    }

    fn ends(&self, file: u32, closure: Closure) -> Option<u64> {
        let shared = self.leader()?;
        let ended = shared.book.desk().close_file(file, closure.number(), present());
        shared.book.flush();
        ended
    }
}
