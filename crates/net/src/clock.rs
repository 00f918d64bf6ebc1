//! The time that services are handed.

use core::time::Duration;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::service::Now;

/// The clock of a server's threads. The engine asks it once a round, and the system's time about once a second; a
/// service that has to know how long something took asks it itself.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
    /// The system's time at `start`, as it was set when last looked up.
    unix_at_start: Duration,
}

impl Clock {
    /// All threads of a server have the same start.
    pub(crate) fn new(start: Instant) -> Clock {
        let mut clock = Clock { start, unix_at_start: Duration::ZERO };
        clock.look_up();
        clock
    }

    /// Follows the system's time, should it have been set.
    pub(crate) fn look_up(&mut self) {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.unix_at_start = unix.saturating_sub(self.start.elapsed());
    }

    /// The time now. Of a copy, what was since 1970 does not follow a system's time that is set later.
    pub fn now(&self) -> Now {
        let monotonic = self.start.elapsed();
        Now { monotonic, unix: self.unix_at_start + monotonic }
    }
}
