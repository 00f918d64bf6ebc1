//! Waiting for what another thread or program does. The tests of all crates take this file in by its path: it is the
//! one place where they sleep, but for those that crates/xtask/src/tidy/sleeps.txt lists.
#![allow(dead_code, reason = "each crate takes what it needs")]

use std::fmt::Debug;
use std::time::{Duration, Instant};

/// What has not happened by then never will: far longer than a busy machine needs.
pub const PATIENCE: Duration = Duration::from_secs(300);
/// Between two looks: a tenth of the time waited so far, but not less and not more than these.
const PAUSE_MIN: Duration = Duration::from_millis(1);
const PAUSE_MAX: Duration = Duration::from_millis(100);

/// Looks until it holds.
#[track_caller]
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    awaited(what, || if holds() { Ok(()) } else { Err("it does not hold") });
}

/// Looks until it is there. Meanwhile `look` gives what is there instead, for the message.
#[track_caller]
pub fn awaited<T, E: Debug>(what: &str, mut look: impl FnMut() -> Result<T, E>) -> T {
    let begun = Instant::now();
    loop {
        let seen = match look() {
            Ok(found) => return found,
            Err(seen) => seen,
        };
        let waited = begun.elapsed();
        assert!(waited < PATIENCE, "not within {PATIENCE:?}: {what}: {seen:?}");
        std::thread::park_timeout((waited / 10).clamp(PAUSE_MIN, PAUSE_MAX));
    }
}
